//! Answers of the commands as text, as JSON, and executions as litmus tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use itertools::Itertools;
use mowgli::error::{Code, InputError};
use mowgli::litmus::print;
use mowgli::litmus::test::{Model, element};
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::soundness::client::Client;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::Switches;
use mowgli_rdma::tso::Method;
use mowgli_rdma::way::Way;
use mowgli_verbs::{
    ExecutionStep, ExploredProgram, FailureKind, ProgramExecution, ProgramFailure, ProgramRace, RacingAccess,
    RandomRuns, StuckThreads,
};
use serde_json::json;

/// True if nothing was found.
pub(crate) fn is_fine(explored: &ExploredProgram) -> bool {
    explored.failures.is_empty() && explored.stuck.is_empty() && explored.races.is_empty()
}

fn values(all: &[(String, i64)]) -> String {
    match all {
        [] => "nothing recorded".to_owned(),
        _ => all.iter().map(|(name, v)| format!("{name}={v}")).join(" "),
    }
}

fn counted(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

fn kind(failure: &ProgramFailure) -> &'static str {
    match failure.kind {
        FailureKind::Program => "failure",
        FailureKind::Misuse => "wrong use of verbs",
    }
}

fn at(place: &impl ToString) -> String {
    let text = place.to_string();
    if text.is_empty() { text } else { format!("{text}: ") }
}

/// Prints a failure, and a shortest execution that shows it.
fn failed(failure: &ProgramFailure) -> String {
    let who = match failure.thread {
        Some((thread, node)) => format!("thread {thread} on node {node}"),
        None => "`main`, behind its threads".to_owned(),
    };
    let recorded =
        if failure.values.is_empty() { String::new() } else { format!(", recorded: {}", values(&failure.values)) };
    let out = format!("{}: {}{} ({who}){recorded}\n", kind(failure), at(&failure.place), failure.what);
    match failure.execution.steps[..] {
        [] if failure.execution.trace.is_empty() => out + "  no execution was found again within the limits\n",
        [] => out + "  before any access to shared memory\n",
        _ => out + &steps(&failure.execution, "  "),
    }
}

/// Prints the steps of an execution, each with its source line.
fn steps(execution: &ProgramExecution, indent: &str) -> String {
    let all = &execution.steps;
    let width = all.iter().filter_map(|s| s.place.as_ref()).map(|p| p.to_string().len()).max().unwrap_or(0);
    let step = |ExecutionStep { place, step }: &ExecutionStep| {
        let place = place.as_ref().map_or_else(String::new, ToString::to_string);
        format!("{indent}{place:width$}  {step}\n")
    };
    all.iter().map(step).join("")
}

fn waits(stuck: &StuckThreads) -> String {
    let thread = |(thread, node, place, call): &(usize, u8, mowgli_verbs::SourcePlace, String)| {
        format!("  {}thread {thread} on node {node} waits for ever in {call}\n", at(place))
    };
    format!("stuck:\n{}", stuck.threads.iter().map(thread).join(""))
}

/// Prints an access of a race, with its subject.
fn access(access: &RacingAccess) -> String {
    let RacingAccess { place, by_cpu, writes, thread, node } = access;
    let place = place.to_string();
    let place = if place.is_empty() { "a line without debug information".to_owned() } else { place };
    let does = if *writes { "writes" } else { "reads" };
    let who = if *by_cpu { place } else { format!("the operation of {place}") };
    format!("{who} {does} it (thread {thread} on node {node})")
}

/// Prints a race, and an execution to the point at which its accesses are possible.
fn race(race: &ProgramRace) -> String {
    let [a, b] = race.accesses.each_ref().map(access);
    format!("race on {}: {a}, and {b}, in either order\n{}", race.word, steps(&race.execution, "  "))
}

pub(crate) fn text(name: &str, explored: &ExploredProgram, has_races: bool) -> String {
    let (world, is_all) = (&explored.world, explored.stop.is_none());
    let mut out = format!(
        "{name}: {} on {}, {}; {}, {} of code, {:.1} s\n",
        counted(world.threads.len(), "thread"),
        counted(world.nodes.into(), "node"),
        counted(explored.words, "shared word"),
        counted(explored.states, "state"),
        counted(explored.runs, "run"),
        explored.time.as_secs_f64()
    );
    let known = if is_all { "all" } else { "those found" };
    let _ = writeln!(out, "{} ({known}):", counted(explored.outcomes.len(), "outcome"));
    for (outcome, execution) in &explored.outcomes {
        let _ = writeln!(out, "  {}", values(outcome));
        out += &steps(execution, "    ");
    }
    out.extend(explored.failures.iter().map(failed));
    out.extend(explored.stuck.iter().map(|(threads, execution)| waits(threads) + &steps(execution, "  ")));
    out.extend(explored.races.iter().map(race));
    for (place, what) in &explored.warnings {
        let _ = writeln!(out, "warning: {}{what}", at(place));
    }
    let nothing = match (is_fine(explored), has_races) {
        (true, true) => "no execution fails, none waits for ever, and none has a race",
        (true, false) => "no execution fails, and none waits for ever",
        (false, _) => "all executions were explored",
    };
    match &explored.stop {
        Some(why) => _ = writeln!(out, "not complete: {why}"),
        None if !explored.unseen.is_empty() => {
            let _ = writeln!(out, "complete except for {}: {nothing}", unseen(&explored.unseen));
            out += "what these read and write together with other threads or operations is not explored\n";
        }
        None if is_fine(explored) => _ = writeln!(out, "complete: {nothing}"),
        None => {}
    }
    out
}

