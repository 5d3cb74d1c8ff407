//! The types of expressions and bodies in C and Rust.
//!
//! **Computes** a type for each variable, argument and result of a body. Expressions have no types: a value may be a number in one
//! execution and bottom in another. C and Rust need one representation for each.
//!
//! **Invariant.** Types only join upwards: bottom and a number give a number, a number and a list give a list.
//!
//! **Example.** `if len(words) = 1 { first(words) } else { words }` is a list, and its first branch a list of one number.
//!
//! **Correct because** each value of the smaller type has one representation in the larger one: see [`Type::join`].
//!
//! **Cost**: one pass over a body.

use std::collections::BTreeMap;
use std::fmt;

use mowgli_core::expr::{Expr, ExprTerm, Function, Op, Var};
use mowgli_core::ids::Name;
use mowgli_core::term::body::{Body, Stmt};
use mowgli_core::term::call::CallTerm;
use mowgli_core::term::dataflow::DataFlow;
use mowgli_core::value::Val;
use mowgli_rdma::Way;
use mowgli_rdma::wait::WAIT;

/// A reason why something has no form in C or Rust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NoForm(pub(super) String);

impl fmt::Display for NoForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The type of a value in C or Rust, here with its name in C.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Type {
    /// There is no value, because the code never gets there.
    #[default]
    Never,
    /// `void`.
    Unit,
    /// `bool`.
    Bool,
    /// Bottom, as `MW_BOT` or `mw_bot()`.
    Bottom,
    /// An integer, a node or a thread, as `int64_t`.
    Number,
    /// A set of nodes, as a bit mask.
    Nodes,
    /// A tuple, as `struct mw_list`.
    List,
    /// Words of memory in a row: consecutive parts with one role.
    Row,
    /// The usual way of an operation, which is written nowhere.
    Way,
    /// A work identifier.
    Id,
    /// An object of a library, as a pointer to its structure.
    Object(Name),
}

impl Type {
    /// Returns the type that represents the values of both, if there is one.
    pub(super) fn join(self, other: Self) -> Option<Self> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Self::Never, other) | (other, Self::Never) => Some(other),
            (Self::Bottom, other @ (Self::Number | Self::List))
            | (other @ (Self::Number | Self::List), Self::Bottom) => Some(other),
            (Self::Number, Self::List) | (Self::List, Self::Number) => Some(Self::List),
            _ => None,
        }
    }
}

/// Part of what an object is declared with, in the order of the arguments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Given {
    Node,
    Initial,
    /// An initial value that is a tuple.
    InitialTuple,
    Members,
    Size,
    /// The initial values of its words, which say their number too.
    Words,
}

impl Given {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Initial | Self::InitialTuple | Self::Words => "initial",
            Self::Members => "members",
            Self::Size => "size",
        }
    }

    /// True for a list, and false for a number.
    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::Members | Self::InitialTuple | Self::Words)
    }
}

/// A method: the types of its arguments, and of its result.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) takes: Vec<Type>,
    pub(super) returns: Type,
}

/// The signatures of all methods that bodies may call, by library and method.
pub(super) type Signatures = BTreeMap<(Name, &'static str), Signature>;

/// The types of the arguments and variables of a body.
pub(super) struct Types<'a> {
    pub(super) args: &'a [Type],
    pub(super) vars: BTreeMap<usize, Type>,
    pub(super) signatures: &'a Signatures,
    /// The library to whose structures fields belong: the type of each part, by its role.
    pub(super) parts: &'a BTreeMap<&'static str, Name>,
    /// The parts of the declaration of an object.
    pub(super) given: Vec<Given>,
    /// The first part of the body that has no type.
    pub(super) failed: Option<NoForm>,
}

