//! Mu's log: length, payload and canary in one WRITE, which the follower finds whole by looking at the first and the last.
//!
//! Promises that the follower gets the entries in order, each once, and with them all that the leader put there before. Published as Mu
//! (Aguilera et al., OSDI 2020; LPD-EPFL/mu). Assumes that the words of one WRITE are placed in order of their addresses, which
//! InfiniBand does not promise; here they are three puts, which are ordered. Left out: permissions, and the change of leaders.

use mowgli_libraries::prelude::*;

use crate::shared::{Kind, Role, is_part, messages, next, of_threads, own, place, places, readers, received, sent};

methods! {
    enum Method of MU = "mu" {
        /// Appends v.
        fn propose = Propose(x: Object, v: Value);
        /// The next entry, or bottom if there is none.
        fn follow = Follow(x: Object) -> Value;
    }
}

fn role(method: Method) -> Option<Role> {
    Some(if matches!(method, Method::Propose { .. }) { Role::Writer } else { Role::Reader })
}

fn shape(world: &World, event: &Event, method: Method) -> Shape<Stamp> {
    match method {
        Method::Propose { x, v } => sent(world, x, v),
        Method::Follow { x } => received(world, event, x),
    }
}

fn body(world: &World, t: Tid, method: Method) -> Prog {
    let (here, one) = (world.node_of(t), move |x| own(x, "one", t));
    match method {
        Method::Propose { x, v } => {
            let (count, followers) = (own(x, "count", t), readers(world, x));
            prog! {
                let k = wait::read(count);
                wait::write(count, next(k));
                wait::write(place(x, "source", here, k), v);
                for n in (followers.iter()) {
                    wait::put(place(x, "length", n, k), one(x), Val::NoWid);
                    wait::put(place(x, "payload", n, k), place(x, "source", here, k), Val::NoWid);
                    wait::put(place(x, "canary", n, k), one(x), Val::NoWid)
                }
            }
        }
        Method::Follow { x } => {
            let count = own(x, "count", t);
            prog! {
                let k = wait::read(count);
                let length = wait::read(place(x, "length", here, k));
                let canary = wait::read(place(x, "canary", here, k));
                if (length == Val::Int(0) || canary == Val::Int(0)) { Prog::Val(Val::Bot) } else {
                    wait::write(count, next(k));
                    wait::read(place(x, "payload", here, k))
                }
            }
        }
    }
}

/// As published, and what is to be caught.
#[must_use]
pub fn entry() -> Entry {
    let roles = &["length", "payload", "canary", "source"];
    let mu = Over::new(body).parts(places(roles)).parts(of_threads("count", 0)).parts(of_threads("one", 1));
    let any_order = mu.clone().swap(calls!(Rdma::Put { x, .. } if is_part(x, "payload")));
    let no_canary = mu.clone().replace(calls!(Rdma::Read { x } if is_part(x, "canary") => Prog::Val(Val::Int(1))));
    Entry::rdma(Kind::to_readers(role, shape, messages).empty(), Wait)
        .published(mu, &[(2, 2, 2), (3, 3, 1)])
        .broken("any-order", any_order)
        .broken("no-canary", no_canary)
}
