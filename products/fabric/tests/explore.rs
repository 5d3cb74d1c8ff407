//! Rust code under every execution of the model.

use std::collections::{BTreeMap, BTreeSet};

use mowgli_check::litmus::parse::parse;
use mowgli_check::litmus::run::{libraries, with_problem};
use mowgli_check::litmus::test::Model;
use mowgli_core::event::Call;
use mowgli_core::ids::{Name, Node};
use mowgli_core::search::problem::Limits;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_fabric::{Exploration, Fabric, Fault, Group, Interpreter, ResultTrace, Thread};

#[allow(dead_code, reason = "an example of its own")]
#[path = "../examples/explore.rs"]
mod example;

#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../../../mowgli/examples/counter.rs"]
pub mod counter;

use example::sent_twice;

/// Returns the values that the second thread has read in all endings.
fn read(explored: &Exploration<i64>) -> BTreeSet<i64> {
    explored.all().unwrap().iter().map(|results| *results[1]).collect()
}

/// A put is placed before the flag behind it. But the put may read a value of its source that was written after it was
/// posted.
#[test]
fn a_put_reads_its_source_late_if_nothing_waits() {
    assert_eq!(sent_twice(true).unwrap().all(), Ok(vec![vec![&vec![], &vec![7]]]));
    let late = sent_twice(false).unwrap();
    let received: Vec<_> = late.endings.iter().map(|ending| ending.results[1].clone().ok()).collect();
    assert_eq!(received, [Some(vec![7]), None]);
    assert!(late.failure().unwrap().litmus("late").contains("b=8"));
}

/// Store buffering: each thread writes its word, and reads that of the other one.
#[test]
fn stores_are_late() {
    let mut group = Group::new(&[1, 1]);
    let words = ["x", "y"].map(|x| group.word(x, 1, 0));
    let seen = |fences: bool| {
        let explored = group.explore(move |thread| {
            let own = thread.id().index();
            words[own].write(thread, 1)?;
            if fences {
                thread.call(&mowgli_rdma::wait::Method::Mfence {}.into())?;
            }
            words[1 - own].read(thread)
        });
        let explored = explored.unwrap();
        explored.all().unwrap().iter().map(|r| (*r[0], *r[1])).collect::<BTreeSet<_>>()
    };
    assert_eq!(seen(false), BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]));
    assert_eq!(seen(true), BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
}

/// Makes the code of two threads with a barrier. The second one asserts that it reads the value that was sent before
/// it.
fn sent_before(group: &mut Group) -> impl Fn(&mut Thread<'_>) -> Result<i64, Fault> + Clone + Send + Sync + 'static {
    let (barrier, x) = (group.barrier("b", &[0, 1]), group.shared_var("x"));
    move |thread| {
        if thread.id().index() == 0 {
            x.write(thread, 1)?;
            x.broadcast(thread)?;
            barrier.wait(thread)?;
            x.write(thread, 2)?;
            return Ok(0);
        }
        barrier.wait(thread)?;
        let seen = x.read(thread)?;
        assert_eq!(seen, 1, "it was sent before the barrier");
        Ok(seen)
    }
}

#[test]
fn an_assertion_holds_in_all_executions_or_one_is_shown() {
    let mut group = Group::new(&[1, 2]);
    let body = sent_before(&mut group);
    assert_eq!(group.explore(body).unwrap().all().unwrap(), [[&0, &1]]);
    let mut published = Group::new(&[1, 2]).variant("bal", "published");
    let body = sent_before(&mut published);
    assert_eq!(published.explore(body).unwrap().all().unwrap(), [[&0, &1]]);

    let mut broken = Group::new(&[1, 2]).variant("bal", "no-fence");
    let body = sent_before(&mut broken);
    let explored = broken.explore(body.clone()).unwrap();
    let failure = explored.failure().expect("what was written later is sent");
    let message = failure.results[1].as_ref().unwrap_err().to_string();
    assert!(message.contains("it was sent before the barrier") && message.contains("tests/explore.rs"), "{message}");
    assert!(explored.all().unwrap_err().to_string().contains("P2 panicked at"));

    // `mowgli explain --implemented bal:no-fence` explains this test.
    insta::assert_snapshot!(failure.litmus("late"), @"
    RDMA_WAIT late
    {
      nodes 2;
      barrier b = {P1, P2};
      svar x = 0;
    }
     P1@1         | P2@2        ;
     x.write(1)   | bar(b)      ;
     x.bcast({2}) | a := x.read ;
     bar(b)       |             ;
     x.write(2)   |             ;
    allowed (a=2)
    ");

    // The trace is text, and reproduces the failure.
    let trace = failure.trace.to_string().parse().unwrap();
    let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| broken.replay(&trace, body)));
    let panic = again.unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("it was sent before the barrier"));
}

