//! The generator of random programs in many styles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use fastrand::Rng;

use super::{Dialect, Meaning, Program, Recorded, Variant};

/// The words of a program's memory on a node, and how C has them.
struct Memory {
    layout: Layout,
    /// The words that lie behind each other, as the first and their number.
    groups: Vec<(usize, usize)>,
    init: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layout {
    Globals,
    Structure,
    Array,
    HeapArray,
    HeapStructure,
    Pointers,
    Nested,
    Union,
}

/// A row of the test: its text, the statement, and the choice that it is there for.
type Row = (String, usize, Option<Choice>);

/// The number of a choice, and what is chosen: that a poll finds something, or that the first of two texts is read first.
pub type Choice = (usize, bool);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Registers {
    Locals,
    Statics,
    ThreadLocals,
    Heap,
    Structure,
    Array,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// `main` is the thread.
    Main,
    Node,
    Pthread,
    Thrd,
    StdThread,
}

struct Thread {
    number: usize,
    node: usize,
    rows: Vec<Row>,
    lines: Vec<String>,
    registers: Registers,
    /// All registers in C, and those that statements may use.
    names: Vec<String>,
    known: Vec<String>,
    /// The values that it records when it ends.
    recorded: Vec<(String, String)>,
    /// For each queue pair, the operations whose completions are not polled.
    open: [usize; 2],
    fenced: bool,
    start: Start,
    receives: bool,
    cost: usize,
}

/// A message to a node.
struct Message {
    tag: i64,
    /// The inbox in the test, and the number of its words.
    inbox: Option<(String, usize)>,
}

pub(super) struct Generator {
    rng: Rng,
    seed: u64,
    k: usize,
    dialect: Dialect,
    /// The bytes of a word, and whether words are text.
    size: usize,
    is_text: bool,
    memories: Vec<Memory>,
    helpers: BTreeMap<String, String>,
    /// Declarations of the test.
    declared: Vec<String>,
    next: usize,
    recorded: Vec<Recorded>,
    choices: usize,
    switches: BTreeSet<&'static str>,
    styles: BTreeSet<&'static str>,
    has_messages: bool,
    /// True if the program is started once per node.
    is_by_node: bool,
    messages: [Vec<Message>; 2],
    queue_pairs: BTreeSet<(usize, usize)>,
}

/// The number that a program computes from a text.
type TextMeaning = Box<dyn Fn(&[u8]) -> i64 + Send + Sync>;

/// Bytes that fill a word of text.
const FULL: i64 = 0x6262_6262_6262_6262;

impl Generator {
    pub(super) fn new(seed: u64, round: u64, k: usize, dialect: Dialect) -> Self {
        let mut rng = Rng::with_seed(seed.wrapping_add(round << 40));
        let is_text = rng.u8(..4) == 0;
        let size = if is_text { [1, 8][rng.usize(..2)] } else { [8, 8, 8, 8, 4, 4, 2, 1][rng.usize(..8)] };
        let mut generator = Self {
            rng,
            seed,
            k,
            dialect,
            size,
            is_text,
            memories: Vec::new(),
            helpers: BTreeMap::new(),
            declared: Vec::new(),
            next: 0,
            recorded: Vec::new(),
            choices: 0,
            switches: BTreeSet::new(),
            styles: BTreeSet::new(),
            has_messages: false,
            is_by_node: false,
            messages: [Vec::new(), Vec::new()],
            queue_pairs: BTreeSet::new(),
        };
        for _ in 0..2 {
            let memory = generator.memory();
            generator.memories.push(memory);
        }
        generator.has_messages = generator.one_in(5);
        generator.is_by_node =
            generator.one_in(5) && generator.style(&["a program", "a program per node"]) == "a program per node";
        generator
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(..n) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.usize(..of.len())]
    }

