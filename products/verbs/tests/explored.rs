//! Programs in C and C++ over libibverbs, explored. Generated ones have the outcomes of their litmus tests, and broken
//! ones are found at the right line.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::DirEntry;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use libtest_mimic::Trial;
use mowgli::litmus::parse::{on_network, parse};
use mowgli::litmus::run::solve;
use mowgli_core::search::problem::Limits;
use mowgli_core::value::Val;
use mowgli_rdma::{Network, Switches};
use mowgli_verbs::cards::{self, HEADER};
use mowgli_verbs::{Ask, ProgramCommand, RecordedValues, Toolchain, explore};
use serde_json::Value;
use tempfile::TempDir;

use crate::needs::{Layer, Need, trial};
use crate::ran::{Ran, file, mowgli, verbs};
use crate::walk::litmus_files;

pub const COMPILER: Need = Need {
    tool: "cc, objcopy and infiniband/verbs.h, for x86-64",
    in_ci: true,
    missing: || {
        let has_objcopy = Command::new("objcopy").arg("--version").output().is_ok_and(|o| o.status.success());
        (!has_objcopy || !crate::has_verbs() || !cfg!(target_arch = "x86_64"))
            .then(|| "one of them cannot be used here".to_owned())
    },
};

/// The crate that has the sources of rdma-core 55.
const IBVERBS_SYS: &str = "ibverbs-sys-0.3.2+55.0";

/// The sources of rdma-core. Cargo downloads them with the crate, and compares its checksum with that of the registry.
static RDMA_CORE: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let (name, version) = IBVERBS_SYS.rsplit_once('-')?;
    let folder = tempfile::tempdir().ok()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let spec = format!("{name}@{version}");
    Command::new(cargo).args(["info", "--quiet", &spec]).current_dir(&folder).output().ok()?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")))?;
    let registries = std::fs::read_dir(home.join("registry/src")).ok()?;
    let sources = |entry: DirEntry| entry.path().join(IBVERBS_SYS).join("vendor/rdma-core");
    registries.flatten().map(sources).find(|path| path.is_dir())
});

const PUBLIC: Need = Need {
    tool: "cc, objcopy, infiniband/verbs.h, and the sources of rdma-core from the crate ibverbs-sys",
    in_ci: false,
    missing: || {
        let is_missing = || RDMA_CORE.is_none().then(|| "cargo cannot download the crate".to_owned());
        (COMPILER.missing)().or_else(is_missing)
    },
};

/// Lists the tests.
pub fn trials() -> Vec<Trial> {
    let quick: [(&str, fn()); 46] = [
        ("some_generated_programs_have_the_outcomes_of_their_tests", || random_programs("cc", 0..8)),
        ("a_broken_ping_pong_is_found", || example("pingpong")),
        ("wrong_use_of_verbs_is_named", wrong_use_of_verbs_is_named),
        ("each_memory_region_has_relaxed_ordering_or_not", each_memory_region_has_relaxed_ordering_or_not),
        ("a_loop_that_writes_its_own_memory_waits", a_loop_that_writes_its_own_memory_waits),
        ("locks_and_conditions_are_explored", locks_and_conditions_are_explored),
        ("a_false_assumption_discards_the_execution", a_false_assumption_discards_the_execution),
        ("a_failure_is_replayed_and_is_a_litmus_test", a_failure_is_replayed_and_is_a_litmus_test),
        ("a_race_is_found_and_its_twin_has_none", a_race_is_found_and_its_twin_has_none),
        ("volatile_and_atomic_accesses_do_not_race", || volatile_and_atomic_accesses_do_not_race("cc")),
        ("a_server_and_a_client_meet_by_tcp", a_server_and_a_client_meet_by_tcp),
        ("what_is_sent_by_tcp_does_not_wait_for_a_card", what_is_sent_by_tcp_does_not_wait_for_a_card),
        ("what_is_no_program_is_an_error", what_is_no_program_is_an_error),
        ("the_program_of_the_page_is_explored", the_program_of_the_page_is_explored),
        ("completions_in_any_order_are_those_of_the_test", completions_in_any_order_are_those_of_the_test),
        ("a_send_does_not_block_later_writes", a_send_does_not_block_later_writes),
        ("strings_are_read_and_written_word_by_word", strings_are_read_and_written_word_by_word),
        ("records_are_read_word_by_word", records_are_read_word_by_word),
        ("structures_are_seen_where_no_hook_is", structures_are_seen_where_no_hook_is),
        ("functions_of_libc_are_seen", functions_of_libc_are_seen),
        ("words_of_a_text_are_those_of_the_last_one_begun", words_of_a_text_are_those_of_the_last_one_begun),
        ("fences_are_seen_and_what_stays_unseen_is_named", fences_are_seen_and_what_stays_unseen_is_named),
        ("threads_of_each_kind_are_explored", threads_of_each_kind_are_explored),
        ("completions_and_messages_come_in_any_order", completions_and_messages_come_in_any_order),
        ("words_are_used_in_parts_and_pieces", words_are_used_in_parts_and_pieces),
        ("threads_end_and_wait_for_time_as_they_do", threads_end_and_wait_for_time_as_they_do),
        ("what_libraries_do_beside_the_hooks_is_seen", what_libraries_do_beside_the_hooks_is_seen),
        ("options_do_not_leave_out_the_hooks", options_do_not_leave_out_the_hooks),
        ("what_a_thread_has_beside_memory_is_state", what_a_thread_has_beside_memory_is_state),
        ("wrong_uses_of_memory_fail", wrong_uses_of_memory_fail),
        ("memory_outlives_the_operations_that_reach_it", memory_outlives_the_operations_that_reach_it),
        ("memory_outlives_the_operations_of_other_threads", memory_outlives_the_operations_of_other_threads),
        ("the_memory_of_a_receive_waits_for_its_poll", the_memory_of_a_receive_waits_for_its_poll),
        ("the_memory_of_a_receive_waits_for_its_message", the_memory_of_a_receive_waits_for_its_message),
        (
            "data_that_come_at_the_poll_are_named_if_others_use_them",
            data_that_come_at_the_poll_are_named_if_others_use_them,
        ),
        ("main_acts_beside_its_threads", main_acts_beside_its_threads),
        ("a_destroyed_object_is_not_used", a_destroyed_object_is_not_used),
        ("what_a_node_ends_outlives_the_operations_of_others", what_a_node_ends_outlives_the_operations_of_others),
        ("queues_do_what_verbs_say", queues_do_what_verbs_say),
        ("failures_have_values_and_stuck_executions_have_steps", failures_have_values_and_stuck_executions_have_steps),
        ("queue_pairs_share_a_receive_queue", queue_pairs_share_a_receive_queue),
        ("what_a_replay_denies_is_said", what_a_replay_denies_is_said),
        ("later_rounds_repeat_runs_that_their_memory_concerns", later_rounds_repeat_runs_that_their_memory_concerns),
        ("a_writer_goes_first_where_glibc_says_so", a_writer_goes_first_where_glibc_says_so),
        ("threads_find_the_settings_that_they_have", threads_find_the_settings_that_they_have),
        ("functions_fail_as_those_of_glibc", functions_fail_as_those_of_glibc),
    ];
    let long: [(&str, fn()); 11] = [
        ("a_long_write_outlives_its_first_words", a_long_write_outlives_its_first_words),
        ("volatile_and_atomic_accesses_do_not_race_with_clang", || {
            volatile_and_atomic_accesses_do_not_race(clang());
        }),
        ("random_programs_by_clang_have_the_outcomes_of_their_tests", || random_programs(clang(), 0..500)),
        ("generated_programs_of_the_papers_have_the_outcomes_of_their_tests", papers),
        ("generated_programs_of_whole_outcome_sets_have_these_outcomes", whole_outcome_sets),
        (
            "random_generated_programs_have_the_outcomes_of_their_tests",
            random_generated_programs_have_the_outcomes_of_their_tests,
        ),
        ("random_programs_on_networks_have_the_outcomes_of_their_tests", || {
            on_networks(&["efa-direct", "cxi", "mlx5-ooo", "tcp", "rc-relaxed"], &(0..40));
        }),
        ("every_broken_twin_is_found", || {
            ["barrier", "lock", "ring", "version", "immediate", "log"].into_iter().for_each(example);
        }),
        ("one_program_is_both_nodes_and_sends_messages", one_program_is_both_nodes_and_sends_messages),
        ("a_program_in_cpp_is_explored", a_program_in_cpp_is_explored),
        ("random_runs_show_outcomes_of_the_exploration", random_runs_show_outcomes_of_the_exploration),
    ];
    let all = |tests: &[(&'static str, fn())], layer| -> Vec<Trial> {
        tests.iter().map(|&(name, test)| trial(name, layer, COMPILER, test)).collect()
    };
    let public = [
        trial("rc_pingpong_of_rdma_core_runs", Layer::Quick, PUBLIC, || public_program("rc_pingpong", "", "run")),
        trial("srq_pingpong_of_rdma_core_runs", Layer::Quick, PUBLIC, || {
            public_program("srq_pingpong", "-q 2", "run");
        }),
        trial("programs_of_rdma_core_are_explored", Layer::Long, PUBLIC, || {
            public_program("rc_pingpong", "", "explore");
            public_program("srq_pingpong", "-q 1", "explore");
        }),
    ];
    all(&quick, Layer::Quick).into_iter().chain(all(&long, Layer::Long)).chain(public).collect()
}

/// Returns clang, or else the usual compiler.
fn clang() -> &'static str {
    let is_there = Command::new("clang").arg("--version").output().is_ok();
    if is_there { "clang" } else { "cc" }
}

/// Runs the command on a program.
fn with(command: &str, program: &Path, more: &[&str]) -> Ran {
    let program = program.display().to_string();
    verbs(&[&[command, &program], more].concat())
}

/// Compiles a program.
fn compiled(folder: &Path, source: &str, flags: &[&str]) -> PathBuf {
    let out = folder.join("program");
    let path = out.display().to_string();
    let ran = verbs(&[&["cc", "-o", &path, source, "--"], flags].concat());
    assert_eq!(ran.code, 0, "{source}: {}", ran.err);
    out
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}{}", ran.out, ran.err))
}

type Outcomes = BTreeSet<BTreeMap<String, String>>;

/// A compiler, and a folder with the header of generated programs.
struct GeneratedPrograms {
    toolchain: Toolchain,
    folder: TempDir,
}

impl GeneratedPrograms {
    fn new(compiler: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        file(folder.path(), HEADER.0, HEADER.1);
        Self { toolchain: Toolchain::new(OsStr::new(compiler), OsStr::new("c++")).unwrap(), folder }
    }

    /// Returns the outcomes of a test's C program, which are those that the search finds. A test without an outcome is stuck.
    fn outcomes(&self, name: &str, text: &str, flags: &[&str]) -> Outcomes {
        self.outcomes_on(Network::RC, name, text, flags)
    }

    fn outcomes_on(&self, network: Network, name: &str, text: &str, flags: &[&str]) -> Outcomes {
        let test = parse(name, text).unwrap();
        let answer = solve(&test, &[], Limits::default());
        assert!(answer.explored.stop.is_none(), "{name}");
        let source = file(self.folder.path(), "test.c", &cards::program(&test, &answer).unwrap());
        let program = self.folder.path().join("test");
        let flags: Vec<OsString> = flags.iter().map(OsString::from).collect();
        self.toolchain.compile(&[source.into()], &program, &flags).unwrap();
        let found = explore(&Ask {
            programs: &[ProgramCommand { program, args: Vec::new() }],
            per_node: false,
            switches: Switches { network, ..Switches::OFF },
            states: 5_000_000,
            time: Duration::from_secs(60),
            executions: false,
            races: false,
        });
        let found = found.unwrap();
        assert!(found.stop.is_none() && found.failures.is_empty(), "{name} on {network}: {found:?}\n{text}");
        let shown: Vec<&String> = test.shown.iter().map(|(name, _)| name).collect();
        let is_shown = |name: &String| shown.contains(&name);
        let recorded = |all: &RecordedValues| {
            all.iter().filter(|(n, _)| is_shown(n)).map(|(n, v)| (n.clone(), v.to_string())).collect()
        };
        let outcomes: Outcomes = found.outcomes.keys().map(recorded).collect();
        // The C program is the same on each network.
        let answer = match network {
            Network::RC => answer,
            _ => solve(&parse(name, &on_network(name, text, network).unwrap()).unwrap(), &[], Limits::default()),
        };
        assert!(answer.explored.stop.is_none(), "{name}");
        let named = |values: &Vec<Val>| shown.iter().zip(values).map(|(n, v)| ((*n).clone(), v.to_string())).collect();
        let expected: Outcomes = answer.outcomes.keys().map(named).collect();
        assert_eq!(outcomes, expected, "{name} on {network}\n{text}");
        outcomes
    }
}

fn papers() {
    let programs = GeneratedPrograms::new("cc");
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/litmus/papers");
    let texts = litmus_files(&papers).into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()));
    let mut count = 0;
    for (path, text) in texts.filter(|(_, text)| text.starts_with("RDMA_TSO ")) {
        programs.outcomes(&path.display().to_string(), &text, &[]);
        count += 1;
    }
    assert_eq!(count, 23);
}

