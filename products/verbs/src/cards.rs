//! Litmus tests as C programs over libibverbs, for runs on hardware: one program for each test, and one shared header.
//!
//! The operands of remote read-modify-writes of coreRMA lie in memory, but verbs take values. So a program reads the
//! operands when it issues the operation. The model allows these outcomes, and others that the program never shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::ids::{Loc, Name, Node};
use mowgli_core::value::Val;
use mowgli_rdma::core_rma::CORE_RMA;
use mowgli_rdma::tso::TSO;
use mowgli_rdma::wait::WAIT;

use mowgli::error::{Code, InputError};
use mowgli::interrupt::{Failure, Undecided};
use mowgli::litmus::condition::{Condition, Side, Symbols};
use mowgli::litmus::run::Answer;
use mowgli::litmus::test::{Arg, Observable, Quantifier, RegisterCondition, Statement, Test, TestThread};

/// The name of the header that every program includes, and its text.
pub const HEADER: (&str, &str) = ("mowgli_verbs.h", include_str!("../runtime/mowgli_verbs.h"));

/// The name of the Makefile that builds all programs of a folder, and its text.
pub const MAKEFILE: (&str, &str) = (
    "Makefile",
    "# make && ./TEST 1 host1 host2, and the same with 2 on the second host: outcomes are counted on the first.\n\
     CFLAGS += -O2 -Wall -pthread\n\
     PROGRAMS := $(basename $(wildcard *.c))\n\
     all: $(PROGRAMS)\n\
     $(PROGRAMS): %: %.c mowgli_verbs.h\n\
     \t$(CC) $(CFLAGS) -o $@ $< -libverbs\n\
     clean:\n\
     \trm -f $(PROGRAMS)\n",
);

struct CNames {
    words: Vec<(Loc, Node, i64)>,
    identifiers: BTreeMap<Name, usize>,
    /// The first register of each thread.
    first: Vec<usize>,
}

/// Converts a test to a C program, which judges the outcomes that it sees by `answer`.
///
/// # Errors
/// If the test calls libraries, or has values that are not integers. Also if a limit stopped the search for outcomes,
/// because the program would take the missing ones for wrong.
pub fn program(test: &Test, answer: &Answer) -> Result<String, Failure> {
    test.model.is_published("c-verbs")?;
    let test = &test.with_fences();
    test.is_made_as_usual("c-verbs")?;
    let unsupported = |why| InputError::new(Code::Unsupported, why).about(&test.name);
    let text = text(test, answer).map_err(unsupported)?;
    match answer.explored.stop.clone() {
        Some(stop) => Err(Undecided::new(format!("{}: which outcomes are possible", test.name), stop).into()),
        None => Ok(text),
    }
}

