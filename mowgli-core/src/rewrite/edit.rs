//! Implementations made from others by edits of their bodies, for example broken variants and mutants.
//!
//! The published body stays as it is in the paper's figure, and a variant states the difference. An edit rewrites the
//! terms of the bodies. So one can print, edit and reason about the bodies of an edited implementation like any others.
//!
//! ```
//! use mowgli_core::term::body::bodies;
//! use mowgli_core::rewrite::edit::{Edits, calls};
//! use mowgli_core::term::implementation::Implementation;
//! use mowgli_core::methods;
//! use mowgli_core::simple::Over;
//!
//! methods! {
//!     /// Calls of a word.
//!     enum Word of WORD = "word" {
//!         /// Writes the word.
//!         fn write = Write(x: Object, v: Value);
//!         /// What was written before is in memory.
//!         fn fence = Fence();
//!     }
//! }
//! methods! {
//!     /// Calls of a lamp.
//!     enum Method of LAMP = "lamp" {
//!         /// Lights the lamp.
//!         fn light = Light(x: Object);
//!     }
//! }
//!
//! let published = Over::<Method>::terms(bodies! { Method:
//!     Light { x } => { Word::fence(); Word::write(x, 1); Word::fence() }
//! });
//! let no_fence = published.clone().without(calls!(Word::Fence {}).first());
//! let too_bright = published.clone().replace(calls!(Word::Write { x, .. } in Method::Light { .. } => Word::write(x, 2)));
//! let fence_first = published.clone().swap(calls!(Word::Write { v, .. } if v == 1.into()));
//! let body = |of: &dyn Implementation| of.bodies().unwrap().get("Light").unwrap().to_string();
//! assert_eq!(body(&no_fence), "word::Write(x, 1);\nword::Fence()");
//! assert_eq!(body(&too_bright), "word::Fence();\nword::Write(x, 2);\nword::Fence()");
//! assert_eq!(no_fence.edits(), ["without Word::Fence {}, number 1"]);
//!
//! // An edit that matches nothing does nothing, and that can be seen.
//! let dark = published.replace(calls!(Word::Write { x, v } if v == 3.into() => Word::write(x, 0)));
//! assert_eq!(dark.idle(), ["replace Word::Write { x, v } if v == 3.into() => Word::write(x, 0)"]);
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::calls;
use crate::expr::{Expr, ExprTerm, Var};
use crate::ids::Name;
use crate::rewrite::sites::Site;
use crate::term::body::{Bodies, Body, CallTerm, Stmt, argument};
use crate::term::implementation::Implementation;
use crate::term::lemma::Lemma;
use crate::term::method::Table;
use crate::term::parts::Parts;
use crate::world::World;

