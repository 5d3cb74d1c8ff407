//! The language of templates: parts of values in terms of the call, and sets that index events and subevents.

use std::collections::BTreeSet;
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, NodeSet, Tid, Wid};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_judge::ids::Node;

/// The form of an argument.
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
    /// A tuple of so many data.
    Tuple(usize),
}

impl Argument {
    pub(crate) fn of(value: Val) -> Result<Self, String> {
        match value {
            Val::Loc(_) => Ok(Self::Location),
            Val::Wid(_) => Ok(Self::Identifier),
            Val::NoWid => Ok(Self::NoIdentifier),
            Val::Nodes(_) => Ok(Self::Nodes),
            Val::Node(_) => Ok(Self::Node),
            Val::Int(_) => Ok(Self::Data),
            Val::Tuple(all) if all.parts().iter().all(|v| matches!(v, Val::Int(_))) => {
                Ok(Self::Tuple(all.parts().len()))
            }
            other => Err(format!("the argument {other} is neither a name nor a number, nor a tuple of numbers")),
        }
    }
}

/// A set of nodes, in terms of the call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Whole {
    /// All nodes.
    All,
    /// The set that is this argument.
    Argument(usize),
    /// The nodes of the threads that take part in the object that is this argument.
    Members(usize),
    /// The node of the first of these threads.
    First(usize),
    /// The nodes of these threads without the first one.
    Others(usize),
}

/// A set of nodes, perhaps without the thread's own node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Nodes {
    /// The set.
    pub of: Whole,
    /// True if the thread's own node is left out.
    pub but_own: bool,
}

/// The threads that take part in the object that is an argument, perhaps without the first one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Members {
    /// The argument.
    pub of: usize,
    /// True if the first one is left out.
    pub but_first: bool,
}

/// A set that indexes events or subevents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Each {
    /// A set of nodes.
    Nodes(Nodes),
    /// The threads that take part in an object.
    Members(Members),
    /// The thread at which a loop through all threads ended, whose last read is the event at this position.
    Ended(usize),
    /// The iterations of a loop with effects, without the last one.
    Rounds,
}

/// An element of an index set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A node.
    Node(Node),
    /// A thread.
    Thread(Tid),
    /// An iteration of a loop, from 0.
    Round(usize),
}

/// A datum, in terms of the call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Datum {
    /// An argument of the call.
    Argument(usize),
    /// The word with this number of an argument that is a tuple.
    Word(usize, usize),
    /// The tuple of this many results, from that of the event at this position on.
    Results(usize, usize),
    /// The result of the event at this position.
    Result(usize),
    /// The result of the event at this position plus this number, or the result itself if it is not a number.
    Sum(usize, i64),
    /// The value of an argument of the event at this position. The body computes it, and nothing else is known of it.
    Passed(usize, usize),
    /// The initial value of the object that is this argument.
    Initial(usize),
    /// This value.
    Constant(Val),
    /// The result of the call. The body computes it, and nothing else is known of it.
    Returned,
}

/// A part of a value, in terms of the call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Leaf {
    /// The thread.
    Thread,
    /// The node of the thread.
    Own,
    /// The node that is the index of the subevent.
    At,
    /// The thread that is the index of the subevent.
    Member,
    /// The node of the object that is this argument.
    Home(usize),
    /// The node that is this argument.
    Node(usize),
    /// The location that is this argument.
    Location(usize),
    /// The identifier that is this argument.
    Identifier(usize),
    /// The number of earlier events of the thread that are like this one.
    Count,
    /// A number in a name. The body computes it, and nothing else is known of it.
    Named(Named),
    /// A datum.
    Datum(Datum),
}

/// A number in a name that is an argument of an event: the positions of the event, of the argument, and of the number
/// in the name.
pub type Named = (usize, usize, usize);

/// A value, in terms of the call: a text, and a leaf for each `#` in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pattern {
    /// The text.
    pub text: String,
    /// The leaves.
    pub leaves: Vec<Leaf>,
}

