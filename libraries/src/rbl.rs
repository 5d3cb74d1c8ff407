//! RBL, the ring buffer: one thread submits messages, and every reader receives each of them once and in order.
//!
//! LOCO §5, Theorem 5.3, over shared variables. It deliberately does not promise that a submit succeeds: a ring may be
//! full as long as some reader has not received.

use std::sync::{Arc, LazyLock};

use itertools::Itertools;
use mowgli_core::algebra::Attribute::{Argument, Place};
use mowgli_core::algebra::Set;
use mowgli_core::rewrite::edit::Edited;
use mowgli_core::term::method;
use mowgli_core::world::{DeclarationForm, DeclarationPart};

use crate::bal::member_sets;
use crate::entry::bound;
use crate::prelude::*;
use crate::sv::{Method as Sv, SV};
use mowgli_rdma::Way;
use mowgli_rdma::wait::{Method as Rdma, WAIT};

methods! {
    /// Calls of a ring buffer, strong or weak.
    pub enum Method as statements {
        /// `Submit(x, message)`, which returns whether there was room.
        fn submit = Submit(x: Object, message: Value) -> Bool, fails;
        /// `Receive(x)`, which returns the next message or bottom.
        fn receive = Receive(x: Object) -> Value, fails;
    }
}

/// The library's name.
pub const RBL: Name = Name::literal("rbl");
/// The name of the weak form.
pub const RBL_WEAK: Name = Name::literal("rbl-weak");

/// A ring buffer from `wthd(x)` to `rthd(x)`, for an implementation with this many words.
#[must_use]
pub fn ring(of: Rbl, writer: Tid, readers: &[Tid], size: usize) -> Object {
    Object::new(Library::name(&of)).members(&[&[writer], readers].concat()).size(size)
}

/// RBL as a library.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rbl {
    /// A failed receive is before every message that its thread has not received.
    #[default]
    Strong,
    /// A failed receive is not after such a message. This one mentions hb.
    Weak,
}

/// `{wthd(x)}`.
fn writer(x: Expr) -> Expr {
    Expr::tuple([members(x).first()])
}

/// `rthd(x)`.
fn readers(x: Expr) -> Expr {
    members(x).rest()
}

/// The nodes of the readers other than the own one.
fn targets(x: Expr) -> Expr {
    nodes(readers(x)).without(here())
}

/// `wthd(x)` and `rthd(x)`.
fn threads(world: &World, x: Loc) -> Option<(Tid, &[Tid])> {
    let (writer, readers) = world.objects.get(&x)?.members.split_first()?;
    Some((*writer, readers))
}

impl Library for Rbl {
    fn name(&self) -> Name {
        match self {
            Self::Strong => RBL,
            Self::Weak => RBL_WEAK,
        }
    }

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm {
            kind: if *self == Self::Strong { "ring" } else { "weak ring" },
            parts: &[DeclarationPart::Roles, DeclarationPart::Size { usual: 4, least: 2, most: 64 }],
        })
    }

    fn methods(&self) -> &'static [method::Method] {
        Method::TABLE
    }

    /// The words of a message are integers, because bodies read them as integers.
    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        let are_words = |words: &[Val]| words.len() > 1 && words.iter().all(|word| word.int().is_some());
        let is_message = |v: Val| if let Val::Tuple(words) = v { are_words(words.parts()) } else { v.int().is_some() };
        method::fault(world, thread, call, Method::TABLE).or_else(|| match Method::of(call) {
            Method::Submit { x, message } if !is_message(message) => Some(format!(
                "{message} is no message of {x}: a message is an integer, or a tuple of at least two integers"
            )),
            _ => None,
        })
    }

    /// A ring begins without a message.
    fn initial(&self) -> Initial {
        Initial::Value(Val::Bot)
    }

    /// Only the writer submits, and only readers receive. A call that fails touches nothing.
    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method:
            Submit { x, message } by writer(x) => {
                if (ret().is(true)) {
                    for n in (targets(x)) { aNRW(n): writes x at n, message }
                    aCW: writes x at here, message
                } else { aWT }
            }
            Receive { x } by readers(x) => {
                if (ret().is(Val::Bot)) { aWT } else { aCR: reads x at here, ret() }
            }
        })
    }

    fn spec(&self) -> Spec {
        let mut c = Spec::default();
        spec! { c =>
            // Def. 5.1 (1) to (3): rf^n_x <= W^n_x x R^n_x, each read has one write of its node, with the same message
            let rf = reads_from(reads, writes);
            say rf = "{b} received {b reads}, which {a} submitted";
            // (4) a thread reads each message at most once
            empty once = (rf^-1; rf) & same_thread - id;
            // (5) no message is jumped: if s1 po s2 and s2 rf s4 then s1 rf s3 for some s3 po s4
            empty in-order = ([writes]; po & same(CELL); [writes]; rf) - (rf; po);
            // fb = U (F^n_x x W^n_x) \ (po^-1; rf^-1): a failed receive is before every write that its thread has not read
            let fb = ([failed_receives]; same(COPY_OF_RING); [writes]) - (po^-1; rf^-1);
            say fb = "{a} found nothing, before {b} submitted";
            so = rf;
        }
        match self {
            // Def. 5.2: so = rf u fb
            Self::Strong => c.so([&fb]),
            // so = rf, and hb^-1 & fb is empty
            Self::Weak => c.empty("not-missed", &rel! { hb^-1 & fb }),
        }
        c
    }
}

