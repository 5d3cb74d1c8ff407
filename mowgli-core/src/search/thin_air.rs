//! No thin air: whether the libraries of a program exclude values that justify themselves.
//!
//! **Computes** whether one acyclic relation of the specifications, for example `hb`, contains three kinds of edges. They are
//! program order from a call to a later write, reads-from, and copies from the read of an operation to its write.
//!
//! **Invariant.** If [`excludes_thin_air`] holds, each incomplete execution has a thread whose result an existing write can
//! produce. So [`crate::search::flow`], which lets only such threads continue, misses no execution.
//!
//! **Example.** Load buffering: P1 is `v = read(x); write(y, v)`, and P2 is `v = read(y); write(x, v)`. If a specification lets
//! each write happen before the read of its thread, both reads may return any value. There `flow` would find 0 only. If the
//! stamp order keeps a read before a later write, the three kinds of edges would form a cycle of `hb`, so only 0 is possible.
//!
//! **Correct because** if no thread can continue, each waits for a write that comes after the read of another one. Going back
//! from thread to thread gives a cycle of the three kinds (docs/search.md, "No execution is missed"). The test is
//! `values_out_of_nowhere_are_not_missed` in `tests/tests/flow.rs`.
//!
//! **Cost.** A traversal of the specifications for each pair of stamps that the calls of the program have.

use std::collections::{BTreeMap, BTreeSet};

use crate::algebra::{Choice, Demand, Rel, RelExpr, Set, SetDefinition, Spec, SubView};
use crate::event::{Event, Shape, Sub, Writes};
use crate::ids::Name;
use crate::library::Libraries;
use crate::search::prepared::{Prepared, RelativePosition, StampEdge};
use crate::stamp::Stamp;
use crate::world::World;

/// A call, and two of its subevents.
pub type SubPair = (Event, [Sub; 2]);

/// The relevant stamps among the calls of one library that the threads have made.
#[derive(Clone, Default, Debug)]
pub struct SeenStamps {
    /// The stamps of subevents that read.
    pub reads: BTreeSet<Stamp>,
    /// The stamps of those reads on which the result of their call depends.
    pub results: BTreeSet<Stamp>,
    /// One example for each pair of stamps (a read, a write of the same call whose value depends on the read).
    pub copies: BTreeMap<(Stamp, Stamp), SubPair>,
}

impl SeenStamps {
    /// Adds a call with this shape. `looked` is true if the call's result depends on memory.
    pub fn add(&mut self, event: &Event, shape: &Shape, looked: bool) {
        let reads = || shape.iter().enumerate().filter(|(_, s)| s.reads.is_some());
        self.reads.extend(reads().map(|(_, s)| s.stamp));
        if looked {
            self.results.extend(reads().map(|(_, s)| s.stamp));
        }
        for (position, write) in shape.iter().enumerate() {
            let depends = |read: usize| match write.writes {
                Some(Writes::Copy(from) | Writes::Step(from)) if from == read => true,
                written => looked && written.is_some(),
            };
            for (_, read) in reads().filter(|&(read, _)| read != position && depends(read)) {
                let stamps = (read.stamp, write.stamp);
                self.copies.entry(stamps).or_insert_with(|| (event.clone(), [*read, *write]));
            }
        }
    }
}

/// A pair of subevents of which only these properties are known.
#[derive(Clone, Copy)]
struct StampPair<'v> {
    stamps: [Stamp; 2],
    /// The two subevents themselves, if they belong to one event.
    views: Option<[SubView<'v>; 2]>,
    /// Whether the second subevent reads from the first one.
    rf: bool,
    position: RelativePosition,
}

impl StampPair<'_> {
    /// Returns the edge of the two stamps, unless the subevents are known.
    fn edge(self, library: Name) -> Option<StampEdge> {
        let Self { stamps, views, rf, position } = self;
        views.is_none().then_some(StampEdge { library, stamps, rf, position })
    }

    fn turned(self) -> Self {
        let position = match self.position {
            RelativePosition::Before => RelativePosition::After,
            RelativePosition::After => RelativePosition::Before,
            position => position,
        };
        let views = self.views.map(|[a, b]| [b, a]);
        Self { stamps: [self.stamps[1], self.stamps[0]], views, rf: false, position }
    }
}

