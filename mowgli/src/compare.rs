//! The `compare` command: the smallest programs on which two memory models differ.
//!
//! RDMA_TSO and RDMA_SC are compared on programs with polls. RDMA_WAIT has waits in their place. For another model I_W
//! (SYNC Fig. 16) compiles them to polls, so a difference shows where waits guarantee less than polls. A semantics of its
//! own has clients of its own, which other models run with polls: see [`OwnSemantics::clients`].
//!
//! A program has stuck executions only if a poll has no operation, because none of these programs has a loop or a branch. Then
//! all its executions are stuck, under every model, so the models differ in outcomes only.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::event::Cell;
use mowgli_core::ids::Name;
use mowgli_core::library::Libraries;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::{Client, Subject, clients};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementations;
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::tso::{self, Compiling, TSO, WaitByPolls};
use mowgli_rdma::{Network, wait};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::check::shapes;
use crate::error::{Code, InputError};
use crate::interrupt::cause;
use crate::litmus::print;
use crate::litmus::run::libraries;
use crate::litmus::semantics::{OwnSemantics, Semantics};
use crate::litmus::test::Model;
use crate::shards::log::RunPart;

/// A program with an outcome that only one of two models has.
#[derive(Clone, Debug)]
pub struct ModelDifference {
    /// The world of the program.
    pub world: World,
    /// The program.
    pub client: Client,
    /// The model that has the outcomes.
    pub only: Model,
    /// The model that lacks them.
    pub not: Model,
    /// The outcomes, with the last values of all words.
    pub outcomes: Vec<Outcome>,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct ModelComparison {
    /// The smallest difference in each direction in which the models differ.
    pub differences: Vec<ModelDifference>,
    /// The number of programs that were searched.
    pub programs: usize,
    /// The number of programs all of whose executions are stuck.
    pub vacuous: usize,
    /// The limit that stopped the comparison, if any.
    pub stop: Option<Stop>,
}

/// The size of a group of programs. The programs of a group are searched in parallel.
const GROUP: usize = 1024;

/// Enumerates the programs within bounds that have exactly `calls` calls. Words whose names begin with `y` start with
/// the value 2, so that outcomes show which word was copied.
///
/// # Errors
/// If the time is up before all programs are enumerated.
pub(crate) fn of_size(
    subject: &dyn Subject,
    bounds: &[Bound],
    calls: usize,
    expired: &dyn Fn() -> bool,
) -> Result<Vec<(World, Client)>, Stop> {
    let mut all = Vec::new();
    for bound in bounds {
        all.extend(clients(subject, &Bound { total: Some(calls), ..bound.clone() }, expired)?);
    }
    all.retain(|(_, client)| client.len() == calls);
    for (world, _) in &mut all {
        let words = world.objects.iter_mut().filter(|(x, _)| x.to_string().starts_with('y'));
        words.for_each(|(_, object)| object.init = Val::Int(2));
    }
    Ok(all)
}

pub(crate) fn observed(world: &World) -> Vec<Cell> {
    world.objects.iter().filter_map(|(&loc, o)| Some(Cell { loc, node: o.node? })).collect()
}

/// Returns the threads of a client as programs that return the results of their reads and CASes.
pub(crate) fn programs(client: &Client) -> Vec<Script> {
    client.programs_with(&|call| matches!(call.method.text(), "Read" | "CAS"))
}

/// A model with its libraries, made once for all programs.
pub(crate) type Under = (Model, Libraries);

/// Returns the semantics of a model without axioms.
fn own(model: Model) -> Option<&'static dyn OwnSemantics> {
    if let Semantics::Own(own) = model.semantics() { Some(own) } else { None }
}

/// Computes all outcomes under a model of a program that is written for `written`.
pub(crate) fn outcomes(
    (model, libraries): &Under,
    written: Model,
    (world, client): &(World, Client),
    expired: &dyn Fn() -> bool,
) -> Result<BTreeSet<Outcome>, Stop> {
    if let Some(own) = own(*model) {
        return own.outcomes(world, client, expired);
    }
    let mut world = world.clone();
    let mut implementations = Implementations::new();
    let programs = programs(&own(written).map_or_else(|| client.clone(), |own| own.with_polls(&world, client)));
    if written == Model::RDMA_WAIT && model.published() != Model::RDMA_WAIT {
        (world, implementations) = with_waits_compiled(WaitByPolls::Published, world);
    }
    let (observed, limits) = (observed(&world), Limits { expired, ..Limits::default() });
    let problem = Problem {
        observed: &observed,
        limits,
        implementations: &implementations,
        ..Problem::of(libraries, &world, &programs)
    };
    Ok(problem.outcomes().all()?.into_keys().collect())
}

