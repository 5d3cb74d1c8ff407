//! The language of templates: parts of values in terms of the call, and sets that index events and subevents.

use std::fmt;

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, NodeSet, Tid, Wid};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_judge::ids::Node;

use crate::error::{Refusal, refusal};

/// The form of an argument.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ArgumentForm {
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

impl fmt::Display for ArgumentForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Location => f.write_str("location"),
            Self::Identifier => f.write_str("identifier"),
            Self::NoIdentifier => f.write_str("_"),
            Self::Nodes => f.write_str("nodes"),
            Self::Node => f.write_str("node"),
            Self::Data => f.write_str("value"),
            Self::Tuple(words) => write!(f, "tuple of {words}"),
        }
    }
}

impl ArgumentForm {
    pub(crate) fn of(value: Val) -> Result<Self, Refusal> {
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
            other => Err(refusal!("the argument {other} is neither a name nor a number, nor a tuple of numbers")),
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

impl Each {
    /// True if it may have no element: all but all nodes, because a thread is on one.
    pub(crate) fn may_be_empty(self) -> bool {
        self != Self::Nodes(Nodes { of: Whole::All, but_own: false })
    }

    /// Returns the threads of which it has all the nodes.
    pub(crate) fn threads(self) -> Option<Members> {
        match self {
            Self::Nodes(Nodes { of: Whole::Members(of), but_own: false }) => Some(Members { of, but_first: false }),
            Self::Nodes(Nodes { of: Whole::Others(of), but_own: false }) => Some(Members { of, but_first: true }),
            _ => None,
        }
    }
}

/// An element of an index set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum IndexElement {
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

/// A number in a name that is an argument of an event. It has the positions of the event, of the argument, and of the
/// number in the name.
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
pub(crate) struct Participants {
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
    pub at: Option<IndexElement>,
    pub(crate) args: Vec<Val>,
    pub(crate) homes: Vec<Option<Node>>,
    pub(crate) initial: Vec<Option<Val>>,
    pub(crate) all: NodeSet,
    /// The threads and nodes that take part in the objects that are arguments.
    pub(crate) members: Vec<Participants>,
    /// The result, if it may be computed.
    pub(crate) returned: Option<Val>,
    /// The number of iterations of a loop with effects before the last one, if there is such a loop.
    pub rounds: Option<usize>,
    /// The ways of events in iterations, by position of the event and iteration.
    pub(crate) ways: Vec<((usize, Option<IndexElement>), usize)>,
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
            args: call.args.to_vec(),
            homes: call.args.iter().map(|v| object(v).and_then(|o| o.node)).collect(),
            initial: call.args.iter().map(|v| object(v).map(|o| o.init)).collect(),
            all: world.all_nodes(),
            members: call.args.iter().map(|v| members(world, *v)).collect(),
            returned: None,
            rounds: None,
            ways: Vec::new(),
        }
    }

    pub(crate) fn at(&self, at: Option<IndexElement>) -> Self {
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

    /// Returns the elements of an index set, in order.
    pub(crate) fn places(&self, each: Each) -> Vec<IndexElement> {
        match each {
            Each::Nodes(set) => self.nodes(set).iter().map(IndexElement::Node).collect(),
            Each::Members(Members { of, but_first }) => self.members[of]
                .threads
                .iter()
                .copied()
                .skip(usize::from(but_first))
                .map(IndexElement::Thread)
                .collect(),
            // The end of a loop indexes no segment.
            Each::Ended(_) => Vec::new(),
            Each::Rounds => (0..self.rounds.unwrap_or(0)).map(IndexElement::Round).collect(),
        }
    }

    /// Returns the value of a datum, if it does not depend on events.
    #[must_use]
    pub fn datum(&self, datum: Datum) -> Option<Val> {
        match datum {
            Datum::Argument(i) => Some(self.args[i]),
            Datum::Word(i, word) => word_of(self.args[i], word),
            Datum::Initial(i) => self.initial[i],
            Datum::Constant(value) => Some(value),
            Datum::Returned => self.returned,
            Datum::Result(_) | Datum::Results(..) | Datum::Sum(..) | Datum::Passed(..) => None,
        }
    }

    /// True if a leaf that depends on the call and its index alone stands for this number, object or identifier.
    pub(crate) fn is(&self, leaf: &Leaf, value: Val) -> bool {
        let is_node = |n: Node| value == Val::Int(n.0.into());
        let is_thread = |t: Tid| value == Val::Int(t.0.into());
        match (leaf, self.at) {
            (Leaf::Thread, _) => is_thread(self.thread),
            (Leaf::Own, _) => is_node(self.own),
            (Leaf::At, Some(IndexElement::Node(n))) => is_node(n),
            (Leaf::Member, Some(IndexElement::Thread(t))) => is_thread(t),
            (Leaf::Home(i), _) => self.homes[*i].is_some_and(is_node),
            (Leaf::Node(i), _) => matches!(self.args[*i], Val::Node(n) if is_node(n)),
            (Leaf::Location(i) | Leaf::Identifier(i), _) => self.args[*i] == value,
            (Leaf::At | Leaf::Member | Leaf::Count | Leaf::Named(_) | Leaf::Datum(_), _) => false,
        }
    }
}

/// Returns a word of a tuple.
pub(crate) fn word_of(tuple: Val, word: usize) -> Option<Val> {
    if let Val::Tuple(all) = tuple { all.parts().get(word).copied() } else { None }
}

/// Returns the threads that take part in an object, and their nodes.
fn members(world: &World, object: Val) -> Participants {
    let Some(object) = object.loc().and_then(|x| world.objects.get(&x)) else { return Participants::default() };
    let nodes = |threads: &[Tid]| threads.iter().map(|&t| world.node_of(t)).collect::<NodeSet>();
    let threads = object.members.clone();
    let (first, others) = threads.split_at(threads.len().min(1));
    Participants { nodes: nodes(&threads), first: nodes(first), others: nodes(others), threads }
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
}

/// Returns the text of a value, and its parts. Different values have different texts or parts. The name of a part is
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

/// Returns the pattern of the tuple of values with these patterns.
pub(crate) fn tuple<'p>(parts: impl IntoIterator<Item = &'p Pattern>) -> Pattern {
    let (mut text, mut leaves) = ("(".to_owned(), Vec::new());
    for part in parts {
        text.push_str(&part.text);
        text.push(',');
        leaves.extend(&part.leaves);
    }
    text.push(')');
    Pattern { text, leaves }
}

impl Pattern {
    /// Returns the pattern of the last value of a tuple.
    pub(crate) fn last(&self) -> Self {
        let text = self.text.trim_end_matches(",)");
        let text = text.rsplit_once(',').map_or(text, |(_, last)| last).to_owned();
        let slots = text.matches('#').count();
        Self { text, leaves: self.leaves[self.leaves.len() - slots..].to_vec() }
    }
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

/// Returns the position of the segment with an event or subevent.
pub(crate) fn segment_of(segments: &[Segment], position: usize) -> Option<usize> {
    let mut end = 0;
    segments.iter().position(|segment| {
        end += segment.len;
        position < end
    })
}

/// Returns the positions of a sequence of segments, with their indices.
pub(crate) fn expanded(segments: &[Segment], env: &Env) -> Vec<(usize, Option<IndexElement>)> {
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
