//! Kinds of calls: the subevents of the calls of a kind, and the properties of each subevent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use itertools::Itertools;
use mowgli_core::algebra::{Attribute, Key, Set, SetDefinition};
use mowgli_core::event::Call;
use mowgli_core::ids::{Name, Node};
use mowgli_core::term::shape::Family;

use crate::error::{Refusal, refusal};
use crate::template::pattern::{
    ArgumentForm, Datum, Each, Env, IndexElement, Leaf, Named, Pattern, Segment, Times, expanded, segment_of, tuple,
};

/// The nodes that stand for all others in questions about stamps, which are Rust functions. A stamp order and a set of
/// stamps must be the same for all of these nodes.
pub(crate) const NODES: u8 = 3;

/// The value that a subevent of a template reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Read {
    /// This value.
    Is(Datum),
    /// The tuple of these values.
    Words(Vec<Datum>),
    /// Any value but this one.
    IsNot(Datum),
    /// Any value.
    Any,
}

/// The value that a subevent of a template writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Write {
    /// This value.
    Is(Datum),
    /// The value that the subevent at this position of the same event reads.
    Copy(usize),
    /// The number that the subevent at this position of the same event reads, plus this number.
    Plus(usize, Datum),
    /// The tuple of these values. If the subevent reads a tuple too, a word may depend on it.
    Words(Vec<Datum>),
}

impl Write {
    /// Returns the position in the same event of the subevent on which the written value depends.
    #[must_use]
    pub fn source(&self) -> Option<usize> {
        match self {
            Self::Is(_) | Self::Words(_) => None,
            Self::Copy(from) | Self::Plus(from, _) => Some(*from),
        }
    }
}

/// A comparison of two data of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Guard {
    /// The first datum.
    pub one: Datum,
    /// The second datum.
    pub other: Datum,
    /// True if the data are equal, false if they differ.
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
            Self::Word(i, word) => write!(f, "word {} of argument {}", word + 1, i + 1),
            Self::Results(first, words) => write!(f, "results {} to {}", first + 1, first + words),
            Self::Result(event) => write!(f, "result {}", event + 1),
            Self::Sum(event, k) => write!(f, "result {}{k:+}", event + 1),
            Self::Passed(event, argument) => write!(f, "argument {} of call {}", argument + 1, event + 1),
            Self::Initial(i) => write!(f, "the initial value of argument {}", i + 1),
            Self::Constant(value) => value.fmt(f),
            Self::Returned => f.write_str("what it returns"),
        }
    }
}

/// A subevent of a template: the properties that it has in every call of the kind.
#[derive(Clone)]
pub struct Role {
    /// The name, different from all others.
    pub name: String,
    /// The name for readers.
    pub words: String,
    /// The library of its event.
    pub library: Name,
    /// The method of its event.
    pub method: Name,
    /// The arguments of its event; `None` for sets of nodes.
    pub arguments: Vec<Option<Pattern>>,
    /// The position of its event, and its position in the event.
    pub position: (usize, usize),
    /// The set that indexes it; `None` if there is just one.
    pub each: Option<Each>,
    /// True if the whole event is indexed by the set.
    pub each_event: bool,
    /// The way of its event in which it is there, if the event can happen in a way of its own in each iteration.
    pub way: Option<usize>,
    /// The family of its stamp.
    pub stamps: Family,
    /// The name of the family.
    pub family: String,
    /// The node of the stamp.
    pub stamp_node: Option<Leaf>,
    /// The cell.
    pub cell: Option<Pattern>,
    /// The value that it reads.
    pub reads: Option<Read>,
    /// The value that it writes.
    pub writes: Option<Write>,
    /// The initial value of its cell, if templates have a name for it.
    pub initial: Option<Datum>,
    /// True if its event belongs to the last round of a loop. The template leaves out the reads of earlier rounds.
    pub in_loop: bool,
    /// Results of earlier calls that the result of its call exceeds, because that condition ended a loop.
    pub above: Vec<Datum>,
}

