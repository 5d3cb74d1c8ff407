//! Runs the commands that the README and the book show, and compares their output with the text.
//!
//! In a block of `console`, `$ cat FILE` shows a file, and the lines below any other command are its output. `...`
//! stands for omitted lines, or for the rest of a line. A block of `litmus` is a file with the name of the test. `$ sed
//! s/OLD/NEW/ FILE > FILE` makes one file from another.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands that are not run, and why.
const NOT_RUN: [(&str, &str); 5] = [
    ("git clone https://github.com/mowgli-rdma/mowgli", "it needs a network"),
    ("cd mowgli", "all commands of a page are run in one folder"),
    ("cargo install --path mowgli", "what it installs is what is tested"),
    ("cd my-library", "what is in it is looked at by mowgli/tests/new.rs"),
    (
        "cargo test",
        "of the new crate, which proofs/tests/new_crate runs, or of the libraries and theorems, which CI runs",
    ),
];

/// Commands that take too long, and whose output the text does not show. Each gets these arguments too, and may stop
/// early.
const LIMITED: [(&str, &[&str], &str); 7] = [
    ("check", &["--timeout", "1"], "a minute, as the README says"),
    ("check rbl --variant published", &["--timeout", "1"], "proofs/tests/loco_theorem_5_3_rbl.rs has the finding"),
    (
        "check kvstore --variant published",
        &["--timeout", "1"],
        "proofs/tests/loco_x_theorem_i_3_kvstore.rs has the finding",
    ),
    ("through slock", &["--timeout", "1"], "some ten seconds; tests/tests/questions.rs asks the same"),
    ("distinguish rbl rbl-weak", &["--timeout", "1"], "half a minute"),
    ("generate --model rdma-tso --out tso", &["--timeout", "1"], "minutes"),
    ("generate table6", &["--timeout", "1"], "half a minute"),
];

/// Commands that take a second or more: the long layer runs them.
const SLOW: [&str; 16] = [
    "check bal --variant no-fence --placement remote",
    "check bal --variant self-broadcast",
    "check rbl --variant published",
    "check kvstore --variant published",
    "through slock",
    "distinguish rbl rbl-weak",
    "generate --model rdma-tso --out tso",
    "generate table6",
    "networks bal slock --network cxi --network cxi-flushing --through --repair",
    "networks rbl --network rc-relaxed --network falcon-weak --network cxi --repair",
    "repair bal --variant no-fence --threads 2 --nodes 2 --calls 1",
    "spec rdma-wait",
    "compare --model RDMA_WAIT --model RDMA_TSO --threads 1 --calls 4",
    "compare --model RDMA_TSO --model RDMA_SC",
    "report bal:no-fence put.litmus --out page",
    "report bal:no-fence --out page",
];

/// Commands whose answer is not as expected: exit code 1.
const NOT_AS_EXPECTED: [&str; 19] = [
    "litmus --implemented rbl full-ring.litmus",
    "repair sv --network cxi --threads 2 --nodes 2 --calls 1 --first 1",
    "repair rbl --network rc-relaxed --threads 2 --nodes 2 --calls 1 --first 1",
    "repair wanted.litmus",
    "robust polls.litmus",
    "robust mp.litmus",
    "repair branch.litmus",
    "repair log.litmus",
    "repair reused.litmus",
    "repair slock --variant no-fence --threads 2 --nodes 2 --calls 2 --first 1",
    "repair bal --variant no-fence --threads 2 --nodes 2 --calls 1",
    "litmus --implemented msw:guard-backward guard-and-put.litmus",
    "explain --implemented msw:guard-backward guard-and-put.litmus",
    "litmus --implemented rbl ring-to-oneself.litmus",
    "litmus --implemented rbl,sv ring-to-oneself.litmus",
    "litmus --implemented kvstore unseen.litmus",
    "litmus --implemented kvstore,wlock,sv one-thread-a-node.litmus",
    "litmus --implemented kvstore,rbl,wlock,sv unseen.litmus",
    "generate --pivot IR --procs 1 --actions 10",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the pages: the README, those of the book, and the README of the litmus tests.
fn pages() -> Vec<PathBuf> {
    let book = std::fs::read_dir(root().join("docs")).unwrap().map(|e| e.unwrap().path());
    let mut pages: Vec<PathBuf> = book.filter(|p| p.extension().is_some_and(|x| x == "md")).collect();
    pages.sort();
    pages.extend(["README.md", "tests/litmus/papers/README.md", "products/verbs/hardware.md"].map(|p| root().join(p)));
    pages
}

/// A command, and the lines below it in its block.
struct Shown {
    command: String,
    below: Vec<String>,
}

/// Returns the commands of a page, without comments.
fn shown(text: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for block in text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        let first = all.len();
        for line in block.lines() {
            match line.strip_prefix("$ ") {
                Some(command) => {
                    let command = command.split(" #").next().unwrap().trim().to_owned();
                    all.push(Shown { command, below: Vec::new() });
                }
                None => all[first..].last_mut().expect("a command comes first").below.push(line.trim_end().to_owned()),
            }
        }
    }
    for shown in &mut all {
        while shown.below.last().is_some_and(String::is_empty) {
            shown.below.pop();
        }
    }
    all
}

