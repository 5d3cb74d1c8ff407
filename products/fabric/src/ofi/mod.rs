//! A network of processes over libfabric. Each node's words are in registered memory, and a node has an endpoint at
//! which others reach it. The operations of its first thread start from there too, so that one poll serves both. Each
//! other thread has an endpoint of its own. A further thread of each node progresses the operations of other nodes
//! while no other thread does.

mod connections;
mod layout;
mod port;
mod queue;
mod raw;
mod watchdog;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mowgli_core::ids::Tid;

use crate::company::Company;
use crate::left;
use crate::made::MadeObjects;
use crate::port::{Fault, Port, RemoteFabric};
use crate::provider::Provider;
use layout::Layout;
use port::FabricPort;
use queue::{OpKind, OpQueue, PostedOp};
use watchdog::{Visits, Watchdog};

impl Provider {
    /// Opens a node and nothing else, to see whether the provider can be used.
    pub(crate) fn opened(self) -> Result<(), Fault> {
        let node = raw::NodeMemory::open(&self.opening("127.0.0.1")?, vec![0]);
        node.map(drop).map_err(|why| self.failed("no endpoint", why))
    }

    /// Makes the fault for an endpoint that could not be opened.
    fn failed(self, what: &str, why: raw::Error) -> Fault {
        let room = (self == Self::Shm).then(left::lacks_room).flatten();
        let absent = (why == raw::Error::ABSENT_HERE).then(|| {
            "libfabric does not have it here with the orders of the model, or not at this address; `fi_info` lists what it has, and \
             MOWGLI_HOST is the address of this process"
                .to_owned()
        });
        Fault::Wrong(format!("{}: {what}: {}", self.name(), room.or(absent).unwrap_or_else(|| why.text())))
    }
}

/// The part of one process in a network.
pub(crate) struct Ofi<'a> {
    company: &'a Company,
    node: Arc<raw::NodeMemory>,
    layout: Layout,
    peers: Vec<raw::Peer>,
    /// The names of the nodes, by rank.
    names: Vec<Vec<u8>>,
    is_tcp: bool,
    /// The largest numbers of words: of a put without a completion, and of any operation that keeps its order.
    limits: [usize; 2],
    /// True if each put has read its source when it is posted.
    reads_at_once: bool,
    /// True if the CPU performs the operations of a thread at its own node, and not the provider.
    own_by_cpu: bool,
    queues: BTreeMap<Tid, Mutex<OpQueue>>,
    /// All endpoints except the node's.
    others: Vec<raw::Going>,
    limit: Duration,
    /// The number of polls between two yields of a waiting thread. It is larger if each process may have a processor.
    spins: u64,
    /// True if a thread has progressed the operations of other nodes since the helper last checked.
    went_on: AtomicBool,
    /// The visits of the helper to the provider, and then the one that closes all endpoints.
    visits: Arc<Visits>,
    /// It ends after everything else is closed, as the last field.
    _watchdog: Watchdog,
}

/// Everything is closed behind this, which may also never end.
impl Drop for Ofi<'_> {
    fn drop(&mut self) {
        self.visits.begin(None);
    }
}

fn locked(queue: &Mutex<OpQueue>) -> MutexGuard<'_, OpQueue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The description that a process sends of its node: its address, and the key and base of its memory.
type NodeDescription = (Vec<u8>, u64, u64);

