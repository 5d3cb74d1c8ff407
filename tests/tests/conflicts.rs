//! Conflicting accesses: those that the machine sees in one state are those that hb does not order in some execution.
//!
//! hb is that of `mowgli-rdma/src/operational/conflicts.rs`, computed literally: `(ppo u iso u rf_e u pfg u [Inst]; ib)+`.
//! Here ib is `(ippo u iso u rf u pfg u pfp u rmw)+`. The choices of an order, which are mo, rb, nfo and rao, are in neither. A pair
//! of rf does not order its own two accesses. A compare-and-swap of a CPU counts as a write even if it fails.

use std::collections::BTreeSet;

use mowgli_core::algebra::stamps;
use mowgli_core::execution::{Execution, Pairs};
use mowgli_core::ids::Loc;
use mowgli_core::judge::{Reading, closure};
use mowgli_core::library::Libraries;
use mowgli_core::search::problem::Problem;
use mowgli_core::search::solver::Flow;
use mowgli_core::soundness::client::{Client, strategy};
use mowgli_core::world::World;
use mowgli_rdma::operational::Machine;
use mowgli_rdma::tso::{self, TSO, pf};
use mowgli_rdma::{RdmaStamp, Switches};
use proptest::prelude::*;

use crate::machine::{all_cells, bound, runner};

/// An access: the thread, whether the CPU makes it, and whether it writes.
type Access = (usize, bool, bool);
/// Two accesses of a word, the smaller one first.
type Conflict = (Loc, Access, Access);

fn conflict(x: Loc, a: Access, b: Access) -> Conflict {
    (x, a.min(b), a.max(b))
}

/// True if one writes, one is by a CPU, and they are not both by the CPU of one thread.
fn conflicts((t, cpu, writes): Access, (u, other_cpu, also_writes): Access) -> bool {
    (writes || also_writes) && (cpu || other_cpu) && !(t == u && cpu && other_cpu)
}

/// The conflicts that the machine sees; `None` if some run is stuck.
fn by_machine((world, client): &(World, Client)) -> Option<BTreeSet<Conflict>> {
    let programs = client.programs();
    let mut machine = Machine::new(world, &programs).unwrap().watching();
    let runs = machine.explore(&all_cells(world), 20_000, &|| false);
    if runs.stop.is_some() || !runs.stuck.is_empty() || runs.outcomes.is_empty() {
        return None;
    }
    let all = machine.conflicts().map(|((a, b), _)| {
        let access = |a: mowgli_rdma::operational::NextAccess| (a.thread.index(), a.by_cpu, a.writes);
        conflict(a.x, access(a), access(b))
    });
    Some(all.collect())
}

/// hb of an execution. Of rf it has the pairs that `synchronises` accepts.
fn hb(libraries: &Libraries, execution: &Execution, synchronises: &dyn Fn(usize, usize) -> bool) -> Pairs {
    let reading = Reading::new(libraries, execution, TSO);
    let of = |is: fn(RdmaStamp) -> bool| -> BTreeSet<usize> { reading.members(&stamps(is)).into_iter().collect() };
    use RdmaStamp::{aCR, aCW, aNLW, aNRW, aRF, aWT};
    let (reads, writes, waits) = (of(|a| a == aCR), of(|a| a == aCW), of(|a| a == aWT));
    let (local, remote, fences) =
        (of(|a| matches!(a, aNLW(_))), of(|a| matches!(a, aNRW(_))), of(|a| matches!(a, aRF(_))));
    let instantaneous = of(RdmaStamp::is_instantaneous);
    let rf: Pairs =
        reading.pairs(&reading.spec.chosen("rf").unwrap()).into_iter().filter(|&(w, r)| synchronises(w, r)).collect();
    let external =
        |&(w, r): &(usize, usize)| !(writes.contains(&w) && reads.contains(&r) && execution.before_in_thread(w, r));
    let (iso, ppo) = (reading.pairs(reading.spec.part("iso").unwrap()), execution.ppo(libraries));
    let polled = reading.pairs(&pf());
    let pfg: Pairs = polled.iter().copied().filter(|(a, b)| local.contains(a) && waits.contains(b)).collect();
    let pfp = polled.iter().copied().filter(|(a, b)| remote.contains(a) && waits.contains(b));
    let n = execution.subs.len();
    let all = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
    let queue = |s: usize| (execution.subs[s].sub.stamp.node(), execution.subs[s].sub.stamp.channel());
    let more = all.filter(|&(a, b)| {
        let follows = execution.before_in_thread(a, b);
        let of_cpu = writes.contains(&a) && (reads.contains(&b) || waits.contains(&b));
        let fenced = (local.contains(&a) || remote.contains(&a)) && fences.contains(&b) && queue(a) == queue(b);
        let rmw = execution.subs[a].event == execution.subs[b].event && remote.contains(&a) && local.contains(&b);
        follows && (of_cpu || fenced) || rmw
    });
    let ib = closure(&ppo.iter().chain(&iso).chain(&rf).chain(&pfg).copied().chain(pfp).chain(more).collect());
    let ib = ib.into_iter().filter(|(a, _)| instantaneous.contains(a));
    let rf_e = rf.iter().copied().filter(external);
    closure(&ppo.iter().chain(&iso).chain(&pfg).copied().chain(rf_e).chain(ib).collect())
}

