//! A fabric of plain shared memory, which performs each operation at once. It needs no hardware and is fast, but it
//! shows no weak behaviour.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::wait::Method;
use rustc_hash::FxHashMap;

use crate::port::{Fault, ONE_QUEUE_PAIR, Port, RemoteFabric};
use crate::stack::Stack;
use crate::word::{value, word};

/// Memory words. All accesses are sequentially consistent. Weaker orders would not suffice on every CPU, because a
/// thread may read a put without having seen anything else of its sender.
pub(crate) struct LocalMemory {
    words: FxHashMap<Loc, AtomicU64>,
}

impl LocalMemory {
    /// Allocates the memory words of a world.
    pub(crate) fn new(world: &World) -> Self {
        let words = Stack::words(world).map(|(x, o)| (x, AtomicU64::new(word(o.init))));
        Self { words: words.collect() }
    }

    /// Returns a word. It exists, because `Legal` has refused all others.
    fn at(&self, x: Loc) -> &AtomicU64 {
        &self.words[&x]
    }

    fn add(&self, x: Loc, v: Val) -> Result<Val, Fault> {
        let sum = |old: Val| old.plus(v.int()?).map(word);
        let old = self.at(x).fetch_update(SeqCst, SeqCst, |old| sum(value(old)));
        old.map(value).map_err(|old| Fault::Wrong(format!("{x} is {}, to which {v} cannot be added", value(old))))
    }
}

impl RemoteFabric for LocalMemory {
    fn port(&self, _: Tid) -> Box<dyn Port + '_> {
        Box::new(LocalPort(self))
    }

    fn last(&self, x: Loc) -> Val {
        value(self.words[&x].load(SeqCst))
    }
}

struct LocalPort<'a>(&'a LocalMemory);

impl Port for LocalPort<'_> {
    fn make(&mut self, operation: Method) -> Result<Val, Fault> {
        let memory = self.0;
        let read = |x| value(memory.at(x).load(SeqCst));
        let write = |x, v| memory.at(x).store(word(v), SeqCst);
        let cas = |x, old, new| {
            let was = memory.at(x).compare_exchange(word(old), word(new), SeqCst, SeqCst);
            value(was.unwrap_or_else(|was| was))
        };
        let swap = |x, new| value(memory.at(x).swap(word(new), SeqCst));
        // Each operation takes effect at once, whichever queue pair it uses.
        match operation.usual().0 {
            Method::Read { x } => return Ok(read(x)),
            Method::CAS { x, v1, v2 } => return Ok(cas(x, v1, v2)),
            Method::Xchg { x, v } => return Ok(swap(x, v)),
            Method::Write { x, v } => write(x, v),
            Method::Get { x, y, .. } | Method::Put { x, y, .. } => write(x, read(y)),
            Method::RCAS { x, y, v1, v2, .. } => write(x, cas(y, v1, v2)),
            Method::FAA { x, v } => return memory.add(x, v),
            Method::RFAA { x, y, v, .. } => write(x, memory.add(y, v)?),
            Method::RXchg { x, y, v, .. } => write(x, swap(y, v)),
            // These have nothing to wait for, because every operation has taken effect.
            Method::Wait { .. } | Method::Rfence { .. } | Method::Mfence {} => {}
            Method::GetBy { .. } | Method::PutBy { .. } | Method::RfenceBy { .. } => unreachable!("in the usual way"),
            Method::RCASBy { .. } | Method::RFAABy { .. } | Method::RXchgBy { .. } => unreachable!("in the usual way"),
            Method::GetWords { .. } | Method::PutWords { .. } => return Err(Fault::Wrong(ONE_QUEUE_PAIR.to_owned())),
        }
        Ok(Val::Unit)
    }

    fn poll(&mut self, _: Node) -> Result<(), Fault> {
        Ok(())
    }

    fn relax(&mut self) {
        std::thread::yield_now();
    }
}