/// A partial function from calls to their replacements. It also gets the method whose body contains the call, and
/// whether the call is in a loop.
type CallPattern = Arc<dyn Fn(&'static str, bool, &CallTerm) -> Option<Body> + Send + Sync>;

/// The selected calls of a body, numbered from first to last, each with its replacement.
type Selected = BTreeMap<usize, Body>;

/// Calls in the bodies of an implementation, which [`calls!`] selects.
#[derive(Clone)]
pub struct Calls {
    text: String,
    pattern: CallPattern,
    nth: Option<usize>,
    /// The number of the only call that is selected, counted from the first call of the body.
    at: Option<usize>,
    in_loops: bool,
}

impl Calls {
    /// Selects the calls for which `pattern` returns a replacement. The pattern also gets the method whose body
    /// contains the call, and whether the call is in a loop. The text describes the selection.
    pub fn new(
        text: impl Into<String>,
        pattern: impl Fn(&'static str, bool, &CallTerm) -> Option<Body> + Send + Sync + 'static,
    ) -> Self {
        Self { text: text.into(), pattern: Arc::new(pattern), nth: None, at: None, in_loops: false }
    }

    /// Selects one call. It has no text.
    pub fn at(site: &Site, instead: impl Fn(&CallTerm) -> Body + Send + Sync + 'static) -> Self {
        let method = site.method;
        let pattern = move |own, _, call: &CallTerm| (own == method).then(|| instead(call));
        Self { at: Some(site.number), ..Self::new("", pattern) }
    }

    /// Selects only the first match in each body.
    #[must_use]
    pub fn first(self) -> Self {
        self.nth(0)
    }

    /// Selects only the match with this number in each body, counted from 0. Matches in a loop are counted from the
    /// beginning of the loop, and do not count for the statements after it.
    #[must_use]
    pub fn nth(self, nth: usize) -> Self {
        Self { text: format!("{}, number {}", self.text, nth + 1), nth: Some(nth), ..self }
    }

    /// Selects only matches in loops.
    #[must_use]
    pub fn in_loops(self) -> Self {
        Self { text: format!("{} in loops", self.text), in_loops: true, ..self }
    }

    /// Returns the calls of a body that are selected.
    fn selected(&self, own: &'static str, body: &Body) -> Selected {
        let mut selection = Selection { calls: self, own, number: 0, passed: 0, selected: Selected::new() };
        selection.visit(body, false);
        selection.selected
    }
}

/// A traversal of all calls of a body.
struct Selection<'a> {
    calls: &'a Calls,
    own: &'static str,
    /// The number of the next call.
    number: usize,
    /// The number of earlier calls that match the pattern.
    passed: usize,
    selected: Selected,
}

impl Selection<'_> {
    fn visit(&mut self, body: &Body, in_loop: bool) {
        match body.stmt() {
            Stmt::Call(call) => {
                let Calls { pattern, nth, at, in_loops, .. } = self.calls;
                let is_there = at.is_none_or(|at| at == self.number);
                if let Some(instead) = is_there.then(|| pattern(self.own, in_loop, call)).flatten() {
                    if nth.is_none_or(|nth| nth == self.passed) && (!in_loops || in_loop) {
                        self.selected.insert(self.number, instead);
                    }
                    self.passed += 1;
                }
                self.number += 1;
            }
            Stmt::Loop(round) => {
                let passed = self.passed;
                self.visit(round, true);
                self.passed = passed;
            }
            _ => body.parts().for_each(|part| self.visit(part, in_loop)),
        }
    }
}

/// True if a call belongs to a method of a table.
#[doc(hidden)]
#[must_use]
pub fn is_of<M: Table>(call: &CallTerm, method: &str) -> bool {
    call.method == method && M::OWNER.is_none_or(|library| library == call.library)
}

/// Returns an argument of a call of a method of a table.
#[doc(hidden)]
#[must_use]
pub fn arg<M: Table>(call: &CallTerm, name: &str) -> Expr {
    call.arg(M::METHODS, name)
}

/// Returns an argument of the call that the body implements.
#[doc(hidden)]
#[must_use]
pub fn own_arg<M: Table>(own: &str, name: &'static str) -> Expr {
    argument(M::METHODS, own, name)
}

