//! Conditions of assertions.

use mowgli_core::value::Val;

/// A condition on an outcome; observables by position in what the test shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// The observable has this value.
    Is(usize, Val),
    /// The condition does not hold.
    Not(Box<Condition>),
    /// All hold.
    And(Vec<Condition>),
    /// Some holds.
    Or(Vec<Condition>),
}

impl Condition {
    /// Whether it holds of these values.
    #[must_use]
    pub fn holds(&self, values: &[Val]) -> bool {
        match self {
            Self::Is(position, v) => values[*position] == *v,
            Self::Not(c) => !c.holds(values),
            Self::And(cs) => cs.iter().all(|c| c.holds(values)),
            Self::Or(cs) => cs.iter().any(|c| c.holds(values)),
        }
    }

    /// The condition in some language, each equation as `equation` writes it.
    ///
    /// # Errors
    /// The first of `equation`.
    pub fn text<E>(&self, symbols: &Symbols, equation: &dyn Fn(usize, Val) -> Result<String, E>) -> Result<String, E> {
        let inner = |c: &Self| {
            let text = c.text(symbols, equation)?;
            Ok(if matches!(c, Self::Is(..)) { text } else { format!("({text})") })
        };
        let joined = |all: &[Self], by| Ok(all.iter().map(inner).collect::<Result<Vec<_>, E>>()?.join(by));
        match self {
            Self::Is(position, v) => equation(*position, *v),
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
