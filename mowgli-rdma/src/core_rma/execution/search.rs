//! The search for the consistent executions of a program of coreRMA.
//!
//! **Computes**: every consistent execution under the rules: happens-before, and the source of each read that has no
//! race.
//!
//! **Invariant**: `hb` is acyclic and transitively closed. It contains the fixed edges, and [`ExecutionSearch::extend`] adds all
//! edges of R1 for the decided atomic reads before it branches.
//!
//! **Example**: two atomic writes w1 and w2 of two processes to one variable, and an atomic read r in a third one. The
//! search first orders w1 and w2 both ways (WS). Then it tries the initial write, w1 and w2 as the source of r. If w1
//! comes first and r reads it, R1 orders r before w2.
//!
//! **Correct because**: WS, R1 and R2 are the only rules whose edges depend on a choice (CORERMA Fig. 4). The search
//! tries both orders of each pair and every source of each read. A branch ends only if its edges close a cycle or hide
//! a source. The test `the_whole_output_sets_of_figs_6_8_and_9` has the paper's whole output sets.
//!
//! **Cost**: exponential in the number of unordered pairs of atomic writes and of reads. An edge costs one word
//! operation for each action before or after it, because a program has at most [`MOST`] actions.

use std::ops::ControlFlow;

use itertools::Itertools;
use mowgli_core::search::relation::matrix::WordOnes;

use super::rules::{Rule, RuleEdge, Rules, fixed_edges};
use crate::core_rma::program::{Action, ActionType, Actions, CoreRmaStatement, MOST};

/// Happens-before: a transitive relation, kept closed.
#[derive(Clone)]
pub(crate) struct Hb {
    pub(super) after: [u64; MOST],
    pub(super) before: [u64; MOST],
}

impl Hb {
    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.after[a] >> b & 1 == 1
    }

    /// Orders a before b and keeps the relation closed. Returns `false` if that would close a cycle.
    pub(crate) fn order(&mut self, a: usize, b: usize) -> bool {
        if a == b || self.has(b, a) {
            return false;
        }
        if !self.has(a, b) {
            let (before, after) = (self.before[a] | 1 << a, self.after[b] | 1 << b);
            WordOnes(before).for_each(|x| self.after[x] |= after);
            WordOnes(after).for_each(|y| self.before[y] |= before);
        }
        true
    }
}

/// An execution: happens-before and, for each reader, the write that it reads.
#[derive(Clone)]
pub(crate) struct CoreRmaExecution {
    pub(crate) hb: Hb,
    pub(crate) rf: [Option<u8>; MOST],
    /// The atomic readers whose source is chosen.
    pub(super) decided: u64,
    /// The compare-and-swaps that are assumed to succeed, as a bit set; `None` if the rules for both results are the
    /// same.
    pub(super) success: Option<u64>,
}

/// The consistent executions of a program.
pub(crate) struct ExecutionSearch<'a> {
    pub(crate) actions: &'a Actions,
    pub(crate) rules: &'a Rules,
    pub(crate) fixed: Vec<RuleEdge>,
    /// The application of a rule that this search leaves out.
    pub(crate) dropped: Option<RuleEdge>,
    /// The test whether the time is up.
    expired: &'a dyn Fn() -> bool,
    pub(super) writers: Vec<u64>,
    pub(super) readers: u64,
    pub(super) local_readers: u64,
    pub(super) atomic: u64,
}

impl<'a> ExecutionSearch<'a> {
    pub(crate) fn new(actions: &'a Actions, rules: &'a Rules, expired: &'a dyn Fn() -> bool) -> Self {
        let all = &actions.all;
        let set = |holds: &dyn Fn(&Action) -> bool| {
            all.iter().enumerate().filter(|(_, a)| holds(a)).fold(0, |set, (i, _)| set | 1 << i)
        };
        let variables = all.iter().filter(|a| a.kind == ActionType::Init).count();
        Self {
            actions,
            rules,
            fixed: fixed_edges(actions, rules),
            dropped: None,
            expired,
            writers: (0..variables).map(|x| set(&|a| a.writes == Some(x))).collect(),
            readers: set(&|a| a.reads.is_some()),
            local_readers: set(&|a| a.kind == ActionType::Read),
            atomic: set(&|a| a.atomic),
        }
    }

