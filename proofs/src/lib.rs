//! The theorems of the papers as bounded checks: one test file for each, in `tests/`.
//!
//! A file checks the published implementation, compares the concretisation found with the one in the paper's proof, and
//! checks that each broken variant is refuted. The snapshots beside it are for reading: the g found, and one accepted execution with
//! f, g and so'. Each broken variant has the smallest client and the cycle.
//!
//! ```
//! use mowgli_proofs::{bound, checked};
//!
//! let report = checked("bal", "published", &bound(2, 2, 1));
//! assert_eq!(report.verdict(), "sound");
//! ```
//!
//! The same as assertions. A failure shows the counterexample, or the expected and the actual outcomes:
//!
//! ```
//! use mowgli_proofs::{assert_outcomes, assert_sound, assert_unsound, bound};
//!
//! let proved = assert_sound!("bal", "published", bound(2, 2, 1));
//! assert!(!proved.concretisation().is_empty());
//! let refuted = assert_unsound!("bal", "no-fence", bound(2, 2, 1));
//! println!("{}", refuted.explanation());
//! let test = "RDMA_TSO t { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n x := 1 ;\nallowed (z=1)\n";
//! assert_outcomes!(test, ["z=0", "z=1"]);
//! ```
//!
//! In place of a library of the catalogue there may be an [`Entry`] of your own. Without a bound, an assertion uses
//! those of the entry: `assert_sound!(entry(), "published")`.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Display;

use itertools::Itertools;
use mowgli_check::catalogue::Catalogue;
use mowgli_check::check::{CheckOptions, Checked, check, check_client, look_for_mistakes, words};
use mowgli_check::explain::{ProgramWords, concretised, explain, of_test, refutation_end};
use mowgli_check::litmus::parse::{parse, parse_in};
use mowgli_check::litmus::run::{WHY_NONE, solve_in};
use mowgli_check::show::{self, Names};
use mowgli_core::search::problem::Limits;
use mowgli_core::search::refute::Refutation;
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::{Client, are_at_most, strategy};
use mowgli_core::soundness::verdict::Verdict;
use mowgli_core::term::bound::Bound;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::Entry;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};

/// Returns a bound of so many threads, nodes, and calls of each thread. It has one object, three iterations of loops,
/// and the value 1.
#[must_use]
pub fn bound(threads: usize, nodes: u8, calls: usize) -> Bound {
    Bound { threads, nodes, calls, objects: 1, loops: 3, values: vec![1], ..Bound::default() }
}

/// A library to check: one of the catalogue by its name, or an entry of the user.
pub trait Checkable {
    /// Checks a variant.
    ///
    /// # Panics
    /// If the library or variant does not exist, or the entry's name is not that of a library that it specifies.
    #[track_caller]
    fn checked(&self, variant: &str, bound: &Bound) -> Checked;

    /// Returns the bounds within which `mowgli check` checks a variant.
    ///
    /// # Panics
    /// If the library or variant does not exist.
    #[track_caller]
    fn bounds(&self, variant: &str) -> Vec<Bound>;
}

/// A result of a test, of which an error ends the test at its own line.
trait OrPanic<T> {
    /// # Panics
    /// If it is an error, with its message.
    #[track_caller]
    fn or_panic(self) -> T;
}

impl<T, E: Display> OrPanic<T> for Result<T, E> {
    fn or_panic(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => panic!("{error}"),
        }
    }
}

#[track_caller]
fn bounds_of(entry: &Entry, variant: &str) -> Vec<Bound> {
    entry.variant(variant).or_panic().bounds.clone()
}

impl Checkable for &str {
    #[track_caller]
    fn checked(&self, variant: &str, bound: &Bound) -> Checked {
        checked(self, variant, bound)
    }

    #[track_caller]
    fn bounds(&self, variant: &str) -> Vec<Bound> {
        let all = catalogue();
        bounds_of(named(&all, self).or_panic(), variant)
    }
}

