//! The objects of a group as emitted code has made them, with the words of memory that they have.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::world::Object;
use mowgli_libraries::entry::Entry;
use rustc_hash::FxHashMap;

use crate::emitted::mowgli_port::{self, Id, List, Word, World};
use crate::emitted::objects::{self, Own};
use crate::memory::MemoryWord;
use crate::port::{Fault, Port};
use crate::watch::Watch;

/// The key of a group's checksums.
pub(crate) type HashKey = [u64; 2];

/// Makes a key that nobody can guess.
pub(crate) fn hash_key() -> Result<HashKey, Fault> {
    let number = || getrandom::u64().map_err(|e| Fault::Wrong(format!("the system gives no random number: {e}")));
    Ok([number()?, number()?])
}

/// Computes the fingerprint of a description, or of code: the 64-bit FNV-1a hash of its lines. It is the same in each build.
pub(crate) fn fingerprint<S: AsRef<str>>(lines: &[S]) -> String {
    let bytes = lines.iter().flat_map(|line| line.as_ref().bytes().chain(*b"\n"));
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

/// An object as emitted code has it.
pub(crate) type AnyObject = Box<dyn Any + Send + Sync>;

/// A function that makes an object: on each node the same ones in the same order.
pub(crate) type Maker = Box<dyn Fn(&mut World) -> AnyObject + Send + Sync>;

/// The declarations of a group.
pub(crate) struct Declared {
    pub(crate) world: mowgli_core::world::World,
    /// The objects with emitted code, in the order in which they are made.
    pub(crate) makers: Vec<(Loc, Maker)>,
    /// The texts of emitted code that is not of this crate, by the names of the objects.
    pub(crate) codes: BTreeMap<Loc, String>,
    pub(crate) entries: Vec<Entry>,
    /// The time after which threads give up.
    pub(crate) limit: Duration,
}

/// An object of a group, whose code `mowgli emit rust` has written.
pub struct EmittedObject<X>(pub(crate) Loc, PhantomData<fn() -> X>);

impl<X> Clone for EmittedObject<X> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<X> Copy for EmittedObject<X> {}

impl<X> fmt::Debug for EmittedObject<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EmittedObject({})", self.0)
    }
}

impl<X> EmittedObject<X> {
    pub(crate) fn new(x: Loc) -> Self {
        Self(x, PhantomData)
    }

    /// Returns the name of the object, for calls of it.
    #[must_use]
    pub fn name(&self) -> Loc {
        self.0
    }
}

/// The objects of a group.
pub(crate) struct MadeObjects<'g> {
    pub(crate) declared: &'g Declared,
    pub(crate) world: World,
    own: Own,
    /// The objects by the addresses of their names. Equal names that are made at run time have one address.
    objects: FxHashMap<usize, AnyObject>,
    pub(crate) memory: Vec<MemoryWord>,
}

/// A thread in a call of emitted code.
pub(crate) type Me<'t> = objects::Me<'t, CallPort<'t>>;

impl<'g> MadeObjects<'g> {
    /// Makes the objects of a group, with this key of checksums.
    ///
    /// # Errors
    /// If an object is on a node that does not exist.
    pub(crate) fn new(declared: &'g Declared, key: HashKey) -> Result<Self, Fault> {
        let of = &declared.world;
        let is_outside = |(x, object): (&Loc, &Object)| {
            let node = object.node.filter(|n| !(1..=of.nodes).contains(&n.0))?;
            let nodes = of.nodes;
            Some(format!("{x} is on node {node}, and there are nodes 1 to {nodes}: let a thread be on node {node}"))
        };
        if let Some(why) = of.objects.iter().find_map(is_outside) {
            return Err(Fault::Wrong(why));
        }
        let node_of: Vec<i64> = of.threads.iter().map(|n| n.0.into()).collect();
        let mut world = World::new(of.nodes.into(), &node_of);
        world.key = key;
        let own = Own::new(&mut world);
        let all: Vec<(Loc, AnyObject)> = declared.makers.iter().map(|(x, make)| (*x, make(&mut world))).collect();
        let mut memory: Vec<MemoryWord> =
            world.words.iter().map(|&(node, initial)| MemoryWord::new(node as u8, initial)).collect();
        // Those of node 0 do not exist.
        own.sv.bot[1..].iter().for_each(|word| memory[word.at].is_unread = true);
        for (x, object) in &all {
            if let Some(word) = object.downcast_ref::<Word>() {
                memory[word.at].name = Some(*x);
            }
            if let Some(row) = object.downcast_ref::<Arc<[Word]>>() {
                memory[row[0].at].begins = true;
            }
        }
        let objects = all.into_iter().map(|(x, object)| (address(x), object)).collect();
        Ok(Self { declared, world, own, objects, memory })
    }

