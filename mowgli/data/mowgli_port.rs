//! The operations of RDMA-WAIT-RMW as a trait, for code that `mowgli emit rust` writes.
//!
//! Nodes and threads have the numbers 1, 2, ...; 0 is none. Each node makes the same objects in the same order, so that
//! a word has the same number everywhere. Then each thread has a [`Port`]:
//!
//! ```ignore
//! let mut world = World::new(2, &[1, 2]);                  // two nodes, and a thread on each
//! let own = Own::new(&mut world);                          // before all objects
//! let x = bal::new(&mut world, List::of(&[1, 2]));
//! // The memory has a word for each of `world.words`.
//! let mut me = Me::new(port, &world, &own, 1);             // thread 1
//! bal::bar(&mut me, &x)?;
//! ```

// A program need not use everything.
#![allow(dead_code)]

/// The length of the longest list that allocates nothing.
const FEW: usize = 12;

/// The value bottom where a number is expected.
pub const BOT: i64 = i64::MIN;

/// A set of nodes: bit n for node n.
pub type Nodes = u64;

/// An identifier of operations, for which a thread waits; 0 is none.
pub type Id = u32;

/// A word of memory, by its number in [`World::words`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Word {
    /// The node that it lives on.
    pub node: i64,
    /// Its number.
    pub at: usize,
}

/// The access of one thread to the words of all nodes.
pub trait Port {
    /// The reason why an operation fails.
    type Fault;

    /// Reads a word of the thread's node by the CPU.
    fn read(&mut self, x: Word) -> Result<i64, Self::Fault>;
    /// Writes a word of the thread's node by the CPU.
    fn write(&mut self, x: Word, v: i64) -> Result<(), Self::Fault>;
    /// Reads words of the thread's node by the CPU, in their order, into an empty list.
    fn read_words(&mut self, from: &[Word], to: &mut List) -> Result<(), Self::Fault> {
        from.iter().try_for_each(|&x| {
            to.push(self.read(x)?);
            Ok(())
        })
    }
    /// Writes words of the thread's node by the CPU, in their order.
    fn write_words(&mut self, to: &[Word], values: &[i64]) -> Result<(), Self::Fault> {
        to.iter().zip(values).try_for_each(|(&x, &v)| self.write(x, v))
    }
    /// Replaces `old` in a word of the thread's node, and returns what was there.
    fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, Self::Fault>;
    /// Replaces a word of the thread's node, and returns what was there.
    fn xchg(&mut self, x: Word, v: i64) -> Result<i64, Self::Fault>;
    /// Adds to a word of the thread's node, and returns what was there.
    fn faa(&mut self, x: Word, v: i64) -> Result<i64, Self::Fault>;
    /// Waits until the writes of the CPU are in memory.
    fn mfence(&mut self) -> Result<(), Self::Fault>;
    /// Posts a read of another node's word into one of the thread's node.
    fn get(&mut self, to: Word, from: Word, d: Id) -> Result<(), Self::Fault>;
    /// Posts a write of another node's word from one of the thread's node.
    fn put(&mut self, to: Word, from: Word, d: Id) -> Result<(), Self::Fault>;
    /// Posts reads of another node's words into as many of the thread's node. They may be one operation, in any order.
    fn get_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Self::Fault> {
        to.iter().zip(from).try_for_each(|(&to, &from)| self.get(to, from, d))
    }
    /// Posts writes of another node's words from as many of the thread's node. They may be one operation, in any order.
    fn put_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Self::Fault> {
        to.iter().zip(from).try_for_each(|(&to, &from)| self.put(to, from, d))
    }
    /// Posts a compare-and-swap of the word `on`; `to` gets what was there.
    fn rcas(&mut self, to: Word, on: Word, old: i64, new: i64, d: Id) -> Result<(), Self::Fault>;
    /// Posts an addition to the word `on`; `to` gets what was there.
    fn rfaa(&mut self, to: Word, on: Word, v: i64, d: Id) -> Result<(), Self::Fault>;
    /// Waits for the operations of this thread with an identifier.
    fn wait(&mut self, d: Id) -> Result<(), Self::Fault>;
    /// Lets later operations at a node begin after the reads and atomics before them.
    fn rfence(&mut self, n: i64) -> Result<(), Self::Fault>;

    /// Lets others run, because a thread begins another iteration of a loop. It fails to end a wait that takes too long.
    fn again(&mut self) -> Result<(), Self::Fault> {
        std::thread::yield_now();
        Ok(())
    }

    /// Returns the fault of a call that its thread may not make, and that never returns.
    fn never(&mut self, library: &str) -> Self::Fault {
        panic!("{library}: this thread takes no part in the object")
    }
}

/// The nodes, the threads, and what has been made.
#[derive(Clone, Debug)]
pub struct World {
    /// The number of nodes.
    pub nodes: i64,
    /// The nodes of the threads, of thread 1 first.
    pub node_of: Vec<i64>,
    /// The node and the initial value of each word.
    pub words: Vec<(i64, i64)>,
    /// The number of identifiers.
    pub ids: Id,
    /// The key of [`World::checksum`], the same on each node. Set it to a secret before any object is made.
    pub key: [u64; 2],
}

