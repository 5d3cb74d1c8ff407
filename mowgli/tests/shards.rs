//! Runs that processes share: the merged result is that of one process, whatever happened to the shards.

use std::path::{Path, PathBuf};

use crate::ran::{Ran, file, is_bad, mowgli};

/// Removes the times from printed text.
fn timeless(text: &str) -> String {
    let is_row = |line: &&str| {
        line.trim_end().parse::<f64>().is_err()
            && line.trim_end().rsplit(' ').next().is_some_and(|last| last.parse::<f64>().is_ok())
    };
    let json = |line: &str| {
        let mut object: serde_json::Value = serde_json::from_str(line).ok()?;
        object.as_object_mut()?.remove("seconds");
        Some(object.to_string())
    };
    let without = |line: &str| {
        let verdict =
            line.strip_suffix(" s").and_then(|line| line.rsplit_once(" in ")).map(|(verdict, _)| verdict.to_owned());
        let cut = is_row(&line).then(|| line.trim_end().rsplit_once(' ').map(|(row, _)| row.to_owned())).flatten();
        json(line).or(verdict).or(cut).unwrap_or_else(|| line.to_owned())
    };
    text.lines().map(|line| without(line) + "\n").collect()
}

/// Runs shard `number` of `of` of a command.
fn shard(folder: &Path, command: &[&str], number: usize, of: usize) -> (Ran, PathBuf) {
    let file = folder.join(format!("{number}.shard"));
    let (share, out) = (format!("{number}/{of}"), file.display().to_string());
    (mowgli(&[command, &["--shard", &share, "--out", &out]].concat()), file)
}

/// Runs all shards of a command, and returns their files.
fn shards(folder: &Path, command: &[&str], of: usize) -> Vec<String> {
    let one = |number| {
        let (ran, file) = shard(folder, command, number, of);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{command:?}: {}", ran.err);
        file.display().to_string()
    };
    (1..=of).map(one).collect()
}

fn merge(files: &[String]) -> Ran {
    let files = files.iter().map(String::as_str);
    mowgli(&["merge"].into_iter().chain(files).collect::<Vec<_>>())
}

/// Asserts that the merged shards print what one process prints, and that this contains `said`.
fn is_as_one(command: &[&str], of: usize, said: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (one, all) = (mowgli(command), merge(&shards(folder.path(), command, of)));
    assert!(one.out.contains(said), "{command:?} does not say {said:?} but:\n{}", one.out);
    assert_eq!((timeless(&all.out), all.code), (timeless(&one.out), one.code), "{command:?}");
    assert_eq!(all.err, one.err, "{command:?}");
}

const SMALL: [&str; 6] = ["--threads", "2", "--nodes", "2", "--calls", "1"];

