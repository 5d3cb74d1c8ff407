//! Refutations: the reasons why no execution has a given outcome. There is one for each way to get it, with the
//! forbidden cycle.

use std::collections::{BTreeMap, VecDeque};

use super::network::Conflict;
use super::relation::Matrix;
use super::schema::SchemaTerm;
use super::solver::{Solver, Source};
use crate::algebra::{Rel, RelExpr};
use crate::event::Event;
use crate::ids::{Name, Tid};
use crate::library::Libraries;
use crate::value::Val;

/// A subevent, as an explanation shows it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CycleEnd {
    /// The thread.
    pub thread: Tid,
    /// The position of the event among those of its thread.
    pub position: usize,
    /// The event.
    pub event: Event,
    /// The position of the event among the equal calls of its thread, from 1, and the number of these.
    pub nth: (usize, usize),
    /// Its stamp.
    pub stamp: String,
    /// The value that it read.
    pub read: Option<Val>,
    /// The value that it wrote.
    pub wrote: Option<Val>,
}

/// An edge of a forbidden cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The earlier subevent.
    pub from: CycleEnd,
    /// The name of the relation.
    pub relation: &'static str,
    /// A sentence, with places for the two ends and their values; see [`crate::algebra::EdgeWords`].
    pub sentence: &'static str,
    /// The later subevent.
    pub to: CycleEnd,
    /// Whether it follows a chosen order between subevents without values.
    pub is_ordered: bool,
}

/// One way to get an outcome, with the reason why it is impossible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refutation {
    /// The assumption: for each read the write that it reads from; `None` for the initial value.
    pub assumed: Vec<(CycleEnd, Option<CycleEnd>)>,
    /// The library and name of the broken demand; `None` for the demand that hb has no cycle.
    pub demand: Option<(Name, &'static str)>,
    /// The cycle, or the edges between the two ends of the forbidden pair. Empty if no write has the values.
    pub edges: Vec<Edge>,
    /// The edges that forbid the other order, if an edge follows a chosen one. The search found it impossible first.
    pub in_other_order: Vec<Edge>,
}

/// A refutation with what the search decided.
struct RefutedWay {
    refutation: Refutation,
    sources: Vec<(usize, Source)>,
    /// The threads of the first edge that follows an order.
    ordered: Option<(Tid, Tid)>,
}

/// Returns the refutations of everything that is left of a search, at most `most` of them. `lasts` are the final values
/// of the observed cells. It ends early when the deadline has passed.
pub fn refutations(solver: &mut Solver<'_>, libraries: &Libraries, lasts: &[Val], most: usize) -> Vec<Refutation> {
    solver.be_thorough();
    let (mut found, before) = (Vec::new(), solver.snapshot());
    refute(solver, libraries, lasts, most, &mut found);
    solver.restore(before);
    let with_other_order = |way: RefutedWay| {
        let in_other_order = other_order(solver, libraries, &way);
        Refutation { in_other_order, ..way.refutation }
    };
    found.into_iter().map(with_other_order).collect()
}

/// Returns the edges that forbid the other order of a way, which is open in the state of the solver.
fn other_order(solver: &mut Solver<'_>, libraries: &Libraries, way: &RefutedWay) -> Vec<Edge> {
    let Some((from, to)) = way.ordered else { return Vec::new() };
    let threads = |solver: &Solver<'_>, pair: [usize; 2]| pair.map(|s| Tid::from_index(solver.graph.subs[s].thread));
    let reversed = |(raw, a, b)| match threads(solver, [a, b]) {
        ends if ends == [to, from] => Some((raw, a, b)),
        ends if ends == [from, to] => Some((raw, b, a)),
        _ => None,
    };
    let open: Vec<_> = solver.open_pairs().into_iter().filter_map(reversed).collect();
    let edges = open.into_iter().map(|(raw, a, b)| {
        let snapshot = solver.snapshot();
        for &(read, source) in &way.sources {
            if let Some(choice) = solver.store.choice_of(read).filter(|_| solver.source(read) == Source::Open) {
                solver.store.decide(choice, read, source);
            }
        }
        solver.store.net.add(raw, a, b);
        let is_possible = solver.propagate();
        solver.narrow_values();
        let edges = if is_possible { Vec::new() } else { refutation(solver, libraries).refutation.edges };
        solver.restore(snapshot);
        edges
    });
    edges.into_iter().find(|edges| !edges.is_empty()).unwrap_or_default()
}

