//! Implementations that are made of others by edits of their bodies: what a broken variant is, and a mutant.
//!
//! The published body stands as it is in the figure; a variant says what is different.
//!
//! ```
//! use mowgli_core::edit::{Edits, calls};
//! use mowgli_core::event::Call;
//! use mowgli_core::ids::{Loc, Tid};
//! use mowgli_core::implementation::Implementation;
//! use mowgli_core::methods;
//! use mowgli_core::program::prog;
//! use mowgli_core::simple::Over;
//! use mowgli_core::world::World;
//!
//! methods! {
//!     /// What can be done with a word.
//!     enum Word of WORD = "word" {
//!         /// Writes the word.
//!         fn write = Write(x: Object, v: Value);
//!         /// What was written before is in memory.
//!         fn fence = Fence();
//!     }
//! }
//! methods! {
//!     /// What can be done with a lamp.
//!     enum Method of LAMP = "lamp" {
//!         /// Lights the lamp.
//!         fn light = Light(x: Object);
//!     }
//! }
//!
//! let published = Over::new(|_, _, Method::Light { x }| prog! { fence(); write(x, 1); fence() });
//! let no_fence = published.clone().without(calls!(Word::Fence {}).first());
//! let too_bright = published.clone().replace(calls!(Word::Write { x, .. } in Method::Light { .. } => write(x, 2)));
//! let fence_first = published.clone().swap(calls!(Word::Write { v, .. } if v == 1.into()));
//!
//! // An edit that matches nothing does nothing, and that can be seen.
//! let dark = published.replace(calls!(Word::Write { x, v } if v == 3.into() => write(x, 0)));
//! let light = Call::from(Method::Light { x: Loc::new("x") });
//! let _ = dark.body(&World::new(1, &[]), Tid(1), &light);
//! assert_eq!(no_fence.edits(), ["without Word::Fence {}, number 1"]);
//! assert_eq!(dark.idle(), ["replace Word::Write { x, v } if v == 3.into() => write(x, 0)"]);
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::calls;
use crate::event::Call;
use crate::ids::{Name, Tid};
use crate::implementation::Implementation;
use crate::lemma::Lemma;
use crate::method::Table;
use crate::program::{LONGEST, Prog};
use crate::soundness::sites::{Child, Site};
use crate::value::Val;
use crate::world::World;

/// Whose body is edited.
#[derive(Clone, Debug)]
pub struct Here {
    /// The world, with the parts of the implementation.
    pub world: Arc<World>,
    /// The thread.
    pub thread: Tid,
    /// The call that the body is of.
    pub call: Call,
    /// Whether it is in a loop of the body.
    pub in_loop: bool,
}

/// What comes in place of a call; nothing if it stays.
pub type Instead = Arc<dyn Fn(&Here, &Call) -> Option<Prog> + Send + Sync>;

/// Calls in the bodies of an implementation, which [`calls!`] selects.
#[derive(Clone)]
pub struct Calls {
    text: String,
    instead: Instead,
    nth: Option<usize>,
    in_loops: bool,
}

impl Calls {
    /// Those of which `instead` says what comes in their place; the text says which these are.
    pub fn new(
        text: impl Into<String>,
        instead: impl Fn(&Here, &Call) -> Option<Prog> + Send + Sync + 'static,
    ) -> Self {
        Self { text: text.into(), instead: Arc::new(instead), nth: None, in_loops: false }
    }

    /// The first of them in each run of a body.
    #[must_use]
    pub fn first(self) -> Self {
        self.nth(0)
    }

    /// The one before which there are so many in each run of a body. Those in a loop are counted from where the loop begins,
    /// and not for what follows it.
    #[must_use]
    pub fn nth(self, nth: usize) -> Self {
        Self { text: format!("{}, number {}", self.text, nth + 1), nth: Some(nth), ..self }
    }

    /// Those in loops.
    #[must_use]
    pub fn in_loops(self) -> Self {
        Self { text: format!("{} in loops", self.text), in_loops: true, ..self }
    }

    fn has(&self, here: &Here, call: &Call) -> bool {
        (self.instead)(here, call).is_some()
    }

    /// True if the call is selected before which so many alike have passed.
    fn selects(&self, here: &Here, passed: usize) -> bool {
        self.nth.is_none_or(|nth| nth == passed) && (!self.in_loops || here.in_loop)
    }
}

/// The method of a call as a pattern of [`calls!`] has it.
#[doc(hidden)]
pub fn method<M: Table>(call: &Call) -> Option<M> {
    M::try_of(call)
}

