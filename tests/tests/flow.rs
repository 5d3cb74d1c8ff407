//! Values that flow and values that are guessed. One search lets threads continue only with values that exist, and its
//! plain twin tries every value. Both have the same outcomes.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use itertools::Itertools as _;
use mowgli_core::algebra::{Spec, spec};
use mowgli_core::event::Cell;
use mowgli_core::event::{Call, Event};
use mowgli_core::expr::{Expr, ret};
use mowgli_core::ids::{Loc, Name, Node, Tid, Wid};
use mowgli_core::library::Libraries;
use mowgli_core::library::{CellValues, Hints, Library};
use mowgli_core::methods;
use mowgli_core::search::automorphism::Automorphism;
use mowgli_core::search::flow;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::strategy;
use mowgli_core::term::body::{Bodies, Body, bodies, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::{Implementation, Implementations, add_parts};
use mowgli_core::term::method::named_by;
use mowgli_core::term::shape::{Shapes, shapes};
use mowgli_core::value::Val;
use mowgli_core::world::Object;
use mowgli_core::world::World;
use mowgli_libraries::bal::{BAL, Bal, BalOverSv, bar, barrier};
use mowgli_libraries::msw::Msw;
use mowgli_libraries::rbl::Rbl;
use mowgli_libraries::sc_rmw::ScRmw;
use mowgli_libraries::sv::Sv;
use mowgli_libraries::trylock::{self, TRYLOCK, Trylock};
use mowgli_rdma::RdmaStamp::{aCR, aCW};
use mowgli_rdma::to;
use mowgli_rdma::tso::{self, Tso};
use mowgli_rdma::wait::{self, Wait, WordClients};
use mowgli_tests::{flowing, scripts};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn problem<'a>(libraries: &'a Libraries, world: &'a World, bodies: &[Body], observed: &'a [Cell]) -> Problem<'a> {
    // The code lives as long as the test, so that a problem can be made in one expression.
    within(1, Problem { observed, ..Problem::of(libraries, world, scripts(bodies).leak()) })
}

