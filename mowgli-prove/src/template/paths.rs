//! Symbolic execution of bodies: the paths through the term of a method, each with its conditions and its calls.
//!
//! **Computes** from a [`Body`] and the form of a call's arguments a list of [`Path`]s. A path has its calls with their
//! arguments, how often each is made, the result, and the conditions that lead there. Each `if` is decided in both ways.
//! A `for` through threads or nodes is one [`PathStep`] for each of them, and one through a list is unrolled. Of a loop that
//! waits, the path keeps the last call of the last round. A loop with effects has a step for each round before the last
//! one.
//!
//! **Invariant**: for every call that returns, some path has conditions that all hold, and the call makes the calls of
//! that path. Reads of loops that only wait are left out.
//!
//! **Example**: `let v = read(x); if v = 0 { write(x, 1) } v` has two paths. One reads and writes, and its condition is
//! that result 1 is 0; the other only reads, and result 1 is not 0. Both return result 1.
//!
//! **Correct because** each case of [`SymbolicExecutor::follow`] is the one of [`Body::program`] on unknown values. A path is
//! dropped only if its conditions contradict one another. A condition that no template can express is dropped from its
//! path, which is about more calls then. Tests: `mod tests` here, and `no_mutant_is_proved_and_refuted`.
//!
//! **Cost**: the number of paths, of which there are at most [`MOST_PATHS`].

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli_core::event::SourceLine;
use mowgli_core::expr::{Expr, ExprTerm, Function, Op, Var, here};
use mowgli_core::ids::Name;
use mowgli_core::library::{Hints, Libraries};
use mowgli_core::term::body::{Body, CallTerm, Stmt};
use mowgli_core::term::method::{self, Returns};
use mowgli_core::term::parts::{ObjectTerm, Parts};
use mowgli_core::value::Val;

use crate::error::{Refusal, refusal};
use crate::template::classes::classes;
use crate::template::kind::Guard;
use crate::template::pattern::{ArgumentForm, Datum, Each, Members, Nodes, Segment, Times, Whole};

/// The most paths through a body, because each path becomes a kind of calls, and obligations are about pairs of kinds.
const MOST_PATHS: usize = 128;

/// The number of the variable for the result of the first call. The variables of bodies have smaller numbers.
const RESULT: usize = 1 << 20;
/// The number of the first variable for what a `for` goes through.
pub(crate) const ELEMENT: usize = 2 << 20;
/// The number of the first variable for a value of which nothing is known.
pub(crate) const UNKNOWN: usize = 3 << 20;

/// The name of the tuple of the values of a `for`. No variable of a body has it, because it is no name in Rust.
const VALUES: &str = "(values)";

/// A call of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PathCall {
    pub call: CallTerm,
    /// The name of its result.
    pub name: &'static str,
    /// True if it is the last call of the last round of a loop.
    pub ends_loop: bool,
}

/// A call of a loop that is left out. It must only read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LeftOutCall {
    pub call: CallTerm,
    pub result: Expr,
    /// The conditions that hold at the end of its round. For example, a round of a spin lock goes on only if its
    /// compare-and-swap has failed.
    pub facts: Vec<PathCondition>,
}

/// Calls that are made one after the other: once, or together for each of some nodes, threads or rounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PathStep {
    pub times: Times,
    /// The variable for the node or thread that the calls are made for.
    pub element: Option<Var>,
    pub calls: Vec<PathCall>,
}

/// A condition that was decided.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PathCondition {
    pub condition: Expr,
    pub holds: bool,
    /// True if it holds whenever a loop or a round ends, so that it does not distinguish branches.
    pub is_fact: bool,
}

/// A path through a body.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub steps: Vec<PathStep>,
    /// The conditions that lead to this path, and the facts that hold where loops end.
    pub decided: Vec<PathCondition>,
    /// The comparisons of data among the conditions.
    pub guards: Vec<Guard>,
    /// Data that are equal because a loop ended.
    pub equal: Vec<(Datum, Datum)>,
    /// The calls that end a loop because their result is greater than an earlier one: the positions of both results.
    pub above: Vec<(usize, usize)>,
    /// The expressions of which nothing is known, each with the variable that stands for it.
    pub unknown: Vec<(Expr, Var)>,
    pub returned: Expr,
    /// The calls of loops that are left out.
    pub left_out: Vec<LeftOutCall>,
    /// The position after which calls are left out that are as many as a result says.
    pub as_many_after: Option<usize>,
}

impl Path {
    pub fn segments(&self) -> Vec<Segment> {
        self.steps.iter().map(|step| Segment { times: step.times, len: step.calls.len() }).collect()
    }

    /// Lists the calls in the order of their positions, with how often each is made.
    pub fn made(&self) -> impl Iterator<Item = (Times, &PathCall)> {
        self.steps.iter().flat_map(|step| step.calls.iter().map(|made| (step.times, made)))
    }
}

/// Returns the variable for the result of the call at a position.
pub(crate) fn result(position: usize) -> Var {
    Var { number: RESULT + position, name: "result" }
}

/// Returns the method of this name of a library.
pub(crate) fn method_of(library: Option<&dyn Hints>, name: &str) -> Option<&'static method::Method> {
    method::named(library?.methods(), name)
}

/// True if calls of this method of a library have a result.
pub(crate) fn returns(library: Option<&dyn Hints>, name: &str) -> bool {
    method_of(library, name).is_some_and(|m| m.returns != Returns::Nothing)
}

/// Returns the position of the call whose result a variable stands for.
fn position_of(var: &Var) -> Option<usize> {
    (RESULT..ELEMENT).contains(&var.number).then(|| var.number - RESULT)
}

/// Returns the position of the call whose result an expression is.
fn result_of(e: Expr) -> Option<usize> {
    if let ExprTerm::Var(var) = e.term() { position_of(var) } else { None }
}

fn int(e: Expr) -> Option<i64> {
    if let ExprTerm::Val(Val::Int(n)) = e.term() { Some(*n) } else { None }
}

fn literal(e: Expr) -> Option<Val> {
    if let ExprTerm::Val(v) = e.term() { Some(*v) } else { None }
}

/// True if an expression is always true or false.
pub(crate) fn is_condition(e: Expr) -> bool {
    match e.term() {
        ExprTerm::Val(Val::Bool(_)) | ExprTerm::Of(Function::IsLoc, _) => true,
        ExprTerm::Op(Op::Eq | Op::Lt, ..) => true,
        ExprTerm::Op(Op::And | Op::Or, a, b) => is_condition(*a) && is_condition(*b),
        ExprTerm::Of(Function::Not, of) => is_condition(*of),
        _ => false,
    }
}

/// True if an expression is always an integer.
fn is_integer(e: Expr) -> bool {
    match e.term() {
        ExprTerm::Val(Val::Int(_)) | ExprTerm::Of(Function::Int | Function::Len, _) => true,
        ExprTerm::Op(Op::Add | Op::Sub | Op::Div | Op::Rem, a, _) => is_integer(*a),
        _ => false,
    }
}

/// True if some variable of an expression satisfies a predicate.
fn has_variable(e: Expr, is: impl Fn(&Var) -> bool) -> bool {
    let mut found = false;
    e.each(&mut |e| found |= matches!(e.term(), ExprTerm::Var(var) if is(var)));
    found
}

/// True if an expression depends on results, or on the element of a `for`.
fn has_variables(e: Expr) -> bool {
    has_variable(e, |_| true)
}

/// True if conditions cannot all hold, because two literals would be equal, or two expressions both equal and
/// different.
pub(crate) fn is_contradiction(decided: &[PathCondition]) -> bool {
    let comparison =
        |d: &PathCondition| if let ExprTerm::Op(Op::Eq, a, b) = d.condition.term() { Some((*a, *b)) } else { None };
    let classes = classes(decided.iter().filter(|d| d.holds).filter_map(comparison));
    let literals = |class: &BTreeSet<Expr>| class.iter().filter(|e| literal(**e).is_some()).count();
    let differ = |(a, b): (Expr, Expr)| a == b || classes.iter().any(|class| class.contains(&a) && class.contains(&b));
    classes.iter().any(|class| literals(class) > 1)
        || decided.iter().filter(|d| !d.holds).filter_map(comparison).any(differ)
}

/// Drops the conditions that follow from the others.
fn without_implied(mut state: SymbolicState) -> SymbolicState {
    let mut i = 0;
    while i < state.decided.len() {
        let mut others = state.decided.clone();
        others[i].holds = !others[i].holds;
        if is_contradiction(&others) {
            state.decided.remove(i);
        } else {
            i += 1;
        }
    }
    state
}

