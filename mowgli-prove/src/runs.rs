//! Runs of paths: the calls of a path through a body, made in worlds of several sizes with data that satisfy its guards
//! and differ otherwise.
//!
//! The path says which calls are made, and with which arguments. A run shows the shapes of these calls, and in which
//! sets of the specifications their subevents are: both are Rust functions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::body::CallTerm;
use mowgli_core::event::{Call, Event, Sub};
use mowgli_core::expr::{Scope, Term};
use mowgli_core::ids::{Loc, Name, Tid, Wid};
use mowgli_core::implementation::add_parts;
use mowgli_core::library::Library;
use mowgli_core::method::{self, Returns};
use mowgli_core::soundness::client::Bound;
use mowgli_core::value::Val;
use mowgli_core::world::{Part, World};
use mowgli_judge::ids::Node;

use crate::kind::{Guard, Way};
use crate::paths::{Made, Path, is_of_results, is_of_world, result};
use crate::pattern::{Argument, Datum, Each, Env, Place, Times};
use crate::source::Source;

/// One run of a path.
#[derive(Clone)]
pub(crate) struct Run {
    pub world: Arc<World>,
    pub env: Env,
    pub call: Call,
    pub events: Vec<Event>,
    /// The position of each event, and the node, thread or round that it is for.
    pub placed: Vec<(usize, Option<Place>)>,
    pub shapes: Vec<Vec<Sub>>,
    /// The results that are data. If a method returns nothing, its result is `Top`, which equals no datum.
    pub results: Vec<Val>,
    pub ways: Vec<Way>,
    pub result: Val,
    /// True if the data satisfy the conditions of the path, as far as these can be evaluated.
    pub is_real: bool,
}

/// A part of a run that does not depend on its nodes and data: a method with a family of stamps, whether it reads and
/// writes, and the role of its cell.
pub(crate) type Done = (Name, Name, String, bool, bool, String);

/// The most rounds of a loop with effects before its last one. From two on they are alike.
const ROUNDS: usize = 2;

impl Run {
    /// Returns the role of a part, without the numbers of its thread or node.
    fn role_of(&self, x: Loc) -> String {
        let name = x.to_string();
        let role = name.split_once('.').map_or("", |(_, role)| role);
        let is_number = |part: &&str| self.env.numbers(part.parse().unwrap_or(0)).is_empty();
        role.split('_').filter(is_number).join("_")
    }

    pub fn done(&self) -> Vec<Done> {
        let own = (self.call.library, self.call.method);
        let methods = self.events.iter().map(|e| (e.call.library, e.call.method)).chain([own]);
        let of_event = |((library, method), shape): ((Name, Name), &Vec<Sub>)| {
            let family = |sub: &Sub| sub.stamp.to_string().split('_').next().map(str::to_owned).unwrap_or_default();
            let place = |sub: &Sub| sub.cell.map(|cell| self.role_of(cell.loc)).unwrap_or_default();
            let done =
                |sub: &Sub| (library, method, family(sub), sub.reads.is_some(), sub.writes.is_some(), place(sub));
            shape.iter().map(done).collect::<Vec<_>>()
        };
        let all: BTreeSet<Done> = methods.zip(&self.shapes).flat_map(of_event).collect();
        all.into_iter().collect()
    }
}

/// True if a subevent reads and does nothing else.
fn only_reads(sub: &Sub) -> bool {
    sub.reads.is_some() && sub.writes.is_none()
}

/// The nodes of the threads of each world. The numbers of threads and nodes differ.
const PLACES: [&[u8]; 4] = [&[1], &[2, 1], &[2, 3, 1, 3], &[3, 4, 2, 1, 4]];

/// The most words of one object.
const WORDS: usize = 8;

/// The first number that stands for any datum.
const DATA: i64 = 1_000_003;

/// The values that a shape may treat differently from others.
pub(crate) const SPECIAL: [Val; 8] =
    [Val::Int(0), Val::Int(1), Val::Int(2), Val::Int(-1), Val::Bool(true), Val::Bool(false), Val::Bot, Val::Unit];

