//! The completion queue of a thread, which its queue pairs share, and the events that announce completions. They are
//! part of RDMA-TSO-RMW with the switch `events`.
//!
//! A completion enters the queue some time after its operation is over, in the order of its queue pair. `TryPoll` takes
//! it if it has come. `Arm` asks for an event (`ibv_req_notify_cq`), which the next completion raises. `Event` sleeps
//! until there is one (`ibv_get_cq_event`). So a completion that came before `Arm` raises none.
//!
//! **Computes**: the results that a call can have after the earlier calls of its thread. The results fix between which
//! two calls each completion comes. Nothing else fixes that, because only the thread itself looks into its queue.
//! **Invariant**: for each queue pair `taken <= come <= issued`; the first `come` completions are known to have come.
//! **Example**: `put; arm; event`. `Arm` finds the completion in the queue or not. If it does, `Event` never returns.
//! **Correct because**: a completion may come as late as its results allow, just before the first call that finds it.
//! The calls that find it come after its operation ([`seen`]). The machine agrees on random programs
//! (`mowgli-check/tests/branches.rs`).
//! **Cost**: linear in the calls of the thread; `Arm` has a result for each number of completions that may have come.

use std::collections::BTreeMap;

use itertools::Itertools;
use mowgli_core::algebra::{Rel, SubView, rel, same};
use mowgli_core::event::{Call, Event};
use mowgli_core::value::Val;
use mowgli_core::world::World;

use super::calls::{self, Method, TSO, identifier, is_confirmed, is_first_confirmed, node_towards};
use crate::stamp::Qp;

/// The completions of a queue pair, by number.
#[derive(Clone, Copy, Default)]
struct PairCompletions {
    issued: usize,
    taken: usize,
    /// The number of completions that are known to have come.
    come: usize,
}

/// The completion queue of a thread after some of its calls.
#[derive(Default)]
pub(crate) struct CompletionQueue {
    pairs: BTreeMap<Qp, PairCompletions>,
    /// For each queue pair, the number of completions known to have come when the thread asked for its pending event.
    asked: Option<BTreeMap<Qp, usize>>,
}

impl CompletionQueue {
    /// Builds the queue after these calls of a thread.
    pub(crate) fn after(world: &World, earlier: &[Event]) -> Self {
        let mut queue = Self::default();
        earlier.iter().filter(|e| e.call.library == TSO).for_each(|e| queue.add(world, e));
        queue
    }

    fn add(&mut self, world: &World, event: &Event) {
        if let Some(q) = calls::taken(world, event) {
            let pair = self.pairs.entry(q).or_default();
            pair.taken += 1;
            pair.come = pair.come.max(pair.taken);
        } else if let Some(q) = calls::issued(world, &event.call) {
            self.pairs.entry(q).or_default().issued += 1;
        }
        for (q, last) in found(event) {
            let pair = self.pairs.entry(q).or_default();
            pair.come = pair.come.max(last + 1);
        }
        match Method::of(&event.call) {
            Method::Arm {} if self.asked.is_none() => {
                self.asked = Some(self.pairs.iter().map(|(q, pair)| (*q, pair.come)).collect());
            }
            Method::Event {} => self.asked = None,
            _ => {}
        }
    }

    /// Returns the results that a call can have; empty if it never returns.
    pub(crate) fn results(&self, call: &Call) -> Vec<Val> {
        let nothing_has_come = self.pairs.values().all(|pair| pair.come == pair.taken);
        match Method::of(call) {
            Method::TryPoll { n } => {
                let pair = self.pairs.get(&n.into()).copied().unwrap_or_default();
                let fails = (pair.come == pair.taken).then_some(Val::Bool(false));
                fails.into_iter().chain((pair.taken < pair.issued).then_some(Val::Bool(true))).collect()
            }
            Method::TryPollAny {} => {
                let open = self.pairs.iter().filter(|(_, pair)| pair.taken < pair.issued);
                nothing_has_come.then_some(Val::Bot).into_iter().chain(open.map(|(q, _)| calls::reported(*q))).collect()
            }
            Method::Arm {} => self.snapshots(),
            Method::Event {} => self.events(),
            _ => Vec::new(),
        }
    }

