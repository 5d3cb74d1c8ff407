//! Tests of LOCO's objects, used by Rust programs over every fabric.

use std::time::{Duration, Instant};

use mowgli_core::event::Call;
use mowgli_core::ids::Node;
use mowgli_core::world::Object;
use mowgli_fabric::{Fabric, Fault, Group, Provider};
use mowgli_libraries::nlock::NLOCK;
use mowgli_libraries::sv::SV;

use crate::crowd::Crowd;
use crate::objects_code as code;
use crate::random_programs;
use crate::scenarios::{Runner, SCENARIOS, Scenario, ThreadCode, on_no_node, window};

const CODE: &str = include_str!("../src/emitted/objects.rs");

/// Every fabric, the machine with some seeds.
fn fabrics() -> impl Iterator<Item = Fabric> {
    [Fabric::Local].into_iter().chain((0..40).map(|seed| Fabric::Machine { seed }))
}

fn over<T>(fabric: Fabric, test: impl FnOnce(&Runner<'_>) -> T) -> T {
    let run = |group: &Group, code: ThreadCode<'_>| group.run(fabric, code).map(drop);
    test(&Runner { run: &run, times: 6 })
}

#[test]
fn programs_are_right_over_every_fabric() {
    let run = |(name, _, scenario): (&str, usize, Scenario)| {
        fabrics().for_each(|fabric| assert_eq!(over(fabric, scenario), Ok(()), "{name} over {fabric:?}"));
    };
    std::thread::scope(|scope| SCENARIOS.into_iter().for_each(|one| _ = scope.spawn(move || run(one))));
}

/// The machine shows most of what the model allows.
#[test]
fn random_programs_show_what_the_model_allows() {
    for (fabric, runs) in [(Fabric::Local, 40), (Fabric::Machine { seed: 0 }, 40), (Fabric::Machine { seed: 1 }, 40)] {
        let run = |group: &Group, code: random_programs::ThreadCode<'_>| group.run(fabric, code);
        let [seen, allowed] = random_programs::show_what_the_model_allows(runs, true, run).unwrap();
        assert!(fabric == Fabric::Local || 2 * seen > allowed, "{fabric:?}: {seen} of {allowed} outcomes");
    }
}

/// Without the waits, the network card may read the words after they were written again.
#[test]
fn operations_that_nobody_waits_for_may_be_late() {
    assert!((0..100).any(|seed| over(Fabric::Machine { seed }, |runner| window(runner, 8, false)).is_err()));
}

/// Lets two threads add to a number on another node by gets and puts, under a lock. Returns the sum.
fn sum_under_a_weak_lock(fabric: Fabric) -> Result<i64, Fault> {
    let mut group = Group::new(&[1, 2]);
    let (lock, sum, barrier) = (group.weak_lock("l", 1), group.word("s", 2, 0), group.barrier("b", &[0, 1]));
    let own = [1, 2].map(|n| group.word(&format!("own{n}"), n, 0));
    let last = group.run(fabric, |thread| {
        let own = own[thread.id().index()];
        for _ in 0..2 {
            let mut held = lock.lock(thread)?;
            sum.get(&mut held, own)?.wait(&mut held)?;
            let next = own.read(&mut held)? + 1;
            own.write(&mut held, next)?;
            sum.put(&mut held, own)?.wait(&mut held)?;
        }
        barrier.wait(thread)?;
        sum.get(thread, own)?.wait(thread)?;
        own.read(thread)
    })?;
    Ok(last[0])
}

/// A strong lock makes everything visible that was sent, to other nodes too. A weak lock does not promise that, and the
/// machine shows it.
#[test]
fn a_weak_lock_does_not_keep_what_was_sent() {
    assert_eq!(sum_under_a_weak_lock(Fabric::Local), Ok(4));
    assert!((0..300).any(|seed| sum_under_a_weak_lock(Fabric::Machine { seed }) != Ok(4)));
}

#[test]
fn words_refuse_other_sizes_and_nodes() {
    let mut group = Group::new(&[1, 2]);
    let (own, pair) = (group.words("own", 1, 3), group.words("pair", 2, 2));
    let refused = group.run(Fabric::Local, |thread| {
        if thread.id().index() > 0 {
            return Ok(vec![]);
        }
        own.write(thread, &[i64::MAX, i64::MIN, 0])?;
        assert_eq!(own.try_read(thread)?, Some(vec![i64::MAX, i64::MIN, 0]));
        let all = [own.write(thread, &[1]), pair.put(thread, own).map(drop), pair.get(thread, own).map(drop)];
        let all = all.into_iter().chain([pair.write(thread, &[1, 2]), pair.try_read(thread).map(drop)]);
        Ok(all.map(|refused| refused.unwrap_err().to_string()).collect::<Vec<_>>())
    });
    let refused = refused.unwrap().swap_remove(0);
    let elsewhere = "pair is on node 2";
    for (why, part) in refused.iter().zip(["3 words", "has 2 words", "has 3 words", elsewhere, elsewhere]) {
        assert!(why.contains(part), "{refused:#?}");
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
    fabrics().take(2).for_each(|fabric| assert_eq!(over(fabric, on_no_node), Ok(())));
    let wrong = Group::new(&[1, 2]).variant("bal", "no-fence").run(Fabric::Local, |_| Ok(()));
    let why = "bal as no-fence: a group runs by emitted code";
    assert!(matches!(&wrong, Err(Fault::Wrong(text)) if text.contains(why)), "{wrong:?}");

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
    assert_eq!(over(Fabric::Local, SCENARIOS[0].2), Ok(()));
    assert!(!is_loaded());
    let is_there = Provider::Tcp.check().is_ok();
    assert!(is_loaded() || !is_there);
}

#[test]
fn threads_meet_lock_and_receive_whatever_their_number() {
    for threads in [100, 255] {
        let crowd = Crowd::new(threads);
        let sums = crowd.group.run(Fabric::Local, |thread| {
            crowd.lock(thread)?;
            crowd.meet(thread)
        });
        assert_eq!(sums, Ok(vec![threads as i64; threads]));
    }
}

/// The machine takes a step of one thread at a time, so a hundred threads do little there.
#[test]
fn many_threads_and_nodes_share_a_variable() {
    for (nodes, fabric) in [((1..=63).collect(), Fabric::Local), ([1, 2].repeat(50), Fabric::Machine { seed: 2 })] {
        let mut group = Group::new(&nodes);
        let x = group.shared_var("x");
        let found = group.run(fabric, |thread| {
            x.write(thread, 1)?;
            x.broadcast(thread)?;
            x.read(thread)
        });
        assert_eq!(found, Ok(vec![1; nodes.len()]));
    }
}

#[test]
#[should_panic(expected = "there is no node 64: the nodes of a group are numbered from 1 to 63")]
fn a_sixty_fourth_node_is_refused() {
    let _ = Group::new(&[1, 64]);
}

#[test]
#[should_panic(expected = "256 threads: a group has at most 255")]
fn a_256th_thread_is_refused() {
    let _ = Group::new(&[1; 256]);
}

/// The code that `mowgli emit rust` writes for a user's library runs as the objects of this crate do.
#[test]
fn emitted_code_of_a_user_runs() {
    for fabric in fabrics().take(9) {
        let mut group = Group::new(&[1, 2]);
        let own = group.emitted("own", Object::new(SV), CODE, code::Own::new);
        let lock = group.emitted("l", Object::new(NLOCK).at(Node(1)), CODE, |world| code::nlock::new(world, 1));
        let sum = group.atomic("s", 1);
        let last = group.run(fabric, |thread| {
            let call = |method| move || Call::new(NLOCK, method, &[lock.name().into()]);
            thread.emitted((own, lock), |me, x: &code::nlock::Object| code::nlock::acq(me, x), call("Acq"))?;
            let last = sum.load(thread)? + 1;
            sum.store(thread, last)?;
            thread.emitted((own, lock), |me, x: &code::nlock::Object| code::nlock::rel(me, x), call("Rel"))?;
            Ok(last)
        });
        assert_eq!(last.map(|all| all.into_iter().max()), Ok(Some(2)), "{fabric:?}");
    }
}