/// These sets were found by a solver that shares no code with Mowgli. The compiler optimises.
fn whole_outcome_sets() {
    let programs = GeneratedPrograms::new("cc");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/outcomes/tso.jsonl");
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let test: Value = serde_json::from_str(line).unwrap();
        let (name, text) = (test["name"].as_str().unwrap(), test["litmus"].as_str().unwrap());
        let expected: Outcomes = serde_json::from_value(test["outcomes"].clone()).unwrap();
        assert_eq!(programs.outcomes(name, text, &["-O2"]), expected, "{name}");
    }
}

/// Writes a random test: two or three threads with up to four statements each, on two nodes.
fn random_test(seed: u64) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut registers = 0;
    let mut threads = Vec::new();
    for t in 0..random.usize(2..=3) {
        let (node, other) = if t % 2 == 0 { (1, 2) } else { (2, 1) };
        let own = |random: &mut fastrand::Rng| format!("{}{node}", ["x", "y"][random.usize(..2)]);
        let far = |random: &mut fastrand::Rng| format!("{}{other}", ["x", "y"][random.usize(..2)]);
        let (mut open, mut lines) = (0, Vec::new());
        for _ in 0..random.usize(1..=if t < 2 { 4 } else { 2 }) {
            let (x, z, v) = (own(&mut random), far(&mut random), random.u8(1..4));
            let mut operation = |text: String| {
                open += 1;
                text
            };
            lines.push(match random.u8(..10) {
                0 | 1 => format!("{x} := {v}"),
                2 | 3 => {
                    registers += 1;
                    format!("r{registers} := {x}")
                }
                4 => operation(format!("put({z}, {x})")),
                5 => operation(format!("get({x}, {z})")),
                6 => operation(format!("rfaa({x}, {z}, {v})")),
                7 => operation(format!("rcas({x}, {z}, 0, {v})")),
                8 if open > 0 => {
                    open -= 1;
                    format!("poll({other})")
                }
                8 => format!("rfence({other})"),
                _ => "mfence".to_owned(),
            });
        }
        threads.push((node, lines));
    }
    let mut text = format!("RDMA_TSO random-{seed}\n{{ nodes 2; x1@1 = 0; y1@1 = 0; x2@2 = 0; y2@2 = 0; }}\n");
    let heads: Vec<String> = threads.iter().enumerate().map(|(t, (node, _))| format!("P{}@{node}", t + 1)).collect();
    let _ = writeln!(text, " {} ;", heads.join(" | "));
    for row in 0..4 {
        let cells: Vec<&str> = threads.iter().map(|(_, lines)| lines.get(row).map_or("", String::as_str)).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let _ = writeln!(text, " {} ;", cells.join(" | "));
        }
    }
    text + "locations [x1; y1; x2; y2;]\n"
}

fn random_programs(compiler: &str, seeds: Range<u64>) {
    let programs = GeneratedPrograms::new(compiler);
    let many = seeds.end - seeds.start;
    let outcomes: usize =
        seeds.map(|seed| programs.outcomes(&format!("seed {seed}"), &random_test(seed), &[]).len()).sum();
    // Programs with one outcome each would show nothing.
    assert!(outcomes as u64 > 2 * many, "{outcomes} outcomes");
}

fn random_generated_programs_have_the_outcomes_of_their_tests() {
    random_programs("cc", 8..500);
}

/// Compares programs on networks that relax the order of writes, of arrival and of completions.
fn on_networks(networks: &[&str], seeds: &Range<u64>) {
    let programs = GeneratedPrograms::new("cc");
    let more = |network: &&str| {
        let network = Network::named(network).unwrap();
        let outcomes = |seed: u64, on| programs.outcomes_on(on, &format!("seed {seed}"), &random_test(seed), &[]).len();
        seeds.clone().filter(|&seed| outcomes(seed, network) != outcomes(seed, Network::RC)).count()
    };
    // On each network some program has other outcomes than on rc.
    assert!(networks.iter().all(|network| more(network) > 0));
}

fn completions_in_any_order_are_those_of_the_test() {
    let programs = GeneratedPrograms::new("cc");
    let text = "RDMA_TSO t { x@1 = 1; z@2 = 0; f@2 = 0; }\n P1@1 | P2@2 ;\n put(z, x) | a := f ;\n\
        put(f, x) | b := z ;\n poll(2) | ;\n x := 2 | ;\n poll(2) | ;\nlocations [z; f;]\n";
    let outcomes = |network| programs.outcomes_on(Network::named(network).unwrap(), "reuse", text, &[]).len();
    assert_eq!((outcomes("rc"), outcomes("efa-direct")), (6, 12));
    // A variable of the program without a value had what the runtime left on the stack. So no state was seen again.
    let text = "RDMA_TSO t { x1@1 = 0; y1@1 = 0; x2@2 = 0; y2@2 = 0; }\n P1@1 | P2@2 | P3@1 ;\n\
        rfence(2) | rfaa(x2, y1, 1) | y1 := 3 ;\n r1 := x1 | put(y1, x2) | ;\n x1 := 3 | poll(1) | ;\n\
        rfaa(x1, y2, 1) | x2 := 1 | ;\nlocations [x1; y1; x2; y2;]\n";
    assert_eq!(programs.outcomes_on(Network::named("efa-direct").unwrap(), "garbage", text, &[]).len(), 9);
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(format!("{name}.c"))
}

/// Asserts that an example has no failure, and that its broken twin fails at an assertion.
fn example(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = source(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let path = path.display().to_string();
    let right = json(&with("explore", &compiled(folder.path(), &path, &[]), &["--json"]));
    assert!(right["stopped"].is_null() && right["stuck"] == Value::Array(Vec::new()), "{name}: {right}");
    assert_eq!(right["failures"], Value::Array(Vec::new()), "{name}");
    // Without the runs of earlier rounds there are twice as many.
    assert!(right["runs"].as_u64().unwrap() <= 40, "{name}: {right}");
    let program = compiled(folder.path(), &path, &["-DBROKEN"]);
    let ran = with("explore", &program, &["--json"]);
    let broken = json(&ran);
    assert_eq!(ran.code, 1, "{name}: {broken}");
    let failure = &broken["failures"][0];
    let line = failure["at"]["line"].as_u64().unwrap_or(0) as usize;
    let source = text.lines().nth(line.wrapping_sub(1)).unwrap_or_default();
    assert!(source.contains("assert("), "{name}: {failure}");
    // Each step of a thread has its line.
    let steps = failure["steps"].as_array().unwrap();
    assert!(steps.iter().any(|s| s["at"]["line"].as_u64() > Some(1)), "{failure}");
    // The execution is one of the litmus test that is printed, unless an operation has several words.
    let printed = with("explore", &program, &["--litmus"]);
    if !["version", "immediate"].contains(&name) {
        let solved = mowgli(&["litmus", &file(folder.path(), "printed.litmus", &printed.out)]);
        assert!(solved.code == 0 && !printed.out.contains("unread"), "{}{}{}", printed.out, solved.out, solved.err);
    }
}

/// A program of two nodes with the bodies of their threads.
fn two_nodes(client: &str, server: &str) -> String {
    let post = "post(qp, request(&r, OP, FLAGS, &one, (void *)&here.a, 8, &two, (void *)&there.a));";
    let head = "#include \"node.h\"\nstatic struct { volatile uint64_t a, b; } here, there;\nstatic struct node one, two;\n\
        static struct ibv_qp *qp, *other;\n";
    let with_post = |body: &str| {
        let put = post.replace("OP", "IBV_WR_RDMA_WRITE").replace("FLAGS", "IBV_SEND_SIGNALED");
        let silent = post.replace("OP", "IBV_WR_RDMA_WRITE").replace("FLAGS", "0");
        body.replace("PUT", &put).replace("SILENT", &silent)
    };
    format!(
        "{head}static void *client(void *none)\n{{\n\tstruct request r;\n\t(void)none, (void)r;\n{}\n\treturn NULL;\n}}\n\
         static void *server(void *none)\n{{\n\t(void)none;\n{}\n\treturn NULL;\n}}\n\
         int main(void)\n{{\n\tone = node_open(1, (void *)&here, sizeof here);\n\ttwo = node_open(2, (void *)&there, sizeof there);\n\
         \tconnect_nodes(&one, &two, &qp, &other);\n\tmowgli_node(1, client, NULL);\n\tmowgli_node(2, server, NULL);\n\
         \tmowgli_join();\n\tmowgli_outcome(\"there\", (int64_t)there.a);\n\treturn 0;\n}}\n",
        with_post(client),
        with_post(server)
    )
}

fn wrong_use_of_verbs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let said = |client: &str, server: &str| {
        let source = file(folder.path(), "wrong.c", &two_nodes(client, server));
        let ran = with("explore", &compiled(folder.path(), &source, &[]), &[]);
        ran.out + &ran.err
    };
    let post =
        "post(qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &one, (void *)&here.a, 8, &two, (void *)TO));";
    let to = |address: &str, more: &str| format!("{}\n{more}", post.replace("TO", address));
    let key = "request(&r, IBV_WR_RDMA_WRITE, 0, &one, (void *)&here.a, 8, &two, (void *)&there.a); r.wr.wr.rdma.rkey = 77; post(qp, &r);";
    let cases = [
        (key.to_owned(), "", "no memory is registered with the key 77"),
        (
            to("(&there.b + 1)", ""),
            "",
            "wrong.c:9 (node.h:81): the remote side of ibv_post_send: 8 bytes at offset 16 of memory of 16 bytes",
        ),
        ("for (int i = 0; i < 17; i++) PUT".to_owned(), "", "the send queue is full: 16 work requests"),
        ("SILENT wait_for_one(qp);".to_owned(), "", "unsignaled, so no completion comes"),
        ("PUT here.a = 5; wait_for_one(qp);".to_owned(), "", "written before its completion was polled"),
        (
            "there.a = 1;".to_owned(),
            "there.b = there.a;",
            "a thread of node 1 touches there, which is in the memory of node 2",
        ),
        (
            "post(other, request(&r, IBV_WR_RDMA_WRITE, 0, &two, (void *)&there.a, 8, &one, (void *)&here.a));"
                .to_owned(),
            "",
            "a thread of node 1 posts to a queue pair of node 2",
        ),
        ("here.a = 1; PUT".to_owned(), "ibv_reg_mr(two.pd, (void *)&there, 8, 0);", "ibv_reg_mr in a thread"),
    ];
    for (client, server, expected) in cases {
        let out = said(&client, server);
        assert!(out.contains(expected), "{client}: {expected}: {out}");
    }
}

/// A write to memory without relaxed ordering passes no earlier write, whatever that writes to.
fn each_memory_region_has_relaxed_ordering_or_not() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let source = file(folder.path(), "regions.c", include_str!("device/regions.c"));
    for (flags, outcomes) in [(&[][..], 1), (&["DATA"], 1), (&["FLAG"], 2), (&["DATA", "FLAG"], 2)] {
        let flags: Vec<String> = flags.iter().map(|name| format!("-D{name}=IBV_ACCESS_RELAXED_ORDERING")).collect();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let found = json(&with("explore", &compiled(folder.path(), &source, &flags), &["--json"]));
        assert_eq!(found["outcomes"].as_array().map(Vec::len), Some(outcomes), "{flags:?}: {found}");
    }
}

/// Each round of the loop makes a list, and reads a word that nobody writes, or that the other thread writes.
fn a_loop_that_writes_its_own_memory_waits() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let client = "for (;;) { int64_t all[3]; for (int i = 0; i < 3; i++) all[i] = i; if (look(&here.a) == (uint64_t)all[1]) break; }";
    let explored = |server: &str| {
        let source = file(folder.path(), "waits.c", &two_nodes(client, server));
        json(&with("explore", &compiled(folder.path(), &source, &[]), &["--json"]))
    };
    let put = "struct request back; there.b = 1; post(other, request(&back, IBV_WR_RDMA_WRITE, 0, &two, (void *)&there.b, 8, &one, \
        (void *)&here.a));";
    for (server, stuck) in [("", 1), (put, 0)] {
        let found = explored(server);
        assert!(found["stopped"].is_null(), "{found}");
        assert_eq!(found["stuck"].as_array().map(Vec::len), Some(stuck), "{found}");
    }
}

