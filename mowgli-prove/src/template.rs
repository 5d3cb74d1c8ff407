//! Templates: what every call of a method does, whatever its thread, node and arguments are.
//!
//! Implementations and shapes are functions that cannot be looked into. They are run on many calls, in worlds of several
//! sizes, with arguments and results that differ from one another, that are equal, and that are special. A template says of
//! each of these runs what happens, in terms of the call's thread, node, arguments and results; where there is none, or more
//! than one, the method has no template, and nothing is proved of it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::event::{Call, Event};
use mowgli_core::ids::{Loc, Name};
use mowgli_core::soundness::client::Bound;
use mowgli_core::value::Val;

use crate::kind::{Form, Guard, Instance, Kind, Seen, Untold, Way};
use crate::pattern::{
    ADDED, Argument, Computed, Datum, Env, Named, Place, Segment, Times, expanded, numbers_in, pattern, segmentations,
};
use crate::role::subevents;
use crate::runs::{Done, Run, Runs, SPECIAL, Which};
use crate::source::Source;

/// A branch of a body.
struct Branch<'r> {
    kind: Kind,
    /// What data are like in it.
    given: Vec<Guard>,
    runs: Of<'r>,
}

/// Runs among which a template is looked for, and those of which it must be true too.
#[derive(Clone)]
struct Of<'r> {
    usual: Vec<&'r Run>,
    small: Vec<&'r Run>,
}

impl<'r> Of<'r> {
    fn all(&self) -> Vec<&'r Run> {
        self.usual.iter().chain(&self.small).copied().collect()
    }

    /// Those of which this is so, and the others.
    fn partitioned(&self, is: impl Fn(&Run) -> bool) -> [Self; 2] {
        let split = |runs: &[&'r Run]| runs.iter().copied().partition::<Vec<_>, _>(|run| is(run));
        let ((yes, no), (small_yes, small_no)) = (split(&self.usual), split(&self.small));
        [Self { usual: yes, small: small_yes }, Self { usual: no, small: small_no }]
    }
}

/// A kind of calls, with what their data are like.
type Guarded = (Vec<Guard>, Kind);

/// How many comparisons lead to a branch, at most.
const DEEPEST: usize = 3;

