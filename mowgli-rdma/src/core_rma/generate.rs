//! Tests that probe the rules of coreRMA one by one (CORERMA §6.1).
//!
//! One application of a rule, the *pivot*, is left out. A program is a test of the rule if it has an execution that is
//! acyclic without the pivot and cyclic with it. In this execution each write of the program has one local read that
//! reads it, into a register of its own. The program has no other local reads. Local writes write distinct values, and
//! initial values are distinct too. All accesses are atomic, since a race would hide the values read. Programs that are
//! equal up to renaming count once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use mowgli_core::search::problem::Found;
use mowgli_core::search::runs::Stop;

use super::execution::{CoreRmaExecution, ExecutionSearch, Rule, RuleEdge, Rules, Value, fixed_edges, outcomes};
use super::program::{Actions, CoreRmaStatement, Data, LocalExpr, Program, SharedAccess, Variable};

/// A row of CORERMA Table 6: a rule, the number of processes, and the bound on the number of actions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableRow {
    /// The pivot's rule.
    pub rule: Rule,
    /// The number of processes.
    pub processes: usize,
    /// The largest number of actions, including initial writes.
    pub size: usize,
}

/// A test with its expected outputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GeneratedTest {
    /// The program.
    pub program: Program,
    /// All values that its registers can have together.
    pub outputs: BTreeSet<Vec<Value>>,
    /// The registers in an execution that only the pivot forbids, unless this output is expected anyway. A machine that
    /// shows it does not keep the rule.
    pub forbidden: Option<Vec<Value>>,
}

/// Generates the candidate programs of a row, once up to renaming. [`test()`] decides which of them are tests of the
/// rule.
pub fn programs(row: TableRow, expired: &dyn Fn() -> bool) -> Found<Vec<Program>> {
    let (program, all) = (Program::default(), Vec::new());
    let mut builder = TestBuilder { row, expired, program, left: row.size, all, is_late: false };
    builder.program.processes.push(Vec::new());
    builder.extend();
    Found::new(builder.all, builder.is_late.then_some(Stop::Time))
}

struct TestBuilder<'a> {
    row: TableRow,
    expired: &'a dyn Fn() -> bool,
    /// Whether the time was up before all programs were written.
    is_late: bool,
    program: Program,
    left: usize,
    all: Vec<Program>,
}

