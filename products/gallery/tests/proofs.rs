//! Proofs for all clients of algorithms of the gallery, by Z3. Without it the tests are reported as ignored.

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use mowgli_gallery::entries;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::prelude::*;
use mowgli_prove::prove::{EXECUTIONS, ObligationResult, Proof, ProofOptions, prove};
use mowgli_prove::smt::solve::{SolverLimit, SolverProgram};
use mowgli_prove::template::source::ProofSource;

#[path = "../../../mowgli/tests/common/needs.rs"]
mod needs;

use needs::{Layer, Need, trial};

const Z3: Need = Need {
    tool: "z3",
    in_ci: true,
    missing: || (!SolverProgram::Z3.is_there()).then(|| "z3 is not on the path".to_owned()),
};

fn main() -> ExitCode {
    let trials: [Trial; 4] = [
        trial("signal_is_proved_and_its_variants_are_not", Layer::Quick, Z3, || is_proved_as_published("signal")),
        trial("spin_is_proved_and_its_variants_are_not", Layer::Long, Z3, || is_proved_as_published("spin")),
        trial("mutants_of_spin_are_not_proved", Layer::Long, Z3, mutants_of_spin_are_not_proved),
        trial("dslr_is_proved_and_its_variants_are_not", Layer::Long, Z3, || is_proved_as_published("dslr")),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

/// Checks that an algorithm is proved as published, and that none of its other variants is.
fn is_proved_as_published(algorithm: &str) {
    let all = entries();
    let entry = named(&all, algorithm).expect("an algorithm of the gallery");
    for variant in &entry.variants {
        let is_published = variant.name == "published";
        let proof = proof_of(entry, variant.name, if is_published { 60 } else { 1 });
        let open: Vec<&ObligationResult> = proof.rows.iter().filter(|row| !row.is_shown()).collect();
        assert_eq!(proof.is_proved(), is_published, "{algorithm} {}: {open:?} {:?}", variant.name, proof.errors);
    }
}

/// Mutants that have templates: a swap that leaves the lock free, and one that fails where the lock is free.
fn mutants_of_spin_are_not_proved() {
    let all = entries();
    let entry = named(&all, "spin").expect("an algorithm of the gallery");
    let spin = &entry.variant("published").expect("a variant").implementation;
    let swap = |expected: i64, v: i64| {
        spin.clone().replace(calls!(Rdma::RCAS { x, y, d, .. } => Rdma::rcas(x, y, expected, v, d)))
    };
    for mutant in [swap(0, 0), swap(1, 1)] {
        let proof = proof(entry, Arc::new(mutant), 1);
        assert!(!proof.is_proved());
        assert!(!proof.errors.iter().any(|e| e.to_string().contains("no template")), "{:?}", proof.errors);
    }
}

fn proof_of(entry: &Entry, variant: &str, seconds: u64) -> Proof {
    proof(entry, entry.variant(variant).expect("a variant").implementation.clone(), seconds)
}

fn proof(entry: &Entry, implementation: Arc<dyn Implementation>, seconds: u64) -> Proof {
    let source = ProofSource {
        specification: &entry.specification,
        library: entry.library().expect("a library").name(),
        below: &entry.below,
        implementation,
        subject: &*entry.subject,
    };
    let (limit, executions) = (SolverLimit::of(seconds * SolverLimit::SECOND), EXECUTIONS);
    prove(
        &source,
        &ProofOptions {
            solvers: vec![SolverProgram::Z3],
            limit,
            executions,
            confirms: true,
            keep: false,
            diagnoses: true,
        },
    )
}
