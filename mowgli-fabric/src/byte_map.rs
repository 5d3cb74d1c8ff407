//! Maps from bytes to bytes: hash tables on all nodes.

use mowgli_core::ids::Loc;
use mowgli_core::value::Val;
use mowgli_libraries::table::{Method as Table, table};

use crate::buffer::WORD;
use crate::compiled::Me;
use crate::emitted::mowgli_port::{List, checksum};
use crate::emitted::objects::table as code;
use crate::group::Group;
use crate::messages::{pack, unpack};
use crate::port::Fault;
use crate::thread::{CallResult, Thread};

/// A map from bytes to bytes, spread over all nodes (TABLE). A lookup takes no lock. If the value lies on another node, it usually takes
/// one get. No thread has to serve.
///
/// The map knows keys by hashes of 61 bits. Among `n` keys, two have one hash with a probability of about `n^2 / 2^62`, which is
/// 2 in 10^9 for 100,000 keys. Then they count as one key.
///
/// Only emitted code can use such a map. The words of the interpreter have no room for the hash of a bucket, and a call says so.
#[derive(Clone, Copy, Debug)]
pub struct ByteMap {
    /// The tables. The hash of a key decides which of them has it.
    tables: &'static [Loc],
    /// The most bytes of a value.
    bytes: usize,
}

/// The number of buckets of a table, if a map has several. A full map has half as many keys in each table on average. Then the number in
/// one table has a Poisson distribution with mean 64, so it exceeds 128 about once in 10^12.
const BUCKETS: usize = 128;

impl ByteMap {
    /// Inserts a value for a key that has none. Returns true if it did.
    ///
    /// # Errors
    /// If there is no room, or the value has too many bytes.
    pub fn insert(&self, thread: &mut Thread<'_>, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        let (x, key) = self.place(key);
        let value = self.words(x, value)?;
        let call = || Table::Insert { x, key: key.into(), value: tuple(&value) };
        let result = made(thread, x, |me, x| code::insert(me, x, key, &value), call);
        result.map_err(|fault| match fault {
            Fault::Endless(why) => {
                Fault::Endless(format!("{why}; if {x} is full, create the map for more keys, or remove some"))
            }
            other => other,
        })
    }

    /// Returns the value of a key, if it has one.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn get(&self, thread: &mut Thread<'_>, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let mut value = Vec::new();
        Ok(self.get_into(thread, key, &mut value)?.then_some(value))
    }

    /// Writes the value of a key into a buffer, if it has one. Then the buffer has the bytes of the value, and nothing else. Returns
    /// whether the key has a value.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn get_into(&self, thread: &mut Thread<'_>, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Fault> {
        let (x, key) = self.place(key);
        let code = |me: &mut Me<'_>, x: &code::Object| {
            let words = code::lookup(me, x, key)?;
            Ok((!words.is_bot()).then_some(words))
        };
        let words: Option<List> = made(thread, x, code, || Table::Lookup { x, key: key.into() })?;
        if let Some(words) = &words {
            unpack(words.as_slice(), value);
        }
        Ok(words.is_some())
    }

    /// Changes the value of a key that has one. Returns true if it did.
    ///
    /// # Errors
    /// If the value has too many bytes.
    pub fn update(&self, thread: &mut Thread<'_>, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        let (x, key) = self.place(key);
        let value = self.words(x, value)?;
        let call = || Table::Update { x, key: key.into(), value: tuple(&value) };
        made(thread, x, |me, x| code::update(me, x, key, &value), call)
    }

    /// Removes the value of a key that has one. Returns true if it did.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn remove(&self, thread: &mut Thread<'_>, key: &[u8]) -> Result<bool, Fault> {
        let (x, key) = self.place(key);
        made(thread, x, |me, x| code::delete(me, x, key), || Table::Delete { x, key: key.into() })
    }

    /// Returns the table of a key, and the number by which the table knows it.
    fn place(&self, key: &[u8]) -> (Loc, i64) {
        let mut words = List::none();
        pack(key, &mut words);
        let hash = checksum(words.as_slice()) as u64;
        // The table takes the lower half for the place of the key.
        let table = (hash >> 32) as usize % self.tables.len();
        (self.tables[table], (hash >> 3) as i64)
    }

    /// Returns the words of a value.
    fn words(&self, x: Loc, value: &[u8]) -> Result<List, Fault> {
        let (given, most) = (value.len(), self.bytes);
        if given > most {
            return Err(Fault::Wrong(format!("a value of {given} bytes for {x}, whose values have at most {most}")));
        }
        let mut words = List::none();
        pack(value, &mut words);
        (words.as_slice().len()..=most.div_ceil(WORD)).for_each(|_| words.push(0));
        Ok(words)
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
    /// Adds a map with room for this many keys, whose values have at most this many bytes. The memory of a key is that of two values,
    /// and 64 bytes.
    ///
    /// ```
    /// let mut group = mowgli_fabric::Group::new(&[1, 2]);
    /// let map = group.byte_map("colours", 100, 16);
    /// ```
    ///
    /// # Panics
    /// If there is room for no key.
    pub fn byte_map(&mut self, name: &str, keys: usize, bytes: usize) -> ByteMap {
        assert!(keys > 0, "the map {name} has room for no key");
        let buckets = 2 * keys;
        let tables = buckets.div_ceil(BUCKETS);
        let words = 1 + bytes.div_ceil(WORD);
        let homes = self.nodes();
        let of_number = |n: usize| {
            let object = table(homes[n % homes.len()], BUCKETS.min(buckets), words);
            self.object(&format!("{name}_{n}"), object)
        };
        let tables: Vec<Loc> = (0..tables).map(of_number).collect();
        ByteMap { tables: tables.leak(), bytes }
    }
}
