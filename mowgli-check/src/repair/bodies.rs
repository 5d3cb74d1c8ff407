//! The `repair` command for libraries: the least to insert into the bodies of an implementation so that it is sound.
//! With `--weaken` these are the calls of the bodies that can be left out.
//!
//! Both searches are about the clients within the bounds of a check. An insertion only orders: it removes executions of
//! a client, and the remaining ones keep their edges in hb. So a concretisation g that is right without the insertion
//! is right with it. Conversely, bodies that are not locally sound with it are not locally sound without it.
//! [`Repairs::of`] needs this. The search keeps each client without g, and checks it first, by itself, with other
//! insertions. Only sets that are right for all these clients are checked in full.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::rewrite::places::{Alike, CalledBodies, Unit};
use mowgli_core::rewrite::repair::{Insertions, Limit, MoreRepairs, Remedies, Repairable, Repairs};
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::Client;
use mowgli_core::soundness::progress::Progress;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::{Implementation, add_parts};
use mowgli_core::world::World;
use mowgli_libraries::entry::{Entry, Expected, Variant};
use mowgli_libraries::remedies::of as remedies_of;
use serde::Serialize;

use super::edits::MOVE;
use super::{Costs, may_be_more};
use crate::check::{self, CheckOptions, check, with_question};
use crate::entry::own_calls;
use crate::error::{Code, InputError};
use crate::interrupt::{Deadline, Failure, SECOND, cause};
use crate::litmus::print;

/// A request for repairs.
pub struct BodyRepairRequest<'a> {
    /// The costs.
    pub costs: &'a Costs,
    /// Whether to search for calls that can be left out, in place of insertions.
    pub weaken: bool,
    /// The bounds on repairs.
    pub limit: Limit,
    /// The bounds of the clients.
    pub bounds: Vec<Bound>,
    /// Whether the same insertions are checked in every place, and not only in the first that is a repair.
    pub is_everywhere: bool,
    /// Whether the search stops, once there is a repair, after ten times the time of its check.
    pub is_brief: bool,
    /// The options of each check.
    pub options: &'a CheckOptions<'a>,
    /// Returns the prover's verdict on a weaker implementation for every client, if it is to be asked.
    pub prove: Option<&'a BodyProver<'a>>,
}

/// The prover's verdict on an implementation.
type BodyProver<'a> = dyn Fn(&Entry, &Variant) -> Result<&'static str, Failure> + 'a;

impl<'a> BodyRepairRequest<'a> {
    /// Requests the least to insert, in the first place that is enough, and no more steps than ten checks take.
    #[must_use]
    pub fn new(costs: &'a Costs, options: &'a CheckOptions<'a>, bounds: Vec<Bound>) -> Self {
        let limit = Limit { repairs: 5, ..Limit::default() };
        Self { costs, weaken: false, limit, bounds, is_everywhere: false, is_brief: true, options, prove: None }
    }
}

/// A client that had no g with some set of insertions.
struct FailingClient {
    bound: Bound,
    world: World,
    client: Client,
    reason: String,
    /// The most insertions with which this client is checked to enlarge a wrong set, because longer bodies take too
    /// long.
    most: Cell<usize>,
}

