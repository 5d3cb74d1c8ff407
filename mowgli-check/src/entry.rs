//! Errors in an entry that do not depend on its implementations. Commands report them before they check anything.

use itertools::Itertools;
use mowgli_core::algebra::{Spec, SubView};
use mowgli_core::event::{Call, Cell, Event, Sub, Writes};
use mowgli_core::ids::{Name, Tid};
use mowgli_core::library::Hints;
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::{Client, worlds};
use mowgli_core::soundness::form::wrong_form;
use mowgli_core::soundness::verdict::{Report, Verdict};
use mowgli_core::term::body::Bodies;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::misdeclared;
use mowgli_core::term::method::{self, Looks, Method, Returns};
use mowgli_core::term::shape::{ShapeTerm, SubTerm, WritesTerm};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::entry::{Entry, Variant};

use crate::error::{Code, InputError, Place};

/// Looks for errors in an entry, with the calls of clients within a bound. Ignores the calls if the time is up before
/// they are known, because the check itself then stops too.
///
/// # Errors
/// The error, and the remedy.
pub fn fault(entry: &Entry, bound: &Bound, expired: &dyn Fn() -> bool) -> Result<(), InputError> {
    let library = entry.library()?;
    if let Some(mistake) = bound.mistake() {
        return Err(wrong(mistake));
    }
    of_one_model(entry)?;
    are_formed(entry)?;
    let calls = own_calls(entry, std::slice::from_ref(bound), expired).unwrap_or_default();
    let specified = entry.specification.and(&entry.memory.libraries);
    if let Some((_, _, call)) = calls.iter().find(|(_, _, call)| specified.get(call.library).is_none()) {
        return Err(wrong(format!(
            "the subject of {} makes the call {call} of {}, which neither its specification nor the memory model has",
            entry.name, call.library
        )));
    }
    let worlds = calls.iter().map(|(world, ..)| world).dedup();
    let all = worlds.cartesian_product(&entry.variants).take_while(|_| !expired());
    if let Some(mistake) = all.into_iter().find_map(|(world, v)| misdeclared(&*v.implementation, world)) {
        return Err(wrong(mistake));
    }
    let own = || calls.iter().filter(|(_, _, call)| call.library == library.name());
    for variant in &entry.variants {
        implements(entry, variant)?;
        has_bodies(library, variant, own().map(|(.., call)| call))?;
    }
    let in_time = || own().take_while(|_| !expired());
    in_time().try_for_each(|(world, thread, call)| is_as_said(library, world, *thread, call, bound))?;
    let spec = library.spec();
    in_time().try_for_each(|(world, thread, call)| has_one_source(library, &spec, world, *thread, call, bound))?;
    // Without all calls a branch might seem to have none. The check itself says that time is up.
    if expired() {
        return Ok(());
    }
    own().map(|(.., call)| call.method).unique().try_for_each(|method| {
        let of_method = own().filter(|(.., call)| call.method == method);
        is_reached(library, of_method, bound)
    })
}

/// Checks that a variant implements the library of its entry, by calls of others.
pub(crate) fn implements(entry: &Entry, variant: &Variant) -> Result<(), InputError> {
    let target = variant.implementation.target();
    let bodies = variant.implementation.bodies().into_iter().flat_map(Bodies::iter);
    if let Some((method, _)) = bodies.into_iter().find(|(_, body)| body.calls().iter().any(|c| c.library == target)) {
        let help = "give it a name that no library below it has";
        return Err(wrong(format!("the body of {method} calls {target}, which it implements")).help(help));
    }
    if target == Name::literal(entry.name) {
        return Ok(());
    }
    let message = format!("{} of the entry {} is an implementation of {target}", variant.name, entry.name);
    Err(InputError::new(Code::Library, message))
}

