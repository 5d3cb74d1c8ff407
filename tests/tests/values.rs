//! If written values depend on read ones, the search does not lose outcomes: statements that change nothing do not
//! change outcomes.

use std::collections::BTreeSet;

use mowgli_core::event::Cell;
use mowgli_core::ids::{Loc, Name, Node};
use mowgli_core::library::Libraries;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::Problem;
use mowgli_core::soundness::client::{Client, Subject, strategy};
use mowgli_core::term::body::{Body, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::catalogue;
use mowgli_rdma::to;
use mowgli_rdma::tso::{self, TSO, Tso};
use mowgli_rdma::wait::{self, WAIT, Wait};
use mowgli_tests::{flowing, scripts};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// Additions to a program that change nothing.
#[derive(Clone, Debug)]
struct Idle {
    /// Fences at the end of each thread.
    fences: Vec<Index>,
    /// Threads that do nothing.
    threads: usize,
    /// True if there is a word that nothing uses.
    word: bool,
}

fn idle() -> impl Strategy<Value = Idle> {
    (prop::collection::vec(any::<Index>(), 3), 0..3usize, any::<bool>()).prop_map(|(fences, threads, word)| Idle {
        fences,
        threads,
        word,
    })
}

/// Returns the results of each thread, and the last values of all words, or `None` if a limit was reached.
fn outcomes(libraries: &Libraries, world: &World, bodies: &[Body], observed: &[Cell]) -> Option<BTreeSet<Outcome>> {
    let programs = scripts(bodies);
    let all = Problem { observed, ..Problem::of(libraries, world, &programs) }.outcomes();
    all.all().ok().map(|found| found.into_keys().collect())
}

/// Checks that a client has the same outcomes with additions that change nothing. `memory` has fences and words.
fn is_unchanged(
    libraries: &Libraries,
    memory: Name,
    (world, client): &(World, Client),
    idle: &Idle,
) -> Result<(), TestCaseError> {
    let programs = flowing(client, |v| v);
    let words = world.objects.iter().filter(|(_, o)| o.library == memory);
    let observed: Vec<Cell> = words.filter_map(|(&loc, o)| Some(Cell { loc, node: o.node? })).collect();
    let Some(before) = outcomes(libraries, world, &programs, &observed) else { return Ok(()) };
    let mut world = world.clone();
    let fences = |n: usize| Body::all((0..n).map(|_| Body::call(memory, "Mfence", [])));
    let fenced = programs.into_iter().zip(&idle.fences);
    let fenced = fenced.map(|(program, n)| program.bind("v", |v| fences(n.index(4)).then(v.into())));
    let mut programs: Vec<Body> = fenced.collect();
    for _ in 0..idle.threads {
        world.threads.push(Node(1));
        programs.push(Body::unit());
    }
    if idle.word {
        world.objects.insert(Loc::new("unused"), Object::new(memory).at(Node(1)));
    }
    let after = outcomes(libraries, &world, &programs, &observed);
    let threads = client.threads.len();
    let after: Option<BTreeSet<Outcome>> = after.map(|all| {
        all.into_iter().map(|o| Outcome { outputs: o.outputs[..threads].to_vec(), finals: o.finals }).collect()
    });
    prop_assert_eq!(after, Some(before), "{:?} with {:?}", client, idle);
    Ok(())
}

fn check(
    name: &str,
    libraries: &Libraries,
    memory: Name,
    subject: &dyn Subject,
    bound: &Bound,
    cases: u32,
    but: impl Fn(Idle) -> Idle,
) {
    let seeds = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let clients = (strategy(subject, bound), idle());
    let result = TestRunner::new_with_rng(config, seeds)
        .run(&clients, |(client, idle)| is_unchanged(libraries, memory, &client, &but(idle)));
    result.unwrap_or_else(|e| panic!("{name}: {e}"));
}

fn bound(threads: usize, nodes: u8, calls: usize) -> Bound {
    Bound { threads, nodes, calls, values: vec![1, 2], ..Bound::default() }
}

#[test]
fn statements_that_change_nothing_change_no_outcome_of_a_model() {
    let tso = Libraries::over(to).with(Tso::PUBLISHED);
    let wait = Libraries::over(to).with(Wait);
    check("RDMA_TSO", &tso, TSO, &tso::PollClients { rmw: true }, &bound(2, 2, 3), 400, |i| i);
    check("RDMA_SC", &mowgli_rdma::sc::libraries(), TSO, &tso::PollClients { rmw: false }, &bound(2, 2, 3), 200, |i| i);
    check("RDMA_WAIT", &wait, WAIT, &wait::WordClients { rmw: true }, &bound(3, 2, 2), 400, |i| i);
}

#[test]
fn statements_that_change_nothing_change_no_outcome_of_a_library() {
    for entry in catalogue() {
        let libraries = entry.specification.clone().with(Wait);
        let unchanged = |idle: Idle| match entry.name {
            // The serving thread of a node depends on the threads that there are.
            "kvstore" => Idle { threads: 0, ..idle },
            _ => idle,
        };
        check(
            entry.name,
            &libraries,
            WAIT,
            &*entry.subject,
            &Bound { members: Some(2), ..bound(2, 2, 2) },
            40,
            unchanged,
        );
    }
}

/// The fixed point of values once lost an outcome of this program. Its whole outcome set is compared here, with more
/// and more fences at its end.
#[test]
fn the_number_of_fences_does_not_matter() {
    let [z, p] = ["z", "p"].map(Loc::new);
    let mut world = World::new(1, &[Node(1), Node(1)]);
    world.objects.insert(z, tso::word(Node(1)));
    world.objects.insert(p, tso::word(Node(1)).init(Val::Int(9)));
    let cells = [p, z].map(|loc| Cell { loc, node: Node(1) });
    for fences in 0..6 {
        let first = Body::all([tso::rcas(p, z, 3, 2), tso::write(z, 3)]);
        let first = first.then(Body::all((0..fences).map(|_| tso::mfence())));
        let second = body! { let a = tso::read(z); tso::Method::write(z, a + 1); a };
        let all = outcomes(&Libraries::over(to).with(Tso::PUBLISHED), &world, &[first, second], &cells).unwrap();
        assert_eq!(all.len(), 11, "with {fences} fences");
    }
}
