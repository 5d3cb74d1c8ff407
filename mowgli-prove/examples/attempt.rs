//! try
use std::time::Duration;
use mowgli_core::ids::Name;
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_prove::prove::{Options, prove};
use mowgli_prove::solve::Program;
use mowgli_prove::template::Source;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let all = catalogue();
    let entry = named(&all, &args[1]).unwrap();
    let name = Name::literal(entry.name);
    let source = Source {
        specification: &entry.specification,
        library: name,
        below: &entry.below,
        implementation: entry.variant(args.get(2).map_or("published", |v| v)).unwrap().implementation.clone(),
        subject: &*entry.subject,
    };
    let seconds = args.get(3).map_or(10, |s| s.parse().unwrap());
    let proof = prove(&source, &Options { solvers: match args.get(4).map(|s| &**s) { Some("cvc5") => vec![Program::Cvc5], Some("both") => vec![Program::Z3, Program::Cvc5], _ => vec![Program::Z3] }, limit: Duration::from_secs(seconds), executions: Duration::from_secs(10) });
    for row in &proof.rows {
        println!("{:60} {:4} {:8.2?} {}", row.obligation, row.cases, row.time, row.result());
    }
    println!("{:?}\n{:?} proved: {}", proof.obstacles, proof.concretisation, proof.is_proved());
}