/// The state of symbolic execution: the path up to some statement.
#[derive(Clone, Default)]
struct SymbolicState {
    /// The values of the variables of the body.
    vars: BTreeMap<usize, Expr>,
    steps: Vec<PathStep>,
    decided: Vec<PathCondition>,
    left_out: Vec<LeftOutCall>,
    as_many_after: Option<usize>,
    /// The variables of `for`, each with the set that it goes through.
    elements: Vec<(Expr, Expr)>,
}

impl SymbolicState {
    /// Returns the position of the next call.
    fn position(&self) -> usize {
        self.steps.iter().map(|step| step.calls.len()).sum()
    }

    fn known(&self, condition: Expr) -> Option<bool> {
        let swapped = match condition.term() {
            ExprTerm::Op(Op::Eq, a, b) => ExprTerm::Op(Op::Eq, *b, *a).into(),
            _ => condition,
        };
        self.decided.iter().find(|d| d.condition == condition || d.condition == swapped).map(|d| d.holds)
    }

    fn with(&self, condition: Expr, holds: bool) -> Self {
        let mut state = self.clone();
        state.decided.push(PathCondition { condition, holds, is_fact: false });
        state
    }

    /// Lets a variable of the body be any element of a set.
    fn bind(&mut self, var: Var, element: Var, set: Expr) {
        let element: Expr = ExprTerm::Var(element).into();
        self.vars.insert(var.number, element);
        self.elements.retain(|(known, _)| *known != element);
        self.elements.push((element, set));
    }

    /// True if the value of an expression is surely an element of a set, by what is known so far.
    fn is_in(&self, e: Expr, set: Expr) -> bool {
        let memberships = self.decided.iter().filter(|d| d.holds).filter_map(|d| match d.condition.term() {
            ExprTerm::Op(Op::In, e, set) => Some((*e, *set)),
            _ => None,
        });
        is_in(e, set, &memberships.chain(self.elements.iter().copied()).collect::<Vec<_>>())
    }

    /// Returns the calls since an earlier state, which must all be made once.
    fn calls_since(&self, before: &Self, what: &str) -> Result<Vec<PathCall>, Refusal> {
        let steps = &self.steps[before.steps.len()..];
        match steps.iter().find(|step| step.times != Times::Once) {
            Some(step) => {
                Err(refusal!("it makes calls for several nodes or threads in {what}").at(step.calls[0].call.place))
            }
            None => Ok(steps.iter().flat_map(|step| step.calls.clone()).collect()),
        }
    }
}

/// The end of a part of a body.
#[derive(Clone, PartialEq, Eq, Debug)]
enum BodyEnd {
    Value(Expr),
    /// It breaks out of the innermost loop.
    Broken(Expr),
}

/// The state in which a part of a body ends, and its end.
type BodyOutcome = (SymbolicState, BodyEnd);

/// A round of a `for` for any element of a set.
struct Round {
    calls: Vec<PathCall>,
    /// The calls of its loops that are left out.
    left_out: Vec<LeftOutCall>,
    /// The facts that hold after it.
    facts: Vec<PathCondition>,
}

/// The outcomes of a loop. Outcomes with the same calls are merged, and keep their common facts.
#[derive(Default)]
struct LoopOutcomes(Vec<(BodyOutcome, Vec<PathCondition>)>);

impl LoopOutcomes {
    fn add(&mut self, (state, end): BodyOutcome, facts: Vec<PathCondition>) {
        match self.0.iter_mut().find(|((known, e), _)| known.steps == state.steps && *e == end) {
            Some((_, known)) => known.retain(|fact| facts.contains(fact)),
            None => self.0.push(((state, end), facts)),
        }
    }

    fn outcomes(self) -> impl Iterator<Item = BodyOutcome> {
        self.0.into_iter().map(|((mut state, end), facts)| {
            state.decided.extend(facts);
            (state, end)
        })
    }
}

/// Returns the line of the first call of a part of a body.
fn place_of(body: &Body) -> SourceLine {
    body.calls().first().map_or_else(SourceLine::default, |call| call.place)
}

/// Counts the loops of a body that may end.
fn loops(body: &Body) -> usize {
    match body.stmt() {
        Stmt::Value(_) | Stmt::Break(_) | Stmt::Call(_) => 0,
        Stmt::Let(_, one, other) | Stmt::If(_, one, other) => loops(one) + loops(other),
        Stmt::Loop(round) => usize::from(*round != Body::unit()) + loops(round),
        Stmt::For(_, _, round) | Stmt::Collect(_, _, round) => loops(round),
    }
}

/// Symbolic execution for one form of arguments.
#[derive(Clone)]
pub(crate) struct SymbolicExecutor<'a> {
    /// The library whose calls have these bodies.
    pub library: Name,
    pub below: &'a Libraries,
    /// The objects that the implementation declares.
    pub parts: Option<&'a Parts>,
    /// The form of the arguments.
    pub arguments: Vec<ArgumentForm>,
    /// The sizes of the objects that are arguments, if all objects have the same size.
    pub sizes: BTreeMap<usize, i64>,
    /// True if objects have a writer and readers. Names and data may then be computed, because templates say nothing of
    /// their numbers.
    pub has_roles: bool,
    /// True if the loop of the body has effects.
    pub has_rounds: bool,
    /// The number of variables for unknown values so far.
    pub fresh: Cell<usize>,
    /// The refusal of the first call of an object that may not be there.
    pub missing: RefCell<Option<Refusal>>,
}

