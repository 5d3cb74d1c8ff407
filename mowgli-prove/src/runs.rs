//! Runs of bodies: on calls of every form, in worlds of several sizes, with data that differ, are equal, or are special.

use std::collections::BTreeSet;
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::event::{Call, Event, Sub};
use mowgli_core::expr::{Decisions, Expr, Scope, Term};
use mowgli_core::ids::{Loc, Name, Tid, Wid};
use mowgli_core::implementation::add_parts;
use mowgli_core::library::Library;
use mowgli_core::method::{self, Kind, Returns};
use mowgli_core::program::Prog;
use mowgli_core::soundness::client::Bound;
use mowgli_core::value::Val;
use mowgli_core::world::{Part, World};
use mowgli_judge::ids::Node;

use crate::kind::Way;
use crate::pattern::{Argument, Computed, Datum, Env, Place};
use crate::source::Source;

/// One run of a body.
#[derive(Clone)]
pub(crate) struct Run {
    pub world: Arc<World>,
    pub env: Env,
    pub call: Call,
    pub events: Vec<Event>,
    pub shapes: Vec<Vec<Sub>>,
    /// The results that are data; `Top`, which equals no datum, where a method returns nothing.
    pub results: Vec<Val>,
    /// Of the last call of a loop the number of calls that came before it in its round and are left out.
    pub ended: Vec<Option<usize>>,
    /// The rounds of a loop with effects that they are of, if it is not the last one.
    pub rounds: Vec<Option<usize>>,
    pub ways: Vec<Way>,
    /// How many events came before the first of more reads than are looked at.
    pub more: Option<usize>,
    pub result: Val,
}

/// The runs of a body.
pub(crate) struct Runs {
    /// With different, equal and special data: templates are looked for in these.
    pub usual: Vec<Run>,
    /// With small numbers, in every combination, and with the constants of the body: templates must be true of these too.
    pub small: Vec<Run>,
}

/// Which runs are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Of bodies that make no more calls than are looked at.
    Short,
    /// Of others too: more calls than are looked at must only read, and are left out. Data are small, as many may be read as a
    /// datum says.
    Any,
}

/// What became of a body.
enum Ran {
    /// It returned, and has so many arguments and results.
    Returned(Box<Run>, usize),
    /// It does not return with data for so many arguments and results.
    Never(usize),
    /// A call below can happen in so many ways, and none was chosen.
    Open(usize),
    /// A loop has effects, and it was not chosen how many rounds it has.
    HasRounds,
}

/// How many rounds a loop with effects has at most before its last one: from two on they are alike.
const ROUNDS: usize = 2;

/// What is done in a run, as far as it is not of its nodes and data: a method with a family of stamps, whether it reads and
/// writes, and the role of its cell.
pub(crate) type Done = (Name, Name, String, bool, bool, String);

impl Run {
    /// The role of a part, without the numbers that are those of its thread or node.
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

    /// The methods that are called, each with its round.
    pub fn methods(&self) -> Vec<(Name, Name, Option<usize>)> {
        let methods = self.events.iter().zip(&self.rounds);
        methods.map(|(event, round)| (event.call.library, event.call.method, *round)).collect()
    }

    /// Ends the last round of a loop, which began here: of its calls the last one is kept. The others only read.
    fn end_round(&mut self, start: usize) -> Result<(), Stop> {
        let Some(before) = self.events.len().checked_sub(start + 1) else { return Ok(()) };
        let left_out = start..start + before;
        if self.ways.iter().any(|(event, _)| *event >= start) {
            return Err(Stop::No("a call in a loop can happen in several ways".to_owned()));
        }
        self.events.drain(left_out.clone());
        self.shapes.drain(left_out.clone());
        self.results.drain(left_out.clone());
        self.ended.drain(left_out.clone());
        self.rounds.drain(left_out);
        self.ended[start] = Some(before);
        Ok(())
    }

    /// The thread at which a loop ended with this event, if it went through all of them.
    pub fn ended_at(&self, event: usize) -> Option<Place> {
        self.ended[event].and_then(|before| self.world.tids().nth(before)).map(Place::Thread)
    }

    pub fn datum(&self, datum: Datum) -> Option<Val> {
        match datum {
            Datum::Result(event) => Some(self.results[event]),
            Datum::Results(first, words) => self.results.get(first..first + words).map(Val::tuple),
            Datum::Returned => Some(self.result),
            other => self.env.datum(other),
        }
    }

