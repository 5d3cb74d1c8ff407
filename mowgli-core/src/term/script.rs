//! The text of a thread's code: a term written flat, so a position in it is a number.
//!
//! **Computes** the instructions of a body, and for each the variables whose values may still matter before it.
//!
//! **Invariant.** An instruction stands inside as many loops and `for`s as the [state](crate::term::code::CodeState) has frames of them.
//! So a jump says how many frames it leaves.
//!
//! **Example.** `loop { let v = read(x); if (v > 1) { break } }` is
//! ```text
//! 0 loop
//! 1 v = memory::Read(x)
//! 2 unless 1 < v goto 4
//! 3 leave 1 goto 5
//! 4 again 1
//! 5 return ()
//! ```
//!
//! **Correct because** each statement is written once, before what follows it. A variable that is read again on no way from here
//! changes nothing that a thread does, so states without it are equal.
//!
//! **Cost.** One walk over the body, and a few over the instructions for the variables. [`Bodies`](crate::term::body::Bodies) keep theirs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::event::{Call, SourceLine};
use crate::expr::{Expr, ExprTerm, Var};
use crate::ids::{Name, NodeSet, Tid};
use crate::term::call::CallTerm;
use crate::value::Val;

/// The number of a variable of a script.
pub type VarNumber = usize;

/// The code of a thread or of a method. Copies share the text.
#[derive(Clone)]
pub struct Script(Arc<ScriptText>);

#[derive(PartialEq, Eq, Debug)]
struct ScriptText {
    instructions: Vec<Instruction>,
    /// For each instruction the variables whose values may matter before it, in order.
    live: Vec<Box<[VarNumber]>>,
    /// The names of the variables that have one.
    names: Vec<(VarNumber, &'static str)>,
}

/// One step of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instruction {
    /// The variable gets a value.
    Set(VarNumber, Expr),
    /// The thread makes a call; the variable gets its result.
    Call(CallOf, Option<VarNumber>),
    /// The thread goes to the instruction unless the condition holds.
    Unless(Expr, usize),
    /// The thread leaves so many loops and `for`s, and goes to the instruction.
    Jump(usize, usize),
    /// A loop begins. These variables are set in it, and matter where an iteration begins.
    Loop(Box<[VarNumber]>),
    /// An iteration ends; the next one begins with this instruction.
    Again(usize),
    /// A `for` begins.
    For {
        /// The variable for the elements.
        slot: VarNumber,
        /// The elements.
        all: Expr,
        /// The end, where the thread goes if there is no element.
        end: usize,
        /// The variable for the tuple of the collected values.
        tuple: Option<VarNumber>,
    },
    /// The iteration of a `for` ends.
    Next {
        /// The variable for the elements.
        slot: VarNumber,
        /// The first instruction of an iteration.
        first: usize,
        /// The variable whose value is collected, and the one for the tuple.
        collects: Option<(VarNumber, VarNumber)>,
    },
    /// The thread or the body ends with this value.
    Return(Expr),
    /// A break out of no loop.
    Escape,
    /// The thread makes the call that a check returns, if it returns one.
    Check(CheckOf),
    /// The thread does what a Rust function says.
    Results(CodeByResults),
}

/// The code of a Rust function of the results of its calls. A loop of it is one result: the tuple of those of its last iteration.
///
/// Code that is no term runs by such a function: closures in Rust, and compiled programs in another process.
#[derive(Clone)]
pub struct CodeByResults {
    /// Returns the next step after these results, and after these of the present iteration in a loop.
    pub next: Arc<ResultsFunction>,
}

/// A Rust function of a thread, its results, and those of the present iteration.
pub type ResultsFunction = dyn Fn(Tid, &[Val], Option<&[Val]>) -> NextByResults + Send + Sync;

/// The name of a state of a thread. From two states with equal names a thread goes on in the same way, so a loop that waits has
/// finitely many states.
pub type StateName = u128;

/// The next step of a Rust function. A state without a name is its own.
#[derive(Clone, Debug)]
pub enum NextByResults<C = Call, V = Val> {
    /// It makes a call.
    Call(C, Option<StateName>),
    /// It begins a loop.
    Loop,
    /// An iteration ends, and the loop goes on.
    Again,
    /// The loop ends.
    Leaves,
    /// A limit of its own stops it, for this reason. The search ignores whatever would follow, and reports that.
    Late(String),
    /// An assumption failed, so the execution does not count.
    Discarded,
    /// It ends with this value.
    Ended(V, Option<StateName>),
}

impl fmt::Debug for CodeByResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("by results")
    }
}

impl PartialEq for CodeByResults {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.next, &other.next)
    }
}

impl Eq for CodeByResults {}

