//! A program over `mowgli emit rust slock bal`: three threads on two nodes increment a counter behind a lock.
//!
//! The memory of all nodes is that of one process, and each operation takes effect at once. Over a network, `get`, `put`,
//! `rcas` and `rfaa` post an operation, and `wait` polls until those with its identifier have completed.

mod mowgli_port;
mod slock_bal;

use std::convert::Infallible;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst, fence};

use mowgli_port::{Id, Port, Word, World};
use slock_bal::{Me, Own, bal, slock};

/// The words of all nodes, as a thread accesses them.
struct Memory<'a>(&'a [AtomicI64]);

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

/// The number of increments of each thread.
const TIMES: i64 = 1000;

fn main() {
    let mut world = World::new(2, &[1, 2, 1]);
    let own = Own::new(&mut world);
    let lock = slock::new(&mut world, 1);
    let all = world.all_threads();
    let meeting = bal::new(&mut world, all);
    let counter = world.word(1, 0);
    let memory: Vec<AtomicI64> = world.words.iter().map(|(_, initial)| AtomicI64::new(*initial)).collect();
    let sums: Vec<i64> = std::thread::scope(|scope| {
        let run = |thread: i64| {
            let mut me = Me::new(Memory(&memory), &world, &own, thread);
            for _ in 0..TIMES {
                slock::acq(&mut me, &lock)?;
                // Without the lock, additions of the other threads are lost.
                let v = me.port.read(counter)?;
                me.port.write(counter, v + 1)?;
                slock::rel(&mut me, &lock)?;
            }
            bal::bar(&mut me, &meeting)?;
            me.port.read(counter)
        };
        let threads: Vec<_> = (1..=3).map(|thread| scope.spawn(move || run(thread))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("it ends").unwrap_or_else(|fault| match fault {}))
            .collect()
    });
    println!("{sums:?}");
}
