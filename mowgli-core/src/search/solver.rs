//! The search itself: it decides the values of reads, then their sources, and then completes the orders.
//!
//! **Computes** every class of consistent executions with the given runs, each once. A class has the executions that agree
//! on the source of every read.
//!
//! **Invariant.** Between two decisions, each consistent execution that agrees with the decisions has every pair of the
//! network. Its values are in the domains, and its sources are those that are decided. The branches of a decision are
//! disjoint, and together they have all executions of the state.
//!
//! **Example.** Store buffering: P1 is `write(x, 1); read(y)`, and P2 is `write(y, 1); read(x)`. Each thread has one run for
//! each value of its read. The search first branches on the value of one read, 0 or 1, and propagates. Then one source is
//! left for it, and likewise for the other read. If writes stay before later reads, the branch 0, 0 breaks the demand that
//! `hb` has no cycle. The search prunes it, and visits three classes.
//!
//! **Correct because** propagation removes only values, sources and directions that occur in no execution of the state. A
//! source is excluded if it cannot have the value of the read, or if its pair is forbidden ([`super::forbidden`]). If one
//! direction of an order is forbidden, the other one holds. The orders of a leaf are completed once, since outcomes depend
//! on sources only (docs/search.md, "Only sources are chosen"). `tests/tests/agreement.rs` compares with the judge.
//!
//! **Cost.** Exponential in the number of reads in the worst case. Statistics count leaves for each class; one is the least
//! possible, and the papers' corpus needs 1.00.

mod complete;
mod decide;
mod steps;

use serde::{Deserialize, Serialize};

use super::network::{Conflict, RelationId};
use super::numbers::NumberSet;
use super::schema::SchemaChoice;
use super::store::{ConstraintStore, NewSub};
use super::values::{StepValues, Values, prepare};
use crate::event::{Cell, Event};
use crate::ids::Name;
use crate::library::Libraries;
use crate::search::graph::Graph;
use crate::search::relation::Matrix;
use crate::search::relation::matrix::{WordOnes, ones};
use crate::search::runs::Stop;
use crate::value::Val;

pub use super::store::Snapshot;
pub use super::values::Source;

/// The least number of subevents for which a search makes room, so that few schemas are made.
const LEAST_ROOM: usize = 8;

/// The statistics of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// The number of combinations of one skeleton per thread.
    pub skeletons: u64,
    /// The number of thread states that the search explored to find the runs.
    pub states: u64,
    /// The number of solver states.
    pub nodes: u64,
    /// The number of leaves: classes and dead ends.
    pub leaves: u64,
    /// The number of classes of consistent executions, which agree on all decisions. In a complete search these are
    /// runs, sources and observed last writes.
    pub classes: u64,
}

impl std::ops::AddAssign for Stats {
    fn add_assign(&mut self, other: Self) {
        self.skeletons += other.skeletons;
        self.states += other.states;
        self.nodes += other.nodes;
        self.leaves += other.leaves;
        self.classes += other.classes;
    }
}

/// Whether a search goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// It does.
    Continue,
    /// The visitor stops it.
    Stop,
}

/// The reason why a search ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a search that was stopped has not seen everything"]
pub enum SearchEnd {
    /// The search has visited everything.
    Searched,
    /// The visitor stopped it.
    Enough,
    /// The deadline passed.
    Late,
}

/// The solver: see the module's documentation.
pub struct Solver<'a> {
    /// Events and subevents.
    pub graph: Graph<'a>,
    /// The statistics of the search so far.
    pub stats: Stats,
    /// The facts that hold in all executions that are left.
    pub(super) store: ConstraintStore,
    values: Values,
    /// For each observed cell the writes to it, and the relation that orders them.
    observed: Vec<(Vec<u64>, Option<usize>)>,
    /// The subevents of each round that does not break.
    rounds: Vec<Vec<u64>>,
    /// For each subevent the rank of its read: the search decides the sources of reads with the lowest rank first.
    rank: Vec<u8>,
    expired: &'a dyn Fn() -> bool,
}

/// The function that is called for every class, with the orders completed in one way.
pub type VisitClass<'v, 'a> = &'v mut dyn FnMut(&mut Solver<'a>) -> Flow;

