//! Programs in C and C++ that say what random litmus tests say, in as many styles as C has.
//!
//! **Computes**: from a seed a litmus test and a program. Each statement in C is one line. The test has its reads and writes
//! word by word, in the order of the C code. A copy reads all its words upwards, and then writes them upwards.
//!
//! **Invariant**: a statement of the program and the rows of the test that it is have the same number. A value that the
//! program records is a function of the registers of the test.
//!
//! **Example**: `memcpy(&l, &m, 16)` is `r1 := m1[0]` and `r2 := m1[1]`.
//!
//! **Correct because**: the model of the CPU is x86-TSO, where a read that nobody uses changes no outcome.
//!
//! **Cost**: many programs are one compilation, and `main` runs the one that its argument names.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Trial;
use mowgli::litmus::parse::parse;
use mowgli::litmus::run::{Engine, solve_with};
use mowgli_core::search::problem::Limits;
use mowgli_verbs::Toolchain;
use serde_json::Value;

mod generator;

use generator::{Choice, Generator};

use crate::explored::COMPILER;
use crate::needs::{Layer, trial};
use crate::ran::{file, verbs};

/// Lists the tests.
pub fn trials() -> Vec<Trial> {
    vec![
        trial("programs_in_many_styles_have_the_outcomes_of_their_tests", Layer::Quick, COMPILER, || compared(0..300)),
        trial("fresh_programs_in_many_styles_have_the_outcomes_of_their_tests", Layer::Long, COMPILER, fresh),
    ]
}

/// Compares programs with fresh seeds. `MOWGLI_STYLES` is their number, and `MOWGLI_STYLES_SEED` the first seed.
/// `MOWGLI_STYLES_WITHOUT` names styles that no program has.
fn fresh() {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse::<u64>().ok());
    let first = number("MOWGLI_STYLES_SEED").unwrap_or_else(|| fastrand::u64(1_000..1_000_000_000));
    eprintln!("MOWGLI_STYLES_SEED={first}");
    compared(first..first + number("MOWGLI_STYLES").unwrap_or(600));
}

/// The number of programs of one compilation.
const BATCH: u64 = 50;

/// A compilation: the language, and the flags.
#[derive(Clone, Copy)]
struct Dialect {
    is_cpp: bool,
    optimises: bool,
    flags: &'static [&'static str],
}

const DIALECTS: [Dialect; 4] = [
    Dialect { is_cpp: false, optimises: false, flags: &["-std=gnu11", "-w"] },
    Dialect { is_cpp: true, optimises: false, flags: &["-std=gnu++17", "-w"] },
    Dialect { is_cpp: false, optimises: true, flags: &["-std=gnu11", "-O2", "-fno-strict-aliasing", "-w"] },
    Dialect { is_cpp: false, optimises: true, flags: &["-std=gnu11", "-O1", "-fno-strict-aliasing", "-w"] },
];

/// The largest size of a program.
const MOST: f64 = 9.0;

/// The answer of a program, as its test has it.
#[derive(Default, PartialEq, Eq, Debug)]
struct Answer {
    outcomes: BTreeSet<BTreeMap<String, i64>>,
    /// The statement in which each thread waits for ever.
    stuck: BTreeSet<BTreeMap<usize, usize>>,
}

/// The result of a comparison.
#[derive(Debug)]
enum Fate {
    Decided { outcomes: usize, is_stuck: bool },
    Except(String),
    Refused(String),
    Differs(String),
}