#[test]
#[ignore = "takes a minute"]
fn every_verdict_is_that_of_one_process() {
    is_as_one(&[&["check", "sv"], &SMALL[..]].concat(), 3, "sound");
    is_as_one(&[&["check", "sv", "--json"], &SMALL[..]].concat(), 3, r#""verdict":"sound""#);
    is_as_one(&["check", "bal", "--variant", "no-fence", "--placement", "remote"], 3, "The specifications forbid it");
    is_as_one(&["check", "rbl", "--variant", "waits-for-room", "--json"], 2, r#""progress":"blocks""#);
    is_as_one(&["check", "bal", "--variant", "exact-count", "--json"], 2, r#""progress":"stuck""#);
    is_as_one(&["check", "treiber", "--loops", "0"], 3, "a loop with effects reached the bound on rounds");
    is_as_one(&["through", "sv", "--json"], 3, r#""verdict":"no-wrong-outcome""#);
    is_as_one(&["through", "slock", "--variant", "no-fence", "--json"], 3, r#""verdict":"unsound""#);
}

/// Writes tests to a folder: one of them is wrong.
fn tests(folder: &Path) -> String {
    let test = |name: &str, rows: &str, assertion: &str| {
        let text = format!(
            "RDMA_WAIT {name}\n{{ barrier z = {{P1, P2}}; x@1 = 0; y@2 = 0; }}\n P1@1 | P2@2 ;\n{rows}{assertion}\n"
        );
        file(folder, &format!("{name}.litmus"), &text);
    };
    test("a", " x := 1 | y := 1 ;\n bar(z) | bar(z) ;\n a := x | ;\n", "forall (a=1)");
    test("b", " put(y, x, d) | a := y ;\n bar(z) | bar(z) ;\n", "forbidden (a=0)");
    test("c", " x := 1 | b := y ;\n a := x | ;\n", "allowed (a=1)");
    folder.display().to_string()
}

/// Removes the times of the tests from the output of `litmus`.
fn without_micros(text: &str) -> String {
    let is_time = |line: &&str| line.starts_with("Time ");
    let json = |line: &str| line.split(r#","micros":"#).next().unwrap_or_default().to_owned();
    text.lines().filter(|line| !is_time(line)).map(|line| json(line) + "\n").collect()
}

#[test]
fn litmus_tests_are_shared_too() {
    let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = tests(folder.path());
    for command in
        [vec!["litmus", &path], vec!["litmus", &path, "--json"], vec!["litmus", &path, "--implemented", "bal"]]
    {
        let one = mowgli(&command);
        let files = shards(out.path(), &command, 2);
        let all = merge(&files);
        assert_eq!((without_micros(&all.out), all.code, &all.err), (without_micros(&one.out), one.code, &one.err));
        assert_eq!(one.code, 1, "the second test does not hold: {}", one.out);
        files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
    }
    // A run with a changed test, or with another implementation, is another run.
    let command = ["litmus", &path, "--implemented", "bal"];
    let files = shards(out.path(), &command, 2);
    let (other, of_other) = (["litmus", &path, "--implemented", "bal:no-fence"], tempfile::tempdir().unwrap());
    let mixed = [files[0].clone(), shards(of_other.path(), &other, 2)[1].clone()];
    is_bad(&["merge", &mixed[0], &mixed[1]], &["the file is of `litmus", "bal:no-fence"]);
    let changed = std::fs::read_to_string(folder.path().join("c.litmus")).unwrap().replace("(a=1)", "(a=0)");
    file(folder.path(), "c.litmus", &changed);
    is_bad(&["merge", &files[0], &files[1]], &["of another specification, implementation or test"]);
    is_bad(&[&command[..], &["--shard", "1/2", "--out", &files[0]]].concat(), &["give another one with --out"]);
}

#[test]
#[ignore = "takes a minute"]
fn programs_and_weaker_specifications_are_shared_too() {
    is_as_one(
        &["compare", "--model", "RDMA_TSO", "--model", "RDMA_SC"],
        3,
        "RDMA_TSO has outcomes that RDMA_SC has not",
    );
    is_as_one(
        &["compare", "--model", "RDMA_SC", "--model", "RDMA_SC", "--threads", "1", "--json"],
        2,
        r#""differences":[]"#,
    );
    let reported = |command: &[&str], said: &str| {
        let folder = tempfile::tempdir().unwrap();
        let (one, all) = (mowgli(command), merge(&shards(folder.path(), command, 3)));
        assert!(one.out.contains(said), "{command:?} does not say {said:?} but:\n{}", one.out);
        assert_eq!((&all.out, all.code), (&one.out, one.code), "{command:?}");
    };
    reported(&["generate", "--pivot", "R1", "--procs", "1", "--actions", "6"], "forall (");
    reported(&["generate", "--model", "rdma-tso", "--actions", "2"], "forbidden (");
    reported(&["worth", "bal", "--threads", "2", "--nodes", "2", "--calls", "1"], "the whole catches no-fence");
}

/// Shards of a table have the repairs of one process, and errors in a test are errors of its shard.
#[test]
fn networks_are_shared_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = tests(folder.path());
    let on = ["--network", "rc", "--network", "cxi", "--calls", "1", "--threads", "2"];
    is_as_one(&[&["networks", "sv", "bal", &path, "--repair"], &on[..]].concat(), 3, "repaired for 1");
    is_as_one(&[&["networks", "sv", "--json"], &on[..]].concat(), 2, r#""verdict":"unsound""#);
    file(folder.path(), "wrong.litmus", "RDMA_TSO wrong\n{ x@1 = 1; }\n P1@1 ;\n put(y, x) ;\n");
    let out = folder.path().join("1.shard").display().to_string();
    for _ in 0..2 {
        is_bad(&["networks", &path, "--shard", "1/1", "--out", &out], &["y is not declared"]);
    }
}

#[test]
fn a_folder_of_shards_is_merged() {
    let folder = tempfile::tempdir().unwrap();
    let command = [&["check", "sv"], &SMALL[..]].concat();
    shards(folder.path(), &command, 2);
    let path = folder.path().display().to_string();
    assert_eq!(timeless(&mowgli(&["merge", &path]).out), timeless(&mowgli(&command).out));
}

/// The nodes of the search that take about as long as a state of threads, measured on the libraries at their default
/// bounds.
const STATE: u64 = 15;

/// Returns the work of each shard of a command, in nodes.
fn work(command: &[&str], of: usize) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let count = |text: &str, name: &str| -> u64 {
        let field = format!(r#""{name}":"#);
        let after = text.split(&field).skip(1);
        after.filter_map(|rest| rest.split([',', '}']).next()?.parse::<u64>().ok()).sum()
    };
    let of_file = |file: &String| {
        let text = std::fs::read_to_string(file).unwrap();
        STATE * count(&text, "states") + count(&text, "nodes")
    };
    shards(folder.path(), command, of).iter().map(of_file).collect()
}

/// Asserts that the slowest shard does at most twice the work of the mean.
fn is_even(command: &[&str], of: usize) {
    let all = work(command, of);
    let (most, sum) = (all.iter().max().unwrap(), all.iter().sum::<u64>());
    println!("{command:?} in {of}: at most {:.2} times the mean", (*most * of as u64) as f64 / sum as f64);
    assert!(*most * of as u64 <= 2 * sum && sum > 1000, "{command:?}: {all:?}");
}

#[test]
#[ignore = "takes a minute"]
fn work_is_shared_evenly() {
    is_even(&["check", "sv", "--values", "1", "--total", "3"], 8);
    is_even(&["check", "rbl", "--variant", "fenced", "--calls", "2"], 16);
    is_even(&["check", "kvstore", "--values", "1", "--total", "2"], 16);
}

/// Takes minutes: `cargo test --release -p mowgli --test all shards -- --ignored`.
#[test]
#[ignore = "it takes minutes"]
fn the_default_bounds_are_shared_evenly() {
    is_even(&["check"], 16);
}

/// A shard that was killed continues at any end of its file, and then writes the same file.
#[test]
fn a_shard_goes_on_wherever_it_was_killed() {
    let command = [&["check", "bal", "--variant", "no-fence", "--json"], &SMALL[..]].concat();
    let folder = tempfile::tempdir().unwrap();
    let files = shards(folder.path(), &command, 2);
    let one = timeless(&mowgli(&command).out);
    let whole = std::fs::read(&files[0]).unwrap();
    // Between its lines and within them, within the first and within the last.
    let cuts = (0..whole.len()).step_by(whole.len() / 7).chain([1, whole.len() - 1]);
    for cut in cuts {
        std::fs::write(&files[0], &whole[..cut]).unwrap();
        let missing = merge(&files);
        assert_eq!(missing.code, 3, "cut at {cut}: {}", missing.err);
        assert!(
            missing.out.starts_with("undecided: 1 of 2 shards are missing: 1/2 ("),
            "cut at {cut}: {}",
            missing.out
        );
        let (again, _) = shard(folder.path(), &command, 1, 2);
        assert_eq!(again.code, 0, "cut at {cut}: {}", again.err);
        let merged = merge(&files);
        assert_eq!(timeless(&merged.out), one, "cut at {cut}: {}", merged.err);
    }
    let text = std::fs::read_to_string(&files[0]).unwrap();
    let works = text.lines().filter_map(|line| Some(line.split_once(r#""work":"#)?.1.split_once('}')?.0));
    let works: Vec<&str> = works.collect();
    let twice = works.iter().find(|work| works.iter().filter(|other| other == work).count() > 1);
    assert_eq!((twice, works.is_empty()), (None, false), "nothing is written twice: {text}");
    let before = std::fs::read(&files[0]).unwrap();
    shard(folder.path(), &command, 1, 2);
    assert_eq!(std::fs::read(&files[0]).unwrap(), before, "nothing is left to do");
}

#[test]
fn shards_that_are_missing_are_named_and_others_refused() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let command = [&["check", "sv"], &SMALL[..]].concat();
    let files = shards(folder.path(), &command, 3);
    let missing = merge(&[files[0].clone(), files[2].clone()]);
    assert_eq!((missing.code, missing.out.as_str()), (3, "undecided: 1 of 3 shards are missing: 2/3 (not there)\n"));
    let nothing = merge(&[tempfile::tempdir().unwrap().path().display().to_string()]);
    assert_eq!((nothing.code, nothing.out.as_str()), (3, "undecided: nothing is in any of these files yet\n"));
    is_bad(&["merge", "none.shard"], &["none.shard: there is no such file", "`--out`"]);
    let foreign = shards(other.path(), &[&command[..], &["--values", "1"]].concat(), 3);
    let refused = |files: &[&String], said: &[&str]| {
        is_bad(&["merge"].into_iter().chain(files.iter().map(|f| f.as_str())).collect::<Vec<_>>(), said);
    };
    refused(
        &[&files[0], &foreign[1]],
        &["2.shard: the file is of `check sv", "--values 1`, not `check sv", "of one run only"],
    );
    refused(&[&files[0], &files[0]], &["both are shard 1; leave one out"]);
    let [first, _] = [&files[0], &files[1]].map(|file| std::fs::read_to_string(file).unwrap());
    let with = |name: &str, text: String| file(folder.path(), name, &text);
    let hash = first.split(r#""hash":""#).nth(1).unwrap().split('"').next().unwrap();
    let changed = with("changed", first.replace(hash, "0"));
    refused(&[&files[1], &changed], &["changed: the file is of another specification, implementation or test"]);
    let all = ["1", "2", "3"].map(|n| {
        with(n, std::fs::read_to_string(folder.path().join(format!("{n}.shard"))).unwrap().replace(hash, "0"))
    });
    refused(
        &all.iter().collect::<Vec<_>>(),
        &["the shards cannot be merged here: each file is of another specification"],
    );
    let second = |line: &str| {
        let mut lines: Vec<&str> = first.lines().collect();
        lines[1] = line;
        lines.join("\n") + "\n"
    };
    for (line, why) in [
        ("nonsense", "expected"),
        (r#"{"found":{"part":"sv published 1","seconds":0.1,"found":{"client":7}}}"#, "invalid type"),
        (
            r#"{"found":{"part":"sv published 1","seconds":-1.0,"found":{"client":{"work":{"client":[0,true]},"fails":false}}}}"#,
            "out of range",
        ),
    ] {
        let damaged = with("damaged", second(line));
        refused(
            &[&damaged, &files[1], &files[2]],
            &["this is no line of a shard", "damaged:2:1", why, "delete the file"],
        );
        is_bad(&[&command[..], &["--shard", "1/3", "--out", &damaged]].concat(), &["damaged:2:"]);
    }
    let taken = [&command[..], &["--shard", "2/3", "--out", &files[0]]].concat();
    is_bad(&taken, &["the file is shard 1/3; give another one with --out"]);
}

#[test]
fn a_share_that_there_is_not_is_bad_input() {
    for share in ["0/3", "4/3", "x", "1/0", "1"] {
        is_bad(&["check", "sv", "--shard", share, "--out", "x"], &["is no share; the third of sixteen is 3/16"]);
    }
    is_bad(&["check", "sv", "--shard", "1/2"], &["--out"]);
    is_bad(&["check", "no-such", "--shard", "1/2", "--out", "x"], &["no-such"]);
}
