//! The implementation keeps the promises of a lock in every client up to a bound, and the check rejects a broken
//! variant.

use insta::assert_snapshot;
use mowgli_proofs::{assert_outcomes, assert_sound, assert_unsound};

use super::entry;

#[test]
fn the_implementation_is_sound() {
    let checked = assert_sound!(entry(), "published");
    // The concretisation that was found: which subevent of the implementation stands for each stamp.
    assert_snapshot!(checked.concretisation().join("\n"), @r#"
        g(Acq, F) = R of the Read
        g(Rel, W) = W of the Write
    "#);
}

#[test]
fn two_steps_are_not_enough_for_a_ticket() {
    let checked = assert_unsound!(entry(), "two-steps");
    // A smallest client with a wrong outcome. `mowgli_proofs::explanation(&checked)` has the execution and the cycle too.
    assert_snapshot!(checked.litmus().expect("a counterexample"), @r#"
        X86_TSO ticket-two-steps
        {
          ticket l;
          px = 0;
          py = 0;
        }
         P1      | P2      ;
         l.acq   | l.acq   ;
         px := 1 | a := px ;
         px := 2 | l.rel   ;
         l.rel   |         ;
        forbidden (a=1)
    "#);
}

/// The specification allows exactly these outcomes for a client with words and the lock.
#[test]
fn critical_sections_do_not_overlap() {
    assert_outcomes!(entry(), include_str!("../ticketlock.litmus"), ["a=0", "a=2"]);
}
