//! BAL, barriers: when a thread leaves `BAR(x)`, everything before the calls of the other participants has happened, on
//! the nodes of the participants.
//!
//! LOCO §4, Def. 4.1, Theorem 4.2. It deliberately does not promise anything about nodes without a participant; the
//! transitive variant (§4.3) does.
//!
//! [`Bal::Puts`] is not in the paper. It promises that earlier puts and atomic operations of the participants are placed on
//! the nodes of the participants. It deliberately promises nothing about earlier gets that nobody has waited for. So it
//! needs no fence towards other nodes, and two passes over the network in place of three.

use std::sync::LazyLock;

use itertools::Itertools;
use mowgli_core::algebra::Attribute::{Argument, Count};
use mowgli_core::term::lemma::{Lemma, LemmaVar, Of, call, hb, index, is_number, node, thread, value};
use mowgli_core::term::method;
use mowgli_core::world::{DeclarationForm, DeclarationPart};

use crate::prelude::*;
use crate::sv::{Method as Sv, SV};

methods! {
    /// Calls of a barrier, of any kind.
    pub enum Method as statements {
        /// `BAR(x)` returns when all participants have called it.
        fn bar = BAR(x: Object);
    }
}

/// The library's name.
pub const BAL: Name = Name::literal("bal");
/// The transitive variant's name.
pub const BAL_TRANSITIVE: Name = Name::literal("bal-transitive");
/// The name of the barrier for puts.
pub const BAL_PUTS: Name = Name::literal("bal-puts");

/// A barrier among these threads, b(x).
#[must_use]
pub fn barrier(participants: &[Tid]) -> Object {
    Object::new(BAL).members(participants)
}

/// BAL as a library.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Bal {
    /// The fence covers the nodes of the participants.
    #[default]
    Plain,
    /// The fence covers every node.
    Transitive,
    /// There is no fence. The barrier covers puts and atomic operations, towards the nodes of the participants.
    Puts,
}

impl Library for Bal {
    fn name(&self) -> Name {
        match self {
            Self::Plain => BAL,
            Self::Transitive => BAL_TRANSITIVE,
            Self::Puts => BAL_PUTS,
        }
    }

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm {
            kind: match self {
                Self::Plain => "barrier",
                Self::Transitive => "transitive barrier",
                Self::Puts => "put barrier",
            },
            parts: &[DeclarationPart::Members],
        })
    }

    fn methods(&self) -> &'static [method::Method] {
        Method::TABLE
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(match self {
            Self::Plain => shapes! { Method:
                BAR { x } by members(x) => { for n in (nodes(members(x))) { aGF(n) } aCR }
            },
            Self::Transitive => shapes! { Method:
                BAR { x } by members(x) => { for n in (all_nodes()) { aGF(n) } aCR }
            },
            // The own node is apart because a fence stands for it: see `two_passes`.
            Self::Puts => shapes! { Method:
                BAR { x } by members(x) => {
                    for n in (nodes(members(x)).without(here())) { aNRW(n) }
                    aNRW(here());
                    aCR
                }
            },
        })
    }

    /// Every participant calls BAR(x) equally often.
    fn admitted(&self) -> PlainSet<'_> {
        PlainSet::InRounds
    }

    fn spec(&self) -> Spec {
        match self {
            Self::Plain | Self::Transitive => spec! {
                // Def. 4.1: so = {<<e1, aGF_n>, <e2, aCR>> | same x, o(e1) = o(e2)}, o(e) the call's index on its thread
                let round = [aGF]; same(BARRIER_AND_ROUND); [aCR];
                say round = "{b} ends after {a} has begun: they are one round";
                so = round;
            },
            Self::Puts => spec! {
                // As Def. 4.1, with aNRW_n for aGF_n
                let round = [aNRW]; same(BARRIER_AND_ROUND); [aCR];
                say round = "{b} ends after {a} has begun: they are one round";
                so = round;
            },
        }
    }
}

impl Hints for Bal {
    fn equivariance(&self) -> Equivariance {
        Equivariance::DataIndependent
    }
}

/// The barrier of a call, and how often its thread has come to it before.
const BARRIER_AND_ROUND: Key = Key::by("barrier_and_round", &[Argument(0), Count]);

/// The implementation over SV.
#[derive(Clone, Copy, Debug, Default)]
pub struct BalOverSv(pub Bal);

/// x_t.
fn flag(x: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("count", [t.into()])
}

/// y_t: the number of rounds of which t knows that all have begun.
fn known(x: impl Into<Expr>, t: impl Into<Expr>) -> Expr {
    x.into().part("known", [t.into()])
}

