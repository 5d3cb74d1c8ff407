//! Litmus tests over libfabric, with a process for each node.

use std::process::{Command, Stdio};

use libtest_mimic::Trial;
use mowgli_fabric::Provider;
use mowgli_libraries::entry::Entry;

#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../../../mowgli/examples/counter.rs"]
mod counter;
#[allow(dead_code, missing_docs, reason = "an example of its own")]
#[path = "../../../mowgli/examples/latch.rs"]
mod latch;

use crate::needs::{Layer, Need, trial};
use crate::ran::{fabric, file};

/// Lists the tests.
pub fn trials() -> Vec<Trial> {
    let own = trial("libraries_of_ones_own_run_by_their_own_bodies", Layer::Long, LIBFABRIC, own_libraries_run);
    let tests: [(&str, fn()); 3] = [
        ("litmus_tests_run_as_processes", litmus_tests_run_as_processes),
        ("processes_see_what_is_broken", processes_see_what_is_broken),
        ("a_launcher_can_start_the_processes", a_launcher_can_start_the_processes),
    ];
    tests.map(|(name, test)| trial(name, Layer::Long, LIBFABRIC, test)).into_iter().chain([own]).collect()
}

const LIBFABRIC: Need = Need {
    tool: "libfabric, tcp and shm",
    in_ci: true,
    missing: || PROVIDERS.iter().find_map(|provider| provider.check().err().map(|fault| fault.to_string())),
};

/// The providers over which processes can run on one machine.
const PROVIDERS: [Provider; 2] = [Provider::Tcp, Provider::Shm];

/// Runs of the papers' tests with two and three nodes show only outcomes that the model allows, and some tests show
/// several.
fn litmus_tests_run_as_processes() {
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/litmus/papers");
    let names =
        ["loco-fig4-sb", "sync-fig7c-sb-rfaa", "loco-fig9a", "robust-fig5-tree3", "sync-fig15b-sb", "loco-fig13-ring"];
    for provider in PROVIDERS {
        let mut kinds = 0;
        for name in names {
            let test = format!("{papers}/{name}.litmus");
            let ran = fabric(&["run", &test, "--times", "300", "--fabric", provider.name(), "--json"]);
            assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
            let all: serde_json::Value = serde_json::from_str(&ran.out).expect("an object");
            assert_eq!(all["runs"], 300, "{all}");
            let seen = all["outcomes"].as_array().unwrap().iter().filter(|row| row["seen"] != 0).count();
            kinds += usize::from(seen > 1);
        }
        assert!(kinds > 0, "{}: no test has shown two outcomes", provider.name());
    }
}

/// Runs show the forbidden outcome of a compare-and-swap that always writes 2.
fn processes_see_what_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let cas = "RDMA_WAIT cas\n{ sc x = 0 at 1; }\n P1@1 | P2@2 ;\n a := x.cas(0, 1) | b := x.read ;\nforbidden (b=2)\n";
    let test = file(folder.path(), "cas.litmus", cas);
    for provider in PROVIDERS.map(Provider::name) {
        let good = fabric(&["run", &test, "--times", "50", "--fabric", provider]);
        assert!(good.code == 0 && good.out.contains(&format!("over {provider}, 2 processes, 50 runs")), "{}", good.out);
        let broken =
            fabric(&["run", &test, "--times", "200", "--fabric", provider, "--variant", "sc-rmw:cas-writes-two"]);
        assert!(broken.code == 1 && broken.out.contains("b=2;  forbidden"), "{}{}", broken.out, broken.err);
    }
}

/// Starts all processes alike, as `srun` and `mpirun` do. The environment gives each its rank.
fn a_launcher_can_start_the_processes() {
    let folder = tempfile::tempdir().unwrap();
    let one = "RDMA_WAIT one\n{ x@1 = 0; y@2 = 1; }\n P1@1 ;\n get(x, y) ;\nlocations [x;]\nforbidden (x=0)\n";
    let tests = ["a", "b"].map(|name| file(folder.path(), &format!("{name}.litmus"), one));
    let start = |rank: &str, size: &str| {
        Command::new(env!("CARGO_BIN_EXE_mowgli-fabric"))
            .args(["run", &tests[0], &tests[1], "--times", "20", "--fabric", "tcp"])
            .env("MOWGLI_MEET", folder.path().join("meet"))
            .envs([("SLURM_PROCID", rank), ("SLURM_NTASKS", size)])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    // One process more than there are nodes.
    let all = ["0", "1", "2"].map(|rank| start(rank, "3")).map(|child| child.wait_with_output().unwrap());
    let said = all.each_ref().map(|ran| String::from_utf8_lossy(&ran.stdout).into_owned());
    assert!(all.iter().all(|ran| ran.status.success()), "{all:?}");
    assert_eq!(said[0].matches("one (RDMA_WAIT) over tcp, 3 processes, 20 runs\n").count(), 2, "{}", said[0]);
    assert_eq!(said[1..], ["", ""]);
    let few = start("0", "1").wait_with_output().unwrap();
    let reported = String::from_utf8_lossy(&few.stderr);
    assert!(few.status.code() == Some(2) && reported.contains("there are 2 nodes, and 1 processes"), "{reported}");
}

/// The environment variable with which this program is the command with libraries of its own.
const OWN: &str = "LIBRARIES_OF_ONES_OWN";

/// Returns the libraries of the command that this program is, if it is one and no test.
pub fn own() -> Option<Vec<Entry>> {
    std::env::var_os(OWN).map(|_| vec![latch::entry(), counter::entry()])
}

/// `run` executes the bodies that `check` checks, so broken variants show a forbidden outcome.
fn own_libraries_run() {
    let folder = tempfile::tempdir().unwrap();
    let test = |name: &str, text: &str| file(folder.path(), name, text);
    let (latch, counter) = (
        test("latch.litmus", include_str!("../../../mowgli/src/new/latch.litmus")),
        test("counter.litmus", include_str!("../../../mowgli/src/new/counter.litmus")),
    );
    let ran = |args: &[&str]| {
        let mut command = Command::new(std::env::current_exe().expect("a path"));
        let ran = command.arg("run").args(args).env(OWN, "1").output().expect("the command runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
    };
    for (test, variant, code) in [
        (&latch, None, 0),
        (&latch, Some("latch:no-fence"), 1),
        (&counter, None, 0),
        (&counter, Some("tally:no-lock"), 1),
    ] {
        let args: Vec<&str> = [&**test].into_iter().chain(variant.into_iter().flat_map(|v| ["--variant", v])).collect();
        let (found, out, err) = ran(&args);
        assert_eq!(found, Some(code), "{args:?}: {out}{err}");
        assert_eq!(out.contains(" and 0 forbidden"), code == 0, "{args:?}: {out}");
    }
    for (fabric, over) in [("local", "shared memory"), ("tcp", "tcp, 3 processes"), ("shm", "shm, 3 processes")] {
        let (code, out, err) = ran(&[&latch, "--fabric", fabric, "--times", "50"]);
        assert_eq!(code, Some(0), "{fabric}: {out}{err}");
        assert!(out.contains(over) && out.contains(", 50 runs") && out.contains(" and 0 forbidden"), "{out}");
        // The error is reported once, however many processes there are to be.
        let (code, _, err) = ran(&[&latch, "--fabric", fabric, "--variant", "latch:fenceless"]);
        let said = err.matches("latch has no variant fenceless; there are published").count();
        assert!(code == Some(2) && said == 1, "{err}");
    }
}
