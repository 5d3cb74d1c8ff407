//! RDMA-TSO-RMW: the model that hardware was validated against, with polls in place of waits.
//!
//! SYNC App. C; without `RCAS` and `RFAA` it is RDMA-TSO (LOCO-X App. G.1). `Poll(n)` completes the oldest operation of
//! the thread towards node n that no poll has completed yet. It is a language and not a library: which operation a poll
//! completes depends on all others, so it is not decomposable (LOCO Fig. 2), and hb is just `(ppo u so)+`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use mowgli_core::algebra::{Rel, Spec, SubView, events, in_turn, rel};
use mowgli_core::event::{Call, Cell, Event, Shape};
use mowgli_core::expr::{Expr, Opaque, all_nodes, node};
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid, Wid};
use mowgli_core::library::{CellValues, Hints, Libraries, Library, PlainSet};
use mowgli_core::soundness::client::Subject;
use mowgli_core::term::body::{Bodies, Body, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::{Implementation, Implementations};
use mowgli_core::term::method::{ArgumentKind, Method as CallForm, named_by};
use mowgli_core::term::shape::{Shapes, shapes};
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, DeclarationPart, World};

use crate::axioms::network::flushing;
use crate::axioms::{self, Axioms, rmw, ways};
use crate::crash::{Crash, cut_off};
use crate::message::Message;
use crate::network::Network;
use crate::stamp::Qp;
use crate::stamp::RdmaStamp::{aMF, aWT};
use crate::switches::Switches;
use crate::wait;
use crate::way::Way;

pub(crate) mod calls;
pub mod completions;

pub use calls::*;
use calls::{has_failed, is_operation, is_poll, issued_and_taken, open_completions, polled};
pub(crate) use calls::{is_confirmed, is_first_confirmed, is_remote, node_towards, polls, taken};
use completions::CompletionQueue;

/// RDMA-TSO-RMW as a library.
///
/// If operations complete in any order, `Poll(n)` takes the completion of any operation towards n that is over and that no
/// poll has taken, and returns its identifier. Calls that return none, such as `PollAny`, have an error then.
#[derive(Clone, Copy, Debug)]
pub struct Tso {
    pub(crate) completes_in_order: bool,
}

impl Tso {
    /// As published: operations complete in order.
    pub const PUBLISHED: Self = Self { completes_in_order: true };
}

/// pf: each Poll takes the oldest operation of its queue pair that none before it has taken.
#[must_use]
pub fn pf() -> Rel {
    let taken = in_turn(events(is_first_confirmed), events(is_poll), node_towards);
    rel!([is_confirmed]; same_event; [is_first_confirmed]; taken)
}

impl Library for Tso {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm { kind: "", parts: &[DeclarationPart::Node, DeclarationPart::Init] })
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        let why = "pollany does not tell which operation it completes, and here operations complete in any order";
        wait::fault(world, thread, call, Method::TABLE).or_else(|| {
            let has_no_order = !self.completes_in_order && matches!(Method::of(call), Method::PollAny {});
            has_no_order.then(|| why.to_owned())
        })
    }

    /// Every poll has an operation before it to take: otherwise it never returns.
    fn admitted(&self) -> PlainSet<'_> {
        PlainSet::Where(Box::new(|world, events| {
            let mut open: BTreeMap<(Tid, Option<Qp>), usize> = BTreeMap::new();
            events.iter().all(|e| {
                let takes = taken(world, e);
                let open = open.entry((e.thread, takes.or_else(|| queue_pair(world, &e.call)))).or_default();
                if takes.is_some() {
                    return open.checked_sub(1).map(|left| *open = left).is_some();
                }
                *open += usize::from(is_operation(&e.call));
                !polls(&e.call)
            })
        }))
    }

    /// As RDMA-WAIT-RMW; a call that looks into the completion queue is a wait, and the methods of sets are fences.
    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method else (wait::shapes()):
            Poll { .. } => { aWT }
            PollBy { .. } => { aWT }
            PollAny {} => { aWT }
            TryPoll { .. } => { aWT }
            TryPollAny {} => { aWT }
            Arm {} => { aWT }
            Event {} => { aWT }
            SetAdd { .. } => { aMF }
            SetRemove { .. } => { aMF }
            SetIsEmpty { .. } => { aMF }
        })
    }

    fn cut_off(&self, world: &World, event: &Event, whole: Vec<Shape>) -> Vec<Shape> {
        cut_off(world, event, whole)
    }

    fn spec(&self) -> Spec {
        polling(&pf())
    }
}

