//! RDMA-WAIT-RMW: remote operations that are completed by waiting on their work identifier.
//!
//! SYNC §3.2; without `RCAS` and `RFAA` it is RDMA-WAIT (LOCO-X App. G.2), and the two agree there. A put reads its
//! source and writes its target some time after it is posted. Only a wait shows that the source may be overwritten. Only
//! a later remote read shows that the write is placed.
//!
//! It deliberately does not promise that `Wait(d)` completes the remote write of a put (LOCO Fig. 3).

use std::iter;

use itertools::Itertools;
use mowgli_core::algebra::{Attribute, Key, Rel, Spec, rel, stamps};
use mowgli_core::event::{Call, Event, Shape};
use mowgli_core::expr::{Expr, node, range, ret};
use mowgli_core::ids::{Loc, Name, Node, Tid, Wid};
use mowgli_core::library::{Equivariance, Hints, Libraries, Library};
use mowgli_core::soundness::client::Subject;
use mowgli_core::soundness::crashes::Crashing;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::method::{self, methods, named_by};
use mowgli_core::term::shape::{ReadVar, ShapeTerm, Shapes, WritesTerm, other_than, plus, shape, shapes, sum};
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, DeclarationPart, Object, World};

use crate::axioms::network::flushing;
use crate::axioms::{self, Axioms, ways};
use crate::crash::{self, CRASH, Crash, cut_off};
use crate::message::Message;
use crate::network::Network;
use crate::stamp::RdmaStamp::{aCAS, aCR, aCW, aMF, aNAR, aNLR, aNLW, aNRR, aNRW, aRF, aWT};
use crate::switches::Switches;
pub(crate) use crate::way::QUEUE_PAIR;
use crate::way::{Signal, Way, is_fenced, queue};
pub use crate::way::{TARGET, WORDS};

methods! {
    /// The methods of RDMA-WAIT-RMW.
    pub enum Method of WAIT = "rdma-wait-rmw" as statements {
        /// `Write(x, v)`.
        fn write = Write(x: Local, v: Value);
        /// `Read(x)`.
        fn read = Read(x: Local) -> Value;
        /// `CAS(x, v1, v2)`, which returns the old value.
        fn cas = CAS(x: Local, v1: Value, v2: Value) -> Value;
        /// `Xchg(x, v)`, which returns the old value. The papers have no exchange; this one is a `CAS` that compares with
        /// what it reads, and so never fails.
        fn xchg = Xchg(x: Local, v: Value) -> Value;
        /// `FAA(x, v)`: adds v to x, and returns the old value. Like `CAS` it is a locked instruction of the CPU; the papers have none that adds.
        fn faa = FAA(x: Local, v: Value) -> Value;
        /// `Mfence()`.
        fn mfence = Mfence();
        /// `Get(x, y, d)`: copies remote y to local x.
        fn get = Get(x: Local, y: Placed, d: Id);
        /// `Put(x, y, d)`: copies local y to remote x.
        fn put = Put(x: Placed, y: Local, d: Id);
        /// `Wait(d)`.
        fn wait = Wait(d: Id);
        /// `Rfence(n)`.
        fn rfence = Rfence(n: Node);
        /// `RCAS(x, y, v1, v2, d)`: compare and swap on remote y, the old value to local x.
        fn rcas = RCAS(x: Local, y: Placed, v1: Value, v2: Value, d: Id);
        /// `RFAA(x, y, v, d)`: fetch and add on remote y, the old value to local x.
        fn rfaa = RFAA(x: Local, y: Placed, v: Value, d: Id);
        /// `RXchg(x, y, v, d)`: writes v to remote y, the old value to local x. The papers have no remote exchange; this one is an
        /// `RCAS` that compares with what it reads.
        fn rxchg = RXchg(x: Local, y: Placed, v: Value, d: Id);
        /// As `Get`, by the queue pair that `w` says.
        fn get_by = GetBy(w: Way, x: Local, y: Placed, d: Id);
        /// As `Put`, by the queue pair that `w` says.
        fn put_by = PutBy(w: Way, x: Placed, y: Local, d: Id);
        /// As `Rfence`, of the queue pair that `w` says.
        fn rfence_by = RfenceBy(w: Way, n: Node);
        /// As `RCAS`, by the queue pair that `w` says.
        fn rcas_by = RCASBy(w: Way, x: Local, y: Placed, v1: Value, v2: Value, d: Id);
        /// As `RFAA`, by the queue pair that `w` says.
        fn rfaa_by = RFAABy(w: Way, x: Local, y: Placed, v: Value, d: Id);
        /// As `RXchg`, by the queue pair that `w` says.
        fn rxchg_by = RXchgBy(w: Way, x: Local, y: Placed, v: Value, d: Id);
        /// As `Get` of several words, in any order.
        fn get_words = GetWords(w: Way, xs: Locals, ys: Places, d: Id);
        /// As `Put` of several words, in any order.
        fn put_words = PutWords(w: Way, xs: Places, ys: Locals, d: Id);
    }
}

