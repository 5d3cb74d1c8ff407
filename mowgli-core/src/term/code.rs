//! The one stepper of code: where a thread is in its script, and the point that it comes to next.
//!
//! **Computes** the next [`CodePoint`] of a [`CodeState`]: a call, the end of an iteration, or an end. Its readers decide what a
//! call returns, whether a body replaces it, and whether a loop goes on. These are `flow`, the plain semantics, the recovery
//! of f, the machine, and code that runs. Values are known, or they are terms: then the reader is symbolic execution, which also
//! decides conditions and the elements of sets ([`OpenPoint`]).
//!
//! **Invariant.** A state is plain data, so equal states go on in the same way. A variable leaves it once nothing reads it again. Where
//! nothing but the value of a read differs that nobody reads any more, states are equal.
//!
//! **Example.** Take `loop { let v = read(x); if (v > 1) { break } }; write(y, 1)`. It is at the same state after 2 and after 3.
//!
//! **Correct because** an instruction is one step of the calculus of LOCO §3.1, but for these deviations:
//!
//! 1. `if`, `for` and the tuple of the values of a `for` are instructions. LOCO derives them from functions of values, which are
//!    closures and cannot be read. Test: `a_script_makes_the_calls_of_its_body`.
//! 2. A break leaves one loop, because no published body leaves more of them. Same test.
//! 3. A method about the empty set of nodes is not called. Its event would have no subevent, which LOCO does not allow. Test:
//!    `operands_change_places_and_sets_get_the_own_node`.
//!
//! Whether an iteration only looks depends on its events, and equal states do not show it. So its end is a point, with the number of
//! calls before it. Runs of terms cover all runs of values: test `runs_are_instances_of_paths`.
//!
//! **Cost.** A step copies nothing. A copy of a state has the values of a few variables, and a frame for each loop around it.

use std::convert::Infallible;
use std::sync::Arc;

use im::OrdMap;

use crate::event::{Call, SourceLine};
use crate::expr::{Expr, Surroundings, Var};
use crate::few::Few;
use crate::ids::Tid;
use crate::term::script::{CallOf, CheckOf, CodeByResults, Instruction, NextByResults, Script, StateName, VarNumber};
use crate::value::Val;
use crate::world::World;

/// A script at some instruction, with the values of its variables.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Activation<V: Copy = Val> {
    script: Script,
    position: usize,
    /// The values of variables.
    values: OrdMap<VarNumber, V>,
    /// The arguments of the call whose body this is.
    args: Few<V>,
}

/// A loop, a `for` or a replaced call around an instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum CodeFrame<V: Copy> {
    /// A loop, whose present iteration began after `start` calls.
    Loop {
        /// The iterations that went on with the same values.
        done: usize,
        /// The times that an iteration began with other values than the one before.
        others: usize,
        start: usize,
        /// The values with which the iteration began, of the variables that the loop sets and reads.
        begun: Vec<Option<V>>,
    },
    /// A Rust function that has had these results, and these in the present iteration of a loop. It may have named its state.
    Results { known: Vec<V>, own: Option<Vec<V>>, name: Option<StateName> },
    /// A `for` at this element.
    For { elements: Few<V>, at: usize, values: Few<V> },
    /// A `for` in its iteration for any element.
    Any,
    /// A replaced call, whose body began after `start` calls.
    Body { caller: Arc<Activation<V>>, outer: Option<usize>, start: usize },
}

/// The place of a thread in its code.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CodeState<V: Copy = Val> {
    at: Activation<V>,
    frames: Vec<CodeFrame<V>>,
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

/// The surroundings of code give the values of its expressions: known ones ([`CodePlace`]), or terms of which its reader decides.
pub trait CodeSurroundings: Copy {
    /// A value.
    type Value: Copy + Eq + From<Val>;
    /// A call with such arguments.
    type Call;
    /// A point at which the reader decides. Known values have no such point.
    type Open;

