//! A ticket lock: a fetch-and-add gives each thread its turn.

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::program::{Prog, prog};
use mowgli_core::world::World;
use mowgli_x86::Stamp;
use mowgli_x86::tso::{faa, read, word, write};

use crate::catalogue::{Entry, Expected, variant};
use crate::lock::Method;
use crate::x86::lock;

/// The library's name.
pub const TICKETLOCK: Name = Name::literal("ticketlock");

/// The implementation, or one of its broken variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ticket {
    /// `v = FAA(next, 1); loop { if Read(serving) = v break }`, and `v = Read(serving); Write(serving, v + 1)`.
    #[default]
    Published,
    /// A ticket is taken in two steps.
    TwoSteps,
    /// A thread goes on when its turn is over too, and when it is not yet.
    NoWait,
    /// A release passes over one turn.
    SkipsOne,
}

/// The next ticket, and the one whose turn it is.
fn words(x: Loc) -> [Loc; 2] {
    ["next", "serving"].map(|role| x.part(role))
}

impl Implementation for Ticket {
    fn target(&self) -> Name {
        TICKETLOCK
    }

    fn declare(&self, world: &mut World) {
        let words = world.locations(TICKETLOCK).into_iter().flat_map(words);
        world.objects.extend(words.map(|x| (x, word())).collect::<Vec<_>>());
    }

    fn body(&self, _: &World, _: Tid, call: &Call) -> Prog {
        let [next, serving] = words(call.loc(0));
        if let Method::Rel { .. } = Method::of(call) {
            let step = if *self == Self::SkipsOne { 2 } else { 1 };
            return read(serving).bind(move |v| write(serving, v.plus(step).unwrap_or(v)));
        }
        let take = match self {
            Self::TwoSteps => prog! { let v = read(next); write(next, v.plus(1).unwrap_or(v)); Prog::Val(v) },
            _ => faa(next, 1),
        };
        let waits = *self != Self::NoWait;
        prog! {
            let v = take.clone();
            loop { let turn = read(serving); if (turn == v || !waits) { break } }
        }
    }
}

/// What the catalogue says of it.
#[must_use]
pub fn entry() -> Entry<Stamp> {
    use Expected::{Blocks, Sound, Unsound};
    let variants = vec![
        variant("published", "tickets by fetch-and-add", Sound, Ticket::Published, &[(3, 1, 2), (2, 1, 4)]),
        variant("two-steps", "a ticket is read and then written", Unsound, Ticket::TwoSteps, &[(2, 1, 2)]),
        variant("no-wait", "nobody waits for their turn", Unsound, Ticket::NoWait, &[(2, 1, 2)]),
        variant("skips-one", "a release passes over one turn", Blocks, Ticket::SkipsOne, &[(2, 1, 2)]),
    ];
    lock::entry(TICKETLOCK, variants)
}
