//! RDMA-TSO-RMW: the model that hardware was validated against, with polls in place of waits.
//!
//! SYNC App. C; without `RCAS` and `RFAA` it is RDMA-TSO (LOCO-X App. G.1). `Poll(n)` completes the oldest operation of
//! the thread towards node n that no poll has completed yet. It is a language and not a library: which operation a poll
//! completes depends on all others, so it is not decomposable (LOCO Fig. 2), and hb is just `(ppo u so)+`.

use std::collections::BTreeMap;
use std::sync::Arc;

use mowgli_core::algebra::{Rel, Spec, SubView, events, in_turn, rel};
use mowgli_core::event::{Call, Cell, Event, Shape};
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::library::{CellValues, Hints, Libraries, Library, PlainSet};
use mowgli_core::soundness::client::Subject;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::named_by;
use mowgli_core::term::program::Prog;
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

impl WaitByPolls {
    /// Polls once, and removes what was polled from the sets of all identifiers.
    fn poll(q: Qp, all: &[Name]) -> Prog {
        let all = all.to_vec();
        let poll = if q.number == 1 { poll(q.to) } else { poll_by(Way { queue: q.number, ..Way::USUAL }, q.to) };
        poll.bind(move |v| Prog::all(all.iter().map(|&d| set_remove(open_operations(d, q), v))))
    }

    fn wait(self, world: &World, d: Name, all: &[Name], queues: u8) -> Prog {
        let of_pair = |q: Qp| {
            let all = all.to_vec();
            let round = set_is_empty(open_operations(d, q)).bind(move |empty| {
                if empty == Val::Bool(true) {
                    return Prog::Break(1, Val::Unit);
                }
                let poll = Self::poll(q, &all);
                if self == Self::PollOnce { poll.then(Prog::Break(1, Val::Unit)) } else { poll }
            });
            round.repeat()
        };
        let asked = if self == Self::FirstNode { 1 } else { usize::from(world.nodes) };
        let nodes = world.all_nodes().iter().take(asked);
        let pairs = nodes.flat_map(|to| (1..=queues).map(move |number| Qp { to, number }));
        Prog::all(pairs.map(of_pair))
    }

    /// Whether what a method issues is put into the set of its identifier.
    fn adds(self, issued: Method) -> bool {
        match issued {
            Method::Get { .. } | Method::GetWords { .. } => self != Self::GetsNotAdded,
            Method::Put { .. } | Method::PutWords { .. } => self != Self::PutsNotAdded,
            _ => true,
        }
    }

    /// The program of a thread that uses these identifiers, and so many queue pairs to each node, with every call of RDMA-WAIT-RMW
    /// compiled.
    #[must_use]
    pub fn compiled(self, world: &World, identifiers: &[Name], queues: u8, program: &Prog) -> Prog {
        match program {
            Prog::Call(of_wait) => self.body(world, identifiers, queues, of_wait),
            Prog::Let(both) => {
                let (both, world, all) = (Arc::clone(both), world.clone(), identifiers.to_vec());
                let first = self.compiled(&world, &all, queues, &both.first);
                first.bind(move |v| self.compiled(&world, &all, queues, &(both.then)(v)))
            }
            Prog::Loop(body) => self.compiled(world, identifiers, queues, body).repeat(),
            Prog::Val(_) | Prog::Break(..) | Prog::Bound => program.clone(),
        }
    }

    fn body(self, world: &World, identifiers: &[Name], queues: u8, of_wait: &Call) -> Prog {
        let wid = of_wait.args.iter().find_map(|arg| match arg {
            Val::Wid(d) => Some(d.0),
            _ => None,
        });
        if of_wait.method.text() == "Wait" {
            return wid.map_or(Prog::unit(), |d| self.wait(world, d, identifiers, queues));
        }
        let args: Vec<Val> = of_wait.args.iter().filter(|a| !matches!(a, Val::Wid(_) | Val::NoWid)).copied().collect();
        let same = Call { library: TSO, args: args.into_iter().collect(), ..of_wait.clone() };
        let (usual, issued) = (Method::of(&same).usual().0, Prog::call(same.clone()));
        let by = queue_pair(world, &same).filter(|_| is_remote(usual));
        match (by, wid.filter(|_| self.adds(usual))) {
            (Some(q), Some(d)) => issued.bind(move |id| set_add(open_operations(d, q), id)),
            (Some(_), None) => issued.then(Prog::unit()),
            (None, _) => issued,
        }
    }
}

/// The compiler as an implementation of RDMA-WAIT-RMW for programs that use these identifiers, so that executions tell which call an
/// event is of. It is none that could stand beside other code.
#[derive(Clone, Debug)]
pub struct Compiling {
    /// The compiler.
    pub by: WaitByPolls,
    /// The identifiers that there are.
    pub identifiers: Vec<Name>,
}

impl Implementation for Compiling {
    fn target(&self) -> Name {
        wait::WAIT
    }

    fn declare(&self, _: &mut World) {}

    fn body(&self, world: &World, _: Tid, call: &Call) -> Prog {
        self.by.body(world, &self.identifiers, 1, call)
    }
}
