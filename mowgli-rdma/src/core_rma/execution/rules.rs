//! The rules, and the edges that they give without a choice.

use std::collections::BTreeSet;
use std::fmt;

use itertools::Itertools;
use mowgli_core::unknown::Unknown;

use crate::core_rma::program::{Action, ActionType, Actions, CoreRmaStatement};

/// A rule that orders actions (CORERMA Fig. 4), or a promise of one network beyond those (CORERMA §7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// An atomic read is before what overwrites the write that it reads.
    R1,
    /// An atomic read is after the atomic write that it reads.
    R2,
    /// A flush is before later local actions.
    F1,
    /// Each action of an operation towards a process is before a later flush of that process.
    F2,
    /// A flush of a process is before each action of a later operation towards it.
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
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Unknown> {
        let more = [Self::PutPut, Self::GetGet, Self::Inline];
        let all: Vec<Self> = Self::ALL.into_iter().chain(more).collect();
        let known = all.iter().find(|r| r.to_string().eq_ignore_ascii_case(text));
        known.copied().ok_or_else(|| Unknown::new("rule", text, &all))
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

    /// Returns the rules of CORERMA Fig. 4.
    #[must_use]
    pub fn core() -> Self {
        Self(Rule::ALL.into())
    }

    /// Returns the rules of VPI Verbs on InfiniBand, which routes puts in order among themselves and gets among
    /// themselves, and no other pairs (CORERMA §7).
    #[must_use]
    pub fn infiniband() -> Self {
        Self::core().without(Rule::Ir).with(Rule::PutPut).with(Rule::GetGet)
    }

    /// Returns the rules of DMAPP on Cray Aries, for small data: a put reads its data when it is issued (CORERMA §7).
    #[must_use]
    pub fn dmapp() -> Self {
        Self::core().with(Rule::Inline)
    }

    /// Returns the rules of Portals 4: those of [`Rules::core`], since the paper found no difference.
    #[must_use]
    pub fn portals() -> Self {
        Self::core()
    }

    /// Returns the preset of this name.
    ///
    /// # Errors
    /// If no preset has this name; the message lists the presets.
    pub fn preset(name: &str) -> Result<Self, Unknown> {
        let known = Self::PRESETS.iter().find(|(preset, _)| *preset == name);
        let names = Self::PRESETS.iter().map(|(preset, _)| preset);
        known.map(|(_, rules)| rules()).ok_or_else(|| Unknown::new("preset", name, names))
    }

    /// Removes a rule.
    #[must_use]
    pub fn without(mut self, rule: Rule) -> Self {
        self.0.remove(&rule);
        self
    }

    /// Adds a rule.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.0.insert(rule);
        self
    }

    /// True if a rule is in force.
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

/// One application of a rule: an edge of happens-before. An application of WS stands for the pair in either order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RuleEdge {
    /// The rule.
    pub rule: Rule,
    /// The action that is before.
    pub from: usize,
    /// The action that is after.
    pub to: usize,
}

/// Returns the edges that need no choice: those of all rules except R1, R2 and WS. The edges of a compare-and-swap
/// appear twice, for CAS-F and for CAS-T.
pub(crate) fn fixed_edges(actions: &Actions, rules: &Rules) -> Vec<RuleEdge> {
    let all = &actions.all;
    let mut edges = Vec::new();
    let mut add = |rule: Rule, from: usize, to: usize| {
        if rules.has(rule) {
            edges.push(RuleEdge { rule, from, to });
        }
    };
    let remote_of = |a: usize| actions.remote.iter().find(|r| r.all.contains(&a));
    for (a, one) in all.iter().enumerate() {
        let later = (a + 1..all.len()).filter(|&b| all[b].kind != ActionType::Init && all[b].src == one.src);
        for b in later.filter(|_| one.kind != ActionType::Init) {
            let other = &all[b];
            let towards = |flush: &Action, r: usize| remote_of(r).is_some_and(|r| all[r.at].dst == flush.dst);
            if one.is_local() {
                add(Rule::Lo, a, b);
            }
            if one.kind == ActionType::Flush && other.is_local() {
                add(Rule::F1, a, b);
            }
            if other.kind == ActionType::Flush && towards(other, a) {
                add(Rule::F2, a, b);
            }
            if one.kind == ActionType::Flush && towards(one, b) {
                add(Rule::F3, a, b);
            }
            let source_of_put =
                remote_of(a).is_some_and(|r| matches!(r.statement, CoreRmaStatement::Put { .. }) && r.at != a);
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
            CoreRmaStatement::Rga { .. } => inside(Rule::Ga, &[(0, 1), (1, 2)]),
            CoreRmaStatement::Cas { .. } => {
                [Rule::CasF, Rule::CasT].into_iter().for_each(|rule| inside(rule, &[(0, 2), (1, 2), (2, 3)]));
            }
            _ => inside(Rule::Pg, &[(0, 1)]),
        }
        for other in &actions.remote[i + 1..] {
            let (a, b) = (&all[one.at], &all[other.at]);
            if a.src == b.src && a.dst == b.dst && a.dst != a.src {
                add(Rule::Ir, one.at, other.at);
                match (one.statement, other.statement) {
                    (CoreRmaStatement::Put { .. }, CoreRmaStatement::Put { .. }) => add(Rule::PutPut, one.at, other.at),
                    (CoreRmaStatement::Get { .. }, CoreRmaStatement::Get { .. }) => add(Rule::GetGet, one.at, other.at),
                    _ => {}
                }
            }
        }
    }
    edges
}
