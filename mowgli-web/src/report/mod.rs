//! The `report` command: verdicts, outcomes and executions as one page that opens from disk.
//!
//! This module computes everything that is shown, as plain data; the page draws it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use include_dir::{Dir, include_dir};
use itertools::Itertools as _;
use miniz_oxide::deflate::compress_to_vec;
use mowgli_core::execution::Execution;
use mowgli_core::judge::judge;
use mowgli_core::rewrite::repair::Limit;
use mowgli_core::search::problem::{Found, Limits};
use mowgli_core::search::runs::Stop;
use mowgli_core::search::solver::Flow;
use mowgli_core::soundness::verdict::{Counterexample, Verdict};
use mowgli_core::term::implementation::Implementation;
use mowgli_core::value::Val;
use mowgli_libraries::entry::Entry;
use mowgli_rdma::Network;
use mowgli_rdma::presets::PRESETS;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::drawing::Drawing;
use crate::markup::escaped;
use mowgli_check::catalogue::Catalogue;
use mowgli_check::check::Checked;
use mowgli_check::error::InputError;
use mowgli_check::explain::{Decided, Explained, explain, of_snapshot, of_test};
use mowgli_check::interrupt::{Failure, cause};
use mowgli_check::litmus::machine::{PlayedRun, runs_after};
use mowgli_check::litmus::notation::{Notation, WORDS};
use mowgli_check::litmus::print;
use mowgli_check::litmus::run::{
    ReportsValues, TestVerdict, WitnessRuns, idle, replaced, solve_as_found, with_problem,
};
use mowgli_check::litmus::semantics::Semantics;
use mowgli_check::litmus::test::{Assertion, Model, Test, Warning};
use mowgli_check::repair;
use mowgli_check::show::{Names, Scene};

const PAGE: &str = include_str!("page.html");

/// The style and the script of pages, which the book shares.
pub const STYLE: &str = include_str!("page.css");
/// See [`STYLE`].
pub const SCRIPT: &str = include_str!("page.js");
/// The editor of a playground, a script that its page loads as `editor.js`. Without it the page has a plain one.
pub const EDITOR: &str = include_str!("editor/editor.js");

/// Everything on a page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// The data of a page that can ask a server to solve tests; `None` for other pages.
    pub playground: Option<Playground>,
    /// Verdicts by network.
    #[serde(skip_serializing_if = "VerdictTable::is_empty")]
    pub matrix: VerdictTable,
    /// Checks of libraries.
    pub checks: Vec<CheckRow>,
    /// Litmus tests.
    pub tests: Vec<TestRow>,
    /// Findings that were kept.
    pub findings: Vec<FindingRow>,
    /// The errors: one for each thing that could not be shown, with the reason.
    pub errors: Vec<String>,
    /// The line and the column of the first error, if it is in the test.
    pub place: Option<(usize, usize)>,
    /// The texts that can be written at a position of the test, if a question asked for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<Notation>,
    /// Random runs, if a question asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<WitnessRuns>,
    /// Outcomes that a search has found while it still runs, or that random runs have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundOutcomes>,
    /// A run that is played by hand, if a question asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub play: Option<PlayedRun>,
    /// The command that wrote the page; `None` for an answer to a question.
    pub made: Option<Made>,
    /// A converted test, to offer in place of one that could not be parsed.
    pub offer: Option<String>,
    /// The HTML of the links above the page.
    #[serde(skip)]
    pub links: &'static str,
}

/// Outcomes that are possible, perhaps not all.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FoundOutcomes {
    /// The names of the values.
    pub names: Vec<String>,
    /// The values of each outcome that was not reported before.
    pub outcomes: Vec<Vec<String>>,
    /// The assertions that these outcomes decide, and whether they hold.
    pub decided: Vec<(String, bool)>,
}

/// The origin of a page.
#[derive(Clone, Debug, Serialize)]
pub struct Made {
    /// The version of Mowgli.
    version: &'static str,
    /// The command line.
    command: String,
    /// Seconds since 1970: the time at which it was written, or `SOURCE_DATE_EPOCH` if this is set.
    seconds: u64,
}