/// Whether calls return wherever the specification lets them.
#[derive(Clone)]
enum Termination {
    Yes,
    No(&'static str),
    Unknown(Stop),
}

/// A change of bodies.
enum BodyChange<'s> {
    Units(&'s Insertions),
    Swapped(&'s Alike),
}

struct BodySearch<'a> {
    entry: &'a Entry,
    variant: &'a Variant,
    ask: &'a BodyRepairRequest<'a>,
    bodies: CalledBodies,
    units: Vec<Unit>,
    /// The calls that are left out unless a unit puts them back.
    gone: BTreeSet<Alike>,
    seen: Vec<FailingClient>,
    returns: BTreeMap<Insertions, Termination>,
    /// The number of checks of all clients that were begun.
    checks: usize,
    /// The error if the entry cannot be checked.
    fault: Option<InputError>,
    begin: u64,
    deadline: Deadline,
}

impl<'a> BodySearch<'a> {
    /// Makes a search. Also returns the limit that kept it from knowing all bodies, if any.
    fn new(entry: &'a Entry, variant: &'a Variant, ask: &'a BodyRepairRequest<'a>) -> (Self, Option<Stop>) {
        let deadline = ask.options.deadline.clone();
        let found = own_calls(entry, &ask.bounds, &|| deadline.expired());
        let stop = found.as_ref().err().cloned().map(cause);
        let mut calls = found.unwrap_or_default();
        calls.iter_mut().for_each(|(world, ..)| add_parts(&*variant.implementation, world));
        let remedies = remedies_below(entry).collect();
        let bodies = CalledBodies::of(variant.implementation.clone(), &entry.below, &calls, remedies);
        let units = if ask.weaken { bodies.own() } else { bodies.insertions() };
        let gone = units.iter().filter(|_| ask.weaken).map(|u| u.at.clone()).collect();
        let (seen, returns, begin) = (Vec::new(), BTreeMap::new(), deadline.steps());
        let search =
            Self { entry, variant, ask, bodies, units, gone, seen, returns, checks: 0, fault: None, begin, deadline };
        (search, stop)
    }

    fn implementation(&self, changed: &BodyChange<'_>) -> Arc<dyn Implementation> {
        match changed {
            BodyChange::Units(set) if set.is_empty() && self.gone.is_empty() => self.variant.implementation.clone(),
            BodyChange::Units(set) => {
                let units = set.iter().map(|&i| self.units[i].clone()).collect();
                Arc::new(self.bodies.with(units, self.gone.clone()))
            }
            BodyChange::Swapped(moved) => Arc::new(self.bodies.swapped((*moved).clone())),
        }
    }

    fn changed(&self, changed: &BodyChange<'_>) -> Variant {
        Variant {
            about: "with other bodies",
            expected: Expected::Sound,
            implementation: self.implementation(changed),
            bounds: Vec::new(),
            thorough: Vec::new(),
            ..self.variant.clone()
        }
    }

    /// True if a client that was seen before has no g with this variant. False also if a limit stops the check.
    fn fails(&self, variant: &Variant, seen: &FailingClient, steps: u64) -> bool {
        let options = CheckOptions { deadline: self.deadline.within(steps), ..*self.ask.options };
        let sound = with_question(self.entry, variant, &seen.bound, &options, |question| {
            question.is_locally_sound(&seen.world, &seen.client)
        });
        sound == Ok(Ok(false))
    }

    fn fails_as_before(&self, variant: &Variant) -> Result<bool, Stop> {
        if self.deadline.expired() {
            return Err(cause(Stop::Time));
        }
        Ok(self.seen.iter().rev().any(|seen| self.fails(variant, seen, ONE)))
    }

    /// Checks every client. Returns `None` if the variant is not locally sound, and otherwise whether calls return.
    fn check(&mut self, variant: &Variant) -> Result<Option<Termination>, Stop> {
        self.checks += 1;
        let options = CheckOptions {
            ask: check::CheckQuestion::Local,
            ends: true,
            deadline: self.deadline.clone(),
            ..*self.ask.options
        };
        let mut returns = Termination::Yes;
        // Bounds at which a client was wrong before come first, because another is most likely to be wrong there.
        let was_right = |bound: &&Bound| self.seen.iter().all(|seen| seen.bound != **bound);
        for bound in self.ask.bounds.iter().sorted_by_key(was_right) {
            let checked = check(self.entry, variant, bound, &options).map_err(|fault| {
                self.fault = Some(fault);
                Stop::Interrupted
            })?;
            if let Some((world, client, violation)) = checked.report.violation {
                let reason = violation.reason.to_string();
                self.seen.push(FailingClient {
                    bound: bound.clone(),
                    world,
                    client,
                    reason,
                    most: Cell::new(usize::MAX),
                });
                return Ok(None);
            }
            match (checked.report.verdict, checked.report.progress) {
                (Verdict::Undecided(Stop::Vacuous), _) => returns = Termination::No("no client ends"),
                (Verdict::Undecided(stop), _) => return Err(stop),
                (_, Progress::Blocks(..)) => returns = Termination::No("a client never ends"),
                (_, Progress::Stuck(..)) => returns = Termination::No("an execution is stuck"),
                (_, Progress::Undecided(stop)) if matches!(returns, Termination::Yes) => {
                    returns = Termination::Unknown(stop)
                }
                _ => {}
            }
            if matches!(returns, Termination::No(_)) {
                break;
            }
        }
        Ok(Some(returns))
    }