/// Returns the classes of data that are equal because these pairs are.
pub(crate) fn classes(equal: impl IntoIterator<Item = (Datum, Datum)>) -> Vec<BTreeSet<Datum>> {
    let add = |classes: Vec<BTreeSet<Datum>>, (one, other)| {
        let (with, mut others): (Vec<_>, Vec<_>) =
            classes.into_iter().partition(|class: &BTreeSet<Datum>| class.contains(&one) || class.contains(&other));
        others.push(with.into_iter().flatten().chain([one, other]).collect());
        others
    };
    equal.into_iter().fold(Vec::new(), add)
}

/// The data of a run.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    seed: i64,
    /// The values of some arguments and results. All others differ from these, and from one another.
    known: BTreeMap<Datum, Val>,
}

impl Data {
    /// Finds data that satisfy the guards, and are as different as they can be otherwise. It may miss some, and is then
    /// `None`.
    pub fn satisfying<'g>(guards: impl IntoIterator<Item = &'g Guard> + Clone, seed: i64) -> Option<Self> {
        let equal = guards.clone().into_iter().filter(|guard| guard.are_equal).map(|guard| (guard.one, guard.other));
        let mut classes = classes(equal);
        let order = |datum: &Datum| match datum {
            Datum::Constant(_) => 0,
            Datum::Results(..) => 1,
            Datum::Sum(..) => 2,
            _ => 3,
        };
        // Classes with a constant come first, and those whose values are computed from other data last.
        let rank = |class: &BTreeSet<Datum>| {
            let rank = class.iter().map(order).min().unwrap_or(0);
            if rank == 0 { 0 } else { 4 - rank }
        };
        classes.sort_by_key(rank);
        let mut data = Self { seed, known: BTreeMap::new() };
        for class in &classes {
            let known = class.iter().find(|datum| data.known.contains_key(datum));
            let from = known.or_else(|| class.iter().min_by_key(|datum| order(datum)))?;
            let value = data.at(*from);
            class.iter().for_each(|datum| data.set(*datum, value));
        }
        let holds = |guard: &Guard| (data.at(guard.one) == data.at(guard.other)) == guard.are_equal;
        guards.into_iter().all(holds).then_some(data)
    }

    fn set(&mut self, datum: Datum, value: Val) {
        match datum {
            Datum::Argument(_) | Datum::Word(..) | Datum::Result(_) => {
                self.known.entry(datum).or_insert(value);
            }
            Datum::Sum(position, k) => self.set(Datum::Result(position), value.plus(k.wrapping_neg()).unwrap_or(value)),
            _ => {}
        }
    }

    fn at(&self, datum: Datum) -> Val {
        let place = match datum {
            Datum::Argument(i) => WORDS * i,
            Datum::Word(i, word) => WORDS * i + word,
            Datum::Result(position) => FIRST_RESULT + position,
            Datum::Sum(position, k) => {
                let of = self.at(Datum::Result(position));
                return of.plus(k).unwrap_or(of);
            }
            Datum::Results(first, words) => {
                let words = (first..first + words).map(|position| self.at(Datum::Result(position)));
                return Val::tuple(&words.collect::<Vec<_>>());
            }
            Datum::Constant(value) => return value,
            Datum::Initial(_) | Datum::Passed(..) | Datum::Returned => return Val::Top,
        };
        self.known.get(&datum).copied().unwrap_or_else(|| self.different(place))
    }

    /// Returns a value for each place. No two are equal, nor is one more or less than another.
    fn different(&self, place: usize) -> Val {
        Val::Int(DATA * self.seed + 7 * place as i64)
    }

    /// Returns the result of a call that is made for the n-th of several nodes, threads or rounds.
    fn result(&self, position: usize, nth: usize) -> Val {
        let datum = Datum::Result(position);
        if nth == 0 || self.known.contains_key(&datum) {
            return self.at(datum);
        }
        self.different(FIRST_OF_SEVERAL + 64 * position + nth)
    }

    /// Returns the arguments of a call with these names.
    fn given(&self, arguments: &[Argument], names: &[Option<Val>]) -> Vec<Val> {
        let one = |(i, (argument, name)): (usize, (&Argument, &Option<Val>))| {
            name.unwrap_or_else(|| match argument {
                Argument::Tuple(words) => {
                    Val::tuple(&(0..*words).map(|word| self.at(Datum::Word(i, word))).collect::<Vec<_>>())
                }
                _ => self.at(Datum::Argument(i)),
            })
        };
        arguments.iter().zip(names).enumerate().map(one).collect()
    }
}

