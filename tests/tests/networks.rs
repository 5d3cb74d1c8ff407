//! Networks: on each of them the axioms and the machine have the same outcomes, and those that promise less have more.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use mowgli::catalogue::Catalogue;
use mowgli::check::{CheckOptions, check};
use mowgli::interrupt::Deadline;
use mowgli::litmus::parse::{on_network, parse};
use mowgli::litmus::print;
use mowgli::litmus::run::{Engine, explore, solve_with};
use mowgli::networks::shown::table;
use mowgli::networks::{TableCell, TableRequest, cases, decide};
use mowgli::prove::{ProofResult as _, ProofVerdict, proved};
use mowgli_core::event::Call;
use mowgli_core::rewrite::edit::{Edits as _, calls};
use mowgli_core::search::problem::Limits;
use mowgli_core::soundness::client::{Client, strategy};
use mowgli_core::term::bound::Bound;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_libraries::error::Error;
use mowgli_rdma::presets::PRESETS;
use mowgli_rdma::tso;
use mowgli_rdma::wait::Method as Wait;
use mowgli_rdma::{Network, Signal, Switches, Way};
use mowgli_tests::flowing;
use proptest::prelude::*;
use proptest::sample::Index;
use rayon::prelude::*;

use crate::machine::{agree, agree_in_brief, agree_over, bound, by_axioms, in_words, integers, runner, runner_to_fail};

/// Returns the presets, and networks of single bits of libfabric, whose orders the presets have only together.
fn networks() -> Vec<Network> {
    let bits = ["RAW,RAW_SIZE", "RMA_RAW,RAW_SIZE,WAW", "WAR,WAR_SIZE", "RMA_WAR,WAR_SIZE", "RAR,WAW,WAW_SIZE,RAW"];
    let of_bits = bits.map(|bits| Network::named(&format!("libfabric:{bits}")).expect("bits"));
    PRESETS.iter().map(|(network, _)| *network).chain(of_bits).collect()
}

fn over(network: Network) -> Switches {
    Switches { network, ..Switches::OFF }
}

/// Gives some operations of a client flags: fences, deliveries and strict keys where the network has them, and signals.
fn with_flags(client: &Client, network: Network, picks: &[Index]) -> Client {
    let mut client = client.clone();
    for (call, pick) in client.threads.iter_mut().flatten().zip(picks) {
        let is_put = call.method.text().starts_with("Put");
        let is_atomic = ["RCAS", "RFAA"].contains(&call.method.text());
        let signals = [Signal::No, Signal::Weak, Signal::Strong];
        let flagged = |way: Way| Way {
            delivered: network.delivers && is_put && pick.index(4) < 2,
            fence: [1, 2].contains(&pick.index(4)),
            strict: network.has_keys() && pick.index(8) % 2 == 1,
            signal: if is_atomic { signals[pick.index(9) % 3] } else { Signal::No },
            ..way
        };
        in_another_way(call, &flagged);
    }
    client
}

/// Makes an operation in another way, given the way in which it is made.
fn in_another_way(call: &mut Call, change: &dyn Fn(Way) -> Way) {
    let by = match call.method.text() {
        "Put" => "PutBy",
        "Get" => "GetBy",
        "RCAS" => "RCASBy",
        "RFAA" => "RFAABy",
        several @ ("PutWords" | "GetWords") => several,
        _ => return,
    };
    let own = call.args.first().and_then(|w| Way::of(*w).ok());
    let way = change(own.unwrap_or(Way::USUAL));
    if own.is_some() || way != Way::USUAL {
        let args = [&[way.into()], &call.args[usize::from(own.is_some())..]].concat();
        *call = Call::new(call.library, by, &args);
    }
}

/// The bounds of random programs, each with its share of them in twentieths.
fn bounds() -> [(Bound, u32); 5] {
    [(bound(2, 2, 3), 7), (bound(3, 2, 2), 5), (bound(1, 2, 5), 4), (bound(2, 3, 3), 2), (bound(2, 2, 4), 2)]
}

/// Compares axioms and machine on so many random programs for each network. In each of them two operations of a thread go to
/// one node, because otherwise no order of a network matters. Networks with the same promises share the programs. The machine without
/// its reduction takes most of the time. [`crate::machine`] compares it on `rc`, and here it runs if `is_slow`.
fn axioms_and_machine(programs: u32, is_slow: bool) {
    let words = tso::PollClients { rmw: true };
    let mut known = BTreeSet::new();
    let different = networks().into_iter().filter(|network| known.insert(Network { name: "", ..*network }));
    let compare = |network: Network| -> Result<(), String> {
        let agree = if is_slow { agree } else { agree_in_brief };
        for (bound, share) in bounds() {
            let clients = (strategy(&words, &bound), prop::collection::vec(any::<Index>(), 18));
            let agree = |((world, client), picks): ((World, Client), Vec<Index>)| {
                let client = with_flags(&in_words(&client, &picks[..9]), network, &picks[9..]);
                prop_assume!(posts_two(&world, &client));
                agree(over(network), &(world, client))
            };
            runner(programs * share / 20).run(&clients, agree).map_err(|e| format!("{network}: {e}"))?;
        }
        Ok(())
    };
    let all: Result<(), String> = different.collect::<Vec<_>>().into_par_iter().map(compare).collect();
    all.unwrap_or_else(|e| panic!("{e}"));
}

/// True if two operations of a thread go to one node.
fn posts_two(world: &World, client: &Client) -> bool {
    let is_operation = |call: &&Call| !call.method.text().starts_with("Poll");
    let two = |calls: &Vec<Call>| {
        let nodes: Vec<_> = calls.iter().filter(is_operation).filter_map(|call| tso::towards(world, call)).collect();
        let different: BTreeSet<_> = nodes.iter().collect();
        different.len() < nodes.len()
    };
    client.threads.iter().any(two)
}

#[test]
fn axioms_and_machine_agree_on_networks() {
    axioms_and_machine(20, false);
}

#[test]
#[ignore = "takes a minute"]
fn axioms_and_machine_without_reduction_agree_on_networks() {
    axioms_and_machine(20, true);
}

#[test]
#[ignore = "takes seven minutes"]
fn axioms_and_machine_agree_on_networks_in_full() {
    axioms_and_machine(2000, false);
}

/// A loop that posts and does not poll has no end of identifiers where completions come in any order. Both engines stop
/// at the bound on iterations, and find what happens within it.
#[test]
fn loops_that_only_post_reach_the_bound_on_iterations() {
    let rows = " a := f | put(f, m) ;\n while a = 0 { | ;\n put(z, x) | ;\n a := f | ;\n } | ;\n put(z, x) | ;\n";
    for network in ["rc", "cxi", "tcp", "efa-direct"].map(|name| Network::named(name).expect("a preset")) {
        let model = format!("RDMA_TSO{}", over(network));
        let words = "{ x@1 = 1; f@1 = 0; z@2 = 0; m@2 = 1; }";
        let text = format!("{model} t\n{words}\n P1@1 | P2@2 ;\n{rows}allowed (z=1)\nforbidden (z=0)\n");
        let test = parse("t.litmus", &text).unwrap_or_else(|e| panic!("{e}"));
        let limits = Limits { rounds: 2, ..Limits::default() };
        let answer = solve_with(Engine::Both, &test, limits).unwrap_or_else(|e| panic!("{network}: {e}"));
        assert_eq!(answer.holds, [Some(true), None], "{network}");
        assert!(answer.stop().is_some_and(|stop| stop.to_string().contains("the bound on rounds")), "{network}");
    }
}

