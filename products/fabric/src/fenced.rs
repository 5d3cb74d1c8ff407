//! Store buffering over the ports of two threads of a node. Each writes a word, and then reads that of the other one.

use std::sync::atomic::{AtomicU64, Ordering};

use mowgli_core::ids::{Loc, Tid};

use crate::emitted::mowgli_port::Word;
use crate::group::Group;
use crate::local::LocalMemory;
use crate::made::MadeObjects;
use crate::memory::counted::fences;
#[cfg(libfabric)]
use crate::ofi::Ofi;
use crate::port::{Fault, Port, RemoteFabric};
#[cfg(libfabric)]
use crate::{Company, Provider};

#[path = "../tests/common/pair.rs"]
mod pair;
use pair::Pair;

/// A way to read a word behind a store of the thread. It may use a word of the thread's own.
type Fenced = fn(&mut dyn Port, Word, Word) -> Result<i64, Fault>;

/// A fence of the CPU, a get of a word, and a get of a row of one word.
const FENCES: [Fenced; 3] = [
    |port, x, _| {
        port.mfence()?;
        port.read(x)
    },
    |port, x, own| {
        port.get(own, x, 1)?;
        port.wait(1)?;
        port.read(own)
    },
    |port, x, own| {
        port.get_words(&[own], &[x], 1)?;
        port.wait(1)?;
        port.read(own)
    },
];

/// Returns in how many rounds both threads find an earlier value.
fn stale(network: &dyn RemoteFabric, words: [[Word; 3]; 2], rounds: u64, fenced: Fenced) -> u64 {
    let (pair, found) = (Pair::default(), [const { AtomicU64::new(0) }; 2]);
    let run = |me: usize| {
        let (mut port, mut both) = (network.port(Tid::from_index(me)), 0);
        for round in 1..=rounds {
            pair.meets(2 * round, me);
            // The lines of both words are at the other thread, so stores wait long for them.
            port.write(words[1 - me][2], round as i64).unwrap();
            port.write(words[me][0], round as i64).unwrap();
            let seen = fenced(&mut *port, words[1 - me][0], words[me][1]).unwrap();
            found[me].store(seen as u64, Ordering::SeqCst);
            pair.meets(2 * round + 1, me);
            both += u64::from(found.iter().all(|seen| seen.load(Ordering::SeqCst) < round));
        }
        both
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(1));
        run(0).max(other.join().unwrap())
    })
}

/// For each thread a word, one of its own, and one that is beside the first.
fn group() -> Group {
    let mut group = Group::new(&[1, 1]);
    for t in [0, 1] {
        ["own", "first", "beside"].iter().for_each(|name| _ = group.word(&format!("{name}{t}"), 1, 0));
        // A line of the cache, so that the words of the threads are in different ones.
        (0..8).for_each(|k| _ = group.word(&format!("between{t}{k}"), 1, 0));
    }
    group
}

/// Returns the words: the first, the own one, and the one beside the first.
fn words(made: &MadeObjects<'_>) -> [[Word; 3]; 2] {
    let word = |name: &str, t: usize| *made.object(Loc::new(&format!("{name}{t}"))).unwrap();
    [0, 1].map(|t| ["first", "own", "beside"].map(|name| word(name, t)))
}

/// A missing fence is seen by its effect.
#[test]
fn stores_of_mapped_memory_precede_what_is_behind_a_fence() {
    let group = group();
    let made = group.made([0; 2]).unwrap();
    let (words, memory) = (words(&made), LocalMemory::new(&made.memory));
    assert_eq!(stale(&memory, words, 20_000, FENCES[0]), 0);
    let unfenced: Fenced = |port, x, _| port.read(x);
    assert!(stale(&memory, words, 100_000, unfenced) > 0, "this test would see no missing fence here");
    has_fences(&memory, words);
    assert!(are_whole(&memory, words));
}

#[test]
#[cfg(libfabric)]
fn stores_over_libfabric_precede_what_is_behind_a_fence() {
    for provider in [Provider::Tcp, Provider::Shm] {
        let (group, limit) = (group(), std::time::Duration::from_secs(60));
        let company = Company::start(1, &[], limit).unwrap();
        let made = group.made([0; 2]).unwrap();
        let net = Ofi::open(&company, provider, &made, limit).unwrap();
        net.going_on(|| has_fences(&net, words(&made)));
        assert!(are_whole(&net, words(&made)));
    }
}

/// Returns true if a thread finds each word as the other one has written it.
fn are_whole(network: &dyn RemoteFabric, [[x, ..], _]: [[Word; 3]; 2]) -> bool {
    const VALUES: [i64; 2] = [0x0102_0304_0506_0708, -0x0102_0304_0506_0709];
    let mut reader = network.port(Tid::from_index(1));
    reader.write(x, VALUES[0]).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = network.port(Tid::from_index(0));
            (0..400_000).for_each(|round| writer.write(x, VALUES[round % 2]).unwrap());
        });
        (0..400_000).all(|_| VALUES.contains(&reader.read(x).unwrap()))
    })
}

/// Checks that each way makes a fence.
fn has_fences(network: &dyn RemoteFabric, words: [[Word; 3]; 2]) {
    let mut port = network.port(Tid::from_index(0));
    for (number, fenced) in FENCES.into_iter().enumerate() {
        let before = fences();
        fenced(&mut *port, words[1][0], words[0][1]).unwrap();
        assert!(fences() > before, "way {number}");
    }
}
