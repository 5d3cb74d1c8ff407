//! Kinds of calls: which subevents a call of a kind has, and what each of them is.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::event::{Call, Event, Sub};
use mowgli_core::ids::Name;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_judge::algebra::SubView;

use crate::pattern::{Argument, Datum, Each, Env, Leaf, Named, Pattern, Place, Segment, Times, expanded, pattern};

/// A subevent as it was seen in a run.
#[derive(Clone)]
pub struct Seen {
    pub(crate) world: Arc<World>,
    pub(crate) event: Event,
    pub(crate) sub: Sub,
    pub(crate) env: Env,
}

/// How many earlier calls are alike, in the views of subevents.
const COUNTS: [usize; 3] = [0, 1_003, 2_017];

/// An event as it was seen, with all its subevents.
pub(crate) type Instance = (Seen, Vec<Sub>);

impl Seen {
    fn view(&self, nth: usize) -> SubView<'_> {
        SubView { world: &self.world, event: &self.event, sub: &self.sub, nth }
    }
}

/// What a subevent of a template reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Read {
    /// This.
    Is(Datum),
    /// The tuple of these.
    Words(Vec<Datum>),
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
    /// The tuple of these; where it reads a tuple too, what follows from that.
    Words(Vec<Datum>),
}

impl Write {
    /// The position, in the same event, of what it depends on.
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

/// A subevent of a template: what it is in every call of the kind.
#[derive(Clone)]
pub struct Role {
    /// Its name, different from all others.
    pub name: String,
    /// Its name for readers.
    pub words: String,
    /// The library of its event.
    pub library: Name,
    /// The position of its event, and its own.
    pub position: (usize, usize),
    /// For each of what there is one; none if there is just one.
    pub each: Option<Each>,
    /// Whether its whole event is there for each of them.
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
    /// Whether its event is of the last round of a loop; what rounds before it read is left out.
    pub in_loop: bool,
    /// Results of earlier calls that the result of its call is greater than, as that ends a loop.
    pub above: Vec<Datum>,
    pub(crate) seen: Vec<Seen>,
}

impl Role {
    /// The events of which it is a subevent, as they were seen, with their worlds.
    pub fn events(&self) -> impl Iterator<Item = (&Arc<World>, &Event)> {
        self.seen.iter().map(|s| (&s.world, &s.event))
    }

