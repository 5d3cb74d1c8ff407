//! Objects with emitted code, beside the same objects with interpreted bodies.

use std::process::Command;

use mowgli_core::cat::cat;
use mowgli_fabric::{
    Atomic, Barrier, Fabric, Fault, Group, Map, NodeLock, PutBarrier, Ring, SharedVar, StrongLock, Thread, WeakLock,
    Words,
};
use mowgli_libraries::entry::Memory;
use mowgli_rdma::wait::WAIT;
use siphasher::sip::SipHasher13;

use crate::mowgli_port::World;

/// An object of each kind.
struct Objects {
    barrier: Barrier,
    put_barrier: PutBarrier,
    variable: SharedVar,
    weak: WeakLock,
    strong: StrongLock,
    node: NodeLock,
    atomic: Atomic,
    ring: Ring,
    /// Words on nodes 1 and 2.
    words: [Words; 2],
    map: Map,
}

/// A call, or a section of a lock.
#[derive(Clone, Copy, Debug)]
enum Action {
    Meet,
    MeetForPuts,
    Share(i64),
    Look,
    Send,
    Flush,
    /// Each adds to the shared variable of its node, in a section of one of the locks.
    Locked(u32),
    Store(i64),
    Load,
    Add(i64),
    Swap(i64, i64),
    /// The first thread submits, and the others receive.
    Pass(i64),
    /// The first thread writes words and puts them to node 2, where the second one reads them.
    Copy(i64),
    /// The first thread gives a key a value, or takes it away. The threads of other nodes serve the change, and then all look.
    Keep(Option<i64>),
    /// Changes the value of the key.
    Change(i64),
    Find,
}

impl Objects {
    fn add(group: &mut Group, threads: &[usize]) -> Self {
        Self {
            barrier: group.barrier("b", threads),
            put_barrier: group.put_barrier("p", threads),
            variable: group.shared_var("x"),
            weak: group.weak_lock("w", 1),
            strong: group.strong_lock("s", 2),
            node: group.node_lock("n", 1),
            atomic: group.atomic("a", 2),
            ring: group.ring("r", 0, &threads[1..], 7),
            words: [1, 2].map(|node| group.words(&format!("v{node}"), node, 3)),
            map: group.map("m", 2),
        }
    }

    fn act(&self, thread: &mut Thread<'_>, action: Action) -> Result<Option<i64>, Fault> {
        match action {
            Action::Meet => self.barrier.wait(thread).map(|()| None),
            Action::MeetForPuts => self.put_barrier.wait(thread).map(|()| None),
            Action::Share(v) => self.variable.write(thread, v).map(|()| None),
            Action::Look => self.variable.read(thread).map(Some),
            Action::Send => self.variable.broadcast(thread).map(|()| None),
            Action::Flush => self.variable.fence(thread).map(|()| None),
            Action::Locked(lock) => {
                let mut section = match lock {
                    0 => self.weak.lock(thread)?,
                    1 => self.strong.lock(thread)?,
                    _ => self.node.lock(thread)?,
                };
                let seen = self.variable.read(&mut section)?;
                self.variable.write(&mut section, seen + 1)?;
                section.release()?;
                Ok(Some(seen))
            }
            Action::Store(v) => self.atomic.store(thread, v).map(|()| None),
            Action::Load => self.atomic.load(thread).map(Some),
            Action::Add(v) => self.atomic.fetch_add(thread, v).map(Some),
            Action::Swap(old, new) => self.atomic.compare_and_swap(thread, old, new).map(Some),
            Action::Copy(v) if thread.id().index() == 0 => {
                self.words[0].write(thread, &[v, -v, v + 1])?;
                self.words[1].put(thread, self.words[0])?.wait(thread)?;
                Ok(Some(self.words[0].try_read(thread)?.is_some().into()))
            }
            Action::Copy(_) if thread.id().index() == 1 => {
                Ok(self.words[1].try_read(thread)?.map(|words| words.iter().fold(0, |all, v| 10 * all + v)))
            }
            Action::Copy(_) => Ok(None),
            Action::Keep(v) => {
                if thread.id().index() == 0 {
                    let is_done = match v {
                        Some(v) => self.map.insert(thread, 1, v)?,
                        None => self.map.remove(thread, 1)?,
                    };
                    assert!(is_done, "{v:?}");
                } else if thread.node().0 != 1 {
                    self.map.serve(thread)?;
                }
                self.map.get(thread, 1)
            }
            Action::Change(v) => Ok(Some(self.map.update(thread, 1, v)?.into())),
            Action::Find => self.map.get(thread, 1),
            Action::Pass(v) if thread.id().index() == 0 => {
                Ok(Some(self.ring.submit_words(thread, &[v, 2 * v][..v as usize % 3])?.into()))
            }
            Action::Pass(_) => {
                Ok(self.ring.receive_words(thread)?.map(|words| words.iter().fold(0, |all, v| 10 * all + v)))
            }
        }
    }
}

