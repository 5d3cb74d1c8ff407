//! The places of words in the memory of their nodes.

use mowgli_core::ids::Loc;
use mowgli_core::world::World;
use mowgli_rdma::wait::{home, is_unread};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::company::Company;
use crate::port::Fault;
use crate::stack::Stack;
use crate::word::packed;

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
    /// The node, counted from 0, and the place of a word among those of its node.
    places: FxHashMap<Loc, (usize, usize)>,
    /// The initial words of each node.
    initial: Vec<Vec<u64>>,
    copies: usize,
    own: usize,
    /// The words that are never read, as their libraries declare.
    unread: FxHashSet<Loc>,
}

impl Layout {
    pub(super) fn new(world: &World, company: &Company, copies: usize) -> Result<Self, Fault> {
        let nodes = company.size();
        if usize::from(world.nodes) > nodes {
            let needed = world.nodes;
            return Err(Fault::Wrong(format!("there are {needed} nodes, and {nodes} processes: each node needs one")));
        }
        let unread = Stack::words(world).filter(|(_, object)| is_unread(object)).map(|(x, _)| x).collect();
        let (places, initial) = (FxHashMap::default(), vec![Vec::new(); nodes]);
        let mut layout = Self { places, initial, copies, own: company.rank(), unread };
        for (x, object) in Stack::words(world) {
            let node = usize::from(home(world, x).0) - 1;
            let unfit = || Fault::Wrong(format!("{x} is {}, which does not fit into a word", object.init));
            let word = packed(object.init).ok_or_else(unfit)?;
            layout.places.insert(x, (node, layout.initial[node].len()));
            layout.initial[node].push(word);
        }
        let most = layout.initial.iter().map(Vec::len).max().unwrap_or(0) * copies;
        if most > MOST {
            return Err(Fault::Wrong(format!("a node has {most} words of memory, and at most {MOST} are registered")));
        }
        Ok(layout)
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

    /// Returns the node of a word, counted from 0, and the word's place there.
    pub(super) fn place(&self, x: Loc, copy: usize) -> (usize, usize) {
        let (node, word) = self.places[&x];
        (node, word + copy * self.initial[node].len())
    }

    /// True if a word is on this node.
    pub(super) fn has(&self, x: Loc) -> bool {
        self.places[&x].0 == self.own
    }

    /// True if the library of a word declares that it is never read. A get may bring anything into such a word.
    pub(super) fn is_unread(&self, x: Loc) -> bool {
        self.unread.contains(&x)
    }

    /// Returns the place of a word of this node. `Legal` has refused operations that need such a place for a word of
    /// another node.
    pub(super) fn own(&self, x: Loc, copy: usize) -> usize {
        assert!(self.has(x), "{x} is on another node");
        self.place(x, copy).1
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