impl Hints for Tso {
    fn returns(&self, world: &World, earlier: &[Event], thread: Tid, call: &Call, cells: CellValues<'_>) -> Vec<Val> {
        match Method::of(call) {
            Method::Read { x } | Method::CAS { x, .. } | Method::Xchg { x, .. } | Method::FAA { x, .. } => {
                cells(Cell { loc: x, node: world.node_of(thread) })
            }
            Method::Poll { .. } | Method::PollBy { .. } if !self.completes_in_order => {
                queue_pair(world, call).map_or_else(Vec::new, |q| calls::open_operations(world, earlier, q))
            }
            Method::PollAny {} => open_completions(world, earlier),
            Method::TryPoll { .. } | Method::TryPollAny {} | Method::Arm {} | Method::Event {} => {
                CompletionQueue::after(world, earlier).results(call)
            }
            _ => result(world, earlier, call).into_iter().collect(),
        }
    }

    /// A poll waits for ever for an operation to a node that has crashed.
    fn may_wait(&self, world: &World, call: &Call) -> Option<bool> {
        Some(polls(call) && !world.crashes.nodes.is_empty())
    }

    /// Polls with only polls between them take the same operations together, whichever each of them takes.
    fn is_interchangeable(&self, call: &Call) -> bool {
        !self.completes_in_order && polls(call)
    }

    /// Identifiers count operations and polls; sets remember what was put into them.
    fn is_remembered(&self, call: &Call) -> bool {
        let method = Method::of(call);
        let looks = method.waits() || matches!(method, Method::SetAdd { .. } | Method::SetRemove { .. });
        looks || is_operation(call)
    }

    /// A round whose operations are those that its polls take leaves no completion behind, and takes none of before. Without it the
    /// identifiers of later operations are others, which are still all different.
    fn remembers(&self, world: &World, earlier: &[Event], round: &[Event]) -> bool {
        let own = || round.iter().filter(|e| e.call.library == TSO && !has_failed(e));
        let queue_pairs = || own().filter_map(|e| polled(world, e).or_else(|| queue_pair(world, &e.call)));
        let is_even = |events: &[Event], q: Qp| {
            let (issued, taken) = issued_and_taken(world, events, q);
            issued == taken
        };
        let keeps = |method: Method| {
            matches!(method, Method::SetAdd { .. } | Method::SetRemove { .. } | Method::Arm {} | Method::Event {})
        };
        own().any(|e| keeps(Method::of(&e.call))) || !queue_pairs().all(|q| is_even(earlier, q) && is_even(round, q))
    }

    fn only_looks(&self, event: &Event) -> bool {
        let method = Method::of(&event.call);
        let looks = matches!(method, Method::SetIsEmpty { .. }) || has_failed(event);
        looks || method.of_wait().is_some_and(|m| m.only_looks(event.ret))
    }
}

/// Returns the identifier that an operation or a poll returns.
fn returned(s: &SubView) -> Option<Val> {
    Some(s.event.ret)
}

/// pf: each poll takes the operation whose identifier it returns.
fn pf_in_any_order() -> Rel {
    rel!([is_confirmed]; same_event; [is_first_confirmed]; ([is_first_confirmed]; po & same(returned); [is_poll]))
}

/// The consistency predicate of SYNC App. C, with these switches.
fn consistency(switches: Switches) -> Spec {
    let awaited = match switches {
        Switches { events: true, .. } => pf() | completions::seen(),
        Switches { network: Network { completes_in_order: false, .. }, .. } => pf_in_any_order(),
        _ => pf(),
    };
    switches.patched(published(&awaited, switches.network)).spec(None)
}

