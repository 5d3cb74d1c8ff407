//! Whether the libraries of a program keep values from coming out of nowhere.
//!
//! [`crate::flow`] lets a thread go on when its result can have been written by what is there. It misses no execution if
//! in each some thread that has not ended can go on so. Otherwise each would wait for a write that comes after what
//! another one waits for: a cycle of program order from a call to a later write, of reads-from, and of copies from what
//! an operation reads to what it writes. So it is enough that one relation that has no cycle, as hb, contains these
//! three. That is read off the specifications, for every stamp that a write may have.

use std::collections::BTreeSet;

use crate::algebra::{Choice, Demand, Expr, Members, Rel, Set, Spec};
use crate::event::{Shape, Writes};
use crate::library::Libraries;
use crate::stamp::Stamp;

/// The stamps that matter, of what the threads have done.
#[derive(Clone, Debug)]
pub struct Seen<S> {
    /// Of subevents that read.
    pub reads: BTreeSet<S>,
    /// Of those among them that tell a result.
    pub results: BTreeSet<S>,
    /// Of a subevent that reads, and of another one of its call that writes what depends on it.
    pub copies: BTreeSet<(S, S)>,
}

impl<S: Stamp> Default for Seen<S> {
    fn default() -> Self {
        Self { reads: BTreeSet::new(), results: BTreeSet::new(), copies: BTreeSet::new() }
    }
}

impl<S: Stamp> Seen<S> {
    /// Adds a call that happened in this shape; `looked`: memory told its result.
    pub fn add(&mut self, shape: &Shape<S>, looked: bool) {
        let reads = || shape.iter().enumerate().filter(|(_, s)| s.reads.is_some());
        self.reads.extend(reads().map(|(_, s)| s.stamp));
        for (position, write) in shape.iter().enumerate() {
            match write.writes {
                Some(Writes::Copy(from) | Writes::Step(from)) if from != position => {
                    self.copies.insert((shape[from].stamp, write.stamp));
                }
                Some(_) if looked => {
                    let others = reads().filter(|(other, _)| *other != position);
                    self.copies.extend(others.map(|(_, read)| (read.stamp, write.stamp)));
                }
                _ => {}
            }
        }
        if looked {
            self.results.extend(reads().map(|(_, s)| s.stamp));
        }
    }
}

/// How two different subevents stand to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// In one thread, the first one earlier.
    Before,
    /// In one thread, the first one later.
    After,
    /// Of one event.
    OneEvent,
    /// In two threads.
    Apart,
}

/// Two subevents of which not more is known than this.
#[derive(Clone, Copy)]
struct Pair<S> {
    stamps: [S; 2],
    /// Whether the first one writes, the second one reads, and does so from the first one.
    rf: bool,
    stand: Stand,
}

impl<S: Stamp> Pair<S> {
    fn turned(self) -> Self {
        let stand = match self.stand {
            Stand::Before => Stand::After,
            Stand::After => Stand::Before,
            stand => stand,
        };
        Self { stamps: [self.stamps[1], self.stamps[0]], rf: false, stand }
    }
}

/// Whether no value comes out of nowhere, in executions whose threads have done what was seen, and go on in any way.
pub fn is_causal<S: Stamp>(libraries: &Libraries<S>, nodes: u8, seen: &Seen<S>) -> bool {
    let has_sources = |spec: &&Spec<S>| spec.choices.iter().any(|(_, c)| matches!(c, Choice::ReadsFrom { .. }));
    let specs: Vec<&Spec<S>> = libraries.names().filter_map(|n| libraries.spec(n)).filter(has_sources).collect();
    // A pair of rf, or of one event, is of one of them; it is not known of which.
    let in_so = |spec: &Spec<S>, pair| spec.so.iter().any(|(_, so)| must(libraries, spec, so, pair));
    let in_hb = |pair| is_ppo(libraries, pair) || specs.iter().all(|spec| in_so(spec, pair));
    if seen.results.is_empty() || all_pairs(nodes, seen).all(in_hb) {
        return true;
    }
    let [spec] = specs[..] else { return false };
    let without_cycles = spec.demands.iter().filter_map(|(_, demand, rel)| match (demand, rel.expr()) {
        (Demand::Irreflexive, Expr::Plus(of)) => Some(of),
        _ => None,
    });
    let mut without_cycles = without_cycles;
    without_cycles.any(|of| all_pairs(nodes, seen).all(|pair| must(libraries, spec, of, pair)))
}

