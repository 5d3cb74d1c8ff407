//! MSW, mixed-size words: tuples that are written word by word and read whole or not at all.
//!
//! LOCO-X App. H.6, Theorem H.10: a hash before the words tells the reader whether they belong together. It deliberately
//! does not promise that a read succeeds.

use itertools::Itertools;
use mowgli_core::algebra::Spec;
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::ids::{Loc, Name, Node, Tid, Wid};
use mowgli_core::implementation::Implementation;
use mowgli_core::library::{Libraries, Library};
use mowgli_core::method::{self, methods};
use mowgli_core::program::{Prog, prog};
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::{Form, Object, Part, World};
use mowgli_rdma::stamp::Stamp::{self, aCR, aCW, aNLR, aNLW, aNRR, aNRW, aWT};
use mowgli_rdma::to;
use mowgli_rdma::wait::{self, Wait, home};

use crate::catalogue::{Entry, Expected, Memory, bound, variant};

methods! {
    /// What can be done with mixed-size locations.
    pub enum Method of MSW = "msw" {
        /// `Write(x, (v1..vk))`.
        fn write = Write(x: Local, values: Value);
        /// `TryRead(x)`, which returns the tuple or bottom.
        fn try_read = TryRead(x: Local) -> Value;
        /// `Get(x, y, d)`: copies remote y to local x.
        fn get = Get(x: Local, y: Placed, d: Id);
        /// `Put(x, y, d)`: copies local y to remote x.
        fn put = Put(x: Placed, y: Local, d: Id);
        /// `Wait(d)`.
        fn wait = Wait(d: Id);
    }
}

/// A location of `size` words on a node, all zero.
#[must_use]
pub fn words(node: Node, size: usize) -> Object {
    Object::new(MSW).at(node).size(size).init(Val::tuple(&vec![Val::Int(0); size]))
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

    fn object(&self) -> Option<Form> {
        Some(Form { kind: "msw", parts: &[Part::Node, Part::Words] })
    }

    fn methods(&self) -> &'static [method::Method] {
        Method::TABLE
    }

    fn returns(
        &self,
        world: &World,
        _: &[Event],
        thread: Tid,
        call: &Call,
        cells: &dyn Fn(Cell) -> Vec<Val>,
    ) -> Vec<Val> {
        let Method::TryRead { x } = Method::of(call) else { return vec![Val::Unit] };
        let mut values = cells(Cell { loc: x, node: world.node_of(thread) });
        values.push(Val::Bot);
        values
    }

    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    fn only_looks(&self, event: &Event) -> bool {
        matches!(Method::of(&event.call), Method::TryRead { .. } | Method::Wait { .. })
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        method::fault(world, thread, call, Method::TABLE).or_else(|| ill_sized(world, Method::of(call)))
    }

    /// As RDMA-WAIT on tuples; a failed TryRead has the stamp of a wait and reads nothing.
    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape<Stamp>> {
        let at = |loc| Cell { loc, node: home(world, loc) };
        vec![match Method::of(&event.call) {
            Method::Write { x, values } => Shape::from_slice(&[Sub::write(aCW, at(x), Writes::Is(values))]),
            Method::TryRead { .. } if event.ret == Val::Bot => Shape::from_slice(&[Sub::quiet(aWT)]),
            Method::TryRead { x } => Shape::from_slice(&[Sub::read(aCR, at(x), Reads::Is(event.ret))]),
            Method::Wait { .. } => Shape::from_slice(&[Sub::quiet(aWT)]),
            Method::Put { x, y, .. } => {
                let n = home(world, x);
                let read = Sub::read(aNLR(n), at(y), Reads::Any);
                Shape::from_slice(&[read, Sub::write(aNRW(n), at(x), Writes::Copy(0))])
            }
            Method::Get { x, y, .. } => {
                let n = home(world, y);
                let read = Sub::read(aNRR(n), at(y), Reads::Any);
                Shape::from_slice(&[read, Sub::write(aNLW(n), at(x), Writes::Copy(0))])
            }
        }]
    }

    fn spec(&self) -> Spec<Stamp> {
        // as RDMA-WAIT, without rao
        wait::consistency(false)
    }
}

/// What is wrong with the size of what a call writes, or copies.
fn ill_sized(world: &World, method: Method) -> Option<String> {
    let of = |x| size(world, x);
    match method {
        Method::Write { x, values } if !is_of_size(values, of(x)?) => {
            Some(format!("{values} is no tuple of {} words, which {x} has", of(x)?))
        }
        Method::Put { x, y, .. } | Method::Get { x, y, .. } if of(x)? != of(y)? => {
            Some(format!("{x} has {} words, and {y} has {}", of(x)?, of(y)?))
        }
        _ => None,
    }
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
        let length = |x| self.length(size(world, x).unwrap_or(0));
        let word_by_word = |copy: fn(Loc, Loc, Val) -> Prog, x, y, d| {
            Prog::all((0..length(x)).map(|k| copy(part(x, k), part(y, k), d)))
        };
        match Method::of(call) {
            Method::Write { x, values: Val::Tuple(values) } => self.write(x, t, values.parts()),
            // What is no tuple is a fault.
            Method::Write { .. } => Prog::unit().repeat(),
            Method::TryRead { x } => self.try_read(x, size(world, x).unwrap_or(0)),
            Method::Put { x, y, d } => word_by_word(wait::put, x, y, d),
            Method::Get { x, y, d } => word_by_word(wait::get, x, y, d),
            Method::Wait { d } => wait::wait(d),
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
        let all = world.locations(MSW);
        let mut calls: Vec<Call> = Vec::new();
        for &x in all.iter().filter(|x| world.home(**x) == Some(world.node_of(thread))) {
            let words = std::iter::repeat_n(bound.values.iter().map(|&v| Val::Int(v)), world.objects[&x].size);
            let tuples = words.multi_cartesian_product().take_while(|_| !expired());
            calls.extend(tuples.map(|tuple| Method::Write { x, values: Val::tuple(&tuple) }.into()));
            calls.push(Method::TryRead { x }.into());
            for &y in all.iter().filter(|y| **y != x) {
                calls.extend([Method::Put { x: y, y: x, d }.into(), Method::Get { x, y, d }.into()]);
            }
        }
        if all.len() > 1 {
            calls.push(Method::Wait { d }.into());
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
    let variants = vec![
        variant("published", "LOCO-X App. H.6", Sound, MswOverWait::Hash),
        variant("first-word-only", "the hash is of the first word only", Unsound, MswOverWait::FirstWordOnly),
        variant("sum", "the hash is the sum of the words", Unsound, MswOverWait::Sum),
        variant("guard-forward", "guards, read first to last (LOCO-X App. D)", Unsound, MswOverWait::GuardForward),
        variant("guard-backward", "guards, read last to first (LOCO-X App. D)", Unsound, MswOverWait::GuardBackward),
    ];
    Entry::new(Memory::rdma_wait(), Msw, Libraries::over(to).with(Wait), variants)
}
