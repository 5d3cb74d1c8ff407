//! The `check` command: bounded checks of libraries, over any memory model.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use itertools::Itertools;
use mowgli_core::execution::Execution;
use mowgli_core::ids::Name;
use mowgli_core::judge::judge;
use mowgli_core::library::Libraries;
use mowgli_core::search::runs::Stop;
use mowgli_core::search::stuck::Stuck;
use mowgli_core::soundness::client::Client;
use mowgli_core::soundness::client_log::ClientLog;
use mowgli_core::soundness::crashes::Crashing;
use mowgli_core::soundness::progress::Progress;
use mowgli_core::soundness::verdict::{Counterexample, Probes, Question, Report, Verdict, alone, local, outcomes, run};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::{Implementation, add_parts};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::entry::{Entry, Expected, Memory, Variant};
use mowgli_rdma::Network;
use serde::Serialize;

use crate::entry::{self, implements, own_calls};
use crate::error::{Code, InputError};
use crate::explain::{self, Finding, ProgramWords};
use crate::guard::guarded;
use crate::interrupt::{self, Deadline};
use crate::litmus::print;
use crate::litmus::test::Model;
use crate::litmus::why_stuck;
use crate::show::{self, Names, Scene};

/// The result of one check.
pub struct Checked {
    /// The library.
    pub library: &'static str,
    /// The names of the libraries that it is implemented on.
    pub over: String,
    /// The variant.
    pub variant: &'static str,
    /// The verdict that is expected of it.
    pub expected: Expected,
    /// Whether the variant has larger bounds to come. A bug need not show at this one.
    pub is_early: bool,
    /// The bound, lowered to what the library's worlds have.
    pub bound: Bound,
    /// The bound to try next, if an expected bug did not show at this one.
    pub larger: Bound,
    /// The libraries of the implementation's executions.
    pub libraries: Libraries,
    /// The form of the declarations of its objects, and its methods.
    pub own: print::OwnLibrary,
    /// The network of the memory model, if it has one.
    pub network: Option<Network>,
    /// The report of the check.
    pub report: Report,
    /// The time that the check took.
    pub time: Duration,
}

/// A question about an implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckQuestion {
    /// Local soundness; if it fails, also outcomes.
    Soundness,
    /// Local soundness alone.
    Local,
    /// The outcomes of the whole stack, down to the memory model.
    Through,
}

/// Options that are not part of the bound.
#[derive(Clone)]
pub struct CheckOptions<'a> {
    /// The time at which to stop.
    pub deadline: Deadline,
    /// Returns whether to stop before that, for limits that are counts.
    pub stops: &'a (dyn Fn() -> bool + Sync),
    /// Whether probes may reach memory of their own node through the network.
    pub loopback: bool,
    /// The question.
    pub ask: CheckQuestion,
    /// Also check termination: whether calls return wherever the specification lets them (see docs/progress.md).
    pub ends: bool,
    /// The entries among which [`CheckQuestion::Through`] looks up the libraries below: the built-in ones and the user's.
    pub entries: &'a [Entry],
    /// The results about clients that several processes share, and the share of the clients that this one explores.
    pub log: Option<&'a dyn ClientLog>,
    /// Progress callback: `(done, total)` clients.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Default for CheckOptions<'_> {
    /// Returns options without a deadline, a progress callback, a log or entries of libraries below. All probes and
    /// the check of termination are on.
    fn default() -> Self {
        let (deadline, ask) = (Deadline::default(), CheckQuestion::Soundness);
        Self {
            deadline,
            stops: &|| false,
            loopback: true,
            ask,
            ends: true,
            entries: &[],
            log: None,
            progress: &|_, _| {},
        }
    }
}

impl CheckOptions<'_> {
    /// Returns the same options with a deadline at most this number of steps from now.
    #[must_use]
    pub fn within(&self, steps: u64) -> Self {
        Self { deadline: self.deadline.within(steps), ..self.clone() }
    }
}

/// Prints bounds in short form: threads, nodes and calls of each, calls in all, and threads that crash.
#[must_use]
pub fn shapes(bounds: &[Bound]) -> String {
    let shape = |b: &Bound| {
        let total = b.total.map(|total| format!(" of at most {total} in all")).unwrap_or_default();
        let crashes = if b.crashes == 0 { String::new() } else { format!(" with {} crashing", b.crashes) };
        format!("({}, {}, {}){total}{crashes}", b.threads, b.nodes, b.calls)
    };
    bounds.iter().map(shape).join(" or ")
}