    /// The run without the reads that come next after so many events and are calls of the method of the last of these; none if not all of
    /// what was left out is of them.
    pub fn without_reads(&self, after: usize) -> Option<Self> {
        let mut run = self.clone();
        let last = run.events.get(after.checked_sub(1)?)?.call.clone();
        let is_read = |(event, shape): (&Event, &Vec<Sub>)| {
            (event.call.library, event.call.method) == (last.library, last.method) && shape.iter().all(only_reads)
        };
        let count = run.events.iter().zip(&run.shapes).skip(after).take_while(|pair| is_read(*pair)).count();
        if self.more.is_some_and(|at| at != after + count) || !run.shapes[after - 1].iter().all(only_reads) {
            return None;
        }
        let left_out = after..after + count;
        run.events.drain(left_out.clone());
        run.shapes.drain(left_out.clone());
        run.results.drain(left_out.clone());
        run.ended.drain(left_out.clone());
        run.rounds.drain(left_out);
        run.ended[after - 1] = Some(0);
        run.more = None;
        Some(run)
    }
}

/// Whether a subevent reads and does nothing else.
fn only_reads(sub: &Sub) -> bool {
    sub.reads.is_some() && sub.writes.is_none()
}

/// Where the worlds of the runs have threads: numbers of threads and nodes differ.
const PLACES: [&[u8]; 4] = [&[1], &[2, 1], &[2, 3, 1, 3], &[3, 4, 2, 1, 4]];

/// The most words of one object.
const WORDS: usize = 8;

/// The first number that stands for any datum.
const DATA: i64 = 1_000_003;

/// That number where as many reads may be made as a datum says. It is larger than numbers of threads and nodes.
const SMALL: i64 = 6;

/// The most results of a body, of those that are not looked at too.
const MOST_RESULTS: usize = 50;

/// What can be special about a datum.
pub(crate) const SPECIAL: [Val; 8] =
    [Val::Int(0), Val::Int(1), Val::Int(2), Val::Int(-1), Val::Bool(true), Val::Bool(false), Val::Bot, Val::Unit];

/// The data of a run, arguments first, then results: different ones, apart from these.
#[derive(Clone, Debug)]
struct Data {
    /// Whether they are small.
    is_small: bool,
    seed: i64,
    /// What is at these places.
    special: Vec<(usize, Val)>,
    /// Places that have what is at others.
    equal: Vec<(usize, usize)>,
    /// Places that have the tuple of what is at others: the first of those, and how many they are.
    tuples: Vec<(usize, usize, usize)>,
}

impl Data {
    fn at(&self, place: usize) -> Val {
        let tuple = self.tuples.iter().find(|(at, ..)| *at == place);
        tuple.map_or_else(|| self.word(place), |&(_, first, words)| self.tuple(first, words))
    }

    fn tuple(&self, first: usize, words: usize) -> Val {
        Val::tuple(&(first..first + words).map(|place| self.word(place)).collect::<Vec<_>>())
    }

    fn word(&self, place: usize) -> Val {
        let place = self.equal.iter().find(|(_, copy)| *copy == place).map_or(place, |(of, _)| *of);
        let special = self.special.iter().find(|(at, _)| *at == place).map(|(_, value)| *value);
        let place = place as i64;
        // No two are equal, nor one more or less than another.
        let different = if self.is_small { SMALL + 3 * place + self.seed / 2 } else { DATA * self.seed + 7 * place };
        special.unwrap_or(Val::Int(different))
    }

    /// Arguments: those that are names, and data in turn.
    fn given(&self, arguments: &[Argument], names: &[Option<Val>]) -> Vec<Val> {
        let mut place = 0;
        let one = |(argument, name): (&Argument, &Option<Val>)| {
            let first = place;
            place += argument.width();
            name.unwrap_or_else(|| match argument {
                Argument::Tuple(words) => self.tuple(first, *words),
                _ => self.at(first),
            })
        };
        arguments.iter().zip(names).map(one).collect()
    }

    /// The most data that are looked at one by one.
    const PLACES: usize = 8;

    /// No two equal, none special.
    fn different() -> Vec<Self> {
        [1, 3].map(Self::none).to_vec()
    }