/// Returns the same problem with so many iterations of a loop.
fn within(rounds: usize, problem: Problem<'_>) -> Problem<'_> {
    let limits = Limits { rounds, ..problem.limits };
    Problem { limits, ..problem }
}

/// Checks that both searches have the same outcomes, with as many classes of each. This holds within the bound on
/// iterations, or altogether. A limit that only guesses reach does not count.
fn agree(libraries: &Libraries, world: &World, programs: &[Body], observed: &[Cell]) -> Result<(), TestCaseError> {
    agree_on(&problem(libraries, world, programs, observed))
}

fn agree_on(problem: &Problem<'_>) -> Result<(), TestCaseError> {
    let flowing = problem.outcomes_by_flow().expect("no value comes out of nowhere");
    let guessed = problem.outcomes_by_guessing();
    let is_bounded = |stop: &Option<Stop>| matches!(stop, None | Some(Stop::Loop(_)));
    if guessed.explored.stop.is_none() {
        prop_assert_eq!(&flowing.explored.stop, &None);
    }
    if is_bounded(&guessed.explored.stop) && is_bounded(&flowing.explored.stop) {
        prop_assert_eq!(flowing.so_far().0, guessed.so_far().0);
    } else if flowing.explored.stop.is_some() {
        let known = |all: &std::collections::BTreeMap<Outcome, u64>| all.keys().cloned().collect::<Vec<_>>();
        prop_assert_eq!(known(flowing.so_far().0), known(guessed.so_far().0));
    }
    Ok(())
}

fn bound(threads: usize, calls: usize) -> Bound {
    Bound { threads, nodes: 2, calls, objects: 1, loops: 2, values: vec![1], ..Bound::default() }
}

/// Returns the cells of all memory words.
fn all_cells(world: &World) -> Vec<Cell> {
    world.objects.iter().filter_map(|(&loc, o)| Some(Cell { loc, node: o.node? })).collect()
}

const WORDS: WordClients = WordClients { rmw: true };
const TSO_WORDS: tso::PollClients = tso::PollClients { rmw: true };

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn on_rdma_wait((world, client) in strategy(&WORDS, &bound(2, 3))) {
        let libraries = Libraries::over(to).with(Wait);
        agree(&libraries, &world, &flowing(&client, |v| v), &all_cells(&world))?;
    }

    #[test]
    fn on_rdma_tso((world, client) in strategy(&TSO_WORDS, &bound(3, 2))) {
        let libraries = Libraries::over(to).with(Tso::PUBLISHED);
        agree(&libraries, &world, &flowing(&client, |v| v), &all_cells(&world))?;
    }

    #[test]
    fn on_shared_variables((world, client) in strategy(&Sv, &bound(3, 2))) {
        agree(&Libraries::over(to).with(Sv), &world, &flowing(&client, |v| v), &[])?;
    }

    #[test]
    fn on_rdma_sc_rmw((world, client) in strategy(&ScRmw, &bound(3, 2))) {
        agree(&Libraries::over(to).with(ScRmw), &world, &flowing(&client, |v| v), &[])?;
    }

    #[test]
    fn on_mixed_size_words((world, client) in strategy(&Msw, &Bound { objects: 2, ..bound(2, 2) })) {
        agree_on(&within(1, Problem::of(&Libraries::over(to).with(Msw), &world, &client.programs())))?;
    }

    #[test]
    fn on_ring_buffers((world, client) in strategy(&Rbl::Strong, &bound(2, 3))) {
        agree_on(&within(1, Problem::of(&Libraries::over(to).with(Rbl::Strong), &world, &client.programs())))?;
    }

    #[test]
    fn on_loops(threads in prop_oneof![
        prop::collection::vec(prop::collection::vec(0u8..9, 1..4), 2),
        prop::collection::vec(prop::collection::vec(0u8..9, 1..2), 3),
    ]) {
        let world = one_node(threads.len());
        let programs: Vec<Body> = threads.iter().map(|statements| sequence(statements, 0.into())).collect();
        let (libraries, cells) = (Libraries::over(to).with(Wait), all_cells(&world));
        agree(&libraries, &world, &programs, &cells)?;
        is_as_complete_as_it_says(&libraries, &world, &programs, &cells)?;
    }

    /// A body that waits goes on in one way whatever it has found, so the search takes one step for several values.
    #[test]
    fn on_waits_in_bodies(threads in prop_oneof![
        prop::collection::vec(prop::collection::vec(statement_or_wait(), 1..4), 2),
        prop::collection::vec(prop::collection::vec(statement_or_wait(), 1..3), 3),
    ]) {
        let world = one_node(threads.len());
        let programs: Vec<Body> = threads.iter().map(|statements| sequence(statements, 0.into())).collect();
        let waiting = waiting();
        let (libraries, cells) = (Libraries::over(to).with(Wait), all_cells(&world));
        agree_on(&Problem { implementations: &waiting, ..problem(&libraries, &world, &programs, &cells) })?;
    }

    /// Two equal threads can change places, whatever a third one does. The search in one order of them finds the same runs.
    #[test]
    fn on_equal_threads(
        equal in prop_oneof![
            prop::collection::vec(0u8..9, 1..3),
            prop::collection::vec(statement_or_wait(), 1..3),
            statements_beside_a_swap(),
        ],
        other in prop::collection::vec(statement_or_wait(), 0..2),
    ) {
        let world = one_node(3);
        let programs = [&equal, &other, &equal].map(|statements| sequence(statements, 0.into()));
        let waiting = waiting();
        let libraries = Libraries::over(to).with(Wait);
        let problem = Problem { implementations: &waiting, ..problem(&libraries, &world, &programs, &[]) };
        let stay = ["x", "y"].map(|x| Val::Loc(Loc::new(x))).into_iter().chain([Val::Node(Node(1))]);
        let names = stay.map(|v| (v, v)).collect();
        let exchanged = Automorphism { threads: [2, 1, 0].map(Tid::from_index).to_vec(), names };
        let runs = |all: &[Automorphism]| flow::runs_by_symmetry(&problem, true, all).expect("no value comes out of nowhere");
        let [reduced, whole] = [runs(&[exchanged]), runs(&[])];
        let found = |of: &flow::Runs| {
            let threads = of.threads.iter().flatten().map(|skeleton| skeleton.runs.clone()).collect_vec();
            (threads, of.together.clone(), of.stop.clone(), of.idle.clone())
        };
        prop_assert_eq!(found(&reduced), found(&whole));
        prop_assert!(reduced.states <= whole.states);
    }

    /// A swap that fails begins anew. The search decides whether another thread reads a word that a failed iteration wrote.
    #[test]
    fn on_swaps(swapping in prop::collection::vec(statements_beside_a_swap(), 2)) {
        let world = one_node(2);
        let programs: Vec<Body> = swapping.iter().map(|statements| sequence(statements, 0.into())).collect();
        let libraries = Libraries::over(to).with(Wait);
        agree(&libraries, &world, &programs, &[])?;
        is_as_complete_as_it_says(&libraries, &world, &programs, &[])?;
        has_the_outcomes_of_all_iterations(&problem(&libraries, &world, &programs, &all_cells(&world)))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Nothing observes these words. There are all kinds of loops, and puts, which read a word later than their call.
    #[test]
    fn on_loops_that_nobody_observes(threads in prop_oneof![
        prop::collection::vec(prop::collection::vec(0u8..15, 1..4), 2),
        prop::collection::vec(prop::collection::vec(0u8..15, 1..3), 3),
    ]) {
        let world = one_node(threads.len());
        let programs: Vec<Body> = threads.iter().map(|statements| sequence(statements, 0.into())).collect();
        let waiting = waiting();
        let (libraries, cells) = (Libraries::over(to).with(Wait), all_cells(&world));
        let observed = Problem { implementations: &waiting, ..problem(&libraries, &world, &programs, &cells) };
        has_the_outcomes_of_all_iterations(&observed)?;
    }
}

/// Checks that the search has the same outcomes if nothing is observed. Only then it may leave out states with iterations.
fn has_the_outcomes_of_all_iterations(observed: &Problem<'_>) -> Result<(), TestCaseError> {
    let plain = Problem { observed: &[], ..*observed };
    let outputs = |of: &Problem<'_>| {
        let found = within(2, Problem { ..*of }).outcomes_by_flow().unwrap();
        found.all().map(|all| all.into_keys().map(|outcome| outcome.outputs).collect::<BTreeSet<_>>())
    };
    if let (Ok(plain), Ok(observed)) = (outputs(&plain), outputs(observed)) {
        prop_assert_eq!(plain, observed);
    }
    Ok(())
}

