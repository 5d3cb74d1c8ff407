//! The objects of LOCO for Rust programs. Emitted code makes each call. It is that of the published body, or of a variant where that is
//! unsound: a ring runs by `hashed`, and a map by `slot-per-key`. Each call fails if the fabric fails.

use std::marker::PhantomData;

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Node};
use mowgli_core::value::Val;
use mowgli_core::world::Object;
use mowgli_libraries::bal::{BAL, barrier};
use mowgli_libraries::kvstore::{MOST_KEYS, Method as Store, store};
use mowgli_libraries::msw::{self, words};
use mowgli_libraries::rbl::{RBL, Rbl, ring};
use mowgli_libraries::sc_rmw::{self, SC_RMW};
use mowgli_libraries::sv::{self, variable};
use mowgli_rdma::wait::{Method as Operation, word};

use crate::emitted::mowgli_port::{self, BOT, List, Nodes, Word as At, World, only};
use crate::emitted::objects as code;
use crate::group::Group;
use crate::made::Me;
use crate::port::Fault;
use crate::thread::{CallResult, Posted, Thread};
use crate::values::{WordValue, valued};

/// A barrier (BAL, LOCO §4). It covers all earlier operations of the participants towards their nodes.
#[derive(Clone, Copy, Debug)]
pub struct Barrier(Loc);

impl Barrier {
    /// Waits until all participants have come.
    ///
    /// # Errors
    /// If they do not come, or this thread does not take part.
    pub fn wait(&self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        let call = || Call::new(BAL, "BAR", &[self.0.into()]);
        thread.make(self.0, |me, x: &code::bal::Object| code::bal::bar(me, x), call)
    }
}

/// A word of which every node has a copy (SV, LOCO §3.2). It holds an integer, or another value of one word.
#[derive(Clone, Copy, Debug)]
pub struct SharedVar<T = i64>(Loc, PhantomData<fn() -> T>);

impl<T: WordValue> SharedVar<T> {
    /// Writes the copy of the thread's node.
    pub fn write(&self, thread: &mut Thread<'_>, v: T) -> Result<(), Fault> {
        let v = v.word();
        let call = || sv::Method::Write { x: self.0, v: v.into() }.into();
        thread.make(self.0, |me, x: &code::sv::Object| code::sv::write(me, x, v), call)
    }

    /// Reads the copy of the thread's node.
    pub fn read(&self, thread: &mut Thread<'_>) -> Result<T, Fault> {
        let call = || sv::Method::Read { x: self.0 }.into();
        let word = thread.make(self.0, |me, x: &code::sv::Object| code::sv::read(me, x), call)?;
        valued(self.0, word)
    }

    /// Sends the copy of the thread's node to the others. It arrives some time later: at the latest after a barrier or
    /// a [`SharedVar::fence`].
    pub fn broadcast(&self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        let ns = thread.others();
        let call = || sv::Method::Bcast { x: self.0, d: Val::NoWid, ns }.into();
        let code = |me: &mut Me<'_>, x: &code::sv::Object| code::sv::bcast(me, x, 0, others(me));
        thread.make(self.0, code, call)
    }

    /// Waits until everything that this thread has sent, of any variable, is placed.
    pub fn fence(&self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        let ns = thread.others();
        let code = |me: &mut Me<'_>, _: &code::sv::Object| code::sv::gf(me, others(me));
        thread.make(self.0, code, || sv::Method::GF { ns }.into())
    }
}

/// A ring buffer from one thread to others (RBL, LOCO §5). A message of `n` words takes `n + 2` words of it. A reader makes room
/// when it has received half of the ring, and when it receives nothing. So a reader that waits for anything else than a message should
/// first receive until nothing is left.
#[derive(Clone, Copy, Debug)]
pub struct Ring(Loc);

impl Ring {
    /// Sends a message to all readers, if there is room.
    ///
    /// # Errors
    /// If this thread is not the writer.
    pub fn submit(&self, thread: &mut Thread<'_>, message: i64) -> Result<bool, Fault> {
        self.submit_words(thread, &[message])
    }

