//! The tests that need a solver, as one program. It reports them as ignored if there is no solver.

mod guard;
mod mutants;
mod solver;

use std::process::ExitCode;

use libtest_mimic::Arguments;

mod common;
#[path = "../../mowgli/tests/common/needs.rs"]
mod needs;

fn main() -> ExitCode {
    let mut trials = solver::trials();
    trials.push(mutants::test());
    trials.extend(guard::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
