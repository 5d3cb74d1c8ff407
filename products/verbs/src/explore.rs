//! The exploration of a program: rounds until the cells are known, and then outcomes, failures and stuck executions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mowgli_core::event::Cell;
use mowgli_core::ids::{Loc, Node};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::crash::CRASH;
use mowgli_rdma::operational::{
    ConflictingAccesses, Machine, MachineRuns, MachineWalks, NextAccess, Standstill, Step, WalkEnd,
};
use mowgli_rdma::{Network, Switches};

use crate::cells::overlap;
use crate::code::{
    CallSite, CodeAt, CompiledProgram, Failed, FailureKind, ModelCall, RecordedValues, SharedProgram, ThreadEnding,
};
use crate::error::Error;
use crate::execution::{ProgramExecution, described};
use crate::lines::{Lines, SourcePlace};
use crate::process::{EPILOGUE, MemoryAccess, ProgramCommand, RunEnd};
use crate::races::{ProgramRace, races};
use crate::setup::Processes;

/// The most rounds in which the shared memory is found.
const ROUNDS: usize = 1000;

/// A request to explore a program.
pub struct Ask<'a> {
    /// The program, or those of the nodes.
    pub programs: &'a [ProgramCommand],
    /// Whether each program is one node, and they exchange addresses by TCP.
    pub per_node: bool,
    /// The switches of the hardware, with the network.
    pub switches: Switches,
    /// The largest number of states.
    pub states: usize,
    /// The time for the exploration.
    pub time: Duration,
    /// Whether to find a shortest execution for each outcome, too.
    pub executions: bool,
    /// Whether to report races.
    pub races: bool,
}

/// A failure of some execution.
#[derive(Clone, Debug)]
pub struct ProgramFailure {
    /// The kind.
    pub kind: FailureKind,
    /// The thread, from 1, and its node; `None` for the code of `main` behind its threads.
    pub thread: Option<(usize, u8)>,
    /// The source line.
    pub place: SourcePlace,
    /// The failure in words.
    pub what: String,
    /// The outcomes that were recorded before it.
    pub values: RecordedValues,
    /// A shortest execution, or, of random runs, the first one.
    pub execution: ProgramExecution,
}

/// An execution in which some threads wait for ever.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StuckThreads {
    /// The threads that wait, from 1, each with its node, its source line and the call in which it waits.
    pub threads: Vec<(usize, u8, SourcePlace, String)>,
}

/// The result of an exploration.
#[derive(Clone, Debug)]
#[must_use = "a limit may have cut the exploration short"]
pub struct ExploredProgram {
    /// The outcomes: the values that executions record, by name. Each has a shortest execution if that was asked for.
    pub outcomes: BTreeMap<RecordedValues, ProgramExecution>,
    /// The failures, each source line once.
    pub failures: Vec<ProgramFailure>,
    /// The ways in which executions are stuck, each with a shortest execution.
    pub stuck: BTreeMap<StuckThreads, ProgramExecution>,
    /// The races, each pair of source lines once, if that was asked for.
    pub races: Vec<ProgramRace>,
    /// Likely mistakes: source line and text.
    pub warnings: Vec<(String, String)>,
    /// The limit that was hit, or what is not supported. Then there may be more outcomes, failures and stuck executions.
    pub stop: Option<String>,
    /// Functions and instructions that threads reach and that read or write memory unseen, each with a source line. What they share
    /// with other threads or with operations is not explored.
    pub unseen: BTreeMap<String, String>,
    /// The network: `rc-relaxed` if the program registers memory with relaxed ordering.
    pub network: Network,
    /// The threads, nodes and words of the model.
    pub world: World,
    /// The number of words that threads and operations share.
    pub words: usize,
    /// The number of states of the machine, in the last round.
    pub states: usize,
    /// The number of times that a thread was run.
    pub runs: usize,
    /// The time.
    pub time: Duration,
}

/// Starts a program and lets its `main` set up.
fn started(ask: &Ask<'_>, deadline: Instant, main_takes_part: bool) -> Result<CompiledProgram, Error> {
    let mut lines = Lines::of(ask.programs.iter().map(|p| p.program.as_path()));
    let (process, made) =
        Processes::start(ask.programs, (ask.per_node, main_takes_part), (false, Some(deadline)), &mut lines)?;
    if made.threads.is_empty() {
        let why = "`main` starts no thread: start those of the nodes with mowgli_node or pthread_create";
        return Err(Error::Program(format!("{}: {why}", ask.programs[0].program.display())));
    }
    let mut code = CompiledProgram::new(process, made, lines, ask.switches.network);
    code.uses.for_races = ask.races;
    Ok(code)
}

