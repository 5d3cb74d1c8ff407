//! One Rust function: the statements of a body in their order, or the making of an object's parts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::body::{Body, CallTerm, Stmt};
use mowgli_core::expr::{Expr, ExprTerm, Function as Of, Op, Var};
use mowgli_core::value::Val;
use mowgli_rdma::wait::WAIT;

use super::names::callee;
use crate::emit::library::{Owner, has_word};
use crate::emit::text::{called, free, is_name, is_nothing, wrapped};
use crate::emit::types::{NoForm, Row, Type, Types, unsupported};

/// The destination of the value of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Nobody uses it.
    Nowhere,
    /// It is the result of the function.
    Returned(Type),
    /// It is the value of the block that ends with the statement.
    Block(Type),
}

/// A loop around the statement that is written.
struct Enclosing {
    /// The destination of the values with which it is left.
    target: Use,
    /// The place of its text, for the label that it gets if a statement inside an inner loop leaves it.
    at: usize,
    /// The number of Rust loops between it and the statement.
    inner: usize,
    label: Option<usize>,
}

/// An expression in Rust.
pub(super) struct RustExpr {
    pub(super) text: String,
    pub(super) of: Type,
}

/// The text of one function.
pub(super) struct RustFunction<'a> {
    library: &'a Owner,
    types: Types<'a>,
    /// The names of the arguments.
    args: Vec<String>,
    names: BTreeMap<usize, String>,
    /// The tuples that variables without a name of their own are equal to.
    same: BTreeMap<usize, Expr>,
    used: BTreeSet<String>,
    loops: Vec<Enclosing>,
    labels: usize,
    out: String,
    depth: usize,
}

/// Names that no variable may have.
const TAKEN: [&str; 41] = [
    "me", "world", "own", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "pub", "ref", "return", "self", "static", "struct", "super", "try", "type", "use",
];

impl<'a> RustFunction<'a> {
    pub(super) fn new(library: &'a Owner, types: Types<'a>, args: &[&str], depth: usize) -> Self {
        let mut used: BTreeSet<String> = TAKEN.iter().map(|name| (*name).to_owned()).collect();
        let args = args.iter().map(|name| free(&mut used, name)).collect();
        let (names, same, loops, out) = (BTreeMap::new(), BTreeMap::new(), Vec::new(), String::new());
        Self { library, types, args, names, same, used, loops, labels: 0, out, depth }
    }

    /// Returns the names of the arguments.
    pub(super) fn args(&self) -> &[String] {
        &self.args
    }

    /// Returns the statements of a body whose value the function returns.
    pub(super) fn returning(mut self, body: &Body, of: Type) -> Result<String, NoForm> {
        if of == Type::Unit {
            self.statement(body, Use::Nowhere)?;
            if !diverges(body) {
                self.line("Ok(())");
            }
        } else {
            self.statement(body, Use::Returned(of))?;
        }
        let word = &self.library.word;
        let own =
            if has_word(&self.out, "own") { format!("        let own = &me.own.{word};\n") } else { String::new() };
        let world = if has_word(&self.out, "world") { "        let world = me.world;\n" } else { "" };
        Ok(format!("{world}{own}{}", self.out))
    }