impl Source<'_> {
    /// The templates of all kinds of calls.
    ///
    /// # Errors
    /// The kinds that have none.
    pub fn kinds(&self) -> Result<Vec<Kind>, Vec<Untold>> {
        let worlds = self.worlds();
        let objects: BTreeSet<Loc> = worlds.iter().flat_map(|(before, _)| before.objects.keys().copied()).collect();
        let mut forms: BTreeSet<(Name, Vec<Argument>)> = BTreeSet::new();
        let mut untold = Vec::new();
        for (before, _) in &worlds {
            for thread in before.tids() {
                for call in self.subject.calls(before, thread, &Bound { objects: 2, ..Bound::default() }, &|| false) {
                    match call.args.iter().map(|v| Argument::of(*v)).collect() {
                        Ok(arguments) => {
                            forms.insert((call.method, arguments));
                        }
                        Err(why) => untold.push(Untold { kind: call.method.to_string(), why }),
                    }
                }
            }
        }
        // Wherever an identifier is taken a client may give none.
        let identifiers = |(method, arguments): &(Name, Vec<Argument>)| {
            let options = arguments.iter().map(|a| match a {
                Argument::Identifier | Argument::NoIdentifier => vec![Argument::Identifier, Argument::NoIdentifier],
                other => vec![*other],
            });
            options.multi_cartesian_product().map(|arguments| (*method, arguments)).collect::<Vec<_>>()
        };
        let forms: BTreeSet<(Name, Vec<Argument>)> = forms.iter().flat_map(identifiers).collect();
        let which = if self.has_roles() { Which::Any } else { Which::Short };
        let runs = forms.into_iter().map(|form| (self.runs(form.0, &form.1, &worlds, which), form)).collect::<Vec<_>>();
        let mut branches = Vec::new();
        for (runs, (method, arguments)) in &runs {
            let ends = arguments.iter().filter(|a| **a == Argument::NoIdentifier).map(|_| "_");
            let name = format!("{method}{}", ends.collect::<String>());
            let told = match runs {
                Ok(runs) if which == Which::Any => self.by_result(&name, *method, arguments, &runs.usual, &objects),
                Ok(runs) => self.branches(&name, *method, arguments, runs, &objects),
                Err(why) => Err(why.clone()),
            };
            match told {
                Ok(told) => branches.extend(told),
                Err(why) => untold.push(Untold { kind: name, why }),
            }
        }
        untold.dedup();
        if branches.is_empty() && untold.is_empty() {
            untold.push(Untold { kind: "no method".to_owned(), why: "there are no calls".to_owned() });
        }
        if !untold.is_empty() {
            return Err(untold);
        }
        let alike = self.alike(&branches, &objects);
        Ok(alike.unwrap_or_else(|| branches.into_iter().map(|branch| branch.kind).collect()))
    }

    /// One kind for all branches in which the same is done, whatever the data are. Only of updates of a state of several words
    /// as much is enough to know.
    fn alike(&self, branches: &[Branch<'_>], objects: &BTreeSet<Loc>) -> Option<Vec<Kind>> {
        if !branches.iter().all(|branch| branch.kind.has_words()) {
            return None;
        }
        let mut groups: Vec<Vec<&Branch<'_>>> = Vec::new();
        for branch in branches {
            let skeleton = branch.kind.skeleton();
            match groups.iter_mut().find(|group| group[0].kind.skeleton() == skeleton) {
                Some(group) => group.push(branch),
                None => groups.push(vec![branch]),
            }
        }
        let left = Cell::new(MOST_LOOKED_AT);
        let known = Known { objects, computed: Computed::Always, left: &left };
        let whole = |group: Vec<&Branch<'_>>| {
            let usual = group.iter().flat_map(|branch| branch.runs.usual.iter().copied()).collect();
            let small = group.iter().flat_map(|branch| branch.runs.small.iter().copied()).collect();
            let (events, kind) = self.true_of_all(&Of { usual, small }, &[].into(), known).ok()?;
            let name = group.iter().map(|branch| &branch.kind.name).join("+");
            let forms = group.iter().flat_map(|branch| branch.kind.forms.clone()).collect();
            let mut kind = Kind { name, forms, events, ways: group[0].kind.ways.clone(), ..kind };
            kind.name_roles();
            Some(kind)
        };
        groups.into_iter().map(whole).collect()
    }

    /// The kinds of the calls of one form: one for each branch, with the runs that are of it.
    fn branches<'r>(
        &self,
        name: &str,
        method: Name,
        arguments: &[Argument],
        runs: &'r Runs,
        objects: &BTreeSet<Loc>,
    ) -> Result<Vec<Branch<'r>>, String> {
        let mut by_way: BTreeMap<&[Way], Of<'_>> = BTreeMap::new();
        let none = || Of { usual: Vec::new(), small: Vec::new() };
        for run in &runs.usual {
            by_way.entry(&run.ways).or_insert_with(none).usual.push(run);
        }
        for run in &runs.small {
            by_way.entry(&run.ways).or_insert_with(none).small.push(run);
        }
        let mut branches = Vec::new();
        for (ways, runs) in by_way {
            let left = Cell::new(MOST_LOOKED_AT);
            let tree = |computed| self.tree(&runs, Known { objects, computed, left: &left }, &[]);
            // Of what is computed nothing is known but where it goes. That is of use only where it is a word of a state.
            let of_words = || tree(Computed::Unknown).ok().filter(|all| all.iter().all(|b| b.kind.has_words()));
            for mut branch in tree(Computed::No).or_else(|why| of_words().ok_or(why))? {
                if ways.iter().any(|(event, _)| !branch.kind.is_once(*event)) {
                    return Err("a call that is made for each node can happen in several ways".to_owned());
                }
                let given = std::mem::take(&mut branch.given);
                branch.kind.forms = vec![Form { method, arguments: arguments.to_vec(), given }];
                branch.kind.ways = ways.to_vec();
                branches.push(branch);
            }
        }
        Ok(numbered(name, branches))
    }

    /// The templates of some runs: one, or if there is none those of the runs in which two data are equal and of those in
    /// which they differ. With each what its data are like, and its runs.
    fn tree<'r>(&self, runs: &Of<'r>, known: Known<'_>, given: &[Guard]) -> Result<Vec<Branch<'r>>, String> {
        let equal = given.iter().filter(|g| g.are_equal).map(|g| (g.one, g.other)).collect();
        let mut why = match self.true_of_all(runs, &equal, known) {
            Ok((events, kind)) => {
                let kind = Kind { events, ..kind };
                let of_guards = given.iter().flat_map(|g| [g.one, g.other]);
                let once = |datum| match datum {
                    Datum::Result(event) => kind.is_once(event),
                    Datum::Results(first, words) => (first..first + words).all(|event| kind.is_once(event)),
                    _ => true,
                };
                return if of_guards.into_iter().all(once) {
                    Ok(vec![Branch { kind, given: given.to_vec(), runs: runs.clone() }])
                } else {
                    Err("what tells branches apart is one of several results".to_owned())
                };
            }
            Err(why) => why,
        };
        // Where a loop has effects branches are not looked for: there are too many ways in which it could be.
        if known.left.get() == 0 || given.len() == DEEPEST || runs.usual.iter().any(|run| run.env.rounds.is_some()) {
            return Err(why);
        }
        for (one, other) in comparisons(&runs.usual) {
            let [yes, no] = runs.partitioned(|run| run.datum(one) == run.datum(other));
            let half = |runs: &Of<'r>, are_equal| {
                self.tree(runs, known, &[given, &[Guard { one, other, are_equal }]].concat())
            };
            match (half(&yes, true), half(&no, false)) {
                (Ok(yes), Ok(no)) => return Ok(yes.into_iter().chain(no).collect()),
                (Err(reason), _) | (_, Err(reason)) => why = reason,
            }
            if known.left.get() == 0 {
                break;
            }
        }
        Err(why)
    }

    /// The template that explains the usual runs, if it explains those with small numbers too. If it does not, no other is looked for:
    /// what small numbers decide is no comparison that templates know.
    fn true_of_all(
        &self,
        runs: &Of<'_>,
        equal: &Arc<[(Datum, Datum)]>,
        known: Known<'_>,
    ) -> Result<(Vec<Segment>, Kind), String> {
        let (events, kind) = self.events(&runs.usual, equal, known)?;
        if runs.small.is_empty() {
            return Ok((events, kind));
        }
        let contradict = |why: String| {
            known.left.set(0);
            format!("runs with small numbers contradict what the others have in common: {why}")
        };
        let differs = |run: &&&Run| !have_one_method(&[runs.usual[0], **run], &events);
        if let Some(run) = runs.small.iter().find(differs) {
            return Err(contradict(format!("other calls are made by {}", run.call)));
        }
        let kind = self.explained(&runs.all(), &events, equal, known).map_err(contradict)?;
        Ok((events, kind))
    }

    /// The kinds of the calls of one form, told apart by what they return, where numbers in names may be computed, and what is returned, and
    /// reads may be left out. Only of objects that have a writer and readers: of others more can be known.
    fn by_result<'r>(
        &self,
        name: &str,
        method: Name,
        arguments: &[Argument],
        runs: &'r [Run],
        objects: &BTreeSet<Loc>,
    ) -> Result<Vec<Branch<'r>>, String> {
        let left = Cell::new(MOST_LOOKED_AT);
        let known = Known { objects, computed: Computed::Anything, left: &left };
        // Which number it is tells nothing apart.
        let returned = |run: &Run| Some(run.result).filter(|v| SPECIAL.contains(v) && v.int().is_none());
        let classes: BTreeSet<Option<Val>> = runs.iter().map(returned).collect();
        let is = |value: &Val, are_equal| Guard { one: Datum::Returned, other: Datum::Constant(*value), are_equal };
        let mut branches = Vec::new();
        for class in &classes {
            let of_class: Vec<&Run> = runs.iter().filter(|run| returned(run) == *class).collect();
            let given = match class {
                Some(value) => vec![is(value, true)],
                None => classes.iter().flatten().map(|value| is(value, false)).collect(),
            };
            for (given, mut kind) in self.told_by_result(&of_class, &given, known)? {
                kind.forms = vec![Form { method, arguments: arguments.to_vec(), given: given.clone() }];
                branches.push(Branch { kind, given, runs: Of { usual: Vec::new(), small: Vec::new() } });
            }
        }
        Ok(numbered(name, branches))
    }

    /// One kind for some runs, or else two: for those in which a result has a special value, so that what is read is what is returned, and
    /// for the others, of which reads are left out; or one of which reads are left out.
    fn told_by_result(&self, runs: &[&Run], given: &[Guard], known: Known<'_>) -> Result<Vec<Guarded>, String> {
        if let Ok(kind) = self.as_it_is(runs, given, known) {
            return Ok(vec![(given.to_vec(), kind)]);
        }
        let events = alike(runs);
        let results = (0..events).filter(|event| runs.iter().all(|run| run.results[*event] != Val::Top));
        let ways = results.cartesian_product(SPECIAL);
        let halves = |(event, value): (usize, Val)| {
            let (one, other) = (Datum::Result(event), Datum::Constant(value));
            let (yes, no): (Vec<&Run>, Vec<&Run>) = runs.iter().partition(|run| run.results[event] == value);
            let returned = yes.iter().filter(|run| run.results.contains(&run.result)).count();
            (!yes.is_empty() && !no.is_empty()).then_some((returned, yes, no, Guard { one, other, are_equal: true }))
        };
        // First those in which most often what is read is what is returned.
        let halves = ways.filter_map(halves).filter(|(returned, ..)| *returned > 0);
        let halves = halves.sorted_by_key(|(returned, yes, ..)| yes.len() - returned);
        let told = halves.map(|(_, yes, no, guard)| {
            let [yes_given, no_given] =
                [true, false].map(|are_equal| [given, &[Guard { are_equal, ..guard }]].concat());
            let yes = self.as_it_is(&yes, &yes_given, known)?;
            Ok::<_, String>(vec![(yes_given, yes), (no_given.clone(), self.without_reads(&no, &no_given, known)?)])
        });
        let mut told = told.flatten();
        told.next().map_or_else(|| Ok(vec![(given.to_vec(), self.without_reads(runs, given, known)?)]), Ok)
    }

    /// The kind for runs of which nothing is left out.
    fn as_it_is(&self, runs: &[&Run], given: &[Guard], known: Known<'_>) -> Result<Kind, String> {
        if runs.iter().any(|run| run.more.is_some()) {
            return Err("it has more results than can be looked at one by one".to_owned());
        }
        if runs.iter().any(|run| !run.ways.is_empty()) {
            return Err("a call that it makes can happen in several ways".to_owned());
        }
        let equal = given.iter().filter(|g| g.are_equal).map(|g| (g.one, g.other)).collect();
        let (events, kind) = self.events(runs, &equal, known)?;
        let kind = Kind { events, ..kind };
        let is_once = given.iter().all(|g| !matches!(g.one, Datum::Result(event) if !kind.is_once(event)));
        let several = || "what tells branches apart is one of several results".to_owned();
        is_once.then_some(kind).ok_or_else(several)
    }

    /// The kind for runs of which all that they have in common is kept, up to a read, and the reads that come next are left out.
    fn without_reads(&self, runs: &[&Run], given: &[Guard], known: Known<'_>) -> Result<Kind, String> {
        let after = alike(runs);
        let why = || "how many calls it makes depends on more than how much it reads".to_owned();
        let shorter: Option<Vec<Run>> = runs.iter().map(|run| run.without_reads(after)).collect();
        let shorter = shorter.ok_or_else(why)?;
        let kind = self.as_it_is(&shorter.iter().collect::<Vec<_>>(), given, known)?;
        kind.is_once(after - 1).then_some(Kind { left_out: Some(after - 1), ..kind }).ok_or_else(why)
    }

    /// The template that explains all runs.
    fn events(
        &self,
        runs: &[&Run],
        equal: &Arc<[(Datum, Datum)]>,
        known: Known<'_>,
    ) -> Result<(Vec<Segment>, Kind), String> {
        let lengths: Vec<(&Env, usize)> = runs.iter().map(|r| (&r.env, r.events.len())).collect();
        let mut why = "how many calls it makes is nothing that depends on the nodes in question".to_owned();
        let different: Vec<&Run> = runs.iter().copied().unique_by(|run| (run.env.counts(), run.methods())).collect();
        for segments in segmentations(&lengths, true) {
            // Most segmentations do not fit, which shows at once.
            if !have_one_method(&different, &segments) {
                why = UNKNOWN_CALLS.to_owned();
                continue;
            }
            if known.left.get() == 0 {
                return Err(TOO_MANY.to_owned());
            }
            known.left.set(known.left.get().saturating_sub(runs.len()));
            let segments = with_ends(runs, segments);
            match self.explained(runs, &segments, equal, known) {
                Ok(kind) => return Ok((segments, kind)),
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }

    fn explained(
        &self,
        runs: &[&Run],
        segments: &[Segment],
        equal: &Arc<[(Datum, Datum)]>,
        Known { objects, computed, .. }: Known<'_>,
    ) -> Result<Kind, String> {
        let times: Vec<Times> = segments.iter().flat_map(|s| std::iter::repeat_n(s.times, s.len)).collect();
        let positions = times.len();
        // The instances of each position, with the results that came before.
        let mut seen: Vec<Vec<Instance>> = vec![Vec::new(); positions];
        let mut own = Vec::new();
        // Whether a loop ended with it in all runs, and in any.
        let mut ends = vec![(true, false); positions];
        let equal: Arc<[(Datum, Datum)]> = equal.iter().copied().chain(awaited(runs, segments)).collect();
        for run in runs {
            let known_equal = Env { equal: Arc::clone(&equal), computed, ..run.env.clone() };
            let places = expanded(segments, &run.env);
            let mut results = vec![None; positions];
            let mut passed: Vec<((usize, usize), Val)> = Vec::new();
            let mut named: Vec<(Named, u64)> = Vec::new();
            for (i, (position, at)) in places.into_iter().enumerate() {
                let event = run.events[i].clone();
                results[position] = Some(run.results[i]);
                let ended = run.ended[i].is_some();
                ends[position] = (ends[position].0 && ended, ends[position].1 || ended);
                let at = at.or(run.ended_at(i).filter(|_| times[position] == Times::Ended));
                passed.retain(|(of, _)| of.0 != position);
                let data = event.call.args.iter().enumerate().filter(|(_, v)| computed != Computed::No && v.is_data());
                passed.extend(data.map(|(argument, v)| ((position, argument), *v)));
                named.retain(|(of, _)| of.0 != position);
                if computed == Computed::Anything {
                    named.extend(numbers_of(position, &event.call));
                }
                let (passed, named) = (passed.clone(), named.clone());
                let env = Env { results: so_far(&results), passed, named, ..known_equal.at(at) };
                // Of an event without subevents only what it is called with counts.
                let sub = run.shapes[i].first().copied().unwrap_or(run.shapes[run.events.len()][0]);
                let world = Arc::clone(&run.world);
                seen[position].push((Seen { world, event, sub, env }, run.shapes[i].clone()));
            }
            let returned = Some(run.result).filter(|_| computed == Computed::Anything);
            let env = Env { results: so_far(&results), passed, returned, ..known_equal };
            let event = Event { thread: env.thread, call: run.call.clone(), ret: run.result };
            let shape = run.shapes[run.events.len()].clone();
            own.push((Seen { world: Arc::clone(&run.world), event, sub: shape[0], env }, shape));
        }
        let mut kind = Kind {
            name: String::new(),
            forms: Vec::new(),
            ways: Vec::new(),
            concrete: Vec::new(),
            abstract_: Vec::new(),
            made: Vec::new(),
            events: Vec::new(),
            subs: Vec::new(),
            promised: Vec::new(),
            left_out: None,
            takes_part: (0..runs[0].call.args.len()).filter(|i| runs.iter().all(|r| r.env.takes_part(*i))).collect(),
        };
        for (position, instances) in seen.iter().enumerate() {
            let method = |(s, _): &Instance| (s.event.call.library, s.event.call.method);
            // Sets of nodes are seen by the subevents that there are for each of them.
            let named = |call: &Call| call.args.iter().copied().filter(|v| v.nodes().is_none()).collect::<Vec<_>>();
            let arguments = instances.iter().map(|(s, _)| (&s.env, Val::tuple(&named(&s.event.call))));
            let arguments = pattern(arguments, objects)?;
            let (library, method) = method(&instances[0]);
            kind.made.push((library, method, arguments));
            let (subs, mut roles) = subevents(instances, position, times[position], objects, self.below)?;
            let above = if ends[position].0 { exceeded(instances, position) } else { Vec::new() };
            for role in &mut roles {
                role.in_loop = ends[position].1;
                role.above.clone_from(&above);
            }
            kind.subs.push(subs);
            kind.concrete.extend(roles);
        }
        let (promised, roles) = subevents(&own, 0, Times::Once, objects, self.specification)?;
        kind.promised = promised;
        kind.abstract_ = roles;
        Ok(kind)
    }
}

/// How many runs are looked at, those of each arrangement of calls that is tried, before the search for the template of a method is
/// given up.
const MOST_LOOKED_AT: usize = 200_000;

/// Why the search was given up.
const TOO_MANY: &str = "its calls may come in too many ways to try them all, and none that was tried fits";

/// Why there is no template.
const UNKNOWN_CALLS: &str = "which calls it makes depends on the call in no way that is known";

/// Whether the events at each position are calls of one method in all runs, and of the rounds of loops.
fn have_one_method(runs: &[&Run], segments: &[Segment]) -> bool {
    let mut methods: Vec<Option<(Name, Name)>> = vec![None; segments.iter().map(|s| s.len).sum()];
    runs.iter().all(|run| {
        let places = expanded(segments, &run.env);
        let of_rounds = places.iter().map(|(_, at)| if let Some(Place::Round(n)) = at { Some(*n) } else { None });
        of_rounds.eq(run.rounds.iter().copied())
            && places.iter().zip(&run.events).all(|((position, _), event)| {
                let method = (event.call.library, event.call.method);
                *methods[*position].get_or_insert(method) == method
            })
    })
}

/// The segments in which the calls that end a loop through all threads, at one of them, are told from others.
fn with_ends(runs: &[&Run], mut segments: Vec<Segment>) -> Vec<Segment> {
    let mut searches = BTreeSet::new();
    for run in runs {
        let places = expanded(&segments, &run.env).into_iter().zip(&run.ended);
        searches.extend(places.filter(|(_, ended)| ended.is_some_and(|before| before > 0)).map(|((p, _), _)| p));
    }
    let mut position = 0;
    for segment in &mut segments {
        if segment.times == Times::Once && searches.contains(&position) {
            segment.times = Times::Ended;
        }
        position += segment.len;
    }
    segments
}

/// The pairs of results, both of calls that are once, that are equal in every run because a loop ended with the second.
fn awaited(runs: &[&Run], segments: &[Segment]) -> Vec<(Datum, Datum)> {
    let times: Vec<Times> = segments.iter().flat_map(|s| std::iter::repeat_n(s.times, s.len)).collect();
    let is_once = |position: &usize| matches!(times[*position], Times::Once | Times::Ended);
    let results = |run: &&Run| {
        let places = expanded(segments, &run.env).into_iter().map(|(position, _)| position);
        let ended = run.ended.iter().map(Option::is_some);
        places.zip(run.results.iter().copied().zip(ended)).collect::<BTreeMap<usize, (Val, bool)>>()
    };
    let all: Vec<BTreeMap<usize, (Val, bool)>> = runs.iter().map(results).collect();
    let ends = |late: usize| all.iter().all(|run| run.get(&late).is_some_and(|(_, ended)| *ended));
    let result = |run: &BTreeMap<usize, (Val, bool)>, at: usize| {
        run.get(&at).map(|(value, _)| *value).filter(|value| *value != Val::Top)
    };
    let agree = |early: usize, late: usize| {
        all.iter().all(|run| result(run, early).is_some() && result(run, early) == result(run, late))
    };
    let ends: Vec<usize> = (0..times.len()).filter(is_once).filter(|late| ends(*late)).collect();
    let pairs = ends.iter().flat_map(|late| (0..*late).filter(is_once).map(|early| (early, *late)));
    // What is computed from equal results is equal too.
    let alike = |(a, b): (usize, usize)| {
        let sums = ADDED.map(|k| (Datum::Sum(a, k), Datum::Sum(b, k)));
        [(Datum::Result(a), Datum::Result(b))].into_iter().chain(sums)
    };
    pairs.filter(|(early, late)| agree(*early, *late)).flat_map(alike).collect()
}

/// The results of earlier events that the result of an event is greater than in every run. Only events that are there once
/// count.
fn exceeded(instances: &[Instance], position: usize) -> Vec<Datum> {
    let is_above = |before: &usize| {
        let values = |(s, _): &Instance| (s.env.results[*before], s.env.results[position]);
        instances.iter().map(values).all(|(low, high)| low != Val::Top && high != Val::Top && high > low)
    };
    (0..position).filter(is_above).map(Datum::Result).collect()
}

/// The branches of the calls of one form with their names: that of the form, with numbers if there are several.
fn numbered<'r>(name: &str, mut branches: Vec<Branch<'r>>) -> Vec<Branch<'r>> {
    let several = branches.len() > 1;
    for (i, Branch { kind, .. }) in branches.iter_mut().enumerate() {
        kind.name = if several { format!("{name}.{}", i + 1) } else { name.to_owned() };
        kind.name_roles();
    }
    branches
}

