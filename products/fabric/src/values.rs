//! Values of Rust programs that one word of memory holds.

use mowgli_core::ids::Loc;

use crate::port::Fault;

/// A value that one word of 64 bits holds. `T::of_word(v.word())` is `Some(v)`, and words are 0 at first.
///
/// A type of your own implements it:
///
/// ```
/// use mowgli_fabric::{Fabric, Group, WordValue};
///
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// enum Valve {
///     Shut,
///     Open,
/// }
///
/// impl WordValue for Valve {
///     fn word(self) -> i64 {
///         self as i64
///     }
///
///     fn of_word(word: i64) -> Option<Self> {
///         [Self::Shut, Self::Open].into_iter().find(|one| one.word() == word)
///     }
/// }
///
/// let mut group = Group::new(&[1]);
/// let valve = group.shared_var_of::<Valve>("valve");
/// let found = group.run(Fabric::Local, |thread| {
///     assert_eq!(valve.read(thread)?, Valve::Shut);
///     valve.write(thread, Valve::Open)?;
///     valve.read(thread)
/// });
/// assert_eq!(found, Ok(vec![Valve::Open]));
/// ```
///
/// Larger values are refused, because words that are sent one by one may come apart:
///
/// ```compile_fail,E0277
/// let mut group = mowgli_fabric::Group::new(&[1]);
/// let pair = group.shared_var_of::<[i64; 2]>("pair");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to fit into one word of 64 bits",
    note = "several words of a shared variable may come apart: use `Words`, which are read together, or a `MessageRing`",
    note = "implement `WordValue` for a type of your own that fits into one word"
)]
pub trait WordValue: Copy {
    /// Returns the word that holds this value.
    fn word(self) -> i64;

    /// Returns the value that a word holds, if it holds one.
    fn of_word(word: i64) -> Option<Self>;
}

/// Implements [`WordValue`] for types whose values have the same 64 bits as a word.
macro_rules! whole {
    ($($whole:ty: $to:expr, $of:expr;)*) => {
        $(impl WordValue for $whole {
            fn word(self) -> i64 {
                $to(self)
            }

            fn of_word(word: i64) -> Option<Self> {
                Some($of(word))
            }
        })*
    };
}

whole! {
    i64: |v: Self| v, |word: i64| word;
    u64: u64::cast_signed, i64::cast_unsigned;
    f64: |v: Self| v.to_bits().cast_signed(), |word: i64| Self::from_bits(word.cast_unsigned());
}

impl WordValue for bool {
    fn word(self) -> i64 {
        self.into()
    }

    fn of_word(word: i64) -> Option<Self> {
        [false, true].into_iter().find(|v| v.word() == word)
    }
}

/// Returns the value that the word of an object holds.
pub(crate) fn valued<T: WordValue>(x: Loc, word: i64) -> Result<T, Fault> {
    T::of_word(word)
        .ok_or_else(|| Fault::Wrong(format!("{x} holds {word}, which is no {}", std::any::type_name::<T>())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comes_back<T: WordValue + PartialEq + std::fmt::Debug>(all: &[T]) {
        assert!(T::of_word(0).is_some(), "words are 0 at first");
        for &v in all {
            assert_eq!(T::of_word(v.word()), Some(v));
        }
    }

    #[test]
    fn values_come_back_from_their_words() {
        comes_back(&[i64::MIN, -1, 0, i64::MAX]);
        comes_back(&[0, 1 << 63, u64::MAX]);
        comes_back(&[0.0, -1.5, f64::MIN_POSITIVE, f64::MAX, f64::NEG_INFINITY]);
        comes_back(&[false, true]);
        let not_a_number = f64::from_bits(0x7ff0_0000_0000_0001);
        assert_eq!(f64::of_word(not_a_number.word()).map(f64::to_bits), Some(0x7ff0_0000_0000_0001));
        assert_eq!(f64::of_word((-0.0_f64).word()).map(f64::is_sign_negative), Some(true));
        let refused = valued::<bool>(Loc::new("flag"), 2);
        assert_eq!(refused, Err(Fault::Wrong("flag holds 2, which is no bool".to_owned())));
    }
}
