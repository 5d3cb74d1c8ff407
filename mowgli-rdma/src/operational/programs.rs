//! How far programs are.

use std::collections::BTreeMap;

use mowgli_core::event::{Call, Event};
use mowgli_core::ids::Tid;
use mowgli_core::program::Prog;
use mowgli_core::value::Val;

/// What a thread does next.
#[derive(Clone)]
pub(super) enum Next {
    Call(Call),
    End(Val),
    /// It goes round and round without a call.
    Spin,
}

/// The programs as trees: a place for each sequence of results.
pub(super) struct Programs<'a> {
    programs: &'a [Prog],
    /// What comes next, and the calls so far.
    places: Vec<(Next, Vec<Event>)>,
    known: BTreeMap<(usize, u32, Val), u32>,
}

/// How many steps without a call are looked at before a program is taken to spin.
const SILENT: usize = 10_000;

impl<'a> Programs<'a> {
    pub(super) fn new(programs: &'a [Prog]) -> Self {
        Self { programs, places: Vec::new(), known: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, thread: usize, earlier: Vec<Event>) -> u32 {
        let place = u32::try_from(self.places.len()).expect("fewer places than states");
        let results: Vec<Val> = earlier.iter().map(|e| e.ret).collect();
        self.places.push((next(&self.programs[thread], &results), earlier));
        place
    }

    pub(super) fn next(&self, place: u32) -> &Next {
        &self.places[place as usize].0
    }

    pub(super) fn earlier(&self, place: u32) -> &[Event] {
        &self.places[place as usize].1
    }

    /// The place after the next call returned this.
    pub(super) fn after(&mut self, thread: usize, place: u32, ret: Val) -> u32 {
        if let Some(&known) = self.known.get(&(thread, place, ret)) {
            return known;
        }
        let Next::Call(call) = self.next(place).clone() else { unreachable!("only calls return") };
        let event = Event { thread: Tid::from_index(thread), call, ret };
        let earlier = [self.earlier(place), &[event]].concat();
        let after = self.add(thread, earlier);
        self.known.insert((thread, place, ret), after);
        after
    }
}

/// The next call of a program whose calls so far had these results.
fn next(program: &Prog, results: &[Val]) -> Next {
    enum Value {
        Done(Val, usize),
        Stopped(Next),
    }
    pub(super) fn run(program: &Prog, results: &mut std::slice::Iter<'_, Val>, silent: &mut usize) -> Value {
        match program {
            Prog::Val(v) => Value::Done(*v, 0),
            Prog::Break(k, v) => Value::Done(*v, *k),
            Prog::Call(call) => match results.next() {
                Some(&result) => Value::Done(result, 0),
                None => Value::Stopped(Next::Call(call.clone())),
            },
            Prog::Let(first, f) => match run(first, results, silent) {
                Value::Done(v, 0) => run(&f(v), results, silent),
                other => other,
            },
            Prog::Loop(body) => loop {
                let before = results.len();
                match run(body, results, silent) {
                    Value::Done(_, 0) => {}
                    Value::Done(v, breaks) => return Value::Done(v, breaks - 1),
                    stopped @ Value::Stopped(_) => return stopped,
                }
                *silent = if results.len() == before { *silent + 1 } else { 0 };
                if *silent > SILENT {
                    return Value::Stopped(Next::Spin);
                }
            },
        }
    }
    match run(program, &mut results.iter(), &mut 0) {
        Value::Done(v, _) => Next::End(v),
        Value::Stopped(next) => next,
    }
}
