//! Questions of the page about a test, and their answers: the interface between the page and the solver.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use mowgli_core::search::problem::Limits;
use mowgli_core::value::Val;
use mowgli_rdma::Network;
use serde::{Deserialize, Serialize};

use crate::report::{Drawn, FoundOutcomes, Page, TestRow};
use mowgli_check::catalogue::Catalogue;
use mowgli_check::diagnostic::{Colours, drawn};
use mowgli_check::error::InputError;
use mowgli_check::interrupt::{Deadline, SECOND};
use mowgli_check::litmus::machine;
use mowgli_check::litmus::notation::completions;
use mowgli_check::litmus::parse::{on_network, over, parse_in};
use mowgli_check::litmus::run::decides;
use mowgli_check::litmus::test::Test;
use mowgli_check::litmus::x86;

/// Milliseconds between two reports of outcomes, because a page draws each of them.
const BATCH: f64 = 250.0;

/// The seconds that cancel a question, for each second of its steps.
const CANCEL: f64 = 10.0;

/// The random runs for one question.
const RUNS: u64 = 25;

/// The name of the test in errors.
const NAME: &str = "the test";

/// A question about a test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageQuestion {
    /// The text of the test.
    pub test: String,
    /// The model in place of the one that the test names; empty for its own.
    pub over: String,
    /// The network in place of the one that the model names; empty for its own.
    pub network: String,
    /// The libraries that run by their implementations: `bal:no-fence`, `sv`.
    pub implemented: Vec<String>,
    /// Whether to find the least to insert, too.
    pub repair: bool,
    /// The seed of the first random run, to look for outcomes that decide assertions and for nothing else.
    pub runs: Option<u64>,
    /// A run to play, and nothing else.
    pub play: Option<PlayQuestion>,
    /// A position in the test, in UTF-16 units as browsers count, to list what can be written there and nothing else.
    pub complete: Option<usize>,
    /// The number of an outcome, to draw an execution that has it.
    pub draw: Option<usize>,
}

/// A question about a run that is played by hand.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlayQuestion {
    /// The choices so far.
    pub choices: Vec<usize>,
    /// The values of an outcome to go on to; empty for none.
    pub to: Vec<String>,
}

/// Answers a question in JSON, also in JSON, within the steps of about so many seconds. Ten times as many seconds cancel it. `now`
/// counts milliseconds. While a search runs, `send` gets
/// pages with the outcomes that it has found.
///
/// ```
/// # use mowgli_check::catalogue::Catalogue;
/// let question = r#"{ "test": "RDMA_TSO t { x@1 = 0; }\n P1@1 ;\n x := 1 ;\nallowed (x=1)" }"#;
/// let answer = |question| mowgli_web::question::answered(question, Catalogue::builtin(), None, 1.0, &|| 0.0, &|_| {});
/// assert!(answer(question).contains(r#""holds":true"#));
/// assert!(answer("{}").contains(r#""errors":["error"#));
/// ```
#[must_use]
pub fn answered(
    question: &str,
    catalogue: &Catalogue,
    network: Option<Network>,
    seconds: f64,
    now: &dyn Fn() -> f64,
    send: &dyn Fn(&str),
) -> String {
    let (begin, found) = (now(), RefCell::new(FoundOutcomes::default()));
    let (last, deadline) = (Cell::new(begin), Deadline::default().within((seconds * SECOND as f64) as u64));
    // The search asks often whether the time is up, so what waits is sent soon, though no outcome comes after it.
    let expired = || {
        let time = now();
        if time - last.get() >= BATCH && !found.borrow().outcomes.is_empty() {
            last.set(time);
            send(&Page { found: Some(found.take()), ..Page::default() }.json());
        }
        deadline.expired() || time - begin >= CANCEL * 1000.0 * seconds
    };
    let limits = Limits { expired: &expired, ..Limits::default() };
    let page = match serde_json::from_str::<PageQuestion>(question) {
        Ok(question) => question.answer(catalogue, network, limits, &found),
        Err(error) => Page { errors: vec![format!("the request is not a question: {error}")], ..Page::default() },
    };
    page.json()
}

impl PageQuestion {
    /// Answers the question: a page with the test, or with the error in it. Outcomes are in `found` as soon as they are known.
    fn answer(
        &self,
        catalogue: &Catalogue,
        network: Option<Network>,
        limits: Limits<'_>,
        found: &RefCell<FoundOutcomes>,
    ) -> Page {
        if let Some(units) = self.complete {
            return Page { completions: completions(catalogue, &self.test, self.byte(units)), ..Page::default() };
        }
        self.solved(catalogue, network, limits, found).unwrap_or_else(|error| {
            let is_herd = self.test.trim_start().starts_with("X86");
            let offer = is_herd.then(|| x86::from_herd(NAME, &self.test).ok()).flatten();
            let place = error.place.as_deref().filter(|place| place.file == NAME);
            let place = place.map(|place| (place.line, place.column));
            Page { errors: vec![drawn(&error, Colours::None)], place, offer, ..Page::default() }
        })
    }

    /// Returns the byte of a position in the test.
    fn byte(&self, mut units: usize) -> usize {
        let passed = self.test.chars().take_while(|c| {
            let is_before = units >= c.len_utf16();
            units = units.saturating_sub(c.len_utf16());
            is_before
        });
        passed.map(char::len_utf8).sum()
    }

