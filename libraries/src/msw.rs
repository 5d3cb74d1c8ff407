//! MSW, mixed-size words: tuples that are written word by word and read whole or not at all.
//!
//! LOCO-X App. H.6, Theorem H.10: a hash before the words tells the reader whether they belong together. It deliberately
//! does not promise that a read succeeds.

use itertools::Itertools;
use mowgli_core::algebra::Spec;
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::fault::{Arg, fault};
use mowgli_core::ids::{Loc, Name, Node, Tid, Wid};
use mowgli_core::implementation::Implementation;
use mowgli_core::library::{Libraries, Library};
use mowgli_core::program::{Prog, prog};
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_rdma::stamp::Stamp::{self, aCR, aCW, aNLR, aNLW, aNRR, aNRW, aWT};
use mowgli_rdma::to;
use mowgli_rdma::wait::{self, Wait};

use crate::catalogue::{Entry, Expected, Memory, bound, variant};

/// The library's name.
pub const MSW: Name = Name::literal("msw");

/// A location of `size` words on a node, all zero.
#[must_use]
pub fn words(node: Node, size: usize) -> Object {
    Object::new(MSW).at(node).size(size).init(Val::tuple(&vec![Val::Int(0); size]))
}

fn call(method: &'static str, args: &[Val]) -> Prog {
    Prog::call(Call::new(MSW, method, args))
}

/// `Write(x, (v1..vk))`.
#[must_use]
pub fn write(x: Loc, values: Val) -> Prog {
    call("Write", &[x.into(), values])
}
/// `TryRead(x)`, which returns the tuple or bottom.
#[must_use]
pub fn try_read(x: Loc) -> Prog {
    call("TryRead", &[x.into()])
}
/// `Get(x, y, d)`: copies remote y to local x.
#[must_use]
pub fn get(x: Loc, y: Loc, d: Val) -> Prog {
    call("Get", &[x.into(), y.into(), d])
}
/// `Put(x, y, d)`: copies local y to remote x.
#[must_use]
pub fn put(x: Loc, y: Loc, d: Val) -> Prog {
    call("Put", &[x.into(), y.into(), d])
}
/// `Wait(d)`.
#[must_use]
pub fn wait_for(d: Val) -> Prog {
    call("Wait", &[d])
}

/// MSW as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Msw;

fn size(world: &World, x: Loc) -> Option<usize> {
    world.objects.get(&x).filter(|o| o.library == MSW).map(|o| o.size)
}

fn is_of_size(v: Val, size: usize) -> bool {
    matches!(v, Val::Tuple(t) if t.parts().len() == size)
}

impl Library<Stamp> for Msw {
    fn name(&self) -> Name {
        MSW
    }

    fn loc(&self, call: &Call) -> Vec<Loc> {
        call.args.iter().filter_map(|v| v.loc()).collect()
    }

    fn returns(&self, world: &World, thread: Tid, call: &Call, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Val> {
        if call.method.text() != "TryRead" {
            return vec![Val::Unit];
        }
        let mut values = cells(Cell { loc: call.loc(0), node: world.node_of(thread) });
        values.push(Val::Bot);
        values
    }

    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    fn only_looks(&self, event: &Event) -> bool {
        matches!(event.call.method.text(), "TryRead" | "Wait")
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        let takes: Option<&[Arg]> = match call.method.text() {
            "Write" => Some(&[Arg::Local, Arg::Any]),
            "TryRead" => Some(&[Arg::Local]),
            "Wait" => Some(&[Arg::Any]),
            "Put" => Some(&[Arg::Placed, Arg::Local]),
            "Get" => Some(&[Arg::Local, Arg::Placed]),
            _ => None,
        };
        fault(world, thread, call, takes).or_else(|| ill_sized(world, call))
    }

    /// As RDMA-WAIT on tuples; a failed TryRead has the stamp of a wait and reads nothing.
    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape<Stamp>> {
        shape(world, event).map(|s| vec![s]).unwrap_or_default()
    }

    fn spec(&self) -> Spec<Stamp> {
        // as RDMA-WAIT, without rao
        wait::consistency(false)
    }
}

/// What is wrong with the size of what a call writes, or copies.
fn ill_sized(world: &World, call: &Call) -> Option<String> {
    let args = &call.args;
    let of = |position: usize| size(world, args[position].loc()?);
    match call.method.text() {
        "Write" if !is_of_size(args[1], of(0)?) => {
            Some(format!("{} is no tuple of {} words, which {} has", args[1], of(0)?, args[0]))
        }
        "Put" | "Get" if of(0)? != of(1)? => {
            Some(format!("{} has {} words, and {} has {}", args[0], of(0)?, args[1], of(1)?))
        }
        _ => None,
    }
}

fn shape(world: &World, event: &Event) -> Option<Shape<Stamp>> {
    let args = &event.call.args;
    let here = world.node_of(event.thread);
    let at = |position: usize| {
        let loc = args.get(position)?.loc()?;
        world.home(loc).map(|node| Cell { loc, node })
    };
    let local = |position| at(position).filter(|c| c.node == here);
    Some(match event.call.method.text() {
        "Write" => [Sub::write(aCW, local(0)?, Writes::Is(args[1]))].into_iter().collect(),
        "TryRead" if event.ret == Val::Bot => [Sub::quiet(aWT)].into_iter().collect(),
        "TryRead" => [Sub::read(aCR, local(0)?, Reads::Is(event.ret))].into_iter().collect(),
        "Wait" => [Sub::quiet(aWT)].into_iter().collect(),
        "Put" => {
            let (x, y) = (at(0)?, local(1)?);
            let read = Sub::read(aNLR(x.node), y, Reads::Any);
            [read, Sub::write(aNRW(x.node), x, Writes::Copy(0))].into_iter().collect()
        }
        "Get" => {
            let (x, y) = (local(0)?, at(1)?);
            let read = Sub::read(aNRR(y.node), y, Reads::Any);
            [read, Sub::write(aNLW(y.node), x, Writes::Copy(0))].into_iter().collect()
        }
        _ => return None,
    })
}

/// The implementation over RDMA-WAIT, another that the authors had first, or a broken variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MswOverWait {
    /// As published: a hash before the words.
    #[default]
    Hash,
    /// The hash is of the first word only.
    FirstWordOnly,
    /// The hash is the sum of the words.
    Sum,
    /// A guard before the words and one after, read in this order: the bug that was in LOCO (LOCO-X App. D).
    GuardForward,
    /// The guards read the other way round: the repair that the authors give. A Put still copies them first to last.
    GuardBackward,
}