methods! {
    /// Waits for words.
    enum WaitsFor of WAITING = "waiting" as statements {
        /// Returns when x is above v.
        fn above = Above(x: Local, v: Value);
        /// Returns when x is not v, and says whether it is 2.
        fn change = Change(x: Local, v: Value) -> Bool;
    }
}

struct Waiting;

impl Implementation for Waiting {
    fn target(&self) -> Name {
        WAITING
    }

    fn bodies(&self) -> Option<&Bodies> {
        static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
            bodies! { WaitsFor:
                Above { x, v } => { loop { let seen = wait::Method::read(x); if (seen > v) { break } } }
                Change { x, v } => {
                    loop { let seen = wait::Method::read(x); if (seen != v) { break seen.is(2) } }
                }
            }
        });
        Some(&BODIES)
    }
}

/// Returns the implementation of the waits in bodies.
fn waiting() -> Implementations {
    [(WAITING, Arc::new(Waiting) as Arc<dyn Implementation>)].into_iter().collect()
}

/// Draws the number of a statement: a write, a read, or a wait in a body.
fn statement_or_wait() -> impl Strategy<Value = u8> {
    prop_oneof![Just(0u8), Just(1), Just(2), Just(10), Just(11), Just(12)]
}

/// Draws the numbers of one to three statements. At most one of them is a swap, and the others have no loop.
fn statements_beside_a_swap() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(2), Just(3), Just(9), Just(9)], 1..4)
        .prop_filter("one swap at most", |all| all.iter().filter(|&&s| s == 9).count() < 2)
}

/// A loop that counts to four ends after more iterations than the bound allows, and each iteration continues from the
/// writes of the last one. The search must not report that it waits for ever before it has met the bound.
#[test]
fn rounds_beyond_the_bound_go_on_from_each_other() {
    let x = Loc::new("x");
    let count = body! {
        let v = wait::read(x);
        wait::Method::write(x, v + 1);
        if (v == 4) { break v }
    };
    let (world, libraries) = (one_node(1), Libraries::over(to).with(Wait));
    let programs = [count.repeat()];
    let of = |rounds: usize| {
        let problem = within(rounds, problem(&libraries, &world, &programs, &[]));
        problem.outcomes_by_flow().expect("no value comes out of nowhere")
    };
    for rounds in 1..4 {
        assert!(matches!(of(rounds).explored.stop, Some(Stop::Loop(_))), "{rounds}");
    }
    assert_eq!((of(4).explored.stop, of(4).so_far().0.len()), (None, 1));
    for threads in [[&[7u8][..], &[7, 7]], [&[7, 7], &[7, 7]]] {
        let programs = threads.map(|statements| sequence(statements, 0.into()));
        is_as_complete_as_it_says(&libraries, &one_node(2), &programs, &[]).unwrap();
    }
}

/// Checks that an answer that is complete within a bound on iterations stays the same with two more. An exception are
/// programs without any execution that ends, because one thread waits for ever. There the other threads may reach the
/// larger bound before the search finds that out.
fn is_as_complete_as_it_says(
    libraries: &Libraries,
    world: &World,
    programs: &[Body],
    observed: &[Cell],
) -> Result<(), TestCaseError> {
    let of = |rounds: usize| {
        let problem = within(rounds, problem(libraries, world, programs, observed));
        problem.outcomes_by_flow().expect("no value comes out of nowhere")
    };
    let known = of(1);
    if known.explored.stop.is_none() {
        let more = of(3);
        if !known.so_far().0.is_empty() {
            prop_assert_eq!(&more.explored.stop, &None);
        }
        prop_assert_eq!(known.so_far().0, more.so_far().0);
    }
    Ok(())
}

/// Waits until a word is not 0.
fn awaited(x: Loc) -> Body {
    body! { loop { let v = wait::read(x); if (v != 0) { break } } }
}

