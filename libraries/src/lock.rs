//! The common part of all locks: well-formed clients, the order of critical sections, and probes that see them overlap.

use itertools::{Itertools, iproduct};
use mowgli_core::algebra::Attribute::{Argument, Count, Thread};
use mowgli_core::algebra::{Set, stamped};
use mowgli_core::soundness::client::Client;
use mowgli_core::soundness::verdict::Probes;
use mowgli_core::term::lemma::{Fact, Lemma, LemmaVar, Num, Of, call as a_call, hb, index, number, value};
use mowgli_core::term::method;
use mowgli_core::world::{DeclarationForm, DeclarationPart};
use mowgli_rdma::wait::{WAIT, word};

use crate::prelude::*;

methods! {
    /// Calls of a lock.
    pub enum Method as statements {
        /// `Acq(x)` of this kind of lock.
        fn acq = Acq(x: Object);
        /// `Rel(x)` of this kind of lock.
        fn rel = Rel(x: Object);
    }
}

/// A lock as a library, over the stamps of any memory model: Acq is a fence, and the kinds differ in their Rel.
#[derive(Clone, Copy, Debug)]
pub struct Lock {
    pub(crate) name: Name,
    /// The form of its declaration in litmus tests.
    pub(crate) form: DeclarationForm,
    /// The stamp of a fence, aMF.
    pub(crate) fence: fn() -> Stamp,
    /// The shapes of Acq, which is a fence, and of Rel.
    pub(crate) shapes: fn() -> &'static Shapes,
    /// The subevents of a Rel that are before the next Acq.
    pub(crate) lets_in: fn() -> Set,
    /// Adds the promises of this kind of lock beyond the order of the sections, for example NLOCK's order within a Rel.
    pub(crate) first: fn(&mut Spec),
}

impl Lock {
    /// Returns a lock of this name, declared by its name and node, with these shapes. Acq has the stamp `fence`. The
    /// subevents of a Rel in `lets_in` come before the next Acq.
    #[must_use]
    pub const fn new(name: Name, fence: fn() -> Stamp, shapes: fn() -> &'static Shapes, lets_in: fn() -> Set) -> Self {
        let form = DeclarationForm { kind: name.text(), parts: &[DeclarationPart::Node] };
        Self { name, form, fence, shapes, lets_in, first: |_| {} }
    }
}

impl Library for Lock {
    fn name(&self) -> Name {
        self.name
    }

    fn object(&self) -> Option<DeclarationForm> {
        Some(self.form)
    }

    fn methods(&self) -> &'static [method::Method] {
        Method::TABLE
    }

    fn covered(&self) -> PlainSet<'_> {
        PlainSet::Paired(WELL_FORMED)
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some((self.shapes)())
    }

    /// `so = {<<e1, a>, <e2, aMF>> | match(e0, e1), e0 lo e2}` for the stamps `a` that let the next thread in, plus
    /// `first`.
    fn spec(&self) -> Spec {
        let (acq, rel) = (stamped((self.fence)()), (self.lets_in)());
        let mut c = Spec::default();
        (self.first)(&mut c);
        spec! { c =>
            // lo: a total order on the Acq of each lock; match^-1: from a Rel to the Acq of its section
            let lo = order(acq, LOCK);
            let released = [rel]; same(SECTION); [acq]; lo;
            say released as lo = "{a} lets {b} in";
            so = released;
        }
        c
    }
}

impl Hints for Lock {
    /// An Acq waits until nobody holds the lock.
    fn may_wait(&self, _: &World, call: &Call) -> Option<bool> {
        Some(matches!(Method::of(call), Method::Acq { .. }))
    }

    fn unfinished(&self, events: &[&Event]) -> Vec<Call> {
        held(events).into_iter().map(|x| Method::Rel { x }.call(self.name)).collect()
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::DataIndependent
    }
}

impl Subject for Lock {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        worlds(self.name, empty, bound, expired)
    }

    /// Acq and Rel of every lock.
    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        method::calls(self.name, Method::TABLE, world, thread, bound, expired)
    }
}