/// Prints a bound in one word: threads, nodes and calls of each, then the limit of calls in all, for example `2x2x2/3`.
#[must_use]
pub fn word(bound: &Bound) -> String {
    let total = bound.total.map(|total| format!("/{total}")).unwrap_or_default();
    let crashes = if bound.crashes == 0 { String::new() } else { format!("+{}", bound.crashes) };
    format!("{}x{}x{}{total}{crashes}", bound.threads, bound.nodes, bound.calls)
}

/// Prints a bound as arguments of `check`.
#[must_use]
pub fn arguments(bound: &Bound) -> String {
    let Bound { threads, nodes, calls, objects, total, .. } = bound;
    let mut all = vec![format!("--threads {threads} --nodes {nodes} --calls {calls}")];
    all.extend((*objects > 1).then(|| format!("--objects {objects}")));
    all.extend(total.map(|total| format!("--total {total}")));
    all.join(" ")
}

/// Runs one check.
///
/// # Errors
/// If there is an error in the entry, the variant or the libraries below:
///  - the entry's name is not that of a library that it specifies, or the variant implements another library;
///  - the parts of the entry are over different stamp orders;
///  - the subject makes calls of a library that the specification does not have;
///  - the variant has an edit that changes nothing;
///  - for [`CheckQuestion::Through`], a library below has no entry, or several;
///  - a function of the library panics.
pub fn check(
    entry: &Entry,
    variant: &Variant,
    bound: &Bound,
    options: &CheckOptions<'_>,
) -> Result<Checked, InputError> {
    guarded(entry.name, || checked(entry, variant, bound, options))
}

/// Checks one client, which the bound need not include: is it locally sound, and do its calls return?
///
/// # Errors
/// As [`check`], without those about edits and about the libraries below.
pub fn check_client(
    entry: &Entry,
    variant: &Variant,
    bound: &Bound,
    options: &CheckOptions<'_>,
    client: &(World, Client),
) -> Result<Checked, InputError> {
    guarded(entry.name, || {
        let start = Instant::now();
        let ask = |question: &Question<'_>| (alone(question, client), question.below.clone(), question.in_force());
        let asked = with_question(entry, variant, bound, options, ask)?;
        entry::lost_result(entry, variant, &asked.0)?;
        answer(entry, variant, bound, options, asked, start)
    })
}

/// Looks for mistakes in an entry and a variant, which a check of one client does not.
///
/// # Errors
/// The mistake, and the remedy.
pub fn look_for_mistakes(
    entry: &Entry,
    variant: &Variant,
    bound: &Bound,
    options: &CheckOptions<'_>,
) -> Result<(), InputError> {
    let expired = || options.deadline.expired() || (options.stops)();
    guarded(entry.name, || {
        entry::fault(entry, bound, &expired)?;
        entry::mistake(entry, variant)
    })
}

fn checked(entry: &Entry, variant: &Variant, bound: &Bound, options: &CheckOptions<'_>) -> Result<Checked, InputError> {
    let start = Instant::now();
    let expired = || options.deadline.expired() || (options.stops)();
    look_for_mistakes(entry, variant, bound, options)?;
    let (mut report, below, libraries) = with_question(entry, variant, bound, options, |question| {
        let report = match options.ask {
            _ if bound.crashes > 0 => outcomes(question),
            CheckQuestion::Soundness => run(question),
            CheckQuestion::Local => local(question),
            CheckQuestion::Through => outcomes(question),
        };
        (report, question.below.clone(), question.in_force())
    })?;
    entry::lost_result(entry, variant, &report)?;
    if let Verdict::Undecided(stop) = report.verdict {
        report.verdict = Verdict::Undecided(interrupt::cause(stop));
    }
    let is_over =
        !matches!(&report.verdict, Verdict::Undecided(stop) if !matches!(stop, Stop::Vacuous | Stop::IllDefined(_)));
    if let Some(edit) = idle(entry, variant, &expired).filter(|_| is_over) {
        let message = format!(
            "the variant {} of {} is nothing else than what it is made of: `{edit}` changes no body of a call within the bound",
            variant.name, entry.name
        );
        let help = "say what else is to be changed, or take a larger bound";
        return Err(InputError::new(Code::Library, message).help(help));
    }
    answer(entry, variant, bound, options, (report, below, libraries), start)
}

