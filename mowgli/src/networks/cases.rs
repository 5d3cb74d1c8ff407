//! Litmus tests on networks: whether what a test asserts holds, and the cheapest repair where it does not.
//!
//! **Computes**: a [`NetworkCase`] for each network.
//! **Example**: a READ behind a WRITE makes it visible on `rc`. On `cxi` a fence between them does that, for a cost of 2.
//! **Correct because**: the outcomes are those of `litmus --network`, and the repair is that of `repair --network`. The
//! repaired text is parsed and solved once more.
//! **Cost**: a search for each different network, and one for each set of insertions that `repair` tries.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use mowgli_core::rewrite::repair::Limit;
use mowgli_core::search::problem::Limits;
use mowgli_rdma::Network;
use serde::{Deserialize, Serialize};

use super::shown::{CheapestRepair, Shown, StaticText, head, text};
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::interrupt::Deadline;
use crate::litmus::machine::answered;
use crate::litmus::parse::{on_network, parse_in};
use crate::litmus::run::{Answer, TestVerdict, WHY_NONE};
use crate::litmus::stuck;
use crate::litmus::test::Test;
use crate::repair::{Costs, RepairRequest, repair};
use crate::report::{Drawn, RepairRow, TestRow};

/// The verdict on a test on a network.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NetworkCase {
    /// The test.
    pub test: String,
    /// The network.
    #[serde(deserialize_with = "text")]
    pub network: StaticText,
    /// The verdict of `litmus`, or `not defined` where the network lacks a switch or a kind of operations.
    #[serde(deserialize_with = "text")]
    pub verdict: StaticText,
    /// The exit code of `litmus`; 0 where the test is not defined.
    pub code: u8,
    /// The assertions that are false.
    pub fails: Vec<String>,
    /// The limit that was hit, the threads that wait, or the reason why the test is not defined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The cheapest repair if an assertion fails, if it was searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<CheapestRepair>,
    /// The test on a page, if an assertion fails and the page was requested.
    #[serde(skip)]
    pub row: Option<TestRow>,
}

/// A request about a test.
pub struct CaseRequest<'a> {
    /// The libraries that it may name.
    pub catalogue: &'a Catalogue,
    /// The networks.
    pub networks: &'a [Network],
    /// Whether to search for repairs.
    pub repair: bool,
    /// Whether to draw what fails.
    pub rows: bool,
    /// Starts the deadline of a search. Each network has its own, so a verdict does not depend on the networks before it.
    pub deadline: &'a dyn Fn() -> Deadline,
}

impl CaseRequest<'_> {
    /// Runs a search within a new deadline.
    fn limited<T>(&self, search: impl FnOnce(Limits<'_>) -> T) -> T {
        let deadline = (self.deadline)();
        search(Limits { expired: &|| deadline.expired(), ..Limits::default() })
    }
}

/// Decides a test on each network.
///
/// # Errors
/// If the text is a test on none of the networks.
pub fn decide(path: &Path, text: &str, ask: &CaseRequest<'_>) -> Result<Vec<NetworkCase>, InputError> {
    let path = path.display().to_string();
    let mut known: BTreeMap<Network, NetworkCase> = BTreeMap::new();
    let (mut all, mut wrong) = (Vec::new(), None);
    for &network in ask.networks {
        let promises = Network { name: "", ..network };
        let case = match known.entry(promises) {
            Entry::Occupied(case) => case.into_mut(),
            Entry::Vacant(place) => place.insert(match moved(&path, text, network, ask) {
                Ok((test, answer)) => {
                    wrong = wrong.or_else(|| answer.error(&test.0));
                    case(&path, &test, &answer, network, ask)?
                }
                Err(error) => {
                    let case = NetworkCase::undefined(name(text), network, error.to_string());
                    wrong.get_or_insert(error);
                    case
                }
            }),
        };
        all.push(NetworkCase { network: network.name, ..case.clone() });
    }
    let has_no_verdict = |case: &NetworkCase| [UNDEFINED, TestVerdict::IllDefined.text()].contains(&case.verdict);
    match wrong.filter(|_| all.iter().all(has_no_verdict)) {
        Some(error) => Err(error),
        None => Ok(all),
    }
}

