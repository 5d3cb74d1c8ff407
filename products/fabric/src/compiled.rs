//! Objects whose calls are made by emitted code, and not by the interpreter.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::term::implementation::Implementations;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::bal::{BAL, BAL_PUTS};
use mowgli_libraries::kvstore::KVSTORE;
use mowgli_libraries::msw::MSW;
use mowgli_libraries::nlock::NLOCK;
use mowgli_libraries::rbl::RBL;
use mowgli_libraries::sc_rmw::SC_RMW;
use mowgli_libraries::slock::SLOCK;
use mowgli_libraries::sv::SV;
use mowgli_libraries::table::TABLE;
use mowgli_libraries::trylock::TRYLOCK;
use mowgli_libraries::wlock::WLOCK;
use mowgli_rdma::wait::WAIT;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::emitted::mowgli_port::{self, Id, List, Word};
use crate::emitted::objects::{
    self, Own, bal, bal_puts, kvstore, msw, nlock, rbl, sc_rmw, slock, sv, table, trylock, wlock,
};
use crate::memory::{BUFFER, MemoryWord};
use crate::port::{Fault, Port};
use crate::watch::Watch;
use crate::word::packed;

/// The libraries with emitted code, each as the variant by which it runs if nobody names one.
const EMITTED: [Name; 12] = [SV, BAL, BAL_PUTS, WLOCK, SLOCK, NLOCK, TRYLOCK, SC_RMW, RBL, MSW, KVSTORE, TABLE];

/// True if emitted code makes the calls of objects in a group with these variants. If one of the libraries runs as another
/// variant than the default, or if a map has values at first, all bodies are interpreted.
pub(crate) fn is_compiled(world: &World, variants: &BTreeMap<String, String>) -> bool {
    let has_code = |object: &Object| match object.library {
        MSW | TABLE => list(object.init).is_some(),
        KVSTORE => matches!(object.init, Val::Tuple(values) if values.parts().iter().all(|v| *v == Val::Bot)),
        _ => true,
    };
    !EMITTED.iter().any(|library| variants.contains_key(library.text())) && world.objects.values().all(has_code)
}

/// True if only emitted code, or operations by number, use the words of an object. These words have no names, because a map and a buffer
/// have many. The interpreter has other values in some of them: a tuple in place of a checksum, or of a number that packs it.
pub(crate) fn has_own_words(object: &Object) -> bool {
    [MSW, KVSTORE, TABLE, BUFFER].contains(&object.library)
}

/// True if emitted code makes the calls of a library, or these are operations themselves.
pub(crate) fn is_emitted(library: Name) -> bool {
    library == WAIT || EMITTED.contains(&library)
}

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

/// The variant of rings with emitted code.
pub(crate) const HASHED: &str = "hashed";

/// Objects with emitted code.
pub(crate) struct CompiledObjects {
    pub(crate) world: mowgli_port::World,
    own: Own,
    /// The objects by the addresses of their names. Equal names that are made at run time have one address.
    objects: FxHashMap<usize, Box<dyn Any + Send + Sync>>,
    /// The words with which buffers begin.
    begins: FxHashSet<usize>,
}

/// A thread in a call of emitted code.
pub(crate) type Me<'t> = objects::Me<'t, CallPort<'t>>;

impl CompiledObjects {
    /// Makes the objects of a world, with or without its rings, and with this key of checksums. Returns the name of each word that the
    /// emitted code has, by number, if it has one.
    pub(crate) fn new(
        world: &World,
        implementations: &Implementations,
        has_rings: bool,
        key: HashKey,
    ) -> (Self, Vec<Option<Loc>>) {
        let node_of: Vec<i64> = world.threads.iter().map(|n| n.0.into()).collect();
        let mut made = mowgli_port::World::new(world.nodes.into(), &node_of);
        made.key = key;
        let own = Own::new(&mut made);
        let parts = PartOrder { world, implementations };
        let mut words = Vec::new();
        parts.add_parts(SV, None, &mut words);
        let (mut all, mut begins) = (FxHashMap::default(), FxHashSet::default());
        let is_compiled = |x: &Loc, object: &Object| !x.0.is_part() && (has_rings || object.library != RBL);
        for (&x, object) in world.objects.iter().filter(|(x, object)| is_compiled(x, object)) {
            if object.library == BUFFER {
                begins.insert(made.words.len());
            }
            let Some(code) = emitted(&mut made, object) else { continue };
            if has_own_words(object) {
                words.resize(made.words.len(), None);
            } else {
                parts.add_object(x, object, &mut words);
            }
            all.insert(address(x), code);
        }
        (Self { world: made, own, objects: all, begins }, words)
    }

    /// Describes a word without a name.
    pub(crate) fn word(&self, at: usize) -> MemoryWord {
        let (node, initial) = self.world.words[at];
        MemoryWord::nameless(node as u8, initial, self.begins.contains(&at))
    }

    /// Checks that emitted code and bodies have the same words.
    pub(crate) fn check(&self, memory: &[MemoryWord]) {
        let is_same = |(word, emitted): (&MemoryWord, &(i64, i64))| (i64::from(word.node), word.initial) == *emitted;
        let are_same = self.world.words.len() <= memory.len() && memory.iter().zip(&self.world.words).all(is_same);
        assert!(are_same, "the emitted objects are those of other bodies");
    }

    /// True if the interpreter cannot make calls of this object: see [`has_own_words`].
    pub(crate) fn is_alone(&self, x: Loc) -> bool {
        let object = self.objects.get(&address(x));
        object.is_some_and(|code| {
            let is_table = code.is::<kvstore::Object>() || code.is::<table::Object>();
            is_table || code.is::<msw::Object>() || code.is::<rbl::Object>()
        })
    }

