//! A litmus test that has been parsed: surroundings, statements, observed state, assertions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use mowgli_core::event::Cell;
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::term::method::ArgumentKind;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::Way;
use mowgli_rdma::tso::{self};
use mowgli_rdma::wait::{self, WAIT};
use serde::Serialize;

use crate::error::{Code, InputError, Place};

use super::condition::{Comparison, Condition};
pub use super::model::Model;

/// Whether a summand is added or subtracted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// It is added.
    Plus,
    /// It is subtracted.
    Minus,
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Plus { "+" } else { "-" })
    }
}

/// An argument: known, or computed from registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arg {
    /// A value.
    Val(Val),
    /// The register's value plus a number.
    Register(Name, i64),
    /// A value to which that of a register is added, or from which it is subtracted.
    Sum(Box<Arg>, Sign, Name),
    /// The element of this array with this number.
    Element(Name, Box<Arg>),
    /// Several values.
    Tuple(Vec<Arg>),
    /// A private word, to which this is written before the call, because a put sends a word of memory.
    Sent(Loc, Box<Arg>),
}

impl Arg {
    /// Returns the registers that it is computed from.
    #[must_use]
    pub fn registers(&self) -> Vec<Name> {
        match self {
            Self::Val(_) => Vec::new(),
            Self::Register(r, _) => vec![*r],
            Self::Sum(to, _, r) => [to.registers(), vec![*r]].concat(),
            Self::Element(_, number) => number.registers(),
            Self::Tuple(all) => all.iter().flat_map(Self::registers).collect(),
            Self::Sent(_, arg) => arg.registers(),
        }
    }

    /// True if it adds values that have no sum, for example a truth value and a number: its value is then undefined.
    #[must_use]
    pub fn has_no_sum(&self, register: &dyn Fn(Name) -> Val) -> bool {
        match self {
            Self::Val(_) => false,
            Self::Register(..) | Self::Sum(..) => is_undefined(self, register),
            Self::Element(_, of) | Self::Sent(_, of) => of.has_no_sum(register),
            Self::Tuple(all) => all.iter().any(|arg| arg.has_no_sum(register)),
        }
    }

    /// Returns an array, and the value in the place of the number of an element that is no such number; `None` if all are.
    #[must_use]
    pub fn wrong_element(&self, world: &World, register: &dyn Fn(Name) -> Val) -> Option<(Name, Val)> {
        match self {
            Self::Val(_) | Self::Register(..) | Self::Sum(..) => None,
            Self::Element(array, number) => {
                let value = number.value(register);
                let has = |i: i64| world.objects.contains_key(&element(*array, i));
                (!value.int().is_some_and(has)).then_some((*array, value))
            }
            Self::Sent(_, of) => of.wrong_element(world, register),
            Self::Tuple(all) => all.iter().find_map(|arg| arg.wrong_element(world, register)),
        }
    }

    /// Returns its value if registers have these values. It is [`Val::Top`] where there is [no sum](Self::has_no_sum).
    #[must_use]
    pub fn value(&self, register: &dyn Fn(Name) -> Val) -> Val {
        match self {
            Self::Val(v) => *v,
            Self::Register(r, 0) => register(*r),
            Self::Register(r, k) => register(*r).plus(*k).unwrap_or(Val::Top),
            Self::Sum(to, sign, r) => {
                to.value(register).combined(*sign == Sign::Minus, register(*r)).unwrap_or(Val::Top)
            }
            Self::Element(array, number) => {
                number.value(register).int().map_or(Val::Top, |i| element(*array, i).into())
            }
            Self::Tuple(all) => Val::tuple(&all.iter().map(|arg| arg.value(register)).collect::<Vec<_>>()),
            Self::Sent(x, _) => (*x).into(),
        }
    }
}

/// True if the value of a sum is undefined although its registers are defined.
fn is_undefined(arg: &Arg, register: &dyn Fn(Name) -> Val) -> bool {
    arg.value(register) == Val::Top && arg.registers().into_iter().all(|r| register(r) != Val::Top)
}

/// Returns the element of an array, as it is written.
#[must_use]
pub fn element(array: Name, number: i64) -> Loc {
    Loc::new(&format!("{array}[{number}]"))
}

/// A condition on the registers of a thread.
pub type RegisterCondition = Condition<Arg>;

