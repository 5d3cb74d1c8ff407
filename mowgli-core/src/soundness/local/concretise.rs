//! Concretisations of one client's calls: g and so' for the present bounds of hb (LOCO Def. 3.13).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::rc::Rc;

use itertools::Itertools;

use crate::event::Event;
use crate::ids::Name;
use crate::library::Libraries;
use crate::search::prepared::{Prepared, StampNeighbours};
use crate::search::relation::Matrix;
use crate::search::solver::{Flow, Solver};
use crate::stamp::Stamp;

/// The reason why there is no concretisation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The specification does not allow the call at all.
    NoStamps(String),
    /// No subevent of the call can stand for one of its stamps (condition 1).
    NoCandidate {
        /// The call.
        call: String,
        /// The stamp that nothing can stand for.
        stamp: String,
    },
    /// Every choice of g and of so' breaks condition 2 or 3.
    NoChoice {
        /// An edge of one so' that hb lacks, in words.
        example: Option<String>,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStamps(call) => write!(f, "the specification does not allow {call} to happen at all"),
            Self::NoCandidate { call, stamp } => {
                write!(f, "no event of {call} gives the ordering that stamp {stamp} promises (condition 1)")
            }
            Self::NoChoice { example } => {
                f.write_str("no g and so' keep the promised order inside hb (conditions 2 and 3)")?;
                example.iter().try_for_each(|edge| write!(f, ": for example, hb lacks {edge}"))
            }
        }
    }
}

/// For each method and stamp of the specification the subevents that stand for it, in words.
pub type ConcretisationText = BTreeMap<(Name, String), BTreeSet<String>>;

/// Bounds of hb, valid in all executions that are left.
pub(super) struct HbBounds {
    /// The pairs that are in hb.
    pub(super) least: Matrix,
    /// The pairs that may be in hb, for a specification that mentions it.
    pub(super) most: Option<Matrix>,
}

impl HbBounds {
    /// Returns the bounds of `g^-1(hb)`.
    fn image(&self, g: &[usize]) -> Self {
        let image = |of: &Matrix| Matrix::from_fn(g.len(), |a, b| of.has(g[a], g[b]));
        Self { least: image(&self.least), most: self.most.as_ref().map(image) }
    }

    /// True if each so' within these bounds is also within the others.
    fn is_within(&self, other: &Self) -> bool {
        self.least.is_subset(&other.least) && self.most == other.most
    }
}

/// The bounds of hb on which a concretisation and so' rest.
pub(super) struct HbEvidence {
    /// The pairs that must be in hb.
    needs: Matrix,
    /// The pairs that may be in hb; any pair if the specification does not mention it.
    most: Option<Matrix>,
}

impl HbEvidence {
    pub(super) fn holds(&self, hb: &HbBounds) -> bool {
        let within = |most: &Matrix| hb.most.as_ref().is_some_and(|m| m.is_subset(most));
        self.needs.is_subset(&hb.least) && self.most.as_ref().is_none_or(within)
    }
}

/// A call of the specification in one class: its event, and the subevents of the implementation that are its own.
pub(super) struct AbstractCall {
    pub(super) event: Event,
    pub(super) own: Vec<usize>,
}

/// One subevent `<e', a'>` of the specification.
pub(super) struct Promise {
    pub(super) call: usize,
    pub(super) stamp: Stamp,
}

/// One choice of stmp', with the search for so'.
pub(super) struct StampChoice<'a> {
    promises: Vec<Promise>,
    solver: Solver<'a>,
    /// The latest `g^-1(hb)` within which there is no so'. Many g have the same one.
    failed: VecDeque<HbBounds>,
}

/// The choices of stmp'. Runs with the same results of calls share them.
pub(super) type StampChoices<'a> = Rc<RefCell<Vec<StampChoice<'a>>>>;

/// For each promise of a choice the subevent that stands for it, and the edges of hb that condition 1 rests on.
#[derive(Clone)]
pub(super) struct Image {
    pub(super) choice: usize,
    pub(super) g: Vec<usize>,
    pub(super) needs: Matrix,
}

/// The calls of the specification in one run of every thread, and what was found out about them.
pub(super) struct Abstraction<'a> {
    pub(super) calls: Vec<AbstractCall>,
    /// A call that the specification does not have at all.
    pub(super) impossible: Option<usize>,
    pub(super) choices: StampChoices<'a>,
    /// The subevents of the implementation of calls that read nothing.
    pub(super) silent: Vec<usize>,
    /// The g that the search tried first.
    pub(super) first: Vec<usize>,
    /// The g that worked last.
    pub(super) last: Option<Image>,
    /// The latest proofs. Each proves every execution of the same runs whose hb is within its bounds.
    pub(super) proofs: VecDeque<HbEvidence>,
}

