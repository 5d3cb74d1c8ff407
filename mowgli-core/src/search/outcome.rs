//! All outcomes of a concurrent program, `outcome_Lambda(P)` (LOCO §3.3), and the executions behind them.

use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;

use crate::event::{Cell, Event, Reads, Writes};
use crate::execution::Execution;
use crate::ids::{Name, Tid};
use crate::library::{Hints, PlainSet};
use crate::search::abstraction::replay;
use crate::search::automorphism::Automorphism;
use crate::search::denote::{Trace, Unfolder};
use crate::search::fault::{CallFault, no_sum};
use crate::search::flow::{self, EndlessWait, Idle, Runs, WaitsAt};
use crate::search::graph::Graph;
use crate::search::problem::{Found, Problem};
use crate::search::refute::{Refutation, refutations};
use crate::search::runs::{Run, Skeleton, Skeletons, Stop, skeletons};
use crate::search::solver::{Decision, Flow, SearchEnd, Solver, Stats};
use crate::term::code::CodeState;
use crate::term::script::Script;
use crate::value::Val;

/// The statistics of a search over all executions, and the reason why it stopped.
#[must_use = "the search may have been stopped"]
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explored {
    /// Counts.
    pub stats: Stats,
    /// The reason why the search was cut off, if it was.
    pub stop: Option<Stop>,
    /// Plain executions, summed over the threads.
    pub traces: u64,
    /// The libraries whose specification does not cover some execution, because the program breaks an assumption.
    pub uncovered: BTreeSet<Name>,
    /// The results of the calls before one that is not well defined, of its thread, if the search knows them.
    pub undefined: Option<Vec<Val>>,
}

/// The number of runs of a thread up to which a program counts as small. The search guesses values there, because that is
/// cheaper than to let values flow as long as there are few.
const PLAIN: usize = 64;

