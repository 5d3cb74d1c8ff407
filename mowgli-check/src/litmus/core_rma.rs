//! Litmus tests of coreRMA: from a test to a program and its outcomes, and from a program to a test.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node};
use mowgli_core::search::outcome::{Explored, Outcome};
use mowgli_core::search::problem::{Found, Limits};
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::Client;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::core_rma::execution::{self, Rule, Rules, Value, Witness};
use mowgli_rdma::core_rma::program::{
    Action, ActionType, CoreRmaStatement, LocalExpr, Program, SharedAccess, Variable,
};

use super::answer::{Answer, vacuous};
use super::print;
use super::test::{self, Arg, Assertion, Observable, Test};
use crate::interrupt::{Undecided, cause};

fn process(node: Node) -> usize {
    usize::from(node.0) - 1
}

/// Translates a test into a program: the process of each node, and the variable of each location.
///
/// # Panics
/// If the test is not one of coreRMA that was parsed.
#[must_use]
pub fn program(test: &Test) -> (Program, BTreeMap<Loc, usize>) {
    let mut program = Program { variables: Vec::new(), processes: vec![Vec::new(); test.world.nodes.into()] };
    let mut position = BTreeMap::new();
    for (&loc, object) in &test.world.objects {
        let owner = object.node.expect("a variable has a home");
        let owner = process(owner);
        let init = object.init.int().expect("integers only");
        position.insert(loc, program.variables.len());
        program.variables.push(Variable { owner, init });
    }
    for (thread, node) in test.threads.iter().zip(&test.world.threads) {
        let number = |r: &Name| thread.registers.iter().position(|o| o == r).expect("every register that is set");
        let expr = |arg: &Arg| match arg {
            Arg::Val(v) => LocalExpr::Int(v.int().expect("integers only")),
            Arg::Register(r, k) => LocalExpr::Register(number(r), *k),
            Arg::Sum(..) | Arg::Element(..) | Arg::Tuple(_) | Arg::Sent(..) => {
                unreachable!("the parser has none for this model")
            }
        };
        let statement = |s: &test::Statement| match s {
            test::Statement::Set(r, arg) => CoreRmaStatement::Set { register: number(r), value: expr(arg) },
            test::Statement::Call { register, method, args, .. } => {
                let place = |i: usize| match (&args[2 * i], &args[2 * i + 1]) {
                    (Arg::Val(Val::Loc(x)), Arg::Val(Val::Bool(atomic))) => {
                        SharedAccess { variable: position[x], atomic: *atomic }
                    }
                    _ => unreachable!("an access is a location and whether it is atomic"),
                };
                match *method {
                    "Read" => {
                        CoreRmaStatement::Read { register: number(&register.expect("it has one")), from: place(0) }
                    }
                    "Write" => CoreRmaStatement::Write { to: place(0), value: expr(&args[2]) },
                    "Put" => CoreRmaStatement::Put { to: place(0), from: place(1) },
                    "Get" => CoreRmaStatement::Get { to: place(0), from: place(1) },
                    "RGA" => CoreRmaStatement::Rga { to: place(0), at: place(1), add: place(2) },
                    "CAS" => CoreRmaStatement::Cas { to: place(0), at: place(1), old: place(2), new: place(3) },
                    _ => match args[0] {
                        Arg::Val(Val::Node(n)) => CoreRmaStatement::Flush { process: process(n) },
                        _ => unreachable!("a flush names a node"),
                    },
                }
            }
            _ => unreachable!("the parser has no other statements for this model"),
        };
        program.processes[process(*node)] = thread.statements.iter().map(statement).collect();
    }
    (program, position)
}

fn value(v: Value) -> Val {
    v.map_or(Val::Top, Val::Int)
}

/// A test as a program, with the places of the values that it shows in the program's outputs.
struct ProgramOfTest<'a> {
    test: &'a Test,
    program: Program,
    observed: Vec<usize>,
    /// For each thread the position of its first register in an output.
    first: Vec<usize>,
    registers: usize,
}

impl<'a> ProgramOfTest<'a> {
    fn new(test: &'a Test) -> Self {
        let (program, position) = program(test);
        let nodes = &test.world.threads;
        // Outputs have the registers of processes in the order of nodes.
        let first = |node: &Node| -> usize {
            let before = test.threads.iter().zip(nodes).filter(|(_, n)| *n < node);
            before.map(|(t, _)| t.registers.len()).sum()
        };
        Self {
            test,
            program,
            observed: test.observed.iter().map(|cell| position[&cell.loc]).collect(),
            first: nodes.iter().map(first).collect(),
            registers: test.threads.iter().map(|t| t.registers.len()).sum(),
        }
    }

