//! A program with many threads.

use mowgli_fabric::{Atomic, Barrier, Fault, Group, NodeLock, Ring, SharedVar, StrongLock, Thread, WeakLock};

/// Threads on two nodes, with an object of each kind.
pub struct Crowd {
    pub group: Group,
    threads: usize,
    barrier: Barrier,
    weak: WeakLock,
    strong: StrongLock,
    node: NodeLock,
    sum: Atomic,
    shared: SharedVar,
    ring: Ring,
}

impl Crowd {
    pub fn new(threads: usize) -> Self {
        let all: Vec<usize> = (0..threads).collect();
        let nodes: Vec<u8> = all.iter().map(|t| 1 + *t as u8 % 2).collect();
        let mut group = Group::new(&nodes);
        Self {
            threads,
            barrier: group.barrier("barrier", &all),
            weak: group.weak_lock("weak", 1),
            strong: group.strong_lock("strong", 2),
            node: group.node_lock("node", 2),
            sum: group.atomic("sum", 1),
            shared: group.shared_var("shared"),
            ring: group.ring("ring", threads - 1, &all[..threads - 1], 4),
            group,
        }
    }

    /// Lets a thread take each lock, and add to a sum under the first one.
    pub fn lock(&self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        let mut held = self.weak.lock(thread)?;
        let before = self.sum.load(&mut held)?;
        self.sum.store(&mut held, before + 1)?;
        held.release()?;
        self.strong.lock(thread)?.release()?;
        self.node.lock(thread)?.release()
    }

    /// Lets a thread meet all others, and receive from the last thread. Returns the sum.
    pub fn meet(&self, thread: &mut Thread<'_>) -> Result<i64, Fault> {
        let is_last = thread.id().index() == self.threads - 1;
        if is_last {
            self.shared.write(thread, 7)?;
            self.shared.broadcast(thread)?;
        }
        self.barrier.wait(thread)?;
        assert_eq!(self.shared.read(thread)?, 7);
        if is_last {
            assert!(self.ring.submit(thread, 5)?);
        } else {
            assert_eq!(thread.until(|thread| self.ring.receive(thread))?, 5);
        }
        self.barrier.wait(thread)?;
        self.sum.load(thread)
    }
}