/// The threads that take part in an object, and their nodes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Company {
    pub threads: Vec<Tid>,
    pub nodes: NodeSet,
    /// The node of the first one.
    pub first: NodeSet,
    /// The nodes of all but the first one.
    pub others: NodeSet,
}

/// The context of a call or subevent: the values that a pattern may refer to.
#[derive(Clone, Debug)]
pub struct Env {
    pub(crate) thread: Tid,
    pub(crate) own: Node,
    /// The index of the subevent.
    pub at: Option<Place>,
    pub(crate) nth: Option<usize>,
    pub(crate) args: Vec<Val>,
    pub(crate) homes: Vec<Option<Node>>,
    pub(crate) initial: Vec<Option<Val>>,
    pub(crate) all: NodeSet,
    /// The threads and nodes that take part in the objects that are arguments.
    pub(crate) members: Vec<Company>,
    /// The results of its events, by position in the template. An event that is indexed by a set has one result that
    /// counts.
    pub results: Vec<Val>,
    /// The arguments of its events that may be computed, by position of the event and of the argument.
    pub(crate) passed: Vec<((usize, usize), Val)>,
    /// The numbers in the names that are arguments of its events, if they may be computed.
    pub(crate) named: Vec<(Named, u64)>,
    /// The result, if it may be computed.
    pub(crate) returned: Option<Val>,
    pub(crate) computed: Computed,
    /// The numbers that may be added to results.
    pub(crate) added: Arc<[i64]>,
    /// The number of iterations of a loop with effects before the last one, if there is such a loop.
    pub rounds: Option<usize>,
    /// Data that are equal in all calls of the kind.
    pub(crate) equal: Arc<[(Datum, Datum)]>,
}

