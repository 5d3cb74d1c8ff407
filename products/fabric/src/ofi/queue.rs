//! The operations of one thread that are under way.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::raw::{End, Error, Going, NodeMemory};
use super::watchdog::Visits;
use crate::emitted::mowgli_port::Id;
use crate::port::Fault;

/// The largest number of operations of a thread that are under way.
const MOST: usize = 256;

/// The number of calls per poll if polls are rarely needed. That is so if an endpoint other than the node's has no
/// pending operation, and between operations that a thread posts in sequence.
const SELDOM: u64 = 16;

/// The kinds of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OpKind {
    /// A put that has read its source when it is posted.
    Put,
    /// A put that has read its source when it completes.
    LargePut,
    Get,
    Atomic,
}

/// An operation when it is posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct PostedOp {
    /// The node of the other word, counted from 0.
    pub(super) node: usize,
    pub(super) kind: OpKind,
    /// Its identifier.
    pub(super) d: Id,
}

/// An operation that is under way.
pub(super) struct Operation {
    slot: usize,
    pub(super) begun: PostedOp,
}

/// An endpoint, and the operations that are under way from it.
pub(super) struct OpQueue {
    end: End,
    /// The visits of the thread that has it to the provider.
    pub(super) visits: Arc<Visits>,
    /// True for the endpoint at which others reach the node. A poll of it progresses their operations too.
    pub(super) is_of_node: bool,
    free: Vec<usize>,
    pub(super) under_way: Vec<Operation>,
    /// For each node, true if a put was posted there whose own completion does not show that it is placed, and nothing after it shows that.
    /// The completion of a get would show it.
    has_put: Vec<bool>,
    /// The number of polls while nothing was under way.
    idle: u64,
    /// The number of operations posted.
    begun: u64,
    fault: Option<Fault>,
    /// True if it has reported an error that belongs to none of its operations.
    has_warned: bool,
    /// The time after which waits are given up.
    pub(super) limit: Duration,
    /// The time at which the call that is being made first waited. The limit is for all its waits together.
    pub(super) since: Option<Instant>,
}

impl OpQueue {
    pub(super) fn open(
        node: &Arc<NodeMemory>,
        key: u64,
        nodes: usize,
        is_of_node: bool,
        limit: Duration,
    ) -> Result<Self, Error> {
        let end = End::open(node, MOST, key, is_of_node)?;
        let free = (0..MOST).collect();
        Ok(Self {
            end,
            visits: Arc::default(),
            is_of_node,
            free,
            under_way: Vec::new(),
            has_put: vec![false; nodes],
            idle: 0,
            begun: 0,
            fault: None,
            has_warned: false,
            limit,
            since: None,
        })
    }

