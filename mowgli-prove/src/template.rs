//! Templates: what every call of a method does, whatever its thread, node and arguments are.
//!
//! Implementations and shapes are functions that cannot be looked into. They are run on many calls, in worlds of several
//! sizes, with arguments and results that differ from one another, that are equal, and that are special. A template says of
//! each of these runs what happens, in terms of the call's thread, node, arguments and results; where there is none, or more
//! than one, the method has no template, and nothing is proved of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::event::{Call, Event, Reads, Sub, Writes};
use mowgli_core::ids::{Loc, Name, NodeSet, Tid, Wid};
use mowgli_core::implementation::{Implementation, add_parts};
use mowgli_core::library::{Libraries, Library};
use mowgli_core::method::{self, Returns};
use mowgli_core::program::Prog;
use mowgli_core::soundness::client::{Bound, Subject};
use mowgli_core::stamp::Stamp;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_judge::algebra::SubView;
use mowgli_judge::ids::Node;

/// What an argument is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Argument {
    /// A location of the library.
    Location,
    /// A work identifier.
    Identifier,
    /// `_`, the identifier that nothing waits on.
    NoIdentifier,
    /// A set of nodes.
    Nodes,
    /// A node.
    Node,
    /// Data.
    Data,
}

impl Argument {
    fn of(value: Val) -> Result<Self, String> {
        match value {
            Val::Loc(_) => Ok(Self::Location),
            Val::Wid(_) => Ok(Self::Identifier),
            Val::NoWid => Ok(Self::NoIdentifier),
            Val::Nodes(_) => Ok(Self::Nodes),
            Val::Node(_) => Ok(Self::Node),
            Val::Int(_) => Ok(Self::Data),
            other => Err(format!("the argument {other} is neither a name nor a number")),
        }
    }
}

/// A set of nodes, as a template names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Nodes {
    /// The argument that it is; none for all nodes.
    pub of: Option<usize>,
    /// Whether the node of the thread is left out.
    pub but_own: bool,
}

/// A datum, as a template names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Datum {
    /// An argument of the call.
    Argument(usize),
    /// The result of the event at this position.
    Result(usize),
    /// The initial value of the object that is this argument.
    Initial(usize),
    /// This value.
    Constant(Val),
}

/// A part of a value, as a template names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Leaf {
    /// The thread.
    Thread,
    /// The node of the thread.
    Own,
    /// The node that the subevent is one of several for.
    At,
    /// The node of the object that is this argument.
    Home(usize),
    /// The node that is this argument.
    Node(usize),
    /// The location that is this argument.
    Location(usize),
    /// The identifier that is this argument.
    Identifier(usize),
    /// How many like it the thread has made before.
    Count,
    /// A datum.
    Datum(Datum),
}

/// A value, as a template names it: a text, and what stands at each `#` in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pattern {
    /// The text.
    pub text: String,
    /// The parts.
    pub leaves: Vec<Leaf>,
}

/// What a call is about.
#[derive(Clone, Debug)]
pub struct Env {
    thread: Tid,
    own: Node,
    /// The node that a subevent is one of several for.
    pub at: Option<Node>,
    nth: Option<usize>,
    args: Vec<Val>,
    homes: Vec<Option<Node>>,
    initial: Vec<Option<Val>>,
    all: NodeSet,
    /// The results of its events, by position in the template; of those for each node there is one that counts.
    pub results: Vec<Val>,
    /// Data that are equal in all calls of the kind.
    equal: Arc<[(Datum, Datum)]>,
}

impl Env {
    /// What a call in a world is about.
    #[must_use]
    pub fn new(world: &World, thread: Tid, call: &Call) -> Self {
        let object = |v: &Val| v.loc().and_then(|x| world.objects.get(&x));
        Self {
            thread,
            own: world.node_of(thread),
            at: None,
            nth: None,
            args: call.args.to_vec(),
            homes: call.args.iter().map(|v| object(v).and_then(|o| o.node)).collect(),
            initial: call.args.iter().map(|v| object(v).map(|o| o.init)).collect(),
            all: world.all_nodes(),
            results: Vec::new(),
            equal: Arc::new([]),
        }
    }

    fn at(&self, at: Option<Node>) -> Self {
        Self { at, ..self.clone() }
    }

    /// The members of a set of nodes.
    #[must_use]
    pub fn nodes(&self, set: Nodes) -> NodeSet {
        let all = set.of.map_or(self.all, |arg| self.args[arg].nodes().unwrap_or_default());
        if set.but_own { all.without(self.own) } else { all }
    }

    /// A datum that does not depend on what the call does.
    #[must_use]
    pub fn datum(&self, datum: Datum) -> Option<Val> {
        match datum {
            Datum::Argument(i) => Some(self.args[i]),
            Datum::Initial(i) => self.initial[i],
            Datum::Constant(value) => Some(value),
            Datum::Result(event) => self.results.get(event).copied(),
        }
    }

    /// The sets of nodes that a call can be about.
    fn sets(&self) -> Vec<Nodes> {
        let args = (0..self.args.len()).filter(|&i| self.args[i].nodes().is_some()).map(Some);
        args.chain([None]).flat_map(|of| [false, true].map(|but_own| Nodes { of, but_own })).collect()
    }

    /// What a number can be.
    fn numbers(&self, number: u64) -> Vec<Leaf> {
        let is = |node: Node| u64::from(node.0) == number;
        let mut all = Vec::new();
        all.extend((u64::from(self.thread.0) == number).then_some(Leaf::Thread));
        all.extend(is(self.own).then_some(Leaf::Own));
        all.extend(self.at.filter(|n| is(*n)).map(|_| Leaf::At));
        all.extend(self.homes.iter().positions(|home| home.is_some_and(is)).map(Leaf::Home));
        all.extend(self.args.iter().positions(|v| matches!(v, Val::Node(n) if is(*n))).map(Leaf::Node));
        all
    }

    /// What a part of a value can be.
    fn leaves(&self, raw: &Raw) -> Vec<Leaf> {
        match raw {
            Raw::Number(number) => self.numbers(*number),
            Raw::Object(x) => self.args.iter().positions(|v| v.loc() == Some(*x)).map(Leaf::Location).collect(),
            Raw::Identifier(d) => self.args.iter().positions(|v| *v == Val::Wid(*d)).map(Leaf::Identifier).collect(),
            Raw::Datum(datum) => {
                let args = self.args.iter().positions(|v| v == datum && v.is_data()).map(Datum::Argument);
                let results = self.results.iter().positions(|v| v == datum).map(Datum::Result);
                let initial = self.initial.iter().positions(|v| *v == Some(*datum)).map(Datum::Initial);
                let data = args.chain(results).chain(initial).map(Leaf::Datum);
                let count = self.nth.is_some_and(|nth| datum.int() == Some(nth as i64));
                let thread = datum.int() == Some(i64::from(self.thread.0));
                data.chain(count.then_some(Leaf::Count)).chain(thread.then_some(Leaf::Thread)).collect()
            }
        }
    }
}

