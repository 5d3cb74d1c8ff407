//! Mutants of the libraries that are proved: nothing that a bounded check refutes is proved.
//!
//! A mutant is an edit of one operation, or one that is made only when a datum is 0, 1, 2 or 3: another value is returned, a loop is
//! left, a call is skipped. The test draws one of each library with a fixed seed, of those that change a run. `MOWGLI_MUTANTS=30 cargo test -p mowgli-prove --test solver mutant -- --nocapture --include-ignored`
//! draws so many of each sort and library and prints the table of `docs/prove.md`; `all` takes all of them, which is a matter of hours.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use itertools::{Itertools, iproduct};
use libtest_mimic::Trial;
use mowgli_check::check::{Ask, Options as Limits, check};
use mowgli_check::entry::own_calls;
use mowgli_check::interrupt::Deadline;
use mowgli_core::edit::{Edited, Edits};
use mowgli_core::event::Call;
use mowgli_core::ids::{Name, Tid};
use mowgli_core::implementation::{Implementation, add_parts};
use mowgli_core::library::Libraries;
use mowgli_core::method::{self, Returns};
use mowgli_core::program::{Let, Prog};
use mowgli_core::soundness::edits::{Edit, edits};
use mowgli_core::soundness::sites::{Site, sites};
use mowgli_core::soundness::verdict::Verdict;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::{Entry, Expected, Variant};
use mowgli_prove::prove::{Options, prove};
use mowgli_prove::solve::Program;

use crate::common::source;
use crate::needs::{Layer, Need, trial};

/// The libraries that are proved, and have mutants.
const PROVED: [&str; 9] = ["sv", "bal", "slock", "wlock", "msw", "queue", "nlock", "counter", "sc-rmw"];

/// The seed with which mutants are drawn.
const SEED: u64 = 41;

/// Seconds for one question to a solver.
const QUESTION: Duration = Duration::from_secs(2);

/// Seconds for the search for a client that refutes what is proved.
const SEARCH: u64 = 60;

/// The test.
pub fn test() -> Trial {
    let missing = || (!Program::Z3.is_there()).then(|| "there is none on the path".to_owned());
    let need = Need { tool: "z3", in_ci: true, missing };
    trial("no_mutant_is_proved_and_refuted", Layer::Long, need, no_mutant_is_proved_and_refuted)
}

