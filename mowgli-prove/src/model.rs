//! The theory of all executions of an implementation, and of the promises of its specification.
//!
//! **Computes**: from the kinds of calls (the templates) and the specifications below, a first-order theory. Given g,
//! the map from promises to subevents, also the obligations of LOCO Def. 3.13, conditions 1 to 3.
//!
//! **Invariant**: every axiom holds in every consistent execution of every client, read as a structure: the calls of
//! the client, the subevents of their implementations, and happens-before. So every statement that a solver derives
//! holds in all of these executions. No axiom bounds the number of calls.
//!
//! **Example**: for `slock`, each call is an acquire or a release. An axiom for each role says in which calls its
//! subevent is; another says that each such call has the subevent. `po` is defined: by `po.call` between two calls, and
//! by the positions of the template inside one call.
//!
//! **Correct because**: see `docs/prove.md`, "Why this implies Def. 3.13". The prover reads executions of small clients
//! as structures (`witness.rs`) and evaluates every axiom in each. The test `the_encoding_agrees_with_the_judge`
//! compares the translation of the algebra with the judge.
//!
//! **Cost**: two axioms for each role, and one definition for each of `po`, `to` and each set and key. The definition
//! of `po` has one disjunct for each pair of roles of one kind. The number of calls, threads and nodes does not matter.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::library::Libraries;
use mowgli_core::stamp::Stamp;
use mowgli_core::value::Val;
use mowgli_judge::algebra::{Choice, Key, Set, Spec};

use crate::encode::{Encoding, Law, Partner, Side, encode};
use crate::kind::{Guard, Kind, Read, Role, Write};
use crate::pattern::{Argument, Datum, Each, Leaf, Members, Named, Nodes, Pattern, Whole};
use crate::term::{
    INT, Statement, Term, Theory, all, all_at, and, any, app, choose, equal, implies, not, or, symbol, truth,
};

/// The sort of the subevents of implementations.
pub const SUB: &str = "Sub";
/// The sort of the subevents of calls, as the specification says.
pub const ABS: &str = "Abs";

/// Prefix of the names of assumptions: conditions that clients owe to libraries.
const OWED: &str = "owed.";

/// Returns the name of the library that an encoding belongs to.
fn library(encoding: &Encoding) -> &str {
    let prefix = encoding.side.prefix.as_str();
    prefix.strip_prefix(OWED).unwrap_or(prefix).trim_end_matches('.')
}

/// A statement for the solver to show: `from` implies `to`, in every execution.
#[derive(Clone, Debug)]
pub struct Obligation {
    /// A description in the words of the paper.
    pub name: String,
    /// The constants of the statement, with their sorts.
    pub of: Vec<(String, &'static str)>,
    /// Instances of axioms for these constants: they help a solver, and follow from the theory.
    pub hints: Vec<Term>,
    /// The hypothesis, beside the theory.
    pub from: Term,
    /// The goal.
    pub to: Term,
}

/// The error for specifications with pairs that come in turn.
const COUNTED: &str = "pairs that come in turn are counted, which is not first-order";

/// The order of two families of stamps: for equal nodes, and for different nodes.
type Ordered = (bool, bool);

/// The stamp order, by families.
pub struct Stamps {
    pub(crate) order: BTreeMap<(String, String), Ordered>,
    /// The families, with whether they have a member for each node.
    pub families: Vec<(String, bool)>,
}

impl Stamps {
    /// Returns the order of a set of libraries.
    ///
    /// # Errors
    /// If the order depends on more than whether two nodes are equal.
    pub fn of(libraries: &Libraries) -> Result<Self, String> {
        let named = |stamp: Stamp| {
            let text = stamp.to_string();
            match text.rsplit_once('_').and_then(|(family, n)| Some((family.to_owned(), n.parse::<u8>().ok()?))) {
                Some((family, n)) => (family, Some(n)),
                None => (text, None),
            }
        };
        let all: Vec<(Stamp, (String, Option<u8>))> = libraries.stamps(3).into_iter().map(|s| (s, named(s))).collect();
        let mut order: BTreeMap<(String, String), (Option<bool>, Option<bool>)> = BTreeMap::new();
        for (a, (f, m)) in &all {
            for (b, (g, n)) in &all {
                let known = order.entry((f.clone(), g.clone())).or_default();
                let is = libraries.to(*a, *b);
                let with_nodes = m.is_some() && n.is_some();
                let places = if with_nodes && m != n { [false, true] } else { [true, !with_nodes] };
                for (matters, known) in places.into_iter().zip([&mut known.0, &mut known.1]) {
                    if matters && *known.get_or_insert(is) != is {
                        return Err(format!("whether {f} is before {g} depends on which nodes they are for"));
                    }
                }
            }
        }
        let order = order.into_iter().map(|(k, (x, y))| (k, (x == Some(true), y == Some(true)))).collect();
        let families: BTreeSet<(String, bool)> = all.into_iter().map(|(_, (f, n))| (f, n.is_some())).collect();
        Ok(Self { order, families: families.into_iter().collect() })
    }

    /// Returns the formula "this stamp is before that one".
    fn before(&self, (f, m): (&str, Option<Term>), (g, n): (&str, Option<Term>)) -> Term {
        match self.order.get(&(f.to_owned(), g.to_owned())) {
            None | Some((false, false)) => truth(false),
            Some((true, true)) => truth(true),
            Some((same, _)) => {
                let is_same = equal(m.unwrap_or(truth(true)), n.unwrap_or(truth(true)));
                if *same { is_same } else { not(is_same) }
            }
        }
    }
}

/// The input of a [`Model`].
pub struct Parts<'a> {
    /// The kinds of calls.
    pub kinds: &'a [Kind],
    /// The library with its specification.
    pub specification: &'a Libraries,
    /// The name of the library.
    pub library: Name,
    /// The libraries below.
    pub below: &'a Libraries,
}

/// A subevent or promise that a call may have.
pub struct Thing {
    /// The sort of its term.
    pub sort: &'static str,
    /// The term for it.
    pub thing: Term,
    /// The condition under which the call has it.
    pub given: Term,
    /// The facts about it under this condition.
    pub facts: Term,
    /// The choice that gives it a source, if it is a subevent that reads.
    pub source: Option<String>,
    /// True if it is a subevent that writes.
    pub writes: bool,
}

/// The map g: for each kind and position of a promise, the role of the subevent that stands for the promise.
pub type Concretisation = BTreeMap<(usize, usize), usize>;

/// The theory, except for the part that depends on g.
pub struct Model<'a> {
    /// The kinds of calls and the libraries.
    pub parts: Parts<'a>,
    stamps: Stamps,
    /// The theory of executions of the implementation.
    pub below: Theory,
    /// The specifications below.
    pub lower: Vec<Encoding>,
    upper: Encoding,
    /// The assumptions of the libraries below and of the implemented library, encoded.
    pub owed: Vec<Encoding>,
    /// The constant values in templates.
    pub constants: BTreeSet<Val>,
}

/// The subevents of implementations, or the promises.
struct Family<'a> {
    sort: &'static str,
    shared: &'static str,
    roles: Vec<(&'a Kind, &'a Role)>,
}

/// A role of a kind of call, with one of its patterns.
type Having<'a> = (&'a Kind, &'a Role, Pattern);

fn role_sort(sort: &str) -> &'static str {
    if sort == SUB { "Role" } else { "Promise" }
}

/// Returns the sort of the part of a value that a leaf of a pattern names.
fn sort_of(leaf: Leaf) -> &'static str {
    match leaf {
        Leaf::Thread | Leaf::Member => "Thread",
        Leaf::Own | Leaf::At | Leaf::Home(_) | Leaf::Node(_) => "Node",
        Leaf::Location(_) => "Location",
        Leaf::Identifier(_) => "Identifier",
        Leaf::Count => "Count",
        Leaf::Named(_) | Leaf::Datum(_) => "Value",
    }
}

/// Returns the term for a constant value.
fn value(of: Val) -> Term {
    let Val::Tuple(words) = of else { return symbol(&constant(of)) };
    tuple(words.parts().iter().map(|word| value(*word)))
}

/// Returns the term for the tuple of these values.
fn tuple(words: impl IntoIterator<Item = Term>) -> Term {
    let words: Vec<Term> = words.into_iter().collect();
    app(&format!("{TUPLE}{}", words.len()), &words)
}

/// Prefix of the names of the functions that make tuples.
pub const TUPLE: &str = "tuple.";

/// Returns the name of a constant value.
#[must_use]
pub fn constant(value: Val) -> String {
    let text = value.to_string();
    let text = match text.strip_prefix('-') {
        Some(rest) => format!("minus{rest}"),
        None if value == Val::Unit => "unit".to_owned(),
        None => text,
    };
    format!("value.{}", text.replace(|c: char| !c.is_alphanumeric(), "."))
}

pub(crate) fn own(call: &Term) -> Term {
    app("node", &[app("thread", std::slice::from_ref(call))])
}

pub(crate) fn thread(call: &Term) -> Term {
    app("thread", std::slice::from_ref(call))
}

pub(crate) fn location(i: usize, call: &Term) -> Term {
    app(&format!("location.{i}"), std::slice::from_ref(call))
}

/// Returns the formula "this place is in the index set".
fn in_range(each: Each, call: &Term, place: &Term) -> Term {
    match each {
        Each::Members(Members { of, but_first }) => {
            app(if but_first { OTHER } else { TAKES_PART }, &[location(of, call), place.clone()])
        }
        Each::Ended(event) => equal(place.clone(), ended(event, call)),
        Each::Rounds => app(IS_ROUND, &[call.clone(), place.clone()]),
        Each::Nodes(Nodes { of, but_own }) => {
            let member = match of {
                Whole::All => truth(true),
                Whole::Argument(i) => app(&format!("in.{i}"), &[call.clone(), place.clone()]),
                Whole::Members(i) => app(HAS_MEMBER, &[location(i, call), place.clone()]),
                Whole::First(i) => equal(place.clone(), app(FIRST_AT, &[location(i, call)])),
                Whole::Others(i) => app(HAS_OTHER, &[location(i, call), place.clone()]),
            };
            let other = if but_own { not(equal(place.clone(), own(call))) } else { truth(true) };
            and([member, other])
        }
    }
}

/// The predicate of the threads that take part in an object.
pub const TAKES_PART: &str = "takes.part";
/// The predicate of the nodes with a thread that takes part in an object.
pub const HAS_MEMBER: &str = "has.member";
/// The last thread that takes part in an object.
pub const LAST: &str = "last.member";
/// The predicate of the threads that take part in an object, without the first one.
pub const OTHER: &str = "other.member";
/// The order of these threads.
pub const EARLIER_OTHER: &str = "earlier.other";
/// The predicate of the nodes with one of these threads.
pub const HAS_OTHER: &str = "has.other";
/// The node of the first thread that takes part in an object.
pub const FIRST_AT: &str = "first.at";
/// The function from a call to its result.
pub const RETURNED: &str = "returned";
/// The sort of the iterations of loops with effects.
pub const ROUND: &str = "Round";
/// The predicate of the iterations of a call before the last one.
pub const IS_ROUND: &str = "is.round";
/// The order of iterations.
pub const EARLIER_ROUND: &str = "earlier.round";
/// The iteration that stands for the last one, and for subevents outside loops.
pub const NO_ROUND: &str = "no.round";
/// The order of the threads that take part in an object.
pub const EARLIER: &str = "earlier.member";

