//! A result cut off by a limit never counts as an answer, and a specification sees every run that it can distinguish.

use std::cell::Cell as Counter;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::x86_tso::Tso::F;
use crate::x86_tso::{Changed, Counting, LOCK, Lock, MEMORY, Memory, Method as Word, Spin, Tso, read, to, word, write};
use mowgli_core::algebra::Spec;
use mowgli_core::event::{Call, Cell, Event, Shape, Sub, Writes};
use mowgli_core::expr::Expr;
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::{Hints, Libraries, Library};
use mowgli_core::search::enumerate::rechosen;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::search::runs::Stop;
use mowgli_core::search::solver::Flow;
use mowgli_core::simple::{Over, Simple};
use mowgli_core::soundness::client::{MOST, Subject, are_at_most, clients, well_formed, worlds};
use mowgli_core::soundness::properties::{Specified, properties};
use mowgli_core::soundness::verdict::{Question, Verdict, local, run};
use mowgli_core::term::body::{Bodies, Body, bodies, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::{methods, named_by};
use mowgli_core::term::script::Script;
use mowgli_core::term::shape::shapes;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};

fn words(threads: usize) -> World {
    let mut world = World::new(1, &vec![Node(1); threads]);
    world.objects.extend(["x", "y"].map(|x| (Loc::new(x), word())));
    world
}

fn asked<T>(libraries: &Libraries, bodies: &[Body], limits: Limits<'_>, ask: impl FnOnce(&Problem<'_>) -> T) -> T {
    let programs: Vec<Script> = bodies.iter().map(Script::of).collect();
    ask(&Problem { limits, ..Problem::of(libraries, &words(programs.len()), &programs) })
}

fn store_buffering() -> [Body; 2] {
    let [x, y] = ["x", "y"].map(Loc::new);
    [body! { write(x, 1); read(y) }, body! { write(y, 1); read(x) }]
}

/// Wherever the time runs out, the answer is either whole or says that it is not.
#[test]
fn a_late_clock_is_never_an_answer() {
    let libraries = Libraries::over(to).with(Memory);
    let within = |asks: usize| {
        let left = Counter::new(asks);
        let expired = move || left.replace(left.get().saturating_sub(1)) == 0;
        let limits = Limits { expired: &expired, ..Limits::default() };
        asked(&libraries, &store_buffering(), limits, |problem| {
            let outcomes = problem.outcomes().all().map(|all| all.len());
            let results = problem.results().all().map(|all| all.len());
            let none = problem.refutations(&|o| o.outputs == [Val::Int(7), Val::Int(7)], 5);
            [outcomes, results, none.all().map(|all| all.len())]
        })
    };
    assert_eq!(within(0), [Err(Stop::Time), Err(Stop::Time), Err(Stop::Time)]);
    assert_eq!(within(10_000), [Ok(4), Ok(4), Ok(0)]);
    for asks in 0..300 {
        for (answer, whole) in within(asks).into_iter().zip([Ok(4), Ok(4), Ok(0)]) {
            assert!(answer == whole || answer == Err(Stop::Time), "{answer:?} after {asks} asks");
        }
    }
}

#[test]
fn a_late_clock_is_never_a_verdict() {
    let checked = |spin: Spin, asks: usize| {
        let left = AtomicUsize::new(asks);
        let expired = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err();
        let report = run(&Question {
            library: LOCK,
            specification: Libraries::over(to).with(Lock),
            below: Libraries::over(to).with(Memory),
            beside: Libraries::over(to).with(Memory),
            chain: vec![Arc::new(spin)],
            subject: &Lock,
            probes: &[&Counting],
            bound: Bound { threads: 2, nodes: 1, calls: 2, loops: 2, ..Bound::default() },
            asks_progress: false,
            crashing: None,
            log: None,
            expired: &expired,
            progress: &|_, _| {},
        });
        match report.verdict {
            Verdict::Sound => "sound",
            Verdict::Unsound(_) => "unsound",
            Verdict::Undecided(Stop::Time) => "late",
            other => panic!("{other:?} after {asks} asks"),
        }
    };
    for (spin, whole) in [(Spin::Published, "sound"), (Spin::OwnWord, "unsound")] {
        assert_eq!(checked(spin, 0), "late");
        assert_eq!(checked(spin, 1_000_000), whole);
        for asks in (0..400).step_by(7) {
            assert!([whole, "late"].contains(&checked(spin, asks)), "{spin:?} after {asks} asks");
        }
    }
}

#[test]
fn a_late_clock_is_no_property() {
    let specification = Libraries::over(to).with(Lock);
    let bound = Bound { threads: 2, nodes: 1, calls: 2, ..Bound::default() };
    let within = |asks: usize| {
        let left = AtomicUsize::new(asks);
        let expired = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_err();
        let specified = Specified {
            specification: &specification,
            library: LOCK,
            subject: &Lock,
            expired: &expired,
            progress: &|_, _| {},
        };
        let found = properties(&specified, std::slice::from_ref(&bound));
        (found.stop, found.executions, found.monotone.is_none() && found.decomposable.is_none())
    };
    let whole = within(100_000);
    assert_eq!((&whole.0, whole.2), (&None, true));
    assert_eq!(within(0), (Some(Stop::Time), 0, true));
    for asks in (0..2_000).step_by(13) {
        let found = within(asks);
        assert!(found == whole || found.0 == Some(Stop::Time) && found.2, "{found:?} after {asks} asks");
    }
}

