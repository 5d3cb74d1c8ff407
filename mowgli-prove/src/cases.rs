//! Proofs by cases.
//!
//! **Computes**: for an obligation, whether the theory implies it ([`CaseResult`]), with the number of solver questions.
//!
//! **Invariant**: the children of a case cover it. A subevent has one of the roles of the templates. The source of a
//! read has one of these roles too, or the read has no source. An element that a given formula may assert exists, with
//! one of the roles, or does not exist. So an obligation is proved once the solver refutes the negated goal in every
//! leaf.
//!
//! **Example**: a call of `slock` is an acquire or a release. The obligation that it is one of the two has a case for
//! each kind. Both hold by definition, so the solver is not asked (test
//! `an_obligation_that_holds_by_definition_asks_no_solver`).
//!
//! **Correct because**: the cases are exhaustive, and each leaf is refuted from instances (`ground.rs`), which follow
//! from the theory. See `docs/prove.md`, "Cases and instances". The tests `calls_have_one_of_the_kinds` and
//! `subevents_have_one_of_the_roles` would fail if a case were missing.
//!
//! **Cost**: an obligation about n subevents starts with up to r^n cases, for r roles. A case splits on at most three
//! sources of reads. Most questions before a leaf are cheap, because Z3 may take only two steps for each of their
//! characters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use itertools::Itertools;
use rayon::prelude::*;

use crate::model::aliases::{Area, Areas};
use crate::model::{ABS, LibraryTheory, ROUND, SUB, Thing, ended, ends_of, own, the, thread};
use crate::smt::encode::Partner;
use crate::smt::ground::Ground;
use crate::smt::prepared::PreparedTheory;
use crate::smt::solve::{Effort, Query, SolverAnswer, SolverLimit, SolverProgram, ask_all};
use crate::smt::term::{
    BoundVariable, Obligation, Term, Theory, TheoryStatement, any, app, implies, not, symbol, truth,
};
use crate::template::kind::{Kind, Role};
use crate::template::pattern::Each;

/// The maximal number of reads in one case whose sources are split, because each split multiplies the cases by the number of
/// roles that write.
const DEEPEST: usize = 3;

/// A limit that is never reached, because [`Cases::is_about_nothing`] asks no solver.
const ONLY_GIVEN: SolverLimit = SolverLimit::of(u64::MAX);

/// The steps of a question without case splits. They are few, because a question that needs more is split instead.
const PLAIN: u64 = SolverLimit::SECOND;

/// The steps that count for a case before its question goes to a solver.
const CASE: u64 = 1000;

/// The facts and names of one case.
#[derive(Clone, Default)]
struct CaseFacts<'r> {
    /// The constants, with their sorts.
    constants: Vec<(String, String)>,
    /// The calls with the positions of their kinds.
    calls: Vec<(Term, usize)>,
    given: Vec<Term>,
    /// The reads whose sources have been split.
    reported: Vec<Term>,
    /// The possible elements that have been split: the variable, and the statement about it.
    there: Vec<(BoundVariable, Term)>,
    /// The areas of the named subevents; `None` if subevents of all areas are named.
    areas: Option<Arc<BTreeSet<Area>>>,
    /// The splits that lead to this case, in order.
    split: Vec<String>,
    /// The instances of the case that this one is a part of.
    before: Option<Arc<Before<'r>>>,
}

/// The instances for the first calls and given formulas of a case.
struct Before<'r> {
    ground: Ground<'r>,
    calls: usize,
    given: usize,
}

/// A procedure that decides questions about a theory, case by case.
pub struct Cases<'a> {
    model: &'a LibraryTheory<'a>,
    ready: PreparedTheory,
    /// True if the theory speaks of promises.
    with_promises: bool,
    program: SolverProgram,
    limit: SolverLimit,
    /// True if questions are kept.
    keep: bool,
    areas: Areas,
    /// For each kind of calls the kind of its matching call, where that is known.
    partners: BTreeMap<usize, usize>,
}

/// The result for an obligation.
pub struct CaseResult {
    /// The verdict: whether the obligation follows.
    pub answer: SolverAnswer,
    /// The approximate number of questions to the solver.
    pub asked: usize,
    /// The number of questions that closed a case with `unsat`. The other cases hold by definition.
    pub closing: usize,
    /// The questions that close the cases, if questions are kept.
    pub kept: Vec<Query>,
}

