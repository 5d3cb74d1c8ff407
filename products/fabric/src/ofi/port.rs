//! The port of one thread in a network of processes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use mowgli_core::ids::Tid;

use super::queue::{OpKind, OpQueue, PostedOp};
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
    /// The number of times it has waited in a loop since its last operation other than a read.
    relaxed: u64,
}

impl<'a> FabricPort<'a> {
    pub(super) fn new(net: &'a Ofi<'a>, queue: &'a Mutex<OpQueue>, thread: Tid) -> Self {
        let mut queue = locked(queue);
        queue.within(net.limit);
        Self { net, queue, thread, relaxed: 0 }
    }

    fn until(&mut self, what: impl Fn() -> String, is_so: impl FnMut(&mut OpQueue) -> bool) -> Result<(), Fault> {
        let thread = self.thread;
        self.net.until(&mut self.queue, &|| format!("{thread} waits for {}", what()), is_so)
    }

    /// Waits until such operations of this port have completed.
    #[inline]
    fn until_done(&mut self, what: impl Fn() -> String, of: impl Fn(&PostedOp) -> bool) -> Result<(), Fault> {
        if self.queue.is_idle() {
            return self.queue.fine();
        }
        self.until(what, |queue| !queue.under_way.iter().any(|o| of(&o.begun)))
    }

    /// Begins an operation other than a read.
    #[inline]
    fn acts(&mut self) -> Result<(), Fault> {
        self.relaxed = 0;
        self.net.fine()
    }

    /// Returns a word of the own node.
    #[inline]
    fn at(&self, x: Word) -> &AtomicU64 {
        &self.net.node.words()[self.net.layout.own(x)]
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
        let own = self.net.layout.own(own);
        let (node, far) = (rank_of(far), self.net.layout.place(far));
        let peer = self.net.peers[node];
        let begun = PostedOp { node, kind, d };
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
    fn is_got(&mut self, to: Word, from: Word) -> bool {
        let node = rank_of(from);
        if !self.net.layout.is_unread(to) || !self.queue.is_over(node) {
            return false;
        }
        fence();
        true
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
        self.net.fine()?;
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
        } else if !self.is_got(to, from) {
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
        self.begin((to, on, d), OpKind::Atomic, |end, between| end.swap(between, old as u64, new as u64))
    }

    fn rfaa(&mut self, to: Word, on: Word, v: i64, d: Id) -> Result<(), Fault> {
        if self.is_near(on) {
            let was = self.faa(on, v)?;
            return self.write(to, was);
        }
        self.acts()?;
        self.begin((to, on, d), OpKind::Atomic, |end, between| end.add(between, v as u64))
    }

    fn wait(&mut self, d: Id) -> Result<(), Fault> {
        self.acts()?;
        self.until_done(|| "operations that it has begun".to_owned(), |begun| begun.d == d)
    }

    /// Later operations at the node begin after the earlier ones have completed. The model would let the CPU continue
    /// meanwhile.
    fn rfence(&mut self, n: i64) -> Result<(), Fault> {
        self.acts()?;
        let node = n as usize - 1;
        self.until_done(|| format!("what it began at node {n}"), |begun| begun.node == node)
    }

    fn again(&mut self) -> Result<(), Fault> {
        self.relax();
        Ok(())
    }
}

impl Port for FabricPort<'_> {
    fn within(&mut self, limit: Duration) {
        self.queue.within(limit);
    }

    fn begins(&mut self) {
        self.queue.since = None;
    }