/// Checks that an implementation has a body for each of these calls. Otherwise no call of the method returns.
fn has_bodies<'c>(
    library: &dyn Hints,
    variant: &Variant,
    calls: impl Iterator<Item = &'c Call>,
) -> Result<(), InputError> {
    let Some(bodies) = variant.implementation.bodies() else { return Ok(()) };
    let Some(call) = calls.into_iter().find(|call| bodies.get(call.method.text()).is_none()) else { return Ok(()) };
    let message = format!("the variant {} of {} has no body of {}", variant.name, library.name(), call.method);
    Err(declared(
        library,
        call,
        wrong(message).help("write one in `bodies!`; a call that is to wait for ever has the body `loop {}`"),
    ))
}

/// Returns the results that a call may have, if cells have their initial value or one of the bound.
fn results(library: &dyn Hints, world: &World, thread: Tid, call: &Call, bound: &Bound) -> Vec<Val> {
    let of_bound = bound.values.iter().map(|&v| Val::Int(v));
    let cells = |cell: Cell| [library.init(world, cell)].into_iter().chain(of_bound.clone()).collect();
    library.returns(world, &[], thread, call, &cells)
}

/// Checks that each branch of a method's shape has a result of one of these calls that leads into it. Otherwise no execution
/// has the branch. A branch that no execution is to have need not be reached.
fn is_reached<'c>(
    library: &dyn Hints,
    calls: impl Iterator<Item = &'c (World, Tid, Call)>,
    bound: &Bound,
) -> Result<(), InputError> {
    // The states of several words that calls make are not known here.
    let is_step = |sub: &SubTerm| matches!(sub.writes, Some(WritesTerm::Step(_) | WritesTerm::Words(_))).then_some(());
    let makes_states = |m: &Method| library.shape_terms()?.get(m.name)?.find_sub(&mut |sub| is_step(sub));
    let shapes = library.shape_terms().filter(|_| library.methods().iter().all(|m| makes_states(m).is_none()));
    let Some(shapes) = shapes else { return Ok(()) };
    // Memory can have values beside those of the bound, so a branch that only they reach is no mistake.
    let beside = bound.values.iter().max().map_or(1, |most| most.saturating_add(1));
    let bound = &Bound { values: [&bound.values[..], &[beside]].concat(), ..bound.clone() };
    let mut seen: Vec<(ShapeTerm, Call, [bool; 2])> = Vec::new();
    for (world, thread, call) in calls {
        let event = |ret| Event { thread: *thread, call: call.clone(), ret };
        for ret in results(library, world, *thread, call, bound) {
            shapes.branches(world, &event(ret), &mut |term, is_yes| {
                let at = seen.iter().position(|(known, ..)| known == term).unwrap_or_else(|| {
                    seen.push((term.clone(), call.clone(), [false; 2]));
                    seen.len() - 1
                });
                seen[at].2[usize::from(is_yes)] = true;
            });
        }
    }
    let never = ShapeTerm::never();
    for (term, call, reached) in &seen {
        let ShapeTerm::If(condition, yes, no) = term else { continue };
        let missed = [(no, false), (yes, true)].into_iter().find(|(b, is)| !reached[usize::from(*is)] && ***b != never);
        if let Some((_, is_yes)) = missed {
            let branch = if is_yes { "holds" } else { "does not hold" };
            let error = wrong(format!(
                "the shape of {} of {}: no result leads to where {condition} {branch}, so no execution has that",
                call.method,
                library.name()
            ));
            let help = "a result is read off the shape: a value that a subevent reads as ret(), or one that a condition compares \
                        by ret().is(v); the table of methods adds true and false for Bool; or else write Hints::returns";
            return Err(declared(library, call, error.help(help)));
        }
    }
    Ok(())
}

/// Checks that an entry's specification and the libraries that it is built on are over the stamp order of its memory
/// model.
fn of_one_model(entry: &Entry) -> Result<(), InputError> {
    for (part, libraries) in [("specification", &entry.specification), ("implementation", &entry.below)] {
        if let Some((a, b)) = libraries.differs_at(&entry.memory.libraries) {
            return Err(wrong(format!(
                "the {part} of {} is over another stamp order than its memory model: only one of them has {a} before {b}",
                entry.name
            )));
        }
    }
    Ok(())
}