impl SymbolicExecutor<'_> {
    /// Returns the paths through a body.
    ///
    /// # Errors
    /// The construct that cannot be read, with its line.
    pub fn paths(&self, body: &Body) -> Result<Vec<Path>, Refusal> {
        if self.has_rounds && loops(body) > 1 {
            return Err(refusal!("it has a loop with effects beside another loop"));
        }
        let mut paths = Vec::new();
        for (state, end) in self.follow(body, SymbolicState::default())? {
            let BodyEnd::Value(returned) = end else { return Err(refusal!("it breaks out of no loop")) };
            if !is_contradiction(&state.decided) {
                paths.push((without_implied(state), returned));
            }
        }
        while let Some((i, j, condition)) = complementary(&paths) {
            paths[i].0.decided.retain(|d| d.condition != condition);
            paths.remove(j);
        }
        let decided: BTreeSet<(Expr, bool)> =
            paths.iter().flat_map(|(state, _)| &state.decided).map(|d| (d.condition, d.holds)).collect();
        let is_both = |e: &Expr| [true, false].iter().all(|holds| decided.contains(&(*e, *holds)));
        let of_world = |e: &Expr| is_of_world(*e, &self.arguments);
        if let Some(condition) = decided.iter().map(|(e, _)| *e).filter(of_world).find(is_both) {
            let depends =
                refusal!("which calls it makes depends on `{condition}`, which is about threads, nodes or objects");
            return Err(depends.at(place_of(body)));
        }
        let paths = paths.into_iter().map(|(state, returned)| self.finished(state, returned));
        let paths = paths.collect::<Result<Vec<Path>, Refusal>>()?;
        self.missing.take().map_or(Ok(paths), Err)
    }

    fn follow(&self, body: &Body, state: SymbolicState) -> Result<Vec<BodyOutcome>, Refusal> {
        let all = match body.stmt() {
            Stmt::Value(e) => {
                let value = self.reduced(*e, &state.vars);
                vec![(state, BodyEnd::Value(value))]
            }
            Stmt::Break(e) => {
                let value = self.reduced(*e, &state.vars);
                vec![(state, BodyEnd::Broken(value))]
            }
            Stmt::Call(call) => vec![self.call(call, "result", state)?],
            Stmt::Let(var, first, rest) => {
                let ends = match (var, first.stmt()) {
                    (Some(var), Stmt::Call(call)) => vec![self.call(call, var.name, state)?],
                    _ => self.follow(first, state)?,
                };
                let mut all = Vec::new();
                for (mut state, end) in ends {
                    match end {
                        BodyEnd::Value(value) => {
                            state.vars.extend(var.map(|var| (var.number, value)));
                            all.extend(self.follow(rest, state)?);
                        }
                        BodyEnd::Broken(_) => all.push((state, end)),
                    }
                }
                all
            }
            Stmt::If(condition, yes, no) => {
                let mut all = Vec::new();
                for (state, holds) in decide(self.reduced(*condition, &state.vars), state) {
                    all.extend(self.follow(if holds { yes } else { no }, state)?);
                }
                all
            }
            Stmt::Loop(round) if *round == Body::unit() => Vec::new(),
            Stmt::Loop(round) if self.has_rounds => self.rounds(round, state)?,
            Stmt::Loop(round) => self.waits(round, state)?,
            Stmt::For(x, set, round) => self.each((*x, *set, round), false, state)?,
            Stmt::Collect(x, set, round) => self.each((*x, *set, round), true, state)?,
        };
        if all.len() > MOST_PATHS {
            Err(refusal!("it has more than {MOST_PATHS} paths").at(place_of(body)))
        } else {
            Ok(all)
        }
    }

    /// Adds a call. A call about no node is not made.
    fn call(&self, call: &CallTerm, name: &'static str, mut state: SymbolicState) -> Result<BodyOutcome, Refusal> {
        let args = call.args.iter().map(|e| self.reduced(*e, &state.vars)).collect();
        let call = CallTerm { args, ..call.clone() };
        let method = self.method(&call)?;
        let mut times = Times::Once;
        for (arg, (_, kind)) in call.args.iter().zip(method.takes) {
            if kind.is_object() && !is_contradiction(&state.decided) {
                let mut missing = self.missing.borrow_mut();
                *missing = missing.take().or(self.has_object(&call, *arg, &state).err());
            }
            if *kind != method::ArgumentKind::Nodes {
                continue;
            }
            match self.set(*arg) {
                Some(Each::Nodes(set)) if set.but_own => times = Times::IfAny(set),
                Some(Each::Nodes(_)) => {}
                _ if matches!(arg.term(), ExprTerm::Of(Function::Only, of) if self.is_name(*of)) => {}
                _ => return Err(refusal!("the set {arg} in {call} is no set of nodes of the call").at(call.place)),
            }
        }
        let value = match method.returns {
            Returns::Nothing => Val::Unit.into(),
            _ if times != Times::Once => {
                return Err(refusal!("{call} has no result where it is not made").at(call.place));
            }
            _ => ExprTerm::Var(Var { name, ..result(state.position()) }).into(),
        };
        let calls = vec![PathCall { call, name, ends_loop: false }];
        state.steps.push(PathStep { times, element: None, calls });
        Ok((state, BodyEnd::Value(value)))
    }

    /// Refuses a call of an object that may not be there, or be of another library (LOCO Def. 3.9). An object is an argument of
    /// the client's call, or declared. Paths that go on for ever make such calls, too.
    fn has_object(&self, call: &CallTerm, of: Expr, state: &SymbolicState) -> Result<(), Refusal> {
        let is_in = |e: Expr, set: Expr| state.is_in(self.simplified(e), self.simplified(set));
        let owner = match of.term() {
            ExprTerm::Part(..) => self.declared(of, &is_in).map(|object| object.library),
            ExprTerm::Arg(i, _) if self.arguments[*i] == ArgumentForm::Location => Ok(self.library),
            _ if self.is_name(of) => {
                Err(refusal!("{of} in {call} is neither declared nor an object of the client's call"))
            }
            _ => return Ok(()),
        };
        match owner? {
            owner if owner == call.library => Ok(()),
            owner => Err(refusal!("{of} is of {owner}, and {} is a call of {}", call.method, call.library)),
        }
    }

    /// Returns the object with a name, as the implementation declares it: see [`Parts::get`].
    pub fn declared(&self, name: Expr, is_in: &dyn Fn(Expr, Expr) -> bool) -> Result<ObjectTerm, Refusal> {
        let parts = self.parts;
        let parts = parts.ok_or_else(|| refusal!("its objects are declared by a Rust function, and not by `parts`"))?;
        parts.get(name, is_in).ok_or_else(|| match parts.get(name, &|_, _| true) {
            Some(_) => refusal!("the implementation may not declare {name}: an index may be outside of its set"),
            None => refusal!("the implementation does not declare {name}"),
        })
    }

    fn method(&self, call: &CallTerm) -> Result<&'static method::Method, Refusal> {
        let method = method_of(self.below.get(call.library), call.method);
        let method = method.filter(|m| m.takes.len() == call.args.len());
        method.ok_or_else(|| refusal!("{call} is of no library below").at(call.place))
    }

    /// Executes a `for`, whose value may be the tuple of the values of its rounds.
    fn each(
        &self,
        (x, set, round): (Var, Expr, &Body),
        collects: bool,
        state: SymbolicState,
    ) -> Result<Vec<BodyOutcome>, Refusal> {
        let set = self.reduced(set, &state.vars);
        if let Some(elements) = listed(set) {
            return self.unrolled((x, &elements, round), collects, state);
        }
        if let Some(each) = self.set(set) {
            let element = Var { number: ELEMENT + x.number, name: x.name };
            let one = self.for_one((x, element, set, round), &state)?;
            // If no round returns, the call returns only where the set is empty.
            if one.is_none() && !each.may_be_empty() {
                return Ok(Vec::new());
            }
            let mut after = state;
            if let Some(Round { calls, left_out, facts }) = one {
                let from = after.position();
                after.decided.extend(if each.may_be_empty() { without_connections(facts, from) } else { facts });
                after.left_out.extend(left_out);
                if !calls.is_empty() {
                    after.steps.push(PathStep { times: Times::Each(each), element: Some(element), calls });
                }
            }
            let value = if collects { self.unknown(x.name) } else { Val::Unit.into() };
            return Ok(vec![(after, BodyEnd::Value(value))]);
        }
        self.as_many((x, set, round), collects, state)
    }

    /// Executes a round of a `for` for any element of a set; `None` if no round returns.
    fn for_one(
        &self,
        (x, element, set, round): (Var, Var, Expr, &Body),
        state: &SymbolicState,
    ) -> Result<Option<Round>, Refusal> {
        let mut inside = state.clone();
        inside.bind(x, element, set);
        let mut found: Option<Round> = None;
        for (after, end) in self.follow(round, inside)? {
            if matches!(end, BodyEnd::Broken(_)) {
                return Err(refusal!("it breaks out of a `for` through {set}").at(place_of(round)));
            }
            if after.as_many_after != state.as_many_after {
                return Err(refusal!("how much it reads for each of {set} depends on a result").at(place_of(round)));
            }
            let calls = after.calls_since(state, "a `for`")?;
            let mut facts = facts_since(&after, state);
            // Only conditions on results of the round hold after it, because the set may be empty.
            let is_of_round = |var: &Var| position_of(var).is_some_and(|position| position >= state.position());
            facts.retain(|fact| has_variable(fact.condition, is_of_round));
            facts.retain(|fact| !has_variable(fact.condition, |var| var.number == element.number));
            let left_out = after.left_out[state.left_out.len()..].iter().cloned();
            match &mut found {
                None => found = Some(Round { calls, left_out: left_out.collect(), facts }),
                Some(known) if known.calls == calls => {
                    known.facts.retain(|fact| facts.contains(fact));
                    known.left_out.extend(left_out);
                }
                Some(_) => {
                    let last = after.decided.last().map(|d| d.condition.to_string()).unwrap_or_default();
                    return Err(refusal!("what it does for one of {set} depends on `{last}`").at(place_of(round)));
                }
            }
        }
        Ok(found)
    }

    fn unrolled(
        &self,
        (x, elements, round): (Var, &[Expr], &Body),
        collects: bool,
        state: SymbolicState,
    ) -> Result<Vec<BodyOutcome>, Refusal> {
        let (mut going, mut ended) = (vec![(state, Vec::new())], Vec::new());
        for element in elements {
            let mut next = Vec::new();
            for (mut state, values) in going {
                state.vars.insert(x.number, *element);
                for (state, end) in self.follow(round, state)? {
                    match end {
                        BodyEnd::Value(v) => next.push((state, [&values[..], &[v]].concat())),
                        broken @ BodyEnd::Broken(_) => ended.push((state, broken)),
                    }
                }
            }
            going = next;
            if going.len() + ended.len() > MOST_PATHS {
                return Err(refusal!("it has more than {MOST_PATHS} paths").at(place_of(round)));
            }
        }
        let value = |values| if collects { folded(ExprTerm::Tuple(values).into()) } else { Val::Unit.into() };
        ended.extend(going.into_iter().map(|(state, values)| (state, BodyEnd::Value(value(values)))));
        Ok(ended)
    }

    /// Executes a `for` through as many numbers as a result says. It is one round, or else the rounds are reads that
    /// are left out.
    fn as_many(
        &self,
        (x, set, round): (Var, Expr, &Body),
        collects: bool,
        state: SymbolicState,
    ) -> Result<Vec<BodyOutcome>, Refusal> {
        let cannot = || refusal!("it goes through {set}, which is no set of the call").at(place_of(round));
        let ExprTerm::Op(Op::Range, from, to) = set.term() else { return Err(cannot()) };
        let (Some(first), true, true) = (int(*from), is_integer(*to), self.has_roles) else { return Err(cannot()) };
        let is_one = equal(*to, (first + 1).into());
        let mut all = Vec::new();
        for (state, holds) in decide(is_one, state) {
            if holds {
                all.extend(self.unrolled((x, &[*from], round), collects, state)?);
                continue;
            }
            let element = self.unknown(x.name);
            let ExprTerm::Var(element) = element.term() else { return Err(cannot()) };
            // If no round returns, there is none.
            let one = self.for_one((x, *element, set, round), &state)?;
            let (calls, left_out) = one.map_or_else(Default::default, |one| (one.calls, one.left_out));
            let last = state.steps.last().filter(|step| step.times == Times::Once).and_then(|step| step.calls.last());
            let is_like = |made: &PathCall| {
                last.is_some_and(|last| (last.call.library, last.call.method) == (made.call.library, made.call.method))
            };
            if state.as_many_after.is_some() || !calls.iter().all(is_like) {
                return Err(refusal!("how many calls it makes depends on a result").at(place_of(round)));
            }
            let position = state.position();
            let made = calls.iter().enumerate().map(|(n, made)| LeftOutCall {
                call: made.call.clone(),
                result: ExprTerm::Var(Var { name: made.name, ..result(position + n) }).into(),
                facts: Vec::new(),
            });
            let left_out: Vec<LeftOutCall> = made.chain(left_out).map(|of| self.forgotten(of, position)).collect();
            let value = if collects { self.unknown(VALUES) } else { Val::Unit.into() };
            let mut after = state;
            after.as_many_after = position.checked_sub(1).filter(|_| !calls.is_empty());
            after.left_out.extend(left_out);
            // There are as many values as rounds.
            let after = after.with(equal(ExprTerm::Of(Function::Len, value).into(), 1.into()), false);
            all.push((after, BodyEnd::Value(value)));
        }
        Ok(all)
    }

    /// Puts unknown values in place of the results from a position on.
    fn forgotten(&self, of: LeftOutCall, from: usize) -> LeftOutCall {
        let mut known = BTreeMap::new();
        let mut renamed = |e: Expr| folded(self.forget(e, from, &mut known));
        let args = of.call.args.iter().map(|e| renamed(*e)).collect();
        let result = renamed(of.result);
        let facts = of.facts.into_iter().map(|d| PathCondition { condition: renamed(d.condition), ..d }).collect();
        LeftOutCall { call: CallTerm { args, ..of.call }, result, facts }
    }

    fn forget(&self, e: Expr, from: usize, known: &mut BTreeMap<usize, Expr>) -> Expr {
        e.replaced(&mut |term| match term {
            ExprTerm::Var(var) if position_of(var).is_some_and(|p| p >= from) => {
                Some(*known.entry(var.number).or_insert_with(|| self.unknown(var.name)))
            }
            _ => None,
        })
    }

    /// Executes a loop that only reads, and keeps the last call of the last round.
    fn waits(&self, round: &Body, mut state: SymbolicState) -> Result<Vec<BodyOutcome>, Refusal> {
        let base = state.position();
        let (times, element, outcomes) = match round.stmt() {
            Stmt::For(x, set, one) if *self.reduced(*set, &state.vars).term() == ExprTerm::AllThreads => {
                let element = Var { number: ELEMENT + x.number, name: x.name };
                state.bind(*x, element, ExprTerm::AllThreads.into());
                let inside = state.clone();
                (Times::Ended, Some(element), self.follow(one, inside)?)
            }
            _ => (Times::Once, None, self.follow(round, state.clone())?),
        };
        let mut left_out: Vec<LeftOutCall> = Vec::new();
        let mut ends = LoopOutcomes::default();
        for (after, end) in outcomes {
            let calls = after.calls_since(&state, "a loop that waits")?;
            if times == Times::Ended && calls.len() != 1 {
                return Err(
                    refusal!("a loop through all threads makes more than one call for each").at(place_of(round))
                );
            }
            if after.as_many_after != state.as_many_after {
                return Err(refusal!("how much it reads in a loop depends on a result").at(place_of(round)));
            }
            let facts = facts_since(&after, &state);
            let is_last = matches!(end, BodyEnd::Broken(_));
            let made = calls[..calls.len() - usize::from(is_last && !calls.is_empty())].iter().enumerate();
            let made = made.map(|(n, made)| LeftOutCall {
                call: made.call.clone(),
                result: ExprTerm::Var(Var { name: made.name, ..result(base + n) }).into(),
                facts: facts.clone(),
            });
            // The calls that inner loops leave out are left out here, too.
            let of_inner = after.left_out[state.left_out.len()..].iter().cloned();
            left_out.extend(made.chain(of_inner).map(|of| self.forgotten(of, base)));
            let BodyEnd::Broken(value) = end else { continue };
            // The last call has the next position; the results of others are forgotten.
            let renumbered = |(n, made): (usize, &PathCall)| {
                (RESULT + base + n, ExprTerm::Var(Var { name: made.name, ..result(base) }).into())
            };
            let mut known: BTreeMap<usize, Expr> =
                calls.iter().enumerate().next_back().map(renumbered).into_iter().collect();
            let mut renamed = |e: Expr| folded(self.forget(e, base, &mut known));
            let facts = facts.into_iter().map(|d| PathCondition { condition: renamed(d.condition), ..d }).collect();
            let mut ended = state.clone();
            if let Some(last) = calls.last() {
                let args = last.call.args.iter().map(|e| renamed(*e)).collect();
                let call = CallTerm { args, ..last.call.clone() };
                let calls = vec![PathCall { call, name: last.name, ends_loop: true }];
                ended.steps.push(PathStep { times, element, calls });
            }
            let end = BodyEnd::Value(renamed(value));
            ends.add((ended, end), facts);
        }
        let with_left_out = |(mut state, end): BodyOutcome| {
            state.left_out.extend(left_out.iter().cloned());
            (state, end)
        };
        Ok(ends.outcomes().map(with_left_out).collect())
    }

    /// Executes a loop with effects: a step for each round before the last one, and then the last round.
    fn rounds(&self, round: &Body, state: SymbolicState) -> Result<Vec<BodyOutcome>, Refusal> {
        let is_of_rounds = |step: &PathStep| step.times == Times::Each(Each::Rounds);
        if state.steps.iter().any(is_of_rounds) {
            return Err(refusal!("it makes a loop with effects several times").at(place_of(round)));
        }
        let mut of_round: Option<Vec<PathCall>> = None;
        for (after, _) in self.follow(round, state.clone())?.iter().filter(|(_, end)| matches!(end, BodyEnd::Value(_)))
        {
            if after.as_many_after != state.as_many_after {
                return Err(refusal!("how much it reads in a loop depends on a result").at(place_of(round)));
            }
            let calls = after.calls_since(&state, "a loop with effects")?;
            if *of_round.get_or_insert_with(|| calls.clone()) != calls {
                let last = after.decided.last().map(|d| d.condition.to_string()).unwrap_or_default();
                return Err(refusal!("what it does in a round of a loop depends on `{last}`").at(place_of(round)));
            }
        }
        let mut before = state;
        if let Some(calls) = of_round.filter(|calls| !calls.is_empty()) {
            before.steps.push(PathStep { times: Times::Each(Each::Rounds), element: None, calls });
        }
        let mut ends = LoopOutcomes::default();
        for (mut after, end) in self.follow(round, before.clone())? {
            let BodyEnd::Broken(value) = end else { continue };
            let facts = facts_since(&after, &before);
            after.decided.clone_from(&before.decided);
            if let Some(last) = after.steps[before.steps.len()..].last_mut().and_then(|step| step.calls.last_mut()) {
                last.ends_loop = true;
            }
            let end = BodyEnd::Value(value);
            ends.add((after, end), facts);
        }
        Ok(ends.outcomes().collect())
    }

    /// Returns a new variable, of which nothing is known.
    fn unknown(&self, name: &'static str) -> Expr {
        let number = UNKNOWN + self.fresh.replace(self.fresh.get() + 1);
        ExprTerm::Var(Var { number, name }).into()
    }

    /// Returns the set of nodes or threads that an expression is, if templates know it.
    pub fn set(&self, e: Expr) -> Option<Each> {
        let nodes = |of| Some(Each::Nodes(Nodes { of, but_own: false }));
        match e.term() {
            ExprTerm::AllNodes => nodes(Whole::All),
            ExprTerm::Arg(i, _) if self.arguments.get(*i) == Some(&ArgumentForm::Nodes) => nodes(Whole::Argument(*i)),
            ExprTerm::Op(Op::Without, all, own) => {
                let is_own = *own == here() || *own.term() == ExprTerm::Of(Function::Only, here());
                match self.set(*all)? {
                    Each::Nodes(set) if is_own => Some(Each::Nodes(Nodes { but_own: true, ..set })),
                    _ => None,
                }
            }
            ExprTerm::Of(Function::Nodes, threads) => match threads.term() {
                ExprTerm::Tuple(parts) => match parts[..] {
                    [one] => match one.term() {
                        ExprTerm::Of(Function::First, all) => {
                            nodes(Whole::First(self.members(*all)?)).filter(|_| self.has_roles)
                        }
                        _ => None,
                    },
                    _ => None,
                },
                _ => match self.set(*threads)? {
                    Each::Members(Members { of, but_first: false }) => nodes(Whole::Members(of)),
                    Each::Members(Members { of, but_first: true }) => nodes(Whole::Others(of)),
                    _ => None,
                },
            },
            ExprTerm::Of(Function::Members, _) if !self.has_roles => {
                Some(Each::Members(Members { of: self.members(e)?, but_first: false }))
            }
            ExprTerm::Of(Function::Rest, all) if self.has_roles => {
                Some(Each::Members(Members { of: self.members(*all)?, but_first: true }))
            }
            _ => None,
        }
    }

    /// Returns the argument whose members an expression lists.
    fn members(&self, e: Expr) -> Option<usize> {
        let ExprTerm::Of(Function::Members, x) = e.term() else { return None };
        if let ExprTerm::Arg(i, _) = x.term() { Some(*i) } else { None }
    }

    /// Substitutes the values of the body's variables, and simplifies.
    fn reduced(&self, e: Expr, vars: &BTreeMap<usize, Expr>) -> Expr {
        let with_values = e.replaced(&mut |term| match term {
            ExprTerm::Var(var) => vars.get(&var.number).copied(),
            _ => None,
        });
        self.simplified(with_values)
    }

    /// Simplifies an expression.
    pub fn simplified(&self, e: Expr) -> Expr {
        let all = |parts: &[Expr]| parts.iter().map(|e| self.simplified(*e)).collect::<Vec<Expr>>();
        let term = match e.term() {
            ExprTerm::Of(function, of) => {
                let of = self.simplified(*of);
                match (function, of.term()) {
                    (Function::Size, ExprTerm::Arg(i, _)) if self.sizes.contains_key(i) => return self.sizes[i].into(),
                    (Function::Len, ExprTerm::Arg(i, _)) => match self.arguments[*i] {
                        ArgumentForm::Tuple(words) => return (words as i64).into(),
                        ArgumentForm::Data => return 1.into(),
                        _ => {}
                    },
                    _ => {}
                }
                ExprTerm::Of(*function, of)
            }
            ExprTerm::Op(op, a, b) => {
                let (a, b) = (self.simplified(*a), self.simplified(*b));
                // A datum that is no tuple is its own part.
                if let (Op::Item, ExprTerm::Arg(i, _)) = (op, a.term())
                    && self.arguments[*i] == ArgumentForm::Data
                {
                    return a;
                }
                ExprTerm::Op(*op, a, b)
            }
            ExprTerm::Tuple(parts) => ExprTerm::Tuple(all(parts)),
            ExprTerm::Part(of, role, indices) => ExprTerm::Part(self.simplified(*of), role, all(indices)),
            ExprTerm::Wid(of, role) => ExprTerm::Wid(self.simplified(*of), role),
            ExprTerm::Opaque(name, function, args) => {
                let opaque = Expr::from(ExprTerm::Opaque(name, *function, all(args)));
                let ExprTerm::Opaque(_, _, args) = opaque.term() else { return opaque };
                let is_known = args.iter().all(|e| matches!(e.term(), ExprTerm::Val(_)));
                return if is_known { opaque.value().into() } else { opaque };
            }
            _ => return e,
        };
        folded(term.into())
    }

    /// Returns a condition as a guard, if it compares two data.
    pub fn guard(&self, condition: Expr, are_equal: bool) -> Option<Guard> {
        let ExprTerm::Op(Op::Eq, a, b) = condition.term() else { return None };
        let (a, b) = (self.datum(*a)?, self.datum(*b)?);
        let is_second = |d: &Datum| matches!(d, Datum::Constant(_) | Datum::Results(..));
        let (one, other) = if is_second(&a) || !is_second(&b) && a > b { (b, a) } else { (a, b) };
        Some(Guard { one, other, are_equal })
    }

    /// Returns the datum that an expression is, if templates can name it.
    pub fn datum(&self, e: Expr) -> Option<Datum> {
        match e.term() {
            ExprTerm::Val(v) => v.is_data().then_some(Datum::Constant(*v)),
            ExprTerm::Arg(i, _) => (self.arguments[*i] == ArgumentForm::Data).then_some(Datum::Argument(*i)),
            ExprTerm::Var(var) => position_of(var).map(Datum::Result),
            ExprTerm::Op(Op::Add, of, k) => Some(Datum::Sum(result_of(*of)?, int(*k)?)),
            ExprTerm::Op(Op::Item, of, k) => {
                let (ExprTerm::Arg(i, _), Ok(k)) = (of.term(), usize::try_from(int(*k)?)) else { return None };
                matches!(self.arguments[*i], ArgumentForm::Tuple(words) if k < words).then_some(Datum::Word(*i, k))
            }
            ExprTerm::Tuple(parts) => {
                let first = result_of(*parts.first()?)?;
                let in_a_row = parts.iter().enumerate().all(|(k, e)| result_of(*e) == Some(first + k));
                in_a_row.then_some(Datum::Results(first, parts.len()))
            }
            _ => None,
        }
    }

    /// True if an expression is a datum of the call, or a tuple of such data.
    fn is_known(&self, e: Expr) -> bool {
        match e.term() {
            ExprTerm::Tuple(parts) => parts.iter().all(|e| self.is_known(*e)),
            ExprTerm::Arg(i, _) => matches!(self.arguments[*i], ArgumentForm::Data | ArgumentForm::Tuple(_)),
            _ => self.datum(e).is_some(),
        }
    }

    /// True if an expression names a thread, node, location or identifier in terms of the call, independently of data.
    fn is_name(&self, e: Expr) -> bool {
        match e.term() {
            ExprTerm::Me => true,
            ExprTerm::Arg(i, _) => !matches!(self.arguments[*i], ArgumentForm::Data | ArgumentForm::Tuple(_)),
            ExprTerm::Var(var) => (ELEMENT..UNKNOWN).contains(&var.number),
            ExprTerm::Val(v) => !v.is_data() && !matches!(v, Val::Node(_) | Val::Nodes(_) | Val::Thread(_)),
            ExprTerm::Of(Function::Node | Function::AsWid, of) | ExprTerm::Wid(of, _) => self.is_name(*of),
            ExprTerm::Part(of, _, indices) => self.is_name(*of) && indices.iter().all(|e| self.is_index(*e)),
            _ => false,
        }
    }

    fn is_index(&self, e: Expr) -> bool {
        match e.term() {
            ExprTerm::Val(v) => matches!(v, Val::Int(_) | Val::Thread(_) | Val::Node(_)),
            ExprTerm::Of(Function::Number, of) => self.is_name(*of),
            _ => self.is_name(e),
        }
    }

    /// Makes a path: guards of its conditions, and variables of the expressions of which nothing is known.
    fn finished(&self, state: SymbolicState, returned: Expr) -> Result<Path, Refusal> {
        let mut unknown: Vec<(Expr, Var)> = Vec::new();
        let mut steps = state.steps;
        for made in steps.iter_mut().flat_map(|step| &mut step.calls) {
            made.call = self.spoken(&made.call, &mut unknown)?;
        }
        let mut left_out = state.left_out;
        for of in &mut left_out {
            of.call = self.spoken(&of.call, &mut unknown)?;
        }
        let returned = match self.is_known(returned) {
            true => returned,
            false if self.has_roles => self.variable(returned, &mut unknown),
            false => return Err(refusal!("it returns {returned}, which is no datum of the call")),
        };
        let guards = state.decided.iter().filter(|d| !d.is_fact).filter_map(|d| self.guard(d.condition, d.holds));
        let guards = guards.collect();
        let facts = state.decided.iter().filter(|d| d.is_fact && d.holds);
        let equal = facts.filter_map(|d| self.guard(d.condition, true)).map(|guard| (guard.one, guard.other)).collect();
        let above = state.decided.iter().filter(|d| d.is_fact && d.holds).filter_map(|d| match d.condition.term() {
            ExprTerm::Op(Op::Lt, low, high) => Some((result_of(*high)?, result_of(*low)?)),
            _ => None,
        });
        let above = above.filter(|(high, low)| low < high).collect();
        let as_many_after = state.as_many_after;
        Ok(Path { above, steps, decided: state.decided, guards, equal, unknown, returned, left_out, as_many_after })
    }

    /// Puts variables in place of the arguments of which nothing is known.
    fn spoken(&self, call: &CallTerm, unknown: &mut Vec<(Expr, Var)>) -> Result<CallTerm, Refusal> {
        let method = self.method(call)?;
        let mut args = Vec::new();
        for (&arg, (_, kind)) in call.args.iter().zip(method.takes) {
            args.push(match kind {
                method::ArgumentKind::Nodes => arg,
                method::ArgumentKind::Value if self.is_known(arg) => arg,
                method::ArgumentKind::Value if self.has_roles => self.variable(arg, unknown),
                method::ArgumentKind::Value => {
                    return Err(refusal!("{call} is given {arg}, which is no datum of the call").at(call.place));
                }
                _ if self.is_name(arg) => arg,
                _ => match arg.term() {
                    ExprTerm::Part(of, role, indices) if self.has_roles && self.is_name(*of) => {
                        let index = |e: &Expr| if self.is_index(*e) { *e } else { self.variable(*e, unknown) };
                        ExprTerm::Part(*of, role, indices.iter().map(index).collect()).into()
                    }
                    _ => return Err(refusal!("{call} is about {arg}, which is no name of the call").at(call.place)),
                },
            });
        }
        Ok(CallTerm { args, ..call.clone() })
    }

    /// Returns the variable that stands for an expression of which nothing is known.
    fn variable(&self, e: Expr, unknown: &mut Vec<(Expr, Var)>) -> Expr {
        if let Some((_, var)) = unknown.iter().find(|(known, _)| *known == e) {
            return ExprTerm::Var(*var).into();
        }
        let variable = self.unknown("unknown");
        unknown.extend(if let ExprTerm::Var(var) = variable.term() { Some((e, *var)) } else { None });
        variable
    }

    /// True if a path may return this value, which is true, false, bottom or nothing.
    pub fn may_be(&self, path: &Path, value: Val) -> bool {
        let is_it = |(_, var): &&(Expr, Var)| Expr::from(ExprTerm::Var(*var)) == path.returned;
        let returned = path.unknown.iter().find(is_it).map_or(path.returned, |(e, _)| *e);
        match returned.term() {
            ExprTerm::Val(v) => *v == value,
            ExprTerm::Tuple(_) => false,
            // The value of a `for` is a tuple.
            ExprTerm::Var(var) => var.name != VALUES || var.number < UNKNOWN,
            _ => !is_integer(returned),
        }
    }
}

