//! A network of processes over libfabric. Each node's words are in registered memory, and a node has an endpoint at
//! which others reach it. The operations of its first thread start from there too, so that one poll serves both. Each
//! other thread has an endpoint of its own. A further thread of each node progresses the operations of other nodes
//! while no other thread does.

#[cfg(not(libfabric))]
mod absent;
mod layout;
mod orders;
mod port;
mod provider;
mod queue;
#[cfg(libfabric)]
mod raw;
mod watchdog;

#[cfg(not(libfabric))]
use absent as raw;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mowgli_core::ids::Tid;

use crate::agreement;
use crate::company::Company;
use crate::emitted::mowgli_port::Word;
use crate::left;
use crate::port::{Fault, Port, RemoteFabric};
use crate::stack::Stack;
use layout::{Control, Layout};
use orders::{OpKind, Orders};
use port::FabricPort;
pub use provider::Provider;
use queue::{OpQueue, PostedOp};
use watchdog::{Visits, Watchdog};

impl Provider {
    /// Checks that the provider can be used.
    ///
    /// # Errors
    /// If there is no folder of shared memory, or libfabric is needed, and this crate was built without it or libfabric does not have
    /// the provider here.
    pub fn check(self) -> Result<(), Fault> {
        if self == Self::Memory {
            return left::check().map_err(Fault::Wrong);
        }
        let node = raw::NodeMemory::open(&self.opening("127.0.0.1")?, vec![0]);
        node.map(drop).map_err(|why| self.failed("no endpoint", why))
    }

    /// Makes the fault for an endpoint that could not be opened.
    fn failed(self, what: &str, why: raw::Error) -> Fault {
        let room = (self == Self::Shm).then(left::lacks_room).flatten();
        let absent = (why == raw::Error::ABSENT_HERE).then(|| {
            "libfabric does not have it here, or not at this address; `fi_info` lists what it has, and MOWGLI_HOST is the \
             address of this process"
                .to_owned()
        });
        Fault::Wrong(format!("{}: {what}: {}", self.name(), room.or(absent).unwrap_or_else(|| why.text())))
    }
}

/// The part of one process in a network.
pub(crate) struct Ofi<'a> {
    company: &'a Company,
    /// A guard. While it is held, the company does not open another network.
    _only: MutexGuard<'a, ()>,
    node: Arc<raw::NodeMemory>,
    layout: Layout,
    peers: Vec<raw::Peer>,
    /// The largest numbers of words: of a put without a completion, and of any operation that keeps its order.
    limits: [usize; 2],
    orders: Orders,
    /// True if the CPU performs the operations of a thread at its own node, and not the provider.
    own_by_cpu: bool,
    queues: BTreeMap<Tid, Mutex<OpQueue>>,
    control: Mutex<OpQueue>,
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

/// The description that a process sends of its node: its address in hexadecimal, and the key and base of its memory.
type NodeDescription = (String, u64, u64);