/// A network has every outcome of a network that promises all that it promises.
#[test]
fn networks_that_promise_less_have_more_outcomes() {
    let pairs = PRESETS.iter().flat_map(|(a, _)| PRESETS.iter().map(move |(b, _)| (*a, *b)));
    let ordered: Vec<_> = pairs.filter(|(a, b)| a.promises(*b) && !b.promises(*a)).collect();
    assert!(ordered.len() > 30, "{ordered:?}");
    let words = tso::PollClients { rmw: true };
    for (more, less) in ordered {
        let [of_more, of_less] = [more, less].map(|network| tso::switched(over(network)));
        for (bound, _) in &bounds()[..3] {
            let is_within = |(world, client): (World, Client)| {
                let programs = flowing(&client, integers);
                let [Some(few), Some(all)] = [&of_more, &of_less].map(|model| by_axioms(model, &world, &programs))
                else {
                    return Ok(());
                };
                prop_assert!(few.is_subset(&all), "{more} {less} {client:?}");
                Ok(())
            };
            runner(12).run(&strategy(&words, bound), is_within).unwrap();
        }
    }
}

/// Presets that differ in no promise of [`PROMISES`], and groups of them.
type Group = &'static [&'static str];
const ARRIVED: Group = &["rc", "falcon-strong", "uet-rod"];
const VISIBLE: Group = &["rc-visible"];
const RELAXED: Group = &["rc-relaxed"];
const PCI_ATOMICS: Group = &["rc-relaxed-pci-atomics"];
const MLX5_OOO: Group = &["mlx5-ooo"];
const FALCON_WEAK: Group = &["falcon-weak"];
const EFA: Group = &["efa"];
const CXI: Group = &["cxi"];
const CXI_FLUSHING: Group = &["cxi-flushing"];
const TCP: Group = &["tcp"];
const SHM: Group = &["shm", "psm3"];
const UNORDERED: Group = &["efa-direct", "falcon-unordered", "uet-rud"];
const UNORDERED_FLUSHING: Group = &["efa-direct-flushing"];

/// The presets with which a test in [`PROMISES`] is allowed; with the others it is forbidden.
type Allowed = &'static [Group];

/// Tests of RDMA_TSO, each with the presets under which its outcome is possible.
const PROMISES: [(&str, &str, &str, Allowed); 15] = [
    (
        "a write behind a write",
        " put(z, x) | a := g ;\n put(g, x) | b := z ;\n",
        "a=1 /\\ b=0",
        &[RELAXED, PCI_ATOMICS, MLX5_OOO, EFA, FALCON_WEAK, UNORDERED, UNORDERED_FLUSHING],
    ),
    (
        "a read behind a write",
        " put(z, x) | ;\n get(o, z) | ;\n poll(2) | ;\n poll(2) | ;\n a := o | ;\n",
        "a=0",
        &[EFA, CXI, CXI_FLUSHING, UNORDERED, UNORDERED_FLUSHING],
    ),
    (
        "a read after the completion of a write",
        " put(z, x) | ;\n poll(2) | ;\n get(o, z) | ;\n poll(2) | ;\n a := o | ;\n",
        "a=0",
        &[EFA, CXI, UNORDERED],
    ),
    (
        "a read behind a read",
        " get(o, g) | z := 1 ;\n get(p, z) | g := 1 ;\n poll(2) | ;\n poll(2) | ;\n a := o | ;\n b := p | ;\n",
        "a=1 /\\ b=0",
        &[ARRIVED, VISIBLE, RELAXED, PCI_ATOMICS, EFA, FALCON_WEAK, UNORDERED, UNORDERED_FLUSHING],
    ),
    (
        "a write behind a read",
        " get(o, z) | ;\n put(z, x) | ;\n poll(2) | ;\n poll(2) | ;\n a := o | ;\n",
        "a=1",
        &[
            ARRIVED,
            VISIBLE,
            RELAXED,
            PCI_ATOMICS,
            MLX5_OOO,
            EFA,
            CXI,
            CXI_FLUSHING,
            FALCON_WEAK,
            TCP,
            UNORDERED,
            UNORDERED_FLUSHING,
        ],
    ),
    (
        "a completed write that is not visible",
        " put(z, x) | a := g ;\n poll(2) | b := z ;\n put@q2(g, x) | ;\n",
        "a=1 /\\ b=0",
        &[
            ARRIVED,
            RELAXED,
            PCI_ATOMICS,
            MLX5_OOO,
            EFA,
            CXI,
            CXI_FLUSHING,
            FALCON_WEAK,
            TCP,
            SHM,
            UNORDERED,
            UNORDERED_FLUSHING,
        ],
    ),
    ("the source of a completed write", " put(z, x) | ;\n poll(2) | ;\n x := 2 | ;\n", "z=2", &[]),
    (
        "a fence between two writes",
        " put(z, x) | a := g ;\n rfence(2) | b := z ;\n put(g, x) | ;\n",
        "a=1 /\\ b=0",
        &[RELAXED, PCI_ATOMICS, MLX5_OOO, EFA, FALCON_WEAK, UNORDERED, UNORDERED_FLUSHING],
    ),
    (
        "a fence between a write and a read",
        " put(z, x) | ;\n rfence(2) | ;\n get(o, z) | ;\n poll(2) | ;\n poll(2) | ;\n a := o | ;\n",
        "a=0",
        &[EFA, UNORDERED, UNORDERED_FLUSHING],
    ),
    (
        "a fence between a read and a write of what it brought",
        " get(o, h) | ;\n rfence(2) | ;\n put(z, o) | ;\n",
        "z=0",
        &[EFA, TCP, SHM, UNORDERED, UNORDERED_FLUSHING],
    ),
    (
        "an atomic behind a write",
        " put(z, x) | a := g ;\n rfaa(o, g, 1) | b := z ;\n",
        "a=1 /\\ b=0",
        &[PCI_ATOMICS, EFA, CXI, CXI_FLUSHING, UNORDERED, UNORDERED_FLUSHING],
    ),
    (
        "a write behind an atomic",
        " rfaa(o, g, 1) | a := z ;\n put(z, x) | b := g ;\n",
        "a=1 /\\ b=0",
        &[MLX5_OOO, EFA, CXI, CXI_FLUSHING, FALCON_WEAK, TCP, UNORDERED, UNORDERED_FLUSHING],
    ),
    (
        "an atomic behind an atomic",
        " rfaa(o, g, 1) | a := z ;\n rfaa(p, z, 1) | b := g ;\n",
        "a=1 /\\ b=0",
        &[UNORDERED, UNORDERED_FLUSHING],
    ),
    (
        "completions in order",
        " get(o, h) | ;\n put(z, x) | ;\n poll(2) | ;\n a := o | ;\n",
        "a=0",
        &[EFA, CXI, CXI_FLUSHING, TCP, SHM, UNORDERED, UNORDERED_FLUSHING],
    ),
    (
        "results in order",
        " get(o, h) | ;\n get(p, h) | ;\n a := p | ;\n b := o | ;\n",
        "a=7 /\\ b=0",
        &[RELAXED, PCI_ATOMICS, MLX5_OOO, EFA, CXI, CXI_FLUSHING, FALCON_WEAK, TCP, SHM, UNORDERED, UNORDERED_FLUSHING],
    ),
];

