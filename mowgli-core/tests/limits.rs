//! What a limit cuts short is never taken for an answer, and what a specification looks at is looked at in every run.

#[allow(dead_code, reason = "each test uses a part of it")]
mod x86_tso;

use std::cell::Cell as Counter;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mowgli_core::algebra::Spec;
use mowgli_core::event::{Call, Cell, Event, Shape};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::implementation::Implementations;
use mowgli_core::library::{Libraries, Library};
use mowgli_core::outcome::{Limits, Outcome, Problem};
use mowgli_core::program::{Prog, prog};
use mowgli_core::runs::Stop;
use mowgli_core::soundness::client::Bound;
use mowgli_core::soundness::properties::{Specified, properties};
use mowgli_core::soundness::verdict::{Question, Verdict, run};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use x86_tso::{Counting, LOCK, Lock, MEMORY, Memory, Spin, Tso, read, word, write};

fn words(threads: usize) -> World {
    let mut world = World::new(1, &vec![Node(1); threads]);
    world.objects.extend(["x", "y"].map(|x| (Loc::new(x), word())));
    world
}

fn asked<T>(
    libraries: &Libraries<Tso>,
    programs: &[Prog],
    limits: Limits<'_>,
    ask: impl FnOnce(&Problem<'_, Tso>) -> T,
) -> T {
    let implementations = &Implementations::new();
    ask(&Problem { libraries, implementations, world: &words(programs.len()), programs, observed: &[], limits })
}

fn store_buffering() -> [Prog; 2] {
    let [x, y] = ["x", "y"].map(Loc::new);
    [prog! { write(x, 1); read(y) }, prog! { write(y, 1); read(x) }]
}

/// Wherever the time runs out, the answer is either whole or says that it is not.
#[test]
fn a_late_clock_is_never_an_answer() {
    let libraries = Libraries::default().with(Memory);
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
            specification: Libraries::default().with(Lock),
            below: Libraries::default().with(Memory),
            beside: Libraries::default().with(Memory),
            chain: vec![Arc::new(spin)],
            subject: &Lock,
            probes: &[&Counting],
            bound: Bound { threads: 2, nodes: 1, calls: 2, loops: 2, ..Bound::default() },
            asks_progress: false,
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
    let specification = Libraries::default().with(Lock);
    let bound = Bound { threads: 2, nodes: 1, calls: 2, ..Bound::default() };
    let specified = Specified {
        specification: &specification,
        library: LOCK,
        subject: &Lock,
        expired: &|| true,
        progress: &|_, _| {},
    };
    assert_eq!(properties(&specified, &[bound]).stop, Some(Stop::Time));
}

/// Memory of which some reads are not admitted, by what they return.
struct Reading(fn(&[&Event]) -> bool);

impl Library<Tso> for Reading {
    fn name(&self) -> Name {
        MEMORY
    }
    fn loc(&self, call: &Call) -> Vec<Loc> {
        Memory.loc(call)
    }
    fn returns(&self, world: &World, thread: Tid, call: &Call, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Val> {
        Memory.returns(world, thread, call, cells)
    }
    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape<Tso>> {
        Memory.shapes(world, event)
    }
    fn admits(&self, _: &World, events: &[&Event]) -> bool {
        (self.0)(events)
    }
    fn spec(&self) -> Spec<Tso> {
        Memory.spec()
    }
}

/// Runs that differ in results share a search, and each of them is asked about.
#[test]
fn what_is_admitted_may_depend_on_results() {
    let outputs = |admits: fn(&[&Event]) -> bool| -> BTreeSet<Vec<Val>> {
        let libraries = Libraries::default().with(Reading(admits));
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

/// Where no round is looked at, nothing shows that rounds do not matter: the second round of the first thread lets the
/// other one see 1.
#[test]
fn a_bound_of_no_rounds_is_a_limit() {
    let [x, y] = ["x", "y"].map(Loc::new);
    let swapping = prog! { let v = read(x); write(y, 1); Prog::break_if(v == Val::Int(1)) }.repeat();
    let programs = [swapping, prog! { let a = read(y); write(x, 1); Prog::Val(a) }];
    let within = |rounds| {
        let limits = Limits { rounds, ..Limits::default() };
        asked(&Libraries::default().with(Memory), &programs, limits, |p| p.outcomes().all())
    };
    assert!(matches!(within(0), Err(Stop::Loop(_))), "{:?}", within(0));
    assert!(within(1).is_err() || within(1).unwrap().len() == 2);
}