fn refute(solver: &mut Solver<'_>, libraries: &Libraries, lasts: &[Val], most: usize, found: &mut Vec<RefutedWay>) {
    if found.len() >= most || solver.is_late() {
        return;
    }
    if !solver.propagate() {
        solver.narrow_values();
        found.push(refutation(solver, libraries));
        return;
    }
    if let Some((choice, read)) = solver.open_read() {
        for source in solver.store.sources(choice, read) {
            let snapshot = solver.snapshot();
            solver.store.decide(choice, read, source);
            refute(solver, libraries, lasts, most, found);
            solver.restore(snapshot);
        }
        return;
    }
    if let Some((index, writes)) = solver.open_last() {
        for write in writes {
            let snapshot = solver.snapshot();
            solver.decide_last(index, write);
            solver.demand_written(write, lasts[index]);
            refute(solver, libraries, lasts, most, found);
            solver.restore(snapshot);
        }
    }
}

fn refutation(solver: &Solver<'_>, libraries: &Libraries) -> RefutedWay {
    let why = Why { solver, libraries, fixed: solver.fixed_pairs(libraries) };
    let of_reads = (0..solver.graph.len()).map(|s| (s, solver.source(s)));
    let sources: Vec<(usize, Source)> = of_reads.filter(|(_, source)| *source != Source::Open).collect();
    let of_source = |source| if let Source::Write(w) = source { Some(why.end(w)) } else { None };
    let assumed = sources.iter().map(|&(s, source)| (why.end(s), of_source(source))).collect();
    let (demand, steps) = solver.conflict().map_or((None, Vec::new()), |conflict| why.conflict(conflict));
    let edges: Vec<Edge> = steps.into_iter().map(|step| why.edge(step)).collect();
    let ordered = edges.iter().find(|edge| edge.is_ordered).map(|edge| (edge.from.thread, edge.to.thread));
    RefutedWay { refutation: Refutation { assumed, demand, edges, in_other_order: Vec::new() }, sources, ordered }
}

/// An edge between subevents by position, with name and sentence.
type Labelled = (usize, (&'static str, &'static str), usize);

const PPO: (&str, &str) = ("ppo", "{a} keeps its place before {b} in its thread, as {a stamp} does before {b stamp}");
const PO: (&str, &str) = ("po", "{a} is before {b} in its thread");

struct Why<'s, 'a> {
    solver: &'s Solver<'a>,
    libraries: &'s Libraries,
    /// The pairs of each fixed relation.
    fixed: Vec<Matrix>,
}

impl Why<'_, '_> {
    fn end(&self, s: usize) -> CycleEnd {
        let graph = &self.solver.graph;
        let place = &graph.subs[s];
        let event = graph.events[place.event];
        let of_thread = |events: &[&Event]| events.iter().filter(|e| e.thread == event.thread).count();
        let alike =
            |events: &[&Event]| events.iter().filter(|e| e.thread == event.thread && e.call == event.call).count();
        let before = &graph.events[..place.event];
        CycleEnd {
            thread: event.thread,
            position: of_thread(before),
            event: event.clone(),
            nth: (alike(before) + 1, alike(&graph.events)),
            stamp: place.sub.stamp.to_string(),
            read: self.solver.value_read(s),
            wrote: self.solver.value_written(s),
        }
    }

    fn edge(&self, (a, (relation, sentence), b): Labelled) -> Edge {
        let (from, to) = (self.end(a), self.end(b));
        let of = |end: &CycleEnd| self.libraries.spec(end.event.call.library);
        let is_ordered = from.thread != to.thread
            && to.wrote.is_none()
            && to.read.is_none()
            && of(&to).is_some_and(|spec| spec.follows_order(relation));
        Edge { from, relation, sentence, to, is_ordered }
    }

    fn conflict(&self, conflict: Conflict) -> (Option<(Name, &'static str)>, Vec<Labelled>) {
        let schema = &self.solver.store.schema;
        let demand = schema.demands.iter().find(|d| d.2 == conflict.relation);
        let Some(&(library, name, _)) = demand else { return (None, self.cycle()) };
        let library = schema.names[library];
        let spec = self.libraries.spec(library).expect("a demand of a library of the search");
        let rel = &spec.demands.iter().find(|d| d.0 == name).expect("a demand of the library").2;
        (Some((library, name)), self.steps(library, rel, conflict.from, conflict.to))
    }

    /// A shortest cycle of hb, each edge as its steps.
    fn cycle(&self) -> Vec<Labelled> {
        let n = self.solver.graph.len();
        let cycles = (0..n).filter_map(|a| path(a, a, n, |x| self.next_in_hb(x)));
        let Some(cycle) = cycles.min_by_key(Vec::len) else { return Vec::new() };
        cycle.windows(2).flat_map(|ends| self.part(ends[0], ends[1])).collect()
    }

    /// Iterates over the subevents to which an edge of hb leads.
    fn next_in_hb(&self, a: usize) -> impl Iterator<Item = usize> + '_ {
        let (net, parts) = (&self.solver.store.net, &self.solver.store.schema.parts);
        (0..self.solver.graph.len()).filter(move |&b| parts.iter().any(|part| net.has(part.2, a, b)))
    }

