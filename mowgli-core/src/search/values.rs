//! Domains: the values that each subevent can still read and write, its source, and the runs of each thread that remain.
//!
//! Values are numbered per search. The functions here remove only values that occur in no execution. Once every read has its
//! source, each set is a single value.

use std::collections::BTreeSet;

use crate::event::{Event, Reads, Sub, Writes};
use crate::search::graph::Graph;
use crate::search::numbers::{NumberSet, Numbering};
use crate::search::runs::{Run, Skeleton};
use crate::value::Val;

/// The number of values that updates may make in any order. If there are more, only those of possible chains are numbered, because few
/// updates can make very many values.
const MANY: usize = 127;

/// The values of one subevent in one run.
#[derive(Clone, Copy)]
struct RunValues {
    reads: NumberSet,
    writes: NumberSet,
}

/// The source of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Not decided.
    Open,
    /// The initial value.
    Initial,
    /// This write.
    Write(usize),
}

/// The facts about each subevent that decisions narrow. The search copies them at every decision.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Domains {
    /// The values that it can read.
    pub reads: Vec<NumberSet>,
    /// The values that it can write.
    pub writes: Vec<NumberSet>,
    /// The source of what it reads.
    pub sources: Vec<Source>,
    /// The latest time of a source. [`u32::MAX`] if it may read from a write that does not exist yet.
    pub until: Vec<u32>,
}

/// A write whose value is a function of the value that another subevent of its event reads.
pub struct ValueStep {
    /// The subevent that reads.
    pub from: usize,
    /// The subevent that writes.
    pub to: usize,
    /// The written value for the number of each read value; the empty set if nothing is written. [`ValueStep::UNKNOWN`] for
    /// a value without a number.
    pub table: Vec<NumberSet>,
}

impl ValueStep {
    /// A written value without a number.
    pub const UNKNOWN: NumberSet = NumberSet::ALL;

    /// Returns the values that can be read among `reads`, and those that can be written then. `unnumbered` are the values that
    /// have no number yet; a value of these may become any other one.
    pub fn allowed(&self, domains: &Domains, reads: NumberSet, unnumbered: NumberSet) -> (NumberSet, NumberSet) {
        let (reads, writes) = (domains.reads[self.from] & reads, domains.writes[self.to]);
        let mut read = reads & unnumbered;
        let mut written = if read.is_empty() { NumberSet::NONE } else { writes };
        for number in reads.below(self.table.len()) {
            let made = self.table[number];
            let made = if made == Self::UNKNOWN { unnumbered } else { made } & writes;
            if !made.is_empty() {
                (read, written) = (read | NumberSet::one(number), written | made);
            }
        }
        (read, written)
    }
}

/// Narrows what two subevents read and write for each copy, which writes what it reads. Returns `false` if nothing is left.
pub fn narrow_copies(copies: &[(usize, usize)], domains: &mut Domains, changed: &mut bool) -> bool {
    copies.iter().all(|&(from, to)| {
        let both = domains.reads[from] & domains.writes[to];
        intersect(&mut domains.reads[from], both, changed);
        intersect(&mut domains.writes[to], both, changed);
        !both.is_empty()
    })
}

/// Returns the values that a subevent of this shape reads and those that it writes. `number` returns the number of a value.
pub fn values_of_sub(sub: &Sub, mut number: impl FnMut(Val) -> NumberSet) -> (NumberSet, NumberSet) {
    let reads = match sub.reads {
        Some(Reads::Is(v)) => number(v),
        Some(Reads::IsNot(v)) => !number(v),
        Some(Reads::Any) | None => NumberSet::ALL,
    };
    let writes = match sub.writes {
        Some(Writes::Is(v)) => number(v),
        _ => NumberSet::ALL,
    };
    (reads, writes)
}

/// The fixed part: what each run allows, and how written values depend on read ones.
pub struct Values {
    /// The numbering.
    pub numbering: Numbering<Val>,
    rows: Vec<Vec<Vec<RunValues>>>,
    copies: Vec<(usize, usize)>,
    /// For each thread and run.
    steps: Vec<Vec<Vec<ValueStep>>>,
    starts: Vec<usize>,
}