    /// Picks a style, and remembers it.
    fn style(&mut self, of: &[&'static str]) -> &'static str {
        let without = std::env::var("MOWGLI_STYLES_WITHOUT").unwrap_or_default();
        let left: Vec<&str> = of.iter().copied().filter(|style| without.split(',').all(|out| out != *style)).collect();
        let style = self.pick(if left.is_empty() { of } else { &left });
        self.styles.insert(style);
        style
    }

    fn value(&mut self) -> i64 {
        match (self.is_text, self.size) {
            (false, _) => self.rng.i64(1..4),
            (true, 1) => self.pick(&[0, 97, 98, 98]),
            (true, _) => self.pick(&[0, 97, FULL, FULL]),
        }
    }

    fn memory(&mut self) -> Memory {
        use Layout::{Array, Globals, HeapArray, HeapStructure, Nested, Pointers, Structure, Union};
        let all = [Structure, Array, HeapArray, HeapStructure, Union, Nested, Globals, Pointers];
        let layout = self.pick(if self.is_text { &all[..5] } else { &all });
        let count = self.rng.usize(2..=if self.size == 8 { 3 } else { 4 });
        let groups = match layout {
            Globals | Pointers => (0..count).map(|i| (i, 1)).collect(),
            Nested if count > 2 => vec![(0, 2), (2, count - 2)],
            _ => vec![(0, count)],
        };
        let init = (0..count).map(|_| if self.one_in(4) { self.value() } else { 0 }).collect();
        Memory { layout, groups, init }
    }

    fn word_type(&self) -> &'static str {
        match self.size {
            1 => "uint8_t",
            2 => "uint16_t",
            4 => "uint32_t",
            _ => "uint64_t",
        }
    }

    fn name(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    /// Returns a word as an expression in C; nodes are from 0.
    fn word(&self, node: usize, i: usize) -> String {
        let (name, member) = (format!("p{}_m{}", self.k, node + 1), ["a", "b", "c", "d"][i]);
        match self.memories[node].layout {
            Layout::Globals => format!("{name}_{i}"),
            Layout::Structure => format!("{name}.{member}"),
            Layout::Array | Layout::HeapArray => format!("{name}[{i}]"),
            Layout::HeapStructure => format!("{name}->{member}"),
            Layout::Pointers => format!("(*{name}[{i}])"),
            Layout::Nested if i < 2 => format!("{name}.in.{member}"),
            Layout::Nested => format!("{name}.{member}"),
            Layout::Union => format!("{name}.w[{i}]"),
        }
    }

    /// Returns the memory region of a word.
    fn region(&self, node: usize, i: usize) -> String {
        let each = self.memories[node].layout == Layout::Globals;
        format!("p{}_mr{}[{}]", self.k, node + 1, if each { i } else { 0 })
    }

    /// Returns words that lie behind each other: the first, and their number.
    fn range(&mut self, node: usize, least: usize, most: usize) -> Option<(usize, usize)> {
        let groups: Vec<(usize, usize)> =
            self.memories[node].groups.iter().copied().filter(|(_, n)| *n >= least).collect();
        if groups.is_empty() {
            return None;
        }
        let (from, count) = self.pick(&groups);
        let n = self.rng.usize(least..=count.min(most));
        Some((from + self.rng.usize(0..=count - n), n))
    }

    fn any(&mut self, node: usize) -> usize {
        self.rng.usize(..self.memories[node].init.len())
    }

    /// Returns the structure of so many words.
    fn record(&mut self, n: usize) -> String {
        let name = format!("p{}_r{n}", self.k);
        let fields: String = ["a", "b", "c", "d"][..n].iter().map(|m| format!(" {} {m};", self.word_type())).collect();
        self.helpers.insert(format!("0{name}"), format!("struct {name} {{{fields} }};"));
        format!("struct {name}")
    }

    fn helper(&mut self, name: &str, text: String) -> String {
        let name = format!("p{}_{name}", self.k);
        self.helpers.insert(format!("1{name}"), text.replace("NAME", &name));
        name
    }

    /// Adds a register to a thread, and returns its name in the test and in C.
    fn register(&mut self, t: &mut Thread) -> (String, String) {
        let name = self.name("r");
        let c = self.in_c(t, &name);
        (name, c)
    }

    fn in_c(&mut self, t: &mut Thread, name: &str) -> String {
        let at = t.names.iter().position(|own| own == name).unwrap_or_else(|| {
            t.names.push(name.to_owned());
            t.names.len() - 1
        });
        match t.registers {
            Registers::Locals => name.to_owned(),
            Registers::Statics => format!("p{}_{name}", self.k),
            Registers::ThreadLocals => format!("p{}_own[{at}]", self.k),
            Registers::Heap => format!("q->{name}"),
            Registers::Structure => format!("q.{name}"),
            Registers::Array => format!("q[{at}]"),
        }
    }

    /// Records a value of the thread under a name. Its expression is in C; some are recorded at once.
    fn records(&mut self, t: &mut Thread, line: &mut String, (name, c): (&str, &str), meaning: Meaning) {
        if self.one_in(3) {
            let _ = write!(line, " mowgli_outcome(\"{name}\", (int64_t){c});");
        } else {
            t.recorded.push((name.to_owned(), c.to_owned()));
        }
        self.recorded.push(Recorded { name: name.to_owned(), meaning });
    }

    /// Records a register that is one of the test, too.
    fn records_register(&mut self, t: &mut Thread, line: &mut String, name: &str, c: &str) {
        let own = name.to_owned();
        self.records(t, line, (name, c), Box::new(move |value, _| value(&own)));
        t.known.push(name.to_owned());
    }

    fn row(t: &mut Thread, text: String) {
        let statement = t.lines.len();
        t.rows.push((text, statement, None));
    }

    /// Adds the line of a statement, behind its rows.
    fn line(&mut self, t: &mut Thread, line: &str) {
        let barrier = if self.dialect.optimises { " BARRIER;" } else { "" };
        t.lines.push(format!("{line}{barrier}"));
    }

    fn store(&mut self, word: &str, v: &str, is_followed_by_fence: &mut bool) -> String {
        let w = self.word_type();
        let styles =
            ["plain", "volatile", "atomic relaxed", "atomic release", "atomic seq_cst", "stdatomic release", "pointer"];
        match self.style(&styles) {
            "plain" => format!("{word} = {v};"),
            "volatile" => format!("*(volatile {w} *)&{word} = {v};"),
            "atomic relaxed" => format!("__atomic_store_n(&{word}, {v}, __ATOMIC_RELAXED);"),
            "atomic release" => format!("__atomic_store_n(&{word}, {v}, __ATOMIC_RELEASE);"),
            "atomic seq_cst" => {
                *is_followed_by_fence = true;
                format!("__atomic_store_n(&{word}, {v}, __ATOMIC_SEQ_CST);")
            }
            "stdatomic release" => format!("ATOMIC_STORE({w}, &{word}, {v}, memory_order_release);"),
            _ => format!("{{ {w} *at = &{word}; *at = {v}; }}"),
        }
    }

    /// True if memcpy of so many words goes upwards. It moves few bytes as two words that may overlap, and begins with either.
    fn copies_upwards(&self, n: usize) -> bool {
        self.size * n >= 16 || (self.size * n).is_power_of_two()
    }

    fn load(&mut self, word: &str) -> String {
        let w = self.word_type();
        match self.style(&["plain", "volatile", "atomic relaxed", "atomic acquire", "stdatomic load"]) {
            "plain" => word.to_owned(),
            "volatile" => format!("*(volatile {w} *)&{word}"),
            "atomic relaxed" => format!("__atomic_load_n(&{word}, __ATOMIC_RELAXED)"),
            "atomic acquire" => format!("__atomic_load_n(&{word}, __ATOMIC_ACQUIRE)"),
            _ => format!("ATOMIC_LOAD({w}, &{word})"),
        }
    }

    /// Returns C that reads words into expressions.
    fn reads(&mut self, node: usize, (a, n): (usize, usize), to: &[String], in_loop: bool) -> String {
        let (w, record) = (self.word_type(), self.record(n));
        let x = format!("&{}", self.word(node, a));
        let from = format!("(({record} *){x})");
        let out = |l: &str| -> String {
            ["a", "b", "c", "d"].iter().zip(to).map(|(m, r)| format!(" {r} = {l}{m};")).collect()
        };
        let elements =
            |l: &str| -> String { to.iter().enumerate().map(|(i, r)| format!(" {r} = {l}[{i}];")).collect() };
        let mut styles = vec![
            "structure assigned",
            "memcpy",
            "memmove",
            "memcpy to array",
            "structure returned",
            "structure passed",
            "structure passed to variadic",
            "union",
            "heap copy",
            "word by word",
            "loop",
            "pointer",
        ];
        if self.size * n == 16 {
            styles.extend(["int128", "int128"]);
        }
        if self.size == 8 && n == 2 {
            styles.push("vector");
        }
        if self.dialect.optimises && (9..=16).contains(&(self.size * n)) {
            // The argument is in two registers, which gcc loads in either order.
            styles.retain(|style| *style != "structure passed to variadic");
        }
        if !self.copies_upwards(n) {
            styles.retain(|style| !style.starts_with("mem"));
        }
        if in_loop && self.dialect.optimises {
            styles.retain(|s| s.starts_with("mem"));
            if styles.is_empty() {
                let words = (a..a + n).map(|i| self.word(node, i)).zip(to);
                let each: String = words.map(|(x, r)| format!("{r} = *(volatile {w} *)&{x}; ")).collect();
                return format!("{{ {each}}}");
            }
        }
        match self.style(&styles) {
            "structure assigned" => format!("{{ {record} l = *{from};{} }}", out("l.")),
            "memcpy" => format!("{{ {record} l; memcpy(&l, {x}, sizeof l);{} }}", out("l.")),
            "memmove" => format!("{{ {record} l; memmove(&l, {x}, sizeof l);{} }}", out("l.")),
            "memcpy to array" => format!("{{ {w} l[{n}]; memcpy(l, {x}, {n} * sizeof *l);{} }}", elements("l")),
            "structure returned" => {
                let give = self.helper(
                    &format!("give{n}"),
                    format!("static UNUSED {record} NAME({record} *from) {{ return *from; }}"),
                );
                format!("{{ {record} l = {give}({from});{} }}", out("l."))
            }
            "structure passed" => {
                let take = self.helper(
                    &format!("take{n}"),
                    format!("static UNUSED void NAME({record} s, {record} *to) {{ *to = s; }}"),
                );
                format!("{{ {record} l; {take}(*{from}, &l);{} }}", out("l."))
            }
            "structure passed to variadic" => {
                let take = self.helper(&format!("many{n}"), format!(
                    "static UNUSED void NAME({record} *to, ...) {{ va_list all; va_start(all, to); *to = va_arg(all, {record}); va_end(all); }}"
                ));
                format!("{{ {record} l; {take}(&l, *{from});{} }}", out("l."))
            }
            "union" => format!("{{ union {{ {record} r; {w} w[{n}]; }} l; l.r = *{from};{} }}", elements("l.w")),
            "heap copy" => {
                format!("{{ {record} *l = ({record} *)malloc(sizeof *l); *l = *{from};{} free(l); }}", out("l->"))
            }
            "loop" => {
                format!("{{ {w} l[{n}]; for (int i = 0; i < {n}; i++) l[i] = ({x})[i];{} }}", elements("l"))
            }
            "pointer" => {
                let each: String = to.iter().map(|r| format!(" {r} = *at++;")).collect();
                format!("{{ {w} *at = {x};{each} }}")
            }
            "int128" => {
                let bits = 8 * self.size;
                let each: String =
                    to.iter().enumerate().map(|(i, r)| format!(" {r} = ({w})(l >> {});", i * bits)).collect();
                format!("{{ wide l = *(wide *){x};{each} }}")
            }
            "vector" => format!("{{ two_words l = *(two_words *){x};{} }}", elements("l")),
            _ => {
                let each: Vec<String> = (a..a + n).map(|i| self.word(node, i)).collect();
                let each: String = to.iter().zip(each).map(|(r, x)| format!("{r} = {}; ", self.load(&x))).collect();
                format!("{{ {each}}}")
            }
        }
    }

    /// Returns C that writes these values to words.
    fn writes(&mut self, node: usize, (a, n): (usize, usize), values: &[String], are_constants: bool) -> String {
        let (w, record) = (self.word_type(), self.record(n));
        let x = format!("&{}", self.word(node, a));
        let to = format!("(({record} *){x})");
        let fill = |l: &str| -> String {
            ["a", "b", "c", "d"].iter().zip(values).map(|(m, v)| format!(" {l}{m} = {v};")).collect()
        };
        let list = values.join(", ");
        let mut styles = vec![
            "structure stored",
            "memcpy out",
            "memmove out",
            "structure made",
            "heap copied out",
            "words stored",
            "loop store",
            "pointer store",
            "union stored",
        ];
        if !self.copies_upwards(n) {
            styles.retain(|style| !style.starts_with("mem"));
        }
        if are_constants && !self.dialect.is_cpp && values.iter().all(|v| v != "0") {
            styles.push("compound literal");
        }
        if self.size * n == 16 {
            styles.extend(["int128 store", "int128 store"]);
        }
        if self.size == 8 && n == 2 {
            styles.push("vector store");
        }
        match self.style(&styles) {
            "structure stored" => format!("{{ {record} l;{} *{to} = l; }}", fill("l.")),
            "memcpy out" => format!("{{ {record} l;{} memcpy({x}, &l, sizeof l); }}", fill("l.")),
            "memmove out" => format!("{{ {w} l[{n}] = {{ {} }}; memmove({x}, l, sizeof l); }}", cast(w, values)),
            "structure made" => {
                let parameters: Vec<String> = (0..n).map(|i| format!("{w} v{i}")).collect();
                let own: String =
                    ["a", "b", "c", "d"][..n].iter().enumerate().map(|(i, m)| format!(" l.{m} = v{i};")).collect();
                let make = self.helper(
                    &format!("make{n}"),
                    format!("static UNUSED {record} NAME({}) {{ {record} l;{own} return l; }}", parameters.join(", ")),
                );
                format!("*{to} = {make}({list});")
            }
            "heap copied out" => {
                format!("{{ {record} *l = ({record} *)malloc(sizeof *l);{} *{to} = *l; free(l); }}", fill("l->"))
            }
            "loop store" => {
                format!("{{ {w} l[{n}] = {{ {} }}; for (int i = 0; i < {n}; i++) ({x})[i] = l[i]; }}", cast(w, values))
            }
            "pointer store" => {
                let each: String = values.iter().map(|v| format!(" *at++ = {v};")).collect();
                format!("{{ {w} *at = {x};{each} }}")
            }
            "union stored" => {
                let each: String = values.iter().enumerate().map(|(i, v)| format!(" l.w[{i}] = {v};")).collect();
                format!("{{ union {{ {record} r; {w} w[{n}]; }} l;{each} *{to} = l.r; }}")
            }
            "compound literal" => format!("*{to} = ({record}){{ {list} }};"),
            "int128 store" => {
                let bits = 8 * self.size;
                let sum: Vec<String> =
                    values.iter().enumerate().map(|(i, v)| format!("((wide)({w})({v}) << {})", i * bits)).collect();
                format!("{{ wide l = {}; *(wide *){x} = l; }}", sum.join(" | "))
            }
            "vector store" => format!("{{ two_words l = {{ {} }}; *(two_words *){x} = l; }}", cast(w, values)),
            _ => {
                let each: Vec<String> = (a..a + n).map(|i| self.word(node, i)).collect();
                let each: String =
                    values.iter().zip(each).map(|(v, x)| format!("*(volatile {w} *)&{x} = {v}; ")).collect();
                format!("{{ {each}}}")
            }
        }
    }

    fn litmus(node: usize, i: usize) -> String {
        format!("m{}[{i}]", node + 1)
    }

    /// Reads words into fresh registers of the test that the program does not record.
    fn hidden(&mut self, t: &mut Thread, (a, n): (usize, usize)) -> Vec<String> {
        let node = t.node;
        (a..a + n)
            .map(|i| {
                let h = self.name("h");
                Self::row(t, format!("{h} := {}", Self::litmus(node, i)));
                h
            })
            .collect()
    }

    fn constant(&self, v: i64) -> String {
        if v == FULL { "0x6262626262626262u".to_owned() } else { v.to_string() }
    }

    /// Returns a value to write: a constant, or a register, as the test has it and in C.
    fn source(&mut self, t: &mut Thread) -> (String, String, bool) {
        if !t.known.is_empty() && self.one_in(4) {
            let r = t.known[self.rng.usize(..t.known.len())].clone();
            let c = self.in_c(t, &r);
            return (r, c, false);
        }
        let v = self.value();
        (v.to_string(), self.constant(v), true)
    }

    fn write_one(&mut self, t: &mut Thread) {
        let (i, (own, c, _)) = (self.any(t.node), self.source(t));
        let word = self.word(t.node, i);
        let mut fence = false;
        Self::row(t, format!("{} := {own}", Self::litmus(t.node, i)));
        let line = self.store(&word, &c, &mut fence);
        if fence {
            Self::row(t, "mfence".to_owned());
        }
        self.line(t, &line);
        t.cost += 1;
    }

    fn read_one(&mut self, t: &mut Thread) {
        let i = self.any(t.node);
        let (r, c) = self.register(t);
        Self::row(t, format!("{r} := {}", Self::litmus(t.node, i)));
        let word = self.word(t.node, i);
        let mut line = format!("{c} = {};", self.load(&word));
        self.records_register(t, &mut line, &r, &c);
        self.line(t, &line);
        t.cost += 1;
    }

    fn read_many(&mut self, t: &mut Thread) -> bool {
        let Some((a, n)) = self.range(t.node, 2, 4) else { return false };
        let registers: Vec<(String, String)> = (0..n).map(|_| self.register(t)).collect();
        for (i, (r, _)) in registers.iter().enumerate() {
            Self::row(t, format!("{r} := {}", Self::litmus(t.node, a + i)));
        }
        let to: Vec<String> = registers.iter().map(|(_, c)| c.clone()).collect();
        let mut line = self.reads(t.node, (a, n), &to, false);
        for (r, c) in &registers {
            self.records_register(t, &mut line, r, c);
        }
        self.line(t, &line);
        t.cost += n;
        true
    }

    fn write_many(&mut self, t: &mut Thread) -> bool {
        let Some((a, n)) = self.range(t.node, 2, 4) else { return false };
        let values: Vec<(String, String, bool)> = (0..n).map(|_| self.source(t)).collect();
        for (i, (own, ..)) in values.iter().enumerate() {
            Self::row(t, format!("{} := {own}", Self::litmus(t.node, a + i)));
        }
        let c: Vec<String> = values.iter().map(|(_, c, _)| c.clone()).collect();
        let line = self.writes(t.node, (a, n), &c, values.iter().all(|v| v.2));
        self.line(t, &line);
        t.cost += n;
        true
    }

    /// Copies words to others: all are read, and then all are written.
    fn copy(&mut self, t: &mut Thread) -> bool {
        let Some((a, n)) = self.range(t.node, 1, 3) else { return false };
        let Some((b, m)) = self.range(t.node, n, n) else { return false };
        if a == b || m != n {
            return false;
        }
        let overlaps = a < b + n && b < a + n;
        if overlaps && !self.copies_upwards(n) {
            return false;
        }
        let own = self.hidden(t, (a, n));
        for (i, h) in own.iter().enumerate() {
            Self::row(t, format!("{} := {h}", Self::litmus(t.node, b + i)));
        }
        let (w, x, y) = (self.word_type(), self.word(t.node, a), self.word(t.node, b));
        let styles =
            ["memmove in memory", "memcpy in memory", "structure in memory", "structure given in memory", "mempcpy"];
        let styles = match () {
            () if !self.copies_upwards(n) => &styles[2..4],
            () if n == 1 || overlaps => &styles[..1],
            () => &styles[..],
        };
        let line = match self.style(styles) {
            "memmove in memory" => format!("memmove(&{y}, &{x}, {n} * sizeof({w}));"),
            "memcpy in memory" => format!("memcpy(&{y}, &{x}, {n} * sizeof({w}));"),
            "mempcpy" => format!("mempcpy(&{y}, &{x}, {n} * sizeof({w}));"),
            "structure in memory" => {
                let record = self.record(n);
                format!("*({record} *)&{y} = *({record} *)&{x};")
            }
            _ => {
                let record = self.record(n);
                let give = self.helper(
                    &format!("give{n}"),
                    format!("static UNUSED {record} NAME({record} *from) {{ return *from; }}"),
                );
                format!("*({record} *)&{y} = {give}(({record} *)&{x});")
            }
        };
        self.line(t, &line);
        t.cost += 2 * n;
        true
    }

    /// Compares words with constants, or with other words.
    fn compare(&mut self, t: &mut Thread) -> bool {
        let Some((a, n)) = self.range(t.node, 1, 4) else { return false };
        let own = self.hidden(t, (a, n));
        let (w, x) = (self.word_type(), self.word(t.node, a));
        let (e, c) = self.register(t);
        let others = if self.one_in(3) && self.choices < 2 { self.range(t.node, n, n) } else { None };
        let (mut line, meaning): (String, Meaning) =
            if let Some((b, _)) = others.filter(|(b, _)| *b + n <= a || a + n <= *b) {
                let others = self.hidden(t, (b, n));
                self.in_either_order(t, n);
                let y = self.word(t.node, b);
                self.styles.insert("memcmp of memory");
                let is_equal: Meaning =
                    Box::new(move |value, _| i64::from(own.iter().zip(&others).all(|(a, b)| value(a) == value(b))));
                t.cost += n;
                (format!("{c} = memcmp(&{x}, &{y}, {n} * sizeof({w})) == 0;"), is_equal)
            } else {
                let values: Vec<i64> = (0..n).map(|_| if self.one_in(3) { 0 } else { self.value() }).collect();
                let list: Vec<String> = values.iter().map(|v| self.constant(*v)).collect();
                let list = cast(w, &list);
                let call = match self.style(&["memcmp", "memcmp turned", "bcmp"]) {
                    "memcmp" => format!("memcmp(&{x}, l, sizeof l)"),
                    "memcmp turned" => format!("memcmp(l, &{x}, sizeof l)"),
                    _ => format!("bcmp(&{x}, l, sizeof l)"),
                };
                let is_equal: Meaning =
                    Box::new(move |value, _| i64::from(own.iter().zip(&values).all(|(h, v)| value(h) == *v)));
                (format!("{{ {w} l[{n}] = {{ {list} }}; {c} = {call} == 0; }}"), is_equal)
            };
        self.records(t, &mut line, (&e, &c), meaning);
        self.line(t, &line);
        t.cost += n;
        true
    }

    /// Lets the last two texts of n words be read in either order: C leaves it open.
    fn in_either_order(&mut self, t: &mut Thread, n: usize) {
        let mut rows = t.rows.split_off(t.rows.len() - 2 * n);
        for is_first in [true, false] {
            t.rows.extend(rows.iter().map(|row| (row.0.clone(), row.1, Some((self.choices, is_first)))));
            rows.rotate_left(n);
        }
        self.choices += 1;
    }

    fn set(&mut self, t: &mut Thread) -> bool {
        let Some((a, n)) = self.range(t.node, 1, 4) else { return false };
        let byte = if self.is_text { self.pick(&[0, 98]) } else { i64::from(self.size == 1) * self.rng.i64(0..3) };
        let v = if self.size == 8 && byte != 0 { FULL } else { byte };
        for i in a..a + n {
            Self::row(t, format!("{} := {v}", Self::litmus(t.node, i)));
        }
        let (w, x) = (self.word_type(), self.word(t.node, a));
        let line = match self.style(if byte == 0 { &["memset", "memset", "bzero"] } else { &["memset"] }) {
            "memset" => format!("memset(&{x}, {byte}, {n} * sizeof({w}));"),
            _ => format!("bzero(&{x}, {n} * sizeof({w}));"),
        };
        self.line(t, &line);
        t.cost += n;
        true
    }

    /// Reads words as text.
    fn text(&mut self, t: &mut Thread) -> bool {
        let (node, size, count) = (t.node, self.size, self.memories[t.node].init.len());
        let (a, k) = self.range(node, 1, 4).unwrap_or((0, 1));
        let x = format!("(char *)&{}", self.word(node, a));
        let (e, c) = (self.name("r"), "text");
        let style = self.style(&[
            "strlen",
            "strnlen",
            "strcmp",
            "strncmp",
            "strcpy",
            "strncpy",
            "snprintf %s",
            "sprintf",
            "snprintf %.*s",
            "strdup",
            "strchr",
            "strcat",
            "strstr",
            "strcasecmp",
            "stpcpy",
            "memchr",
            "strndup",
            "strtoul",
            "asprintf",
        ]);
        let (bytes, is_bounded) = match style {
            "strnlen" | "strncmp" | "strncpy" | "snprintf %.*s" | "memchr" | "strndup" => (k * size, true),
            _ => (usize::MAX, false),
        };
        // Words are read as long as none has the end.
        let last = if is_bounded { a + k } else { count };
        let mut own = Vec::new();
        for i in a..last {
            let h = self.name("h");
            Self::row(t, format!("{h} := {}", Self::litmus(node, i)));
            own.push(h.clone());
            t.cost += 1;
            if i + 1 < last && style != "memchr" {
                let goes_on = if size == 1 { format!("{h} != 0") } else { format!("{h} = {FULL}") };
                Self::row(t, format!("if {goes_on} {{"));
            }
        }
        for _ in a + 1..if style == "memchr" { a } else { last } {
            Self::row(t, "}".to_owned());
        }
        let literal = self.pick(&["bb", "a", "", "bbbbbbbb", "ab"]);
        let short = &literal[..literal.len().min(bytes)];
        let first = |s: &[u8]| (s.len() * 256) as i64 + i64::from(s.first().copied().unwrap_or(0));
        let after = "[0] + 256 * strlen(l)";
        let (code, meaning): (String, TextMeaning) = match style {
            "strlen" => (format!("{c} = strlen({x});"), Box::new(|s| s.len() as i64)),
            "strnlen" => (format!("{c} = strnlen({x}, {bytes});"), Box::new(|s| s.len() as i64)),
            "strcmp" => (
                format!("{c} = strcmp({x}, \"{literal}\") == 0;"),
                Box::new(move |s| i64::from(s == literal.as_bytes())),
            ),
            "strcasecmp" => {
                let upper = literal.to_uppercase();
                (
                    format!("{c} = strcasecmp(\"{upper}\", {x}) == 0;"),
                    Box::new(move |s| i64::from(s == literal.as_bytes())),
                )
            }
            "strncmp" => (
                format!("{c} = strncmp({x}, \"{literal}\", {bytes}) == 0;"),
                Box::new(move |s| i64::from(s == short.as_bytes())),
            ),
            "strcpy" => (format!("{{ char l[64]; strcpy(l, {x}); {c} = l{after}; }}"), Box::new(first)),
            "stpcpy" => (
                format!("{{ char l[64]; char *end = stpcpy(l, {x}); {c} = l[0] + 256 * (end - l); }}"),
                Box::new(first),
            ),
            "strncpy" => {
                (format!("{{ char l[64] = \"\"; strncpy(l, {x}, {bytes}); {c} = l{after}; }}"), Box::new(first))
            }
            "snprintf %s" => (
                format!("{{ char l[64]; int n = snprintf(l, sizeof l, \"%s\", {x}); {c} = l[0] + 256 * n; }}"),
                Box::new(first),
            ),
            "sprintf" => (
                format!("{{ char l[64]; sprintf(l, \"%s;%d\", {x}, 7); {c} = strlen(l); }}"),
                Box::new(|s| s.len() as i64 + 2),
            ),
            "snprintf %.*s" => (
                format!("{{ char l[64]; snprintf(l, sizeof l, \"%.*s\", {bytes}, {x}); {c} = l{after}; }}"),
                Box::new(first),
            ),
            "strdup" => (format!("{{ char *l = strdup({x}); {c} = l{after}; free(l); }}"), Box::new(first)),
            "strndup" => (format!("{{ char *l = strndup({x}, {bytes}); {c} = l{after}; free(l); }}"), Box::new(first)),
            "asprintf" => (
                format!("{{ char *l; int n = asprintf(&l, \"%s\", {x}); {c} = l[0] + 256 * n; free(l); }}"),
                Box::new(first),
            ),
            "strcat" => (
                format!("{{ char l[64] = \"x\"; strcat(l, {x}); {c} = strlen(l); }}"),
                Box::new(|s| s.len() as i64 + 1),
            ),
            "strtoul" => (
                format!("{c} = strtoul({x}, NULL, 16) & 255;"),
                Box::new(|s| {
                    // A number of more than 64 bits is the largest one.
                    if s.len() > 16 { 255 } else { s.iter().fold(0i64, |v, b| (v * 16 + i64::from(*b) - 87) & 255) }
                }),
            ),
            "strchr" => {
                let find = |s: &[u8]| s.iter().position(|b| *b == b'b').map_or(0, |at| at as i64 + 1);
                (format!("{{ char *l = {x}, *at = strchr(l, 'b'); {c} = at ? at - l + 1 : 0; }}"), Box::new(find))
            }
            "memchr" => {
                let find = |s: &[u8]| s.iter().position(|b| *b == b'b').map_or(0, |at| at as i64 + 1);
                (
                    format!("{{ char *l = {x}, *at = (char *)memchr(l, 'b', {bytes}); {c} = at ? at - l + 1 : 0; }}"),
                    Box::new(find),
                )
            }
            _ => {
                let has = |s: &[u8]| i64::from(s.windows(2).any(|w| w == b"ab"));
                (format!("{c} = strstr({x}, \"ab\") != 0;"), Box::new(has))
            }
        };
        let of_words: Meaning = Box::new(move |value, _| {
            let mut s = Vec::new();
            for h in &own {
                let word = value(h).to_le_bytes();
                let text = &word[..size];
                let end = text.iter().position(|b| *b == 0 && style != "memchr");
                s.extend(&text[..end.unwrap_or(size)]);
                if end.is_some() {
                    break;
                }
            }
            s.truncate(bytes);
            meaning(&s)
        });
        // A word of one byte has no room for a number of more.
        self.line(t, &format!("{{ int64_t {c}; {code} mowgli_outcome(\"{e}\", {c}); }}"));
        self.recorded.push(Recorded { name: e, meaning: of_words });
        true
    }

    /// Writes text to words of one byte.
    fn write_text(&mut self, t: &mut Thread) -> bool {
        if self.size != 1 {
            return false;
        }
        let Some((a, n)) = self.range(t.node, 2, 4) else { return false };
        let length = self.rng.usize(..n);
        let text: String = (0..length).map(|_| self.pick(&['a', 'b'])).collect();
        let style = self.style(&["strcpy out", "strncpy out", "snprintf out", "stpcpy out"]);
        let words = if style == "strncpy out" { n } else { length + 1 };
        for i in 0..words {
            Self::row(
                t,
                format!("{} := {}", Self::litmus(t.node, a + i), text.as_bytes().get(i).copied().unwrap_or(0)),
            );
        }
        let x = format!("(char *)&{}", self.word(t.node, a));
        let line = match style {
            "strcpy out" => format!("strcpy({x}, \"{text}\");"),
            "strncpy out" => format!("strncpy({x}, \"{text}\", {n});"),
            "stpcpy out" => format!("stpcpy({x}, \"{text}\");"),
            _ => format!("snprintf({x}, {n}, \"%s\", \"{text}\");"),
        };
        self.line(t, &line);
        t.cost += words;
        true
    }

    fn locked(&mut self, t: &mut Thread) {
        let (i, w) = (self.any(t.node), self.word_type());
        let (x, own) = (self.word(t.node, i), Self::litmus(t.node, i));
        let (r, c) = self.register(t);
        let (old, v) = (if self.one_in(2) { 0 } else { self.value() }, self.value());
        let (old_c, v_c) = (self.constant(old), self.constant(v));
        let mut line = match self.rng.u8(..3) {
            0 => {
                Self::row(t, format!("{r} := cas({own}, {old}, {v})"));
                match self.style(&["cas", "sync cas", "stdatomic cas"]) {
                    "cas" => format!(
                        "{{ {w} l = {old_c}; __atomic_compare_exchange_n(&{x}, &l, ({w}){v_c}, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); {c} = l; }}"
                    ),
                    "sync cas" => format!("{c} = __sync_val_compare_and_swap(&{x}, ({w}){old_c}, ({w}){v_c});"),
                    _ => format!("{{ {w} l = {old_c}; ATOMIC_COMPARE({w}, &{x}, &l, ({w}){v_c}); {c} = l; }}"),
                }
            }
            1 if !self.is_text => {
                Self::row(t, format!("{r} := faa({own}, {v})"));
                match self.style(&["faa", "sync faa", "stdatomic faa"]) {
                    "faa" => format!("{c} = __atomic_fetch_add(&{x}, {v_c}, __ATOMIC_ACQ_REL);"),
                    "sync faa" => format!("{c} = __sync_fetch_and_add(&{x}, {v_c});"),
                    _ => format!("{c} = ATOMIC_ADD({w}, &{x}, {v_c});"),
                }
            }
            _ => {
                Self::row(t, format!("{r} := xchg({own}, {v})"));
                match self.style(&["xchg", "sync xchg", "stdatomic xchg"]) {
                    "xchg" => format!("{c} = __atomic_exchange_n(&{x}, ({w}){v_c}, __ATOMIC_SEQ_CST);"),
                    "sync xchg" => format!("{c} = __sync_lock_test_and_set(&{x}, ({w}){v_c});"),
                    _ => format!("{c} = ATOMIC_EXCHANGE({w}, &{x}, ({w}){v_c});"),
                }
            }
        };
        self.records_register(t, &mut line, &r, &c);
        self.line(t, &line);
        t.cost += 2;
    }

    fn fence(&mut self, t: &mut Thread) {
        Self::row(t, "mfence".to_owned());
        let line = match self.style(&["fence", "sync fence", "stdatomic fence", "_mm_mfence"]) {
            "fence" => "__atomic_thread_fence(__ATOMIC_SEQ_CST);",
            "sync fence" => "__sync_synchronize();",
            "stdatomic fence" => "ATOMIC_FENCE();",
            _ => "_mm_mfence();",
        };
        self.line(t, line);
    }

    /// Waits until words have values.
    fn awaits(&mut self, t: &mut Thread) -> bool {
        let (i, v) = (self.any(t.node), self.value());
        let (x, own, v_c) = (self.word(t.node, i), Self::litmus(t.node, i), self.constant(v));
        let w = self.word_type();
        t.cost += 2;
        match self.rng.u8(..4) {
            0 => {
                let (r, c) = self.register(t);
                let styles = if self.dialect.optimises {
                    &["wait volatile", "wait atomic"][..]
                } else {
                    &["wait volatile", "wait atomic", "wait plain"]
                };
                let load = match self.style(styles) {
                    "wait volatile" => format!("*(volatile {w} *)&{x}"),
                    "wait atomic" => format!("__atomic_load_n(&{x}, __ATOMIC_ACQUIRE)"),
                    _ => x,
                };
                Self::row(t, format!("{r} := await {own} != 0"));
                let mut line = format!("while (({c} = {load}) == 0) {{}}");
                self.records_register(t, &mut line, &r, &c);
                self.line(t, &line);
            }
            1 => {
                self.styles.insert("wait for a value");
                Self::row(t, format!("await {own} = {v}"));
                self.line(t, &format!("do {{}} while (*(volatile {w} *)&{x} != {v_c});"));
            }
            2 => {
                // Two looks.
                self.styles.insert("bounded wait");
                let (r, c) = self.register(t);
                Self::row(t, format!("{r} := {own}"));
                Self::row(t, format!("if {r} != {v} {{"));
                Self::row(t, format!("{r} := {own}"));
                Self::row(t, "}".to_owned());
                let mut line =
                    format!("for (int i = 0; i < 2; i++) {{ {c} = *(volatile {w} *)&{x}; if ({c} == {v_c}) break; }}");
                self.records_register(t, &mut line, &r, &c);
                self.line(t, &line);
            }
            _ => {
                let Some((a, n)) = self.range(t.node, 2, 3) else { return false };
                self.styles.insert("loop of copies");
                let registers: Vec<(String, String)> = (0..n).map(|_| self.register(t)).collect();
                let to: Vec<String> = registers.iter().map(|(_, c)| c.clone()).collect();
                let all = |t: &mut Thread| {
                    for (i, (r, _)) in registers.iter().enumerate() {
                        Self::row(t, format!("{r} := {}", Self::litmus(t.node, a + i)));
                    }
                };
                let until = self.rng.usize(..n);
                let (r, c) = registers[until].clone();
                all(t);
                Self::row(t, format!("while {r} != {v} {{"));
                all(t);
                Self::row(t, "}".to_owned());
                let read = self.reads(t.node, (a, n), &to, true);
                let mut line = if self.one_in(2) {
                    format!("do {{ {read} }} while ({c} != {v_c});")
                } else {
                    format!("for (;;) {{ {read} if ({c} == {v_c}) break; }}")
                };
                for (r, c) in &registers {
                    self.records_register(t, &mut line, r, c);
                }
                self.line(t, &line);
                t.cost += n;
            }
        }
        true
    }

    fn branch(&mut self, t: &mut Thread) -> bool {
        if t.known.is_empty() {
            return false;
        }
        let r = t.known[self.rng.usize(..t.known.len())].clone();
        let (c, v, i, to) = (self.in_c(t, &r), self.value(), self.any(t.node), self.value());
        let (v_c, to_c, x) = (self.constant(v), self.constant(to), self.word(t.node, i));
        Self::row(t, format!("if {r} = {v} {{"));
        Self::row(t, format!("{} := {to}", Self::litmus(t.node, i)));
        Self::row(t, "}".to_owned());
        self.styles.insert("branch");
        self.line(t, &format!("if ({c} == {v_c}) {x} = {to_c};"));
        t.cost += 1;
        true
    }

    /// Returns a queue pair of a thread, and what stands behind the name of an operation by it.
    fn queue_pair(&mut self, t: &Thread) -> (usize, String) {
        let q = usize::from(self.one_in(4));
        self.queue_pairs.insert((t.number, q));
        (q, format!("p{}_qp{}_{q}", self.k, t.number))
    }

    fn way(q: usize, is_signaled: bool) -> String {
        let parts: Vec<&str> =
            [(q > 0).then_some("q2"), (!is_signaled).then_some("unsignalled")].into_iter().flatten().collect();
        if parts.is_empty() { String::new() } else { format!("@{}", parts.join(",")) }
    }

    /// Posts an operation that moves words.
    fn post(&mut self, t: &mut Thread) -> bool {
        let other = 1 - t.node;
        let (q, qp) = self.queue_pair(t);
        let is_signaled = !self.one_in(4);
        let is_put = self.rng.bool();
        let Some((z, n)) = self.range(other, 1, 3) else { return false };
        let is_inline = is_put && self.one_in(3);
        // The local words of an operation of several scatter elements lie where they may.
        let local = self.range(t.node, n, n);
        let Some((x, _)) = local else { return false };
        let mut flags = self.flags(t, q, is_signaled);
        let (w, way) = (self.word_type(), Self::way(q, is_signaled));
        let number = if n == 1 { String::new() } else { format!(", {n}") };
        let (from, to) = (Self::litmus(t.node, x), Self::litmus(other, z));
        if is_inline {
            flags += " | IBV_SEND_INLINE";
            let array = self.name("t");
            let is_private = self.one_in(3);
            self.declared.push(format!("{array}@{}[{n}] = 0;", t.node + 1));
            let values: Vec<String> =
                if is_private { (0..n).map(|_| self.value().to_string()).collect() } else { self.hidden(t, (x, n)) };
            for (i, v) in values.iter().enumerate() {
                Self::row(t, format!("{array}[{i}] := {v}"));
            }
            Self::row(t, format!("put{way}({to}, {array}[0]{number})"));
            let c: Vec<String> =
                values.iter().map(|v| v.parse().map_or_else(|_| v.clone(), |v| self.constant(v))).collect();
            let request = if is_private {
                self.styles.insert("inline of a local");
                format!("{w} l[{n}] = {{ {} }}; with(&rq, l, sizeof l, NULL);", cast(w, &c))
            } else if n > 1 && self.one_in(2) {
                self.styles.insert("gathered inline");
                let each: Vec<String> =
                    (x..x + n).map(|i| format!("with(&rq, &{}, sizeof({w}), NULL);", self.word(t.node, i))).collect();
                each.join(" ")
            } else {
                self.styles.insert("inline");
                format!("with(&rq, &{}, {n} * sizeof({w}), NULL);", self.word(t.node, x))
            };
            let line = format!(
                "{{ begins(&rq, IBV_WR_RDMA_WRITE, {flags}); {request} into(&rq, &{}, {}); posts({qp}, &rq); }}",
                self.word(other, z),
                self.region(other, z)
            );
            self.line(t, &line);
            t.cost += 3 * n;
        } else {
            Self::row(
                t,
                if is_put {
                    format!("put{way}({to}, {from}{number})")
                } else {
                    format!("get{way}({from}, {to}{number})")
                },
            );
            let op = if is_put { "IBV_WR_RDMA_WRITE" } else { "IBV_WR_RDMA_READ" };
            let elements = if n > 1 && self.one_in(2) {
                self.styles.insert("gathered");
                let each: Vec<String> = (x..x + n)
                    .map(|i| format!("with(&rq, &{}, sizeof({w}), {});", self.word(t.node, i), self.region(t.node, i)))
                    .collect();
                each.join(" ")
            } else {
                format!("with(&rq, &{}, {n} * sizeof({w}), {});", self.word(t.node, x), self.region(t.node, x))
            };
            let line = format!(
                "{{ begins(&rq, {op}, {flags}); {elements} into(&rq, &{}, {}); posts({qp}, &rq); }}",
                self.word(other, z),
                self.region(other, z)
            );
            self.line(t, &line);
            t.cost += 2 * n;
        }
        t.open[q] += usize::from(is_signaled);
        if !is_signaled {
            self.switches.insert("unsignalled");
            self.styles.insert("unsignaled");
        }
        true
    }

    fn flags(&mut self, t: &mut Thread, q: usize, is_signaled: bool) -> String {
        let mut flags = if is_signaled { "IBV_SEND_SIGNALED" } else { "0" }.to_owned();
        if q == 0 && std::mem::take(&mut t.fenced) {
            flags += " | IBV_SEND_FENCE";
        }
        flags
    }

    /// Posts two writes by one call.
    fn chain(&mut self, t: &mut Thread) -> bool {
        let other = 1 - t.node;
        let (q, qp) = self.queue_pair(t);
        let mut line = "{ struct request rq2;".to_owned();
        for name in ["rq", "rq2"] {
            let (x, z) = (self.any(t.node), self.any(other));
            let flags = self.flags(t, q, true);
            Self::row(t, format!("put{}({}, {})", Self::way(q, true), Self::litmus(other, z), Self::litmus(t.node, x)));
            let _ = write!(
                line,
                " begins(&{name}, IBV_WR_RDMA_WRITE, {flags}); with(&{name}, &{}, sizeof({}), {}); into(&{name}, &{}, {});",
                self.word(t.node, x),
                self.word_type(),
                self.region(t.node, x),
                self.word(other, z),
                self.region(other, z)
            );
        }
        let _ = write!(line, " rq.wr.next = &rq2.wr; posts({qp}, &rq); }}");
        self.styles.insert("chained");
        self.line(t, &line);
        t.open[q] += 2;
        t.cost += 4;
        true
    }

    fn remote_atomic(&mut self, t: &mut Thread) -> bool {
        if self.size != 8 {
            return false;
        }
        let other = 1 - t.node;
        let (q, qp) = self.queue_pair(t);
        let (x, z, v) = (self.any(t.node), self.any(other), self.value());
        let flags = self.flags(t, q, true);
        let (to, from, way) = (Self::litmus(t.node, x), Self::litmus(other, z), Self::way(q, true));
        let (op, a, b) = if self.is_text || self.rng.bool() {
            let old = if self.one_in(2) { 0 } else { self.value() };
            Self::row(t, format!("rcas{way}({to}, {from}, {old}, {v})"));
            ("IBV_WR_ATOMIC_CMP_AND_SWP", old, v)
        } else {
            Self::row(t, format!("rfaa{way}({to}, {from}, {v})"));
            ("IBV_WR_ATOMIC_FETCH_AND_ADD", v, 0)
        };
        let line = format!(
            "{{ begins(&rq, {op}, {flags}); with(&rq, &{}, 8, {}); atomically(&rq, &{}, {}, {}, {}); posts({qp}, &rq); }}",
            self.word(t.node, x),
            self.region(t.node, x),
            self.word(other, z),
            self.region(other, z),
            self.constant(a),
            self.constant(b)
        );
        self.line(t, &line);
        t.open[q] += 1;
        t.cost += 3;
        true
    }

    fn poll(&mut self, t: &mut Thread) -> bool {
        let q = match t.open {
            [0, 0] if !self.one_in(20) => return false,
            [0, n] if n > 0 => 1,
            [_, 0] => 0,
            _ => usize::from(self.one_in(2)),
        };
        self.queue_pairs.insert((t.number, q));
        let (cq, poll) = (
            format!("p{}_qp{}_{q}->send_cq", self.k, t.number),
            format!("poll{}({})", if q > 0 { "@q2" } else { "" }, 2 - t.node),
        );
        t.cost += 1;
        if self.choices < 2 && self.one_in(5) {
            let (statement, number) = (t.lines.len(), self.choices);
            t.rows.push((poll, statement, Some((number, true))));
            self.choices += 1;
            self.styles.insert("bounded poll");
            let (e, c) = self.register(t);
            let looks = self.rng.usize(1..=2);
            let mut line = format!(
                "{c} = 0; for (int i = 0; i < {looks} && !{c}; i++) {c} = ibv_poll_cq({cq}, 1, wc); if ({c}) succeeded(wc);"
            );
            self.records(t, &mut line, (&e, &c), Box::new(move |_, found| i64::from(found[number])));
            self.line(t, &line);
            t.open[q] = t.open[q].saturating_sub(1);
            return true;
        }
        let line = if t.open[q] > 1 && self.one_in(3) {
            Self::row(t, poll.clone());
            Self::row(t, poll);
            t.open[q] -= 2;
            self.styles.insert("poll for two");
            format!("for (int got = 0; got < 2;) got += ibv_poll_cq({cq}, 2 - got, wc + got);")
        } else {
            Self::row(t, poll);
            t.open[q] = t.open[q].saturating_sub(1);
            match self.style(&["poll while", "poll do", "poll for", "poll heap"]) {
                "poll while" => format!("while (ibv_poll_cq({cq}, 1, wc) == 0) {{}} succeeded(wc);"),
                "poll do" => format!("{{ int n; do n = ibv_poll_cq({cq}, 1, wc); while (n < 1); succeeded(wc); }}"),
                "poll for" => {
                    format!("for (;;) {{ if (!ibv_poll_cq({cq}, 1, wc)) continue; if (wc->status) abort(); break; }}")
                }
                _ => format!(
                    "{{ struct ibv_wc *own = (struct ibv_wc *)malloc(sizeof *own); while (!ibv_poll_cq({cq}, 1, own)) {{}} succeeded(own); free(own); }}"
                ),
            }
        };
        self.line(t, &line);
        true
    }

    fn remote_fence(&mut self, t: &mut Thread) {
        if t.fenced {
            return;
        }
        Self::row(t, format!("rfence({})", 2 - t.node));
        self.queue_pairs.insert((t.number, 0));
        t.fenced = true;
        self.styles.insert("IBV_SEND_FENCE");
        self.line(t, ";");
    }

    /// Sends a message to the other node.
    fn send(&mut self, t: &mut Thread) -> bool {
        let other = 1 - t.node;
        if self.messages[other].len() > 2 {
            return false;
        }
        let (q, qp) = self.queue_pair(t);
        let tag = 1 + self.messages[other].len() as i64;
        let send = format!("send{}({}, {tag})", if q > 0 { "@q2" } else { "" }, other + 1);
        t.cost += 2;
        let silent = self.flags(t, q, false);
        let mut inbox = None;
        let line = match self.rng.u8(..4) {
            0 => {
                Self::row(t, send);
                self.styles.insert("SEND inline");
                format!(
                    "{{ uint64_t l[2] = {{ {tag}, 9 }}; begins(&rq, IBV_WR_SEND, {silent} | IBV_SEND_INLINE); with(&rq, l, sizeof l, NULL); posts({qp}, &rq); }}"
                )
            }
            1 => {
                Self::row(t, send);
                self.styles.insert("SEND with immediate");
                format!("{{ begins(&rq, IBV_WR_SEND_WITH_IMM, {silent}); immediate(&rq, {tag}); posts({qp}, &rq); }}")
            }
            2 if self.size == 8 => {
                let Some((x, n)) = self.range(t.node, 1, 2) else { return false };
                let array = self.name("in");
                self.declared.push(format!("{array}@{}[{n}] = 0;", other + 1));
                let number = if n == 1 { String::new() } else { format!(", {n}") };
                let way = Self::way(q, false);
                self.switches.insert("unsignalled");
                Self::row(t, format!("put{way}({array}[0], {}{number})", Self::litmus(t.node, x)));
                Self::row(t, send);
                inbox = Some((array, n));
                t.cost += 2 * n;
                self.styles.insert("SEND of words");
                format!(
                    "{{ begins(&rq, IBV_WR_SEND_WITH_IMM, {silent}); with(&rq, &{}, {n} * 8, {}); immediate(&rq, {tag}); posts({qp}, &rq); }}",
                    self.word(t.node, x),
                    self.region(t.node, x)
                )
            }
            _ => {
                let (Some((z, n)), true) = (self.range(other, 1, 2), true) else { return false };
                let Some((x, _)) = self.range(t.node, n, n) else { return false };
                let is_signaled = self.rng.bool();
                let flags = if is_signaled { silent.replacen('0', "IBV_SEND_SIGNALED", 1) } else { silent };
                if !is_signaled {
                    self.switches.insert("unsignalled");
                }
                t.open[q] += usize::from(is_signaled);
                let number = if n == 1 { String::new() } else { format!(", {n}") };
                Self::row(
                    t,
                    format!(
                        "put{}({}, {}{number})",
                        Self::way(q, is_signaled),
                        Self::litmus(other, z),
                        Self::litmus(t.node, x)
                    ),
                );
                Self::row(t, send);
                t.cost += 2 * n;
                self.styles.insert("WRITE with immediate");
                format!(
                    "{{ begins(&rq, IBV_WR_RDMA_WRITE_WITH_IMM, {flags}); with(&rq, &{}, {n} * sizeof({}), {}); into(&rq, &{}, {}); immediate(&rq, {tag}); posts({qp}, &rq); }}",
                    self.word(t.node, x),
                    self.word_type(),
                    self.region(t.node, x),
                    self.word(other, z),
                    self.region(other, z)
                )
            }
        };
        self.line(t, &line);
        self.messages[other].push(Message { tag, inbox });
        true
    }

    /// Receives a message. The data of each are in the buffer that the work request names.
    fn receive(&mut self, t: &mut Thread) -> bool {
        if !t.receives {
            return false;
        }
        let (r, c) = self.register(t);
        Self::row(t, format!("{r} := recv()"));
        let cq = format!("p{}_card[{}].received", self.k, t.node);
        let buffer = format!("p{}_in{}[wc->wr_id]", self.k, t.node + 1);
        let mut line = format!(
            "while (ibv_poll_cq({cq}, 1, wc) == 0) {{}} succeeded(wc); {c} = wc->wc_flags & IBV_WC_WITH_IMM ? wc->imm_data : {buffer}[0];"
        );
        let data: Vec<(i64, String, usize)> =
            self.messages[t.node].iter().filter_map(|m| m.inbox.clone().map(|(x, n)| (m.tag, x, n))).collect();
        for (tag, inbox, n) in data {
            let registers: Vec<(String, String)> = (0..n).map(|_| self.register(t)).collect();
            Self::row(t, format!("if {r} = {tag} {{"));
            for (i, (own, _)) in registers.iter().enumerate() {
                Self::row(t, format!("{own} := {inbox}[{i}]"));
            }
            Self::row(t, "}".to_owned());
            let each: String =
                registers.iter().enumerate().map(|(i, (_, c))| format!(" {c} = {buffer}[{i}];")).collect();
            let _ = write!(line, " if ({c} == {tag}) {{{each} }}");
            for (own, c) in registers {
                let name = own.clone();
                t.recorded.push((own.clone(), c));
                self.recorded.push(Recorded { name: own, meaning: Box::new(move |value, _| value(&name)) });
            }
        }
        self.records_register(t, &mut line, &r, &c);
        self.line(t, &line);
        t.cost += 2;
        true
    }

    /// Adds a random statement to a thread. False if the statement that was chosen is not possible.
    fn statement(&mut self, t: &mut Thread) -> bool {
        let kind = self.rng.u8(..if self.has_messages { 30 } else { 25 });
        match kind {
            0 | 1 => self.write_one(t),
            2 => self.read_one(t),
            3..=5 => return self.read_many(t),
            6 | 7 => return self.write_many(t),
            8 => return self.copy(t),
            9 => return self.compare(t),
            10 => return self.set(t),
            11 => self.locked(t),
            12 => self.fence(t),
            13 => return self.awaits(t),
            14 => return self.branch(t),
            15..=17 => return self.post(t),
            18 => return self.chain(t),
            19 => return self.remote_atomic(t),
            20..=22 => return self.poll(t),
            23 if t.open != [0, 0] => self.remote_fence(t),
            23 => return false,
            24 if self.is_text => return self.text(t),
            24 => return self.read_many(t),
            25 | 26 => return self.send(t),
            _ => return self.receive(t),
        }
        true
    }

    fn thread(&mut self, number: usize, node: usize, receives: bool, most: usize) -> Thread {
        use Registers::{Array, Heap, Locals, Statics, Structure, ThreadLocals};
        let all = [
            "locals",
            "locals",
            "statics",
            "thread-locals",
            "heap registers",
            "structure of registers",
            "array of registers",
        ];
        let registers = match self.style(&all) {
            "locals" => Locals,
            "statics" => Statics,
            "thread-locals" => ThreadLocals,
            "heap registers" => Heap,
            "structure of registers" => Structure,
            _ => Array,
        };
        let is_first = number == node;
        let mut starts = if self.is_by_node { Vec::new() } else { vec!["mowgli_node", "mowgli_node"] };
        if self.is_by_node && is_first {
            starts.extend(["main", "main", "main"]);
        }
        if node == 0 || self.is_by_node {
            starts.extend(["pthread_create", if self.dialect.is_cpp { "std::thread" } else { "thrd_create" }]);
        }
        let start = match self.style(&starts) {
            "main" => Start::Main,
            "pthread_create" => Start::Pthread,
            "thrd_create" => Start::Thrd,
            "std::thread" => Start::StdThread,
            _ => Start::Node,
        };
        let mut t = Thread {
            number,
            node,
            rows: Vec::new(),
            lines: Vec::new(),
            registers,
            names: Vec::new(),
            known: Vec::new(),
            recorded: Vec::new(),
            open: [0, 0],
            fenced: false,
            start,
            receives,
            cost: 0,
        };
        let statements = self.rng.usize(1..=4);
        for _ in 0..40 {
            if t.lines.len() >= statements || t.cost >= most {
                break;
            }
            if self.is_text && self.one_in(3) {
                if self.rng.bool() {
                    self.text(&mut t)
                } else {
                    self.write_text(&mut t)
                };
                continue;
            }
            let (rows, recorded, fenced) = (t.rows.len(), self.recorded.len(), t.fenced);
            if !self.statement(&mut t) {
                t.rows.truncate(rows);
                t.fenced = fenced;
                assert_eq!(recorded, self.recorded.len(), "a statement that is not possible records nothing");
            }
        }
        t
    }

    pub(super) fn program(mut self) -> Program {
        let count = if self.one_in(3) { 3 } else { 2 };
        let all_on_one = !self.is_by_node && self.one_in(6);
        let mut threads = Vec::new();
        for number in 0..count {
            let node = if all_on_one { 0 } else { number % 2 };
            let receives = self.has_messages && number < 2 && !(all_on_one && number > 0);
            let most = if number < 2 { 10 } else { 5 };
            let thread = self.thread(number, node, receives, most);
            threads.push(thread);
        }
        let variants = self.variants(&threads);
        let c = self.code(&threads);
        let Self { seed, recorded, styles, helpers, is_by_node, .. } = self;
        let header = helpers.into_values().map(|text| text + "\n").collect();
        let size = threads.iter().map(size).sum();
        Program { seed, c, header, variants, recorded, styles, is_by_node, size }
    }

    /// Writes the tests.
    fn variants(&mut self, threads: &[Thread]) -> Vec<Variant> {
        let mut model = "RDMA_TSO".to_owned();
        if self.has_messages {
            self.switches.insert("messages");
        }
        self.switches.iter().for_each(|switch| _ = write!(model, "+{switch}"));
        let mut declared = "nodes 2;".to_owned();
        for (node, memory) in self.memories.iter().enumerate() {
            let init: Vec<String> = memory.init.iter().map(ToString::to_string).collect();
            let _ = write!(declared, " m{}@{}[{}] = ({});", node + 1, node + 1, init.len(), init.join(", "));
            for i in 0..if self.is_by_node { 0 } else { init.len() } {
                let x = Self::litmus(node, i);
                self.recorded.push(Recorded {
                    name: format!("m{}_{i}", node + 1),
                    meaning: Box::new(move |value, _| value(&x)),
                });
            }
        }
        self.declared.iter().for_each(|text| _ = write!(declared, " {text}"));
        let heads: Vec<String> = threads.iter().map(|t| format!("P{}@{}", t.number + 1, t.node + 1)).collect();
        let shown: String = self
            .memories
            .iter()
            .enumerate()
            .flat_map(|(node, m)| (0..m.init.len()).map(move |i| format!("{}; ", Self::litmus(node, i))))
            .collect();
        (0..1usize << self.choices)
            .map(|bits| {
                let found: Vec<bool> = (0..self.choices).map(|k| bits >> k & 1 == 1).collect();
                let rows: Vec<Vec<&Row>> = threads
                    .iter()
                    .map(|t| t.rows.iter().filter(|row| row.2.is_none_or(|(k, is)| found[k] == is)).collect())
                    .collect();
                let mut text = format!("{model} seed-{}\n{{ {declared} }}\n {} ;\n", self.seed, heads.join(" | "));
                let height = rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
                for k in 0..height {
                    let cells: Vec<&str> =
                        rows.iter().map(|rows| rows.get(k).map_or("", |row| row.0.as_str())).collect();
                    let _ = writeln!(text, " {} ;", cells.join(" | "));
                }
                let _ = writeln!(text, "locations [{shown}]");
                let rows = rows.iter().map(|rows| rows.iter().map(|row| (row.1, row.2)).collect()).collect();
                Variant { text, found, rows }
            })
            .collect()
    }

    /// Writes the program.
    fn code(&mut self, threads: &[Thread]) -> Vec<(String, Option<(usize, usize)>)> {
        let (k, w) = (self.k, self.word_type());
        let mut out: Vec<(String, Option<(usize, usize)>)> = Vec::new();
        let mut setups = [String::new(), String::new()];
        let mut say = |text: String| out.push((text, None));
        for (node, setup) in setups.iter_mut().enumerate() {
            let (layout, init) = (self.memories[node].layout, self.memories[node].init.clone());
            let (name, n) = (format!("p{k}_m{}", node + 1), init.len());
            // Text has an end behind its last word.
            let all = n + usize::from(self.is_text);
            let fields: String = ["a", "b", "c", "d", "end"][..n].iter().map(|m| format!(" {w} {m};")).collect();
            let fields = if self.is_text { format!("{fields} {w} end;") } else { fields };
            let mut at = format!("&{name}");
            let mut size = format!("sizeof {name}");
            match layout {
                Layout::Globals => (0..n).for_each(|i| say(format!("static {w} {name}_{i};"))),
                Layout::Structure => say(format!("static struct {{{fields} }} {name};")),
                Layout::Array => say(format!("static {w} {name}[{all}];")),
                Layout::HeapArray => {
                    say(format!("static {w} *{name};"));
                    let _ = writeln!(setup, "\t{name} = ({w} *)calloc({all}, sizeof *{name});");
                    at.clone_from(&name);
                    size = format!("{all} * sizeof *{name}");
                }
                Layout::HeapStructure => {
                    say(format!("static struct p{k}_s{node} {{{fields} }} *{name};"));
                    let _ = writeln!(setup, "\t{name} = (struct p{k}_s{node} *)calloc(1, sizeof *{name});");
                    at.clone_from(&name);
                    size = format!("sizeof *{name}");
                }
                Layout::Pointers => {
                    // A program of each node has the addresses of the other one, too.
                    let all: Vec<String> = (0..n).map(|i| format!("&{name}_all[{}]", n - 1 - i)).collect();
                    say(format!("static {w} {name}_all[{n}], *{name}[{n}] = {{ {} }};", all.join(", ")));
                    at = format!("{name}_all");
                    size = format!("sizeof {name}_all");
                }
                Layout::Nested => {
                    let rest: String = ["c", "d"][..n.saturating_sub(2)].iter().map(|m| format!(" {w} {m};")).collect();
                    say(format!(
                        "static struct {{ char tag[3]; struct {{ {w} a; {w} b; }} in; char pad[5];{rest} }} {name};"
                    ));
                }
                Layout::Union => say(format!("static union {{ struct {{{fields} }} s; {w} w[{all}]; }} {name};")),
            }
            say(format!("static struct ibv_mr *p{k}_mr{}[4];", node + 1));
            for (i, v) in init.iter().enumerate() {
                let word = self.word(node, i);
                if layout == Layout::Globals {
                    let _ = writeln!(
                        setup,
                        "\tp{k}_mr{}[{i}] = memory_of(&p{k}_card[{node}], &{word}, sizeof {word});",
                        node + 1
                    );
                }
                if *v != 0 {
                    let _ = writeln!(setup, "\t{word} = {};", self.constant(*v));
                }
            }
            if layout != Layout::Globals {
                let _ = writeln!(setup, "\tp{k}_mr{}[0] = memory_of(&p{k}_card[{node}], {at}, {size});", node + 1);
            }
        }
        say(format!("static struct card p{k}_card[2];"));
        let pairs: Vec<(usize, usize)> = self.queue_pairs.iter().copied().collect();
        let mut buffers = [0, 0];
        // For each node what begins its sides of the queue pairs, and what connects them.
        let (mut sides, mut connections, mut together) =
            ([String::new(), String::new()], [String::new(), String::new()], String::new());
        for (position, &(t, q)) in pairs.iter().enumerate() {
            let (own, far) = (format!("p{k}_qp{t}_{q}"), format!("p{k}_other{t}_{q}"));
            say(format!("static struct ibv_qp *{own}, *{far};"));
            let (node, other) = (threads[t].node, 1 - threads[t].node);
            let _ = writeln!(together, "\t{own} = pair_between(&p{k}_card[{node}], &p{k}_card[{other}], &{far});");
            for (side, qp) in [(node, &own), (other, &far)] {
                let _ = writeln!(
                    sides[side],
                    "\t{qp} = pair_of(&p{k}_card[{side}]); begins_pair({qp}); mine.pairs[{position}] = {qp}->qp_num; mine.lid = lid_of({qp});"
                );
                let _ = writeln!(connections[side], "\tconnect_to({qp}, theirs.lid, theirs.pairs[{position}]);");
            }
            for _ in 0..self.messages[other].len() {
                let (id, to) = (buffers[other], format!("p{k}_in{}", other + 1));
                buffers[other] += 1;
                let receive =
                    format!("\treceive_into({far}, p{k}_in_mr{}, {to}[{id}], sizeof {to}[{id}], {id});\n", other + 1);
                together += &receive;
                sides[other] += &receive;
            }
        }
        let mut cards = [String::new(), String::new()];
        for node in 0..2 {
            cards[node] = format!("\tcard_open(&p{k}_card[{node}], {});\n", if self.is_by_node { 1 } else { node + 1 });
            if self.has_messages {
                let (n, to) = (buffers[node].max(1), format!("p{k}_in{}", node + 1));
                say(format!("static uint64_t {to}[{n}][2];"));
                say(format!("static struct ibv_mr *p{k}_in_mr{};", node + 1));
                let _ = writeln!(
                    cards[node],
                    "\tp{k}_in_mr{} = memory_of(&p{k}_card[{node}], {to}, sizeof {to});",
                    node + 1
                );
            }
        }
        let setup = if self.is_by_node {
            say(format!("static struct ibv_mr p{k}_far[4];"));
            let by_node = |node: usize| {
                let (own, far) = (node + 1, 2 - node);
                let is_heap =
                    |node: usize| matches!(self.memories[node].layout, Layout::HeapArray | Layout::HeapStructure);
                let base =
                    if is_heap(node) { format!("\tmine.memory = (uintptr_t)p{k}_m{own};\n") } else { String::new() };
                let there = if is_heap(1 - node) {
                    format!("\t*(void **)&p{k}_m{far} = (void *)theirs.memory;\n")
                } else {
                    String::new()
                };
                format!(
                    "if (node == {node}) {{\n{}{}{base}\tfor (int i = 0; i < 4; i++) if (p{k}_mr{own}[i]) mine.keys[i] = p{k}_mr{own}[i]->rkey;\n{}\
                     \texchange({node}, &mine, &theirs);\n{}{there}\
                     \tfor (int i = 0; i < 4; i++) {{ p{k}_far[i].rkey = theirs.keys[i]; p{k}_mr{far}[i] = &p{k}_far[i]; }}\n}}\n",
                    cards[node], setups[node], sides[node], connections[node]
                )
            };
            format!(
                "\tstruct about mine, theirs;\n\tmemset(&mine, 0, sizeof mine); memset(&theirs, 0, sizeof theirs);\n\t{}\telse {}",
                by_node(0),
                by_node(1)
            )
        } else {
            cards.concat() + &setups.concat() + &together
        };
        if threads.iter().any(|t| t.registers == Registers::ThreadLocals) {
            say(format!("static __thread {w} p{k}_own[64];"));
        }
        say(format!("#include \"p{k}.h\""));
        for t in threads {
            let returns = if t.start == Start::Thrd { "int" } else { "void *" };
            out.push((format!("static {returns} p{k}_t{}(void *arg)", t.number), None));
            let list = |separator: &str| t.names.iter().map(|r| format!("{r}{separator}")).collect::<String>();
            let n = t.names.len().max(1);
            let own = match t.registers {
                _ if t.names.is_empty() => String::new(),
                Registers::Locals => t.names.iter().map(|r| format!(" {w} {r} = 0;")).collect(),
                Registers::Statics => t.names.iter().map(|r| format!(" static {w} p{k}_{r};")).collect(),
                Registers::ThreadLocals => String::new(),
                Registers::Heap => format!(
                    " struct p{k}_q{0} {{ {w} {1}; }} *q = (struct p{k}_q{0} *)calloc(1, sizeof *q);",
                    t.number,
                    list(", ").trim_end_matches(", ")
                ),
                Registers::Structure => {
                    format!(" struct {{ {w} {}; }} q; memset(&q, 0, sizeof q);", list(", ").trim_end_matches(", "))
                }
                Registers::Array => format!(" {w} q[{n}] = {{ 0 }};"),
            };
            let wc = if self.one_in(4) { "static struct ibv_wc wc[4];" } else { "struct ibv_wc wc[4];" };
            // In one program `main` reads each word in the end. Elsewhere words that are only copied would be as large as the compiler
            // and the card copy them. A read whose value nobody uses changes no outcome.
            let words = if self.is_by_node { 0..self.memories[t.node].init.len() } else { 0..0 };
            let words: String = words.map(|i| format!(" (void)*(volatile {w} *)&{};", self.word(t.node, i))).collect();
            out.push((format!("{{ {wc} struct request rq; (void)arg; (void)wc; (void)rq;{own}{words}"), None));
            for (s, line) in t.lines.iter().enumerate() {
                out.push((format!("\t{line}"), Some((t.number, s))));
            }
            let recorded: String =
                t.recorded.iter().map(|(name, c)| format!(" mowgli_outcome(\"{name}\", (int64_t){c});")).collect();
            let free = if t.registers == Registers::Heap && !t.names.is_empty() { " free(q);" } else { "" };
            out.push((format!("\t{recorded}{free} return 0;\n}}"), None));
        }
        let mut main = format!("static int p{k}_main(int node)\n{{\n\t(void)node;\n{setup}");
        for node in if self.is_by_node { vec![Some(0), Some(1)] } else { vec![None] } {
            let (mut start, mut join, mut own) = (String::new(), String::new(), String::new());
            for t in threads.iter().filter(|t| node.is_none_or(|node| t.node == node)) {
                let f = format!("p{k}_t{}", t.number);
                match t.start {
                    Start::Main => _ = writeln!(own, "\t{f}(NULL);"),
                    Start::Node => _ = writeln!(start, "\tmowgli_node({}, {f}, NULL);", t.node + 1),
                    Start::Pthread => {
                        let _ = writeln!(start, "\tpthread_t {f}_id;\n\tpthread_create(&{f}_id, NULL, {f}, NULL);");
                        let _ = writeln!(join, "\tpthread_join({f}_id, NULL);");
                    }
                    Start::Thrd => {
                        let _ = writeln!(start, "\tthrd_t {f}_id;\n\tthrd_create(&{f}_id, {f}, NULL);");
                        let _ = writeln!(join, "\tthrd_join({f}_id, NULL);");
                    }
                    Start::StdThread => {
                        let _ = writeln!(start, "\tstd::thread {f}_id({f}, nullptr);");
                        let _ = writeln!(join, "\t{f}_id.join();");
                    }
                }
            }
            if !self.is_by_node && (join.is_empty() || threads.iter().any(|t| t.start == Start::Node)) {
                join += "\tmowgli_join();\n";
            }
            let all = start + &own + &join;
            main += &node.map_or(all.clone(), |node| format!("\tif (node == {node}) {{\n{all}\t}}\n"));
        }
        for node in if self.is_by_node { 0..0 } else { 0..2 } {
            for i in 0..self.memories[node].init.len() {
                let word = self.word(node, i);
                let _ = writeln!(main, "\tmowgli_outcome(\"m{}_{i}\", (int64_t){word});", node + 1);
            }
        }
        out.push((format!("{main}\treturn 0;\n}}"), None));
        out
    }
}

/// Estimates the logarithm of the number of states of a thread. It counts its rows, its writes under way, and the words of its
/// operations. Each word is not read, not written, or written.
fn size(t: &Thread) -> f64 {
    let of = |(text, ..): &Row| {
        let words = text.rsplit_once(", ").and_then(|(_, n)| n.strip_suffix(')')?.parse::<i32>().ok()).unwrap_or(1);
        match text {
            text if text.starts_with("put") || text.starts_with("get") => 1.1 * f64::from(words),
            text if text.starts_with('r') && text.contains("cas") || text.starts_with("rfaa") => 1.1,
            text if text.starts_with('m') || text.starts_with('t') || text.starts_with("send") => 0.4,
            _ => 0.0,
        }
    };
    (1.0 + t.rows.len() as f64).ln() + t.rows.iter().map(of).sum::<f64>()
}

/// Returns values with a type before each.
fn cast(w: &str, values: &[String]) -> String {
    values.iter().map(|v| format!("({w})({v})")).collect::<Vec<_>>().join(", ")
}
