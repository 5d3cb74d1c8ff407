//! Symmetric clients: clients that are equal up to a renaming of threads, nodes, objects and written values.
//!
//! **Computes** with [`Renaming::canonical`] the canonical form of a client, which makes two clients candidates. Then
//! [`relates`] decides whether the search for one client would give the same answers for the other one, renamed. An
//! implementation may use the numbers of threads and nodes, or compare values with constants, and so may a
//! specification. So `relates` does not assume symmetry, but repeats for the other client every question that the
//! search has asked ([`Transcript`]). The check searches a client with any difference itself.
//!
//! **Invariant.** The maps `locs`, `wids`, `cells` and `keys` are one-to-one and only grow. `points` maps each compared
//! point to a point of the other client that has the same shapes and position under these maps.
//!
//! **Example.** `write(x, 1)` on T1 with `read(x)` on T2, and the same with both threads exchanged, have one canonical
//! form. If the implementation of `write` depends on the number of the thread, the two points after it differ, and
//! `relates` returns false.
//!
//! **Correct because** the search learns about a client only from these answers, and never reads a name. If all
//! answers are equal under the renaming, the other search takes the same steps, by induction over its steps
//! (docs/search.md, "Symmetric clients"). The tests are in `tests/tests/renaming.rs`.
//!
//! **Cost.** Each point and each state that the search visited is compared once, up to the first difference. The
//! canonical form tries at most 4! orders of threads (`THREADS`).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use itertools::Itertools;
use rustc_hash::FxHashSet;

use super::client::Client;
use crate::algebra::{Attribute, Choice, Key, Rel, RelExpr, Set, SetDefinition, Spec, SubView};
use crate::event::{Call, Cell, Event, Reads, Shape, Sub, Writes, alike};
use crate::flow::Transcript;
use crate::ids::{Loc, Name, Node, Tid, Wid};
use crate::library::Libraries;
use crate::problem::Problem;
use crate::stamp::Stamp;
use crate::thread::{Frontier, Iterations, LastIteration, ThreadState, Threads};
use crate::value::Val;
use crate::world::{Crashes, Object, World};

/// The number of threads up to which the canonical form tries all orders, since `n` threads have `n!` of them.
const THREADS: usize = 4;

/// A one-to-one map of threads, nodes and integers. Integers that it does not name stay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renaming {
    /// The image of each thread.
    threads: Vec<Tid>,
    /// The image of each node.
    nodes: Vec<Node>,
    values: BTreeMap<i64, i64>,
}

/// The canonical form of a client. Clients with equal forms differ by a renaming at most.
pub type Canonical = (World, Client);

impl Renaming {
    /// Returns the canonical form, and the renaming to it. Nodes, objects and these `values` are numbered in the order
    /// of their first use. With `threads`, the threads stand in the order that gives the least such form.
    #[must_use]
    pub fn canonical(world: &World, client: &Client, values: &[i64], threads: bool) -> (Canonical, Self) {
        let count = world.threads.len();
        let in_order = (0..count).collect_vec();
        if !threads || count > THREADS {
            return Self::in_order(world, client, values, &in_order);
        }
        // Sort the threads by their methods, since a renaming preserves these, and permute only threads with the same
        // methods.
        let methods = |t: &usize| client.threads[*t].iter().map(|call| call.method).collect_vec();
        let sorted = in_order.into_iter().sorted_by_key(methods).collect_vec();
        let orders = sorted.iter().copied().permutations(count);
        let is_sorted = |order: &Vec<usize>| order.iter().map(&methods).eq(sorted.iter().map(&methods));
        let all = orders.filter(is_sorted).map(|order| Self::in_order(world, client, values, &order));
        all.min_by(|(a, _), (b, _)| a.cmp(b)).expect("one order at least")
    }

