//! Stamps: with a stamp order `to` the parameter of the framework (LOCO §3.2).
//!
//! A memory model has a type of its own for its stamps, a [`StampKind`]. The framework carries a value of it as a [`Stamp`], a
//! number with the table of its model. So nothing in the framework is generic in the stamps, and it is compiled once.

use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt::{self, Display};
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::ids::Node;

/// The role of a subevent in the hardware's ordering of one thread's operations.
///
/// The core knows no stamps, because each memory model brings its own type. Its `Display` is the paper's name, for
/// example `aCR`. Models may have the same stamps and differ in their stamp order, which is part of their
/// [`Libraries`](crate::library::Libraries).
pub trait StampKind: Copy + Display + 'static {
    /// Returns the table of this type: a static that is [`StampKinds::of`] the type.
    fn kinds() -> &'static StampKinds;

    /// Returns the number of a stamp. Different stamps have different numbers, which order them.
    fn number(self) -> u32;

    /// Returns the stamp with this [`number`](Self::number).
    ///
    /// # Panics
    /// May panic if no stamp has it.
    fn numbered(number: u32) -> Self;

    /// Returns every stamp in a network of `nodes` nodes. Local soundness quantifies over all of them (LOCO Def. 3.13).
    fn all(nodes: u8) -> Vec<Self>;

    /// Returns the stamps that are missing from [`Self::all`] and that a question with this stamp is about: it, and those in
    /// order with it. Local soundness quantifies over these, too.
    #[must_use]
    fn beside(self, nodes: u8) -> Vec<Self> {
        let _ = nodes;
        Vec::new()
    }

    /// Returns the stamp with this name, in the form of Display. By default it searches the stamps of the largest
    /// network.
    #[must_use]
    fn named(name: &str) -> Option<Self> {
        Self::all(u8::MAX).into_iter().find(|stamp| stamp.to_string() == name)
    }

    /// Returns the same stamp after a renaming of nodes. If a model with nodes in its stamps does not define it,
    /// clients that differ in the numbers of nodes are never symmetric.
    #[must_use]
    fn renamed(self, node: &dyn Fn(Node) -> Node) -> Self {
        let _ = node;
        self
    }

    /// Returns the node that the stamp is about, if it is about one.
    #[must_use]
    fn target(self) -> Option<Node> {
        None
    }

    /// Returns the number of the channel to that node, if stamps distinguish channels.
    #[must_use]
    fn channel(self) -> Option<u8> {
        None
    }

    /// Returns a short description for readers; empty if the model has none.
    #[must_use]
    fn about(self) -> String {
        String::new()
    }

    /// Returns the stamp of this model inside a stamp of the framework.
    ///
    /// # Panics
    /// If it is a stamp of another model.
    #[must_use]
    fn of(stamp: Stamp) -> Self {
        assert!(std::ptr::eq(stamp.kinds, Self::kinds()), "{stamp} is a stamp of another memory model");
        Self::numbered(stamp.number)
    }
}

/// Makes an enum without fields a [`StampKind`]. Each stamp prints as its name, and may have a description for readers:
/// `plain_stamps!(Tso: R = "a read", W = "a write")`.
#[macro_export]
macro_rules! plain_stamps {
    ($Stamps:ident: $($stamp:ident $(= $about:literal)?),+ $(,)?) => {
        impl $crate::stamp::StampKind for $Stamps {
            fn kinds() -> &'static $crate::stamp::StampKinds {
                static KINDS: $crate::stamp::StampKinds = $crate::stamp::StampKinds::of::<$Stamps>();
                &KINDS
            }

            fn number(self) -> u32 {
                self as u32
            }

            fn numbered(number: u32) -> Self {
                [$(Self::$stamp),+][number as usize]
            }

            fn all(_: u8) -> Vec<Self> {
                vec![$(Self::$stamp),+]
            }

            fn about(self) -> String {
                String::from(match self { $(Self::$stamp => concat!($($about)?)),+ })
            }
        }

        impl ::std::fmt::Display for $Stamps {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(match self { $(Self::$stamp => stringify!($stamp)),+ })
            }
        }
    };
}
pub use plain_stamps;