impl TestBuilder<'_> {
    /// The process that is being written.
    fn process(&self) -> usize {
        self.program.processes.len() - 1
    }

    /// Counts the writes that have no local read yet, and the local reads that have no write. Returns `None` if the
    /// process that would have to read is complete.
    fn unmatched(&self) -> Option<(usize, usize)> {
        let mut writes = vec![0_isize; self.program.variables.len()];
        for statement in self.program.processes.iter().flatten() {
            statement.written().for_each(|x| writes[x] += 1);
            if let CoreRmaStatement::Read { from, .. } = statement {
                writes[from.variable] -= 1;
            }
        }
        let is_late = |(n, v): (&isize, &Variable)| *n > 0 && v.owner < self.process();
        if writes.iter().zip(&self.program.variables).any(is_late) {
            return None;
        }
        let sum = |sign: isize| writes.iter().map(|n| (n * sign).max(0) as usize).sum();
        Some((sum(1), sum(-1)))
    }

    /// Returns the numbers of actions and of writes in the operations that the rule still needs.
    fn needed(&self) -> (usize, usize) {
        let count = |wanted: fn(&CoreRmaStatement) -> bool| {
            self.program.processes.iter().flatten().filter(|s| wanted(s)).count()
        };
        let (of_each, writes, number, there) = match self.row.rule {
            Rule::F1 | Rule::F2 | Rule::F3 => (1, 0, 1, count(|s| matches!(s, CoreRmaStatement::Flush { .. }))),
            Rule::Pg => (2, 1, 1, count(|s| matches!(s, CoreRmaStatement::Get { .. } | CoreRmaStatement::Put { .. }))),
            Rule::Ga => (3, 2, 1, count(|s| matches!(s, CoreRmaStatement::Rga { .. }))),
            Rule::CasF | Rule::CasT => (4, 2, 1, count(|s| matches!(s, CoreRmaStatement::Cas { .. }))),
            Rule::Ir => (2, 1, 2, count(|s| s.actions() > 1)),
            _ => return (0, 0),
        };
        let more = usize::saturating_sub(number, there);
        (more * of_each, more * writes)
    }

    /// Continues in every way that can still become a test.
    fn extend(&mut self) {
        self.is_late = self.is_late || (self.expired)();
        if self.is_late {
            return;
        }
        let Some((writes, reads)) = self.unmatched() else { return };
        let (actions, more) = self.needed();
        let others = self.row.processes - self.program.processes.len();
        if (writes + actions + more.abs_diff(reads)).max(others) > self.left {
            return;
        }
        if !self.program.processes[self.process()].is_empty() {
            if others > 0 {
                self.program.processes.push(Vec::new());
                self.extend();
                self.program.processes.pop();
            } else if (writes, reads, actions) == (0, 0, 0) {
                self.finish();
            }
        }
        if self.left > 0 {
            self.statements();
        }
    }

    /// Continues with each statement that fits.
    fn statements(&mut self) {
        let process = self.process();
        for dst in 0..self.row.processes {
            self.with(1, |_| CoreRmaStatement::Flush { process: dst });
        }
        self.place(Some(process), &mut |b, from| {
            b.with(1, |b| CoreRmaStatement::Read { register: b.registers(), from })
        });
        self.place(Some(process), &mut |b, to| b.with(1, |_| CoreRmaStatement::Write { to, value: LocalExpr::Int(0) }));
        self.place(Some(process), &mut |b, x| {
            b.place(None, &mut |b, z| {
                b.with(2, |_| CoreRmaStatement::Get { to: x, from: z });
                b.with(2, |_| CoreRmaStatement::Put { to: z, from: x });
                b.place(Some(process), &mut |b, y| {
                    b.with(3, |_| CoreRmaStatement::Rga { to: x, at: z, add: y });
                    b.place(Some(process), &mut |b, w| {
                        b.with(4, |_| CoreRmaStatement::Cas { to: x, at: z, old: y, new: w });
                    });
                });
            });
        });
    }

    fn registers(&self) -> usize {
        let reads = self.program.processes[self.process()].iter();
        reads.filter(|s| matches!(s, CoreRmaStatement::Read { .. })).count()
    }

    /// Continues with each known variable, of this owner if one is given, and with a new one.
    fn place(&mut self, owner: Option<usize>, next: &mut dyn FnMut(&mut Self, SharedAccess)) {
        let here = |b: &Self, variable: usize| owner.is_none_or(|o| b.program.variables[variable].owner == o);
        for variable in 0..self.program.variables.len() {
            if here(self, variable) {
                next(self, SharedAccess { variable, atomic: true });
            }
        }
        let owners = owner.map_or(0..self.row.processes, |o| o..o + 1);
        for owner in owners {
            if self.left > 0 {
                let variable = self.program.variables.len();
                self.program.variables.push(Variable { owner, init: variable as i64 + 1 });
                self.left -= 1;
                next(self, SharedAccess { variable, atomic: true });
                self.left += 1;
                self.program.variables.pop();
            }
        }
    }

    /// Continues with a statement of this many actions, if they fit.
    fn with(&mut self, actions: usize, statement: impl Fn(&Self) -> CoreRmaStatement) {
        if self.left >= actions {
            let (process, statement) = (self.process(), statement(self));
            self.program.processes[process].push(statement);
            self.left -= actions;
            self.extend();
            self.left += actions;
            self.program.processes[process].pop();
        }
    }

    /// Keeps the program if its processes share memory and it is canonical: the smaller of the two orders of its
    /// processes.
    fn finish(&mut self) {
        let program = &self.program;
        let interact = |p: usize| program.processes[p].iter().any(|s| s.touches().any(|x| self.owner(x) != p));
        let is_joint = self.row.processes == 1 || (0..self.row.processes).any(interact);
        if is_joint {
            let program = numbered(program.clone());
            if self.row.processes == 1 || program <= numbered(swapped(&program)) {
                self.all.push(program);
            }
        }
    }

    fn owner(&self, x: usize) -> usize {
        self.program.variables[x].owner
    }
}

