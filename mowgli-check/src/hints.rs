//! The check of a library's hints: statements that only the search uses.
//!
//! **Computes**: the first event of a consistent execution that a hint calls dispensable, although the execution
//! without it is not consistent. Also the first consistent execution that is not consistent any more when two threads, nodes or
//! integers change places, or two integers become one. [`Hints::equivariance`] rules this out. **Correct because** this is how
//! [`Hints::only_looks`] and [`Hints::remembers`] are defined. The search leaves out iterations of loops by them, so a wrong
//! hint loses executions and makes *sound* wrong. **Example**: a barrier whose calls "only look" leaves an execution with one call of two, which its rounds do
//! not admit. **Cost**: the executions of small clients, at most as many as asked for, each judged once for each such
//! event.

use std::ops::RangeInclusive;

use itertools::Itertools;
use mowgli_core::algebra::ChoiceRole;
use mowgli_core::event::{Call, Event};
use mowgli_core::execution::{Execution, Subevent};
use mowgli_core::ids::{Node, Tid};
use mowgli_core::judge::judge;
use mowgli_core::library::{Equivariance, Hints, Libraries};
use mowgli_core::search::problem::Problem;
use mowgli_core::search::solver::Flow;
use mowgli_core::soundness::client::Client;
use mowgli_core::soundness::independence::Independence;
use mowgli_core::soundness::symmetry::Symmetry;
use mowgli_core::term::bound::Bound;
use mowgli_core::world::World;
use mowgli_libraries::entry::Entry;

use crate::error::{Code, InputError};
use crate::exchange::Exchange;

/// Checks the hints of an entry's library in at most `most` executions of its clients within a bound. Returns the
/// number of events that it left out of an execution.
///
/// # Errors
/// The hint that is wrong, with the event and what fails without it.
pub fn check(entry: &Entry, bound: &Bound, most: usize, expired: &dyn Fn() -> bool) -> Result<usize, InputError> {
    let library = entry.library()?;
    let libraries = entry.specification.and(&entry.memory.libraries);
    let exchanges = exchanges(&libraries, library);
    let independence = Independence::of_library(&libraries, library.name());
    let (mut executions, mut left_out) = (0, 0);
    for (world, client) in entry.clients(bound, expired).unwrap_or_default() {
        if executions >= most || expired() {
            break;
        }
        let mut wrong = Ok(());
        each(&libraries, &world, &client, &mut |execution| {
            executions += 1;
            wrong = in_execution(&libraries, library, execution, &mut left_out);
            if wrong.is_ok() {
                let allowed = exchanges.iter().filter(|e| is_allowed(**e, execution, &independence));
                wrong = allowed.into_iter().try_for_each(|e| is_equivariant(&libraries, library, execution, *e));
            }
            wrong.is_ok() && executions < most
        });
        wrong?;
    }
    Ok(left_out)
}

/// Visits executions of a client until `visit` returns false.
fn each(libraries: &Libraries, world: &World, client: &Client, visit: &mut dyn FnMut(&Execution) -> bool) {
    let programs = client.programs();
    let problem = Problem::of(libraries, world, &programs);
    let _ = problem.explore(&mut |solver| {
        let snapshot = solver.snapshot();
        let execution = solver.complete().then(|| solver.execution()).flatten();
        solver.restore(snapshot);
        if execution.is_none_or(|e| visit(&e)) { Flow::Continue } else { Flow::Stop }
    });
}

/// Leaves each event that only looks, and each row of events that is not remembered, out of an execution, and judges the rest.
fn in_execution(
    libraries: &Libraries,
    library: &dyn Hints,
    execution: &Execution,
    left_out: &mut usize,
) -> Result<(), InputError> {
    let own = |t: Tid| execution.of_thread(t).collect_vec();
    let looks = |e: usize| {
        let event = &execution.events[e];
        event.call.library == library.name() && library.only_looks(event)
    };
    let looking =
        execution.world.tids().flat_map(own).filter(|e| looks(*e)).map(|e| (e..=e, "only_looks is true of it"));
    let rows = execution.world.tids().flat_map(|t| own(t).into_iter().combinations_with_replacement(2));
    let idle = rows.map(|ends| ends[0]..=ends[1]).filter(|row| is_idle(libraries, library, execution, row));
    let idle = idle.map(|row| (row, "remembers is false of it, and nothing reads what it writes"));
    for (row, hint) in looking.chain(idle) {
        *left_out += 1;
        if let Err(complaint) = judge(libraries, &without(libraries, execution, &row)) {
            let message = format!(
                "{} says more than is true: Hints::{hint}, for {}, and an execution that has this is not consistent without it \
                 ({complaint})",
                library.name(),
                execution.events[row].iter().join(", ")
            );
            return Err(InputError::new(Code::Library, message).help("let the hint be the other way round"));
        }
    }
    Ok(())
}

