//! The cost of a call: by emitted code, and by the interpreter of bodies. The bench times calls over shared memory of one process,
//! beside the operations of RDMA-WAIT-RMW that they make, by name.

use std::hint::black_box;
use std::time::{Duration, Instant};

use mowgli_core::ids::{Name, Node, Wid};
use mowgli_core::value::Val;
use mowgli_fabric::{Fabric, Fault, Group, Thread};
use mowgli_rdma::wait::{Method, word};

/// The number of calls in one turn. The fastest turn counts. Turns are short, so that other processes do not interrupt
/// all of them.
const TIMES: u32 = 200;
const TURNS: u32 = 1000;

/// Returns the time of one repetition in the fastest turn.
fn each(mut act: impl FnMut() -> Result<(), Fault>) -> Result<Duration, Fault> {
    let mut least = Duration::MAX;
    for _ in 0..TURNS {
        let begin = Instant::now();
        for _ in 0..TIMES {
            act()?;
        }
        least = least.min(begin.elapsed() / TIMES);
    }
    Ok(least)
}

/// A call: its name, its operations, and the time of one.
type Row = (&'static str, usize, Duration);

fn main() -> Result<(), Fault> {
    let [alone, interpreted, emitted] = [
        measured(Group::new(&[1]).interpreted(), true)?,
        measured(Group::new(&[1]).interpreted(), false)?,
        measured(Group::new(&[1]), false)?,
    ];
    println!("{:<24} {:>10} {:>14} {:>14} {:>10}", "ns", "operations", "they by name", "interpreted", "emitted");
    for (((what, count, alone), (.., interpreted)), (.., emitted)) in alone.into_iter().zip(interpreted).zip(emitted) {
        let [alone, interpreted, emitted] = [alone, interpreted, emitted].map(|time| time.as_nanos());
        println!("{what:<24} {count:>10} {alone:>14} {interpreted:>14} {emitted:>10}");
    }
    Ok(())
}

/// Returns the time of each call in a group, or that of its operations alone.
fn measured(mut group: Group, is_alone: bool) -> Result<Vec<Row>, Fault> {
    let (x, y) = (group.object("x", word(Node(1))), group.object("y", word(Node(1))));
    let (barrier, variable) = (group.barrier("b", &[0]), group.shared_var("v"));
    let (lock, sum) = (group.node_lock("l", 1), group.atomic("s", 1));
    let d = Val::Wid(Wid(Name::literal("d")));
    let v = Val::Int(1);
    // The operations of the bodies, in order.
    let locked = [
        Method::RFAA { x, y, v, d },
        Method::Wait { d },
        Method::Read { x },
        Method::Get { x, y, d },
        Method::Wait { d },
        Method::Read { x },
        Method::Write { x, v },
        Method::Rfence { n: Node(1) },
        Method::Put { x: y, y: x, d: Val::NoWid },
    ];
    let added = [&locked[..7], &[Method::RFAA { x, y, v, d }], &locked[7..], &[Method::Wait { d }, Method::Read { x }]];
    let added = added.concat();
    let (written, seen) = ([Method::Write { x, v }], [Method::Read { x }]);
    let fenced = [Method::Get { x, y, d }, Method::Wait { d }];
    let met = [&fenced[..], &[Method::Read { x }, Method::Write { x, v }, Method::Read { x }]].concat();
    let mut all = group.run(Fabric::Local, |thread| {
        let mut row = |what, methods: &[Method], call: &dyn Fn(&mut Thread<'_>) -> Result<(), Fault>| {
            let mut make = |method: &Method| thread.operation(*method).map(|v| _ = black_box(v));
            let time = match is_alone {
                true => each(|| methods.iter().try_for_each(&mut make))?,
                false => each(|| call(thread))?,
            };
            Ok::<Row, Fault>((what, methods.len(), time))
        };
        Ok(vec![
            row("SharedVar::write", &written, &|thread| variable.write(thread, 1))?,
            row("SharedVar::read", &seen, &|thread| variable.read(thread).map(|_| ()))?,
            row("Barrier::wait, alone", &met, &|thread| barrier.wait(thread))?,
            row("NodeLock::lock, release", &locked, &|thread| lock.lock(thread)?.release())?,
            row("Atomic::fetch_add", &added, &|thread| sum.fetch_add(thread, 1).map(|_| ()))?,
        ])
    })?;
    Ok(all.pop().unwrap_or_default())
}
