//! Tests of the CPU alone, to and from herd's X86_64 syntax, so that outcomes can be compared with herd7's.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::value::Val;
use pest::Parser;
use pest::error::InputLocation;
use pest::iterators::Pair;
use pest_derive::Parser;

use crate::error::{Code, InputError, Place};

use super::condition::{Condition, Side, Symbols};
use super::nesting::is_flat;
use super::print::table;
use super::test::{Arg, Observable, Quantifier, Sign, Statement, Test, TestThread};

#[allow(missing_docs, reason = "generated")]
mod grammar {
    use super::Parser;
    #[derive(Parser)]
    #[grammar = "litmus/x86.pest"]
    pub(super) struct Grammar;
}
use grammar::{Grammar, Rule};

/// The registers for tests, by their 64 and 32 bit names. `cmpxchg` compares the first, and writes the last.
const REGISTERS: [(&str, &str); 14] = [
    ("rax", "eax"),
    ("rbx", "ebx"),
    ("rcx", "ecx"),
    ("rdx", "edx"),
    ("rsi", "esi"),
    ("rdi", "edi"),
    ("r8", "r8d"),
    ("r9", "r9d"),
    ("r10", "r10d"),
    ("r11", "r11d"),
    ("r12", "r12d"),
    ("r13", "r13d"),
    ("r14", "r14d"),
    ("r15", "r15d"),
];

/// Converts a test to herd's syntax. Herd has one assertion, so only the test's first one is kept.
///
/// # Errors
/// If the test has more than CPU accesses to the memory of one node, or more registers than a CPU.
pub fn to_herd(test: &Test) -> Result<String, InputError> {
    let unsupported = |why: String| InputError::new(Code::Unsupported, format!("{}: {why}", test.name));
    let fail = |why: String| unsupported(format!("herd's X86_64 has no form for {why}"));
    if !test.world.threads.iter().all_equal() {
        return Err(fail("threads on several nodes".to_owned()));
    }
    let mut out = format!("X86_64 {}\n", test.name);
    if let Some(description) = &test.description {
        let _ = writeln!(out, "\"{description}\"");
    }
    let words: Vec<String> = test
        .world
        .objects
        .iter()
        .map(|(x, o)| {
            o.init.int().map(|i| format!(" {x}={i};")).ok_or_else(|| fail(format!("the initial value of {x}")))
        })
        .collect::<Result<_, _>>()?;
    let _ = writeln!(out, "{{{} }}", words.concat());
    let mut columns = Vec::new();
    for (t, thread) in test.threads.iter().enumerate() {
        let mut column = vec![format!("P{t}")];
        for (statement, (line, text)) in thread.statements.iter().zip(&thread.source) {
            let none = |why| {
                let of = format!("line {line}: {text} has no counterpart in herd's X86_64 syntax");
                unsupported(format!("{of}, which is for CPU accesses to the memory of one node ({why})"))
            };
            column.extend(instructions(thread, statement).map_err(none)?);
        }
        columns.push(column);
    }
    out.push_str(&table(columns));
    let (quantifier, condition) = match test.assertions.first() {
        Some(a) => (a.quantifier, conditions(test, &a.condition).map_err(fail)?),
        None => (Quantifier::Allowed, "true".to_owned()),
    };
    let shown: Vec<String> =
        test.shown.iter().map(|(_, o)| observable(test, o)).collect::<Result<_, _>>().map_err(fail)?;
    let _ = writeln!(out, "locations [{}]", shown.iter().map(|s| format!("{s};")).join(" "));
    let quantifier = match quantifier {
        Quantifier::Allowed => "exists",
        Quantifier::Forbidden | Quantifier::Vacuous => "~exists",
        Quantifier::Forall => "forall",
    };
    let _ = writeln!(out, "{quantifier} ({condition})");
    Ok(out)
}

fn register(thread: &TestThread, r: &Name) -> Result<(&'static str, &'static str), String> {
    let position = thread.registers.iter().position(|o| o == r).expect("every register that is set");
    REGISTERS[1..13].get(position).copied().ok_or_else(|| format!("more than 12 registers in {}", thread.name))
}