/// Lock-well-formed (SYNC §4.1): on each thread and lock, Acq and Rel alternate, and every lock is released in the end.
pub const WELL_FORMED: Paired = Paired {
    opens: &["Acq"],
    may_open: &[],
    closes: &["Rel"],
    says: ["every Acq is released", "every Rel has an Acq"],
};

/// The locks that a thread holds after these calls of its own, the last one first.
#[must_use]
pub fn held(events: &[&Event]) -> Vec<Loc> {
    let mut held = Vec::new();
    for e in events {
        let x = e.call.loc(0);
        match e.call.method.text() {
            "Rel" => held.retain(|&h| h != x),
            _ if held.contains(&x) => {}
            _ => held.insert(0, x),
        }
    }
    held
}

/// The lock of a call.
pub(crate) const LOCK: Key = Key::by("lock", &[Argument(0)]);

/// The lock, the thread, and the number of the critical section.
const SECTION: Key = Key::by("section", &[Argument(0), Thread, Count]);

/// Lemmas that follow from the assumption about clients: the n-th Rel of a thread is that of its n-th Acq.
#[must_use]
pub fn sections() -> Vec<Lemma> {
    let [c, d] = ["c", "d"].map(a_call);
    let about = |words| Lemma::new(words).about(&[c, d]).given(c.is_a("Acq")).given(d.is_a("Rel"));
    let on_one = |lemma: Lemma| lemma.given(d.shares_object(c));
    vec![
        on_one(about("before the n-th Rel are at most n Acq"))
            .given(c.before(d))
            .then(index(c).exceeds(index(d)).negated())
            .along_po(c),
        on_one(about("before the n-th Acq are fewer than n Rel"))
            .given(d.before(c))
            .then(index(c).exceeds(index(d)))
            .along_po(d),
        about("the n-th Rel is that of the n-th Acq").given(c.with(d)).then(index(c).is(index(d))).along_po(d),
    ]
}

/// The word from which threads take tickets.
pub(crate) fn dispenser(x: impl Into<Expr>) -> Expr {
    x.into().part("dispenser", [])
}

/// The ticket of a thread, on its own node.
pub(crate) fn ticket(x: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("ticket", [t.into()])
}

/// The ticket that a call reads first.
#[must_use]
pub fn ticket_of(c: LemmaVar) -> Num {
    value(c.read(WAIT, "Read", 1))
}

/// The first lemmas about locks whose tickets are taken by RFAA: each Rel has its Acq, and tickets
/// differ.
#[must_use]
pub fn tickets() -> Vec<Lemma> {
    tickets_taken_by(|c| c.read(WAIT, "RFAA", 1), ticket_of)
}

/// The first lemmas about locks whose tickets are taken by this fetch-and-add: each Rel has its Acq, and tickets differ.
pub(crate) fn tickets_taken_by(taken: fn(LemmaVar) -> Of, ticket_of: fn(LemmaVar) -> Num) -> Vec<Lemma> {
    let [c, d] = ["c", "d"].map(a_call);
    let mut all = sections();
    all.extend([
        Lemma::new("no ticket is negative").about(&[c]).then(value(taken(c)).exceeds(number(-1))).along_hb(taken(c)),
        Lemma::new("tickets grow")
            .about(&[c, d])
            .given(c.is_a("Acq"))
            .given(d.is_a("Acq"))
            .given(d.shares_object(c))
            .given(hb(taken(d), taken(c)))
            .then(value(taken(c)).exceeds(value(taken(d))))
            .along_hb(taken(c)),
        Lemma::new("no two Acq have one ticket")
            .about(&[c, d])
            .given(c.is_a("Acq"))
            .given(d.is_a("Acq"))
            .given(d.shares_object(c))
            .given(ticket_of(c).is(ticket_of(d)))
            .then(c.same(d)),
    ]);
    all
}

