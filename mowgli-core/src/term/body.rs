//! Bodies of methods as terms: what an implementation does for a call, built once for each method.
//!
//! An author writes a body with [`body!`], in the notation of the papers' figures. The macro makes a closure of each
//! `let`, and runs it once, with a fresh variable. A first-order term remains, which can be printed, compared, rewritten
//! and analysed. A [`Script`] is the same term for a thread to run.
//!
//! ```
//! use mowgli_core::term::body::bodies;
//! use mowgli_core::expr::{all_threads, me};
//! use mowgli_core::methods;
//!
//! methods! {
//!     /// Words of memory.
//!     enum Word of WORD = "word" {
//!         /// Reads a word.
//!         fn read = Read(x: Object) -> Value;
//!         /// Writes a word.
//!         fn write = Write(x: Object, v: Value);
//!     }
//! }
//! methods! {
//!     /// A barrier.
//!     enum Barrier of BARRIER = "barrier" {
//!         /// Waits for all threads.
//!         fn wait = Wait(x: Object);
//!     }
//! }
//!
//! let bodies = bodies! { Barrier:
//!     Wait { x } => {
//!         let v = Word::read(x.part("count", [me()]));
//!         Word::write(x.part("count", [me()]), v + 1);
//!         for t in (all_threads()) {
//!             loop { let seen = Word::read(x.part("count", [t])); if (seen > v) { break } }
//!         }
//!     }
//! };
//! assert_eq!(bodies.get("Wait").unwrap().to_string(), "\
//! let v = word::Read(x.count[me]);
//! word::Write(x.count[me], v + 1);
//! for t in all_threads {
//!   loop {
//!     let seen = word::Read(x.count[t]);
//!     if v < seen {
//!       break
//!     }
//!   }
//! }");
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use mowgli_judge::method::Method;

use crate::event::Call;
use crate::expr::{Expr, ExprTerm, Var, me};
use crate::ids::{Name, Tid};
pub use crate::term::call::CallTerm;
use crate::term::call::position;
use crate::term::script::{Script, StopPoints};
use crate::value::Val;
use crate::world::World;

/// A body, or a part of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body(Arc<Stmt>);

/// A body by its outermost statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stmt {
    /// A value.
    Value(Expr),
    /// A call of a library below.
    Call(CallTerm),
    /// `let x = p; q`, or `p; q`.
    Let(Option<Var>, Body, Body),
    /// `if e { p } else { q }`.
    If(Expr, Body, Body),
    /// `loop { p }`.
    Loop(Body),
    /// `break e`, out of the innermost loop.
    Break(Expr),
    /// `for x in s { p }`: for the nodes of a set, or the parts of a tuple, in order.
    For(Var, Expr, Body),
    /// The same, with the tuple of the values of `p` as its value.
    Collect(Var, Expr, Body),
}

impl From<Stmt> for Body {
    fn from(stmt: Stmt) -> Self {
        Self(Arc::new(stmt))
    }
}

impl<E: Into<Expr>> From<E> for Body {
    fn from(value: E) -> Self {
        Stmt::Value(value.into()).into()
    }
}

impl Body {
    /// The outermost statement.
    #[must_use]
    pub fn stmt(&self) -> &Stmt {
        &self.0
    }

    /// A call, which stands where this function is called.
    #[must_use]
    #[track_caller]
    pub fn call(library: Name, method: &'static str, args: impl IntoIterator<Item = Expr>) -> Self {
        let args = args.into_iter().collect();
        Stmt::Call(CallTerm { library, method, args, place: Location::caller().into() }).into()
    }

    /// The body that does nothing, with the value `()`.
    #[must_use]
    pub fn unit() -> Self {
        Val::Unit.into()
    }

    /// `loop {}`: what happens to a thread that makes a call that it may not make.
    #[must_use]
    pub fn never() -> Self {
        Self::unit().repeat()
    }

    /// The body if the calling thread is in this set; any other never returns.
    #[must_use]
    pub fn by(self, who: impl Into<Expr>) -> Self {
        Self::branch(me().is_in(who), self, Self::never())
    }

