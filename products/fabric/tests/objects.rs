//! Tests of LOCO's objects, used by Rust programs over every fabric.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, Wid};
use mowgli_core::term::program::Prog;
use mowgli_core::value::Val;
use mowgli_fabric::{Fabric, Fault, Group, LockGuard, Provider, Thread, WordValue};
use mowgli_libraries::sv;
use mowgli_rdma::Way;
use mowgli_rdma::tso::Method as Tso;
use mowgli_rdma::wait::{Method, row, word};

use crate::bytes::Bytes;
use crate::forged::Forged;

#[allow(dead_code, reason = "an example of its own")]
#[path = "../examples/barrier.rs"]
mod barrier;

#[allow(dead_code, reason = "an example of its own")]
#[path = "../examples/colours.rs"]
mod colours;

use barrier::sent_before;

/// Every fabric, the machine with some seeds.
fn fabrics() -> impl Iterator<Item = Fabric> {
    [Fabric::Local].into_iter().chain((0..40).map(|seed| Fabric::Machine { seed }))
}

#[test]
fn a_barrier_keeps_what_was_sent_before_it() {
    for fabric in fabrics() {
        assert_eq!(sent_before("published", fabric), Ok(vec![1, 1]), "{fabric:?}");
    }
}

/// Over the machine, some run shows that the barrier without its fence is broken, and its seed shows it again.
#[test]
fn a_broken_barrier_is_found_and_replayed() {
    let run = |seed| sent_before("no-fence", Fabric::Machine { seed });
    let seed = (0..1000).find(|&seed| run(seed) == Ok(vec![1, 2])).expect("a run that shows it");
    assert!((0..5).all(|_| run(seed) == Ok(vec![1, 2])), "{seed}");
}

/// Lets two threads on one node, and one on another, meet between a put of the first thread and a get of the second. Returns the
/// word that the second one gets.
fn got_after(variant: &str, fabric: Fabric) -> Result<i64, Fault> {
    let mut group = Group::new(&[1, 1, 2]).variant("bal-puts", variant);
    let (barrier, far) = (group.put_barrier("b", &[0, 1, 2]), group.word("far", 2, 0));
    let (from, into) = (group.word("from", 1, 1), group.word("into", 1, 0));
    let last = group.run(fabric, |thread| {
        if thread.id().index() == 0 {
            far.put(thread, from)?;
        }
        barrier.wait(thread)?;
        if thread.id().index() == 1 {
            far.get(thread, into)?.wait(thread)?;
            return into.read(thread);
        }
        Ok(0)
    })?;
    Ok(last[1])
}

#[test]
fn a_barrier_for_puts_keeps_what_was_put_before_it() {
    for fabric in fabrics() {
        assert_eq!(got_after("published", fabric), Ok(1), "{fabric:?}");
    }
}

/// Over the machine, some run shows that a single pass is too few.
#[test]
fn a_barrier_of_one_pass_misses_a_put() {
    let seed = (0..1000).find(|&seed| got_after("one-pass", Fabric::Machine { seed }) == Ok(0));
    assert!(seed.is_some());
}

/// Lets two threads add to a word under a lock, and returns the sum.
fn sum_under_lock(group: Group, fabric: Fabric) -> Result<i64, Fault> {
    let mut group = group;
    let (lock, sum) = (group.node_lock("l", 1), group.atomic("s", 2));
    let last = group.run(fabric, |thread| {
        let mut last = 0;
        for _ in 0..3 {
            let mut held = lock.lock(thread)?;
            last = sum.load(&mut held)? + 1;
            sum.store(&mut held, last)?;
            held.release()?;
        }
        Ok(last)
    })?;
    Ok(last.into_iter().max().unwrap_or(0))
}

#[test]
fn a_lock_keeps_sections_apart() {
    for fabric in fabrics() {
        assert_eq!(sum_under_lock(Group::new(&[1, 2]), fabric), Ok(6), "{fabric:?}");
    }
}

