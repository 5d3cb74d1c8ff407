//! Clients that are left out because they are others with their values renamed; and mistakes that only values tell.

use mowgli::check::{Options, check};
use mowgli_core::implementation::{Implementations, add_parts};
use mowgli_core::outcome::{Limits, Problem};
use mowgli_core::soundness::client::{Bound, Client};
use mowgli_core::soundness::local;
use mowgli_core::soundness::renaming::Renaming;
use mowgli_core::world::World;
use mowgli_libraries::catalogue::{Entry, Variant, catalogue, named};
use mowgli_rdma::Stamp;

/// Asks something of a client with its calls implemented.
fn implemented<T>(
    entry: &Entry,
    variant: &Variant,
    (world, client): (&World, &Client),
    ask: impl FnOnce(&Problem<'_, Stamp>) -> T,
) -> T {
    let mut world = world.clone();
    add_parts(&*variant.implementation, &mut world);
    let implementation = &variant.implementation;
    let implementations: Implementations = [(implementation.target(), implementation.clone())].into_iter().collect();
    ask(&Problem {
        libraries: &entry.below,
        implementations: &implementations,
        world: &world,
        programs: &client.programs(),
        observed: &[],
        limits: Limits { rounds: 1, ..Limits::default() },
    })
}

/// Classes of executions, and whether there is one without a g.
fn found(problem: &Problem<'_, Stamp>, entry: &Entry) -> (u64, bool) {
    let library = entry.library().unwrap().name();
    let local = local::check(problem, &problem.runs(), &entry.specification, library);
    (local.explored.stats.classes, local.violation.is_some())
}

/// How many clients of how many that write values in another order are those that write them in order, renamed; all of
/// them have as many classes of executions, and a g where those have one.
fn renamed(library: &str, variant: &str, values: &[i64]) -> (usize, usize) {
    let all = catalogue();
    let entry = named(&all, library).unwrap();
    let variant = entry.variant(variant).unwrap();
    let bound = Bound { threads: 2, nodes: 1, calls: 2, total: Some(2), values: values.to_vec(), ..Bound::default() };
    let (mut others, mut same) = (0, 0);
    for (world, client) in entry.clients(&bound, &|| false).unwrap() {
        let Some(renaming) = Renaming::in_order(values, &client) else { continue };
        let first = renaming.client(&client);
        assert_eq!(Renaming::in_order(values, &first), None, "{first:?}");
        others += 1;
        let asked = |client: &Client, ask: &mut dyn FnMut(&Problem<'_, Stamp>)| {
            implemented(entry, variant, (&world, client), |problem| ask(problem));
        };
        asked(&client, &mut |one| {
            asked(&first, &mut |other| {
                if renaming.relates(one, other, &entry.specification) {
                    same += 1;
                    assert_eq!(found(one, entry), found(other, entry), "{library}: {client:?}");
                }
            });
        });
    }
    (same, others)
}

#[test]
fn what_is_left_out_has_the_executions_of_what_is_not() {
    for (library, values) in [("sv", [1, 2]), ("msw", [1, 2]), ("queue", [1, 2]), ("map", [1, 2]), ("kvstore", [8, 9])]
    {
        let (same, others) = renamed(library, "published", &values);
        assert!(same == others && same > 0, "{library}: {same} of {others}");
    }
    let (same, others) = renamed("sv", "published", &[1, 2, 3]);
    assert!(same == others && same > 0, "{same} of {others}");
}

/// Values that are added, or compared with the implementation's own, are not taken for names of values.
#[test]
fn what_looks_at_values_is_not_left_out() {
    for (library, variant) in [("msw", "sum"), ("sc-rmw", "cas-writes-two"), ("sc-rmw", "published"), ("rbl", "fenced")]
    {
        let (same, others) = renamed(library, variant, &[1, 2]);
        assert!(same < others, "{library} {variant}: {same} of {others}");
    }
}

/// The bounds of the published implementation are enough for mistakes that one value cannot show.
#[test]
fn mistakes_that_only_values_tell_are_caught_at_the_default_bounds() {
    let all = catalogue();
    for (library, mistakes) in [("msw", &["sum"][..]), ("sc-rmw", &["cas-writes-two", "cas-with-zero", "faa-adds-one"])]
    {
        let entry = named(&all, library).unwrap();
        for mistake in mistakes {
            let variant = entry.variant(mistake).unwrap();
            assert_eq!(variant.bounds, entry.variants[0].bounds, "{library} {mistake}");
            let verdict = |bound: &Bound| check(entry, variant, bound, &Options::default()).unwrap().verdict();
            // What one value shows is known to be too little.
            let mut bounds = variant.bounds.iter().filter(|b| b.values.len() > 1).rev();
            assert!(bounds.any(|bound| verdict(bound) == "unsound"), "{library} {mistake}");
        }
        for bound in entry.variants[0].bounds.iter().filter(|b| b.total.is_some()) {
            let checked = check(entry, &entry.variants[0], bound, &Options::default()).unwrap();
            assert_eq!(checked.verdict(), "sound", "{}", checked.title());
        }
    }
}