impl Types<'_> {
    /// True if an object is declared with the initial values of its words, whose number is its size.
    pub(super) fn has_words(&self) -> bool {
        self.given.contains(&Given::Words)
    }

    /// True if the initial value of an object is a list.
    pub(super) fn starts_with_list(&self) -> bool {
        self.has_words() || self.given.contains(&Given::InitialTuple)
    }

    /// Returns the type of a body, and records those of its variables.
    pub(super) fn body(&mut self, body: &Body) -> Result<Type, NoForm> {
        let of = self.of_body(body);
        self.failed.take().map_or(Ok(of), Err)
    }

    /// Returns the type of a term. For an error, records the first reason and returns the least type, because the data-flow analysis
    /// needs a value of each term.
    fn known(&mut self, of: Result<Type, NoForm>) -> Type {
        of.unwrap_or_else(|why| {
            self.failed.get_or_insert(why);
            Type::Never
        })
    }

    /// Returns the type of an expression.
    pub(super) fn of(&self, e: Expr) -> Result<Type, NoForm> {
        Ok(match e.term() {
            ExprTerm::Val(v) => match v {
                Val::Unit => Type::Unit,
                Val::Int(_) | Val::Node(_) | Val::Thread(_) => Type::Number,
                Val::Bool(_) => Type::Bool,
                Val::Bot => Type::Bottom,
                Val::Nodes(_) => Type::Nodes,
                Val::NoWid => Type::Id,
                Val::Tuple(_) => Type::List,
                Val::Way(_) if Way::of(*v) == Ok(Way::USUAL) => Type::Way,
                Val::Way(_) => {
                    return Err(NoForm("an operation by another queue pair has no form in C or Rust".to_owned()));
                }
                Val::Top | Val::Loc(_) | Val::Wid(_) => return Err(unsupported(e)),
            },
            ExprTerm::Var(var) => self.vars.get(&var.number).copied().unwrap_or(Type::Number),
            ExprTerm::Arg(position, _) => self.args[*position],
            ExprTerm::Me => Type::Number,
            ExprTerm::AllNodes => Type::Nodes,
            ExprTerm::AllThreads | ExprTerm::Tuple(_) => Type::List,
            ExprTerm::Part(_, role, _) => Type::Object(*self.parts.get(role).ok_or_else(|| unsupported(e))?),
            ExprTerm::Wid(..) => Type::Id,
            ExprTerm::Ret | ExprTerm::Opaque(..) => return Err(unsupported(e)),
            ExprTerm::Of(function, _) => match function {
                Function::Nodes | Function::Only => Type::Nodes,
                Function::Members | Function::Rest | Function::Reversed | Function::Unpacked(_) | Function::Servers => {
                    Type::List
                }
                Function::Initial if self.starts_with_list() => Type::List,
                Function::Not => Type::Bool,
                Function::Node
                | Function::Numbered
                | Function::Size
                | Function::Initial
                | Function::Number
                | Function::Thread
                | Function::First
                | Function::Len
                | Function::Min
                | Function::Max
                | Function::Hash
                | Function::Packed(_)
                | Function::Int => Type::Number,
                Function::IsLoc | Function::AsWid | Function::Another => return Err(unsupported(e)),
            },
            ExprTerm::Op(op, one, _) => match op {
                Op::Add | Op::Sub | Op::Div | Op::Rem | Op::Item => Type::Number,
                Op::Eq | Op::Lt | Op::And | Op::Or | Op::In => Type::Bool,
                Op::With | Op::Without => self.of(*one)?,
                Op::Except | Op::Range => Type::List,
            },
        })
    }
}

