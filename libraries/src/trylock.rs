//! TRYLOCK, a lock of one node that a thread can also try to take. If the lock is held, the attempt does not wait.
//!
//! Not in the papers. It is NLOCK (SYNC §4.3) with a method `TryAcq`, over the same ticket lock. It deliberately does not
//! promise that an attempt succeeds where the lock is free.

use mowgli_core::term::method;
use mowgli_core::world::{DeclarationForm, DeclarationPart};
use mowgli_rdma::wait::Method as Wait;

use crate::entry::bound;
use crate::lock::{self, LOCK, Sections, WELL_FORMED, dispenser, ticket};
use crate::nlock::{NlockOverWait, released};
use crate::prelude::*;

methods! {
    /// Calls of a lock that a thread can try to take.
    pub enum Method of TRYLOCK = "trylock" {
        /// `Acq(x)`, which waits.
        fn acq = Acq(x: Object);
        /// `TryAcq(x)`, which does not wait, and returns whether the thread now holds the lock.
        fn try_acq = TryAcq(x: Object) -> Bool, fails;
        /// `Rel(x)`, which returns whether the thread held the lock. After an attempt that failed it does nothing.
        fn rel = Rel(x: Object) -> Bool, fails;
    }
}

/// TRYLOCK as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trylock;

/// Each Acq needs a Rel, and each Rel an Acq or a TryAcq.
const COVERED: Paired = Paired { may_open: &["TryAcq"], ..WELL_FORMED };

/// The same, and each TryAcq needs a Rel, too: nobody keeps the lock.
const RELEASED: Paired = Paired { opens: &["Acq", "TryAcq"], ..WELL_FORMED };

impl Library for Trylock {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm { kind: "try lock", parts: &[DeclarationPart::Node] })
    }

    fn covered(&self) -> PlainSet<'_> {
        PlainSet::Paired(COVERED)
    }

    /// Acq is a fence. Rel is a fence of the network and then a write, both of the lock's node. Calls without effect wait.
    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method:
            Acq { .. } => { aMF }
            TryAcq { .. } => { if (ret().is(true)) { aMF } else { aWT } }
            Rel { x } => { if (ret().is(true)) { aRF(node(x)); aNRW(node(x)) } else { aWT } }
        })
    }

    /// As NLOCK. Beyond that, the lock is not taken again before it is released, and a call releases it exactly if the
    /// thread has taken it.
    fn spec(&self) -> Spec {
        let (acq, rel) = (set!(aMF), set!(aNRW));
        spec! {
            let fence = [aRF]; same_event; [aNRW];
            say fence = "{a} fences before it releases";
            let later = po & same(LOCK);
            let next = later - (later; later);
            let section = [acq]; next; [rel];
            // lo: a total order on the calls that took the lock
            let lo = order(acq, LOCK);
            empty taken-twice = ([acq] - (section; section^-1)); lo;
            empty not-held = [rel] - (section^-1; section);
            empty kept = [acq]; next; [calls(&["Rel"]) & aWT];
            let released = section^-1; lo;
            say released as lo = "{a} lets {b} in";
            so = fence | released;
        }
    }
}

impl Hints for Trylock {
    /// An Acq waits until nobody holds the lock.
    fn may_wait(&self, _: &World, call: &Call) -> Option<bool> {
        Some(matches!(Method::of(call), Method::Acq { .. }))
    }

    fn must_return(&self, _: &World, events: &[&Event]) -> bool {
        RELEASED.has(events)
    }

    fn unfinished(&self, events: &[&Event]) -> Vec<Call> {
        lock::held(events).into_iter().map(|x| Method::Rel { x }.into()).collect()
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::DataIndependent
    }
}

/// The implementation over the words of NLOCK. While a thread holds the lock, its own word has the ticket after its own one. After an
/// attempt that failed, it has 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrylockOverWait;

/// Reads the ticket that may hold the lock.
fn read_released(x: Expr) -> Body {
    body! {
        Wait::get(ticket(x, me()), released(x), x.wid("d"));
        Wait::wait(x.wid("d"));
        Wait::read(ticket(x, me()))
    }
}

impl Implementation for TrylockOverWait {
    fn target(&self) -> Name {
        TRYLOCK
    }

    fn parts(&self) -> Option<&Parts> {
        NlockOverWait.parts()
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(bodies! { static Method:
            Acq { x } => {
                Wait::rfaa(ticket(x, me()), dispenser(x), 1, x.wid("d"));
                Wait::wait(x.wid("d"));
                let v = Wait::read(ticket(x, me()));
                loop { let w = read_released(x); if (w == v) { break } }
                Wait::write(ticket(x, me()), v + 1)
            }
            TryAcq { x } => {
                let v = read_released(x);
                Wait::rcas(ticket(x, me()), dispenser(x), v, v + 1, x.wid("d"));
                Wait::wait(x.wid("d"));
                let w = Wait::read(ticket(x, me()));
                if (w == v) { Wait::write(ticket(x, me()), v + 1); true } else { Wait::write(ticket(x, me()), 0); false }
            }
            Rel { x } => {
                let v = Wait::read(ticket(x, me()));
                if (v == 0) {
                    false
                } else {
                    Wait::rfence(node(x));
                    Wait::put(released(x), ticket(x, me()), Val::NoWid);
                    true
                }
            }
        })
    }
}

/// An attempt that looks whether the lock is free, and then takes a ticket as an Acq does.
fn look_first() -> Bodies {
    bodies! { Method:
        TryAcq { x } => {
            let v = read_released(x);
            Wait::get(ticket(x, me()), dispenser(x), x.wid("d"));
            Wait::wait(x.wid("d"));
            let w = Wait::read(ticket(x, me()));
            if (w == v) {
                Wait::rfaa(ticket(x, me()), dispenser(x), 1, x.wid("d"));
                Wait::wait(x.wid("d"));
                Wait::write(ticket(x, me()), v + 1);
                true
            } else {
                Wait::write(ticket(x, me()), 0);
                false
            }
        }
    }
}

impl Subject for Trylock {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        lock::worlds(TRYLOCK, empty, bound, expired)
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        method::calls(TRYLOCK, Method::TABLE, world, thread, bound, expired)
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 3), (3, 1, 2)];
    let no_rfence = TrylockOverWait.without(calls!(Wait::Rfence { .. }));
    // So a Rel after it releases the lock of another thread.
    let no_mark = TrylockOverWait.without(calls!(Wait::Write { v, .. } in Method::TryAcq { .. } if v == 0.into()));
    let look_first = TrylockOverWait.with("an attempt looks first and then takes a ticket", &look_first());
    let variants = vec![
        // Six calls take four times as long as five, and no broken variant needs them.
        variant("published", "NLOCK with attempts", Sound, TrylockOverWait, &[(3, 1, 2)])
            .and(Bound { total: Some(5), ..bound(2, 2, 3) })
            .thoroughly(bound(2, 2, 3)),
        variant("no-rfence", "the release overtakes reads of the node", Unsound, no_rfence, bounds),
        variant("no-mark", "an attempt that failed leaves a ticket behind", Unsound, no_mark, bounds),
        variant("look-first", "an attempt looks, and then takes a ticket", Unsound, look_first, bounds),
    ];
    Entry {
        probes: vec![Box::new(Sections { library: TRYLOCK })],
        ..Entry::new(Memory::rdma_wait(), Trylock, Libraries::over(to).with(Wait), variants)
    }
}
