//! NLOCK, the lock of one node: remote operations towards its node are over when the next critical section begins.
//!
//! SYNC §4.3, Theorem 3. It deliberately promises nothing about operations towards other nodes.

use mowgli_core::term::lemma::{Lemma, call, hb, value};
use mowgli_core::world::{DeclarationForm, DeclarationPart};
use mowgli_rdma::wait::{Method as Wait, WAIT};

use crate::entry::bound;
use crate::lock::{Lock, Method, Sections, dispenser, home, ticket, ticket_of, tickets};
use crate::prelude::*;

/// The library's name.
pub const NLOCK: Name = Name::literal("nlock");

/// NLOCK as a library: Rel {aRF_n(x), aNRW_n(x)}, the first before the second.
pub const LIBRARY: Lock = Lock {
    name: NLOCK,
    form: DeclarationForm { kind: "node lock", parts: &[DeclarationPart::Node] },
    fence: || aMF.into(),
    shapes: || shapes! { Method: Acq { .. } => { aMF } Rel { x } => { aRF(node(x)); aNRW(node(x)) } },
    lets_in: || set!(aNRW),
    // {<<e, aRF>, <e, aNRW>> | e a Rel}
    first: |c| {
        spec! { c =>
            let fence = [aRF]; same_event; [aNRW];
            say fence = "{a} fences before it releases";
            so = fence;
        }
    },
};

/// The implementation over RDMA-WAIT-RMW.
#[derive(Clone, Copy, Debug, Default)]
pub struct NlockOverWait;

pub(crate) fn released(x: impl Into<Expr>) -> Expr {
    x.into().part("released", [])
}

impl Implementation for NlockOverWait {
    fn target(&self) -> Name {
        NLOCK
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            dispenser(x) => ObjectTerm::new(WAIT).at(node(x));
            released(x) => ObjectTerm::new(WAIT).at(node(x));
            for t in (all_threads()) { ticket(x, t) => ObjectTerm::new(WAIT).at(node(t)); }
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(bodies! { static Method:
            Acq { x } => {
                Wait::rfaa(ticket(x, me()), dispenser(x), 1, x.wid("d"));
                Wait::wait(x.wid("d"));
                let v = Wait::read(ticket(x, me()));
                loop {
                    Wait::get(ticket(x, me()), released(x), x.wid("d"));
                    Wait::wait(x.wid("d"));
                    let w = Wait::read(ticket(x, me()));
                    if (w == v) { break }
                }
                Wait::write(ticket(x, me()), v + 1)
            }
            Rel { x } => {
                Wait::rfence(node(x));
                Wait::put(released(x), ticket(x, me()), Val::NoWid)
            }
        })
    }

    /// The invariant behind SYNC Theorem 3: a Rel sends the successor of the ticket of its Acq. An Acq with that ticket
    /// or a later one happens after the Rel.
    fn lemmas(&self) -> Vec<Lemma> {
        let [c, d] = ["c", "d"].map(call);
        let sent = d.read(WAIT, "Put", 1);
        let seen = c.read(WAIT, "Get", 1);
        let mut all = tickets();
        all.extend([
            Lemma::new("a Rel sends what its Acq has left")
                .about(&[c, d])
                .given(c.is_a("Acq"))
                .given(d.is_a("Rel"))
                .given(c.with(d))
                .then(value(sent).is(value(c.write(WAIT, "Write", 1)))),
            Lemma::new("who has a later ticket comes after the Rel")
                .about(&[c, d])
                .given(d.shares_object(c))
                .given(value(sent).exceeds(ticket_of(c)).negated())
                .then(hb(d.write(WAIT, "Put", 1), seen))
                .along_hb(seen),
        ]);
        all
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(3, 3, 2)];
    // Locks held across other locks, and several sections of a thread.
    let nested = Bound { objects: 2, ..bound(1, 2, 4) };
    let no_rfence = NlockOverWait.without(calls!(Wait::Rfence { .. }));
    // So the release overtakes whatever goes to the lock's node.
    let release_by_write = NlockOverWait.declaring("the word that releases lies on another node", |world| {
        for x in world.locations(NLOCK) {
            let elsewhere = Node(home(world, x).0 % world.nodes + 1);
            world.objects.insert(released(x).loc(), wait::word(elsewhere));
        }
    });
    let variants = vec![
        variant("published", "SYNC §4.3", Sound, NlockOverWait, bounds).and(nested),
        variant("no-rfence", "the release overtakes reads of the node", Unsound, no_rfence, bounds),
        variant("release-by-write", "the word that releases lies on another node", Unsound, release_by_write, bounds),
    ];
    Entry {
        probes: vec![Box::new(Sections { library: NLOCK })],
        ..Entry::new(Memory::rdma_wait(), LIBRARY, Libraries::over(to).with(Wait), variants)
    }
}
