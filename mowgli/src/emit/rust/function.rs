//! The statements of a Rust function, and the notation of Rust.

use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::expr::{Expr, ExprTerm, Function, Op, Var};
use mowgli_core::ids::Name;
use mowgli_core::term::body::{Body, Stmt};
use mowgli_core::value::Val;
use mowgli_rdma::wait::WAIT;

use crate::emit::function::{Around, FunctionWriter, Syntax, Typed, converted, diverges, sides};
use crate::emit::library::{has_word, word};
use crate::emit::text::{free, is_name, is_nothing, wrapped};
use crate::emit::types::{NoForm, Row, Type, rust_function_name};

/// Rust.
pub(super) struct Rust;

/// The text of a Rust function.
pub(super) type RustFunction<'a> = FunctionWriter<'a, Rust>;

/// The destination of the value of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RustTarget {
    /// Nobody uses it.
    Nowhere,
    /// It is the result of the function.
    Returned(Type),
    /// It is the value of the block that ends with the statement.
    Block(Type),
}

impl Syntax for Rust {
    type Target = RustTarget;
    const COLUMN: usize = 1;
    const INDENT: &'static str = "    ";
    const TAKEN: &'static [&'static str] = &[
        "me", "world", "own", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
        "dyn", "else", "enum", "extern", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
        "match", "mod", "move", "mut", "pub", "ref", "return", "self", "static", "struct", "super", "try", "type",
        "use",
    ];
    const HAS_BARE_SUMS: bool = true;

    fn integer(i: i64) -> String {
        i.to_string()
    }

    fn tuple(parts: &[String]) -> String {
        format!("List::of(&[{}])", parts.join(", "))
    }

    fn place(text: &str) -> String {
        match text.strip_prefix('&') {
            Some(place) => place.to_owned(),
            None => wrapped(text.to_owned()),
        }
    }

    fn access(text: &str) -> String {
        format!("{}.", Self::place(text))
    }

    fn part(field: String, at: Option<String>, of: Type) -> String {
        let reference = if of == Type::Object(WAIT) { "" } else { "&" };
        let at = at.map(|at| format!("[{}]", index(at))).unwrap_or_default();
        format!("{reference}{field}{at}")
    }

    fn index(at: String, size: String, next: String) -> String {
        match (&*at, &*next) {
            ("0", _) => next,
            (_, "0") => format!("{} * {}", wrapped(at), wrapped(size)),
            ("1", _) => format!("{size} + {}", wrapped(next)),
            _ => format!("{} * {} + {}", wrapped(at), wrapped(size), wrapped(next)),
        }
    }

    /// Lends a list.
    fn lent(value: Typed, to: Type) -> Result<String, NoForm> {
        let text = listed(converted::<Self>(value, to)?);
        let is_lent = to != Type::List || text.starts_with('&') || is_name(&text);
        Ok(if is_lent { text } else { format!("&{text}") })
    }

    /// Copies a list that is lent.
    fn owned(value: Typed, to: Type) -> Result<String, NoForm> {
        let text = listed(converted::<Self>(value, to)?);
        let is_lent = to == Type::List && (text.starts_with('&') || is_name(&text));
        Ok(if is_lent { format!("{}clone()", Self::access(&text)) } else { text })
    }

    fn call(library: Name, method: &str, args: Vec<String>) -> String {
        let method = rust_function_name(method);
        if library == WAIT {
            return format!("me.port.{method}({})?", args.join(", "));
        }
        format!("{}::{method}({})?", word(library), ["me".to_owned()].into_iter().chain(args).join(", "))
    }

    fn making(library: Name, name: &str, args: Vec<String>) -> String {
        let name = name.trim_start_matches('&');
        if library == WAIT {
            return format!("{name} = world.word({});", args.join(", "));
        }
        format!("{name} = {}::new({});", word(library), ["world".to_owned()].into_iter().chain(args).join(", "))
    }

    fn idiom(this: &mut RustFunction<'_>, e: Expr, of: Type) -> Result<Option<String>, NoForm> {
        Ok(Some(match e.term() {
            ExprTerm::Var(var) if of == Type::List => format!("&{}", this.names[&var.number]),
            ExprTerm::Of(function, of) => match (function, of.term()) {
                (Function::Hash, ExprTerm::Tuple(parts)) => format!("world.checksum(&{})", this.array(parts)?),
                (Function::Nodes, ExprTerm::Tuple(parts)) => format!("world.nodes_of(&{})", this.array(parts)?),
                (Function::Not, ExprTerm::Op(Op::Eq, one, other)) if this.are_numbers(*one, *other)? => {
                    format!("{} != {}", this.term(*one)?, this.term(*other)?)
                }
                _ => return Ok(None),
            },
            ExprTerm::Op(op, one, other) => match (op, other.term()) {
                (Op::In, ExprTerm::Tuple(parts)) if !parts.is_empty() => {
                    format!("{}.has({})", this.array(parts)?, this.number(*one)?)
                }
                (Op::Eq, ExprTerm::Val(Val::Bool(true))) if this.types.of(*one)? == Type::Bool => this.expr(*one)?.text,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    fn head(
        this: &mut RustFunction<'_>,
        (var, is_used): (Var, bool),
        set: Expr,
    ) -> Result<(String, String, Option<String>), NoForm> {
        let all = if let ExprTerm::Op(Op::Range, from, to) = set.term() {
            format!("{}..{}", this.term(*from)?, this.term(*to)?)
        } else {
            let all = this.expr(set)?;
            match all.of {
                Type::Nodes => format!("each({})", all.text),
                Type::List => format!("{}each()", Self::access(&all.text)),
                _ => return Err(NoForm(format!("a loop over {set} has no form in C or Rust"))),
            }
        };
        let name = if is_used { free(&mut this.used, var.name) } else { "_".to_owned() };
        let head = format!("for {name} in {all} {{");
        Ok((name, head, None))
    }
}

impl RustFunction<'_> {
    /// Returns the statements of a body whose value the function returns.
    pub(super) fn returning(mut self, body: &Body, of: Type) -> Result<String, NoForm> {
        if of == Type::Unit {
            self.statement(body, RustTarget::Nowhere)?;
            if !diverges(body) {
                self.line("Ok(())");
            }
        } else {
            self.statement(body, RustTarget::Returned(of))?;
        }
        let word = &self.library.word;
        let own =
            if has_word(&self.out, "own") { format!("        let own = &me.own.{word};\n") } else { String::new() };
        let world = if has_word(&self.out, "world") { "        let world = me.world;\n" } else { "" };
        Ok(format!("{world}{own}{}", self.out))
    }

    fn statement(&mut self, body: &Body, target: RustTarget) -> Result<(), NoForm> {
        match body.stmt() {
            Stmt::Value(e) => self.value(*e, target),
            Stmt::Call(call) => {
                let value = self.call(call)?;
                self.keep(value, target)
            }
            // Nothing follows a value that never comes.
            Stmt::Let(_, first, _) if diverges(first) => self.statement(first, RustTarget::Nowhere),
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
                None => {
                    self.each((*var, round.uses(*var)), *set, &mut |this| this.statement(round, RustTarget::Nowhere))
                }
            },
            Stmt::Collect(var, set, round) if target == RustTarget::Nowhere => {
                self.each((*var, round.uses(*var)), *set, &mut |this| this.statement(round, RustTarget::Nowhere))
            }
            Stmt::Collect(var, set, round) => {
                let name = free(&mut self.used, "found");
                self.gather(&name, *var, *set, round)?;
                self.keep(Typed { text: format!("&{name}"), of: Type::List }, target)
            }
        }
    }

    /// Writes `let var = first`, before `rest`.
    fn first(&mut self, var: Option<Var>, first: &Body, rest: &Body) -> Result<(), NoForm> {
        let of = |var: &Var| self.types.vars[&var.number];
        let Some(var) = var.filter(|var| rest.uses(*var) && of(var) != Type::Unit) else {
            return self.statement(first, RustTarget::Nowhere);
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
        let is_block = matches!(first.stmt(), Stmt::Let(..));
        self.between([&format!("let {name} = "), ";"], first, of, is_block)
    }

    /// Writes a body as a value between two texts, as a block of its own if it has several statements.
    fn between(&mut self, [before, after]: [&str; 2], body: &Body, of: Type, is_block: bool) -> Result<(), NoForm> {
        let begins = self.out.len() + 4 * self.depth;
        if is_block {
            self.line("{");
            self.block(|this| this.statement(body, RustTarget::Block(of)))?;
            self.line("}");
        } else {
            self.statement(body, RustTarget::Block(of))?;
        }
        self.out.insert_str(begins, before);
        self.out.truncate(self.out.trim_end().len());
        let _ = writeln!(self.out, "{after}");
        Ok(())
    }

    fn value(&mut self, e: Expr, target: RustTarget) -> Result<(), NoForm> {
        if target == RustTarget::Nowhere {
            return Ok(());
        }
        let value = self.expr(e)?;
        self.keep(value, target)
    }

    /// Writes the use of a value.
    fn keep(&mut self, value: Typed, target: RustTarget) -> Result<(), NoForm> {
        let text = match target {
            RustTarget::Nowhere => format!("{};", value.text),
            RustTarget::Returned(of) => match value.text.strip_suffix('?') {
                Some(call) if value.of == of => call.to_owned(),
                _ => format!("Ok({})", moved(value, of)?),
            },
            RustTarget::Block(of) => Rust::owned(value, of)?,
        };
        self.line(&text);
        Ok(())
    }

    fn branch(&mut self, condition: Expr, yes: &Body, no: &Body, target: RustTarget) -> Result<(), NoForm> {
        let is_ignored = target == RustTarget::Nowhere;
        let Some((condition, yes, no)) = sides((condition, yes, no), is_ignored) else { return Ok(()) };
        let condition = self.condition(condition)?;
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

    fn repeat(&mut self, round: &Body, target: RustTarget) -> Result<(), NoForm> {
        let at = self.out.len() + 4 * self.depth;
        self.line("loop {");
        self.loops.push(Around { target, inner: 0, label: None });
        self.block(|this| {
            this.statement(round, RustTarget::Nowhere)?;
            if !diverges(round) {
                this.line("me.port.again()?;");
            }
            Ok(())
        })?;
        let around = self.loops.pop().expect("it was pushed");
        self.line("}");
        if let Some(label) = around.label {
            self.out.insert_str(at, &format!("'found_{label}: "));
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
            RustTarget::Nowhere => String::new(),
            RustTarget::Returned(of) => {
                let value = Rust::owned(self.expr(e)?, of)?;
                self.line(&format!("return Ok({value});"));
                return Ok(());
            }
            RustTarget::Block(of) => format!(" {}", Rust::owned(self.expr(e)?, of)?),
        };
        let label = if inner == 0 { String::new() } else { format!(" 'found_{}", self.label()) };
        self.line(&format!("break{label}{value};"));
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
            this.between([&format!("{name}.push("), ");"], round, Type::Number, !is_simple(round))
        })
    }

    /// Declares words in a row, as a slice of the array that has them.
    fn row(&mut self, name: &str, row: &Row<'_>) -> Result<(), NoForm> {
        let mut at = |last: Expr| {
            let (array, at) = self.field(row.of, row.role, &[row.indices, &[last]].concat())?;
            Ok((array, index(at.expect("a word of a row has an index"))))
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
        self.line(&format!("me.port.write_words({to}, {}values())?;", Rust::access(&values.text)));
        Ok(())
    }

    fn array(&mut self, parts: &[Expr]) -> Result<String, NoForm> {
        Ok(format!("[{}]", self.numbers(parts)?.join(", ")))
    }

    fn are_numbers(&self, one: Expr, other: Expr) -> Result<bool, NoForm> {
        let is_number = |of| matches!(of, Type::Number | Type::Bottom);
        Ok(is_number(self.types.of(one)?) && is_number(self.types.of(other)?))
    }
}

/// Returns the last values of a list as a list of their own.
fn listed(text: String) -> String {
    if text.ends_with(".rest()") { format!("List::of({text})") } else { text }
}

/// Returns a value as one of another type, for an owner, where it is not used again.
fn moved(value: Typed, to: Type) -> Result<String, NoForm> {
    match value.text.strip_prefix('&') {
        Some(local) if to == Type::List && value.of == to && !local.contains('.') => Ok(local.to_owned()),
        _ => Rust::owned(value, to),
    }
}

/// Returns a number as an index.
pub(super) fn index(number: String) -> String {
    if number.chars().all(|c| c.is_ascii_digit()) { number } else { format!("{} as usize", wrapped(number)) }
}

/// True if a body is the value of this variable.
fn is_result(var: Option<Var>, body: &Body) -> bool {
    let Stmt::Value(e) = body.stmt() else { return false };
    let e = match e.term() {
        // A number is the same in Rust.
        ExprTerm::Of(Function::Numbered | Function::Number | Function::Thread | Function::Int, e) => e,
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