impl Env {
    /// Returns the context of a call in a world.
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
            members: call.args.iter().map(|v| members(world, *v)).collect(),
            results: Vec::new(),
            passed: Vec::new(),
            named: Vec::new(),
            returned: None,
            computed: Computed::No,
            added: ADDED.into(),
            rounds: None,
            equal: Arc::new([]),
        }
    }

    pub(crate) fn at(&self, at: Option<Place>) -> Self {
        Self { at, ..self.clone() }
    }

    /// Returns the members of a set of nodes.
    #[must_use]
    pub fn nodes(&self, set: Nodes) -> NodeSet {
        let all = match set.of {
            Whole::All => self.all,
            Whole::Argument(i) => self.args[i].nodes().unwrap_or_default(),
            Whole::Members(i) => self.members[i].nodes,
            Whole::First(i) => self.members[i].first,
            Whole::Others(i) => self.members[i].others,
        };
        if set.but_own { all.without(self.own) } else { all }
    }

    /// True if the thread takes part in the object that is an argument.
    pub(crate) fn takes_part(&self, argument: usize) -> bool {
        self.members[argument].threads.contains(&self.thread)
    }

    /// Returns the elements of an index set, in order.
    pub(crate) fn places(&self, each: Each) -> Vec<Place> {
        match each {
            Each::Nodes(set) => self.nodes(set).iter().map(Place::Node).collect(),
            Each::Members(Members { of, but_first }) => {
                self.members[of].threads.iter().copied().skip(usize::from(but_first)).map(Place::Thread).collect()
            }
            // The end of a loop indexes no segment.
            Each::Ended(_) => Vec::new(),
            Each::Rounds => (0..self.rounds.unwrap_or(0)).map(Place::Round).collect(),
        }
    }

    /// Returns the value of a datum.
    #[must_use]
    pub fn datum(&self, datum: Datum) -> Option<Val> {
        match datum {
            Datum::Argument(i) => Some(self.args[i]),
            Datum::Word(i, word) => word_of(self.args[i], word),
            Datum::Results(first, words) => self.results.get(first..first + words).map(Val::tuple),
            Datum::Initial(i) => self.initial[i],
            Datum::Constant(value) => Some(value),
            Datum::Result(event) => self.results.get(event).copied(),
            Datum::Sum(event, k) => self.results.get(event).map(|v| v.plus(k).unwrap_or(*v)),
            Datum::Returned => self.returned,
            Datum::Passed(event, argument) => {
                self.passed.iter().find(|(at, _)| *at == (event, argument)).map(|(_, value)| *value)
            }
        }
    }

    /// Returns the sets that may index a part of the call.
    fn sets(&self) -> Vec<Each> {
        let args = || 0..self.args.len();
        let given = args().filter(|&i| self.args[i].nodes().is_some()).map(Whole::Argument);
        let with_members = || args().filter(|&i| !self.members[i].threads.is_empty());
        // If the first thread has a special role, the body may go through the others only.
        let has_roles = self.computed == Computed::Anything;
        let of_members =
            |i: usize| if has_roles { vec![Whole::First(i), Whole::Others(i)] } else { vec![Whole::Members(i)] };
        let nodes = given.chain([Whole::All]).chain(with_members().flat_map(of_members));
        let nodes = nodes.flat_map(|of| [false, true].map(|but_own| Each::Nodes(Nodes { of, but_own })));
        let threads = with_members().map(|of| Each::Members(Members { of, but_first: has_roles }));
        nodes.chain(threads).collect()
    }

    /// Returns the leaves that may stand for a number.
    pub(crate) fn numbers(&self, number: u64) -> Vec<Leaf> {
        let is = |node: Node| u64::from(node.0) == number;
        let mut all = Vec::new();
        all.extend((u64::from(self.thread.0) == number).then_some(Leaf::Thread));
        all.extend(is(self.own).then_some(Leaf::Own));
        all.extend(match self.at {
            Some(Place::Node(n)) if is(n) => Some(Leaf::At),
            Some(Place::Thread(t)) if u64::from(t.0) == number => Some(Leaf::Member),
            _ => None,
        });
        all.extend(self.homes.iter().positions(|home| home.is_some_and(is)).map(Leaf::Home));
        all.extend(self.args.iter().positions(|v| matches!(v, Val::Node(n) if is(*n))).map(Leaf::Node));
        all.extend(self.named.iter().filter(|(_, n)| *n == number).map(|(at, _)| Leaf::Named(*at)));
        all
    }

    /// True if a leaf that is no datum and not computed stands for this number, object or identifier.
    pub(crate) fn is(&self, leaf: &Leaf, value: Val) -> bool {
        let raw = match value {
            Val::Int(number) => number.try_into().map(Raw::Number).ok(),
            Val::Loc(x) => Some(Raw::Object(x)),
            Val::Wid(d) => Some(Raw::Identifier(d)),
            _ => None,
        };
        raw.is_some_and(|raw| self.leaves(&raw).contains(leaf))
    }

    /// Returns the leaves that may stand for a part of a value.
    fn leaves(&self, raw: &Raw) -> Vec<Leaf> {
        match raw {
            Raw::Number(number) => self.numbers(*number),
            Raw::Object(x) => self.args.iter().positions(|v| v.loc() == Some(*x)).map(Leaf::Location).collect(),
            Raw::Identifier(d) => self.args.iter().positions(|v| *v == Val::Wid(*d)).map(Leaf::Identifier).collect(),
            Raw::Datum(datum) => {
                let args = self.args.iter().positions(|v| v == datum && v.is_data()).map(Datum::Argument);
                let words = self
                    .args
                    .iter()
                    .enumerate()
                    .flat_map(|(i, v)| (0..).map_while(move |word| Some((i, word, word_of(*v, word)?))));
                let words = words.filter(|(_, _, v)| v == datum).map(|(i, word, _)| Datum::Word(i, word));
                let results = self.results.iter().positions(|v| v == datum).map(Datum::Result);
                let returned = self.results.iter().enumerate().filter(|(_, v)| **v != Val::Top);
                let sums =
                    returned.cartesian_product(&*self.added).filter(|((_, v), k)| v.plus(**k).unwrap_or(**v) == *datum);
                let sums = sums.map(|((event, _), k)| Datum::Sum(event, *k));
                let initial = self.initial.iter().positions(|v| *v == Some(*datum)).map(Datum::Initial);
                let passed = self.passed.iter().filter(|(_, v)| v == datum).map(|(at, _)| Datum::Passed(at.0, at.1));
                let returned = (self.returned == Some(*datum)).then_some(Datum::Returned);
                let computed = passed.chain(returned);
                let data = args.chain(words).chain(results).chain(sums).chain(initial).chain(computed).map(Leaf::Datum);
                let count = self.nth.is_some_and(|nth| datum.int() == Some(nth as i64));
                let thread = datum.int() == Some(i64::from(self.thread.0));
                data.chain(count.then_some(Leaf::Count)).chain(thread.then_some(Leaf::Thread)).collect()
            }
        }
    }
}

