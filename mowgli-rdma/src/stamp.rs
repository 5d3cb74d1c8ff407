//! The stamps of RDMA and the stamp order `to` (SYNC Fig. 9; LOCO Fig. 10 is the same table without aNAR).

use std::fmt;

use mowgli_core::ids::Node;
use mowgli_core::stamp::{StampKind, StampKinds};
use mowgli_core::term::shape::Index;
use mowgli_core::value::Val;

/// A queue pair of a thread: the node that it leads to, and which of the thread's queue pairs to that node it is. The papers have
/// one to each node, the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Qp {
    /// The remote node.
    pub to: Node,
    /// From 1.
    pub number: u8,
}

impl Qp {
    /// In words, behind a preposition: `node 2 by queue pair 3`.
    #[must_use]
    pub fn in_words(self) -> String {
        let by = if self.number == 1 { String::new() } else { format!(" by queue pair {}", self.number) };
        format!("node {}{by}", self.to)
    }
}

/// The first to the node.
impl From<Node> for Qp {
    fn from(to: Node) -> Self {
        Self { to, number: 1 }
    }
}

/// Prints the node, and the number of any queue pair but the first: `2`, `2q3`.
impl fmt::Display for Qp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to.fmt(f)?;
        if self.number == 1 { Ok(()) } else { write!(f, "q{}", self.number) }
    }
}

/// The index of a stamp in its family, if an operation may have several words: the queue pair, and the word that the subevent
/// accesses. The order `to` ignores the word, because the words belong to one operation, and `ppo` is between operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StampIndex {
    /// The queue pair.
    pub by: Qp,
    /// The number of the word, from 0. Operations of the papers have one word.
    pub word: u8,
}

/// The first word.
impl From<Qp> for StampIndex {
    fn from(by: Qp) -> Self {
        Self { by, word: 0 }
    }
}

/// The first word, by the first queue pair to the node.
impl From<Node> for StampIndex {
    fn from(to: Node) -> Self {
        Qp::from(to).into()
    }
}

/// The node, and the number of the queue pair to it if it is not the first.
impl Index for Qp {
    fn of(parts: &[Val]) -> Self {
        StampIndex::of(parts).by
    }
}

/// The node, the number of the queue pair to it and that of the word; without them, the first.
impl Index for StampIndex {
    fn of(parts: &[Val]) -> Self {
        let number = |v: &Val| v.int().and_then(|n| u8::try_from(n).ok());
        let part = |at: usize, first: u8| parts.get(at).map_or(Some(first), number);
        match (parts.first(), part(1, 1), part(2, 0)) {
            (Some(Val::Node(to)), Some(number), Some(word)) => Self { by: Qp { to: *to, number }, word },
            _ => panic!("the index of a stamp is a node, a queue pair and a word, and not {parts:?}"),
        }
    }
}

/// The queue pair, and of another than the first word its number: `2`, `2[1]`.
impl fmt::Display for StampIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.by.fmt(f)?;
        if self.word == 0 { Ok(()) } else { write!(f, "[{}]", self.word) }
    }
}

/// A stamp, under the paper's name. The families have one member for each queue pair; where there is one to each node, for each
/// node, the *remote* one of the operation. What reads and writes for puts and gets has one for each word too.
#[allow(non_camel_case_types, reason = "the papers' names")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RdmaStamp {
    /// CPU read.
    aCR,
    /// CPU write.
    aCW,
    /// CPU read-modify-write.
    aCAS,
    /// Memory fence.
    aMF,
    /// Wait.
    aWT,
    /// NIC local read: the first part of a put.
    aNLR(StampIndex),
    /// NIC remote write: the second part of a put.
    aNRW(StampIndex),
    /// NIC atomic read: the first part of a remote read-modify-write.
    aNAR(Qp),
    /// NIC remote read: the first part of a get.
    aNRR(StampIndex),
    /// NIC local write: the second part of a get.
    aNLW(StampIndex),
    /// Remote fence.
    aRF(Qp),
    /// Global fence.
    aGF(Qp),
    /// NIC message: it arrives at the remote node. The papers have none.
    aNMW(Qp),
}