/// Compares the programs of these seeds with their tests, and asserts that none differs.
fn compared(seeds: Range<u64>) {
    let toolchain = Toolchain::new(OsStr::new("cc"), OsStr::new("c++")).unwrap();
    let begin = std::time::Instant::now();
    let (next, fates) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    // The dialect depends on the seed alone, so that each program can be made again by itself.
    let batches: Vec<Batch> = (seeds.start / BATCH..seeds.end.div_ceil(BATCH))
        .map(|k| (DIALECTS[(k % 4) as usize], seeds.start.max(k * BATCH)..seeds.end.min((k + 1) * BATCH)))
        .map(|(dialect, seeds)| Batch::new(&toolchain, dialect, seeds))
        .collect();
    let all: Vec<(&Batch, usize)> =
        batches.iter().flat_map(|batch| (0..batch.programs.len()).map(move |k| (batch, k))).collect();
    let compiled = begin.elapsed();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from).min(4) {
            scope.spawn(|| {
                while let Some((batch, k)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let program = &batch.programs[*k];
                    let fate = batch.fate(*k);
                    fates.lock().unwrap().insert(program.seed, (fate, &program.styles));
                }
            });
        }
    });
    let fates = fates.into_inner().unwrap();
    let (mut decided, mut except, mut refused, mut outcomes, mut stuck) = (0, 0, 0, 0, 0);
    let mut whys: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    let mut wrong = String::new();
    for (seed, (fate, styles)) in &fates {
        match fate {
            Fate::Decided { outcomes: own, is_stuck } => {
                (decided, outcomes, stuck) = (decided + 1, outcomes + own, stuck + usize::from(*is_stuck));
            }
            Fate::Except(why) | Fate::Refused(why) => {
                let count = if matches!(fate, Fate::Except(_)) { &mut except } else { &mut refused };
                *count += 1;
                whys.entry(why.clone()).or_default().insert(*seed);
            }
            Fate::Differs(why) => _ = writeln!(wrong, "seed {seed}, {styles:?}:\n{why}\n"),
        }
    }
    let differ = fates.len() - decided - except - refused;
    eprintln!(
        "{} programs: {decided} decided, {except} except, {refused} refused, {differ} differ; {outcomes} outcomes, {stuck} may be stuck; \
         compiled in {:.1} s, all in {:.1} s",
        fates.len(),
        compiled.as_secs_f64(),
        begin.elapsed().as_secs_f64()
    );
    whys.iter()
        .for_each(|(why, seeds)| eprintln!("  {}: {why}: {:?}", seeds.len(), seeds.iter().take(9).collect::<Vec<_>>()));
    assert!(wrong.is_empty(), "{wrong}");
    // A kind of program that is never decided is noticed if it is more than one in twenty.
    assert!(20 * decided >= 19 * fates.len(), "{decided} of {} programs are decided", fates.len());
    // Programs with one outcome each, or none that waits for ever, would show little.
    assert!(outcomes > 2 * decided && 20 * stuck > decided, "{outcomes} outcomes, {stuck} stuck");
}

/// Programs of one compilation.
struct Batch {
    _folder: tempfile::TempDir,
    program: PathBuf,
    programs: Vec<Program>,
    /// The thread and the statement of each line.
    lines: BTreeMap<u64, (usize, usize)>,
}

impl Batch {
    fn new(toolchain: &Toolchain, dialect: Dialect, seeds: Range<u64>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        file(folder.path(), "styles.h", include_str!("styles/styles.h"));
        let programs: Vec<Program> = seeds.enumerate().map(|(k, seed)| Program::new(seed, k, dialect)).collect();
        let (mut text, mut lines) = ("#include \"styles.h\"\n".to_owned(), BTreeMap::new());
        for (k, program) in programs.iter().enumerate() {
            file(folder.path(), &format!("p{k}.h"), &program.header);
            for (line, of) in &program.c {
                let number = 1 + text.matches('\n').count() as u64;
                of.map(|of| lines.insert(number, of));
                text += line;
                text.push('\n');
            }
        }
        text += "int main(int argc, char **argv)\n{\n\tint k = argc > 1 ? atoi(argv[1]) : 0;\n";
        for k in 0..programs.len() {
            let _ = writeln!(text, "\tif (k == {k}) return p{k}_main(argc > 2 ? atoi(argv[2]) : 0);");
        }
        text += "\treturn 2;\n}\n";
        let name = if dialect.is_cpp { "styles.cc" } else { "styles.c" };
        let source = PathBuf::from(file(folder.path(), name, &text));
        let program = folder.path().join("styles");
        let flags: Vec<OsString> = dialect.flags.iter().map(OsString::from).collect();
        toolchain.compile(&[source], &program, &flags).unwrap_or_else(|e| panic!("{e}\n{text}"));
        Self { _folder: folder, program, programs, lines }
    }

