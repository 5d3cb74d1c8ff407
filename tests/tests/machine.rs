//! RDMA-TSO-RMW: the axioms, the machine and the machine without its reduction have the same outcomes (SYNC Thm. 7), and
//! waits can be compiled to polls (SYNC Thm. 6).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use mowgli::litmus::parse::parse;
use mowgli::litmus::run::{Engine, solve_with};
use mowgli_core::algebra::{CELL, Spec, SubView, id, po, reads, same, same_event, stamped, stamps, writes};
use mowgli_core::event::{Call, Cell, Event, Shape};
use mowgli_core::expr::{Expr, Opaque};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::{CellValues, Hints, Libraries, Library, PlainSet};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::soundness::client::{Client, Subject, strategy};
use mowgli_core::stamp::StampKind;
use mowgli_core::term::body::{Body, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementations;
use mowgli_core::term::method;
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::crash::{CRASH, dead, goes, stop};
use mowgli_rdma::message::{self, MESSAGE};
use mowgli_rdma::operational::Machine;
use mowgli_rdma::tso::{self, Compiling, TSO, Tso, WaitByPolls};
use mowgli_rdma::wait;
use mowgli_rdma::{Network, RdmaStamp, Switches, Way, to};
use mowgli_tests::{flowing, outcomes, scripts, solved};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

pub(crate) fn bound(threads: usize, nodes: u8, calls: usize) -> Bound {
    Bound { threads, nodes, calls, ..Bound::default() }
}

/// Returns the cells of all memory words.
pub(crate) fn all_cells(world: &World) -> Vec<Cell> {
    world.objects.iter().filter_map(|(&loc, o)| Some(Cell { loc, node: o.node? })).collect()
}

/// Returns all outcomes by the axioms, or `None` if a limit was reached.
pub(crate) fn by_axioms(libraries: &Libraries, world: &World, bodies: &[Body]) -> Option<BTreeSet<Outcome>> {
    by_axioms_with(&Implementations::new(), libraries, world, bodies)
}

fn by_axioms_with(
    implementations: &Implementations,
    libraries: &Libraries,
    world: &World,
    bodies: &[Body],
) -> Option<BTreeSet<Outcome>> {
    let (observed, programs) = (all_cells(world), scripts(bodies));
    let problem = Problem { observed: &observed, implementations, ..Problem::of(libraries, world, &programs) };
    let all = problem.outcomes();
    all.all().ok().map(|found| found.into_keys().collect())
}

/// Removes identifiers of operations from a result, because they differ between models and do not belong to the
/// outcome.
pub(crate) fn integers(result: Val) -> Val {
    result.int().map_or(Val::Unit, Val::Int)
}

/// The largest number of states of a program that is compared in brief: others take most of the time.
const BRIEFLY: usize = 4_000;

/// The largest number of states of a run that is compared without the reduction too.
const SLOWLY: usize = 5_000;

pub(crate) fn agree(switches: Switches, client: &(World, Client)) -> Result<(), TestCaseError> {
    agree_over(&tso::switched(switches), switches, client)
}

pub(crate) fn agree_over(
    libraries: &Libraries,
    switches: Switches,
    (world, client): &(World, Client),
) -> Result<(), TestCaseError> {
    agree_on(libraries, switches, world, &flowing(client, integers)).map_err(|e| with_client(e, client))
}

/// The same without the machine that does not reduce.
pub(crate) fn agree_in_brief(switches: Switches, (world, client): &(World, Client)) -> Result<(), TestCaseError> {
    let programs = flowing(client, integers);
    agree_reduced(&tso::switched(switches), switches, world, &programs, BRIEFLY)
        .map(|_| ())
        .map_err(|e| with_client(e, client))
}

fn with_client(e: TestCaseError, client: &Client) -> TestCaseError {
    if let TestCaseError::Fail(why) = e { TestCaseError::fail(format!("{why}: {client:?}")) } else { e }
}

fn agree_on(libraries: &Libraries, switches: Switches, world: &World, bodies: &[Body]) -> Result<(), TestCaseError> {
    let Some(axioms) = agree_reduced(libraries, switches, world, bodies, 1_000_000)? else { return Ok(()) };
    let programs = scripts(bodies);
    let mut machine = Machine::new(world, &programs).unwrap().with(switches);
    let slowly = machine.explore_slowly(&all_cells(world), SLOWLY);
    if slowly.stop.is_none() {
        prop_assert_eq!(&axioms, &slowly.outcomes, "without reduction");
    }
    Ok(())
}

/// Compares axioms and the machine with its reduction, on a program with fewer states than this. Returns the outcomes; `None` if a limit was reached.
fn agree_reduced(
    libraries: &Libraries,
    switches: Switches,
    world: &World,
    bodies: &[Body],
    states: usize,
) -> Result<Option<BTreeSet<Outcome>>, TestCaseError> {
    let programs = scripts(bodies);
    let mut machine = Machine::new(world, &programs).unwrap().with(switches);
    let runs = machine.explore(&all_cells(world), states, &|| false);
    prop_assume!(runs.stop.is_none());
    let Some(axioms) = by_axioms(libraries, world, bodies) else { return Ok(None) };
    prop_assert_eq!(&axioms, &runs.outcomes, "on {:?}, {:?}", world.threads, world.crashes);
    Ok(Some(axioms))
}

/// Runs so many cases, the same each time.
pub(crate) fn runner(cases: u32) -> TestRunner {
    with(Config { cases, ..Config::default() })
}

/// Runs so many cases of a property that is to fail. A smaller case of the failure is not looked for.
pub(crate) fn runner_to_fail(cases: u32) -> TestRunner {
    with(Config { cases, max_shrink_iters: 0, ..Config::default() })
}

fn with(config: Config) -> TestRunner {
    TestRunner::new_with_rng(
        Config { failure_persistence: None, max_global_rejects: 100_000, ..config },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    )
}

macro_rules! layers {
    ($($test:ident: $agree:ident;)*) => {
        $(
            #[test]
            fn $test() {
                $agree(20);
            }
        )*

        /// The same with twenty times as many programs; the first of them are those above.
        mod in_full {
            $(
                #[test]
                #[ignore = "takes a minute"]
                fn $test() {
                    super::$agree(1);
                }
            )*
        }
    };
}

layers! {
    axioms_and_machine_agree: agree_in_part;
    axioms_and_machine_agree_with_switches: agree_in_part_with_switches;
    axioms_and_machine_agree_on_ways: agree_in_part_on_ways;
    axioms_and_machine_agree_on_words: agree_in_part_on_words;
    axioms_and_machine_agree_on_messages: agree_in_part_on_messages;
    axioms_and_machine_agree_on_crashes: agree_in_part_on_crashes;
    axioms_and_machine_agree_on_exchanges_and_additions: agree_in_part_on_exchanges;
    waits_compile_to_polls_of_each_queue_pair: compiles_in_part_by_queue_pairs;
}

fn agree_in_part(part: u32) {
    for (rmw, bound, cases) in [
        (true, bound(2, 2, 3), 1500),
        (true, bound(3, 2, 2), 1000),
        (false, bound(1, 3, 5), 500),
        (true, bound(2, 3, 3), 500),
    ] {
        let words = tso::PollClients { rmw };
        runner(cases / part).run(&strategy(&words, &bound), |client| agree(Switches::OFF, &client)).unwrap();
    }
}

/// Compares them on hardware that promises less, or more.
fn agree_in_part_with_switches(part: u32) {
    let relaxed = Switches { network: Network::RC_RELAXED, ..Switches::OFF };
    let global = Switches { global_atomics: true, ..Switches::OFF };
    for switches in [relaxed, global, Switches { global_atomics: true, ..relaxed }] {
        for (bound, cases) in
            [(bound(2, 2, 3), 1500), (bound(3, 2, 2), 1000), (bound(1, 2, 5), 500), (bound(2, 3, 3), 500)]
        {
            let words = tso::PollClients { rmw: true };
            runner(cases / part).run(&strategy(&words, &bound), |client| agree(switches, &client)).unwrap();
        }
    }
}

/// Makes some calls of a client use a second queue pair, and with `unsignalled` some of them without a completion.
pub(crate) fn in_ways(client: &Client, unsignalled: bool, picks: &[Index]) -> Client {
    let mut client = client.clone();
    let calls = client.threads.iter_mut().flatten();
    for (call, pick) in calls.zip(picks) {
        let by = match call.method.text() {
            "Put" => "PutBy",
            "Get" => "GetBy",
            "RCAS" => "RCASBy",
            "RFAA" => "RFAABy",
            "Rfence" => "RfenceBy",
            "Poll" if pick.index(8) == 7 => {
                *call = tso::Method::PollAny {}.into();
                continue;
            }
            "Poll" => "PollBy",
            _ => continue,
        };
        let can_be_unsignalled = unsignalled && !matches!(by, "RfenceBy" | "PollBy");
        let signalled = !can_be_unsignalled || pick.index(4) < 2;
        let way = Way { queue: 1 + (pick.index(4) % 2) as u8, signalled, ..Way::USUAL };
        if way == Way::USUAL {
            continue;
        }
        let rest = call.args.iter().map(|v| if way.signalled || !matches!(v, Val::Wid(_)) { *v } else { Val::NoWid });
        let args: Vec<Val> = std::iter::once(way.into()).chain(rest).collect();
        *call = Call::new(call.library, by, &args);
    }
    client
}

/// Compares them with several queue pairs to each node, and with operations that do not have a completion.
fn agree_in_part_on_ways(part: u32) {
    let unsignalled = Switches { unsignalled: true, ..Switches::OFF };
    let relaxed = Switches { network: Network::RC_RELAXED, ..unsignalled };
    let global = Switches { global_atomics: true, ..unsignalled };
    for (switches, scale) in [(Switches::OFF, 1), (unsignalled, 2), (relaxed, 1), (global, 1)] {
        for (bound, cases) in
            [(bound(2, 2, 3), 600), (bound(3, 2, 2), 300), (bound(1, 2, 5), 600), (bound(2, 2, 4), 300)]
        {
            let words = tso::PollClients { rmw: true };
            let clients = (strategy(&words, &bound), prop::collection::vec(any::<Index>(), 9));
            let agree = |((world, client), picks): ((World, Client), Vec<Index>)| {
                agree(switches, &(world, in_ways(&client, switches.unsignalled, &picks)))
            };
            runner(cases * scale / part).run(&clients, agree).unwrap();
        }
    }
}

/// Two kinds of wrong axioms disagree with the machine. The first orders operations on two queue pairs to one node. The
/// second ignores that a completion covers the unsignalled operations before it.
#[test]
fn other_axioms_of_ways_are_noticed() {
    let first = |a: RdmaStamp| a.queue_pair().map_or(a, |q| a.by(q.to.into()));
    let by_node = Libraries::over(move |a, b| to(first(a), first(b))).with(Tso::PUBLISHED);
    let words = tso::PollClients { rmw: false };
    let bound = bound(2, 2, 4);
    let clients = (strategy(&words, &bound), prop::collection::vec(any::<Index>(), 9));
    let result = runner_to_fail(4000).run(&clients, |((world, client), picks)| {
        agree_over(&by_node, Switches::OFF, &(world, in_ways(&client, false, &picks)))
    });
    assert!(result.is_err(), "two queue pairs");

    // Here a get without a completion precedes a put, whose completion the thread polls.
    let world = words.worlds(&World::new(1, &[Node(1)]), &bound, &|| false).remove(0);
    let (x, y, n) = (Loc::new("x1"), Loc::new("y1"), Node(1));
    let w = Way { signalled: false, ..Way::USUAL }.into();
    use tso::Method::{GetBy, Poll, Put, Read, Write};
    let calls = [Write { x, v: 1.into() }, GetBy { w, x: y, y: x }, Put { x, y: x }, Poll { n }, Read { x: y }];
    let client = (world, Client { threads: vec![calls.map(Call::from).to_vec()] });
    let unsignalled = Switches { unsignalled: true, ..Switches::OFF };
    agree(unsignalled, &client).unwrap();
    assert!(agree(Switches::OFF, &client).is_err(), "unsignalled");
}

/// Makes some puts and gets of a client access both words of the nodes, in either order, and some of them by a second
/// queue pair.
pub(crate) fn in_words(client: &Client, picks: &[Index]) -> Client {
    let mut client = client.clone();
    for (call, pick) in client.threads.iter_mut().flatten().zip(picks) {
        let to_put = match call.method.text() {
            "Put" if pick.index(3) > 0 => true,
            "Get" if pick.index(3) > 0 => false,
            _ => continue,
        };
        let beside = |x: Loc| {
            Loc::new(&x.to_string().replace(['x', 'y'], if x.to_string().starts_with('x') { "y" } else { "x" }))
        };
        let row = |x: Loc| wait::row(&[x, beside(x)]);
        let way = Way { queue: 1 + u8::from(pick.index(8) == 7), ..Way::USUAL }.into();
        let method = if to_put { "PutWords" } else { "GetWords" };
        *call = Call::new(call.library, method, &[way, row(call.loc(0)), row(call.loc(1))]);
    }
    client
}

/// Compares them on operations of several words.
fn agree_in_part_on_words(part: u32) {
    let increasing = Switches::INCREASING;
    let relaxed = Switches { network: Network::RC_RELAXED, ..increasing };
    let words_relaxed = Switches { network: Network::RC_RELAXED, ..Switches::OFF };
    let crashes = Switches { crashes: true, ..increasing };
    for switches in [Switches::OFF, increasing, words_relaxed, relaxed, Switches::CRASHES, crashes] {
        for (bound, cases) in [(bound(2, 2, 3), 150), (bound(3, 2, 2), 60), (bound(1, 2, 4), 150), (bound(2, 2, 4), 60)]
        {
            let words = tso::PollClients { rmw: true };
            let clients = (strategy(&words, &bound), prop::collection::vec(any::<Index>(), 19));
            let agree = |((world, client), picks): ((World, Client), Vec<Index>)| {
                let client = (world, in_words(&client, &picks[..9]));
                if !switches.crashes {
                    return agree(switches, &client);
                }
                let (world, programs) = with_crashes(&client, picks[9], &picks[10..]);
                agree_on(&tso::switched(switches), switches, &world, &programs)
            };
            runner(cases / part).run(&clients, agree).unwrap();
        }
    }
}

/// Axioms that order the words of one operation disagree with a machine that does not, and the other way round.
#[test]
fn other_axioms_of_words_are_noticed() {
    let (words, bound) = (tso::PollClients { rmw: false }, bound(2, 2, 3));
    let (off, increasing) = (Switches::OFF, Switches::INCREASING);
    for (of_axioms, of_machine) in [(increasing, off), (off, increasing)] {
        let clients = (strategy(&words, &bound), prop::collection::vec(any::<Index>(), 9));
        let result = runner_to_fail(4000).run(&clients, |((world, client), picks)| {
            agree_over(&tso::switched(of_axioms), of_machine, &(world, in_words(&client, &picks)))
        });
        assert!(result.is_err(), "{of_axioms:?}");
    }
}

/// Replaces some calls of a client by messages to a node, or by receives.
fn with_messages(client: &Client, nodes: u8, picks: &[Index]) -> Client {
    let mut client = client.clone();
    for (at, (call, pick)) in client.threads.iter_mut().flatten().zip(picks).enumerate() {
        let way = Way { queue: 2, ..Way::USUAL }.into();
        let (n, v) = (Node(1 + pick.index(usize::from(nodes)) as u8), Val::Int(10 + at as i64));
        *call = match pick.index(7) {
            0 | 1 => message::Method::Send { n, v }.into(),
            2 => message::Method::SendBy { w: way, n, v }.into(),
            3 | 4 => message::Method::Recv {}.into(),
            _ => continue,
        };
    }
    client
}

/// Compares them on messages.
fn agree_in_part_on_messages(part: u32) {
    let messages = Switches::MESSAGES;
    let increasing = Switches { increasing_addresses: true, unsignalled: true, ..messages };
    let relaxed = Switches { network: Network::RC_RELAXED, ..messages };
    for switches in [messages, increasing, relaxed] {
        for (bound, cases) in
            [(bound(2, 2, 3), 1000), (bound(3, 2, 2), 500), (bound(1, 2, 5), 300), (bound(2, 2, 4), 400)]
        {
            let words = tso::PollClients { rmw: true };
            let clients = (strategy(&words, &bound), prop::collection::vec(any::<Index>(), 27));
            let agree = |((world, client), picks): ((World, Client), Vec<Index>)| {
                let client = with_messages(&client, world.nodes, &picks[..9]);
                let client = in_ways(&in_words(&client, &picks[9..18]), switches.unsignalled, &picks[18..]);
                agree(switches, &(world, client))
            };
            runner(cases / part).run(&clients, agree).unwrap();
        }
    }
}

/// Three kinds of wrong axioms disagree with the machine: a message may be skipped or received twice, or a receive does
/// not synchronise with the send.
#[test]
fn other_axioms_of_messages_are_noticed() {
    let published = || tso::switched(Switches::MESSAGES);
    let without = |demand: &'static str| {
        published().respecified(MESSAGE, |spec| spec.demands.retain(|(name, ..)| *name != demand))
    };
    let unordered = published().respecified(MESSAGE, |spec| spec.so.clear());
    let (words, bound) = (tso::PollClients { rmw: false }, bound(2, 2, 3));
    for (libraries, what) in [(without("skipped"), "jumped"), (without("once"), "twice"), (unordered, "unordered")] {
        let clients = (strategy(&words, &bound), prop::collection::vec(any::<Index>(), 9));
        let result = runner_to_fail(4000).run(&clients, |((world, client), picks)| {
            let client = with_messages(&client, world.nodes, &picks);
            agree_over(&libraries, Switches::MESSAGES, &(world, client))
        });
        assert!(result.is_err(), "{what}");
    }
}