/// Selects calls in the bodies of an implementation by patterns. The first pattern matches the call, the one after `in`
/// matches the call whose body contains it, and a condition may follow. The expression after `=>` is the replacement.
/// The patterns are those of the enums of `methods!`, so the compiler finds a misspelt method or argument. They bind
/// expressions. `|call|` binds the call itself, so that the replacement can make it.
///
/// ```
/// # use mowgli_core::{expr::here, expr::node, methods, rewrite::edit::calls, term::body::body};
/// # methods! {
/// #     /// Memory.
/// #     enum Memory of MEMORY = "memory" {
/// #         /// Writes.
/// #         fn write = Write(x: Object, v: Value);
/// #         /// Reads.
/// #         fn read = Read(x: Object) -> Value;
/// #     }
/// # }
/// # methods! {
/// #     /// A flag.
/// #     enum Method of FLAG = "flag" {
/// #         /// Raises.
/// #         fn raise = Raise(x: Object);
/// #     }
/// # }
/// let writes = calls!(Memory::Write { .. });
/// let all = calls!((Memory::Write { x, .. } | Memory::Read { x }) in Method::Raise { x: flag } if x != flag);
/// let first_of_raise = calls!(Memory::Write { .. } in Method::Raise { .. }).first();
/// let one_more = calls!(Memory::Read { x } => body! { let v = Memory::read(x); v + 1 });
/// let elsewhere = calls!(|call| Memory::Write { .. } in Method::Raise { x: flag } => body! {
///     if ((node(flag)) != (here())) { call }
/// });
/// ```
///
/// The compiler rejects a method that the table does not have:
///
/// ```compile_fail
/// # use mowgli_core::{methods, rewrite::edit::calls};
/// # methods! {
/// #     /// Memory.
/// #     enum Memory of MEMORY = "memory" {
/// #         /// Writes.
/// #         fn write = Write(x: Object, v: Value);
/// #     }
/// # }
/// let wirtes = calls!(Memory::Wirte { .. });
/// ```
#[macro_export]
macro_rules! calls {
    (@parse $name:ident $text:tt ($($T:ident::$M:ident $fields:tt)|+)
        $(in $O:ident::$N:ident $own:tt)? $(if $guard:expr)? $(=> $instead:expr)?
    ) => {
        $crate::calls!(@all $name $text [$($T $M $fields)+] [$($O $N $own)?] [$($guard)?] [$($instead)?])
    };
    (@parse $name:ident $text:tt $T:ident::$M:ident $fields:tt
        $(in $O:ident::$N:ident $own:tt)? $(if $guard:expr)? $(=> $instead:expr)?
    ) => {
        $crate::calls!(@all $name $text [$T $M $fields] [$($O $N $own)?] [$($guard)?] [$($instead)?])
    };
    (@parse $($other:tt)*) => {
        compile_error!("calls! is to have a pattern of a call, `in` a pattern of the call whose body it is, `if` a condition, \
            and `=>` what comes in its place; all but the first can be left out")
    };
    (@all $name:ident [$($text:tt)*] [$($T:ident $M:ident $fields:tt)+] $own:tt $guard:tt $instead:tt) => {
        $crate::rewrite::edit::Calls::new(
            stringify!($($text)*),
            move |method: &'static str, _: bool, term: &$crate::term::body::CallTerm| {
                $(
                    if $crate::rewrite::edit::is_of::<$T>(term, stringify!($M)) {
                        return $crate::calls!(@one method term $name $T $M $fields $own $guard $instead);
                    }
                )+
                None
            },
        )
    };
    (@one $method:ident $term:ident $name:ident $T:ident $M:ident {$($field:tt)*}
        [$($O:ident $N:ident {$($own:tt)*})?] [$($guard:expr)?] $instead:tt
    ) => {{
        #[allow(irrefutable_let_patterns, unused_variables, reason = "the compiler checks the names")]
        let check = |method: $T| if let $T::$M { $($field)* } = method {};
        let _ = check;
        $(
            #[allow(irrefutable_let_patterns, unused_variables, reason = "the compiler checks the names")]
            let check = |method: $O| if let $O::$N { $($own)* } = method {};
            let _ = check;
            if $method != stringify!($N) {
                return None;
            }
            $crate::calls!(@own $O $method; $($own)*);
        )?
        $crate::calls!(@fields $T $term; $($field)*);
        $( if !($guard) { return None; } )?
        #[allow(unused_variables, reason = "only some edits make the call itself")]
        let $name = $crate::term::body::Body::from($term.clone());
        $crate::calls!(@instead $instead)
    }};
    (@instead []) => { Some($crate::term::body::Body::unit()) };
    (@instead [$instead:expr]) => { Some($crate::term::body::Body::from($instead)) };
    (@fields $T:ident $term:ident; $(..)?) => {};
    (@fields $T:ident $term:ident; $field:ident: $name:ident $(, $($rest:tt)*)?) => {
        #[allow(unused_variables, reason = "a pattern may name what it does not look at")]
        let $name = $crate::rewrite::edit::arg::<$T>($term, stringify!($field));
        $crate::calls!(@fields $T $term; $($($rest)*)?);
    };
    (@fields $T:ident $term:ident; $field:ident $(, $($rest:tt)*)?) => {
        $crate::calls!(@fields $T $term; $field: $field $(, $($rest)*)?);
    };
    (@own $T:ident $method:ident; $(..)?) => {};
    (@own $T:ident $method:ident; $field:ident: $name:ident $(, $($rest:tt)*)?) => {
        #[allow(unused_variables, reason = "a pattern may name what it does not look at")]
        let $name = $crate::rewrite::edit::own_arg::<$T>($method, stringify!($field));
        $crate::calls!(@own $T $method; $($($rest)*)?);
    };
    (@own $T:ident $method:ident; $field:ident $(, $($rest:tt)*)?) => {
        $crate::calls!(@own $T $method; $field: $field $(, $($rest)*)?);
    };
    (|$name:ident| $($all:tt)*) => { $crate::calls!(@parse $name [|$name| $($all)*] $($all)*) };
    ($($all:tt)*) => { $crate::calls!(@parse _call [$($all)*] $($all)*) };
}

