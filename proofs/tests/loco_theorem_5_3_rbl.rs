//! LOCO Theorem 5.3: the implementation of the ring buffer. It does not hold if the writer is among the readers.

use insta::assert_snapshot;
use mowgli_core::term::bound::Bound;
use mowgli_proofs::{bound, checked, concretisation, explained, refuted};

fn two_values(bound: Bound) -> Bound {
    Bound { values: vec![1, 2], ..bound }
}

/// See `docs/findings.md`.
#[test]
fn the_published_ring_is_not_sound_for_a_writer_that_reads() {
    let test = "RDMA_WAIT ring-to-oneself { y@1 = 0; ring q = P1 -> {P1, P2} size 4; }
 P1@1              | P2@1            ;
 a := submit(q, 1) | y := 1          ;
 b := receive(q)   | mfence          ;
 c := y            | d := receive(q) ;
forbidden (a=true /\\ b=1 /\\ c=0 /\\ d=bot)";
    assert_snapshot!("rbl_specification", explained(test, &[]));
    assert!(explained(test, &["rbl"]).contains("is possible"));
    assert!(explained(test, &["rbl", "sv"]).contains("is possible"));
    assert!(explained(test, &["rbl:fenced"]).contains("is impossible"));
}

#[test]
fn a_fence_at_the_end_of_submit_repairs_it() {
    let report = checked("rbl", "fenced", &bound(2, 2, 2));
    assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
    assert_snapshot!("rbl_concretisation", concretisation(&report));
}

#[test]
fn broken_rings_deliver_what_was_not_sent() {
    for variant in ["head-first", "room-off-by-one", "early-release", "blind"] {
        let report = checked("rbl", variant, &two_values(bound(2, 2, 2)));
        assert_eq!(report.verdict(), "unsound", "{variant}");
        assert_snapshot!(format!("rbl_{variant}"), refuted(&report));
    }
}

/// The words of a put arrive in any order, and no head follows them.
#[test]
fn a_reader_knows_a_whole_message_by_its_hash() {
    let report = checked("rbl", "hashed", &sized(&[3], bound(2, 2, 1)));
    assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
}

fn sized(sizes: &[usize], bound: Bound) -> Bound {
    Bound { sizes: sizes.to_vec(), words: 2, ..two_values(bound) }
}

#[test]
#[ignore = "takes half a minute"]
fn a_hash_is_of_all_words_of_a_message_and_of_its_end() {
    let report = checked("rbl", "hashed", &sized(&[4, 7], bound(2, 2, 1)));
    assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
    for (variant, sizes) in
        [("hash-without-end", &[3][..]), ("hash-of-first-word", &[3, 4, 7]), ("hashed-early", &[3, 4, 7])]
    {
        let report = checked("rbl", variant, &sized(sizes, bound(2, 2, 2)));
        assert_eq!(report.verdict(), "unsound", "{variant}");
    }
}

/// The head changes while it is broadcast, so the second message is announced before it is placed.
#[test]
fn without_the_wait_a_message_is_received_that_is_not_there() {
    let report = checked("rbl", "no-wait", &Bound { loops: 1, ..bound(2, 2, 2) });
    assert_eq!(report.verdict(), "unsound");
    assert_snapshot!("rbl_no-wait", refuted(&report));
}

/// The weak specification mentions hb, so every larger hb counts (Def. 3.13, 3).
#[test]
fn the_weak_ring_is_as_sound_as_the_strong_one() {
    let test = "RDMA_WAIT ring-to-oneself { y@1 = 0; weak ring q = P1 -> {P1, P2} size 4; }
 P1@1              | P2@1            ;
 a := submit(q, 1) | y := 1          ;
 b := receive(q)   | mfence          ;
 c := y            | d := receive(q) ;
forbidden (a=true /\\ b=1 /\\ c=0 /\\ d=bot)";
    assert_snapshot!("rbl_weak_specification", explained(test, &[]));
    assert!(explained(test, &["rbl-weak", "sv"]).contains("is possible"));
    let report = checked("rbl-weak", "fenced", &bound(2, 2, 2));
    assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
    assert_snapshot!("rbl_weak_concretisation", concretisation(&report));
}

/// A thread submits, and then finds nothing. `(ppo u so)+` does not order the two calls, but a larger hb does.
#[test]
fn what_a_weak_ring_misses_shows_in_a_larger_hb() {
    let report = checked("rbl-weak", "blind", &bound(1, 1, 2));
    let (_, _, violation) = report.report.violation.as_ref().expect("not locally sound");
    assert!(!violation.beyond.is_empty());
    assert_snapshot!("rbl_weak_blind", refuted(&report));
}