/// A thread waits for what two iterations write, and the other thread's next read comes after both. The search follows an execution
/// with the first of them that is read, and leaves the other one out. It must not conclude that the thread waits for ever.
#[test]
fn iterations_that_are_left_out_may_be_waited_for() {
    let [x, y, z, w] = ["x", "y", "z", "w"].map(Loc::new);
    let world = one_node_with(3, &[x, y, z, w]);
    let libraries = Libraries::over(to).with(Wait);
    let writes_by_number = body! {
        loop {
            let v = wait::read(y);
            if (v == 1) { wait::write(x, 5) }
            if (v == 2) { wait::write(z, 7) }
            if (v == 3) { break }
        }
    };
    let mut ends = 0;
    for order in [x, z, w].into_iter().permutations(3) {
        for reads_first in [true, false] {
            let loops = writes_by_number.clone();
            let one = wait::write(w, Val::Int(1));
            let first = if reads_first { loops.then(wait::read(w)).then(one) } else { loops.then(one) };
            let numbers = written(&[1, 2, 3].map(|v| (y, v)));
            let programs = [first, numbers, order.iter().map(|&x| awaited(x)).reduce(Body::then).unwrap()];
            is_as_complete_as_it_says(&libraries, &world, &programs, &[]).unwrap();
            let of = problem(&libraries, &world, &programs, &[]);
            ends += usize::from(within(2, of).outcomes_by_flow().unwrap().so_far().0.is_empty());
        }
    }
    assert_eq!(ends, 0);
}

/// The first thread leaves its loop, in one branch. The third one then waits for ever, as it seems: it needs what the second thread
/// writes after it has read what an iteration writes. In a later branch an iteration ends, so the search comes back to that state.
#[test]
fn states_before_an_iteration_is_known_are_explored_again() {
    let [x, y, z, w] = ["x", "y", "z", "w"].map(Loc::new);
    let world = one_node_with(4, &[x, y, z, w]);
    let libraries = Libraries::over(to).with(Wait);
    let writes_while_one = body! {
        let v = wait::read(y);
        if (v == 1) { wait::write(x, 5) } else { break }
    };
    let passes_on = body! {
        wait::read(w);
        let v = wait::read(x);
        if (v == 5) { wait::write(z, 7) }
    };
    let others = written(&[(y, 1), (y, 0), (w, 1), (w, 2), (w, 3)]);
    let programs = [writes_while_one.repeat(), passes_on, awaited(z), others];
    let of = problem(&libraries, &world, &programs, &[]);
    agree_on(&of).unwrap();
    assert!(!of.outcomes_by_flow().unwrap().so_far().0.is_empty());
}

/// An iteration ends before another thread posts a put of the word that it writes, or is itself a put. No result of a call has the word as
/// its only cell, so the search explores the iterations.
#[test]
fn iterations_are_explored_where_copies_read_or_write_them() {
    let [x, y, z, w, u] = ["x", "y", "z", "w", "u"].map(Loc::new);
    let world = one_node_with(3, &[x, y, z, w, u]);
    let libraries = Libraries::over(to).with(Wait);
    let others = written(&[(z, 5), (y, 1), (w, 1), (w, 2), (w, 3)]);
    let d = Wid(Name::literal("d"));
    let copied = |x: Loc, z: Loc| wait::put(x, z, d).then(wait::wait(d));
    for [looping, reading] in [
        [until_one(y, wait::write(x, Val::Int(5))), wait::read(w).then(copied(u, x)).then(wait::read(u))],
        [until_one(y, copied(x, z)), wait::read(w).then(wait::read(x))],
    ] {
        let programs = [looping, reading, others.clone()];
        let of = problem(&libraries, &world, &programs, &[]);
        reads_an_iteration(&of, Val::Int(5));
    }
}

/// Repeats an effect while a word is 0, and ends when it is 1.
fn until_one(y: Loc, effect: Body) -> Body {
    body! { loop { let v = wait::read(y); if (v == 1) { break } else { effect } } }
}

/// Checks that the search has the outcomes of guesses, and that some outcome has this output of the second thread.
fn reads_an_iteration(problem: &Problem<'_>, output: Val) {
    agree_on(problem).unwrap();
    let found = problem.outcomes_by_flow().unwrap();
    assert!(found.so_far().0.keys().any(|outcome| outcome.outputs[1] == output), "{:?}", found.so_far().0);
}

/// As soon as something may read an iteration, the search begins again. A search with observed words begins with iterations, so the
/// first one takes few states more.
#[test]
fn the_search_begins_again_at_once_where_an_iteration_is_read() {
    let (world, libraries) = (one_node(2), Libraries::over(to).with(Wait));
    for statements in [[vec![1, 9], vec![3, 1, 0]], [vec![9, 3], vec![9, 3]]] {
        let programs = statements.map(|of_thread| sequence(&of_thread, 0.into()));
        let states = |observed: &[Cell]| {
            let problem = problem(&libraries, &world, &programs, observed);
            flow::runs(&problem, false).expect("no value comes out of nowhere").states
        };
        let [left_out, explored] = [states(&[]), states(&all_cells(&world))];
        assert!(3 * left_out <= 4 * explored, "{left_out} states in place of {explored}");
    }
}

/// Behind its loop the first thread takes one step for several values. Only then the second one reads what an iteration wrote.
#[test]
fn iterations_are_explored_before_steps_for_several_values() {
    let [x, y, z, u] = ["x", "y", "z", "u"].map(Loc::new);
    let (world, libraries, waiting) = (one_node_with(3, &[x, y, z, u]), Libraries::over(to).with(Wait), waiting());
    let first = until_one(y, wait::write(x, Val::Int(5))).then(above(z, 0)).then(wait::write(u, Val::Int(1)));
    let programs = [first, awaited(u).then(wait::read(x)), written(&[(y, 1), (z, 1), (z, 2)])];
    let of = Problem { implementations: &waiting, ..problem(&libraries, &world, &programs, &[]) };
    reads_an_iteration(&of, Val::Int(5));
}

