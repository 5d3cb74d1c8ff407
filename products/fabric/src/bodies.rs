//! The bodies that a thread has made last.

use std::collections::VecDeque;
use std::sync::Arc;

use mowgli_core::event::Call;
use mowgli_core::term::program::Prog;
use rustc_hash::FxHashMap;

/// The number of bodies to keep. It is small, because a body made for a new value is rarely used again.
const MOST: usize = 128;

/// A thread's cache of method bodies, by call. Equal calls of a thread have equal bodies.
#[derive(Default)]
pub(crate) struct BodyCache {
    bodies: FxHashMap<Arc<Call>, Arc<Prog>>,
    /// The calls, the oldest first.
    calls: VecDeque<Arc<Call>>,
}

impl BodyCache {
    pub(crate) fn get(&self, call: &Call) -> Option<Arc<Prog>> {
        self.bodies.get(call).map(Arc::clone)
    }

    /// Keeps a body and evicts the oldest one. It evicts one at a time, because evicting many at once takes longer.
    pub(crate) fn keep(&mut self, call: &Call, body: &Arc<Prog>) {
        if self.calls.len() == MOST
            && let Some(oldest) = self.calls.pop_front()
        {
            self.bodies.remove(&oldest);
        }
        let call = Arc::new(call.clone());
        self.calls.push_back(Arc::clone(&call));
        self.bodies.insert(call, Arc::clone(body));
    }
}