/// The values that steps make.
pub enum StepValues {
    /// Those that they make in any order.
    AllOrders,
    /// These.
    These(BTreeSet<Val>),
    /// Any: a written value does not depend on the one that is read.
    Any,
}

/// Returns the values of a graph and the initial one of each subevent's cell; `None` if there are too many. `init` returns
/// the initial value of a subevent's cell, and `step` is [`crate::library::Library::step_by_function`].
pub fn prepare(
    graph: &Graph<'_>,
    init: impl Fn(&Graph<'_>, usize) -> Val,
    step: &dyn Fn(&Event, Val) -> Option<Val>,
    steps: &StepValues,
) -> Option<(Values, Vec<NumberSet>)> {
    let mut numbering = Numbering::default();
    let initial = (0..graph.len()).map(|s| numbering.set(init(graph, s))).collect();
    for skeleton in &graph.skeletons {
        for sub in skeleton.runs.iter().flat_map(|r| r.shapes.iter().flatten()) {
            if let Some(Reads::Is(v) | Reads::IsNot(v)) = sub.reads {
                numbering.set(v);
            }
            if let Some(Writes::Is(v)) = sub.writes {
                numbering.set(v);
            }
        }
    }
    match steps {
        StepValues::Any => {}
        StepValues::AllOrders => add_steps(graph, step, &mut numbering)?,
        StepValues::These(made) => made.iter().for_each(|&v| _ = numbering.set(v)),
    }
    let rows = graph.skeletons.iter().map(|s| s.runs.iter().map(|run| row(run, &mut numbering)).collect()).collect();
    let copies = (0..graph.len()).filter_map(|s| copy(graph, s)).collect();
    let starts = graph.starts.clone();
    let dependencies = |run: &Run, start: usize| match steps {
        StepValues::Any => Vec::new(),
        _ => dependencies(run, start, step, &numbering),
    };
    let of_thread =
        |(s, &start): (&&Skeleton, &usize)| s.runs.iter().map(|run| dependencies(run, start)).collect::<Vec<_>>();
    let steps = graph.skeletons.iter().zip(&starts).map(of_thread).collect();
    Some((Values { numbering, rows, copies, steps, starts }, initial))
}

/// NumberSet every value that steps can make, unless they are too many. Each step happens once, so as many passes as there are
/// steps are enough.
fn add_steps(
    graph: &Graph<'_>,
    step: &dyn Fn(&Event, Val) -> Option<Val>,
    numbering: &mut Numbering<Val>,
) -> Option<()> {
    let most = numbering.len() + MANY;
    let is_step = |sub: &Sub| matches!(sub.writes, Some(Writes::Step(_)));
    let runs = graph.skeletons.iter().flat_map(|s| &s.runs);
    let calls = runs.flat_map(|run| run.trace.events.iter().zip(&run.shapes));
    let stepping: BTreeSet<&Event> = calls.filter(|(_, shape)| shape.iter().any(is_step)).map(|(e, _)| e).collect();
    for _ in graph.subs.iter().filter(|place| is_step(&place.sub)) {
        for v in numbering.all().to_vec() {
            for result in stepping.iter().filter_map(|event| step(event, v)) {
                numbering.number(result);
                if numbering.len() > most {
                    return None;
                }
            }
        }
    }
    Some(())
}

fn dependencies(
    run: &Run,
    start: usize,
    step: &dyn Fn(&Event, Val) -> Option<Val>,
    numbering: &Numbering<Val>,
) -> Vec<ValueStep> {
    let mut all = Vec::new();
    let mut base = start;
    for (event, shape) in run.trace.events.iter().zip(&run.shapes) {
        for (position, sub) in shape.iter().enumerate() {
            if let Some(Writes::Step(from)) = sub.writes {
                let made = |&v: &Val| step(event, v).map_or(NumberSet::NONE, |w| numbering.known(w));
                let results = numbering.all().iter().map(made);
                all.push(ValueStep { from: base + from, to: base + position, table: results.collect() });
            }
        }
        base += shape.len();
    }
    all
}

fn row(run: &Run, numbering: &mut Numbering<Val>) -> Vec<RunValues> {
    let values = run.shapes.iter().flatten().map(|sub| values_of_sub(sub, |v| numbering.set(v)));
    values.map(|(reads, writes)| RunValues { reads, writes }).collect()
}

/// Returns the read that a subevent copies, and the subevent.
fn copy(graph: &Graph<'_>, s: usize) -> Option<(usize, usize)> {
    let place = graph.subs[s];
    match place.sub.writes? {
        Writes::Is(_) | Writes::Step(_) => None,
        Writes::Copy(from) => Some((place.base + from, s)),
    }
}

impl Values {
    /// Narrows the sets to the values that remaining runs and copies allow. Returns `false` if a set becomes empty. Sets
    /// `changed` on change.
    pub fn narrow(&self, domains: &mut Domains, changed: &mut bool) -> bool {
        (0..self.rows.len()).all(|t| self.narrow_thread(t, domains, changed))
            && narrow_copies(&self.copies, domains, changed)
    }

    fn narrow_thread(&self, thread: usize, domains: &mut Domains, changed: &mut bool) -> bool {
        let (start, end) = (self.starts[thread], self.starts[thread + 1]);
        let mut alive = self.alive(thread, domains);
        let Some(first) = alive.next() else { return false };
        let mut union: Vec<RunValues> = self.rows[thread][first].clone();
        for run in alive {
            for (all, row) in union.iter_mut().zip(&self.rows[thread][run]) {
                all.reads |= row.reads;
                all.writes |= row.writes;
            }
        }
        for (s, row) in (start..end).zip(union) {
            intersect(&mut domains.reads[s], row.reads, changed);
            intersect(&mut domains.writes[s], row.writes, changed);
        }
        self.narrow_steps(thread, domains, changed);
        true
    }

    /// The runs of a thread that the sets still allow.
    pub fn alive<'a>(&'a self, thread: usize, domains: &'a Domains) -> impl Iterator<Item = usize> + 'a {
        let start = self.starts[thread];
        let runs = self.rows[thread].iter().enumerate();
        let alive = runs.filter(move |(run, rows)| {
            rows.iter().enumerate().all(|(i, row)| {
                let (reads, writes) = (domains.reads[start + i], domains.writes[start + i]);
                !(row.reads & reads).is_empty() && !(row.writes & writes).is_empty()
            }) && self.steps[thread][*run]
                .iter()
                .all(|s| !s.allowed(domains, rows[s.from - start].reads, NumberSet::NONE).1.is_empty())
        });
        alive.map(|(index, _)| index)
    }

    /// The first subevent of a thread that can read several values, and whose value says which of its runs it is.
    pub fn telling(&self, thread: usize, domains: &Domains) -> Option<usize> {
        let mut alive = self.alive(thread, domains);
        let first = &self.rows[thread][alive.next()?];
        let differs = |rows: &Vec<RunValues>, i: usize| rows[i].reads != first[i].reads;
        let others: Vec<&Vec<RunValues>> = alive.map(|run| &self.rows[thread][run]).collect();
        let start = self.starts[thread];
        (0..first.len())
            .find(|&i| {
                let has_several = !domains.reads[start + i].is_single_below(self.numbering.len());
                has_several && others.iter().any(|rows| differs(rows, i))
            })
            .map(|i| start + i)
    }

    /// Narrows the reads and writes of the steps of a thread to the values that its remaining runs allow.
    fn narrow_steps(&self, thread: usize, domains: &mut Domains, changed: &mut bool) {
        let start = self.starts[thread];
        for index in 0..self.steps[thread][0].len() {
            let (mut read, mut written) = (NumberSet::NONE, NumberSet::NONE);
            for run in self.alive(thread, domains) {
                let step = &self.steps[thread][run][index];
                let (r, w) = step.allowed(domains, self.rows[thread][run][step.from - start].reads, NumberSet::NONE);
                (read, written) = (read | r, written | w);
            }
            let ValueStep { from, to, .. } = self.steps[thread][0][index];
            intersect(&mut domains.reads[from], read, changed);
            intersect(&mut domains.writes[to], written, changed);
        }
    }
}

/// Intersects two sets, and sets `changed` on change.
pub fn intersect(set: &mut NumberSet, with: NumberSet, changed: &mut bool) {
    let next = *set & with;
    *changed |= next != *set;
    *set = next;
}