    fn shown(&self, output: &[Value]) -> Vec<Val> {
        let of = |o: &Observable| match *o {
            Observable::Register(thread, position) => output[self.first[thread] + position],
            Observable::Final(position) => output[self.registers + position],
        };
        self.test.shown.iter().map(|(_, o)| value(of(o))).collect()
    }
}

/// Solves a test under these rules.
///
/// # Panics
/// If the test is not one of coreRMA that was parsed.
#[must_use]
pub fn solve(test: &Test, rules: &Rules, limits: Limits<'_>) -> Answer {
    let asked = ProgramOfTest::new(test);
    let found = execution::outcomes(&asked.program, rules, &asked.observed, limits.expired);
    let found = found.expect("the parser checks its size");
    let (outputs, stop) = found.so_far();
    let outcomes: BTreeMap<Vec<Val>, u64> = outputs.iter().map(|(o, &n)| (asked.shown(o), n)).collect();
    let mut explored = Explored { stop: stop.cloned().map(cause), ..Explored::default() };
    explored.stats.classes = outputs.values().sum();
    // Each statement of coreRMA runs once and none waits, so no execution is stuck.
    let answer = Answer::new(test, outcomes, explored, Found::new(BTreeMap::new(), None));
    Answer { rules: (*rules != Rules::core()).then(|| rules.clone()), ..answer }
}

/// Outcomes of a test with an execution of each.
pub type Witnesses = Found<BTreeMap<Vec<Val>, Witness>>;

/// Returns for each outcome of a test an execution that has it.
///
/// # Panics
/// If the test is not one of coreRMA that was parsed.
pub fn witnesses(test: &Test, limits: Limits<'_>) -> Witnesses {
    let asked = ProgramOfTest::new(test);
    let found = execution::witnesses(&asked.program, &Rules::core(), &asked.observed, limits.expired);
    let found = found.expect("the parser checks its size");
    let (found, stop) = found.so_far();
    let shown = found.iter().map(|(output, witness)| (asked.shown(output), witness.clone())).collect();
    Found::new(shown, stop.cloned().map(cause))
}

/// Explains why the condition of an assertion can hold, or names the rules that forbid it.
///
/// # Errors
/// The question that a limit kept from being decided.
pub fn explain(
    test: &Test,
    assertion: &Assertion,
    witnesses: &Witnesses,
    limits: Limits<'_>,
) -> Result<String, Undecided> {
    let (witnesses, stop) = witnesses.so_far();
    if let Some((values, witness)) = witnesses.iter().find(|(values, _)| assertion.condition.holds(values)) {
        let names = test.shown.iter().map(|(name, _)| name);
        let outcome = names.zip(values).map(|(name, v)| format!("{name}={v}")).join(", ");
        return Ok(format!("The outcome {outcome} is that of this execution:\n{}", pictured(test, witness)));
    }
    let title = format!("{}: ({})", test.name, assertion.text);
    if let Some(stop) = stop {
        return Err(Undecided::new(format!("{title}: whether an execution has it"), stop.clone()));
    }
    if witnesses.is_empty() {
        return Ok(vacuous());
    }
    let allows = |rules: &Rules| {
        let Answer { outcomes, explored, .. } = solve(test, rules, limits);
        let is_allowed = outcomes.keys().any(|values| assertion.condition.holds(values));
        explored.stop.filter(|_| !is_allowed).map_or(Ok(is_allowed), Err)
    };
    let of_rule = |rule: Rule| Ok((rule, allows(&Rules::core().without(rule))?));
    let rules: Vec<(Rule, bool)> = Rule::ALL.into_iter().map(of_rule).collect::<Result<_, Stop>>().map_err(|stop| {
        Undecided::new(format!("{title}: no execution has it; which rules are needed for that"), stop)
    })?;
    let needed = rules.iter().filter(|(_, is_needed)| *is_needed).map(|(rule, _)| rule).join(", ");
    let why = if needed.is_empty() {
        "it takes several rules to forbid it, or nothing writes these values".to_owned()
    } else {
        format!("each of these rules is needed for that: {needed}")
    };
    Ok(format!("No execution has it; {why}.\n"))
}

/// Prints an action of a witness: what it does, to which variable, with which value.
#[must_use]
pub fn action(test: &Test, witness: &Witness, a: usize) -> String {
    let name = |x: usize| test.world.objects.keys().nth(x).map_or_else(String::new, ToString::to_string);
    let Action { kind, reads, writes, .. } = witness.actions[a];
    let with = |verb: &str, x: Option<usize>, v: Option<Value>| match (x, v) {
        (Some(x), Some(v)) => format!(" {verb} {} of {}", value(v), name(x)),
        _ => String::new(),
    };
    let wrote = match (writes, witness.wrote[a]) {
        (Some(x), Some(v)) => format!(" wrote {} to {}", value(v), name(x)),
        _ => String::new(),
    };
    format!("{kind}{}{wrote}", with("read", reads, witness.read[a]))
}

