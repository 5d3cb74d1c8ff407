//! All outcomes of a concurrent program, `outcome_Lambda(P)` (LOCO §3.3), and the executions behind them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use typed_arena::Arena;

use crate::denote::Unfolder;
use crate::event::{Cell, Event, Reads, Writes};
use crate::execution::Execution;
use crate::flow::{self, Runs};
use crate::graph::Graph;
use crate::ids::Tid;
use crate::implementation::Implementations;
use crate::library::Libraries;
use crate::program::Prog;
use crate::runs::{Skeleton, Stop, skeletons};
use crate::search::refute::{Refutation, refutations};
use crate::search::solver::{Cut, Flow, Solver, Stats};
use crate::stamp::Stamp;
use crate::thread::Threads;
use crate::value::Val;
use crate::world::World;

/// What limits a search.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// How many rounds of a loop with effects may end without a break.
    pub rounds: usize,
    /// How many plain executions a thread may have.
    pub traces: usize,
    /// Whether the time is up. Asked often; the core reads no clock.
    pub expired: &'a dyn Fn() -> bool,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { rounds: 3, traces: 200_000, expired: &|| false }
    }
}

/// A program with everything that gives it a meaning.
pub struct Problem<'a, S> {
    /// The libraries of the calls that are not replaced.
    pub libraries: &'a Libraries<S>,
    /// The implementations that replace the other calls; their objects are in `world`.
    pub implementations: &'a Implementations,
    /// The surroundings.
    pub world: &'a World,
    /// One program for each thread.
    pub programs: &'a [Prog],
    /// Cells whose last value is observed.
    pub observed: &'a [Cell],
    /// Limits.
    pub limits: Limits<'a>,
}

/// What a search over all executions did and where it stopped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explored {
    /// Counts.
    pub stats: Stats,
    /// What was cut off, if anything was.
    pub stop: Option<Stop>,
    /// Plain executions, summed over the threads.
    pub traces: u64,
}