    /// Returns a known client that fails without one of the units of a set.
    fn without(&self, set: &Insertions, unit: usize) -> Option<&FailingClient> {
        let less: Insertions = set.iter().copied().filter(|i| *i != unit).collect();
        let variant = self.changed(&BodyChange::Units(&less));
        self.seen.iter().find(|seen| self.fails(&variant, seen, ONE))
    }
}

impl Repairable for BodySearch<'_> {
    fn is_wrong(&mut self, set: &Insertions) -> Result<bool, Stop> {
        let variant = self.changed(&BodyChange::Units(set));
        if self.fails_as_before(&variant)? {
            return Ok(true);
        }
        let begin = self.deadline.steps();
        let returns = match self.check(&variant) {
            // A body without any call is not well defined, and with fewer units it has none either.
            Err(Stop::IllDefined(_)) if set.len() < self.units.len() && self.ask.weaken => None,
            answer => answer?,
        };
        if returns.is_some() && self.ask.is_brief {
            // Bounds the steps for further repairs by a multiple of those of this check.
            let (check, all) = (self.deadline.steps() - begin, self.deadline.steps() - self.begin);
            self.deadline = self.deadline.within((CHECKS * check).max(LEAST).saturating_sub(all));
        }
        let is_wrong = returns.is_none();
        self.returns.extend(returns.map(|r| (set.clone(), r)));
        Ok(is_wrong)
    }

    fn keeps(&mut self, set: &Insertions) -> Result<bool, Stop> {
        if !self.returns.contains_key(set) {
            self.is_wrong(set)?;
        }
        Ok(!matches!(self.returns.get(set), Some(Termination::No(_))))
    }

    fn is_known_wrong(&mut self, set: &Insertions) -> Result<bool, Stop> {
        let variant = self.changed(&BodyChange::Units(set));
        if self.deadline.expired() {
            return Err(cause(Stop::Time));
        }
        let methods: Vec<&str> = set.iter().map(|&i| self.units[i].at.method).collect();
        for seen in self.seen.iter().rev() {
            let calls = |m: &&&str| seen.client.threads.iter().flatten().any(|c| c.method.text() == **m);
            let size = methods.iter().filter(calls).count();
            if size > seen.most.get() {
                continue;
            }
            let begin = self.deadline.steps();
            if self.fails(&variant, seen, GROWN) {
                return Ok(true);
            }
            if self.deadline.steps() - begin >= GROWN {
                seen.most.set((size / 2).max(1));
            }
        }
        Ok(false)
    }

    /// True if a set is worth checking beside the known repairs. A set with the insertions of a known repair, in
    /// whatever places, may well be right without its others. The search skips it, so that it calls nothing minimal
    /// that is not.
    fn is_news(&self, set: &Insertions, found: &[Insertions]) -> bool {
        let has = |known: &usize| set.iter().any(|&i| self.units[i].subject() == self.units[*known].subject());
        self.ask.is_everywhere || self.ask.weaken || !found.iter().any(|known| known.iter().all(has))
    }
}

