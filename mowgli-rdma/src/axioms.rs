//! The axioms of RDMA-WAIT-RMW (SYNC §3.2, Def. 3), as a record of named relations.
//!
//! [`published`] is the definition as it is printed. Other models are this record with some relations changed: RDMA-TSO-RMW
//! ([`rmw`]), each [`Network`](crate::Network), and each switch of [`Switches`](crate::Switches), in a file of its own. [`Axioms::spec`] then
//! derives `ib` and `so`, which are the same unions for all of them.

use mowgli_core::algebra::{Rel, Set, Spec, rel, set, spec, stamps};
use mowgli_core::ids::Node;

use crate::stamp::RdmaStamp::{self, aCR, aCW, aMF, aNAR, aNLR, aNLW, aNRR, aNRW, aRF, aWT};
use crate::stamp::StampIndex;
use crate::way::{QUEUE_PAIR, TARGET, WORDS};

pub(crate) mod addresses;
pub(crate) mod crashes;
pub(crate) mod global;
pub(crate) mod network;
pub(crate) mod rmw;
pub(crate) mod unsignalled;
pub(crate) mod ways;

/// The relations of Def. 3 by their names there.
pub(crate) struct Axioms {
    /// The choices of an execution, with what else is demanded of it.
    pub spec: Spec,
    pub rf: Rel,
    pub mo: Rel,
    pub rb: Rel,
    pub nfo: Rel,
    pub rao: Rel,
    pub rf_e: Rel,
    pub rb_i: Rel,
    pub pfg: Rel,
    pub pfp: Rel,
    pub iso: Rel,
    pub ippo: Rel,
    /// Parts of `ib` beyond those of Def. 3, with their names.
    pub more_ib: Vec<(&'static str, Rel)>,
    /// Parts of `so` beyond those of Def. 3.
    pub more_so: Vec<Rel>,
    /// Pairs that `ib` must not have: a name, and from what to what.
    pub never: Vec<(&'static str, Set, Set)>,
}

/// The axioms as published, but for the pairs of nfo at the remote node. `awaited` relates an operation to the waits, or
/// polls, that complete it. `atomic_reads` are those that rao orders: the aNAR, or none (LOCO-X App. H.6). `far_reads` push
/// the writes that arrived before them into memory: [`far_reads`], or fewer on some networks ([`network::flushing`]).
pub(crate) fn published(awaited: &Rel, atomic_reads: Set, far_reads: Set) -> Axioms {
    let mut spec = Spec::default();
    spec! { spec =>
        // rf <= W x R; mo total on the writes of each location; rb = (rf^-1; mo) u (reads of the initial value)
        let rf, mo, rb = coherence;
        // nfo: for each thread and node, aNLR x aNLW and (aNRR u aNAR) x aNRW, one way or the other
        let nfo = orient((aNLR * aNLW | far_reads * aNRW) & same(QUEUE_PAIR));
        // rao: a strict total order on the atomic reads of each node
        let rao = order(atomic_reads, TARGET);
        let rf_e = rf - ([aCW]; po; [aCR]);
        let rb_i = [aCR]; rb & (po | po^-1); [aCW];
        let pfg = [aNLW]; awaited; [aWT];
        let pfp = [aNRW]; awaited; [aWT];
        // within one event
        let iso = [aMF]; same_event; [aCR]
            | each_word(aNRR, aNLW)
            | each_word(aNLR, aNRW)
            | [aNAR]; same_event; [aNRW | aNLW];
        let ippo = ppo
            | [aCW]; po; [aCR | aWT]
            | [aNRW | aNLW]; po & same(QUEUE_PAIR); [aRF];
        say nfo = "the network card does {a} before {b}: reads and writes do not pass each other there";
        say rao = "the atomic read of {a} comes before that of {b}";
        say rf_e as rf = "{b} read {b reads}, which {a} wrote";
        say rb_i as rb = "{a} read {a reads}, before {b} wrote";
        say pfg = "{b} waits for {a}";
        say pfp = "{b} waits until {a} was sent";
        say iso = "{a} reads before it writes";
    }
    let ippo = issued(ippo);
    let (more_ib, more_so, never) = Default::default();
    Axioms { spec, rf, mo, rb, nfo, rao, rf_e, rb_i, pfg, pfp, iso, ippo, more_ib, more_so, never }
}

impl Axioms {
    /// The parts of `ib`, by name.
    pub fn ib_parts(&self) -> Vec<(&'static str, Rel)> {
        let Self { ippo, iso, rf, pfg, pfp, nfo, rb_i, .. } = self;
        let published = [ippo, iso, rf, pfg, pfp, nfo, rb_i].map(Rel::clone);
        let names = ["ippo", "iso", "rf", "pfg", "pfp", "nfo", "rb_i"];
        names.into_iter().zip(published).chain(self.more_ib.iter().cloned()).collect()
    }

    /// Demands that `ib` is irreflexive, and adds `so`. `without` names a part to leave out of `ib`, to show its
    /// purpose.
    pub fn spec(self, without: Option<&'static str>) -> Spec {
        let instantaneous = stamps(RdmaStamp::is_instantaneous);
        // ib = (ippo u iso u rf u pfg u pfp u nfo u rb_i)+
        let parts = self.ib_parts().into_iter().filter(|(name, _)| Some(*name) != without).map(|(_, part)| part);
        let ib = parts.reduce(|all, part| all | part).expect("seven parts, and one is left out").plus();
        let Self { spec: mut c, iso, rf_e, pfg, nfo, rb, mo, rao, more_so, never, .. } = self;
        c.irreflexive("ib", &ib);
        for (name, from, to) in never {
            c.empty(name, &rel!([from]; ib; [to]));
        }
        // so = iso u rf_e u pfg u nfo u rb u mo u rao u ([aNRW]; iso^-1; rao) u ([Inst]; ib)
        spec! { c =>
            let atomic = [aNRW]; iso^-1; rao;
            say atomic = "{a} is over before {b} begins: remote updates of one node exclude each other";
            so = iso | rf_e | pfg | nfo | rb | mo | rao | atomic;
        }
        c.so_of_paths("ib", &rel!([instantaneous]; ib));
        c.so(&more_so);
        c
    }
}

/// The atomic reads that rao orders in RDMA-WAIT-RMW: all.
pub(crate) fn atomic_reads() -> Set {
    set!(aNAR)
}

/// The reads at the remote node, which all push writes as published.
pub(crate) fn far_reads() -> Set {
    set!(aNAR | aNRR)
}

/// Program order on one queue pair.
fn in_order() -> Rel {
    rel!(po & same(QUEUE_PAIR))
}

/// A relation as `ippo`, with its name and sentence.
fn issued(ippo: Rel) -> Rel {
    ippo.named("ippo", "{a} is issued before {b} in its thread")
}

/// Pairs within one event, for each word of its operation.
fn each_word(from: StampFamily, to: StampFamily) -> Rel {
    words_to_words((0..WORDS).map(|word| (word, word)), &[from], &[to])
}

/// A family of stamps.
type StampFamily = fn(StampIndex) -> RdmaStamp;

/// Pairs within one event, from the first to the second of each of these pairs of words.
fn words_to_words(words: impl Iterator<Item = (usize, usize)>, from: &[StampFamily], to: &[StampFamily]) -> Rel {
    let of = |word: usize, families: &[StampFamily]| {
        let rows: Vec<usize> = families.iter().map(|family| family(Node(1).into()).row()).collect();
        stamps(move |a: RdmaStamp| rows.contains(&a.row()) && a.word().map(usize::from) == Some(word))
    };
    let all = words.map(|(a, b)| {
        let (from, to) = (of(a, from), of(b, to));
        rel!([from]; same_event; [to])
    });
    all.reduce(|all, next| all | next).expect("an operation may have several words")
}

#[cfg(test)]
mod tests {
    use mowgli_core::cat::cat;
    use mowgli_core::library::Libraries;

    use super::{atomic_reads, far_reads, published};
    use crate::stamp::to;
    use crate::wait::{WAIT, Wait, awaited};

    /// SYNC §3.2, Def. 3, in cat: `&` for n, `|` for u, and po on the subevents of one queue pair for U_n.
    const PUBLISHED: &str = "\
let nfo-pairs = ((aNLR * aNLW) | ((aNAR | aNRR) * aNRW)) & same-queue-pair
let rao = rao-line & same-target
let ippo = ppo | [aCW]; po; [aCR | aWT] | [aNRW | aNLW]; po & same-queue-pair; [aRF]
let iso = [aMF]; same-event; [aCR] | [aNRR]; same-event; [aNLW] | [aNLR]; same-event; [aNRW] | [aNAR]; same-event; [aNRW | aNLW]
let pfg = [aNLW]; po & same-wid; [aWT]
let pfp = [aNRW]; po & same-wid; [aWT]
let rb = (rf^-1; mo | ((R \\ range(rf)) * W) & loc) \\ id
let rb-i = [aCR]; rb & (po | po^-1); [aCW]
let ib = (ippo | iso | rf | pfg | pfp | nfo | rb-i)+
let rf-e = rf \\ ([aCW]; po; [aCR])
let atomic = [aNRW]; iso^-1; rao
let ib-2 = [_ \\ (aCW | aNRW | aNLW)]; ib
let so = iso | rf-e | pfg | nfo | rb | mo | rao | atomic | ib-2
irreflexive ib as ib";

    #[test]
    fn the_axioms_are_those_of_the_paper() {
        let axioms = || published(&awaited(), atomic_reads(), far_reads());
        let as_published = Libraries::over(to).with(Wait).respecified(WAIT, |spec| *spec = axioms().spec(None));
        let text = cat("RDMA_WAIT", &as_published, WAIT).unwrap();
        let is_of_ours = |line: &&str| PUBLISHED.lines().any(|known| known == *line);
        let found: Vec<&str> = text.lines().filter(is_of_ours).collect();
        assert_eq!(found.join("\n"), PUBLISHED, "{text}");
        // The other lines: the vocabulary of cat, ppo, hb, and the way in which cat chooses nfo and rao.
        let rest = ["let W", "let rf ", "let co", "let ppo", "let mo", "with ", "let nfo ", "let hb", "irreflexive hb"];
        let others = text.lines().skip_while(|line| !line.starts_with("let W")).filter(|line| !is_of_ours(line));
        let unknown: Vec<&str> = others
            .filter(|line| !line.is_empty() && !line.starts_with("  |"))
            .filter(|line| !rest.iter().any(|start| line.starts_with(start)))
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
