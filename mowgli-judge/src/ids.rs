//! Names, threads, nodes and sets of them.
//!
//! Every identifier is a small `Copy` value, so that implementations can be written as nested closures that read
//! like the figures of the papers. Names are interned: equal text is one allocation for the life of the process.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Mutex;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// An interned name, ordered by its text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name(&'static str);

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares texts, because two literals with one text may be two allocations. Most equal names are one allocation, so the
/// comparison of addresses saves that of texts.
impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        if std::ptr::eq(self.0, other.0) { Ordering::Equal } else { self.0.cmp(other.0) }
    }
}

/// The separator between an owner and the role of its part.
const PART: char = '.';

impl Name {
    /// Returns a name that is part of the program text, which needs no table.
    #[must_use]
    pub const fn literal(text: &'static str) -> Self {
        Self(text)
    }

    /// Returns the name with this text.
    ///
    /// # Panics
    /// If another thread panicked while it held the table, which would be a bug of Mowgli.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut names = NAMES.lock().expect("the table of names is never left half written");
        if let Some(known) = names.get(text) {
            return Self(known);
        }
        let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
        names.insert(kept);
        Self(kept)
    }

    /// Returns the name of a part, which an implementation makes for its object or for itself. It is printed as, for
    /// example, `x.copy_1`. Identifiers of clients have no dot, so a part never equals a name of a client. Parts are
    /// equal only if their owners and roles are.
    ///
    /// # Panics
    /// If the role is empty or has a dot.
    #[must_use]
    pub fn part(self, role: impl fmt::Display) -> Self {
        let whole = format!("{}{PART}{role}", self.0);
        let role = &whole[self.0.len() + PART.len_utf8()..];
        assert!(!role.is_empty() && !role.contains(PART), "`{role}` is no role of a part of {self}");
        Self::new(&whole)
    }

    /// True if this is the name of a part, and not of a client.
    #[must_use]
    pub fn is_part(self) -> bool {
        self.0.contains(PART)
    }

    /// Returns the text.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::new(&text))
    }
}

/// A location: the name of an object of some library (`Loc`, LOCO §3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Loc(pub Name);

impl Loc {
    /// Returns the location with this name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(Name::new(name))
    }

    /// Returns the element of the same array that stands `k` places behind this one: behind `w[1]` by 2 stands `w[3]`. The array
    /// need not have it. `None` if this is no element of an array.
    #[must_use]
    pub fn behind(self, k: i64) -> Option<Self> {
        let (array, number) = self.numbered()?;
        Some(Self::new(&format!("{array}[{}]", number.wrapping_add(k))))
    }

    /// Returns the name of the array that this is an element of, and the number of the element.
    #[must_use]
    pub fn numbered(self) -> Option<(&'static str, i64)> {
        let (array, number) = self.0.text().strip_suffix(']')?.rsplit_once('[')?;
        Some((array, number.parse().ok()?))
    }

    /// Returns a location that an implementation makes for this object: see [`Name::part`].
    ///
    /// ```
    /// use mowgli_judge::ids::{Loc, Node};
    ///
    /// let copy = Loc::new("x").part(format_args!("copy_{}", Node(1)));
    /// assert_eq!(copy.to_string(), "x.copy_1");
    /// ```
    ///
    /// # Panics
    /// If the role is empty or has a dot.
    #[must_use]
    pub fn part(self, role: impl fmt::Display) -> Self {
        Self(self.0.part(role))
    }

    /// Returns the object of which this is a part.
    #[must_use]
    pub fn whole(self) -> Option<Self> {
        self.0.text().rsplit_once(PART).map(|(whole, _)| Self(Name::new(whole)))
    }

    /// Returns a work identifier for this object, which only its implementation can use: see [`Name::part`].
    ///
    /// # Panics
    /// If the role is empty or has a dot.
    #[must_use]
    pub fn wid(self, role: impl fmt::Display) -> Wid {
        Wid(self.0.part(role))
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A work identifier, which a `Wait` waits for (LOCO §2.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Wid(pub Name);

impl fmt::Display for Wid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A thread, `1..=T` (`Tid`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Tid(pub u8);

impl Tid {
    /// Returns the position in a list of all threads.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0) - 1
    }

    /// The largest number of threads.
    pub const MOST: usize = u8::MAX as usize;

    /// Returns the thread at this position.
    ///
    /// # Panics
    /// If there are more than [`Self::MOST`] threads.
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        assert!(index < Self::MOST, "at most {} threads", Self::MOST);
        Self(index as u8 + 1)
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.0)
    }
}