/// The register for sums and for new values of words. Registers of a test are never mapped to it.
const SUM: &str = "%r15d";

/// Returns the instructions that load a value into a register.
fn load(thread: &TestThread, arg: &Arg, to: &str) -> Result<Vec<String>, String> {
    let own = |r: &Name| register(thread, r).map(|(_, short)| format!("%{short}"));
    Ok(match arg {
        Arg::Val(Val::Int(i)) => vec![format!("movl ${i},{to}")],
        Arg::Register(r, 0) => vec![format!("movl {},{to}", own(r)?)],
        Arg::Register(r, k) => vec![format!("movl {},{to}", own(r)?), format!("addl ${k},{to}")],
        // `to` may hold one of the summands, so the sum is made in another register.
        Arg::Sum(first, Sign::Plus, r) => {
            let sum = [load(thread, first, SUM)?, vec![format!("addl {},{SUM}", own(r)?)]].concat();
            if to == SUM { sum } else { [sum, vec![format!("movl {SUM},{to}")]].concat() }
        }
        Arg::Sum(_, Sign::Minus, _) => return Err("a register that is subtracted".to_owned()),
        Arg::Val(other) => return Err(format!("the value {other}")),
        Arg::Tuple(_) => return Err("several values in one".to_owned()),
        Arg::Element(..) | Arg::Sent(..) => return Err("a place that is computed".to_owned()),
    })
}

fn instructions(thread: &TestThread, statement: &Statement) -> Result<Vec<String>, String> {
    let own = |r: &Name| register(thread, r).map(|(_, short)| format!("%{short}"));
    let load = |arg: &Arg, to: &str| load(thread, arg, to);
    let word = |arg: &Arg| match arg {
        Arg::Val(Val::Loc(x)) => Ok(format!("({x})")),
        _ => Err("this location".to_owned()),
    };
    let result = |to: &Option<Name>, from: &str| -> Result<Vec<String>, String> {
        to.iter().map(|r| Ok(format!("movl {from},{}", own(r)?))).collect()
    };
    match statement {
        Statement::Await { .. } | Statement::While(_) => Err("a loop".to_owned()),
        Statement::If(_) | Statement::Else | Statement::End => Err("a branch".to_owned()),
        Statement::Assume(_) => Err("it takes executions away".to_owned()),
        Statement::Set(r, arg) => load(arg, &own(r)?),
        Statement::Call { register: to, method, args, .. } => match (*method, &args[..]) {
            ("Mfence", []) => Ok(vec!["mfence".to_owned()]),
            ("Read", [x]) => Ok(vec![format!("movl {},{}", word(x)?, own(&to.ok_or("a read that is dropped")?)?)]),
            ("Write", [x, Arg::Val(Val::Int(i))]) => Ok(vec![format!("movl ${i},{}", word(x)?)]),
            ("Write", [x, v]) => Ok([load(v, "%r15d")?, vec![format!("movl %r15d,{}", word(x)?)]].concat()),
            ("CAS", [x, old, new]) => {
                // Herd writes the memory operand of cmpxchg first, as Intel does. All other instructions have the
                // source first, as with AT&T.
                let swap = vec![format!("lock cmpxchgl {},%r15d", word(x)?)];
                Ok([load(old, "%eax")?, load(new, "%r15d")?, swap, result(to, "%eax")?].concat())
            }
            ("Xchg", [x, new]) => {
                let swap = vec![format!("xchgl {},%r15d", word(x)?)];
                Ok([load(new, "%r15d")?, swap, result(to, "%r15d")?].concat())
            }
            (other, _) => Err(other.to_owned()),
        },
    }
}

fn observable(test: &Test, o: &Observable) -> Result<String, String> {
    match *o {
        Observable::Register(t, position) => {
            let thread = &test.threads[t];
            Ok(format!("{t}:{}", register(thread, &thread.registers[position])?.0))
        }
        Observable::Final(position) => Ok(test.observed[position].loc.to_string()),
    }
}

