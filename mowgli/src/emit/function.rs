//! One function of C or Rust: its text so far, and the expressions in it.
//!
//! Expressions have one walk for both languages. The [`dictionary`] has the words for most terms, and a [`Syntax`] the rest. Statements
//! differ more, because a block is a value only in Rust. So each language has its own walk of statements, over this writer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::expr::{Expr, ExprTerm, Function, Op, Var};
use mowgli_core::ids::{Loc, Name};
use mowgli_core::term::body::{Body, CallTerm, Stmt};
use mowgli_core::term::parts::PartTerm;
use mowgli_core::value::Val;

use super::dictionary::{self, Wording};
use super::library::{Emitted, Owner, given_to};
use super::text::{called, free, is_nothing, wrapped};
use super::types::{Given, NoForm, Type, Types, unsupported};

/// The notation of a language, as far as the dictionary does not have it.
pub(super) trait Syntax: Sized {
    /// The destination of the value of a statement.
    type Target;
    /// The column of the dictionary with its words.
    const COLUMN: usize;
    /// The white space before a statement, for each block around it.
    const INDENT: &'static str;
    /// Names that no variable may have.
    const TAKEN: &'static [&'static str];
    /// True if a sum stands without parentheses on the left of `+`, and on both sides of `<`.
    const HAS_BARE_SUMS: bool;

    /// Returns a literal number.
    fn integer(i: i64) -> String;

    /// Returns a list of these numbers.
    fn tuple(parts: &[String]) -> String;

    /// Returns the thing that an expression refers to.
    fn place(text: &str) -> String {
        wrapped(text.to_owned())
    }

    /// Returns the text before a member of the thing that an expression refers to.
    fn access(text: &str) -> String;

    /// Returns a part, from the field for its role and its index.
    fn part(field: String, at: Option<String>, of: Type) -> String;

    /// Returns an index from the one before, the number of places for the next one, and the next one.
    fn index(at: String, size: String, next: String) -> String;

    /// Returns a value as one of another type, for a reader.
    fn lent(value: Typed, to: Type) -> Result<String, NoForm>;

    /// Returns a value as one of another type, for an owner.
    fn owned(value: Typed, to: Type) -> Result<String, NoForm>;

    /// Returns a call of a method.
    fn call(library: Name, method: &str, args: Vec<String>) -> String;

    /// Returns the statement that makes a part of this name.
    fn making(library: Name, name: &str, args: Vec<String>) -> String;

    /// Returns a form of an expression that only this language has.
    fn idiom(_: &mut FunctionWriter<'_, Self>, _: Expr, _: Type) -> Result<Option<String>, NoForm> {
        Ok(None)
    }

    /// Returns the name of the element in a loop over a set, the head of the loop, and the statement that a round begins with.
    fn head(
        this: &mut FunctionWriter<'_, Self>,
        element: (Var, bool),
        set: Expr,
    ) -> Result<(String, String, Option<String>), NoForm>;
}

/// An expression of a language.
pub(super) struct Typed {
    pub(super) text: String,
    pub(super) of: Type,
}

/// A loop around the statement that is written.
pub(super) struct Around<T> {
    /// The destination of the values with which it is left.
    pub(super) target: T,
    /// The number of loops of the language between it and the statement.
    pub(super) inner: usize,
    /// Its label, if a statement inside an inner loop leaves it.
    pub(super) label: Option<usize>,
}

/// The text of one function.
pub(super) struct FunctionWriter<'a, L: Syntax> {
    pub(super) library: &'a Owner,
    pub(super) types: Types<'a>,
    /// The names of the arguments.
    pub(super) args: Vec<String>,
    pub(super) names: BTreeMap<usize, String>,
    /// The tuples that variables without a name of their own are equal to.
    pub(super) same: BTreeMap<usize, Expr>,
    pub(super) used: BTreeSet<String>,
    pub(super) loops: Vec<Around<L::Target>>,
    labels: usize,
    pub(super) out: String,
    pub(super) depth: usize,
}