/// Attempts fail while another thread holds the lock, and sections of both kinds keep apart.
#[test]
fn an_attempt_does_not_wait() {
    for fabric in fabrics() {
        let mut group = Group::new(&[1, 2]);
        let (lock, sum, barrier) = (group.try_lock("l", 1), group.atomic("s", 2), group.barrier("b", &[0, 1]));
        let failed = group.run(fabric, |thread| {
            if thread.id().index() == 0 {
                let mut held = lock.lock(thread)?;
                barrier.wait(&mut held)?;
                barrier.wait(&mut held)?;
                held.release()?;
                barrier.wait(thread)?;
            } else {
                barrier.wait(thread)?;
                assert!(lock.try_lock(thread)?.is_none(), "{fabric:?}");
                barrier.wait(thread)?;
                barrier.wait(thread)?;
            }
            let (mut made, mut failed) = (0, 0);
            while made < 3 {
                let Some(mut held) = lock.try_lock(thread)? else {
                    failed += 1;
                    continue;
                };
                let next = sum.load(&mut held)? + 1;
                sum.store(&mut held, next)?;
                held.release()?;
                made += 1;
            }
            barrier.wait(thread)?;
            assert_eq!(sum.load(thread)?, 6, "{fabric:?}");
            Ok(failed)
        });
        assert!(failed.is_ok(), "{fabric:?}: {failed:?}");
    }
}

/// A thread that has other work serves by attempts, which find nothing before there is a change.
#[test]
fn an_attempt_to_serve_does_not_wait() {
    for fabric in fabrics() {
        let mut group = Group::new(&[1, 2]);
        let (map, barrier) = (group.map("m", 2), group.barrier("b", &[0, 1]));
        let found = group.run(fabric, |thread| {
            let serves = thread.id().index() == 1;
            let is_early = serves && map.try_serve(thread)?;
            barrier.wait(thread)?;
            if serves {
                while !map.try_serve(thread)? {
                    thread.pause();
                }
            } else {
                map.insert(thread, 1, 7)?;
            }
            barrier.wait(thread)?;
            Ok((is_early, map.get(thread, 1)?, serves && map.try_serve(thread)?))
        });
        assert_eq!(found, Ok(vec![(false, Some(7), false); 2]), "{fabric:?}");
    }
}

/// Lets two threads get and put a number on another node in sections, without atomics. Returns the sum.
fn sum_by_puts(lock: impl Fn(&mut Group) -> Taken, fabric: Fabric) -> Result<i64, Fault> {
    let mut group = Group::new(&[1, 2]);
    let (taken, sum, barrier) = (lock(&mut group), group.word("s", 2, 0), group.barrier("b", &[0, 1]));
    let own = [1, 2].map(|n| group.word(&format!("own{n}"), n, 0));
    let last = group.run(fabric, |thread| {
        let own = own[thread.id().index()];
        for _ in 0..2 {
            let mut held = taken(thread)?;
            sum.get(&mut held, own)?.wait(&mut held)?;
            let next = own.read(&mut held)? + 1;
            own.write(&mut held, next)?;
            sum.put(&mut held, own)?.wait(&mut held)?;
            held.release()?;
        }
        barrier.wait(thread)?;
        sum.get(thread, own)?.wait(thread)?;
        own.read(thread)
    })?;
    assert_eq!(last[0], last[1]);
    Ok(last[0])
}

/// A function by which a thread takes a lock.
type Taken = Box<dyn for<'t, 'a> Fn(&'t mut Thread<'a>) -> Result<LockGuard<'t, 'a>, Fault> + Sync>;

fn strong(group: &mut Group) -> Taken {
    let lock = group.strong_lock("l", 1);
    Box::new(move |thread| lock.lock(thread))
}

fn weak(group: &mut Group) -> Taken {
    let lock = group.weak_lock("l", 1);
    Box::new(move |thread| lock.lock(thread))
}

/// A strong lock makes everything visible that was sent, to other nodes too. A weak lock does not promise that, and the
/// machine shows it.
#[test]
fn a_strong_lock_keeps_what_was_sent_and_a_weak_one_does_not() {
    for fabric in fabrics() {
        assert_eq!(sum_by_puts(strong, fabric), Ok(4), "{fabric:?}");
    }
    assert_eq!(sum_by_puts(weak, Fabric::Local), Ok(4));
    assert!((0..300).any(|seed| sum_by_puts(weak, Fabric::Machine { seed }) != Ok(4)));
}