/// The shared state of a proof by cases.
struct CaseProgress<'p> {
    asked: AtomicUsize,
    closing: AtomicUsize,
    kept: Mutex<Vec<Query>>,
    /// True if the proof only checks whether the hypothesis is false by definition in every case. Then no solver is
    /// asked.
    only_given: bool,
    open: Mutex<Option<SolverAnswer>>,
    /// The steps that are left.
    left: AtomicU64,
    /// The proof of which this one is a part.
    whole: Option<&'p CaseProgress<'p>>,
}

impl<'p> CaseProgress<'p> {
    fn new(limit: SolverLimit, whole: Option<&'p Self>) -> Self {
        let (asked, closing, kept, open) = Default::default();
        Self { asked, closing, kept, only_given: false, open, left: AtomicU64::new(limit.steps), whole }
    }

    /// Takes steps off those that are left.
    fn spend(&self, steps: u64) {
        let less = |left: u64| Some(left.saturating_sub(steps));
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    fn keep(&self, questions: impl IntoIterator<Item = Query>) {
        self.kept.lock().expect("no thread panics with it").extend(questions);
    }

    /// Returns the kept questions, in the order of the splits.
    fn kept(self) -> Vec<Query> {
        let mut kept = self.kept.into_inner().expect("no thread panics with it");
        kept.sort_by(|a, b| a.split.cmp(&b.split));
        kept
    }

    /// True if some case of this proof, or of the whole, is not shown.
    fn is_open(&self) -> bool {
        self.answer().is_some() || self.whole.is_some_and(CaseProgress::is_open)
    }

    fn answer(&self) -> Option<SolverAnswer> {
        self.open.lock().expect("no thread panics with it").clone()
    }

    /// Records that a case is not shown.
    fn leave_open(&self, answer: SolverAnswer) {
        self.open.lock().expect("no thread panics with it").get_or_insert(answer);
    }
}

impl<'a> Cases<'a> {
    /// Prepares questions about a theory. `limit` is for each part of a goal.
    #[must_use]
    pub fn new(model: &'a LibraryTheory<'a>, theory: &Theory, program: SolverProgram, limit: SolverLimit) -> Self {
        let speaks = |s: &TheoryStatement| matches!(s, TheoryStatement::Function(name, ..) if name == "abs.role");
        let with_promises = theory.0.iter().any(speaks);
        let ready = PreparedTheory::new(theory, &model.typed());
        let partners = partners(model, &ready);
        let areas = Areas::of(model.kinds);
        Self { model, ready, with_promises, program, limit, keep: false, areas, partners }
    }

    /// Returns the same with questions kept or not.
    #[must_use]
    pub fn keeping(self, keep: bool) -> Self {
        Self { keep, ..self }
    }

    /// Counts the last question of a case, and keeps it if questions are kept.
    fn keep(&self, scene: &CaseFacts<'_>, question: &Theory, answer: &SolverAnswer, progress: &CaseProgress<'_>) {
        progress.closing.fetch_add(usize::from(*answer == SolverAnswer::Follows), Ordering::Relaxed);
        let asked = || Query::case(self.program, scene.split.clone(), question, answer.clone());
        progress.keep(self.keep.then(asked));
    }

    /// Adds a call of a kind, with the matching call that the client must make.
    fn add_call(&self, scene: &mut CaseFacts<'_>, name: &str, k: usize) -> Term {
        let call = scene.add_call(self.model, name, k);
        if let Some(&l) = self.partners.get(&k) {
            let partner = scene.add_call(self.model, &format!("{name}.partner"), l);
            let kinds = &self.model.kinds;
            scene.given.extend(self.model.partners((&kinds[k], call.clone()), (&kinds[l], partner)));
        }
        call
    }

    /// Adds a subevent or promise of a role, with its call. Returns the term for it.
    fn add(&self, scene: &mut CaseFacts<'_>, name: &str, k: usize, role: &Role) -> Term {
        let call = self.add_call(scene, &format!("{name}.call"), k);
        let mut constant = |sort: &str| {
            scene.constants.push((format!("{name}.at"), sort.to_owned()));
            symbol(&format!("{name}.at"))
        };
        let at = match role.each {
            Some(Each::Nodes(_)) => constant("Node"),
            Some(Each::Members(_)) => constant("Thread"),
            Some(Each::Ended(event)) => ended(event, &call),
            Some(Each::Rounds) => constant(ROUND),
            None => own(&call),
        };
        let kind = &self.model.kinds[k];
        scene.given.push(self.model.valid(kind, role, &call, &at));
        // State at least the role of a subevent of another area, because that often suffices to refute the case.
        if !self.is_named(scene, role) {
            scene.given.push(self.model.there_is(kind, role, SUB, &call, &at));
        }
        app(&format!("the.{}", role.name), [call, at])
    }