/// Solves a test of two threads on two nodes, by the axioms and the machine.
fn is_possible(network: Network, rows: &str, outcome: &str) -> bool {
    let words = "{ x@1 = 1; o@1 = 0; p@1 = 0; z@2 = 0; g@2 = 0; h@2 = 7; }";
    let model = format!("RDMA_TSO{}", over(network));
    let text = format!("{model} t\n{words}\n P1@1 | P2@2 ;\n{rows}allowed ({outcome})\n");
    let test = parse("t.litmus", &text).unwrap_or_else(|e| panic!("{e}"));
    let answer =
        solve_with(Engine::Both, &test, Limits::default()).unwrap_or_else(|e| panic!("{network}: {e}\n{text}"));
    answer.holds[0].expect("no limit was reached")
}

/// Each promise is kept by the presets that make it, and by no other. The fence flag of an operation means the same as a
/// fence before it.
#[test]
fn promises_are_made_by_the_presets_that_make_them() {
    let mut with_flags = 0;
    for (name, rows, outcome, allowed) in PROMISES {
        let is_allowed = |preset: &&str| allowed.concat().contains(preset);
        let expected: Vec<&str> = PRESETS.iter().map(|(network, _)| network.name).filter(is_allowed).collect();
        let with_flag = ["get", "put"].iter().fold(rows.to_owned(), |rows, operation| {
            rows.replace(&format!(" rfence(2) | ;\n {operation}("), &format!(" {operation}@fence("))
        });
        with_flags += usize::from(with_flag != rows);
        for rows in BTreeSet::from([rows, &with_flag]) {
            let possible = PRESETS.iter().filter(|(network, _)| is_possible(*network, rows, outcome));
            assert_eq!(possible.map(|(network, _)| network.name).collect::<Vec<_>>(), expected, "{name}: {rows}");
        }
    }
    assert_eq!(with_flags, 2);
}

/// A put that is delivered is visible when it completes.
#[test]
fn delivered_puts_are_visible() {
    let rows = |way: &str| format!(" put{way}(z, x) | a := g ;\n poll(2) | b := z ;\n put@q2(g, x) | ;\n");
    for (network, _) in PRESETS.iter().filter(|(network, _)| network.delivers) {
        assert!(is_possible(*network, &rows(""), "a=1 /\\ b=0"), "{network}");
        assert!(!is_possible(*network, &rows("@delivered"), "a=1 /\\ b=0"), "{network}");
    }
    let text = "RDMA_TSO t\n{ x@1 = 1; z@2 = 0; }\n P1@1 ;\n put@delivered(z, x) ;\n";
    let wrong = parse("t.litmus", text).unwrap_err();
    assert!(wrong.to_string().contains("are of the networks efa, cxi, cxi-flushing, tcp, shm, psm3"), "{wrong}");
}

/// Tests about flags of operations, each with the presets under which its outcome is possible. Strict keys are of
/// `rc-relaxed` alone.
const FLAGS: [(&str, &str, &str, Allowed); 6] = [
    (
        "a write by a strict key behind one by a relaxed key",
        " put(z, x) | a := g ;\n put@strict(g, x) | b := z ;\n",
        "a=1 /\\ b=0",
        &[],
    ),
    (
        "a write by a relaxed key behind one by a strict key",
        " put@strict(z, x) | a := g ;\n put(g, x) | b := z ;\n",
        "a=1 /\\ b=0",
        &[RELAXED],
    ),
    (
        "a result by a strict key",
        " get(o, h) | ;\n get@strict(p, h) | ;\n a := p | ;\n b := o | ;\n",
        "a=7 /\\ b=0",
        &[],
    ),
    (
        "a strong signal behind two writes",
        " put(z, x) | a := g ;\n put(h, x) | b := z ;\n rfaa@strong(o, g, 1) | ;\n",
        "a=1 /\\ b=0",
        &[],
    ),
    (
        "a weak signal of another write",
        " put(z, x) | a := g ;\n put(h, x) | b := z ;\n rfaa@weak(o, g, 1) | ;\n",
        "a=1 /\\ b=0",
        &[PCI_ATOMICS, EFA, UNORDERED, UNORDERED_FLUSHING],
    ),
    (
        "a weak signal of a write",
        " put(h, x) | a := g ;\n put(z, x) | b := z ;\n rfaa@weak(o, g, 1) | ;\n",
        "a=1 /\\ b=0",
        &[],
    ),
];

/// Flags order what they say, and no more.
#[test]
fn flags_order_what_they_say() {
    for (name, rows, outcome, allowed) in FLAGS {
        let is_there = |network: &Network| network.has_keys() || !rows.contains("strict");
        let networks = PRESETS.iter().map(|(network, _)| *network).filter(is_there);
        let possible = networks.filter(|network| is_possible(*network, rows, outcome));
        let possible: BTreeSet<&str> = possible.map(|network| network.name).collect();
        assert_eq!(possible, allowed.concat().into_iter().collect(), "{name}");
    }
    let wrong = |call: &str| {
        let text = format!("RDMA_TSO t\n{{ x@1 = 1; z@2 = 0; }}\n P1@1 ;\n {call} ;\n");
        parse("t.litmus", &text).unwrap_err().to_string()
    };
    for (call, why) in [
        ("put@strict(z, x)", "keys are strict beside relaxed ones, in RDMA_WAIT+relaxed-ordering"),
        ("put@strong(z, x)", "only atomic operations are signals"),
        ("poll@weak(2)", "only atomic operations are signals"),
    ] {
        assert!(wrong(call).contains("t.litmus:4:") && wrong(call).contains(why), "{}", wrong(call));
    }
}