/// The number of proofs and of failures that are kept for reuse, because a look-up in many would cost more than a new search.
const KEPT: usize = 8;

/// The number of g to try in a state in which a failure is not final, since more decisions make the next attempt easier.
pub(super) const FEW: usize = 4;

/// The number of concretisations with late candidates that the search tries for a choice of stamps before those with early ones.
const LATE: usize = 64;

impl Abstraction<'_> {
    /// Returns the image of the g that worked last. If none has worked yet, it is the g that was tried first.
    pub(super) fn images(&self) -> &[usize] {
        self.last.as_ref().map_or(&self.first, |image| &image.g)
    }

    /// True if the g that worked last works for these bounds of hb.
    pub(super) fn works_again(&mut self, hb: &HbBounds) -> bool {
        let last = self.last.as_ref().filter(|i| i.needs.is_subset(&hb.least));
        let Some(Image { choice, g, needs }) = last else { return false };
        let Some(so) = self.choices.borrow_mut()[*choice].so_within(g, hb) else { return false };
        let needs = so.or(needs);
        self.keep(needs, hb);
        true
    }

    /// Returns the stamps of condition 1 that only this question has: those beside a promised stamp, or beside that of a
    /// subevent of the calls.
    fn stamps_beside(&self, solver: &Solver<'_>, promises: &[Promise]) -> Vec<Stamp> {
        let subs = self.calls.iter().flat_map(|call| &call.own).map(|&s| solver.graph.subs[s].sub.stamp);
        let all = promises.iter().map(|p| p.stamp).chain(subs);
        let more: BTreeSet<Stamp> = all.flat_map(|stamp| stamp.beside(solver.graph.world.nodes)).collect();
        more.into_iter().collect()
    }

    fn keep(&mut self, needs: Matrix, hb: &HbBounds) {
        self.proofs.truncate(KEPT - 1);
        self.proofs.push_front(HbEvidence { needs, most: hb.most.clone() });
    }

    /// Finds g and so' for these bounds of hb. Gives up after `tries` attempts for each choice of stamps.
    pub(super) fn concretise(
        &mut self,
        solver: &Solver<'_>,
        hb: &HbBounds,
        tries: usize,
        (libraries, expired): (&Libraries, &dyn Fn() -> bool),
    ) -> Result<Image, Reason> {
        if let Some(call) = self.impossible {
            return Err(Reason::NoStamps(self.calls[call].event.to_string()));
        }
        let prepared = Prepared::of(libraries);
        let mut reason = Reason::NoChoice { example: None };
        let choices = StampChoices::clone(&self.choices);
        for (position, choice) in choices.borrow_mut().iter_mut().enumerate() {
            let nodes = solver.graph.world.nodes;
            let more = self.stamps_beside(solver, &choice.promises);
            let neighbours = |stamp| prepared.neighbours(nodes, &more, stamp);
            let condition = |p: &Promise| {
                let (call, hb) = (&self.calls[p.call], &hb.least);
                let of = |&s: &usize| neighbours(solver.graph.subs[s].sub.stamp);
                Condition1 {
                    solver,
                    own: &call.own,
                    of_own: call.own.iter().map(of).collect(),
                    stamp: p.stamp,
                    of_stamp: neighbours(p.stamp),
                    hb,
                }
            };
            let conditions: Vec<Condition1<'_>> = choice.promises.iter().map(condition).collect();
            let all: Vec<Vec<usize>> = conditions.iter().map(Condition1::candidates).collect();
            if let Some((p, _)) = choice.promises.iter().zip(&all).find(|(_, c)| c.is_empty()) {
                let (call, stamp) = (self.calls[p.call].event.to_string(), p.stamp.to_string());
                reason = Reason::NoCandidate { call, stamp };
                continue;
            }
            if self.first.is_empty() {
                self.first = all.iter().map(|candidates| candidates[0]).collect();
            }
            let first: Vec<usize> = all.iter().map(|candidates| candidates[0]).collect();
            let Some((g, so)) = choice.first_that_works(all, tries, (solver, hb), expired) else {
                if tries > FEW && matches!(reason, Reason::NoChoice { example: None }) {
                    reason = Reason::NoChoice { example: choice.missing_edge(&self.calls, &first, hb) };
                }
                continue;
            };
            let mut needs = Matrix::empty(hb.least.len());
            for (condition, &s) in conditions.iter().zip(&g) {
                condition.edges(s).expect("a candidate").into_iter().for_each(|(a, b)| needs.set(a, b));
            }
            self.keep(so.or(&needs), hb);
            return Ok(Image { choice: position, g, needs });
        }
        Err(reason)
    }
}