/// x_0, x_1, and so on.
fn part(x: Loc, k: usize) -> Loc {
    x.part(format_args!("word_{k}"))
}

/// How many writes a thread has made: what makes guards fresh.
fn counter(t: Tid) -> Loc {
    Loc(MSW.part(format_args!("guards_{t}")))
}

/// An injective hash in one word; 0 of all zeros.
fn hash(values: &[Val]) -> Val {
    if values.iter().all(|v| *v == Val::Int(0)) { Val::Int(0) } else { Val::tuple(values) }
}

fn sum(values: &[Val]) -> Val {
    Val::Int(values.iter().filter_map(|v| v.int()).fold(0, i64::wrapping_add))
}

/// The values of these words, read in this order, then `next`.
fn read_all(words: Vec<Loc>, values: Vec<Val>, next: fn(&[Val]) -> Val) -> Prog {
    match words.split_first() {
        None => Prog::Val(next(&values)),
        Some((&x, rest)) => {
            let rest = rest.to_vec();
            wait::read(x).bind(move |v| read_all(rest.clone(), [values.as_slice(), &[v]].concat(), next))
        }
    }
}

fn if_equal(a: Val, b: Val, values: &[Val]) -> Val {
    if a == b { Val::tuple(values) } else { Val::Bot }
}

impl MswOverWait {
    fn has_guards(self) -> bool {
        matches!(self, Self::GuardForward | Self::GuardBackward)
    }

    /// How many words a location of this size has.
    fn length(self, size: usize) -> usize {
        size + if self.has_guards() { 2 } else { 1 }
    }

    fn write(self, x: Loc, t: Tid, values: &[Val]) -> Prog {
        let store = move |first: Val, values: &[Val], last: Option<Val>| {
            let all = [&[first], values, last.as_slice()].concat();
            Prog::all(all.into_iter().enumerate().map(|(k, v)| wait::write(part(x, k), v)))
        };
        let values = values.to_vec();
        match self {
            Self::Hash => store(hash(&values), &values, None),
            Self::FirstWordOnly => store(hash(&values[..1]), &values, None),
            Self::Sum => store(sum(&values), &values, None),
            Self::GuardForward | Self::GuardBackward => prog! {
                let n = wait::read(counter(t));
                wait::write(counter(t), n.plus(1).unwrap_or(n));
                {
                    let guard = Val::tuple(&[Val::Int(i64::from(t.0)), n]);
                    store(guard, &values, Some(guard))
                }
            },
        }
    }

    fn try_read(self, x: Loc, size: usize) -> Prog {
        let mut words: Vec<Loc> = (0..self.length(size)).map(|k| part(x, k)).collect();
        match self {
            Self::Hash => read_all(words, Vec::new(), |v| if_equal(v[0], hash(&v[1..]), &v[1..])),
            Self::FirstWordOnly => read_all(words, Vec::new(), |v| if_equal(v[0], hash(&v[1..2]), &v[1..])),
            Self::Sum => read_all(words, Vec::new(), |v| if_equal(v[0], sum(&v[1..]), &v[1..])),
            Self::GuardForward => read_all(words, Vec::new(), |v| if_equal(v[0], v[v.len() - 1], &v[1..v.len() - 1])),
            Self::GuardBackward => {
                words.reverse();
                read_all(words, Vec::new(), |v| {
                    let values: Vec<Val> = v[1..v.len() - 1].iter().rev().copied().collect();
                    if_equal(v[0], v[v.len() - 1], &values)
                })
            }
        }
    }
}

