//! One C function: the statements of a body in their order, or the making of an object's parts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::body::{Body, CallTerm, Stmt};
use mowgli_core::expr::{Expr, ExprTerm, Function as Of, Op, Var};
use mowgli_core::value::Val;

use super::names::{function_name, type_name};
use crate::emit::library::Owner;
use crate::emit::text::{called, free, is_name, is_nothing, wrapped};
use crate::emit::types::{NoForm, Row, Type, Types, unsupported};

/// The destination of the value of a statement.
#[derive(Clone, Debug)]
enum Target {
    /// Nobody uses it.
    Nowhere,
    /// It is the result of the function.
    Returned(Type),
    /// A variable gets it.
    Variable(String, Type),
    /// It is added to a list.
    Added(String),
}

/// A loop around the statement that is written.
struct Around {
    /// The destination of the values with which it is left.
    target: Target,
    /// The number of C loops between it and the statement.
    inner: usize,
    /// The label behind it, if a statement inside an inner loop leaves it.
    label: Option<usize>,
}

/// An expression in C.
pub(super) struct Typed {
    pub(super) text: String,
    pub(super) of: Type,
}

/// The text of one function.
pub(super) struct CFunction<'a> {
    library: &'a Owner,
    types: Types<'a>,
    /// The names of the arguments.
    args: Vec<String>,
    names: BTreeMap<usize, String>,
    used: BTreeSet<String>,
    loops: Vec<Around>,
    labels: usize,
    out: String,
    depth: usize,
    uses_own: bool,
}

/// Names that no variable may have.
const TAKEN: [&str; 24] = [
    "me", "all", "own", "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double",
    "else", "enum", "float", "for", "goto", "if", "int", "new", "return", "switch", "while",
];

impl<'a> CFunction<'a> {
    pub(super) fn new(library: &'a Owner, types: Types<'a>, args: &[&str]) -> Self {
        let mut used: BTreeSet<String> = TAKEN.iter().map(|name| (*name).to_owned()).collect();
        let args = args.iter().map(|name| free(&mut used, name)).collect();
        Self {
            library,
            types,
            args,
            names: BTreeMap::new(),
            used,
            loops: Vec::new(),
            labels: 0,
            out: String::new(),
            depth: 1,
            uses_own: false,
        }
    }

    /// Returns the names of the arguments.
    pub(super) fn args(&self) -> &[String] {
        &self.args
    }

    /// Returns the statements of a body whose value the function returns.
    pub(super) fn returning(mut self, body: &Body, of: Type) -> Result<String, NoForm> {
        self.statement(body, &Target::Returned(of))?;
        Ok(self.finished())
    }

    /// Returns the statements so far, with what they use before them.
    pub(super) fn finished(self) -> String {
        let own = format!(
            "\tstruct {0}_own *own = all->own[{1}_OWN];\n",
            self.library.word,
            self.library.word.to_uppercase()
        );
        format!("{}{}", if self.uses_own { &own } else { "" }, self.out)
    }

