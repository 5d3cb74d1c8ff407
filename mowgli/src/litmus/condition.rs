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
}