/// Explores a program.
///
/// # Errors
/// If the program cannot be started, or its memory or its calls are not supported.
pub fn explore(ask: &Ask<'_>) -> Result<ExploredProgram, Error> {
    let begin = Instant::now();
    let expired = || begin.elapsed() > ask.time;
    in_rounds(ask, begin, |program, world| {
        let observed: Vec<Cell> = observed(&program.get(), world);
        let threads = program.threads(world);
        let mut machine = machine(world, &threads, ask, program)?;
        // Code that needs other shared memory is not run any more, so the rest of the states has nothing new.
        let is_over = || expired() || program.get().is_stale;
        let runs = machine.explore(&observed, ask.states, &is_over);
        let conflicts = machine.conflicts().map(|(both, _)| both).collect::<Vec<_>>();
        let mut code = program.get();
        match code.error.take() {
            Some(Error::Late(_)) => return Ok(Some(unfinished(&code, world, &runs, begin))),
            Some(error) => return Err(error),
            None => {}
        }
        if code.is_stale {
            return Ok(expired().then(|| unfinished(&code, world, &runs, begin)));
        }
        code.main_sets_up_only()?;
        code.each_word_is_of_one_node()?;
        // What was found is described and replayed in as much time again.
        code.process.set_deadline(begin + 2 * ask.time + Duration::from_secs(1));
        drop(code);
        finished(ask, program, world, &observed, (runs, &conflicts), begin)
    })
}

/// Starts a program, and begins a round with more shared memory until `round` has a result. `main` sets up and joins, or else it is a
/// thread like others.
fn in_rounds<R>(
    ask: &Ask<'_>,
    begin: Instant,
    mut round: impl FnMut(&SharedProgram, &World) -> Result<Option<R>, Error>,
) -> Result<R, Error> {
    match rounds(ask, (begin, false), &mut round) {
        Err(Error::MainTakesPart) => rounds(ask, (begin, true), &mut round),
        result => result,
    }
}

fn rounds<R>(
    ask: &Ask<'_>,
    (begin, main_takes_part): (Instant, bool),
    round: &mut impl FnMut(&SharedProgram, &World) -> Result<Option<R>, Error>,
) -> Result<R, Error> {
    let program = SharedProgram::new(started(ask, begin + ask.time, main_takes_part)?);
    for _ in 0..ROUNDS {
        let mut code = program.get();
        let world = code.begin()?;
        // The code behind the last join reads memory, too, and what it reads is shared.
        epilogue(&mut code, &|x| world.objects.get(&x).map(|object| object.init));
        if let Some(error) = code.error.take() {
            return Err(error);
        }
        if code.is_stale {
            continue;
        }
        drop(code);
        if let Some(result) = round(&program, &world)? {
            return Ok(result);
        }
    }
    Err(Error::Program(format!("the shared memory is not known after {ROUNDS} rounds")))
}

/// Returns the result of an exploration whose time was over while it looked for the shared memory. It knows no execution.
fn unfinished(code: &CompiledProgram, world: &World, runs: &MachineRuns, begin: Instant) -> ExploredProgram {
    ExploredProgram {
        outcomes: BTreeMap::new(),
        failures: Vec::new(),
        stuck: BTreeMap::new(),
        races: Vec::new(),
        warnings: code.warnings.iter().cloned().collect(),
        unseen: code.unseen.clone(),
        stop: Some("the time was over before the shared memory was known; --timeout gives more".to_owned()),
        network: code.network,
        world: world.clone(),
        words: code.cells.0.len(),
        states: runs.states,
        runs: code.process.forks(),
        time: begin.elapsed(),
    }
}

fn machine<'a>(
    world: &World,
    threads: &'a [Script],
    ask: &Ask<'_>,
    program: &SharedProgram,
) -> Result<Machine<'a>, Error> {
    let switches = Switches { network: program.get().network, ..ask.switches };
    let machine = Machine::new(world, threads).map_err(|e| Error::Program(e.to_string()))?.with(switches);
    Ok(if ask.races { machine.watching() } else { machine })
}

/// Lists the words that the code behind the last join reads, and those of operations to memory that is freed. Once it has read another
/// one, as it may on a path that first values do not take, these are all words.
fn observed(code: &CompiledProgram, world: &World) -> Vec<Cell> {
    let read: BTreeSet<u64> = if code.observes_all {
        code.cells.0.keys().copied().collect()
    } else {
        code.uses.read_at_the_end().flat_map(|(at, size)| code.cells.in_range(at, size).map(|(at, _)| at)).collect()
    };
    let mut words = code.written_where_freed();
    words.extend(read.into_iter().map(|at| code.loc(at)));
    words.into_iter().map(|loc| Cell { loc, node: world.objects[&loc].node.unwrap_or(Node(1)) }).collect()
}