/// Lets some threads of a client, or a node, crash, as `pick` says, and returns its programs. Some calls wait until
/// such a thread is dead.
fn with_crashes((world, client): &(World, Client), pick: Index, tells: &[Index]) -> (World, Vec<Body>) {
    let mut world = world.clone();
    let (threads, nodes) = (world.threads.len(), usize::from(world.nodes));
    match pick.index(1 + 2 * threads + nodes) {
        0 => world.crashes.threads = world.tids().collect(),
        t if t <= 2 * threads => _ = world.crashes.threads.insert(Tid::from_index((t - 1) / 2)),
        n => world.crashes.nodes = world.crashes.nodes.with(Node((n - 2 * threads) as u8)),
    }
    let dead: Vec<Tid> = world.tids().filter(|t| world.may_stop(*t)).collect();
    let mut tells = tells.iter();
    let program = |(tid, calls): (Tid, &Vec<Call>)| {
        let crashes = world.may_stop(tid);
        let heard: Vec<Option<Tid>> = calls.iter().map(|_| reported(&dead, tid, tells.next())).collect();
        let program = stopping(calls, &heard, crashes, Vec::new());
        if crashes {
            body! { let output = loop { let v = program; break v }; stop(); output }
        } else {
            program
        }
    };
    let programs = world.tids().zip(&client.threads).map(program).collect();
    (world, programs)
}