fn pictured(test: &Test, witness: &Witness) -> String {
    let mut out = String::new();
    let all = &witness.actions;
    for (thread, node) in test.threads.iter().zip(&test.world.threads) {
        let _ = writeln!(out, "  {} on node {node}", thread.name);
        for (statement, (_, text)) in thread.source.iter().enumerate() {
            let own = of_statement(witness, *node, statement);
            let _ = writeln!(out, "    {text}  [{}]", own.map(|a| action(test, witness, a)).join("; "));
        }
    }
    let place = |a: usize| {
        let text = test.threads.iter().zip(&test.world.threads).find(|(_, n)| process(**n) == all[a].src);
        let text = text.and_then(|(t, _)| t.source.get(all[a].statement)).map_or("", |(_, text)| text);
        if all[a].kind == ActionType::Init {
            "the initial value".to_owned()
        } else {
            format!("{text} ({})", all[a].kind)
        }
    };
    for (name, pairs) in relations(witness) {
        let _ = writeln!(out, "  {name}");
        pairs.iter().for_each(|&(a, b)| _ = writeln!(out, "    {} -> {}", place(a), place(b)));
    }
    out
}

/// Returns the actions of a statement of the process on this node, by position.
pub fn of_statement(witness: &Witness, node: Node, statement: usize) -> impl Iterator<Item = usize> {
    let is_own = move |a: &Action| a.kind != ActionType::Init && a.src == process(node) && a.statement == statement;
    witness.actions.iter().enumerate().filter(move |(_, a)| is_own(a)).map(|(i, _)| i)
}

/// Returns the relations on the actions of a witness: reads-from, races, and happens-before rule by rule.
#[must_use]
pub fn relations(witness: &Witness) -> Vec<(String, Vec<(usize, usize)>)> {
    let rules: BTreeSet<Rule> = witness.edges.iter().map(|e| e.rule).collect();
    let of_rule = |rule: Rule| witness.edges.iter().filter(|e| e.rule == rule).map(|e| (e.from, e.to)).collect();
    let rules = rules.into_iter().map(|rule| (rule.to_string(), of_rule(rule)));
    let own = [("rf", &witness.rf), ("race", &witness.races)].map(|(name, pairs)| (name.to_owned(), pairs.clone()));
    own.into_iter().chain(rules).filter(|(_, pairs): &(_, Vec<_>)| !pairs.is_empty()).collect()
}

/// Translates a client of memory words into a program, each poll into a flush. The variables are in the order of the
/// world's objects.
fn of_client(world: &World, client: &Client) -> Program {
    let owned = world.objects.iter().filter_map(|(&x, o)| Some((x, o.node?, o.init.int()?)));
    let (names, variables): (Vec<Loc>, Vec<Variable>) =
        owned.map(|(x, node, init)| (x, Variable { owner: process(node), init })).unzip();
    let mut processes = vec![Vec::new(); world.nodes.into()];
    for (calls, node) in client.threads.iter().zip(&world.threads) {
        let mut registers = 0;
        let statement = |call: &Call| {
            let place = |i: usize| {
                let variable = names.iter().position(|x| *x == call.loc(i)).expect("a word of the world");
                SharedAccess { variable, atomic: true }
            };
            match (call.method.text(), call.args.last()) {
                ("Read", _) => {
                    registers += 1;
                    CoreRmaStatement::Read { register: registers - 1, from: place(0) }
                }
                ("Write", Some(Val::Int(i))) => CoreRmaStatement::Write { to: place(0), value: LocalExpr::Int(*i) },
                ("Put", _) => CoreRmaStatement::Put { to: place(0), from: place(1) },
                ("Get", _) => CoreRmaStatement::Get { to: place(0), from: place(1) },
                ("Poll", Some(Val::Node(n))) => CoreRmaStatement::Flush { process: process(*n) },
                (other, _) => unreachable!("{other} is not in the fragment"),
            }
        };
        processes[process(*node)] = calls.iter().map(statement).collect();
    }
    Program { variables, processes }
}