/// A message passes no write before it on its queue pair, with relaxed ordering too.
#[test]
fn messages_pass_no_writes() {
    let possible = |model: &str, rows: &str| {
        let text = format!("{model} t\n{{ x@1 = 1; z@2 = 0; }}\n P1@1 | P2@2 ;\n{rows}allowed (b=0)\n");
        let test = parse("t.litmus", &text).expect("a test");
        let answer = solve_with(Engine::Both, &test, Limits::default()).expect("they agree");
        answer.outcomes.keys().any(|values| values.contains(&Val::Int(0)))
    };
    let (with_data, behind) = (" put(z, x) | a := recv() ;\n send(2, 7) | b := z ;\n", " send(2, 7) | b := z ;\n");
    for model in ["RDMA_TSO+messages", "RDMA_TSO+relaxed-ordering+messages"] {
        assert!(!possible(model, with_data), "{model}");
        assert!(possible(model, &with_data.replace("put(z, x)", "put@q2(z, x)")), "{model}");
        assert!(possible(model, behind), "{model}");
    }
}

/// When a flush completes, the writes before it on its queue pair are in memory.
#[test]
fn a_flush_makes_writes_visible() {
    let rows = |flush: &str| format!(" put(z, x) | a := g ;\n poll(2) | b := z ;\n {flush} | ;\n put@q2(g, x) | ;\n");
    for (network, _) in PRESETS.iter().filter(|(network, _)| network.reads_flush()) {
        assert!(!is_possible(*network, &rows("flush(z) | ;\n poll(2)"), "a=1 /\\ b=0"), "{network}");
    }
    assert!(is_possible(Network::RC, &rows("flush@q2(z) | ;\n poll@q2(2)"), "a=1 /\\ b=0"));
    let text = |model: &str, call: &str| format!("{model} t\n{{ x@1 = 1; z@2 = 0; }}\n P1@1 ;\n {call} ;\n");
    for (model, call) in [("RDMA_TSO", "flush@q2(z)"), ("RDMA_WAIT", "flush(z, d)"), ("RDMA_SC", "flush(z)")] {
        let test = parse("t.litmus", &text(model, call)).expect("a test");
        assert!(print::test(&test).contains(call), "{}", print::test(&test));
        assert_eq!(
            parse("t.litmus", &print::test(&test)).expect("a test").threads[0].statements,
            test.threads[0].statements
        );
    }
    for (model, call, why) in [
        ("RDMA_TSO+cxi", "flush(z)", "cxi has no flush"),
        ("RDMA_TSO", "flush(z, d)", "expected flush(remote)"),
        ("RDMA_WAIT", "flush()", "expected flush(remote, d)"),
    ] {
        let wrong = parse("t.litmus", &text(model, call)).unwrap_err().to_string();
        assert!(wrong.contains("t.litmus:4:") && wrong.contains(why), "{wrong}");
    }
}

/// A strong signal waits for no later write: here the put completes, and is placed after the signal has read what the CPU wrote.
#[test]
fn a_strong_signal_waits_for_no_later_write() {
    let rows = " rcas@strong(o, p, 0, 3) | ;\n put(p, o) | ;\n poll(1) | ;\n p := 1 | ;\n";
    let outcome = "o=1 /\\ p=0";
    assert!(is_possible(Network::named("efa").expect("a preset"), rows, outcome));
    assert!(!is_possible(Network::RC, rows, outcome));
}

/// Relaxed ordering with strict keys alone is the published network.
#[test]
fn strict_keys_alone_are_the_published_network() {
    let words = tso::PollClients { rmw: true };
    let [strict, published] = [Network::RC_RELAXED, Network::RC].map(|network| tso::switched(over(network)));
    for (bound, _) in &bounds()[..3] {
        let clients = (strategy(&words, bound), prop::collection::vec(any::<Index>(), 9));
        let are_alike = |((world, client), picks): ((World, Client), Vec<Index>)| {
            let client = in_words(&client, &picks);
            let mut by_strict_keys = client.clone();
            let calls = by_strict_keys.threads.iter_mut().flatten();
            calls.for_each(|call| in_another_way(call, &|way| Way { strict: true, ..way }));
            let outcomes = |model, client| by_axioms(model, &world, &flowing(client, integers));
            let [of_strict, of_published] = [outcomes(&strict, &by_strict_keys), outcomes(&published, &client)];
            if let (Some(of_strict), Some(of_published)) = (of_strict, of_published) {
                prop_assert_eq!(of_strict, of_published, "{:?}", client);
            }
            Ok(())
        };
        runner(60).run(&clients, are_alike).unwrap();
    }
}

/// A test names one network, by its name or by bits of libfabric, and a switch that the network does not define is an
/// error.
#[test]
fn networks_are_named_in_the_first_line() {
    let text = |model: &str| format!("{model} t\n{{ x@1 = 1; z@2 = 0; }}\n P1@1 ;\n put(z, x) ;\nallowed (z=1)\n");
    let read = |model: &str| parse("t.litmus", &text(model));
    for model in ["RDMA_TSO+cxi", "RDMA_WAIT+libfabric:RMA_RAW,WAW", "RDMA_TSO+relaxed-ordering+global-atomics"] {
        assert_eq!(read(model).expect("a test").model.to_string(), model);
    }
    for (model, why) in [
        ("RDMA_TSO+cxi+efa", "a model is over one network: cxi or efa"),
        (
            "RDMA_TSO+mlx5-ooo+messages",
            "messages is not defined on mlx5-ooo: it needs writes of a queue pair that arrive in order",
        ),
        (
            "RDMA_TSO+efa+crashes",
            "crashes is not defined on efa: it needs operations that arrive, and complete, as on rc",
        ),
        (
            "RDMA_TSO+efa+unsignalled",
            "unsignalled is not defined on efa: it needs operations that arrive, and complete, as on rc",
        ),
        ("RDMA_SC+cxi", "RDMA_SC has no switches"),
        ("RDMA_TSO+slow", "no network slow; there are rc, rc-visible"),
    ] {
        let wrong = read(model).unwrap_err();
        if why.contains("crashes") {
            assert_eq!(
                wrong.help.as_deref(),
                Some("it is defined on rc, rc-relaxed, rc-relaxed-pci-atomics, falcon-strong, uet-rod")
            );
        }
        assert!(wrong.to_string().contains("t.litmus:1:1") && wrong.to_string().contains(why), "{wrong}");
    }
    let on = |model: &str| on_network("t.litmus", &text(model), Network::named("cxi").expect("a preset"));
    assert_eq!(on("RDMA_TSO+efa+global-atomics"), Ok(text("RDMA_TSO+cxi+global-atomics")));
    assert!(on("RDMA_SC").unwrap_err().to_string().contains("RDMA_SC has no networks"));
}

/// Libraries stand over the model of a network: a global fence reads a word, which a write may be behind on `cxi`.
#[test]
fn libraries_stand_over_the_network() {
    let bound = mowgli_libraries::entry::bound(1, 1, 3);
    let unsound = ["cxi", "efa-direct", "tcp", "shm"].map(|name| (name, "unsound"));
    for (name, verdict) in [("rc", "sound"), ("rc-visible", "sound")].into_iter().chain(unsound) {
        let mut entry = mowgli_libraries::sv::entry();
        entry.move_to(Network::named(name).expect("a preset")).expect("it has a network");
        let checked =
            check(&entry, &entry.variants[0], &bound, &CheckOptions::default()).expect("no error in the entry");
        assert_eq!(checked.verdict(), verdict, "{name}");
        let shown = checked.litmus().unwrap_or_default();
        assert!(shown.is_empty() || shown.starts_with(&format!("RDMA_WAIT+{name} ")), "{shown}");
    }
    let mut local = mowgli_libraries::x86::treiber::entry();
    assert_eq!(local.move_to(Network::RC), Err(Error::NoNetwork(local.name)));
}

