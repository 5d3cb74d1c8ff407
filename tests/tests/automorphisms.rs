//! Clients with threads that can change places: the search explores executions in one order of them.

use mowgli::check::{CheckOptions, check};
use mowgli_core::expr::me;
use mowgli_core::ids::Tid;
use mowgli_core::rewrite::edit::{Edits, calls};
use mowgli_core::search::flow::Runs;
use mowgli_core::search::runs::Run;
use mowgli_core::soundness::symmetry::Symmetry;
use mowgli_core::term::body::body;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Expected, Variant, variant};
use mowgli_libraries::x86::treiber::Treiber;
use mowgli_x86::tso::Method as Tso;

use crate::renaming::{entries, implemented, question};

/// All that a check uses of runs.
type Found<'r> = (Vec<Vec<&'r Vec<Run>>>, &'r Vec<Vec<usize>>, bool, Option<usize>);

fn found(runs: &Runs) -> Found<'_> {
    let threads = runs.threads.iter().map(|skeletons| skeletons.iter().map(|s| &s.runs).collect()).collect();
    (threads, &runs.together, runs.stop.is_some(), runs.idle.as_ref().map(Vec::len))
}

/// Compares for each client within a bound the search that uses automorphisms with the one that does not. Returns the numbers of
/// clients with automorphisms, and of states that the two searches explore for these.
fn compared((entry, variant): (&Entry, &Variant), bound: &Bound) -> (usize, u64, u64) {
    let (question, clients) = (question(entry, variant, bound), entry.clients(bound, &|| false).unwrap());
    let symmetry = Symmetry::of(&question, &clients);
    let (mut count, mut few, mut all) = (0, 0, 0);
    for client in &clients {
        let automorphisms = question.automorphisms(&symmetry, client);
        if !automorphisms.is_empty() {
            implemented(&question, client, |problem| {
                let [reduced, whole] = [problem.runs_by_symmetry(true, &automorphisms), problem.runs_and_idle()];
                assert_eq!(found(&reduced), found(&whole), "{} {}: {client:?}", entry.name, variant.name);
                (count, few, all) = (count + 1, few + reduced.states, all + whole.states);
            });
        }
    }
    (count, few, all)
}

#[test]
fn symmetric_threads_are_searched_in_one_order() {
    let two = Bound { threads: 2, nodes: 1, calls: 2, values: vec![1, 2], ..Bound::default() };
    let three = Bound { threads: 3, nodes: 2, calls: 2, total: Some(4), ..Bound::default() };
    let entries = entries();
    for (name, bound) in [("treiber", &two), ("msqueue", &two), ("nlock", &three)] {
        let entry = named(&entries, name).unwrap();
        let (clients, few, all) = compared((entry, &entry.variants[0]), bound);
        assert!(clients > 0 && few * 10 < all * 9, "{name}: {few} of {all} states of {clients} clients");
    }
}

#[test]
#[ignore = "takes a minute"]
fn symmetric_threads_of_all_variants_are_searched_in_one_order() {
    let bound = Bound { threads: 3, nodes: 2, calls: 2, total: Some(3), values: vec![1, 2], ..Bound::default() };
    let mut clients = 0;
    for entry in &entries() {
        clients += entry.variants.iter().map(|variant| compared((entry, variant), &bound).0).sum::<usize>();
    }
    assert!(clients > 1000, "{clients}");
}

/// A body that is wrong for the second thread alone. No other thread can take its place.
#[test]
fn a_mistake_of_one_thread_is_found() {
    let all = entries();
    let entry = named(&all, "treiber").unwrap();
    let edited = Treiber.replace(calls!(|cas| Tso::CAS { x, v1, v2 } => body! {
        if ((me()) == (Tid(2))) { Tso::write(x, v2); v1 } else { cas }
    }));
    let bound = Bound { threads: 2, calls: 2, total: Some(3), ..Bound::default() };
    let wrong = variant("wrong", "", Expected::Unsound, edited, &[(2, 1, 2)]);
    assert_eq!(compared((entry, &wrong), &bound).0, 0);
    assert!(compared((entry, &entry.variants[0]), &bound).0 > 0);
    assert_eq!(check(entry, &wrong, &bound, &CheckOptions::default()).unwrap().verdict(), "unsound");
}
