//! The files that herd7 needs beside a model. The bell file declares the marks of tests in LISA. A second file defines
//! the sets and relations that the model takes as given, in terms of those marks.
//!
//! A test, as [`super::lisa`] writes it, marks each instruction with the stamp of its subevent, and the parts of one
//! operation with a number. Accesses of the network card also carry the remote node and the identifier. A locked
//! instruction of the CPU is one subevent, but two events in LISA. So every given relation is closed under exchanging
//! these two events: both stand for the subevent.

use std::fmt::Write as _;

use itertools::Itertools;

use crate::error::{Code, InputError};
use crate::litmus::semantics::Semantics;
use crate::litmus::test::Model;

/// The number of nodes that the bell file declares.
pub(crate) const NODES: usize = 8;
/// The number of operation identifiers that the bell file declares.
pub(crate) const IDENTIFIERS: usize = 8;
/// The number of operations of a thread that the bell file can number.
pub(crate) const PARTS: usize = 24;

/// The marks of tests of some models, and their meaning in the models.
pub(crate) struct Marks {
    /// The mark of a read by the CPU.
    pub(crate) read: &'static str,
    /// The mark of a write by the CPU.
    pub(crate) write: &'static str,
    /// The mark of the halves of a locked instruction.
    pub(crate) update: &'static str,
    /// The mark of a fence of the CPU.
    pub(crate) fence: &'static str,
    /// The models' name for the set of successful locked instructions.
    update_set: &'static str,
    /// The models' names for the sets of reads, writes and fences of the CPU.
    names: [&'static str; 3],
    /// The marks of all other subevents. Each set has the same name in the models.
    others: &'static [&'static str],
    /// The definitions that only these models need.
    more: &'static str,
}

/// The marks of RDMA are the stamps.
pub(crate) const RDMA: Marks = Marks {
    read: "aCR",
    write: "aCW",
    update: "aCAS",
    fence: "aMF",
    update_set: "aCAS",
    names: ["aCR", "aCW", "aMF"],
    others: &["aWT", "aNLR", "aNRW", "aNAR", "aNRR", "aNLW", "aRF", "aGF"],
    more: "
let same-node = pairs(node)
let same-index = same-node
let same-target = same-node
let same-node-towards = same-node
let same-queue-pair = same-node & int
let same-wid = pairs(wid) & int
let same-thread = int

(* The last part of an operation, in which a poll is interested, and polls. *)
let is-confirmed = aNLW | (aNRW \\ range([aNAR]; same-event))
let is-first-confirmed = is-confirmed
let is-poll = aWT
let turns = po & same-node-towards
let next-confirmed = [is-confirmed]; turns; [is-confirmed]
let next-poll = [is-poll]; turns; [is-poll]
let first-turn = ((is-confirmed \\ range(next-confirmed)) * (is-poll \\ range(next-poll))) & same-queue-pair
let next-confirmed = next-confirmed \\ (next-confirmed; next-confirmed)
let next-poll = next-poll \\ (next-poll; next-poll)
let rec in-order = first-turn | (next-confirmed^-1; in-order; next-poll)
let in-turn = in-order & po
",
};

/// The marks of x86-TSO. They have names of their own, because a mark `W` would be herd's set of all writes. The
/// model's sets `R` and `W` include locked instructions. This changes nothing, since locked instructions are ordered
/// with everything.
pub(crate) const X86: Marks = Marks {
    read: "read",
    write: "write",
    update: "update",
    fence: "fence",
    update_set: "U",
    names: ["cpu-read", "cpu-write", "F"],
    others: &[],
    more: "",
};

const HEAD: &str = "
(* Pairs of events with the same mark, of these marks. *)
let rec pairs marks = match marks with
  || {} -> 0
  || mark ++ marks -> (tag2events(mark) * tag2events(mark)) | pairs(marks)
end

(* A compare-and-swap that failed has no write: it is a fence and a read. *)
let same-part = pairs(part) & int
";

const TAIL: &str = "
(* The two halves of a locked instruction are one subevent, and so is each other event alone. *)
let one = ((updates * updates) & same-part) | id
let whole r = one; r; one
let same-event = same-part | one
let id = one
let W = (W \\ IW) | updates
let R = R | updates
let po = whole([subevents]; po \\ same-event; [subevents])
let rf = whole(rf)
let loc = whole(loc)

