//! Sequential and concurrent programs (LOCO §3.1), and the sugar in which implementations are written.
//!
//! ```
//! use mowgli_core::{ids::{Loc, Name}, event::Call, program::{Prog, prog}, value::Val};
//! const MEMORY: Name = Name::literal("memory");
//! fn read(x: Loc) -> Prog { Prog::call(Call::new(MEMORY, "Read", &[x.into()])) }
//! fn write(x: Loc, v: Val) -> Prog { Prog::call(Call::new(MEMORY, "Write", &[x.into(), v])) }
//! let x = Loc::new("x");
//! // v = Read(x); loop { w = Read(x); if w != v break }; Write(x, v)
//! let p = prog! {
//!     let v = read(x);
//!     Prog::repeat(prog! {
//!         let w = read(x);
//!         Prog::break_if(w != v)
//!     });
//!     write(x, v)
//! };
//! assert!(matches!(p, Prog::Let(..)));
//! ```

use std::sync::Arc;

use crate::event::Call;
use crate::value::Val;

/// `SeqProg ::= v | m(v1..vk) | let p f | loop p | break_k v`.
#[derive(Clone)]
pub enum Prog {
    /// A value.
    Val(Val),
    /// A method call.
    Call(Call),
    /// `let p f`: run p, then f of its value.
    Let(Arc<Prog>, Continuation),
    /// `loop p`.
    Loop(Arc<Prog>),
    /// `break_k v`, k at least 1.
    Break(usize, Val),
}

/// What follows a value: `f : Val -> SeqProg`.
pub type Continuation = Arc<dyn Fn(Val) -> Prog + Send + Sync>;

impl Prog {
    /// The program that does nothing.
    #[must_use]
    pub fn unit() -> Self {
        Self::Val(Val::Unit)
    }

    /// One call.
    #[must_use]
    pub fn call(call: Call) -> Self {
        Self::Call(call)
    }

    /// `let self f`.
    #[must_use]
    pub fn bind(self, f: impl Fn(Val) -> Self + Send + Sync + 'static) -> Self {
        Self::Let(Arc::new(self), Arc::new(f))
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

    /// The programs one after the other; the value is `()`.
    #[must_use]
    pub fn all(programs: impl IntoIterator<Item = Self>) -> Self {
        programs.into_iter().collect::<Vec<_>>().into_iter().rev().fold(Self::unit(), |rest, p| p.then(rest))
    }
}

/// Sequences in the notation of the figures: `let v = p;`, `p;`, and a last program.
#[macro_export]
macro_rules! prog {
    (let $name:ident = $p:expr; $($rest:tt)+) => {
        $crate::program::Prog::bind($p, move |$name| $crate::prog!($($rest)+))
    };
    ($p:expr; $($rest:tt)+) => {
        $crate::program::Prog::then($p, $crate::prog!($($rest)+))
    };
    ($p:expr) => { $p };
}
pub use prog;