impl Made {
    /// Returns the origin of a page that this process writes now.
    #[must_use]
    pub fn now() -> Self {
        let args = std::env::args().skip(1).map(|arg| if arg.contains(' ') { format!("'{arg}'") } else { arg });
        let set = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
        let seconds = || SystemTime::UNIX_EPOCH.elapsed().map_or(0, |passed| passed.as_secs());
        Self {
            version: env!("CARGO_PKG_VERSION"),
            command: ["mowgli".to_owned()].into_iter().chain(args).join(" "),
            seconds: set.unwrap_or_else(seconds),
        }
    }
}

/// A table of verdicts by network. A cell opens the check or the test that it is about.
#[derive(Clone, Debug, Default, Serialize)]
pub struct VerdictTable {
    /// The names of libraries and tests.
    pub columns: Vec<String>,
    /// A network in each row, with its cells.
    pub rows: Vec<(String, Vec<MatrixCell>)>,
}

/// A cell of a [`VerdictTable`].
#[derive(Clone, Debug, Default, Serialize)]
pub struct MatrixCell {
    /// The verdict.
    pub text: String,
    /// Whether it is good or bad, if it is one of the two.
    pub is_good: Option<bool>,
    /// The number of the check on the page, if a check shows what is wrong.
    pub check: Option<usize>,
    /// The number of the test on the page, if a test shows what is wrong.
    pub test: Option<usize>,
}

impl VerdictTable {
    fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The choices on a page on which users edit tests.
#[derive(Clone, Debug, Serialize)]
pub struct Playground {
    /// Seconds for each test.
    seconds: u64,
    /// The public address of the playground; links lead there, and not to this page.
    address: Option<String>,
    models: Vec<String>,
    networks: Vec<String>,
    /// The implementations of all libraries, as `--implemented` takes them.
    implementations: Vec<String>,
    examples: Vec<ExampleTest>,
    /// A test with comments, to begin with.
    template: &'static str,
    grammar: &'static str,
    /// The words that an editor colours as keywords.
    keywords: Vec<&'static str>,
}

/// A test of the catalogue of questions, or of a paper.
#[derive(Clone, Debug, Serialize)]
struct ExampleTest {
    group: String,
    name: String,
    /// The short answer to the question of its group; empty if the group is not a question.
    answer: String,
    text: String,
    /// The implementations that it is about; empty for none.
    implemented: &'static str,
}

impl Playground {
    /// Returns the choices, with the implementations of a catalogue and `seconds` for each test. Links lead to `address`, or
    /// to the page itself.
    #[must_use]
    pub fn new(catalogue: &Catalogue, seconds: u64, address: Option<String>) -> Self {
        let models = Model::ALL.iter().map(ToString::to_string).collect();
        let of_papers = PAPERS.files().filter_map(|file| {
            let (name, text) = (file.path().file_stem()?.to_str()?, file.contents_utf8()?);
            let is_test = file.path().extension()? == "litmus";
            is_test.then(|| of_paper(name, text))
        });
        let mut of_papers: Vec<ExampleTest> = of_papers.collect();
        of_papers.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            seconds,
            address,
            models,
            keywords: WORDS.to_vec(),
            networks: PRESETS.iter().map(|(network, _)| network.to_string()).collect(),
            implementations: implementations(catalogue),
            examples: [examples(QUESTIONS), of_barrier().to_vec(), of_papers].concat(),
            template: TEMPLATE,
            grammar: GRAMMAR.split("```").nth(1).and_then(|block| block.strip_prefix("text\n")).unwrap_or_default(),
        }
    }
}

fn of_paper(name: &str, text: &str) -> ExampleTest {
    let (group, name) = ("The papers".to_owned(), name.to_owned());
    ExampleTest { group, name, answer: String::new(), text: text.to_owned(), implemented: "" }
}