/// A clock that is late after so many asks.
fn late_after(asks: usize) -> impl Fn() -> bool {
    let left = Counter::new(asks);
    move || left.replace(left.get().saturating_sub(1)) == 0
}

/// Clients are many long before they are all known, and worlds before the first client.
#[test]
fn clients_are_made_until_the_time_is_up() {
    let two = Bound { threads: 2, nodes: 1, calls: 2, ..Bound::default() };
    let within = |asks| clients(&Lock, &two, &late_after(asks)).map(|all| all.len());
    let all = (1..=2).map(|calls| 2usize.pow(calls)).sum::<usize>();
    assert_eq!(within(10_000), Ok(all + all * all));
    let needed = (0..).find(|&asks| within(asks).is_ok()).unwrap();
    assert!(needed > all * all && (0..needed).all(|asks| within(asks) == Err(Stop::Time)));
    let many = Bound { threads: 40, nodes: 1, calls: 9, ..Bound::default() };
    assert_eq!(clients(&Lock, &many, &late_after(5_000)), Err(Stop::Time));
    let kept = Bound { threads: 1, calls: 18, ..many.clone() };
    assert_eq!(clients(&Lock, &kept, &|| false), Err(Stop::Clients(MOST)));
    let placed = Bound { nodes: 40, ..many.clone() };
    assert_eq!(worlds(&Lock, &placed, &late_after(5_000)), Err(Stop::Time));
    let alternating = Bound { threads: 1, calls: 40, ..many };
    let begun = well_formed(&Lock as &dyn Hints, &Lock, &[alternating], &late_after(5_000));
    assert!(!begun.so_far().0.0.is_empty() && begun.all() == Err(Stop::Time));
    let few = Bound { threads: 1, nodes: 1, calls: 40, ..two };
    assert!(!are_at_most(&Lock, &few, 1_000) && are_at_most(&Lock, &Bound { calls: 3, ..few }, 14));
}

/// An execution of which the choices can be made in very many ways.
#[test]
fn ways_to_choose_are_distinguished_until_the_time_is_up() {
    let x = Loc::new("x");
    let writing = |n: i64| Body::all((1..=n).map(|v| write(x, v)));
    let libraries = Libraries::over(to).with(Memory);
    let execution = |programs: &[Body]| {
        asked(&libraries, programs, Limits::default(), |problem| {
            let mut found = None;
            let _ = problem.explore(&mut |solver| {
                assert!(solver.complete());
                found = solver.execution();
                Flow::Stop
            });
            found.unwrap()
        })
    };
    let ways = |n: i64, most: usize, asks: usize| {
        let execution = execution(&[writing(n)]);
        rechosen(&libraries, MEMORY, &execution, most, &late_after(asks)).map(Iterator::count)
    };
    assert_eq!(ways(4, 1_000, 1_000), Ok(24));
    assert_eq!(ways(4, 23, 1_000), Err(Stop::Choices(23)));
    assert_eq!(ways(4, 1_000, 20), Err(Stop::Time));
    assert_eq!(ways(12, usize::MAX, 1_000), Err(Stop::Time));
}

/// The search does not materialise all conceivable outcomes of many threads before it refutes the first.
#[test]
fn what_is_conceivable_is_refuted_until_the_time_is_up() {
    let x = Loc::new("x");
    let programs: Vec<Body> =
        (0..12).map(|_| body! { let a = read(x); let b = read(x); Expr::tuple([a, b]) }).collect();
    let writing = (1..=4).map(|v| write(x, v));
    let programs = [programs, writing.collect()].concat();
    let expired = late_after(200_000);
    let limits = Limits { expired: &expired, ..Limits::default() };
    let found = asked(&Libraries::over(to).with(Memory), &programs, limits, |p| p.refutations(&|_| false, 1));
    assert_eq!(found.all(), Err(Stop::Time));
}

/// Runs that differ in results share a search, and the check asks about each of them.
#[test]
fn what_is_admitted_may_depend_on_results() {
    let outputs = |admits: fn(&[&Event]) -> bool| -> BTreeSet<Vec<Val>> {
        let libraries = Libraries::over(to).with(Changed { admits, spec: || Memory.spec() });
        let outcomes = asked(&libraries, &store_buffering(), Limits::default(), |p| p.outcomes().all());
        let results = asked(&libraries, &store_buffering(), Limits::default(), |p| p.results().all());
        let keys: BTreeSet<Outcome> = outcomes.unwrap().into_keys().collect();
        assert_eq!(results.unwrap(), keys);
        keys.into_iter().map(|o| o.outputs).collect()
    };
    let [zero, one] = [Val::Int(0), Val::Int(1)];
    let all = outputs(|_| true);
    assert_eq!(all.len(), 4);
    assert_eq!(outputs(|events| events.iter().any(|e| e.ret == Val::Int(1))), &all - &[vec![zero, zero]].into());
    assert_eq!(outputs(|events| events.iter().all(|e| e.ret != Val::Int(1))), [vec![zero, zero]].into());
    assert_eq!(outputs(|events| events.iter().all(|e| e.ret != Val::Int(0))), [vec![one, one]].into());
}

