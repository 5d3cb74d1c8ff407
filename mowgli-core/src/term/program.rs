//! Sequential and concurrent programs (LOCO §3.1), and the sugar in which implementations are written.
//!
//! ```
//! use mowgli_core::{ids::{Loc, Name}, event::Call, term::program::{Prog, prog}, value::Val};
//! const MEMORY: Name = Name::literal("memory");
//! fn read(x: Loc) -> Prog { Prog::call(Call::new(MEMORY, "Read", &[x.into()])) }
//! fn write(x: Loc, v: Val) -> Prog { Prog::call(Call::new(MEMORY, "Write", &[x.into(), v])) }
//! let x = Loc::new("x");
//! let p = prog! {
//!     let v = read(x);
//!     loop {
//!         let w = read(x);
//!         if (w != v) { break };
//!         for y in (["y", "z"].map(Loc::new)) { write(y, w) }
//!     };
//!     write(x, v)
//! };
//! assert!(matches!(p, Prog::Let(..)));
//! ```

use std::sync::Arc;

use crate::event::Call;
use crate::few::Few;
use crate::ids::NodeSet;
use crate::value::Val;

/// `SeqProg ::= v | m(v1..vk) | let p f | loop p | break_k v`.
#[derive(Clone)]
pub enum Prog {
    /// A value.
    Val(Val),
    /// A method call. It is shared, because programs are cloned and moved far more often than calls are made.
    Call(Arc<Call>),
    /// `let p f`: run p, then f of its value.
    Let(Arc<Let>),
    /// `loop p`.
    Loop(Arc<Prog>),
    /// `break_k v`, k at least 1.
    Break(usize, Val),
    /// The bound on iterations of a loop that its author unrolled. The search ignores whatever would follow, and
    /// reports that.
    Bound,
}

/// The number of instructions after which a thread counts as one that never ends, because bodies and clients are short.
pub const LONGEST: usize = 500;

/// `let p f`. The two are in one place: bodies are made again and again, and mostly of these.
pub struct Let<F: ?Sized = dyn Fn(Val) -> Prog + Send + Sync> {
    /// The program that comes first.
    pub first: Prog,
    /// The continuation, which gets the value: `f : Val -> SeqProg`.
    pub then: F,
}

impl Prog {
    /// Returns the program that does nothing.
    #[must_use]
    pub fn unit() -> Self {
        Self::Val(Val::Unit)
    }

    /// True if both are surely one program. Two functions are one only if they are in one place.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Val(v), Self::Val(w)) => v == w,
            (Self::Call(a), Self::Call(b)) => a == b,
            (Self::Let(a), Self::Let(b)) => Arc::ptr_eq(a, b),
            (Self::Loop(a), Self::Loop(b)) => Arc::ptr_eq(a, b),
            (Self::Break(k, v), Self::Break(l, w)) => (k, v) == (l, w),
            (Self::Bound, Self::Bound) => true,
            _ => false,
        }
    }

    /// Returns the program that makes one call.
    #[must_use]
    pub fn call(call: Call) -> Self {
        Self::Call(Arc::new(call))
    }

    /// Returns the program of a call of a method table; the program that does nothing if the call is for an empty set
    /// of nodes.
    #[must_use]
    pub fn of_method(call: Call) -> Self {
        if call.args.contains(&Val::Nodes(NodeSet::default())) { Self::unit() } else { Self::call(call) }
    }

    /// `let self f`.
    #[must_use]
    pub fn bind(self, f: impl Fn(Val) -> Self + Send + Sync + 'static) -> Self {
        Self::Let(Arc::new(Let { first: self, then: f }))
    }

    /// Returns the same program with another value.
    #[must_use]
    pub fn map(self, f: impl Fn(Val) -> Val + Send + Sync + 'static) -> Self {
        self.bind(move |v| Self::Val(f(v)))
    }

    /// `self; next`.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        self.bind(move |_| next.clone())
    }

    /// `if condition self`.
    #[must_use]
    pub fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::unit() }
    }

    /// `loop self`.
    #[must_use]
    pub fn repeat(self) -> Self {
        Self::Loop(Arc::new(self))
    }

    /// `if condition break`.
    #[must_use]
    pub fn break_if(condition: bool) -> Self {
        if condition { Self::Break(1, Val::Unit) } else { Self::unit() }
    }

    /// Returns the programs in sequence, with the value `()`.
    ///
    /// # Panics
    /// If there are more than [`LONGEST`].
    #[must_use]
    #[track_caller]
    pub fn all(programs: impl IntoIterator<Item = Self>) -> Self {
        let all: Few<Self> = programs.into_iter().take(LONGEST + 1).collect();
        assert!(all.len() <= LONGEST, "a `for` goes on after {LONGEST} rounds; let what it goes through end");
        all.iter().rev().fold(Self::unit(), |rest, p| p.clone().then(rest))
    }
}

