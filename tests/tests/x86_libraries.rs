//! Locks, a stack and a queue over x86-TSO. Every variant has its expected verdict, and findings can be written and
//! read again.

use std::collections::BTreeSet;
use std::sync::Arc;

use mowgli::catalogue::Catalogue;
use mowgli::check::{CheckOptions, Checked, check};
use mowgli::explain::{explain, read, written};
use mowgli_core::library::Libraries;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::soundness::client::Client;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::{Implementation, Implementations, add_parts};
use mowgli_core::world::World;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Expected, Variant};
use mowgli_libraries::x86::msqueue::{self, MsQueue};
use mowgli_libraries::x86::treiber::without_null_check;
use mowgli_libraries::x86::{self, catalogue};

/// Checks a variant at each of its bounds, up to the first at which it fails.
fn found(entry: &Entry, variant: &Variant) -> Vec<Checked> {
    let mut all = Vec::new();
    for bound in &variant.bounds {
        all.push(check(entry, variant, bound, &CheckOptions::default()).unwrap());
        if all.last().is_some_and(Checked::has_failed) {
            break;
        }
    }
    all
}

fn as_expected(library: &str) {
    let all = catalogue();
    let entry = named(&all, library).unwrap();
    let broken = entry.variants.iter().filter(|v| v.expected != Expected::Sound).count();
    assert!(broken >= 2, "{broken} broken variants of {library}");
    for variant in &entry.variants {
        for checked in found(entry, variant) {
            assert_eq!(checked.is_expected(), Some(true), "{}: {}", checked.title(), checked.explanation());
            if variant.expected == Expected::Sound {
                assert_eq!(checked.progress(), "ends", "{}", checked.title());
            }
            is_kept(&checked);
        }
    }
}

/// A counterexample is a litmus test of x86-TSO. It is read as it was written, and is still forbidden.
fn is_kept(checked: &Checked) {
    let Some(finding) = checked.finding() else { return };
    let text = written(&finding);
    let again = read(Catalogue::builtin(), &text).unwrap();
    assert_eq!(again, finding);
    // A client that never ends has no forbidden outcome.
    if checked.report.violation.is_none() {
        return;
    }
    let explained =
        explain(Catalogue::builtin(), again, Limits::default()).unwrap_or_else(|e| panic!("{}: {e}", finding.litmus));
    assert!(explained.refutations.is_some(), "{}", explained.text());
}

#[test]
fn a_spin_lock() {
    as_expected("spinlock");
}

#[test]
fn a_ticket_lock() {
    as_expected("ticketlock");
}

#[test]
fn a_lock_with_a_queue_of_records() {
    as_expected("mcslock");
}

#[test]
fn a_stack_of_nodes() {
    as_expected("treiber");
}

#[test]
fn a_queue_of_nodes() {
    as_expected("msqueue");
}

#[test]
fn no_two_libraries_have_one_name() {
    let rdma = mowgli_libraries::catalogue::catalogue();
    let names: Vec<&str> = rdma.iter().map(|e| e.name).chain(catalogue().iter().map(|e| e.name)).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
}

/// A pop that does not check whether there is a node dereferences a value that is not a location. This is an error, and
/// not a run that is silently left out.
#[test]
fn a_dangling_dereference_is_a_fault() {
    let all = catalogue();
    let entry = named(&all, "treiber").unwrap();
    let variant = Variant { implementation: Arc::new(without_null_check()), ..entry.variants[0].clone() };
    let bound = Bound { values: vec![1], ..Bound::default() };
    let checked = check(entry, &variant, &bound, &CheckOptions::default()).unwrap();
    assert_eq!(checked.verdict(), "undecided");
    let text = format!("{} {}", checked.title(), checked.explanation());
    assert!(text.contains("not well defined") && text.contains("Read(-1) of x86-tso: -1 is no location"), "{text}");
}

