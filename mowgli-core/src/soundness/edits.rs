//! The single edits of an operation: left out, made twice, after what follows it, with one argument changed. What arguments
//! there are, the method table says.

use std::sync::Arc;

use crate::event::Call;
use crate::ids::{NodeSet, Tid};
use crate::method::{Kind, Method, Returns};
use crate::program::Prog;
use crate::value::Val;
use crate::world::World;

/// A program in place of a call.
pub type Instead = dyn Fn(&World, Tid, &Call) -> Prog + Send + Sync;

/// What becomes of an operation.
#[derive(Clone)]
pub enum Change {
    /// This, in place of the call.
    Call(Arc<Instead>),
    /// It comes after the call that follows it, if that is the same for each of these results.
    Swap(Vec<Val>),
}

/// An edit, with its name.
#[derive(Clone)]
pub struct Edit {
    /// What it does, in words.
    pub name: String,
    /// What becomes of the operation.
    pub change: Change,
}

fn edit(name: impl Into<String>, change: impl Fn(&World, Tid, &Call) -> Option<Prog> + Send + Sync + 'static) -> Edit {
    // What cannot be changed stays as it is.
    let change =
        move |world: &World, t: Tid, call: &Call| change(world, t, call).unwrap_or_else(|| Prog::call(call.clone()));
    Edit { name: name.into(), change: Change::Call(Arc::new(change)) }
}

/// The edits that leave something of an operation out: all of it, or a node of a set.
#[must_use]
pub fn weaker(method: &Method) -> Vec<Edit> {
    let nothing = results(method)[0];
    let mut all = vec![edit("left out", move |_, _, _| Some(Prog::Val(nothing)))];
    for position in positions(method, Kind::Nodes) {
        all.push(edit("without its first target", move |_, _, call| without(call, position, |ns| ns.iter().next())));
        all.push(edit("without its last target", move |_, _, call| without(call, position, |ns| ns.iter().last())));
    }
    all
}

/// All edits of an operation.
#[must_use]
pub fn edits(method: &Method) -> Vec<Edit> {
    let mut all = weaker(method);
    all.push(edit("made twice", |_, _, call| Some(Prog::call(call.clone()).then(Prog::call(call.clone())))));
    all.push(Edit { name: "after what follows it".to_owned(), change: Change::Swap(results(method)) });
    for (position, (name, kind)) in method.takes.iter().enumerate() {
        let with = move |call: &Call, v: Val| {
            let mut call = call.clone();
            call.args[position] = v;
            Prog::call(call)
        };
        match kind {
            Kind::Value => {
                all.push(edit(format!("{name} + 1"), move |_, _, call| Some(with(call, other(call.args[position])?))));
            }
            Kind::Id => all.push(edit(format!("{name} is _"), move |_, _, call| Some(with(call, Val::NoWid)))),
            Kind::Node => all.push(edit(format!("another {name}"), move |world, _, call| {
                let Val::Node(n) = call.args[position] else { return None };
                world.all_nodes().iter().find(|m| *m != n).map(|m| with(call, m.into()))
            })),
            Kind::Nodes => {}
            Kind::Local | Kind::Address | Kind::Placed | Kind::Object => {
                all.push(edit(format!("another {name}"), move |world, _, call| {
                    Some(with(call, another(world, call.args[position])?))
                }));
            }
        }
    }
    all
}

/// What a call may return, nothing in particular first.
fn results(method: &Method) -> Vec<Val> {
    match method.returns {
        Returns::Value => [0, 1].map(Val::Int).to_vec(),
        Returns::Bool => [false, true].map(Val::Bool).to_vec(),
        Returns::Nothing | Returns::Handle => vec![Val::Unit],
    }
}

fn positions(method: &Method, kind: Kind) -> impl Iterator<Item = usize> + '_ {
    method.takes.iter().enumerate().filter(move |(_, (_, k))| *k == kind).map(|(position, _)| position)
}

/// The call without a node of a set; nothing if that was the only one.
fn without(call: &Call, position: usize, which: impl FnOnce(NodeSet) -> Option<crate::ids::Node>) -> Option<Prog> {
    let nodes = call.args[position].nodes()?;
    let left = nodes.without(which(nodes)?);
    let mut call = call.clone();
    call.args[position] = Val::Nodes(left);
    Some(if left.is_empty() { Prog::unit() } else { Prog::call(call) })
}

/// Another value of the same kind.
fn other(v: Val) -> Option<Val> {
    match v {
        Val::Int(_) => v.plus(1),
        Val::Bool(b) => Some(Val::Bool(!b)),
        Val::Tuple(parts) => {
            let (first, rest) = parts.parts().split_first()?;
            Some(Val::tuple(&[&[other(*first)?], rest].concat()))
        }
        _ => None,
    }
}

/// The next object of the same library, on the same node if it is on one.
fn another(world: &World, x: Val) -> Option<Val> {
    let x = x.loc()?;
    let of = world.objects.get(&x)?;
    let alike = world.objects.iter().filter(|(_, o)| o.library == of.library && o.node == of.node).map(|(&y, _)| y);
    let all: Vec<_> = alike.collect();
    let at = all.iter().position(|y| *y == x)?;
    Some(all[(at + 1) % all.len()]).filter(|y| *y != x).map(Val::Loc)
}
