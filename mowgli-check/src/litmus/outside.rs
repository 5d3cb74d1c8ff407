//! Tests that are outside of what a specification covers. A thread makes a call without having that role, or the client breaks
//! an assumption. An example is a lock that is not released.
//!
//! **Computes** a line for each. **Example**: `submit(q, 1)` by a reader of the ring `q` never returns, because only its writer
//! submits. **Correct because** a shape names the callers ([`mowgli_core::term::shape::Shapes::callers`]), and
//! [`mowgli_core::library::Library::covered`] is the assumption. Calls of threads without branches are known before a search.
//! For other threads the search has seen which executions are not covered.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::event::{Call, Event};
use mowgli_core::ids::{Name, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::search::fault::assumption;
use mowgli_core::search::problem::Problem;
use mowgli_core::value::Val;

use super::test::{Arg, Statement, Test, TestThread};

/// Returns a line for each call that its thread may not make, and for each library whose assumption some execution breaks.
/// `uncovered` are the libraries of which a search has seen that.
#[must_use]
pub fn outside(libraries: &Libraries, test: &Test, uncovered: &BTreeSet<Name>) -> Vec<String> {
    let threads = || test.world.tids().zip(&test.threads);
    let of_thread = |(t, thread): (Tid, &TestThread)| {
        let lines = thread.source.iter().map(|(line, text)| (*line, text.clone())).collect_vec();
        let is_in_branch = |at: usize| (0..at).any(|o| thread.statements[o].opens() && thread.end(o) > at);
        let all = events(t, thread).into_iter();
        all.map(move |(at, event)| (event, (lines[at].clone(), is_in_branch(at)))).collect_vec()
    };
    let known = threads().flat_map(of_thread).collect_vec();
    let by_role = known.iter().filter_map(|(event, ((line, text), is_in_branch))| {
        let callers = libraries.get(event.call.library)?.shape_terms()?.callers(&test.world, event)?;
        let name = |v: &Val| match v {
            Val::Thread(t) => test.threads[t.index()].name.to_string(),
            other => other.to_string(),
        };
        let own = test.threads[event.thread.index()].name;
        let who = callers.iter().map(name).join(", ");
        let comes = if *is_in_branch { " if it comes there" } else { "" };
        (!callers.contains(&event.thread.into())).then(|| {
            format!("{own} may not call {text} (line {line}), and waits there for ever{comes}: only {who} may")
        })
    });
    let mut broken = uncovered.clone();
    if threads().all(|(_, thread)| !thread.statements.iter().any(Statement::opens)) {
        let events = known.iter().map(|(event, _)| event).filter(|e| !e.call.args.contains(&Val::Top)).collect_vec();
        Problem::of(libraries, &test.world, &[]).add_uncovered(&events, &mut broken);
    }
    let assumption = |name: &Name| {
        let broken = libraries.get(*name).map(assumption)?;
        Some(format!("the test breaks {broken}, and then {name} promises nothing"))
    };
    by_role.chain(broken.iter().filter_map(assumption)).unique().collect()
}

/// Returns the calls of a thread, each with the position of its statement. An argument that the run decides is [`Val::Top`].
fn events(thread: Tid, of: &TestThread) -> Vec<(usize, Event)> {
    let call = |statement: &Statement| {
        let statement = if let Statement::Await { call, .. } = statement { call } else { statement };
        let Statement::Call { library, method, args, .. } = statement else { return None };
        // A role is one for an object, which is seldom in a register.
        let known = |arg: &Arg| if let Arg::Val(v) = arg { *v } else { Val::Top };
        Some(Call::new(*library, method, &args.iter().map(known).collect_vec()))
    };
    let all = of.statements.iter().enumerate();
    all.filter_map(|(at, s)| Some((at, Event { thread, call: call(s)?, ret: Val::Unit }))).collect()
}
