//! Programs that refute variants of theorems.

use std::collections::BTreeSet;

use mowgli_core::execution::Execution;
use mowgli_core::judge::judge;
use mowgli_core::library::Libraries;
use mowgli_core::search::problem::Problem;
use mowgli_core::search::solver::Flow;
use mowgli_core::search::witness::completions;
use mowgli_core::soundness::client::{Client, Subject};
use mowgli_core::term::implementation::Implementations;
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_prove::theorems::robust::Dropped;
use mowgli_rdma::robust::{Cpu, PreExecution, sc_cycle};
use mowgli_rdma::switches::Switches;
use mowgli_rdma::tso::{self, WaitByPolls};
use mowgli_rdma::wait;
use rayon::prelude::*;

use crate::compare::{bounds, observed, of_size, programs, subject, with_waits_compiled};
use crate::litmus::print;
use crate::litmus::test::Model;

/// A program that shows that a variant of a theorem is false.
#[derive(Clone, Debug)]
pub struct RefutingProgram {
    /// The program, as a litmus test.
    pub litmus: String,
    /// The outcome that it should not have, and why it has it.
    pub why: String,
}

/// Returns the values that a program shows in an execution: results and last values.
fn outcome(libraries: &Libraries, world: &World, execution: &Execution) -> Vec<Val> {
    let last = observed(world).into_iter().map(|cell| {
        execution.last(libraries, cell).unwrap_or_else(|| world.objects.get(&cell.loc).map_or(Val::Bot, |o| o.init))
    });
    execution.outputs.iter().copied().chain(last).collect()
}

/// Calls `visit` with each execution of a program that the search finds, and with the values that the program shows in
/// it.
fn each(
    (libraries, implementations): (&Libraries, &Implementations),
    world: &World,
    programs: &[Script],
    visit: &mut dyn FnMut(Vec<Val>, Execution),
) {
    let problem = Problem { implementations, ..Problem::of(libraries, world, programs) };
    let _ = problem.explore(&mut |solver| {
        completions(solver, &mut |execution| {
            visit(outcome(libraries, world, &execution), execution);
            Flow::Continue
        })
    });
}

/// Returns the first refutation among the first `limit` programs of each size up to four calls, the smallest first.
fn smallest(
    subject: &(dyn Subject + Sync),
    limit: usize,
    find: impl Fn(&World, &Client) -> Option<RefutingProgram> + Sync,
) -> Option<RefutingProgram> {
    (1..=4).find_map(|calls| {
        let all = of_size(subject, &bounds(), calls, &|| false).ok()?;
        all.par_iter().take(limit).find_map_first(|(world, client)| find(world, client))
    })
}

/// Searches for a program that violates the `dropped` conditions of the theorem and meets the others. It must have an
/// outcome of no sequentially consistent execution.
pub(super) fn not_robust(cpu: Cpu, libraries: &Libraries, dropped: Dropped, limit: usize) -> Option<RefutingProgram> {
    let meets = |world: &World, client: &Client| {
        // The program must violate each dropped condition, because otherwise the theorem covers it.
        let program = PreExecution::new(world, &client.threads);
        program.is_some_and(|p| p.races().is_empty() != dropped.ldrf && p.unfenced(cpu).is_empty() != dropped.fenced)
    };
    smallest(&tso::PollClients { rmw: false }, limit, |world, client| {
        if meets(world, client) { weak(cpu, libraries, world, client) } else { None }
    })
}

/// Searches for a program with an outcome that it has only if this compiler replaces its waits by polls.
pub(super) fn not_included(by: WaitByPolls, limit: usize) -> Option<RefutingProgram> {
    let (waits, polls) = (wait::switched(Switches::OFF), tso::switched(Switches::OFF));
    smallest(&*subject(Model::RDMA_WAIT, false), limit, |world, client| {
        if waits_for_something(client) { beyond(by, (&waits, &polls), world, client) } else { None }
    })
}

/// True if a thread waits for an operation that it has issued, and goes on. The compilers treat other programs alike.
fn waits_for_something(client: &Client) -> bool {
    client.threads.iter().any(|calls| {
        let (first, last) = (calls.first().map(|c| c.method.text()), calls.last().map(|c| c.method.text()));
        let waits = calls.iter().any(|c| c.method.text() == "Wait");
        waits && matches!(first, Some("Put" | "Get")) && last != Some("Wait")
    })
}