/// Returns the thread whose death another thread waits for, if there is one.
fn reported(dead: &[Tid], by: Tid, pick: Option<&Index>) -> Option<Tid> {
    let pick = pick?.index(5 * dead.len().max(1));
    dead.get(pick).copied().filter(|t| *t != by)
}

static INTEGERS: LazyLock<Opaque> = LazyLock::new(|| Opaque::new(|args| integers(args[0])));

/// Makes the calls one after the other. A thread that crashes may stop before each of them. Before some of them it
/// waits for the death of another thread.
fn stopping(calls: &[Call], heard: &[Option<Tid>], crashes: bool, results: Vec<Expr>) -> Body {
    let output = Expr::tuple(results.iter().copied());
    let Some((call, rest)) = calls.split_first() else { return output.into() };
    let args = call.args.iter().map(|&arg| Expr::from(arg)).collect::<Vec<_>>();
    let made = Body::call(call.library, call.method.text(), args).bind("v", |v| {
        let shown = Expr::opaque("integers", *INTEGERS, [v]);
        stopping(rest, &heard[1..], crashes, [results.as_slice(), &[shown]].concat())
    });
    let made = heard[0].map_or(made.clone(), |t| dead(t).then(made));
    if crashes {
        body! { let on = goes(); if (on) { made } else { break output } }
    } else {
        made
    }
}