    /// No two equal, none special, for this seed.
    fn none(seed: i64) -> Self {
        Self { is_small: false, seed, special: Vec::new(), equal: Vec::new(), tuples: Vec::new() }
    }

    /// With these beside what is special in it, as different data as in the `w`-th world, and as large as these runs need.
    fn beside(&self, base: &[(usize, Val)], w: usize, which: Which) -> Self {
        let seed = if w.is_multiple_of(2) { self.seed } else { self.seed + 4 };
        let is_small = which == Which::Any;
        Self { is_small, seed, special: [base, &self.special].concat(), ..self.clone() }
    }

    /// Each one special, each two equal, and each that is a result the tuple of others.
    fn single(places: usize, results: usize, sizes: &BTreeSet<usize>) -> Vec<Self> {
        let none = Self::none(1);
        let special = (0..places).cartesian_product(SPECIAL);
        let equal = (0..places).tuple_combinations();
        let of_size = |&size: &usize| {
            let firsts = 0..(places + 1).saturating_sub(size);
            let tuples = (results..places).cartesian_product(firsts).map(move |(place, first)| (place, first, size));
            tuples.filter(|(place, first, size)| !(*first..first + size).contains(place))
        };
        let special = special.map(|s| Self { special: vec![s], ..none.clone() });
        let equal = equal.map(|pair| Self { equal: vec![pair], ..none.clone() });
        let tuples = sizes.iter().flat_map(of_size).map(|tuple| Self { tuples: vec![tuple], ..none.clone() });
        special.chain(equal).chain(tuples).collect()
    }

    /// Small numbers at several places at once, as bodies compare data with them: at every place, or else at each three, and larger ones
    /// at each two.
    fn small(places: usize, results: usize) -> Vec<Self> {
        let small = |place: usize| {
            let bottom = (place >= results).then_some(Val::Bot);
            (0..4).map(Val::Int).chain(bottom).collect::<Vec<Val>>()
        };
        let larger = |_: usize| (0..8).map(Val::Int).chain([Val::Bot]).collect::<Vec<Val>>();
        let all: Vec<usize> = (0..places).collect();
        let count: usize = all.iter().map(|place| small(*place).len()).fold(1, usize::saturating_mul);
        let at_once = if count <= MOST_AT_ONCE { places } else { 3 };
        let combinations = all.iter().copied().combinations(at_once).flat_map(|at| Self::all_at(&at, small));
        combinations.chain(all.iter().copied().combinations(2).flat_map(|at| Self::all_at(&at, larger))).collect()
    }

    /// These constants at each place alone, and beside another one or a small number at each two.
    fn constants(places: usize, constants: &BTreeSet<Val>) -> Vec<Self> {
        let known = |_: usize| (0..4).map(Val::Int).chain(constants.iter().copied()).collect::<Vec<Val>>();
        let has_constant = |data: &Self| data.special.iter().any(|(_, value)| constants.contains(value));
        let all = [1, 2].into_iter().flat_map(|count| (0..places).combinations(count));
        all.flat_map(|at| Self::all_at(&at, known)).filter(has_constant).collect()
    }

    /// Every choice of values for these places.
    fn all_at(places: &[usize], values: impl Fn(usize) -> Vec<Val>) -> Vec<Self> {
        let choices = places.iter().map(|place| values(*place)).multi_cartesian_product();
        let special = |chosen: Vec<Val>| places.iter().copied().zip(chosen).collect();
        choices.map(|chosen| Self { special: special(chosen), ..Self::none(1) }).collect()
    }

    /// Each two of these together.
    fn double(places: usize, results: usize, sizes: &BTreeSet<usize>) -> Vec<Self> {
        let both = |(a, b): (Self, Self)| Self {
            special: [a.special, b.special].concat(),
            equal: [a.equal, b.equal].concat(),
            tuples: [a.tuples, b.tuples].concat(),
            ..Self::none(1)
        };
        Self::single(places, results, sizes).into_iter().tuple_combinations().map(both).collect()
    }
}

/// How many choices of small numbers for all places are made; of more, those for each three places.
const MOST_AT_ONCE: usize = 1024;

/// The most constants of a body that are tried as data.
const MOST_CONSTANTS: usize = 8;

/// The largest number that is taken to be a constant of a body.
const LARGEST_CONSTANT: i64 = 10_000;

/// In how many worlds two data at once are special.
const TWICE: usize = 5;