/// The conflicts of an execution that hb does not order.
fn of_execution(libraries: &Libraries, execution: &Execution, plain: &dyn Fn(usize) -> bool) -> BTreeSet<Conflict> {
    let is_cpu = |s: usize| execution.subs[s].sub.stamp.node().is_none();
    let access = |s: usize| {
        let sub = &execution.subs[s];
        let event = &execution.events[sub.event];
        let writes = sub.wrote.is_some() || event.call.method.text() == "CAS";
        (event.thread.index(), is_cpu(s), writes)
    };
    let is_plain = |s: usize| is_cpu(s) && plain(access(s).0);
    let synchronise = |w: usize, r: usize| !is_plain(w) && !is_plain(r);
    let hb_of = |synchronise: &dyn Fn(usize, usize) -> bool| hb(libraries, execution, synchronise);
    let hb = hb_of(&synchronise);
    let mut found = BTreeSet::new();
    let n = execution.subs.len();
    for (a, b) in (0..n).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let (Some(x), Some(y)) = (execution.subs[a].sub.cell, execution.subs[b].sub.cell) else { continue };
        if x != y || !conflicts(access(a), access(b)) {
            continue;
        }
        // Two updates read one from the other in either order. This pair of rf alone does not order them.
        let are_ordered = |hb: &Pairs| hb.contains(&(a, b)) || hb.contains(&(b, a));
        let is_own = |w: usize, r: usize| (w, r) == (a, b) || (w, r) == (b, a);
        if !are_ordered(&hb) || !are_ordered(&hb_of(&|w, r| !is_own(w, r) && synchronise(w, r))) {
            found.insert(conflict(x.loc, access(a), access(b)));
        }
    }
    found
}

/// The conflicts of all executions; `None` if a limit was hit.
fn by_definition((world, client): &(World, Client), plain: &dyn Fn(usize) -> bool) -> Option<BTreeSet<Conflict>> {
    let (libraries, programs) = (tso::switched(Switches::OFF), client.programs());
    let (mut found, mut count) = (BTreeSet::new(), 0);
    let explored = Problem::of(&libraries, world, &programs).explore(&mut |solver| {
        let snapshot = solver.snapshot();
        assert!(solver.complete());
        found.extend(of_execution(&libraries, &solver.execution().expect("everything is decided"), plain));
        solver.restore(snapshot);
        count += 1;
        if count < 2_000 { Flow::Continue } else { Flow::Stop }
    });
    (explored.stop.is_none() && count < 2_000).then_some(found)
}

/// If no access is plain, both have the same conflicts. If the CPU accesses of some threads are plain, both have a race or none: the
/// machine does not see a race behind another one.
fn agree(client: &(World, Client), plain: u8) -> Result<(), TestCaseError> {
    let Some(machine) = by_machine(client) else { return Ok(()) };
    let Some(definition) = by_definition(client, &|_| false) else { return Ok(()) };
    prop_assert_eq!(&machine, &definition, "{:?}", client.1);
    let is_plain = |t: usize| plain >> t & 1 == 1;
    let Some(definition) = by_definition(client, &is_plain) else { return Ok(()) };
    let is_race = |(_, a, b): &Conflict| [a, b].iter().any(|(t, by_cpu, _)| *by_cpu && is_plain(*t));
    prop_assert_eq!(machine.iter().any(is_race), definition.iter().any(is_race), "{:?} {}", client.1, plain);
    Ok(())
}

fn some(cases: u32) {
    let words = tso::PollClients { rmw: true };
    for bound in [bound(2, 2, 2), bound(2, 2, 3), bound(3, 2, 2)] {
        let clients = (strategy(&words, &bound), 0..8u8);
        runner(cases).run(&clients, |(client, plain)| agree(&client, plain)).unwrap();
    }
}

#[test]
fn the_machine_sees_the_conflicts_of_the_definition() {
    some(40);
}

#[test]
#[ignore = "takes ten seconds"]
fn the_machine_sees_the_conflicts_of_the_definition_of_more_programs() {
    some(1500);
}
