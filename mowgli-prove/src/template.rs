//! Templates: the events and subevents of every call of a method, whatever its thread, node and arguments are.
//!
//! Symbolic execution of a body gives the paths through it ([`crate::paths`]). The term of the body shows which calls a
//! path makes, how often, with which arguments and under which conditions. The shapes of these calls are Rust
//! functions, so they are read off runs of the path. So are the sets and keys of specifications in which their
//! subevents are. If a shape depends on whether two data are equal, the path has a kind of calls for each case.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::event::{Call, Event};
use mowgli_core::expr::Term;
use mowgli_core::ids::{Loc, Name};
use mowgli_core::method::Returns;
use mowgli_core::soundness::client::Bound;
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::kind::{Form, Guard, Instance, Kind, Seen, Untold, Way};
use crate::paths::{Path, Reader};
use crate::pattern::{ADDED, Argument, Computed, Datum, Env, Named, Times, numbers_in, pattern};
use crate::role::subevents;
use crate::runs::{Data, Done, Run, SPECIAL, Site, Stop, classes};
use crate::source::Source;

/// A kind of calls, with the path that their body takes and its runs.
struct Branch {
    kind: Kind,
    path: Path,
    runs: Vec<Run>,
}

/// The calls of one form, of one path.
struct Of<'a> {
    method: Name,
    arguments: &'a [Argument],
    sites: &'a [Site],
    path: &'a Path,
    objects: &'a BTreeSet<Loc>,
}

/// The most comparisons of data that distinguish shapes of one path.
const DEEPEST: usize = 3;

/// The seeds of the data of runs.
const SEEDS: [i64; 2] = [1, 3];

