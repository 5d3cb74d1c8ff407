//! The action for GitHub and the hook for pre-commit: their scripts, run with this command on the path.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ran::{Ran, file};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The scripts of the steps of `action.yml`, without their indentation.
fn scripts() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("action.yml")).expect("the action");
    let script = |rest: &str| -> String {
        let lines = rest.lines().take_while(|line| line.is_empty() || line.starts_with("        "));
        lines.map(|line| format!("{}\n", line.trim_start_matches("        "))).collect()
    };
    text.split("      run: |\n").skip(1).map(script).collect()
}

/// Runs a command with `mowgli` on the path and these variables.
fn run(command: &mut Command, variables: &[(&str, &str)]) -> Ran {
    let own = Path::new(env!("CARGO_BIN_EXE_mowgli")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", own.display())).envs(variables.iter().copied());
    let ran = command.output().expect("bash");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ran { code: ran.status.code().expect("no signal"), out: text(ran.stdout), err: text(ran.stderr) }
}

const FAILS: &str = "RDMA_WAIT fails { x@1 = 0; }\n P1@1 ;\n x := 1 ;\nforbidden (x=1)\n";

#[test]
fn the_action_prints_annotations_and_tells_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "fails.litmus", FAILS);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (temporary, output, summary) = (at("."), at("output"), at("summary"));
    let [install, script] = &scripts()[..] else { panic!("two steps") };
    let with = |command: &str, format: &str, report: &str| {
        let variables = [
            ("RUNNER_TEMP", &*temporary),
            ("GITHUB_OUTPUT", &output),
            ("GITHUB_STEP_SUMMARY", &summary),
            ("COMMAND", command),
            ("ARGUMENTS", "fails.litmus\n--loops 2\n"),
            ("FORMAT", format),
            ("OUTPUT", report),
        ];
        run(Command::new("bash").args(["-c", script]).current_dir(&folder), &variables)
    };
    let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let ran = with("litmus", "github", "");
    assert!(ran.code == 1 && ran.out.contains("::error file=fails.litmus,line=4,"), "{}{}", ran.out, ran.err);
    assert_eq!(text("output"), "exit-code=1\n");
    assert_eq!((with("litmus", "markdown", "").out, text("summary").contains("| fails |")), (String::new(), true));
    assert_eq!(with("litmus", "junit", "report.xml").code, 1);
    assert!(text("report.xml").contains("</testsuites>"));
    let ran = with("serve", "github", "");
    assert!(ran.code == 2 && ran.out.starts_with("::error::command is serve"), "{}", ran.out);
    // A command that is there is not installed again.
    let ran = run(Command::new("bash").args(["-c", install]), &[]);
    assert!(ran.code == 0 && ran.out.ends_with("/mowgli\n"), "{}{}", ran.out, ran.err);
}

#[test]
fn the_hook_solves_the_files_that_it_is_given() {
    let hooks = std::fs::read_to_string(root().join(".pre-commit-hooks.yaml")).expect("the hooks");
    let entry = hooks.lines().find_map(|line| line.trim().strip_prefix("entry: ")).expect("an entry");
    let folder = tempfile::tempdir().unwrap();
    let fails = file(folder.path(), "fails.litmus", FAILS);
    let holds = file(folder.path(), "holds.litmus", &FAILS.replace("forbidden", "allowed"));
    let hook = |files: &[&String]| run(Command::new(root().join(entry)).args(files), &[]);
    assert_eq!(hook(&[&holds]).code, 0);
    let ran = hook(&[&holds, &fails]);
    assert!(ran.code == 1 && ran.out.contains("Condition forbidden (x=1)"), "{}{}", ran.out, ran.err);
}