/// True if [`Hints::remembers`] is false of a row of events of a library, and nothing outside of each event reads what it writes.
fn is_idle(libraries: &Libraries, library: &dyn Hints, execution: &Execution, row: &RangeInclusive<usize>) -> bool {
    let (begin, thread) = (*row.start(), execution.events[*row.start()].thread);
    let first = execution.of_thread(thread).next().expect("the row is not empty");
    !libraries.remember(&execution.world, &execution.events[first..begin], &execution.events[row.clone()])
        && row.clone().all(|e| execution.events[e].call.library == library.name() && is_unread(libraries, execution, e))
}

/// Returns an execution without some events. A read of what one of them wrote is then a read of what that event had read.
fn without(libraries: &Libraries, execution: &Execution, left_out: &RangeInclusive<usize>) -> Execution {
    let mut execution = execution.clone();
    let is_out = |subs: &[Subevent], s: usize| left_out.contains(&subs[s].event);
    for chosen in &mut execution.chosen {
        if libraries.spec(chosen.library).and_then(|spec| spec.role(&chosen.name)) != Some(ChoiceRole::ReadsFrom) {
            continue;
        }
        let source = |s: usize| chosen.pairs.iter().find(|(_, r)| *r == s).map(|(w, _)| *w);
        let kept = |&(w, r): &(usize, usize)| {
            let mut from = Some(w);
            while let Some(w) = from.filter(|w| is_out(&execution.subs, *w)) {
                from = source(w);
            }
            from.map(|w| (w, r))
        };
        chosen.pairs = chosen.pairs.iter().filter_map(kept).collect();
    }
    execution.restricted(|e| !left_out.contains(&e)).0
}

/// Returns the exchanges that change nothing, as the library says.
fn exchanges(libraries: &Libraries, library: &dyn Hints) -> Vec<Exchange> {
    let names = [Exchange::Threads(Tid(1), Tid(2)), Exchange::Nodes(Node(1), Node(2))];
    let symmetry = Symmetry::of_library(libraries, library.name());
    match library.equivariance() {
        Equivariance::Unknown => Vec::new(),
        Equivariance::Names => names.into(),
        data => {
            let merged = Some(Exchange::Merged(1, 2)).filter(|_| data == Equivariance::DataIndependent);
            let renamed = Some(Exchange::Integers(1, 2)).filter(|_| [1, 2].iter().all(|i| symmetry.renames(*i)));
            names.into_iter().chain(renamed).chain(merged).collect()
        }
    }
}

/// Whether an exchange applies to an execution. Integers may become equal where they are only moved.
fn is_allowed(exchange: Exchange, execution: &Execution, independence: &Independence) -> bool {
    let Exchange::Merged(_, gone) = exchange else { return true };
    let is_moved = |call: &Call| {
        let mut args = (0..call.args.len()).filter(|&at| call.args[at].integers().contains(&gone));
        args.all(|at| independence.has(call, at))
    };
    execution.events.iter().all(|e| is_moved(&e.call))
}

/// Makes two names or integers change places in an execution, and judges it again.
fn is_equivariant(
    libraries: &Libraries,
    library: &dyn Hints,
    execution: &Execution,
    exchange: Exchange,
) -> Result<(), InputError> {
    let wrong = |what: String| {
        let message = format!(
            "{} says more than is true: Hints::equivariance is {:?}, and {what} after {exchange:?}",
            library.name(),
            library.equivariance()
        );
        InputError::new(Code::Library, message).help("let the hint say less")
    };
    let named = match exchange {
        Exchange::Threads(_, b) => execution.world.tids().any(|t| t == b),
        Exchange::Nodes(_, b) => execution.world.all_nodes().contains(b),
        Exchange::Integers(..) | Exchange::Merged(..) => true,
    };
    if !named {
        return Ok(());
    }
    let image = exchange.execution(libraries, execution);
    let image = image.map_err(|event| wrong(format!("{event} has other subevents")))?;
    judge(libraries, &image).map_err(|complaint| wrong(format!("an execution is not consistent ({complaint})")))?;
    let answers = |execution: &Execution| {
        let all: Vec<&Event> = execution.events.iter().filter(|e| e.call.library == library.name()).collect();
        let world = &execution.world;
        let of_calls = all.iter().filter(|e| library.only_looks(e) || !library.is_remembered(&e.call)).count();
        (library.is_well_formed(world, &all), library.must_return(world, &all), of_calls)
    };
    if answers(execution) == answers(&image) { Ok(()) } else { Err(wrong("another hint changes".to_owned())) }
}