/// Returns the counterexample of LOCO Fig. 22, by the barrier without its fence and by the published one.
fn of_barrier() -> [ExampleTest; 2] {
    let text = PAPERS.get_file("loco-fig22-three-node-barrier.litmus").and_then(|file| file.contents_utf8());
    [("barrier-without-its-fence", "bal:no-fence"), ("barrier-with-its-fence", "bal")].map(|(name, implemented)| {
        ExampleTest {
            group: "Why does a barrier need a fence?".to_owned(),
            name: name.to_owned(),
            answer:
                "A put before the barrier may otherwise arrive after it. \"Why\" shows the cycle that forbids this."
                    .to_owned(),
            text: text.unwrap_or_default().to_owned(),
            implemented,
        }
    })
}

fn implementations(catalogue: &Catalogue) -> Vec<String> {
    let of = |entry: &Entry| {
        let name = entry.name.to_string();
        let variants = entry.variants.iter().map(|variant| format!("{name}:{}", variant.name));
        variants.collect::<Vec<_>>()
    };
    catalogue.entries().iter().flat_map(of).collect()
}

const TEMPLATE: &str = include_str!("template.litmus");
const QUESTIONS: &str = include_str!("../../data/book/questions.md");
const GRAMMAR: &str = include_str!("../../data/book/grammar.md");
static PAPERS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/data/papers");

/// Returns the tests of a text, each with the heading above it.
fn examples(text: &str) -> Vec<ExampleTest> {
    let sections = text.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'));
    let of_section = |(question, rest): (&str, &str)| {
        let blocks = rest.split("```litmus\n").skip(1).filter_map(|block| block.split_once("```"));
        let answer = rest.trim_start().split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let example = |(block, _): (&str, &str)| ExampleTest {
            group: question.to_owned(),
            name: block.split_whitespace().nth(1).unwrap_or_default().to_owned(),
            answer: answer.clone(),
            text: block.to_owned(),
            implemented: "",
        };
        blocks.map(example).collect::<Vec<_>>()
    };
    sections.flat_map(of_section).collect()
}

/// The executions of a test to draw, beside those that explain its assertions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drawn {
    /// One for each outcome.
    All,
    /// One for the outcome that has this number, if any.
    Only(Option<usize>),
}

/// One check of a library.
#[derive(Clone, Debug, Serialize)]
pub struct CheckRow {
    library: String,
    variant: String,
    over: String,
    bound: String,
    clients: usize,
    executions: u64,
    stats: String,
    verdict: String,
    progress: String,
    stopped: Option<String>,
    expected: Option<bool>,
    concretisation: Vec<String>,
    seconds: f64,
    /// The findings, the most typical first.
    found: Vec<ShownFinding>,
    /// The least change of the bodies, if it was requested.
    pub repair: Option<RepairRow>,
}

/// A counterexample, or another finding.
#[derive(Clone, Debug, Serialize)]
struct ShownFinding {
    title: &'static str,
    /// The client, with the wrong outcome.
    litmus: Option<String>,
    /// The wrong outcome.
    outcome: Option<String>,
    explanation: String,
    graph: Option<Drawing>,
    /// Whether threads of several nodes take part.
    is_typical: bool,
}

/// The repairs of a test or a body.
#[derive(Clone, Debug, Serialize)]
pub struct RepairRow {
    /// The result in one line, or the whole text if there is no repair.
    found: String,
    /// The repairs, cheapest first.
    ways: Vec<WayRow>,
}

#[derive(Clone, Debug, Serialize)]
struct WayRow {
    cost: u64,
    changes: Vec<String>,
    because: Vec<String>,
    /// The text of the repaired test.
    fixed: Option<String>,
}