fn locks_and_conditions_are_explored() {
    let folder = tempfile::tempdir().unwrap();
    let head = "#include <pthread.h>\n#include <mowgli.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, o = PTHREAD_MUTEX_INITIALIZER;\n\
        static pthread_cond_t c = PTHREAD_COND_INITIALIZER;\nstatic int n, ready;\n\
        #define THREAD(name, body) static void *name(void *p) { (void)p; (void)&o; (void)&c; (void)&ready; body return 0; }\n";
    let explored = |body: &str| {
        let source = file(folder.path(), "locks.c", &format!("{head}{body}"));
        json(&with("explore", &compiled(folder.path(), &source, &[]), &["--json"]))
    };
    let waits = explored(
        "THREAD(add, pthread_mutex_lock(&m); n++; if (n == 2) { ready = 1; pthread_cond_signal(&c); } pthread_mutex_unlock(&m);)\n\
         THREAD(waits, pthread_mutex_lock(&m); while (!ready) pthread_cond_wait(&c, &m); mowgli_outcome(\"n\", n); pthread_mutex_unlock(&m);)\n\
         int main(void) { pthread_t t[3]; void *(*f[])(void *) = { add, add, waits };\n\
         for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, f[i], 0);\n for (int i = 0; i < 3; i++) pthread_join(t[i], 0);\n }\n",
    );
    let n = |v: i64| serde_json::json!([[{ "name": "n", "value": v }]]);
    assert_eq!((&waits["outcomes"], waits["stuck"].as_array().map(Vec::len)), (&n(2), Some(0)), "{waits}");
    let main =
        "int main(void) { mowgli_node(1, one, 0); mowgli_node(1, two, 0); mowgli_join(); mowgli_outcome(\"n\", n); }\n";
    // Without the lock an increment is lost.
    let lost = explored(&format!("THREAD(one, n++;)\nTHREAD(two, n++;)\n{main}"));
    assert_eq!(lost["outcomes"].as_array().map(Vec::len), Some(2), "{lost}");
    let dead = explored(&format!(
        "THREAD(one, pthread_mutex_lock(&m);\n pthread_mutex_lock(&o); n++; pthread_mutex_unlock(&o); pthread_mutex_unlock(&m);)\n\
         THREAD(two, pthread_mutex_lock(&o); pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m); pthread_mutex_unlock(&o);)\n{main}"
    ));
    assert_eq!((&dead["outcomes"], dead["stuck"][0].as_array().map(Vec::len)), (&n(2), Some(2)), "{dead}");
    // Store buffers: both threads may read 0, and no more than that with a fence.
    let buffers = |fence: &str| {
        let thread = |own, other, name| {
            format!("THREAD({own}{name}, {own} = 1; {fence} mowgli_outcome(\"{name}\", {other});)\n")
        };
        let main = "int main(void) { mowgli_node(1, nn, 0); mowgli_node(1, readyr, 0); mowgli_join(); }\n";
        let program = thread("n", "ready", "n") + &thread("ready", "n", "r") + main;
        explored(&program)["outcomes"].as_array().map(Vec::len)
    };
    assert_eq!((buffers(""), buffers("__atomic_thread_fence(__ATOMIC_SEQ_CST);")), (Some(4), Some(3)));
}

fn a_false_assumption_discards_the_execution() {
    let folder = tempfile::tempdir().unwrap();
    let two_threads = |thread: &str, behind_the_join: &str| {
        let text = format!(
            "#include <mowgli.h>\nstatic int n;\nstatic void *one(void *p) {{ (void)p; n = 1; return 0; }}\n\
             static void *two(void *p) {{ (void)p; {{ int seen = n; {thread} mowgli_outcome(\"n\", seen); }} return 0; }}\n\
             int main(void) {{ mowgli_node(1, one, 0); mowgli_node(1, two, 0); mowgli_join(); {behind_the_join} }}\n"
        );
        compiled(folder.path(), &file(folder.path(), "assume.c", &text), &[])
    };
    let read_1 = serde_json::json!([[{ "name": "n", "value": 1 }]]);
    let in_a_thread = two_threads("mowgli_assume(seen == 1);", "");
    let explored = json(&with("explore", &in_a_thread, &["--json"]));
    assert_eq!((&explored["outcomes"], explored["stuck"].as_array().map(Vec::len)), (&read_1, Some(0)), "{explored}");
    let runs = json(&with("run", &in_a_thread, &["--json", "--times", "50"]));
    assert_eq!((runs["outcomes"].as_array().map(Vec::len), runs["stuck"].as_array().map(Vec::len)), (Some(1), Some(0)));
    let discarded = runs["discarded"].as_u64();
    assert!(discarded > Some(0) && discarded < Some(50), "{runs}");
    let in_main = two_threads("", "mowgli_assume(n == 2);");
    let explored = json(&with("explore", &in_main, &["--json"]));
    assert_eq!(explored["outcomes"], serde_json::json!([]), "{explored}");
    assert_eq!(json(&with("run", &in_main, &["--json", "--times", "5"]))["discarded"], 5);
}

fn a_failure_is_replayed_and_is_a_litmus_test() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), &source("pingpong").display().to_string(), &["-DBROKEN"]);
    let trace = folder.path().join("trace").display().to_string();
    let ran = with("explore", &program, &["--litmus", "--trace", &trace]);
    assert!(ran.code == 1 && ran.out.starts_with("RDMA_TSO program"), "{}{}", ran.out, ran.err);
    let test = file(folder.path(), "failure.litmus", &ran.out);
    let solved = mowgli(&["litmus", &test]);
    assert!(solved.code == 0, "{}\n{}{}", ran.out, solved.out, solved.err);
    let robust = mowgli(&["robust", &test]);
    let repair = "P1: poll(2) before client_memory := 2";
    assert!(robust.out.contains("has the cycle") && robust.out.contains(repair), "{}{}", robust.out, robust.err);
    let again = with("replay", &program, &[&trace]);
    assert!(again.code == 0 && again.out.contains("assertion `first == 1' failed"), "{}{}", again.out, again.err);
    let second = with("replay", &program, &[&trace, "--thread", "2"]);
    assert_eq!((second.code, second.out.lines().count()), (0, 1), "{}{}", second.out, second.err);
    let third = with("replay", &program, &[&trace, "--thread", "3"]);
    assert!(third.code == 2 && third.err.contains("the trace has no thread 3"), "{}", third.err);
    // The test has the words that its calls name, and a word for memory that no thread reads.
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let post = "post(qp, request(&r, IBV_WR_RDMA_WRITE, 0, &one, (void *)&here.b, 8, &two, (void *)&there.b));";
    let unread = two_nodes(&format!("here.a = 1; {post} PUT wait_for_one(qp); assert(here.a == 2);"), "");
    let ran = with("explore", &compiled(folder.path(), &file(folder.path(), "u.c", &unread), &[]), &["--litmus"]);
    let head = "RDMA_TSO+unsignalled program\n{\n  nodes 2;\n  here@1 = 0;\n  there@2 = 0;\n  unread_1@1 = 0;\n  unread_2@2 = 0;\n}\n";
    assert!(
        ran.out.starts_with(head) && ran.out.contains("put@unsignalled(unread_2, unread_1)"),
        "{}{}",
        ran.out,
        ran.err
    );
    let solved = mowgli(&["litmus", "--json", &file(folder.path(), "u.litmus", &ran.out)]);
    let states = &serde_json::from_str::<Value>(&solved.out).unwrap()["outcomes"];
    assert_eq!((solved.code, states.as_array().map(Vec::len)), (0, Some(1)), "{}", solved.out);
    let several = compiled(folder.path(), &source("version").display().to_string(), &["-DBROKEN"]);
    let ran = with("explore", &several, &["--litmus"]);
    assert!(ran.code == 1 && ran.out.contains("get(copy, record, 3)"), "{}{}", ran.out, ran.err);
    let solved = mowgli(&["litmus", &file(folder.path(), "several.litmus", &ran.out)]);
    assert_eq!(solved.code, 0, "{}{}", solved.out, solved.err);
    for other in [&test, &trace] {
        let wrong = with("replay", &several, &[other]);
        assert!(wrong.code == 2 && wrong.err.contains("no trace of this program"), "{}", wrong.err);
    }
    // A limit is no wrong input.
    let ran = with("explore", &several, &["--timeout", "0"]);
    assert!(ran.code == 3 && (ran.out + &ran.err).contains("time"));
}

/// Returns the lines of the first race, and whether a card makes the access.
fn racing_lines(found: &Value) -> Vec<(u64, bool)> {
    let accesses = found["races"][0]["accesses"].as_array();
    accesses.into_iter().flatten().map(|a| (a["at"]["line"].as_u64().unwrap(), a["by"] == "card")).collect()
}

fn a_race_is_found_and_its_twin_has_none() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let server = "while (there.b == 0) {}\nmowgli_outcome(\"a\", (int64_t)*(uint64_t *)&there.a);";
    let write = |field: &str| {
        let request = "request(&r, IBV_WR_RDMA_WRITE, 0, &one, (void *)&here.";
        format!("post(qp, {request}{field}, 8, &two, (void *)&there.{field}));")
    };
    let (data, flag) = (write("a"), write("b"));
    let explored = |client: &str, more: &[&str]| {
        let source = file(folder.path(), "race.c", &two_nodes(client, server));
        with("explore", &compiled(folder.path(), &source, &[]), &[&["--json"], more].concat())
    };
    let (right, wrong) = (format!("here.b = 1; {data}\n{flag}"), format!("here.b = 1; {flag}\n{data}"));
    let twin = explored(&right, &["--races"]);
    assert!(twin.code == 0 && json(&twin)["races"] == serde_json::json!([]), "{}", twin.out);
    let race = explored(&wrong, &["--races"]);
    let found = json(&race);
    // The lines: 10 posts the WRITE of the data, 17 reads them.
    assert_eq!((race.code, racing_lines(&found)), (1, vec![(10, true), (17, false)]), "{found}");
    assert_eq!(found["stopped"], Value::Null, "its replay confirms it");
    let last = found["races"][0]["steps"].as_array().and_then(|steps| steps.last());
    assert!(last.is_some_and(|step| step["step"] == "P2: Read(there_8) = 1"), "{found}");
    // Nothing is wrong without the option.
    assert_eq!(explored(&wrong, &[]).code, 0);
    let ran = with("run", &folder.path().join("program"), &["--json", "--times", "50", "--races"]);
    assert_eq!(
        (ran.code, racing_lines(&serde_json::json!({ "races": [json(&ran)["races"][0]["race"]] }))),
        (1, racing_lines(&found))
    );
}

fn volatile_and_atomic_accesses_do_not_race(compiler: &str) {
    let folder = tempfile::tempdir().unwrap();
    let races = |word: &str, write: &str, read: &str| {
        let text = format!(
            "#include <pthread.h>\n#include <mowgli.h>\nstatic {word} n;\n\
             static void *one(void *p) {{ (void)p; {write} return 0; }}\n\
             static void *two(void *p) {{ (void)p; int seen = {read}; (void)seen; return 0; }}\n\
             int main(void) {{ mowgli_node(1, one, 0); mowgli_node(1, two, 0); mowgli_join(); }}\n"
        );
        let source = file(folder.path(), "words.c", &text);
        let out = folder.path().join("words");
        let args = ["cc", "-o", &out.display().to_string(), &source];
        let compiled =
            Command::new(env!("CARGO_BIN_EXE_mowgli-verbs")).env("CC", compiler).args(args).status().unwrap();
        assert!(compiled.success(), "{text}");
        racing_lines(&json(&with("explore", &out, &["--json", "--races"])))
    };
    assert_eq!(races("int", "n = 1;", "n"), [(4, false), (5, false)]);
    assert_eq!(races("int", "__atomic_store_n(&n, 1, __ATOMIC_RELEASE);", "n"), [(4, false), (5, false)]);
    assert_eq!(races("volatile int", "n = 1;", "n"), []);
    assert_eq!(races("_Atomic int", "n = 1;", "n"), []);
    let locked = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; static int";
    let write = "pthread_mutex_lock(&m); n = 1; pthread_mutex_unlock(&m);";
    assert_eq!(races(locked, write, "(pthread_mutex_lock(&m), n); pthread_mutex_unlock(&m)"), []);
}

/// Compiles a program of one node, with a change to an example, and returns its command.
fn node(folder: &Path, name: &str, changes: &[(&str, &str)], flags: &[&str]) -> String {
    file(folder, "exchange.h", include_str!("../examples/exchange.h"));
    let mut text = std::fs::read_to_string(source(name)).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has no {from}");
        text = text.replace(from, to);
    }
    let program = compiled(folder, &file(folder, &format!("{name}.c"), &text), flags);
    let own = folder.join(name).display().to_string();
    std::fs::rename(program, &own).unwrap();
    own
}

/// Explores two programs, one a node.
fn two_programs(command: &str, server: &str, client: &str, more: &[&str]) -> Ran {
    let (server, client) = (format!("{server} 0"), format!("{client} 1 localhost"));
    verbs(&[&[command, "--node", &server, "--node", &client], more].concat())
}

