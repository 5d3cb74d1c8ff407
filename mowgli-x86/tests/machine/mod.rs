//! The abstract machine of x86-TSO (Owens, Sarkar and Sewell 2009, §3), explored state by state: a store buffer for each
//! thread, and one memory.

use std::collections::{BTreeMap, BTreeSet};

use mowgli_core::event::{Call, Cell};
use mowgli_core::ids::Loc;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::term::code::{CodePlace, CodePoint, CodeState};
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;

/// A thread: the results of its calls so far, and its writes that are not in memory yet, oldest first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Thread {
    results: Vec<Val>,
    buffer: Vec<(Loc, Val)>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    threads: Vec<Thread>,
    memory: BTreeMap<Loc, Val>,
}

/// Returns the next call of a program after these results, or its value.
fn next(place: CodePlace<'_>, program: &Script, results: &mut impl Iterator<Item = Val>) -> Result<Val, Box<Call>> {
    let mut code = CodeState::start(program);
    loop {
        match code.next(place) {
            CodePoint::Ended(v) => return Ok(v),
            CodePoint::Call(call) => code.returned(results.next().ok_or_else(|| Box::new(call))?),
            CodePoint::Loop => code.begin(),
            CodePoint::Iteration(_) => code.go_on(true),
            other => unreachable!("{other:?}"),
        }
    }
}

impl State {
    /// Moves the oldest write of a thread to memory.
    fn flushed(&self, thread: usize) -> Option<Self> {
        let mut state = self.clone();
        let buffer = &mut state.threads[thread].buffer;
        if buffer.is_empty() {
            return None;
        }
        let (x, v) = buffer.remove(0);
        state.memory.insert(x, v);
        Some(state)
    }

    /// Returns the value that a thread reads: its newest write, or memory.
    fn read(&self, thread: usize, x: Loc) -> Val {
        let newest = self.threads[thread].buffer.iter().rev().find(|(y, _)| *y == x);
        newest.map_or_else(|| self.memory[&x], |(_, v)| *v)
    }

    /// Lets a thread make a call, if it can now.
    fn called(&self, thread: usize, call: &Call) -> Option<Self> {
        let mut state = self.clone();
        let args = &call.args;
        let is_locked = !matches!(call.method.text(), "Read" | "Write");
        if is_locked && !self.threads[thread].buffer.is_empty() {
            return None;
        }
        let result = match call.method.text() {
            "Read" => self.read(thread, call.loc(0)),
            "Write" => {
                state.threads[thread].buffer.push((call.loc(0), args[1]));
                Val::Unit
            }
            "Mfence" => Val::Unit,
            locked => {
                let old = self.memory[&call.loc(0)];
                let new = match locked {
                    "CAS" if old != args[1] => old,
                    "CAS" => args[2],
                    "Xchg" => args[1],
                    "FAA" => old.plus(args[1].int()?)?,
                    other => panic!("no instruction {other}"),
                };
                state.memory.insert(call.loc(0), new);
                old
            }
        };
        state.threads[thread].results.push(result);
        Some(state)
    }
}

/// Returns all outcomes of programs over the words of a world.
pub fn outcomes(world: &World, programs: &[Script], observed: &[Cell]) -> BTreeSet<Outcome> {
    let memory = world.objects.iter().map(|(&x, object)| (x, object.init)).collect();
    let first = State { threads: vec![Thread::default(); programs.len()], memory };
    let (mut open, mut seen, mut found) = (vec![first.clone()], BTreeSet::from([first]), BTreeSet::new());
    while let Some(state) = open.pop() {
        let nexts = world
            .tids()
            .zip(programs)
            .zip(&state.threads)
            .map(|((tid, p), t)| next(CodePlace { world, thread: tid }, p, &mut t.results.iter().copied()));
        let nexts: Vec<_> = nexts.collect();
        if nexts.iter().all(Result::is_ok) && state.threads.iter().all(|t| t.buffer.is_empty()) {
            let outputs = nexts.into_iter().flatten().collect();
            let finals = observed.iter().map(|cell| state.memory[&cell.loc]).collect();
            found.insert(Outcome { outputs, finals });
            continue;
        }
        let steps = nexts
            .iter()
            .enumerate()
            .flat_map(|(t, next)| [state.flushed(t), next.as_ref().err().and_then(|call| state.called(t, call))]);
        for state in steps.flatten() {
            if seen.insert(state.clone()) {
                open.push(state);
            }
        }
    }
    found
}
