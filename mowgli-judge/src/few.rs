//! Short lists: the arguments of a call, the subevents of an event.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// A list that is usually short, and is then stored in place, because a search makes very many of them. It is used as a
/// slice.
///
/// ```
/// use mowgli_judge::few::Few;
///
/// let few: Few<u8> = [1, 2].into();
/// assert_eq!(few.iter().sum::<u8>(), 3);
/// assert_eq!(few, (1..=2).collect());
/// ```
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent, bound(serialize = "T: Serialize", deserialize = "T: Deserialize<'de>"))]
pub struct Few<T>(SmallVec<[T; 4]>);

/// The items are copied at once, since the search copies runs for each state that it makes.
impl<T: Copy> Clone for Few<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self(SmallVec::from_slice(&self.0))
    }
}

impl<T: Copy> Few<T> {
    /// Returns a copy of a slice.
    #[must_use]
    pub fn of(slice: &[T]) -> Self {
        Self(SmallVec::from_slice(slice))
    }
}

impl<T> Few<T> {
    /// Appends an item.
    pub fn push(&mut self, item: T) {
        self.0.push(item);
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(SmallVec::new())
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T, const N: usize> From<[T; N]> for Few<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Few<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        IntoIter(self.0.into_iter())
    }
}

/// An iterator over the elements of a [`Few`].
#[derive(Debug)]
pub struct IntoIter<T>(smallvec::IntoIter<[T; 4]>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.0.next()
    }
}

/// A list that is copied much more often than it is made: its copies share it.
///
/// ```
/// use mowgli_judge::few::Shared;
///
/// let list: Shared<u8> = [1, 2].into();
/// assert_eq!(list.clone().iter().sum::<u8>(), 3);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Shared<T>(Arc<[T]>);

impl<T> Deref for Shared<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T, const N: usize> From<[T; N]> for Shared<T> {
    fn from(items: [T; N]) -> Self {
        Self(items.into())
    }
}

impl<T> FromIterator<T> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<'a, T> IntoIterator for &'a Shared<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: Copy> IntoIterator for Shared<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        Few::of(&self.0).into_iter()
    }
}