    /// Compares a program with its test.
    fn fate(&self, k: usize) -> Fate {
        let program = &self.programs[k];
        let expected = program.expected();
        let path = self.program.display().to_string();
        let of = |node: usize| format!("{path} {k} {node}");
        let ran = if program.is_by_node {
            verbs(&["explore", "--json", "--timeout", "20", "--node", &of(0), "--node", &of(1)])
        } else {
            verbs(&["explore", "--json", "--timeout", "20", &path, "--", &k.to_string()])
        };
        if std::env::var("MOWGLI_STYLES_SHOW")
            .is_ok_and(|text| text.split(',').any(|seed| seed == program.seed.to_string()))
        {
            eprintln!("seed {}, shown\n{}{}{}", program.seed, program.text(), ran.out, ran.err);
        }
        let Ok(found) = serde_json::from_str::<Value>(&ran.out) else { return Fate::Refused(reason(&ran.err)) };
        if !found["failures"].is_array() {
            return Fate::Refused(reason(&ran.out));
        }
        if let Some(why) = found["stopped"].as_str() {
            return Fate::Refused(reason(why));
        }
        let answer = self.answer(&found);
        let differs = |why: String| Fate::Differs(format!("{why}\n{}", program.text()));
        if found["failures"] != serde_json::json!([]) {
            return differs(format!("fails: {}", found["failures"]));
        }
        // An answer that makes an exception may lack outcomes.
        if found["except"].as_object().is_some_and(|except| !except.is_empty()) {
            let is_part = answer.outcomes.is_subset(&expected.outcomes) && answer.stuck.is_subset(&expected.stuck);
            let except = reason(&found["except"].to_string());
            return if is_part { Fate::Except(except) } else { differs(expected.difference(&answer)) };
        }
        if answer != expected {
            return differs(expected.difference(&answer));
        }
        Fate::Decided { outcomes: answer.outcomes.len(), is_stuck: !answer.stuck.is_empty() }
    }

    /// Returns the answer that `explore` prints.
    fn answer(&self, found: &Value) -> Answer {
        let all = |of: &Value| of.as_array().cloned().unwrap_or_default();
        let pair = |v: &Value| Some((v["name"].as_str()?.to_owned(), v["value"].as_i64()?));
        let outcome = |o: &Value| all(o).iter().filter_map(pair).collect();
        // `main` waits, too, if it joins a thread that does.
        let waits = |v: &Value| {
            let line = v["at"]["line"].as_u64().unwrap_or(0);
            self.lines.get(&line).copied().or((line == 0).then_some((0, 1000)))
        };
        let stuck = |s: &Value| all(s).iter().filter_map(waits).collect();
        Answer {
            outcomes: all(&found["outcomes"]).iter().map(outcome).collect(),
            stuck: all(&found["stuck"]).iter().map(stuck).collect(),
        }
    }
}

/// Returns a reason without the place and the numbers, so that equal ones are counted together.
fn reason(text: &str) -> String {
    let message = serde_json::from_str::<Value>(text).ok().and_then(|v| Some(v["message"].as_str()?.to_owned()));
    let text = message.as_deref().unwrap_or(text);
    let text = text.split_once("styles.c").and_then(|(_, rest)| rest.split_once(": ")).map_or(text, |(_, rest)| rest);
    text.trim().chars().filter(|c| !c.is_ascii_digit()).take(160).collect()
}