/// True if values out of thin air are excluded in all executions whose threads begin with calls like those in `seen`.
/// `seen` has one entry for each library.
pub fn excludes_thin_air(libraries: &Libraries, world: &World, seen: &BTreeMap<Name, SeenStamps>) -> bool {
    if seen.values().all(|of| of.results.is_empty()) {
        return true;
    }
    let all_in = |holds: &dyn Fn(Name, &Spec, StampPair<'_>) -> bool| {
        seen.iter().all(|(&name, seen)| {
            let spec = libraries.spec(name);
            spec.is_some_and(|spec| all_pairs(libraries, world, seen).all(|pair| holds(name, spec, pair)))
        })
    };
    let prepared = Prepared::of(libraries);
    let is_in_order = |name: Name, spec: &Spec, pair: StampPair<'_>| {
        let compute = || is_ppo(libraries, pair) || spec.so.iter().any(|(_, so)| must(libraries, spec, so, pair));
        match pair.edge(name) {
            Some(edge) => prepared.is_in_order(edge, compute),
            None => compute(),
        }
    };
    if all_in(&is_in_order) {
        return true;
    }
    // With one library, any acyclic relation of its specification will do, because the cycle has only its subevents.
    let (1, Some(spec)) = (seen.len(), seen.keys().next().and_then(|&name| libraries.spec(name))) else { return false };
    let mut without_cycles = spec.demands.iter().filter_map(|(_, demand, rel)| match (demand, rel.expr()) {
        (Demand::Irreflexive, RelExpr::Plus(of)) => Some(of),
        _ => None,
    });
    without_cycles.any(|of| all_in(&|_, spec, pair| must(libraries, spec, of, pair)))
}

/// Iterates over the pairs that can be edges of a cycle of values out of thin air.
fn all_pairs<'v>(
    libraries: &'v Libraries,
    world: &'v World,
    seen: &'v SeenStamps,
) -> impl Iterator<Item = StampPair<'v>> + 'v {
    let any = move || libraries.stamps(world.nodes).into_iter();
    let pair = |a: Stamp, b: Stamp, rf: bool, position: RelativePosition| StampPair {
        stamps: [a, b],
        views: None,
        rf,
        position,
    };
    let later = seen.results.iter().flat_map(move |&r| any().map(move |w| pair(r, w, false, RelativePosition::Before)));
    let rf = seen.reads.iter().flat_map(move |&r| {
        let stands = [RelativePosition::After, RelativePosition::OneEvent, RelativePosition::Apart];
        any().flat_map(move |w| stands.map(|stand| pair(w, r, true, stand)))
    });
    // Only copies can justify themselves, because a value that the thread writes by itself is known.
    let writes = seen.copies.keys().map(|(_, w)| *w);
    let own =
        seen.reads.iter().flat_map(move |&r| writes.clone().map(move |w| pair(w, r, true, RelativePosition::Before)));
    let copies = seen.copies.iter().map(move |(&(r, w), (event, subs))| {
        let [r_view, w_view] = subs.each_ref().map(|sub| SubView { world, event, sub, nth: 0 });
        StampPair { views: Some([r_view, w_view]), ..pair(r, w, false, RelativePosition::OneEvent) }
    });
    later.chain(rf).chain(own).chain(copies)
}

fn is_ppo(libraries: &Libraries, pair: StampPair<'_>) -> bool {
    pair.position == RelativePosition::Before && libraries.to(pair.stamps[0], pair.stamps[1])
}

/// True if a relation has such a pair in every execution.
fn must(libraries: &Libraries, spec: &Spec, rel: &Rel, pair: StampPair<'_>) -> bool {
    known(libraries, spec, rel, pair).0
}