/// A check over `rc` is a check without a network.
#[test]
fn rc_changes_no_verdict() {
    let small = mowgli_libraries::entry::bound(2, 2, 1);
    let shown = |entry: &Entry, variant: &Variant| {
        let bound = if variant.name == "published" { &small } else { &variant.bounds[0] };
        let checked = check(entry, variant, bound, &CheckOptions::default()).expect("no error in the entry");
        (checked.verdict(), checked.litmus(), checked.report.executions)
    };
    let mut verdicts = BTreeSet::new();
    for name in ["sv", "bal", "sc-rmw"] {
        let [entry, mut moved] = [(); 2].map(|()| {
            let mut all = mowgli_libraries::catalogue::catalogue().into_iter();
            all.find(|entry| entry.name == name).expect("a library")
        });
        moved.move_to(Network::RC).expect("it has a network");
        let both = entry.variants.iter().zip(&moved.variants);
        for (variant, over_rc) in both.filter(|(v, _)| ["published", "no-fence"].contains(&v.name)) {
            let alone = shown(&entry, variant);
            assert_eq!(shown(&moved, over_rc), alone, "{name} {}", variant.name);
            verdicts.insert(alone.0);
        }
    }
    assert_eq!(verdicts, BTreeSet::from(["sound", "unsound"]));
}

/// The table of docs/networks.md for the stack of the ring buffer: it needs the order of puts, and no fence.
#[test]
fn stacks_stand_on_the_network() {
    let mut entries = mowgli_libraries::catalogue::catalogue();
    let ask = TableRequest {
        is_chosen: &|entry| entry.name == "rbl",
        networks: &["rc", "rc-relaxed", "cxi"].map(|name| Network::named(name).expect("a preset")),
        bounds: &|entry| vec![entry.through()],
        through: true,
        repair: false,
        prove: None,
        options: &CheckOptions::default,
        share: None,
    };
    let mut cells = Vec::new();
    decide(&mut entries, &ask, &mut |cell| cells.push(cell));
    let verdicts: Vec<(&str, &str)> = cells.iter().map(|cell| (cell.network, cell.verdict.as_str())).collect();
    assert_eq!(verdicts, [("rc", "no-wrong-outcome"), ("rc-relaxed", "unsound"), ("cxi", "no-wrong-outcome")]);
    let client = cells[1].client.as_deref().expect("a client that shows it");
    assert!(client.starts_with("RDMA_WAIT+relaxed-ordering"), "{client}");
    let shown = table(&cells.iter().map(TableCell::shown).collect::<Vec<_>>(), Some(80));
    assert!(shown.lines().any(|row| row.starts_with("| rc-relaxed | unsound")), "{shown}");
}

/// The rows of locks in docs/networks.md: one waits for ever where a later release or a later ticket overtakes an earlier one.
#[test]
fn locks_are_taken_twice_on_each_network() {
    let networks = ["rc", "rc-relaxed", "efa", "cxi"];
    let ask = TableRequest {
        is_chosen: &|entry| ["slock", "wlock", "nlock", "trylock"].contains(&entry.name),
        networks: &networks.map(|name| Network::named(name).expect("a preset")),
        bounds: &Entry::on_networks,
        through: false,
        repair: false,
        prove: None,
        options: &CheckOptions::default,
        share: None,
    };
    let mut verdicts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    decide(&mut mowgli_libraries::catalogue::catalogue(), &ask, &mut |cell| {
        verdicts.entry(cell.library).or_default().push(cell.verdict);
    });
    assert_eq!(verdicts["slock"], ["sound"; 4]);
    assert_eq!(verdicts["wlock"], ["sound", "stuck", "stuck", "stuck"]);
    assert_eq!(verdicts["nlock"], ["sound", "sound", "stuck", "stuck"]);
    assert_eq!(verdicts["trylock"], ["sound", "sound", "stuck", "stuck"]);
}

/// Bounds may cost an enumeration of clients, so a cell asks for them once, with its repair.
#[test]
fn bounds_of_a_cell_are_asked_for_once() {
    let asked = RefCell::new(Vec::new());
    let networks = ["cxi", "rc"].map(|name| Network::named(name).expect("a preset"));
    let ask = TableRequest {
        is_chosen: &|entry| entry.name == "sv",
        networks: &networks,
        bounds: &|entry| {
            asked.borrow_mut().push(entry.name);
            vec![entry.through()]
        },
        through: false,
        repair: true,
        prove: None,
        options: &CheckOptions::default,
        share: None,
    };
    let mut verdicts = Vec::new();
    decide(&mut mowgli_libraries::catalogue::catalogue(), &ask, &mut |cell| verdicts.push(cell.verdict));
    assert_eq!(verdicts, ["unsound", "sound"]);
    assert_eq!(asked.into_inner(), ["sv", "sv"]);
}

/// Decides libraries on networks within the bound of [`Entry::through`], with repairs.
fn repaired(names: &[&str], networks: &[&str], through: bool) -> Vec<TableCell> {
    let ask = TableRequest {
        is_chosen: &|entry| names.contains(&entry.name),
        networks: &networks.iter().map(|name| Network::named(name).expect("a preset")).collect::<Vec<_>>(),
        bounds: &|entry| vec![entry.through()],
        through,
        repair: true,
        prove: None,
        options: &CheckOptions::default,
        share: None,
    };
    let mut cells = Vec::new();
    decide(&mut mowgli_libraries::catalogue::catalogue(), &ask, &mut |cell| cells.push(cell));
    cells
}

/// Bodies that are unsound on a network are repaired, and sound then.
#[test]
fn unsound_libraries_are_repaired() {
    let cells = [repaired(&["sv"], &["cxi"], false), repaired(&["rbl"], &["rc-relaxed"], false)];
    let repairs =
        cells.iter().flatten().map(|cell| cell.repair.as_ref().expect("it is unsound, and a repair was searched"));
    let found: Vec<_> = repairs.map(|repair| (repair.cost, repair.verdict.as_str())).collect();
    assert_eq!(found, [(Some(1), "sound"), (Some(12), "sound")]);
}

