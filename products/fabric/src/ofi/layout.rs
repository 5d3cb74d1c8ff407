//! The places of words in the memory of their nodes.

use crate::company::Company;
use crate::emitted::mowgli_port::Word;
use crate::made::MadeObjects;
use crate::memory::{LINE, are_in_a_row};
use crate::port::Fault;

/// The largest number of words of a node: 64 MiB of memory.
const MOST: usize = 1 << 23;

pub(super) struct Layout {
    /// The place of each word among those of its node.
    places: Vec<usize>,
    /// The initial words of each node.
    initial: Vec<Vec<u64>>,
    own: usize,
    /// For each word, true if its library declares that it is never read.
    unread: Vec<bool>,
}

impl Layout {
    pub(super) fn new(made: &MadeObjects<'_>, company: &Company) -> Result<Self, Fault> {
        let nodes = company.size();
        if usize::from(made.declared.world.nodes) > nodes {
            let needed = made.declared.world.nodes;
            return Err(Fault::Wrong(format!("there are {needed} nodes, and {nodes} processes: each node needs one")));
        }
        let (mut places, mut initial) = (Vec::new(), vec![Vec::new(); nodes]);
        for word in &made.memory {
            let of_node = &mut initial[usize::from(word.node) - 1];
            // Copies to other places than the beginning of a line take up to an eighth longer.
            if word.begins {
                of_node.resize(of_node.len().next_multiple_of(LINE), 0);
            }
            places.push(of_node.len());
            of_node.push(word.initial as u64);
        }
        let most = initial.iter().map(Vec::len).max().unwrap_or(0);
        if most > MOST {
            return Err(Fault::Wrong(format!("a node has {most} words of memory, and at most {MOST} are registered")));
        }
        let unread = made.memory.iter().map(|word| word.is_unread).collect();
        Ok(Self { places, initial, own: company.rank(), unread })
    }

    pub(super) fn nodes(&self) -> usize {
        self.initial.len()
    }

    /// Returns the initial memory of this process.
    pub(super) fn words(&self) -> Vec<u64> {
        // Libfabric registers no empty memory.
        self.initial[self.own].iter().copied().chain([0]).collect()
    }

    /// Returns the place of a word on its node.
    #[inline]
    pub(super) fn place(&self, x: Word) -> usize {
        self.places[x.at]
    }

    /// True if words lie side by side, in their order: see [`are_in_a_row`].
    #[inline]
    pub(super) fn is_row(&self, words: &[Word]) -> bool {
        are_in_a_row(words, |x| self.places[x.at])
    }

    /// True if a word is on this node.
    #[inline]
    pub(super) fn has(&self, x: Word) -> bool {
        x.node == self.own as i64 + 1
    }

    /// True if the library of a word declares that it is never read. A get may bring anything into such a word.
    pub(super) fn is_unread(&self, x: Word) -> bool {
        self.unread[x.at]
    }

    /// Returns the place of a word of this node. Emitted code needs none of another node.
    #[inline]
    pub(super) fn own(&self, x: Word) -> usize {
        assert!(self.has(x), "word {} is on node {}", x.at, x.node);
        self.place(x)
    }
}