impl DataFlow for Types<'_> {
    type Value = Type;

    /// Without a common type nobody uses the value.
    fn join(&self, one: Type, other: Type) -> Type {
        one.join(other).unwrap_or(Type::Unit)
    }

    fn expr(&mut self, e: Expr) -> Type {
        let of = self.of(e);
        self.known(of)
    }

    fn condition(&mut self, _: Expr) {}

    fn call(&mut self, call: &CallTerm) -> Type {
        let signature = self.signatures.get(&(call.library, call.method)).cloned();
        let unknown = || NoForm(format!("{}::{} has no form in C or Rust", call.library, call.method));
        // Nothing is written for the usual way. So another one must not get here.
        for (arg, of) in call.args.iter().zip(signature.iter().flat_map(|s| &s.takes)) {
            if *of == Type::Way {
                self.expr(*arg);
            }
        }
        self.known(signature.map(|s| s.returns).ok_or_else(unknown))
    }

    fn elements(&mut self, _: Expr, _: bool) -> Type {
        Type::Number
    }

    fn each(&mut self, round: Type, collects: bool) -> Type {
        match round {
            _ if !collects => Type::Unit,
            Type::Number | Type::Bottom | Type::Never => Type::List,
            Type::Unit => Type::Unit,
            Type::Object(library) if library == WAIT => Type::Row,
            _ => {
                let why = "a tuple of other values than numbers has no form in C or Rust";
                self.known(Err(NoForm(why.to_owned())))
            }
        }
    }

    fn bind(&mut self, var: Var, value: Type) {
        self.vars.insert(var.number, value);
    }
}

pub(super) fn unsupported(e: Expr) -> NoForm {
    NoForm(format!("{e} has no form in C or Rust"))
}

/// A row of words: the parts of one object with one role, whose last index goes from one integer to before another.
pub(super) struct Row<'a> {
    pub(super) of: Expr,
    pub(super) role: &'static str,
    /// The other indices.
    pub(super) indices: &'a [Expr],
    pub(super) from: Expr,
    pub(super) to: Expr,
}

impl<'a> Row<'a> {
    /// Returns the row that a round names for the elements of a set, one word each.
    pub(super) fn of(var: Var, set: Expr, round: &'a Body) -> Result<Self, NoForm> {
        let parts = match (set.term(), round.stmt()) {
            (ExprTerm::Op(Op::Range, from, to), Stmt::Value(e)) => match e.term() {
                ExprTerm::Part(of, role, indices) => Some((*of, *role, indices, *from, *to)),
                _ => None,
            },
            _ => None,
        };
        let row = parts.and_then(|(of, role, indices, from, to)| {
            let (last, indices) = indices.split_last()?;
            let is_row = *last.term() == ExprTerm::Var(var) && !indices.iter().chain([&of]).any(|e| uses(*e, var));
            is_row.then_some(Self { of, role, indices, from, to })
        });
        row.ok_or_else(|| NoForm(format!("the words for each {} in {set} are not in a row", var.name)))
    }
}

fn uses(e: Expr, var: Var) -> bool {
    let mut is_used = false;
    e.each(&mut |e| is_used |= *e.term() == ExprTerm::Var(var));
    is_used
}

/// Returns the arguments of a method that are tuples, by position: it takes parts of them, or passes them on as tuples.
pub(super) fn lists(body: &Body, signatures: &Signatures) -> Vec<usize> {
    let mut found = Vec::new();
    let mut of = |e: Expr| {
        if let ExprTerm::Arg(position, _) = e.term() {
            found.push(*position);
        }
    };
    body.expressions(&mut |e| {
        e.each(&mut |e| match e.term() {
            ExprTerm::Op(Op::Item, tuple, _)
            | ExprTerm::Of(Function::Len | Function::First | Function::Rest | Function::Reversed, tuple) => of(*tuple),
            _ => {}
        });
    });
    for call in body.calls() {
        let takes = signatures.get(&(call.library, call.method)).map_or(&[][..], |signature| &signature.takes);
        let tuples = call.args.iter().zip(takes).filter(|(_, of)| **of == Type::List);
        tuples.for_each(|(e, _)| of(*e));
    }
    found
}

/// Returns the Rust function of a method: `try_read` for `TryRead`, and `bar` for `BAR`.
#[must_use]
pub fn rust_function_name(name: &str) -> String {
    if name.chars().all(char::is_uppercase) {
        return name.to_lowercase();
    }
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}