    /// True if an edge is the one that is left out. An edge of a compare-and-swap is left out for both results, and an
    /// edge of WS in both directions.
    fn is_dropped(&self, rule: Rule, from: usize, to: usize) -> bool {
        self.dropped.is_some_and(|d| match rule {
            Rule::CasF | Rule::CasT => (d.from, d.to) == (from, to) && matches!(d.rule, Rule::CasF | Rule::CasT),
            Rule::Ws => d.rule == rule && [(d.from, d.to), (d.to, d.from)].contains(&(from, to)),
            _ => d == RuleEdge { rule, from, to },
        })
    }

    /// Visits every consistent execution, until the visitor breaks off or the time is up.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(&CoreRmaExecution) -> ControlFlow<()>) -> ControlFlow<()> {
        let cas = self.actions.remote.iter().filter(|r| matches!(r.statement, CoreRmaStatement::Cas { .. })).count();
        if self.rules.has(Rule::CasF) == self.rules.has(Rule::CasT) {
            return self.begin(None, visit);
        }
        (0..1 << cas).try_for_each(|success| self.begin(Some(success), visit))
    }

    fn begin(
        &self,
        success: Option<u64>,
        visit: &mut dyn FnMut(&CoreRmaExecution) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if (self.expired)() {
            return ControlFlow::Break(());
        }
        let n = self.actions.all.len();
        let inits = self.writers.len();
        let mut hb = Hb { after: [0; MOST], before: [0; MOST] };
        for a in inits..n {
            (0..inits).for_each(|init| _ = hb.order(init, a));
        }
        let cas = self.actions.remote.iter().filter(|r| matches!(r.statement, CoreRmaStatement::Cas { .. }));
        let cas: Vec<_> = cas.map(|r| r.all.clone()).collect();
        for edge in &self.fixed {
            let happens = match (edge.rule, success) {
                (Rule::CasF | Rule::CasT, Some(success)) => {
                    let which = cas.iter().position(|all| all.contains(&edge.from)).expect("an edge of one");
                    (success >> which & 1 == 1) == (edge.rule == Rule::CasT)
                }
                _ => true,
            };
            if happens && !self.is_dropped(edge.rule, edge.from, edge.to) && !hb.order(edge.from, edge.to) {
                return ControlFlow::Continue(());
            }
        }
        let mut execution = CoreRmaExecution { hb, rf: [None; MOST], decided: 0, success };
        if let Some(RuleEdge { rule: Rule::R2, from, to }) = self.dropped {
            execution.rf[to] = Some(from as u8);
            execution.decided |= 1 << to;
        }
        self.extend(execution, visit)
    }

    /// Applies R1 until nothing changes. Returns `false` if that closes a cycle.
    fn overtaken(&self, e: &mut CoreRmaExecution) -> bool {
        if !self.rules.has(Rule::R1) {
            return true;
        }
        loop {
            let mut is_new = false;
            for r in WordOnes(e.decided) {
                let Some(w1) = e.rf[r].map(usize::from) else { continue };
                let x = self.actions.all[r].reads.expect("a reader");
                for w2 in WordOnes(self.writers[x] & self.atomic & e.hb.after[w1] & !e.hb.after[r] & !(1 << r)) {
                    if !self.is_dropped(Rule::R1, r, w2) {
                        is_new = true;
                        if !e.hb.order(r, w2) {
                            return false;
                        }
                    }
                }
            }
            if !is_new {
                return true;
            }
        }
    }

    /// Chooses the order of atomic writes, then the sources of atomic reads, then those of the others.
    fn extend(
        &self,
        mut e: CoreRmaExecution,
        visit: &mut dyn FnMut(&CoreRmaExecution) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if (self.expired)() {
            return ControlFlow::Break(());
        }
        if !self.overtaken(&mut e) {
            return ControlFlow::Continue(());
        }
        if let Some((a, b)) = self.unordered_writes(&e) {
            for (a, b) in [(a, b), (b, a)] {
                let mut next = e.clone();
                if next.hb.order(a, b) {
                    self.extend(next, visit)?;
                }
            }
            return ControlFlow::Continue(());
        }
        let Some(r) = WordOnes(self.readers & self.atomic & !e.decided).next() else { return self.others(e, visit) };
        let x = self.actions.all[r].reads.expect("a reader");
        for w in WordOnes(self.writers[x] & self.atomic & !(1 << r)) {
            let mut next = e.clone();
            next.rf[r] = Some(w as u8);
            next.decided |= 1 << r;
            let is_after = self.rules.has(Rule::R2) && !self.is_dropped(Rule::R2, w, r);
            if !is_after || next.hb.order(w, r) {
                self.extend(next, visit)?;
            }
        }
        if self.writers[x] & !self.atomic != 0 {
            e.decided |= 1 << r;
            self.extend(e, visit)?;
        }
        ControlFlow::Continue(())
    }

    fn unordered_writes(&self, e: &CoreRmaExecution) -> Option<(usize, usize)> {
        let pairs = self.writers.iter().flat_map(|w| WordOnes(w & self.atomic).tuple_combinations());
        let is_open = |&(a, b): &(usize, usize)| !e.hb.has(a, b) && !e.hb.has(b, a);
        let wanted = |&(a, b): &(usize, usize)| self.rules.has(Rule::Ws) && !self.is_dropped(Rule::Ws, a, b);
        pairs.filter(is_open).find(wanted)
    }

    /// Chooses sources for the reads that have none; happens-before is complete by now.
    fn others(
        &self,
        e: CoreRmaExecution,
        visit: &mut dyn FnMut(&CoreRmaExecution) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if (self.expired)() {
            return ControlFlow::Break(());
        }
        let hidden = |&r: &usize| {
            let x = self.actions.all[r].reads.expect("a reader");
            e.rf[r].is_some_and(|w| self.writers[x] & !self.atomic & e.hb.after[usize::from(w)] & e.hb.before[r] != 0)
        };
        if WordOnes(self.readers).any(|r| hidden(&r)) {
            return ControlFlow::Continue(());
        }
        let open = WordOnes(self.readers).find(|&r| e.rf[r].is_none() && !self.conflicts(&e.hb, r));
        let Some(r) = open else { return visit(&e) };
        let x = self.actions.all[r].reads.expect("a reader");
        let sources = self.writers[x] & e.hb.before[r];
        // `extend` has chosen the atomic writes that atomic reads read.
        let sources = if self.atomic >> r & 1 == 1 { sources & !self.atomic } else { sources };
        for w in WordOnes(sources).filter(|&w| self.writers[x] & e.hb.after[w] & e.hb.before[r] == 0) {
            let mut next = e.clone();
            next.rf[r] = Some(w as u8);
            self.others(next, visit)?;
        }
        ControlFlow::Continue(())
    }

    /// True if a write to `x` races with an action: the two are unordered, and one of them is not atomic.
    fn racing(&self, hb: &Hb, a: usize, x: usize) -> bool {
        let parallel = self.writers[x] & !hb.after[a] & !hb.before[a] & !(1 << a);
        let with = if self.atomic >> a & 1 == 1 { !self.atomic } else { u64::MAX };
        parallel & with != 0
    }

    /// True if conflict(r) holds: a write races with the read r.
    pub(super) fn conflicts(&self, hb: &Hb, r: usize) -> bool {
        self.actions.all[r].reads.is_some_and(|x| self.racing(hb, r, x))
    }

    /// True if wconflict(w) holds: another write races with the write w.
    pub(super) fn write_conflicts(&self, hb: &Hb, w: usize) -> bool {
        self.actions.all[w].writes.is_some_and(|x| self.racing(hb, w, x))
    }

    /// Whether a local read reads each write of the program.
    pub(crate) fn is_seen(&self, e: &CoreRmaExecution) -> bool {
        let seen = WordOnes(self.local_readers).filter_map(|r| e.rf[r]).fold(0_u64, |s, w| s | 1 << w);
        let inits = self.writers.len();
        self.writers.iter().all(|writers| writers >> inits & !(seen >> inits) == 0)
    }

    /// True if the left-out application of a rule closes a cycle in this execution.
    pub(crate) fn is_closed_by(&self, e: &CoreRmaExecution, pivot: RuleEdge) -> bool {
        let RuleEdge { rule, from, to } = pivot;
        match rule {
            Rule::R1 => {
                e.rf[from].is_some_and(|w1| usize::from(w1) != to && e.hb.has(w1.into(), to) && e.hb.has(to, from))
            }
            Rule::Ws => {
                // Both ways must close a cycle, because WS orders the two writes one way or the other.
                let is_cyclic = |a: usize, b: usize| {
                    let mut e = e.clone();
                    !e.hb.order(a, b) || !self.overtaken(&mut e)
                };
                !e.hb.has(from, to) && !e.hb.has(to, from) && is_cyclic(from, to) && is_cyclic(to, from)
            }
            _ => e.hb.has(to, from),
        }
    }
}