/// Returns a word of a tuple.
pub(crate) fn word_of(tuple: Val, word: usize) -> Option<Val> {
    if let Val::Tuple(all) = tuple { all.parts().get(word).copied() } else { None }
}

/// The numbers that specifications add to a result.
pub(crate) const ADDED: [i64; 2] = [1, -1];

/// Returns the threads that take part in an object, and their nodes.
fn members(world: &World, object: Val) -> Company {
    let Some(object) = object.loc().and_then(|x| world.objects.get(&x)) else { return Company::default() };
    let nodes = |threads: &[Tid]| threads.iter().map(|&t| world.node_of(t)).collect::<NodeSet>();
    let threads = object.members.clone();
    let (first, others) = threads.split_at(threads.len().min(1));
    Company { nodes: nodes(&threads), first: nodes(first), others: nodes(others), threads }
}

/// Returns the numbers in a name, each with its position among the parts of the name.
pub(crate) fn numbers_in(name: Val) -> Vec<(usize, u64)> {
    let mut parts = Vec::new();
    taken_apart(name, &mut String::new(), &mut parts);
    let number = |(slot, part)| if let Raw::Number(number) = part { Some((slot, number)) } else { None };
    parts.into_iter().enumerate().filter_map(number).collect()
}

/// A part of a concrete value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Raw {
    Number(u64),
    Object(Loc),
    Identifier(Wid),
    Datum(Val),
}

impl Raw {
    fn value(self) -> Val {
        match self {
            Self::Number(number) => Val::Int(number.try_into().unwrap_or(i64::MAX)),
            Self::Object(x) => Val::Loc(x),
            Self::Identifier(d) => Val::Wid(d),
            Self::Datum(datum) => datum,
        }
    }

