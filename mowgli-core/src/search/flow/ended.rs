//! The iterations that ended while values flow, and what is needed to find out whether anything reads them.

use std::cell::RefCell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::event::{Cell, Writes};
use crate::few::Few;
use crate::search::prefix::StatePath;
use crate::search::thread::ThreadState;
use crate::value::Val;

/// The number of paths that the search keeps. If there are more, it explores states with iterations.
pub(super) const PATHS: usize = 1 << 16;

/// An iteration that ended without a break.
#[derive(Clone, Copy)]
pub(super) struct EndedIteration<'n> {
    pub thread: usize,
    /// The first event, and the one after the last.
    pub events: (usize, usize),
    /// The state in which the thread came to the iteration.
    pub from: &'n ThreadState<'n>,
    /// The state of the thread after the iteration.
    pub to: &'n ThreadState<'n>,
}

impl EndedIteration<'_> {
    /// Returns what it writes; `None` if it writes a copy.
    pub fn writes(&self) -> Option<Vec<(Cell, Val)>> {
        let subs = self.to.run().shapes[self.events.0..self.events.1].iter().flatten();
        let written = subs.filter_map(|sub| Some((sub.cell?, sub.writes?)));
        written.map(|(cell, writes)| if let Writes::Is(v) = writes { Some((cell, v)) } else { None }).collect()
    }
}

/// The iterations that ended in some state, and what is needed to find out whether they are read.
pub(super) struct EndedIterations<'n> {
    /// True if the search leaves out states with such an iteration.
    pub are_left_out: bool,
    pub all: Vec<EndedIteration<'n>>,
    /// The paths to all states without iterations.
    pub paths: Vec<StatePath<'n>>,
    /// The cells at which a thread looks in a state, by the number of the state.
    pub at_call: RefCell<FxHashMap<usize, Few<Cell>>>,
    /// The cells that are read by other calls than those whose result depends on one cell, or by other subevents of these.
    pub read_aside: FxHashSet<Cell>,
}

impl<'n> EndedIterations<'n> {
    pub fn new(are_left_out: bool) -> Self {
        let (all, paths, at_call, read_aside) = Default::default();
        Self { are_left_out, all, paths, at_call, read_aside }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds an iteration. Returns whether it is new.
    pub fn add(&mut self, iteration: EndedIteration<'n>) -> bool {
        let is_new = self.all.iter().all(|known| known.to.id != iteration.to.id);
        if is_new {
            self.all.push(iteration);
        }
        is_new
    }

    /// Begins again.
    pub fn clear(&mut self) {
        *self = Self::new(self.are_left_out);
    }

    /// Notes the cells at which a thread looks in a state.
    pub fn note_cells(&self, point: &ThreadState<'_>, cells: &[Cell]) {
        if self.are_left_out {
            let mut at_call = self.at_call.borrow_mut();
            let known = at_call.entry(point.id).or_default();
            for &cell in cells {
                if !known.contains(&cell) {
                    known.push(cell);
                }
            }
        }
    }
}
