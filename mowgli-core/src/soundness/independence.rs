//! Data independence: arguments of calls that definitions only move.
//!
//! **Computes** with [`Independence::of`] the arguments of a library's methods whose integers bodies, shapes and
//! specifications store, copy and return, and use for nothing else. They are never compared, computed with, or parts of names.
//!
//! **Example**: the value of a Push is one for Treiber's stack. The body writes it to a node, a Pop returns it, and the
//! compare-and-swap is of locations. So the executions of Push(x, 1) with Push(x, 1) are those of Push(x, 1) with Push(x, 2),
//! with 1 in place of 2.
//!
//! **Correct because** a thread goes on in the same way whatever these integers are. So every execution of a client is the
//! image of one whose integers all differ. This is data independence (Wolper, *Expressing Interesting Properties of Programs in
//! Propositional Temporal Logic*, POPL 1986). A consistent execution stays so if integers become equal: values count only where
//! rf is chosen, and rf may relate more. Rust functions are trusted as far as [`Hints::equivariance`] says, which
//! `mowgli_check::hints` tests.
//!
//! **Cost**: all terms, until no word can hold more than before, which takes two or three passes.

use std::collections::{BTreeMap, BTreeSet};

use super::client::Client;
use super::question::Question;
use crate::algebra::{Attribute, Set, SetDefinition};
use crate::event::Call;
use crate::expr::{Expr, ExprTerm, Function, Op, Var};
use crate::ids::Name;
use crate::library::{Equivariance, Hints, Libraries};
use crate::term::body::{Body, CallTerm};
use crate::term::dataflow::DataFlow;
use crate::term::method::{ArgumentKind, Method, Returns};
use crate::term::shape::{ReadsTerm, ShapeTerm, SubTerm, WritesTerm};
use crate::value::Val;

/// The arguments of a library's methods that are only moved: methods with positions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Independence(BTreeSet<(Name, usize)>);

impl Independence {
    /// Returns what the definitions of a question leave. Nothing, if they are not all terms.
    #[must_use]
    pub fn of(question: &Question<'_>) -> Self {
        let [implementation] = &question.chain[..] else { return Self::default() };
        let Some(bodies) = implementation.bodies() else { return Self::default() };
        let (target, libraries) = (question.library, [&question.specification, &question.below]);
        let Some(mut moves) = Moves::of(libraries, target) else { return Self::default() };
        moves.until_stable(|moves| {
            moves.methods_of(target);
            bodies.by_method().for_each(|(method, body)| moves.body(method, body));
        });
        moves.left(target)
    }

    /// Returns what the definition of one library of a set leaves.
    #[must_use]
    pub fn of_library(libraries: &Libraries, name: Name) -> Self {
        let Some(mut moves) = Moves::of([libraries, libraries], name) else { return Self::default() };
        moves.until_stable(|moves| moves.methods_of(name));
        moves.left(name)
    }

    /// Whether the argument of a call at this position is one of them, and an integer.
    #[must_use]
    pub fn has(&self, call: &Call, position: usize) -> bool {
        self.0.contains(&(call.method, position)) && matches!(call.args[position], Val::Int(_))
    }

    /// Returns the client in which all of these integers differ: the numbers after `last`. Also returns the integer that
    /// each stands for.
    pub(super) fn most_general(&self, client: &Client, last: i64) -> (Client, BTreeMap<i64, i64>) {
        let mut stands_for = BTreeMap::new();
        let mut all = client.clone();
        for call in all.threads.iter_mut().flatten() {
            let changed = call.args.iter().enumerate().map(|(position, &v)| match v {
                Val::Int(old) if self.has(call, position) => {
                    let new = last + 1 + stands_for.len() as i64;
                    stands_for.insert(new, old);
                    Val::Int(new)
                }
                _ => v,
            });
            *call = Call { args: changed.collect(), ..call.clone() };
        }
        (all, stands_for)
    }
}

/// A set of arguments of the library's methods: bits, by the order of [`Moves::arguments`].
type Labels = u64;

/// The role of a location among the parts of an object; `None` if it may be any.
type PartRole = Option<&'static str>;

/// The role of the objects themselves.
const OBJECT: PartRole = Some("");

/// An argument of the method whose term is visited.
#[derive(Clone, Copy)]
struct PassedArgument {
    labels: Labels,
    role: PartRole,
}

