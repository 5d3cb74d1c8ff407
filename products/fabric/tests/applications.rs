//! Tests of the applications. Their clients see correct results over every fabric of this process, and the machine
//! shows the errors of broken variants.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use mowgli_fabric::{Fabric, Thread};

#[path = "../examples/transfer/bank.rs"]
mod bank;
#[path = "../examples/ycsb/clients.rs"]
mod clients;
#[allow(dead_code, reason = "what the example prints")]
#[path = "../examples/converter/plant.rs"]
mod plant;

use crate::history::Called;

fn fabrics(seeds: u64) -> impl Iterator<Item = (Fabric, u64)> {
    [(Fabric::Local, 0)].into_iter().chain((0..seeds).map(|seed| (Fabric::Machine { seed }, seed)))
}

/// Runs two clients of a bank with two accounts and one lock, or with more of both.
fn transfers(locks: usize, is_elsewhere: bool, fabric: Fabric, seed: u64) -> Vec<bank::Done> {
    let setting = bank::Setting { nodes: 2, clients: 1, accounts: locks + 1, locks, transfers: 3, is_elsewhere };
    let (group, bank) = setting.group();
    let clock = AtomicU64::new(0);
    group.run(fabric, |thread| bank.run(thread, seed, || clock.fetch_add(1, SeqCst))).unwrap()
}

#[test]
fn transfers_are_serialisable() {
    for (fabric, seed) in fabrics(20) {
        for locks in [1, 3] {
            let all = transfers(locks, false, fabric, seed);
            assert_eq!(all.iter().map(|done| done.transfers.len()).sum::<usize>(), 6);
            assert_eq!(bank::wrong(&all), None, "{locks} locks, {fabric:?}");
        }
    }
}

/// A node lock promises nothing about other nodes: a put to one of them can be placed after the next client has the
/// lock.
#[test]
fn a_bank_loses_money_whose_accounts_are_not_where_their_locks_are() {
    let lost = |seed| bank::wrong(&transfers(1, true, Fabric::Machine { seed }, seed));
    let seed = (0..300).find(|&seed| lost(seed).is_some()).expect("a run that shows it");
    assert!(lost(seed).unwrap().contains("no order of all transfers"), "{seed}");
    assert_eq!(bank::wrong(&transfers(1, false, Fabric::Machine { seed }, seed)), None);
}

fn transfer(client: usize, [from, to]: [(usize, i64); 2], amount: i64) -> bank::Transfer {
    let found = [from, to].map(|(account, word)| bank::Found { account, word });
    bank::Transfer { client, found, amount, begun: 0, ended: 1 }
}

#[test]
fn what_makes_money_or_loses_it_is_wrong() {
    const CHANGE: i64 = 1 << 24;
    let [first, second] = [[(0, 100), (1, 100)], [(1, CHANGE + 130), (0, CHANGE + 70)]];
    let done = |transfers: Vec<bank::Transfer>, last: [i64; 2]| vec![bank::Done { transfers, last: last.to_vec() }];
    let both = vec![transfer(1, second, 10), transfer(0, first, 30)];
    assert_eq!(bank::wrong(&done(both.clone(), [2 * CHANGE + 80, 2 * CHANGE + 120])), None, "in the other order");
    let made = bank::wrong(&done(both.clone(), [2 * CHANGE + 90, 2 * CHANGE + 120])).unwrap();
    assert!(made.contains("have 210 in the end, and should have 200"), "{made}");
    let late = bank::wrong(&done(both, [CHANGE + 70, CHANGE + 130]));
    assert!(late.is_some(), "the sum is right, and the second one is not in it");
    let twice = vec![transfer(0, first, 30), transfer(1, first, 20)];
    let lost = bank::wrong(&done(twice, [CHANGE + 80, CHANGE + 120])).unwrap();
    assert!(lost.contains("client 0  moves 30") && lost.contains("client 1  moves 20"), "{lost}");
}