    /// Decides an obligation. `Fails` and `Unknown` leave open whether it follows, because the cases use instances
    /// only.
    #[must_use]
    pub fn decide(&self, of: &Obligation) -> CaseResult {
        if let Some(decided) = self.plainly(of) {
            return decided;
        }
        let progress = CaseProgress::new(self.limit, None);
        self.start(of, 0, &CaseFacts::default(), &BTreeMap::new(), &progress);
        let answer = progress.answer().unwrap_or(SolverAnswer::Follows);
        let [asked, closing] = [&progress.asked, &progress.closing].map(|count| count.load(Ordering::Relaxed));
        CaseResult { answer, asked, closing, kept: progress.kept() }
    }

    /// True if the hypothesis is false by definition in every case.
    #[must_use]
    pub fn is_about_nothing(&self, of: &Obligation) -> bool {
        let progress = CaseProgress { only_given: true, ..CaseProgress::new(ONLY_GIVEN, None) };
        self.start(of, 0, &CaseFacts::default(), &BTreeMap::new(), &progress);
        progress.answer().is_none()
    }

    /// Decides an obligation about three or more subevents or promises without case splits, because it has too many
    /// cases. An example is that an order pulled back along g is transitive. Returns `None` if it does not follow.
    fn plainly(&self, of: &Obligation) -> Option<CaseResult> {
        let things = of.of.iter().filter(|(_, sort)| [SUB, ABS].contains(sort));
        if things.count() < 3 {
            return None;
        }
        let mut ground = Ground::new(&self.ready).recording(self.keep);
        ground.given(&of.from);
        ground.given(&not(of.to.clone()));
        if ground.is_refuted() {
            return Some(CaseResult { answer: SolverAnswer::Follows, asked: 0, closing: 0, kept: Vec::new() });
        }
        let constants: Vec<(String, String)> =
            of.of.iter().map(|(name, sort)| (name.clone(), (*sort).to_owned())).collect();
        let question = ground.theory(&constants);
        let (answer, _) = ask_all(self.program, &question, self.limit.at_most(PLAIN), Effort::Full);
        let kept = self.keep.then(|| Query::case(self.program, Vec::new(), &question, answer.clone()));
        (answer == SolverAnswer::Follows).then(|| CaseResult {
            answer,
            asked: 1,
            closing: 1,
            kept: kept.into_iter().collect(),
        })
    }

    /// Names the constants of an obligation, from the `n`-th on.
    fn start<'r>(
        &'r self,
        of: &Obligation,
        n: usize,
        scene: &CaseFacts<'r>,
        by: &BTreeMap<String, Term>,
        progress: &CaseProgress<'_>,
    ) {
        let from = of.from.with(by);
        let mut scene = scene.clone();
        if n > 0 {
            let ground = self.first(&scene);
            // Check on a clone, because the formula may contain constants without a name, which must leave no trace.
            if ground.clone().is_known(&from) == Some(false) {
                return;
            }
            scene.goes_on_from(ground);
        }
        match of.of.get(n) {
            None if progress.only_given => {
                scene.given.push(from);
                if !self.whole(&scene, &truth(false)).is_refuted() {
                    progress.leave_open(SolverAnswer::Fails);
                }
            }
            None => {
                scene.given.push(from);
                self.parts(&scene, &of.to.with(by)).iter().for_each(|to| self.close_part(&scene, to, progress));
            }
            Some((name, sort)) if [SUB, ABS].contains(sort) => {
                self.roles(sort).into_par_iter().for_each(|(k, role)| {
                    if !progress.is_open() {
                        let (mut scene, mut by) = (scene.clone(), by.clone());
                        by.insert(name.clone(), self.add(&mut scene, name, k, role));
                        scene.split.push(format!("{name} is {}", role.name));
                        self.start(of, n + 1, &scene, &by, progress);
                    }
                });
            }
            Some((name, "Call")) => (0..self.model.kinds.len()).for_each(|k| {
                let mut scene = scene.clone();
                self.add_call(&mut scene, name, k);
                scene.split.push(format!("{name} is a call {}", self.model.kinds[k].name));
                self.start(of, n + 1, &scene, by, progress);
            }),
            Some((name, sort)) => {
                scene.constants.push((name.clone(), (*sort).to_owned()));
                self.start(of, n + 1, &scene, by, progress);
            }
        }
    }