/// Returns the calls of each thread: all meet after each round.
fn client(random: &mut fastrand::Rng, threads: usize) -> Vec<Vec<Action>> {
    let action = |random: &mut fastrand::Rng| match random.u32(..17) {
        0 => Action::Share(random.i64(1..5)),
        1 => Action::Look,
        2 => Action::Send,
        3 => Action::Flush,
        4 => Action::Locked(random.u32(..3)),
        5 => Action::Store(random.i64(1..5)),
        6 => Action::Load,
        7 => Action::Add(random.i64(1..5)),
        8 => Action::Swap(random.i64(0..3), random.i64(1..5)),
        9..12 => Action::Copy(random.i64(1..5)),
        12 => Action::Change(random.i64(1..5)),
        13 | 14 => Action::Find,
        _ => Action::Pass(random.i64(1..5)),
    };
    // A thread that waits for the lock of a key does not serve, so all serve first.
    let round = |random: &mut fastrand::Rng, [first, last]: [Action; 2]| {
        let others: Vec<Action> = (0..random.usize(1..4)).map(|_| action(random)).collect();
        [vec![first], others, vec![last]].concat()
    };
    let rounds = [[Action::Keep(Some(7)), Action::Meet], [Action::Keep(None), Action::MeetForPuts]];
    (0..threads).map(|_| rounds.iter().flat_map(|together| round(random, *together)).collect()).collect()
}

/// Runs a client over the machine. Returns the results of each thread.
fn run(group: Group, seed: u64, client: &[Vec<Action>]) -> Result<Vec<Vec<Option<i64>>>, Fault> {
    let (mut group, threads) = (group, (0..client.len()).collect::<Vec<_>>());
    let objects = Objects::add(&mut group, &threads);
    group.run(Fabric::Machine { seed }, |thread| {
        client[thread.id().index()].iter().map(|action| objects.act(thread, *action)).collect()
    })
}

/// Compares clients, each with one seed. Returns how many have other results with the next seed, and how many with a
/// barrier that lacks a fence.
fn compared(clients: u64) -> (usize, usize) {
    let (mut by_seed, mut by_variant) = (0, 0);
    for seed in 0..clients {
        let mut random = fastrand::Rng::with_seed(seed);
        let nodes = [&[1, 2][..], &[1, 2, 1], &[1, 2, 3]][random.usize(..3)];
        let client = client(&mut random, nodes.len());
        // A named variant is interpreted.
        let interpreted = || Group::new(nodes).variant("rbl", "hashed");
        let known = run(interpreted(), seed, &client);
        assert!(known.is_ok(), "{client:?}: {known:?}");
        assert_eq!(run(Group::new(nodes), seed, &client), known, "seed {seed}: {client:?}");
        by_seed += usize::from(run(Group::new(nodes), seed + 1, &client) != known);
        by_variant += usize::from(run(interpreted().variant("bal", "no-fence"), seed, &client) != known);
    }
    (by_seed, by_variant)
}

/// The page of assumptions has each definition of the model, as its text in cat has them, and tests that exist.
#[test]
fn the_page_of_assumptions_has_every_definition_of_the_model() {
    let page = include_str!("../assumptions.md");
    let model = Memory::rdma_wait();
    let text = cat("RDMA_WAIT", &model.libraries, WAIT).unwrap();
    let (_, axioms) = text.split_once("let W").expect("definitions");
    // What only helps to write the others down.
    let helps = ["rao-line", "same-queue-pair", "same-target", "same-wid", "same-event", "each-word"];
    let names = axioms.lines().filter_map(|line| line.strip_prefix("let ")?.split([' ', '=', '(']).next());
    let names: Vec<&str> = names.filter(|name| !helps.contains(name)).collect();
    assert!(names.len() > 10, "{names:?}");
    let missing: Vec<&&str> = names.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}\n{text}");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/");
    let sources = [
        "tests/processes.rs",
        "tests/launched.rs",
        "tests/objects.rs",
        "tests/compiled.rs",
        "src/byte_map.rs",
        "src/company/sources.rs",
        "src/fenced.rs",
        "src/ofi/port.rs",
        "src/ofi/queue.rs",
    ];
    let sources: String = sources.map(|file| std::fs::read_to_string(format!("{root}{file}")).unwrap()).concat();
    let tests: Vec<&str> =
        page.split('`').filter(|word| word.matches('_').count() > 2 && !word.contains(' ')).collect();
    assert!(tests.len() > 20, "{tests:?}");
    let absent: Vec<&&str> = tests
        .iter()
        .filter(|test| !sources.contains(&format!("\"{test}\"")) && !sources.contains(&format!("fn {test}(")))
        .collect();
    assert!(absent.is_empty(), "{absent:?}");
}