impl World {
    /// Creates a world with threads on these nodes.
    pub fn new(nodes: i64, node_of: &[i64]) -> Self {
        Self { nodes, node_of: node_of.to_vec(), words: Vec::new(), ids: 0, key: [0; 2] }
    }

    /// Makes a word.
    pub fn word(&mut self, node: i64, initial: i64) -> Word {
        self.words.push((node, initial));
        Word { node, at: self.words.len() - 1 }
    }

    /// Makes an identifier: for an object, or for a program.
    pub fn id(&mut self) -> Id {
        self.ids += 1;
        self.ids
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> i64 {
        self.node_of.len() as i64
    }

    /// Returns the node of a thread.
    pub fn node_of(&self, thread: i64) -> i64 {
        self.node_of[thread as usize - 1]
    }

    /// Returns the nodes of threads.
    pub fn nodes_of(&self, threads: &impl Values) -> Nodes {
        threads.each().fold(0, |all, thread| all | only(self.node_of(thread)))
    }

    /// Returns all nodes.
    pub fn all_nodes(&self) -> Nodes {
        (u64::MAX >> (63 - self.nodes)) - 1
    }

    /// Returns a thread, and the last thread of each other node.
    pub fn servers(&self, thread: i64) -> List {
        let last = |n: &i64| self.node_of.iter().rposition(|other| other == n).map(|at| at as i64 + 1);
        let others: Vec<i64> = (1..=self.nodes).filter(|&n| n != self.node_of(thread)).collect();
        std::iter::once(thread).chain(others.iter().filter_map(last)).collect()
    }

    /// Returns all threads.
    pub fn all_threads(&self) -> List {
        range(1, self.threads() + 1)
    }

    /// Returns a checksum of words, never [`BOT`]: SipHash-1-3 of their bytes, the lowest first. `mowgli_port.h` has the same one.
    ///
    /// Without the key, nobody finds words with a given checksum, or two lists with one, but by chance. That takes about 2^64 attempts.
    pub fn checksum(&self, words: &[i64]) -> i64 {
        let [k, l] = self.key;
        // The words "somepseudorandomlygeneratedbytes", as the authors of SipHash have them.
        let mut v = [
            k ^ 0x736f_6d65_7073_6575,
            l ^ 0x646f_7261_6e64_6f6d,
            k ^ 0x6c79_6765_6e65_7261,
            l ^ 0x7465_6462_7974_6573,
        ];
        for word in words.iter().map(|&word| word as u64).chain([(words.len() as u64) << 59]) {
            v[3] ^= word;
            mix(&mut v);
            v[0] ^= word;
        }
        v[2] ^= 0xff;
        (0..3).for_each(|_| mix(&mut v));
        let sum = (v[0] ^ v[1] ^ v[2] ^ v[3]) as i64;
        if sum == BOT { 0 } else { sum }
    }
}

/// A thread: its port, and what all threads share.
#[derive(Debug)]
pub struct Thread<'a, P, O> {
    /// The port.
    pub port: P,
    /// The nodes and threads.
    pub world: &'a World,
    /// The parts that belong to the libraries.
    pub own: &'a O,
    /// The number of the thread.
    pub thread: i64,
    /// Its node.
    pub node: i64,
}

impl<'a, P: Port, O> Thread<'a, P, O> {
    /// Creates a thread.
    pub fn new(port: P, world: &'a World, own: &'a O, thread: i64) -> Self {
        Self { port, world, own, thread, node: world.node_of(thread) }
    }
}

/// Threads, nodes or values, in order; or the value bottom.
#[derive(Clone, Debug)]
pub struct List {
    /// The length; -1 for bottom.
    n: i64,
    /// The values, if they are few.
    few: [i64; FEW],
    /// The values otherwise.
    many: Vec<i64>,
}

impl List {
    /// Returns an empty list.
    pub fn none() -> Self {
        Self { n: 0, few: [0; FEW], many: Vec::new() }
    }

    /// Returns bottom.
    pub fn bot() -> Self {
        Self { n: -1, ..Self::none() }
    }

    /// Returns a list of these.
    pub fn of(all: &[i64]) -> Self {
        let mut list = Self { n: all.len() as i64, ..Self::none() };
        match list.few.get_mut(..all.len()) {
            Some(few) => few.copy_from_slice(all),
            None => list.many = all.to_vec(),
        }
        list
    }

    /// Becomes a list of so many values, each by its place from 0.
    pub fn fill(&mut self, n: usize, value: impl FnMut(usize) -> i64) {
        self.n = n as i64;
        match self.few.get_mut(..n) {
            Some(few) => few.iter_mut().zip((0..n).map(value)).for_each(|(place, v)| *place = v),
            None => self.many = (0..n).map(value).collect(),
        }
    }

    /// True for bottom.
    pub fn is_bot(&self) -> bool {
        self.n < 0
    }

