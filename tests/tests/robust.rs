//! The theorems of ROBUST on generated programs, in the forms for RDMA-SC and for RDMA-TSO.

use std::cell::Cell;

use mowgli::litmus::parse::parse;
use mowgli::litmus::print::program;
use mowgli::litmus::test::Model;
use mowgli::robust::{insertions, repairs, search};
use mowgli_core::event::Call;
use mowgli_core::judge::judge;
use mowgli_core::library::Libraries;
use mowgli_core::search::problem::Problem;
use mowgli_core::search::solver::Flow;
use mowgli_core::search::witness::completions;
use mowgli_core::soundness::client::{Client, strategy};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::script::Script;
use mowgli_core::world::World;
use mowgli_rdma::robust::{Cpu, PartPosition, PreExecution};
use mowgli_rdma::sc;
use mowgli_rdma::to;
use mowgli_rdma::tso::{PollClients, Tso};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const WORDS: PollClients = PollClients { rmw: false };

fn bound(threads: usize, nodes: u8, calls: usize) -> Bound {
    Bound { threads, nodes, calls, ..Bound::default() }
}

fn cases(cases: u32, bound: &Bound, each: impl Fn(&World, &[Vec<Call>], Cpu) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new_with_rng(
        Config { cases, failure_persistence: None, max_global_rejects: 1_000_000, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let each = |(world, client): (World, Client)| {
        [Cpu::Sc, Cpu::Tso].into_iter().try_for_each(|cpu| each(&world, &client.threads, cpu))
    };
    runner.run(&strategy(&WORDS, bound), each).unwrap();
}

fn straight(threads: &[Vec<Call>]) -> Vec<Script> {
    Client { threads: threads.to_vec() }.programs()
}

/// True if none of the consistent executions has a cycle of sc.
fn is_robust(world: &World, threads: &[Vec<Call>], cpu: Cpu) -> bool {
    search(cpu, world, &straight(threads), &|| false).unwrap().is_none()
}

/// Theorems 5 and 17. The counts ensure that the conditions neither always nor never hold, because then the test would
/// show nothing.
#[test]
fn race_free_and_fenced_programs_are_robust() {
    let (by_theorem, not_robust) = (Cell::new(0), Cell::new(0));
    for (bound, count) in [(bound(2, 2, 4), 1500), (bound(3, 3, 3), 700), (bound(1, 2, 6), 400)] {
        cases(count, &bound, |world, threads, cpu| {
            let Some(program) = PreExecution::new(world, threads) else { return Ok(()) };
            let holds = program.races().is_empty() && program.unfenced(cpu).is_empty();
            let robust = is_robust(world, threads, cpu);
            prop_assert!(robust || !holds, "{:?} {:?}", cpu, threads);
            by_theorem.set(by_theorem.get() + u32::from(holds));
            not_robust.set(not_robust.get() + u32::from(!robust));
            Ok(())
        });
    }
    assert!(by_theorem.get() > 200 && not_robust.get() > 200, "{} {}", by_theorem.get(), not_robust.get());
}

/// Theorems 6 and 18.
#[test]
fn tree_fenced_programs_are_fenced() {
    let trees = Cell::new(0);
    for (bound, count) in [(bound(2, 2, 4), 2000), (bound(3, 3, 3), 2000), (bound(4, 4, 2), 1000)] {
        cases(count, &bound, |world, threads, cpu| {
            let Some(program) = PreExecution::new(world, threads) else { return Ok(()) };
            let is_tree = program.not_tree_fenced(cpu).is_empty();
            prop_assert!(!is_tree || program.unfenced(cpu).is_empty(), "{:?} {:?}", cpu, threads);
            trees.set(trees.get() + u32::from(is_tree));
            Ok(())
        });
    }
    assert!(trees.get() > 200, "{}", trees.get());
}

/// Theorems 1 and 13, on one execution of each class.
#[test]
fn what_is_guaranteed_is_observed_in_order() {
    cases(400, &bound(2, 2, 4), |world, threads, cpu| {
        let Some(program) = PreExecution::new(world, threads) else { return Ok(()) };
        let libraries = if cpu == Cpu::Sc { sc::libraries() } else { Libraries::over(to).with(Tso::PUBLISHED) };
        let gb = program.gb_by_place(cpu);
        let programs = straight(threads);
        let problem = Problem::of(&libraries, world, &programs);
        let mut missing = None;
        let _ = problem.explore(&mut |solver| {
            completions(solver, &mut |execution| {
                let hb = judge(&libraries, &execution).expect("the search found it").hb;
                let subs = |(thread, call, part): PartPosition| {
                    let event = execution.of_thread(mowgli_core::ids::Tid::from_index(thread)).nth(call).unwrap();
                    let own: Vec<usize> =
                        (0..execution.subs.len()).filter(|&s| execution.subs[s].event == event).collect();
                    // A failed compare-and-swap is a fence and a read.
                    let is_operation = matches!(execution.events[event].call.method.text(), "Put" | "Get");
                    if is_operation { vec![own[part]] } else { own }
                };
                for &(a, b) in &gb {
                    let ordered = subs(a).iter().all(|&a| subs(b).iter().all(|&b| hb.contains(&(a, b))));
                    if !ordered {
                        missing = Some((a, b, execution.events.clone()));
                    }
                }
                Flow::Stop
            });
            if missing.is_some() { Flow::Stop } else { Flow::Continue }
        });
        prop_assert!(missing.is_none(), "{:?} {:?}", cpu, missing);
        Ok(())
    });
}

/// A repair makes the program robust, and one is needed only if a condition fails.
#[test]
fn repaired_programs_are_robust() {
    let repaired = Cell::new(0);
    cases(250, &bound(2, 2, 3), |world, threads, cpu| {
        let Some(conditions) = PreExecution::new(world, threads) else { return Ok(()) };
        let text = program(Model::RDMA_TSO, "t", None, world, &Client { threads: threads.to_vec() });
        let test = parse("t", &text).expect("a test");
        let program = insertions(&test);
        let Some(set) = repairs(&program, cpu, 3, &|| false).expect("it has the time") else { return Ok(()) };
        let holds = conditions.races().is_empty() && conditions.unfenced(cpu).is_empty();
        prop_assert_eq!(holds, set.is_empty());
        let fixed = program.with(&set).test;
        let scripts = fixed.programs(&sc::libraries());
        let cyclic = search(cpu, &fixed.world, &scripts, &|| false).expect("it has the time");
        prop_assert!(cyclic.is_none(), "{:?} {:?} {:?}", cpu, threads, set);
        repaired.set(repaired.get() + u32::from(!set.is_empty()));
        Ok(())
    });
    assert!(repaired.get() > 50, "{}", repaired.get());
}
