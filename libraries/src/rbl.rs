//! RBL, the ring buffer: one thread submits messages, and every reader receives each of them once and in order.
//!
//! LOCO §5, Theorem 5.3, over shared variables. It deliberately does not promise that a submit succeeds: there may be no
//! room as long as some reader has not received.

use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::algebra::{Spec, SubView, cell, events, hb, id, po, reads, same, same_thread, writes};
use mowgli_core::edit::{Edits, Here, calls};
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::library::{Libraries, Library};
use mowgli_core::method::{self, methods};
use mowgli_core::program::{Prog, prog};
use mowgli_core::soundness::client::{Bound, Subject, object_names};
use mowgli_core::value::Val;
use mowgli_core::world::{Form, Object, Part, World};
use mowgli_rdma::stamp::RdmaStamp::{aCR, aCW, aNRW, aWT};
use mowgli_rdma::to;

use crate::bal::members;
use crate::entry::{Entry, Expected, Memory, bound, variant};
use crate::sv::{self, Method as Sv};

methods! {
    /// What can be done with a ring buffer, strong or weak.
    pub enum Method as statements {
        /// `Submit(x, message)`, which returns whether there was room.
        fn submit = Submit(x: Object, message: Value) -> Bool;
        /// `Receive(x)`, which returns the next message or bottom.
        fn receive = Receive(x: Object) -> Value;
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

/// `wthd(x)` and `rthd(x)`.
fn threads(world: &World, x: Loc) -> Option<(Tid, &[Tid])> {
    let (writer, readers) = world.objects.get(&x)?.members.split_first()?;
    Some((*writer, readers))
}

/// The readers' nodes other than the writer's.
fn far(world: &World, writer: Tid, readers: &[Tid]) -> NodeSet {
    readers.iter().map(|&t| world.node_of(t)).collect::<NodeSet>().without(world.node_of(writer))
}

impl Library for Rbl {
    fn name(&self) -> Name {
        match self {
            Self::Strong => RBL,
            Self::Weak => RBL_WEAK,
        }
    }

    fn object(&self) -> Option<Form> {
        Some(Form {
            kind: if *self == Self::Strong { "ring" } else { "weak ring" },
            parts: &[Part::Roles, Part::Size { usual: 4, least: 2, most: 64 }],
        })
    }

    fn methods(&self) -> &'static [method::Method] {
        Method::TABLE
    }

    /// There is no message to begin with.
    fn init(&self, _: &World, _: Cell) -> Val {
        Val::Bot
    }

    fn only_looks(&self, event: &Event) -> bool {
        event.ret == Val::Bot || event.ret == Val::Bool(false)
    }

    /// Submit true {aNRW_n(t') | t' in rthd(x), n(t') != n(t)} u {aCW}, Submit false {aWT}; Receive of a message {aCR},
    /// of bottom {aWT}.
    fn shapes(&self, world: &World, event: &Event) -> Vec<Shape> {
        let x = event.call.loc(0);
        let Some((writer, readers)) = threads(world, x) else { return Vec::new() };
        let copy = |node: Node| Cell { loc: x, node };
        let here = world.node_of(event.thread);
        let failed = || Shape::from([Sub::quiet(aWT)]);
        let shape = match (Method::of(&event.call), event.ret) {
            (Method::Submit { .. }, _) if event.thread != writer => return Vec::new(),
            (Method::Receive { .. }, _) if !readers.contains(&event.thread) => return Vec::new(),
            (Method::Submit { message, .. }, Val::Bool(true)) => {
                let message = Writes::Is(message);
                let remote = far(world, writer, readers).iter().map(|n| Sub::write(aNRW(n.into()), copy(n), message));
                remote.chain([Sub::write(aCW, copy(here), message)]).collect()
            }
            (Method::Submit { .. }, _) | (Method::Receive { .. }, Val::Bot) => failed(),
            (Method::Receive { .. }, message) => Shape::from([Sub::read(aCR, copy(here), Reads::Is(message))]),
        };
        vec![shape]
    }

    fn spec(&self) -> Spec {
        let mut c = Spec::default();
        // Def. 5.1 (1) to (3): rf^n_x <= W^n_x x R^n_x, each read has one write of its node, with the same message
        let (rf, _) = c.reads_from("rf", reads(), writes());
        let rf = rf.named("rf", "{b} received {b reads}, which {a} submitted");
        // (4) a thread reads each message at most once
        c.empty("once", &((rf.inv().then(&rf) & same_thread()) - id()));
        // (5) no message is jumped: if s1 po s2 and s2 rf s4 then s1 rf s3 for some s3 po s4
        let earlier = (po() & same(cell)).between(&writes(), &writes());
        c.empty("in-order", &(earlier.then(&rf) - rf.then(&po())));
        // fb = U (F^n_x x W^n_x) \ (po^-1; rf^-1): a failed receive is before every write that its thread has not read
        let fb = (same(copy_of_ring).between(&events(is_failed_receive), &writes()) - po().inv().then(&rf.inv()))
            .named("fb", "{a} found nothing, before {b} submitted");

        c.so([&rf]);
        match self {
            // Def. 5.2: so = rf u fb
            Self::Strong => c.so([&fb]),
            // so = rf, and hb^-1 & fb is empty
            Self::Weak => c.empty("not-missed", &(hb().inv() & fb)),
        }
        c
    }
}

/// F: receives that found nothing.
fn is_failed_receive(s: &SubView) -> bool {
    s.sub.stamp == aWT && matches!(Method::of(&s.event.call), Method::Receive { .. })
}

/// The ring, and the node of its copy that is written, read, or found empty.
fn copy_of_ring(s: &SubView) -> Option<Val> {
    let node = s.sub.cell.map_or(s.node(), |c| c.node);
    Some(Val::tuple(&[s.event.call.args[0], Val::Node(node)]))
}

/// The implementation over SV.
#[derive(Clone, Copy, Debug, Default)]
pub struct RblOverSv(pub Rbl);

fn word(x: Loc, k: i64, size: i64) -> Loc {
    x.part(format_args!("word_{}", k.rem_euclid(size)))
}

/// h, the head: how many words the writer has written.
fn head(x: Loc) -> Loc {
    x.part("head")
}

/// h_t: how many words a reader has read.
fn tail(x: Loc, t: Tid) -> Loc {
    x.part(format_args!("tail_{t}"))
}

/// The values of these variables, in order, then `next`.
fn read_all(
    variables: Vec<Loc>,
    values: Vec<i64>,
    next: impl Fn(&[i64]) -> Prog + Clone + Send + Sync + 'static,
) -> Prog {
    let Some((&x, rest)) = variables.split_first() else { return next(&values) };
    let rest = rest.to_vec();
    sv::read(x).bind(move |v| {
        let values = [values.as_slice(), &[v.int().unwrap_or(0)]].concat();
        read_all(rest.clone(), values, next.clone())
    })
}

impl RblOverSv {
    fn submit(self, world: &World, x: Loc, message: &[Val]) -> Prog {
        let Some((writer, readers)) = threads(world, x) else { return Prog::unit().repeat() };
        let size = world.objects[&x].size as i64;
        let targets = far(world, writer, readers);
        let d = Val::Wid(x.wid("d"));
        let words = [&[Val::Int(message.len() as i64)], message].concat();
        let variables = std::iter::once(head(x)).chain(readers.iter().map(|&t| tail(x, t))).collect();
        read_all(variables, Vec::new(), move |h| {
            let (at, least, needed) = (h[0], h[1..].iter().min().copied().unwrap_or(h[0]), words.len() as i64);
            if at - least + needed > size {
                return Prog::Val(Val::Bool(false));
            }
            let places = (0..).zip(&words).map(|(k, &v)| (word(x, at + k, size), v));
            prog! {
                Prog::all(places.map(|(place, v)| {
                    prog! { sv::write(place, v); sv::bcast(place, Val::NoWid, targets) }
                }));
                sv::wait(d);
                sv::write(head(x), Val::Int(at + needed));
                sv::bcast(head(x), d, targets);
                Prog::Val(Val::Bool(true))
            }
        })
    }

    fn receive(self, world: &World, x: Loc, t: Tid) -> Prog {
        let Some((writer, _)) = threads(world, x) else { return Prog::unit().repeat() };
        let size = world.objects[&x].size as i64;
        let writer_node = world.node_of(writer);
        let back: NodeSet = [writer_node].into_iter().filter(|&n| n != world.node_of(t)).collect();
        read_all(vec![tail(x, t), head(x)], Vec::new(), move |h| {
            let (at, end) = (h[0], h[1]);
            if at >= end {
                return Prog::Val(Val::Bot);
            }
            sv::read(word(x, at, size)).bind(move |length| {
                let length = length.int().unwrap_or(0);
                let words = (1..=length).map(|k| word(x, at + k, size)).collect();
                read_all(words, Vec::new(), move |values| {
                    prog! {
                        sv::write(tail(x, t), Val::Int(at + length + 1));
                        sv::bcast(tail(x, t), Val::NoWid, back);
                        Prog::Val(message(values))
                    }
                })
            })
        })
    }
}

/// A message of one word is that word.
fn message(values: &[i64]) -> Val {
    match values {
        [v] => Val::Int(*v),
        _ => Val::tuple(&values.iter().map(|&v| Val::Int(v)).collect::<Vec<_>>()),
    }
}

/// The words of a message.
fn words_of(message: Val) -> Vec<Val> {
    if let Val::Tuple(words) = message { words.parts().to_vec() } else { vec![message] }
}

impl Implementation for RblOverSv {
    fn target(&self) -> Name {
        Library::name(&self.0)
    }

    fn declare(&self, world: &mut World) {
        for (x, object) in world.objects_of(self.target()) {
            let size = object.size as i64;
            let words = (0..size).map(|k| word(x, k, size));
            let tails = object.members.iter().skip(1).map(|&t| tail(x, t));
            let all = words.chain(tails).chain([head(x)]).map(|name| (name, sv::variable()));
            world.objects.extend(all.collect::<Vec<_>>());
        }
    }

    fn body(&self, world: &World, t: Tid, call: &Call) -> Prog {
        let x = call.loc(0);
        let roles = threads(world, x);
        match Method::of(call) {
            Method::Submit { message, .. } if roles.is_some_and(|(writer, _)| writer == t) => {
                self.submit(world, x, &words_of(message))
            }
            Method::Receive { .. } if roles.is_some_and(|(_, readers)| readers.contains(&t)) => {
                self.receive(world, x, t)
            }
            // Any other thread: `loop ()`
            _ => Prog::unit().repeat(),
        }
    }
}

impl Subject for Rbl {
    /// Rings from every thread to every set of threads, with room for one message, for one and a half, and for two; where
    /// there are several, each with room for two.
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        let sets: Vec<Vec<Tid>> = members(empty, bound).take_while(|_| !expired()).collect();
        let roles: Vec<(Tid, &Vec<Tid>)> = empty.tids().cartesian_product(&sets).collect();
        let choices = (1..=bound.objects).flat_map(|n| std::iter::repeat_n(roles.iter(), n).multi_cartesian_product());
        let with = |(roles, size): (Vec<&(Tid, &Vec<Tid>)>, usize)| {
            let mut world = empty.clone();
            let rings = object_names(&["q", "r", "s"]).zip(roles);
            let rings = rings.map(|(name, (writer, readers))| (name, ring(*self, *writer, readers, size)));
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
            .flat_map(|roles| sizes(roles.len()).into_iter().map(move |size| (roles.clone(), size)))
            .map(with)
            .collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let name = Library::name(self);
        let mut calls = Vec::new();
        for (&q, _) in world.objects.iter().filter(|(_, o)| o.library == name) {
            let Some((writer, readers)) = threads(world, q) else { continue };
            let submit = |v: Val| Call::new(name, "Submit", &[q.into(), v]);
            // Every value by itself, and the first ones as one message.
            let values: Vec<Val> = bound.values.iter().map(|&v| Val::Int(v)).collect();
            let longer = (2..=bound.words.min(values.len())).map(|words| Val::tuple(&values[..words]));
            calls.extend(values.iter().copied().chain(longer).map(submit).filter(|_| thread == writer));
            calls.extend(readers.contains(&thread).then(|| Call::new(name, "Receive", &[q.into()])));
        }
        calls
    }
}

const FENCED: &str = "a submit ends with a fence of the own node";

fn own_fence(here: &Here, body: &dyn Fn(Call) -> Prog) -> Option<Prog> {
    let Method::Submit { .. } = Method::of(&here.call) else { return None };
    let own: NodeSet = [here.world.node_of(here.thread)].into_iter().collect();
    Some(prog! {
        let done = body(here.call.clone());
        sv::gf(own).when(done == Val::Bool(true));
        Prog::Val(done)
    })
}

/// A submit that does not fail.
fn until_there_is_room(here: &Here, body: &dyn Fn(Call) -> Prog) -> Option<Prog> {
    let Method::Submit { .. } = Method::of(&here.call) else { return None };
    Some(prog! { loop { let done = body(here.call.clone()); if (done == Val::Bool(true)) { break done } } })
}

/// What the catalogue says of it.
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
    let blind = published.replace(
        calls!(|here| Sv::Read { x } in Method::Receive { x: q } if x == head(q) => sv::read(tail(q, here.thread))),
    );
    // The other variants are broken beside that, and by themselves.
    let fenced = Arc::new(published.around(FENCED, own_fence));
    let no_wait = fenced.clone().without(calls!(Sv::Wait { .. }));
    let head_first = published
        .delay_after(
            calls!((Sv::Write { x, .. } | Sv::Bcast { x, .. }) in Method::Submit { x: q, .. } if x != head(q)),
            calls!(Sv::Bcast { x, .. } in Method::Submit { x: q, .. } if x == head(q)),
        )
        .around(FENCED, own_fence);
    // As if each reader had read one word more.
    let room_off_by_one = fenced.clone().replace(
        calls!(Sv::Read { x } in Method::Submit { x: q, .. } if x != head(q) => sv::read(x).map(|v| v.plus(1).unwrap_or(v))),
    );
    // Where the writer is a reader nobody else can make room.
    let waits_for_room = Arc::new(fenced.clone().around("a submit waits until there is room", until_there_is_room));
    let never_frees = waits_for_room.clone().without(calls!(Sv::Bcast { .. } in Method::Receive { .. }));
    // After the tail is written, and after it is broadcast.
    let words = calls!(|here| Sv::Read { x } in Method::Receive { x: q } if x != head(q) && x != tail(q, here.thread));
    let early_release = fenced.clone().swap(words.clone()).swap(words);
    let variants = vec![
        over("published", "LOCO §5: not sound where the writer is a reader", Unsound, Arc::new(published)),
        over("fenced", FENCED, Sound, fenced).and(Bound { values: vec![1, 2], ..bound(2, 2, 3) }),
        over("no-wait", "the head changes while it is broadcast", Unsound, Arc::new(no_wait)),
        over("head-first", "the head is broadcast before the data", Unsound, Arc::new(head_first)),
        over("room-off-by-one", "one word too many is taken to be free", Unsound, Arc::new(room_off_by_one)),
        over("early-release", "words are freed before they are read", Unsound, Arc::new(early_release)),
        over("waits-for-room", "a full ring whose writer is its only reader stays full", Blocks, waits_for_room),
        over("never-frees", "a receiver does not say that it has read", Blocks, Arc::new(never_frees)),
        over("blind", "a receiver never looks at the head", Unsound, Arc::new(blind)),
    ];
    Entry::new(Memory::rdma_wait(), of, Libraries::over(to).with(sv::Sv), variants)
}