impl Hints for Rbl {
    /// A submit fails where there is no room, and a receive where there is no message.
    fn may_wait(&self, _: &World, _: &Call) -> Option<bool> {
        Some(false)
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::DataIndependent
    }
}

/// F: receives that found nothing.
fn failed_receives() -> Set {
    let receives = calls(&["Receive"]);
    set!(receives & aWT).named("is_failed_receive")
}

/// The ring, and the node of its copy that is written, read, or found empty.
const COPY_OF_RING: Key = Key::by("copy_of_ring", &[Argument(0), Place]);

/// The implementation over SV.
#[derive(Clone, Copy, Debug, Default)]
pub struct RblOverSv(pub Rbl);

/// The word with this number, counted modulo the size of the ring.
fn word(x: impl Into<Expr>, k: impl Into<Expr>) -> Expr {
    let x = x.into();
    x.part("word", [k.into() % size(x)])
}

/// h, the head: how many words the writer has written.
fn head(x: impl Into<Expr>) -> Expr {
    x.into().part("head", [])
}

/// h_t: how many words a reader has read.
fn tail(x: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("tail", [t.into()])
}

/// Reads an integer. Any other value counts as 0, until a proof has shown that the word has only integers.
fn read_count(x: Expr) -> Body {
    body! { let v = Sv::read(x); v.int() }
}

/// Submits a message if there is room. `send` writes its length and its words into the ring from a number on, and sends them.
fn submitted(x: Expr, message: Expr, send: fn(Expr, Expr, Expr) -> Body) -> Body {
    body! {
        let at = read_count(head(x));
        let tails = for t in (readers(x)) { read_count(tail(x, t)) };
        if ((at - tails.min() + message.len() + 1) > (size(x))) {
            false
        } else {
            (send(x, message, at));
            Sv::wait(x.wid("d"));
            Sv::write(head(x), at + message.len() + 1);
            Sv::bcast(head(x), x.wid("d"), targets(x));
            true
        }
    }
}

/// Writes and broadcasts a message word by word.
fn broadcast_each(x: Expr, message: Expr, at: Expr) -> Body {
    body! {
        Sv::write(word(x, at), message.len());
        Sv::bcast(word(x, at), Val::NoWid, targets(x));
        for k in (range(0, message.len())) {
            Sv::write(word(x, at + 1 + k), message.item(k));
            Sv::bcast(word(x, at + 1 + k), Val::NoWid, targets(x))
        }
    }
}

/// Receives the next message. `read` reads the word with a number as an integer.
fn received(x: Expr, read: fn(Expr, Expr) -> Body) -> Body {
    body! {
        let at = read_count(tail(x, me()));
        let end = read_count(head(x));
        if (at < end) {
            let begin = at % size(x);
            let length = (read(x, begin));
            let words = for k in (range(1, length + 1)) { (read(x, begin + k)) };
            Sv::write(tail(x, me()), at + length + 1);
            Sv::bcast(tail(x, me()), Val::NoWid, nodes(writer(x)).without(here()));
            if ((words.len()) == 1) { words.first() } else { words }
        } else {
            Val::Bot
        }
    }
}