/// A call of a script.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallOf {
    /// A call whose arguments are known.
    Known(Arc<Call>),
    /// A call whose arguments are expressions.
    Term(CallTerm),
    /// The same call of a body: if an argument is the empty set of nodes, nothing is done.
    Method(CallTerm),
}

/// A check of the values of variables before a statement, by a Rust function.
#[derive(Clone)]
pub struct CheckOf {
    /// The variables that it reads.
    pub reads: Vec<VarNumber>,
    /// The check: the call that no program may make, if something is wrong.
    pub fault: Arc<CheckFunction>,
}

/// The function of a check.
pub type CheckFunction = dyn Fn(Tid, &dyn Fn(VarNumber) -> Val) -> Option<Call> + Send + Sync;

impl fmt::Debug for CheckOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "check({:?})", self.reads)
    }
}

impl PartialEq for CheckOf {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.fault, &other.fault)
    }
}

impl Eq for CheckOf {}

impl Script {
    /// Returns the code of a Rust function of results.
    #[must_use]
    pub fn by_results(next: impl Fn(Tid, &[Val], Option<&[Val]>) -> NextByResults + Send + Sync + 'static) -> Self {
        let mut writer = ScriptWriter::default();
        writer.instructions.push(Instruction::Results(CodeByResults { next: Arc::new(next) }));
        writer.finish()
    }

    /// Returns an instruction.
    pub(crate) fn at(&self, position: usize) -> &Instruction {
        &self.0.instructions[position]
    }

    /// Returns the variables whose values may matter before an instruction.
    pub(crate) fn live(&self, position: usize) -> &[VarNumber] {
        &self.0.live[position]
    }

    /// Returns the name of a variable.
    pub(crate) fn name(&self, slot: VarNumber) -> Option<&'static str> {
        self.0.names.iter().find(|(own, _)| *own == slot).map(|(_, name)| *name)
    }

    /// Counts the loops that may end.
    #[must_use]
    pub fn loops(&self) -> usize {
        let ends = |(at, i): (usize, &Instruction)| {
            matches!(i, Instruction::Loop(_)) && *self.at(at + 1) != Instruction::Again(at + 1)
        };
        self.0.instructions.iter().enumerate().filter(|of| ends(*of)).count()
    }

    /// Returns the place of the first call from an instruction on.
    pub(crate) fn place(&self, position: usize) -> SourceLine {
        let place = |i: &Instruction| match i {
            Instruction::Call(CallOf::Term(call) | CallOf::Method(call), _) => Some(call.place),
            _ => None,
        };
        self.0.instructions[position..].iter().find_map(place).unwrap_or_default()
    }
}

impl PartialEq for Script {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Script {}

impl std::hash::Hash for Script {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.instructions.len().hash(state);
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.instructions.iter().enumerate().try_for_each(|(at, i)| writeln!(f, "{at} {i}"))
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(x, e) => write!(f, "v{x} = {e}"),
            Self::Call(call, to) => {
                to.iter().try_for_each(|x| write!(f, "v{x} = "))?;
                match call {
                    CallOf::Known(call) => write!(f, "{}::{call}", call.library),
                    CallOf::Term(call) | CallOf::Method(call) => write!(f, "{call}"),
                }
            }
            Self::Unless(e, to) => write!(f, "unless {e} goto {to}"),
            Self::Jump(0, to) => write!(f, "goto {to}"),
            Self::Jump(leaves, to) => write!(f, "leave {leaves} goto {to}"),
            Self::Loop(_) => f.write_str("loop"),
            Self::Again(to) => write!(f, "again {to}"),
            Self::For { slot, all, end, .. } => write!(f, "for v{slot} in {all} else goto {end}"),
            Self::Next { first, .. } => write!(f, "next {first}"),
            Self::Return(e) => write!(f, "return {e}"),
            Self::Escape => f.write_str("break"),
            Self::Check(check) => write!(f, "{check:?}"),
            Self::Results(code) => write!(f, "{code:?}"),
        }
    }
}

/// The places in bodies at which a thread stops.
#[derive(Clone, Debug)]
pub(crate) struct StopPoints {
    /// The call that returns whether the thread goes on.
    pub goes: Call,
    /// The libraries whose calls have bodies, in which a thread stops.
    pub implemented: Arc<[Name]>,
    /// The value of a body whose thread has stopped.
    pub stopped: Val,
}

/// A position that is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label(pub(super) usize);

