//! Groups of threads on nodes, with objects, to run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::time::Duration;

use mowgli_core::event::Cell;
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::term::program::Prog;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::Entry;
use mowgli_libraries::rbl::RBL;
use mowgli_rdma::Switches;

use crate::company::Company;
use crate::compiled::{HASHED, HashKey, hash_key, is_compiled, is_emitted};
use crate::legal::held;
use crate::local::LocalMemory;
use crate::machine::MachineFabric;
use crate::memory::with_names;
use crate::ofi::{Ofi, Provider};
use crate::port::{Fault, RemoteFabric};
use crate::stack::{Stack, stands_on};
use crate::thread::Thread;

/// The fabric over which a group runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fabric {
    /// Shared memory of this process. Each operation takes effect at once, so weak behaviour does not occur.
    Local,
    /// The machine of RDMA-TSO-RMW, which delays operations as the seed says. Equal seeds give equal runs.
    Machine {
        /// The seed.
        seed: u64,
    },
}

/// The largest number of steps of a run over the machine.
const STEPS: u64 = 1_000_000;

/// The default time after which waiting threads give up.
const LIMIT: Duration = Duration::from_secs(60);

impl Fabric {
    fn open(self, stack: &Stack, switches: Switches) -> Result<Box<dyn RemoteFabric>, Fault> {
        Ok(match self {
            Self::Local => Box::new(LocalMemory::new(stack.memory())),
            Self::Machine { seed } => Box::new(MachineFabric::new(stack, switches, seed, STEPS)?),
        })
    }
}

impl Stack {
    /// Runs a program in each thread. Returns their results, and the last values of these cells.
    ///
    /// # Errors
    /// If a thread does not end, or makes an illegal call.
    ///
    /// # Panics
    /// If a thread has no program.
    pub fn programs(
        &self,
        fabric: Fabric,
        switches: Switches,
        limit: Duration,
        programs: &[Prog],
        observed: &[Cell],
    ) -> Result<(Vec<Val>, Vec<Val>), Fault> {
        let start = Barrier::new(programs.len());
        self.threads(fabric, switches, limit, observed, |thread| {
            if fabric == Fabric::Local {
                // Threads begin together, apart from a short random delay.
                start.wait();
                (0..fastrand::u32(..400)).for_each(|_| std::hint::spin_loop());
            }
            thread.run(&programs[thread.id().index()])
        })
    }