/// A memory word on `node`.
#[must_use]
pub fn word(node: Node) -> Object {
    Object::new(WAIT).at(node)
}

/// Returns a memory word on `node` that nothing reads, for example the word that a fence gets from. So such a get may be left
/// out if no operation is before it. The word has size 0. A call that reads it is an error, unless it copies it to another
/// such word.
///
/// ```
/// use mowgli_core::{event::Call, ids::{Loc, Node, Tid}, library::Library, value::Val, world::World};
/// use mowgli_rdma::wait::{Method, Wait, unread, word};
///
/// let [x, y, z] = ["x", "y", "z"].map(Loc::new);
/// let mut world = World::new(2, &[Node(1)]);
/// world.objects.extend([(x, word(Node(1))), (y, unread(Node(1))), (z, unread(Node(2)))]);
/// let fault = |call: Method| Wait.fault(&world, Tid(1), &Call::from(call));
/// assert_eq!(fault(Method::Get { x: y, y: z, d: Val::NoWid }), None);
/// assert_eq!(fault(Method::Write { x: y, v: 1.into() }), None);
/// assert_eq!(fault(Method::Read { x: y }), Some("it looks at y, at which nobody is to look".to_owned()));
/// assert!(fault(Method::Get { x, y: z, d: Val::NoWid }).is_some());
/// ```
#[must_use]
pub fn unread(node: Node) -> Object {
    word(node).size(0)
}

/// Whether this is an [`unread`] word.
#[must_use]
pub fn is_unread(word: &Object) -> bool {
    word.size == 0
}

/// RDMA-WAIT-RMW as a library; its calls are those of [`Method`], as `wait::Method::Put`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait;

/// The identifier of an operation or a wait, as a key.
pub const WID: Key = Key::by("wid", &[Attribute::Identifier]);

/// Returns the error of a call of the memory, if any: one that the table finds, or one in the way in which it is made.
pub(crate) fn fault(world: &World, thread: Tid, call: &Call, methods: &[method::Method]) -> Option<String> {
    let fault = method::fault(world, thread, call, methods);
    let way = |method: &method::Method| method.takes_way().then(|| Way::of(call.args[0]));
    fault.or_else(|| of_words(methods, call)).or_else(|| match method::find(methods, call).and_then(way)? {
        Err(why) => Some(why.to_string()),
        Ok(Way { delivered: true, .. }) if !matches!(call.method.text(), "PutBy" | "PutWords") => {
            Some("only puts are delivered".to_owned())
        }
        Ok(Way { signalled: false, delivered: true, .. }) => {
            Some("the completion of a put tells that it is delivered, and an unsignalled one has none".to_owned())
        }
        Ok(Way { signal: Signal::Weak | Signal::Strong, .. }) if !is_atomic(call) => {
            Some("only atomic operations are signals".to_owned())
        }
        Ok(Way { strict: true, .. }) if matches!(call.method.text(), "RfenceBy" | "PollBy") => {
            Some("only operations have a key".to_owned())
        }
        Ok(Way { fence: true, .. }) if matches!(call.method.text(), "RfenceBy" | "PollBy") => {
            Some("only operations have the fence flag".to_owned())
        }
        Ok(Way { signalled: true, .. }) => None,
        Ok(_) if matches!(call.method.text(), "RfenceBy" | "PollBy") => {
            Some("only operations are unsignalled".to_owned())
        }
        Ok(_) => call
            .args
            .iter()
            .find(|v| matches!(v, Val::Wid(_)))
            .map(|d| format!("an unsignalled operation has no completion of its own, and so no identifier {d}")),
    })
}