    /// Returns the value of an expression.
    fn value(self, e: Expr, at: &Activation<Self::Value>) -> Self::Value;
    /// Returns a call, unless it has no effect.
    fn call(self, of: &CallOf, at: &Activation<Self::Value>) -> Option<Self::Call>;
    /// True if a condition holds.
    ///
    /// # Errors
    /// The reader decides, by [`CodeState::decided`].
    fn holds(self, condition: Expr, at: &Activation<Self::Value>) -> Result<bool, Self::Open>;
    /// Returns the elements of a `for`.
    ///
    /// # Errors
    /// The reader decides: by [`CodeState::begin_for`], [`CodeState::begin_any`] or [`CodeState::skip_for`].
    fn elements(self, all: Expr, at: &Activation<Self::Value>) -> Result<Few<Self::Value>, Self::Open>;
    /// Returns a tuple.
    fn tuple(self, parts: &[Self::Value]) -> Self::Value;

    /// Returns a point where a loop is left, or an iteration for any element ends, if the reader asks for one.
    fn stop(self, at: OpenPoint) -> Option<Self::Open> {
        let _ = at;
        None
    }

    /// Returns the next step of a Rust function. Bodies contain no Rust function.
    fn by_results(
        self,
        code: &CodeByResults,
        known: &[Self::Value],
        own: Option<&[Self::Value]>,
    ) -> NextByResults<Self::Call, Self::Value> {
        unreachable!("a body is a term, and not {code:?} of {} results", known.len() + own.map_or(0, <[_]>::len))
    }

    /// Returns the call that a check makes if something is wrong. There is no check in a body.
    fn fault(self, check: &CheckOf, _: &Activation<Self::Value>) -> Option<Self::Call> {
        unreachable!("a body has no {check:?}")
    }
}

/// A point of code whose values are terms, at which its reader decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenPoint {
    /// A condition that may hold.
    Condition(Expr),
    /// A `for` through this set, whose elements are not known.
    Elements(Expr),
    /// The end of the iteration for any element.
    Round,
    /// A loop was left. The thread goes on.
    Left,
}

/// The point that a thread comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CodePoint<C = Call, V = Val, O = Infallible> {
    /// The reader decides how it goes on.
    Open(O),
    /// It makes a call.
    Call(C),
    /// A loop begins.
    Loop,
    /// An iteration has ended without a break.
    Iteration(CodeIteration),
    /// The innermost replaced call returns this value. Its body began after so many calls.
    Returned(V, usize),
    /// The thread ends.
    Ended(V),
    /// A break out of no loop: the execution does not count, or the body is not well defined.
    Escaped,
    /// A limit of a Rust function stops the thread, for this reason.
    Late(String),
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

impl CodeSurroundings for CodePlace<'_> {
    type Value = Val;
    type Call = Call;
    type Open = Infallible;

    fn value(self, e: Expr, at: &Activation) -> Val {
        e.eval(&CodeScope(self, at))
    }

    fn call(self, of: &CallOf, at: &Activation) -> Option<Call> {
        match of {
            CallOf::Known(call) => Some(Call::clone(call)),
            CallOf::Term(term) | CallOf::Method(term) => {
                Some(term.eval(&CodeScope(self, at))).filter(|call| !of.is_nothing(call))
            }
        }
    }

    fn holds(self, condition: Expr, at: &Activation) -> Result<bool, Infallible> {
        Ok(self.value(condition, at) == Val::Bool(true))
    }

    fn elements(self, all: Expr, at: &Activation) -> Result<Few<Val>, Infallible> {
        Ok(all.elements(&CodeScope(self, at)))
    }

    fn tuple(self, parts: &[Val]) -> Val {
        Val::tuple(parts)
    }

    fn by_results(self, code: &CodeByResults, known: &[Val], own: Option<&[Val]>) -> NextByResults {
        (code.next)(self.thread, known, own)
    }

    fn fault(self, check: &CheckOf, at: &Activation) -> Option<Call> {
        (check.fault)(self.thread, &|slot| at.value(slot).unwrap_or(Val::Unit))
    }
}

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

