//! From a library to a verdict: templates, g, obligations, answers, and the check that some execution meets the
//! hypotheses.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use itertools::Itertools;
use mowgli_core::execution::Execution;
use mowgli_core::library::PlainSet;
use mowgli_core::search::denote::Unfolder;
use mowgli_core::search::flow::Runs;
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::search::runs::{Skeleton, Stop, skeletons};
use mowgli_core::search::solver::{Decision, Flow};
use mowgli_core::soundness::client::{Client, clients};
use mowgli_core::soundness::form::wrong_form;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::{Implementations, add_parts, misdeclared};
use mowgli_core::term::script::Script;
use mowgli_core::world::World;

use crate::cases::{CaseResult, Cases};
use crate::error::{Contradiction, Error, Refusal, contradiction, refusal};
use crate::model::lemmas::Stated;
use crate::model::no_template::{OpenObligation, obligations};
use crate::model::witness::structure;
use crate::model::{Concretisation, EARLIER_ROUND, IS_ROUND, LibraryTheory, ROUND};
use crate::smt::solve::{Query, SolverAnswer, SolverLimit, SolverProgram, ask};
use crate::smt::term::{Obligation, Structure, Term, Theory, and, any, app, symbol};
use crate::template::kind::{Kind, Read, Role};
use crate::template::source::ProofSource;

/// The usual limit of the search for executions. A search that finds what it looks for ends long before.
pub const EXECUTIONS: u64 = 3_000_000;

/// The options of a proof search.
#[derive(Clone, Debug)]
pub struct ProofOptions {
    /// The solvers; each must show each obligation.
    pub solvers: Vec<SolverProgram>,
    /// The limits of a question as a whole, and of each part of an obligation.
    pub limit: SolverLimit,
    /// The limit of the search for executions in which the hypotheses hold, in its own steps: see [`SearchSteps`].
    pub executions: u64,
    /// True to ask a solver about each obligation as a whole that no answer has closed.
    pub confirms: bool,
    /// True to keep the questions: [`ObligationResult::file`] prints them.
    pub keep: bool,
    /// True to go on where something is open, so that the result names more of it. There is no proof either way.
    pub diagnoses: bool,
}

/// The way in which an obligation was closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closed {
    /// Every solver has answered `unsat` in each case that does not hold by definition.
    Solver,
    /// Every case holds by definition, after questions that a solver left open were split.
    Cases,
    /// It holds by definition, so no solver was asked.
    Definition,
    /// The hypothesis is false of everything by definition, so no solver was asked.
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

/// An obligation and its result.
#[derive(Clone, Debug)]
pub struct ObligationResult {
    /// A description in the words of the paper.
    pub obligation: String,
    /// The number of questions.
    pub cases: usize,
    /// The number of questions that closed a case: the solver answered `unsat`.
    pub closing: usize,
    /// The answers of the solvers. `Follows` means that every case follows.
    pub answers: Vec<(SolverProgram, SolverAnswer)>,
    /// The way in which it was closed, if it is shown.
    pub closed: Option<Closed>,
    /// The answer of a solver to the obligation as a whole, with the question if it is kept. It exists if no answer has closed a
    /// case.
    pub whole: Option<(SolverAnswer, Option<Query>)>,
    /// The time of all questions together.
    pub time: Duration,
    /// True if the hypothesis holds in some execution that the judge accepts.
    pub witnessed: bool,
    /// If no execution that was found has the hypothesis: the part of it that never holds, or else all of it.
    pub empty: Option<String>,
    /// The questions, if they are kept.
    pub questions: Vec<Query>,
    /// The reason for which no question could be asked.
    pub why: Option<String>,
}

impl ObligationResult {
    /// Returns a row with nothing but the name of the obligation.
    pub(crate) fn named(obligation: String) -> Self {
        Self {
            obligation,
            cases: 0,
            closing: 0,
            answers: Vec::new(),
            closed: None,
            whole: None,
            time: Duration::ZERO,
            witnessed: false,
            empty: None,
            questions: Vec::new(),
            why: None,
        }
    }

    /// True if every solver shows it, or it holds by definition.
    pub(crate) fn follows(&self) -> bool {
        self.closed.is_some()
    }

