//! The port of one thread in a network of processes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use mowgli_core::ids::Tid;

use super::orders::OpKind;
use super::queue::{OpQueue, Operation, PostedOp};
use super::raw::{Between, End, Error};
use super::{Ofi, locked};
use crate::emitted::mowgli_port::{self, Id, Word};
use crate::memory::{LOADS, STORES, fence, fenced_load};
use crate::port::{Fault, Port};

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
        queue.within(net.limit);
        Self { net, queue, thread, copy, by, polled: vec![0; net.layout.nodes()], relaxed: 0, random: None }
    }

    /// Adds delays of random length before operations.
    pub(crate) fn delayed(self) -> Self {
        Self { random: Some(fastrand::Rng::new()), ..self }
    }

    /// Waits for a random time.
    #[inline]
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
    #[inline]
    fn until_done(&mut self, what: impl Fn() -> String, of: impl Fn(&Operation) -> bool) -> Result<(), Fault> {
        if self.queue.is_idle() {
            return self.queue.fine();
        }
        let by = self.by;
        self.until(what, |queue| !queue.under_way.iter().any(|o| o.begun.by == by && of(o)))
    }

    /// Begins an operation, whatever it is.
    #[inline]
    fn starts(&mut self) -> Result<(), Fault> {
        self.net.fine()?;
        self.delay();
        Ok(())
    }

    /// Begins an operation other than a read.
    #[inline]
    fn acts(&mut self) -> Result<(), Fault> {
        self.relaxed = 0;
        self.starts()
    }

    /// Returns a word of the own node.
    #[inline]
    fn at(&self, x: Word) -> &AtomicU64 {
        &self.net.node.words()[self.net.layout.own(x, self.copy)]
    }

    /// Posts an operation between a word of the own node and one of another node.
    fn begin(
        &mut self,
        ends: (Word, Word, Id),
        kind: OpKind,
        how: impl Fn(&mut End, Between) -> Result<(), Error>,
    ) -> Result<(), Fault> {
        self.begin_row(ends, 1, kind, how)
    }

    /// Posts an operation between so many words of the own node and of another node, from these words on.
    fn begin_row(
        &mut self,
        (own, far, d): (Word, Word, Id),
        words: usize,
        kind: OpKind,
        how: impl Fn(&mut End, Between) -> Result<(), Error>,
    ) -> Result<(), Fault> {
        let own = self.net.layout.own(own, self.copy);
        let (node, far) = (rank_of(far), self.net.layout.place(far, self.copy));
        let peer = self.net.peers[node];
        let begun = PostedOp { node, kind, d, by: self.by };
        self.net.begin(&mut self.queue, begun, |end, slot| how(end, Between { slot, own, peer, far, words }))
    }

    /// True if the CPU performs an operation at this word.
    #[inline]
    fn is_near(&self, x: Word) -> bool {
        self.net.own_by_cpu && self.net.layout.has(x)
    }

    /// True if one operation, or a few, can copy between words of the own node and of another node.
    fn are_rows(&self, own: &[Word], far: &[Word]) -> bool {
        let is_far = far.first().is_some_and(|x| !self.is_near(*x));
        is_far && self.net.layout.is_row(own) && self.net.layout.is_row(far)
    }

    /// Makes a fence of the CPU instead of a get into a word that is never read. It does so if all earlier operations of this
    /// thread at the other node are over.
    ///
    /// This is correct because a get follows what its thread has posted at that node, and precedes what its thread does
    /// after the wait. If nothing is left there, the get may read and write at this very moment. The CPU keeps the rest
    /// of its order. The fence gives that earlier stores are in memory before the get reads (aCW is before aNRR). Later
    /// operations do not precede it (aNLW before aWT).
    fn is_got(&mut self, to: Word, from: Word, d: Id) -> bool {
        let node = rank_of(from);
        if !self.net.layout.is_unread(to) || !self.queue.is_over(node) {
            return false;
        }
        fence();
        self.queue.done(PostedOp { d, by: self.by, ..PostedOp::get(node) });
        true
    }

    /// Waits until all puts of the thread are placed, and all its gets have completed.
    pub(crate) fn flush(&mut self) -> Result<(), Fault> {
        let reached: Vec<bool> = self.queue.nodes().iter().map(|reached| reached.has_put).collect();
        let reached = reached.into_iter().enumerate().filter(|(_, has_put)| *has_put);
        reached.into_iter().try_for_each(|(node, _)| self.net.follow(&mut self.queue, node))?;
        self.until(|| "what it has sent".to_owned(), |queue| queue.is_idle())
    }
}

/// Returns the number of a word's node, counted from 0.
fn rank_of(x: Word) -> usize {
    x.node as usize - 1
}