    /// Sends a message of several words to all readers, if there is room.
    ///
    /// # Errors
    /// If this thread is not the writer, or such a message never has room.
    pub fn submit_words(&self, thread: &mut Thread<'_>, message: &[i64]) -> Result<bool, Fault> {
        self.submit_list(thread, &List::of(message))
    }

    /// Sends a message of these words.
    pub(crate) fn submit_list(&self, thread: &mut Thread<'_>, message: &List) -> Result<bool, Fault> {
        let call = || {
            let words: Vec<Val> = message.as_slice().iter().map(|&v| v.into()).collect();
            let message = if let [one] = words[..] { one } else { Val::tuple(&words) };
            Call::new(RBL, "Submit", &[self.0.into(), message])
        };
        let code = |me: &mut Me<'_>, x: &code::rbl::Object| code::rbl::submit(me, x, message);
        let has_room = thread.make(self.0, code, call)?;
        let words = message.as_slice().len();
        if !has_room && words + thread.beside() > thread.size(self.0) {
            let size = thread.size(self.0);
            return Err(Fault::Wrong(format!("{} has {size} words, so a message of {words} never has room", self.0)));
        }
        Ok(has_room)
    }

    /// Receives the next message, if there is one. Of a message of several words it returns the first.
    ///
    /// # Errors
    /// If this thread is not a reader.
    pub fn receive(&self, thread: &mut Thread<'_>) -> Result<Option<i64>, Fault> {
        Ok(self.next(thread)?.and_then(|message| message.as_slice().first().copied()))
    }

    /// Receives the words of the next message, if there is one.
    ///
    /// # Errors
    /// If this thread is not a reader.
    pub fn receive_words(&self, thread: &mut Thread<'_>) -> Result<Option<Vec<i64>>, Fault> {
        Ok(self.next(thread)?.map(|message| message.as_slice().to_vec()))
    }

    pub(crate) fn next(&self, thread: &mut Thread<'_>) -> Result<Option<List>, Fault> {
        let code = |me: &mut Me<'_>, x: &code::rbl::Object| {
            let message = code::rbl::receive(me, x)?;
            Ok((!message.is_bot()).then_some(message))
        };
        thread.make(self.0, code, || Call::new(RBL, "Receive", &[self.0.into()]))
    }
}

/// A word that is sequentially consistent (RDMA-SC-RMW, SYNC §4.4). It holds an integer, or another value of one word.
#[derive(Clone, Copy, Debug)]
pub struct Atomic<T = i64>(Loc, PhantomData<fn() -> T>);

impl<T: WordValue> Atomic<T> {
    /// Reads the word.
    pub fn load(&self, thread: &mut Thread<'_>) -> Result<T, Fault> {
        let call = || sc_rmw::Method::Read { x: self.0 }.into();
        let word = thread.make(self.0, |me, x: &code::sc_rmw::Object| code::sc_rmw::read(me, x), call)?;
        valued(self.0, word)
    }

    /// Writes the word.
    pub fn store(&self, thread: &mut Thread<'_>, v: T) -> Result<(), Fault> {
        let v = v.word();
        let call = || sc_rmw::Method::Write { x: self.0, v: v.into() }.into();
        thread.make(self.0, |me, x: &code::sc_rmw::Object| code::sc_rmw::write(me, x, v), call)
    }

    /// Writes `new` if the word is `old`, and returns its old value. It compares words, so 0.0 is not -0.0.
    pub fn compare_and_swap(&self, thread: &mut Thread<'_>, old: T, new: T) -> Result<T, Fault> {
        let [old, new] = [old, new].map(T::word);
        let call = || sc_rmw::Method::CAS { x: self.0, v1: old.into(), v2: new.into() }.into();
        let word = thread.make(self.0, |me, x: &code::sc_rmw::Object| code::sc_rmw::cas(me, x, old, new), call)?;
        valued(self.0, word)
    }
}

