//! The key-value store under load. Its clients' calls are linearisable with the deletion that waits, and not with the
//! published one.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use mowgli_fabric::{Fabric, Fault};

#[path = "../examples/store/load.rs"]
mod load;

use crate::history::{Called, Done, wrong};
use load::Load;

/// A client on each of three nodes, that looks up one key many times, and changes it twice.
const LOAD: Load = Load { nodes: 3, clients: 1, keys: 1, changes: 2, others: 30 };

fn ran(variant: Option<&str>, fabric: Fabric, seed: u64) -> Result<Vec<Done>, Fault> {
    let (group, map) = LOAD.group(variant);
    let clock = AtomicU64::new(0);
    Ok(group.run(fabric, |thread| LOAD.run(map, thread, seed, || clock.fetch_add(1, SeqCst)))?.concat())
}

#[test]
fn what_clients_see_is_linearisable() {
    for seed in 0..10 {
        for fabric in [Fabric::Local, Fabric::Machine { seed }] {
            let all = ran(None, fabric, seed).unwrap();
            assert!(all.len() > 3 * 2 * 31 && wrong(&all).is_none(), "{fabric:?}, seed {seed}");
        }
    }
}

/// LOCO-X App. I: after one client has found that the key has no value, another one still finds the value.
#[test]
fn the_published_deletion_lets_a_value_come_back() {
    let seed = SEEN;
    let of_key = wrong(&ran(Some("published"), Fabric::Machine { seed }, seed).unwrap()).expect("not linearisable");
    let found = |done: &Done| if let Called::Get(found) = done.called { Some(found) } else { None };
    let comes_back = of_key.iter().any(|a| {
        found(a) == Some(None)
            && of_key.iter().any(|b| a.ended < b.begun && a.client != b.client && matches!(found(b), Some(Some(_))))
    });
    assert!(comes_back, "{of_key:?}");
    assert!(wrong(&ran(None, Fabric::Machine { seed }, seed).unwrap()).is_none());
}

/// A seed of the machine that shows it.
const SEEN: u64 = 2417;

#[test]
fn the_page_has_this_seed() {
    assert!(include_str!("../README.md").contains(&format!("--variant published --seed {SEEN}\n")));
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