    /// `let name = self; rest`.
    #[must_use]
    pub fn bind(self, name: &'static str, rest: impl FnOnce(Expr) -> Self) -> Self {
        let var = Var::fresh(name);
        Self::sequence(Some(var), &self, rest(ExprTerm::Var(var).into()))
    }

    /// `self; rest`.
    #[must_use]
    pub fn then(self, rest: Self) -> Self {
        Self::sequence(None, &self, rest)
    }

    /// Returns `let var = first; rest`, or `first; rest`. The statements of `first` become statements of the whole, so
    /// the statement after each is the next one that is executed. A value that nobody uses is left out.
    pub(crate) fn sequence(var: Option<Var>, first: &Self, rest: Self) -> Self {
        match first.stmt() {
            Stmt::Let(inner, one, two) => Stmt::Let(*inner, one.clone(), Self::sequence(var, two, rest)).into(),
            Stmt::Value(_) if var.is_none() => rest,
            _ => Stmt::Let(var, first.clone(), rest).into(),
        }
    }

    /// Bodies in sequence, with the value `()`.
    #[must_use]
    pub fn all(bodies: impl IntoIterator<Item = Self, IntoIter: DoubleEndedIterator>) -> Self {
        bodies.into_iter().rev().fold(Self::unit(), |rest, body| body.then(rest))
    }

    /// `loop { self }`.
    #[must_use]
    pub fn repeat(self) -> Self {
        Stmt::Loop(self).into()
    }

    /// `break value`.
    #[must_use]
    pub fn leave(value: impl Into<Expr>) -> Self {
        Stmt::Break(value.into()).into()
    }

    /// `if condition { yes } else { no }`.
    #[must_use]
    pub fn branch(condition: impl Into<Expr>, yes: Self, no: Self) -> Self {
        Stmt::If(condition.into(), yes, no).into()
    }

    /// `for name in set { round }`.
    #[must_use]
    pub fn each(name: &'static str, set: impl Into<Expr>, round: impl FnOnce(Expr) -> Self) -> Self {
        let var = Var::fresh(name);
        Stmt::For(var, set.into(), round(ExprTerm::Var(var).into())).into()
    }

    /// `for name in set { round }`, with the tuple of the values of `round`.
    #[must_use]
    pub fn collect(name: &'static str, set: impl Into<Expr>, round: impl FnOnce(Expr) -> Self) -> Self {
        let var = Var::fresh(name);
        Stmt::Collect(var, set.into(), round(ExprTerm::Var(var).into())).into()
    }

    /// This body with others in place of calls. `change` sees each call from first to last, and gives nothing for one that stays.
    pub(crate) fn rewritten(&self, change: &mut dyn FnMut(&CallTerm) -> Option<Self>) -> Self {
        match self.stmt() {
            Stmt::Call(call) => change(call).unwrap_or_else(|| self.clone()),
            _ => self.map_parts(&mut |part| part.rewritten(change)),
        }
    }

    /// This body with others in place of the bodies directly inside it, from first to last.
    pub(crate) fn map_parts(&self, rewrite: &mut dyn FnMut(&Self) -> Self) -> Self {
        match self.stmt() {
            Stmt::Value(_) | Stmt::Call(_) | Stmt::Break(_) => self.clone(),
            Stmt::Let(var, first, rest) => {
                let first = rewrite(first);
                Self::sequence(*var, &first, rewrite(rest))
            }
            Stmt::If(condition, yes, no) => {
                let yes = rewrite(yes);
                Stmt::If(*condition, yes, rewrite(no)).into()
            }
            Stmt::Loop(round) => rewrite(round).repeat(),
            Stmt::For(x, set, round) => Stmt::For(*x, *set, rewrite(round)).into(),
            Stmt::Collect(x, set, round) => Stmt::Collect(*x, *set, rewrite(round)).into(),
        }
    }