/// A library whose methods may be called.
struct CalledLibrary<'q> {
    library: &'q dyn Hints,
    /// Whether its Rust functions only move data.
    is_trusted: bool,
    /// The positions of arguments by which its specification compares events.
    compared: BTreeSet<usize>,
}

impl<'q> CalledLibrary<'q> {
    fn of(libraries: &'q Libraries, name: Name) -> Option<Self> {
        let (library, spec) = (libraries.get(name)?, libraries.spec(name)?);
        let (mut of_sets, mut of_keys, mut compared) = (false, false, BTreeSet::new());
        spec.visit(&mut |set| of_sets |= is_function(set), &mut |key| match key.attributes() {
            Some(all) => compared.extend(all.iter().filter_map(|a| match a {
                Attribute::Argument(position) => Some(*position),
                _ => None,
            })),
            None => of_keys = true,
        });
        let is_trusted = !of_sets && !of_keys && library.equivariance() == Equivariance::DataIndependent;
        Some(Self { library, is_trusted, compared })
    }
}

/// Whether a set has a Rust function of subevents, which may compare anything.
fn is_function(set: &Set) -> bool {
    match set.members() {
        SetDefinition::Where(..) => true,
        SetDefinition::Either(sets) | SetDefinition::Both(sets) => is_function(&sets.0) || is_function(&sets.1),
        SetDefinition::Named(_, set) => is_function(set),
        _ => false,
    }
}

/// The way that the integers of arguments take through terms.
struct Moves<'q> {
    libraries: BTreeMap<Name, CalledLibrary<'q>>,
    /// All arguments of the library's methods that are values. The position is the bit.
    arguments: Vec<(&'static str, usize)>,
    /// The arguments that words with a role may hold. Those of unknown words are under `None`.
    words: BTreeMap<PartRole, Labels>,
    /// The arguments that are not only moved.
    used: Labels,
    vars: BTreeMap<usize, Labels>,
    /// The arguments of the method that is visited.
    args: Vec<PassedArgument>,
    /// The results that a call has, in its shape.
    ret: Labels,
    /// Whether a subevent of that shape reads the result.
    is_ret_read: bool,
}