/// True if a condition is about threads, nodes and objects alone, so that each world decides it.
pub(crate) fn is_of_world(condition: Expr, arguments: &[ArgumentForm]) -> bool {
    let mut is_on_data = has_variables(condition);
    condition.each(&mut |e| {
        is_on_data |=
            matches!(e.term(), ExprTerm::Arg(i, _) if matches!(arguments[*i], ArgumentForm::Data | ArgumentForm::Tuple(_)));
    });
    !is_on_data
}

/// Returns the conditions that were decided since a state, as facts.
fn facts_since(after: &SymbolicState, before: &SymbolicState) -> Vec<PathCondition> {
    let new = after.decided[before.decided.len()..].iter();
    new.map(|d| PathCondition { is_fact: true, ..d.clone() }).collect()
}

/// Drops facts of a round of a `for` through a set that may be empty, because they would say something about all calls.
/// Comparisons of results of the round, from a position on, stay if they contradict neither each other nor anything else.
/// Those that are connected compare with at most one expression that is not of the round. They are connected in one way only,
/// because `w == w + 1` and `w == 3` would make 3 equal to 4.
fn without_connections(facts: Vec<PathCondition>, from: usize) -> Vec<PathCondition> {
    let is_of_round = |var: &Var| position_of(var).is_some_and(|position| position >= from);
    let compared = |d: &PathCondition| {
        let ExprTerm::Op(Op::Eq, a, b) = d.condition.term() else { return Vec::new() };
        let mut all = Vec::new();
        for side in [*a, *b] {
            let before = all.len();
            side.each(&mut |e| all.extend(matches!(e.term(), ExprTerm::Var(var) if is_of_round(var)).then_some(e)));
            all.extend((all.len() == before).then_some(side));
        }
        all
    };
    let is_outside = |e: &&Expr| !has_variable(**e, is_of_round);
    let pairs = |d: &PathCondition| compared(d).into_iter().tuple_windows().collect::<Vec<(Expr, Expr)>>();
    let mut kept: Vec<PathCondition> = Vec::new();
    for fact in facts {
        let known = classes(kept.iter().filter(|d| d.holds).flat_map(pairs));
        let is_known =
            |(a, b): (Expr, Expr)| a == b || known.iter().any(|class| class.contains(&a) && class.contains(&b));
        if fact.holds && pairs(&fact).into_iter().any(is_known) {
            continue;
        }
        kept.push(fact);
        if classes(kept.iter().flat_map(pairs)).iter().any(|class| class.iter().filter(is_outside).count() > 1)
            || is_contradiction(&kept)
        {
            kept.pop();
        }
    }
    kept
}