/// Compares them on threads and nodes that crash.
fn agree_in_part_on_crashes(part: u32) {
    let crashes = Switches::CRASHES;
    let unsignalled = Switches { unsignalled: true, ..crashes };
    let relaxed = Switches { network: Network::RC_RELAXED, global_atomics: true, ..unsignalled };
    for (switches, scale) in [(crashes, 2), (unsignalled, 1), (relaxed, 1)] {
        for (bound, cases) in
            [(bound(2, 2, 3), 400), (bound(3, 2, 2), 200), (bound(1, 2, 4), 200), (bound(2, 3, 3), 200)]
        {
            let words = tso::PollClients { rmw: true };
            let clients = (strategy(&words, &bound), prop::collection::vec(any::<Index>(), 19));
            let agree = |((world, client), picks): ((World, Client), Vec<Index>)| {
                let client = if scale == 1 { in_ways(&client, true, &picks[..9]) } else { client };
                let (world, programs) = with_crashes(&(world, client), picks[9], &picks[10..]);
                agree_on(&tso::switched(switches), switches, &world, &programs)
            };
            runner(cases * scale / part).run(&clients, agree).unwrap();
        }
    }
}

/// Two kinds of wrong axioms disagree with the machine. In the first, any operation may be missing, whatever comes
/// after it. In the second, learning of a death does not synchronise with the dead thread.
#[test]
fn other_axioms_of_crashes_are_noticed() {
    let crashes = Switches::CRASHES;
    let anything = tso::switched(crashes).respecified(TSO, |spec| spec.demands.retain(|(name, ..)| *name != "cut-off"));
    let unordered = tso::switched(crashes).respecified(CRASH, |spec| spec.so.clear());
    let (words, bound) = (tso::PollClients { rmw: false }, bound(2, 2, 3));
    for (libraries, what) in [(anything, "what is missing"), (unordered, "who is dead")] {
        let clients = (strategy(&words, &bound), prop::collection::vec(any::<Index>(), 10));
        let result = runner_to_fail(1000).run(&clients, |(client, picks)| {
            let (world, programs) = with_crashes(&client, picks[0], &picks[1..]);
            agree_on(&libraries, crashes, &world, &programs)
        });
        assert!(result.is_err(), "{what}");
    }
}