/// One in so many calls is run with special data.
const EVERY: usize = 5;

impl Source<'_> {
    /// Whether objects have a writer and readers.
    pub(crate) fn has_roles(&self) -> bool {
        let form = self.specification.get(self.library).and_then(|library| library.object());
        form.is_some_and(|form| form.parts.contains(&Part::Roles))
    }

    /// Worlds, before and after the implementation has added its objects.
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

    /// The runs of the body of a method.
    pub(crate) fn runs(
        &self,
        method: Name,
        arguments: &[Argument],
        worlds: &[(World, Arc<World>)],
        which: Which,
    ) -> Result<Runs, String> {
        let library = self.specification.get(self.library).ok_or("there is no specification")?;
        let mut runs = Vec::new();
        let first_result = arguments.iter().map(|argument| argument.width()).sum();
        let mut places = first_result;
        let sizes = self.sizes(&worlds[0].0);
        let decisions = &Arc::default();
        let bases = self.bases(library, (method, arguments), &worlds[0], (which, decisions))?;
        let based = |all: Vec<Data>, w: usize| {
            all.iter().cartesian_product(&bases).map(|(data, base)| data.beside(base, w, which)).collect::<Vec<Data>>()
        };
        // How many data there are shows in the first world; two at once are special in some of the last ones.
        for (w, (before, after)) in worlds.iter().enumerate() {
            let looked_at = if w == 0 { Data::PLACES } else { places };
            let different = based(Data::different(), w);
            let single = [different.clone(), based(Data::single(looked_at, first_result, &sizes), w)].concat();
            let double = if w + TWICE < worlds.len() {
                Vec::new()
            } else {
                based(Data::double(looked_at, first_result, &sizes), w)
            };
            let double = [single.clone(), double].concat();
            for (t, thread) in before.tids().enumerate() {
                let all = self.names(arguments, before);
                // Half of t, so that those that are looked at twice do not always come at the same turn.
                let turn = (w + t / 2) % all.len().clamp(1, EVERY);
                for (i, names) in all.into_iter().enumerate() {
                    // Special data and equal ones in some of the runs, different ones in all.
                    let data = match (i % EVERY == turn, t == w % before.threads.len()) {
                        (true, true) => &double,
                        (true, false) => &single,
                        (false, _) => &different,
                    };
                    for data in data {
                        let call = Call::new(self.library, method.text(), &data.given(arguments, &names));
                        if library.fault(before, thread, &call).is_none() {
                            let looked_at =
                                self.every_way(library, after, thread, &call, (data, which, decisions), &mut runs)?;
                            places = places.max(looked_at);
                        }
                    }
                }
            }
        }
        if runs.is_empty() {
            return Err("no call of this form returns".to_owned());
        }
        let mut small = Vec::new();
        if which == Which::Short {
            let data = based(Data::small(places, first_result), 0);
            self.with_small(library, (method, arguments), worlds, (&data, decisions), &mut small)?;
            let mut constants = constants(runs.iter().chain(&small));
            constants.extend(self.literals(library, method));
            let data = based(Data::constants(places, &constants), 0);
            self.with_small(library, (method, arguments), worlds, (&data, decisions), &mut small)?;
        }
        self.decided_both_ways(library, method, decisions)?;
        Ok(Runs { usual: runs, small })
    }

    /// The conditions on data of the body of a method; none for a body that is a Rust function.
    fn conditions(&self, library: &dyn Library, method: Name) -> Vec<Expr> {
        let body = self.implementation.bodies().and_then(|all| all.get(method.text()));
        let takes = library.methods().iter().find(|m| m.name == method.text()).map_or(&[][..], |m| m.takes);
        let is_data = |position: usize| takes.get(position).is_some_and(|(_, kind)| *kind == Kind::Value);
        body.map(|body| body.conditions_on_data(&is_data)).unwrap_or_default()
    }

    /// The literals that the body of a method compares data with: runs try each of them.
    fn literals(&self, library: &dyn Library, method: Name) -> BTreeSet<Val> {
        let mut all = BTreeSet::new();
        for condition in self.conditions(library, method) {
            condition
                .each(&mut |e| all.extend(if let Term::Val(v @ Val::Int(_)) = e.term() { Some(*v) } else { None }));
        }
        all
    }

    /// A template says nothing of what a body does behind a condition that no run has decided so.
    ///
    /// # Errors
    /// If a condition on data has one value in all runs.
    fn decided_both_ways(&self, library: &dyn Library, method: Name, decisions: &Decisions) -> Result<(), String> {
        for condition in self.conditions(library, method) {
            if let Some(missing) = [true, false].into_iter().find(|is| !decisions.has(condition, *is)) {
                return Err(format!(
                    "in no run that was tried is `{condition}` {missing}, so what it does then is not known"
                ));
            }
        }
        Ok(())
    }

    /// The program of a call, which notes how conditions are decided.
    fn program(&self, world: &World, thread: Tid, call: &Call, decisions: &Arc<Decisions>) -> Prog {
        match self.implementation.bodies() {
            Some(bodies) => bodies.program_in(&Scope::new(world, thread, &call.args).noting(decisions), call),
            None => self.implementation.body(world, thread, call),
        }
    }

    /// Adds the runs with these data, of one call in the first world and of one in the last.
    fn with_small(
        &self,
        library: &dyn Library,
        (method, arguments): (Name, &[Argument]),
        worlds: &[(World, Arc<World>)],
        (data, decisions): (&[Data], &Arc<Decisions>),
        runs: &mut Vec<Run>,
    ) -> Result<(), String> {
        for (before, after) in worlds.iter().take(1).chain(worlds.iter().skip(1).last()) {
            let calls = before.tids().cartesian_product(self.names(arguments, before));
            let call = |names: &[Option<Val>], data: &Data| {
                Call::new(self.library, method.text(), &data.given(arguments, names))
            };
            let can_make = |(thread, names): &(Tid, Vec<Option<Val>>)| {
                library.fault(before, *thread, &call(names, &data[0])).is_none()
            };
            let Some((thread, names)) = calls.take_while(|_| !data.is_empty()).find(can_make) else { continue };
            for data in data {
                let call = call(&names, data);
                if library.fault(before, thread, &call).is_none() {
                    self.every_way(library, after, thread, &call, (data, Which::Short, decisions), runs)?;
                }
            }
        }
        Ok(())
    }

    /// What must be special about the data of a call so that it returns: nothing, or else one of these.
    fn bases(
        &self,
        library: &dyn Library,
        (method, arguments): (Name, &[Argument]),
        (before, after): &(World, Arc<World>),
        (which, decisions): (Which, &Arc<Decisions>),
    ) -> Result<Vec<Vec<(usize, Val)>>, String> {
        let (thread, names) = (Tid(1), self.names(arguments, before).swap_remove(0));
        let returns = |data: &Data| {
            let args = data.given(arguments, &names);
            let (call, mut runs) = (Call::new(self.library, method.text(), &args), Vec::new());
            if library.fault(before, thread, &call).is_none() {
                self.every_way(library, after, thread, &call, (data, which, decisions), &mut runs)?;
            }
            Ok::<bool, String>(!runs.is_empty())
        };
        if returns(&Data::none(1).beside(&[], 0, which))? {
            return Ok(vec![Vec::new()]);
        }
        let mut bases = Vec::new();
        for data in Data::single(Data::PLACES, 0, &BTreeSet::new()).into_iter().filter(|data| data.equal.is_empty()) {
            if returns(&data.beside(&[], 0, which))? {
                bases.push(data.special);
            }
        }
        Ok(if bases.is_empty() { vec![Vec::new()] } else { bases })
    }

    /// How many words the objects of the library have that have several.
    fn sizes(&self, world: &World) -> BTreeSet<usize> {
        let objects = world.objects.values().filter(|object| object.library == self.library);
        objects
            .filter_map(|object| if let Val::Tuple(all) = object.init { Some(all.parts().len()) } else { None })
            .collect()
    }

    /// The arguments that are names, in every way; none stands for data.
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

    /// Adds the runs in which the calls below happen in each of their ways; how many data are looked at, even if they do not
    /// return.
    fn every_way(
        &self,
        library: &dyn Library,
        world: &Arc<World>,
        thread: Tid,
        call: &Call,
        of: (&Data, Which, &Arc<Decisions>),
        runs: &mut Vec<Run>,
    ) -> Result<usize, String> {
        let mut todo: Vec<(Vec<usize>, Option<usize>)> = vec![(Vec::new(), None)];
        let mut places = 0;
        while let Some((ways, rounds)) = todo.pop() {
            match self.run(library, world, thread, call, of, (&ways, rounds))? {
                Ran::Never(looked_at) => places = places.max(looked_at),
                Ran::HasRounds => todo.extend((0..=ROUNDS).rev().map(|rounds| (ways.clone(), Some(rounds)))),
                Ran::Open(several) => {
                    todo.extend((0..several).rev().map(|way| ([&ways[..], &[way]].concat(), rounds)));
                }
                Ran::Returned(run, looked_at) => {
                    places = places.max(looked_at);
                    runs.push(*run);
                }
            }
        }
        Ok(places)
    }

    /// The run in which those calls below that can happen in several ways do so in these, and a loop with effects has so many
    /// rounds before its last one.
    fn run(
        &self,
        library: &dyn Library,
        world: &Arc<World>,
        thread: Tid,
        call: &Call,
        (data, which, decisions): (&Data, Which, &Arc<Decisions>),
        (ways, rounds): (&[usize], Option<usize>),
    ) -> Result<Ran, String> {
        let mut run = Run {
            world: Arc::clone(world),
            env: Env::new(world, thread, call),
            call: call.clone(),
            events: Vec::new(),
            shapes: Vec::new(),
            results: Vec::new(),
            ended: Vec::new(),
            rounds: Vec::new(),
            ways: Vec::new(),
            more: None,
            result: Val::Unit,
        };
        let place = call.args.iter().map(|v| Argument::of(*v).map_or(1, Argument::width)).sum();
        run.env.rounds = rounds;
        if which == Which::Any {
            run.env.computed = Computed::Anything;
        }
        let mut making = Making { source: self, world, data, which, ways, run: &mut run, place, round: None, loops: 0 };
        let came = making.follow(&self.program(world, thread, call, decisions), false);
        let places = making.place.min(Data::PLACES);
        match came {
            Ok(Flow::Value(result)) => run.result = result,
            Ok(Flow::Broken(..)) => return Err("it breaks out of no loop".to_owned()),
            Err(Stop::Never) => return Ok(Ran::Never(places)),
            Err(Stop::HasRounds) => return Ok(Ran::HasRounds),
            Err(Stop::Open(several)) => return Ok(Ran::Open(several)),
            Err(Stop::No(why)) => return Err(why),
        }
        let event = Event { thread, call: call.clone(), ret: run.result };
        let own = library.shapes(world, &event).into_iter().exactly_one().map_err(|all| match all.count() {
            0 => format!(
                "only some threads of an object may call it ({thread} may not), which prove understands for ring buffers alone"
            ),
            ways => format!("it can happen in {ways} ways"),
        })?;
        run.shapes.push(own.to_vec());
        Ok(Ran::Returned(Box::new(run), places))
    }
}