impl Role {
    /// Returns whether it is in a set.
    ///
    /// # Errors
    /// If the set is a Rust function, or has some members of the role and not others.
    pub fn is_in(&self, set: &Set) -> Result<bool, Refusal> {
        Ok(match set.members() {
            SetDefinition::All => true,
            SetDefinition::Reads => self.reads.is_some(),
            SetDefinition::Writes => self.writes.is_some(),
            SetDefinition::Calls(methods) => methods.contains(&self.method.text()),
            SetDefinition::Either(sets) => self.is_in(&sets.0)? || self.is_in(&sets.1)?,
            SetDefinition::Both(sets) => self.is_in(&sets.0)? && self.is_in(&sets.1)?,
            SetDefinition::Named(_, set) => self.is_in(set)?,
            SetDefinition::Where(name, _) | SetDefinition::Ways(name, _) => {
                return Err(refusal!("the set {name} is a Rust function"));
            }
            SetDefinition::Stamped(is) => {
                let nodes = if self.stamp_node.is_some() { 1..=NODES } else { 1..=1 };
                let answers: BTreeSet<bool> = nodes.map(|n| is(self.stamps.of(Node(n)))).collect();
                let torn = || refusal!("whether {} is in a set depends on its node", self.words);
                answers.into_iter().exactly_one().map_err(|_| torn())?
            }
        })
    }

    /// Returns the number of words that it reads, if it reads a tuple.
    #[must_use]
    pub fn words_read(&self) -> Option<usize> {
        if let Some(Read::Words(words)) = &self.reads { Some(words.len()) } else { None }
    }

    /// Returns the number of words that it writes, if it writes a tuple.
    #[must_use]
    pub fn words_written(&self) -> Option<usize> {
        if let Some(Write::Words(words)) = &self.writes { Some(words.len()) } else { None }
    }

    /// Returns its key, if it has one.
    ///
    /// # Errors
    /// If the key is a Rust function.
    pub fn key(&self, key: &Key) -> Result<Option<Pattern>, Refusal> {
        let attributes = key.attributes().ok_or_else(|| refusal!("the key {} is a Rust function", key.name))?;
        let parts: Option<Vec<Pattern>> = attributes.iter().map(|attribute| self.attribute(*attribute)).collect();
        Ok(parts.map(|parts| match &parts[..] {
            [one] => one.clone(),
            all => tuple(all),
        }))
    }

    fn attribute(&self, attribute: Attribute) -> Option<Pattern> {
        let leaf = |text: &str, leaf: Leaf| Pattern { text: text.to_owned(), leaves: vec![leaf] };
        match attribute {
            Attribute::Argument(i) => self.arguments.get(i)?.clone(),
            Attribute::Identifier => self.arguments.iter().flatten().find(|p| p.text.starts_with("wid:")).cloned(),
            Attribute::Thread => Some(leaf("#", Leaf::Thread)),
            Attribute::Count => Some(leaf("#", Leaf::Count)),
            Attribute::Target => self.stamp_node.map(|node| leaf("node:#", node)),
            // The channel is always the same, because templates know no index of a stamp beside its node.
            Attribute::Channel => {
                let channel = self.stamps.first().channel()?;
                Some(Pattern { text: channel.to_string(), leaves: Vec::new() })
            }
            Attribute::Cell => self.cell.clone(),
            Attribute::Place => Some(self.cell.as_ref().map_or_else(|| leaf("node:#", Leaf::Own), Pattern::last)),
        }
    }
}

/// Calls of one method, with arguments of one form, that take one branch of the body.
#[derive(Clone, Debug)]
pub struct CallForm {
    /// The method.
    pub method: Name,
    /// The forms of the arguments.
    pub arguments: Vec<ArgumentForm>,
    /// The guards on the data.
    pub given: Vec<Guard>,
}

impl CallForm {
    fn has(&self, call: &Call) -> bool {
        let arguments: Option<Vec<ArgumentForm>> = call.args.iter().map(|v| ArgumentForm::of(*v).ok()).collect();
        self.method == call.method && arguments.as_ref() == Some(&self.arguments)
    }
}

/// A kind of calls: the calls of one form, or of several forms that do the same, with the same way for each call below.
/// Every call that returns is of some kind.
#[derive(Clone)]
pub struct Kind {
    /// The name, different from all others.
    pub name: String,
    /// The forms of its calls.
    pub forms: Vec<CallForm>,
    /// The ways of its calls below that can happen in several ways.
    pub ways: Vec<CallWay>,
    /// The subevents of its implementation.
    pub concrete: Vec<Role>,
    /// The promises: its own subevents, as its specification says.
    pub abstract_: Vec<Role>,
    /// The calls of its implementation: library, method, and arguments other than sets of nodes.
    pub made: Vec<(Name, Name, Pattern)>,
    pub(crate) events: Vec<Segment>,
    /// For each event of the implementation the segments of its subevents.
    pub(crate) subs: Vec<Vec<Segment>>,
    pub(crate) promised: Vec<Segment>,
    /// The position of an event after which reads are left out. They are calls of the same method.
    pub(crate) left_out: Option<usize>,
    /// The libraries and methods of calls that loops leave out, of which there may be any number.
    pub(crate) looked: BTreeSet<(Name, Name)>,
    /// The arguments that are objects in which the threads of all calls take part.
    pub takes_part: Vec<usize>,
}

