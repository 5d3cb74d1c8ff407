//! Unsignalled operations: a completion stands for every operation that its queue pair issued before.

use super::{Axioms, in_order};
use crate::stamp::RdmaStamp::{aNLW, aNRW, aWT};
use crate::way::is_unsignalled;
use mowgli_core::algebra::{Set, rel, set};

pub(crate) fn patch(a: &mut Axioms) {
    let Axioms { pfg, pfp, .. } = a;
    let earlier = rel!([aNRW | aNLW]; in_order(); [aNRW | aNLW]; (pfg | pfp));
    let sentence = "{b} waits for {a}, or for what comes after it on its queue pair";
    *pfg = rel!(pfg | [unsignalled_local_write]; earlier; [aWT]).named("pfg", sentence);
    *pfp = rel!(pfp | [unsignalled_remote_write]; earlier; [aWT]).named("pfp", sentence);
}

fn unsignalled_local_write() -> Set {
    set!(is_unsignalled & aNLW).named("unsignalled_local_write")
}

fn unsignalled_remote_write() -> Set {
    set!(is_unsignalled & aNRW).named("unsignalled_remote_write")
}
