//! Enumeration of every candidate execution of given runs: all sources of all reads, all orders. It is slow and
//! obviously complete.

use std::collections::BTreeMap;

use itertools::Itertools;

use crate::algebra::Choice;
use crate::event::{Event, Writes};
use crate::execution::{Abstracted, Chosen, Execution, Pairs, Subevent};
use crate::ids::Name;
use crate::judge::{Reading, judge};
use crate::library::Libraries;
use crate::search::runs::{Run, Stop};
use crate::world::World;

/// Returns every consistent execution of one run in each thread, or `None` if there are more than `most` candidates to
/// judge.
#[must_use]
pub fn consistent(libraries: &Libraries, world: &World, runs: &[&Run], most: usize) -> Option<Vec<Execution>> {
    let bare = bare(world, runs);
    let mut options: Vec<Vec<Pairs>> = Vec::new();
    // Library and name of each choice, and whether it is a reads-from.
    let mut names: Vec<(Name, &'static str, bool)> = Vec::new();
    for library in libraries.names() {
        let own: Vec<&Event> = bare.events.iter().filter(|e| e.call.library == library).collect();
        let entry = libraries.get(library).expect("a name of the set");
        if own.is_empty() || !entry.admits(world, &own) || !entry.is_well_formed(world, &own) {
            continue;
        }
        let reading = Reading::new(libraries, &bare, library);
        for (name, choice) in &reading.spec.choices {
            names.push((library, name, matches!(choice, Choice::ReadsFrom { .. })));
            options.push(few(ways(&reading, choice), most, &|| false).ok()?);
        }
    }
    let candidates = options.iter().try_fold(1usize, |n, o| n.checked_mul(o.len())).filter(|n| *n <= most);
    candidates?;
    let mut found = Vec::new();
    for chosen in options.iter().map(|o| o.iter()).multi_cartesian_product() {
        let mut execution = bare.clone();
        let sources = names.iter().zip(&chosen).filter(|((.., is_source), _)| *is_source);
        let sources: Pairs = sources.flat_map(|(_, pairs)| pairs.iter().copied()).collect();
        let pairs = names.iter().zip(chosen);
        execution.chosen = pairs
            .map(|(&(library, name, _), pairs)| Chosen {
                library,
                name: name.to_owned(),
                pairs: pairs.iter().copied().collect(),
            })
            .collect();
        if fill(&mut execution, libraries, &sources) && judge(libraries, &execution).is_ok() {
            found.push(execution);
        }
    }
    Some(found)
}

/// The events and subevents of one run in each thread, with nothing chosen and no values.
pub(crate) fn bare(world: &World, runs: &[&Run]) -> Execution {
    let mut execution = Execution {
        world: world.clone(),
        events: Vec::new(),
        subs: Vec::new(),
        chosen: Vec::new(),
        outputs: Vec::new(),
        calls: Vec::new(),
        groups: Vec::new(),
    };
    for run in runs {
        let first_call = execution.calls.len();
        let calls = run.trace.calls.iter();
        execution
            .calls
            .extend(calls.map(|g| Abstracted { event: g.event.clone(), parent: g.parent.map(|p| p + first_call) }));
        execution.groups.extend(run.trace.groups.iter().map(|g| g.map(|g| g + first_call)));
        execution.outputs.push(run.trace.output);
        for (event, shape) in run.trace.events.iter().zip(&run.shapes) {
            let index = execution.events.len();
            execution.events.push(event.clone());
            execution.subs.extend(shape.iter().map(|&sub| Subevent { event: index, sub, read: None, wrote: None }));
        }
    }
    execution
}

/// Sets the value of every read from its source, and the value of every write. Returns `false` if a value stays
/// undefined, because values depend on each other in a cycle.
fn fill(execution: &mut Execution, libraries: &Libraries, sources: &Pairs) -> bool {
    let base = |execution: &Execution, s: usize| {
        execution.subs.iter().position(|o| o.event == execution.subs[s].event).expect("its own event")
    };
    for _ in 0..=execution.subs.len() {
        for s in 0..execution.subs.len() {
            let Subevent { event, sub, .. } = execution.subs[s];
            if let (Some(cell), Some(_)) = (sub.cell, sub.reads) {
                execution.subs[s].read = match sources.iter().find(|(_, r)| *r == s) {
                    Some(&(w, _)) => execution.subs[w].wrote,
                    None => Some(libraries.of(&execution.events[event].call).init(&execution.world, cell)),
                };
            }
            let first = base(execution, s);
            execution.subs[s].wrote = sub.writes.and_then(|w| match w {
                Writes::Is(v) => Some(v),
                Writes::Copy(from) => execution.subs[first + from].read,
                Writes::Step(from) => {
                    let event = &execution.events[event];
                    libraries.of(&event.call).step(event, execution.subs[first + from].read?)
                }
            });
        }
    }
    let done = |s: &Subevent| s.read.is_some() == s.sub.reads.is_some() && s.wrote.is_some() == s.sub.writes.is_some();
    execution.subs.iter().all(done)
}

/// Iterates over an execution of one library with its choices made in every way.
///
/// # Errors
/// If there are more than `most` ways, or the deadline passes before they are known.
pub fn rechosen<'a>(
    libraries: &'a Libraries,
    library: Name,
    execution: &'a Execution,
    most: usize,
    expired: &dyn Fn() -> bool,
) -> Result<impl Iterator<Item = Execution> + 'a, Stop> {
    let reading = Reading::new(libraries, execution, library);
    let choices = &reading.spec.choices;
    let options = choices.iter().map(|(_, choice)| few(ways(&reading, choice), most, expired));
    let options: Vec<Vec<Pairs>> = options.collect::<Result<_, _>>()?;
    let ways = options.iter().try_fold(1usize, |n, o| n.checked_mul(o.len()));
    ways.filter(|n| *n <= most).ok_or(Stop::Choices(most))?;
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let with = move |pairs: Vec<Pairs>| {
        let chosen = names.iter().zip(pairs);
        let chosen =
            chosen.map(|(&name, pairs)| Chosen { library, name: name.to_owned(), pairs: pairs.into_iter().collect() });
        Execution { chosen: chosen.collect(), ..execution.clone() }
    };
    Ok(options.into_iter().map(Vec::into_iter).multi_cartesian_product().map(with))
}

