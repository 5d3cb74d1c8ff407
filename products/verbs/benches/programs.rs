//! Explorations and random runs of C programs. The counts come first: states of the machine, runs of code, outcomes, and executions
//! of random runs in a second.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use divan::Bencher;
use mowgli_rdma::{Network, Switches};
use mowgli_verbs::{Ask, ExploredProgram, ProgramCommand, Toolchain, explore, run};

/// The executions of random runs.
const EXECUTIONS: u64 = 20_000;

/// Examples, and a program with twelve shared accesses and six operations.
const PROGRAMS: [&str; 8] = ["pingpong", "barrier", "lock", "ring", "version", "immediate", "log", "twelve"];

/// Compiles a program into a folder.
fn compiled(folder: &Path, name: &str) -> ProgramCommand {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = root.join("examples");
    let of_benches = root.join("benches").join(format!("{name}.c"));
    let source: PathBuf = if of_benches.exists() { of_benches } else { examples.join(format!("{name}.c")) };
    let toolchain = Toolchain::new(OsStr::new("cc"), OsStr::new("c++")).expect("cc");
    let program = folder.join(name);
    let flags = ["-I".into(), examples.into_os_string()];
    toolchain.compile(&[source], &program, &flags).expect("the program compiles");
    ProgramCommand { program, args: Vec::new() }
}

fn ask(program: &ProgramCommand) -> Ask<'_> {
    Ask {
        programs: std::slice::from_ref(program),
        per_node: false,
        switches: Switches { network: Network::RC, ..Switches::OFF },
        states: usize::MAX,
        time: Duration::from_secs(600),
        executions: false,
        races: false,
    }
}

fn explored(program: &ProgramCommand) -> ExploredProgram {
    let found = explore(&ask(program)).expect("the program starts");
    assert!(found.stop.is_none() && found.failures.is_empty(), "{found:?}");
    found
}

#[divan::bench(args = PROGRAMS, sample_count = 5)]
fn exploration(bencher: Bencher<'_, '_>, name: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = compiled(folder.path(), name);
    bencher.bench_local(|| explored(&program).states);
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in PROGRAMS {
        let program = compiled(folder.path(), name);
        let ExploredProgram { states, runs, outcomes, time, .. } = explored(&program);
        let begin = Instant::now();
        let ran = run(&ask(&program), EXECUTIONS, 0).expect("the program starts");
        assert!(ran.stop.is_none() && ran.runs == EXECUTIONS, "{:?}", ran.stop);
        let (outcomes, milliseconds) = (outcomes.len(), time.as_millis());
        let rate = EXECUTIONS as f64 / begin.elapsed().as_secs_f64();
        println!(
            "{name}: {states} states, {runs} runs of code, {outcomes} outcomes in {milliseconds} ms; \
             {rate:.0} executions a second in random runs"
        );
    }
    divan::main();
}
