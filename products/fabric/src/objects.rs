//! The objects of LOCO for Rust programs. Each method calls the library, whose variant supplies the body. The default
//! variant is the published one, unless that is unsound.

use std::marker::PhantomData;

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Node};
use mowgli_core::value::Val;
use mowgli_core::world::Object;
use mowgli_libraries::bal::{BAL, BAL_PUTS, barrier, put_barrier};
use mowgli_libraries::kvstore::{MOST_KEYS, Method as Store, store};
use mowgli_libraries::msw::{self, words};
use mowgli_libraries::rbl::{RBL, Rbl, ring};
use mowgli_libraries::sc_rmw::{self, SC_RMW};
use mowgli_libraries::sv::{self, variable};
use mowgli_rdma::wait::{Method as Operation, word};

use crate::compiled::Me;
use crate::emitted::mowgli_port::{BOT, List, Nodes, Port as _, only, rem};
use crate::emitted::objects as code;
use crate::group::Group;
use crate::port::Fault;
use crate::thread::{CallResult, Posted, Thread};
use crate::values::{WordValue, valued};

/// A barrier (BAL, LOCO §4). It covers all earlier operations of the participants towards their nodes. See [`PutBarrier`]
/// for a quicker one.
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

/// A barrier for puts. It needs two passes over the network, where [`Barrier`] needs three.
///
/// After it, all earlier puts, broadcasts and additions of the participants towards the nodes of the participants are placed.
/// It promises nothing about earlier gets, nor about the results of additions. So wait for those before the
/// barrier: a get without its wait may return a value that another thread writes after the barrier.
#[derive(Clone, Copy, Debug)]
pub struct PutBarrier(Loc);

impl PutBarrier {
    /// Waits until all participants have come.
    ///
    /// # Errors
    /// If they do not come, or this thread does not take part.
    pub fn wait(&self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        let call = || Call::new(BAL_PUTS, "BAR", &[self.0.into()]);
        thread.make(self.0, |me, x: &code::bal_puts::Object| code::bal_puts::bar(me, x), call)
    }
}

/// A word of which every node has a copy (SV, LOCO §3.2). It holds an integer, or another value of one word.
#[derive(Clone, Copy, Debug)]
pub struct SharedVar<T = i64>(Loc, PhantomData<fn() -> T>);

impl<T: WordValue> SharedVar<T> {
    /// Writes the copy of the thread's node.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn write(&self, thread: &mut Thread<'_>, v: T) -> Result<(), Fault> {
        let v = v.word();
        let call = || sv::Method::Write { x: self.0, v: v.into() }.into();
        thread.make(self.0, |me, x: &code::sv::Object| code::sv::write(me, x, v), call)
    }

    /// Reads the copy of the thread's node.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn read(&self, thread: &mut Thread<'_>) -> Result<T, Fault> {
        let call = || sv::Method::Read { x: self.0 }.into();
        let word = thread.make(self.0, |me, x: &code::sv::Object| code::sv::read(me, x), call)?;
        valued(self.0, word)
    }

    /// Sends the copy of the thread's node to the others. It arrives some time later: at the latest after a barrier or
    /// a [`SharedVar::fence`].
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn broadcast(&self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        let ns = thread.others();
        let call = || sv::Method::Bcast { x: self.0, d: Val::NoWid, ns }.into();
        let code = |me: &mut Me<'_>, x: &code::sv::Object| code::sv::bcast(me, x, 0, others(me));
        thread.make(self.0, code, call)
    }

    /// Waits until everything that this thread has sent, of any variable, is placed.
    ///
    /// # Errors
    /// If the fabric fails.
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
        if !has_room && words + thread.beside(self.0) > thread.size(self.0) {
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
            poll_for_message(me, x)?;
            let message = code::rbl::receive(me, x)?;
            Ok((!message.is_bot()).then_some(message))
        };
        thread.make(self.0, code, || Call::new(RBL, "Receive", &[self.0.into()]))
    }
}