/// So are stacks.
#[test]
#[ignore = "takes ten seconds"]
fn unsound_stacks_are_repaired() {
    let alone = repaired(&["sv"], &["cxi", "cxi-flushing", "efa-direct"], false);
    let over_sv = repaired(&["rbl"], &["rc-relaxed", "falcon-weak", "cxi"], false);
    let stacks = repaired(&["bal", "slock"], &["cxi", "cxi-flushing"], true);
    let mut costs = Vec::new();
    for cell in alone.iter().chain(&over_sv).chain(&stacks) {
        let repair = cell.repair.as_ref().expect("it is unsound, and a repair was searched");
        assert!(repair.cost.is_none() || ["sound", "no-wrong-outcome"].contains(&&*repair.verdict), "{repair:?}");
        costs.push(format!("{} {} {:?}", cell.library, cell.network, repair.cost));
    }
    let fence = alone[0].repair.as_ref().expect("a repair");
    assert_eq!(fence.insert, ["GF: the fence flag on Get of bot, bot"]);
    assert!(fence.text[0].contains("GetBy(fence, "), "{fence:?}");
    assert_eq!(
        costs,
        [
            "sv cxi Some(1)",
            "sv cxi-flushing Some(1)",
            "sv efa-direct None",
            "rbl rc-relaxed Some(12)",
            "rbl falcon-weak Some(12)",
            "rbl cxi Some(12)",
            "bal cxi Some(1)",
            "slock cxi Some(1)",
            "bal cxi-flushing Some(1)",
            "slock cxi-flushing Some(1)",
        ]
    );
}

/// The repaired entry keeps its own bodies, so the next network is checked with these.
#[test]
fn a_repair_leaves_the_library_as_it_is() {
    let cells = repaired(&["sv"], &["cxi", "efa-direct", "cxi-flushing"], false);
    let verdicts: Vec<&str> = cells.iter().map(|cell| cell.verdict.as_str()).collect();
    assert_eq!(verdicts, ["unsound"; 3]);
}

/// A test about puts that are delivered is a test on networks with such puts, and the cheapest repair holds.
#[test]
fn litmus_tests_are_decided_and_repaired_on_networks() {
    let networks = ["rc", "rc-visible", "cxi", "efa-direct"].map(|name| Network::named(name).expect("a preset"));
    let ask = cases::CaseRequest {
        catalogue: Catalogue::builtin(),
        networks: &networks,
        repair: true,
        rows: true,
        deadline: &Deadline::default,
    };
    let decide = |text: &str| cases::decide(Path::new("t.litmus"), text, &ask);
    let text = |put: &str| {
        let words = "{ x@1 = 1; m@1 = 1; z@2 = 0; f@2 = 0; }";
        let rows = format!(" {put}(z, x) | await f=1 ;\n poll(2) | b := z ;\n put@q2(f, m) | ;\n");
        format!("RDMA_TSO t\n{words}\n P1@1 | P2@2 ;\n{rows}forbidden (b=0)\n")
    };
    let shown = |found: &[cases::NetworkCase]| {
        let cost = |case: &cases::NetworkCase| case.repair.as_ref().and_then(|repair| repair.cost);
        found.iter().map(|case| (case.network, case.verdict, cost(case))).collect::<Vec<_>>()
    };
    let found = decide(&text("put")).expect("a test");
    let expected = [
        ("rc", "fails", Some(10)),
        ("rc-visible", "holds", None),
        ("cxi", "fails", Some(3)),
        ("efa-direct", "fails", Some(8)),
    ];
    assert_eq!(shown(&found), expected);
    assert_eq!(found[0].fails, ["forbidden (b=0)"]);
    assert!(found[2].repair.as_ref().is_some_and(|repair| repair.text[0].contains("put@delivered(z, x)")));
    assert!(found.iter().all(|case| case.row.is_some() == (case.verdict == "fails")));
    let found = decide(&text("put@delivered")).expect("a test on cxi");
    let undefined = |name| (name, "not defined", None);
    let expected = [undefined("rc"), undefined("rc-visible"), ("cxi", "holds", None), undefined("efa-direct")];
    assert_eq!(shown(&found), expected);
    assert!(
        decide("RDMA_TSO t\n{ x@1 = 1; }\n P1@1 ;\n put(y, x) ;\n")
            .is_err_and(|e| e.message.contains("y is not declared"))
    );
}

/// A network has the verdict that it has alone, however many steps the networks before it took.
#[test]
fn each_network_has_its_own_budget() {
    let networks = ["shm", "efa", "cxi"].map(|name| Network::named(name).expect("a preset"));
    let text = "RDMA_TSO t\n{ x@1 = 1; y@1 = 1; a@2 = 0; b@2 = 0; }\n P1@1 | P2@2 | P3@2 ;\n put(a, x) | p := a | r := b ;\n \
                put(b, y) | q := b | s := a ;\nforbidden (p=0 /\\ q=1 /\\ r=1 /\\ s=0)\n";
    let verdicts = |networks: &[Network], steps| {
        let ask = cases::CaseRequest {
            catalogue: Catalogue::builtin(),
            networks,
            repair: false,
            rows: false,
            deadline: &|| Deadline::default().within(steps),
        };
        let found = cases::decide(Path::new("t.litmus"), text, &ask).expect("a test");
        found.iter().map(|case| case.verdict).collect::<Vec<_>>()
    };
    let alone = |steps| networks.map(|network| verdicts(&[network], steps)).concat();
    let is_enough = |steps: &u64| !alone(*steps).contains(&"undecided");
    let steps = (4..20).map(|power| 1 << power).find(is_enough).expect("a budget");
    assert_eq!(verdicts(&networks, steps), alone(steps));
    assert!(alone(1).contains(&"undecided"));
}

/// The prover has no template for a body with a delivered put, and gives the reason. It proves nothing then.
#[test]
fn the_prover_names_puts_that_are_delivered() {
    let way = Way { delivered: true, ..Way::USUAL };
    let with = |name: &str, broken: bool| {
        let mut entry = mowgli_libraries::sv::entry();
        entry.move_to(Network::named(name).expect("a preset")).expect("it has a network");
        let mut variant = entry.variants[0].clone();
        if broken {
            let delivered = calls!(Wait::Put { x, y, d } => Wait::put_by(way, x, y, d));
            variant.implementation = Arc::new(variant.implementation.replace(delivered));
        }
        let limit = mowgli_prove::smt::solve::SolverLimit::of(1);
        let options = mowgli_prove::prove::ProofOptions {
            solvers: Vec::new(),
            limit,
            executions: 1,
            confirms: true,
            keep: false,
            diagnoses: true,
        };
        let found = proved(&entry, &variant, &options, 0).expect("no error in the entry");
        assert_ne!(found.word(), ProofVerdict::Proved, "{name}");
        (found.title(), found.text())
    };
    let (title, text) = with("cxi", true);
    assert_eq!(title, "sv (published) over rdma-wait-rmw on cxi");
    assert!(text.contains("the set is_delivered is a Rust function"), "{text}");
    let (title, text) = with("tcp", false);
    assert_eq!(title, "sv (published) over rdma-wait-rmw on tcp");
    assert!(!text.contains("Rust function"), "{text}");
}

/// The axioms of one network disagree with the machine of another one.
#[test]
fn axioms_of_another_network_are_noticed() {
    let names = ["rc-visible", "rc-relaxed", "rc-relaxed-pci-atomics", "falcon-weak", "efa-direct-flushing"];
    are_noticed(&names.windows(2).map(|two| [two[0], two[1]]).chain([["tcp", "cxi"]]).collect::<Vec<_>>());
}