fn commands(variant: &str, fabric: Fabric) -> Vec<plant::Done> {
    let setting = plant::Setting { converters: 2, period: 40_000, commands: 15, slower: None };
    let (group, plant) = setting.group(variant);
    let clock = AtomicU64::new(0);
    group.run(fabric, |thread| plant.run(thread, || clock.fetch_add(1, SeqCst))).unwrap()
}

#[test]
fn commands_come_in_order_and_in_time() {
    for (fabric, _) in fabrics(5) {
        let all = commands("published", fabric);
        assert_eq!(plant::wrong(&all), None, "{fabric:?}");
        assert_eq!(plant::followed(&all).len(), 2 * 15, "{fabric:?}");
    }
}

#[test]
fn a_fence_that_does_not_wait_lets_a_converter_have_an_old_command() {
    let late = |seed| plant::wrong(&commands("fence-of-puts", Fabric::Machine { seed }));
    let seed = (0..100).find(|&seed| late(seed).is_some()).expect("a run that shows it");
    assert!(late(seed).unwrap().contains("though it was known"), "{seed}");
}

#[test]
fn earlier_and_late_commands_are_wrong() {
    let command = |number: i64, known: u64| plant::Command { number, sent: (known - 2, known), volts: 0.0 };
    let looks = |all: &[(u64, i64)]| {
        plant::Done::Converter(all.iter().map(|&(begun, number)| plant::Look { begun, number }).collect())
    };
    let wrong =
        |all: &[(u64, i64)]| plant::wrong(&[plant::Done::Controller(vec![command(1, 10), command(2, 20)]), looks(all)]);
    assert_eq!(wrong(&[(1, 0), (9, 1), (11, 1), (19, 2), (21, 2)]), None);
    assert!(wrong(&[(9, 1), (9, 0)]).unwrap().contains("command 0 after 1"));
    assert!(wrong(&[(21, 1)]).unwrap().contains("command 2 is there"));
}

/// The plant comes to rest at its target if the controller looks often, and does not if it looks too rarely.
#[test]
fn the_voltage_becomes_what_it_should_be() {
    let far = |period: u64| {
        let (mut converter, mut control) = (plant::Converter::default(), plant::Control::default());
        let mut far = 0.0_f64;
        for _ in 0..10_000_000 / period {
            let duty = control.next(converter.volts(), period);
            (0..period / plant::STEP).for_each(|_| converter.step(duty));
            far = (far * 0.9).max((converter.volts() - plant::TARGET).abs());
        }
        far
    };
    assert!(far(40_000) < 0.01 && far(320_000) > 1.0, "{} {}", far(40_000), far(320_000));
}

fn calls(variant: Option<&str>, fabric: Fabric, seed: u64) -> Vec<crate::history::Done> {
    let load = clients::Load { nodes: 2, clients: 1, keys: 1, calls: 4, updates: 0.5 };
    let (group, map, barrier) = load.group(variant);
    let clock = AtomicU64::new(0);
    let run = |thread: &mut Thread<'_>| load.run((map, barrier), thread, seed, || clock.fetch_add(1, SeqCst));
    group.run(fabric, run).unwrap().concat()
}

#[test]
fn what_a_load_of_a_store_sees_is_linearisable() {
    for (fabric, seed) in fabrics(20) {
        for variant in [None, Some("fenced-delete")] {
            let all = calls(variant, fabric, seed);
            assert_eq!(all.len(), 1 + 2 * 4);
            assert!(crate::history::wrong(&all).is_none(), "{variant:?} {fabric:?}");
        }
    }
}

#[test]
fn an_update_that_is_not_complete_when_its_lock_is_released_is_seen() {
    let wrong = |seed| crate::history::wrong(&calls(Some("no-fence"), Fabric::Machine { seed }, seed));
    let of_key = (0..400).find_map(wrong).expect("a run that shows it");
    assert!(of_key.iter().any(|done| matches!(done.called, Called::Update(..))), "{of_key:?}");
}
