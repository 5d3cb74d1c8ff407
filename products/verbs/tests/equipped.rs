//! Tests that need more than Rust: a C compiler with the headers of libibverbs. Tests whose tool is missing are reported as ignored, not
//! as passed.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Trial};

mod cards;
mod emitted;
mod explored;
mod ran;
mod styles;

#[path = "../../../mowgli/tests/common/needs.rs"]
mod needs;
#[path = "../../../mowgli/tests/common/stack.rs"]
mod stack;
#[path = "../../../mowgli/tests/common/walk.rs"]
mod walk;

use needs::{Layer, Need, trial};
use ran::{ROOT, file, mowgli, verbs};
use walk::litmus_files;

fn main() -> ExitCode {
    if ran::is_mowgli() {
        return mowgli::main_with([]);
    }
    let devices: [(&str, fn()); 2] = [
        (
            "generated_c_programs_see_what_is_weak_and_judge_by_the_model",
            generated_c_programs_see_what_is_weak_and_judge_by_the_model,
        ),
        ("emitted_objects_keep_their_promises", emitted_objects_keep_their_promises),
    ];
    let devices = devices.map(|(name, test)| trial(name, Layer::Long, READABLE, test));
    let compiled = trial("generated_c_programs_compile", Layer::Quick, VERBS, generated_c_programs_compile);
    let own: Vec<Trial> = devices.into_iter().chain([compiled]).collect();
    let all = [own, cards::trials(), emitted::trials(), explored::trials(), styles::trials()];
    libtest_mimic::run(&Arguments::from_args(), all.into_iter().flatten().collect()).exit_code()
}

/// Returns a reason if a tool is missing.
fn unless(is_there: bool) -> Option<String> {
    (!is_there).then(|| "it cannot be used here".to_owned())
}

const VERBS: Need = Need { tool: "cc and infiniband/verbs.h", in_ci: true, missing: || unless(has_verbs()) };

const READABLE: Need = Need {
    tool: "infiniband/verbs.h, and processes that may read each other's memory",
    in_ci: false,
    missing: || unless(has_verbs() && may_look()),
};

fn has_verbs() -> bool {
    compiles("#include <infiniband/verbs.h>\n")
}