    /// True if it is shown and its hypothesis is witnessed. An obligation that holds by definition needs no witness.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        match self.closed {
            Some(Closed::Solver | Closed::Cases) => self.witnessed,
            Some(Closed::Definition | Closed::Nothing) => true,
            None => false,
        }
    }

    /// True if no solver has confirmed it, so that it rests on this crate alone.
    #[must_use]
    pub fn is_by_simplifier_alone(&self) -> bool {
        let is_confirmed = matches!(self.whole, Some((SolverAnswer::Follows, _)));
        self.closed.is_some_and(|closed| closed != Closed::Solver) && !is_confirmed
    }

    /// Takes the answer to the obligation as a whole. The answer `sat` is an error of this crate, and the row is open.
    fn answer_as_a_whole(&mut self, solver: SolverProgram, answer: SolverAnswer, kept: Option<Query>) {
        if answer == SolverAnswer::Fails {
            let why =
                format!("it holds by definition, and {solver} has a structure in which it fails: an error of Mowgli");
            (self.closed, self.why) = (None, Some(why));
        }
        self.whole = Some((answer, kept));
    }

    /// Returns the questions as one SMT-LIB file, each with its case splits as comments, or `None` if there are no
    /// questions.
    #[must_use]
    pub fn file(&self) -> Option<String> {
        let count = self.questions.len();
        let head = format!(
            "; Obligation: {}\n; Questions: {count}. It is shown if the answer to each is unsat.\n",
            self.obligation
        );
        let all = self.questions.iter().map(Query::text).join("\n(reset)\n");
        (count > 0).then(|| head + &all)
    }

    /// Returns the result in a word.
    #[must_use]
    pub fn result(&self) -> String {
        match self.answers.iter().find(|(_, answer)| *answer != SolverAnswer::Follows) {
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

/// The result for an implementation.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// The reasons for which there is no proof, apart from open obligations.
    pub errors: Vec<Error>,
    /// The map g in words: for each promise the subevent that stands for it.
    pub concretisation: Vec<String>,
    /// The obligations.
    pub rows: Vec<ObligationResult>,
    /// The number of obligations of condition 1 that hold by definition, because the stamps are the same.
    pub plain: usize,
    /// The number of executions in which every axiom was found to hold.
    pub executions: usize,
    /// The calls that it is about: each method with the forms of its arguments, and the size of the objects.
    pub covers: Vec<String>,
}

impl Proof {
    /// True if local soundness is proved, for every client.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.errors.is_empty() && self.executions > 0 && self.rows.iter().all(ObligationResult::is_shown)
    }

    fn stopped(errors: Vec<Error>) -> Self {
        Self { errors, ..Self::default() }
    }
}

/// Looks for a proof that an implementation is locally sound, for every client.
#[must_use]
pub fn prove(source: &ProofSource<'_>, options: &ProofOptions) -> Proof {
    if let Some((a, b)) = source.specification.differs_at(source.below) {
        return Proof::stopped(vec![
            refusal!("only one of the specifications has {a} before {b} in its stamp order").into(),
        ]);
    }
    if let Some(wrong) = wrong_form([source.specification, source.below]) {
        return Proof::stopped(vec![refusal!("{wrong}: {}", wrong.help).into()]);
    }
    if let Some(mistake) = source.worlds().iter().find_map(|world| misdeclared(&*source.implementation, world)) {
        return Proof::stopped(vec![Refusal::new(mistake).into()]);
    }
    let mut kinds = match source.kinds() {
        Ok(kinds) => kinds,
        Err(refusals) => return without_templates(source, &refusals),
    };
    let goes_on = kinds.iter().any(Kind::has_unknowns);
    let limit = if goes_on { options.limit.at_most(BRIEF) } else { options.limit };
    let options = &ProofOptions { limit, ..options.clone() };
    let mut without_calls = Vec::new();
    loop {
        let mut model = match LibraryTheory::new(source, &kinds) {
            Ok(model) => model,
            Err(refusal) => return Proof::stopped(vec![refusal.into()]),
        };
        let mut shown = lemmas(&mut model, options);
        let is_empty = |k: &usize| shown.iter().any(|(_, lemma)| model.none_of(lemma) == Some(*k));
        let empty: BTreeSet<usize> = (0..kinds.len()).filter(is_empty).collect();
        // Lemmas are easier to show and to use without the kinds that have no calls.
        if !empty.is_empty() && empty.len() < kinds.len() {
            without_calls.extend(shown.into_iter().filter(|(_, lemma)| model.none_of(lemma).is_some()));
            let rest = kinds.iter().enumerate().filter(|(k, _)| !empty.contains(k));
            kinds = rest.map(|(_, kind)| kind.clone()).collect();
            continue;
        }
        let (stated, mut errors) = stated_lemmas(&mut model, options);
        shown.extend(stated);
        let attempt = Attempt { model: &model, options, goes_on };
        let mut proof = attempt.made(shown).unwrap_or_else(|error| Proof::stopped(vec![error]));
        proof.rows.splice(0..0, without_calls.into_iter().map(|(row, _)| row));
        errors.extend(conditions(source).into_iter().map(Error::from));
        errors.extend(refuted_by_solver(&proof.rows));
        proof.errors.extend(errors);
        proof.covers = source.covers(&kinds);
        return proof;
    }
}