    /// Returns the statements so far, for a function that has what they use.
    pub(super) fn text(&self) -> &str {
        &self.out
    }

    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "    ".repeat(self.depth));
    }

    fn statement(&mut self, body: &Body, target: Use) -> Result<(), NoForm> {
        match body.stmt() {
            Stmt::Value(e) => self.value(*e, target),
            Stmt::Call(call) => {
                let value = self.call(call)?;
                self.keep(value, target)
            }
            // Nothing follows a value that never comes.
            Stmt::Let(_, first, _) if diverges(first) => self.statement(first, Use::Nowhere),
            Stmt::Let(var, first, rest) => {
                if is_result(*var, rest) && is_simple(first) {
                    return self.statement(first, target);
                }
                self.first(*var, first, rest)?;
                self.statement(rest, target)
            }
            Stmt::If(condition, yes, no) => self.branch(*condition, yes, no, target),
            Stmt::Loop(round) if is_nothing(round) => {
                self.line(&format!("return Err(me.port.never(\"{}\"));", self.library.name));
                Ok(())
            }
            Stmt::Loop(round) => self.repeat(round, target),
            Stmt::Break(e) => self.leave(*e),
            Stmt::For(var, set, round) => match written(*var, *set, round) {
                Some((row, values)) => self.write(&row, values),
                None => self.each((*var, round.uses(*var)), *set, &mut |this| this.statement(round, Use::Nowhere)),
            },
            Stmt::Collect(var, set, round) if target == Use::Nowhere => {
                self.each((*var, round.uses(*var)), *set, &mut |this| this.statement(round, Use::Nowhere))
            }
            Stmt::Collect(var, set, round) => {
                let name = free(&mut self.used, "found");
                self.gather(&name, *var, *set, round)?;
                self.keep(RustExpr { text: format!("&{name}"), of: Type::List }, target)
            }
        }
    }

    /// Writes `let var = first`, before `rest`.
    fn first(&mut self, var: Option<Var>, first: &Body, rest: &Body) -> Result<(), NoForm> {
        let of = |var: &Var| self.types.vars[&var.number];
        let Some(var) = var.filter(|var| rest.uses(*var) && of(var) != Type::Unit) else {
            return self.statement(first, Use::Nowhere);
        };
        let of = of(&var);
        if let Some(whole) = whole_of(first) {
            self.same.insert(var.number, whole);
            return Ok(());
        }
        let name = free(&mut self.used, var.name);
        self.names.insert(var.number, name.clone());
        if let Stmt::Collect(var, set, round) = first.stmt() {
            return match of {
                Type::Row => self.row(&name, &Row::of(*var, *set, round)?),
                _ => self.gather(&name, *var, *set, round),
            };
        }
        let begins = self.out.len();
        match first.stmt() {
            Stmt::Let(..) => {
                self.line("{");
                self.block(|this| this.statement(first, Use::Block(of)))?;
                self.line("}");
            }
            _ => self.statement(first, Use::Block(of))?,
        }
        // The statement becomes the value of the variable.
        self.out.insert_str(begins + 4 * self.depth, &format!("let {name} = "));
        self.out.truncate(self.out.trim_end().len());
        self.out.push_str(";\n");
        Ok(())
    }

    fn value(&mut self, e: Expr, target: Use) -> Result<(), NoForm> {
        if target == Use::Nowhere {
            return Ok(());
        }
        let value = self.expr(e)?;
        self.keep(value, target)
    }

    /// Writes the use of a value.
    fn keep(&mut self, value: RustExpr, target: Use) -> Result<(), NoForm> {
        let text = match target {
            Use::Nowhere => format!("{};", value.text),
            Use::Returned(of) => match value.text.strip_suffix('?') {
                Some(call) if value.of == of => call.to_owned(),
                _ => format!("Ok({})", moved(value, of)?),
            },
            Use::Block(of) => owned(value, of)?,
        };
        self.line(&text);
        Ok(())
    }

    fn branch(&mut self, condition: Expr, yes: &Body, no: &Body, target: Use) -> Result<(), NoForm> {
        let ignored = target == Use::Nowhere;
        let (condition, yes, no) = match (is_nothing(yes) && ignored, is_nothing(no) && ignored) {
            (true, true) => return Ok(()),
            (true, false) => (!condition, no, None),
            (false, true) => (condition, yes, None),
            (false, false) => (condition, yes, Some(no)),
        };
        let condition = converted(self.expr(condition)?, Type::Bool)?;
        self.line(&format!("if {condition} {{"));
        self.block(|this| this.statement(yes, target))?;
        let begins = self.out.len();
        match no {
            // `else if`.
            Some(no) if matches!(no.stmt(), Stmt::If(..)) => {
                self.statement(no, target)?;
                if self.out.len() > begins {
                    self.out.insert_str(begins + 4 * self.depth, "} else ");
                    return Ok(());
                }
            }
            Some(no) => {
                self.line("} else {");
                self.block(|this| this.statement(no, target))?;
            }
            None => {}
        }
        self.line("}");
        Ok(())
    }

    fn block(&mut self, inner: impl FnOnce(&mut Self) -> Result<(), NoForm>) -> Result<(), NoForm> {
        self.depth += 1;
        inner(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn repeat(&mut self, round: &Body, target: Use) -> Result<(), NoForm> {
        let at = self.out.len() + 4 * self.depth;
        self.line("loop {");
        self.loops.push(Enclosing { target, at, inner: 0, label: None });
        self.block(|this| {
            this.statement(round, Use::Nowhere)?;
            if !diverges(round) {
                this.line("me.port.again()?;");
            }
            Ok(())
        })?;
        let around = self.loops.pop().expect("it was pushed");
        self.line("}");
        if let Some(label) = around.label {
            self.out.insert_str(around.at, &format!("'found_{label}: "));
        }
        Ok(())
    }

    /// Leaves the innermost loop of the body. A `break` of Rust would leave a `for` over a set inside it.
    fn leave(&mut self, e: Expr) -> Result<(), NoForm> {
        let Some(around) = self.loops.last() else {
            return Err(NoForm("a break outside of loops has no form in C or Rust".to_owned()));
        };
        let (target, inner) = (around.target, around.inner);
        let value = match target {
            Use::Nowhere => String::new(),
            Use::Returned(of) => {
                let value = owned(self.expr(e)?, of)?;
                self.line(&format!("return Ok({value});"));
                return Ok(());
            }
            Use::Block(of) => format!(" {}", owned(self.expr(e)?, of)?),
        };
        let label = if inner == 0 { String::new() } else { format!(" 'found_{}", self.label()) };
        self.line(&format!("break{label}{value};"));
        Ok(())
    }

    /// Returns the label of the innermost loop of the body.
    fn label(&mut self) -> usize {
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
        let all = if let ExprTerm::Op(Op::Range, from, to) = set.term() {
            format!("{}..{}", self.term(*from)?, self.term(*to)?)
        } else {
            let all = self.expr(set)?;
            match all.of {
                Type::Nodes => format!("each({})", all.text),
                Type::List => format!("{}.each()", place(&all.text)),
                _ => return Err(NoForm(format!("a loop over {set} has no form in C or Rust"))),
            }
        };
        let name = if is_used { free(&mut self.used, var.name) } else { "_".to_owned() };
        self.names.insert(var.number, name.clone());
        self.line(&format!("for {name} in {all} {{"));
        self.loops.iter_mut().rev().take(1).for_each(|around| around.inner += 1);
        self.block(inner)?;
        self.loops.iter_mut().rev().take(1).for_each(|around| around.inner -= 1);
        self.line("}");
        Ok(())
    }

    /// Declares a list with the values of a round for each element of a set.
    fn gather(&mut self, name: &str, var: Var, set: Expr, round: &Body) -> Result<(), NoForm> {
        if let Some(words) = read(round)
            && let Ok(row) = Row::of(var, set, &words)
        {
            let from = free(&mut self.used, "from");
            self.row(&from, &row)?;
            self.line(&format!("let mut {name} = List::none();"));
            self.line(&format!("me.port.read_words({from}, &mut {name})?;"));
            return Ok(());
        }
        self.line(&format!("let mut {name} = List::none();"));
        self.each((var, round.uses(var)), set, &mut |this| {
            let begins = this.out.len();
            let indent = 4 * this.depth;
            if is_simple(round) {
                this.statement(round, Use::Block(Type::Number))?;
            } else {
                this.line("{");
                this.block(|this| this.statement(round, Use::Block(Type::Number)))?;
                this.line("}");
            }
            this.out.insert_str(begins + indent, &format!("{name}.push("));
            this.out.truncate(this.out.trim_end().len());
            this.out.push_str(");\n");
            Ok(())
        })
    }

    /// Declares words in a row, as a slice of the array that has them.
    fn row(&mut self, name: &str, row: &Row<'_>) -> Result<(), NoForm> {
        let mut at = |last: Expr| {
            let (array, at) = self.place(row.of, row.role, &[row.indices, &[last]].concat())?;
            Ok((array, index(at)))
        };
        let ((array, from), (_, to)) = (at(row.from)?, at(row.to)?);
        self.line(&format!("let {name} = &{array}[{from}..{to}];"));
        Ok(())
    }

    /// Writes the values of a tuple into words in a row.
    fn write(&mut self, row: &Row<'_>, values: Expr) -> Result<(), NoForm> {
        let to = free(&mut self.used, "to");
        self.row(&to, row)?;
        let values = self.expr(values)?;
        self.line(&format!("me.port.write_words({to}, {}.values())?;", place(&values.text)));
        Ok(())
    }

    /// Returns a call in Rust.
    fn call(&mut self, call: &CallTerm) -> Result<RustExpr, NoForm> {
        let signature = self.types.signatures.get(&(call.library, call.method));
        let unknown = || NoForm(format!("{} has no form in C or Rust", called(call)));
        let signature = signature.ok_or_else(unknown)?.clone();
        let mut args = Vec::new();
        if call.library != WAIT {
            args.push("me".to_owned());
        }
        for (e, of) in call.args.iter().zip(&signature.takes).filter(|(_, of)| **of != Type::Way) {
            let arg = self.expr(*e)?;
            args.push(lent(arg, *of).map_err(|why| NoForm(format!("{}: {why}", called(call))))?);
        }
        let text = format!("{}({})?", callee(call.library, call.method), args.join(", "));
        Ok(RustExpr { text, of: signature.returns })
    }

    pub(super) fn number(&mut self, e: Expr) -> Result<String, NoForm> {
        let value = self.expr(e)?;
        converted(value, Type::Number)
    }

    /// Returns a list that its user owns.
    pub(super) fn list(&mut self, e: Expr) -> Result<String, NoForm> {
        owned(self.expr(e)?, Type::List)
    }

    /// Returns an expression as an operand.
    fn operand(&mut self, e: Expr, of: Type) -> Result<String, NoForm> {
        let value = self.expr(e)?;
        Ok(wrapped(converted(value, of)?))
    }

    /// Returns a number as an operand of what binds less than a sum.
    fn term(&mut self, e: Expr) -> Result<String, NoForm> {
        match e.term() {
            ExprTerm::Op(Op::Add | Op::Sub, ..) => self.number(e),
            _ => self.operand(e, Type::Number),
        }
    }

    /// Returns an expression in Rust.
    pub(super) fn expr(&mut self, e: Expr) -> Result<RustExpr, NoForm> {
        let of = self.types.expr(e)?;
        let text = match e.term() {
            // Only operations have one, and it is left out.
            ExprTerm::Val(Val::Way(_)) => String::new(),
            ExprTerm::Val(v) => literal(*v).ok_or_else(|| unsupported(e))?,
            ExprTerm::Var(var) if self.same.contains_key(&var.number) => return self.expr(self.same[&var.number]),
            ExprTerm::Var(var) if of == Type::List => format!("&{}", self.names[&var.number]),
            ExprTerm::Var(var) => self.names[&var.number].clone(),
            ExprTerm::Arg(position, _) => self.args[*position].clone(),
            ExprTerm::Me => "me.thread".to_owned(),
            ExprTerm::AllNodes => "world.all_nodes()".to_owned(),
            ExprTerm::AllThreads => "world.all_threads()".to_owned(),
            ExprTerm::Tuple(parts) => format!("List::of(&{})", self.array(parts)?),
            ExprTerm::Part(part_of, role, indices) => {
                let part = self.part(*part_of, role, indices)?;
                if of == Type::Object(WAIT) { part } else { format!("&{part}") }
            }
            ExprTerm::Wid(of, role) => format!("{}.{role}", self.holder(*of)?),
            ExprTerm::Of(function, of) => self.function(*function, *of)?,
            ExprTerm::Op(op, one, other) => self.operation(*op, *one, *other)?,
            ExprTerm::Ret | ExprTerm::Opaque(..) => return Err(unsupported(e)),
        };
        Ok(RustExpr { text, of })
    }

    /// Returns numbers as an array, for what only reads them.
    fn array(&mut self, parts: &[Expr]) -> Result<String, NoForm> {
        let parts = parts.iter().map(|e| self.number(*e)).collect::<Result<Vec<_>, _>>()?;
        Ok(format!("[{}]", parts.join(", ")))
    }

    /// Returns the structure that has the parts and identifiers of an object, or of the library: `x` or `own`.
    fn holder(&mut self, of: Expr) -> Result<String, NoForm> {
        match of.term() {
            ExprTerm::Val(Val::Loc(x)) if x.0 == self.library.name => Ok("own".to_owned()),
            _ => {
                let object = self.expr(of)?;
                match object.of {
                    Type::Object(library) if library == self.library.name => Ok(place(&object.text)),
                    _ => Err(NoForm(format!("{of} is no object of {}", self.library.name))),
                }
            }
        }
    }

    fn part(&mut self, of: Expr, role: &'static str, indices: &[Expr]) -> Result<String, NoForm> {
        let (array, at) = self.place(of, role, indices)?;
        Ok(if indices.is_empty() { array } else { format!("{array}[{}]", index(at)) })
    }

    /// Returns the field for the parts with a role, and the index of one of them.
    fn place(&mut self, of: Expr, role: &'static str, indices: &[Expr]) -> Result<(String, String), NoForm> {
        let holder = self.holder(of)?;
        let extents = self.library.extents.get(role).cloned().unwrap_or_default();
        let mut at = String::new();
        for (position, index) in indices.iter().enumerate() {
            let index = self.number(*index)?;
            at = match (position, &*at) {
                (0, _) | (_, "0") => index,
                _ if index == "0" => format!("{} * {}", wrapped(at), wrapped(self.size(&extents[position], of)?)),
                (_, "1") => format!("{} + {}", self.size(&extents[position], of)?, wrapped(index)),
                _ => format!("{} * {} + {}", wrapped(at), wrapped(self.size(&extents[position], of)?), wrapped(index)),
            };
        }
        Ok((format!("{holder}.{role}"), at))
    }

    /// Returns the number of places for an index that goes through these sets, for a part of this object.
    pub(super) fn size(&mut self, extent: &[Expr], of: Expr) -> Result<String, NoForm> {
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
                _ if self.types.expr(*set)? == Type::Nodes => others.push("world.nodes + 1".to_owned()),
                _ => others.push("world.threads() + 1".to_owned()),
            }
        }
        if literal > 0 || others.is_empty() {
            others.push(literal.to_string());
        }
        let all = others.into_iter().unique();
        Ok(all.reduce(|a, b| format!("{}.max({b})", wrapped(a))).expect("one at least"))
    }

    fn function(&mut self, function: Of, of: Expr) -> Result<String, NoForm> {
        match (function, of.term()) {
            (Of::Hash, ExprTerm::Tuple(parts)) => return Ok(format!("checksum(&{})", self.array(parts)?)),
            (Of::Nodes, ExprTerm::Tuple(parts)) => return Ok(format!("world.nodes_of(&{})", self.array(parts)?)),
            _ => {}
        }
        let one = self.expr(of)?;
        let place = place(&one.text);
        Ok(match (function, one.of) {
            (Of::Node, Type::Object(_)) => format!("{place}.node"),
            (Of::Node, _) if *of.term() == ExprTerm::Me => "me.node".to_owned(),
            (Of::Node, Type::Number) => format!("world.node_of({})", one.text),
            (Of::Nodes, Type::List) => format!("world.nodes_of(&{place})"),
            (Of::Members, Type::Object(_)) => format!("&{place}.members"),
            (Of::Size, Type::Object(_)) if self.types.has_words() => format!("{place}.initial.size()"),
            (Of::Size, Type::Object(_)) => format!("{place}.size"),
            (Of::Initial, Type::Object(_)) if self.types.starts_with_list() => format!("&{place}.initial"),
            (Of::Initial, Type::Object(_)) => format!("{place}.initial"),
            (Of::Numbered | Of::Number | Of::Thread | Of::Int, Type::Number) => one.text,
            (Of::Hash, Type::List) => format!("checksum({place}.as_slice())"),
            (Of::Packed(widths), Type::List) => format!("packed(&{place}, &{widths:?})"),
            (Of::Unpacked(widths), Type::Number) => format!("unpacked({}, &{widths:?})", one.text),
            (Of::Servers, Type::Number) => format!("world.servers({})", one.text),
            (Of::First, Type::List) => format!("{place}.first()"),
            (Of::Rest, Type::List) => format!("{place}.rest()"),
            (Of::Reversed, Type::List) => format!("{place}.reversed()"),
            (Of::Len, Type::List) => format!("{place}.size()"),
            (Of::Len, Type::Number) => "1".to_owned(),
            (Of::Min, Type::List) => format!("{place}.min()"),
            (Of::Min, Type::Nodes) => format!("least({})", one.text),
            (Of::Max, Type::List) => format!("{place}.max()"),
            (Of::Not, Type::Bool) => self.negated(of)?,
            (Of::Only, Type::Number) => format!("only({})", one.text),
            _ => return Err(unsupported(of)),
        })
    }

    fn negated(&mut self, of: Expr) -> Result<String, NoForm> {
        match of.term() {
            ExprTerm::Op(Op::Lt, one, other) => Ok(format!("{} >= {}", self.term(*one)?, self.term(*other)?)),
            ExprTerm::Op(Op::Eq, one, other) if self.are_numbers(*one, *other)? => {
                Ok(format!("{} != {}", self.term(*one)?, self.term(*other)?))
            }
            _ => Ok(format!("!{}", self.operand(of, Type::Bool)?)),
        }
    }

    fn are_numbers(&self, one: Expr, other: Expr) -> Result<bool, NoForm> {
        let is_number = |of| matches!(of, Type::Number | Type::Bottom);
        Ok(is_number(self.types.expr(one)?) && is_number(self.types.expr(other)?))
    }

    fn operation(&mut self, op: Op, one: Expr, other: Expr) -> Result<String, NoForm> {
        if let (Op::In, ExprTerm::Tuple(parts)) = (op, other.term())
            && !parts.is_empty()
        {
            return Ok(format!("{}.has({})", self.array(parts)?, self.number(one)?));
        }
        match op {
            Op::Add => return Ok(format!("{} + {}", self.term(one)?, self.operand(other, Type::Number)?)),
            Op::Sub => return Ok(format!("{} - {}", self.term(one)?, self.operand(other, Type::Number)?)),
            Op::Lt => return Ok(format!("{} < {}", self.term(one)?, self.term(other)?)),
            Op::And => {
                return Ok(format!("{} && {}", self.operand(one, Type::Bool)?, self.operand(other, Type::Bool)?));
            }
            Op::Or => return Ok(format!("{} || {}", self.operand(one, Type::Bool)?, self.operand(other, Type::Bool)?)),
            _ => {}
        }
        let (a, b) = (self.expr(one)?, self.expr(other)?);
        Ok(match (op, a.of, b.of) {
            (Op::Div, Type::Number, Type::Number) => format!("div({}, {})", a.text, b.text),
            (Op::Rem, Type::Number, Type::Number) => format!("rem({}, {})", a.text, b.text),
            (Op::Eq, Type::List, _) | (Op::Eq, _, Type::List) => {
                format!("{} == {}", wrapped(lent(a, Type::List)?), wrapped(lent(b, Type::List)?))
            }
            (Op::Eq, Type::Bool, Type::Bool) if b.text == "true" => a.text,
            (Op::Eq, Type::Number | Type::Bottom, Type::Number | Type::Bottom) => {
                format!("{} == {}", self.term(one)?, self.term(other)?)
            }
            (Op::Eq, Type::Bool, Type::Bool) | (Op::Eq, Type::Nodes, Type::Nodes) => {
                format!("{} == {}", wrapped(a.text), wrapped(b.text))
            }
            (Op::With, Type::Nodes, _) => format!("{} | {}", wrapped(a.text), nodes(b)?),
            (Op::Without, Type::Nodes, _) => format!("{} & !{}", wrapped(a.text), nodes(b)?),
            (Op::Without, Type::List, Type::Number) => format!("{}.without({})", place(&a.text), b.text),
            (Op::Except, Type::List, Type::List) => format!("{}.except({})", place(&a.text), lent(b, Type::List)?),
            (Op::Item, Type::List, Type::Number) => format!("{}.item({})", place(&a.text), b.text),
            (Op::Range, Type::Number, Type::Number) => format!("range({}, {})", a.text, b.text),
            (Op::In, Type::Number, Type::List) => format!("{}.has({})", place(&b.text), a.text),
            (Op::In, Type::Number, Type::Nodes) => format!("has({}, {})", b.text, a.text),
            _ => return Err(NoForm(format!("{one} and {other} have no common form in C or Rust"))),
        })
    }
}