/// Puts a report together with what it is about.
fn answer(
    entry: &Entry,
    variant: &Variant,
    bound: &Bound,
    options: &CheckOptions<'_>,
    (report, below, libraries): (Report, Libraries, Libraries),
    start: Instant,
) -> Result<Checked, InputError> {
    let over = below.names().map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    Ok(Checked {
        library: entry.name,
        over,
        variant: variant.name,
        expected: variant.expected,
        is_early: variant.bounds.iter().position(|b| b == bound).is_some_and(|i| i + 1 < variant.bounds.len()),
        bound: entry.covered(bound, &|| options.deadline.expired() || (options.stops)()),
        larger: larger(variant, bound),
        libraries,
        own: print::OwnLibrary::of(entry.library()?),
        network: entry.memory.switches.map(|switches| switches.network),
        report,
        time: start.elapsed(),
    })
}

/// Calls `ask` with the question about an implementation.
///
/// # Errors
/// If the entry's name is not that of a library that it specifies, or the variant implements another one. For
/// [`CheckQuestion::Through`] also if a library below has no entry, or several.
pub fn with_question<T>(
    entry: &Entry,
    variant: &Variant,
    bound: &Bound,
    options: &CheckOptions<'_>,
    ask: impl FnOnce(&Question<'_>) -> T,
) -> Result<T, InputError> {
    entry.library()?;
    implements(entry, variant)?;
    let expired = || options.deadline.expired() || (options.stops)();
    let of_memory = (entry.memory.probes)(options.loopback);
    let own = entry.probes.iter().map(|p| &**p);
    let all: Vec<&dyn Probes> = own.chain([&*of_memory]).collect();
    let probes =
        if bound.crashes > 0 && options.ask != CheckQuestion::Through { vec![&NoProbes as &dyn Probes] } else { all };
    let mut chain = vec![variant.implementation.clone()];
    let mut below = entry.below.clone();
    if options.ask == CheckQuestion::Through {
        replace_all(entry, options.entries, &mut chain, &mut below)?;
    }
    let crashing = crashing(entry, bound)?;
    Ok(ask(&Question {
        library: Name::literal(entry.name),
        specification: variant.asked.clone().unwrap_or_else(|| entry.specification.clone()),
        below,
        beside: entry.memory.libraries.clone(),
        chain,
        subject: &*entry.subject,
        probes: &probes,
        bound: bound.clone(),
        asks_progress: options.ends,
        crashing: crashing.cloned(),
        log: options.log,
        expired: &expired,
        progress: options.progress,
    }))
}

/// Returns the bound to try next for a variant: the first of its own bounds that `bound` does not include. If there is
/// none, returns `bound` with one more call.
fn larger(variant: &Variant, bound: &Bound) -> Bound {
    let includes = |own: &Bound| {
        let total = |b: &Bound| b.total.unwrap_or(b.threads * b.calls);
        own.threads <= bound.threads
            && own.nodes <= bound.nodes
            && own.calls <= bound.calls
            && own.objects <= bound.objects
            && total(own) <= total(bound)
    };
    let own = variant.all_bounds().into_iter().find(|own| !includes(own));
    own.unwrap_or_else(|| Bound { calls: bound.calls + 1, total: bound.total.map(|total| total + 1), ..bound.clone() })
}

/// The probes that leave clients as they are.
struct NoProbes;

impl Probes for NoProbes {
    fn stages(&self) -> usize {
        1
    }

    fn extend(&self, world: &World, client: &Client, _: usize) -> Vec<(World, Client)> {
        vec![(world.clone(), client.clone())]
    }
}

/// Returns the model of crashing threads, if the bound allows crashes.
fn crashing<'e>(entry: &'e Entry, bound: &Bound) -> Result<Option<&'e Crashing>, InputError> {
    match &entry.memory.crashing {
        _ if bound.crashes == 0 => Ok(None),
        Some(crashing) => Ok(Some(crashing)),
        None => {
            let message = format!("{}: crashes are of libraries over RDMA_WAIT", entry.name);
            Err(InputError::new(Code::Unsupported, message).help("leave out --crashes"))
        }
    }
}