fn a_server_and_a_client_meet_by_tcp() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = (node(folder.path(), "server", &[], &[]), node(folder.path(), "client", &[], &[]));
    let alone = with("explore", Path::new(&server), &[]);
    assert!(alone.code == 2 && alone.err.contains("start the program of each node by --node"), "{}", alone.err);
    let right = two_programs("explore", &server, &client, &["--races"]);
    assert!(
        right.code == 0 && right.out.contains("server and client: 2 threads on 2 nodes, 4 shared words"),
        "{}",
        right.out
    );
    assert!(right.out.ends_with("none waits for ever, and none has a race\n"), "{}", right.out);
    let alone = verbs(&["explore", "--node", &client]);
    assert!(alone.code == 2 && alone.err.contains("connect: no program listens on port 18515"), "{}", alone.err);
    let alone = verbs(&["explore", "--node", &server]);
    assert!(
        alone.code == 3 && alone.out.contains("accept, and no other program is at the other side"),
        "{}",
        alone.out
    );
    // A program may start threads behind its set-up.
    let waits = "#include <pthread.h>\nstatic void *waits(void *m) { volatile uint64_t *at = m; while (!at[1]) {} assert(at[0] == 42); return m; }\n";
    let starts = "pthread_t t; pthread_create(&t, 0, waits, m); pthread_join(t, 0);";
    let changes = [
        ("int main(", &*format!("{waits}int main(")),
        ("while (m->flag == 0) {}", starts),
        ("assert(m->data == 42);", "(void)m->flag;"),
    ];
    let with_thread = node(folder.path(), "server", &changes, &[]);
    let threads = two_programs("explore", &with_thread, &client, &["--timeout", "20"]);
    assert!(threads.code == 0 && threads.out.contains("3 threads on 2 nodes"), "{}{}", threads.out, threads.err);
    // The broken server clears its memory, or the flag, behind the client's write.
    let server = node(folder.path(), "server", &[], &["-DBROKEN"]);
    let trace = folder.path().join("trace").display().to_string();
    let broken = two_programs("explore", &server, &client, &["--json", "--trace", &trace]);
    let found = json(&broken);
    let at = |place: &Value| (place["file"].as_str().map(|f| f.ends_with("server.c")), place["line"].as_u64());
    assert_eq!(broken.code, 1, "{found}");
    assert_eq!(at(&found["failures"][0]["at"]), (Some(true), Some(25)), "{found}");
    assert_eq!(at(&found["stuck"][0][0]["at"]), (Some(true), Some(24)), "{found}");
    let again = two_programs("replay", &server, &client, &[&trace]);
    assert!(
        again.out.starts_with("thread 1: ") && again.out.contains("server.c:25: assertion `m->data == 42' failed"),
        "{}",
        again.out
    );
}

/// The completion of a WRITE and a message say nothing of the server's memory.
fn what_is_sent_by_tcp_does_not_wait_for_a_card() {
    let folder = tempfile::tempdir().unwrap();
    let receives = ("while (m->flag == 0) {}", "char done; if (recv(line, &done, 1, 0) != 1) return 3;");
    let server = node(folder.path(), "server", &[receives], &[]);
    let sends = ("\tclose(line);", "\tif (send(line, \"x\", 1, 0) != 1) return 1;\n\tclose(line);");
    let client = node(folder.path(), "client", &[sends], &[]);
    let early = two_programs("explore", &server, &client, &["--json", "--races"]);
    let found = json(&early);
    assert_eq!(found["failures"][0]["what"], "assertion `m->data == 42' failed", "{found}");
    assert_eq!(racing_lines(&found), [(18, true), (25, false)], "{found}");
    let seen = two_programs("run", &server, &client, &["--times", "20"]);
    assert!(seen.out.contains("20 runs over the machine"), "{}", seen.out);
    // A server whose own memory comes by the message alone needs no card.
    let by_tcp = ("assert(m->data == 42);", "assert(done == 'x');");
    let server = node(folder.path(), "server", &[receives, by_tcp], &[]);
    let right = two_programs("explore", &server, &client, &["--races"]);
    assert!(right.code == 0 && right.out.contains("none has a race"), "{}", right.out);
    // The end of a program ends its threads, which may not have sent by then.
    for (waits, code) in [("pthread_join(t, 0);", 0), ("", 1)] {
        let thread = "#include <pthread.h>\nstatic void *sends(void *at) { send((int)(intptr_t)at, \"x\", 1, 0); return at; }\nint main(";
        let starts = format!("pthread_t t; pthread_create(&t, 0, sends, (void *)(intptr_t)line); {waits}");
        let client = node(folder.path(), "client", &[("int main(", thread), ("\tclose(line);", &starts)], &[]);
        let ran = two_programs("explore", &server, &client, &[]);
        assert!(
            ran.code == code && ran.out.contains("waits for ever in") == (code == 1),
            "{waits}: {}{}",
            ran.out,
            ran.err
        );
    }
}

/// A ping-pong of messages, in the manner of rc_pingpong of rdma-core: one program is server and client.
fn one_program_is_both_nodes_and_sends_messages() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "exchange.h", include_str!("../examples/exchange.h"));
    let text = "#include \"exchange.h\"\n\
        static void receives(struct side *s)\n{\n\
        \tstruct ibv_sge to = { (uintptr_t)s->memory, 8, s->mr->lkey };\n\
        \tstruct ibv_recv_wr *bad, r = { .sg_list = &to, .num_sge = 1 };\n\
        \tif (ibv_post_recv(s->qp, &r, &bad)) abort();\n}\n\
        static void sends(struct side *s, uint64_t v)\n{\n\
        \tuint64_t *from = (void *)(s->memory + 8);\n\
        \tstruct ibv_sge sge = { (uintptr_t)from, 8, s->mr->lkey };\n\
        \tstruct ibv_send_wr *bad, r = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };\n\
        \t*from = v;\n\tif (ibv_post_send(s->qp, &r, &bad)) abort();\n}\n\
        static void polls(struct side *s, int open)\n{\n\
        \tfor (struct ibv_wc wc; open; ) {\n\
        \t\tif (ibv_poll_cq(s->cq, 1, &wc) == 0) continue;\n\
        \t\topen -= wc.opcode == IBV_WC_SEND ? 1 : 2;\n\t}\n}\n\
        int main(int argc, char **argv)\n{\n\
        \tstruct side me = side_open(0);\n\
        \tuint64_t *m = (void *)me.memory;\n\
        \tint line, listener = socket(AF_INET, SOCK_STREAM, 0), is_client = argc > 1;\n\
        \tstruct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };\n\
        \tif (is_client) connect(line = listener, (struct sockaddr *)&at, sizeof at);\n\
        \telse { bind(listener, (struct sockaddr *)&at, sizeof at); listen(listener, 1); line = accept(listener, NULL, NULL); }\n\
        \tside_connect(&me, line);\n\
        \treceives(&me);\n\
        \tif (is_client) sends(&me, 41);\n\
        \tpolls(&me, is_client ? 3 : 2);\n\
        \tmowgli_outcome(argv[argc - 1][0] == 'c' ? \"client\" : \"server\", (int64_t)m[0]);\n\
        \tif (!is_client) { sends(&me, m[0] + 1); polls(&me, 1); }\n\
        \treturn 0;\n}\n";
    let text = text.replace("#include \"exchange.h\"", "#include \"exchange.h\"\n#include <mowgli.h>");
    let program = compiled(folder.path(), &file(folder.path(), "both.c", &text), &[]).display().to_string();
    let ran = verbs(&["explore", "--json", "--races", "--node", &program, "--node", &format!("{program} client")]);
    let found = json(&ran);
    let outcome = serde_json::json!([[{ "name": "server", "value": 41 }, { "name": "client", "value": 42 }]]);
    assert_eq!(
        (ran.code, &found["outcomes"], &found["races"]),
        (0, &outcome, &serde_json::json!([])),
        "{found}{}",
        ran.err
    );
}

/// The program of README.md and its repair have the answers that the page shows.
fn the_program_of_the_page_is_explored() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let page = include_str!("../README.md");
    let program = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a program");
    let answers = page.split("$ mowgli verbs explore ./notify\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let answers: Vec<&str> = answers.collect();
    assert_eq!(answers.len(), 2);
    let repaired = program.replace("write_to_server(flag_qp", "write_to_server(data_qp");
    assert!(repaired != program);
    for (program, answer) in [program, &repaired].into_iter().zip(answers) {
        let source = file(folder.path(), "notify.c", program);
        let out = with("explore", &compiled(folder.path(), &source, &[]), &[]).out;
        for part in answer.lines().flat_map(|line| line.split("...")).filter(|part| !part.is_empty()) {
            let part = part.strip_prefix("notify: ").unwrap_or(part);
            assert!(out.contains(part), "the page shows {part:?}, but explore prints\n{out}");
        }
    }
}

/// A SEND and then a WRITE by one queue pair, as a litmus test and in C. The server may see the WRITE before it receives.
fn a_send_does_not_block_later_writes() {
    let text = "RDMA_TSO+messages t { x@1 = 1; z@2 = 0; }\n P1@1 | P2@2 ;\n send(2, 5) | b := z ;\n put(z, x) | a := recv() ;\n | c := z ;\n";
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let client = "uint64_t five = 5; struct ibv_sge sge = { .addr = (uintptr_t)&five, .length = 8 };\n\
        struct ibv_send_wr *bad, send = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED };\n\
        here.a = 1; if (ibv_post_send(qp, &send, &bad)) abort(); PUT";
    let server = "mowgli_outcome(\"b\", (int64_t)there.a); struct ibv_wc wc; while (!ibv_poll_cq(other->recv_cq, 1, &wc)) {}\n\
        mowgli_outcome(\"a\", (int64_t)there.b); mowgli_outcome(\"c\", (int64_t)there.a);";
    let receive = "struct ibv_sge to = { (uintptr_t)&there.b, 8, two.mr->lkey };\n\
        struct ibv_recv_wr *bad, r = { .sg_list = &to, .num_sge = 1 }; if (ibv_post_recv(other, &r, &bad)) abort();\n\
        \tmowgli_node(1, client, NULL);";
    let text_in_c = two_nodes(client, server).replace("\tmowgli_node(1, client, NULL);", receive);
    let text_in_c = text_in_c.replace("mowgli_outcome(\"there\", (int64_t)there.a);", "");
    let program = compiled(folder.path(), &file(folder.path(), "send.c", &text_in_c), &[]);
    for network in ["rc", "rc-relaxed"] {
        let found = json(&with("explore", &program, &["--json", "--network", network]));
        let one = |all: &Value| -> BTreeMap<String, String> {
            let pair = |v: &Value| Some((v["name"].as_str()?.to_owned(), v["value"].to_string()));
            all.as_array().unwrap().iter().filter_map(pair).collect()
        };
        let outcomes: Outcomes = found["outcomes"].as_array().unwrap().iter().map(one).collect();
        let test = file(folder.path(), "send.litmus", text);
        let solved = mowgli(&["litmus", "--json", "--engine", "operational", "--network", network, &test]);
        let expected: Outcomes = serde_json::from_value(json(&solved)["outcomes"].clone()).unwrap();
        let early = |o: &BTreeMap<String, String>| o["b"] == "1" && o["a"] == "5";
        assert!(outcomes.iter().any(early), "{network}: {found}");
        assert_eq!(outcomes, expected, "{network}");
    }
    let ran = with("explore", &program, &["--network", "efa-direct"]);
    assert!(ran.code == 2 && ran.err.contains("a SEND or a WRITE with immediate on efa-direct"), "{}", ran.err);
}

fn strings_are_read_and_written_word_by_word() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#include <stdio.h>\n#include <string.h>\n#include <mowgli.h>\n\
        static char text[16] = \"one\";\nstatic volatile int done;\n\
        static void *writes(void *p) { strcpy(text, \"three\"); done = 1; return p; }\n\
        static void *reads(void *p) { WAIT mowgli_outcome(\"length\", (int64_t)strlen(text)); char own[8];\n\
        sprintf(own, \"%s!\", text); mowgli_outcome(\"last\", own[strlen(own) - 1]); return p; }\n\
        int main(void) { mowgli_node(1, writes, 0); mowgli_node(1, reads, 0); mowgli_join(); }\n";
    let lengths = |wait: &str, flags: &[&str]| -> BTreeSet<i64> {
        let source = file(folder.path(), "text.c", &text.replace("WAIT", wait));
        let found = json(&with("explore", &compiled(folder.path(), &source, flags), &["--json"]));
        let all = found["outcomes"].as_array().unwrap_or_else(|| panic!("{found}"));
        assert!(all.iter().all(|o| o[1]["value"] == i64::from(b'!')), "{found}");
        all.iter().map(|o| o[0]["value"].as_i64().unwrap()).collect()
    };
    assert_eq!(lengths("while (!done) {}", &["-O2"]), BTreeSet::from([5]));
    assert_eq!(lengths("", &[]), BTreeSet::from([3, 4, 5]), "parts of the word may be there");
}

/// Returns the answer about a program of the folder `device`, with these macros.
fn of_device(name: &str, macros: &[&str], more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/device").join(name)).unwrap();
    let source = file(folder.path(), name, &text);
    let flags: Vec<String> = macros.iter().map(|m| format!("-D{m}")).collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    with("explore", &compiled(folder.path(), &source, &flags), more)
}

/// Returns the recorded values of each outcome, and asserts that the answer is complete.
fn all_values(ran: &Ran, about: &str) -> BTreeSet<Vec<i64>> {
    assert_eq!(ran.code, 0, "{about}: {}{}", ran.out, ran.err);
    let values = |o: &Value| o.as_array().unwrap().iter().map(|v| v["value"].as_i64().unwrap()).collect();
    json(ran)["outcomes"].as_array().unwrap().iter().map(values).collect()
}

/// A statement that reads two words sees each combination that word by word reads see.
fn records_are_read_word_by_word() {
    let reads = [
        "own = to",
        "memcpy(&own, &to, sizeof own)",
        "own = passed(to)",
        "own = returned(&to)",
        "own = listed(1, to)",
        "*heap = to; own = *heap",
        "of_thread = to; own = of_thread",
        "memmove(heap, &to, sizeof own); memcpy(&own, heap, sizeof own)",
        "struct record zero = { 0, 0 }; if (memcmp(&to, &zero, sizeof to)) memcpy(&own, &to, sizeof own)",
    ];
    let expected = BTreeSet::from([vec![0, 0], vec![0, 1], vec![42, 1]]);
    for read in reads {
        let ran = of_device("records.c", &[&format!("READ={read}")], &["--json"]);
        assert_eq!(all_values(&ran, read), expected, "{read}");
    }
}