/// The number of the datum that is the first result.
const FIRST_RESULT: usize = 64;
/// The number of the first datum of which nothing is known.
const FIRST_UNKNOWN: usize = 512;
/// The number of the first datum that is one of several results at one position.
const FIRST_OF_SEVERAL: usize = 1024;

/// The place of a call: its world, its thread, and the arguments that are names.
#[derive(Clone)]
pub(crate) struct Site {
    pub before: World,
    pub world: Arc<World>,
    pub thread: Tid,
    pub names: Vec<Option<Val>>,
}

/// The choices of a run beside its data.
#[derive(Clone, Default)]
struct Choice {
    /// The ways of the calls that can happen in several ways, from first to last.
    ways: Vec<usize>,
    /// The number of rounds of a loop with effects before the last one.
    rounds: Option<usize>,
    /// The thread at which a loop through all threads ends.
    ended: Option<Tid>,
}

/// The reason for which there is no run.
pub(crate) enum Stop {
    /// A loop has effects, and the path was read as if it had none.
    HasRounds,
    /// The next call can happen in this many ways, and none was chosen.
    Open(usize),
    /// The path cannot be run.
    No(String),
}

impl Source<'_> {
    /// True if objects have a writer and readers.
    pub(crate) fn has_roles(&self) -> bool {
        let form = self.specification.get(self.library).and_then(|library| library.object());
        form.is_some_and(|form| form.parts.contains(&Part::Roles))
    }

    /// Returns worlds, before and after the implementation has added its objects.
    pub(crate) fn worlds(&self) -> Vec<(World, Arc<World>)> {
        let of_place = |places: &&[u8]| {
            let nodes: Vec<Node> = places.iter().copied().map(Node).collect();
            let empty = World::new(places.iter().copied().max().unwrap_or(1), &nodes);
            let bound = Bound { objects: 2, threads: nodes.len(), nodes: empty.nodes, ..Bound::default() };
            let mut all = self.subject.worlds(&empty, &bound, &|| false);
            let most = all.iter().map(|w| w.objects.len()).max().unwrap_or(0);
            all.retain(|w| w.objects.len() == most);
            let step = all.len().div_ceil(5).max(1);
            // In the last one all take part, some of them on one node.
            let last = all.last().filter(|_| self.has_roles()).cloned();
            all.into_iter().step_by(step).chain(last).collect::<Vec<_>>()
        };
        let told = |mut before: World| {
            for (i, object) in before.objects.values_mut().enumerate() {
                object.init = match object.init {
                    Val::Tuple(all) => {
                        let word = |word: usize| Val::Int(DATA * 7 + (WORDS * i + word) as i64);
                        Val::tuple(&(0..all.parts().len()).map(word).collect::<Vec<_>>())
                    }
                    _ => Val::Int(DATA * 5 + i as i64),
                };
            }
            let mut after = before.clone();
            add_parts(&*self.implementation, &mut after);
            (before, Arc::new(after))
        };
        PLACES.iter().flat_map(of_place).map(told).collect()
    }

    /// Returns the arguments that are names, in every way; data get `None`.
    fn names(&self, arguments: &[Argument], world: &World) -> Vec<Vec<Option<Val>>> {
        let own: Vec<Loc> = world.locations(self.library);
        let of = |argument: &Argument| -> Vec<Option<Val>> {
            match argument {
                Argument::Location => own.iter().map(|&x| Some(Val::Loc(x))).collect(),
                Argument::Identifier => ["d", "e"].map(|d| Some(Val::Wid(Wid(Name::literal(d))))).to_vec(),
                Argument::NoIdentifier => vec![Some(Val::NoWid)],
                Argument::Nodes => world.all_nodes().subsets().map(|ns| Some(Val::Nodes(ns))).collect(),
                Argument::Node => world.all_nodes().iter().map(|n| Some(Val::Node(n))).collect(),
                Argument::Data | Argument::Tuple(_) => vec![None],
            }
        };
        arguments.iter().map(of).multi_cartesian_product().collect()
    }

    /// Lists the places of the calls of a form.
    pub(crate) fn sites(&self, arguments: &[Argument], worlds: &[(World, Arc<World>)]) -> Vec<Site> {
        let of_world = |(before, world): &(World, Arc<World>)| {
            let all = before.tids().cartesian_product(self.names(arguments, before));
            let site = |(thread, names)| Site { before: before.clone(), world: Arc::clone(world), thread, names };
            all.map(site).collect::<Vec<_>>()
        };
        worlds.iter().flat_map(of_world).collect()
    }

    /// Returns all runs of a path with these data at a site. There is none if the call cannot be made there, or takes
    /// another path.
    pub(crate) fn runs(
        &self,
        path: &Path,
        (method, arguments): (Name, &[Argument]),
        site: &Site,
        data: &Data,
    ) -> Result<Vec<Run>, Stop> {
        let library = self.specification.get(self.library);
        let library = library.ok_or_else(|| Stop::No("there is no specification".to_owned()))?;
        let call = Call::new(self.library, method.text(), &data.given(arguments, &site.names));
        let scope = Scope::new(&site.world, site.thread, &call.args);
        let of_world = path.decided.iter().filter(|d| is_of_world(d.condition, arguments));
        let takes_path = of_world.into_iter().all(|d| scope.decide(d.condition) == d.holds);
        if !takes_path || library.fault(&site.before, site.thread, &call).is_some() {
            return Ok(Vec::new());
        }
        let scope = path
            .unknown
            .iter()
            .zip(FIRST_UNKNOWN..)
            .fold(scope, |scope, ((_, var), place)| scope.with(*var, data.different(place)));
        let has = |times| path.steps.iter().any(|step| step.times == times);
        let rounds = if has(Times::Each(Each::Rounds)) { (0..=ROUNDS).map(Some).collect() } else { vec![None] };
        let ended = if has(Times::Ended) { site.world.tids().map(Some).collect() } else { vec![None] };
        let choices = rounds.into_iter().cartesian_product(ended);
        let mut todo: Vec<Choice> = choices.map(|(rounds, ended)| Choice { ways: Vec::new(), rounds, ended }).collect();
        todo.reverse();
        let mut runs = Vec::new();
        while let Some(choice) = todo.pop() {
            let mut making = Making {
                source: self,
                data,
                choice: &choice,
                run: Run {
                    world: Arc::clone(&site.world),
                    env: Env::new(&site.world, site.thread, &call),
                    call: call.clone(),
                    events: Vec::new(),
                    placed: Vec::new(),
                    shapes: Vec::new(),
                    results: Vec::new(),
                    ways: Vec::new(),
                    result: Val::Unit,
                    is_real: true,
                },
            };
            match making.follow(path, scope.clone()) {
                Ok(()) => {}
                Err(Stop::Open(several)) => {
                    let with = |way| Choice { ways: [&choice.ways[..], &[way]].concat(), ..choice.clone() };
                    todo.extend((0..several).rev().map(with));
                    continue;
                }
                Err(stop) => return Err(stop),
            }
            let mut run = making.run;
            let event = Event { thread: site.thread, call: call.clone(), ret: run.result };
            let own = library.shapes(&run.world, &event).into_iter().exactly_one().map_err(|all| match all.count() {
                0 => Stop::No(format!(
                    "only some threads of an object may call it ({} may not), which prove understands for ring buffers alone",
                    site.thread
                )),
                ways => Stop::No(format!("it can happen in {ways} ways")),
            })?;
            run.shapes.push(own.to_vec());
            runs.push(run);
        }
        Ok(runs)
    }
}