/// Selects calls in the bodies of an implementation: those that match a pattern, in the body of a call that matches another
/// one, if a condition holds. With `=>` it is said what comes in their place. Patterns are of the enums of `methods!`, so the
/// compiler finds a misspelt method or argument. `|here|` gives a name to the [`Here`] that they are in.
///
/// ```
/// # use mowgli_core::{edit::calls, methods};
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
/// let first_of_raise = calls!(Memory::Write { .. } in Method::Raise { .. }).first();
/// let one_more = calls!(Memory::Read { x } => read(x).map(|v| v.plus(1).unwrap_or(v)));
/// let on_one_node = calls!(|here| Memory::Write { .. } in Method::Raise { x: flag } if here.world.home(flag).is_some());
/// ```
///
/// A method that there is not:
///
/// ```compile_fail
/// # use mowgli_core::{edit::calls, methods};
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
    (@ $here:ident [$($text:tt)*] $call:pat_param $(in $own:pat_param)? $(if $guard:expr)?) => {
        $crate::calls!(@ $here [$($text)*] $call $(in $own)? $(if $guard)? => $crate::program::Prog::unit())
    };
    (@ $here:ident [$($text:tt)*] $call:pat_param $(in $own:pat_param)? $(if $guard:expr)? => $instead:expr) => {
        $crate::edit::Calls::new(
            stringify!($($text)*),
            #[allow(irrefutable_let_patterns, unused_variables, reason = "a table may have one method")]
            move |$here: &$crate::edit::Here, call: &$crate::event::Call| {
                $( let $own = $crate::edit::method(&$here.call)? else { return None }; )?
                let $call = $crate::edit::method(call)? else { return None };
                $( if !($guard) { return None } )?
                Some($instead)
            },
        )
    };
    (|$here:ident| $($all:tt)*) => { $crate::calls!(@ $here [$($all)*] $($all)*) };
    (@ $($other:tt)*) => {
        compile_error!("calls! is to have a pattern of a call, `in` a pattern of the call whose body it is, `if` a condition, \
            and `=>` what comes in its place; all but the first can be left out")
    };
    ($($all:tt)*) => { $crate::calls!(@ _here [$($all)*] $($all)*) };
}

/// What becomes of an operation.
#[derive(Clone)]
pub enum Change {
    /// Something else comes in its place.
    Instead(Instead),
    /// It comes after the call that follows it, if that is the same for each of these results.
    Swap(Vec<Val>),
    /// It comes after the next of these calls, or at the end of the body; in a loop, of the round.
    Delay(Option<Calls>),
    /// The loop that begins with it is left out.
    LeaveLoopOut,
}

/// Which operations are changed.
#[derive(Clone)]
enum At {
    Site(Site),
    Calls(Calls),
}

type Body = Arc<dyn Fn(&Here, &dyn Fn(Call) -> Prog) -> Option<Prog> + Send + Sync>;

#[derive(Clone)]
enum Edit {
    /// Operations are changed.
    Operations(At, Change),
    /// A body is replaced, by one that is made of others.
    Body(Body),
    /// Parts are declared otherwise.
    Parts(Arc<dyn Fn(&mut World) + Send + Sync>),
}

/// An implementation with one edit.
#[derive(Clone)]
pub struct Edited {
    of: Arc<dyn Implementation>,
    text: String,
    edit: Edit,
    differs: Arc<AtomicBool>,
}

impl Edited {
    fn new(of: impl Implementation + 'static, text: impl Into<String>, edit: Edit) -> Self {
        Self { of: Arc::new(of), text: text.into(), edit, differs: Arc::default() }
    }

    /// The implementation with a change of the operation at a site.
    #[must_use]
    pub fn at(of: Arc<dyn Implementation>, site: Site, change: Change) -> Self {
        Self::new(of, "", Edit::Operations(At::Site(site), change))
    }

    /// Whether the edit has changed a body that was asked for.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.differs.load(Ordering::Relaxed)
    }

    fn note(&self) {
        self.differs.store(true, Ordering::Relaxed);
    }
}

impl Implementation for Edited {
    fn target(&self) -> Name {
        self.of.target()
    }

    fn declare(&self, world: &mut World) {
        self.of.declare(world);
        if let Edit::Parts(change) = &self.edit {
            let before = world.objects.clone();
            change(world);
            if world.objects != before {
                self.note();
            }
        }
    }

