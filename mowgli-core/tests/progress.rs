//! Progress checks distinguish endless executions from finite ones, and a deadlock of the client itself is not a bug.

use std::sync::Arc;

use itertools::Itertools;

use crate::x86_tso::{Changed, LOCK, Lock, Method as Word, Section, Spin, read, to, word, write};
use mowgli_core::algebra::{Spec, spec};
use mowgli_core::event::{Call, Cell};
use mowgli_core::expr::{Expr, all_threads, me};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::{Hints, Libraries};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::Problem;
use mowgli_core::soundness::client::{Client, Subject, well_formed};
use mowgli_core::soundness::progress::Progress;
use mowgli_core::soundness::verdict::{Question, Report, Verdict, local};
use mowgli_core::term::body::{Bodies, Body, bodies, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use proptest::prelude::*;

/// Memory whose writes are seen by every thread at once: all of rf is in so.
const COHERENT: Changed = Changed { admits: |_| true, spec: coherent };

fn coherent() -> Spec {
    spec! {
        let rf, mo, rb = coherence;
        so = rf | mo | rb;
    }
}

/// Clients that take one of two locks inside the other.
struct TwoLocks;

const NAMES: [&str; 2] = ["a", "b"];

impl Subject for TwoLocks {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let mut world = empty.clone();
        world.objects.extend(NAMES.map(|l| (Loc::new(l), Object::new(LOCK))));
        vec![world]
    }

    fn calls(&self, _: &World, _: Tid, _: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let of = |l: &str| ["Acquire", "Release"].map(|m| Call::new(LOCK, m, &[Loc::new(l).into()]));
        NAMES.iter().flat_map(|l| of(l)).collect()
    }
}

fn checked(subject: &dyn Subject, implementation: impl Implementation + 'static, calls: usize) -> Report {
    local(&Question {
        library: LOCK,
        specification: Libraries::over(to).with(Lock),
        below: Libraries::over(to).with(COHERENT),
        beside: Libraries::over(to),
        chain: vec![Arc::new(implementation)],
        subject,
        probes: &[],
        bound: Bound { threads: 2, nodes: 1, calls, objects: 1, loops: 2, values: vec![1], ..Bound::default() },
        asks_progress: true,
        crashing: None,
        log: None,
        expired: &|| false,
        progress: &|_, _| {},
    })
}

/// A lock over two flags: a thread that wants it raises its flag, and waits until the other flag is down. Both may wait
/// for ever.
#[derive(Clone, Copy)]
enum Flags {
    /// As described.
    Waiting,
    /// A release leaves the flag up.
    NeverLowered,
    /// A waiting thread writes, and never reads.
    Blind,
}

fn flag(l: Loc, t: Tid) -> Loc {
    l.part(format!("flag_{t}"))
}

impl Implementation for Flags {
    fn target(&self) -> Name {
        LOCK
    }

    fn declare(&self, world: &mut World) {
        let locks: Vec<Loc> = world.objects.iter().filter(|(_, o)| o.library == LOCK).map(|(&l, _)| l).collect();
        for l in locks {
            world.objects.extend(world.tids().map(|t| (flag(l, t), word())).collect::<Vec<_>>());
        }
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(match self {
            Self::Waiting => bodies! { static Section:
                Acquire { l } => { raise_and_wait(l) }
                Release { l } => { Word::write(own(l), 0) }
            },
            Self::NeverLowered => bodies! { static Section:
                Acquire { l } => { raise_and_wait(l) }
                Release { l } => { Word::write(own(l), 1) }
            },
            Self::Blind => bodies! { static Section:
                Acquire { l } => { Word::read(own(l)); loop { Word::write(own(l), 1) } }
                Release { l } => { Word::write(own(l), 0) }
            },
        })
    }
}

/// The flag of the calling thread.
fn own(l: Expr) -> Expr {
    l.part("flag", [me()])
}