/// A run while it is made.
struct Making<'r, 's> {
    source: &'r Source<'s>,
    data: &'r Data,
    choice: &'r Choice,
    run: Run,
}

impl<'r, 's> Making<'r, 's> {
    /// Makes the calls of a path.
    fn follow(&mut self, path: &Path, mut scope: Scope) -> Result<(), Stop> {
        self.run.env.rounds = self.choice.rounds;
        let mut position = 0;
        for step in &path.steps {
            let places = match step.times {
                Times::Once => vec![None],
                Times::Ended => vec![self.choice.ended.map(Place::Thread)],
                Times::IfAny(set) if self.run.env.nodes(set).is_empty() => Vec::new(),
                Times::IfAny(_) => vec![None],
                Times::Each(each) => self.run.env.places(each).into_iter().map(Some).collect(),
            };
            for (nth, place) in places.into_iter().enumerate() {
                let mut inside = match (step.element, place) {
                    (Some(var), Some(Place::Node(n))) => scope.with(var, n.into()),
                    (Some(var), Some(Place::Thread(t))) => scope.with(var, t.into()),
                    _ => scope.clone(),
                };
                for (made, position) in step.calls.iter().zip(position..) {
                    let value = self.make(made, (position, place, nth), &inside)?;
                    inside = inside.with(result(position), value);
                }
                if matches!(step.times, Times::Once | Times::Ended) {
                    scope = inside;
                }
            }
            position += step.calls.len();
            if let Some((last, calls)) = &path.left_out
                && last + 1 == position
            {
                calls.iter().try_for_each(|call| self.only_looks(call, &scope))?;
            }
        }
        self.run.result = path.returned.eval(&scope);
        let mut conditions = path.decided.iter().filter(|d| !d.is_fact && is_of_results(d.condition));
        self.run.is_real = conditions.all(|d| scope.decide(d.condition) == d.holds);
        Ok(())
    }

