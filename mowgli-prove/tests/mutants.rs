//! Mutants of the proved libraries: no mutant is proved that a bounded check refutes.
//!
//! A mutant is an edit of one operation, or one that is made only when a datum is 0, 1, 2 or 3: the body returns
//! another value, leaves a loop or skips a call. The test draws one mutant of each library with a fixed seed, among
//! those that change a run.
//!
//! `MOWGLI_MUTANTS=30 cargo test -p mowgli-prove --test solver mutant -- --nocapture --include-ignored`
//! draws 30 of each sort and library and prints the table of `docs/prove.md`. `all` takes all of them, in some hours.

use std::collections::BTreeMap;
use std::sync::Arc;

use itertools::{Itertools, iproduct};
use libtest_mimic::Trial;
use mowgli_check::check::{CheckOptions as Limits, CheckQuestion, check};
use mowgli_check::interrupt::{Deadline, SECOND};
use mowgli_core::expr::{Expr, ExprTerm};
use mowgli_core::ids::Name;
use mowgli_core::rewrite::edit::Edits;
use mowgli_core::rewrite::mutants::{Edit, edits};
use mowgli_core::rewrite::sites::{Site, sites};
use mowgli_core::soundness::verdict::Verdict;
use mowgli_core::term::body::{Bodies, Body, Stmt};
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::{ArgumentKind, Method};
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::{Entry, Expected, Variant};
use mowgli_libraries::x86;
use mowgli_prove::prove::{EXECUTIONS, ProofOptions, prove};
use mowgli_prove::smt::solve::{SolverLimit, SolverProgram};

use crate::common::source;
use crate::needs::{Layer, Need, trial};

/// The proved libraries with mutants.
const PROVED: [&str; 11] =
    ["sv", "bal", "slock", "wlock", "msw", "queue", "nlock", "counter", "sc-rmw", "spinlock", "ticketlock"];

/// The seed with which mutants are drawn.
const SEED: u64 = 41;

/// The limits of a question to a solver.
const QUESTION: SolverLimit = SolverLimit::of(2 * SolverLimit::SECOND);

/// The limit of steps for the search for a client that refutes a proved mutant.
const SEARCH: u64 = 60 * SECOND;

/// The test.
pub fn test() -> Trial {
    let missing = || (!SolverProgram::Z3.is_there()).then(|| "z3 is not on the path".to_owned());
    let need = Need { tool: "z3", in_ci: true, missing };
    trial("no_mutant_is_proved_and_refuted", Layer::Long, need, no_mutant_is_proved_and_refuted)
}

fn no_mutant_is_proved_and_refuted() {
    let wanted = match std::env::var("MOWGLI_MUTANTS").as_deref() {
        Ok("all") => Some(usize::MAX),
        Ok(number) => Some(number.parse().expect("MOWGLI_MUTANTS is a number, or all")),
        Err(_) => None,
    };
    let all: Vec<Entry> = catalogue().into_iter().chain(x86::catalogue()).collect();
    let mut proved = 0;
    for (number, library) in PROVED.iter().enumerate() {
        let entry = named(&all, library).unwrap();
        for (sort, mutants) in [("by place", by_place(entry)), ("conditional", conditional(entry))] {
            // All proofs together take minutes, so by default every second library has a mutant of the other sort.
            let is_drawn = (sort == "by place") == (number % 2 == 0);
            let Some(wanted) = wanted.or(is_drawn.then_some(1)) else { continue };
            let ended = drawn(entry, mutants, wanted);
            let count = |end: End| ended.get(&end).copied().unwrap_or(0);
            let tried: usize = ended.values().sum();
            println!(
                "| `{library}` | {sort} | {tried} | {} | {} | {} | {} |",
                count(End::NoTemplate),
                count(End::Open),
                count(End::ProvedAndSound),
                count(End::ProvedAndUndecided)
            );
            proved += count(End::ProvedAndSound) + count(End::ProvedAndUndecided);
        }
    }
    println!("{proved} are proved");
}

/// An implementation with one change.
struct Mutant {
    words: String,
    implementation: Arc<dyn Implementation>,
}

/// The result for a mutant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// A method has no template.
    NoTemplate,
    /// Some obligation is open.
    Open,
    /// It is proved, and the check finds no counterexample at the shipped bounds.
    ProvedAndSound,
    /// It is proved, and the check does not end in time.
    ProvedAndUndecided,
}

