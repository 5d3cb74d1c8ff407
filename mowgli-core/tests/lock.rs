//! The framework on x86-TSO: outcomes, and a lock with proofs that are and are not there.

use std::sync::Arc;

use crate::x86_tso::{Counting, LOCK, Lock, Memory, Spin, fence, read, to, word, write};
use mowgli_core::expr::Expr;
use mowgli_core::ids::{Loc, Node};
use mowgli_core::library::Libraries;
use mowgli_core::search::problem::Problem;
use mowgli_core::soundness::local::Reason;
use mowgli_core::soundness::verdict::{Question, Report, Verdict, run};
use mowgli_core::term::body::{Body, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::script::Script;
use mowgli_core::world::World;

fn results<const N: usize>(bodies: [Body; N]) -> Vec<String> {
    let programs = bodies.map(Script::from);
    let mut world = World::new(1, &vec![Node(1); programs.len()]);
    world.objects.extend(["x", "y"].map(|x| (Loc::new(x), word())));
    let libraries = Libraries::over(to).with(Memory);
    let problem = Problem::of(&libraries, &world, &programs);
    let all = problem.outcomes();
    all.all().expect("nothing stops it").keys().map(|o| format!("{:?}", o.outputs)).collect()
}

fn store_buffering(between: &Body) -> Vec<String> {
    let (x, y) = (Loc::new("x"), Loc::new("y"));
    let thread = |mine: Loc, other: Loc, between: Body| body! { write(mine, 1); between; read(other) };
    results([thread(x, y, between.clone()), thread(y, x, between.clone())])
}

#[test]
fn store_buffering_needs_fences() {
    assert_eq!(store_buffering(&Body::unit()), ["[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]"]);
    assert_eq!(store_buffering(&fence()), ["[0, 1]", "[1, 0]", "[1, 1]"]);
}

#[test]
fn message_passing_works() {
    let (x, y) = (Loc::new("x"), Loc::new("y"));
    let sender = body! { write(x, 1); write(y, 1); Body::unit() };
    let receiver = body! { let a = read(y); let b = read(x); Expr::tuple([a, b]) };
    assert_eq!(results([sender, receiver]), ["[(), (0, 0)]", "[(), (0, 1)]", "[(), (1, 1)]"]);
}

fn checked(spin: Spin, calls: usize) -> Report {
    run(&Question {
        library: LOCK,
        specification: Libraries::over(to).with(Lock),
        below: Libraries::over(to).with(Memory),
        beside: Libraries::over(to).with(Memory),
        chain: vec![Arc::new(spin)],
        subject: &Lock,
        probes: &[&Counting],
        bound: Bound { threads: 2, nodes: 1, calls, objects: 1, loops: 2, values: vec![1], ..Bound::default() },
        asks_progress: false,
        crashing: None,
        log: None,
        expired: &|| false,
        progress: &|_, _| {},
    })
}

fn words(report: &Report) -> Vec<String> {
    let all = report.concretisation.iter();
    all.map(|((method, stamp), words)| format!("{method} {stamp}: {words:?}")).collect()
}

#[test]
fn the_lock_is_sound() {
    let report = checked(Spin::Published, 3);
    assert!(matches!(report.verdict, Verdict::Sound), "{:?}", report.verdict);
    assert_eq!(words(&report), [r#"Acquire U: {"U of the CAS"}"#, r#"Release W: {"W of the Write"}"#]);
}

#[test]
fn a_lock_that_does_not_swap_loses_an_increment() {
    let report = checked(Spin::ReadThenWrite, 2);
    let Verdict::Unsound(counterexample) = report.verdict else { panic!("{:?}", report.verdict) };
    assert_eq!(counterexample.client.threads.len(), 2);
    assert!(matches!(counterexample.refutations.so_far(), (found, None) if !found.is_empty()));
}

/// The last write of the release is the obvious subevent for its stamp. Where another thread acquires the lock
/// afterwards it is the wrong one, as it need not be seen by then.
#[test]
fn only_another_g_than_the_obvious_one_proves_it() {
    let report = checked(Spin::NoteAfterRelease, 2);
    assert!(matches!(report.verdict, Verdict::Sound), "{:?}", report.verdict);
    let expected = [r#"Acquire U: {"U of the CAS"}"#, r#"Release W: {"W of the first Write", "W of the last Write"}"#];
    assert_eq!(words(&report), expected);
}

#[test]
fn no_g_proves_a_lock_of_ones_own() {
    let report = checked(Spin::OwnWord, 2);
    assert!(matches!(report.verdict, Verdict::Unsound(_)), "{:?}", report.verdict);
    let (_, client, violation) = report.violation.expect("no g");
    assert!(matches!(violation.reason, Reason::NoChoice { .. }), "{}", violation.reason);
    assert_eq!(client.len(), 4, "two critical sections: {client:?}");
}