    /// Returns an object of this kind.
    ///
    /// # Errors
    /// If the group has none of this name.
    pub(crate) fn object<X: 'static>(&self, x: Loc) -> Result<&X, Fault> {
        let object = self.objects.get(&address(x)).and_then(|object| object.downcast_ref());
        object.ok_or_else(|| Fault::Wrong(format!("there is no {x} of this kind in the group that runs")))
    }

    /// Returns a thread in a call.
    pub(crate) fn me<'t>(&'t self, thread: Tid, port: CallPort<'t>) -> Me<'t> {
        mowgli_port::Thread::new(port, &self.world, &self.own, thread.index() as i64 + 1)
    }

    /// Describes the group, a line for each thing that processes have to agree on.
    pub(crate) fn description(&self) -> Vec<String> {
        let world = &self.declared.world;
        let nodes: Vec<String> = world.threads.iter().map(Node::to_string).collect();
        let threads = format!("{} nodes, threads on nodes {}", world.nodes, nodes.join(", "));
        let codes = self.declared.codes.iter().map(|(x, code)| format!("{x}: code {}", fingerprint(&[code])));
        let objects = world.objects.iter().map(|(x, object)| described(*x, object));
        [threads].into_iter().chain(codes).chain(objects).collect()
    }
}

/// Describes an object in one line, for example `x: rdma-wait-rmw, node 2, at first 5`.
fn described(x: Loc, object: &Object) -> String {
    let node = object.node.map_or(String::new(), |node| format!(", node {node}"));
    let size = if object.size == 1 { String::new() } else { format!(", size {}", object.size) };
    let members: String = object.members.iter().map(|t| format!(", {t}")).collect();
    format!("{x}: {}{node}{size}{members}, at first {}", object.library, object.init)
}

fn address(x: Loc) -> usize {
    x.0.text().as_ptr() as usize
}

/// The port of emitted code in one call. It ends waits that take too long.
pub struct CallPort<'t> {
    port: &'t mut dyn Port,
    watch: &'t mut Watch,
    /// Describes the call.
    call: &'t dyn Fn() -> String,
}

impl<'t> CallPort<'t> {
    pub(crate) fn new(port: &'t mut dyn Port, watch: &'t mut Watch, call: &'t dyn Fn() -> String) -> Self {
        Self { port, watch, call }
    }
}

/// Passes operations on.
macro_rules! passed {
    ($($name:ident($($x:ident: $T:ty),*) -> $R:ty;)*) => {
        $(fn $name(&mut self, $($x: $T),*) -> Result<$R, Fault> {
            self.port.$name($($x),*)
        })*
    };
}

impl mowgli_port::Port for CallPort<'_> {
    type Fault = Fault;

    passed! {
        read(x: Word) -> i64;
        write(x: Word, v: i64) -> ();
        read_words(from: &[Word], to: &mut List) -> ();
        write_words(to: &[Word], values: &[i64]) -> ();
        cas(x: Word, old: i64, new: i64) -> i64;
        xchg(x: Word, v: i64) -> i64;
        faa(x: Word, v: i64) -> i64;
        mfence() -> ();
        get(to: Word, from: Word, d: Id) -> ();
        put(to: Word, from: Word, d: Id) -> ();
        get_words(to: &[Word], from: &[Word], d: Id) -> ();
        put_words(to: &[Word], from: &[Word], d: Id) -> ();
        rcas(to: Word, on: Word, old: i64, new: i64, d: Id) -> ();
        rfaa(to: Word, on: Word, v: i64, d: Id) -> ();
        wait(d: Id) -> ();
        rfence(n: i64) -> ();
    }

    fn again(&mut self) -> Result<(), Fault> {
        self.watch.made += 1;
        if self.watch.is_late() {
            return Err(Fault::Late((self.call)()));
        }
        self.port.again()
    }

    fn never(&mut self, _: &str) -> Fault {
        Fault::Endless((self.call)())
    }
}