impl<'q> Moves<'q> {
    /// `None` if the first library has no such name, or too many arguments.
    fn of(libraries: [&'q Libraries; 2], target: Name) -> Option<Self> {
        let names = libraries.into_iter().flat_map(|set| set.names().map(move |name| (set, name)));
        let known: BTreeMap<_, _> =
            names.filter_map(|(set, name)| Some((name, CalledLibrary::of(set, name)?))).collect();
        let of = known.get(&target).filter(|of| of.is_trusted)?;
        let values = |m: &Method| {
            let values = m.takes.iter().enumerate().filter(|(_, (_, kind))| *kind == ArgumentKind::Value);
            values.map(|(position, _)| (m.name, position)).collect::<Vec<_>>()
        };
        let arguments: Vec<_> = of.library.methods().iter().flat_map(values).collect();
        (arguments.len() <= Labels::BITS as usize).then(|| Self {
            libraries: known,
            arguments,
            words: BTreeMap::new(),
            used: 0,
            vars: BTreeMap::new(),
            args: Vec::new(),
            ret: 0,
            is_ret_read: false,
        })
    }

    /// Repeats a visit of all terms until it finds nothing new.
    fn until_stable(&mut self, mut visit: impl FnMut(&mut Self)) {
        loop {
            let before = (self.words.clone(), self.used);
            visit(self);
            if before == (self.words.clone(), self.used) {
                return;
            }
        }
    }

    fn left(&self, target: Name) -> Independence {
        let compared = &self.libraries[&target].compared;
        let all = self.arguments.iter().enumerate();
        let left = all.filter(|(bit, (_, position))| self.used >> bit & 1 == 0 && !compared.contains(position));
        Independence(left.map(|(_, &(method, position))| (Name::literal(method), position)).collect())
    }

    /// The arguments of a method of the library itself.
    fn own(&self, method: &Method) -> Vec<PassedArgument> {
        let of = |(position, (_, kind)): (usize, &(&str, ArgumentKind))| PassedArgument {
            labels: match self.arguments.iter().position(|own| *own == (method.name, position)) {
                Some(bit) => 1 << bit,
                None => 0,
            },
            role: if kind.is_object() { OBJECT } else { None },
        };
        method.takes.iter().enumerate().map(of).collect()
    }

    /// Visits the shapes of a library's own methods.
    fn methods_of(&mut self, target: Name) {
        for method in self.libraries[&target].library.methods() {
            self.args = self.own(method);
            self.event(target, method.name);
        }
    }

    fn body(&mut self, method: &Method, body: &Body) {
        self.args = self.own(method);
        self.vars.clear();
        self.of_body(body);
    }

    /// Visits the shape of an event with the present arguments, and returns what its result may hold.
    fn event(&mut self, library: Name, method: &str) -> Labels {
        let passed = self.args.iter().fold(0, |all, a| all | a.labels);
        let Some(known) = self.libraries.get(&library) else {
            self.used |= passed;
            return 0;
        };
        let (is_trusted, of) = (known.is_trusted, known.library);
        let compared = self.args.iter().enumerate().filter(|(at, _)| known.compared.contains(at));
        self.used |= compared.fold(0, |all, (_, a)| all | a.labels);
        let Some(shape) = of.shape_terms().and_then(|shapes| shapes.get(method)) else {
            let roles: Vec<PartRole> = self.args.iter().map(|a| a.role).collect();
            self.used |= passed | roles.into_iter().fold(0, |all, role| all | self.held(role));
            return 0;
        };
        self.vars.clear();
        // A result that is not read may be made of the arguments.
        let returns = of.methods().iter().find(|m| m.name == method).map(|m| m.returns);
        self.is_ret_read = reads_result(shape);
        let is_made = !self.is_ret_read && !matches!(returns, Some(Returns::Nothing | Returns::Bool));
        self.ret = self.reads_of(shape, passed) | if is_made { passed } else { 0 };
        let ret = self.ret;
        if !is_trusted {
            self.used |= passed | ret;
        }
        self.of_shape(shape);
        ret
    }

    /// Returns the arguments that the subevents of a shape may read, which are those that the result may hold.
    fn reads_of(&self, shape: &ShapeTerm, passed: Labels) -> Labels {
        let mut all = 0;
        shape.find_sub(&mut |sub| {
            let reads = sub.reads.is_some() || sub.found.is_some();
            let is_function = matches!(sub.writes, Some(WritesTerm::Words(_) | WritesTerm::Step(_)));
            all |= sub.cell.filter(|_| reads).map_or(0, |cell| self.held(self.role(cell.loc)));
            all |= if is_function { passed } else { 0 };
            None::<()>
        });
        all
    }

    fn visit(&mut self, sub: &SubTerm) {
        let cell = sub.cell.iter().flat_map(|cell| cell.node.into_iter().chain([cell.loc]));
        sub.stamp.index.iter().copied().chain(cell).for_each(|e| self.uses(e));
        let role = sub.cell.and_then(|cell| self.role(cell.loc));
        let held = self.held(role);
        if let Some(found) = sub.found {
            self.vars.insert(found.number, held);
        }
        match sub.reads {
            Some(ReadsTerm::Is(e)) if *e.term() == ExprTerm::Ret => {}
            Some(ReadsTerm::Is(e) | ReadsTerm::IsNot(e)) if !is_no_integer(e) => {
                self.used |= held;
                self.uses(e);
            }
            _ => {}
        }
        match &sub.writes {
            Some(WritesTerm::Is(e)) => {
                let labels = self.labels(*e);
                self.store(role, labels);
            }
            Some(WritesTerm::Copy(var)) => self.store(role, self.var(*var)),
            Some(WritesTerm::Sum(var, e)) => {
                self.used |= held | var.map_or(0, |var| self.var(var));
                self.uses(*e);
            }
            Some(WritesTerm::Words(words)) => {
                words.before.iter().for_each(|var| _ = self.vars.insert(var.number, held));
                for case in &words.cases {
                    self.uses(case.when);
                    for (_, e) in &case.words {
                        let labels = self.labels(*e);
                        self.store(role, labels);
                    }
                    let result = self.labels(case.result);
                    // The case is only for the value that is read.
                    if self.is_ret_read {
                        self.used |= result | self.ret;
                    }
                }
            }
            // The library says whether its function only moves data.
            Some(WritesTerm::Step(var)) => {
                let read = held | var.map_or(0, |var| self.var(var));
                self.store(role, self.args.iter().fold(read, |all, a| all | a.labels));
            }
            None => {}
        }
    }

    fn var(&self, var: Var) -> Labels {
        self.vars.get(&var.number).copied().unwrap_or(Labels::MAX)
    }

    /// The arguments that a word with a role may hold.
    fn held(&self, role: PartRole) -> Labels {
        let of = |role: PartRole| self.words.get(&role).copied().unwrap_or(0);
        if role.is_none() { self.words.values().fold(0, |all, labels| all | labels) } else { of(role) | of(None) }
    }

    fn store(&mut self, role: PartRole, labels: Labels) {
        *self.words.entry(role).or_default() |= labels;
    }

    fn role(&self, e: Expr) -> PartRole {
        match e.term() {
            // `x.seen_1` may be the part `seen` with the index 1.
            ExprTerm::Part(_, role, _) => role.split('_').next(),
            ExprTerm::Arg(position, _) => self.args.get(*position)?.role,
            _ => None,
        }
    }

    /// Notes that an expression is used for more than to be moved.
    fn uses(&mut self, e: Expr) {
        self.used |= self.labels(e);
    }

    /// Returns the arguments that the value of an expression may hold.
    fn labels(&mut self, e: Expr) -> Labels {
        match e.term() {
            ExprTerm::Var(var) => self.var(*var),
            ExprTerm::Arg(position, _) => self.args.get(*position).map_or(Labels::MAX, |a| a.labels),
            ExprTerm::Ret => self.ret,
            ExprTerm::Val(_) | ExprTerm::Me | ExprTerm::AllNodes | ExprTerm::AllThreads => 0,
            ExprTerm::Of(
                Function::First
                | Function::Rest
                | Function::Reversed
                | Function::Int
                | Function::Hash
                | Function::Packed(_)
                | Function::Unpacked(_),
                of,
            ) => self.labels(*of),
            ExprTerm::Of(Function::IsLoc, of) => {
                self.labels(*of);
                0
            }
            ExprTerm::Of(_, of) => self.only(&[*of]),
            ExprTerm::Op(Op::Eq, one, other) if is_no_integer(*one) || is_no_integer(*other) => {
                self.labels(*one);
                self.labels(*other);
                0
            }
            ExprTerm::Op(Op::Item, one, other) => {
                self.uses(*other);
                self.labels(*one)
            }
            ExprTerm::Op(_, one, other) => self.only(&[*one, *other]),
            ExprTerm::Tuple(parts) => parts.iter().fold(0, |all, e| all | self.labels(*e)),
            ExprTerm::Part(of, _, indices) => self.only(&[&[*of], &indices[..]].concat()),
            ExprTerm::Wid(of, _) => self.only(&[*of]),
            ExprTerm::Opaque(_, _, args) => self.only(args),
        }
    }

    /// Notes that these are used. The result holds none of them.
    fn only(&mut self, all: &[Expr]) -> Labels {
        all.iter().for_each(|e| self.uses(*e));
        0
    }
}

impl DataFlow for Moves<'_> {
    type Value = Labels;