/// The number of polls before a receive that may find nothing.
const POLLS: u32 = 8;

/// Polls until the place of the next message has an end, but not for long. A receive that finds nothing puts a report to the writer, which
/// delays both of them more than some polls do.
fn poll_for_message(me: &mut Me<'_>, x: &code::rbl::Object) -> Result<(), Fault> {
    for _ in 0..POLLS {
        if has_end(me, x).unwrap_or(true) {
            break;
        }
        me.port.again()?;
    }
    Ok(())
}

/// True if the place of the next message has an end, as `receive` tests it. Returns `None` if that is not known.
fn has_end(me: &Me<'_>, x: &code::rbl::Object) -> Option<bool> {
    let at = me.port.peek(x.seen[me.thread as usize])?;
    let begin = me.node * (x.size + x.size) + rem(at, x.size);
    let end = me.port.peek(x.word[begin as usize])?;
    Some((at + 2..=at + x.size).contains(&end))
}

/// A word that is sequentially consistent (RDMA-SC-RMW, SYNC §4.4). It holds an integer, or another value of one word.
#[derive(Clone, Copy, Debug)]
pub struct Atomic<T = i64>(Loc, PhantomData<fn() -> T>);

impl<T: WordValue> Atomic<T> {
    /// Reads the word.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn load(&self, thread: &mut Thread<'_>) -> Result<T, Fault> {
        let call = || sc_rmw::Method::Read { x: self.0 }.into();
        let word = thread.make(self.0, |me, x: &code::sc_rmw::Object| code::sc_rmw::read(me, x), call)?;
        valued(self.0, word)
    }

    /// Writes the word.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn store(&self, thread: &mut Thread<'_>, v: T) -> Result<(), Fault> {
        let v = v.word();
        let call = || sc_rmw::Method::Write { x: self.0, v: v.into() }.into();
        thread.make(self.0, |me, x: &code::sc_rmw::Object| code::sc_rmw::write(me, x, v), call)
    }

    /// Writes `new` if the word is `old`, and returns its old value. It compares words, so 0.0 is not -0.0.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn compare_and_swap(&self, thread: &mut Thread<'_>, old: T, new: T) -> Result<T, Fault> {
        let [old, new] = [old, new].map(T::word);
        let call = || sc_rmw::Method::CAS { x: self.0, v1: old.into(), v2: new.into() }.into();
        let word = thread.make(self.0, |me, x: &code::sc_rmw::Object| code::sc_rmw::cas(me, x, old, new), call)?;
        valued(self.0, word)
    }
}

impl Atomic {
    /// Adds to the word, and returns its old value. A sum of more than 64 bits wraps around.
    ///
    /// # Errors
    /// If the fabric fails, or the bodies are interpreted and the sum is not between -2^61 and 2^61 - 1.
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

    /// Makes a call of a key. The code expects that there is such a key, and the interpreter reports it if not.
    fn make<R: CallResult>(
        &self,
        thread: &mut Thread<'_>,
        key: i64,
        code: impl FnOnce(&mut Me<'_>, &code::kvstore::Object) -> Result<R, Fault>,
        call: impl Fn() -> Call,
    ) -> Result<R, Fault> {
        if usize::try_from(key).is_ok_and(|key| key < thread.size(self.0)) {
            thread.make(self.0, code, call)
        } else {
            interpreted(thread, call())
        }
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
pub struct Word(Loc);

/// An operation over the network that was posted. It may be under way until a wait returns.
#[derive(Clone, Copy, Debug)]
pub struct Begun(pub(crate) Posted);

impl Begun {
    /// Waits until the operation completes. A put completes when its source was read, perhaps before it is placed.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn wait(self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        thread.complete(self.0)
    }
}

impl Word {
    /// Reads the word, by the CPU.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn read(&self, thread: &mut Thread<'_>) -> Result<i64, Fault> {
        let by_name = |thread: &mut Thread<'_>| i64::of(thread.operation(Operation::Read { x: self.0 })?);
        thread.with_word(self.0, |port, x| port.read(x), by_name)
    }

    /// Writes the word, by the CPU.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn write(&self, thread: &mut Thread<'_>, v: i64) -> Result<(), Fault> {
        let by_name =
            |thread: &mut Thread<'_>| <()>::of(thread.operation(Operation::Write { x: self.0, v: v.into() })?);
        thread.with_word(self.0, |port, x| port.write(x, v), by_name)
    }

