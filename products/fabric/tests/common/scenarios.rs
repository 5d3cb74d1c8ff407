//! Programs that are right over every fabric, in one process and in several.

use std::fmt::Debug;

use mowgli_fabric::mowgli_port::World;
use mowgli_fabric::{Begun, Fault, Group, Thread, WordValue};

/// The code of a thread.
pub type ThreadCode<'c> = &'c (dyn Fn(&mut Thread<'_>) -> Result<(), Fault> + Sync);

/// A way to run groups.
pub struct Runner<'r> {
    pub run: &'r (dyn Fn(&Group, ThreadCode<'_>) -> Result<(), Fault> + Sync),
    /// The number of rounds.
    pub times: i64,
}

impl Runner<'_> {
    fn run(&self, group: &Group, code: impl Fn(&mut Thread<'_>) -> Result<(), Fault> + Sync) -> Result<(), Fault> {
        (self.run)(group, &code)
    }
}

/// A program, which checks what it finds.
pub type Scenario = fn(&Runner<'_>) -> Result<(), Fault>;

/// All of them, with the number of their nodes.
pub const SCENARIOS: [(&str, usize, Scenario); 12] = [
    ("a_barrier_keeps_what_was_sent_before_it", 2, sent_before_a_barrier),
    ("a_lock_keeps_sections_apart", 2, sections),
    ("a_ring_brings_every_message_to_every_reader", 3, messages),
    ("a_message_inside_another_one_is_not_received", 2, forged),
    ("a_map_says_on_every_node_what_was_put_in", 2, map),
    ("words_are_read_together_or_not_at_all", 2, pairs),
    ("fetch_and_add_gives_each_number_once", 2, numbers),
    ("objects_hold_any_value_of_one_word", 2, values),
    ("emitted_code_has_integers_of_64_bits", 2, whole),
    ("words_are_where_the_group_says", 2, misplaced),
    ("any_number_of_operations_may_be_under_way", 2, |runner| window(runner, 300, true)),
    ("buffers_bring_bytes_to_other_nodes", 2, buffers),
];

fn is_first(thread: &Thread<'_>) -> bool {
    thread.id().index() == 0
}

fn sent_before_a_barrier(runner: &Runner<'_>) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]);
    let (barrier, x) = (group.barrier("b", &[0, 1]), group.shared_var("x"));
    runner.run(&group, |thread| {
        for i in 1..=runner.times {
            if is_first(thread) {
                x.write(thread, i)?;
                x.broadcast(thread)?;
            }
            barrier.wait(thread)?;
            if is_first(thread) {
                x.write(thread, -1)?;
            } else {
                assert_eq!(x.read(thread)?, i);
            }
            barrier.wait(thread)?;
        }
        Ok(())
    })
}

/// A node lock around an atomic, and a strong lock around a word of another node.
fn sections(runner: &Runner<'_>) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]);
    let (lock, strong, barrier) = (group.node_lock("l", 1), group.strong_lock("s", 1), group.barrier("b", &[0, 1]));
    let (sum, far, own) =
        (group.atomic("sum", 2), group.word("far", 2, 0), [1, 2].map(|n| group.word(&format!("own{n}"), n, 0)));
    let times = runner.times.min(20);
    runner.run(&group, |thread| {
        let own = own[thread.id().index()];
        for _ in 0..times {
            let mut held = lock.lock(thread)?;
            let next = sum.load(&mut held)? + 1;
            sum.store(&mut held, next)?;
            held.release()?;
            let mut held = strong.lock(thread)?;
            far.get(&mut held, own)?.wait(&mut held)?;
            let next = own.read(&mut held)? + 1;
            own.write(&mut held, next)?;
            far.put(&mut held, own)?.wait(&mut held)?;
        }
        barrier.wait(thread)?;
        far.get(thread, own)?.wait(thread)?;
        assert_eq!((sum.load(thread)?, own.read(thread)?), (2 * times, 2 * times));
        barrier.wait(thread)
    })
}

/// Single words in a ring with little room, and messages of all sizes that fit into another one.
fn messages(runner: &Runner<'_>) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2, 3]);
    let (ring, long) = (group.ring("r", 0, &[1, 2], 8), group.ring("long", 0, &[1, 2], 40));
    runner.run(&group, |thread| {
        for message in 0..runner.times {
            if is_first(thread) {
                thread.until(|thread| Ok(ring.submit(thread, message)?.then_some(())))?;
            } else {
                assert_eq!(thread.until(|thread| ring.receive(thread))?, message);
            }
        }
        // Over the machine each word takes long.
        let step = if runner.times < 100 { 19 } else { 1 };
        for size in (0..=38).step_by(step).flat_map(|size| [size, 38 - size]) {
            let message: Vec<i64> = (0..size).map(|k| k - size / 2).collect();
            if is_first(thread) {
                thread.until(|thread| Ok(long.submit_words(thread, &message)?.then_some(())))?;
            } else {
                assert_eq!(thread.until(|thread| long.receive_words(thread))?, message);
            }
        }
        if is_first(thread) {
            for size in [39, 40, 100] {
                let why = format!("long has 40 words, so a message of {size} never has room");
                assert_eq!(long.submit_words(thread, &vec![0; size]), Err(Fault::Wrong(why)));
            }
        }
        Ok(())
    })
}

/// The first message fills the ring. The second one is shorter. Behind it are words of the first, which have the form of a third one. The
/// writer knows all but the key of checksums.
fn forged(runner: &Runner<'_>) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]);
    let (ring, barrier) = (group.ring("ring", 0, &[1], 16), group.barrier("b", &[0, 1]));
    let (world, end, words) = (World::new(0, &[]), 16 + 3 + 4, [7, 8]);
    let mut first = [0; 14];
    // An end, a hash, and words, at the place behind the second message.
    first[1..5].copy_from_slice(&[end, world.checksum(&[end, world.checksum(&words)]), words[0], words[1]]);
    runner.run(&group, |thread| {
        for message in [&first[..], &[1], &[1234]] {
            if !is_first(thread) {
                assert_eq!(thread.until(|thread| ring.receive_words(thread))?, message);
            } else {
                thread.until(|thread| Ok(ring.submit_words(thread, message)?.then_some(())))?;
            }
            if message == [1] {
                if !is_first(thread) {
                    assert_eq!(ring.receive_words(thread)?, None, "nobody has sent this");
                }
                barrier.wait(thread)?;
            }
        }
        Ok(())
    })
}

fn map(runner: &Runner<'_>) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]);
    let (map, barrier) = (group.map("m", 2), group.barrier("b", &[0, 1]));
    runner.run(&group, |thread| {
        for i in 0..runner.times.min(20) {
            if is_first(thread) {
                assert!(map.insert(thread, 0, i)? && !map.insert(thread, 0, i)? && map.update(thread, 0, i + 1)?);
            } else {
                // One change is announced. An attempt to serve does not wait for it.
                thread.until(|thread| Ok(map.try_serve(thread)?.then_some(())))?;
                assert!(!map.try_serve(thread)?);
            }
            barrier.wait(thread)?;
            assert_eq!((map.get(thread, 0)?, map.get(thread, 1)?), (Some(i + 1), None));
            barrier.wait(thread)?;
            // The slot of the value is on the other node.
            if !is_first(thread) {
                assert!(map.update(thread, 0, i + 2)?);
            }
            barrier.wait(thread)?;
            assert_eq!(map.get(thread, 0)?, Some(i + 2));
            barrier.wait(thread)?;
            if is_first(thread) == (i % 2 == 0) {
                assert!(map.remove(thread, 0)?)
            } else {
                map.serve(thread)?
            }
            barrier.wait(thread)?;
            assert_eq!(map.get(thread, 0)?, None);
            barrier.wait(thread)?;
        }
        Ok(())
    })
}

/// Puts a pair over and over, and reads it on the other node.
fn pairs(runner: &Runner<'_>) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]);
    let (own, pair) = (group.words("own", 1, 2), group.words("pair", 2, 2));
    runner.run(&group, |thread| {
        let mut seen = None;
        for i in 1..=if is_first(thread) { runner.times } else { 0 } {
            own.write(thread, &[i, i])?;
            pair.put(thread, own)?.wait(thread)?;
        }
        while !is_first(thread) && seen != Some(vec![runner.times; 2]) {
            seen = pair.try_read(thread)?;
            assert!(seen.as_ref().is_none_or(|pair| pair[0] == pair[1]), "{seen:?}");
        }
        Ok(())
    })
}

fn numbers(runner: &Runner<'_>) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2, 2]);
    let (word, barrier) = (group.atomic("w", 1), group.barrier("b", &[0, 1, 2]));
    let times = runner.times.min(20);
    runner.run(&group, |thread| {
        let mut last = -1;
        for _ in 0..times {
            let next = word.fetch_add(thread, 1)?;
            assert!(next > last, "{next} after {last}");
            last = next;
        }
        barrier.wait(thread)?;
        assert_eq!(word.load(thread)?, 3 * times);
        Ok(())
    })
}

/// Bottom, which is the least integer in emitted code, is one of the values.
fn values(runner: &Runner<'_>) -> Result<(), Fault> {
    come_back(runner, &[i64::MIN, -1, i64::MAX])?;
    come_back(runner, &[u64::MAX, 1 << 63])?;
    come_back(runner, &[-0.5, f64::INFINITY])?;
    come_back(runner, &[true, false])
}

/// Shares values of one type, and swaps them in an atomic.
fn come_back<T: WordValue + PartialEq + Debug + Send + Sync>(runner: &Runner<'_>, all: &[T]) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]);
    let (shared, atomic) = (group.shared_var_of::<T>("shared"), group.atomic_of::<T>("atomic", 2));
    let barrier = group.barrier("b", &[0, 1]);
    runner.run(&group, |thread| {
        for &v in all {
            if is_first(thread) {
                shared.write(thread, v)?;
                shared.broadcast(thread)?;
                let old = atomic.load(thread)?;
                assert_eq!(atomic.compare_and_swap(thread, old, v)?, old);
            }
            barrier.wait(thread)?;
            assert_eq!((shared.read(thread)?, atomic.load(thread)?), (v, v));
            barrier.wait(thread)?;
        }
        Ok(())
    })
}

/// Uses all 64 bits of an atomic and a word. Sums wrap around.
fn whole(runner: &Runner<'_>) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]);
    let (atomic, word, own) = (group.atomic("a", 2), group.word("w", 2, 0), group.word("own", 1, 0));
    runner.run(&group, |thread| {
        if !is_first(thread) {
            return Ok(());
        }
        for v in [i64::MAX, i64::MIN, 1 << 62, -1] {
            atomic.store(thread, v)?;
            assert_eq!((atomic.load(thread)?, atomic.compare_and_swap(thread, v, 0)?), (v, v));
            own.write(thread, v)?;
            word.put(thread, own)?.wait(thread)?;
            word.compare_and_swap(thread, v, 0, own)?.wait(thread)?;
            assert_eq!(own.read(thread)?, v);
        }
        atomic.store(thread, i64::MAX)?;
        assert_eq!((atomic.fetch_add(thread, 2)?, atomic.load(thread)?), (i64::MAX, i64::MIN + 1));
        for old in [0, i64::MAX, -2] {
            word.fetch_add(thread, i64::MAX, own)?.wait(thread)?;
            assert_eq!(own.read(thread)?, old);
        }
        Ok(())
    })
}

fn is_refused<T: Debug>(result: Result<T, Fault>, text: &str) {
    assert!(matches!(&result, Err(Fault::Wrong(why)) if why.contains(text)), "{result:?}, not {text}");
}

/// Makes operations on words that a thread cannot reach in this way.
fn misplaced(runner: &Runner<'_>) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]);
    let (near, far, barrier) = (group.word("near", 1, 0), group.word("far", 2, 0), group.barrier("b", &[0, 1]));
    runner.run(&group, |thread| {
        if is_first(thread) {
            let elsewhere = "far is on node 2, and the thread on node 1";
            is_refused(far.read(thread), elsewhere);
            is_refused(far.write(thread, 1), elsewhere);
            is_refused(far.put(thread, far), elsewhere);
            is_refused(near.get(thread, far), elsewhere);
            is_refused(near.fetch_add(thread, 1, far), elsewhere);
            is_refused(near.compare_and_swap(thread, 0, 1, far), elsewhere);
        }
        barrier.wait(thread)
    })
}

/// Runs a group with an object on a node that does not exist.
pub fn on_no_node(runner: &Runner<'_>) -> Result<(), Fault> {
    let on_node_3: [fn(&mut Group); 3] =
        [|group| _ = group.word("y", 3, 0), |group| _ = group.words("y", 3, 2), |group| _ = group.buffer("y", 3, 64)];
    for add in on_node_3 {
        let mut group = Group::new(&[1, 2]);
        add(&mut group);
        is_refused(runner.run(&group, |_| Ok(())), "y is on node 3, and there are nodes 1 to 2");
    }
    Ok(())
}

/// Lets the first thread put so many words, more than it has identifiers, write them again, and get back what it has put.
pub fn window(runner: &Runner<'_>, size: i64, waits: bool) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]);
    let own: Vec<_> = (0..size).map(|i| group.word(&format!("own{i}"), 1, i + 1)).collect();
    let far: Vec<_> = (0..size).map(|i| group.word(&format!("far{i}"), 2, 0)).collect();
    runner.run(&group, |thread| {
        if !is_first(thread) {
            return Ok(());
        }
        let puts = far.iter().zip(&own).map(|(far, own)| far.put(thread, *own));
        let puts: Vec<Begun> = puts.collect::<Result<_, _>>()?;
        if waits {
            puts.into_iter().try_for_each(|put| put.wait(thread))?;
        }
        own.iter().try_for_each(|own| own.write(thread, -1))?;
        let gets = far.iter().zip(&own).map(|(far, own)| far.get(thread, *own));
        let gets: Vec<Begun> = gets.collect::<Result<_, _>>()?;
        gets.into_iter().try_for_each(|get| get.wait(thread))?;
        for (own, expected) in own.iter().zip(1..) {
            let got = own.read(thread)?;
            if got != expected {
                return Err(Fault::Wrong(format!("{got} in place of {expected}")));
            }
        }
        Ok(())
    })
}

/// A put of a buffer, a barrier, and a get of a part of it by another node.
fn buffers(runner: &Runner<'_>) -> Result<(), Fault> {
    let bytes: Vec<u8> = (0..203).map(|at| at as u8 ^ 0x5a).collect();
    let padded = [&bytes[..], &[0; 5]].concat();
    let mut group = Group::new(&[1, 2]);
    let barrier = group.barrier("b", &[0, 1]);
    let [from, to] = [("from", 1), ("to", 2)].map(|(name, node)| group.buffer(name, node, 203));
    let part = group.buffer("part", 2, 64);
    runner.run(&group, |thread| {
        if is_first(thread) {
            from.write(thread, &bytes)?;
            to.put(thread, from)?.wait(thread)?;
            barrier.wait(thread)?;
            is_refused(to.read(thread), "to is on node 2");
            is_refused(part.put(thread, from), "let both have as many");
        } else {
            barrier.wait(thread)?;
            assert_eq!(to.read(thread)?, padded);
            from.part(128..192).get(thread, part)?.wait(thread)?;
            assert_eq!(part.read(thread)?, bytes[128..192]);
        }
        barrier.wait(thread)
    })
}