/// Puts a pair over and over from another node, and returns the pairs that were read there.
fn pairs(variant: &str, fabric: Fabric) -> Result<Vec<Vec<i64>>, Fault> {
    let mut group = Group::new(&[1, 2]).variant("msw", variant);
    let (own, pair) = (group.words("own", 1, 2), group.words("pair", 2, 2));
    let seen = group.run(fabric, |thread| {
        let mut seen = Vec::new();
        if thread.id().index() == 0 {
            for i in 1..=3 {
                own.write(thread, &[i, i])?;
                pair.put(thread, own)?.wait(thread)?;
            }
            return Ok(seen);
        }
        while seen.last() != Some(&vec![3, 3]) {
            seen.extend(pair.try_read(thread)?);
        }
        Ok(seen)
    })?;
    Ok(seen.concat())
}

/// The interpreter has other words than emitted code.
#[test]
fn words_refuse_interpreted_calls_and_other_sizes() {
    let mut group = Group::new(&[1, 2]);
    let (own, pair) = (group.words("own", 1, 3), group.words("pair", 2, 2));
    let read = Call::new(Name::literal("msw"), "TryRead", &[Loc::new("own").into()]);
    let refusals = |thread: &mut Thread<'_>| {
        own.write(thread, &[i64::MAX, i64::MIN, 0])?;
        assert_eq!(own.try_read(thread)?, Some(vec![i64::MAX, i64::MIN, 0]));
        let all = [own.write(thread, &[1]), pair.put(thread, own).map(drop), pair.get(thread, own).map(drop)];
        let all = all.into_iter().chain([thread.call(&read).map(drop), pair.write(thread, &[1, 2])]);
        Ok(all.map(|refused| refused.unwrap_err().to_string()).collect::<Vec<_>>())
    };
    let run = |group: &mut Group| {
        group.run(Fabric::Local, |thread| if thread.id().index() == 0 { refusals(thread) } else { Ok(vec![]) })
    };
    let refused = run(&mut group).unwrap().swap_remove(0);
    for (why, part) in refused.iter().zip(["3 words", "has 2 words", "has 3 words", "other words", "pair"]) {
        assert!(why.contains(part), "{refused:#?}");
    }
}

#[test]
fn words_are_read_together_or_not_at_all() {
    let is_torn = |pair: &Vec<i64>| pair[0] != pair[1];
    for fabric in fabrics() {
        assert!(!pairs("published", fabric).unwrap().iter().any(is_torn), "{fabric:?}");
    }
    assert!(
        (0..300)
            .any(|seed| pairs("first-word-only", Fabric::Machine { seed }).is_ok_and(|all| all.iter().any(is_torn)))
    );
}

#[test]
fn fetch_and_add_gives_each_number_once() {
    for fabric in fabrics() {
        let mut group = Group::new(&[1, 2, 2]);
        let word = group.atomic("w", 1);
        let take = |thread: &mut Thread<'_>| (0..3).map(|_| word.fetch_add(thread, 1)).collect::<Result<Vec<_>, _>>();
        let all = group.run(fabric, take).unwrap();
        assert!(all.iter().all(|own| own.is_sorted()), "{all:?}");
        assert_eq!(all.concat().into_iter().collect::<BTreeSet<_>>(), (0..9).collect(), "{fabric:?}");
    }
}

/// Over processes the errors are the same (`tests/processes.rs`).
#[test]
fn a_sum_that_no_word_holds_is_an_error() {
    for fabric in fabrics() {
        let mut group = Group::new(&[1, 2]).interpreted();
        let (atomic, own) = (group.atomic("a", 2), group.word("own", 1, 0));
        let word = group.word("w", 2, crate::refused::LARGEST);
        let ran = group.run(fabric, |thread| match thread.id().index() {
            0 => crate::refused::too_large(thread, atomic, word, own),
            _ => Ok(()),
        });
        assert_eq!(ran, Ok(vec![(); 2]), "{fabric:?}");
    }
}

