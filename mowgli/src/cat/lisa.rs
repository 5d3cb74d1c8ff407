//! Litmus tests in LISA, the neutral language of herd7. Each subevent of the model is an instruction that is marked
//! with its stamp. The values that the network card carries go through registers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use mowgli_core::ids::{Loc, Name, Node};
use mowgli_core::value::Val;

use super::herd::{IDENTIFIERS, Marks, NODES, PARTS, marks};
use crate::error::{Code, InputError};
use crate::litmus::condition::{Comparison, Condition, Side, Symbols};
use crate::litmus::print::table;
use crate::litmus::test::{Arg, Observable, Quantifier, RegisterCondition, Sign, Statement, Test};

/// The reason why a comparison by order has no form.
const ORDER: &str = "herd compares with = and != only";

/// A test in LISA.
#[derive(Clone, Debug)]
pub struct Lisa {
    /// The text.
    pub text: String,
    /// The names in herd7 of the values that the test shows, in the order of the test.
    pub shown: Vec<String>,
}

/// Converts a test for `herd7` and the model that `mowgli cat MODEL --for herd` writes. LISA has one assertion, so only
/// the test's first one is kept.
///
/// # Errors
/// If the test has libraries, loops, or anything else that LISA cannot express.
pub fn to_lisa(test: &Test) -> Result<Lisa, InputError> {
    let fail = |why: String| InputError::new(Code::Unsupported, format!("{}: {why}", test.name));
    let marks = marks(test.model).map_err(|e| e.about(&test.name))?;
    let test = &test.with_fences();
    test.is_made_as_usual("LISA")?;
    let mut places = Places { of_wid: BTreeMap::new(), labels: 0 };
    let mut columns = Vec::new();
    let mut filters = Vec::new();
    for at in 0..test.threads.len() {
        let mut column = Column {
            test,
            marks,
            at,
            lines: vec![format!("P{at}")],
            temporaries: 0,
            parts: 0,
            polled: BTreeMap::new(),
            filters: Vec::new(),
        };
        column.statements(&mut places).map_err(fail)?;
        filters.append(&mut column.filters);
        columns.push(column.lines);
    }
    let mut text = format!("LISA {}\n", test.name);
    if let Some(description) = &test.description {
        let _ = writeln!(text, "\"{description}\"");
    }
    let _ = writeln!(text, "{{{} }}", words(test).map_err(fail)?);
    text.push_str(&table(columns));
    let shown: Vec<String> = test.shown.iter().map(|(_, o)| observable(test, o)).collect();
    if !shown.is_empty() {
        let _ = writeln!(text, "locations [{}]", shown.iter().map(|s| format!("{s};")).collect::<Vec<_>>().join(" "));
    }
    if !filters.is_empty() {
        let _ = writeln!(text, "filter ({})", filters.join(" /\\ "));
    }
    let _ = writeln!(text, "{}", assertion(test).map_err(fail)?);
    Ok(Lisa { text, shown })
}

/// Returns the words of a test with their initial values.
fn words(test: &Test) -> Result<String, String> {
    let (mut out, mut names) = (String::new(), BTreeSet::new());
    for (x, object) in &test.world.objects {
        if !names.insert(word(*x)) {
            return Err(format!("{x} would have the name of another word, {}; give it another", word(*x)));
        }
        if object.library != test.model.memory() {
            return Err(format!("{x} is of {}: LISA has memory words only", object.library));
        }
        let value = object.init.int().ok_or_else(|| format!("{x} begins with {}, which is no integer", object.init))?;
        let _ = write!(out, " {}={value};", word(*x));
    }
    Ok(out)
}

/// Returns the name of a word. The prefix keeps herd7 from reading it as a register or an instruction.
fn word(x: Loc) -> String {
    let plain: String = x.to_string().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("v_{plain}")
}

fn observable(test: &Test, o: &Observable) -> String {
    match *o {
        Observable::Register(t, position) => format!("{t}:r{position}"),
        Observable::Final(position) => word(test.observed[position].loc),
    }
}

/// Returns the first assertion; without one, a condition that always holds.
fn assertion(test: &Test) -> Result<String, String> {
    let Some(first) = test.assertions.first() else { return Ok("exists (true)".to_owned()) };
    let equation = |a: &Side, by: Comparison, b: &Side| match (a, b) {
        (Side::Shown(position), Side::Val(Val::Int(v))) | (Side::Val(Val::Int(v)), Side::Shown(position)) => {
            let equal = format!("{}={v}", observable(test, &test.shown[*position].1));
            by.of_equal(&equal).ok_or_else(|| ORDER.to_owned())
        }
        _ => Err("herd has no equation but between a name and an integer".to_owned()),
    };
    let condition = first.condition.text(&Symbols::LITMUS, &equation)?;
    let quantifier = match first.quantifier {
        Quantifier::Allowed => "exists",
        Quantifier::Forbidden | Quantifier::Vacuous => "~exists",
        Quantifier::Forall => "forall",
    };
    Ok(format!("{quantifier} ({condition})"))
}