/// A statement: the text between two bars, semicolons or braces. A block stands between the statement that opens it and
/// its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// A call, and the register for its result.
    Call {
        /// The register for the result.
        register: Option<Name>,
        /// The library.
        library: Name,
        /// The method.
        method: &'static str,
        /// The arguments.
        args: Vec<Arg>,
    },
    /// A register and its new value.
    Set(Name, Arg),
    /// `await`: a call that is made until a comparison of its result with some value holds. Until then it only looks.
    Await {
        /// The call.
        call: Box<Statement>,
        /// The comparison.
        until: Comparison,
        /// The value on its right side.
        value: Arg,
    },
    /// `assume`: executions in which this does not hold do not count.
    Assume(RegisterCondition),
    /// `if`, before the block that is run where this holds.
    If(RegisterCondition),
    /// `else`, between the blocks of an `if`.
    Else,
    /// `while`, before the block that is run as long as this holds.
    While(RegisterCondition),
    /// The end of a block.
    End,
}

impl Statement {
    /// True if it makes a call.
    #[must_use]
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. } | Self::Await { .. })
    }

    /// Returns the register that it sets.
    #[must_use]
    pub fn register(&self) -> Option<Name> {
        match self {
            Self::Call { register, .. } => *register,
            Self::Set(register, _) => Some(*register),
            Self::Await { call, .. } => call.register(),
            _ => None,
        }
    }

    /// Returns the registers that it reads.
    #[must_use]
    pub fn uses(&self) -> Vec<Name> {
        match self {
            Self::Call { args, .. } => args.iter().flat_map(Arg::registers).collect(),
            Self::Set(_, arg) => arg.registers(),
            Self::Await { call, value, .. } => [call.uses(), value.registers()].concat(),
            Self::Assume(guard) | Self::If(guard) | Self::While(guard) => {
                guard.names().into_iter().flat_map(Arg::registers).collect()
            }
            Self::Else | Self::End => Vec::new(),
        }
    }

    /// Returns the private words that it writes before it makes its call.
    #[must_use]
    pub fn sent(&self) -> Vec<Loc> {
        let Self::Call { args, .. } = self else { return Vec::new() };
        args.iter().filter_map(|arg| if let Arg::Sent(x, _) = arg { Some(*x) } else { None }).collect()
    }

    /// True if it opens a block.
    #[must_use]
    pub fn opens(&self) -> bool {
        matches!(self, Self::If(_) | Self::While(_))
    }

    /// True if it runs once, independent of the values read: a call, or an assignment.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Call { .. } | Self::Set(..))
    }
}

/// One thread, which is a column of the test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestThread {
    /// Its name.
    pub name: Name,
    /// Its statements.
    pub statements: Vec<Statement>,
    /// Each statement as it was written, and its line.
    pub source: Vec<(usize, String)>,
    /// Its registers, in the order of their first use.
    pub registers: Vec<Name>,
}

impl TestThread {
    /// Returns the end of the block, or of the two blocks, that the statement at `at` opens.
    ///
    /// # Panics
    /// If it opens none.
    #[must_use]
    pub fn end(&self, at: usize) -> usize {
        self.closing(at, |s| *s == Statement::End)
    }

    /// Returns the `else` of the `if` at `at`, or its end if it has none.
    ///
    /// # Panics
    /// If there is no `if`.
    #[must_use]
    pub fn other(&self, at: usize) -> usize {
        self.closing(at, |s| matches!(s, Statement::Else | Statement::End))
    }

    /// True if each way through the statements from `at` to `end` makes a call outside of blocks.
    #[must_use]
    pub fn makes_call(&self, mut at: usize, end: usize) -> bool {
        while at < end && !self.statements[at].is_call() {
            at = if self.statements[at].opens() { self.end(at) + 1 } else { at + 1 };
        }
        at < end
    }

    fn closing(&self, at: usize, is: fn(&Statement) -> bool) -> usize {
        let mut open = 0;
        let closes = |s: &Statement| {
            open += usize::from(s.opens());
            let found = open == 1 && is(s);
            open -= usize::from(*s == Statement::End);
            found
        };
        at + self.statements[at..].iter().position(closes).expect("blocks are closed")
    }

    /// Returns the text of each call of a run, in order, as it was written. Returns none if the calls depend on values
    /// that were read. If a thread `crashes`, the point before a statement at which it may stop has the empty text.
    fn texts(&self, crashes: bool) -> Vec<String> {
        if self.statements.iter().any(Statement::opens) {
            return Vec::new();
        }
        let with_text = self.statements.iter().zip(&self.source);
        let calls = with_text.filter(|(s, _)| s.is_call());
        // The writes before a call have the text of the call.
        let point = crashes.then(String::new);
        let of_call = |(s, (_, text)): (&Statement, &(usize, String))| {
            point.iter().cloned().chain(vec![text.clone(); 1 + s.sent().len()]).collect::<Vec<_>>()
        };
        calls.flat_map(of_call).collect()
    }

    /// True if one statement may run before another: it stands before it, or both are in one loop.
    #[must_use]
    pub fn may_precede(&self, one: usize, other: usize) -> bool {
        let has_both = |at: usize| matches!(self.statements[at], Statement::While(_)) && self.end(at) > one;
        one < other || (0..other).any(has_both)
    }