impl Implementation for RblOverSv {
    fn target(&self) -> Name {
        Library::name(&self.0)
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            head(x) => ObjectTerm::new(SV);
            for k in (range(0, size(x))) { x.part("word", [k]) => ObjectTerm::new(SV); }
            for t in (readers(x)) { tail(x, t) => ObjectTerm::new(SV); }
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
            bodies! { Method:
                Submit { x, message } by writer(x) => { submitted(x, message, broadcast_each) }
                Receive { x } by readers(x) => { received(x, |x, k| read_count(word(x, k))) }
            }
        });
        Some(&BODIES)
    }
}

/// The implementation over SV and RDMA-WAIT: the words of a message are one put to each node, or two where the ring begins anew.
/// They arrive in any order. The head is broadcast behind them, as in [`RblOverSv`].
#[derive(Clone, Copy, Debug, Default)]
pub struct RblInOnePut(pub Rbl);

/// A word of a node's copy, by its place from 0 to before the size of the ring.
fn word_of(x: impl Into<Expr>, n: impl Into<Expr>, place: impl Into<Expr>) -> Expr {
    x.into().part("word", [n.into(), place.into()])
}

/// The word with this number on the own node, counted modulo the size of the ring.
fn own_word(x: Expr, k: impl Into<Expr>) -> Expr {
    word_of(x, here(), k.into() % size(x))
}

/// Puts the own words in these places, from `begin` to before `end`, to a node.
fn put_places(x: Expr, n: Expr, begin: impl Into<Expr>, end: impl Into<Expr>) -> Body {
    let (begin, end) = (begin.into(), end.into());
    body! {
        let from = for k in (range(begin, end)) { word_of(x, here(), k) };
        let to = for k in (range(begin, end)) { word_of(x, n, k) };
        Rdma::put_words(Way::USUAL, to, from, Val::NoWid)
    }
}

/// Puts so many words to some nodes, from the place `begin` on and then from the first place on.
fn put_around(x: Expr, begin: Expr, count: Expr, ns: Expr) -> Body {
    body! {
        let end = begin + count;
        for n in (ns) {
            if (end > (size(x))) {
                (put_places(x, n, begin, size(x)));
                (put_places(x, n, 0, end - size(x)))
            } else {
                (put_places(x, n, begin, end))
            }
        }
    }
}

/// Writes a message, and puts it to each other node at once.
fn put_at_once(x: Expr, message: Expr, at: Expr) -> Body {
    body! {
        let begin = at % size(x);
        Rdma::write(own_word(x, begin), message.len());
        for k in (range(0, message.len())) { Rdma::write(own_word(x, begin + 1 + k), message.item(k)) }
        (put_around(x, begin, message.len() + 1, targets(x)))
    }
}

impl Implementation for RblInOnePut {
    fn target(&self) -> Name {
        Library::name(&self.0)
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            head(x) => ObjectTerm::new(SV);
            for n in (nodes(members(x))) {
                for k in (range(0, size(x))) { word_of(x, n, k) => ObjectTerm::new(WAIT).at(n); }
            }
            for t in (readers(x)) { tail(x, t) => ObjectTerm::new(SV); }
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
            bodies! { Method:
                Submit { x, message } by writer(x) => { submitted(x, message, put_at_once) }
                Receive { x } by readers(x) => { received(x, own_word_count) }
            }
        });
        Some(&BODIES)
    }
}

/// Reads an integer from the word with this number on the own node.
fn own_word_count(x: Expr, k: Expr) -> Body {
    body! { let v = Rdma::read(own_word(x, k)); v.int() }
}

/// The implementation without a head: a reader knows a whole message by its hash. A message is its end, its hash and its words. The
/// end counts all words up to there. So one put to each node sends a message, and its words arrive in any order. A put never
/// wraps around, because each node has room behind the ring for a message that begins at its last word.
///
/// A reader reports what it has read when that is half of the ring, and when it finds nothing.
#[derive(Clone, Debug)]
pub struct RblHashed {
    of: Rbl,
    bodies: Bodies,
}

/// The words of a message beside its own: its end and its hash.
const BESIDE: i64 = 2;

/// The number of words that the writer has written, on its own node.
fn written(x: impl Into<Expr>) -> Expr {
    x.into().part("written", [])
}

/// The number of words that a reader has read, on its own node. Its tail is the last one of these that it has reported.
fn seen(x: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("seen", [t.into()])
}

/// The word at this place of the own node, which may be behind the ring.
fn own_place(x: Expr, place: Expr) -> Expr {
    word_of(x, here(), place)
}

