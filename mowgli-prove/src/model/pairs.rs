//! Calls that come in pairs, as those that take and release a lock.

use mowgli_core::ids::Name;
use mowgli_core::library::Paired;

use super::symbols::SUB;
use crate::error::{Refusal, refusal};
use crate::template::kind::{Kind, Role};

/// Checks that each call of a library that comes in pairs has a subevent, because the theory sees no others.
pub(super) fn has_subevents(kinds: &[Kind], (library, pairs): (Name, Paired), sort: &str) -> Result<(), Refusal> {
    let is_paired =
        |method: Name| [pairs.opens, pairs.may_open, pairs.closes].iter().any(|all| all.contains(&method.text()));
    let is_always = |r: &Role| r.way.is_none() && r.each.is_none_or(|each| r.each_event || !each.may_be_empty());
    let missing = |kind: &Kind| {
        let of_call = |event: usize| kind.concrete.iter().any(|r| r.position.0 == event && is_always(r));
        let made = kind
            .made
            .iter()
            .enumerate()
            .filter(|(event, (of, method, _))| *of == library && is_paired(*method) && !of_call(*event));
        let looked = kind.looked.iter().filter(|(of, method)| *of == library && is_paired(*method));
        let below = made.map(|(_, (_, method, _))| *method).chain(looked.map(|(_, method)| *method)).next();
        let promised = kind.forms.iter().map(|form| form.method).find(|method| is_paired(*method));
        if sort == SUB { below } else { promised.filter(|_| !kind.abstract_.iter().any(is_always)) }
    };
    match kinds.iter().find_map(missing) {
        Some(method) => Err(refusal!(
            "calls of {method} come in pairs, and one may have no subevent: give each a subevent in its shape"
        )),
        None => Ok(()),
    }
}