impl<'a, L: Syntax> FunctionWriter<'a, L> {
    pub(super) fn new(library: &'a Owner, types: Types<'a>, args: &[&str], depth: usize) -> Self {
        let mut used: BTreeSet<String> = L::TAKEN.iter().map(|name| (*name).to_owned()).collect();
        let args = args.iter().map(|name| free(&mut used, name)).collect();
        let (names, same, loops, out) = (BTreeMap::new(), BTreeMap::new(), Vec::new(), String::new());
        Self { library, types, args, names, same, used, loops, labels: 0, out, depth }
    }

    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", L::INDENT.repeat(self.depth));
    }

    pub(super) fn block(&mut self, inner: impl FnOnce(&mut Self) -> Result<(), NoForm>) -> Result<(), NoForm> {
        self.depth += 1;
        inner(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Returns the label of the innermost loop of the body.
    pub(super) fn label(&mut self) -> usize {
        let around = self.loops.last_mut().expect("the statement is in a loop");
        *around.label.get_or_insert_with(|| {
            self.labels += 1;
            self.labels
        })
    }

    /// Writes a loop over a set of nodes or a tuple. `is_used` tells whether a round uses the element.
    pub(super) fn each(
        &mut self,
        (var, is_used): (Var, bool),
        set: Expr,
        inner: &mut dyn FnMut(&mut Self) -> Result<(), NoForm>,
    ) -> Result<(), NoForm> {
        self.types.vars.insert(var.number, Type::Number);
        let (name, head, first) = L::head(self, (var, is_used), set)?;
        self.names.insert(var.number, name);
        self.line(&head);
        self.loops.iter_mut().rev().take(1).for_each(|around| around.inner += 1);
        self.block(|this| {
            first.iter().for_each(|first| this.line(first));
            inner(this)
        })?;
        self.loops.iter_mut().rev().take(1).for_each(|around| around.inner -= 1);
        self.line("}");
        Ok(())
    }

    /// Writes the making of the parts of an object, or of the library, and of their identifiers.
    pub(super) fn make_parts(
        &mut self,
        library: &Emitted<'_>,
        own: bool,
        stack: &[&Emitted<'_>],
    ) -> Result<(), NoForm> {
        for part in library.parts().filter(|part| part.is_of_library() == own) {
            self.make_each(part, &part.each, stack)?;
        }
        for role in library.identifiers(own) {
            let name = format!("{}{role}", L::access(if own { "own" } else { "x" }));
            self.line(&filled::<L>(dictionary::NEW_ID, [&name, ""]));
        }
        Ok(())
    }

    /// Writes the making of a part, for each element of the sets that its indices go through.
    fn make_each(&mut self, part: &PartTerm, each: &[(Var, Expr)], stack: &[&Emitted<'_>]) -> Result<(), NoForm> {
        if let Some(((var, set), rest)) = each.split_first() {
            return self.each((*var, true), *set, &mut |this| this.make_each(part, rest, stack));
        }
        let object = &part.object;
        let name = self.expr(part.name)?.text;
        let mut args = Vec::new();
        for given in given_to(part, stack) {
            args.push(match given {
                Given::Node => object.node.map_or_else(|| Ok("1".to_owned()), |node| self.number(node))?,
                Given::Initial => self.number(object.init)?,
                Given::Members => match object.members {
                    Some(members) => self.list(members)?,
                    None => dictionary::NO_NUMBERS[L::COLUMN].to_owned(),
                },
                Given::Size => self.number(object.size)?,
                Given::InitialTuple | Given::Words => self.list(object.init)?,
            });
        }
        self.line(&L::making(object.library, &name, args));
        Ok(())
    }

    /// Returns a call.
    pub(super) fn call(&mut self, call: &CallTerm) -> Result<Typed, NoForm> {
        let signature = self.types.signatures.get(&(call.library, call.method));
        let unknown = || NoForm(format!("{} has no form in C or Rust", called(call)));
        let signature = signature.ok_or_else(unknown)?.clone();
        let mut args = Vec::new();
        for (e, of) in call.args.iter().zip(&signature.takes).filter(|(_, of)| **of != Type::Way) {
            let arg = self.expr(*e)?;
            args.push(L::lent(arg, *of).map_err(|why| NoForm(format!("{}: {why}", called(call))))?);
        }
        Ok(Typed { text: L::call(call.library, call.method, args), of: signature.returns })
    }

    pub(super) fn number(&mut self, e: Expr) -> Result<String, NoForm> {
        converted::<L>(self.expr(e)?, Type::Number)
    }

    pub(super) fn numbers(&mut self, all: &[Expr]) -> Result<Vec<String>, NoForm> {
        all.iter().map(|e| self.number(*e)).collect()
    }

    /// Returns a list that its user owns.
    fn list(&mut self, e: Expr) -> Result<String, NoForm> {
        L::owned(self.expr(e)?, Type::List)
    }

    pub(super) fn condition(&mut self, e: Expr) -> Result<String, NoForm> {
        converted::<L>(self.expr(e)?, Type::Bool)
    }

    /// Returns an expression as an operand.
    pub(super) fn operand(&mut self, e: Expr, of: Type) -> Result<String, NoForm> {
        Ok(wrapped(converted::<L>(self.expr(e)?, of)?))
    }

    /// Returns a number as an operand of an operator that binds less than a sum.
    pub(super) fn term(&mut self, e: Expr) -> Result<String, NoForm> {
        match e.term() {
            ExprTerm::Op(Op::Add | Op::Sub, ..) if L::HAS_BARE_SUMS => self.number(e),
            _ => self.operand(e, Type::Number),
        }
    }

    /// Returns an expression in the language.
    pub(super) fn expr(&mut self, e: Expr) -> Result<Typed, NoForm> {
        if let ExprTerm::Var(var) = e.term()
            && let Some(tuple) = self.same.get(&var.number)
        {
            return self.expr(*tuple);
        }
        let of = self.types.of(e)?;
        if let Some(text) = L::idiom(self, e, of)? {
            return Ok(Typed { text, of });
        }
        let text = match e.term() {
            // Only operations have one, and it is left out.
            ExprTerm::Val(Val::Way(_)) => String::new(),
            ExprTerm::Val(v) => literal::<L>(*v).ok_or_else(|| unsupported(e))?,
            ExprTerm::Var(var) => self.names[&var.number].clone(),
            ExprTerm::Arg(position, _) => self.args[*position].clone(),
            ExprTerm::Me => dictionary::ME[L::COLUMN].to_owned(),
            ExprTerm::AllNodes => dictionary::ALL_NODES[L::COLUMN].to_owned(),
            ExprTerm::AllThreads => dictionary::ALL_THREADS[L::COLUMN].to_owned(),
            ExprTerm::Tuple(parts) => L::tuple(&self.numbers(parts)?),
            ExprTerm::Part(object, role, indices) => {
                let (field, at) = self.field(*object, role, indices)?;
                L::part(field, at, of)
            }
            ExprTerm::Wid(of, role) => format!("{}{role}", self.holder(*of)?),
            ExprTerm::Of(function, of) => self.function(*function, *of)?,
            ExprTerm::Op(op, one, other) => self.operation(*op, *one, *other)?,
            ExprTerm::Ret | ExprTerm::Opaque(..) => return Err(unsupported(e)),
        };
        Ok(Typed { text, of })
    }

    /// Returns the text before the parts and identifiers of an object, or of the library: `x->` or `own->` in C.
    fn holder(&mut self, of: Expr) -> Result<String, NoForm> {
        if *of.term() == ExprTerm::Val(Val::Loc(Loc(self.library.name))) {
            return Ok(L::access("own"));
        }
        let object = self.expr(of)?;
        match object.of {
            Type::Object(library) if library == self.library.name => Ok(L::access(&object.text)),
            _ => Err(NoForm(format!("{of} is no object of {}", self.library.name))),
        }
    }

    /// Returns the field for the parts with a role, and the index of one of them.
    pub(super) fn field(
        &mut self,
        of: Expr,
        role: &'static str,
        indices: &[Expr],
    ) -> Result<(String, Option<String>), NoForm> {
        let holder = self.holder(of)?;
        let extents = self.library.extents.get(role).cloned().unwrap_or_default();
        let mut at = None;
        for (position, index) in indices.iter().enumerate() {
            let index = self.number(*index)?;
            at = Some(match at {
                None => index,
                Some(at) => L::index(at, self.size(&extents[position], of)?, index),
            });
        }
        Ok((format!("{holder}{role}"), at))
    }

    /// Returns the numbers of places for the indices of the parts with a role, of an object `x` or of the library.
    pub(super) fn sizes(&mut self, role: &str, own: bool) -> Result<Vec<String>, NoForm> {
        let object = if own { Expr::from(Loc(self.library.name)) } else { ExprTerm::Arg(0, "x").into() };
        let library = self.library;
        library.extents[role].iter().map(|extent| self.size(extent, object)).collect()
    }

    /// Returns the number of places for an index that goes through these sets, for a part of this object.
    fn size(&mut self, extent: &[Expr], of: Expr) -> Result<String, NoForm> {
        let mut literal = 0;
        let mut others = Vec::new();
        for set in extent {
            match set.term() {
                ExprTerm::Op(Op::Range, _, to) => match to.term() {
                    ExprTerm::Val(Val::Int(to)) => literal = literal.max(*to),
                    _ => {
                        let here = to.replaced(&mut |term| matches!(term, ExprTerm::Arg(..)).then_some(of));
                        others.push(self.number(here)?);
                    }
                },
                _ if self.types.of(*set)? == Type::Nodes => others.push(dictionary::NODES_END[L::COLUMN].to_owned()),
                _ => others.push(dictionary::THREADS_END[L::COLUMN].to_owned()),
            }
        }
        if literal > 0 || others.is_empty() {
            others.push(literal.to_string());
        }
        let all = others.into_iter().unique();
        Ok(all.reduce(|a, b| filled::<L>(dictionary::LARGER, [&a, &b])).expect("one at least"))
    }

    fn function(&mut self, function: Function, of: Expr) -> Result<String, NoForm> {
        let one = self.expr(of)?;
        match (function, one.of) {
            (Function::Node, _) if *of.term() == ExprTerm::Me => Ok(dictionary::MY_NODE[L::COLUMN].to_owned()),
            (Function::Not, Type::Bool) => match of.term() {
                ExprTerm::Op(Op::Lt, one, other) => Ok(format!("{} >= {}", self.term(*one)?, self.term(*other)?)),
                _ => Ok(format!("!{}", wrapped(one.text))),
            },
            _ => {
                let words = dictionary::function(function, one.of, &self.types).ok_or_else(|| unsupported(of))?;
                let text = filled::<L>(words, [&one.text, ""]);
                Ok(match function {
                    Function::Packed(widths) | Function::Unpacked(widths) => {
                        text.replace("$n", &widths.len().to_string()).replace("$widths", &widths.iter().join(", "))
                    }
                    _ => text,
                })
            }
        }
    }

    fn operation(&mut self, op: Op, one: Expr, other: Expr) -> Result<String, NoForm> {
        match op {
            Op::Add => return Ok(format!("{} + {}", self.term(one)?, self.operand(other, Type::Number)?)),
            Op::Sub => return Ok(format!("{} - {}", self.term(one)?, self.operand(other, Type::Number)?)),
            Op::Lt => return Ok(format!("{} < {}", self.term(one)?, self.term(other)?)),
            Op::And | Op::Or => {
                let symbol = if op == Op::And { "&&" } else { "||" };
                return Ok(format!("{} {symbol} {}", self.operand(one, Type::Bool)?, self.operand(other, Type::Bool)?));
            }
            _ => {}
        }
        let (a, b) = (self.expr(one)?, self.expr(other)?);
        let (a, words, b) = match (op, a.of, b.of) {
            (Op::Eq, Type::Number | Type::Bottom, Type::Number | Type::Bottom) => {
                return Ok(format!("{} == {}", self.term(one)?, self.term(other)?));
            }
            (Op::Eq, Type::List, _) | (Op::Eq, _, Type::List) => {
                (L::lent(a, Type::List)?, Some(dictionary::SAME_LISTS), L::lent(b, Type::List)?)
            }
            (Op::Except, Type::List, Type::List) => {
                (a.text, dictionary::operation(op, Type::List, Type::List), L::lent(b, Type::List)?)
            }
            (Op::With | Op::Without, Type::Nodes, Type::Number) => {
                let only = filled::<L>(dictionary::ONLY, [&b.text, ""]);
                (a.text, dictionary::operation(op, Type::Nodes, Type::Nodes), only)
            }
            _ => (a.text, dictionary::operation(op, a.of, b.of), b.text),
        };
        let words = words.ok_or_else(|| NoForm(format!("{one} and {other} have no common form in C or Rust")))?;
        Ok(filled::<L>(words, [&a, &b]))
    }
}

/// Returns the words of a language with these operands: see [`Wording`].
fn filled<L: Syntax>(words: Wording, operands: [&str; 2]) -> String {
    let mut text = words[L::COLUMN].to_owned();
    for (name, operand) in ["a", "b"].into_iter().zip(operands) {
        text = text
            .replace(&format!("${name}."), &L::access(operand))
            .replace(&format!("$({name})"), &wrapped(operand.to_owned()))
            .replace(&format!("$&{name}"), &format!("&{}", L::place(operand)))
            .replace(&format!("${name}"), operand);
    }
    text
}

/// Returns a value as one of another type.
pub(super) fn converted<L: Syntax>(value: Typed, to: Type) -> Result<String, NoForm> {
    Ok(match (value.of, to) {
        (of, to) if of == to => value.text,
        (Type::Never, _) => value.text,
        (Type::Bottom, Type::Number) => dictionary::BOTTOM[L::COLUMN].to_owned(),
        (Type::Bottom, Type::List) => dictionary::BOTTOM_LIST[L::COLUMN].to_owned(),
        (Type::Number, Type::List) => filled::<L>(dictionary::ONE_NUMBER, [&value.text, ""]),
        (Type::List, Type::Number) => {
            return Err(NoForm(format!("{} is a tuple, and a word of memory holds a number", value.text)));
        }
        (of, to) => return Err(NoForm(format!("{} is {of:?} and should be {to:?}", value.text))),
    })
}

/// Returns the condition, the body for true, and that for false, of an `if` of the language. `None` if it would do nothing.
pub(super) fn sides<'b>(
    (condition, yes, no): (Expr, &'b Body, &'b Body),
    is_ignored: bool,
) -> Option<(Expr, &'b Body, Option<&'b Body>)> {
    match (is_nothing(yes) && is_ignored, is_nothing(no) && is_ignored) {
        (true, true) => None,
        (true, false) => Some((!condition, no, None)),
        (false, true) => Some((condition, yes, None)),
        (false, false) => Some((condition, yes, Some(no))),
    }
}

fn literal<L: Syntax>(v: Val) -> Option<String> {
    Some(match v {
        Val::Int(i64::MIN) => return None,
        Val::Int(i) => L::integer(i),
        Val::Bool(b) => b.to_string(),
        Val::Bot => dictionary::BOTTOM[L::COLUMN].to_owned(),
        Val::Node(n) => n.0.to_string(),
        Val::Thread(t) => t.0.to_string(),
        Val::NoWid => "0".to_owned(),
        Val::Unit => dictionary::UNIT[L::COLUMN].to_owned(),
        Val::Nodes(all) if all.is_empty() => dictionary::NO_NODES[L::COLUMN].to_owned(),
        Val::Nodes(all) => all.iter().map(|n| filled::<L>(dictionary::ONLY, [&n.to_string(), ""])).join(" | "),
        Val::Tuple(all) => L::tuple(&all.parts().iter().map(|v| literal::<L>(*v)).collect::<Option<Vec<_>>>()?),
        Val::Top | Val::Loc(_) | Val::Wid(_) | Val::Way(_) => return None,
    })
}

/// True if nothing can follow a body, because it never ends or leaves the loop around it.
pub(super) fn diverges(body: &Body) -> bool {
    match body.stmt() {
        Stmt::Value(_) | Stmt::Call(_) | Stmt::For(..) | Stmt::Collect(..) => false,
        Stmt::Let(_, first, rest) => diverges(first) || diverges(rest),
        Stmt::If(_, yes, no) => diverges(yes) && diverges(no),
        Stmt::Loop(round) => !breaks(round),
        Stmt::Break(_) => true,
    }
}

/// True if a round leaves its loop somewhere.
fn breaks(round: &Body) -> bool {
    match round.stmt() {
        Stmt::Value(_) | Stmt::Call(_) | Stmt::Loop(_) => false,
        Stmt::Let(_, one, other) | Stmt::If(_, one, other) => breaks(one) || breaks(other),
        Stmt::Break(_) => true,
        Stmt::For(_, _, round) | Stmt::Collect(_, _, round) => breaks(round),
    }
}