/// Counts the results of `wanted` of these mutants.
fn drawn(entry: &Entry, mut mutants: Vec<Mutant>, wanted: usize) -> BTreeMap<End, usize> {
    fastrand::Rng::with_seed(SEED).shuffle(&mut mutants);
    let mut ended = BTreeMap::new();
    let all = mutants.iter().map(|mutant| ended_as(entry, mutant));
    all.take(wanted).for_each(|end| *ended.entry(end).or_insert(0) += 1);
    ended
}

/// Returns the result for a mutant.
fn ended_as(entry: &Entry, mutant: &Mutant) -> End {
    let Mutant { words, implementation } = mutant;
    let source = source(entry, implementation.clone());
    if source.kinds().is_err() {
        return End::NoTemplate;
    }
    let options = ProofOptions {
        solvers: vec![SolverProgram::Z3],
        limit: QUESTION,
        executions: EXECUTIONS,
        confirms: true,
        keep: false,
        diagnoses: true,
    };
    if !prove(&source, &options).is_proved() {
        return End::Open;
    }
    let (name, about, expected) = ("mutant", "with one change", Expected::Unsound);
    let bounds = entry.variants[0].bounds.clone();
    let implementation = implementation.clone();
    let variant = Variant { name, about, expected, implementation, ..entry.variants[0].clone() };
    let deadline = Deadline::default().within(SEARCH);
    let limits = Limits { deadline, ask: CheckQuestion::Local, ends: false, ..Limits::default() };
    let mut end = End::ProvedAndSound;
    for bound in &bounds {
        let checked = check(entry, &variant, bound, &limits).unwrap();
        let is_refuted = checked.report.violation.is_some() || matches!(checked.report.verdict, Verdict::Unsound(_));
        assert!(!is_refuted, "{} is proved and refuted: {words}\n{}", entry.name, checked.explanation());
        if matches!(checked.report.verdict, Verdict::Undecided(_)) {
            end = End::ProvedAndUndecided;
        }
    }
    println!("proved: {} {words}", entry.name);
    end
}

/// Returns each edit of each operation.
fn by_place(entry: &Entry) -> Vec<Mutant> {
    let published = entry.variants[0].implementation.clone();
    let of_site = |site: Site| {
        let methods = entry.below.get(site.library).unwrap().methods();
        let all = edits(methods.iter().find(|m| m.name == site.calls).unwrap());
        all.into_iter().map(move |edit| (site.clone(), edit))
    };
    let all = sites(published.bodies().expect("terms")).into_iter().flat_map(of_site);
    let mutant = |(site, edit): (Site, Edit)| {
        let edited = edit.at(published.clone(), &site);
        let implementation: Arc<dyn Implementation> = Arc::new(edited.clone());
        edited.differs().then(|| Mutant { words: format!("{site} {}", edit.name), implementation })
    };
    all.filter_map(mutant).collect()
}

/// Returns each edit that applies only when a datum is a small number.
fn conditional(entry: &Entry) -> Vec<Mutant> {
    let published = entry.variants[0].implementation.clone();
    let methods = entry.library().unwrap().methods();
    let of_method = |method: &'static Method| {
        let arguments = method.takes.iter().positions(|(_, kind)| *kind == ArgumentKind::Value).map(On::Argument);
        let data: Vec<On> = arguments.chain((0..4).map(On::Result)).collect();
        let does: Vec<Does> = [Does::Return, Does::Leave].into_iter().chain((0..6).map(Does::Skip)).collect();
        iproduct!(data, 0..4, does).map(move |(on, equals, does)| (method, Conditional { on, equals, does }))
    };
    let mutant = |(method, of): (&'static Method, Conditional)| {
        let names: Vec<&str> = method.takes.iter().map(|(name, _)| *name).collect();
        let mut is_made = false;
        let bodies = Bodies::default().with(methods, method.name, &names, |args| {
            let call = Body::call(Name::new(entry.name), method.name, args.iter().copied());
            let body = published.inlined(&call);
            let edited = of.edited(&body, args);
            is_made = edited.is_some();
            edited.unwrap_or(body)
        });
        let words = format!("{} {of:?}", method.name);
        let implementation: Arc<dyn Implementation> = Arc::new(published.clone().with(&words, &bodies));
        is_made.then_some(Mutant { words, implementation })
    };
    methods.iter().flat_map(of_method).filter_map(mutant).collect()
}