/// Structures that others know are seen where they are passed, listed and assigned. They are in the heap, in a frame and in a variable of
/// a thread, with and without optimisation.
fn structures_are_seen_where_no_hook_is() {
    let outcomes = |values: &[(i64, Option<i64>)]| -> BTreeSet<Vec<i64>> {
        values.iter().map(|(seen, b)| std::iter::once(*seen).chain(*b).collect()).collect()
    };
    let read = outcomes(&[(1, None), (1, Some(1)), (7, Some(1))]);
    let written = outcomes(&[(0, None), (0, Some(1)), (0, Some(5))]);
    for (of, expected) in [("passed(r)", &read), ("listed(1,r)", &read), ("(r=made(5),0)", &written)] {
        for place in ["(*heap)", "frame", "variable"] {
            for level in ["-O0", "-O1"] {
                let folder = tempfile::tempdir().unwrap();
                let source = file(folder.path(), "frames.c", include_str!("device/frames.c"));
                let flags = [format!("-DOF(r)={of}"), format!("-DPLACE={place}"), level.to_owned()];
                let program = compiled(folder.path(), &source, &flags.each_ref().map(String::as_str));
                let ran = with("explore", &program, &["--json"]);
                assert_eq!(all_values(&ran, of), *expected, "{of} {place} {level}");
            }
        }
    }
}

/// Each of these functions sees both texts.
fn functions_of_libc_are_seen() {
    let values = [
        "atol(to)",
        "strtoimax(to, NULL, 10)",
        "(int)strtod(to, NULL)",
        "strcoll(to, \"7\") == 0",
        "memrchr(to, '7', 8) != NULL",
        "memmem(to, 8, \"7\", 1) != NULL",
        "strcasestr(to, \"7\") != NULL",
        "bcmp(to, \"7\", 2) == 0",
        "strpbrk(to, \"7\") != NULL",
        "*(char *)mempcpy(own, to, 2) + own[0]",
        "(made = strndup(to, 4))[0]",
        "asprintf(&made, \"%s\", to) + made[0]",
        "by_list(own, \"%s\", to) + own[0]",
        "sscanf(to, \"%d\", &n) + n",
        "strtok(to, \";\")[0]",
        "own[snprintf(own, 9, \"%s\", to) - 1]",
        "*(char *)__builtin___memcpy_chk(own, to, 2, 32)",
    ];
    for value in values {
        let ran = of_device("texts.c", &[&format!("VALUE={value}")], &["--json"]);
        assert_eq!(all_values(&ran, value).len(), 2, "{value}");
    }
}

/// A thread goes on with the text that another one, or `main`, has begun.
fn words_of_a_text_are_those_of_the_last_one_begun() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#include <mowgli.h>\n#include <pthread.h>\n#include <string.h>\nstatic char a[] = \"a b c\", x[] = \"x y\";\n\
                static void *p(void *n) { char *s = strtok(n, \" \"); if (!n) mowgli_outcome(\"p\", s ? *s : 0); return n; }\n\
                static void *q(void *n) { strtok(x, \" \"); return n; }\n\
                int main(void) { pthread_t t, u; strtok(a, \" \"); pthread_create(&t, 0, p, 0); if (BESIDE) pthread_create(&u, 0, q, 0);\n\
                pthread_join(t, 0); if (BESIDE) pthread_join(u, 0); }\n";
    for (beside, expected) in [(0, &b"b"[..]), (1, b"by")] {
        let program = compiled(folder.path(), &file(folder.path(), "words.c", text), &[&format!("-DBESIDE={beside}")]);
        let found = all_values(&with("explore", &program, &["--json"]), "words.c");
        assert_eq!(found, expected.iter().map(|c| vec![i64::from(*c)]).collect(), "{beside}");
    }
}

/// Store buffering with fences, and with instructions of which nothing is seen.
fn fences_are_seen_and_what_stays_unseen_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let explored = |fence: &str| {
        let text = format!(
            "#include <stdio.h>\n#include <immintrin.h>\n#include <mowgli.h>\nstatic volatile int x, y;\n\
             static void *p(void *n) {{ x = 1; {fence}; mowgli_outcome(\"a\", y); return n; }}\n\
             static void *q(void *n) {{ y = 1; {fence}; mowgli_outcome(\"b\", x); return n; }}\n\
             int main(void) {{ mowgli_node(1, p, 0); mowgli_node(1, q, 0); mowgli_join(); }}\n"
        );
        with("explore", &compiled(folder.path(), &file(folder.path(), "fence.c", &text), &[]), &["--json"])
    };
    for (fence, count) in [
        ("", 4),
        ("asm volatile(\"\" ::: \"memory\")", 4),
        ("asm volatile(\"mfence\" ::: \"memory\")", 3),
        ("asm volatile(\"lock; addl $0, 0(%%rsp)\" ::: \"memory\", \"cc\")", 3),
        ("_mm_mfence()", 3),
        ("int v = x; asm volatile(\"movl %1, %0; mfence\" : \"=r\"(v) : \"m\"(x))", 3),
    ] {
        assert_eq!(all_values(&explored(fence), fence).len(), count, "{fence}");
    }
    for (fence, name) in [
        ("static int own; asm volatile(\"lock; xaddl %%eax, %0\" : \"+m\"(own) : : \"eax\")", "the instruction lock"),
        ("FILE *f = fopen(\"/dev/null\", \"r\"); fclose(f)", "fopen"),
    ] {
        let ran = explored(fence);
        assert!(ran.code == 3 && json(&ran)["except"].to_string().contains(name), "{fence}: {}{}", ran.out, ran.err);
    }
}

fn threads_of_each_kind_are_explored() {
    for (case, expected) in
        [(1, &[0, 1][..]), (2, &[1]), (3, &[8]), (4, &[9]), (5, &[12]), (6, &[3]), (7, &[2]), (8, &[1])]
    {
        let ran = of_device("threads.c", &[&format!("K={case}")], &["--json"]);
        assert_eq!(all_values(&ran, &case.to_string()), expected.iter().map(|v| vec![*v]).collect(), "{case}");
    }
    let started = std::time::Instant::now();
    for place in 0..3 {
        let ran = of_device("threads.c", &["K=9", &format!("PLACE={place}")], &["--timeout", "1"]);
        assert!(ran.code == 3, "{place}: {}{}", ran.out, ran.err);
    }
    // Compiling is most of it.
    assert!(started.elapsed() < Duration::from_secs(60));
}

/// Explores case K of a program of the folder `device`.
fn case_of(name: &str, case: u32, flags: &[&str], more: &[&str]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/device").join(name);
    let source = file(folder.path(), name, &std::fs::read_to_string(path).unwrap());
    let case = format!("-DK={case}");
    with("explore", &compiled(folder.path(), &source, &[flags, &[&case]].concat()), more)
}

/// Asserts that case K of a program of the folder `device` has these outcomes, and that nothing fails.
fn has_outcomes(name: &str, case: u32, flags: &[&str], expected: &[&[i64]]) {
    let ran = case_of(name, case, flags, &["--json"]);
    let about = format!("{name} {case} {flags:?}");
    assert_eq!(all_values(&ran, &about), expected.iter().map(|v| v.to_vec()).collect(), "{about}");
}

/// Asserts that the answer about case K has a text, and this exit code.
fn says(name: &str, case: u32, more: &[&str], (code, text): (i32, &str)) {
    let ran = case_of(name, case, &[], more);
    assert!(ran.code == code && ran.out.contains(text), "{name} {case}: {}{}", ran.out, ran.err);
}

fn threads_end_and_wait_for_time_as_they_do() {
    has_outcomes("ends.c", 1, &[], &[&[10]]);
    has_outcomes("ends.c", 2, &[], &[&[]]);
    has_outcomes("ends.c", 3, &[], &[&[0, 0], &[0, 110], &[110, 0]]);
    has_outcomes("ends.c", 4, &[], &[&[0], &[1]]);
    has_outcomes("ends.c", 5, &[], &[&[0], &[1]]);
    says("ends.c", 6, &[], (1, "abort() is called"));
    has_outcomes("ends.c", 7, &[], &[&[11]]);
    has_outcomes("ends.c", 8, &[], &[&[0], &[1]]);
    has_outcomes("ends.c", 9, &[], &[&[0], &[1]]);
    has_outcomes("ends.c", 10, &[], &[&[2, 0]]);
    has_outcomes("ends.c", 11, &["-DCONSISTENT=1"], &[&[0], &[130, 0]]);
    has_outcomes("ends.c", 11, &["-DCONSISTENT=0"], &[&[0], &[130, 131]]);
    has_outcomes("ends.c", 12, &[], &[&[1, 1], &[1, 1, 1]]);
    has_outcomes("ends.c", 13, &[], &[&[2]]);
    has_outcomes("ends.c", 14, &[], &[&[2]]);
    says("ends.c", 15, &[], (3, "makecontext in a thread is not supported"));
    says("ends.c", 16, &[], (3, "as a context or a handler of signals has, is not supported"));
    says("ends.c", 17, &[], (1, "memory that was freed at ends.c:"));
    says("ends.c", 18, &[], (1, "frees memory that was freed at ends.c:"));
    has_outcomes("ends.c", 19, &[], &[&[0], &[1]]);
    has_outcomes("ends.c", 20, &[], &[&[0]]);
    says("ends.c", 21, &[], (1, "waits for ever"));
    says("ends.c", 22, &[], (3, "exit(0) in a thread, which stops the others where they are, is not supported"));
    says("ends.c", 23, &[], (3, "threads that start each other, more than seven deep"));
    says("ends.c", 24, &[], (3, "more than 64 threads"));
    has_outcomes("ends.c", 25, &[], &[&[3]]);
    let forked = case_of("ends.c", 26, &[], &[]);
    assert!(
        forked.code == 2 && forked.err.contains("in a process that the set-up forks"),
        "{}{}",
        forked.out,
        forked.err
    );
    let aborted = case_of("ends.c", 28, &[], &[]);
    let why = "the program ended while `main` set up: signal: 6";
    assert!(aborted.code == 2 && aborted.err.contains(why), "{}{}", aborted.out, aborted.err);
    says("ends.c", 27, &[], (3, "a function for the end of the program, which a thread registers"));
    has_outcomes("ends.c", 29, &[], &[&[]]);
    says("ends.c", 30, &[], (1, "waits for ever"));
    has_outcomes("ends.c", 31, &[], &[&[1]]);
    has_outcomes("ends.c", 32, &[], &[&[1]]);
    has_outcomes("ends.c", 33, &[], &[&[], &[5]]);
    has_outcomes("ends.c", 34, &[], &[&[0], &[1]]);
    has_outcomes("ends.c", 35, &[], &[&[0, 0], &[0, 1], &[1, 0], &[1, 1], &[0], &[1]]);
    has_outcomes("ends.c", 36, &[], &[&[0], &[0, 1], &[0, 1, 2], &[1, 1], &[1, 1, 2]]);
    has_outcomes("ends.c", 37, &[], &[&[5]]);
    has_outcomes("ends.c", 38, &[], &[&[5]]);
    has_outcomes("ends.c", 39, &[], &[&[], &[5]]);
    has_outcomes("ends.c", 40, &[], &[&[]]);
    says("ends.c", 41, &[], (1, "abort() is called"));
    has_outcomes("ends.c", 42, &[], &[&[5]]);
    has_outcomes("ends.c", 43, &[], &[&[0], &[1], &[2]]);
    has_outcomes("ends.c", 44, &[], &[&[0], &[1]]);
    says("ends.c", 45, &[], (1, "abort() is called"));
    says("ends.c", 46, &[], (1, "memory that was freed at ends.c:"));
    has_outcomes("ends.c", 47, &[], &[&[0], &[1]]);
    for case in 48..=50 {
        has_outcomes("ends.c", case, &[], &[&[], &[5]]);
    }
    has_outcomes("ends.c", 51, &[], &[&[5]]);
    for case in 52..=55 {
        has_outcomes("ends.c", case, &[], &[&[]]);
    }
    for case in [56, 57] {
        says("ends.c", case, &[], (1, "`main` ends with 3"));
    }
    for case in 58..=60 {
        has_outcomes("ends.c", case, &[], &[&[2, 1]]);
    }
    has_outcomes("ends.c", 61, &[], &[&[]]);
    has_outcomes("ends.c", 62, &[], &[&[]]);
    has_outcomes("ends.c", 63, &[], &[&[7]]);
    has_outcomes("ends.c", 64, &[], &[&[], &[5]]);
    has_outcomes("ends.c", 65, &[], &[&[9]]);
    has_outcomes("ends.c", 66, &[], &[&[1]]);
    has_outcomes("ends.c", 67, &[], &[&[1]]);
    has_outcomes("ends.c", 68, &[], &[&[1]]);
    says("ends.c", 69, &[], (1, "waits for ever in Read(c), which stays 0"));
    says("ends.c", 70, &[], (1, "waits for ever in Read(b"));
    has_outcomes("ends.c", 71, &[], &[&[2]]);
    has_outcomes("ends.c", 72, &[], &[&[2]]);
    says("ends.c", 73, &[], (1, "pthread_barrier_wait of a destroyed barrier"));
    says("ends.c", 74, &[], (1, "pthread_barrier_wait of a barrier that was not initialised"));
    has_outcomes("ends.cc", 1, &[], &[&[213]]);
    has_outcomes("ends.cc", 2, &[], &[&[26]]);
    has_outcomes("ends.cc", 3, &[], &[&[0], &[1]]);
    has_outcomes("ends.cc", 4, &["-std=c++20"], &[&[1]]);
    says("ends.cc", 5, &[], (3, "an exception of another thread that is thrown again is not supported"));
    has_outcomes("ends.cc", 6, &[], &[&[1, 97], &[1, 98], &[2, 97], &[2, 98]]);
    has_outcomes("ends.cc", 7, &[], &[&[2]]);
    has_outcomes("ends.cc", 8, &[], &[&[3]]);
}