    /// Returns the roles of a sort, with the positions of their kinds of calls.
    fn roles(&self, sort: &str) -> Vec<(usize, &'a Role)> {
        let of = |kind: &'a Kind| if sort == SUB { &kind.concrete } else { &kind.abstract_ };
        let kinds = self.model.kinds.iter().enumerate();
        kinds.flat_map(|(k, kind)| of(kind).iter().map(move |role| (k, role))).collect()
    }

    /// Returns the facts about the elements that exist for certain. Elements that may be absent get no name.
    fn first<'r>(&'r self, scene: &CaseFacts<'r>) -> Ground<'r> {
        let before = scene.before.as_deref();
        let mut ground =
            before.map_or_else(|| Ground::new(&self.ready).recording(self.keep), |before| before.ground.continued());
        let [calls, given] = before.map_or([0, 0], |before| [before.calls, before.given]);
        let kinds = &self.model.kinds;
        for (call, k) in &scene.calls[calls..] {
            ground.given(&self.model.is_kind(&kinds[*k], call));
            ground.given(&self.model.takes_part(&kinds[*k], call));
        }
        let [nodes, threads, rounds] = scene.places(self.model);
        rounds.iter().for_each(|round| ground.name(ROUND, round));
        nodes.iter().for_each(|node| ground.name("Node", node));
        threads.iter().for_each(|thread| ground.name("Thread", thread));
        scene.calls[calls..].iter().for_each(|(call, _)| ground.name("Call", call));
        let mut things = self.possible(scene);
        things.retain(|thing| !ground.is_named(thing.sort, &thing.thing));
        let mut given = scene.given[given..].iter();
        // Name the elements that are now known to exist first, so that the next formula gets instances for them.
        loop {
            things.retain(|thing| {
                let is_there = ground.is_known(&thing.given) == Some(true);
                if is_there {
                    ground.given(&thing.facts);
                    ground.name(thing.sort, &thing.thing);
                }
                !is_there
            });
            match given.next() {
                Some(formula) if !ground.is_refuted() => ground.given(formula),
                _ => return ground,
            }
        }
    }

    fn possible(&self, scene: &CaseFacts<'_>) -> Vec<Thing> {
        let [nodes, threads, rounds] = scene.places(self.model);
        let places = [&nodes[..], &threads, &rounds];
        let is_named = |role: &Role| self.is_named(scene, role);
        let of = |(call, k): &(Term, usize)| self.model.things(call, *k, places, self.with_promises, &is_named);
        scene.calls.iter().flat_map(of).collect()
    }

    /// True if the subevents of a role are named.
    fn is_named(&self, scene: &CaseFacts<'_>, role: &Role) -> bool {
        match (&scene.areas, self.areas.of_role(role)) {
            (Some(named), Some(area)) => named.contains(&area),
            _ => true,
        }
    }

    /// Returns the subevents and promises that the calls have for certain.
    fn things(&self, scene: &CaseFacts<'_>, ground: &mut Ground<'_>) -> Vec<Thing> {
        let mut things = self.possible(scene);
        things.retain(|thing| ground.is_known(&thing.given) == Some(true));
        things
    }

    fn whole<'r>(&'r self, scene: &CaseFacts<'r>, to: &Term) -> Ground<'r> {
        let mut ground = self.first(scene);
        ground.given(&not(to.clone()));
        if !ground.is_refuted() {
            ground.instantiate();
        }
        ground
    }