/// One litmus test.
#[derive(Clone, Debug, Serialize)]
pub struct TestRow {
    name: String,
    model: String,
    description: Option<String>,
    text: String,
    /// The ways in which the test is outside of what a specification covers.
    outside: Vec<String>,
    warnings: Vec<Warning>,
    /// The implementations by which its libraries run.
    implemented: Vec<String>,
    /// Those of them that change nothing in the test.
    idle: Vec<String>,
    verdict: TestVerdict,
    stopped: Option<String>,
    assertions: Vec<AssertionRow>,
    names: Vec<String>,
    outcomes: Vec<OutcomeRow>,
    stuck: Vec<StuckRow>,
    /// Whether executions are stuck although the test asserts nothing about them.
    unspoken: bool,
    /// The assertions of the test about stuck executions, and whether each holds.
    liveness: Vec<(String, Option<bool>)>,
    repair: Option<RepairRow>,
}

/// A kind of executions that are stuck.
#[derive(Clone, Debug, Serialize)]
struct StuckRow {
    values: Vec<String>,
    /// A line for each waiting thread: its statement and the reason.
    waits: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct AssertionRow {
    kind: String,
    condition: String,
    holds: Option<bool>,
    explanation: Option<String>,
    graph: Option<Drawing>,
}

#[derive(Clone, Debug, Serialize)]
struct OutcomeRow {
    values: Vec<String>,
    executions: u64,
    graph: Option<Drawing>,
}

/// One finding that was kept.
#[derive(Clone, Debug, Serialize)]
pub struct FindingRow {
    title: String,
    explanation: String,
    stopped: Option<String>,
    graph: Option<Drawing>,
}

/// Returns the libraries below, and the network if it is not that of the papers.
fn over(checked: &Checked) -> String {
    let elsewhere = checked.network.filter(|network| *network != Network::RC);
    elsewhere.map_or_else(|| checked.over.clone(), |network| format!("{} on {network}", checked.over))
}

impl CheckRow {
    /// Makes the row of a check.
    #[must_use]
    pub fn new(checked: &Checked) -> Self {
        Self {
            library: checked.library.to_owned(),
            variant: checked.variant.to_owned(),
            over: over(checked),
            bound: checked.bound_text(),
            clients: checked.report.clients,
            stats: checked.stats(),
            executions: checked.report.executions,
            verdict: checked.verdict().to_owned(),
            progress: checked.progress().to_owned(),
            stopped: match &checked.report.verdict {
                Verdict::Undecided(stop) if *stop != Stop::Vacuous => Some(stop.to_string()),
                _ => None,
            },
            expected: checked.is_expected(),
            concretisation: checked.concretisation(),
            seconds: checked.time.as_secs_f64(),
            found: Vec::from_iter(ShownFinding::new(checked)),
            repair: None,
        }
    }

    /// True if the check has a counterexample that a repair of the bodies can forbid.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        ["unsound", "not-locally-sound", "no-wrong-outcome"].contains(&self.verdict.as_str())
    }

    /// True if threads of only one node take part in its counterexamples, so that a larger one may be more typical.
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.is_wrong() && self.found.iter().all(|shown| !shown.is_typical)
    }

    /// Adds a counterexample of the same implementation in front, if threads of several nodes take part in it.
    pub fn add_typical(&mut self, checked: &Checked) {
        let Some(typical) = ShownFinding::new(checked).filter(|shown| shown.is_typical) else { return };
        self.found[0].title = "The smallest counterexample";
        self.found.insert(0, ShownFinding { title: "A typical counterexample", ..typical });
    }
}