/// Runs the code behind the last join, with these last values in memory. Returns `None` if it makes a false assumption, if a limit
/// cuts it short, or if it reads a word without a value, which begins another round.
fn epilogue(
    code: &mut CompiledProgram,
    value: &dyn Fn(Loc) -> Option<Val>,
) -> Option<(RecordedValues, Option<Failed>)> {
    let mut results = Vec::new();
    if !code.process.has_epilogue {
        return Some((Vec::new(), None));
    }
    // Nobody writes any more, so who is in a state again waits for ever.
    let mut states = BTreeSet::new();
    loop {
        match code.walk(EPILOGUE, &results) {
            CodeAt::Call(ModelCall { state, site: CallSite { places, .. }, .. }) if !states.insert(state) => {
                let what = "waits for ever behind its threads".to_owned();
                return Some((Vec::new(), Some((FailureKind::Program, places, what))));
            }
            CodeAt::Call(ModelCall { call, .. }) if call.method.text() == "Read" => {
                let Some(v) = value(call.loc(0)) else {
                    (code.observes_all, code.is_stale) = (true, true);
                    return None;
                };
                results.push(v);
            }
            CodeAt::Call(ModelCall { site: CallSite { places, .. }, .. }) => {
                let what = "a call that changes memory, behind the last join".to_owned();
                return Some((Vec::new(), Some((FailureKind::Misuse, places, what))));
            }
            CodeAt::End(number) => {
                let ending = code.endings[number].clone();
                return Some((ending.values, ending.failure));
            }
            CodeAt::Discarded | CodeAt::Cut(_) => return None,
        }
    }
}