fn no_mutant_is_proved_and_refuted() {
    let wanted = match std::env::var("MOWGLI_MUTANTS").as_deref() {
        Ok("all") => Some(usize::MAX),
        Ok(number) => Some(number.parse().expect("MOWGLI_MUTANTS is a number, or all")),
        Err(_) => None,
    };
    let all = catalogue();
    let mut proved = 0;
    for (number, library) in PROVED.iter().enumerate() {
        let entry = named(&all, library).unwrap();
        for (sort, mutants) in [("by place", by_place(entry)), ("conditional", conditional(entry))] {
            // A proof of each takes minutes in all: by default every second library has a mutant of the other sort.
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
    /// Whether a body was changed that was asked for.
    differs: Box<dyn Fn() -> bool>,
}

/// What became of a mutant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// A method has no template.
    NoTemplate,
    /// Some obligation is not shown.
    Open,
    /// It is proved, and the check finds nothing at the shipped bounds.
    ProvedAndSound,
    /// It is proved, and the check does not end in time.
    ProvedAndUndecided,
}

/// How so many of these mutants end, those that change nothing left out.
fn drawn(entry: &Entry, mut mutants: Vec<Mutant>, wanted: usize) -> BTreeMap<End, usize> {
    fastrand::Rng::with_seed(SEED).shuffle(&mut mutants);
    let mut ended = BTreeMap::new();
    let all = mutants.into_iter().filter_map(|mutant| ended_as(entry, &mutant));
    all.take(wanted).for_each(|end| *ended.entry(end).or_insert(0) += 1);
    ended
}

/// What becomes of a mutant; nothing if it changes nothing.
fn ended_as(entry: &Entry, mutant: &Mutant) -> Option<End> {
    let Mutant { words, implementation, differs } = mutant;
    let source = source(entry, implementation.clone());
    // Runs of bodies show whether anything is changed, and take less time than a proof.
    let has_templates = source.kinds().is_ok();
    if !differs() {
        return None;
    }
    if !has_templates {
        return Some(End::NoTemplate);
    }
    let options =
        Options { solvers: vec![Program::Z3], limit: QUESTION, executions: Duration::from_secs(30), keep: false };
    if !prove(&source, &options).is_proved() {
        return Some(End::Open);
    }
    let (name, about, expected) = ("mutant", "with one change", Expected::Unsound);
    let bounds = entry.variants[0].bounds.clone();
    let variant = Variant { name, about, expected, implementation: implementation.clone(), bounds: bounds.clone() };
    let deadline = Deadline::after(Some(SEARCH));
    let limits = Limits { deadline, ask: Ask::Local, ends: false, ..Limits::default() };
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
    Some(end)
}

/// The calls of clients within the shipped bounds, with the parts of the implementation.
fn calls(entry: &Entry) -> Vec<(World, Tid, Call)> {
    let published = &entry.variants[0];
    let mut calls = own_calls(entry, &published.bounds[..1], &|| false).unwrap();
    calls.iter_mut().for_each(|(world, ..)| add_parts(&*published.implementation, world));
    calls
}

/// Each edit of each operation.
fn by_place(entry: &Entry) -> Vec<Mutant> {
    let published = entry.variants[0].implementation.clone();
    let of_site = |site: Site| {
        let methods = entry.below.get(site.library).unwrap().methods();
        let all = edits(methods.iter().find(|m| m.name == site.calls.text()).unwrap());
        all.into_iter().map(move |edit| (site.clone(), edit))
    };
    let all = sites(&*published, &entry.below, &calls(entry)).into_iter().flat_map(of_site);
    all.map(|(site, Edit { name, change })| {
        let words = format!("{site} {name}");
        let edited = Edited::at(published.clone(), site, change);
        let seen = edited.clone();
        Mutant { words, implementation: Arc::new(edited), differs: Box::new(move || seen.differs()) }
    })
    .collect()
}

/// Each edit that is made only when a datum is a small number.
fn conditional(entry: &Entry) -> Vec<Mutant> {
    let published = entry.variants[0].implementation.clone();
    let below = Arc::new(entry.below.clone());
    let calls = calls(entry);
    let methods = calls.iter().map(|(.., call)| call).unique_by(|call| call.method);
    let of_method = |call: &Call| {
        let arguments = call.args.iter().positions(|v| v.is_data()).map(On::Argument);
        let data: Vec<On> = arguments.chain((0..4).map(On::Result)).collect();
        let does: Vec<Does> = [Does::Return, Does::Leave].into_iter().chain((0..6).map(Does::Skip)).collect();
        let method = call.method;
        iproduct!(data, 0..4, does).map(move |(on, equals, does)| Conditional { method, on, equals, does })
    };
    let mutant = |of: Conditional| {
        let differs = Arc::new(AtomicBool::new(false));
        let walk = Walk { of, below: Arc::clone(&below), differs: Arc::clone(&differs) };
        let words = format!("{of:?}");
        let edited = published.clone().around(&words, move |here, body| {
            (here.call.method == of.method).then(|| walk.body(&here.call, &body(here.call.clone())))
        });
        let differs = Box::new(move || differs.load(Ordering::Relaxed));
        Mutant { words, implementation: Arc::new(edited), differs }
    };
    methods.flat_map(of_method).map(mutant).collect()
}

/// A datum of a call.
#[derive(Clone, Copy, Debug)]
enum On {
    /// An argument.
    Argument(usize),
    /// What the calls of its body return, without those that return nothing.
    Result(usize),
}

/// What is done when a datum has a value.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// Another value is returned.
    Return,
    /// The loop is left.
    Leave,
    /// The call of the body before which there are so many is skipped.
    Skip(usize),
}