/// Returns an error for each row that a solver refutes although it holds by definition.
fn refuted_by_solver(rows: &[ObligationResult]) -> impl Iterator<Item = Error> {
    let is_refuted = |row: &&ObligationResult| matches!(row.whole, Some((SolverAnswer::Fails, _)));
    rows.iter().filter(is_refuted).map(|row| contradiction!("{} is refuted by a solver", row.obligation).into())
}

/// Lists every obligation as open when some kind of calls has no template.
fn without_templates(source: &ProofSource<'_>, refusals: &[Refusal]) -> Proof {
    let mut errors: Vec<Error> = refusals.iter().map(|u| refusal!("no template of {u}").into()).collect();
    let open = obligations(source, refusals).unwrap_or_else(|refusal| {
        errors.push(refusal.into());
        Vec::new()
    });
    let row =
        |OpenObligation { obligation, why }| ObligationResult { why: Some(why), ..ObligationResult::named(obligation) };
    Proof { rows: open.into_iter().map(row).collect(), ..Proof::stopped(errors) }
}

/// Questions about a theory.
struct About<'q> {
    theory: &'q Theory,
    questions: &'q [Obligation],
    /// True if its axioms must hold in every execution.
    holds_always: bool,
}

struct Attempt<'a> {
    model: &'a LibraryTheory<'a>,
    options: &'a ProofOptions,
    /// True if open obligations do not stop the proof, because too little is known of some calls for a proof anyway.
    goes_on: bool,
}

/// Shows the lemmas that every library has. Each lemma that is shown becomes an axiom of the theory; the others are
/// dropped.
fn lemmas(model: &mut LibraryTheory<'_>, options: &ProofOptions) -> Vec<(ObligationResult, Obligation)> {
    let mut shown = Vec::new();
    for together in model.lemmas() {
        let mut limit = options.limit.at_most(LEMMA);
        let mut rows = Vec::new();
        for lemma in together {
            let row = answered(model, &ProofOptions { limit, ..options.clone() }, &model.below, &lemma);
            // If one lemma takes too many steps, others will, so the limit shrinks.
            let is_spent = row.answers.iter().any(|(_, answer)| *answer == SolverAnswer::out_of_steps());
            limit = if is_spent { limit.at_most(LATE) } else { limit };
            rows.extend(row.follows().then_some((lemma, row)));
        }
        for (lemma, row) in rows {
            model.below.axiom(&format!("shown before: {}", lemma.name), lemma.closed());
            // A lemma needs no witness, because the obligations that it helps to show have their own.
            let row = ObligationResult { obligation: format!("lemma: {}", row.obligation), witnessed: true, ..row };
            shown.push((row, lemma));
        }
    }
    shown
}

/// Shows the lemmas that the author states. Each one that is shown becomes an axiom of the theory; the others stay open.
fn stated_lemmas(
    model: &mut LibraryTheory<'_>,
    options: &ProofOptions,
) -> (Vec<(ObligationResult, Obligation)>, Vec<Error>) {
    let (mut shown, mut errors) = (Vec::new(), Vec::new());
    for lemma in model.source.implementation.lemmas() {
        let stated = model.stated(&lemma).unwrap_or_else(|refusal| {
            errors.push(refusal.into());
            Vec::new()
        });
        for Stated { statement, question } in stated {
            let row = answered(model, options, &model.below, &question);
            let is_shown = row.follows();
            let row = ObligationResult { obligation: format!("lemma: {}", row.obligation), witnessed: true, ..row };
            if is_shown {
                model.below.axiom(&format!("shown before: {}", statement.name), statement.closed());
            }
            shown.push((row, question));
        }
    }
    (shown, errors)
}

