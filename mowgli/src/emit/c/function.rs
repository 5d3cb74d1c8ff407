//! The statements of a C function, and the notation of C.

use itertools::Itertools;
use mowgli_core::expr::{Expr, ExprTerm, Op, Var};
use mowgli_core::ids::Name;
use mowgli_core::term::body::{Body, Stmt};

use super::names::{c_function_name, c_name, type_name};
use crate::emit::function::{Around, FunctionWriter, Syntax, Typed, converted, diverges, sides};
use crate::emit::library::has_word;
use crate::emit::text::{free, is_name, is_nothing, wrapped};
use crate::emit::types::{NoForm, Row, Type};

/// C11.
pub(super) struct C;

/// The text of a C function.
pub(super) type CFunction<'a> = FunctionWriter<'a, C>;

/// The destination of the value of a statement.
#[derive(Clone, Debug)]
pub(super) enum CTarget {
    /// Nobody uses it.
    Nowhere,
    /// It is the result of the function.
    Returned(Type),
    /// A variable gets it.
    Variable(String, Type),
    /// It is added to a list.
    Added(String),
}

impl CTarget {
    /// True if the value needs no code.
    fn is_ignored(&self) -> bool {
        matches!(self, Self::Nowhere | Self::Returned(Type::Unit))
    }
}

impl Syntax for C {
    type Target = CTarget;
    const COLUMN: usize = 0;
    const INDENT: &'static str = "\t";
    const TAKEN: &'static [&'static str] = &[
        "me", "all", "own", "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double",
        "else", "enum", "float", "for", "goto", "if", "int", "new", "return", "switch", "while",
    ];
    const HAS_BARE_SUMS: bool = false;

    fn integer(i: i64) -> String {
        if i64::from(i as i32) == i { i.to_string() } else { format!("INT64_C({i})") }
    }

    fn tuple(parts: &[String]) -> String {
        format!("(struct mw_list){{ {}, {{ {} }} }}", parts.len(), parts.join(", "))
    }

    fn access(text: &str) -> String {
        match text.strip_prefix('&') {
            Some(structure) => format!("{structure}."),
            None => format!("{text}->"),
        }
    }

    fn part(field: String, at: Option<String>, _: Type) -> String {
        let at = at.map(|at| format!("[{at}]")).unwrap_or_default();
        format!("&{field}{at}")
    }

    fn index(at: String, size: String, next: String) -> String {
        format!("({at}) * ({size}) + {}", wrapped(next))
    }

    fn lent(value: Typed, to: Type) -> Result<String, NoForm> {
        converted::<Self>(value, to)
    }

    fn owned(value: Typed, to: Type) -> Result<String, NoForm> {
        converted::<Self>(value, to)
    }

    fn call(library: Name, method: &str, args: Vec<String>) -> String {
        format!("{}({})", c_function_name(library, method), ["me".to_owned()].into_iter().chain(args).join(", "))
    }

    fn making(library: Name, name: &str, args: Vec<String>) -> String {
        let args = ["all".to_owned(), name.to_owned()].into_iter().chain(args).join(", ");
        format!("{}_new({args});", c_name(library))
    }

    fn head(
        this: &mut CFunction<'_>,
        (var, is_used): (Var, bool),
        set: Expr,
    ) -> Result<(String, String, Option<String>), NoForm> {
        let name = free(&mut this.used, var.name);
        if let ExprTerm::Op(Op::Range, from, to) = set.term() {
            let (from, to) = (this.number(*from)?, this.number(*to)?);
            let head = format!("for (int64_t {name} = {from}; {name} < {to}; {name}++) {{");
            return Ok((name, head, None));
        }
        let all = this.expr(set)?;
        match all.of {
            Type::Nodes => {
                let head = format!("for (int64_t {name} = 0; ({name} = mw_next({}, {name}));) {{", all.text);
                Ok((name, head, None))
            }
            Type::List => {
                let list = if is_name(&all.text) { all.text } else { this.kept(&all.text) };
                let at = free(&mut this.used, "i");
                let head = format!("for (int {at} = 0; {at} < {list}.n; {at}++) {{");
                let first = is_used.then(|| format!("int64_t {name} = {list}.at[{at}];"));
                Ok((name, head, first))
            }
            _ => Err(NoForm(format!("a loop over {set} has no form in C or Rust"))),
        }
    }
}