/// Returns an edit of the variant that changes no body, and no parts within the variant's bounds.
fn idle(entry: &Entry, variant: &Variant, expired: &dyn Fn() -> bool) -> Option<String> {
    let implementation = &*variant.implementation;
    if implementation.idle().is_empty() || variant.bounds.is_empty() {
        return None;
    }
    // If the time is up before the calls are known, the check reports no edit.
    let mut calls = own_calls(entry, &variant.bounds, expired).ok()?;
    calls.iter_mut().for_each(|(world, ..)| add_parts(implementation, world));
    implementation.idle().into_iter().next()
}

/// Replaces the libraries below an entry by their published implementations, until only memory models are left. It
/// first replaces those that no other library left is built on, so that a library shared by several is replaced once.
/// The whole stack is over the stamp order of the entry.
///
/// # Errors
/// If a library below has no entry, or several, or is built on itself.
fn replace_all(
    entry: &Entry,
    entries: &[Entry],
    chain: &mut Vec<Arc<dyn Implementation>>,
    below: &mut Libraries,
) -> Result<(), InputError> {
    loop {
        let left: Vec<&Entry> =
            libraries_of(below, &entry.memory).map(|name| entry_of(name, entry, entries)).collect::<Result<_, _>>()?;
        if left.is_empty() {
            return Ok(());
        }
        let stacks: Vec<Vec<Name>> = left.iter().map(|entry| stack(entry, entries)).collect::<Result<_, _>>()?;
        let is_top = |entry: &&&Entry| !stacks.iter().flatten().contains(&Name::literal(entry.name));
        let top = left.iter().find(is_top).map(|entry| (Name::literal(entry.name), *entry));
        let taken = |name: Name| name == Name::literal(entry.name) || chain.iter().any(|i| i.target() == name);
        let Some((name, next)) = top.filter(|(name, _)| !taken(*name)) else {
            let names = left.iter().map(|entry| entry.name).join(", ");
            let message = format!("below {} there is {names} again: a library cannot be built on itself", entry.name);
            return Err(InputError::new(Code::Library, message));
        };
        let none = || InputError::new(Code::Library, format!("the entry {name} has no implementation"));
        let published = next.variants.first().ok_or_else(none)?;
        chain.push(published.implementation.clone());
        *below = below.clone().without(name).and(&next.below.clone().with_order_of(below));
    }
}

/// Returns the libraries beside the memory model.
fn libraries_of(libraries: &Libraries, memory: &Memory) -> impl Iterator<Item = Name> {
    libraries.names().filter(|name| memory.libraries.get(*name).is_none())
}

/// Returns all libraries that an entry's implementation is built on, through every layer.
fn stack(entry: &Entry, entries: &[Entry]) -> Result<Vec<Name>, InputError> {
    let mut names: Vec<Name> = libraries_of(&entry.below, &entry.memory).collect();
    let mut at = 0;
    while let Some(name) = names.get(at).copied() {
        let next = entry_of(name, entry, entries)?;
        let below = libraries_of(&next.below, &entry.memory).filter(|n| !names.contains(n)).collect_vec();
        names.extend(below);
        at += 1;
    }
    Ok(names)
}

/// Returns the entry of a library below another one.
fn entry_of<'a>(name: Name, above: &Entry, entries: &'a [Entry]) -> Result<&'a Entry, InputError> {
    let found: Vec<&Entry> = entries.iter().filter(|e| Name::literal(e.name) == name).collect();
    match found[..] {
        [next] => Ok(next),
        [] => {
            let message = format!(
                "{name}, below {}, is no memory model and has no entry: without an implementation the stack ends there",
                above.name
            );
            Err(InputError::new(Code::Library, message).help("put its entry into Options::entries"))
        }
        _ => {
            let message = format!("{name}, below {}, has {} entries in Options::entries", above.name, found.len());
            Err(InputError::new(Code::Library, message).help("give each a name of its own"))
        }
    }
}