/// The checksum is the hash of the crate `siphasher`, but for bottom.
#[test]
fn checksums_are_keyed_hashes() {
    let mut random = fastrand::Rng::with_seed(73);
    for length in 0..100 {
        let mut world = World::new(0, &[]);
        world.key = [random.u64(..), random.u64(..)];
        let words: Vec<i64> = (0..length).map(|_| random.i64(..)).collect();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let expected = SipHasher13::new_with_keys(world.key[0], world.key[1]).hash(&bytes) as i64;
        assert_eq!(world.checksum(&words), expected, "{words:?}");
    }
}

#[test]
fn objects_have_the_results_of_interpreted_bodies() {
    let (by_seed, by_variant) = compared(40);
    // The results depend on the schedule and on each operation.
    assert!(by_seed > 10 && by_variant > 5, "{by_seed} {by_variant}");
}

#[test]
#[ignore = "takes a minute"]
fn objects_have_the_results_of_interpreted_bodies_for_1000_clients() {
    let (by_seed, by_variant) = compared(1000);
    assert!(by_seed > 250 && by_variant > 125, "{by_seed} {by_variant}");
}

/// Over each fabric, and by emitted code and interpreter alike.
#[test]
fn messages_have_several_words_up_to_the_size_of_the_ring() {
    for interpreted in [true, false] {
        let mut group = Group::new(&[1, 2]);
        let ring = group.ring("r", 0, &[1], 10);
        let group = if interpreted { group.interpreted() } else { group };
        for fabric in [Fabric::Local, Fabric::Machine { seed: 3 }] {
            let ran = group.run(fabric, |thread| {
                let messages: [&[i64]; 4] = [&[], &[5], &[1, 2, 3, 4, 5, 6, 7, 8], &[7, 9]];
                if thread.id().index() == 1 {
                    return messages.iter().try_for_each(|message| {
                        let received = thread.until(|thread| ring.receive_words(thread))?;
                        assert_eq!(received, *message);
                        Ok(())
                    });
                }
                let refused = ring.submit_words(thread, &[0; 10]);
                let why = "a message of 10 never has room";
                assert!(matches!(&refused, Err(Fault::Wrong(text)) if text.contains(why)), "{refused:?}");
                messages.iter().try_for_each(|message| {
                    thread.until(|thread| Ok(ring.submit_words(thread, message)?.then_some(())))
                })
            });
            assert_eq!(ran, Ok(vec![(); 2]), "{interpreted} {fabric:?}");
        }
    }
}

/// Returns the resident memory of this process in kilobytes, without that of files.
fn resident() -> i64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Makes calls with so many different values, and returns by how many kilobytes the memory of this process grows.
fn growth(mut group: Group, values: i64) -> i64 {
    let objects = Objects::add(&mut group, &[0, 1]);
    let grown = group.run(Fabric::Local, |thread| {
        if thread.id().index() > 0 {
            return Ok(0);
        }
        let mut before = 0;
        for v in 0..values {
            // The first calls fill what is kept once.
            if v == values / 10 {
                before = resident();
            }
            objects.atomic.fetch_add(thread, v)?;
            objects.variable.write(thread, v)?;
            objects.ring.submit(thread, v)?;
        }
        Ok(resident() - before)
    });
    grown.unwrap()[0]
}

/// The process of this test runs no other test, because all share its memory.
#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_values() {
    const ALONE: &str = "MOWGLI_TEST_ALONE";
    let name = "compiled::memory_does_not_grow_with_the_values";
    if std::env::var_os(ALONE).is_none() {
        let program = std::env::current_exe().unwrap();
        let ran = Command::new(program).args(["--exact", name]).env(ALONE, "1").output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        return;
    }
    // This is less than a byte for each value.
    let kilobytes = growth(Group::new(&[1, 2]), 300_000);
    assert!(kilobytes < 256, "{kilobytes} kB");
}
