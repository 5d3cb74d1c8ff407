//! Maps from bytes to bytes: hash tables on all nodes.

use mowgli_core::ids::Loc;
use mowgli_core::value::Val;
use mowgli_libraries::table::{Method as Table, table};

use crate::buffer::WORD;
use crate::compiled::Me;
use crate::emitted::mowgli_port::List;
use crate::emitted::objects::table as code;
use crate::group::Group;
use crate::messages::{pack, unpack};
use crate::port::Fault;
use crate::thread::{CallResult, Thread};

/// A map from bytes to bytes, spread over all nodes (TABLE). A lookup takes no lock. If the value lies on another node, it usually takes
/// one get. No thread has to serve.
///
/// A table knows a key by its number, a hash of 61 bits with a secret key of the group. The bytes of the key are beside its value, and each
/// call compares them. So no call reads or changes the value of another key. An insertion of a key with the
/// number of another one is an error. For `n` keys in the map that has a probability of `n / 2^61`, whoever chooses the keys.
///
/// Only emitted code can use such a map. The words of the interpreter have no room for the hash of a bucket, and a call says so.
#[derive(Clone, Copy, Debug)]
pub struct ByteMap {
    /// The tables. The hash of a key decides which of them has it.
    tables: &'static [Loc],
    /// The most bytes of a key.
    key_bytes: usize,
    /// The most bytes of a value.
    bytes: usize,
    /// The greatest number of a key. Its bits are ones.
    numbers: i64,
}

/// The most bytes of a key in [`Group::byte_map`].
const KEY_BYTES: usize = 64;

/// A key in a map.
struct PlacedKey {
    /// Its table.
    x: Loc,
    /// The number by which the table knows it.
    number: i64,
    /// The words of the key.
    words: List,
}

/// The number of buckets of a table, if a map has several. A full map has half as many keys in each table on average. Then the number in
/// one table has a Poisson distribution with mean 64, so it exceeds 128 about once in 10^12.
const BUCKETS: usize = 128;

impl ByteMap {
    /// Inserts a value for a key that has none. Returns true if it did.
    ///
    /// # Errors
    /// If there is no room, or key or value has too many bytes.
    pub fn insert(&self, thread: &mut Thread<'_>, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        let key = self.key(thread, key)?;
        let (x, number, value) = (key.x, key.number, self.words(&key, value)?);
        let call = || Table::Insert { x, key: number.into(), value: tuple(&value) };
        thread.until(|thread| {
            let inserted = made(thread, x, |me, x| code::insert(me, x, number, &value), call);
            if inserted.map_err(|fault| full(x, fault))? {
                return Ok(Some(true));
            }
            // The key that has this number may have been removed since.
            let Some(found) = looked_up(thread, &key)? else { return Ok(None) };
            if !self.is_of(&found, &key) {
                return Err(Fault::Wrong(format!("{x} has another key with the number {number}; rename this key")));
            }
            Ok(Some(false))
        })
    }

    /// Returns the value of a key, if it has one.
    ///
    /// # Errors
    /// If the fabric fails, or the key has too many bytes.
    pub fn get(&self, thread: &mut Thread<'_>, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let mut value = Vec::new();
        Ok(self.get_into(thread, key, &mut value)?.then_some(value))
    }

    /// Writes the value of a key into a buffer, if it has one. Then the buffer has the bytes of the value, and nothing else. Returns
    /// whether the key has a value.
    ///
    /// # Errors
    /// If the fabric fails, or the key has too many bytes.
    pub fn get_into(&self, thread: &mut Thread<'_>, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Fault> {
        let key = self.key(thread, key)?;
        let found = looked_up(thread, &key)?.filter(|found| self.is_of(found, &key));
        if let Some(found) = &found {
            unpack(&found.as_slice()[self.key_words()..], value);
        }
        Ok(found.is_some())
    }

    /// Changes the value of a key that has one. Returns true if it did.
    ///
    /// # Errors
    /// If key or value has too many bytes.
    pub fn update(&self, thread: &mut Thread<'_>, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        let key = self.key(thread, key)?;
        let (x, number, value) = (key.x, key.number, self.words(&key, value)?);
        let call = || Table::Update { x, key: number.into(), value: tuple(&value) };
        Ok(self.has(thread, &key)? && made(thread, x, |me, x| code::update(me, x, number, &value), call)?)
    }

    /// Removes the value of a key that has one. Returns true if it did.
    ///
    /// # Errors
    /// If the fabric fails, or the key has too many bytes.
    pub fn remove(&self, thread: &mut Thread<'_>, key: &[u8]) -> Result<bool, Fault> {
        let key = self.key(thread, key)?;
        let (x, number) = (key.x, key.number);
        let call = || Table::Delete { x, key: number.into() };
        Ok(self.has(thread, &key)? && made(thread, x, |me, x| code::delete(me, x, number), call)?)
    }

    /// Returns the place of a key.
    fn key(&self, thread: &Thread<'_>, key: &[u8]) -> Result<PlacedKey, Fault> {
        let (given, most) = (key.len(), self.key_bytes);
        if given > most {
            return Err(Fault::Wrong(format!(
                "a key of {given} bytes, and the map has keys of at most {most}; create it by Group::byte_map_of_keys"
            )));
        }
        let words = padded(key, most);
        let hash = thread.checksum(words.as_slice()) as u64;
        // The table takes the lower half for the place of the key.
        let x = self.tables[(hash >> 32) as usize % self.tables.len()];
        Ok(PlacedKey { x, number: (hash >> 3) as i64 & self.numbers, words })
    }

    /// Returns the number of words of a key in a bucket.
    fn key_words(&self) -> usize {
        1 + self.key_bytes.div_ceil(WORD)
    }