/// Under a lock a counter keeps all additions, and without one it does not.
#[test]
fn nothing_is_lost_under_a_lock() {
    let sums = |is_locked: bool| {
        let mut group = Group::new(&[1, 2]);
        let (lock, x) = (group.node_lock("l", 1), group.atomic("x", 1));
        let explored = group.explore(move |thread| {
            let add = |thread: &mut Thread<'_>| {
                let v = x.load(thread)?;
                x.store(thread, v + 1)?;
                Ok(v + 1)
            };
            if is_locked { add(&mut *lock.lock(thread)?) } else { add(thread) }
        });
        let endings = explored.unwrap();
        endings.all().unwrap().iter().map(|r| **r.iter().max().unwrap()).collect::<BTreeSet<_>>()
    };
    assert_eq!(sums(true), BTreeSet::from([2]));
    assert_eq!(sums(false), BTreeSet::from([1, 2]));
}

/// Each of two threads waits for the other one before it writes.
#[test]
fn who_waits_for_ever_is_reported() {
    let mut group = Group::new(&[1, 1]);
    let words = ["x", "y"].map(|x| group.word(x, 1, 0));
    let body = move |is_second_first: bool| {
        move |thread: &mut Thread<'_>| {
            let own = thread.id().index();
            let write = |thread: &mut Thread<'_>| words[own].write(thread, 1);
            if own == 1 && is_second_first {
                write(thread)?;
            }
            thread.until(|thread| Ok((words[1 - own].read(thread)? == 1).then_some(())))?;
            write(thread)
        }
    };
    let explored = group.explore(body(false)).unwrap();
    assert_eq!((explored.endings.len(), &explored.stop), (0, &None));
    assert_eq!(explored.stuck.len(), 1);
    let why = explored.all().unwrap_err().to_string();
    assert!(why.contains("P1 goes round in a loop for ever: each round reads 0 from y on node 1"), "{why}");
    assert!(why.contains("P2 goes round in a loop for ever: each round reads 0 from x on node 1"), "{why}");
    assert_eq!(group.explore(body(true)).unwrap().all().map(|all| all.len()), Ok(1));
}

/// Prints each stuck execution in one line.
fn stuck<R>(explored: &Exploration<R>) -> Vec<String> {
    assert_eq!(explored.stop, None);
    explored.stuck.iter().map(ToString::to_string).collect()
}

/// A thread that panics, or returns, before a barrier leaves the other one there.
#[test]
fn who_does_not_come_to_a_barrier_is_reported() {
    let explored = |panics: bool, more: usize| {
        let mut group = Group::new(&[1, 2]);
        let barrier = group.barrier("b", &[0, 1]);
        let explored = group.explore(move |thread| {
            let first = thread.id().index() == 0;
            assert!(!first || !panics, "before the barrier");
            (0..1 + if first { 0 } else { more }).try_for_each(|_| barrier.wait(thread))
        });
        explored.unwrap()
    };
    let panicked = explored(true, 0);
    assert_eq!(panicked.endings.len(), 0);
    assert_eq!(stuck(&panicked).len(), 1);
    let why = panicked.all().unwrap_err();
    assert!(why.to_string().contains("P1 panicked") && why.to_string().contains("before the barrier"), "{why}");
    assert!(why.to_string().contains("P2 is in bar(b) and waits for ever: P1 has ended"), "{why}");
    let one_too_many = explored(false, 1);
    assert_eq!((one_too_many.endings.len(), stuck(&one_too_many).len()), (0, 1));
    assert!(one_too_many.all().unwrap_err().to_string().contains("P2 is in bar(b) and waits for ever: P1 has ended"));
    assert!(explored(false, 0).all().is_ok());
}