impl Atomic {
    /// Adds to the word, and returns its old value. A sum of more than 64 bits wraps around.
    pub fn fetch_add(&self, thread: &mut Thread<'_>, v: i64) -> Result<i64, Fault> {
        let call = || sc_rmw::Method::FAA { x: self.0, v: v.into() }.into();
        thread.make(self.0, |me, x: &code::sc_rmw::Object| code::sc_rmw::faa(me, x, v), call)
    }
}

/// A map from the numbers 0, 1 and so on to values, spread over all nodes (the key-value store of LOCO-X App. I). For
/// each insert or remove, one thread of every other node has to call [`Map::serve`]. A value is an integer, or another value of one
/// word.
#[derive(Clone, Copy, Debug)]
pub struct Map<T = i64>(Loc, PhantomData<fn() -> T>);

impl<T: WordValue> Map<T> {
    /// Inserts a value for a key that has none. Returns true if it did.
    ///
    /// # Errors
    /// If the others do not serve, or there is no such key. Also if the word of the value is `i64::MIN`, which stands for no value.
    pub fn insert(&self, thread: &mut Thread<'_>, key: i64, v: T) -> Result<bool, Fault> {
        let v = self.word(v)?;
        let call = || Store::Insert { x: self.0, key: key.into(), v: v.into() }.into();
        self.make(thread, key, |me, x| code::kvstore::insert(me, x, key, v), call)
    }

    /// Returns the value of a key, if it has one.
    ///
    /// # Errors
    /// If there is no such key.
    pub fn get(&self, thread: &mut Thread<'_>, key: i64) -> Result<Option<T>, Fault> {
        let code = |me: &mut Me<'_>, x: &code::kvstore::Object| {
            let v = code::kvstore::lookup(me, x, key)?;
            Ok((v != BOT).then_some(v))
        };
        let word = self.make(thread, key, code, || Store::Lookup { x: self.0, key: key.into() }.into())?;
        word.map(|word: i64| valued(self.0, word)).transpose()
    }

    /// Changes the value of a key that has one. Returns true if it did.
    ///
    /// # Errors
    /// If there is no such key, or the word of the value is `i64::MIN`, which stands for no value.
    pub fn update(&self, thread: &mut Thread<'_>, key: i64, v: T) -> Result<bool, Fault> {
        let v = self.word(v)?;
        let call = || Store::Update { x: self.0, key: key.into(), v: v.into() }.into();
        self.make(thread, key, |me, x| code::kvstore::update(me, x, key, v), call)
    }

    /// Removes the value of a key that has one. Returns true if it did.
    ///
    /// # Errors
    /// If the others do not serve, or there is no such key.
    pub fn remove(&self, thread: &mut Thread<'_>, key: i64) -> Result<bool, Fault> {
        let call = || Store::Delete { x: self.0, key: key.into() }.into();
        self.make(thread, key, |me, x| code::kvstore::delete(me, x, key), call)
    }

    /// Waits for a change by a thread of another node, and acknowledges it.
    ///
    /// # Errors
    /// If such a change does not come.
    pub fn serve(&self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        let call = || Store::Serve { x: self.0 }.into();
        thread.make(self.0, |me, x: &code::kvstore::Object| code::kvstore::serve(me, x), call)
    }

    /// Acknowledges a change by a thread of another node, if there is one. Returns whether there was.
    ///
    /// # Errors
    /// If the fabric fails, or this thread is not the last one of its node.
    pub fn try_serve(&self, thread: &mut Thread<'_>) -> Result<bool, Fault> {
        let call = || Store::TryServe { x: self.0 }.into();
        thread.make(self.0, |me, x: &code::kvstore::Object| code::kvstore::try_serve(me, x), call)
    }

    /// Makes a call of a key. The code expects that there is such a key.
    fn make<R: CallResult>(
        &self,
        thread: &mut Thread<'_>,
        key: i64,
        code: impl FnOnce(&mut Me<'_>, &code::kvstore::Object) -> Result<R, Fault>,
        call: impl Fn() -> Call,
    ) -> Result<R, Fault> {
        let is_key = usize::try_from(key).is_ok_and(|key| key < thread.size(self.0));
        let code = |me: &mut Me<'_>, x: &code::kvstore::Object| {
            if is_key { code(me, x) } else { Err(Fault::Wrong(format!("{key} is no key of {}", self.0))) }
        };
        thread.make(self.0, code, call)
    }

    /// Returns the word of a value.
    fn word(&self, v: T) -> Result<i64, Fault> {
        match v.word() {
            BOT => Err(Fault::Wrong(format!("the word {BOT} is no value of {}: it stands for none", self.0))),
            word => Ok(word),
        }
    }
}

