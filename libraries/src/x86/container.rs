//! Stacks and queues as libraries: linearisable.
//!
//! As for RDMA-SC-RMW (SYNC §5) there is one order of the calls of an object that change it, each finds the state that the
//! one before it left, and so is `po u rf u mo u rb`. A call that changes the object is a fence {F}. One that finds it
//! empty only reads {R}: it deliberately does not promise that earlier writes of its thread are seen by then.

use mowgli_core::algebra::Spec;
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::fault::fault;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::library::Library;
use mowgli_core::program::Prog;
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_x86::stamp::Stamp::{self, F, R};
use mowgli_x86::tso::{MACHINE, on_one_machine, read, word, write};

use crate::catalogue::{Entry, Memory, Variant};
use crate::sc_rmw::{sequentially_consistent, takes};
use crate::x86::{NULL, field};

/// A container: what is put in, and what is taken out or bottom.
#[derive(Clone, Copy, Debug)]
pub struct Container {
    /// The library's name.
    pub name: Name,
    /// The methods, each with the number of its arguments: one that puts a value in, and one that takes one out.
    pub methods: &'static [(&'static str, usize); 2],
    /// Whether what was put in last is taken out first.
    pub is_stack: bool,
}

impl Container {
    fn puts(&self, call: &Call) -> bool {
        call.method.text() == self.methods[0].0
    }

    /// What is left, and what is taken out.
    fn taken(&self, state: Val) -> Option<(Val, Val)> {
        let Val::Tuple(values) = state else { return None };
        let values = values.parts();
        let (taken, left) = if self.is_stack { values.split_last()? } else { values.split_first()? };
        Some((Val::tuple(left), *taken))
    }
}

/// The one cell of a container: all that is in it.
fn state(x: Loc) -> Cell {
    Cell { loc: x, node: MACHINE }
}

/// Nothing.
fn empty() -> Val {
    Val::tuple(&[])
}

impl Library<Stamp> for Container {
    fn name(&self) -> Name {
        self.name
    }

    fn loc(&self, call: &Call) -> Vec<Loc> {
        vec![call.loc(0)]
    }

    fn returns(&self, _: &World, _: Tid, call: &Call, cells: &dyn Fn(Cell) -> Vec<Val>) -> Vec<Val> {
        if self.puts(call) {
            return vec![Val::Unit];
        }
        let states = cells(state(call.loc(0)));
        let mut results: Vec<Val> = states.iter().map(|s| self.taken(*s).map_or(Val::Bot, |(_, v)| v)).collect();
        results.sort();
        results.dedup();
        results
    }

    fn init(&self, _: &World, _: Cell) -> Val {
        empty()
    }

    fn step(&self, event: &Event, read: Val) -> Option<Val> {
        match read {
            Val::Tuple(values) if self.puts(&event.call) => {
                Some(Val::tuple(&[values.parts(), &event.call.args[1..]].concat()))
            }
            _ => self.taken(read).filter(|(_, v)| *v == event.ret).map(|(left, _)| left),
        }
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        fault(world, thread, call, takes(self.methods, call.method.text()).as_deref())
    }

    /// {F} for a call that changes the state, {R} for one that finds nothing.
    fn shapes(&self, _: &World, event: &Event) -> Vec<Shape<Stamp>> {
        let cell = state(event.call.loc(0));
        let sub = match event.ret {
            Val::Bot => Sub::read(R, cell, Reads::Is(empty())),
            _ => Sub::update(F, cell, Reads::Any, Writes::Step(0)),
        };
        vec![Shape::from_slice(&[sub])]
    }

    fn spec(&self) -> Spec<Stamp> {
        sequentially_consistent()
    }
}

impl Subject for Container {
    fn worlds(&self, empty: &World, _: &Bound) -> Vec<World> {
        on_one_machine(empty, |world| _ = world.objects.insert(Loc::new("s"), Object::new(self.name)))
    }

    fn calls(&self, world: &World, _: Tid, bound: &Bound) -> Vec<Call> {
        let [(put, _), (take, _)] = self.methods;
        let of = |x: Loc| {
            let puts = bound.values.iter().map(move |&v| Call::new(self.name, put, &[x.into(), v.into()]));
            puts.chain([Call::new(self.name, take, &[x.into()])]).collect::<Vec<_>>()
        };
        world.locations(self.name).into_iter().flat_map(of).collect()
    }
}

/// What the catalogue says of a container over words.
pub(crate) fn entry(library: Container, variants: Vec<Variant>) -> Entry<Stamp> {
    let memory = Memory::x86_tso();
    // One value shows no order.
    let two_values = |mut variant: Variant| {
        variant.bounds.iter_mut().for_each(|bound| bound.values = vec![1, 2]);
        variant
    };
    Entry {
        name: library.name.text(),
        specification: mowgli_core::library::Libraries::default().with(library),
        below: memory.libraries.clone(),
        memory,
        subject: Box::new(library),
        probes: Vec::new(),
        variants: variants.into_iter().map(two_values).collect(),
    }
}

/// How many nodes each thread has for each object.
const POOL: i64 = 4;

/// The word that counts the nodes that a thread has used.
fn used(x: Loc, t: Tid) -> Loc {
    x.part(format_args!("used_{t}"))
}

/// A node of a thread.
fn node(x: Loc, t: Tid, k: i64) -> Val {
    x.part(format_args!("node_{t}_{k}")).into()
}

/// The word of a node that holds its value.
pub(crate) fn value(node: Val) -> Val {
    field(node, "value")
}

/// The word of a node that holds the location of another.
pub(crate) fn next(node: Val) -> Val {
    field(node, "next")
}

/// The words of these nodes.
pub(crate) fn nodes(nodes: impl IntoIterator<Item = Val>) -> impl Iterator<Item = (Loc, Object)> {
    nodes.into_iter().flat_map(|n| [value(n), next(n)]).filter_map(Val::loc).map(|x| (x, word()))
}

/// Declares, for each object of a library, the nodes of all threads.
pub(crate) fn declare_pool(library: Name, world: &mut World) {
    for x in world.locations(library) {
        let all: Vec<(Tid, i64)> = world.tids().flat_map(|t| (0..POOL).map(move |k| (t, k))).collect();
        world.objects.extend(nodes(all.into_iter().map(|(t, k)| node(x, t, k))));
        world.objects.extend(world.tids().map(|t| (used(x, t), word())).collect::<Vec<_>>());
    }
}

/// A node that was not used before. Beyond the pool there is none, and an access to one is a fault.
pub(crate) fn allocate(x: Loc, t: Tid) -> Prog {
    let count = used(x, t);
    read(count).bind(move |k| {
        let k = k.int().unwrap_or(POOL);
        write(count, k + 1).then(Prog::Val(node(x, t, k)))
    })
}

/// Whether a value is no location.
pub(crate) fn is_null(v: Val) -> bool {
    v == NULL
}
