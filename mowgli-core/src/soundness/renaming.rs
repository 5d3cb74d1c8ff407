//! Clients that differ by a renaming of the values that they write.
//!
//! Nothing that a search asks of values but whether they are equal changes when they are renamed one to one. So if the runs
//! of a client's threads are those of another one renamed, and the specification takes its calls for the same, what holds
//! of the one holds of the other. Whether that is so is not assumed of an implementation, which may add values or compare
//! them with its own: both clients are run, and their runs compared. A client with any difference is looked at itself.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;

use super::client::Client;
use crate::event::{Call, Event, Reads, Shape, Writes};
use crate::flow::Runs;
use crate::library::Libraries;
use crate::outcome::Problem;
use crate::runs::Run;
use crate::stamp::Stamp;
use crate::value::Val;
use crate::world::World;

/// A one-to-one map of integers; those that it does not name stay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renaming(BTreeMap<i64, i64>);

impl Renaming {
    /// The renaming of these `values` with which those that a client writes appear in their order; `None` if they do
    /// already.
    #[must_use]
    pub fn in_order(values: &[i64], client: &Client) -> Option<Self> {
        let mut seen: Vec<i64> = Vec::new();
        let args = client.threads.iter().flatten().flat_map(|call| &call.args);
        for v in args.flat_map(|&arg| integers(arg)).filter(|v| values.contains(v)) {
            if !seen.contains(&v) {
                seen.push(v);
            }
        }
        let rest = values.iter().copied().filter(|v| !seen.contains(v)).collect_vec();
        let to: BTreeMap<i64, i64> = seen.into_iter().chain(rest).zip(values.iter().copied()).collect();
        to.iter().any(|(a, b)| a != b).then_some(Self(to))
    }

    fn value(&self, v: Val) -> Val {
        match v {
            Val::Int(i) => Val::Int(*self.0.get(&i).unwrap_or(&i)),
            Val::Tuple(parts) => Val::tuple(&parts.parts().iter().map(|&v| self.value(v)).collect::<Vec<_>>()),
            other => other,
        }
    }

    fn call(&self, call: &Call) -> Call {
        Call { args: call.args.iter().map(|&v| self.value(v)).collect(), ..call.clone() }
    }

    fn event(&self, event: &Event) -> Event {
        Event { thread: event.thread, call: self.call(&event.call), ret: self.value(event.ret) }
    }

    fn shape<S: Stamp>(&self, shape: &Shape<S>) -> Shape<S> {
        let mut shape = shape.clone();
        for sub in &mut shape {
            sub.reads = sub.reads.map(|reads| match reads {
                Reads::Is(v) => Reads::Is(self.value(v)),
                Reads::IsNot(v) => Reads::IsNot(self.value(v)),
                Reads::Any => Reads::Any,
            });
            sub.writes = sub.writes.map(|writes| match writes {
                Writes::Is(v) => Writes::Is(self.value(v)),
                other => other,
            });
        }
        shape
    }

    fn run<S: Stamp>(&self, run: &Run<S>) -> Run<S> {
        let mut run = run.clone();
        run.trace.events.iter_mut().for_each(|e| *e = self.event(e));
        run.trace.calls.iter_mut().for_each(|group| group.event = self.event(&group.event));
        run.trace.output = self.value(run.trace.output);
        run.shapes = run.shapes.iter().map(|shape| self.shape(shape)).collect();
        run
    }

    /// The client with its values renamed.
    #[must_use]
    pub fn client(&self, client: &Client) -> Client {
        let thread = |calls: &Vec<Call>| calls.iter().map(|call| self.call(call)).collect();
        Client { threads: client.threads.iter().map(thread).collect() }
    }

