//! The places of words in the memory of their nodes.

use crate::company::Company;
use crate::emitted::mowgli_port::Word;
use crate::memory::{LINE, are_in_a_row};
use crate::port::Fault;
use crate::stack::Stack;

/// The largest number of words of a node: 64 MiB of memory.
const MOST: usize = 1 << 23;

/// Words that synchronise the processes. They lie behind all other words.
#[derive(Clone, Copy)]
pub(super) enum Control {
    /// The run that threads may begin.
    Go,
    /// The time at which they begin it, in nanoseconds since 1970.
    Start,
    /// The run that this process has reached.
    Round,
    /// The target of gets that only serve to wait.
    Dummy,
    /// The run that the process of a rank has reached, in the memory of the first process.
    Came(usize),
}

pub(super) struct Layout {
    /// The place of each word among those of its node.
    places: Vec<usize>,
    /// The initial words of each node.
    initial: Vec<Vec<u64>>,
    copies: usize,
    own: usize,
    /// For each word, true if its library declares that it is never read.
    unread: Vec<bool>,
}

impl Layout {
    pub(super) fn new(stack: &Stack, company: &Company, copies: usize) -> Result<Self, Fault> {
        let nodes = company.size();
        if usize::from(stack.world.nodes) > nodes {
            let needed = stack.world.nodes;
            return Err(Fault::Wrong(format!("there are {needed} nodes, and {nodes} processes: each node needs one")));
        }
        let (mut places, mut initial) = (Vec::new(), vec![Vec::new(); nodes]);
        for word in stack.memory() {
            let of_node = &mut initial[usize::from(word.node) - 1];
            // Copies to other places than the beginning of a line take up to an eighth longer.
            if word.begins {
                of_node.resize(of_node.len().next_multiple_of(LINE), 0);
            }
            places.push(of_node.len());
            of_node.push(word.initial as u64);
        }
        let most = initial.iter().map(Vec::len).max().unwrap_or(0) * copies;
        if most > MOST {
            return Err(Fault::Wrong(format!("a node has {most} words of memory, and at most {MOST} are registered")));
        }
        let unread = stack.memory().iter().map(|word| word.is_unread).collect();
        Ok(Self { places, initial, copies, own: company.rank(), unread })
    }

    pub(super) fn nodes(&self) -> usize {
        self.initial.len()
    }

    /// Returns the initial memory of this process.
    pub(super) fn words(&self) -> Vec<u64> {
        let mut words = self.initial[self.own].repeat(self.copies);
        words.extend(vec![0; Control::Came(self.nodes()).place()]);
        words
    }

    /// Returns the place of a word on its node.
    #[inline]
    pub(super) fn place(&self, x: Word, copy: usize) -> usize {
        self.places[x.at] + copy * self.initial[x.node as usize - 1].len()
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

    /// Returns the place of a word of this node. `Legal` has refused operations of interpreted programs that need such a
    /// place for a word of another node, and emitted code makes none.
    #[inline]
    pub(super) fn own(&self, x: Word, copy: usize) -> usize {
        assert!(self.has(x), "word {} is on node {}", x.at, x.node);
        self.place(x, copy)
    }

    /// Returns the place of a control word, in the memory of the process of a rank.
    pub(super) fn control(&self, rank: usize, control: Control) -> usize {
        self.initial[rank].len() * self.copies + control.place()
    }
}

impl Control {
    fn place(self) -> usize {
        match self {
            Self::Go => 0,
            Self::Start => 1,
            Self::Round => 2,
            Self::Dummy => 3,
            Self::Came(rank) => 4 + rank,
        }
    }
}