/// Collects the results of a round; `None` if the code behind the last join needs other cells.
fn finished(
    ask: &Ask<'_>,
    program: &SharedProgram,
    world: &World,
    observed: &[Cell],
    (runs, conflicts): (MachineRuns, &[ConflictingAccesses]),
    begin: Instant,
) -> Result<Option<ExploredProgram>, Error> {
    let mut guard = program.get();
    let code = &mut *guard;
    let mut outcomes: BTreeMap<RecordedValues, Seek> = BTreeMap::new();
    let mut failures: BTreeMap<(FailureKind, String, String), (ProgramFailure, Seek)> = BTreeMap::new();
    let mut stuck: BTreeMap<StuckThreads, Seek> = BTreeMap::new();
    let mut ends: Vec<(Vec<ThreadEnding>, &[Val], Seek)> = Vec::new();
    for standstill in &runs.stuck {
        let endings = ended(code, standstill);
        // Who waits for a thread that has failed is part of the failure.
        if endings.iter().any(|e| e.failure.is_some()) {
            continue;
        }
        let seek = Seek::Standstill(standstill.clone());
        if waits_for_nobody(code, standstill) {
            ends.push((endings, &standstill.finals, seek));
        } else {
            stuck.entry(waiting(code, standstill)).or_insert(seek);
        }
    }
    let mut fails = |(kind, place, what): (FailureKind, SourcePlace, String), thread, values, seek| {
        let key = (kind, place.to_string(), what.clone());
        let failure = ProgramFailure { kind, thread, place, what, values, execution: ProgramExecution::default() };
        failures.entry(key).or_insert((failure, seek));
    };
    for (number, ending) in code.endings.clone().into_iter().enumerate().filter(|(_, e)| e.thread != EPILOGUE) {
        let Some((kind, places, what)) = ending.failure else { continue };
        let (place, node) = (code.lines.place(&places), code.made.threads[ending.thread].0);
        let seek = Seek::Ending(ending.thread, number);
        fails((kind, place, what), Some((ending.thread + 1, node)), ending.values, seek);
    }
    for outcome in &runs.outcomes {
        let endings: Option<Vec<_>> =
            outcome.outputs.iter().map(|v| code.endings.get(v.int()? as usize).cloned()).collect();
        let endings = endings.ok_or_else(|| Error::Program("an ending that is not known".to_owned()))?;
        ends.push((endings, &outcome.finals, Seek::Outcome(outcome.clone())));
    }
    for (endings, finals, seek) in ends {
        if endings.iter().any(|e| e.failure.is_some()) {
            continue;
        }
        if let Some(waits) = unreceived(code, &endings) {
            stuck.entry(waits).or_insert(seek);
            continue;
        }
        let last = |x| observed.iter().position(|cell| cell.loc == x).map(|at| finals[at]);
        if let Some((thread, (kind, places, what))) = freed_under_way(code, &endings, &last) {
            let (place, node) = (code.lines.place(&places), code.made.threads[thread].0);
            let values = endings.into_iter().flat_map(|e| e.values).collect();
            fails((kind, place, what), Some((thread + 1, node)), values, seek);
            continue;
        }
        let epilogue = epilogue(code, &last);
        match code.error.take() {
            Some(Error::Late(_)) => return Ok(Some(unfinished(code, world, &runs, begin))),
            Some(error) => return Err(error),
            None if code.is_stale => return Ok(None),
            None => {}
        }
        let Some((values, failure)) = epilogue else { continue };
        let is_open = reads_unpolled(code, &endings);
        let recorded = endings.into_iter().flat_map(|e| e.values).chain(values).collect();
        if let Some((kind, places, what)) = failure {
            if is_open {
                continue;
            }
            let place = code.lines.place(&places);
            fails((kind, place, what), None, recorded, seek);
            continue;
        }
        outcomes.entry(recorded).or_insert(seek);
    }
    code.main_sets_up_only()?;
    reaches_receives(code);
    drop(guard);
    let (expired, threads) = (|| begin.elapsed() > 2 * ask.time, program.threads(world));
    let mut is_denied = false;
    let mut execution = |seek: &Seek| -> Result<ProgramExecution, Error> {
        let is = |outputs: &[Option<Val>], outcome: Option<&Outcome>| match seek {
            Seek::Ending(thread, number) => outputs[*thread] == Some(Val::Int(*number as i64)),
            Seek::Outcome(wanted) => outcome == Some(wanted),
            Seek::Standstill(_) => false,
        };
        let mut machine = machine(world, &threads, ask, program)?;
        let steps = match seek {
            Seek::Standstill(stuck) => machine.shortest_to_standstill(stuck, ask.states, &expired),
            _ => machine.shortest(observed, &is, ask.states, &expired),
        };
        let Some(steps) = steps else { return Ok(ProgramExecution::default()) };
        let code = &mut *program.get();
        let (execution, results) = described(code, &steps);
        is_denied |= !expired() && !is_confirmed(code, seek, &results);
        Ok(execution)
    };
    let mut shown = Vec::new();
    for (failure, seek) in failures.into_values() {
        shown.push(ProgramFailure { execution: execution(&seek)?, ..failure });
    }
    let mut waiting = BTreeMap::new();
    for (threads, seek) in stuck {
        waiting.insert(threads, execution(&seek)?);
    }
    let mut recorded = BTreeMap::new();
    for (values, seek) in outcomes {
        let own = if ask.executions { execution(&seek)? } else { ProgramExecution::default() };
        recorded.insert(values, own);
    }
    let mut racing = Vec::new();
    let between = races(&mut program.get(), conflicts);
    for all in between.into_values() {
        let mut machine = machine(world, &threads, ask, program)?;
        let found = machine.shortest_to_conflict(&all, ask.states, &expired);
        let code = &mut *program.get();
        let (both, execution) = match found {
            Some((both, steps)) => {
                let (execution, results) = described(code, &steps);
                let mut is_made =
                    |of: NextAccess| code.makes_again(of.thread.index(), of.call, &results[of.thread.index()]);
                is_denied |= !(expired() || is_made(both.0) && is_made(both.1));
                (both, execution)
            }
            None => (*all.first().expect("a race has accesses"), ProgramExecution::default()),
        };
        racing.push(ProgramRace::of(code, both, execution));
    }
    let denied = is_denied
        .then(|| "a replay does not confirm what was found: report this bug of Mowgli, unless the program differs from run to run".to_owned());
    let code = program.get();
    let limit = denied.or_else(|| code.limits.first().cloned());
    let stop = limit.or_else(|| runs.stop.as_ref().map(ToString::to_string));
    let unfinished = unfinished(&code, world, &runs, begin);
    let (outcomes, failures, stuck, races) = (recorded, shown, waiting, racing);
    Ok(Some(ExploredProgram { outcomes, failures, stuck, races, stop, ..unfinished }))
}

