//! Operations that every fabric refuses, with the same errors.

use std::fmt::Debug;

use mowgli_core::ids::{Loc, Node};
use mowgli_fabric::{Atomic, Fault, Group, Thread, Word};
use mowgli_rdma::wait::Method;

/// The largest integer that a word holds.
pub const LARGEST: i64 = (1 << 61) - 1;

fn is_refused<T: Debug>(result: Result<T, Fault>, text: &str) {
    assert!(matches!(&result, Err(Fault::Wrong(why)) if why.contains(text)), "{result:?}, not {text}");
}

fn is_too_large<T: Debug>(result: Result<T, Fault>, number: i64) {
    is_refused(result, &format!("{number} is not between -2^61 and 2^61 - 1"));
}

/// Adds to the largest number, in `atomic` and in `word`, which holds it already. `own` is a word of the thread's node.
///
/// # Errors
/// If the fabric fails.
pub fn too_large(thread: &mut Thread<'_>, atomic: Atomic, word: Word, own: Word) -> Result<(), Fault> {
    is_too_large(own.write(thread, LARGEST + 1), LARGEST + 1);
    is_too_large(own.write(thread, i64::MIN), i64::MIN);
    is_too_large(word.fetch_add(thread, i64::MAX, own), i64::MAX);
    is_too_large(word.compare_and_swap(thread, 0, LARGEST + 1, own), LARGEST + 1);
    // The object returns an error for the sum of two numbers that words hold.
    atomic.store(thread, LARGEST - 1)?;
    assert_eq!(atomic.fetch_add(thread, 1)?, LARGEST - 1);
    is_too_large(atomic.fetch_add(thread, 1), LARGEST + 1);
    is_too_large(atomic.load(thread), LARGEST + 1);
    // The card returns the old value, but reading the sum is an error.
    word.fetch_add(thread, 1, own)?.wait(thread)?;
    assert_eq!(own.read(thread)?, LARGEST);
    word.get(thread, own)?.wait(thread)?;
    is_too_large(own.read(thread), LARGEST + 1);
    word.compare_and_swap(thread, 0, 1, own)?.wait(thread)?;
    is_too_large(own.read(thread), LARGEST + 1);
    // The sum does not wrap to another number either, after so many additions that it is beyond 64 bits.
    let blind = (0..4).try_for_each(|_| word.fetch_add(thread, LARGEST, own)?.wait(thread));
    let read = blind.and_then(|()| word.get(thread, own)?.wait(thread)).and_then(|()| own.read(thread));
    is_refused(read, "is not between -2^61 and 2^61 - 1");
    Ok(())
}

/// Makes operations of the first thread on words that it cannot reach in this way. `near` is on its node 1, `far` on
/// node 2 of two.
pub fn misplaced(thread: &mut Thread<'_>, near: Word, far: Word) {
    let elsewhere = "far is on node 2, and the thread on node 1";
    is_refused(far.read(thread), elsewhere);
    is_refused(far.write(thread, 1), elsewhere);
    is_refused(far.put(thread, far), elsewhere);
    is_refused(near.get(thread, far), elsewhere);
    is_refused(near.fetch_add(thread, 1, far), elsewhere);
    is_refused(near.compare_and_swap(thread, 0, 1, far), elsewhere);
    let nowhere = Loc::new("nowhere");
    is_refused(thread.operation(Method::Read { x: nowhere }), "there is no word nowhere");
    is_refused(thread.operation(Method::Rfence { n: Node(3) }), "there is no node 3");
}

/// Makes a group whose second word is on a node that does not exist.
pub fn on_no_node() -> Group {
    let mut group = Group::new(&[1, 2]);
    group.word("x", 1, 0);
    group.word("y", 3, 0);
    group
}

/// Checks the error of [`on_no_node`].
pub fn is_on_no_node(result: Result<Vec<()>, Fault>) {
    is_refused(result, "y is on node 3, and there are nodes 1 to 2");
}