/// Reads an integer by the CPU.
fn count_of(x: Expr) -> Body {
    body! { let v = Rdma::read(x); v.int() }
}

/// The hash of a message. The end distinguishes it from a message that was in its place before.
fn hash_of(end: Expr, words: Expr) -> Expr {
    Expr::tuple([end, words.hash()]).hash()
}

/// True if a message at a number can have this end. The place of the end may have any word of an earlier message.
fn is_end(x: Expr, at: Expr, end: Expr) -> Expr {
    !end.below(at + BESIDE) & !(at + size(x)).below(end)
}

/// Reports to the writer that the words before a number have been read.
fn report(x: Expr, at: Expr) -> Body {
    body! {
        Sv::write(tail(x, me()), at);
        Sv::bcast(tail(x, me()), Val::NoWid, nodes(writer(x)).without(here()))
    }
}

/// Reports what has been read if that is half of the ring.
fn report_half(x: Expr, at: Expr) -> Body {
    body! {
        let reported = read_count(tail(x, me()));
        if ((size(x)) < (at - reported + at - reported + 1)) { (report(x, at)) }
    }
}

/// Reports what has been read, because the writer may need that room for the next message.
fn report_all(x: Expr, at: Expr) -> Body {
    body! { let reported = read_count(tail(x, me())); if (reported < at) { (report(x, at)) } }
}

impl RblHashed {
    /// The implementation with this hash of the end and the words of a message.
    fn new(of: Rbl, hash: fn(Expr, Expr) -> Expr) -> Self {
        let bodies = bodies! { Method:
            Submit { x, message } by writer(x) => {
                let at = count_of(written(x));
                let tails = for t in (readers(x)) { read_count(tail(x, t)) };
                let end = at + message.len() + BESIDE;
                if ((end - tails.min()) > (size(x))) {
                    false
                } else {
                    let begin = at % size(x);
                    let words = for k in (range(0, message.len())) { message.item(k) };
                    for k in (range(0, words.len())) { Rdma::write(own_place(x, begin + BESIDE + k), words.item(k)) }
                    Rdma::write(own_place(x, begin + 1), hash(end, words));
                    Rdma::write(own_place(x, begin), end);
                    for n in (targets(x)) { (put_places(x, n, begin, begin + words.len() + BESIDE)) }
                    Rdma::write(written(x), end);
                    if (me().is_in(readers(x))) { Sv::gf(only(here())) }
                    true
                }
            }
            Receive { x } by readers(x) => {
                let at = count_of(seen(x, me()));
                let begin = at % size(x);
                let end = count_of(own_place(x, begin));
                if (is_end(x, at, end)) {
                    let found = Rdma::read(own_place(x, begin + 1));
                    let words = for k in (range(begin + BESIDE, begin + end - at)) { count_of(own_place(x, k)) };
                    if (found == (hash(end, words))) {
                        Rdma::write(seen(x, me()), end);
                        (report_half(x, end));
                        if ((words.len()) == 1) { words.first() } else { words }
                    } else {
                        (report_all(x, at));
                        Val::Bot
                    }
                } else {
                    (report_all(x, at));
                    Val::Bot
                }
            }
        };
        Self { of, bodies }
    }
}

impl Implementation for RblHashed {
    fn target(&self) -> Name {
        Library::name(&self.of)
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            written(x) => ObjectTerm::new(WAIT).at(node(members(x).first()));
            for n in (nodes(members(x))) {
                for k in (range(0, size(x) + size(x))) { word_of(x, n, k) => ObjectTerm::new(WAIT).at(n); }
            }
            for t in (readers(x)) {
                seen(x, t) => ObjectTerm::new(WAIT).at(node(t));
                tail(x, t) => ObjectTerm::new(SV);
            }
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(&self.bodies)
    }
}

/// A receive by the hash that reports a message, and then reads its words once more.
fn hashed_early() -> Bodies {
    bodies! { Method:
        Receive { x } by readers(x) => {
            let at = count_of(seen(x, me()));
            let begin = at % size(x);
            let end = count_of(own_place(x, begin));
            if (is_end(x, at, end)) {
                let found = Rdma::read(own_place(x, begin + 1));
                let words = for k in (range(begin + BESIDE, begin + end - at)) { count_of(own_place(x, k)) };
                if (found == (hash_of(end, words))) {
                    Rdma::write(seen(x, me()), end);
                    (report_all(x, end));
                    let late = for k in (range(begin + BESIDE, begin + end - at)) { count_of(own_place(x, k)) };
                    if ((late.len()) == 1) { late.first() } else { late }
                } else {
                    Val::Bot
                }
            } else {
                Val::Bot
            }
        }
    }
}