/// Returns a value as one of another type.
fn converted(value: RustExpr, to: Type) -> Result<String, NoForm> {
    Ok(match (value.of, to) {
        (of, to) if of == to => value.text,
        (Type::Never, _) => value.text,
        (Type::Bottom, Type::Number) => "BOT".to_owned(),
        (Type::Bottom, Type::List) => "List::bot()".to_owned(),
        (Type::Number, Type::List) => format!("List::of(&[{}])", value.text),
        (Type::List, Type::Number) => {
            return Err(NoForm(format!("{} is a tuple, and a word of memory holds a number", value.text)));
        }
        (of, to) => return Err(NoForm(format!("{} is {of:?} and should be {to:?}", value.text))),
    })
}

/// Returns a value as one of another type, for a reader. A list is lent.
fn lent(value: RustExpr, to: Type) -> Result<String, NoForm> {
    let text = listed(converted(value, to)?);
    let is_lent = to != Type::List || text.starts_with('&') || is_name(&text);
    Ok(if is_lent { text } else { format!("&{text}") })
}

/// Returns the last values of a list as a list of their own.
fn listed(text: String) -> String {
    if text.ends_with(".rest()") { format!("List::of({text})") } else { text }
}

/// Returns a value as one of another type, for an owner. A list that is lent is copied.
fn owned(value: RustExpr, to: Type) -> Result<String, NoForm> {
    let text = listed(converted(value, to)?);
    let is_lent = to == Type::List && (text.starts_with('&') || is_name(&text));
    Ok(if is_lent { format!("{}.clone()", place(&text)) } else { text })
}