/// True if a line is as the page shows it.
fn is_line(shown: &str, line: &str) -> bool {
    shown == line || shown.strip_suffix("...").is_some_and(|begin| line.starts_with(begin))
}

/// True if lines are as the page shows them: the lines between `...` are there, in this order.
fn is_as_shown(shown: &[String], lines: &[&str]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return lines.is_empty() };
    if first != "..." {
        return lines.split_first().is_some_and(|(line, after)| is_line(first, line) && is_as_shown(rest, after));
    }
    rest.is_empty() || (0..lines.len()).any(|at| is_as_shown(rest, &lines[at..]))
}

#[test]
fn lines_may_be_left_out_where_the_text_says_so() {
    let is = |shown: &str, lines: &str| {
        let shown: Vec<String> = shown.lines().map(str::to_owned).collect();
        is_as_shown(&shown, &lines.lines().collect::<Vec<_>>())
    };
    assert!(is("a\nb", "a\nb") && is("...\nb", "a\nb") && is("a\n...", "a\nb\nc") && is("...\nb\n...", "a\nb\nc"));
    assert!(is("a 1...", "a 123") && is("...\nb\nc\n...\ne", "b\nb\nc\nd\ne"));
    assert!(!is("a", "a\nb") && !is("b", "a\nb") && !is("...\na\nc\n...", "a\nb\nc") && !is("a 1...", "a"));
}

/// Runs a command with these words, and compares its output with the lines below it; returns the difference.
fn run(folder: &Path, words: &str, below: &[String]) -> Result<(), String> {
    let (words, into) = words.split_once(" > ").map_or((words, None), |(words, file)| (words, Some(file)));
    if words == "serve" {
        let served = crate::served::served(&[]);
        let page = crate::ask::ask(&served, "GET", "/", &format!("localhost:{}", served.port), "");
        return if page.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(page) };
    }
    let limited = LIMITED.iter().find(|(command, ..)| *command == words);
    let more = limited.map_or(&[][..], |(_, more, _)| *more);
    let mut command = Command::new(env!("CARGO_BIN_EXE_mowgli"));
    let ran = command.args(words.split(' ')).args(more).current_dir(folder).output().expect("the command runs");
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    // A table of networks shows the networks on which a test fails.
    let fails = NOT_AS_EXPECTED.contains(&words) || words.starts_with("networks ") && printed_has(&ran.stdout, "fails");
    let codes = if limited.is_some() { vec![0, 3] } else { vec![i32::from(fails)] };
    if !codes.contains(&ran.status.code().expect("no signal")) {
        return Err(format!("{words}: {}\n{out}{err}", ran.status));
    }
    if let Some(file) = into {
        let picture = root().join("docs").join(file);
        if file.ends_with(".svg") && std::fs::read_to_string(&picture).ok().as_deref() != Some(&*out) {
            return Err(format!("docs/{file} is not what {words} prints"));
        }
        std::fs::write(folder.join(file), &*out).unwrap();
    }
    if !below.is_empty() {
        assert!(limited.is_none(), "{words} has output that is shown, and is not run to its end");
        let printed = out.into_owned() + &err;
        let mut lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        while lines.last().is_some_and(|l| l.is_empty()) {
            lines.pop();
        }
        if !is_as_shown(below, &lines) {
            return Err(format!("{words} is said to print\n{}\nbut prints\n{printed}", below.join("\n")));
        }
    }
    Ok(())
}

/// True if a command has printed this.
fn printed_has(out: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(out).contains(text)
}

/// Writes the litmus tests of a page to files with their names.
fn save_tests(text: &str, folder: &Path) {
    for test in text.split("```litmus\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        let name = test.split_whitespace().nth(1).expect("a model and a name");
        std::fs::write(folder.join(format!("{name}.litmus")), test).unwrap();
    }
}

/// Does the work of `sed s/OLD/NEW/ FILE > FILE`, given the words after `sed`. It is an error if the file stays as it
/// is.
fn replace(folder: &Path, words: &str) -> Result<(), String> {
    let [change, from, ">", to] = words.split(' ').collect::<Vec<_>>()[..] else { return Err(format!("sed {words}")) };
    let ["s", old, new, ""] = change.split('/').collect::<Vec<_>>()[..] else { return Err(format!("sed {words}")) };
    let text = std::fs::read_to_string(folder.join(from)).map_err(|e| format!("{from}: {e}"))?;
    let lines: Vec<String> = text.lines().map(|line| line.replacen(old, new, 1) + "\n").collect();
    std::fs::write(folder.join(to), lines.concat()).unwrap();
    if text.contains(old) { Ok(()) } else { Err(format!("{from} has no {old}")) }
}

/// Returns the arguments of a command line that runs mowgli.
fn words_of(line: &str) -> Option<&str> {
    let ways = ["cargo mowgli ", "mowgli "];
    ways.iter().find_map(|way| line.strip_prefix(way))
}

