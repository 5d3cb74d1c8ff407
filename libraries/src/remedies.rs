//! What can be inserted into programs with shared variables so that more is in order: the global fence, and waits for broadcasts.

use mowgli_core::event::Call;
use mowgli_core::ids::NodeSet;
use mowgli_core::repair::{Gap, Offer, Remedies};
use mowgli_core::value::Val;

use crate::sv::SV;

/// Those of SV.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfSv;

impl Remedies for OfSv {
    fn costs(&self) -> Vec<(&'static str, u64)> {
        vec![("gf", 12), ("wait", 5)]
    }

    fn offers(&self, gap: &Gap<'_>) -> Vec<Offer> {
        let broadcasts = |c: &Call| c.library == SV && c.method.text() == "Bcast";
        let is_before_access = gap.after.first().is_some_and(|c| self.kind(c).is_none());
        let mut all = Vec::new();
        let mut targets = NodeSet::all(0);
        for (position, call) in gap.before.iter().enumerate().filter(|(_, c)| broadcasts(c) && is_before_access) {
            targets = call.args[2].nodes().into_iter().flat_map(|ns| ns.iter()).fold(targets, NodeSet::with);
            let (id, named) = match call.args[1] {
                Val::NoWid => ((gap.fresh)(position), true),
                id => (id, false),
            };
            let named = named.then_some((position, 1, id));
            all.push(Offer { named, ..Offer::call("wait", Call::new(SV, "Wait", &[id])) });
        }
        if !targets.is_empty() {
            all.push(Offer::call("gf", Call::new(SV, "GF", &[targets.into()])));
        }
        all
    }

    fn kind(&self, call: &Call) -> Option<&'static str> {
        match call.method.text() {
            "Wait" if call.library == SV => Some("wait"),
            "GF" if call.library == SV => Some("gf"),
            _ => None,
        }
    }
}