/// A change of the parts that an implementation declares.
type OtherParts = Arc<dyn Fn(&mut World) + Send + Sync>;

/// An implementation with one edit.
#[derive(Clone)]
pub struct Edited {
    of: Arc<dyn Implementation>,
    text: String,
    bodies: Option<Arc<Bodies>>,
    parts: Option<OtherParts>,
    /// The error in the edit, if there is one.
    mistake: Option<String>,
    differs: Arc<AtomicBool>,
}

impl Edited {
    /// Rewrites the bodies of an implementation. `change` returns the new body of a method, or the error in the edit.
    fn rewritten(
        of: Arc<dyn Implementation>,
        text: String,
        change: impl Fn(&'static str, &Body) -> Result<Body, String>,
    ) -> Self {
        let Some(before) = of.bodies() else {
            let mistake =
                Some(format!("`{text}` edits an implementation that has no bodies: write them with `bodies!`"));
            return Self { of, text, bodies: None, parts: None, mistake, differs: Arc::default() };
        };
        let mut mistake = None;
        let bodies = before.map(|method, body| {
            change(method, body).unwrap_or_else(|why| {
                mistake.get_or_insert(format!("`{text}` {why}"));
                body.clone()
            })
        });
        let differs = before.iter().zip(bodies.iter()).any(|(one, other)| one != other) || mistake.is_some();
        let differs = Arc::new(AtomicBool::new(differs));
        Self { of, text, bodies: Some(Arc::new(bodies)), parts: None, mistake, differs }
    }

    /// Whether the edit changes a body, or has changed parts that were declared.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.differs.load(Ordering::Relaxed)
    }
}

impl Implementation for Edited {
    fn target(&self) -> Name {
        self.of.target()
    }

    /// The parts are no terms any more if the edit changes them.
    fn parts(&self) -> Option<&Parts> {
        if self.parts.is_some() { None } else { self.of.parts() }
    }

    fn empty_parts(&self) -> Option<&Parts> {
        if self.parts.is_some() { None } else { self.of.empty_parts() }
    }

    fn declare(&self, world: &mut World) {
        self.of.add_objects(world);
        if let Some(change) = &self.parts {
            let before = world.objects.clone();
            change(world);
            if world.objects != before {
                self.differs.store(true, Ordering::Relaxed);
            }
        }
    }

    fn bodies(&self) -> Option<&Bodies> {
        self.bodies.as_deref().or_else(|| self.of.bodies())
    }

    fn lemmas(&self) -> Vec<Lemma> {
        self.of.lemmas()
    }

    fn edits(&self) -> Vec<String> {
        self.of.edits().into_iter().chain([self.text.clone()]).filter(|text| !text.is_empty()).collect()
    }