/// Programs in the notation of the figures. A body is a sequence of these, and its value is that of the last one:
///
/// | | |
/// |---|---|
/// | `p;` | the program that this expression is |
/// | `let v = p;` | the same, and its result is `v` from here on |
/// | `loop { .. };`, `let v = loop { .. };` | rounds of this until one breaks, with what it breaks with |
/// | `break;`, `break v;` | out of the loop, with anything that is a value: `break 1;` |
/// | `if (c) { .. } else { .. };`, `if (c) { .. };` | the one or the other; nothing without `else` |
/// | `for x in (xs) { .. };` | one after the other |
///
/// Conditions and sets stand in parentheses. The `;` behind a block may be left out; behind the last statement it makes
/// the value `()`.
///
/// A wait is a `loop`, whose rounds the search knows. The search reports endless recursion behind a `;`, and an endless
/// `for`, as errors after [`LONGEST`] instructions. It cannot stop Rust code that does not return. Examples are a
/// `loop` of Rust in a body, and a function that calls itself before it returns any program.
#[macro_export]
macro_rules! prog {
    () => { $crate::term::program::Prog::unit() };
    (let $name:ident = loop { $($body:tt)+ }; $($rest:tt)*) => {
        $crate::term::program::Prog::bind($crate::prog!(loop { $($body)+ }), move |$name| $crate::prog!($($rest)*))
    };
    (loop { $($body:tt)+ }) => {
        $crate::term::program::Prog::repeat($crate::prog!($($body)+))
    };
    (loop { $($body:tt)+ }; $($rest:tt)*) => {
        $crate::term::program::Prog::then($crate::prog!(loop { $($body)+ }), $crate::prog!($($rest)*))
    };
    (loop { $($body:tt)+ } $($rest:tt)+) => { $crate::prog!(loop { $($body)+ }; $($rest)+) };
    (break $(;)?) => { $crate::term::program::Prog::Break(1, $crate::value::Val::Unit) };
    (break $v:expr $(;)?) => { $crate::term::program::Prog::Break(1, $crate::value::Val::from($v)) };
    (if ($c:expr) { $($yes:tt)+ } else { $($no:tt)+ }) => {
        if $c { $crate::prog!($($yes)+) } else { $crate::prog!($($no)+) }
    };
    (if ($c:expr) { $($yes:tt)+ } else { $($no:tt)+ }; $($rest:tt)*) => {
        $crate::term::program::Prog::then($crate::prog!(if ($c) { $($yes)+ } else { $($no)+ }), $crate::prog!($($rest)*))
    };
    (if ($c:expr) { $($yes:tt)+ } else { $($no:tt)+ } $($rest:tt)+) => {
        $crate::prog!(if ($c) { $($yes)+ } else { $($no)+ }; $($rest)+)
    };
    (if ($c:expr) { $($yes:tt)+ }) => {
        if $c { $crate::prog!($($yes)+) } else { $crate::term::program::Prog::unit() }
    };
    (if ($c:expr) { $($yes:tt)+ }; $($rest:tt)*) => {
        $crate::term::program::Prog::then($crate::prog!(if ($c) { $($yes)+ }), $crate::prog!($($rest)*))
    };
    (if ($c:expr) { $($yes:tt)+ } $($rest:tt)+) => { $crate::prog!(if ($c) { $($yes)+ }; $($rest)+) };
    (for $x:ident in ($all:expr) { $($body:tt)+ }) => {
        $crate::term::program::Prog::all(::std::iter::IntoIterator::into_iter($all).map(|$x| $crate::prog!($($body)+)))
    };
    (for $x:ident in ($all:expr) { $($body:tt)+ }; $($rest:tt)*) => {
        $crate::term::program::Prog::then($crate::prog!(for $x in ($all) { $($body)+ }), $crate::prog!($($rest)*))
    };
    (for $x:ident in ($all:expr) { $($body:tt)+ } $($rest:tt)+) => {
        $crate::prog!(for $x in ($all) { $($body)+ }; $($rest)+)
    };
    (let $name:ident = $p:expr; $($rest:tt)*) => {
        $crate::term::program::Prog::bind($p, move |$name| $crate::prog!($($rest)*))
    };
    ($p:expr; $($rest:tt)*) => {
        $crate::term::program::Prog::then($p, $crate::prog!($($rest)*))
    };
    ($p:expr) => { $p };
}
pub use prog;
