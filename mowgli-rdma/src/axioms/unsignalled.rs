//! Unsignalled operations: a completion stands for every operation that its queue pair issued before.

use super::{Axioms, in_order};
use crate::stamp::RdmaStamp::{self, aNLW, aNRW, aWT};
use crate::way::is_unsignalled;
use mowgli_core::algebra::{SubView, rel};
use mowgli_core::stamp::StampKind;

pub(crate) fn patch(a: &mut Axioms) {
    let Axioms { pfg, pfp, .. } = a;
    let earlier = rel!([aNRW | aNLW]; in_order(); [aNRW | aNLW]; (pfg | pfp));
    let sentence = "{b} waits for {a}, or for what comes after it on its queue pair";
    *pfg = rel!(pfg | [unsignalled_local_write]; earlier; [aWT]).named("pfg", sentence);
    *pfp = rel!(pfp | [unsignalled_remote_write]; earlier; [aWT]).named("pfp", sentence);
}

fn unsignalled_local_write(s: &SubView) -> bool {
    is_unsignalled(s) && matches!(RdmaStamp::of(s.sub.stamp), aNLW(_))
}

fn unsignalled_remote_write(s: &SubView) -> bool {
    is_unsignalled(s) && matches!(RdmaStamp::of(s.sub.stamp), aNRW(_))
}