/// Runs the threads of an execution again, and returns whether they do what was found.
fn is_confirmed(code: &mut CompiledProgram, seek: &Seek, results: &[Vec<Val>]) -> bool {
    let ends_as = |code: &mut CompiledProgram, thread: usize, number: usize| {
        let (wanted, end) = (code.endings[number].clone(), code.replayed(thread, &results[thread]));
        let is = |values: RecordedValues| values == wanted.values;
        match (end, &wanted.failure) {
            (Some(RunEnd::Ended(values, _)), None) => is(values),
            (Some(RunEnd::Failed(..)), Some((FailureKind::Program, ..)))
            | (Some(RunEnd::Misuse(..)), Some((FailureKind::Misuse, ..)))
            | (Some(RunEnd::Needs(..)), Some(_)) => true,
            _ => false,
        }
    };
    match seek {
        Seek::Ending(thread, number) => ends_as(code, *thread, *number),
        Seek::Outcome(outcome) => {
            let numbers: Vec<usize> = outcome.outputs.iter().filter_map(|v| Some(v.int()? as usize)).collect();
            numbers.iter().enumerate().all(|(thread, number)| ends_as(code, thread, *number))
        }
        Seek::Standstill(stuck) => (0..results.len()).all(|thread| {
            let end = code.replayed(thread, &results[thread]);
            let has_ended = matches!(end, Some(RunEnd::Ended(..)));
            end.is_some() && has_ended == stuck.threads[thread].waits.is_none()
        }),
    }
}

/// Returns the threads that wait for ever in the execution with these ends, because they have polled the completion of a SEND that
/// nobody receives. The machine completes a SEND when its data have arrived; a card waits until a receive is posted.
fn unreceived(code: &mut CompiledProgram, endings: &[ThreadEnding]) -> Option<StuckThreads> {
    let mut posted = code.made.posted.clone();
    endings.iter().flat_map(|e| &e.messages.posted).for_each(|(queue, n)| *posted.entry(*queue).or_default() += n);
    let mut needed: BTreeMap<u64, i64> = BTreeMap::new();
    let mut threads = Vec::new();
    for ending in endings {
        for (peer, n, places) in &ending.messages.sent {
            let Some(queue) = code.receive_queue(u64::from(*peer)) else { continue };
            *needed.entry(queue).or_default() += n;
            if needed[&queue] > posted.get(&queue).copied().unwrap_or(0) {
                let node = code.made.threads[ending.thread].0;
                let call = "the completion of a SEND that no receive is posted for".to_owned();
                threads.push((ending.thread + 1, node, code.lines.place(places), call));
            }
        }
    }
    (!threads.is_empty()).then_some(StuckThreads { threads })
}

/// True if `main` reads memory of a receive behind its last join, where a message may be that nobody polled. Such data come at the poll, so
/// it is an exception.
fn reads_unpolled(code: &mut CompiledProgram, endings: &[ThreadEnding]) -> bool {
    let mut open: BTreeMap<u64, i64> = BTreeMap::new();
    for (pair, n) in endings.iter().flat_map(|e| &e.messages.made) {
        if let Some(queue) = code.receive_queue(u64::from(*pair)) {
            *open.entry(queue).or_default() += n;
        }
    }
    let receives = endings.iter().flat_map(|e| &e.messages.unpolled).chain(&code.made.shared);
    let has_message = |(queue, _): &&(u64, (u64, u64))| open.get(queue).is_some_and(|n| *n > 0);
    let late: Vec<(u64, u64)> = receives.filter(has_message).map(|(_, memory)| *memory).collect();
    let is_late = |a: &&MemoryAccess| late.iter().any(|memory| overlap(*memory, (a.at, a.size)));
    let Some(places) = code.uses.at_the_end().find(is_late).map(|a| a.places.clone()) else { return false };
    let line = code.line(&places);
    let what = "memory of a receive that `main` reads, whose completion was not polled";
    code.unseen.entry(what.to_owned()).or_insert(line);
    true
}

/// Names operations that reach memory of receives at the other side whose data come at the poll.
fn reaches_receives(code: &mut CompiledProgram) {
    let late = || code.late.iter().chain(code.made.shared.iter().map(|(_, memory)| memory));
    let is_late = |reached: &(u64, u64)| late().any(|memory| overlap(*memory, *reached));
    if let Some((_, line)) = code.reached.iter().find(|(reached, _)| is_late(reached)) {
        let what = "memory of a receive that an operation of the other side reaches";
        code.unseen.entry(what.to_owned()).or_insert(line.clone());
    }
}

/// Returns the thread that has ended what an operation needs later, with the failure.
fn freed_under_way(
    code: &mut CompiledProgram,
    endings: &[ThreadEnding],
    last: &dyn Fn(Loc) -> Option<Val>,
) -> Option<(usize, Failed)> {
    let lands = |id: usize| endings.iter().any(|e| e.lands.contains(&id));
    for ending in endings {
        for (end, k, places) in &ending.messages.open {
            if let Some(id) = code.lands_later((*end, *k), &lands, last) {
                let line = code.line(&code.landings[id].places.clone());
                let what = match end.0 {
                    'q' => format!("destroys the queue pair by which the operation of {line} comes later"),
                    'd' => format!("deregisters memory that the operation of {line} reaches later"),
                    _ => format!("frees memory that the operation of {line} reaches later"),
                };
                return Some((ending.thread, (FailureKind::Misuse, places.clone(), what)));
            }
        }
    }
    None
}