    fn solved(
        &self,
        catalogue: &Catalogue,
        network: Option<Network>,
        limits: Limits<'_>,
        found: &RefCell<FoundOutcomes>,
    ) -> Result<Page, InputError> {
        let text = if self.over.is_empty() { self.test.clone() } else { over(&self.test, self.over.parse()?) };
        let chosen = if self.network.is_empty() { None } else { Some(Network::named(&self.network)?) };
        let text = chosen.or(network).map_or_else(|| Ok(text.clone()), |network| on_network(NAME, &text, network))?;
        let test = parse_in(catalogue, NAME, &text)?;
        if let Some(seed) = self.runs {
            // One more than the assertions, so that the runs go on when these are decided.
            let open = vec![true; test.assertions.len() + 1];
            let seeds = seed..seed.saturating_add(RUNS);
            let (runs, outcomes) = machine::witness_runs(&test, &open, seeds, limits.expired)?;
            outcomes.into_iter().for_each(reporter(&test, found));
            return Ok(Page { runs: Some(runs), found: Some(found.take()), ..Page::default() });
        }
        if let Some(play) = &self.play {
            return Ok(play.played(&test, limits.expired));
        }
        let report = &mut reporter(&test, found);
        let row = TestRow::new(catalogue, &test, &text, &self.implemented, Drawn::Only(self.draw), limits, report)?;
        let row = if self.repair { row.with_repair(catalogue, &test, &self.implemented, limits) } else { row };
        Ok(Page { tests: vec![row], ..Page::default() })
    }
}

/// Returns a function that adds new outcomes of a test to `found`, with the assertions that they decide.
fn reporter(test: &Test, found: &RefCell<FoundOutcomes>) -> impl FnMut(Vec<Val>) {
    let (mut known, mut open) = (BTreeSet::new(), vec![true; test.assertions.len()]);
    move |values| {
        if known.contains(&values) {
            return;
        }
        let mut found = found.borrow_mut();
        found.names = test.shown.iter().map(|(name, _)| name.clone()).collect();
        found.outcomes.push(test.named(&values).map(|(_, v)| v).collect());
        for (assertion, open) in test.assertions.iter().zip(&mut open).filter(|(_, open)| **open) {
            let holds = decides(assertion, &values);
            found.decided.extend(holds.map(|holds| (assertion.to_string(), holds)));
            *open = holds.is_none();
        }
        known.insert(values);
    }
}

impl PlayQuestion {
    /// Returns the choices that lead to the wanted outcome, if a random run has it.
    fn way(&self, test: &Test, expired: &dyn Fn() -> bool) -> Option<Vec<usize>> {
        let found = || machine::choices_to(test, &self.choices, &self.to, expired).ok().flatten();
        if self.to.is_empty() { None } else { found() }
    }

    /// Plays the run: a page with it, or with the error.
    fn played(&self, test: &Test, expired: &dyn Fn() -> bool) -> Page {
        let way = self.way(test, expired);
        let is_missed = !self.to.is_empty() && way.is_none();
        let choices = way.unwrap_or_else(|| self.choices.clone());
        let missed = is_missed.then(|| "no random run from here had this outcome".to_owned());
        match machine::play(test, &choices, expired) {
            Ok(run) => Page { play: Some(run), errors: missed.into_iter().collect(), ..Page::default() },
            Err(failure) => Page { errors: vec![failure.to_string()], ..Page::default() },
        }
    }
}

#[cfg(test)]
mod tests {
    use itertools::Itertools as _;
    use serde_json::{Value, json};

    use super::*;

    /// Answers a question. Each look at the clock takes a second.
    fn asked(question: &Value) -> (Vec<Value>, Value) {
        let (time, sent) = (Cell::new(0.0), RefCell::new(Vec::new()));
        let now = || time.replace(time.get() + 1000.0);
        let parsed = |page: &str| serde_json::from_str(page).expect("a page");
        let send = |page: &str| sent.borrow_mut().push(parsed(page));
        let answer = answered(&question.to_string(), Catalogue::builtin(), None, 1e9, &now, &send);
        (sent.into_inner(), parsed(&answer))
    }

    const BUFFERED: &str = "X86_TSO sb { x = 0; y = 0; }\n P1 | P2 ;\n x := 1 | y := 1 ;\n a := y | b := x ;\nallowed (a=0 /\\ b=0)\nforbidden (a=2)\n";

    #[test]
    fn outcomes_are_sent_once_each_while_the_search_runs() {
        let (sent, answer) = asked(&json!({ "test": BUFFERED }));
        let found = sent.iter().flat_map(|page| page["found"]["outcomes"].as_array().expect("outcomes")).collect_vec();
        let all = answer["tests"][0]["outcomes"].as_array().expect("outcomes");
        assert!(sent.len() >= 3 && all.len() == 4, "{sent:?}");
        assert!(found.iter().all_unique() && found.iter().all(|values| all.iter().any(|o| o["values"] == **values)));
        let decided = sent.iter().flat_map(|page| page["found"]["decided"].as_array().expect("a list")).collect_vec();
        assert_eq!(decided, [&json!(["allowed (a=0 /\\ b=0)", true])]);
        assert!(sent.iter().all(|page| page["found"]["names"] == json!(["a", "b"])));
    }

    #[test]
    fn random_runs_go_on_for_outcomes_when_assertions_are_decided() {
        let test = "RDMA_TSO t { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n x := 1 ;\nallowed (z=1)\n";
        let (_, page) = asked(&json!({ "test": test, "runs": 0 }));
        assert_eq!((&page["runs"]["runs"], &page["found"]["outcomes"]), (&json!(25), &json!([["0"], ["1"]])));
    }
}