/// Returns the world of a client of RDMA-WAIT-RMW for polls, and the compiler.
fn compiled(how: WaitByPolls, world: &World, queues: u8) -> (World, Implementations) {
    let mut by_polls = world.clone();
    by_polls.objects.values_mut().for_each(|o| o.library = TSO);
    (by_polls, Compiling::in_force(how, &["d", "e"].map(Name::literal), queues))
}

/// Replaces the identifier d by e in some calls of a client.
fn with_two_identifiers(client: &Client, picks: &[Index]) -> Client {
    let mut client = client.clone();
    let calls = client.threads.iter_mut().flatten();
    for (call, pick) in calls.zip(picks) {
        let wid = call.args.iter_mut().find(|a| matches!(a, Val::Wid(_)));
        if let (Some(wid), 1) = (wid, pick.index(2)) {
            *wid = Val::Wid(mowgli_core::ids::Wid(Name::literal("e")));
        }
    }
    client
}

fn compiles(how: WaitByPolls, switches: Option<Switches>, mut cases: TestRunner) -> Result<(), String> {
    let of = switches.unwrap_or(Switches::OFF);
    let (waits, polls) = (wait::switched(of), tso::switched(of));
    let words = wait::WordClients { rmw: true };
    let bound = bound(2, 2, 4);
    let clients = (strategy(&words, &bound), prop::collection::vec(any::<Index>(), 16));
    let result = cases.run(&clients, |((world, client), picks)| {
        let client = with_two_identifiers(&client, &picks[..8]);
        let client = switches.map_or(client.clone(), |of| in_ways(&client, of.unsignalled, &picks[8..]));
        let programs = flowing(&client, integers);
        let (world_by_polls, compiling) = compiled(how, &world, 1 + u8::from(switches.is_some()));
        let Some(promised) = by_axioms(&waits, &world, &programs) else { return Ok(()) };
        let Some(found) = by_axioms_with(&compiling, &polls, &world_by_polls, &programs) else { return Ok(()) };
        prop_assert!(found.is_subset(&promised), "{:?}", client);
        prop_assert!(!found.is_empty(), "what waits for nothing else ends: {:?}", client);
        Ok(())
    });
    result.map_err(|e| e.to_string())
}