/// Returns the world of a program with waits for polls, and the compiler.
pub(crate) fn with_waits_compiled(by: WaitByPolls, mut world: World) -> (World, Implementations) {
    world.objects.values_mut().for_each(|o| o.library = TSO);
    (world, Compiling::in_force(by, &["d", "e"].map(Name::literal), 1))
}

/// Returns the default bounds: one thread with four calls, and two threads with two each, on up to two nodes.
#[must_use]
pub fn bounds() -> Vec<Bound> {
    let bound = |threads, calls| Bound { threads, nodes: 2, calls, ..Bound::default() };
    vec![bound(1, 4), bound(2, 2)]
}

/// Returns the client generator for programs that are written for a model.
pub(crate) fn subject(written: Model, rmw: bool) -> Box<dyn Subject + Sync> {
    if let Some(own) = own(written) {
        return own.clients();
    }
    match written {
        Model::RdmaWait(_) => Box::new(wait::Identified { words: wait::WordClients { rmw }, unnamed: false }),
        _ => Box::new(tso::PollClients { rmw }),
    }
}

/// Returns the models that are compared, on the networks that are given.
///
/// # Errors
/// If a program cannot be for both.
pub(crate) fn pair(models: &[Model], networks: &[Network], rmw: bool) -> Result<[Model; 2], InputError> {
    let unsupported = |message: String| InputError::new(Code::Unsupported, message);
    if models.contains(&Model::X86Tso) {
        let x86 = Model::X86Tso;
        return Err(unsupported(format!("programs that are compared go through a network, and {x86} has none")));
    }
    if let Some(without) = models.iter().find(|m| rmw && (**m == Model::RdmaSc || own(**m).is_some())) {
        let message = format!("{without} has no remote read-modify-writes that take values");
        return Err(unsupported(message).help("leave --rmw out"));
    }
    let waits = models.iter().any(|m| m.published() == Model::RDMA_WAIT);
    if let Some(own) = models.iter().find(|m| waits && own(**m).is_some()) {
        let message = format!("flushes of {own} can be compared with polls, and not with waits");
        return Err(unsupported(message).help("compare it with RDMA_TSO or RDMA_SC"));
    }
    match (models, networks) {
        (&[a, b], []) => Ok([a, b]),
        (&[a, b], &[network]) => Ok([a.on(network)?, b.on(network)?]),
        (&[model], &[a, b]) => Ok([model.on(a)?, model.on(b)?]),
        _ => Err(InputError::new(Code::Argument, "a comparison is of two models, or of one on two networks")
            .help("write --model RDMA_TSO --model RDMA_SC, or --model RDMA_TSO --network rc --network cxi")),
    }
}

