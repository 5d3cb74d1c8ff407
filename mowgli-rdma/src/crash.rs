//! Crashes: threads and nodes that stop at any point, of RDMA-TSO-RMW and RDMA-WAIT-RMW with the switch `crashes`.
//!
//! A thread that crashes makes some of its first calls, and no more. Its writes by the CPU reach memory, because the store
//! buffer drains. The operations that it issued may be cut off. On each queue pair the card has done them in order up to
//! some point, so the missing part is closed under `ib`: it has each later part, too.
//!
//! A node that crashes takes its threads with it, and cuts off the operations that others issued to it. A thread cannot
//! distinguish a crashed thread from a slow one, except by [`Method::Dead`]. That call stands for the means of a system: a
//! lease that has ended, or a service that counts members. It concerns the CPU only, since the card may still work.

use itertools::Itertools;
use mowgli_core::algebra::{Spec, SubView, spec};
use mowgli_core::event::{Call, Event, Shape, Sub, Writes};
use mowgli_core::ids::Tid;
use mowgli_core::library::{Hints, Library, PlainSet};
use mowgli_core::stamp::{Stamp, StampKind};
use mowgli_core::term::method::{self, methods, named_by};
use mowgli_core::term::shape::{Shapes, shapes};
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, World};

use crate::stamp::RdmaStamp::{self, aCR, aNAR, aNLR, aNLW, aNRR, aNRW, aRF, aWT};

methods! {
    /// The points at which a thread may crash, its crash, and the call by which other threads notice it.
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

/// Describes the calls that a thread that may crash makes beside its statements.
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

/// Returns the thread that has stopped: the caller of `Stop`, or the argument of `Dead`.
fn who(s: &SubView) -> Option<Val> {
    match Method::of_any(&s.event.call)? {
        Method::Dead { t } => Some(t.into()),
        Method::Stop {} => Some(s.event.thread.into()),
        Method::Goes {} => None,
    }
}

impl Library for Crash {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        None
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

    /// True if each thread for which a `Dead` has returned has stopped.
    fn admitted(&self) -> PlainSet<'_> {
        PlainSet::Where(Box::new(|_, events| {
            let has_stopped = |t: Tid| events.iter().any(|e| e.thread == t && Method::of(&e.call) == Method::Stop {});
            events.iter().all(|e| !matches!(Method::of(&e.call), Method::Dead { t } if !has_stopped(t)))
        }))
    }

    /// The stamps order no other subevents, because `aCR` and `aWT` order what is in order without them.
    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method:
            Goes {} => { aCR }
            Stop {} => { aWT }
            Dead { .. } => { aWT }
        })
    }

    /// so = the end of a thread before each call that reports it
    fn spec(&self) -> Spec {
        spec! {
            let dead = stops * tells & same(who);
            say dead = "{b} reports that the thread of {a} is dead";
            so = dead;
        }
    }
}

impl Hints for Crash {
    /// A thread that may crash need not, and may then wait for ever itself.
    fn may_wait(&self, _: &World, call: &Call) -> Option<bool> {
        Some(matches!(Method::of(call), Method::Dead { .. }))
    }

    fn is_optional(&self, event: &Event) -> bool {
        matches!(Method::of(&event.call), Method::Goes {}) && event.ret == Val::Bool(false)
    }

    fn is_remembered(&self, _: &Call) -> bool {
        false
    }
}

/// Returns the shapes of an event of a memory model, where an operation may be cut off. The shape in which nothing is done is
/// in the result once, because different shapes have it in common.
pub(crate) fn cut_off(world: &World, event: &Event, shapes: Vec<Shape>) -> Vec<Shape> {
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

/// Returns the ways in which a shape may be cut off, the whole shape first. Parts of the card may be missing, in an operation
/// of several words independently for each word. A missing part keeps its stamp, and accesses no memory. A write is missing
/// if the read is missing whose value it writes. An atomic operation reads and writes its remote word together, so both
/// parts are missing or none.
#[must_use]
pub fn cuts(whole: &Shape) -> Vec<Shape> {
    let of_part = |sub: &Sub| match is_of_card(sub) && sub.cell.is_some() {
        true => vec![*sub, Sub::quiet(sub.stamp)],
        false => vec![*sub],
    };
    let all = whole.iter().map(of_part).multi_cartesian_product();
    all.filter(|shape| is_cut(whole, shape)).map(Shape::from_iter).collect()
}

/// True if the present parts of a shape can happen without the missing ones.
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

/// True for a part of an operation that the card carries out.
fn is_of_card(sub: &Sub) -> bool {
    is_issued(sub.stamp)
}

/// True for the stamps of parts that the card carries out for a thread.
#[must_use]
pub fn is_issued(stamp: Stamp) -> bool {
    matches!(RdmaStamp::of(stamp), aNLR(_) | aNRW(_) | aNAR(_) | aNRR(_) | aNLW(_))
}

/// True for a part that the card has not carried out.
pub(crate) fn missing(s: &SubView) -> bool {
    is_of_card(s.sub) && s.sub.cell.is_none()
}

/// True for a part that has happened. A remote fence is over when an operation after it has happened, so it never counts.
pub(crate) fn happened(s: &SubView) -> bool {
    !missing(s) && !matches!(RdmaStamp::of(s.sub.stamp), aRF(_))
}

#[cfg(test)]
mod tests {
    use mowgli_core::event::{Cell, Reads};
    use mowgli_core::ids::{Loc, Node};
    use mowgli_core::stamp::StampKind as _;

    use super::*;

    /// Returns the stamps of the parts that access memory, for each way in which a shape may be cut off.
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