impl<V: Copy + Eq> Activation<V> {
    fn of(script: Script, args: Few<V>) -> Self {
        Self { script, position: 0, values: OrdMap::new(), args }
    }

    /// Returns the value of a variable.
    pub fn value(&self, slot: VarNumber) -> Option<V> {
        self.values.get(&slot).copied()
    }

    fn set(&mut self, slot: VarNumber, v: V) {
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
}

impl CodeState {
    /// The beginning of a thread.
    #[must_use]
    pub fn start(script: &Script) -> Self {
        Self::with_args(script, Few::default())
    }

    /// The beginning of the body of a call, as a thread of its own.
    #[must_use]
    pub fn of_call(script: &Script, call: &Call) -> Self {
        Self::with_args(script, call.args.clone())
    }
}

impl<V: Copy + Eq + From<Val>> CodeState<V> {
    /// The beginning of a thread with these arguments.
    #[must_use]
    pub fn with_args(script: &Script, args: Few<V>) -> Self {
        let at = Activation::of(script.clone(), args);
        Self { at, frames: Vec::new(), made: 0, begun: 0, within: None, is_at_end: false }
    }

    /// Returns the number of the instruction at which the thread is.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at.position
    }

    /// Returns the value of a variable; `None` if it has none, or if nothing reads it again.
    #[must_use]
    pub fn value(&self, slot: VarNumber) -> Option<V> {
        self.at.value(slot)
    }

    /// True if the thread runs a Rust function, which may read every result.
    #[must_use]
    pub fn is_by_results(&self) -> bool {
        self.at.is_by_results()
    }