/// Returns all outcomes of a client of memory words, with the last values of all words. Each poll becomes a flush.
///
/// # Errors
/// If the time is up.
pub fn outcomes(world: &World, client: &Client, expired: &dyn Fn() -> bool) -> Result<BTreeSet<Outcome>, Stop> {
    let program = of_client(world, client);
    let observed: Vec<usize> = (0..program.variables.len()).collect();
    let found = execution::outcomes(&program, &Rules::core(), &observed, expired).expect("clients are small");
    let reads = |node: &Node| {
        program.processes[process(*node)].iter().filter(|s| matches!(s, CoreRmaStatement::Read { .. })).count()
    };
    let outcome = |output: &Vec<Value>| {
        let mut values = output.iter().map(|v| value(*v));
        // Processes are in the order of nodes, threads in their own.
        let of_node: BTreeMap<Node, Val> = world
            .threads
            .iter()
            .sorted()
            .map(|node| (*node, Val::tuple(&values.by_ref().take(reads(node)).collect::<Vec<_>>())))
            .collect();
        let outputs = world.threads.iter().map(|node| of_node[node]).collect();
        Outcome { outputs, finals: values.collect() }
    };
    Ok(found.all()?.keys().map(outcome).collect())
}

/// Prints a client of memory words as a litmus test of coreRMA.
#[must_use]
pub fn client(name: &str, world: &World, client: &Client) -> String {
    let program = of_client(world, client);
    let names: Vec<String> = world.objects.keys().map(ToString::to_string).collect();
    text(name, None, &program, &names, &[])
}

/// Returns names of variables: x, y, z, w, then v4 and so on.
#[must_use]
pub fn names(program: &Program) -> Vec<String> {
    let name = |i: usize| ["x", "y", "z", "w"].get(i).map_or_else(|| format!("v{i}"), |s| (*s).to_owned());
    (0..program.variables.len()).map(name).collect()
}

/// Prints a program as a litmus test.
#[must_use]
pub fn text(
    name: &str,
    description: Option<&str>,
    program: &Program,
    names: &[String],
    assertions: &[String],
) -> String {
    let mut out = format!("CORE_RMA {name}\n");
    if let Some(description) = description {
        let _ = writeln!(out, "\"{description}\"");
    }
    let _ = writeln!(out, "{{\n  nodes {};", program.processes.len());
    for (name, v) in names.iter().zip(&program.variables) {
        let _ = writeln!(out, "  {name}@{} = {};", v.owner + 1, v.init);
    }
    out.push_str("}\n");
    let place = |p: &SharedAccess| format!("{}{}", names[p.variable], if p.atomic { "" } else { ".n" });
    let mut before = 0;
    let mut columns = Vec::new();
    for (i, statements) in program.processes.iter().enumerate().filter(|(_, s)| !s.is_empty()) {
        let own = |r: &usize| print::register(before + r);
        let expr = |e: &LocalExpr| match e {
            LocalExpr::Int(i) => i.to_string(),
            LocalExpr::Register(r, 0) => own(r),
            LocalExpr::Register(r, k) => format!("{} + {k}", own(r)),
        };
        let statement = |s: &CoreRmaStatement| match s {
            CoreRmaStatement::Read { register, from } => format!("{} := {}", own(register), place(from)),
            CoreRmaStatement::Write { to, value } => format!("{} := {}", place(to), expr(value)),
            CoreRmaStatement::Set { register, value } => format!("{} := {}", own(register), expr(value)),
            CoreRmaStatement::Get { to, from } => format!("{} := get({})", place(to), place(from)),
            CoreRmaStatement::Put { to, from } => format!("put({}, {})", place(to), place(from)),
            CoreRmaStatement::Rga { to, at, add } => format!("{} := rga({}, {})", place(to), place(at), place(add)),
            CoreRmaStatement::Cas { to, at, old, new } => {
                format!("{} := cas({}, {}, {})", place(to), place(at), place(old), place(new))
            }
            CoreRmaStatement::Flush { process } => format!("flush({})", process + 1),
        };
        columns.push([vec![format!("P{0}@{0}", i + 1)], statements.iter().map(statement).collect()].concat());
        before += registers(statements);
    }
    out.push_str(&print::table(columns));
    assertions.iter().for_each(|a| _ = writeln!(out, "{a}"));
    out
}

/// Returns the number of registers of a process.
fn registers(statements: &[CoreRmaStatement]) -> usize {
    let number = |s: &CoreRmaStatement| match s {
        CoreRmaStatement::Read { register, .. } | CoreRmaStatement::Set { register, .. } => register + 1,
        _ => 0,
    };
    statements.iter().map(number).max().unwrap_or(0)
}

/// Prints the values of the registers in an output as a condition.
#[must_use]
pub fn condition(output: &[Value]) -> String {
    let values: Vec<_> = output.iter().enumerate().map(|(i, v)| (print::register(i), value(*v))).collect();
    print::conjunction(&values)
}
