//! Global atomics (`IBV_ATOMIC_GLOB`): updates of one word by the card and by a CPU exclude each other.

use super::{Axioms, from_update};
use crate::stamp::RdmaStamp::{aCAS, aNAR};
use mowgli_core::algebra::{CELL, stamps};

pub(crate) fn patch(a: &mut Axioms) {
    // gao: for each location a strict total order on aNAR u aCAS; so = ... u gao u [aNRW]; iso^-1; gao
    let atomics = stamps(|a| matches!(a, aNAR(_) | aCAS));
    let gao = a.spec.order("gao", atomics, CELL).named("gao", "the atomic {a} comes before the atomic {b}");
    let global = from_update(&a.iso, &gao)
        .named("global", "{a} is over before {b}: updates by the card and by a CPU exclude each other");
    a.more_so.extend([gao, global]);
}