/// Collects the elements, if there are at most `most` and the deadline has not passed.
fn few<T>(all: impl Iterator<Item = T>, most: usize, expired: &dyn Fn() -> bool) -> Result<Vec<T>, Stop> {
    let known: Vec<T> = all.take(most.saturating_add(1)).take_while(|_| !expired()).collect();
    if expired() {
        return Err(Stop::Time);
    }
    if known.len() > most { Err(Stop::Choices(most)) } else { Ok(known) }
}

/// Iterates over every way to make a choice.
fn ways<'a>(reading: &Reading<'_>, choice: &Choice) -> Box<dyn Iterator<Item = Pairs> + 'a> {
    match choice {
        Choice::ReadsFrom { reads, writes } => {
            let (reads, writes) = (reading.members(reads), reading.members(writes));
            let cell = |s: usize| reading.execution.subs[s].sub.cell;
            let sources = reads.iter().map(|&r| {
                let writes = writes.iter().filter(|&&w| w != r && cell(w) == cell(r));
                std::iter::once(None).chain(writes.map(|&w| Some((w, r)))).collect::<Vec<_>>()
            });
            let all = sources.map(Vec::into_iter).multi_cartesian_product();
            Box::new(all.map(|pairs| pairs.into_iter().flatten().collect()))
        }
        Choice::Order { members, key } => {
            let members = reading.members(members);
            let classes = members.iter().filter_map(|&s| key.of(&reading.view(s)).map(|k| (k, s)));
            let classes: BTreeMap<_, _> = classes.into_group_map().into_iter().collect();
            let orders = classes.into_values().map(|class| {
                let n = class.len();
                class.into_iter().permutations(n)
            });
            let pairs = |order: &Vec<usize>| order.iter().copied().tuple_combinations().collect::<Vec<_>>();
            let all = orders.multi_cartesian_product();
            Box::new(all.map(move |orders| orders.iter().flat_map(pairs).collect()))
        }
        Choice::Orient { pairs } => {
            let wanted = reading.pairs(pairs);
            let two = wanted.into_iter().filter(|(a, b)| a != b);
            let all = two.map(|(a, b)| [(a, b), (b, a)].into_iter()).multi_cartesian_product();
            Box::new(all.map(|pairs| pairs.into_iter().collect()))
        }
    }
}