/// The bodies, with a fence of these nodes.
fn bodies_with(fenced: fn(Expr) -> Expr) -> Bodies {
    bodies! { Method:
        BAR { x } by members(x) => {
            Sv::gf(fenced(x));
            let v = Sv::read(flag(x, me()));
            Sv::write(flag(x, me()), v + 1);
            Sv::bcast(flag(x, me()), Val::NoWid, fenced(x).without(here()));
            for t in (members(x)) {
                loop { let seen = Sv::read(flag(x, t)); if (seen > v) { break } }
            }
        }
    }
}

/// The bodies for puts. On each node, the counter of a thread follows the thread's earlier puts there. So when a thread has seen
/// all counters, the others' earlier puts to its own node are placed. Its second counter says so to all.
///
/// The own node has a fence, while the first counter is under way. A broadcast cannot replace it: it would write what
/// is there already, so no read would show that it is over.
///
/// The wait keeps a late broadcast from sending the counter of the next round. By then all counters are there, so it
/// seldom lasts. No client within the bounds needs it, but the lemmas do: see `no-wait`.
fn two_passes() -> Bodies {
    let others = |x: Expr| nodes(members(x)).without(here());
    bodies! { Method:
        BAR { x } by members(x) => {
            let v = Sv::read(flag(x, me()));
            Sv::write(flag(x, me()), v + 1);
            Sv::bcast(flag(x, me()), x.wid("d"), others(x));
            Sv::gf(only(here()));
            for t in (members(x)) {
                loop { let seen = Sv::read(flag(x, t)); if (seen > v) { break } }
            }
            Sv::wait(x.wid("d"));
            Sv::write(known(x, me()), v + 1);
            Sv::bcast(known(x, me()), Val::NoWid, others(x));
            for t in (members(x)) {
                loop { let seen = Sv::read(known(x, t)); if (seen > v) { break } }
            }
        }
    }
}

impl Implementation for BalOverSv {
    fn target(&self) -> Name {
        Library::name(&self.0)
    }

    fn parts(&self) -> Option<&Parts> {
        Some(match self.0 {
            Bal::Plain | Bal::Transitive => parts! { static x =>
                for t in (members(x)) { flag(x, t) => ObjectTerm::new(SV); }
            },
            Bal::Puts => parts! { static x =>
                for t in (members(x)) {
                    flag(x, t) => ObjectTerm::new(SV);
                    known(x, t) => ObjectTerm::new(SV);
                }
            },
        })
    }

    /// LOCO Fig. 11. A thread that does not take part never returns.
    fn bodies(&self) -> Option<&Bodies> {
        static PLAIN: LazyLock<Bodies> = LazyLock::new(|| bodies_with(|x| nodes(members(x))));
        static TRANSITIVE: LazyLock<Bodies> = LazyLock::new(|| bodies_with(|_| all_nodes()));
        static PUTS: LazyLock<Bodies> = LazyLock::new(two_passes);
        Some(match self.0 {
            Bal::Plain => &PLAIN,
            Bal::Transitive => &TRANSITIVE,
            Bal::Puts => &PUTS,
        })
    }

    fn lemmas(&self) -> Vec<Lemma> {
        match self.0 {
            Bal::Plain | Bal::Transitive => lemmas_with_fence(),
            Bal::Puts => lemmas_for_puts(),
        }
    }
}

/// The invariant behind LOCO Theorem 4.2: the n-th call finds n in its thread's counter. A read of more than n from
/// a counter happens after the n-th call of its thread.
fn lemmas_with_fence() -> Vec<Lemma> {
    let (c, d, n, t) = (call("c"), call("d"), node("n"), thread("t"));
    let count = |c: LemmaVar| c.read(SV, "Read", 1);
    let counted = |d: LemmaVar| d.write(SV, "Write", 1);
    let sent: Of = c.read(SV, "Bcast", 1).at(n);
    let seen: Of = c.read(SV, "Read", 2).at(t);
    vec![
        Lemma::new("the n-th call finds n in its counter").about(&[c]).then(value(count(c)).is(index(c))).along_po(c),
        Lemma::new("what is sent is a number").about(&[c, n]).then(is_number(sent)),
        Lemma::new("what is seen is a number").about(&[c, t]).then(is_number(seen)),
        Lemma::new("who sends more than n comes after the n-th call")
            .about(&[c, d, n])
            .given(d.on(c))
            .given(d.same_object(c))
            .given(value(sent).exceeds(index(d)))
            .then(hb(counted(d), sent)),
        Lemma::new("who sees more than n comes after the n-th call")
            .about(&[c, d, t])
            .given(d.on(t))
            .given(d.on(c).negated())
            .given(d.same_object(c))
            .given(value(seen).exceeds(index(d)))
            .then(hb(counted(d), seen)),
    ]
}