    fn mistake(&self) -> Option<String> {
        self.of.mistake().or_else(|| self.mistake.clone())
    }

    fn idle(&self) -> Vec<String> {
        let own = (!self.differs() && !self.text.is_empty()).then(|| self.text.clone());
        self.of.idle().into_iter().chain(own).collect()
    }
}

/// The edits.
pub trait Edits: Implementation + Sized + 'static {
    /// Removes calls, which then return `()`.
    #[must_use]
    fn without(self, calls: Calls) -> Edited {
        edited(self, "without", calls, |_, body, selected| {
            Ok(replaced(body, &selected.keys().map(|number| (*number, Body::unit())).collect()))
        })
    }

    /// Replaces calls by the expression after `=>`.
    #[must_use]
    fn replace(self, calls: Calls) -> Edited {
        edited(self, "replace", calls, |_, body, selected| Ok(replaced(body, selected)))
    }

    /// Exchanges each call with the statement that follows it.
    #[must_use]
    fn swap(self, calls: Calls) -> Edited {
        edited(self, "swap", calls, |_, body, selected| Ok(DelayWalk::of(selected).swapped(body)))
    }

    /// Moves calls with unused results to the end of the body, or of the round if they are in a loop.
    #[must_use]
    fn delay(self, calls: Calls) -> Edited {
        edited(self, "delay", calls, |own, body, selected| DelayWalk::of(selected).delayed(own, body))
    }

    /// Moves calls with unused results behind the next statement that makes one of `others`.
    #[must_use]
    fn delay_after(self, calls: Calls, others: Calls) -> Edited {
        edited(self, "delay", calls, move |own, body, selected| {
            DelayWalk { until: Some(&others.selected(own, body)), ..DelayWalk::of(selected) }.delayed(own, body)
        })
    }

    /// Removes the loops that begin with such a call.
    #[must_use]
    fn without_loops(self, calls: Calls) -> Edited {
        edited(self, "without the loops that begin with", calls, |_, body, selected| {
            Ok(DelayWalk::of(selected).without_loops(body))
        })
    }

    /// Returns the body of a call of one of its methods, which can replace the call in another body. Returns the empty
    /// body if there are no terms, because [`Implementation::mistake`] of an edit reports that.
    #[must_use]
    fn inlined(&self, call: &Body) -> Body {
        self.bodies().map_or_else(Body::unit, |all| all.inlined(call))
    }

    /// Replaces the bodies of some methods. The new bodies may contain the old ones by [`Edits::inlined`].
    #[must_use]
    fn with(self, what: &str, bodies: &Bodies) -> Edited {
        Edited::rewritten(Arc::new(self), what.to_owned(), |own, body| Ok(bodies.get(own).unwrap_or(body).clone()))
    }

    /// Changes the declared parts.
    #[must_use]
    fn declaring(self, what: &str, edit: impl Fn(&mut World) + Send + Sync + 'static) -> Edited {
        let (text, differs) = (what.to_owned(), Arc::default());
        Edited { of: Arc::new(self), text, bodies: None, parts: Some(Arc::new(edit)), mistake: None, differs }
    }
}

impl<I: Implementation + 'static> Edits for I {}

fn edited(
    of: impl Implementation + 'static,
    how: &str,
    calls: Calls,
    change: impl Fn(&'static str, &Body, &Selected) -> Result<Body, String>,
) -> Edited {
    let text = if calls.text.is_empty() { String::new() } else { format!("{how} {}", calls.text) };
    Edited::rewritten(Arc::new(of), text, |own, body| change(own, body, &calls.selected(own, body)))
}

/// Replaces the selected calls of a body.
fn replaced(body: &Body, selected: &Selected) -> Body {
    let mut numbers = 0..;
    body.rewritten(&mut |_| numbers.next().and_then(|number| selected.get(&number).cloned()))
}

/// A traversal of a body that moves the selected calls.
struct DelayWalk<'a> {
    selected: &'a Selected,
    /// The calls after which the delayed calls are made; `None` for the end of the body.
    until: Option<&'a Selected>,
    /// The number of the next call.
    number: usize,
    /// A call that would be made where its result, or a result that it needs, is not known.
    misplaced: Option<CallTerm>,
}