/// The CPU performs the operations of a thread at its own node at once, if they exclude atomics of other nodes. They do if the
/// provider makes those by locked instructions of the CPU here. Over the network the operations would come back to this very node, and no
/// relation demands that they are late. They follow what the thread has done there, because all of that is over.
impl mowgli_port::Port for FabricPort<'_> {
    type Fault = Fault;

    fn read(&mut self, x: Word) -> Result<i64, Fault> {
        self.starts()?;
        Ok(self.at(x).load(LOADS) as i64)
    }

    fn write(&mut self, x: Word, v: i64) -> Result<(), Fault> {
        self.acts()?;
        self.at(x).store(v as u64, STORES);
        Ok(())
    }

    fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, Fault> {
        self.acts()?;
        let was = self.at(x).compare_exchange(old as u64, new as u64, Ordering::SeqCst, Ordering::SeqCst);
        Ok(was.unwrap_or_else(|was| was) as i64)
    }

    fn xchg(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.acts()?;
        Ok(self.at(x).swap(v as u64, Ordering::SeqCst) as i64)
    }

    fn faa(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.acts()?;
        Ok(self.at(x).fetch_add(v as u64, Ordering::SeqCst) as i64)
    }

    fn mfence(&mut self) -> Result<(), Fault> {
        self.acts()?;
        fence();
        Ok(())
    }

    fn get(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.acts()?;
        if self.is_near(from) {
            // Earlier stores are in memory before the get reads.
            let v = fenced_load(self.at(from));
            self.at(to).store(v, STORES);
        } else if !self.is_got(to, from, d) {
            self.begin((to, from, d), OpKind::Get, End::get)?;
        }
        Ok(())
    }

    fn put(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.acts()?;
        if self.is_near(to) {
            self.at(to).store(self.at(from).load(LOADS), STORES);
            return Ok(());
        }
        let (kind, put) = self.net.put_of(1);
        self.begin((from, to, d), kind, put)
    }

    fn get_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        if !self.are_rows(to, from) {
            return to.iter().zip(from).try_for_each(|(&to, &from)| self.get(to, from, d));
        }
        self.acts()?;
        let [_, most] = self.net.limits;
        for (to, from) in to.chunks(most).zip(from.chunks(most)) {
            self.begin_row((to[0], from[0], d), to.len(), OpKind::Get, End::get)?;
        }
        Ok(())
    }

    fn put_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        if !self.are_rows(from, to) {
            return to.iter().zip(from).try_for_each(|(&to, &from)| self.put(to, from, d));
        }
        self.acts()?;
        let [_, most] = self.net.limits;
        for (to, from) in to.chunks(most).zip(from.chunks(most)) {
            let (kind, put) = self.net.put_of(from.len());
            self.begin_row((from[0], to[0], d), from.len(), kind, put)?;
        }
        Ok(())
    }

    fn rcas(&mut self, to: Word, on: Word, old: i64, new: i64, d: Id) -> Result<(), Fault> {
        if self.is_near(on) {
            let was = self.cas(on, old, new)?;
            return self.write(to, was);
        }
        self.acts()?;
        self.begin((to, on, d), OpKind::Swap, |end, between| end.swap(between, old as u64, new as u64))
    }

    fn rfaa(&mut self, to: Word, on: Word, v: i64, d: Id) -> Result<(), Fault> {
        if self.is_near(on) {
            let was = self.faa(on, v)?;
            return self.write(to, was);
        }
        self.acts()?;
        self.begin((to, on, d), OpKind::Sum, |end, between| end.add(between, v as u64))
    }

    fn wait(&mut self, d: Id) -> Result<(), Fault> {
        self.acts()?;
        self.until_done(|| "operations that it has begun".to_owned(), |o| o.begun.d == d)
    }

    /// Later operations at the node begin after the earlier ones have completed. The model would let the CPU continue
    /// meanwhile.
    fn rfence(&mut self, n: i64) -> Result<(), Fault> {
        self.acts()?;
        let node = n as usize - 1;
        self.until_done(|| format!("what it began at node {n}"), |o| o.begun.node == node)
    }

    fn again(&mut self) -> Result<(), Fault> {
        self.relax();
        Ok(())
    }
}