/// A word of memory on a node: an integer of 64 bits. The threads of that node read and write it. Operations over the network copy
/// it from or to a word of the calling thread's node (RDMA-WAIT-RMW, SYNC §3).
#[derive(Clone, Copy, Debug)]
pub struct Word(pub(crate) Loc);

/// An operation over the network that was posted. It may be under way until a wait returns.
#[derive(Clone, Copy, Debug)]
pub struct Begun(pub(crate) Posted);

impl Begun {
    /// Waits until the operation completes. A put completes when its source was read, perhaps before it is placed.
    pub fn wait(self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        thread.complete(self.0, |d| Operation::Wait { d }.into())
    }
}

impl Word {
    /// Reads the word, by the CPU.
    pub fn read(&self, thread: &mut Thread<'_>) -> Result<i64, Fault> {
        thread.by_cpu(self.0, Operation::Read { x: self.0 }, |port, x| port.read(x))
    }

    /// Writes the word, by the CPU.
    pub fn write(&self, thread: &mut Thread<'_>, v: i64) -> Result<(), Fault> {
        thread.by_cpu(self.0, Operation::Write { x: self.0, v: v.into() }, |port, x| port.write(x, v))
    }

    /// Posts a put of `from`, a word of the thread's node, into this word.
    pub fn put(&self, thread: &mut Thread<'_>, from: Self) -> Result<Begun, Fault> {
        let operation = |d| Operation::Put { x: self.0, y: from.0, d };
        thread.begin((from.0, self.0), operation, |port, from, to, d| port.put(to, from, d)).map(Begun)
    }

    /// Posts a get of this word into `into`, a word of the thread's node.
    pub fn get(&self, thread: &mut Thread<'_>, into: Self) -> Result<Begun, Fault> {
        let operation = |d| Operation::Get { x: into.0, y: self.0, d };
        thread.begin((into.0, self.0), operation, |port, to, from, d| port.get(to, from, d)).map(Begun)
    }

    /// Posts an addition to this word by the network card. The old value goes into `into`, a word of the thread's node. A sum of more
    /// than 64 bits wraps around.
    pub fn fetch_add(&self, thread: &mut Thread<'_>, v: i64, into: Self) -> Result<Begun, Fault> {
        let operation = |d| Operation::RFAA { x: into.0, y: self.0, v: v.into(), d };
        thread.begin((into.0, self.0), operation, |port, to, on, d| port.rfaa(to, on, v, d)).map(Begun)
    }

    /// Posts a write of `new` by the network card, if this word is `old`. The old value goes into `into`, a word of the
    /// thread's node.
    pub fn compare_and_swap(&self, thread: &mut Thread<'_>, old: i64, new: i64, into: Self) -> Result<Begun, Fault> {
        let operation = |d| Operation::RCAS { x: into.0, y: self.0, v1: old.into(), v2: new.into(), d };
        thread.begin((into.0, self.0), operation, |port, to, on, d| port.rcas(to, on, old, new, d)).map(Begun)
    }
}

/// Words of memory on a node that are read together or not at all (MSW, LOCO-X App. H.6). The threads of that node read
/// and write them. Operations over the network copy them from or to as many words of the calling thread's node.
#[derive(Clone, Copy, Debug)]
pub struct Words(Loc);

