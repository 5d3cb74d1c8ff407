//! Calls that no program may make: what a method takes, and what is wrong with the arguments of a call.

use crate::event::Call;
use crate::ids::Tid;
use crate::value::Val;
use crate::world::World;

/// What an argument of a call has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// An object of the library on the node of the thread.
    Local,
    /// An object of the library on some node.
    Placed,
    /// An object of the library.
    Object,
    /// A node.
    Node,
    /// A set of nodes.
    Nodes,
    /// Anything, as a value or an identifier.
    Any,
}

/// What is wrong with a call of a method that takes these arguments; identifiers may come after them. `None` for `takes`:
/// there is no such method.
#[must_use]
pub fn fault(world: &World, thread: Tid, call: &Call, takes: Option<&[Arg]>) -> Option<String> {
    let Some(takes) = takes else { return Some(format!("there is no method {}", call.method)) };
    if call.args.len() < takes.len() {
        return Some(format!("too few arguments: {} takes {}, and has {}", call.method, takes.len(), call.args.len()));
    }
    takes.iter().zip(&call.args).find_map(|(&takes, &arg)| wrong(world, thread, call, takes, arg))
}

fn wrong(world: &World, thread: Tid, call: &Call, takes: Arg, arg: Val) -> Option<String> {
    match (takes, arg) {
        (Arg::Any, _) | (Arg::Node, Val::Node(_)) | (Arg::Nodes, Val::Nodes(_)) => return None,
        (Arg::Node, _) => return Some(format!("{arg} is no node")),
        (Arg::Nodes, _) => return Some(format!("{arg} is no set of nodes")),
        (Arg::Local | Arg::Placed | Arg::Object, _) => {}
    }
    let Some(x) = arg.loc() else { return Some(format!("{arg} is no location")) };
    let Some(object) = world.objects.get(&x) else { return Some(format!("{x} is not declared")) };
    if object.library != call.library {
        return Some(format!("{x} is of {}", object.library));
    }
    match (takes, object.node, world.node_of(thread)) {
        (Arg::Local | Arg::Placed, None, _) => Some(format!("{x} is on no node")),
        (Arg::Local, Some(n), here) if n != here => Some(format!("{x} is on node {n}, and {thread} on node {here}")),
        _ => None,
    }
}