#[test]
fn a_word_holds_the_name_of_a_word() {
    for fabric in fabrics() {
        for group in [Group::new(&[1]), Group::new(&[1]).interpreted()] {
            let mut group = group;
            let (p, y) = (group.object("p", word(Node(1))), group.object("y", word(Node(1))));
            let ran = group.run(fabric, |thread| {
                thread.operation(Method::Write { x: p, v: y.into() })?;
                thread.operation(Method::Read { x: p })
            });
            assert_eq!(ran, Ok(vec![y.into()]), "{fabric:?}");
        }
    }
}

/// Over processes the results are the same (`tests/processes.rs`).
#[test]
fn emitted_code_has_integers_of_64_bits() {
    for fabric in fabrics() {
        let mut group = Group::new(&[1, 2]);
        let (atomic, word, own) = (group.atomic("a", 2), group.word("w", 2, 0), group.word("own", 1, 0));
        let ran = group.run(fabric, |thread| match thread.id().index() {
            0 => crate::refused::whole(thread, atomic, word, own),
            _ => Ok(()),
        });
        assert_eq!(ran, Ok(vec![(); 2]), "{fabric:?}");
    }
}

/// Shares values of one type, and swaps them in an atomic.
fn comes_back<T: WordValue + PartialEq + Debug + Send + Sync>(fabric: Fabric, all: &[T]) {
    let mut group = Group::new(&[1, 2]);
    let (shared, atomic) = (group.shared_var_of::<T>("shared"), group.atomic_of::<T>("atomic", 2));
    let barrier = group.barrier("b", &[0, 1]);
    let ran = group.run(fabric, |thread| {
        for &v in all {
            if thread.id().index() == 0 {
                shared.write(thread, v)?;
                shared.broadcast(thread)?;
                let old = atomic.load(thread)?;
                assert_eq!(atomic.compare_and_swap(thread, old, v)?, old);
            }
            barrier.wait(thread)?;
            assert_eq!((shared.read(thread)?, atomic.load(thread)?), (v, v), "{fabric:?}");
            barrier.wait(thread)?;
        }
        Ok(())
    });
    assert_eq!(ran, Ok(vec![(); 2]));
}

/// Bottom, which is the least integer in emitted code, is one of the values.
#[test]
fn a_shared_variable_holds_any_value_of_one_word() {
    for fabric in fabrics().take(9) {
        comes_back(fabric, &[i64::MIN, -1, i64::MAX]);
        comes_back(fabric, &[u64::MAX, 1 << 63]);
        comes_back(fabric, &[-0.5, f64::INFINITY]);
        comes_back(fabric, &[true, false]);
        comes_back(fabric, &['ä', char::MAX]);
        comes_back(fabric, &[*b"\0mowgli\x80", [0xff; 8]]);
    }
}

/// Interpreted bodies have other values beside integers, so they refuse some words.
#[test]
fn interpreted_bodies_refuse_values_that_their_words_do_not_hold() {
    let mut group = Group::new(&[1]).interpreted();
    let volts = group.shared_var_of::<f64>("volts");
    let ran = group.run(Fabric::Local, |thread| volts.write(thread, 1.5));
    assert!(matches!(&ran, Err(Fault::Wrong(why)) if why.contains("the integers that a word holds")), "{ran:?}");
}

/// Over processes the errors are the same (`tests/processes.rs`).
#[test]
fn words_are_where_the_group_says() {
    for fabric in fabrics() {
        let mut group = Group::new(&[1, 2]);
        let (near, far) = (group.word("near", 1, 0), group.word("far", 2, 0));
        let ran = group.run(fabric, |thread| {
            if thread.id().index() == 0 {
                crate::refused::misplaced(thread, near, far);
            }
            Ok(())
        });
        assert_eq!(ran, Ok(vec![(); 2]), "{fabric:?}");
        crate::refused::is_on_no_node(crate::refused::on_no_node().run(fabric, |_| Ok(())));
    }
}