/// The constants that bodies pass to calls and return in these runs: what a body names it may compare with, too.
fn constants<'r>(runs: impl Iterator<Item = &'r Run>) -> BTreeSet<Val> {
    let of_run = |run: &'r Run| {
        let passed = run.events.iter().flat_map(|event| &event.call.args).copied();
        passed.chain([run.result])
    };
    let is_constant = |v: &Val| v.int().is_some_and(|n| n < -1 || (8..=LARGEST_CONSTANT).contains(&n));
    let mut all: BTreeSet<Val> = runs.flat_map(of_run).filter(is_constant).collect();
    while all.len() > MOST_CONSTANTS {
        all.pop_last();
    }
    all
}

/// Why a run does not end with a result.
enum Stop {
    /// A loop goes on.
    Never,
    /// It has a loop with effects, and it is not said how many rounds that has.
    HasRounds,
    /// The next call can happen in so many ways.
    Open(usize),
    /// It is none that can be looked at.
    No(String),
}

/// What a body comes to.
enum Flow {
    Value(Val),
    /// It breaks out of so many loops.
    Broken(usize, Val),
}

/// A run while it is made.
struct Making<'r, 's> {
    source: &'r Source<'s>,
    world: &'r Arc<World>,
    data: &'r Data,
    which: Which,
    ways: &'r [usize],
    run: &'r mut Run,
    /// Where the next result is in the data.
    place: usize,
    /// The round of a loop with effects that is made, if it is not the last one.
    round: Option<usize>,
    /// How many loops there have been.
    loops: usize,
}

