//! Tests of the RDMA models, for each cell of the stamp order, each part of so and of ib, and each demand. They are the
//! smallest programs with a forbidden outcome that the model allows without that part.

use std::collections::BTreeSet;
use std::fmt;

use itertools::Itertools;
use mowgli_core::event::{Cell, Event};
use mowgli_core::library::{Hints, Libraries};
use mowgli_core::rewrite::mutation::{Mutation, mutations, weakened};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::Client;
use mowgli_core::term::bound::Bound;
use mowgli_core::unknown::Unknown;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::to;
use mowgli_rdma::tso::{self, Tso};
use mowgli_rdma::wait::{self, IB, Wait};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::compare::{Under, methods, of_size, outcomes, shown, subject};
use crate::error::{Code, InputError};
use crate::generated::{GenerateRequest, Generated};
use crate::interrupt::cause;
use crate::litmus::order::{cells, without};
use crate::litmus::print;
use crate::litmus::run::libraries;
use crate::litmus::test::Model;
use crate::shards::log::{RunPart, ShardContext, is_shard};
use crate::terminal::{bar, moving};

/// A part of a model that can be removed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pivot {
    /// A cell of the stamp order.
    To(String, String),
    /// A part of ib.
    Ib(&'static str),
    /// A part of so.
    So(&'static str),
    /// A demand.
    Axiom(&'static str),
}

impl fmt::Display for Pivot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::To(a, b) => write!(f, "to:{a}-{b}"),
            Self::Ib(part) => write!(f, "ib:{part}"),
            Self::So(part) => write!(f, "so:{part}"),
            Self::Axiom(name) => write!(f, "axiom:{name}"),
        }
    }
}

/// Returns the model itself, without the libraries on top of it.
fn whole(model: Model) -> Libraries {
    if model == Model::RDMA_WAIT { Libraries::over(to).with(Wait) } else { libraries(model) }
}

/// Lists the parts of a model that can be removed.
#[must_use]
pub fn pivots(model: Model) -> Vec<Pivot> {
    let all = whole(model);
    let to = cells(&all).into_iter().map(|(a, b)| Pivot::To(a, b));
    let part = |mutation| match mutation {
        Mutation::So(part) => Some(Pivot::So(part)),
        Mutation::Axiom(name) => Some(Pivot::Axiom(name)),
        Mutation::Stamp(..) => None,
    };
    let parts = mutations(&all, model.memory(), &[]).into_iter().filter_map(part);
    // Only polls order the two writes of a read-modify-write.
    let ib = IB.into_iter().filter(|part| *part != "rmw" || model != Model::RDMA_WAIT).map(Pivot::Ib);
    to.chain(ib).chain(parts).collect()
}

fn weaker(model: Model, pivot: &Pivot) -> Libraries {
    let (all, name) = (whole(model), model.memory());
    match pivot {
        Pivot::To(a, b) => without(&all, &(a.clone(), b.clone())),
        Pivot::Ib(part) if model == Model::RDMA_WAIT => all.respecified(name, |spec| *spec = wait::without_in_ib(part)),
        Pivot::Ib(part) => all.respecified(name, |spec| *spec = tso::without_in_ib(part)),
        Pivot::So(part) => weakened(&all, name, &Mutation::So(part)),
        Pivot::Axiom(axiom) => weakened(&all, name, &Mutation::Axiom(axiom)),
    }
}

/// The result for one pivot.
#[derive(Clone, Debug)]
pub struct PivotResult {
    /// The pivot.
    pub pivot: Pivot,
    /// The smallest programs, each with an outcome that only the pivot forbids, and with all allowed outcomes. Empty if
    /// the bound has none.
    pub programs: Vec<(World, Client, Outcome, BTreeSet<Outcome>)>,
    /// Whether the pivot can matter to any program that was searched: a cell of the stamp order does where both stamps
    /// occur.
    pub occurs: bool,
}

/// The result of a search for tests.
#[derive(Clone, Debug)]
pub struct FoundTests {
    /// The result for each pivot.
    pub found: Vec<PivotResult>,
    /// The number of programs that were searched.
    pub programs: usize,
    /// The limit that stopped the search, if any.
    pub stop: Option<Stop>,
}

/// Returns the pairs of stamp families that a program has in its threads, in program order; pairs within one call too.
fn families(library: &dyn Hints, (world, client): &(World, Client)) -> BTreeSet<(String, String)> {
    let mut pairs = BTreeSet::new();
    for (thread, calls) in world.tids().zip(&client.threads) {
        let mut before = BTreeSet::new();
        for call in calls {
            let cells = |_: Cell| vec![Val::Int(0), Val::Int(1), Val::Int(2)];
            // A call's stamps depend on the calls before it only through its result, so every possible result is tried.
            let mut returns = library.returns(world, &[], thread, call, &cells);
            returns.push(Val::Unit);
            let events = returns.into_iter().map(|ret| Event { thread, call: call.clone(), ret });
            let own: BTreeSet<String> = events
                .flat_map(|e| library.shapes(world, &e))
                .flat_map(|shape| shape.iter().map(|s| s.stamp.family()).collect::<Vec<_>>())
                .collect();
            before.extend(own.iter().cloned());
            pairs.extend(before.iter().cloned().cartesian_product(own.iter().cloned()));
        }
    }
    pairs
}