/// The invariant of a lock: an Acq that is later than another one happens after the Rel of that one. Of two Acq `is_later` says
/// that the first is later. The write `passes_on` of a Rel is before the read `seen` with which an Acq ends.
#[must_use]
pub fn comes_after_the_rel(
    words: &'static str,
    is_later: fn(LemmaVar, LemmaVar) -> Fact,
    passes_on: fn(LemmaVar) -> Of,
    seen: fn(LemmaVar) -> Of,
) -> Lemma {
    let [c, d, e] = ["c", "d", "e"].map(a_call);
    Lemma::new(words)
        .about(&[c, d, e])
        .given(c.is_a("Acq"))
        .given(d.is_a("Rel"))
        .given(e.is_a("Acq"))
        .given(e.with(d))
        .given(d.shares_object(c))
        .given(is_later(c, e))
        .then(hb(passes_on(d), seen(c)))
        .along_hb(seen(c))
}

/// The worlds with locks on any nodes.
pub fn worlds(library: Name, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
    let allowed = |n: &Node| bound.homes.is_empty() || bound.homes.contains(&n.0);
    let nodes: Vec<Node> = empty.all_nodes().iter().filter(allowed).collect();
    let counts = 1..=bound.objects;
    let choices = counts.flat_map(|count| std::iter::repeat_n(nodes.iter().copied(), count).multi_cartesian_product());
    let with = |homes: Vec<Node>| {
        let mut world = empty.clone();
        let locks = object_names(&["l", "m", "k"]).zip(homes);
        world.objects.extend(locks.map(|(name, node)| (name, Object::new(library).at(node))));
        world
    };
    choices.take_while(|_| !expired()).map(with).collect()
}

/// The worlds whose objects of a library have each of these sizes, in all combinations.
pub(crate) fn of_sizes(worlds: Vec<World>, library: Name, sizes: &[usize]) -> impl Iterator<Item = World> {
    let with = move |world: World| {
        let objects: Vec<Loc> = world.objects_of(library).into_iter().map(|(x, _)| x).collect();
        let choices = std::iter::repeat_n(sizes.iter().copied(), objects.len()).multi_cartesian_product();
        choices.map(move |sizes| {
            let mut world = world.clone();
            for (x, size) in objects.iter().zip(sizes) {
                world.objects.get_mut(x).expect("an object of this world").size = size;
            }
            world
        })
    };
    worlds.into_iter().flat_map(with)
}

/// The node of a lock's words: its own, or the first.
pub(crate) fn home(world: &World, x: Loc) -> Node {
    world.home(x).unwrap_or(Node(1))
}

/// Probes inside critical sections. They have two forms, each with every way to write and to read memory:
///  - *torn*: one section writes a word twice, another reads it once and must not see it in between;
///  - *exchange*: two sections each write a word and read the other's; one of them must see the other.
#[derive(Clone, Copy, Debug)]
pub struct Sections {
    /// The kind of lock.
    pub library: Name,
}

/// The way in which a section accesses a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accessor {
    Cpu,
    Nic,
    /// By a get that is waited for only after the section.
    Late,
}

/// The calls before and after the release.
type Split = (Vec<Call>, Vec<Call>);

fn call(method: &'static str, args: &[Val]) -> Call {
    Call::new(WAIT, method, args)
}

/// The calls that write `v`; `None` if the thread cannot write in this way.
fn writes(world: &mut World, t: Tid, x: Loc, node: Node, v: i64, way: Accessor) -> Option<Vec<Call>> {
    let here = world.node_of(t);
    world.objects.insert(x, word(node));
    match way {
        Accessor::Cpu => (here == node).then(|| vec![call("Write", &[x.into(), v.into()])]),
        Accessor::Nic => {
            let o = Loc::new(&format!("o{t}{v}"));
            world.objects.insert(o, word(here).init(v.into()));
            Some(vec![call("Put", &[x.into(), o.into(), Val::NoWid])])
        }
        Accessor::Late => None,
    }
}

