//! Groups with a process for each node, on this machine and on two hosts, as one program. Each process of a test is
//! this program again, with the name of its role. Tests that cannot run here are reported as ignored.

mod launched;
#[allow(dead_code, reason = "its own tests run in one process")]
mod library;
mod litmus_processes;
mod processes;

use std::process::ExitCode;

use libtest_mimic::Arguments;

#[path = "common/bytes.rs"]
mod bytes;
#[allow(dead_code, reason = "eighty threads that poll take long over locks")]
#[path = "common/crowd.rs"]
mod crowd;
#[path = "common/forged.rs"]
mod forged;
#[path = "../examples/store/history.rs"]
mod history;
#[path = "../src/emitted/mowgli_port.rs"]
mod mowgli_port;
#[path = "../../../mowgli/tests/common/needs.rs"]
mod needs;
#[allow(dead_code, reason = "the tests of errors run in one process")]
#[path = "common/ran.rs"]
mod ran;
#[path = "common/refused.rs"]
mod refused;
#[path = "../../../mowgli/tests/slurm/mod.rs"]
mod slurm;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[..] {
        [_, role, provider, name] if role == "role" => return processes::role(provider, name),
        [_, role, name] if role == "role" => return launched::played(name),
        _ => (),
    }
    if let Some(own) = litmus_processes::own() {
        return mowgli_fabric::command::main_with(own);
    }
    let mut arguments = Arguments::from_args();
    // Each test has many processes already, which wait for each other.
    arguments.test_threads.get_or_insert(1);
    let trials = [processes::trials(), launched::trials(), litmus_processes::trials()].into_iter().flatten().collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