impl Checkable for Entry {
    #[track_caller]
    fn checked(&self, variant: &str, bound: &Bound) -> Checked {
        checked_entry(self, variant, bound)
    }

    #[track_caller]
    fn bounds(&self, variant: &str) -> Vec<Bound> {
        bounds_of(self, variant)
    }
}

impl<T: Checkable> Checkable for &T {
    #[track_caller]
    fn checked(&self, variant: &str, bound: &Bound) -> Checked {
        (**self).checked(variant, bound)
    }

    #[track_caller]
    fn bounds(&self, variant: &str) -> Vec<Bound> {
        (**self).bounds(variant)
    }
}

#[track_caller]
fn checked_entry(entry: &Entry, variant: &str, bound: &Bound) -> Checked {
    let variant = entry.variant(variant).or_panic();
    check(entry, variant, bound, &CheckOptions::default()).or_panic()
}

/// Asserts that a variant of an implementation is sound within a bound, or within all those of its entry. Evaluates to
/// the check, or to the last of several.
#[macro_export]
macro_rules! assert_sound {
    ($library:expr, $variant:expr $(,)?) => {
        $crate::expect_within(&$library, $variant, "sound")
    };
    ($library:expr, $variant:expr, $bound:expr $(,)?) => {
        $crate::expect_verdict($crate::Checkable::checked(&$library, $variant, &$bound), "sound")
    };
}

/// Asserts that a variant of an implementation has a wrong outcome within a bound, or within one of those of its entry.
/// Evaluates to the check.
#[macro_export]
macro_rules! assert_unsound {
    ($library:expr, $variant:expr $(,)?) => {
        $crate::expect_within(&$library, $variant, "unsound")
    };
    ($library:expr, $variant:expr, $bound:expr $(,)?) => {
        $crate::expect_verdict($crate::Checkable::checked(&$library, $variant, &$bound), "unsound")
    };
}

/// Asserts that a litmus test has exactly these outcomes, each as the pairs that the command prints, for example `a=0
/// z=1`. A test without any execution that ends has none, and must say so by the line `vacuous`. An entry of your own
/// may come first: the test then has its objects and statements.
#[macro_export]
macro_rules! assert_outcomes {
    ($litmus:expr, $outcomes:expr $(,)?) => {
        $crate::expect_outcomes([], $litmus, &$outcomes)
    };
    ($entry:expr, $litmus:expr, $outcomes:expr $(,)?) => {
        $crate::expect_outcomes([$entry.into()], $litmus, &$outcomes)
    };
}

/// Compares the verdict of a check with the expected one, for [`assert_sound!`] and [`assert_unsound!`].
///
/// # Panics
/// If the verdict is another one. The message has the whole finding.
#[track_caller]
pub fn expect_verdict(checked: Checked, verdict: &str) -> Checked {
    let is_missed = (verdict, checked.verdict()) == ("unsound", "sound");
    let hint = if is_missed { larger(&checked.bound) } else { String::new() };
    assert!(checked.verdict() == verdict, "expected {verdict}: {}{hint}\n\n{}", checked.title(), checked.explanation());
    checked
}

/// Returns the hint for a mistake that a check within a bound has not found.
fn larger(Bound { threads, nodes, calls, values, .. }: &Bound) -> String {
    let values = (1..=values.len() + 1).join(", ");
    format!(
        "\nNo client within this bound shows a mistake. A larger bound may, as Bound {{ values: vec![{values}], \
         ..bound({threads}, {nodes}, {}) }}. Or the specification does not promise what the variant breaks.",
        calls + 1
    )
}