/// A part of a value as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Raw {
    Number(u64),
    Object(Loc),
    Identifier(Wid),
    Datum(Val),
}

impl Raw {
    fn constant(&self) -> Option<String> {
        match self {
            Self::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// The text of a value, and its parts. Different values have different texts or parts: the name of a part is that of its
/// owner with a role, and numbers in it are read off without loss.
fn taken_apart(value: Val, text: &mut String, parts: &mut Vec<Raw>) {
    let mut name = |kind: &str, name: Name, whole: Raw| {
        text.push_str(kind);
        let Some((owner, role)) = name.text().split_once('.') else {
            text.push('#');
            parts.push(whole);
            return;
        };
        // A part belongs to an object of a client, or to a library.
        text.push_str("#.");
        parts.push(Raw::Object(Loc::new(owner)));
        numbers_apart(role, text, parts);
    };
    match value {
        Val::Loc(x) => name("loc:", x.0, Raw::Object(x)),
        Val::Wid(d) => name("wid:", d.0, Raw::Identifier(d)),
        Val::Node(n) => {
            text.push_str("node:#");
            parts.push(Raw::Number(u64::from(n.0)));
        }
        Val::NoWid => text.push('_'),
        Val::Tuple(all) => {
            text.push('(');
            for part in all.parts() {
                taken_apart(*part, text, parts);
                text.push(',');
            }
            text.push(')');
        }
        Val::Unit | Val::Int(_) | Val::Bool(_) | Val::Bot | Val::Top | Val::Nodes(_) => {
            text.push('#');
            parts.push(Raw::Datum(value));
        }
    }
}

/// The numbers of a role, without leading zeros, apart from the rest.
fn numbers_apart(role: &str, text: &mut String, parts: &mut Vec<Raw>) {
    let groups = role.chars().chunk_by(char::is_ascii_digit);
    for (digits, group) in &groups {
        let group: String = group.collect();
        match group.parse::<u64>().ok().filter(|n| digits && n.to_string() == group) {
            Some(number) => {
                text.push('#');
                parts.push(Raw::Number(number));
            }
            None => text.push_str(&group),
        }
    }
}

/// The one pattern that a value follows in all of these cases.
fn pattern<'a>(cases: impl IntoIterator<Item = (&'a Env, Val)>, objects: &BTreeSet<Loc>) -> Result<Pattern, String> {
    let mut first: Option<String> = None;
    let mut all: Vec<(&Env, Vec<Raw>)> = Vec::new();
    for (env, value) in cases {
        let (mut text, mut parts) = (String::new(), Vec::new());
        taken_apart(value, &mut text, &mut parts);
        // The owner of a part that is no object is a library: it is part of the text.
        let known = first.get_or_insert_with(|| text.clone());
        if *known != text {
            return Err(format!("a value is now {known} and now {text}"));
        }
        all.push((env, parts));
    }
    let text = first.ok_or("there is no case")?;
    let mut pieces = text.split('#');
    let mut named = pieces.next().unwrap_or_default().to_owned();
    let mut leaves = Vec::new();
    for (slot, piece) in pieces.enumerate() {
        match leaf(&all, slot, objects)? {
            Ok(leaf) => {
                named.push('#');
                leaves.push(leaf);
            }
            Err(constant) => named.push_str(&constant),
        }
        named.push_str(piece);
    }
    Ok(Pattern { text: named, leaves })
}

/// What stands at one place in all cases, or the text that always stands there.
fn leaf(all: &[(&Env, Vec<Raw>)], slot: usize, objects: &BTreeSet<Loc>) -> Result<Result<Leaf, String>, String> {
    let raw = |i: usize| &all[i].1[slot];
    let mut candidates = all[0].0.leaves(raw(0));
    for (env, parts) in &all[1..] {
        let possible = env.leaves(&parts[slot]);
        candidates.retain(|leaf| possible.contains(leaf));
    }
    let is_constant = (1..all.len()).all(|i| raw(i) == raw(0));
    // Of data that are known to be equal one is as good as the other; a constant is best.
    for &(one, other) in &*all[0].0.equal {
        let (one, other) = (Leaf::Datum(one), Leaf::Datum(other));
        if matches!(other, Leaf::Datum(Datum::Constant(_))) {
            candidates.retain(|leaf| *leaf != one);
        } else if candidates.contains(&one) {
            candidates.retain(|leaf| *leaf != other);
        }
    }
    match &candidates[..] {
        [one] if !is_constant => Ok(Ok(*one)),
        [] if is_constant => match raw(0) {
            Raw::Datum(value) => Ok(Ok(Leaf::Datum(Datum::Constant(*value)))),
            Raw::Object(owner) if !objects.contains(owner) => Ok(Err(owner.to_string())),
            other => other.constant().map(Err).ok_or_else(|| format!("{other:?} is no argument of the call")),
        },
        [] => Err(format!("what stands where now there is {:?} is nothing of the call", raw(0))),
        _ => Err(format!("{:?} can be several things of the call: {candidates:?}", raw(0))),
    }
}

/// Events or subevents that come one after the other: once, or together for each of some nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Segment {
    each: Option<Nodes>,
    len: usize,
}

/// The positions of a sequence of segments, with the nodes that they are for.
fn expanded(segments: &[Segment], env: &Env) -> Vec<(usize, Option<Node>)> {
    let mut start = 0;
    let mut all = Vec::new();
    for segment in segments {
        let positions = start..start + segment.len;
        match segment.each {
            None => all.extend(positions.map(|p| (p, None))),
            Some(set) => {
                let nodes = env.nodes(set);
                all.extend(nodes.iter().flat_map(|n| positions.clone().map(move |p| (p, Some(n)))));
            }
        }
        start += segment.len;
    }
    all
}

/// The most positions of a template.
const LONGEST: usize = 12;

/// The segmentations that explain how long the sequences of all cases are, those with few segments for each node first.
fn segmentations(lengths: &[(&Env, usize)]) -> Vec<Vec<Segment>> {
    let Some((env, _)) = lengths.first() else { return Vec::new() };
    let sets = env.sets();
    let mut all = Vec::new();
    // How many are once, and how many are for each node of at most two sets.
    let repeated = |k: usize| sets.iter().copied().combinations(k).collect::<Vec<_>>();
    for chosen in (0..=2).flat_map(repeated) {
        for counts in chosen.iter().map(|_| 1..=4usize).multi_cartesian_product() {
            let times = |env: &Env| -> usize { chosen.iter().zip(&counts).map(|(s, k)| env.nodes(*s).len() * k).sum() };
            let once: BTreeSet<Option<usize>> = lengths.iter().map(|(env, len)| len.checked_sub(times(env))).collect();
            let Some(Some(once)) = once.iter().exactly_one().ok().copied() else { continue };
            if once + counts.iter().sum::<usize>() <= LONGEST {
                let sets = chosen.iter().copied().zip(counts).collect::<Vec<_>>();
                arrange(once, &sets, &mut Vec::new(), &mut all);
            }
        }
        // `multi_cartesian_product` of nothing is one empty choice.
    }
    all
}