/// True if no read of another event has its value from this one.
fn is_unread(libraries: &Libraries, execution: &Execution, event: usize) -> bool {
    let of = |s: usize| execution.subs[s].event;
    let sources = execution.chosen_as(libraries, ChoiceRole::ReadsFrom);
    sources.flat_map(|choice| &choice.pairs).all(|&(w, r)| of(w) != event || of(r) == event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mowgli_core::algebra::Spec;
    use mowgli_core::event::Shape;
    use mowgli_core::ids::Name;
    use mowgli_core::library::{Library, PlainSet};
    use mowgli_core::term::method::Method;
    use mowgli_core::term::shape::Shapes;
    use mowgli_libraries::bal::{self, Bal};
    use mowgli_libraries::catalogue::catalogue;
    use mowgli_libraries::entry::bound;
    use mowgli_libraries::sv::{self, Sv};
    use mowgli_libraries::x86;

    /// A barrier with the hint that its calls only look.
    struct Idle;

    impl Library for Idle {
        fn name(&self) -> Name {
            Bal::Plain.name()
        }

        fn methods(&self) -> &'static [Method] {
            Bal::Plain.methods()
        }

        fn shapes_by_function(&self, world: &World, event: &Event) -> Vec<Shape> {
            Bal::Plain.shapes_by_function(world, event)
        }

        fn admitted(&self) -> PlainSet<'_> {
            PlainSet::InRounds
        }

        fn spec(&self) -> Spec {
            Bal::Plain.spec()
        }
    }

    impl Hints for Idle {
        fn only_looks(&self, _: &Event) -> bool {
            true
        }
    }

    #[test]
    fn a_hint_that_is_wrong_is_an_error() {
        let entry = bal::entry(Bal::Plain);
        let specification = Libraries::like(&entry.memory.libraries).with(Idle);
        let why = check(&Entry { specification, ..entry }, &bound(2, 2, 1), 10, &|| false).unwrap_err();
        assert!(
            why.message.starts_with("bal says more than is true: Hints::only_looks is true of it, for BAR("),
            "{why}"
        );
    }

    /// A barrier whose calls on node 2 have no subevent for the network.
    struct Lopsided;

    impl Library for Lopsided {
        fn name(&self) -> Name {
            Bal::Plain.name()
        }

        fn methods(&self) -> &'static [Method] {
            Bal::Plain.methods()
        }

        fn shapes_by_function(&self, world: &World, event: &Event) -> Vec<Shape> {
            let mut shapes = Bal::Plain.shapes_by_function(world, event);
            if world.node_of(event.thread) == Node(2) {
                shapes.iter_mut().for_each(|shape| *shape = shape.iter().copied().skip(1).collect());
            }
            shapes
        }

        fn admitted(&self) -> PlainSet<'_> {
            PlainSet::InRounds
        }

        fn spec(&self) -> Spec {
            Bal::Plain.spec()
        }
    }

    impl Hints for Lopsided {
        fn equivariance(&self) -> Equivariance {
            Equivariance::Names
        }
    }

    #[test]
    fn an_equivariance_that_is_wrong_is_an_error() {
        let entry = bal::entry(Bal::Plain);
        let specification = Libraries::like(&entry.memory.libraries).with(Lopsided);
        let why = check(&Entry { specification, ..entry }, &bound(2, 2, 1), 100, &|| false).unwrap_err();
        assert!(why.message.contains("Hints::equivariance is Names, and BAR("), "{why}");
    }

    /// Shared variables to which no value is written twice.
    struct Distinct;

    impl Library for Distinct {
        fn name(&self) -> Name {
            Sv.name()
        }

        fn methods(&self) -> &'static [Method] {
            Sv.methods()
        }

        fn shape_terms(&self) -> Option<&Shapes> {
            Sv.shape_terms()
        }

        fn admitted(&self) -> PlainSet<'_> {
            PlainSet::Where(Box::new(|_, events| {
                let writes = || events.iter().filter(|e| e.call.method.text() == "Write").map(|e| e.call.args[1]);
                writes().all(|v| writes().filter(|w| *w == v).count() == 1)
            }))
        }

        fn spec(&self) -> Spec {
            Sv.spec()
        }
    }

    impl Hints for Distinct {
        fn equivariance(&self) -> Equivariance {
            Equivariance::DataIndependent
        }
    }

    #[test]
    fn a_library_that_compares_data_is_not_independent_of_it() {
        let entry = sv::entry();
        let specification = Libraries::like(&entry.memory.libraries).with(Distinct);
        let small = Bound { values: vec![1, 2], total: Some(2), ..bound(1, 1, 2) };
        let why = check(&Entry { specification, ..entry }, &small, 1000, &|| false).unwrap_err();
        assert!(why.message.contains("after Merged(1, 2)"), "{why}");
    }

    #[test]
    fn the_hints_of_all_libraries_are_true() {
        let mut left_out = 0;
        for entry in catalogue().iter().chain(&x86::catalogue()) {
            let small = Bound { total: Some(3), values: vec![1, 2], ..bound(2, 2, 2) };
            left_out += check(entry, &small, 200, &|| false).unwrap_or_else(|why| panic!("{why}"));
        }
        assert!(left_out > 1000, "{left_out}");
    }
}