/// Checks a variant within the bounds of its entry, up to the first at which it is not sound. [`assert_sound!`] and
/// [`assert_unsound!`] use it without a bound.
///
/// # Panics
/// If the verdict is another one, with the whole finding, or if there is no bound.
#[track_caller]
pub fn expect_within<C: Checkable>(library: &C, variant: &str, verdict: &str) -> Checked {
    let bounds = library.bounds(variant);
    let Some((last, others)) = bounds.split_last() else { panic!("{variant} has no bounds: give one") };
    for bound in others {
        let checked = library.checked(variant, bound);
        if checked.verdict() != "sound" {
            return expect_verdict(checked, verdict);
        }
    }
    expect_verdict(library.checked(variant, last), verdict)
}

/// Compares the outcomes of a litmus test with the expected ones, for [`assert_outcomes!`].
///
/// # Panics
/// If the test cannot be read or solved, or has other outcomes; the message says which. Also if none of its executions
/// ends and it does not say so.
#[track_caller]
pub fn expect_outcomes(own: impl IntoIterator<Item = Entry>, litmus: &str, expected: &[&str]) {
    let catalogue = Catalogue::with(own).or_panic();
    let test = parse_in(&catalogue, "the test", litmus).or_panic();
    let answer = solve_in(&catalogue, &test, &[], Limits::default());
    assert!(answer.explored.stop.is_none(), "{}: stopped: {:?}", test.name, answer.explored.stop);
    assert!(
        test.is_meant_vacuous() || !answer.is_vacuous(),
        "{} is vacuous: no execution ends: {WHY_NONE}; if that is meant, end the test with the line `vacuous`",
        test.name
    );
    let pairs = |values: &Vec<Val>| -> Vec<String> {
        test.shown.iter().zip(values).map(|((name, _), v)| format!("{name}={v}")).sorted().collect()
    };
    let found: BTreeSet<Vec<String>> = answer.outcomes.keys().map(pairs).collect();
    let wanted: BTreeSet<Vec<String>> =
        expected.iter().map(|o| o.split_whitespace().map(str::to_owned).sorted().collect()).collect();
    let list =
        |outcomes: Vec<&Vec<String>>| outcomes.iter().map(|o| format!("\n  {}", o.join(" "))).collect::<String>();
    assert!(
        found == wanted,
        "{} has other outcomes\nnot expected:{}\nnot found:{}",
        test.name,
        list(found.difference(&wanted).collect()),
        list(wanted.difference(&found).collect())
    );
}

/// Checks a library's implementation, with probes that go through the network to their own node too.
///
/// # Panics
/// If the library or variant does not exist.
#[must_use]
#[track_caller]
pub fn checked(library: &str, variant: &str, bound: &Bound) -> Checked {
    run(library, variant, bound, true)
}

/// Checks like [`checked`], with probes that use the network for other nodes only, as the papers' examples do.
///
/// # Panics
/// If the library or variant does not exist.
#[must_use]
#[track_caller]
pub fn checked_remotely(library: &str, variant: &str, bound: &Bound) -> Checked {
    run(library, variant, bound, false)
}

#[track_caller]
fn run(library: &str, variant: &str, bound: &Bound, loopback: bool) -> Checked {
    let all = catalogue();
    let entry = named(&all, library).or_panic();
    let variant = entry.variant(variant).or_panic();
    check(entry, variant, bound, &CheckOptions { loopback, ..CheckOptions::default() }).or_panic()
}

/// Explains a litmus test's first assertion, with these libraries replaced by their implementations.
///
/// # Panics
/// If the test cannot be read or solved.
#[must_use]
#[track_caller]
pub fn explained(litmus: &str, implemented: &[&str]) -> String {
    let test = parse("the test", litmus).expect("a litmus test");
    let implemented: Vec<String> = implemented.iter().map(ToString::to_string).collect();
    let finding = of_test(Catalogue::builtin(), &test, litmus, &implemented, Limits::default())
        .expect("a finding")
        .remove(0)
        .expect("there is no limit");
    let text = explain(Catalogue::builtin(), finding, Limits::default()).expect("judge and search agree").text();
    without_lines(&text)
}

/// The most lines of an accepted execution that a person reviews, with the test.
const ACCEPTED: usize = 40;

