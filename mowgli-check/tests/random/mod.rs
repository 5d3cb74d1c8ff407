//! Random litmus tests whose operations stand in branches, with statements outside that may wait for ever.

use itertools::Itertools;
use mowgli_check::litmus::parse::parse;
use mowgli_check::litmus::test::Test;

/// Programs of one kind: the waits that stand outside of branches, and the declarations that they need.
pub struct Kind {
    model: &'static str,
    declarations: &'static str,
    /// Statements at the beginning of P1, which give what others wait for.
    first: &'static [&'static str],
    /// Operations of the card; `L` and `R` stand for a local and a remote word, `N` for the remote node.
    operations: &'static [&'static str],
    /// Statements that may wait for ever. `r` stands for a fresh register.
    waits: &'static [&'static str],
    /// The comparisons of the condition of a branch.
    comparisons: &'static [&'static str],
}

/// The comparisons for equality.
const EQUAL: &[&str] = &["=", "!="];

pub const POLLS: Kind = Kind {
    model: "RDMA_TSO",
    declarations: "",
    first: &[],
    operations: &["put(R, L)", "get(L, R)", "rfaa(L, R, 1)"],
    waits: &["poll(N)", "poll(N)", "poll(N)", "r := pollany()", "await L = 1"],
    comparisons: EQUAL,
};

pub const LOCKS_BY_HAND: Kind = Kind {
    model: "RDMA_TSO",
    declarations: "",
    first: &[],
    operations: &["put(R, L)", "get(L, R)", "L := 0"],
    waits: &["poll(N)", "await cas(L, 0, 1) = 0", "await L != 0"],
    comparisons: EQUAL,
};

pub const CRASHES: Kind = Kind {
    model: "RDMA_TSO+crashes",
    declarations: "crash(P1); ",
    first: &[],
    operations: &["put(R, L)", "get(L, R)", "await cas(L, 0, 1) = 0"],
    waits: &["poll(N)", "await cas(L, 0, 1) = 0", "await L = 2"],
    comparisons: EQUAL,
};

pub const MESSAGES: Kind = Kind {
    model: "RDMA_TSO+messages",
    declarations: "",
    first: &["send(1, 1)", "send(2, 2)"],
    operations: &["put(R, L)", "send(N, 1)", "send(N, 2)"],
    waits: &["r := recv()", "r := recv()", "poll(N)"],
    comparisons: EQUAL,
};

pub const WAITS: Kind = Kind {
    model: "RDMA_WAIT",
    declarations: "",
    first: &[],
    operations: &["put(R, L, d)", "get(L, R, d)", "rfaa(L, R, 1, d)"],
    waits: &["wait(d)", "wait(d)", "await L = 1"],
    comparisons: EQUAL,
};

pub const BARRIERS: Kind = Kind {
    model: "RDMA_WAIT",
    declarations: "barrier b = {P1, P2}; ",
    first: &[],
    operations: &["put(R, L, d)", "bar(b)"],
    waits: &["bar(b)", "bar(b)", "wait(d)"],
    comparisons: EQUAL,
};

pub const LOCKS: Kind = Kind {
    model: "RDMA_WAIT",
    declarations: "strong lock l@1; ",
    first: &[],
    operations: &["put(R, L, d)", "acq(l)", "rel(l)"],
    waits: &["acq(l)", "rel(l)", "wait(d)"],
    comparisons: EQUAL,
};

/// Sums and comparisons by order; `A` and `B` stand for registers that are set.
pub const SUMS: Kind = Kind {
    model: "RDMA_TSO",
    declarations: "",
    first: &[],
    operations: &["put(R, L)", "get(L, R)", "put(R, A + B)", "L := A + B", "L := A - B + 1"],
    waits: &["poll(N)", "await L >= 1", "await L < A + B", "r := await L > A - 1", "await L <= A - B + 1"],
    comparisons: &["=", "!=", "<", "<=", ">", ">="],
};

/// Atomic operations of the card and of the CPU that always write.
pub const ATOMICS: Kind = Kind {
    model: "RDMA_TSO",
    declarations: "",
    first: &[],
    operations: &["rxchg(L, R, 2)", "rxchg(L, R, A)", "rfaa(L, R, 1)", "faa(L, 1)", "xchg(L, 2)", "put(R, L)"],
    waits: &["poll(N)", "poll(N)", "r := faa(L, A)", "await cas(L, 0, 1) = 0"],
    comparisons: EQUAL,
};

/// The same where atomic operations of card and CPU exclude each other.
pub const GLOBAL_ATOMICS: Kind = Kind { model: "RDMA_TSO+global-atomics", ..ATOMICS };

