//! The completion queue of a thread: polls that need not wait, and events.
//!
//! A confirmation may enter the completion queue as soon as only confirmations are before it. The machine chooses the
//! time when a call of the thread depends on it, and not earlier, because only the thread looks into its queue.

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::value::Val;

use super::machine::Machine;
use super::state::{LocalWrite, PendingEvent, State};
use crate::stamp::Qp;
use crate::tso::{Method, identifier, queue_pair, reported};

/// Takes the completion at this position of a queue pair of a thread. It raises the event of the thread if it came after
/// the thread asked for one.
pub(super) fn take(state: &mut State, t: usize, pair: usize, at: usize) {
    let queue = &mut state.pairs[pair];
    queue.local.remove(at);
    queue.come = queue.come.saturating_sub(1);
    match queue.before.checked_sub(1) {
        Some(before) => queue.before = before,
        None if state.asked[t] == PendingEvent::Open => state.asked[t] = PendingEvent::Raised,
        None => {}
    }
}

impl Machine<'_> {
    /// Returns the results of a call that looks into the completion queue, each with the state after it.
    pub(super) fn completions(&self, state: &State, t: usize, call: &Call) -> Vec<(Val, State)> {
        match Method::of(call) {
            Method::PollAny {} => self.any(state, t),
            Method::Poll { .. } | Method::PollBy { .. } if !self.switches.network.completes_in_order => {
                self.in_any_order(state, t, call)
            }
            Method::TryPollAny {} => {
                let has_come = self.queue_pairs(state).any(|q| state.pairs[self.pair(t, q)].come > 0);
                let none = (!has_come).then(|| (Val::Bot, state.clone()));
                none.into_iter().chain(self.any(state, t)).collect()
            }
            Method::TryPoll { n } => {
                let has_come = state.pairs[self.pair(t, n.into())].come > 0;
                let none = (!has_come).then(|| (Val::Bool(false), state.clone()));
                none.into_iter().chain(self.taken(state, t, n.into()).map(|after| (Val::Bool(true), after))).collect()
            }
            Method::Arm {} => self.armed(state, t).into_iter().map(|after| (Val::Unit, after)).collect(),
            Method::Event {} => self.woken(state, t).into_iter().map(|after| (Val::Unit, after)).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the results of a poll that takes the completion of any operation of its queue pair.
    fn in_any_order(&self, state: &State, t: usize, call: &Call) -> Vec<(Val, State)> {
        let Some(q) = queue_pair(&self.world, call) else { return Vec::new() };
        let pair = self.pair(t, q);
        let Some(queue) = state.pairs.get(pair) else { return Vec::new() };
        let taken = |at: usize| {
            let LocalWrite::Confirmation(part) = queue.local[at] else { return None };
            let mut after = state.clone();
            take(&mut after, t, pair, at);
            Some((identifier(q, part.nth as usize), after))
        };
        queue.confirmed(self.switches.network).filter_map(taken).collect()
    }

    /// Returns the state in which a thread has taken the oldest completion of a queue pair, if there is one.
    fn taken(&self, state: &State, t: usize, q: Qp) -> Option<State> {
        let pair = self.pair(t, q);
        let at = state.pairs[pair].confirmed(self.switches.network).next()?;
        let mut after = state.clone();
        take(&mut after, t, pair, at);
        Some(after)
    }

    /// Counts the completions of a queue pair that may have come.
    fn confirmed(&self, state: &State, pair: usize) -> usize {
        state.pairs[pair].confirmed(self.switches.network).count()
    }

    /// Returns the results of a poll of all queue pairs, which takes a completion of any queue pair that has one.
    fn any(&self, state: &State, t: usize) -> Vec<(Val, State)> {
        self.queue_pairs(state).filter_map(|q| Some((reported(q), self.taken(state, t, q)?))).collect()
    }

    /// Returns the states in which a thread has asked for an event: one for each choice of completions that have come
    /// by then.
    fn armed(&self, state: &State, t: usize) -> Vec<State> {
        let pairs: Vec<usize> = self.queue_pairs(state).map(|q| self.pair(t, q)).collect();
        let come = |&pair: &usize| state.pairs[pair].come..=self.confirmed(state, pair);
        let choices = pairs.iter().map(come).multi_cartesian_product();
        let after = |come: Vec<usize>| {
            let mut after = state.clone();
            for (&pair, come) in pairs.iter().zip(come) {
                let queue = &mut after.pairs[pair];
                queue.come = come;
                match after.asked[t] {
                    PendingEvent::No => queue.before = come,
                    _ if come > queue.before => after.asked[t] = PendingEvent::Raised,
                    _ => {}
                }
            }
            if after.asked[t] == PendingEvent::No {
                after.asked[t] = PendingEvent::Open;
            }
            after
        };
        choices.map(after).collect()
    }

    /// Returns the states in which a thread has taken its event, one for each completion that may have raised it.
    fn woken(&self, state: &State, t: usize) -> Vec<State> {
        let pairs: Vec<usize> = self.queue_pairs(state).map(|q| self.pair(t, q)).collect();
        let mut after = state.clone();
        after.asked[t] = PendingEvent::No;
        pairs.iter().for_each(|&pair| after.pairs[pair].before = 0);
        let by = |&pair: &usize| {
            let queue = &state.pairs[pair];
            let mut after = after.clone();
            after.pairs[pair].come = queue.come.max(queue.before + 1);
            (self.confirmed(state, pair) > queue.before).then_some(after)
        };
        match state.asked[t] {
            PendingEvent::No => Vec::new(),
            PendingEvent::Raised => vec![after],
            PendingEvent::Open => pairs.iter().filter_map(by).collect(),
        }
    }
}
