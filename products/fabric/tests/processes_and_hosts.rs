//! Groups with a process for each node, on this machine and on two hosts, as one program. Each process of a test is
//! this program again, with the name of its role. Tests that cannot run here are reported as ignored.

mod launched;
mod processes;

use std::process::ExitCode;

use libtest_mimic::Arguments;

#[allow(dead_code, reason = "eighty threads that poll take long over locks")]
#[path = "common/crowd.rs"]
mod crowd;
#[path = "../examples/store/history.rs"]
mod history;
#[path = "../examples/store/load.rs"]
mod load;
#[path = "../../../mowgli/tests/common/needs.rs"]
mod needs;
#[path = "common/pair.rs"]
mod pair;
#[allow(dead_code, reason = "the parts of an example that runs")]
#[path = "../examples/common/place.rs"]
mod place;
#[allow(dead_code, reason = "what the example prints")]
#[path = "../examples/converter/plant.rs"]
mod plant;
#[path = "common/random_programs.rs"]
mod random_programs;
#[path = "common/scenarios.rs"]
mod scenarios;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[..] {
        [_, role, provider, name] if role == "role" => return processes::role(provider, name),
        [_, role, name] if role == "role" => return launched::played(name),
        _ => (),
    }
    let mut arguments = Arguments::from_args();
    // Each test has many processes already, which wait for each other.
    arguments.test_threads.get_or_insert(1);
    let trials = [processes::trials(), launched::trials()].into_iter().flatten().collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