use RdmaStamp::{aCAS, aCR, aCW, aGF, aMF, aNAR, aNLR, aNLW, aNMW, aNRR, aNRW, aRF, aWT};

/// The table, rows earlier, columns later, in the order of the declaration. `S`: on the same queue pair only. The row and the
/// column of aNMW are those of aNRW.
const TABLE: [&str; 13] = [
    "YYYYYYYYYYYYY", // aCR
    "-YYY-YYYYYYYY", // aCW
    "YYYYYYYYYYYYY", // aCAS
    "YYYYYYYYYYYYY", // aMF
    "YYYYYYYYYYYYY", // aWT
    "-----SSSSSSSS", // aNLR
    "------SSSS-SS", // aNRW
    "------SSSSSSS", // aNAR
    "---------SSS-", // aNRR
    "---------S-S-", // aNLW
    "-----SSSSSSSS", // aRF
    "YYYYYYYYYYYYY", // aGF
    "------SSSS-SS", // aNMW
];

/// The papers' names, in the order of the declaration.
const NAMES: [&str; 13] =
    ["aCR", "aCW", "aCAS", "aMF", "aWT", "aNLR", "aNRW", "aNAR", "aNRR", "aNLW", "aRF", "aGF", "aNMW"];

impl RdmaStamp {
    pub(crate) fn row(self) -> usize {
        match self {
            aCR => 0,
            aCW => 1,
            aCAS => 2,
            aMF => 3,
            aWT => 4,
            aNLR(_) => 5,
            aNRW(_) => 6,
            aNAR(_) => 7,
            aNRR(_) => 8,
            aNLW(_) => 9,
            aRF(_) => 10,
            aGF(_) => 11,
            aNMW(_) => 12,
        }
    }

    /// The queue pair of a member of a family.
    #[must_use]
    pub fn queue_pair(self) -> Option<Qp> {
        match self {
            aNLR(p) | aNRW(p) | aNRR(p) | aNLW(p) => Some(p.by),
            aNAR(q) | aRF(q) | aGF(q) | aNMW(q) => Some(q),
            aCR | aCW | aCAS | aMF | aWT => None,
        }
    }

    /// Returns the number of the word of its operation, for a stamp of a read or a write of the card.
    #[must_use]
    pub fn word(self) -> Option<u8> {
        match self {
            aNLR(p) | aNRW(p) | aNRR(p) | aNLW(p) => Some(p.word),
            aNAR(_) | aNMW(_) => Some(0),
            aCR | aCW | aCAS | aMF | aWT | aRF(_) | aGF(_) => None,
        }
    }

    /// The member of the same family for a queue pair.
    #[must_use]
    pub fn by(self, q: Qp) -> Self {
        match self {
            aNLR(p) => aNLR(StampIndex { by: q, ..p }),
            aNRW(p) => aNRW(StampIndex { by: q, ..p }),
            aNAR(_) => aNAR(q),
            aNRR(p) => aNRR(StampIndex { by: q, ..p }),
            aNLW(p) => aNLW(StampIndex { by: q, ..p }),
            aRF(_) => aRF(q),
            aGF(_) => aGF(q),
            aNMW(_) => aNMW(q),
            aCR | aCW | aCAS | aMF | aWT => self,
        }
    }

    /// The node of a member of a family.
    #[must_use]
    pub fn node(self) -> Option<Node> {
        self.queue_pair().map(|q| q.to)
    }

    /// Whether it takes effect at once: all but the writes that are buffered (`Inst`, SYNC §3.2).
    #[must_use]
    pub fn is_instantaneous(self) -> bool {
        !matches!(self, aCW | aNLW(_) | aNRW(_) | aNMW(_))
    }
}

/// The stamp order `to` of RDMA.
#[must_use]
pub fn to(earlier: RdmaStamp, later: RdmaStamp) -> bool {
    match TABLE[earlier.row()].as_bytes()[later.row()] {
        b'Y' => true,
        b'S' => earlier.queue_pair() == later.queue_pair(),
        _ => false,
    }
}