/// Runs the commands of a page that satisfy `is_run`. They run in a folder of their own, which has the tests of the project as
/// `tests/litmus`.
fn run_all(page: &Path, is_run: &dyn Fn(&str) -> bool) -> Vec<Result<(), String>> {
    let folder = tempfile::tempdir().unwrap();
    for part in ["tests/litmus", "tests/litmus/papers"] {
        std::fs::create_dir_all(folder.path().join(part)).unwrap();
        for file in std::fs::read_dir(root().join(part)).unwrap().map(|e| e.unwrap()) {
            if file.path().is_file() {
                std::fs::copy(file.path(), folder.path().join(part).join(file.file_name())).unwrap();
            }
        }
    }
    let mut all = Vec::new();
    let text = std::fs::read_to_string(page).unwrap();
    save_tests(&text, folder.path());
    for Shown { command, below } in shown(&text) {
        if let Some(file) = command.strip_prefix("cat ") {
            std::fs::write(folder.path().join(file), below.join("\n") + "\n").unwrap();
            continue;
        }
        if let Some(words) = command.strip_prefix("sed ") {
            all.push(replace(folder.path(), words));
            continue;
        }
        for part in command.split(" && ") {
            match words_of(part) {
                Some(words) if !is_run(words) => {}
                Some(words) => all.push(run(folder.path(), words, &below)),
                None => {
                    let is_known = NOT_RUN.iter().any(|(known, _)| *known == part.trim_end_matches(" --workspace"));
                    assert!(is_known, "{}: {part} is not run", page.display());
                }
            }
        }
    }
    if page.ends_with("hardware.md") && folder.path().join("f2").exists() {
        // The page names the program of this test.
        assert!(folder.path().join("f2/f2-2p-0001.litmus").exists());
    }
    all
}

#[test]
fn every_quick_command_of_the_readme_and_the_book_does_what_the_text_says() {
    commands_do_what_the_text_says(&|words| !SLOW.contains(&words));
}

#[test]
#[ignore = "takes a minute"]
fn every_command_of_the_readme_and_the_book_does_what_the_text_says() {
    commands_do_what_the_text_says(&|_| true);
}

fn commands_do_what_the_text_says(is_run: &dyn Fn(&str) -> bool) {
    let all: Vec<Result<(), String>> = pages().iter().flat_map(|page| run_all(page, is_run)).collect();
    let run = all.len();
    let wrong: Vec<String> = all.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(run >= 45, "{run} commands");
}

#[test]
fn every_exception_is_shown_somewhere() {
    let texts: Vec<String> = pages().iter().map(|p| std::fs::read_to_string(p).unwrap()).collect();
    let all: Vec<String> = texts.iter().flat_map(|text| shown(text)).map(|s| s.command).collect();
    let parts: Vec<&str> = all.iter().flat_map(|c| c.split(" && ")).collect();
    let words: Vec<&str> = parts.iter().map(|p| words_of(p).unwrap_or(p)).collect();
    let is_there = |command: &&str| words.iter().any(|w| w == command);
    let exceptions =
        NOT_RUN.iter().map(|(c, _)| *c).chain(LIMITED.iter().map(|(c, ..)| *c)).chain(SLOW).chain(NOT_AS_EXPECTED);
    let stale: Vec<&str> = exceptions.filter(|c| !is_there(c)).collect();
    assert!(stale.is_empty(), "{stale:?}");
}

/// Returns the texts between backticks, outside of blocks.
fn spans(text: &str) -> Vec<String> {
    let outside: Vec<&str> = text.split("```").step_by(2).collect();
    outside.concat().split('`').skip(1).step_by(2).map(|s| s.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn commands_and_options_within_the_text_exist() {
    let help = |of: &[&str]| {
        let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(of).arg("--help").output().expect("the command runs");
        ran.status.success().then(|| String::from_utf8(ran.stdout).expect("text"))
    };
    let main = help(&[]).expect("help");
    let names = crate::ran::command_names(&main);
    let helps: Vec<(&str, String)> = names.iter().map(|n| (*n, help(&[*n]).expect("help"))).collect();
    let has = |text: &str, option: &str| text.split([' ', ',', '\n']).any(|word| word == option);
    let mut found = 0;
    for page in pages() {
        for span in spans(&std::fs::read_to_string(&page).unwrap()) {
            let words: Vec<&str> = span.split(' ').collect();
            let command = words[0] == "mowgli" && words.len() > 1;
            let first = if command { words[1] } else { words[0] };
            // Programs of their own have other commands.
            if command && (first.starts_with("--") || ["NAME", "verbs", "gallery"].contains(&first)) {
                continue;
            }
            let of: Vec<&(&str, String)> = helps.iter().filter(|(name, _)| *name == first).collect();
            assert!(!command || !of.is_empty(), "{}: there is no command {span}", page.display());
            let of = if of.is_empty() { helps.iter().collect() } else { of };
            if !(command || first.starts_with("--")) {
                continue;
            }
            found += 1;
            for option in words.iter().filter(|w| w.starts_with("--")) {
                assert!(of.iter().any(|(_, text)| has(text, option)), "{}: {span}: no {option}", page.display());
            }
        }
    }
    assert!(found > 40, "{found}");
}
