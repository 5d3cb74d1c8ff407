//! What was called of a store, when, and what it returned: whether that is linearisable.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History};
use todc_utils::specifications::Specification;

/// A call of a key with what it returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Called {
    /// What it found.
    Get(Option<i64>),
    /// A value, and whether the key had none.
    Insert(i64, bool),
    /// A value, and whether the key had one.
    Update(i64, bool),
    /// Whether the key had a value.
    Remove(bool),
}

/// A call that has returned.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Done {
    /// The number of the thread.
    pub client: usize,
    /// The key.
    pub key: i64,
    /// The call.
    pub called: Called,
    /// When it began.
    pub begun: u64,
    /// When it ended, by the same clock.
    pub ended: u64,
}

/// One key of a store: it has a value or none, and none at the beginning.
struct Key;

impl Specification for Key {
    type State = Option<i64>;
    type Operation = Called;

    fn init() -> Option<i64> {
        None
    }

    fn apply(called: &Called, &has: &Option<i64>) -> (bool, Option<i64>) {
        match *called {
            Called::Get(found) => (found == has, has),
            Called::Insert(v, is_new) => (is_new == has.is_none(), has.or(Some(v))),
            Called::Update(v, is_known) => (is_known == has.is_some(), has.map(|_| v)),
            Called::Remove(is_known) => (is_known == has.is_some(), None),
        }
    }
}

/// The calls of a key for which there is no order that is one of the real time and of the store, in the order in which they began,
/// without calls that change nothing and are not needed to see that. `None` if there is such an order for every key, so that
/// there is one for all calls: keys have nothing to do with each other.
pub fn wrong(all: &[Done]) -> Option<Vec<Done>> {
    let mut keys: BTreeMap<i64, Vec<Done>> = BTreeMap::new();
    all.iter().for_each(|done| keys.entry(done.key).or_default().push(*done));
    let mut of_key = keys.into_values().find(|of_key| !is_linearisable(of_key))?;
    of_key.sort_by_key(|done| done.begun);
    let mut place = 0;
    while let Some(&done) = of_key.get(place) {
        of_key.remove(place);
        if done.called.changes() || is_linearisable(&of_key) {
            of_key.insert(place, done);
            place += 1;
        }
    }
    Some(of_key)
}

/// The calls of a key that [`wrong`] found with a seed.
#[allow(dead_code, reason = "tests tell of it themselves")]
pub fn told(of_key: &[Done], seed: u64) -> String {
    let line = |d: &Done| format!("\n  {:>8} to {:>8}  client {}  {:?}", d.begun, d.ended, d.client, d.called);
    let lines: String = of_key.iter().map(line).collect();
    let key = of_key.first().map_or(0, |done| done.key);
    format!("not linearisable, with --seed {seed}: calls of key {key}{lines}")
}

impl Called {
    /// Whether what comes later may depend on it.
    fn changes(self) -> bool {
        matches!(self, Self::Insert(_, true) | Self::Update(_, true) | Self::Remove(true))
    }
}

fn is_linearisable(of_key: &[Done]) -> bool {
    if of_key.is_empty() {
        return true;
    }
    let ends = |done: &Done| {
        [
            (done.begun, 0, done.client, Action::Call(done.called)),
            (done.ended, 1, done.client, Action::Response(done.called)),
        ]
    };
    let mut actions: Vec<_> = of_key.iter().flat_map(ends).collect();
    // Where one ends when another begins they are side by side.
    actions.sort_by_key(|&(time, is_end, ..)| (time, is_end));
    WGLChecker::<Key>::is_linearizable(History::from_actions(
        actions.into_iter().map(|(_, _, client, action)| (client, action)).collect(),
    ))
}