    /// The bodies directly inside this one, from first to last.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Self> {
        let (one, other) = match self.stmt() {
            Stmt::Value(_) | Stmt::Call(_) | Stmt::Break(_) => (None, None),
            Stmt::Let(_, one, other) | Stmt::If(_, one, other) => (Some(one), Some(other)),
            Stmt::Loop(round) | Stmt::For(_, _, round) | Stmt::Collect(_, _, round) => (Some(round), None),
        };
        one.into_iter().chain(other)
    }

    /// This body with these arguments of its call, and with variables that no other body has.
    fn applied(&self, args: &[Expr]) -> Self {
        let mut vars = BTreeMap::new();
        self.renamed(args, &mut vars)
    }

    fn renamed(&self, args: &[Expr], vars: &mut BTreeMap<usize, Expr>) -> Self {
        let expr = |e: &Expr, vars: &BTreeMap<usize, Expr>| {
            e.replaced(&mut |term| match term {
                ExprTerm::Var(var) => vars.get(&var.number).copied(),
                ExprTerm::Arg(position, _) => Some(args[*position]),
                _ => None,
            })
        };
        let new = |var: &Var, vars: &mut BTreeMap<usize, Expr>| {
            let other = Var::fresh(var.name);
            vars.insert(var.number, ExprTerm::Var(other).into());
            other
        };
        match self.stmt() {
            Stmt::Value(e) => expr(e, vars).into(),
            Stmt::Call(call) => {
                let args = call.args.iter().map(|e| expr(e, vars)).collect();
                Stmt::Call(CallTerm { args, ..call.clone() }).into()
            }
            Stmt::Let(var, first, rest) => {
                let first = first.renamed(args, vars);
                let var = var.as_ref().map(|var| new(var, vars));
                Stmt::Let(var, first, rest.renamed(args, vars)).into()
            }
            Stmt::If(condition, yes, no) => {
                let condition = expr(condition, vars);
                let yes = yes.renamed(args, vars);
                Stmt::If(condition, yes, no.renamed(args, vars)).into()
            }
            Stmt::Loop(round) => round.renamed(args, vars).repeat(),
            Stmt::Break(e) => Stmt::Break(expr(e, vars)).into(),
            Stmt::For(x, set, round) => {
                let set = expr(set, vars);
                let x = new(x, vars);
                Stmt::For(x, set, round.renamed(args, vars)).into()
            }
            Stmt::Collect(x, set, round) => {
                let set = expr(set, vars);
                let x = new(x, vars);
                Stmt::Collect(x, set, round.renamed(args, vars)).into()
            }
        }
    }

    /// Visits the expressions of this body.
    pub fn expressions(&self, visit: &mut dyn FnMut(Expr)) {
        self.statements(&mut |body| match body.stmt() {
            Stmt::Value(e) | Stmt::Break(e) | Stmt::If(e, ..) | Stmt::For(_, e, _) | Stmt::Collect(_, e, _) => {
                visit(*e)
            }
            Stmt::Call(call) => call.args.iter().for_each(|e| visit(*e)),
            Stmt::Let(..) | Stmt::Loop(_) => {}
        });
    }

    /// Whether an expression of it has this variable.
    pub fn uses(&self, var: Var) -> bool {
        let mut is_used = false;
        self.expressions(&mut |e| e.each(&mut |e| is_used |= *e.term() == ExprTerm::Var(var)));
        is_used
    }

    /// The calls of this body, from first to last.
    #[must_use]
    pub fn calls(&self) -> Vec<CallTerm> {
        let mut all = Vec::new();
        self.statements(&mut |body| {
            all.extend(if let Stmt::Call(call) = body.stmt() { Some(call.clone()) } else { None })
        });
        all
    }

    /// Begins the numbers of variables after those of this body.
    pub(crate) fn number_on(&self) {
        let mut next = 0;
        self.statements(&mut |body| {
            if let Stmt::Let(Some(var), ..) | Stmt::For(var, ..) | Stmt::Collect(var, ..) = body.stmt() {
                next = next.max(var.number + 1);
            }
        });
        Var::number_from(next);
    }

    /// Visits this statement and all that it contains, from first to last.
    pub(crate) fn statements(&self, visit: &mut dyn FnMut(&Self)) {
        visit(self);
        self.parts().for_each(|part| part.statements(visit));
    }
}