fn arrange(once: usize, sets: &[(Nodes, usize)], so_far: &mut Vec<Segment>, all: &mut Vec<Vec<Segment>>) {
    if once == 0 && sets.iter().all(|(_, k)| *k == 0) {
        all.push(so_far.clone());
        return;
    }
    if once > 0 {
        so_far.push(Segment { each: None, len: 1 });
        arrange(once - 1, sets, so_far, all);
        so_far.pop();
    }
    for i in 0..sets.len() {
        for len in (1..=sets[i].1).rev() {
            let mut left = sets.to_vec();
            left[i].1 -= len;
            so_far.push(Segment { each: Some(sets[i].0), len });
            arrange(once, &left, so_far, all);
            so_far.pop();
        }
    }
}

/// A subevent as it was seen in a run.
#[derive(Clone)]
pub struct Seen<S> {
    world: Arc<World>,
    event: Event,
    sub: Sub<S>,
    env: Env,
}

/// How many earlier calls are alike, in the views of subevents.
const COUNTS: [usize; 3] = [0, 1_003, 2_017];

/// An event as it was seen, with all its subevents.
type Instance<S> = (Seen<S>, Vec<Sub<S>>);

impl<S> Seen<S> {
    fn view(&self, nth: usize) -> SubView<'_, S> {
        SubView { world: &self.world, event: &self.event, sub: &self.sub, nth }
    }
}

/// What a subevent of a template reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Read {
    /// This.
    Is(Datum),
    /// Not this.
    IsNot(Datum),
    /// Anything.
    Any,
}

/// What a subevent of a template writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Write {
    /// This.
    Is(Datum),
    /// What the subevent at this position of the same event reads.
    Copy(usize),
    /// What that one reads, plus this. It reads a number, and this is one.
    Plus(usize, Datum),
}

impl Write {
    /// The position, in the same event, of what it depends on.
    #[must_use]
    pub fn source(&self) -> Option<usize> {
        match self {
            Self::Is(_) => None,
            Self::Copy(from) | Self::Plus(from, _) => Some(*from),
        }
    }
}

/// A comparison of two data of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Guard {
    /// One.
    pub one: Datum,
    /// The other.
    pub other: Datum,
    /// Whether they are equal, or else differ.
    pub are_equal: bool,
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}{}", self.one, if self.are_equal { "" } else { "not " }, self.other)
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(i) => write!(f, "argument {}", i + 1),
            Self::Result(event) => write!(f, "result {}", event + 1),
            Self::Initial(i) => write!(f, "the initial value of argument {}", i + 1),
            Self::Constant(value) => value.fmt(f),
        }
    }
}

/// A subevent of a template: what it is in every call of the kind.
#[derive(Clone)]
pub struct Role<S> {
    /// Its name, different from all others.
    pub name: String,
    /// Its name for readers.
    pub words: String,
    /// The library of its event.
    pub library: Name,
    /// The position of its event, and its own.
    pub position: (usize, usize),
    /// The nodes for each of which there is one; none if there is just one.
    pub each: Option<Nodes>,
    /// Whether its whole event is there for each node.
    pub each_event: bool,
    /// The stamp without its node.
    pub family: String,
    /// The node of the stamp.
    pub stamp_node: Option<Leaf>,
    /// Its cell.
    pub cell: Option<Pattern>,
    /// What it reads.
    pub reads: Option<Read>,
    /// What it writes.
    pub writes: Option<Write>,
    /// The initial value of its cell, if there is a name for it.
    pub initial: Option<Datum>,
    seen: Vec<Seen<S>>,
}

impl<S: Stamp> Role<S> {
    /// The events of which it is a subevent, as they were seen, with their worlds.
    pub fn events(&self) -> impl Iterator<Item = (&Arc<World>, &Event)> {
        self.seen.iter().map(|s| (&s.world, &s.event))
    }