#[test]
#[ignore = "takes ten seconds"]
fn axioms_of_a_network_that_hides_a_little_more_are_noticed() {
    are_noticed(&[["rc", "rc-visible"]]);
}

fn are_noticed(pairs: &[[&str; 2]]) {
    let named = |name| Network::named(name).expect("a preset");
    let words = tso::PollClients { rmw: true };
    for two in pairs.iter().map(|two| two.map(named)) {
        let (of_axioms, of_machine) = (tso::switched(over(two[0])), over(two[1]));
        let noticed = bounds().iter().any(|(bound, _)| {
            let clients = strategy(&words, bound);
            runner_to_fail(1500).run(&clients, |client| agree_over(&of_axioms, of_machine, &client)).is_err()
        });
        assert!(noticed, "{} {}", two[0], two[1]);
    }
}

/// Returns the verdict on a test by axioms and machine on a network; `None` if the test is not defined there.
fn verdict_on(network: Network, text: &str) -> Option<&'static str> {
    let test = parse("t.litmus", &on_network("t.litmus", text, network).ok()?).unwrap_or_else(|e| panic!("{e}"));
    let answer =
        solve_with(Engine::Both, &test, Limits::default()).unwrap_or_else(|e| panic!("{network}: {e}\n{text}"));
    Some(answer.verdict(&test).text())
}

/// Returns the presets on which a test holds, and on which it is defined and does not.
fn holds_on(text: &str) -> [Vec<&'static str>; 2] {
    let all = PRESETS.iter().filter_map(|(network, _)| Some((network.name, verdict_on(*network, text)?)));
    let (holds, fails): (Vec<_>, Vec<_>) = all.partition(|(_, verdict)| *verdict == "holds");
    [holds, fails].map(|all| all.into_iter().map(|(name, _)| name).collect())
}

/// The completion of an atomic operation is reported to another thread, which reads the word over the network, by the CPU, or not.
#[test]
fn atomics_complete_when_placed_on_libfabric_and_where_a_put_does() {
    let placed =
        ["rc-visible", "efa", "efa-direct", "efa-direct-flushing", "cxi", "cxi-flushing", "tcp", "shm", "psm3"];
    for atomic in ["rfaa(o, s, 1)", "rcas(o, s, 0, 1)", "rxchg(o, s, 1)"] {
        let by_card = format!(
            "RDMA_TSO t\n{{ o@1 = 9; s@2 = 0; t@1 = 0; l@1 = 9; }}\n P1@1 | P3@1 ;\n {atomic} | await t = 1 ;\n poll(2) | get(l, s) ;\n \
             t := 1 | poll(2) ;\n | b := l ;\nforbidden (b=0)\n"
        );
        let by_cpu = format!(
            "RDMA_TSO t\n{{ o@1 = 9; s@2 = 0; f@2 = 0; m@1 = 1; }}\n P1@1 | P2@2 ;\n {atomic} | await f = 1 ;\n poll(2) | b := s ;\n \
             put@q2(f, m) | ;\nforbidden (b=0)\n"
        );
        for text in [by_card, by_cpu] {
            assert_eq!(holds_on(&text)[0], placed, "{text}");
            assert_eq!(verdict_on(Network::named("libfabric:WAW").expect("bits"), &text), Some("holds"));
        }
    }
    let by_waits = "RDMA_WAIT t\n{ o@1 = 9; s@2 = 0; f@2 = 0; m@1 = 1; }\n P1@1 | P2@2 ;\n rfaa(o, s, 1, d) | await f = 1 ;\n \
                    wait(d) | b := s ;\n put@q2(f, m) | ;\nforbidden (b=0)\n";
    for (network, _) in PRESETS {
        let test = parse("t.litmus", &on_network("t.litmus", by_waits, network).expect("a network")).unwrap();
        let answer = mowgli::litmus::run::solve(&test, &[], Limits::default());
        assert_eq!(answer.holds, [Some(placed.contains(&network.name))], "{network}");
    }
}

/// A pointer that was got is a location, whatever the order of completions.
#[test]
fn pointers_are_followed_on_every_network() {
    let put = "RDMA_TSO t\n{ x@1 = 1; y@2 = 0; p@2 = &y; d@1 = 0; }\n P1@1 ;\n get(d, p) ;\n poll(2) ;\n a := d ;\n put(*a, x) ;\n \
               poll(2) ;\nlocations [y;]\nforall (y=1)\n";
    let list = "RDMA_TSO t\n{ y@2 = 7; p@2 = &y; e@1 = 0; v@1 = 0; }\n P1@1 ;\n get(e, p) ;\n poll(2) ;\n a := e ;\n get(v, *a) ;\n \
                poll(2) ;\n b := v ;\nforall (b=7)\n";
    let swapped = "RDMA_TSO t\n{ t@2 = 0; w@1 = 0; v@2 = 5; r@1 = 9; o@1 = 9; }\n P1@1 | P2@2 ;\n rxchg(r, t, &w) | b := v ;\n \
                   poll(2) | ;\n a := r | ;\n if a != 0 { put(*a, o) } | ;\nforall (a=0)\n";
    for text in [put, list, swapped] {
        assert_eq!(holds_on(text)[0].len(), PRESETS.len(), "{text}");
    }
}

/// The answers of docs/networks.md to what the sources leave open. Each test holds where its condition is excluded.
#[test]
fn what_the_sources_leave_open_is_as_the_page_says() {
    // Where writes arrive in any order, sources are read in any order, too.
    let sources = "RDMA_TSO t\n{ x@1 = 0; y@1 = 0; z@2 = 0; w@2 = 0; }\n P1@1 | P3@1 ;\n put(z, x) | y := 1 ;\n put(w, y) | x := 1 ;\n\
                   locations [z; w;]\nforbidden (z=1 /\\ w=0)\n";
    // A message order of a write behind a read needs a size to mean something.
    let war = "RDMA_TSO t\n{ x@1 = 1; z@2 = 0; l@1 = 9; }\n P1@1 ;\n get(l, z) ;\n put(z, x) ;\n poll(2) ;\n poll(2) ;\n a := l ;\n\
               forbidden (a=1)\n";
    // An atomic operation flushes as a READ does.
    let atomic = "RDMA_TSO t\n{ x@1 = 1; z@2 = 0; o@1 = 9; s@2 = 0; f@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | await f = 1 ;\n \
                  poll(2) | b := z ;\n rfaa(o, s, 1) | ;\n poll(2) | ;\n put@q2(f, x) | ;\nforbidden (b=0)\n";
    let flush = "RDMA_TSO t\n{ x@1 = 1; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n flush(z) ;\nforall (true)\n";
    let rows = [
        ("rc-relaxed", [true, false, true, true]),
        ("mlx5-ooo", [false, false, true, true]),
        ("falcon-weak", [false, false, true, true]),
        ("cxi", [true, false, false, false]),
        ("cxi-flushing", [true, false, true, true]),
        ("efa-direct", [false, false, false, false]),
        ("efa-direct-flushing", [false, false, true, true]),
        ("shm", [true; 4]),
        ("libfabric:WAR", [false, false, false, false]),
        ("libfabric:WAR,WAR_SIZE", [false, true, false, false]),
        ("libfabric:RAW,RAW_SIZE", [false, false, true, false]),
        ("libfabric:RAW,RAW_SIZE,RAR", [false, false, true, true]),
    ];
    for (name, wanted) in rows {
        let network = Network::named(name).expect("a network");
        let holds = [sources, war, atomic].map(|text| verdict_on(network, text) == Some("holds"));
        let moved = on_network("t.litmus", flush, network).expect("a test of polls");
        let flushed = parse("t.litmus", &moved).map_err(|e| e.to_string());
        assert_eq!([&holds[..], &[flushed.is_ok()]].concat(), wanted, "{name}");
        assert!(
            flushed.is_ok() || flushed.unwrap_err().contains("may pass the write of a put or of an atomic"),
            "{name}"
        );
    }
    let other_way =
        "RDMA_TSO+events t\n{ x@1 = 1; z@2 = 0; }\n P1@1 ;\n put@q2(z, x) ;\n a := trypoll@q2(2) ;\nforall (true)\n";
    assert!(parse("t.litmus", other_way).unwrap_err().to_string().contains("trypoll is made in one way only"));
}