impl Subject for Rbl {
    /// Rings from every thread to every set of threads, with room for one message, for one and a half, and for two.
    /// Several rings each have room for two.
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        let sets: Vec<Vec<Tid>> = member_sets(empty, bound).take_while(|_| !expired()).collect();
        let roles: Vec<(Tid, &Vec<Tid>)> = empty.tids().cartesian_product(&sets).collect();
        let choices = (1..=bound.objects).flat_map(|n| std::iter::repeat_n(roles.iter(), n).multi_cartesian_product());
        let with = |(roles, sizes): (Vec<&(Tid, &Vec<Tid>)>, Vec<usize>)| {
            let mut world = empty.clone();
            let rings = object_names(&["q", "r", "s"]).zip(roles.into_iter().zip(sizes));
            let rings = rings.map(|(name, ((writer, readers), size))| (name, ring(*self, *writer, readers, size)));
            world.objects.extend(rings);
            world
        };
        let sizes = |rings: usize| match &bound.sizes[..] {
            [] if rings > 1 => vec![4],
            [] => vec![2, 3, 4],
            given => given.to_vec(),
        };
        choices
            .take_while(|_| !expired())
            .flat_map(|roles| {
                let all = std::iter::repeat_n(sizes(roles.len()), roles.len()).multi_cartesian_product();
                all.map(move |sizes| (roles.clone(), sizes))
            })
            .map(with)
            .collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        let name = Library::name(self);
        let mut calls = Vec::new();
        for (&q, _) in world.objects.iter().filter(|(_, o)| o.library == name) {
            let Some((writer, readers)) = threads(world, q) else { continue };
            let submit = |v: Val| Call::new(name, "Submit", &[q.into(), v]);
            // Every value alone, and every tuple of them as one message.
            let values: Vec<Val> = bound.values.iter().map(|&v| Val::Int(v)).collect();
            let tuples = |words| std::iter::repeat_n(values.iter().copied(), words).multi_cartesian_product();
            let longer = (2..=bound.words).flat_map(tuples).map(|tuple| Val::tuple(&tuple)).take_while(|_| !expired());
            calls.extend(values.iter().copied().chain(longer).map(submit).filter(|_| thread == writer));
            calls.extend(readers.contains(&thread).then(|| Call::new(name, "Receive", &[q.into()])));
        }
        calls
    }
}

const FENCED: &str = "a submit ends with a fence of the own node";

/// The implementation whose submits end with a fence of the own node.
fn fenced(of: impl Implementation + 'static) -> Edited {
    let bodies = bodies! { Method:
        Submit { x, message } => {
            let done = of.inlined(&Method::submit(RBL, x, message));
            if (done == true) { Sv::gf(only(here())) }
            done
        }
    };
    of.with(FENCED, &bodies)
}

/// The implementation whose submits do not fail.
fn until_there_is_room(of: impl Implementation + 'static) -> Edited {
    let bodies = bodies! { Method:
        Submit { x, message } => {
            loop { let done = of.inlined(&Method::submit(RBL, x, message)); if (done == true) { break done } }
        }
    };
    of.with("a submit waits until there is room", &bodies)
}

