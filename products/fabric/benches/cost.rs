//! The cost of a call by emitted code, over shared memory of one process.

use std::hint::black_box;
use std::time::{Duration, Instant};

use mowgli_fabric::{Fabric, Fault, Group, Thread};

/// The number of calls in one turn. The fastest turn counts. Turns are short, so that other processes do not interrupt
/// all of them.
const TIMES: u32 = 200;
const TURNS: u32 = 1000;

fn main() -> Result<(), Fault> {
    let mut group = Group::new(&[1]);
    let (barrier, variable) = (group.barrier("b", &[0]), group.shared_var("v"));
    let (lock, sum) = (group.node_lock("l", 1), group.atomic("s", 1));
    group.run(Fabric::Local, |thread| {
        let mut row = |what: &str, call: &dyn Fn(&mut Thread<'_>) -> Result<(), Fault>| {
            let mut least = Duration::MAX;
            for _ in 0..TURNS {
                let begin = Instant::now();
                (0..TIMES).try_for_each(|_| call(thread))?;
                least = least.min(begin.elapsed() / TIMES);
            }
            println!("{what:<24} {:>6} ns", least.as_nanos());
            Ok::<(), Fault>(())
        };
        row("SharedVar::write", &|thread| variable.write(thread, 1))?;
        row("SharedVar::read", &|thread| variable.read(thread).map(|v| _ = black_box(v)))?;
        row("Barrier::wait, alone", &|thread| barrier.wait(thread))?;
        row("NodeLock::lock, release", &|thread| lock.lock(thread)?.release())?;
        row("Atomic::fetch_add", &|thread| sum.fetch_add(thread, 1).map(|v| _ = black_box(v)))
    })?;
    Ok(())
}