/// Returns a value as one of another type, for an owner, where it is not used again.
fn moved(value: RustExpr, to: Type) -> Result<String, NoForm> {
    match value.text.strip_prefix('&') {
        Some(local) if to == Type::List && value.of == to && !local.contains('.') => Ok(local.to_owned()),
        _ => owned(value, to),
    }
}

/// Returns what an expression refers to.
fn place(text: &str) -> String {
    match text.strip_prefix('&') {
        Some(place) => place.to_owned(),
        None => wrapped(text.to_owned()),
    }
}

/// Returns a number as an index.
pub(super) fn index(number: String) -> String {
    if number.chars().all(|c| c.is_ascii_digit()) { number } else { format!("{} as usize", wrapped(number)) }
}

/// Returns a node, or a set of nodes, as a set.
fn nodes(value: RustExpr) -> Result<String, NoForm> {
    match value.of {
        Type::Nodes => Ok(wrapped(value.text)),
        Type::Number => Ok(format!("only({})", value.text)),
        _ => Err(NoForm(format!("{} is no node", value.text))),
    }
}

/// True if a body is the value of this variable.
fn is_result(var: Option<Var>, body: &Body) -> bool {
    let Stmt::Value(e) = body.stmt() else { return false };
    let e = match e.term() {
        // A number is the same in Rust.
        ExprTerm::Of(Of::Numbered | Of::Number | Of::Thread | Of::Int, e) => e,
        _ => e,
    };
    var.is_some_and(|var| *e.term() == ExprTerm::Var(var))
}