/// A conditional edit of the bodies of a method.
#[derive(Clone, Copy, Debug)]
struct Conditional {
    method: Name,
    on: On,
    equals: i64,
    does: Does,
}

/// Goes through a body, and makes the edit where its condition holds.
#[derive(Clone)]
struct Walk {
    of: Conditional,
    below: Arc<Libraries>,
    differs: Arc<AtomicBool>,
}

/// Where a run of a body is: how many calls and results came before, whether the condition holds, and whether it is in a loop. What comes
/// in a loop is not counted for what follows it.
#[derive(Clone, Copy, Default)]
struct Place {
    calls: usize,
    results: usize,
    holds: bool,
    in_loop: bool,
}

/// What follows a value at a place.
type Then = Arc<dyn Fn(Val, Place) -> Prog + Send + Sync>;

impl Walk {
    fn body(&self, call: &Call, body: &Prog) -> Prog {
        let holds = matches!(self.of.on, On::Argument(i) if call.args[i] == Val::Int(self.of.equals));
        let walk = self.clone();
        let end: Then = Arc::new(move |v, place| Prog::Val(walk.returned(v, place)));
        self.walk(body, Place { holds, ..Place::default() }, &end)
    }

    fn note(&self) {
        self.differs.store(true, Ordering::Relaxed);
    }

    fn returned(&self, v: Val, place: Place) -> Val {
        let other = match v {
            Val::Int(7) => Val::Int(0),
            Val::Int(_) | Val::Bot => Val::Int(7),
            Val::Bool(b) => Val::Bool(!b),
            other => other,
        };
        if !place.holds || !matches!(self.of.does, Does::Return) || other == v {
            return v;
        }
        self.note();
        other
    }

    fn walk(&self, program: &Prog, place: Place, then: &Then) -> Prog {
        match program {
            Prog::Val(v) => then(*v, place),
            Prog::Break(..) | Prog::Bound => program.clone(),
            Prog::Call(call) => self.call(call, place, then),
            Prog::Let(both) => {
                let (walk, rest, then): (Self, Arc<Let>, Then) = (self.clone(), Arc::clone(both), Arc::clone(then));
                let rest: Then = Arc::new(move |v, place| walk.walk(&(rest.then)(v), place, &then));
                self.walk(&both.first, place, &rest)
            }
            Prog::Loop(body) => {
                let end: Then = Arc::new(|v, _| Prog::Val(v));
                let round = self.walk(body, Place { in_loop: true, ..place }, &end);
                let then = Arc::clone(then);
                round.repeat().bind(move |v| then(v, place))
            }
        }
    }

    fn call(&self, call: &Arc<Call>, place: Place, then: &Then) -> Prog {
        let methods = self.below.get(call.library).map_or(&[][..], |library| library.methods());
        let has_result = method::find(methods, call).is_some_and(|m| m.returns != Returns::Nothing);
        let next = Place { calls: place.calls + 1, results: place.results + usize::from(has_result), ..place };
        if place.holds && matches!(self.of.does, Does::Skip(nth) if nth == place.calls) {
            self.note();
            return then(if has_result { Val::Int(0) } else { Val::Unit }, next);
        }
        let (walk, then) = (self.clone(), Arc::clone(then));
        Prog::Call(Arc::clone(call)).bind(move |v| {
            let is_it = matches!(walk.of.on, On::Result(nth) if has_result && nth == place.results);
            let holds = place.holds || is_it && v == Val::Int(walk.of.equals);
            if holds && place.in_loop && matches!(walk.of.does, Does::Leave) {
                walk.note();
                return Prog::Break(1, v);
            }
            then(v, Place { holds, ..next })
        })
    }
}
