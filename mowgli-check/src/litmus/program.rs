//! The programs of a test's threads.

use std::collections::BTreeSet;
use std::sync::Arc;

use im::OrdMap;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::term::program::Prog;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::crash::{crashing, or_stops};

use crate::catalogue::Catalogue;

use super::test::{Arg, RegisterCondition, Statement, Test, TestThread};

impl Test {
    /// Builds the program of each thread; its value is the tuple of its registers. A `while` is unrolled as long as its
    /// iterations begin with other values of registers, at most `rounds` times.
    #[must_use]
    pub fn programs(&self, rounds: usize) -> Vec<Prog> {
        let world = Arc::new(self.world.clone());
        let libraries = Arc::new(Catalogue::builtin().libraries(self.model));
        let program = |(tid, thread): (Tid, &TestThread)| {
            let crashes = self.world.may_stop(tid);
            let memory = self.model.memory();
            let (thread, world, libraries) = (thread.clone(), Arc::clone(&world), Arc::clone(&libraries));
            let body = ThreadBody { live: live(&thread), tid, thread, world, libraries, rounds, crashes, memory };
            let length = body.thread.statements.len();
            let program = Arc::new(body).run(0, length, OrdMap::new());
            if crashes { crashing(program) } else { program }
        };
        self.world.tids().zip(&self.threads).map(program).collect()
    }
}

/// The statement and the registers of a thread at some time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The position of the statement that it is in; `None` at its end.
    pub statement: Option<usize>,
    /// Its registers.
    pub registers: Vec<Val>,
}

impl Test {
    /// Replays a thread with these results of its calls, and returns the statement at which they are used up.
    #[must_use]
    pub fn standing(&self, thread: usize, results: &[Val]) -> Standing {
        let crashes = self.world.may_stop(Tid::from_index(thread));
        let thread = &self.threads[thread];
        let mut replay = ThreadReplay { thread, crashes, results, registers: OrdMap::new() };
        let statement = replay.last_statement();
        let registers = thread.registers.iter().map(|r| held(&replay.registers, *r)).collect();
        Standing { statement, registers }
    }
}

/// The statements of a thread, made with the results that its calls have had.
struct ThreadReplay<'a> {
    thread: &'a TestThread,
    crashes: bool,
    /// The results that are left.
    results: &'a [Val],
    registers: Registers,
}

/// The error that the results are used up.
struct UsedUp;

impl ThreadReplay<'_> {
    fn result(&mut self) -> Result<Val, UsedUp> {
        let (first, rest) = self.results.split_first().ok_or(UsedUp)?;
        self.results = rest;
        Ok(*first)
    }

    /// Returns the statement at which the results are used up; `None` if the thread comes to its end.
    fn last_statement(&mut self) -> Option<usize> {
        let mut at = 0;
        // A loop without a call goes round for ever with the same registers.
        let mut been: Vec<(usize, usize, Registers)> = Vec::new();
        while at < self.thread.statements.len() {
            if matches!(self.thread.statements[at], Statement::While(_)) {
                let now = (at, self.results.len(), self.registers.clone());
                if been.contains(&now) {
                    return Some(at);
                }
                been.push(now);
            }
            match self.next(at) {
                Ok(next) => at = next?,
                Err(UsedUp) => return Some(at),
            }
        }
        None
    }

    /// Returns the statement after the one at `at`; `None` if the thread has stopped.
    fn next(&mut self, at: usize) -> Result<Option<usize>, UsedUp> {
        let thread = self.thread;
        let statement = &thread.statements[at];
        let next = thread.next(at);
        let holds = |registers: &Registers, guard: &RegisterCondition| holds(registers, guard);
        match statement {
            Statement::Call { .. } | Statement::Await { .. } if self.crashes && self.result()? != Val::Bool(true) => {
                return Ok(None);
            }
            Statement::Call { register, .. } => {
                for _ in statement.sent() {
                    self.result()?;
                }
                let result = self.result()?;
                self.registers = set(&self.registers, *register, result);
            }
            Statement::Await { call, until, value: awaited } => {
                let awaited = value(&self.registers, awaited);
                loop {
                    let result = self.result()?;
                    self.registers = set(&self.registers, call.register(), result);
                    if until.holds(result, awaited) {
                        break;
                    }
                }
            }
            Statement::Set(r, arg) => self.registers = self.registers.update(*r, value(&self.registers, arg)),
            Statement::If(guard) | Statement::While(guard) if !holds(&self.registers, guard) => {
                return Ok(Some(next[1]));
            }
            _ => {}
        }
        Ok(next.first().copied())
    }
}

/// The values of the registers. The map is persistent, so the states after different results share all other registers.
/// A register that is not set is 0.
type Registers = OrdMap<Name, Val>;

/// Returns the value of a register, which is 0 as long as it is not set.
fn held(registers: &Registers, r: Name) -> Val {
    registers.get(&r).copied().unwrap_or(Val::Int(0))
}