    /// Returns the results of `Arm`: for each choice of completions that have come, the last new one of each queue
    /// pair.
    fn snapshots(&self) -> Vec<Val> {
        let open = self.pairs.iter().filter(|(_, pair)| pair.come < pair.issued);
        let of_pair = |(q, pair): (&Qp, &PairCompletions)| {
            let new = (pair.come..pair.issued).map(|last| Some(identifier(*q, last)));
            std::iter::once(None).chain(new).collect::<Vec<_>>()
        };
        let all = open.map(of_pair).multi_cartesian_product();
        let new = all.map(|new| new.into_iter().flatten().collect::<Vec<_>>());
        new.filter(|new| new.len() <= PAIRS).map(|new| Val::tuple(&new)).collect()
    }

    /// Returns the completions that can have raised the event. A completion that is known to have come after `Arm`
    /// decides this. Otherwise the next completion of each queue pair is possible.
    fn events(&self) -> Vec<Val> {
        let Some(asked) = &self.asked else { return Vec::new() };
        let next = |q: &Qp| asked.get(q).copied().unwrap_or(0);
        let is_known = |(q, pair): &(&Qp, &PairCompletions)| pair.come > next(q);
        let known = self.pairs.iter().find(is_known);
        let open = || self.pairs.iter().filter(|(q, pair)| pair.issued > next(q)).collect();
        let all: Vec<(&Qp, &PairCompletions)> = known.map_or_else(open, |known| vec![known]);
        all.into_iter().map(|(q, _)| identifier(*q, next(q))).collect()
    }
}

/// Returns the last completion of each queue pair that `Arm` or `Event` has found, by its result.
fn found(event: &Event) -> Vec<(Qp, usize)> {
    (0..PAIRS).map_while(|at| found_at(event, at)).filter_map(calls::numbered).collect()
}

/// Returns one of the identifiers that `Arm` or `Event` has returned.
fn found_at(event: &Event, at: usize) -> Option<Val> {
    match (Method::read_of_tso(&event.call)?, event.ret) {
        (Method::Arm {}, Val::Tuple(all)) => all.parts().get(at).copied(),
        (Method::Event {}, one) => Some(one).filter(|_| at == 0),
        _ => None,
    }
}

fn is_reported(s: &SubView) -> bool {
    matches!(Method::read_of_tso(&s.event.call), Some(Method::Arm {} | Method::Event {}))
}

/// Returns the identifier of an operation; for `Arm` or `Event`, the identifier at position `at` among those that it
/// has found.
fn operation_or_found(s: &SubView, at: usize) -> Option<Val> {
    if is_reported(s) { found_at(s.event, at) } else { Some(s.event.ret) }
}

/// Defines one key for each position in the result of `Arm` or `Event`. Each key is a function with a name, because
/// `cat` prints the names of keys.
macro_rules! keys {
    ($($key:ident = $at:literal),*) => {
        $(
            fn $key(s: &SubView) -> Option<Val> {
                operation_or_found(s, $at)
            }
        )*

        /// Relates each operation to every `Arm` and `Event` that has found it.
        fn named() -> Rel {
            let keys = [$(same($key)),*];
            let any = keys.into_iter().reduce(|all, next| all | next).expect("there are some");
            rel!([is_first_confirmed]; po & any; [is_reported])
        }

        /// The largest number of queue pairs whose new completions one call can report.
        pub const PAIRS: usize = [$($at),*].len();
    };
}

keys! {
    found_first = 0, found_second = 1, found_third = 2, found_fourth = 3, found_fifth = 4, found_sixth = 5, found_seventh = 6,
    found_eighth = 7
}

/// Relates each operation to every `Arm` and `Event` that finds its completion, or a later one of its queue pair.
#[must_use]
pub fn seen() -> Rel {
    let before = rel!([is_first_confirmed]; po & same(node_towards); [is_first_confirmed]);
    rel!([is_confirmed]; same_event; [is_first_confirmed]; (named() | before; named()))
}