    fn relax(&mut self) {
        // The next operation reports a failure, or the time limit ends the wait.
        _ = self.queue.take();
        self.relaxed += 1;
        self.net.relax(self.relaxed, &self.queue);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::company::Company;
    use crate::group::Group;
    use crate::memory::counted::fences;
    use crate::provider::Provider;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Makes operations of a thread at its own node over the network, as a provider does whose atomics do not exclude those of the CPU.
    /// There are three words, of which nobody reads the last.
    fn at_own_node(act: impl FnOnce(&mut FabricPort<'_>, [Word; 3]) -> Result<(), Fault>) {
        use mowgli_port::Port as _;
        let mut group = Group::new(&[1]);
        let words = ["x", "y", "z"].map(|name| group.word(name, 1, 0));
        let company = Company::start(1, &[], LIMIT).unwrap();
        let mut made = group.made([0; 2]).unwrap();
        let words: [Word; 3] = words.map(|x| *made.object(x.0).unwrap());
        made.memory[words[2].at].is_unread = true;
        let mut net = Ofi::open(&company, Provider::Tcp, &made, LIMIT).unwrap();
        net.own_by_cpu = false;
        let thread = Tid::from_index(0);
        let mut port = FabricPort::new(&net, &net.queues[&thread], thread);
        port.write(words[0], 7).unwrap();
        net.going_on(|| act(&mut port, words)).unwrap();
    }

    /// A put, an addition and a get of the own node go over the network, in their order.
    #[test]
    fn operations_of_the_own_node_are_those_of_the_provider() {
        use mowgli_port::Port as _;
        at_own_node(|port, [x, y, _]| {
            port.write(y, 4)?;
            port.put(x, y, 1)?;
            port.rfaa(y, x, 3, 1)?;
            assert!(!port.queue.is_idle());
            port.wait(1)?;
            assert_eq!(port.read(y)?, 4);
            port.get(y, x, 1)?;
            port.wait(1)?;
            assert_eq!(port.read(y)?, 7);
            Ok(())
        });
    }

    #[test]
    fn a_get_that_nobody_reads_is_a_fence() {
        use mowgli_port::Port as _;
        at_own_node(|port, [x, _, z]| {
            let before = fences();
            port.get(z, x, 1)?;
            assert!(port.queue.is_idle() && fences() > before);
            Ok(())
        });
    }

    /// Every operation waits as on a slow network. Together they may take the limit, and then a call has it again.
    #[test]
    fn all_waits_of_a_call_have_one_limit() {
        at_own_node(|port, _| {
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

    /// Strangers have connected before the threads meet: some say nothing, and one is taken by the provider. All of them are sent away, and
    /// nobody connects afterwards, at the endpoint of the node or that of its second thread.
    #[test]
    #[cfg(target_os = "linux")]
    fn strangers_are_not_connected_while_a_group_runs() {
        use std::io::Read as _;
        use std::net::TcpStream;
        let group = Group::new(&[1, 1]);
        let company = Company::start(1, &[], LIMIT).unwrap();
        let made = group.made([0; 2]).unwrap();
        let net = Ofi::open(&company, Provider::Tcp, &made, LIMIT).unwrap();
        let names: Vec<_> = net.queues.values().map(|queue| locked(queue).name().unwrap()).collect();
        let all: Vec<_> = names.iter().map(|name| crate::ofi::connections::address(name).unwrap()).collect();
        let mut strangers: Vec<TcpStream> = all.iter().chain(&all).map(|at| TcpStream::connect(at).unwrap()).collect();
        net.going_on(|| {
            strangers.push(crate::ofi::queue::tests::accepted(all[0]));
            let late = TcpStream::connect(all[0]).unwrap();
            net.meet().unwrap();
            for mut stranger in strangers.into_iter().chain([late]) {
                stranger.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
                let read = stranger.read(&mut [0; 1000]).map_err(|e| e.kind());
                assert!(matches!(read, Ok(0) | Err(std::io::ErrorKind::ConnectionReset)), "{read:?}");
            }
            for at in &all {
                assert!(TcpStream::connect_timeout(at, Duration::from_millis(500)).is_err(), "{at}");
            }
        });
    }

    /// Libfabric grants all orders of the model, or opens nothing. The page of assumptions says the same.
    #[test]
    fn orders_of_providers_are_granted() {
        for (provider, reads_at_once) in [(Provider::Tcp, true), (Provider::Shm, false)] {
            let company = Company::start(1, &[], LIMIT).unwrap();
            let group = Group::new(&[1]);
            let made = group.made([0; 2]).unwrap();
            let net = Ofi::open(&company, provider, &made, LIMIT).unwrap();
            assert_eq!(net.reads_at_once, reads_at_once, "{provider:?}");
        }
    }
}
