//! A map of bytes that all threads use, over any fabric.

use mowgli_fabric::{Barrier, ByteMap, Fault, Group, Thread};

/// A group with a map for 100 keys.
pub struct Bytes {
    pub group: Group,
    map: ByteMap,
    barrier: Barrier,
    threads: usize,
}

/// Keys of several lengths.
fn keys() -> impl Iterator<Item = (usize, String)> {
    (0..100).map(|n| (n, format!("{}{n}", "key ".repeat(n % 7))))
}

/// The first value of a key: up to 20 bytes.
fn value(n: usize) -> Vec<u8> {
    vec![n as u8; n % 21]
}

impl Bytes {
    pub fn new(nodes: &[u8]) -> Self {
        let (mut group, threads) = (Group::new(nodes), nodes.len());
        let (map, barrier) = (group.byte_map("m", 100, 20), group.barrier("b", &(0..threads).collect::<Vec<_>>()));
        Self { group, map, barrier, threads }
    }

    /// Each thread inserts all keys, and then changes those of its own. Returns how many insertions succeeded.
    pub fn change(&self, thread: &mut Thread<'_>) -> Result<usize, Fault> {
        let me = thread.id().index();
        let mut inserted = 0;
        for (n, key) in keys() {
            inserted += usize::from(self.map.insert(thread, key.as_bytes(), &value(n))?);
        }
        self.barrier.wait(thread)?;
        self.expect(thread, |n| Some(value(n)))?;
        for (n, key) in keys().filter(|(n, _)| n % self.threads == me) {
            let key = key.as_bytes();
            assert!(if n % 5 == 0 { self.map.remove(thread, key)? } else { self.map.update(thread, key, b"new")? });
        }
        self.barrier.wait(thread)?;
        self.expect(thread, |n| (n % 5 != 0).then(|| b"new".to_vec()))?;
        assert!(!self.map.update(thread, b"nobody", b"")? && !self.map.remove(thread, b"nobody")?);
        let long = self.map.update(thread, b"nobody", &[0; 21]);
        assert!(matches!(&long, Err(Fault::Wrong(why)) if why.contains("values have at most 20")), "{long:?}");
        Ok(inserted)
    }

    /// Checks the values of all keys, and waits until all threads have done so.
    fn expect(&self, thread: &mut Thread<'_>, value: impl Fn(usize) -> Option<Vec<u8>>) -> Result<(), Fault> {
        for (n, key) in keys() {
            assert_eq!(self.map.get(thread, key.as_bytes())?, value(n), "{key}");
        }
        self.barrier.wait(thread)
    }
}
