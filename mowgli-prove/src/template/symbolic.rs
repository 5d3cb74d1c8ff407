//! Symbolic execution: the paths through the body of a method, each with its conditions and its calls.
//!
//! **Computes** from a [`Body`] and the form of a call's arguments a list of [`Path`]s. A path has its calls with their
//! arguments, how often each is made, the result, and the conditions that lead there. The body runs by the step that runs threads
//! ([`CodeState::next`]), with terms for values. So this file says nothing of statements. It decides at four points:
//!
//! 1. *A condition that is not known* forks, and is kept.
//! 2. *A `for` through a set that is not known* is one [`PathStep`] for each of its elements: [`SymbolicExecutor::each`]. One round
//!    is executed, for any element. It makes the same calls in all its ways, and leaves no loop. Of its conditions only those on its
//!    own results hold after it. If no round returns, the set is empty. If the set may be empty, these conditions connect nothing
//!    that there is without the round.
//! 3. *A loop* is its last round: [`SymbolicExecutor::repeat`]. All other rounds are left out, and of the last one all but its last
//!    call, if these calls only look. Their recorded effects decide that. Otherwise the rounds before the last are one step.
//! 4. *A call* is recorded. Its result is a variable.
//!
//! **Invariant**: for every call that returns, some path has conditions that all hold, and the call makes the calls of
//! that path. Reads of loops that only wait are left out.
//!
//! **Example**: `let v = read(x); if v = 0 { write(x, 1) } v` has two paths. One reads and writes, and its condition is
//! that result 1 is 0; the other only reads, and result 1 is not 0. Both return result 1.
//!
//! **Correct because** the step is that of concrete runs. A path is
//! dropped only if its conditions contradict one another. A condition that no template can express is dropped from its
//! path, which is about more calls then. Tests: `runs_are_instances_of_paths`, `mod tests` here, and
//! `tests/guard.rs`.
//!
//! **Cost**: the number of paths, of which there are at most [`MOST_PATHS`].

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli_core::expr::{Expr, ExprTerm, Function, Op, Var};
use mowgli_core::few::Few;
use mowgli_core::ids::Name;
use mowgli_core::library::Hints;
use mowgli_core::term::body::{Body, CallTerm};
use mowgli_core::term::code::{Activation, CodePoint, CodeState, CodeSurroundings, OpenPoint};
use mowgli_core::term::method::{self, Returns};
use mowgli_core::term::script::{CallOf, Script};
use mowgli_core::value::Val;

use crate::error::{Refusal, refusal};
use crate::template::classes::classes;
use crate::template::faults::CallOnPath;
use crate::template::kind::Guard;
use crate::template::pattern::{ArgumentForm, Datum, Each, Members, Nodes, Segment, Times, Whole};
use crate::template::shapes::{CallOfShape, Shaper, Symbolic, only_reads, shape_of};
use crate::template::values::{
    ClientInWorld, ELEMENT, Memberships, PathCondition, SymbolicExecutor, UNKNOWN, equal, folded, has_variable, int,
    is_condition, is_contradiction, is_integer, is_of_world, listed, position_of, result, result_of,
};

/// The most paths through a body, because each path becomes a kind of calls, and obligations are about pairs of kinds.
const MOST_PATHS: usize = 128;

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
    /// True if it reads and writes nothing, in each way that is possible under these conditions.
    pub looks: bool,
}

impl LeftOutCall {
    /// Returns its library and its method.
    pub fn method(&self) -> (Name, Name) {
        (self.call.library, Name::new(self.call.method))
    }
}

/// Calls that are made one after the other: once, or together for each of some nodes, threads or rounds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PathStep {
    pub times: Times,
    /// The variable for the node or thread that the calls are made for.
    pub element: Option<Var>,
    pub calls: Vec<PathCall>,
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
    /// The calls of loops that are left out. Each only looks.
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

/// Returns the method of this name of a library.
pub(crate) fn method_of(library: Option<&dyn Hints>, name: &str) -> Option<&'static method::Method> {
    method::named(library?.methods(), name)
}

