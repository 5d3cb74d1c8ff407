//! A program over `mowgli emit rust slock bal`: three threads on two nodes increment a counter behind a lock.
//!
//! `memory.rs` is the port: the memory of all nodes is that of one process.

mod memory;
mod mowgli_port;
mod slock_bal;

use std::sync::atomic::AtomicI64;

use memory::Memory;
use mowgli_port::{Port, World};
use slock_bal::{Me, Own, bal, slock};

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