/// Returns the program, or the reason why C over verbs cannot express the test.
fn text(test: &Test, answer: &Answer) -> Result<String, String> {
    if let Some(x) = answer.outcomes.keys().flatten().find_map(|v| v.loc()) {
        return Err(format!("an outcome has the location {x}, and a C program over verbs counts numbers"));
    }
    let word = |(&x, o): (&Loc, &mowgli_core::world::Object)| {
        let home = o.node.ok_or_else(|| format!("{x} is no memory word, and verbs have only those"))?;
        Ok((x, home, o.init.int().ok_or_else(|| format!("{x} holds no integer"))?))
    };
    let words = test.world.objects.iter().map(word).collect::<Result<Vec<_>, String>>()?;
    let mut first = vec![0];
    test.threads.iter().for_each(|t| first.push(first[first.len() - 1] + t.registers.len()));
    let mut names = CNames { words, identifiers: BTreeMap::new(), first };
    let bodies: Vec<String> =
        (0..test.threads.len()).map(|t| names.body(t, &test.threads[t])).collect::<Result<_, String>>()?;
    let registers = names.first[test.threads.len()];
    let mut out = format!("/* {} {} */\n", test.model, test.name);
    let _ = writeln!(out, "#define NODES {}\n#define THREADS {}", test.world.nodes, test.threads.len());
    let _ = writeln!(out, "#define WORDS {}\n#define REGISTERS {registers}", names.words.len());
    let _ = writeln!(out, "#include \"{}\"\n", HEADER.0);
    let _ = writeln!(out, "const char *const test_name = \"{}\";", test.name.escape_default());
    let nodes = test.world.threads.iter().map(|n| n.0 - 1).join(", ");
    let _ = writeln!(out, "const int thread_node[THREADS] = {{ {nodes} }};");
    let words = names.words.iter().map(|(x, n, v)| format!("{{ \"{x}\", {}, {v} }}", n.0 - 1)).join(", ");
    let _ = writeln!(out, "const struct word words[WORDS] = {{ {words} }};");
    let shown = |position| {
        let (name, _) = test.shown.iter().find(|(_, o)| names.slot(test, o) == position).expect("all are shown");
        format!("\"{name}\", ")
    };
    let _ = writeln!(
        out,
        "const char *const register_names[REGISTERS + 1] = {{ {}0 }};",
        (0..registers).map(shown).join("")
    );
    let threads = (0..test.threads.len()).flat_map(|t| test.threads[t].registers.iter().map(move |_| format!("{t}, ")));
    let _ = writeln!(out, "const int register_thread[REGISTERS + 1] = {{ {}0 }};", threads.collect::<String>());
    out.push_str(&bodies.concat());
    let all = (0..bodies.len()).map(|t| format!("thread_{t}")).join(", ");
    let _ = writeln!(out, "void (*const thread_body[THREADS])(struct ctx *) = {{ {all} }};\n");
    out.push_str("int judge(const struct outcome *o)\n{\n\t(void)o;\n");
    // Every outcome of the model is expected, whatever the test asserts about it.
    for values in answer.outcomes.keys() {
        let equal = test.shown.iter().zip(values).filter(|(_, v)| **v != Val::Top);
        let equal = equal.map(|((_, o), v)| format!("o->value[{}] == {v}", names.slot(test, o))).join(" && ");
        let _ = writeln!(out, "\tif ({}) return 1;", if equal.is_empty() { "1" } else { &equal });
    }
    for assertion in test.assertions.iter().filter(|a| a.quantifier == Quantifier::Forbidden) {
        let _ = writeln!(out, "\tif ({}) return -1;", names.condition(test, &assertion.condition)?);
    }
    out.push_str("\treturn 0;\n}\n");
    let thread_names = test.threads.iter().map(|t| format!("\"{}\"", t.name)).join(", ");
    let _ = writeln!(out, "const char *const thread_name[THREADS] = {{ {thread_names} }};");
    out.push_str(&hangs(test, answer));
    Ok(out)
}

/// Writes the function that decides whether a thread may wait for ever at a line. It returns 1 for yes, 0 for no, and
/// -1 if a limit left that open.
fn hangs(test: &Test, answer: &Answer) -> String {
    let (kinds, stop) = answer.stuck.so_far();
    let at = |thread| kinds.keys().filter_map(move |kind| Some((thread, kind.statement(test, thread)?.0)));
    let known: BTreeSet<(usize, usize)> = (0..test.threads.len()).flat_map(at).collect();
    let case = |(thread, line)| format!("\tif (thread == {thread} && line == {line}) return 1;\n");
    let other = if stop.is_none() { 0 } else { -1 };
    let cases = known.into_iter().map(case).join("");
    format!("int hangs(int thread, int line)\n{{\n\t(void)thread, (void)line;\n{cases}\treturn {other};\n}}\n")
}

impl CNames {
    /// Returns the position at which the C program keeps a value that the test shows.
    fn slot(&self, test: &Test, o: &Observable) -> usize {
        match *o {
            Observable::Register(thread, position) => self.first[thread] + position,
            Observable::Final(position) => {
                let x = test.observed[position].loc;
                let word = self.words.iter().position(|(y, ..)| *y == x).expect("a word");
                self.first[self.first.len() - 1] + word
            }
        }
    }

