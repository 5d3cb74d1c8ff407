//! From a library to a verdict: templates, g, obligations, answers, and whether what is given ever holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use itertools::Itertools;
use mowgli_core::denote::Unfolder;
use mowgli_core::event::Event;
use mowgli_core::execution::{Execution, Subevent};
use mowgli_core::flow::Runs;
use mowgli_core::ids::Name;
use mowgli_core::implementation::{Implementations, add_parts};
use mowgli_core::judge::Reading;
use mowgli_core::library::Libraries;
use mowgli_core::problem::{Limits, Problem};
use mowgli_core::program::Prog;
use mowgli_core::runs::{Skeleton, skeletons};
use mowgli_core::search::solver::{Cut, Flow};
use mowgli_core::soundness::client::{Bound, Client, clients};
use mowgli_core::world::World;
use mowgli_judge::algebra::{Demand, Spec};
use rayon::prelude::*;

use crate::cases::cases;
use crate::kind::{Kind, Read, Role, Untold};
use crate::model::{Concretisation, EARLIER_ROUND, IS_ROUND, Model, Obligation, Parts, ROUND};
use crate::solve::{Answer, Asked, Program, ask};
use crate::source::Source;
use crate::split::{Cases, Decided};
use crate::stated::Stated;
use crate::term::{Structure, Term, Theory, and, any, app, symbol};
use crate::untold::{Open, obligations};
use crate::witness::structure;

/// How to look for a proof.
#[derive(Clone, Debug)]
pub struct Options {
    /// The solvers; each must show each obligation.
    pub solvers: Vec<Program>,
    /// When a solver gives up a question.
    pub limit: Duration,
    /// When to stop looking for executions in which what is given holds.
    pub executions: Duration,
    /// True if the questions are to be kept: [`Row::file`] prints them.
    pub keep: bool,
}

/// The reason for which nothing more is to be shown of an obligation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closed {
    /// Every solver has answered `unsat` in each case that does not hold by definition.
    Solver,
    /// Every case holds by definition, after questions that a solver left open were split.
    Cases,
    /// It holds by definition, so no solver was asked.
    Definition,
    /// What it takes as given holds of nothing, by definition, so no solver was asked.
    Nothing,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Solver => "by a solver",
            Self::Cases => "by cases, each by definition",
            Self::Definition => "by definition",
            Self::Nothing => "by definition: it is about nothing",
        })
    }
}

/// An obligation and what became of it.
#[derive(Clone, Debug)]
pub struct Row {
    /// In the words of the paper.
    pub obligation: String,
    /// How many questions it was.
    pub cases: usize,
    /// How many of them closed a case: the solver answered `unsat`.
    pub closing: usize,
    /// What each solver that was asked says; that it follows only if it does in every case.
    pub answers: Vec<(Program, Answer)>,
    /// Why it needs no more, if it is shown.
    pub closed: Option<Closed>,
    /// The time of all questions together.
    pub time: Duration,
    /// Whether what is given holds in some execution that the judge accepts.
    pub witnessed: bool,
    /// Where what is given holds in no execution that was found: the part of it that never holds, or else all of it.
    pub empty: Option<String>,
    /// The questions, if they were to be kept.
    pub questions: Vec<Asked>,
    /// Why nothing could be asked.
    pub why: Option<String>,
}

impl Row {
    /// A row of which only the name of the obligation is known.
    pub(crate) fn named(obligation: String) -> Self {
        Self {
            obligation,
            cases: 0,
            closing: 0,
            answers: Vec::new(),
            closed: None,
            time: Duration::ZERO,
            witnessed: false,
            empty: None,
            questions: Vec::new(),
            why: None,
        }
    }

    /// Whether every solver shows it, or it holds by definition.
    fn follows(&self) -> bool {
        self.closed.is_some()
    }

