//! The names of sorts, functions and constants of the theory, and the terms for parts of a call.

use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::value::Val;

use crate::smt::term::{TUPLE, Term, and, app, equal, not, symbol, truth};
use crate::template::kind::{Kind, Role};
use crate::template::pattern::{Each, Leaf, Members, Named, Nodes, Whole};

/// The sort of the subevents of implementations.
pub const SUB: &str = "Sub";

/// The sort of the subevents of calls, as the specification says.
pub const ABS: &str = "Abs";

/// Returns the prefix of the names of a specification. No other name has its last character, so a library may have any name.
pub(crate) fn of_library(library: Name) -> String {
    format!("{library}/")
}

pub(super) fn role_sort(sort: &str) -> &'static str {
    if sort == SUB { "Role" } else { "Promise" }
}

/// Returns the sort of the part of a value that a leaf of a pattern names.
pub(super) fn sort_of(leaf: Leaf) -> &'static str {
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
pub(super) fn value(of: Val) -> Term {
    let Val::Tuple(words) = of else { return symbol(&constant(of)) };
    tuple(words.parts().iter().map(|word| value(*word)))
}

/// Returns the term for the tuple of these values.
pub(super) fn tuple(words: impl IntoIterator<Item = Term>) -> Term {
    let words: Vec<Term> = words.into_iter().collect();
    app(&format!("{TUPLE}{}", words.len()), &words)
}

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
    app("node", [app("thread", [call])])
}

pub(crate) fn thread(call: &Term) -> Term {
    app("thread", [call])
}

pub(crate) fn location(i: usize, call: &Term) -> Term {
    app(&format!("location.{i}"), [call])
}

/// Returns the formula "this place is in the index set".
pub(super) fn in_range(each: Each, call: &Term, place: &Term) -> Term {
    match each {
        Each::Members(Members { of, but_first }) => {
            app(if but_first { OTHER } else { TAKES_PART }, [location(of, call), place.clone()])
        }
        Each::Ended(event) => equal(place, ended(event, call)),
        Each::Rounds => app(IS_ROUND, [call, place]),
        Each::Nodes(Nodes { of, but_own }) => {
            let member = match of {
                Whole::All => truth(true),
                Whole::Argument(i) => app(&format!("in.{i}"), [call, place]),
                Whole::Members(i) => app(HAS_MEMBER, [location(i, call), place.clone()]),
                Whole::First(i) => equal(place, app(FIRST_AT, [location(i, call)])),
                Whole::Others(i) => app(HAS_OTHER, [location(i, call), place.clone()]),
            };
            let other = if but_own { not(equal(place, own(call))) } else { truth(true) };
            and([member, other])
        }
    }
}

/// The predicate of the threads that take part in an object.
pub const TAKES_PART: &str = "takes.part";

/// The predicate of the nodes with a thread that takes part in an object.
pub const HAS_MEMBER: &str = "has.member";

/// Some thread on a node that takes part in an object.
pub const MEMBER_AT: &str = "member.at";

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
pub(super) fn place_sort(each: Option<Each>) -> &'static str {
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
pub(super) fn place_of(role: &Role, call: &Term, node: &Term, thread: &Term) -> Term {
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
    app(&ended_at(event), [call])
}

/// Returns the name of the function from calls to the threads at which their loops ended.
#[must_use]
pub fn ended_at(event: usize) -> String {
    format!("ended.{event}")
}

/// Returns the term for the subevent or promise of a role.
pub(crate) fn the(role: &Role, call: &Term, place: &Term) -> Term {
    app(&format!("the.{}", role.name), [call, place])
}

/// Returns the term for g(s), the subevent that stands for a promise.
pub(crate) fn image(promise: &Term) -> Term {
    app("g", [promise])
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

/// Returns the formula "in this iteration the event at this position happens in this way".
pub(super) fn happens_in(event: usize, way: usize, call: &Term, round: &Term) -> Term {
    app(&way_of(event, way), [call, round])
}

/// Returns the name of the predicate of the iterations in which an event happens in this way.
#[must_use]
pub fn way_of(event: usize, way: usize) -> String {
    format!("way.{event}.{way}")
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
