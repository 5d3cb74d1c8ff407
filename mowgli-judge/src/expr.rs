//! Expressions of bodies and shapes: first-order terms over the arguments of a call and the calling thread. In a body
//! they also have earlier results, in a shape the result of the call.
//!
//! Every part of Mowgli can read an expression: the search evaluates it, `show` prints it, and the prover sees the data
//! that it compares. Equal expressions are one allocation, so they are `Copy` and compared by address.
//!
//! ```
//! use mowgli_judge::expr::{Expr, here, members, nodes};
//! use mowgli_judge::ids::Loc;
//!
//! let x = Expr::from(Loc::new("x"));
//! let others = nodes(members(x)).without(here());
//! assert_eq!(others.to_string(), "nodes(members(x)) \\ {here}");
//! assert_eq!(x.part("count", [1.into()]).loc(), Loc::new("x.count_1"));
//! ```

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::{Add, BitAnd, BitOr, Div, Not, Rem, Sub};
use std::sync::{Arc, LazyLock, Mutex};

use crate::few::Few;
use crate::ids::{Loc, Node as Machine, NodeSet, Tid, Wid};
use crate::value::Val;
use crate::world::{Object, World};

/// The surroundings of a closed expression, which needs none.
static NOWHERE: LazyLock<Scope> = LazyLock::new(|| Scope::new(&World::new(0, &[]), Tid(1), &[]));

static TERMS: Mutex<BTreeSet<&'static ExprTerm>> = Mutex::new(BTreeSet::new());

/// An interned expression. Evaluated in [`Surroundings`] it gives a value.
#[derive(Clone, Copy)]
pub struct Expr(&'static ExprTerm);

/// A variable of a body or a shape: its number, which is unique in the body, and the name that its author gave it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Var {
    /// Its number.
    pub number: usize,
    /// Its name.
    pub name: &'static str,
}

thread_local! {
    /// The number of the next variable. It starts from 0 in each body, so that equal bodies are equal terms.
    static NEXT: Cell<usize> = const { Cell::new(0) };
}

impl Var {
    /// A variable that no body has which was made since the numbers began.
    #[must_use]
    pub fn fresh(name: &'static str) -> Self {
        Self { number: NEXT.replace(NEXT.get() + 1), name }
    }

    /// Begins the numbers of variables that are made from here on, in this thread.
    pub fn number_from(next: usize) {
        NEXT.set(next);
    }
}