    fn condition(&self, test: &Test, condition: &Condition) -> Result<String, String> {
        let side = |side: &Side| match side {
            Side::Shown(i) => Ok(format!("o->value[{}]", self.slot(test, &test.shown[*i].1))),
            Side::Val(v) => Ok(v.to_string()),
            Side::Tuple(_) => Err("a condition compares several numbers at once".to_owned()),
        };
        condition.text(&Symbols::C, &|a, by, b| Ok(format!("{} {} {}", side(a)?, by.in_c(), side(b)?)))
    }

    fn body(&mut self, thread: usize, t: &TestThread) -> Result<String, String> {
        let mut out = format!("\nstatic void thread_{thread}(struct ctx *c)\n{{\n\t(void)c;\n");
        let in_c = |names: &Self, r: &Name| {
            let position = t.registers.iter().position(|o| o == r).expect("every register that is set");
            format!("c->reg[{}]", names.first[thread] + position)
        };
        for (statement, (line, text)) in t.statements.iter().zip(&t.source) {
            let none = |why| format!("line {line}: {text} has no counterpart in C over verbs: {why}");
            let code = self.code(statement, &in_c).map_err(none)?;
            match (statement.register(), statement) {
                (register, Statement::Await { until, value, .. }) => {
                    let own = register.map_or_else(|| code.clone(), |r| format!("({} = {code})", in_c(self, &r)));
                    let value = self.value(value, &in_c).map_err(none)?;
                    let operator = until.opposite().in_c();
                    let _ = writeln!(out, "\tc->line = {line};\n\twhile ({own} {operator} {value}) waits(c);");
                }
                (_, Statement::While(_)) => _ = writeln!(out, "\t{code}\n\tc->line = {line};\n\twaits(c);"),
                (None, Statement::Call { method: "Poll", .. }) => {
                    let _ = writeln!(out, "\tc->line = {line};\n\t{code};");
                }
                (Some(r), _) => _ = writeln!(out, "\t{} = {code};", in_c(self, &r)),
                (None, s) if s.is_plain() => _ = writeln!(out, "\t{code};"),
                (None, _) => _ = writeln!(out, "\t{code}"),
            }
        }
        out.push_str("}\n");
        Ok(out)
    }

    /// Writes a statement in C, without the register that it sets.
    fn code(&mut self, statement: &Statement, register: &dyn Fn(&Self, &Name) -> String) -> Result<String, String> {
        match statement {
            Statement::Set(_, arg) => self.value(arg, register),
            Statement::Await { call, .. } => self.code(call, register),
            Statement::If(guard) => Ok(format!("if ({}) {{", self.guard(guard, register)?)),
            Statement::While(guard) => Ok(format!("while ({}) {{", self.guard(guard, register)?)),
            Statement::Else => Ok("} else {".to_owned()),
            Statement::End => Ok("}".to_owned()),
            Statement::Assume(_) => Err("a run that was made cannot be left out; say it in the assertions".to_owned()),
            Statement::Call { library, .. } if ![WAIT, TSO, CORE_RMA].contains(library) => {
                Err(format!("it is a call of the library {library}, and verbs have only memory"))
            }
            Statement::Call { method, args, library, .. } => {
                let args = args.iter().map(|arg| self.value(arg, register)).collect::<Result<Vec<_>, _>>()?;
                call(library, method, &args)
            }
        }
    }

    fn guard(&self, guard: &RegisterCondition, register: &dyn Fn(&Self, &Name) -> String) -> Result<String, String> {
        let side = |arg: &Arg| self.number(arg, register);
        guard.text(&Symbols::C, &|a, by, b| Ok(format!("{} {} {}", side(a)?, by.in_c(), side(b)?)))
    }

    /// Returns the position of a word.
    fn word(&self, x: Loc) -> Result<usize, String> {
        self.words.iter().position(|(y, ..)| *y == x).ok_or_else(|| format!("{x} is no memory word"))
    }

