//! Executions of coreRMA: happens-before as the least relation that the rules give, and the values read (CORERMA §5).
//!
//! Three points that the paper leaves open are decided here. A read-write is not ordered before itself: in R1 the write
//! that overtakes is another action than the read. A read that is not atomic reads a write that nothing hides from it: one
//! that is not ordered after it, with no other write to the variable ordered between the two; for atomic ones R1 and R2
//! say that. An undefined value may equal any other, so a compare-and-swap that compares one may go either way.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::ControlFlow;

use itertools::Itertools;
use mowgli_core::outcome::Found;
use mowgli_core::relation::matrix::WordOnes;
use mowgli_core::runs::Stop;

use super::program::{Action, Actions, Data, Kind, Program, Source, Statement};

/// The most actions that a program may have.
pub const MOST: usize = 64;

/// A value read; `None` is the undefined value, top.
pub type Value = Option<i64>;

/// A rule that orders actions (CORERMA Fig. 4), or a promise of one network beyond those (CORERMA §7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// An atomic read is before what overwrites the write that it reads.
    R1,
    /// An atomic read is after the atomic write that it reads.
    R2,
    /// A flush is before later local actions.
    F1,
    /// What a process sent to another one is complete at a flush of that one.
    F2,
    /// What a process sends to another one after a flush of that one starts after it.
    F3,
    /// In-order routing: remote actions on one other process happen in program order.
    Ir,
    /// The actions of an rga happen in order.
    Ga,
    /// A put or get reads before it writes.
    Pg,
    /// The actions of a compare-and-swap that fails happen in order.
    CasF,
    /// The actions of a compare-and-swap that succeeds happen in order.
    CasT,
    /// A local action is before all later actions of its process.
    Lo,
    /// Atomic writes to one variable are ordered.
    Ws,
    /// In-order routing among puts only.
    PutPut,
    /// In-order routing among gets only.
    GetGet,
    /// A put reads its source when it is issued.
    Inline,
}

impl Rule {
    /// The rules of CORERMA Fig. 4.
    pub const ALL: [Self; 12] = [
        Self::R1,
        Self::R2,
        Self::F1,
        Self::F2,
        Self::F3,
        Self::Ir,
        Self::Ga,
        Self::Pg,
        Self::CasF,
        Self::CasT,
        Self::Lo,
        Self::Ws,
    ];
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ir => "IR",
            Self::Ga => "GA",
            Self::Pg => "PG",
            Self::CasF => "CAS-F",
            Self::CasT => "CAS-T",
            Self::Lo => "LO",
            Self::Ws => "WS",
            Self::PutPut => "put-put",
            Self::GetGet => "get-get",
            Self::Inline => "inline",
            Self::R1 | Self::R2 | Self::F1 | Self::F2 | Self::F3 => return write!(f, "{self:?}"),
        })
    }
}

impl std::str::FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let more = [Self::PutPut, Self::GetGet, Self::Inline];
        let all: Vec<Self> = Self::ALL.into_iter().chain(more).collect();
        let known = all.iter().find(|r| r.to_string().eq_ignore_ascii_case(text));
        let names = || all.iter().join(", ");
        known.copied().ok_or_else(|| format!("no rule {text}; there are {}", names()))
    }
}

/// The rules in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rules(BTreeSet<Rule>);

