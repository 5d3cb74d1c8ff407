//! Crashes: threads and nodes that stop at any point, of RDMA-TSO-RMW and RDMA-WAIT-RMW with the switch `crashes`.
//!
//! A thread that crashes makes the first of its calls, so many as there happen to be, and no more. What it wrote by the CPU gets to
//! memory. What it issued may be cut off: by each of its queue pairs the card has done what it does in order up to some point, so what
//! is missing is whatever comes after that in ib. A node that crashes takes its threads with it, and cuts off what others
//! issued to it. That somebody has crashed is one more case of being slow: nobody notices, but by [`Method::Dead`], which stands for
//! whatever a system has to tell it (a lease that is over, a service that counts its members), and tells of the CPU only.

use itertools::Itertools;
use mowgli_core::algebra::{Spec, SubView, events, same};
use mowgli_core::event::{Call, Event, Shape, Sub, Writes};
use mowgli_core::ids::{Name, Tid};
use mowgli_core::library::{Hints, Library};
use mowgli_core::method::{self, methods};
use mowgli_core::program::Prog;
use mowgli_core::shape::{Shapes, shapes};
use mowgli_core::stamp::{Stamp, StampKind};
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, World};

use crate::stamp::RdmaStamp::{self, aCR, aNAR, aNLR, aNLW, aNRR, aNRW, aRF, aWT};

methods! {
    /// What threads do that may crash, and how others hear of it.
    pub enum Method of CRASH = "crash" as statements {
        /// `Goes()`: whether the thread goes on. It is made before each call of a thread that may crash.
        fn goes = Goes() -> Bool, looks;
        /// `Stop()`: the last call of a thread that may crash.
        fn stop = Stop();
        /// `Dead(t)`: waits until t, which may crash, makes no more calls. What it issued may still be under way.
        fn dead = Dead(t: Thread), looks;
    }
}

/// The calls of [`Method`] as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crash;

/// The program of a thread that may crash, as it is `made` with what stands before each of its calls: that ends the thread, with
/// what it would put out there, so many loops further out.
#[must_use]
pub fn crashing(made: Prog) -> Prog {
    made.bind(|v| Prog::Break(1, v)).repeat().bind(|v| stop().map(move |_| v))
}

/// A point at which a thread may stop that is within so many loops of its program, with the output that it has then.
#[must_use]
pub fn or_stops(next: Prog, output: Val, loops: usize) -> Prog {
    goes().bind(move |on| if on == Val::Bool(true) { next.clone() } else { Prog::Break(loops + 1, output) })
}

/// What a thread that may crash does beside its statements, in words.
#[must_use]
pub fn in_words(call: &Call) -> Option<&'static str> {
    match Method::of_any(call).filter(|_| call.library == CRASH)? {
        Method::Goes {} => Some("where it may stop"),
        Method::Stop {} => Some("its end"),
        Method::Dead { .. } => None,
    }
}

fn stops(s: &SubView) -> bool {
    matches!(Method::of_any(&s.event.call), Some(Method::Stop {}))
}

fn tells(s: &SubView) -> bool {
    matches!(Method::of_any(&s.event.call), Some(Method::Dead { .. }))
}

/// Who has stopped, by its own last call or by one that tells of it.
fn who(s: &SubView) -> Option<Val> {
    match Method::of_any(&s.event.call)? {
        Method::Dead { t } => Some(t.into()),
        Method::Stop {} => Some(s.event.thread.into()),
        Method::Goes {} => None,
    }
}

impl Library for Crash {
    fn name(&self) -> Name {
        CRASH
    }

    fn object(&self) -> Option<DeclarationForm> {
        None
    }