/// The next step of the search at a state in which every thread has one run left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// The search decides whatever is open.
    Continue,
    /// The search branches on the direction of this pair of an order first.
    Branch(RelationId, usize, usize),
    /// The state is a leaf: nothing depends on its open decisions. Its executions are one class, if this says that one is
    /// consistent.
    Leaf(bool),
    /// The search prunes the state, because the result of its executions is already known.
    Prune,
}

/// The function that decides how the search continues at a state.
pub type Settled<'v, 'a> = &'v mut dyn FnMut(&mut Solver<'a>) -> Decision;

impl<'a> Solver<'a> {
    /// Returns a search over `graph`, which also decides the last writes of `observed` cells. It asks `expired` now and
    /// then.
    ///
    /// # Errors
    /// If updates can make very many values.
    pub fn new(
        graph: Graph<'a>,
        libraries: &Libraries,
        observed: &[Cell],
        expired: &'a dyn Fn() -> bool,
    ) -> Result<Self, Stop> {
        let init = |graph: &Graph<'_>, s: usize| match graph.subs[s].sub.cell {
            Some(cell) => libraries.of(&graph.events[graph.subs[s].event].call).init(graph.world, cell),
            None => Val::Unit,
        };
        let step = |event: &Event, read: Val| libraries.of(&event.call).step(event, read);
        if let Some(values) = prepare(&graph, init, &step, &StepValues::AllOrders) {
            return Ok(Self::with(graph, values, libraries, observed, expired));
        }
        let open = prepare(&graph, init, &step, &StepValues::Any).ok_or(Stop::Values)?;
        let mut solver = Self::with(graph, open, libraries, observed, expired);
        let made = solver.made_by_steps(&step).ok_or(Stop::Values)?;
        let values = prepare(&solver.graph, init, &step, &StepValues::These(made)).ok_or(Stop::Values)?;
        (solver.values, solver.store.init) = values;
        Ok(solver)
    }

    fn with(
        graph: Graph<'a>,
        (values, initial): (Values, Vec<NumberSet>),
        libraries: &Libraries,
        observed: &[Cell],
        expired: &'a dyn Fn() -> bool,
    ) -> Self {
        let store = whole_store(&graph, &initial, libraries);
        let observed = observed.iter().map(|&cell| last_writes(&graph, &store, cell)).collect();
        let rank = vec![0; graph.len()];
        let rounds = graph.rounds();
        Self { graph, stats: Stats::default(), store, values, observed, rounds, rank, expired }
    }

    /// Derives all consequences. Returns `false` if no consistent execution is left.
    pub fn propagate(&mut self) -> bool {
        let values = &self.values;
        self.store.propagate(|domains, changed| values.narrow(domains, changed))
    }

    /// Derives the consequences of the sources for values alone, even if the orders are in conflict.
    pub(super) fn narrow_values(&mut self) {
        for _ in 0..self.graph.len() {
            let mut changed = false;
            (0..self.graph.len()).for_each(|read| self.store.narrow_decided(read, &mut changed));
            if !self.values.narrow(&mut self.store.domains, &mut changed) || !changed {
                return;
            }
        }
    }

    /// Visits every class of consistent executions once.
    pub fn explore(&mut self, visit: VisitClass<'_, 'a>) -> SearchEnd {
        self.explore_until(&mut |_| Decision::Continue, visit)
    }

    /// Like [`Self::explore`], but stops without a visit at a state where `settled` returns that nothing depends on the
    /// open decisions. It asks `settled` when every thread has one run left.
    pub fn explore_until(&mut self, settled: Settled<'_, 'a>, visit: VisitClass<'_, 'a>) -> SearchEnd {
        self.stats.nodes += 1;
        if (self.expired)() {
            return SearchEnd::Late;
        }
        if !self.propagate() {
            self.stats.leaves += 1;
            return SearchEnd::Searched;
        }
        if self.has_idle_round() {
            self.stats.leaves += 1;
            return SearchEnd::Searched;
        }
        if self.has_one_run() {
            // Decide first which iterations are idle, because `settled` counts executions with an iteration that is not.
            if let Some((choice, read)) = self.read_of_round() {
                return self.branch_on_source(choice, read, settled, visit);
            }
            match settled(self) {
                Decision::Continue => {}
                Decision::Branch(raw, a, b) => {
                    return self.branch([(a, b), (b, a)], |s, (a, b)| s.order(raw, a, b), settled, visit);
                }
                Decision::Prune => {
                    self.stats.leaves += 1;
                    return SearchEnd::Searched;
                }
                Decision::Leaf(is_consistent) => {
                    self.stats.leaves += 1;
                    self.stats.classes += u64::from(is_consistent);
                    return SearchEnd::Searched;
                }
            }
        }
        if let Some(read) = self.distinguishing_read() {
            let values = self.store.domains.reads[read];
            let least = NumberSet::one(values.least().expect("a set of several values"));
            let parts = [least, values & !least];
            return self.branch(parts, |s, values| s.store.domains.reads[read] = values, settled, visit);
        }
        if let Some((choice, read)) = self.open_read() {
            return self.branch_on_source(choice, read, settled, visit);
        }
        if let Some((index, lasts)) = self.open_last() {
            return self.branch(lasts, |s, w| s.decide_last(index, w), settled, visit);
        }
        self.leaf(visit)
    }

    fn branch_on_source(
        &mut self,
        choice: usize,
        read: usize,
        settled: Settled<'_, 'a>,
        visit: VisitClass<'_, 'a>,
    ) -> SearchEnd {
        let sources = self.store.sources(choice, read);
        self.branch(sources, |s, source| s.store.decide(choice, read, source), settled, visit)
    }

    fn branch<T>(
        &mut self,
        options: impl IntoIterator<Item = T>,
        decide: impl Fn(&mut Self, T),
        settled: Settled<'_, 'a>,
        visit: VisitClass<'_, 'a>,
    ) -> SearchEnd {
        for option in options {
            let snapshot = self.snapshot();
            decide(self, option);
            let end = self.explore_until(settled, visit);
            self.restore(snapshot);
            if end != SearchEnd::Searched {
                return end;
            }
        }
        SearchEnd::Searched
    }

    /// True if some iteration is idle: nothing outside it reads from it, and it has no last write of an observed cell.
    /// Then the execution without it is also consistent, has the same outcome, and is searched as well.
    fn has_idle_round(&self) -> bool {
        let lasts = || self.observed.iter().flat_map(|(writes, order)| self.lasts(writes, *order));
        let is_idle =
            |round: &Vec<u64>| !lasts().any(|w| is_in(round, w)) && self.reads_outside(round).next().is_none();
        self.rounds.iter().any(is_idle)
    }

    /// Iterates over the reads outside an iteration that read one of its writes, or still may, each with its choice.
    fn reads_outside<'s>(&'s self, round: &'s [u64]) -> impl Iterator<Item = (usize, usize)> + 's {
        let is_inside = move |source: &Source| matches!(source, Source::Write(w) if is_in(round, *w));
        self.store.all_reads().filter(move |&(choice, read)| {
            !is_in(round, read)
                && match self.source(read) {
                    Source::Open => self.store.sources(choice, read).iter().any(is_inside),
                    source => is_inside(&source),
                }
        })
    }

    /// Returns an undecided read, with its choice, whose source decides whether an iteration is idle.
    fn read_of_round(&self) -> Option<(usize, usize)> {
        let mut reads = self.rounds.iter().flat_map(|round| self.reads_outside(round));
        reads.find(|(_, read)| self.source(*read) == Source::Open)
    }

    fn has_one_run(&self) -> bool {
        (0..self.graph.skeletons.len()).all(|t| self.values.alive(t, &self.store.domains).nth(1).is_none())
    }

    /// Makes the search try every source, so that each shows why it is impossible.
    pub fn be_thorough(&mut self) {
        self.store.is_thorough = true;
    }

    /// Demands that a subevent writes `value`.
    pub(super) fn demand_written(&mut self, write: usize, value: Val) {
        self.store.domains.writes[write] &= self.values.numbering.known(value);
    }

    /// Makes the search decide the sources of reads by these ranks, one for each subevent.
    pub fn decide_by_rank(&mut self, rank: Vec<u8>) {
        self.rank = rank;
    }

    /// True if there are iterations without a break.
    #[must_use]
    pub fn has_rounds(&self) -> bool {
        !self.rounds.is_empty()
    }

    /// True if some consistent execution is left in the present state. After the deadline the answer may be a false
    /// negative, so the caller must check the deadline.
    pub fn is_consistent(&mut self) -> bool {
        let stats = self.stats;
        let end = self.explore(&mut |_| Flow::Stop);
        self.stats = stats;
        end == SearchEnd::Enough
    }

    fn leaf(&mut self, visit: VisitClass<'_, 'a>) -> SearchEnd {
        self.stats.leaves += 1;
        let snapshot = self.snapshot();
        let complete = self.completed();
        self.restore(snapshot);
        match complete {
            None => return SearchEnd::Late,
            Some(false) => return SearchEnd::Searched,
            Some(true) => {}
        }
        self.stats.classes += 1;
        match visit(self) {
            Flow::Continue => SearchEnd::Searched,
            Flow::Stop => SearchEnd::Enough,
        }
    }

    /// True if the deadline has passed.
    pub(super) fn is_late(&self) -> bool {
        (self.expired)()
    }

    /// A state to go back to.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.store.snapshot()
    }

    /// Restores a state.
    pub fn restore(&mut self, snapshot: Snapshot) {
        self.store.restore(snapshot);
    }

    /// Demands that so is part of `within`.
    pub fn confine(&mut self, within: &Matrix) {
        for a in 0..within.len() {
            let outside: Vec<u64> = within.row(a).iter().map(|w| !w).collect();
            self.store.net.add_row(self.store.schema.outside, a, &outside);
        }
    }

    /// Demands that none of these pairs is in so.
    pub fn exclude(&mut self, pairs: &Matrix) {
        for a in 0..pairs.len() {
            self.store.net.add_row(self.store.schema.outside, a, pairs.row(a));
        }
    }

    /// Adds these pairs to hb as the specifications see it.
    pub fn give_hb(&mut self, pairs: &Matrix) {
        for a in 0..pairs.len() {
            self.store.net.add_row(self.store.schema.given, a, pairs.row(a));
        }
    }

    /// Demands the edge `a -> b` of hb.
    pub fn demand(&mut self, a: usize, b: usize) {
        self.store.net.add(self.store.schema.extra, a, b);
    }

    /// Decides one pair of an order.
    pub fn order(&mut self, raw: RelationId, a: usize, b: usize) {
        self.store.net.add(raw, a, b);
    }

    /// Returns the demand that the present state breaks, if it breaks one.
    #[must_use]
    pub fn conflict(&self) -> Option<Conflict> {
        self.store.net.conflict()
    }

    /// Returns the edges of hb that hold in every completion, as far as they were derived.
    #[must_use]
    pub fn hb(&self) -> Matrix {
        self.store.net.matrix(self.store.schema.hb)
    }

    /// Returns the source of a read.
    #[must_use]
    pub fn source(&self, read: usize) -> Source {
        self.store.domains.sources[read]
    }

    /// Iterates over the pairs of each choice, with its library and name.
    pub fn choices(&self) -> impl Iterator<Item = (Name, &'static str, Matrix)> + '_ {
        let ConstraintStore { schema, net, .. } = &self.store;
        let choices = schema.choices.iter();
        choices.map(|choice| (schema.names[choice.library], choice.name, net.matrix(choice.relation())))
    }

    /// The parts of so, by library and name.
    pub fn so(&self) -> impl Iterator<Item = (Name, &'static str, Matrix)> + '_ {
        let ConstraintStore { schema, net, .. } = &self.store;
        let parts = schema.parts.iter();
        parts.filter_map(|&(library, name, id)| Some((schema.names[library?], name, net.matrix(id))))
    }

    /// Returns the pairs of each fixed relation of the schema.
    pub(super) fn fixed_pairs(&self, libraries: &Libraries) -> Vec<Matrix> {
        let schema = &self.store.schema;
        let mut pairs = vec![Matrix::empty(self.graph.len()); schema.fixed.len()];
        store_of(&self.graph, &schema.names, &self.store.init, libraries, |store| {
            let s = store.len() - 1;
            for (fixed, pairs) in pairs.iter_mut().enumerate() {
                for word in 0..pairs.width() {
                    let (row, column) = store.pairs_within(fixed, word);
                    pairs.row_mut(s)[word] |= row;
                    WordOnes(column).for_each(|bit| pairs.set(word * 64 + bit, s));
                }
            }
        });
        pairs
    }

    /// Returns the value that a subevent reads, if it is determined.
    #[must_use]
    pub fn value_read(&self, s: usize) -> Option<Val> {
        self.graph.subs[s].sub.reads.and(self.values.numbering.single(self.store.domains.reads[s]))
    }

    /// Returns the value that a subevent writes, if it is determined.
    #[must_use]
    pub fn value_written(&self, s: usize) -> Option<Val> {
        self.graph.subs[s].sub.writes.and(self.values.numbering.single(self.store.domains.writes[s]))
    }

    /// Returns the remaining runs of a thread. In a class there is one.
    #[must_use]
    pub fn alive(&self, thread: usize) -> Vec<usize> {
        self.values.alive(thread, &self.store.domains).collect()
    }

    /// Returns the first remaining run of a thread.
    ///
    /// # Panics
    /// If none does: then the state is impossible, as [`Self::propagate`] has said.
    #[must_use]
    pub fn first_alive(&self, thread: usize) -> usize {
        self.values.alive(thread, &self.store.domains).next().expect("a possible state has a run in every thread")
    }

    /// The last value of each observed cell; `None` where nothing writes it.
    #[must_use]
    pub fn last_values(&self) -> Vec<Option<Val>> {
        let last = |(writes, order): &(Vec<u64>, Option<usize>)| {
            let lasts = self.lasts(writes, *order);
            lasts.first().and_then(|&w| self.value_written(w))
        };
        self.observed.iter().map(last).collect()
    }
}

/// True if a set has this element.
fn is_in(set: &[u64], s: usize) -> bool {
    set[s / 64] >> (s % 64) & 1 == 1
}

/// Returns a store with all events of a graph, to which the specifications apply whose libraries cover their calls.
fn whole_store(graph: &Graph<'_>, initial: &[NumberSet], libraries: &Libraries) -> ConstraintStore {
    let covers = |name: &Name| {
        let own: Vec<&Event> = graph.events.iter().filter(|e| e.call.library == *name).copied().collect();
        let has_subevents = (0..graph.len()).any(|s| graph.library(s) == *name);
        has_subevents && libraries.get(*name).is_some_and(|library| library.is_well_formed(graph.world, &own))
    };
    let names: Vec<Name> = libraries.names().filter(covers).collect();
    let mut store = store_of(graph, &names, initial, libraries, |_| ());
    store.complete();
    store
}

/// Returns a store with all events of a graph. `added` sees it after each subevent.
fn store_of(
    graph: &Graph<'_>,
    names: &[Name],
    initial: &[NumberSet],
    libraries: &Libraries,
    mut added: impl FnMut(&ConstraintStore),
) -> ConstraintStore {
    let room = graph.len().next_power_of_two().max(LEAST_ROOM);
    let mut store = ConstraintStore::new(libraries, graph.world.threads.len(), names, room);
    for (s, &init) in initial.iter().enumerate() {
        let (view, place, values) = (graph.view(s), graph.subs[s], (NumberSet::ALL, NumberSet::ALL));
        store.add(libraries, &NewSub { view, place, birth: 0, until: 0, init, values });
        added(&store);
    }
    store
}

/// Returns the writes of a cell, and the order that compares them, if there are several.
fn last_writes(graph: &Graph<'_>, store: &ConstraintStore, cell: Cell) -> (Vec<u64>, Option<usize>) {
    let writes = graph.mask(|s| graph.subs[s].sub.cell == Some(cell) && graph.subs[s].sub.writes.is_some());
    let first_two = {
        let mut members = ones(&writes);
        members.next().zip(members.next())
    };
    let order = first_two.and_then(|(a, b)| {
        let compares = |&choice: &usize| {
            matches!(store.choice(choice), SchemaChoice::Order { .. }) && is_in(store.partners(choice, a), b)
        };
        (0..store.schema.choices.len()).find(compares)
    });
    (writes, order)
}