/// A network with rules of its own, and its name.
pub type Preset = (&'static str, fn() -> Rules);

impl Rules {
    /// The networks with rules of their own, by name.
    pub const PRESETS: [Preset; 4] =
        [("core", Self::core), ("infiniband", Self::infiniband), ("dmapp", Self::dmapp), ("portals", Self::portals)];

    /// CORERMA Fig. 4.
    #[must_use]
    pub fn core() -> Self {
        Self(Rule::ALL.into())
    }

    /// VPI Verbs on InfiniBand: only puts among themselves, and gets among themselves, are routed in order (CORERMA §7).
    #[must_use]
    pub fn infiniband() -> Self {
        Self::core().without(Rule::Ir).with(Rule::PutPut).with(Rule::GetGet)
    }

    /// DMAPP on Cray Aries, for small data: a put carries its data from when it is issued (CORERMA §7).
    #[must_use]
    pub fn dmapp() -> Self {
        Self::core().with(Rule::Inline)
    }

    /// Portals 4, for which the paper found no rule to change: those of [`Rules::core`].
    #[must_use]
    pub fn portals() -> Self {
        Self::core()
    }

    /// The preset of this name.
    ///
    /// # Errors
    /// Which there are, if there is no such preset.
    pub fn preset(name: &str) -> Result<Self, String> {
        let known = Self::PRESETS.iter().find(|(preset, _)| *preset == name);
        let names = || Self::PRESETS.iter().map(|(preset, _)| preset).join(", ");
        known.map(|(_, rules)| rules()).ok_or_else(|| format!("no preset {name}; there are {}", names()))
    }

    /// These without one.
    #[must_use]
    pub fn without(mut self, rule: Rule) -> Self {
        self.0.remove(&rule);
        self
    }

    /// These and one more.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.0.insert(rule);
        self
    }

    /// Whether a rule is in force.
    #[must_use]
    pub fn has(&self, rule: Rule) -> bool {
        self.0.contains(&rule)
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.iter().format(", "))
    }
}

/// One application of a rule: an edge of happens-before that it gives. That of WS stands for the pair in either order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// The rule.
    pub rule: Rule,
    /// The action that is before.
    pub from: usize,
    /// The action that is after.
    pub to: usize,
}

/// Happens-before: a transitive relation, kept closed.
#[derive(Clone)]
pub(crate) struct Hb {
    after: [u64; MOST],
    before: [u64; MOST],
}

impl Hb {
    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.after[a] >> b & 1 == 1
    }

    /// Orders a before b; `false` if that closes a cycle.
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

/// The edges that need no choice: those of all rules but R1, R2 and WS. Those of a compare-and-swap appear once for each
/// of CAS-F and CAS-T.
pub(crate) fn fixed_edges(actions: &Actions, rules: &Rules) -> Vec<Edge> {
    let all = &actions.all;
    let mut edges = Vec::new();
    let mut add = |rule: Rule, from: usize, to: usize| {
        if rules.has(rule) {
            edges.push(Edge { rule, from, to });
        }
    };
    let remote_of = |a: usize| actions.remote.iter().find(|r| r.all.contains(&a));
    for (a, one) in all.iter().enumerate() {
        let later = (a + 1..all.len()).filter(|&b| all[b].kind != Kind::Init && all[b].src == one.src);
        for b in later.filter(|_| one.kind != Kind::Init) {
            let other = &all[b];
            let towards = |flush: &Action, r: usize| remote_of(r).is_some_and(|r| all[r.at].dst == flush.dst);
            if one.is_local() {
                add(Rule::Lo, a, b);
            }
            if one.kind == Kind::Flush && other.is_local() {
                add(Rule::F1, a, b);
            }
            if other.kind == Kind::Flush && towards(other, a) {
                add(Rule::F2, a, b);
            }
            if one.kind == Kind::Flush && towards(one, b) {
                add(Rule::F3, a, b);
            }
            let source_of_put = remote_of(a).is_some_and(|r| matches!(r.statement, Statement::Put { .. }) && r.at != a);
            if source_of_put && other.statement != one.statement {
                add(Rule::Inline, a, b);
            }
        }
    }
    for (i, one) in actions.remote.iter().enumerate() {
        let mut inside = |rule: Rule, pairs: &[(usize, usize)]| {
            pairs.iter().for_each(|(a, b)| add(rule, one.all.start + a, one.all.start + b));
        };
        match one.statement {
            Statement::Rga { .. } => inside(Rule::Ga, &[(0, 1), (1, 2)]),
            Statement::Cas { .. } => {
                [Rule::CasF, Rule::CasT].into_iter().for_each(|rule| inside(rule, &[(0, 2), (1, 2), (2, 3)]));
            }
            _ => inside(Rule::Pg, &[(0, 1)]),
        }
        for other in &actions.remote[i + 1..] {
            let (a, b) = (&all[one.at], &all[other.at]);
            if a.src == b.src && a.dst == b.dst && a.dst != a.src {
                add(Rule::Ir, one.at, other.at);
                match (one.statement, other.statement) {
                    (Statement::Put { .. }, Statement::Put { .. }) => add(Rule::PutPut, one.at, other.at),
                    (Statement::Get { .. }, Statement::Get { .. }) => add(Rule::GetGet, one.at, other.at),
                    _ => {}
                }
            }
        }
    }
    edges
}

