//! The programs of a test's threads.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, Opaque};
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::term::body::CallTerm;
use mowgli_core::term::code::{CodePlace, CodePoint, CodeState};
use mowgli_core::term::script::{CallOf, CheckOf, Label, Script, ScriptWriter, VarNumber};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::crash;

use super::condition::{Comparison, Condition, Side};
use super::test::{Arg, Claim, Observable, RegisterCondition, Sign, Statement, Test, TestThread, element};

impl Test {
    /// Builds the program of each thread, given the libraries of the model; its value is the tuple of its registers.
    #[must_use]
    pub fn programs(&self, libraries: &Libraries) -> Vec<Script> {
        let (world, libraries) = (Arc::new(self.world.clone()), Arc::new(libraries.clone()));
        let written = |tid: Tid| {
            let mut writer = self.writer(tid, &world, Some(Arc::clone(&libraries)));
            self.asked_while_it_waits(tid).iter().for_each(|r| writer.writer.keep(writer.slots[r]));
            writer.written().script
        };
        self.world.tids().map(written).collect()
    }

    /// Returns the registers of a thread for which an assertion asks while the thread may still wait. They matter although the thread does not
    /// read them again.
    fn asked_while_it_waits(&self, tid: Tid) -> BTreeSet<Name> {
        let is_server = self.servers.contains(&tid);
        let of_outcomes = self.assertions.iter().filter(|_| is_server).map(|assertion| &assertion.condition);
        let of_stuck = self.liveness.iter().filter_map(|liveness| match &liveness.claim {
            Claim::Stuck(condition) => Some(condition),
            _ => None,
        });
        let shown = of_outcomes.chain(of_stuck).flat_map(Condition::names).flat_map(Side::shown);
        let registers = shown.filter_map(|position| match self.shown[position].1 {
            Observable::Register(thread, position) if thread == tid.index() => Some(position),
            _ => None,
        });
        registers.map(|position| self.threads[tid.index()].registers[position]).collect()
    }

    fn writer(&self, tid: Tid, world: &Arc<World>, libraries: Option<Arc<Libraries>>) -> ThreadWriter {
        let (thread, memory) = (self.threads[tid.index()].clone(), self.model.memory());
        let checks = StatementChecks { thread, world: Arc::clone(world), libraries, memory };
        ThreadWriter::new(Arc::new(checks), world.may_stop(tid))
    }
}

/// The programs of the threads of a test, to find the statements at which they are. The first question writes them.
pub(super) struct Standings<'t> {
    pub test: &'t Test,
    threads: OnceCell<Vec<ThreadScript>>,
}

impl<'t> Standings<'t> {
    pub fn of(test: &'t Test) -> Self {
        Self { test, threads: OnceCell::new() }
    }

    fn written(test: &Test) -> Vec<ThreadScript> {
        let world = Arc::new(test.world.clone());
        let written = |tid: Tid| {
            // Nothing refuses an access here, so the results are used up at the access itself. That is the same statement.
            let mut writer = test.writer(tid, &world, None);
            writer.slots.values().for_each(|slot| writer.writer.keep(*slot));
            writer.written()
        };
        test.world.tids().map(written).collect()
    }

    /// Runs a thread with these results of its calls, and returns the statement at which they are used up.
    pub fn standing(&self, thread: usize, results: &[Val]) -> Standing {
        let ThreadScript { script, begins, slots } = &self.threads.get_or_init(|| Self::written(self.test))[thread];
        let place = CodePlace { world: &self.test.world, thread: Tid::from_index(thread) };
        let (mut results, mut code) = (results.iter(), CodeState::start(script));
        let is_over = loop {
            match code.next(place) {
                CodePoint::Call(_) => match results.next() {
                    Some(result) => code.returned(*result),
                    None => break false,
                },
                CodePoint::Loop => code.begin(),
                CodePoint::Iteration(iteration) if iteration.is_silent(code.made()) => break false,
                CodePoint::Iteration(_) => code.go_on(true),
                CodePoint::Returned(..) | CodePoint::Ended(_) | CodePoint::Escaped | CodePoint::Late(_) => break true,
            }
        };
        let last = begins.partition_point(|(position, _)| *position <= code.position()).checked_sub(1);
        let statement = last.filter(|_| !is_over).and_then(|last| begins[last].1);
        let held = |r: &Name| code.value(slots[r]).unwrap_or(Val::Int(0));
        Standing { statement, registers: self.test.threads[thread].registers.iter().map(held).collect() }
    }
}