/// The stamps of one memory model: a [`StampKind`] as a value.
pub struct StampKinds {
    fmt: fn(u32, &mut fmt::Formatter<'_>) -> fmt::Result,
    all: fn(u8) -> Vec<Stamp>,
    beside: fn(u32, u8) -> Vec<Stamp>,
    renamed: fn(u32, &dyn Fn(Node) -> Node) -> Stamp,
    target: fn(u32) -> Option<Node>,
    channel: fn(u32) -> Option<u8>,
    about: fn(u32) -> String,
    named: fn(&str) -> Option<Stamp>,
}

impl StampKinds {
    /// Returns the table of this type. Each type has one static table, whose address distinguishes models.
    #[must_use]
    pub const fn of<K: StampKind>() -> Self {
        Self {
            fmt: |number, f| K::numbered(number).fmt(f),
            all: |nodes| K::all(nodes).into_iter().map(Stamp::from).collect(),
            beside: |number, nodes| K::numbered(number).beside(nodes).into_iter().map(Stamp::from).collect(),
            renamed: |number, node| K::numbered(number).renamed(node).into(),
            target: |number| K::numbered(number).target(),
            channel: |number| K::numbered(number).channel(),
            about: |number| K::numbered(number).about(),
            named: |name| K::named(name).map(Stamp::from),
        }
    }

    /// Returns every stamp in a network of `nodes` nodes; see [`StampKind::all`].
    #[must_use]
    pub fn all(&self, nodes: u8) -> Vec<Stamp> {
        (self.all)(nodes)
    }
}

/// A stamp of some memory model. The stamps of one program all have one [`StampKind`], and only such stamps are compared.
#[derive(Clone, Copy)]
pub struct Stamp {
    kinds: &'static StampKinds,
    number: u32,
}

impl Stamp {
    /// Returns the same stamp after a renaming of nodes; see [`StampKind::renamed`].
    #[must_use]
    pub fn renamed(self, node: &dyn Fn(Node) -> Node) -> Self {
        (self.kinds.renamed)(self.number, node)
    }

    /// Returns the node that the stamp is about; see [`StampKind::target`].
    #[must_use]
    pub fn node(self) -> Option<Node> {
        (self.kinds.target)(self.number)
    }

    /// Returns the name of its family, whose stamps differ in their nodes and channels, for example aNF for `aNF_2`.
    #[must_use]
    pub fn family(self) -> String {
        let name = self.to_string();
        if self.node().is_none() { name } else { name.split('_').next().unwrap_or(&name).to_owned() }
    }

    /// Returns the stamps that a question with this one is about, besides those of every question: see [`StampKind::beside`].
    #[must_use]
    pub fn beside(self, nodes: u8) -> Vec<Self> {
        (self.kinds.beside)(self.number, nodes)
    }

    /// Returns the number of the channel to that node; see [`StampKind::channel`].
    #[must_use]
    pub fn channel(self) -> Option<u8> {
        (self.kinds.channel)(self.number)
    }

    /// Returns a short description of the stamp for readers; see [`StampKind::about`].
    #[must_use]
    pub fn about(self) -> String {
        (self.kinds.about)(self.number)
    }
}

impl<K: StampKind> From<K> for Stamp {
    fn from(kind: K) -> Self {
        Self { kinds: K::kinds(), number: kind.number() }
    }
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Stamp {}

impl<K: StampKind> PartialEq<K> for Stamp {
    fn eq(&self, other: &K) -> bool {
        *self == Self::from(*other)
    }
}

impl PartialOrd for Stamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Stamp {
    fn cmp(&self, other: &Self) -> Ordering {
        self.number.cmp(&other.number)
    }
}

impl Hash for Stamp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.kinds.fmt)(self.number, f)
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

thread_local! {
    static READ: Cell<Option<&'static StampKinds>> = const { Cell::new(None) };
}

/// Runs `read`, and resolves the names of stamps in it as those of this type.
pub fn reading<K: StampKind, T>(read: impl FnOnce() -> T) -> T {
    let before = READ.replace(Some(K::kinds()));
    let found = read();
    READ.set(before);
    found
}

/// By its name.
impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From its name, of the type that [`reading`] says.
impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let kinds = READ.get().ok_or_else(|| de::Error::custom("stamps are read inside of `stamp::reading`"))?;
        (kinds.named)(&name).ok_or_else(|| de::Error::custom(format_args!("the memory model has no stamp {name}")))
    }
}
