//! The port of one thread in a network of processes.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::value::Val;
use mowgli_rdma::wait::Method;

use super::queue::{OpKind, OpQueue, Operation, PostedOp};
use super::raw::{Between, End, Error};
use super::{Ofi, locked, of_word};
use crate::port::{Fault, ONE_QUEUE_PAIR, Port};
use crate::word::{packed, unpacked};

/// The orders of loads and stores as in x86-TSO. On such a CPU every load acquires and every store releases. The CPU
/// also keeps the order of stores, which the language does not promise for these orders. On other CPUs all accesses are
/// sequentially consistent.
#[cfg(target_arch = "x86_64")]
const LOADS: Ordering = Ordering::Acquire;
#[cfg(target_arch = "x86_64")]
const STORES: Ordering = Ordering::Release;
#[cfg(not(target_arch = "x86_64"))]
const LOADS: Ordering = Ordering::SeqCst;
#[cfg(not(target_arch = "x86_64"))]
const STORES: Ordering = Ordering::SeqCst;

/// The port of a thread in one run.
pub(crate) struct FabricPort<'a> {
    net: &'a Ofi<'a>,
    queue: MutexGuard<'a, OpQueue>,
    thread: Tid,
    copy: usize,
    by: u64,
    polled: Vec<u64>,
    /// The number of times it has waited in a loop since its last operation other than a read.
    relaxed: u64,
    random: Option<fastrand::Rng>,
}

impl<'a> FabricPort<'a> {
    pub(super) fn new(net: &'a Ofi<'a>, queue: &'a Mutex<OpQueue>, thread: Tid, copy: usize) -> Self {
        let mut queue = locked(queue);
        let by = queue.port();
        Self { net, queue, thread, copy, by, polled: vec![0; net.layout.nodes()], relaxed: 0, random: None }
    }

    /// Adds delays of random length before operations.
    pub(crate) fn delayed(self) -> Self {
        Self { random: Some(fastrand::Rng::new()), ..self }
    }

    /// Waits for a random time.
    pub(crate) fn delay(&mut self) {
        if let Some(random) = &mut self.random {
            // Most delays are as short as the races that they are to hit. A few are long.
            let longest = 1 << random.u32(..13);
            (0..random.u32(..longest)).for_each(|_| std::hint::spin_loop());
        }
    }

    fn until(&mut self, what: impl Fn() -> String, is_so: impl FnMut(&mut OpQueue) -> bool) -> Result<(), Fault> {
        let thread = self.thread;
        self.net.until(&mut self.queue, &|| format!("{thread} waits for {}", what()), is_so)
    }

    /// Waits until such operations of this port have completed.
    fn until_done(&mut self, what: impl Fn() -> String, of: impl Fn(&Operation) -> bool) -> Result<(), Fault> {
        let by = self.by;
        self.until(what, |queue| !queue.under_way.iter().any(|o| o.begun.by == by && of(o)))
    }

    /// Posts an operation between a word of the own node and one of another node.
    fn begin(
        &mut self,
        (own, far, d): (Loc, Loc, Val),
        kind: OpKind,
        how: impl Fn(&mut End, Between) -> Result<(), Error>,
    ) -> Result<(), Fault> {
        let own = self.net.layout.own(own, self.copy);
        let (node, far) = self.net.layout.place(far, self.copy);
        let peer = self.net.peers[node];
        if !self.net.node.orders_atomics() {
            self.order(node, kind)?;
        }
        let begun = PostedOp { node, kind, d, by: self.by, own };
        self.net.begin(&mut self.queue, begun, |end, slot| how(end, Between { slot, own, peer, far }))
    }

    /// Performs a get at once if it need not travel, and if all earlier operations of this thread at its node are over.
    /// A get from the own node need not travel, because over the network it would come back to this very thread. A get
    /// into a word that is never read need not travel either, for example that of a fence.
    ///
    /// This is correct because a get follows what its thread has posted at that node, and precedes what its thread does
    /// after the wait. If nothing is left there, the get may read and write at this very moment. The CPU keeps the rest
    /// of its order. The fence gives that earlier stores are in memory before the get reads (aCW is before aNRR). Later
    /// operations do not precede it (aNLW before aWT).
    fn got_here(&mut self, (own, far, d): (Loc, Loc, Val)) -> Result<bool, Fault> {
        let layout = &self.net.layout;
        let (node, word) = layout.place(far, self.copy);
        let is_here = node == self.net.rank();
        let need_not_travel = is_here || layout.is_unread(own);
        if !need_not_travel || !self.queue.is_over(node) {
            return Ok(false);
        }
        std::sync::atomic::fence(Ordering::SeqCst);
        if is_here {
            let words = self.net.node.words();
            words[layout.own(own, self.copy)].store(words[word].load(Ordering::SeqCst), Ordering::SeqCst);
        }
        self.queue.done(PostedOp { d, by: self.by, ..PostedOp::get(node) });
        Ok(true)
    }