/// The steps for a lemma, which are few because obligations may be shown without the lemma.
const LEMMA: u64 = 20 * SolverLimit::SECOND;

/// The steps for a question if too little is known of some calls for a proof. The solver gets all obligations then.
const BRIEF: u64 = SolverLimit::SECOND / 2;

/// The number of open obligations after which the others are not asked, because there is no proof anyway.
const OPEN: usize = 2;

/// The steps for a question after one obligation is open, because the result is then only a diagnosis.
const LATE: u64 = 5 * SolverLimit::SECOND;

/// The same for the search for executions.
const LATE_SEARCH: u64 = 100_000;

/// Returns the number of open obligations.
fn open(rows: &[ObligationResult]) -> usize {
    rows.iter().filter(|row| !row.follows()).count()
}

impl Attempt<'_> {
    fn made(&self, lemmas: Vec<(ObligationResult, Obligation)>) -> Result<Proof, Error> {
        let mut proof = Proof::default();
        let mut g = Concretisation::new();
        let (rows, mut questions): (Vec<ObligationResult>, Vec<Obligation>) = lemmas.into_iter().unzip();
        proof.rows = rows;
        for (k, kind) in self.model.kinds.iter().enumerate() {
            for (p, promise) in kind.abstract_.iter().enumerate() {
                if !self.options.diagnoses && !proof.errors.is_empty() {
                    return Ok(proof);
                }
                let (role, rows, obligations, plain) = self.image(kind, promise)?;
                proof.plain += plain;
                match role {
                    Some(role) => {
                        g.insert((k, p), role);
                        let (promise, role) = (&promise.family, &kind.concrete[role]);
                        proof.concretisation.push(format!("{promise} of {}: {}", kind.name, role.words));
                    }
                    None => proof.errors.push(refusal!("nothing in {} stands for {}", kind.name, promise.words).into()),
                }
                proof.rows.extend(rows);
                questions.extend(obligations);
            }
        }
        let theory = self.model.promised(&g)?;
        if proof.errors.is_empty() {
            let (assumed, obligations) = self.model.assumed()?;
            let mut assumption = Vec::new();
            let mut asked_of = Vec::new();
            for obligation in obligations {
                asked_of.push(answered_as_a_whole(self.model, self.options, &assumed, &obligation));
                assumption.push(obligation);
            }
            let rounds = self.model.rounds()?;
            let larger = self.model.mentions_hb().then(|| self.model.with_larger_hb(&theory));
            let consistency = self.model.consistency()?;
            let of_larger = questions.len()..questions.len() + larger.as_ref().map_or(0, |_| consistency.len());
            for obligation in consistency.into_iter().chain(self.model.carried()).chain(rounds) {
                let theory = larger.as_ref().filter(|_| of_larger.contains(&questions.len())).unwrap_or(&theory);
                let open = open(&proof.rows);
                let most = if self.options.diagnoses { OPEN } else { 1 };
                let solvers = if self.goes_on && self.options.diagnoses || open < most {
                    self.options.solvers.clone()
                } else {
                    Vec::new()
                };
                let limit = if open == 0 { self.options.limit } else { self.options.limit.at_most(LATE) };
                let options = ProofOptions { solvers, limit, ..self.options.clone() };
                proof.rows.push(answered(self.model, &options, theory, &obligation));
                questions.push(obligation);
            }
            let (first, rest) = questions.split_at(of_larger.end);
            let (before, with_larger) = first.split_at(of_larger.start);
            // A library below promises nothing to an implementation that breaks its assumption.
            let keeps = asked_of.iter().all(ObligationResult::follows);
            let all = |theory, questions| About { theory, questions, holds_always: keeps };
            let mut asked = match &larger {
                None => vec![all(&theory, &questions[..])],
                // These are obligations, because an hb' with these properties exists only if so' is inside hb.
                Some(larger) => {
                    let holds_always = keeps && proof.rows[of_larger.end..].iter().all(ObligationResult::follows);
                    let larger = About { theory: larger, questions: with_larger, holds_always };
                    vec![all(&theory, before), larger, all(&theory, rest)]
                }
            };
            asked.push(About { theory: &assumed, questions: &assumption, holds_always: true });
            proof.rows.extend(asked_of);
            let limit = self.options.executions;
            let limit = if open(&proof.rows) == 0 { limit } else { limit.min(LATE_SEARCH) };
            match self.witnessed((&asked, &proof.rows), &g, limit) {
                Ok((executions, witnessed)) => {
                    proof.executions = executions;
                    for (row, witness) in proof.rows.iter_mut().zip(witnessed) {
                        row.witnessed |= witness.holds;
                        row.empty = (row.closed.is_some() && !row.is_shown()).then(|| witness.empty());
                    }
                    if executions == 0 {
                        proof.errors.push(refusal!("no client has an execution within the limit of the search").into());
                    }
                }
                Err(error) => proof.errors.push(error),
            }
        }
        Ok(proof)
    }

    /// Returns the parts of an object that stand for a whole promise. Some call reads or writes in them, under the
    /// promise's stamp, all that the promise says. An example is the hash of a tuple; a word of it is none. A copy does
    /// not count, because it says nothing of the copied value.
    fn parts_that_stand(&self) -> BTreeSet<&str> {
        let does_all = |promise: &Role, role: &Role| {
            let reads = promise.reads.as_ref().is_some_and(|read| *read != Read::Any);
            let writes = promise.writes.as_ref().is_some_and(|write| write.source().is_none());
            (reads || writes)
                && (&promise.family, &promise.reads, &promise.writes) == (&role.family, &role.reads, &role.writes)
        };
        let pairs = self.model.kinds.iter().flat_map(|k| k.abstract_.iter().cartesian_product(&k.concrete));
        let parts = pairs.filter(|(promise, role)| does_all(promise, role)).filter_map(|(_, role)| role.cell.as_ref());
        parts.map(|cell| &*cell.text).collect()
    }

    /// Chooses the role that stands for a promise. Roles with the same stamp come first, among them those of the parts
    /// that stand for it, and then the latest. For a promise that only begins edges of so' it is the earliest. Returns the
    /// rows of the chosen role, or else those of the role that failed last.
    #[allow(clippy::type_complexity, reason = "four parts of one answer")]
    fn image(
        &self,
        kind: &Kind,
        promise: &Role,
    ) -> Result<(Option<usize>, Vec<ObligationResult>, Vec<Obligation>, usize), Refusal> {
        let parts = self.parts_that_stand();
        let is_such_a_part = |role: &Role| role.cell.as_ref().is_some_and(|cell| parts.contains(&*cell.text));
        let mut candidates: Vec<usize> = (0..kind.concrete.len()).collect();
        if !self.model.only_begins(promise) {
            candidates.reverse();
        }
        candidates.sort_by_key(|r| {
            let role = &kind.concrete[*r];
            (role.family != promise.family, !is_such_a_part(role))
        });
        let mut best: Option<Vec<ObligationResult>> = None;
        for role in candidates {
            let Some((obligations, plain)) = self.model.stands_for(kind, promise, &kind.concrete[role])? else {
                continue;
            };
            let mut rows = Vec::new();
            let mut holds = true;
            for obligation in &obligations {
                let mut row = answered(self.model, self.options, &self.model.below, obligation);
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

    /// Counts the executions in which every axiom of these theories holds. Finds for each question which part of its
    /// hypothesis holds in one of them.
    fn witnessed(
        &self,
        (asked, rows): (&[About<'_>], &[ObligationResult]),
        g: &Concretisation,
        limit: u64,
    ) -> Result<(usize, Vec<HypothesisSearch>), Error> {
        let questions = || asked.iter().flat_map(|asked| asked.questions.iter());
        let mut witnessed: Vec<HypothesisSearch> =
            questions().zip(rows).map(|(q, row)| HypothesisSearch::new(q, row)).collect();
        let mut seen = 0;
        let mut wrong = None;
        let mut late = 0;
        // If loops have iterations, one execution must have two of them before the last, because axioms speak of their
        // order.
        let mut turned = !self.model.has_rounds();
        let searched = executions(self.model.source, self.model.has_rounds(), limit, &mut |execution| {
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
                        return Err(contradiction!("not every execution has this: {words}").into());
                    }
                }
                witnessed[these].iter_mut().try_for_each(|witness| witness.look(&structure))?;
                Ok::<(), Error>(())
            });
            seen += 1;
            late += usize::from(turned && witnessed.iter().all(|w| w.holds || w.needs_none));
            match found {
                Err(error) => {
                    wrong = Some(error);
                    false
                }
                Ok(()) => late < ENOUGH && seen < MOST,
            }
        });
        wrong = wrong.or(searched.err().map(Error::from));
        if wrong.is_none() && seen > 0 && !turned {
            wrong = Some(
                refusal!("no execution was found in which a loop with effects iterates twice before it ends").into(),
            );
        }
        wrong.map_or(Ok((seen, witnessed)), Err)
    }
}