impl<S: Stamp> Problem<'_, S> {
    /// Visits every class of consistent executions.
    pub fn explore(&self, visit: &mut dyn FnMut(&mut Solver<'_, S>) -> Flow) -> Explored {
        self.explore_until(&mut |_| Cut::Open, visit)
    }

    /// As [`Self::explore`], but not further than where `settled` says that nothing more depends on what is open; see
    /// [`Solver::explore_until`].
    pub fn explore_until(
        &self,
        settled: &mut dyn FnMut(&mut Solver<'_, S>) -> Cut,
        visit: &mut dyn FnMut(&mut Solver<'_, S>) -> Flow,
    ) -> Explored {
        self.explore_runs(self.runs(), settled, visit)
    }

    /// Visits every class of consistent executions of these runs.
    fn explore_runs(
        &self,
        runs: Runs<S>,
        settled: &mut dyn FnMut(&mut Solver<'_, S>) -> Cut,
        visit: &mut dyn FnMut(&mut Solver<'_, S>) -> Flow,
    ) -> Explored {
        let Runs { threads, together, stop, bound, states, .. } = runs;
        let traces = threads.iter().flatten().map(|s| s.runs.len() as u64).sum();
        let mut explored = Explored { stats: Stats { states, ..Stats::default() }, stop, traces };
        if together.is_empty() {
            explored.stop = explored.stop.or_else(|| bound.and_then(|place| self.bound_matters(place)));
            return explored;
        }
        // A bound on rounds that was reached matters only if a round can: see `denote`.
        let mut rounds_matter = self.limits.rounds == 0;
        for choice in together {
            let choice = chosen(&threads, &choice);
            let mut settled = |solver: &mut Solver<'_, S>| {
                rounds_matter |= solver.has_rounds();
                settled(solver)
            };
            if self.explore_one(choice, &mut explored, &mut settled, visit) == Flow::Stop {
                break;
            }
        }
        explored.stop = explored.stop.or(bound.filter(|_| rounds_matter).map(Stop::Loop));
        explored
    }

    /// The runs of this program. Where there are few guesses they are tried; else values flow, unless the libraries let
    /// values come out of nowhere.
    fn runs(&self) -> Runs<S> {
        let flowing = || flow::runs(self, self.limits.rounds, false);
        self.few_guessed_runs().or_else(flowing).unwrap_or_else(|| self.guessed_runs(self.limits.traces))
    }

    /// The runs that are guessed, where they and the ways to put them together are few.
    fn few_guessed_runs(&self) -> Option<Runs<S>> {
        let limit = FEW.min(self.limits.traces);
        let (threads, stop) = skeletons(&Unfolder { limit, ..self.unfolder() }, self.programs);
        let ways = threads.iter().fold(1, |all: usize, t| all.saturating_mul(t.len()));
        let are_few = ways <= FEW && !matches!(stop, Some(Stop::Traces(_)));
        are_few.then(|| self.put_together(threads, stop))
    }

    /// All outcomes, by letting values flow, be they few or many; `None` where they may come out of nowhere.
    #[cfg(feature = "proptest")]
    pub fn outcomes_by_flow(&self) -> Option<Outcomes> {
        flow::runs(self, self.limits.rounds, false).map(|runs| self.outcomes_of(runs))
    }

    /// The runs of this program, by trying every value that some write could write. At most so many of each thread.
    fn guessed_runs(&self, limit: usize) -> Runs<S> {
        let (threads, stop) = skeletons(&Unfolder { limit, ..self.unfolder() }, self.programs);
        self.put_together(threads, stop)
    }

    /// All combinations of guessed runs.
    fn put_together(&self, threads: Vec<Vec<Skeleton<S>>>, stop: Option<Stop>) -> Runs<S> {
        let (bound, stop) = match stop {
            Some(Stop::Loop(place)) if threads.iter().all(|t| !t.is_empty()) => (Some(place), None),
            stop => (None, stop),
        };
        let choices = threads.iter().map(|t| 0..t.len()).multi_cartesian_product();
        let together = choices.filter(|choice| self.admitted(&chosen(&threads, choice))).collect();
        Runs { threads, together, stop, bound, states: 0, written: BTreeSet::new() }
    }

    /// Where no execution ends, a bound on rounds that was reached matters only if further rounds give a thread what it
    /// waits for. All rounds of a loop are the same program, so if one more round makes no new value, no number of them
    /// does: a value that takes more writes than there were before comes after one that takes one more.
    fn bound_matters(&self, place: String) -> Option<Stop> {
        let of = |rounds: usize| flow::runs(self, rounds, true);
        let (Some(known), Some(more)) = (of(self.limits.rounds), of(self.limits.rounds + 1)) else {
            return Some(Stop::Loop(place));
        };
        let is_all = more.together.is_empty() && more.stop.is_none() && known.written == more.written;
        (!is_all).then_some(Stop::Loop(place))
    }

    /// Whether every library admits these events.
    pub(crate) fn admits(&self, events: &[&Event]) -> bool {
        self.libraries.names().all(|name| {
            let own: Vec<&Event> = events.iter().filter(|e| e.call.library == name).copied().collect();
            own.is_empty() || self.libraries.get(name).is_some_and(|l| l.admits(self.world, &own))
        })
    }

    fn admitted(&self, choice: &[&Skeleton<S>]) -> bool {
        let events: Vec<&Event> = choice.iter().flat_map(|s| &s.runs[0].trace.events).collect();
        self.admits(&events)
    }

    fn explore_one(
        &self,
        choice: Vec<&Skeleton<S>>,
        explored: &mut Explored,
        settled: &mut dyn FnMut(&mut Solver<'_, S>) -> Cut,
        visit: &mut dyn FnMut(&mut Solver<'_, S>) -> Flow,
    ) -> Flow {
        let graph = Graph::new(self.world, choice);
        let mut solver = match Solver::new(graph, self.libraries, self.observed, self.limits.expired) {
            Ok(solver) => solver,
            Err(stop) => {
                explored.stop = Some(stop);
                return Flow::Continue;
            }
        };
        solver.stats.skeletons = 1;
        let flow = solver.explore_until(settled, visit);
        explored.stats += solver.stats;
        if flow == Flow::Stop && (self.limits.expired)() {
            explored.stop = Some(Stop::Time);
        }
        flow
    }

    /// All outcomes.
    pub fn outcomes(&self) -> Outcomes {
        self.outcomes_of(self.runs())
    }

    /// All outcomes, by trying every value that some write could write: the plain twin of [`Self::outcomes`].
    #[cfg(feature = "proptest")]
    pub fn outcomes_by_guessing(&self) -> Outcomes {
        self.outcomes_of(self.guessed_runs(self.limits.traces))
    }

    fn outcomes_of(&self, runs: Runs<S>) -> Outcomes {
        let mut found = BTreeMap::new();
        let explored = self.explore_runs(runs, &mut |_| Cut::Open, &mut |solver| {
            *found.entry(self.outcome_of(solver)).or_insert(0) += 1;
            Flow::Continue
        });
        Outcomes { found, explored }
    }

    /// All outcomes of a program without observed cells, without counting classes: what is known of an outcome already is
    /// not searched for again.
    pub fn results(&self) -> (BTreeSet<Outcome>, Explored) {
        let mut found = BTreeSet::new();
        let mut settled = |solver: &mut Solver<'_, S>| {
            let outcome = self.outcome_of(solver);
            if !found.contains(&outcome) && solver.is_consistent() {
                found.insert(outcome);
            }
            Cut::Known
        };
        let explored = self.explore_until(&mut settled, &mut |_| Flow::Continue);
        (found, explored)
    }

    /// Why there is no outcome that is `wanted`: each way to get one, and what forbids it; at most `most` of them.
    /// None at all means that no plain execution has such an outcome.
    pub fn refutations(&self, wanted: &dyn Fn(&Outcome) -> bool, most: usize) -> Vec<Refutation> {
        let (threads, _) = skeletons(&self.unfolder(), self.programs);
        let mut found = Vec::new();
        for choice in threads.iter().map(|t| t.iter()).multi_cartesian_product() {
            if !self.admitted(&choice) {
                continue;
            }
            for outcome in self.conceivable(&choice).into_iter().filter(wanted) {
                let restricted = choice.iter().zip(&outcome.outputs).map(|(s, &output)| s.with_output(output));
                let restricted: Vec<Skeleton<S>> = restricted.collect();
                let graph = Graph::new(self.world, restricted.iter().collect());
                let Ok(mut solver) = Solver::new(graph, self.libraries, self.observed, self.limits.expired) else {
                    continue;
                };
                let left = most - found.len();
                found.extend(refutations(&mut solver, self.libraries, &outcome.finals, left));
                if found.len() >= most {
                    return found;
                }
            }
        }
        found
    }

    /// The outcomes that runs of these skeletons could have, as far as their outputs and what they write tell.
    fn conceivable(&self, choice: &[&Skeleton<S>]) -> Vec<Outcome> {
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
        let all = parts.iter().map(|p| p.iter().copied()).multi_cartesian_product();
        all.map(|values| {
            let (outputs, finals) = values.split_at(choice.len());
            Outcome { outputs: outputs.to_vec(), finals: finals.to_vec() }
        })
        .collect()
    }

    /// Whether every thread of an execution is a plain execution of this program, in these surroundings.
    pub fn has_run(&self, execution: &Execution<S>) -> bool {
        let (points, seen) = (Arena::new(), RefCell::default());
        let &Self { libraries, implementations, world, .. } = self;
        let threads = Threads { libraries, implementations, world, rounds: self.limits.rounds, points: &points, seen };
        let is_run = |(thread, program): (usize, &Prog)| {
            let tid = Tid::from_index(thread);
            let events: Vec<&Event> = execution.of_thread(tid).map(|e| &execution.events[e]).collect();
            let output = execution.outputs.get(thread);
            output.is_some_and(|&output| threads.ends_with(threads.start(tid, program), tid, &events, output))
        };
        execution.world == *self.world && self.programs.iter().enumerate().all(is_run)
    }

    fn unfolder(&self) -> Unfolder<'_, S> {
        Unfolder {
            libraries: self.libraries,
            implementations: self.implementations,
            world: self.world,
            rounds: self.limits.rounds,
            limit: self.limits.traces,
            expired: self.limits.expired,
        }
    }

    /// The outcome of the class that a solver has reached.
    pub fn outcome_of(&self, solver: &Solver<'_, S>) -> Outcome {
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

    fn initial(&self, cell: Cell) -> Val {
        let library = self.world.objects.get(&cell.loc).and_then(|o| self.libraries.get(o.library));
        library.map_or(Val::Int(0), |l| l.init(self.world, cell))
    }
}

/// How many guesses are few: so many runs of a thread, and ways to put them together.
const FEW: usize = 256;

/// The skeletons at these positions.
fn chosen<'t, S>(threads: &'t [Vec<Skeleton<S>>], positions: &[usize]) -> Vec<&'t Skeleton<S>> {
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
pub struct Outcomes {
    /// The outcomes.
    pub found: BTreeMap<Outcome, u64>,
    /// What the search did.
    pub explored: Explored,
}