/// The names that the threads of a test share.
struct Places {
    /// The number of each identifier.
    of_wid: BTreeMap<Name, usize>,
    labels: usize,
}

impl Places {
    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn wid(&mut self, d: Name) -> Result<String, String> {
        let next = self.of_wid.len() + 1;
        let number = *self.of_wid.entry(d).or_insert(next);
        if number > IDENTIFIERS {
            return Err(format!("the bell file has {IDENTIFIERS} identifiers, and the test more"));
        }
        Ok(format!("d{number}"))
    }
}

/// An open block, with the labels before its `else` and after it.
struct Block {
    otherwise: Option<String>,
    end: String,
}

/// The state of writing one thread.
struct Column<'t> {
    test: &'t Test,
    marks: &'static Marks,
    at: usize,
    lines: Vec<String>,
    /// The number of registers beyond those of the test.
    temporaries: usize,
    /// The number of operations with several parts.
    parts: usize,
    /// The number of operations towards each node that no poll has completed.
    polled: BTreeMap<Node, usize>,
    /// The conditions of executions that count, from awaits and assumptions.
    filters: Vec<String>,
}

impl Column<'_> {
    fn statements(&mut self, places: &mut Places) -> Result<(), String> {
        let thread = &self.test.threads[self.at];
        let mut open = Vec::new();
        for (position, (statement, (line, text))) in thread.statements.iter().zip(&thread.source).enumerate() {
            let of = |why| format!("line {line}: {text} has no form in LISA ({why})");
            match statement {
                Statement::While(_) => return Err(of("a loop".to_owned())),
                Statement::If(guard) => {
                    let has_else = thread.statements[thread.other(position)] == Statement::Else;
                    let block = Block { otherwise: has_else.then(|| places.label()), end: places.label() };
                    let holds = self.guard(guard).map_err(of)?;
                    let fails = self.computed(&format!("(eq {holds} 0)"));
                    self.put(format!("b[] {fails} {}", block.otherwise.as_ref().unwrap_or(&block.end)));
                    open.push(block);
                }
                Statement::Else => {
                    let block: &mut Block = open.last_mut().expect("blocks are opened");
                    self.lines.push(format!("b[] {}", block.end));
                    self.lines.extend(block.otherwise.take().map(|label| format!("{label}:")));
                }
                Statement::End => self.put(format!("{}:", open.pop().expect("blocks are opened").end)),
                plain => self.plain(plain, places).map_err(of)?,
            }
        }
        Ok(())
    }

    fn plain(&mut self, statement: &Statement, places: &mut Places) -> Result<(), String> {
        match statement {
            Statement::Set(r, arg) => {
                let value = self.value(arg)?;
                self.put(format!("mov {} {value}", self.register(*r)));
            }
            Statement::Await { call, until, value } => {
                let Statement::Call { register, method, args, .. } = &**call else {
                    return Err("this wait".to_owned());
                };
                let read = if let Some(r) = register { self.register(*r) } else { self.temporary() };
                self.call(method, args, Some(&read), places)?;
                let value = self.value(value)?;
                let holds = self.compared(&read, *until, &value)?;
                self.filters.push(format!("{}:{holds}=1", self.at));
            }
            Statement::Assume(guard) => {
                let holds = self.guard(guard)?;
                self.filters.push(format!("{}:{holds}=1", self.at));
            }
            Statement::Call { library, .. } if *library != self.test.model.memory() => {
                return Err(format!("a call of {library}, which is a library, and there are calls of the memory only"));
            }
            Statement::Call { register, method, args, .. } => {
                let result = register.map(|r| self.register(r));
                self.call(method, args, result.as_deref(), places)?;
            }
            _ => return Err("this statement".to_owned()),
        }
        Ok(())
    }

    fn put(&mut self, line: String) {
        self.lines.push(line);
    }

    fn register(&self, r: Name) -> String {
        let all = &self.test.threads[self.at].registers;
        format!("r{}", all.iter().position(|o| *o == r).expect("every register that is set"))
    }

    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("r{}", self.test.threads[self.at].registers.len() + self.temporaries - 1)
    }

    /// Writes a value into a new register, and returns the register.
    fn computed(&mut self, text: &str) -> String {
        let register = self.temporary();
        self.put(format!("mov {register} {text}"));
        register
    }

    /// Returns an integer, or a register that holds the value.
    fn value(&mut self, arg: &Arg) -> Result<String, String> {
        match arg {
            Arg::Val(Val::Int(i)) => Ok(i.to_string()),
            Arg::Val(other) => Err(format!("the value {other}")),
            Arg::Register(r, 0) => Ok(self.register(*r)),
            Arg::Register(r, k) => {
                let sum = format!("(add {} {k})", self.register(*r));
                Ok(self.computed(&sum))
            }
            Arg::Sum(_, Sign::Minus, _) => Err("a register that is subtracted".to_owned()),
            Arg::Sum(to, Sign::Plus, r) => {
                let sum = format!("(add {} {})", self.value(to)?, self.register(*r));
                Ok(self.computed(&sum))
            }
            Arg::Tuple(_) => Err("several values in one".to_owned()),
            Arg::Element(..) | Arg::Sent(..) => Err("a place that is computed".to_owned()),
        }
    }

    /// Returns a new register that is 1 if a condition holds, and else 0.
    fn guard(&mut self, guard: &RegisterCondition) -> Result<String, String> {
        let text = match guard {
            Condition::Compare(a, comparison, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                return self.compared(&a, *comparison, &b);
            }
            Condition::Not(inner) => format!("(eq {} 0)", self.guard(inner)?),
            Condition::And(all) => return self.folded(all, "1", "and"),
            Condition::Or(all) => {
                let sum = self.folded(all, "0", "add")?;
                format!("(neq {sum} 0)")
            }
        };
        Ok(self.computed(&text))
    }

    /// Returns a new register that is 1 if a comparison holds, and else 0.
    fn compared(&mut self, a: &str, comparison: Comparison, b: &str) -> Result<String, String> {
        let operator = match comparison {
            Comparison::Is => "eq",
            Comparison::IsNot => "neq",
            _ => return Err(ORDER.to_owned()),
        };
        Ok(self.computed(&format!("({operator} {a} {b})")))
    }

    fn folded(&mut self, all: &[RegisterCondition], of_none: &str, by: &str) -> Result<String, String> {
        let first = self.computed(of_none);
        all.iter().try_fold(first, |sum, part| {
            let part = self.guard(part)?;
            Ok(self.computed(&format!("({by} {sum} {part})")))
        })
    }

    /// Returns the mark of the next operation with several parts.
    fn part(&mut self) -> Result<String, String> {
        self.parts += 1;
        if self.parts > PARTS {
            return Err(format!("the bell file numbers {PARTS} operations of a thread"));
        }
        Ok(format!("e{}", self.parts))
    }

    fn node(n: Node) -> Result<String, String> {
        if usize::from(n.0) > NODES {
            return Err(format!("the bell file has {NODES} nodes"));
        }
        Ok(format!("n{n}"))
    }

    /// Writes a call; `to` is the register for its result.
    fn call(&mut self, method: &str, args: &[Arg], to: Option<&str>, places: &mut Places) -> Result<(), String> {
        let Marks { read, write, fence, .. } = *self.marks;
        match (method, args) {
            ("Mfence", []) => self.put(format!("f[{fence}]")),
            ("Read", [x]) => {
                let (x, to) = (at(x)?, to.map_or_else(|| self.temporary(), ToOwned::to_owned));
                self.put(format!("r[{read}] {to} {}", word(x)));
            }
            ("Write", [x, v]) => {
                let (x, v) = (at(x)?, self.value(v)?);
                self.put(format!("w[{write}] {} {v}", word(x)));
            }
            ("CAS", [x, old, new]) => self.compare_and_swap(at(x)?, [old, new], to, places)?,
            ("Xchg" | "FAA", [x, v]) => self.update(at(x)?, v, method == "FAA", to)?,
            ("Rfence", [Arg::Val(Val::Node(n))]) => self.put(format!("f[aRF,{}]", Self::node(*n)?)),
            ("Wait", [Arg::Val(Val::Wid(d))]) => self.put(format!("f[aWT,{}]", places.wid(d.0)?)),
            ("Poll", [Arg::Val(Val::Node(n))]) if to.is_none() => {
                if self.test.threads[self.at].statements.iter().any(Statement::opens) {
                    return Err("a poll beside a branch, on which it may depend what there is to take".to_owned());
                }
                let open = self.polled.entry(*n).or_default();
                *open = open.checked_sub(1).ok_or("there is no operation that it could take")?;
                self.put(format!("f[aWT,{}]", Self::node(*n)?));
            }
            ("Put" | "Get" | "RCAS" | "RFAA" | "RXchg", [x, y, rest @ ..]) if to.is_none() => {
                self.remote(method, [x, y], rest, places)?;
            }
            ("Put" | "Get" | "RCAS" | "RFAA" | "RXchg" | "Poll", _) => return Err("its result is used".to_owned()),
            (other, _) => return Err(format!("{other} is none of the memory's methods that are known")),
        }
        Ok(())
    }

    /// Writes a compare-and-swap of the CPU. If it fails it is a fence and a read; the prelude recognises this by the
    /// missing write.
    fn compare_and_swap(
        &mut self,
        x: Loc,
        [old, new]: [&Arg; 2],
        to: Option<&str>,
        places: &mut Places,
    ) -> Result<(), String> {
        let Marks { update, fence, .. } = *self.marks;
        let (old, new) = (self.value(old)?, self.value(new)?);
        let (part, found, after) = (self.part()?, self.temporary(), places.label());
        self.put(format!("f[{fence},{part}]"));
        self.put(format!("r[{update},{part}] {found} {}", word(x)));
        let differs = self.computed(&format!("(neq {found} {old})"));
        self.put(format!("b[] {differs} {after}"));
        self.put(format!("w[{update},{part}] {} {new}", word(x)));
        self.put(format!("{after}:"));
        self.lines.extend(to.map(|to| format!("mov {to} {found}")));
        Ok(())
    }

    fn update(&mut self, x: Loc, v: &Arg, adds: bool, to: Option<&str>) -> Result<(), String> {
        let update = self.marks.update;
        let v = self.value(v)?;
        let (part, found) = (self.part()?, self.temporary());
        self.put(format!("r[{update},{part}] {found} {}", word(x)));
        let new = if adds { self.computed(&format!("(add {found} {v})")) } else { v };
        self.put(format!("w[{update},{part}] {} {new}", word(x)));
        self.lines.extend(to.map(|to| format!("mov {to} {found}")));
        Ok(())
    }

    /// Writes an operation of the network card.
    fn remote(&mut self, method: &str, [x, y]: [&Arg; 2], rest: &[Arg], places: &mut Places) -> Result<(), String> {
        if let Arg::Sent(private, v) = y {
            self.call("Write", &[Arg::Val((*private).into()), (**v).clone()], None, places)?;
        }
        let (x, y) = (at(x)?, at(y)?);
        let (near, far) = if method == "Put" { (y, x) } else { (x, y) };
        let remote = self.test.world.home(far).ok_or_else(|| format!("{far} is on no node"))?;
        *self.polled.entry(remote).or_default() += 1;
        let mut marks = Self::node(remote)?;
        let (values, wids): (Vec<&Arg>, Vec<&Arg>) =
            rest.iter().partition(|arg| !matches!(arg, Arg::Val(Val::Wid(_) | Val::NoWid)));
        if let [Arg::Val(Val::Wid(d))] = wids[..] {
            let _ = write!(marks, ",{}", places.wid(d.0)?);
        }
        let values = values.into_iter().map(|v| self.value(v)).collect::<Result<Vec<_>, _>>()?;
        let _ = write!(marks, ",{}", self.part()?);
        let (read, near, far) = (self.temporary(), word(near), word(far));
        match (method, &values[..]) {
            ("Put", []) => {
                self.put(format!("r[aNLR,{marks}] {read} {near}"));
                self.put(format!("w[aNRW,{marks}] {far} {read}"));
                return Ok(());
            }
            ("Get", []) => self.put(format!("r[aNRR,{marks}] {read} {far}")),
            ("RFAA", [v]) => {
                self.put(format!("r[aNAR,{marks}] {read} {far}"));
                let sum = self.computed(&format!("(add {read} {v})"));
                self.put(format!("w[aNRW,{marks}] {far} {sum}"));
            }
            ("RXchg", [new]) => {
                self.put(format!("r[aNAR,{marks}] {read} {far}"));
                self.put(format!("w[aNRW,{marks}] {far} {new}"));
            }
            ("RCAS", [old, new]) => {
                let after = places.label();
                self.put(format!("r[aNAR,{marks}] {read} {far}"));
                let differs = self.computed(&format!("(neq {read} {old})"));
                self.put(format!("b[] {differs} {after}"));
                self.put(format!("w[aNRW,{marks}] {far} {new}"));
                self.put(format!("{after}:"));
            }
            (other, _) => return Err(format!("{other} with these arguments")),
        }
        self.put(format!("w[aNLW,{marks}] {near} {read}"));
        Ok(())
    }
}

/// Returns the location that an argument names.
fn at(arg: &Arg) -> Result<Loc, String> {
    match arg {
        Arg::Val(Val::Loc(x)) | Arg::Sent(x, _) => Ok(*x),
        _ => Err("a place that is computed".to_owned()),
    }
}