/// SYNC Theorem 6.
#[test]
fn waits_compile_to_polls() {
    compiles(WaitByPolls::Published, None, runner(1500)).unwrap();
}

/// The same holds with several queue pairs, each of which is polled, and with operations that do not have a completion.
fn compiles_in_part_by_queue_pairs(part: u32) {
    for unsignalled in [false, true] {
        compiles(WaitByPolls::Published, Some(Switches { unsignalled, ..Switches::OFF }), runner(1000 / part)).unwrap();
    }
}

/// The property can fail: with two operations one poll is not enough.
#[test]
fn polling_once_is_not_enough() {
    assert!(compiles(WaitByPolls::PollOnce, None, runner_to_fail(3000)).is_err());
}

/// Runs compiled programs on the machine: the sets of open operations are the same there.
#[test]
fn the_machine_runs_what_is_compiled() {
    let words = wait::WordClients { rmw: true };
    let bound = bound(2, 2, 2);
    runner(300)
        .run(&strategy(&words, &bound), |(world, client)| {
            let (world, compiling) = compiled(WaitByPolls::Published, &world, 1);
            let polls = Libraries::over(to).with(Tso::PUBLISHED);
            let bodies = flowing(&client, integers);
            let Some(axioms) = by_axioms_with(&compiling, &polls, &world, &bodies) else { return Ok(()) };
            let programs = scripts(&bodies);
            let runs = Machine::new(&world, &programs).unwrap().implementing(compiling).explore(
                &all_cells(&world),
                1_000_000,
                &|| false,
            );
            prop_assert_eq!(axioms, runs.outcomes, "{:?}", client);
            Ok(())
        })
        .unwrap();
}

/// Returns the outcomes of a test of RDMA_TSO, on which both engines agree.
fn on_both_engines(rest: &str) -> BTreeSet<String> {
    let test = parse("a test", &format!("RDMA_TSO t {rest}")).unwrap();
    outcomes(&test, &solve_with(Engine::Both, &test, Limits::default()).unwrap())
}

#[test]
fn additions_wrap_and_what_is_no_integer_has_no_sum() {
    let add = |start: &str, number: &str| {
        on_both_engines(&format!(
            "{{ x@1 = 0; y@1 = bot; z@2 = {start}; }}\n P1@1 ;\n a := y ;\n rfaa(x, z, {number}) ;\n poll(2) ;\n\
             locations [x; z;]\n"
        ))
    };
    let one = |x: &str, z: &str| BTreeSet::from([format!("a=bot x={x} z={z}")]);
    assert_eq!(add("9223372036854775807", "1"), one("9223372036854775807", "-9223372036854775808"));
    assert_eq!(add("-9223372036854775808", "-1"), one("-9223372036854775808", "9223372036854775807"));
    for start in ["bot", "true", "(1, 2)"] {
        assert_eq!(add(start, "1"), BTreeSet::new(), "{start}");
    }
    assert_eq!(add("0", "a"), BTreeSet::new(), "bot is nothing to add");
    // If another thread writes an integer, the addition reads that, or the execution does not exist.
    let beside = "{ x@1 = 0; z@2 = bot; }\n P1@1 | P2@2 ;\n rfaa(x, z, 1) | z := 1 ;\nlocations [x; z;]\n";
    assert_eq!(on_both_engines(beside), BTreeSet::from(["x=1 z=2".to_owned()]));
}

/// An addition by the CPU is like one by the card, and drains the store buffer.
#[test]
fn an_addition_of_the_cpu_is_locked() {
    let add =
        |start: &str| on_both_engines(&format!("{{ x@1 = {start}; }}\n P1@1 ;\n a := faa(x, 1) ;\nlocations [x;]\n"));
    let wrapped = "a=9223372036854775807 x=-9223372036854775808".to_owned();
    assert_eq!(add("9223372036854775807"), BTreeSet::from([wrapped]));
    assert_eq!(add("bot"), BTreeSet::new());
    let both = on_both_engines("{ x@1 = 0; }\n P1@1 | P2@1 ;\n a := faa(x, 1) | b := faa(x, 2) ;\nlocations [x;]\n");
    assert_eq!(both, BTreeSet::from(["a=0 b=1 x=3".to_owned(), "a=2 b=0 x=3".to_owned()]));
    let buffering = "{ x@1 = 0; y@1 = 0; }\n P1@1 | P2@1 ;\n faa(x, 1) | faa(y, 1) ;\n a := y | b := x ;\n";
    assert!(!on_both_engines(buffering).contains("a=0 b=0"));
}