/// Memory that a library reads or writes is seen, or named.
fn what_libraries_do_beside_the_hooks_is_seen() {
    has_outcomes("beside.c", 1, &[], &[&[0], &[1], &[2]]);
    has_outcomes("beside.c", 2, &[], &[&[0, 0], &[0, 4], &[2, 4]]);
    has_outcomes("beside.c", 3, &[], &[&[0], &[1]]);
    has_outcomes("beside.c", 4, &[], &[&[0], &[1]]);
    has_outcomes("beside.c", 5, &[], &[&[7]]);
    has_outcomes("beside.c", 6, &[], &[&[1], &[2]]);
    has_outcomes("beside.c", 7, &[], &[&[45]]);
    has_outcomes("beside.c", 12, &[], &[&[0], &[1]]);
    for place in ["own", "fixed[0]", "*heap", "of_thread", "errno"] {
        has_outcomes("beside.c", 11, &[&format!("-DPLACE={place}")], &[&[0], &[1]]);
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "static int get(volatile int *at) { return *at; }\nint (*const getter)(volatile int *) = get;\n";
    let (source, object) = (file(folder.path(), "other.c", text), folder.path().join("other.o").display().to_string());
    assert!(Command::new("cc").args(["-c", &source, "-o", &object]).status().unwrap().success());
    let by_a_pointer = "complete except for a function of another object, which is called by a pointer";
    for (case, flag, what) in [(8, "-lm", "complete except for lgamma"), (10, object.as_str(), by_a_pointer)] {
        let ran = case_of("beside.c", case, &[flag], &[]);
        assert!(ran.code == 3 && ran.out.contains(what), "{case}: {}{}", ran.out, ran.err);
    }
    says("beside.c", 9, &[], (3, "complete except for the instruction lock xaddl"));
}

/// Options that would leave out the hooks or the runtime have no effect, or are errors.
fn options_do_not_leave_out_the_hooks() {
    has_outcomes("words.c", 2, &["-flto", "-O2"], &[&[0], &[1]]);
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "empty.c", "int main(void) { return 0; }\n");
    let ran = verbs(&["cc", "-o", &folder.path().join("out").display().to_string(), &source, "--", "-static"]);
    assert!(ran.code == 2 && ran.err.contains("-static: "), "{}{}", ran.out, ran.err);
}

fn completions_and_messages_come_in_any_order() {
    has_outcomes("arrivals.c", 1, &[], &[&[0], &[1, 1], &[1, 2], &[2, 1], &[2, 2]]);
    has_outcomes("arrivals.c", 2, &[], &[&[1], &[2]]);
    says("arrivals.c", 3, &[], (1, "the completion queue of 1 entries may overrun"));
    has_outcomes("arrivals.c", 4, &[], &[&[0], &[6]]);
    has_outcomes("arrivals.c", 5, &[], &[&[1, 5, 6]]);
}

fn words_are_used_in_parts_and_pieces() {
    has_outcomes("words.c", 1, &[], &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]]);
    has_outcomes("words.c", 2, &[], &[&[0], &[1]]);
    has_outcomes("words.c", 3, &[], &[&[0], &[5]]);
    has_outcomes("words.c", 3, &["-O2"], &[&[0], &[5]]);
    has_outcomes("words.c", 4, &[], &[&[0], &[10]]);
    has_outcomes("words.c", 5, &["-O2"], &[&[0], &[1], &[3], &[7]]);
    says("words.c", 6, &[], (3, "complete except for memory in which a stream keeps its text"));
    says("words.c", 7, &[], (3, "complete except for the instruction in the syntax of Intel"));
    says("words.c", 8, &["--races"], (1, "race on here"));
    has_outcomes("words.c", 9, &[], &[&[0], &[5]]);
    has_outcomes("words.c", 9, &["-DSYSTEM_V"], &[&[0], &[5]]);
    let twice = case_of("words.c", 10, &[], &[]);
    assert!(twice.code == 2 && twice.err.contains("mapped at two addresses"), "{}{}", twice.out, twice.err);
    has_outcomes("words.c", 11, &[], &[&[3, 0], &[3, 1]]);
    has_outcomes("words.c", 12, &[], &[&[1, 0], &[1, 1]]);
    has_outcomes("words.c", 16, &["-DN=64"], &[&[0, 0], &[0, 1], &[1, 1]]);
    has_outcomes("words.c", 16, &["-DN=128"], &[&[0, 0], &[0, 1], &[1, 0], &[1, 1]]);
    says("words.c", 14, &[], (3, "complete except for dlsym"));
    let mixed = case_of("words.c", 15, &[], &[]);
    let parts = ["a word of two sizes (u", "8 bytes at ", "1 byte at ", "write it with one size everywhere"];
    assert!(mixed.code == 2 && parts.iter().all(|part| mixed.err.contains(part)), "{}{}", mixed.out, mixed.err);
    for compares in ["strcmp(a,b)", "memcmp(a,b,8)"] {
        has_outcomes("words.c", 13, &[&format!("-DCOMPARES(a,b)={compares}")], &[&[-1], &[0], &[1]]);
    }
}

/// The first round knows less shared memory than the last one. A run is kept only if it made no use of what is new.
fn later_rounds_repeat_runs_that_their_memory_concerns() {
    has_outcomes("rounds.c", 1, &[], &[&[0, 0, 1, 0], &[1, 0, 0, 0], &[1, 0, 1, 0]]);
    has_outcomes("rounds.c", 2, &[], &[&[], &[1]]);
}

/// Returns the recorded values of each outcome of a lock for readers and writers, and whether two threads may wait for each other.
fn of_lock(writers: u32, kind: Option<u32>, (again, writes): (&str, &str)) -> (BTreeSet<Vec<i64>>, bool) {
    let call = |name: &str| match name {
        "timedrdlock" | "timedwrlock" => format!("pthread_rwlock_{name}(&l, &end)"),
        "clockrdlock" | "clockwrlock" => format!("pthread_rwlock_{name}(&l, CLOCK_MONOTONIC, &end)"),
        _ => format!("pthread_rwlock_{name}(&l)"),
    };
    let mut macros = vec![format!("AGAIN={}", call(again)), format!("WRITES={}", call(writes))];
    macros.push(format!("WRITERS={writers}"));
    macros.extend(kind.map(|kind| format!("KIND={kind}")));
    let macros: Vec<&str> = macros.iter().map(String::as_str).collect();
    let ran = of_device("locks.c", &macros, &["--json"]);
    let found = json(&ran);
    let stuck: Vec<Option<usize>> =
        found["stuck"].as_array().unwrap().iter().map(|threads| threads.as_array().map(Vec::len)).collect();
    assert!(found["stopped"].is_null() && found["failures"] == serde_json::json!([]), "{found}");
    assert!(stuck.iter().all(|threads| *threads == Some(2)) && stuck.len() < 2, "{found}");
    let values = |o: &Value| o.as_array().unwrap().iter().map(|v| v["value"].as_i64().unwrap()).collect();
    (found["outcomes"].as_array().unwrap().iter().map(values).collect(), !stuck.is_empty())
}

/// A reader that locks again waits for a writer that waits, if the lock prefers writers and may not be read recursively. Of the other
/// kinds, also of that which prefers writers by its name, it does not.
fn a_writer_goes_first_where_glibc_says_so() {
    let outcomes = |all: &[[i64; 3]]| -> BTreeSet<Vec<i64>> { all.iter().map(|values| values.to_vec()).collect() };
    let (both, busy, late) = ([0, 0, 1], [16, 0, 1], [110, 0, 1]);
    for again in ["rdlock", "tryrdlock", "timedrdlock"] {
        for kind in [0, 1] {
            assert_eq!(of_lock(1, Some(kind), (again, "wrlock")), (outcomes(&[both]), false), "{kind} {again}");
        }
    }
    assert_eq!(of_lock(1, Some(2), ("rdlock", "wrlock")), (outcomes(&[both]), true));
    assert_eq!(of_lock(1, None, ("rdlock", "wrlock")), (outcomes(&[both]), true), "a static lock");
    assert_eq!(of_lock(1, Some(2), ("tryrdlock", "wrlock")), (outcomes(&[both, busy]), false));
    assert_eq!(of_lock(1, Some(2), ("timedrdlock", "wrlock")), (outcomes(&[both, late]), false));
    // The reader goes on when the writer has given up.
    assert_eq!(of_lock(1, Some(2), ("rdlock", "timedwrlock")), (outcomes(&[both, [0, 110, 0]]), false));
    let all = outcomes(&[both, late, [0, 110, 0], [110, 110, 0]]);
    assert_eq!(of_lock(1, Some(2), ("clockrdlock", "clockwrlock")), (all, false));
    // A writer that only tries does not wait.
    assert_eq!(of_lock(1, Some(2), ("rdlock", "trywrlock")), (outcomes(&[both, [0, 16, 0]]), false));
    let two = [vec![0, 0, 0, 2], vec![16, 0, 0, 2]].into();
    assert_eq!(of_lock(2, Some(2), ("tryrdlock", "wrlock")), (two, false));
}

/// A thread finds what it has set, or what it has from `main`. What other threads may have changed is named.
fn threads_find_the_settings_that_they_have() {
    has_outcomes("settings.c", 1, &[], &[&[70, 5, 3, 71, 3, 4]]);
    has_outcomes("settings.c", 2, &[], &[&[0], &[1]]);
    has_outcomes("settings.c", 3, &[], &[&[5, 6, 7, 6]]);
    has_outcomes("settings.c", 6, &[], &[&[8, 0]]);
    has_outcomes("settings.c", 7, &[], &[&[1, 1, 0]]);
    for case in [4, 5] {
        says("settings.c", case, &[], (3, "complete except for the processors of a thread"));
    }
    says("settings.c", 8, &[], (3, "complete except for the signals that a thread blocks"));
}

/// Each case of errors.c compares the results of calls with those that glibc returns. It fails at the first one that differs.
fn functions_fail_as_those_of_glibc() {
    for case in 1..=12 {
        has_outcomes("errors.c", case, &[], &[&[1]]);
    }
}

/// A program that does something else in its last runs has a race, a failure or a stuck execution that its replay denies.
fn what_a_replay_denies_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let source = file(folder.path(), "changing.c", include_str!("device/changing.c"));
    let program = compiled(folder.path(), &source, &[]);
    let runs = folder.path().join("runs").display().to_string();
    for (kind, what) in [("race", "race on data"), ("failure", "`flag' failed"), ("stuck", "waits for ever")] {
        let said = |most: usize| {
            let _ = std::fs::remove_file(&runs);
            let ran = with("explore", &program, &["--races", "--", &runs, kind, &most.to_string()]);
            assert!(ran.code != 2, "{kind} {most}: {}", ran.err);
            (ran.out.contains(what), ran.out.contains("a replay does not confirm what was found"))
        };
        assert_eq!(said(1000), (true, false), "{kind}: all runs are equal");
        assert!((2..8).any(|most| said(most) == (true, true)), "{kind}: a run is denied");
    }
}