impl Checked {
    /// Returns the memory model at the bottom of the stack.
    #[must_use]
    pub fn model(&self) -> Model {
        let model = Model::of(&self.libraries);
        self.network.map_or(model, |network| model.on(network).unwrap_or(model))
    }

    /// Returns the verdict in one word. If the only fault is that calls do not return, it is `blocks` or `stuck`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self.report.verdict {
            _ if self.stuck().is_some() && !self.has_violation() => self.progress(),
            Verdict::Sound => "sound",
            Verdict::Unsound(_) => "unsound",
            Verdict::NotLocallySound => "not-locally-sound",
            Verdict::NoWrongOutcome => "no-wrong-outcome",
            Verdict::Undecided(_) => "undecided",
        }
    }

    /// Returns the limit that kept the verdict from being known, if one did.
    #[must_use]
    pub fn stop(&self) -> Option<&Stop> {
        match &self.report.verdict {
            Verdict::Undecided(Stop::Vacuous | Stop::IllDefined(_)) => None,
            Verdict::Undecided(stop) => Some(stop),
            _ => None,
        }
    }

    /// True if the verdict is the expected one; `None` if it is undecided. A bug need not show at a bound before the
    /// last of the variant's own.
    #[must_use]
    pub fn is_expected(&self) -> Option<bool> {
        match (&self.report.verdict, &self.report.progress) {
            (_, Progress::Blocks(..)) if !self.has_violation() => return Some(self.expected == Expected::Blocks),
            (_, Progress::Stuck(..)) if !self.has_violation() => return Some(self.expected == Expected::Stuck),
            // A variant that is expected to block or to be stuck is then undecided.
            (Verdict::Sound, Progress::Undecided(_)) if matches!(self.expected, Expected::Blocks | Expected::Stuck) => {
                return None;
            }
            _ => {}
        }
        match self.report.verdict {
            Verdict::Undecided(_) => None,
            Verdict::Sound | Verdict::NoWrongOutcome if self.is_early => Some(true),
            Verdict::Sound => Some(self.expected == Expected::Sound),
            Verdict::Unsound(_) => Some(self.expected == Expected::Unsound),
            Verdict::NotLocallySound => Some(self.expected == Expected::NotLocallySound),
            Verdict::NoWrongOutcome => Some(self.expected != Expected::Unsound),
        }
    }

    /// Returns the verdict, compared with the expected one. Examples are
    /// `unsound, as expected`, `blocks, as expected`, and `sound (expected unsound)`.
    #[must_use]
    pub fn judgement(&self) -> String {
        let verdict = match (self.stuck(), self.has_violation()) {
            (Some(_), true) => format!("{}, {}", self.verdict(), self.progress()),
            _ => self.verdict().to_owned(),
        };
        let expectation = match self.is_expected() {
            Some(true) if self.has_failed() => ", as expected".to_owned(),
            Some(false) => format!(" (expected {})", self.expected.word()),
            _ => String::new(),
        };
        verdict + &expectation
    }

    /// True if an execution has no g, or a client has a wrong outcome.
    fn has_violation(&self) -> bool {
        self.report.violation.is_some() || self.counterexample().is_some()
    }

    /// True if the result needs no explanation: it is sound, or a bug that is expected.
    #[must_use]
    pub fn is_no_surprise(&self) -> bool {
        self.is_expected() == Some(true) && self.unreached().is_empty()
    }

    /// Returns one word for termination: whether calls return wherever the specification lets them.
    #[must_use]
    pub fn progress(&self) -> &'static str {
        self.report.progress.word()
    }

    /// True if the check found a bug, so that larger bounds are not needed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let stays = matches!(self.report.progress, Progress::Blocks(..) | Progress::Stuck(..));
        stays || self.report.violation.is_some()
    }

    /// Returns the client that does not end, and a stuck execution of it, if one was found.
    #[must_use]
    pub fn stuck(&self) -> Option<(&World, &Client, Option<&Stuck>)> {
        match &self.report.progress {
            Progress::Blocks(world, client, stuck) => Some((world, client, stuck.as_deref())),
            Progress::Stuck(world, client, stuck) => Some((world, client, Some(stuck))),
            Progress::Ends | Progress::Undecided(_) => None,
        }
    }

    /// Returns the command with a larger bound, if the check missed an expected bug; empty otherwise.
    #[must_use]
    pub fn advice(&self) -> String {
        let is_missed = self.is_expected() == Some(false) && !self.has_failed() && self.expected != Expected::Sound;
        if !is_missed {
            return String::new();
        }
        let (library, variant) = (self.library, self.variant);
        format!(
            "{library} ({variant}) is expected to be wrong, and no client within {} shows it: try mowgli check {library} \
             --variant {variant} {}\n",
            self.bound_text(),
            arguments(&self.larger)
        )
    }

    /// Returns the dialect of its clients.
    fn dialect(&self) -> print::Dialect {
        print::Dialect::with(self.model(), self.own)
    }

    /// Prints the client that does not end, and its stuck execution; empty if the check found none.
    fn stuck_text(&self) -> String {
        let Some((world, client, stuck)) = self.stuck() else { return String::new() };
        let said = match self.report.progress {
            Progress::Blocks(..) => "this client never ends, though the specification lets all its calls return",
            _ => "an execution of this client never ends, though it is the beginning of one that the specification has",
        };
        let program = print::client(self.dialect(), "client", world, client, &[]);
        let mut out = format!("{}\n\n{}: {said}.\n\n{program}\n", self.title(), self.progress());
        let Some(stuck) = stuck else {
            return out + "No execution of it was found in which threads go round in loops for ever.\n\n";
        };
        for thread in world.tids() {
            out.push_str(&why_stuck::sentence(&self.libraries, stuck, thread));
            out.push('\n');
        }
        out + &format!("\nwith the events\n{}\n", show::events(&stuck.execution, &Names::default()))
    }

    /// Returns the methods of which nothing was checked; empty if a counterexample ended the check early.
    #[must_use]
    pub fn unreached(&self) -> Vec<String> {
        match self.report.violation {
            Some(_) => Vec::new(),
            None => self.report.unreached.iter().map(ToString::to_string).collect(),
        }
    }

    /// Prints the bound in words.
    #[must_use]
    pub fn bound_text(&self) -> String {
        self.bound_parts().join(", ")
    }

    /// Prints each part of the bound in words.
    #[must_use]
    pub fn bound_parts(&self) -> Vec<String> {
        let Bound { threads, nodes, calls, objects, loops, values, words, sizes, homes, members, total, crashes } =
            &self.bound;
        let mut parts = vec![format!("threads {threads}"), format!("nodes {nodes}"), format!("calls {calls}")];
        parts.extend(total.map(|total| format!("at most {total} in all")));
        parts.extend([format!("objects {objects}"), format!("loops {loops}")]);
        parts.push(format!("values {{{}}}", values.iter().join(", ")));
        if *words > 0 {
            parts.push(format!("words {words}"));
        }
        if !sizes.is_empty() {
            parts.push(format!("sizes {{{}}}", sizes.iter().join(", ")));
        }
        if !homes.is_empty() {
            parts.push(format!("homes {{{}}}", homes.iter().join(", ")));
        }
        parts.extend(members.map(|members| format!("members {members}")));
        if *crashes > 0 {
            parts.push(format!("crashes {crashes}"));
        }
        parts
    }

    /// Prints for each method and stamp of the specification the subevents that g maps it to, one line each.
    #[must_use]
    pub fn concretisation(&self) -> Vec<String> {
        let all = self.report.concretisation.iter();
        all.map(|((method, stamp), words)| {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            format!("g({method}, {stamp}) = {}", words.join(" or "))
        })
        .collect()
    }

    /// Returns the counterexample, if there is one.
    #[must_use]
    pub fn counterexample(&self) -> Option<&Counterexample> {
        match &self.report.verdict {
            Verdict::Unsound(counterexample) => Some(counterexample),
            _ => None,
        }
    }

    /// Prints the counterexample's client as litmus text.
    #[must_use]
    pub fn litmus(&self) -> Option<String> {
        let c = self.counterexample()?;
        let name = format!("{}-{}", self.library, self.variant);
        Some(print::forbidden(self.dialect(), &name, &c.world, &c.client, &c.outcome))
    }

    /// Prints the result in a line: library, variant, bound and verdict.
    #[must_use]
    pub fn title(&self) -> String {
        let stop = match &self.report.verdict {
            Verdict::Undecided(stop) if self.verdict() == "undecided" => format!(" ({stop})"),
            _ => String::new(),
        };
        let (library, variant, over) = (self.library, self.variant, &self.over);
        format!("{library} ({variant}) over {over}, {}: {}{stop}", self.bound_text(), self.verdict())
    }

    /// Returns the counterexample in the form that is kept on disk, or the client that never ends, which asserts that it `ends`.
    #[must_use]
    pub fn finding(&self) -> Option<Finding> {
        let implemented = vec![format!("{}:{}", self.library, self.variant)];
        let Some(c) = self.counterexample() else {
            let (world, client, stuck) = self.stuck()?;
            let name = format!("{}-{}", self.library, self.variant);
            return Some(Finding {
                title: self.title(),
                litmus: print::client(self.dialect(), &name, world, client, &[]) + "ends\n",
                implemented,
                assertion: 0,
                execution: stuck.map(|stuck| stuck.execution.clone()),
            });
        };
        // The program of the litmus test outputs its registers only.
        let outputs = c.client.threads.iter().zip(&c.outcome.outputs).map(|(calls, o)| print::results(calls, *o));
        let execution = Execution { outputs: outputs.map(|r| Val::tuple(&r)).collect(), ..c.execution.clone() };
        Some(Finding {
            title: self.title(),
            litmus: self.litmus()?,
            implemented,
            assertion: 0,
            execution: Some(execution),
        })
    }

    /// Prints the whole finding as text; empty for an implementation that is sound and ends.
    ///
    /// # Panics
    /// If the judge rejects the counterexample, which it accepted during the search.
    #[must_use]
    pub fn explanation(&self) -> String {
        let mut out = String::new();
        if let Some((world, client, violation)) = &self.report.violation {
            out.push_str("Not locally sound (LOCO Def. 3.13) in an execution of\n\n");
            out.push_str(&print::client(self.dialect(), "client", world, client, &violation.execution.outputs));
            out.push_str(&format!("\nwith the events\n{}\n", show::events(&violation.execution, &Names::default())));
            if !violation.beyond.is_empty() {
                let beyond = violation.beyond.iter().copied().collect();
                out.push_str("where hb has, beside (ppo u so)+,\n");
                out.push_str(&show::pairs(&violation.execution, &Names::default(), &beyond));
                out.push('\n');
            }
            out.push_str(&format!("because {}.\n\n", violation.reason));
        }
        if let (Verdict::Undecided(stop), Some((world, client)), None) =
            (&self.report.verdict, &self.report.stopped_at, self.stuck())
        {
            out.push_str(&format!("{} is undecided: {stop}, first in\n\n", self.library));
            out.push_str(&print::client(self.dialect(), "client", world, client, &[]));
            out.push('\n');
        }
        if let (Some(c), Some(litmus)) = (self.counterexample(), self.litmus()) {
            let judged = judge(&self.libraries, &c.execution).expect("the search has asked the judge");
            let implemented = vec![format!("{}:{}", self.library, self.variant)];
            out.push_str(&format!("{}\n\n{}", self.title(), explain::marked(&litmus, &implemented, 0)));
            let (libraries, names) = (&self.libraries, &Names::default());
            let scene = Scene { libraries, execution: &c.execution, judged: &judged, names };
            let registers = print::registers(&c.client, &c.outcome);
            out.push_str(&explain::witness(&registers, &implemented, &scene));
            if registers.is_empty() && matches!(c.refutations.so_far(), (found, None) if found.is_empty()) {
                out.push_str("\nThe specification has no execution of these calls: it does not admit them.\n");
            } else {
                out.push_str(&words(c).refutations(&c.refutations));
            }
            out.push('\n');
        }
        out.push_str(&self.stuck_text());
        out.push_str(&self.advice());
        out
    }

    /// Counts the clients that were left when the check ended.
    fn not_asked(&self) -> usize {
        let Report { generated, ill_formed, clients, .. } = self.report;
        generated - ill_formed - clients
    }

    /// Returns the number of leaves of the search for each class of executions; 1 is the optimum.
    fn leaves_per_class(&self) -> f64 {
        let stats = &self.report.stats;
        stats.leaves as f64 / stats.classes.max(1) as f64
    }

    /// Prints statistics: the clients that were explored, the dropped ones with the reason, and counts of the search.
    #[must_use]
    pub fn stats(&self) -> String {
        let Report { generated, ill_formed, renamed, clients, vacuous, probed, stats, .. } = &self.report;
        let dropped = [
            (*ill_formed, "that the specification says nothing of"),
            (*renamed, "that are symmetric, or differ only by equal values"),
            (self.not_asked(), "left when the check ended"),
        ];
        let dropped = dropped.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!(", less {n} {why}")).join("");
        let probed = if *probed > 0 { format!("; {probed} searched for their outcomes") } else { String::new() };
        format!(
            "clients: {generated}{dropped}: {} searched; {vacuous} never end{probed}\n\
             search: {} skeletons, {} states, {} nodes, {} leaves, {} classes, {:.3} leaves per class",
            clients - renamed,
            stats.skeletons,
            stats.states,
            stats.nodes,
            stats.leaves,
            stats.classes,
            self.leaves_per_class()
        )
    }

    /// Prints one JSON object.
    ///
    /// # Panics
    /// Never: the object consists of strings and numbers.
    #[must_use]
    pub fn json(&self) -> String {
        let counterexample = self.counterexample().map(|c| JsonCounterexample {
            litmus: self.litmus().unwrap_or_default(),
            outcome: outcome(c),
            cycle: cycle(c),
            events: show::listed(&c.execution),
        });
        let stats = &self.report.stats;
        let json = Json {
            library: self.library,
            over: &self.over,
            variant: self.variant,
            verdict: self.verdict(),
            progress: self.progress(),
            stuck: Some(self.stuck_text()).filter(|text| !text.is_empty()),
            reason: match &self.report.verdict {
                Verdict::Undecided(stop) => Some(stop.to_string()),
                _ => self.report.violation.as_ref().map(|(_, _, v)| v.reason.to_string()),
            },
            bound: &self.bound,
            clients: self.report.clients,
            vacuous: self.report.vacuous,
            unreached: self.unreached(),
            executions: self.report.executions,
            concretisation: self.concretisation(),
            counterexample,
            advice: Some(self.advice().trim_end().to_owned()).filter(|text| !text.is_empty()),
            seconds: self.time.as_secs_f64(),
            stats: BTreeMap::from([
                ("generated", self.report.generated as u64),
                ("ill_formed", self.report.ill_formed as u64),
                ("renamed", self.report.renamed as u64),
                ("not_asked", self.not_asked() as u64),
                ("vacuous", self.report.vacuous as u64),
                ("skeletons", stats.skeletons),
                ("states", stats.states),
                ("nodes", stats.nodes),
                ("leaves", stats.leaves),
                ("classes", stats.classes),
                ("probed", self.report.probed as u64),
            ]),
            leaves_per_class: self.leaves_per_class(),
        };
        serde_json::to_string(&json).expect("strings and numbers")
    }
}