/// With a bound of 0 the search visits no round, so it cannot show that rounds do not matter. In this program the
/// second round of the first thread lets the other one see 1.
#[test]
fn a_bound_of_no_rounds_is_a_limit() {
    let [x, y] = ["x", "y"].map(Loc::new);
    let swapping = body! { loop { let v = read(x); write(y, 1); if (v == 1) { break } } };
    let programs = [swapping, body! { let a = read(y); write(x, 1); a }];
    let within = |rounds| {
        let limits = Limits { rounds, ..Limits::default() };
        asked(&Libraries::over(to).with(Memory), &programs, limits, |p| p.outcomes().all())
    };
    assert!(matches!(within(0), Err(Stop::Loop(_))), "{:?}", within(0));
    assert!(within(1).is_err() || within(1).unwrap().len() == 2);
}

methods! {
    /// Calls that write many different values.
    enum Method of WIDE = "wide" {
        /// Writes it.
        fn go = Go(x: Object);
    }
}

/// A call that writes so many different values, and is implemented by one write.
struct Wide(i64);

impl Library for Wide {
    named_by!(Method);

    fn shapes_by_function(&self, _: &World, event: &Event) -> Vec<Shape> {
        let cell = Cell { loc: event.call.loc(0), node: Node(1) };
        vec![(1..=self.0).map(|v| Sub::write(Tso::W, cell, Writes::Is(Val::Int(v)))).collect()]
    }

    fn spec(&self) -> Spec {
        Spec::default()
    }
}

impl Hints for Wide {}

impl Implementation for Wide {
    fn target(&self) -> Name {
        WIDE
    }

    fn declare(&self, world: &mut World) {
        world.objects.insert(Loc(WIDE.part("word")), word());
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(bodies! { static Method: Go { .. } => { write(Loc(WIDE.part("word")), 1) } })
    }
}

impl Subject for Wide {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let mut world = empty.clone();
        world.objects.insert(Loc::new("x"), Object::new(WIDE));
        vec![world]
    }

    fn calls(&self, _: &World, _: Tid, _: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        vec![Call::new(WIDE, "Go", &[Loc::new("x").into()])]
    }
}

/// A set of values has no bound.
#[test]
fn many_values_are_searched_like_few() {
    let verdict = |values: i64| {
        let report = local(&Question {
            library: WIDE,
            specification: Libraries::over(to).with(Wide(values)),
            below: Libraries::over(to).with(Memory),
            beside: Libraries::over(to),
            chain: vec![Arc::new(Wide(values))],
            subject: &Wide(values),
            probes: &[],
            bound: Bound { threads: 1, nodes: 1, calls: 1, ..Bound::default() },
            asks_progress: false,
            crashing: None,
            log: None,
            expired: &|| false,
            progress: &|_, _| {},
        });
        report.verdict
    };
    assert!(matches!(verdict(3), Verdict::Sound));
    assert!(matches!(verdict(200), Verdict::Sound));
}

methods! {
    /// Calls of a bell.
    enum Bell of BELL = "bell" {
        /// Rings it so many times.
        fn ring = Ring(x: Object, n: Value);
    }
}

/// If another client is not locally sound, the check keeps only some of the clients that may have a wrong outcome,
/// because there may be very many. It then does not report that none of them has one.
#[test]
fn too_many_clients_to_be_probed_are_no_verdict() {
    let verdict = |values: i64| {
        let bell = Simple::<Bell>::new(shapes! { Bell: Ring { .. } => { F } }, Spec::default);
        let bodies = bodies! { Bell: Ring { x, .. } => { Word::write(x.part("word", []), 1) } };
        let a_write_for_a_fence = Over::<Bell>::terms(bodies).part("word", word());
        let report = run(&Question {
            library: BELL,
            specification: Libraries::over(to).with(bell),
            below: Libraries::over(to).with(Memory),
            beside: Libraries::over(to),
            chain: vec![Arc::new(a_write_for_a_fence)],
            subject: &bell,
            probes: &[],
            bound: Bound { values: (1..=values).collect(), ..Bound::default() },
            asks_progress: false,
            crashing: None,
            log: None,
            expired: &|| false,
            progress: &|_, _| {},
        });
        assert!(report.violation.is_some());
        report.verdict
    };
    assert!(matches!(verdict(4), Verdict::NotLocallySound));
    assert!(matches!(verdict(100), Verdict::Undecided(Stop::Clients(MOST))));
}