impl Making<'_, '_> {
    /// Runs a body. Of a loop the last round is made, and of that the last call is kept: the others only read, which is checked
    /// of each call.
    fn follow(&mut self, body: &Prog, in_loop: bool) -> Result<Flow, Stop> {
        match body {
            Prog::Val(v) => Ok(Flow::Value(*v)),
            Prog::Call(call) => self.make(call, in_loop).map(Flow::Value),
            Prog::Let(both) => match self.follow(&both.first, in_loop)? {
                Flow::Value(v) => self.follow(&(both.then)(v), in_loop),
                broken @ Flow::Broken(..) => Ok(broken),
            },
            Prog::Loop(round) => {
                self.loops += 1;
                if self.run.env.rounds.is_some() && (self.loops > 1 || in_loop) {
                    return Err(Stop::No("it has a loop with effects beside another loop".to_owned()));
                }
                self.rounds_before(round)?;
                let start = self.run.events.len();
                match self.follow(round, true)? {
                    // It goes on, so this was not the last round.
                    Flow::Value(_) => Err(Stop::Never),
                    Flow::Broken(out_of, v) => {
                        if self.run.env.rounds.is_none() {
                            self.run.end_round(start)?;
                        } else if let Some(last) = self.run.ended.last_mut() {
                            *last = Some(0);
                        }
                        Ok(if out_of == 1 { Flow::Value(v) } else { Flow::Broken(out_of - 1, v) })
                    }
                }
            }
            Prog::Break(out_of, v) => Ok(Flow::Broken(*out_of, *v)),
            Prog::Bound => Err(Stop::No("it has a loop that is unrolled".to_owned())),
        }
    }