    /// Returns the code's form of an object, if it has one. Without one, the interpreter makes the same calls.
    pub(crate) fn object<X: 'static>(&self, x: Loc) -> Option<&X> {
        self.objects.get(&address(x))?.downcast_ref()
    }

    /// Returns a thread in a call.
    pub(crate) fn me<'t>(&'t self, thread: Tid, port: CallPort<'t>) -> Me<'t> {
        mowgli_port::Thread::new(port, &self.world, &self.own, thread.index() as i64 + 1)
    }
}

fn address(x: Loc) -> usize {
    x.0.text().as_ptr() as usize
}

/// Makes the emitted form of an object, if its library has emitted code.
fn emitted(world: &mut mowgli_port::World, object: &Object) -> Option<Box<dyn Any + Send + Sync>> {
    let node = object.node.map_or(1, |Node(n)| n.into());
    let initial = match object.init {
        Val::Tuple(_) => 0,
        v => packed(v)?,
    };
    let members: Vec<i64> = object.members.iter().map(|t| t.index() as i64 + 1).collect();
    let members = List::of(&members);
    Some(match object.library {
        WAIT => Box::new(world.word(node, initial)),
        BUFFER => Box::new((0..object.size).map(|_| world.word(node, initial)).collect::<Arc<[Word]>>()),
        SV => Box::new(sv::new(world, initial)),
        BAL => Box::new(bal::new(world, members)),
        BAL_PUTS => Box::new(bal_puts::new(world, members)),
        WLOCK => Box::new(wlock::new(world, node)),
        SLOCK => Box::new(slock::new(world, node)),
        NLOCK => Box::new(nlock::new(world, node)),
        TRYLOCK => Box::new(trylock::new(world, node)),
        SC_RMW => Box::new(sc_rmw::new(world, node, initial)),
        MSW => Box::new(msw::new(world, node, list(object.init)?)),
        RBL => Box::new(rbl::new(world, members, object.size as i64)),
        KVSTORE => Box::new(kvstore::new(world, object.size as i64)),
        TABLE => Box::new(table::new(world, node, list(object.init)?, object.size as i64)),
        _ => return None,
    })
}

/// Returns the words of a tuple, if each has an encoding.
fn list(v: Val) -> Option<List> {
    let Val::Tuple(words) = v else { return None };
    words.parts().iter().map(|&v| packed(v)).collect()
}

/// The parts of objects, in the order in which emitted code makes them.
struct PartOrder<'a> {
    world: &'a World,
    implementations: &'a Implementations,
}

impl PartOrder<'_> {
    /// Adds the words of an object.
    fn add_object(&self, x: Loc, object: &Object, words: &mut Vec<Option<Loc>>) {
        if object.library == WAIT {
            words.push(Some(x));
        } else {
            self.add_parts(object.library, Some(x), words);
        }
    }

    /// Adds the words of the parts of an object, or of the library itself.
    fn add_parts(&self, library: Name, owner: Option<Loc>, words: &mut Vec<Option<Loc>>) {
        let parts = self.implementations.get(&library).and_then(|implementation| implementation.parts());
        for (x, object) in parts.map(|parts| parts.of_object(self.world, owner)).unwrap_or_default() {
            self.add_object(x, &object, words);
        }
    }
}

/// The port of emitted code in one call. It ends waits that take too long.
pub(crate) struct CallPort<'t> {
    port: &'t mut dyn Port,
    watch: &'t mut Watch,
    /// Describes the call.
    call: &'t dyn Fn() -> String,
}

impl<'t> CallPort<'t> {
    pub(crate) fn new(port: &'t mut dyn Port, watch: &'t mut Watch, call: &'t dyn Fn() -> String) -> Self {
        Self { port, watch, call }
    }

    /// Returns a word of the thread's node, if it can be seen without an operation.
    pub(crate) fn peek(&self, x: Word) -> Option<i64> {
        self.port.peek(x)
    }
}

impl mowgli_port::Port for CallPort<'_> {
    type Fault = Fault;

    fn read(&mut self, x: Word) -> Result<i64, Fault> {
        self.port.read(x)
    }

    fn write(&mut self, x: Word, v: i64) -> Result<(), Fault> {
        self.port.write(x, v)
    }

    fn read_words(&mut self, from: &[Word], to: &mut List) -> Result<(), Fault> {
        self.port.read_words(from, to)
    }

    fn write_words(&mut self, to: &[Word], values: &[i64]) -> Result<(), Fault> {
        self.port.write_words(to, values)
    }

    fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, Fault> {
        self.port.cas(x, old, new)
    }

    fn xchg(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.port.xchg(x, v)
    }

    fn faa(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.port.faa(x, v)
    }

    fn mfence(&mut self) -> Result<(), Fault> {
        self.port.mfence()
    }

    fn get(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.port.get(to, from, d)
    }

    fn put(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.port.put(to, from, d)
    }

    fn get_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        self.port.get_words(to, from, d)
    }

    fn put_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        self.port.put_words(to, from, d)
    }

    fn rcas(&mut self, to: Word, on: Word, old: i64, new: i64, d: Id) -> Result<(), Fault> {
        self.port.rcas(to, on, old, new, d)
    }

    fn rfaa(&mut self, to: Word, on: Word, v: i64, d: Id) -> Result<(), Fault> {
        self.port.rfaa(to, on, v, d)
    }

    fn wait(&mut self, d: Id) -> Result<(), Fault> {
        self.port.wait(d)
    }

    fn rfence(&mut self, n: i64) -> Result<(), Fault> {
        self.port.rfence(n)
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