#[test]
fn a_ring_brings_every_message_to_every_reader_in_order() {
    for fabric in fabrics() {
        let mut group = Group::new(&[1, 2, 3]);
        let ring = group.ring("r", 0, &[1, 2], 4);
        let messages = 0..6;
        let all = group.run(fabric, |thread| {
            if thread.id().index() == 0 {
                for message in messages.clone() {
                    while !ring.submit(thread, message)? {}
                }
                return Ok(messages.clone().collect());
            }
            let mut got = Vec::new();
            while got.len() < 6 {
                got.extend(ring.receive(thread)?);
            }
            Ok(got)
        });
        assert_eq!(all, Ok(vec![messages.collect::<Vec<_>>(); 3]), "{fabric:?}");
    }
}

#[test]
fn a_map_says_on_every_node_what_was_put_in() {
    for fabric in fabrics() {
        let mut group = Group::new(&[1, 2]);
        let (map, barrier) = (group.map("m", 2), group.barrier("b", &[0, 1]));
        let seen = group.run(fabric, |thread| {
            if thread.id().index() == 0 {
                assert!(map.insert(thread, 0, 7)?);
                assert!(!map.insert(thread, 0, 8)?);
                assert!(map.update(thread, 0, 9)?);
            } else {
                // One change is announced.
                map.serve(thread)?;
            }
            barrier.wait(thread)?;
            Ok((map.get(thread, 0)?, map.get(thread, 1)?))
        });
        assert_eq!(seen, Ok(vec![(Some(9), None); 2]), "{fabric:?}");
    }
}

/// Words that only emitted code uses have no names, so a map may have many keys.
#[test]
fn a_map_holds_any_value_of_one_word_for_many_keys() {
    let keys = 50_000;
    let mut group = Group::new(&[1]);
    let map = group.map_of::<f64>("m", keys);
    let seen = group.run(Fabric::Local, |thread| {
        for key in 0..keys as i64 {
            assert!(map.insert(thread, key, key as f64 / 2.0)?);
        }
        assert!(map.update(thread, 7, f64::NEG_INFINITY)? && map.remove(thread, 8)?);
        let refused = [
            map.get(thread, keys as i64).map(drop),
            map.get(thread, -1).map(drop),
            map.insert(thread, 8, -0.0).map(drop),
        ];
        for (refused, why) in refused.into_iter().zip(["is no key of m", "is no key of m", "stands for none"]) {
            assert!(matches!(&refused, Err(Fault::Wrong(text)) if text.contains(why)), "{refused:?}");
        }
        [5, 7, 8, keys as i64 - 1].map(|key| map.get(thread, key)).into_iter().collect()
    });
    let last = (keys - 1) as f64 / 2.0;
    assert_eq!(seen, Ok(vec![vec![Some(2.5), Some(f64::NEG_INFINITY), None, Some(last)]]));
}

#[test]
fn a_message_inside_another_one_is_not_received() {
    for fabric in [Fabric::Local, Fabric::Machine { seed: 1 }] {
        let forged = Forged::new();
        forged.group.run(fabric, |thread| forged.exchange(thread)).unwrap();
    }
}

#[test]
fn a_map_of_bytes_holds_values_of_any_length() {
    for fabric in [Fabric::Local, Fabric::Machine { seed: 3 }, Fabric::Machine { seed: 8 }] {
        let bytes = Bytes::new(&[1, 2, 1]);
        let inserted = bytes.group.run(fabric, |thread| bytes.change(thread));
        assert_eq!(inserted.map(|inserted| inserted.iter().sum()), Ok(100));
        assert_eq!(colours::got(fabric), Ok(Some(b"blue".to_vec())));
    }
}

/// Keys that are removed make room for others, and a key that finds no room is refused.
#[test]
fn a_map_of_bytes_has_room_for_its_keys() {
    let mut group = Group::new(&[1]);
    let map = group.byte_map("m", 5, 8);
    let seen = group.run(Fabric::Local, |thread| {
        for n in 0..10_000_u32 {
            assert!(map.insert(thread, &n.to_le_bytes(), b"value")?);
            if let Some(old) = n.checked_sub(8) {
                assert!(map.remove(thread, &old.to_le_bytes())?);
            }
        }
        let all: Result<Vec<bool>, Fault> = (0..10_u8).map(|n| map.insert(thread, &[n], b"more")).collect();
        assert!(matches!(&all, Err(Fault::Endless(why)) if why.contains("if m_0 is full")), "{all:?}");
        // The others are still there.
        map.get(thread, &[0])
    });
    assert_eq!(seen, Ok(vec![Some(b"more".to_vec())]));
}

