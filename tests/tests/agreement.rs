//! Checks that on generated clients the two of each pair agree: judge and search, kept and recovered f, RON and memory.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::execution::Execution;
use mowgli_core::ids::{Loc, Node};
use mowgli_core::judge::judge;
use mowgli_core::library::Libraries;
use mowgli_core::search::abstraction::recover;
use mowgli_core::search::denote::Unfolder;
use mowgli_core::search::enumerate::consistent;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::Problem;
use mowgli_core::search::runs::skeletons;
use mowgli_core::search::solver::Flow;
use mowgli_core::soundness::client::{Client, Subject, strategy};
use mowgli_core::stamp;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::{Implementation, Implementations, add_parts};
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::bal::{Bal, BalOverSv};
use mowgli_libraries::sc_rmw::ScRmw;
use mowgli_libraries::sv::{Sv, SvOverWait};
use mowgli_rdma::wait::{WAIT, Wait, WordClients};
use mowgli_rdma::{RdmaStamp, to};
use mowgli_tests::{flowing, scripts};
use proptest::prelude::*;

const WORDS: WordClients = WordClients { rmw: true };

fn bound(threads: usize, calls: usize) -> Bound {
    Bound { threads, nodes: 2, calls, objects: 1, loops: 2, values: vec![1], ..Bound::default() }
}