/// Prints what touches memory unseen.
fn unseen(all: &BTreeMap<String, String>) -> String {
    all.iter().map(|(name, place)| if place.is_empty() { name.clone() } else { format!("{name} ({place})") }).join(", ")
}

/// Returns the execution of a failure as a litmus test of the words that its calls name.
///
/// # Errors
/// If an operation of several words has words that are no part of an array.
pub(crate) fn litmus(
    name: &str,
    explored: &ExploredProgram,
    failure: &ProgramFailure,
    switches: Switches,
) -> Result<String, InputError> {
    let calls = &failure.execution.calls;
    let is_unsignalled = |way: &Val| matches!(Way::of(*way), Ok(Way { signalled: false, .. }));
    let args = || calls.iter().flatten().flat_map(|(call, _)| call.args.iter());
    let switches = Switches { unsignalled: args().any(is_unsignalled), ..switches };
    let mut world = explored.world.clone();
    world.objects.retain(|x, _| args().any(|arg| locs(*arg).contains(x)));
    // By the first queue pair a call has its short form, which more commands know.
    let short = |call: &Call| match Method::of(call).usual() {
        (usual, way) if way == Way::USUAL => usual.into(),
        _ => call.clone(),
    };
    let mut threads: Vec<Vec<Call>> =
        calls.iter().map(|calls| calls.iter().map(|(call, _)| short(call)).collect()).collect();
    with_arrays(&mut world, &mut threads)?;
    let results = calls.iter().map(|calls| Val::tuple(&calls.iter().map(|(_, v)| *v).collect::<Vec<_>>()));
    let outcome = Outcome { outputs: results.collect(), finals: Vec::new() };
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(print::allowed(Model::RdmaTso(switches), &name, &world, &Client { threads }, &outcome))
}

/// Returns the words that an argument names.
fn locs(argument: Val) -> Vec<Loc> {
    match argument {
        Val::Loc(x) => vec![x],
        Val::Tuple(parts) => parts.parts().iter().filter_map(|v| v.loc()).collect(),
        _ => Vec::new(),
    }
}

/// Takes the name of a word apart: the memory, and the offset in it. `record_16` is at offset 16 of `record`.
fn memory_of(x: Loc) -> (&'static str, u64) {
    let name = x.0.text();
    let parts = name.rsplit_once('_').and_then(|(memory, offset)| Some((memory, offset.parse().ok()?)));
    parts.unwrap_or((name, 0))
}

/// Makes arrays of the memory that operations of several words use, because a litmus test has these on arrays only.
fn with_arrays(world: &mut World, threads: &mut [Vec<Call>]) -> Result<(), InputError> {
    let several = || threads.iter().flatten().flat_map(|call| &call.args).filter(|v| matches!(v, Val::Tuple(_)));
    let memories: BTreeSet<&str> = several().flat_map(|v| locs(*v)).map(|x| memory_of(x).0).collect();
    let mut elements: BTreeMap<Loc, (&str, usize)> = BTreeMap::new();
    for memory in memories {
        let words = world.objects.keys().copied().filter(|x| memory_of(*x).0 == memory);
        let words = words.sorted_by_key(|x| memory_of(*x).1).enumerate();
        elements.extend(words.map(|(at, x)| (x, (memory, at))));
    }
    let follows = |x: Loc, y: Loc| {
        let ((one, at), (other, next)) = (elements[&x], elements[&y]);
        (one, at + 1, world.home(x)) == (other, next, world.home(y))
    };
    let is_whole = |v: &Val| locs(*v).iter().tuple_windows().all(|(x, y)| follows(*x, *y));
    if let Some(v) = several().find(|v| !is_whole(v)) {
        let why = format!("a litmus test has operations of several words on arrays only, and {v} is no part of one");
        return Err(InputError::new(Code::Unsupported, why));
    }
    let renamed = |x: Loc| elements.get(&x).map_or(x, |&(memory, at)| element(Name::new(memory), at as i64));
    world.objects = std::mem::take(&mut world.objects).into_iter().map(|(x, object)| (renamed(x), object)).collect();
    for v in threads.iter_mut().flatten().flat_map(|call| &mut call.args) {
        *v = match *v {
            Val::Loc(x) => renamed(x).into(),
            Val::Tuple(_) => Val::tuple(&locs(*v).into_iter().map(|x| renamed(x).into()).collect::<Vec<Val>>()),
            other => other,
        };
    }
    Ok(())
}