    /// Orders an atomic operation, if the provider keeps only puts and gets in order. It waits for all earlier
    /// operations at its node, and all later ones there wait for it.
    fn order(&mut self, node: usize, kind: OpKind) -> Result<(), Fault> {
        if !kind.is_atomic() {
            return self.until(|| "an atomic operation".to_owned(), |queue| !queue.has(node, OpKind::is_atomic));
        }
        if self.queue.nodes()[node].has_put {
            self.net.follow(&mut self.queue, node)?;
        }
        let what = || "what an atomic operation must not pass".to_owned();
        self.until(what, |queue| !queue.has(node, |_| true))
    }

    /// Waits until all puts of the thread are placed, and all its gets have completed.
    pub(crate) fn flush(&mut self) -> Result<(), Fault> {
        let reached: Vec<bool> = self.queue.nodes().iter().map(|reached| reached.has_put).collect();
        let reached = reached.into_iter().enumerate().filter(|(_, has_put)| *has_put);
        reached.into_iter().try_for_each(|(node, _)| self.net.follow(&mut self.queue, node))?;
        self.until(|| "what it has sent".to_owned(), |queue| queue.is_idle())
    }

    /// Adds to a word of the thread's node by the CPU, and returns the old value.
    fn add(&self, x: Loc, v: Val) -> Result<Val, Fault> {
        let at = &self.net.node.words()[self.net.layout.own(x, self.copy)];
        let sum = |old: u64| packed(unpacked(old)?.plus(v.int()?)?);
        match at.fetch_update(Ordering::SeqCst, Ordering::SeqCst, sum) {
            Ok(old) => of_word(x, old),
            Err(old) => Err(Fault::Wrong(format!("{x} is {}, to which {v} cannot be added", of_word(x, old)?))),
        }
    }
}

fn word(v: Val) -> Result<u64, Fault> {
    packed(v).ok_or_else(|| Fault::Wrong(format!("{v} does not fit into a word of 64 bits")))
}

impl Port for FabricPort<'_> {
    fn make(&mut self, operation: Method) -> Result<Val, Fault> {
        self.net.fine()?;
        self.delay();
        if !matches!(operation, Method::Read { .. }) {
            self.relaxed = 0;
        }
        let words = self.net.node.words();
        let at = |x| &words[self.net.layout.own(x, self.copy)];
        match operation {
            Method::Read { x } => return of_word(x, at(x).load(LOADS)),
            Method::Write { x, v } => at(x).store(word(v)?, STORES),
            Method::CAS { x, v1, v2 } => {
                let old = at(x).compare_exchange(word(v1)?, word(v2)?, Ordering::SeqCst, Ordering::SeqCst);
                return of_word(x, old.unwrap_or_else(|old| old));
            }
            Method::Xchg { x, v } => return of_word(x, at(x).swap(word(v)?, Ordering::SeqCst)),
            Method::FAA { x, v } => return self.add(x, v),
            Method::Mfence {} => std::sync::atomic::fence(Ordering::SeqCst),
            Method::Get { x, y, d } if self.got_here((x, y, d))? => {}
            Method::Get { x, y, d } => self.begin((x, y, d), OpKind::Get, End::get)?,
            Method::Put { x, y, d } => self.begin((y, x, d), OpKind::Put, End::put)?,
            Method::RCAS { x, y, v1, v2, d } => {
                let (old, new) = (word(v1)?, word(v2)?);
                self.begin((x, y, d), OpKind::Swap, |end, between| end.swap(between, old, new))?;
            }
            Method::RFAA { x, y, v, d } => {
                let added = word(v)?;
                v.int().ok_or_else(|| Fault::Wrong(format!("{v} cannot be added to {y}")))?;
                self.begin((x, y, d), OpKind::Sum, |end, between| end.add(between, added))?;
            }
            Method::RXchg { y, .. } => {
                return Err(Fault::Wrong(format!("an exchange at {y}: fabrics in processes have none; use rcas")));
            }
            Method::Wait { d } => self.until_done(|| d.to_string(), |o| o.begun.d == d)?,
            Method::GetBy { .. }
            | Method::PutBy { .. }
            | Method::RfenceBy { .. }
            | Method::RCASBy { .. }
            | Method::RFAABy { .. }
            | Method::RXchgBy { .. }
            | Method::GetWords { .. }
            | Method::PutWords { .. } => return Err(Fault::Wrong(ONE_QUEUE_PAIR.to_owned())),
            // Later operations at the node begin after the earlier ones have completed. The model would let the CPU
            // continue meanwhile.
            Method::Rfence { n } => {
                let node = usize::from(n.0) - 1;
                self.until_done(|| format!("what it began at node {n}"), |o| o.begun.node == node)?;
            }
        }
        Ok(Val::Unit)
    }

    fn poll(&mut self, n: Node) -> Result<(), Fault> {
        let node = usize::from(n.0) - 1;
        let number = self.polled[node];
        self.polled[node] += 1;
        self.until_done(|| format!("an operation at node {n}"), |o| o.begun.node == node && o.number == number)
    }

    fn relax(&mut self) {
        // The next operation reports a failure, or the time limit ends the wait.
        _ = self.queue.take();
        self.relaxed += 1;
        self.net.relax(self.relaxed, Some(&self.queue));
    }
}
