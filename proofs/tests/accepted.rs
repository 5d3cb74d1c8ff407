//! An accepted execution of each library of the papers that a person can review: f, g and so' (LOCO Def. 3.13).
//!
//! The events of a call stand below it: this is f. `= aGF_2 by aWT` behind an event says that its subevent `aWT` stands for the stamp
//! `aGF_2` of the call: this is g. The lines `so'` are between calls of the specification, and must be inside hb. Below are edges
//! between threads of the libraries below: `rf` and `mo` of the memory, and those by which so' is inside hb.

use insta::assert_snapshot;
use mowgli_proofs::accepted;

#[test]
fn of_mixed_size_words() {
    let test = "RDMA_WAIT accepted { msw m@1[2] = (0, 0); msw r@2[2] = (0, 0); }
 P1@1            | P2@2           ;
 m.write((1, 1)) | a := r.tryread ;
 r.put(m)        |                ;
allowed (a=(1, 1))";
    assert_snapshot!(accepted("msw", test));
}

#[test]
fn of_ring_buffers() {
    let test = "RDMA_WAIT accepted { ring q = P1 -> {P2} size 4; }
 P1@1              | P2@2            ;
 a := submit(q, 1) | b := receive(q) ;
allowed (a=true /\\ b=1)";
    assert_snapshot!("ring", accepted("rbl", test));
    assert_snapshot!("ring_weak", accepted("rbl-weak", &test.replace("ring q", "weak ring q")));
}

#[test]
fn of_strong_locks() {
    let test = "RDMA_WAIT accepted { nodes 2; strong lock l at 1; x@1 = 0; }
 P1@2      | P2@1   ;
 acq(l)    | acq(l) ;
 put(x, 1) | a := x ;
 rel(l)    | rel(l) ;
allowed (a=1)";
    assert_snapshot!("strong_lock", accepted("slock", test));
}

/// There is no data, so that the text is short enough.
#[test]
fn of_node_locks() {
    let test = "RDMA_WAIT accepted { nodes 2; node lock l at 1; }
 P1@2   | P2@1   ;
 acq(l) | acq(l) ;
 rel(l) | rel(l) ;
allowed (true)";
    assert_snapshot!("node_lock", accepted("nlock", test));
}

#[test]
fn of_sequentially_consistent_words() {
    let test = "RDMA_WAIT accepted { nodes 2; sc x = 0 at 1; }
 P1@1       | P2@2            ;
 x.write(1) | a := x.cas(1, 2) ;
allowed (a=1)";
    assert_snapshot!(accepted("sc-rmw", test));
}

#[test]
fn of_key_value_stores() {
    let test = "RDMA_WAIT accepted { nodes 2; kvstore m = (bot); }
 P1@1                | P2@2    ;
 a := m.insert(0, 7) | m.serve ;
allowed (a=true)";
    assert_snapshot!(accepted("kvstore:fenced-delete", test));
}
