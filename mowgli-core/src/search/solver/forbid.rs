//! Exclusion of forbidden choices: sources of reads, and directions of pairs of an order.

use super::{Solver, Source};
use crate::search::compile::UnfilledChoice;
use crate::search::relation::matrix::ones;

impl Solver<'_> {
    /// Applies the forbidden pairs to the choices.
    pub(super) fn force(&mut self, changed: &mut bool) {
        for choice in 0..self.compiled.choices.len() {
            match &self.compiled.choices[choice].2 {
                UnfilledChoice::ReadsFrom { .. } if self.thorough => {}
                UnfilledChoice::ReadsFrom { .. } => self.exclude_sources(choice, changed),
                UnfilledChoice::Order { .. } => self.force_pairs(choice, changed),
            }
        }
    }

    fn exclude_sources(&mut self, choice: usize, changed: &mut bool) {
        let UnfilledChoice::ReadsFrom { chosen, before, excluded, reads, candidates } =
            &self.compiled.choices[choice].2
        else {
            unreachable!("only reads-from has reads")
        };
        let mut out = Vec::new();
        for &read in reads.iter().filter(|&&r| self.sources[r] == Source::Open) {
            let writes = || ones(candidates.row(read));
            out.extend(writes().filter(|&w| self.forbidden.has(*chosen, w, read)).map(|w| (read, w)));
            if writes().any(|w| self.forbidden.has(*before, read, w)) {
                out.push((read, read));
            }
        }
        for (read, w) in out {
            if !self.compiled.net.has(*excluded, read, w) {
                *changed = true;
                self.compiled.net.add(*excluded, read, w);
            }
        }
    }

    fn force_pairs(&mut self, choice: usize, changed: &mut bool) {
        let UnfilledChoice::Order { raw, closed, pairs } = &self.compiled.choices[choice].2 else {
            unreachable!("an order")
        };
        let mut forced = Vec::new();
        for a in 0..self.graph.len() {
            let (forbidden, known) = (self.forbidden.row(*raw, a), self.compiled.net.row(*closed, a));
            for (word, &pairs) in pairs.row(a).iter().enumerate() {
                let bits = pairs & forbidden[word] & !known[word];
                forced.extend(ones(&[bits]).map(|b| (word * 64 + b, a)));
            }
        }
        let (raw, closed) = (*raw, *closed);
        for (a, b) in forced {
            if !self.compiled.net.has(closed, a, b) {
                *changed = true;
                self.compiled.net.add(raw, a, b);
            }
        }
    }
}