impl<'a> StampChoice<'a> {
    pub(super) fn new(promises: Vec<Promise>, solver: Solver<'a>) -> Self {
        Self { promises, solver, failed: VecDeque::new() }
    }

    /// Returns the first g that works among so many choices of candidates, and g of so'. The first choices have late candidates. They
    /// fail where several subevents have the promised stamp, and an earlier one is needed. Then the candidates of some
    /// promises are taken the other way round: of those that only begin edges of so'. The earlier a candidate is, the more
    /// happens after it.
    fn first_that_works(
        &mut self,
        mut all: Vec<Vec<usize>>,
        tries: usize,
        (solver, hb): (&Solver<'_>, &HbBounds),
        expired: &dyn Fn() -> bool,
    ) -> Option<(Vec<usize>, Matrix)> {
        let late = tries.min(LATE);
        self.any_that_works(&all, late, hb, expired).or_else(|| {
            if tries > late {
                self.earliest_first(&mut all, solver);
            }
            self.any_that_works(&all, tries - late, hb, expired)
        })
    }

    /// Returns the first g that works among so many choices of candidates in this order, and g of so'.
    fn any_that_works(
        &mut self,
        all: &[Vec<usize>],
        tries: usize,
        hb: &HbBounds,
        expired: &dyn Fn() -> bool,
    ) -> Option<(Vec<usize>, Matrix)> {
        let images = all.iter().map(|candidates| candidates.iter().copied()).multi_cartesian_product();
        let mut images = images.take(tries).take_while(|_| !expired());
        images.find_map(|g| self.so_within(&g, hb).map(|so| (g, so)))
    }

    /// Puts the earliest candidates first, among those of each stamp, for promises that only begin edges of so'.
    fn earliest_first(&mut self, all: &mut [Vec<usize>], below: &Solver<'_>) {
        let before = self.solver.snapshot();
        let parts = self.any_so().unwrap_or_default();
        self.solver.restore(before);
        let so: Vec<(usize, usize)> = parts.iter().flat_map(|(_, so)| so.pairs()).collect();
        let [begins, ends]: [BTreeSet<usize>; 2] =
            [so.iter().map(|(a, _)| *a).collect(), so.iter().map(|(_, b)| *b).collect()];
        for &promise in begins.difference(&ends) {
            let stamp = self.promises[promise].stamp;
            all[promise].reverse();
            all[promise].sort_by_key(|&s| below.graph.subs[s].sub.stamp != stamp);
        }
    }

    /// Conditions 2 and 3: some so' within `g^-1(hb)` that makes the execution consistent, with the largest hb' that is
    /// possible; returns g of it. None is found either when the time is up.
    fn so_within(&mut self, g: &[usize], hb: &HbBounds) -> Option<Matrix> {
        let bounds = hb.image(g);
        if self.failed.iter().any(|failed| bounds.is_within(failed)) {
            return None;
        }
        let Some(parts) = self.parts_within(&bounds) else {
            self.failed.truncate(KEPT - 1);
            self.failed.push_front(bounds);
            return None;
        };
        let mut image = Matrix::empty(hb.least.len());
        parts.iter().flat_map(|(_, so)| so.pairs()).for_each(|(a, b)| image.set(g[a], g[b]));
        Some(image)
    }

    /// Returns an edge of some so' whose image hb lacks, in words.
    fn missing_edge(&mut self, calls: &[AbstractCall], g: &[usize], hb: &HbBounds) -> Option<String> {
        let before = self.solver.snapshot();
        let parts = self.any_so().unwrap_or_default();
        self.solver.restore(before);
        let all = parts.iter().flat_map(|(name, so)| so.pairs().map(move |(a, b)| (*name, a, b)));
        let (name, a, b) = { all }.find(|&(_, a, b)| !hb.least.has(g[a], g[b]))?;
        let end = |at: usize| format!("{} ({})", calls[self.promises[at].call].event, self.promises[at].stamp);
        Some(format!("{name} from {} to {}", end(a), end(b)))
    }

    /// Returns the parts of some so' within these bounds that makes the execution consistent.
    fn parts_within(&mut self, bounds: &HbBounds) -> Option<Vec<(&'static str, Matrix)>> {
        let before = self.solver.snapshot();
        self.solver.confine(&bounds.least);
        if let Some(most) = &bounds.most {
            self.solver.give_hb(most);
        }
        let found = self.any_so();
        self.solver.restore(before);
        found
    }

    /// Returns the parts of some so' that makes the execution consistent, each with its name.
    fn any_so(&mut self) -> Option<Vec<(&'static str, Matrix)>> {
        let mut found = None;
        let _ = self.solver.explore(&mut |solver| {
            let snapshot = solver.snapshot();
            assert!(solver.complete(), "a class has a completion");
            found = Some(solver.so().map(|(_, name, so)| (name, so)).collect());
            solver.restore(snapshot);
            Flow::Stop
        });
        found
    }
}

/// Condition 1 for one stamp of a call.
struct Condition1<'a> {
    solver: &'a Solver<'a>,
    /// The subevents of the call, with the neighbours of their stamps.
    own: &'a [usize],
    of_own: Vec<Rc<StampNeighbours>>,
    stamp: Stamp,
    of_stamp: Rc<StampNeighbours>,
    hb: &'a Matrix,
}

