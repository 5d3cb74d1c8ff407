//! Clients that are left out because they are equal to others up to renaming. Also errors that only some values, nodes
//! or threads show.

use std::collections::BTreeMap;

use mowgli::check::{CheckOptions, check};
use mowgli_core::algebra::{SubView, events, id};
use mowgli_core::body::body;
use mowgli_core::edit::{Edits, calls};
use mowgli_core::expr::{here, me};
use mowgli_core::ids::{Node, Tid};
use mowgli_core::implementation::{Implementations, add_parts};
use mowgli_core::problem::{Limits, Problem};
use mowgli_core::soundness::client::{Bound, Client};
use mowgli_core::soundness::local;
use mowgli_core::soundness::renaming::{Canonical, LibrarySide, Observers, Renaming, relates};
use mowgli_core::world::World;
use mowgli_libraries::bal::{self, BalOverSv};
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::{Entry, Expected, Variant, variant};
use mowgli_libraries::sv::Method as Sv;
use mowgli_libraries::x86;

/// Applies `ask` to a client with its calls implemented.
fn implemented<T>(
    entry: &Entry,
    variant: &Variant,
    (world, client): (&World, &Client),
    ask: impl FnOnce(&Problem<'_>) -> T,
) -> T {
    let mut world = world.clone();
    add_parts(&*variant.implementation, &mut world);
    let implementation = &variant.implementation;
    let implementations: Implementations = [(implementation.target(), implementation.clone())].into_iter().collect();
    let (programs, limits) = (client.programs(), Limits { rounds: 1, ..Limits::default() });
    ask(&Problem { implementations: &implementations, limits, ..Problem::of(&entry.below, &world, &programs) })
}

/// Returns the number of classes of executions, and whether one of them has no g.
fn found(problem: &Problem<'_>, entry: &Entry) -> (u64, bool) {
    let library = entry.library().unwrap().name();
    let local = local::check(problem, &problem.runs(), &entry.specification, library);
    (local.explored.stats.classes, local.violation.is_some())
}

/// The number of classes of each outcome, from smallest to largest, in a search without g.
fn all_classes(problem: &Problem<'_>, _: &Entry) -> Vec<u64> {
    let mut classes: Vec<u64> = problem.outcomes().so_far().0.values().copied().collect();
    classes.sort_unstable();
    classes
}

/// The things that a renaming may change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// Nodes, objects and values.
    Nodes,
    /// Nodes, objects and values, and also threads.
    All,
}

/// A client, and its renaming to the canonical client of its orbit.
type Member = ((World, Client), Renaming);

/// Compares each client with the first one of its orbit. Returns the number of clients that behave like it under the
/// renaming, and the number of all that were compared. The former have to have as many classes of executions, and a g
/// if the first one has a g.
fn renamed(library: &str, variant: &str, bound: &Bound, by: By) -> (usize, usize) {
    renamed_alike(library, variant, bound, by, found)
}

