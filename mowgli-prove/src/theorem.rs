//! Theorems about the executions of a memory model, as inclusions between relations: steps that a solver is asked about one after
//! the other, each from what was shown before it.
//!
//! A step holds under some of the theorem's hypotheses. What follows from several steps by induction, as of a closure or along a
//! cycle, is said by a [`Item::Hence`]: the induction itself is not the solver's, and stands in `docs/prove.md`. Executions that the
//! judge accepts are read as structures: what holds of all executions must be true in each, what was shown in each that has the
//! hypotheses, and what each step is given in one of these.

use std::time::{Duration, Instant};

use mowgli_core::execution::Execution;
use mowgli_core::implementation::Implementations;
use mowgli_core::library::Libraries;
use mowgli_core::problem::{Limits, Problem};
use mowgli_core::search::solver::Flow;
use mowgli_core::search::witness::completions;
use mowgli_core::soundness::client::{Bound, Client, Subject, clients};
use mowgli_core::world::World;

use crate::instances::{Derived, instances};
use crate::model::Obligation;
use crate::prove::{Closed, Options, Proof, Row};
use crate::solve::{Answer, Asked, Program, ask};
use crate::term::{Structure, Term, Theory};

/// A hypothesis: its name, and what it says.
pub struct Hypothesis {
    /// Its name.
    pub name: &'static str,
    /// What it says, with words for each part.
    pub says: Vec<(&'static str, Term)>,
}

/// A part of a proof.
pub enum Item {
    /// A solver is asked; it is an axiom from then on.
    Step {
        /// The names of the hypotheses.
        under: Vec<&'static str>,
        /// The question.
        obligation: Obligation,
        /// What it speaks of beside its constants, with sorts.
        with: Vec<(Term, &'static str)>,
    },
    /// What follows by induction from all steps after the last one of these.
    Hence {
        /// The names of the hypotheses.
        under: Vec<&'static str>,
        /// In words.
        words: &'static str,
        /// What follows.
        says: Term,
    },
}

/// Reads an execution as structures of the theory.
pub type Read<'a> = &'a dyn Fn(&Theory, &Execution) -> Result<Structure<'static>, String>;

/// Calls what it is given with one execution after the other, until that has seen enough.
pub type Visit<'a> = &'a mut dyn FnMut(&mut dyn FnMut(&Execution) -> bool);

/// A theorem about a memory model.
pub struct Theorem {
    /// What it is, for files.
    pub about: String,
    /// What holds of all consistent executions.
    pub theory: Theory,
    /// What is taken as given.
    pub hypotheses: Vec<Hypothesis>,
    /// What is made of what a question speaks of.
    pub derived: Vec<Derived>,
    /// How it is shown.
    pub items: Vec<Item>,
}

impl Item {
    /// A question about these constants.
    #[must_use]
    pub fn step(under: &[&'static str], name: &str, of: &[(&str, &'static str)], from: Term, to: Term) -> Self {
        let of = of.iter().map(|(constant, sort)| ((*constant).to_owned(), *sort)).collect();
        let obligation = Obligation { name: name.to_owned(), of, hints: Vec::new(), from, to };
        Self::Step { under: under.to_vec(), obligation, with: Vec::new() }
    }