    /// Whether it is in a set, if it is so in every run.
    ///
    /// # Errors
    /// If it is in some and not in others.
    pub fn is_in(&self, has: impl Fn(&SubView<'_, S>) -> bool) -> Result<bool, String> {
        let answers: BTreeSet<bool> = self.seen.iter().flat_map(|s| COUNTS.map(|nth| has(&s.view(nth)))).collect();
        answers.into_iter().exactly_one().map_err(|_| format!("whether {} is in a set depends on the call", self.words))
    }

    /// Its key, if it has one.
    ///
    /// # Errors
    /// If it is nothing of the call, or there only now and then.
    pub fn key(&self, of: impl Fn(&SubView<'_, S>) -> Option<Val>) -> Result<Option<Pattern>, String> {
        let env = |s: &Seen<S>, nth| Env { nth: Some(nth), ..s.env.clone() };
        let views = self.seen.iter().flat_map(|s| COUNTS.map(|nth| (env(s, nth), of(&s.view(nth)))));
        let (some, none): (Vec<_>, Vec<_>) = views.partition(|(_, key)| key.is_some());
        if some.is_empty() {
            return Ok(None);
        }
        if !none.is_empty() {
            return Err(format!("{} has a key only now and then", self.words));
        }
        let objects = self.seen.iter().flat_map(|s| s.world.objects.keys().copied()).collect();
        let cases = some.iter().filter_map(|(env, key)| Some((env, (*key)?)));
        pattern(cases, &objects).map(Some).map_err(|why| format!("{}: {why}", self.words))
    }
}

/// What one kind of call does: the calls of one form, or those of them that take one branch of the body, where the calls below
/// happen in one of their ways. Every call that returns is of some kind.
#[derive(Clone)]
pub struct Kind<S> {
    /// Its name, different from all others.
    pub name: String,
    /// The method.
    pub method: Name,
    /// What its arguments are.
    pub arguments: Vec<Argument>,
    /// What its data are like.
    pub given: Vec<Guard>,
    /// Which of its calls below happen in which of several ways.
    pub ways: Vec<Way>,
    /// The subevents of its implementation.
    pub concrete: Vec<Role<S>>,
    /// Its own subevents, as its specification says.
    pub abstract_: Vec<Role<S>>,
    /// The calls of its implementation: library, method, and arguments other than sets of nodes.
    pub made: Vec<(Name, Name, Pattern)>,
    events: Vec<Segment>,
    /// For each event of the implementation how its subevents come.
    subs: Vec<Vec<Segment>>,
    promised: Vec<Segment>,
}

/// The position of a call below that can happen in several ways, and in which of them it does.
pub type Way = (usize, usize);

/// One subevent of a call: its position in the list of roles, and the node that it is one of several for.
pub type Placed = (usize, Option<Node>);

impl<S: Stamp> Kind<S> {
    /// Whether a call is of this kind.
    #[must_use]
    pub fn has(&self, call: &Call) -> bool {
        let arguments: Option<Vec<Argument>> = call.args.iter().map(|v| Argument::of(*v).ok()).collect();
        self.method == call.method && arguments.as_ref() == Some(&self.arguments)
    }

    /// The kind in words: its name, and what is special about it.
    #[must_use]
    pub fn words(&self) -> String {
        let ways = self.ways.iter().map(|(event, way)| format!("{} in way {}", self.made[*event].1, way + 1));
        let about = ways.chain(self.given.iter().map(Guard::to_string)).join(", ");
        if about.is_empty() { self.name.clone() } else { format!("{} ({about})", self.name) }
    }

    /// The subevents of the implementation of a call, in order, each with the position of its event in the template.
    #[must_use]
    pub fn concretely(&self, env: &Env) -> Vec<Placed> {
        let role = |event, sub| self.concrete.iter().position(|r| r.position == (event, sub)).expect("a role");
        let of_event = |(event, at): (usize, Option<Node>)| {
            let subs = expanded(&self.subs[event], env);
            subs.into_iter().map(move |(sub, of_sub)| (role(event, sub), at.or(of_sub))).collect::<Vec<_>>()
        };
        expanded(&self.events, env).into_iter().flat_map(of_event).collect()
    }

    /// The subevents of a call by its specification, in order.
    #[must_use]
    pub fn abstractly(&self, env: &Env) -> Vec<Placed> {
        expanded(&self.promised, env)
    }

    /// Whether the event at a position, and all before it, are there once.
    fn is_once(&self, position: usize) -> bool {
        let mut start = 0;
        self.events.iter().all(|segment| {
            let is_later = start > position;
            start += segment.len;
            is_later || segment.each.is_none()
        })
    }

    /// Whether two methods are called once each and with equal arguments, or neither is.
    #[must_use]
    pub fn makes_together(&self, methods: [(Name, Name); 2]) -> bool {
        let calls = methods
            .map(|of| (0..self.made.len()).filter(|&i| (self.made[i].0, self.made[i].1) == of).collect::<Vec<usize>>());
        let is_alone = |event: usize| self.concrete.iter().all(|r| r.position.0 != event || !r.each_event);
        match [&calls[0][..], &calls[1][..]] {
            [[], []] => true,
            [[one], [other]] => is_alone(*one) && is_alone(*other) && self.made[*one].2 == self.made[*other].2,
            _ => false,
        }
    }

    /// Gives its roles names that no others have.
    fn name_roles(&mut self) {
        let name = &self.name;
        for role in &mut self.concrete {
            role.name = format!("{name}.{}", role.name);
        }
        for role in &mut self.abstract_ {
            role.name = format!("promise.{name}.{}", role.family);
        }
        for roles in [&mut self.concrete, &mut self.abstract_] {
            let names: Vec<String> = roles.iter().map(|r| r.name.clone()).collect();
            for (i, role) in roles.iter_mut().enumerate() {
                let earlier = names[..i].iter().filter(|n| **n == names[i]).count();
                if earlier > 0 {
                    role.name = format!("{}.{}", role.name, earlier + 1);
                }
            }
        }
    }

    /// Whether of two positions of events the first is in the same segment for each node as the second.
    #[must_use]
    pub fn go_round_together(&self, a: usize, b: usize) -> bool {
        let segment = |position: usize| {
            let mut start = 0;
            self.events.iter().position(|s| {
                start += s.len;
                position < start
            })
        };
        segment(a) == segment(b)
    }

    /// Whether two of its calls on one thread are alike just if their events at this position are: the event is there once,
    /// and each argument of the call that is a name is one of the event's.
    #[must_use]
    pub fn is_counted_by(&self, event: usize) -> bool {
        let leaves = &self.made[event].2.leaves;
        let is_kept = |(i, argument): (usize, &Argument)| match argument {
            Argument::Location => leaves.contains(&Leaf::Location(i)),
            Argument::Identifier => leaves.contains(&Leaf::Identifier(i)),
            Argument::Node => leaves.contains(&Leaf::Node(i)),
            Argument::Data | Argument::NoIdentifier => true,
            Argument::Nodes => false,
        };
        let once = self.concrete.iter().filter(|r| r.position.0 == event).all(|r| !r.each_event);
        once && self.arguments.iter().enumerate().all(is_kept)
    }
}

/// A method that has no template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Untold {
    /// The kind of call.
    pub kind: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.why)
    }
}

/// What templates are made of.
pub struct Source<'a, S: Stamp> {
    /// The library with its specification.
    pub specification: &'a Libraries<S>,
    /// Its name.
    pub library: Name,
    /// The libraries that the implementation calls.
    pub below: &'a Libraries<S>,
    /// The implementation.
    pub implementation: Arc<dyn Implementation>,
    /// Objects and calls.
    pub subject: &'a dyn Subject,
}

/// One run of a body.
struct Run<S> {
    world: Arc<World>,
    env: Env,
    call: Call,
    events: Vec<Event>,
    shapes: Vec<Vec<Sub<S>>>,
    /// The results that are data; `Top`, which equals no datum, where a method returns nothing.
    results: Vec<Val>,
    ways: Vec<Way>,
    result: Val,
}

/// What became of a body.
enum Ran<S> {
    /// It returned.
    Returned(Box<Run<S>>),
    /// It does not return.
    Never,
    /// A call below can happen in so many ways, and none was chosen.
    Open(usize),
}

/// What is done in a run, as far as it is not of its nodes and data: a method with a family of stamps, and whether it reads
/// and writes.
type Done = (Name, Name, String, bool, bool);

impl<S: Stamp> Run<S> {
    fn done(&self) -> Vec<Done> {
        let own = (self.call.library, self.call.method);
        let methods = self.events.iter().map(|e| (e.call.library, e.call.method)).chain([own]);
        let of_event = |((library, method), shape): ((Name, Name), &Vec<Sub<S>>)| {
            let family = |sub: &Sub<S>| sub.stamp.to_string().split('_').next().map(str::to_owned).unwrap_or_default();
            let done = |sub: &Sub<S>| (library, method, family(sub), sub.reads.is_some(), sub.writes.is_some());
            shape.iter().map(done).collect::<Vec<_>>()
        };
        let all: BTreeSet<Done> = methods.zip(&self.shapes).flat_map(of_event).collect();
        all.into_iter().collect()
    }
}

impl<S> Run<S> {
    fn datum(&self, datum: Datum) -> Option<Val> {
        if let Datum::Result(event) = datum { Some(self.results[event]) } else { self.env.datum(datum) }
    }
}

/// Where the worlds of the runs have threads: numbers of threads and nodes differ.
const PLACES: [&[u8]; 4] = [&[1], &[2, 1], &[2, 3, 1, 3], &[3, 4, 2, 1, 4]];