/// Reverses the order of the processes, and numbers variables by their first use.
fn swapped(program: &Program) -> Program {
    let last = program.processes.len() - 1;
    let mut order: Vec<usize> = Vec::new();
    for statement in program.processes.iter().rev().flatten() {
        statement.touches().for_each(|x| {
            if !order.contains(&x) {
                order.push(x);
            }
        });
    }
    let new = |x: usize| order.iter().position(|&o| o == x).expect("every variable is used");
    let variables = order
        .iter()
        .enumerate()
        .map(|(i, &x)| Variable { owner: last - program.variables[x].owner, init: i as i64 + 1 });
    let statement = |s: &CoreRmaStatement| s.renamed(&new, &|p| last - p);
    let processes = program.processes.iter().rev().map(|p| p.iter().map(statement).collect());
    Program { variables: variables.collect(), processes: processes.collect() }
}

/// Gives distinct values to the local writes.
fn numbered(mut program: Program) -> Program {
    let mut next = program.variables.len() as i64;
    for statement in program.processes.iter_mut().flatten() {
        if let CoreRmaStatement::Write { value, .. } = statement {
            next += 1;
            *value = LocalExpr::Int(next);
        }
    }
    program
}

impl CoreRmaStatement {
    /// Lists the places in the order in which the generator chooses them.
    fn places(&self) -> impl Iterator<Item = SharedAccess> {
        let (a, rest) = match *self {
            Self::Read { from, .. } => (Some(from), [None; 3]),
            Self::Write { to, .. } => (Some(to), [None; 3]),
            Self::Get { to: x, from: z } | Self::Put { to: z, from: x } => (Some(x), [Some(z), None, None]),
            Self::Rga { to, at, add } => (Some(to), [Some(at), Some(add), None]),
            Self::Cas { to, at, old, new } => (Some(to), [Some(at), Some(old), Some(new)]),
            Self::Set { .. } | Self::Flush { .. } => (None, [None; 3]),
        };
        std::iter::once(a).chain(rest).flatten()
    }

    fn touches(&self) -> impl Iterator<Item = usize> {
        self.places().map(|p| p.variable)
    }

    /// Lists the variables that its actions write, one for each action that writes.
    fn written(&self) -> impl Iterator<Item = usize> {
        let places = match *self {
            Self::Write { to, .. } | Self::Get { to, .. } | Self::Put { to, .. } => [Some(to), None],
            Self::Rga { to, at, .. } | Self::Cas { to, at, .. } => [Some(to), Some(at)],
            Self::Read { .. } | Self::Set { .. } | Self::Flush { .. } => [None, None],
        };
        places.into_iter().flatten().map(|p| p.variable)
    }

    fn renamed(&self, variable: &dyn Fn(usize) -> usize, process: &dyn Fn(usize) -> usize) -> Self {
        let of = |p: SharedAccess| SharedAccess { variable: variable(p.variable), ..p };
        match *self {
            Self::Read { register, from } => Self::Read { register, from: of(from) },
            Self::Write { to, value } => Self::Write { to: of(to), value },
            Self::Set { .. } => *self,
            Self::Get { to, from } => Self::Get { to: of(to), from: of(from) },
            Self::Put { to, from } => Self::Put { to: of(to), from: of(from) },
            Self::Rga { to, at, add } => Self::Rga { to: of(to), at: of(at), add: of(add) },
            Self::Cas { to, at, old, new } => Self::Cas { to: of(to), at: of(at), old: of(old), new: of(new) },
            Self::Flush { process: dst } => Self::Flush { process: process(dst) },
        }
    }
}

