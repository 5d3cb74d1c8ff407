//! Classes of equal data.

use std::collections::BTreeSet;

use crate::template::pattern::Datum;

/// Returns the classes of elements that are equal because these pairs are.
pub(crate) fn classes<T: Ord + Copy>(equal: impl IntoIterator<Item = (T, T)>) -> Vec<BTreeSet<T>> {
    equal.into_iter().fold(Vec::new(), |classes, (one, other)| {
        let is_with = |class: &BTreeSet<T>| class.contains(&one) || class.contains(&other);
        let (with, mut others): (Vec<_>, Vec<_>) = classes.into_iter().partition(is_with);
        others.push(with.into_iter().flatten().chain([one, other]).collect());
        others
    })
}

/// The classes of data that are equal in all calls of a kind.
#[derive(Clone, Default, Debug)]
pub(crate) struct Classes(Vec<BTreeSet<Datum>>);

impl Classes {
    /// Returns the classes of data that are equal because these pairs are.
    pub fn of(equal: impl IntoIterator<Item = (Datum, Datum)>) -> Self {
        Self(classes(equal))
    }

    fn class(&self, datum: Datum) -> BTreeSet<Datum> {
        let class = self.0.iter().find(|class| class.contains(&datum));
        class.cloned().unwrap_or_else(|| BTreeSet::from([datum]))
    }

    /// Returns all data that are equal to one, in order. Sums of equal results are equal too.
    pub fn members(&self, datum: Datum) -> Vec<Datum> {
        let mut members = self.class(datum);
        if let Datum::Sum(result, k) = datum {
            members.extend(self.class(Datum::Result(result)).into_iter().filter_map(|equal| match equal {
                Datum::Result(other) => Some(Datum::Sum(other, k)),
                Datum::Constant(v) => v.plus(k).map(Datum::Constant),
                _ => None,
            }));
        }
        members.into_iter().collect()
    }

    /// Returns the one of these equal data that templates have: a constant, or else the first one. A sum or a tuple is
    /// used only if there is no simpler datum.
    pub fn first(equal: &[Datum]) -> Option<Datum> {
        let constant = equal.iter().find(|datum| matches!(datum, Datum::Constant(_)));
        let simple = equal.iter().filter(|datum| !matches!(datum, Datum::Sum(..) | Datum::Results(..))).min();
        constant.or(simple).or_else(|| equal.iter().min()).copied()
    }
}