impl Source<'_> {
    /// Makes the templates of all kinds of calls.
    ///
    /// # Errors
    /// Lists the kinds that have no template.
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
        // A client may give `_` wherever a method takes an identifier.
        let identifiers = |(method, arguments): &(Name, Vec<Argument>)| {
            let options = arguments.iter().map(|a| match a {
                Argument::Identifier | Argument::NoIdentifier => vec![Argument::Identifier, Argument::NoIdentifier],
                other => vec![*other],
            });
            options.multi_cartesian_product().map(|arguments| (*method, arguments)).collect::<Vec<_>>()
        };
        let forms: BTreeSet<(Name, Vec<Argument>)> = forms.iter().flat_map(identifiers).collect();
        let mut branches = Vec::new();
        for (method, arguments) in &forms {
            let ends = arguments.iter().filter(|a| **a == Argument::NoIdentifier).map(|_| "_");
            let name = format!("{method}{}", ends.collect::<String>());
            match self.branches((*method, arguments), &worlds, &objects) {
                Ok(told) => branches.extend(numbered(&name, told)),
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

    /// Makes one kind of all branches that do the same for different data. This is enough for updates of a state of
    /// several words, and only tried for these.
    fn alike(&self, branches: &[Branch], objects: &BTreeSet<Loc>) -> Option<Vec<Kind>> {
        if !branches.iter().all(|branch| branch.kind.has_words()) {
            return None;
        }
        let mut groups: Vec<Vec<&Branch>> = Vec::new();
        for branch in branches {
            let skeleton = branch.kind.skeleton();
            match groups.iter_mut().find(|group| group[0].kind.skeleton() == skeleton) {
                Some(group) => group.push(branch),
                None => groups.push(vec![branch]),
            }
        }
        let whole = |group: Vec<&Branch>| {
            let runs: Vec<&Run> = group.iter().flat_map(|branch| &branch.runs).collect();
            let path = Path { equal: Vec::new(), ..group[0].path.clone() };
            let kind = self.explained(&runs, &path, &[], (objects, Computed::Always)).ok()?;
            let name = group.iter().map(|branch| &branch.kind.name).join("+");
            let forms = group.iter().flat_map(|branch| branch.kind.forms.clone()).collect();
            let mut kind = Kind { name, forms, ways: group[0].kind.ways.clone(), ..kind };
            kind.name_roles();
            Some(kind)
        };
        groups.into_iter().map(whole).collect()
    }

    /// Makes the kinds of the calls of one form: one or more for each path through the body.
    fn branches(
        &self,
        (method, arguments): (Name, &[Argument]),
        worlds: &[(World, Arc<World>)],
        objects: &BTreeSet<Loc>,
    ) -> Result<Vec<Branch>, String> {
        let bodies = self.implementation.bodies().ok_or("its body is a Rust function, which cannot be read")?;
        let body = bodies.get(method.text()).ok_or("it has no body, so no call of it returns")?;
        let sites = self.sites(arguments, worlds);
        let has_roles = self.has_roles();
        let sizes = if has_roles { BTreeMap::new() } else { sizes(arguments, &sites) };
        let fresh = std::cell::Cell::new(0);
        let mut reader = Reader { below: self.below, arguments, sizes, has_roles, has_rounds: false, fresh };
        loop {
            let paths = reader.paths(body)?;
            if paths.is_empty() {
                return Err("no call of this form returns".to_owned());
            }
            let mut branches = Vec::new();
            let mut has_rounds = false;
            for (path, given) in paths.iter().zip(self.given(&reader, &paths)?) {
                let of = Of { method, arguments, sites: &sites, path, objects };
                match self.of_path(&of, &given) {
                    Ok(told) => branches.extend(told),
                    Err(Stop::No(why)) => return Err(why),
                    Err(Stop::HasRounds) if !reader.has_rounds => has_rounds = true,
                    Err(Stop::HasRounds | Stop::Open(_)) => {
                        return Err("what it leaves out does not only read".to_owned());
                    }
                }
            }
            if !has_rounds {
                return Ok(branches);
            }
            reader.has_rounds = true;
        }
    }

    /// Returns the guards of each path. The result of a call is one of them if the object has a writer and readers.
    fn given(&self, reader: &Reader<'_>, paths: &[Path]) -> Result<Vec<Vec<Guard>>, String> {
        if !reader.has_roles {
            return Ok(paths.iter().map(|path| path.guards.clone()).collect());
        }
        let special = |path: &Path| match path.returned.term() {
            Term::Val(v) if SPECIAL.contains(v) && v.int().is_none() => Some(*v),
            _ => None,
        };
        let classes: BTreeSet<Val> = paths.iter().filter_map(special).collect();
        let is = |value: Val, are_equal| Guard { one: Datum::Returned, other: Datum::Constant(value), are_equal };
        let of_path = |path: &Path| {
            let returned = match special(path) {
                Some(value) => vec![is(value, true)],
                None => classes.iter().map(|value| is(*value, false)).collect(),
            };
            match classes.iter().find(|value| special(path).is_none() && reader.may_be(path, **value)) {
                Some(value) => Err(format!("whether it returns {value} is not known")),
                None => Ok([returned, path.guards.clone()].concat()),
            }
        };
        paths.iter().map(of_path).collect()
    }

    /// Makes the kinds of one path: one for each way in which the calls below happen, and for each case of its shapes.
    fn of_path(&self, of: &Of<'_>, given: &[Guard]) -> Result<Vec<Branch>, Stop> {
        let runs = self.at_all(of, given)?;
        let ways: BTreeSet<Vec<Way>> = runs.into_iter().map(|run| run.ways).collect();
        let mut branches = Vec::new();
        for ways in ways {
            branches.extend(self.cases(of, &ways, given, 0)?);
        }
        Ok(branches)
    }

    /// Makes the runs of a path at all sites, with data that are as different as they can be.
    fn at_all(&self, of: &Of<'_>, given: &[Guard]) -> Result<Vec<Run>, Stop> {
        let mut runs = Vec::new();
        for seed in SEEDS {
            let data = Data::satisfying(given.iter().chain(&known(of.path)).filter(|g| is_chosen(g)), seed);
            let words = || given.iter().map(Guard::to_string).join(" and ");
            let data = data.ok_or_else(|| Stop::No(format!("no data were found of which {}", words())))?;
            for site in of.sites {
                runs.extend(self.runs(of.path, (of.method, of.arguments), site, &data)?);
            }
        }
        if runs.is_empty() {
            let conditions = of.path.decided.iter().map(|d| format!("`{}` {}", d.condition, d.holds)).join(" and ");
            return Err(Stop::No(match conditions.as_str() {
                "" => "no call of this form can be made".to_owned(),
                _ => format!("in no world that was tried is {conditions}"),
            }));
        }
        Ok(runs)
    }

    /// Makes the kinds of one path where the calls below happen in these ways. If the shapes depend on whether two data
    /// are equal, there are two kinds: one where they are equal, and one where they differ.
    fn cases(&self, of: &Of<'_>, ways: &[Way], given: &[Guard], depth: usize) -> Result<Vec<Branch>, Stop> {
        let mut runs = self.at_all(of, given)?;
        runs.retain(|run| run.ways == ways);
        match self.tells_apart(of, ways, given, &mut runs)? {
            Some(_) if depth == DEEPEST => Err(Stop::No("its shapes depend on too many data".to_owned())),
            Some((one, other)) => {
                let with = |are_equal| [given, &[Guard { one, other, are_equal }]].concat();
                let [yes, no] = [with(true), with(false)].map(|given| self.cases(of, ways, &given, depth + 1));
                Ok(yes?.into_iter().chain(no?).collect())
            }
            None => {
                let computed = if self.has_roles() { Computed::Anything } else { Computed::No };
                let all: Vec<&Run> = runs.iter().collect();
                let kind = self.explained(&all, of.path, given, (of.objects, computed)).map_err(Stop::No)?;
                let results = given.iter().flat_map(|g| [g.one, g.other]).flat_map(|datum| match datum {
                    Datum::Result(event) | Datum::Sum(event, _) => event..event + 1,
                    Datum::Results(first, words) => first..first + words,
                    _ => 0..0,
                });
                if !results.chain(ways.iter().map(|(event, _)| *event)).all(|event| kind.is_once(event)) {
                    return Err(Stop::No("what tells branches apart is one of several results".to_owned()));
                }
                let form = Form { method: of.method, arguments: of.arguments.to_vec(), given: given.to_vec() };
                let kind = Kind { forms: vec![form], ways: ways.to_vec(), ..kind };
                Ok(vec![Branch { kind, path: of.path.clone(), runs }])
            }
        }
    }

    /// Finds two data such that the shapes of a path depend on whether they are equal. Adds the runs with equal and
    /// special data.
    fn tells_apart(
        &self,
        of: &Of<'_>,
        ways: &[Way],
        given: &[Guard],
        runs: &mut Vec<Run>,
    ) -> Result<Option<(Datum, Datum)>, Stop> {
        let data = self.data(of);
        let constants = SPECIAL.map(Datum::Constant);
        let pairs = data.iter().copied().tuple_combinations().chain(data.iter().copied().cartesian_product(constants));
        let is_decided = |(one, other): &(Datum, Datum)| given.iter().any(|g| (g.one, g.other) == (*one, *other));
        let pairs: Vec<(Datum, Datum)> = pairs.filter(|pair| !is_decided(pair)).collect();
        let chosen: Vec<Guard> = given.iter().copied().chain(known(of.path)).filter(is_chosen).collect();
        let mut probe = |site: &Site, pairs: &[(Datum, Datum)]| {
            let equal = pairs.iter().map(|&(one, other)| Guard { one, other, are_equal: true });
            let guards: Vec<Guard> = chosen.iter().copied().chain(equal).collect();
            let Some(data) = Data::satisfying(&guards, SEEDS[0]) else { return Ok(None) };
            let mut made = self.runs(of.path, (of.method, of.arguments), site, &data)?;
            made.retain(|run| run.ways == ways && run.is_real);
            let done: Vec<Vec<Done>> = made.iter().map(Run::done).collect();
            runs.extend(made);
            Ok((!done.is_empty()).then_some(done))
        };
        for site in [of.sites.first(), of.sites.last()].into_iter().flatten() {
            let mut usual = None;
            for site in of.sites.iter().filter(|other| Arc::ptr_eq(&other.world, &site.world)) {
                usual = probe(site, &[])?.map(|done| (site, done));
                if usual.is_some() {
                    break;
                }
            }
            let Some((site, usual)) = usual else { continue };
            let single = pairs.iter().map(|pair| vec![*pair]);
            let double = pairs.iter().tuple_combinations().map(|(one, other)| vec![*one, *other]);
            for pairs in single.chain(double) {
                if probe(site, &pairs)?.is_some_and(|done| done != usual) {
                    return Ok(pairs.first().copied());
                }
            }
        }
        Ok(None)
    }

    /// Lists the data of a path: arguments, the results of calls that are made once, and sums that are passed on.
    fn data(&self, of: &Of<'_>) -> Vec<Datum> {
        let of_argument = |(i, argument): (usize, &Argument)| match argument {
            Argument::Data => vec![Datum::Argument(i)],
            Argument::Tuple(words) => (0..*words).map(|word| Datum::Word(i, word)).collect(),
            _ => Vec::new(),
        };
        let has_result = |call: &mowgli_core::body::CallTerm| {
            let methods = self.below.get(call.library).map(|library| library.methods()).unwrap_or_default();
            methods.iter().any(|m| m.name == call.method && m.returns != Returns::Nothing)
        };
        let is_one = |times: Times| matches!(times, Times::Once | Times::Ended);
        let made = of.path.made().enumerate().filter(|(_, (times, made))| is_one(*times) && has_result(&made.call));
        let results: Vec<Datum> = made.map(|(position, _)| Datum::Result(position)).collect();
        let is_sum = |datum: &Datum| matches!(datum, Datum::Sum(of, _) if results.contains(&Datum::Result(*of)));
        let sums: Vec<Datum> = of.path.data.iter().copied().filter(is_sum).collect();
        of.arguments.iter().enumerate().flat_map(of_argument).chain(results).chain(sums).collect()
    }

    /// Makes the kind of calls that take a path, from its runs.
    fn explained(
        &self,
        runs: &[&Run],
        path: &Path,
        given: &[Guard],
        (objects, computed): (&BTreeSet<Loc>, Computed),
    ) -> Result<Kind, String> {
        let made: Vec<_> = path.made().collect();
        let positions = made.len();
        // The instances of each position, with the results that came before.
        let mut seen: Vec<Vec<Instance>> = vec![Vec::new(); positions];
        let mut own = Vec::new();
        let equal = given.iter().filter(|g| g.are_equal).map(|g| (g.one, g.other)).chain(path.equal.iter().copied());
        let equal: Arc<[(Datum, Datum)]> = classes(equal).iter().flat_map(represented).collect();
        let added: Arc<[i64]> = path.added().chain(ADDED).unique().collect();
        for run in runs {
            let known_equal = Env { equal: Arc::clone(&equal), added: Arc::clone(&added), computed, ..run.env.clone() };
            let mut results = vec![None; positions];
            let mut passed: Vec<((usize, usize), Val)> = Vec::new();
            let mut named: Vec<(Named, u64)> = Vec::new();
            for (i, &(position, at)) in run.placed.iter().enumerate() {
                let event = run.events[i].clone();
                results[position] = Some(run.results[i]);
                passed.retain(|(of, _)| of.0 != position);
                let data = event.call.args.iter().enumerate().filter(|(_, v)| computed != Computed::No && v.is_data());
                passed.extend(data.map(|(argument, v)| ((position, argument), *v)));
                named.retain(|(of, _)| of.0 != position);
                if computed == Computed::Anything {
                    named.extend(numbers_of(position, &event.call));
                }
                let (passed, named) = (passed.clone(), named.clone());
                let env = Env { results: so_far(&results), passed, named, ..known_equal.at(at) };
                // An event without subevents is compared by its arguments only, so it gets a stand-in subevent.
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
            events: path.segments(),
            subs: Vec::new(),
            promised: Vec::new(),
            left_out: path.left_out.as_ref().map(|(position, _)| *position),
            takes_part: (0..runs[0].call.args.len()).filter(|i| runs.iter().all(|r| r.env.takes_part(*i))).collect(),
        };
        for (position, instances) in seen.iter().enumerate() {
            let (times, made) = made[position];
            if instances.is_empty() {
                return Err(format!("{} is made in no run", made.call));
            }
            // Sets of nodes are seen by the subevents that there are for each of them.
            let named = |call: &Call| call.args.iter().copied().filter(|v| v.nodes().is_none()).collect::<Vec<_>>();
            let arguments = instances.iter().map(|(s, _)| (&s.env, Val::tuple(&named(&s.event.call))));
            let arguments = pattern(arguments, objects)?;
            kind.made.push((made.call.library, Name::new(made.call.method), arguments));
            let (subs, mut roles) = subevents(instances, position, times, objects, self.below)?;
            let above = path.above.iter().filter(|(high, _)| *high == position).map(|(_, low)| Datum::Result(*low));
            let above: Vec<Datum> = above.collect();
            for role in &mut roles {
                role.in_loop = made.ends_loop || kind.left_out == Some(position);
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

/// True if runs choose their data so that a guard holds. The result of a call follows from the path.
fn is_chosen(guard: &Guard) -> bool {
    guard.one != Datum::Returned
}

/// Pairs each datum of a class with the one that templates have in its place: a constant, or else the first datum.
fn represented(class: &BTreeSet<Datum>) -> Vec<(Datum, Datum)> {
    let constant = class.iter().copied().find(|datum| matches!(datum, Datum::Constant(_)));
    if let Some(constant) = constant {
        return class.iter().filter(|datum| **datum != constant).map(|datum| (*datum, constant)).collect();
    }
    let mut rest = class.iter().copied();
    let first = rest.next();
    // Sums of equal results are equal too.
    let sums = |first, other| match (first, other) {
        (Datum::Result(a), Datum::Result(b)) => ADDED.map(|k| (Datum::Sum(a, k), Datum::Sum(b, k))).to_vec(),
        _ => Vec::new(),
    };
    let pairs = rest.filter_map(|other| Some((first?, other)));
    pairs.flat_map(|(first, other)| [vec![(first, other)], sums(first, other)].concat()).collect()
}

/// Returns the equalities that hold where the loops of a path end.
fn known(path: &Path) -> Vec<Guard> {
    path.equal.iter().map(|&(one, other)| Guard { one, other, are_equal: true }).collect()
}

/// Returns the sizes of the objects that are arguments, if all objects have the same size.
fn sizes(arguments: &[Argument], sites: &[Site]) -> BTreeMap<usize, i64> {
    let size = |i: usize| {
        let objects = sites.iter().filter_map(|site| site.before.objects.get(&site.names[i]?.loc()?));
        Some((i, objects.map(|object| object.size as i64).all_equal_value().ok()?))
    };
    (0..arguments.len()).filter(|i| arguments[*i] == Argument::Location).filter_map(size).collect()
}

/// Returns the branches of the calls of one form with their names: that of the form, with numbers if there are several.
fn numbered(name: &str, mut branches: Vec<Branch>) -> Vec<Branch> {
    let several = branches.len() > 1;
    for (i, Branch { kind, .. }) in branches.iter_mut().enumerate() {
        kind.name = if several { format!("{name}.{}", i + 1) } else { name.to_owned() };
        kind.name_roles();
    }
    branches
}

/// Returns the numbers in the names that are arguments of an event.
fn numbers_of(event: usize, call: &Call) -> Vec<(Named, u64)> {
    let names = call.args.iter().enumerate().filter(|(_, v)| matches!(v, Val::Loc(_) | Val::Wid(_)));
    names.flat_map(|(i, v)| numbers_in(*v).into_iter().map(move |(slot, n)| ((event, i, slot), n))).collect()
}

/// Returns the results so far, in order; later ones are unknown.
fn so_far(results: &[Option<Val>]) -> Vec<Val> {
    // A marker that equals no datum keeps the positions.
    results.iter().map(|r| r.unwrap_or(Val::Top)).collect()
}