/// A writer of scripts, one instruction after the other.
#[derive(Default)]
pub struct ScriptWriter {
    pub(super) instructions: Vec<Instruction>,
    /// The positions of labels, once they are placed. Until the end instructions have labels in the place of positions.
    labels: Vec<usize>,
    /// The number of loops and `for`s around the next instruction.
    pub(super) depth: usize,
    /// The first number that no variable has.
    pub(super) next: VarNumber,
    /// The names of variables.
    pub(super) names: Vec<(VarNumber, &'static str)>,
    /// The points at which a thread stops, and where it goes then.
    pub(super) points: Option<(StopPoints, Label)>,
    /// The variables whose values matter at each place.
    kept: Vec<VarNumber>,
}

impl ScriptWriter {
    /// Returns a variable that nothing else uses.
    pub fn fresh(&mut self) -> VarNumber {
        self.next += 1;
        self.next - 1
    }

    /// Says that the value of a variable matters at each place, because somebody looks at it there.
    pub fn keep(&mut self, slot: VarNumber) {
        self.kept.push(slot);
    }

    /// Returns a variable as an expression.
    #[must_use]
    pub fn value(slot: VarNumber) -> Expr {
        ExprTerm::Var(Var { number: slot, name: "v" }).into()
    }

    /// Returns a label, which is to be [placed](Self::place).
    pub fn label(&mut self) -> Label {
        self.labels.push(usize::MAX);
        Label(self.labels.len() - 1)
    }

    /// Returns the number of the next instruction.
    #[must_use]
    pub fn position(&self) -> usize {
        self.instructions.len()
    }

    /// Places a label before the next instruction.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = self.instructions.len();
    }

    /// Writes that a variable gets a value.
    pub fn set(&mut self, slot: VarNumber, value: impl Into<Expr>) {
        self.instructions.push(Instruction::Set(slot, value.into()));
    }

    /// Writes a call.
    pub fn call(&mut self, call: CallOf, to: Option<VarNumber>) {
        self.instructions.push(Instruction::Call(call, to));
    }

    /// Writes a check.
    pub fn check(&mut self, check: CheckOf) {
        self.instructions.push(Instruction::Check(check));
    }

    /// Writes that the thread goes to a label unless a condition holds.
    pub fn unless(&mut self, condition: Expr, to: Label) {
        self.instructions.push(Instruction::Unless(condition, to.0));
    }

    /// Writes that the thread goes to a label at this depth of loops.
    pub fn jump(&mut self, depth: usize, to: Label) {
        self.instructions.push(Instruction::Jump(self.depth - depth, to.0));
    }

    /// Returns the number of loops around the next instruction.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Writes the beginning of a loop, and returns its first instruction.
    pub fn begin_loop(&mut self) -> Label {
        self.instructions.push(Instruction::Loop(Box::default()));
        self.depth += 1;
        let first = self.label();
        self.place(first);
        first
    }

    /// Writes the end of the loop with this first instruction.
    pub fn end_loop(&mut self, first: Label) {
        self.instructions.push(Instruction::Again(first.0));
        self.depth -= 1;
    }

    /// Writes the end of the thread with a value.
    pub fn end(&mut self, value: impl Into<Expr>) {
        self.instructions.push(Instruction::Return(value.into()));
    }

    /// Writes that executions which come here do not count.
    pub fn escape(&mut self) {
        self.instructions.push(Instruction::Escape);
    }

    /// Writes a call before which the thread may stop, or within which if the call has a body. Then it goes to the label, where it
    /// makes no more calls of the loops around it.
    pub(crate) fn call_or_stop(&mut self, call: CallOf, to: Option<VarNumber>, points: &StopPoints, stop: Label) {
        if points.implemented.contains(&call.library()) {
            let to = to.unwrap_or_else(|| self.fresh());
            self.call(call, Some(to));
            self.unless(Self::value(to).is_not(points.stopped), stop);
        } else {
            let goes = self.fresh();
            self.call(CallOf::known(points.goes.clone()), Some(goes));
            self.unless(Self::value(goes).is(true), stop);
            self.call(call, to);
        }
    }

    /// Returns the script. A script that does not end otherwise ends with `()`.
    #[must_use]
    pub fn finish(mut self) -> Script {
        self.end(Val::Unit);
        let labels = &self.labels;
        for instruction in &mut self.instructions {
            match instruction {
                Instruction::Unless(_, to)
                | Instruction::Jump(_, to)
                | Instruction::Again(to)
                | Instruction::For { end: to, .. }
                | Instruction::Next { first: to, .. } => *to = labels[*to],
                _ => {}
            }
        }
        let live = live(&self.instructions, &self.kept);
        let carried: Vec<(usize, Box<[VarNumber]>)> = (0..self.instructions.len())
            .filter_map(|end| match self.instructions[end] {
                Instruction::Again(first) => Some((first - 1, carried(&self.instructions[first..end], &live[first]))),
                _ => None,
            })
            .collect();
        for (at, slots) in carried {
            self.instructions[at] = Instruction::Loop(slots);
        }
        let is_live = |slot: &VarNumber, after: usize| live.get(after).is_some_and(|live| live.contains(slot));
        for (at, instruction) in self.instructions.iter_mut().enumerate() {
            match instruction {
                Instruction::Call(_, to) => *to = to.filter(|slot| is_live(slot, at + 1)),
                Instruction::Set(slot, _) if !is_live(slot, at + 1) => *instruction = Instruction::Jump(0, at + 1),
                _ => {}
            }
        }
        let live = live.into_iter().map(|slots| slots.into_iter().collect()).collect();
        Script(Arc::new(ScriptText { instructions: self.instructions, live, names: self.names }))
    }
}