/// Returns the program as a test of a rule, if it is one.
///
/// # Errors
/// If the time was up before that was known.
///
/// # Panics
/// If the program is too large; those of [`programs`] are not.
pub fn test(program: &Program, rule: Rule, expired: &dyn Fn() -> bool) -> Result<Option<GeneratedTest>, Stop> {
    let actions = program.actions().expect("generated programs are small");
    let rules = Rules::core();
    let pivots = pivots(&actions, &rules, rule);
    let mut forbidden = None;
    let mut expected = None;
    for pivot in pivots {
        let mut search = ExecutionSearch::new(&actions, &rules, expired);
        search.dropped = Some(pivot);
        let ended = search.each(&mut |e| {
            if !search.is_seen(e) || !search.is_closed_by(e, pivot) || !agrees(pivot, &actions, &search, e) {
                return ControlFlow::Continue(());
            }
            let all = || outcomes(program, &rules, &[], expired).expect("it is small").all();
            let Ok(expected) = expected.get_or_insert_with(all) else { return ControlFlow::Break(()) };
            forbidden = search.values_of(e).shown(&[]).ok().flatten().filter(|shown| !expected.contains_key(shown));
            if forbidden.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if forbidden.is_some() {
            break;
        }
        if ended.is_break() {
            return Err(Stop::Time);
        }
    }
    let test = |all: BTreeMap<Vec<Value>, u64>| GeneratedTest {
        program: program.clone(),
        outputs: all.into_keys().collect(),
        forbidden,
    };
    Ok(expected.transpose()?.map(test))
}

/// Lists every application that a rule could have.
fn pivots(actions: &Actions, rules: &Rules, rule: Rule) -> Vec<RuleEdge> {
    let all = &actions.all;
    let edge = |from: usize, to: usize| RuleEdge { rule, from, to };
    let pairs = || (0..all.len()).flat_map(|a| (0..all.len()).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let same = |x: Option<usize>, y: Option<usize>| x.is_some() && x == y;
    match rule {
        Rule::R1 => pairs().filter(|&(r, w)| same(all[r].reads, all[w].writes)).map(|(r, w)| edge(r, w)).collect(),
        Rule::R2 => pairs().filter(|&(w, r)| same(all[r].reads, all[w].writes)).map(|(w, r)| edge(w, r)).collect(),
        Rule::Ws => {
            let both = |&(a, b): &(usize, usize)| a < b && same(all[a].writes, all[b].writes);
            pairs().filter(both).map(|(a, b)| edge(a, b)).collect()
        }
        _ => fixed_edges(actions, rules).into_iter().filter(|e| e.rule == rule).collect(),
    }
}

/// True if the compare-and-swap of a pivot has the result that its rule is about. A comparison with a value that
/// depends on itself may have either result, because these rules forbid such values.
fn agrees(pivot: RuleEdge, actions: &Actions, search: &ExecutionSearch<'_>, e: &CoreRmaExecution) -> bool {
    let wanted = match pivot.rule {
        Rule::CasF => false,
        Rule::CasT => true,
        _ => return true,
    };
    let is_swap = |&a: &usize| matches!(actions.all[a].data, Data::Swap { .. });
    let statement = actions.remote.iter().find(|r| r.all.contains(&pivot.from)).expect("a pivot of one");
    let erw = statement.all.clone().find(is_swap).expect("a compare-and-swap has a read-write");
    search.values_of(e).succeeds(erw).unwrap_or(wanted) == wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_rma::execution::outputs;

    fn all(row: TableRow) -> Vec<Program> {
        programs(row, &|| false).all().expect("there is no limit")
    }

    fn made(program: &Program, rule: Rule) -> Option<GeneratedTest> {
        test(program, rule, &|| false).expect("there is no limit")
    }

    /// The result is complete or an error, at whichever call the time runs out.
    #[test]
    fn a_late_clock_makes_no_tests() {
        let row = TableRow { rule: Rule::Lo, processes: 1, size: 5 };
        let left = std::cell::Cell::new(0_usize);
        let expired = || left.replace(left.get().saturating_sub(1)) == 0;
        let whole = all(row);
        let tells = whole.iter().find(|p| made(p, row.rule).is_some()).expect("a test");
        let (mut late, mut known) = (0, 0);
        for asks in 0..400 {
            left.set(asks);
            match programs(row, &expired).all() {
                Ok(all) => assert_eq!(all, whole),
                Err(stop) => assert_eq!(stop, Stop::Time),
            }
            left.set(asks);
            match test(tells, row.rule, &expired) {
                Ok(found) => known += usize::from(found == made(tells, row.rule)),
                Err(_) => late += 1,
            }
        }
        assert!(late > 0 && known > 0 && late + known == 400, "{late} {known}");
    }

    fn place(variable: usize) -> SharedAccess {
        SharedAccess { variable, atomic: true }
    }

    fn read(register: usize, x: usize) -> CoreRmaStatement {
        CoreRmaStatement::Read { register, from: place(x) }
    }

    fn write(x: usize, value: i64) -> CoreRmaStatement {
        CoreRmaStatement::Write { to: place(x), value: LocalExpr::Int(value) }
    }

    fn put(z: usize, x: usize) -> CoreRmaStatement {
        CoreRmaStatement::Put { to: place(z), from: place(x) }
    }

    fn get(x: usize, z: usize) -> CoreRmaStatement {
        CoreRmaStatement::Get { to: place(x), from: place(z) }
    }

    /// True if a program, up to names and values, is among the tests of a row.
    fn is_generated(row: TableRow, owners: &[usize], processes: &[&[CoreRmaStatement]]) -> bool {
        let variables = owners.iter().map(|&owner| Variable { owner, init: 0 }).collect();
        let wanted = Program { variables, processes: processes.iter().map(|p| p.to_vec()).collect() };
        // Reversing twice restores the order of processes, and numbers variables by their first use.
        let wanted = numbered(swapped(&swapped(&wanted)));
        let wanted = if processes.len() == 1 { wanted } else { wanted.clone().min(numbered(swapped(&wanted))) };
        assert!(wanted.size() <= row.size, "it has {} actions", wanted.size());
        all(row).contains(&wanted) && made(&wanted, row.rule).is_some()
    }

    #[test]
    fn the_papers_examples_are_generated() {
        let flush = CoreRmaStatement::Flush { process: 0 };
        let row = TableRow { rule: Rule::Ir, processes: 2, size: 9 };
        assert!(is_generated(row, &[0, 1], &[&[read(0, 0)], &[put(0, 1), get(1, 0), flush, read(0, 1)]]), "Fig. 6");
        let row = TableRow { rule: Rule::Ir, processes: 2, size: 11 };
        let first = [read(0, 0), write(0, 3), read(1, 0)];
        assert!(is_generated(row, &[0, 1], &[&first, &[get(1, 0), put(0, 1), flush, read(0, 1)]]), "Fig. 8");
        let second = [put(0, 1), get(1, 0), write(1, 3), flush, read(0, 1), read(1, 1)];
        // Both reads of Y come after both writes, so they read the same write, and no read has the other one as its
        // source.
        assert!(!is_generated(row, &[0, 1], &[&[read(0, 0)], &second]), "Fig. 9");
        let cas = CoreRmaStatement::Cas { to: place(1), at: place(1), old: place(0), new: place(1) };
        let row = TableRow { rule: Rule::CasF, processes: 1, size: 10 };
        assert!(is_generated(row, &[0, 0], &[&[cas, read(0, 1), read(1, 1)]]), "Fig. 7, left");
        let rga = CoreRmaStatement::Rga { to: place(1), at: place(1), add: place(0) };
        let row = TableRow { rule: Rule::Ga, processes: 1, size: 10 };
        let statements = [get(1, 1), read(0, 1), rga, read(1, 1), read(2, 1)];
        assert!(is_generated(row, &[0, 0], &[&statements]), "Fig. 7, right");
    }

    #[test]
    fn a_forbidden_output_comes_back_without_the_rule() {
        for (rule, size) in [(Rule::F1, 8), (Rule::F2, 8), (Rule::Ir, 9), (Rule::Lo, 6), (Rule::R2, 6)] {
            let processes = if rule == Rule::Ir { 2 } else { 1 };
            let all = all(TableRow { rule, processes, size });
            let telling: Vec<GeneratedTest> =
                all.iter().filter_map(|p| made(p, rule)).filter(|t| t.forbidden.is_some()).collect();
            assert!(!telling.is_empty(), "{rule}");
            for t in telling {
                let forbidden = t.forbidden.as_ref().unwrap();
                assert!(!t.outputs.contains(forbidden));
                let without = outputs(&t.program, &Rules::core().without(rule)).unwrap();
                assert!(without.contains(forbidden), "{rule}: {:?}", t.program);
            }
        }
    }

    #[test]
    fn in_order_routing_says_nothing_about_one_process() {
        let row = TableRow { rule: Rule::Ir, processes: 1, size: 8 };
        assert!(all(row).iter().all(|p| made(p, row.rule).is_none()));
    }
}
