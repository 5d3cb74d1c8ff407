//! Groups with many threads or nodes, and threads with many operations under way.

use mowgli_fabric::{Fabric, Group};

use crate::crowd::{Crowd, Window};

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
fn the_machine_runs_a_hundred_threads() {
    let mut group = Group::new(&[1, 2].repeat(50));
    let x = group.shared_var("x");
    let found = group.run(Fabric::Machine { seed: 2 }, |thread| {
        x.write(thread, 1)?;
        x.broadcast(thread)?;
        x.read(thread)
    });
    assert_eq!(found, Ok(vec![1; 100]));
}

#[test]
fn sixty_three_nodes_share_a_variable() {
    let all: Vec<usize> = (0..63).collect();
    let mut group = Group::new(&(1..=63).collect::<Vec<u8>>());
    let (barrier, x, lock) = (group.barrier("b", &all), group.shared_var("x"), group.weak_lock("w", 63));
    let ran = group.run(Fabric::Local, |thread| {
        if thread.node().0 == 63 {
            x.write(thread, 7)?;
            x.broadcast(thread)?;
        }
        barrier.wait(thread)?;
        lock.lock(thread)?.release()?;
        x.read(thread)
    });
    assert_eq!(ran, Ok(vec![7; 63]));
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

/// Posts more operations than a thread has identifiers, and then waits for all of them.
#[test]
fn any_number_of_operations_may_be_under_way() {
    for fabric in [Fabric::Local, Fabric::Machine { seed: 1 }, Fabric::Machine { seed: 2 }] {
        let window = Window::new(300);
        window.group.run(fabric, |thread| window.pass(thread)).unwrap();
    }
}

/// Without the waits, the network card may read the words after they were written again.
#[test]
fn operations_that_nobody_waits_for_may_be_late() {
    let is_early = |seed| {
        let mut window = Window::new(8);
        window.waits = false;
        window.group.run(Fabric::Machine { seed }, |thread| window.pass(thread)).is_err()
    };
    assert!((0..100).any(is_early));
}
