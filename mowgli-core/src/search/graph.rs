//! The fixed part of a search: events and subevents of one skeleton per thread.

use crate::algebra::SubView;
use crate::event::{Event, Sub, occurrences};
use crate::ids::Name;
use crate::search::runs::Skeleton;
use crate::world::World;

/// A subevent with its event's position.
#[derive(Clone, Copy, Debug)]
pub struct GraphSub {
    /// Position of the event.
    pub event: usize,
    /// Position of the event's first subevent: positions inside a shape are relative to it.
    pub base: usize,
    /// The number of its thread.
    pub thread: usize,
    /// The subevent. Its data is that of the first run of its skeleton.
    pub sub: Sub,
}

/// Events and subevents, thread by thread, in program order.
pub struct Graph<'a> {
    /// The surroundings.
    pub world: &'a World,
    /// One skeleton per thread.
    pub skeletons: Vec<&'a Skeleton>,
    /// The events of each skeleton's first run.
    pub events: Vec<&'a Event>,
    /// For each event how many earlier ones of its thread are alike.
    pub nth: Vec<usize>,
    /// The first subevent of each thread, and the number of subevents at the end.
    pub starts: Vec<usize>,
    /// The subevents.
    pub subs: Vec<GraphSub>,
}

impl<'a> Graph<'a> {
    /// The graph of these skeletons.
    #[must_use]
    pub fn new(world: &'a World, skeletons: Vec<&'a Skeleton>) -> Self {
        let mut graph =
            Self { world, skeletons, events: Vec::new(), nth: Vec::new(), starts: vec![0], subs: Vec::new() };
        for (thread, skeleton) in graph.skeletons.iter().enumerate() {
            let run = &skeleton.runs[0];
            for (event, shape) in run.trace.events.iter().zip(&run.shapes) {
                let (index, base) = (graph.events.len(), graph.subs.len());
                graph.events.push(event);
                graph.subs.extend(shape.iter().map(|&sub| GraphSub { event: index, base, thread, sub }));
            }
            graph.starts.push(graph.subs.len());
        }
        graph.nth = occurrences(graph.events.iter().copied());
        graph
    }

    /// Returns the number of subevents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.subs.len()
    }

    /// True if there are no subevents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.subs.is_empty()
    }

    /// A subevent for predicates and keys.
    #[must_use]
    pub fn view(&self, s: usize) -> SubView<'_> {
        let place = &self.subs[s];
        SubView { world: self.world, event: self.events[place.event], sub: &place.sub, nth: self.nth[place.event] }
    }

    /// The library of a subevent.
    #[must_use]
    pub fn library(&self, s: usize) -> Name {
        self.events[self.subs[s].event].call.library
    }

    /// The members of a set, as a row of bits.
    pub fn mask(&self, holds: impl Fn(usize) -> bool) -> Vec<u64> {
        let mut mask = vec![0; self.len().div_ceil(64).max(1)];
        for s in (0..self.len()).filter(|&s| holds(s)) {
            mask[s / 64] |= 1 << (s % 64);
        }
        mask
    }

    /// The subevents of each round of a loop that does not break, as rows of bits.
    #[must_use]
    pub fn rounds(&self) -> Vec<Vec<u64>> {
        let mut rounds = Vec::new();
        let mut first = 0;
        for skeleton in &self.skeletons {
            let trace = &skeleton.runs[0].trace;
            rounds.extend(
                trace
                    .rounds
                    .iter()
                    .map(|&(start, end)| self.mask(|s| (first + start..first + end).contains(&self.subs[s].event))),
            );
            first += trace.events.len();
        }
        rounds
    }
}