/// Returns whether a relation must have such a pair, and whether it may.
fn known(libraries: &Libraries, spec: &Spec, rel: &Rel, pair: StampPair<'_>) -> (bool, bool) {
    let of = |rel: &Rel, pair| known(libraries, spec, rel, pair);
    let certain = |is: bool| (is, is);
    let both = |p: (bool, bool), q: (bool, bool)| (p.0 && q.0, p.1 && q.1);
    let [a, b] = pair.stamps;
    match rel.expr() {
        RelExpr::Po => certain(pair.position == RelativePosition::Before),
        RelExpr::Ppo => certain(is_ppo(libraries, pair)),
        RelExpr::SameEvent => certain(pair.position == RelativePosition::OneEvent),
        RelExpr::SameThread => certain(pair.position != RelativePosition::Apart),
        // The two subevents are different, and this relation is part of the identity.
        RelExpr::On(_) => certain(false),
        RelExpr::Cross(p, q) => both(in_set(p, a, SubKnowledge::first(pair)), in_set(q, b, SubKnowledge::second(pair))),
        RelExpr::Union(p, q) => {
            let (p, q) = (of(p, pair), of(q, pair));
            (p.0 || q.0, p.1 || q.1)
        }
        RelExpr::Inter(p, q) => both(of(p, pair), of(q, pair)),
        RelExpr::Minus(p, q) => {
            let (p, q) = (of(p, pair), of(q, pair));
            (p.0 && !q.1, p.1 && !q.0)
        }
        RelExpr::Inverse(p) => of(p, pair.turned()),
        RelExpr::Plus(p) => (of(p, pair).0, true),
        RelExpr::Chosen(choice) => match &spec.choices[*choice].1 {
            Choice::ReadsFrom { reads, writes } => {
                (pair.rf && in_set(writes, a, SubKnowledge::Writes).0 && in_set(reads, b, SubKnowledge::Reads).0, true)
            }
            _ => (false, true),
        },
        RelExpr::Seq(p, q) => match (p.expr(), q.expr()) {
            (RelExpr::On(set), _) => (in_set(set, a, SubKnowledge::first(pair)).0 && of(q, pair).0, true),
            (_, RelExpr::On(set)) => (in_set(set, b, SubKnowledge::second(pair)).0 && of(p, pair).0, true),
            // These relations are reflexive, because each subevent shares its event and its thread with itself.
            (RelExpr::SameEvent | RelExpr::SameThread, _) => (of(q, pair).0, true),
            (_, RelExpr::SameEvent | RelExpr::SameThread) => (of(p, pair).0, true),
            _ => (false, true),
        },
        RelExpr::Same(key) => {
            (pair.views.is_some_and(|[a, b]| key.of(&a).is_some_and(|k| key.of(&b) == Some(k))), true)
        }
        RelExpr::Hb | RelExpr::InTurn(..) | RelExpr::BeforeAny(_) => (false, true),
    }
}

/// The knowledge about a subevent of a pair, besides its stamp.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SubKnowledge {
    Writes,
    Reads,
    Some,
}

impl SubKnowledge {
    fn first(pair: StampPair<'_>) -> Self {
        if pair.rf { Self::Writes } else { Self::Some }
    }

    fn second(pair: StampPair<'_>) -> Self {
        if pair.rf { Self::Reads } else { Self::Some }
    }
}

/// Returns whether a subevent of this stamp must be in a set, and whether it may be.
fn in_set(set: &Set, stamp: Stamp, role: SubKnowledge) -> (bool, bool) {
    match set.members() {
        SetDefinition::All => (true, true),
        SetDefinition::Reads => (role == SubKnowledge::Reads, true),
        SetDefinition::Writes => (role == SubKnowledge::Writes, true),
        SetDefinition::Stamped(is) => (is(stamp), is(stamp)),
        SetDefinition::Where(..) | SetDefinition::Calls(_) | SetDefinition::Ways(..) => (false, true),
        SetDefinition::Named(_, set) => in_set(set, stamp, role),
        SetDefinition::Both(sets) => {
            let (p, q) = (in_set(&sets.0, stamp, role), in_set(&sets.1, stamp, role));
            (p.0 && q.0, p.1 && q.1)
        }
        SetDefinition::Either(sets) => {
            let (p, q) = (in_set(&sets.0, stamp, role), in_set(&sets.1, stamp, role));
            (p.0 || q.0, p.1 || q.1)
        }
    }
}