    /// Returns the same for this order of threads.
    fn in_order(world: &World, client: &Client, values: &[i64], order: &[usize]) -> (Canonical, Self) {
        let calls = || order.iter().flat_map(|&t| &client.threads[t]);
        let args = || calls().flat_map(|call| call.args.iter().copied());
        let locs = numbered(args().filter_map(Val::loc), world.objects.keys().copied());
        let objects = world.objects.keys().sorted_by_key(|x| locs[x]).map(|x| &world.objects[x]).collect_vec();
        let homes = objects.iter().filter_map(|o| o.node);
        let placed = order.iter().map(|&t| world.threads[t]).chain(homes).chain(args().flat_map(nodes_of));
        let nodes = numbered(placed, (1..=world.nodes).map(Node));
        let written = args().flat_map(integers).filter(|v| values.contains(v));
        let values: BTreeMap<i64, i64> =
            numbered(written, values.iter().copied()).into_iter().map(|(v, n)| (v, values[n])).collect();
        let position = |t: usize| Tid::from_index(order.iter().position(|&o| o == t).expect("each thread has a place"));
        let renaming = Self {
            threads: (0..order.len()).map(position).collect(),
            nodes: (1..=world.nodes).map(|n| Node(nodes[&Node(n)] as u8 + 1)).collect(),
            values,
        };
        let names = world.objects.keys().copied().collect_vec();
        let loc = |x: Loc| locs.get(&x).map_or(x, |&n| names[n]);
        let call =
            |call: &Call| Call { args: call.args.iter().map(|&v| renaming.image(v, &loc)).collect(), ..call.clone() };
        let form = World {
            nodes: world.nodes,
            threads: order.iter().map(|&t| renaming.node(world.threads[t])).collect(),
            objects: world.objects.iter().map(|(&x, o)| (loc(x), renaming.object(o, &loc))).collect(),
            crashes: Crashes {
                threads: world.crashes.threads.iter().map(|&t| renaming.thread(t)).collect(),
                nodes: world.crashes.nodes.iter().map(|n| renaming.node(n)).collect(),
            },
        };
        let threads = order.iter().map(|&t| client.threads[t].iter().map(call).collect()).collect();
        ((form, Client { threads }), renaming)
    }

    /// Composes this renaming with another one.
    #[must_use]
    pub fn then(&self, other: &Self) -> Self {
        Self {
            threads: self.threads.iter().map(|&t| other.thread(t)).collect(),
            nodes: self.nodes.iter().map(|&n| other.node(n)).collect(),
            values: self.values.iter().map(|(&v, w)| (v, *other.values.get(w).unwrap_or(w))).collect(),
        }
    }

    /// Composes this renaming with the inverse of another one.
    #[must_use]
    pub fn and_back(&self, other: &Self) -> Self {
        let back = |t: &Tid| Tid::from_index(other.threads.iter().position(|u| u == t).expect("one-to-one"));
        let node = |n: &Node| Node(other.nodes.iter().position(|m| m == n).expect("one-to-one") as u8 + 1);
        let value = |v: &i64| other.values.iter().find(|(_, w)| *w == v).map_or(*v, |(w, _)| *w);
        Self {
            threads: self.threads.iter().map(back).collect(),
            nodes: self.nodes.iter().map(node).collect(),
            values: self.values.iter().map(|(v, w)| (*v, value(w))).collect(),
        }
    }

    fn thread(&self, t: Tid) -> Tid {
        self.threads[t.index()]
    }

    fn node(&self, n: Node) -> Node {
        self.nodes[usize::from(n.0) - 1]
    }

    fn image(&self, v: Val, loc: &dyn Fn(Loc) -> Loc) -> Val {
        match v {
            Val::Int(i) => Val::Int(*self.values.get(&i).unwrap_or(&i)),
            Val::Loc(x) => Val::Loc(loc(x)),
            Val::Node(n) => Val::Node(self.node(n)),
            Val::Nodes(ns) => Val::Nodes(ns.iter().map(|n| self.node(n)).collect()),
            Val::Thread(t) => Val::Thread(self.thread(t)),
            Val::Tuple(parts) => Val::tuple(&parts.parts().iter().map(|&v| self.image(v, loc)).collect_vec()),
            other => other,
        }
    }

    /// Renames an object. Members that are sorted by number stay sorted.
    fn object(&self, object: &Object, loc: &dyn Fn(Loc) -> Loc) -> Object {
        let mut members = object.members.iter().map(|&t| self.thread(t)).collect_vec();
        if object.members.is_sorted() {
            members.sort();
        }
        Object {
            node: object.node.map(|n| self.node(n)),
            init: self.image(object.init, loc),
            members,
            ..object.clone()
        }
    }
}

/// Numbers the elements of `all`: those of `first` come first, in that order.
fn numbered<T: Ord + Copy + Hash>(first: impl Iterator<Item = T>, all: impl Iterator<Item = T>) -> BTreeMap<T, usize> {
    let all = all.collect_vec();
    let first = first.filter(|x| all.contains(x)).collect_vec();
    first.into_iter().chain(all.iter().copied()).unique().enumerate().map(|(n, x)| (x, n)).collect()
}