    /// Writes a number in C.
    fn number(&self, arg: &Arg, register: &dyn Fn(&Self, &Name) -> String) -> Result<String, String> {
        match arg {
            Arg::Register(r, 0) => Ok(register(self, r)),
            Arg::Register(r, k) => Ok(format!("{} + {k}", register(self, r))),
            Arg::Sum(to, sign, r) => Ok(format!("{} {sign} {}", self.number(to, register)?, register(self, r))),
            Arg::Val(Val::Int(i)) => Ok(i.to_string()),
            Arg::Val(other) => Err(format!("{other} is no integer")),
            Arg::Element(..) => Err("its index is computed".to_owned()),
            Arg::Tuple(_) => Err("it is several numbers".to_owned()),
            Arg::Sent(..) => unreachable!("it is a word"),
        }
    }

    /// Writes an argument in C: words and identifiers by position, nodes from 0.
    fn value(&mut self, arg: &Arg, register: &dyn Fn(&Self, &Name) -> String) -> Result<String, String> {
        Ok(match arg {
            Arg::Val(Val::Bool(_)) | Arg::Val(Val::NoWid) => "0".to_owned(),
            Arg::Val(Val::Node(n)) => (n.0 - 1).to_string(),
            Arg::Val(Val::Wid(d)) => {
                let next = self.identifiers.len() + 1;
                let number = *self.identifiers.entry(d.0).or_insert(next);
                if number > 31 {
                    return Err("more than 31 identifiers".to_owned());
                }
                number.to_string()
            }
            Arg::Val(Val::Loc(x)) => self.word(*x)?.to_string(),
            Arg::Sent(x, sent) => {
                let (word, sent) = (self.word(*x)?, self.number(sent, register)?);
                format!("(cpu_write({word}, {sent}), {word})")
            }
            number => self.number(number, register)?,
        })
    }
}

/// Writes a call in C, from its arguments in C. Calls of coreRMA have after each variable an argument that says whether
/// the access is atomic.
fn call(library: &Name, method: &str, args: &[String]) -> Result<String, String> {
    let id = |i: usize| args.get(i).map_or("0", String::as_str);
    if *library == CORE_RMA {
        return Ok(match (method, args) {
            ("Read", [x, _]) => format!("cpu_read({x})"),
            ("Write", [x, _, v]) => format!("cpu_write({x}, {v})"),
            ("Put", [z, _, x, _]) => format!("rdma_put(c, {z}, {x}, 0)"),
            ("Get", [x, _, z, _]) => format!("rdma_get(c, {x}, {z}, 0)"),
            ("RGA", [x, _, z, _, y, _]) => format!("rdma_faa(c, {x}, {z}, cpu_read({y}), 0)"),
            ("CAS", [x, _, z, _, y, _, w, _]) => format!("rdma_cas(c, {x}, {z}, cpu_read({y}), cpu_read({w}), 0)"),
            ("Flush", [n]) => format!("rdma_flush(c, {n})"),
            _ => return Err(format!("{method} has no form in C")),
        });
    }
    Ok(match (method, args) {
        ("Read", [x]) => format!("cpu_read({x})"),
        ("Write", [x, v]) => format!("cpu_write({x}, {v})"),
        ("CAS", [x, old, new]) => format!("cpu_cas({x}, {old}, {new})"),
        ("Xchg", [x, new]) => format!("cpu_xchg({x}, {new})"),
        ("FAA", [x, v]) => format!("cpu_faa({x}, {v})"),
        ("Mfence", []) => "cpu_mfence()".to_owned(),
        ("Put", [z, x, ..]) => format!("rdma_put(c, {z}, {x}, {})", id(2)),
        ("Get", [x, z, ..]) => format!("rdma_get(c, {x}, {z}, {})", id(2)),
        ("RCAS", [x, z, old, new, ..]) => format!("rdma_cas(c, {x}, {z}, {old}, {new}, {})", id(4)),
        ("RFAA", [x, z, v, ..]) => format!("rdma_faa(c, {x}, {z}, {v}, {})", id(3)),
        ("Poll", [n]) => format!("rdma_poll(c, {n})"),
        ("Wait", [d]) => format!("rdma_wait(c, {d})"),
        ("Rfence", [n]) => format!("rdma_fence(c, {n})"),
        ("RXchg", _) => return Err("verbs have a compare-and-swap and a fetch-and-add, and no exchange".to_owned()),
        _ => return Err(format!("{method} has no form in C")),
    })
}
