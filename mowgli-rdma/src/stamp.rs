//! The stamps of RDMA and the stamp order `to` (SYNC Fig. 9; LOCO Fig. 10 is the same table without aNAR).

use std::fmt;

use mowgli_core::ids::Node;
use serde::{Deserialize, Serialize};

/// A stamp, under the paper's name. The families have one member for each node: the *remote* one of the operation.
#[allow(non_camel_case_types, reason = "the papers' names")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Stamp {
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
    aNLR(Node),
    /// NIC remote write: the second part of a put.
    aNRW(Node),
    /// NIC atomic read: the first part of a remote read-modify-write.
    aNAR(Node),
    /// NIC remote read: the first part of a get.
    aNRR(Node),
    /// NIC local write: the second part of a get.
    aNLW(Node),
    /// Remote fence.
    aRF(Node),
    /// Global fence.
    aGF(Node),
}

use Stamp::{aCAS, aCR, aCW, aGF, aMF, aNAR, aNLR, aNLW, aNRR, aNRW, aRF, aWT};

/// The table, rows earlier, columns later, in the order of the declaration. `S`: on the same node only.
const TABLE: [&str; 12] = [
    "YYYYYYYYYYYY", // aCR
    "-YYY-YYYYYYY", // aCW
    "YYYYYYYYYYYY", // aCAS
    "YYYYYYYYYYYY", // aMF
    "YYYYYYYYYYYY", // aWT
    "-----SSSSSSS", // aNLR
    "------SSSS-S", // aNRW
    "------SSSSSS", // aNAR
    "---------SSS", // aNRR
    "---------S-S", // aNLW
    "-----SSSSSSS", // aRF
    "YYYYYYYYYYYY", // aGF
];

impl Stamp {
    fn row(self) -> usize {
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
        }
    }

    /// The node of a member of a family.
    #[must_use]
    pub fn node(self) -> Option<Node> {
        match self {
            aNLR(n) | aNRW(n) | aNAR(n) | aNRR(n) | aNLW(n) | aRF(n) | aGF(n) => Some(n),
            aCR | aCW | aCAS | aMF | aWT => None,
        }
    }

    /// Whether it takes effect at once: all but the writes that are buffered (`Inst`, SYNC §3.2).
    #[must_use]
    pub fn is_instantaneous(self) -> bool {
        !matches!(self, aCW | aNLW(_) | aNRW(_))
    }
}

/// The stamp order `to` of RDMA.
#[must_use]
pub fn to(earlier: Stamp, later: Stamp) -> bool {
    match TABLE[earlier.row()].as_bytes()[later.row()] {
        b'Y' => true,
        b'S' => earlier.node() == later.node(),
        _ => false,
    }
}

impl mowgli_core::stamp::Stamp for Stamp {
    fn all(nodes: u8) -> Vec<Self> {
        let mut all = vec![aCR, aCW, aCAS, aMF, aWT];
        for family in [aNLR, aNRW, aNAR, aNRR, aNLW, aRF, aGF] {
            all.extend((1..=nodes).map(|n| family(Node(n))));
        }
        all
    }

    fn renamed(self, node: &dyn Fn(Node) -> Node) -> Self {
        match self {
            aNLR(n) => aNLR(node(n)),
            aNRW(n) => aNRW(node(n)),
            aNAR(n) => aNAR(node(n)),
            aNRR(n) => aNRR(node(n)),
            aNLW(n) => aNLW(node(n)),
            aRF(n) => aRF(node(n)),
            aGF(n) => aGF(node(n)),
            aCR | aCW | aCAS | aMF | aWT => self,
        }
    }

    fn about(self) -> String {
        match self {
            aCR => "the CPU reads".to_owned(),
            aCW => "the CPU writes".to_owned(),
            aCAS => "the CPU reads and writes at once".to_owned(),
            aMF => "a memory fence of the CPU".to_owned(),
            aWT => "the CPU waits for the network card".to_owned(),
            aNLR(n) => format!("the network card reads here, for node {n}"),
            aNRW(n) => format!("the network card writes on node {n}"),
            aNAR(n) => format!("the network card reads on node {n}, for an atomic operation"),
            aNRR(n) => format!("the network card reads on node {n}"),
            aNLW(n) => format!("the network card writes here what came from node {n}"),
            aRF(n) => format!("a fence of what goes to node {n}"),
            aGF(n) => format!("all that went to node {n} before is over"),
        }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ["aCR", "aCW", "aCAS", "aMF", "aWT", "aNLR", "aNRW", "aNAR", "aNRR", "aNLW", "aRF", "aGF"];
        f.write_str(names[self.row()])?;
        self.node().map_or(Ok(()), |n| write!(f, "_{n}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mowgli_core::stamp::Stamp as _;

    #[test]
    fn families_are_ordered_on_one_node_only() {
        assert!(to(aNRW(Node(1)), aNRR(Node(1))));
        assert!(!to(aNRW(Node(1)), aNRR(Node(2))));
        assert!(!to(aNRW(Node(1)), aRF(Node(1))));
        assert!(to(aGF(Node(1)), aNRR(Node(2))));
        assert!(!to(aNRW(Node(1)), aGF(Node(2))));
        assert!(!to(aCW, aCR));
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
    fn named(name: &str, node: u8) -> Stamp {
        let of_cpu = [("aCR", aCR), ("aCW", aCW), ("aCAS", aCAS), ("aMF", aMF), ("aWT", aWT)];
        let of_nic = [("aNLR", aNLR as fn(Node) -> Stamp), ("aNRW", aNRW), ("aNAR", aNAR), ("aNRR", aNRR)];
        let families = of_nic.into_iter().chain([("aNLW", aNLW as fn(Node) -> Stamp), ("aRF", aRF), ("aGF", aGF)]);
        let mut all = of_cpu.into_iter().chain(families.map(|(name, family)| (name, family(Node(node)))));
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
        assert_eq!(Stamp::all(2).len(), 5 + 2 * 7);
        for a in Stamp::all(2) {
            let text = a.to_string();
            let (name, node) = text.split_once('_').unwrap_or((&text, "1"));
            assert_eq!(named(name, node.parse().expect("a node")), a);
        }
    }
}
