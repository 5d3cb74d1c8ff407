//! Groups of threads on nodes, with objects, to run.

use std::collections::BTreeMap;
use std::time::Duration;

use mowgli_core::ids::{Loc, Node, NodeSet, Tid};
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::Entry;

use crate::agreement;
use crate::company::Company;
use crate::emitted::mowgli_port;
use crate::local::LocalMemory;
use crate::machine::MachineFabric;
use crate::made::{Declared, EmittedObject, HashKey, MadeObjects, hash_key};
#[cfg(libfabric)]
use crate::ofi::Ofi;
use crate::port::{Fault, RemoteFabric};
use crate::provider::Provider;
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

impl MadeObjects<'_> {
    /// Runs `body` in each of these threads.
    fn each<R: Send>(
        &self,
        network: &dyn RemoteFabric,
        threads: impl Iterator<Item = Tid>,
        body: impl Fn(&mut Thread<'_>) -> Result<R, Fault> + Sync,
    ) -> Result<Vec<R>, Fault> {
        let body = &body;
        let ended: Vec<Result<R, Fault>> = std::thread::scope(|scope| {
            let run = |t| scope.spawn(move || body(&mut Thread::new(self, t, network.port(t))));
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
}

/// A group of threads on nodes, with objects.
pub struct Group {
    pub(crate) declared: Declared,
    pub(crate) variants: BTreeMap<String, String>,
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
        let (makers, codes) = (Vec::new(), BTreeMap::new());
        let declared = Declared { world, makers, codes, entries: catalogue(), limit: LIMIT };
        Self { declared, variants: BTreeMap::new() }
    }

    /// Adds a library, for [`Group::explore`]. [`Group::object`] makes its objects there, and [`Group::emitted`] for a run.
    ///
    /// # Panics
    /// If a library of this name exists.
    #[must_use]
    pub fn library(mut self, entry: Entry) -> Self {
        assert!(self.declared.entries.iter().all(|e| e.name != entry.name), "there are two libraries {}", entry.name);
        self.declared.entries.push(entry);
        self
    }

    /// Sets the time after which a thread gives up a call, or a loop that waits. The default is one minute. A thread that goes on
    /// calling has no limit. [`Thread::within`] sets another one for a part of its code.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.declared.limit = limit;
        self
    }

    /// Selects a variant of a library for [`Group::explore`], which then explores its body. A run of the group returns an error, because
    /// emitted code makes its calls.
    #[must_use]
    pub fn variant(mut self, library: &str, variant: &str) -> Self {
        self.variants.insert(library.to_owned(), variant.to_owned());
        self
    }

    /// Returns the threads of these numbers, counted from 0.
    pub(crate) fn tids(threads: &[usize]) -> Vec<Tid> {
        threads.iter().map(|&t| Tid::from_index(t)).collect()
    }

    /// Adds an object without code, for [`Group::explore`].
    ///
    /// # Panics
    /// If an object of this name exists.
    pub fn object(&mut self, name: &str, object: Object) -> Loc {
        self.object_at(Loc::new(name), object)
    }

    fn object_at(&mut self, x: Loc, object: Object) -> Loc {
        assert!(self.declared.world.objects.insert(x, object).is_none(), "there are two objects {x}");
        x
    }

    /// Adds an object whose code `mowgli emit rust` has written for a library of your own, or the parts that belong to such a library, which
    /// come first. `code` is the text of that code: processes whose code differs refuse each other. `make` is the function `new`. `object`
    /// is what [`Group::explore`] has in its place. See [`Thread::emitted`].
    ///
    /// # Panics
    /// If an object of this name exists.
    pub fn emitted<X: Send + Sync + 'static>(
        &mut self,
        name: &str,
        object: Object,
        code: &str,
        make: impl Fn(&mut mowgli_port::World) -> X + Send + Sync + 'static,
    ) -> EmittedObject<X> {
        let x = self.add(name, object, make);
        self.declared.codes.insert(x, code.to_owned());
        EmittedObject::new(x)
    }

    /// Adds an object with emitted code of this crate.
    pub(crate) fn add<X: Send + Sync + 'static>(
        &mut self,
        name: &str,
        object: Object,
        make: impl Fn(&mut mowgli_port::World) -> X + Send + Sync + 'static,
    ) -> Loc {
        self.add_at(Loc::new(name), object, make)
    }

    /// Adds an object that has this name already.
    pub(crate) fn add_at<X: Send + Sync + 'static>(
        &mut self,
        x: Loc,
        object: Object,
        make: impl Fn(&mut mowgli_port::World) -> X + Send + Sync + 'static,
    ) -> Loc {
        self.declared.makers.push((x, Box::new(move |world| Box::new(make(world)))));
        self.object_at(x, object)
    }

    /// Runs `body` in every thread, and returns the results in the order of the threads.
    ///
    /// # Errors
    /// If a thread fails or does not end.
    ///
    /// # Panics
    /// If a thread panics.
    pub fn run<R: Send>(
        &self,
        fabric: Fabric,
        body: impl Fn(&mut Thread<'_>) -> Result<R, Fault> + Sync,
    ) -> Result<Vec<R>, Fault> {
        let made = self.made(hash_key()?)?;
        let network: Box<dyn RemoteFabric> = match fabric {
            Fabric::Local => Box::new(LocalMemory::new(&made.memory)),
            Fabric::Machine { seed } => Box::new(MachineFabric::new(&made, seed, STEPS)?),
        };
        made.each(&*network, self.declared.world.tids(), body)
    }

    /// Runs `body` in every thread of this process's node, and returns their results. Each node has a process, and all
    /// processes have to make this call with equal groups. It returns when all have finished. If a thread panics, the
    /// other processes receive a fault at once.
    ///
    /// # Errors
    /// If a thread fails or does not end. Also if another process has gone, has declared another group, or has a thread
    /// that panicked. Also if the company already runs a group, or this crate was built without libfabric.
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
        let ran = self.made(company.key()).and_then(|made| {
            let _only = company.only()?;
            agreement::check(company, provider, &made.description())?;
            let own = |t: &Tid| usize::from(self.declared.world.node_of(*t).0) == company.rank() + 1;
            let work = |network: &dyn RemoteFabric| {
                let results = made.each(network, self.declared.world.tids().filter(own), body)?;
                company.gather("")?;
                Ok(results)
            };
            if provider == Provider::Memory {
                return work(&LocalMemory::among(company, &made)?);
            }
            #[cfg(libfabric)]
            {
                let net = Ofi::open(company, provider, &made, self.declared.limit)?;
                net.going_on(|| net.meet().and_then(|()| work(&net)))
            }
            #[cfg(not(libfabric))]
            provider.check().map(|()| unreachable!("without libfabric no other provider can be used"))
        });
        // Other processes wait for this one, so they receive the reason why it does not continue.
        ran.inspect_err(|fault| company.fail(fault))
    }

    /// Makes the objects. Checksums have this key.
    pub(crate) fn made(&self, key: HashKey) -> Result<MadeObjects<'_>, Fault> {
        match self.variants.first_key_value() {
            None => MadeObjects::new(&self.declared, key),
            Some((library, variant)) => Err(Fault::Wrong(format!(
                "{library} as {variant}: a group runs by emitted code, and explores variants"
            ))),
        }
    }
}
