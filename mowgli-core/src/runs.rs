//! The runs of each thread: plain executions with the shapes of their events, for every value that can be justified.
//!
//! What a call can return depends on what can be written, and the other way round, so the two are computed together as
//! a least fixed point, thread by thread. Every value of a real execution is justified by a chain of distinct events
//! that starts at a constant, so the fixed point has every value that occurs in one, and ends.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;

use crate::denote::{Trace, Unfolder, Unfolding};
use crate::event::{Cell, Reads, Shape, Writes};
use crate::ids::{Name, Tid};
use crate::program::Prog;
use crate::stamp::Stamp;
use crate::value::Val;

/// One plain execution of a thread with a shape for each event.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Run<S> {
    /// Events and output.
    pub trace: Trace,
    /// How each event happens.
    pub shapes: Vec<Shape<S>>,
}

/// Runs of one thread that differ in data only: same calls up to data, same subevents on the same cells.
/// They share one search.
#[derive(Clone, Debug)]
pub struct Skeleton<S> {
    /// The runs, at least one.
    pub runs: Vec<Run<S>>,
}

impl<S: Clone> Skeleton<S> {
    /// The runs with this output.
    #[must_use]
    pub fn with_output(&self, output: Val) -> Self {
        Self { runs: self.runs.iter().filter(|r| r.trace.output == output).cloned().collect() }
    }
}

/// What stopped a search before it was complete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// An implementation is not well defined (LOCO Def. 3.9); the text says why.
    IllDefined(String),
    /// A loop with effects reached the bound on rounds; the text says which.
    Loop(String),
    /// A thread has more plain executions than the limit.
    Traces(Tid),
    /// More different values than one search can tell apart.
    Values,
    /// The time budget was used up.
    Time,
    /// No client has an execution that ends, so nothing was checked.
    Vacuous,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::IllDefined(why) => write!(f, "not well defined (LOCO Def. 3.9): {why}"),
            Self::Loop(place) => write!(f, "a loop with effects reached the bound on rounds ({place})"),
            Self::Traces(t) => write!(f, "thread {t} has more plain executions than the limit"),
            Self::Values => f.write_str("more than 127 different values in one program"),
            Self::Vacuous => f.write_str("no client within the bound has an execution that ends"),
            Self::Time => f.write_str("the time limit was reached"),
        }
    }
}

/// The runs of each thread.
type Runs<S> = Vec<Vec<Run<S>>>;

/// For each cell what each thread can write to it.
type Written = BTreeMap<Cell, Vec<BTreeSet<Val>>>;

/// The skeletons of every thread of `programs`, and what was cut off, if anything was.
pub fn skeletons<S: Stamp>(unfolder: &Unfolder<'_, S>, programs: &[Prog]) -> (Vec<Vec<Skeleton<S>>>, Option<Stop>) {
    let mut written = Written::new();
    let mut round = 0;
    loop {
        let (runs, waiting, stop) = all_runs(unfolder, programs, &written);
        let mut next = collect_writes(unfolder, &runs, &written);
        for (cell, threads) in collect_writes(unfolder, &waiting, &written) {
            let all = next.entry(cell).or_insert_with(|| vec![BTreeSet::new(); threads.len()]);
            all.iter_mut().zip(threads).for_each(|(all, more)| all.extend(more));
        }
        // A chain passes each event once, so more rounds than events add values that nothing justifies.
        let events = runs
            .iter()
            .zip(&waiting)
            .map(|(a, b)| a.iter().chain(b))
            .map(|rs| rs.map(|r| r.shapes.len()).max().unwrap_or(0))
            .sum::<usize>();
        if next == written || round > events || stop.is_some() && round > 2 {
            return (runs.into_iter().map(group).collect(), stop);
        }
        written = next;
        round += 1;
    }
}

fn all_runs<S: Stamp>(
    unfolder: &Unfolder<'_, S>,
    programs: &[Prog],
    written: &Written,
) -> (Runs<S>, Runs<S>, Option<Stop>) {
    let mut stop = None;
    let mut waiting_runs = Vec::new();
    let cells = |cell: Cell| {
        let by_others = written.get(&cell).into_iter().flatten().flatten().copied();
        std::iter::once(initial(unfolder, cell)).chain(by_others).sorted().dedup().collect::<Vec<_>>()
    };
    let threads = unfolder.world.tids().zip(programs).map(|(thread, program)| {
        let Unfolding { traces, waiting, hit, too_many, ill_defined } = unfolder.unfold(thread, program, &cells);
        if let Some(why) = ill_defined {
            stop = Some(Stop::IllDefined(why));
        } else if too_many {
            stop.get_or_insert(Stop::Traces(thread));
        } else if let (Some(place), None) = (hit, &stop) {
            stop = Some(Stop::Loop(place));
        }
        let runs = |traces: Vec<Trace>| -> Vec<Run<S>> {
            let runs = traces.into_iter().flat_map(|t| with_shapes(unfolder, t));
            runs.filter(|run| justified(unfolder, thread, run, written)).collect()
        };
        waiting_runs.push(runs(waiting.into_iter().collect()));
        runs(traces)
    });
    let threads = threads.collect();
    (threads, waiting_runs, stop)
}

fn initial<S: Stamp>(unfolder: &Unfolder<'_, S>, cell: Cell) -> Val {
    let library = unfolder.world.objects.get(&cell.loc).and_then(|o| unfolder.libraries.get(o.library));
    library.map_or(Val::Int(0), |l| l.init(unfolder.world, cell))
}

