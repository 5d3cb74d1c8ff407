//! Symbolic values: terms of the arguments of a call and of the results of its calls below.
//!
//! **Computes** simpler terms, and the datum, name or set of a call that a term is.
//!
//! **Invariant**: a simplified term has the same value for all values of its variables.
//!
//! **Example**: `2 + x.len()` is 4 if the argument `x` is a tuple of two words.
//!
//! **Correct because** each case is the one of [`Expr::eval`] on unknown values. Test: `runs_are_instances_of_paths`.
//!
//! **Cost**: the size of the term.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use mowgli_core::expr::{Expr, ExprTerm, Function, Op, Var, here};
use mowgli_core::ids::{Name, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::term::parts::{ObjectTerm, Parts};
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::error::{Refusal, refusal};
use crate::template::classes::classes;
use crate::template::kind::Guard;
use crate::template::pattern::{ArgumentForm, Datum, Each, Members, Nodes, Whole};

/// The number of the variable for the result of the first call. The variables of bodies have smaller numbers.
const RESULT: usize = 1 << 20;
/// The number of the first variable for what a `for` goes through.
pub(super) const ELEMENT: usize = 2 << 20;
/// The number of the first variable for a value of which nothing is known.
pub(super) const UNKNOWN: usize = 3 << 20;

/// A call of a client in a small world, with the objects of the implementation.
#[derive(Clone, Debug)]
pub(crate) struct ClientInWorld {
    pub world: Arc<World>,
    pub thread: Tid,
    pub args: Vec<Val>,
}

/// A condition that was decided.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PathCondition {
    pub condition: Expr,
    pub holds: bool,
    /// True if it holds whenever a loop or a round ends, so that it does not distinguish branches.
    pub is_fact: bool,
}

impl fmt::Display for PathCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.holds { self.condition.fmt(f) } else { write!(f, "!({})", self.condition) }
    }
}

/// Returns the variable for the result of the call at a position.
pub(crate) fn result(position: usize) -> Var {
    Var { number: RESULT + position, name: "result" }
}

/// Returns the position of the call whose result a variable stands for.
pub(super) fn position_of(var: &Var) -> Option<usize> {
    (RESULT..ELEMENT).contains(&var.number).then(|| var.number - RESULT)
}

/// Returns the position of the call whose result an expression is.
pub(super) fn result_of(e: Expr) -> Option<usize> {
    if let ExprTerm::Var(var) = e.term() { position_of(var) } else { None }
}

pub(super) fn int(e: Expr) -> Option<i64> {
    if let ExprTerm::Val(Val::Int(n)) = e.term() { Some(*n) } else { None }
}

fn literal(e: Expr) -> Option<Val> {
    if let ExprTerm::Val(v) = e.term() { Some(*v) } else { None }
}