/// The most lines of a counterexample that a person reviews.
const REFUTED: usize = 25;

/// Returns a text of at most so many lines.
#[track_caller]
fn reviewable(text: String, most: usize) -> String {
    let lines = text.lines().count();
    assert!(lines <= most, "{lines} lines are more than the {most} that a person reviews:\n{text}");
    text
}

/// Asserts that a variant of an entry is locally sound for so many random clients within a bound, and that their calls return. A failure
/// shows a smallest client. The bound may be larger than one at which all clients can be enumerated.
#[macro_export]
macro_rules! assert_random_sound {
    ($entry:expr, $variant:expr, $bound:expr, $clients:expr $(,)?) => {
        $crate::expect_random(&$entry, $variant, &$bound, $clients)
    };
}

/// The seed of random clients, if `PROPTEST_RNG_SEED` gives no other.
const SEED: u64 = 41;

/// The most attempts to make a random client smaller, and the most clients below it that are checked for a smallest one.
const SMALLER: u32 = 2_000;

/// Checks random clients, for [`assert_random_sound!`]. The same seed draws the same clients.
///
/// # Panics
/// If a client is not locally sound, or its calls do not return although the specification lets them. The message has a smallest such
/// client, and the command that draws the same ones. Also if the variant does not exist, or too many clients are undecided or not covered by
/// the specification.
#[track_caller]
pub fn expect_random(entry: &Entry, variant: &str, bound: &Bound, clients: u32) {
    let library = entry.library().or_panic();
    let variant = entry.variant(variant).or_panic();
    let is_covered = |(world, client): &(World, Client)| client.is_well_formed(library, world);
    let all = strategy(&*entry.subject, bound).prop_filter("the specification covers the client", is_covered);
    let seed = match Config::default().rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => SEED,
    };
    let config = Config {
        cases: clients,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        max_shrink_iters: SMALLER,
        ..Config::default()
    };
    let options = CheckOptions::default();
    look_for_mistakes(entry, variant, bound, &options).or_panic();
    let ask = |client: &(World, Client)| check_client(entry, variant, bound, &options, client).or_panic();
    let are_vacuous = Cell::new(true);
    let is_sound = |client: (World, Client)| {
        let checked = ask(&client);
        let is_vacuous = matches!(checked.report.verdict, Verdict::Undecided(Stop::Vacuous));
        are_vacuous.set(are_vacuous.get() && (is_vacuous || client.1.is_empty()));
        match &checked.report.verdict {
            _ if checked.has_failed() => Err(TestCaseError::fail(checked.verdict())),
            _ if is_vacuous => Ok(()),
            Verdict::Undecided(Stop::IllDefined(fault)) => Err(TestCaseError::fail(fault.to_string())),
            Verdict::Undecided(stop) => Err(TestCaseError::reject(stop.to_string())),
            _ => Ok(()),
        }
    };
    let what = format!("{} ({}): {clients} random clients from the seed {seed}", entry.name, variant.name);
    match TestRunner::new(config).run(&all, is_sound) {
        Ok(()) if are_vacuous.get() => panic!("{what}: none has a call and an execution that ends"),
        Ok(()) => println!("{what}"),
        Err(TestError::Abort(why)) => panic!("{what}: {why}"),
        Err(TestError::Fail(why, found)) => {
            let smaller = smaller(entry, bound, &found.1);
            let first = smaller.iter().map(ask).find(Checked::has_failed).unwrap_or_else(|| ask(&found));
            panic!(
                "{what}: one is not sound: {why}. The same again: PROPTEST_RNG_SEED={seed} cargo test\n\n{}",
                explanation(&first)
            );
        }
    }
}

/// Returns the clients of fewer calls than this one, the smallest first; not those of a number of calls for which they are too many.
fn smaller(entry: &Entry, bound: &Bound, than: &Client) -> Vec<(World, Client)> {
    let within = |total| entry.clients(&Bound { total: Some(total), ..bound.clone() }, &|| false);
    let few = |total: &usize| {
        let bound = Bound { total: Some(*total), ..bound.clone() };
        are_at_most(&*entry.subject, &bound, SMALLER.into())
    };
    (1..than.len()).take_while(few).last().and_then(|total| within(total).ok()).unwrap_or_default()
}