fn value(registers: &Registers, arg: &Arg) -> Val {
    arg.value(&|r| held(registers, r))
}

fn holds(registers: &Registers, guard: &RegisterCondition) -> bool {
    guard.is_true(&|arg| value(registers, arg))
}

struct ThreadBody {
    tid: Tid,
    thread: TestThread,
    world: Arc<World>,
    /// The libraries of its model.
    libraries: Arc<Libraries>,
    /// For each statement the registers whose values may still matter before it.
    live: Vec<BTreeSet<Name>>,
    rounds: usize,
    /// Whether it may stop before each of its calls.
    crashes: bool,
    /// The library of its memory words.
    memory: Name,
}

impl ThreadBody {
    /// Builds the program of the statements from `at` to `end`; its value is the tuple of all registers.
    fn run(self: &Arc<Self>, at: usize, end: usize, registers: Registers) -> Prog {
        if at == end {
            return Prog::Val(self.tuple(&registers));
        }
        if let Some(wrong) = self.wrong(at, &registers) {
            return wrong;
        }
        if self.crashes && matches!(self.thread.statements[at], Statement::Call { .. } | Statement::Await { .. }) {
            let output = self.tuple(&registers);
            return or_stops(self.made(at, end, registers), output, self.loops(at));
        }
        self.made(at, end, registers)
    }

    /// Returns a call that no program may make, with the text of a statement as its name, and the fault as its argument. There is
    /// none if what it adds has a sum, its elements exist, and the thread may access its words.
    fn wrong(&self, at: usize, registers: &Registers) -> Option<Prog> {
        let held = |r| held(registers, r);
        let args: Vec<&Arg> = match &self.thread.statements[at] {
            Statement::Call { args, .. } => args.iter().collect(),
            Statement::Set(_, arg) => vec![arg],
            Statement::Await { call, value, .. } => match &**call {
                Statement::Call { args, .. } => args.iter().chain([value]).collect(),
                _ => vec![value],
            },
            Statement::Assume(guard) | Statement::If(guard) | Statement::While(guard) => guard.names(),
            Statement::Else | Statement::End => Vec::new(),
        };
        let sum = "numbers have sums, and a number and an element of an array, and no other values";
        let sum = args.iter().any(|arg| arg.has_no_sum(&held)).then(|| sum.to_owned());
        let element = || {
            let (array, index) = args.iter().find_map(|arg| arg.wrong_element(&self.world, &held))?;
            Some(match index {
                Val::Int(_) => format!("{array}[{index}] is not declared"),
                _ => format!("{index} is the number of no element of {array}"),
            })
        };
        let fault = sum.or_else(element).or_else(|| self.wrong_access(at, registers))?;
        let (line, text) = &self.thread.source[at];
        let text = Name::new(&format!("`{text}` in line {line}"));
        Some(Prog::call(Call::new(self.memory, text.text(), &[Val::Loc(Loc::new(&fault))])))
    }

    /// Returns the fault of an access of a word whose place is in a register.
    fn wrong_access(&self, at: usize, registers: &Registers) -> Option<String> {
        let statement = match &self.thread.statements[at] {
            Statement::Await { call, .. } => call,
            statement => statement,
        };
        let Statement::Call { library, args, .. } = statement else { return None };
        let is_computed = |arg: &Arg| !arg.registers().is_empty();
        if *library != self.memory || !args.iter().any(is_computed) {
            return None;
        }
        self.libraries.get(*library)?.fault(&self.world, self.tid, &call_of(statement, registers)?)
    }

    /// Returns the number of loops that a statement is in.
    fn loops(&self, at: usize) -> usize {
        let is_around =
            |&o: &usize| matches!(self.thread.statements[o], Statement::While(_)) && self.thread.end(o) > at;
        (0..at).filter(is_around).count()
    }

    /// Builds the same program for a thread that does not stop before its first statement.
    fn made(self: &Arc<Self>, at: usize, end: usize, registers: Registers) -> Prog {
        match &self.thread.statements[at] {
            Statement::Set(r, arg) => self.run(at + 1, end, registers.update(*r, value(&registers, arg))),
            Statement::Call { register, .. } => {
                let (body, register) = (Arc::clone(self), *register);
                let statement = &self.thread.statements[at];
                let call = self.sent(statement, &registers).then(called(statement, &registers));
                call.bind(move |v| body.run(at + 1, end, set(&registers, register, v)))
            }
            Statement::Await { call, until, value: awaited } => {
                let (awaited, until) = (value(&registers, awaited), *until);
                let round = called(call, &registers)
                    .bind(move |v| if until.holds(v, awaited) { Prog::Break(1, v) } else { Prog::unit() });
                let (body, register) = (Arc::clone(self), call.register());
                round.repeat().bind(move |v| body.run(at + 1, end, set(&registers, register, v)))
            }
            Statement::Assume(guard) if holds(&registers, guard) => self.run(at + 1, end, registers),
            // Executions that come here do not count.
            Statement::Assume(_) => Prog::Break(usize::MAX, Val::Unit),
            Statement::If(guard) => {
                let (other, over) = (self.thread.other(at), self.thread.end(at));
                let own = match holds(&registers, guard) {
                    true => self.run(at + 1, other, registers),
                    false => self.run((other + 1).min(over), over, registers),
                };
                self.then(own, over + 1, end)
            }
            Statement::While(_) => {
                let over = self.thread.end(at);
                self.then(self.rounds(at, registers, self.rounds), over + 1, end)
            }
            Statement::Else | Statement::End => unreachable!("a block ends before these"),
        }
    }

