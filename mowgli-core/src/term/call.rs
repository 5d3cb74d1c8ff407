//! Calls whose arguments are expressions: what bodies and scripts make.

use std::fmt;

use mowgli_judge::method::Method;

use crate::event::{Call, SourceLine};
use crate::expr::{Expr, Surroundings};
use crate::ids::Name;
use crate::value::Val;

/// A call whose arguments are expressions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallTerm {
    /// The library that is called.
    pub library: Name,
    /// The method.
    pub method: &'static str,
    /// The arguments.
    pub args: Vec<Expr>,
    /// The place of the call in the source.
    pub place: SourceLine,
}

impl CallTerm {
    /// A call whose place in the source is not known.
    #[must_use]
    pub fn new(library: Name, method: &'static str, args: impl IntoIterator<Item = Expr>) -> Self {
        Self { library, method, args: args.into_iter().collect(), place: SourceLine::default() }
    }

    /// The argument of this name, where this is a call of the method of a table.
    ///
    /// # Panics
    /// If the method has no such argument.
    #[must_use]
    pub fn arg(&self, table: &[Method], name: &str) -> Expr {
        self.args[position(table, self.method, name)]
    }

    /// The call with another argument.
    #[must_use]
    pub fn with(&self, position: usize, arg: Expr) -> Self {
        let mut call = self.clone();
        call.args[position] = arg;
        call
    }

    pub(crate) fn eval(&self, scope: &impl Surroundings) -> Call {
        let args: Vec<Val> = self.args.iter().map(|e| e.eval(scope)).collect();
        Call { place: self.place, ..Call::new(self.library, self.method, &args) }
    }
}

/// The position of an argument of a method of a table.
pub(crate) fn position(table: &[Method], method: &str, argument: &str) -> usize {
    let method = table.iter().find(|m| m.name == method).expect("a method of the table");
    method.takes.iter().position(|(name, _)| *name == argument).expect("an argument of the method")
}

impl fmt::Display for CallTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<String> = self.args.iter().map(Expr::to_string).collect();
        write!(f, "{}::{}({})", self.library, self.method, args.join(", "))
    }
}
