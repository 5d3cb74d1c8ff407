//! RDMA-TSO-RMW: the model that hardware was validated against, with polls in place of waits.
//!
//! SYNC App. C; without `RCAS` and `RFAA` it is RDMA-TSO (LOCO-X App. G.1). `Poll(n)` completes the oldest operation of
//! the thread towards node n that no poll has completed yet. It is a language and not a library: which operation a poll
//! completes depends on all others, so it is not decomposable (LOCO Fig. 2), and hb is just `(ppo u so)+`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mowgli_core::algebra::{Rel, Spec, SubView, events, in_turn};
use mowgli_core::event::{Call, Cell, Event, Shape, Sub};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::Library;
use mowgli_core::program::Prog;
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};

use crate::stamp::Stamp::{self, aMF, aNLW, aNRW, aWT};
use crate::wait::{self, Wait};
use mowgli_core::fault::{Arg, fault};

/// The model's name.
pub const TSO: Name = Name::literal("rdma-tso-rmw");

/// A memory word on `node`.
#[must_use]
pub fn word(node: Node) -> Object {
    Object::new(TSO).at(node)
}

/// RDMA-TSO-RMW as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tso;

/// The node that an operation goes to, or that a poll asks about.
#[must_use]
pub fn towards(world: &World, call: &Call) -> Option<Node> {
    match call.method.text() {
        "Put" => world.home(call.loc(0)),
        "Get" | "RCAS" | "RFAA" => world.home(call.loc(1)),
        "Poll" => match call.args.first() {
            Some(&Val::Node(n)) => Some(n),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a call is an operation that a poll takes.
fn is_operation(call: &Call) -> bool {
    matches!(call.method.text(), "Put" | "Get" | "RCAS" | "RFAA")
}

/// The identifier of an operation: its node, and how many operations of the thread towards that node came before it.
fn identifier(n: Node, nth: usize) -> Val {
    Val::tuple(&[Val::Node(n), Val::Int(nth as i64)])
}

/// What a call returns to a thread that has made these calls before, where memory has no part in it; `None` for a poll
/// with nothing to take. Operations return their identifiers, a poll that of the operation it takes.
#[must_use]
pub fn result(world: &World, earlier: &[Event], call: &Call) -> Option<Val> {
    let to = towards(world, call);
    let count = |is: fn(&Call) -> bool| {
        earlier.iter().filter(|e| is(&e.call) && e.call.library == TSO && towards(world, &e.call) == to).count()
    };
    match call.method.text() {
        "Put" | "Get" | "RCAS" | "RFAA" => Some(identifier(to?, count(is_operation))),
        "Poll" => {
            let taken = count(|c| c.method.text() == "Poll");
            (taken < count(is_operation)).then(|| identifier(to.expect("counted"), taken))
        }
        "SetIsEmpty" => {
            let mut set = BTreeSet::new();
            for e in earlier.iter().filter(|e| e.call.args.first() == call.args.first()) {
                match e.call.method.text() {
                    "SetAdd" => _ = set.insert(e.call.args[1]),
                    "SetRemove" => _ = set.remove(&e.call.args[1]),
                    _ => {}
                }
            }
            Some(Val::Bool(set.is_empty()))
        }
        _ => Some(Val::Unit),
    }
}

/// The subevent whose completion a poll sees: the local write, of a Put the remote one.
fn is_confirmed(s: &SubView<Stamp>) -> bool {
    match s.event.call.method.text() {
        "Put" => matches!(s.sub.stamp, aNRW(_)),
        "Get" | "RCAS" | "RFAA" => matches!(s.sub.stamp, aNLW(_)),
        _ => false,
    }
}

fn is_poll(s: &SubView<Stamp>) -> bool {
    s.event.call.method.text() == "Poll"
}

/// The node that an operation, or a poll, is towards.
fn node_towards(s: &SubView<Stamp>) -> Option<Val> {
    towards(s.world, &s.event.call).map(Val::Node)
}

/// pf: each Poll takes the oldest operation towards its node that none before it has taken.
#[must_use]
pub fn pf() -> Rel<Stamp> {
    in_turn(events(is_confirmed), events(is_poll), node_towards)
}

impl Library<Stamp> for Tso {
    fn name(&self) -> Name {
        TSO
    }

    fn loc(&self, call: &Call) -> Vec<Loc> {
        Wait.loc(call)
    }

    /// What can be said without the calls before: see [`result`].
    fn returns(&self, world: &World, thread: Tid, call: &Call, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Val> {
        self.returns_after(world, &[], thread, call, cells)
    }

    fn returns_after(
        &self,
        world: &World,
        earlier: &[Event],
        thread: Tid,
        call: &Call,
        cells: &dyn Fn(Cell) -> Vec<Val>,
    ) -> Vec<Val> {
        match call.method.text() {
            "Read" | "CAS" | "Xchg" => Wait.returns(world, thread, call, cells),
            _ => result(world, earlier, call).into_iter().collect(),
        }
    }

    fn step(&self, event: &Event, read: Val) -> Option<Val> {
        Wait.step(event, read)
    }

    /// Identifiers count operations and polls; sets remember what was put into them.
    fn is_remembered(&self, call: &Call) -> bool {
        is_operation(call) || matches!(call.method.text(), "Poll" | "SetAdd" | "SetRemove")
    }

    fn only_looks(&self, event: &Event) -> bool {
        Wait.only_looks(event) || event.call.method.text() == "SetIsEmpty"
    }

    /// Every poll has an operation before it to take: otherwise it never returns.
    fn admits(&self, world: &World, events: &[&Event]) -> bool {
        let mut open: BTreeMap<(Tid, Option<Node>), usize> = BTreeMap::new();
        events.iter().all(|e| {
            let open = open.entry((e.thread, towards(world, &e.call))).or_default();
            match e.call.method.text() {
                "Poll" => open.checked_sub(1).map(|left| *open = left).is_some(),
                _ => {
                    *open += usize::from(is_operation(&e.call));
                    true
                }
            }
        })
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        let takes = match call.method.text() {
            "Poll" => Some(&[Arg::Node][..]),
            "SetAdd" | "SetRemove" => Some(&[Arg::Any; 2][..]),
            "SetIsEmpty" => Some(&[Arg::Any][..]),
            "Wait" => None,
            other => wait::takes(other),
        };
        fault(world, thread, call, takes)
    }

    /// As RDMA-WAIT-RMW, Poll {aWT}, and {aMF} for the methods of sets.
    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape<Stamp>> {
        match event.call.method.text() {
            "Poll" => vec![Shape::from_slice(&[Sub::quiet(aWT)])],
            "SetAdd" | "SetRemove" | "SetIsEmpty" => vec![Shape::from_slice(&[Sub::quiet(aMF)])],
            "Wait" => Vec::new(),
            _ => wait::shapes(world, event).unwrap_or_default(),
        }
    }

    fn spec(&self) -> Spec<Stamp> {
        wait::predicate(true, &pf(), true, None)
    }
}

/// The specification with this part of [`wait::IB`] left out of ib.
#[must_use]
pub fn without_in_ib(part: &'static str) -> Spec<Stamp> {
    wait::predicate(true, &pf(), true, Some(part))
}

/// Clients of the model: those of RDMA-WAIT-RMW with polls in place of waits.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Whether there are read-modify-writes of remote words.
    pub rmw: bool,
}

impl Subject for Words {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        let mut worlds = wait::Words { rmw: self.rmw }.worlds(empty, bound, expired);
        worlds.iter_mut().flat_map(|w| w.objects.values_mut()).for_each(|object| object.library = TSO);
        worlds
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        let of_wait = wait::Words { rmw: self.rmw }.calls(world, thread, bound, expired);
        let kept = of_wait.into_iter().filter(|call| call.method.text() != "Wait").map(|mut call| {
            call.library = TSO;
            call.args.retain(|arg| !matches!(arg, Val::Wid(_)));
            call
        });
        let polls = world.all_nodes().iter().map(|n| Call::new(TSO, "Poll", &[n.into()]));
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
}

/// `d^n`, the set of open operations of `d` towards `n`.
fn open_operations(d: Name, n: Node) -> Val {
    Val::Loc(Loc(d.part(format_args!("open_{n}"))))
}

fn call(method: &'static str, args: &[Val]) -> Prog {
    Prog::call(Call::new(TSO, method, args))
}

impl WaitByPolls {
    /// Polls once, and removes what was polled from the sets of all identifiers.
    fn poll(n: Node, all: &[Name]) -> Prog {
        let all = all.to_vec();
        call("Poll", &[n.into()])
            .bind(move |v| Prog::all(all.iter().map(|&d| call("SetRemove", &[open_operations(d, n), v]))))
    }

    fn wait(self, world: &World, d: Name, all: &[Name]) -> Prog {
        let of_node = |n: Node| {
            let all = all.to_vec();
            let round = call("SetIsEmpty", &[open_operations(d, n)]).bind(move |empty| {
                if empty == Val::Bool(true) {
                    return Prog::Break(1, Val::Unit);
                }
                let poll = Self::poll(n, &all);
                if self == Self::PollOnce { poll.then(Prog::Break(1, Val::Unit)) } else { poll }
            });
            round.repeat()
        };
        Prog::all(world.all_nodes().iter().map(of_node))
    }

    /// The program of a thread that uses these identifiers, with every call of RDMA-WAIT-RMW compiled.
    #[must_use]
    pub fn compiled(self, world: &World, identifiers: &[Name], program: &Prog) -> Prog {
        match program {
            Prog::Call(of_wait) => self.body(world, identifiers, of_wait),
            Prog::Let(first, f) => {
                let (f, world, all) = (Arc::clone(f), world.clone(), identifiers.to_vec());
                let first = self.compiled(&world, &all, first);
                first.bind(move |v| self.compiled(&world, &all, &f(v)))
            }
            Prog::Loop(body) => self.compiled(world, identifiers, body).repeat(),
            Prog::Val(_) | Prog::Break(..) => program.clone(),
        }
    }

    fn body(self, world: &World, identifiers: &[Name], of_wait: &Call) -> Prog {
        let wid = of_wait.args.iter().find_map(|arg| match arg {
            Val::Wid(d) => Some(d.0),
            _ => None,
        });
        if of_wait.method.text() == "Wait" {
            return wid.map_or(Prog::unit(), |d| self.wait(world, d, identifiers));
        }
        let args: Vec<Val> = of_wait.args.iter().filter(|a| !matches!(a, Val::Wid(_) | Val::NoWid)).copied().collect();
        let same = Call { library: TSO, args: args.into_iter().collect(), ..of_wait.clone() };
        let (to, issued) = (towards(world, &same), Prog::call(same.clone()));
        match (to, wid) {
            (Some(n), Some(d)) => issued.bind(move |id| call("SetAdd", &[open_operations(d, n), id])),
            (Some(_), None) => issued.then(Prog::unit()),
            (None, _) => issued,
        }
    }
}
