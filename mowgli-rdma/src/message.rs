//! Messages to a node, of RDMA-TSO-RMW and RDMA-WAIT-RMW with the switch `messages`: the data of `IBV_WR_SEND`, or the
//! number of a WRITE with immediate.
//!
//! A message travels on a queue pair of its sender, behind the earlier operations. Its stamp aNMW has the order of a remote
//! write. With relaxed ordering, later writes may pass it, and it passes no earlier write. The threads of
//! its node wait for its completion, and one of them receives it. A WRITE with immediate is a put followed by a message,
//! since its completion at the target comes after the data.
//!
//! Each node has one receive queue, which always has room. Messages of one queue pair are received in order, and those of
//! different queue pairs in any order. A message has no completion of its own at its sender.

use mowgli_core::algebra::{Spec, SubView, reads, spec, writes};
use mowgli_core::event::{Call, Cell, Event};
use mowgli_core::expr::ret;
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::{CellValues, Hints, Initial, Library};
use mowgli_core::term::method::{self, methods, named_by};
use mowgli_core::term::shape::{Shapes, shapes};
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, World};

use crate::stamp::Qp;
use crate::stamp::RdmaStamp::{aNMW, aWT};
use crate::way::{Signal, Way, queue};

methods! {
    /// The calls that send a message to a node, and the call that receives one.
    pub enum Method of MESSAGE = "message" as statements {
        /// `Send(n, v)`: sends v to node n.
        fn send = Send(n: Node, v: Value);
        /// As `Send`, by the queue pair that `w` says.
        fn send_by = SendBy(w: Way, n: Node, v: Value);
        /// `Recv()`: waits for a message to the node of the thread, the oldest of some queue pair, and takes it.
        fn recv = Recv() -> Value;
    }
}

/// The calls of [`Method`] as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message;

/// The receive queue of a node. No program has a word of this name.
pub(crate) const QUEUE: Loc = Loc(Name::literal("messages of a node"));

/// The initial value of a receive queue, which no program can send.
const NOTHING: Val = Val::Top;

/// The queue pair that a message goes by.
pub(crate) fn queue_pair(call: &Call) -> Option<Qp> {
    match Method::of_any(call)? {
        Method::Send { n, .. } => Some(n.into()),
        Method::SendBy { w, n, .. } => Way::of(w).ok().map(|way| way.to(n)),
        Method::Recv {} => None,
    }
}

/// The queue pair of a message, with its thread.
fn sent_by(s: &SubView) -> Option<Val> {
    let q = queue_pair(&s.event.call)?;
    Some(Val::tuple(&[s.event.thread.into(), q.to.into(), Val::Int(q.number.into())]))
}

impl Library for Message {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        None
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        let exists = |n: Node| world.all_nodes().contains(n);
        method::fault(world, thread, call, Method::TABLE).or_else(|| match Method::of(call) {
            Method::Send { n, .. } | Method::SendBy { n, .. } if !exists(n) => Some(format!("there is no node {n}")),
            Method::SendBy { w, .. } => match Way::of(w) {
                Ok(Way { strict: true, .. } | Way { signal: Signal::Weak | Signal::Strong, .. }) => {
                    Some("a message has no key, and is no signal".to_owned())
                }
                Ok(Way { fence: true, .. }) => Some("a message has no fence flag; write rfence before it".to_owned()),
                Ok(Way { signalled: false, .. }) => Some("a message has no completion at its sender anyway".to_owned()),
                Ok(_) => None,
                Err(why) => Some(why.to_string()),
            },
            _ => None,
        })
    }

    /// No message has this value, so that a `Recv` before every `Send` has no result.
    fn initial(&self) -> Initial {
        Initial::Function(|world, cell| match cell.loc {
            QUEUE => NOTHING,
            _ => world.objects.get(&cell.loc).map_or(Val::Int(0), |o| o.init),
        })
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method:
            Send { n, v } => { aNMW(n): writes QUEUE at n, v }
            SendBy { w, n, v } => { aNMW(n, queue(w)): writes QUEUE at n, v }
            Recv {} => { aWT: reads QUEUE at here, ret() }
        })
    }

    fn spec(&self) -> Spec {
        spec! {
            // recv: each message is taken at most once, and each Recv takes one
            let recv = reads_from(reads, writes);
            say recv = "{b} takes {b reads}, which {a} sent";
            empty sent = [reads] - (recv^-1; recv);
            empty once = (recv^-1; recv) - id;
            // Of one queue pair no message is jumped, and who takes a later one does so later.
            let earlier = [writes]; po & same(sent_by); [writes];
            let turn = recv^-1; earlier; recv;
            say turn = "{a} takes a message that was sent before that which {b} takes";
            empty skipped = (earlier; recv) - (recv; reads * reads);
            so = recv | turn;
        }
    }
}

impl Hints for Message {
    /// A `Recv` waits for a message that nobody else takes.
    fn may_wait(&self, _: &World, call: &Call) -> Option<bool> {
        Some(matches!(Method::of(call), Method::Recv {}))
    }

    /// A `Recv` returns what was sent, never the initial value of the queue.
    fn returns(&self, world: &World, _: &[Event], thread: Tid, call: &Call, cells: CellValues<'_>) -> Vec<Val> {
        match Method::of(call) {
            Method::Recv {} => {
                let mut sent = cells(Cell { loc: QUEUE, node: world.node_of(thread) });
                sent.retain(|v| *v != NOTHING);
                sent
            }
            Method::Send { .. } | Method::SendBy { .. } => vec![Val::Unit],
        }
    }
}
