//! The implementation keeps the promises of a stack in every client up to a bound, and the check rejects a broken
//! variant.

use insta::assert_snapshot;
use mowgli_proofs::{assert_outcomes, assert_sound, assert_unsound, bound};

use super::entry;

#[test]
fn the_implementation_is_sound() {
    let checked = assert_sound!(entry(), "published", bound(2, 1, 2));
    // The concretisation that was found: which subevent of the implementation stands for each stamp.
    assert_snapshot!(checked.concretisation().join("\n"), @r#"
        g(Pop, F) = R of the last Read or U of the CAS
        g(Pop, R) = R of the Read
        g(Push, F) = U of the CAS or W of the New
    "#);
}

#[test]
fn a_push_must_compare() {
    let checked = assert_unsound!(entry(), "push-writes", bound(2, 1, 2));
    // A smallest client with a wrong outcome. `mowgli_proofs::explanation(&checked)` has the execution and the cycle too.
    assert_snapshot!(checked.litmus().expect("a counterexample"), @r#"
        X86_TSO stack-push-writes
        {
          py = 0;
          stack s;
        }
         P1         | P2        ;
         py := 1    | s.push(1) ;
         mfence     | b := py   ;
         a := s.pop |           ;
        forbidden (a=bot /\ b=0)
    "#);
}

/// The specification allows exactly these outcomes for a client with a word and the stack.
#[test]
fn who_pops_sees_what_was_written_before_the_push() {
    assert_outcomes!(entry(), include_str!("../stack.litmus"), ["a=7 b=1", "a=bot b=0", "a=bot b=1"]);
}