/// As [`renamed`], with another function whose results have to be equal.
fn renamed_alike<T: PartialEq + std::fmt::Debug>(
    library: &str,
    variant: &str,
    bound: &Bound,
    by: By,
    found: fn(&Problem<'_>, &Entry) -> T,
) -> (usize, usize) {
    let all = catalogue().into_iter().chain(x86::catalogue()).collect::<Vec<_>>();
    let entry = named(&all, library).unwrap();
    let variant = entry.variant(variant).unwrap();
    let asked = [Observers::by(&entry.below), Observers::by(&entry.specification)];
    let sides = [(&entry.below, &asked[0]), (&entry.specification, &asked[1])];
    let [below, above] = sides.map(|(libraries, asked)| LibrarySide { libraries, asked });
    let mut orbits: BTreeMap<Canonical, Vec<Member>> = BTreeMap::new();
    for (world, client) in entry.clients(bound, &|| false).unwrap() {
        let (form, renaming) = Renaming::canonical(&world, &client, &bound.values, by == By::All);
        let (again, _) = Renaming::canonical(&form.0, &form.1, &bound.values, by == By::All);
        assert_eq!(again, form);
        orbits.entry(form).or_default().push(((world, client), renaming));
    }
    let (mut others, mut same) = (0, 0);
    for orbit in orbits.values() {
        let ((world, client), to_form) = &orbit[0];
        implemented(entry, variant, (world, client), |one| {
            let mut related = Vec::new();
            let _ = one.runs_noted(
                true,
                Some(&mut |transcript| {
                    for ((world, client), other_to_form) in &orbit[1..] {
                        let renaming = to_form.and_back(other_to_form);
                        let relates = |other: &Problem<'_>| relates(&renaming, transcript, other, [&below, &above]);
                        if implemented(entry, variant, (world, client), relates) {
                            related.push((world, client));
                        }
                    }
                }),
            );
            (others, same) = (others + orbit.len() - 1, same + related.len());
            let first = found(one, entry);
            for (world, client) in related {
                let other = implemented(entry, variant, (world, client), |other| found(other, entry));
                assert_eq!(other, first, "{library}: {client:?}");
            }
        });
    }
    (same, others)
}

fn bound(values: &[i64], calls: usize) -> Bound {
    Bound { threads: 2, nodes: 2, calls, total: Some(3), values: values.to_vec(), ..Bound::default() }
}

#[test]
fn what_is_left_out_has_the_executions_of_what_is_not() {
    let values = [("sv", [1, 2]), ("msw", [1, 2]), ("queue", [1, 2]), ("map", [1, 2]), ("kvstore", [8, 9])];
    for (library, values) in values {
        let one_node = Bound { nodes: 1, total: Some(2), ..bound(&values, 2) };
        let (same, others) = renamed(library, "published", &one_node, By::Nodes);
        assert!(same == others && same > 0, "{library}: {same} of {others}");
    }
    for library in ["wlock", "slock", "nlock", "sc-rmw"] {
        let (same, others) = renamed(library, "published", &bound(&[1], 2), By::All);
        assert!(same * 4 > others * 3, "{library}: {same} of {others}");
    }
    let (same, others) = renamed("bal", "published", &bound(&[1], 2), By::Nodes);
    assert!(same == others && same > 0, "{same} of {others}");
}

/// A thread of a container reads locations that are records of other threads. Their images are known once those threads are
/// compared. Whole searches are compared here, because the order of threads decides how early a g is found.
#[test]
fn records_of_other_threads_are_renamed_with_them() {
    for library in ["treiber", "msqueue"] {
        let one_node = Bound { nodes: 1, ..bound(&[1, 2], 2) };
        let (same, others) = renamed_alike(library, "published", &one_node, By::All, all_classes);
        assert!(same == others && same > 0, "{library}: {same} of {others}");
    }
}

/// Values that are added, or compared with the implementation's own, do not count as mere names of values.
#[test]
fn what_looks_at_values_is_not_left_out() {
    for (library, variant) in [("msw", "sum"), ("sc-rmw", "cas-writes-two"), ("sc-rmw", "published"), ("rbl", "fenced")]
    {
        let one_node = Bound { nodes: 1, total: Some(2), ..bound(&[1, 2], 2) };
        let (same, others) = renamed(library, variant, &one_node, By::Nodes);
        assert!(same < others, "{library} {variant}: {same} of {others}");
    }
}

/// A barrier reads the counters of its participants in their order.
#[test]
fn what_looks_at_the_order_of_threads_is_not_left_out() {
    let (same, others) = renamed("bal", "published", &bound(&[1], 2), By::All);
    assert!(same < others && same > 0, "{same} of {others}");
}

/// An implementation that is wrong for only one node or thread, and a specification that demands more of one.
#[test]
fn a_mistake_of_one_node_or_thread_is_found() {
    let all = catalogue();
    let entry = named(&all, "bal").unwrap();
    let published = BalOverSv::default();
    let on_node_2 = published.replace(calls!(|gf| Sv::GF { .. } => body! { if ((here()) != (Node(2))) { gf } }));
    let of_p_2 = published.replace(calls!(|gf| Sv::GF { .. } => body! { if ((me()) != (Tid(2))) { gf } }));
    for (edited, threads, nodes) in [(on_node_2, 1, 2), (of_p_2, 3, 3)] {
        let bound = Bound { threads, nodes, ..Bound::default() };
        let wrong = variant("wrong", "", Expected::Unsound, edited, &[(3, 3, 1)]);
        assert_eq!(check(entry, &wrong, &bound, &CheckOptions::default()).unwrap().verdict(), "unsound");
    }
    let mut stricter = catalogue().into_iter().find(|e| e.name == "bal").unwrap();
    fn on_node_2_of_two(s: &SubView) -> bool {
        s.node() == Node(2) && s.world.nodes == 2
    }
    stricter.specification = stricter.specification.clone().respecified(bal::BAL, |spec| {
        let there = events(on_node_2_of_two);
        spec.empty("nobody on node 2", &id().between(&there, &there));
    });
    let bound = Bound { threads: 1, nodes: 2, ..Bound::default() };
    assert_eq!(check(entry, &entry.variants[0], &bound, &CheckOptions::default()).unwrap().verdict(), "sound");
    assert_ne!(check(&stricter, &stricter.variants[0], &bound, &CheckOptions::default()).unwrap().verdict(), "sound");
}

/// The bounds of the published implementation suffice for errors that one value cannot show.
#[test]
fn mistakes_that_only_values_tell_are_caught_at_the_default_bounds() {
    let all = catalogue();
    for (library, mistakes) in [("msw", &["sum"][..]), ("sc-rmw", &["cas-writes-two", "cas-with-zero", "faa-adds-one"])]
    {
        let entry = named(&all, library).unwrap();
        for mistake in mistakes {
            let variant = entry.variant(mistake).unwrap();
            let is_default = |bound: &Bound| entry.variants[0].bounds.contains(bound);
            assert!(variant.bounds.iter().all(is_default), "{library} {mistake}");
            let verdict = |bound: &Bound| check(entry, variant, bound, &CheckOptions::default()).unwrap().verdict();
            // One value is known to be too little.
            let mut bounds = variant.bounds.iter().filter(|b| b.values.len() > 1).rev();
            assert!(bounds.any(|bound| verdict(bound) == "unsound"), "{library} {mistake}");
        }
        for bound in entry.variants[0].bounds.iter().filter(|b| b.total.is_some()) {
            let checked = check(entry, &entry.variants[0], bound, &CheckOptions::default()).unwrap();
            assert_eq!(checked.verdict(), "sound", "{}", checked.title());
        }
    }
}
