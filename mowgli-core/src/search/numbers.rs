//! Sets of numbers: of the values that a subevent can have, of results, of cells.
//!
//! **Computes** unions, intersections and complements. A set is finite, or has all numbers but finitely many. So what has no number yet
//! can be a member.
//!
//! **Invariant.** Two sets are equal if their words are. The first `INLINE` numbers have a bit each, and the bit `REST` stands for all
//! further ones. A set that needs more has the bit `WIDE` and its place in a table of this thread. The table has each set once.
//!
//! **Example.** `{0, 2}` is `101`, and its complement has `REST`. `{500}` is in the table.
//!
//! **Correct because** `NumberSet::of` alone makes wide sets, and it makes one only if the set has no inline form. A table is emptied
//! when no [`Numbering`] of its thread is left. Each set belongs to one, so no set outlives its place.
//!
//! **Cost.** An operation on inline sets costs one test more than that on words. Others cost a word for each 64 numbers, and a lookup.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};
use std::rc::Rc;

use rustc_hash::FxHashMap;

/// The number of members that have a bit of their own in the word of a set.
const INLINE: usize = 126;

/// The bit of all numbers from [`INLINE`] on.
const REST: u128 = 1 << INLINE;

/// The bit of a set that stands in the table.
const WIDE: u128 = 1 << 127;

/// A set of numbers; the empty one by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NumberSet(u128);

/// A set without bound: a bit for each of the first numbers, and the word of all further ones, which has all bits or none.
#[derive(Clone, PartialEq, Eq, Hash)]
struct WideSet {
    words: Vec<u64>,
    rest: u64,
}

#[derive(Default)]
struct WideSets {
    all: Vec<Rc<WideSet>>,
    places: FxHashMap<Rc<WideSet>, usize>,
    users: usize,
}

thread_local! {
    static SETS: RefCell<WideSets> = RefCell::default();
}

impl WideSet {
    fn word(&self, word: usize) -> u64 {
        self.words.get(word).copied().unwrap_or(self.rest)
    }
}

impl NumberSet {
    /// No number.
    pub const NONE: Self = Self(0);

    /// All numbers.
    pub const ALL: Self = Self(WIDE - 1);

    /// The set of one number.
    #[must_use]
    pub fn one(number: usize) -> Self {
        if number < INLINE {
            return Self(1 << number);
        }
        let mut words = vec![0; number / 64 + 1];
        words[number / 64] = 1 << (number % 64);
        Self::of(WideSet { words, rest: 0 })
    }

    /// The set of this number and all larger ones.
    #[must_use]
    pub fn from(number: usize) -> Self {
        if number <= INLINE {
            return Self(WIDE - (1 << number));
        }
        let mut words = vec![0; number / 64 + 1];
        words[number / 64] = u64::MAX << (number % 64);
        Self::of(WideSet { words, rest: u64::MAX })
    }

    /// True if it has no member.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if a number is a member.
    #[must_use]
    pub fn has(self, number: usize) -> bool {
        if number < INLINE && self.0 & WIDE == 0 {
            return self.0 >> number & 1 == 1;
        }
        self.wide().word(number / 64) >> (number % 64) & 1 == 1
    }

    /// True if it has this number or a larger one.
    #[must_use]
    pub fn reaches(self, number: usize) -> bool {
        !(self & Self::from(number)).is_empty()
    }

    /// Iterates over the members below a number, the smallest first.
    pub fn below(self, number: usize) -> impl Iterator<Item = usize> {
        let (inline, wide) =
            if self.0 & WIDE == 0 && number <= INLINE { (self.0, None) } else { (0, Some(self.wide())) };
        let mut bits = inline;
        let of_bits = std::iter::from_fn(move || {
            let next = (bits != 0).then(|| bits.trailing_zeros() as usize);
            bits &= bits.wrapping_sub(1);
            next
        });
        let has = move |wide: &Rc<WideSet>, n: usize| wide.word(n / 64) >> (n % 64) & 1 == 1;
        let of_words = wide.into_iter().flat_map(move |wide| (0..number).filter(move |&n| has(&wide, n)));
        of_bits.take_while(move |&n| n < number).chain(of_words)
    }