(* One line for each class, along a partial order. *)
let lines(classes, along) = cross(co_locs(along, classes))
";

/// Returns the marks of a model's tests for herd7.
///
/// # Errors
/// If LISA cannot express the tests.
pub(crate) fn marks(model: Model) -> Result<&'static Marks, InputError> {
    let fail = |why: &str| Err(InputError::new(Code::Unsupported, format!("{model} has no form for herd7: {why}")));
    if let Semantics::Own(own) = model.semantics() {
        return fail(own.why_no_lisa());
    }
    match model {
        Model::RdmaWait(switches) | Model::RdmaTso(switches) if switches.global_atomics => {
            fail("locked instructions, which are two events each in LISA, are members of its order gao")
        }
        Model::RdmaWait(switches) | Model::RdmaTso(switches) if switches.unsignalled => {
            fail("LISA's marks say of each operation that it has a completion")
        }
        Model::RdmaWait(switches) | Model::RdmaTso(switches) if switches.messages => {
            fail("a message is of no word, and what takes it is no read of LISA")
        }
        Model::RdmaTso(switches) if switches.events => fail("LISA's marks do not say which completions a call finds"),
        Model::RdmaWait(switches) | Model::RdmaTso(switches) if switches.crashes => {
            fail("a thread of LISA makes all its calls")
        }
        Model::X86Tso => Ok(&X86),
        _ => Ok(&RDMA),
    }
}

impl Marks {
    fn all(&self) -> impl Iterator<Item = &str> {
        [self.read, self.write, self.update, self.fence].into_iter().chain(self.others.iter().copied())
    }

    /// Returns the text of the bell file.
    pub(crate) fn bell(&self, title: &str) -> String {
        let tags = |all: &mut dyn Iterator<Item = String>| all.map(|t| format!("'{t}")).join(" || ");
        let numbered = |letter: char, last: usize| tags(&mut (1..=last).map(|i| format!("{letter}{i}")));
        let stamps = tags(&mut self.all().map(str::to_owned));
        let mut out = format!("\"{title}: the marks of tests\"\n\nenum stamp = {stamps}\n");
        let numbers = [("node", 'n', NODES), ("wid", 'd', IDENTIFIERS), ("part", 'e', PARTS)];
        for (name, letter, last) in numbers {
            let _ = writeln!(out, "enum {name} = {}", numbered(letter, last));
        }
        let forms =
            ["stamp", "stamp, node", "stamp, wid", "stamp, part", "stamp, node, part", "stamp, node, wid, part"];
        for (kind, form) in ["R", "W", "F"].into_iter().cartesian_product(forms) {
            let _ = writeln!(out, "instructions {kind}[{form}]");
        }
        out
    }

    /// Returns the file that defines the sets and relations that a model takes as given.
    pub(crate) fn given(&self, title: &str) -> String {
        let mut out = format!("\"{title}: what the model takes as given\"\n\ninclude \"cross.cat\"\n{HEAD}");
        let [read, write, fence] = self.names;
        let of = |mark: &str| format!("tag2events('{mark})");
        let mut has = |name: &str, text: String| {
            let _ = writeln!(out, "let {name} = {text}");
        };
        let update = of(self.update);
        has("swapped", format!("range([W & {update}]; same-part)"));
        has("updates", format!("{update} & swapped"));
        has(self.update_set, "updates".to_owned());
        has(read, format!("{} | ({update} \\ swapped)", of(self.read)));
        has(write, of(self.write));
        has(fence, format!("{} \\ swapped", of(self.fence)));
        for mark in self.others {
            has(mark, of(mark));
        }
        let all = [read, write, fence, "updates"].into_iter().chain(self.others.iter().copied());
        has("subevents", all.collect::<Vec<_>>().join(" | "));
        out + TAIL + self.more
    }

    /// True if the file of [`Self::given`] defines this name.
    fn has(&self, name: &str) -> bool {
        let is_let = |line: &str| {
            let defined = line.strip_prefix("let ").map(|rest| rest.strip_prefix("rec ").unwrap_or(rest));
            defined.and_then(|rest| rest.split([' ', '(']).next()) == Some(name)
        };
        self.given("").lines().any(is_let)
    }

    /// Returns the first of these names that the file of [`Self::given`] does not define.
    pub(crate) fn missing<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Option<&'n str> {
        names.into_iter().flat_map(|names| names.split(", ")).find(|name| !self.has(name))
    }
}