fn beyond(
    by: WaitByPolls,
    (waits, polls): (&Libraries, &Libraries),
    world: &World,
    client: &Client,
) -> Option<RefutingProgram> {
    let written = programs(client);
    let mut with_waits: BTreeSet<Vec<Val>> = BTreeSet::new();
    each((waits, &Implementations::new()), world, &written, &mut |shown, _| _ = with_waits.insert(shown));
    let (compiled_world, compiling) = with_waits_compiled(by, world.clone());
    let mut new: Option<Vec<Val>> = None;
    each((polls, &compiling), &compiled_world, &written, &mut |shown, execution| {
        if new.is_none() && !with_waits.contains(&shown) && judge(polls, &execution).is_ok() {
            new = Some(shown);
        }
    });
    let shown = new?;
    let why = format!("Compiled to polls it can end with {}, as it cannot with waits.\n", said(world, &shown));
    Some(RefutingProgram { litmus: print::program(Model::RDMA_WAIT, "not-included", None, world, client), why })
}

fn weak(cpu: Cpu, libraries: &Libraries, world: &World, client: &Client) -> Option<RefutingProgram> {
    let mut taken_in_turns: BTreeSet<Vec<Val>> = BTreeSet::new();
    let mut others: Vec<(Vec<Val>, Execution)> = Vec::new();
    each((libraries, &Implementations::new()), world, &programs(client), &mut |shown, execution| match sc_cycle(
        libraries, &execution,
    ) {
        None => _ = taken_in_turns.insert(shown),
        Some(_) => others.push((shown, execution)),
    });
    let is_new = |(shown, execution): &&(Vec<Val>, Execution)| {
        !taken_in_turns.contains(shown) && judge(libraries, execution).is_ok()
    };
    let (shown, execution) = others.iter().find(is_new)?;
    let model = if cpu == Cpu::Sc { Model::RdmaSc } else { Model::RDMA_TSO };
    let cycle = sc_cycle(libraries, execution)?;
    let edge = |(a, name, b): &(usize, &str, usize)| {
        let of = |s: usize| {
            let sub = &execution.subs[s];
            let event = &execution.events[sub.event];
            format!("{}: {} ({})", event.thread, print::statement(&event.call), sub.sub.stamp)
        };
        format!("    {}  {name}  {}\n", of(*a), of(*b))
    };
    let cycle: String = cycle.iter().map(edge).collect();
    let why = format!(
        "It can end with {}, as in no execution in which its threads take turns; sc has the cycle\n{cycle}",
        said(world, shown)
    );
    Some(RefutingProgram { litmus: print::program(model, "not-robust", None, world, client), why })
}

/// Returns an outcome in words.
fn said(world: &World, shown: &[Val]) -> String {
    let threads = world.threads.len();
    let results = shown[..threads].iter().flat_map(|v| if let Val::Tuple(t) = v { t.parts() } else { &[] });
    let results = results.enumerate().map(|(i, v)| format!("{}={v}", print::register(i)));
    let last = observed(world).into_iter().zip(&shown[threads..]).map(|(cell, v)| format!("{}={v}", cell.loc));
    results.chain(last).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use mowgli_prove::theorems::polls::COMPILERS;
    use mowgli_prove::theorems::robust::libraries;

    use super::*;

    #[test]
    fn variants_are_refuted_by_programs_and_theorems_are_not() {
        for cpu in [Cpu::Sc, Cpu::Tso] {
            let found = |variant: &str| not_robust(cpu, &libraries(cpu, variant), Dropped::of(variant), usize::MAX);
            for variant in ["racy", "unfenced", "poll-before-write"] {
                let RefutingProgram { litmus, why } = found(variant).expect("a program");
                assert!(litmus.contains("P1@1") && why.contains("sc has the cycle"), "{variant}: {litmus}{why}");
                assert_eq!(litmus.contains("poll"), variant == "poll-before-write", "{litmus}");
            }
        }
    }

    #[test]
    fn compilers_that_are_broken_are_refuted_by_programs() {
        for (variant, by) in &COMPILERS[1..] {
            let RefutingProgram { litmus, why } = not_included(*by, usize::MAX).expect("a program");
            assert!(litmus.contains("wait(d)") && why.contains("as it cannot with waits"), "{variant}: {litmus}{why}");
            let puts = *variant == "puts-not-added";
            assert!(litmus.contains(if puts { "put(" } else { "get(" }), "{variant}: {litmus}");
        }
    }
}