/// Asks about an obligation case by case.
fn answered(
    model: &LibraryTheory<'_>,
    options: &ProofOptions,
    theory: &Theory,
    obligation: &Obligation,
) -> ObligationResult {
    let by_cases = |solver| Cases::new(model, theory, solver, options.limit).keeping(options.keep).decide(obligation);
    answered_by(model, options, (theory, obligation), &by_cases)
}

/// Asks about an obligation as a whole.
fn answered_as_a_whole(
    model: &LibraryTheory<'_>,
    options: &ProofOptions,
    theory: &Theory,
    obligation: &Obligation,
) -> ObligationResult {
    let whole = |solver| {
        let answer = ask(solver, theory, obligation, options.limit);
        let kept = options.keep.then(|| Query::whole(solver, theory, obligation, answer.clone()));
        let closing = usize::from(answer == SolverAnswer::Follows);
        CaseResult { answer, asked: 1, closing, kept: kept.into_iter().collect() }
    };
    answered_by(model, options, (theory, obligation), &whole)
}

/// Asks one solver after the other about an obligation, until one does not show it.
fn answered_by(
    model: &LibraryTheory<'_>,
    options: &ProofOptions,
    (theory, obligation): (&Theory, &Obligation),
    decide: &dyn Fn(SolverProgram) -> CaseResult,
) -> ObligationResult {
    let start = Instant::now();
    let mut row = ObligationResult::named(obligation.name.clone());
    for &solver in &options.solvers {
        let CaseResult { answer, asked, closing, kept } = decide(solver);
        row.cases = row.cases.max(asked);
        row.closing = row.closing.max(closing);
        row.questions.extend(kept);
        row.answers.push((solver, answer));
        if !all_follow(&row.answers) {
            // The cases so far do not show it, and nobody knows the others.
            let not_asked = SolverAnswer::Unknown("not asked as a whole".to_owned());
            row.questions =
                options.keep.then(|| Query::whole(solver, theory, obligation, not_asked)).into_iter().collect();
            break;
        }
    }
    row.time = start.elapsed();
    if all_follow(&row.answers) {
        let is_about_nothing =
            || Cases::new(model, theory, SolverProgram::Z3, options.limit).is_about_nothing(obligation);
        row.closed = Some(match (row.cases, row.closing) {
            (_, 0) if is_about_nothing() => Closed::Nothing,
            (0, _) => Closed::Definition,
            (_, 0) => Closed::Cases,
            _ => Closed::Solver,
        });
        if row.closing == 0 {
            row.answers.clear();
            row.questions.clear();
            if options.confirms {
                confirm(&mut row, options, (theory, obligation));
            }
        }
        row.time = start.elapsed();
    }
    row
}