    fn constant(&self) -> Option<String> {
        match self {
            Self::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// Returns the text of a value, and its parts. Different values have different texts or parts: the name of a part is
/// that of its owner with a role, and the numbers in it are read without loss.
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
        Val::Way(w) => text.push_str(w.text()),
        Val::Tuple(all) => {
            text.push('(');
            for part in all.parts() {
                taken_apart(*part, text, parts);
                text.push(',');
            }
            text.push(')');
        }
        Val::Unit | Val::Int(_) | Val::Bool(_) | Val::Bot | Val::Top | Val::Nodes(_) | Val::Thread(_) => {
            text.push('#');
            parts.push(Raw::Datum(value));
        }
    }
}

/// Separates the numbers of a role, without leading zeros, from the rest.
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

/// Returns the one pattern that a value follows in all of these cases.
pub(crate) fn pattern<'a>(
    cases: impl IntoIterator<Item = (&'a Env, Val)>,
    objects: &BTreeSet<Loc>,
) -> Result<Pattern, String> {
    let mut first: Option<String> = None;
    let mut all: Vec<(&Env, Vec<Raw>)> = Vec::new();
    for (env, value) in cases {
        let (mut text, mut parts) = (String::new(), Vec::new());
        taken_apart(value, &mut text, &mut parts);
        // An owner that is a library, and not an object, is a part of the text.
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

/// True if a value follows a pattern. `is` says whether a leaf stands for a number, object, identifier or datum.
pub(crate) fn follows(value: Val, pattern: &Pattern, is: impl Fn(&Leaf, Val) -> bool) -> bool {
    let (mut text, mut parts) = (String::new(), Vec::new());
    taken_apart(value, &mut text, &mut parts);
    let mut leaves = pattern.leaves.iter();
    let mut rest = pattern.text.as_str();
    for (slot, piece) in text.split('#').enumerate() {
        if slot > 0 {
            let part = parts[slot - 1];
            let (is_it, after) = match rest.strip_prefix('#') {
                Some(after) => (leaves.next().is_some_and(|leaf| is(leaf, part.value())), Some(after)),
                None => (true, rest.strip_prefix(&part.value().to_string())),
            };
            let Some(after) = after.filter(|_| is_it) else { return false };
            rest = after;
        }
        let Some(after) = rest.strip_prefix(piece) else { return false };
        rest = after;
    }
    rest.is_empty()
}

/// Returns the leaf that fits one slot in all cases, or the text that the slot always has.
fn leaf(all: &[(&Env, Vec<Raw>)], slot: usize, objects: &BTreeSet<Loc>) -> Result<Result<Leaf, String>, String> {
    let raw = |i: usize| &all[i].1[slot];
    let mut candidates = all[0].0.leaves(raw(0));
    for (env, parts) in &all[1..] {
        let possible = env.leaves(&parts[slot]);
        candidates.retain(|leaf| possible.contains(leaf));
    }
    let is_constant = (1..all.len()).all(|i| raw(i) == raw(0));
    let is_computed = |leaf: &&Leaf| matches!(leaf, Leaf::Datum(Datum::Passed(..) | Datum::Returned) | Leaf::Named(_));
    let (passed, known): (Vec<Leaf>, Vec<Leaf>) = candidates.iter().partition(is_computed);
    let results = known.iter().copied().filter(|leaf| matches!(leaf, Leaf::Datum(Datum::Result(_))));
    // Any of them would do, so take the first.
    let of_events: Option<Leaf> = passed.first().copied().or(results.min());
    match (all[0].0.computed, of_events) {
        (Computed::Always, Some(leaf)) => return Ok(Ok(leaf)),
        (Computed::Anything, Some(leaf)) if known.is_empty() && !is_constant => {
            return Ok(Ok(leaf));
        }
        _ => candidates = known,
    }
    // A sum is used only if no simpler datum fits.
    let is_sum = |leaf: &Leaf| matches!(leaf, Leaf::Datum(Datum::Sum(..)));
    if is_constant || !candidates.iter().all(is_sum) {
        candidates.retain(|leaf| !is_sum(leaf));
    }
    // If an object is always on the own node, use the object's node, as in calls whose objects are on other nodes.
    if candidates.contains(&Leaf::Own) && candidates.iter().any(|leaf| matches!(leaf, Leaf::Home(_))) {
        candidates.retain(|leaf| *leaf != Leaf::Own);
    }
    // Among equal data a constant is best; otherwise either will do.
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
        [one] => Err(format!("{:?} is there in all runs, so nothing tells whether it is {one:?}", raw(0))),
        _ => Err(format!("{:?} can be several things of the call: {candidates:?}", raw(0))),
    }
}

/// Consecutive events or subevents: once, or together for each element of an index set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub times: Times,
    pub len: usize,
}

/// The number of times that a segment occurs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Times {
    /// Once.
    Once,
    /// Once, for the thread at which a loop through all threads ended.
    Ended,
    /// Once, if this set has a node, because a call for an empty set is not made.
    IfAny(Nodes),
    /// Once for each element of this set.
    Each(Each),
}

impl Segment {
    /// Returns the set that indexes it, if there is one.
    pub fn each(&self) -> Option<Each> {
        if let Times::Each(each) = self.times { Some(each) } else { None }
    }
}

impl Env {
    /// Returns how many times a segment occurs.
    fn times(&self, of: Times) -> usize {
        match of {
            Times::Once | Times::Ended => 1,
            Times::IfAny(set) => usize::from(!self.nodes(set).is_empty()),
            Times::Each(each) => self.places(each).len(),
        }
    }
}