impl Answer {
    /// Returns the elements that only one of two answers has.
    fn difference(&self, other: &Self) -> String {
        let mut out = String::new();
        self.outcomes.difference(&other.outcomes).for_each(|o| _ = writeln!(out, "only the test: {o:?}"));
        other.outcomes.difference(&self.outcomes).for_each(|o| _ = writeln!(out, "only the program: {o:?}"));
        self.stuck.difference(&other.stuck).for_each(|s| _ = writeln!(out, "stuck only in the test: {s:?}"));
        other.stuck.difference(&self.stuck).for_each(|s| _ = writeln!(out, "stuck only in the program: {s:?}"));
        out
    }
}

/// A random program, and its tests.
struct Program {
    seed: u64,
    /// The lines, each with the thread and the statement that it is.
    c: Vec<(String, Option<(usize, usize)>)>,
    /// Structures and functions, in a header because the line of a statement is the innermost one outside of headers.
    header: String,
    /// The tests, one for each choice. A poll that looks a bounded number of times may find a completion, and either of two texts
    /// may be read first.
    variants: Vec<Variant>,
    /// The values that the program records.
    recorded: Vec<Recorded>,
    styles: BTreeSet<&'static str>,
    /// True if the program is started once per node.
    is_by_node: bool,
    /// The estimated logarithm of the number of states.
    size: f64,
}

struct Variant {
    text: String,
    /// For each choice, whether its first way is taken.
    found: Vec<bool>,
    /// The statement of each row of each thread, and the choice that it is there for.
    rows: Vec<Vec<(usize, Option<Choice>)>>,
}

/// The first line of the rows of a test.
const FIRST_ROW: usize = 4;

type Meaning = Box<dyn Fn(&dyn Fn(&str) -> i64, &[bool]) -> i64 + Send + Sync>;

/// A value that a program records: its name, and what it is.
struct Recorded {
    name: String,
    meaning: Meaning,
}

impl Program {
    /// Returns the first program of a seed that is small enough.
    fn new(seed: u64, k: usize, dialect: Dialect) -> Self {
        let mut all = (0..).map(|round| Generator::new(seed, round, k, dialect).program());
        all.find(|program| program.size < MOST).expect("some program is small")
    }

    /// Returns the first test, and the program.
    fn text(&self) -> String {
        let text: String = self.c.iter().map(|(line, _)| format!("{line}\n")).collect();
        format!("{}\n{}{text}", self.variants[0].text, self.header)
    }

    /// Returns the answer of the tests.
    fn expected(&self) -> Answer {
        let mut answer = Answer::default();
        for Variant { text, found, rows } in &self.variants {
            let test = parse("test", text).unwrap_or_else(|e| panic!("seed {}: {e:?}\n{text}", self.seed));
            let engine = if self.seed.is_multiple_of(4) { Engine::Declarative } else { Engine::Operational };
            let Ok(solved) = solve_with(engine, &test, Limits::default()) else { panic!("seed {}\n{text}", self.seed) };
            assert!(solved.explored.stop.is_none(), "seed {}\n{text}", self.seed);
            for values in solved.outcomes.keys() {
                let value = |name: &str| {
                    let at = test.shown.iter().position(|(shown, _)| shown == name);
                    at.and_then(|at| values[at].int()).unwrap_or(0)
                };
                let named = |r: &Recorded| (r.name.clone(), (r.meaning)(&value, found));
                answer.outcomes.insert(self.recorded.iter().map(named).collect());
            }
            let (kinds, stop) = solved.stuck.so_far();
            assert!(stop.is_none(), "seed {}\n{text}", self.seed);
            for kind in kinds.keys() {
                let at = |thread: usize| {
                    let (line, _) = kind.statement(&test, thread)?;
                    Some((thread, rows[thread][line - FIRST_ROW]))
                };
                let waits: BTreeMap<usize, (usize, Option<Choice>)> = (0..rows.len()).filter_map(at).collect();
                if waits.values().all(|(_, choice)| choice.is_none()) {
                    answer
                        .stuck
                        .insert(waits.into_iter().map(|(thread, (statement, _))| (thread, statement)).collect());
                }
            }
        }
        answer
    }
}