/// Returns an accepted execution of an implementation for a snapshot. It has the test, an execution in which the first assertion holds, and
/// its witness (LOCO Def. 3.13). See [`mowgli_check::explain::concretised`].
///
/// # Panics
/// If the test cannot be read, or breaks an assumption of a specification, which then promises nothing. Also if it has no such execution with
/// a witness, or the text has more than 40 lines.
#[must_use]
#[track_caller]
pub fn accepted(implemented: &str, litmus: &str) -> String {
    accepted_in(Catalogue::builtin(), implemented, litmus)
}

/// Returns an accepted execution of an implementation of your own, like [`accepted`].
///
/// # Panics
/// As [`accepted`].
#[must_use]
#[track_caller]
pub fn accepted_of(entry: Entry, implemented: &str, litmus: &str) -> String {
    accepted_in(&Catalogue::with([entry]).or_panic(), implemented, litmus)
}

#[track_caller]
fn accepted_in(catalogue: &Catalogue, implemented: &str, litmus: &str) -> String {
    let test = parse_in(catalogue, "the test", litmus).or_panic();
    let answer = solve_in(catalogue, &test, &[], Limits::default());
    assert!(answer.outside.is_empty(), "{} by {implemented}: {}", test.name, answer.outside.join("; "));
    let text = concretised(catalogue, &test, implemented, Limits::default());
    let text = text.unwrap_or_else(|e| panic!("{} by {implemented}: {e}", test.name));
    reviewable(format!("{litmus}\n\n{text}"), ACCEPTED)
}

/// Returns the sentences that forbid the outcome of a counterexample, of the way with the longest cycle.
#[must_use]
pub fn cycle(checked: &Checked) -> Option<String> {
    forbidding(checked, &|_, _| Vec::new())
}

/// Returns the same with more lines about that way.
fn forbidding(checked: &Checked, more: &dyn Fn(&ProgramWords, &Refutation) -> Vec<String>) -> Option<String> {
    let counterexample = checked.counterexample()?;
    let (refutations, _) = counterexample.refutations.so_far();
    let words = words(counterexample);
    // The longest cycle goes through the most calls of the client.
    Some(match refutations.iter().rev().max_by_key(|way| way.edges.len()) {
        Some(way) => way.edges.iter().map(|edge| words.sentence(edge)).chain(more(&words, way)).join("\n"),
        None => words.refutations(&counterexample.refutations).trim().to_owned(),
    })
}

/// Returns a counterexample for a snapshot: the mistake, the client, the outcome, and the cycle that forbids it. The events of
/// the implementation stand between them where the text has room for them.
///
/// # Panics
/// If the check has no counterexample, or the text has more than 25 lines.
#[must_use]
#[track_caller]
pub fn refuted(checked: &Checked) -> String {
    let cycle = |in_short: bool| {
        forbidding(checked, &|words, way| {
            refutation_end(way).into_iter().chain(words.other_order(way, in_short)).collect()
        })
    };
    let (Some(cycle), Some(in_short), Some(client)) = (cycle(false), cycle(true), checked.litmus()) else {
        panic!("no client has a wrong outcome: {}", checked.title());
    };
    let (library, variant, verdict) = (checked.library, checked.variant, checked.verdict());
    let all = catalogue();
    let known = named(&all, library).ok().and_then(|entry| entry.variant(variant).ok());
    let about = known.map_or(String::new(), |known| format!(", {}", known.about));
    let head = format!("{library} ({variant}{about}): {verdict}\n\n{client}\n");
    let events = checked.counterexample().map(|found| show::events(&found.execution, &Names::default()));
    let whole = format!("{head}{}\n\n{cycle}", without_lines(&events.unwrap_or_default()));
    let has_room = |text: &String| text.lines().count() <= REFUTED;
    let found = [whole, format!("{head}{cycle}")].into_iter().find(has_room);
    found.unwrap_or_else(|| reviewable(head + &in_short, REFUTED))
}