fn is_atomic(call: &Call) -> bool {
    matches!(call.method.text(), "RCASBy" | "RFAABy" | "RXchgBy")
}

/// Returns the error of an operation of several words, if any, beside those that the table finds.
fn of_words(methods: &[method::Method], call: &Call) -> Option<String> {
    let method = method::find(methods, call).filter(|m| m.takes_several())?;
    let rows: Vec<Vec<Loc>> = method
        .takes
        .iter()
        .zip(&call.args)
        .filter(|((_, kind), _)| kind.is_objects())
        .map(|(_, v)| words(*v))
        .collect();
    let sizes: Vec<usize> = rows.iter().map(Vec::len).collect();
    // What is written is written once; a word may be sent to several.
    let twice = rows.first().and_then(|to| to.iter().duplicates().next().copied());
    match sizes[..] {
        [a, b] if a != b => Some(format!("{a} words are put or got into {b}")),
        [a, _] if !(1..=WORDS).contains(&a) => {
            Some(format!("an operation is of 1 to {WORDS} words, and this one of {a}"))
        }
        _ => twice.map(|x| format!("{x} is written twice")),
    }
}

/// The words that are in a row.
#[must_use]
pub fn words(row: Val) -> Vec<Loc> {
    if let Val::Tuple(all) = row { all.parts().iter().filter_map(|v| v.loc()).collect() } else { Vec::new() }
}

/// Words in a row, as an argument of [`put_words`] or [`get_words`].
#[must_use]
pub fn row(words: &[Loc]) -> Val {
    Val::tuple(&words.iter().map(|x| Val::Loc(*x)).collect::<Vec<_>>())
}

impl Library for Wait {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm { kind: "", parts: &[DeclarationPart::Node, DeclarationPart::Init] })
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        fault(world, thread, call, Method::TABLE).or_else(|| {
            let x = Method::of(call).looks_at_unread(world)?;
            Some(format!("it looks at {x}, at which nobody is to look"))
        })
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes())
    }

    fn cut_off(&self, world: &World, event: &Event, whole: Vec<Shape>) -> Vec<Shape> {
        cut_off(world, event, whole)
    }

    fn spec(&self) -> Spec {
        consistency(true)
    }
}

impl Hints for Wait {
    /// A wait lasts for ever if an operation goes to a node that has crashed.
    fn may_wait(&self, world: &World, call: &Call) -> Option<bool> {
        Some(matches!(Method::of(call), Method::Wait { .. }) && !world.crashes.nodes.is_empty())
    }

    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    fn only_looks(&self, event: &Event) -> bool {
        Method::of(&event.call).only_looks(event.ret)
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::DataIndependent
    }
}

/// The consistency predicate of SYNC §3.2; without `rao`, atomic reads are not ordered (LOCO-X App. H.6).
#[must_use]
pub fn consistency(with_rao: bool) -> Spec {
    let atomic_reads = stamps(move |a| with_rao && matches!(a, aNAR(_)));
    with_ways(axioms::published(&awaited(), atomic_reads, axioms::far_reads())).spec(None)
}

/// An operation and a later Wait on its identifier.
pub(crate) fn awaited() -> Rel {
    rel!(po & same(WID))
}