    /// Whether it is shown from what can be given. What holds by definition needs no execution in which something is given.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        match self.closed {
            Some(Closed::Solver | Closed::Cases) => self.witnessed,
            Some(Closed::Definition | Closed::Nothing) => true,
            None => false,
        }
    }

    /// The questions as a file in SMT-LIB, one after the other, each with what was split for it; nothing if there is none.
    #[must_use]
    pub fn file(&self) -> Option<String> {
        let count = self.questions.len();
        let head = format!(
            "; Obligation: {}\n; Questions: {count}. It is shown if the answer to each is unsat.\n",
            self.obligation
        );
        let all = self.questions.iter().map(Asked::text).join("\n(reset)\n");
        (count > 0).then(|| head + &all)
    }

    /// The result in a word.
    #[must_use]
    pub fn result(&self) -> String {
        match self.answers.iter().find(|(_, answer)| *answer != Answer::Follows) {
            _ if self.why.is_some() => "open".to_owned(),
            Some((program, answer)) => format!("{answer} ({program})"),
            None if !self.follows() => "not asked".to_owned(),
            None if self.is_shown() => "proved".to_owned(),
            None => match &self.empty {
                Some(part) => format!("vacuous: {part}"),
                None => "vacuous".to_owned(),
            },
        }
    }
}

/// What was found out about an implementation.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// Why there is no proof, apart from obligations that are not shown.
    pub obstacles: Vec<String>,
    /// g in words: for each promise what stands for it.
    pub concretisation: Vec<String>,
    /// The obligations.
    pub rows: Vec<Row>,
    /// How many of condition 1 hold by definition, as the stamps are the same.
    pub plain: usize,
    /// In how many executions every axiom was found to hold.
    pub executions: usize,
}

impl Proof {
    /// Whether local soundness is proved, for every client.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.obstacles.is_empty() && self.executions > 0 && !self.rows.is_empty() && self.rows.iter().all(Row::is_shown)
    }

    fn stopped(obstacles: Vec<String>) -> Self {
        Self { obstacles, ..Self::default() }
    }
}

/// Looks for a proof that an implementation is locally sound, for every client.
#[must_use]
pub fn prove(source: &Source<'_>, options: &Options) -> Proof {
    if let Some((a, b)) = source.specification.differs_at(source.below) {
        return Proof::stopped(vec![format!("only one of the specifications has {a} before {b} in its stamp order")]);
    }
    let kinds = match source.kinds() {
        Ok(kinds) => kinds,
        Err(untold) => return without_templates(source, &untold),
    };
    let parts =
        Parts { kinds: &kinds, specification: source.specification, library: source.library, below: source.below };
    let mut model = match Model::new(parts) {
        Ok(model) => model,
        Err(why) => return Proof::stopped(vec![why]),
    };
    let goes_on = kinds.iter().any(Kind::has_unknowns);
    let limit = if goes_on { options.limit.min(BRIEF) } else { options.limit };
    let options = &Options { limit, ..options.clone() };
    let (lemmas, mut obstacles) = lemmas(&mut model, source, options);
    let attempt = Attempt { model: &model, kinds: &kinds, options, goes_on };
    let mut proof = attempt.made(source, lemmas).unwrap_or_else(|why| Proof::stopped(vec![why]));
    obstacles.extend(conditions(source, &kinds));
    proof.obstacles.extend(obstacles);
    proof
}

/// What there is to show where some kinds of calls have no template.
fn without_templates(source: &Source<'_>, untold: &[Untold]) -> Proof {
    let mut obstacles: Vec<String> = untold.iter().map(|u| format!("no template of {u}")).collect();
    let open = obligations(source, untold).unwrap_or_else(|why| {
        obstacles.push(why);
        Vec::new()
    });
    let row = |Open { obligation, why }| Row { why: Some(why), ..Row::named(obligation) };
    Proof { rows: open.into_iter().map(row).collect(), ..Proof::stopped(obstacles) }
}

/// Questions about a theory.
struct About<'q> {
    theory: &'q Theory,
    questions: &'q [Obligation],
    /// Whether its axioms are to hold in every execution.
    holds_always: bool,
}

struct Attempt<'a> {
    model: &'a Model<'a>,
    kinds: &'a [Kind],
    options: &'a Options,
    /// Whether all is asked about, as of some calls too little is known for a proof.
    goes_on: bool,
}