    fn methods(&self) -> &'static [method::Method] {
        Method::TABLE
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        method::fault(world, thread, call, Method::TABLE).or_else(|| match Method::of(call) {
            Method::Dead { t } if t == thread => Some(format!(
                "{t} makes no call after its own end, so it cannot wait for that: let another thread call dead({t})"
            )),
            Method::Dead { t } if !world.may_stop(t) => Some(format!("{t} does not crash: declare crash({t})")),
            _ => None,
        })
    }

    /// Who is said to be dead has stopped.
    fn admits(&self, _: &World, events: &[&Event]) -> bool {
        let has_stopped = |t: Tid| events.iter().any(|e| e.thread == t && Method::of(&e.call) == Method::Stop {});
        events.iter().all(|e| !matches!(Method::of(&e.call), Method::Dead { t } if !has_stopped(t)))
    }

    /// A point of the thread that orders nothing but what is in order without it.
    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method:
            Goes {} => { aCR }
            Stop {} => { aWT }
            Dead { .. } => { aWT }
        })
    }

    /// so = the end of a thread before what tells of it
    fn spec(&self) -> Spec {
        let mut c = Spec::default();
        let dead = (events(stops).cross(&events(tells)) & same(who))
            .named("dead", "{b} is told that the thread of {a} is dead");
        c.so([&dead]);
        c
    }
}

impl Hints for Crash {
    fn is_remembered(&self, _: &Call) -> bool {
        false
    }
}

/// The shapes of an event of a memory model by its terms, where what an operation does may be cut off. That nothing at all is done is
/// said once.
pub(crate) fn cut_off(of: &impl Library, world: &World, event: &Event) -> Vec<Shape> {
    let shapes = of.shape_terms().map_or_else(Vec::new, |terms| terms.of(world, event));
    if world.crashes.is_empty() {
        return shapes;
    }
    let to = shapes.iter().flatten().find(|sub| is_of_card(sub)).and_then(|sub| RdmaStamp::of(sub.stamp).node());
    if !to.is_some_and(|to| world.may_stop(event.thread) || world.crashes.nodes.contains(to)) {
        return shapes;
    }
    let is_first = |number: usize, shape: &Shape| number == 0 || shape.iter().any(|sub| sub.cell.is_some());
    let all = shapes
        .iter()
        .enumerate()
        .flat_map(|(number, whole)| cuts(whole).into_iter().filter(move |shape| is_first(number, shape)));
    all.collect()
}

/// The ways in which a shape may be cut off, itself first: what the card does may be missing part by part, of an operation of several
/// words each word for itself. The parts that are missing have their stamps, and touch no memory. What writes something that
/// another part reads is missing with that one, and what an atomic operation does to the remote word is one thing at its node.
#[must_use]
pub fn cuts(whole: &Shape) -> Vec<Shape> {
    let of_part = |sub: &Sub| match is_of_card(sub) && sub.cell.is_some() {
        true => vec![*sub, Sub::quiet(sub.stamp)],
        false => vec![*sub],
    };
    let all = whole.iter().map(of_part).multi_cartesian_product();
    all.filter(|shape| is_cut(whole, shape)).map(Shape::from_iter).collect()
}

/// Whether what is there of a shape can be there without what is missing.
fn is_cut(whole: &Shape, shape: &[Sub]) -> bool {
    let is_there = |at: usize| shape[at].cell == whole[at].cell;
    let has_source = |at: usize| match whole[at].writes {
        Some(Writes::Copy(from) | Writes::Step(from)) => is_there(from),
        _ => true,
    };
    let atomic = (0..whole.len()).find(|&at| matches!(RdmaStamp::of(whole[at].stamp), aNAR(_)));
    let is_one = |at: usize| {
        let is_remote = matches!(RdmaStamp::of(whole[at].stamp), aNRW(_));
        let with = atomic.filter(|&read| is_remote && whole[read].cell == whole[at].cell);
        with.is_none_or(|read| is_there(read) == is_there(at))
    };
    (0..whole.len()).all(|at| (!is_there(at) || has_source(at)) && is_one(at))
}

/// Whether it is a part of an operation that the card does.
fn is_of_card(sub: &Sub) -> bool {
    is_issued(sub.stamp)
}

