//! Programs with many threads, and with many operations under way.

use mowgli_fabric::{
    Atomic, Barrier, Begun, Fault, Group, NodeLock, PutBarrier, Ring, SharedVar, StrongLock, Thread, WeakLock, Word,
};

/// Threads on two nodes, with an object of each kind.
pub struct Crowd {
    pub group: Group,
    threads: usize,
    barrier: Barrier,
    put_barrier: PutBarrier,
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
            put_barrier: group.put_barrier("put_barrier", &all),
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
        self.put_barrier.wait(thread)?;
        self.sum.load(thread)
    }
}

/// Words of node 1, and words of node 2 into which they are put.
pub struct Window {
    pub group: Group,
    /// True if the first thread waits for its puts.
    pub waits: bool,
    own: Vec<Word>,
    far: Vec<Word>,
}

impl Window {
    pub fn new(size: i64) -> Self {
        let mut group = Group::new(&[1, 2]);
        let own = (0..size).map(|i| group.word(&format!("own{i}"), 1, i + 1)).collect();
        let far = (0..size).map(|i| group.word(&format!("far{i}"), 2, 0)).collect();
        Self { group, waits: true, own, far }
    }

    /// Lets the first thread put all words, write them again, and get back what it has put.
    pub fn pass(&self, thread: &mut Thread<'_>) -> Result<(), Fault> {
        if thread.node().0 == 2 {
            return Ok(());
        }
        let puts = self.far.iter().zip(&self.own).map(|(far, own)| far.put(thread, *own));
        let puts: Vec<Begun> = puts.collect::<Result<_, _>>()?;
        if self.waits {
            puts.into_iter().try_for_each(|put| put.wait(thread))?;
        }
        self.own.iter().try_for_each(|own| own.write(thread, -1))?;
        let gets = self.far.iter().zip(&self.own).map(|(far, own)| far.get(thread, *own));
        let gets: Vec<Begun> = gets.collect::<Result<_, _>>()?;
        gets.into_iter().try_for_each(|get| get.wait(thread))?;
        for (own, expected) in self.own.iter().zip(1..) {
            let got = own.read(thread)?;
            if got != expected {
                return Err(Fault::Wrong(format!("{got} in place of {expected}")));
            }
        }
        Ok(())
    }
}
