//! Replicated log append: the entry is put to each replica, and then the tail.
//!
//! Promises that a reader finds the last entry that its node has heard of whole, and with it all that the writer put there before.
//! Common practice. Assumes that entry and tail go over one queue pair, so that the tail comes last. Left open by descriptions: when
//! the word that the tail is put from may be written again. Here an append waits for the puts of its tail.

use mowgli_libraries::prelude::*;
use mowgli_rdma::wait::Method as Rdma;

use crate::shared::{Kind, Role, of_threads, own, readers, register};

methods! {
    enum Method of LOG = "log" {
        /// Appends v.
        fn append = Append(x: Object, v: Value);
        /// The last entry on this node, or 0.
        fn last = Last(x: Object) -> Value, looks;
    }
}

fn role(method: Method) -> Option<Role> {
    Some(if matches!(method, Method::Append { .. }) { Role::Writer } else { Role::Reader })
}

/// Append {aNRW_n | n a replica}, Last {aCR}.
fn shape(world: &World, event: &Event, method: Method) -> Shape<Stamp> {
    match method {
        Method::Append { x, v } => readers(world, x).iter().map(|n| Sub::write(aNRW(n), x.on(n), v)).collect(),
        Method::Last { x } => [Sub::read(aCR, x.on(world.node_of(event.thread)), event.ret)].into(),
    }
}

/// So many entries there may be.
const PLACES: i64 = 3;

/// Place k of the replica on a node.
fn entry_at(x: Loc, n: Node, k: i64) -> Loc {
    x.part(format_args!("entry_{k}_{n}"))
}

fn tail(x: Loc, n: Node) -> Loc {
    x.part(format_args!("tail_{n}"))
}

/// Where the writer has what it sends to place k.
fn source(x: Loc, k: i64) -> Loc {
    x.part(format_args!("source_{k}"))
}

fn body(world: &World, t: Tid, method: Method) -> Prog {
    match method {
        Method::Append { x, v } => {
            let (count, d, replicas) = (own(x, "count", t), Val::Wid(x.wid("d")), readers(world, x));
            prog! {
                let k = wait::read(count);
                wait::write(source(x, k.int().unwrap_or(0)), v);
                wait::write(count, k.plus(1).unwrap_or(k));
                for n in (replicas.iter()) {
                    prog! {
                        wait::put(entry_at(x, n, k.int().unwrap_or(0)), source(x, k.int().unwrap_or(0)), Val::NoWid);
                        wait::put(tail(x, n), count, d)
                    }
                };
                wait::wait(d)
            }
        }
        Method::Last { x } => {
            let here = world.node_of(t);
            prog! {
                let k = wait::read(tail(x, here));
                if (k == Val::Int(0)) { Prog::Val(k) } else { wait::read(entry_at(x, here, k.int().unwrap_or(0) - 1)) }
            }
        }
    }
}

fn words(world: &World, x: Loc) -> Vec<(Loc, Object)> {
    let writer = world.node_of(world.objects[&x].members[0]);
    let replica = |n| (0..PLACES).map(move |k| entry_at(x, n, k)).chain([tail(x, n)]).map(move |w| (w, wait::word(n)));
    let sources = (0..PLACES).map(|k| (source(x, k), wait::word(writer)));
    readers(world, x).iter().flat_map(replica).chain(sources).collect()
}

/// As published, and what is to be caught.
#[must_use]
pub fn entry() -> Entry {
    let log = Over::new(body).parts(words).parts(of_threads("count", 0));
    let is_tail = |x: Loc| x.to_string().contains("tail");
    let no_wait = log.clone().without(calls!(Rdma::Wait { .. }));
    let tail_first = log.clone().swap(calls!(Rdma::Put { x, .. } if !is_tail(x)));
    Entry::rdma(Kind::to_readers(role, shape, register), Wait)
        .published(log, &[(2, 2, 2), (3, 3, 1)])
        .broken("no-wait", no_wait)
        .broken("tail-first", tail_first)
}
