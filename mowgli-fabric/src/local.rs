//! A fabric of plain shared memory, which performs each operation at once. It needs no hardware and is fast, but it
//! shows no weak behaviour.

use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use mowgli_core::ids::Tid;

use crate::emitted::mowgli_port::{self, Id, Word};
use crate::memory::MemoryWord;
use crate::port::{Fault, Port, RemoteFabric};

/// Memory words. All accesses are sequentially consistent. Weaker orders would not suffice on every CPU, because a
/// thread may read a put without having seen anything else of its sender.
pub(crate) struct LocalMemory {
    words: Vec<AtomicI64>,
}

impl LocalMemory {
    /// Allocates memory words.
    pub(crate) fn new(memory: &[MemoryWord]) -> Self {
        Self { words: memory.iter().map(|word| AtomicI64::new(word.initial)).collect() }
    }
}

impl RemoteFabric for LocalMemory {
    fn port(&self, _: Tid) -> Box<dyn Port + '_> {
        Box::new(LocalPort(self))
    }

    fn last(&self, x: Word) -> i64 {
        self.words[x.at].load(SeqCst)
    }
}

struct LocalPort<'a>(&'a LocalMemory);

impl LocalPort<'_> {
    fn at(&self, x: Word) -> &AtomicI64 {
        &self.0.words[x.at]
    }
}

/// Each operation takes effect at once, so there is nothing to wait for.
impl mowgli_port::Port for LocalPort<'_> {
    type Fault = Fault;

    fn read(&mut self, x: Word) -> Result<i64, Fault> {
        Ok(self.at(x).load(SeqCst))
    }

    fn write(&mut self, x: Word, v: i64) -> Result<(), Fault> {
        self.at(x).store(v, SeqCst);
        Ok(())
    }

    fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, Fault> {
        Ok(self.at(x).compare_exchange(old, new, SeqCst, SeqCst).unwrap_or_else(|was| was))
    }

    fn xchg(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        Ok(self.at(x).swap(v, SeqCst))
    }

    fn faa(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        Ok(self.at(x).fetch_add(v, SeqCst))
    }

    fn mfence(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn get(&mut self, to: Word, from: Word, _: Id) -> Result<(), Fault> {
        let v = self.read(from)?;
        self.write(to, v)
    }

    fn put(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.get(to, from, d)
    }

    fn rcas(&mut self, to: Word, on: Word, old: i64, new: i64, _: Id) -> Result<(), Fault> {
        let was = self.cas(on, old, new)?;
        self.write(to, was)
    }

    fn rfaa(&mut self, to: Word, on: Word, v: i64, _: Id) -> Result<(), Fault> {
        let was = self.faa(on, v)?;
        self.write(to, was)
    }

    fn wait(&mut self, _: Id) -> Result<(), Fault> {
        Ok(())
    }

    fn rfence(&mut self, _: i64) -> Result<(), Fault> {
        Ok(())
    }
}

impl Port for LocalPort<'_> {
    fn rxchg(&mut self, to: Word, on: Word, v: i64, _: Id) -> Result<(), Fault> {
        let was = mowgli_port::Port::xchg(self, on, v)?;
        mowgli_port::Port::write(self, to, was)
    }

    fn poll(&mut self, _: i64) -> Result<(), Fault> {
        Ok(())
    }

    fn relax(&mut self) {
        std::thread::yield_now();
    }
}