    /// Posts a put of `from`, a word of the thread's node, into this word.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn put(&self, thread: &mut Thread<'_>, from: Self) -> Result<Begun, Fault> {
        let by_name = |d| Operation::Put { x: self.0, y: from.0, d };
        thread.begin((from.0, self.0), |port, from, to, d| port.put(to, from, d), by_name).map(Begun)
    }

    /// Posts a get of this word into `into`, a word of the thread's node.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn get(&self, thread: &mut Thread<'_>, into: Self) -> Result<Begun, Fault> {
        let by_name = |d| Operation::Get { x: into.0, y: self.0, d };
        thread.begin((into.0, self.0), |port, to, from, d| port.get(to, from, d), by_name).map(Begun)
    }

    /// Posts an addition to this word by the network card. The old value goes into `into`, a word of the thread's node. A sum of more
    /// than 64 bits wraps around.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn fetch_add(&self, thread: &mut Thread<'_>, v: i64, into: Self) -> Result<Begun, Fault> {
        let by_name = |d| Operation::RFAA { x: into.0, y: self.0, v: v.into(), d };
        thread.begin((into.0, self.0), |port, to, on, d| port.rfaa(to, on, v, d), by_name).map(Begun)
    }

    /// Posts a write of `new` by the network card, if this word is `old`. The old value goes into `into`, a word of the
    /// thread's node.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn compare_and_swap(&self, thread: &mut Thread<'_>, old: i64, new: i64, into: Self) -> Result<Begun, Fault> {
        let by_name = |d| Operation::RCAS { x: into.0, y: self.0, v1: old.into(), v2: new.into(), d };
        thread.begin((into.0, self.0), |port, to, on, d| port.rcas(to, on, old, new, d), by_name).map(Begun)
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
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn wait(self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        match self.0 {
            Posted::Named(d) => interpreted(thread, msw::Method::Wait { d }),
            posted @ Posted::Numbered(_) => thread.complete(posted),
        }
    }
}

impl Words {
    /// Writes the words, by the CPU.
    ///
    /// # Errors
    /// If the number of values is not the number of words.
    pub fn write(&self, thread: &mut Thread<'_>, values: &[i64]) -> Result<(), Fault> {
        let call = || {
            let values: Vec<Val> = values.iter().map(|&v| v.into()).collect();
            msw::Method::Write { x: self.0, values: Val::tuple(&values) }.into()
        };
        if values.len() != thread.size(self.0) || !thread.is_here(self.0) {
            return interpreted(thread, call());
        }
        thread.make(self.0, |me, x: &code::msw::Object| code::msw::write(me, x, &List::of(values)), call)
    }