/// What the card does for a thread.
#[must_use]
pub fn is_issued(stamp: Stamp) -> bool {
    matches!(RdmaStamp::of(stamp), aNLR(_) | aNRW(_) | aNAR(_) | aNRR(_) | aNLW(_))
}

/// What the card has not done.
pub(crate) fn missing(s: &SubView) -> bool {
    is_of_card(s.sub) && s.sub.cell.is_none()
}

/// What has happened; a remote fence is over when what is after it has.
pub(crate) fn happened(s: &SubView) -> bool {
    !missing(s) && !matches!(RdmaStamp::of(s.sub.stamp), aRF(_))
}

#[cfg(test)]
mod tests {
    use mowgli_core::event::{Cell, Reads};
    use mowgli_core::ids::{Loc, Node};
    use mowgli_core::stamp::StampKind as _;

    use super::*;

    /// What touches memory in each way in which a shape may be cut off, by stamp.
    fn there(whole: &[Sub]) -> Vec<String> {
        let cuts = cuts(&Shape::from_iter(whole.to_vec()));
        assert!(
            cuts.iter().all(|cut| cut.iter().map(|s| s.stamp).eq(whole.iter().map(|s| s.stamp))),
            "a stamp is lost"
        );
        let words = |cut: &Shape| cut.iter().filter(|s| s.cell.is_some()).map(|s| s.stamp.to_string()).join(" ");
        cuts.iter().map(words).collect()
    }

    fn cell(name: &str, node: u8) -> Cell {
        Loc::new(name).on(Node(node))
    }

    fn stamp(text: &str) -> RdmaStamp {
        *RdmaStamp::all(2).iter().find(|s| s.to_string() == text).expect("a stamp of a network of two nodes")
    }

    #[test]
    fn a_thread_does_not_wait_for_its_own_end() {
        let mut world = World::new(1, &[Node(1), Node(1)]);
        world.crashes.threads.insert(Tid(1));
        let fault = |thread: Tid| Crash.fault(&world, thread, &Method::Dead { t: Tid(1) }.into());
        assert!(fault(Tid(1)).is_some_and(|why| why.contains("let another thread call dead(P1)")));
        assert_eq!(fault(Tid(2)), None);
    }

    #[test]
    fn what_is_cut_off_of_a_put_begins_with_its_second_half() {
        let put = [
            Sub::read(stamp("aNLR_2"), cell("x", 1), Reads::Any),
            Sub::write(stamp("aNRW_2"), cell("z", 2), Writes::Copy(0)),
        ];
        assert_eq!(there(&put), ["aNLR_2 aNRW_2", "aNLR_2", ""]);
    }

    #[test]
    fn each_word_of_a_put_is_cut_off_for_itself() {
        let put = [
            Sub::read(stamp("aNLR_2"), cell("x", 1), Reads::Any),
            Sub::read(stamp("aNLR_2"), cell("y", 1), Reads::Any),
            Sub::write(stamp("aNRW_2"), cell("z", 2), Writes::Copy(0)),
            Sub::write(stamp("aNRW_2"), cell("w", 2), Writes::Copy(1)),
        ];
        assert_eq!(there(&put).len(), 9);
    }

    #[test]
    fn an_atomic_operation_is_one_thing_at_its_node() {
        let rfaa = [
            Sub::read(stamp("aNAR_2"), cell("z", 2), Reads::Any),
            Sub::write(stamp("aNRW_2"), cell("z", 2), Writes::Step(0)),
            Sub::write(stamp("aNLW_2"), cell("x", 1), Writes::Copy(0)),
        ];
        assert_eq!(there(&rfaa), ["aNAR_2 aNRW_2 aNLW_2", "aNAR_2 aNRW_2", ""]);
    }

    #[test]
    fn the_cpu_is_not_cut_off() {
        assert_eq!(there(&[Sub::write(stamp("aCW"), cell("x", 1), Val::Int(1))]), ["aCW"]);
    }
}