/// Returns the words of a counterexample's program.
#[must_use]
pub fn words(c: &Counterexample) -> ProgramWords {
    ProgramWords { statements: print::statements(&c.client, &c.outcome.outputs), names: Names::default() }
}

/// Prints the edges of the first cycle that forbids the outcome.
fn cycle(c: &Counterexample) -> Vec<String> {
    let edges = c.refutations.so_far().0.first().map_or(&[][..], |r| &r.edges);
    edges.iter().map(|e| words(c).sentence(e)).collect()
}

fn outcome(c: &Counterexample) -> BTreeMap<String, String> {
    let text = print::registers(&c.client, &c.outcome);
    text.into_iter().collect()
}

#[derive(Serialize)]
struct Json<'a> {
    library: &'a str,
    over: &'a str,
    variant: &'a str,
    verdict: &'a str,
    progress: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stuck: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    bound: &'a Bound,
    clients: usize,
    vacuous: usize,
    unreached: Vec<String>,
    executions: u64,
    concretisation: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counterexample: Option<JsonCounterexample>,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    seconds: f64,
    stats: BTreeMap<&'a str, u64>,
    leaves_per_class: f64,
}

#[derive(Serialize)]
struct JsonCounterexample {
    litmus: String,
    outcome: BTreeMap<String, String>,
    cycle: Vec<String>,
    events: Vec<show::Listed>,
}