fn conditions(test: &Test, condition: &Condition) -> Result<String, String> {
    condition.text(&Symbols::LITMUS, &|a, by, b| match (a, b) {
        (Side::Shown(position), Side::Val(v)) | (Side::Val(v), Side::Shown(position)) => {
            let equal = format!("{}={v}", observable(test, &test.shown[*position].1)?);
            by.of_equal(&equal).ok_or_else(|| "a comparison by order".to_owned())
        }
        _ => Err("an equation that is not between a name and a value".to_owned()),
    })
}

/// The help for a test of herd7 that `convert` does not read.
pub(crate) const INTEL: &str = "a test of herd7 begins with X86_64 and has operands of AT&T, as movl $1,(x) for MOV [x],$1; then `mowgli convert \
     FILE --to mowgli` reads it";

/// Converts a test in herd's X86_64 syntax to a test of RDMA_TSO on one node. Errors name `path`.
///
/// # Errors
/// The error in the text, with line and column.
pub fn from_herd(path: &str, text: &str) -> Result<String, InputError> {
    let at = |error: InputError, bytes| error.at(Place::of(path, text, bytes));
    is_flat(text).map_err(|error| error.in_file(path))?;
    let file = Grammar::parse(Rule::file, text).map_err(|error| {
        let bytes = match error.location {
            InputLocation::Pos(at) => at..at,
            InputLocation::Span((start, end)) => start..end,
        };
        if bytes.start > 0 {
            return at(InputError::new(Code::Syntax, error.variant.message()), bytes);
        }
        let first =
            text.split_whitespace().next().map_or_else(|| "nothing".to_owned(), |word| format!("a file of {word}"));
        at(InputError::new(Code::Unsupported, format!("expected a test of herd7, found {first}")), bytes).help(INTEL)
    })?;
    let file = { file }.next().expect("one tree");
    let wrong = |tree: &Pair<'_, Rule>, code, message: String| {
        at(InputError::new(code, message), tree.as_span().start()..tree.as_span().end())
    };
    let parts: Vec<Pair<'_, Rule>> = file.into_inner().collect();
    let of = |rule: Rule| parts.iter().filter(move |p| p.as_rule() == rule);
    let first = |rule: Rule| of(rule).next().map_or("", |p| p.as_str());
    let mut words: BTreeSet<String> = BTreeSet::new();
    let mut inits = Vec::new();
    let heads: Vec<&str> = of(Rule::head).flat_map(|h| h.clone().into_inner()).map(|t| t.as_str()).collect();
    let mut columns: Vec<Vec<String>> = heads.iter().map(|t| vec![format!("P{t}@1")]).collect();
    for init in of(Rule::init) {
        let inner: Vec<_> = init.clone().into_inner().filter(|p| p.as_rule() != Rule::typed).collect();
        match &inner[..] {
            [x, v @ ..] if x.as_rule() == Rule::name => {
                words.insert(x.as_str().to_owned());
                inits.extend(v.first().map(|v| (x.as_str().to_owned(), v.as_str().to_owned())));
            }
            [t, r, v] => {
                let column = heads.iter().position(|h| *h == t.as_str());
                let none = || wrong(t, Code::Unknown, format!("there is no thread P{}", t.as_str()));
                let column = column.ok_or_else(none)?;
                columns[column].push(format!("{} := {}", long(r.as_str()), v.as_str()));
            }
            _ => unreachable!("by the grammar"),
        }
    }
    for row in of(Rule::row) {
        for (column, cell) in row.clone().into_inner().enumerate() {
            let Some(instruction) = cell.into_inner().next() else { continue };
            let extra = || wrong(&instruction, Code::Misplaced, "a row has more columns than threads".to_owned());
            let column = columns.get_mut(column).ok_or_else(extra)?;
            let action = instruction.into_inner().next().expect("it has a form");
            column.extend(statement(&action, &mut words).map_err(|why| wrong(&action, Code::Unsupported, why))?);
        }
    }
    let name = first(Rule::test_name);
    let mut out = format!("RDMA_TSO {name}\n");
    if let Some(description) = of(Rule::description).next() {
        let _ = writeln!(out, "{}", description.as_str());
    }
    out.push_str("{\n");
    for x in &words {
        let init = inits.iter().find(|(y, _)| y == x).map_or("0", |(_, v)| v.as_str());
        let _ = writeln!(out, "  {x}@1 = {init};");
    }
    out.push_str("}\n");
    out.push_str(&table(columns));
    for locations in of(Rule::locations) {
        // A test shows all its registers anyway.
        let places = locations.clone().into_inner().filter(|p| !p.as_str().contains(':'));
        let places: Vec<String> = places.map(|p| format!("{};", place(&p))).collect();
        if !places.is_empty() {
            let _ = writeln!(out, "locations [{}]", places.join(" "));
        }
    }
    let quantifier = match first(Rule::quantifier) {
        "exists" => "allowed",
        "~exists" => "forbidden",
        _ => "forall",
    };
    // Drops parentheses around the whole condition, because the assertion has its own.
    let mut condition = of(Rule::condition).next().expect("by the grammar").clone();
    while condition.as_rule() != Rule::negation
        && let Ok(inner) = condition.clone().into_inner().exactly_one()
    {
        condition = inner;
    }
    let _ = writeln!(out, "{quantifier} ({})", condition_of(&condition));
    Ok(out)
}