/// A copy of some words over the network that was posted.
#[derive(Clone, Copy, Debug)]
pub struct Copying(Posted);

impl Copying {
    /// Waits until the copy completes. A put completes when its source was read, perhaps before it is placed.
    pub fn wait(self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        thread.complete(self.0, |d| msw::Method::Wait { d }.into())
    }
}

impl Words {
    /// Writes the words, by the CPU.
    ///
    /// # Errors
    /// If the number of values is not the number of words.
    pub fn write(&self, thread: &mut Thread<'_>, values: &[i64]) -> Result<(), Fault> {
        thread.reach(self.0)?;
        let (size, given) = (thread.size(self.0), values.len());
        if size != given {
            return Err(Fault::Wrong(format!("{} has {size} words, and {given} are to be written", self.0)));
        }
        let call = || {
            let values: Vec<Val> = values.iter().map(|&v| v.into()).collect();
            msw::Method::Write { x: self.0, values: Val::tuple(&values) }.into()
        };
        thread.make(self.0, |me, x: &code::msw::Object| code::msw::write(me, x, &List::of(values)), call)
    }

    /// Reads the words, by the CPU. Returns `None` if another thread is writing some of them, because they would not
    /// belong together.
    pub fn try_read(&self, thread: &mut Thread<'_>) -> Result<Option<Vec<i64>>, Fault> {
        thread.reach(self.0)?;
        let code = |me: &mut Me<'_>, x: &code::msw::Object| {
            let words = code::msw::try_read(me, x)?;
            Ok((!words.is_bot()).then_some(words))
        };
        let words: Option<List> = thread.make(self.0, code, || msw::Method::TryRead { x: self.0 }.into())?;
        Ok(words.map(|words| words.as_slice().to_vec()))
    }

    /// Posts a put of `from`, words of the thread's node, into these.
    ///
    /// # Errors
    /// If the fabric fails, or one has more words than the other.
    pub fn put(&self, thread: &mut Thread<'_>, from: Self) -> Result<Copying, Fault> {
        self.copies(thread, from, false)
    }

    /// Posts a get of these into `into`, words of the thread's node.
    ///
    /// # Errors
    /// If the fabric fails, or one has more words than the other.
    pub fn get(&self, thread: &mut Thread<'_>, into: Self) -> Result<Copying, Fault> {
        self.copies(thread, into, true)
    }

    /// Posts a copy between these and `own`, words of the thread's node.
    fn copies(&self, thread: &mut Thread<'_>, own: Self, is_get: bool) -> Result<Copying, Fault> {
        thread.reach(own.0)?;
        let [far_size, own_size] = [self, &own].map(|words| thread.size(words.0));
        if far_size != own_size {
            return Err(Fault::Wrong(format!("{} has {far_size} words, and {} has {own_size} words", self.0, own.0)));
        }
        let posted = thread.posted();
        let code = |me: &mut Me<'_>, [own, far]: [&code::msw::Object; 2]| match is_get {
            true => code::msw::get(me, own, far, posted.0),
            false => code::msw::put(me, far, own, posted.0),
        };
        thread.make_both([own.0, self.0], code, || match is_get {
            true => msw::Method::Get { x: own.0, y: self.0, d: posted.name() }.into(),
            false => msw::Method::Put { x: self.0, y: own.0, d: posted.name() }.into(),
        })?;
        Ok(Copying(posted))
    }
}

impl Thread<'_> {
    /// Makes operations with words by their numbers, over a fabric. The CPU reaches the words of the thread's node only, and an operation of
    /// the network has one end there.
    ///
    /// # Errors
    /// If there is no fabric, or it fails.
    pub fn by_port<R>(
        &mut self,
        words: &[Word],
        act: impl FnOnce(&mut dyn mowgli_port::Port<Fault = Fault>, &[At]) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let (made, port) = self.port()?;
        let words: Vec<At> = words.iter().map(|x| made.object(x.0).copied()).collect::<Result<_, _>>()?;
        act(port, &words)
    }
}