    /// Whether it is in a set, if it is so in every run.
    ///
    /// # Errors
    /// If it is in some and not in others.
    pub fn is_in(&self, has: impl Fn(&SubView<'_>) -> bool) -> Result<bool, String> {
        let answers: BTreeSet<bool> = self.seen.iter().flat_map(|s| COUNTS.map(|nth| has(&s.view(nth)))).collect();
        answers.into_iter().exactly_one().map_err(|_| format!("whether {} is in a set depends on the call", self.words))
    }

    /// How many words it reads, if it reads a tuple.
    #[must_use]
    pub fn words_read(&self) -> Option<usize> {
        if let Some(Read::Words(words)) = &self.reads { Some(words.len()) } else { None }
    }

    /// How many words it writes, if it writes a tuple.
    #[must_use]
    pub fn words_written(&self) -> Option<usize> {
        if let Some(Write::Words(words)) = &self.writes { Some(words.len()) } else { None }
    }

    /// Its key, if it has one.
    ///
    /// # Errors
    /// If it is nothing of the call, or there only now and then.
    pub fn key(&self, of: impl Fn(&SubView<'_>) -> Option<Val>) -> Result<Option<Pattern>, String> {
        let mut cases: Vec<(Cow<'_, Env>, Val)> = Vec::new();
        let mut is_without = false;
        for s in &self.seen {
            let keys = COUNTS.map(|nth| of(&s.view(nth)));
            is_without |= keys.contains(&None);
            if let (true, Some(key)) = (keys.iter().all_equal(), keys[0]) {
                cases.push((Cow::Borrowed(&s.env), key));
                continue;
            }
            let counted = |nth| Cow::Owned(Env { nth: Some(nth), ..s.env.clone() });
            cases.extend(COUNTS.iter().zip(keys).filter_map(|(nth, key)| Some((counted(*nth), key?))));
        }
        if cases.is_empty() {
            return Ok(None);
        }
        if is_without {
            return Err(format!("{} has a key only now and then", self.words));
        }
        let objects = self.seen.iter().flat_map(|s| s.world.objects.keys().copied()).collect();
        pattern(cases.iter().map(|(env, key)| (&**env, *key)), &objects)
            .map(Some)
            .map_err(|why| format!("{}: {why}", self.words))
    }
}

/// Calls of one method, with arguments of one form, that take one branch of the body.
#[derive(Clone, Debug)]
pub struct Form {
    /// The method.
    pub method: Name,
    /// What its arguments are.
    pub arguments: Vec<Argument>,
    /// What its data are like.
    pub given: Vec<Guard>,
}

impl Form {
    fn has(&self, call: &Call) -> bool {
        let arguments: Option<Vec<Argument>> = call.args.iter().map(|v| Argument::of(*v).ok()).collect();
        self.method == call.method && arguments.as_ref() == Some(&self.arguments)
    }
}

/// What one kind of call does: the calls of one form, or of several that do the same, where the calls below happen in one of
/// their ways. Every call that returns is of some kind.
#[derive(Clone)]
pub struct Kind {
    /// Its name, different from all others.
    pub name: String,
    /// The calls that are of it.
    pub forms: Vec<Form>,
    /// Which of its calls below happen in which of several ways.
    pub ways: Vec<Way>,
    /// The subevents of its implementation.
    pub concrete: Vec<Role>,
    /// Its own subevents, as its specification says.
    pub abstract_: Vec<Role>,
    /// The calls of its implementation: library, method, and arguments other than sets of nodes.
    pub made: Vec<(Name, Name, Pattern)>,
    pub(crate) events: Vec<Segment>,
    /// For each event of the implementation how its subevents come.
    pub(crate) subs: Vec<Vec<Segment>>,
    pub(crate) promised: Vec<Segment>,
    /// The position of an event after which reads are left out: calls of its method that do nothing else.
    pub(crate) left_out: Option<usize>,
    /// The arguments that are objects in which the threads of all calls take part.
    pub takes_part: Vec<usize>,
}

/// The position of a call below that can happen in several ways, and in which of them it does.
pub type Way = (usize, usize);

/// One subevent of a call: its position in the list of roles, and what it is one of several for.
pub type Placed = (usize, Option<Place>);

impl Kind {
    /// The forms that a call has.
    pub fn forms_of<'k>(&'k self, call: &'k Call) -> impl Iterator<Item = &'k Form> {
        self.forms.iter().filter(|form| form.has(call))
    }

    /// What the data of all its calls are like.
    #[must_use]
    pub fn given(&self) -> &[Guard] {
        if let [form] = &self.forms[..] { &form.given } else { &[] }
    }

    /// The one method of its calls, if there is only one.
    #[must_use]
    pub fn method(&self) -> Option<Name> {
        self.forms.iter().map(|form| form.method).all_equal_value().ok()
    }

    /// The kind in words: its name, and what is special about it.
    #[must_use]
    pub fn words(&self) -> String {
        let ways = self.ways.iter().map(|(event, way)| format!("{} in way {}", self.made[*event].1, way + 1));
        let about = ways.chain(self.given().iter().map(Guard::to_string)).join(", ");
        if about.is_empty() { self.name.clone() } else { format!("{} ({about})", self.name) }
    }

    /// The subevents of the implementation of a call, in order, each with the position of its event in the template.
    #[must_use]
    pub fn concretely(&self, env: &Env) -> Vec<Placed> {
        let role = |event, sub| self.concrete.iter().position(|r| r.position == (event, sub)).expect("a role");
        let of_event = |(event, at): (usize, Option<Place>)| {
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

    /// The arguments of its events that are computed.
    #[must_use]
    pub fn passed(&self) -> BTreeSet<(usize, usize)> {
        let leaves = self.made.iter().flat_map(|(_, _, arguments)| &arguments.leaves);
        let passed =
            |leaf: &Leaf| if let Leaf::Datum(Datum::Passed(event, i)) = leaf { Some((*event, *i)) } else { None };
        leaves.filter_map(passed).collect()
    }

    /// The numbers in the names of its events, and in those of its subevents, that are computed.
    #[must_use]
    pub fn named(&self) -> BTreeSet<Named> {
        let cells = self.concrete.iter().filter_map(|role| role.cell.as_ref());
        let leaves = self.made.iter().map(|(_, _, arguments)| arguments).chain(cells).flat_map(|p| &p.leaves);
        leaves.filter_map(|leaf| if let Leaf::Named(of) = leaf { Some(*of) } else { None }).collect()
    }

    /// Whether something of it is computed, or left out, so that little is known of numbers.
    #[must_use]
    pub fn has_unknowns(&self) -> bool {
        let of_result = self.given().iter().any(|guard| guard.one == Datum::Returned);
        of_result || self.left_out.is_some() || !self.named().is_empty()
    }

    /// Whether it has a loop with effects.
    #[must_use]
    pub fn has_rounds(&self) -> bool {
        self.concrete.iter().any(|r| r.each == Some(Each::Rounds))
    }

    /// Whether it updates a state of several words.
    pub(crate) fn has_words(&self) -> bool {
        self.abstract_.iter().any(|role| role.words_read().is_some())
    }

    /// What it does, whatever the data are.
    pub(crate) fn skeleton(&self) -> Skeleton {
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

    /// Whether the event at a position, and all before it, are there once.
    pub(crate) fn is_once(&self, position: usize) -> bool {
        let mut start = 0;
        self.events.iter().all(|segment| {
            let is_later = start > position;
            start += segment.len;
            is_later || matches!(segment.times, Times::Once | Times::Ended)
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
            Argument::Data | Argument::Tuple(_) | Argument::NoIdentifier => true,
            Argument::Nodes => false,
        };
        let once = self.concrete.iter().filter(|r| r.position.0 == event).all(|r| !r.each_event);
        once && self.forms.iter().all(|form| form.arguments.iter().enumerate().all(is_kept))
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

/// What calls have in common that do the same, whatever their data are.
pub(crate) type Skeleton = (Vec<Segment>, Vec<Vec<Segment>>, Vec<(String, Vec<Leaf>)>, Vec<(String, bool, bool)>);