/// Iterates over the members of all families for a queue pair to each node, and a word.
fn of_families(nodes: u8, number: u8, word: u8) -> impl Iterator<Item = RdmaStamp> {
    let first = StampIndex { word, ..StampIndex::from(Node(1)) };
    let q = first.by;
    let families = [aNLR(first), aNRW(first), aNAR(q), aNRR(first), aNLW(first), aRF(q), aGF(q), aNMW(q)];
    families.into_iter().flat_map(move |family| (1..=nodes).map(move |n| family.by(Qp { to: Node(n), number })))
}

static KINDS: StampKinds = StampKinds::of::<RdmaStamp>();

impl StampKind for RdmaStamp {
    fn kinds() -> &'static StampKinds {
        &KINDS
    }

    /// Four bytes: the row of the table, the node, the queue pair to it and the word, both from 0.
    fn number(self) -> u32 {
        let q = self.queue_pair().unwrap_or(Qp { to: Node(0), number: 1 });
        u32::from_be_bytes([self.row() as u8, q.to.0, q.number - 1, self.word().unwrap_or(0)])
    }

    fn numbered(number: u32) -> Self {
        let [row, to, others, word] = number.to_be_bytes();
        let by = Qp { to: Node(to), number: others.saturating_add(1) };
        let piece = StampIndex { by, word };
        match row {
            0 => aCR,
            1 => aCW,
            2 => aCAS,
            3 => aMF,
            4 => aWT,
            5 => aNLR(piece),
            6 => aNRW(piece),
            7 => aNAR(by),
            8 => aNRR(piece),
            9 => aNLW(piece),
            10 => aRF(by),
            11 => aGF(by),
            12 => aNMW(by),
            _ => panic!("there are thirteen rows, and none has the number {row}"),
        }
    }

    /// Returns the stamps of the first queue pair to each node, without those of messages, which only the switch `messages`
    /// has. A stamp of another queue pair, word or kind is in [`Self::beside`] of the stamps of a question.
    fn all(nodes: u8) -> Vec<Self> {
        let mut all = vec![aCR, aCW, aCAS, aMF, aWT];
        all.extend(of_families(nodes, 1, 0).filter(|stamp| !matches!(stamp, aNMW(_))));
        all
    }

    /// Returns the stamps of the same queue pair and word, for each node.
    fn beside(self, nodes: u8) -> Vec<Self> {
        let (number, word) = (self.queue_pair().map_or(1, |q| q.number), self.word().unwrap_or(0));
        let is_usual = number == 1 && word == 0 && !matches!(self, aNMW(_));
        if is_usual { Vec::new() } else { of_families(nodes, number, word).collect() }
    }

    fn named(name: &str) -> Option<Self> {
        let (family, piece) = name.split_once('_').unwrap_or((name, "0"));
        let (queue_pair, word) = piece.strip_suffix(']').and_then(|p| p.split_once('[')).unwrap_or((piece, "0"));
        let (to, number) = queue_pair.split_once('q').unwrap_or((queue_pair, "1"));
        let by = Qp { to: Node(to.parse().ok()?), number: number.parse().ok()? };
        let row = NAMES.iter().position(|known| *known == family)?;
        let stamp =
            Self::numbered(u32::from_be_bytes([row as u8, by.to.0, by.number.checked_sub(1)?, word.parse().ok()?]));
        (stamp.to_string() == name).then_some(stamp)
    }

    fn renamed(self, node: &dyn Fn(Node) -> Node) -> Self {
        self.queue_pair().map_or(self, |q| self.by(Qp { to: node(q.to), ..q }))
    }

    fn target(self) -> Option<Node> {
        self.node()
    }

    fn channel(self) -> Option<u8> {
        self.queue_pair().map(|q| q.number)
    }

    fn about(self) -> String {
        let by = match self.queue_pair() {
            Some(Qp { number: number @ 2.., .. }) => format!(", by queue pair {number}"),
            _ => String::new(),
        };
        let word = match self.word() {
            Some(word @ 1..) => format!(", word {word}"),
            _ => String::new(),
        };
        let about = match self {
            aCR => "the CPU reads".to_owned(),
            aCW => "the CPU writes".to_owned(),
            aCAS => "the CPU reads and writes at once".to_owned(),
            aMF => "a memory fence of the CPU".to_owned(),
            aWT => "the CPU waits for the network card".to_owned(),
            aNLR(StampIndex { by: Qp { to: n, .. }, .. }) => format!("the network card reads here, for node {n}"),
            aNRW(StampIndex { by: Qp { to: n, .. }, .. }) => format!("the network card writes on node {n}"),
            aNAR(Qp { to: n, .. }) => format!("the network card reads on node {n}, for an atomic operation"),
            aNRR(StampIndex { by: Qp { to: n, .. }, .. }) => format!("the network card reads on node {n}"),
            aNLW(StampIndex { by: Qp { to: n, .. }, .. }) => {
                format!("the network card writes here what came from node {n}")
            }
            aRF(Qp { to: n, .. }) => format!("a fence of what goes to node {n}"),
            aGF(Qp { to: n, .. }) => format!("all that went to node {n} before is over"),
            aNMW(Qp { to: n, .. }) => format!("a message arrives at node {n}"),
        };
        about + &by + &word
    }
}

