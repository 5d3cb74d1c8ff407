//! Executions that are images of each other under automorphisms of the program.
//!
//! **Computes** with `has_smaller_image` whether each execution that begins with a state has a smaller image. The search then
//! prunes the state. In the end `add_images` adds the images of all runs that were found.
//!
//! **Order.** Executions are compared by the results of the first thread, then by those of the second one, and so on.
//!
//! **Example.** Two threads take a ticket from one counter. If P1 gets 1 and P2 gets 0, the image has 0 and 1. So the search
//! prunes the state after both tickets.
//!
//! **Correct because** the automorphisms are a group, so each execution has a least image. No beginning of that is pruned
//! (docs/search.md, "Automorphisms"). The test is `symmetric_threads_are_searched_in_one_order` in `tests/tests/automorphisms.rs`.
//!
//! **Cost.** A comparison of the results so far, for each state and automorphism.

use std::cmp::Ordering;

use super::{Explorer, Final, Position, Positions};
use crate::search::automorphism::Automorphism;
use crate::search::thread::{Frontier, ThreadState};

impl<'n> Explorer<'_, '_, 'n> {
    /// True if each execution that begins with a state has an image that comes before it.
    pub(super) fn has_smaller_image(&self, state: &Positions<'n>) -> bool {
        self.automorphisms.iter().any(|a| compare(a, state) == Some(Ordering::Greater))
    }

    /// Adds the images of all runs that were found. Returns false if some image is not known.
    pub(super) fn add_images(&mut self) -> bool {
        let mut all = self.found.clone();
        for (a, ends) in self.automorphisms.iter().flat_map(|a| self.found.values().map(move |ends| (a, ends))) {
            let of_thread = |t| {
                let u = a.back(t);
                ends[u].iter().map(|point| self.image(a, u, point)).collect()
            };
            let Some(images) = (0..ends.len()).map(of_thread).collect::<Option<Final<'n>>>() else { return false };
            all.entry(images.iter().map(|points| points[0].id).collect()).or_insert(images);
        }
        self.found = all;
        true
    }

    /// Returns the images of the threads of a state that have ended an iteration without a break; `None` if one is not known.
    pub(super) fn images_of_iterations(&self, state: &Positions<'n>) -> Option<Vec<&'n ThreadState<'n>>> {
        let repeats = state.iter().enumerate().filter(|(_, place)| !place.point.run().trace.rounds.is_empty());
        let all = self.automorphisms.iter().flat_map(|a| repeats.clone().map(move |(t, place)| (a, t, place)));
        all.map(|(a, t, place)| self.image(a, t, place.point)).collect()
    }

    /// Returns the image of a state of thread `t`; `None` if it is not known.
    pub(super) fn image(&self, a: &Automorphism, t: usize, point: &'n ThreadState<'n>) -> Option<&'n ThreadState<'n>> {
        let (thread, events) = (a.threads[t], &point.run().trace.events);
        let mut image = self.starts[thread.index()];
        while let Some(event) = events.get(image.run().shapes.len()) {
            let (Frontier::Reads(call) | Frontier::Free(call, _)) = &image.frontier else { return None };
            let ret = a.image(event.ret)?;
            let [_] = self.threads.shapes(thread, call, ret)[..] else { return None };
            image = self.threads.after(image, thread, ret, 0);
        }
        a.maps(events, &image.run().trace.events).then_some(image)
    }
}

/// Compares all executions that begin with a state with their images; `None` if the state does not decide that.
fn compare(a: &Automorphism, state: &[Position<'_>]) -> Option<Ordering> {
    for (t, own) in state.iter().enumerate() {
        let other = &state[a.back(t)];
        let [mine, theirs] = [own, other].map(|p| &p.point.run().trace.events[..]);
        for (event, of_image) in mine.iter().zip(theirs).take(own.certain.min(other.certain)) {
            let order = event.ret.cmp(&a.image(of_image.ret)?);
            if order.is_ne() {
                return Some(order);
            }
        }
        let is_whole = |p: &Position<'_>| p.point.frontier == Frontier::Ended && p.runs == 1;
        if !is_whole(own) || !is_whole(other) {
            return None;
        }
    }
    Some(Ordering::Equal)
}
