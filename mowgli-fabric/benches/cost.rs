//! The cost of interpreting bodies. The bench times calls over shared memory of one process, per operation of
//! RDMA-WAIT-RMW that they make, beside the same operations alone.

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

fn main() -> Result<(), Fault> {
    let mut group = Group::new(&[1]);
    let (x, y) = (group.object("x", word(Node(1))), group.object("y", word(Node(1))));
    let (barrier, variable) = (group.barrier("b", &[0]), group.shared_var("v"));
    let (lock, sum) = (group.node_lock("l", 1), group.atomic("s", 1));
    let d = Val::Wid(Wid(Name::literal("d")));
    let v = Val::Int(1);
    let raw = |thread: &mut Thread<'_>, methods: &[Method]| {
        methods.iter().try_for_each(|&method| thread.operation(method).map(|v| _ = black_box(v)))
    };
    group.run(Fabric::Local, |thread| {
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
        let added =
            [&locked[..7], &[Method::RFAA { x, y, v, d }], &locked[7..], &[Method::Wait { d }, Method::Read { x }]];
        let added = added.concat();
        let (written, seen) = ([Method::Write { x, v }], [Method::Read { x }]);
        let fenced = [Method::Get { x, y, d }, Method::Wait { d }];
        let met = [&fenced[..], &[Method::Read { x }, Method::Write { x, v }, Method::Read { x }]].concat();
        println!("{:<24} {:>10} {:>10} {:>10} {:>12}", "call", "operations", "raw ns", "call ns", "ns/operation");
        let mut row = |what: &str, methods: &[Method], call: &dyn Fn(&mut Thread<'_>) -> Result<(), Fault>| {
            let alone = each(|| raw(thread, methods))?;
            let whole = each(|| call(thread))?;
            let own = whole.saturating_sub(alone).as_nanos() / methods.len() as u128;
            let (alone, whole) = (alone.as_nanos(), whole.as_nanos());
            println!("{what:<24} {:>10} {alone:>10} {whole:>10} {own:>12}", methods.len());
            Ok::<(), Fault>(())
        };
        row("SharedVar::write", &written, &|thread| variable.write(thread, 1))?;
        row("SharedVar::read", &seen, &|thread| variable.read(thread).map(|_| ()))?;
        row("Barrier::wait, alone", &met, &|thread| barrier.wait(thread))?;
        row("NodeLock::lock, release", &locked, &|thread| lock.lock(thread)?.release())?;
        row("Atomic::fetch_add", &added, &|thread| sum.fetch_add(thread, 1).map(|_| ()))
    })?;
    Ok(())
}