fn looks(world: &mut World, t: Tid, x: Loc, node: Node, way: Accessor) -> Option<Split> {
    let here = world.node_of(t);
    if way == Accessor::Cpu {
        return (here == node).then(|| (vec![call("Read", &[x.into()])], Vec::new()));
    }
    let (l, d) = (Loc::new(&format!("r{t}")), Val::Wid(Wid(Name::new(&format!("dp{t}")))));
    world.objects.insert(l, word(here).init(Val::Int(9)));
    let get = call("Get", &[l.into(), x.into(), d]);
    let rest = vec![call("Wait", &[d]), call("Read", &[l.into()])];
    Some(if way == Accessor::Late { (vec![get], rest) } else { ([vec![get], rest].concat(), Vec::new()) })
}

/// Positions for calls, for each pair of threads with a section on one lock: after its Acq, and after its Rel.
pub(crate) fn pairs(library: Name, client: &Client) -> Vec<[CriticalSection; 2]> {
    let first = |t: usize| {
        let calls = &client.threads[t];
        calls.iter().tuple_windows().position(|(a, r)| {
            let own = a.library == library && r.library == library && a.args == r.args;
            own && a.method.text() != "Rel" && r.method.text() == "Rel"
        })
    };
    let sections: Vec<CriticalSection> =
        (0..client.threads.len()).filter_map(|t| first(t).map(|i| (Tid::from_index(t), i))).collect();
    let lock = |&(t, i): &CriticalSection| client.threads[t.index()][i].args[0];
    let pairs = sections.iter().permutations(2).filter(|p| lock(p[0]) == lock(p[1]));
    pairs.map(|p| [*p[0], *p[1]]).collect()
}

/// The client with calls put inside a section and after it.
pub(crate) fn inside(client: &Client, (t, at): (Tid, usize), inner: Vec<Call>, after: Vec<Call>) -> Client {
    let mut client = client.clone();
    let calls = &mut client.threads[t.index()];
    calls.splice(at + 2..at + 2, after);
    calls.splice(at + 1..at + 1, inner);
    client
}

impl Probes for Sections {
    fn stages(&self) -> usize {
        1
    }

    fn extend(&self, world: &World, client: &Client, _: usize) -> Vec<(World, Client)> {
        let nodes: Vec<Node> = world.all_nodes().iter().collect();
        let touches = [Accessor::Cpu, Accessor::Nic];
        let mut all = Vec::new();
        for sections in pairs(self.library, client) {
            for (m, look) in iproduct!(&nodes, [Accessor::Cpu, Accessor::Nic, Accessor::Late]) {
                all.extend(touches.iter().filter_map(|&touch| torn(world, client, sections, *m, touch, look)));
                for (n, one, two) in iproduct!(&nodes, touches, touches) {
                    all.extend(exchange(world, client, sections, [*m, *n], [one, two], look));
                }
            }
        }
        all.sort_by_key(|(_, c)| c.len());
        all
    }
}

/// The thread of a section, and the position of its Acq.
pub(crate) type CriticalSection = (Tid, usize);

fn torn(
    world: &World,
    client: &Client,
    [one, two]: [CriticalSection; 2],
    node: Node,
    touch: Accessor,
    look: Accessor,
) -> Option<(World, Client)> {
    let (mut world, x) = (world.clone(), Loc::new("px"));
    let first = writes(&mut world, one.0, x, node, 1, touch)?;
    let second = writes(&mut world, one.0, x, node, 2, touch)?;
    let (inner, after) = looks(&mut world, two.0, x, node, look)?;
    let client = inside(client, one, [first, second].concat(), Vec::new());
    Some((world, inside(&client, two, inner, after)))
}

fn exchange(
    world: &World,
    client: &Client,
    sections: [CriticalSection; 2],
    nodes: [Node; 2],
    touches: [Accessor; 2],
    look: Accessor,
) -> Option<(World, Client)> {
    let (mut world, mut client) = (world.clone(), client.clone());
    let words = ["px", "py"].map(Loc::new);
    for (mine, other) in [(0, 1), (1, 0)] {
        let t = sections[mine].0;
        let write = writes(&mut world, t, words[mine], nodes[mine], 1, touches[mine])?;
        let (inner, after) = looks(&mut world, t, words[other], nodes[other], look)?;
        client = inside(&client, sections[mine], [write, inner].concat(), after);
    }
    Some((world, client))
}
