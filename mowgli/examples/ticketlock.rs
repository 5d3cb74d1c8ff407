//! A lock of one's own over x86-TSO: a ticket lock.
//!
//! `Acq(l)` takes a ticket and waits until it is served, `Rel(l)` serves the next one. The specification is that of every
//! lock over x86-TSO: `Acq` is a fence, and who acquires sees all that the one before did. What is new is the
//! implementation.

use std::process::ExitCode;

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::program::{Prog, prog};
use mowgli_core::world::World;
use mowgli_libraries::catalogue::{Entry, Expected, variant};
use mowgli_libraries::lock::Method;
use mowgli_libraries::x86::lock;
use mowgli_x86::Stamp;
use mowgli_x86::tso::{faa, read, word, write};

const TICKET: Name = Name::literal("ticket");

/// The implementation, or what can go wrong with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ticket {
    Published,
    /// A ticket is read, and then the next one is written: two threads may get the same.
    TwoSteps,
    /// A release passes over one turn.
    SkipsOne,
}

/// The next ticket, and the one that is served: parts of the lock, which no client can name.
fn words(l: Loc) -> [Loc; 2] {
    ["next", "served"].map(|role| l.part(role))
}

impl Implementation for Ticket {
    fn target(&self) -> Name {
        TICKET
    }

    fn declare(&self, world: &mut World) {
        let words = world.locations(TICKET).into_iter().flat_map(words);
        world.objects.extend(words.map(|x| (x, word())).collect::<Vec<_>>());
    }

    fn body(&self, _: &World, _: Tid, call: &Call) -> Prog {
        let [next, served] = words(call.loc(0));
        if let Method::Rel { .. } = Method::of(call) {
            let step = if *self == Self::SkipsOne { 2 } else { 1 };
            return prog! { let turn = read(served); write(served, turn.plus(step).unwrap_or(turn)) };
        }
        let take = match self {
            Self::TwoSteps => prog! { let v = read(next); write(next, v.plus(1).unwrap_or(v)); Prog::Val(v) },
            _ => faa(next, 1),
        };
        prog! {
            let ticket = take.clone();
            loop { let turn = read(served); if (turn == ticket) { break } }
        }
    }
}

/// The lock with its implementation, and the variants that are to be caught. One of them is safe, and never ends.
pub fn entry() -> Entry<Stamp> {
    let of = |name, about, expected, implementation| variant(name, about, expected, implementation, &[(2, 1, 2)]);
    let variants = vec![
        of("published", "tickets by fetch-and-add", Expected::Sound, Ticket::Published),
        of("two-steps", "a ticket is read and then written", Expected::Unsound, Ticket::TwoSteps),
        of("skips-one", "a release passes over one turn", Expected::Blocks, Ticket::SkipsOne),
    ];
    lock::entry(TICKET, variants)
}

fn main() -> ExitCode {
    mowgli::main_with([entry().into()])
}