/// Compares two models on all programs within these bounds, the smallest first, up to the size (calls, threads, nodes)
/// at which they differ. The result has the plainest program of that size in each direction. With `rmw` programs have
/// remote read-modify-writes. A model and itself are equal, so no program is searched. `progress` is a callback `(done, total)` for
/// the programs of one size. If processes share the work, `part` holds their results.
pub fn compare(
    (a, b): (Model, Model),
    rmw: bool,
    bounds: &[Bound],
    expired: &(dyn Fn() -> bool + Sync),
    part: Option<&RunPart<'_>>,
    progress: &dyn Fn(usize, usize),
) -> ModelComparison {
    if a == b {
        return ModelComparison::default();
    }
    let is_wait = |model: &Model| model.published() == Model::RDMA_WAIT;
    let written = [a, b].into_iter().find(|model| own(*model).is_some());
    let written = written.or([a, b].iter().any(is_wait).then_some(Model::RDMA_WAIT)).unwrap_or(Model::RDMA_TSO);
    let subject = subject(written, rmw);
    let models = [a, b].map(|model| (model, libraries(model)));
    let mut found = ModelComparison::default();
    let most = bounds.iter().map(|b| b.threads * b.calls).max().unwrap_or(0);
    for total in 1..=most {
        if expired() {
            found.stop = Some(cause(Stop::Time));
            return found;
        }
        let mut all = match of_size(&*subject, bounds, total, expired) {
            Ok(all) => all,
            Err(stop) => {
                found.stop = Some(cause(stop));
                return found;
            }
        };
        let shape = |(world, _): &(World, Client)| (world.threads.len(), world.nodes);
        all.sort_by_key(shape);
        let mut done = 0;
        for one_shape in all.chunk_by(|x, y| shape(x) == shape(y)) {
            for group in one_shape.chunks(GROUP) {
                let ask = |(i, program): (usize, &(World, Client))| {
                    let differs = || differs(&models, written, program, expired);
                    part.map_or_else(differs, |part| known_or(part, found.programs + i, expired, differs))
                };
                let answers: Vec<_> = group.par_iter().enumerate().map(ask).collect();
                found.programs += group.len();
                done += group.len();
                progress(done, all.len());
                answers.into_iter().for_each(|answer| found.add(answer));
                if expired() {
                    found.stop = Some(cause(Stop::Time));
                    return found;
                }
            }
            if !found.differences.is_empty() {
                return found;
            }
        }
    }
    found
}

/// The result of one program as a shard stores it: whether the models differ, but not the outcomes.
#[derive(Serialize, Deserialize)]
struct StoredComparison {
    differ: bool,
    vacuous: bool,
    stop: Option<Stop>,
}

/// Returns the stored result of a program, or computes it. If the stored result is a difference, it is computed again,
/// because the outcomes are not stored.
fn known_or(
    part: &RunPart<'_>,
    number: usize,
    expired: &(dyn Fn() -> bool + Sync),
    differs: impl Fn() -> ProgramDifferences,
) -> ProgramDifferences {
    let mut now = None;
    let seen = part.unit(number, &|| expired(), || {
        let answer = now.insert(differs());
        let (differ, vacuous) = answer.as_ref().map_or((false, false), |(all, vacuous)| (!all.is_empty(), *vacuous));
        StoredComparison { differ, vacuous, stop: answer.as_ref().err().cloned() }
    });
    match (now, seen) {
        (Some(answer), _) => answer,
        (None, Some(StoredComparison { differ: true, .. })) => differs(),
        (None, Some(StoredComparison { vacuous, stop, .. })) => stop.map_or(Ok((Vec::new(), vacuous)), Err),
        // Another shard has this program.
        (None, None) => Ok((Vec::new(), false)),
    }
}

/// The differences on a program, and whether it never ends.
type ProgramDifferences = Result<(Vec<ModelDifference>, bool), Stop>;

/// Computes the outcomes of a program that only one model has, in each direction that has some, and whether both models
/// have none.
fn differs(
    [a, b]: &[Under; 2],
    written: Model,
    program: &(World, Client),
    expired: &(dyn Fn() -> bool + Sync),
) -> ProgramDifferences {
    let of = |model: &Under| outcomes(model, written, program, &|| expired());
    let (of_a, of_b) = (of(a)?, of(b)?);
    let directions = [(a.0, b.0, &of_a, &of_b), (b.0, a.0, &of_b, &of_a)].into_iter().map(|(only, not, x, y)| {
        let (world, client) = program.clone();
        ModelDifference { world, client, only, not, outcomes: x.difference(y).cloned().collect() }
    });
    Ok((directions.filter(|d| !d.outcomes.is_empty()).collect(), of_a.is_empty() && of_b.is_empty()))
}

impl ModelComparison {
    /// True if no program ends, so that there was nothing to compare.
    #[must_use]
    pub fn is_vacuous(&self) -> bool {
        self.programs > 0 && self.vacuous == self.programs
    }

    /// Keeps the plainest difference in each direction: the one with the fewest different methods.
    fn add(&mut self, answer: ProgramDifferences) {
        match answer {
            Err(stop) => _ = self.stop.get_or_insert(stop),
            Ok((differences, is_vacuous)) => {
                self.vacuous += usize::from(is_vacuous);
                for new in differences {
                    match self.differences.iter_mut().find(|d| d.only == new.only) {
                        Some(known) if methods(&new.client) < methods(&known.client) => *known = new,
                        Some(_) => {}
                        None => self.differences.push(new),
                    }
                }
            }
        }
    }
}

