//! Operations that every fabric refuses, with the same errors, and sums that wrap around on every fabric.

use std::fmt::Debug;

use mowgli_core::ids::{Loc, Node};
use mowgli_fabric::{Atomic, Fault, Group, Thread, Word};
use mowgli_rdma::wait::Method;

/// The largest integer that a word holds for interpreted bodies.
pub const LARGEST: i64 = (1 << 61) - 1;

fn is_refused<T: Debug>(result: Result<T, Fault>, text: &str) {
    assert!(matches!(&result, Err(Fault::Wrong(why)) if why.contains(text)), "{result:?}, not {text}");
}

fn is_too_large<T: Debug>(result: Result<T, Fault>, number: i64) {
    is_refused(result, &format!("{number} is not between -2^61 and 2^61 - 1"));
}

/// Adds to the largest number by interpreted bodies, in `atomic` and in `word`, which holds it already. `own` is a word of the
/// thread's node.
///
/// # Errors
/// If the fabric fails.
pub fn too_large(thread: &mut Thread<'_>, atomic: Atomic, word: Word, own: Word) -> Result<(), Fault> {
    is_too_large(own.write(thread, LARGEST + 1), LARGEST + 1);
    is_too_large(own.write(thread, i64::MIN), i64::MIN);
    is_too_large(word.fetch_add(thread, i64::MAX, own), i64::MAX);
    is_too_large(word.compare_and_swap(thread, 0, LARGEST + 1, own), LARGEST + 1);
    // The card returns the old value, but reading the sum is an error.
    atomic.store(thread, LARGEST)?;
    assert_eq!(atomic.fetch_add(thread, 1)?, LARGEST);
    is_too_large(atomic.load(thread), LARGEST + 1);
    word.fetch_add(thread, 1, own)?.wait(thread)?;
    assert_eq!(own.read(thread)?, LARGEST);
    word.get(thread, own)?.wait(thread)?;
    is_too_large(own.read(thread), LARGEST + 1);
    word.compare_and_swap(thread, 0, 1, own)?.wait(thread)?;
    is_too_large(own.read(thread), LARGEST + 1);
    // The sum does not become another value either, after so many additions that it does not look like an integer.
    (0..4).try_for_each(|_| word.fetch_add(thread, LARGEST, own)?.wait(thread))?;
    word.get(thread, own)?.wait(thread)?;
    is_refused(own.read(thread), "is not between -2^61 and 2^61 - 1");
    Ok(())
}

/// Uses all 64 bits of `atomic` and `word`, which are 0. `own` is a word of the thread's node.
///
/// # Errors
/// If the fabric fails.
pub fn whole(thread: &mut Thread<'_>, atomic: Atomic, word: Word, own: Word) -> Result<(), Fault> {
    for v in [i64::MAX, i64::MIN, LARGEST + 1, 1 << 62, -1] {
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