/// Returns a random litmus test of completions and events, the same for the same seed. One thread posts operations and
/// looks into its completion queue, and another one may write what they read.
pub fn random_events(seed: u64) -> String {
    const POSTS: &[&str] = &["put(z, x)", "get(y, z)", "get(y, w)", "get@q2(y, w)", "put@q2(w, x)"];
    const LOOKS: &[&str] =
        &["arm", "arm", "event", "event", "r := trypoll(2)", "r := trypollany()", "poll(2)", "r := pollany()"];
    const MEMORY: &[&str] = &["r := y", "x := 2", "y := 2"];
    const OTHERS: &[&str] = &["z := 2", "w := 2", "r := z", "await z = 1"];
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut column = |lists: &[&[&str]], register: &str| -> Vec<String> {
        let mut fresh = 0;
        let statements = lists.iter().map(|list| list[rng.usize(..list.len())]);
        let named = statements.map(|text| {
            fresh += usize::from(text.starts_with("r :="));
            text.replacen("r :=", &format!("{register}{fresh} :="), 1)
        });
        named.collect()
    };
    let own = column(&[POSTS, MEMORY, LOOKS, POSTS, LOOKS, LOOKS, LOOKS, MEMORY], "r");
    let other = column(&[OTHERS, OTHERS], "s");
    let skipped = own.into_iter().enumerate().filter(|(at, _)| seed >> (at % 8) & 1 == 0 || [0, 2, 5].contains(at));
    let columns = [skipped.map(|(_, text)| text).collect(), other];
    let kind = Kind { model: "RDMA_TSO+events", ..POLLS };
    text_of(&kind, seed, &[1, 2], &columns[..1 + (seed % 2) as usize])
}

/// Returns a random litmus test of a kind, the same for the same seed.
pub fn random(kind: &Kind, seed: u64) -> String {
    let (nodes, columns) = random_columns(kind, seed);
    text_of(kind, seed, &nodes, &columns)
}

/// Returns the node of each thread, and the statements of each, one column for each thread.
pub fn random_columns(kind: &Kind, seed: u64) -> (Vec<u8>, Vec<Vec<String>>) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut nodes = vec![1u8];
    if rng.u8(..4) > 0 || !kind.declarations.is_empty() {
        nodes.push(rng.u8(1..3));
    }
    let first = |t: usize| if t == 0 { kind.first } else { &[] };
    let columns = nodes.iter().enumerate().map(|(t, &node)| statements(kind, first(t), node, &mut rng)).collect();
    (nodes, columns)
}

pub fn text_of(kind: &Kind, seed: u64, nodes: &[u8], columns: &[Vec<String>]) -> String {
    let nodes = &nodes[..columns.len()];
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let row = |i: usize| columns.iter().map(|c| c.get(i).map_or("", String::as_str)).join(" | ");
    let names = nodes.iter().enumerate().map(|(t, node)| format!("P{}@{node}", t + 1)).join(" | ");
    let table = (0..rows).map(|i| format!(" {} ;\n", row(i))).collect::<String>();
    let words = "nodes 3; x@1 = 1; y@1 = 0; z@2 = 0; w@2 = 1;";
    let (model, declarations) = (kind.model, kind.declarations);
    format!("{model} random-{seed}\n{{ {declarations}{words} }}\n {names} ;\n{table}locations [x; y; z; w;]\n")
}

/// Returns statements with at least one operation in a branch, and behind it one that may wait.
fn statements(kind: &Kind, first: &[&str], node: u8, rng: &mut fastrand::Rng) -> Vec<String> {
    let mut registers = 0;
    let mut all: Vec<String> = first.iter().map(ToString::to_string).collect();
    all.push(simple(node, &mut registers, rng));
    all.push(read(node, &mut registers, rng));
    let comparison = kind.comparisons[rng.usize(..kind.comparisons.len())];
    let guard = format!("if r{registers} {comparison} {} {{", rng.u8(..3));
    let operation = kind.operations[rng.usize(..kind.operations.len())];
    all.push(format!("{guard} {} }}", filled(&of_registers(operation, registers, rng), node, rng)));
    if rng.bool() {
        all.push(simple(node, &mut registers, rng));
    }
    let wait = of_registers(kind.waits[rng.usize(..kind.waits.len())], registers, rng);
    registers += usize::from(wait.starts_with("r :="));
    all.push(filled(&wait.replacen("r :=", &format!("r{registers} :="), 1), node, rng));
    if rng.u8(..3) == 0 {
        all.push(read(node, &mut registers, rng));
    }
    all
}

fn simple(node: u8, registers: &mut usize, rng: &mut fastrand::Rng) -> String {
    if rng.u8(..3) == 0 { read(node, registers, rng) } else { filled(&format!("L := {}", rng.u8(..3)), node, rng) }
}

fn read(node: u8, registers: &mut usize, rng: &mut fastrand::Rng) -> String {
    *registers += 1;
    filled(&format!("r{registers} := L"), node, rng)
}

/// Returns the statement with some of the registers that are set in place of `A` and `B`.
fn of_registers(text: &str, registers: usize, rng: &mut fastrand::Rng) -> String {
    let mut text = text.to_owned();
    for place in ["A", "B"] {
        if text.contains(place) {
            text = text.replace(place, &format!("r{}", rng.usize(1..=registers)));
        }
    }
    text
}

/// Returns the statement with words of the node, and of the other one, in place of `L`, `R` and `N`.
fn filled(text: &str, node: u8, rng: &mut fastrand::Rng) -> String {
    let (own, other) = if node == 1 { (["x", "y"], ["z", "w"]) } else { (["z", "w"], ["x", "y"]) };
    let text = text.replace('L', own[rng.usize(..2)]).replace('R', other[rng.usize(..2)]);
    text.replace('N', if node == 1 { "2" } else { "1" })
}

pub fn parsed(text: &str) -> Test {
    parse("random", text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}
