//! The operations of RDMA-WAIT-RMW over the memory of one process. Each takes effect at once.
//!
//! Over a network, `get`, `put`, `rcas` and `rfaa` post an operation, and `wait` polls until those with its identifier
//! have completed.

use std::convert::Infallible;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst, fence};

use crate::mowgli_port::{Id, Port, Word};

/// The words of all nodes, as a thread accesses them.
pub struct Memory<'a>(pub &'a [AtomicI64]);

impl Port for Memory<'_> {
    type Fault = Infallible;

    fn read(&mut self, x: Word) -> Result<i64, Infallible> {
        Ok(self.0[x.at].load(SeqCst))
    }

    fn write(&mut self, x: Word, v: i64) -> Result<(), Infallible> {
        self.0[x.at].store(v, SeqCst);
        Ok(())
    }

    fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, Infallible> {
        Ok(self.0[x.at].compare_exchange(old, new, SeqCst, SeqCst).unwrap_or_else(|was| was))
    }

    fn xchg(&mut self, x: Word, v: i64) -> Result<i64, Infallible> {
        Ok(self.0[x.at].swap(v, SeqCst))
    }

    fn faa(&mut self, x: Word, v: i64) -> Result<i64, Infallible> {
        Ok(self.0[x.at].fetch_add(v, SeqCst))
    }

    fn mfence(&mut self) -> Result<(), Infallible> {
        fence(SeqCst);
        Ok(())
    }

    fn get(&mut self, to: Word, from: Word, _: Id) -> Result<(), Infallible> {
        let v = self.read(from)?;
        self.write(to, v)
    }

    fn put(&mut self, to: Word, from: Word, d: Id) -> Result<(), Infallible> {
        self.get(to, from, d)
    }

    fn rcas(&mut self, to: Word, on: Word, old: i64, new: i64, _: Id) -> Result<(), Infallible> {
        let v = self.cas(on, old, new)?;
        self.write(to, v)
    }

    fn rfaa(&mut self, to: Word, on: Word, v: i64, _: Id) -> Result<(), Infallible> {
        let v = self.faa(on, v)?;
        self.write(to, v)
    }

    fn wait(&mut self, _: Id) -> Result<(), Infallible> {
        Ok(())
    }

    fn rfence(&mut self, _: i64) -> Result<(), Infallible> {
        Ok(())
    }
}
