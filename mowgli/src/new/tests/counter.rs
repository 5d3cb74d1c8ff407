//! The implementation keeps the promises of a counter in every client up to a bound, and the check rejects a broken
//! variant.

use insta::assert_snapshot;
use mowgli_proofs::{assert_outcomes, assert_sound, assert_unsound, bound};

use super::entry;

#[test]
fn the_implementation_is_sound() {
    let checked = assert_sound!(entry(), "published", bound(2, 1, 1));
    // The concretisation that was found: which subevent of the implementation stands for each stamp.
    assert_snapshot!(checked.concretisation().join("\n"), @r#"
        g(Add, aMF) = aMF of the Acq
        g(Get, aMF) = aMF of the Acq
    "#);
}

#[test]
fn without_the_lock_it_is_not() {
    let checked = assert_unsound!(entry(), "no-lock", bound(2, 1, 1));
    // A smallest client with a wrong outcome. `mowgli_proofs::explanation(&checked)` has the execution and the cycle too.
    assert_snapshot!(checked.litmus().expect("a counterexample"), @r#"
        RDMA_WAIT tally-no-lock
        {
          nodes 1;
          tally l at 1;
        }
         P1@1          | P2@1          ;
         a := l.add(1) | b := l.add(1) ;
        forbidden (a=0 /\ b=0)
    "#);
}

/// The specification allows exactly these outcomes for two threads that add.
#[test]
fn one_comes_before_the_other() {
    assert_outcomes!(entry(), include_str!("../counter.litmus"), ["a=0 b=1", "a=2 b=0"]);
}