/// RDMA-WAIT-RMW with these switches.
#[must_use]
pub fn switched(switches: Switches) -> Libraries {
    let words = Libraries::over(move |a, b| switches.network.to(a, b))
        .with(Wait)
        .respecified(WAIT, |spec| *spec = switches.patched(published(switches.network)).spec(None));
    let words = if switches.crashes { words.with(Crash) } else { words };
    if switches.messages { words.with(Message) } else { words }
}

/// Returns the model of crashing threads over RDMA-WAIT-RMW with these switches.
#[must_use]
pub fn crashing(switches: Switches) -> Crashing {
    let model = switched(Switches { crashes: true, ..switches });
    let [goes, stop] = [crash::Method::Goes {}, crash::Method::Stop {}].map(|method| method.call(CRASH));
    Crashing { model, goes, stop, cuts: crash::cuts, is_issued: crash::is_issued }
}

fn published(on: Network) -> Axioms {
    with_ways(axioms::published(&awaited(), axioms::atomic_reads(), flushing(on)))
}

/// Adds the ways to make a call that the papers do not have.
fn with_ways(mut axioms: Axioms) -> Axioms {
    ways::fence(&mut axioms);
    axioms
}

/// The parts of ib.
pub const IB: [&str; 8] = ["ippo", "iso", "rf", "pfg", "pfp", "nfo", "rb_i", "rmw"];

/// The specification of RDMA-WAIT-RMW with this part left out of ib.
#[must_use]
pub fn without_in_ib(part: &'static str) -> Spec {
    published(Network::RC).spec(Some(part))
}

impl Method {
    /// The same in the usual way, and the way in which it is made.
    ///
    /// # Panics
    /// If there is no such way, which is a fault of the call.
    #[must_use]
    pub fn usual(self) -> (Self, Way) {
        let (usual, w) = match self {
            Self::GetBy { w, x, y, d } => (Self::Get { x, y, d }, w),
            Self::PutBy { w, x, y, d } => (Self::Put { x, y, d }, w),
            Self::RfenceBy { w, n } => (Self::Rfence { n }, w),
            Self::RCASBy { w, x, y, v1, v2, d } => (Self::RCAS { x, y, v1, v2, d }, w),
            Self::RFAABy { w, x, y, v, d } => (Self::RFAA { x, y, v, d }, w),
            Self::RXchgBy { w, x, y, v, d } => (Self::RXchg { x, y, v, d }, w),
            Self::GetWords { w, .. } | Self::PutWords { w, .. } => (self, w),
            usual => return (usual, Way::USUAL),
        };
        (usual, Way::of(w).unwrap_or_else(|why| panic!("{why}")))
    }

    /// The [`unread`] word that it reads, if it reads one.
    fn looks_at_unread(self, world: &World) -> Option<Loc> {
        let is_unread = |x: &Loc| world.objects.get(x).is_some_and(is_unread);
        match self.usual().0 {
            Self::Read { x } | Self::CAS { x, .. } | Self::Xchg { x, .. } | Self::FAA { x, .. } => {
                Some(x).filter(is_unread)
            }
            Self::Get { x, y, .. } | Self::Put { x, y, .. } => Some(y).filter(|y| is_unread(y) && !is_unread(&x)),
            Self::RCAS { y, .. } | Self::RFAA { y, .. } | Self::RXchg { y, .. } => Some(y).filter(is_unread),
            Self::GetWords { ys, .. } | Self::PutWords { ys, .. } => words(ys).into_iter().find(is_unread),
            _ => None,
        }
    }

    /// Reads, waits, fences and a compare-and-swap that failed: they order what is around them, and no more.
    pub(crate) fn only_looks(self, ret: Val) -> bool {
        match self.usual().0 {
            Self::Read { .. } | Self::Wait { .. } | Self::Mfence {} | Self::Rfence { .. } => true,
            Self::CAS { v1, .. } => ret != v1,
            _ => false,
        }
    }
}

