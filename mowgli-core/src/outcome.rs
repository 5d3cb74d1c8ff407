//! All outcomes of a concurrent program, `outcome_Lambda(P)` (LOCO §3.3), and the executions behind them.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;

use crate::abstraction::replay;
use crate::denote::{Trace, Unfolder};
use crate::event::{Cell, Event, Reads, Writes};
use crate::execution::Execution;
use crate::flow::{self, Idle, Note, Runs, Wait, Waits};
use crate::graph::Graph;
use crate::ids::Tid;
use crate::problem::{Found, Problem};
use crate::program::Prog;
use crate::runs::{Run, Skeleton, Skeletons, Stop, skeletons};
use crate::search::refute::{Refutation, refutations};
use crate::search::solver::{Cut, End, Flow, Solver, Stats};
use crate::value::Val;

/// What a search over all executions did and where it stopped.
#[must_use = "the search may have been stopped"]
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explored {
    /// Counts.
    pub stats: Stats,
    /// What was cut off, if anything was.
    pub stop: Option<Stop>,
    /// Plain executions, summed over the threads.
    pub traces: u64,
}

/// The most runs of a thread of a small program.
const PLAIN: usize = 64;

impl Problem<'_> {
    /// Visits every class of consistent executions.
    pub fn explore(&self, visit: &mut dyn FnMut(&mut Solver<'_>) -> Flow) -> Explored {
        self.explore_until(&mut |_| Cut::Open, visit)
    }

    /// As [`Self::explore`], but not further than where `settled` says that nothing more depends on what is open; see
    /// [`Solver::explore_until`].
    pub fn explore_until(
        &self,
        settled: &mut dyn FnMut(&mut Solver<'_>) -> Cut,
        visit: &mut dyn FnMut(&mut Solver<'_>) -> Flow,
    ) -> Explored {
        self.explore_runs(&self.runs(), settled, visit)
    }

    /// Visits every class of consistent executions of these runs.
    pub fn explore_runs(
        &self,
        runs: &Runs,
        settled: &mut dyn FnMut(&mut Solver<'_>) -> Cut,
        visit: &mut dyn FnMut(&mut Solver<'_>) -> Flow,
    ) -> Explored {
        let Runs { threads, together, stop, bound, states, .. } = runs;
        let traces = threads.iter().flatten().map(|s| s.runs.len() as u64).sum();
        let mut explored =
            Explored { stats: Stats { states: *states, ..Stats::default() }, stop: stop.clone(), traces };
        let mut told = false;
        let mut rounds_matter = false;
        for choice in together {
            let choice = chosen(threads, choice);
            let mut settled = |solver: &mut Solver<'_>| {
                if !self.admits(&events_of(solver)) {
                    return Cut::Known;
                }
                rounds_matter |= solver.has_rounds();
                settled(solver)
            };
            match self.explore_one(choice, &mut explored, &mut settled, visit) {
                End::Searched => {}
                End::Told => {
                    told = true;
                    break;
                }
                End::Late => break,
            }
        }
        explored.stop = explored.stop.or(bound.clone().filter(|_| rounds_matter).map(Stop::Loop));
        // A clock that was late somewhere below is late still, whatever was cut short there. Only who was told to stop has
        // seen what it wanted.
        if !told && (self.limits.expired)() {
            explored.stop = Some(Stop::Time);
        }
        explored
    }

    /// The runs that the program can have: values flow, unless the libraries let them come out of nowhere; then they are
    /// guessed.
    #[must_use]
    pub fn runs(&self) -> Runs {
        self.runs_noted(false, None)
    }

    /// The same, with those in which some thread goes round in a loop while no other goes on, where that takes no more.
    #[must_use]
    pub fn runs_and_idle(&self) -> Runs {
        self.runs_noted(true, None)
    }

    /// As [`Self::runs_and_idle`], or as [`Self::runs`]; where values flow, `note` is given what was asked.
    #[must_use]
    pub fn runs_noted(&self, idle: bool, note: Option<Note<'_>>) -> Runs {
        let flowing = || flow::runs(self, idle, note);
        self.plain_runs().or_else(flowing).unwrap_or_else(|| self.guessed_runs(self.limits.traces))
    }

    /// The runs of a small program whose threads do the same whatever they read, as in most litmus tests: no state needs to
    /// be looked at to know them.
    fn plain_runs(&self) -> Option<Runs> {
        let is_plain = |runs: &Runs| runs.stop.is_none() && runs.threads.iter().all(|t| t.len() <= 1);
        self.implementations.is_empty().then(|| self.guessed_runs(PLAIN.min(self.limits.traces))).filter(is_plain)
    }

    /// The runs that the program can have if every value is tried that some write could write; at most so many of a thread.
    fn guessed_runs(&self, most: usize) -> Runs {
        let unfolder = Unfolder { limit: most, ..self.unfolder() };
        let Skeletons { threads, stop, goes_round } = skeletons(&unfolder, self.programs);
        let choices = threads.iter().map(|t| 0..t.len()).multi_cartesian_product();
        let in_time = choices.take_while(|_| !(self.limits.expired)());
        let together = in_time.filter(|choice| self.may_be_admitted(&chosen(&threads, choice))).collect();
        let stop = if (self.limits.expired)() { Some(Stop::Time) } else { stop };
        Runs { threads, together, stop, bound: None, states: 0, idle: (!goes_round).then(Vec::new) }
    }

    /// The runs in which some threads wait in calls and the others end, if every value is tried that some write could write; `None` if
    /// some thread goes round in a loop or makes a call that never returns, or a limit was reached.
    pub(crate) fn guessed_waiting(&self) -> Option<Vec<Vec<Idle>>> {
        let Runs { threads, stop: None, idle: Some(_), .. } = self.guessed_runs(self.limits.traces) else {
            return None;
        };
        let may_wait = |e: &Event| self.libraries.of(&e.call).may_wait(&e.call);
        let before = |run: &Run, at: usize| {
            let Trace { events, groups, .. } = &run.trace;
            (run.beginning(at), Some(Wait { at: Waits::Call(events[at].call.clone()), within: groups[at], depth: 0 }))
        };
        let of_run = |run: &Run| {
            let waits = run.trace.events.iter().positions(may_wait).map(|at| before(run, at));
            waits.chain([(run.clone(), None)]).collect::<Vec<Idle>>()
        };
        let of_thread =
            |skeletons: &Vec<Skeleton>| skeletons.iter().flat_map(|s| &s.runs).flat_map(of_run).collect::<Vec<_>>();
        let options: Vec<Vec<Idle>> =
            threads.iter().map(|t| of_thread(t).into_iter().sorted().dedup().collect()).collect();
        if options.iter().map(Vec::len).product::<usize>() > self.limits.traces {
            return None;
        }
        let all = options.into_iter().multi_cartesian_product();
        Some(all.filter(|idle| idle.iter().any(|(_, wait)| wait.is_some())).collect())
    }

    /// Whether it is plain that no thread waits for ever: each does the same whatever it reads, and no call may wait.
    pub(crate) fn never_waits(&self) -> bool {
        let may_wait = |run: &Run| run.trace.events.iter().any(|e| self.libraries.of(&e.call).may_wait(&e.call));
        self.plain_runs().is_some_and(|runs| {
            runs.idle.is_some() && !runs.threads.iter().flatten().flat_map(|s| &s.runs).any(may_wait)
        })
    }

    /// Whether an implementation owes it that the calls of an execution, which a solver has reached, return.
    pub(crate) fn must_return(&self, solver: &Solver<'_>) -> bool {
        self.all_say(&events_of(solver), |library, own| library.must_return(self.world, own))
    }

    /// Whether the libraries may admit a choice of skeletons: what can be said before there is one run of each.
    fn may_be_admitted(&self, choice: &[&Skeleton]) -> bool {
        let events = || choice.iter().flat_map(|s| &s.runs[0].trace.events).collect::<Vec<_>>();
        choice.iter().any(|s| s.runs.len() > 1) || self.admits(&events())
    }

    fn explore_one(
        &self,
        choice: Vec<&Skeleton>,
        explored: &mut Explored,
        settled: &mut dyn FnMut(&mut Solver<'_>) -> Cut,
        visit: &mut dyn FnMut(&mut Solver<'_>) -> Flow,
    ) -> End {
        let graph = Graph::new(self.world, choice);
        let mut solver = match Solver::new(graph, self.libraries, self.observed, self.limits.expired) {
            Ok(solver) => solver,
            Err(stop) => {
                explored.stop = Some(stop);
                return End::Searched;
            }
        };
        solver.stats.skeletons = 1;
        let end = solver.explore_until(settled, visit);
        explored.stats += solver.stats;
        end
    }

    /// All outcomes.
    pub fn outcomes(&self) -> Outcomes {
        self.outcomes_of(self.runs())
    }

    /// All outcomes, by guessing values, be there few or many: the plain twin of [`Self::outcomes_by_flow`].
    pub fn outcomes_by_guessing(&self) -> Outcomes {
        self.outcomes_of(self.guessed_runs(self.limits.traces))
    }

    /// All outcomes, by letting values flow: each thread goes on only with results that are there. `None` where values may
    /// come out of nowhere: then some could be missed.
    #[must_use]
    pub fn outcomes_by_flow(&self) -> Option<Outcomes> {
        Some(self.outcomes_of(flow::runs(self, false, None)?))
    }

    fn outcomes_of(&self, runs: Runs) -> Outcomes {
        let mut found = BTreeMap::new();
        let explored = self.explore_runs(&runs, &mut |_| Cut::Open, &mut |solver| {
            *found.entry(self.outcome_of(solver)).or_insert(0) += 1;
            Flow::Continue
        });
        Outcomes { found, explored }
    }

    /// All outcomes of a program without observed cells, without counting classes: what is known of an outcome already is
    /// not searched for again.
    pub fn results(&self) -> Found<BTreeSet<Outcome>> {
        let mut found = BTreeSet::new();
        let mut settled = |solver: &mut Solver<'_>| {
            let outcome = self.outcome_of(solver);
            if !found.contains(&outcome) && solver.is_consistent() {
                found.insert(outcome);
            }
            Cut::Known
        };
        let explored = self.explore_until(&mut settled, &mut |_| Flow::Continue);
        Found::new(found, explored.stop)
    }

    /// Why there is no outcome that is `wanted`: each way to get one, and what forbids it; at most `most` of them.
    /// None at all, with nothing that stopped the search, means that no plain execution has such an outcome.
    pub fn refutations(&self, wanted: &dyn Fn(&Outcome) -> bool, most: usize) -> Found<Vec<Refutation>> {
        let Skeletons { threads, mut stop, .. } = skeletons(&self.unfolder(), self.programs);
        let mut found = Vec::new();
        for choice in threads.iter().map(|t| t.iter()).multi_cartesian_product() {
            if (self.limits.expired)() {
                return Found::new(found, Some(Stop::Time));
            }
            if !self.may_be_admitted(&choice) {
                continue;
            }
            for outcome in self.conceivable(&choice) {
                if (self.limits.expired)() {
                    return Found::new(found, Some(Stop::Time));
                }
                if !wanted(&outcome) {
                    continue;
                }
                let restricted = choice.iter().zip(&outcome.outputs).map(|(s, &output)| s.with_output(output));
                let restricted: Vec<Skeleton> = restricted.collect();
                let graph = Graph::new(self.world, restricted.iter().collect());
                let mut solver = match Solver::new(graph, self.libraries, self.observed, self.limits.expired) {
                    Ok(solver) => solver,
                    Err(too_many) => {
                        stop.get_or_insert(too_many);
                        continue;
                    }
                };
                let left = most - found.len();
                found.extend(refutations(&mut solver, self.libraries, &outcome.finals, left));
                if found.len() >= most || (self.limits.expired)() {
                    let late = (self.limits.expired)().then_some(Stop::Time);
                    return Found::new(found, stop.or(late));
                }
            }
        }
        Found::new(found, stop)
    }

    /// The outcomes that runs of these skeletons could have, as far as their outputs and what they write tell.
    fn conceivable(&self, choice: &[&Skeleton]) -> impl Iterator<Item = Outcome> + use<> {
        let outputs = choice.iter().map(|s| s.runs.iter().map(|r| r.trace.output).collect::<BTreeSet<_>>());
        let finals = self.observed.iter().map(|&cell| {
            let subs = choice.iter().flat_map(|s| &s.runs).flat_map(|r| r.shapes.iter().flatten());
            let values = subs.flat_map(|sub| {
                let read = sub.reads.and_then(|r| if let Reads::Is(v) = r { Some(v) } else { None });
                let wrote = sub.writes.and_then(|w| if let Writes::Is(v) = w { Some(v) } else { None });
                read.into_iter().chain(wrote)
            });
            values.chain([self.initial(cell)]).collect::<BTreeSet<_>>()
        });
        let parts: Vec<BTreeSet<Val>> = outputs.chain(finals).collect();
        let all = parts.into_iter().map(|p| p.into_iter().collect_vec().into_iter()).multi_cartesian_product();
        let threads = choice.len();
        all.map(move |values| {
            let (outputs, finals) = values.split_at(threads);
            Outcome { outputs: outputs.to_vec(), finals: finals.to_vec() }
        })
    }

    /// Whether every thread of an execution is a plain execution of this program, in these surroundings: each thread is
    /// replayed, with the results that the execution has.
    #[must_use]
    pub fn has_run(&self, execution: &Execution) -> bool {
        let implementations = self.implementations;
        let is_run = |(tid, program): (Tid, &Prog)| {
            let events: Vec<&Event> = execution.of_thread(tid).map(|e| &execution.events[e]).collect();
            let ended = replay(program, implementations, self.world, tid, &events);
            self.are_results(execution, &events)
                && ended == Some((events.len(), *execution.outputs.get(tid.index()).unwrap_or(&Val::Bot)))
        };
        execution.world == *self.world
            && execution.outputs.len() == self.programs.len()
            && self.world.tids().zip(self.programs).all(is_run)
    }

    /// Whether every call of a thread returns what its library says that it can, with what the execution has in memory.
    fn are_results(&self, execution: &Execution, events: &[&Event]) -> bool {
        let cells = |cell: Cell| {
            let of_cell = execution.subs.iter().filter(|s| s.sub.cell == Some(cell));
            std::iter::once(self.initial(cell)).chain(of_cell.filter_map(|s| s.wrote)).sorted().dedup().collect()
        };
        let earlier: Vec<Event> = events.iter().map(|&e| e.clone()).collect();
        events.iter().enumerate().all(|(i, e)| {
            let library = self.libraries.get(e.call.library);
            library.is_some_and(|l| l.returns(self.world, &earlier[..i], e.thread, &e.call, &cells).contains(&e.ret))
        })
    }

    /// The outcome of the class that a solver has reached.
    pub fn outcome_of(&self, solver: &Solver<'_>) -> Outcome {
        let runs = solver.graph.skeletons.iter().enumerate();
        let outputs = runs.map(|(t, skeleton)| {
            let alive = solver.alive(t);
            skeleton.runs[*alive.first().expect("a class has a run in every thread")].trace.output
        });
        let outputs = outputs.collect();
        let lasts = solver.last_values().into_iter().zip(self.observed);
        let finals = lasts.map(|(v, &cell)| v.unwrap_or_else(|| self.initial(cell))).collect();
        Outcome { outputs, finals }
    }
}

/// The events of a run of each thread that a solver has left.
fn events_of<'s>(solver: &'s Solver<'_>) -> Vec<&'s Event> {
    let runs = solver.graph.skeletons.iter().enumerate().map(|(t, s)| &s.runs[solver.first_alive(t)]);
    runs.flat_map(|run| &run.trace.events).collect()
}

/// The skeletons at these positions.
fn chosen<'t>(threads: &'t [Vec<Skeleton>], positions: &[usize]) -> Vec<&'t Skeleton> {
    positions.iter().zip(threads).map(|(&position, of)| &of[position]).collect()
}

/// One outcome: what the threads put out, and the last values of the observed cells.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Outcome {
    /// The output of each thread.
    pub outputs: Vec<Val>,
    /// The last values, in the order of the observed cells.
    pub finals: Vec<Val>,
}

/// All outcomes of a program, with the number of classes of each.
#[derive(Clone, PartialEq, Eq, Debug)]
#[must_use = "a search that was stopped has not found everything"]
pub struct Outcomes {
    found: BTreeMap<Outcome, u64>,
    /// What the search did, and what stopped it.
    pub explored: Explored,
}

impl Outcomes {
    /// All outcomes.
    ///
    /// # Errors
    /// What stopped the search before it had found them all.
    pub fn all(self) -> Result<BTreeMap<Outcome, u64>, Stop> {
        self.explored.stop.map_or(Ok(self.found), Err)
    }

    /// What was found, and what stopped the search, if anything did.
    pub fn so_far(&self) -> (&BTreeMap<Outcome, u64>, Option<&Stop>) {
        (&self.found, self.explored.stop.as_ref())
    }
}