/// Exchanges by cards exclude each other. Exchanges by CPU and card do so only with a switch.
#[test]
fn exchanges_exclude_each_other_as_rcas_and_cas_do() {
    let cards = "{ x@1 = 9; y@2 = 9; z@2 = 0; }\n P1@1 | P2@2 ;\n rxchg(x, z, 1) | rxchg(y, z, 2) ;\n\
                 locations [x; y; z;]\n";
    assert_eq!(on_both_engines(cards), BTreeSet::from(["x=0 y=1 z=2".to_owned(), "x=2 y=0 z=1".to_owned()]));
    let beside = "{ x@1 = 9; z@2 = 0; }\n P1@1 | P2@2 ;\n rxchg(x, z, 1) | a := faa(z, 2) ;\nlocations [x;]\n";
    assert!(on_both_engines(beside).contains("a=0 x=0"));
    let test = parse("a test", &format!("RDMA_TSO+global-atomics t {beside}")).unwrap();
    let global = outcomes(&test, &solve_with(Engine::Both, &test, Limits::default()).unwrap());
    assert_eq!(global, BTreeSet::from(["a=0 x=2".to_owned(), "a=1 x=0".to_owned()]));
}

/// Replaces compare-and-swaps of the CPU in a client by additions, and additions of the card by exchanges.
fn always_writing(client: &Client) -> Client {
    let mut client = client.clone();
    for call in client.threads.iter_mut().flatten() {
        match (call.method.text(), &call.args[..]) {
            ("CAS", &[x, _, v]) => *call = Call::new(call.library, "FAA", &[x, v]),
            ("RFAA", args) => *call = Call::new(call.library, "RXchg", args),
            _ => {}
        }
    }
    client
}

fn agree_in_part_on_exchanges(part: u32) {
    let global = Switches { global_atomics: true, ..Switches::OFF };
    for switches in [Switches::OFF, global] {
        for (bound, cases) in [(bound(2, 2, 3), 400), (bound(3, 2, 2), 200), (bound(1, 2, 5), 200)] {
            let words = tso::PollClients { rmw: true };
            let agree = |(world, client): (World, Client)| agree(switches, &(world, always_writing(&client)));
            runner(cases / part).run(&strategy(&words, &bound), agree).unwrap();
        }
    }
}

#[test]
fn an_addition_of_sc_rmw_is_as_that_of_the_network() {
    let add = |start: &str| {
        let text = format!("RDMA_WAIT t {{ sc v = {start}; }}\n P1@1 ;\n a := v.faa(1) ;\n b := v.read ;\n");
        let (test, answer) = solved("a test", &text).unwrap();
        outcomes(&test, &answer)
    };
    let wrapped = "a=9223372036854775807 b=-9223372036854775808".to_owned();
    assert_eq!(add("9223372036854775807"), BTreeSet::from([wrapped]));
    assert_eq!(add("bot"), BTreeSet::new());
}

#[test]
fn an_exchange_is_atomic_and_drains_the_store_buffer() {
    let both = on_both_engines("{ x@1 = 0; }\n P1@1 | P2@1 ;\n a := xchg(x, 1) | b := xchg(x, 2) ;\nlocations [x;]\n");
    assert_eq!(both, BTreeSet::from(["a=0 b=1 x=2".to_owned(), "a=2 b=0 x=1".to_owned()]));
    let buffering = "{ x@1 = 0; y@1 = 0; }\n P1@1 | P2@1 ;\n xchg(x, 1) | xchg(y, 1) ;\n a := y | b := x ;\n";
    assert!(!on_both_engines(buffering).contains("a=0 b=0"));
    let beside_cas = "{ x@1 = 0; }\n P1@1 | P2@1 ;\n a := xchg(x, 1) | b := cas(x, 0, 2) ;\nlocations [x;]\n";
    assert_eq!(on_both_engines(beside_cas), BTreeSet::from(["a=0 b=1 x=1".to_owned(), "a=2 b=0 x=1".to_owned()]));
}

#[test]
fn a_poll_of_nothing_never_returns() {
    let world =
        tso::PollClients { rmw: false }.worlds(&World::new(1, &[Node(1)]), &bound(1, 1, 1), &|| false).remove(0);
    let programs = [tso::poll(Node(1))];
    assert!(by_axioms(&Libraries::over(to).with(Tso::PUBLISHED), &world, &programs).unwrap().is_empty());
    let programs = programs.map(Script::from);
    let runs = Machine::new(&world, &programs).unwrap().explore(&[], 100, &|| false);
    assert_eq!((runs.outcomes.len(), runs.stuck.len()), (0, 1));
}

/// RDMA-SC as in ROBUST Def. 4, with the tables of Fig. 4 written out.
#[derive(Clone, Copy)]
struct LiteralSc;

/// A row or column of Fig. 4.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    Cpu,
    LocalRead,
    RemoteWrite,
    RemoteRead,
    LocalWrite,
    Fence,
}

fn kind(a: RdmaStamp) -> Row {
    match a {
        RdmaStamp::aNLR(_) => Row::LocalRead,
        RdmaStamp::aNRW(_) => Row::RemoteWrite,
        RdmaStamp::aNRR(_) => Row::RemoteRead,
        RdmaStamp::aNLW(_) => Row::LocalWrite,
        RdmaStamp::aRF(_) => Row::Fence,
        _ => Row::Cpu,
    }
}

