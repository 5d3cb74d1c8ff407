//! Stacks and queues as libraries: linearisable.
//!
//! As for RDMA-SC-RMW (SYNC §5), the calls that change an object have one order, which contains po. Each call finds the
//! state that the previous one left. A call that changes the object is a fence {F}. One that finds it empty only reads
//! {R}: it deliberately does not promise that earlier writes of its thread are seen by then.
//!
//! The calls of a stack all meet at its top, and so is `po u rf u mo u rb`. A queue has two ends. A Deq
//! before an Enq is no promise, because an Enq does not read the other end. An order of the calls in
//! which the two change places has the same results, so that is a promise about order and about no
//! result.

use mowgli_core::algebra::{Set, Spec, calls, spec};
use mowgli_core::event::{Call, Cell, Event};
use mowgli_core::expr::{Expr, all_threads, range, ret};
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::library::{CellValues, Equivariance, Hints, Initial, Library};
use mowgli_core::soundness::client::{Subject, object_names};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::method::{self, Method};
use mowgli_core::term::parts::PartTerm;
use mowgli_core::term::shape::{Shapes, shapes, step};
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, Object, World};
use mowgli_x86::pool::record;
use mowgli_x86::stamp::X86Stamp::{F, R};
use mowgli_x86::to;
use mowgli_x86::tso::{MACHINE, on_one_machine, word_term};

use crate::entry::{Entry, Memory, Variant};
use crate::sc_rmw::sequentially_consistent;
use crate::x86::words::field;

/// A container: one method puts a value in, the other takes one out or returns bottom.
#[derive(Clone, Copy, Debug)]
pub struct Container {
    /// The library's name.
    pub name: Name,
    /// The methods: one that puts a value in, and one that takes one out.
    pub methods: &'static [Method],
    /// True for a stack: the value that was put in last is taken out first.
    pub is_stack: bool,
}

impl Container {
    fn puts(&self, call: &Call) -> bool {
        call.method.text() == self.methods[0].name
    }

    /// Returns the rest of a state, and the value that a call takes out of it. `None` if the container is empty.
    fn taken(&self, state: Val) -> Option<(Val, Val)> {
        let Val::Tuple(values) = state else { return None };
        let values = values.parts();
        let (taken, left) = if self.is_stack { values.split_last()? } else { values.split_first()? };
        Some((Val::tuple(left), *taken))
    }

    /// The subevents of calls of the method at this position.
    fn calls_of(&self, position: usize, name: &'static str) -> Set {
        calls(std::slice::from_ref(&self.methods[position].name)).named(name)
    }

    /// One order of the calls. It does not promise that a value is taken out before another is put in.
    fn with_two_ends(&self) -> Spec {
        let [found, comes, missed] =
            ["{b} found what {a} left", "{a} comes before {b}", "{a} did not find what {b} left"];
        let (puts_in, takes_out) = (self.calls_of(0, "puts_in"), self.calls_of(1, "takes_out"));
        spec! {
            let rf, mo, rb = coherence(found, comes, missed);
            irreflexive lin = (po | rf | mo | rb)+;
            // [F]; takes_out x puts_in; [F]
            let apart = takes_out * puts_in & F * F;
            let rf = rf - apart;
            let mo = mo - apart;
            let rb = rb - apart;
            say rf = found;
            say mo = comes;
            say rb = missed;
            so = po | rf | mo | rb;
        }
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

impl Library for Container {
    fn name(&self) -> Name {
        self.name
    }

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm { kind: self.name.text(), parts: &[] })
    }

    fn methods(&self) -> &'static [Method] {
        self.methods
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        let is_nothing = || self.puts(call) && call.args[1] == Val::Bot;
        let fault = method::fault(world, thread, call, self.methods);
        fault.or_else(|| is_nothing().then(|| format!("bot is no value of {}: it stands for none", call.args[0])))
    }

    fn initial(&self) -> Initial {
        Initial::Value(empty())
    }

    fn step_by_function(&self, event: &Event, read: Val) -> Option<Val> {
        match read {
            Val::Tuple(values) if self.puts(&event.call) => {
                Some(Val::tuple(&[values.parts(), &event.call.args[1..]].concat()))
            }
            _ => self.taken(read).filter(|(_, v)| *v == event.ret).map(|(left, _)| left),
        }
    }

    /// {F} for a call that changes the state, {R} for one that finds nothing.
    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { _ { x } => { if (ret().is(Val::Bot)) { R: reads x, empty() } else { F: updates x => step() } } })
    }

    fn spec(&self) -> Spec {
        if self.is_stack { sequentially_consistent() } else { self.with_two_ends() }
    }
}

impl Hints for Container {
    /// Each call has a result in every state.
    fn may_wait(&self, _: &World, _: &Call) -> Option<bool> {
        Some(false)
    }

    fn returns(&self, _: &World, _: &[Event], _: Tid, call: &Call, cells: CellValues<'_>) -> Vec<Val> {
        if self.puts(call) {
            return vec![Val::Unit];
        }
        let states = cells(state(call.loc(0)));
        let mut results: Vec<Val> = states.iter().map(|s| self.taken(*s).map_or(Val::Bot, |(_, v)| v)).collect();
        results.sort();
        results.dedup();
        results
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::DataIndependent
    }
}

impl Subject for Container {
    fn worlds(&self, empty: &World, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let objects = |count| object_names(&["s"]).take(count).map(|x| (x, Object::new(self.name).at(MACHINE)));
        (1..=bound.objects)
            .flat_map(|count| on_one_machine(empty, |world| world.objects.extend(objects(count))))
            .collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        method::calls(self.name, self.methods, world, thread, bound, expired)
    }
}

/// The entry of the catalogue for a container over words, with these variants.
#[must_use]
pub fn entry(library: Container, variants: Vec<Variant>) -> Entry {
    let memory = Memory::x86_tso();
    // One value shows no order, and three calls have all that two nodes can do.
    let of_three_calls = |mut variant: Variant| {
        variant.bounds.iter_mut().for_each(|bound| (bound.values, bound.total) = (vec![1, 2], Some(3)));
        variant
    };
    Entry {
        name: library.name.text(),
        specification: mowgli_core::library::Libraries::over(to).with(library),
        below: memory.libraries.clone(),
        memory,
        subject: Box::new(library),
        probes: Vec::new(),
        variants: variants.into_iter().map(of_three_calls).collect(),
    }
}

/// The number of nodes that each thread has for each object.
const NODES: i64 = 4;

/// The word of a node that holds its value.
#[must_use]
pub fn value(node: impl Into<Expr>) -> Expr {
    field(node, "value")
}

/// The word of a node that holds the location of another.
#[must_use]
pub fn next(node: impl Into<Expr>) -> Expr {
    field(node, "next")
}

/// The words of a node, as parts of an object.
#[must_use]
pub fn words_of(node: impl Into<Expr>) -> Vec<PartTerm> {
    let node = node.into();
    [value(node), next(node)].map(|word| PartTerm::new(word, word_term())).into()
}

/// The nodes that the threads have for an object, as parts of it.
#[must_use]
pub fn nodes_of(x: Expr) -> Vec<PartTerm> {
    PartTerm::each("t", all_threads(), |t| PartTerm::each("k", range(1, NODES + 1), |k| words_of(record(x, t, k))))
}