/// True if calls of this method of a library have a result.
pub(crate) fn returns(library: Option<&dyn Hints>, name: &str) -> bool {
    method_of(library, name).is_some_and(|m| m.returns != Returns::Nothing)
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

/// The state of symbolic execution: the code of the body at some point, and the path up to it.
#[derive(Clone)]
struct SymbolicState {
    code: CodeState<Expr>,
    steps: Vec<PathStep>,
    decided: Vec<PathCondition>,
    left_out: Vec<LeftOutCall>,
    as_many_after: Option<usize>,
    /// The variables of `for`, each with the set that it goes through.
    elements: Vec<(Expr, Expr)>,
    /// The number of loops of the body.
    loops: usize,
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

    /// Begins the round of a `for` for any element of a set.
    fn begin_any(&mut self, element: Var, set: Expr) {
        let element: Expr = ExprTerm::Var(element).into();
        self.code.begin_any(element);
        self.elements.retain(|(known, _)| *known != element);
        self.elements.push((element, set));
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SymbolicEnd {
    /// The body ends with this value.
    Value(Expr),
    /// A round ends, and its loop goes on.
    Round,
    /// A loop was left, and the code goes on behind it.
    Left,
}

/// The state in which a part of a body ends, and its end.
type SymbolicOutcome = (SymbolicState, SymbolicEnd);

/// A round of a `for` for any element of a set.
struct Round {
    calls: Vec<PathCall>,
    /// The calls of its loops that are left out.
    left_out: Vec<LeftOutCall>,
    /// The facts that hold after it.
    facts: Vec<PathCondition>,
}

/// Merges the outcomes of a loop that do the same, and go on in the same way. They keep their common facts.
fn merged(outcomes: impl IntoIterator<Item = (SymbolicOutcome, Vec<PathCondition>)>) -> Vec<SymbolicOutcome> {
    let mut all: Vec<(SymbolicOutcome, Vec<PathCondition>)> = Vec::new();
    for ((state, end), facts) in outcomes {
        let is_like = |(known, e): &SymbolicOutcome| {
            known.steps == state.steps && *e == end && (end != SymbolicEnd::Left || known.code == state.code)
        };
        match all.iter_mut().find(|(known, _)| is_like(known)) {
            Some((_, known)) => known.retain(|fact| facts.contains(fact)),
            None => all.push(((state, end), facts)),
        }
    }
    let with_facts = |((mut state, end), facts): (SymbolicOutcome, Vec<PathCondition>)| {
        state.decided.extend(facts);
        (state, end)
    };
    all.into_iter().map(with_facts).collect()
}

impl CodeSurroundings for &SymbolicExecutor<'_> {
    type Value = Expr;
    type Call = CallTerm;
    type Open = OpenPoint;

    fn value(self, e: Expr, at: &Activation<Expr>) -> Expr {
        let with_values = e.replaced(&mut |term| match term {
            ExprTerm::Var(var) => at.value(var.number),
            _ => None,
        });
        self.simplified(with_values)
    }

    fn call(self, of: &CallOf, at: &Activation<Expr>) -> Option<CallTerm> {
        let (CallOf::Term(call) | CallOf::Method(call)) = of else { unreachable!("a call of a body is a term") };
        Some(CallTerm { args: call.args.iter().map(|e| self.value(*e, at)).collect(), ..call.clone() })
    }

    fn holds(self, condition: Expr, at: &Activation<Expr>) -> Result<bool, OpenPoint> {
        let condition = self.value(condition, at);
        match condition.term() {
            ExprTerm::Val(v) => Ok(*v == Val::Bool(true)),
            _ => Err(OpenPoint::Condition(condition)),
        }
    }

    fn elements(self, all: Expr, at: &Activation<Expr>) -> Result<Few<Expr>, OpenPoint> {
        let set = self.value(all, at);
        listed(set).map(|all| all.into_iter().collect()).ok_or(OpenPoint::Elements(set))
    }

    fn tuple(self, parts: &[Expr]) -> Expr {
        folded(ExprTerm::Tuple(parts.to_vec()).into())
    }

    fn stop(self, at: OpenPoint) -> Option<OpenPoint> {
        Some(at)
    }
}

impl SymbolicExecutor<'_> {
    /// Returns the paths through a body.
    ///
    /// # Errors
    /// The construct that cannot be read, with its line.
    pub fn paths(&self, body: &Body) -> Result<Vec<Path>, Refusal> {
        let script = Script::of(body);
        let start = SymbolicState {
            code: CodeState::with_args(&script, Few::default()),
            steps: Vec::new(),
            decided: Vec::new(),
            left_out: Vec::new(),
            as_many_after: None,
            elements: Vec::new(),
            loops: script.loops(),
        };
        let place = start.code.place();
        let mut paths = Vec::new();
        for (state, end) in self.follow(start)? {
            let SymbolicEnd::Value(returned) = end else { unreachable!("the body is in no loop") };
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
            return Err(depends.at(place));
        }
        let paths = paths.into_iter().map(|(state, returned)| self.finished(state, returned));
        let paths = paths.collect::<Result<Vec<Path>, Refusal>>()?;
        if paths.iter().flat_map(|path| &path.left_out).any(|of| !of.looks) {
            return Err(refusal!("it has a loop with effects beside another loop"));
        }
        self.fault.take().map_or(Ok(paths), Err)
    }

    /// Follows the code to the ends of the body, and to those of the round that it is in.
    fn follow(&self, state: SymbolicState) -> Result<Vec<SymbolicOutcome>, Refusal> {
        let place = state.code.place();
        let (mut going, mut ended, mut never) = (vec![(state, SymbolicEnd::Left)], Vec::new(), 0);
        while let Some((mut state, end)) = going.pop() {
            if end != SymbolicEnd::Left {
                ended.push((state, end));
                continue;
            }
            let goes_on = |state| (state, SymbolicEnd::Left);
            let next: Vec<SymbolicOutcome> = match state.code.next(self) {
                CodePoint::Call(call) => vec![goes_on(self.call(call, state)?)],
                CodePoint::Loop => self.repeat(state)?,
                CodePoint::Open(OpenPoint::Elements(set)) => self.each(set, state)?.into_iter().map(goes_on).collect(),
                CodePoint::Open(OpenPoint::Condition(condition)) => {
                    let branch = |(mut state, holds): (SymbolicState, bool)| {
                        state.code.decided(holds);
                        goes_on(state)
                    };
                    decide(condition, state).into_iter().map(branch).collect()
                }
                CodePoint::Ended(v) => vec![(state, SymbolicEnd::Value(v))],
                CodePoint::Iteration(_) | CodePoint::Open(OpenPoint::Round) => vec![(state, SymbolicEnd::Round)],
                CodePoint::Open(OpenPoint::Left) => {
                    ended.push((state, SymbolicEnd::Left));
                    continue;
                }
                CodePoint::Escaped | CodePoint::Returned(..) | CodePoint::Late(_) => {
                    return Err(refusal!("it breaks out of no loop"));
                }
            };
            // Paths that never return count, because each takes time.
            never += usize::from(next.is_empty());
            going.extend(next.into_iter().rev());
            if going.len() + ended.len() + never > MOST_PATHS {
                return Err(refusal!("it has more than {MOST_PATHS} paths").at(place));
            }
        }
        Ok(ended)
    }

    /// Adds a call. A call about no node is not made, so it may not be made if one of its sets may be empty.
    fn call(&self, call: CallTerm, mut state: SymbolicState) -> Result<SymbolicState, Refusal> {
        let name = state.code.variable().map_or("result", |var| var.name);
        let method = self.method(&call)?;
        let mut times = Times::Once;
        self.note_fault(&call, method, &state);
        let known = self.memberships(&state.decided, &state.elements);
        for (arg, (_, kind)) in call.args.iter().zip(method.takes) {
            if *kind != method::ArgumentKind::Nodes {
                continue;
            }
            match self.set(*arg) {
                Some(each @ Each::Nodes(set)) if self.may_be_empty(each, &known) => match times {
                    Times::IfAny(other) if other != set => {
                        return Err(refusal!("two of the sets in {call} may be empty").at(call.place));
                    }
                    _ => times = Times::IfAny(set),
                },
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
        state.steps.push(PathStep { times, element: None, calls: vec![PathCall { call, name, ends_loop: false }] });
        state.code.give(value);
        Ok(state)
    }

    /// Returns the elements that sets surely have by these conditions, inside of these `for`.
    fn memberships(&self, decided: &[PathCondition], elements: &[(Expr, Expr)]) -> Memberships<'_> {
        let decided = decided.iter().filter(|d| d.holds).filter_map(|d| match d.condition.term() {
            ExprTerm::Op(Op::In, e, set) => Some((*e, *set)),
            _ => None,
        });
        Memberships { known: decided.chain(elements.iter().copied()).collect(), arguments: &self.arguments }
    }

    /// True if a set may be empty, where these elements of sets are known. A set that the client gives is not (docs/prove.md).
    fn may_be_empty(&self, each: Each, known: &Memberships<'_>) -> bool {
        let has_element = |each: Each| known.known.iter().any(|(_, set)| self.set(*set) == Some(each));
        let is_given = matches!(each, Each::Nodes(Nodes { of: Whole::Argument(_), but_own: false }));
        let has_thread = each.threads().is_some_and(|threads| has_element(Each::Members(threads)));
        each.may_be_empty() && !is_given && !has_thread && !has_element(each)
    }

    /// True if a set has an element wherever clients make the call: surely, or because each of their objects has these threads.
    fn has_an_element(&self, each: Each, known: &Memberships<'_>) -> bool {
        let threads = if let Each::Members(members) = each { Some(members) } else { each.threads() };
        let are_there = |Members { of, but_first }: Members| {
            let has_thread = |client: &ClientInWorld| {
                let object = client.args[of].loc().and_then(|x| client.world.objects.get(&x));
                object.is_some_and(|object| object.members.len() > usize::from(but_first))
            };
            !self.clients.is_empty() && self.clients.iter().all(has_thread)
        };
        !self.may_be_empty(each, known) || threads.is_some_and(are_there)
    }

    /// Refuses a path that may make no call. Such a run is not well defined (LOCO Def. 3.9), so that no execution has it.
    pub fn makes_a_call(&self, path: &Path) -> Result<(), Refusal> {
        let known = self.memberships(&path.decided, &[]);
        let is_made = |times: Times| match times {
            Times::Once | Times::Ended => true,
            Times::IfAny(set) => self.has_an_element(Each::Nodes(set), &known),
            Times::Each(each) => self.has_an_element(each, &known),
        };
        if path.steps.iter().any(|step| is_made(step.times)) {
            return Ok(());
        }
        let when = if path.decided.is_empty() { "" } else { " if " };
        let conditions = path.decided.iter().join(" and ");
        Err(refusal!("it may make no call{when}{conditions} (LOCO Def. 3.9): let it make one, which can stand for it"))
    }

    /// Keeps the refusal of the first call with a fault (LOCO Def. 3.9). Paths that go on for ever make such calls, too.
    fn note_fault(&self, call: &CallTerm, method: &method::Method, state: &SymbolicState) {
        let mut known = self.fault.borrow_mut();
        if known.is_some() || is_contradiction(&state.decided) {
            return;
        }
        let objects = call.args.iter().zip(method.takes).filter(|(_, (_, kind))| kind.is_object());
        let are_there = { objects }.try_for_each(|(arg, _)| self.has_object(call, *arg, state));
        let on_path =
            CallOnPath { call, arguments: &self.arguments, decided: &state.decided, elements: &state.elements };
        let library = self.below.get(call.library).expect("it has the method");
        *known = are_there.and_then(|()| on_path.has_no_fault(library, &self.clients)).err();
    }

    /// Refuses a call of an object that may not be there, or be of another library. An object is an argument of the client's call, or
    /// declared.
    fn has_object(&self, call: &CallTerm, of: Expr, state: &SymbolicState) -> Result<(), Refusal> {
        let memberships = self.memberships(&state.decided, &state.elements);
        let is_in = |e: Expr, set: Expr| memberships.has(self.simplified(e), self.simplified(set));
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

    fn method(&self, call: &CallTerm) -> Result<&'static method::Method, Refusal> {
        let method = method_of(self.below.get(call.library), call.method);
        let method = method.filter(|m| m.takes.len() == call.args.len());
        method.ok_or_else(|| refusal!("{call} is of no library below").at(call.place))
    }

    /// Executes a `for` through a set that is not known.
    fn each(&self, set: Expr, state: SymbolicState) -> Result<Vec<SymbolicState>, Refusal> {
        let Var { number, name } = state.code.variable().expect("a `for` has a variable");
        let Some(each) = self.set(set) else { return self.as_many(set, name, state) };
        let element = Var { number: ELEMENT + number, name };
        let one = self.for_one(element, set, &state)?;
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
        after.code.skip_for(self.unknown(name));
        Ok(vec![after])
    }

    /// Executes a round of a `for` for any element of a set; `None` if no round returns.
    fn for_one(&self, element: Var, set: Expr, state: &SymbolicState) -> Result<Option<Round>, Refusal> {
        let place = state.code.place();
        let mut inside = state.clone();
        inside.begin_any(element, set);
        let mut found: Option<Round> = None;
        for (after, end) in self.follow(inside)? {
            if end != SymbolicEnd::Round {
                return Err(refusal!("it breaks out of a `for` through {set}").at(place));
            }
            if after.as_many_after != state.as_many_after {
                return Err(refusal!("how much it reads for each of {set} depends on a result").at(place));
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
                    return Err(refusal!("what it does for one of {set} depends on `{last}`").at(place));
                }
            }
        }
        Ok(found)
    }

    /// Executes a `for` through as many numbers as a result says. It is one round, or else the rounds are reads that
    /// are left out.
    fn as_many(&self, set: Expr, name: &'static str, state: SymbolicState) -> Result<Vec<SymbolicState>, Refusal> {
        let place = state.code.place();
        let cannot = || refusal!("it goes through {set}, which is no set of the call").at(place);
        let ExprTerm::Op(Op::Range, from, to) = set.term() else { return Err(cannot()) };
        let (Some(first), true, true) = (int(*from), is_integer(*to), self.has_roles) else { return Err(cannot()) };
        let is_one = equal(*to, (first + 1).into());
        let mut all = Vec::new();
        for (mut state, holds) in decide(is_one, state) {
            if holds {
                state.code.begin_for(Few::from([*from]));
                all.push(state);
                continue;
            }
            let element = self.fresh(name);
            // If no round returns, there is none.
            let one = self.for_one(element, set, &state)?;
            let (calls, left_out) = one.map_or_else(Default::default, |one| (one.calls, one.left_out));
            let last = state.steps.last().filter(|step| step.times == Times::Once).and_then(|step| step.calls.last());
            let is_like = |made: &PathCall| {
                last.is_some_and(|last| (last.call.library, last.call.method) == (made.call.library, made.call.method))
            };
            if state.as_many_after.is_some() || !calls.iter().all(is_like) {
                return Err(refusal!("how many calls it makes depends on a result").at(place));
            }
            let position = state.position();
            let made = self.left_out(&calls, position, &[], &state.decided)?;
            if made.iter().any(|of| !of.looks) {
                return Err(refusal!("what it leaves out does not only read").at(place));
            }
            let left_out: Vec<LeftOutCall> =
                made.into_iter().chain(left_out).map(|of| self.forgotten(of, position)).collect();
            let value = if state.code.collects() { self.unknown(VALUES) } else { Val::Unit.into() };
            let mut after = state;
            after.as_many_after = position.checked_sub(1).filter(|_| !calls.is_empty());
            after.left_out.extend(left_out);
            // There are as many values as rounds.
            let mut after = after.with(equal(ExprTerm::Of(Function::Len, value).into(), 1.into()), false);
            after.code.skip_for(value);
            all.push(after);
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
        LeftOutCall { call: CallTerm { args, ..of.call }, result, facts, ..of }
    }

    fn forget(&self, e: Expr, from: usize, known: &mut BTreeMap<usize, Expr>) -> Expr {
        e.replaced(&mut |term| match term {
            ExprTerm::Var(var) if position_of(var).is_some_and(|p| p >= from) => {
                Some(*known.entry(var.number).or_insert_with(|| self.unknown(var.name)))
            }
            _ => None,
        })
    }

    /// Returns calls as ones that are left out. The first has this position, and these facts hold after them.
    fn left_out(
        &self,
        calls: &[PathCall],
        first: usize,
        facts: &[PathCondition],
        decided: &[PathCondition],
    ) -> Result<Vec<LeftOutCall>, Refusal> {
        let shaper = Shaper { reader: self, decided };
        let left_out = |(n, made): (usize, &PathCall)| {
            let call = made.call.clone();
            let result: Expr = ExprTerm::Var(Var { name: made.name, ..result(first + n) }).into();
            let shape = shape_of(self.below.get(call.library), call.method)?;
            let called = CallOfShape { args: &call.args, result, times: Times::Once };
            let ways = || shaper.ways(shape, called).is_ok_and(|ways| ways.iter().all(Symbolic::only_reads));
            let looks = only_reads(shape) || ways();
            Ok(LeftOutCall { call, result, facts: facts.to_vec(), looks })
        };
        calls.iter().enumerate().map(left_out).collect()
    }

    /// Executes a loop. If what would be left out only looks, it keeps the last call of the last round.
    fn repeat(&self, state: SymbolicState) -> Result<Vec<SymbolicOutcome>, Refusal> {
        let (base, place) = (state.position(), state.code.place());
        let mut inside = state.clone();
        inside.code.begin();
        // A loop through all threads ends at one of them.
        let threads: Expr = ExprTerm::AllThreads.into();
        let is_search = inside.code.is_iteration_of_loop()
            && inside.code.clone().next(self) == CodePoint::Open(OpenPoint::Elements(threads));
        let element = inside.code.variable().filter(|_| is_search);
        let element = element.map(|var| Var { number: ELEMENT + var.number, name: var.name });
        element.into_iter().for_each(|element| inside.begin_any(element, threads));
        let times = if is_search { Times::Ended } else { Times::Once };
        let outcomes = self.follow(inside)?;
        if outcomes.iter().all(|(_, end)| *end == SymbolicEnd::Round) {
            return Ok(Vec::new());
        }
        // A template counts the rounds of one loop.
        let may_have_rounds =
            state.loops == 1 && state.steps.iter().all(|step| step.times != Times::Each(Each::Rounds));
        let mut left_out: Vec<LeftOutCall> = Vec::new();
        for (after, end) in &outcomes {
            let mut calls = after.calls_since(&state, "a loop that waits")?;
            if is_search && calls.len() != 1 {
                return Err(refusal!("a loop through all threads makes more than one call for each").at(place));
            }
            if after.as_many_after != state.as_many_after {
                return Err(refusal!("how much it reads in a loop depends on a result").at(place));
            }
            if *end != SymbolicEnd::Round {
                calls.pop();
            }
            let made = self.left_out(&calls, base, &facts_since(after, &state), &after.decided)?;
            if may_have_rounds && made.iter().any(|of| !of.looks) {
                return self.rounds(state, &outcomes);
            }
            // The calls that inner loops leave out are left out here, too.
            let of_inner = after.left_out[state.left_out.len()..].iter().cloned();
            left_out.extend(made.into_iter().chain(of_inner).map(|of| self.forgotten(of, base)));
        }
        let mut ends = Vec::new();
        for (after, end) in outcomes.into_iter().filter(|(_, end)| *end != SymbolicEnd::Round) {
            let calls = after.calls_since(&state, "a loop that waits")?;
            let facts = facts_since(&after, &state);
            // The last call has the next position; the results of others are forgotten.
            let last = |(n, made): (usize, &PathCall)| {
                (result(base + n).number, ExprTerm::Var(Var { name: made.name, ..result(base) }).into())
            };
            let mut known: BTreeMap<usize, Expr> = calls.iter().enumerate().next_back().map(last).into_iter().collect();
            let mut renamed = |e: Expr| folded(self.forget(e, base, &mut known));
            // Of the thread at which a search ends nothing is known, because a search of the same text may end at another one.
            let is_found = |var: &Var| element == Some(*var);
            let facts = facts.into_iter().filter(|fact| !has_variable(fact.condition, is_found));
            let facts = facts.map(|d| PathCondition { condition: renamed(d.condition), ..d }).collect();
            let mut ended = SymbolicState { code: after.code, ..state.clone() };
            ended.left_out.extend(left_out.iter().cloned());
            if let Some(last) = calls.last() {
                let args = last.call.args.iter().map(|e| renamed(*e)).collect();
                let call = CallTerm { args, ..last.call.clone() };
                let calls = vec![PathCall { call, name: last.name, ends_loop: true }];
                ended.steps.push(PathStep { times, element, calls });
            }
            let somebody = element.map(|found| self.unknown(found.name));
            let mut behind = |e: Expr| {
                renamed(e.replaced(&mut |term| match term {
                    ExprTerm::Var(var) if is_found(var) => somebody,
                    _ => None,
                }))
            };
            let end = if let SymbolicEnd::Value(v) = end { SymbolicEnd::Value(behind(v)) } else { end };
            ended.code.change(behind);
            ends.push(((ended, end), facts));
        }
        Ok(merged(ends))
    }

    /// Executes a loop with effects: a step for each round before the last one, and then the last round.
    fn rounds(&self, state: SymbolicState, outcomes: &[SymbolicOutcome]) -> Result<Vec<SymbolicOutcome>, Refusal> {
        let place = state.code.place();
        let mut of_round: Option<Vec<PathCall>> = None;
        for (after, _) in outcomes.iter().filter(|(_, end)| *end == SymbolicEnd::Round) {
            let calls = after.calls_since(&state, "a loop with effects")?;
            if *of_round.get_or_insert_with(|| calls.clone()) != calls {
                let last = after.decided.last().map(|d| d.condition.to_string()).unwrap_or_default();
                return Err(refusal!("what it does in a round of a loop depends on `{last}`").at(place));
            }
        }
        let mut before = state;
        if let Some(calls) = of_round.filter(|calls| !calls.is_empty()) {
            before.steps.push(PathStep { times: Times::Each(Each::Rounds), element: None, calls });
        }
        let mut inside = before.clone();
        inside.code.begin();
        let mut ends = Vec::new();
        for (mut after, end) in self.follow(inside)?.into_iter().filter(|(_, end)| *end != SymbolicEnd::Round) {
            let facts = facts_since(&after, &before);
            after.decided.clone_from(&before.decided);
            if let Some(last) = after.steps[before.steps.len()..].last_mut().and_then(|step| step.calls.last_mut()) {
                last.ends_loop = true;
            }
            ends.push(((after, end), facts));
        }
        Ok(merged(ends))
    }

    /// Returns a new variable, of which nothing is known.
    fn fresh(&self, name: &'static str) -> Var {
        Var { number: UNKNOWN + self.fresh.replace(self.fresh.get() + 1), name }
    }

    fn unknown(&self, name: &'static str) -> Expr {
        ExprTerm::Var(self.fresh(name)).into()
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
        let known = unknown.iter().find(|(known, _)| *known == e).map(|(_, var)| *var);
        let var = known.unwrap_or_else(|| {
            let var = self.fresh("unknown");
            unknown.push((e, var));
            var
        });
        ExprTerm::Var(var).into()
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
            None => {
                let both = [true, false].map(|holds| (state.with(condition, holds), holds));
                both.into_iter().filter(|(state, _)| !is_contradiction(&state.decided)).collect()
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::sync::Arc;

    use mowgli_core::expr::{Opaque, all_nodes, all_threads, here, me, members, nodes, range};
    use mowgli_core::library::Libraries;
    use mowgli_core::term::body::body;
    use mowgli_core::term::parts::{ObjectTerm, parts};
    use mowgli_libraries::sv::{Method as Sv, SV, Sv as Variables};
    use mowgli_rdma::to;
    use mowgli_rdma::wait::{Method as Wait, WAIT, Wait as Memory};

    use super::*;

    fn argument(i: usize) -> Expr {
        ExprTerm::Arg(i, ["x", "v"][i]).into()
    }

    /// Reads a body whose call has an object and a datum for arguments.
    fn paths(body: impl Fn(Expr, Expr) -> Body) -> Result<Vec<Path>, Refusal> {
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
            fresh: Cell::new(0),
            fault: RefCell::default(),
            clients: Arc::default(),
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
        paths(body).unwrap().iter().map(text).collect()
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
        let facts = paths(|x, _| {
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
        let above = paths(|x, _| {
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
            let found = paths(|x, v| {
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
        let [path] = &paths(loops).unwrap()[..] else { panic!("one path") };
        assert_eq!(text(path), "[] Each(Rounds): Write(x, v), Read(x); Write(x, v); Read(x); Write(x, 1) -> ()");
        assert_eq!(path.equal, [(Datum::Argument(1), Datum::Result(3))]);
        let differ = |x: Expr, v: Expr| body! { loop { let w = Wait::read(x); if (w == v) { break } if (w == 3) { Wait::write(x, v) } } };
        let why = paths(differ).unwrap_err().to_string();
        assert!(why.starts_with("what it does in a round of a loop depends on `w = 3` (symbolic.rs:"), "{why}");
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let error = |body: fn(Expr, Expr) -> Body| paths(body).unwrap_err().to_string();
        let hash = |v: Expr| {
            let function = Opaque::new(|args| args[0]);
            Expr::opaque("hash", function, [v])
        };
        let why = paths(|x, v| body! { Wait::write(x, hash(v)) }).unwrap_err().to_string();
        assert!(
            why.starts_with(
                "rdma-wait-rmw::Write(x, hash(v)) is given hash(v), which is no datum of the call (symbolic.rs:"
            ),
            "{why}"
        );
        let why = error(|x, _| body! { for t in (all_threads()) { Wait::read(x) } });
        assert!(why.starts_with("it goes through all_threads, which is no set of the call (symbolic.rs:"), "{why}");
        let why = error(|x, v| body! { Wait::write(x.part("word", [v]), 1) });
        assert!(why.contains("is about x.word[v], which is no name of the call (symbolic.rs:"), "{why}");
        let why =
            error(|x, v| body! { for t in (members(x)) { let w = Wait::read(x); if (w == v) { Wait::write(x, 0) } } });
        assert!(why.starts_with("what it does for one of members(x) depends on `w = v` (symbolic.rs:"), "{why}");
        let why = error(|x, v| body! { if (me().is(mowgli_core::ids::Tid(2))) { Wait::write(x, v) } });
        assert!(why.starts_with("which calls it makes depends on `me = P2`"), "{why}");
        // The smaller of two data is none that a template can name.
        let why = error(|_, v| Expr::tuple([v, 12345.into()]).min().into());
        assert_eq!(why, "it returns min((v, 12345)), which is no datum of the call");
    }
}