/// With the value of the iteration there are more values than the search distinguishes, so the answer is not complete.
#[test]
fn iterations_with_a_value_too_many_are_explored() {
    let [x, y, z] = ["x", "y", "z"].map(Loc::new);
    let (world, libraries) = (one_node_with(2, &[x, y, z]), Libraries::over(to).with(Wait));
    let stops = (110..130).map(|count| {
        let values = Body::all((2..count).map(|v| wait::write(z, Val::Int(v))));
        let programs = [
            until_one(y, wait::write(x, Val::Int(1000))),
            body! { values; let v = wait::read(x); wait::write(y, 1); v },
        ];
        let all = problem(&libraries, &world, &programs, &[]).outcomes_by_flow();
        all.map(|all| (all.explored.stop.is_some(), all.so_far().0.keys().any(|o| o.outputs[1] == Val::Int(1000))))
    });
    let stops: Vec<_> = stops.collect();
    let is_right = |of: &Option<(bool, bool)>| of.is_none_or(|(stops, is_read)| stops || is_read);
    assert!(stops.iter().all(is_right), "{stops:?}");
}

/// Two equal threads leave their loops with 1 and with 2, and the first tells where its iteration wrote. The search has these in one
/// order only, and ends iterations only in the other one.
#[test]
fn images_of_iterations_are_read() {
    let [x, w, v, c, p] = ["x", "w", "v", "c", "p"].map(Loc::new);
    let (world, libraries) = (one_node_with(3, &[x, w, v, c, p]), Libraries::over(to).with(Wait));
    let until = |x: Loc, least: i64| body! { loop { let v = wait::read(x); if (v == least) { break } } };
    let equal = |own: Loc| {
        body! {
            let v = loop {
                let v = wait::read(x);
                if (v == 3) { wait::write(own, 5) }
                if (v == 2) { let taken = wait::cas(x, 2, 0); if (taken == 2) { break taken } }
                if (v == 1) { wait::write(p, own); break v }
            };
            wait::faa(c, 1);
            v
        }
    };
    let followed = body! { let p = wait::read(p); let is_place = p.is_loc(); if (is_place) { wait::Method::read(p) } else { Val::Unit } };
    let begun = wait::write(x, Val::Int(2)).then(until(c, 1));
    let middle = begun.then(written(&[(x, 3), (x, 1)])).then(until(c, 2)).then(followed);
    let programs = [equal(w), middle, equal(v)];
    let of = problem(&libraries, &world, &programs, &[]);
    reads_an_iteration(&of, Val::Int(5));
    let stay =
        [x, c, p].map(|x| (Val::Loc(x), Val::Loc(x))).into_iter().chain([(Val::Node(Node(1)), Val::Node(Node(1)))]);
    let names = stay.chain([(w, v), (v, w)].map(|(a, b)| (Val::Loc(a), Val::Loc(b)))).collect();
    let exchanged = Automorphism { threads: [2, 1, 0].map(Tid::from_index).to_vec(), names };
    let runs = |all: &[Automorphism]| {
        let runs = flow::runs_by_symmetry(&of, false, all).expect("no value comes out of nowhere");
        let threads = runs.threads.iter().flatten().map(|skeleton| skeleton.runs.clone()).collect_vec();
        (threads, runs.together, runs.stop)
    };
    assert_eq!(runs(&[exchanged]), runs(&[]));
}

methods! {
    /// Words that one call may read together.
    enum Pairs of PAIRS = "pairs" as statements {
        /// Writes v.
        fn set = Set(x: Object, v: Value);
        /// The value of x.
        fn look = Look(x: Object) -> Value;
        /// The value that both words have.
        fn same = Same(x: Object, y: Object) -> Value;
        /// 0 if x is 0, and else the value of y.
        fn guarded = Guarded(x: Object, y: Object) -> Value;
        /// The value of y at a moment when x is 5.
        fn awaiting = Awaiting(x: Object, y: Object) -> Value;
        /// The value of x at a moment when y is 5. Only x has an influence on the results.
        fn beside = Beside(x: Object, y: Object) -> Value;
        /// The value of x, as a guess: 0 or 5.
        fn guess = Guess(x: Object) -> Value;
    }
}

#[derive(Clone, Copy, Debug)]
struct PairedWords;

impl Library for PairedWords {
    named_by!(Pairs);

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Pairs:
            Set { x, v } => { aCW: writes x, v }
            Look { x } => { aCR: reads x, ret() }
            Same { x, y } => { aCR: reads x, ret(); aCR: reads y, ret() }
            Guarded { x, y } => { if (ret().is(0)) { aCR: reads x, ret() } else { aCR: reads x, 5; aCR: reads y, ret() } }
            Awaiting { x, y } => { aCR: reads x, 5; aCR: reads y, ret() }
            Beside { x, y } => { aCR: reads x, ret(); aCR: reads y, 5 }
            Guess { x } => { aCR: reads x, ret() }
        })
    }

    fn spec(&self) -> Spec {
        spec! {
            let rf, mo, rb = coherence;
            so = po | rf | mo | rb;
        }
    }
}