    fn body(&self, world: &World, thread: Tid, call: &Call) -> Prog {
        let here = || Here { world: Arc::new(world.clone()), thread, call: call.clone(), in_loop: false };
        match &self.edit {
            Edit::Operations(At::Site(site), _) if site.method != call.method => self.of.body(world, thread, call),
            Edit::Operations(at, change) => {
                let walk = Walk { here: here(), at: at.clone(), change: change.clone(), differs: self.differs.clone() };
                walk.body(&self.of.body(world, thread, call))
            }
            Edit::Body(edit) => {
                let of = |call: Call| self.of.body(world, thread, &call);
                edit(&here(), &of).inspect(|_| self.note()).unwrap_or_else(|| of(call.clone()))
            }
            Edit::Parts(_) => self.of.body(world, thread, call),
        }
    }

    fn lemmas(&self) -> Vec<Lemma> {
        self.of.lemmas()
    }

    fn edits(&self) -> Vec<String> {
        self.of.edits().into_iter().chain([self.text.clone()]).filter(|text| !text.is_empty()).collect()
    }

    /// A delayed call whose result the body uses: the result does not exist yet where it is used.
    fn misuse(&self, world: &World, thread: Tid, call: &Call, results: &dyn Fn(&Call) -> Vec<Val>) -> Option<String> {
        self.of.misuse(world, thread, call, results).or_else(|| {
            let Edit::Operations(At::Calls(calls), Change::Delay(_)) = &self.edit else { return None };
            let here = Here { world: Arc::new(world.clone()), thread, call: call.clone(), in_loop: false };
            let used = used_result(&self.of.body(world, thread, call), &here, calls, results)?;
            Some(format!(
                "`{}` delays {used} in the body of {call}, which uses its result before the call is made: delay only calls \
                 whose results are not used, or write the body anew with `around`",
                self.text
            ))
        })
    }

    fn idle(&self) -> Vec<String> {
        // Of a mutant it is no mistake that it is none.
        let is_listed = !matches!(self.edit, Edit::Operations(At::Site(_), _));
        let own = (is_listed && !self.differs()).then(|| self.text.clone());
        self.of.idle().into_iter().chain(own).collect()
    }
}

/// The edits that there are.
pub trait Edits: Implementation + Sized + 'static {
    /// Calls are left out. What they return is `()` then.
    #[must_use]
    fn without(self, calls: Calls) -> Edited {
        let nothing = Change::Instead(Arc::new(|_, _| Some(Prog::unit())));
        changed(self, "without", calls, nothing)
    }

    /// Something else comes in place of calls: what stands behind `=>`.
    #[must_use]
    fn replace(self, calls: Calls) -> Edited {
        let instead = Arc::clone(&calls.instead);
        changed(self, "replace", calls, Change::Instead(instead))
    }

    /// Calls change places with the call that follows them.
    #[must_use]
    fn swap(self, calls: Calls) -> Edited {
        let results = [Val::Unit, Val::Int(0), Val::Int(1)].to_vec();
        changed(self, "swap", calls, Change::Swap(results))
    }

    /// Calls whose results are not used are made at the end of the body; of those in a loop, of the round.
    #[must_use]
    fn delay(self, calls: Calls) -> Edited {
        changed(self, "delay", calls, Change::Delay(None))
    }

    /// Calls whose results are not used are made after the next one of others.
    #[must_use]
    fn delay_after(self, calls: Calls, others: Calls) -> Edited {
        changed(self, "delay", calls, Change::Delay(Some(others)))
    }

    /// The loops that begin with such a call are left out.
    #[must_use]
    fn without_loops(self, calls: Calls) -> Edited {
        changed(self, "without the loops that begin with", calls, Change::LeaveLoopOut)
    }

    /// Other bodies, made of those that there are: `edit` is told whose body it is, and how to get the body of a call, and
    /// gives nothing for a body that stays.
    #[must_use]
    fn around(
        self,
        what: &str,
        edit: impl Fn(&Here, &dyn Fn(Call) -> Prog) -> Option<Prog> + Send + Sync + 'static,
    ) -> Edited {
        Edited::new(self, what, Edit::Body(Arc::new(edit)))
    }

    /// Parts that are declared otherwise.
    #[must_use]
    fn declaring(self, what: &str, edit: impl Fn(&mut World) + Send + Sync + 'static) -> Edited {
        Edited::new(self, what, Edit::Parts(Arc::new(edit)))
    }
}

impl<I: Implementation + 'static> Edits for I {}

fn changed(of: impl Implementation + 'static, how: &str, calls: Calls, change: Change) -> Edited {
    let text = format!("{how} {}", calls.text);
    Edited::new(of, text, Edit::Operations(At::Calls(calls), change))
}

