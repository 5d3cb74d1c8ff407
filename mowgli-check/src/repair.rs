//! The `repair` command for litmus tests: what is the least to insert so that nothing forbidden happens?

use std::collections::{BTreeMap, BTreeSet};

use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::litmus::parse::columns;
use crate::litmus::print::{table, written};
use crate::litmus::run::{Answer, TestVerdict, solve_in};
use crate::litmus::test::{Assertion, Claim, Model, Quantifier, Statement, Test, TestThread};
use itertools::Itertools;
use mowgli_core::rewrite::repair::{Insertions, Limit, MoreRepairs, Remedies, Repairable as _, Repairs};
use mowgli_core::search::problem::Limits;
use mowgli_core::search::runs::Stop;
use mowgli_libraries::remedies::OfSv;
use mowgli_rdma::remedies::{OfTso, OfWait};
use mowgli_x86::remedies::OfX86;
use serde::Serialize;

pub mod bodies;
pub(crate) mod edits;
mod question;
#[cfg(test)]
mod tests;

use edits::SWAP;
pub use edits::{EditableTest, RepairedTest};
use edits::{MOVE, Prices};
use question::{RepairQuestion, says_ends};

/// Returns the remedies of a model.
fn remedies(model: Model) -> Vec<Box<dyn Remedies>> {
    match model {
        Model::RDMA_WAIT => vec![Box::<OfWait>::default(), Box::new(OfSv)],
        // Models with a switch have memory words only.
        Model::RdmaWait(switches) => vec![Box::new(OfWait { switches })],
        Model::RdmaTso(switches) => vec![Box::new(OfTso { sc: false, switches })],
        Model::RdmaSc => vec![Box::new(OfTso { sc: true, ..OfTso::default() })],
        Model::X86Tso => vec![Box::new(OfX86)],
        _ => Vec::new(),
    }
}

/// The costs of insertions, by kind.
#[derive(Clone, Debug, Default)]
pub struct Costs(BTreeMap<String, u64>);

impl Costs {
    /// Parses costs as the command takes them, for example `mfence=1`.
    ///
    /// # Errors
    /// If a text has another form, or a cost is not from 1 to 1000000.
    pub fn read(texts: &[String]) -> Result<Self, InputError> {
        let read = |text: &String| {
            let cost = text.split_once('=').and_then(|(kind, cost)| Some((kind.trim().to_owned(), cost.parse().ok()?)));
            cost.filter(|(_, cost)| (1..=1_000_000).contains(cost)).ok_or_else(|| {
                let error = InputError::new(Code::Argument, format!("--cost {text}: this is no cost"));
                error.help("a cost is written as mfence=1, from 1 to 1000000")
            })
        };
        let mut costs = Self::default();
        for text in texts {
            let (kind, cost) = read(text)?;
            if costs.0.insert(kind, cost).is_some() {
                let error =
                    InputError::new(Code::Argument, format!("--cost {text}: this kind has another cost already"));
                return Err(error.help("give one cost for each kind"));
            }
        }
        Ok(costs)
    }