impl From<CallTerm> for Body {
    fn from(call: CallTerm) -> Self {
        Stmt::Call(call).into()
    }
}

/// An argument of the call of a method of a table, by its name.
pub(crate) fn argument(table: &'static [Method], method: &str, name: &'static str) -> Expr {
    ExprTerm::Arg(position(table, method, name), name).into()
}

/// The bodies of the methods of a library.
#[derive(Clone, Default, Debug)]
pub struct Bodies {
    all: Vec<MethodBody>,
    /// The points at which a thread that may crash stops.
    stops: Option<StopPoints>,
}

/// The body of a method, and its code once somebody runs it. Copies share the code.
#[derive(Clone, Debug)]
struct MethodBody {
    method: &'static Method,
    body: Body,
    script: Arc<OnceLock<Script>>,
    stopping: Arc<OnceLock<Script>>,
}

impl MethodBody {
    fn of(method: &'static Method, body: Body) -> Self {
        Self { method, body, script: Arc::default(), stopping: Arc::default() }
    }
}

impl Bodies {
    /// These bodies, and that of one more method of a table, given the arguments with these names. It is built here, once.
    /// [`bodies!`] calls this.
    ///
    /// # Panics
    /// If the table has no such method, or the method no such argument.
    #[must_use]
    pub fn with(
        mut self,
        table: &'static [Method],
        name: &'static str,
        arguments: &[&'static str],
        body: impl FnOnce(&[Expr]) -> Body,
    ) -> Self {
        Var::number_from(0);
        let method = table.iter().find(|m| m.name == name).expect("a method of the table");
        let body = body(&arguments.iter().map(|of| argument(table, name, of)).collect::<Vec<_>>());
        self.all.push(MethodBody::of(method, body));
        self
    }

    /// The bodies that `change` makes of these.
    #[must_use]
    pub(crate) fn map(&self, mut change: impl FnMut(&'static str, &Body) -> Body) -> Self {
        let changed = |of: &MethodBody| {
            of.body.number_on();
            MethodBody::of(of.method, change(of.method.name, &of.body))
        };
        Self { all: self.all.iter().map(changed).collect(), stops: self.stops.clone() }
    }

    /// Returns the body of a call of one of the methods, which can replace the call in another body.
    ///
    /// # Panics
    /// If it is no call, or the method has no body.
    #[must_use]
    pub fn inlined(&self, call: &Body) -> Body {
        let Stmt::Call(call) = call.stmt() else { panic!("{call} is no call") };
        self.get(call.method).unwrap_or_else(|| panic!("there is no body of {call}")).applied(&call.args)
    }

    /// The body of a method.
    #[must_use]
    pub fn get(&self, method: &str) -> Option<&Body> {
        self.all.iter().find(|of| of.method.name == method).map(|of| &of.body)
    }

    /// The code of a call by a thread. A method without a body never returns.
    #[must_use]
    pub fn script(&self, world: &World, thread: Tid, call: &Call) -> Script {
        let Some(of) = self.all.iter().find(|of| of.method.name == call.method.text()) else { return Script::never() };
        match &self.stops {
            Some(points) if world.may_stop(thread) => {
                of.stopping.get_or_init(|| Script::stopping(&of.body, points.clone())).clone()
            }
            _ => of.script.get_or_init(|| Script::of(&of.body)).clone(),
        }
    }

    /// These bodies, in which a thread that may crash stops at these points.
    pub(crate) fn stopping(&self, points: StopPoints) -> Self {
        let again = |of: &MethodBody| MethodBody { stopping: Arc::default(), ..of.clone() };
        Self { all: self.all.iter().map(again).collect(), stops: Some(points) }
    }

    /// All, in the order in which they were given, with the names of their methods.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Body)> {
        self.all.iter().map(|of| (of.method.name, &of.body))
    }

    /// All, with their methods.
    pub(crate) fn by_method(&self) -> impl Iterator<Item = (&'static Method, &Body)> {
        self.all.iter().map(|of| (of.method, &of.body))
    }
}

/// The body as pseudo-code, in the notation of the papers. A variable whose name is that of something else that its scope uses has
/// another name.
impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0, &VarNames::new())
    }
}