impl<'a> Ofi<'a> {
    /// Opens the network of a company, with the words of a group. Threads give up after the time limit.
    pub(crate) fn open(
        company: &'a Company,
        provider: Provider,
        made: &MadeObjects<'_>,
        limit: Duration,
    ) -> Result<Self, Fault> {
        let world = &made.declared.world;
        let layout = Layout::new(made, company)?;
        let failed = |what, why| provider.failed(what, why);
        let opening = provider.opening(company.host())?;
        let node = raw::NodeMemory::open(&opening, layout.words()).map_err(|e| failed("no endpoint", e))?;
        let node = Arc::new(node);
        let queue = |key: u64, is_of_node| {
            OpQueue::open(&node, key, layout.nodes(), is_of_node, limit).map_err(|e| failed("no endpoint", e))
        };
        let own: Vec<Tid> = world.tids().filter(|&t| usize::from(world.node_of(t).0) == company.rank() + 1).collect();
        let (mut others, mut queues) = (Vec::new(), BTreeMap::new());
        for (key, t) in (2..).zip(own) {
            let queue = queue(key, queues.is_empty())?;
            others.extend((!queue.is_of_node).then(|| queue.going()));
            queues.insert(t, Mutex::new(queue));
        }
        let ((key, base), limits) = (node.memory(), node.limits());
        let said: NodeDescription = (node.name().map_err(|e| failed("no address", e))?, key, base);
        let all = company.gather(&serde_json::to_string(&said).expect("strings and numbers"))?;
        let unknown = |rank| Fault::Gone(format!("node {}: its address is not understood", rank + 1));
        let known = |(rank, said): (usize, &String)| {
            let (name, key, base): NodeDescription = serde_json::from_str(said).map_err(|_| unknown(rank))?;
            let address = node.know(&name).map_err(|_| unknown(rank))?;
            Ok((raw::Peer { address, key, base }, name))
        };
        let peers: Vec<_> = all.iter().enumerate().map(known).collect::<Result<_, Fault>>()?;
        let (peers, names) = peers.into_iter().unzip();
        let went_on = AtomicBool::new(false);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spins = if company.size() <= processors { 1024 } else { 32 };
        let visits = Arc::<Visits>::default();
        visits.within(limit);
        let of_threads = queues.values().map(|queue| Arc::clone(&locked(queue).visits));
        let all = of_threads.chain([Arc::clone(&visits)]).collect();
        raw::last_words(&format!(
            "mowgli-fabric: a crash inside the provider {} ends node {}. There were connections with {}. One of them was cut or has gone, or \
             somebody else has sent what the provider does not understand.\n",
            provider.name(),
            company.rank() + 1,
            company.others().replace(" or ", ", ")
        ));
        let watchdog = Watchdog::start(all, company, provider.name());
        let (own_by_cpu, reads_at_once) = (opening.cpu_excludes, opening.words_by_atomics);
        Ok(Self {
            company,
            node,
            layout,
            peers,
            names,
            is_tcp: provider == Provider::Tcp,
            limits,
            reads_at_once,
            own_by_cpu,
            queues,
            others,
            limit,
            spins,
            went_on,
            visits,
            _watchdog: watchdog,
        })
    }

    /// Connects all threads with all nodes, and lets nobody else connect. Over `tcp` others could send answers to operations.
    pub(crate) fn meet(&self) -> Result<(), Fault> {
        if !self.is_tcp {
            return Ok(());
        }
        // Nobody uses the last word of the memory.
        let own = self.node.words().len() - 1;
        for queue in self.queues.values() {
            let queue = &mut *locked(queue);
            for (node, &peer) in self.peers.iter().enumerate().filter(|(node, _)| *node != self.company.rank()) {
                let begun = PostedOp { node, kind: OpKind::Get, d: 0 };
                self.begin(queue, begun, |end, slot| end.get(raw::Between { slot, own, peer, far: 0, words: 1 }))?;
            }
            self.until(queue, &|| "no connection".to_owned(), |queue| queue.is_idle())?;
        }
        self.refuse_others()
    }

    /// Ends all connections to this process but those of members, which are there. Other systems than Linux show no sockets.
    fn refuse_others(&self) -> Result<(), Fault> {
        if !cfg!(target_os = "linux") {
            return Ok(());
        }
        let others = self.names.iter().enumerate().filter(|(rank, _)| *rank != self.company.rank());
        let nodes = others.filter_map(|(_, name)| connections::address(name)).collect();
        let begun = serde_json::to_string(&connections::begun(&nodes)).expect("addresses");
        let mut known = BTreeSet::new();
        for (said, rank) in self.company.gather(&begun)?.iter().zip(1..) {
            let all: Vec<connections::Connection> = serde_json::from_str(said)
                .map_err(|_| Fault::Gone(format!("node {rank}: its connections are not understood")))?;
            known.extend(all);
        }
        let names = self.queues.values().map(|queue| locked(queue).name()).chain([self.node.name()]);
        let own: Option<BTreeSet<_>> = names.map(|name| connections::address(&name.ok()?)).collect();
        let why = "tcp: the ports of this process cannot be closed to strangers: they are not found in /proc/self/fd, or take no filter";
        own.filter(|own| connections::close(own, &known)).map(drop).ok_or_else(|| Fault::Wrong(why.to_owned()))
    }