impl Hints for PairedWords {
    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    /// A guarded read asks for the second word only if the first may be 5.
    fn returns(&self, _: &World, _: &[Event], _: Tid, call: &Call, cells: CellValues<'_>) -> Vec<Val> {
        let of = |at: usize| cells(Cell { loc: call.loc(at), node: Node(1) });
        match Pairs::of(call) {
            Pairs::Set { .. } => vec![Val::Unit],
            Pairs::Look { .. } => of(0),
            Pairs::Same { .. } => [of(0), of(1)].concat().into_iter().sorted().dedup().collect(),
            Pairs::Guarded { .. } if of(0).contains(&Val::Int(5)) => of(1),
            Pairs::Guarded { .. } => vec![Val::Int(0)],
            Pairs::Awaiting { .. } => {
                let [guards, values] = [of(0), of(1)];
                if guards.contains(&Val::Int(5)) { values } else { Vec::new() }
            }
            Pairs::Beside { .. } => of(0),
            Pairs::Guess { .. } => [0, 5].map(Val::Int).to_vec(),
        }
    }
}

/// Calls that read two words, both of an iteration, or one of them.
#[test]
fn iterations_are_explored_where_calls_read_several_words() {
    let [x, y, z] = ["x", "y", "z"].map(Loc::new);
    let mut world = World::new(1, &[Node(1); 2]);
    world.objects.extend([x, y, z].map(|x| (x, Object::new(PAIRS))));
    let libraries = Libraries::over(to).with(PairedWords);
    let five_if_seven = body! { let v = look(y); if (v == 7) { set(x, 5) } };
    let spins_at_six = body! { let v = awaiting(x, y); if (v == 6) { loop {} } v };
    let looping = |effect: Body| body! { loop { let v = look(z); if (v == 1) { break } else { effect } } };
    for (effect, before, reads) in [
        (set(x, 5), set(y, 5), same(x, y)),
        (set(x, 5).then(set(y, 5)), Body::unit(), same(x, y)),
        (set(x, 5).then(set(y, 6)), set(y, 5), same(x, y)),
        (set(x, 5), set(y, 5), guarded(x, y)),
        (set(y, 6).then(five_if_seven), set(y, 7), guarded(x, y)),
        (set(x, 0).then(set(y, 5)), set(x, 5), guarded(x, y)),
        (set(x, 5).then(set(y, 6)), set(y, 7), spins_at_six),
        (set(y, 5), set(x, 7), beside(x, y)),
        (set(x, 5), Body::unit(), guess(x)),
    ] {
        let programs = [looping(effect), body! { before; let v = reads; set(z, 1); v }];
        let of = problem(&libraries, &world, &programs, &[]);
        agree_on(&of).unwrap();
        let found = of.outcomes_by_flow().unwrap();
        let is_read = |outcome: &Outcome| matches!(outcome.outputs[1], Val::Int(5 | 7));
        assert!(found.so_far().0.keys().any(is_read), "{:?}", found.so_far().0);
    }
}

/// A thread stands at its read from the beginning. Another one comes to its loop later, and then writes what the first one reads.
#[test]
fn iterations_are_read_by_threads_that_stand_at_their_reads() {
    let [x, y, w] = ["x", "y", "w"].map(Loc::new);
    let (world, libraries) = (one_node_with(2, &[x, y, w]), Libraries::over(to).with(Wait));
    let first = wait::read(w).then(until_one(y, wait::write(x, Val::Int(5))));
    let second = body! { let v = wait::read(x); wait::write(y, 1); v };
    reads_an_iteration(&problem(&libraries, &world, &[first, second], &[]), Val::Int(5));
}

/// Makes a world of two words on one node.
fn one_node(threads: usize) -> World {
    one_node_with(threads, &["x", "y"].map(Loc::new))
}

/// Makes a world of these words on one node.
fn one_node_with(threads: usize, words: &[Loc]) -> World {
    let mut world = World::new(1, &vec![Node(1); threads]);
    world.objects.extend(words.iter().map(|&x| (x, wait::word(Node(1)))));
    world
}

/// Makes a program that writes these numbers, one after the other.
fn written(all: &[(Loc, i64)]) -> Body {
    Body::all(all.iter().map(|&(x, v)| wait::write(x, Val::Int(v))))
}

/// Makes a call of the only lock.
fn lock(call: impl Fn(Loc) -> Body) -> Body {
    call(Loc::new("m"))
}

/// Makes a program of statements by number. The value that was read last flows on, and is the output.
fn sequence(statements: &[u8], last: Expr) -> Body {
    let Some((&first, rest)) = statements.split_first() else { return last.into() };
    body! {
        let v = statement(first, last);
        let last = if (v == (Val::Unit)) { last } else { v };
        sequence(rest, last)
    }
}