    /// Builds the writes of private words that come before a call.
    fn sent(&self, call: &Statement, registers: &Registers) -> Prog {
        let Statement::Call { library, args, .. } = call else { unreachable!("only calls send") };
        let write = |arg: &Arg| match arg {
            Arg::Sent(x, sent) => {
                Some(Prog::call(Call::new(*library, "Write", &[(*x).into(), value(registers, sent)])))
            }
            _ => None,
        };
        Prog::all(args.iter().filter_map(write))
    }

    /// Builds a block, and then the statements from `at` to `end`.
    fn then(self: &Arc<Self>, block: Prog, at: usize, end: usize) -> Prog {
        let body = Arc::clone(self);
        block.bind(move |state| body.run(at, end, body.registers(state)))
    }

    /// Builds the iterations of the `while` at `at` until its condition fails. A loop of the calculus repeats the same
    /// iteration. So one loop covers the iterations that begin with the same registers, as far as these matter. An
    /// iteration that leaves other registers ends it, and the next loop begins with these. At most `left` more loops
    /// follow.
    fn rounds(self: &Arc<Self>, at: usize, registers: Registers, left: usize) -> Prog {
        if !self.goes_round(at, &registers) {
            return Prog::Val(self.tuple(&registers));
        }
        if let Some(wrong) = self.wrong(at, &registers) {
            return wrong;
        }
        let (body, begun) = (Arc::clone(self), registers.clone());
        let round = self.run(at + 1, self.thread.end(at), registers).bind(move |state| {
            let after = body.registers(state);
            let is_same = body.live[at + 1].iter().all(|r| held(&begun, *r) == held(&after, *r));
            if is_same && body.goes_round(at, &after) { Prog::unit() } else { Prog::Break(1, state) }
        });
        let body = Arc::clone(self);
        round.repeat().bind(move |state| {
            let after = body.registers(state);
            if left == 0 && body.goes_round(at, &after) {
                Prog::Bound
            } else {
                body.rounds(at, after, left.saturating_sub(1))
            }
        })
    }

    fn goes_round(&self, at: usize, registers: &Registers) -> bool {
        matches!(&self.thread.statements[at], Statement::While(guard) if holds(registers, guard))
    }

    fn tuple(&self, registers: &Registers) -> Val {
        Val::tuple(&self.thread.registers.iter().map(|r| held(registers, *r)).collect::<Vec<_>>())
    }

    /// Returns the registers of which this is the tuple.
    fn registers(&self, state: Val) -> Registers {
        let Val::Tuple(values) = state else { unreachable!("the value of a block is a tuple") };
        self.thread.registers.iter().copied().zip(values.parts().iter().copied()).collect()
    }
}

fn set(registers: &Registers, register: Option<Name>, v: Val) -> Registers {
    register.map_or_else(|| registers.clone(), |r| registers.update(r, v))
}

fn called(call: &Statement, registers: &Registers) -> Prog {
    Prog::call(call_of(call, registers).expect("what is awaited is a call"))
}

fn call_of(statement: &Statement, registers: &Registers) -> Option<Call> {
    let Statement::Call { library, method, args, .. } = statement else { return None };
    let args: Vec<Val> = args.iter().map(|arg| value(registers, arg)).collect();
    Some(Call::new(*library, method, &args))
}

/// Computes for each statement the registers whose values may matter before it. At the end all of them matter, because
/// they are the output.
fn live(thread: &TestThread) -> Vec<BTreeSet<Name>> {
    let count = thread.statements.len();
    let mut live = vec![BTreeSet::new(); count];
    live.push(thread.registers.iter().copied().collect());
    loop {
        let before = live.clone();
        for at in (0..count).rev() {
            let statement = &thread.statements[at];
            let mut own: BTreeSet<Name> = thread.next(at).into_iter().flat_map(|n| live[n].iter().copied()).collect();
            statement.register().iter().for_each(|r| _ = own.remove(r));
            own.extend(statement.uses());
            live[at] = own;
        }
        if live == before {
            return live;
        }
    }
}
