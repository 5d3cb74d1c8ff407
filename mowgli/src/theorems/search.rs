//! Programs that refute variants of theorems.

use std::collections::BTreeSet;

use mowgli_core::execution::Execution;
use mowgli_core::implementation::Implementations;
use mowgli_core::judge::judge;
use mowgli_core::library::Libraries;
use mowgli_core::problem::{Limits, Problem};
use mowgli_core::search::solver::Flow;
use mowgli_core::search::witness::completions;
use mowgli_core::soundness::client::Client;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_prove::robust::Dropped;
use mowgli_rdma::Stamp;
use mowgli_rdma::robust::{Cpu, Program, sc_cycle};
use mowgli_rdma::tso;
use rayon::prelude::*;

use crate::compare::{bounds, observed, of_size, programs};
use crate::litmus::print;
use crate::litmus::test::Model;

/// A program that shows that a variant of a theorem is false.
#[derive(Clone, Debug)]
pub struct Refutation {
    /// The program, as a litmus test.
    pub litmus: String,
    /// The outcome that it should not have, and why it has it.
    pub why: String,
}

/// What a program shows in an execution: results and last values.
fn outcome(libraries: &Libraries<Stamp>, world: &World, execution: &Execution<Stamp>) -> Vec<Val> {
    let last = observed(world).into_iter().map(|cell| {
        execution.last(libraries, cell).unwrap_or_else(|| world.objects.get(&cell.loc).map_or(Val::Bot, |o| o.init))
    });
    execution.outputs.iter().copied().chain(last).collect()
}

/// A program that meets the conditions of the theorem, but those that are left out, and has an outcome that no sequentially consistent execution has.
pub(super) fn not_robust(
    cpu: Cpu,
    libraries: &Libraries<Stamp>,
    dropped: Dropped,
    expired: &(dyn Fn() -> bool + Sync),
) -> Option<Refutation> {
    let subject = tso::Words { rmw: false };
    let meets = |world: &World, client: &Client| {
        // Of what is left out a program lacks something: of the others the theorem speaks.
        let program = Program::new(world, &client.threads);
        program.is_some_and(|p| p.races().is_empty() != dropped.ldrf && p.unfenced(cpu).is_empty() != dropped.fenced)
    };
    for calls in 1..=4 {
        let all = of_size(&subject, &bounds(), calls, expired).ok()?;
        let found = all.par_iter().find_map_first(|(world, client)| {
            if expired() || !meets(world, client) { None } else { weak(cpu, libraries, world, client, expired) }
        });
        if found.is_some() {
            return found;
        }
    }
    None
}

fn weak(
    cpu: Cpu,
    libraries: &Libraries<Stamp>,
    world: &World,
    client: &Client,
    expired: &dyn Fn() -> bool,
) -> Option<Refutation> {
    let mut taken_in_turns: BTreeSet<Vec<Val>> = BTreeSet::new();
    let mut others: Vec<(Vec<Val>, Execution<Stamp>)> = Vec::new();
    let problem = Problem {
        libraries,
        implementations: &Implementations::new(),
        world,
        programs: &programs(client),
        observed: &[],
        limits: Limits { expired, ..Limits::default() },
    };
    let _ = problem.explore(&mut |solver| {
        completions(solver, &mut |execution| {
            let shown = outcome(libraries, world, &execution);
            match sc_cycle(libraries, &execution) {
                None => _ = taken_in_turns.insert(shown),
                Some(_) => others.push((shown, execution)),
            }
            if expired() { Flow::Stop } else { Flow::Continue }
        })
    });
    let is_new = |(shown, execution): &&(Vec<Val>, Execution<Stamp>)| {
        !taken_in_turns.contains(shown) && judge(libraries, execution).is_ok()
    };
    let (shown, execution) = others.iter().find(is_new)?;
    if expired() {
        return None;
    }
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
    Some(Refutation { litmus: print::program(model, "not-robust", None, world, client), why })
}

/// An outcome in words.
fn said(world: &World, shown: &[Val]) -> String {
    let threads = world.threads.len();
    let results = shown[..threads].iter().flat_map(|v| if let Val::Tuple(t) = v { t.parts() } else { &[] });
    let results = results.enumerate().map(|(i, v)| format!("{}={v}", print::register(i)));
    let last = observed(world).into_iter().zip(&shown[threads..]).map(|(cell, v)| format!("{}={v}", cell.loc));
    results.chain(last).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use mowgli_prove::robust::libraries;

    use super::*;

    #[test]
    fn variants_are_refuted_by_programs_and_theorems_are_not() {
        for cpu in [Cpu::Sc, Cpu::Tso] {
            let found = |variant: &str| not_robust(cpu, &libraries(cpu, variant), Dropped::of(variant), &|| false);
            for variant in ["racy", "unfenced", "poll-before-write"] {
                let Refutation { litmus, why } = found(variant).expect("a program");
                assert!(litmus.contains("P1@1") && why.contains("sc has the cycle"), "{variant}: {litmus}{why}");
                assert_eq!(litmus.contains("poll"), variant == "poll-before-write", "{litmus}");
            }
        }
    }
}