/// The invariant of the barrier for puts, in addition to that of the published one. A read of more than n from a first counter
/// happens after the broadcast of the n-th call is placed there. With a second counter
/// it happens after the broadcasts of all n-th calls are placed on the node of that counter's thread.
fn lemmas_for_puts() -> Vec<Lemma> {
    let (c, d, [n, m], [t, u]) = (call("c"), call("d"), ["n", "m"].map(node), ["t", "u"].map(thread));
    let count = |c: LemmaVar| c.read(SV, "Read", 1);
    let [counted, known] = [1, 2].map(|nth| move |d: LemmaVar| d.write(SV, "Write", nth));
    let [sent, known_sent] = [1, 2].map(|nth| c.read(SV, "Bcast", nth));
    let [seen, known_seen] = [2, 3].map(|nth| c.read(SV, "Read", nth));
    let placed = d.write(SV, "Bcast", 1).at(n);
    let about = |words, of: &[LemmaVar]| Lemma::new(words).about(of).given(d.same_object(c));
    vec![
        Lemma::new("the n-th call finds n in its counter").about(&[c]).then(value(count(c)).is(index(c))).along_po(c),
        Lemma::new("a sent count is a number").about(&[c, n]).then(is_number(sent.at(n))),
        Lemma::new("a seen count is a number").about(&[c, t]).then(is_number(seen.at(t))),
        Lemma::new("a sent second count is a number").about(&[c, n]).then(is_number(known_sent.at(n))),
        Lemma::new("a seen second count is a number").about(&[c, t]).then(is_number(known_seen.at(t))),
        about("who sends more than n comes after the n-th call", &[c, d, n])
            .given(d.on(c))
            .given(value(sent.at(n)).exceeds(index(d)))
            .then(hb(counted(d), sent.at(n))),
        about("who sends a second count of more than n has ended the first wait of the n-th call", &[c, d, n])
            .given(d.on(c))
            .given(value(known_sent.at(n)).exceeds(index(d)))
            .then(hb(known(d), known_sent.at(n))),
        about("who sees a second count of more than n comes after the first wait of the n-th call", &[c, d, t])
            .given(d.on(t))
            .given(d.on(c).negated())
            .given(value(known_seen.at(t)).exceeds(index(d)))
            .then(hb(known(d), known_seen.at(t))),
        about("who sees more than n comes after what the n-th call sends to its node", &[c, d, n, t])
            .given(d.on(t))
            .given(d.on(c).negated())
            .given(c.on(n))
            .given(value(seen.at(t)).exceeds(index(d)))
            .then(hb(placed, seen.at(t))),
        about(
            "who sends a second count of more than n comes after what the n-th call sends to its node",
            &[c, d, n, m],
        )
        .given(d.on(c).negated())
        .given(c.on(n))
        .given(value(known_sent.at(m)).exceeds(index(d)))
        .then(hb(placed, known_sent.at(m))),
        about("who sees a second count of more than n comes after what the n-th call sends there", &[c, d, n, u])
            .given(c.on(u).negated())
            .given(u.on(n))
            .given(value(known_seen.at(u)).exceeds(index(d)))
            .then(hb(placed, known_seen.at(u))),
    ]
}

/// After its own count, waits until the others' counters are what its own one is.
fn exact_count(counted: &impl Edits) -> Bodies {
    bodies! { Method:
        BAR { x } => {
            counted.inlined(&Method::bar(BAL, x));
            let count = Sv::read(flag(x, me()));
            for t in (members(x)) {
                loop { let seen = Sv::read(flag(x, t)); if (seen == count) { break } }
            }
        }
    }
}

/// The sets of threads that can take part in an object.
pub(crate) fn member_sets(world: &World, bound: &Bound) -> impl Iterator<Item = Vec<Tid>> {
    let threads = world.threads.len();
    let most = bound.members.map_or(threads, |most| most.min(threads));
    let tids = world.tids().collect::<Vec<_>>();
    (1..=most).flat_map(move |count| tids.clone().into_iter().combinations(count))
}