/// The second thread fails if it reads too late, and leaves the first one at the last barrier. A stuck execution shows
/// that failure.
#[test]
fn an_assertion_that_fails_before_a_barrier_is_reported() {
    let mut group = Group::new(&[1, 2]);
    let (barrier, x) = (group.barrier("b", &[0, 1]), group.shared_var("x"));
    let explored = group.explore(move |thread| {
        for value in [1, 2] {
            if thread.id().index() == 0 {
                x.write(thread, value)?;
                x.broadcast(thread)?;
            } else if value == 2 {
                assert_eq!(x.read(thread)?, 1, "read late");
            }
            barrier.wait(thread)?;
        }
        x.read(thread)
    });
    let explored = explored.unwrap();
    assert!(!explored.endings.is_empty());
    let stuck = stuck(&explored);
    assert!(stuck.iter().any(|s| s.contains("read late") && s.contains("P1 is in bar(b)")), "{stuck:?}");
    assert!(explored.all().is_err());
}

/// The other thread waits for a flag that is never written, because its writer panics.
#[test]
fn a_flag_that_does_not_come_is_reported() {
    let mut group = Group::new(&[1, 1]);
    let flag = group.word("f", 1, 0);
    let explored = group.explore(move |thread| {
        if thread.id().index() == 0 {
            assert!(flag.read(thread)? == 1, "before the flag");
            return flag.write(thread, 1);
        }
        thread.until(|thread| Ok((flag.read(thread)? == 1).then_some(())))
    });
    let why = explored.unwrap().all().unwrap_err();
    assert!(
        why.to_string().contains("before the flag") && why.to_string().contains("P2 goes round in a loop for ever"),
        "{why}"
    );
}

/// A thread that keeps a lock leaves the other one waiting.
#[test]
fn a_lock_that_is_kept_is_reported() {
    let mut group = Group::new(&[1, 1]);
    let lock = group.strong_lock("l", 1);
    let explored = group.explore(move |thread| {
        let guard = lock.lock(thread)?;
        std::mem::forget(guard);
        Ok(())
    });
    let explored = explored.unwrap();
    let stuck = stuck(&explored);
    assert_eq!(stuck.len(), 2, "{stuck:?}");
    let why = explored.all().unwrap_err().to_string();
    assert!(why.contains("does not make rel(l), as it has ended"), "{why}");
    assert!(explored.endings.iter().all(|ending| !ending.unfinished.is_empty()));
}

/// A loop that waits without [`Thread::until`] runs into the limit of calls.
#[test]
fn a_loop_of_rust_is_cut_off_and_that_is_reported() {
    let mut group = Group::new(&[1, 1]);
    let x = group.word("x", 1, 0);
    let explored = group.explore(move |thread| {
        if thread.id().index() == 0 {
            return x.write(thread, 1);
        }
        while x.read(thread)? != 1 {
            thread.pause();
        }
        Ok(())
    });
    let reported = explored.unwrap().all().unwrap_err();
    assert!(reported.to_string().contains("P2") && reported.to_string().contains("`Thread::until`"), "{reported}");
}

/// Code that is not a program of the model is a fault.
#[test]
fn what_cannot_be_explored_is_a_fault() {
    let mut group = Group::new(&[1, 2]);
    let barrier = group.barrier("b", &[0]);
    let x = group.shared_var("x");
    let other = group.explore(move |thread| barrier.wait(thread));
    assert!(matches!(&other, Err(Fault::Wrong(why)) if why.contains("P2 calls")), "{other:?}");
    let times = std::sync::atomic::AtomicI64::new(0);
    let differs =
        group.explore(move |thread| x.write(thread, times.fetch_add(1, std::sync::atomic::Ordering::Relaxed)));
    assert!(matches!(&differs, Err(Fault::Wrong(why)) if why.contains("does not do the same again")), "{differs:?}");
    let variant = Group::new(&[1]).variant("bal", "none").explore(|_| Ok(()));
    assert!(matches!(&variant, Err(Fault::Wrong(why)) if why.contains("none")), "{variant:?}");
    let trace = "[[]]".parse().unwrap();
    let replayed = group.replay(&trace, move |thread| x.read(thread));
    assert!(matches!(&replayed, Err(Fault::Wrong(why)) if why.contains("2")), "{replayed:?}");
    assert!("[".parse::<ResultTrace>().unwrap_err().to_string().contains("not a trace"));
}