/// Returns the variables that these instructions set, of those that matter where they begin.
fn carried(instructions: &[Instruction], begins: &BTreeSet<VarNumber>) -> Box<[VarNumber]> {
    let sets = |slot: VarNumber| {
        instructions.iter().any(|i| match i {
            Instruction::Set(own, _) | Instruction::Call(_, Some(own)) => *own == slot,
            Instruction::For { slot: own, tuple, .. } => *own == slot || *tuple == Some(slot),
            _ => false,
        })
    };
    begins.iter().copied().filter(|&slot| sets(slot)).collect()
}

/// Visits the variables that an instruction reads.
fn reads(instruction: &Instruction, read: &mut dyn FnMut(VarNumber)) {
    let mut expression = |e: &Expr| {
        e.each(&mut |e| {
            if let ExprTerm::Var(var) = e.term() {
                read(var.number);
            }
        });
    };
    match instruction {
        Instruction::Set(_, e)
        | Instruction::Unless(e, _)
        | Instruction::For { all: e, .. }
        | Instruction::Return(e) => expression(e),
        Instruction::Call(CallOf::Term(call) | CallOf::Method(call), _) => call.args.iter().for_each(expression),
        Instruction::Next { collects, .. } => collects.iter().for_each(|(value, _)| read(*value)),
        Instruction::Check(check) => check.reads.iter().for_each(|slot| read(*slot)),
        Instruction::Call(CallOf::Known(_), _)
        | Instruction::Jump(..)
        | Instruction::Loop(_)
        | Instruction::Again(_)
        | Instruction::Results(_)
        | Instruction::Escape => {}
    }
}

/// Computes for each instruction the variables whose values may matter before it: those that are kept, and those read before they
/// are set again.
fn live(instructions: &[Instruction], kept: &[VarNumber]) -> Vec<BTreeSet<VarNumber>> {
    let mut live = vec![BTreeSet::new(); instructions.len() + 1];
    loop {
        let mut has_changed = false;
        for (at, instruction) in instructions.iter().enumerate().rev() {
            let without =
                |at: usize, set: Option<VarNumber>| live[at].iter().copied().filter(move |slot| Some(*slot) != set);
            let mut own: BTreeSet<VarNumber> = match instruction {
                Instruction::Return(_) | Instruction::Escape => BTreeSet::new(),
                Instruction::Jump(_, to) | Instruction::Again(to) => live[*to].clone(),
                Instruction::Unless(_, to) => live[at + 1].union(&live[*to]).copied().collect(),
                Instruction::For { slot, end, tuple, .. } => {
                    without(at + 1, Some(*slot)).chain(without(*end, *tuple)).collect()
                }
                Instruction::Next { slot, first, collects } => {
                    let tuple = collects.map(|(_, tuple)| tuple);
                    without(*first, Some(*slot)).chain(without(at + 1, tuple)).collect()
                }
                Instruction::Set(slot, _) => without(at + 1, Some(*slot)).collect(),
                Instruction::Call(_, to) => without(at + 1, *to).collect(),
                Instruction::Loop(_) | Instruction::Check(_) | Instruction::Results(_) => live[at + 1].clone(),
            };
            reads(instruction, &mut |slot| _ = own.insert(slot));
            own.extend(kept);
            if own != live[at] {
                live[at] = own;
                has_changed = true;
            }
        }
        let has_loops = instructions.iter().any(|i| matches!(i, Instruction::Again(_) | Instruction::Next { .. }));
        if !has_changed || !has_loops {
            return live;
        }
    }
}

impl CallOf {
    /// Returns a call whose arguments are known.
    #[must_use]
    pub fn known(call: Call) -> Self {
        Self::Known(Arc::new(call))
    }

    fn library(&self) -> Name {
        match self {
            Self::Known(call) => call.library,
            Self::Term(call) | Self::Method(call) => call.library,
        }
    }

    /// True if a call has no effect, because an argument is the empty set of nodes.
    pub(crate) fn is_nothing(&self, call: &Call) -> bool {
        matches!(self, Self::Method(_)) && call.args.contains(&Val::Nodes(NodeSet::default()))
    }
}