impl Subject for Bal {
    /// Barriers among every non-empty set of threads.
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        let sets: Vec<Vec<Tid>> = member_sets(empty, bound).take_while(|_| !expired()).collect();
        let mut worlds = Vec::new();
        for count in 1..=bound.objects {
            for choice in sets.iter().combinations_with_replacement(count).take_while(|_| !expired()) {
                let mut world = empty.clone();
                for (name, members) in object_names(&["z", "y", "x"]).zip(choice) {
                    let object = Object::new(Library::name(self)).members(members);
                    world.objects.insert(name, object);
                }
                worlds.push(world);
            }
        }
        worlds
    }

    fn calls(&self, world: &World, thread: Tid, _: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let own = world.objects.iter().filter(|(_, o)| o.members.contains(&thread));
        own.map(|(&x, _)| Method::BAR { x }.call(Library::name(self))).collect()
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry(of: Bal) -> Entry {
    let variants = match of {
        Bal::Plain | Bal::Transitive => with_fences(BalOverSv(of)),
        Bal::Puts => for_puts(BalOverSv(of)),
    };
    Entry::new(Memory::rdma_wait(), of, Libraries::over(to).with(Sv), variants)
}

/// The variants of LOCO's barriers.
fn with_fences(published: BalOverSv) -> Vec<Variant> {
    use Expected::{Sound, Stuck, Unsound};
    // LOCO's first barrier (LOCO-X App. D).
    let no_fence = published.without(calls!(Sv::GF { .. }));
    // LOCO §4.2 gives a reason to exclude it.
    let self_broadcast = published.replace(calls!(Sv::Bcast { x, d, ns } => Sv::bcast(x, d, ns.with(here()))));
    let broadcast_first = published.swap(calls!(Sv::Write { .. }));
    // A later round has made them higher still.
    let counted = published.without_loops(calls!(Sv::Read { .. }));
    let exact_count = exact_count(&counted);
    let exact_count = counted.with("waits for one count", &exact_count);
    vec![
        variant("published", "LOCO §4.2", Sound, published, &[(3, 3, 2), (4, 4, 1), (2, 2, 3)]),
        variant("no-fence", "LOCO's first barrier: nothing waits for remote writes", Unsound, no_fence, &[(3, 3, 1)]),
        // Every counter is written twice with one value, so there are many executions.
        variant(
            "self-broadcast",
            "the broadcast includes the own node",
            Sound,
            self_broadcast,
            &[(3, 3, 1), (2, 2, 3)],
        ),
        variant(
            "broadcast-first",
            "the counter is broadcast before it is written: the old one may be what is sent",
            Stuck,
            broadcast_first,
            &[(2, 2, 2)],
        ),
        variant(
            "exact-count",
            "waits for a counter that a thread in a later round has already passed",
            Stuck,
            exact_count,
            &[(2, 2, 2)],
        ),
    ]
}

/// True for the second counters.
fn is_known(x: Expr) -> bool {
    matches!(x.term(), ExprTerm::Part(_, "known", _))
}

/// Says that all have begun before it has waited for them.
fn early(two_passes: &impl Edits) -> Bodies {
    bodies! { Method:
        BAR { x } => {
            let v = Sv::read(flag(x, me()));
            Sv::write(known(x, me()), v + 1);
            Sv::bcast(known(x, me()), Val::NoWid, nodes(members(x)).without(here()));
            two_passes.inlined(&Method::bar(BAL_PUTS, x));
        }
    }
}

/// The variants of the barrier for puts.
fn for_puts(two_passes: BalOverSv) -> Vec<Variant> {
    use Expected::{Sound, Unsound};
    let one_pass = two_passes.without_loops(calls!(Sv::Read { x } if is_known(x)));
    let no_fence = two_passes.without(calls!(Sv::GF { .. }));
    let no_wait = two_passes.without(calls!(Sv::Wait { .. }));
    let early = two_passes.with("the second counter is sent first", &early(&two_passes));
    let bounds = &[(3, 3, 2), (4, 4, 1), (2, 2, 3)];
    let about = "two passes over the network, in which counters follow puts";
    vec![
        variant("published", about, Sound, two_passes, bounds),
        variant("no-wait", "a broadcast may still be read when the next round begins", Sound, no_wait, bounds),
        variant("one-pass", "nobody hears that the puts of others have arrived", Unsound, one_pass, &[(3, 3, 1)]),
        variant("no-fence", "nothing waits for puts to the own node", Unsound, no_fence, &[(3, 3, 1)]),
        variant("early", "the second counter is sent before all first ones are seen", Unsound, early, &[(3, 3, 1)]),
    ]
}