fn line(place: &mowgli_verbs::SourcePlace) -> serde_json::Value {
    place.line.as_ref().map_or(json!(null), |(file, line)| json!({ "file": file, "line": line }))
}

fn failure_json(failure: &ProgramFailure) -> serde_json::Value {
    json!({
        "kind": kind(failure), "at": line(&failure.place), "what": failure.what, "values": outcome_json(&failure.values),
        "thread": failure.thread.map(|t| t.0), "node": failure.thread.map(|t| t.1),
        "steps": steps_json(&failure.execution), "trace": failure.execution.trace,
    })
}

fn steps_json(execution: &ProgramExecution) -> serde_json::Value {
    let step = |s: &ExecutionStep| json!({ "at": s.place.as_ref().map(line), "step": s.step });
    execution.steps.iter().map(step).collect()
}

fn outcome_json(all: &[(String, i64)]) -> serde_json::Value {
    all.iter().map(|(name, v)| json!({ "name": name, "value": v })).collect()
}

fn stuck_json(stuck: &StuckThreads) -> serde_json::Value {
    let thread = |(thread, node, place, call): &(usize, u8, mowgli_verbs::SourcePlace, String)| json!({ "thread": thread, "node": node, "at": line(place), "call": call });
    stuck.threads.iter().map(thread).collect()
}

fn race_json(race: &ProgramRace) -> serde_json::Value {
    let access = |a: &RacingAccess| json!({ "at": line(&a.place), "by": if a.by_cpu { "cpu" } else { "card" }, "writes": a.writes, "thread": a.thread, "node": a.node });
    json!({
        "word": race.word, "accesses": race.accesses.iter().map(access).collect_vec(),
        "steps": steps_json(&race.execution), "trace": race.execution.trace,
    })
}

pub(crate) fn as_json(name: &str, explored: &ExploredProgram) -> serde_json::Value {
    json!({
        "program": name,
        "outcomes": explored.outcomes.keys().map(|o| outcome_json(o)).collect_vec(),
        "executions": explored.outcomes.values().filter(|e| !e.steps.is_empty()).map(steps_json).collect_vec(),
        "failures": explored.failures.iter().map(failure_json).collect_vec(),
        "stuck": explored.stuck.keys().map(stuck_json).collect_vec(),
        "stuckSteps": explored.stuck.values().map(steps_json).collect_vec(),
        "races": explored.races.iter().map(race_json).collect_vec(),
        "warnings": explored.warnings.iter().map(|(at, what)| json!({ "at": at, "what": what })).collect_vec(),
        "stopped": explored.stop, "except": explored.unseen,
        "states": explored.states, "runs": explored.runs, "words": explored.words,
    })
}

pub(crate) fn ran_text(name: &str, ran: &RandomRuns, seed: u64) -> String {
    let mut out = format!("{name}: {} over the machine, seeds from {seed}\n", counted(ran.runs as usize, "run"));
    for (outcome, (count, seed)) in ran.outcomes.iter().sorted_by_key(|(_, (count, _))| std::cmp::Reverse(*count)) {
        let _ = writeln!(out, "  {count:>8} {}  (first with --seed {seed} --times 1)", values(outcome));
    }
    for (failure, count, seed) in &ran.failures {
        let _ = writeln!(out, "{count} of them, first with --seed {seed} --times 1:");
        out += &failed(failure);
    }
    for (stuck, (count, seed)) in &ran.stuck {
        let _ = write!(out, "{count} of them, first with --seed {seed} --times 1, are {}", waits(stuck));
    }
    for (found, count, seed) in &ran.races {
        let _ = write!(out, "{count} of them, first with --seed {seed} --times 1, have a {}", race(found));
    }
    if ran.discarded > 0 {
        let _ = writeln!(out, "{} of them do not count, because an assumption is false", ran.discarded);
    }
    if let Some(why) = &ran.stop {
        let _ = writeln!(out, "not complete: {why}");
    }
    if !ran.unseen.is_empty() {
        let _ = writeln!(out, "unseen: what {} read and write", unseen(&ran.unseen));
    }
    out
}

pub(crate) fn ran_json(name: &str, ran: &RandomRuns) -> serde_json::Value {
    let with = |(count, seed): &(u64, u64), key: &str, what: serde_json::Value| json!({ "runs": count, "seed": seed, key: what });
    json!({
        "program": name, "runs": ran.runs, "discarded": ran.discarded, "stopped": ran.stop, "except": ran.unseen,
        "outcomes": ran.outcomes.iter().map(|(o, seen)| with(seen, "values", outcome_json(o))).collect_vec(),
        "failures": ran.failures.iter().map(|(f, n, seed)| with(&(*n, *seed), "failure", failure_json(f))).collect_vec(),
        "stuck": ran.stuck.iter().map(|(s, seen)| with(seen, "threads", stuck_json(s))).collect_vec(),
        "races": ran.races.iter().map(|(r, n, seed)| with(&(*n, *seed), "race", race_json(r))).collect_vec(),
    })
}