impl Implementation for MswOverWait {
    fn target(&self) -> Name {
        MSW
    }

    fn declare(&self, world: &mut World) {
        let all: Vec<(Loc, Object)> =
            world.objects.iter().filter(|(_, o)| o.library == MSW).map(|(&x, o)| (x, o.clone())).collect();
        for (x, object) in all {
            let Some(node) = object.node else { continue };
            let values = if let Val::Tuple(t) = object.init { t.parts() } else { &[] };
            let first = match self {
                Self::Hash => hash(values),
                Self::FirstWordOnly => hash(values.get(..1).unwrap_or_default()),
                Self::Sum => sum(values),
                _ => Val::Int(0),
            };
            for k in 0..self.length(object.size) {
                let init = if k == 0 { first } else { values.get(k - 1).copied().unwrap_or(Val::Int(0)) };
                world.objects.insert(part(x, k), wait::word(node).init(init));
            }
        }
        for t in world.tids().filter(|_| self.has_guards()).collect::<Vec<_>>() {
            let here = world.node_of(t);
            world.objects.insert(counter(t), wait::word(here));
        }
    }

    fn body(&self, world: &World, t: Tid, call: &Call) -> Prog {
        let args = &call.args;
        if call.method.text() == "Wait" {
            return wait::wait(args[0]);
        }
        let x = call.loc(0);
        let size = size(world, x).unwrap_or(0);
        let word_by_word = |copy: fn(Loc, Loc, Val) -> Prog| {
            let y = call.loc(1);
            Prog::all((0..self.length(size)).map(|k| copy(part(x, k), part(y, k), args[2])))
        };
        match (call.method.text(), args.get(1)) {
            ("Write", Some(Val::Tuple(values))) if values.parts().len() == size => self.write(x, t, values.parts()),
            ("TryRead", _) => self.try_read(x, size),
            ("Put", _) => word_by_word(wait::put),
            ("Get", _) => word_by_word(wait::get),
            // a tuple of the wrong size: the specification has no execution
            _ => wait::mfence().repeat(),
        }
    }
}

impl Subject for Msw {
    /// Two words each, on any nodes.
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        let mut worlds = crate::lock::worlds(MSW, empty, bound, expired);
        for object in worlds.iter_mut().flat_map(|w| w.objects.values_mut()) {
            *object = words(object.node.unwrap_or(Node(1)), bound.sizes.first().copied().unwrap_or(2));
        }
        worlds
    }

    /// Every tuple of the values is written.
    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        let d = Val::Wid(Wid(Name::literal("d")));
        let here = world.node_of(thread);
        let own: Vec<(Loc, bool)> = world.objects.iter().map(|(&x, o)| (x, o.node == Some(here))).collect();
        let call = |method, args: &[Val]| Call::new(MSW, method, args);
        let mut calls = Vec::new();
        for &(x, _) in own.iter().filter(|(_, local)| *local) {
            let words = std::iter::repeat_n(bound.values.iter().map(|&v| Val::Int(v)), world.objects[&x].size);
            let tuples = words.multi_cartesian_product().take_while(|_| !expired());
            calls.extend(tuples.map(|tuple| call("Write", &[x.into(), Val::tuple(&tuple)])));
            calls.push(call("TryRead", &[x.into()]));
            for &(y, _) in own.iter().filter(|(y, _)| *y != x) {
                calls.push(call("Put", &[y.into(), x.into(), d]));
                calls.push(call("Get", &[x.into(), y.into(), d]));
            }
        }
        if own.len() > 1 {
            calls.push(call("Wait", &[d]));
        }
        calls
    }
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let variant = |name, about, expected, implementation: MswOverWait| {
        // Copies of copies have very many executions: with two threads more than one call each takes minutes.
        let mut variant = variant(name, about, expected, implementation, &[(2, 2, 1), (1, 2, 3)]);
        variant.bounds.iter_mut().for_each(|b| b.objects = 2);
        // A reader beside two writes of one location.
        variant.and(Bound { total: Some(3), ..bound(2, 1, 2) }).writing(&[1, 2])
    };
    Entry {
        name: "msw",
        memory: Memory::rdma_wait(),
        specification: Libraries::over(to).with(Msw),
        below: Libraries::over(to).with(Wait),
        subject: Box::new(Msw),
        probes: Vec::new(),
        variants: vec![
            variant("published", "LOCO-X App. H.6", Sound, MswOverWait::Hash),
            variant("first-word-only", "the hash is of the first word only", Unsound, MswOverWait::FirstWordOnly),
            variant("sum", "the hash is the sum of the words", Unsound, MswOverWait::Sum),
            variant("guard-forward", "guards, read first to last (LOCO-X App. D)", Unsound, MswOverWait::GuardForward),
            variant(
                "guard-backward",
                "guards, read last to first (LOCO-X App. D)",
                Unsound,
                MswOverWait::GuardBackward,
            ),
        ],
    }
}
