//! Theorems about the executions of a memory model, as inclusions between relations. The prover asks a solver about one step
//! after the other, each from the steps that were shown before it.
//!
//! A step holds under some of the theorem's hypotheses. A consequence of several steps by induction, for example along
//! a closure or a cycle, is an [`Item::Hence`]. The solver does not check the induction, which is in `docs/prove.md`.
//!
//! Executions that the judge accepts are read as structures. The axioms must hold in each of them. A shown step must
//! hold in each that satisfies its hypotheses, and the premise of each step must hold in one of these.

mod compiled;
pub mod plain;
pub mod polls;
pub mod robust;
mod structure;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use mowgli_core::execution::Execution;
use mowgli_core::library::Libraries;
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::search::solver::Flow;
use mowgli_core::search::witness::completions;
use mowgli_core::soundness::client::{Client, Subject, clients};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementations;
use mowgli_core::world::World;

use crate::error::{Contradiction, contradiction};
use crate::prove::{Closed, ObligationResult, Proof, ProofOptions, SearchSteps, all_follow};
use crate::smt::ground::Ground;
use crate::smt::prepared::PreparedTheory;
use crate::smt::solve::{Query, SolverAnswer, SolverProgram, ask};
use crate::smt::term::{Obligation, Structure, Term, Theory, any, app, implies, not, symbol, truth};

/// A hypothesis: its name and its formulas.
pub struct Hypothesis {
    /// The name.
    pub name: &'static str,
    /// The formulas, each with a description.
    pub says: Vec<(&'static str, Term)>,
}

/// A part of a proof.
pub enum Item {
    /// A step that a solver shows; it is an axiom from then on.
    Step {
        /// The names of the hypotheses.
        under: Vec<&'static str>,
        /// The question.
        obligation: Obligation,
        /// The terms in the question beside its constants, with their sorts.
        with: Vec<(Term, &'static str)>,
    },
    /// A consequence by induction of all steps since the last one of these.
    Hence {
        /// The names of the hypotheses.
        under: Vec<&'static str>,
        /// A description in words.
        words: &'static str,
        /// The consequence.
        says: Term,
    },
}

/// A function that reads an execution as a structure of the theory.
pub type ReadExecution<'a> = &'a dyn Fn(&Theory, &Execution) -> Result<Structure<'static>, Contradiction>;

/// A function that passes executions to its argument, one after the other, until the argument returns false.
pub type VisitExecutions<'a> = &'a mut dyn FnMut(&mut dyn FnMut(&Execution) -> bool);

/// A theorem about a memory model.
pub struct Theorem {
    /// A heading for files.
    pub about: String,
    /// The axioms of all consistent executions.
    pub theory: Theory,
    /// The hypotheses.
    pub hypotheses: Vec<Hypothesis>,
    /// The rules for the pool of instances.
    pub derived: Vec<Derived>,
    /// The steps of the proof.
    pub items: Vec<Item>,
}

impl Item {
    /// Makes a step about these constants.
    #[must_use]
    pub fn step(under: &[&'static str], name: &str, of: &[(&str, &'static str)], from: Term, to: Term) -> Self {
        Self::Step { under: under.to_vec(), obligation: Obligation::new(name, of, from, to), with: Vec::new() }
    }