impl Port for FabricPort<'_> {
    fn wants_order(&self) -> bool {
        true
    }

    fn rxchg(&mut self, _: Word, _: Word, _: i64, _: Id) -> Result<(), Fault> {
        Err(Fault::Wrong("an exchange over the network: fabrics in processes have none; use rcas".to_owned()))
    }

    fn poll(&mut self, n: i64) -> Result<(), Fault> {
        self.acts()?;
        let node = n as usize - 1;
        let number = self.polled[node];
        self.polled[node] += 1;
        self.until_done(|| format!("an operation at node {n}"), |o| o.begun.node == node && o.number == number)
    }

    fn within(&mut self, limit: Duration) {
        self.queue.within(limit);
    }

    fn begins(&mut self) {
        self.queue.since = None;
    }

    fn peek(&self, x: Word) -> Option<i64> {
        self.net.layout.has(x).then(|| self.at(x).load(LOADS) as i64)
    }

    fn relax(&mut self) {
        // The next operation reports a failure, or the time limit ends the wait.
        _ = self.queue.take();
        self.relaxed += 1;
        self.net.relax(self.relaxed, Some(&self.queue));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use mowgli_core::ids::{Loc, Node};
    use mowgli_rdma::wait::{unread, word};

    use super::*;
    use crate::company::Company;
    use crate::group::Group;
    use crate::memory::counted::fences;
    use crate::ofi::orders::Orders;
    use crate::ofi::provider::Provider;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Makes operations of a thread at its own node over the network, by a provider of which no order is requested. It has these orders.
    /// There are three words, of which nobody reads the last.
    fn at_own_node(orders: Orders, act: impl FnOnce(&mut FabricPort<'_>, [Word; 3]) -> Result<(), Fault>) {
        let mut group = Group::new(&[1]);
        let words = [("x", word(Node(1))), ("y", word(Node(1))), ("z", unread(Node(1)))];
        let words = words.map(|(name, word)| group.object(name, word));
        let company = Company::start(1, &[], LIMIT).unwrap();
        let stack = group.stack([0; 2]).unwrap();
        let words = words.map(|x: Loc| stack.word(x).unwrap());
        let mut net = Ofi::open(&company, Provider::Unordered, &stack, 1, LIMIT).unwrap();
        net.orders = orders;
        act(&mut net.port_of(Tid::from_index(0), 0), words).unwrap();
    }

    /// A get shows that puts are placed.
    #[test]
    #[cfg_attr(not(libfabric), ignore = "needs libfabric")]
    fn an_atomic_begins_when_puts_are_placed() {
        use mowgli_port::Port as _;
        let without_atomics = Orders { puts: true, gets: true, atomics: false, placements: true, sources: true };
        at_own_node(without_atomics, |port, [x, y, _]| {
            port.put(x, y, 1)?;
            assert!(port.queue.nodes()[0].has_put);
            port.rfaa(y, x, 1, 1)?;
            assert!(!port.queue.nodes()[0].has_put);
            port.wait(1)
        });
    }

    #[test]
    #[cfg_attr(not(libfabric), ignore = "needs libfabric")]
    fn a_get_that_nobody_reads_is_a_fence() {
        use mowgli_port::Port as _;
        let none = Orders { puts: false, gets: false, atomics: false, placements: false, sources: false };
        at_own_node(none, |port, [x, _, z]| {
            let before = fences();
            port.get(z, x, 1)?;
            assert!(port.queue.is_idle() && fences() > before);
            Ok(())
        });
    }

    /// Every operation waits as on a slow network. Together they may take the limit, and then a call has it again.
    #[test]
    #[cfg_attr(not(libfabric), ignore = "needs libfabric")]
    fn all_waits_of_a_call_have_one_limit() {
        let none = Orders { puts: false, gets: false, atomics: false, placements: false, sources: false };
        at_own_node(none, |port, _| {
            port.within(Duration::from_millis(500));
            for _ in 0..2 {
                port.begins();
                let slow = |port: &mut FabricPort<'_>| {
                    let begin = Instant::now();
                    port.until(|| "it".to_owned(), |_| begin.elapsed() > Duration::from_millis(300))
                };
                let begin = Instant::now();
                slow(port)?;
                assert!(matches!(slow(port), Err(Fault::Late(_))), "{:?}", begin.elapsed());
            }
            Ok(())
        });
    }

    /// The page of assumptions says the same.
    #[test]
    #[cfg_attr(not(libfabric), ignore = "needs libfabric")]
    fn orders_of_providers_are_granted() {
        let all = Orders { puts: true, gets: true, atomics: true, placements: true, sources: true };
        for (provider, orders) in [(Provider::Tcp, all), (Provider::Shm, Orders { sources: false, ..all })] {
            let company = Company::start(1, &[], LIMIT).unwrap();
            let stack = Group::new(&[1]).stack([0; 2]).unwrap();
            let net = Ofi::open(&company, provider, &stack, 1, LIMIT).unwrap();
            assert_eq!(net.orders, orders, "{provider:?}");
        }
    }
}