impl<'a> Ofi<'a> {
    /// Opens the network of a company, with so many copies of the words of a group, one for each run. Threads give up
    /// after the time limit.
    pub(crate) fn open(
        company: &'a Company,
        provider: Provider,
        stack: &Stack,
        copies: usize,
        limit: Duration,
    ) -> Result<Self, Fault> {
        let only = company.only()?;
        if company.rank() == 0 {
            stack.report();
        }
        let world = &stack.world;
        let layout = Layout::new(stack, company, copies)?;
        let failed = |what, why| provider.failed(what, why);
        let opening = provider.opening(company.host())?;
        let node = raw::NodeMemory::open(&opening, layout.words()).map_err(|e| failed("no endpoint", e))?;
        let node = Arc::new(node);
        let queue = |key: u64, is_of_node| {
            OpQueue::open(&node, key, layout.nodes(), is_of_node, limit).map_err(|e| failed("no endpoint", e))
        };
        let own: Vec<Tid> = world.tids().filter(|&t| usize::from(world.node_of(t).0) == company.rank() + 1).collect();
        let control = queue(2, false)?;
        let mut others = vec![control.going()];
        let mut queues = BTreeMap::new();
        for (key, t) in (3..).zip(own) {
            let queue = queue(key, queues.is_empty())?;
            others.extend((!queue.is_of_node).then(|| queue.going()));
            queues.insert(t, Mutex::new(queue));
        }
        let ((key, base), limits, orders) = (node.memory(), node.limits(), node.orders());
        let digits = node.name().map_err(|e| failed("no address", e))?.iter().map(|b| format!("{b:02x}")).collect();
        let network = format!("{copies} copies of the words over {}", provider.name());
        let group: Vec<String> = [network].into_iter().chain(stack.description()).collect();
        let said: NodeDescription = (digits, key, base);
        let all = agreement::exchanged(company, &group, &said)?;
        let unknown = |rank| Fault::Gone(format!("node {}: its address is not understood", rank + 1));
        let known = |(digits, key, base): &NodeDescription| {
            let byte = |place| u8::from_str_radix(digits.get(2 * place..2 * place + 2)?, 16).ok();
            let name = (0..digits.len() / 2).map(byte).collect::<Option<Vec<u8>>>()?;
            Some(raw::Peer { address: node.know(&name).ok()?, key: *key, base: *base })
        };
        let peer = |(rank, said)| known(said).ok_or_else(|| unknown(rank));
        let peers = all.iter().enumerate().map(peer).collect::<Result<_, _>>()?;
        let went_on = AtomicBool::new(false);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spins = if company.size() <= processors { 1024 } else { 32 };
        let visits = Arc::<Visits>::default();
        visits.within(limit);
        control.visits.within(limit);
        let of_threads = queues.values().map(|queue| Arc::clone(&locked(queue).visits));
        let all = of_threads.chain([Arc::clone(&visits), Arc::clone(&control.visits)]).collect();
        raw::last_words(&format!(
            "mowgli-fabric: a crash inside the provider {} ends node {}. There were connections with {}. One of them was cut or has gone, or \
             somebody else has sent what the provider does not understand.\n",
            provider.name(),
            company.rank() + 1,
            company.others().replace(" or ", ", ")
        ));
        let watchdog = Watchdog::start(all, company, provider.name());
        let control = Mutex::new(control);
        let own_by_cpu = opening.cpu_excludes;
        Ok(Self {
            company,
            _only: only,
            node,
            layout,
            peers,
            limits,
            orders,
            own_by_cpu,
            queues,
            control,
            others,
            limit,
            spins,
            went_on,
            visits,
            _watchdog: watchdog,
        })
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
    fn relax(&self, round: u64, looked: Option<&OpQueue>) {
        self.went_on.store(true, Ordering::Relaxed);
        match looked {
            None => self.node.progress(),
            Some(queue) if !queue.is_of_node => queue.visits.visit(None, || self.node.progress()),
            Some(_) => {}
        }
        if round.is_multiple_of(self.spins) {
            std::thread::yield_now();
        }
    }

    /// Returns the port of a thread for the run of a copy.
    pub(crate) fn port_of(&self, thread: Tid, copy: usize) -> FabricPort<'_> {
        FabricPort::new(self, &self.queues[&thread], thread, copy)
    }

    pub(crate) fn company(&self) -> &Company {
        self.company
    }

    pub(crate) fn rank(&self) -> usize {
        self.company.rank()
    }

    /// True if a word is on this node.
    pub(crate) fn has(&self, x: Word) -> bool {
        self.layout.has(x)
    }

    /// Returns the content of a word of this node, in a copy.
    pub(crate) fn last_of(&self, x: Word, copy: usize) -> i64 {
        self.node.words()[self.layout.own(x, copy)].load(Ordering::SeqCst) as i64
    }