/// Returns the concretisation that a check found, for a snapshot. Below the name of the implementation is a line for each method and stamp
/// of the specification: the subevents that stand for it, joined by `or` if executions differ (g of LOCO Def. 3.13).
#[must_use]
pub fn concretisation(checked: &Checked) -> String {
    let title = format!("{} ({}) over {}", checked.library, checked.variant, checked.over);
    let lines = checked.concretisation().join("\n");
    format!("{title}: what stands for each subevent of the specification; `or` if executions differ\n\n{lines}")
}

/// Returns the finding of a check as text for a snapshot.
#[must_use]
pub fn explanation(checked: &Checked) -> String {
    without_lines(&checked.explanation())
}

/// Removes the source lines behind events, because they change whenever the file of a library does.
fn without_lines(text: &str) -> String {
    let without = |line: &str| match line.rsplit_once("]  ") {
        Some((event, place)) if place.contains(".rs:") => format!("{event}]"),
        _ => line.to_owned(),
    };
    text.lines().map(without).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use mowgli_libraries::prelude::*;

    use super::*;

    #[test]
    #[should_panic(expected = "expected sound: bal (no-fence)")]
    fn a_failure_shows_the_counterexample() {
        assert_sound!("bal", "no-fence", bound(2, 2, 1));
    }

    #[test]
    #[should_panic(expected = "as Bound { values: vec![1, 2], ..bound(2, 1, 5) }")]
    fn what_is_missed_may_need_a_larger_bound() {
        let published = mowgli_libraries::x86::ticket::entry();
        assert_sound!(&published, "published");
        assert_unsound!(published, "published");
    }

    const STUCK: &str = "RDMA_TSO t { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x) ;\n poll(2) ;\n poll(2) ;\n";

    #[test]
    #[should_panic(expected = "t is vacuous: no execution ends")]
    fn no_outcomes_at_all_are_not_expected() {
        assert_outcomes!(STUCK, []);
    }

    #[test]
    fn no_outcomes_at_all_can_be_meant() {
        assert_outcomes!(&format!("{STUCK}vacuous\n"), []);
    }

    #[test]
    #[should_panic(expected = "not expected:\n  a=0")]
    fn a_failure_shows_the_outcomes_that_differ() {
        assert_outcomes!("RDMA_TSO t { x@1 = 0; }\n P1@1 ;\n a := x ;\n", ["a=1"]);
    }

    /// A handshake: an acceptance waits for the offer, so a client without one never ends. `enough` is the value that it waits for.
    fn handshake(enough: i64) -> Entry {
        handshake_with(enough, "flag")
    }

    /// The same with a part of this name. The bodies use the part `flag`.
    fn handshake_with(enough: i64, part: &'static str) -> Entry {
        methods! {
            enum Method of HANDSHAKE = "handshake" {
                /// Offers.
                fn offer = Offer(x: Object);
                /// Waits for the offer.
                fn accept = Accept(x: Object);
            }
        }
        fn flag(x: Expr) -> Expr {
            x.part("flag", [])
        }
        fn shapes() -> &'static Shapes {
            shapes! { Method:
                Offer { x } => { for n in (all_nodes()) { aGF(n): writes x at n, 1 } }
                Accept { x } => { aCR: reads x at here, 1 }
            }
        }
        fn spec() -> Spec {
            spec! {
                let rf = reads_from(reads, writes);
                let offered = same_event; rf;
                say offered = "{b} accepts the offer of {a}";
                so = offered;
            }
        }
        let bodies = bodies! { Method:
            Offer { x } => {
                Shared::gf(all_nodes());
                Shared::write(flag(x), 1);
                Shared::bcast(flag(x), Val::NoWid, all_nodes().without(here()))
            }
            Accept { x } => {
                loop { let seen = Shared::read(flag(x)); if (seen == enough) { break } }
            }
        };
        let published = Over::<Method>::terms(bodies).part(part, sv::variable());
        Entry::rdma(Simple::<Method>::new(shapes(), spec), Sv).published(published, &[(2, 2, 1)])
    }

    #[test]
    fn a_call_that_waits_for_another_thread_is_sound() {
        assert_eq!(assert_sound!(handshake(1), "published").verdict(), "sound");
        assert_random_sound!(handshake(1), "published", bound(3, 2, 2), 20);
    }

    /// The offer has come, and the acceptance waits for something else.
    #[test]
    #[should_panic(expected = "expected sound: handshake (published) over sv")]
    fn a_call_that_never_returns_is_not_sound() {
        assert_sound!(handshake(2), "published");
    }

    /// The message has the client, and what its thread waits for.
    #[test]
    fn a_call_that_never_returns_is_shown() {
        let checked = handshake(2).checked("published", &bound(2, 2, 1));
        assert_eq!(checked.verdict(), "blocks");
        let text = explanation(&checked);
        assert!(text.contains("this client never ends") && text.contains("x.accept"), "{text}");
        assert!(text.contains("goes round in a loop for ever: each round reads 1 from x.flag"), "{text}");
    }

    /// Objects of `Simple` have no node, so no client has a call with a `Placed` one.
    #[test]
    #[should_panic(expected = "none has a call and an execution that ends")]
    fn random_clients_without_calls_show_nothing() {
        methods! {
            enum Method of BELL = "bell" {
                /// Rings.
                fn ring = Ring(x: Placed);
            }
        }
        let shapes = shapes! { Method: Ring { x } => { aCW: writes x at here, 1 } };
        let bodies = bodies! { Method: Ring { x } => { Shared::write(x.part("flag", []), 1) } };
        let published = Over::<Method>::terms(bodies).part("flag", sv::variable());
        let entry = Entry::rdma(Simple::<Method>::new(shapes, Spec::default), Sv).published(published, &[(2, 2, 1)]);
        assert_random_sound!(entry, "published", bound(2, 2, 2), 20);
    }

    #[test]
    #[should_panic(expected = "x.flag is not declared")]
    fn random_clients_of_a_body_that_is_not_well_defined_are_not_sound() {
        assert_random_sound!(handshake_with(1, "other"), "published", bound(3, 2, 2), 20);
    }

    #[test]
    #[should_panic(expected = "a bound of 200 calls is too large; give at most 60")]
    fn a_bound_that_no_check_covers_is_refused() {
        assert_sound!(handshake(1), "published", bound(2, 2, 200));
    }

    fn random_failure(entry: &Entry, variant: &str) -> String {
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            assert_random_sound!(entry, variant, bound(3, 3, 3), 20);
        }));
        *found.expect_err("it is not sound").downcast::<String>().expect("a message")
    }

    #[test]
    fn a_random_client_that_never_ends_is_a_smallest_one() {
        let text = random_failure(&handshake(2), "published");
        assert!(text.contains("The same again: PROPTEST_RNG_SEED=") && text.contains("never ends"), "{text}");
        assert!(text.contains(" P1@1    | P2@1     ;\n x.offer | x.accept ;\n\n"), "{text}");
    }

    /// The lock of the second thread is not released, so the specification promises nothing.
    #[test]
    #[should_panic(expected = "the test breaks the assumption of slock")]
    fn a_client_outside_of_the_specification_is_not_accepted() {
        let test = "RDMA_WAIT t { nodes 2; strong lock l at 1; x@1 = 0; }
 P1@2      | P2@1   ;
 acq(l)    | acq(l) ;
 put(x, 1) | a := x ;
 rel(l)    |        ;
allowed (a=1)";
        let _ = accepted("slock", test);
    }
}
