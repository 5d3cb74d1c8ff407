//! Clients that are left out because they are equal to others up to renaming. Also errors that only some values, nodes
//! or threads show.

use mowgli::check::{CheckOptions, check};
use mowgli_core::algebra::{SubView, events, id, stamps};
use mowgli_core::event::Call;
use mowgli_core::expr::{here, me};
use mowgli_core::ids::{Node, Tid};
use mowgli_core::rewrite::edit::{Edits, calls};
use mowgli_core::rewrite::mutants::edits;
use mowgli_core::rewrite::sites::sites;
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::soundness::client::{Client, Subject};
use mowgli_core::soundness::local;
use mowgli_core::soundness::orbits::Orbits;
use mowgli_core::soundness::symmetry::Symmetry;
use mowgli_core::soundness::verdict::{self, Probes, Question, Verdict};
use mowgli_core::term::body::body;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::{Implementation as _, Implementations, add_parts};
use mowgli_core::term::method;
use mowgli_core::world::World;
use mowgli_libraries::bal::{self, BalOverSv};
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::{Entry, Expected, Variant, variant};
use mowgli_libraries::sv::Method as Sv;
use mowgli_libraries::x86;
use mowgli_rdma::stamp::RdmaStamp;

/// A question about a variant of an entry.
pub(crate) fn question<'a>(entry: &'a Entry, variant: &Variant, bound: &Bound) -> Question<'a> {
    Question {
        library: entry.library().unwrap().name(),
        specification: entry.specification.clone(),
        below: entry.below.clone(),
        beside: entry.memory.libraries.clone(),
        chain: vec![variant.implementation.clone()],
        subject: &*entry.subject,
        probes: &[],
        bound: bound.clone(),
        asks_progress: true,
        crashing: None,
        log: None,
        expired: &|| false,
        progress: &|_, _| {},
    }
}

