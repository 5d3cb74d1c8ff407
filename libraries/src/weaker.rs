//! Weaker operations than a given one, for the question which operations an implementation needs.

use mowgli_core::event::Call;
use mowgli_core::ids::{Name, NodeSet, Wid};
use mowgli_core::program::Prog;
use mowgli_core::value::Val;

use crate::sv;

/// What an operation is weakened to, in words.
pub type Weaker = (&'static str, fn(&Call) -> Prog);

/// The ways to weaken calls of this method, beside leaving them out.
#[must_use]
pub fn weaker(method: Name) -> &'static [Weaker] {
    match method.text() {
        "GF" => &[
            ("without its first target", |call| targets(call, 0, true)),
            ("without its last target", |call| targets(call, 0, false)),
            ("a wait for nothing", |_| sv::wait(Val::Wid(Wid(Name::literal("nothing"))))),
        ],
        "Bcast" => &[
            ("without its first target", |call| targets(call, 2, true)),
            ("without its last target", |call| targets(call, 2, false)),
        ],
        _ => &[],
    }
}

/// An operation left out: nothing, or the value 0 where it has a result.
#[must_use]
pub fn left_out(call: &Call) -> Prog {
    match call.method.text() {
        "Read" | "CAS" => Prog::Val(Val::Int(0)),
        _ => Prog::unit(),
    }
}

/// The call without its first or last target; nothing if that was the only one.
fn targets(call: &Call, position: usize, first: bool) -> Prog {
    let Val::Nodes(nodes) = call.args[position] else { return Prog::call(call.clone()) };
    let dropped = if first { nodes.iter().next() } else { nodes.iter().last() };
    let left: NodeSet = nodes.iter().filter(|n| Some(*n) != dropped).collect();
    if left.is_empty() {
        return Prog::unit();
    }
    let mut call = call.clone();
    call.args[position] = Val::Nodes(left);
    Prog::call(call)
}
