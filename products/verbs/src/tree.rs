//! The runs of threads, as a tree: each result of a call in C leads from a run to the run that has it, too.
//!
//! **Computes**: what is known of a run, by the results of its calls.
//!
//! **Invariant**: a run has a number, and each sequence of results of a thread is one run.
//!
//! **Example**: a thread asks for two loads, each with 0 or 1. It has seven runs: one without a result, two with one, and four with two.
//!
//! **Correct because**: a run is found from that with one result less, and is added once.
//!
//! **Cost**: a look-up for each result. A map of sequences would compare and copy each sequence, so a thread of n calls would take n times as long.

use std::collections::BTreeMap;

/// The number of a run.
pub(crate) type RunNumber = usize;

/// A run of a thread.
struct RecordedRun<D> {
    thread: usize,
    /// The run before its last result, and that result.
    before: Option<(RunNumber, i64)>,
    after: BTreeMap<i64, RunNumber>,
    known: D,
}

/// The runs of all threads.
#[derive(Default)]
pub(crate) struct RunTree<D> {
    runs: Vec<RecordedRun<D>>,
    first: BTreeMap<usize, RunNumber>,
}

impl<D: Default> RunTree<D> {
    /// Returns the run of a thread without a result.
    pub(crate) fn first(&mut self, thread: usize) -> RunNumber {
        match self.first.get(&thread) {
            Some(&known) => known,
            None => {
                self.first.insert(thread, self.runs.len());
                self.add(thread, None)
            }
        }
    }

    /// Returns the run with one more result.
    pub(crate) fn after(&mut self, run: RunNumber, result: i64) -> RunNumber {
        if let Some(&known) = self.runs[run].after.get(&result) {
            return known;
        }
        let new = self.add(self.runs[run].thread, Some((run, result)));
        self.runs[run].after.insert(result, new);
        new
    }

    fn add(&mut self, thread: usize, before: Option<(RunNumber, i64)>) -> RunNumber {
        self.runs.push(RecordedRun { thread, before, after: BTreeMap::new(), known: D::default() });
        self.runs.len() - 1
    }

    pub(crate) fn thread(&self, run: RunNumber) -> usize {
        self.runs[run].thread
    }

    /// Returns the run with one result less.
    pub(crate) fn before(&self, run: RunNumber) -> Option<RunNumber> {
        self.runs[run].before.map(|(before, _)| before)
    }

    /// Lists the results of a run.
    pub(crate) fn results(&self, run: RunNumber) -> Vec<i64> {
        let back = std::iter::successors(self.runs[run].before, |(before, _)| self.runs[*before].before);
        let mut results: Vec<i64> = back.map(|(_, result)| result).collect();
        results.reverse();
        results
    }

    pub(crate) fn known(&self, run: RunNumber) -> &D {
        &self.runs[run].known
    }

    pub(crate) fn known_mut(&mut self, run: RunNumber) -> &mut D {
        &mut self.runs[run].known
    }

    /// Visits what is known of each run, with its thread.
    pub(crate) fn each(&mut self) -> impl Iterator<Item = (usize, &mut D)> {
        self.runs.iter_mut().map(|run| (run.thread, &mut run.known))
    }
}