    /// Returns the step with more terms for the pool of instances.
    #[must_use]
    pub fn with(mut self, more: &[(Term, &'static str)]) -> Self {
        if let Self::Step { with, .. } = &mut self {
            with.extend_from_slice(more);
        }
        self
    }
}

/// A rule for the named terms: from each term of the first sort the function makes a term of the second.
pub type Derived = (&'static str, &'static str, &'static str);

/// The number of passes in which witnesses get names. A witness may need another one.
const WITNESSES: usize = 2;

/// Returns the instances of a theory for what a question names, and the question whether they contradict each other. Named are the
/// constants of the question, `with`, witnesses of what is given, and what `derived` makes of these.
fn instances(
    theory: &Theory,
    question: &Obligation,
    with: &[(Term, &'static str)],
    derived: &[Derived],
) -> (Theory, Obligation) {
    let ready = PreparedTheory::whole(theory);
    let mut ground = Ground::new(&ready);
    let name = |ground: &mut Ground<'_>, term: Term, sort: &str| {
        let mut named = vec![(term, sort)];
        for (from, function, to) in derived {
            let more: Vec<_> =
                named.iter().filter(|(_, sort)| sort == from).map(|(t, _)| (app(function, [t]), *to)).collect();
            named.extend(more);
        }
        named.iter().for_each(|(term, sort)| ground.name(sort, term));
    };
    let mut constants: Vec<(String, String)> =
        question.of.iter().map(|(name, sort)| (name.clone(), (*sort).to_owned())).collect();
    constants.iter().for_each(|(constant, sort)| name(&mut ground, symbol(constant), sort));
    with.iter().for_each(|(term, sort)| name(&mut ground, term.clone(), sort));
    ground.given(&question.from);
    ground.given(&not(question.to.clone()));
    ground.instantiate();
    let mut known = BTreeSet::new();
    for _ in 0..WITNESSES {
        for (of, says, _) in ground.there() {
            let of_sorts: Vec<(&str, &str)> = of.iter().map(|(name, sort)| (&**name, &**sort)).collect();
            let some = any(&of_sorts, says.clone());
            if !known.insert(some.to_string()) {
                continue;
            }
            let mut by = BTreeMap::new();
            for (variable, sort) in of {
                let constant = format!("there.{}", constants.len());
                name(&mut ground, symbol(&constant), &sort);
                by.insert(variable, symbol(&constant));
                constants.push((constant, sort));
            }
            ground.given(&implies(some, says.with(&by)));
        }
        ground.instantiate();
    }
    let nothing = Obligation::new(&*question.name, &[], truth(true), truth(false));
    (ground.theory(&constants), nothing)
}

/// A shown step: the hypotheses that it needs, its description and its statement.
type ShownStep = (Vec<&'static str>, String, Term);

fn covers(all: &[&'static str], some: &[&'static str]) -> bool {
    some.iter().all(|name| all.contains(name))
}

impl Theorem {
    /// Returns the theory of a step: with its hypotheses, and the steps shown under some of them.
    fn theory(&self, under: &[&'static str], shown: &[ShownStep]) -> Theory {
        let mut theory = self.theory.clone();
        for hypothesis in self.hypotheses.iter().filter(|h| under.contains(&h.name)) {
            theory.comment(&format!("Hypothesis: {}.", hypothesis.name));
            hypothesis.says.iter().for_each(|(words, says)| theory.axiom(words, says.clone()));
        }
        for (_, words, says) in shown.iter().filter(|(needs, ..)| covers(under, needs)) {
            theory.axiom(&format!("shown before: {words}"), says.clone());
        }
        theory
    }

    /// Asks the solvers about each step, and checks the theory in executions. `visit` passes executions to its argument
    /// until that returns false.
    pub fn prove(&self, options: &ProofOptions, read: ReadExecution<'_>, visit: VisitExecutions<'_>) -> Proof {
        let mut proof = Proof::default();
        let mut shown: Vec<ShownStep> = Vec::new();
        let mut all = true;
        for item in &self.items {
            match item {
                Item::Step { under, obligation, with } => {
                    let (theory, question) = instances(&self.theory(under, &shown), obligation, with, &self.derived);
                    let row = self.asked(options, &theory, &question);
                    if row.follows() {
                        shown.push((under.clone(), obligation.name.clone(), obligation.closed()));
                    }
                    all &= row.follows();
                    proof.rows.push(row);
                }
                Item::Hence { under, words, says } => {
                    if std::mem::replace(&mut all, true) {
                        shown.push((under.clone(), (*words).to_owned(), says.clone()));
                    }
                }
            }
        }
        match self.witnessed(read, visit, &shown) {
            Ok((executions, witnessed)) => {
                proof.executions = executions;
                proof.rows.iter_mut().zip(witnessed).for_each(|(row, witnessed)| row.witnessed = witnessed);
            }
            Err(contradiction) => proof.errors.push(contradiction.into()),
        }
        proof
    }

    fn asked(&self, options: &ProofOptions, theory: &Theory, obligation: &Obligation) -> ObligationResult {
        let start = Instant::now();
        let solvers = options.solvers.iter();
        let answers: Vec<(SolverProgram, SolverAnswer)> =
            solvers.map(|&solver| (solver, reported(ask(solver, theory, obligation, options.limit)))).collect();
        let closed = all_follow(&answers).then_some(Closed::Solver);
        let kept = answers.iter().filter(|_| options.keep);
        let questions =
            kept.map(|(solver, answer)| Query::whole(*solver, theory, obligation, answer.clone())).collect();
        ObligationResult {
            cases: 1,
            answers,
            closed,
            time: start.elapsed(),
            questions,
            ..ObligationResult::named(obligation.name.clone())
        }
    }

    /// Counts the executions in which everything is true, and finds the steps whose hypothesis holds in one.
    fn witnessed(
        &self,
        read: ReadExecution<'_>,
        visit: VisitExecutions<'_>,
        shown: &[ShownStep],
    ) -> Result<(usize, Vec<bool>), Contradiction> {
        let steps: Vec<(&Vec<&'static str>, Term)> = self.items.iter().filter_map(step).collect();
        let mut witnessed = vec![false; steps.len()];
        let mut seen = 0;
        let mut wrong = None;
        visit(&mut |execution| {
            let mut look = || -> Result<(), Contradiction> {
                let structure = read(&self.theory, execution)?;
                for (words, axiom) in self.theory.axioms() {
                    if !structure.holds(axiom)? {
                        return Err(contradiction!("not every execution has this: {words}"));
                    }
                }
                let mut given = Vec::new();
                for hypothesis in &self.hypotheses {
                    let mut holds = true;
                    for (_, says) in &hypothesis.says {
                        holds = holds && structure.holds(says)?;
                    }
                    given.extend(holds.then_some(hypothesis.name));
                }
                for (_, words, says) in shown.iter().filter(|(needs, ..)| covers(&given, needs)) {
                    if !structure.holds(says)? {
                        return Err(contradiction!("it was shown, and is not so in an execution: {words}"));
                    }
                }
                for (known, (_, from)) in witnessed.iter_mut().zip(&steps).filter(|(_, (u, _))| covers(&given, u)) {
                    *known = *known || structure.holds(from)?;
                }
                Ok(())
            };
            let found = look();
            seen += 1;
            wrong = found.err();
            wrong.is_none()
        });
        wrong.map_or(Ok((seen, witnessed)), Err)
    }
}

/// Turns `Fails` into `Unknown`, because satisfiable instances say nothing of the theory.
fn reported(answer: SolverAnswer) -> SolverAnswer {
    match answer {
        SolverAnswer::Fails => SolverAnswer::Unknown("it does not follow from the instances".to_owned()),
        other => other,
    }
}

/// Returns the hypotheses of a step, and the formula "something satisfies what the step takes as given".
fn step(item: &Item) -> Option<(&Vec<&'static str>, Term)> {
    let Item::Step { under, obligation, .. } = item else { return None };
    Some((under, obligation.some(&obligation.from)))
}

/// The most steps of this search, because it goes through all programs.
const PROGRAMS: u64 = 1_000_000;

/// Visits the executions of these programs, with their calls replaced by these implementations, until `visit` returns
/// false or the limit is reached.
pub fn executions(
    libraries: &Libraries,
    implementations: &Implementations,
    programs: &[(World, Client)],
    limit: u64,
    visit: &mut dyn FnMut(&Execution) -> bool,
) {
    let counter = SearchSteps::new(limit.min(PROGRAMS));
    let expired = || counter.has_ended();
    let mut goes_on = true;
    for (world, client) in programs {
        let problem = Problem {
            libraries,
            implementations,
            world,
            programs: &client.programs(),
            observed: &[],
            limits: Limits { expired: &expired, ..Limits::default() },
        };
        let _ = problem.explore(&mut |solver| {
            completions(solver, &mut |execution| {
                goes_on = goes_on && visit(&execution) && !expired();
                if goes_on { Flow::Continue } else { Flow::Stop }
            })
        });
        if !goes_on {
            return;
        }
    }
}

/// Returns programs of two calls, of one thread or of two: the first one, and then one after every `step`.
#[must_use]
pub fn small(subject: &dyn Subject, step: usize) -> Vec<(World, Client)> {
    let bound = |threads, calls| Bound { threads, nodes: 2, calls, total: Some(2), ..Bound::default() };
    let all = [bound(1, 2), bound(2, 1)].into_iter().filter_map(|bound| clients(subject, &bound, &|| false).ok());
    all.flatten().step_by(step).collect()
}
