//! The insertions of a repair into programs with shared variables: the global fence, and waits for broadcasts.

use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, ExprTerm, all_nodes, here, node, only};
use mowgli_core::ids::{Name, NodeSet};
use mowgli_core::rewrite::repair::{Await, Gap, Offer, Remedies, Remedy};
use mowgli_core::term::body::CallTerm;
use mowgli_rdma::Switches;
use mowgli_rdma::remedies::{OfTso, OfWait};
use mowgli_rdma::tso::TSO;
use mowgli_rdma::wait::WAIT;
use mowgli_x86::remedies::OfX86;
use mowgli_x86::tso::X86;

use crate::msw::MSW;
use crate::sv::SV;

/// Returns the insertions that a library offers to the bodies that call it, if it offers any. A memory model has these
/// switches.
#[must_use]
pub fn of(library: Name, switches: Switches) -> Option<Box<dyn Remedies>> {
    match library {
        WAIT => Some(Box::new(OfWait { switches })),
        SV => Some(Box::new(OfSv)),
        MSW => Some(Box::new(OfMsw)),
        TSO => Some(Box::new(OfTso { sc: false, switches })),
        X86 => Some(Box::new(OfX86)),
        _ => None,
    }
}

/// The insertions of SV.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfSv;

impl Remedies for OfSv {
    fn costs(&self) -> Vec<(&'static str, u64)> {
        vec![("gf", 12), ("wait", 5)]
    }

    fn offers(&self, gap: &Gap<'_>) -> Vec<Offer> {
        if gap.after.first().is_none_or(|c| self.kind(c.library, c.method.text()).is_some()) {
            return Vec::new();
        }
        let broadcasts = gap.before.iter().filter(|c| c.library == SV && c.method.text() == "Bcast");
        let targets = broadcasts.filter_map(|c| c.args[2].nodes()).flat_map(|ns| ns.iter().collect::<Vec<_>>());
        let targets = targets.fold(NodeSet::all(0), NodeSet::with);
        let mut all = gap.waits(self);
        if !targets.is_empty() {
            all.push(Offer::call("gf", Call::new(SV, "GF", &[targets.into()])));
        }
        all
    }

    fn kind(&self, library: Name, method: &str) -> Option<&'static str> {
        match method {
            "Wait" if library == SV => Some("wait"),
            "GF" if library == SV => Some("gf"),
            _ => None,
        }
    }

    /// Global fences of the thread's own node, of the others, and of the node of the access.
    fn beside(&self) -> Vec<Remedy> {
        let remedy = |text, calls| Remedy { kind: "gf", text, calls, in_place: false };
        vec![
            remedy("a global fence of the own node", |_| fence(only(here()))),
            remedy("a global fence of the other nodes", |_| fence(all_nodes().without(here()))),
            remedy("a global fence of its node", |call| home(call).map_or(Vec::new(), fence)),
        ]
    }

    fn awaited(&self, call: &CallTerm) -> Option<Await> {
        let is_it = call.library == SV && call.method == "Bcast";
        is_it.then_some(Await { id: 1, wait: |id| CallTerm::new(SV, "Wait", [id]) })
    }
}

fn fence(nodes: Expr) -> Vec<CallTerm> {
    vec![CallTerm::new(SV, "GF", [nodes])]
}

/// Returns the node of the first object that a call names.
fn home(call: &CallTerm) -> Option<Expr> {
    let is_object = |e: &&Expr| matches!(e.term(), ExprTerm::Part(..));
    call.args.iter().find(is_object).map(|x| only(node(*x)))
}

/// The insertions of mixed-size words: waits for puts and gets.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfMsw;

impl Remedies for OfMsw {
    fn costs(&self) -> Vec<(&'static str, u64)> {
        vec![("wait", 5)]
    }

    fn offers(&self, _: &Gap<'_>) -> Vec<Offer> {
        Vec::new()
    }

    fn kind(&self, library: Name, method: &str) -> Option<&'static str> {
        (library == MSW && method == "Wait").then_some("wait")
    }

    fn awaited(&self, call: &CallTerm) -> Option<Await> {
        let is_it = call.library == MSW && ["Put", "Get"].contains(&call.method);
        is_it.then_some(Await { id: 2, wait: |id| CallTerm::new(MSW, "Wait", [id]) })
    }
}