    /// Does `work` while a helper thread progresses the operations of other nodes.
    pub(crate) fn going_on<R>(&self, work: impl FnOnce() -> R) -> R {
        /// Ends the helper thread, also if the work panics.
        struct Ends<'a>(&'a AtomicBool);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| self.helps(&ended));
            let _ends = Ends(&ended);
            work()
        })
    }

    /// Progresses the operations of other nodes until `ended`. The helper sleeps while other threads do that, the
    /// longer the longer they do, because a poll delays the threads that use the endpoint. Otherwise the helper polls
    /// all the time, and rests a little after a while.
    fn helps(&self, ended: &AtomicBool) {
        const RESTS: [Duration; 2] = [Duration::from_micros(100), Duration::from_micros(400)];
        const REST: Duration = Duration::from_micros(20);
        const STAYS: Duration = Duration::from_millis(1);
        let (mut since, mut rest) = (Instant::now(), RESTS[0]);
        while !ended.load(Ordering::Relaxed) {
            if self.went_on.swap(false, Ordering::Relaxed) {
                std::thread::sleep(rest);
                (since, rest) = (Instant::now(), RESTS[1].min(2 * rest));
                continue;
            }
            rest = RESTS[0];
            self.visits.visit(None, || {
                self.node.progress();
                self.others.iter().for_each(raw::Going::progress);
            });
            if since.elapsed() > STAYS {
                std::thread::sleep(REST);
            } else {
                std::thread::yield_now();
            }
        }
    }

    /// Progresses the operations of other nodes, unless the caller has just polled the node's endpoint. Now and then it
    /// yields the processor.
    fn relax(&self, round: u64, queue: &OpQueue) {
        self.went_on.store(true, Ordering::Relaxed);
        if !queue.is_of_node {
            queue.visits.visit(None, || self.node.progress());
        }
        if round.is_multiple_of(self.spins) {
            std::thread::yield_now();
        }
    }

    /// Waits until `is_so` is true, or returns a fault that occurs in the meantime.
    fn until(
        &self,
        queue: &mut OpQueue,
        what: &dyn Fn() -> String,
        mut is_so: impl FnMut(&mut OpQueue) -> bool,
    ) -> Result<(), Fault> {
        queue.fine().map_err(|fault| self.reason(fault))?;
        // If it is true already, the provider need not be polled.
        if is_so(queue) {
            return Ok(());
        }
        for round in 1_u64.. {
            queue.take().map_err(|fault| self.reason(fault))?;
            if is_so(queue) {
                break;
            }
            self.relax(round, queue);
            // The limit begins at the first look of a call.
            if round % 64 == 0 {
                self.fine()?;
                if queue.since.get_or_insert_with(Instant::now).elapsed() > queue.limit {
                    return Err(Fault::Late(what() + &queue.places()));
                }
            }
        }
        Ok(())
    }

    /// Replaces the fault of an operation by its cause. The operation may fail a moment before this process learns how
    /// the other process ended.
    fn reason(&self, fault: Fault) -> Fault {
        for _ in 0..50 {
            if let Some(known) = self.company.fault() {
                return known;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        fault
    }

    /// Returns the fault of another process, if there is one.
    fn fine(&self) -> Result<(), Fault> {
        self.company.fault().map_or(Ok(()), Err)
    }

    /// Returns the way of a put of so many words, and its function.
    #[inline]
    fn put_of(&self, words: usize) -> (OpKind, Posts) {
        if words <= self.limits[0] { (OpKind::Put, raw::End::put) } else { (OpKind::LargePut, raw::End::put_large) }
    }

    /// Lets a put wait for earlier ones at its node whose sources it could pass. The provider orders all else.
    fn order(&self, queue: &mut OpQueue, PostedOp { node, kind, .. }: PostedOp) -> Result<(), Fault> {
        if self.reads_at_once || !matches!(kind, OpKind::Put | OpKind::LargePut) || queue.is_idle() {
            return Ok(());
        }
        let what = || format!("an operation at node {} has to wait for earlier ones", node + 1);
        self.until(queue, &what, |queue| !queue.has_large_put(node))
    }

    /// Posts an operation as soon as there is room for it and it passes nothing that it must not pass.
    fn begin(
        &self,
        queue: &mut OpQueue,
        begun: PostedOp,
        how: impl Fn(&mut raw::End, usize) -> Result<(), raw::Error>,
    ) -> Result<(), Fault> {
        self.order(queue, begun)?;
        let what = || format!("an operation at node {} could not be begun", begun.node + 1);
        let mut outcome = Ok(true);
        self.until(queue, &what, |queue| {
            outcome = queue.begin(begun, &how);
            outcome != Ok(false)
        })?;
        outcome?;
        if queue.looks() {
            queue.take().map_err(|fault| self.reason(fault))?;
            self.relax(1, queue);
        }
        Ok(())
    }
}

/// The function that posts an operation.
type Posts = fn(&mut raw::End, raw::Between) -> Result<(), raw::Error>;

impl RemoteFabric for Ofi<'_> {
    fn port(&self, thread: Tid) -> Box<dyn Port + '_> {
        Box::new(FabricPort::new(self, &self.queues[&thread], thread))
    }
}