/// A test on a network and its text there.
type MovedTest = (Test, String);

/// Parses a test on a network, and solves it.
fn moved(path: &str, text: &str, network: Network, ask: &CaseRequest<'_>) -> Result<(MovedTest, Answer), InputError> {
    let text = on_network(path, text, network)?;
    let test = parse_in(ask.catalogue, path, &text)?;
    let answer = ask.limited(|limits| answered(ask.catalogue, &test, &[], limits));
    Ok(((test, text), answer))
}

/// The verdict where a test is no test on a network.
const UNDEFINED: &str = "not defined";

/// Returns the name of a test, from its text.
fn name(text: &str) -> String {
    text.split_whitespace().nth(1).unwrap_or_default().to_owned()
}

/// Decides a test that was moved to a network.
fn case(
    path: &str,
    (test, text): &MovedTest,
    answer: &Answer,
    network: Network,
    ask: &CaseRequest<'_>,
) -> Result<NetworkCase, InputError> {
    let verdict = answer.verdict(test);
    let fails = if verdict == TestVerdict::Fails { answer.false_assertions(test).collect() } else { Vec::new() };
    let reason = match verdict {
        TestVerdict::Vacuous => Some(WHY_NONE.to_owned()),
        TestVerdict::Stuck => Some(stuck::text(test, answer.kinds())),
        TestVerdict::IllDefined => answer.error(test).map(|error| error.to_string()),
        _ => answer.stop().map(ToString::to_string),
    };
    let undefined = NetworkCase::undefined(test.name.clone(), network, String::new());
    let mut case = NetworkCase { fails, verdict: verdict.text(), code: verdict.code(), reason, ..undefined };
    if !verdict.is_wrong() {
        return Ok(case);
    }
    if ask.rows {
        let draw = Drawn::Only(None);
        case.row = Some(ask.limited(|limits| TestRow::new(ask.catalogue, test, text, &[], draw, limits, &mut |_| {}))?);
    }
    if ask.repair {
        let limit = Limit { repairs: 1, ..Limit::default() };
        let (catalogue, costs) = (ask.catalogue, Costs::default());
        let repaired = ask.limited(|limits| {
            repair(test, text, &RepairRequest { catalogue, costs: &costs, weaken: false, limit, limits })
        });
        case.repair = Some(match repaired {
            Ok(found) => {
                case.row = case.row.map(|row| row.repaired(RepairRow::of_test(&found)));
                match found.repairs.first() {
                    Some(reported) => again(path, reported.cost, &reported.insert, &reported.fixed, ask)?,
                    None => CheapestRepair::not_found(found.code() == 3, head(&found.text())),
                }
            }
            // A test that says `hangs`, for example, has nothing to repair towards.
            Err(error) => CheapestRepair::none(error.message),
        });
    }
    Ok(case)
}

/// Solves a repaired test.
fn again(
    path: &str,
    cost: u64,
    insert: &[String],
    fixed: &str,
    ask: &CaseRequest<'_>,
) -> Result<CheapestRepair, InputError> {
    let test = parse_in(ask.catalogue, path, fixed)?;
    let answer = ask.limited(|limits| answered(ask.catalogue, &test, &[], limits));
    let verdict = answer.verdict(&test);
    let holds = verdict == TestVerdict::Holds;
    let verdict = verdict.text();
    Ok(CheapestRepair {
        cost: holds.then_some(cost),
        insert: insert.to_vec(),
        text: vec![fixed.to_owned()],
        verdict: verdict.to_owned(),
        ..CheapestRepair::default()
    })
}

impl NetworkCase {
    /// The case of a test that is no test on a network, with the reason.
    fn undefined(test: String, network: Network, reason: String) -> Self {
        let (network, verdict, reason) = (network.name, UNDEFINED, Some(reason));
        Self { test, network, verdict, code: 0, fails: Vec::new(), reason, repair: None, row: None }
    }

    /// Returns what a table shows of it.
    #[must_use]
    pub fn shown(&self) -> Shown<'_> {
        let (network, repair) = (self.network, self.repair.as_ref());
        Shown { network, name: &self.test, verdict: self.verdict, proved: None, repair }
    }
}
