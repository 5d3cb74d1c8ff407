//! scratch
use mowgli_core::ids::Name;
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_prove::prove::{Options, prove};
use mowgli_prove::solve::Program;
use mowgli_prove::template::Source;
use std::time::Duration;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let all = catalogue();
    let entry = named(&all, &args[1]).unwrap();
    let variant = args.get(2).map_or("published", String::as_str);
    let limit = Duration::from_secs(args.get(3).map_or(60, |s| s.parse().unwrap()));
    let source = Source {
        specification: &entry.specification,
        library: Name::literal(entry.name),
        below: &entry.below,
        implementation: entry.variant(variant).unwrap().implementation.clone(),
        subject: &*entry.subject,
    };
    let options = Options { solvers: vec![Program::Z3], limit, executions: Duration::from_secs(60) };
    let proof = prove(&source, &options);
    for r in &proof.rows {
        println!("{:60} {:6} {:8.2} {}", r.obligation, r.cases, r.time.as_secs_f64(), r.result());
    }
    for o in &proof.obstacles {
        println!("obstacle {o}");
    }
    println!("{:?} executions {}; proved {}", proof.concretisation, proof.executions, proof.is_proved());
}