    /// Resets all words to their initial values.
    pub(crate) fn again(&self) {
        for (place, word) in self.layout.words().into_iter().enumerate() {
            self.node.words()[place].store(word, Ordering::SeqCst);
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
        let (limit, mut since) = (queue.limit, queue.since);
        let waited = self.waits(limit, &mut since, what, |round| {
            queue.take().map_err(|fault| self.reason(fault))?;
            let is_so = is_so(queue);
            if !is_so {
                self.relax(round, Some(queue));
            }
            Ok(is_so)
        });
        queue.since = since;
        waited.map_err(|fault| match fault {
            Fault::Late(why) => Fault::Late(why + &queue.places()),
            other => other,
        })
    }

    /// Repeats `is_so` until it is true. Checks for faults and the time limit in every 64th iteration. The limit begins at `since`, or
    /// else at the first check.
    fn waits(
        &self,
        limit: Duration,
        since: &mut Option<Instant>,
        what: &dyn Fn() -> String,
        mut is_so: impl FnMut(u64) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        for round in 1_u64.. {
            if is_so(round)? {
                return Ok(());
            }
            if round % 64 == 0 {
                self.fine()?;
                if since.get_or_insert_with(Instant::now).elapsed() > limit {
                    return Err(Fault::Late(what()));
                }
            }
        }
        unreachable!("nobody waits that long")
    }

    /// Waits until a word of this node is at least this number.
    fn waits_for(&self, word: &AtomicU64, number: u64) -> Result<(), Fault> {
        let what = || "the threads of other nodes do not come to the next run".to_owned();
        self.waits(self.limit, &mut None, &what, |round| {
            let is_so = word.load(Ordering::Acquire) >= number;
            if !is_so {
                self.relax(round, None);
            }
            Ok(is_so)
        })
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

    /// Waits until all threads of all processes have reached a run, so that they begin it together. This process has so
    /// many threads, and runs are counted from 1. Operations of the threads may still be under way.
    pub(crate) fn pace(&self, came: &AtomicU64, threads: u64, round: u64) -> Result<(), Fault> {
        let words = self.node.words();
        let at = |control| &words[self.layout.control(self.company.rank(), control)];
        if came.fetch_add(1, Ordering::SeqCst) + 1 == threads * round {
            self.hand_over(round)?;
        }
        self.waits_for(at(Control::Go), round)?;
        // Processes of one machine have one clock. On several machines the wait is bounded, because their clocks may
        // differ.
        let (start, begin) = (at(Control::Start).load(Ordering::Acquire), Instant::now());
        while now() < start && begin.elapsed() < 2 * AHEAD {
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// Announces that all threads of this process have come. The first process waits for all announcements, and then
    /// starts the run everywhere.
    fn hand_over(&self, round: u64) -> Result<(), Fault> {
        let (words, rank) = (self.node.words(), self.company.rank());
        let at = |control| &words[self.layout.control(rank, control)];
        let queue = &mut locked(&self.control);
        at(Control::Round).store(round, Ordering::SeqCst);
        if rank > 0 {
            return self.tell(queue, 0, Control::Round, Control::Came(rank));
        }
        for other in 1..self.company.size() {
            self.waits_for(at(Control::Came(other)), round)?;
        }
        // The distance is random: either all processes hear of the start in time, or some begin late.
        let start = now() + fastrand::u64(..=AHEAD.as_nanos() as u64 >> fastrand::u32(..8));
        at(Control::Start).store(start, Ordering::SeqCst);
        for other in 1..self.company.size() {
            self.tell(queue, other, Control::Start, Control::Start)?;
            self.tell(queue, other, Control::Round, Control::Go)?;
        }
        at(Control::Go).store(round, Ordering::SeqCst);
        Ok(())
    }

    /// Puts a control word of this process into one of another process.
    fn tell(&self, queue: &mut OpQueue, rank: usize, own: Control, far: Control) -> Result<(), Fault> {
        let own = self.layout.control(self.company.rank(), own);
        let far = self.layout.control(rank, far);
        let (kind, put) = self.put_of(1);
        let begun = PostedOp { kind, ..PostedOp::put(rank) };
        self.begin(queue, begun, |end, slot| {
            put(end, raw::Between { slot, own, peer: self.peers[rank], far, words: 1 })
        })
    }

    /// Returns the way of a put of so many words, and its function.
    #[inline]
    fn put_of(&self, words: usize) -> (OpKind, Posts) {
        if !self.orders.gets {
            return (OpKind::DeliveredPut, raw::End::put_delivered);
        }
        if words <= self.limits[0] { (OpKind::Put, raw::End::put) } else { (OpKind::LargePut, raw::End::put_large) }
    }

    /// Waits for the operations at the node of `begun` that the provider would let it pass.
    fn order(&self, queue: &mut OpQueue, begun: PostedOp) -> Result<(), Fault> {
        let PostedOp { node, kind, .. } = begun;
        if queue.is_idle() && !kind.is_atomic() {
            return Ok(());
        }
        if kind.is_atomic() && !self.orders.atomics && queue.nodes()[node].has_put {
            self.follow(queue, node)?;
        }
        let what = || format!("an operation at node {} has to wait for earlier ones", node + 1);
        self.until(queue, &what, |queue| !queue.has(node, |earlier| self.orders.may_pass(kind, earlier)))
    }

    /// Gets a word that is never read. Gets do not pass puts, so its completion shows that all earlier puts of this
    /// queue there are placed.
    fn follow(&self, queue: &mut OpQueue, rank: usize) -> Result<(), Fault> {
        let own = self.layout.control(self.company.rank(), Control::Dummy);
        let far = self.layout.control(rank, Control::Dummy);
        self.begin(queue, PostedOp::get(rank), |end, slot| {
            end.get(raw::Between { slot, own, peer: self.peers[rank], far, words: 1 })
        })
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
            self.relax(1, Some(queue));
        }
        Ok(())
    }
}

/// The function that posts an operation.
type Posts = fn(&mut raw::End, raw::Between) -> Result<(), raw::Error>;

/// The largest time between the announcement of a run and its beginning.
const AHEAD: Duration = Duration::from_micros(250);

/// Returns the time, in nanoseconds since 1970.
fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

impl RemoteFabric for Ofi<'_> {
    fn port(&self, thread: Tid) -> Box<dyn Port + '_> {
        Box::new(self.port_of(thread, 0))
    }

    fn last(&self, x: Word) -> i64 {
        self.last_of(x, 0)
    }
}