    fn threads<R: Send>(
        &self,
        fabric: Fabric,
        switches: Switches,
        limit: Duration,
        observed: &[Cell],
        body: impl Fn(&mut Thread<'_>) -> Result<R, Fault> + Sync,
    ) -> Result<(Vec<R>, Vec<Val>), Fault> {
        self.report();
        let network = fabric.open(self, switches)?;
        let results = self.each(&*network, self.world.tids(), limit, body)?;
        Ok((results, self.last(&*network, limit, observed)?))
    }

    /// Runs `body` in each of these threads.
    fn each<R: Send>(
        &self,
        network: &dyn RemoteFabric,
        threads: impl Iterator<Item = Tid>,
        limit: Duration,
        body: impl Fn(&mut Thread<'_>) -> Result<R, Fault> + Sync,
    ) -> Result<Vec<R>, Fault> {
        let body = &body;
        let ended: Vec<Result<R, Fault>> = std::thread::scope(|scope| {
            let run = |t| scope.spawn(move || body(&mut Thread::new(self, t, network.port(t), limit)));
            let all: Vec<_> = threads.map(run).collect();
            all.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        });
        // A thread may be late, or wait for ever, because another one has failed or its run does not count. In that case the
        // fault of the other one is reported.
        let (good, bad): (Vec<_>, Vec<_>) = ended.into_iter().partition(Result::is_ok);
        let fault = bad.into_iter().filter_map(Result::err).min_by_key(|fault| match fault {
            Fault::Discarded => 1,
            Fault::Endless(_) => 2,
            Fault::Late(_) => 3,
            _ => 0,
        });
        fault.map_or(Ok(()), Err)?;
        Ok(good.into_iter().flatten().collect())
    }

    /// Returns the values of these cells after all threads have ended.
    fn last(&self, network: &dyn RemoteFabric, limit: Duration, observed: &[Cell]) -> Result<Vec<Val>, Fault> {
        network.settle();
        let value = |cell: &Cell| match self.reader(*cell)? {
            None => looked_at(self, cell.loc, network.last(self.word(cell.loc)?)),
            Some((t, read)) => Thread::new(self, t, network.port(t), limit).call(&read),
        };
        observed.iter().map(value).collect()
    }
}

/// Decodes the last content of a word, or returns an error if words do not hold it.
pub(crate) fn looked_at(stack: &Stack, x: Loc, content: i64) -> Result<Val, Fault> {
    let v = stack.decoded(x, content)?;
    held(v).map_err(|why| Fault::Wrong(format!("at the end {x} is {v}: {why}")))?;
    Ok(v)
}

/// A group of threads on nodes, with objects.
pub struct Group {
    world: World,
    entries: Vec<Entry>,
    variants: BTreeMap<String, String>,
    limit: Duration,
    /// True if no call is made by emitted code.
    is_interpreted: bool,
}

impl Group {
    /// Creates a group with one thread on each of these nodes, which are counted from 1. For example, `&[1, 1, 2]` stands for two
    /// threads on node 1 and one on node 2.
    ///
    /// # Panics
    /// If a node is 0 or above 63, or there are more than 255 threads.
    #[must_use]
    pub fn new(nodes: &[u8]) -> Self {
        let is_node = |n: &u8| (1..=NodeSet::MOST).contains(n);
        if let Some(n) = nodes.iter().find(|n| !is_node(n)) {
            panic!("there is no node {n}: the nodes of a group are numbered from 1 to {}", NodeSet::MOST);
        }
        assert!(nodes.len() <= Tid::MOST, "{} threads: a group has at most {}", nodes.len(), Tid::MOST);
        let threads: Vec<Node> = nodes.iter().map(|&n| Node(n)).collect();
        let world = World::new(nodes.iter().copied().max().unwrap_or(1), &threads);
        Self { world, entries: catalogue(), variants: BTreeMap::new(), limit: LIMIT, is_interpreted: false }
    }

    /// Adds a library. [`Group::object`] makes its objects, and [`Thread::call`] calls its methods.
    ///
    /// # Panics
    /// If a library of this name exists.
    #[must_use]
    pub fn library(mut self, entry: Entry) -> Self {
        assert!(self.entries.iter().all(|e| e.name != entry.name), "there are two libraries {}", entry.name);
        self.entries.push(entry);
        self
    }

    /// Sets the time after which a thread gives up a call, or a loop that waits. The default is one minute. A thread that goes on
    /// calling has no limit. [`Thread::within`] sets another one for a part of its code.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Selects a variant of a library. The default is the first one that is expected to be correct: the published one,
    /// or a mended one if that is unsound ([`Entry::default_variant`]). [`Group::run`] returns an error if the variant
    /// does not exist. If it is expected to be wrong, the process prints one warning on standard error. In a company
    /// only the first process does.
    #[must_use]
    pub fn variant(mut self, library: &str, variant: &str) -> Self {
        self.variants.insert(library.to_owned(), variant.to_owned());
        self
    }

    /// Interprets the bodies of all methods. By default, the code that `mowgli emit rust` writes makes the calls of most objects.
    /// These are barriers, shared variables, rings, atomics, locks, words that are read together, and maps. If a variant of such a library is
    /// selected, or a map begins with values, all bodies are interpreted, too.
    #[must_use]
    pub fn interpreted(self) -> Self {
        Self { is_interpreted: true, ..self }
    }

    /// Returns the nodes that have threads.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        self.world.threads.iter().copied().collect::<BTreeSet<Node>>().into_iter().collect()
    }

    /// Returns the threads of these numbers, counted from 0.
    pub(crate) fn tids(threads: &[usize]) -> Vec<Tid> {
        threads.iter().map(|&t| Tid::from_index(t)).collect()
    }

    /// Adds an object.
    ///
    /// # Panics
    /// If an object of this name exists.
    pub fn object(&mut self, name: &str, object: Object) -> Loc {
        let x = Loc::new(name);
        assert!(self.world.objects.insert(x, object).is_none(), "there are two objects {name}");
        x
    }

    /// Runs `body` in every thread, and returns the results in the order of the threads.
    ///
    /// # Errors
    /// If a thread fails or does not end, or a variant does not exist.
    ///
    /// # Panics
    /// If a thread panics.
    pub fn run<R: Send>(
        &self,
        fabric: Fabric,
        body: impl Fn(&mut Thread<'_>) -> Result<R, Fault> + Sync,
    ) -> Result<Vec<R>, Fault> {
        Ok(self.stack(hash_key()?)?.threads(fabric, Switches::OFF, self.limit, &[], body)?.0)
    }

    /// Runs `body` in every thread of this process's node, and returns their results. Each node has a process, and all
    /// processes have to make this call with equal groups. It returns when all have finished. If a thread panics, the
    /// other processes receive a fault at once.
    ///
    /// # Errors
    /// If a thread fails or does not end. Also if another process has gone, has declared another group, or has a thread
    /// that panicked. Also if the company already runs a group, a variant does not exist, or this crate was built
    /// without libfabric.
    ///
    /// # Panics
    /// If a thread panics.
    pub fn run_among<R: Send>(
        &self,
        company: &Company,
        provider: Provider,
        body: impl Fn(&mut Thread<'_>) -> Result<R, Fault> + Sync,
    ) -> Result<Vec<R>, Fault> {
        let body = |thread: &mut Thread<'_>| company.reporting(thread.id(), || body(thread));
        let ran = self.stack(company.key()).and_then(|stack| {
            let own = |t: &Tid| usize::from(stack.world.node_of(*t).0) == company.rank() + 1;
            let work = |network: &dyn RemoteFabric| {
                let results = stack.each(network, stack.world.tids().filter(own), self.limit, body)?;
                company.gather("")?;
                Ok(results)
            };
            if provider == Provider::Memory {
                return work(&LocalMemory::among(company, &stack)?);
            }
            let net = Ofi::open(company, provider, &stack, 1, self.limit)?;
            net.going_on(|| work(&net))
        });
        // Other processes wait for this one, so they receive the reason why it does not continue.
        ran.inspect_err(|fault| company.fail(fault))
    }

    /// Returns the world, in which each word has a name.
    pub(crate) fn world(&self) -> World {
        with_names(self.world.clone())
    }

    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Returns the stack that implements only the libraries with a named variant, and the specifications of the others.
    pub(crate) fn promised(&self) -> Result<(Stack, Libraries), Fault> {
        Stack::promised(&self.entries, self.world(), &self.variants)
    }

    /// True if emitted code makes all calls of rings, and no interpreted body does. The interpreter has another hash, so only then do
    /// rings run by [`HASHED`].
    fn has_rings(&self) -> bool {
        let libraries: BTreeSet<Name> = self.world.objects.values().map(|object| object.library).collect();
        libraries.into_iter().all(|library| is_emitted(library) || !stands_on(&self.entries, library, RBL))
    }

    /// Builds the stack of this group. Checksums of emitted code have this key.
    pub(crate) fn stack(&self, key: HashKey) -> Result<Stack, Fault> {
        if self.is_interpreted || !is_compiled(&self.world, &self.variants) {
            return Stack::new(&self.entries, self.world(), [], &self.variants);
        }
        let has_rings = self.has_rings();
        let rings = has_rings.then(|| (RBL.text().to_owned(), HASHED.to_owned()));
        let variants = self.variants.clone().into_iter().chain(rings).collect();
        Stack::compiled(&self.entries, self.world.clone(), &variants, has_rings, key)
    }
}