/// Asks about a client with its calls implemented.
pub(crate) fn implemented<T>(
    question: &Question<'_>,
    (world, client): &(World, Client),
    ask: impl FnOnce(&Problem<'_>) -> T,
) -> T {
    let mut world = world.clone();
    question.chain.iter().for_each(|i| add_parts(&**i, &mut world));
    let implementations: Implementations = question.chain.iter().map(|i| (i.target(), i.clone())).collect();
    let (programs, limits) = (client.programs(), Limits { rounds: 1, ..Limits::default() });
    ask(&Problem { implementations: &implementations, limits, ..Problem::of(&question.in_force(), &world, &programs) })
}

/// Returns the number of classes of executions, and whether one of them has no g.
fn found(question: &Question<'_>, client: &(World, Client)) -> (u64, bool) {
    let library = question.specification.get(question.library).unwrap();
    implemented(question, client, |problem| {
        let local = local::check(problem, &problem.runs(), &question.specification, library.name());
        (local.explored.stats.classes, local.violation.is_some())
    })
}

/// The number of classes of each outcome, from smallest to largest, in a search without g.
fn all_classes(question: &Question<'_>, client: &(World, Client)) -> Vec<u64> {
    implemented(question, client, |problem| {
        let mut classes: Vec<u64> = problem.outcomes().so_far().0.values().copied().collect();
        classes.sort_unstable();
        classes
    })
}

/// All entries, also those over x86-TSO.
pub(crate) fn entries() -> Vec<Entry> {
    catalogue().into_iter().chain(x86::catalogue()).collect()
}

/// Compares each client with the first one of its orbit: they have to have the same `found`. Returns the number of clients
/// that are left out, and of all.
fn left_out<T: PartialEq + std::fmt::Debug>(
    library: &str,
    bound: &Bound,
    found: fn(&Question<'_>, &(World, Client)) -> T,
) -> (usize, usize) {
    let all = entries();
    let entry = named(&all, library).unwrap();
    left_out_of((entry, &entry.variants[0]), bound, found)
}

fn left_out_of<T: PartialEq + std::fmt::Debug>(
    (entry, variant): (&Entry, &Variant),
    bound: &Bound,
    found: fn(&Question<'_>, &(World, Client)) -> T,
) -> (usize, usize) {
    left_out_among(&question(entry, variant, bound), &entry.clients(bound, &|| false).unwrap(), found)
}

fn left_out_among<T: PartialEq + std::fmt::Debug>(
    question: &Question<'_>,
    clients: &[(World, Client)],
    found: fn(&Question<'_>, &(World, Client)) -> T,
) -> (usize, usize) {
    let orbits = Orbits::of(question, clients);
    for orbit in orbits.iter().filter(|orbit| orbit.len() > 1) {
        let first = found(question, &clients[orbit[0]]);
        for &i in &orbit[1..] {
            let edits = question.chain[0].edits();
            assert_eq!(found(question, &clients[i]), first, "{} {edits:?}: {:?}", question.library, clients[i]);
        }
    }
    assert_eq!(orbits.iter().map(<[usize]>::len).sum::<usize>(), clients.len());
    (clients.len() - orbits.iter().count(), clients.len())
}

/// The renamings that a variant of a library allows: of threads, and of integers.
fn allowed(library: &str, variant: &str, bound: &Bound) -> (bool, bool) {
    let all = entries();
    let entry = named(&all, library).unwrap();
    let question = question(entry, entry.variant(variant).unwrap(), bound);
    let symmetry = Symmetry::of(&question, &entry.clients(bound, &|| false).unwrap());
    (!symmetry.is_trivial() && symmetry.exchanges_threads(), bound.values.iter().all(|v| symmetry.renames(*v)))
}

fn bound(values: &[i64], calls: usize) -> Bound {
    Bound { threads: 2, nodes: 2, calls, total: Some(3), values: values.to_vec(), ..Bound::default() }
}

#[test]
fn what_is_left_out_has_the_executions_of_what_is_not() {
    for library in ["sv", "msw"] {
        let one_node = Bound { nodes: 1, total: Some(2), ..bound(&[1, 2], 2) };
        let (left_out, all) = left_out(library, &one_node, found);
        assert!(left_out * 3 > all, "{library}: {left_out} of {all}");
    }
    for library in ["bal", "wlock", "slock", "nlock", "sc-rmw", "queue", "map"] {
        let (left_out, all) = left_out(library, &bound(&[1], 2), found);
        assert!(left_out * 3 > all, "{library}: {left_out} of {all}");
    }
}

/// A thread of a container reads locations that are records of other threads. Whole searches are compared here, because the
/// order of threads decides how early a g is found.
#[test]
fn records_of_other_threads_are_renamed_with_them() {
    for library in ["treiber", "msqueue"] {
        let (left_out, all) = left_out(library, &Bound { nodes: 1, ..bound(&[1, 2], 2) }, all_classes);
        assert!(left_out * 2 > all, "{library}: {left_out} of {all}");
    }
}

/// The bodies of variants have literals, other arguments, other orders. Whole searches are compared, with the values of the
/// bodies among those of the clients.
#[test]
fn what_is_left_out_of_variants_has_the_executions_of_what_is_not() {
    variants_agree(&|name| ["sv", "bal", "nlock"].contains(&name), 1);
}

#[test]
#[ignore = "takes a minute"]
fn what_is_left_out_of_all_variants_has_the_executions_of_what_is_not() {
    variants_agree(&|_| true, 2);
}

fn variants_agree(is_wanted: &dyn Fn(&str) -> bool, calls: usize) {
    for entry in entries().iter().filter(|entry| is_wanted(entry.name)) {
        for variant in &entry.variants {
            left_out_of((entry, variant), &Bound { total: Some(2), ..bound(&[0, 1, 2], calls) }, all_classes);
        }
    }
}

/// Clients whose bodies call bodies, and clients that also read and write memory.
#[test]
fn what_is_left_out_of_stacks_and_of_extended_clients_has_the_executions_of_what_is_not() {
    let all = entries();
    let (sc_rmw, nlock, sv) =
        (named(&all, "sc-rmw").unwrap(), named(&all, "nlock").unwrap(), named(&all, "sv").unwrap());
    let small = Bound { total: Some(2), ..bound(&[1], 1) };
    let mut through = question(sc_rmw, &sc_rmw.variants[0], &small);
    through.chain.push(nlock.variants[0].implementation.clone());
    through.below = nlock.below.clone();
    let (left_out, clients) = left_out_among(&through, &sc_rmw.clients(&small, &|| false).unwrap(), all_classes);
    assert!(left_out * 2 > clients, "{left_out} of {clients}");
    let of_sv = question(sv, &sv.variants[0], &small);
    let probes = (sv.memory.probes)(false);
    let extended = |(world, client): (World, Client)| {
        (0..probes.stages()).flat_map(|stage| probes.extend(&world, &client, stage)).collect::<Vec<_>>()
    };
    let one = Bound { total: Some(1), ..small.clone() };
    let clients: Vec<_> = sv.clients(&one, &|| false).unwrap().into_iter().flat_map(extended).collect();
    let (left_out, clients) = left_out_among(&of_sv, &clients, all_classes);
    assert!(left_out * 3 > clients, "{left_out} of {clients}");
}

/// Every single edit of every call of some bodies: other arguments, nodes and threads, in another order.
#[test]
#[ignore = "takes a minute"]
fn what_is_left_out_of_mutants_has_the_executions_of_what_is_not() {
    let (all, mut mutants) = (entries(), 0);
    for name in ["sv", "bal", "msw", "slock", "nlock", "treiber"] {
        let entry = named(&all, name).unwrap();
        let published = &entry.variants[0].implementation;
        let bodies = published.bodies().unwrap();
        for site in sites(bodies) {
            let table = entry.below.get(site.library).unwrap().methods();
            for edit in edits(method::named(table, site.calls).unwrap()) {
                let mutant = edit.at(published.clone(), &site);
                let mutant = variant("mutant", "", Expected::Unsound, mutant, &[(2, 2, 1)]);
                left_out_of((entry, &mutant), &Bound { total: Some(2), ..bound(&[1, 2], 1) }, all_classes);
                mutants += 1;
            }
        }
    }
    assert!(mutants > 100, "{mutants}");
}

#[test]
fn renamings_follow_from_the_terms() {
    let small = bound(&[1, 2], 1);
    for library in ["sv", "msw", "treiber", "msqueue"] {
        assert_eq!(allowed(library, "published", &small), (true, true), "{library}");
    }
    // Locks, counters and tickets compute, and so does FAA.
    for library in ["nlock", "sc-rmw", "queue"] {
        assert_eq!(allowed(library, "published", &small), (true, false), "{library}");
    }
    assert_eq!(allowed("sc-rmw", "cas-writes-two", &small), (true, false));
    // Acq reads a word of each thread in their order.
    assert_eq!(allowed("wlock", "published", &small), (false, false));
    // A Rust function of values, and a store that computes with the numbers of threads.
    assert_eq!(allowed("msw", "sum", &small), (false, false));
    assert_eq!(allowed("kvstore", "published", &small), (false, false));
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
            let verdict = |bound: &Bound| check(entry, variant, bound, &CheckOptions::default()).unwrap().verdict();
            // One value is known to be too little.
            let mut bounds = entry.variants[0].bounds.iter().filter(|b| b.values.len() > 1).rev();
            assert!(bounds.any(|bound| verdict(bound) == "unsound"), "{library} {mistake}");
        }
        for bound in entry.variants[0].bounds.iter().filter(|b| b.total.is_some()) {
            let checked = check(entry, &entry.variants[0], bound, &CheckOptions::default()).unwrap();
            assert_eq!(checked.verdict(), "sound", "{}", checked.title());
        }
    }
}

/// Each client by itself.
struct Itself;

impl Probes for Itself {
    fn stages(&self) -> usize {
        1
    }

    fn extend(&self, world: &World, client: &Client, _: usize) -> Vec<(World, Client)> {
        vec![(world.clone(), client.clone())]
    }
}

/// Clients whose only call is a fence for the own node.
struct OwnFences;

impl Subject for OwnFences {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        vec![empty.clone()]
    }

    fn calls(&self, world: &World, thread: Tid, _: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        vec![Sv::GF { ns: [world.node_of(thread)].into_iter().collect() }.into()]
    }
}

/// A promise about node 2 alone. The network of one node comes first, and does not show that nodes differ.
#[test]
fn outcomes_of_one_node_alone_are_compared() {
    let all = catalogue();
    let entry = named(&all, "sv").unwrap();
    let bound = Bound { threads: 1, nodes: 2, calls: 1, ..Bound::default() };
    let mut question = question(entry, &entry.variants[0], &bound);
    (question.subject, question.probes, question.asks_progress) = (&OwnFences, &[&Itself as &dyn Probes], false);
    question.specification = question.specification.respecified(question.library, |spec| {
        let there = stamps(|a: RdmaStamp| a == RdmaStamp::aGF(Node(2).into()));
        spec.empty("nothing at node 2", &id().between(&there, &there));
    });
    assert!(matches!(verdict::outcomes(&question).verdict, Verdict::Unsound(_)));
}
