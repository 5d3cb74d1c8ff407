//! The history of a store: its calls, their times and their results. It can be checked for linearisability.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History};
use todc_utils::specifications::Specification;

/// A call of a key, with its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Called {
    /// The value that it found.
    Get(Option<i64>),
    /// A value, and true if the key had none.
    Insert(i64, bool),
    /// A value, and true if the key had one.
    Update(i64, bool),
    /// True if the key had a value.
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
    /// The time at which it began.
    pub begun: u64,
    /// The time at which it ended, by the same clock.
    pub ended: u64,
}

/// One key of a store. It has a value or none, and none at the beginning.
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

/// Returns the calls of a key that is not linearisable, in the order in which they began. Calls that change nothing are
/// left out, unless the violation needs them. `None` means that every key is linearisable. Then the whole store is,
/// because linearisability is local and keys are independent.
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

/// Prints the calls of a key that [`wrong`] found with a seed.
#[allow(dead_code, reason = "tests tell of it themselves")]
pub fn reported(of_key: &[Done], seed: u64) -> String {
    let line = |d: &Done| format!("\n  {:>8} to {:>8}  client {}  {:?}", d.begun, d.ended, d.client, d.called);
    let lines: String = of_key.iter().map(line).collect();
    let key = of_key.first().map_or(0, |done| done.key);
    format!("not linearisable, with --seed {seed}: calls of key {key}{lines}")
}

impl Called {
    /// True if later calls may depend on it.
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
    // Two calls of which one ends when the other begins count as concurrent.
    actions.sort_by_key(|&(time, is_end, ..)| (time, is_end));
    WGLChecker::<Key>::is_linearizable(History::from_actions(
        actions.into_iter().map(|(_, _, client, action)| (client, action)).collect(),
    ))
}