/// The statements taken out of a body, to be made later.
type Later = Option<Body>;

fn both(one: Later, other: Later) -> Later {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.then(other)),
        (one, other) => one.or(other),
    }
}

/// Puts the delayed statements before a body.
fn before(later: Later, body: Body) -> Body {
    match later {
        Some(later) => later.then(body),
        None => body,
    }
}

/// Puts the delayed statements after a body, and keeps the value of the body.
fn after(body: Body, later: Later) -> Body {
    let Some(later) = later else { return body };
    let value = Var::fresh("v");
    Body::sequence(Some(value), &body, later.then(Expr::from(ExprTerm::Var(value)).into()))
}

impl<'a> DelayWalk<'a> {
    fn of(selected: &'a Selected) -> Self {
        Self { selected, until: None, number: 0, misplaced: None }
    }

    /// Advances to the next call and returns whether it is selected.
    fn is_next(&mut self) -> bool {
        self.number += 1;
        self.selected.contains_key(&(self.number - 1))
    }

    /// Rewrites each part of a compound statement.
    fn parts(&mut self, body: &Body, rewrite: fn(&mut Self, &Body) -> Body) -> Body {
        self.number += usize::from(matches!(body.stmt(), Stmt::Call(_)));
        body.map_parts(&mut |part| rewrite(self, part))
    }

    fn without_loops(&mut self, body: &Body) -> Body {
        if let Stmt::Loop(round) = body.stmt()
            && self.selected.contains_key(&self.number)
        {
            self.number += round.calls().len();
            return Body::unit();
        }
        self.parts(body, Self::without_loops)
    }

    fn swapped(&mut self, body: &Body) -> Body {
        match body.stmt() {
            Stmt::Let(var, first, rest) if matches!(first.stmt(), Stmt::Call(_)) => {
                let is_it = self.is_next();
                let rest = self.swapped(rest);
                let later = Later::Some(first.clone()).filter(|_| is_it);
                let is_used = |body: &Body| var.is_some_and(|var| body.uses(var));
                later
                    .and_then(|call| exchanged(*var, &call, &rest, &is_used))
                    .unwrap_or_else(|| Body::sequence(*var, first, rest))
            }
            _ => self.parts(body, Self::swapped),
        }
    }

    /// Returns the body of a method in which the selected calls are made later.
    fn delayed(mut self, own: &'static str, body: &Body) -> Result<Body, String> {
        let delayed = self.later(body, None);
        match self.misplaced {
            None => Ok(delayed),
            Some(call) => Err(format!(
                "delays {call} in the body of {own}, which uses its result before the call is made, or makes it where \
                 something that it needs is not known: delay only calls whose results are not used, or write the body anew \
                 with `with`"
            )),
        }
    }

    /// Rewrites a sequence of statements, so that the calls taken out before it are made at its end.
    fn later(&mut self, body: &Body, later: Later) -> Body {
        match body.stmt() {
            Stmt::Value(_) | Stmt::Break(_) => before(later, body.clone()),
            Stmt::Let(var, first, rest) => {
                let number = self.number;
                let (first, taken) = self.taken(first, &later);
                if let (Some(var), Some(taken)) = (var, &taken)
                    && rest.uses(*var)
                {
                    self.misplaced = taken.calls().into_iter().next();
                }
                let ends = self.until.is_some_and(|until| until.range(number..self.number).next().is_some());
                let (now, later) = if ends { (later, taken) } else { (None, both(later, taken)) };
                Body::sequence(*var, &first, before(now, self.later(rest, later)))
            }
            Stmt::If(condition, yes, no) => {
                let yes = self.later(yes, later.clone());
                Stmt::If(*condition, yes, self.later(no, later)).into()
            }
            // This call is the last statement here.
            Stmt::Call(_) => {
                self.number += 1;
                after(body.clone(), later)
            }
            Stmt::Loop(_) | Stmt::For(..) | Stmt::Collect(..) => {
                let (body, taken) = self.taken(body, &None);
                after(body, both(later, taken))
            }
        }
    }