    /// The steps of an edge of hb.
    fn part(&self, a: usize, b: usize) -> Vec<Labelled> {
        let schema = &self.solver.store.schema;
        let Some(&(library, name, _)) = schema.parts.iter().rev().find(|p| self.solver.store.net.has(p.2, a, b)) else {
            return Vec::new();
        };
        let Some(library) = library else { return vec![(a, PPO, b)] };
        let library = schema.names[library];
        let spec = self.libraries.spec(library).expect("a part of a library of the search");
        let of_name = spec.so.iter().filter(|(n, _)| *n == name);
        let rel = of_name.map(|(_, rel)| rel).find(|rel| self.has(library, rel, a, b));
        rel.map_or_else(Vec::new, |rel| self.steps(library, rel, a, b))
    }

    fn has(&self, library: Name, rel: &Rel, a: usize, b: usize) -> bool {
        let schema = &self.solver.store.schema;
        let position = schema.names.iter().position(|name| *name == library).expect("a library of the search");
        match (schema.terms.get(&(position, rel.address())), rel.expr()) {
            (Some(SchemaTerm::Fixed(fixed)), _) => self.fixed[*fixed].has(a, b),
            (Some(SchemaTerm::Derived(id)), _) => self.solver.store.net.has(*id, a, b),
            (None, RelExpr::Union(p, q)) => self.has(library, p, a, b) || self.has(library, q, a, b),
            (None, RelExpr::On(set)) => a == b && set.has(&self.solver.graph.view(a)),
            (None, _) => false,
        }
    }

    /// A pair of a relation, taken apart down to relations that have a name.
    fn steps(&self, library: Name, rel: &Rel, a: usize, b: usize) -> Vec<Labelled> {
        let n = self.solver.graph.len();
        let spec = self.libraries.spec(library).expect("a library of the search");
        if let Some(said) = rel.said() {
            return vec![(a, (said.name, said.sentence), b)];
        }
        match rel.expr() {
            RelExpr::Po => vec![(a, PO, b)],
            RelExpr::Ppo => vec![(a, PPO, b)],
            RelExpr::On(_) => Vec::new(),
            RelExpr::Union(p, q) => {
                let side = if self.has(library, p, a, b) { p } else { q };
                self.steps(library, side, a, b)
            }
            // A pair that breaks a demand because of hb is shown as a cycle.
            RelExpr::Inter(p, q) if p.mentions_hb() => {
                [self.steps(library, q, a, b), self.steps(library, p, a, b)].concat()
            }
            RelExpr::Inter(p, q) => {
                let unnamed = |steps: &Vec<Labelled>| steps.iter().any(|s| s.1.0.is_empty());
                let left = self.steps(library, p, a, b);
                if unnamed(&left) { self.steps(library, q, a, b) } else { left }
            }
            RelExpr::Minus(p, _) => self.steps(library, p, a, b),
            RelExpr::Seq(p, q) => {
                let middle = (0..n).find(|&m| self.has(library, p, a, m) && self.has(library, q, m, b));
                let Some(m) = middle else { return vec![(a, ("", ""), b)] };
                [self.steps(library, p, a, m), self.steps(library, q, m, b)].concat()
            }
            RelExpr::Plus(p) => {
                let next = |x: usize| (0..n).filter(move |&y| self.has(library, p, x, y));
                let path = path(a, b, n, next).unwrap_or_default();
                path.windows(2).flat_map(|ends| self.steps(library, p, ends[0], ends[1])).collect()
            }
            RelExpr::Inverse(p) => self.steps(library, p, b, a),
            RelExpr::Hb => {
                let path = path(a, b, n, |x| self.next_in_hb(x)).unwrap_or_default();
                path.windows(2).flat_map(|ends| self.part(ends[0], ends[1])).collect()
            }
            RelExpr::Chosen(choice) => vec![(a, (spec.choices[*choice].0, "{a} comes before {b}"), b)],
            _ => vec![(a, ("", "{a} comes before {b}"), b)],
        }
    }
}

/// A shortest path of at least one step.
fn path<I: Iterator<Item = usize>>(from: usize, to: usize, n: usize, next: impl Fn(usize) -> I) -> Option<Vec<usize>> {
    let mut came: BTreeMap<usize, usize> = BTreeMap::new();
    let mut todo = VecDeque::from([from]);
    while let Some(x) = todo.pop_front() {
        for y in next(x).filter(|&y| y < n) {
            if came.contains_key(&y) {
                continue;
            }
            came.insert(y, x);
            if y == to {
                let mut path = vec![to];
                let mut at = to;
                loop {
                    at = came[&at];
                    path.push(at);
                    if at == from {
                        path.reverse();
                        return Some(path);
                    }
                }
            }
            todo.push_back(y);
        }
    }
    None
}
