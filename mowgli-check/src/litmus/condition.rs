//! Conditions: of assertions on outcomes, and of statements on registers.

use std::fmt;

use mowgli_core::value::Val;

/// A comparison of two values. Only integers are ordered: of other values, a comparison by order never holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// The two are equal.
    Is,
    /// The two differ.
    IsNot,
    /// The left one is less.
    Less,
    /// The left one is less, or both are equal.
    AtMost,
    /// The left one is greater.
    Greater,
    /// The left one is greater, or both are equal.
    AtLeast,
}

impl Comparison {
    /// All comparisons.
    pub const ALL: [Self; 6] = [Self::Is, Self::IsNot, Self::Less, Self::AtMost, Self::Greater, Self::AtLeast];

    /// True if it holds of two values.
    #[must_use]
    pub fn holds(self, left: Val, right: Val) -> bool {
        let (Some(a), Some(b)) = (left.int(), right.int()) else {
            return matches!((self, left == right), (Self::Is, true) | (Self::IsNot, false));
        };
        match self {
            Self::Is => a == b,
            Self::IsNot => a != b,
            Self::Less => a < b,
            Self::AtMost => a <= b,
            Self::Greater => a > b,
            Self::AtLeast => a >= b,
        }
    }

    /// Returns the comparison that holds of integers where this one does not.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Is => Self::IsNot,
            Self::IsNot => Self::Is,
            Self::Less => Self::AtLeast,
            Self::AtMost => Self::Greater,
            Self::Greater => Self::AtMost,
            Self::AtLeast => Self::Less,
        }
    }

    /// Prints the comparison in a language that has equations and `~`, from the equation of the two; `None` for a
    /// comparison by order.
    #[must_use]
    pub fn of_equal(self, equation: &str) -> Option<String> {
        match self {
            Self::Is => Some(equation.to_owned()),
            Self::IsNot => Some(format!("~({equation})")),
            _ => None,
        }
    }

    /// Returns the operator in C.
    #[must_use]
    pub fn in_c(self) -> &'static str {
        match self {
            Self::Is => "==",
            Self::IsNot => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }
}

/// Prints the operator in the notation of litmus tests.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Is { "=" } else { self.in_c() })
    }
}

/// A condition on values, each of which an `A` names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition<A = Side> {
    /// The comparison of these two holds.
    Compare(A, Comparison, A),
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
    /// The value that the test shows at this position.
    Shown(usize),
    /// A value.
    Val(Val),
    /// Several of these.
    Tuple(Vec<Self>),
}

impl Side {
    /// Returns the positions of the values that it consists of.
    pub(super) fn shown(&self) -> Vec<usize> {
        match self {
            Self::Shown(position) => vec![*position],
            Self::Val(_) => Vec::new(),
            Self::Tuple(all) => all.iter().flat_map(Self::shown).collect(),
        }
    }

    /// Returns its value if a test shows these values.
    fn value(&self, shown: &[Val]) -> Val {
        match self {
            Self::Shown(position) => shown[*position],
            Self::Val(v) => *v,
            Self::Tuple(all) => Val::tuple(&all.iter().map(|side| side.value(shown)).collect::<Vec<_>>()),
        }
    }
}

impl Condition {
    /// True if it holds of the values that a test shows.
    #[must_use]
    pub fn holds(&self, values: &[Val]) -> bool {
        self.is_true(&|side| side.value(values))
    }
}

impl<A> Condition<A> {
    /// True if it holds where names have these values.
    #[must_use]
    pub fn is_true(&self, value: &dyn Fn(&A) -> Val) -> bool {
        match self {
            Self::Compare(a, comparison, b) => comparison.holds(value(a), value(b)),
            Self::Not(c) => !c.is_true(value),
            Self::And(cs) => cs.iter().all(|c| c.is_true(value)),
            Self::Or(cs) => cs.iter().any(|c| c.is_true(value)),
        }
    }

    /// Returns the sides of its comparisons, from left to right.
    #[must_use]
    pub fn names(&self) -> Vec<&A> {
        match self {
            Self::Compare(a, _, b) => vec![a, b],
            Self::Not(c) => c.names(),
            Self::And(cs) | Self::Or(cs) => cs.iter().flat_map(Self::names).collect(),
        }
    }

    /// Prints the condition in some language; `equation` prints each comparison.
    ///
    /// # Errors
    /// The first error of `equation`.
    pub fn text<E>(
        &self,
        symbols: &Symbols,
        equation: &dyn Fn(&A, Comparison, &A) -> Result<String, E>,
    ) -> Result<String, E> {
        let inner = |c: &Self| {
            let text = c.text(symbols, equation)?;
            Ok(if matches!(c, Self::Compare(..)) { text } else { format!("({text})") })
        };
        let joined = |all: &[Self], by| Ok(all.iter().map(inner).collect::<Result<Vec<_>, E>>()?.join(by));
        match self {
            Self::Compare(a, comparison, b) => equation(a, *comparison, b),
            Self::Not(c) => Ok(format!("{}({})", symbols.not, c.text(symbols, equation)?)),
            Self::And(all) if all.is_empty() => Ok(symbols.truth.to_owned()),
            Self::And(all) => joined(all, symbols.and),
            Self::Or(all) => joined(all, symbols.or),
        }
    }
}

/// The symbols of conditions in a language.
pub struct Symbols {
    /// The condition that always holds.
    pub truth: &'static str,
    /// The symbol before a condition that is negated.
    pub not: &'static str,
    /// The symbol between conditions that all hold.
    pub and: &'static str,
    /// The symbol between conditions of which one holds.
    pub or: &'static str,
}

impl Symbols {
    /// The symbols of litmus tests, ours and herd's.
    pub const LITMUS: Self = Self { truth: "true", not: "~", and: " /\\ ", or: " \\/ " };
    /// The symbols of C.
    pub const C: Self = Self { truth: "1", not: "!", and: " && ", or: " || " };
}
