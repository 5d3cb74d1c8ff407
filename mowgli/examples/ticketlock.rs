//! A lock of your own over x86-TSO: a ticket lock.
//!
//! `Acq(l)` takes a ticket and waits until it is served, `Rel(l)` serves the next one. The specification is that of
//! every lock over x86-TSO: `Acq` is a fence, and the new holder sees everything that the previous holder did. Only the
//! implementation is new.

use mowgli_libraries::lock::Method;
use mowgli_libraries::x86::lock;
use mowgli_libraries::x86::prelude::*;

const TICKET: Name = Name::literal("ticket");

/// The next ticket: a word of the lock, which no client can name.
fn next(x: Expr) -> Expr {
    x.part("next", [])
}

/// The ticket that is served, a word of the lock too.
fn served(x: Expr) -> Expr {
    x.part("served", [])
}

fn bodies() -> Bodies {
    bodies! { Method:
        Acq { x } => {
            let ticket = Tso::faa(next(x), 1);
            loop { let turn = Tso::read(served(x)); if (turn == ticket) { break } }
        }
        Rel { x } => { let turn = Tso::read(served(x)); Tso::write(served(x), turn + 1) }
    }
}

/// The lock with its implementation, and the variants that are to be caught. One of them is safe, and never ends.
pub fn entry() -> Entry {
    // All locks have one method table.
    let ticket = Over::<Method>::terms_of(TICKET, bodies()).part("next", word()).part("served", word());
    // A ticket is read, and then the next one is written: two threads may get the same.
    let two_steps = ticket.clone().replace(calls!(
        Tso::FAA { x, .. } => body! { let v = Tso::read(x); Tso::write(x, v + 1); v }
    ));
    let skips_one = ticket.clone().replace(calls!(
        Tso::Write { x, v } in Method::Rel { .. } => Tso::write(x, v + 1)
    ));
    let bounds = &[(2, 1, 2)];
    let variants = vec![
        variant("published", "tickets by fetch-and-add", Expected::Sound, ticket, bounds),
        variant("two-steps", "a ticket is read and then written", Expected::Unsound, two_steps, bounds),
        variant("skips-one", "a release passes over one turn", Expected::Blocks, skips_one, bounds),
    ];
    lock::entry(TICKET, variants)
}

mowgli::main!(entry());