fn nodes_of(v: Val) -> Vec<Node> {
    match v {
        Val::Node(n) => vec![n],
        Val::Nodes(ns) => ns.iter().collect(),
        Val::Tuple(parts) => parts.parts().iter().flat_map(|&v| nodes_of(v)).collect(),
        _ => Vec::new(),
    }
}

fn integers(v: Val) -> Vec<i64> {
    match v {
        Val::Int(i) => vec![i],
        Val::Tuple(parts) => parts.parts().iter().flat_map(|&v| integers(v)).collect(),
        _ => Vec::new(),
    }
}

/// A one-to-one relation, to which pairs are added.
struct Bijection<T>(BTreeMap<T, T>, BTreeMap<T, T>);

impl<T> Default for Bijection<T> {
    fn default() -> Self {
        Self(BTreeMap::new(), BTreeMap::new())
    }
}

impl<T: Ord + Copy> Bijection<T> {
    /// Relates two elements, unless one of them is already related to a different one.
    fn relate(&mut self, a: T, b: T) -> bool {
        *self.0.entry(a).or_insert(b) == b && *self.1.entry(b).or_insert(a) == a
    }
}

/// The sets and keys by which a specification examines single subevents, as far as they may tell renamed subevents apart.
#[derive(Default)]
pub struct Observers {
    /// Sets that are defined by stamps.
    of_stamps: Vec<Set>,
    /// Sets that are Rust functions.
    sets: Vec<(Name, Set)>,
    /// Keys that are Rust functions, or that do not follow from stamps, arguments and cells.
    keys: Vec<(Name, Key)>,
}

/// A part of the definition of a set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SetPart {
    Stamp,
    Function,
}

/// True if the definition of a set has such a part.
fn has_part(set: &Set, part: SetPart) -> bool {
    match set.members() {
        SetDefinition::All | SetDefinition::Reads | SetDefinition::Writes | SetDefinition::Calls(_) => false,
        SetDefinition::Stamped(_) => part == SetPart::Stamp,
        SetDefinition::Where(..) => part == SetPart::Function,
        SetDefinition::Either(sets) | SetDefinition::Both(sets) => has_part(&sets.0, part) || has_part(&sets.1, part),
        SetDefinition::Named(_, set) => has_part(set, part),
    }
}

/// True if two subevents have equal keys exactly if their images have. The node of a cell does not follow from its image.
fn is_renamed(key: &Key) -> bool {
    key.attributes().is_some_and(|all| !all.contains(&Attribute::Place))
}

impl Observers {
    /// Collects the sets and keys of these libraries.
    #[must_use]
    pub fn by(libraries: &Libraries) -> Self {
        let mut asked = Self::default();
        for name in libraries.names() {
            asked.add(name, libraries.spec(name).expect("a name of the set"));
        }
        asked
    }

    fn add(&mut self, name: Name, spec: &Spec) {
        for (_, choice) in &spec.choices {
            match choice {
                Choice::ReadsFrom { reads, writes } => [reads, writes].into_iter().for_each(|set| self.set(name, set)),
                Choice::Order { members, key } => {
                    self.set(name, members);
                    self.key(name, key);
                }
                Choice::Orient { pairs } => self.relation(name, pairs),
            }
        }
        let demands = spec.demands.iter().map(|(_, _, rel)| rel);
        spec.so.iter().map(|(_, rel)| rel).chain(demands).for_each(|rel| self.relation(name, rel));
    }

    fn set(&mut self, name: Name, set: &Set) {
        if has_part(set, SetPart::Function) {
            self.sets.push((name, set.clone()));
        } else if has_part(set, SetPart::Stamp) {
            self.of_stamps.push(set.clone());
        }
    }

    fn key(&mut self, name: Name, key: &Key) {
        if !is_renamed(key) {
            self.keys.push((name, key.clone()));
        }
    }

    fn relation(&mut self, name: Name, rel: &Rel) {
        match rel.expr() {
            RelExpr::Po | RelExpr::Ppo | RelExpr::Hb | RelExpr::SameEvent | RelExpr::SameThread => {}
            RelExpr::Chosen(_) | RelExpr::BeforeAny(_) => {}
            RelExpr::Same(key) => self.key(name, key),
            RelExpr::InTurn(from, to, key) => {
                self.set(name, from);
                self.set(name, to);
                self.key(name, key);
            }
            RelExpr::On(set) => self.set(name, set),
            RelExpr::Cross(a, b) => [a, b].into_iter().for_each(|set| self.set(name, set)),
            RelExpr::Union(a, b) | RelExpr::Inter(a, b) | RelExpr::Minus(a, b) | RelExpr::Seq(a, b) => {
                self.relation(name, a);
                self.relation(name, b);
            }
            RelExpr::Inverse(a) | RelExpr::Plus(a) => self.relation(name, a),
        }
    }
}