/// The program of a thread, and what it is made of.
struct ThreadScript {
    script: Script,
    /// The first instruction of each part, and the statement whose it is. The end is of none.
    begins: Vec<(usize, Option<usize>)>,
    /// The variables of the registers.
    slots: BTreeMap<Name, VarNumber>,
}

/// The statement and the registers of a thread at some time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The position of the statement that it is in; `None` at its end.
    pub statement: Option<usize>,
    /// Its registers.
    pub registers: Vec<Val>,
}

/// The checks of the statements of a thread, while it runs.
struct StatementChecks {
    thread: TestThread,
    world: Arc<World>,
    /// The libraries of its model, which refuse accesses.
    libraries: Option<Arc<Libraries>>,
    /// The library of its memory words.
    memory: Name,
}

impl StatementChecks {
    /// Returns the values that a statement uses.
    fn args(&self, at: usize) -> Vec<&Arg> {
        match &self.thread.statements[at] {
            Statement::Call { args, .. } => args.iter().collect(),
            Statement::Set(_, arg) => vec![arg],
            Statement::Await { call, value, .. } => match &**call {
                Statement::Call { args, .. } => args.iter().chain([value]).collect(),
                _ => vec![value],
            },
            Statement::Assume(guard) | Statement::If(guard) | Statement::While(guard) => guard.names(),
            Statement::Else | Statement::End => Vec::new(),
        }
    }

    /// True if a statement has a fault with some values of registers.
    fn may_be_wrong(&self, at: usize) -> bool {
        let is_plain = |arg: &Arg| matches!(arg, Arg::Val(_) | Arg::Register(_, 0));
        !self.args(at).into_iter().all(is_plain) || self.computed_access(at).is_some()
    }

    /// Returns a call that no program may make, with the text of a statement as its name, and the fault as its argument. There is
    /// none if what it adds has a sum, its elements exist, and the thread may access its words.
    fn wrong(&self, at: usize, thread: Tid, held: &dyn Fn(Name) -> Val) -> Option<Call> {
        let args = self.args(at);
        let sum = "numbers have sums, and a number and an element of an array, and no other values";
        let sum = args.iter().any(|arg| arg.has_no_sum(held)).then(|| sum.to_owned());
        let element = || {
            let (array, index) = args.iter().find_map(|arg| arg.wrong_element(&self.world, held))?;
            Some(match index {
                Val::Int(_) => format!("{array}[{index}] is not declared"),
                _ => format!("{index} is the number of no element of {array}"),
            })
        };
        let access = || {
            let call = called(self.computed_access(at)?, held);
            self.libraries.as_ref()?.get(call.library)?.fault(&self.world, thread, &call)
        };
        let fault = sum.or_else(element).or_else(access)?;
        Some(wrong_call(self.memory, &self.thread, at, &fault))
    }

    /// Returns the access of a word that a statement makes, if its place is in a register.
    fn computed_access(&self, at: usize) -> Option<&Statement> {
        let statement = match &self.thread.statements[at] {
            Statement::Await { call, .. } => call,
            statement => statement,
        };
        let Statement::Call { library, args, .. } = statement else { return None };
        let is_computed = |arg: &Arg| !arg.registers().is_empty();
        (*library == self.memory && args.iter().any(is_computed)).then_some(statement)
    }
}

/// Returns the call that no program may make, for the statement at `at`. Its text is the name, and the arguments are the fault and
/// the position.
pub(super) fn wrong_call(memory: Name, thread: &TestThread, at: usize, fault: &str) -> Call {
    let (line, statement) = &thread.source[at];
    let name = Name::new(&format!("`{statement}` in line {line}"));
    Call::new(memory, name.text(), &[Val::Loc(Loc::new(fault)), Val::Int(at as i64)])
}

/// Returns the position of the statement for which [`wrong_call`] has made a call.
pub(super) fn wrong_statement(call: &Call) -> Option<usize> {
    let at = call.args.get(1).filter(|_| call.method.text().starts_with('`'))?;
    at.int().and_then(|at| at.try_into().ok())
}

/// Returns a call whose registers have these values.
fn called(call: &Statement, held: &dyn Fn(Name) -> Val) -> Call {
    let Statement::Call { library, method, args, .. } = call else { unreachable!("only calls are made") };
    let args: Vec<Val> = args.iter().map(|arg| arg.value(held)).collect();
    Call::new(*library, method, &args)
}