/// The steps of a solver for an obligation that no answer of a solver has closed.
const CONFIRM: u64 = SolverLimit::SECOND / 2;

/// Asks a solver about an obligation as a whole that no answer has closed.
fn confirm(row: &mut ObligationResult, options: &ProofOptions, (theory, obligation): (&Theory, &Obligation)) {
    let Some(&solver) = options.solvers.first() else { return };
    let answer = ask(solver, theory, obligation, options.limit.at_most(CONFIRM));
    let kept = (options.keep && answer == SolverAnswer::Follows)
        .then(|| Query::whole(solver, theory, obligation, answer.clone()));
    row.answer_as_a_whole(solver, answer, kept);
}

/// True if some solver was asked, and each one that was asked shows the obligation.
pub(crate) fn all_follow(answers: &[(SolverProgram, SolverAnswer)]) -> bool {
    !answers.is_empty() && answers.iter().all(|(_, answer)| *answer == SolverAnswer::Follows)
}

/// The number of executions in which the axioms are checked beyond those that the witnesses need.
const ENOUGH: usize = 100;

/// The most executions in which a search looks for witnesses. Each takes milliseconds, and two hundred are enough for most libraries.
const MOST: usize = 5_000;

/// The search for an execution that satisfies the hypothesis of a question.
struct HypothesisSearch {
    /// The hypothesis, for some constants.
    given: Term,
    /// True if it holds in an execution.
    holds: bool,
    /// True if it needs no execution: no solver was asked, or another question brings its own witness.
    needs_none: bool,
    /// The conjuncts of the hypothesis, and whether each holds in an execution.
    parts: Vec<(Term, bool)>,
}

