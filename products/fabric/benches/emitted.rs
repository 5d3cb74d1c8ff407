//! The cost of interpreting bodies, and of the code that `mowgli emit rust` writes. The bench times calls over shared
//! memory of one process: interpreted, as objects of `mowgli-fabric`, and as emitted code over plain atomics.

use std::fmt::Debug;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, Instant};

use mowgli_fabric::{Atomic, Fabric, Fault, Group, NodeLock, Ring};

#[path = "../../../mowgli/tests/emitted/memory.rs"]
mod memory;
#[path = "../src/emitted/mowgli_port.rs"]
mod mowgli_port;
#[path = "../src/emitted/objects.rs"]
#[rustfmt::skip]
mod objects;

use memory::Memory;
use mowgli_port::{List, Port, World};
use objects::{Me, Own, nlock, rbl, sc_rmw};

/// The number of calls in one turn, and the number of turns. The median turn counts.
const TIMES: i64 = 2000;
const TURNS: usize = 25;

/// Returns the median time of a turn.
fn median(mut turn: impl FnMut()) -> Duration {
    let mut all: Vec<Duration> = (0..TURNS)
        .map(|_| {
            let begin = Instant::now();
            turn();
            begin.elapsed()
        })
        .collect();
    all.sort();
    all[TURNS / 2]
}

/// The work of a thread that is timed.
#[derive(Clone, Copy)]
enum Work {
    Add,
    Lock,
    /// The first thread sends to the second.
    Send,
}

/// Does the work of a thread by objects of `mowgli-fabric`.
fn by_objects(
    work: Work,
    thread: &mut mowgli_fabric::Thread<'_>,
    made: &(Atomic, NodeLock, Ring),
) -> Result<(), Fault> {
    let is_first = thread.id().index() == 0;
    for _ in 0..TIMES {
        match work {
            Work::Add => _ = made.0.fetch_add(thread, 1)?,
            Work::Lock => made.1.lock(thread)?.release()?,
            Work::Send if is_first => {
                while !made.2.submit(thread, 7)? {
                    thread.pause();
                }
            }
            Work::Send => {
                while made.2.receive(thread)?.is_none() {
                    thread.pause();
                }
            }
        }
    }
    Ok(())
}

/// The objects of emitted code.
struct Made {
    own: Own,
    sum: sc_rmw::Object,
    lock: nlock::Object,
    ring: rbl::Object,
}

/// Does the work of a thread by emitted code.
fn emitted<P: Port<Fault: Debug>>(work: Work, me: &mut Me<'_, P>, made: &Made) -> Result<(), P::Fault> {
    let message = List::of(&[7]);
    for _ in 0..TIMES {
        match work {
            Work::Add => _ = sc_rmw::faa(me, &made.sum, 1)?,
            Work::Lock => {
                nlock::acq(me, &made.lock)?;
                nlock::rel(me, &made.lock)?;
            }
            Work::Send if me.thread == 1 => {
                while !rbl::submit(me, &made.ring, &message)? {
                    me.port.again()?;
                }
            }
            Work::Send => {
                while rbl::receive(me, &made.ring)?.is_bot() {
                    me.port.again()?;
                }
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Fault> {
    println!("{:<32} {:>14} {:>18} {:>14}", "calls a second", "interpreted", "objects", "emitted, bare");
    for (what, work, nodes) in [
        ("sc-rmw FAA, one thread", Work::Add, &[1_u8][..]),
        ("nlock Acq and Rel, one thread", Work::Lock, &[1]),
        ("sc-rmw FAA, two threads", Work::Add, &[1, 2]),
        ("nlock Acq and Rel, two threads", Work::Lock, &[1, 2]),
        ("rbl, from a thread to another", Work::Send, &[1, 2]),
    ] {
        let readers: Vec<usize> = (1..nodes.len()).collect();
        let of_group = |mut group: Group| {
            let objects = (group.atomic("s", 1), group.node_lock("l", 1), group.ring("r", 0, &readers, 64));
            median(|| {
                group.run(Fabric::Local, |thread| by_objects(work, thread, &objects)).expect("it ends");
            })
        };
        let by_interpreter = of_group(Group::new(nodes).interpreted());
        let by_objects = of_group(Group::new(nodes));
        let node_of: Vec<i64> = nodes.iter().map(|&n| n.into()).collect();
        let mut world = World::new(nodes.len() as i64, &node_of);
        let all = world.all_threads();
        let made = Made {
            own: Own::new(&mut world),
            sum: sc_rmw::new(&mut world, 1, 0),
            lock: nlock::new(&mut world, 1),
            ring: rbl::new(&mut world, all, 64),
        };
        let bare = median(|| {
            let memory: Vec<AtomicI64> = world.words.iter().map(|(_, initial)| AtomicI64::new(*initial)).collect();
            std::thread::scope(|scope| {
                for thread in 1..=nodes.len() as i64 {
                    let me = Me::new(Memory(&memory), &world, &made.own, thread);
                    let made = &made;
                    scope.spawn(move || emitted(work, &mut { me }, made).expect("it ends"));
                }
            });
        });
        // A message is one call of each of the two threads.
        let calls = TIMES * if matches!(work, Work::Send) { 1 } else { nodes.len() as i64 };
        let rate = |time: Duration| (calls as f64 / time.as_secs_f64()).round();
        println!("{what:<32} {:>14} {:>18} {:>14}", rate(by_interpreter), rate(by_objects), rate(bare));
    }
    Ok(())
}