/// A step of one run of a body.
#[derive(Clone, PartialEq, Debug)]
enum Step {
    Call(Arc<Call>),
    Round,
    End(usize, Val),
}

/// One run of a body in which the `n`-th call returns `result(n, call)`; each loop is passed once, and left.
struct Run<'a> {
    here: Here,
    calls: &'a Calls,
    result: &'a dyn Fn(usize, &Call) -> Val,
    steps: Vec<Step>,
    /// The numbers of the selected calls.
    selected: Vec<usize>,
    made: usize,
    passed: usize,
}

impl Run<'_> {
    /// The value of a program, or how many loops it leaves with which value.
    fn run(&mut self, program: &Prog) -> (usize, Val) {
        match program {
            Prog::Val(v) => (0, *v),
            Prog::Break(loops, v) => (*loops, *v),
            Prog::Bound => (usize::MAX, Val::Unit),
            Prog::Call(call) => (0, self.call(call)),
            Prog::Let(both) => match self.run(&both.first) {
                (0, v) if self.made < LONGEST => self.run(&(both.then)(v)),
                left => left,
            },
            Prog::Loop(body) => {
                self.steps.push(Step::Round);
                let (in_loop, passed) = (std::mem::replace(&mut self.here.in_loop, true), self.passed);
                let (left, v) = self.run(body);
                (self.here.in_loop, self.passed) = (in_loop, passed);
                (left.saturating_sub(1), v)
            }
        }
    }

    fn call(&mut self, call: &Arc<Call>) -> Val {
        self.steps.push(Step::Call(Arc::clone(call)));
        let number = self.made;
        self.made += 1;
        if self.calls.has(&self.here, call) {
            if self.calls.selects(&self.here, self.passed) {
                self.selected.push(number);
            }
            self.passed += 1;
        }
        (self.result)(number, call)
    }
}

/// The number of runs of a body that show whether it uses a result.
const RUNS: usize = 24;

/// A selected call whose result makes a difference to what a body does: in some run the body goes on otherwise, or ends with
/// another value, where the call returns `()`. The runs differ in the results of their calls, which are drawn by a fixed rule.
fn used_result(body: &Prog, here: &Here, calls: &Calls, results: &dyn Fn(&Call) -> Vec<Val>) -> Option<Call> {
    let run = |result: &dyn Fn(usize, &Call) -> Val| {
        let (steps, selected) = (Vec::new(), Vec::new());
        let mut run = Run { here: here.clone(), calls, result, steps, selected, made: 0, passed: 0 };
        let (left, v) = run.run(body);
        run.steps.push(Step::End(left, v));
        (run.steps, run.selected)
    };
    let call_of = |steps: &[Step], number: usize| {
        let mut calls = steps.iter().filter_map(|step| if let Step::Call(call) = step { Some(call) } else { None });
        calls.nth(number).cloned()
    };
    (0..RUNS).find_map(|seed| {
        let drawn = |number: usize, call: &Call| {
            let all = results(call);
            let nth = if seed < 4 { seed } else { (seed * 2_654_435_761 + number * 40_503) >> 7 };
            all.get(nth % all.len().max(1)).copied().unwrap_or(Val::Unit)
        };
        let (steps, selected) = run(&drawn);
        let is_used =
            |number: &usize| run(&|nth, call| if nth == *number { Val::Unit } else { drawn(nth, call) }).0 != steps;
        selected.into_iter().find(is_used).and_then(|number| call_of(&steps, number)).map(|call| Call::clone(&call))
    })
}

/// Goes through a body, and changes what is to be changed.
#[derive(Clone)]
struct Walk {
    here: Here,
    at: At,
    change: Change,
    differs: Arc<AtomicBool>,
}

/// Where a run of a body is.
#[derive(Clone, Default)]
struct Place {
    path: Vec<Child>,
    /// How many calls of the kind came before.
    passed: usize,
    /// The calls that are still to be made.
    delayed: Vec<Call>,
}

impl Place {
    fn down(mut self, to: Child) -> Self {
        self.path.push(to);
        self
    }
}

/// What follows a value at a place.
type Then = Arc<dyn Fn(Val, Place) -> Prog + Send + Sync>;

/// The program, and what follows it.
fn followed(program: Prog, place: Place, then: &Then) -> Prog {
    let then = Arc::clone(then);
    program.bind(move |v| then(v, place.clone()))
}

/// These calls, and then the program.
fn after(delayed: Vec<Call>, program: Prog) -> Prog {
    delayed.into_iter().rev().fold(program, |rest, call| Prog::call(call).then(rest))
}