impl CFunction<'_> {
    /// Returns the statements of a body whose value the function returns.
    pub(super) fn returning(mut self, body: &Body, of: Type) -> Result<String, NoForm> {
        self.statement(body, &CTarget::Returned(of))?;
        let word = &self.library.word;
        let own = format!("\tstruct {word}_own *own = all->own[{}_OWN];\n", word.to_uppercase());
        Ok(format!("{}{}", if has_word(&self.out, "own") { &own } else { "" }, self.out))
    }

    fn statement(&mut self, body: &Body, target: &CTarget) -> Result<(), NoForm> {
        match body.stmt() {
            Stmt::Value(e) => self.value(*e, target),
            Stmt::Call(call) => {
                let value = self.call(call)?;
                self.keep(value, target)
            }
            // Nothing follows a value that never comes.
            Stmt::Let(Some(var), first, rest) if rest.uses(*var) && self.types.vars[&var.number] == Type::Never => {
                self.statement(first, &CTarget::Nowhere)
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
                self.each((*var, round.uses(*var)), *set, &mut |this| this.statement(round, &CTarget::Nowhere))
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
            return self.statement(first, &CTarget::Nowhere);
        };
        let name = free(&mut self.used, var.name);
        self.names.insert(var.number, name.clone());
        let value = match first.stmt() {
            Stmt::Value(e) => self.expr(*e)?,
            Stmt::Call(call) => self.call(call)?,
            Stmt::Collect(var, set, round) if of == Type::Row => return self.row(&name, &Row::of(*var, *set, round)?),
            Stmt::Collect(var, set, round) => return self.gather(&name, *var, *set, round),
            _ => {
                self.line(&format!("{type_name}{name};"));
                return self.statement(first, &CTarget::Variable(name, of));
            }
        };
        let value = converted::<C>(value, of)?;
        self.line(&format!("{type_name}{name} = {value};"));
        Ok(())
    }

    fn value(&mut self, e: Expr, target: &CTarget) -> Result<(), NoForm> {
        if target.is_ignored() {
            return Ok(());
        }
        let value = self.expr(e)?;
        self.keep(value, target)
    }

    /// Writes the use of a value.
    fn keep(&mut self, value: Typed, target: &CTarget) -> Result<(), NoForm> {
        let text = match target {
            CTarget::Nowhere | CTarget::Returned(Type::Unit) => format!("{};", value.text),
            CTarget::Returned(of) => format!("return {};", converted::<C>(value, *of)?),
            CTarget::Variable(name, of) => format!("{name} = {};", converted::<C>(value, *of)?),
            CTarget::Added(list) => format!("mw_add(&{list}, {});", converted::<C>(value, Type::Number)?),
        };
        self.line(&text);
        Ok(())
    }

    fn branch(&mut self, condition: Expr, yes: &Body, no: &Body, target: &CTarget) -> Result<(), NoForm> {
        let Some((condition, yes, no)) = sides((condition, yes, no), target.is_ignored()) else { return Ok(()) };
        let condition = self.condition(condition)?;
        self.line(&format!("if ({condition}) {{"));
        self.block(|this| this.statement(yes, target))?;
        if let Some(no) = no {
            self.line("} else {");
            self.block(|this| this.statement(no, target))?;
        }
        self.line("}");
        Ok(())
    }

    fn repeat(&mut self, round: &Body, target: &CTarget) -> Result<(), NoForm> {
        self.line("for (;;) {");
        self.loops.push(Around { target: target.clone(), inner: 0, label: None });
        self.block(|this| {
            this.statement(round, &CTarget::Nowhere)?;
            if !diverges(round) {
                this.line("mw_again(me);");
            }
            Ok(())
        })?;
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
            return Err(NoForm("a break outside of loops has no form in C or Rust".to_owned()));
        };
        let (target, inner) = (around.target.clone(), around.inner);
        match target {
            CTarget::Returned(Type::Unit) => {
                self.line("return;");
                return Ok(());
            }
            CTarget::Returned(_) => return self.value(e, &target),
            _ => self.value(e, &target)?,
        }
        let leave = if inner == 0 { "break;".to_owned() } else { format!("goto end_{};", self.label()) };
        self.line(&leave);
        Ok(())
    }

    /// Writes a list into a variable of its own, so that a loop over it computes it once.
    fn kept(&mut self, list: &str) -> String {
        let name = free(&mut self.used, "each");
        self.line(&format!("struct mw_list {name} = {list};"));
        name
    }

    fn collect(&mut self, var: Var, set: Expr, round: &Body, target: &CTarget) -> Result<(), NoForm> {
        if target.is_ignored() {
            return self.each((var, round.uses(var)), set, &mut |this| this.statement(round, &CTarget::Nowhere));
        }
        let name = free(&mut self.used, "found");
        self.gather(&name, var, set, round)?;
        self.keep(Typed { text: name, of: Type::List }, target)
    }

    /// Declares a list with the values of a round for each element of a set.
    fn gather(&mut self, name: &str, var: Var, set: Expr, round: &Body) -> Result<(), NoForm> {
        self.line(&format!("struct mw_list {name} = mw_none();"));
        self.each((var, round.uses(var)), set, &mut |this| this.statement(round, &CTarget::Added(name.to_owned())))
    }

    /// Declares words in a row: the first of them, and their number.
    fn row(&mut self, name: &str, row: &Row<'_>) -> Result<(), NoForm> {
        let (field, at) = self.field(row.of, row.role, &[row.indices, &[row.from]].concat())?;
        let first = C::part(field, at, Type::Row);
        let (from, to) = (self.operand(row.from, Type::Number)?, self.operand(row.to, Type::Number)?);
        self.line(&format!("struct mw_row {name} = {{ {first}, {to} - {from} }};"));
        Ok(())
    }
}