    /// Whether the runs of `one` renamed are just those of `other`, nothing of either was cut off, and what else is asked
    /// of values gives the same: what the libraries of the calls make of a value that an update reads, and how the
    /// `specification` says that the replaced calls happen.
    pub fn relates<S: Stamp>(
        &self,
        one: &Problem<'_, S>,
        other: &Problem<'_, S>,
        specification: &Libraries<S>,
    ) -> bool {
        let (first, second) = (one.runs(), other.runs());
        let is_whole = |runs: &Runs<S>| runs.stop.is_none();
        let all = |runs: &Runs<S>, rename: &dyn Fn(&Run<S>) -> Run<S>| -> Vec<BTreeSet<Run<S>>> {
            let threads = runs.threads.iter();
            threads.map(|of_thread| of_thread.iter().flat_map(|s| &s.runs).map(rename).collect()).collect()
        };
        is_whole(&first)
            && is_whole(&second)
            && first.bound == second.bound
            && first.together.len() == second.together.len()
            && all(&first, &|run| self.run(run)) == all(&second, &Run::clone)
            && self.keeps(one.world, one.libraries, &events(&first, |run| run.trace.events.iter().collect()))
            && self.keeps(one.world, specification, &events(&first, |run| replaced(run)))
    }

    /// Whether these events happen in the same ways when they are renamed, and those that update write what they would have.
    fn keeps<S: Stamp>(&self, world: &World, libraries: &Libraries<S>, events: &BTreeSet<&Event>) -> bool {
        let shapes = |e: &Event| libraries.of(&e.call).shapes(world, e);
        let same = |e: &Event| shapes(e).iter().map(|s| self.shape(s)).eq(shapes(&self.event(e)));
        let updates = |e: &Event| shapes(e).iter().flatten().any(|s| matches!(s.writes, Some(Writes::Step(_))));
        let updates: Vec<&Event> = events.iter().copied().filter(|e| updates(e)).collect();
        let step = |e: &Event, v: Val| libraries.of(&e.call).step(e, v);
        events.iter().all(|e| same(e))
            && made(&updates, world, libraries).is_some_and(|values| {
                let of = |e: &Event| {
                    let renamed = self.event(e);
                    values.iter().all(|&v| step(e, v).map(|w| self.value(w)) == step(&renamed, self.value(v)))
                };
                updates.iter().all(|e| of(e))
            })
    }
}

/// What updates can make of initial values and of the values of their calls, one after the other; `None` where there is no
/// end to that.
fn made<S: Stamp>(updates: &[&Event], world: &World, libraries: &Libraries<S>) -> Option<BTreeSet<Val>> {
    let of_calls = updates.iter().flat_map(|e| e.call.args.iter().copied().chain([e.ret]));
    let initial = updates.iter().flat_map(|e| {
        let library = libraries.of(&e.call);
        let cells = library.shapes(world, e).into_iter().flatten().filter_map(|sub| sub.cell);
        cells.map(|cell| library.init(world, cell)).collect::<Vec<_>>()
    });
    let mut values: BTreeSet<Val> = initial.chain(of_calls).collect();
    for _ in 0..ROUNDS {
        let more = |e: &&Event| values.iter().filter_map(|&v| libraries.of(&e.call).step(e, v)).collect::<Vec<_>>();
        let more: Vec<Val> = updates.iter().flat_map(more).collect();
        let before = values.len();
        values.extend(more);
        if values.len() == before {
            return Some(values);
        }
    }
    None
}

/// How many updates one after the other may make new values.
const ROUNDS: usize = 16;

fn integers(v: Val) -> Vec<i64> {
    match v {
        Val::Int(i) => vec![i],
        Val::Tuple(parts) => parts.parts().iter().flat_map(|&v| integers(v)).collect(),
        _ => Vec::new(),
    }
}

/// The calls that no other replaced call made.
fn replaced<S>(run: &Run<S>) -> Vec<&Event> {
    run.trace.calls.iter().filter(|group| group.parent.is_none()).map(|group| &group.event).collect()
}

fn events<S>(runs: &Runs<S>, of: impl Fn(&Run<S>) -> Vec<&Event>) -> BTreeSet<&Event> {
    runs.threads.iter().flatten().flat_map(|s| &s.runs).flat_map(of).collect()
}
