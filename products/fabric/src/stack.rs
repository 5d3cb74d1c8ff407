//! Implementations on top of one another, down to memory words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use mowgli_core::event::{Call, Cell, Event};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::{Hints, Libraries};
use mowgli_core::term::implementation::{Implementations, add_parts};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Expected, Memory, Variant};
use mowgli_libraries::sv::SV;
use mowgli_rdma::tso::TSO;
use mowgli_rdma::wait::{Method, WAIT};
use rustc_hash::FxHashSet;

use crate::compiled::{CompiledObjects, HashKey, fingerprint, has_own_words};
use crate::emitted::mowgli_port::Word;
use crate::legal::{Illegal, Legal, inside};
use crate::memory::{BUFFER, MemoryWord, encoded};
use crate::port::Fault;
use crate::word::{pointed, unpacked};

/// A world with all parts of its objects, and the implementations that make their calls.
pub struct Stack {
    /// The world.
    pub world: Arc<World>,
    /// The implementations.
    pub implementations: Implementations,
    libraries: BTreeMap<Name, Arc<dyn Hints>>,
    /// The variant by which each library runs.
    running: BTreeMap<Name, Variant>,
    /// The words of memory, by their numbers.
    memory: Vec<MemoryWord>,
    legal: Legal,
    compiled: Option<CompiledObjects>,
}

impl Stack {
    /// Builds the implementations of the libraries of a world and of `others`, and of all that they call. A library
    /// that `variants` does not name runs by its [`Entry::default_variant`]. But rings run by the one that puts a message at once, and maps
    /// by the one that does not search for a slot.
    ///
    /// # Errors
    /// If a library or variant does not exist, or a word is on a node that does not exist.
    pub fn new(
        entries: &[Entry],
        world: World,
        others: impl IntoIterator<Item = Name>,
        variants: &BTreeMap<String, String>,
    ) -> Result<Self, Fault> {
        Self::with_parts(entries, world, others, variants, |_| true)
    }

    /// Builds the same, for a group whose calls emitted code makes, if there is such code; those of rings if `has_rings`. Then the words
    /// of some objects have no names: see [`has_own_words`]. Checksums have this key.
    pub(crate) fn compiled(
        entries: &[Entry],
        world: World,
        variants: &BTreeMap<String, String>,
        has_rings: bool,
        key: HashKey,
    ) -> Result<Self, Fault> {
        Self::with_parts(entries, world, [SV], variants, |object| !has_own_words(object))?.with_emitted(has_rings, key)
    }

    /// Builds the implementations. Adds the parts of those objects that `is_named` accepts.
    fn with_parts(
        entries: &[Entry],
        mut world: World,
        others: impl IntoIterator<Item = Name>,
        variants: &BTreeMap<String, String>,
        is_named: impl Fn(&Object) -> bool,
    ) -> Result<Self, Fault> {
        let libraries = world.objects.values().map(|o| o.library).filter(|library| *library != BUFFER);
        let used = libraries.chain(others).collect();
        let (named, apart) = world.objects.into_iter().partition(|(_, object)| is_named(object));
        world.objects = named;
        let (mut running, mut libraries) = (BTreeMap::new(), BTreeMap::new());
        for entry in needed(entries, used, variants)?.into_iter().rev() {
            let named = variants.get(entry.name).map(|variant| entry.variant(variant));
            let variant = named.unwrap_or_else(|| offered(entry))?;
            let name = Name::literal(entry.name);
            add_parts(&*variant.implementation, &mut world);
            running.insert(name, variant.clone());
            libraries.insert(name, entry.specification.shared(name));
        }
        world.objects.extend::<BTreeMap<_, _>>(apart);
        Self::of(world, running, libraries)
    }

    fn of(
        world: World,
        running: BTreeMap<Name, Variant>,
        libraries: BTreeMap<Name, Arc<dyn Hints>>,
    ) -> Result<Self, Fault> {
        let implementations = running.iter().map(|(&name, v)| (name, Arc::clone(&v.implementation))).collect();
        let legal = Legal::new(world.nodes, Self::words(&world).enumerate())?;
        let memory = Self::words(&world).map(|word| MemoryWord::new(word, &legal)).collect::<Result<_, _>>()?;
        Ok(Self { world: Arc::new(world), implementations, libraries, running, memory, legal, compiled: None })
    }