/// A datum of a call.
#[derive(Clone, Copy, Debug)]
enum On {
    /// An argument.
    Argument(usize),
    /// A result that has a name in the body, by the number of such results before it.
    Result(usize),
}

/// The effect of an edit when a datum has a value.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// The body returns another value.
    Return,
    /// The body leaves the loop.
    Leave,
    /// The body skips a call, given by the number of calls between the datum and it.
    Skip(usize),
}

/// A conditional edit of the body of a method.
#[derive(Clone, Copy, Debug)]
struct Conditional {
    on: On,
    equals: i64,
    does: Does,
}

impl Conditional {
    /// Returns the body with the edit, or `None` if there is no place for it.
    fn edited(self, body: &Body, args: &[Expr]) -> Option<Body> {
        match self.on {
            On::Argument(_) if matches!(self.does, Does::Leave) => None,
            On::Argument(position) => self.where_known(args[position], body, false),
            On::Result(mut before) => self.behind_result(body, &mut before, false),
        }
    }

    /// Edits the part of a body behind a result, which has this number of results before it.
    fn behind_result(self, body: &Body, before: &mut usize, in_loop: bool) -> Option<Body> {
        let mut inside = |part: &Body, in_loop| self.behind_result(part, before, in_loop);
        Some(match body.stmt() {
            Stmt::Let(Some(var), first, rest) if matches!(first.stmt(), Stmt::Call(_)) => {
                let rest = match before.checked_sub(1) {
                    None => self.where_known(ExprTerm::Var(*var).into(), rest, in_loop)?,
                    Some(fewer) => {
                        *before = fewer;
                        self.behind_result(rest, before, in_loop)?
                    }
                };
                Stmt::Let(Some(*var), first.clone(), rest).into()
            }
            Stmt::Let(var, first, rest) => match inside(first, in_loop) {
                Some(first) => Stmt::Let(*var, first, rest.clone()).into(),
                None => Stmt::Let(*var, first.clone(), inside(rest, in_loop)?).into(),
            },
            Stmt::If(condition, yes, no) => match inside(yes, in_loop) {
                Some(yes) => Stmt::If(*condition, yes, no.clone()).into(),
                None => Stmt::If(*condition, yes.clone(), inside(no, in_loop)?).into(),
            },
            Stmt::Loop(round) => inside(round, true)?.repeat(),
            Stmt::For(x, set, round) => Stmt::For(*x, *set, inside(round, in_loop)?).into(),
            Stmt::Value(_) | Stmt::Call(_) | Stmt::Break(_) | Stmt::Collect(..) => return None,
        })
    }

    /// Edits the part of a body in which the datum is known.
    fn where_known(self, datum: Expr, body: &Body, in_loop: bool) -> Option<Body> {
        let holds = datum.is(self.equals);
        match self.does {
            Does::Return if in_loop => None,
            Does::Return => Some(body.clone().bind("v", |v| Body::branch(holds, v.another().into(), v.into()))),
            Does::Leave => in_loop.then(|| Body::branch(holds, Body::leave(datum), Body::unit()).then(body.clone())),
            Does::Skip(nth) => {
                let gone = |call: Body| Body::branch(holds, 0.into(), call);
                (nth < body.calls().len()).then(|| skipped(body, &mut nth.clone(), &gone))
            }
        }
    }
}

/// Replaces the call of a body that has this number of calls before it.
fn skipped(body: &Body, before: &mut usize, instead: &dyn Fn(Body) -> Body) -> Body {
    match body.stmt() {
        Stmt::Call(_) => {
            *before = before.wrapping_sub(1);
            if *before == usize::MAX { instead(body.clone()) } else { body.clone() }
        }
        Stmt::Let(var, first, rest) => {
            let first = skipped(first, before, instead);
            Stmt::Let(*var, first, skipped(rest, before, instead)).into()
        }
        Stmt::If(condition, yes, no) => {
            let yes = skipped(yes, before, instead);
            Stmt::If(*condition, yes, skipped(no, before, instead)).into()
        }
        Stmt::Loop(round) => skipped(round, before, instead).repeat(),
        Stmt::For(x, set, round) => Stmt::For(*x, *set, skipped(round, before, instead)).into(),
        Stmt::Collect(x, set, round) => Stmt::Collect(*x, *set, skipped(round, before, instead)).into(),
        Stmt::Value(_) | Stmt::Break(_) => body.clone(),
    }
}