impl ShownFinding {
    /// Returns the finding of a check; `None` if it found nothing wrong.
    ///
    /// # Panics
    /// If the judge rejects the counterexample, which the search has shown it before.
    fn new(checked: &Checked) -> Option<Self> {
        let scene = |execution: &Execution| {
            let judged = judge(&checked.libraries, execution).expect("the search has asked the judge");
            let (libraries, names) = (&checked.libraries, &Names::default());
            Drawing::new(&checked.title(), &Scene { libraries, execution, judged: &judged, names })
        };
        let found = checked.counterexample();
        let shown = |c: &Counterexample| {
            scene(&c.execution).with_refutations(&checked.libraries, &mowgli_check::check::words(c), &c.refutations)
        };
        let wrong = found.map(shown);
        let stuck = || Some(scene(&checked.stuck()?.2?.execution));
        let explanation = checked.explanation();
        let graph = wrong.or_else(stuck);
        let is_typical = |c: &Counterexample| {
            let own = c.world.tids().zip(&c.client.threads).filter(|(_, calls)| !calls.is_empty());
            own.map(|(t, _)| c.world.node_of(t)).unique().count() > 1
        };
        (graph.is_some() || !explanation.is_empty()).then(|| Self {
            title: "The counterexample",
            litmus: checked.litmus(),
            outcome: found.map(|c| print::conjunction(&print::registers(&c.client, &c.outcome))),
            explanation,
            graph,
            is_typical: found.is_some_and(is_typical),
        })
    }
}

impl RepairRow {
    /// Makes the row for the repairs of a test.
    #[must_use]
    pub fn of_test(found: &repair::TestRepairs) -> Self {
        let way = |reported: &repair::TestRepair| WayRow {
            cost: reported.cost,
            changes: reported.insert.clone(),
            because: reported.because.clone(),
            fixed: Some(reported.fixed.clone()),
        };
        Self::new(&found.text(), found.undecided.as_deref(), found.repairs.iter().map(way).collect())
    }

    /// Makes the row for several repairs of bodies: the text about them, the reason why there may be others, and for each its cost,
    /// insertions and reasons.
    #[must_use]
    pub fn of_bodies<'a>(
        text: &str,
        undecided: Option<&str>,
        repairs: impl Iterator<Item = (u64, &'a [String], &'a [String])>,
    ) -> Self {
        let way = |(cost, changes, because): (u64, &[String], &[String])| WayRow {
            cost,
            changes: changes.to_vec(),
            because: because.to_vec(),
            fixed: None,
        };
        Self::new(text, undecided, repairs.map(way).collect())
    }

    /// Makes the row for one repair of bodies: a line about it, its cost and insertions, and the bodies that they
    /// change. Without a cost the line gives the reason why there is no repair.
    #[must_use]
    pub fn of_one(found: &str, cost: Option<u64>, insert: &[String], bodies: &[String]) -> Self {
        let way = |cost| WayRow { cost, changes: insert.to_vec(), because: bodies.to_vec(), fixed: None };
        Self { found: found.to_owned(), ways: cost.map(way).into_iter().collect() }
    }

    fn new(text: &str, undecided: Option<&str>, ways: Vec<WayRow>) -> Self {
        let all = text.trim_end();
        let head = if ways.is_empty() { all } else { all.lines().next().unwrap_or(all) };
        let open = undecided.filter(|_| !ways.is_empty());
        let found = open.map_or(head.to_owned(), |why| format!("{head}; {}", repair::may_be_more(ways.len(), why)));
        Self { found, ways }
    }
}

/// Draws for each wanted outcome of a test the first execution that has it.
fn graphs(
    catalogue: &Catalogue,
    test: &Test,
    chain: &[Arc<dyn Implementation>],
    wanted: &dyn Fn(&Vec<Val>) -> bool,
    limits: Limits<'_>,
) -> Found<BTreeMap<Vec<Val>, Drawing>> {
    if let Semantics::Own(own) = test.model.semantics() {
        let executions = own.executions(test, limits);
        let (found, stop) = executions.so_far();
        let wanted = found.iter().filter(|(o, _)| wanted(o));
        let drawn = wanted.map(|(o, e)| (o.clone(), Drawing::of_own(test, e))).collect();
        return Found::new(drawn, stop.cloned());
    }
    let (libraries, names) = (catalogue.libraries(test.model), Names::of(test));
    let mut found = BTreeMap::new();
    let explored = with_problem(&libraries, test, chain, limits, |problem| {
        problem.explore(&mut |solver| {
            let outcome = test.values(&problem.outcome_of(solver));
            if wanted(&outcome) && !found.contains_key(&outcome) {
                let snapshot = solver.snapshot();
                if let Some(e) = solver.complete().then(|| solver.execution()).flatten() {
                    let drawn = |judged| {
                        let scene = Scene { libraries: &libraries, execution: &e, judged: &judged, names: &names };
                        Drawing::new(&test.name, &scene).with_statements(&test.texts())
                    };
                    found.extend(judge(&libraries, &e).ok().map(|judged| (outcome, drawn(judged))));
                }
                solver.restore(snapshot);
            }
            Flow::Continue
        })
    });
    Found::new(found, explored.stop.map(cause))
}

