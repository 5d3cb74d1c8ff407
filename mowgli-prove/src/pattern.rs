//! What stands in templates: parts of values, as they are of a call whatever its thread, node and data are, and what is there
//! for each node of a set.

use std::collections::BTreeSet;
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, NodeSet, Tid, Wid};
use mowgli_core::value::Val;
use mowgli_core::world::World;
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
    pub(crate) fn of(value: Val) -> Result<Self, String> {
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
    /// What the event at this position is given for its argument with this number: it is computed, and nothing else is known of
    /// it.
    Passed(usize, usize),
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
    pub(crate) thread: Tid,
    pub(crate) own: Node,
    /// The node that a subevent is one of several for.
    pub at: Option<Node>,
    pub(crate) nth: Option<usize>,
    pub(crate) args: Vec<Val>,
    pub(crate) homes: Vec<Option<Node>>,
    pub(crate) initial: Vec<Option<Val>>,
    pub(crate) all: NodeSet,
    /// The results of its events, by position in the template; of those for each node there is one that counts.
    pub results: Vec<Val>,
    /// The data that its events are given, by position and number of the argument, where they may be computed.
    pub(crate) passed: Vec<((usize, usize), Val)>,
    pub(crate) computed: Computed,
    /// Data that are equal in all calls of the kind.
    pub(crate) equal: Arc<[(Datum, Datum)]>,
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
            passed: Vec::new(),
            computed: Computed::No,
            equal: Arc::new([]),
        }
    }

    pub(crate) fn at(&self, at: Option<Node>) -> Self {
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
            Datum::Passed(event, argument) => {
                self.passed.iter().find(|(at, _)| *at == (event, argument)).map(|(_, value)| *value)
            }
        }
    }

    /// The sets of nodes that a call can be about.
    fn sets(&self) -> Vec<Nodes> {
        let args = (0..self.args.len()).filter(|&i| self.args[i].nodes().is_some()).map(Some);
        args.chain([None]).flat_map(|of| [false, true].map(|but_own| Nodes { of, but_own })).collect()
    }

    /// What a number can be.
    pub(crate) fn numbers(&self, number: u64) -> Vec<Leaf> {
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
                let passed = self.passed.iter().filter(|(_, v)| v == datum).map(|(at, _)| Datum::Passed(at.0, at.1));
                let data = args.chain(results).chain(initial).chain(passed).map(Leaf::Datum);
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
        Val::Way(w) => text.push_str(w.text()),
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
pub(crate) fn pattern<'a>(
    cases: impl IntoIterator<Item = (&'a Env, Val)>,
    objects: &BTreeSet<Loc>,
) -> Result<Pattern, String> {
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
    let (passed, known): (Vec<Leaf>, Vec<Leaf>) =
        candidates.iter().partition(|leaf| matches!(leaf, Leaf::Datum(Datum::Passed(..))));
    let results = known.iter().copied().filter(|leaf| matches!(leaf, Leaf::Datum(Datum::Result(_))));
    // The first that was given is as good as the others.
    let of_events: Option<Leaf> = passed.first().copied().or(results.min());
    match (all[0].0.computed, of_events) {
        (Computed::Always, Some(leaf)) => return Ok(Ok(leaf)),
        (Computed::Unknown, Some(leaf)) if known.is_empty() && !is_constant => return Ok(Ok(leaf)),
        _ => candidates = known,
    }
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
pub(crate) struct Segment {
    pub each: Option<Nodes>,
    pub len: usize,
}

/// The positions of a sequence of segments, with the nodes that they are for.
pub(crate) fn expanded(segments: &[Segment], env: &Env) -> Vec<(usize, Option<Node>)> {
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
pub(crate) fn segmentations(lengths: &[(&Env, usize)]) -> Vec<Vec<Segment>> {
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

/// Whether a template may say of a datum only that it is what an event is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Computed {
    /// No: more is to be known of it.
    No,
    /// Where nothing else is known of it.
    Unknown,
    /// Wherever it can, so that calls with different data are alike.
    Always,
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