fn raise_and_wait(l: Expr) -> Body {
    body! {
        Word::write(own(l), 1);
        crate::x86_tso::fence();
        for t in (all_threads()) {
            if ((t) != (me())) { loop { let v = Word::read(l.part("flag", [t])); if (v == 0) { break } } }
        }
    }
}

#[test]
fn a_lock_that_ends() {
    let report = checked(&Lock, Spin::Published, 2);
    assert!(matches!(report.progress, Progress::Ends), "{:?}", report.progress);
}

#[test]
fn two_that_wait_for_each_other_are_stuck() {
    let report = checked(&Lock, Flags::Waiting, 2);
    let Progress::Stuck(_, client, stuck) = report.progress else { panic!("{:?}", report.progress) };
    assert_eq!(client.len(), 4, "one section each: {client:?}");
    for t in [1, 2].map(Tid) {
        assert_eq!(stuck.pending(t).map(|call| call.method.text()), Some("Acquire"));
        assert_eq!(stuck.reads(t).iter().map(|(_, v)| *v).collect::<Vec<_>>(), [Val::Int(1)]);
    }
}

#[test]
fn a_lock_that_is_never_released_blocks() {
    let report = checked(&Lock, Flags::NeverLowered, 2);
    assert!(matches!(report.verdict, Verdict::Sound), "{:?}: no execution of it ends", report.verdict);
    let Progress::Blocks(_, client, Some(stuck)) = report.progress else { panic!("{:?}", report.progress) };
    assert_eq!(client.len(), 4, "{client:?}");
    let waits = [1, 2].map(Tid).into_iter().filter(|&t| stuck.pending(t).is_some()).count();
    assert!(waits >= 1);
}

#[test]
fn a_thread_that_looks_at_nothing_goes_round_for_ever() {
    let report = checked(&Lock, Flags::Blind, 2);
    let Progress::Blocks(_, client, Some(stuck)) = report.progress else { panic!("{:?}", report.progress) };
    assert_eq!(client.len(), 2, "{client:?}");
    assert_eq!(stuck.pending(Tid(1)).map(|call| call.method.text()), Some("Acquire"));
}

/// Two threads that take two locks in opposite orders can wait for each other: the specification has no execution that begins
/// so, and so it is not the lock's fault. It would be found if that were not asked.
#[test]
fn a_deadlock_by_the_specification_is_no_bug() {
    let report = checked(&TwoLocks, Spin::Published, 4);
    assert!(matches!(report.progress, Progress::Ends), "{:?}", report.progress);
    let opposite = |client: &Client| {
        let of = |t: usize, i: usize| (client.threads[t][i].loc(0), client.threads[t][i].method.text());
        let [a, b] = NAMES.map(Loc::new);
        client.threads.len() == 2
            && client.len() == 8
            && [of(0, 0), of(0, 1), of(1, 0), of(1, 1)]
                == [(a, "Acquire"), (b, "Acquire"), (b, "Acquire"), (a, "Acquire")]
    };
    let bound = Bound { threads: 2, nodes: 1, calls: 4, ..Bound::default() };
    assert!(
        well_formed(&Lock as &dyn Hints, &TwoLocks, &[bound], &|| false)
            .all()
            .unwrap()
            .0
            .iter()
            .any(|(_, c)| opposite(c))
    );
}

/// A statement of a random thread.
#[derive(Clone, Copy, Debug)]
enum Statement {
    Write(usize, i64),
    Await(usize, i64),
    Fence,
}

const WORDS: [&str; 2] = ["x", "y"];

fn made(statements: &[Statement]) -> Body {
    Body::all(statements.iter().map(|s| match *s {
        Statement::Write(x, v) => write(Loc::new(WORDS[x]), v),
        Statement::Await(x, v) => {
            body! { loop { let seen = read(Loc::new(WORDS[x])); if (seen == v) { break } } }
        }
        Statement::Fence => crate::x86_tso::fence(),
    }))
}

