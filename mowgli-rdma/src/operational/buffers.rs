//! The contents of store buffers and queue pairs, in words.

use mowgli_core::ids::Tid;
use mowgli_core::value::Val;

use super::machine::Machine;
use super::state::{Buffered, LocalWrite, State};

/// A store buffer, or a buffer of a queue pair, with the oldest entry first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilledBuffer {
    /// The thread that it is of.
    pub thread: Tid,
    /// Its name, as `store buffer` or `to node 2, pipe`.
    pub name: String,
    /// Its entries in words.
    pub entries: Vec<String>,
}

impl Machine<'_> {
    /// Lists the buffers of a state that are not empty.
    pub(super) fn buffers(&self, state: &State) -> Vec<FilledBuffer> {
        let mut all = Vec::new();
        for t in 0..state.buffers.len() {
            let mut add = |name: String, entries: Vec<String>| {
                let buffer = FilledBuffer { thread: Tid::from_index(t), name, entries };
                all.extend((!buffer.entries.is_empty()).then_some(buffer));
            };
            let buffered = |b: &Buffered| match b {
                Buffered::Write(x, v, _) => format!("{x} := {v}"),
                Buffered::Operation(q, e) => format!("{e} to {q}"),
            };
            add("store buffer".to_owned(), state.buffers[t].iter().map(buffered).collect());
            for pair in self.queue_pairs(state) {
                let q = &state.pairs[self.pair(t, pair)];
                let name = |part: &str| format!("to {}, {part}", pair.in_words());
                let local = |l: &LocalWrite| match l {
                    LocalWrite::Write(x, v, _) => format!("{x} := {v}"),
                    LocalWrite::Confirmation(_) => "done".to_owned(),
                };
                add(name("pipe"), q.pipe.iter().map(ToString::to_string).collect());
                add(name("remote writes"), q.remote.iter().map(|w| format!("{} := {}", w.x, w.v)).collect());
                add(name("local writes"), q.local.iter().map(local).collect());
                add(name("messages"), q.received.iter().map(Val::to_string).collect());
            }
        }
        all
    }
}
