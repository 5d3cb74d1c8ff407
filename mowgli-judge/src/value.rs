//! Values: what methods take and return (`Val`, LOCO §3.1). Locations, identifiers and nodes are values too.

use std::fmt;
use std::sync::Mutex;

use rustc_hash::{FxBuildHasher, FxHashSet};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{Loc, Name, Node, NodeSet, Tid, Wid};

static TUPLES: Mutex<FxHashSet<&'static [Val]>> = Mutex::new(FxHashSet::with_hasher(FxBuildHasher));

/// A value. `Copy`, so that continuations can mention earlier results freely.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Val {
    /// The value of a method that returns nothing.
    Unit,
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// The value of a method that had nothing to return, for example a failed receive.
    Bot,
    /// An undefined value, for example after a race; `top` in text.
    Top,
    /// A location.
    Loc(Loc),
    /// A node.
    Node(Node),
    /// A set of nodes.
    Nodes(NodeSet),
    /// A thread.
    Thread(Tid),
    /// A work identifier.
    Wid(Wid),
    /// The identifier that nothing waits on, `_` in the papers.
    NoWid,
    /// The way in which a call is made, if its library has several. Programs write it behind the name of the call.
    Way(Name),
    /// Several values.
    Tuple(Tuple),
}

/// An interned tuple of values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tuple(&'static [Val]);

impl Tuple {
    /// The parts.
    #[must_use]
    pub fn parts(self) -> &'static [Val] {
        self.0
    }
}

impl Serialize for Tuple {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tuple {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Val>::deserialize(deserializer).map(|parts| intern(&parts))
    }
}

fn intern(parts: &[Val]) -> Tuple {
    let mut tuples = TUPLES.lock().expect("the table of tuples is never left half written");
    if let Some(known) = tuples.get(parts) {
        return Tuple(known);
    }
    let kept: &'static [Val] = Box::leak(parts.to_vec().into_boxed_slice());
    tuples.insert(kept);
    Tuple(kept)
}

impl Val {
    /// Returns the tuple of these values.
    #[must_use]
    pub fn tuple(parts: &[Self]) -> Self {
        Self::Tuple(intern(parts))
    }

    /// Returns the integer, if it is one.
    #[must_use]
    pub fn int(self) -> Option<i64> {
        match self {
            Self::Int(i) => Some(i),
            _ => None,
        }
    }

    /// Returns the integers in it: itself, or those among the parts of a tuple.
    #[must_use]
    pub fn integers(self) -> Vec<i64> {
        match self {
            Self::Int(i) => vec![i],
            Self::Tuple(t) => t.0.iter().flat_map(|v| v.integers()).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns its image under `f`. That of a tuple has the images of its parts.
    #[must_use]
    pub fn image(self, f: &dyn Fn(Self) -> Self) -> Self {
        match self {
            Self::Tuple(t) => Self::tuple(&t.0.iter().map(|v| v.image(f)).collect::<Vec<_>>()),
            one => f(one),
        }
    }

    /// Returns the location, if it is one.
    #[must_use]
    pub fn loc(self) -> Option<Loc> {
        match self {
            Self::Loc(x) => Some(x),
            _ => None,
        }
    }

    /// Returns the set of nodes, if it is one.
    #[must_use]
    pub fn nodes(self) -> Option<NodeSet> {
        match self {
            Self::Nodes(ns) => Some(ns),
            _ => None,
        }
    }

    /// Returns this integer plus `k`, modulo 2^64 as in hardware, or the element of an array so many places behind this one.
    /// `None` for other values, which have no sum.
    #[must_use]
    pub fn plus(self, k: i64) -> Option<Self> {
        match self {
            Self::Int(i) => Some(Self::Int(i.wrapping_add(k))),
            Self::Loc(x) => x.behind(k).map(Self::Loc),
            _ => None,
        }
    }

    /// Returns the sum of two values, of which one at least is an integer, or the difference. The difference of two elements
    /// of one array is the number of places between them. `None` if there is none.
    #[must_use]
    pub fn combined(self, is_minus: bool, other: Self) -> Option<Self> {
        match (self, other) {
            (_, Self::Int(k)) => self.plus(if is_minus { k.wrapping_neg() } else { k }),
            (Self::Int(k), _) if !is_minus => other.plus(k),
            (Self::Loc(x), Self::Loc(y)) if is_minus => {
                let ((of_x, i), (of_y, j)) = (x.numbered()?, y.numbered()?);
                (of_x == of_y).then(|| Self::Int(i.wrapping_sub(j)))
            }
            _ => None,
        }
    }

    /// Returns the value as programs write it in the place of data: a location is written as its address.
    #[must_use]
    pub fn literal(self) -> String {
        match self {
            Self::Loc(x) => format!("&{x}"),
            Self::Tuple(t) => format!("({})", t.0.iter().map(|v| v.literal()).collect::<Vec<_>>().join(", ")),
            other => other.to_string(),
        }
    }

    /// True if this is data (integers, truth values, tuples of such) and not the name of an object.
    #[must_use]
    pub fn is_data(self) -> bool {
        use Val::{Loc, NoWid, Node, Nodes, Thread, Tuple, Way, Wid};
        if let Tuple(all) = self {
            return all.parts().iter().all(|v| v.is_data());
        }
        !matches!(self, Loc(_) | Node(_) | Nodes(_) | Thread(_) | Wid(_) | NoWid | Way(_))
    }
}

macro_rules! from {
    ($($Kind:ty => $Variant:ident;)*) => {$(
        impl From<$Kind> for Val {
            fn from(v: $Kind) -> Self {
                Self::$Variant(v.into())
            }
        }
    )*};
}
from! {
    i64 => Int;
    i32 => Int;
    bool => Bool;
    Loc => Loc;
    Node => Node;
    NodeSet => Nodes;
    Tid => Thread;
    Wid => Wid;
}

impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit => f.write_str("()"),
            Self::Int(i) => i.fmt(f),
            Self::Bool(b) => b.fmt(f),
            Self::Bot => f.write_str("bot"),
            Self::Top => f.write_str("top"),
            Self::Loc(x) => x.fmt(f),
            Self::Node(n) => n.fmt(f),
            Self::Nodes(ns) => ns.fmt(f),
            Self::Thread(t) => t.fmt(f),
            Self::Wid(d) => d.fmt(f),
            Self::NoWid => f.write_str("_"),
            Self::Way(w) => w.fmt(f),
            Self::Tuple(t) => {
                let parts: Vec<String> = t.0.iter().map(Self::to_string).collect();
                write!(f, "({})", parts.join(", "))
            }
        }
    }
}

impl fmt::Debug for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_ron() {
        let all = Val::tuple(&[Val::Int(-1), Val::Bool(true), Val::Bot, Val::Loc(Loc::new("x")), Val::NoWid]);
        let text = ron::to_string(&all).unwrap();
        assert_eq!(ron::from_str::<Val>(&text).unwrap(), all);
        assert_eq!(all.to_string(), "(-1, true, bot, x, _)");
    }
}