    fn join(&self, one: Labels, other: Labels) -> Labels {
        one | other
    }

    fn expr(&mut self, e: Expr) -> Labels {
        self.labels(e)
    }

    fn condition(&mut self, condition: Expr) {
        self.uses(condition);
    }

    /// Visits the shape of its event, with the arguments that it gets.
    fn call(&mut self, call: &CallTerm) -> Labels {
        let args: Vec<PassedArgument> =
            call.args.iter().map(|e| PassedArgument { labels: self.labels(*e), role: self.role(*e) }).collect();
        let of_body = (std::mem::replace(&mut self.args, args), std::mem::take(&mut self.vars));
        let ret = self.event(call.library, call.method);
        (self.args, self.vars) = of_body;
        ret
    }

    fn elements(&mut self, set: Expr, _: bool) -> Labels {
        self.uses(set);
        0
    }

    fn bind(&mut self, var: Var, value: Labels) {
        self.vars.insert(var.number, value);
    }

    fn subevent(&mut self, sub: &SubTerm) {
        self.visit(sub);
    }
}

/// Whether some subevent reads the result of the call.
fn reads_result(shape: &ShapeTerm) -> bool {
    let reads = |sub: &SubTerm| matches!(sub.reads, Some(ReadsTerm::Is(e)) if *e.term() == ExprTerm::Ret);
    shape.find_sub(&mut |sub| reads(sub).then_some(())).is_some()
}

/// Whether an expression is a literal that contains no integer. Whether an integer equals it does not depend on the integer.
fn is_no_integer(e: Expr) -> bool {
    matches!(e.term(), ExprTerm::Val(v) if v.integers().is_empty())
}