/// Finds two paths that do the same, and whose conditions differ in one that holds on one path only.
fn complementary(paths: &[(SymbolicState, Expr)]) -> Option<(usize, usize, Expr)> {
    let conditions = |i: usize| paths[i].0.decided.iter().collect::<BTreeSet<_>>();
    let do_the_same = |&(i, j): &(usize, usize)| {
        let ((one, returned), (other, value)) = (&paths[i], &paths[j]);
        (&one.steps, &one.left_out, one.as_many_after, returned)
            == (&other.steps, &other.left_out, other.as_many_after, value)
    };
    let pairs = (0..paths.len()).tuple_combinations().filter(do_the_same);
    let complement = |(i, j): (usize, usize)| {
        let (one, other) = (conditions(i), conditions(j));
        let (only_one, only_other) = (one.difference(&other).collect_vec(), other.difference(&one).collect_vec());
        match (&only_one[..], &only_other[..]) {
            ([a], [b]) if a.condition == b.condition => Some((i, j, a.condition)),
            // The same path twice. There is no such condition.
            ([], []) => Some((i, j, Val::Unit.into())),
            _ => None,
        }
    };
    pairs.filter_map(complement).next()
}

/// Decides a condition in each way that is possible. A condition that was decided before stays as it is.
fn decide(condition: Expr, state: SymbolicState) -> Vec<(SymbolicState, bool)> {
    match condition.term() {
        ExprTerm::Val(v) => vec![(state, *v == Val::Bool(true))],
        ExprTerm::Of(Function::Not, of) if is_condition(*of) => {
            decide(*of, state).into_iter().map(|(state, holds)| (state, !holds)).collect()
        }
        ExprTerm::Op(op @ (Op::And | Op::Or), a, b) if is_condition(condition) => {
            let goes_on = |holds: bool| holds == (*op == Op::And);
            let second = |(state, holds): (SymbolicState, bool)| {
                if goes_on(holds) { decide(*b, state) } else { vec![(state, holds)] }
            };
            decide(*a, state).into_iter().flat_map(second).collect()
        }
        _ => match state.known(condition) {
            Some(holds) => vec![(state, holds)],
            None => vec![(state.with(condition, true), true), (state.with(condition, false), false)],
        },
    }
}