/// An insertion that finds no room gives up the lock of its table.
#[test]
fn a_full_map_of_bytes_has_room_again_after_a_removal() {
    for fabric in fabrics() {
        let mut group = Group::new(&[1, 2]).within(Duration::from_secs(2));
        let (map, barrier) = (group.byte_map("m", 1, 8), group.barrier("b", &[0, 1]));
        let ran = group.run(fabric, |thread| {
            if thread.id().index() == 0 {
                assert!(map.insert(thread, b"a", b"1")? && map.insert(thread, b"b", b"2")?);
                let full = map.insert(thread, b"c", b"3");
                assert!(matches!(&full, Err(Fault::Endless(why)) if why.contains("remove some")), "{full:?}");
                assert!(map.update(thread, b"b", b"4")?);
            }
            barrier.wait(thread)?;
            if thread.id().index() == 1 {
                assert!(map.remove(thread, b"a")? && map.insert(thread, b"c", b"3")?);
                assert_eq!(map.get(thread, b"b")?.as_deref(), Some(&b"4"[..]));
            }
            Ok(())
        });
        assert_eq!(ran, Ok(vec![(), ()]), "{fabric:?}");
    }
}

/// A limit in a loop is that of the calls inside, and begins with them. The clock is read in each iteration.
#[test]
fn a_limit_in_a_loop_begins_with_its_calls() {
    let mut group = Group::new(&[1]).within(Duration::from_secs(2));
    let (word, lock) = (group.word("w", 1, 0), group.node_lock("l", 1));
    let short = Duration::from_millis(200);
    let ran = group.run(Fabric::Local, |thread| {
        std::mem::forget(lock.lock(thread)?);
        let whole = Instant::now();
        thread.until(|thread| {
            let begin = Instant::now();
            let late = thread.within(short, |thread| lock.lock(thread).map(drop));
            assert!(matches!(late, Err(Fault::Late(_))) && begin.elapsed() >= short, "{late:?}: {:?}", begin.elapsed());
            Ok((whole.elapsed() > 4 * short).then_some(()))
        })?;
        let begin = Instant::now();
        let late = thread.within(short, |thread| {
            thread.until(|thread| {
                std::thread::sleep(short);
                Ok((word.read(thread)? == 1).then_some(()))
            })
        });
        assert!(matches!(late, Err(Fault::Late(_))) && begin.elapsed() < 5 * short, "{late:?}: {:?}", begin.elapsed());
        // The loop around them has its own limit.
        let begin = Instant::now();
        let late = thread.until(|thread| {
            let late = thread.within(short, |thread| lock.lock(thread).map(drop));
            Ok((late == Ok(())).then_some(()))
        });
        assert!(matches!(late, Err(Fault::Late(_))) && begin.elapsed() < Duration::from_secs(4), "{late:?}");
        Ok(())
    });
    assert_eq!(ran, Ok(vec![()]));
}

#[test]
fn what_cannot_be_run_is_reported() {
    let on_node_3: [fn(&mut Group); 2] = [|group| _ = group.words("w", 3, 2), |group| _ = group.buffer("w", 3, 64)];
    for add in on_node_3 {
        let mut group = Group::new(&[1, 2]);
        add(&mut group);
        let wrong = group.run(Fabric::Local, |_| Ok(()));
        assert!(matches!(&wrong, Err(Fault::Wrong(why)) if why.contains("w is on node 3")), "{wrong:?}");
    }

    let mut group = Group::new(&[1, 2]).variant("bal", "nothing");
    let _ = group.barrier("b", &[0, 1]);
    let wrong = group.run(Fabric::Local, |_| Ok(()));
    assert!(matches!(&wrong, Err(Fault::Wrong(why)) if why.contains("no variant nothing")), "{wrong:?}");

    // One thread waits for another one that makes an illegal call. The run returns the error of the illegal call.
    let mut group = Group::new(&[1, 2]).within(Duration::from_millis(200));
    let (barrier, own) = (group.barrier("b", &[0, 1]), group.barrier("own", &[0]));
    let left = group.run(Fabric::Local, |thread| match thread.id().index() {
        0 => barrier.wait(thread),
        _ => own.wait(thread),
    });
    assert!(matches!(&left, Err(Fault::Wrong(why)) if why.contains("P2 calls BAR(own)")), "{left:?}");

    let mut group = Group::new(&[1, 2]);
    let barrier = group.barrier("b", &[0]);
    let foreign = group.run(Fabric::Local, |thread| barrier.wait(thread));
    assert!(matches!(&foreign, Err(Fault::Wrong(why)) if why.contains("P2 calls BAR(b)")), "{foreign:?}");
}

