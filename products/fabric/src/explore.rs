//! Exploration of the threads' code under every execution of the model, and not only under those that a fabric shows.
//!
//! The next call of a thread depends only on the results of its earlier calls. So the explorer runs the code from the
//! beginning with the known results, and stops it at the first call with an unknown result. This makes a [`Script`] of
//! the code, which the search explores like the body of a method. Calls of objects return what the specification of
//! their library allows. If [`Group::variant`] names a variant of a library, that implementation makes its calls
//! instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mowgli_check::guard::{Panic, caught};
use mowgli_check::litmus::print;
use mowgli_check::litmus::test::Model;
use mowgli_check::litmus::why_stuck;
use mowgli_core::event::{Call, Event};
use mowgli_core::ids::{Name, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::search::flow::{EndlessWait, Idle, WaitsAt};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::search::runs::Stop;
use mowgli_core::search::solver::{Decision, Flow, Solver};
use mowgli_core::search::stuck::Stuck;
use mowgli_core::soundness::client::Client;
use mowgli_core::term::implementation::{Implementations, add_parts};
use mowgli_core::term::script::{NextByResults, Script};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::entry::Memory;
use serde::{Deserialize, Serialize};

use crate::group::Group;
use crate::interpreter::chosen;
use crate::port::Fault;
use crate::specifications::Specifications;
use crate::tape::{Pause, Tape, differs};
use crate::thread::Thread;

/// The largest number of calls of a thread. A wait counts as one call.
const CALLS: usize = 100;

/// All ways in which a group's threads can end.
#[derive(Clone, Debug)]
#[must_use = "a search that was stopped has not seen everything"]
pub struct Exploration<R> {
    /// Each way in which all threads end.
    pub endings: Vec<Ending<R>>,
    /// Each way in which some threads end and others wait for ever.
    pub stuck: Vec<Waiting<R>>,
    /// The limit that cut the search short, if one did. Then there may be more endings and more stuck executions.
    pub stop: Option<String>,
}

/// A way in which some threads end and others wait for ever.
#[derive(Clone, Debug)]
pub struct Waiting<R> {
    /// The fate of each thread, in the order of the threads.
    pub threads: Vec<Fate<R>>,
}

/// The fate of a thread in a stuck execution.
#[derive(Clone, Debug)]
pub enum Fate<R> {
    /// The result of the thread, or its panic.
    Ended(Result<R, Panic>),
    /// The call in which the thread waits for ever, and the reason.
    Waits(String),
}

impl<R> fmt::Display for Waiting<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reported = |(t, fate): (usize, &Fate<R>)| match fate {
            Fate::Ended(Ok(_)) => None,
            Fate::Ended(Err(panic)) => Some(format!("{} panicked {panic}", Tid::from_index(t))),
            Fate::Waits(why) => Some(why.clone()),
        };
        let all: Vec<String> = self.threads.iter().enumerate().filter_map(reported).collect();
        f.write_str(&all.join("; "))
    }
}

/// A way in which all threads end.
#[derive(Clone, Debug)]
pub struct Ending<R> {
    /// The result of each thread, or its panic.
    pub results: Vec<Result<R, Panic>>,
    /// The results of all calls, for [`Group::replay`].
    pub trace: ResultTrace,
    /// The calls that threads had still to make at their ends, such as the release of a lock whose guard was forgotten.
    /// Specifications do not say what other threads can see afterwards.
    pub unfinished: Vec<(Tid, Call)>,
    calls: Vec<Vec<(Call, Val)>>,
    world: World,
}

/// The results of the calls of each thread, in order. A trace can be printed and parsed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ResultTrace(Vec<Vec<Val>>);