/// The size of a group of programs. The programs of a group are searched in parallel.
const GROUP: usize = 256;

/// A model, whole and without each pivot.
struct PivotModels<'a> {
    model: Model,
    library: &'a dyn Hints,
    whole: Under,
    pivots: &'a [Pivot],
    weaker: Vec<Under>,
    expired: &'a (dyn Fn() -> bool + Sync),
}

/// The answer for one program: the allowed outcomes and, for each pivot that can matter, an outcome that only the pivot
/// forbids, if any.
struct PivotOutcomes {
    allowed: BTreeSet<Outcome>,
    only_without: Vec<(usize, Option<Outcome>)>,
}

impl PivotModels<'_> {
    /// Computes the answer of a program for these pivots.
    fn of(&self, program: &(World, Client), wanted: &[usize]) -> Result<PivotOutcomes, Stop> {
        let outcomes = |under: &Under| outcomes(under, self.model, program, &|| (self.expired)());
        let pairs = families(self.library, program);
        let matters = |p: &Pivot| !matches!(p, Pivot::To(a, b) if !pairs.contains(&(a.clone(), b.clone())));
        let wanted = wanted.iter().copied().filter(|&i| matters(&self.pivots[i])).collect_vec();
        let mut answer = PivotOutcomes { allowed: BTreeSet::new(), only_without: Vec::new() };
        if !wanted.is_empty() {
            answer.allowed = outcomes(&self.whole)?;
        }
        for i in wanted {
            let more = outcomes(&self.weaker[i])?;
            answer.only_without.push((i, more.difference(&answer.allowed).next().cloned()));
        }
        Ok(answer)
    }
}

/// The result of one program as a shard stores it: the pivots that can matter, and whether one forbids an outcome. A
/// limit that left that open counts as yes.
#[derive(Serialize, Deserialize)]
struct StoredProgram {
    matter: Vec<usize>,
    tells: bool,
}

impl PivotModels<'_> {
    /// Returns the stored result of a program, or computes it. If a pivot forbids an outcome it is computed again,
    /// because the outcomes are not stored.
    fn known_or(
        &self,
        part: &RunPart<'_>,
        number: usize,
        program: &(World, Client),
        wanted: &[usize],
    ) -> Result<PivotOutcomes, Stop> {
        let mut now = None;
        let seen = part.unit(number, &|| (self.expired)(), || {
            let answer = now.insert(self.of(program, wanted));
            let Ok(answer) = answer else { return StoredProgram { matter: Vec::new(), tells: true } };
            let matter = answer.only_without.iter().map(|(i, _)| *i).collect();
            StoredProgram { matter, tells: answer.only_without.iter().any(|(_, outcome)| outcome.is_some()) }
        });
        match (now, seen) {
            (Some(answer), _) => answer,
            (None, Some(StoredProgram { tells: true, .. })) => self.of(program, wanted),
            (None, seen) => {
                let matter = seen.map(|seen| seen.matter).unwrap_or_default();
                let only_without = matter.into_iter().filter(|i| wanted.contains(i)).map(|i| (i, None)).collect();
                Ok(PivotOutcomes { allowed: BTreeSet::new(), only_without })
            }
        }
    }
}