/// The results of random runs.
#[derive(Clone, Debug, Default)]
pub struct RandomRuns {
    /// The number of runs with each outcome, and the seed of the first.
    pub outcomes: BTreeMap<RecordedValues, (u64, u64)>,
    /// The failures, each source line once, with the number of runs and the seed of the first.
    pub failures: Vec<(ProgramFailure, u64, u64)>,
    /// The number of runs with each way to be stuck, and the seed of the first.
    pub stuck: BTreeMap<StuckThreads, (u64, u64)>,
    /// The races, each pair of source lines once, with the number of runs and the seed of the first.
    pub races: Vec<(ProgramRace, u64, u64)>,
    /// The number of runs that ended otherwise: a false assumption.
    pub discarded: u64,
    /// The number of runs.
    pub runs: u64,
    /// The limit that was hit, or what is not supported.
    pub stop: Option<String>,
    /// Functions and instructions that threads reach and that read or write memory unseen, each with a source line.
    pub unseen: BTreeMap<String, String>,
}

/// A failure of a run: the thread, or `None` for the code of `main` behind its threads, with the kind, the place and the text.
type Cause = (Option<usize>, Failed);

/// The end of a random run.
enum RunResult {
    /// All threads have ended, and these values are recorded.
    Outcome(RecordedValues),
    /// Something failed.
    Failed(Cause),
    /// Some threads wait for ever.
    Stuck(StuckThreads),
    /// An assumption is false.
    Discarded,
}

/// Random runs with one end and the same conflicting accesses: their number, and the first of them.
struct EqualRuns {
    count: u64,
    seed: u64,
    steps: Vec<Step>,
    /// The conflicting accesses, each with the number of steps before it.
    conflicts: BTreeMap<ConflictingAccesses, usize>,
}

/// The runs of one round, by their ends and conflicting accesses.
#[derive(Default)]
struct RoundOfRuns {
    ends: BTreeMap<(WalkEnd, Vec<ConflictingAccesses>), EqualRuns>,
    runs: u64,
    stop: Option<String>,
}

/// Runs a program so many times on the machine with random schedules; run k has the seed `seed + k`.
///
/// # Errors
/// If the program cannot be started, or its memory or its calls are not supported.
pub fn run(ask: &Ask<'_>, times: u64, seed: u64) -> Result<RandomRuns, Error> {
    let begin = Instant::now();
    in_rounds(ask, begin, |program, world| {
        let round = round_of_runs(ask, program, world, (times, seed), &|| begin.elapsed() > ask.time)?;
        let code = &mut *program.get();
        // Runs before the shared memory was known do not count.
        let counted = if code.is_stale { None } else { counted(code, world, round) };
        code.main_sets_up_only()?;
        code.each_word_is_of_one_node()?;
        code.error.take().map_or(Ok(counted), Err)
    })
}

/// Makes the runs of one round. The round is of no use if one of them needs other cells.
fn round_of_runs(
    ask: &Ask<'_>,
    program: &SharedProgram,
    world: &World,
    (times, seed): (u64, u64),
    expired: &dyn Fn() -> bool,
) -> Result<RoundOfRuns, Error> {
    let observed = observed(&program.get(), world);
    let mut round = RoundOfRuns::default();
    let threads = program.threads(world);
    let mut walks = MachineWalks::of(machine(world, &threads, ask, program)?);
    while round.stop.is_none() && round.runs < times {
        if expired() {
            round.stop = Some(format!("the time is up after {} runs", round.runs));
            break;
        }
        let own = seed + round.runs;
        let (mut random, mut steps) = (fastrand::Rng::with_seed(own), Vec::new());
        let mut choose = |open: &[usize]| open[random.usize(..open.len())];
        let end = walks.walk(&observed, &mut choose, &mut |step| steps.push(step.clone()), expired);
        round.runs += 1;
        match end {
            Ok(end) => {
                let conflicts: BTreeMap<ConflictingAccesses, usize> = walks.conflicts().collect();
                let first = || EqualRuns { count: 0, seed: own, steps, conflicts: conflicts.clone() };
                let key = (end, conflicts.keys().copied().collect());
                round.ends.entry(key).or_insert_with(first).count += 1;
            }
            Err(stop) => round.stop = Some(stop.to_string()),
        }
    }
    let mut code = program.get();
    if let (Some(stop), Some(limit)) = (&mut round.stop, code.limits.first()) {
        stop.clone_from(limit);
    }
    code.error.take().map_or(Ok(round), Err)
}