/// Returns the tuple that a body gathers, part by part.
fn whole_of(body: &Body) -> Option<Expr> {
    let Stmt::Collect(var, set, round) = body.stmt() else { return None };
    let Stmt::Value(part) = round.stmt() else { return None };
    let (tuple, at) = part_of(*set, *part)?;
    (*at.term() == ExprTerm::Var(*var)).then_some(tuple)
}

/// Returns the tuple, and the index of the part, for a part of a tuple in a loop over all its parts.
fn part_of(set: Expr, part: Expr) -> Option<(Expr, Expr)> {
    let (ExprTerm::Op(Op::Range, from, to), ExprTerm::Op(Op::Item, tuple, at)) = (set.term(), part.term()) else {
        return None;
    };
    let is_all = *from.term() == ExprTerm::Val(0.into()) && *to == tuple.len();
    is_all.then_some((*tuple, *at))
}

/// Returns the name of the word that the CPU reads in a round.
fn read(round: &Body) -> Option<Body> {
    let Stmt::Let(v, first, rest) = round.stmt() else { return None };
    let Stmt::Call(call) = first.stmt() else { return None };
    let is_read = call.library == WAIT && call.method == "Read" && is_result(*v, rest);
    is_read.then(|| call.args[0].into())
}

/// Returns the words in a row that the CPU writes in a loop, and the tuple of their values.
fn written(var: Var, set: Expr, round: &Body) -> Option<(Row<'static>, Expr)> {
    let Stmt::Call(call) = round.stmt() else { return None };
    let (&[word, v], true) = (&call.args[..], call.library == WAIT && call.method == "Write") else { return None };
    let (values, at) = part_of(set, v)?;
    let ExprTerm::Part(of, role, indices) = word.term() else { return None };
    let (last, indices) = indices.split_last()?;
    let ExprTerm::Op(Op::Add, from, k) = last.term() else { return None };
    let is_row = at == *k && *k.term() == ExprTerm::Var(var);
    is_row.then(|| (Row { of: *of, role, indices, from: *from, to: *from + values.len() }, values))
}

