//! Where words are in the memory of their nodes.

use mowgli_core::ids::Loc;
use mowgli_core::world::World;
use mowgli_rdma::wait::{home, is_unread};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::company::Company;
use crate::port::Fault;
use crate::stack::Stack;
use crate::word::packed;

/// The most words of a node: 64 MiB of memory.
const MOST: usize = 1 << 23;

/// Words by which processes keep pace, behind all others.
#[derive(Clone, Copy)]
pub(super) enum Control {
    /// The round that threads may begin.
    Go,
    /// The time at which they begin it, in nanoseconds since 1970.
    Start,
    /// The round that this process has come to.
    Round,
    /// What a get brings that is only waited for.
    Dummy,
    /// The round that the process of a rank has come to, which the first one looks at.
    Came(usize),
}

pub(super) struct Layout {
    /// The node, counted from 0, and the place of a word among those of its node.
    places: FxHashMap<Loc, (usize, usize)>,
    /// What the words of each node are at the beginning.
    initial: Vec<Vec<u64>>,
    copies: usize,
    own: usize,
    /// The words at which nobody looks.
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

    /// All words of this process at the beginning.
    pub(super) fn words(&self) -> Vec<u64> {
        let mut words = self.initial[self.own].repeat(self.copies);
        words.extend(vec![0; Control::Came(self.nodes()).place()]);
        words
    }

    /// The node of a word, counted from 0, and where it is there.
    pub(super) fn place(&self, x: Loc, copy: usize) -> (usize, usize) {
        let (node, word) = self.places[&x];
        (node, word + copy * self.initial[node].len())
    }

    /// Whether a word is on this node.
    pub(super) fn has(&self, x: Loc) -> bool {
        self.places[&x].0 == self.own
    }

    /// Whether nobody looks at a word, as its library has declared: what is got into it may be anything.
    pub(super) fn is_unread(&self, x: Loc) -> bool {
        self.unread.contains(&x)
    }

    /// Where a word of this node is. `Legal` has refused operations that reach others so.
    pub(super) fn own(&self, x: Loc, copy: usize) -> usize {
        assert!(self.has(x), "{x} is on another node");
        self.place(x, copy).1
    }

    /// Where a word is by which processes keep pace, in the memory of the process of a rank.
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