/// Each result that a fabric shows is a result of the exploration.
#[test]
fn what_the_machine_shows_is_explored() {
    let mut group = Group::new(&[1, 2]);
    let (own, far, flag) = (group.word("own", 1, 1), group.word("far", 2, 0), group.word("flag", 2, 0));
    let body = move |thread: &mut Thread<'_>| {
        if thread.id().index() == 0 {
            far.put(thread, own)?;
            own.write(thread, 2)?;
            flag.put(thread, own)?;
            return Ok(0);
        }
        let before = far.read(thread)?;
        thread.until(|thread| Ok((flag.read(thread)? == 2).then_some(())))?;
        Ok(10 * before + far.read(thread)?)
    };
    let all = read(&group.explore(body).unwrap());
    let shown: BTreeSet<i64> = (0..500).map(|seed| group.run(Fabric::Machine { seed }, body).unwrap()[1]).collect();
    assert!(shown.is_subset(&all) && shown.len() > 2, "{shown:?} of {all:?}");
}

/// The papers' tests, each as code that runs its programs call by call. The code has the endings that the search finds
/// for the programs.
#[test]
fn code_ends_as_its_program_does() {
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/litmus/papers");
    let (mut looked_at, mut left) = (0, 0);
    for file in std::fs::read_dir(papers).unwrap() {
        let path = file.unwrap().path();
        let Ok(test) = parse(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap()) else { continue };
        let mut group = Group::new(&test.world.threads.iter().map(|n| n.0).collect::<Vec<_>>());
        if test.model != Model::RDMA_WAIT || test.world.threads.iter().map(|n| n.0).max() != Some(test.world.nodes) {
            continue;
        }
        for (x, object) in &test.world.objects {
            group.object(&x.to_string(), object.clone());
        }
        let programs = test.programs(&libraries(test.model));
        let none = Interpreter::new(&[], World::new(0, &[]), [], &BTreeMap::new()).unwrap();
        let explored = group.explore(move |thread| none.interpreted().run(thread, &programs[thread.id().index()]));
        if matches!(&explored, Err(Fault::Wrong(why)) if why.contains("waits itself")) {
            left += 1;
            continue;
        }
        let explored = explored.unwrap();
        let ends: BTreeSet<Vec<Val>> =
            explored.endings.iter().map(|e| e.results.iter().map(|r| *r.as_ref().unwrap()).collect()).collect();
        let limits = Limits { rounds: 1, ..Limits::default() };
        let all = with_problem(&libraries(test.model), &test, &[], limits, |problem| problem.outcomes());
        let expected: BTreeSet<Vec<Val>> = all.all().unwrap().into_keys().map(|outcome| outcome.outputs).collect();
        assert_eq!((explored.stop, ends), (None, expected), "{}", path.display());
        looked_at += 1;
    }
    assert!(looked_at > 20 && left < 3, "{looked_at}, {left}");
}

/// A library of a user, whose calls have names.
#[test]
fn a_library_of_ones_own_is_explored() {
    let sums = |variant: Option<&str>| {
        let mut group = Group::new(&[1, 2]).library(counter::entry());
        if let Some(variant) = variant {
            group = group.variant("tally", variant);
        }
        let x = group.object("x", Object::new(Name::literal("tally")).at(Node(1)));
        let add = move |thread: &mut Thread<'_>| {
            thread.call(&Call::new(Name::literal("tally"), "Add", &[x.into(), Val::Int(1)]))
        };
        let explored = group.explore(add).unwrap();
        explored.endings.iter().map(|e| e.results.iter().map(|r| *r.as_ref().unwrap()).max()).collect::<BTreeSet<_>>()
    };
    let [zero, one] = [0, 1].map(|v| Some(Val::Int(v)));
    assert_eq!((sums(None), sums(Some("published"))), (BTreeSet::from([one]), BTreeSet::from([one])));
    assert_eq!(sums(Some("no-lock")), BTreeSet::from([zero, one]));
}