    /// Returns a statement without its selected calls, and these calls. Before a break out of a loop, the calls taken
    /// out earlier are made.
    fn taken(&mut self, body: &Body, earlier: &Later) -> (Body, Later) {
        let inside = self.number..self.number + body.calls().len();
        let ends_inside = self.until.is_some_and(|until| until.range(inside).next().is_some());
        match body.stmt() {
            // A call that is delayed until after a call inside stays inside.
            Stmt::Let(..) | Stmt::If(..) if ends_inside => (self.later(body, None), None),
            Stmt::For(..) | Stmt::Collect(..) if ends_inside => {
                (self.parts(body, |walk, round| walk.later(round, None)), None)
            }
            Stmt::Value(_) => (body.clone(), None),
            Stmt::Break(_) => (before(earlier.clone(), body.clone()), None),
            Stmt::Call(_) if self.is_next() => (Body::unit(), Some(body.clone())),
            Stmt::Call(_) => (body.clone(), None),
            Stmt::Let(var, first, rest) => {
                let (first, one) = self.taken(first, earlier);
                let (rest, other) = self.taken(rest, earlier);
                let needs = |later: &Later| var.is_some_and(|var| later.as_ref().is_some_and(|later| later.uses(var)));
                if needs(&other) || one.is_some() && var.is_some_and(|var| rest.uses(var)) {
                    self.misplaced = other.as_ref().or(one.as_ref()).and_then(|later| later.calls().into_iter().next());
                }
                (Body::sequence(*var, &first, rest), both(one, other))
            }
            Stmt::If(condition, yes, no) => {
                let (yes, one) = self.taken(yes, earlier);
                let (no, other) = self.taken(no, earlier);
                let later = (one.is_some() || other.is_some()).then(|| {
                    let [one, other] = [one, other].map(|later| later.unwrap_or_else(Body::unit));
                    Stmt::If(*condition, one, other).into()
                });
                (Stmt::If(*condition, yes, no).into(), later)
            }
            // A selected call in an iteration is made at the end of the iteration, because it belongs to each of them.
            Stmt::Loop(round) => (self.later(round, None).repeat(), None),
            Stmt::For(x, set, round) => {
                let (round, later) = self.taken(round, earlier);
                let later = later.map(|later| Stmt::For(*x, *set, later).into());
                let is_empty = round == Body::unit();
                (if is_empty { Body::unit() } else { Stmt::For(*x, *set, round).into() }, later)
            }
            Stmt::Collect(x, set, round) => {
                let (round, later) = self.taken(round, earlier);
                (Stmt::Collect(*x, *set, round).into(), later.map(|later| Stmt::For(*x, *set, later).into()))
            }
        }
    }
}

/// Puts a call after the statement that follows it, unless that uses the call's result, which `is_used` decides.
fn exchanged(var: Option<Var>, call: &Body, rest: &Body, is_used: &dyn Fn(&Body) -> bool) -> Option<Body> {
    match rest.stmt() {
        Stmt::Let(other, next, rest) if !is_used(next) => {
            let rest = match next.stmt() {
                // The call must pass one more statement, because a value is not an operation.
                Stmt::Value(_) => exchanged(var, call, rest, is_used)?,
                _ => Body::sequence(var, call, rest.clone()),
            };
            Some(Body::sequence(*other, next, rest))
        }
        Stmt::Let(..) | Stmt::Value(_) | Stmt::Break(_) => None,
        _ if is_used(rest) => None,
        _ => Some(after(rest.clone(), Some(call.clone()))),
    }
}