/// True if there is a C compiler that accepts this program.
fn compiles(program: &str) -> bool {
    let compiler = Command::new("cc")
        .args(["-fsyntax-only", "-Wall", "-Werror", "-Wno-unused", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    compiler.is_ok_and(|mut compiler| {
        let mut input = compiler.stdin.take().expect("piped");
        let written = input.write_all(program.as_bytes()).is_ok();
        drop(input);
        compiler.wait().is_ok_and(|status| status.success()) && written
    })
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

/// A device of processes that read each other's memory, in place of hardware.
const DEVICE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/device/verbs.c");

/// True if a process may read the memory of another one that allows it.
fn may_look() -> bool {
    let program = "#define _GNU_SOURCE\n#include <sys/prctl.h>\n#include <sys/uio.h>\n#include <sys/wait.h>\n#include <unistd.h>\n\
        int main(void)\n{\n\
        int own = 0, status; struct iovec i = { &own, sizeof own }; pid_t parent = getpid(), child;\n\
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);\n\
        if (!(child = fork())) _exit(process_vm_readv(parent, &i, 1, &i, 1, 0) != sizeof own);\n\
        return waitpid(child, &status, 0) != child || status;\n}\n";
    let Ok(folder) = tempfile::tempdir() else { return false };
    let (source, out) = (file(folder.path(), "look.c", program), folder.path().join("look"));
    let compiles = Command::new("cc").args([Path::new(&source), Path::new("-o"), &out]).output();
    compiles.is_ok_and(|o| o.status.success()) && Command::new(out).status().is_ok_and(|status| status.success())
}

/// Runs a test's C program over the device. Returns its exit code, and its counts of outcomes.
fn counted(folder: &Path, name: &str, test: &str, port: u32, unordered: bool) -> (i32, String) {
    let path = file(folder, &format!("{name}.litmus"), test);
    let converted = verbs(&["convert", &path]);
    assert_eq!(converted.code, 0, "{}", converted.err);
    let source = file(folder, &format!("{name}.c"), &converted.out);
    let program = folder.join(name);
    let flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"];
    let compiler = Command::new("cc").args(flags).args([&program, Path::new(&source), Path::new(DEVICE)]).output();
    let output = compiler.expect("cc runs");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let start = |node: &str| {
        let mut process = Command::new(&program);
        process.args([node, "localhost", "localhost", "-n", "1000", "-s", "2", "-p", &port.to_string()]);
        if unordered {
            process.env("VERBS_UNORDERED", "1");
        }
        process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let [first, second] = [start("1"), start("2")].map(|process| process.wait_with_output().expect("it ends"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_ne!(second.status.code(), Some(2), "{name}: {}{}", text(&first.stderr), text(&second.stderr));
    (first.status.code().expect("no signal"), text(&first.stdout) + &text(&second.stdout))
}

/// A device that is as weak as the model shows every outcome of the model, and no other. A device whose writes pass
/// each other shows an outcome that the test forbids. A READ can pass another one only because both may be under way.
fn generated_c_programs_see_what_is_weak_and_judge_by_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let port = 20_000 + std::process::id() % 10_000;
    let late =
        "RDMA_TSO late\n{ x@1 = 0; z@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | a := z ;\n x := 1 | ;\nforbidden (z=1)\n";
    let (code, out) = counted(folder.path(), "late", late, port, false);
    // The test is wrong, and the model is not.
    assert!(code == 0 && out.contains("3 outcomes") && count(&out, "; expected") == 3, "{out}");
    let reads = "RDMA_TSO reads\n{ x@1 = 0; y@1 = 0; v@2 = 0; w@2 = 0; }\n P1@1 | P2@2 ;\n get(x, w) | v := 1 ;\n \
        get(y, v) | mfence ;\n poll(2) | w := 1 ;\n poll(2) | ;\n a := x | ;\n b := y | ;\nallowed (a=1 /\\ b=0)\n";
    let (code, out) = counted(folder.path(), "reads", reads, port + 2, false);
    assert!(code == 0 && out.contains("a=1; b=0;"), "{out}");
    let flag = "RDMA_TSO flag\n{ x@1 = 1; z@2 = 0; f@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | a := f ;\n put(f, x) | b := z ;\n\
        forbidden (a=1 /\\ b=0)\n";
    let (code, out) = counted(folder.path(), "flag", flag, port + 4, false);
    assert!(code == 0 && !out.contains("FORBIDDEN"), "{out}");
    let (code, out) = counted(folder.path(), "flag", flag, port + 6, true);
    assert!(code == 1 && out.contains("a=1; b=0; f=1; x=1; z=1; FORBIDDEN"), "{out}");
    // An atomic of the card is one.
    let sum = "RDMA_TSO sum\n{ z@1 = 0; x@1 = 0; y@2 = 0; }\n P1@1 | P2@2 ;\n rfaa(x, z, 1) | rfaa(y, z, 1) ;\n\
        poll(1) | poll(1) ;\nforall (z=2)\n";
    let (code, out) = counted(folder.path(), "sum", sum, port + 8, false);
    assert!(code == 0 && out.contains("z=2; expected"), "{out}");
    let refused = |args: &[&str]| {
        let program = Command::new(folder.path().join("sum")).args(args).output().unwrap();
        (program.status.code(), String::from_utf8_lossy(&program.stderr).into_owned())
    };
    let at = (port + 8).to_string();
    for (args, why) in [
        (&["1", "127.0.0.1", "127.0.0.1", "-w", "1", "-p", &at][..], "node 2 on 127.0.0.1 did not come within 1 s"),
        (&["2", "127.0.0.1", "127.0.0.1", "-w", "1", "-p", &at], "node 1 on 127.0.0.1 did not come within 1 s"),
        (&["1", "203.0.113.9", "127.0.0.1", "-p", &at], "of 203.0.113.9, the host of node 1: "),
        (&["3", "127.0.0.1", "127.0.0.1"], "NODE is from 1 to 2"),
    ] {
        let (code, said) = refused(args);
        assert!(code == Some(2) && said.contains(why), "{args:?}: {said}");
    }
    let both = ["1", "2"].map(|node| {
        let mut program = Command::new(folder.path().join("sum"));
        program.args([node, "localhost", "localhost", "-n", "1", "-s", "1", "-p", &at]).env("VERBS_NO_ATOMICS", "1");
        program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    });
    let said = both.map(|program| String::from_utf8_lossy(&program.wait_with_output().unwrap().stderr).into_owned());
    assert!(said.concat().contains("the device has no atomic operations"), "{said:?}");
    // A thread that waits for ever ends the program, and the model knows that it does.
    let stuck = "RDMA_TSO stuck\n{ x@1 = 0; g@1 = 1; z@2 = 0; f@2 = 1; }\n P1@1 | P2@2 ;\n get(x, f) | await z = 1 ;\n poll(2) | ;\n \
        a := x | ;\n if a = 0 { | ;\n put(z, g) | ;\n } | ;\nmay hang\n";
    let (code, out) = counted(folder.path(), "stuck", stuck, port + 10, false);
    assert!(code == 3 && out.contains("Test stuck: stuck after 0 runs: P2 at line 4: expected"), "{out}");
}

/// The barrier, the lock, the ring and the atomic words in C do over the device what they promise. A variant that
/// does not wait for what it reads is caught.
fn emitted_objects_keep_their_promises() {
    for (atomic, code) in [("sc-rmw", 0), ("sc-rmw:read-no-wait", 1)] {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let printed = mowgli(&["emit", "c", "sv", "bal", "slock", atomic, "rbl", "--out", &at.display().to_string()]);
        assert_eq!(printed.code, 0, "{}", printed.err);
        std::fs::rename(at.join("sv-bal-slock-sc-rmw-rbl.h"), at.join("objects.h")).unwrap();
        let objects = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/device/objects.c");
        let flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"];
        let program = at.join("objects");
        let mut compiler = Command::new("cc");
        compiler.args(flags).arg(at).arg("-o").args([&program, Path::new(objects), Path::new(DEVICE)]);
        let output = compiler.output().expect("cc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let ran = Command::new(&program).output().expect("it runs");
        assert_eq!(ran.status.code(), Some(code), "{atomic}: {}", String::from_utf8_lossy(&ran.stdout));
        let waits = |how: &str| Command::new("timeout").arg("20").arg(&program).arg(how).output().expect("it runs");
        assert_eq!(waits("hook").status.code(), Some(7));
        let late = waits("deadline");
        let reported = String::from_utf8_lossy(&late.stderr);
        assert_eq!(late.status.code(), Some(9), "{reported}");
        assert!(reported.contains("a thread still waits at its deadline"), "{reported}");
    }
}

/// Tests of both kinds that `mowgli generate` writes, and those of the papers, compile as programs.
fn generated_c_programs_compile() {
    let folder = tempfile::tempdir().unwrap();
    let [tests, programs] = ["tests", "programs"].map(|name| folder.path().join(name).display().to_string());
    let of_core_rma = ["--pivot", "IR", "--actions", "9"];
    let of_axioms = ["--model", "rdma-tso", "--pivot", "to:aCW-aNLR", "--procs", "1", "--actions", "3"];
    for what in [&of_core_rma[..], &of_axioms] {
        let ran = mowgli(&[&["generate", "--out", &tests], what].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let ran = verbs(&["convert", &tests, "--out", &programs]);
    assert!(ran.code == 0 && ran.err.contains("41 programs"), "{}", ran.err);
    let paths = std::fs::read_dir(&programs).unwrap().map(|e| e.unwrap().path());
    paths.filter(|p| p.extension().is_some_and(|x| x == "c")).for_each(|program| compiles_as_c(&program));
    let test = "RDMA_TSO exchange { x@1 = 0; z@2 = 0; }\n P1@1 ;\n a := xchg(x, 1) ;\n put(z, x) ;\nallowed (a=0)\n";
    let exchange = file(folder.path(), "exchange.litmus", test);
    let papers = Path::new(ROOT).join("tests/litmus/papers");
    let papers = litmus_files(&papers).into_iter().step_by(5).map(|path| path.display().to_string());
    let mut count = 0;
    for path in papers.chain([exchange]) {
        let printed = verbs(&["convert", &path]);
        if printed.code == 2 && printed.err.starts_with("error[unsupported]") {
            continue;
        }
        assert_eq!(printed.code, 0, "{path}: {}", printed.err);
        count += 1;
        compiles_as_c(Path::new(&file(folder.path(), "printed.c", &printed.out)));
    }
    assert!(count > 5, "{count}");
}

/// Asserts that a program compiles without a warning.
fn compiles_as_c(program: &Path) {
    let mut compiler = Command::new("cc");
    let output =
        compiler.args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only"]).arg(program).output().expect("cc runs");
    assert!(output.status.success(), "{}: {}", program.display(), String::from_utf8_lossy(&output.stderr));
}