/// Returns the nodes other than that of the thread.
fn others(me: &Me<'_>) -> Nodes {
    me.world.all_nodes() & !only(me.node)
}

/// Returns the numbers of threads, as emitted code has them.
fn members(threads: &[usize]) -> List {
    threads.iter().map(|&t| t as i64 + 1).collect()
}

impl Group {
    /// Adds a word of memory on a node, with an initial value.
    pub fn word(&mut self, name: &str, node: u8, v: i64) -> Word {
        Word(self.add(name, word(Node(node)).init(v.into()), move |world| world.word(node.into(), v)))
    }

    /// Adds `size` words of memory on a node that are read together, initially 0.
    pub fn words(&mut self, name: &str, node: u8, size: usize) -> Words {
        let initial = List::of(&vec![0; size]);
        let make = move |world: &mut World| code::msw::new(world, node.into(), initial.clone());
        Words(self.add(name, words(Node(node), size), make))
    }

    /// Adds a barrier among these threads, which are counted from 0.
    pub fn barrier(&mut self, name: &str, participants: &[usize]) -> Barrier {
        let all = members(participants);
        let make = move |world: &mut World| code::bal::new(world, all.clone());
        Barrier(self.add(name, barrier(&Self::tids(participants)), make))
    }

    /// Adds a word of which every node has a copy, initially 0.
    pub fn shared_var(&mut self, name: &str) -> SharedVar {
        self.shared_var_of(name)
    }

    /// Adds a value of one word of which every node has a copy. Its word is initially 0.
    ///
    /// ```
    /// let mut group = mowgli_fabric::Group::new(&[1, 2]);
    /// let volts = group.shared_var_of::<f64>("volts");
    /// ```
    pub fn shared_var_of<T: WordValue>(&mut self, name: &str) -> SharedVar<T> {
        SharedVar(self.add(name, variable(), |world| code::sv::new(world, 0)), PhantomData)
    }

    /// Adds a ring buffer with `size` words, from a thread to others. It sends a message by one operation to each node.
    pub fn ring(&mut self, name: &str, writer: usize, readers: &[usize], size: usize) -> Ring {
        let all = members(&[&[writer], readers].concat());
        let make = move |world: &mut World| code::rbl::new(world, all.clone(), size as i64);
        let [writer, readers] = [&[writer], readers].map(Self::tids);
        Ring(self.add(name, ring(Rbl::Strong, writer[0], &readers, size), make))
    }

    /// Adds a sequentially consistent word on a node, initially 0.
    pub fn atomic(&mut self, name: &str, node: u8) -> Atomic {
        self.atomic_of(name, node)
    }

    /// Adds a sequentially consistent value of one word on a node. Its word is initially 0.
    pub fn atomic_of<T: WordValue>(&mut self, name: &str, node: u8) -> Atomic<T> {
        let make = move |world: &mut World| code::sc_rmw::new(world, node.into(), 0);
        Atomic(self.add(name, Object::new(SC_RMW).at(Node(node)), make), PhantomData)
    }

    /// Adds a map with `keys` keys, all of them without values. Its deletions are complete before
    /// they are announced, because in the published one a deleted value can reappear. A thread puts the value of a key into its slot with
    /// the key's number, where LOCO-X App. I searches for a free one.
    ///
    /// # Panics
    /// If there are 2^23 keys or more.
    pub fn map(&mut self, name: &str, keys: usize) -> Map {
        self.map_of(name, keys)
    }

    /// Adds a map whose values have one word: see [`Group::map`].
    ///
    /// # Panics
    /// If there are 2^23 keys or more.
    pub fn map_of<T: WordValue>(&mut self, name: &str, keys: usize) -> Map<T> {
        assert!(
            keys < MOST_KEYS,
            "the map {name} has {keys} keys: an entry of its index has room for fewer than {MOST_KEYS}"
        );
        let make = move |world: &mut World| code::kvstore::new(world, keys as i64);
        Map(self.add(name, store(&vec![Val::Bot; keys]), make), PhantomData)
    }
}