/// A client that takes more nodes than there are accesses words that are not declared.
#[test]
fn a_pool_that_is_too_small_is_a_fault() {
    let all = catalogue();
    let entry = named(&all, "treiber").unwrap();
    let (world, _) = entry.clients(&Bound { values: vec![1], ..Bound::default() }, &|| false).unwrap().remove(0);
    let push = entry.subject.calls(&world, mowgli_core::ids::Tid(1), &Bound::default(), &|| false).remove(0);
    let client = Client { threads: vec![vec![push; 5]] };
    let said = by_values(entry, Some(&entry.variants[0].implementation), &world, &client).expect_err("four nodes");
    assert!(said.contains("s.record_P1_5.value is not declared"), "{said}");
}

/// Returns the outcomes of a client with the specification, or with an implementation in its place. Outcomes of an
/// implementation are found by letting values flow.
fn by_values(
    entry: &Entry,
    implementation: Option<&Arc<dyn Implementation>>,
    world: &World,
    client: &Client,
) -> Result<BTreeSet<Outcome>, String> {
    within(Limits::default(), entry, implementation, world, client)
}

/// The same within these limits.
fn within(
    limits: Limits<'_>,
    entry: &Entry,
    implementation: Option<&Arc<dyn Implementation>>,
    world: &World,
    client: &Client,
) -> Result<BTreeSet<Outcome>, String> {
    let mut world = world.clone();
    let mut implementations = Implementations::new();
    let mut libraries: Libraries = entry.specification.and(&entry.below);
    if let Some(implementation) = implementation {
        add_parts(&**implementation, &mut world);
        implementations.insert(implementation.target(), Arc::clone(implementation));
        libraries = entry.below.clone();
    }
    let programs = client.programs();
    let problem = Problem { implementations: &implementations, limits, ..Problem::of(&libraries, &world, &programs) };
    let outcomes = match implementation {
        Some(_) => problem.outcomes_by_flow().expect("no value comes out of nowhere"),
        None => problem.outcomes(),
    };
    outcomes.all().map(|all| all.into_keys().collect()).map_err(|stop| stop.to_string())
}

/// A push that fails begins anew, and nobody reads what the failed iteration wrote. So one such iteration is enough, although a
/// stack may fail as often as other threads succeed.
#[test]
fn one_iteration_that_fails_is_enough_for_a_stack() {
    let entry = x86::treiber::entry();
    let published = &entry.variants[0].implementation;
    let (world, client) = {
        let bound = Bound { threads: 2, values: vec![1], ..Bound::default() };
        let (world, _) = entry.clients(&bound, &|| false).unwrap().pop().unwrap();
        let calls = entry.subject.calls(&world, mowgli_core::ids::Tid(1), &bound, &|| false);
        let [push, pop] = [&calls[0], &calls[1]].map(Clone::clone);
        let thread = vec![push.clone(), push, pop];
        (world, Client { threads: vec![thread.clone(), thread] })
    };
    let of = |rounds| within(Limits { rounds, ..Limits::default() }, &entry, Some(published), &world, &client);
    let expected = by_values(&entry, None, &world, &client);
    assert_eq!((of(1), of(3)), (expected.clone(), expected));
}

/// The published queue, in which threads help each other, has exactly the outcomes of the specification.
#[test]
fn a_queue_that_helps_has_the_outcomes_of_the_specification() {
    let entry = msqueue::entry();
    let helping: Arc<dyn Implementation> = Arc::new(MsQueue);
    let bound = Bound { threads: 2, calls: 2, total: Some(3), values: vec![1, 2], ..Bound::default() };
    let clients = entry.clients(&bound, &|| false).unwrap();
    assert_eq!(clients.len(), 75);
    for (world, client) in &clients {
        let expected = by_values(&entry, None, world, client).unwrap();
        let of_implementation = by_values(&entry, Some(&helping), world, client).unwrap();
        assert_eq!(of_implementation, expected, "{client:?}");
    }
}

/// The table of x86-TSO's libraries for litmus tests has exactly the libraries of the catalogue.
#[test]
fn objects_are_those_of_the_catalogue() {
    let known: BTreeSet<&str> = catalogue().iter().map(|e| e.name).collect();
    let declared = x86::LOCKS.iter().map(|l| l.text()).chain(x86::CONTAINERS.iter().map(|c| c.name.text()));
    assert_eq!(declared.collect::<BTreeSet<_>>(), known);
}