    /// Returns the address of its endpoint.
    pub(super) fn name(&self) -> Result<Vec<u8>, Error> {
        self.end.name()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// True if an operation is under way at a node that may not have read its source.
    pub(super) fn has_large_put(&self, node: usize) -> bool {
        self.under_way.iter().any(|o| o.begun.node == node && o.begun.kind == OpKind::LargePut)
    }

    /// True if all operations at a node are over: puts are placed, and all others have completed.
    pub(super) fn is_over(&self, node: usize) -> bool {
        !self.has_put[node] && !self.under_way.iter().any(|o| o.begun.node == node)
    }

    /// Returns a handle that progresses operations from another thread.
    pub(super) fn going(&self) -> Going {
        self.end.going()
    }

    /// Posts an operation, if there is room. A small put is over when it is posted, because its source has been read.
    pub(super) fn begin(
        &mut self,
        begun: PostedOp,
        how: impl FnOnce(&mut End, usize) -> Result<(), Error>,
    ) -> Result<bool, Fault> {
        let Some(&slot) = self.free.last() else { return Ok(false) };
        match self.visits.visit(Some(begun.node), || how(&mut self.end, slot)) {
            Ok(()) => {}
            Err(Error::AGAIN) => return Ok(false),
            Err(why) => return Err(failed(&BTreeSet::from([begun.node]), why)),
        }
        self.begun += 1;
        match begun.kind {
            OpKind::Put | OpKind::LargePut => self.has_put[begun.node] = true,
            OpKind::Get => self.has_put[begun.node] = false,
            OpKind::Atomic => {}
        }
        if begun.kind != OpKind::Put {
            self.free.pop();
            self.under_way.push(Operation { slot, begun });
        }
        Ok(true)
    }

    /// True if it is time to poll. A thread that posts one operation after the other polls now and then.
    pub(super) fn looks(&self) -> bool {
        self.begun.is_multiple_of(SELDOM)
    }

    /// Returns the fault of the operation that has failed, if one has.
    #[inline]
    pub(super) fn fine(&self) -> Result<(), Fault> {
        if self.fault.is_some() { self.fault.clone().map_or(Ok(()), Err) } else { Ok(()) }
    }

    /// Takes the completions that have arrived. After a failure, every call returns its fault.
    pub(super) fn take(&mut self) -> Result<(), Fault> {
        self.fine()?;
        if self.is_idle() {
            // Puts and connections may still need a poll now and then. Otherwise the look for completions below is one.
            self.idle += 1;
            if self.is_of_node || self.idle.is_multiple_of(SELDOM) {
                // A put without a completion has one if it fails.
                if let Err((why, _)) = self.next() {
                    return self.fails(None, why);
                }
            }
            return Ok(());
        }
        while !self.is_idle() {
            let (slot, failure) = match self.next() {
                Ok(None) => return Ok(()),
                Ok(slot) => (slot, None),
                Err((why, slot)) => (slot, Some(why)),
            };
            let place = self.under_way.iter().position(|o| Some(o.slot) == slot);
            let begun = place.map(|place| {
                let operation = self.under_way.swap_remove(place);
                self.free.push(operation.slot);
                operation.begun
            });
            if let Some(why) = failure {
                self.fails(begun.map(|begun| begun.node), why)?;
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<usize>, (Error, Option<usize>)> {
        self.visits.visit(None, || self.end.next())
    }

    /// Sets the time after which waits are given up.
    pub(super) fn within(&mut self, limit: Duration) {
        self.limit = limit;
        self.visits.within(limit);
    }

    /// Names the nodes of operations that are under way, if there are any.
    pub(super) fn places(&self) -> String {
        let nodes: BTreeSet<usize> = self.under_way.iter().map(|o| o.begun.node).collect();
        if nodes.is_empty() { String::new() } else { format!("; operations are under way at {}", named(&nodes)) }
    }

    /// Records the failure of an operation at a node, and returns its fault. A put without a completion does not say its node. If no such
    /// put and no operation is under way, nothing of this thread has failed: somebody has sent what the provider does not understand.
    fn fails(&mut self, node: Option<usize>, why: Error) -> Result<(), Fault> {
        let with_puts = || (0..self.has_put.len()).filter(|&node| self.has_put[node]);
        let under_way = self.under_way.iter().map(|o| o.begun.node);
        let nodes: BTreeSet<usize> =
            node.map_or_else(|| with_puts().chain(under_way).collect(), |node| BTreeSet::from([node]));
        if nodes.is_empty() {
            if !self.has_warned {
                eprintln!(
                    "warning: the provider reports `{}`, and nothing of this thread is under way; is the network private?",
                    why.text()
                );
            }
            self.has_warned = true;
            return Ok(());
        }
        let mut fault = failed(&nodes, why);
        if let (None, Fault::Gone(why)) = (node, &mut fault) {
            why.push_str("; or somebody else has sent what the provider does not understand");
        }
        self.fault = Some(fault.clone());
        Err(fault)
    }
}

/// Makes the fault of an operation at one of these nodes.
fn failed(nodes: &BTreeSet<usize>, why: Error) -> Fault {
    Fault::Gone(format!("an operation at {} failed: {}", named(nodes), why.text()))
}

/// Names nodes.
fn named(nodes: &BTreeSet<usize>) -> String {
    nodes.iter().map(|node| format!("node {}", node + 1)).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::ofi::connections::address;
    use crate::ofi::raw::{Between, Peer, last_words};
    use crate::provider::Provider;

    const PROVIDERS: [Provider; 2] = [Provider::Tcp, Provider::Shm];

    /// The value of each word at first.
    const FIRST: u64 = 7;

    fn node(provider: Provider) -> Arc<NodeMemory> {
        Arc::new(NodeMemory::open(&provider.opening("127.0.0.1").unwrap(), vec![FIRST; 16]).unwrap())
    }

    /// Another node of this process, which knows the address of `owner`, and what it begins.
    struct Member {
        own: Arc<NodeMemory>,
        queue: OpQueue,
        address: u64,
    }

    impl Member {
        fn new(provider: Provider, owner: &NodeMemory) -> Self {
            let own = node(provider);
            own.words()[0].store(8, Ordering::SeqCst);
            let queue = OpQueue::open(&own, 2, 2, true, Duration::from_secs(1)).unwrap();
            let address = own.know(&owner.name().unwrap()).unwrap();
            Self { own, queue, address }
        }

        /// Begins an operation at the first word of the owner, which is node 2, as soon as there is a connection.
        fn begin(
            &mut self,
            owner: &NodeMemory,
            (key, base): (u64, u64),
            kind: OpKind,
            how: fn(&mut End, Between) -> Result<(), Error>,
        ) -> Result<(), Fault> {
            let peer = Peer { address: self.address, key, base };
            let begun = PostedOp { node: 1, kind, d: 0 };
            let begin = Instant::now();
            while !self.queue.begin(begun, |end, slot| how(end, Between { slot, own: 0, peer, far: 0, words: 1 }))? {
                self.queue.take()?;
                owner.progress();
                assert!(begin.elapsed() < Duration::from_secs(20), "it could not be begun");
            }
            Ok(())
        }

        /// Takes completions until `is_over`, or a second has passed.
        fn go_on(&mut self, owner: &NodeMemory, is_over: impl Fn(&OpQueue) -> bool) -> Result<(), Fault> {
            let begin = Instant::now();
            while !is_over(&self.queue) && begin.elapsed() < Duration::from_secs(1) {
                self.queue.take()?;
                owner.progress();
            }
            Ok(())
        }
    }

    /// A put without a completion fails while nothing else is under way. Over `shm` the provider reports no failure of a put.
    #[test]
    fn failures_of_puts_are_read_while_a_queue_is_idle() {
        let owner = node(Provider::Tcp);
        let mut member = Member::new(Provider::Tcp, &owner);
        let (key, base) = owner.memory();
        member.begin(&owner, (key ^ 1, base), OpKind::Put, End::put).unwrap();
        let failed = member.go_on(&owner, |_| false);
        assert!(matches!(&failed, Err(Fault::Gone(why)) if why.contains("node 2 failed")), "{failed:?}");
    }

    /// Connects as somebody does who knows the port of a node over `tcp`, and nothing else, and waits until the provider has accepted the
    /// connection. Returns it, with what the provider has said.
    fn connected(at: SocketAddr) -> (TcpStream, [u8; 100]) {
        const CONNECT: [u8; 56] = [
            3, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4,
            3, 0xef, 0xb4, 2, 0, 0, 64, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0x75, 0x5f, 0, 0,
        ];
        let mut stream = TcpStream::connect(at).unwrap();
        stream.write_all(&CONNECT).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut said = [0; 100];
        assert!(stream.read(&mut said).unwrap() > 34);
        (stream, said)
    }

    /// Returns a connection that the provider has accepted.
    pub(crate) fn accepted(at: SocketAddr) -> TcpStream {
        connected(at).0
    }

    /// Connects, and sends an answer with this type to an operation of this number.
    fn stranger_says(node: &NodeMemory, kind: u8, number: u64) {
        let at = address(&node.name().unwrap()).unwrap();
        let stranger = std::thread::spawn(move || {
            let (mut stream, said) = connected(at);
            let number = number.to_le_bytes();
            let packet = [
                &[4, kind, 0, 0, 0, 0, 0, 0],
                &said[32..34],
                &[0; 6],
                &number,
                &[0; 8],
                &[2, 0, 7, 0, 0, 0, 0, 0],
                &[0; 40],
            ];
            let packet = packet.concat();
            let length = (16 + packet.len() as u64).to_le_bytes();
            stream.write_all(&[&[3, 0, 0, 0, 0, 0, 16, 0], &length[..], &packet].concat()).unwrap();
            std::thread::sleep(Duration::from_millis(300));
        });
        while !stranger.is_finished() {
            node.progress();
        }
        stranger.join().unwrap();
    }

    /// The provider reports it without an operation. Nobody is blamed while none is under way, and the run goes on.
    #[test]
    fn an_error_of_no_operation_blames_nobody() {
        let owner = node(Provider::Tcp);
        let mut member = Member::new(Provider::Tcp, &owner);
        let memory = owner.memory();
        stranger_says(&member.own, 0xff, 0);
        member.go_on(&owner, |queue| queue.has_warned).unwrap();
        assert!(member.queue.has_warned, "nothing was reported");
        member.begin(&owner, memory, OpKind::Get, End::get).unwrap();
        member.go_on(&owner, OpQueue::is_idle).unwrap();
        assert_eq!(member.own.words()[0].load(Ordering::SeqCst), FIRST);
        // A put under way may have failed, or not.
        member.begin(&owner, memory, OpKind::Put, End::put).unwrap();
        stranger_says(&member.own, 0xff, 0);
        let failed = member.go_on(&owner, |_| false).unwrap_err().to_string();
        assert!(failed.contains("node 2 failed") && failed.contains("; or somebody else"), "{failed}");
    }

    /// An answer to an operation that never was lets the provider read far behind its memory.
    #[test]
    fn a_crash_inside_the_provider_is_said() {
        const CRASHES: &str = "MOWGLI_TEST_CRASHES";
        if std::env::var_os(CRASHES).is_some() {
            let owner = node(Provider::Tcp);
            last_words("these are the last words\n");
            return stranger_says(&owner, 5, 1 << 40);
        }
        let mut own = std::process::Command::new(std::env::current_exe().unwrap());
        let name = "ofi::queue::tests::a_crash_inside_the_provider_is_said";
        let ran = own.args([name, "--exact", "--nocapture"]).env(CRASHES, "1").output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.code() == Some(2) && said.contains("these are the last words"), "{}: {said}", ran.status);
    }

    /// A stranger uses the provider as members do, with an address and without the key. It reaches no word, and harms no member. Packets
    /// that it forges byte by byte are not tested: they do harm.
    #[test]
    fn no_word_is_reached_without_its_key() {
        for provider in PROVIDERS {
            let owner = node(provider);
            let (key, base) = owner.memory();
            let mut member = Member::new(provider, &owner);
            for (key, base) in [(0, 0), (1, 0), (2, base), (3, base), (key ^ 1, base), (key & !(1 << 63), base)] {
                for (kind, how) in
                    [(OpKind::LargePut, End::put_large as fn(&mut End, Between) -> _), (OpKind::Get, End::get)]
                {
                    let mut stranger = Member::new(provider, &owner);
                    let begun = stranger.begin(&owner, (key, base), kind, how);
                    let failed = begun.and_then(|()| stranger.go_on(&owner, OpQueue::is_idle));
                    // Over shared memory nobody learns it.
                    assert!(failed.is_err() || provider == Provider::Shm, "{provider:?}: {kind:?} with key {key}");
                    let words = |node: &NodeMemory| node.words()[0].load(Ordering::SeqCst);
                    assert_eq!(
                        [words(&owner), words(&stranger.own)],
                        [FIRST, 8],
                        "{provider:?}: {kind:?} with key {key}"
                    );
                }
            }
            member.begin(&owner, (key, base), OpKind::LargePut, End::put_large).unwrap();
            member.begin(&owner, (key, base), OpKind::Get, End::get).unwrap();
            member.go_on(&owner, OpQueue::is_idle).unwrap();
            assert_eq!(owner.words()[0].load(Ordering::SeqCst), 8, "{provider:?}");
        }
    }
}