/// A repair of bodies in words.
#[derive(Clone, Serialize)]
pub struct BodyRepair {
    /// The cost.
    pub cost: u64,
    /// The insertions, each at one of the named places.
    pub insert: Vec<String>,
    /// The calls of the bodies that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leave_out: Vec<String>,
    /// For each insertion a client that has no g without it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// The limit that left open whether calls return, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// The prover's verdict on local soundness for every client; `None` if it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proved: Option<&'static str>,
    /// The repaired implementation.
    #[serde(skip)]
    pub with: Arc<dyn Implementation>,
}

impl BodyRepair {
    /// Returns the repaired bodies that differ from those of another implementation, each as text with its method.
    #[must_use]
    pub fn changed(&self, from: &dyn Implementation) -> Vec<String> {
        let changed = self.with.bodies().into_iter().flat_map(|all| all.iter());
        let known = |method| from.bodies().and_then(|all| all.get(method)).map(ToString::to_string);
        let changed = changed.filter(|(method, body)| known(method) != Some(body.to_string()));
        changed.map(|(method, body)| format!("{method}: {body}")).collect()
    }
}

/// The result of a search for repairs of an implementation.
#[derive(Clone, Serialize)]
pub struct BodyRepairs {
    /// The library.
    pub library: &'static str,
    /// The variant.
    pub variant: &'static str,
    /// The bounds of the clients.
    pub bounds: Vec<Bound>,
    /// Whether nothing has to be changed or, for a weakening, nothing can be left out. `None` if a limit left that
    /// open.
    pub is_done: Option<bool>,
    /// The repairs, cheapest first.
    pub repairs: Vec<BodyRepair>,
    /// The minimal sets that are sound, but with which calls do not return, each with the way in which this shows.
    pub spoiling: Vec<(Vec<String>, &'static str)>,
    /// Whether not even all insertions together suffice.
    pub hopeless: bool,
    /// The reason why there may be more, smaller or cheaper repairs, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// The number of insertions to choose from.
    pub choices: usize,
    /// The number of sets that were checked.
    pub asked: usize,
    /// The number of checks of all clients that were begun.
    pub checks: usize,
    /// Whether this is a weakening.
    pub weaken: bool,
}

/// The steps for one client that was seen before.
const ONE: u64 = SECOND;

/// The same if the check only serves to enlarge a wrong set.
const GROWN: u64 = SECOND / 10;

/// The steps for further repairs: a multiple of those of a repair's check, but at least so many.
const CHECKS: u64 = 10;
const LEAST: u64 = 5 * SECOND;

/// Returns the insertions that the libraries below an entry offer.
fn remedies_below(entry: &Entry) -> impl Iterator<Item = Box<dyn Remedies>> + '_ {
    let switches = entry.memory.switches.unwrap_or_default();
    entry.below.names().filter_map(move |name| remedies_of(name, switches))
}