/// Returns the elements of a list.
pub(crate) fn listed(set: Expr) -> Option<Vec<Expr>> {
    match set.term() {
        ExprTerm::Tuple(parts) => Some(parts.clone()),
        ExprTerm::Val(Val::Tuple(parts)) => Some(parts.parts().iter().map(|v| (*v).into()).collect()),
        _ => None,
    }
}

/// True if the value of an expression is surely an element of a set or tuple. `known` are elements, each with a set that it is in.
/// No thread and no node is there by its number alone, because some worlds do not have it.
fn is_in(e: Expr, set: Expr, known: &[(Expr, Expr)]) -> bool {
    let is_known = |(of, all): &(Expr, Expr)| *of == e && is_subset(*all, set, known);
    let of_its_form = || match (e.term(), set.term()) {
        (ExprTerm::Me, ExprTerm::AllThreads) => true,
        (ExprTerm::Of(Function::Node, of), ExprTerm::Of(Function::Nodes, threads)) => is_in(*of, *threads, known),
        (ExprTerm::Of(Function::Node, of), ExprTerm::AllNodes) => {
            matches!(of.term(), ExprTerm::Arg(..) | ExprTerm::Part(..))
                || is_in(*of, ExprTerm::AllThreads.into(), known)
        }
        (ExprTerm::Of(Function::First, all), _) => is_subset(*all, set, known),
        // A remainder is not negative.
        (ExprTerm::Op(Op::Rem, of, by), ExprTerm::Op(Op::Range, from, to)) => {
            by == to && is_integer(*of) && int(*from).is_some_and(|from| from <= 0)
        }
        (ExprTerm::Val(Val::Int(k)), ExprTerm::Op(Op::Range, from, to)) => {
            int(*from).zip(int(*to)).is_some_and(|(from, to)| (from..to).contains(k))
        }
        _ => listed(set).is_some_and(|all| all.contains(&e)),
    };
    known.iter().any(is_known) || of_its_form()
}