/// An execution: happens-before and, for each reader, the write that it reads.
#[derive(Clone)]
pub(crate) struct Execution {
    pub(crate) hb: Hb,
    pub(crate) rf: [Option<u8>; MOST],
    /// The atomic readers whose source is chosen.
    decided: u64,
    /// For each compare-and-swap whether it succeeds, where the rules for that differ.
    success: Option<u64>,
}

/// The consistent executions of a program.
pub(crate) struct Search<'a> {
    pub(crate) actions: &'a Actions,
    pub(crate) rules: &'a Rules,
    pub(crate) fixed: Vec<Edge>,
    /// An application of a rule that is left out.
    pub(crate) dropped: Option<Edge>,
    /// Whether the time is up.
    expired: &'a dyn Fn() -> bool,
    writers: Vec<u64>,
    readers: u64,
    local_readers: u64,
    atomic: u64,
}

/// A value that depends on itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Loop;

impl<'a> Search<'a> {
    pub(crate) fn new(actions: &'a Actions, rules: &'a Rules, expired: &'a dyn Fn() -> bool) -> Self {
        let all = &actions.all;
        let set = |holds: &dyn Fn(&Action) -> bool| {
            all.iter().enumerate().filter(|(_, a)| holds(a)).fold(0, |set, (i, _)| set | 1 << i)
        };
        let variables = all.iter().filter(|a| a.kind == Kind::Init).count();
        Self {
            actions,
            rules,
            fixed: fixed_edges(actions, rules),
            dropped: None,
            expired,
            writers: (0..variables).map(|x| set(&|a| a.writes == Some(x))).collect(),
            readers: set(&|a| a.reads.is_some()),
            local_readers: set(&|a| a.kind == Kind::Read),
            atomic: set(&|a| a.atomic),
        }
    }

    /// Whether an edge is the one that is left out. Those of a compare-and-swap are left out whether it succeeds or not,
    /// and those of WS in both directions.
    fn is_dropped(&self, rule: Rule, from: usize, to: usize) -> bool {
        self.dropped.is_some_and(|d| match rule {
            Rule::CasF | Rule::CasT => (d.from, d.to) == (from, to) && matches!(d.rule, Rule::CasF | Rule::CasT),
            Rule::Ws => d.rule == rule && [(d.from, d.to), (d.to, d.from)].contains(&(from, to)),
            _ => d == Edge { rule, from, to },
        })
    }