/// Counts the ends of runs, first ones first; `None` if the code behind the last join needs other cells.
fn counted(code: &mut CompiledProgram, world: &World, round: RoundOfRuns) -> Option<RandomRuns> {
    let observed = observed(code, world);
    let unseen = code.unseen.clone();
    let mut ran = RandomRuns { runs: round.runs, stop: round.stop, unseen, ..RandomRuns::default() };
    let mut seen: BTreeMap<(FailureKind, String, String), usize> = BTreeMap::new();
    let mut ends: Vec<_> = round.ends.into_iter().collect();
    ends.sort_by_key(|(_, runs)| runs.seed);
    for ((end, _), runs) in ends {
        let EqualRuns { count, seed, .. } = runs;
        if !matches!(end, WalkEnd::Discarded) {
            count_races(code, &runs, &mut ran.races);
        }
        let result = result(code, &observed, end);
        if code.is_stale {
            return None;
        }
        match result {
            RunResult::Outcome(values) => ran.outcomes.entry(values).or_insert((0, seed)).0 += count,
            RunResult::Stuck(stuck) => ran.stuck.entry(stuck).or_insert((0, seed)).0 += count,
            RunResult::Discarded => ran.discarded += count,
            RunResult::Failed((thread, (kind, places, what))) => {
                let place = code.lines.place(&places);
                let at = *seen.entry((kind, place.to_string(), what.clone())).or_insert(ran.failures.len());
                if at == ran.failures.len() {
                    let thread = thread.map(|t| (t + 1, code.made.threads[t].0));
                    let (execution, _) = described(code, &runs.steps);
                    let failure = ProgramFailure { kind, thread, place, what, values: Vec::new(), execution };
                    ran.failures.push((failure, 0, seed));
                }
                ran.failures[at].1 += count;
            }
        }
    }
    Some(ran)
}

/// Returns the result of a run that ends so.
fn result(code: &mut CompiledProgram, observed: &[Cell], end: WalkEnd) -> RunResult {
    let (ends, finals): (Vec<ThreadEnding>, _) = match &end {
        WalkEnd::Outcome(outcome) => {
            let ends = outcome.outputs.iter().filter_map(|v| code.endings.get(v.int()? as usize).cloned());
            (ends.collect(), &outcome.finals)
        }
        WalkEnd::Stuck(still) => (ended(code, still), &still.finals),
        WalkEnd::Discarded => return RunResult::Discarded,
    };
    if let Some(cause) = ends.iter().find_map(|end| Some((Some(end.thread), end.failure.clone()?))) {
        return RunResult::Failed(cause);
    }
    let last = |x| observed.iter().position(|cell| cell.loc == x).map(|at| finals[at]);
    if let Some((thread, failed)) = freed_under_way(code, &ends, &last) {
        return RunResult::Failed((Some(thread), failed));
    }
    if let WalkEnd::Stuck(still) = &end
        && !waits_for_nobody(code, still)
    {
        return RunResult::Stuck(waiting(code, still));
    }
    match epilogue(code, &last) {
        None => RunResult::Discarded,
        Some((_, Some(failure))) => RunResult::Failed((None, failure)),
        Some((values, None)) => RunResult::Outcome(ends.into_iter().flat_map(|end| end.values).chain(values).collect()),
    }
}

/// Returns the endings of the threads of a standstill that have ended.
fn ended(code: &mut CompiledProgram, standstill: &Standstill) -> Vec<ThreadEnding> {
    let mut endings = Vec::new();
    for (thread, rest) in standstill.threads.iter().enumerate() {
        if let CodeAt::End(number) = code.walk(thread, &rest.results) {
            endings.push(code.endings[number].clone());
        }
    }
    endings
}

/// True if nobody waits for those that wait: the program ends without them.
fn waits_for_nobody(code: &CompiledProgram, standstill: &Standstill) -> bool {
    let mut waiting = standstill.threads.iter().enumerate().filter(|(_, rest)| rest.waits.is_some());
    waiting.all(|(thread, _)| code.is_left(thread))
}

/// Counts the races of runs, and describes those that no run had before.
fn count_races(code: &mut CompiledProgram, runs: &EqualRuns, found: &mut Vec<(ProgramRace, u64, u64)>) {
    let all: Vec<ConflictingAccesses> = runs.conflicts.keys().copied().collect();
    for (lines, of_lines) in races(code, &all) {
        let at = found.iter().position(|(race, ..)| race.is_at(&lines)).unwrap_or(found.len());
        if at == found.len() {
            let first =
                of_lines.iter().min_by_key(|both| runs.conflicts[both]).expect("a race has conflicting accesses");
            let (execution, _) = described(code, &runs.steps[..runs.conflicts[first]]);
            found.push((ProgramRace::of(code, *first, execution), 0, runs.seed));
        }
        found[at].1 += runs.count;
    }
}