/// Finds the repairs of an implementation, or the calls that can be left out of it.
///
/// # Errors
/// If the entry cannot be checked, a cost has an unknown kind, or an implementation is to be weakened that is not
/// sound.
pub fn repair(entry: &Entry, variant: &Variant, ask: &BodyRepairRequest<'_>) -> Result<BodyRepairs, Failure> {
    if ask.bounds.iter().any(|bound| bound.crashes > 0) {
        let message = format!("{}: bodies are repaired where nobody crashes", entry.name);
        return Err(InputError::new(Code::Unsupported, message).into());
    }
    let mut costs = ask.costs.of(&remedies_below(entry).collect::<Vec<_>>(), &[MOVE])?;
    let move_cost = costs.remove(MOVE.0).unwrap_or(MOVE.1);
    let (mut search, stop) = BodySearch::new(entry, variant, ask);
    let unit_costs: Vec<u64> = search.units.iter().map(|u| costs[u.kind]).collect();
    let whole: Insertions = if ask.weaken { (0..unit_costs.len()).collect() } else { Insertions::new() };
    let found = match stop {
        Some(stop) => Repairs { open: Some(MoreRepairs::Stopped(stop)), ..Repairs::default() },
        None => searched(&mut search, &unit_costs, &whole)?,
    };
    if let Some(fault) = search.fault {
        return Err(fault.into());
    }
    let is_done = match &found.minimal[..] {
        [] if found.open.is_some() => None,
        sets => Some(sets.contains(&whole)),
    };
    let is_late = search.deadline.expired() && !ask.options.deadline.expired();
    // The reasons and the swaps get the rest of all steps.
    search.deadline = ask.options.deadline.clone();
    let mut repairs: Vec<(Vec<Insertions>, BodyRepair)> = Vec::new();
    for set in found.minimal.iter().filter(|set| **set != whole) {
        // A printed repair lists several places for one insertion only, because two insertions need not be right in
        // every combination of their places.
        let is_one_more = |alike: &[Insertions]| {
            let moved = elsewhere(&search.units, &alike[0], set);
            moved.is_some() && alike[1..].iter().all(|other| elsewhere(&search.units, &alike[0], other) == moved)
        };
        match repairs.iter_mut().find(|(alike, _)| is_one_more(alike)) {
            Some((alike, _)) => alike.push(set.clone()),
            None => repairs.push((vec![set.clone()], reported(&search, set, &whole, &unit_costs)?)),
        }
    }
    for (alike, reported) in &mut repairs {
        reported.insert = places(&search.units, alike);
    }
    let mut repairs: Vec<BodyRepair> = repairs.into_iter().map(|(_, reported)| reported).collect();
    let mut undecided = found.open.as_ref().map(ToString::to_string);
    if let (true, Some(why)) = (is_late, &mut undecided) {
        *why = format!("{CHECKS} times the steps of one check are spent; --steps gives more");
    }
    if is_done == Some(false) && !ask.weaken || found.spoiling.contains(&Insertions::new()) {
        match moves(&mut search, move_cost) {
            Ok(moved) => repairs.extend(moved),
            Err(stop) => {
                undecided.get_or_insert(stop.to_string());
            }
        }
        repairs.sort_by_key(|reported| reported.cost);
    }
    let text = |set: &Insertions| set.iter().map(|&i| search.units[i].to_string()).collect_vec();
    let how = |set: &Insertions| match search.returns.get(set) {
        Some(Termination::No(how)) => *how,
        _ => "calls do not return",
    };
    Ok(BodyRepairs {
        library: entry.name,
        variant: variant.name,
        bounds: ask.bounds.clone(),
        is_done: is_done.or((!repairs.is_empty()).then_some(false)),
        spoiling: found.spoiling.iter().map(|s| (text(s), how(s))).collect(),
        repairs,
        hopeless: found.hopeless,
        undecided,
        choices: unit_costs.len(),
        asked: found.asked,
        checks: search.checks,
        weaken: ask.weaken,
    })
}

/// Finds the minimal sets. For a weakening all units together must be sound, and the sets cost at most as much.
fn searched(search: &mut BodySearch<'_>, costs: &[u64], whole: &Insertions) -> Result<Repairs, InputError> {
    let mut limit = search.ask.limit;
    if search.ask.weaken {
        limit.cost = Repairs::cost(whole, costs);
        match search.is_wrong(whole) {
            Ok(false) => {}
            Ok(true) => {
                let (library, variant) = (search.entry.name, search.variant.name);
                return Err(InputError::new(
                    Code::Unsupported,
                    format!("{library} ({variant}) is not sound as it is: repair it first, without --weaken"),
                ));
            }
            Err(stop) => return Ok(Repairs { open: Some(MoreRepairs::Stopped(cause(stop))), ..Repairs::default() }),
        }
    }
    Ok(Repairs::of(search, costs, limit))
}

