//! Clients that watch a library through x86-TSO memory: later reads show what a call promises.
//!
//! Each probe is made for every pair of places in the client:
//!  - *fenced*: fences between the calls;
//!  - *signal*: a thread sets a flag after its calls, and another one reads it before its own;
//!  - *buffering*: a thread reads a word after its calls; another one writes it, and fences, before its own;
//!  - *across*: a thread writes a word before its call, and another one (or the same) reads it after its call;
//!  - *message*: a thread writes a word before its calls, and another one reads it after it has seen the flag.

use itertools::{Itertools, iproduct};
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Tid};
use mowgli_core::soundness::client::Client;
use mowgli_core::soundness::verdict::Probes;
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::tso::{MACHINE, X86, word};

/// The probes of x86-TSO.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordProbes;

/// Calls that are inserted before the call at this position of a thread.
type InsertedCalls<'a> = (Tid, usize, &'a [Call]);

/// `Write(x, 1)`.
fn touch(x: &str) -> Call {
    Call::new(X86, "Write", &[Loc::new(x).into(), Val::Int(1)])
}

/// `Read(x)`.
fn look(x: &str) -> Call {
    Call::new(X86, "Read", &[Loc::new(x).into()])
}

fn fence() -> Call {
    Call::new(X86, "Mfence", &[])
}

/// Inserts these steps into the client, in this order, and the words that they need into the world.
fn extended(world: &World, client: &Client, steps: &[InsertedCalls<'_>]) -> (World, Client) {
    let (mut world, mut client) = (world.clone(), client.clone());
    for (thread, at, calls) in steps {
        client.threads[thread.index()].splice(*at..*at, calls.iter().cloned());
        let words = calls.iter().flat_map(|c| &c.args).filter_map(|v| v.loc());
        world.objects.extend(words.map(|x| (x, word())));
    }
    (world, client)
}

/// Puts a fence between every two calls of a thread. Returns `None` if each thread makes at most one call.
fn fenced(world: &World, client: &Client) -> Option<(World, Client)> {
    let several = client.threads.iter().any(|calls| calls.len() > 1);
    let threads = client.threads.iter().map(|calls| Itertools::intersperse(calls.iter().cloned(), fence()).collect());
    several.then(|| (world.clone(), Client { threads: threads.collect() }))
}

/// Returns the pairs of two different threads.
fn pairs(world: &World) -> impl Iterator<Item = (Tid, Tid)> {
    let all: Vec<Tid> = world.tids().collect();
    all.into_iter().tuple_combinations().flat_map(|(a, b)| [(a, b), (b, a)])
}

/// Returns the probes *signal* and *buffering*.
fn around(world: &World, client: &Client) -> Vec<(World, Client)> {
    let of_pair = |(from, to): (Tid, Tid)| {
        let last = client.threads[from.index()].len();
        let signal = extended(world, client, &[(to, 0, &[look("py")]), (from, last, &[touch("py")])]);
        let buffering = extended(world, client, &[(from, last, &[look("py")]), (to, 0, &[touch("py"), fence()])]);
        [signal, buffering]
    };
    pairs(world).flat_map(of_pair).collect()
}

/// Returns the probes *across*: a write before a call of one thread, and a read after a call of another one, or of the
/// same.
fn across(world: &World, client: &Client) -> Vec<(World, Client)> {
    let calls = |t: Tid| 0..client.threads[t.index()].len();
    let of_pair = |(from, to): (Tid, Tid)| {
        let places = iproduct!(calls(from), calls(to)).filter(move |(i, j)| from != to || i <= j);
        places.map(move |(i, j)| extended(world, client, &[(to, j + 1, &[look("px")]), (from, i, &[touch("px")])]))
    };
    pairs(world).chain(world.tids().map(|t| (t, t))).flat_map(of_pair).collect()
}

/// Returns the probes *message*: message passing through the calls of one thread.
fn message(world: &World, client: &Client) -> Vec<(World, Client)> {
    let of_pair = |(from, to): (Tid, Tid)| {
        let last = client.threads[from.index()].len();
        let receives = [look("py"), look("px")];
        let steps: [InsertedCalls<'_>; 3] =
            [(to, 0, &receives), (from, last, &[touch("py")]), (from, 0, &[touch("px")])];
        extended(world, client, &steps)
    };
    pairs(world).map(of_pair).collect()
}

impl Probes for WordProbes {
    fn stages(&self) -> usize {
        3
    }

    fn extend(&self, world: &World, client: &Client, stage: usize) -> Vec<(World, Client)> {
        let mut all = match stage {
            0 => std::iter::once((world.clone(), client.clone())).chain(fenced(world, client)).collect(),
            1 => around(world, client),
            _ => [across(world, client), message(world, client)].concat(),
        };
        if stage == 2 && client.threads.len() == 1 {
            // The second thread does not call the library.
            let (mut world, mut client) = (world.clone(), client.clone());
            world.threads.push(MACHINE);
            client.threads.push(Vec::new());
            all.extend(message(&world, &client));
        }
        all.sort_by_key(|(w, c)| (c.len(), w.threads.len()));
        all
    }
}
