//! The implementation keeps the specification's promises in every client up to a bound, and the check rejects a broken
//! variant.

use expect_test::expect;
use mowgli_proofs::{assert_outcomes, assert_sound, assert_unsound};

use super::entry;

#[test]
fn the_implementation_is_sound() {
    let checked = assert_sound!(entry(), "published");
    // The concretisation that was found: which subevent of the implementation stands for each stamp.
    expect![[r#"
        g(Check, aCR) = aCR of the Read
        g(Raise, aGF) = aGF of the GF"#]]
    .assert_eq(&checked.concretisation().join("\n"));
}

#[test]
fn without_the_fence_it_is_not() {
    let checked = assert_unsound!(entry(), "no-fence");
    // A smallest client with a wrong outcome. `checked.explanation()` has the execution and the cycle too.
    expect![[r#"
        RDMA_WAIT latch-no-fence
        {
          nodes 1;
          po@1 = 1;
          px@1 = 0;
          latch x;
        }
         P1@1        ;
         put(px, po) ;
         x.raise     ;
         a := px     ;
        forbidden (a=0)
    "#]]
    .assert_eq(&checked.litmus().expect("a counterexample"));
}

/// The specification allows exactly these outcomes for a client with `put`s and the latch.
#[test]
fn who_sees_the_latch_sees_the_put() {
    assert_outcomes!(entry(), include_str!("../latch.litmus"), ["a=0 b=0", "a=0 b=1", "a=1 b=1"]);
}
