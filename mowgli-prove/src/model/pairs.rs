//! Calls that come in pairs, as those that take and release a lock.

use mowgli_core::ids::Name;
use mowgli_core::library::Paired;

use super::symbols::SUB;
use crate::error::{Refusal, refusal};
use crate::template::kind::{Kind, Role};

/// Checks that the theory sees the calls that pairs are about: those that come in pairs. In bodies these are all calls of the library,
/// because a call between two that belong together keeps them apart. A call without a subevent is not seen.
pub(super) fn has_subevents(kinds: &[Kind], (library, pairs): (Name, Paired), sort: &str) -> Result<(), Refusal> {
    let is_paired =
        |method: Name| [pairs.opens, pairs.may_open, pairs.closes].iter().any(|all| all.contains(&method.text()));
    let is_always = |r: &Role| r.way.is_none() && r.each.is_none_or(|each| r.each_event || !each.may_be_empty());
    let missing = |kind: &Kind| {
        let is_seen = |event: usize| kind.concrete.iter().any(|r| r.position.0 == event && is_always(r));
        let made = kind
            .made
            .iter()
            .enumerate()
            .filter(|(event, _)| !is_seen(*event))
            .map(|(_, (of, method, _))| (*of, *method));
        let below = made.chain(kind.looked.iter().copied()).find(|(of, _)| *of == library).map(|(_, method)| method);
        let promised = kind.forms.iter().map(|form| form.method).find(|method| is_paired(*method));
        if sort == SUB { below } else { promised.filter(|_| !kind.abstract_.iter().any(is_always)) }
    };
    match kinds.iter().find_map(missing) {
        Some(method) => Err(refusal!(
            "its calls come in pairs, and a call of {method} may have no subevent or be left out: give it a subevent in its shape, and \
             call it outside of loops"
        )),
        None => Ok(()),
    }
}