/// Returns the insertion of `one` that `other` has in another place, if the sets differ in that alone.
fn elsewhere(units: &[Unit], one: &Insertions, other: &Insertions) -> Option<usize> {
    let only = |a: &Insertions, b: &Insertions| a.difference(b).copied().collect_vec();
    let (lost, new) = (only(one, other), only(other, one));
    match (&lost[..], &new[..]) {
        ([a], [b]) if units[*a].place().is_some() && units[*a].subject() == units[*b].subject() => Some(*a),
        _ => None,
    }
}

/// Returns the insertions of sets that differ only in the place of one.
fn places(units: &[Unit], alike: &[Insertions]) -> Vec<String> {
    let first = &alike[0];
    let others = alike[1..].iter().flat_map(|set| set.difference(first));
    let others: Vec<&Unit> = others.map(|&i| &units[i]).collect();
    let shared = |i: &usize| alike.iter().all(|set| set.contains(i));
    let text = |i: &usize| {
        let unit = &units[*i];
        let or = others.iter().filter(|o| !shared(i) && o.subject() == unit.subject());
        [unit.to_string()].into_iter().chain(or.filter_map(|o| o.place())).join(", or ")
    };
    first.iter().map(text).collect()
}

fn reported(
    search: &BodySearch<'_>,
    set: &Insertions,
    whole: &Insertions,
    costs: &[u64],
) -> Result<BodyRepair, Failure> {
    let because = |&i: &usize| {
        let FailingClient { world, client, reason, .. } = search.without(set, i)?;
        let threads = print::statements(client, &[]).into_iter().zip(&world.threads);
        let threads = threads.map(|(calls, node)| format!("@{node}: {}", calls.join("; "))).join(" | ");
        Some(format!("without {}: {threads}, as {reason}", search.units[i]))
    };
    let progress = match search.returns.get(set) {
        Some(Termination::Unknown(stop)) => Some(stop.to_string()),
        _ => None,
    };
    let proved = search.ask.prove.filter(|_| search.ask.weaken);
    let proved = proved.map(|prove| prove(search.entry, &search.changed(&BodyChange::Units(set))));
    Ok(BodyRepair {
        cost: Repairs::cost(set, costs),
        insert: Vec::new(),
        leave_out: whole.difference(set).map(|&i| search.units[i].to_string()).collect(),
        because: set.iter().filter_map(because).collect(),
        progress,
        proved: proved.transpose()?,
        with: search.implementation(&BodyChange::Units(set)),
    })
}

/// Finds the swaps that are a repair, each alone.
fn moves(search: &mut BodySearch<'_>, cost: u64) -> Result<Vec<BodyRepair>, Stop> {
    let mut all = Vec::new();
    for moved in search.bodies.alike.clone() {
        let variant = search.changed(&BodyChange::Swapped(&moved));
        if search.fails_as_before(&variant)? {
            continue;
        }
        let returns = match search.check(&variant) {
            Ok(Some(Termination::No(_)) | None) => continue,
            Ok(Some(returns)) => returns,
            // The changed body may do nothing at all, or make a call that has no meaning there.
            Err(Stop::IllDefined(_)) => continue,
            Err(stop) => return Err(stop),
        };
        let progress = if let Termination::Unknown(stop) = returns { Some(stop.to_string()) } else { None };
        let insert = vec![format!("{}: {moved} after what follows it", moved.method)];
        let with = variant.implementation;
        all.push(BodyRepair { cost, insert, leave_out: Vec::new(), because: Vec::new(), progress, proved: None, with });
    }
    Ok(all)
}

