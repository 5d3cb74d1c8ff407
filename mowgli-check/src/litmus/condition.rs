//! Conditions: of assertions on outcomes, and of statements on registers.

use mowgli_core::value::Val;

/// A condition on values, each of which an `A` names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition<A = Side> {
    /// These are equal.
    Is(A, A),
    /// The condition does not hold.
    Not(Box<Self>),
    /// All hold.
    And(Vec<Self>),
    /// Some holds.
    Or(Vec<Self>),
}

/// A side of an equation of an assertion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Side {
    /// What the test shows at this position.
    Shown(usize),
    /// A value.
    Val(Val),
    /// Several of these.
    Tuple(Vec<Self>),
}

impl Side {
    /// What it is where a test shows these values.
    fn value(&self, shown: &[Val]) -> Val {
        match self {
            Self::Shown(position) => shown[*position],
            Self::Val(v) => *v,
            Self::Tuple(all) => Val::tuple(&all.iter().map(|side| side.value(shown)).collect::<Vec<_>>()),
        }
    }
}

impl Condition {
    /// Whether it holds of the values that a test shows.
    #[must_use]
    pub fn holds(&self, values: &[Val]) -> bool {
        self.is_true(&|side| side.value(values))
    }
}

impl<A> Condition<A> {
    /// Whether it holds where names have these values.
    #[must_use]
    pub fn is_true(&self, value: &dyn Fn(&A) -> Val) -> bool {
        match self {
            Self::Is(a, b) => value(a) == value(b),
            Self::Not(c) => !c.is_true(value),
            Self::And(cs) => cs.iter().all(|c| c.is_true(value)),
            Self::Or(cs) => cs.iter().any(|c| c.is_true(value)),
        }
    }

    /// What its equations are about, from left to right.
    #[must_use]
    pub fn names(&self) -> Vec<&A> {
        match self {
            Self::Is(a, b) => vec![a, b],
            Self::Not(c) => c.names(),
            Self::And(cs) | Self::Or(cs) => cs.iter().flat_map(Self::names).collect(),
        }
    }

    /// The condition in some language, each equation as `equation` writes it.
    ///
    /// # Errors
    /// The first of `equation`.
    pub fn text<E>(&self, symbols: &Symbols, equation: &dyn Fn(&A, &A) -> Result<String, E>) -> Result<String, E> {
        let inner = |c: &Self| {
            let text = c.text(symbols, equation)?;
            Ok(if matches!(c, Self::Is(..)) { text } else { format!("({text})") })
        };
        let joined = |all: &[Self], by| Ok(all.iter().map(inner).collect::<Result<Vec<_>, E>>()?.join(by));
        match self {
            Self::Is(a, b) => equation(a, b),
            Self::Not(c) => Ok(format!("{}({})", symbols.not, c.text(symbols, equation)?)),
            Self::And(all) if all.is_empty() => Ok(symbols.truth.to_owned()),
            Self::And(all) => joined(all, symbols.and),
            Self::Or(all) => joined(all, symbols.or),
        }
    }
}

/// How a language writes conditions.
pub struct Symbols {
    /// What always holds.
    pub truth: &'static str,
    /// What stands before a condition that is not to hold.
    pub not: &'static str,
    /// What stands between conditions that all hold.
    pub and: &'static str,
    /// What stands between conditions of which one holds.
    pub or: &'static str,
}

impl Symbols {
    /// As litmus tests have them, ours and herd's.
    pub const LITMUS: Self = Self { truth: "true", not: "~", and: " /\\ ", or: " \\/ " };
    /// As C has them.
    pub const C: Self = Self { truth: "1", not: "!", and: " && ", or: " || " };
}