/// Returns the sort of the elements of an index set.
fn place_sort(each: Option<Each>) -> &'static str {
    match each {
        Some(Each::Members(_) | Each::Ended(_)) => "Thread",
        Some(Each::Rounds) => ROUND,
        Some(Each::Nodes(_)) | None => "Node",
    }
}

/// Returns the positions of the events at which loops through all threads end, in calls of a kind.
pub(crate) fn ends_of(kind: &Kind) -> Vec<usize> {
    let ended = |r: &Role| if let Some(Each::Ended(event)) = r.each { Some(event) } else { None };
    kind.concrete.iter().filter_map(ended).dedup().collect()
}

/// Returns the index of a role, given the node or thread to use. The index is the call's own node if the role has no
/// index set.
fn place_of(role: &Role, call: &Term, node: &Term, thread: &Term) -> Term {
    match role.each {
        Some(Each::Nodes(_)) => node.clone(),
        Some(Each::Members(_)) => thread.clone(),
        Some(Each::Ended(event)) => ended(event, call),
        Some(Each::Rounds) => symbol(NO_ROUND),
        None => own(call),
    }
}

/// Returns the thread at which a loop of a call ended, by the position of its last read.
pub(crate) fn ended(event: usize, call: &Term) -> Term {
    app(&ended_at(event), std::slice::from_ref(call))
}

/// Returns the name of the function from calls to the threads at which their loops ended.
#[must_use]
pub fn ended_at(event: usize) -> String {
    format!("ended.{event}")
}

/// Returns the term for the subevent or promise of a role.
pub(crate) fn the(role: &Role, call: &Term, place: &Term) -> Term {
    app(&format!("the.{}", role.name), &[call.clone(), place.clone()])
}

/// Returns the name of the function that gives the value of an argument of an event.
#[must_use]
pub fn passed_to(kind: &str, event: usize, argument: usize) -> String {
    format!("passed.{kind}.{event}.{argument}")
}

/// Returns the name of the function that gives a number in the name of an object that is an argument of an event.
#[must_use]
pub fn number_in(kind: &str, (event, argument, slot): Named) -> String {
    format!("named.{kind}.{event}.{argument}.{slot}")
}

/// Returns the name of the function that adds `k` to numbers.
#[must_use]
pub fn plus(k: i64) -> String {
    format!("plus.{}", k.to_string().replace('-', "minus"))
}

/// Returns the name of the function that gives the results of an event.
#[must_use]
pub fn result_of(kind: &str, event: usize) -> String {
    format!("result.{kind}.{event}")
}

impl Family<'_> {
    fn common(&self, name: &str, to: &[Term]) -> Term {
        app(&format!("{}{name}", self.shared), to)
    }

    fn call(&self, s: &Term) -> Term {
        self.common("call", std::slice::from_ref(s))
    }

    /// Returns the index of a subevent of a role.
    fn place(&self, role: &Role, s: &Term) -> Term {
        let of = match place_sort(role.each) {
            "Thread" => "member",
            ROUND => "round",
            _ => "at",
        };
        self.common(of, std::slice::from_ref(s))
    }

    fn is(&self, role: &Role, s: &Term) -> Term {
        equal(self.common("role", std::slice::from_ref(s)), symbol(&role.name))
    }

    /// Returns the term that a leaf of a pattern names, for a subevent.
    fn leaf(&self, kind: &Kind, role: &Role, leaf: Leaf, s: &Term) -> Result<Term, String> {
        if leaf == Leaf::Count {
            return Ok(self.common("nth", std::slice::from_ref(s)));
        }
        leaf_of(kind, role, leaf, &self.call(s), &self.place(role, s))
    }

    /// Returns the formula "the subevent has one of the roles for which `holds` is true".
    fn has_role(&self, s: &Term, holds: impl Fn(&Role) -> Result<bool, String>) -> Result<Term, String> {
        let mut roles = Vec::new();
        for (_, role) in &self.roles {
            if holds(role)? {
                roles.push(self.is(role, s));
            }
        }
        Ok(if roles.len() == self.roles.len() { truth(true) } else { or(roles) })
    }

    /// Returns a term that has, for each of these roles, the value given for it.
    fn by_role(&self, s: &Term, given: Vec<(&Role, Term)>) -> Term {
        let mut groups: Vec<(Term, Vec<Term>)> = Vec::new();
        for (role, term) in given {
            let is = self.is(role, s);
            match groups.iter_mut().find(|(known, _)| *known == term) {
                Some((_, roles)) => roles.push(is),
                None => groups.push((term, vec![is])),
            }
        }
        let mut rest = groups.into_iter().rev();
        let (last, _) = rest.next().expect("some role");
        rest.fold(last, |otherwise, (term, roles)| choose(or(roles), term, otherwise))
    }

    /// Returns the formula "both subevents have a pattern, and these patterns have equal values".
    fn same(&self, of: impl Fn(&Role) -> Result<Option<Pattern>, String>, a: &Term, b: &Term) -> Result<Term, String> {
        let mut classes: BTreeMap<String, Vec<Having<'_>>> = BTreeMap::new();
        for (kind, role) in &self.roles {
            if let Some(pattern) = of(role)? {
                classes.entry(pattern.text.clone()).or_default().push((kind, role, pattern));
            }
        }
        no_confusion(classes.keys())?;
        let mut ways = Vec::new();
        for class in classes.values() {
            let is_in = |s: &Term| or(class.iter().map(|(_, role, _)| self.is(role, s)));
            let mut same = vec![is_in(a), is_in(b)];
            for slot in 0..class[0].2.leaves.len() {
                if class.iter().any(|(_, _, p)| sort_of(p.leaves[slot]) != sort_of(class[0].2.leaves[slot])) {
                    return Err(format!("a number in {} is now a node and now a thread", class[0].2.text));
                }
                let mut sides = Vec::new();
                for s in [a, b] {
                    let leaves = class.iter().map(|(k, r, p)| Ok((*r, self.leaf(k, r, p.leaves[slot], s)?)));
                    sides.push(self.by_role(s, leaves.collect::<Result<_, String>>()?));
                }
                let b = sides.remove(1);
                same.push(equal(sides.remove(0), b));
            }
            ways.push(and(same));
        }
        Ok(or(ways))
    }
}

/// Checks that two different texts cannot become equal, whatever fills their slots.
fn no_confusion<'a>(texts: impl Iterator<Item = &'a String>) -> Result<(), String> {
    // A constant number or owner looks like a slot, because a slot may have the same value.
    let taken = |text: &'a String| (text, text.split(['(', ',']).flat_map(pieces).collect::<Vec<String>>());
    let texts: Vec<(&String, Vec<String>)> = texts.map(taken).collect();
    let may_be = |(a, b): (&String, &String)| {
        a == b || [a, b].iter().all(|piece| varies(piece)) && (a.contains('#') || b.contains('#'))
    };
    for ((one, a), (other, b)) in texts.iter().tuple_combinations() {
        if a.len() == b.len() && a.iter().zip(b).all(may_be) {
            return Err(format!("{one} and {other} may name one thing"));
        }
    }
    Ok(())
}

/// True if a piece of a text is a number or a slot for one.
fn varies(piece: &str) -> bool {
    piece.chars().all(|c| c.is_ascii_digit() || c == '#')
}

/// Splits a text into numbers, slots and the pieces between them.
fn pieces(text: &str) -> Vec<String> {
    let text = match text.split_once(':').and_then(|(sort, name)| Some((sort, name.split_once('.')?))) {
        Some((sort, (_, role))) => format!("{sort}:#.{role}"),
        None => text.to_owned(),
    };
    let groups = text.chars().chunk_by(|c| c.is_ascii_digit() || *c == '#');
    groups.into_iter().map(|(_, group)| group.collect()).collect()
}

/// Returns the term that a leaf of a pattern names, for a call and the index of a subevent.
fn leaf_of(kind: &Kind, role: &Role, leaf: Leaf, call: &Term, at: &Term) -> Result<Term, String> {
    let of_call = |name: String| app(&name, std::slice::from_ref(call));
    Ok(match leaf {
        Leaf::Thread => app("thread", std::slice::from_ref(call)),
        Leaf::Own => own(call),
        Leaf::At | Leaf::Member => at.clone(),
        Leaf::Home(i) => app("home", &[of_call(format!("location.{i}"))]),
        Leaf::Node(i) => of_call(format!("node.{i}")),
        Leaf::Location(i) => of_call(format!("location.{i}")),
        Leaf::Identifier(i) => of_call(format!("identifier.{i}")),
        Leaf::Count => return Err(format!("{} is counted where it cannot be", role.words)),
        Leaf::Named(of) => {
            let place = place_of_event(kind, role, of.0, call, at)?;
            app(&number_in(&kind.name, of), &[call.clone(), place])
        }
        Leaf::Datum(datum) => datum_of(kind, role, datum, call, at)?,
    })
}

/// Returns the index of an event: the call's own node, or the index of the subevent that speaks of the event.
fn place_of_event(kind: &Kind, role: &Role, event: usize, call: &Term, at: &Term) -> Result<Term, String> {
    let several = kind.concrete.iter().any(|r| r.position.0 == event && r.each_event);
    let is_own = role.each_event && role.position.0 == event;
    match (several, is_own) {
        (false, _) => Ok(own(call)),
        (true, true) => Ok(at.clone()),
        (true, false) => Err(format!("{} uses one of several results", role.words)),
    }
}

pub(crate) fn datum_of(kind: &Kind, role: &Role, datum: Datum, call: &Term, at: &Term) -> Result<Term, String> {
    let of_call = |name: String| app(&name, std::slice::from_ref(call));
    Ok(match datum {
        Datum::Argument(i) => of_call(format!("datum.{i}")),
        Datum::Word(i, word) => of_call(format!("datum.{i}.{word}")),
        Datum::Initial(i) => app("init", &[of_call(format!("location.{i}"))]),
        Datum::Constant(of) => value(of),
        Datum::Returned => of_call(RETURNED.to_owned()),
        Datum::Results(first, words) => {
            let words = (first..first + words).map(|event| datum_of(kind, role, Datum::Result(event), call, at));
            tuple(words.collect::<Result<Vec<_>, _>>()?)
        }
        Datum::Result(event) | Datum::Sum(event, _) | Datum::Passed(event, _) => {
            let place = place_of_event(kind, role, event, call, at)?;
            let name = match datum {
                Datum::Passed(_, argument) => passed_to(&kind.name, event, argument),
                _ => result_of(&kind.name, event),
            };
            let result = app(&name, &[call.clone(), place]);
            if let Datum::Sum(_, k) = datum { app(&plus(k), &[result]) } else { result }
        }
    })
}

/// Returns the formula "the data of the call satisfy the guard".
fn guarded(kind: &Kind, guard: Guard, call: &Term) -> Term {
    let of_call = |name: String| app(&name, std::slice::from_ref(call));
    let result = |event| app(&result_of(&kind.name, event), &[call.clone(), own(call)]);
    let term = |datum| match datum {
        Datum::Argument(i) => of_call(format!("datum.{i}")),
        Datum::Word(i, word) => of_call(format!("datum.{i}.{word}")),
        Datum::Result(event) => result(event),
        Datum::Results(first, words) => tuple((first..first + words).map(result)),
        Datum::Sum(event, k) => app(&plus(k), &[result(event)]),
        Datum::Passed(event, argument) => app(&passed_to(&kind.name, event, argument), &[call.clone(), own(call)]),
        Datum::Initial(i) => app("init", &[of_call(format!("location.{i}"))]),
        Datum::Constant(of) => value(of),
        Datum::Returned => of_call(RETURNED.to_owned()),
    };
    let same = equal(term(guard.one), term(guard.other));
    if guard.are_equal { same } else { not(same) }
}

/// Returns the data of a role.
pub(crate) fn data_of(role: &Role) -> impl Iterator<Item = Datum> + '_ {
    let read = match &role.reads {
        Some(Read::Is(d) | Read::IsNot(d)) => std::slice::from_ref(d),
        Some(Read::Words(all)) => all,
        Some(Read::Any) | None => &[],
    };
    let write = match &role.writes {
        Some(Write::Is(d) | Write::Plus(_, d)) => std::slice::from_ref(d),
        Some(Write::Words(all)) => all,
        Some(Write::Copy(_)) | None => &[],
    };
    read.iter().chain(write).copied().chain(role.initial)
}

