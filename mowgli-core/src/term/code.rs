//! The one stepper of code: where a thread is in its script, and the point that it comes to next.
//!
//! **Computes** the next [`CodePoint`] of a [`CodeState`]: a call, the end of an iteration, or an end. Its readers decide what a
//! call returns, whether a body replaces it, and whether a loop goes on. These are `flow`, the plain semantics, the recovery
//! of f, the machine, and code that runs.
//!
//! **Invariant.** A state is plain data, so equal states go on in the same way. A variable leaves it once nothing reads it again. Where
//! nothing but the value of a read differs that nobody reads any more, states are equal.
//!
//! **Example.** Take `loop { let v = read(x); if (v > 1) { break } }; write(y, 1)`. It is at the same state after 2 and after 3.
//!
//! **Correct because** an instruction is one step of the calculus of LOCO §3.1. Whether an iteration only
//! looks depends on its events, and equal states do not show it. So its end is a point, with the number of calls before it.
//!
//! **Cost.** A step copies nothing. A copy of a state has the values of a few variables, and a frame for each loop around it.

use std::sync::Arc;

use im::OrdMap;

use crate::event::Call;
use crate::expr::{Expr, Surroundings, Var};
use crate::few::Few;
use crate::ids::Tid;
use crate::term::script::{CallOf, CodeByResults, Instruction, NextByResults, Script, VarNumber};
use crate::value::Val;
use crate::world::World;

/// A script at some instruction, with the values of its variables.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Activation {
    script: Script,
    position: usize,
    /// The values of variables.
    values: OrdMap<VarNumber, Val>,
    /// The arguments of the call whose body this is.
    args: Few<Val>,
}

/// A loop, a `for` or a replaced call around an instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum CodeFrame {
    /// A loop, whose present iteration began after `start` calls.
    Loop {
        /// The iterations that went on with the same values.
        done: usize,
        /// The times that an iteration began with other values than the one before.
        others: usize,
        start: usize,
        /// The values with which the iteration began, of the variables that the loop sets and reads.
        begun: Vec<Option<Val>>,
    },
    /// A Rust function that has had these results, and these in the present iteration of a loop.
    Results { known: Vec<Val>, own: Option<Vec<Val>> },
    /// A `for` at this element.
    For { elements: Few<Val>, at: usize, values: Few<Val> },
    /// A replaced call, whose body began after `start` calls.
    Body { caller: Arc<Activation>, outer: Option<usize>, start: usize },
}

/// The place of a thread in its code.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CodeState {
    at: Activation,
    frames: Vec<CodeFrame>,
    /// The number of calls that have returned.
    made: usize,
    /// The number of replaced calls that have begun.
    begun: usize,
    /// The innermost replaced call.
    within: Option<usize>,
    /// True at the end of an iteration.
    is_at_end: bool,
}

/// The surroundings of code.
#[derive(Clone, Copy)]
pub struct CodePlace<'a> {
    /// The world.
    pub world: &'a World,
    /// The thread.
    pub thread: Tid,
}

/// The point that a thread comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CodePoint {
    /// It makes a call.
    Call(Call),
    /// A loop begins.
    Loop,
    /// An iteration has ended without a break.
    Iteration(CodeIteration),
    /// The innermost replaced call returns this value. Its body began after so many calls.
    Returned(Val, usize),
    /// The thread ends.
    Ended(Val),
    /// A break out of no loop: the execution does not count, or the body is not well defined.
    Escaped,
}

/// The end of an iteration of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeIteration {
    /// The number of calls before the iteration.
    pub start: usize,
    /// The number of iterations before it that went on with the same values.
    pub done: usize,
    /// The number of times that an iteration began with other values.
    pub others: usize,
    /// True if the next one begins with other values than this one.
    pub is_other: bool,
}

/// The number of iterations without a call after which a loop counts as one that never ends.
const SILENT: usize = 1 << 16;

impl CodeIteration {
    /// True if the loop counts for ever, without a call. The thread has made so many calls.
    #[must_use]
    pub fn is_endless(&self, made: usize) -> bool {
        self.is_other && self.start == made && self.others >= SILENT
    }

