//! Litmus tests of coreRMA: from a test to a program and its outcomes, and from a program to a test.

mod clients;
mod notation;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::ids::{Loc, Name, Node};
use mowgli_core::search::outcome::{Explored, Outcome};
use mowgli_core::search::problem::{Found, Limits};
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::{Client, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::core_rma::execution::{self, Rule, Rules, Value, Witness};
use mowgli_rdma::core_rma::program::{
    Action, ActionType, CoreRmaStatement, LocalExpr, Program, SharedAccess, Variable,
};

pub use self::text::{condition, names, text};
use self::text::{process, value};
use super::answer::{Answer, vacuous};
use super::semantics::{OwnAction, OwnExecution, OwnExecutions, OwnSemantics};
use super::test::{self, Arg, Assertion, Observable, Test, TestThread};
use crate::interrupt::{Undecided, cause};

/// coreRMA.
pub(super) struct CoreRma;

/// Translates a test into a program: the process of each node, and the variable of each location.
///
/// # Panics
/// If the test is not one of coreRMA that was parsed.
#[must_use]
fn program(test: &Test) -> (Program, BTreeMap<Loc, usize>) {
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
    Answer { rules: (*rules != Rules::core()).then(|| rules.to_string()), ..answer }
}

impl OwnSemantics for CoreRma {
    fn solve(&self, test: &Test, limits: Limits<'_>) -> Answer {
        solve(test, &Rules::core(), limits)
    }

    fn executions(&self, test: &Test, limits: Limits<'_>) -> OwnExecutions {
        let asked = ProgramOfTest::new(test);
        let found = execution::witnesses(&asked.program, &Rules::core(), &asked.observed, limits.expired);
        let found = found.expect("the parser checks its size");
        let (found, stop) = found.so_far();
        let shown = found.iter().map(|(output, witness)| (asked.shown(output), of_witness(test, witness))).collect();
        Found::new(shown, stop.cloned().map(cause))
    }

    fn explain(
        &self,
        test: &Test,
        assertion: &Assertion,
        executions: &OwnExecutions,
        limits: Limits<'_>,
    ) -> Result<String, Undecided> {
        explain(test, assertion, executions, limits)
    }

    fn why_no_cat(&self) -> &'static str {
        "which of its executions there are depends on the values that undefined reads return"
    }

    fn why_no_lisa(&self) -> &'static str {
        "its executions are not those of a set of subevents with relations between them"
    }

    fn clients(&self) -> Box<dyn Subject + Sync> {
        Box::new(clients::WithFlushes)
    }

    fn with_polls(&self, world: &World, client: &Client) -> Client {
        clients::with_polls(world, client)
    }

    fn outcomes(&self, world: &World, client: &Client, expired: &dyn Fn() -> bool) -> Result<BTreeSet<Outcome>, Stop> {
        clients::outcomes(world, client, expired)
    }

    fn litmus(&self, name: &str, world: &World, client: &Client) -> String {
        clients::litmus(name, world, client)
    }
}

fn explain(
    test: &Test,
    assertion: &Assertion,
    executions: &OwnExecutions,
    limits: Limits<'_>,
) -> Result<String, Undecided> {
    let (executions, stop) = executions.so_far();
    if let Some((values, execution)) = executions.iter().find(|(values, _)| assertion.condition.holds(values)) {
        let outcome = test.named(values).map(|(name, v)| format!("{name}={v}")).join(", ");
        return Ok(format!("The outcome {outcome} is that of this execution:\n{}", execution.text));
    }
    let title = format!("{}: ({})", test.name, assertion.text);
    if let Some(stop) = stop {
        return Err(Undecided::new(format!("{title}: whether an execution has it"), stop.clone()));
    }
    if executions.is_empty() {
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

/// Returns a witness as data.
fn of_witness(test: &Test, witness: &Witness) -> OwnExecution {
    let own = |id: usize| OwnAction { id, kind: witness.actions[id].kind.to_string(), text: action(test, witness, id) };
    let of_thread = |(thread, &node): (&TestThread, &Node)| {
        let statements = 0..thread.source.len();
        statements.map(|statement| of_statement(witness, node, statement).map(own).collect()).collect()
    };
    let is_shown = |a: usize| witness.actions[a].kind != ActionType::Init;
    let relations = relations(witness).into_iter().map(|(name, mut pairs)| {
        pairs.retain(|&(a, b)| is_shown(a) && is_shown(b));
        (name, pairs)
    });
    OwnExecution {
        threads: test.threads.iter().zip(&test.world.threads).map(of_thread).collect(),
        relations: relations.filter(|(_, pairs)| !pairs.is_empty()).collect(),
        text: pictured(test, witness),
    }
}

/// Prints an action of a witness: what it does, to which variable, with which value.
fn action(test: &Test, witness: &Witness, a: usize) -> String {
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

/// Prints the actions of each statement, and the relations.
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
fn of_statement(witness: &Witness, node: Node, statement: usize) -> impl Iterator<Item = usize> {
    let is_own = move |a: &Action| a.kind != ActionType::Init && a.src == process(node) && a.statement == statement;
    witness.actions.iter().enumerate().filter(move |(_, a)| is_own(a)).map(|(i, _)| i)
}

/// Returns the relations on the actions of a witness: reads-from, races, and happens-before rule by rule.
fn relations(witness: &Witness) -> Vec<(String, Vec<(usize, usize)>)> {
    let rules: BTreeSet<Rule> = witness.edges.iter().map(|e| e.rule).collect();
    let of_rule = |rule: Rule| witness.edges.iter().filter(|e| e.rule == rule).map(|e| (e.from, e.to)).collect();
    let rules = rules.into_iter().map(|rule| (rule.to_string(), of_rule(rule)));
    let own = [("rf", &witness.rf), ("race", &witness.races)].map(|(name, pairs)| (name.to_owned(), pairs.clone()));
    own.into_iter().chain(rules).filter(|(_, pairs): &(_, Vec<_>)| !pairs.is_empty()).collect()
}