    /// Lets emitted code make the calls of the objects that have such code, of rings if `has_rings`. Words with names are those of the
    /// bodies, so that interpreted calls of the same objects are possible too.
    fn with_emitted(mut self, has_rings: bool, key: HashKey) -> Result<Self, Fault> {
        let nameless = self.world.objects.iter().filter(|(_, object)| has_own_words(object));
        for (x, node) in nameless.filter_map(|(x, object)| Some((*x, object.node?))) {
            inside(self.world.nodes, x, node)?;
        }
        let (compiled, first) = CompiledObjects::new(&self.world, &self.implementations, has_rings, key);
        let is_first: FxHashSet<Loc> = first.iter().copied().flatten().collect();
        let rest = Self::words(&self.world).map(|(x, _)| x).filter(|x| !is_first.contains(x));
        let words: Vec<_> = first.into_iter().chain(rest.map(Some)).collect();
        let named = |x: &Option<Loc>| x.map(|x| (x, &self.world.objects[&x]));
        let numbered = words.iter().enumerate().filter_map(|(at, x)| Some((at, named(x)?)));
        self.legal = Legal::new(self.world.nodes, numbered)?;
        let word = |(at, x)| named(x).map_or_else(|| Ok(compiled.word(at)), |word| MemoryWord::new(word, &self.legal));
        self.memory = words.iter().enumerate().map(word).collect::<Result<_, _>>()?;
        compiled.check(&self.memory);
        self.compiled = Some(compiled);
        Ok(self)
    }

    pub(crate) fn memory(&self) -> &[MemoryWord] {
        &self.memory
    }

    /// Returns the objects with emitted code, if there are any.
    pub(crate) fn with_code(&self) -> Option<&CompiledObjects> {
        self.compiled.as_ref()
    }

    /// Encodes a value, or returns an error that names it.
    pub(crate) fn encoded(&self, v: Val) -> Result<i64, Fault> {
        encoded(v, &self.legal).ok_or_else(|| Fault::Wrong(format!("{v} does not fit into a word of 64 bits")))
    }

    /// Decodes the content of the word `x`. If that is no value, additions have made it: their sum is an integer that words
    /// do not hold.
    pub(crate) fn decoded(&self, x: Loc, content: i64) -> Result<Val, Fault> {
        let word = pointed(content).and_then(|at| self.memory.get(at));
        let v = word.and_then(|word| word.x).map(Val::Loc).or_else(|| unpacked(content));
        v.ok_or_else(|| Fault::Wrong(format!("{x} is {content}: {}", Illegal::TooLarge(content))))
    }

    /// Returns a word.
    pub(crate) fn word(&self, x: Loc) -> Result<Word, Fault> {
        Ok(self.legal.word(x)?)
    }

    /// Builds the implementations that `variants` names, and the specifications of all other libraries.
    ///
    /// # Errors
    /// If a library or variant does not exist.
    pub(crate) fn promised(
        entries: &[Entry],
        mut world: World,
        variants: &BTreeMap<String, String>,
    ) -> Result<(Self, Libraries), Fault> {
        let used = world.objects.values().map(|o| o.library).collect();
        let mut specified =
            entries.iter().fold(Memory::rdma_wait().libraries, |all, entry| all.and(&entry.specification));
        let (mut running, mut libraries) = (BTreeMap::new(), BTreeMap::new());
        for entry in needed(entries, used, variants)?.into_iter().rev() {
            let name = Name::literal(entry.name);
            libraries.insert(name, entry.specification.shared(name));
            if let Some(variant) = variants.get(entry.name) {
                let variant = entry.variant(variant)?;
                add_parts(&*variant.implementation, &mut world);
                running.insert(name, variant.clone());
                specified = specified.without(name);
            }
        }
        Ok((Self::of(world, running, libraries)?, specified))
    }

    /// Prints a warning for each library that runs by a variant which is expected to be wrong, once in a process.
    pub(crate) fn report(&self) {
        static REPORTED: Mutex<BTreeSet<(Name, &str)>> = Mutex::new(BTreeSet::new());
        for (&library, variant) in &self.running {
            let is_new = || REPORTED.lock().unwrap_or_else(PoisonError::into_inner).insert((library, variant.name));
            if !variant.expected.is_correct() && is_new() {
                let (name, about) = (variant.name, variant.about);
                let expected = if variant.expected == Expected::Unsound { "be unsound" } else { "wait for ever" };
                eprintln!("warning: {library} runs as its variant {name}, which is expected to {expected}: {about}");
            }
        }
    }

    /// Describes the group, a line for each thing that processes have to agree on.
    pub(crate) fn description(&self) -> Vec<String> {
        let nodes: Vec<String> = self.world.threads.iter().map(Node::to_string).collect();
        let threads = format!("{} nodes, threads on nodes {}", self.world.nodes, nodes.join(", "));
        let running = self.running.iter().map(|(library, variant)| {
            let bodies = variant.implementation.bodies().into_iter().flat_map(|bodies| bodies.iter());
            let code: Vec<String> = bodies.map(|(method, body)| format!("{method}: {body}")).collect();
            format!("{library} as {}, code {}", variant.name, fingerprint(&code))
        });
        let objects = self.world.objects.iter().map(|(x, object)| described(*x, object));
        [threads].into_iter().chain(running).chain(objects).collect()
    }

    /// Refuses a poll of a node that does not exist.
    pub(crate) fn reachable(&self, thread: Tid, n: Node) -> Result<(), Fault> {
        self.legal.exists(n).map_err(|why| Fault::Wrong(format!("{thread} polls node {n}: {why}")))
    }