impl BodyRepairs {
    /// Returns the exit code: 0 if nothing is to be done, 1 if something is or no repair exists, 3 if a limit left that
    /// open.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self.is_done {
            Some(true) => 0,
            Some(false) if !self.repairs.is_empty() => 1,
            _ if self.undecided.is_some() => 3,
            _ => 1,
        }
    }

    /// Returns the answer as text.
    #[must_use]
    pub fn text(&self) -> String {
        let head = match (self.is_done, &self.repairs[..]) {
            (Some(true), _) if self.weaken => "nothing that only orders can be left out".to_owned(),
            (Some(true), _) => "nothing has to be changed".to_owned(),
            (None, _) => "undecided".to_owned(),
            (_, []) if self.hopeless => "no repair: with everything inserted everywhere it is not sound".to_owned(),
            (_, []) if self.undecided.is_some() => "undecided".to_owned(),
            (_, []) => "no repair: what is sound does not return".to_owned(),
            (_, all) if self.weaken => format!("more than needed; {}", super::count(all.len())),
            (_, all) => super::count(all.len()),
        };
        let shapes = check::shapes(&self.bounds);
        let mut lines = vec![
            format!("{} ({}): {head}", self.library, self.variant),
            format!("  within threads, nodes, calls up to {shapes}"),
        ];
        for repair in &self.repairs {
            lines.push(format!("  cost {}", repair.cost));
            lines.extend(repair.leave_out.iter().map(|what| format!("    without {what}")));
            let keeps = if self.weaken { "with " } else { "" };
            lines.extend(repair.insert.iter().map(|what| format!("    {keeps}{what}")));
            lines.extend(repair.because.iter().map(|why| format!("      {why}")));
            lines.extend(repair.progress.iter().map(|why| format!("      whether calls return is not known: {why}")));
            lines.extend(repair.proved.iter().map(|word| format!("      for every client: {word}")));
        }
        for (units, how) in &self.spoiling {
            let what = if units.is_empty() { "as it is".to_owned() } else { format!("with {}", units.join("; ")) };
            lines.push(format!("  {what} it is sound, but {how}"));
        }
        lines.extend(self.undecided.as_ref().map(|why| format!("  {}", may_be_more(self.repairs.len(), why))));
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mowgli_core::term::bound::Bound;
    use mowgli_libraries::catalogue::{catalogue, named};

    /// On small implementations the search finds the minimal repairs that a check of every subset of insertions finds.
    #[test]
    fn minimal_repairs_are_those_that_brute_force_finds() {
        let all = catalogue();
        let mut repaired = 0;
        for (name, variant, method) in
            [("slock", "no-fence", "Rel"), ("nlock", "no-rfence", "Rel"), ("bal", "no-fence", "BAR")]
        {
            let entry = named(&all, name).unwrap();
            let variant = entry.variant(variant).unwrap();
            let least = entry.through().calls;
            let bounds = vec![Bound { threads: 2, nodes: 2, calls: least, ..variant.bounds[0].clone() }];
            let (costs, options, limit) = (Costs::default(), CheckOptions::default(), Limit::default());
            let ask = BodyRepairRequest {
                limit,
                is_everywhere: true,
                is_brief: false,
                ..BodyRepairRequest::new(&costs, &options, bounds)
            };
            let (mut search, _) = BodySearch::new(entry, variant, &ask);
            // Waits are of no use here, and there are many.
            search.units.retain(|u| u.at.method == method && u.kind != "wait");
            search.units.truncate(6);
            let costs = vec![1; search.units.len()];
            let found = Repairs::of(&mut search, &costs, limit);
            let subsets =
                (0..1_u32 << costs.len()).map(|bits| (0..costs.len()).filter(|i| bits >> i & 1 == 1).collect());
            let mut good: Vec<Insertions> = Vec::new();
            for set in subsets {
                let changed = search.changed(&BodyChange::Units(&set));
                if let Some(returns) = search.check(&changed).unwrap() {
                    assert!(matches!(returns, Termination::Yes), "{name}");
                    good.push(set);
                }
            }
            let minimal = good.iter().filter(|s| !good.iter().any(|o| o.is_subset(s) && o != *s));
            assert_eq!(found.minimal.iter().collect::<BTreeSet<_>>(), minimal.collect(), "{name}");
            assert_eq!(found.open, None, "{name}");
            repaired += found.minimal.len();
        }
        assert!(repaired > 3, "{repaired}");
    }
}