/// The first number that stands for any datum.
const DATA: i64 = 1_000_003;

/// What can be special about a datum.
const SPECIAL: [Val; 8] =
    [Val::Int(0), Val::Int(1), Val::Int(2), Val::Int(-1), Val::Bool(true), Val::Bool(false), Val::Bot, Val::Unit];

/// The data of a run, arguments first, then results: different ones, apart from these.
#[derive(Clone, Debug)]
struct Data {
    seed: i64,
    /// What is at these places.
    special: Vec<(usize, Val)>,
    /// Places that have what is at others.
    equal: Vec<(usize, usize)>,
}

impl Data {
    fn at(&self, place: usize) -> Val {
        let place = self.equal.iter().find(|(_, copy)| *copy == place).map_or(place, |(of, _)| *of);
        let special = self.special.iter().find(|(at, _)| *at == place).map(|(_, value)| *value);
        special.unwrap_or(Val::Int(DATA * self.seed + 7 * place as i64))
    }

    /// The most data that are looked at one by one.
    const PLACES: usize = 12;

    /// No two equal, none special.
    fn different() -> Vec<Self> {
        [1, 3].map(|seed| Self { seed, special: Vec::new(), equal: Vec::new() }).to_vec()
    }

    /// Each one special, each two equal.
    fn single(places: usize) -> Vec<Self> {
        let special = (0..places).cartesian_product(SPECIAL).map(|s| (vec![s], Vec::new()));
        let equal = (0..places).tuple_combinations().map(|pair| (Vec::new(), vec![pair]));
        special.chain(equal).map(|(special, equal)| Self { seed: 1, special, equal }).collect()
    }

    /// Each two of these together.
    fn double(places: usize) -> Vec<Self> {
        let both = |(a, b): (Self, Self)| Self {
            seed: 1,
            special: [a.special, b.special].concat(),
            equal: [a.equal, b.equal].concat(),
        };
        Self::single(places).into_iter().tuple_combinations().map(both).collect()
    }
}

/// In how many worlds two data at once are special.
const TWICE: usize = 5;

/// One in so many calls is run with special data.
const EVERY: usize = 5;

/// How many comparisons lead to a branch, at most.
const DEEPEST: usize = 3;