/// Checks the form of the specifications.
fn are_formed(entry: &Entry) -> Result<(), InputError> {
    let asked = entry.variants.iter().filter_map(|variant| variant.asked.as_ref());
    let found = wrong_form([&entry.specification, &entry.below].into_iter().chain(asked));
    found.map_or(Ok(()), |found| Err(wrong(found.to_string()).help(found.help)))
}

/// Checks that the shapes of a call are right, whatever it returns. Also checks that it writes nothing if the library
/// says that it only looks.
fn is_as_said(library: &dyn Hints, world: &World, thread: Tid, call: &Call, bound: &Bound) -> Result<(), InputError> {
    let right = |event: &Event| {
        let mistake = library.wrong_shape(world, event);
        let named = |m| declared(library, call, wrong(format!("the shape of {call} of {}: {m}", library.name())));
        mistake.map_or(Ok(()), |m| Err(named(m)))
    };
    if method::find(library.methods(), call).is_some_and(|m| m.returns == Returns::Value) {
        right(&Event { thread, call: call.clone(), ret: Val::Top })?;
    }
    for ret in results(library, world, thread, call, bound) {
        let event = Event { thread, call: call.clone(), ret };
        right(&event)?;
        let shapes = if library.only_looks(&event) { library.shapes(world, &event) } else { Vec::new() };
        let changes = |sub: &&Sub| match (sub.writes, sub.cell) {
            // An update may write the value that it has read.
            (Some(Writes::Step(_)), Some(cell)) => {
                let init = library.init(world, cell);
                library.step(&event, init).is_some_and(|v| v != init)
            }
            (writes, _) => writes.is_some(),
        };
        if let Some(written) = shapes.iter().flatten().find(changes) {
            return Err(no_look(library, &event, written.cell));
        }
    }
    Ok(())
}

/// Checks that no subevent of a call is among the reads of two reads-from choices.
fn has_one_source(
    library: &dyn Hints,
    spec: &Spec,
    world: &World,
    thread: Tid,
    call: &Call,
    bound: &Bound,
) -> Result<(), InputError> {
    for ret in results(library, world, thread, call, bound) {
        let event = Event { thread, call: call.clone(), ret };
        for sub in library.shapes(world, &event).iter().flatten() {
            let sources = spec.sources(&SubView { world, event: &event, sub, nth: 0 }).collect_vec();
            if let [one, other, ..] = sources[..] {
                let error = wrong(format!(
                    "the specification of {} gives a read of {call} two sources, {one} and {other}",
                    library.name()
                ));
                return Err(declared(
                    library,
                    call,
                    error.help("let the sets of reads of the two have nothing in common"),
                ));
            }
        }
    }
    Ok(())
}

/// Makes an error in a library's file.
fn wrong(message: String) -> InputError {
    InputError::new(Code::Library, message)
}

/// Gives an error the place where a library declares the method of a call.
fn declared(library: &dyn Hints, call: &Call, error: InputError) -> InputError {
    let place = method::find(library.methods(), call).and_then(|m| m.place.rsplit_once(':'));
    let place = place.and_then(|(file, line)| Some(Place::in_source(file, line.parse().ok()?, 1)));
    match place {
        Some(place) => error.at(place),
        None => error,
    }
}