/// One of the two sets of libraries in a search: those of the calls that threads make, or the specification.
pub struct LibrarySide<'a> {
    /// The libraries.
    pub libraries: &'a Libraries,
    /// Their sets and keys.
    pub asked: &'a Observers,
}

/// True if all answers in the search for one client are the same for another one, renamed.
///
/// `below` has the libraries of the calls that threads make, `above` those of the replaced calls.
pub fn relates<'m>(
    renaming: &Renaming,
    transcript: &Transcript<'_, '_, 'm>,
    other: &Problem<'_>,
    [below, above]: [&LibrarySide<'_>; 2],
) -> bool {
    let points = typed_arena::Arena::new();
    let one = transcript.threads;
    let threads = Threads {
        libraries: other.libraries,
        implementations: other.implementations,
        world: other.world,
        rounds: one.rounds,
        points: &points,
        seen: Default::default(),
        notes: false,
        waits: false,
    };
    let mut relation = Simulation {
        renaming,
        one: one.world,
        other: other.world,
        threads: &threads,
        below,
        above,
        locs: Bijection::default(),
        wids: Bijection::default(),
        cells: Bijection::default(),
        keys: [below, above].map(|side| side.asked.keys.iter().map(|_| Bijection::default()).collect()),
        seen: FxHashSet::default(),
        replaced: BTreeSet::new(),
        stamps: BTreeSet::new(),
        points: BTreeMap::new(),
        updates: BTreeSet::new(),
        written: BTreeSet::new(),
        left: Vec::new(),
    };
    let starts = transcript.starts.iter().enumerate().all(|(t, &point)| {
        let thread = renaming.thread(Tid::from_index(t));
        let start = threads.start(thread, &other.programs[thread.index()]);
        relation.point(thread, point, start, 0)
    });
    starts
        && relation.rest()
        && relation.stamp_order()
        && relation.steps(transcript.states)
        && transcript.states.iter().all(|state| relation.state(state))
        && transcript.heard.iter().all(|(library, points)| relation.heard(*library, points))
}

/// A comparison of what follows two points. It needs the images of the values that the first one was given.
#[derive(Clone)]
enum StateComparison<'m> {
    /// The point that the first one reaches if its call returns this value in the shape of this number.
    Next(Val, Option<usize>, &'m ThreadState<'m>),
    /// The iterations that the first one can end if its call returns this value.
    Rounds(Val, Iterations<'m>),
    /// The results of the call at which both stand.
    Returned,
}

/// A step from a point of the one and the point of the other that it becomes.
type OpenStep<'m, 'n> = (Tid, &'m ThreadState<'m>, &'n ThreadState<'n>, StateComparison<'m>);

struct Simulation<'r, 'm, 'n> {
    renaming: &'r Renaming,
    one: &'r World,
    other: &'r World,
    /// The threads of the other client.
    threads: &'r Threads<'r, 'n>,
    below: &'r LibrarySide<'r>,
    above: &'r LibrarySide<'r>,
    locs: Bijection<Loc>,
    wids: Bijection<Wid>,
    cells: Bijection<Cell>,
    /// For each side and key the relation of its values.
    keys: [Vec<Bijection<Val>>; 2],
    /// The events with their shapes that were compared so far, by the number of earlier events alike.
    seen: FxHashSet<(&'m Event, usize, &'m Shape)>,
    /// The replaced calls whose shapes were compared so far, likewise.
    replaced: BTreeSet<(Event, usize)>,
    /// The stamps whose membership in sets was compared so far, by side.
    stamps: BTreeSet<(bool, Stamp)>,
    /// The image of each point of the one client.
    points: BTreeMap<usize, (&'m ThreadState<'m>, &'n ThreadState<'n>)>,
    /// The events of the one client that update, each with its image.
    updates: BTreeSet<(Event, Event)>,
    /// The initial values, and the values written without an update.
    written: BTreeSet<Val>,
    /// The steps that are not compared yet. A step waits until the images of its values are known. One thread may read a
    /// location whose image is known only from the run of another thread.
    left: Vec<OpenStep<'m, 'n>>,
}