impl<S: Stamp> Source<'_, S> {
    /// The templates of all kinds of calls.
    ///
    /// # Errors
    /// The kinds that have none.
    pub fn kinds(&self) -> Result<Vec<Kind<S>>, Vec<Untold>> {
        let worlds = self.worlds();
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
        let mut kinds = Vec::new();
        for (method, arguments) in forms {
            let ends = arguments.iter().filter(|a| **a == Argument::NoIdentifier).map(|_| "_");
            let name = format!("{method}{}", ends.collect::<String>());
            match self.branches(&name, method, &arguments, &worlds) {
                Ok(branches) => kinds.extend(branches),
                Err(why) => untold.push(Untold { kind: name, why }),
            }
        }
        untold.dedup();
        if kinds.is_empty() && untold.is_empty() {
            untold.push(Untold { kind: "no method".to_owned(), why: "there are no calls".to_owned() });
        }
        if untold.is_empty() { Ok(kinds) } else { Err(untold) }
    }

    /// Worlds, before and after the implementation has added its objects.
    fn worlds(&self) -> Vec<(World, Arc<World>)> {
        let of_place = |places: &&[u8]| {
            let nodes: Vec<Node> = places.iter().copied().map(Node).collect();
            let empty = World::new(places.iter().copied().max().unwrap_or(1), &nodes);
            let bound = Bound { objects: 2, threads: nodes.len(), nodes: empty.nodes, ..Bound::default() };
            let mut all = self.subject.worlds(&empty, &bound, &|| false);
            let most = all.iter().map(|w| w.objects.len()).max().unwrap_or(0);
            all.retain(|w| w.objects.len() == most);
            let step = all.len().div_ceil(5).max(1);
            all.into_iter().step_by(step).collect::<Vec<_>>()
        };
        let told = |mut before: World| {
            for (i, object) in before.objects.values_mut().enumerate() {
                object.init = Val::Int(DATA * 5 + i as i64);
            }
            let mut after = before.clone();
            add_parts(&*self.implementation, &mut after);
            (before, Arc::new(after))
        };
        PLACES.iter().flat_map(of_place).map(told).collect()
    }

    /// The kinds of the calls of one form: one for each branch.
    fn branches(
        &self,
        name: &str,
        method: Name,
        arguments: &[Argument],
        worlds: &[(World, Arc<World>)],
    ) -> Result<Vec<Kind<S>>, String> {
        let runs = self.runs(method, arguments, worlds)?;
        let objects: BTreeSet<Loc> = worlds.iter().flat_map(|(before, _)| before.objects.keys().copied()).collect();
        let mut by_way: BTreeMap<&[Way], Vec<&Run<S>>> = BTreeMap::new();
        for run in &runs {
            by_way.entry(&run.ways).or_default().push(run);
        }
        let mut kinds = Vec::new();
        for (ways, runs) in by_way {
            for kind in self.tree(&runs, &objects, &[])? {
                if ways.iter().any(|(event, _)| !kind.is_once(*event)) {
                    return Err("a call that is made for each node can happen in several ways".to_owned());
                }
                kinds.push(Kind { ways: ways.to_vec(), ..kind });
            }
        }
        let several = kinds.len() > 1;
        for (i, kind) in kinds.iter_mut().enumerate() {
            kind.name = if several { format!("{name}.{}", i + 1) } else { name.to_owned() };
            kind.method = method;
            kind.arguments = arguments.to_vec();
            kind.name_roles();
        }
        Ok(kinds)
    }

    /// The templates of some runs: one, or if there is none those of the runs in which two data are equal and of those in
    /// which they differ.
    fn tree(&self, runs: &[&Run<S>], objects: &BTreeSet<Loc>, given: &[Guard]) -> Result<Vec<Kind<S>>, String> {
        let equal = given.iter().filter(|g| g.are_equal).map(|g| (g.one, g.other)).collect();
        let mut why = match self.events(runs, &equal, objects) {
            Ok((events, kind)) => {
                let kind = Kind { events, given: given.to_vec(), ..kind };
                let of_guards = given.iter().flat_map(|g| [g.one, g.other]);
                let once = |datum| if let Datum::Result(event) = datum { kind.is_once(event) } else { true };
                return if of_guards.into_iter().all(once) {
                    Ok(vec![kind])
                } else {
                    Err("what tells branches apart is one of several results".to_owned())
                };
            }
            Err(why) => why,
        };
        if given.len() == DEEPEST {
            return Err(why);
        }
        for (one, other) in comparisons(runs) {
            let (yes, no) = told_apart(runs, (one, other));
            let half = |runs: &[&Run<S>], are_equal| {
                self.tree(runs, objects, &[given, &[Guard { one, other, are_equal }]].concat())
            };
            match (half(&yes, true), half(&no, false)) {
                (Ok(yes), Ok(no)) => return Ok([yes, no].concat()),
                (Err(reason), _) | (_, Err(reason)) => why = reason,
            }
        }
        Err(why)
    }

    /// The runs of the body of a method.
    fn runs(
        &self,
        method: Name,
        arguments: &[Argument],
        worlds: &[(World, Arc<World>)],
    ) -> Result<Vec<Run<S>>, String> {
        let library = self.specification.get(self.library).ok_or("there is no specification")?;
        let mut runs = Vec::new();
        let mut places = arguments.len();
        // How many data there are shows in the first world; two at once are special in some of the last ones.
        for (w, (before, after)) in worlds.iter().enumerate() {
            let looked_at = if w == 0 { Data::PLACES } else { places };
            let different = Data::different();
            let single = [different.clone(), Data::single(looked_at)].concat();
            let double = if w + TWICE < worlds.len() { Vec::new() } else { Data::double(looked_at) };
            let double = [single.clone(), double].concat();
            for (t, thread) in before.tids().enumerate() {
                let all = self.names(arguments, before);
                let turn = (w + t) % all.len().clamp(1, EVERY);
                for (i, names) in all.into_iter().enumerate() {
                    // Special data and equal ones in some of the runs, different ones in all.
                    let data = match (i % EVERY == turn, t == w % before.threads.len()) {
                        (true, true) => &double,
                        (true, false) => &single,
                        (false, _) => &different,
                    };
                    for data in data {
                        let args: Vec<Val> = names.iter().enumerate().map(|(i, v)| v.unwrap_or(data.at(i))).collect();
                        let call = Call::new(self.library, method.text(), &args);
                        if library.fault(before, thread, &call).is_none() {
                            places = places.max(self.every_way(library, after, thread, &call, data, &mut runs)?);
                        }
                    }
                }
            }
        }
        if runs.is_empty() { Err("no call of this form returns".to_owned()) } else { Ok(runs) }
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
                Argument::Data => vec![None],
            }
        };
        arguments.iter().map(of).multi_cartesian_product().collect()
    }

    /// Adds the runs in which the calls below happen in each of their ways; how many data they have.
    fn every_way(
        &self,
        library: &dyn Library<S>,
        world: &Arc<World>,
        thread: Tid,
        call: &Call,
        data: &Data,
        runs: &mut Vec<Run<S>>,
    ) -> Result<usize, String> {
        let mut todo: Vec<Vec<usize>> = vec![Vec::new()];
        let mut places = 0;
        while let Some(ways) = todo.pop() {
            match self.run(library, world, thread, call, data, &ways)? {
                Ran::Never => {}
                Ran::Open(several) => todo.extend((0..several).rev().map(|way| [&ways[..], &[way]].concat())),
                Ran::Returned(run) => {
                    let returned = run.results.iter().filter(|v| **v != Val::Top).count();
                    places = places.max(call.args.len() + returned);
                    runs.push(*run);
                }
            }
        }
        Ok(places)
    }

    /// The run in which those calls below that can happen in several ways do so in these.
    fn run(
        &self,
        library: &dyn Library<S>,
        world: &Arc<World>,
        thread: Tid,
        call: &Call,
        data: &Data,
        ways: &[usize],
    ) -> Result<Ran<S>, String> {
        let mut run = Run {
            world: Arc::clone(world),
            env: Env::new(world, thread, call),
            call: call.clone(),
            events: Vec::new(),
            shapes: Vec::new(),
            results: Vec::new(),
            ways: Vec::new(),
            result: Val::Unit,
        };
        let mut place = call.args.len();
        let mut made = |inner: &Call| {
            let of =
                self.below.get(inner.library).ok_or_else(|| Stop::No(format!("{inner} is of no library below")))?;
            if let Some(fault) = of.fault(world, thread, inner) {
                return Err(Stop::No(format!("{inner} has a fault: {fault}")));
            }
            let has_result = method::find(of.methods(), inner).is_none_or(|m| m.returns != Returns::Nothing);
            let result = if has_result { data.at(place) } else { Val::Top };
            place += usize::from(has_result);
            if place > Data::PLACES {
                return Err(Stop::No("it has more results than can be looked at one by one".to_owned()));
            }
            let ret = if has_result { result } else { Val::Unit };
            let event = Event { thread, call: inner.clone(), ret };
            let shapes = of.shapes(world, &event);
            let way = match shapes.len() {
                0 => return Err(Stop::No(format!("{event} cannot happen"))),
                1 => 0,
                several => match ways.get(run.ways.len()) {
                    Some(&way) => {
                        run.ways.push((run.events.len(), way));
                        way
                    }
                    None => return Err(Stop::Open(several)),
                },
            };
            run.shapes.push(shapes[way].to_vec());
            run.events.push(event);
            run.results.push(result);
            Ok(ret)
        };
        match follow(&self.implementation.body(world, thread, call), &mut made) {
            Ok(result) => run.result = result,
            Err(Stop::Never) => return Ok(Ran::Never),
            Err(Stop::Open(several)) => return Ok(Ran::Open(several)),
            Err(Stop::No(why)) => return Err(why),
        }
        let event = Event { thread, call: call.clone(), ret: run.result };
        let own = library.shapes(world, &event);
        let own = own.into_iter().exactly_one().map_err(|all| format!("it can happen in {} ways", all.count()))?;
        run.shapes.push(own.to_vec());
        Ok(Ran::Returned(Box::new(run)))
    }

    /// The template that explains all runs.
    fn events(
        &self,
        runs: &[&Run<S>],
        equal: &Arc<[(Datum, Datum)]>,
        objects: &BTreeSet<Loc>,
    ) -> Result<(Vec<Segment>, Kind<S>), String> {
        let lengths: Vec<(&Env, usize)> = runs.iter().map(|r| (&r.env, r.events.len())).collect();
        let mut why = "how many calls it makes is nothing that depends on the nodes in question".to_owned();
        for segments in segmentations(&lengths) {
            match self.explained(runs, &segments, equal, objects) {
                Ok(kind) => return Ok((segments, kind)),
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }

    fn explained(
        &self,
        runs: &[&Run<S>],
        segments: &[Segment],
        equal: &Arc<[(Datum, Datum)]>,
        objects: &BTreeSet<Loc>,
    ) -> Result<Kind<S>, String> {
        let positions: usize = segments.iter().map(|s| s.len).sum();
        // The instances of each position, with the results that came before.
        let mut seen: Vec<Vec<Instance<S>>> = vec![Vec::new(); positions];
        let mut own = Vec::new();
        for run in runs {
            let known_equal = Env { equal: Arc::clone(equal), ..run.env.clone() };
            let places = expanded(segments, &run.env);
            let mut results = vec![None; positions];
            for (i, (position, at)) in places.into_iter().enumerate() {
                let env = Env { results: known(&results), ..known_equal.at(at) };
                let event = run.events[i].clone();
                results[position] = Some(run.results[i]);
                let env = Env { results: known(&results), ..env };
                let (world, sub) = (Arc::clone(&run.world), run.shapes[i][0]);
                seen[position].push((Seen { world, event, sub, env }, run.shapes[i].clone()));
            }
            let env = Env { results: known(&results), ..known_equal };
            let event = Event { thread: env.thread, call: run.call.clone(), ret: run.result };
            let shape = run.shapes[run.events.len()].clone();
            own.push((Seen { world: Arc::clone(&run.world), event, sub: shape[0], env }, shape));
        }
        let mut kind = Kind {
            name: String::new(),
            method: Name::literal(""),
            arguments: Vec::new(),
            given: Vec::new(),
            ways: Vec::new(),
            concrete: Vec::new(),
            abstract_: Vec::new(),
            made: Vec::new(),
            events: Vec::new(),
            subs: Vec::new(),
            promised: Vec::new(),
        };
        let each: Vec<Option<Nodes>> = segments.iter().flat_map(|s| std::iter::repeat_n(s.each, s.len)).collect();
        for (position, instances) in seen.iter().enumerate() {
            let method = |(s, _): &Instance<S>| (s.event.call.library, s.event.call.method);
            if !instances.iter().map(method).all_equal() {
                return Err("which calls it makes depends on the call in no way that is known".to_owned());
            }
            // Sets of nodes are seen by the subevents that there are for each of them.
            let named = |call: &Call| call.args.iter().copied().filter(|v| v.nodes().is_none()).collect::<Vec<_>>();
            let arguments = instances.iter().map(|(s, _)| (&s.env, Val::tuple(&named(&s.event.call))));
            let arguments = pattern(arguments, objects)?;
            let (library, method) = method(&instances[0]);
            kind.made.push((library, method, arguments));
            let (subs, roles) = subevents(instances, position, each[position], objects, self.below)?;
            kind.subs.push(subs);
            kind.concrete.extend(roles);
        }
        let (promised, roles) = subevents(&own, 0, None, objects, self.specification)?;
        kind.promised = promised;
        kind.abstract_ = roles;
        Ok(kind)
    }
}

/// The results so far, in order; of what is still to come nothing is known.
fn known(results: &[Option<Val>]) -> Vec<Val> {
    // A marker that equals no datum keeps the positions.
    results.iter().map(|r| r.unwrap_or(Val::Top)).collect()
}

/// How many comparisons are tried to tell runs apart.
const TRIED: usize = 3;

/// What two data may tell branches of some runs apart, arguments and results of calls that all of the runs make: first those
/// that tell most. None if all runs are of one branch.
fn comparisons<S: Stamp>(runs: &[&Run<S>]) -> Vec<(Datum, Datum)> {
    let Some(first) = runs.first() else { return Vec::new() };
    let method = |run: &Run<S>, event: usize| run.events.get(event).map(|e| (e.call.library, e.call.method));
    let common = |event: &usize| runs.iter().map(|run| method(run, *event)).all_equal();
    let arguments = (0..first.call.args.len()).filter(|i| first.call.args[*i].is_data()).map(Datum::Argument);
    let results = (0..first.events.len()).take_while(common).filter(|event| first.results[*event] != Val::Top);
    let data: Vec<Datum> = arguments.chain(results.map(Datum::Result)).collect();
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
    let pairs = data.iter().copied().tuple_combinations().chain(constants);
    let told = pairs.filter_map(|(one, other)| Some((mixed([one, other])?, (one, other))));
    told.sorted().map(|(_, pair)| pair).take(TRIED).collect()
}

/// The runs in which two data are equal, and those in which they differ.
#[allow(clippy::type_complexity, reason = "two lists of runs")]
fn told_apart<'r, S: Stamp>(runs: &[&'r Run<S>], (one, other): (Datum, Datum)) -> (Vec<&'r Run<S>>, Vec<&'r Run<S>>) {
    runs.iter().copied().partition(|run| run.datum(one) == run.datum(other))
}