    /// Returns the statement that opens the innermost block in which the statement at `at` stands, or which it ends.
    ///
    /// # Panics
    /// The statement stands in no block.
    #[must_use]
    pub fn opener(&self, at: usize) -> usize {
        (0..at).rev().find(|&o| self.statements[o].opens() && self.end(o) >= at).expect("it is open")
    }

    /// Returns the statements that may come after the one at `at`.
    #[must_use]
    pub fn next(&self, at: usize) -> Vec<usize> {
        let opened = || self.opener(at);
        match &self.statements[at] {
            Statement::If(_) => vec![at + 1, (self.other(at) + 1).min(self.end(at))],
            Statement::While(_) => vec![at + 1, self.end(at) + 1],
            Statement::Else => vec![self.end(opened())],
            Statement::End if matches!(self.statements[opened()], Statement::While(_)) => vec![opened()],
            _ => vec![at + 1],
        }
    }
}

/// A value that an outcome of a test shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observable {
    /// A register, by thread and position.
    Register(usize, usize),
    /// The last value of a cell, by position in [`Test::observed`].
    Final(usize),
}

/// The quantifier of an assertion over outcomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantifier {
    /// Some outcome satisfies the condition.
    Allowed,
    /// No outcome satisfies it.
    Forbidden,
    /// All outcomes satisfy it.
    Forall,
    /// There are no outcomes, because no execution ends. The condition is true of every outcome.
    Vacuous,
}

impl fmt::Display for Quantifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allowed => "allowed",
            Self::Forbidden => "forbidden",
            Self::Forall => "forall",
            Self::Vacuous => "vacuous",
        })
    }
}

/// An assertion.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// The line in the file, from 1.
    pub line: usize,
    /// The quantifier.
    pub quantifier: Quantifier,
    /// The condition as it was written.
    pub text: String,
    /// The condition.
    pub condition: Condition,
}

/// An assertion on the executions that are stuck.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// The line in the file, from 1.
    pub line: usize,
    /// The assertion as it was written.
    pub text: String,
    /// The claim.
    pub claim: Claim,
}

/// A claim about the stuck executions of a test.
#[derive(Clone, Debug)]
pub enum Claim {
    /// `ends`: there is none.
    Ends,
    /// `may hang`: there is one.
    MayHang,
    /// `hangs (P1 at line 4)`: there is one in which each of these threads waits, at this line if there is one.
    Hangs(Vec<(usize, Option<usize>)>),
    /// `stuck (a=1)`: there is one in which this holds.
    Stuck(Condition),
}

/// A construct in a test that is allowed, but probably not intended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Warning {
    /// The place in the file of the test.
    #[serde(flatten)]
    pub place: Place,
    /// The problem, and what to write instead.
    pub message: String,
}

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Test {
    /// The model.
    pub model: Model,
    /// The name.
    pub name: String,
    /// The description of the test.
    pub description: Option<String>,
    /// Nodes, threads, objects.
    pub world: World,
    /// The private words that hold the literals that are put, each with its literal.
    pub literals: BTreeMap<Loc, Val>,
    /// The columns.
    pub threads: Vec<TestThread>,
    /// The cells whose last value is observed.
    pub observed: Vec<Cell>,
    /// The values that an outcome shows, each with its name.
    pub shown: Vec<(String, Observable)>,
    /// The assertions on outcomes.
    pub assertions: Vec<Assertion>,
    /// The assertions on executions that are stuck.
    pub liveness: Vec<Liveness>,
    /// The threads that serve the others: an execution is over when all other threads have ended.
    pub servers: BTreeSet<Tid>,
    /// The warnings about likely mistakes.
    pub warnings: Vec<Warning>,
    /// The file, as the user named it.
    pub file: Arc<str>,
    /// The text of the file.
    pub text: Arc<str>,
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quantifier {
            Quantifier::Vacuous => write!(f, "{}", self.quantifier),
            quantifier => write!(f, "{quantifier} ({})", self.text),
        }
    }
}

impl Test {
    /// True if the test says that no execution of it ends. A statement about all executions is then taken to hold.
    #[must_use]
    pub fn is_meant_vacuous(&self) -> bool {
        self.assertions.iter().any(|a| a.quantifier == Quantifier::Vacuous)
    }

    /// Returns the place of a statement of a thread in the text of the test: its line, if the statement is written over several.
    pub(super) fn place(&self, thread: usize, line: usize, statement: &str) -> Place {
        let is_same = |(own, text): &&(usize, String)| (*own, text.as_str()) == (line, statement);
        let before = self.threads[..thread].iter().flat_map(|thread| &thread.source).filter(is_same).count();
        let begin: usize = self.text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let row = self.text[begin..].lines().next().unwrap_or_default();
        let found = row.match_indices(statement).nth(before);
        let (start, length) = found.map_or((0, row.len()), |(start, _)| (start, statement.len()));
        Place::of(&self.file, &self.text, begin + start..begin + start + length)
    }