    /// Decides a part of a goal. The first attempt names only subevents of the areas in the goal, for at most half of
    /// the steps.
    fn close_part<'r>(&'r self, scene: &CaseFacts<'r>, to: &Term, progress: &CaseProgress<'_>) {
        let attempt = |areas: Option<Arc<BTreeSet<Area>>>, limit: SolverLimit| {
            let attempt = CaseProgress::new(limit, Some(progress));
            let is_first = areas.is_some();
            let before = if areas.is_some() { None } else { scene.before.clone() };
            self.close(&CaseFacts { areas, before, ..scene.clone() }, to, &attempt);
            progress.asked.fetch_add(attempt.asked.load(Ordering::Relaxed), Ordering::Relaxed);
            let answer = attempt.answer();
            // The questions of a failed first attempt close no case, because the second attempt repeats it with more
            // names.
            if answer.is_none() || !is_first {
                progress.closing.fetch_add(attempt.closing.load(Ordering::Relaxed), Ordering::Relaxed);
                progress.keep(attempt.kept());
            }
            answer
        };
        let areas = self.areas.spoken_of(to);
        if progress.is_open()
            || areas
                .is_some_and(|areas| attempt(Some(areas.into()), self.limit.at_most(self.limit.steps / 2)).is_none())
        {
            return;
        }
        if let Some(answer) = attempt(None, self.limit) {
            progress.leave_open(answer);
        }
    }

    /// Returns the conjuncts of a goal: an equality of tuples becomes an equality for each word.
    ///
    /// The promises alone often show which tuples a promise has. If they do not, the whole case is used.
    fn parts<'r>(&'r self, scene: &CaseFacts<'r>, to: &Term) -> Vec<Term> {
        if !self.ready.has_tuples() || !is_of_values(to) {
            return vec![to.clone()];
        }
        let alone = CaseFacts { areas: Some(Arc::default()), before: None, ..scene.clone() };
        let words =
            [&alone, scene].into_iter().find_map(|scene| match self.whole(scene, &truth(false)).simplified(to) {
                Term::App(name, words) if &*name == "and" => Some(words),
                _ => None,
            });
        words.unwrap_or_else(|| vec![to.clone()])
    }

    /// Decides one case. If it needs a split, the possible elements come first, and then the sources of reads.
    fn close<'r>(&'r self, scene: &CaseFacts<'r>, to: &Term, progress: &CaseProgress<'_>) {
        progress.spend(CASE);
        if progress.left.load(Ordering::Relaxed) == 0 {
            return progress.leave_open(SolverAnswer::out_of_steps());
        }
        let mut ground = self.whole(scene, to);
        if ground.is_refuted() {
            return;
        }
        let question = ground.theory(&scene.constants);
        let ask = |effort: Effort| {
            progress.asked.fetch_add(1, Ordering::Relaxed);
            // Zero would mean that there is no limit.
            let left = progress.left.load(Ordering::Relaxed).max(1);
            let (answer, steps) = ask_all(self.program, &question, self.limit.at_most(left), effort);
            progress.spend(steps);
            answer
        };
        if ask(Effort::Little) == SolverAnswer::Follows {
            return self.keep(scene, &question, &SolverAnswer::Follows, progress);
        }
        let is_new = |(of, said, _): &(BoundVariable, Term, bool)| {
            [SUB, ABS, "Call"].contains(&&*of.1) && !scene.there.iter().any(|known| (&known.0, &known.1) == (of, said))
        };
        let one = |(of, said, is_there): (Vec<BoundVariable>, Term, bool)| {
            <[BoundVariable; 1]>::try_from(of).ok().map(|[of]| (of, said, is_there))
        };
        let there = ground.there().into_iter().filter_map(one).find(is_new);
        let is_reported = there.is_none() && scene.reported.len() < DEEPEST;
        let read = is_reported.then(|| self.next_read(scene, &mut ground, to)).flatten();
        let mut scene = scene.clone();
        scene.goes_on_from(ground);
        match (there, read) {
            (Some((of, said, is_there)), _) => {
                scene.there.push((of.clone(), said.clone()));
                self.both(&scene, &of, &said, is_there, to, progress);
            }
            (None, Some((rf, read))) => {
                scene.reported.push(read.clone());
                let source = ("source".to_owned(), SUB.to_owned());
                self.both(&scene, &source, &app(&rf, [symbol("source"), read]), false, to, progress);
            }
            (None, None) => {
                let answer = ask(Effort::Full);
                self.keep(&scene, &question, &answer, progress);
                match answer {
                    SolverAnswer::Follows => {}
                    SolverAnswer::Fails => {
                        progress.leave_open(SolverAnswer::Unknown("not shown by instances".to_owned()))
                    }
                    why => progress.leave_open(why),
                }
            }
        }
    }

    /// Splits a case: either no element satisfies a statement, or an element with one of the roles does. Decides each
    /// part.
    fn both<'r>(
        &'r self,
        scene: &CaseFacts<'r>,
        of: &BoundVariable,
        said: &Term,
        is_there: bool,
        to: &Term,
        progress: &CaseProgress<'_>,
    ) {
        let mut cases = Vec::new();
        if !is_there {
            let mut without = scene.clone();
            without.given.push(not(any(&[(&of.0, &of.1)], said.clone())));
            without.split.push(format!("no {} has {said}", of.0));
            cases.push(without);
        }
        if of.1 == "Call" {
            for k in 0..self.model.kinds.len() {
                let (mut scene, name) = (scene.clone(), format!("{}.{}", of.0, scene.calls.len()));
                let call = self.add_call(&mut scene, &name, k);
                scene.split.push(format!("{name}, a call {}, has {said}", self.model.kinds[k].name));
                scene.given.push(said.with(&[(of.0.clone(), call)].into()));
                cases.push(scene);
            }
        }
        for (k, role) in if of.1 == "Call" { Vec::new() } else { self.roles(&of.1) } {
            let mut scene = scene.clone();
            let name = format!("{}.{}", of.0, scene.calls.len());
            let thing = self.add(&mut scene, &name, k, role);
            scene.split.push(format!("{name}, which is {}, has {said}", role.name));
            let said = said.with(&[(of.0.clone(), thing)].into());
            scene.given.push(said);
            cases.push(scene);
        }
        cases.par_iter().for_each(|case| {
            if !progress.is_open() {
                self.close(case, to, progress);
            }
        });
    }

    /// Returns the next read whose source to split, in this order of preference:
    ///
    /// a read that the goal names; a read whose value was split before, in the call of a source that was split; a read
    /// whose value the goal has; a read of the cell of a known source, before it in its thread or in its event, because
    /// coherence relates the two; a read that is about the indices of the obligation, or whose value was split; any read
    /// without a known source.
    fn next_read(&self, scene: &CaseFacts<'_>, ground: &mut Ground<'_>, to: &Term) -> Option<(String, Term)> {
        // The goal as a whole is useless here, because its negation is given and so it simplifies to false.
        let parts = if let Term::App(_, parts) = to { &parts[..] } else { &[] };
        let goal: String = parts.iter().map(|part| ground.simplified(part).to_string()).collect();
        let things = self.things(scene, ground);
        let mut value = |read: &Term| ground.simplified(&app("read", [read])).to_string();
        let reported: Vec<String> = scene.reported.iter().map(&mut value).collect();
        // The known sources of split reads, and their calls.
        let (mut found, mut behind) = (Vec::new(), Vec::new());
        for (read, thing) in scene.reported.iter().cartesian_product(&things) {
            let mut is_source = |rf: &String| ground.is_known(&app(rf, [&thing.thing, read])) == Some(true);
            let mut relations = things.iter().filter(|t| t.thing == *read).filter_map(|t| t.source.as_ref());
            if thing.writes && relations.any(&mut is_source) {
                behind.push(ground.simplified(&app("call", [&thing.thing])));
                found.push(&thing.thing);
            }
        }
        let mut open = Vec::new();
        for thing in things.iter().filter(|thing| !scene.reported.contains(&thing.thing)) {
            let (read, Some(rf)) = (&thing.thing, &thing.source) else { continue };
            let mut sources = things.iter().filter(|t| t.writes).map(|t| app(rf, [&t.thing, read]));
            if !sources.any(|is_source| ground.is_known(&is_source) == Some(true)) {
                let value = ground.simplified(&app("read", [read])).to_string();
                let is_spoken_of = goal.contains(&value) || goal.contains(&read.to_string());
                let is_named = to.to_string().contains(&read.to_string());
                let is_next = reported.contains(&value) || scene.is_about(read);
                let call = ground.simplified(&app("call", [read]));
                let is_behind = reported.contains(&value) && behind.contains(&call);
                let mut is_before = |source: &Term| {
                    let pair = [read.clone(), source.clone()];
                    let mut are = |of: &str| ground.is_known(&app(of, &pair)) == Some(true);
                    are("same.cell") && (are("po") || are("same.event"))
                };
                let is_before = found.iter().any(|source| is_before(source));
                open.push(((!is_named, !is_behind, !is_spoken_of, !is_before, !is_next), rf.clone(), read.clone()));
            }
        }
        let (_, rf, read) = open.into_iter().min_by_key(|(last, ..)| *last)?;
        Some((rf, read))
    }
}