/// The error for a text that is not a trace.
#[derive(Debug, thiserror::Error)]
#[error("not a trace as `Ending::trace` is written: {0}")]
pub struct NotATrace(#[from] serde_json::Error);

/// The reason why an exploration does not show the results of the threads in all executions.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Incomplete {
    /// A thread panicked.
    #[error("{}\n\n{litmus}\ntrace: {trace}", panicked(panics))]
    Panicked {
        /// The threads that panicked.
        panics: Vec<(Tid, Panic)>,
        /// The calls, as a litmus test.
        litmus: String,
        /// The results of all calls, for [`Group::replay`].
        trace: ResultTrace,
    },
    /// Some threads wait for ever. The text has the calls and the reasons.
    #[error("{0}")]
    Stuck(String),
    /// A thread ended without a call that it had to make, for example the release of a lock.
    #[error("{thread} has ended without {}", print::statement(call))]
    Unfinished {
        /// The thread.
        thread: Tid,
        /// The call.
        call: Box<Call>,
    },
    /// A limit, which the text names, cut the search short.
    #[error("{0}")]
    Stopped(String),
    /// No execution ends.
    #[error("the threads have no execution at all: a wait of one can never be")]
    Nothing,
}

/// Prints the panics of threads.
fn panicked(panics: &[(Tid, Panic)]) -> String {
    let all: Vec<String> = panics.iter().map(|(thread, panic)| format!("{thread} panicked {panic}")).collect();
    all.join("; ")
}

impl fmt::Display for ResultTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for ResultTrace {
    type Err = NotATrace;

    fn from_str(text: &str) -> Result<Self, NotATrace> {
        Ok(serde_json::from_str(text)?)
    }
}

impl<R> Ending<R> {
    /// Prints the calls as a litmus test that allows their results. `mowgli explain` and `mowgli report` show the
    /// execution behind it. The test contains only the last iteration of each wait, so it is complete if the earlier
    /// iterations only read.
    #[must_use]
    pub fn litmus(&self, name: &str) -> String {
        let threads = self.calls.iter().map(|calls| calls.iter().map(|(call, _)| call.clone()).collect()).collect();
        let results = self.calls.iter().map(|calls| Val::tuple(&calls.iter().map(|(_, v)| *v).collect::<Vec<_>>()));
        let outcome = Outcome { outputs: results.collect(), finals: Vec::new() };
        print::allowed(Model::RDMA_WAIT, name, &self.world, &Client { threads }, &outcome)
    }
}

impl<R> Exploration<R> {
    /// The first ending in which a thread panicked, if there is one.
    #[must_use]
    pub fn failure(&self) -> Option<&Ending<R>> {
        self.endings.iter().find(|ending| ending.results.iter().any(Result::is_err))
    }

    /// Returns the results of the threads, for every ending.
    ///
    /// # Errors
    /// If a thread panics, waits for ever, or keeps a lock. Also if a limit cut the
    /// search short, or there is no ending.
    pub fn all(&self) -> Result<Vec<Vec<&R>>, Incomplete> {
        if let Some(failed) = self.failure() {
            let panics = failed.results.iter().enumerate();
            let panics = panics.filter_map(|(t, result)| Some((Tid::from_index(t), result.as_ref().err()?.clone())));
            let (litmus, trace) = (failed.litmus("failure"), failed.trace.clone());
            return Err(Incomplete::Panicked { panics: panics.collect(), litmus, trace });
        }
        let unfinished = self.endings.iter().find_map(|ending| ending.unfinished.first().cloned());
        let unfinished = unfinished.map(|(thread, call)| Incomplete::Unfinished { thread, call: Box::new(call) });
        let stuck = self.stuck.first().map(|stuck| Incomplete::Stuck(stuck.to_string()));
        match stuck.or(unfinished).or_else(|| self.stop.clone().map(Incomplete::Stopped)) {
            Some(why) => Err(why),
            None if self.endings.is_empty() => Err(Incomplete::Nothing),
            None => Ok(self.endings.iter().map(|ending| ending.results.iter().flatten().collect()).collect()),
        }
    }
}

/// The end of a thread that has failed.
const ENDED: NextByResults = NextByResults::Ended(Val::Bot, None);