/// The same, where polls take operations by this relation, to say more about it: [`pf`].
#[must_use]
pub fn polling(pf: &Rel) -> Spec {
    published(pf, Network::RC).spec(None)
}

/// The axioms, where polls take operations by this relation.
fn published(pf: &Rel, on: Network) -> Axioms {
    let mut axioms = axioms::published(pf, axioms::atomic_reads(), flushing(on));
    rmw::patch(&mut axioms);
    ways::fence(&mut axioms);
    axioms
}

/// RDMA-TSO-RMW with these switches.
#[must_use]
pub fn switched(switches: Switches) -> Libraries {
    let order = Libraries::over(move |a, b| switches.network.to(a, b));
    let words = order.with(Tso { completes_in_order: switches.network.completes_in_order });
    let words = words.respecified(TSO, |spec| *spec = consistency(switches));
    let words = if switches.crashes { words.with(Crash) } else { words };
    if switches.messages { words.with(Message) } else { words }
}

/// The specification with this part of [`wait::IB`] left out of ib.
#[must_use]
pub fn without_in_ib(part: &'static str) -> Spec {
    published(&pf(), Network::RC).spec(Some(part))
}

/// Clients of the model: those of RDMA-WAIT-RMW with polls in place of waits.
#[derive(Clone, Copy, Debug)]
pub struct PollClients {
    /// Whether there are read-modify-writes of remote words.
    pub rmw: bool,
}

impl Subject for PollClients {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        let mut worlds = wait::WordClients { rmw: self.rmw }.worlds(empty, bound, expired);
        worlds.iter_mut().flat_map(|w| w.objects.values_mut()).for_each(|object| object.library = TSO);
        worlds
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        let of_wait = wait::WordClients { rmw: self.rmw }.calls(world, thread, bound, expired);
        let kept = of_wait.into_iter().filter(|call| call.method.text() != "Wait").map(|mut call| {
            call.library = TSO;
            call.args = call.args.into_iter().filter(|arg| !matches!(arg, Val::Wid(_))).collect();
            call
        });
        let polls = world.all_nodes().iter().map(|n| Method::Poll { n }.into());
        kept.chain(polls).collect()
    }
}

/// `I_W` (SYNC Fig. 16): RDMA-WAIT-RMW compiled to polls. It is for whole programs (Theorem 6): a poll takes operations of
/// all other code too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WaitByPolls {
    /// As published: a wait polls until all its operations are done.
    #[default]
    Published,
    /// A wait polls once for each node that it has operations to.
    PollOnce,
    /// Gets are put into no set.
    GetsNotAdded,
    /// Puts are put into no set.
    PutsNotAdded,
    /// A wait asks about operations to the first node alone.
    FirstNode,
}

/// `d^n`, the set of open operations of `d` by a queue pair.
#[must_use]
pub fn open_operations(d: Name, q: Qp) -> Val {
    Val::Loc(Loc(d.part(format_args!("open_{q}"))))
}

/// The same of an identifier, a node and the number of a queue pair.
static OPEN: LazyLock<Opaque> = LazyLock::new(|| {
    Opaque::new(|args| match args {
        [Val::Wid(d), Val::Node(to), Val::Int(number)] => {
            open_operations(d.0, Qp { to: *to, number: u8::try_from(*number).unwrap_or(1) })
        }
        other => other[0],
    })
});

/// The number of the queue pair of a way.
static QUEUE: LazyLock<Opaque> = LazyLock::new(|| {
    Opaque::new(|args| match Way::of(args[0]) {
        Ok(way) => Val::Int(way.queue.into()),
        Err(_) => args[0],
    })
});

fn open(d: Expr, to: Expr, number: Expr) -> Expr {
    Expr::opaque("open", *OPEN, [d, to, number])
}