/// The shapes of calls where nothing crashes. RFAA and FAA add modulo 2^64, as network cards and CPUs do. A value other than
/// an integer has no sum. So an addition that reads one is in no execution; the machine of RDMA-TSO-RMW is stuck there.
pub(crate) fn shapes() -> &'static Shapes {
    shapes! { Method:
        Write { x, v } => { aCW: writes x at home, v }
        Read { x } => { aCR: reads x at home, ret() }
        CAS { x, v1, v2 } => {
            if (ret().is(v1)) { aCAS: updates x at home, v1 => v2 } else { aMF; aCR: reads x at home, ret() }
        }
        Xchg { x, v } => { aCAS: updates x at home, ret() => v }
        FAA { x, v } => { aCAS: updates x at home, ret() => plus(v) }
        Mfence {} => { aMF }
        Get { x, y, .. } => { (got(x, y, None)) }
        Put { x, y, .. } => { (sent(x, y, None)) }
        Wait { .. } => { aWT }
        Rfence { n } => { aRF(n) }
        RCAS { x, y, v1, v2, .. } => { (swapped(x, y, v1, v2, None)) }
        RFAA { x, y, v, .. } => { (updated(x, y, |old| sum(old, v), None)) }
        RXchg { x, y, v, .. } => { (updated(x, y, |_| v.into(), None)) }
        GetBy { w, x, y, .. } => { (got(x, y, Some(w))) }
        PutBy { w, x, y, .. } => { (sent(x, y, Some(w))) }
        RfenceBy { w, n } => { aRF(n, queue(w)) }
        RCASBy { w, x, y, v1, v2, .. } => { (swapped(x, y, v1, v2, Some(w))) }
        RFAABy { w, x, y, v, .. } => { (updated(x, y, |old| sum(old, v), Some(w))) }
        RXchgBy { w, x, y, v, .. } => { (updated(x, y, |_| v.into(), Some(w))) }
        GetWords { w, xs, ys, .. } => {
            (fenced(ys.item(0), Some(w)));
            for k in (range(0, xs.len())) {
                let v = aNRR(node(ys.item(k)), queue(w), k): reads (ys.item(k)) at home;
                aNLW(node(ys.item(k)), queue(w), k): writes (xs.item(k)) at home, v
            }
        }
        PutWords { w, xs, ys, .. } => {
            (fenced(xs.item(0), Some(w)));
            for k in (range(0, xs.len())) {
                let v = aNLR(node(xs.item(k)), queue(w), k): reads (ys.item(k)) at home;
                aNRW(node(xs.item(k)), queue(w), k): writes (xs.item(k)) at home, v
            }
        }
    }
}

/// The index of the stamps of an operation on this remote object, in the usual way or another.
fn to(far: Expr, way: Option<Expr>) -> impl Iterator<Item = Expr> {
    iter::once(node(far)).chain(way.map(queue))
}

/// The remote fence that is a part of an operation with the fence flag.
fn fenced(far: Expr, way: Option<Expr>) -> ShapeTerm {
    let fence = |w| ShapeTerm::branch(is_fenced(w), shape! { aRF[to(far, way)] }, ShapeTerm::nothing());
    way.map_or_else(ShapeTerm::nothing, fence)
}

/// A get: what is read there is written here.
#[must_use]
pub fn got(x: Expr, y: Expr, way: Option<Expr>) -> ShapeTerm {
    shape! { (fenced(y, way)); let v = aNRR[to(y, way)]: reads y at home; aNLW[to(y, way)]: writes x at home, v }
}

/// A put: what is read here is written there.
#[must_use]
pub fn sent(x: Expr, y: Expr, way: Option<Expr>) -> ShapeTerm {
    shape! { (fenced(x, way)); let v = aNLR[to(x, way)]: reads y at home; aNRW[to(x, way)]: writes x at home, v }
}