/// How many calls of the same methods all runs begin with.
fn alike(runs: &[&Run]) -> usize {
    let method = |run: &Run, event: usize| run.events.get(event).map(|e| (e.call.library, e.call.method));
    let is_alike = |event: &usize| {
        let mut methods = runs.iter().map(|run| method(run, *event));
        methods.all_equal_value().is_ok_and(|method| method.is_some())
    };
    (0..).take_while(is_alike).count()
}

/// The numbers in the names that an event is given.
fn numbers_of(event: usize, call: &Call) -> Vec<(Named, u64)> {
    let names = call.args.iter().enumerate().filter(|(_, v)| matches!(v, Val::Loc(_) | Val::Wid(_)));
    names.flat_map(|(i, v)| numbers_in(*v).into_iter().map(move |(slot, n)| ((event, i, slot), n))).collect()
}

/// The results so far, in order; of what is still to come nothing is known.
fn so_far(results: &[Option<Val>]) -> Vec<Val> {
    // A marker that equals no datum keeps the positions.
    results.iter().map(|r| r.unwrap_or(Val::Top)).collect()
}

/// What a template may speak of: these objects are no parts of a client's calls, and what is computed may be told.
#[derive(Clone, Copy)]
struct Known<'a> {
    objects: &'a BTreeSet<Loc>,
    computed: Computed,
    /// How many runs may still be looked at.
    left: &'a Cell<usize>,
}