    /// Makes the rounds of a loop with effects before the last one.
    fn rounds_before(&mut self, round: &Prog) -> Result<(), Stop> {
        for number in 0..self.run.env.rounds.unwrap_or(0) {
            self.round = Some(number);
            let came = self.follow(round, true)?;
            self.round = None;
            if matches!(came, Flow::Broken(..)) {
                return Err(Stop::Never);
            }
        }
        Ok(())
    }

    /// Makes a call, which may be one in a loop; what it returns.
    fn make(&mut self, inner: &Call, in_loop: bool) -> Result<Val, Stop> {
        let (world, thread) = (self.world, self.run.env.thread);
        let of = self.source.below.get(inner.library);
        let of = of.ok_or_else(|| Stop::No(format!("{inner} is of no library below")))?;
        if let Some(fault) = of.fault(world, thread, inner) {
            return Err(Stop::No(format!("{inner} has a fault: {fault}")));
        }
        let has_result = method::find(of.methods(), inner).is_none_or(|m| m.returns != Returns::Nothing);
        let result = if has_result { self.data.at(self.place) } else { Val::Top };
        self.place += usize::from(has_result);
        let is_late = self.place > Data::PLACES;
        if is_late && (self.which == Which::Short || self.place > MOST_RESULTS) {
            return Err(Stop::No("it has more results than can be looked at one by one".to_owned()));
        }
        let ret = if has_result { result } else { Val::Unit };
        let event = Event { thread, call: inner.clone(), ret };
        let shapes = of.shapes(world, &event);
        let run = &mut *self.run;
        let way = match shapes.len() {
            0 => return Err(Stop::No(format!("{event} cannot happen"))),
            1 => 0,
            several => match self.ways.get(run.ways.len()) {
                Some(&way) => {
                    run.ways.push((run.events.len(), way));
                    way
                }
                None => return Err(Stop::Open(several)),
            },
        };
        // What comes before the last call of the last round is left out: then it must only read.
        let does_more = |sub: &Sub| sub.writes.is_some() || sub.reads.is_none();
        if in_loop && run.env.rounds.is_none() && shapes.iter().flatten().any(does_more) {
            return Err(Stop::HasRounds);
        }
        if is_late && has_result {
            let is_next = *run.more.get_or_insert(run.events.len()) == run.events.len();
            return if is_next && shapes[way].iter().all(only_reads) {
                Ok(ret)
            } else {
                Err(Stop::No("it has more results than can be looked at one by one".to_owned()))
            };
        }
        run.shapes.push(shapes[way].to_vec());
        run.events.push(event);
        run.ended.push(None);
        run.rounds.push(self.round);
        run.results.push(result);
        Ok(ret)
    }
}