impl<'r> CaseFacts<'r> {
    /// Stores the known instances, so that the parts of this case extend them.
    fn goes_on_from(&mut self, ground: Ground<'r>) {
        let (calls, given) = (self.calls.len(), self.given.len());
        self.before = Some(Arc::new(Before { ground, calls, given }));
    }

    /// Returns the named nodes, threads and iterations: the indices of subevents, and those of calls and their objects.
    fn places(&self, model: &LibraryTheory<'_>) -> [Vec<Term>; 3] {
        let named = |of: &str| {
            let alike = self.constants.iter().filter(move |(_, sort)| sort == of);
            alike.map(|(name, _)| symbol(name)).collect::<Vec<Term>>()
        };
        let [mut nodes, mut threads, rounds] = ["Node", "Thread", ROUND].map(named);
        threads.extend(self.calls.iter().map(|(call, _)| thread(call)));
        threads.extend(self.calls.iter().flat_map(|(call, k)| model.last_members(*k, call)));
        let of_nodes = |(call, k): &(Term, usize)| {
            nodes.iter().flat_map(|node| model.members_at(*k, call, node)).collect::<Vec<Term>>()
        };
        threads.extend(self.calls.iter().flat_map(of_nodes));
        let ends = |(call, k): &(Term, usize)| {
            ends_of(&model.kinds[*k]).into_iter().map(|event| ended(event, call)).collect::<Vec<Term>>()
        };
        threads.extend(self.calls.iter().flat_map(ends));
        nodes.extend(self.calls.iter().map(|(call, _)| own(call)));
        [nodes, if model.has_members() { threads } else { Vec::new() }, rounds]
    }