fn statement(number: u8, last: Expr) -> Body {
    let (x, y) = (Loc::new("x"), Loc::new("y"));
    let write_more = |x: Loc| {
        body! { let more = if (last < 3) { last + 1 } else { last }; wait::Method::write(x, more) }
    };
    match number {
        0 => write_more(x),
        1 => write_more(y),
        2 => wait::read(x),
        3 => wait::read(y),
        // This one waits.
        4 => body! { loop { let v = wait::read(x); if (v > 0) { break v } } },
        // This one locks, and other threads see the value that it swaps in.
        5 => body! { loop { let v = wait::cas(y, 0, 1); if (v == 0) { break } } },
        6 => wait::write(y, 0),
        // Each iteration writes a value from which the next one, or another thread, continues.
        7 => body! {
            loop {
                let v = wait::read(x);
                let next = if (v < 2) { v + 1 } else { v };
                wait::Method::write(x, next);
                let w = wait::read(y);
                if (w == v) { break w }
            }
        },
        // Each iteration prepares a word before it swaps, as a push onto a stack does.
        9 => body! {
            loop {
                let v = wait::read(x);
                wait::Method::write(y, v);
                let w = wait::Method::cas(x, v, v + 1);
                if (w == v) { break w }
            }
        },
        10 => above(x, 0),
        11 => above(y, 1),
        12 => body! { let is_two = change(x, 0); if (is_two) { 2 } else { last } },
        13 => wait::put(y, x, Val::NoWid),
        14 => wait::put(x, y, Val::NoWid),
        15 => lock(trylock::Method::acq),
        16 => {
            body! { loop { let is_taken = lock(trylock::Method::try_acq); if (is_taken) { break } else { wait::write(x, 3) } } }
        }
        17 => body! { loop { let is_taken = lock(trylock::Method::try_acq); if (is_taken) { break } } },
        18 => lock(trylock::Method::rel),
        // A loop in a loop: the inner one waits, the outer one has effects.
        _ => body! {
            loop {
                loop { let v = wait::read(x); if (v > 0) { break } }
                let w = wait::cas(y, 0, 2);
                if (w == 0) { break w } else { wait::write(x, 0) }
            }
        },
    }
}

/// One search finds both the runs that end and those in which some thread waits for ever. The second kind is the one that a
/// search for that kind alone finds.
#[test]
fn one_search_finds_runs_that_end_and_runs_that_wait() {
    let libraries = Libraries::over(to).with(Wait).with(Trylock);
    let mut seeded = TestRunner::deterministic();
    let strategy = prop::collection::vec(prop::collection::vec(prop_oneof![0u8..9, 15u8..19], 1..4), 2);
    let (mut ending, mut waiting) = (0, 0);
    let mut world = one_node(2);
    world.objects.insert(Loc::new("m"), Object::new(TRYLOCK).at(Node(1)));
    for _ in 0..300 {
        let threads = strategy.new_tree(&mut seeded).expect("two lists of statements").current();
        let programs: Vec<Body> = threads.iter().map(|statements| sequence(statements, 0.into())).collect();
        let problem = problem(&libraries, &world, &programs, &[]);
        let both = flow::runs(&problem, true).expect("no value comes out of nowhere");
        assert!(both.together.is_empty() || both.idle.is_some());
        let Some(idle) = both.idle else { continue };
        (ending, waiting) = (ending + usize::from(!both.together.is_empty()), waiting + usize::from(!idle.is_empty()));
        let alone = flow::waiting(&problem).expect("no value comes out of nowhere");
        assert_eq!(&idle, alone.so_far().0);
    }
    assert!(ending > 50 && waiting > 50, "{ending} {waiting}");
}

/// A client whose participants come to a barrier unequally often has no execution. The first state of the search shows it.
#[test]
fn what_cannot_end_is_known_at_the_start() {
    let implementations: Implementations =
        [(BAL, Arc::new(BalOverSv::default()) as Arc<dyn Implementation>)].into_iter().collect();
    let (libraries, b) = (Libraries::over(to).with(Sv), Loc::new("b"));
    let mut world = World::new(2, &[Node(1), Node(2), Node(1)]);
    world.objects.insert(b, barrier(&[Tid(1), Tid(2), Tid(3)]));
    add_parts(&BalOverSv::default(), &mut world);
    let of = |counts: [usize; 3]| {
        let programs = counts.map(|count| Body::all((0..count).map(|_| bar(BAL, b))));
        let problem = Problem { implementations: &implementations, ..problem(&libraries, &world, &programs, &[]) };
        let runs = flow::runs(&problem, true).expect("no value comes out of nowhere");
        (runs.states, runs.together.is_empty())
    };
    assert_eq!([[3, 3, 2], [2, 3, 3], [1, 3, 2]].map(of), [(1, true); 3]);
    let (states, is_empty) = of([2, 2, 2]);
    assert!(states > 1 && !is_empty);
}