/// Returns the 64 bit name of a register.
fn long(name: &str) -> &str {
    let name = name.trim_start_matches('%');
    REGISTERS.iter().find(|(_, short)| *short == name).map_or(name, |(long, _)| long)
}

fn place(tree: &Pair<'_, Rule>) -> String {
    let parts: Vec<&str> = tree.clone().into_inner().map(|p| p.as_str()).collect();
    match parts[..] {
        [thread, register] => format!("P{thread}:{}", long(register)),
        _ => parts[0].to_owned(),
    }
}

fn condition_of(tree: &Pair<'_, Rule>) -> String {
    let inner: Vec<Pair<'_, Rule>> = tree.clone().into_inner().collect();
    let all = |by: &str| inner.iter().map(condition_of).join(by);
    match tree.as_rule() {
        Rule::condition => all(" \\/ "),
        Rule::conjunction => all(" /\\ "),
        Rule::negation => format!("~{}", condition_of(&inner[0])),
        Rule::group => format!("({})", condition_of(&inner[0])),
        Rule::anything => "true".to_owned(),
        Rule::equation => format!("{}={}", place(&inner[0]), inner[1].as_str()),
        _ => all(""),
    }
}

/// The instructions that can be converted.
const KNOWN: &str = "mov, add of a constant or a register to a register, xchg of a register with memory, lock cmpxchg, mfence \
    and nop, on words by name, as (x), with the suffix l, q or none";