    /// Returns the values that the test shows of an outcome.
    #[must_use]
    pub fn values(&self, outcome: &Outcome) -> Vec<Val> {
        let value = |o: &Observable| match *o {
            Observable::Register(thread, position) => match outcome.outputs[thread] {
                Val::Tuple(registers) => registers.parts()[position],
                other => other,
            },
            Observable::Final(position) => outcome.finals[position],
        };
        self.shown.iter().map(|(_, o)| value(o)).collect()
    }

    /// Returns the name of each value that the test shows, and the value as conditions have it: a location is written as `&x`.
    pub fn named(&self, values: &[Val]) -> impl Iterator<Item = (&str, String)> {
        self.shown.iter().zip(values).map(|((name, _), v)| (name.as_str(), v.literal()))
    }

    /// True if the test has an assertion about stuck executions, or says that no execution ends.
    #[must_use]
    pub fn speaks_of_stuck(&self) -> bool {
        !self.liveness.is_empty() || self.is_meant_vacuous()
    }

    /// Returns for each thread the texts of its calls in order, by the places of their events; none for a thread that
    /// branches.
    #[must_use]
    pub fn texts(&self) -> Vec<Vec<String>> {
        self.world.tids().zip(&self.threads).map(|(t, thread)| thread.texts(self.world.may_stop(t))).collect()
    }

    /// Returns the test with a remote fence of its own before each operation that has the fence flag, and no other way to
    /// be made. That means the same, and languages without the flag have the fence.
    #[must_use]
    pub fn with_fences(&self) -> Self {
        let mut test = self.clone();
        for thread in &mut test.threads {
            for at in (0..thread.statements.len()).rev() {
                if let Some(pair) = self.fence_apart(&thread.statements[at]) {
                    let line = thread.source[at].clone();
                    thread.statements.splice(at..=at, pair);
                    thread.source.insert(at, line);
                }
            }
        }
        test
    }

    /// Returns the remote fence and the operation that an operation with the fence flag stands for.
    fn fence_apart(&self, statement: &Statement) -> Option<[Statement; 2]> {
        let Statement::Call { register, library, method, args } = statement else { return None };
        let [Arg::Val(way), rest @ ..] = &args[..] else { return None };
        let usual = method.strip_suffix("By").filter(|_| *way == Way { fence: true, ..Way::USUAL }.into())?;
        let table = if *library == WAIT { wait::Method::TABLE } else { tso::Method::TABLE };
        let method = table.iter().find(|m| m.name == usual)?;
        let far = method.takes.iter().position(|(_, kind)| *kind == ArgumentKind::Placed)?;
        let Arg::Val(Val::Loc(far)) = rest.get(far)? else { return None };
        let node = Arg::Val(self.world.home(*far)?.into());
        let call = |register, method, args| Statement::Call { register, library: *library, method, args };
        Some([call(None, "Rfence", vec![node]), call(*register, method.name, rest.to_vec())])
    }

    /// Checks that each execution is over when all threads have ended.
    ///
    /// # Errors
    /// If some threads are servers; `what` does not support them.
    pub fn has_no_servers(&self, what: &str) -> Result<(), InputError> {
        if self.servers.is_empty() {
            return Ok(());
        }
        let message = format!("{}: {what} knows executions in which all threads end, and not server(...)", self.name);
        let help = "let the server make as many rounds as the others need, with a loop that ends";
        Err(InputError::new(Code::Unsupported, message).help(help))
    }

    /// Checks that the test has no servers, one queue pair between two nodes, and operations of one word with a completion
    /// and no flag.
    ///
    /// # Errors
    /// The first call that is made in another way, with its line; `what` does not support it.
    pub fn is_made_as_usual(&self, what: &str) -> Result<(), InputError> {
        self.has_no_servers(what)?;
        let is_way = |s: &Statement| match s {
            Statement::Call { method, args, .. } => {
                *method == "PollAny" || matches!(args.first(), Some(Arg::Val(Val::Way(_))))
            }
            _ => false,
        };
        let all = self.threads.iter().flat_map(|t| t.statements.iter().zip(&t.source));
        match { all }.find(|(s, _)| is_way(s)) {
            Some((_, (line, text))) => Err(InputError::new(
                Code::Unsupported,
                format!(
                    "{}: line {line}: {text}: {what} knows one queue pair to each node, and operations of one word with a \
                     completion and no flag",
                    self.name
                ),
            )),
            None => Ok(()),
        }
    }
}

/// Returns the cell of a location that has one home.
#[must_use]
pub fn cell(loc: Loc, node: Node) -> Cell {
    Cell { loc, node }
}
