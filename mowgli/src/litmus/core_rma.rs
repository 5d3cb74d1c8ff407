//! Litmus tests of coreRMA: from a test to a program and its outcomes, and from a program to a test.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node};
use mowgli_core::outcome::{Explored, Limits, Outcome};
use mowgli_core::runs::Stop;
use mowgli_core::soundness::client::Client;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::core_rma::execution::{self, Rules, Value};
use mowgli_rdma::core_rma::program::{Expr, Place, Program, Statement, Variable};

use super::print;
use super::run::{Answer, holds};
use super::test::{self, Arg, Observable, Test};
use crate::interrupt::cause;

fn process(node: Node) -> usize {
    usize::from(node.0) - 1
}

/// The program of a test: the process of each node, and which variable each location is.
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
            Arg::Val(v) => Expr::Int(v.int().expect("integers only")),
            Arg::Register(r, k) => Expr::Register(number(r), *k),
        };
        let statement = |s: &test::Statement| match s {
            test::Statement::Set(r, arg) => Statement::Set { register: number(r), value: expr(arg) },
            test::Statement::Call { register, method, args, .. } => {
                let place = |i: usize| match (args[2 * i], args[2 * i + 1]) {
                    (Arg::Val(Val::Loc(x)), Arg::Val(Val::Bool(atomic))) => Place { variable: position[&x], atomic },
                    _ => unreachable!("an access is a location and whether it is atomic"),
                };
                match *method {
                    "Read" => Statement::Read { register: number(&register.expect("it has one")), from: place(0) },
                    "Write" => Statement::Write { to: place(0), value: expr(&args[2]) },
                    "Put" => Statement::Put { to: place(0), from: place(1) },
                    "Get" => Statement::Get { to: place(0), from: place(1) },
                    "RGA" => Statement::Rga { to: place(0), at: place(1), add: place(2) },
                    "CAS" => Statement::Cas { to: place(0), at: place(1), old: place(2), new: place(3) },
                    _ => match args[0] {
                        Arg::Val(Val::Node(n)) => Statement::Flush { process: process(n) },
                        _ => unreachable!("a flush names a node"),
                    },
                }
            }
        };
        program.processes[process(*node)] = thread.statements.iter().map(statement).collect();
    }
    (program, position)
}

fn value(v: Value) -> Val {
    v.map_or(Val::Top, Val::Int)
}

/// Solves a test under these rules.
///
/// # Panics
/// If the test is not one of coreRMA that was parsed.
#[must_use]
pub fn solve(test: &Test, rules: &Rules, limits: Limits<'_>) -> Answer {
    let (program, position) = program(test);
    let observed: Vec<usize> = test.observed.iter().map(|cell| position[&cell.loc]).collect();
    let found = execution::outcomes(&program, rules, &observed, limits.expired).expect("the parser checks its size");
    let stop = found.expired.then(|| cause(Stop::Time));
    let nodes = &test.world.threads;
    // Outputs have the registers of processes in the order of nodes.
    let first = |node: &Node| -> usize {
        let before = test.threads.iter().zip(nodes).filter(|(_, n)| *n < node);
        before.map(|(t, _)| t.registers.len()).sum()
    };
    let first: Vec<usize> = nodes.iter().map(first).collect();
    let registers: usize = test.threads.iter().map(|t| t.registers.len()).sum();
    let shown = |output: &[Value]| -> Vec<Val> {
        let of = |o: &Observable| match *o {
            Observable::Register(thread, position) => output[first[thread] + position],
            Observable::Final(position) => output[registers + position],
        };
        test.shown.iter().map(|(_, o)| value(of(o))).collect()
    };
    let outcomes: BTreeMap<Vec<Val>, u64> = found.outputs.iter().map(|(o, &n)| (shown(o), n)).collect();
    let holds = test.assertions.iter().map(|a| holds(a, outcomes.keys(), stop.is_none())).collect();
    let mut explored = Explored { stop, ..Explored::default() };
    explored.stats.classes = found.outputs.values().sum();
    Answer { outcomes, holds, explored, rules: (*rules != Rules::core()).then(|| rules.clone()) }
}

