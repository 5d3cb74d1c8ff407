//! The operations of one thread that are under way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::orders::OpKind;
use super::raw::{End, Error, Going, NodeMemory};
use crate::emitted::mowgli_port::Id;
use crate::port::Fault;

/// The largest number of operations of a thread that are under way.
const MOST: usize = 256;

/// The number of calls per poll if polls are rarely needed. That is so if an endpoint other than the node's has no
/// pending operation, and between operations that a thread posts in sequence.
const SELDOM: u64 = 16;

/// The port number of operations that do not belong to a run.
const NOBODY: u64 = 0;

/// An operation when it is posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct PostedOp {
    /// The node of the other word, counted from 0.
    pub(super) node: usize,
    pub(super) kind: OpKind,
    /// Its identifier.
    pub(super) d: Id,
    /// The number of the port that posts it.
    pub(super) by: u64,
}

impl PostedOp {
    /// Makes a put that does not belong to a run.
    pub(super) fn put(node: usize) -> Self {
        Self { node, kind: OpKind::Put, d: 0, by: NOBODY }
    }

    /// Makes a get that does not belong to a run.
    pub(super) fn get(node: usize) -> Self {
        Self { kind: OpKind::Get, ..Self::put(node) }
    }
}

/// An operation that is under way.
pub(super) struct Operation {
    slot: usize,
    pub(super) begun: PostedOp,
    /// The number of operations at this node that its port had posted before.
    pub(super) number: u64,
}

/// An endpoint, and the operations that are under way from it.
pub(super) struct OpQueue {
    end: End,
    /// True for the endpoint at which others reach the node. A poll of it progresses their operations too.
    pub(super) is_of_node: bool,
    free: Vec<usize>,
    pub(super) under_way: Vec<Operation>,
    nodes: Vec<Reached>,
    ports: u64,
    /// The number of polls while nothing was under way.
    idle: u64,
    /// The number of operations posted.
    begun: u64,
    fault: Option<Fault>,
    /// The time after which waits are given up.
    pub(super) limit: Duration,
    /// The time at which the call that is being made first waited. The limit is for all its waits together.
    pub(super) since: Option<Instant>,
}

/// The operations posted at a node.
#[derive(Clone, Default)]
pub(super) struct Reached {
    /// The last port that posted an operation there, and the number of its operations.
    port: u64,
    count: u64,
    /// True if a put was posted there whose own completion does not show that it is placed, and nothing after it shows that. The completion
    /// of a get would show it, or of a put that completes when it is placed.
    pub(super) has_put: bool,
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
            is_of_node,
            free,
            under_way: Vec::new(),
            nodes: vec![Reached::default(); nodes],
            ports: NOBODY,
            idle: 0,
            begun: 0,
            fault: None,
            limit,
            since: None,
        })
    }

    /// Returns a number for a new port.
    pub(super) fn port(&mut self) -> u64 {
        self.ports += 1;
        self.ports
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// True if an operation of such a kind is under way at a node.
    pub(super) fn has(&self, node: usize, is_one: impl Fn(OpKind) -> bool) -> bool {
        self.under_way.iter().any(|o| o.begun.node == node && is_one(o.begun.kind))
    }

    /// True if all operations at a node are over: puts are placed, and all others have completed.
    pub(super) fn is_over(&self, node: usize) -> bool {
        !self.nodes[node].has_put && !self.has(node, |_| true)
    }

    pub(super) fn nodes(&self) -> &[Reached] {
        &self.nodes
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
        match how(&mut self.end, slot) {
            Ok(()) => {}
            Err(Error::AGAIN) => return Ok(false),
            Err(why) => return Err(failed(&[begun.node], why)),
        }
        let number = self.count(begun);
        self.begun += 1;
        if begun.kind != OpKind::Put {
            self.free.pop();
            self.under_way.push(Operation { slot, begun, number });
        }
        Ok(true)
    }

    /// True if it is time to poll. A thread that posts one operation after the other polls now and then.
    pub(super) fn looks(&self) -> bool {
        self.begun.is_multiple_of(SELDOM)
    }

    /// Records an operation that is over already.
    pub(super) fn done(&mut self, begun: PostedOp) {
        self.count(begun);
    }

    /// Counts an operation, and returns the number of earlier ones of its port at its node. Operations that do not
    /// belong to a run are not counted.
    fn count(&mut self, begun: PostedOp) -> u64 {
        let reached = &mut self.nodes[begun.node];
        reached.has_put = begun.kind.is_late() || reached.has_put && begun.kind.is_atomic();
        if begun.by == NOBODY {
            return 0;
        }
        if reached.port != begun.by {
            (reached.port, reached.count) = (begun.by, 0);
        }
        reached.count += 1;
        reached.count - 1
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
                if let Err((why, _)) = self.end.next() {
                    return Err(self.fails(None, why));
                }
            }
            return Ok(());
        }
        while !self.is_idle() {
            let (slot, failure) = match self.end.next() {
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
                return Err(self.fails(begun.map(|begun| begun.node), why));
            }
        }
        Ok(())
    }

    /// Records the failure of an operation, and returns its fault. A put without a completion does not say its node: then it is one of those
    /// with such puts.
    fn fails(&mut self, node: Option<usize>, why: Error) -> Fault {
        let with_puts = || self.nodes.iter().enumerate().filter(|(_, reached)| reached.has_put).map(|(node, _)| node);
        let nodes: Vec<usize> = node.map_or_else(|| with_puts().collect(), |node| vec![node]);
        let fault = failed(&nodes, why);
        self.fault = Some(fault.clone());
        fault
    }
}

/// Makes the fault of an operation at one of these nodes.
fn failed(nodes: &[usize], why: Error) -> Fault {
    let names: Vec<String> = nodes.iter().map(|node| format!("node {}", node + 1)).collect();
    let place = if names.is_empty() { "another node".to_owned() } else { names.join(" or ") };
    Fault::Gone(format!("an operation at {place} failed: {}", why.text()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::ofi::provider::Provider;
    use crate::ofi::raw::{Between, Peer};

    const PROVIDERS: [Provider; 3] = [Provider::Tcp, Provider::Unordered, Provider::Shm];

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
            let begun = PostedOp { kind, ..PostedOp::put(1) };
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
    #[cfg_attr(not(libfabric), ignore = "needs libfabric")]
    fn failures_of_puts_are_read_while_a_queue_is_idle() {
        for provider in [Provider::Tcp, Provider::Unordered] {
            let owner = node(provider);
            let mut member = Member::new(provider, &owner);
            let (key, base) = owner.memory();
            member.begin(&owner, (key ^ 1, base), OpKind::Put, End::put).unwrap();
            let failed = member.go_on(&owner, |_| false);
            assert!(
                matches!(&failed, Err(Fault::Gone(why)) if why.contains("node 2 failed")),
                "{provider:?}: {failed:?}"
            );
        }
    }

    /// A stranger knows the address of a node and not the key of its memory. It reaches no word, and harms no member.
    #[test]
    #[cfg_attr(not(libfabric), ignore = "needs libfabric")]
    fn strangers_reach_no_word() {
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