    /// Returns the smallest member.
    #[must_use]
    pub fn least(self) -> Option<usize> {
        if self.0 & WIDE == 0 {
            return (!self.is_empty()).then(|| self.0.trailing_zeros() as usize);
        }
        let wide = self.wide();
        let words = (0..=wide.words.len()).map(|at| (at, wide.word(at)));
        words.into_iter().find(|(_, word)| *word != 0).map(|(at, word)| at * 64 + word.trailing_zeros() as usize)
    }

    /// True if it has one member, where those from a number on count as one.
    #[must_use]
    pub fn is_single_below(self, number: usize) -> bool {
        if self.0 & WIDE == 0 && number <= INLINE {
            let low = self.0 & ((1 << number) - 1);
            return if low == self.0 { low.is_power_of_two() } else { low == 0 };
        }
        self.below(number).take(2).count() + usize::from(self.reaches(number)) == 1
    }

    /// Returns the set in the table's form.
    fn wide(self) -> Rc<WideSet> {
        if self.0 & WIDE != 0 {
            return SETS.with_borrow(|sets| Rc::clone(&sets.all[(self.0 & !WIDE) as usize]));
        }
        let rest = if self.0 & REST == 0 { 0 } else { u64::MAX };
        let upper = self.0 >> 64 & ((REST - 1) >> 64);
        Rc::new(WideSet { words: vec![self.0 as u64, upper as u64 | rest & (3 << 62)], rest })
    }

    fn of(mut set: WideSet) -> Self {
        while set.words.last() == Some(&set.rest) {
            set.words.pop();
        }
        if set.words.len() <= 2 && set.word(1) >> 62 == set.rest >> 62 {
            let bits = u128::from(set.word(0)) | u128::from(set.word(1)) << 64;
            return Self(bits & (WIDE - 1));
        }
        SETS.with_borrow_mut(|sets| {
            let set = Rc::new(set);
            let next = sets.all.len();
            let place = *sets.places.entry(Rc::clone(&set)).or_insert(next);
            if place == next {
                sets.all.push(set);
            }
            Self(WIDE | place as u128)
        })
    }

    #[inline]
    fn combined(self, other: Self, inline: fn(u128, u128) -> u128, word: fn(u64, u64) -> u64) -> Self {
        if (self.0 | other.0) & WIDE == 0 {
            return Self(inline(self.0, other.0));
        }
        let (a, b) = (self.wide(), other.wide());
        let words = (0..a.words.len().max(b.words.len())).map(|at| word(a.word(at), b.word(at))).collect();
        Self::of(WideSet { words, rest: word(a.rest, b.rest) })
    }
}

impl BitAnd for NumberSet {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.combined(other, |a, b| a & b, |a, b| a & b)
    }
}

impl BitOr for NumberSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.combined(other, |a, b| a | b, |a, b| a | b)
    }
}

impl Not for NumberSet {
    type Output = Self;

    fn not(self) -> Self {
        self.combined(Self::NONE, |a, _| !a & (WIDE - 1), |a, _| !a)
    }
}

impl BitAndAssign for NumberSet {
    fn bitand_assign(&mut self, other: Self) {
        *self = *self & other;
    }
}

impl BitOrAssign for NumberSet {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl FromIterator<Self> for NumberSet {
    /// The union.
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        sets.into_iter().fold(Self::NONE, |all, set| all | set)
    }
}

/// The numbering of the values of one search, or of other things.
pub struct Numbering<T> {
    all: Vec<T>,
    numbers: BTreeMap<T, usize>,
    _user: User,
}

/// A user of the table of its thread.
struct User(PhantomData<Rc<()>>);

impl User {
    fn new() -> Self {
        SETS.with_borrow_mut(|sets| sets.users += 1);
        Self(PhantomData)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // The table of a thread that ends may be gone already.
        let _ = SETS.try_with(|sets| {
            let mut sets = sets.borrow_mut();
            sets.users -= 1;
            if sets.users == 0 {
                *sets = WideSets::default();
            }
        });
    }
}

impl<T: Copy + Ord> Default for Numbering<T> {
    fn default() -> Self {
        Self { all: Vec::new(), numbers: BTreeMap::new(), _user: User::new() }
    }
}