    /// Returns the statements so far, for a function that has what they use.
    pub(super) fn text(&self) -> &str {
        &self.out
    }

    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "\t".repeat(self.depth));
    }

    fn statement(&mut self, body: &Body, target: &Target) -> Result<(), NoForm> {
        match body.stmt() {
            Stmt::Value(e) => self.value(*e, target),
            Stmt::Call(call) => {
                let value = self.call(call)?;
                self.keep(value, target)
            }
            // Nothing follows a value that never comes.
            Stmt::Let(Some(var), first, rest) if rest.uses(*var) && self.types.vars[&var.number] == Type::Never => {
                self.statement(first, &Target::Nowhere)
            }
            Stmt::Let(var, first, rest) => {
                self.first(*var, first, rest)?;
                self.statement(rest, target)
            }
            Stmt::If(condition, yes, no) => self.branch(*condition, yes, no, target),
            Stmt::Loop(round) if is_nothing(round) => {
                self.line(&format!("mw_never(\"{}\");", self.library.name));
                Ok(())
            }
            Stmt::Loop(round) => self.repeat(round, target),
            Stmt::Break(e) => self.leave(*e),
            Stmt::For(var, set, round) => {
                self.each((*var, round.uses(*var)), *set, &mut |this| this.statement(round, &Target::Nowhere))
            }
            Stmt::Collect(var, set, round) => self.collect(*var, *set, round, target),
        }
    }

    /// Writes `let var = first`, before `rest`.
    fn first(&mut self, var: Option<Var>, first: &Body, rest: &Body) -> Result<(), NoForm> {
        let of = match var {
            Some(var) if rest.uses(var) => self.types.vars[&var.number],
            _ => Type::Unit,
        };
        let (Some(var), Some(type_name)) = (var, type_name(of)) else {
            return self.statement(first, &Target::Nowhere);
        };
        let name = free(&mut self.used, var.name);
        self.names.insert(var.number, name.clone());
        let simple = match first.stmt() {
            Stmt::Value(e) => Some(self.expr(*e)?),
            Stmt::Call(call) => Some(self.call(call)?),
            _ => None,
        };
        match (simple, first.stmt()) {
            (Some(value), _) => {
                let value = converted(value, of)?;
                self.line(&format!("{type_name}{name} = {value};"));
                Ok(())
            }
            (None, Stmt::Collect(var, set, round)) if of == Type::Row => self.row(&name, &Row::of(*var, *set, round)?),
            (None, Stmt::Collect(var, set, round)) => self.gather(&name, *var, *set, round),
            (None, _) => {
                self.line(&format!("{type_name}{name};"));
                self.statement(first, &Target::Variable(name, of))
            }
        }
    }

    fn value(&mut self, e: Expr, target: &Target) -> Result<(), NoForm> {
        if matches!(target, Target::Nowhere | Target::Returned(Type::Unit)) {
            return Ok(());
        }
        let value = self.expr(e)?;
        self.keep(value, target)
    }

    /// Writes the use of a value.
    fn keep(&mut self, value: Typed, target: &Target) -> Result<(), NoForm> {
        let text = match target {
            Target::Nowhere | Target::Returned(Type::Unit) => format!("{};", value.text),
            Target::Returned(of) => format!("return {};", converted(value, *of)?),
            Target::Variable(name, of) => format!("{name} = {};", converted(value, *of)?),
            Target::Added(list) => format!("mw_add(&{list}, {});", converted(value, Type::Number)?),
        };
        self.line(&text);
        Ok(())
    }

    fn branch(&mut self, condition: Expr, yes: &Body, no: &Body, target: &Target) -> Result<(), NoForm> {
        let wants = matches!(target, Target::Nowhere | Target::Returned(Type::Unit));
        let (condition, yes, no) = match (is_nothing(yes) && wants, is_nothing(no) && wants) {
            (true, true) => return Ok(()),
            (true, false) => (!condition, no, None),
            (false, true) => (condition, yes, None),
            (false, false) => (condition, yes, Some(no)),
        };
        let condition = converted(self.expr(condition)?, Type::Bool)?;
        self.line(&format!("if ({condition}) {{"));
        self.block(|this| this.statement(yes, target))?;
        if let Some(no) = no {
            self.line("} else {");
            self.block(|this| this.statement(no, target))?;
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

    fn repeat(&mut self, round: &Body, target: &Target) -> Result<(), NoForm> {
        self.line("for (;;) {");
        self.loops.push(Around { target: target.clone(), inner: 0, label: None });
        self.block(|this| this.statement(round, &Target::Nowhere))?;
        let around = self.loops.pop().expect("it was pushed");
        self.line("}");
        if let Some(label) = around.label {
            self.line(&format!("end_{label}:;"));
        }
        Ok(())
    }

    /// Leaves the innermost loop of the body. A `break` of C would leave a `for` over a set inside it.
    fn leave(&mut self, e: Expr) -> Result<(), NoForm> {
        let Some(around) = self.loops.last() else {
            return Err(NoForm("a break outside of loops has no form in C".to_owned()));
        };
        let (target, inner) = (around.target.clone(), around.inner);
        match target {
            Target::Returned(Type::Unit) => {
                self.line("return;");
                return Ok(());
            }
            Target::Returned(_) => return self.value(e, &target),
            _ => self.value(e, &target)?,
        }
        if inner == 0 {
            self.line("break;");
            return Ok(());
        }
        let known = self.loops.last().and_then(|around| around.label);
        let label = known.unwrap_or_else(|| {
            self.labels += 1;
            self.labels
        });
        self.loops.last_mut().expect("it is in one").label = Some(label);
        self.line(&format!("goto end_{label};"));
        Ok(())
    }

    /// Writes a loop over a set of nodes or a tuple. `is_used` tells whether a round uses the element.
    pub(super) fn each(
        &mut self,
        (var, is_used): (Var, bool),
        set: Expr,
        inner: &mut dyn FnMut(&mut Self) -> Result<(), NoForm>,
    ) -> Result<(), NoForm> {
        let name = free(&mut self.used, var.name);
        self.types.vars.insert(var.number, Type::Number);
        let (head, first) = if let ExprTerm::Op(Op::Range, from, to) = set.term() {
            let (from, to) = (self.number(*from)?, self.number(*to)?);
            (format!("for (int64_t {name} = {from}; {name} < {to}; {name}++) {{"), None)
        } else {
            let all = self.expr(set)?;
            match all.of {
                Type::Nodes => {
                    (format!("for (int64_t {name} = 0; ({name} = mw_next({}, {name}));) {{", all.text), None)
                }
                Type::List => {
                    let list = if is_name(&all.text) { all.text } else { self.kept(&all.text) };
                    let at = free(&mut self.used, "i");
                    let head = format!("for (int {at} = 0; {at} < {list}.n; {at}++) {{");
                    (head, is_used.then(|| format!("int64_t {name} = {list}.at[{at}];")))
                }
                _ => return Err(NoForm(format!("a loop over {set} has no form in C"))),
            }
        };
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

    /// Writes a list into a variable of its own, so that a loop over it computes it once.
    fn kept(&mut self, list: &str) -> String {
        let name = free(&mut self.used, "each");
        self.line(&format!("struct mw_list {name} = {list};"));
        name
    }

    fn collect(&mut self, var: Var, set: Expr, round: &Body, target: &Target) -> Result<(), NoForm> {
        if matches!(target, Target::Nowhere | Target::Returned(Type::Unit)) {
            return self.each((var, round.uses(var)), set, &mut |this| this.statement(round, &Target::Nowhere));
        }
        let name = free(&mut self.used, "found");
        self.gather(&name, var, set, round)?;
        self.keep(Typed { text: name, of: Type::List }, target)
    }

    /// Declares a list with the values of a round for each element of a set.
    fn gather(&mut self, name: &str, var: Var, set: Expr, round: &Body) -> Result<(), NoForm> {
        self.line(&format!("struct mw_list {name} = mw_none();"));
        self.each((var, round.uses(var)), set, &mut |this| this.statement(round, &Target::Added(name.to_owned())))
    }

    /// Declares words in a row: the first of them, and their number.
    fn row(&mut self, name: &str, row: &Row<'_>) -> Result<(), NoForm> {
        let first = self.part(row.of, row.role, &[row.indices, &[row.from]].concat())?;
        let (from, to) = (self.operand(row.from, Type::Number)?, self.operand(row.to, Type::Number)?);
        self.line(&format!("struct mw_row {name} = {{ {first}, {to} - {from} }};"));
        Ok(())
    }

    /// Returns a call in C.
    fn call(&mut self, call: &CallTerm) -> Result<Typed, NoForm> {
        let signature = self.types.signatures.get(&(call.library, call.method));
        let unknown = || NoForm(format!("{}::{} has no form in C", call.library, call.method));
        let signature = signature.ok_or_else(unknown)?.clone();
        let mut args = vec!["me".to_owned()];
        for (e, of) in call.args.iter().zip(&signature.takes).filter(|(_, of)| **of != Type::Way) {
            let arg = self.expr(*e)?;
            args.push(converted(arg, *of).map_err(|why| NoForm(format!("{}: {why}", called(call))))?);
        }
        let text = format!("{}({})", function_name(call.library, call.method), args.join(", "));
        Ok(Typed { text, of: signature.returns })
    }

    pub(super) fn number(&mut self, e: Expr) -> Result<String, NoForm> {
        let value = self.expr(e)?;
        converted(value, Type::Number)
    }

    /// Returns an expression as an operand.
    fn operand(&mut self, e: Expr, of: Type) -> Result<String, NoForm> {
        let value = self.expr(e)?;
        Ok(wrapped(converted(value, of)?))
    }

    /// Returns an expression in C.
    pub(super) fn expr(&mut self, e: Expr) -> Result<Typed, NoForm> {
        let of = self.types.expr(e)?;
        let text = match e.term() {
            // Only operations have one, and it is left out.
            ExprTerm::Val(Val::Way(_)) => String::new(),
            ExprTerm::Val(v) => literal(*v).ok_or_else(|| unsupported(e))?,
            ExprTerm::Var(var) => self.names[&var.number].clone(),
            ExprTerm::Arg(position, _) => self.args[*position].clone(),
            ExprTerm::Me => "me->thread".to_owned(),
            ExprTerm::AllNodes => "mw_all_nodes(all)".to_owned(),
            ExprTerm::AllThreads => "mw_all_threads(all)".to_owned(),
            ExprTerm::Tuple(parts) => {
                let parts = parts.iter().map(|e| self.number(*e)).collect::<Result<Vec<_>, _>>()?;
                format!("(struct mw_list){{ {}, {{ {} }} }}", parts.len(), parts.join(", "))
            }
            ExprTerm::Part(of, role, indices) => self.part(*of, role, indices)?,
            ExprTerm::Wid(of, role) => format!("{}{role}", self.holder(*of)?),
            ExprTerm::Of(function, of) => self.function(*function, *of)?,
            ExprTerm::Op(op, one, other) => self.operation(*op, *one, *other)?,
            ExprTerm::Ret | ExprTerm::Opaque(..) => return Err(unsupported(e)),
        };
        Ok(Typed { text, of })
    }

    /// Returns the structure that has the parts and identifiers of an object, or of the library: `x->` or `own->`.
    fn holder(&mut self, of: Expr) -> Result<String, NoForm> {
        match of.term() {
            ExprTerm::Val(Val::Loc(x)) if x.0 == self.library.name => {
                self.uses_own = true;
                Ok("own->".to_owned())
            }
            _ => {
                let object = self.expr(of)?;
                match object.of {
                    Type::Object(library) if library == self.library.name => Ok(field(&object.text, "")),
                    _ => Err(NoForm(format!("{of} is no object of {}", self.library.name))),
                }
            }
        }
    }

    fn part(&mut self, of: Expr, role: &'static str, indices: &[Expr]) -> Result<String, NoForm> {
        let holder = self.holder(of)?;
        let extents = self.library.extents.get(role).cloned().unwrap_or_default();
        let mut at = String::new();
        for (position, index) in indices.iter().enumerate() {
            let index = self.number(*index)?;
            at = match position {
                0 => index,
                _ => format!("({at}) * ({}) + {}", self.size(&extents[position], of)?, wrapped(index)),
            };
        }
        Ok(if indices.is_empty() { format!("&{holder}{role}") } else { format!("&{holder}{role}[{at}]") })
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
                _ if self.types.expr(*set)? == Type::Nodes => others.push("all->nodes + 1".to_owned()),
                _ => others.push("all->threads + 1".to_owned()),
            }
        }
        if literal > 0 || others.is_empty() {
            others.push(literal.to_string());
        }
        let all = others.into_iter().unique();
        Ok(all.reduce(|a, b| format!("mw_larger({a}, {b})")).expect("one at least"))
    }

    fn function(&mut self, function: Of, of: Expr) -> Result<String, NoForm> {
        let one = self.expr(of)?;
        Ok(match (function, one.of) {
            (Of::Node, Type::Object(_)) => field(&one.text, "node"),
            (Of::Node, _) if *of.term() == ExprTerm::Me => "me->node".to_owned(),
            (Of::Node, Type::Number) => format!("all->node_of[{}]", one.text),
            (Of::Nodes, Type::List) => format!("mw_nodes_of(all, {})", one.text),
            (Of::Members, Type::Object(_)) => field(&one.text, "members"),
            (Of::Size, Type::Object(_)) if self.types.has_words() => format!("{}.n", field(&one.text, "initial")),
            (Of::Size, Type::Object(_)) => field(&one.text, "size"),
            (Of::Initial, Type::Object(_)) => field(&one.text, "initial"),
            (Of::Numbered | Of::Number | Of::Thread | Of::Int, Type::Number) => one.text,
            (Of::Hash, Type::List) => format!("mw_checksum({})", one.text),
            (Of::Packed(widths), Type::List) => {
                format!("mw_packed({}, {}, {})", one.text, widths.len(), array(widths))
            }
            (Of::Unpacked(widths), Type::Number) => {
                format!("mw_unpacked({}, {}, {})", one.text, widths.len(), array(widths))
            }
            (Of::Servers, Type::Number) => format!("mw_servers(all, {})", one.text),
            (Of::First, Type::List) => format!("mw_first({})", one.text),
            (Of::Rest, Type::List) => format!("mw_rest({})", one.text),
            (Of::Reversed, Type::List) => format!("mw_reversed({})", one.text),
            (Of::Len, Type::List) => format!("{}.n", wrapped(one.text)),
            (Of::Len, Type::Number) => "1".to_owned(),
            (Of::Min, Type::List) => format!("mw_min({})", one.text),
            (Of::Min, Type::Nodes) => format!("mw_next({}, 0)", one.text),
            (Of::Max, Type::List) => format!("mw_max({})", one.text),
            (Of::Not, Type::Bool) => self.negated(of)?,
            (Of::Only, Type::Number) => format!("mw_only({})", one.text),
            _ => return Err(unsupported(of)),
        })
    }

    fn negated(&mut self, of: Expr) -> Result<String, NoForm> {
        match of.term() {
            ExprTerm::Op(Op::Lt, one, other) => {
                Ok(format!("{} >= {}", self.operand(*one, Type::Number)?, self.operand(*other, Type::Number)?))
            }
            _ => Ok(format!("!{}", self.operand(of, Type::Bool)?)),
        }
    }

    fn operation(&mut self, op: Op, one: Expr, other: Expr) -> Result<String, NoForm> {
        let symbol = match op {
            Op::Add => "+",
            Op::Sub => "-",
            Op::Lt => "<",
            Op::And => "&&",
            Op::Or => "||",
            _ => "",
        };
        let of = if matches!(op, Op::And | Op::Or) { Type::Bool } else { Type::Number };
        if !symbol.is_empty() {
            return Ok(format!("{} {symbol} {}", self.operand(one, of)?, self.operand(other, of)?));
        }
        let (a, b) = (self.expr(one)?, self.expr(other)?);
        Ok(match (op, a.of, b.of) {
            (Op::Div, Type::Number, Type::Number) => format!("mw_div({}, {})", a.text, b.text),
            (Op::Rem, Type::Number, Type::Number) => format!("mw_rem({}, {})", a.text, b.text),
            (Op::Eq, Type::Number | Type::Bottom, Type::Number | Type::Bottom)
            | (Op::Eq, Type::Bool, Type::Bool)
            | (Op::Eq, Type::Nodes, Type::Nodes) => format!("{} == {}", wrapped(a.text), wrapped(b.text)),
            (Op::Eq, Type::List, _) | (Op::Eq, _, Type::List) => {
                format!("mw_same({}, {})", converted(a, Type::List)?, converted(b, Type::List)?)
            }
            (Op::With, Type::Nodes, _) => format!("{} | {}", wrapped(a.text), nodes(b)?),
            (Op::Without, Type::Nodes, _) => format!("{} & ~{}", wrapped(a.text), nodes(b)?),
            (Op::Without, Type::List, Type::Number) => format!("mw_without({}, {})", a.text, b.text),
            (Op::Except, Type::List, Type::List) => format!("mw_except({}, {})", a.text, b.text),
            (Op::Item, Type::List, Type::Number) => format!("mw_item({}, {})", a.text, b.text),
            (Op::Range, Type::Number, Type::Number) => format!("mw_range({}, {})", a.text, b.text),
            (Op::In, Type::Number, Type::List) => format!("mw_in({}, {})", a.text, b.text),
            (Op::In, Type::Number, Type::Nodes) => format!("mw_has({}, {})", b.text, a.text),
            _ => return Err(NoForm(format!("{one} and {other} have no common form in C"))),
        })
    }
}