/// Returns the data of the guards of a kind.
pub(crate) fn guards_of(kind: &Kind) -> impl Iterator<Item = Datum> + '_ {
    kind.given().iter().flat_map(|g| [g.one, g.other])
}

/// Returns the constants among data; for tuples, their words.
fn constants(data: impl Iterator<Item = Datum>) -> impl Iterator<Item = Val> {
    data.flat_map(|datum| match datum {
        Datum::Constant(Val::Tuple(words)) => words.parts().to_vec(),
        Datum::Constant(value) => vec![value],
        _ => Vec::new(),
    })
}

impl<'a> Model<'a> {
    /// Builds the theory of the executions of an implementation.
    ///
    /// # Errors
    /// If a specification or a template says something that first-order logic cannot express.
    pub fn new(parts: Parts<'a>) -> Result<Self, String> {
        let stamps = Stamps::of(parts.below)?;
        let several = parts.below.names().count() > 1;
        let side = |name: Name| Side {
            sort: SUB,
            prefix: format!("{name}."),
            shared: "",
            own: several.then(|| format!("of.{name}")),
        };
        let encoded = |name: Name| {
            let spec = parts.below.spec(name).expect("a name of the set");
            let encoding = encode(spec, side(name)).map_err(|why| format!("{name}: {why}"))?;
            if encoding.turns.is_empty() { Ok(encoding) } else { Err(format!("{name}: {COUNTED}")) }
        };
        let lower = parts.below.names().map(encoded).collect::<Result<Vec<_>, _>>()?;
        if parts.kinds.iter().flat_map(|k| &k.concrete).any(|r| r.in_loop) {
            let negative = parts.below.names().find(|name| parts.below.spec(*name).is_some_and(Spec::denies_a_path));
            if let Some(name) = negative {
                return Err(format!("{name} says that there is no path, and what a loop has read might be on one"));
            }
        }
        let spec = parts.specification.spec(parts.library).ok_or("there is no specification")?;
        let side = Side { sort: ABS, prefix: format!("{}.", parts.library), shared: "abs.", own: None };
        let upper = encode(spec, side).map_err(|why| format!("{}: {why}", parts.library))?;
        if !upper.turns.is_empty() {
            return Err(format!("{}: {COUNTED}", parts.library));
        }
        let roles = parts.kinds.iter().flat_map(|k| k.concrete.iter().chain(&k.abstract_));
        let guards = parts.kinds.iter().flat_map(|k| k.given()).flat_map(|g| [g.one, g.other]);
        let constants = constants(roles.flat_map(data_of).chain(guards)).collect();
        let below = parts.below.names().map(|name| (name, parts.below, SUB, ""));
        let owed = below.chain([(parts.library, parts.specification, ABS, "abs.")]);
        let owed = owed.filter_map(|(name, libraries, sort, shared)| {
            let own = (several && sort == SUB).then(|| format!("of.{name}"));
            let side = Side { sort, prefix: format!("{OWED}{name}."), shared, own };
            Some(encode(&libraries.get(name)?.owed()?, side).map_err(|why| format!("what {name} is owed: {why}")))
        });
        let owed = owed.collect::<Result<Vec<_>, _>>()?;
        let mut model = Self { parts, stamps, below: Theory::default(), lower, upper, owed, constants };
        model.below = model.executions()?;
        Ok(model)
    }