/// The names of variables that are not printed by their own, by number.
type VarNames = BTreeMap<usize, Name>;

/// Returns an expression with these names.
fn renamed(e: Expr, names: &VarNames) -> Expr {
    e.replaced(&mut |term| match term {
        ExprTerm::Var(var) => {
            names.get(&var.number).map(|name| ExprTerm::Var(Var { name: name.text(), ..*var }).into())
        }
        _ => None,
    })
}

impl Body {
    /// Adds a name for a variable, if other variables or arguments that its scope uses are printed by its own.
    fn name_apart(&self, var: &Var, names: &mut VarNames) {
        let mut own = BTreeSet::from([var.number]);
        self.statements(&mut |body| {
            if let Stmt::Let(Some(var), ..) | Stmt::For(var, ..) | Stmt::Collect(var, ..) = body.stmt() {
                own.insert(var.number);
            }
        });
        let mut others = BTreeSet::new();
        self.expressions(&mut |e| {
            renamed(e, names).each(&mut |e| match e.term() {
                ExprTerm::Var(other) if !own.contains(&other.number) => _ = others.insert(other.name),
                ExprTerm::Arg(_, name) => _ = others.insert(name),
                _ => {}
            });
        });
        if others.contains(var.name) {
            let mut all = (2..).map(|n| Name::new(&format!("{}{n}", var.name)));
            names.insert(
                var.number,
                all.find(|name| !others.contains(name.text())).expect("there are more names than others"),
            );
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize, names: &VarNames) -> fmt::Result {
        let indent = "  ".repeat(depth);
        match self.stmt() {
            Stmt::Let(var, first, rest) => {
                let mut inside = names.clone();
                match var {
                    Some(var) => {
                        rest.name_apart(var, &mut inside);
                        let name = inside.get(&var.number).map_or(var.name, |name| name.text());
                        first.write_bound(f, depth, &format!("let {name} = "), names)?;
                    }
                    None => first.write(f, depth, names)?,
                }
                if *rest == Self::unit() {
                    return Ok(());
                }
                writeln!(f, ";")?;
                rest.write(f, depth, &inside)
            }
            _ => {
                f.write_str(&indent)?;
                self.write_bound(f, depth, "", names)
            }
        }
    }

    fn write_bound(&self, f: &mut fmt::Formatter<'_>, depth: usize, before: &str, names: &VarNames) -> fmt::Result {
        let indent = "  ".repeat(depth);
        if !before.is_empty() {
            write!(f, "{indent}{before}")?;
        }
        let block = |f: &mut fmt::Formatter<'_>, inside: &Self, names: &VarNames| {
            writeln!(f, "{{")?;
            inside.write(f, depth + 1, names)?;
            write!(f, "\n{indent}}}")
        };
        let expr = |e: &Expr| renamed(*e, names);
        match self.stmt() {
            Stmt::Value(e) => write!(f, "{}", expr(e)),
            Stmt::Call(call) => {
                write!(f, "{}", CallTerm { args: call.args.iter().map(expr).collect(), ..call.clone() })
            }
            Stmt::Let(..) => block(f, self, names),
            Stmt::If(condition, yes, no) => {
                write!(f, "if {} ", expr(condition))?;
                block(f, yes, names)?;
                if *no == Self::unit() {
                    return Ok(());
                }
                f.write_str(" else ")?;
                block(f, no, names)
            }
            Stmt::Loop(round) if *round == Self::unit() => f.write_str("loop {}"),
            Stmt::Loop(round) => {
                f.write_str("loop ")?;
                block(f, round, names)
            }
            Stmt::Break(e) if *e == Val::Unit.into() => f.write_str("break"),
            Stmt::Break(e) => write!(f, "break {}", expr(e)),
            Stmt::For(var, set, round) | Stmt::Collect(var, set, round) => {
                let mut inside = names.clone();
                round.name_apart(var, &mut inside);
                let name = inside.get(&var.number).map_or(var.name, |name| name.text());
                write!(f, "for {name} in {} ", expr(set))?;
                block(f, round, &inside)
            }
        }
    }
}

