//! LOCO Theorem 3.14 as a property. If an implementation is locally sound, clients that mix its library with others
//! only have outcomes that the specification has. Conversely, if it is not locally sound, some client has another
//! outcome.

use std::sync::Arc;

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, Tid, Wid};
use mowgli_core::library::Libraries;
use mowgli_core::soundness::client::Client;
use mowgli_core::soundness::verdict::{Question, WrongOutcome};
use mowgli_core::term::bound::Bound;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_rdma::to;
use mowgli_rdma::wait::{WAIT, Wait, word};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// The thread, the position, and the number of a call that is inserted beside the library's.
type Extra = (Index, Index, Index);

/// Makes a mixed client: one of the library's, with calls of RDMA-WAIT-RMW between its own.
fn mixed(base: &(World, Client), extras: &[Extra]) -> (World, Client) {
    let (mut world, mut client) = base.clone();
    for n in world.all_nodes().iter() {
        world.objects.insert(at('x', n), word(n));
        world.objects.insert(at('y', n), word(n));
    }
    for (thread, place, which) in extras {
        let t = thread.index(client.threads.len());
        let calls = calls(&world, Tid::from_index(t));
        let place = place.index(client.threads[t].len() + 1);
        client.threads[t].insert(place, calls[which.index(calls.len())].clone());
    }
    (world, client)
}

fn at(name: char, n: Node) -> Loc {
    Loc::new(&format!("m{name}{n}"))
}

fn calls(world: &World, thread: Tid) -> Vec<Call> {
    let call = |method, args: &[Val]| Call::new(WAIT, method, args);
    let here = world.node_of(thread);
    let [x, y] = ['x', 'y'].map(|name| Val::Loc(at(name, here)));
    let d = Val::Wid(Wid(Name::literal("dm")));
    let [one, two] = [1, 2].map(Val::Int);
    let mut calls = vec![call("Read", &[x]), call("Read", &[y]), call("Write", &[x, one]), call("Write", &[y, two])];
    calls.extend([call("Mfence", &[]), call("Wait", &[d])]);
    for n in world.all_nodes().iter() {
        let far = Val::Loc(at('x', n));
        calls.extend([call("Put", &[far, y, d]), call("Get", &[y, far, d]), call("RFAA", &[y, far, one, d])]);
    }
    calls
}

fn entry(name: &str) -> Entry {
    catalogue().into_iter().find(|e| e.name == name).expect("a library of the catalogue")
}

fn variant<'a>(entry: &'a Entry, name: &str) -> &'a Variant {
    entry.variants.iter().find(|v| v.name == name).expect("a variant of the library")
}

fn answer(entry: &Entry, variant: &Variant, bound: &Bound, (world, client): &(World, Client)) -> WrongOutcome {
    let question = Question {
        library: Name::literal(entry.name),
        specification: entry.specification.clone(),
        below: entry.below.clone(),
        beside: Libraries::over(to).with(Wait),
        chain: vec![Arc::clone(&variant.implementation)],
        subject: &*entry.subject,
        probes: &[],
        bound: bound.clone(),
        asks_progress: false,
        crashing: None,
        log: None,
        expired: &|| false,
        progress: &|_, _| {},
    };
    question.wrong_outcome(world, client)
}

/// Checks so many random mixed clients for a wrong outcome, and returns the first as an error.
fn wrong(name: &str, which: &str, calls: usize, cases: u32) -> Result<(), String> {
    let entry = entry(name);
    let variant = variant(&entry, which);
    let bound = Bound { threads: 2, nodes: 2, calls, ..variant.bounds[0].clone() };
    let bases = entry.clients(&bound, &|| false).unwrap();
    let extra = || (any::<Index>(), any::<Index>(), any::<Index>());
    let mut runner = TestRunner::new_with_rng(
        Config { cases, max_shrink_iters: 50, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let strategy = (any::<Index>(), prop::collection::vec(extra(), 1..=4));
    let result = runner.run(&strategy, |(base, extras)| {
        let client = mixed(&bases[base.index(bases.len())], &extras);
        let answer = answer(&entry, variant, &bound, &client);
        prop_assert!(!matches!(answer, Ok(Some(_))), "{} {}: {:?}", name, which, client.1);
        Ok(())
    });
    result.map_err(|e| e.to_string())
}

macro_rules! sound_means_sound {
    ($($test:ident: $name:literal $variant:literal $calls:literal $cases:literal;)*) => {
        $(#[test]
        fn $test() {
            wrong($name, $variant, $calls, $cases).unwrap();
        })*
    };
}

sound_means_sound! {
    shared_variables: "sv" "published" 2 300;
    barriers: "bal" "published" 2 300;
    transitive_barriers: "bal-transitive" "published" 2 300;
    put_barriers: "bal-puts" "published" 2 300;
    mixed_sizes: "msw" "published" 1 100;
    rings: "rbl" "fenced" 1 100;
    weak_rings: "rbl-weak" "fenced" 1 100;
    weak_locks: "wlock" "published" 2 60;
    strong_locks: "slock" "published" 2 60;
    node_locks: "nlock" "published" 2 60;
    sequential_words: "sc-rmw" "published" 1 60;
    stores: "kvstore" "fenced-delete" 1 60;
}

/// The property can fail: random mixed clients are enough to see these errors.
#[test]
fn what_is_not_sound_shows() {
    for (name, variant, calls) in [("sv", "fence-of-puts", 2), ("slock", "no-fence", 2), ("nlock", "no-rfence", 2)] {
        assert!(wrong(name, variant, calls, 3000).is_err(), "{name} {variant}");
    }
}