impl WaitByPolls {
    /// Polls once, and removes what was polled from the sets of all identifiers.
    fn poll(to: Expr, number: u8, all: &[Name]) -> Body {
        let poll = match number {
            1 => Method::poll(to),
            queue => Method::poll_by(Val::from(Way { queue, ..Way::USUAL }), to),
        };
        let remove = |v: Expr, d: &Name| Method::set_remove(open(Wid(*d).into(), to, i64::from(number).into()), v);
        poll.bind("v", |v| Body::all(all.iter().map(|d| remove(v, d))))
    }

    fn wait(self, d: Expr, all: &[Name], queues: u8) -> Body {
        let of_pair = |to: Expr, number: u8| {
            let poll = Self::poll(to, number, all);
            let poll = if self == Self::PollOnce { poll.then(Body::leave(Val::Unit)) } else { poll };
            body! {
                loop {
                    let empty = Method::set_is_empty(open(d, to, i64::from(number).into()));
                    if (empty) { break }
                    poll
                }
            }
        };
        let asked = if self == Self::FirstNode { Expr::from(NodeSet::default().with(Node(1))) } else { all_nodes() };
        Body::each("n", asked, |to| Body::all((1..=queues).map(|number| of_pair(to, number))))
    }

    /// Whether what a method issues is put into the set of its identifier.
    fn adds(self, issued: &str) -> bool {
        match issued {
            "Get" | "GetBy" | "GetWords" => self != Self::GetsNotAdded,
            "Put" | "PutBy" | "PutWords" => self != Self::PutsNotAdded,
            _ => true,
        }
    }

    /// Makes the call of RDMA-TSO-RMW of the same name, and puts it into the set of its identifier.
    fn issue(self, method: &'static CallForm, args: &[Expr]) -> Body {
        let of_kind =
            |kind: ArgumentKind| method.takes.iter().zip(args).find(|((_, own), _)| *own == kind).map(|(_, arg)| *arg);
        let others = method.takes.iter().zip(args).filter(|((_, kind), _)| *kind != ArgumentKind::Id);
        let issued = Body::call(TSO, method.name, others.map(|(_, arg)| *arg));
        let (place, places) = (of_kind(ArgumentKind::Placed), of_kind(ArgumentKind::Places));
        let Some(far) = place.or_else(|| places.map(Expr::first)) else { return issued };
        let number = of_kind(ArgumentKind::Way).map_or_else(|| 1.into(), |w| Expr::opaque("queue", *QUEUE, [w]));
        let Some(d) = of_kind(ArgumentKind::Id).filter(|_| self.adds(method.name)) else {
            return issued.then(Body::unit());
        };
        issued.bind("id", |id| {
            let add = Method::set_add(open(d, node(far), number), id);
            Body::branch(d.is_not(Val::NoWid), add, Body::unit())
        })
    }
}

/// The compiler as an implementation of RDMA-WAIT-RMW, so that executions tell which call an event is of. It is none that could
/// stand beside other code.
#[derive(Clone, Debug)]
pub struct Compiling(Bodies);

impl Compiling {
    /// Returns the compiler for programs that use these identifiers, and so many queue pairs to each node.
    #[must_use]
    pub fn new(by: WaitByPolls, identifiers: &[Name], queues: u8) -> Self {
        let with = |bodies: Bodies, method: &'static CallForm| {
            let names: Vec<&'static str> = method.takes.iter().map(|(name, _)| *name).collect();
            bodies.with(wait::Method::TABLE, method.name, &names, |args| match (method.name, args) {
                ("Wait", &[d]) => by.wait(d, identifiers, queues),
                _ => by.issue(method, args),
            })
        };
        Self(wait::Method::TABLE.iter().fold(Bodies::default(), with))
    }

    /// Returns the same as the implementations that are in force.
    #[must_use]
    pub fn in_force(by: WaitByPolls, identifiers: &[Name], queues: u8) -> Implementations {
        Implementations::from([(wait::WAIT, Arc::new(Self::new(by, identifiers, queues)) as Arc<_>)])
    }
}

impl Implementation for Compiling {
    fn target(&self) -> Name {
        wait::WAIT
    }

    fn declare(&self, _: &mut World) {}

    fn bodies(&self) -> Option<&Bodies> {
        Some(&self.0)
    }
}