/// True if every element of a set or tuple is surely an element of another one.
fn is_subset(set: Expr, of: Expr, known: &[(Expr, Expr)]) -> bool {
    let threads: Expr = ExprTerm::AllThreads.into();
    let of_its_form = || match (set.term(), of.term()) {
        (ExprTerm::Op(Op::Without, all, _), _) | (ExprTerm::Of(Function::Rest | Function::Reversed, all), _) => {
            is_subset(*all, of, known)
        }
        (ExprTerm::Of(Function::Only, one), _) => is_in(*one, of, known),
        (ExprTerm::Of(Function::Members, _), ExprTerm::AllThreads) | (ExprTerm::Arg(..), ExprTerm::AllNodes) => true,
        (ExprTerm::Of(Function::Nodes, some), ExprTerm::Of(Function::Nodes, all)) => is_subset(*some, *all, known),
        (ExprTerm::Of(Function::Nodes, some), ExprTerm::AllNodes) => is_subset(*some, threads, known),
        _ => listed(set).is_some_and(|all| all.into_iter().all(|e| is_in(e, of, known))),
    };
    set == of || of_its_form()
}

fn equal(a: Expr, b: Expr) -> Expr {
    folded(ExprTerm::Op(Op::Eq, a, b).into())
}

/// Simplifies an expression whose parts are simplified. Its value stays the same for all values of its variables.
fn folded(e: Expr) -> Expr {
    let parts = |of: Expr| if let ExprTerm::Tuple(parts) = of.term() { Some(&parts[..]) } else { None };
    let simpler = match e.term() {
        ExprTerm::Of(function, of) => match (function, parts(*of), of.term()) {
            (Function::Len, Some(parts), _) => Some((parts.len() as i64).into()),
            (Function::First, Some([first, ..]), _) => Some(*first),
            (Function::Rest, Some([_, rest @ ..]), _) => Some(folded(ExprTerm::Tuple(rest.to_vec()).into())),
            (Function::Reversed, Some(parts), _) => Some(ExprTerm::Tuple(parts.iter().rev().copied().collect()).into()),
            (Function::Int, ..) if is_integer(*of) => Some(*of),
            (Function::Hash | Function::Packed(_) | Function::Unpacked(_), ..) => Some(*of),
            (Function::Not, _, ExprTerm::Of(Function::Not, inner)) if is_condition(*inner) => Some(*inner),
            (
                Function::Node
                | Function::Nodes
                | Function::Members
                | Function::Size
                | Function::Initial
                | Function::Servers
                | Function::Another,
                ..,
            ) => None,
            (_, _, ExprTerm::Val(_)) => Some(e.value().into()),
            _ => None,
        },
        ExprTerm::Op(op, a, b) => match (op, literal(*a), literal(*b)) {
            (_, Some(_), Some(_)) => Some(e.value().into()),
            (Op::Add, None, Some(Val::Int(0))) => Some(*a),
            (Op::Add, None, Some(Val::Int(k))) => match a.term() {
                ExprTerm::Op(Op::Add, of, more) if int(*more).is_some() => {
                    let sum = int(*more).unwrap_or(0).wrapping_add(k);
                    Some(folded(ExprTerm::Op(Op::Add, *of, sum.into()).into()))
                }
                _ => None,
            },
            (Op::Sub, None, Some(Val::Int(k))) => {
                Some(folded(ExprTerm::Op(Op::Add, *a, k.wrapping_neg().into()).into()))
            }
            (Op::Item, None, Some(Val::Int(k))) => parts(*a).and_then(|all| all.get(usize::try_from(k).ok()?)).copied(),
            (Op::Eq, ..) if a == b => Some(true.into()),
            (Op::Eq, Some(_), None) => Some(equal(*b, *a)),
            (Op::Eq, None, other) => match (a.term(), other) {
                // They differ, because a tuple is not a single value, and an integer not another one.
                (ExprTerm::Tuple(_), Some(v)) if !matches!(v, Val::Tuple(_)) => Some(false.into()),
                (_, Some(v)) if is_integer(*a) && v.int().is_none() => Some(false.into()),
                // `int(e)` is `e`, or 0 if `e` is no integer.
                (ExprTerm::Of(Function::Int, of), Some(Val::Int(n))) if n != 0 => Some(equal(*of, *b)),
                (ExprTerm::Op(Op::Add, of, k), Some(Val::Int(n))) if int(*k).is_some() && is_integer(*of) => {
                    Some(equal(*of, n.wrapping_sub(int(*k).unwrap_or(0)).into()))
                }
                // `e + k` is `e` only if `e` is no integer.
                (ExprTerm::Op(Op::Add, of, k), None) if *of == *b && int(*k).is_some_and(|k| k != 0) => Some(folded(
                    ExprTerm::Of(Function::Not, equal(ExprTerm::Of(Function::Int, *of).into(), *of)).into(),
                )),
                _ => None,
            },
            (Op::And, Some(Val::Bool(known)), _) if is_condition(*b) => Some(if known { *b } else { false.into() }),
            (Op::And, _, Some(Val::Bool(known))) if is_condition(*a) => Some(if known { *a } else { false.into() }),
            (Op::Or, Some(Val::Bool(known)), _) if is_condition(*b) => Some(if known { true.into() } else { *b }),
            (Op::Or, _, Some(Val::Bool(known))) if is_condition(*a) => Some(if known { true.into() } else { *a }),
            _ => None,
        },
        ExprTerm::Tuple(parts) if parts.iter().all(|e| literal(*e).is_some()) => Some(e.value().into()),
        _ => None,
    };
    simpler.unwrap_or(e)
}

#[cfg(test)]
mod tests {
    use mowgli_core::expr::{Opaque, all_nodes, all_threads, me, members, nodes, range};
    use mowgli_core::term::body::body;
    use mowgli_core::term::parts::parts;
    use mowgli_libraries::sv::{Method as Sv, SV, Sv as Variables};
    use mowgli_rdma::to;
    use mowgli_rdma::wait::{Method as Wait, WAIT, Wait as Memory};

    use super::*;

    fn argument(i: usize) -> Expr {
        ExprTerm::Arg(i, ["x", "v"][i]).into()
    }

    /// Reads a body whose call has an object and a datum for arguments. Its loop may have effects.
    fn paths(has_rounds: bool, body: impl Fn(Expr, Expr) -> Body) -> Result<Vec<Path>, Refusal> {
        let below = Libraries::over(to).with(Memory).with(Variables);
        let parts = parts! { static x =>
            for t in (all_threads()) { x.part("count", [t]) => ObjectTerm::new(SV); }
            for n in (all_nodes()) { x.part("copy", [n]) => ObjectTerm::new(WAIT); }
            for k in (range(1, 3)) { x.part("word", [k]) => ObjectTerm::new(WAIT); }
        };
        let reader = SymbolicExecutor {
            library: WAIT,
            below: &below,
            parts: Some(parts),
            arguments: vec![ArgumentForm::Location, ArgumentForm::Data],
            sizes: BTreeMap::from([(0, 2)]),
            has_roles: false,
            has_rounds,
            fresh: Cell::new(0),
            missing: RefCell::default(),
        };
        reader.paths(&body(argument(0), argument(1)))
    }

    /// Prints a path.
    fn text(path: &Path) -> String {
        let guards = path.guards.iter().map(Guard::to_string).join(", ");
        let step = |step: &PathStep| {
            let calls = step.calls.iter().map(|made| made.call.to_string().replace("rdma-wait-rmw::", "")).join(", ");
            if step.times == Times::Once { calls } else { format!("{:?}: {calls}", step.times) }
        };
        let steps = path.steps.iter().map(step).join("; ");
        format!("[{guards}] {steps} -> {}", path.returned)
    }

    fn texts(body: impl Fn(Expr, Expr) -> Body) -> Vec<String> {
        paths(false, body).unwrap().iter().map(text).collect()
    }

    #[test]
    fn each_condition_on_data_is_a_guard() {
        let particular = texts(|x, v| body! { if (v == 12345) { Wait::write(x, 0) } else { Wait::write(x, v) } });
        assert_eq!(
            particular,
            ["[argument 2 is 12345] Write(x, 0) -> ()", "[argument 2 is not 12345] Write(x, v) -> ()"]
        );
        let both = texts(|x, v| body! { let w = Wait::read(x); if (w.is(v) & !v.is(7)) { 1 } else { 0 } });
        let expected = [
            "[argument 2 is result 1, argument 2 is 7] Read(x) -> 0",
            "[argument 2 is result 1, argument 2 is not 7] Read(x) -> 1",
            "[argument 2 is not result 1] Read(x) -> 0",
        ];
        assert_eq!(both, expected);
        let sum = texts(|x, v| body! { let w = Wait::read(x); if ((w + 1) == v) { Wait::write(x, w + 1) } });
        assert_eq!(sum[0], "[argument 2 is result 1+1] Read(x); Write(x, w + 1) -> ()");
    }