/// Bodies in the notation of the figures. A value `v` is an [`Expr`], and a statement is
/// anything that converts into a [`Body`].
///
/// | | |
/// |---|---|
/// | `p;`, `p` | a call, another body, or a value |
/// | `let v = p;` | the same, and its value is `v` from here on |
/// | `loop { .. }` | iterations of this until one breaks |
/// | `break`, `break v` | out of the innermost loop |
/// | `if (c) { .. } else { .. }` | the one or the other; nothing without `else` |
/// | `let v = if (c) { .. } else { .. };` | the value of the one or of the other |
/// | `for x in (s) { .. }` | once for each node of a set, or part of a tuple |
/// | `let all = for x in (s) { .. };` | the same, with the tuple of the values |
///
/// A condition is an expression, or two of them, each a name or in parentheses, with `==`, `!=`, `<`, `>`, `<=` or `>=` between
/// them:
///
/// ```compile_fail
/// # use mowgli_core::{expr::me, ids::Tid, term::body::body, value::Val};
/// body! { if (me() == Tid(1).into()) { Val::Unit } };
/// ```
///
/// does not compile, since `me()` is neither; `if ((me()) == (Tid(1)))` does.
#[macro_export]
macro_rules! body {
    () => { $crate::term::body::Body::unit() };
    (let $name:ident = $block:ident { $($body:tt)* }; $($rest:tt)*) => {
        $crate::term::body::Body::bind($crate::body!($block { $($body)* }), stringify!($name), |$name| $crate::body!($($rest)*))
    };
    (let $name:ident = for $x:ident in ($all:expr) { $($body:tt)+ }; $($rest:tt)*) => {
        $crate::term::body::Body::bind(
            $crate::term::body::Body::collect(stringify!($x), $all, |$x| $crate::body!($($body)+)),
            stringify!($name),
            |$name| $crate::body!($($rest)*),
        )
    };
    (let $name:ident = if ($($c:tt)+) { $($yes:tt)+ } else { $($no:tt)+ }; $($rest:tt)*) => {
        $crate::term::body::Body::bind(
            $crate::body!(if ($($c)+) { $($yes)+ } else { $($no)+ }),
            stringify!($name),
            |$name| $crate::body!($($rest)*),
        )
    };
    (loop { $($body:tt)* }) => { $crate::term::body::Body::repeat($crate::body!($($body)*)) };
    (loop { $($body:tt)* }; $($rest:tt)*) => {
        $crate::term::body::Body::then($crate::body!(loop { $($body)* }), $crate::body!($($rest)*))
    };
    (loop { $($body:tt)* } $($rest:tt)+) => {
        $crate::term::body::Body::then($crate::body!(loop { $($body)* }), $crate::body!($($rest)+))
    };
    (break $(;)?) => { $crate::term::body::Body::leave($crate::value::Val::Unit) };
    (break $v:expr $(;)?) => { $crate::term::body::Body::leave($v) };
    (if ($($c:tt)+) { $($yes:tt)+ } else { $($no:tt)+ }) => {
        $crate::term::body::Body::branch($crate::condition!($($c)+), $crate::body!($($yes)+), $crate::body!($($no)+))
    };
    (if ($($c:tt)+) { $($yes:tt)+ } else { $($no:tt)+ }; $($rest:tt)*) => {
        $crate::term::body::Body::then($crate::body!(if ($($c)+) { $($yes)+ } else { $($no)+ }), $crate::body!($($rest)*))
    };
    (if ($($c:tt)+) { $($yes:tt)+ } else { $($no:tt)+ } $($rest:tt)+) => {
        $crate::term::body::Body::then($crate::body!(if ($($c)+) { $($yes)+ } else { $($no)+ }), $crate::body!($($rest)+))
    };
    (if ($($c:tt)+) { $($yes:tt)+ }) => {
        $crate::term::body::Body::branch($crate::condition!($($c)+), $crate::body!($($yes)+), $crate::term::body::Body::unit())
    };
    (if ($($c:tt)+) { $($yes:tt)+ }; $($rest:tt)*) => {
        $crate::term::body::Body::then($crate::body!(if ($($c)+) { $($yes)+ }), $crate::body!($($rest)*))
    };
    (if ($($c:tt)+) { $($yes:tt)+ } $($rest:tt)+) => {
        $crate::term::body::Body::then($crate::body!(if ($($c)+) { $($yes)+ }), $crate::body!($($rest)+))
    };
    (for $x:ident in ($all:expr) { $($body:tt)+ }) => {
        $crate::term::body::Body::each(stringify!($x), $all, |$x| $crate::body!($($body)+))
    };
    (for $x:ident in ($all:expr) { $($body:tt)+ }; $($rest:tt)*) => {
        $crate::term::body::Body::then($crate::body!(for $x in ($all) { $($body)+ }), $crate::body!($($rest)*))
    };
    (for $x:ident in ($all:expr) { $($body:tt)+ } $($rest:tt)+) => {
        $crate::term::body::Body::then($crate::body!(for $x in ($all) { $($body)+ }), $crate::body!($($rest)+))
    };
    (let $name:ident = $p:expr; $($rest:tt)*) => {
        $crate::term::body::Body::bind($crate::term::body::Body::from($p), stringify!($name), |$name| $crate::body!($($rest)*))
    };
    ($p:expr; $($rest:tt)*) => {
        $crate::term::body::Body::then($crate::term::body::Body::from($p), $crate::body!($($rest)*))
    };
    ($p:expr) => { $crate::term::body::Body::from($p) };
}
pub use body;

