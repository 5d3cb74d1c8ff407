//! The bodies that a thread has made last.

use std::collections::VecDeque;
use std::sync::Arc;

use mowgli_core::event::Call;
use mowgli_core::program::Prog;
use rustc_hash::FxHashMap;

/// How many are kept: as many as are near, since those that are made for a new value are not used again.
const MOST: usize = 128;

/// Bodies by their calls: a body is a value, and the same for equal calls.
#[derive(Default)]
pub(crate) struct Bodies {
    bodies: FxHashMap<Arc<Call>, Arc<Prog>>,
    /// The calls, the oldest first.
    calls: VecDeque<Arc<Call>>,
}

impl Bodies {
    pub(crate) fn get(&self, call: &Call) -> Option<Arc<Prog>> {
        self.bodies.get(call).map(Arc::clone)
    }

    /// Keeps a body, in place of the oldest one: one by one, as to forget many at once takes longer.
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