/// A thread that waits for one that has ended gets an error, so runs do not hang.
#[test]
fn nobody_waits_for_ever() {
    for fabric in [Fabric::Local, Fabric::Machine { seed: 1 }] {
        let mut group = Group::new(&[1, 2]).within(Duration::from_millis(200));
        let barrier = group.barrier("b", &[0, 1]);
        let late = group.run(fabric, |thread| match thread.id().index() {
            0 => barrier.wait(thread),
            _ => Ok(()),
        });
        // The machine knows that nothing will change.
        let reported = match fabric {
            Fabric::Machine { .. } => matches!(late, Err(Fault::Endless(_))),
            _ => matches!(late, Err(Fault::Late(_))),
        };
        assert!(reported, "{late:?}");
    }
}

/// The time limit is for a call or a loop that waits, and not for a thread.
#[test]
fn a_thread_that_goes_on_calling_has_no_limit() {
    let limit = Duration::from_millis(50);
    let mut group = Group::new(&[1, 2]).within(limit);
    let x = group.shared_var("x");
    let ran = group.run(Fabric::Local, |thread| {
        let begin = Instant::now();
        for k in 0.. {
            x.write(thread, k)?;
            if begin.elapsed() > 4 * limit {
                break;
            }
        }
        // A wait has the limit, also in a loop of the thread's own.
        if thread.id().index() == 0 {
            let never = thread.until(|thread| Ok((x.read(thread)? == -1).then_some(())));
            assert!(matches!(never, Err(Fault::Late(_))), "{never:?}");
        }
        Ok(())
    });
    assert_eq!(ran, Ok(vec![(); 2]));
}

#[test]
fn a_call_may_have_a_limit_of_its_own() {
    let limit = Duration::from_secs(60);
    let mut group = Group::new(&[1, 2]).within(limit);
    let barrier = group.barrier("b", &[0, 1]);
    let begin = Instant::now();
    let ran = group.run(Fabric::Local, |thread| {
        if thread.id().index() == 0 {
            let late = thread.within(Duration::from_millis(1), |thread| barrier.wait(thread));
            assert!(matches!(late, Err(Fault::Late(_))), "{late:?}");
        }
        Ok(())
    });
    assert_eq!(ran, Ok(vec![(); 2]));
    assert!(begin.elapsed() < limit);
}

/// A program that does not use libfabric must not load it, because libfabric changes how signals are handled.
#[cfg(target_os = "linux")]
#[test]
fn libfabric_is_loaded_only_where_a_fabric_over_it_is_asked_for() {
    let is_loaded = || std::fs::read_to_string("/proc/self/maps").unwrap().contains("libfabric.so");
    for fabric in fabrics() {
        assert_eq!(sent_before("published", fabric), Ok(vec![1, 1]));
    }
    assert!(!is_loaded());
    let is_there = Provider::Tcp.check().is_ok();
    assert!(is_loaded() || !is_there);
}

/// A program without loops that reads a word again and again is stopped by the time limit. It does not overflow the
/// stack before that.
#[test]
fn programs_may_go_on_for_long() {
    fn until(x: Loc) -> Prog {
        sv::read(x).bind(move |v| if v == Val::Int(1) { Prog::unit() } else { until(x) })
    }
    let mut group = Group::new(&[1]).within(Duration::from_millis(300));
    let x = group.object("x", sv::variable());
    let late = group.run(Fabric::Local, |thread| thread.run(&until(x)));
    assert!(matches!(&late, Err(Fault::Late(at)) if at.contains("P1 is still at Read")), "{late:?}");
    let endless = group.run(Fabric::Local, |thread| thread.run(&idle()));
    assert!(matches!(&endless, Err(Fault::Endless(_))), "{endless:?}");
}

