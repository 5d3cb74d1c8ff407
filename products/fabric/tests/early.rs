//! Random programs in which some threads stop early, as Rust code and as litmus tests. Both have the same endings, and
//! the same stuck threads.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use fastrand::Rng;
use itertools::Itertools;
use mowgli_check::guard::Panic;
use mowgli_check::litmus::parse::parse;
use mowgli_check::litmus::run::solve;
use mowgli_core::event::Call;
use mowgli_core::ids::Loc;
use mowgli_core::search::problem::Limits;
use mowgli_fabric::{Barrier, Fate, Fault, Group, SharedVar, Thread, Word};
use mowgli_libraries::slock::SLOCK;

/// A step of a thread.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    /// `x := 1`, of the word of the thread's node.
    Write,
    /// A read of that word.
    Read,
    /// A put of that word to the other node.
    Put,
    /// A write of the shared variable, and a broadcast.
    Send,
    /// A read of the shared variable.
    Look,
    /// The thread waits until its word has another value than 0.
    Await,
    Barrier,
    Acquire,
    Release,
    /// The thread returns, or panics, if the last value that it read is this.
    Stop(i64),
}

use Step::{Acquire, Await, Look, Put, Read, Release, Send, Stop, Write};

/// Makes a random thread. It takes the lock only if it does not hold it, and stops only after a read.
fn thread(random: &mut Rng) -> Vec<Step> {
    let (mut steps, mut holds) = (Vec::new(), false);
    for _ in 0..random.usize(2..5) {
        let step = match random.u8(0..8) {
            0 => Write,
            1 => Put,
            2 => Send,
            3 => Await,
            4 => Step::Barrier,
            5 if holds => Release,
            5 => Acquire,
            6 => Read,
            _ => Look,
        };
        holds = step == Acquire || holds && step != Release;
        steps.push(step);
        if matches!(step, Read | Look) && random.bool() {
            steps.push(Stop(random.i64(0..2)));
        }
    }
    steps.extend(holds.then_some(Release));
    steps
}

/// Returns the number of values that a thread reads.
fn reads(steps: &[Step]) -> usize {
    steps.iter().filter(|step| matches!(step, Read | Look)).count()
}

/// Prints the program as a litmus test. A stop becomes a condition, so that the thread continues if the value is
/// another one.
fn litmus(threads: &[Vec<Step>]) -> String {
    let column = |(t, steps): (usize, &Vec<Step>)| {
        let (own, other) = (["x", "y"][t], ["y", "x"][t]);
        let register = |n: usize| format!("r{t}_{n}");
        let (mut column, mut known, mut open) = (vec![format!("P{}@{}", t + 1, t + 1)], 0, 0);
        for step in steps {
            column.extend(match step {
                Write => vec![format!("{own} := 1")],
                Put => vec![format!("put({other}, {own})")],
                Send => vec!["s.write(1)".to_owned(), format!("s.bcast({{{}}})", 2 - t)],
                Await => vec![format!("await {own} != 0")],
                Step::Barrier => vec!["bar(b)".to_owned()],
                Acquire => vec!["l.acq".to_owned()],
                Release => vec!["l.rel".to_owned()],
                Read | Look => {
                    known += 1;
                    let from = if *step == Read { own } else { "s.read" };
                    vec![format!("{} := {from}", register(known))]
                }
                Stop(value) => {
                    open += 1;
                    vec![format!("if {} != {value} {{", register(known))]
                }
            });
        }
        column.extend((0..open).map(|_| "}".to_owned()));
        column
    };
    let columns = threads.iter().enumerate().map(column).collect_vec();
    let rows = columns.iter().map(Vec::len).max().unwrap();
    let mut text = "RDMA_WAIT t\n{ x@1 = 0; y@2 = 0; svar s = 0; strong lock l@1; barrier b = {P1, P2}; }\n".to_owned();
    for row in 0..rows {
        let cells = columns.iter().map(|column| column.get(row).map_or("", String::as_str)).join(" | ");
        let _ = writeln!(text, " {cells} ;");
    }
    text
}

/// The objects of a program.
#[derive(Clone, Copy)]
struct Objects {
    words: [Word; 2],
    variable: SharedVar,
    barrier: Barrier,
    lock: Loc,
}