/// A remote compare-and-swap: it swaps or fails, and the old value comes back.
fn swapped(x: Expr, y: Expr, v1: Expr, v2: Expr, way: Option<Expr>) -> ShapeTerm {
    shape! {
        (fenced(y, way));
        either {
            let old = aNAR[to(y, way)]: reads y at home, v1;
            aNRW[to(y, way)]: writes y at home, v2;
            aNLW[to(y, way)]: writes x at home, old
        } or {
            let old = aNAR[to(y, way)]: reads y at home, other_than(v1);
            aNLW[to(y, way)]: writes x at home, old
        }
    }
}

/// A remote read-modify-write that always writes: the remote word is read and written, and the old value comes back.
fn updated(x: Expr, y: Expr, written: impl FnOnce(ReadVar) -> WritesTerm, way: Option<Expr>) -> ShapeTerm {
    shape! {
        (fenced(y, way));
        let old = aNAR[to(y, way)]: reads y at home;
        aNRW[to(y, way)]: writes y at home, written(old);
        aNLW[to(y, way)]: writes x at home, old
    }
}

/// The node of a word.
///
/// # Panics
/// If it is on none, which is a fault of a call of it.
#[must_use]
pub fn home(world: &World, x: Loc) -> Node {
    world.home(x).unwrap_or_else(|| panic!("{x} is on no node"))
}

/// Clients of the memory model itself: two words on every node, every method.
#[derive(Clone, Copy, Debug)]
pub struct WordClients {
    /// Whether there are read-modify-writes of remote words.
    pub rmw: bool,
}

impl Subject for WordClients {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let mut world = empty.clone();
        let words = empty.all_nodes().iter().flat_map(|n| [(format!("x{n}"), n), (format!("y{n}"), n)]);
        world.objects.extend(words.map(|(name, n)| (Loc::new(&name), word(n))));
        vec![world]
    }

    fn calls(&self, world: &World, thread: Tid, _: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let call = |method, args: &[Val]| Call::new(WAIT, method, args);
        let here = world.node_of(thread);
        let at = |name: char, n: Node| Val::Loc(Loc::new(&format!("{name}{n}")));
        let (x, y, d) = (at('x', here), at('y', here), Val::Wid(Wid(Name::literal("d"))));
        let one = Val::Int(1);
        let mut calls =
            vec![call("Mfence", &[]), call("Wait", &[d]), call("Write", &[x, one]), call("Write", &[y, one])];
        calls.extend([call("Read", &[x]), call("Read", &[y]), call("CAS", &[x, Val::Int(0), Val::Int(2)])]);
        for n in world.all_nodes().iter() {
            let far = at('x', n);
            calls.extend([call("Put", &[far, y, d]), call("Get", &[y, far, d]), call("Rfence", &[Val::Node(n)])]);
            if self.rmw {
                calls.push(call("RCAS", &[y, far, Val::Int(0), Val::Int(3), d]));
                calls.push(call("RFAA", &[y, far, one, d]));
            }
        }
        calls
    }
}

/// The same with two identifiers, and, where it is wanted, operations that have none.
#[derive(Clone, Copy, Debug)]
pub struct Identified {
    /// The clients.
    pub words: WordClients,
    /// Whether there are operations that nothing waits for.
    pub unnamed: bool,
}

impl Subject for Identified {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        self.words.worlds(empty, bound, expired)
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        let calls = self.words.calls(world, thread, bound, expired);
        let by = |identifier: Val| {
            let operations = calls.iter().filter(|c| matches!(c.method.text(), "Put" | "Get" | "RCAS" | "RFAA"));
            operations.cloned().map(move |mut call| {
                *call.args.iter_mut().find(|a| matches!(a, Val::Wid(_))).expect("operations have one") = identifier;
                call
            })
        };
        let unnamed = self.unnamed.then_some(Val::NoWid);
        let others: Vec<Call> = [Val::Wid(Wid(Name::literal("e")))].into_iter().chain(unnamed).flat_map(by).collect();
        [calls, others].concat()
    }
}