impl<T: Copy + Ord> Numbering<T> {
    /// Returns how many have a number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True if nothing has a number.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns what has a number, in the order of the numbers.
    #[must_use]
    pub fn all(&self) -> &[T] {
        &self.all
    }

    /// Returns the number of a thing, which gets one if it has none.
    pub fn number(&mut self, of: T) -> usize {
        let next = self.all.len();
        *self.numbers.entry(of).or_insert_with(|| {
            self.all.push(of);
            next
        })
    }

    /// Returns the set of one thing, which gets a number if it has none.
    pub fn set(&mut self, of: T) -> NumberSet {
        NumberSet::one(self.number(of))
    }

    /// Returns the same; the empty set if it has no number.
    #[must_use]
    pub fn known(&self, of: T) -> NumberSet {
        self.numbers.get(&of).map_or(NumberSet::NONE, |&number| NumberSet::one(number))
    }

    /// Iterates over the members of a set.
    pub fn members(&self, set: NumberSet) -> impl Iterator<Item = T> + '_ {
        set.below(self.all.len()).map(|number| self.all[number])
    }

    /// Returns the one member of a set.
    #[must_use]
    pub fn single(&self, set: NumberSet) -> Option<T> {
        let least = set.least().filter(|&least| set == NumberSet::one(least))?;
        self.all.get(least).copied()
    }

    /// Forgets all but the first ones.
    pub fn truncate(&mut self, len: usize) {
        for of in self.all.drain(len.min(self.all.len())..) {
            self.numbers.remove(&of);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// NumberSet around the borders of words, up to this one.
    const MOST: usize = 300;

    /// A set of some numbers, or of all others, as it is and as its members below [`MOST`].
    fn set() -> impl Strategy<Value = (NumberSet, BTreeSet<usize>)> {
        let near = prop_oneof![0..4_usize, 60..68_usize, 122..130_usize, 188..196_usize, 0..MOST];
        (prop::collection::btree_set(near, 0..5), any::<bool>()).prop_map(|(members, is_complement)| {
            let set: NumberSet = members.iter().map(|&n| NumberSet::one(n)).collect();
            let others = || (0..MOST).filter(|n| !members.contains(n)).collect();
            if is_complement { (!set, others()) } else { (set, members) }
        })
    }

    fn members(of: NumberSet) -> BTreeSet<usize> {
        of.below(MOST).collect()
    }

    proptest! {
        #[test]
        fn sets_are_those_of_their_members((a, of_a) in set(), (b, of_b) in set(), n in 0..MOST) {
            let _user = User::new();
            prop_assert_eq!(members(a), of_a.clone());
            prop_assert_eq!(members(a & b), &of_a & &of_b);
            prop_assert_eq!(members(a | b), &of_a | &of_b);
            prop_assert_eq!(members(!a), (0..MOST).filter(|n| !of_a.contains(n)).collect());
            prop_assert_eq!(!!a, a);
            prop_assert_eq!((a | b) & a, a);
            prop_assert_eq!(a == b, of_a == of_b);
            prop_assert_eq!(a.has(n), of_a.contains(&n));
            prop_assert_eq!(a.least().filter(|&n| n < MOST), of_a.first().copied());
            prop_assert_eq!(a.is_empty(), of_a.is_empty());
            prop_assert_eq!(members(NumberSet::from(n)), (n..MOST).collect());
            prop_assert_eq!(a.reaches(n), of_a.iter().any(|&m| m >= n));
            let (low, high) = of_a.iter().partition::<Vec<usize>, _>(|&&m| m < n);
            prop_assert_eq!(a.is_single_below(n), low.len() + usize::from(!high.is_empty()) == 1);
        }
    }

    #[test]
    fn the_table_is_emptied_behind_its_last_user() {
        let wide = || SETS.with_borrow(|sets| sets.all.len());
        let mut first = Numbering::default();
        (0..200).for_each(|n| _ = first.set(n));
        let second = Numbering::<usize>::default();
        drop(first);
        assert_eq!(wide(), 200 - INLINE);
        drop(second);
        assert_eq!(wide(), 0);
    }
}