/// Runs the steps of a thread, and returns the values that it has read.
fn run(thread: &mut Thread<'_>, steps: &[Step], objects: Objects, panics: bool) -> Result<Vec<i64>, Fault> {
    let own = thread.id().index();
    let Objects { words, variable, barrier, lock } = objects;
    let mut seen = Vec::new();
    let call = |thread: &mut Thread<'_>, method| thread.call(&Call::new(SLOCK, method, &[lock.into()])).map(drop);
    for step in steps {
        match *step {
            Write => words[own].write(thread, 1)?,
            Read => seen.push(words[own].read(thread)?),
            Put => drop(words[1 - own].put(thread, words[own])?),
            Send => {
                variable.write(thread, 1)?;
                variable.broadcast(thread)?;
            }
            Look => seen.push(variable.read(thread)?),
            Await => thread.until(|thread| Ok((words[own].read(thread)? != 0).then_some(())))?,
            Step::Barrier => barrier.wait(thread)?,
            Acquire => call(thread, "Acq")?,
            Release => call(thread, "Rel")?,
            Stop(value) if seen.last() == Some(&value) => {
                assert!(!panics, "{seen:?}");
                return Ok(seen);
            }
            Stop(_) => {}
        }
    }
    Ok(seen)
}

/// The values that each thread has read at its end, with 0 for those behind its stop; `None` for a thread that waits
/// for ever.
type Ends = BTreeSet<Vec<Option<Vec<i64>>>>;

/// Returns the endings and the stuck executions of the litmus test.
fn by_litmus(text: &str, threads: &[Vec<Step>]) -> [Ends; 2] {
    let test = parse("t", text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let answer = solve(&test, &[], Limits::default());
    assert_eq!(answer.stop(), None, "{text}");
    let names = test.shown.iter().map(|(name, _)| name.to_string()).collect_vec();
    let read = |t: usize, shown: &[mowgli_core::value::Val]| {
        let value = |n: usize| {
            let at = names.iter().position(|name| *name == format!("r{t}_{n}")).expect("each register is shown");
            shown[at].int().expect("a number")
        };
        (1..=reads(&threads[t])).map(value).collect_vec()
    };
    let ends = answer.outcomes.keys().map(|shown| (0..2).map(|t| Some(read(t, shown))).collect()).collect();
    let fate = |t: usize, wait: &Option<usize>, shown| wait.is_none().then(|| read(t, shown));
    let stuck = answer.kinds().keys().map(|kind| {
        let fates = kind.waits.iter().enumerate();
        fates.map(|(t, wait)| fate(t, wait, &kind.shown)).collect()
    });
    [ends, stuck.collect()]
}

/// Returns the endings and the stuck executions of the Rust code.
fn by_exploring(threads: &[Vec<Step>], panics: bool) -> [Ends; 2] {
    let mut group = Group::new(&[1, 2]);
    let objects = Objects {
        words: [group.word("x", 1, 0), group.word("y", 2, 0)],
        variable: group.shared_var("s"),
        barrier: group.barrier("b", &[0, 1]),
        lock: group.object("l", mowgli_core::world::Object::new(SLOCK).at(mowgli_core::ids::Node(1))),
    };
    let steps = threads.to_vec();
    let explored = group.explore(move |thread| run(thread, &steps[thread.id().index()], objects, panics)).unwrap();
    assert_eq!(explored.stop, None, "{threads:?}");
    let read = |t: usize, result: &Result<Vec<i64>, Panic>| {
        let mut seen = result.clone().unwrap_or_else(|Panic { message, .. }| {
            let list = &message[message.rfind('[').unwrap() + 1..message.rfind(']').unwrap()];
            list.split(", ").map(|v| v.parse().unwrap()).collect()
        });
        seen.resize(reads(&threads[t]), 0);
        seen
    };
    let ends = explored.endings.iter().map(|e| e.results.iter().enumerate().map(|(t, r)| Some(read(t, r))).collect());
    let fate = |(t, fate): (usize, &Fate<Vec<i64>>)| match fate {
        Fate::Ended(result) => Some(read(t, result)),
        Fate::Waits(_) => None,
    };
    let stuck = explored.stuck.iter().map(|waiting| waiting.threads.iter().enumerate().map(fate).collect());
    [ends.collect(), stuck.collect()]
}

/// Half of the programs panic where they stop, and half return.
#[test]
fn threads_that_stop_early_have_the_endings_of_their_litmus_test() {
    let is_stuck = |seed: &u64| {
        let mut random = Rng::with_seed(*seed);
        let threads = [thread(&mut random), thread(&mut random)];
        let text = litmus(&threads);
        let expected = by_litmus(&text, &threads);
        assert_eq!(by_exploring(&threads, seed.is_multiple_of(2)), expected, "seed {seed}\n{text}");
        !expected[1].is_empty()
    };
    assert!((0..200).filter(is_stuck).count() > 50);
}