/// The lemmas that are shown, each of which is an axiom of the theory from then on; those that are not are dropped.
fn lemmas(model: &mut Model<'_>, source: &Source<'_>, options: &Options) -> (Vec<(Row, Obligation)>, Vec<String>) {
    let (mut shown, mut obstacles) = (Vec::new(), Vec::new());
    for together in model.lemmas() {
        let mut limit = options.limit.min(LEMMA);
        let mut rows = Vec::new();
        for lemma in together {
            let start = Instant::now();
            let row = by_cases(model, &Options { limit, ..options.clone() }, &model.below, &lemma);
            let row = row.map(|row| closed(model, &model.below, &lemma, (row, true)));
            // Where one takes too long others will.
            limit = if start.elapsed() >= limit { limit.min(LATE) } else { limit };
            rows.extend(row.map(|row| (lemma, row)));
        }
        for (lemma, row) in rows {
            model.below.axiom(&format!("shown before: {}", lemma.name), lemma.closed());
            // What a lemma is about need not be there: what it helps to show has its own witnesses.
            let row = Row { obligation: format!("lemma: {}", row.obligation), witnessed: true, ..row };
            shown.push((row, lemma));
        }
    }
    for lemma in source.implementation.lemmas() {
        let stated = model.stated(&lemma).unwrap_or_else(|why| {
            obstacles.push(why);
            Vec::new()
        });
        for Stated { statement, question } in stated {
            let row = answered(model, options, &model.below, &question, std::slice::from_ref(&question));
            let is_shown = row.follows();
            let row = Row { obligation: format!("lemma: {}", row.obligation), witnessed: true, ..row };
            if is_shown {
                model.below.axiom(&format!("shown before: {}", statement.name), statement.closed());
            }
            shown.push((row, question));
        }
    }
    (shown, obstacles)
}

/// When a solver gives up a lemma.
const LEMMA: Duration = Duration::from_secs(20);

/// When a question is given up where of some calls too little is known for a proof. Then all that there is to show is asked about.
const BRIEF: Duration = Duration::from_millis(500);

/// After so many obligations that are not shown the others are not asked about: there is no proof anyway.
const OPEN: usize = 2;

/// When a question, or the search for executions, is given up after one that is not shown.
const LATE: Duration = Duration::from_secs(5);

/// How many obligations are not shown.
fn open(rows: &[Row]) -> usize {
    rows.iter().filter(|row| row.cases > 0 && !row.follows()).count()
}

