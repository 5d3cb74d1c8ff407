//! The single edits of an operation: left out, made twice, after what follows it, with one argument changed or two that have
//! changed places. What arguments there are, the method table says.

use std::sync::Arc;

use itertools::Itertools;

use crate::edit::{Change, Here};
use crate::event::Call;
use crate::ids::{Node, NodeSet};
use crate::method::{Kind, Method, Returns};
use crate::program::Prog;
use crate::value::Val;
use crate::world::World;

/// An edit, with its name.
#[derive(Clone)]
pub struct Edit {
    /// What it does, in words.
    pub name: String,
    /// What becomes of the operation.
    pub change: Change,
}

fn edit(name: impl Into<String>, instead: impl Fn(&Here, &Call) -> Option<Prog> + Send + Sync + 'static) -> Edit {
    Edit { name: name.into(), change: Change::Instead(Arc::new(instead)) }
}

/// The edits that leave something of an operation out: all of it, or a node of a set.
#[must_use]
pub fn weaker(method: &Method) -> Vec<Edit> {
    let nothing = results(method)[0];
    let mut all = vec![edit("left out", move |_, _| Some(Prog::Val(nothing)))];
    for position in positions(method, Kind::Nodes) {
        let without = |which: fn(NodeSet) -> Option<Node>| {
            move |_: &Here, call: &Call| {
                let nodes = call.args[position].nodes()?;
                Some(towards(call, position, nodes.without(which(nodes)?)))
            }
        };
        all.push(edit("without its first target", without(|ns| ns.iter().next())));
        all.push(edit("without its last target", without(|ns| ns.iter().last())));
    }
    all
}

/// All edits of an operation.
#[must_use]
pub fn edits(method: &Method) -> Vec<Edit> {
    let mut all = weaker(method);
    all.push(edit("made twice", |_, call| Some(Prog::call(call.clone()).then(Prog::call(call.clone())))));
    all.push(Edit { name: "after what follows it".to_owned(), change: Change::Swap(results(method)) });
    for (position, (name, kind)) in method.takes.iter().enumerate() {
        all.push(match kind {
            Kind::Value => {
                edit(format!("{name} + 1"), move |_, call| Some(with(call, position, other(call.args[position])?)))
            }
            Kind::Id => edit(format!("{name} is _"), move |_, call| Some(with(call, position, Val::NoWid))),
            // Which ways there are, only the library knows; of which thread it is, and which objects are in a row, the program.
            Kind::Way | Kind::Thread | Kind::Locals | Kind::Places => continue,
            Kind::Node => edit(format!("another {name}"), move |here, call| {
                let Val::Node(n) = call.args[position] else { return None };
                here.world.all_nodes().iter().find(|m| *m != n).map(|m| with(call, position, m.into()))
            }),
            Kind::Nodes => edit(format!("{name} with the own node"), move |here, call| {
                let own = here.world.node_of(here.thread);
                Some(towards(call, position, call.args[position].nodes()?.with(own)))
            }),
            Kind::Local | Kind::Address | Kind::Placed | Kind::Object => {
                edit(format!("another {name}"), move |here, call| {
                    Some(with(call, position, another(&here.world, call.args[position])?))
                })
            }
        });
    }
    let alike = method.takes.iter().enumerate().tuple_combinations().filter(|((_, (_, a)), (_, (_, b)))| a == b);
    all.extend(alike.map(|((i, (a, _)), (j, (b, _)))| {
        edit(format!("{a} and {b} change places"), move |_, call| {
            let mut call = call.clone();
            call.args.swap(i, j);
            Some(Prog::call(call))
        })
    }));
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

/// The call with another argument.
fn with(call: &Call, position: usize, v: Val) -> Prog {
    let mut call = call.clone();
    call.args[position] = v;
    Prog::call(call)
}

/// The call for these nodes; nothing if there are none.
fn towards(call: &Call, position: usize, nodes: NodeSet) -> Prog {
    if nodes.is_empty() { Prog::unit() } else { with(call, position, Val::Nodes(nodes)) }
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