fn asked<T>(bodies: &[Body], ask: impl FnOnce(&Problem<'_>) -> T) -> T {
    let programs: Vec<Script> = bodies.iter().map(Script::of).collect();
    let mut world = World::new(1, &vec![Node(1); programs.len()]);
    world.objects.extend(WORDS.map(|x| (Loc::new(x), word())));
    let observed: Vec<Cell> = WORDS.map(|x| Cell { loc: Loc::new(x), node: Node(1) }).to_vec();
    let libraries = Libraries::over(to).with(COHERENT);
    ask(&Problem { observed: &observed, ..Problem::of(&libraries, &world, &programs) })
}

/// The plain twin: threads that never go on are cut off at one of their awaits, where they read what is no good and last.
fn can_be_stuck(threads: &[Vec<Statement>]) -> bool {
    let cuts = threads.iter().map(|statements| {
        let awaits = (0..statements.len()).filter(|&i| matches!(statements[i], Statement::Await(..)));
        awaits.map(Some).chain([None]).collect::<Vec<_>>()
    });
    cuts.multi_cartesian_product().any(|cut| {
        let programs = threads.iter().zip(&cut).map(|(statements, cut)| match cut.map(|i| (i, statements[i])) {
            Some((i, Statement::Await(x, _))) => made(&statements[..i]).then(read(Loc::new(WORDS[x]))),
            _ => made(statements),
        });
        let programs: Vec<Body> = programs.collect();
        let is_stuck = |outcome: &Outcome| {
            let mut waiting = threads.iter().zip(&cut).zip(&outcome.outputs);
            waiting.all(|((statements, cut), seen)| match cut.map(|i| statements[i]) {
                Some(Statement::Await(x, v)) => *seen != Val::Int(v) && *seen == outcome.finals[x],
                _ => true,
            })
        };
        let found = asked(&programs, |problem| problem.outcomes().all().expect("no limit"));
        cut.iter().any(Option::is_some) && found.keys().any(is_stuck)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Whether an execution is stuck is the same by the search and by its plain twin, also where every thread can end; so are
    /// the outcomes of those that end.
    #[test]
    fn what_is_stuck_is_found(threads in proptest::collection::vec(proptest::collection::vec(statement(), 1..4), 2..4)) {
        let programs: Vec<Body> = threads.iter().map(|statements| made(statements)).collect();
        let found = asked(&programs, |problem| {
            let runs = problem.runs_and_idle();
            problem.stuck(&runs, &mut |_| true).all().expect("no limit").is_some()
        });
        prop_assert_eq!(found, can_be_stuck(&threads));
        let [guessed, flowing] = asked(&programs, |problem| {
            let flowing = problem.outcomes_by_flow().expect("no value comes out of nowhere");
            [problem.outcomes_by_guessing(), flowing].map(|found| found.all().expect("no limit"))
        });
        prop_assert_eq!(guessed, flowing);
    }
}

fn statement() -> impl Strategy<Value = Statement> {
    let word = 0..WORDS.len();
    prop_oneof![
        3 => (word.clone(), 1..3i64).prop_map(|(x, v)| Statement::Write(x, v)),
        3 => (word, 0..3i64).prop_map(|(x, v)| Statement::Await(x, v)),
        1 => Just(Statement::Fence),
    ]
}

/// A write of a waiting thread, which another thread reads, justifies the write of that thread.
#[test]
fn threads_that_wait_justify_values() {
    let threads = [[Statement::Write(0, 2), Statement::Await(0, 1)], [Statement::Await(0, 2), Statement::Write(0, 1)]];
    let programs = threads.map(|statements| made(&statements));
    let [guessed, flowing, all] = asked(&programs, |problem| {
        let flowing = problem.outcomes_by_flow().expect("no value comes out of nowhere");
        [problem.outcomes_by_guessing(), flowing, problem.outcomes()].map(|found| found.all().expect("no limit"))
    });
    assert_eq!(flowing.len(), 1, "both end");
    assert_eq!([&guessed, &all], [&flowing; 2]);
}