/// The pairs of which a cycle of values out of nowhere consists.
fn all_pairs<S: Stamp>(nodes: u8, seen: &Seen<S>) -> impl Iterator<Item = Pair<S>> + '_ {
    let any = move || S::all(nodes).into_iter();
    let pair = |a: S, b: S, rf: bool, stand: Stand| Pair { stamps: [a, b], rf, stand };
    let later = seen.results.iter().flat_map(move |&r| any().map(move |w| pair(r, w, false, Stand::Before)));
    let rf = seen.reads.iter().flat_map(move |&r| {
        let stands = [Stand::After, Stand::OneEvent, Stand::Apart];
        any().flat_map(move |w| stands.map(|stand| pair(w, r, true, stand)))
    });
    // What a thread writes by itself is known; what it copies may not be.
    let writes = seen.copies.iter().map(|(_, w)| *w);
    let own = seen.reads.iter().flat_map(move |&r| writes.clone().map(move |w| pair(w, r, true, Stand::Before)));
    let copies = seen.copies.iter().map(move |&(r, w)| pair(r, w, false, Stand::OneEvent));
    later.chain(rf).chain(own).chain(copies)
}

fn is_ppo<S: Stamp>(libraries: &Libraries<S>, pair: Pair<S>) -> bool {
    pair.stand == Stand::Before && libraries.to(pair.stamps[0], pair.stamps[1])
}

/// Whether a relation has such a pair, whatever else there is.
fn must<S: Stamp>(libraries: &Libraries<S>, spec: &Spec<S>, rel: &Rel<S>, pair: Pair<S>) -> bool {
    let must = |rel: &Rel<S>, pair| must(libraries, spec, rel, pair);
    let [a, b] = pair.stamps;
    match rel.expr() {
        Expr::Po => pair.stand == Stand::Before,
        Expr::Ppo => is_ppo(libraries, pair),
        Expr::SameEvent => pair.stand == Stand::OneEvent,
        Expr::SameThread => pair.stand != Stand::Apart,
        Expr::Cross(p, q) => in_set(p, a, Role::first(pair)).0 && in_set(q, b, Role::second(pair)).0,
        Expr::Chosen(choice) => match &spec.choices[*choice].1 {
            Choice::ReadsFrom { reads, writes } => {
                pair.rf && in_set(writes, a, Role::Writes).0 && in_set(reads, b, Role::Reads).0
            }
            _ => false,
        },
        Expr::Union(p, q) => must(p, pair) || must(q, pair),
        Expr::Inter(p, q) => must(p, pair) && must(q, pair),
        Expr::Minus(p, q) => must(p, pair) && !may(libraries, spec, q, pair),
        Expr::Inverse(p) => must(p, pair.turned()),
        Expr::Plus(p) => must(p, pair),
        Expr::Seq(p, q) => match (p.expr(), q.expr()) {
            (Expr::On(set), _) => in_set(set, a, Role::first(pair)).0 && must(q, pair),
            (_, Expr::On(set)) => in_set(set, b, Role::second(pair)).0 && must(p, pair),
            _ => false,
        },
        Expr::Hb | Expr::Same(_) | Expr::InTurn(..) | Expr::On(_) | Expr::BeforeAny(_) => false,
    }
}

/// Whether a relation can have such a pair.
fn may<S: Stamp>(libraries: &Libraries<S>, spec: &Spec<S>, rel: &Rel<S>, pair: Pair<S>) -> bool {
    let may = |rel: &Rel<S>, pair| may(libraries, spec, rel, pair);
    let [a, b] = pair.stamps;
    match rel.expr() {
        Expr::Po => pair.stand == Stand::Before,
        Expr::Ppo => is_ppo(libraries, pair),
        Expr::SameEvent => pair.stand == Stand::OneEvent,
        Expr::SameThread => pair.stand != Stand::Apart,
        Expr::Cross(p, q) => in_set(p, a, Role::first(pair)).1 && in_set(q, b, Role::second(pair)).1,
        // The two are different.
        Expr::On(_) => false,
        Expr::Union(p, q) => may(p, pair) || may(q, pair),
        Expr::Inter(p, q) => may(p, pair) && may(q, pair),
        Expr::Minus(p, q) => may(p, pair) && !must(libraries, spec, q, pair),
        Expr::Inverse(p) => may(p, pair.turned()),
        _ => true,
    }
}

/// What is known of a subevent of a pair beside its stamp.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Writes,
    Reads,
    Some,
}

impl Role {
    fn first<S>(pair: Pair<S>) -> Self {
        if pair.rf { Self::Writes } else { Self::Some }
    }

    fn second<S>(pair: Pair<S>) -> Self {
        if pair.rf { Self::Reads } else { Self::Some }
    }
}

/// Whether a subevent of this stamp must be in a set, and whether it may be.
fn in_set<S: Stamp>(set: &Set<S>, stamp: S, role: Role) -> (bool, bool) {
    match set.members() {
        Members::All => (true, true),
        Members::Reads => (role == Role::Reads, true),
        Members::Writes => (role == Role::Writes, true),
        Members::Stamped(is) => (is(stamp), is(stamp)),
        Members::Where(..) => (false, true),
        Members::Either(sets) => {
            let (p, q) = (in_set(&sets.0, stamp, role), in_set(&sets.1, stamp, role));
            (p.0 || q.0, p.1 || q.1)
        }
    }
}