impl fmt::Display for RdmaStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES[self.row()])?;
        match *self {
            aNLR(p) | aNRW(p) | aNRR(p) | aNLW(p) => write!(f, "_{p}"),
            aNAR(q) | aRF(q) | aGF(q) | aNMW(q) => write!(f, "_{q}"),
            aCR | aCW | aCAS | aMF | aWT => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_ordered_on_one_node_only() {
        assert!(to(aNRW(Node(1).into()), aNRR(Node(1).into())));
        assert!(!to(aNRW(Node(1).into()), aNRR(Node(2).into())));
        assert!(!to(aNRW(Node(1).into()), aRF(Node(1).into())));
        assert!(to(aGF(Node(1).into()), aNRR(Node(2).into())));
        assert!(!to(aNRW(Node(1).into()), aGF(Node(2).into())));
        assert!(!to(aCW, aCR));
    }

    #[test]
    fn queue_pairs_to_one_node_are_as_those_to_two() {
        let second = |a: RdmaStamp| a.queue_pair().map_or(a, |q| a.by(Qp { number: 2, ..q }));
        for (a, b) in RdmaStamp::all(1).into_iter().flat_map(|a| RdmaStamp::all(1).into_iter().map(move |b| (a, b))) {
            let elsewhere = b.renamed(&|_| Node(2));
            assert_eq!(to(a, second(b)), to(a, elsewhere), "{a} {b}");
            assert_eq!(to(second(b), a), to(elsewhere, a), "{b} {a}");
            assert_eq!(to(second(a), second(b)), to(a, b), "{a} {b}");
        }
        assert_eq!(second(aNRW(Node(2).into())).to_string(), "aNRW_2q2");
    }

    #[test]
    fn words_of_one_operation_are_ordered_with_others_as_one() {
        let second = |a: RdmaStamp| match a {
            aNLR(p) => aNLR(StampIndex { word: 1, ..p }),
            aNRW(p) => aNRW(StampIndex { word: 1, ..p }),
            aNRR(p) => aNRR(StampIndex { word: 1, ..p }),
            aNLW(p) => aNLW(StampIndex { word: 1, ..p }),
            other => other,
        };
        for (a, b) in RdmaStamp::all(2).into_iter().flat_map(|a| RdmaStamp::all(2).into_iter().map(move |b| (a, b))) {
            assert_eq!(to(a, second(b)), to(a, b), "{a} {b}");
            assert_eq!(to(second(a), b), to(a, b), "{a} {b}");
        }
        let word = StampIndex { by: Qp { to: Node(2), number: 3 }, word: 1 };
        assert_eq!(aNRW(word).to_string(), "aNRW_2q3[1]");
        assert!(aNRW(word).about().ends_with("on node 2, by queue pair 3, word 1"));
    }

    #[test]
    fn stamps_are_ordered_by_their_numbers() {
        let second = |a: RdmaStamp| a.queue_pair().map_or(a, |q| a.by(Qp { number: 2, ..q }));
        let mut all: Vec<RdmaStamp> = RdmaStamp::all(9).into_iter().flat_map(|a| [a, second(a)]).collect();
        all.push(aNRW(StampIndex { by: Qp { to: Node(2), number: 3 }, word: 1 }));
        all.sort();
        assert!(all.is_sorted_by_key(|a| a.number()));
        assert!(all.iter().all(|a| RdmaStamp::numbered(a.number()) == *a));
        assert!(all.iter().all(|a| RdmaStamp::named(&a.to_string()) == Some(*a)));
        assert!(
            ["aNRW", "aNRW_", "aNRW_2q0", "aNRW_2q1", "aCR_1", "x"].iter().all(|name| RdmaStamp::named(name).is_none())
        );
    }

    /// SYNC Fig. 9 as it is printed, rows earlier, columns later: Y ordered, - not, SN where the nodes are equal.
    const FIG_9: &str = "
               aCR aCW aCAS aMF aWT aNLR aNRW aNAR aNRR aNLW aRF aGF
          aCR   Y   Y   Y    Y   Y   Y    Y    Y    Y    Y    Y   Y
          aCW   -   Y   Y    Y   -   Y    Y    Y    Y    Y    Y   Y
          aCAS  Y   Y   Y    Y   Y   Y    Y    Y    Y    Y    Y   Y
          aMF   Y   Y   Y    Y   Y   Y    Y    Y    Y    Y    Y   Y
          aWT   Y   Y   Y    Y   Y   Y    Y    Y    Y    Y    Y   Y
          aNLR  -   -   -    -   -   SN   SN   SN   SN   SN   SN  SN
          aNRW  -   -   -    -   -   -    SN   SN   SN   SN   -   SN
          aNAR  -   -   -    -   -   -    SN   SN   SN   SN   SN  SN
          aNRR  -   -   -    -   -   -    -    -    -    SN   SN  SN
          aNLW  -   -   -    -   -   -    -    -    -    SN   -   SN
          aRF   -   -   -    -   -   SN   SN   SN   SN   SN   SN  SN
          aGF   Y   Y   Y    Y   Y   Y    Y    Y    Y    Y    Y   Y";

    /// The stamp with a name as in the figure, of a family the member for this node.
    fn named(name: &str, node: u8) -> RdmaStamp {
        let of_cpu = [("aCR", aCR), ("aCW", aCW), ("aCAS", aCAS), ("aMF", aMF), ("aWT", aWT)];
        let words = [("aNLR", aNLR as fn(StampIndex) -> RdmaStamp), ("aNRW", aNRW), ("aNRR", aNRR), ("aNLW", aNLW)];
        let others = [("aNAR", aNAR as fn(Qp) -> RdmaStamp), ("aRF", aRF), ("aGF", aGF)];
        let words = words.map(|(name, family)| (name, family(Node(node).into())));
        let others = others.map(|(name, family)| (name, family(Node(node).into())));
        let mut all = of_cpu.into_iter().chain(words).chain(others);
        all.find(|(known, _)| *known == name).expect("a stamp").1
    }

    #[test]
    fn to_is_the_table_of_the_paper() {
        let mut lines = FIG_9.lines().skip(1).map(str::split_whitespace);
        let columns: Vec<&str> = lines.next().expect("a head").collect();
        let mut ordered = 0;
        for mut row in lines {
            let earlier = row.next().expect("a name");
            let cells: Vec<&str> = row.collect();
            assert_eq!(cells.len(), 12, "{earlier}");
            for (later, cell) in columns.iter().zip(cells) {
                let to = |n| to(named(earlier, 1), named(later, n));
                let expected = match cell {
                    "Y" => (true, true),
                    "SN" => (true, false),
                    "-" => (false, false),
                    other => panic!("{other} in the row of {earlier}"),
                };
                assert_eq!((to(1), to(2)), expected, "{earlier} before {later}, on one node and on two");
                ordered += usize::from(expected.0);
            }
        }
        assert_eq!((columns.len(), ordered), (12, 100));
    }

    #[test]
    fn stamps_have_the_names_of_the_paper() {
        assert_eq!(RdmaStamp::all(2).len(), 5 + 2 * 7);
        for a in RdmaStamp::all(2) {
            let text = a.to_string();
            let (name, node) = text.split_once('_').unwrap_or((&text, "1"));
            assert_eq!(named(name, node.parse().expect("a node")), a);
        }
    }
}