/// Runs each thread once, or only the one with this number, with the results of an execution: see [`ProgramExecution::trace`]. What
/// the program prints is shown.
///
/// # Errors
/// If the program cannot be started, or the trace is not one of it.
pub fn replay(
    programs: &[ProgramCommand],
    per_node: bool,
    trace: &str,
    only: Option<usize>,
) -> Result<Vec<String>, Error> {
    let why = "this is no trace of this program as it is compiled: `mowgli verbs explore --trace FILE` writes one";
    let wrong = || Error::Program(why.to_owned());
    let mut lines = Lines::of(programs.iter().map(|p| p.program.as_path()));
    let head = |main| format!("programs{} main {main}", lines.fingerprint());
    let (first, trace) = trace.split_once('\n').ok_or_else(wrong)?;
    let main_takes_part = first == head(1);
    if !main_takes_part && first != head(0) {
        return Err(wrong());
    }
    let (mut process, made) = Processes::start(programs, (per_node, main_takes_part), (true, None), &mut lines)?;
    let (mut said, mut threads) = (Vec::new(), made.threads);
    for text in trace.lines() {
        let kind = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        let numbers = text[kind.len()..].split_whitespace().map(|word| word.parse::<i64>().map_err(|_| wrong()));
        let numbers = numbers.collect::<Result<Vec<i64>, Error>>()?;
        let ranges = || numbers.chunks_exact(2).map(|c| (c[0] as u64, c[1] as u64)).collect::<Vec<_>>();
        match (kind, &numbers[..]) {
            ("cells", _) => process.set_cells(&ranges())?,
            ("blocks", _) => process.set_blocks(&ranges())?,
            ("starts", &[starter, node, id]) => {
                process.add(starter as usize);
                threads.push((node as u8, id as u64));
            }
            _ => {}
        }
        if !kind.is_empty() {
            continue;
        }
        let (thread, tape) = numbers.split_first().ok_or_else(wrong)?;
        let known_as = threads.get(*thread as usize).copied().ok_or_else(wrong)?;
        if only.is_some_and(|only| only as i64 != thread + 1) {
            continue;
        }
        let (batch, _) = process.run(*thread as usize, known_as, tape)?;
        let end = match batch.end {
            RunEnd::Failed(at, what, _) | RunEnd::Misuse(at, what, _) => format!("{}: {what}", lines.place(&at)),
            RunEnd::Ended(values, _) => {
                let values: String = values.iter().map(|(name, v)| format!(" {name}={v}")).collect();
                format!("ends{values}")
            }
            RunEnd::Asks(line) => format!("is at {}", lines.place(&line.places)),
            _ => "stops".to_owned(),
        };
        said.push(format!("thread {}: {end}", thread + 1));
    }
    if let (Some(only), true) = (only, said.is_empty()) {
        return Err(Error::Program(format!("the trace has no thread {only}; threads are numbered from 1")));
    }
    Ok(said)
}

/// The state that an execution is to reach.
enum Seek {
    Ending(usize, usize),
    Outcome(Outcome),
    Standstill(Standstill),
}

/// Describes the threads that wait for ever.
fn waiting(code: &mut CompiledProgram, standstill: &Standstill) -> StuckThreads {
    let mut threads = Vec::new();
    for (thread, rest) in standstill.threads.iter().enumerate().filter(|(_, rest)| rest.waits.is_some()) {
        if let CodeAt::Call(ModelCall { call, site, .. }) = code.walk(thread, &rest.results) {
            let place = code.lines.place(&site.places);
            // A word without a name is one of libibverbs, which a poll reads when it has nothing to wait for.
            let is_poll = call.library == CRASH || call.to_string().contains("(at");
            let waits_for_nobody = call.to_string().contains("(waits_");
            let stays = rest.results.last().filter(|_| call.method.text() == "Read" && rest.waits == Some(true));
            let call = match stays {
                _ if waits_for_nobody => "a loop that reads memory that no other thread writes".to_owned(),
                _ if is_poll => "a loop that polls or looks".to_owned(),
                Some(v) => format!("{call}, which stays {v}"),
                None => call.to_string(),
            };
            threads.push((thread + 1, code.made.threads[thread].0, place, call));
        }
    }
    StuckThreads { threads }
}