fn with_shapes<S: Stamp>(unfolder: &Unfolder<'_, S>, trace: Trace) -> Vec<Run<S>> {
    let shapes = trace.events.iter().map(|e| unfolder.libraries.of(&e.call).shapes(unfolder.world, e));
    let mut partial: Vec<Vec<Shape<S>>> = vec![Vec::new()];
    for choices in shapes {
        partial = partial
            .iter()
            .flat_map(|done| choices.iter().map(|s| [done.as_slice(), std::slice::from_ref(s)].concat()))
            .collect();
    }
    partial.into_iter().map(|shapes| Run { trace: trace.clone(), shapes }).collect()
}

/// What a cell may hold as far as this run sees it: the initial value, what others write, what the run writes itself.
struct Holds<'a, S: Stamp> {
    unfolder: &'a Unfolder<'a, S>,
    thread: Tid,
    written: &'a Written,
    own: BTreeMap<Cell, BTreeSet<Val>>,
}

impl<'a, S: Stamp> Holds<'a, S> {
    fn of(unfolder: &'a Unfolder<'a, S>, thread: Tid, run: &Run<S>, written: &'a Written) -> Self {
        let mut holds = Self { unfolder, thread, written, own: BTreeMap::new() };
        // A chain of copies and additions passes each subevent once.
        for _ in 0..=run.shapes.iter().map(|s| s.len()).sum::<usize>() {
            if !holds.add_round(run) {
                break;
            }
        }
        holds
    }

    fn add_round(&mut self, run: &Run<S>) -> bool {
        let mut changed = false;
        for shape in &run.shapes {
            for sub in shape {
                let (Some(cell), Some(writes)) = (sub.cell, sub.writes) else { continue };
                for v in self.possible(shape, writes) {
                    changed |= self.own.entry(cell).or_default().insert(v);
                }
            }
        }
        changed
    }

    fn values(&self, cell: Cell) -> impl Iterator<Item = Val> + '_ {
        let others = self.written.get(&cell).into_iter().flat_map(|by| by.iter().enumerate());
        let others = others.filter(|(t, _)| *t != self.thread.index()).flat_map(|(_, vs)| vs);
        let own = self.own.get(&cell).into_iter().flatten();
        std::iter::once(initial(self.unfolder, cell)).chain(others.chain(own).copied())
    }

    fn possible(&self, shape: &Shape<S>, writes: Writes) -> Vec<Val> {
        match writes {
            Writes::Is(v) => vec![v],
            Writes::Copy(from) => self.read(shape, from),
            Writes::Add(from, k) => self.read(shape, from).into_iter().filter_map(|v| v.plus(k)).collect(),
        }
    }

    fn read(&self, shape: &Shape<S>, from: usize) -> Vec<Val> {
        let sub = &shape[from];
        let cell = sub.cell.expect("a subevent that reads touches a cell");
        self.values(cell).filter(|v| sub.reads.is_some_and(|r| r.allows(*v))).collect()
    }
}

impl Reads {
    /// Whether the read may yield `v`.
    #[must_use]
    pub fn allows(self, v: Val) -> bool {
        match self {
            Self::Is(w) => v == w,
            Self::IsNot(w) => v != w,
            Self::Any => true,
        }
    }
}

fn justified<S: Stamp>(unfolder: &Unfolder<'_, S>, thread: Tid, run: &Run<S>, written: &Written) -> bool {
    let holds = Holds::of(unfolder, thread, run, written);
    run.shapes.iter().flatten().all(|sub| match (sub.cell, sub.reads) {
        (Some(cell), Some(reads)) => holds.values(cell).any(|v| reads.allows(v)),
        _ => true,
    })
}

fn collect_writes<S: Stamp>(unfolder: &Unfolder<'_, S>, runs: &[Vec<Run<S>>], written: &Written) -> Written {
    let threads = runs.len();
    let mut next = Written::new();
    for (index, runs) in runs.iter().enumerate() {
        for run in runs {
            let holds = Holds::of(unfolder, Tid::from_index(index), run, written);
            for (cell, values) in holds.own {
                next.entry(cell).or_insert_with(|| vec![BTreeSet::new(); threads])[index].extend(values);
            }
        }
    }
    next
}

/// One event up to data: library, method, the arguments that are no data, and each subevent with its cell and kinds.
type EventKey<S> = (Name, Name, Vec<Option<Val>>, Vec<(S, Option<Cell>, u8, u8)>);

fn event_keys<S: Stamp>(run: &Run<S>) -> Vec<EventKey<S>> {
    let erase = |v: &Val| (!v.is_data()).then_some(*v);
    let events = run.trace.events.iter().zip(&run.shapes);
    events
        .map(|(e, shape)| {
            let subs = shape.iter().map(|s| (s.stamp, s.cell, u8::from(s.reads.is_some()), kind(s.writes)));
            (e.call.library, e.call.method, e.call.args.iter().map(erase).collect(), subs.collect())
        })
        .collect()
}

fn kind(writes: Option<Writes>) -> u8 {
    match writes {
        None => 0,
        Some(Writes::Is(_)) => 1,
        Some(Writes::Copy(_)) => 2,
        Some(Writes::Add(..)) => 3,
    }
}

fn group<S: Stamp>(runs: Vec<Run<S>>) -> Vec<Skeleton<S>> {
    let mut by_key = BTreeMap::new();
    for run in runs {
        let calls: Vec<_> = run.trace.calls.iter().map(|g| (g.event.call.method, g.parent)).collect();
        let key = (event_keys(&run), run.trace.groups.clone(), calls);
        by_key.entry(key).or_insert_with(Vec::new).push(run);
    }
    by_key.into_values().map(|runs| Skeleton { runs }).collect()
}