/// A condition of [`body!`].
#[doc(hidden)]
#[macro_export]
macro_rules! condition {
    ($a:tt == $b:tt) => {
        $crate::expr::Expr::from($a).is($b)
    };
    ($a:tt != $b:tt) => {
        $crate::expr::Expr::from($a).is_not($b)
    };
    ($a:tt < $b:tt) => {
        $crate::expr::Expr::from($a).below($b)
    };
    ($a:tt > $b:tt) => {
        $crate::expr::Expr::from($a).above($b)
    };
    ($a:tt <= $b:tt) => {
        !$crate::expr::Expr::from($a).above($b)
    };
    ($a:tt >= $b:tt) => {
        !$crate::expr::Expr::from($a).below($b)
    };
    ($c:expr) => {
        $crate::term::body::is_a_term($c)
    };
}

/// A condition that is a term. A comparison in Rust is none: `v.first() == w` says whether the two are one expression. So it does
/// not compile where a condition is to stand.
#[doc(hidden)]
#[must_use]
pub fn is_a_term(condition: Expr) -> Expr {
    condition
}

/// The bodies of the methods of a table, as [`body!`] writes each. The compiler finds a misspelt method or argument. With
/// `by members(x)` behind the arguments only the threads of that set may make the call: any other never returns. With `static`
/// in front, the bodies are made once, and this is a reference to them.
#[macro_export]
macro_rules! bodies {
    (static $($all:tt)*) => {{
        static BODIES: ::std::sync::LazyLock<$crate::term::body::Bodies> = ::std::sync::LazyLock::new(|| $crate::bodies!($($all)*));
        &*BODIES
    }};
    ($Table:ident: $( $M:ident { $($x:ident),* $(, ..)? $(..)? } $(by $who:expr)? => { $($body:tt)* } )*) => {{
        #[allow(unused_variables, unused_mut, irrefutable_let_patterns, reason = "the compiler checks the names")]
        let check = |method: $Table| { $( if let $Table::$M { $($x,)* .. } = method {} )* };
        let _ = check;
        $crate::term::body::Bodies::default()
            $( .with($Table::TABLE, stringify!($M), &[$(stringify!($x)),*], |args: &[$crate::expr::Expr]| {
                let mut _args = args.iter().copied();
                $( let $x = _args.next().expect("an argument for each name"); )*
                $crate::body!($($body)*) $( .by($who) )?
            }) )*
    }};
}
pub use bodies;