/// A writer of the program of a thread.
struct ThreadWriter {
    checks: Arc<StatementChecks>,
    writer: ScriptWriter,
    /// The variables of the registers.
    slots: BTreeMap<Name, VarNumber>,
    /// Whether it may stop before each of its calls.
    crashes: bool,
    /// The end, where a thread goes that stops.
    end: Label,
    /// The place where a thread goes whose assumption does not hold.
    discarded: Label,
    /// The first instructions of the statements.
    begins: Vec<(usize, Option<usize>)>,
}

impl ThreadWriter {
    fn new(checks: Arc<StatementChecks>, crashes: bool) -> Self {
        let mut writer = ScriptWriter::default();
        let slots = checks.thread.registers.iter().map(|r| (*r, writer.fresh())).collect();
        let (end, discarded) = (writer.label(), writer.label());
        Self { checks, writer, slots, crashes, end, discarded, begins: Vec::new() }
    }

    /// Says whose the next instructions are.
    fn begin(&mut self, statement: Option<usize>) {
        self.begins.push((self.writer.position(), statement));
    }

    fn written(mut self) -> ThreadScript {
        let thread = &Arc::clone(&self.checks).thread;
        self.slots.values().for_each(|slot| self.writer.set(*slot, 0));
        self.block(thread, 0, thread.statements.len());
        self.writer.place(self.end);
        self.begin(None);
        if self.crashes {
            self.writer.call(CallOf::known(crash::Method::Stop {}.into()), None);
        }
        self.writer.end(Expr::tuple(thread.registers.iter().map(|r| ScriptWriter::value(self.slots[r]))));
        self.writer.place(self.discarded);
        self.writer.escape();
        ThreadScript { script: self.writer.finish(), begins: self.begins, slots: self.slots }
    }

    /// Writes the statements from `at` to `end`.
    fn block(&mut self, thread: &TestThread, mut at: usize, end: usize) {
        while at < end {
            self.begin(Some(at));
            self.check(at);
            let statement = &thread.statements[at];
            if statement.is_call() {
                self.may_stop();
            }
            match statement {
                Statement::Set(r, arg) => self.writer.set(self.slots[r], self.value(arg)),
                Statement::Call { register, .. } => self.call(statement, register.map(|r| self.slots[&r])),
                Statement::Await { call, until, value } => self.wait(call, *until, value),
                Statement::Assume(guard) => self.writer.unless(self.condition(guard), self.discarded),
                Statement::If(guard) => {
                    let (other, over) = (thread.other(at), thread.end(at));
                    let [no, behind] = [(); 2].map(|()| self.writer.label());
                    self.writer.unless(self.condition(guard), no);
                    self.block(thread, at + 1, other);
                    self.writer.jump(self.writer.depth(), behind);
                    self.writer.place(no);
                    self.block(thread, (other + 1).min(over), over);
                    self.writer.place(behind);
                    at = over;
                }
                Statement::While(guard) => {
                    let over = thread.end(at);
                    self.rounds(thread, guard, at, over);
                    at = over;
                }
                Statement::Else | Statement::End => unreachable!("a block ends before these"),
            }
            at += 1;
        }
    }

    /// Writes a point at which a thread that may crash stops.
    fn may_stop(&mut self) {
        if self.crashes {
            let goes = self.writer.fresh();
            self.writer.call(CallOf::known(crash::Method::Goes {}.into()), Some(goes));
            self.writer.unless(ScriptWriter::value(goes).is(true), self.end);
        }
    }

    /// Writes the check of a statement.
    fn check(&mut self, at: usize) {
        if self.checks.may_be_wrong(at) {
            let (checks, slots) = (Arc::clone(&self.checks), self.slots.clone());
            let registers = checks.args(at).into_iter().flat_map(Arg::registers);
            let reads = registers.map(|r| slots[&r]).collect();
            let fault =
                move |thread: Tid, values: &dyn Fn(VarNumber) -> Val| checks.wrong(at, thread, &|r| values(slots[&r]));
            self.writer.check(CheckOf { reads, fault: Arc::new(fault) });
        }
    }

    /// Writes a call, and the writes of private words that come before it.
    fn call(&mut self, call: &Statement, to: Option<VarNumber>) {
        let Statement::Call { library, method, args, .. } = call else { unreachable!("only calls are made") };
        for arg in args {
            if let Arg::Sent(x, sent) = arg {
                let write = CallTerm::new(*library, "Write", [(*x).into(), self.value(sent)]);
                self.writer.call(CallOf::Term(write), None);
            }
        }
        let args: Vec<Expr> = args.iter().map(|arg| self.value(arg)).collect();
        self.writer.call(CallOf::Term(CallTerm::new(*library, method, args)), to);
    }