    /// True if the index of a subevent is a constant of the obligation.
    fn is_about(&self, sub: &Term) -> bool {
        let Term::App(_, to) = sub else { return false };
        // Constants that a split added have a dot in their names.
        let own = self.constants.iter().filter(|(name, _)| !name.contains('.'));
        to.last().is_some_and(|at| own.into_iter().any(|(name, _)| *at == symbol(name)))
    }

    /// Adds a call of a kind. Returns the term for it.
    fn add_call(&mut self, model: &LibraryTheory<'_>, name: &str, k: usize) -> Term {
        let call = symbol(name);
        self.constants.push((name.to_owned(), "Call".to_owned()));
        self.calls.push((call.clone(), k));
        self.given.push(model.is_kind(&model.kinds[k], &call));
        call
    }
}

/// True if a term is an equality with a value of a subevent or promise.
fn is_of_values(term: &Term) -> bool {
    let is_value = |term: &Term| {
        let Term::App(name, _) = term else { return false };
        ["read", "wrote", "initial"].contains(&name.strip_prefix("abs.").unwrap_or(name))
    };
    matches!(term, Term::App(name, sides) if &**name == "=" && sides.iter().any(is_value))
}

/// Returns the kinds of calls whose matching call has just one possible kind, with that kind. The matching call is some
/// promise, so the search tries all promises.
fn partners(model: &LibraryTheory<'_>, ready: &PreparedTheory) -> BTreeMap<usize, usize> {
    let kinds = model.kinds;
    let known = |k: usize, l: usize, formula: &Term| {
        let mut scene = CaseFacts::default();
        for (name, k) in [("c", k), ("d", l)] {
            scene.add_call(model, name, k);
        }
        let mut ground = Ground::new(ready);
        for (call, k) in &scene.calls {
            ground.given(&model.is_kind(&kinds[*k], call));
            let there = [symbol("some.at"), own(call)];
            for thing in
                model.things(call, *k, [&there, &[], &[]], true, &|_| true).into_iter().filter(|t| t.sort == ABS)
            {
                ground.given(&implies(thing.given, thing.facts));
            }
        }
        ground.is_known(formula)
    };
    let [c, d] = ["c", "d"].map(symbol);
    let matched_by = |partner: &Partner, k: usize, promise: &Role| {
        let a = the(promise, &c, &own(&c));
        if known(k, k, &app(&partner.of, [&a])) != Some(true) {
            return None;
        }
        let mut assumption = BTreeSet::new();
        for (l, other) in kinds.iter().enumerate().flat_map(|(l, kind)| kind.abstract_.iter().map(move |q| (l, q))) {
            let at = if other.each.is_some() { symbol("some.at") } else { own(&d) };
            let may_be = known(k, l, &partner.is(&a, &the(other, &d, &at))) != Some(false);
            assumption.extend(may_be.then_some((l, other.each.is_none())));
        }
        if let Ok((l, true)) = assumption.into_iter().exactly_one() { Some(l) } else { None }
    };
    let of_kind = |k: usize| {
        let promises = kinds[k].abstract_.iter().filter(|p| p.each.is_none());
        let matching = model.matching();
        let mut assumption =
            promises.cartesian_product(&matching).filter_map(|(p, (_, partner))| matched_by(partner, k, p));
        assumption.next().map(|l| (k, l))
    };
    if model.has_assumptions() { (0..kinds.len()).filter_map(of_kind).collect() } else { BTreeMap::new() }
}

