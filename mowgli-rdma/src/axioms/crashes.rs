//! Crashes: a subevent that happened comes after no subevent that a crash has cut off.

use super::Axioms;
use crate::crash::{happened, missing};
use mowgli_core::algebra::events;

pub(crate) fn patch(a: &mut Axioms) {
    a.never.push(("cut-off", events(missing), events(happened)));
}