/// A receive that announces a message as read before it reads it.
fn early_release() -> Bodies {
    bodies! { Method:
        Receive { x } by readers(x) => {
            let at = read_count(tail(x, me()));
            let end = read_count(head(x));
            if (at < end) {
                let length = read_count(word(x, at));
                Sv::write(tail(x, me()), at + length + 1);
                Sv::bcast(tail(x, me()), Val::NoWid, nodes(Expr::tuple([members(x).first()])).without(here()));
                let words = for k in (range(1, length + 1)) { read_count(word(x, at + k)) };
                if ((words.len()) == 1) { words.first() } else { words }
            } else {
                Val::Bot
            }
        }
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry(of: Rbl) -> Entry {
    use Expected::{Blocks, Sound, Unsound};
    let over = |name, about, expected, implementation: Arc<dyn Implementation>| {
        let bounds = &[(2, 2, 2), (2, 2, 1), (3, 3, 1)];
        let mut variant = variant(name, about, expected, implementation, bounds);
        variant.bounds[0].values = vec![1, 2];
        (variant.bounds[1].values, variant.bounds[1].words) = (vec![1, 2], 2);
        variant
    };
    // Where the writer reads its own messages this is not sound: see `docs/findings.md`.
    let published = RblOverSv(of);
    // Where no relation orders a receive after a submit only a larger hb shows that.
    let blind = published
        .replace(calls!(Sv::Read { x } in Method::Receive { x: q } if x == head(q) => Sv::read(tail(q, me()))));
    let one_put = Arc::new(fenced(RblInOnePut(of)));
    let second = Way { queue: 2, ..Way::USUAL };
    let two_queue_pairs = one_put.clone().replace(
        calls!(Rdma::PutWords { xs, ys, d, .. } in Method::Submit { .. } => Rdma::put_words(second, xs, ys, d)),
    );
    // The other variants are broken beside that, and by themselves.
    let with_fence = fenced;
    let fenced = Arc::new(fenced(published));
    let no_wait = fenced.clone().without(calls!(Sv::Wait { .. }));
    let head_first = with_fence(published.delay_after(
        calls!((Sv::Write { x, .. } | Sv::Bcast { x, .. }) in Method::Submit { x: q, .. } if x != head(q)),
        calls!(Sv::Bcast { x, .. } in Method::Submit { x: q, .. } if x == head(q)),
    ));
    // As if each reader had read one word more.
    let room_off_by_one = fenced.clone().replace(
        calls!(Sv::Read { x } in Method::Submit { x: q, .. } if x != head(q) => body! { let v = Sv::read(x); v + 1 }),
    );
    // Where the writer is a reader nobody else can make room.
    let waits_for_room = Arc::new(until_there_is_room(fenced.clone()));
    let never_frees = waits_for_room.clone().without(calls!(Sv::Bcast { .. } in Method::Receive { .. }));
    let early_release = fenced.clone().with("a receive releases the words before it reads them", &early_release());
    let hashed = |hash| Arc::new(RblHashed::new(of, hash));
    let hashed_early = hashed(hash_of).with("a receive reports a message before it reads its words", &hashed_early());
    // Room for one message, for two that reach behind the ring, and for two of which the first is not reported at once.
    let sized = |mut variant: Variant| {
        variant.bounds.iter_mut().for_each(|bound| bound.sizes = vec![3, 4, 7]);
        variant
    };
    // One value and room for one message are enough. The search for a wrong outcome then has a sixth of the clients.
    let published = over("published", "LOCO §5: not sound where the writer is a reader", Unsound, Arc::new(published));
    let own_message = Bound { sizes: vec![2], ..bound(2, 2, 2) };
    let published = Variant { bounds: vec![own_message], thorough: published.bounds.clone(), ..published };
    let variants = vec![
        published,
        over("fenced", FENCED, Sound, fenced).and(Bound { values: vec![1, 2], ..bound(2, 2, 3) }),
        over("one-put", "the words of a message are one put, in any order", Sound, one_put),
        sized(over("hashed", "a message is one put, known by its hash", Sound, hashed(hash_of))),
        sized(over("hash-without-end", "the hash is of the words only", Unsound, hashed(|_, words| words.hash()))),
        sized(over(
            "hash-of-first-word",
            "the hash is of the end and the first word",
            Unsound,
            hashed(|end, words| Expr::tuple([end, words.first()]).hash()),
        )),
        sized(over("hashed-early", "words are reported before they are read", Unsound, Arc::new(hashed_early))),
        over("two-queue-pairs", "the put of the words is on another queue pair", Unsound, Arc::new(two_queue_pairs)),
        over("no-wait", "the head changes while it is broadcast", Unsound, Arc::new(no_wait)),
        over("head-first", "the head is broadcast before the data", Unsound, Arc::new(head_first)),
        over("room-off-by-one", "one word too many is taken to be free", Unsound, Arc::new(room_off_by_one)),
        over("early-release", "words are freed before they are read", Unsound, Arc::new(early_release)),
        over("waits-for-room", "a full ring whose writer is its only reader stays full", Blocks, waits_for_room),
        over("never-frees", "a receiver does not say that it has read", Blocks, Arc::new(never_frees)),
        over("blind", "a receiver never looks at the head", Unsound, Arc::new(blind)),
    ];
    Entry::new(Memory::rdma_wait(), of, Libraries::over(to).with(Sv).with(Wait), variants)
}