/// The reason why an assertion holds or fails, and the graph that shows it.
type ShownReason = Result<(String, Option<Drawing>), Failure>;

/// Explains each assertion of a test.
fn reasons(
    catalogue: &Catalogue,
    test: &Test,
    text: &str,
    implemented: &[String],
    limits: Limits<'_>,
) -> Vec<ShownReason> {
    if let Semantics::Own(own) = test.model.semantics() {
        let executions = own.executions(test, limits);
        let (found, _) = executions.so_far();
        let graph =
            |a: &Assertion| found.iter().find(|(o, _)| a.condition.holds(o)).map(|(_, e)| Drawing::of_own(test, e));
        let reason = |a: &Assertion| Ok((own.explain(test, a, &executions, limits)?, graph(a)));
        return test.assertions.iter().map(reason).collect();
    }
    let reason = |found: Decided| explain(catalogue, found?, limits).map(|e| (e.text(), Some(Drawing::explained(&e))));
    match of_test(catalogue, test, text, implemented, limits) {
        Ok(findings) => findings.into_iter().map(reason).collect(),
        Err(error) => vec![Err(error.into())],
    }
}

impl TestRow {
    /// Solves and explains a test: all outcomes with a witness each, and why its assertions hold or fail. The libraries
    /// in `implemented` run by their implementations. `report` gets outcomes while the search runs.
    ///
    /// # Errors
    /// If an implementation does not exist; the message lists those that do. Also if a statement has no meaning.
    pub fn new(
        catalogue: &Catalogue,
        test: &Test,
        text: &str,
        implemented: &[String],
        drawn: Drawn,
        limits: Limits<'_>,
        report: ReportsValues<'_>,
    ) -> Result<Self, InputError> {
        let chain = replaced(catalogue, test, implemented)?;
        let with_runs = runs_after(limits.expired);
        let mut answer = solve_as_found(catalogue, test, &chain, limits, report);
        if chain.is_empty() {
            answer = with_runs(test, answer);
        }
        if let Some(error) = answer.error(test) {
            return Err(error);
        }
        let only = |k: Option<usize>| answer.outcomes.keys().nth(k?).cloned();
        let found = match drawn {
            Drawn::All => graphs(catalogue, test, &chain, &|_| true, limits),
            Drawn::Only(k) => match only(k) {
                Some(one) => graphs(catalogue, test, &chain, &|outcome| *outcome == one, limits),
                None => Found::new(BTreeMap::new(), None),
            },
        };
        let (graphs, undrawn) = found.so_far();
        let is_complete = answer.explored.stop.is_none();
        let reasons = if is_complete { reasons(catalogue, test, text, implemented, limits) } else { Vec::new() };
        let unexplained = reasons.iter().find_map(|reason| match reason {
            Err(Failure::Undecided(undecided)) => Some(&undecided.stop),
            _ => None,
        });
        let stop = answer.stop().or(undrawn).or(unexplained);
        let stopped = stop.map(ToString::to_string);
        let reasons = reasons.into_iter().map(|reason| reason.unwrap_or_else(|failure| (failure.to_string(), None)));
        let reasons = reasons.map(Some).chain(std::iter::repeat(None));
        let outcomes = answer.outcomes.iter().map(|(values, &executions)| OutcomeRow {
            values: test.named(values).map(|(_, v)| v).collect(),
            executions,
            graph: graphs.get(values).cloned(),
        });
        let assertions = test.assertions.iter().zip(&answer.holds).zip(reasons).map(|((a, &holds), reason)| {
            let (explanation, graph) = reason.unzip();
            let (kind, condition) = (a.quantifier.to_string(), a.text.clone());
            AssertionRow { kind, condition, holds, explanation, graph: graph.flatten() }
        });
        let stuck = answer.kinds().iter().map(|(kind, whys)| StuckRow {
            values: test.named(&kind.shown).map(|(_, v)| v).collect(),
            waits: kind.waits_in_words(test, whys),
        });
        Ok(Self {
            name: test.name.clone(),
            model: test.model.to_string(),
            description: test.description.clone(),
            text: text.to_owned(),
            outside: answer.outside.clone(),
            warnings: test.warnings.clone(),
            implemented: implemented.to_vec(),
            idle: idle(test, &chain, implemented).into_iter().map(str::to_owned).collect(),
            verdict: answer.verdict(test),
            stopped,
            assertions: assertions.collect(),
            names: test.shown.iter().map(|(name, _)| name.clone()).collect(),
            outcomes: outcomes.collect(),
            stuck: stuck.collect(),
            unspoken: answer.is_stuck(test),
            liveness: test.liveness.iter().map(|l| l.text.clone()).zip(answer.liveness.iter().copied()).collect(),
            repair: None,
        })
    }