fn idle() -> Prog {
    Prog::unit().bind(|_| idle())
}

/// A fabric may make several operations of a put of several words, and a poll would take one of them.
#[test]
fn puts_of_several_words_are_refused_where_polls_count_operations() {
    let mut group = Group::new(&[1, 2]);
    let [x, y, z, w] = [("x", 2), ("y", 2), ("z", 1), ("w", 1)].map(|(name, n)| group.object(name, word(Node(n))));
    let put = Tso::PutWords { w: Way::USUAL.into(), xs: row(&[x, y]), ys: row(&[z, w]) };
    for fabric in [Fabric::Local, Fabric::Machine { seed: 0 }] {
        let made = group.run(fabric, |thread| match thread.id().index() {
            0 => thread.call(&put.into()).map(|_| ()),
            _ => Ok(()),
        });
        let Err(Fault::Wrong(why)) = made else { panic!("{made:?}") };
        assert!(why.contains("put or get words one by one"), "{why}");
    }
}

/// A put of several words copies each, in whatever order a program names them.
#[test]
fn words_of_a_put_may_be_in_any_order() {
    for fabric in fabrics().take(4) {
        let mut group = Group::new(&[1, 2]);
        let mut words =
            |name, node| [0, 1, 2, 3].map(|k| group.object(&format!("{name}{k}"), word(Node(node)).init(k.into())));
        let ([a, b, c, d], to) = (words("from", 1), words("to", 2));
        let wid = Val::Wid(Wid(Name::literal("put")));
        let put = Method::PutWords { w: Way::USUAL.into(), xs: row(&to), ys: row(&[a, c, b, d]), d: wid };
        let barrier = group.barrier("b", &[0, 1]);
        let ran = group.run(fabric, |thread| {
            let is_first = thread.id().index() == 0;
            if is_first {
                thread.call(&put.into())?;
                thread.call(&Method::Wait { d: wid }.into())?;
            }
            barrier.wait(thread)?;
            let read = |x: Loc| thread.call(&Method::Read { x }.into());
            if is_first { Ok(Vec::new()) } else { to.into_iter().map(read).collect() }
        });
        assert_eq!(ran.map(|all| all[1].clone()), Ok([0, 2, 1, 3].map(Val::Int).to_vec()), "{fabric:?}");
    }
}

/// A put of a buffer, a barrier, and a get of a part of it by another node.
#[test]
fn buffers_bring_bytes_to_other_nodes() {
    let bytes: Vec<u8> = (0..203).map(|at| at as u8 ^ 0x5a).collect();
    let padded = [&bytes[..], &[0; 5]].concat();
    for (fabric, is_interpreted) in fabrics().take(4).cartesian_product([false, true]) {
        let group = Group::new(&[1, 2]);
        let mut group = if is_interpreted { group.interpreted() } else { group };
        let barrier = group.barrier("b", &[0, 1]);
        let [from, to] = [("from", 1), ("to", 2)].map(|(name, node)| group.buffer(name, node, 203));
        let part = group.buffer("part", 2, 64);
        let ran = group.run(fabric, |thread| {
            if thread.id().index() == 0 {
                from.write(thread, &bytes)?;
                to.put(thread, from)?.wait(thread)?;
                barrier.wait(thread)?;
                let refused = to.read(thread);
                assert!(matches!(&refused, Err(Fault::Wrong(why)) if why.contains("is on node 2")), "{refused:?}");
                assert!(matches!(part.put(thread, from), Err(Fault::Wrong(_))), "it is shorter");
                return Ok(vec![]);
            }
            barrier.wait(thread)?;
            assert_eq!(to.read(thread)?, padded, "{fabric:?}");
            from.part(128..192).get(thread, part)?.wait(thread)?;
            part.read(thread)
        });
        assert_eq!(ran.unwrap()[1], bytes[128..192], "{fabric:?}, {is_interpreted}");
    }
}