impl<'m, 'n> Simulation<'_, 'm, 'n> {
    fn value(&mut self, a: Val, b: Val) -> bool {
        match (a, b) {
            (Val::Loc(x), Val::Loc(y)) => self.locs.relate(x, y),
            (Val::Wid(d), Val::Wid(e)) => self.wids.relate(d, e),
            (Val::Tuple(a), Val::Tuple(b)) => self.values(a.parts(), b.parts()),
            (Val::Loc(_) | Val::Wid(_) | Val::Tuple(_), _) => false,
            _ => self.renaming.image(a, &|x| x) == b,
        }
    }

    fn values(&mut self, a: &[Val], b: &[Val]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| self.value(a, b))
    }

    /// Returns the image of a value; `None` if it names a location or identifier that has no image yet.
    fn image(&self, v: Val) -> Option<Val> {
        match v {
            Val::Loc(x) => self.locs.0.get(&x).copied().map(Val::Loc),
            Val::Wid(d) => self.wids.0.get(&d).copied().map(Val::Wid),
            Val::Tuple(parts) => {
                let parts: Option<Vec<Val>> = parts.parts().iter().map(|&v| self.image(v)).collect();
                parts.map(|parts| Val::tuple(&parts))
            }
            other => Some(self.renaming.image(other, &|x| x)),
        }
    }

    fn call(&mut self, a: &Call, b: &Call) -> bool {
        (a.library, a.method) == (b.library, b.method) && self.values(&a.args, &b.args)
    }

    fn event(&mut self, a: &Event, b: &Event) -> bool {
        self.renaming.thread(a.thread) == b.thread && self.call(&a.call, &b.call) && self.value(a.ret, b.ret)
    }

    /// Compares two shapes, in which the subevents may stand in a different order. Returns the position of each
    /// subevent in the second one.
    fn shape(&mut self, a: &Shape, b: &Shape) -> Option<Vec<usize>> {
        let mut places = Vec::with_capacity(a.len());
        for sub in a {
            let stamp = sub.stamp.renamed(&|n| self.renaming.node(n));
            let place = (0..b.len()).find(|j| b[*j].stamp == stamp && !places.contains(j))?;
            places.push(place);
        }
        let same = a.len() == b.len() && a.iter().zip(&places).all(|(sub, &j)| self.sub(sub, &b[j], &places));
        same.then_some(places)
    }

    fn sub(&mut self, a: &Sub, b: &Sub, places: &[usize]) -> bool {
        let cells = match (a.cell, b.cell) {
            (Some(a), Some(b)) => self.cells.relate(a, b),
            (a, b) => a == b,
        };
        let reads = match (a.reads, b.reads) {
            (Some(Reads::Is(a)), Some(Reads::Is(b))) | (Some(Reads::IsNot(a)), Some(Reads::IsNot(b))) => {
                self.value(a, b)
            }
            (a, b) => a == b,
        };
        let writes = match (a.writes, b.writes) {
            (Some(Writes::Is(a)), Some(Writes::Is(b))) => self.value(a, b),
            (Some(Writes::Copy(a)), Some(Writes::Copy(b))) | (Some(Writes::Step(a)), Some(Writes::Step(b))) => {
                places[a] == b
            }
            (a, b) => a == b,
        };
        cells && reads && writes
    }

    /// Compares two points: the events from number `known` on, the calls, and the position of the thread. [`Self::rest`]
    /// compares all points after them.
    fn point(&mut self, thread: Tid, p: &'m ThreadState<'m>, q: &'n ThreadState<'n>, known: usize) -> bool {
        let (a, b) = (p.run(), q.run());
        let is_alike = a.shapes.len() == b.shapes.len()
            && a.trace.groups == b.trace.groups
            && a.trace.rounds == b.trace.rounds
            && a.trace.calls.len() == b.trace.calls.len();
        if !is_alike || !self.frontier(&p.frontier, &q.frontier) || !self.value(a.trace.output, b.trace.output) {
            return false;
        }
        let groups = a.trace.calls.iter().zip(&b.trace.calls);
        if !groups.into_iter().all(|(a, b)| a.parent == b.parent && self.event(&a.event, &b.event)) {
            return false;
        }
        for i in known..a.shapes.len() {
            let (events, nth) = ([&a.trace.events[i], &b.trace.events[i]], [p.alike[i], q.alike[i]]);
            if !self.event(events[0], events[1]) {
                return false;
            }
            let is_new = self.seen.insert((&a.trace.events[i], nth[0], &a.shapes[i]));
            if !self.happens(false, events, nth, (&a.shapes[i], &b.shapes[i]), is_new) {
                return false;
            }
        }
        if p.frontier == Frontier::Ended && !self.ended(p, q) {
            return false;
        }
        self.points.insert(p.id, (p, q));
        let successors = p.successors().into_iter().map(|(ret, shape, next)| StateComparison::Next(ret, shape, next));
        let rounds = p.known_rounds().into_iter().map(|(ret, rounds)| StateComparison::Rounds(ret, rounds));
        let steps = successors.chain(rounds).chain([StateComparison::Returned]);
        self.left.extend(steps.map(|step| (thread, p, q, step)));
        self.initial(thread, p, q)
    }

    /// Relates the initial values of the first cells at which the calls of two points look. These values may be locations
    /// that no event names.
    fn initial(&mut self, thread: Tid, p: &ThreadState<'m>, q: &ThreadState<'n>) -> bool {
        let first = p.returned.borrow().iter().find_map(|(cells, _)| cells.first().map(|(cell, _)| *cell));
        let (Some(a), Frontier::Reads(call)) = (first, &q.frontier) else { return true };
        let library = self.threads.libraries.of(call);
        let asked = RefCell::new(None);
        let of = |cell: Cell| {
            asked.borrow_mut().get_or_insert(cell);
            vec![library.init(self.other, cell)]
        };
        let _ = self.threads.returns(thread, q, &of);
        let Some(b) = asked.into_inner() else { return false };
        self.cells.relate(a, b) && self.value(library.init(self.one, a), library.init(self.other, b))
    }

    /// Compares the steps that are left, each once the images of its values are known. A step may relate further values, so
    /// the steps that wait are tried again, until none is left or all wait.
    fn rest(&mut self) -> bool {
        while !self.left.is_empty() {
            let left = std::mem::take(&mut self.left);
            let count = left.len();
            let mut waiting = Vec::new();
            for step in left {
                match self.step(&step) {
                    Some(true) => {}
                    Some(false) => return false,
                    None => waiting.push(step),
                }
            }
            if waiting.len() == count {
                return false;
            }
            self.left.append(&mut waiting);
        }
        true
    }

    /// Compares one step. Returns `None` while the image of its value is not known.
    fn step(&mut self, (thread, p, q, step): &OpenStep<'m, 'n>) -> Option<bool> {
        let (&thread, known) = (thread, p.run().shapes.len());
        match step {
            StateComparison::Next(ret, shape, next) => {
                let ret = self.image(*ret)?;
                let other = match *shape {
                    Some(shape) if self.threads.is_way(thread, q, ret, shape) => {
                        self.threads.after(q, thread, ret, shape)
                    }
                    Some(_) => return Some(false),
                    None => self.threads.beyond(q, thread),
                };
                Some(self.point(thread, next, other, known))
            }
            StateComparison::Rounds(ret, rounds) => {
                let others = self.threads.rounds(q, thread, self.image(*ret)?);
                let same = |(a, b): (&LastIteration<'m>, &LastIteration<'n>)| {
                    a.1 == b.1 && self.point(thread, a.0, b.0, known)
                };
                Some(rounds.len() == others.len() && rounds.iter().zip(others.iter()).all(same))
            }
            StateComparison::Returned => self.returned(thread, p, q),
        }
    }

    fn frontier(&mut self, a: &Frontier, b: &Frontier) -> bool {
        match (a, b) {
            (Frontier::Free(a, ways), Frontier::Free(b, others)) => {
                let image = |(ret, shape): &(Val, usize)| self.image(*ret).map(|ret| (ret, *shape));
                let ways: Option<BTreeSet<_>> = ways.iter().map(image).collect();
                ways == Some(others.iter().copied().collect()) && self.call(a, b)
            }
            (Frontier::Reads(a), Frontier::Reads(b)) | (Frontier::Never(a), Frontier::Never(b)) => self.call(a, b),
            (Frontier::Ended, Frontier::Ended)
            | (Frontier::Nowhere, Frontier::Nowhere)
            | (Frontier::Discarded, Frontier::Discarded) => true,
            (Frontier::Round(a), Frontier::Round(b)) | (Frontier::Spins(a), Frontier::Spins(b)) => a == b,
            (Frontier::Bound { start: a, remembered: r, .. }, Frontier::Bound { start: b, remembered: s, .. }) => {
                (a, r) == (b, s)
            }
            _ => false,
        }
    }

    /// Compares the results that the search has got for the call at which a thread stands, for each assignment of
    /// values to cells. Returns `None` while the image of one of these values is not known.
    fn returned(&mut self, thread: Tid, p: &ThreadState<'m>, q: &ThreadState<'n>) -> Option<bool> {
        for (cells, results) in &*p.returned.borrow() {
            let image =
                |values: &Vec<Val>| -> Option<BTreeSet<Val>> { values.iter().map(|&v| self.image(v)).collect() };
            let images: Vec<BTreeSet<Val>> = cells.iter().map(|(_, values)| image(values)).collect::<Option<_>>()?;
            let results = image(results)?;
            let asked = RefCell::new(Vec::new());
            let of = |cell: Cell| {
                asked.borrow_mut().push(cell);
                images.get(asked.borrow().len() - 1).into_iter().flatten().copied().collect()
            };
            let others: BTreeSet<Val> = self.threads.returns(thread, q, &of).into_iter().collect();
            let asked = asked.into_inner();
            let is_same = results == others
                && asked.len() == cells.len()
                && cells.iter().zip(asked).all(|((a, _), b)| self.cells.relate(*a, b));
            if !is_same {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Compares the shapes of the replaced calls of a thread that has ended, in their specification.
    fn ended(&mut self, p: &ThreadState<'m>, q: &ThreadState<'n>) -> bool {
        let (a, b) = (replaced(p), replaced(q));
        let specification = self.above.libraries;
        (0..a.len()).filter(|&i| specification.get(a[i].call.library).is_some()).all(|i| {
            let nth = [&a, &b].map(|events| alike(&events[..i], events[i].thread, &events[i].call));
            if nth[0] == nth[1] && !self.replaced.insert((a[i].clone(), nth[0])) {
                return true;
            }
            let ways = specification.of(&a[i].call).shapes(self.one, &a[i]);
            let others = specification.of(&b[i].call).shapes(self.other, &b[i]);
            ways.len() == others.len()
                && ways
                    .iter()
                    .zip(&others)
                    .all(|(way, other)| self.happens(true, [&a[i], &b[i]], nth, (way, other), true))
        })
    }

    /// Compares two events, each with its number of earlier events alike. It compares their shapes. For an event that is new it
    /// also compares the sets and keys of the subevents, and the initial values of their cells.
    fn happens(
        &mut self,
        above: bool,
        [a, b]: [&Event; 2],
        nth: [usize; 2],
        (p, q): (&Shape, &Shape),
        is_new: bool,
    ) -> bool {
        if nth[0] != nth[1] {
            return false;
        }
        let Some(places) = self.shape(p, q) else { return false };
        if !is_new {
            return true;
        }
        if p.iter().any(|sub| matches!(sub.writes, Some(Writes::Step(_)))) {
            self.updates.insert((a.clone(), b.clone()));
        }
        let side = if above { self.above } else { self.below };
        let name = a.call.library;
        for (sub, other) in p.iter().zip(places.iter().map(|&j| &q[j])) {
            let view = SubView { world: self.one, event: a, sub, nth: nth[0] };
            let other_view = SubView { world: self.other, event: b, sub: other, nth: nth[1] };
            let of_stamps: &[Set] = if self.stamps.insert((above, sub.stamp)) { &side.asked.of_stamps } else { &[] };
            let of_functions = side.asked.sets.iter().filter(|(of, _)| *of == name).map(|(_, set)| set);
            if !of_stamps.iter().chain(of_functions).all(|set| set.has(&view) == set.has(&other_view)) {
                return false;
            }
            let keys = side.asked.keys.iter().enumerate().filter(|(_, (of, _))| *of == name);
            let same = keys.into_iter().all(|(k, (_, key))| match (key.of(&view), key.of(&other_view)) {
                (Some(a), Some(b)) => self.keys[usize::from(above)][k].relate(a, b),
                (a, b) => a == b,
            });
            let library = side.libraries.of(&a.call);
            let initial = sub.cell.map(|cell| library.init(self.one, cell));
            let initial = initial.zip(other.cell.map(|cell| library.init(self.other, cell)));
            if !same || !initial.is_none_or(|(a, b)| self.value(a, b)) {
                return false;
            }
            let written = if let Some(Writes::Is(v)) = sub.writes { Some(v) } else { None };
            self.written.extend(initial.map(|(v, _)| v).into_iter().chain(written));
        }
        true
    }

    /// Compares the stamp order.
    fn stamp_order(&self) -> bool {
        let all = self.below.libraries.stamps(self.one.nodes);
        let renamed = all.iter().map(|a| a.renamed(&|n| self.renaming.node(n))).collect_vec();
        let to = |a: Stamp, b: Stamp| (self.below.libraries.to(a, b), self.above.libraries.to(a, b));
        let pairs = (0..all.len()).cartesian_product(0..all.len());
        self.one.nodes == self.other.nodes
            && pairs.into_iter().all(|(i, j)| to(all[i], all[j]) == to(renamed[i], renamed[j]))
    }

    /// Compares the results of updates on every value that can occur if each update happens once.
    fn steps(&self, states: &BTreeSet<Vec<usize>>) -> bool {
        let side = |e: &Event| if self.below.libraries.get(e.call.library).is_some() { self.below } else { self.above };
        let step = |e: &Event, v: Val| side(e).libraries.of(&e.call).step(e, v);
        let of_calls = self.updates.iter().flat_map(|(e, _)| e.call.args.iter().copied().chain([e.ret]));
        let mut values: BTreeSet<Val> = of_calls.chain(self.written.iter().copied()).collect();
        for _ in 0..self.most_updates(states) {
            let more = |(e, _): &(Event, Event)| values.iter().filter_map(|&v| step(e, v)).collect_vec();
            let more = self.updates.iter().flat_map(more).collect_vec();
            let before = values.len();
            values.extend(more);
            if values.len() == before {
                break;
            }
        }
        self.updates.iter().all(|(a, b)| {
            values.iter().all(|&v| {
                let renamed = self.image(v).and_then(|v| step(b, v));
                step(a, v).map_or(renamed.is_none(), |made| renamed.is_some() && self.image(made) == renamed)
            })
        })
    }

    /// Returns the largest number of updates in a state.
    fn most_updates(&self, states: &BTreeSet<Vec<usize>>) -> usize {
        let updates: BTreeSet<&Event> = self.updates.iter().map(|(a, _)| a).collect();
        if updates.is_empty() {
            return 0;
        }
        let of_thread = |id: &usize| {
            let run = self.points.get(id).map(|(p, _)| p.run());
            run.map_or(0, |run| run.trace.events.iter().filter(|e| updates.contains(e)).count())
        };
        states.iter().map(|state| state.iter().map(of_thread).sum()).max().unwrap_or(0)
    }

    /// Compares the answers of the libraries about all events of a state together. If all threads have ended, it also
    /// compares those about the replaced calls.
    fn state(&self, state: &[usize]) -> bool {
        let points: Option<Vec<_>> = state.iter().map(|id| self.points.get(id)).collect();
        let Some(points) = points else { return false };
        let a = points.iter().flat_map(|(p, _)| &p.run().trace.events).collect();
        let b = points.iter().flat_map(|(_, q)| &q.run().trace.events).collect();
        let is_same = self.say_the_same(self.below, [a, b]);
        if !is_same || points.iter().any(|(p, _)| p.frontier != Frontier::Ended) {
            return is_same;
        }
        let of_ended = points.iter().map(|(p, q)| (replaced(p), replaced(q)));
        let (a, b): (Vec<_>, Vec<_>) = of_ended.unzip();
        self.say_the_same(self.above, [a.iter().flatten().collect(), b.iter().flatten().collect()])
    }

    /// Compares the answers of a library whether its calls up to these points are well-formed.
    fn heard(&self, name: Name, points: &[usize]) -> bool {
        let points: Option<Vec<_>> = points.iter().map(|id| self.points.get(id)).collect();
        let (Some(points), Some(library)) = (points, self.below.libraries.get(name)) else { return false };
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for (p, q) in points {
            a.extend(p.run().trace.events.iter().filter(|e| e.call.library == name));
            b.extend(q.run().trace.events.iter().filter(|e| e.call.library == name));
        }
        library.is_well_formed(self.one, &a) == library.is_well_formed(self.other, &b)
    }

    fn say_the_same(&self, side: &LibrarySide<'_>, events: [Vec<&Event>; 2]) -> bool {
        let worlds = [self.one, self.other];
        side.libraries.names().all(|name| {
            let library = side.libraries.get(name).expect("a name of the set");
            let [a, b] = [0, 1].map(|i| {
                let own = events[i].iter().copied().filter(|e| e.call.library == name).collect_vec();
                let of = (library.is_well_formed(worlds[i], &own), library.admits(worlds[i], &own));
                (own.len(), of, library.must_return(worlds[i], &own))
            });
            a == b
        })
    }
}

/// Returns the calls of a thread that no other replaced call made.
fn replaced(point: &ThreadState<'_>) -> Vec<Event> {
    point.run().trace.calls.iter().filter(|g| g.parent.is_none()).map(|g| g.event.clone()).collect()
}