    /// True if the loop goes round for ever without a call, because nothing changes or because it counts for ever.
    #[must_use]
    pub fn is_silent(&self, made: usize) -> bool {
        self.start == made && (!self.is_other || self.is_endless(made))
    }
}

/// The surroundings of an expression of a script.
struct CodeScope<'a>(CodePlace<'a>, &'a Activation);

impl Surroundings for CodeScope<'_> {
    fn world(&self) -> &World {
        self.0.world
    }

    fn thread(&self) -> Tid {
        self.0.thread
    }

    fn args(&self) -> &[Val] {
        &self.1.args
    }

    fn ret(&self) -> Option<Val> {
        None
    }

    fn var(&self, var: Var) -> Option<Val> {
        self.1.value(var.number)
    }
}

impl Activation {
    fn of(script: Script, args: Few<Val>) -> Self {
        Self { script, position: 0, values: OrdMap::new(), args }
    }

    fn value(&self, slot: VarNumber) -> Option<Val> {
        self.values.get(&slot).copied()
    }

    fn set(&mut self, slot: VarNumber, v: Val) {
        self.values.insert(slot, v);
    }

    /// Forgets the variables that do not matter before an instruction.
    fn forget(&mut self, before: usize) {
        let live = self.script.live(before);
        if self.values.len() > live.len() {
            let dead: Few<VarNumber> = self.values.keys().copied().filter(|slot| !live.contains(slot)).collect();
            dead.iter().for_each(|slot| _ = self.values.remove(slot));
        }
    }

    fn is_by_results(&self) -> bool {
        matches!(self.script.at(self.position), Instruction::Results(_))
    }

    fn eval(&self, place: CodePlace<'_>, e: Expr) -> Val {
        e.eval(&CodeScope(place, self))
    }
}

impl CodeState {
    /// The beginning of a thread.
    #[must_use]
    pub fn start(script: &Script) -> Self {
        let at = Activation::of(script.clone(), Few::default());
        Self { at, frames: Vec::new(), made: 0, begun: 0, within: None, is_at_end: false }
    }

    /// The beginning of the body of a call, as a thread of its own.
    #[must_use]
    pub fn of_call(script: &Script, call: &Call) -> Self {
        let args = call.args.clone();
        Self { at: Activation::of(script.clone(), args), ..Self::start(script) }
    }