/// Returns a value as one of another type.
fn converted(value: Typed, to: Type) -> Result<String, NoForm> {
    Ok(match (value.of, to) {
        (of, to) if of == to => value.text,
        (Type::Never, _) => value.text,
        (Type::Bottom, Type::Number) => "MW_BOT".to_owned(),
        (Type::Bottom, Type::List) => "mw_bot()".to_owned(),
        (Type::Number, Type::List) => format!("mw_one({})", value.text),
        (Type::List, Type::Number) => {
            return Err(NoForm(format!("{} is a tuple, and a word of memory holds a number", value.text)));
        }
        (of, to) => return Err(NoForm(format!("{} is {of:?} and should be {to:?}", value.text))),
    })
}

/// Returns an array of numbers.
fn array(numbers: &[u8]) -> String {
    format!("(const int[]){{ {} }}", numbers.iter().join(", "))
}

/// Returns a field of the structure to which a pointer points.
fn field(pointer: &str, name: &str) -> String {
    match pointer.strip_prefix('&') {
        Some(structure) => format!("{structure}.{name}"),
        None => format!("{pointer}->{name}"),
    }
}

/// Returns a node, or a set of nodes, as a set.
fn nodes(value: Typed) -> Result<String, NoForm> {
    match value.of {
        Type::Nodes => Ok(wrapped(value.text)),
        Type::Number => Ok(format!("mw_only({})", value.text)),
        _ => Err(NoForm(format!("{} is no node", value.text))),
    }
}

fn literal(v: Val) -> Option<String> {
    Some(match v {
        Val::Int(i) if i64::from(i as i32) == i => i.to_string(),
        Val::Int(i64::MIN) => return None,
        Val::Int(i) => format!("INT64_C({i})"),
        Val::Bool(b) => b.to_string(),
        Val::Bot => "MW_BOT".to_owned(),
        Val::Node(n) => n.0.to_string(),
        Val::Thread(t) => t.0.to_string(),
        Val::NoWid => "0".to_owned(),
        Val::Unit => "(void)0".to_owned(),
        Val::Nodes(all) if all.is_empty() => "(mw_nodes)0".to_owned(),
        Val::Nodes(all) => all.iter().map(|n| format!("mw_only({n})")).join(" | "),
        Val::Tuple(all) => {
            let parts = all.parts().iter().map(|v| literal(*v)).collect::<Option<Vec<_>>>()?;
            format!("(struct mw_list){{ {}, {{ {} }} }}", parts.len(), parts.join(", "))
        }
        Val::Top | Val::Loc(_) | Val::Wid(_) | Val::Way(_) => return None,
    })
}
