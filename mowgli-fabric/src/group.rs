//! Threads on nodes, with objects, to run.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::time::Duration;

use mowgli_core::event::Cell;
use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::program::Prog;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::Entry;
use mowgli_rdma::Switches;

use crate::company::Company;
use crate::legal::held;
use crate::local::Local;
use crate::machine::Machine;
use crate::ofi::{Ofi, Provider};
use crate::port::{Fault, Network};
use crate::stack::Stack;
use crate::thread::Thread;

/// What a group runs over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fabric {
    /// Shared memory of this process. All is done at once, so nothing weak is seen.
    Local,
    /// The machine of RDMA-TSO-RMW, as adverse as the seed says. Equal seeds give equal runs.
    Machine {
        /// The seed.
        seed: u64,
    },
}

/// The most steps of a run over the machine.
const STEPS: u64 = 1_000_000;

/// After how much time threads give up that wait.
const LIMIT: Duration = Duration::from_secs(60);

impl Fabric {
    fn open(self, world: &World, switches: Switches) -> Result<Box<dyn Network>, Fault> {
        Ok(match self {
            Self::Local => Box::new(Local::new(world)),
            Self::Machine { seed } => Box::new(Machine::new(world, switches, seed, STEPS)?),
        })
    }
}

impl Stack {
    /// Runs a program in each thread. Gives what they return, and what is in these cells when all is done.
    ///
    /// # Errors
    /// If a thread does not end, or makes a call that no program may make.
    ///
    /// # Panics
    /// If there is no program for a thread.
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
                // Threads begin together, but for a moment.
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
        let network = fabric.open(&self.world, switches)?;
        let results = self.each(&*network, self.world.tids(), limit, body)?;
        Ok((results, self.last(&*network, limit, observed)?))
    }

    /// Runs this in each of these threads.
    fn each<R: Send>(
        &self,
        network: &dyn Network,
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
        // A thread may be late because another one has left with a fault of its own: that one is told.
        let (good, bad): (Vec<_>, Vec<_>) = ended.into_iter().partition(Result::is_ok);
        let fault = bad.into_iter().filter_map(Result::err).min_by_key(|fault| matches!(fault, Fault::Late(_)));
        fault.map_or(Ok(()), Err)?;
        Ok(good.into_iter().flatten().collect())
    }

    /// What is in these cells when all threads have ended.
    fn last(&self, network: &dyn Network, limit: Duration, observed: &[Cell]) -> Result<Vec<Val>, Fault> {
        network.settle();
        let value = |cell: &Cell| match self.reader(*cell).map_err(Fault::Wrong)? {
            None => looked_at(cell.loc, network.last(cell.loc)),
            Some((t, read)) => Thread::new(self, t, network.port(t), limit).call(&read),
        };
        observed.iter().map(value).collect()
    }
}

/// The value of a word at the end.
pub(crate) fn looked_at(x: Loc, v: Val) -> Result<Val, Fault> {
    held(v).map_err(|why| Fault::Wrong(format!("at the end {x} is {v}: {why}")))?;
    Ok(v)
}

/// Threads on nodes, and objects.
pub struct Group {
    world: World,
    entries: Vec<Entry>,
    variants: BTreeMap<String, String>,
    limit: Duration,
}

impl Group {
    /// A thread on each of these nodes, which are counted from 1.
    ///
    /// # Panics
    /// If a node is 0.
    #[must_use]
    pub fn new(nodes: &[u8]) -> Self {
        assert!(!nodes.contains(&0), "nodes are counted from 1");
        let threads: Vec<Node> = nodes.iter().map(|&n| Node(n)).collect();
        let world = World::new(nodes.iter().copied().max().unwrap_or(1), &threads);
        Self { world, entries: catalogue(), variants: BTreeMap::new(), limit: LIMIT }
    }

    /// With a library of one's own, of which [`Group::object`] makes objects and [`Thread::call`] calls.
    ///
    /// # Panics
    /// If there is one of its name.
    #[must_use]
    pub fn library(mut self, entry: Entry) -> Self {
        assert!(self.entries.iter().all(|e| e.name != entry.name), "there are two libraries {}", entry.name);
        self.entries.push(entry);
        self
    }

    /// With threads that give up when they go round in a loop after so much time; a minute if nothing is said.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// With this variant of a library. Without, it runs by the first one that is expected to be correct: the published one, or a mended one where
    /// that is unsound ([`Entry::default_variant`]). [`Group::run`] returns an error if there is no such variant. If it is expected to be
    /// wrong, a line on standard error says so, once in a process, and of several processes in the first one.
    #[must_use]
    pub fn variant(mut self, library: &str, variant: &str) -> Self {
        self.variants.insert(library.to_owned(), variant.to_owned());
        self
    }

    /// The threads of these numbers, counted from 0.
    pub(crate) fn tids(threads: &[usize]) -> Vec<Tid> {
        threads.iter().map(|&t| Tid::from_index(t)).collect()
    }

    /// Adds an object.
    ///
    /// # Panics
    /// If there is one of this name.
    pub fn object(&mut self, name: &str, object: Object) -> Loc {
        let x = Loc::new(name);
        assert!(self.world.objects.insert(x, object).is_none(), "there are two objects {name}");
        x
    }

    /// Runs this in every thread, and gives what it returns, in the order of the threads.
    ///
    /// # Errors
    /// The fault of a thread that does not end, if one does not; that there is no such variant.
    ///
    /// # Panics
    /// If a thread panics.
    pub fn run<R: Send>(
        &self,
        fabric: Fabric,
        body: impl Fn(&mut Thread<'_>) -> Result<R, Fault> + Sync,
    ) -> Result<Vec<R>, Fault> {
        Ok(self.stack()?.threads(fabric, Switches::OFF, self.limit, &[], body)?.0)
    }

    /// Runs this in every thread of this process's node, where each node has a process, and gives what they return. The other processes
    /// have to do the same with an equal group. Nobody goes on before all have done. A thread that panics is told to the other processes at
    /// once.
    ///
    /// # Errors
    /// The fault of a thread that does not end, if one does not; that another process has gone, has declared another group, or has a thread
    /// that panicked; that the company already runs a group; that there is no such variant, or that this was built without libfabric.
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
        let ran = self.stack().and_then(|stack| {
            let own = |t: &Tid| usize::from(stack.world.node_of(*t).0) == company.rank() + 1;
            let net = Ofi::open(company, provider, &stack, 1, self.limit)?;
            net.going_on(|| {
                let results = stack.each(&net, stack.world.tids().filter(own), self.limit, body)?;
                company.gather("")?;
                Ok(results)
            })
        });
        // Who waits for this process is told why it does not come.
        ran.inspect_err(|fault| company.fail(fault))
    }

    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// The stack in which only what a variant was named for is implemented, and what the other libraries promise.
    pub(crate) fn promised(&self) -> Result<(Stack, Libraries), Fault> {
        Stack::promised(&self.entries, self.world.clone(), &self.variants).map_err(Fault::Wrong)
    }

    pub(crate) fn stack(&self) -> Result<Stack, Fault> {
        Stack::new(&self.entries, self.world.clone(), [], &self.variants).map_err(Fault::Wrong)
    }
}