/// Why a run does not end with a result.
enum Stop {
    /// It goes on for ever, without a call.
    Never,
    /// The next call can happen in so many ways.
    Open(usize),
    /// It is none that can be looked at.
    No(String),
}

/// Runs a body without loops, but for the one that does nothing for ever.
fn follow(body: &Prog, made: &mut dyn FnMut(&Call) -> Result<Val, Stop>) -> Result<Val, Stop> {
    match body {
        Prog::Val(v) => Ok(*v),
        Prog::Call(call) => made(call),
        Prog::Let(first, rest) => {
            let v = follow(first, made)?;
            follow(&rest(v), made)
        }
        Prog::Loop(round) if matches!(**round, Prog::Val(_)) => Err(Stop::Never),
        Prog::Loop(_) => Err(Stop::No("it has a loop".to_owned())),
        Prog::Break(..) => Err(Stop::No("it breaks out of no loop".to_owned())),
        Prog::Bound => Err(Stop::No("it has a loop that is unrolled".to_owned())),
    }
}

/// The subevents of the event at one position, as they are in all its instances.
fn subevents<S: Stamp>(
    instances: &[Instance<S>],
    event: usize,
    each_event: Option<Nodes>,
    objects: &BTreeSet<Loc>,
    libraries: &Libraries<S>,
) -> Result<(Vec<Segment>, Vec<Role<S>>), String> {
    let lengths: Vec<(&Env, usize)> = instances.iter().map(|(s, subs)| (&s.env, subs.len())).collect();
    let mut why = "how many subevents it has is nothing that depends on the nodes in question".to_owned();
    for segments in segmentations(&lengths) {
        if each_event.is_some() && segments.iter().any(|s| s.each.is_some()) {
            why = "it is there for each node, and each has subevents for each node".to_owned();
            continue;
        }
        let positions: usize = segments.iter().map(|s| s.len).sum();
        let each: Vec<Option<Nodes>> = segments.iter().flat_map(|s| std::iter::repeat_n(s.each, s.len)).collect();
        let mut seen: Vec<Vec<(Seen<S>, Option<usize>)>> = vec![Vec::new(); positions];
        let mut fits = true;
        for (instance, subs) in instances {
            let places = expanded(&segments, &instance.env);
            for (&(position, at), sub) in places.iter().zip(subs) {
                let env = Env { at: at.or(instance.env.at), ..instance.env.clone() };
                let copied = match sub.writes {
                    Some(Writes::Copy(from) | Writes::Step(from)) => {
                        let (from, there) = places[from];
                        fits &= there.is_none() || there == at;
                        Some(from)
                    }
                    _ => None,
                };
                seen[position].push((Seen { sub: *sub, env, ..instance.clone() }, copied));
            }
        }
        if !fits {
            why = "what a subevent copies is read for another node".to_owned();
            continue;
        }
        let all: Result<Vec<Role<S>>, String> = seen
            .into_iter()
            .enumerate()
            .map(|(sub, seen)| role(seen, (event, sub), each[sub].or(each_event), each_event, objects, libraries))
            .collect();
        match all {
            Ok(roles) => return Ok((segments, roles)),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

fn one<T: PartialEq + Clone>(all: impl IntoIterator<Item = T>, what: &str) -> Result<T, String> {
    let mut all = all.into_iter();
    let first = all.next().ok_or_else(|| format!("{what} was never seen"))?;
    if all.all(|other| other == first) { Ok(first) } else { Err(format!("{what} depends on the call")) }
}

fn datum<'a>(cases: impl IntoIterator<Item = (&'a Env, Val)>, objects: &BTreeSet<Loc>) -> Result<Datum, String> {
    match &pattern(cases, objects)?.leaves[..] {
        [Leaf::Datum(datum)] => Ok(*datum),
        other => Err(format!("a datum is {other:?}")),
    }
}

/// Values of several sorts, of which a sum says what it is the sum with.
const READ: [Val; 8] =
    [Val::Int(0), Val::Int(1), Val::Int(-1), Val::Int(41), Val::Int(i64::MAX), Val::Bool(true), Val::Bot, Val::Unit];

/// What is added to what is read, if that is how the events make what they write.
fn added<S: Stamp>(seen: &[&Seen<S>], objects: &BTreeSet<Loc>, libraries: &Libraries<S>) -> Result<Datum, String> {
    let step = |s: &Seen<S>, read| libraries.of(&s.event.call).step(&s.event, read);
    let cases = || seen.iter().filter_map(|s| Some((*s, step(s, Val::Int(0))?)));
    let added = datum(cases().map(|(s, v)| (&s.env, v)), objects)?;
    let is_sum = |(s, v): (&Seen<S>, Val)| {
        let sum = |read: Val| v.int().and_then(|k| read.plus(k));
        READ.into_iter().all(|read| step(s, read) == sum(read))
    };
    let is_none = |s: &&Seen<S>| READ.into_iter().all(|read| step(s, read).is_none());
    let sums = cases().all(is_sum) && seen.iter().filter(|s| step(s, Val::Int(0)).is_none()).all(is_none);
    if sums { Ok(added) } else { Err("what it writes is computed from what it read, and no sum".to_owned()) }
}

/// The role of the subevent at one position, from its instances; with each the position of what it copies.
fn role<S: Stamp>(
    seen: Vec<(Seen<S>, Option<usize>)>,
    position: (usize, usize),
    each: Option<Nodes>,
    each_event: Option<Nodes>,
    objects: &BTreeSet<Loc>,
    libraries: &Libraries<S>,
) -> Result<Role<S>, String> {
    let stamps = seen.iter().map(|(s, _)| {
        let text = s.sub.stamp.to_string();
        let parts =
            text.rsplit_once('_').and_then(|(family, n)| Some((family.to_owned(), Some(n.parse::<u8>().ok()?))));
        (&s.env, parts.unwrap_or((text, None)))
    });
    let stamps: Vec<(&Env, (String, Option<u8>))> = stamps.collect();
    let family = one(stamps.iter().map(|(_, (family, _))| family.clone()), "a stamp")?;
    let nodes: Vec<(&Env, Val)> =
        stamps.iter().filter_map(|(env, (_, n))| Some((*env, Val::Node(Node((*n)?))))).collect();
    let stamp_node = match nodes.len() {
        0 => None,
        n if n == stamps.len() => match &pattern(nodes, objects)?.leaves[..] {
            [leaf] => Some(*leaf),
            _ => return Err(format!("the node of {family} is always the same")),
        },
        _ => return Err(format!("{family} has a node only now and then")),
    };
    let cell = match one(seen.iter().map(|(s, _)| s.sub.cell.is_some()), "whether it touches memory")? {
        false => None,
        true => {
            let cells = seen
                .iter()
                .filter_map(|(s, _)| s.sub.cell.map(|c| (&s.env, Val::tuple(&[Val::Loc(c.loc), Val::Node(c.node)]))));
            Some(pattern(cells, objects)?)
        }
    };
    let reads = match one(seen.iter().map(|(s, _)| s.sub.reads.map(|r| std::mem::discriminant(&r))), "what it reads")? {
        None => None,
        Some(_) => {
            let values = seen.iter().filter_map(|(s, _)| match s.sub.reads? {
                Reads::Is(v) | Reads::IsNot(v) => Some((&s.env, v)),
                Reads::Any => None,
            });
            match seen[0].0.sub.reads {
                Some(Reads::Is(_)) => Some(Read::Is(datum(values, objects)?)),
                Some(Reads::IsNot(_)) => Some(Read::IsNot(datum(values, objects)?)),
                _ => Some(Read::Any),
            }
        }
    };
    let writes =
        match one(seen.iter().map(|(s, _)| s.sub.writes.map(|w| std::mem::discriminant(&w))), "what it writes")? {
            None => None,
            Some(_) => match seen[0].0.sub.writes {
                Some(Writes::Is(_)) => {
                    let values = seen.iter().filter_map(|(s, _)| match s.sub.writes {
                        Some(Writes::Is(v)) => Some((&s.env, v)),
                        _ => None,
                    });
                    Some(Write::Is(datum(values, objects)?))
                }
                Some(Writes::Copy(_)) => {
                    let from = one(seen.iter().map(|(_, copied)| *copied), "what it copies")?;
                    Some(Write::Copy(from.ok_or("it copies nothing")?))
                }
                Some(Writes::Step(_)) => {
                    let from = one(seen.iter().map(|(_, from)| *from), "what it depends on")?;
                    let from = from.ok_or("it depends on nothing")?;
                    let seen: Vec<&Seen<S>> = seen.iter().map(|(s, _)| s).collect();
                    Some(Write::Plus(from, added(&seen, objects, libraries)?))
                }
                None => unreachable!("all of them write"),
            },
        };
    if (reads.is_some() || writes.is_some()) && cell.is_none() {
        return Err("it reads or writes no cell".to_owned());
    }
    let first = &seen[0].0;
    let initials = seen.iter().filter_map(|(s, _)| {
        let cell = s.sub.cell?;
        Some((&s.env, libraries.of(&s.event.call).init(&s.world, cell)))
    });
    // Where it is nothing of the call, nothing is known of it.
    let initial = reads.as_ref().and_then(|_| datum(initials, objects).ok());
    let method = first.event.call.method;
    let library = first.event.call.library;
    Ok(Role {
        name: format!("{method}.{family}"),
        words: format!("{family} of {method}"),
        library,
        position,
        each,
        each_event: each_event.is_some(),
        family,
        stamp_node,
        cell,
        reads,
        writes,
        initial,
        seen: seen.into_iter().map(|(s, _)| s).collect(),
    })
}
