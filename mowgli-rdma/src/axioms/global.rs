//! Global atomics (`IBV_ATOMIC_GLOB`): updates of one word by the card and by a CPU exclude each other.

use super::Axioms;
use crate::stamp::RdmaStamp::{aCAS, aNAR, aNRW};
use mowgli_core::algebra::{CELL, spec};

pub(crate) fn patch(a: &mut Axioms) {
    let Axioms { spec, iso, .. } = a;
    spec! { spec =>
        // gao: for each location a strict total order on aNAR u aCAS; so = ... u gao u [aNRW]; iso^-1; gao
        let gao = order((aNAR | aCAS), CELL);
        say gao = "the atomic {a} comes before the atomic {b}";
        let global = [aNRW]; iso^-1; gao;
        say global = "{a} is over before {b}: updates by the card and by a CPU exclude each other";
    }
    a.more_so.extend([gao, global]);
}