    /// Returns the costs of remedies and of some other edits, with these in place of their own.
    fn of(&self, remedies: &[Box<dyn Remedies>], others: &[(&'static str, u64)]) -> Result<Prices, InputError> {
        let mut all: Prices = remedies.iter().flat_map(|r| r.costs()).chain(others.iter().copied()).collect();
        for (kind, cost) in &self.0 {
            let names = all.keys().join(", ");
            let Some(known) = all.iter_mut().find(|(name, _)| *name == kind) else {
                let error =
                    InputError::new(Code::Unknown, format!("--cost {kind}={cost}: {kind} cannot be inserted here"));
                return Err(error.help(format!("what can be inserted here is {names}")));
            };
            *known.1 = *cost;
        }
        Ok(all)
    }
}

/// A repair in words.
#[derive(Clone, Debug, Serialize)]
pub struct TestRepair {
    /// The cost.
    pub cost: u64,
    /// The edits: insertions, or one move, or one atomic. For a weakening, the cheaper calls in place of the test's
    /// own.
    pub insert: Vec<String>,
    /// The statements of the test that are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leave_out: Vec<String>,
    /// For each edit the edges that it adds to a cycle that forbids an outcome, or a note that no such cycle was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// The text of the repaired test.
    #[serde(skip)]
    pub fixed: String,
}

/// The result of a search for repairs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TestRepairs {
    /// The test.
    pub name: String,
    /// Its model.
    pub model: String,
    /// Whether nothing has to be inserted or, for a weakening, nothing can be left out. `None` if a limit left that
    /// open.
    pub is_done: Option<bool>,
    /// The repairs, cheapest first.
    pub repairs: Vec<TestRepair>,
    /// The minimal sets that forbid the wrong outcomes, but also an outcome that is to stay allowed.
    pub spoiling: Vec<Vec<String>>,
    /// The minimal sets with which no execution ends.
    pub endless: Vec<Vec<String>>,
    /// The minimal sets with which an execution is stuck that is not stuck without them.
    pub hanging: Vec<Vec<String>>,
    /// The number of sets with which a thread makes a call that no program may make. They are no repairs.
    #[serde(skip_serializing_if = "is_zero")]
    pub ill_defined: usize,
    /// Whether not even all insertions together suffice.
    pub hopeless: bool,
    /// The reason why there may be more, smaller or cheaper repairs, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// The edits that were searched, because a claim that no repair exists is about these edits only.
    pub searched: String,
    /// The number of sets that were checked.
    pub asked: usize,
    /// Whether this is a weakening.
    pub weaken: bool,
    /// Whether executions are stuck with everything inserted everywhere, so that the repairs are about outcomes alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stays_stuck: bool,
    /// The reason why no insertion helps, if that is known without a search: insertions only take executions away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<String>,
}

/// A request for repairs.
pub struct RepairRequest<'a> {
    /// The catalogue with the libraries of the test.
    pub catalogue: &'a Catalogue,
    /// The costs.
    pub costs: &'a Costs,
    /// Whether to search for statements that can be left out, in place of insertions.
    pub weaken: bool,
    /// The bounds on repairs.
    pub limit: Limit,
    /// The limits of each search.
    pub limits: Limits<'a>,
}

/// The most edits that are each tried alone.
const ALONE: usize = 100;