/// Counts the different methods that a program calls.
pub(crate) fn methods(client: &Client) -> usize {
    client.threads.iter().flatten().map(|c| c.method).collect::<BTreeSet<_>>().len()
}

/// Lists the values of an outcome by name: the results of reads by register, and the last values of words.
pub(crate) fn shown(world: &World, outcome: &Outcome) -> Vec<(String, Val)> {
    let results = outcome.outputs.iter().flat_map(|&output| if let Val::Tuple(t) = output { t.parts() } else { &[] });
    let registers = results.enumerate().map(|(i, v)| (print::register(i), *v));
    let finals = observed(world).into_iter().zip(&outcome.finals).map(|(c, v)| (c.loc.to_string(), *v));
    registers.chain(finals).collect()
}

impl ModelDifference {
    /// Returns the program as a litmus test.
    #[must_use]
    pub fn litmus(&self) -> String {
        let name = format!("{}-not-{}", self.only, self.not).to_lowercase();
        if let Some(own) = own(self.only) {
            return own.litmus(&name, &self.world, &self.client);
        }
        let polls = own(self.not).map(|own| own.with_polls(&self.world, &self.client));
        // A program with waits is printed for RDMA_WAIT, because I_W compiles it. A program with polls is the same text
        // under both models.
        let model = if self.not.published() == Model::RDMA_WAIT { self.not } else { self.only };
        print::program(model, &name, None, &self.world, polls.as_ref().unwrap_or(&self.client))
    }

    fn outcome(&self, outcome: &Outcome) -> String {
        shown(&self.world, outcome).into_iter().map(|(name, v)| format!("{name}={v}")).join(" ")
    }

    /// Returns the difference as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!("{} has outcomes that {} has not:\n\n{}", self.only, self.not, self.litmus());
        self.outcomes.iter().for_each(|o| out.push_str(&format!("{}\n", self.outcome(o))));
        out
    }
}

#[derive(Serialize)]
struct ComparisonLine {
    models: [String; 2],
    programs: usize,
    vacuous: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    differences: Vec<DifferenceLine>,
}

#[derive(Serialize)]
struct DifferenceLine {
    only: String,
    not: String,
    litmus: String,
    outcomes: Vec<String>,
}

impl ModelComparison {
    /// Returns the differences, the models that have none, and the number of programs as text.
    #[must_use]
    pub fn text(&self, (a, b): (Model, Model), bounds: &[Bound]) -> String {
        if a == b {
            return format!("{a} is compared with itself: each program has the same outcomes");
        }
        let mut lines: Vec<String> = self.differences.iter().map(ModelDifference::text).collect();
        for (only, not) in [(a, b), (b, a)] {
            if self.stop.is_none() && self.differences.iter().all(|d| d.only != only) {
                lines.push(format!("none of these programs has an outcome under {only} that it has not under {not}"));
            }
        }
        let vacuous = match self.vacuous {
            0 => String::new(),
            some => format!(" ({some} are stuck: a poll has no operation)"),
        };
        let (programs, shapes) = (self.programs, shapes(bounds));
        lines.push(format!("{programs} programs{vacuous}, the smallest with threads, nodes, calls up to {shapes}"));
        lines.extend(self.is_vacuous().then(|| "Vacuous: none of these programs ends".to_owned()));
        lines.extend(self.stop.as_ref().map(|stop| format!("Incomplete: {stop}")));
        lines.join("\n")
    }

    /// Returns one JSON object.
    ///
    /// # Panics
    /// Never: the object consists of strings and numbers.
    #[must_use]
    pub fn json(&self, a: Model, b: Model) -> String {
        let difference = |d: &ModelDifference| DifferenceLine {
            only: d.only.to_string(),
            not: d.not.to_string(),
            litmus: d.litmus(),
            outcomes: d.outcomes.iter().map(|o| d.outcome(o)).collect(),
        };
        let line = ComparisonLine {
            models: [a.to_string(), b.to_string()],
            programs: self.programs,
            vacuous: self.vacuous,
            stopped: self.stop.as_ref().map(ToString::to_string),
            differences: self.differences.iter().map(difference).collect(),
        };
        serde_json::to_string(&line).expect("strings and numbers")
    }
}