    /// Returns the name that a Rust function has given to the state.
    #[must_use]
    pub fn name(&self) -> Option<StateName> {
        self.frames.iter().find_map(|frame| if let CodeFrame::Results { name, .. } = frame { *name } else { None })
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

    /// True if the thread is still in the loop at this depth, one of whose iterations began after so many calls.
    #[must_use]
    pub fn stays_in(&self, depth: usize, of: usize) -> bool {
        matches!(self.frames.get(depth), Some(CodeFrame::Loop { start, others, .. }) if *start == of || *others > 0)
    }

    /// Returns this state without its numbers of calls and iterations. States that are then equal go on in the same way, up to bounds.
    #[must_use]
    pub fn uncounted(&self) -> Self {
        let mut state = Self { made: 0, begun: 0, within: None, ..self.clone() };
        for frame in &mut state.frames {
            match frame {
                CodeFrame::Loop { done, others, start, .. } => (*done, *others, *start) = (0, 0, 0),
                CodeFrame::Body { outer, start, .. } => (*outer, *start) = (None, 0),
                _ => {}
            }
        }
        state
    }

    fn instruction(&self) -> &Instruction {
        self.at.script.at(self.at.position)
    }

    /// Returns the first call from here on, as a place in the source.
    #[must_use]
    pub fn place(&self) -> SourceLine {
        self.at.script.place(self.at.position)
    }

    /// Returns the variable that the instruction of this point sets, with its name.
    #[must_use]
    pub fn variable(&self) -> Option<Var> {
        let (Instruction::Call(_, Some(slot)) | Instruction::For { slot, .. }) = self.instruction() else {
            return None;
        };
        Some(Var { number: *slot, name: self.at.script.name(*slot)? })
    }

    /// True if the `for` at which the thread is collects values.
    #[must_use]
    pub fn collects(&self) -> bool {
        matches!(self.instruction(), Instruction::For { tuple: Some(_), .. })
    }

    /// True if the `for` at which the thread is is a whole iteration of a loop.
    #[must_use]
    pub fn is_iteration_of_loop(&self) -> bool {
        let is_loop = |at: &usize| matches!(self.at.script.at(*at), Instruction::Loop(_));
        let Instruction::For { end, .. } = self.instruction() else { return false };
        self.at.position.checked_sub(1).is_some_and(|at| is_loop(&at))
            && *self.at.script.at(*end) == Instruction::Again(self.at.position)
    }

    /// Changes the values of all variables.
    pub fn change(&mut self, mut change: impl FnMut(V) -> V) {
        self.at.values = self.at.values.iter().map(|(slot, v)| (*slot, change(*v))).collect();
    }

    /// Goes on to the next point. A thread that is at a point stays there.
    pub fn next<S: CodeSurroundings<Value = V>>(&mut self, place: S) -> CodePoint<S::Call, V, S::Open> {
        loop {
            // The text does not change, and a clone of its pointer would cost more than a step.
            let Activation { script, position, .. } = &self.at;
            let after = position + 1;
            match script.at(*position) {
                Instruction::Set(slot, e) => {
                    let (slot, v) = (*slot, place.value(*e, &self.at));
                    self.at.set(slot, v);
                    self.at.position = after;
                }
                Instruction::Call(of, to) => {
                    let to = *to;
                    if let Some(call) = place.call(of, &self.at) {
                        self.at.forget(after - 1);
                        return CodePoint::Call(call);
                    }
                    if let Some(slot) = to {
                        self.at.set(slot, Val::Unit.into());
                    }
                    self.at.position = after;
                }
                Instruction::Unless(condition, _) => match place.holds(*condition, &self.at) {
                    Ok(holds) => self.decided(holds),
                    Err(open) => return CodePoint::Open(open),
                },
                Instruction::Jump(leaves, to) => {
                    let leaves = *leaves;
                    self.frames.truncate(self.frames.len() - leaves);
                    self.at.position = *to;
                    if leaves > 0
                        && let Some(open) = place.stop(OpenPoint::Left)
                    {
                        self.at.forget(self.at.position);
                        return CodePoint::Open(open);
                    }
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
                Instruction::For { all, .. } => match place.elements(*all, &self.at) {
                    Ok(elements) => self.begin_for(elements),
                    Err(open) => {
                        self.at.forget(after - 1);
                        return CodePoint::Open(open);
                    }
                },
                Instruction::Next { slot, first, collects } => {
                    if let Some(CodeFrame::Any) = self.frames.last()
                        && let Some(open) = place.stop(OpenPoint::Round)
                    {
                        return CodePoint::Open(open);
                    }
                    let (slot, first, collects) = (*slot, *first, *collects);
                    self.next_element(place, slot, first, collects);
                }
                Instruction::Return(e) => {
                    let v = place.value(*e, &self.at);
                    let is_body = |frame: &CodeFrame<V>| matches!(frame, CodeFrame::Body { .. });
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
                    if let Some(call) = place.fault(check, &self.at) {
                        return CodePoint::Call(call);
                    }
                    self.at.position = after;
                }
            }
        }
    }

    /// The condition at which the thread is holds, or does not.
    pub fn decided(&mut self, holds: bool) {
        let Instruction::Unless(_, to) = self.instruction() else { unreachable!("the thread is at a condition") };
        self.at.position = if holds { self.at.position + 1 } else { *to };
    }

    /// The `for` at which the thread is begins with these elements.
    pub fn begin_for(&mut self, elements: Few<V>) {
        let Instruction::For { slot, .. } = self.instruction() else { unreachable!("the thread is at a `for`") };
        match elements.first().copied() {
            Some(first) => {
                let slot = *slot;
                self.frames.push(CodeFrame::For { elements, at: 0, values: Few::default() });
                self.at.set(slot, first);
                self.at.position += 1;
            }
            None => self.skip_for(Val::tuple(&[]).into()),
        }
    }

    /// The iteration of the `for` for any element begins. It ends at [`OpenPoint::Round`].
    pub fn begin_any(&mut self, element: V) {
        self.begin_for(Few::from([element]));
        self.frames.pop();
        self.frames.push(CodeFrame::Any);
    }

    /// The thread goes behind the `for` at which it is, whose collected values are these.
    pub fn skip_for(&mut self, values: V) {
        let Instruction::For { tuple, end, .. } = self.instruction() else { unreachable!("the thread is at a `for`") };
        let (tuple, end) = (*tuple, *end);
        tuple.into_iter().for_each(|tuple| self.at.set(tuple, values));
        self.at.position = end;
    }

    fn next_element(
        &mut self,
        place: impl CodeSurroundings<Value = V>,
        slot: VarNumber,
        first: usize,
        collects: Option<(VarNumber, VarNumber)>,
    ) {
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
            let v = place.tuple(values);
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
    fn carried(&self) -> Vec<Option<V>> {
        let Instruction::Again(first) = self.instruction() else { unreachable!("an iteration ends here") };
        let Instruction::Loop(carried) = self.at.script.at(first - 1) else { unreachable!("a loop begins there") };
        carried.iter().map(|slot| self.at.value(*slot)).collect()
    }

    /// The call at which the thread is returns.
    pub fn returned(&mut self, ret: V) {
        self.made += 1;
        self.give(ret);
    }

    /// The call at which the thread is has this result, and does not count.
    pub fn give(&mut self, v: V) {
        match self.instruction() {
            Instruction::Call(_, to) => {
                if let Some(slot) = *to {
                    self.at.set(slot, v);
                }
                self.at.position += 1;
            }
            _ => {
                let (known, own, _) = self.results();
                own.as_mut().unwrap_or(known).push(v);
            }
        }
    }

    /// Returns the results of the Rust function that the thread is in, all and those of the present iteration, and the state's name.
    fn results(&mut self) -> (&mut Vec<V>, &mut Option<Vec<V>>, &mut Option<StateName>) {
        let of = self.frames.iter_mut().rev().find_map(|frame| match frame {
            CodeFrame::Results { known, own, name } => Some((known, own, name)),
            _ => None,
        });
        of.expect("the thread is in a Rust function")
    }

    /// Returns the next point of a Rust function, if there is one before it has other results.
    fn next_by_results<S: CodeSurroundings<Value = V>>(
        &mut self,
        place: S,
        code: &CodeByResults,
    ) -> Option<CodePoint<S::Call, V, S::Open>> {
        if !matches!(self.frames.last(), Some(CodeFrame::Results { .. } | CodeFrame::Loop { .. })) {
            self.frames.push(CodeFrame::Results { known: Vec::new(), own: None, name: None });
        }
        let (known, own, name) = self.results();
        let next = place.by_results(code, known, own.as_deref());
        *name = match next {
            NextByResults::Call(_, named) | NextByResults::Ended(_, named) => named,
            _ => None,
        };
        match next {
            NextByResults::Call(call, _) => Some(CodePoint::Call(call)),
            NextByResults::Loop => Some(CodePoint::Loop),
            NextByResults::Again => {
                self.is_at_end = true;
                Some(CodePoint::Iteration(self.iteration()))
            }
            NextByResults::Leaves => {
                let own = own.take().expect("it is in a loop");
                known.push(place.tuple(&own));
                self.frames.pop();
                None
            }
            NextByResults::Late(why) => Some(CodePoint::Late(why)),
            NextByResults::Discarded => Some(CodePoint::Escaped),
            NextByResults::Ended(v, _) => Some(CodePoint::Ended(v)),
        }
    }

    /// The thread begins the body of the call at which it is. Returns the number of the call among the replaced ones.
    pub fn enter(&mut self, script: &Script, args: &Few<V>) -> usize {
        let inner = Activation::of(script.clone(), args.clone());
        self.at.forget(self.at.position + 1);
        let caller = Arc::new(std::mem::replace(&mut self.at, inner));
        let number = self.begun;
        self.begun += 1;
        let outer = self.within.replace(number);
        self.frames.push(CodeFrame::Body { caller, outer, start: self.made });
        number
    }

    /// The body at whose end the thread is returns.
    pub fn leave(&mut self, v: V) {
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
                CodePoint::Returned(..) | CodePoint::Escaped | CodePoint::Late(_) => None,
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