/// The position of a call below that can happen in several ways, and the number of its way.
pub type CallWay = (usize, usize);

/// A subevent of a call: its position in the list of roles, and its index.
pub type RoleAt = (usize, Option<IndexElement>);

impl Kind {
    /// Returns the forms that fit a call.
    pub fn forms_of<'k>(&'k self, call: &'k Call) -> impl Iterator<Item = &'k CallForm> {
        self.forms.iter().filter(|form| form.has(call))
    }

    /// Returns the roles of its subevents and of its promises.
    pub(crate) fn roles(&self) -> impl Iterator<Item = &Role> {
        self.concrete.iter().chain(&self.abstract_)
    }

    /// Returns the guards on the data of its calls, if they have one form.
    #[must_use]
    pub fn given(&self) -> &[Guard] {
        if let [form] = &self.forms[..] { &form.given } else { &[] }
    }

    /// Returns the method of its calls, if there is only one.
    #[must_use]
    pub fn method(&self) -> Option<Name> {
        self.forms.iter().map(|form| form.method).all_equal_value().ok()
    }

    /// Describes the kind in words: its name, and its special conditions.
    #[must_use]
    pub fn words(&self) -> String {
        let ways = self.ways.iter().map(|(event, way)| format!("{} in way {}", self.made[*event].1, way + 1));
        let about = ways.chain(self.given().iter().map(Guard::to_string)).join(", ");
        if about.is_empty() { self.name.clone() } else { format!("{} ({about})", self.name) }
    }

    /// Returns the subevents of the implementation of a call, in order.
    #[must_use]
    pub fn concretely(&self, env: &Env) -> Vec<RoleAt> {
        let role = |event, sub| self.concrete.iter().position(|r| r.position == (event, sub)).expect("a role");
        let of_event = |(event, at): (usize, Option<IndexElement>)| {
            let subs = expanded(&self.subs[event], env);
            let subs = subs.into_iter().map(move |(sub, of_sub)| (role(event, sub), at.or(of_sub)));
            subs.filter(|(role, at)| self.is_in_way(*role, *at, env)).collect::<Vec<_>>()
        };
        expanded(&self.events, env).into_iter().flat_map(of_event).collect()
    }

    /// True if the event of a role happens in the way of the role, in this iteration.
    fn is_in_way(&self, role: usize, at: Option<IndexElement>, env: &Env) -> bool {
        let role = &self.concrete[role];
        role.way.is_none_or(|way| env.ways.contains(&((role.position.0, at), way)))
    }

    /// Returns the events that can happen in several ways in each iteration, with the number of ways.
    #[must_use]
    pub fn ways_in_rounds(&self) -> BTreeMap<usize, usize> {
        let mut ways = BTreeMap::new();
        for (role, way) in self.concrete.iter().filter_map(|role| Some((role, role.way?))) {
            let count: &mut usize = ways.entry(role.position.0).or_default();
            *count = (*count).max(way + 1);
        }
        ways
    }

    /// Returns the subevents of a call by its specification, in order.
    #[must_use]
    pub fn abstractly(&self, env: &Env) -> Vec<RoleAt> {
        expanded(&self.promised, env)
    }

    /// Returns the computed arguments of its events.
    #[must_use]
    pub fn passed(&self) -> BTreeSet<(usize, usize)> {
        let leaves = self.made.iter().flat_map(|(_, _, arguments)| &arguments.leaves);
        let passed =
            |leaf: &Leaf| if let Leaf::Datum(Datum::Passed(event, i)) = leaf { Some((*event, *i)) } else { None };
        leaves.filter_map(passed).collect()
    }

    /// Returns the computed numbers in the names of its events and subevents.
    #[must_use]
    pub fn named(&self) -> BTreeSet<Named> {
        let cells = self.concrete.iter().filter_map(|role| role.cell.as_ref());
        let leaves = self.made.iter().map(|(_, _, arguments)| arguments).chain(cells).flat_map(|p| &p.leaves);
        leaves.filter_map(|leaf| if let Leaf::Named(of) = leaf { Some(*of) } else { None }).collect()
    }

