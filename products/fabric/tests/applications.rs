//! Tests of the applications. Their clients see correct results over every fabric of this process, and their checkers find wrong ones.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use mowgli_fabric::Fabric;

#[path = "../examples/store/load.rs"]
mod load;
#[path = "../examples/converter/plant.rs"]
mod plant;

use crate::history::{Called, Done, wrong};

#[test]
fn what_clients_of_a_store_see_is_linearisable() {
    let load = load::Load { nodes: 3, clients: 1, keys: 1, changes: 2, others: 30 };
    for seed in 0..10 {
        for fabric in [Fabric::Local, Fabric::Machine { seed }] {
            let ((group, map), clock) = (load.group(), AtomicU64::new(0));
            let all = group.run(fabric, |thread| load.run(map, thread, seed, || clock.fetch_add(1, SeqCst)));
            let all = all.unwrap().concat();
            assert!(all.len() > 3 * 2 * 31 && wrong(&all).is_none(), "{fabric:?}, seed {seed}");
        }
    }
}

fn done(client: usize, begun: u64, ended: u64, called: Called) -> Done {
    Done { client, key: 0, called, begun, ended }
}

#[test]
fn what_was_taken_away_is_not_found() {
    let put = [done(0, 1, 2, Called::Insert(7, true)), done(0, 3, 6, Called::Remove(true))];
    let got = |begun, ended, found| [&put[..], &[done(1, begun, ended, Called::Get(found))]].concat();
    for (begun, ended, found) in [(4, 5, Some(7)), (4, 5, None), (7, 8, None), (6, 8, Some(7))] {
        assert!(wrong(&got(begun, ended, found)).is_none(), "{begun} {ended} {found:?}");
    }
    for (begun, ended, found) in [(7, 8, Some(7)), (0, 1, Some(8)), (4, 5, Some(8))] {
        assert!(wrong(&got(begun, ended, found)).is_some(), "{begun} {ended} {found:?}");
    }
}

#[test]
fn two_that_insert_are_not_both_new() {
    let twice = |first, second| [done(0, 1, 3, Called::Insert(1, first)), done(1, 2, 4, Called::Insert(2, second))];
    assert!(wrong(&twice(true, false)).is_none() && wrong(&twice(false, true)).is_none());
    assert!(wrong(&twice(true, true)).is_some() && wrong(&twice(false, false)).is_some());
    let updated = [&twice(true, false)[..], &[done(0, 5, 6, Called::Update(3, false))]].concat();
    let others = (6..50).map(|time| done(2, 2 * time, 2 * time + 1, Called::Get(Some(1))));
    let updated: Vec<Done> = updated.into_iter().chain(others).collect();
    assert_eq!(wrong(&updated).map(|all| all.len()), Some(2), "the one that inserts, and the one that updates");
}

#[test]
fn commands_come_in_order_and_in_time() {
    let setting = plant::Setting { converters: 2, period: 40_000, commands: 15, slower: None };
    for fabric in [Fabric::Local].into_iter().chain((0..5).map(|seed| Fabric::Machine { seed })) {
        let ((group, plant), clock) = (setting.group(), AtomicU64::new(0));
        let all = group.run(fabric, |thread| plant.run(thread, || clock.fetch_add(1, SeqCst))).unwrap();
        assert_eq!((plant::wrong(&all), plant::volts(&all).len()), (None, 15), "{fabric:?}");
    }
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
