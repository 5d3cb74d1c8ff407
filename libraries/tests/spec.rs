//! The notation `spec!` is the algebra.

use mowgli_core::algebra::{RelExpr, Set, Spec, po, rel, same, same_event, stamped, stamps};
use mowgli_core::cat::cat;
use mowgli_core::library::{Libraries, Library};
use mowgli_libraries::sv::{SV, Sv};
use mowgli_rdma::stamp::RdmaStamp::{aCR, aCW, aNLR, aNRW, aWT};
use mowgli_rdma::to;
use mowgli_rdma::wait::{TARGET, WID};

/// LOCO Def. 3.8 without the notation.
fn by_hand() -> Spec {
    let mut c = Spec::default();
    let [cpu_reads, cpu_writes, waits] = [aCR, aCW, aWT].map(stamped);
    let [nic_reads, nic_writes]: [Set; 2] = [stamps(|a| matches!(a, aNLR(_))), stamps(|a| matches!(a, aNRW(_)))];
    let [rf, mo, rb] = c.coherence();
    let rf_e = (&rf - po().between(&cpu_writes, &cpu_reads))
        .named("rf", "{b} read {b reads}, which {a} wrote")
        .defined_as("rf_e");
    let pf = (po() & same(WID)).between(&nic_reads, &waits).named("pf", "{b} waits for {a}");
    let iso = (same_event() & same(TARGET)).between(&nic_reads, &nic_writes).named("iso", "{a} reads before it writes");
    let missed = (po().inv() & &rb)
        .between(&cpu_reads, &cpu_writes)
        .named("rb", "{a} read {a reads}, though its thread did {b} before")
        .defined_as("missed");
    c.empty("own-write", &missed);
    c.so([&iso, &rf_e, &pf, &rb, &mo]);
    c
}

#[test]
fn a_specification_in_the_notation_is_the_one_by_hand() {
    let words = |spec: &Spec| {
        let demands = spec.demands.iter().map(|(name, demand, rel)| (*name, Some(*demand), rel.said()));
        spec.so.iter().map(|(name, rel)| (*name, None, rel.said())).chain(demands).collect::<Vec<_>>()
    };
    assert_eq!(words(&Sv.spec()), words(&by_hand()));
    let published = Libraries::over(to).with(Sv);
    let text = |libraries: &Libraries| cat("SV", libraries, SV).expect("it can be said in cat");
    assert_eq!(text(&published), text(&published.clone().respecified(SV, |spec| *spec = by_hand())));
}

#[test]
fn a_composition_between_two_sets_is_a_restriction_unless_a_part_has_a_name() {
    assert!(matches!(rel!([aCR]; po; hb; [aNLR]).expr(), RelExpr::Inter(..)));
    let named = rel!([aCR]; po).named("first", "{a} before {b}");
    assert!(matches!(rel!(named; [aNLR]).expr(), RelExpr::Seq(..)));
}