impl Condition1<'_> {
    /// The subevents of the call that keep `to` both ways for every stamp of the model; the latest first.
    fn candidates(&self) -> Vec<usize> {
        let mut found: Vec<usize> = self.own.iter().rev().copied().filter(|&s| self.edges(s).is_some()).collect();
        // Try the same stamp first, because most implementations have it.
        found.sort_by_key(|&s| self.solver.graph.subs[s].sub.stamp != self.stamp);
        found
    }

    /// The edges of hb, as far as it needs any, by which `s` can stand for the stamp.
    fn edges(&self, s: usize) -> Option<Vec<(usize, usize)>> {
        let mut edges = Vec::new();
        // Try the subevent itself first, because it needs no edge of hb.
        let position = self.own.iter().position(|&e| e == s).expect("one of the call");
        let others = || (0..self.own.len()).filter(|&e| e != position);
        for a0 in 0..self.of_stamp.before.len() {
            let is_before = |e: usize| self.of_own[e].before[a0];
            if self.of_stamp.before[a0] && !is_before(position) {
                edges.push((self.own[others().find(|&e| is_before(e) && self.hb.has(self.own[e], s))?], s));
            }
            let is_after = |e: usize| self.of_own[e].after[a0];
            if self.of_stamp.after[a0] && !is_after(position) {
                edges.push((s, self.own[others().find(|&e| is_after(e) && self.hb.has(s, self.own[e]))?]));
            }
        }
        Some(edges)
    }
}

impl Abstraction<'_> {
    /// Returns the g that worked last, and the parts of its so'. Each promise has its call and the subevent that stands for it. `None` if
    /// no g has worked, or its so' is not within these bounds.
    pub(super) fn witness(&self, hb: &HbBounds) -> Option<LocalWitness> {
        let Image { choice, g, .. } = self.last.as_ref()?;
        let choice = &mut self.choices.borrow_mut()[*choice];
        let parts = choice.parts_within(&hb.image(g))?;
        let promised = |(promise, &s): (&Promise, &usize)| (self.calls[promise.call].event.clone(), promise.stamp, s);
        Some(LocalWitness {
            g: choice.promises.iter().zip(g).map(promised).collect(),
            so: parts.iter().map(|(name, so)| (*name, so.pairs().collect())).collect(),
        })
    }
}

/// A witness of LOCO Def. 3.13 for one execution: stmp' and g, and so'. Its f is the execution's own: an event belongs to the call whose
/// body made it.
#[derive(Clone, Debug)]
pub struct LocalWitness {
    /// Each subevent of the specification: its call, its stamp, and the subevent of the execution that stands for it.
    pub g: Vec<(Event, Stamp, usize)>,
    /// The parts of so', as pairs of positions in `g`.
    pub so: Vec<(&'static str, Vec<(usize, usize)>)>,
}

/// In words: "the last aCR of Read".
pub(super) fn describe(solver: &Solver<'_>, known: &Abstraction<'_>, image: &Image, words: &mut ConcretisationText) {
    for (promise, &s) in known.choices.borrow()[image.choice].promises.iter().zip(&image.g) {
        let call = &known.calls[promise.call];
        let place = &solver.graph.subs[s];
        let event = solver.graph.events[place.event];
        let alike = |o: usize| {
            let other = &solver.graph.subs[o];
            other.sub.stamp == place.sub.stamp && solver.graph.events[other.event].call.method == event.call.method
        };
        let alike: BTreeSet<usize> =
            call.own.iter().filter(|&&o| alike(o)).map(|&o| solver.graph.subs[o].event).collect();
        let which = match alike.iter().position(|&e| e == place.event) {
            _ if alike.len() == 1 => "the",
            Some(p) if p + 1 == alike.len() => "the last",
            Some(0) => "the first",
            _ => "an inner",
        };
        let key = (call.event.call.method, promise.stamp.family());
        let text = format!("{} of {which} {}", place.sub.stamp.family(), event.call.method);
        words.entry(key).or_default().insert(text);
    }
}