    /// True if a part of it is computed or left out, so that little is known of numbers.
    #[must_use]
    pub fn has_unknowns(&self) -> bool {
        let of_result = self.given().iter().any(|guard| guard.one == Datum::Returned);
        of_result || self.left_out.is_some() || !self.named().is_empty()
    }

    /// True if it has a loop with effects.
    #[must_use]
    pub fn has_rounds(&self) -> bool {
        self.concrete.iter().any(|r| r.each == Some(Each::Rounds))
    }

    /// True if it updates a state of several words.
    pub(crate) fn has_words(&self) -> bool {
        self.abstract_.iter().any(|role| role.words_read().is_some())
    }

    /// Returns the parts of it that do not depend on data.
    pub(crate) fn skeleton(&self) -> KindSkeleton {
        let names = |pattern: &Pattern| {
            let leaves = pattern.leaves.iter().filter(|leaf| !matches!(leaf, Leaf::Datum(_)));
            (pattern.text.clone(), leaves.copied().collect())
        };
        let made = self.made.iter().map(|(library, method, arguments)| {
            let (text, leaves): (String, Vec<Leaf>) = names(arguments);
            (format!("{library}.{method}{text}"), leaves)
        });
        let done = |role: &Role| (role.family.clone(), role.reads.is_some(), role.writes.is_some());
        (self.events.clone(), self.subs.clone(), made.collect(), self.concrete.iter().map(done).collect())
    }

    /// True if the event at a position is there once.
    pub(crate) fn is_once(&self, position: usize) -> bool {
        self.segment(position).is_some_and(|segment| matches!(self.events[segment].times, Times::Once | Times::Ended))
    }

    /// Returns the segment of the event at a position.
    fn segment(&self, position: usize) -> Option<usize> {
        segment_of(&self.events, position)
    }

    /// True if two methods are called once each and with equal arguments, or neither is called.
    #[must_use]
    pub fn makes_together(&self, methods: [(Name, Name); 2]) -> bool {
        if methods.iter().any(|of| self.looked.contains(of)) {
            return false;
        }
        let calls = methods
            .map(|of| (0..self.made.len()).filter(|&i| (self.made[i].0, self.made[i].1) == of).collect::<Vec<usize>>());
        let is_alone = |event: usize| self.concrete.iter().all(|r| r.position.0 != event || !r.each_event);
        match [&calls[0][..], &calls[1][..]] {
            [[], []] => true,
            [[one], [other]] => is_alone(*one) && is_alone(*other) && self.made[*one].2 == self.made[*other].2,
            _ => false,
        }
    }

    /// Gives its roles unique names.
    pub(crate) fn name_roles(&mut self) {
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
                    role.words = format!("{} {}", role.words, earlier + 1);
                }
            }
        }
    }

    /// True if the events at two positions are in the same segment.
    #[must_use]
    pub fn go_round_together(&self, a: usize, b: usize) -> bool {
        self.segment(a) == self.segment(b)
    }

    /// True if two calls on one thread are alike exactly if their events at this position are. The event is there once,
    /// and each argument of the call that is a name is an argument of the event.
    #[must_use]
    pub fn is_counted_by(&self, event: usize) -> bool {
        let leaves = &self.made[event].2.leaves;
        let is_kept = |(i, argument): (usize, &ArgumentForm)| match argument {
            ArgumentForm::Location => leaves.contains(&Leaf::Location(i)),
            ArgumentForm::Identifier => leaves.contains(&Leaf::Identifier(i)),
            ArgumentForm::Node => leaves.contains(&Leaf::Node(i)),
            ArgumentForm::Data | ArgumentForm::Tuple(_) | ArgumentForm::NoIdentifier => true,
            ArgumentForm::Nodes => false,
        };
        let once = self.concrete.iter().filter(|r| r.position.0 == event).all(|r| !r.each_event);
        once && self.forms.iter().all(|form| form.arguments.iter().enumerate().all(is_kept))
    }
}

/// The parts that calls have in common if they do the same, whatever their data are.
pub(crate) type KindSkeleton = (Vec<Segment>, Vec<Vec<Segment>>, Vec<(String, Vec<Leaf>)>, Vec<(String, bool, bool)>);
