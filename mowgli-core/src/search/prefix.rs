//! The beginning of larger graphs: what a cell can hold so far, and what reads may read later.

use super::compile::Open;
use super::solver::{Solver, Source};
use super::values::Vals;
use crate::event::{Cell, Writes};
use crate::stamp::Stamp;
use crate::value::Val;

/// What the writes of a prefix can write, as far as it is known where that comes from.
pub struct Available {
    /// For each subevent what it can write.
    any: Vec<Vals>,
}

impl<S: Stamp> Solver<'_, S> {
    /// Whether this is the beginning of larger graphs.
    pub(super) fn is_prefix(&self) -> bool {
        !self.ages.until.is_empty()
    }

    /// Whether a read may read from a write that is not there yet.
    pub(super) fn may_read_later(&self, read: usize) -> bool {
        self.ages.until.get(read) == Some(&u32::MAX)
    }

    /// Whether a write was there when the read took place.
    pub(super) fn is_in_time(&self, read: usize, write: usize) -> bool {
        !self.is_prefix() || self.ages.births[write] <= self.ages.until[read]
    }

    /// What a read took from a copy, the copy took no later.
    pub(super) fn close_copied(&mut self, read: usize, write: usize, changed: &mut bool) {
        if !self.is_prefix() {
            return;
        }
        if let Some(from) = self.copied(write) {
            let until = self.ages.until[read];
            if self.ages.until[from] > until {
                self.ages.until[from] = until;
                *changed = true;
            }
        }
    }

    /// The read on which depends what a subevent writes.
    fn copied(&self, write: usize) -> Option<usize> {
        let place = &self.graph.subs[write];
        match place.sub.writes? {
            Writes::Is(_) => None,
            Writes::Copy(from) | Writes::Step(from) => Some(place.base + from),
        }
    }

    /// Rules out sources of a read that came until `time`, as far as what they write was known then.
    pub fn rule_out_until(&mut self, read: usize, time: u32) {
        let Some((excluded, candidates)) = self.compiled.choices.iter().find_map(|(_, _, open)| match open {
            Open::ReadsFrom { excluded, reads, candidates, .. } if reads.contains(&read) => {
                Some((*excluded, candidates.row(read).to_vec()))
            }
            _ => None,
        }) else {
            return;
        };
        self.compiled.net.add(excluded, read, read);
        for w in crate::relation::matrix::ones(&candidates) {
            if self.ages.births[w] <= time && self.copied(w).is_none() {
                self.compiled.net.add(excluded, read, w);
            }
        }
    }

    /// What each subevent can write, by chains of copies that are all there; with `since`, by those of them that have a
    /// write that came after it.
    #[must_use]
    pub fn available(&self, since: Option<u32>) -> Available {
        let n = self.graph.len();
        let copies: Vec<(usize, usize)> = (0..n).filter_map(|w| Some((w, self.copied(w)?))).collect();
        let mut any = vec![0; n];
        for w in (0..n).filter(|&w| self.copied(w).is_none() && self.graph.subs[w].sub.writes.is_some()) {
            any[w] = self.domains.writes[w];
        }
        let sources: Vec<Vec<Source>> = copies.iter().map(|&(_, r)| self.sources_of(r)).collect();
        self.spread(&copies, &sources, &mut any, true);
        let Some(since) = since else { return Available { any } };
        let mut fresh = vec![0; n];
        let is_new = |w: usize| self.ages.births[w] > since;
        for w in (0..n).filter(|&w| is_new(w)) {
            fresh[w] = any[w];
        }
        self.spread(&copies, &sources, &mut fresh, false);
        Available { any: fresh }
    }

    /// Carries values along copies. A chain passes each copy once. `initial`: initial values too.
    fn spread(&self, copies: &[(usize, usize)], sources: &[Vec<Source>], any: &mut [Vals], initial: bool) {
        for _ in 0..copies.len() {
            let mut changed = false;
            for (&(w, read), sources) in copies.iter().zip(sources) {
                let of = |source: &Source| match source {
                    Source::Write(w) => any[*w],
                    _ if initial => self.values.init[read],
                    _ => 0,
                };
                let read_values = sources.iter().fold(0, |all, s| all | of(s)) & self.domains.reads[read];
                let more = self.values.made(self.thread_of(w), w, read_values) & self.domains.writes[w];
                changed |= more & !any[w] != 0;
                any[w] |= more;
            }
            if !changed {
                return;
            }
        }
    }

    fn thread_of(&self, s: usize) -> usize {
        self.graph.starts.partition_point(|&start| start <= s) - 1
    }

    /// The sources that a read can have among what is there.
    fn sources_of(&self, read: usize) -> Vec<Source> {
        if self.sources[read] != Source::Open {
            return vec![self.sources[read]];
        }
        let choice = self
            .compiled
            .choices
            .iter()
            .position(|(_, _, open)| matches!(open, Open::ReadsFrom { reads, .. } if reads.contains(&read)));
        if let Some(choice) = choice {
            return self.options(choice, read);
        }
        let cell = self.graph.subs[read].sub.cell;
        let writes = (0..self.graph.len())
            .filter(|&w| self.graph.subs[w].sub.writes.is_some() && self.graph.subs[w].sub.cell == cell);
        std::iter::once(Source::Initial).chain(writes.map(Source::Write)).collect()
    }

    /// What the writes of all cells can write.
    pub fn all_values<'v>(&'v self, available: &'v Available) -> impl Iterator<Item = (Cell, Val)> + 'v {
        let writes = self.graph.subs.iter().zip(&available.any);
        writes.flat_map(move |(place, &set)| {
            place.sub.cell.into_iter().flat_map(move |c| self.values.numbering.all(set).map(move |v| (c, v)))
        })
    }

    /// What the writes of a cell can write.
    pub fn values_of(&self, available: &Available, cell: Cell) -> Vec<Val> {
        let writes = self.graph.subs.iter().enumerate().filter(|(_, p)| p.sub.cell == Some(cell));
        let set = writes.fold(0, |all, (w, _)| all | available.any[w]);
        self.values.numbering.all(set).collect()
    }
}