/// Finds the repairs of a test, or the statements that can be left out of it. `text` is the text of the test.
///
/// # Errors
/// If the test forbids nothing, its model has no insertions, or a cost has an unknown kind.
pub fn repair(test: &Test, text: &str, ask: &RepairRequest<'_>) -> Result<TestRepairs, InputError> {
    let remedies = remedies(test.model);
    if remedies.is_empty() {
        return Err(InputError::new(
            Code::Unsupported,
            format!("{}: nothing can be inserted into tests of {}", test.name, test.model),
        ));
    }
    let prices = ask.costs.of(&remedies, &[MOVE, SWAP])?;
    let solved = solve_in(ask.catalogue, test, &[], ask.limits);
    let error = solved.error(test);
    if ask.weaken {
        if let Some(error) = error {
            return Err(error);
        }
        let is_goal = |a: &Assertion| matches!(a.quantifier, Quantifier::Forbidden | Quantifier::Forall);
        if !test.assertions.iter().any(is_goal) && !says_ends(test) {
            let message = "there is nothing that is to hold without what is left out";
            let error = InputError::new(Code::Unsupported, format!("{}: {message}", test.name));
            return Err(error.help("say what must not happen, as `forbidden (a=1)` or `ends`"));
        }
        return answer(&EditableTest::weakenings(test, &remedies, &prices), text, ask);
    }
    if let Some(found) = TestRepairs::without_search(test, &solved) {
        return Ok(found);
    }
    let insertions = |is_everywhere| EditableTest::insertions(test, &remedies, &prices, is_everywhere);
    let mut found = answer(&insertions(false), text, ask)?;
    // An insertion that forbids too much in one place may do less harm in another place, where it orders less.
    if !found.spoiling.is_empty() {
        found = answer(&insertions(true), text, ask)?;
    }
    if found.is_done != Some(true) {
        found.add(&EditableTest::others(test, &remedies, &prices), text, ask)?;
    }
    match error {
        Some(error) if found.repairs.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// Finds the minimal sets of edits of a program.
fn answer(program: &EditableTest<'_>, text: &str, ask: &RepairRequest<'_>) -> Result<TestRepairs, InputError> {
    let test = program.test;
    let mut question = RepairQuestion::new(ask.catalogue, program, ask.limits);
    let (costs, whole) = (program.costs(), program.whole());
    let stop = question.is_meaningful(ask.weaken);
    let mut stop = stop.map_err(|why| InputError::new(Code::Unsupported, why).about(&test.name))?;
    // If executions stay stuck with all insertions that are harmless alone, only outcomes are repaired.
    let mut stays_stuck = false;
    if question.wants_end && stop.is_none() && !ask.weaken && !question.is_ill_defined() {
        let is_stuck = question.is_stuck(&whole).and_then(|is_stuck| match is_stuck {
            true => Ok((question.is_stuck(&question.harmless()?)?, true)),
            false => Ok((true, false)),
        });
        match is_stuck {
            Ok((is_stuck, counts)) => (question.wants_end, stays_stuck) = (!is_stuck, is_stuck && counts),
            Err(limit) => stop = Some(limit),
        }
    }
    let mut limit = ask.limit;
    if ask.weaken {
        limit.cost = limit.cost.min(Repairs::cost(&whole, &costs));
    }
    let mut found = match stop {
        None => Repairs::of(&mut question, &costs, limit),
        Some(stop) => Repairs { open: Some(MoreRepairs::Stopped(stop)), ..Repairs::default() },
    };
    if question.wants_end && !ask.weaken && found.minimal.is_empty() && found.open.is_none() {
        (question.wants_end, stays_stuck) = (false, true);
        found = Repairs::of(&mut question, &costs, limit);
    }
    let is_done = match &found.minimal[..] {
        [] => found.open.is_none().then_some(false),
        [first, ..] => Some(*first == whole && !stays_stuck),
    };
    let reported = |set: &Insertions| reported(&question, set, text);
    let texts = |is: &dyn Fn(&Insertions) -> bool| {
        let chosen = found.spoiling.iter().filter(|set| is(set));
        chosen.map(|set| set.iter().map(|&i| program.text(i)).collect()).collect()
    };
    Ok(TestRepairs {
        name: test.name.clone(),
        model: test.model.to_string(),
        is_done,
        repairs: found.minimal.iter().filter(|set| **set != whole).map(reported).collect::<Result<_, _>>()?,
        spoiling: texts(&|set| !question.endless.contains(set) && !question.hanging.contains(set)),
        hanging: texts(&|set| question.hanging.contains(set)),
        endless: texts(&|set| question.endless.contains(set)),
        ill_defined: question.ill_defined.iter().filter(|set| **set != whole).count(),
        hopeless: found.hopeless && found.minimal.is_empty(),
        undecided: found.open.as_ref().map(ToString::to_string),
        searched: format!("insertions: {}, up to {} at once", costs.len(), limit.insertions.min(costs.len())),
        asked: found.asked,
        weaken: ask.weaken,
        stays_stuck,
        beyond: None,
    })
}

fn reported(question: &RepairQuestion<'_>, set: &Insertions, text: &str) -> Result<TestRepair, InputError> {
    let (program, whole) = (question.program, question.program.whole());
    let repaired = program.with(set);
    let texts = |all: Vec<&usize>| all.into_iter().map(|&i| program.text(i)).collect_vec();
    Ok(TestRepair {
        cost: Repairs::cost(set, &program.costs()),
        insert: texts(set.difference(&whole).collect()),
        leave_out: texts(whole.difference(set).collect()),
        because: question.reasons(set, &repaired),
        fixed: fixed(program.test, &repaired, text)?,
    })
}

/// Writes the text of a test with edits: its columns anew, and declarations of the words that the edits need.
pub(crate) fn fixed(test: &Test, repaired: &RepairedTest, text: &str) -> Result<String, InputError> {
    let place = columns(text)?;
    let column = |(t, thread): (usize, &TestThread)| {
        let node = test.world.threads[t];
        let head =
            if test.model == Model::X86Tso { thread.name.to_string() } else { format!("{}@{node}", thread.name) };
        let row = |(at, (s, (_, source))): (usize, (&Statement, &(usize, String)))| {
            // A call that an edit gave an identifier differs from the source.
            let is_as_written = repaired.origins[t][at].own.is_none_or(|own| test.threads[t].statements[own] == *s);
            if is_as_written { source.clone() } else { written(&repaired.test, s) }
        };
        let rows = thread.statements.iter().zip(&thread.source).enumerate().map(row);
        [head].into_iter().chain(rows).collect()
    };
    let table = table(repaired.test.threads.iter().enumerate().map(column).collect());
    let added = repaired.test.world.objects.iter().filter(|(x, _)| !test.world.objects.contains_key(x));
    let words: String = added.map(|(x, o)| o.node.map_or_else(String::new, |n| format!("  {x}@{n} = 0;\n"))).collect();
    let brace = text[..place.start].rfind('}').unwrap_or(place.start);
    let head = [&text[..brace], &words, &text[brace..place.start]].concat();
    Ok(format!("{head}{}{}", table.trim(), &text[place.end..]))
}

/// Returns where the place of an edit begins in its text.
fn place(what: &str) -> usize {
    let begin = |words: &str| what.find(words).unwrap_or(what.len());
    begin(" before ").min(begin(" at the end of "))
}

impl TestRepair {
    /// Returns the cost and the edits without their places: see [`EditableTest::text`].
    fn without_places(&self) -> (u64, Vec<&str>) {
        let all = self.insert.iter().map(|what| &what[..place(what)]).chain(self.leave_out.iter().map(String::as_str));
        (self.cost, all.sorted().collect())
    }
}

impl TestRepairs {
    /// Returns the answer about a test that holds, or that no insertion can make hold.
    fn without_search(test: &Test, solved: &Answer) -> Option<Self> {
        let claims = test
            .liveness
            .iter()
            .zip(&solved.liveness)
            .map(|(l, holds)| (*holds, matches!(l.claim, Claim::Ends), &l.text));
        let needs = |a: &Assertion| matches!(a.quantifier, Quantifier::Allowed | Quantifier::Vacuous);
        let texts = test.assertions.iter().zip(&solved.holds).filter(|(a, _)| needs(a));
        let missing = texts.filter(|(_, holds)| **holds == Some(false)).map(|(a, _)| a.to_string());
        let missing = missing
            .chain(claims.filter(|(holds, ends, _)| *holds == Some(false) && !ends).map(|(.., text)| text.clone()));
        let (is_done, beyond) = match solved.verdict(test) {
            TestVerdict::Holds | TestVerdict::Unasserted => (Some(true), None),
            TestVerdict::Vacuous => (None, Some("vacuous: no execution ends".to_owned())),
            TestVerdict::Fails => (Some(false), Some(format!("no repair: {} is false", { missing }.next()?))),
            TestVerdict::Stuck | TestVerdict::Undecided | TestVerdict::IllDefined => return None,
        };
        let beyond = beyond.map(|why| why + ", and insertions only take executions away");
        let (name, model) = (test.name.clone(), test.model.to_string());
        Some(Self { name, model, is_done, beyond, asked: 1, ..Self::default() })
    }

    /// Adds the edits of a program that are repairs alone. Those with which no execution is stuck replace others.
    fn add(&mut self, program: &EditableTest<'_>, text: &str, ask: &RepairRequest<'_>) -> Result<(), InputError> {
        let mut question = RepairQuestion::new(ask.catalogue, program, ask.limits);
        let costs = program.costs();
        let alone =
            (0..costs.len()).sorted_by_key(|&i| costs[i]).take(ALONE).map(|i| Insertions::from([i])).collect_vec();
        let mut found = Vec::new();
        self.searched += &format!("; moves, swaps and atomics: {}, each alone", alone.len());
        for set in &alone {
            self.asked += 1;
            match question.is_wrong(set).and_then(|is_wrong| Ok(!is_wrong && question.keeps(set)?)) {
                Ok(true) => found.push(reported(&question, set, text)?),
                Ok(false) => {}
                Err(stop) => {
                    self.undecided.get_or_insert(MoreRepairs::Stopped(stop.clone()).to_string());
                    if matches!(stop, Stop::Time | Stop::Interrupted) {
                        break;
                    }
                }
            }
        }
        if self.stays_stuck && !found.is_empty() {
            (self.repairs, self.stays_stuck) = (Vec::new(), false);
        }
        self.repairs.append(&mut found);
        // A move, or an atomic in another place, may come to the same test as an insertion.
        let mut texts = BTreeSet::new();
        self.repairs.retain(|reported| texts.insert(reported.fixed.clone()));
        self.ill_defined += question.ill_defined.len();
        self.repairs.sort_by_key(|reported| reported.cost);
        self.is_done = self.is_done.or((!self.repairs.is_empty()).then_some(false));
        Ok(())
    }

    /// Returns the exit code: 0 if nothing is to be done, 1 if something is or no repair exists, 3 if a limit left that
    /// open.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self.is_done {
            Some(true) => 0,
            _ if self.undecided.is_some() => 3,
            // No execution ends.
            None if self.beyond.is_some() => 3,
            Some(false) | None => 1,
        }
    }

    /// Returns the sets that forbid the wrong outcomes but do harm, by the harm.
    fn harmful(&self) -> impl Iterator<Item = (&'static str, &Vec<Vec<String>>)> {
        let all = [
            ("forbid what is to be allowed", &self.spoiling),
            ("let no execution end", &self.endless),
            ("make some execution wait for ever", &self.hanging),
        ];
        all.into_iter().filter(|(_, sets)| !sets.is_empty())
    }

    fn head(&self) -> String {
        match (self.is_done, &self.repairs[..]) {
            _ if self.beyond.is_some() => self.beyond.clone().unwrap_or_default(),
            (Some(true), _) if self.weaken => "nothing can be left out or be weaker".to_owned(),
            (Some(true), _) => "nothing has to be inserted".to_owned(),
            (None, _) => "undecided".to_owned(),
            (_, []) if self.undecided.is_some() => "undecided".to_owned(),
            (_, []) if self.stays_stuck => {
                "no repair: executions are stuck with everything inserted everywhere".to_owned()
            }
            (_, []) if self.hopeless => {
                "no repair: what is forbidden is possible with everything inserted everywhere".to_owned()
            }
            (_, []) => {
                let harms = self.harmful().map(|(harm, _)| harm).join(", or ");
                format!("no repair: the insertions that forbid the one {harms}")
            }
            (_, all) if self.weaken => format!("more than needed; {} weaker", count(all.len())),
            (_, all) => count(all.len()),
        }
    }

    /// Returns the answer as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = vec![format!("{} ({}): {}", self.name, self.model, self.head())];
        // The same insertions in other places are one line.
        let alike = self.repairs.iter().into_group_map_by(|repair| repair.without_places());
        for repair in &self.repairs {
            let others = &alike[&repair.without_places()];
            if !std::ptr::eq(others[0], repair) {
                continue;
            }
            lines.push(format!("  cost {}", repair.cost));
            lines.extend(repair.leave_out.iter().map(|what| format!("    without {what}")));
            lines.extend(repair.insert.iter().map(|what| format!("    {what}")));
            lines.extend(repair.because.iter().map(|why| format!("      {why}")));
            match (others.len() - 1, &repair.insert[..]) {
                (0, _) => {}
                (_, [_]) => {
                    let places = others[1..].iter().map(|other| &other.insert[0][place(&other.insert[0])..]);
                    lines.extend(places.map(|place| format!("    or{place}")));
                }
                (1, _) => lines.push("    or the same in 1 other place".to_owned()),
                (n, _) => lines.push(format!("    or the same in {n} other places")),
            }
        }
        if self.stays_stuck && !self.repairs.is_empty() {
            lines.push("  executions stay stuck: no insertion changes that".to_owned());
        }
        lines.extend(self.harmful().map(|(harm, sets)| {
            let others = match sets.len() - 1 {
                0 => String::new(),
                1 => ", and 1 other set".to_owned(),
                n => format!(", and {n} other sets"),
            };
            format!("  these would {harm}: {}{others}", sets[0].join("; "))
        }));
        if self.ill_defined > 0 {
            let sets = if self.ill_defined == 1 {
                "1 other set".to_owned()
            } else {
                format!("{} other sets", self.ill_defined)
            };
            lines.push(format!("  left out: {sets}, with which a thread makes an access that no program may make"));
        }
        if self.repairs.is_empty() && self.is_done == Some(false) && self.beyond.is_none() {
            lines.push(format!("  searched: {}", self.searched));
        }
        lines.extend(self.undecided.as_ref().map(|why| format!("  {}", may_be_more(self.repairs.len(), why))));
        lines.join("\n") + "\n"
    }
}

/// Says that there may be more than so many repairs, with the limit that stopped the search.
#[must_use]
pub fn may_be_more(found: usize, why: &str) -> String {
    let more = if found == 0 { "one" } else { "others, or smaller ones" };
    format!("there may be {more}: {why}")
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Returns the number of minimal repairs in words.
#[must_use]
pub fn count(n: usize) -> String {
    format!("{n} minimal repair{}", if n == 1 { "" } else { "s" })
}