type ThreadCode<R> = dyn Fn(&mut Thread<'_>) -> Result<R, Fault> + Send + Sync;

/// The code of all threads.
struct GroupCode<R> {
    known: Specifications,
    implementations: Implementations,
    body: Box<ThreadCode<R>>,
    /// The first fault: an illegal call, or code that depends on something else than results.
    fault: Mutex<Option<Fault>>,
    /// The calls that a thread has made and makes next, after these results.
    made: Mutex<BTreeMap<ThreadResults, Vec<Call>>>,
}

/// The results of the calls of a thread: all, and those of the present iteration of a wait.
type ThreadResults = (Tid, Vec<Val>, Option<Vec<Val>>);

/// The point at which a run of the code stopped.
enum Came<R> {
    Left(Pause),
    /// The thread returned, or panicked.
    Ended(Result<R, Panic>),
    Failed(Fault),
}

impl<R: 'static> GroupCode<R> {
    /// Runs the code of a thread with these results, and returns the calls that it has made.
    fn run(&self, t: Tid, known: &[Val], round: Option<&[Val]>) -> (Came<R>, Vec<(Call, Val)>) {
        let mut thread = Thread::taped(&self.known, t, Tape::new(known, round));
        let ended = caught(|| (self.body)(&mut thread));
        let tape = thread.into_tape();
        let came = match (tape.asks, ended) {
            (Some(asks), _) => Came::Left(asks),
            (None, Ok(Ok(result))) => Came::Ended(Ok(result)),
            (None, Ok(Err(fault))) => Came::Failed(fault),
            (None, Err(panic)) => Came::Ended(Err(panic)),
        };
        (came, tape.made)
    }

    /// Returns the code of each thread. Its value is the tuple of all results.
    fn script(self: &Arc<Self>) -> Script {
        let code = Arc::clone(self);
        Script::by_results(move |t, known, own| code.next(t, known, own))
    }

    /// Returns the next step of a thread after these results.
    fn next(&self, t: Tid, known: &[Val], own: Option<&[Val]>) -> NextByResults {
        let (came, made) = self.run(t, known, own);
        let Some(mut calls) = self.same(&self.before(t, known, own), made) else { return ENDED };
        let next = match (came, own) {
            (Came::Left(_), None) if known.len() == CALLS => {
                NextByResults::Late(format!("{t}: code of more than {CALLS} calls"))
            }
            (Came::Left(Pause::Call(call)), _) => {
                calls.push(call.clone());
                NextByResults::Call(call, None)
            }
            (Came::Left(Pause::Rounds), None) => NextByResults::Loop,
            // The panic recurs when the code runs again after the wait.
            (Came::Left(Pause::Last) | Came::Ended(_), Some(_)) => NextByResults::Leaves,
            (Came::Left(Pause::Another), Some(_)) => NextByResults::Again,
            (Came::Ended(_), None) => NextByResults::Ended(Val::tuple(known), None),
            (Came::Left(_), _) => self.fails(differs()),
            (Came::Failed(fault), _) => self.fails(fault),
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.insert((t, known.to_vec(), own.map(<[Val]>::to_vec)), calls);
        next
    }

    /// Returns the calls of a thread before the last of these results.
    fn before(&self, t: Tid, known: &[Val], own: Option<&[Val]>) -> Vec<Call> {
        let key = match (own, known) {
            (Some([]), _) => (known, None),
            (Some([before @ .., _]), _) => (known, Some(before.to_vec())),
            (None, [before @ .., _]) => (before, None),
            (None, []) => return Vec::new(),
        };
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.get(&(t, key.0.to_vec(), key.1)).cloned().unwrap_or_default()
    }

    /// Returns the calls that were made, if they begin with the calls of the run before. Only the calls in the last
    /// iteration of each wait are recorded.
    fn same(&self, before: &[Call], made: Vec<(Call, Val)>) -> Option<Vec<Call>> {
        let calls: Vec<Call> = made.into_iter().map(|(call, _)| call).collect();
        let is_same = calls.iter().zip(before).all(|(a, b)| a == b);
        if !is_same {
            self.fails(differs());
        }
        is_same.then_some(calls)
    }

    fn fails(&self, fault: Fault) -> NextByResults {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        ENDED
    }

    fn fault(&self) -> Option<Fault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Group {
    /// Runs `body` in every thread under all executions of the model, with all results that its calls may return. The
    /// code of a thread may depend only on the results of its calls. A loop that waits for others has to be a
    /// [`Thread::until`]. A panic is an ending, too.
    ///
    /// ```
    /// use mowgli_fabric::Group;
    ///
    /// // What is sent is there after the barrier, says its specification.
    /// let ends = |mut group: Group| {
    ///     let (barrier, x) = (group.barrier("b", &[0, 1]), group.shared_var("x"));
    ///     group.explore(move |thread| {
    ///         if thread.id().index() == 0 {
    ///             x.write(thread, 1)?;
    ///             x.broadcast(thread)?;
    ///             barrier.wait(thread)?;
    ///             return x.write(thread, 2);
    ///         }
    ///         barrier.wait(thread)?;
    ///         assert_eq!(x.read(thread)?, 1);
    ///         Ok(())
    ///     })
    /// };
    /// assert!(ends(Group::new(&[1, 2]))?.all().is_ok());
    ///
    /// // An implementation without its fence does not keep that.
    /// let broken = ends(Group::new(&[1, 2]).variant("bal", "no-fence"))?;
    /// let failure = broken.failure().expect("the second thread reads what was written after the barrier");
    /// assert!(failure.litmus("late").contains("allowed (a=2)"));
    /// # Ok::<(), mowgli_fabric::Fault>(())
    /// ```
    ///
    /// # Errors
    /// If a thread makes an illegal call, if its code does something else each time, or if a variant does not exist.
    pub fn explore<R: Clone + 'static>(
        &self,
        body: impl Fn(&mut Thread<'_>) -> Result<R, Fault> + Send + Sync + 'static,
    ) -> Result<Exploration<R>, Fault> {
        let (known, implementations, libraries) = self.promised()?;
        let code = Arc::new(GroupCode {
            known,
            implementations,
            body: Box::new(body),
            fault: Mutex::new(None),
            made: Mutex::default(),
        });
        let world = &code.known.world;
        let programs = vec![code.script(); world.threads.len()];
        let begin = Instant::now();
        let expired = || begin.elapsed() > self.declared.limit || code.fault().is_some();
        let problem = Problem {
            libraries: &libraries,
            implementations: &code.implementations,
            world,
            programs: &programs,
            observed: &[],
            limits: Limits { expired: &expired, ..Limits::default() },
        };
        let runs = problem.runs();
        let mut found = BTreeSet::new();
        let mut settled = |solver: &mut Solver<'_>| {
            let outcome = problem.outcome_of(solver);
            if !found.contains(&outcome) && solver.is_consistent() {
                found.insert(outcome);
            }
            Decision::Prune
        };
        let stop = problem.explore_runs(&runs, &mut settled, &mut |_| Flow::Continue).stop;
        let key = |idle: &[Idle], _: &[Val]| idle.iter().map(rest).collect::<Vec<_>>();
        let (stuck, waits) = problem.all_stuck(&key).into_parts();
        if let Some(fault) = code.fault() {
            return Err(fault);
        }
        let endings = found
            .iter()
            .map(|outcome| code.ending(&libraries, outcome, &self.declared.world))
            .collect::<Result<_, _>>()?;
        let reported = |stop| reported(&stop, self.declared.limit);
        let stuck =
            stuck.iter().map(|(rests, stuck)| code.waiting(&libraries, rests, stuck)).collect::<Result<_, _>>()?;
        Ok(Exploration { endings, stuck, stop: stop.or(waits).map(reported) })
    }

    /// Returns the world, the implementations that variants name, and the specifications of all other libraries.
    fn promised(&self) -> Result<(Specifications, Implementations, Libraries), Fault> {
        let all = Memory::rdma_wait().libraries;
        let mut libraries = self.declared.entries.iter().fold(all, |all, entry| all.and(&entry.specification));
        let (mut world, mut implementations) = (self.declared.world.clone(), Implementations::default());
        for entry in chosen(&self.declared.entries, &world, [], &self.variants)?.into_iter().rev() {
            if let Some(variant) = self.variants.get(entry.name) {
                let (name, implementation) = (Name::literal(entry.name), &entry.variant(variant)?.implementation);
                add_parts(&**implementation, &mut world);
                implementations.insert(name, Arc::clone(implementation));
                libraries = libraries.without(name);
            }
        }
        Ok((Specifications::new(world, &self.declared.entries), implementations, libraries))
    }

    /// Runs `body` in one thread after the other, with the results of an ending of [`Group::explore`], and returns
    /// their results. Use it to look at the ending with a debugger, or to print what the threads do.
    ///
    /// # Errors
    /// If the trace does not belong to this code.
    ///
    /// # Panics
    /// If a thread panics, as it did in the ending.
    pub fn replay<R>(
        &self,
        trace: &ResultTrace,
        body: impl Fn(&mut Thread<'_>) -> Result<R, Fault>,
    ) -> Result<Vec<R>, Fault> {
        let (known, ..) = self.promised()?;
        let (of, own) = (trace.0.len(), known.world.threads.len());
        if of != own {
            return Err(Fault::Wrong(format!("the trace is of {of} threads, not of {own}")));
        }
        let threads = known.world.tids().zip(&trace.0);
        threads
            .map(|(t, results)| {
                let mut thread = Thread::taped(&known, t, Tape::new(results, None));
                let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&mut thread)));
                if thread.into_tape().asks.is_some() {
                    return Err(differs());
                }
                ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    }
}

impl<R: Clone + 'static> GroupCode<R> {
    /// Runs the code with an outcome of the programs, and returns the ending.
    fn ending(&self, libraries: &Libraries, outcome: &Outcome, world: &World) -> Result<Ending<R>, Fault> {
        let (mut results, mut known, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        let mut unfinished = Vec::new();
        for (t, output) in self.known.world.tids().zip(&outcome.outputs) {
            let Val::Tuple(own) = output else { return Err(differs()) };
            let (came, made) = self.run(t, own.parts(), None);
            let Came::Ended(result) = came else { return Err(differs()) };
            results.push(result);
            known.push(own.parts().to_vec());
            unfinished.extend(unfinished_calls(libraries, t, &made).into_iter().map(|call| (t, call)));
            calls.push(made);
        }
        Ok(Ending { results, trace: ResultTrace(known), unfinished, calls, world: world.clone() })
    }

    /// Runs the code of the threads that have ended in a stuck execution, and explains why the others wait.
    fn waiting(
        &self,
        libraries: &Libraries,
        rests: &[(Option<Val>, Option<Call>)],
        stuck: &Stuck,
    ) -> Result<Waiting<R>, Fault> {
        let fate = |(t, (output, _)): (Tid, &(Option<Val>, Option<Call>))| {
            let Some(output) = output else { return Ok(Fate::Waits(why_stuck::sentence(libraries, stuck, t))) };
            let Val::Tuple(own) = output else { return Err(differs()) };
            let (Came::Ended(result), _) = self.run(t, own.parts(), None) else { return Err(differs()) };
            Ok(Fate::Ended(result))
        };
        let threads = self.known.world.tids().zip(rests).map(fate).collect::<Result<_, _>>()?;
        Ok(Waiting { threads })
    }
}

/// Returns the calls that a thread must still make after these.
fn unfinished_calls(libraries: &Libraries, thread: Tid, made: &[(Call, Val)]) -> Vec<Call> {
    let event = |(call, ret): &(Call, Val)| Event { thread, call: call.clone(), ret: *ret };
    let events: Vec<Event> = made.iter().map(event).collect();
    libraries.unfinished(&events.iter().collect::<Vec<_>>())
}

/// Returns the output of a thread of a stuck execution if it has ended, and otherwise the call in which it waits.
fn rest((run, wait): &Idle) -> (Option<Val>, Option<Call>) {
    match wait {
        None => (Some(run.trace.output), None),
        Some(EndlessWait { at: WaitsAt::Call(call), .. }) => (None, Some(call.clone())),
        Some(EndlessWait { at: WaitsAt::Loop(start), .. }) => {
            (None, run.trace.events.get(*start).map(|e| e.call.clone()))
        }
    }
}

/// Describes the limit that stopped a search.
fn reported(stop: &Stop, limit: Duration) -> String {
    match stop {
        Stop::Loop(at) | Stop::Rounds(at) => format!(
            "{at}: a thread has made {CALLS} calls, or rounds of a wait that do more than look; what waits for others is to be a \
             `Thread::until`, whose rounds only look"
        ),
        Stop::Time => format!("the time is up after {limit:?}; `Group::within` gives more"),
        other => other.to_string(),
    }
}