    /// The same, and it speaks of more.
    #[must_use]
    pub fn with(mut self, more: &[(Term, &'static str)]) -> Self {
        if let Self::Step { with, .. } = &mut self {
            with.extend_from_slice(more);
        }
        self
    }
}

/// What was shown, with the hypotheses that it needs.
type Shown = (Vec<&'static str>, String, Term);

fn covers(all: &[&'static str], some: &[&'static str]) -> bool {
    some.iter().all(|name| all.contains(name))
}

impl Theorem {
    /// The theory of a step: with its hypotheses, and what was shown under some of them.
    fn theory(&self, under: &[&'static str], shown: &[Shown]) -> Theory {
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

    /// Asks the solvers about each step, and looks at executions: `visit` calls what it is given with one after the other until
    /// that says that it has seen enough.
    pub fn prove(&self, options: &Options, read: Read<'_>, visit: Visit<'_>) -> Proof {
        let mut proof = Proof::default();
        let mut shown: Vec<Shown> = Vec::new();
        let mut all = true;
        for item in &self.items {
            match item {
                Item::Step { under, obligation, with } => {
                    let (theory, question) = instances(&self.theory(under, &shown), obligation, with, &self.derived);
                    let row = self.asked(options, &theory, &question);
                    let follows = row.answers.iter().all(|(_, answer)| *answer == Answer::Follows);
                    if follows {
                        shown.push((under.clone(), obligation.name.clone(), obligation.closed()));
                    }
                    all &= follows;
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
            Err(why) => proof.obstacles.push(why),
        }
        proof
    }

    fn asked(&self, options: &Options, theory: &Theory, obligation: &Obligation) -> Row {
        let start = Instant::now();
        let solvers = options.solvers.iter();
        let answers: Vec<(Program, Answer)> =
            solvers.map(|&solver| (solver, told(ask(solver, theory, obligation, options.limit).0))).collect();
        let closed = answers.iter().all(|(_, answer)| *answer == Answer::Follows).then_some(Closed::Solver);
        let kept = answers.iter().filter(|_| options.keep);
        let questions =
            kept.map(|(solver, answer)| Asked::whole(*solver, theory, obligation, answer.clone())).collect();
        Row { cases: 1, answers, closed, time: start.elapsed(), questions, ..Row::named(obligation.name.clone()) }
    }

    /// In how many executions everything is as it should be, and of which steps what is given holds in one.
    fn witnessed(&self, read: Read<'_>, visit: Visit<'_>, shown: &[Shown]) -> Result<(usize, Vec<bool>), String> {
        let steps: Vec<(&Vec<&'static str>, Term)> = self.items.iter().filter_map(step).collect();
        let mut witnessed = vec![false; steps.len()];
        let mut seen = 0;
        let mut wrong = None;
        visit(&mut |execution| {
            let mut look = || -> Result<(), String> {
                let structure = read(&self.theory, execution)?;
                for (words, axiom) in self.theory.axioms() {
                    if !structure.holds(axiom)? {
                        return Err(format!("not every execution has this: {words}"));
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
                        return Err(format!("it was shown, and is not so in an execution: {words}"));
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

/// That instances can hold together says nothing of the theory.
fn told(answer: Answer) -> Answer {
    match answer {
        Answer::Fails => Answer::Unknown("it does not follow from the instances".to_owned()),
        other => other,
    }
}

/// Under which hypotheses a step holds, and that what it is given is there.
fn step(item: &Item) -> Option<(&Vec<&'static str>, Term)> {
    let Item::Step { under, obligation, .. } = item else { return None };
    let of = obligation.of.iter().map(|(name, sort)| (name.clone(), (*sort).to_owned())).collect();
    Some((under, Term::Any(of, obligation.from.clone().into())))
}

/// All executions of these programs, with their calls replaced by these implementations, one after the other, until `visit` has
/// seen enough or the time is over.
pub fn executions(
    libraries: &Libraries,
    implementations: &Implementations,
    programs: &[(World, Client)],
    limit: Duration,
    visit: &mut dyn FnMut(&Execution) -> bool,
) {
    let start = Instant::now();
    let expired = || start.elapsed() >= limit;
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

/// Programs of two calls, of one thread or of two: one, and then one after every `step`.
#[must_use]
pub fn small(subject: &dyn Subject, step: usize) -> Vec<(World, Client)> {
    let bound = |threads, calls| Bound { threads, nodes: 2, calls, total: Some(2), ..Bound::default() };
    let all = [bound(1, 2), bound(2, 1)].into_iter().filter_map(|bound| clients(subject, &bound, &|| false).ok());
    all.flatten().step_by(step).collect()
}