    /// Adds the repairs, or the reason why there are none: bodies of `implemented` libraries are not repaired here.
    #[must_use]
    pub fn with_repair(self, catalogue: &Catalogue, test: &Test, implemented: &[String], limits: Limits<'_>) -> Self {
        if let [first, ..] = implemented {
            let (library, variant) =
                first.split_once(':').map_or((first.as_str(), ""), |(name, variant)| (name, variant));
            let variant = if variant.is_empty() { String::new() } else { format!(" --variant {variant}") };
            let found = format!(
                "{} runs by its implementation here, and repairs of a test leave bodies as they are: `mowgli repair {library}{variant}` \
                 repairs the body, and without implementations this test is repaired",
                implemented.join(", ")
            );
            return Self { repair: Some(RepairRow { found, ways: Vec::new() }), ..self };
        }
        let costs = &repair::Costs::default();
        let ask = repair::RepairRequest { catalogue, costs, weaken: false, limit: Limit::default(), limits };
        let found = repair::repair(test, &self.text, &ask);
        let row = found.map_or_else(
            |error| RepairRow { found: error.to_string(), ways: Vec::new() },
            |found| RepairRow::of_test(&found),
        );
        Self { repair: Some(row), ..self }
    }

    /// Adds the row for its repairs.
    #[must_use]
    pub fn repaired(self, repair: RepairRow) -> Self {
        Self { repair: Some(repair), ..self }
    }

    /// Returns the verdict on the test.
    #[must_use]
    pub fn verdict(&self) -> TestVerdict {
        self.verdict
    }
}

impl FindingRow {
    /// Makes the row of a finding that was judged and explained.
    #[must_use]
    pub fn new(explained: &Explained) -> Self {
        let title = explained.finding.title.clone();
        let stopped = explained.stop().map(ToString::to_string);
        Self { title, explanation: explained.text(), stopped, graph: Some(Drawing::explained(explained)) }
    }

    /// Makes the row of a reviewed snapshot, with its execution if it describes one.
    ///
    /// # Errors
    /// If the execution cannot be found again.
    pub fn of_snapshot(catalogue: &Catalogue, name: &str, text: &str, limits: Limits<'_>) -> Result<Self, Failure> {
        // insta's head is between two lines of dashes.
        let body = text.splitn(3, "---\n").last().unwrap_or(text);
        let explained = of_snapshot(catalogue, body, limits)?.map(|f| explain(catalogue, f, limits)).transpose()?;
        let graph = explained.as_ref().map(Drawing::explained);
        let is_reported = explained.as_ref().is_none_or(|e| e.events().is_none_or(|events| body.contains(&events)));
        let other = if is_reported { "" } else { "(The picture is of another execution with this outcome.)\n\n" };
        let stopped = explained.as_ref().and_then(|e| e.stop().map(ToString::to_string));
        Ok(Self { title: name.to_owned(), explanation: format!("{other}{body}"), stopped, graph })
    }
}