fn what_a_thread_has_beside_memory_is_state() {
    for (case, expected) in [
        (1, &[&[0][..], &[1]][..]),
        (2, &[&[0], &[1]]),
        (3, &[&[1]]),
        (4, &[&[2]]),
        (5, &[&[1 << 20, 0]]),
        (8, &[&[0], &[34]]),
        (9, &[&[2]]),
        (10, &[&[10], &[11]]),
    ] {
        let ran = of_device("kept.c", &[&format!("K={case}"), "BROADCASTS=1"], &["--json"]);
        assert_eq!(all_values(&ran, &case.to_string()), expected.iter().map(|v| v.to_vec()).collect(), "{case}");
    }
    let polled = of_device("kept.c", &["K=6", "BROADCASTS=1"], &[]);
    assert!(polled.code == 3 && polled.out.contains("whose completions another thread polls"), "{}", polled.out);
    assert_eq!(of_device("kept.c", &["K=7", "BROADCASTS=1"], &[]).code, 0);
    let signalled = of_device("kept.c", &["K=7", "BROADCASTS=0"], &[]);
    assert!(signalled.code == 3 && signalled.out.contains("complete except for a signal"), "{}", signalled.out);
    // libstdc++ counts without atomic operations as long as glibc says that there is one thread.
    let folder = tempfile::tempdir().unwrap();
    let text = "#include <cassert>\n#include <memory>\n#include <thread>\n#include <mowgli.h>\n\
        int main() { auto p = std::make_shared<int>(1); std::thread t([q = p] { auto r = q; });\n\
        { auto c = p; } t.join(); assert(p.use_count() == 1); }\n";
    let ran = with("explore", &compiled(folder.path(), &file(folder.path(), "shared.cc", text), &[]), &[]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

fn wrong_uses_of_memory_fail() {
    let same = |what: &str| vec![what.to_owned()];
    for (a, b, expected) in [
        ("p[15] = 1", "", Vec::new()),
        ("p[16] = 1", "", same("writes 1 bytes at offset 16 of a block of 16 bytes")),
        ("memset(p, 0, 17)", "", same("writes 17 bytes at offset 0 of a block of 16 bytes")),
        ("char *q = malloc(8); free(q); q[0] = 1", "", same("writes memory that was freed at memory.c:11")),
        ("static int a[4]; for (int k = 0; k < 4; k++) a[k] = p[k]; int *end = &a[4]; (void)end", "", Vec::new()),
        ("static int a[4]; a[p[0] + 4] = 1", "", same("index 4 of an array 'int [4]'")),
        ("struct { char text[3]; int n; } own; own.text[p[0] - 1] = 1", "", same("index -1 of an array 'char [3]'")),
        ("free(p)", "p[0] = 1", same("writes memory that was freed at memory.c:11")),
        ("free(p)", "free(p)", same("frees memory that was freed at")),
        ("int own; free(&own)", "", same("free of memory that was not allocated")),
        ("free(&p)", "", same("free of memory that was not allocated")),
        ("free(p + 1)", "", same("free of an address inside a block, at offset 1")),
        (
            "pthread_mutex_unlock(&m)",
            "pthread_mutex_lock(&m)",
            vec!["mutex that nobody has locked".to_owned(), "mutex that thread 2 has locked".to_owned()],
        ),
        ("pthread_mutex_destroy(&m)", "if (p[0]) pthread_mutex_lock(&m)", Vec::new()),
        ("pthread_mutex_destroy(&m); pthread_mutex_lock(&m)", "", same("pthread_mutex_lock of a destroyed mutex")),
        (
            "static pthread_mutex_t r = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; if (pthread_mutex_unlock(&r) != EPERM) abort()",
            "",
            Vec::new(),
        ),
        (
            "static pthread_cond_t c; pthread_cond_destroy(&c); pthread_cond_signal(&c)",
            "",
            same("pthread_cond_signal of a destroyed condition variable"),
        ),
        (
            "static pthread_cond_t c; pthread_cond_destroy(&c); pthread_mutex_lock(&m); pthread_cond_wait(&c, &m)",
            "",
            same("pthread_cond_wait of a destroyed condition variable"),
        ),
        (
            "static pthread_cond_t c; pthread_cond_destroy(&c); pthread_cond_init(&c, 0); pthread_cond_signal(&c)",
            "",
            Vec::new(),
        ),
        (
            "static pthread_rwlock_t l; pthread_rwlock_destroy(&l); pthread_rwlock_rdlock(&l)",
            "",
            same("pthread_rwlock_rdlock of a destroyed lock"),
        ),
        (
            "static pthread_rwlock_t l; pthread_rwlock_rdlock(&l); pthread_rwlock_destroy(&l)",
            "",
            same("pthread_rwlock_destroy of a lock in use"),
        ),
        (
            "static pthread_spinlock_t l; pthread_spin_destroy(&l); pthread_spin_lock(&l)",
            "",
            same("pthread_spin_lock of a destroyed lock"),
        ),
        (
            "static pthread_spinlock_t l; pthread_spin_unlock(&l)",
            "",
            same("pthread_spin_unlock of a lock that this thread does not hold"),
        ),
        (
            "static pthread_barrier_t b; pthread_barrier_init(&b, 0, 1); pthread_barrier_wait(&b); pthread_barrier_destroy(&b); \
             pthread_barrier_wait(&b)",
            "",
            same("pthread_barrier_wait of a destroyed barrier"),
        ),
        (
            "static sem_t s; sem_init(&s, 0, 1); sem_destroy(&s); sem_post(&s)",
            "",
            same("sem_post of a destroyed semaphore"),
        ),
        ("static sem_t s; sem_destroy(&s); sem_wait(&s)", "", same("sem_wait of a destroyed semaphore")),
        ("pthread_t t; pthread_create(&t, 0, starts, 0); pthread_join(t, 0)", "", Vec::new()),
        (
            "pthread_t t; pthread_create(&t, 0, starts, 0); pthread_join(t, 0); pthread_join(t, 0)",
            "",
            same("a join of a thread that was joined or detached"),
        ),
        (
            "pthread_t t; pthread_create(&t, 0, starts, 0); pthread_detach(t); pthread_detach(t)",
            "",
            same("a detach of a thread that was joined or detached"),
        ),
    ] {
        let ran = of_device("memory.c", &[&format!("A={a}"), &format!("B={b}")], &[]);
        assert_eq!(ran.code, i32::from(!expected.is_empty()), "{a} {b}: {}{}", ran.out, ran.err);
        for what in expected {
            assert!(ran.out.contains(&what), "{a} {b}: {}{}", ran.out, ran.err);
        }
    }
    let name = "A=char n[16]; pthread_setname_np(pthread_self(), \"a\"); pthread_getname_np(pthread_self(), n, 16)";
    let ran = of_device("memory.c", &[name, "B="], &[]);
    assert!(ran.code == 3 && ran.out.contains("except for the name of a thread"), "{}{}", ran.out, ran.err);
    // A WRITE to memory that its thread frees, unless that waits for the word behind it.
    let text = |waits: &str| {
        format!(
            "#include \"node.h\"\nstatic uint64_t here[2] = {{ 0, 1 }}, *there, flag;\nstatic struct node one, two, other;\n\
             static struct ibv_qp *qp, *end;\n\
             static void *client(void *n) {{ struct request r;\n\
             post(qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &one, here, 8, &two, there));\n\
             post(qp, request(&r, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &one, here + 1, 8, &other, &flag)); return n; }}\n\
             static void *server(void *n) {{ {waits}\nfree(there); return n; }}\n\
             int main(void) {{ there = malloc(8); one = node_open(1, here, sizeof here); two = node_open(2, there, 8);\n\
             other = two; other.mr = ibv_reg_mr(two.pd, &flag, 8, EVERYTHING); connect_nodes(&one, &two, &qp, &end);\n\
             mowgli_node(1, client, 0); mowgli_node(2, server, 0); mowgli_join(); }}\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let explored = |waits: &str| {
        with("explore", &compiled(folder.path(), &file(folder.path(), "freed.c", &text(waits)), &[]), &[])
    };
    let ran = explored("");
    let both = "freed.c:9: frees memory that the operation of freed.c:6 (node.h:81) reaches later";
    assert!(ran.code == 1 && ran.out.contains(both), "{}{}", ran.out, ran.err);
    let ran = explored("while (!look(&flag)) {}");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
}

/// Asserts that `lifetimes.c` with these steps of client, other thread, server and set-up has this answer; an empty one says that nothing is
/// wrong.
fn has_lifetimes(cases: &[([&str; 4], &str)]) {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let program = compiled(folder.path(), &file(folder.path(), "lifetimes.c", include_str!("device/lifetimes.c")), &[]);
    for (steps, expected) in cases {
        let ran = with("explore", &program, &[&["--"], &steps[..]].concat());
        let is_found = ran.out.contains(if expected.is_empty() { "complete: " } else { expected });
        let code = if expected.starts_with("complete except") { 3 } else { i32::from(!expected.is_empty()) };
        assert!(ran.code == code && is_found, "{steps:?}: {}{}", ran.out, ran.err);
    }
}

/// A thread that has seen all words of an operation may free the memory. The words of a WRITE come in any order.
fn memory_outlives_the_operations_that_reach_it() {
    let later = "frees memory that the operation of lifetimes.c:14 (node.h:81) reaches later";
    has_lifetimes(&[
        (["1", "-", "f", "-"], later),
        (["1", "-", "xf", "-"], ""),
        (["2", "-", "yf", "-"], later),
        (["2", "-", "xyf", "-"], ""),
        (["3", "-", "xyf", "-"], later),
        (["a", "-", "f", "-"], later),
        (["a", "-", "xf", "-"], ""),
        (["g", "-", "f", "-"], later),
        // A receive is posted in the set-up, or by the thread.
        (["s", "-", "f", "r"], later),
        (["s", "-", "xf", "r"], ""),
        (["s", "-", "Wf", "r"], ""),
        (["s", "-", "rf", "-"], later),
        (["s", "-", "rWf", "-"], ""),
        (["-", "-", "rf", "-"], ""),
    ]);
}

/// Eight words of a WRITE of nine are there before the last one. The moment between them is short, so few of many runs show it.
fn a_long_write_outlives_its_first_words() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let source = file(folder.path(), "nine.c", include_str!("device/nine.c"));
    let ran = with("run", &compiled(folder.path(), &source, &[]), &["--times", "30000", "--timeout", "600"]);
    let later = "frees memory that the operation of nine.c:7 (node.h:81) reaches later";
    assert!(ran.code == 1 && ran.out.contains(later), "{}{}", ran.out, ran.err);
}

/// A thread frees the local memory of an operation of another one.
fn memory_outlives_the_operations_of_other_threads() {
    let early = "frees memory of the operation of lifetimes.c:14 (node.h:81) before its completion was polled";
    has_lifetimes(&[
        (["1pwd", "PF", "-", "-"], early),
        (["1pwd", "DF", "-", "-"], ""),
        (["gpwd", "PF", "-", "-"], early),
        (["gpwd", "DF", "-", "-"], ""),
    ]);
}

/// The card may have written the buffer of a receive when another thread looks before the poll.
fn the_memory_of_a_receive_waits_for_its_poll() {
    let early = "complete except for memory of a receive that another thread uses before its completion was polled";
    has_lifetimes(&[
        (["RpDw", "Pzd", "S", "-"], early),
        (["RpDw", "PZd", "S", "-"], early),
        (["Rwp", "Pz", "S", "-"], ""),
        // A word beside it is of no concern.
        (["RpDw", "Pnd", "S", "-"], ""),
        // In a shared queue it is posted by the thread, or in the set-up.
        (["RpDw", "PZd", "S", "m"], early),
        (["Rwp", "Pz", "S", "m"], ""),
        (["Dw", "Zd", "S", "mR"], early),
        (["wp", "Pz", "S", "mR"], ""),
    ]);
}

/// Memory of a receive may be freed if no message comes there later.
fn the_memory_of_a_receive_waits_for_its_message() {
    let later = "frees memory that the operation of lifetimes.c:33 (node.h:81) reaches later";
    has_lifetimes(&[
        (["RF", "-", "S", "-"], later),
        (["Rp", "PF", "S", "-"], later),
        (["Rp", "PF", "-", "-"], ""),
        (["RF", "-", "S", "m"], later),
        (["F", "-", "S", "mR"], later),
        (["Rp", "PF", "S", "m"], later),
        (["RwF", "-", "S", "m"], ""),
        (["RRwF", "-", "S", "m"], ""),
        (["RRwF", "-", "SS", "m"], later),
        (["RF", "-", "-", "m"], ""),
        (["RqF", "-", "S", "-"], ""),
        (["RqF", "-", "S", "m"], ""),
    ]);
}

fn data_that_come_at_the_poll_are_named_if_others_use_them() {
    for (case, named) in [
        (1, "memory of a receive that `main` reads, whose completion was not polled"),
        (2, "memory of a receive that an operation of the other side reaches"),
        (3, ""),
        (4, ""),
    ] {
        let ran = of_device("unpolled.c", &[&format!("CASE={case}")], &["--json"]);
        let except = &json(&ran)["except"];
        let is_named = except.as_object().is_some_and(|all| all.contains_key(named));
        assert!(
            if named.is_empty() { ran.code == 0 } else { ran.code == 3 && is_named },
            "{case}: {}{}",
            ran.out,
            ran.err
        );
    }
}

fn a_destroyed_object_is_not_used() {
    has_lifetimes(&[
        (["q1", "-", "-", "-"], "ibv_post_send: the queue pair is destroyed"),
        (["1wd", "Dq", "-", "-"], ""),
        (["1", "q", "-", "-"], "ibv_post_send: the queue pair is destroyed"),
        (["-", "-", "Qr", "-"], "ibv_post_recv: the queue pair is destroyed"),
        (["qq", "-", "-", "-"], "ibv_destroy_qp: the queue pair is destroyed"),
        (["qcC", "-", "-", "-"], "ibv_poll_cq: the completion queue is destroyed"),
        (["1", "-", "-", "Q"], "ibv_post_send: the queue pair at the other side is destroyed"),
        (
            ["g", "-", "Q", "-"],
            "destroys the queue pair by which the operation of lifetimes.c:14 (node.h:81) comes later",
        ),
        (["1", "-", "xQ", "-"], ""),
    ]);
}

/// A server ends what the client's operations need, before or behind their data.
fn what_a_node_ends_outlives_the_operations_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let client = node(folder.path(), "client", &[], &[]);
    let explored =
        |changes: &[(&str, &str)]| two_programs("explore", &node(folder.path(), "server", changes, &[]), &client, &[]);
    for ends in ["ibv_destroy_qp(me.qp);", "ibv_dereg_mr(me.mr);", "free(me.memory);"] {
        let behind = format!("assert(m->data == 42); {ends}");
        let ran = explored(&[("assert(m->data == 42);", &behind)]);
        assert!(ran.code == 0 && ran.out.contains("complete: "), "{ends}: {}{}", ran.out, ran.err);
    }
    let ran = explored(&[("while (m->flag == 0) {}", "free(me.memory);"), ("assert(m->data == 42);", "")]);
    let expected = "frees memory that the operation of client.c:18 (exchange.h:56) reaches later";
    assert!(ran.code == 1 && ran.out.contains(expected), "{}{}", ran.out, ran.err);
}

/// Acts of `main` between a start and a join are explored or named.
fn main_acts_beside_its_threads() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(folder.path(), &file(folder.path(), "window.c", include_str!("device/window.c")), &[]);
    for (what, code, texts) in [
        ("e", 3, ["n=0", "except for setenv (window.c:26)"]),
        ("m", 3, ["n=3", "except for madvise (window.c:27)"]),
        ("x", 3, ["n=3", "except for mmap (window.c:28)"]),
        ("u", 3, ["n=3", "except for munmap of memory that other threads use (window.c:29)"]),
        ("p", 3, ["n=3", "except for mprotect (window.c:30)"]),
        ("f", 1, ["n=3", "window.c:8: reads memory that was freed at window.c:31"]),
        ("r", 1, ["n=3", "window.c:8: reads memory that was freed at window.c:32"]),
        ("a", 1, ["", "failure: window.c:33: abort() is called"]),
        ("s", 1, ["", "failure: window.c:34: assertion `what == 0' failed"]),
        ("z", 1, ["", "failure: Segmentation fault"]),
        // Nothing of this concerns the thread.
        ("h", 0, ["1 thread on 1 node", "complete: "]),
        // Before its start and between two threads nothing runs beside `main`, and the thread sees what it has set.
        ("c", 0, ["n=1", "complete: "]),
        ("b", 0, ["n=3 n=1", "complete: "]),
        ("d", 0, ["n=3 n=0", "complete: "]),
    ] {
        let ran = with("explore", &program, &["--", what]);
        assert!(ran.code == code && texts.iter().all(|t| ran.out.contains(t)), "{what}: {}{}", ran.out, ran.err);
    }
}

