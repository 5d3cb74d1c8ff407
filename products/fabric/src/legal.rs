//! The checks of operations that all fabrics share, so that a program which runs over one runs over the others.
//!
//! The CPU reaches only words of its own node. A network operation has one end at its thread, and the word at that end
//! has to be on the thread's node. Words and nodes have to exist. An integer has to fit into a word of 64 bits beside
//! the other values (see `word.rs`). The network card adds without a check, so a sum may be too large, and its reader
//! gets an error.

use std::ops::RangeInclusive;

use mowgli_core::ids::{Loc, Node};
use mowgli_core::value::Val;
use mowgli_core::world::Object;
use mowgli_rdma::wait::{Method, words};
use rustc_hash::FxHashMap;

use crate::emitted::mowgli_port::Word;

/// The integers that a word holds. A word has room for twice as many, so the sum of two of them never equals the
/// encoding of another one.
pub(crate) const INTEGERS: RangeInclusive<i64> = -(1 << 61)..=(1 << 61) - 1;

/// The reason for which fabrics refuse an operation or a group.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Illegal {
    /// A word is on no node.
    #[error("{0} is on no node")]
    Homeless(Loc),
    /// A word is on a node that does not exist.
    #[error("{x} is on node {node}, and there are nodes 1 to {nodes}: let a thread be on node {node}")]
    Outside { x: Loc, node: Node, nodes: u8 },
    /// A word is at first an integer that words do not hold.
    #[error("{x} is at first {init}: {why}")]
    Init { x: Loc, init: Val, why: Box<Self> },
    /// A node does not exist.
    #[error("there is no node {node}, but nodes 1 to {nodes}")]
    Node { node: Node, nodes: u8 },
    /// A word does not exist.
    #[error("there is no word {0}")]
    Word(Loc),
    /// A word is not on the node of the thread.
    #[error("{x} is on node {home}, and the thread on node {here}")]
    Elsewhere { x: Loc, home: Node, here: Node },
    /// Words do not hold an integer.
    #[error("{0} is not between -2^61 and 2^61 - 1, the integers that a word holds")]
    TooLarge(i64),
}

/// The nodes of a group, and the node and number of each word.
pub(crate) struct Legal {
    nodes: u8,
    words: FxHashMap<Loc, Word>,
}

impl Legal {
    /// Records the words of memory of a group with so many nodes, each with its number.
    ///
    /// # Errors
    /// If a word has no node or one that does not exist, or if words do not hold its initial integer.
    pub(crate) fn new<'w>(nodes: u8, words: impl Iterator<Item = (usize, (Loc, &'w Object))>) -> Result<Self, Illegal> {
        let placed = |(at, (x, object)): (usize, (Loc, &Object))| {
            let node = object.node.ok_or(Illegal::Homeless(x))?;
            inside(nodes, x, node)?;
            held(object.init).map_err(|why| Illegal::Init { x, init: object.init, why: Box::new(why) })?;
            Ok((x, Word { node: node.0.into(), at }))
        };
        Ok(Self { nodes, words: words.map(placed).collect::<Result<_, _>>()? })
    }

    /// Checks an operation of a thread on the node `here`.
    ///
    /// # Errors
    /// The reason for which fabrics refuse the operation.
    pub(crate) fn check(&self, here: Node, operation: Method) -> Result<(), Illegal> {
        match operation.usual().0 {
            Method::Read { x } => self.own(here, x),
            Method::Write { x, v } | Method::Xchg { x, v } | Method::FAA { x, v } => self.own(here, x).and(held(v)),
            Method::CAS { x, v1, v2 } => self.own(here, x).and(held(v1)).and(held(v2)),
            Method::Get { x: own, y: far, .. } | Method::Put { x: far, y: own, .. } => self.both(here, own, far),
            Method::RCAS { x, y, v1, v2, .. } => self.both(here, x, y).and(held(v1)).and(held(v2)),
            Method::RFAA { x, y, v, .. } | Method::RXchg { x, y, v, .. } => self.both(here, x, y).and(held(v)),
            Method::GetWords { xs: own, ys: far, .. } | Method::PutWords { xs: far, ys: own, .. } => {
                words(own).into_iter().zip(words(far)).try_for_each(|(own, far)| self.both(here, own, far))
            }
            Method::Rfence { n } => self.exists(n),
            _ => Ok(()),
        }
    }

    /// Checks that a node exists.
    pub(crate) fn exists(&self, n: Node) -> Result<(), Illegal> {
        let Self { nodes, .. } = *self;
        if (1..=nodes).contains(&n.0) { Ok(()) } else { Err(Illegal::Node { node: n, nodes }) }
    }

    /// Returns a word.
    pub(crate) fn word(&self, x: Loc) -> Result<Word, Illegal> {
        self.words.get(&x).copied().ok_or(Illegal::Word(x))
    }

    fn own(&self, here: Node, x: Loc) -> Result<(), Illegal> {
        let Word { node, .. } = self.word(x)?;
        if node == i64::from(here.0) { Ok(()) } else { Err(Illegal::Elsewhere { x, home: Node(node as u8), here }) }
    }

    fn both(&self, here: Node, own: Loc, far: Loc) -> Result<(), Illegal> {
        self.own(here, own)?;
        self.word(far).map(|_| ())
    }
}

/// Checks that the node of an object or a word exists.
///
/// # Errors
/// The name of the object, and the nodes.
pub(crate) fn inside(nodes: u8, x: Loc, node: Node) -> Result<(), Illegal> {
    if (1..=nodes).contains(&node.0) { Ok(()) } else { Err(Illegal::Outside { x, node, nodes }) }
}

/// Checks that a word can hold a value. Only integers can be too large for it.
///
/// # Errors
/// The range of integers that a word holds.
pub(crate) fn held(v: Val) -> Result<(), Illegal> {
    match v {
        Val::Int(i) if !INTEGERS.contains(&i) => Err(Illegal::TooLarge(i)),
        _ => Ok(()),
    }
}