/// Converts an instruction to a statement; `None` for a `nop`.
fn statement(action: &Pair<'_, Rule>, words: &mut BTreeSet<String>) -> Result<Option<String>, String> {
    let parts: Vec<Pair<'_, Rule>> = action.clone().into_inner().collect();
    let mut text = |p: &Pair<'_, Rule>| match p.as_rule() {
        Rule::register => long(p.as_str()).to_owned(),
        Rule::address => {
            let x = p.clone().into_inner().next().expect("a name").as_str().to_owned();
            words.insert(x.clone());
            x
        }
        _ => p.clone().into_inner().next().expect("a number").as_str().to_owned(),
    };
    let is_memory = |p: &Pair<'_, Rule>| p.as_rule() == Rule::address;
    Ok(Some(match (action.as_rule(), &parts[..]) {
        (Rule::nop, _) => return Ok(None),
        (Rule::fence, _) => "mfence".to_owned(),
        (Rule::swap, [a, b]) if is_memory(a) != is_memory(b) => {
            let (x, new) = if is_memory(a) { (a, b) } else { (b, a) };
            format!("rax := cas({}, rax, {})", text(x), text(new))
        }
        (Rule::exchange, [a, b]) if is_memory(a) != is_memory(b) => {
            let (x, r) = if is_memory(a) { (a, b) } else { (b, a) };
            let r = text(r);
            format!("{r} := xchg({}, {r})", text(x))
        }
        (Rule::add, [k, r]) => format!("{0} := {0} + {1}", text(r), text(k)),
        (Rule::copy, [from, to]) if is_memory(from) && is_memory(to) => {
            return Err("a move is from or to a register".to_owned());
        }
        (Rule::copy, [from, to]) => format!("{} := {}", text(to), text(from)),
        _ => return Err(format!("{} has no form here; there are {KNOWN}", action.as_str().trim())),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_keep_their_sense() {
        let back = |condition: &str| {
            let herd = format!("X86_64 t\n{{ 0:rbx=3; }}\n P0 ;\n movl %ebx,(x) ;\n{condition}\n");
            from_herd("t", &herd).unwrap().lines().last().unwrap().to_owned()
        };
        assert_eq!(back("exists (~([x]=1))"), "allowed (~(x=1))");
        assert_eq!(back("~exists ((x=1 \\/ x=2) /\\ not (0:rbx=3))"), "forbidden ((x=1 \\/ x=2) /\\ ~(P0:rbx=3))");
        assert_eq!(back("forall (true)"), "forall (true)");
    }

    #[test]
    fn instructions_are_read_in_herds_order_and_in_that_of_the_assembler() {
        let back = |instruction: &str| {
            let herd = format!("X86_64 t\n{{ x=0; int y; z=1 }}\n P0 ;\n {instruction} ;\nexists x=1 /\\ [y]=0\n");
            let back = from_herd("t", &herd).map_err(|e| e.to_string())?;
            assert!(back.contains("  x@1 = 0;\n  y@1 = 0;\n  z@1 = 1;\n"), "{back}");
            assert!(back.ends_with("allowed (x=1 /\\ y=0)\n"), "{back}");
            let row = back.lines().skip_while(|l| !l.contains("P0@1")).nth(1).expect("a line after it");
            Ok(row.trim_end_matches(';').trim().to_owned())
        };
        for swap in ["lock cmpxchgl (x),%ebx", "lock ; cmpxchgl %ebx,(x)", "LOCK CMPXCHGQ [x],%rbx"] {
            assert_eq!(back(swap), Ok("rax := cas(x, rax, rbx)".to_owned()), "{swap}");
        }
        for exchange in ["xchgl (x),%ebx", "xchg %ebx,(x)", "XCHGQ %rbx,[x]"] {
            assert_eq!(back(exchange), Ok("rbx := xchg(x, rbx)".to_owned()), "{exchange}");
        }
        assert_eq!(back("movq (y),%rbx"), Ok("rbx := y".to_owned()));
        assert_eq!(back("addl %ecx,%ebx"), Ok("rbx := rbx + rcx".to_owned()));
        for unknown in
            ["xaddl %ebx,(x)", "cmpxchgl (x),%ebx", "xchgl %eax,%ebx", "movl 4(x),%eax", "lock cmpxchgl %eax,%ebx"]
        {
            let said: Result<String, String> = back(unknown);
            assert!(said.is_err_and(|e| e.starts_with(&format!("t:4:2: {unknown} has no form here"))), "{unknown}");
        }
        let nothing = "X86_64 t\n{ }\n P0 ;\n nop ;\n movl $1,(x) ;\nexists (x=1)\n";
        for other in ["X86 SB\n{ x=0; }\n P0 ;\n MOV [x],$1 ;\nexists (x=1)", "", "RDMA_WAIT t\n"] {
            let error = from_herd("t", other).unwrap_err();
            assert!(error.message.starts_with("expected a test of herd7") && error.help.is_some(), "{error}");
        }
        assert!(from_herd("t", nothing).unwrap().contains(" P0@1   ;\n x := 1 ;\n"));
    }
}