/// A client of memory words, each of its polls a flush, as a program: the variables in the order of the world's objects.
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
                Place { variable, atomic: true }
            };
            match (call.method.text(), call.args.last()) {
                ("Read", _) => {
                    registers += 1;
                    Statement::Read { register: registers - 1, from: place(0) }
                }
                ("Write", Some(Val::Int(i))) => Statement::Write { to: place(0), value: Expr::Int(*i) },
                ("Put", _) => Statement::Put { to: place(0), from: place(1) },
                ("Get", _) => Statement::Get { to: place(0), from: place(1) },
                ("Poll", Some(Val::Node(n))) => Statement::Flush { process: process(*n) },
                (other, _) => unreachable!("{other} is not in the fragment"),
            }
        };
        processes[process(*node)] = calls.iter().map(statement).collect();
    }
    Program { variables, processes }
}

/// All outcomes of a client of memory words, each of its polls a flush, with the last values of all words.
///
/// # Errors
/// If the time is up.
pub fn outcomes(world: &World, client: &Client, expired: &dyn Fn() -> bool) -> Result<BTreeSet<Outcome>, Stop> {
    let program = of_client(world, client);
    let observed: Vec<usize> = (0..program.variables.len()).collect();
    let found = execution::outcomes(&program, &Rules::core(), &observed, expired).expect("clients are small");
    let reads =
        |node: &Node| program.processes[process(*node)].iter().filter(|s| matches!(s, Statement::Read { .. })).count();
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
    if found.expired { Err(Stop::Time) } else { Ok(found.outputs.keys().map(outcome).collect()) }
}

/// A client of memory words as a litmus test of coreRMA.
#[must_use]
pub fn client(name: &str, world: &World, client: &Client) -> String {
    let program = of_client(world, client);
    let names: Vec<String> = world.objects.keys().map(ToString::to_string).collect();
    text(name, None, &program, &names, &[])
}

/// Names of variables: x, y, z, w, then v4 and so on.
#[must_use]
pub fn names(program: &Program) -> Vec<String> {
    let name = |i: usize| ["x", "y", "z", "w"].get(i).map_or_else(|| format!("v{i}"), |s| (*s).to_owned());
    (0..program.variables.len()).map(name).collect()
}

/// A program as a litmus test.
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
    let place = |p: &Place| format!("{}{}", names[p.variable], if p.atomic { "" } else { ".n" });
    let mut before = 0;
    let mut columns = Vec::new();
    for (i, statements) in program.processes.iter().enumerate().filter(|(_, s)| !s.is_empty()) {
        let own = |r: &usize| print::register(before + r);
        let expr = |e: &Expr| match e {
            Expr::Int(i) => i.to_string(),
            Expr::Register(r, 0) => own(r),
            Expr::Register(r, k) => format!("{} + {k}", own(r)),
        };
        let statement = |s: &Statement| match s {
            Statement::Read { register, from } => format!("{} := {}", own(register), place(from)),
            Statement::Write { to, value } => format!("{} := {}", place(to), expr(value)),
            Statement::Set { register, value } => format!("{} := {}", own(register), expr(value)),
            Statement::Get { to, from } => format!("{} := get({})", place(to), place(from)),
            Statement::Put { to, from } => format!("put({}, {})", place(to), place(from)),
            Statement::Rga { to, at, add } => format!("{} := rga({}, {})", place(to), place(at), place(add)),
            Statement::Cas { to, at, old, new } => {
                format!("{} := cas({}, {}, {})", place(to), place(at), place(old), place(new))
            }
            Statement::Flush { process } => format!("flush({})", process + 1),
        };
        columns.push([vec![format!("P{0}@{0}", i + 1)], statements.iter().map(statement).collect()].concat());
        before += registers(statements);
    }
    out.push_str(&print::table(columns));
    assertions.iter().for_each(|a| _ = writeln!(out, "{a}"));
    out
}

/// How many registers a process has.
fn registers(statements: &[Statement]) -> usize {
    let number = |s: &Statement| match s {
        Statement::Read { register, .. } | Statement::Set { register, .. } => register + 1,
        _ => 0,
    };
    statements.iter().map(number).max().unwrap_or(0)
}

/// What an output says of the registers, as a condition.
#[must_use]
pub fn condition(output: &[Value]) -> String {
    let values: Vec<_> = output.iter().enumerate().map(|(i, v)| (print::register(i), value(*v))).collect();
    print::conjunction(&values)
}