fn ask<T>(
    libraries: &Libraries,
    implementations: &Implementations,
    (world, client): &(World, Client),
    answer: impl FnOnce(&Problem<'_>) -> T,
) -> T {
    let mut world = world.clone();
    implementations.values().for_each(|i| add_parts(&**i, &mut world));
    let programs = client.programs();
    answer(&Problem { implementations, ..Problem::of(libraries, &world, &programs) })
}

/// Enumerates the outcomes of all consistent executions, with the number of classes. Returns `None` if there are too
/// many candidates.
fn by_enumeration(libraries: &Libraries, world: &World, programs: &[Script]) -> Option<BTreeMap<Outcome, usize>> {
    let none = Implementations::new();
    let unfolder = Unfolder { libraries, implementations: &none, world, rounds: 2, limit: 1000, expired: &|| false };
    let threads = skeletons(&unfolder, programs).threads;
    let runs = threads.iter().map(|t| t.iter().flat_map(|s| &s.runs));
    let mut classes: BTreeMap<Outcome, BTreeSet<String>> = BTreeMap::new();
    if runs.clone().map(Iterator::count).product::<usize>() > 500 {
        return None;
    }
    for runs in runs.multi_cartesian_product() {
        for execution in consistent(libraries, world, &runs, 2_000)? {
            let sources = execution.chosen.iter().filter(|c| c.name == "rf");
            let class = format!("{:?} {:?}", execution.subs, sources.collect::<Vec<_>>());
            let outcome = Outcome { outputs: execution.outputs, finals: Vec::new() };
            classes.entry(outcome).or_default().insert(class);
        }
    }
    Some(classes.into_iter().map(|(o, c)| (o, c.len())).collect())
}

fn by_search(libraries: &Libraries, world: &World, programs: &[Script]) -> BTreeMap<Outcome, usize> {
    let all = Problem::of(libraries, world, programs).outcomes();
    all.all().expect("nothing stops it").into_iter().map(|(o, n)| (o, n as usize)).collect()
}

/// Returns one completed execution of each class.
fn executions(libraries: &Libraries, implementations: &Implementations, client: &(World, Client)) -> Vec<Execution> {
    let mut all = Vec::new();
    ask(libraries, implementations, client, |problem| {
        let _ = problem.explore(&mut |solver| {
            let snapshot = solver.snapshot();
            assert!(solver.complete());
            all.push(solver.execution().expect("everything is decided"));
            solver.restore(snapshot);
            if all.len() < 200 { Flow::Continue } else { Flow::Stop }
        });
    });
    all
}

fn agree(libraries: &Libraries, client: &(World, Client)) -> Result<(), TestCaseError> {
    for programs in [client.1.programs(), scripts(&flowing(&client.1, |v| v))] {
        let Some(expected) = by_enumeration(libraries, &client.0, &programs) else { return Ok(()) };
        prop_assert_eq!(by_search(libraries, &client.0, &programs), expected);
    }
    Ok(())
}

/// Checks that every execution that the search finds is consistent for the judge, and survives being written and read.
fn are_consistent(libraries: &Libraries, all: &[Execution]) -> Result<(), TestCaseError> {
    for execution in all {
        prop_assert!(judge(libraries, execution).is_ok(), "{:?}", judge(libraries, execution));
        let text = ron::to_string(execution).expect("a form in RON");
        let read = stamp::reading::<RdmaStamp, _>(|| ron::from_str::<Execution>(&text));
        prop_assert_eq!(&read.expect("as written"), execution);
    }
    Ok(())
}

/// Checks that the kept f is one of the recovered ones in every thread.
fn f_is_recovered(
    implementation: &dyn Implementation,
    subject: &dyn Subject,
    bound: &Bound,
    client: &World,
    all: &[Execution],
) -> Result<(), TestCaseError> {
    for execution in all {
        for thread in execution.world.tids() {
            let of_thread: Vec<usize> = execution.of_thread(thread).collect();
            let kept: Vec<(Call, usize)> = of_thread
                .iter()
                .chunk_by(|&&e| execution.groups[e])
                .into_iter()
                .map(|(g, own)| (execution.calls[g.expect("only this library")].event.call.clone(), own.count()))
                .collect();
            let events: Vec<_> = of_thread.iter().map(|&e| &execution.events[e]).collect();
            let calls = subject.calls(client, thread, bound, &|| false);
            let ways = recover(implementation, &execution.world, thread, &calls, &events);
            let ways = ways.into_iter().map(|w| w.into_iter().map(|p| (p.event.call, p.length)).collect());
            let ways: Vec<Vec<(Call, usize)>> = ways.collect();
            prop_assert!(ways.contains(&kept), "{:?} is not among {:?}", kept, ways);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn search_and_judge_on_rdma_wait(client in strategy(&WORDS, &bound(2, 2))) {
        let libraries = Libraries::over(to).with(Wait);
        agree(&libraries, &client)?;
        are_consistent(&libraries, &executions(&libraries, &Implementations::new(), &client))?;
    }

    #[test]
    fn search_and_judge_on_rdma_sc_rmw(client in strategy(&ScRmw, &bound(2, 2))) {
        agree(&Libraries::over(to).with(ScRmw), &client)?;
    }

    #[test]
    #[ignore = "takes a quarter of a minute"]
    fn search_and_judge_on_more_calls_of_rdma_sc_rmw(client in strategy(&ScRmw, &bound(2, 3))) {
        agree(&Libraries::over(to).with(ScRmw), &client)?;
    }

    #[test]
    fn search_and_judge_on_shared_variables(client in strategy(&Sv, &bound(2, 2))) {
        agree(&Libraries::over(to).with(Sv), &client)?;
    }

    #[test]
    fn search_and_judge_on_barriers(client in strategy(&Bal::Plain, &bound(3, 2))) {
        agree(&Libraries::over(to).with(Bal::Plain), &client)?;
    }

    #[test]
    fn kept_and_recovered_f_of_shared_variables(client in strategy(&Sv, &bound(2, 3))) {
        let implementations = Implementations::from([(SvOverWait.target(), mowgli_libraries::sv::over_wait())]);
        let libraries = Libraries::over(to).with(Wait);
        let all = executions(&libraries, &implementations, &client);
        are_consistent(&libraries, &all)?;
        f_is_recovered(&SvOverWait, &Sv, &bound(2, 3), &client.0, &all)?;
    }

    #[test]
    fn kept_and_recovered_f_of_barriers(client in strategy(&Bal::Plain, &bound(2, 2))) {
        let implementation = BalOverSv::default();
        let implementations: Implementations = [(implementation.target(), std::sync::Arc::new(implementation) as _)].into();
        let libraries = Libraries::over(to).with(Sv);
        let all = executions(&libraries, &implementations, &client);
        are_consistent(&libraries, &all)?;
        f_is_recovered(&implementation, &Bal::Plain, &bound(2, 2), &client.0, &all)?;
    }
}

/// Checks that the judge rejects a consistent execution with a change: no sources, a pair of events that do not exist,
/// or another value read.
#[test]
fn the_judge_rejects_what_was_changed() {
    let client = (
        WORDS.worlds(&World::new(1, &[Node(1)]), &bound(1, 1), &|| false).remove(0),
        Client {
            threads: vec![vec![
                Call::new(WAIT, "Write", &[Loc::new("x1").into(), Val::Int(1)]),
                Call::new(WAIT, "Read", &[Loc::new("x1").into()]),
            ]],
        },
    );
    let libraries = Libraries::over(to).with(Wait);
    let [good] = &executions(&libraries, &Implementations::new(), &client)[..] else { panic!("one execution") };
    assert!(judge(&libraries, good).is_ok());
    let mut unread = good.clone();
    unread.chosen.iter_mut().for_each(|c| c.pairs.clear());
    assert!(judge(&libraries, &unread).is_err());
    let mut elsewhere = good.clone();
    elsewhere.chosen[0].pairs.push((7, 9));
    assert!(judge(&libraries, &elsewhere).is_err());
    let mut other_value = good.clone();
    other_value.subs[1].read = Some(Val::Int(0));
    assert!(judge(&libraries, &other_value).is_err());
}