    /// Visits every consistent execution, until the visitor breaks off or the time is up.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>) -> ControlFlow<()> {
        let cas = self.actions.remote.iter().filter(|r| matches!(r.statement, Statement::Cas { .. })).count();
        if self.rules.has(Rule::CasF) == self.rules.has(Rule::CasT) {
            return self.begin(None, visit);
        }
        (0..1 << cas).try_for_each(|success| self.begin(Some(success), visit))
    }

    fn begin(&self, success: Option<u64>, visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>) -> ControlFlow<()> {
        if (self.expired)() {
            return ControlFlow::Break(());
        }
        let n = self.actions.all.len();
        let inits = self.writers.len();
        let mut hb = Hb { after: [0; MOST], before: [0; MOST] };
        for a in inits..n {
            (0..inits).for_each(|init| _ = hb.order(init, a));
        }
        let cas = self.actions.remote.iter().filter(|r| matches!(r.statement, Statement::Cas { .. }));
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
        let mut execution = Execution { hb, rf: [None; MOST], decided: 0, success };
        if let Some(Edge { rule: Rule::R2, from, to }) = self.dropped {
            execution.rf[to] = Some(from as u8);
            execution.decided |= 1 << to;
        }
        self.extend(execution, visit)
    }

    /// Applies R1 until nothing is new; `false` if that closes a cycle.
    fn overtaken(&self, e: &mut Execution) -> bool {
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
    fn extend(&self, mut e: Execution, visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>) -> ControlFlow<()> {
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

    fn unordered_writes(&self, e: &Execution) -> Option<(usize, usize)> {
        let pairs = self.writers.iter().flat_map(|w| WordOnes(w & self.atomic).tuple_combinations());
        let is_open = |&(a, b): &(usize, usize)| !e.hb.has(a, b) && !e.hb.has(b, a);
        let wanted = |&(a, b): &(usize, usize)| self.rules.has(Rule::Ws) && !self.is_dropped(Rule::Ws, a, b);
        pairs.filter(is_open).find(wanted)
    }

    /// Chooses sources for the reads that have none: happens-before is complete.
    fn others(&self, e: Execution, visit: &mut dyn FnMut(&Execution) -> ControlFlow<()>) -> ControlFlow<()> {
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
        // Atomic reads of atomic writes were chosen before.
        let sources = if self.atomic >> r & 1 == 1 { sources & !self.atomic } else { sources };
        for w in WordOnes(sources).filter(|&w| self.writers[x] & e.hb.after[w] & e.hb.before[r] == 0) {
            let mut next = e.clone();
            next.rf[r] = Some(w as u8);
            self.others(next, visit)?;
        }
        ControlFlow::Continue(())
    }

    /// The writes to the same variable, one of the two accesses not atomic, that are not ordered with an action.
    fn racing(&self, hb: &Hb, a: usize, x: usize) -> bool {
        let parallel = self.writers[x] & !hb.after[a] & !hb.before[a] & !(1 << a);
        let with = if self.atomic >> a & 1 == 1 { !self.atomic } else { u64::MAX };
        parallel & with != 0
    }

    /// conflict(r).
    fn conflicts(&self, hb: &Hb, r: usize) -> bool {
        self.actions.all[r].reads.is_some_and(|x| self.racing(hb, r, x))
    }

    /// wconflict(w).
    fn write_conflicts(&self, hb: &Hb, w: usize) -> bool {
        self.actions.all[w].writes.is_some_and(|x| self.racing(hb, w, x))
    }

    /// The values in an execution, one set of them for each way in which comparisons with undefined values can go.
    fn values(&self, e: &Execution) -> impl Iterator<Item = Values<'_>> {
        let is_defined = self.atomic.count_ones() as usize == self.actions.all.len();
        let cas = self.actions.all.iter().filter(|a| matches!(a.data, Data::Swap { .. })).count();
        let coins = if is_defined { 1 } else { 1 << cas };
        (0..coins).map(|coins| Values { coins, ..self.values_of(e) })
    }

    /// Whether a local read reads each write of the program.
    pub(crate) fn is_seen(&self, e: &Execution) -> bool {
        let seen = WordOnes(self.local_readers).filter_map(|r| e.rf[r]).fold(0_u64, |s, w| s | 1 << w);
        let inits = self.writers.len();
        self.writers.iter().all(|writers| writers >> inits & !(seen >> inits) == 0)
    }

    /// The values in an execution without races.
    pub(crate) fn values_of(&self, e: &Execution) -> Values<'_> {
        Values { search: self, execution: e.clone(), coins: 0, known: [None; MOST] }
    }

    /// Whether an execution that leaves out an application of a rule has a cycle with it.
    pub(crate) fn is_closed_by(&self, e: &Execution, pivot: Edge) -> bool {
        let Edge { rule, from, to } = pivot;
        match rule {
            Rule::R1 => {
                e.rf[from].is_some_and(|w1| usize::from(w1) != to && e.hb.has(w1.into(), to) && e.hb.has(to, from))
            }
            Rule::Ws => {
                // The two writes are ordered in one way or the other, and both close a cycle.
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

/// The values of one execution, computed on demand.
pub(crate) struct Values<'a> {
    search: &'a Search<'a>,
    execution: Execution,
    coins: u64,
    known: [Option<Result<Value, Loop>>; MOST],
}

impl Values<'_> {
    /// r_val, by rules no-C and C.
    pub(crate) fn read(&mut self, r: usize) -> Result<Value, Loop> {
        if let Some(known) = self.known[r] {
            return known;
        }
        self.known[r] = Some(Err(Loop));
        let hb = &self.execution.hb;
        let value = match self.execution.rf[r].map(usize::from) {
            Some(w) if !self.search.conflicts(hb, r) && !self.search.write_conflicts(hb, w) => self.written(w),
            _ => Ok(None),
        };
        self.known[r] = Some(value);
        value
    }

    /// w_val.
    fn written(&mut self, w: usize) -> Result<Value, Loop> {
        match self.search.actions.all[w].data {
            Data::Nothing => Ok(None),
            Data::Local(source) => self.source(source),
            Data::Copy(a) => self.read(a),
            Data::Sum(a) => Ok(self.read(a)?.zip(self.read(w)?).map(|(y, z)| y.wrapping_add(z))),
            Data::Swap { new, .. } => {
                if self.succeeds(w)? {
                    self.read(new)
                } else {
                    self.read(w)
                }
            }
        }
    }

    fn source(&mut self, source: Source) -> Result<Value, Loop> {
        match source {
            Source::Int(i) => Ok(Some(i)),
            Source::Read(a, plus) => Ok(self.read(a)?.map(|v| v.wrapping_add(plus))),
        }
    }

    /// Whether the compare-and-swap with this read-write succeeds.
    pub(crate) fn succeeds(&mut self, erw: usize) -> Result<bool, Loop> {
        let Data::Swap { old, .. } = self.search.actions.all[erw].data else { return Ok(false) };
        let values = self.read(old)?.zip(self.read(erw)?);
        Ok(values.map_or(self.coins >> self.which(erw) & 1 == 1, |(y, z)| y == z))
    }

    fn which(&self, erw: usize) -> usize {
        let all = &self.search.actions.all;
        all[..erw].iter().filter(|a| matches!(a.data, Data::Swap { .. })).count()
    }

    /// The values of the registers of all processes, then of these variables at the end; `None` if comparisons go
    /// another way than the rules that were applied.
    pub(crate) fn shown(&mut self, observed: &[usize]) -> Result<Option<Vec<Value>>, Loop> {
        let actions = self.search.actions;
        if let Some(success) = self.execution.success {
            for erw in (0..actions.all.len()).filter(|&a| matches!(actions.all[a].data, Data::Swap { .. })) {
                if self.succeeds(erw)? != (success >> self.which(erw) & 1 == 1) {
                    return Ok(None);
                }
            }
        }
        let mut shown = Vec::new();
        for &source in actions.registers.iter().flatten() {
            shown.push(self.source(source)?);
        }
        for &x in observed {
            shown.push(self.last(x)?);
        }
        // A value that depends on itself is none, whoever sees it.
        WordOnes(self.search.readers).try_for_each(|r| self.read(r).map(|_| ()))?;
        Ok(Some(shown))
    }

    /// The execution, with these values.
    fn witness(&mut self) -> Witness {
        let (search, all) = (self.search, &self.search.actions.all);
        let n = all.len();
        let read = (0..n).map(|a| all[a].reads.map(|_| self.read(a).unwrap_or(None))).collect();
        let wrote = (0..n).map(|a| all[a].writes.map(|_| self.written(a).unwrap_or(None))).collect();
        let e = &self.execution;
        let rf = (0..n).filter_map(|r| e.rf[r].map(|w| (usize::from(w), r))).collect_vec();
        let is_atomic = |a: usize| search.atomic >> a & 1 == 1;
        let mut edges = search.fixed.iter().filter(|edge| e.hb.has(edge.from, edge.to)).copied().collect_vec();
        // Whether a compare-and-swap succeeds is seen in what it wrote.
        edges.retain(|e| e.rule != Rule::CasF || !search.rules.has(Rule::CasT));
        for &(w, r) in &rf {
            let add = |rule: Rule, from, to| search.rules.has(rule).then_some(Edge { rule, from, to });
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
                edges.extend(next.map(|to| Edge { rule: Rule::Ws, from: w, to }));
            }
        }
        edges.retain(|e| all[e.from].kind != Kind::Init && all[e.to].kind != Kind::Init);
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

    /// What a read after the end would read.
    fn last(&mut self, x: usize) -> Result<Value, Loop> {
        let (hb, writers) = (&self.execution.hb, self.search.writers[x]);
        match WordOnes(writers).filter(|&w| hb.after[w] & writers == 0).exactly_one() {
            Ok(w) if !self.search.write_conflicts(hb, w) => self.written(w),
            _ => Ok(None),
        }
    }
}

/// The values of the registers of all processes, then of observed variables at the end, with what is known of each such
/// output; less than there is if the search was stopped.
pub type Outputs<T> = Found<BTreeMap<Vec<Value>, T>>;

/// All outputs of a program, with the last values of these variables and the number of executions of each.
///
/// # Errors
/// If the program is too large.
pub fn outcomes(
    program: &Program,
    rules: &Rules,
    observed: &[usize],
    expired: &dyn Fn() -> bool,
) -> Result<Outputs<u64>, String> {
    let actions = program.actions()?;
    let search = Search::new(&actions, rules, expired);
    let mut found = BTreeMap::new();
    let ended = search.each(&mut |e| {
        search.values(e).try_for_each(|mut values| {
            if let Ok(Some(shown)) = values.shown(observed) {
                *found.entry(shown).or_insert(0) += 1;
            }
            if expired() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    });
    Ok(Found::new(found, ended.is_break().then_some(Stop::Time)))
}

/// One execution as it is shown.
#[derive(Clone, Debug)]
pub struct Witness {
    /// Its actions, first the initial writes.
    pub actions: Vec<Action>,
    /// What each action read; nothing if it does not read.
    pub read: Vec<Option<Value>>,
    /// What each action wrote; nothing if it does not write.
    pub wrote: Vec<Option<Value>>,
    /// Applications of rules between actions that are no initial writes.
    pub edges: Vec<Edge>,
    /// The write that each action reads, and the action.
    pub rf: Vec<(usize, usize)>,
    /// Accesses to one variable, one of them a write and one not atomic, that nothing orders: what is read is undefined.
    pub races: Vec<(usize, usize)>,
}

/// For each output of a program, with the last values of these variables, the first execution that has it.
///
/// # Errors
/// If the program is too large.
pub fn witnesses(
    program: &Program,
    rules: &Rules,
    observed: &[usize],
    expired: &dyn Fn() -> bool,
) -> Result<Outputs<Witness>, String> {
    let actions = program.actions()?;
    let search = Search::new(&actions, rules, expired);
    let mut found = BTreeMap::new();
    let ended = search.each(&mut |e| {
        search.values(e).try_for_each(|mut values| {
            if let Ok(Some(shown)) = values.shown(observed) {
                found.entry(shown).or_insert_with(|| values.witness());
            }
            if expired() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    });
    Ok(Found::new(found, ended.is_break().then_some(Stop::Time)))
}

/// All outputs of a program: the values of its registers.
///
/// # Errors
/// If the program is too large.
pub fn outputs(program: &Program, rules: &Rules) -> Result<BTreeSet<Vec<Value>>, String> {
    let all = outcomes(program, rules, &[], &|| false)?.all().map_err(|stop| stop.to_string())?;
    Ok(all.into_keys().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_rma::program::{Expr, Place, Variable};

    const X: Place = Place { variable: 0, atomic: true };
    const Y: Place = Place { variable: 1, atomic: true };

    fn plain(place: Place) -> Place {
        Place { atomic: false, ..place }
    }

    fn read(register: usize, from: Place) -> Statement {
        Statement::Read { register, from }
    }

    fn write(to: Place, value: i64) -> Statement {
        Statement::Write { to, value: Expr::Int(value) }
    }

    fn put(to: Place, from: Place) -> Statement {
        Statement::Put { to, from }
    }

    fn get(to: Place, from: Place) -> Statement {
        Statement::Get { to, from }
    }

    fn flush(process: usize) -> Statement {
        Statement::Flush { process }
    }

    /// X on the first process and Y on the second.
    fn two(x: i64, y: i64, first: &[Statement], second: &[Statement]) -> Program {
        let variables = vec![Variable { owner: 0, init: x }, Variable { owner: 1, init: y }];
        Program { variables, processes: vec![first.to_vec(), second.to_vec()] }
    }

    fn under(rules: &Rules, program: &Program) -> Vec<Vec<Value>> {
        outputs(program, rules).unwrap().into_iter().collect()
    }

    fn defined<const N: usize>(all: &[[i64; N]]) -> Vec<Vec<Value>> {
        let mut all: Vec<_> = all.iter().map(|o| o.iter().map(|&v| Some(v)).collect::<Vec<_>>()).collect();
        all.sort();
        all
    }

    #[test]
    fn crossed_gets_of_fig_1() {
        let fig1 = two(0, 1, &[get(X, Y), read(0, X)], &[get(Y, X), read(0, Y)]);
        assert_eq!(under(&Rules::core(), &fig1), defined(&[[0, 0], [0, 1], [1, 0], [1, 1]]));
    }

    #[test]
    fn the_whole_output_sets_of_figs_6_8_and_9() {
        // The text at hand has <1, 2> for <1, 0> in Fig. 6; the prose names <0, 1> and <1, 1> as the unexpected outputs.
        let fig6 = two(1, 0, &[read(0, X)], &[put(X, Y), get(Y, X), flush(0), read(0, Y)]);
        assert_eq!(under(&Rules::core(), &fig6), defined(&[[0, 0], [1, 0]]));
        let fig8 = two(1, 0, &[read(0, X), write(X, 2), read(1, X)], &[get(Y, X), put(X, Y), flush(0), read(0, Y)]);
        let expected = [[0, 2, 1], [1, 1, 1], [1, 0, 1], [1, 2, 2], [1, 2, 1], [1, 0, 2]];
        assert_eq!(under(&Rules::core(), &fig8), defined(&expected));
        let fig9 = two(1, 0, &[read(0, X)], &[put(X, Y), get(Y, X), write(Y, 2), flush(0), read(0, Y), read(1, Y)]);
        let expected = [[0, 2, 2], [1, 0, 0], [1, 2, 2], [0, 0, 0], [2, 2, 2]];
        assert_eq!(under(&Rules::core(), &fig9), defined(&expected));
        // What DMAPP never showed.
        assert!(!under(&Rules::dmapp(), &fig9).contains(&vec![Some(2); 3]));
    }

    #[test]
    fn infiniband_does_not_order_a_put_and_a_later_get() {
        let fig8 = two(1, 0, &[read(0, X), write(X, 2), read(1, X)], &[get(Y, X), put(X, Y), flush(0), read(0, Y)]);
        let more: Vec<_> = under(&Rules::infiniband(), &fig8)
            .into_iter()
            .filter(|o| !under(&Rules::core(), &fig8).contains(o))
            .collect();
        // The paper observed three more, those with c = 0. Where the get is late it can also see X = 2 after a = 0.
        assert_eq!(more, defined(&[[0, 2, 0], [0, 2, 2], [1, 0, 0], [1, 2, 0]]));
        let puts = two(1, 2, &[read(0, X), read(1, X)], &[put(X, Y), write(Y, 3), put(X, Y)]);
        assert_eq!(under(&Rules::infiniband(), &puts), under(&Rules::core(), &puts));
        assert_ne!(under(&Rules::infiniband().without(Rule::PutPut), &puts), under(&Rules::core(), &puts));
    }

    #[test]
    fn out_of_order_examples_of_fig_3() {
        let a = two(0, 0, &[get(X, Y), write(X, 1), read(0, X)], &[]);
        assert_eq!(under(&Rules::core(), &a), defined(&[[0], [1]]));
        let racing = two(0, 0, &[get(plain(X), Y), write(plain(X), 1), read(0, plain(X))], &[]);
        assert_eq!(under(&Rules::core(), &racing), [[None]]);
        let b = two(0, 0, &[put(Y, X), write(X, 1)], &[read(0, Y)]);
        assert_eq!(under(&Rules::core(), &b), defined(&[[0], [1]]));
        let c = |place: fn(Place) -> Place| {
            let (x, y) = (place(X), place(Y));
            two(1, 0, &[put(y, x), get(x, y), flush(1), read(0, x)], &[])
        };
        assert_eq!(under(&Rules::core(), &c(|p| p)), defined(&[[1]]));
        assert_eq!(under(&Rules::core().without(Rule::Ir), &c(|p| p)), defined(&[[0], [1]]));
        assert_eq!(under(&Rules::core(), &c(plain)), defined(&[[1]]));
        assert_eq!(under(&Rules::core().without(Rule::Ir), &c(plain)), [[None]]);
        let d = two(1, 0, &[get(X, Y), put(Y, X), flush(1), get(X, Y), flush(1), read(0, X)], &[]);
        assert_eq!(under(&Rules::core(), &d), defined(&[[0], [1]]));
    }

    #[test]
    fn portals_surprises_of_fig_7_are_not_expected() {
        let cas = Statement::Cas { to: Y, at: Y, old: X, new: Y };
        let alone = |x, y, statements: &[Statement]| Program {
            variables: vec![Variable { owner: 0, init: x }, Variable { owner: 0, init: y }],
            processes: vec![statements.to_vec()],
        };
        let left = alone(1, 0, &[cas, read(1, Y), read(0, Y)]);
        assert_eq!(under(&Rules::portals(), &left), defined(&[[0, 0]]));
        let rga = Statement::Rga { to: Y, at: Y, add: X };
        let right = alone(0, 1, &[get(Y, Y), read(1, Y), rga, read(2, Y), read(0, Y)]);
        assert_eq!(under(&Rules::portals(), &right), defined(&[[1, 1, 1]]));
    }

    #[test]
    fn an_undefined_value_may_equal_any_other() {
        let cas = Statement::Cas { to: Y, at: X, old: plain(Y), new: Y };
        let racing = Program {
            variables: vec![Variable { owner: 0, init: 1 }, Variable { owner: 0, init: 5 }],
            processes: vec![vec![cas, write(plain(Y), 1), flush(0), read(0, X)]],
        };
        let all = under(&Rules::core(), &racing);
        assert!(all.contains(&vec![Some(1)]) && all.len() > 1, "{all:?}");
    }

    #[test]
    fn rules_for_one_result_of_a_compare_and_swap() {
        let cas = Statement::Cas { to: Y, at: X, old: Y, new: Y };
        let program = |x| two(x, 0, &[], &[cas, flush(0), read(0, Y)]);
        let without = Rules::core().without(Rule::CasF);
        assert_eq!(under(&without, &program(0)), under(&Rules::core(), &program(0)));
        // The result of one that fails may now come before it is compared: y is read after it was written.
        assert!(outputs(&program(3), &without).unwrap().is_superset(&outputs(&program(3), &Rules::core()).unwrap()));
    }

    #[test]
    fn names_of_rules_and_presets_are_read() {
        assert!(Rule::ALL.iter().all(|r| r.to_string().parse() == Ok(*r)));
        assert!("R9".parse::<Rule>().unwrap_err().contains("CAS-F"));
        assert!(Rules::PRESETS.iter().all(|(name, rules)| Rules::preset(name) == Ok(rules())));
        assert!(Rules::preset("mpi").is_err());
    }
}