    /// Adds a value at the end.
    #[inline]
    pub fn push(&mut self, v: i64) {
        let n = self.n as usize;
        if n < FEW {
            self.few[n] = v;
        } else {
            if n == FEW {
                self.many = self.few.to_vec();
            }
            self.many.push(v);
        }
        self.n += 1;
    }

    /// Returns the values.
    pub fn as_slice(&self) -> &[i64] {
        self.few.get(..self.n.max(0) as usize).unwrap_or(&self.many)
    }
}

/// Functions of the values of a list, or of the last of them.
pub trait Values {
    /// Returns the values.
    fn values(&self) -> &[i64];

    /// Goes through the values.
    fn each(&self) -> std::iter::Copied<std::slice::Iter<'_, i64>> {
        self.values().iter().copied()
    }

    /// Returns the length.
    fn size(&self) -> i64 {
        self.values().len() as i64
    }

    /// Returns a value by its place, from 0.
    fn item(&self, k: i64) -> i64 {
        self.values()[k as usize]
    }

    /// Returns the first value.
    fn first(&self) -> i64 {
        self.item(0)
    }

    /// Returns the values after the first.
    fn rest(&self) -> &[i64] {
        self.values().get(1..).unwrap_or_default()
    }

    /// Returns the values in the opposite order.
    fn reversed(&self) -> List {
        self.each().rev().collect()
    }

    /// True if a value is there.
    fn has(&self, v: i64) -> bool {
        self.values().contains(&v)
    }

    /// Returns the values that are not equal to `v`.
    fn without(&self, v: i64) -> List {
        self.each().filter(|&other| other != v).collect()
    }

    /// Returns the values that are not in another list.
    fn except(&self, other: &List) -> List {
        self.each().filter(|&v| !other.has(v)).collect()
    }

    /// Returns the least value.
    fn min(&self) -> i64 {
        self.each().fold(self.item(0), i64::min)
    }

    /// Returns the greatest value.
    fn max(&self) -> i64 {
        self.each().fold(self.item(0), i64::max)
    }
}

impl Values for List {
    fn values(&self) -> &[i64] {
        self.as_slice()
    }
}

impl<const N: usize> Values for [i64; N] {
    fn values(&self) -> &[i64] {
        self
    }
}

impl Values for &[i64] {
    fn values(&self) -> &[i64] {
        self
    }
}

impl Default for List {
    fn default() -> Self {
        Self::none()
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        self.n == other.n && self.as_slice() == other.as_slice()
    }
}

impl Eq for List {}

impl FromIterator<i64> for List {
    fn from_iter<I: IntoIterator<Item = i64>>(all: I) -> Self {
        let mut list = Self::none();
        all.into_iter().for_each(|v| list.push(v));
        list
    }
}

/// Does a round of SipHash.
#[inline]
fn mix(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32).wrapping_add(v[3]);
    v[2] = v[2].wrapping_add(v[1]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

/// Returns the set of one node.
pub fn only(n: i64) -> Nodes {
    1 << n
}

/// True if a node is in a set.
pub fn has(set: Nodes, n: i64) -> bool {
    set >> n & 1 == 1
}

/// Returns the nodes of a set, in order.
pub fn each(mut set: Nodes) -> impl Iterator<Item = i64> {
    std::iter::from_fn(move || {
        let n = i64::from(set.trailing_zeros());
        set &= set.wrapping_sub(1);
        (n < 64).then_some(n)
    })
}

/// Returns the first node of a set; 0 if it is empty.
pub fn least(set: Nodes) -> i64 {
    each(set).next().unwrap_or(0)
}

/// Returns natural numbers in one word, each with so many bits, the first in the highest. It is never [`BOT`].
///
/// # Panics
/// If a number does not fit, or there are more or fewer of them.
pub fn packed(parts: &impl Values, widths: &[u8]) -> i64 {
    assert_eq!(parts.size(), widths.len() as i64, "the parts of a word");
    parts.each().zip(widths).fold(0, |word, (part, width)| {
        assert!(part >= 0 && part >> width == 0, "{part} does not fit into {width} bits of a word");
        word << width | part
    })
}

/// Returns the numbers in a word that [`packed`] made with these widths, or bottom.
pub fn unpacked(mut word: i64, widths: &[u8]) -> List {
    if word < 0 {
        return List::bot();
    }
    let mut parts = List::none();
    parts.n = widths.len() as i64;
    for (part, width) in parts.few[..widths.len()].iter_mut().zip(widths).rev() {
        *part = word & ((1 << width) - 1);
        word >>= width;
    }
    parts
}

/// Returns the integers from the first to before the second.
pub fn range(from: i64, to: i64) -> List {
    (from..to).collect()
}

/// Returns the quotient, rounded down.
pub fn div(n: i64, k: i64) -> i64 {
    if k == 0 { n } else { n.div_euclid(k) }
}

/// Returns the remainder, which is never negative.
pub fn rem(n: i64, k: i64) -> i64 {
    match n {
        _ if k == 0 => n,
        // A division takes long.
        _ if 0 <= n && n < k => n,
        _ if 0 < k && k <= n && n - k < k => n - k,
        _ => n.rem_euclid(k),
    }
}
