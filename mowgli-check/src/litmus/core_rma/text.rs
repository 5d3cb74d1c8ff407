//! Programs of coreRMA as litmus tests.

use std::fmt::Write as _;

use mowgli_core::ids::Node;
use mowgli_core::value::Val;
use mowgli_rdma::core_rma::execution::Value;
use mowgli_rdma::core_rma::program::{CoreRmaStatement, LocalExpr, Program, SharedAccess};

use crate::litmus::print;

/// Returns the process on a node.
pub(super) fn process(node: Node) -> usize {
    usize::from(node.0) - 1
}

/// Returns a value of a program as one of a test.
pub(super) fn value(v: Value) -> Val {
    v.map_or(Val::Top, Val::Int)
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