/// Searches for each pivot the smallest programs within the bound that have an outcome that only the pivot forbids, at
/// most `most` of them. `progress` is a callback `(done, total)` for the programs of one size. If processes share the
/// work, `part` holds their results.
pub fn search(
    model: Model,
    rmw: bool,
    pivots: &[Pivot],
    (bound, most): (&Bound, usize),
    (expired, part): (&(dyn Fn() -> bool + Sync), Option<&RunPart<'_>>),
    progress: &dyn Fn(usize, usize),
) -> FoundTests {
    let library: &dyn Hints = if model == Model::RDMA_WAIT { &Wait } else { &Tso::PUBLISHED };
    let weaker = pivots.iter().map(|p| (model, weaker(model, p))).collect();
    let asked = PivotModels { model, library, whole: (model, whole(model)), pivots, weaker, expired };
    let none = |pivot: &Pivot| PivotResult { pivot: pivot.clone(), programs: Vec::new(), occurs: false };
    let mut search = FoundTests { found: pivots.iter().map(none).collect(), programs: 0, stop: None };
    let subject = subject(model, rmw);
    for total in 1..=bound.total.unwrap_or(bound.threads * bound.calls) {
        // Only pivots without a program need larger programs.
        let open = search.found.iter().positions(|f| f.programs.is_empty()).collect_vec();
        if open.is_empty() {
            break;
        }
        if expired() {
            search.stop = Some(cause(Stop::Time));
            break;
        }
        let mut sized = match of_size(&*subject, std::slice::from_ref(bound), total, expired) {
            Ok(sized) => sized,
            Err(stop) => {
                search.stop = Some(cause(stop));
                return search;
            }
        };
        // The plainest first: few threads, few different methods.
        sized.sort_by_key(|(world, client)| (world.threads.len(), methods(client)));
        for (done, group) in sized.chunks(GROUP).enumerate() {
            progress(done * GROUP, sized.len());
            let wanted = open.iter().copied().filter(|&i| search.found[i].programs.len() < most).collect_vec();
            let ask = |(i, program): (usize, &(World, Client))| match part {
                Some(part) => asked.known_or(part, search.programs + i, program, &wanted),
                None => asked.of(program, &wanted),
            };
            let answers: Vec<_> = group.par_iter().enumerate().map(ask).collect();
            group.iter().zip(answers).for_each(|(program, answer)| search.add(program, answer, most));
            if expired() {
                search.stop = Some(cause(Stop::Time));
                return search;
            }
        }
    }
    search
}

impl FoundTests {
    /// Adds the answer of a program.
    fn add(&mut self, (world, client): &(World, Client), answer: Result<PivotOutcomes, Stop>, most: usize) {
        self.programs += 1;
        let PivotOutcomes { allowed, only_without } = match answer {
            Ok(answer) => answer,
            Err(stop) => {
                self.stop.get_or_insert(stop);
                return;
            }
        };
        for (i, outcome) in only_without {
            let found = &mut self.found[i];
            found.occurs = true;
            if let (Some(outcome), true) = (outcome, found.programs.len() < most) {
                found.programs.push((world.clone(), client.clone(), outcome, allowed.clone()));
            }
        }
    }
}

impl PivotResult {
    /// Returns the programs as tests with names and expectations.
    #[must_use]
    pub fn generated(&self, model: Model) -> Vec<Generated> {
        let about = format!("Only {} forbids the outcome", self.pivot);
        let one =
            |(number, (world, client, outcome, allowed)): (usize, &(World, Client, Outcome, BTreeSet<Outcome>))| {
                let name = format!("{}-{number}", self.pivot.to_string().replace(':', "-")).to_lowercase();
                let condition = |o: &Outcome| print::conjunction(&shown(world, o));
                let forbidden = condition(outcome);
                let program = print::program(model, &name, Some(&about), world, client);
                let litmus = format!("{program}forbidden ({forbidden})\n");
                let outputs = allowed.iter().map(condition).collect();
                Generated { name, pivot: self.pivot.to_string(), litmus, outputs, forbidden: Some(forbidden) }
            };
        (1..).zip(&self.programs).map(one).collect()
    }
}

/// Makes the tests of the requested parts of a model. The code is 3 if a limit stopped the search for them.
pub(crate) fn tests(
    ask: &GenerateRequest<'_>,
    (deadline, log): ShardContext<'_>,
) -> Result<(u8, Vec<Generated>), InputError> {
    let known = pivots(ask.model);
    let pivots: Vec<_> = known.iter().filter(|p| ask.pivot == "all" || p.to_string() == ask.pivot).cloned().collect();
    if pivots.is_empty() {
        let unknown = Unknown::new("part", ask.pivot, &known);
        let error = InputError::new(Code::Unknown, format!("{} has no part {}", ask.model, ask.pivot));
        return Err(error.help(unknown.help()));
    }
    if ask.rmw && ask.model == Model::RdmaSc {
        return Err(InputError::new(Code::Argument, format!("{} has no remote read-modify-writes", ask.model))
            .help("leave --rmw out"));
    }
    let total = ask.size.unwrap_or(3);
    let bound = Bound { threads: ask.threads, nodes: 2, calls: total, total: Some(total), ..Bound::default() };
    let most = ask.each.unwrap_or(1);
    let expired = || deadline.expired();
    let part = log.map(|log| log.part(ask.model.to_string()));
    let bar = bar(ask.model.to_string(), "programs");
    let search = search(ask.model, ask.rmw, &pivots, (&bound, most), (&expired, part.as_ref()), &moving(&bar));
    bar.finish_and_clear();
    if is_shard(log) {
        return Ok((0, Vec::new()));
    }
    for found in search.found.iter().filter(|f| f.programs.is_empty()) {
        let why = match &search.stop {
            Some(stop) => format!("no program that notices when it is taken away was found before {stop}"),
            None if found.occurs => "no program within the bound notices when it is taken away".to_owned(),
            None => "in no program".to_owned(),
        };
        eprintln!("{}: {why}", found.pivot);
    }
    let with = search.found.iter().filter(|f| !f.programs.is_empty()).count();
    eprintln!(
        "{with} of {} parts have a test, among {} programs of {} threads on 2 nodes with {total} calls",
        search.found.len(),
        search.programs,
        ask.threads
    );
    if let Some(stop) = &search.stop {
        eprintln!("Incomplete: {stop}");
    }
    let all = search.found.iter().flat_map(|f| f.generated(ask.model)).collect();
    Ok((if search.stop.is_some() { 3 } else { 0 }, all))
}