    /// Evaluates a call in a scope.
    fn call(&mut self, of: &CallTerm, scope: &Scope) -> Call {
        let args: Vec<Val> = of.args.iter().map(|e| e.eval(scope)).collect();
        // An unknown number makes a name that no object has, so the run adds an object like those with the same role.
        for (e, v) in of.args.iter().zip(&args) {
            if let (Term::Part(owner, role, indices), Some(x)) = (e.term(), v.loc())
                && !indices.is_empty()
                && !self.run.world.objects.contains_key(&x)
            {
                let begins = format!("{}.{role}_", owner.eval(scope));
                let like = self.run.world.objects.iter().find(|(y, _)| y.to_string().starts_with(&begins));
                if let Some(object) = like.map(|(_, object)| object.clone()) {
                    Arc::make_mut(&mut self.run.world).objects.insert(x, object);
                }
            }
        }
        Call::new(of.library, of.method, &args)
    }

    /// Makes a call, and returns its result.
    fn make(&mut self, made: &Made, at: (usize, Option<Place>, usize), scope: &Scope) -> Result<Val, Stop> {
        made.left_out.iter().try_for_each(|call| self.only_looks(call, scope))?;
        let inner = self.call(&made.call, scope);
        let (position, place, nth) = at;
        if inner.args.iter().any(|v| v.nodes().is_some_and(|all| all.is_empty())) {
            return Err(Stop::No(format!("{} may be about no node", made.call)));
        }
        let of = self.library(&inner)?;
        let has_result = method::find(of.methods(), &inner).is_none_or(|m| m.returns != Returns::Nothing);
        let result = if has_result { self.data.result(position, nth) } else { Val::Top };
        let (event, mut shapes) = self.shapes(of, inner, if has_result { result } else { Val::Unit })?;
        let way = match shapes.len() {
            0 => return Err(Stop::No(format!("{event} cannot happen"))),
            1 => 0,
            _ if made.ends_loop => {
                return Err(Stop::No("a call in a loop can happen in several ways".to_owned()));
            }
            several => {
                let way = *self.choice.ways.get(self.run.ways.len()).ok_or(Stop::Open(several))?;
                self.run.ways.push((position, way));
                way
            }
        };
        self.run.shapes.push(shapes.swap_remove(way));
        self.run.events.push(event);
        self.run.placed.push((position, place));
        self.run.results.push(result);
        Ok(if has_result { result } else { Val::Unit })
    }

    fn library(&self, call: &Call) -> Result<&'r dyn Library, Stop> {
        let source: &'r Source<'s> = self.source;
        source.below.get(call.library).ok_or_else(|| Stop::No(format!("{call} is of no library below")))
    }

    fn shapes(&self, of: &dyn Library, call: Call, ret: Val) -> Result<(Event, Vec<Vec<Sub>>), Stop> {
        let (world, thread) = (&self.run.world, self.run.env.thread);
        if let Some(fault) = of.fault(world, thread, &call) {
            return Err(Stop::No(format!("{call} has a fault: {fault}")));
        }
        let event = Event { thread, call, ret };
        let shapes = of.shapes(world, &event).into_iter().map(|shape| shape.to_vec()).collect();
        Ok((event, shapes))
    }

    /// Checks that a call that is left out only reads.
    fn only_looks(&mut self, call: &CallTerm, scope: &Scope) -> Result<(), Stop> {
        let call = self.call(call, scope);
        let of = self.library(&call)?;
        let (_, shapes) = self.shapes(of, call, self.data.different(FIRST_UNKNOWN - 1))?;
        if shapes.iter().flatten().all(only_reads) { Ok(()) } else { Err(Stop::HasRounds) }
    }
}