/// An expression by its outermost symbol.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ExprTerm {
    /// A literal.
    Val(Val),
    /// A variable that `let` or `for` binds.
    Var(Var),
    /// The argument of the call at this position, with its name in the method table.
    Arg(usize, &'static str),
    /// The calling thread.
    Me,
    /// The result of the call, which shapes speak of and bodies do not.
    Ret,
    /// All nodes.
    AllNodes,
    /// All threads.
    AllThreads,
    /// A function of one expression.
    Of(Function, Expr),
    /// A function of two.
    Op(Op, Expr, Expr),
    /// A tuple.
    Tuple(Vec<Expr>),
    /// The part of a location with this role and these indices: `x.count_1` has the role `count` and the index 1.
    Part(Expr, &'static str, Vec<Expr>),
    /// A work identifier that belongs to a location, by its role.
    Wid(Expr, &'static str),
    /// A Rust function of values. Nothing is known of it but its name and its results.
    Opaque(&'static str, Opaque, Vec<Expr>),
}

/// A Rust function of values, which has no other representation: compared by its address. It is kept for ever, as all terms are,
/// so make one for each function and not one for each expression.
#[derive(Clone, Copy)]
pub struct Opaque(&'static (dyn Fn(&[Val]) -> Val + Send + Sync));

impl Opaque {
    /// A function, which differs from every other one that is made here.
    #[must_use]
    pub fn new(function: impl Fn(&[Val]) -> Val + Send + Sync + 'static) -> Self {
        // Two functions that capture nothing have no size, and so may have one address. With the box each has its own.
        let function = Box::new(function);
        Self(Box::leak(Box::new(move |args: &[Val]| function(args))))
    }

    fn address(self) -> *const () {
        std::ptr::from_ref(self.0).cast()
    }
}

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opaque({:?})", self.address())
    }
}

impl PartialEq for Opaque {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl Eq for Opaque {}

impl PartialOrd for Opaque {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Opaque {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.address().cmp(&other.address())
    }
}

/// Functions of one expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Function {
    /// The node of a thread, or the node that an object lives on.
    Node,
    /// The node with a number.
    Numbered,
    /// The nodes of a tuple of threads.
    Nodes,
    /// The threads that take part in an object, in order, as a tuple.
    Members,
    /// The capacity of an object.
    Size,
    /// The initial value of an object.
    Initial,
    /// The number of a thread.
    Number,
    /// The thread with a number. A value that is no number from 0 to 255 counts as 1. There need be no thread with the number.
    Thread,
    /// The first of a tuple.
    First,
    /// A tuple without its first part.
    Rest,
    /// A tuple from last to first.
    Reversed,
    /// The length of a tuple.
    Len,
    /// The smallest of a tuple or of a set of nodes.
    Min,
    /// The largest of a tuple or of a set of nodes.
    Max,
    /// Whether a value is a location, as a word has that points to something, or to nothing.
    IsLoc,
    /// The work identifier with the name of a location: of `x.lease_1` the identifier `x.lease_1`.
    AsWid,
    /// Negation.
    Not,
    /// An integer as it is, and 0 for any other value.
    Int,
    /// The hash of a tuple, in one word. Here it is injective: the tuple itself. Emitted code has a checksum of 64 bits.
    Hash,
    /// A tuple of natural numbers as one word: here the tuple itself. In emitted code each part has so many bits of the word, at most 63
    /// together. There a part that does not fit ends the program.
    Packed(&'static [u8]),
    /// The tuple in a word that [`Function::Packed`] made with these numbers of bits. Bottom stays bottom.
    Unpacked(&'static [u8]),
    /// A thread, and behind it the last thread of each other node, as a tuple.
    Servers,
    /// The set of one node.
    Only,
    /// Another value of the same kind: the next integer, the other truth value, a tuple with another first part, or
    /// another node. For an object it is the next one of the same library on the same node. The value itself if there
    /// is no other.
    Another,
}

/// Functions of two expressions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Op {
    /// The sum of two integers modulo 2^64.
    Add,
    /// The difference of two integers modulo 2^64.
    Sub,
    /// The quotient of a division, rounded down, as goes with [`Op::Rem`].
    Div,
    /// The remainder of a division, never negative.
    Rem,
    /// Whether two values are equal.
    Eq,
    /// Whether the first value is smaller in the order of values, which for integers is `<`.
    Lt,
    /// Conjunction.
    And,
    /// Disjunction.
    Or,
    /// A set of nodes with one more node, or with those of another set.
    With,
    /// A set of nodes without one node or those of another set, or a tuple without the parts that are equal to a value.
    Without,
    /// A tuple without the parts that are parts of another one.
    Except,
    /// The part of a tuple at this position, from 0.
    Item,
    /// The integers from the first to before the second, as a tuple.
    Range,
    /// Whether the first is a part of a tuple, or a node of a set.
    In,
}

/// The surroundings that give an expression its value.
pub trait Surroundings {
    /// The world of the call.
    fn world(&self) -> &World;

    /// The calling thread.
    fn thread(&self) -> Tid;

    /// The arguments of the call.
    fn args(&self) -> &[Val];

    /// The result of the call, if it has returned.
    fn ret(&self) -> Option<Val>;

    /// The value of a variable, if it is bound.
    fn var(&self, var: Var) -> Option<Val>;
}

/// The surroundings in which a body is evaluated.
#[derive(Clone, Debug)]
pub struct Scope {
    world: Arc<World>,
    thread: Tid,
    args: Arc<[Val]>,
    bound: Option<Arc<Binding>>,
}

#[derive(Debug)]
struct Binding {
    var: usize,
    value: Val,
    outer: Option<Arc<Binding>>,
}

impl Scope {
    /// The surroundings of a call with these arguments.
    #[must_use]
    pub fn new(world: &World, thread: Tid, args: &[Val]) -> Self {
        Self::shared(&Arc::new(world.clone()), thread, args)
    }

    /// The same, in a world that is not copied.
    #[must_use]
    pub fn shared(world: &Arc<World>, thread: Tid, args: &[Val]) -> Self {
        Self { world: Arc::clone(world), thread, args: args.into(), bound: None }
    }

    /// Whether a condition holds here. A value other than true is false.
    #[must_use]
    pub fn decide(&self, condition: Expr) -> bool {
        condition.eval(self) == Val::Bool(true)
    }

    /// The same, where a variable has a value.
    #[must_use]
    pub fn with(&self, var: Var, value: Val) -> Self {
        Self { bound: Some(Arc::new(Binding { var: var.number, value, outer: self.bound.clone() })), ..self.clone() }
    }
}

impl Surroundings for Scope {
    fn world(&self) -> &World {
        &self.world
    }

    fn thread(&self) -> Tid {
        self.thread
    }

    fn args(&self) -> &[Val] {
        &self.args
    }

    fn ret(&self) -> Option<Val> {
        None
    }

    fn var(&self, var: Var) -> Option<Val> {
        let mut at = self.bound.as_ref();
        while let Some(bound) = at {
            if bound.var == var.number {
                return Some(bound.value);
            }
            at = bound.outer.as_ref();
        }
        None
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Expr {}

impl PartialOrd for Expr {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// By address: the order means nothing, and serves tables only.
impl Ord for Expr {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        std::ptr::from_ref(self.0).cmp(&std::ptr::from_ref(other.0))
    }
}

impl From<ExprTerm> for Expr {
    fn from(term: ExprTerm) -> Self {
        let mut terms = TERMS.lock().expect("the table of terms is never left half written");
        if let Some(known) = terms.get(&term) {
            return Self(known);
        }
        let kept: &'static ExprTerm = Box::leak(Box::new(term));
        terms.insert(kept);
        Self(kept)
    }
}

macro_rules! literals {
    ($($T:ty),*) => {$(
        impl From<$T> for Expr {
            fn from(value: $T) -> Self {
                ExprTerm::Val(value.into()).into()
            }
        }
    )*};
}
literals!(Val, i64, i32, bool, Loc, Machine, NodeSet, Tid, Wid);

impl Expr {
    /// The outermost symbol.
    #[must_use]
    pub fn term(self) -> &'static ExprTerm {
        self.0
    }

    fn of(function: Function, of: impl Into<Self>) -> Self {
        ExprTerm::Of(function, of.into()).into()
    }

    fn op(self, op: Op, other: impl Into<Self>) -> Self {
        ExprTerm::Op(op, self, other.into()).into()
    }

    /// Whether the two differ.
    #[must_use]
    pub fn is_not(self, other: impl Into<Self>) -> Self {
        !self.is(other)
    }

    /// Whether this is greater: `>`.
    #[must_use]
    pub fn above(self, other: impl Into<Self>) -> Self {
        other.into().op(Op::Lt, self)
    }

    /// The part of a location with a role and indices, which are threads, nodes or integers. Any other value counts as 0, since
    /// an index may come from memory, which holds anything in a body that is wrong.
    #[must_use]
    pub fn part(self, role: &'static str, indices: impl IntoIterator<Item = Self>) -> Self {
        ExprTerm::Part(self, role, indices.into_iter().collect()).into()
    }

    /// A work identifier that belongs to a location, and that no client can name.
    #[must_use]
    pub fn wid(self, role: &'static str) -> Self {
        ExprTerm::Wid(self, role).into()
    }

    /// A tuple.
    #[must_use]
    pub fn tuple(parts: impl IntoIterator<Item = Self>) -> Self {
        ExprTerm::Tuple(parts.into_iter().collect()).into()
    }

    /// A Rust function of values, by name. Nothing is known of it but its results, so prefer the other functions.
    #[must_use]
    pub fn opaque(name: &'static str, function: Opaque, args: impl IntoIterator<Item = Self>) -> Self {
        ExprTerm::Opaque(name, function, args.into_iter().collect()).into()
    }

    /// A tuple of natural numbers as one word: see [`Function::Packed`].
    #[must_use]
    pub fn packed(self, widths: &'static [u8]) -> Self {
        Self::of(Function::Packed(widths), self)
    }

    /// The tuple in a word, or bottom: see [`Function::Unpacked`].
    #[must_use]
    pub fn unpacked(self, widths: &'static [u8]) -> Self {
        Self::of(Function::Unpacked(widths), self)
    }

    /// The value of a closed expression: one in which there is no variable, no argument, and nothing of a world.
    ///
    /// # Panics
    /// If there is a variable or an argument in it.
    #[must_use]
    pub fn value(self) -> Val {
        self.eval(&*NOWHERE)
    }

    /// The location that a closed expression names.
    ///
    /// # Panics
    /// If it names none.
    #[must_use]
    pub fn loc(self) -> Loc {
        self.value().loc().unwrap_or_else(|| panic!("{self} is not a location"))
    }

    /// The value in these surroundings. A body is defined whatever memory holds, so a function of a wrong argument has a value
    /// too: that of its first argument.
    ///
    /// # Panics
    /// If a variable is used outside the statement that binds it, or a result where there is none: in a body.
    #[must_use]
    pub fn eval(self, scope: &impl Surroundings) -> Val {
        match self.0 {
            ExprTerm::Val(v) => *v,
            ExprTerm::Var(var) => {
                scope.var(*var).unwrap_or_else(|| unreachable!("{} is used outside the scope that binds it", var.name))
            }
            ExprTerm::Arg(position, _) => scope.args()[*position],
            ExprTerm::Me => scope.thread().into(),
            ExprTerm::Ret => scope.ret().unwrap_or_else(|| unreachable!("a body speaks of the result of its own call")),
            ExprTerm::AllNodes => scope.world().all_nodes().into(),
            ExprTerm::AllThreads => Val::tuple(&scope.world().tids().map(Val::from).collect::<Vec<_>>()),
            ExprTerm::Of(function, of) => function.apply(scope.world(), of.eval(scope)),
            ExprTerm::Op(op, one, other) => op.apply(one.eval(scope), other.eval(scope)),
            ExprTerm::Tuple(parts) => Val::tuple(&all(parts, scope)),
            ExprTerm::Part(of, role, indices) => match of.eval(scope) {
                Val::Loc(x) => x.part(IndexedRole(role, &all(indices, scope))).into(),
                other => other,
            },
            ExprTerm::Wid(of, role) => match of.eval(scope) {
                Val::Loc(x) => x.wid(role).into(),
                other => other,
            },
            ExprTerm::Opaque(_, function, args) => (function.0)(&all(args, scope)),
        }
    }

    /// The elements that a `for` goes through: the nodes of a set, the parts of a tuple, or one value.
    #[must_use]
    pub fn elements(self, scope: &impl Surroundings) -> Few<Val> {
        match self.eval(scope) {
            Val::Nodes(nodes) => nodes.iter().map(Val::from).collect(),
            Val::Tuple(all) => Few::of(all.parts()),
            other => Few::from([other]),
        }
    }

    /// This expression with others in place of the innermost ones of which `change` gives some.
    #[must_use]
    pub fn replaced(self, change: &mut dyn FnMut(&ExprTerm) -> Option<Self>) -> Self {
        let term = match self.0 {
            ExprTerm::Of(function, of) => ExprTerm::Of(*function, of.replaced(change)),
            ExprTerm::Op(op, one, other) => ExprTerm::Op(*op, one.replaced(change), other.replaced(change)),
            ExprTerm::Tuple(parts) => ExprTerm::Tuple(all_replaced(parts, change)),
            ExprTerm::Part(of, role, indices) => {
                ExprTerm::Part(of.replaced(change), role, all_replaced(indices, change))
            }
            ExprTerm::Wid(of, role) => ExprTerm::Wid(of.replaced(change), role),
            ExprTerm::Opaque(name, function, args) => ExprTerm::Opaque(name, *function, all_replaced(args, change)),
            ExprTerm::Val(_)
            | ExprTerm::Var(_)
            | ExprTerm::Arg(..)
            | ExprTerm::Me
            | ExprTerm::Ret
            | ExprTerm::AllNodes
            | ExprTerm::AllThreads => {
                return change(self.0).unwrap_or(self);
            }
        };
        term.into()
    }

    /// Whether it is written as a set of nodes.
    fn is_a_set(self) -> bool {
        match self.0 {
            ExprTerm::AllNodes
            | ExprTerm::Of(Function::Nodes | Function::Only, _)
            | ExprTerm::Op(Op::With | Op::Without, ..) => true,
            ExprTerm::Val(v) => v.nodes().is_some(),
            _ => false,
        }
    }

    /// This expression and all that it contains.
    pub fn each(self, visit: &mut dyn FnMut(Self)) {
        visit(self);
        match self.0 {
            ExprTerm::Of(_, of) | ExprTerm::Wid(of, _) => of.each(visit),
            ExprTerm::Op(_, one, other) => {
                one.each(visit);
                other.each(visit);
            }
            ExprTerm::Tuple(parts) | ExprTerm::Opaque(_, _, parts) => parts.iter().for_each(|e| e.each(visit)),
            ExprTerm::Part(of, _, indices) => {
                of.each(visit);
                indices.iter().for_each(|e| e.each(visit));
            }
            ExprTerm::Val(_)
            | ExprTerm::Var(_)
            | ExprTerm::Arg(..)
            | ExprTerm::Me
            | ExprTerm::Ret
            | ExprTerm::AllNodes
            | ExprTerm::AllThreads => {}
        }
    }
}

fn all_replaced(exprs: &[Expr], change: &mut dyn FnMut(&ExprTerm) -> Option<Expr>) -> Vec<Expr> {
    exprs.iter().map(|e| e.replaced(change)).collect()
}

fn all(exprs: &[Expr], scope: &impl Surroundings) -> Vec<Val> {
    exprs.iter().map(|e| e.eval(scope)).collect()
}

/// A role with its indices, as names write it: `count_1`.
struct IndexedRole<'a>(&'a str, &'a [Val]);

impl fmt::Display for IndexedRole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        self.1.iter().try_for_each(|index| match index {
            Val::Thread(_) | Val::Node(_) | Val::Int(_) => write!(f, "_{index}"),
            _ => f.write_str("_0"),
        })
    }
}

impl Function {
    fn apply(self, world: &World, v: Val) -> Val {
        let tuple = || if let Val::Tuple(all) = v { all.parts() } else { &[] };
        let node_of = |t: Tid| world.tids().find(|other| *other == t).map(|t| world.node_of(t));
        let applied = match (self, v) {
            (Self::Node, Val::Thread(t)) => node_of(t).map(Val::from),
            (Self::Node, Val::Loc(x)) => world.home(x).map(Val::from),
            (Self::Numbered, Val::Int(n)) => u8::try_from(n).ok().map(|n| Machine(n).into()),
            (Self::Nodes, Val::Tuple(_)) => {
                let threads = tuple().iter().filter_map(|t| if let Val::Thread(t) = t { Some(*t) } else { None });
                Some(threads.filter_map(node_of).collect::<NodeSet>().into())
            }
            (Self::Members, Val::Loc(x)) => {
                let members = world.objects.get(&x).map_or(&[][..], |o| &o.members);
                Some(Val::tuple(&members.iter().map(|&t| t.into()).collect::<Vec<_>>()))
            }
            (Self::Size, Val::Loc(x)) => world.objects.get(&x).map(|o| Val::Int(o.size as i64)),
            (Self::Initial, Val::Loc(x)) => world.objects.get(&x).map(|o| o.init),
            (Self::Number, Val::Thread(t)) => Some(Val::Int(t.0.into())),
            (Self::Thread, _) => Some(Tid(v.int().and_then(|n| u8::try_from(n).ok()).unwrap_or(1)).into()),
            (Self::First, Val::Tuple(_)) => tuple().first().copied(),
            (Self::Rest, Val::Tuple(_)) => tuple().get(1..).map(Val::tuple),
            (Self::Reversed, Val::Tuple(_)) => Some(Val::tuple(&tuple().iter().rev().copied().collect::<Vec<_>>())),
            (Self::Len, Val::Tuple(_)) => Some(Val::Int(tuple().len() as i64)),
            (Self::Len, _) => Some(Val::Int(1)),
            (Self::Min, Val::Tuple(_)) => tuple().iter().min().copied(),
            (Self::Min, Val::Nodes(all)) => all.iter().min().map(Val::from),
            (Self::Max, Val::Tuple(_)) => tuple().iter().max().copied(),
            (Self::Max, Val::Nodes(all)) => all.iter().max().map(Val::from),
            (Self::IsLoc, _) => Some(Val::Bool(v.loc().is_some())),
            (Self::AsWid, Val::Loc(x)) => Some(Wid(x.0).into()),
            (Self::Not, Val::Bool(b)) => Some(Val::Bool(!b)),
            (Self::Int, _) => Some(Val::Int(v.int().unwrap_or(0))),
            (Self::Only, Val::Node(n)) => Some(NodeSet::default().with(n).into()),
            (Self::Hash | Self::Packed(_) | Self::Unpacked(_), _) => Some(v),
            (Self::Servers, Val::Thread(t)) => node_of(t).map(|_| with_servers(world, t)),
            (Self::Another, _) => another(world, v),
            _ => None,
        };
        applied.unwrap_or(v)
    }
}

impl Op {
    fn apply(self, a: Val, b: Val) -> Val {
        let applied = match (self, a, b) {
            (Self::Add, _, Val::Int(k)) => a.plus(k),
            (Self::Sub, _, Val::Int(k)) => a.plus(k.wrapping_neg()),
            (Self::Div, Val::Int(n), Val::Int(k)) => n.checked_div_euclid(k).map(Val::Int),
            (Self::Rem, Val::Int(n), Val::Int(k)) => n.checked_rem_euclid(k).map(Val::Int),
            (Self::Eq, ..) => Some(Val::Bool(a == b)),
            (Self::Lt, ..) => Some(Val::Bool(a < b)),
            (Self::And, Val::Bool(a), Val::Bool(b)) => Some(Val::Bool(a && b)),
            (Self::Or, Val::Bool(a), Val::Bool(b)) => Some(Val::Bool(a || b)),
            (Self::With, Val::Nodes(all), Val::Node(n)) => Some(all.with(n).into()),
            (Self::With, Val::Nodes(all), Val::Nodes(more)) => Some(more.iter().fold(all, NodeSet::with).into()),
            (Self::Without, Val::Nodes(all), Val::Nodes(gone)) => Some(gone.iter().fold(all, NodeSet::without).into()),
            (Self::Without, Val::Nodes(all), Val::Node(n)) => Some(all.without(n).into()),
            (Self::Without, Val::Tuple(all), _) => {
                Some(Val::tuple(&all.parts().iter().copied().filter(|v| *v != b).collect::<Vec<_>>()))
            }
            (Self::Except, Val::Tuple(all), Val::Tuple(others)) => {
                let (all, others) = (all.parts().iter().copied(), others.parts());
                Some(Val::tuple(&all.filter(|v| !others.contains(v)).collect::<Vec<_>>()))
            }
            (Self::Item, Val::Tuple(all), Val::Int(n)) => {
                usize::try_from(n).ok().and_then(|n| all.parts().get(n)).copied()
            }
            (Self::In, _, Val::Tuple(all)) => Some(Val::Bool(all.parts().contains(&a))),
            (Self::In, Val::Node(n), Val::Nodes(all)) => Some(Val::Bool(all.contains(n))),
            (Self::Range, Val::Int(from), Val::Int(to)) => {
                Some(Val::tuple(&(from..to).map(Val::Int).collect::<Vec<_>>()))
            }
            _ => None,
        };
        applied.unwrap_or(a)
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Div => "/",
            Self::Rem => "%",
            Self::Eq => "=",
            Self::Lt => "<",
            Self::And => "and",
            Self::Or => "or",
            Self::With => "+",
            Self::Without | Self::Except => "\\",
            Self::Item => ".",
            Self::Range => "..",
            Self::In => "in",
        }
    }
}

/// A thread, and the last thread of each other node.
fn with_servers(world: &World, t: Tid) -> Val {
    let others = world.other_nodes(t);
    let servers = others.iter().filter_map(|n| world.last_thread(n));
    Val::tuple(&std::iter::once(t).chain(servers).map(Val::from).collect::<Vec<_>>())
}

/// Another value of the same kind, if there is one.
fn another(world: &World, v: Val) -> Option<Val> {
    match v {
        Val::Int(_) => v.plus(1),
        Val::Bool(b) => Some(Val::Bool(!b)),
        Val::Tuple(parts) => {
            let (first, rest) = parts.parts().split_first()?;
            Some(Val::tuple(&[&[another(world, *first)?], rest].concat()))
        }
        Val::Node(n) => world.all_nodes().without(n).iter().next().map(Val::from),
        Val::Loc(x) => {
            let of = world.objects.get(&x)?;
            let is_alike = |o: &Object| o.library == of.library && o.node == of.node;
            let alike: Vec<Loc> = world.objects.iter().filter(|(_, o)| is_alike(o)).map(|(&y, _)| y).collect();
            let at = alike.iter().position(|y| *y == x)?;
            Some(alike[(at + 1) % alike.len()].into())
        }
        _ => None,
    }
}

/// The calling thread.
#[must_use]
pub fn me() -> Expr {
    ExprTerm::Me.into()
}

/// The result of the call, in a shape.
#[must_use]
pub fn ret() -> Expr {
    ExprTerm::Ret.into()
}

/// The node of the calling thread.
#[must_use]
pub fn here() -> Expr {
    node(me())
}

/// All nodes.
#[must_use]
pub fn all_nodes() -> Expr {
    ExprTerm::AllNodes.into()
}

/// All threads.
#[must_use]
pub fn all_threads() -> Expr {
    ExprTerm::AllThreads.into()
}

/// The integers from the first to before the second.
#[must_use]
pub fn range(from: impl Into<Expr>, to: impl Into<Expr>) -> Expr {
    from.into().op(Op::Range, to)
}

macro_rules! methods_of_one {
    ($($(#[$doc:meta])* $name:ident = $Function:ident;)*) => {
        impl Expr {$(
            $(#[$doc])*
            #[must_use]
            pub fn $name(self) -> Self {
                Self::of(Function::$Function, self)
            }
        )*}
    };
}
methods_of_one! {
    /// The first part of a tuple.
    first = First;
    /// A tuple without its first part.
    rest = Rest;
    /// A tuple from last to first.
    reversed = Reversed;
    /// The length of a tuple. A value that is none has the length 1.
    len = Len;
    /// The smallest part of a tuple, or node of a set.
    min = Min;
    /// The largest part of a tuple, or node of a set.
    max = Max;
    /// This integer, or 0 for any other value.
    int = Int;
    /// The hash of a tuple: see [`Function::Hash`].
    hash = Hash;
    /// Another value of the same kind: see [`Function::Another`].
    another = Another;
    /// Whether this is a location: a word may hold one, and something else where it points to nothing.
    is_loc = IsLoc;
    /// The work identifier with the name of this location. One that has indices is made from a part:
    /// `x.part("lease", [k]).as_wid()`.
    as_wid = AsWid;
}

macro_rules! methods_of_two {
    ($($(#[$doc:meta])* $name:ident = $Op:ident;)*) => {
        impl Expr {$(
            $(#[$doc])*
            #[must_use]
            pub fn $name(self, other: impl Into<Self>) -> Self {
                self.op(Op::$Op, other)
            }
        )*}
    };
}
methods_of_two! {
    /// Whether the two are equal.
    is = Eq;
    /// Whether this is smaller: `<`.
    below = Lt;
    /// This set of nodes with one more node, or with those of another set.
    with = With;
    /// This set of nodes without a node or those of another set, or this tuple without the parts that are equal to a value.
    without = Without;
    /// This tuple without the parts of another one.
    except = Except;
    /// The part of a tuple at a position, from 0.
    item = Item;
    /// Whether this is a part of a tuple, or a node of a set.
    is_in = In;
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $Function:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(of: impl Into<Expr>) -> Expr {
            Expr::of(Function::$Function, of)
        }
    )*};
}
functions! {
    /// The node of a thread, or the node that an object lives on.
    node = Node;
    /// The node with a number.
    numbered = Numbered;
    /// The set of one node.
    only = Only;
    /// The nodes of a tuple of threads.
    nodes = Nodes;
    /// The threads that take part in an object, in order.
    members = Members;
    /// The capacity of an object.
    size = Size;
    /// The initial value of an object.
    initial = Initial;
    /// The number of a thread.
    number = Number;
    /// The thread with a number. A value that is the number of no thread counts as 1.
    thread = Thread;
    /// A thread, and behind it the last thread of each other node.
    servers = Servers;
}

macro_rules! operators {
    ($($Trait:ident $method:ident $op:ident;)*) => {$(
        impl<E: Into<Expr>> $Trait<E> for Expr {
            type Output = Self;

            fn $method(self, other: E) -> Self {
                self.op(Op::$op, other)
            }
        }
    )*};
}
operators! {
    Add add Add;
    Sub sub Sub;
    Div div Div;
    Rem rem Rem;
    BitAnd bitand And;
    BitOr bitor Or;
}

impl Not for Expr {
    type Output = Self;

    fn not(self) -> Self {
        Self::of(Function::Not, self)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Node => "node",
            Self::Numbered => "node_numbered",
            Self::Nodes => "nodes",
            Self::Members => "members",
            Self::Size => "size",
            Self::Initial => "initial",
            Self::Number => "number",
            Self::Thread => "thread",
            Self::First => "first",
            Self::Rest => "rest",
            Self::Reversed => "reversed",
            Self::Len => "len",
            Self::Min => "min",
            Self::Max => "max",
            Self::IsLoc => "is_location",
            Self::AsWid => "id",
            Self::Not => "not",
            Self::Int => "int",
            Self::Hash => "hash",
            Self::Packed(_) => "packed",
            Self::Unpacked(_) => "unpacked",
            Self::Servers => "servers",
            Self::Only => "only",
            Self::Another => "another",
        })
    }
}

/// An operand: in parentheses if it is an operation itself.
struct Operand(Expr);

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ExprTerm::Op(..) = self.0.0 { write!(f, "({})", self.0) } else { self.0.fmt(f) }
    }
}

fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(Expr::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ExprTerm::Val(v) => v.fmt(f),
            ExprTerm::Var(var) => f.write_str(var.name),
            ExprTerm::Arg(_, name) => f.write_str(name),
            ExprTerm::Me => f.write_str("me"),
            ExprTerm::Ret => f.write_str("ret"),
            ExprTerm::AllNodes => f.write_str("all_nodes"),
            ExprTerm::AllThreads => f.write_str("all_threads"),
            ExprTerm::Of(Function::Not, of) => match of.0 {
                ExprTerm::Op(Op::Eq, one, other) => write!(f, "{} != {}", Operand(*one), Operand(*other)),
                ExprTerm::Op(Op::Lt, one, other) => write!(f, "{} <= {}", Operand(*other), Operand(*one)),
                _ => write!(f, "not {}", Operand(*of)),
            },
            ExprTerm::Of(Function::Only, of) => write!(f, "{{{of}}}"),
            // As `here()` writes it.
            ExprTerm::Of(Function::Node, of) if matches!(of.0, ExprTerm::Me) => f.write_str("here"),
            ExprTerm::Of(function, of) => write!(f, "{function}({of})"),
            ExprTerm::Op(op @ (Op::With | Op::Without), one, other) if other.is_a_set() => {
                write!(f, "{} {} {}", Operand(*one), op.symbol(), Operand(*other))
            }
            ExprTerm::Op(op @ (Op::With | Op::Without), one, other) => write!(f, "{one} {} {{{other}}}", op.symbol()),
            ExprTerm::Op(op @ (Op::Item | Op::Range), one, other) => {
                write!(f, "{}{}{}", Operand(*one), op.symbol(), Operand(*other))
            }
            ExprTerm::Op(op, one, other) => write!(f, "{} {} {}", Operand(*one), op.symbol(), Operand(*other)),
            ExprTerm::Tuple(parts) => write!(f, "({})", list(parts)),
            ExprTerm::Part(of, role, indices) if indices.is_empty() => write!(f, "{of}.{role}"),
            ExprTerm::Part(of, role, indices) => write!(f, "{of}.{role}[{}]", list(indices)),
            ExprTerm::Wid(of, role) => write!(f, "{of}.{role}"),
            ExprTerm::Opaque(name, _, args) => write!(f, "{name}({})", list(args)),
        }
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(n: i64) -> Expr {
        n.into()
    }

    #[test]
    fn a_quotient_goes_with_its_remainder() {
        for n in [-201, -1, 0, 7, 302] {
            let [quotient, remainder] = [int(n) / 100, int(n) % 100].map(|e| e.value().int().unwrap());
            assert!(quotient * 100 + remainder == n && (0..100).contains(&remainder), "{n}");
        }
    }

    #[test]
    fn what_memory_holds_is_always_some_index() {
        let x = Expr::from(Loc::new("x"));
        let part = |index: Val| x.part("p", [index.into()]).loc();
        assert_eq!(
            [Val::Int(2), Val::Bot, Val::Loc(x.loc())].map(part),
            ["p_2", "p_0", "p_0"].map(|role| x.loc().part(role))
        );
        let thread = |n: Val| thread(n).value();
        assert_eq!([Val::Int(2), Val::Int(-1), Val::Unit].map(thread), [2, 1, 1].map(|n| Tid(n).into()));
    }

    #[test]
    fn an_identifier_has_the_name_of_its_location() {
        let x = Loc::new("x");
        assert_eq!(Expr::from(x).part("lease", [1.into()]).as_wid().value(), x.wid("lease_1").into());
        assert_eq!([x.into(), int(0)].map(|e: Expr| e.is_loc().value()), [true, false].map(Val::Bool));
    }

    #[test]
    fn sets_and_tuples_have_a_smallest_part_and_lose_others() {
        let all: NodeSet = [Machine(2), Machine(1)].into_iter().collect();
        assert_eq!(Expr::from(all).min().value(), Machine(1).into());
        let threads = [1, 2, 3].map(|n| Expr::from(Tid(n)));
        assert_eq!(Expr::tuple(threads).without(threads[1]), Expr::tuple(threads).without(Tid(2)));
        assert_eq!(Expr::tuple(threads).without(Tid(2)).value(), Val::tuple(&[Tid(1).into(), Tid(3).into()]));
        let some = range(0, 4).except(Expr::tuple([int(2), int(0), Val::Bot.into()]));
        assert_eq!(
            (some.value(), some.to_string().as_str()),
            (range(1, 4).without(2).value(), "(0..4) \\ (2, 0, bot)")
        );
        assert_eq!(range(0, 4).except(2).value(), range(0, 4).value());
    }

    #[test]
    fn a_number_that_no_thread_has_is_on_no_node() {
        let world = World::new(2, &[Machine(2)]);
        let eval = |e: Expr| e.eval(&Scope::new(&world, Tid(1), &[]));
        for n in [0, 2, 255] {
            assert_eq!(eval(node(thread(n))), Tid(n as u8).into());
            assert_eq!(eval(nodes(Expr::tuple([thread(n), me()]))), eval(nodes(all_threads())));
        }
    }

    #[test]
    fn a_word_of_several_parts_is_their_tuple() {
        let parts = Expr::tuple([int(1), int(2)]);
        assert_eq!(parts.packed(&[8, 55]).unpacked(&[8, 55]).value(), parts.value());
        assert_eq!(Expr::from(Val::Bot).unpacked(&[8, 55]).value(), Val::Bot);
    }

    #[test]
    fn the_last_thread_of_each_other_node_serves() {
        let world = World::new(4, &[1, 2, 1, 3, 2].map(Machine));
        let of = |t: u8| servers(Tid(t)).eval(&Scope::new(&world, Tid(1), &[]));
        let threads = |all: &[u8]| Val::tuple(&all.iter().map(|&t| Tid(t).into()).collect::<Vec<_>>());
        assert_eq!([of(1), of(2), of(6)], [threads(&[1, 5, 4]), threads(&[2, 3, 4]), Tid(6).into()]);
    }

    #[test]
    fn opaque_functions_are_equal_to_themselves_only() {
        let [one, two] = [1, 2].map(|k: i64| Opaque::new(move |args| args[0].plus(k).unwrap_or(args[0])));
        let of = |function| Expr::opaque("plus", function, [int(3)]);
        assert_eq!([one, two].map(|f| of(f).value()), [4, 5].map(Val::Int));
        assert!(of(one) == of(one) && of(one) != of(two));
        let nothing = || Opaque::new(|_| Val::Unit);
        assert_ne!(nothing(), nothing());
    }
}