#[cfg(test)]
mod tests {
    use mowgli_libraries::catalogue::{catalogue, named};

    use super::*;
    use crate::smt::term::{and, equal, or};
    use crate::template::source::ProofSource;

    /// Builds the cases of the lock `slock`, whose calls are of two kinds, and passes them to `ask`.
    fn of_slock<T>(ask: impl FnOnce(&LibraryTheory<'_>, &Cases<'_>) -> T) -> T {
        let all = catalogue();
        let source = ProofSource::published(named(&all, "slock").unwrap());
        let kinds = source.kinds().unwrap();
        assert_eq!(kinds.len(), 2);
        let model = LibraryTheory::new(&source, &kinds).unwrap();
        ask(&model, &Cases::new(&model, &model.below, SolverProgram::Z3, SolverLimit::of(60 * SolverLimit::SECOND)))
    }

    fn obligation(of: (&str, &'static str), from: Term, to: Term) -> Obligation {
        Obligation::new("of a test", &[of], from, to)
    }

    /// A call is an acquire or a release. If it is neither, every case is contradictory; if it is not an acquire, one
    /// case is left.
    #[test]
    fn calls_have_one_of_the_kinds() {
        of_slock(|model, cases| {
            let is = |k: usize| model.is_kind(&model.kinds[k], &symbol("c"));
            let is_about_nothing = |from: Term| cases.is_about_nothing(&obligation(("c", "Call"), from, truth(false)));
            assert!(is_about_nothing(and([not(is(0)), not(is(1))])));
            assert!(is_about_nothing(and([is(0), is(1)])));
            assert!(!is_about_nothing(not(is(0))));
            assert!(!is_about_nothing(truth(true)));
        });
    }

    /// A subevent is one of the roles of the templates, each of which is of one kind of calls.
    #[test]
    fn subevents_have_one_of_the_roles() {
        of_slock(|model, cases| {
            let of = app("call", [symbol("s")]);
            let is_not = |k: usize| not(model.is_kind(&model.kinds[k], &of));
            let is_about_nothing = |from: Term| cases.is_about_nothing(&obligation(("s", SUB), from, truth(false)));
            assert!(is_about_nothing(and([is_not(0), is_not(1)])));
            assert!(!is_about_nothing(is_not(0)));
        });
    }

    /// The definition decides each case, so no solver gets a question.
    #[test]
    fn an_obligation_that_holds_by_definition_asks_no_solver() {
        of_slock(|model, cases| {
            let is = |k: usize| model.is_kind(&model.kinds[k], &symbol("c"));
            let decided = cases.decide(&obligation(("c", "Call"), truth(true), or([is(0), is(1)])));
            assert_eq!((decided.answer, decided.asked, decided.closing), (SolverAnswer::Follows, 0, 0));
        });
    }

    #[test]
    fn values_of_subevents_and_promises_are_reported_from_other_terms() {
        let of = |name: &str| app(name, [symbol("s")]);
        assert!(is_of_values(&equal(of("read"), symbol("v"))));
        assert!(is_of_values(&equal(symbol("v"), of("abs.wrote"))));
        assert!(!is_of_values(&equal(of("call"), symbol("v"))));
        assert!(!is_of_values(&of("read")));
    }
}