    /// Refuses an operation with a word or a node that the thread cannot reach in this way, or with an integer that
    /// words do not hold.
    pub(crate) fn check(&self, thread: Tid, operation: Method) -> Result<(), Fault> {
        self.legal.check(self.world.node_of(thread), operation).map_err(|why| illegal(thread, operation, &why))
    }

    /// Returns a call that reads the last value of a cell, and its thread, which is on the cell's node. `None` stands
    /// for a word of memory, which is read directly.
    ///
    /// # Errors
    /// If such a thread does not exist, or the library of the object does not have a `Read`.
    pub fn reader(&self, cell: Cell) -> Result<Option<(Tid, Call)>, Fault> {
        if Self::words(&self.world).any(|(x, _)| x == cell.loc) {
            return Ok(None);
        }
        let object = self
            .world
            .objects
            .get(&cell.loc)
            .ok_or_else(|| Fault::Wrong(format!("there is no object {}", cell.loc)))?;
        let library = self.libraries.get(&object.library);
        let can_read = library.is_some_and(|l| l.methods().iter().any(|m| m.name == "Read" && m.takes.len() == 1));
        let thread = self.world.tids().find(|t| self.world.node_of(*t) == cell.node).filter(|_| can_read);
        let call = Call::new(object.library, "Read", &[cell.loc.into()]);
        let none = || Fault::Wrong(format!("no thread of node {} can read {} at the end", cell.node, cell.loc));
        Ok(Some((thread.ok_or_else(none)?, call)))
    }

    /// Returns the words of memory of a world, whatever model they belong to.
    pub(crate) fn words(world: &World) -> impl Iterator<Item = (Loc, &Object)> {
        world.objects.iter().filter(|(_, o)| o.library == WAIT || o.library == TSO).map(|(&x, o)| (x, o))
    }

    /// Describes the error in a call of a thread, if there is one.
    #[must_use]
    pub fn fault(&self, thread: Tid, call: &Call) -> Option<String> {
        let library = self.libraries.get(&call.library)?;
        let is_possible = |ret: Val| {
            let event = Event { thread, call: call.clone(), ret };
            !library.shapes(&self.world, &event).is_empty()
        };
        let fault = library.fault(&self.world, thread, call).or_else(|| {
            let results = [Val::Unit, Val::Bot, Val::Bool(true), Val::Bool(false), Val::Int(0)];
            (!results.into_iter().any(is_possible)).then(|| "it has no part in that object".to_owned())
        })?;
        Some(format!("{thread} calls {call} of {}: {fault}", call.library))
    }
}

/// Makes the fault for an operation that is illegal, or whose result words do not hold.
pub(crate) fn illegal(thread: Tid, operation: Method, why: &impl fmt::Display) -> Fault {
    Fault::Wrong(format!("{thread} calls {}: {why}", Call::from(operation)))
}

/// Describes an object in one line, for example `x: rdma-wait-rmw, node 2, at first 5`.
fn described(x: Loc, object: &Object) -> String {
    let node = object.node.map_or(String::new(), |node| format!(", node {node}"));
    let size = if object.size == 1 { String::new() } else { format!(", size {}", object.size) };
    let members: String = object.members.iter().map(|t| format!(", {t}")).collect();
    format!("{x}: {}{node}{size}{members}, at first {}", object.library, object.init)
}

/// Returns the variant by which a library runs if nobody names one.
fn offered(entry: &Entry) -> Result<&Variant, mowgli_libraries::error::Error> {
    match entry.name {
        "rbl" => entry.variant("one-put"),
        "kvstore" => entry.variant("slot-per-key"),
        _ => entry.default_variant(),
    }
}

/// True if a library is implemented over another one, or over one that is.
pub(crate) fn stands_on(entries: &[Entry], library: Name, other: Name) -> bool {
    let mut order = Vec::new();
    below(entries, library, &mut order).is_ok() && order.contains(&other)
}

/// Returns the entries of these libraries and of all that they call, each after those that it calls.
fn needed<'e>(
    entries: &'e [Entry],
    used: BTreeSet<Name>,
    variants: &BTreeMap<String, String>,
) -> Result<Vec<&'e Entry>, Fault> {
    for (name, variant) in variants {
        named(entries, name)?.variant(variant)?;
    }
    let mut order = Vec::new();
    for name in used {
        below(entries, name, &mut order)?;
    }
    order.into_iter().map(|name| Ok(named(entries, name.text())?)).collect()
}

/// Adds a library after all that it calls.
fn below(entries: &[Entry], name: Name, order: &mut Vec<Name>) -> Result<(), Fault> {
    if name == WAIT || name == TSO || order.contains(&name) {
        return Ok(());
    }
    for called in named(entries, name.text())?.below.names() {
        below(entries, called, order)?;
    }
    order.push(name);
    Ok(())
}
