//! The implementation keeps the specification's promises in every client up to a bound, and the check rejects a broken
//! variant.

use insta::assert_snapshot;
use mowgli_proofs::{accepted_of, assert_outcomes, assert_random_sound, assert_sound, assert_unsound, bound};

use super::entry;

#[test]
fn the_implementation_is_sound() {
    let checked = assert_sound!(entry(), "published");
    // The concretisation that was found: which subevent of the implementation stands for each stamp.
    assert_snapshot!(checked.concretisation().join("\n"), @r#"
        g(Check, aCR) = aCR of the Read
        g(Raise, aGF) = aGF of the GF
    "#);
}

#[test]
fn without_the_fence_it_is_not() {
    let checked = assert_unsound!(entry(), "no-fence");
    // A smallest client with a wrong outcome. `mowgli_proofs::explanation(&checked)` has the execution and the cycle too.
    assert_snapshot!(checked.litmus().expect("a counterexample"), @r#"
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
    "#);
}

/// The specification allows exactly these outcomes for a client with `put`s and the latch.
#[test]
fn who_sees_the_latch_sees_the_put() {
    assert_outcomes!(entry(), include_str!("../latch.litmus"), ["a=0 b=0", "a=0 b=1", "a=1 b=1"]);
}

/// An execution to review. The events of a call stand below it (f). Behind an event is the stamp that it stands for (g). The lines of so'
/// are the promises.
#[test]
fn an_accepted_execution() {
    let test = "RDMA_WAIT accepted { latch x; }
 P1@1    | P2@2         ;
 x.raise | a := x.check ;
allowed (a=1)";
    assert_snapshot!(accepted_of(entry(), "latch", test), @r#"
    RDMA_WAIT accepted { latch x; }
     P1@1    | P2@2         ;
     x.raise | a := x.check ;
    allowed (a=1)

    accepted: (a=1) by latch

      P1 on node 1
        Raise(x)
          GF({1, 2})  [aGF_1; aGF_2]  = aGF_1, aGF_2
          Write(x.raised, 1)  [aCW wrote 1]
          Bcast(x.raised, _, {2})  [aNLR_2 read 1; aNRW_2 wrote 1]
      P2 on node 2
        Check(x) = 1
          Read(x.raised) = 1  [aCR read 1]  = aCR
      so': P1 Raise(x) aGF_1 -> P2 Check(x) = 1  (seen)
      so': P1 Raise(x) aGF_2 -> P2 Check(x) = 1  (seen)
      rf of sv: P1 Bcast(x.raised, _, {2}) aNRW_2 -> P2 Read(x.raised) = 1
    "#);
}

/// Random clients that are larger than those of the bound. A failure shows a smallest one.
#[test]
fn larger_clients_are_sound() {
    assert_random_sound!(entry(), "published", bound(3, 3, 3), 20);
}