    fn concrete(&self) -> Family<'a> {
        let roles = self.parts.kinds.iter().flat_map(|k| k.concrete.iter().map(move |r| (k, r))).collect();
        Family { sort: SUB, shared: "", roles }
    }

    fn promises(&self) -> Family<'a> {
        let roles = self.parts.kinds.iter().flat_map(|k| k.abstract_.iter().map(move |r| (k, r))).collect();
        Family { sort: ABS, shared: "abs.", roles }
    }

    /// Returns the formula "the call is of this kind".
    #[must_use]
    pub fn is_kind(&self, kind: &Kind, call: &Term) -> Term {
        if self.parts.kinds.len() == 1 {
            return truth(true);
        }
        equal(app("kind", std::slice::from_ref(call)), symbol(&format!("kind.{}", kind.name)))
    }

    /// Returns for each choice below a formula that holds of each of its pairs: the goal of its first law.
    #[must_use]
    pub fn typed(&self) -> BTreeMap<String, Term> {
        let laws = self.lower.iter().flat_map(|e| e.choices.iter().zip(&e.laws));
        laws.map(|((name, _), laws)| (name.clone(), laws[0].to.clone())).collect()
    }

    /// Returns the promises of a call of a kind, and its subevents whose roles satisfy `is_named`, for the given nodes,
    /// threads and iterations.
    #[must_use]
    pub fn things(
        &self,
        call: &Term,
        k: usize,
        places: [&[Term]; 3],
        with_promises: bool,
        is_named: &dyn Fn(&Role) -> bool,
    ) -> Vec<Thing> {
        let [nodes, threads, rounds] = places;
        let kind = &self.parts.kinds[k];
        let here = [own(call)];
        let mut things = Vec::new();
        for (family, roles) in [(self.concrete(), &kind.concrete), (self.promises(), &kind.abstract_)] {
            for role in roles.iter().filter(|r| if family.sort == SUB { is_named(r) } else { with_promises }) {
                let places = match role.each {
                    Some(Each::Nodes(_)) => nodes,
                    Some(Each::Members(_)) => threads,
                    Some(Each::Ended(event)) => &[ended(event, call)],
                    Some(Each::Rounds) => rounds,
                    None => &here,
                };
                for at in places {
                    let thing = the(role, call, at);
                    let facts = and(self.made_of(&family, role, &thing, call, at));
                    let is_read = role.reads.is_some() && family.sort == SUB;
                    things.push(Thing {
                        sort: family.sort,
                        thing,
                        given: self.valid(kind, role, call, at),
                        facts,
                        source: is_read.then(|| self.reads_from(role.library)).flatten(),
                        writes: role.writes.is_some() && family.sort == SUB,
                    });
                }
            }
        }
        things
    }

    /// Returns the facts "this subevent has this role, belongs to this call and has this index".
    fn made_of(&self, family: &Family<'_>, role: &Role, it: &Term, call: &Term, at: &Term) -> Vec<Term> {
        let mut facts = vec![family.is(role, it), equal(family.call(it), call.clone())];
        facts.push(equal(family.place(role, it), at.clone()));
        // A sort of index that the role does not use gets a fixed value of the call, so that the subevent is
        // determined.
        if family.sort == SUB {
            let sort = place_sort(role.each);
            let is = |of: &str, what: Term| equal(family.common(of, std::slice::from_ref(it)), what);
            facts.extend((sort != "Node").then(|| is("at", own(call))));
            facts.extend((sort != "Thread" && self.has_members()).then(|| is("member", thread(call))));
            facts.extend((sort != ROUND && self.has_rounds()).then(|| is("round", symbol(NO_ROUND))));
        }
        facts
    }

    /// True if a role is indexed by the threads that take part in an object.
    #[must_use]
    pub fn has_members(&self) -> bool {
        let is_of_threads = |r: &Role| place_sort(r.each) == "Thread";
        self.parts.kinds.iter().flat_map(|k| &k.concrete).any(is_of_threads)
    }

    /// True if a role is indexed by the iterations of a loop.
    #[must_use]
    pub fn has_rounds(&self) -> bool {
        self.parts.kinds.iter().any(Kind::has_rounds)
    }

    /// Returns the formula "the call has a subevent of this role with this index".
    #[must_use]
    pub fn valid(&self, kind: &Kind, role: &Role, call: &Term, place: &Term) -> Term {
        let at = match role.each {
            Some(each) => in_range(each, call, place),
            None => equal(place.clone(), own(call)),
        };
        and([self.is_kind(kind, call), at])
    }

    fn executions(&self) -> Result<Theory, String> {
        let mut theory = Theory::default();
        self.clients(&mut theory);
        theory.comment("The subevents of the implementations of the calls.");
        let concrete = self.concrete();
        self.subevents(&mut theory, &concrete);
        self.program_order(&mut theory, &concrete);
        self.counts(&mut theory, &concrete);
        self.shared(&mut theory, &concrete)?;
        self.libraries(&mut theory, &concrete)?;
        for encoding in &self.lower {
            theory.comment(&format!("The consistency predicate of {}.", library(encoding)));
            self.vocabulary(&mut theory, &concrete, encoding)?;
            for (name, _) in &encoding.choices {
                theory.function(name, &[SUB, SUB], "Bool");
            }
            theory.0.extend(encoding.relations.0.iter().cloned());
            let laws = encoding.of_closures().into_iter().chain(encoding.laws.iter().flatten().cloned());
            for law in laws.chain(encoding.demanded()) {
                theory.axiom(&law.words, law.closed(SUB));
            }
        }
        if self.speaks_of_owed() {
            self.promises_of(&mut theory)?;
            self.given_by_clients(&mut theory)?;
        }
        theory.comment("Happens-before: any transitive, irreflexive relation above ppo and so.");
        let [a, b] = ["a", "b"].map(symbol);
        let hb = |a: &Term, b: &Term| app("hb", &[a.clone(), b.clone()]);
        let pair = [("a", SUB), ("b", SUB)];
        let parts = self.lower.iter().flat_map(|e| &e.so).map(|(_, predicate)| predicate.as_str());
        for predicate in ["ppo"].into_iter().chain(parts) {
            let edge = app(predicate, &[a.clone(), b.clone()]);
            theory.axiom(&format!("hb has {predicate}"), all(&pair, implies(edge, hb(&a, &b))));
        }
        let c = symbol("c");
        let path = and([hb(&a, &b), hb(&b, &c)]);
        theory.axiom("hb is transitive", all(&[("a", SUB), ("b", SUB), ("c", SUB)], implies(path, hb(&a, &c))));
        theory.axiom("hb is irreflexive", all(&[("a", SUB)], not(hb(&a, &a))));
        Ok(theory)
    }

    /// Defines the predicate of the subevents of each library below, where there are others.
    fn libraries(&self, theory: &mut Theory, concrete: &Family<'_>) -> Result<(), String> {
        for encoding in &self.lower {
            if let Some(own) = &encoding.side.own {
                let of = concrete.has_role(&symbol("s"), |r| Ok(r.library.text() == library(encoding)))?;
                theory.define(own, &[("s", SUB)], "Bool", of);
            }
        }
        Ok(())
    }

    /// Returns the theory of calls and their subevents with the assumptions of the implemented library. Also returns
    /// the obligations that the implementation satisfies the assumptions of the libraries below. The theory has no
    /// consistency predicate, because a library below guarantees it only if its assumptions hold.
    ///
    /// # Errors
    /// If an assumption or a template says something that first-order logic cannot express.
    pub fn owing(&self) -> Result<(Theory, Vec<Obligation>), String> {
        let mut theory = Theory::default();
        let concrete = self.concrete();
        self.clients(&mut theory);
        self.subevents(&mut theory, &concrete);
        self.program_order(&mut theory, &concrete);
        self.shared(&mut theory, &concrete)?;
        self.libraries(&mut theory, &concrete)?;
        self.promises_of(&mut theory)?;
        self.given_by_clients(&mut theory)?;
        let mut obligations = Vec::new();
        for encoding in self.owed.iter().filter(|e| e.side.sort == SUB) {
            theory.comment(&format!("What {} is owed.", library(encoding)));
            self.vocabulary(&mut theory, &concrete, encoding)?;
            theory.0.extend(encoding.relations.0.iter().cloned());
            let said = encoding.demands.iter().map(|(name, ..)| *name);
            for ((law, partner), name) in encoding.demanded().into_iter().zip(&encoding.partners).zip(said) {
                if let Some(partner) = partner {
                    obligations.push(self.partnered(library(encoding), name, partner));
                } else {
                    let of = law.of.iter().map(|v| ((*v).to_owned(), SUB)).collect();
                    let name = format!("{} is owed: {}", library(encoding), law.words);
                    let (from, to) = (law.from.clone(), law.to.clone());
                    obligations.push(Obligation { name, of, hints: Vec::new(), from, to });
                }
            }
        }
        Ok((theory, obligations))
    }

    /// True if the theory of executions has the assumptions on clients. A loop that waits needs them: it waits for an
    /// owed call.
    pub(crate) fn speaks_of_owed(&self) -> bool {
        let has_loops = self.parts.kinds.iter().flat_map(|k| &k.concrete).any(|r| r.in_loop);
        has_loops && self.owed.iter().any(|e| e.side.sort == ABS)
    }

    /// Adds the assumptions of the implemented library as axioms.
    fn given_by_clients(&self, theory: &mut Theory) -> Result<(), String> {
        let promises = self.promises();
        for encoding in self.owed.iter().filter(|e| e.side.sort == ABS) {
            theory.comment(&format!("What {} is owed, and given.", library(encoding)));
            self.vocabulary(theory, &promises, encoding)?;
            theory.0.extend(encoding.relations.0.iter().cloned());
            for (law, partner) in encoding.demanded().into_iter().zip(&encoding.partners) {
                if partner.is_none() {
                    theory.axiom(&law.words, law.closed(ABS));
                }
            }
            for (mate, partner) in self.mates() {
                theory.function(&mate, &[ABS], ABS);
                let a = symbol("a");
                let has = partner.is(&a, &app(&mate, std::slice::from_ref(&a)));
                let given = app(&partner.of, std::slice::from_ref(&a));
                theory.axiom("each has its partner", all(&[("a", ABS)], implies(given, has)));
            }
        }
        Ok(())
    }

    /// Returns the formula "clients owe these two calls to each other", if clients owe any.
    pub(crate) fn partners(&self, (k, c): (&Kind, Term), (l, d): (&Kind, Term)) -> Option<Term> {
        let promises = |kind: &Kind, call: &Term| {
            kind.abstract_.iter().filter(|r| r.each.is_none()).map(|r| the(r, call, &own(call))).collect::<Vec<Term>>()
        };
        let pairs = promises(k, &c).into_iter().cartesian_product(promises(l, &d)).collect::<Vec<_>>();
        let mates = self.mates();
        let ways = mates.iter().flat_map(|(_, partner)| {
            pairs.iter().map(|(a, b)| and([app(&partner.of, std::slice::from_ref(a)), partner.is(a, b)]))
        });
        let ways: Vec<Term> = ways.collect();
        (self.speaks_of_owed() && !ways.is_empty()).then(|| or(ways))
    }

    /// Returns the functions from promises to the partners that clients owe them.
    #[must_use]
    pub fn mates(&self) -> Vec<(String, Partner)> {
        let given = self.owed.iter().filter(|e| e.side.sort == ABS).flat_map(|e| e.partners.iter().flatten());
        given.enumerate().map(|(i, partner)| (format!("mate.{i}"), partner.clone())).collect()
    }

    /// Returns the obligation that each subevent has its partner: in the same call, or in the call of a partner of one
    /// of its promises.
    fn partnered(&self, of: &str, words: &str, partner: &Partner) -> Obligation {
        let (concrete, promises) = (self.concrete(), self.promises());
        let a = symbol("a");
        let call = concrete.call(&a);
        let promised = promises.roles.iter().map(|(_, r)| the(r, &call, &own(&call)));
        let mates = self.mates();
        let mates = promised.cartesian_product(&mates).map(|(promise, (mate, _))| app(mate, &[promise]));
        let calls: Vec<Term> = mates.map(|mate| promises.call(&mate)).chain([call.clone()]).collect();
        let roles = concrete.roles.iter().filter(|(_, r)| r.library.text() == of && r.each.is_none());
        let there = roles
            .cartesian_product(&calls)
            .map(|((kind, role), call)| and([self.is_kind(kind, call), partner.is(&a, &the(role, call, &own(call)))]));
        Obligation {
            name: format!("{of} is owed: {words}"),
            of: vec![("a".to_owned(), SUB)],
            hints: Vec::new(),
            from: app(&partner.of, std::slice::from_ref(&a)),
            to: or(there),
        }
    }

    /// Declares calls, threads, nodes and arguments.
    fn clients(&self, theory: &mut Theory) {
        theory.comment("Clients: calls of any number of threads on any number of nodes.");
        for sort in ["Call", "Thread", "Node", "Location", "Identifier", "Value", SUB, ABS] {
            theory.sort(sort);
        }
        if self.count_sort() != INT {
            theory.sort(self.count_sort());
        }
        if self.has_rounds() {
            Self::rounds_of_loops(theory);
        }
        theory.elements("Kind", self.parts.kinds.iter().map(|k| format!("kind.{}", k.name)));
        theory.function("kind", &["Call"], "Kind");
        theory.function("thread", &["Call"], "Thread");
        theory.function("node", &["Thread"], "Node");
        theory.function("home", &["Location"], "Node");
        theory.function("init", &["Location"], "Value");
        let forms = || self.parts.kinds.iter().flat_map(|k| &k.forms);
        let most = forms().map(|f| f.arguments.len()).max().unwrap_or(0);
        for i in 0..most {
            let has = |argument| forms().any(|f| f.arguments.get(i) == Some(&argument));
            for (argument, name, sort) in [
                (Argument::Location, "location", "Location"),
                (Argument::Identifier, "identifier", "Identifier"),
                (Argument::Node, "node", "Node"),
                (Argument::Data, "datum", "Value"),
            ] {
                if has(argument) {
                    theory.function(&format!("{name}.{i}"), &["Call"], sort);
                }
            }
            if has(Argument::Nodes) {
                theory.function(&format!("in.{i}"), &["Call", "Node"], "Bool");
            }
            let tuple = |argument: &Argument| if let Argument::Tuple(words) = argument { *words } else { 0 };
            let words = forms().filter_map(|f| f.arguments.get(i)).map(tuple).max().unwrap_or(0);
            for word in 0..words {
                theory.function(&format!("datum.{i}.{word}"), &["Call"], "Value");
            }
        }
        for kind in self.parts.kinds {
            let sort = |event: usize| {
                let of_event = kind.concrete.iter().find(|r| r.position.0 == event && r.each_event);
                place_sort(of_event.and_then(|r| r.each))
            };
            let events: BTreeSet<usize> = kind.concrete.iter().map(|r| r.position.0).collect();
            for event in events {
                theory.function(&result_of(&kind.name, event), &["Call", sort(event)], "Value");
            }
            for (event, argument) in kind.passed() {
                theory.function(&passed_to(&kind.name, event, argument), &["Call", sort(event)], "Value");
            }
            for named in kind.named() {
                theory.function(&number_in(&kind.name, named), &["Call", sort(named.0)], "Value");
            }
        }
        for event in self.parts.kinds.iter().flat_map(ends_of).collect::<BTreeSet<usize>>() {
            theory.function(&ended_at(event), &["Call"], "Thread");
        }
        if self.speaks_of_returned() {
            theory.function(RETURNED, &["Call"], "Value");
        }
        for value in &self.constants {
            theory.function(&constant(*value), &[], "Value");
        }
        for (one, other) in self.constants.iter().tuple_combinations() {
            let [a, b] = [one, other].map(|v| symbol(&constant(*v)));
            theory.axiom(&format!("{one} is not {other}"), not(equal(a, b)));
        }
        if self.sums() {
            theory.comment("Sums, and which values have one.");
            theory.function("plus", &["Value", "Value"], "Value");
            theory.function("have.sum", &["Value", "Value"], "Bool");
        }
        for n in self.sizes() {
            theory.function(&format!("{TUPLE}{n}"), &vec!["Value"; n], "Value");
        }
        let c = symbol("c");
        for kind in self.parts.kinds.iter().filter(|k| !k.given().is_empty()) {
            let given = and(kind.given().iter().map(|guard| guarded(kind, *guard, &c)));
            let words = format!("what the data of {} are like", kind.words());
            theory.axiom(&words, all(&[("c", "Call")], implies(self.is_kind(kind, &c), given)));
        }
        theory.function("nth.call", &["Call"], self.count_sort());
        theory.function("po.call", &["Call", "Call"], "Bool");
        let [a, b, c] = ["a", "b", "c"].map(symbol);
        let po = |a: &Term, b: &Term| app("po.call", &[a.clone(), b.clone()]);
        let thread = |a: &Term| app("thread", std::slice::from_ref(a));
        let same = equal(thread(&a), thread(&b));
        let two = [("a", "Call"), ("b", "Call")];
        theory.axiom("po is irreflexive", all(&[("a", "Call")], not(po(&a, &a))));
        theory.axiom(
            "po is transitive",
            all(&[("a", "Call"), ("b", "Call"), ("c", "Call")], implies(and([po(&a, &b), po(&b, &c)]), po(&a, &c))),
        );
        theory.axiom("po is inside threads", all(&two, implies(po(&a, &b), same.clone())));
        let differ = not(equal(a.clone(), b.clone()));
        theory
            .axiom("po is total on each thread", all(&two, implies(and([same, differ]), or([po(&a, &b), po(&b, &a)]))));
        self.objects(theory);
        self.numbers(theory);
    }

    /// Declares the iterations of loops with effects, and their total order.
    fn rounds_of_loops(theory: &mut Theory) {
        theory.comment("Rounds of loops, one after the other.");
        theory.sort(ROUND);
        theory.function(IS_ROUND, &["Call", ROUND], "Bool");
        theory.function(EARLIER_ROUND, &[ROUND, ROUND], "Bool");
        theory.function(NO_ROUND, &[], ROUND);
        let [a, b, c] = ["a", "b", "c"].map(symbol);
        let earlier = |a: &Term, b: &Term| app(EARLIER_ROUND, &[a.clone(), b.clone()]);
        theory.axiom("no round is earlier than itself", all(&[("a", ROUND)], not(earlier(&a, &a))));
        let path = and([earlier(&a, &b), earlier(&b, &c)]);
        let three = [("a", ROUND), ("b", ROUND), ("c", ROUND)];
        theory.axiom("earlier rounds are transitive", all(&three, implies(path, earlier(&a, &c))));
        let one = or([equal(a.clone(), b.clone()), earlier(&a, &b), earlier(&b, &a)]);
        theory.axiom("of two rounds one is earlier", all(&[("a", ROUND), ("b", ROUND)], one));
    }

    /// Declares the subevents: each call has those of its template, each once.
    fn subevents(&self, theory: &mut Theory, family: &Family<'_>) {
        let sort = family.sort;
        theory.elements(role_sort(sort), family.roles.iter().map(|(_, r)| r.name.clone()));
        let shared = |name: &str| format!("{}{name}", family.shared);
        theory.function(&shared("call"), &[sort], "Call");
        theory.function(&shared("role"), &[sort], role_sort(sort));
        theory.function(&shared("at"), &[sort], "Node");
        if self.has_members() && sort == SUB {
            theory.function("member", &[SUB], "Thread");
        }
        if self.has_rounds() && sort == SUB {
            theory.function("round", &[SUB], ROUND);
        }
        theory.function(&shared("read"), &[sort], "Value");
        theory.function(&shared("wrote"), &[sort], "Value");
        theory.function(&shared("nth"), &[sort], self.count_sort());
        let [s, c, n] = ["s", "c", "n"].map(symbol);
        for (kind, role) in &family.roles {
            let place = family.place(role, &s);
            let valid = self.valid(kind, role, &family.call(&s), &place);
            theory.function(&format!("the.{}", role.name), &["Call", place_sort(role.each)], sort);
            let words = format!("{} in calls of {}: where it is, and that there is no other", role.words, kind.name);
            let only = equal(s.clone(), the(role, &family.call(&s), &place));
            theory.axiom(&words, all(&[("s", sort)], implies(family.is(role, &s), and([valid, only]))));
            let body = self.there_is(kind, role, sort, &c, &n);
            let of = [("c", "Call"), ("n", place_sort(role.each))];
            theory.axiom("there is one", all_at(&of, body, the(role, &c, &n)));
        }
    }

    /// Defines program order on the subevents of implementations.
    fn program_order(&self, theory: &mut Theory, family: &Family<'_>) {
        let [a, b] = ["a", "b"].map(symbol);
        let is_for_nodes = |r: &Role| place_sort(r.each) == "Node";
        if family.roles.iter().any(|(_, r)| r.each_event && is_for_nodes(r)) {
            theory.comment("Sets of nodes are gone through in one order.");
            theory.function("below", &["Node", "Node"], "Bool");
            let less = |a: &Term, b: &Term| app("below", &[a.clone(), b.clone()]);
            let c = symbol("c");
            theory.axiom("below is irreflexive", all(&[("a", "Node")], not(less(&a, &a))));
            theory.axiom(
                "below is transitive",
                all(
                    &[("a", "Node"), ("b", "Node"), ("c", "Node")],
                    implies(and([less(&a, &b), less(&b, &c)]), less(&a, &c)),
                ),
            );
            let total = or([equal(a.clone(), b.clone()), less(&a, &b), less(&b, &a)]);
            theory.axiom("below is total", all(&[("a", "Node"), ("b", "Node")], total));
        }
        let mut inside = Vec::new();
        for (kind, from) in &family.roles {
            let later = |to: &Role| {
                let (p, q) = (from.position.0, to.position.0);
                if from.each_event && to.each_event && kind.go_round_together(p, q) {
                    let places = [family.place(from, &a), family.place(to, &b)];
                    let same = and([equal(places[0].clone(), places[1].clone()), truth(p < q)]);
                    let [one, other] = places;
                    let is_earlier = match from.each {
                        Some(Each::Members(Members { of, but_first })) => {
                            let earlier = if but_first { EARLIER_OTHER } else { EARLIER };
                            app(earlier, &[location(of, &family.call(&a)), one, other])
                        }
                        Some(Each::Rounds) => app(EARLIER_ROUND, &[one, other]),
                        _ => app("below", &[one, other]),
                    };
                    or([is_earlier, same])
                } else {
                    truth(p < q)
                }
            };
            let ways = kind.concrete.iter().map(|to| and([family.is(to, &b), later(to)]));
            inside.push(and([family.is(from, &a), or(ways)]));
        }
        let of_calls = app("po.call", &[family.call(&a), family.call(&b)]);
        let of_call = and([equal(family.call(&a), family.call(&b)), or(inside)]);
        theory.define("po", &[("a", SUB), ("b", SUB)], "Bool", or([of_calls, of_call]));
        let mut events: Vec<Term> = Vec::new();
        for kind in self.parts.kinds {
            let positions: BTreeSet<usize> = kind.concrete.iter().map(|r| r.position.0).collect();
            for position in positions {
                let roles: Vec<&Role> = kind.concrete.iter().filter(|r| r.position.0 == position).collect();
                let is_in = |s: &Term| or(roles.iter().map(|r| family.is(r, s)));
                let place = |s: &Term| family.place(roles[0], s);
                let together = if roles[0].each_event { equal(place(&a), place(&b)) } else { truth(true) };
                events.push(and([is_in(&a), is_in(&b), together]));
            }
        }
        let same_call = equal(family.call(&a), family.call(&b));
        theory.define("same.event", &[("a", SUB), ("b", SUB)], "Bool", and([same_call, or(events)]));
    }

    /// Adds axioms for the count of a subevent: the number of earlier events of its thread that are like it. If its
    /// event is the only one with its method, once in each call of one kind, this is the count of the call.
    fn counts(&self, theory: &mut Theory, family: &Family<'_>) {
        let s = symbol("s");
        let kinds = self.parts.kinds;
        // A loop may have had earlier iterations, so a count in a loop is not that of the call.
        for (kind, role) in family.roles.iter().filter(|(_, role)| !role.in_loop) {
            let (library, method, _) = kind.made[role.position.0];
            let made = kinds.iter().flat_map(|k| &k.made).filter(|(l, m, _)| (*l, *m) == (library, method)).count();
            let method = kind.method();
            let is_alone = method.is_some_and(|method| {
                kinds.iter().filter(|k| k.forms.iter().any(|form| form.method == method)).count() == 1
            });
            if made == 1 && is_alone && kind.is_counted_by(role.position.0) {
                let same = equal(family.common("nth", std::slice::from_ref(&s)), app("nth.call", &[family.call(&s)]));
                let words = format!("the n-th {} is of the n-th {}", role.words, kind.name);
                theory.axiom(&words, all(&[("s", SUB)], implies(family.is(role, &s), same)));
            }
            if let Some(first) = self.counted_with(kind, role) {
                let at = if first.each.is_some() { family.place(role, &s) } else { own(&family.call(&s)) };
                let other = the(first, &family.call(&s), &at);
                let same = equal(family.common("nth", std::slice::from_ref(&s)), family.common("nth", &[other]));
                let words = format!("the n-th {} is with the n-th {} in {}", role.words, first.words, kind.name);
                theory.axiom(&words, all(&[("s", SUB)], implies(family.is(role, &s), same)));
            }
        }
    }

    /// Returns the first subevent of a kind of calls that always has the same count as this one. Every kind with one of
    /// the two methods, which are of one library, calls both once, with equal arguments.
    fn counted_with(&self, kind: &'a Kind, role: &Role) -> Option<&'a Role> {
        let (library, method, _) = kind.made[role.position.0];
        let is_with = |first: &&Role| {
            let (of, other, _) = kind.made[first.position.0];
            let pair = [(library, method), (of, other)];
            let is_there = (first.each.is_none() || first.each == role.each) && !first.in_loop;
            of == library
                && first.name != role.name
                && is_there
                && self.parts.kinds.iter().all(|k| k.makes_together(pair))
        };
        kind.concrete.iter().take_while(|r| r.name != role.name).find(is_with)
    }

    /// Declares what the specifications of one side share: threads, stamps, cells and values.
    fn shared(&self, theory: &mut Theory, family: &Family<'_>) -> Result<(), String> {
        let (sort, [a, b]) = (family.sort, ["a", "b"].map(symbol));
        let pair = [("a", sort), ("b", sort)];
        let name = |of: &str| format!("{}{of}", family.shared);
        let thread = |s: &Term| app("thread", &[family.call(s)]);
        theory.define(&name("same.thread"), &pair, "Bool", equal(thread(&a), thread(&b)));
        theory.define(&name("to"), &pair, "Bool", self.to(family, &a, &b)?);
        let both = [a.clone(), b.clone()];
        theory.define(&name("ppo"), &pair, "Bool", and([family.common("po", &both), family.common("to", &both)]));
        theory.function(&name("hb"), &[sort, sort], "Bool");
        theory.define(&name("same.cell"), &pair, "Bool", family.same(|r| Ok(r.cell.clone()), &a, &b)?);
        theory.function(&name("initial"), &[sort], "Value");
        let s = symbol("s");
        for (kind, role) in &family.roles {
            let term = |datum| datum_of(kind, role, datum, &family.call(&s), &family.place(role, &s));
            let value = |of: &str| family.common(of, std::slice::from_ref(&s));
            let mut facts = Vec::new();
            if let Some(initial) = role.initial {
                facts.push(equal(value("initial"), term(initial)?));
            }
            let words =
                |all: &[Datum]| Ok::<_, String>(tuple(all.iter().map(|d| term(*d)).collect::<Result<Vec<_>, _>>()?));
            match &role.reads {
                Some(Read::Is(datum)) => facts.push(equal(value("read"), term(*datum)?)),
                Some(Read::Words(all)) => facts.push(equal(value("read"), words(all)?)),
                Some(Read::IsNot(datum)) if sort == SUB => facts.push(not(equal(value("read"), term(*datum)?))),
                _ => {}
            }
            match &role.writes {
                Some(Write::Is(datum)) => facts.push(equal(value("wrote"), term(*datum)?)),
                Some(Write::Words(all)) => facts.push(equal(value("wrote"), words(all)?)),
                Some(Write::Copy(_) | Write::Plus(..)) => self.derived(theory, (kind, role), family)?,
                None => {}
            }
            facts.extend(self.of_numbers(kind, role, &family.call(&s), &family.place(role, &s))?);
            if facts != Vec::new() {
                let words = format!("the values of {} in {}", role.words, kind.name);
                theory.axiom(&words, all(&[("s", sort)], implies(family.is(role, &s), and(facts))));
            }
        }
        Ok(())
    }

    /// Returns the subevent of the same event on which the written value depends, and the term for it.
    fn source<'k>(&self, kind: &'k Kind, role: &Role, from: usize, family: &Family<'_>, of: &Term) -> (&'k Role, Term) {
        let roles = if family.sort == SUB { &kind.concrete } else { &kind.abstract_ };
        let source = roles.iter().find(|r| r.position == (role.position.0, from)).expect("a position of the event");
        let at = if source.each.is_some() { family.place(source, of) } else { own(&family.call(of)) };
        (source, the(source, &family.call(of), &at))
    }

    /// Adds the axiom that a subevent writes the value that another subevent of its event reads, or a sum with it.
    fn derived(&self, theory: &mut Theory, (kind, role): (&Kind, &Role), family: &Family<'_>) -> Result<(), String> {
        let s = symbol("s");
        let from = role.writes.as_ref().and_then(Write::source).expect("it depends on another");
        let (source, term) = self.source(kind, role, from, family, &s);
        let read = family.common("read", &[term]);
        let wrote = family.common("wrote", std::slice::from_ref(&s));
        let (facts, how) = match role.writes {
            Some(Write::Plus(_, datum)) => {
                let with = [read, datum_of(kind, role, datum, &family.call(&s), &family.place(role, &s))?];
                let has_sum = if family.sort == SUB { app("have.sum", &with) } else { truth(true) };
                let numbers = if family.sort == SUB { self.is_sum(&wrote, &with[0], datum) } else { truth(true) };
                (and([equal(wrote, app("plus", &with)), has_sum, numbers]), "a sum with ")
            }
            _ => (equal(wrote, read), ""),
        };
        let words = format!("{} writes {how}what {} reads in {}", role.words, source.words, kind.name);
        theory.axiom(&words, all(&[("s", family.sort)], implies(family.is(role, &s), facts)));
        Ok(())
    }

    /// True if a template uses the result of its call.
    fn speaks_of_returned(&self) -> bool {
        let roles = self.parts.kinds.iter().flat_map(|k| k.concrete.iter().chain(&k.abstract_));
        let mut data = roles.flat_map(data_of).chain(self.parts.kinds.iter().flat_map(guards_of));
        data.contains(&Datum::Returned)
    }

    /// Returns the lengths of the tuples in templates.
    fn sizes(&self) -> BTreeSet<usize> {
        let of_guard = |datum| if let Datum::Results(_, words) = datum { Some(words) } else { None };
        let guards = self.parts.kinds.iter().flat_map(guards_of).filter_map(of_guard);
        let roles = self.parts.kinds.iter().flat_map(|k| k.concrete.iter().chain(&k.abstract_));
        roles.flat_map(|role| [role.words_read(), role.words_written()]).flatten().chain(guards).collect()
    }

    /// True if a role writes a sum.
    fn sums(&self) -> bool {
        let roles = self.parts.kinds.iter().flat_map(|k| k.concrete.iter().chain(&k.abstract_));
        roles.into_iter().any(|r| matches!(r.writes, Some(Write::Plus(..))))
    }

    /// Returns the formula "the stamp of the first subevent is before that of the second".
    fn to(&self, family: &Family<'_>, a: &Term, b: &Term) -> Result<Term, String> {
        let nodes = |s: &Term| -> Result<Term, String> {
            let with = family.roles.iter().filter_map(|(k, r)| Some((k, r, r.stamp_node?)));
            let given = with.map(|(k, r, leaf)| Ok((*r, family.leaf(k, r, leaf, s)?)));
            let given: Vec<(&Role, Term)> = given.collect::<Result<_, String>>()?;
            Ok(if given.is_empty() { truth(true) } else { family.by_role(s, given) })
        };
        let same = equal(nodes(a)?, nodes(b)?);
        let families: BTreeSet<&str> = family.roles.iter().map(|(_, r)| r.family.as_str()).collect();
        let is_in = |of: &str, s: &Term| family.has_role(s, |r| Ok(r.family == of));
        let mut ways = Vec::new();
        for from in &families {
            let mut later = Vec::new();
            for to in &families {
                let how = match self.stamps.order.get(&((*from).to_owned(), (*to).to_owned())) {
                    None | Some((false, false)) => continue,
                    Some((true, true)) => truth(true),
                    Some((true, false)) => same.clone(),
                    Some((false, true)) => not(same.clone()),
                };
                later.push(and([is_in(to, b)?, how]));
            }
            ways.push(and([is_in(from, a)?, or(later)]));
        }
        Ok(or(ways))
    }

    /// Defines the sets and keys of a specification.
    fn vocabulary(&self, theory: &mut Theory, family: &Family<'_>, encoding: &Encoding) -> Result<(), String> {
        let own = |r: &Role| r.library.text() == library(encoding);
        for (name, set) in &encoding.sets {
            let members = self.members(family, set, &own)?;
            theory.define(name, &[("s", family.sort)], "Bool", members);
        }
        let [a, b] = ["a", "b"].map(symbol);
        for (name, key) in &encoding.keys {
            let same = family.same(|r| if own(r) { key_of(r, key) } else { Ok(None) }, &a, &b)?;
            theory.define(name, &[("a", family.sort), ("b", family.sort)], "Bool", same);
        }
        Ok(())
    }

    fn members(&self, family: &Family<'_>, set: &Set, own: &dyn Fn(&Role) -> bool) -> Result<Term, String> {
        family.has_role(&symbol("s"), |r| Ok(own(r) && r.is_in(|view| set.has(view))?))
    }

    /// Declares the promises and their values.
    fn promises_of(&self, theory: &mut Theory) -> Result<(), String> {
        let family = self.promises();
        theory.comment(&format!("What {} promises of each call.", self.parts.library));
        self.subevents(theory, &family);
        let [a, b, s] = ["a", "b", "s"].map(symbol);
        let pair = [("a", ABS), ("b", ABS)];
        theory.define("abs.po", &pair, "Bool", app("po.call", &[family.call(&a), family.call(&b)]));
        theory.define("abs.same.event", &pair, "Bool", equal(family.call(&a), family.call(&b)));
        let nth = [family.common("nth", std::slice::from_ref(&s)), app("nth.call", &[family.call(&s)])];
        theory.axiom("the n-th promise is of the n-th call", all(&[("s", ABS)], app("=", &nth)));
        self.shared(theory, &family)
    }

    /// Returns the theory with the promises and g.
    ///
    /// # Errors
    /// If the specification says something that first-order logic cannot express.
    pub fn promised(&self, g: &Concretisation) -> Result<Theory, String> {
        let mut theory = self.below.clone();
        let family = self.promises();
        if !self.speaks_of_owed() {
            self.promises_of(&mut theory)?;
        }
        let [a, b, s] = ["a", "b", "s"].map(symbol);
        let pair = [("a", ABS), ("b", ABS)];
        theory.comment("g: which subevent of its implementation stands for each of them.");
        theory.function("g", &[ABS], SUB);
        for (k, kind) in self.parts.kinds.iter().enumerate() {
            for (p, promise) in kind.abstract_.iter().enumerate() {
                let Some(role) = g.get(&(k, p)).map(|r| &kind.concrete[*r]) else { continue };
                let call = family.call(&s);
                let it = the(role, &call, &place_of(role, &call, &family.place(promise, &s), &last_of(role, &call)));
                let mut facts = vec![equal(app("g", std::slice::from_ref(&s)), it.clone())];
                // v_R of the specification is that of the implementation wherever it is free.
                if matches!(promise.reads, Some(Read::Any | Read::IsNot(_))) {
                    facts.push(equal(app("abs.read", std::slice::from_ref(&s)), app("read", &[it])));
                }
                let words = format!("for {} stands {}", promise.words, role.words);
                theory.axiom(&words, all(&[("s", ABS)], implies(family.is(promise, &s), and(facts))));
            }
        }
        self.inverse(&mut theory, g);
        theory
            .comment(&format!("The consistency predicate of {}, its choices pulled back along g.", self.parts.library));
        self.vocabulary(&mut theory, &family, &self.upper)?;
        // Split the relations: those defined without choices come first, because choices may be between their members.
        let mut of_choices: BTreeSet<&str> = self.upper.choices.iter().map(|(name, _)| name.as_str()).collect();
        let (before, after): (Vec<&Statement>, Vec<&Statement>) =
            self.upper.relations.0.iter().partition(|statement| match statement {
                Statement::Definition(_, _, _, body) if !body.mentions(&of_choices) => true,
                Statement::Definition(name, ..) | Statement::Function(name, ..) => {
                    of_choices.insert(name);
                    false
                }
                _ => false,
            });
        theory.0.extend(before.into_iter().cloned());
        let order = self.order_below(g);
        for (position, (name, choice)) in self.upper.choices.iter().enumerate() {
            let may = self.upper.laws[position][0].to.clone();
            let image = |s: &Term| app("g", std::slice::from_ref(s));
            let along = |from: &str| app(from, &[image(&a), image(&b)]);
            match (&order, choice) {
                (Some(order), Choice::ReadsFrom { .. }) => Self::last_source(&mut theory, name, along(order), may),
                (Some(order), _) => theory.define(name, &pair, "Bool", and([along(order), may])),
                (None, _) => theory.define(name, &pair, "Bool", and([along(&self.pulled_back(name, choice, g)?), may])),
            }
        }
        for statement in after {
            match statement {
                // Among the relations, only closures have no definition.
                Statement::Function(name, ..) => theory.define(name, &pair, "Bool", self.closure_below(name, &a, &b)?),
                other => theory.0.push(other.clone()),
            }
        }
        Ok(theory)
    }

    /// True if the specification speaks of hb.
    #[must_use]
    pub fn mentions_hb(&self) -> bool {
        self.parts.specification.spec(self.parts.library).is_some_and(Spec::mentions_hb)
    }

    /// Returns the theory with the promises and with the hb' of condition 3: any transitive relation above ppo' and so'
    /// that g carries into hb. Condition 2, that g carries so' into hb, is not shown in this theory, because it assumes
    /// such an hb'.
    #[must_use]
    pub fn with_larger_hb(&self, promised: &Theory) -> Theory {
        let mut theory = promised.clone();
        let [a, b, c] = ["a", "b", "c"].map(symbol);
        let pair = [("a", ABS), ("b", ABS)];
        theory.comment("hb': any transitive relation above ppo' and so' that g carries into hb.");
        let hb = |a: &Term, b: &Term| app("abs.hb", &[a.clone(), b.clone()]);
        let image = app("hb", &[app("g", std::slice::from_ref(&a)), app("g", std::slice::from_ref(&b))]);
        theory.axiom("g(hb') is inside hb", all(&pair, implies(hb(&a, &b), image)));
        let parts = self.upper.so.iter().map(|(_, predicate)| predicate.as_str());
        for predicate in ["abs.ppo"].into_iter().chain(parts) {
            let edge = app(predicate, &[a.clone(), b.clone()]);
            theory.axiom(&format!("hb' has {predicate}"), all(&pair, implies(edge, hb(&a, &b))));
        }
        let path = and([hb(&a, &b), hb(&b, &c)]);
        theory.axiom("hb' is transitive", all(&[("a", ABS), ("b", ABS), ("c", ABS)], implies(path, hb(&a, &c))));
        theory
    }

    /// Returns an order below that has the images of all promises with a cell, if some image lacks the read or write of
    /// its promise. Then mo' is that order, and the source of each read is the last write before it.
    fn order_below(&self, g: &Concretisation) -> Option<String> {
        let images =
            g.iter().map(|(&(k, p), &r)| (&self.parts.kinds[k].abstract_[p], &self.parts.kinds[k].concrete[r]));
        let of_cells: Vec<(&Role, &Role)> = images.filter(|(promise, _)| promise.cell.is_some()).collect();
        let does = |(promise, image): &(&Role, &Role)| {
            (promise.reads.is_none() || image.reads.is_some()) && (promise.writes.is_none() || image.writes.is_some())
        };
        if of_cells.iter().all(does) {
            return None;
        }
        let choices = self.lower.iter().flat_map(|e| e.choices.iter().map(move |choice| (library(e), choice)));
        let is_order = |(of, (_, choice)): &(&str, &(String, Choice))| {
            let Choice::Order { members, .. } = choice else { return false };
            of_cells.iter().all(|(_, image)| image.library.text() == *of && image.is_in(|s| members.has(s)) == Ok(true))
        };
        choices.into_iter().find(is_order).map(|(_, (name, _))| name.clone())
    }

    /// Returns the reads-from choices for which the source of a read is the last write before it.
    pub fn in_order(&self, g: &Concretisation) -> Vec<String> {
        let choices = self.upper.choices.iter().filter(|(_, choice)| matches!(choice, Choice::ReadsFrom { .. }));
        let names = choices.map(|(name, _)| name.clone());
        if self.order_below(g).is_some() { names.collect() } else { Vec::new() }
    }

    /// Defines reads-from by an order: the source of a read is the last write of its cell before it, if there is a
    /// write before it. Such a write has a last one, because executions are finite.
    fn last_source(theory: &mut Theory, name: &str, order: Term, may: Term) {
        let [a, b] = ["a", "b"].map(symbol);
        let pair = [("a", ABS), ("b", ABS)];
        let [ordered, allowed, last] = ["order", "may", "last"].map(|part| format!("{name}.{part}"));
        theory.define(&ordered, &pair, "Bool", order);
        let before = app(&ordered, &[a.clone(), b.clone()]);
        theory.define(&allowed, &pair, "Bool", and([before, may]));
        theory.function(&last, &[ABS], ABS);
        let may = |a: &Term| app(&allowed, &[a.clone(), b.clone()]);
        let it = app(&last, std::slice::from_ref(&b));
        let is_last = not(app(&ordered, &[it.clone(), a.clone()]));
        let is_source = and([may(&it), is_last]);
        theory.axiom("of the writes before a read one is the last", all(&pair, implies(may(&a), is_source)));
        theory.define(name, &pair, "Bool", and([may(&a), equal(a.clone(), it)]));
        let source = any(&[("c", ABS)], app(name, &[symbol("c"), b.clone()]));
        theory.axiom("so a read after a write has a source", all(&pair, implies(may(&a), source)));
    }

    /// Returns for each role, by kind and position, a promise for which it stands alone.
    #[must_use]
    pub fn promise_of(&self, g: &Concretisation) -> BTreeMap<(usize, usize), usize> {
        let mut inverse = BTreeMap::new();
        for (&(k, p), &r) in g {
            let kind = &self.parts.kinds[k];
            if kind.abstract_[p].each == kind.concrete[r].each {
                inverse.entry((k, r)).or_insert(p);
            }
        }
        inverse
    }

    /// Declares the inverse of g, where it has one: the promise for which a subevent stands.
    fn inverse(&self, theory: &mut Theory, g: &Concretisation) {
        let (family, s) = (self.concrete(), symbol("s"));
        theory.function("promise", &[SUB], ABS);
        for ((k, r), p) in self.promise_of(g) {
            let kind = &self.parts.kinds[k];
            let (promise, role) = (&kind.abstract_[p], &kind.concrete[r]);
            let it = the(promise, &family.call(&s), &family.place(role, &s));
            let is_it = equal(app("promise", std::slice::from_ref(&s)), it);
            let words = format!("{} stands for {}", role.words, promise.words);
            theory.axiom(&words, all(&[("s", SUB)], implies(family.is(role, &s), is_it)));
        }
    }

    /// Returns the relation below to which g pulls back a choice of the specification: a choice of the same sort,
    /// preferably with the same name. For an order the fallback is hb, if no order below has the images of all its
    /// members.
    fn pulled_back(&self, name: &str, choice: &Choice, g: &Concretisation) -> Result<String, String> {
        let spec = |library: Name, libraries: &Libraries| libraries.spec(library).cloned();
        let short = name.strip_prefix(&self.upper.side.prefix).unwrap_or(name);
        let role = spec(self.parts.library, self.parts.specification).and_then(|s| s.role(short));
        let mut found = Vec::new();
        for library in self.parts.below.names() {
            let spec = spec(library, self.parts.below).expect("a name of the set");
            let alike = spec.choices.iter().filter(|(other, _)| spec.role(other) == role);
            let fitting = alike.filter(|(_, below)| self.orders_images(library, below, choice, g));
            found.extend(fitting.map(|(other, _)| (*other != short, format!("{library}.{other}"))));
        }
        found.sort();
        let found = found.into_iter().next().map(|(_, name)| name);
        let is_order = matches!(choice, Choice::Order { .. });
        let hb = is_order.then(|| "hb".to_owned());
        found.or(hb).ok_or_else(|| format!("nothing below is like the choice {short}"))
    }

    /// True unless both are orders and the lower one lacks the image of a member of the upper one.
    fn orders_images(&self, library: Name, below: &Choice, above: &Choice, g: &Concretisation) -> bool {
        let (Choice::Order { members: below, .. }, Choice::Order { members: above, .. }) = (below, above) else {
            return true;
        };
        let roles = |(&(k, p), &r): (&(usize, usize), &usize)| {
            let kind = &self.parts.kinds[k];
            (&kind.abstract_[p], &kind.concrete[r])
        };
        let is_in = |r: &Role, set: &Set| r.is_in(|view| set.has(view)) == Ok(true);
        let mut ordered = g.iter().map(roles).filter(|(promise, _)| is_in(promise, above));
        ordered.all(|(_, image)| image.library == library && is_in(image, below))
    }

    /// Returns the stand-in for a closure of the specification in question: a closure below, pulled back along g.
    ///
    /// Obligations say that it is transitive and contains the relation under the closure, so it contains the closure.
    /// If it is empty, irreflexive or inside hb, so is the closure. A specification that denies a path does not allow
    /// this step.
    fn closure_below(&self, closure: &str, a: &Term, b: &Term) -> Result<Term, String> {
        let spec = self.parts.specification.spec(self.parts.library);
        if spec.is_some_and(Spec::denies_a_path) {
            return Err(format!(
                "{closure} is a closure in what is to be shown, of which it is said that there is no path"
            ));
        }
        let (below, _) = self.lower.iter().flat_map(|encoding| &encoding.closures).next().ok_or_else(|| {
            format!("{closure} is a closure in what is to be shown, and there is none below that could be inside it")
        })?;
        let image = |s: &Term| app("g", std::slice::from_ref(s));
        Ok(app(below, &[image(a), image(b)]))
    }

    /// Returns the obligations of condition 3: the laws of the choices, the demands, and the written values.
    ///
    /// # Errors
    /// If the specification says something that first-order logic cannot express.
    pub fn consistency(&self) -> Result<Vec<Obligation>, String> {
        let laws = self.upper.laws.iter().flatten().cloned().chain(self.upper.demanded());
        let laws = laws.chain(self.upper.of_closures());
        let mut all: Vec<Obligation> = laws.map(|law| of_law(&law, self.hints(&law.of))).collect();
        let a = symbol("a");
        let family = self.promises();
        for (kind, promise) in &family.roles {
            if let Some(Write::Plus(from, datum)) = promise.writes {
                let (_, source) = self.source(kind, promise, from, &family, &a);
                let with = datum_of(kind, promise, datum, &family.call(&a), &family.place(promise, &a))?;
                all.push(Obligation {
                    name: format!("{} of {} has a sum to write", promise.family, kind.name),
                    of: vec![("a".to_owned(), ABS)],
                    hints: self.hints(&["a"]),
                    from: family.is(promise, &a),
                    to: app("have.sum", &[family.common("read", &[source]), with]),
                });
            }
            if let Some(Read::IsNot(datum)) = promise.reads {
                let value = datum_of(kind, promise, datum, &family.call(&a), &family.place(promise, &a))?;
                all.push(Obligation {
                    name: format!("{} does not read what it must not", promise.words),
                    of: vec![("a".to_owned(), ABS)],
                    hints: self.hints(&["a"]),
                    from: family.is(promise, &a),
                    to: not(equal(family.common("read", std::slice::from_ref(&a)), value)),
                });
            }
        }
        Ok(all)
    }

    /// Returns the obligations of condition 2, one for each part of so': it is inside hb.
    #[must_use]
    pub fn carried(&self) -> Vec<Obligation> {
        let [a, b] = ["a", "b"].map(symbol);
        let part = |(name, predicate): &(&'static str, String)| {
            let edge = app(predicate, &[a.clone(), b.clone()]);
            let image = app("hb", &[app("g", std::slice::from_ref(&a)), app("g", std::slice::from_ref(&b))]);
            Obligation {
                name: format!("{name}' inside hb"),
                of: vec![("a".to_owned(), ABS), ("b".to_owned(), ABS)],
                hints: self.hints(&["a", "b"]),
                from: edge,
                to: image,
            }
        };
        self.upper.so.iter().map(part).collect()
    }

    /// Returns lemmas that may help in proofs; each is shown before it is used.
    ///
    /// They say that the orders below are inside hb, and that some branch is never taken. Others say that a thread
    /// reads its own earlier write to its own word.
    #[must_use]
    pub fn lemmas(&self) -> Vec<Vec<Obligation>> {
        let [a, b, c] = ["a", "b", "c"].map(symbol);
        let family = self.concrete();
        let subs = |names: &[&str]| names.iter().map(|v| ((*v).to_owned(), SUB)).collect::<Vec<_>>();
        let at = |of: &Term| family.common("at", std::slice::from_ref(of));
        let present = |of: &Term| self.made(&family.call(of), &at(of));
        // A part of so is inside hb by an axiom, so it needs no lemma.
        let is_part = |e: &Encoding, name: &str| e.so.iter().any(|(_, part)| part == name);
        let orders = self.lower.iter().flat_map(|e| e.choices.iter().filter(move |(name, _)| !is_part(e, name)));
        let orders = orders.filter(|(_, c)| matches!(c, Choice::Order { .. }));
        let orders = orders.map(|(name, _)| Obligation {
            name: format!("{name} is inside hb"),
            of: subs(&["a", "b"]),
            hints: [present(&a), present(&b)].concat(),
            from: app(name, &[a.clone(), b.clone()]),
            to: app("hb", &[a.clone(), b.clone()]),
        });
        let found = family.roles.iter().filter_map(|(kind, role)| {
            let put = put_before(kind, role)?;
            let rf = self.reads_from(role.library)?;
            let it = the(put, &family.call(&a), &own(&family.call(&a)));
            Some(Obligation {
                name: format!("in {} {} reads what {} wrote", kind.name, role.words, put.words),
                of: subs(&["a"]),
                hints: present(&a),
                from: family.is(role, &a),
                to: app(&rf, &[it, a.clone()]),
            })
        });
        let is_told_by_data = |k: &&Kind| !k.given().is_empty() && !k.has_unknowns();
        let branches = self.parts.kinds.iter().filter(is_told_by_data).map(|kind| Obligation {
            name: format!("no call is {}", kind.words()),
            of: vec![("c".to_owned(), "Call")],
            hints: self.made(&c, &own(&c)),
            from: self.is_kind(kind, &c),
            to: truth(false),
        });
        vec![orders.collect(), found.collect(), branches.collect()]
    }

    /// Returns the reads-from choice of a library below.
    fn reads_from(&self, of: Name) -> Option<String> {
        let encoding = self.lower.iter().find(|e| library(e) == of.text())?;
        let mut choices = encoding.choices.iter().filter(|(_, c)| matches!(c, Choice::ReadsFrom { .. }));
        choices.next().map(|(name, _)| name.clone())
    }

    /// Returns the kind of the calls of which a lemma says that there are none.
    #[must_use]
    pub fn none_of(&self, lemma: &Obligation) -> Option<usize> {
        let is = |k: &Kind| lemma.to == truth(false) && lemma.from == self.is_kind(k, &symbol("c"));
        self.parts.kinds.iter().position(is)
    }

    /// Returns the formulas "the calls of these promises have their subevents".
    fn hints(&self, of: &[&str]) -> Vec<Term> {
        let promises = self.promises();
        let at = |of: &Term| promises.common("at", std::slice::from_ref(of));
        let present = |name: &&str| self.present(&promises.call(&symbol(name)), &at(&symbol(name)));
        of.iter().flat_map(present).collect()
    }

    /// Returns the formulas "the call has its promises and the subevents of its implementation", for one index each.
    fn present(&self, call: &Term, node: &Term) -> Vec<Term> {
        [self.made(call, node), self.there(ABS, &self.promises(), call, node)].concat()
    }

    /// Returns the formulas "the call has the subevents of its implementation".
    fn made(&self, call: &Term, node: &Term) -> Vec<Term> {
        self.there(SUB, &self.concrete(), call, node)
    }

    fn there(&self, sort: &str, family: &Family<'_>, call: &Term, node: &Term) -> Vec<Term> {
        let there = family
            .roles
            .iter()
            .map(|(kind, role)| self.there_is(kind, role, sort, call, &place_of(role, call, node, &thread(call))));
        there.collect()
    }

    /// Returns the formula "if the call should have a subevent of this role with this index, it has it".
    pub(crate) fn there_is(&self, kind: &Kind, role: &Role, sort: &str, call: &Term, place: &Term) -> Term {
        let family = if sort == SUB { self.concrete() } else { self.promises() };
        let mut made = self.made_of(&family, role, &the(role, call, place), call, place);
        // Move the role behind the call and the node, because that is easier for solvers.
        made[..3].rotate_left(1);
        let made = and(made);
        implies(self.valid(kind, role, call, place), made)
    }

    /// Returns the obligations of condition 1 if this role stands for a promise, and the number of cases that hold by
    /// definition. Returns `None` if the role cannot stand for it.
    ///
    /// # Errors
    /// If a stamp needs something that first-order logic cannot express.
    pub fn stands_for(
        &self,
        kind: &Kind,
        promise: &Role,
        role: &Role,
    ) -> Result<Option<(Vec<Obligation>, usize)>, String> {
        // A promise without an index set can be represented by the last of the subevents for threads, but not by those
        // for nodes.
        if (promise.each.is_none() && matches!(role.each, Some(Each::Nodes(_)))) || may_be_none(role) {
            return Ok(None);
        }
        let [c, n, k] = ["c", "n", "k"].map(symbol);
        let given = self.valid(kind, promise, &c, &n);
        let place = |r: &Role, at: &Term| place_of(r, &c, at, &last_of(r, &c));
        let the = |r: &Role, at: &Term| the(r, &c, &place(r, at));
        let stamp = |r: &Role, at: &Term| -> Result<(String, Option<Term>), String> {
            let node = r.stamp_node.map(|leaf| leaf_of(kind, r, leaf, &c, at)).transpose()?;
            Ok((r.family.clone(), node))
        };
        let of: Vec<(String, &'static str)> = vec![("c".into(), "Call"), ("n".into(), "Node"), ("k".into(), "Node")];
        let mut all = Vec::new();
        let mut plain = 0;
        let image = the(role, &n);
        let exists = self.valid(kind, role, &c, &place(role, &n));
        let words = format!("{} of {}", promise.family, kind.name);
        if matches!(role.each, Some(Each::Nodes(_))) && role.each != promise.each {
            all.push(Obligation {
                name: format!("g({words}) exists"),
                of: of.clone(),
                hints: Vec::new(),
                from: given.clone(),
                to: exists,
            });
        }
        let (family, node) = stamp(promise, &n)?;
        for (other, has_node) in &self.stamps.families {
            let a0 = (other.as_str(), has_node.then(|| k.clone()));
            for is_before in [true, false] {
                let ordered = |x: (&str, Option<Term>)| {
                    let a0 = a0.clone();
                    if is_before { self.stamps.before(a0, x) } else { self.stamps.before(x, a0) }
                };
                let wanted = ordered((&family, node.clone()));
                if wanted == truth(false) {
                    continue;
                }
                let mut ways = Vec::new();
                let mut places = vec![n.clone()];
                places.extend(has_node.then(|| k.clone()));
                let roles = kind.concrete.iter().filter(|r| !may_be_none(r));
                for (one, at) in roles.flat_map(|r| places.iter().map(move |at| (r, at))) {
                    let (f, m) = stamp(one, at)?;
                    let keeps = ordered((&f, m));
                    let is_for_nodes = matches!(one.each, Some(Each::Nodes(_)));
                    let is_it = one.name == role.name && (at == &n || !is_for_nodes);
                    let it = the(one, at);
                    let edge = if is_before { [it, image.clone()] } else { [image.clone(), it] };
                    let reaches = if is_it { truth(true) } else { app("hb", &edge) };
                    let there = self.valid(kind, one, &c, &place(one, at));
                    // The image is known to exist.
                    let there = if is_it || !is_for_nodes { truth(true) } else { there };
                    // The hypothesis `wanted` already says when the order is kept.
                    let keeps = if keeps == wanted { truth(true) } else { keeps };
                    ways.push(and([there, keeps, reaches]));
                }
                let to = or(ways);
                if to == truth(true) {
                    plain += 1;
                    continue;
                }
                let side = if is_before { "before" } else { "after" };
                all.push(Obligation {
                    name: format!("condition 1 for {words}, a0 = {other} {side} it"),
                    of: of.clone(),
                    hints: Vec::new(),
                    from: and([given.clone(), wanted]),
                    to,
                });
            }
        }
        Ok(Some((all, plain)))
    }
}