/// Messages are defined where the writes of a queue pair arrive in order, and axioms and machine agree there.
#[test]
fn messages_are_of_networks_that_deliver_writes_in_order() {
    let waited = "RDMA_TSO+messages t\n{ x@1 = 1; z@2 = 0; }\n P1@1 | P2@2 ;\n put@q2(z, x) | a := recv() ;\n poll@q2(2) | b := z ;\n \
                  send(2, 7) | ;\nforbidden (b=0)\n";
    let [holds, fails] = holds_on(waited);
    assert_eq!(holds, ["rc-visible"], "only there a completion is enough");
    let ordered = "RDMA_TSO+messages t\n{ x@1 = 1; z@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | a := recv() ;\n send(2, 7) | b := z ;\n\
                   forbidden (b=0)\n";
    let two = "RDMA_TSO+messages t\n{ x@1 = 1; z@2 = 0; }\n P1@1 | P2@2 ;\n send(2, 7) | a := recv() ;\n put(z, x) | b := recv() ;\n \
               send(2, 8) | c := z ;\nforall (a=7 /\\ b=8 /\\ c=1)\n";
    let atomic = "RDMA_TSO+messages t\n{ o@1 = 9; z@2 = 0; }\n P1@1 | P2@2 ;\n rfaa(o, z, 1) | a := recv() ;\n send(2, 7) | b := z ;\n\
                  forbidden (b=0)\n";
    let all = [&holds[..], &fails].concat();
    assert_eq!(all.len(), 11, "{all:?}");
    for text in [ordered, two, atomic] {
        assert_eq!(holds_on(text)[0].len(), all.len(), "{text}");
    }
    let why = on_network("t.litmus", ordered, Network::named("mlx5-ooo").expect("a preset"));
    let why = why.and_then(|text| parse("t.litmus", &text)).unwrap_err().to_string();
    assert!(
        why.contains("messages is not defined on mlx5-ooo: it needs writes of a queue pair that arrive in order"),
        "{why}"
    );
}

/// Polls that directly follow each other return in one order, and that loses no outcome.
#[test]
fn polls_in_a_row_cost_no_factorial() {
    let (puts, polls) = ((0..7).map(|k| format!(" put(z[{k}], x) ;\n")), " poll(2) ;\n".repeat(7));
    let rows = puts.collect::<String>() + &polls;
    let text =
        format!("RDMA_TSO+cxi t\n{{ z@2[7] = 0; x@1 = 1; }}\n P1@1 ;\n{rows}locations [z[0];]\nforall (z[0]=1)\n");
    let test = parse("t.litmus", &text).unwrap();
    let answer = mowgli::litmus::run::solve(&test, &[], Limits::default());
    assert_eq!((answer.verdict(&test).text(), answer.explored.traces), ("holds", 1), "{:?}", answer.explored);
    // The machine has a state for each set of completions that were taken, and not for each order.
    let states = |polls: usize| {
        let rows: String =
            (0..polls).map(|k| format!(" get(z[{k}], x) ;\n")).collect::<String>() + &" poll(2) ;\n".repeat(polls);
        let text = format!("RDMA_TSO+efa t\n{{ z@1[9] = 0; x@2 = 1; }}\n P1@1 ;\n{rows}forall (true)\n");
        let (answer, runs) = explore(&parse("t.litmus", &text).unwrap(), Limits::default()).unwrap();
        assert_eq!(answer.holds, [Some(true)]);
        runs.states
    };
    assert_eq!([2, 3, 4, 5].map(states), [25, 125, 625, 3125]);
    // So do polls of two nodes that alternate.
    let alternate = |polls: usize| {
        let puts: String = (0..polls).map(|k| format!(" put(y[{k}], x) ;\n put(z[{k}], x) ;\n")).collect();
        let rows = puts + &" poll(2) ;\n poll(3) ;\n".repeat(polls);
        format!(
            "RDMA_TSO+cxi t\n{{ y@2[9] = 0; z@3[9] = 0; x@1 = 1; }}\n P1@1 ;\n{rows}locations [z[0];]\nforall (z[0]=1)\n"
        )
    };
    let answer = mowgli::litmus::run::solve(&parse("t.litmus", &alternate(5)).unwrap(), &[], Limits::default());
    assert_eq!((answer.holds, answer.explored.traces), (vec![Some(true)], 1));
    // Between reads each poll may still take each operation, and a poll too many waits at its own place.
    let reads = "RDMA_TSO+cxi t\n{ o@1[3] = 0; h@2[3] = (5, 6, 7); }\n P1@1 ;\n get(o[0], h[0]) ;\n get(o[1], h[1]) ;\n get(o[2], h[2]) ;\n \
                 poll(2) ;\n a := o[0] ;\n b := o[2] ;\n poll(2) ;\n poll(2) ;\n c := o[1] ;\n poll(2) ;\nhangs (P1 at line 13)\n";
    let test = parse("t.litmus", reads).unwrap();
    let answer = solve_with(Engine::Both, &test, Limits::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(answer.liveness, [Some(true)], "{:?}", answer.kinds());
    let ended = parse(
        "t.litmus",
        &reads
            .replace(" poll(2) ;\nhangs (P1 at line 13)", "allowed (a=0 /\\ b=0)\nallowed (a=0 /\\ b=7)\nforall (c=6)"),
    );
    let ended = ended.unwrap();
    let answer = solve_with(Engine::Both, &ended, Limits::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(answer.verdict(&ended).text(), "holds", "{:?}", answer.outcomes);
}