    /// A condition that is no equality makes no guard, and is decided once.
    #[test]
    fn other_conditions_make_no_guard() {
        let small = texts(|x, v| body! { if (v < 3) { Wait::write(x, v) } if (v < 3) { Wait::write(x, 1) } });
        assert_eq!(small, ["[] Write(x, v); Write(x, 1) -> ()", "[]  -> ()"]);
    }

    #[test]
    fn paths_that_there_are_not_are_left_out() {
        let never = |x: Expr, v: Expr| body! { if (v == 1) { loop {} } Wait::write(x, v) };
        assert_eq!(texts(never), ["[argument 2 is not 1] Write(x, v) -> ()"]);
        let contradiction =
            |x: Expr, v: Expr| body! { if (v.is(1) & v.is(2)) { Wait::write(x, 3) } else { Wait::write(x, v) } };
        assert_eq!(texts(contradiction), ["[] Write(x, v) -> ()"]);
        let the_same = |x: Expr, v: Expr| body! { if (v == 1) { Wait::write(x, v) } else { Wait::write(x, v) } };
        assert_eq!(texts(the_same), ["[] Write(x, v) -> ()"]);
        // No integer is its successor.
        let grown = |x: Expr, _| {
            body! {
                let w = Wait::read(x);
                if ((w.int()) == w) { if ((w + 1) == w) { 1 } else { 0 } } else { 2 }
            }
        };
        assert_eq!(texts(grown), ["[] Read(x) -> 0", "[] Read(x) -> 2"]);
    }

    #[test]
    fn a_for_is_a_step_for_each_or_unrolled() {
        let (count, copy) = (|x: Expr, t| x.part("count", [t]), |x: Expr, n| x.part("copy", [n]));
        let of_members = texts(|x, _| {
            body! {
                for t in (members(x)) { Sv::read(count(x, t)) }
                for n in (nodes(members(x)).without(here())) { Wait::put(copy(x, n), x, Val::NoWid) }
                Sv::bcast(count(x, me()), Val::NoWid, all_nodes().without(here()));
            }
        });
        let [one] = &of_members[..] else { panic!("{of_members:?}") };
        assert!(one.contains("Each(Members(Members { of: 0, but_first: false })): sv::Read(x.count[t]); "), "{one}");
        assert!(one.contains("Each(Nodes(Nodes { of: Members(0), but_own: true })): Put(x.copy[n], x, _); "), "{one}");
        assert!(one.contains("IfAny(Nodes { of: All, but_own: true }): sv::Bcast(x.count[me], _, "), "{one}");
        // A round that never returns adds no condition, because the set may be empty.
        let guarded = texts(|x, v| {
            body! {
                for n in (all_nodes().without(here())) { Wait::put(copy(x, n), x, Val::NoWid); if (v == 1) { loop {} } }
                if (v == 1) { Wait::write(x, 1) }
            }
        });
        assert!(guarded.len() == 2 && guarded[0].starts_with("[argument 2 is 1]"), "{guarded:?}");
        // The call returns only if the set is empty, and then 3 is not 4.
        let facts = paths(false, |x, _| {
            body! {
                for n in (all_nodes().without(here())) {
                    let w = Wait::read(copy(x, n));
                    if (w.is_not(w + 1)) { loop {} }
                    if (w.is_not(3)) { loop {} }
                }
            }
        });
        assert_eq!(facts.unwrap()[0].equal, [(Datum::Result(0), Datum::Constant(3.into()))]);
        let words = texts(|x, _| {
            body! {
                let words = for k in (range(0, mowgli_core::expr::size(x))) { Wait::read(x.part("word", [k + 1])) };
                if ((words.item(1)) == (words.item(0))) { words } else { Val::Bot }
            }
        });
        let reads = "Read(x.word[1]); Read(x.word[2])";
        let returns = ["[result 1 is result 2] {} -> (result, result)", "[result 1 is not result 2] {} -> bot"];
        assert_eq!(words, returns.map(|text| text.replace("{}", reads)));
    }

    /// Symbolic execution keeps the last call of a loop that waits, with what is known of its result.
    #[test]
    fn a_loop_that_waits_keeps_its_last_call() {
        let above = paths(false, |x, _| {
            body! {
                let v = Wait::read(x);
                loop { Wait::read(x); let seen = Wait::read(x); if (seen > v) { break } }
            }
        });
        let [path] = &above.unwrap()[..] else { panic!("one path") };
        assert_eq!((text(path).as_str(), &path.above[..]), ("[] Read(x); Read(x) -> ()", &[(1, 0)][..]));
        let last = &path.steps[1].calls[0];
        assert!(last.ends_loop && path.left_out.len() == 3);
        let either = |also: fn(Expr, Expr) -> Expr| {
            let found = paths(false, |x, v| {
                body! {
                    let w = Wait::read(x);
                    loop { let seen = Wait::read(x); if (seen.is(w) | also(seen, v)) { break } }
                }
            });
            found.unwrap()
        };
        assert_eq!(either(|_, _| false.into())[0].equal, [(Datum::Result(0), Datum::Result(1))]);
        // Nothing is known of the end of the loop, because it can end in two ways.
        assert_eq!(either(|seen, _| seen.is(12345))[0].equal, []);
        assert_eq!(either(|_, v| v.is(12345)).len(), 1);
    }

    #[test]
    fn a_loop_through_all_threads_ends_at_one() {
        let found = texts(|x, v| {
            body! {
                loop { for t in (all_threads()) { let seen = Sv::read(x.part("count", [t])); if (seen == v) { break } } }
            }
        });
        assert_eq!(found, ["[] Ended: sv::Read(x.count[t]) -> ()"]);
    }

    #[test]
    fn a_loop_with_effects_has_rounds() {
        let loops = |x: Expr, v: Expr| {
            body! {
                loop { Wait::write(x, v); let w = Wait::read(x); if (w == v) { break } }
                Wait::write(x, 1);
            }
        };
        let [path] = &paths(true, loops).unwrap()[..] else { panic!("one path") };
        assert_eq!(text(path), "[] Each(Rounds): Write(x, v), Read(x); Write(x, v); Read(x); Write(x, 1) -> ()");
        assert_eq!(path.equal, [(Datum::Argument(1), Datum::Result(3))]);
        let differ = |x: Expr, v: Expr| body! { loop { let w = Wait::read(x); if (w == v) { break } if (w == 3) { Wait::write(x, v) } } };
        let why = paths(true, differ).unwrap_err().to_string();
        assert!(why.starts_with("what it does in a round of a loop depends on `w = 3` (paths.rs:"), "{why}");
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let error = |body: fn(Expr, Expr) -> Body| paths(false, body).unwrap_err().to_string();
        let hash = |v: Expr| {
            let function = Opaque::new(|args| args[0]);
            Expr::opaque("hash", function, [v])
        };
        let why = paths(false, |x, v| body! { Wait::write(x, hash(v)) }).unwrap_err().to_string();
        assert!(
            why.starts_with(
                "rdma-wait-rmw::Write(x, hash(v)) is given hash(v), which is no datum of the call (paths.rs:"
            ),
            "{why}"
        );
        let why = error(|x, _| body! { for t in (all_threads()) { Wait::read(x) } });
        assert!(why.starts_with("it goes through all_threads, which is no set of the call (paths.rs:"), "{why}");
        let why = error(|x, v| body! { Wait::write(x.part("word", [v]), 1) });
        assert!(why.contains("is about x.word[v], which is no name of the call (paths.rs:"), "{why}");
        let why =
            error(|x, v| body! { for t in (members(x)) { let w = Wait::read(x); if (w == v) { Wait::write(x, 0) } } });
        assert!(why.starts_with("what it does for one of members(x) depends on `w = v` (paths.rs:"), "{why}");
        let why = error(|x, v| body! { if (me().is(mowgli_core::ids::Tid(2))) { Wait::write(x, v) } });
        assert!(why.starts_with("which calls it makes depends on `me = P2`"), "{why}");
        // The smaller of two data is none that a template can name.
        let why = error(|_, v| Expr::tuple([v, 12345.into()]).min().into());
        assert_eq!(why, "it returns min((v, 12345)), which is no datum of the call");
    }
}