    /// Writes iterations of a call until a comparison of its result holds.
    fn wait(&mut self, call: &Statement, until: Comparison, value: &Arg) {
        let (found, awaited) = (self.writer.fresh(), self.writer.fresh());
        let ([again, behind], depth) = ([(); 2].map(|()| self.writer.label()), self.writer.depth());
        self.writer.set(awaited, self.value(value));
        let first = self.writer.begin_loop();
        self.call(call, Some(found));
        let [found, awaited] = [found, awaited].map(ScriptWriter::value);
        call.register().into_iter().for_each(|r| self.writer.set(self.slots[&r], found));
        self.writer.unless(compared(until, found, awaited), again);
        self.writer.jump(depth, behind);
        self.writer.place(again);
        self.writer.end_loop(first);
        self.writer.place(behind);
    }

    /// Writes the iterations of the `while` at `at`.
    fn rounds(&mut self, thread: &TestThread, guard: &RegisterCondition, at: usize, over: usize) {
        let ([again, behind], depth) = ([(); 2].map(|()| self.writer.label()), self.writer.depth());
        self.writer.unless(self.condition(guard), behind);
        let first = self.writer.begin_loop();
        // An iteration without a call may be one in which it stops, too.
        if !thread.makes_call(at + 1, over) {
            self.begin(Some(at));
            self.may_stop();
        }
        self.block(thread, at + 1, over);
        self.begin(Some(at));
        self.check(at);
        self.writer.unless(!self.condition(guard), again);
        self.writer.jump(depth, behind);
        self.writer.place(again);
        self.writer.end_loop(first);
        self.writer.place(behind);
    }

    fn value(&self, arg: &Arg) -> Expr {
        let register = |r: &Name| ScriptWriter::value(self.slots[r]);
        match arg {
            Arg::Val(v) => (*v).into(),
            Arg::Register(r, 0) => register(r),
            Arg::Register(r, k) => Expr::opaque("sum", *SUM, [register(r), (*k).into()]),
            Arg::Sum(to, Sign::Plus, r) => Expr::opaque("sum", *SUM, [self.value(to), register(r)]),
            Arg::Sum(to, Sign::Minus, r) => Expr::opaque("difference", *DIFFERENCE, [self.value(to), register(r)]),
            Arg::Element(array, number) => Expr::opaque("element", *ELEMENT, [Loc(*array).into(), self.value(number)]),
            Arg::Tuple(all) => Expr::tuple(all.iter().map(|arg| self.value(arg))),
            Arg::Sent(x, _) => (*x).into(),
        }
    }

    fn condition(&self, guard: &RegisterCondition) -> Expr {
        let all = |cs: &[RegisterCondition]| cs.iter().map(|c| self.condition(c)).collect::<Vec<_>>();
        match guard {
            Condition::Compare(a, comparison, b) => compared(*comparison, self.value(a), self.value(b)),
            Condition::Not(c) => !self.condition(c),
            Condition::And(cs) => all(cs).into_iter().fold(true.into(), |a, b| a & b),
            Condition::Or(cs) => all(cs).into_iter().fold(false.into(), |a, b| a | b),
        }
    }
}

/// Sums of values of programs, as [`Arg::value`] says.
static SUM: LazyLock<Opaque> =
    LazyLock::new(|| Opaque::new(|args| args[0].combined(false, args[1]).unwrap_or(Val::Top)));
static DIFFERENCE: LazyLock<Opaque> =
    LazyLock::new(|| Opaque::new(|args| args[0].combined(true, args[1]).unwrap_or(Val::Top)));
static ELEMENT: LazyLock<Opaque> = LazyLock::new(|| {
    Opaque::new(|args| match args {
        [Val::Loc(array), Val::Int(number)] => element(array.0, *number).into(),
        _ => Val::Top,
    })
});
static COMPARISONS: LazyLock<[Opaque; 6]> =
    LazyLock::new(|| Comparison::ALL.map(|c| Opaque::new(move |args| Val::Bool(c.holds(args[0], args[1])))));

/// Returns whether a comparison holds of two values.
fn compared(comparison: Comparison, a: Expr, b: Expr) -> Expr {
    let position = Comparison::ALL.iter().position(|c| *c == comparison).expect("one of all");
    Expr::opaque("holds", COMPARISONS[position], [a, b])
}