/// Returns the error for an event that writes a cell although the library says that it only looks.
fn no_look(library: &dyn Hints, event: &Event, cell: Option<Cell>) -> InputError {
    let name = library.name();
    let looks = method::find(library.methods(), &event.call).map(|m| m.looks).filter(|looks| looks.with(event.ret));
    let (says, remedy) = if let Some(word) = looks.and_then(Looks::word) {
        (format!("the method table of {name}"), format!("take `, {word}` out of the table"))
    } else {
        (format!("Hints::only_looks of {name}"), "let it be false of this call".to_owned())
    };
    let cell = cell.map_or_else(String::new, |cell| format!(" {} on node {}", cell.loc, cell.node));
    let error = wrong(format!(
        "{says} says that {event} only looks, and in its shape it writes{cell}: the write would be lost where a loop waits by it"
    ));
    declared(library, &event.call, error.help(format!("{remedy}, or let the shape write nothing")))
}

/// Refuses a variant if one of its edits cannot be made.
///
/// # Errors
/// The mistake in the edit.
pub fn mistake(entry: &Entry, variant: &Variant) -> Result<(), InputError> {
    let named = |why| wrong(format!("the variant {} of {}: {why}", variant.name, entry.name));
    variant.implementation.mistake().map_or(Ok(()), |why| Err(named(why)))
}

/// Refuses a variant if a call in the counterexample returns `()` although its method returns a value, or the other way round.
/// For example, an edit has removed the result. The verdict means nothing then.
///
/// # Errors
/// The variant and the call.
pub fn lost_result(entry: &Entry, variant: &Variant, report: &Report) -> Result<(), InputError> {
    // A mutant has no bounds of its own, and may return `()`.
    if variant.bounds.is_empty() {
        return Ok(());
    }
    let methods = entry.library()?.methods();
    let lacks = |client: &Client, outputs: &[Val]| {
        let of_thread = |(calls, output): (&Vec<Call>, &Val)| {
            let Val::Tuple(results) = output else { return None };
            let lost = calls.iter().zip(results.parts()).find(|(call, result)| {
                let is_own = call.library.text() == entry.name;
                let is_result = method::find(methods, call).map(|m| m.returns.is_result());
                is_own && is_result == Some(**result == Val::Unit)
            });
            lost.map(|(call, result)| (call.clone(), *result))
        };
        client.threads.iter().zip(outputs).find_map(of_thread)
    };
    let unsound = match &report.verdict {
        Verdict::Unsound(c) => lacks(&c.client, &c.outcome.outputs),
        _ => None,
    };
    let violated = || report.violation.as_ref().and_then(|(_, client, v)| lacks(client, &v.execution.outputs));
    let Some((call, result)) = unsound.or_else(violated) else { return Ok(()) };
    let edits = variant.implementation.edits().iter().map(|edit| format!(" `{edit}`")).join(",");
    let made = if edits.is_empty() { String::new() } else { format!(" (its edits:{edits})") };
    let (declared, help) = match result {
        Val::Unit => (
            "a value",
            "where a call with a result is left out, write what comes in its place, for example replace(calls!(.. => 0))",
        ),
        _ => {
            ("nothing", "end the body with `;`, or a loop with `break` alone; or give the method a result: `-> Value`")
        }
    };
    let message = format!(
        "the variant {} of {}: the body of {call} returns {result}, and its method returns {declared}, so every outcome of it is wrong{made}",
        variant.name, entry.name
    );
    Err(wrong(message).help(help))
}

/// Returns the calls that clients within these bounds make, in every world.
///
/// # Errors
/// If the time is up before all of them are known.
pub fn own_calls(entry: &Entry, bounds: &[Bound], expired: &dyn Fn() -> bool) -> Result<Vec<(World, Tid, Call)>, Stop> {
    let mut calls = Vec::new();
    for bound in bounds {
        for world in worlds(&*entry.subject, bound, expired)? {
            for thread in world.tids() {
                let own = entry.subject.calls(&world, thread, bound, expired);
                calls.extend(own.into_iter().map(|call| (world.clone(), thread, call)));
            }
            if expired() {
                return Err(Stop::Time);
            }
        }
    }
    calls.sort_by_cached_key(|(w, t, call)| (w.nodes, w.threads.clone(), *t, call.clone()));
    calls.dedup();
    Ok(calls)
}