/// Returns the positions of a sequence of segments, with their indices.
pub(crate) fn expanded(segments: &[Segment], env: &Env) -> Vec<(usize, Option<Place>)> {
    let mut start = 0;
    let mut all = Vec::new();
    for segment in segments {
        let positions = start..start + segment.len;
        match segment.times {
            Times::Once | Times::Ended | Times::IfAny(_) => {
                all.extend(positions.filter(|_| env.times(segment.times) == 1).map(|p| (p, None)));
            }
            Times::Each(set) => {
                let places = env.places(set);
                all.extend(places.into_iter().flat_map(|at| positions.clone().map(move |p| (p, Some(at)))));
            }
        }
        start += segment.len;
    }
    all
}

/// The maximal number of positions of a template.
const LONGEST: usize = 12;

/// Returns the segmentations that explain the number of subevents of an event in all cases. Segmentations with few
/// indexed segments come first.
pub(crate) fn segmentations(lengths: &[(&Env, usize)]) -> Vec<Vec<Segment>> {
    let Some((env, _)) = lengths.first() else { return Vec::new() };
    let sets: Vec<Times> = env.sets().into_iter().map(Times::Each).collect();
    // The multiplicities of the sets and the length of the sequence: many cases have the same.
    let seen = |(env, len): &(&Env, usize)| (sets.iter().map(|s| env.times(*s)).collect::<Vec<usize>>(), *len);
    let seen: BTreeSet<(Vec<usize>, usize)> = lengths.iter().map(seen).collect();
    let mut all = Vec::new();
    // Choose the sets, at most two. The other segments occur once.
    for chosen in (0..=2).flat_map(|k| (0..sets.len()).combinations(k)) {
        // `multi_cartesian_product` of an empty list yields one empty choice.
        for counts in chosen.iter().map(|_| 1..=4usize).multi_cartesian_product() {
            let times = |of: &[usize]| -> usize { chosen.iter().zip(&counts).map(|(s, k)| of[*s] * k).sum() };
            let once: BTreeSet<Option<usize>> = seen.iter().map(|(of, len)| len.checked_sub(times(of))).collect();
            let Some(Some(once)) = once.iter().exactly_one().ok().copied() else { continue };
            if once + counts.iter().sum::<usize>() <= LONGEST {
                let sets = chosen.iter().map(|s| sets[*s]).zip(counts).collect::<Vec<_>>();
                arrange(once, &sets, &mut Vec::new(), &mut all);
            }
        }
    }
    all
}

fn arrange(once: usize, sets: &[(Times, usize)], so_far: &mut Vec<Segment>, all: &mut Vec<Vec<Segment>>) {
    if once == 0 && sets.iter().all(|(_, k)| *k == 0) {
        all.push(so_far.clone());
        return;
    }
    if once > 0 {
        so_far.push(Segment { times: Times::Once, len: 1 });
        arrange(once - 1, sets, so_far, all);
        so_far.pop();
    }
    for i in 0..sets.len() {
        for len in (1..=sets[i].1).rev() {
            let mut left = sets.to_vec();
            left[i].1 -= len;
            so_far.push(Segment { times: sets[i].0, len });
            arrange(once, &left, so_far, all);
            so_far.pop();
        }
    }
}

/// The condition under which a template may describe a datum only as the argument of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Computed {
    /// Never: the template must say more.
    No,
    /// Whenever possible, so that calls with different data are alike.
    Always,
    /// If nothing else is known of it. Then numbers in names and the result may be computed too.
    Anything,
}

pub(crate) fn datum<'a>(
    cases: impl IntoIterator<Item = (&'a Env, Val)>,
    objects: &BTreeSet<Loc>,
) -> Result<Datum, String> {
    match &pattern(cases, objects)?.leaves[..] {
        [Leaf::Datum(datum)] => Ok(*datum),
        other => Err(format!("a datum is {other:?}")),
    }
}