    /// True if these words of a bucket are those of the key, and not those of another one with the same number.
    fn is_of(&self, found: &List, key: &PlacedKey) -> bool {
        found.as_slice()[..self.key_words()] == *key.words.as_slice()
    }

    /// True if the key is in the map.
    fn has(&self, thread: &mut Thread<'_>, key: &PlacedKey) -> Result<bool, Fault> {
        Ok(looked_up(thread, key)?.is_some_and(|found| self.is_of(&found, key)))
    }

    /// Returns the words of a key and a value.
    fn words(&self, key: &PlacedKey, value: &[u8]) -> Result<List, Fault> {
        let (given, most) = (value.len(), self.bytes);
        if given > most {
            return Err(Fault::Wrong(format!(
                "a value of {given} bytes for {}, whose values have at most {most}",
                key.x
            )));
        }
        let mut words = key.words.clone();
        padded(value, most).as_slice().iter().for_each(|&word| words.push(word));
        Ok(words)
    }
}

/// Returns the words of bytes: their number, and as many words as so many bytes have.
fn padded(bytes: &[u8], most: usize) -> List {
    let mut words = List::none();
    pack(bytes, &mut words);
    (words.as_slice().len()..=most.div_ceil(WORD)).for_each(|_| words.push(0));
    words
}

/// Returns the words of the bucket with the number of a key, if there is one.
fn looked_up(thread: &mut Thread<'_>, key: &PlacedKey) -> Result<Option<List>, Fault> {
    let (x, number) = (key.x, key.number);
    let code = |me: &mut Me<'_>, x: &code::Object| {
        let words = code::lookup(me, x, number)?;
        Ok((!words.is_bot()).then_some(words))
    };
    made(thread, x, code, || Table::Lookup { x, key: number.into() })
}

/// Says what to do if a table is full.
fn full(x: Loc, fault: Fault) -> Fault {
    match fault {
        Fault::Endless(why) => {
            Fault::Endless(format!("{why}; if {x} is full, create the map for more keys, or remove some"))
        }
        other => other,
    }
}

/// Makes a call of a table.
fn made<R: CallResult>(
    thread: &mut Thread<'_>,
    x: Loc,
    code: impl FnOnce(&mut Me<'_>, &code::Object) -> Result<R, Fault>,
    call: impl Fn() -> Table,
) -> Result<R, Fault> {
    thread.make(x, code, || call().into())
}

/// Returns a list as a value.
fn tuple(words: &List) -> Val {
    let words: Vec<Val> = words.as_slice().iter().map(|&word| word.into()).collect();
    Val::tuple(&words)
}

impl Group {
    /// Adds a map with room for this many keys of at most 64 bytes, whose values have at most this many bytes. The memory of a key is
    /// that of two keys and two values, and 64 bytes.
    ///
    /// ```
    /// let mut group = mowgli_fabric::Group::new(&[1, 2]);
    /// let map = group.byte_map("colours", 100, 16);
    /// ```
    ///
    /// # Panics
    /// If there is room for no key.
    pub fn byte_map(&mut self, name: &str, keys: usize, bytes: usize) -> ByteMap {
        self.byte_map_of_keys(name, keys, KEY_BYTES, bytes)
    }

    /// Adds a map as [`Group::byte_map`] does, whose keys have at most `key_bytes` bytes.
    ///
    /// # Panics
    /// If there is room for no key.
    pub fn byte_map_of_keys(&mut self, name: &str, keys: usize, key_bytes: usize, bytes: usize) -> ByteMap {
        assert!(keys > 0, "the map {name} has room for no key");
        let buckets = 2 * keys;
        let tables = buckets.div_ceil(BUCKETS);
        let words = 2 + key_bytes.div_ceil(WORD) + bytes.div_ceil(WORD);
        let homes = self.nodes();
        let of_number = |n: usize| {
            let object = table(homes[n % homes.len()], BUCKETS.min(buckets), words);
            self.object(&format!("{name}_{n}"), object)
        };
        let tables: Vec<Loc> = (0..tables).map(of_number).collect();
        ByteMap { tables: tables.leak(), key_bytes, bytes, numbers: i64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Fabric;

    /// All keys have one number, as if their hashes were equal.
    #[test]
    fn keys_with_one_number_are_different_keys() {
        let mut group = Group::new(&[1, 2]);
        let map = ByteMap { numbers: 0, ..group.byte_map("m", 4, 8) };
        let keys: [&[u8]; 4] = [b"b", b"a\0", b"", &[b'a'; KEY_BYTES]];
        let ran = group.run(Fabric::Local, |thread| {
            if thread.node().0 == 2 {
                return Ok(());
            }
            assert!(map.insert(thread, b"a", b"one")?);
            for key in keys {
                assert_eq!(map.get(thread, key)?, None);
                assert!(!map.update(thread, key, b"two")? && !map.remove(thread, key)?);
                let wrong = map.insert(thread, key, b"two").unwrap_err().to_string();
                assert!(wrong.contains("another key with the number 0"), "{wrong}");
            }
            assert_eq!(map.get(thread, b"a")?.as_deref(), Some(&b"one"[..]));
            assert!(!map.insert(thread, b"a", b"two")? && map.update(thread, b"a", b"two")?);
            assert!(map.remove(thread, b"a")? && map.insert(thread, keys[0], b"two")?);
            assert_eq!(map.get(thread, b"a")?, None);
            let long = map.get(thread, &[b'a'; KEY_BYTES + 1]).unwrap_err().to_string();
            assert!(long.contains("a key of 65 bytes"), "{long}");
            Ok(())
        });
        ran.unwrap();
    }
}