impl Walk {
    fn body(&self, program: &Prog) -> Prog {
        self.walk(program, Place::default(), &self.end())
    }

    /// The end of a body or of a round.
    fn end(&self) -> Then {
        Arc::new(|v, place| after(place.delayed, Prog::Val(v)))
    }

    fn walk(&self, program: &Prog, place: Place, then: &Then) -> Prog {
        match program {
            Prog::Val(v) => then(*v, place),
            Prog::Break(..) | Prog::Bound => after(place.delayed, program.clone()),
            Prog::Call(call) => self.call(call, place, then),
            Prog::Let(both) => {
                let (walk, rest, then, second) =
                    (self.clone(), Arc::clone(both), Arc::clone(then), place.clone().down(Child::Then).path);
                let rest: Then = Arc::new(move |v, place| {
                    walk.walk(&(rest.then)(v), Place { path: second.clone(), ..place }, &then)
                });
                self.walk(&both.first, place.down(Child::First), &rest)
            }
            Prog::Loop(body) => {
                if matches!(self.change, Change::LeaveLoopOut) && self.begins(body, &place) {
                    self.note();
                    return then(Val::Unit, place);
                }
                if !place.delayed.is_empty() {
                    self.note();
                }
                let round = Place { delayed: Vec::new(), ..place.clone().down(Child::Round) };
                let inside = Self { here: Here { in_loop: true, ..self.here.clone() }, ..self.clone() };
                followed(inside.walk(body, round, &inside.end()).repeat(), place, then)
            }
        }
    }

    fn call(&self, call: &Call, mut place: Place, then: &Then) -> Prog {
        let is_selected = self.selects(call, &place);
        place.passed += usize::from(self.is_alike(call));
        match &self.change {
            Change::Instead(instead) if is_selected => {
                let program = instead(&self.here, call).unwrap_or_else(|| Prog::call(call.clone()));
                if !matches!(&program, Prog::Call(same) if **same == *call) {
                    self.note();
                }
                followed(program, place, then)
            }
            Change::Swap(results) if is_selected => self.swapped(call, &place, then, results),
            Change::Delay(_) if is_selected => {
                place.delayed.push(call.clone());
                then(Val::Unit, place)
            }
            Change::Delay(Some(others)) if !place.delayed.is_empty() && others.has(&self.here, call) => {
                self.note();
                let (delayed, then) = (std::mem::take(&mut place.delayed), Arc::clone(then));
                Prog::call(call.clone()).bind(move |v| after(delayed.clone(), then(v, place.clone())))
            }
            _ => {
                if !place.delayed.is_empty() {
                    self.note();
                }
                followed(Prog::call(call.clone()), place, then)
            }
        }
    }

    fn note(&self) {
        self.differs.store(true, Ordering::Relaxed);
    }

    /// Whether a call is one of those that are counted.
    fn is_alike(&self, call: &Call) -> bool {
        matches!(&self.at, At::Calls(calls) if calls.has(&self.here, call))
    }

    fn selects(&self, call: &Call, place: &Place) -> bool {
        match &self.at {
            At::Site(site) => place.path == site.path && [call.library, call.method] == [site.library, site.calls],
            At::Calls(calls) => calls.has(&self.here, call) && calls.selects(&self.here, place.passed),
        }
    }

    /// Whether the first call of a loop is selected.
    fn begins(&self, body: &Prog, place: &Place) -> bool {
        match body {
            Prog::Call(call) => self.selects(call, place),
            Prog::Let(both) => self.begins(&both.first, place),
            _ => false,
        }
    }

    /// What follows a call, if that is a call and the same whatever the first one returns, and then the call.
    fn swapped(&self, call: &Call, place: &Place, then: &Then, results: &[Val]) -> Prog {
        let next = |v: Val| match then(v, place.clone()) {
            Prog::Let(both) => match &both.first {
                Prog::Call(next) => Some(Arc::clone(next)),
                _ => None,
            },
            _ => None,
        };
        let Some(second) = next(results[0]) else { return followed(Prog::call(call.clone()), place.clone(), then) };
        if !results.iter().all(|v| next(*v).as_ref() == Some(&second)) {
            return followed(Prog::call(call.clone()), place.clone(), then);
        }
        self.note();
        let (call, place, then) = (call.clone(), place.clone(), Arc::clone(then));
        Prog::Call(second).bind(move |w| {
            let (then, place) = (Arc::clone(&then), place.clone());
            Prog::call(call.clone())
                .bind(move |v| if let Prog::Let(both) = then(v, place.clone()) { (both.then)(w) } else { Prog::Val(w) })
        })
    }
}