impl HypothesisSearch {
    fn new(question: &Obligation, row: &ObligationResult) -> Self {
        let from = &question.from;
        let parts = match from {
            Term::App(name, parts) if &**name == "and" => parts.iter().map(|part| (part.clone(), false)).collect(),
            whole => vec![(whole.clone(), false)],
        };
        let parts = parts.into_iter().map(|(part, holds)| (question.some(&part), holds)).collect();
        let needs_none = row.witnessed || matches!(row.closed, Some(Closed::Definition | Closed::Nothing));
        Self { given: question.some(from), holds: false, needs_none, parts }
    }

    fn look(&mut self, structure: &Structure<'_>) -> Result<(), Contradiction> {
        if self.holds {
            return Ok(());
        }
        self.holds = structure.holds(&self.given)?;
        for (part, holds) in &mut self.parts {
            *holds = *holds || structure.holds(part)?;
        }
        Ok(())
    }

    /// Describes the conjunct that holds in no execution.
    fn empty(&self) -> String {
        let never = self.parts.iter().find(|(_, holds)| !holds);
        match never.map(|(part, _)| part) {
            Some(Term::Any(_, part)) => format!("{} holds in no execution that was found", named(part)),
            _ => "what is given holds by parts, and never together, in the executions that were found".to_owned(),
        }
    }
}

/// Returns the relation that a formula is about, or the formula.
fn named(term: &Term) -> String {
    match term {
        Term::App(name, _) if !["and", "or", "not", "=>", "="].contains(&&**name) => name.to_string(),
        other => other.to_string(),
    }
}

/// Returns the formula "some call has two iterations of a loop with effects before the last one".
fn turns_twice() -> Term {
    let [c, r, s] = ["c", "r", "s"].map(symbol);
    let is_round = |round: &Term| app(IS_ROUND, [&c, round]);
    let both = and([is_round(&r), is_round(&s), app(EARLIER_ROUND, [&r, &s])]);
    any(&[("c", "Call"), ("r", ROUND), ("s", ROUND)], both)
}

/// Returns the bounds for executions, small ones first. A second object is there because copies go to another object.
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
        (2, 1, 3, 1),
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

/// The distance between explored clients. The others are skipped, so that large clients are reached, too.
const STEP: usize = 7;

/// A count of the times at which a search asks whether to stop. It bounds the search, and does not depend on the load of the
/// machine.
pub struct SearchSteps {
    left: Cell<u64>,
}

impl SearchSteps {
    /// Returns a counter that stops a search after so many times.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { left: Cell::new(limit) }
    }

    /// Counts, and returns whether the search stops.
    pub fn has_ended(&self) -> bool {
        self.left.set(self.left.get().saturating_sub(1));
        self.left.get() == 0
    }
}

