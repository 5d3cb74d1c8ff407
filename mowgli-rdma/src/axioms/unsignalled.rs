//! Unsignalled operations: a completion stands for every operation that its queue pair issued before.

use super::{Axioms, in_order, local_writes, remote_writes};
use crate::stamp::RdmaStamp::{self, aNLW, aNRW, aWT};
use crate::way::is_unsignalled;
use mowgli_core::algebra::{SubView, events, stamped};
use mowgli_core::stamp::StampKind;

pub(crate) fn patch(a: &mut Axioms) {
    let operations = remote_writes().or(&local_writes());
    let earlier = in_order().between(&operations, &operations).then(&(&a.pfg | &a.pfp));
    let sentence = "{b} waits for {a}, or for what comes after it on its queue pair";
    a.pfg = (&a.pfg | earlier.between(&events(unsignalled_local_write), &stamped(aWT))).named("pfg", sentence);
    a.pfp = (&a.pfp | earlier.between(&events(unsignalled_remote_write), &stamped(aWT))).named("pfp", sentence);
}

fn unsignalled_local_write(s: &SubView) -> bool {
    is_unsignalled(s) && matches!(RdmaStamp::of(s.sub.stamp), aNLW(_))
}

fn unsignalled_remote_write(s: &SubView) -> bool {
    is_unsignalled(s) && matches!(RdmaStamp::of(s.sub.stamp), aNRW(_))
}