/// True if a body is one expression of Rust.
fn is_simple(body: &Body) -> bool {
    match body.stmt() {
        Stmt::Value(_) | Stmt::Call(_) => true,
        Stmt::Let(var, first, rest) => is_result(*var, rest) && is_simple(first),
        _ => false,
    }
}

/// True if nothing can follow a body, because it never ends or leaves the loop around it.
fn diverges(body: &Body) -> bool {
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

fn literal(v: Val) -> Option<String> {
    Some(match v {
        Val::Int(i64::MIN) => return None,
        Val::Int(i) => i.to_string(),
        Val::Bool(b) => b.to_string(),
        Val::Bot => "BOT".to_owned(),
        Val::Node(n) => n.0.to_string(),
        Val::Thread(t) => t.0.to_string(),
        Val::NoWid => "0".to_owned(),
        Val::Unit => "()".to_owned(),
        Val::Nodes(all) if all.is_empty() => "0".to_owned(),
        Val::Nodes(all) => all.iter().map(|n| format!("only({n})")).join(" | "),
        Val::Tuple(all) => {
            let parts = all.parts().iter().map(|v| literal(*v)).collect::<Option<Vec<_>>>()?;
            format!("List::of(&[{}])", parts.join(", "))
        }
        Val::Top | Val::Loc(_) | Val::Wid(_) | Val::Way(_) => return None,
    })
}