    /// Returns the number of the instruction at which the thread is.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at.position
    }

    /// Returns the value of a variable; `None` if it has none, or if nothing reads it again.
    #[must_use]
    pub fn value(&self, slot: VarNumber) -> Option<Val> {
        self.at.value(slot)
    }

    /// Returns the number of calls that have returned.
    #[must_use]
    pub fn made(&self) -> usize {
        self.made
    }

    /// Returns the innermost replaced call that the thread is in.
    #[must_use]
    pub fn within(&self) -> Option<usize> {
        self.within
    }

    /// Returns the number of loops and replaced calls around the thread; at the end of an iteration, around its loop.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.frames.len() - usize::from(self.is_at_end)
    }

    /// Returns the number of loops around the thread.
    #[must_use]
    pub fn loops(&self) -> usize {
        self.frames.iter().filter(|frame| matches!(frame, CodeFrame::Loop { .. })).count()
    }

    /// True if the frame at this depth is a loop whose present iteration began after so many calls.
    #[must_use]
    pub fn is_iteration(&self, depth: usize, of: usize) -> bool {
        matches!(self.frames.get(depth), Some(CodeFrame::Loop { start, .. }) if *start == of)
    }

    fn instruction(&self) -> &Instruction {
        self.at.script.at(self.at.position)
    }

    /// Goes on to the next point. A thread that is at a point stays there.
    pub fn next(&mut self, place: CodePlace<'_>) -> CodePoint {
        loop {
            // The text does not change, and a clone of its pointer would cost more than a step.
            let Activation { script, position, .. } = &self.at;
            let after = position + 1;
            match script.at(*position) {
                Instruction::Set(slot, e) => {
                    let (slot, v) = (*slot, self.at.eval(place, *e));
                    self.at.set(slot, v);
                    self.at.position = after;
                }
                Instruction::Call(CallOf::Known(call), _) => {
                    let call = Call::clone(call);
                    self.at.forget(after - 1);
                    return CodePoint::Call(call);
                }
                Instruction::Call(of @ (CallOf::Term(term) | CallOf::Method(term)), to) => {
                    let call = term.eval(&CodeScope(place, &self.at));
                    if !of.is_nothing(&call) {
                        self.at.forget(after - 1);
                        return CodePoint::Call(call);
                    }
                    if let Some(slot) = *to {
                        self.at.set(slot, Val::Unit);
                    }
                    self.at.position = after;
                }
                Instruction::Unless(condition, to) => {
                    let holds = self.at.eval(place, *condition) == Val::Bool(true);
                    self.at.position = if holds { after } else { *to };
                }
                Instruction::Jump(leaves, to) => {
                    self.frames.truncate(self.frames.len() - leaves);
                    self.at.position = *to;
                }
                Instruction::Loop(_) => {
                    self.at.forget(after);
                    return CodePoint::Loop;
                }
                Instruction::Again(_) => {
                    self.at.forget(after - 1);
                    self.is_at_end = true;
                    return CodePoint::Iteration(self.iteration());
                }
                Instruction::For { slot, all, end, tuple } => {
                    let elements = all.elements(&CodeScope(place, &self.at));
                    let first = elements.first().copied();
                    if let Some(first) = first {
                        let slot = *slot;
                        self.frames.push(CodeFrame::For { elements, at: 0, values: Few::default() });
                        self.at.set(slot, first);
                        self.at.position = after;
                    } else {
                        let (tuple, end) = (*tuple, *end);
                        tuple.into_iter().for_each(|tuple| self.at.set(tuple, Val::tuple(&[])));
                        self.at.position = end;
                    }
                }
                Instruction::Next { slot, first, collects } => {
                    let (slot, first, collects) = (*slot, *first, *collects);
                    self.next_element(slot, first, collects);
                }
                Instruction::Return(e) => {
                    let v = self.at.eval(place, *e);
                    let is_body = |frame: &CodeFrame| matches!(frame, CodeFrame::Body { .. });
                    self.frames.truncate(self.frames.iter().rposition(is_body).map_or(0, |at| at + 1));
                    return match self.frames.last() {
                        Some(CodeFrame::Body { start, .. }) => CodePoint::Returned(v, *start),
                        _ => CodePoint::Ended(v),
                    };
                }
                Instruction::Escape => return CodePoint::Escaped,
                Instruction::Results(code) => {
                    let code = code.clone();
                    if let Some(point) = self.next_by_results(place, &code) {
                        return point;
                    }
                }
                Instruction::Check(check) => {
                    let values = |slot: VarNumber| self.at.value(slot).unwrap_or(Val::Unit);
                    if let Some(call) = (check.fault)(place.thread, &values) {
                        return CodePoint::Call(call);
                    }
                    self.at.position = after;
                }
            }
        }
    }

    fn next_element(&mut self, slot: VarNumber, first: usize, collects: Option<(VarNumber, VarNumber)>) {
        let value = collects.map(|(value, _)| self.at.value(value).expect("an iteration has a value"));
        let Some(CodeFrame::For { elements, at, values }) = self.frames.last_mut() else {
            unreachable!("the innermost frame is that of the `for`")
        };
        value.into_iter().for_each(|v| values.push(v));
        *at += 1;
        if let Some(element) = elements.get(*at).copied() {
            self.at.set(slot, element);
            self.at.position = first;
            return;
        }
        if let Some((_, tuple)) = collects {
            let v = Val::tuple(values);
            self.at.set(tuple, v);
        }
        self.frames.pop();
        self.at.position += 1;
    }

    /// Returns the iteration at whose end the thread is.
    fn iteration(&self) -> CodeIteration {
        let Some(CodeFrame::Loop { done, others, start, begun }) = self.frames.last() else {
            unreachable!("the innermost frame is that of the loop")
        };
        let is_other = !begun.is_empty() && *begun != self.carried();
        CodeIteration { start: *start, done: *done, others: *others, is_other }
    }

    /// Returns the values with which the next iteration begins, of the variables that the loop sets and reads.
    fn carried(&self) -> Vec<Option<Val>> {
        let Instruction::Again(first) = self.instruction() else { unreachable!("an iteration ends here") };
        let Instruction::Loop(carried) = self.at.script.at(first - 1) else { unreachable!("a loop begins there") };
        carried.iter().map(|slot| self.at.value(*slot)).collect()
    }

    /// The call at which the thread is returns.
    pub fn returned(&mut self, ret: Val) {
        self.made += 1;
        self.give(ret);
    }

    fn give(&mut self, v: Val) {
        match self.instruction() {
            Instruction::Call(_, to) => {
                if let Some(slot) = *to {
                    self.at.set(slot, v);
                }
                self.at.position += 1;
            }
            _ => {
                let (known, own) = self.results();
                own.as_mut().unwrap_or(known).push(v);
            }
        }
    }

    /// Returns the results of the Rust function that the thread is in, all and those of the present iteration.
    fn results(&mut self) -> (&mut Vec<Val>, &mut Option<Vec<Val>>) {
        let of = self.frames.iter_mut().rev().find_map(|frame| match frame {
            CodeFrame::Results { known, own } => Some((known, own)),
            _ => None,
        });
        of.expect("the thread is in a Rust function")
    }

    /// Returns the next point of a Rust function, if there is one before it has other results.
    fn next_by_results(&mut self, place: CodePlace<'_>, code: &CodeByResults) -> Option<CodePoint> {
        if !matches!(self.frames.last(), Some(CodeFrame::Results { .. } | CodeFrame::Loop { .. })) {
            self.frames.push(CodeFrame::Results { known: Vec::new(), own: None });
        }
        let (known, own) = self.results();
        match (code.next)(place.thread, known, own.as_deref()) {
            NextByResults::Call(call) => Some(CodePoint::Call(call)),
            NextByResults::Loop => Some(CodePoint::Loop),
            NextByResults::Again => {
                self.is_at_end = true;
                Some(CodePoint::Iteration(self.iteration()))
            }
            NextByResults::Leaves => {
                let own = own.take().expect("it is in a loop");
                known.push(Val::tuple(&own));
                self.frames.pop();
                None
            }
            NextByResults::Late => {
                let start = self.made;
                Some(CodePoint::Iteration(CodeIteration { start, done: 0, others: usize::MAX, is_other: true }))
            }
            NextByResults::Ended(v) => Some(CodePoint::Ended(v)),
        }
    }

    /// The thread begins the body of the call at which it is. Returns the number of the call among the replaced ones.
    pub fn enter(&mut self, script: &Script, call: &Call) -> usize {
        let inner = Activation::of(script.clone(), call.args.clone());
        self.at.forget(self.at.position + 1);
        let caller = Arc::new(std::mem::replace(&mut self.at, inner));
        let number = self.begun;
        self.begun += 1;
        let outer = self.within.replace(number);
        self.frames.push(CodeFrame::Body { caller, outer, start: self.made });
        number
    }

    /// The body at whose end the thread is returns.
    pub fn leave(&mut self, v: Val) {
        let Some(CodeFrame::Body { caller, outer, .. }) = self.frames.pop() else {
            unreachable!("the thread is at the end of a body")
        };
        self.at = Arc::unwrap_or_clone(caller);
        self.within = outer;
        self.give(v);
    }

    /// The first iteration of the loop begins.
    pub fn begin(&mut self) {
        let begun = match self.instruction() {
            Instruction::Loop(carried) => carried.iter().map(|slot| self.at.value(*slot)).collect(),
            _ => Vec::new(),
        };
        self.frames.push(CodeFrame::Loop { done: 0, others: 0, start: self.made, begun });
        match self.frames.iter_mut().rev().nth(1) {
            Some(CodeFrame::Results { own, .. }) if self.at.is_by_results() => *own = Some(Vec::new()),
            _ => self.at.position += 1,
        }
    }

    /// The next iteration of the loop begins. It counts unless it is beyond the bound.
    pub fn go_on(&mut self, counts: bool) {
        let CodeIteration { is_other, .. } = self.iteration();
        let now = if is_other { Some(self.carried()) } else { None };
        match self.instruction() {
            Instruction::Again(first) => self.at.position = *first,
            _ => *self.results().1 = Some(Vec::new()),
        }
        let Some(CodeFrame::Loop { done, others, start, begun }) = self.frames.last_mut() else {
            unreachable!("the innermost frame is that of the loop")
        };
        *start = self.made;
        self.is_at_end = false;
        match now {
            Some(now) => {
                *begun = now;
                *done = 0;
                *others += usize::from(counts);
            }
            None => *done += usize::from(counts),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::expr::{Scope, range};
    use crate::ids::{Loc, Node};
    use crate::search::memory::{Method, read};
    use crate::term::body::{Body, Stmt, body};
    use crate::term::script::{CallOf, ScriptWriter};

    /// The calls of a run, and its value; `None` if it breaks out of no loop, or has not ended after this number of steps.
    type RunOfBody = (Vec<Call>, Option<Val>);

    const STEPS: usize = 60;

    fn world() -> World {
        World::new(1, &[Node(1)])
    }

    /// The meaning of a body as LOCO §3.1 has it: a value, or a break. `None` if there are no more steps.
    fn meant(
        body: &Body,
        scope: &Scope,
        answers: &mut impl Iterator<Item = Val>,
        calls: &mut Vec<Call>,
    ) -> Option<Result<Val, Val>> {
        Some(match body.stmt() {
            Stmt::Value(e) => Ok(e.eval(scope)),
            Stmt::Break(e) => Err(e.eval(scope)),
            Stmt::Call(call) => {
                calls.push(call.eval(scope));
                Ok(answers.next()?)
            }
            Stmt::Let(var, first, rest) => match meant(first, scope, answers, calls)? {
                Ok(v) => {
                    let scope = var.map_or(scope.clone(), |var| scope.with(var, v));
                    return meant(rest, &scope, answers, calls);
                }
                broken => broken,
            },
            Stmt::If(condition, yes, no) => {
                return meant(if scope.decide(*condition) { yes } else { no }, scope, answers, calls);
            }
            Stmt::Loop(round) => loop {
                answers.next()?;
                if let Err(v) = meant(round, scope, answers, calls)? {
                    return Some(Ok(v));
                }
            },
            Stmt::For(var, all, round) | Stmt::Collect(var, all, round) => {
                let mut values = Vec::new();
                for element in all.elements(scope).iter() {
                    match meant(round, &scope.with(*var, *element), answers, calls)? {
                        Ok(v) => values.push(v),
                        broken => return Some(broken),
                    }
                }
                Ok(if matches!(body.stmt(), Stmt::For(..)) { Val::Unit } else { Val::tuple(&values) })
            }
        })
    }

    /// The same by the stepper. An iteration takes a step, as above.
    fn stepped(body: &Body, answers: &mut impl Iterator<Item = Val>) -> RunOfBody {
        let (world, mut code, mut calls) = (world(), CodeState::start(&body.into()), Vec::new());
        loop {
            let more = match code.next(CodePlace { world: &world, thread: Tid(1) }) {
                CodePoint::Ended(v) => return (calls, Some(v)),
                CodePoint::Loop => answers.next().map(|_| code.begin()),
                CodePoint::Iteration(_) => answers.next().map(|_| code.go_on(true)),
                CodePoint::Call(call) => {
                    calls.push(call);
                    answers.next().map(|v| code.returned(v))
                }
                CodePoint::Returned(..) | CodePoint::Escaped => None,
            };
            if more.is_none() {
                return (calls, None);
            }
        }
    }

    /// Bodies in which all variables are in scope: each number is a statement, with the last values before it.
    fn made(numbers: &[u8], last: Expr, before: Expr) -> Body {
        let Some((&number, rest)) = numbers.split_first() else { return Expr::tuple([last, before]).into() };
        let half = rest.len() / 2;
        let (one, two) = rest.split_at(half);
        let x = Loc::new("x");
        match number {
            0 => body! { let v = read(x); made(rest, v, last) },
            1 => body! { Method::write(x, last); made(rest, last, before) },
            2 => body! { let v = if (last < 2) { made(one, last, before) } else { read(x) }; made(two, v, last) },
            3 => {
                body! { let v = loop { let v = read(x); if (v > before) { break v } made(one, v, last) }; made(two, v, last) }
            }
            4 => body! { for k in (range(0, last)) { made(one, k, last) } made(two, last, before) },
            5 => body! { let all = for k in (range(0, 2)) { made(one, k, last) }; made(two, all.len(), last) },
            6 => body! { if (last == 1) { break before } made(rest, last, before) },
            _ => {
                body! { loop { for k in (range(0, 3)) { made(one, k, last); if (k == last) { break k } } } made(two, last, before) }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn a_script_makes_the_calls_of_its_body(numbers in prop::collection::vec(0u8..8, 0..10), seed in 0i64..1000) {
            Var::number_from(0);
            let body = made(&numbers, 0.into(), 1.into());
            let answers = || (0..STEPS as i64).map(move |k| Val::Int((seed * 7 + k * k * (seed % 5) + k) % 4));
            let mut calls = Vec::new();
            let value = meant(&body, &Scope::new(&world(), Tid(1), &[]), &mut answers(), &mut calls);
            prop_assert_eq!(stepped(&body, &mut answers()), (calls, value.and_then(Result::ok)), "{}", body);
        }
    }

    /// A wait forgets what it has found, so the states after 2 and after 3 are equal. A wait that returns it does not.
    #[test]
    fn states_without_what_nobody_reads_are_equal() {
        let (x, world) = (Loc::new("x"), world());
        let after = |body: &Body, v: i64| {
            let mut code = CodeState::start(&body.into());
            let place = CodePlace { world: &world, thread: Tid(1) };
            while code.made() == 0 {
                match code.next(place) {
                    CodePoint::Call(_) => code.returned(Val::Int(v)),
                    _ => code.begin(),
                }
            }
            code.next(place);
            code
        };
        let forgets = body! { loop { let v = read(x); if (v > 1) { break } } Method::write(x, 1) };
        let returns = body! { let w = loop { let v = read(x); if (v > 1) { break v } }; Method::write(x, w) };
        assert_eq!(after(&forgets, 2), after(&forgets, 3));
        assert_ne!(after(&forgets, 1), after(&forgets, 2));
        assert_ne!(after(&returns, 2), after(&returns, 3));
    }

    /// A loop that counts in a variable begins with other values each time, and one whose variable is set before it is read does not.
    #[test]
    fn iterations_with_other_values_are_distinguished() {
        let world = world();
        let of = |adds: bool| {
            let mut writer = ScriptWriter::default();
            let v = writer.fresh();
            writer.set(v, 0);
            let first = writer.begin_loop();
            let next = if adds { ScriptWriter::value(v) + 1 } else { 5.into() };
            writer.set(v, next);
            writer.call(CallOf::known(Method::Write { x: Loc::new("x"), v: 1.into() }.into()), None);
            writer.end_loop(first);
            let mut code = CodeState::start(&writer.finish());
            let mut found = Vec::new();
            while found.len() < 2 {
                match code.next(CodePlace { world: &world, thread: Tid(1) }) {
                    CodePoint::Call(_) => code.returned(Val::Unit),
                    CodePoint::Iteration(CodeIteration { done, others, is_other, .. }) => {
                        found.push((done, others, is_other));
                        code.go_on(true);
                    }
                    _ => code.begin(),
                }
            }
            found
        };
        assert_eq!(of(true), [(0, 0, true), (0, 1, true)]);
        assert_eq!(of(false), [(0, 0, false), (1, 0, false)]);
    }
}