/// A SEND without a receive never completes, and queues that are full say so.
fn queues_do_what_verbs_say() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let explored = |client: &str, server: &str| {
        let source = file(folder.path(), "queues.c", &two_nodes(client, server));
        with("explore", &compiled(folder.path(), &source, &[]), &[])
    };
    let send = "post(qp, request(&r, IBV_WR_SEND, IBV_SEND_SIGNALED, &one, (void *)&here.a, 8, &two, (void *)&there.a)); wait_for_one(qp);";
    let ran = explored(send, "");
    assert!(ran.code == 1 && ran.out.contains("completion of a SEND that no receive is posted for"), "{}", ran.out);
    let receive = "struct ibv_sge s = { (uintptr_t)&there.a, 8, two.mr->lkey };\n\
         struct ibv_recv_wr *bad, wr = { .sg_list = &s, .num_sge = 1 }; if (ibv_post_recv(other, &wr, &bad)) abort();";
    assert_eq!(explored(send, &format!("{receive} wait_for_one(other);")).code, 0, "a receive is posted");
    let full = "struct ibv_send_wr *bad = NULL; int why = 0;\nfor (int i = 0; i < 17 && !why; i++) { request(&r, IBV_WR_RDMA_WRITE, 0, &one, \
         (void *)&here.a, 8, &two, (void *)&there.a); why = ibv_post_send(qp, &r.wr, &bad); }\nassert(why == 12 && bad == &r.wr);";
    let ran = explored(full, "");
    assert!(ran.code == 0 && ran.out.contains("returns ENOMEM"), "{}{}", ran.out, ran.err);
}

/// A failure has the values that were recorded before it, and a stuck execution has its steps.
fn failures_have_values_and_stuck_executions_have_steps() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#include <assert.h>\n#include <mowgli.h>\nstatic volatile int x, y;\n\
        static void *p(void *n) { x = 1; return n; }\n\
        static void *q(void *n) { mowgli_outcome(\"x\", x); STATEMENT return n; }\n\
        int main(void) { mowgli_node(1, p, 0); mowgli_node(1, q, 0); mowgli_join(); }\n";
    let explored = |statement: &str| {
        let source = file(folder.path(), "end.c", &text.replace("STATEMENT", statement));
        json(&with("explore", &compiled(folder.path(), &source, &[]), &["--json"]))
    };
    let failed = explored("assert(!x);");
    let values: Vec<&Value> = failed["failures"].as_array().unwrap().iter().map(|f| &f["values"][0]["value"]).collect();
    assert!(values == [1] || values == [0], "{failed}");
    let stuck = explored("while (!y) {}");
    let call = stuck["stuck"][0][0]["call"].as_str().unwrap();
    assert_eq!(call, "a loop that reads memory that no other thread writes", "{stuck}");
    assert!(stuck["stuckSteps"][0].as_array().is_some_and(|steps| !steps.is_empty()), "{stuck}");
    assert!(stuck["stopped"].is_null(), "{stuck}");
}

fn what_is_no_program_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let plain = Path::new(env!("CARGO_BIN_EXE_mowgli-verbs"));
    let ran = with("explore", plain, &[]);
    assert!(ran.code == 2 && ran.err.contains("no program that `mowgli verbs cc` has made"), "{}", ran.err);
    let ran = with("explore", &folder.path().join("missing"), &[]);
    assert!(ran.code == 2 && ran.err.contains("missing"), "{}", ran.err);
    let source = file(folder.path(), "text.c", "int main(void) { return none; }\n");
    let ran = with("explore", Path::new(&source), &[]);
    assert!(ran.code == 2 && ran.err.contains("no program that `mowgli verbs cc` has made"), "{}", ran.err);
    let ran = verbs(&["cc", "-o", &folder.path().join("out").display().to_string(), &source]);
    assert!(ran.code == 2 && ran.err.contains("its own messages say why"), "{}", ran.err);
}

/// Messages by two queue pairs are received in the order in which they come.
fn queue_pairs_share_a_receive_queue() {
    let text = "#include \"node.h\"\n\
        static uint64_t here[2], there[2];\nstatic struct node one, two;\nstatic struct ibv_qp *from[2], *to[2];\n\
        static struct ibv_cq *cq;\nstatic struct ibv_srq *srq;\n\
        static void *client(void *none)\n{\n\tstruct request r;\n\
        \tfor (int i = 0; i < 2; i++) {\n\t\there[i] = (uint64_t)i + 1;\n\
        \t\tpost(from[i], request(&r, IBV_WR_SEND, 0, &one, &here[i], 8, &two, &there));\n\t}\n\treturn none;\n}\n\
        static void *server(void *none)\n{\n\tstruct ibv_wc wc;\n\
        \twhile (ibv_poll_cq(cq, 1, &wc) == 0) {}\n\tmowgli_outcome(\"first\", wc.qp_num == to[1]->qp_num);\n\
        \twhile (ibv_poll_cq(cq, 1, &wc) == 0) {}\n\
        \tmowgli_outcome(\"both\", (int64_t)(10 * there[0] + there[1]));\n\treturn none;\n}\n\
        static void *second(void *none)\n{\n\tstruct ibv_wc wc;\n\twhile (ibv_poll_cq(cq, 1, &wc) == 0) {}\n\treturn none;\n}\n\
        int main(void)\n{\n\
        \tone = node_open(1, here, sizeof here);\n\ttwo = node_open(2, there, sizeof there);\n\
        \tcq = ibv_create_cq(two.device, 8, NULL, NULL, 0);\n\
        \tstruct ibv_srq_init_attr all = { .attr = { .max_wr = 2, .max_sge = 1 } };\n\
        \tsrq = ibv_create_srq(two.pd, &all);\n\
        \tstruct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC };\n\
        \tfor (int i = 0; i < 2; i++) {\n\
        \t\tfrom[i] = queue_pair(&one);\n\t\tto[i] = ibv_create_qp(two.pd, &init);\n\
        \t\tconnect_to(from[i], to[i]);\n\t\tconnect_to(to[i], from[i]);\n\
        \t\tstruct ibv_sge sge = { (uintptr_t)&there[i], 8, two.mr->lkey };\n\
        \t\tstruct ibv_recv_wr *bad, r = { .sg_list = &sge, .num_sge = 1 };\n\
        \t\tif (ibv_post_srq_recv(srq, &r, &bad)) abort();\n\t}\n\
        \tmowgli_node(1, client, NULL);\n\tmowgli_node(2, server, NULL);\n/* more */\tmowgli_join();\n\treturn 0;\n}\n";
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let explored =
        |text: &str| with("explore", &compiled(folder.path(), &file(folder.path(), "srq.c", text), &[]), &["--json"]);
    let found = json(&explored(text));
    let outcome = |first: u64, both: u64| serde_json::json!([{ "name": "first", "value": first }, { "name": "both", "value": both }]);
    assert_eq!(found["outcomes"], serde_json::json!([outcome(0, 12), outcome(1, 21)]), "{found}");
    let ran = explored(&text.replace("/* more */", "\tmowgli_node(2, second, NULL);\n"));
    assert!(ran.code == 3 && ran.out.contains("a receive queue that two threads use is not supported"), "{}", ran.out);
}

/// Compiles an example of rdma-core as it is, and lets its two sides exchange two messages of 16 bytes.
fn public_program(name: &str, more: &str, command: &str) {
    let (folder, core) = (tempfile::tempdir().unwrap(), RDMA_CORE.as_ref().expect("it is downloaded"));
    // rdma-core's build writes this file, which says what the compiler can do.
    file(folder.path(), "config.h", "#define HAVE_STATEMENT_EXPR 1\n#define HAVE_TYPEOF 1\n");
    let examples = core.join("libibverbs/examples");
    let include = |path: &Path| format!("-I{}", path.display());
    let flags = [include(folder.path()), include(core)].map(OsString::from);
    let program = folder.path().join(name);
    let sources = [examples.join(format!("{name}.c")), examples.join("pingpong.c")];
    let toolchain = Toolchain::new(OsStr::new("cc"), OsStr::new("c++")).unwrap();
    toolchain.compile(&sources, &program, &flags).unwrap();
    let side = format!("{} -s 16 -n 2 {more}", program.display());
    let times: &[&str] = if command == "run" { &["--times", "20"] } else { &[] };
    let client = format!("{side} localhost");
    let ran = verbs(&[&[command, "--json", "--node", &side, "--node", &client], times].concat());
    let found = json(&ran);
    assert_eq!(
        (ran.code, &found["failures"], &found["stopped"]),
        (0, &serde_json::json!([]), &Value::Null),
        "{found}{}",
        ran.err
    );
}

fn a_program_in_cpp_is_explored() {
    let folder = tempfile::tempdir().unwrap();
    let program = "#include <atomic>\n#include <memory>\n#include <vector>\n#include <mowgli.h>\nstatic std::atomic<int> flag{0}; static int data;\n\
        static void *f(void *) { auto p = std::make_unique<int>(41); data = *p + 1; flag.store(1, std::memory_order_release); return nullptr; }\n\
        static void *g(void *) { auto p = std::make_unique<int>(7); while (!flag.load(std::memory_order_acquire)) {}\n\
        std::vector<int> v(3, data); mowgli_outcome(\"data\", v[2] + *p); return nullptr; }\n\
        int main() { mowgli_node(1, f, nullptr); mowgli_node(1, g, nullptr); mowgli_join(); }\n";
    let source = file(folder.path(), "flag.cc", program);
    let found = json(&with("explore", &compiled(folder.path(), &source, &[]), &["--json"]));
    assert_eq!(found["outcomes"], serde_json::json!([[{ "name": "data", "value": 49 }]]), "{found}");
}

fn random_runs_show_outcomes_of_the_exploration() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "node.h", include_str!("../examples/node.h"));
    let source = file(folder.path(), "reuse.c", &two_nodes("here.a = 1; PUT here.a = 2; wait_for_one(qp);", ""));
    let program = compiled(folder.path(), &source, &[]);
    let run = |seed: &str, times: &str| json(&with("run", &program, &["--json", "--seed", seed, "--times", times]));
    let seen = run("0", "200");
    let values = |found: &Value| -> BTreeSet<String> {
        found["outcomes"].as_array().unwrap().iter().map(|o| o["values"].to_string()).collect()
    };
    let all = json(&with("explore", &program, &["--json"]));
    let all: BTreeSet<String> = all["outcomes"].as_array().unwrap().iter().map(Value::to_string).collect();
    assert!(values(&seen) == all && all.len() == 2, "{seen}");
    // A seed is one run.
    let first = &seen["outcomes"][1];
    let again = run(&first["seed"].to_string(), "1");
    assert_eq!(values(&again).into_iter().collect::<Vec<_>>(), [first["values"].to_string()]);
}