/// True if the cell of Fig. 4 is marked sqp. With `issue`, also for the two cells in which ippo is more than oppo.
fn is_same_queue_pair(a: Row, b: Row, issue: bool) -> bool {
    use Row::{Cpu, Fence, LocalRead, LocalWrite, RemoteRead, RemoteWrite};
    match (a, b) {
        (Cpu, _) | (_, Cpu) => false,
        (LocalRead | Fence, _) => true,
        (RemoteWrite, RemoteWrite | RemoteRead | LocalWrite) => true,
        (RemoteRead, LocalWrite | Fence) => true,
        (LocalWrite, LocalWrite) => true,
        (RemoteWrite | LocalWrite, Fence) => issue,
        _ => false,
    }
}

impl Library for LiteralSc {
    fn name(&self) -> Name {
        TSO
    }

    fn methods(&self) -> &'static [method::Method] {
        Tso::PUBLISHED.methods()
    }

    fn admitted(&self) -> PlainSet<'_> {
        Tso::PUBLISHED.admitted()
    }

    fn shapes_by_function(&self, world: &World, event: &Event) -> Vec<Shape> {
        Tso::PUBLISHED.shapes_by_function(world, event)
    }

    fn spec(&self) -> Spec {
        let mut c = Spec::default();
        let (rf, initial) = c.reads_from("rf", reads(), writes());
        let mo = c.order("mo", writes(), CELL);
        let rb = (rf.inv().then(&mo) | initial) - id();
        let sqp = same(|s: &SubView| {
            Some(Val::tuple(&[Val::Int(i64::from(s.event.thread.0)), Val::Node(RdmaStamp::of(s.sub.stamp).node()?)]))
        });
        let of_kind = |k: Row| stamps(move |a| kind(a) == k);
        let inside = |a, b| same_event().between(&of_kind(a), &of_kind(b));
        let cross = |a, b| of_kind(a).cross(&of_kind(b));
        let nfo_pairs = cross(Row::LocalRead, Row::LocalWrite) | cross(Row::RemoteRead, Row::RemoteWrite);
        let nfo = c.orient("nfo", nfo_pairs & &sqp);
        let kinds = [Row::Cpu, Row::LocalRead, Row::RemoteWrite, Row::RemoteRead, Row::LocalWrite, Row::Fence];
        // The two events of an operation are in program order too.
        let in_po = |issue: bool| {
            let mut all = po().between(&of_kind(Row::Cpu), &stamps(|_: RdmaStamp| true))
                | inside(Row::LocalRead, Row::RemoteWrite)
                | inside(Row::RemoteRead, Row::LocalWrite);
            // A CAS that fails is a fence, then a read.
            all = all | same_event().between(&stamped(RdmaStamp::aMF), &stamped(RdmaStamp::aCR));
            for (a, b) in kinds.into_iter().flat_map(|a| kinds.map(|b| (a, b))) {
                if is_same_queue_pair(a, b, issue) {
                    all = all | (po() & &sqp).between(&of_kind(a), &of_kind(b));
                }
            }
            all
        };
        let (ippo, oppo, pf) = (in_po(true), in_po(false), tso::pf());
        let ib = (&ippo | &rf | &pf | &nfo).plus();
        let inst = stamps(|a| !matches!(a, RdmaStamp::aNLW(_) | RdmaStamp::aNRW(_)));
        let seen = pf.between(&of_kind(Row::LocalWrite), &stamps(|_: RdmaStamp| true));
        let ob = (&oppo | &rf | &seen | &nfo | &rb | &mo | inst.on().then(&ib)).plus();
        c.irreflexive("ib", &ib);
        c.irreflexive("ob", &ob);
        c.so([&ob.named("ob", "{a} is observed before {b}")]);
        c
    }
}

impl Hints for LiteralSc {
    fn returns(&self, world: &World, earlier: &[Event], t: Tid, call: &Call, cells: CellValues<'_>) -> Vec<Val> {
        Tso::PUBLISHED.returns(world, earlier, t, call, cells)
    }
}

/// RDMA-SC is RDMA-TSO with one more row in the stamp order.
#[test]
fn the_stamp_order_of_sc_gives_what_is_published() {
    let literal = Libraries::over(|_: RdmaStamp, _| false).with(LiteralSc);
    let (by_row, tso) = (mowgli_rdma::sc::libraries(), Libraries::over(to).with(Tso::PUBLISHED));
    let words = tso::PollClients { rmw: false };
    for (bound, cases) in [(bound(2, 2, 3), 800), (bound(3, 2, 2), 500), (bound(1, 2, 5), 300)] {
        let agree = |(world, client): (World, Client)| {
            let programs = flowing(&client, integers);
            let all = [&literal, &by_row, &tso].map(|l| by_axioms(l, &world, &programs));
            let [Some(literal), Some(by_row), Some(tso)] = all else { return Ok(()) };
            prop_assert_eq!(&literal, &by_row, "{:?}", client);
            prop_assert!(by_row.is_subset(&tso), "{:?}", client);
            Ok(())
        };
        runner(cases).run(&strategy(&words, &bound), agree).unwrap();
    }
}