impl Page {
    /// True if a limit left a check or a finding open. A test has its verdict, which a limit on pictures and reasons does not change.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.checks.iter().any(|row| row.stopped.is_some()) || self.findings.iter().any(|row| row.stopped.is_some())
    }

    /// Returns one JSON object.
    ///
    /// # Panics
    /// Never: what is shown consists of strings and numbers.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers")
    }

    /// Returns the page as HTML, with everything that it needs. Long data is deflated, because many executions are much
    /// alike.
    ///
    /// # Panics
    /// Never: what is shown consists of strings and numbers.
    #[must_use]
    pub fn html(&self) -> String {
        self.written(self.links, if self.playground.is_some() { AnswerSource::Server } else { AnswerSource::None })
    }

    /// Returns the page as HTML for a site, with links to other pages of the site. It answers questions without a server,
    /// because it loads the solver from a script.
    ///
    /// # Panics
    /// Never: what is shown consists of strings and numbers.
    #[must_use]
    pub fn html_in_site(&self, links: &str) -> String {
        self.written(&format!("{links}<script src=\"solver.js\"></script>"), AnswerSource::Solver)
    }

    fn written(&self, solver: &str, answers: AnswerSource) -> String {
        let json = self.json();
        let (kind, data) = match json.len() > LONG {
            true => ("application/octet-stream", packed(json.as_bytes())),
            // Nothing in the data may end the script element that holds it.
            false => ("application/json", json.replace("</", "<\\/")),
        };
        let editor = if self.playground.is_some() { "<script src=\"editor.js\"></script>" } else { "" };
        let page = PAGE
            .replacen("@POLICY@", &policy(answers), 1)
            .replacen("@STYLE@", STYLE, 1)
            .replacen("@SCRIPT@", SCRIPT, 1)
            .replacen("@TITLE@", &escaped(&self.title), 1);
        page.replacen("@KIND@", kind, 1)
            .replacen("@SCRIPTS@", &format!("{solver}{editor}"), 1)
            .replacen("@DATA@", &data, 1)
    }
}

/// The origin of answers to questions about tests.
#[derive(Clone, Copy, Debug)]
enum AnswerSource {
    /// The page has no questions.
    None,
    /// The server that sent the page.
    Server,
    /// The solver as WebAssembly, in a worker.
    Solver,
}

/// Returns the policy of a page. The browser runs only the page's own script and files beside it, and asks only the source
/// of answers.
fn policy(answers: AnswerSource) -> String {
    let own = BASE64_STANDARD.encode(Sha256::digest(SCRIPT));
    let (scripts, asked) = match answers {
        AnswerSource::None => ("", ""),
        AnswerSource::Server => (" 'self'", "; connect-src 'self'"),
        AnswerSource::Solver => (" 'self' 'wasm-unsafe-eval'", "; worker-src blob:"),
    };
    format!(
        "default-src 'none'; script-src 'sha256-{own}'{scripts}{asked}; style-src 'unsafe-inline'; img-src data:; \
         base-uri 'none'; form-action 'none'"
    )
}

/// Returns the script with the solver, the WebAssembly of `mowgli-web`.
#[must_use]
pub fn solver_script(solver: &[u8]) -> String {
    format!("const SOLVER = \"{}\";\n", packed(solver))
}

/// Returns bytes deflated, in letters.
fn packed(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(compress_to_vec(bytes, LEVEL))
}

/// The most bytes of data that a page holds without compression.
const LONG: usize = 1 << 20;

/// The level of compression, from 0 to 10.
const LEVEL: u8 = 6;