/// True for roles indexed by a set that may be empty and has no named element: iterations, or threads without the
/// first.
fn may_be_none(role: &Role) -> bool {
    matches!(role.each, Some(Each::Rounds | Each::Members(Members { but_first: true, .. })))
}

/// Returns the last thread of an index set of threads, or else the call's own thread.
fn last_of(role: &Role, call: &Term) -> Term {
    match role.each {
        Some(Each::Members(Members { of, .. })) => app(LAST, &[location(of, call)]),
        Some(Each::Ended(event)) => ended(event, call),
        _ => thread(call),
    }
}

/// Returns the last write of a call, before a read, to the same word of its own thread.
fn put_before<'k>(kind: &'k Kind, role: &Role) -> Option<&'k Role> {
    let cell = role.cell.as_ref().filter(|cell| cell.leaves.contains(&Leaf::Thread))?;
    let is_once = |r: &Role| r.each.is_none() && !r.each_event;
    role.reads.as_ref().filter(|_| is_once(role))?;
    let puts = |r: &&Role| r.writes.is_some() && is_once(r) && r.cell.as_ref() == Some(cell);
    let mut before = kind.concrete.iter().filter(|r| r.library == role.library && r.position.0 < role.position.0);
    before.rfind(puts)
}

impl Obligation {
    /// Returns the obligation as one closed formula.
    #[must_use]
    pub fn closed(&self) -> Term {
        let of: Vec<(&str, &str)> = self.of.iter().map(|(name, sort)| (name.as_str(), *sort)).collect();
        all(&of, implies(self.from.clone(), self.to.clone()))
    }
}

fn key_of(role: &Role, key: &Key) -> Result<Option<Pattern>, String> {
    role.key(|view| key.of(view))
}

fn of_law(law: &Law, hints: Vec<Term>) -> Obligation {
    let name = law.words.clone();
    let of = law.of.iter().map(|v| ((*v).to_owned(), ABS)).collect();
    Obligation { name, of, hints, from: law.from.clone(), to: law.to.clone() }
}
