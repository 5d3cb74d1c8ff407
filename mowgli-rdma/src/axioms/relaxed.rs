//! Relaxed ordering: writes of the card reach memory in any order, so `ppo` lacks the pairs of two remote writes and of two
//! local writes of one queue pair. The card still issues them in order, and some of them are ordered by what lies between.

use super::{Axioms, atomic_reads, from_update, in_order, issued, local_writes, remote_writes};

pub(crate) fn patch(a: &mut Axioms) {
    // ippo = ... u U_n [aNRW_n]; po; [aNRW_n] u [aNLW_n]; po; [aNLW_n]
    let writes =
        in_order().between(&remote_writes(), &remote_writes()) | in_order().between(&local_writes(), &local_writes());
    a.ippo = issued(&a.ippo | writes);
    // so = ... u U_n [aNRW_n]; iso^-1; [aNAR_n]; po; [aNRW_n] u [aNLW_n]; po; [aNLW_n]; pfg
    let behind = from_update(&a.iso, &in_order().between(&atomic_reads(), &remote_writes()))
        .named("behind", "{b} does not pass the atomic {a}");
    let completed = in_order()
        .between(&local_writes(), &local_writes())
        .then(&a.pfg)
        .named("completed", "{b} waits for an operation after {a}, and so for {a}");
    a.more_so.extend([behind, completed]);
}