    /// Reads the words, by the CPU. Returns `None` if another thread is writing some of them, because they would not
    /// belong together.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn try_read(&self, thread: &mut Thread<'_>) -> Result<Option<Vec<i64>>, Fault> {
        let code = |me: &mut Me<'_>, x: &code::msw::Object| {
            let words = code::msw::try_read(me, x)?;
            Ok((!words.is_bot()).then_some(words))
        };
        let call = || msw::Method::TryRead { x: self.0 }.into();
        let words = if thread.is_here(self.0) { thread.make(self.0, code, call) } else { interpreted(thread, call()) }?;
        Ok(words.map(|words: List| words.as_slice().to_vec()))
    }

    /// Posts a put of `from`, words of the thread's node, into these.
    ///
    /// # Errors
    /// If the fabric fails, or one has more words than the other.
    pub fn put(&self, thread: &mut Thread<'_>, from: Self) -> Result<Copying, Fault> {
        let call = |d| msw::Method::Put { x: self.0, y: from.0, d }.into();
        thread
            .post(from.0, (self.0, from.0), |me, x, y: &code::msw::Object, d| code::msw::put(me, x, y, d), call)
            .map(Copying)
    }

    /// Posts a get of these into `into`, words of the thread's node.
    ///
    /// # Errors
    /// If the fabric fails, or one has more words than the other.
    pub fn get(&self, thread: &mut Thread<'_>, into: Self) -> Result<Copying, Fault> {
        let call = |d| msw::Method::Get { x: into.0, y: self.0, d }.into();
        thread
            .post(into.0, (into.0, self.0), |me, x, y: &code::msw::Object, d| code::msw::get(me, x, y, d), call)
            .map(Copying)
    }
}

/// Makes a call of a library without emitted code.
fn interpreted<R: CallResult>(thread: &mut Thread<'_>, call: impl Into<Call>) -> Result<R, Fault> {
    R::of(thread.call(&call.into())?)
}

/// Returns the nodes other than that of the thread.
fn others(me: &Me<'_>) -> Nodes {
    me.world.all_nodes() & !only(me.node)
}

impl Group {
    /// Adds a word of memory on a node, with an initial value.
    pub fn word(&mut self, name: &str, node: u8, v: i64) -> Word {
        Word(self.object(name, word(Node(node)).init(v.into())))
    }

    /// Adds `size` words of memory on a node that are read together, initially 0.
    pub fn words(&mut self, name: &str, node: u8, size: usize) -> Words {
        Words(self.object(name, words(Node(node), size)))
    }

    /// Adds a barrier among these threads, which are counted from 0.
    pub fn barrier(&mut self, name: &str, participants: &[usize]) -> Barrier {
        Barrier(self.object(name, barrier(&Self::tids(participants))))
    }

    /// Adds a barrier for puts among these threads, which are counted from 0.
    pub fn put_barrier(&mut self, name: &str, participants: &[usize]) -> PutBarrier {
        PutBarrier(self.object(name, put_barrier(&Self::tids(participants))))
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
        SharedVar(self.object(name, variable()), PhantomData)
    }

    /// Adds a ring buffer with `size` words, from a thread to others. The default variant is `hashed`, which sends a message by one
    /// operation to each node. If an interpreted body of a library of yours calls rings too, the variant is `one-put`.
    /// [`Group::variant`] selects another one; the published one is unsound if the writer is a reader too.
    pub fn ring(&mut self, name: &str, writer: usize, readers: &[usize], size: usize) -> Ring {
        let [writer, readers] = [&[writer], readers].map(Self::tids);
        Ring(self.object(name, ring(Rbl::Strong, writer[0], &readers, size)))
    }

    /// Adds a sequentially consistent word on a node, initially 0.
    pub fn atomic(&mut self, name: &str, node: u8) -> Atomic {
        self.atomic_of(name, node)
    }

    /// Adds a sequentially consistent value of one word on a node. Its word is initially 0.
    pub fn atomic_of<T: WordValue>(&mut self, name: &str, node: u8) -> Atomic<T> {
        Atomic(self.object(name, Object::new(SC_RMW).at(Node(node))), PhantomData)
    }

    /// Adds a map with `keys` keys, all of them without values. The default variant is `slot-per-key`. Its deletions are complete before
    /// they are announced, because in the published one a deleted value can reappear. A thread puts the value of a key into its slot with
    /// the key's number, where LOCO-X App. I searches for a free one. [`Group::variant`] selects the published one.
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
        Map(self.object(name, store(&vec![Val::Bot; keys])), PhantomData)
    }
}