/// A machine of the network, `1..=N` (`Node`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Node(pub u8);

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of nodes, at most 63 of them, in one word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct NodeSet(u64);

impl NodeSet {
    /// The largest number of nodes.
    pub const MOST: u8 = 63;

    /// Returns the nodes `1..=count`.
    #[must_use]
    pub fn all(count: u8) -> Self {
        (1..=count).map(Node).collect()
    }

    /// Returns this set with `node`.
    #[must_use]
    pub fn with(self, node: Node) -> Self {
        Self(self.0 | 1 << node.0)
    }

    /// Returns this set without `node`.
    #[must_use]
    pub fn without(self, node: Node) -> Self {
        Self(self.0 & !(1 << node.0))
    }

    /// True if `node` is in the set.
    #[must_use]
    pub fn contains(self, node: Node) -> bool {
        self.0 & (1 << node.0) != 0
    }

    /// True if the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the number of nodes in the set.
    #[must_use]
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Iterates over the non-empty subsets, smaller numbers first.
    pub fn subsets(self) -> impl Iterator<Item = Self> {
        (1..=self.0).filter(move |bits| bits & !self.0 == 0).map(Self)
    }

    /// Iterates over the nodes, in increasing order.
    pub fn iter(self) -> impl Iterator<Item = Node> {
        (1..64).filter(move |i| self.0 & (1 << i) != 0).map(Node)
    }
}

impl FromIterator<Node> for NodeSet {
    fn from_iter<I: IntoIterator<Item = Node>>(nodes: I) -> Self {
        Self(nodes.into_iter().fold(0, |set, node| set | (1 << node.0)))
    }
}

impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<String> = self.iter().map(|n| n.to_string()).collect();
        write!(f, "{{{}}}", nodes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_text_is_one_name() {
        let text = String::from("x");
        assert_eq!(Name::new(&text), Name::new("x"));
        assert_eq!(Name::new("x"), Name::literal("x"));
    }

    #[test]
    fn parts_are_equal_only_if_owners_and_roles_are() {
        let [x, y] = ["x", "x_1"].map(Loc::new);
        assert_eq!(x.part("copy_1"), x.part(format_args!("copy_{}", Node(1))));
        let all = [x, y, x.part("1"), x.part("copy"), y.part("copy"), x.part("copy").part("1"), x.part("copy_1")];
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert_eq!(all.map(|part| part.0.is_part()), [false, false, true, true, true, true, true]);
    }

    #[test]
    fn parts_survive_ron() {
        let part = Loc::new("x").part("copy_1");
        assert_eq!(ron::from_str::<Loc>(&ron::to_string(&part).unwrap()).unwrap(), part);
    }

    #[test]
    #[should_panic(expected = "`a.b` is no role of a part of x")]
    fn a_role_has_no_dot() {
        let _ = Loc::new("x").part("a.b");
    }

    #[test]
    fn node_sets_are_ordered_sets() {
        let set: NodeSet = [Node(3), Node(1), Node(3)].into_iter().collect();
        assert_eq!(set.to_string(), "{1, 3}");
        assert_eq!(set.len(), 2);
        assert!(set.without(Node(1)).contains(Node(3)));
        assert!(!set.without(Node(1)).contains(Node(1)));
    }
}