impl Attempt<'_> {
    fn made(&self, source: &Source<'_>, lemmas: Vec<(Row, Obligation)>) -> Result<Proof, String> {
        let mut proof = Proof::default();
        let mut g = Concretisation::new();
        let (rows, mut questions): (Vec<Row>, Vec<Obligation>) = lemmas.into_iter().unzip();
        let none: BTreeSet<usize> = questions.iter().filter_map(|q| self.model.none_of(q)).collect();
        proof.rows = rows;
        for (k, kind) in self.kinds.iter().enumerate().filter(|(k, _)| !none.contains(k)) {
            for (p, promise) in kind.abstract_.iter().enumerate() {
                let (role, rows, obligations, plain) = self.image(kind, promise)?;
                proof.plain += plain;
                match role {
                    Some(role) => {
                        g.insert((k, p), role);
                        let (promise, role) = (&promise.family, &kind.concrete[role]);
                        proof.concretisation.push(format!("{promise} of {}: {}", kind.name, role.words));
                    }
                    None => proof.obstacles.push(format!("nothing in {} stands for {}", kind.name, promise.words)),
                }
                proof.rows.extend(rows);
                questions.extend(obligations);
            }
        }
        let theory = self.model.promised(&g)?;
        if proof.obstacles.is_empty() {
            let stands: BTreeMap<String, String> = g
                .iter()
                .map(|(&(k, p), &r)| {
                    let kind = &self.kinds[k];
                    (kind.abstract_[p].name.clone(), kind.concrete[r].name.clone())
                })
                .collect();
            let (owing, obligations) = self.model.owing()?;
            let mut owed = Vec::new();
            let mut asked_of = Vec::new();
            for obligation in obligations {
                let row = row(self.options, &owing, &obligation, std::slice::from_ref(&obligation));
                asked_of.push(closed(self.model, &owing, &obligation, (row, true)));
                owed.push(obligation);
            }
            let specified = source.specification.get(source.library);
            let is_in_rounds = specified.is_some_and(|library| library.has_rounds());
            let rounds = if is_in_rounds { self.model.rounds()? } else { Vec::new() };
            let larger = self.model.mentions_hb().then(|| self.model.with_larger_hb(&theory));
            let consistency = self.model.consistency()?;
            let of_larger = questions.len()..questions.len() + larger.as_ref().map_or(0, |_| consistency.len());
            for obligation in consistency.into_iter().chain(self.model.carried()).chain(rounds) {
                let theory = larger.as_ref().filter(|_| of_larger.contains(&questions.len())).unwrap_or(&theory);
                let cases = cases(theory, &obligation, &stands);
                let open = open(&proof.rows);
                let solvers = if self.goes_on || open < OPEN { self.options.solvers.clone() } else { Vec::new() };
                let limit = if open == 0 { self.options.limit } else { self.options.limit.min(LATE) };
                let options = Options { solvers, limit, ..self.options.clone() };
                proof.rows.push(answered(self.model, &options, theory, &obligation, &cases));
                questions.push(obligation);
            }
            let (first, rest) = questions.split_at(of_larger.end);
            let (before, with_larger) = first.split_at(of_larger.start);
            let all = |theory, questions| About { theory, questions, holds_always: true };
            let mut asked = match &larger {
                None => vec![all(&theory, &questions[..])],
                // There is such an hb' only if so' is inside hb.
                Some(larger) => {
                    let holds_always = proof.rows[of_larger.end..].iter().all(Row::follows);
                    let larger = About { theory: larger, questions: with_larger, holds_always };
                    vec![all(&theory, before), larger, all(&theory, rest)]
                }
            };
            asked.push(all(&owing, &owed));
            proof.rows.extend(asked_of);
            let limit = self.options.executions;
            let limit = if open(&proof.rows) == 0 { limit } else { limit.min(LATE) };
            match self.witnessed(source, (&asked, &proof.rows), &g, limit) {
                Ok((executions, witnessed)) => {
                    proof.executions = executions;
                    for (row, witness) in proof.rows.iter_mut().zip(witnessed) {
                        row.witnessed |= witness.holds;
                        row.empty = (row.closed.is_some() && !row.is_shown()).then(|| witness.empty());
                    }
                    if executions == 0 {
                        proof.obstacles.push("no client has an execution within the time".to_owned());
                    }
                }
                Err(why) => proof.obstacles.push(why),
            }
        }
        Ok(proof)
    }

    /// The parts of an object of which some call writes or reads, under the promise's stamp, all that the promise says: as the
    /// hash of a tuple, and no word of it. That something is copied says nothing of what it is.
    fn parts_that_stand(&self) -> BTreeSet<&str> {
        let does_all = |promise: &Role, role: &Role| {
            let reads = promise.reads.as_ref().is_some_and(|read| *read != Read::Any);
            let writes = promise.writes.as_ref().is_some_and(|write| write.source().is_none());
            (reads || writes)
                && (&promise.family, &promise.reads, &promise.writes) == (&role.family, &role.reads, &role.writes)
        };
        let pairs = self.kinds.iter().flat_map(|k| k.abstract_.iter().cartesian_product(&k.concrete));
        let parts = pairs.filter(|(promise, role)| does_all(promise, role)).filter_map(|(_, role)| role.cell.as_ref());
        parts.map(|cell| &*cell.text).collect()
    }

    /// The role that stands for a promise: first those with the same stamp, of these those of such parts, of these the latest; with the answers for it, or where there is
    /// none, for the one that fails last.
    #[allow(clippy::type_complexity, reason = "four parts of one answer")]
    fn image(&self, kind: &Kind, promise: &Role) -> Result<(Option<usize>, Vec<Row>, Vec<Obligation>, usize), String> {
        let parts = self.parts_that_stand();
        let is_such_a_part = |role: &Role| role.cell.as_ref().is_some_and(|cell| parts.contains(&*cell.text));
        let mut candidates: Vec<usize> = (0..kind.concrete.len()).rev().collect();
        candidates.sort_by_key(|r| {
            let role = &kind.concrete[*r];
            (role.family != promise.family, !is_such_a_part(role))
        });
        let mut best: Option<Vec<Row>> = None;
        for role in candidates {
            let Some((obligations, plain)) = self.model.stands_for(kind, promise, &kind.concrete[role])? else {
                continue;
            };
            let mut rows = Vec::new();
            let mut holds = true;
            for obligation in &obligations {
                let alone = std::slice::from_ref(obligation);
                let mut row = answered(self.model, self.options, &self.model.below, obligation, alone);
                row.obligation = format!("{}: by {}", row.obligation, kind.concrete[role].words);
                holds = row.follows();
                rows.push(row);
                if !holds {
                    break;
                }
            }
            if holds {
                return Ok((Some(role), rows, obligations, plain));
            }
            if best.as_ref().is_none_or(|known| known.len() <= rows.len()) {
                best = Some(rows);
            }
        }
        Ok((None, best.unwrap_or_default(), Vec::new(), 0))
    }

    /// In how many executions every axiom of these theories holds, and for each question what holds in one of what is given.
    fn witnessed(
        &self,
        source: &Source<'_>,
        (asked, rows): (&[About<'_>], &[Row]),
        g: &Concretisation,
        limit: Duration,
    ) -> Result<(usize, Vec<Witness>), String> {
        let questions = || asked.iter().flat_map(|asked| asked.questions.iter());
        let mut witnessed: Vec<Witness> = questions().zip(rows).map(|(q, row)| Witness::new(q, row)).collect();
        let mut seen = 0;
        let mut wrong = None;
        let mut late = 0;
        // Where loops have rounds one must have been looked at in which one round comes after another.
        let mut turned = !self.model.has_rounds();
        executions(source, self.model.has_rounds(), limit, &mut |execution| {
            let mut start = 0;
            let found = asked.iter().try_for_each(|About { theory, questions, holds_always }| {
                let these = start..start + questions.len();
                start = these.end;
                let structure = structure(self.model, g, theory, execution)?;
                turned = turned || structure.holds(&turns_twice())?;
                for (words, axiom) in theory.axioms() {
                    if !structure.holds(axiom)? {
                        if !holds_always {
                            return Ok(());
                        }
                        return Err(format!("not every execution has this: {words}"));
                    }
                }
                witnessed[these].iter_mut().try_for_each(|witness| witness.look(&structure))
            });
            seen += 1;
            late += usize::from(turned && witnessed.iter().all(|w| w.holds || w.needs_none));
            match found {
                Err(why) => {
                    wrong = Some(why);
                    false
                }
                Ok(()) => late < ENOUGH,
            }
        });
        if wrong.is_none() && seen > 0 && !turned {
            wrong = Some("no execution was found in which a loop with effects turns twice before it ends".to_owned());
        }
        wrong.map_or(Ok((seen, witnessed)), Err)
    }
}

/// Asks about an obligation by cases, or else as it is.
fn answered(
    model: &Model<'_>,
    options: &Options,
    theory: &Theory,
    obligation: &Obligation,
    cases: &[Obligation],
) -> Row {
    let row = by_cases(model, options, theory, obligation).unwrap_or_else(|| {
        let limit = options.limit.min(LATE);
        row(&Options { limit, ..options.clone() }, theory, obligation, cases)
    });
    // Where no things have roles for which it is given, it is about nothing, whatever the solver was asked.
    closed(model, theory, obligation, (row, !cases.is_empty()))
}

/// The row with the reason for which it is shown, if it is. Where no answer of a solver closed a case none is kept.
fn closed(model: &Model<'_>, theory: &Theory, obligation: &Obligation, (mut row, has_cases): (Row, bool)) -> Row {
    let follows = !row.answers.is_empty() && row.answers.iter().all(|(_, answer)| *answer == Answer::Follows);
    let is_about_nothing = || Cases::new(model, theory, Program::Z3, Duration::ZERO).is_about_nothing(obligation);
    row.closed = match (follows, row.cases) {
        (false, _) => None,
        (true, _) if !has_cases => Some(Closed::Nothing),
        (true, 0) if is_about_nothing() => Some(Closed::Nothing),
        (true, 0) => Some(Closed::Definition),
        _ if row.closing == 0 => Some(Closed::Cases),
        _ => Some(Closed::Solver),
    };
    if follows && row.closed != Some(Closed::Solver) {
        row.answers.clear();
        row.questions.clear();
    }
    row
}

/// What instances of the axioms show by cases, if every solver agrees.
fn by_cases(model: &Model<'_>, options: &Options, theory: &Theory, obligation: &Obligation) -> Option<Row> {
    let start = Instant::now();
    let [mut asked, mut closing] = [0; 2];
    let mut questions = Vec::new();
    for solver in &options.solvers {
        let cases = Cases::new(model, theory, *solver, options.limit).keeping(options.keep);
        let Decided { answer, asked: count, closing: closed, kept } = cases.decide(obligation);
        if answer != Answer::Follows {
            return None;
        }
        asked = asked.max(count);
        closing = closing.max(closed);
        questions.extend(kept);
    }
    let answers: Vec<(Program, Answer)> = options.solvers.iter().map(|solver| (*solver, Answer::Follows)).collect();
    let obligation = obligation.name.clone();
    let row = Row { cases: asked, closing, answers, time: start.elapsed(), questions, ..Row::named(obligation) };
    (!options.solvers.is_empty()).then_some(row)
}

/// Asks the solvers about an obligation, case by case.
fn row(options: &Options, theory: &Theory, obligation: &Obligation, cases: &[Obligation]) -> Row {
    let mut answers = Vec::new();
    let mut questions = Vec::new();
    let mut time = Duration::ZERO;
    for &solver in &options.solvers {
        let failed = AtomicBool::new(false);
        let asked = |case| {
            if failed.load(Ordering::Relaxed) {
                return (Answer::Unknown("not asked".to_owned()), Duration::ZERO);
            }
            let (answer, time) = ask(solver, theory, case, options.limit);
            failed.fetch_or(answer != Answer::Follows, Ordering::Relaxed);
            (answer, time)
        };
        let all: Vec<(Answer, Duration)> = cases.par_iter().map(asked).collect();
        time += all.iter().map(|(_, time)| *time).sum();
        // Of those that failed one that was asked: one after it may not have been.
        let is_asked = |(answer, time): &&(Answer, Duration)| *answer != Answer::Follows && *time > Duration::ZERO;
        let failed = all.iter().position(|case| is_asked(&case));
        if options.keep {
            let asked = all.iter().zip(cases).filter(|((_, time), _)| *time > Duration::ZERO);
            questions.extend(asked.map(|((answer, _), case)| Asked::whole(solver, theory, case, answer.clone())));
        }
        answers.push((solver, failed.map_or(Answer::Follows, |i| all[i].0.clone())));
    }
    let obligation = obligation.name.clone();
    Row { cases: cases.len(), closing: cases.len(), answers, time, questions, ..Row::named(obligation) }
}

/// In how many executions more than necessary the axioms are looked at.
const ENOUGH: usize = 100;

/// What holds in some execution of what a question takes as given.
struct Witness {
    /// All of it, for some constants.
    given: Term,
    /// Whether it holds in one.
    holds: bool,
    /// True if it needs no execution: it was not asked of a solver, or another question brings its own.
    needs_none: bool,
    /// Each part by itself, and whether it holds in one.
    parts: Vec<(Term, bool)>,
}

impl Witness {
    fn new(question: &Obligation, row: &Row) -> Self {
        let of: Vec<(String, String)> =
            question.of.iter().map(|(name, sort)| (name.clone(), (*sort).to_owned())).collect();
        let some = |term: &Term| Term::Any(of.clone(), term.clone().into());
        let from = &question.from;
        let parts = match from {
            Term::App(name, parts) if &**name == "and" => parts.iter().map(|part| (part.clone(), false)).collect(),
            whole => vec![(whole.clone(), false)],
        };
        let parts = parts.into_iter().map(|(part, holds)| (some(&part), holds)).collect();
        let needs_none = row.witnessed || matches!(row.closed, Some(Closed::Definition | Closed::Nothing));
        Self { given: some(from), holds: false, needs_none, parts }
    }

    fn look(&mut self, structure: &Structure<'_>) -> Result<(), String> {
        if self.holds {
            return Ok(());
        }
        self.holds = structure.holds(&self.given)?;
        for (part, holds) in &mut self.parts {
            *holds = *holds || structure.holds(part)?;
        }
        Ok(())
    }

    /// The part that holds in no execution, in words.
    fn empty(&self) -> String {
        let never = self.parts.iter().find(|(_, holds)| !holds);
        match never.map(|(part, _)| part) {
            Some(Term::Any(_, part)) => format!("{} holds in no execution that was found", named(part)),
            _ => "what is given holds by parts, and never together, in the executions that were found".to_owned(),
        }
    }
}

/// The relation that a formula is about, or the formula.
fn named(term: &Term) -> String {
    match term {
        Term::App(name, _) if !["and", "or", "not", "=>", "="].contains(&&**name) => name.to_string(),
        other => other.to_string(),
    }
}

/// That some call has a round of a loop with effects, and a later one, before the last.
fn turns_twice() -> Term {
    let [c, r, s] = ["c", "r", "s"].map(symbol);
    let is_round = |round: &Term| app(IS_ROUND, &[c.clone(), round.clone()]);
    let both = and([is_round(&r), is_round(&s), app(EARLIER_ROUND, &[r.clone(), s.clone()])]);
    any(&[("c", "Call"), ("r", ROUND), ("s", ROUND)], both)
}

/// The bounds within which executions are looked for, small ones first. What is copied is copied to another object.
fn bounds() -> impl Iterator<Item = Bound> {
    let shapes = [
        (1, 1, 1, 1),
        (1, 2, 2, 1),
        (2, 1, 2, 1),
        (2, 2, 1, 1),
        (1, 2, 2, 2),
        (1, 2, 3, 1),
        (2, 2, 2, 1),
        (3, 1, 2, 1),
    ];
    shapes.into_iter().map(|(threads, nodes, calls, objects)| Bound {
        threads,
        nodes,
        calls,
        objects,
        values: vec![1, 2],
        ..Bound::default()
    })
}

/// How many clients are left out after each one that is looked at, so that large ones come too.
const STEP: usize = 7;

/// Visits executions of clients, until it is told to stop or the time is over; of those too whose loops with effects turn in
/// vain, if this is wanted.
pub fn executions(source: &Source<'_>, with_rounds: bool, limit: Duration, visit: &mut dyn FnMut(&Execution) -> bool) {
    let start = Instant::now();
    let expired = || start.elapsed() >= limit;
    let specified = source.specification.get(source.library);
    let mut turning = if with_rounds { TURNING } else { 0 };
    for bound in bounds() {
        let Ok(all) = clients(source.subject, &bound, &expired) else { return };
        let told =
            |(world, client): &&(World, Client)| specified.is_some_and(|library| client.is_well_formed(library, world));
        let all: Vec<&(World, Client)> = all.iter().filter(told).collect();
        let step = if all.len() > 50 { STEP } else { 1 };
        for (world, client) in all.into_iter().step_by(step) {
            if expired() || !executions_of(source, world, &client.programs(), (&mut turning, &expired), visit) {
                return;
            }
        }
    }
}

/// How many rounds of a loop with effects come before its last one in the executions that are looked at: so many as it takes for
/// one to come after another.
const ROUNDS: usize = 2;

/// In how many executions of one client, whose loops turn equally often, the axioms are looked at.
const OF_CLIENT: usize = 3;

/// Of how many clients executions are looked at in which loops with effects turn in vain: there are many of each.
const TURNING: usize = 6;

/// Visits executions of one client, those in which loops turn in vain too if `turning` is not 0, which is one less if there are
/// some; whether to go on.
fn executions_of(
    source: &Source<'_>,
    world: &World,
    programs: &[Prog],
    (turning, expired): (&mut usize, &dyn Fn() -> bool),
    visit: &mut dyn FnMut(&Execution) -> bool,
) -> bool {
    let mut world = world.clone();
    add_parts(&*source.implementation, &mut world);
    let implementations: Implementations = [(source.library, Arc::clone(&source.implementation))].into_iter().collect();
    let problem = Problem {
        libraries: source.below,
        implementations: &implementations,
        world: &world,
        programs,
        observed: &[],
        limits: Limits { expired, ..Limits::default() },
    };
    if !visit_some(&problem, &problem.runs(), visit) {
        return false;
    }
    let mut turns = false;
    let goes_on = *turning == 0
        || runs_that_turn(&problem).iter().all(|runs| {
            let mut noted = |execution: &Execution| {
                turns = true;
                visit(execution)
            };
            !expired() && visit_some(&problem, runs, &mut noted)
        });
    *turning -= usize::from(turns);
    goes_on
}

/// Visits some executions that have these runs; whether to go on.
fn visit_some(problem: &Problem<'_>, runs: &Runs, visit: &mut dyn FnMut(&Execution) -> bool) -> bool {
    let mut goes_on = true;
    let mut left = OF_CLIENT;
    let _ = problem.explore_runs(runs, &mut |_| Cut::Open, &mut |solver| {
        let before = solver.snapshot();
        let execution = solver.complete().then(|| solver.execution()).flatten();
        solver.restore(before);
        if let Some(execution) = execution {
            goes_on = visit(&execution);
        }
        left -= 1;
        if goes_on && left > 0 { Flow::Continue } else { Flow::Stop }
    });
    goes_on
}

/// The runs in which loops with effects turn before they end, those with most rounds first. They are guessed, and not told to
/// have rounds: both searches leave out rounds that nothing reads.
fn runs_that_turn(problem: &Problem<'_>) -> Vec<Runs> {
    let unfolder = Unfolder {
        libraries: problem.libraries,
        implementations: problem.implementations,
        world: problem.world,
        rounds: ROUNDS,
        limit: problem.limits.traces,
        expired: problem.limits.expired,
    };
    let mut threads = skeletons(&unfolder, problem.programs).threads;
    let of_thread = |runs: &Vec<Skeleton>| runs.iter().map(|s| s.runs[0].trace.rounds.len()).collect();
    let counts: Vec<Vec<usize>> = threads.iter().map(of_thread).collect();
    let rounds = |t: usize, run: usize| counts[t][run];
    threads.iter_mut().flatten().flat_map(|s| &mut s.runs).for_each(|run| run.trace.rounds.clear());
    let choices = threads.iter().map(|runs| 0..runs.len()).multi_cartesian_product();
    let all = choices.map(|choice| (choice.iter().enumerate().map(|(t, run)| rounds(t, *run)).sum::<usize>(), choice));
    let turning = all.filter(|(rounds, _)| *rounds > 0).sorted().rev();
    let of = |(_, choice): (usize, Vec<usize>)| {
        let together = vec![choice];
        Runs { threads: threads.clone(), together, stop: None, bound: None, states: 0, idle: None }
    };
    turning.map(of).collect()
}

/// What the libraries ask of whole programs, beside their consistency predicates, and what is not proved of it.
fn conditions(source: &Source<'_>, kinds: &[Kind]) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut rng = Draw(0x2545_f491_4f6c_dd1d);
    for (library, libraries, concrete) in source.below.names().map(|name| (name, source.below, true)).chain([(
        source.library,
        source.specification,
        false,
    )]) {
        let Some(of) = libraries.get(library) else { continue };
        let owed = of.owed();
        let roles = kinds.iter().flat_map(|k| if concrete { &k.concrete } else { &k.abstract_ });
        let mut events: Vec<(&World, &Event)> = roles
            .filter(|r| r.library == library)
            .flat_map(|r| r.events().map(|(world, event)| (&**world, event)).step_by(STEP))
            .collect();
        events.sort_by_key(|(world, event)| (world.threads.len(), event.thread, (*event).clone()));
        events.dedup();
        for _ in 0..DRAWS.min(events.len() * DRAWS) {
            let (world, first) = events[rng.below(events.len())];
            let alike: Vec<&Event> = events.iter().filter(|(w, _)| *w == world).map(|(_, e)| *e).collect();
            let mut chosen: Vec<&Event> = (0..rng.below(3)).map(|_| alike[rng.below(alike.len())]).collect();
            chosen.push(first);
            chosen.sort_by_key(|e| e.thread);
            let told = of.is_well_formed(world, &chosen);
            match &owed {
                Some(owed) if is_given(libraries, library, owed, world, &chosen) != told => {
                    found.insert(format!("what {library} says that it is owed is not what it looks at"));
                }
                None if concrete && !told => {
                    found.insert(format!(
                        "{library} says nothing of some programs; that it does of these implementations is not proved"
                    ));
                }
                _ => {}
            }
            if !concrete && !of.has_rounds() && !of.admits(world, &chosen) {
                found.insert(format!("{library} does not admit some calls; that there are none is not proved"));
            }
        }
    }
    found.into_iter().collect()
}

/// Whether these calls of a library, thread by thread, keep what it is owed, as the judge reads that.
#[must_use]
pub fn is_given(libraries: &Libraries, library: Name, owed: &Spec, world: &World, events: &[&Event]) -> bool {
    let shapes = events.iter().map(|e| libraries.of(&e.call).shapes(world, e).into_iter().next());
    let subs = shapes.enumerate().flat_map(|(event, shape)| shape.into_iter().flatten().map(move |sub| (event, sub)));
    let execution = Execution {
        world: world.clone(),
        events: events.iter().map(|e| (*e).clone()).collect(),
        subs: subs.map(|(event, sub)| Subevent { event, sub, read: None, wrote: None }).collect(),
        chosen: Vec::new(),
        outputs: Vec::new(),
        calls: Vec::new(),
        groups: vec![None; events.len()],
    };
    let reading = Reading { spec: owed, ..Reading::new(libraries, &execution, library) };
    owed.demands.iter().all(|(_, demand, rel)| match demand {
        Demand::Empty => reading.pairs(rel).is_empty(),
        Demand::Irreflexive => reading.pairs(rel).iter().all(|(a, b)| a != b),
    })
}

/// How many sequences of calls are looked at.
const DRAWS: usize = 400;

/// Numbers that are the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}