/// A model that does not keep a read before a later write has executions in which values justify each other. They are
/// not missed: the flow of values reports that it cannot decide, and guessing finds them.
#[test]
fn values_out_of_nowhere_are_not_missed() {
    let world = one_node(2);
    let thread = |from: &str, to: &'static str| {
        body! { let v = wait::read(Loc::new(from)); wait::write(Loc::new(to), 1); v }
    };
    let programs = [thread("x", "y"), thread("y", "x")];
    let strong = Libraries::over(to).with(Wait);
    let of = problem(&strong, &world, &programs, &[]);
    assert_eq!(of.outcomes().so_far().0.len(), 3);
    assert_eq!(of.outcomes_by_flow().map(|all| all.so_far().0.len()), Some(3));
    let weak = strong.with_order(|a, b| to(a, b) && (a, b) != (aCR, aCW));
    let of = problem(&weak, &world, &programs, &[]);
    assert_eq!(of.outcomes().so_far().0.len(), 4);
    assert!(of.outcomes_by_flow().is_none());
}

/// With a bound of 0 iterations, reaching the bound says nothing about the effects of iterations.
#[test]
fn a_bound_of_no_rounds_is_not_complete() {
    let (world, libraries) = (one_node(2), Libraries::over(to).with(Wait));
    let (x, y) = (Loc::new("x"), Loc::new("y"));
    let announces = body! { wait::write(y, 1); let v = wait::read(x); if (v == 1) { break } };
    let programs = [announces.repeat(), wait::write(x, Val::Int(1))];
    let of = |rounds| {
        let problem = within(rounds, problem(&libraries, &world, &programs, &[]));
        problem.outcomes_by_flow().expect("no value comes out of nowhere").explored.stop
    };
    assert!(matches!(of(0), Some(Stop::Loop(_))));
    assert_eq!(of(1), None);
}

/// Executions that need more iterations than the bound are reported, even if all others need none.
#[test]
fn a_bound_that_only_other_executions_reach_is_not_complete() {
    let (world, libraries) = (one_node(2), Libraries::over(to).with(Wait));
    let x = Loc::new("x");
    let counts = body! {
        let v = wait::read(x);
        wait::Method::write(x, v + 1);
        if (v.is(0) | v.is(5)) { break v }
    };
    let programs = [counts.repeat(), wait::write(x, Val::Int(1))];
    for rounds in 0..6 {
        let all = within(rounds, problem(&libraries, &world, &programs, &[]));
        let (flowing, guessed) =
            (all.outcomes_by_flow().expect("no value comes out of nowhere"), all.outcomes_by_guessing());
        let stops = matches!(flowing.explored.stop, Some(Stop::Loop(_)));
        assert_eq!((stops, flowing.so_far().0.len()), if rounds < 4 { (true, 1) } else { (false, 2) }, "{rounds}");
        // Guessing tries values that do not occur in executions of so few iterations.
        assert!(guessed.explored.stop.is_some());
    }
}

/// An iteration whose write is the last one of an observed cell is not left out, even if its write is never read.
#[test]
fn what_is_observed_at_the_end_is_not_left_out() {
    let libraries = Libraries::over(to).with(Wait);
    let mut world = World::new(3, &[Node(1), Node(1)]);
    let [x, y, a, b] = ["x", "y", "a", "b"].map(Loc::new);
    let words = [(x, 1, 0), (y, 1, 0), (a, 2, 1), (b, 3, 2)];
    world.objects.extend(words.map(|(z, node, init)| (z, wait::word(Node(node)).init(Val::Int(init)))));
    let gets = body! {
        let v = wait::read(y);
        let from = if (v == 0) { a } else { b };
        wait::Method::get(x, from, Val::NoWid);
        if (v == 1) { break }
    };
    let programs = [gets.repeat(), wait::write(y, Val::Int(1))];
    let observed = [Cell { loc: x, node: Node(1) }];
    let of = problem(&libraries, &world, &programs, &observed);
    for outcomes in [of.outcomes_by_guessing(), of.outcomes_by_flow().expect("no value comes out of nowhere")] {
        let finals: Vec<_> = outcomes.so_far().0.keys().map(|o| o.finals.clone()).collect();
        assert_eq!(finals, [[Val::Int(1)], [Val::Int(2)]]);
    }
}

/// Iterations of calls that take turns are not left out one by one: both threads come to the barrier equally often.
#[test]
fn rounds_that_meet_at_a_barrier_are_kept() {
    let libraries = Libraries::over(to).with(Bal::Plain).with(Wait);
    let mut world = one_node(2);
    let (b, x) = (Loc::new("b"), Loc::new("x"));
    world.objects.insert(b, barrier(&[Tid(1), Tid(2)]));
    let meets = body! { bar(BAL, b); let v = wait::read(x); if (v == 1) { break } };
    let twice = body! { bar(BAL, b); wait::write(x, Val::Int(1)); bar(BAL, b) };
    let programs = [meets.repeat(), twice];
    let of = problem(&libraries, &world, &programs, &[]);
    for outcomes in [of.outcomes_by_guessing(), of.outcomes_by_flow().expect("no value comes out of nowhere")] {
        assert_eq!(outcomes.so_far().0.len(), 1);
    }
}
