//! Values: the data of calls, the values that subevents read and write, and sums.

use mowgli_core::value::Val;

use crate::error::{Refusal, refusal};
use crate::smt::term::{Term, app, equal, not};
use crate::template::kind::{Guard, Kind, Read, Role, Write};
use crate::template::pattern::{Datum, Leaf};

use super::symbols::{RETURNED, number_in, own, passed_to, plus, result_of, tuple, value};

/// Returns the term that a leaf of a pattern names, for a call and the index of a subevent.
pub(super) fn leaf_of(kind: &Kind, role: &Role, leaf: Leaf, call: &Term, at: &Term) -> Result<Term, Refusal> {
    let of_call = |name: String| app(&name, [call]);
    Ok(match leaf {
        Leaf::Thread => app("thread", [call]),
        Leaf::Own => own(call),
        Leaf::At | Leaf::Member => at.clone(),
        Leaf::Home(i) => app("home", [of_call(format!("location.{i}"))]),
        Leaf::Node(i) => of_call(format!("node.{i}")),
        Leaf::Location(i) => of_call(format!("location.{i}")),
        Leaf::Identifier(i) => of_call(format!("identifier.{i}")),
        Leaf::Count => return Err(refusal!("{} is counted where it cannot be", role.words)),
        Leaf::Named(of) => {
            let place = place_of_event(kind, role, of.0, call, at)?;
            app(&number_in(&kind.name, of), [call.clone(), place])
        }
        Leaf::Datum(datum) => datum_of(kind, role, datum, call, at)?,
    })
}

/// Returns the index of an event: the call's own node, or the index of the subevent that speaks of the event.
fn place_of_event(kind: &Kind, role: &Role, event: usize, call: &Term, at: &Term) -> Result<Term, Refusal> {
    let several = kind.concrete.iter().any(|r| r.position.0 == event && r.each_event);
    let is_own = role.each_event && role.position.0 == event;
    match (several, is_own) {
        (false, _) => Ok(own(call)),
        (true, true) => Ok(at.clone()),
        (true, false) => Err(refusal!("{} uses one of several results", role.words)),
    }
}

/// Returns the term for a datum of a call, where a subevent with this role and index speaks of it.
pub(crate) fn datum_of(kind: &Kind, role: &Role, datum: Datum, call: &Term, at: &Term) -> Result<Term, Refusal> {
    datum_at(kind, datum, call, &|event| place_of_event(kind, role, event, call, at))
}

/// Returns the term for a datum of a call. `place` returns the index of an event.
fn datum_at(
    kind: &Kind,
    datum: Datum,
    call: &Term,
    place: &dyn Fn(usize) -> Result<Term, Refusal>,
) -> Result<Term, Refusal> {
    let of_call = |name: String| app(&name, [call]);
    Ok(match datum {
        Datum::Argument(i) => of_call(format!("datum.{i}")),
        Datum::Word(i, word) => of_call(format!("datum.{i}.{word}")),
        Datum::Initial(i) => app("init", [of_call(format!("location.{i}"))]),
        Datum::Constant(of) => value(of),
        Datum::Returned => of_call(RETURNED.to_owned()),
        Datum::Results(first, words) => {
            let words = (first..first + words).map(|event| datum_at(kind, Datum::Result(event), call, place));
            tuple(words.collect::<Result<Vec<_>, _>>()?)
        }
        Datum::Result(event) | Datum::Sum(event, _) | Datum::Passed(event, _) => {
            let name = match datum {
                Datum::Passed(_, argument) => passed_to(&kind.name, event, argument),
                _ => result_of(&kind.name, event),
            };
            let result = app(&name, [call.clone(), place(event)?]);
            if let Datum::Sum(_, k) = datum { app(&plus(k), [result]) } else { result }
        }
    })
}

/// Returns the formula "the data of the call satisfy the guard". A guard speaks of events that a call makes once.
pub(super) fn guarded(kind: &Kind, guard: Guard, call: &Term) -> Term {
    let term = |datum| datum_at(kind, datum, call, &|_| Ok(own(call))).expect("the index is known");
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
pub(super) fn constants(data: impl Iterator<Item = Datum>) -> impl Iterator<Item = Val> {
    data.flat_map(|datum| match datum {
        Datum::Constant(Val::Tuple(words)) => words.parts().to_vec(),
        Datum::Constant(value) => vec![value],
        _ => Vec::new(),
    })
}