/// Results that are tuples in some runs, each with the tuples of as many other results.
fn tuples_of(runs: &[&Run], results: &[usize]) -> Vec<(Datum, Datum)> {
    let size = |event: usize| {
        runs.iter()
            .find_map(|run| if let Val::Tuple(all) = run.results[event] { Some(all.parts().len()) } else { None })
    };
    let of_event = |&event: &usize| {
        let size = size(event)?;
        let are_results = move |first: &usize| (*first..first + size).all(|r| r != event && results.contains(&r));
        Some(
            results
                .iter()
                .copied()
                .filter(are_results)
                .map(move |first| (Datum::Result(event), Datum::Results(first, size))),
        )
    };
    results.iter().filter_map(of_event).flatten().collect()
}

/// How many comparisons are tried to tell runs apart.
const TRIED: usize = 3;

/// What two data may tell branches of some runs apart, arguments and results of calls that all of the runs make: first those
/// that tell most. None if all runs are of one branch.
fn comparisons(runs: &[&Run]) -> Vec<(Datum, Datum)> {
    let Some(first) = runs.first() else { return Vec::new() };
    let method = |run: &Run, event: usize| run.events.get(event).map(|e| (e.call.library, e.call.method));
    let common = |event: &usize| runs.iter().map(|run| method(run, *event)).all_equal();
    let arguments = first.call.args.iter().enumerate().filter(|(_, v)| v.is_data());
    let arguments = arguments.flat_map(|(i, v)| match v {
        Val::Tuple(all) => (0..all.parts().len()).map(|word| Datum::Word(i, word)).collect::<Vec<_>>(),
        _ => vec![Datum::Argument(i)],
    });
    let results = (0..first.events.len()).take_while(common).filter(|event| first.results[*event] != Val::Top);
    let results: Vec<usize> = results.collect();
    let data: Vec<Datum> = arguments.chain(results.iter().map(|event| Datum::Result(*event))).collect();
    let tuples = tuples_of(runs, &results);
    let constants = data.iter().copied().cartesian_product(SPECIAL.map(Datum::Constant));
    let branches: Vec<Vec<Done>> = runs.iter().map(|run| run.done()).collect();
    let sorts: Vec<&Vec<Done>> = branches.iter().sorted().dedup().collect();
    let sort: Vec<usize> = branches.iter().map(|b| sorts.binary_search(&b).expect("one of them")).collect();
    let mixed = |of: [Datum; 2]| {
        let mut counts = [vec![0usize; sorts.len()], vec![0usize; sorts.len()]];
        for (run, sort) in runs.iter().zip(&sort) {
            counts[usize::from(run.datum(of[0]) == run.datum(of[1]))][*sort] += 1;
        }
        // In thousandths of runs that are not of the most frequent sort.
        let rest = |counts: &Vec<usize>| {
            let all: usize = counts.iter().sum();
            let squares: usize = counts.iter().map(|n| n * n).sum();
            all * 1000 - (squares * 1000).checked_div(all).unwrap_or(0)
        };
        let is_split = counts.iter().all(|side| side.iter().any(|n| *n > 0));
        (is_split && sorts.len() > 1).then(|| rest(&counts[0]) + rest(&counts[1]))
    };
    let pairs = data.iter().copied().tuple_combinations().chain(constants).chain(tuples);
    let told = pairs.filter_map(|(one, other)| Some((mixed([one, other])?, (one, other))));
    told.sorted().map(|(_, pair)| pair).take(TRIED).collect()
}
