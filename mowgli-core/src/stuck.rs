//! Executions that are stuck: every thread has ended or goes round in a loop, and nothing will ever change that.
//!
//! All that was issued has arrived, as an execution has every subevent of its events, and each order is complete. A thread
//! goes round in a loop for ever if its last round reads what every further round will read: the last value of each cell,
//! or what the round itself wrote before, and if no other results of its calls, with these values, lead out of the loop.
//! That is the fairness under which spin loops are meant to end: a newer value is read some day, and a call that may fail
//! or not, with the same in memory, does not fail for ever.

use std::cell::RefCell;

use typed_arena::Arena;

use crate::event::{Cell, Event};
use crate::execution::Execution;
use crate::flow::{self, Idle, Runs};
use crate::graph::Graph;
use crate::ids::Tid;
use crate::judge::{judge, repeats};
use crate::problem::{Found, Problem};
use crate::runs::{Skeleton, Stop};
use crate::search::solver::{End, Flow, Solver, Source};
use crate::stamp::Stamp;
use crate::thread::Threads;
use crate::value::Val;

/// An execution that is stuck.
#[derive(Clone, Debug)]
pub struct Stuck<S> {
    /// The execution, with one round of each loop that goes on for ever.
    pub execution: Execution<S>,
    /// For each thread the first event of that round among those of the thread; `None` for a thread that has ended.
    pub rounds: Vec<Option<usize>>,
}

impl<S: Stamp> Stuck<S> {
    /// The events of a thread that it repeats; none if it has ended.
    #[must_use]
    pub fn repeated(&self, thread: Tid) -> Vec<usize> {
        let Some(start) = self.rounds[thread.index()] else { return Vec::new() };
        self.execution.of_thread(thread).skip(start).collect()
    }

    /// The call of the client that a thread is in and that does not return.
    #[must_use]
    pub fn pending(&self, thread: Tid) -> Option<&Event> {
        let call = self.outermost(*self.repeated(thread).first()?)?;
        Some(&self.execution.calls[call].event)
    }

    fn outermost(&self, event: usize) -> Option<usize> {
        let mut call = self.execution.groups[event]?;
        while let Some(parent) = self.execution.calls[call].parent {
            call = parent;
        }
        Some(call)
    }
}