impl Problem<'_> {
    /// Visits every class of consistent executions.
    pub fn explore(&self, visit: &mut dyn FnMut(&mut Solver<'_>) -> Flow) -> Explored {
        self.explore_until(&mut |_| Decision::Continue, visit)
    }

    /// Like [`Self::explore`], but skips a part where `settled` returns that no open decision matters any more: see
    /// [`Solver::explore_until`].
    pub fn explore_until(
        &self,
        settled: &mut dyn FnMut(&mut Solver<'_>) -> Decision,
        visit: &mut dyn FnMut(&mut Solver<'_>) -> Flow,
    ) -> Explored {
        self.explore_runs(&self.runs(), settled, visit)
    }

    /// Visits every class of consistent executions of these runs.
    pub fn explore_runs(
        &self,
        runs: &Runs,
        settled: &mut dyn FnMut(&mut Solver<'_>) -> Decision,
        visit: &mut dyn FnMut(&mut Solver<'_>) -> Flow,
    ) -> Explored {
        let Runs { threads, together, stop, bound, states, .. } = runs;
        let traces = threads.iter().flatten().map(|s| s.runs.len() as u64).sum();
        let mut explored = Explored {
            stats: Stats { states: *states, ..Stats::default() },
            stop: stop.clone(),
            traces,
            ..Explored::default()
        };
        let mut reported = false;
        let mut rounds_matter = false;
        let mut undefined = None;
        let uncovered = RefCell::new(BTreeSet::new());
        let mut visit = |solver: &mut Solver<'_>| match undefined_sum(solver) {
            Some(fault) => {
                undefined.get_or_insert(fault);
                Flow::Continue
            }
            None => {
                self.add_uncovered(&events_of(solver), &mut uncovered.borrow_mut());
                visit(solver)
            }
        };
        for choice in together {
            let choice = chosen(threads, choice);
            let mut settled = |solver: &mut Solver<'_>| {
                if !self.admits(&events_of(solver)) {
                    return Decision::Prune;
                }
                rounds_matter |= solver.has_rounds();
                let decision = settled(solver);
                if let Decision::Leaf(true) = decision {
                    self.add_uncovered(&events_of(solver), &mut uncovered.borrow_mut());
                }
                decision
            };
            match self.explore_one(choice, &mut explored, &mut settled, &mut visit) {
                SearchEnd::Searched => {}
                SearchEnd::Enough => {
                    reported = true;
                    break;
                }
                SearchEnd::Late => break,
            }
        }
        if let Some((fault, results)) = undefined {
            (explored.stop, explored.undefined) = (Some(Stop::at(fault)), Some(results));
        }
        explored.uncovered = uncovered.into_inner();
        explored.stop = explored.stop.or(bound.clone().filter(|_| rounds_matter).map(Stop::Loop));
        // The deadline may have cut off some part below, whatever that part reports. Only a visitor that stopped the
        // search itself has seen all it wanted.
        if !reported && (self.limits.expired)() {
            explored.stop = Some(Stop::Time);
        }
        explored
    }

    /// Adds the libraries whose specification does not cover these events of a program.
    pub fn add_uncovered(&self, events: &[&Event], uncovered: &mut BTreeSet<Name>) {
        for name in self.libraries.names().collect_vec() {
            let own = || events.iter().filter(|e| e.call.library == name).copied().collect_vec();
            let is_covered = |library: &dyn Hints| match library.covered() {
                PlainSet::All => true,
                set => set.has(self.world, &own()),
            };
            if !uncovered.contains(&name) && !self.libraries.get(name).is_none_or(is_covered) {
                uncovered.insert(name);
            }
        }
    }

    /// Returns the runs of the program. Values flow, unless the libraries allow values out of thin air; then they are
    /// guessed.
    #[must_use]
    pub fn runs(&self) -> Runs {
        self.runs_by_symmetry(false, &[])
    }

    /// Returns the same together with the runs of stuck executions, if the search finds those without more work.
    #[must_use]
    pub fn runs_and_idle(&self) -> Runs {
        self.runs_by_symmetry(true, &[])
    }

    /// Returns the runs of a program with these automorphisms, with `idle` also those of stuck executions.
    #[must_use]
    pub fn runs_by_symmetry(&self, idle: bool, automorphisms: &[Automorphism]) -> Runs {
        let flowing = || flow::runs_by_symmetry(self, idle, automorphisms);
        self.plain_runs().or_else(flowing).unwrap_or_else(|| self.guessed_runs(self.limits.traces))
    }

    /// Returns the runs of a small program whose threads do the same whatever they read, for example of most litmus
    /// tests. This needs no search over states.
    fn plain_runs(&self) -> Option<Runs> {
        let is_plain = |guesses: &Skeletons| {
            let has_one = guesses.threads.iter().all(|t| t.len() <= 1);
            has_one && guesses.stop.is_none() && guesses.faulty.iter().all(Vec::is_empty)
        };
        let guesses = self.implementations.is_empty().then(|| self.guesses(PLAIN.min(self.limits.traces)));
        Some(self.runs_of(guesses.filter(is_plain)?)).filter(|runs| runs.stop.is_none())
    }

    /// Returns the runs of each thread if it tries every value that some write could write, at most so many for each.
    fn guesses(&self, most: usize) -> Skeletons {
        skeletons(&Unfolder { limit: most, ..self.unfolder() }, self.programs)
    }

    fn guessed_runs(&self, most: usize) -> Runs {
        self.runs_of(self.guesses(most))
    }

    /// Returns the combinations of guessed runs.
    fn runs_of(&self, guesses: Skeletons) -> Runs {
        let fault = self.first_fault(guesses.faults());
        let Skeletons { threads, stop, goes_round, .. } = guesses;
        let choices = threads.iter().map(|t| 0..t.len()).multi_cartesian_product();
        let in_time = choices.take_while(|_| !(self.limits.expired)());
        let together = in_time.filter(|choice| self.may_be_admitted(&chosen(&threads, choice))).collect();
        let stop = match fault {
            Ok(fault) => fault.map(Stop::at).or(stop),
            Err(late) => stop.or(Some(late)),
        };
        let stop = if (self.limits.expired)() { Some(Stop::Time) } else { stop };
        Runs { threads, together, stop, bound: None, states: 0, idle: (!goes_round).then(Vec::new) }
    }

    /// Returns the runs in which some threads wait in calls and the others end, if it tries every value that some write
    /// could write. Returns `None` if some thread repeats a loop for ever or makes a call that never returns, or if a
    /// limit was hit.
    pub(crate) fn guessed_waiting(&self) -> Option<Vec<Vec<Idle>>> {
        let Runs { threads, stop: None, idle: Some(_), .. } = self.guessed_runs(self.limits.traces) else {
            return None;
        };
        let may_wait = |e: &Event| self.libraries.may_wait(self.world, &e.call);
        let before = |run: &Run, at: usize| {
            let Trace { events, groups, .. } = &run.trace;
            (
                run.beginning(at),
                Some(EndlessWait { at: WaitsAt::Call(events[at].call.clone()), within: groups[at], depth: 0 }),
            )
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

    /// True if obviously no thread waits for ever: each does the same whatever it reads, and no call may wait.
    pub(crate) fn never_waits(&self) -> bool {
        let waits = |e: &Event| self.libraries.may_wait(self.world, &e.call);
        let may_wait = |run: &Run| run.trace.events.iter().any(waits);
        self.plain_runs().is_some_and(|runs| {
            let all_end = runs.threads.iter().all(|runs| !runs.is_empty());
            all_end && runs.idle.is_some() && !runs.threads.iter().flatten().flat_map(|s| &s.runs).any(may_wait)
        })
    }

    /// True if an implementation must return from the calls of the execution that a solver has reached.
    pub(crate) fn must_return(&self, solver: &Solver<'_>) -> bool {
        self.all_say(&events_of(solver), |library, own| library.must_return(self.world, own))
    }

    /// True if the libraries may admit a choice of skeletons, as far as that is known before each has one run.
    fn may_be_admitted(&self, choice: &[&Skeleton]) -> bool {
        let events = || choice.iter().flat_map(|s| &s.runs[0].trace.events).collect::<Vec<_>>();
        choice.iter().any(|s| s.runs.len() > 1) || self.admits(&events())
    }

    fn explore_one(
        &self,
        choice: Vec<&Skeleton>,
        explored: &mut Explored,
        settled: &mut dyn FnMut(&mut Solver<'_>) -> Decision,
        visit: &mut dyn FnMut(&mut Solver<'_>) -> Flow,
    ) -> SearchEnd {
        let graph = Graph::new(self.world, choice);
        let mut solver = match Solver::new(graph, self.libraries, self.observed, self.limits.expired) {
            Ok(solver) => solver,
            Err(stop) => {
                explored.stop = Some(stop);
                return SearchEnd::Searched;
            }
        };
        solver.stats.skeletons = 1;
        let end = solver.explore_until(settled, visit);
        explored.stats += solver.stats;
        end
    }

    /// Computes all outcomes.
    pub fn outcomes(&self) -> Outcomes {
        self.outcomes_as_found(&mut |_| {})
    }

    /// Computes all outcomes, and reports each as soon as an execution has it.
    pub fn outcomes_as_found(&self, report: &mut dyn FnMut(&Outcome)) -> Outcomes {
        self.outcomes_of(self.runs(), report)
    }

    /// Computes all outcomes by guessing values, however many. It is the plain twin of [`Self::outcomes_by_flow`].
    pub fn outcomes_by_guessing(&self) -> Outcomes {
        self.outcomes_of(self.guessed_runs(self.limits.traces), &mut |_| {})
    }

    /// Computes all outcomes by letting values flow: each thread goes on only with results that are there. Returns
    /// `None` if the libraries allow values out of thin air, because the search could then miss some outcomes.
    #[must_use]
    pub fn outcomes_by_flow(&self) -> Option<Outcomes> {
        Some(self.outcomes_of(flow::runs(self, false)?, &mut |_| {}))
    }

    fn outcomes_of(&self, runs: Runs, report: &mut dyn FnMut(&Outcome)) -> Outcomes {
        let mut found = BTreeMap::new();
        let explored = self.explore_runs(&runs, &mut |_| Decision::Continue, &mut |solver| {
            match found.entry(self.outcome_of(solver)) {
                Entry::Occupied(mut known) => *known.get_mut() += 1,
                Entry::Vacant(new) => {
                    report(new.key());
                    new.insert(1);
                }
            }
            Flow::Continue
        });
        Outcomes { found, explored }
    }

    /// Computes all outcomes of a program without observed cells, and counts no classes. It skips whatever can only
    /// have known outcomes.
    pub fn results(&self) -> Found<BTreeSet<Outcome>> {
        let mut found = BTreeSet::new();
        let mut settled = |solver: &mut Solver<'_>| {
            let outcome = self.outcome_of(solver);
            if !found.contains(&outcome) && solver.is_consistent() {
                found.insert(outcome);
            }
            Decision::Prune
        };
        let explored = self.explore_until(&mut settled, &mut |_| Flow::Continue);
        Found::new(found, explored.stop)
    }

    /// Returns the reasons why no `wanted` outcome exists: each way to get one, with its refutation; at most `most` of
    /// them. A complete but empty result means that no plain execution has such an outcome.
    pub fn refutations(&self, wanted: &dyn Fn(&Outcome) -> bool, most: usize) -> Found<Vec<Refutation>> {
        let Skeletons { threads, stop, .. } = skeletons(&self.unfolder(), self.programs);
        // A run that comes to a call which is not well defined has no outcome.
        let mut stop = stop.filter(|stop| !matches!(stop, Stop::IllDefined(_)));
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

    /// Iterates over the outcomes that the outputs and writes of these runs permit, without solving.
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

    /// True if every thread of an execution is a plain execution of this program in this world. Each thread is replayed
    /// with the results in the execution.
    #[must_use]
    pub fn has_run(&self, execution: &Execution) -> bool {
        let implementations = self.implementations;
        let is_run = |(tid, script): (Tid, &Script)| {
            let events: Vec<&Event> = execution.of_thread(tid).map(|e| &execution.events[e]).collect();
            let ended = replay(CodeState::start(script), implementations, self.world, tid, &events);
            self.are_results(execution, &events)
                && ended == Some((events.len(), *execution.outputs.get(tid.index()).unwrap_or(&Val::Bot)))
        };
        execution.world == *self.world
            && execution.outputs.len() == self.programs.len()
            && self.world.tids().zip(self.programs).all(is_run)
    }

    /// True if each call of a thread returns a result that its library permits, given the values in the execution's
    /// memory.
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

    /// Returns the outcome of the class that a solver has reached.
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

/// Returns the events of one remaining run of each thread.
fn events_of<'s>(solver: &'s Solver<'_>) -> Vec<&'s Event> {
    let runs = solver.graph.skeletons.iter().enumerate().map(|(t, s)| &s.runs[solver.first_alive(t)]);
    runs.flat_map(|run| &run.trace.events).collect()
}

/// Returns the fault of an event that adds to a value that has no sum, because what it writes is then undefined. Also returns its
/// thread, with the results of the calls before.
fn undefined_sum(solver: &Solver<'_>) -> Option<(CallFault, Vec<Val>)> {
    (0..solver.graph.len()).find_map(|s| {
        let place = &solver.graph.subs[s];
        let Some(Writes::Step(from)) = place.sub.writes else { return None };
        (solver.value_written(s) == Some(Val::Top)).then(|| {
            let read = place.base + from;
            let word = solver.graph.subs[read].sub.cell.expect("a subevent that reads touches a cell").loc;
            let Event { thread, call, .. } = solver.graph.events[place.event];
            let (thread, makes) = (*thread, format!("{thread} calls {call}"));
            let what = no_sum(word, solver.value_read(read).unwrap_or(Val::Top));
            let own = solver.graph.events[..place.event].iter().filter(|e| e.thread == thread);
            (CallFault { thread, call: Some(call.clone()), makes, what }, own.map(|e| e.ret).collect())
        })
    })
}

/// Returns the skeletons at these positions.
fn chosen<'t>(threads: &'t [Vec<Skeleton>], positions: &[usize]) -> Vec<&'t Skeleton> {
    positions.iter().zip(threads).map(|(&position, of)| &of[position]).collect()
}

/// One outcome: the outputs of the threads, and the last values of the observed cells.
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
    /// The statistics of the search, and the reason why it stopped.
    pub explored: Explored,
}

impl Outcomes {
    /// Returns all outcomes.
    ///
    /// # Errors
    /// The reason why the search stopped before it had found them all.
    pub fn all(self) -> Result<BTreeMap<Outcome, u64>, Stop> {
        self.explored.stop.map_or(Ok(self.found), Err)
    }

    /// Returns the outcomes found, and the reason why the search stopped, if it did.
    pub fn so_far(&self) -> (&BTreeMap<Outcome, u64>, Option<&Stop>) {
        (&self.found, self.explored.stop.as_ref())
    }
}