/// Visits executions of clients until `visit` returns false or the limit is reached. With `with_rounds` some of them have
/// idle iterations of loops with effects.
///
/// # Errors
/// The fault of a call in a body (LOCO Def. 3.9), because a client that makes it has fewer executions, or none.
pub fn executions(
    source: &ProofSource<'_>,
    with_rounds: bool,
    limit: u64,
    visit: &mut dyn FnMut(&Execution) -> bool,
) -> Result<(), Refusal> {
    let counter = SearchSteps::new(limit);
    let expired = || counter.has_ended();
    let specified = source.specification.get(source.library);
    let mut turning = if with_rounds { TURNING } else { 0 };
    for bound in bounds() {
        let Ok(all) = clients(source.subject, &bound, &expired) else { return Ok(()) };
        let reported =
            |(world, client): &&(World, Client)| specified.is_some_and(|library| client.is_well_formed(library, world));
        let all: Vec<&(World, Client)> = all.iter().filter(reported).collect();
        let step = if all.len() > 50 { STEP } else { 1 };
        for (world, client) in all.into_iter().step_by(step) {
            if expired() || !executions_of(source, world, &client.programs(), (&mut turning, &expired), visit)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The number of idle iterations of a loop with effects in such executions. Two are enough for one to come after
/// another.
const ROUNDS: usize = 2;

/// The number of executions for one client and one choice of iterations in which the axioms are checked, so that other clients
/// have their turn.
const OF_CLIENT: usize = 3;

/// The number of clients that get executions with idle iterations. There is a limit because there are many such
/// executions.
const TURNING: usize = 6;

/// Visits executions of one client; those with idle iterations too while `turning` is not 0. Decrements `turning` if
/// there are some. Returns whether to go on.
fn executions_of(
    source: &ProofSource<'_>,
    world: &World,
    programs: &[Script],
    (turning, expired): (&mut usize, &dyn Fn() -> bool),
    visit: &mut dyn FnMut(&Execution) -> bool,
) -> Result<bool, Refusal> {
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
    let runs = problem.runs();
    if let Some(fault @ Stop::IllDefined(_)) = &runs.stop {
        return Err(refusal!("{fault}"));
    }
    if !visit_some(&problem, &runs, visit) {
        return Ok(false);
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
    Ok(goes_on)
}

/// Visits some executions with these runs. Returns whether to go on.
fn visit_some(problem: &Problem<'_>, runs: &Runs, visit: &mut dyn FnMut(&Execution) -> bool) -> bool {
    let mut goes_on = true;
    let mut left = OF_CLIENT;
    let _ = problem.explore_runs(runs, &mut |_| Decision::Continue, &mut |solver| {
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

/// Returns the runs with idle iterations of loops with effects, those with most iterations first. The runs hide their
/// iterations from the searches, because both searches leave out iterations that nothing reads.
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

/// Describes each condition on plain executions that is a Rust function, so that it is not proved.
fn conditions(source: &ProofSource<'_>) -> Vec<Refusal> {
    let is_function = |set: PlainSet<'_>| matches!(set, PlainSet::Where(_));
    let below = source.below.names().filter_map(|name| source.below.get(name));
    let covers = below.filter(|library| is_function(library.covered())).map(|library| {
        let name = library.name();
        refusal!(
            "which calls {name} covers is a Rust function; that these implementations make no others is not proved"
        )
    });
    let specified = source.specification.get(source.library);
    let admits = specified.filter(|library| is_function(library.admitted())).map(|library| {
        let name = library.name();
        refusal!("which executions {name} admits is a Rust function; that there are no others is not proved")
    });
    covers.chain(admits).collect()
}

#[cfg(test)]
mod tests {
    use mowgli_libraries::catalogue::{catalogue, named};

    use super::*;

    /// A row that holds by definition is open if a solver has a structure in which it fails. If the solver does not know, the row
    /// rests on this crate alone.
    #[test]
    fn a_solver_may_deny_that_something_holds_by_definition() {
        let by = |answer| {
            let named = ObligationResult::named("iso inside hb".to_owned());
            let mut row = ObligationResult { closed: Some(Closed::Definition), ..named };
            row.answer_as_a_whole(SolverProgram::Z3, answer, None);
            (row.is_shown(), row.is_by_simplifier_alone(), refuted_by_solver(&[row]).count())
        };
        assert_eq!(by(SolverAnswer::Follows), (true, false, 0));
        assert_eq!(by(SolverAnswer::out_of_steps()), (true, true, 0));
        assert_eq!(by(SolverAnswer::Fails), (false, false, 1));
    }

    /// The limit of a search counts steps, so a machine that is slower finds the same executions.
    #[test]
    fn a_slow_machine_finds_the_same_executions() {
        let all = catalogue();
        let source = ProofSource::published(named(&all, "sv").unwrap());
        let found = |pause| {
            let mut found = Vec::new();
            let visit = &mut |execution: &Execution| {
                std::thread::sleep(pause);
                found.push(execution.events.clone());
                true
            };
            executions(&source, false, 1_000, visit).unwrap();
            found
        };
        let quick = found(Duration::ZERO);
        assert!(quick.len() > 20, "{}", quick.len());
        assert!(quick == found(Duration::from_millis(3)));
    }
}