impl<S: Stamp> Problem<'_, S> {
    /// The first stuck execution of these runs of the program that `matters`, by what the calls of each thread have returned
    /// in it.
    pub fn stuck(&self, runs: &Runs<S>, matters: &mut dyn FnMut(&[Vec<Val>]) -> bool) -> Found<Option<Stuck<S>>> {
        S::search().stuck(self, runs, matters)
    }

    pub(crate) fn stuck_inner(
        &self,
        runs: &Runs<S>,
        matters: &mut dyn FnMut(&[Vec<Val>]) -> bool,
    ) -> Found<Option<Stuck<S>>> {
        let idle = match &runs.idle {
            Some(idle) => Found::new(idle.clone(), runs.stop.clone()),
            None => match flow::idle(self) {
                Some(idle) => idle,
                None => return Found::new(None, Some(Stop::OutOfNowhere)),
            },
        };
        let (idle, stopped) = idle.so_far();
        let mut stop = stopped.cloned();
        for idle in idle {
            if !matters(&idle.iter().map(returned).collect::<Vec<_>>()) {
                continue;
            }
            match self.first_stuck(idle) {
                Ok((Some(found), _)) if self.says_something(idle) => return Found::new(Some(found), None),
                // A library that says nothing forbids nothing: it might have forbidden this one.
                Ok((Some(_), _)) => _ = stop.get_or_insert(Stop::Unfinished),
                Ok((None, End::Late)) => stop = Some(Stop::Time),
                Ok(_) => {}
                Err(too_many) => _ = stop.get_or_insert(too_many),
            }
            if (self.limits.expired)() {
                return Found::new(None, Some(Stop::Time));
            }
        }
        Found::new(None, stop)
    }

    /// Whether the libraries say something of calls that others would have followed: one that holds a lock has not yet
    /// released it.
    fn says_something(&self, idle: &[Idle<S>]) -> bool {
        let events: Vec<&Event> = idle.iter().flat_map(|(run, _)| &run.trace.events).collect();
        self.all_say(&events, |library, own| library.admits(self.world, own) && library.is_well_formed(self.world, own))
    }

    /// Whether some thread comes out of its loop with other results, with what is in memory at the end.
    fn comes_out(&self, execution: &Execution<S>, idle: &[Idle<S>]) -> bool {
        let points = Arena::new();
        let (libraries, implementations, world) = (self.libraries, self.implementations, self.world);
        // A thread that goes round without a choice does so for ever: as many rounds as its run has calls are enough.
        let rounds = idle.iter().map(|(run, _)| run.trace.events.len()).max().unwrap_or(0);
        let seen = RefCell::default();
        let threads = Threads { libraries, implementations, world, rounds, points: &points, seen, notes: false };
        let last = |cell: Cell| vec![execution.last(libraries, cell).unwrap_or_else(|| self.initial(cell))];
        let mut programs = self.world.tids().zip(self.programs).zip(idle);
        programs.any(|((t, program), (run, start))| {
            start.is_some_and(|start| threads.comes_out(t, program, (run, start), &last))
        })
    }

    /// The first stuck execution of these runs, and how the search for it ended.
    fn first_stuck(&self, idle: &[Idle<S>]) -> Result<(Option<Stuck<S>>, End), Stop> {
        let skeletons: Vec<Skeleton<S>> = idle.iter().map(|(run, _)| Skeleton { runs: vec![run.clone()] }).collect();
        let graph = Graph::new(self.world, skeletons.iter().collect());
        let reads = repeated_reads(&graph, idle);
        let mut cells: Vec<Cell> = reads.iter().map(|&(_, _, cell)| cell).collect();
        cells.sort();
        cells.dedup();
        let mut solver = Solver::new(graph, self.libraries, &cells, self.limits.expired)?;
        let rounds: Vec<Option<usize>> = idle.iter().map(|(_, start)| *start).collect();
        let mut found = None;
        let end = solver.explore(&mut |solver| {
            let last = solver.last_values();
            let last = |cell: Cell| {
                let position = cells.binary_search(&cell).expect("it is observed");
                last[position].unwrap_or_else(|| self.initial(cell))
            };
            let is_repeated = |&(read, round, cell): &(usize, (usize, usize), Cell)| {
                let inside = matches!(solver.source(read), Source::Write(w) if (round.0..round.1).contains(&w));
                inside || solver.value_read(read) == Some(last(cell))
            };
            if !reads.iter().all(is_repeated) {
                return Flow::Continue;
            }
            let snapshot = solver.snapshot();
            assert!(solver.complete(), "a class has a completion");
            let execution = solver.execution().expect("everything is decided");
            solver.restore(snapshot);
            if let Err(complaint) = judge(self.libraries, &execution) {
                panic!("judge and search disagree: {complaint}");
            }
            let stuck = Stuck { execution, rounds: rounds.clone() };
            let repeated: Vec<Vec<usize>> = self.world.tids().map(|t| stuck.repeated(t)).collect();
            assert!(repeats(self.libraries, &stuck.execution, &repeated), "judge and search disagree on what is last");
            if self.comes_out(&stuck.execution, idle) {
                return Flow::Continue;
            }
            found = Some(stuck);
            Flow::Stop
        });
        Ok((found, end))
    }
}

/// What the client's calls have returned in a run, but for one in which it goes round in a loop.
fn returned<S>((run, start): &Idle<S>) -> Vec<Val> {
    let trace = &run.trace;
    let outermost = |mut call: usize| {
        while let Some(parent) = trace.calls[call].parent {
            call = parent;
        }
        call
    };
    // A round without any call is of the call that was made last.
    let last = trace.calls.len().checked_sub(1);
    let pending = start.and_then(|start| trace.groups.get(start).copied().unwrap_or(last)).map(outermost);
    let calls = trace.calls.iter().enumerate();
    calls.filter(|(c, call)| call.parent.is_none() && Some(*c) != pending).map(|(_, call)| call.event.ret).collect()
}

/// The reads of the rounds that are repeated, each with the subevents of its round, first and one past the last, and its
/// cell.
fn repeated_reads<S: Stamp>(graph: &Graph<'_, S>, idle: &[Idle<S>]) -> Vec<(usize, (usize, usize), Cell)> {
    let mut reads = Vec::new();
    for (ends, (run, start)) in graph.starts.windows(2).zip(idle) {
        let Some(start) = start else { continue };
        let first = ends[0] + run.shapes[..*start].iter().map(|shape| shape.len()).sum::<usize>();
        let own = (first..ends[1]).filter(|&s| graph.subs[s].sub.reads.is_some());
        reads.extend(own.filter_map(|s| Some((s, (first, ends[1]), graph.subs[s].sub.cell?))));
    }
    reads
}

impl<S: Stamp> Stuck<S> {
    /// What the rounds of a thread read, each cell once, with the value.
    #[must_use]
    pub fn reads(&self, thread: Tid) -> Vec<(Cell, Val)> {
        let repeated = self.repeated(thread);
        let own = self.execution.subs.iter().filter(|s| repeated.contains(&s.event));
        let mut reads: Vec<(Cell, Val)> = own.filter_map(|s| Some((s.sub.cell?, s.read?))).collect();
        reads.sort();
        reads.dedup();
        reads
    }
}
