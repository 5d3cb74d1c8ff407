//! Checks that the axioms, the machine with store buffers and RDMA's CPU have the same outcomes of random programs.

use std::collections::BTreeSet;

use mowgli_core::event::Cell;
use mowgli_core::library::Libraries;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::Problem;
use mowgli_core::soundness::client::{self, Client, strategy};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::script::Script;
use mowgli_core::world::World;
use mowgli_rdma::wait::{WAIT, Wait};
use mowgli_x86::tso::{MACHINE, X86Clients, X86Tso};
use proptest::prelude::*;

/// Turns a client into programs in which values flow. An integer `k` of a call becomes `k - 1` more than the last value
/// that the thread got.
fn flowing(client: &Client) -> Vec<Script> {
    let bodies = client::flowing(client, |call| call.method.text() != "FAA", |v| v);
    bodies.iter().map(Script::of).collect()
}

/// x86-TSO.
fn x86() -> Libraries {
    Libraries::over(mowgli_x86::to).with(X86Tso)
}

/// Returns the outcomes by the axioms, with the last values of all words. Both ways of finding them have to agree.
fn by_axioms(libraries: &Libraries, world: &World, programs: &[Script]) -> BTreeSet<Outcome> {
    let observed = observed(world);
    let problem = Problem { observed: &observed, ..Problem::of(libraries, world, programs) };
    let guessed: BTreeSet<_> = problem.outcomes().all().expect("no limit").into_keys().collect();
    let flowing = problem.outcomes_by_flow().expect("no value comes out of nowhere");
    assert_eq!(flowing.all().expect("no limit").into_keys().collect::<BTreeSet<_>>(), guessed);
    guessed
}

fn observed(world: &World) -> Vec<Cell> {
    world.objects.keys().map(|&loc| Cell { loc, node: MACHINE }).collect()
}

/// Returns the same client of RDMA's CPU.
fn of_rdma((world, client): &(World, Client)) -> (World, Client) {
    let (mut world, mut client) = (world.clone(), client.clone());
    world.objects.values_mut().for_each(|object| object.library = WAIT);
    client.threads.iter_mut().flatten().for_each(|call| call.library = WAIT);
    (world, client)
}

fn bound(threads: usize, calls: usize) -> Bound {
    Bound { threads, nodes: 1, calls, values: vec![1, 2], ..Bound::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn of_axioms_and_machine((world, client) in strategy(&X86Clients, &bound(3, 3))) {
        let programs = flowing(&client);
        let expected = crate::machine::outcomes(&world, &programs, &observed(&world));
        prop_assert_eq!(by_axioms(&x86(), &world, &programs), expected);
    }

    #[test]
    fn of_longer_threads((world, client) in strategy(&X86Clients, &bound(2, 4))) {
        let programs = flowing(&client);
        let expected = crate::machine::outcomes(&world, &programs, &observed(&world));
        prop_assert_eq!(by_axioms(&x86(), &world, &programs), expected);
    }

    /// RDMA's CPU has no fetch-and-add.
    #[test]
    fn of_both_models((world, mut client) in strategy(&X86Clients, &bound(3, 3))) {
        client.threads.iter_mut().for_each(|calls| calls.retain(|call| call.method.text() != "FAA"));
        let (rdma, same) = of_rdma(&(world.clone(), client.clone()));
        let of_rdma = Libraries::over(mowgli_rdma::to).with(Wait);
        prop_assert_eq!(by_axioms(&x86(), &world, &flowing(&client)), by_axioms(&of_rdma, &rdma, &flowing(&same)));
    }
}