/// Returns the index of a part that is a thread or a node by its number.
fn numbered_index(part: Expr) -> Option<String> {
    let ExprTerm::Part(of, _, indices) = part.term() else { return None };
    let numbered = |e: &Expr| match literal(*e)? {
        Val::Thread(t) => Some(format!("the thread {t}")),
        Val::Node(n) => Some(format!("the node {n}")),
        _ => None,
    };
    indices.iter().find_map(numbered).or_else(|| numbered_index(*of))
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
pub(super) fn is_integer(e: Expr) -> bool {
    match e.term() {
        ExprTerm::Val(Val::Int(_)) | ExprTerm::Of(Function::Int | Function::Len, _) => true,
        ExprTerm::Op(Op::Add | Op::Sub | Op::Div | Op::Rem, a, _) => is_integer(*a),
        _ => false,
    }
}

/// True if some variable of an expression satisfies a predicate.
pub(super) fn has_variable(e: Expr, is: impl Fn(&Var) -> bool) -> bool {
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
    /// The number of variables for unknown values so far.
    pub fresh: Cell<usize>,
    /// Calls of this form in small worlds, in which calls below may have no fault.
    pub clients: Arc<[ClientInWorld]>,
    /// The refusal of the first call that may have a fault.
    pub fault: RefCell<Option<Refusal>>,
}

impl SymbolicExecutor<'_> {
    /// Returns the object with a name, as the implementation declares it: see [`Parts::get`].
    pub fn declared(&self, name: Expr, is_in: &dyn Fn(Expr, Expr) -> bool) -> Result<ObjectTerm, Refusal> {
        let parts = self.parts;
        let parts = parts.ok_or_else(|| refusal!("its objects are declared by a Rust function, and not by `parts`"))?;
        parts.get(name, is_in).ok_or_else(|| match (parts.get(name, &|_, _| true), numbered_index(name)) {
            (Some(_), _) => refusal!("the implementation may not declare {name}: an index may be outside of its set"),
            (None, Some(index)) => refusal!(
                "the implementation may not declare {name}, because some worlds do not have {index}: take no index by its number"
            ),
            (None, None) => refusal!("the implementation does not declare {name}"),
        })
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
    pub(super) fn is_known(&self, e: Expr) -> bool {
        match e.term() {
            ExprTerm::Tuple(parts) => parts.iter().all(|e| self.is_known(*e)),
            ExprTerm::Arg(i, _) => matches!(self.arguments[*i], ArgumentForm::Data | ArgumentForm::Tuple(_)),
            _ => self.datum(e).is_some(),
        }
    }

    /// True if an expression names a thread, node, location or identifier in terms of the call, independently of data.
    pub(super) fn is_name(&self, e: Expr) -> bool {
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

    pub(super) fn is_index(&self, e: Expr) -> bool {
        match e.term() {
            ExprTerm::Val(v) => matches!(v, Val::Int(_) | Val::Thread(_) | Val::Node(_)),
            ExprTerm::Of(Function::Number, of) => self.is_name(*of),
            _ => self.is_name(e),
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

/// Returns the elements of a list.
pub(crate) fn listed(set: Expr) -> Option<Vec<Expr>> {
    match set.term() {
        ExprTerm::Tuple(parts) => Some(parts.clone()),
        ExprTerm::Val(Val::Tuple(parts)) => Some(parts.parts().iter().map(|v| (*v).into()).collect()),
        _ => None,
    }
}

/// The elements that sets and tuples surely have, by what is known.
pub(super) struct Memberships<'a> {
    /// Elements, each with a set that it is in.
    pub known: Vec<(Expr, Expr)>,
    /// The forms of the arguments. A node that is one is a node of the world.
    pub arguments: &'a [ArgumentForm],
}

impl Memberships<'_> {
    /// True if an expression is an argument of this form.
    fn is_argument(&self, e: Expr, form: ArgumentForm) -> bool {
        matches!(e.term(), ExprTerm::Arg(i, _) if self.arguments.get(*i) == Some(&form))
    }

    /// True if the value of an expression is surely an element of a set or tuple. No thread and no node is there by its number
    /// alone, because some worlds do not have it.
    pub fn has(&self, e: Expr, set: Expr) -> bool {
        let is_known = |(of, all): &(Expr, Expr)| *of == e && self.is_subset(*all, set);
        let of_its_form = || match (e.term(), set.term()) {
            (ExprTerm::Me, ExprTerm::AllThreads) => true,
            (ExprTerm::Arg(..), ExprTerm::AllNodes) => self.is_argument(e, ArgumentForm::Node),
            (ExprTerm::Of(Function::Node, of), ExprTerm::Of(Function::Nodes, threads)) => self.has(*of, *threads),
            (ExprTerm::Of(Function::Node, of), ExprTerm::AllNodes) => {
                matches!(of.term(), ExprTerm::Arg(..) | ExprTerm::Part(..))
                    || self.has(*of, ExprTerm::AllThreads.into())
            }
            (ExprTerm::Of(Function::First, all), _) => self.is_subset(*all, set),
            // A remainder is not negative.
            (ExprTerm::Op(Op::Rem, of, by), ExprTerm::Op(Op::Range, from, to)) => {
                by == to && is_integer(*of) && int(*from).is_some_and(|from| from <= 0)
            }
            (ExprTerm::Val(Val::Int(k)), ExprTerm::Op(Op::Range, from, to)) => {
                int(*from).zip(int(*to)).is_some_and(|(from, to)| (from..to).contains(k))
            }
            _ => listed(set).is_some_and(|all| all.contains(&e)),
        };
        self.known.iter().any(is_known) || of_its_form()
    }

    /// True if every element of a set or tuple is surely an element of another one.
    fn is_subset(&self, set: Expr, of: Expr) -> bool {
        let threads: Expr = ExprTerm::AllThreads.into();
        let of_its_form = || match (set.term(), of.term()) {
            (ExprTerm::Op(Op::Without, all, _), _) | (ExprTerm::Of(Function::Rest | Function::Reversed, all), _) => {
                self.is_subset(*all, of)
            }
            (ExprTerm::Of(Function::Only, one), _) => self.has(*one, of),
            (ExprTerm::Of(Function::Members, _), ExprTerm::AllThreads) => true,
            (ExprTerm::Arg(..), ExprTerm::AllNodes) => self.is_argument(set, ArgumentForm::Nodes),
            (ExprTerm::Of(Function::Nodes, some), ExprTerm::Of(Function::Nodes, all)) => self.is_subset(*some, *all),
            (ExprTerm::Of(Function::Nodes, some), ExprTerm::AllNodes) => self.is_subset(*some, threads),
            _ => listed(set).is_some_and(|all| all.into_iter().all(|e| self.has(e, of))),
        };
        set == of || of_its_form()
    }
}

pub(super) fn equal(a: Expr, b: Expr) -> Expr {
    folded(ExprTerm::Op(Op::Eq, a, b).into())
}

/// Simplifies an expression whose parts are simplified. Its value stays the same for all values of its variables.
pub(super) fn folded(e: Expr) -> Expr {
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
                // If `e` is no integer, neither `e + k` nor `e` is one.
                (ExprTerm::Op(Op::Add, of, k), Some(Val::Int(n))) if int(*k).is_some() => {
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
