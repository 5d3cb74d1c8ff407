//! Executions in the form in which reports print them.

use itertools::Itertools;
use mowgli_core::search::relation::matrix::WordOnes;

use super::outputs::{Outputs, each_output};
use super::rules::{Rule, RuleEdge, Rules};
use super::values::{ComputedValues, Value};
use crate::core_rma::program::{Action, ActionType, Program};
use crate::error::Error;

/// One execution with everything that a report prints.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The actions, initial writes first.
    pub actions: Vec<Action>,
    /// The value that each action read; `None` for an action that does not read.
    pub read: Vec<Option<Value>>,
    /// The value that each action wrote; `None` for an action that does not write.
    pub wrote: Vec<Option<Value>>,
    /// The applications of rules, without those from or to initial writes.
    pub edges: Vec<RuleEdge>,
    /// The pairs of reads-from: a write, and the action that reads it.
    pub rf: Vec<(usize, usize)>,
    /// The races: unordered accesses to one variable, one of them a write and one not atomic. A read in a race has an
    /// undefined value.
    pub races: Vec<(usize, usize)>,
}

/// Returns for each output of a program, with the last values of these variables, the first execution that has it.
///
/// # Errors
/// If the program is too large.
pub fn witnesses(
    program: &Program,
    rules: &Rules,
    observed: &[usize],
    expired: &dyn Fn() -> bool,
) -> Result<Outputs<Witness>, Error> {
    each_output(program, rules, observed, expired, |first, output, values| {
        first.entry(output).or_insert_with(|| values.witness());
    })
}

impl ComputedValues<'_> {
    /// Builds the witness of this execution.
    fn witness(&mut self) -> Witness {
        let (search, all) = (self.search, &self.search.actions.all);
        let n = all.len();
        let read = (0..n).map(|a| all[a].reads.map(|_| self.read(a).unwrap_or(None))).collect();
        let wrote = (0..n).map(|a| all[a].writes.map(|_| self.written(a).unwrap_or(None))).collect();
        let e = &self.execution;
        let rf = (0..n).filter_map(|r| e.rf[r].map(|w| (usize::from(w), r))).collect_vec();
        let is_atomic = |a: usize| search.atomic >> a & 1 == 1;
        let mut edges = search.fixed.iter().filter(|edge| e.hb.has(edge.from, edge.to)).copied().collect_vec();
        // One of CAS-F and CAS-T suffices, because they give the same edges. The value that was written shows the result.
        edges.retain(|e| e.rule != Rule::CasF || !search.rules.has(Rule::CasT));
        for &(w, r) in &rf {
            let add = |rule: Rule, from, to| search.rules.has(rule).then_some(RuleEdge { rule, from, to });
            if is_atomic(w) && is_atomic(r) {
                edges.extend(add(Rule::R2, w, r));
            }
            let x = all[r].reads.expect("a reader");
            for w2 in WordOnes(search.writers[x] & search.atomic & e.hb.after[w] & !(1 << r)).filter(|_| is_atomic(r)) {
                edges.extend(add(Rule::R1, r, w2));
            }
        }
        for writers in &search.writers {
            let atomic = writers & search.atomic;
            for w in WordOnes(atomic).filter(|_| search.rules.has(Rule::Ws)) {
                let later = atomic & e.hb.after[w];
                let next = WordOnes(later).find(|&o| later & e.hb.before[o] == 0);
                edges.extend(next.map(|to| RuleEdge { rule: Rule::Ws, from: w, to }));
            }
        }
        edges.retain(|e| all[e.from].kind != ActionType::Init && all[e.to].kind != ActionType::Init);
        let touches = |a: usize| all[a].reads.into_iter().chain(all[a].writes).collect_vec();
        let race = |&(a, b): &(usize, usize)| {
            let one = touches(a).into_iter().any(|x| touches(b).contains(&x));
            let writes = all[a].writes.is_some() || all[b].writes.is_some();
            let ordered = e.hb.has(a, b) || e.hb.has(b, a);
            one && writes && !ordered && !(is_atomic(a) && is_atomic(b))
        };
        let races = (0..n).tuple_combinations().filter(race).collect();
        Witness { actions: all.clone(), read, wrote, edges, rf, races }
    }
}
