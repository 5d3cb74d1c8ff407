//! The `repair` command for litmus tests: what is the least to insert so that nothing forbidden happens?

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid, Wid};
use mowgli_core::outcome::Outcome;
use mowgli_core::problem::Limits;
use mowgli_core::repair::{Asked, Gap, Limit, Offer, Open, Remedies, Repairs, Set};
use mowgli_core::runs::Stop;
use mowgli_core::search::refute::Edge;
use mowgli_core::search::solver::Flow;
use mowgli_core::value::Val;
use mowgli_libraries::remedies::OfSv;
use mowgli_rdma::remedies::{OfTso, OfWait};
use mowgli_x86::remedies::OfX86;
use serde::Serialize;

use crate::catalogue::Stamped;
use crate::explain::Words;
use crate::interrupt::cause;
use crate::litmus::parse::columns;
use crate::litmus::print::{statement, table, written};
use crate::litmus::run::{libraries, stuck_kinds, with_problem};
use crate::litmus::stuck::Kind;
use crate::litmus::test::{Arg, Assertion, Model, Quantifier, Statement, Test};
use crate::show::Names;

pub mod bodies;

/// What can be inserted into tests of a model.
fn remedies(model: Model) -> Vec<Box<dyn Remedies>> {
    match model {
        Model::RDMA_WAIT => vec![Box::new(OfWait), Box::new(OfSv)],
        // With a switch on there are words only.
        Model::RdmaWait(_) => vec![Box::new(OfWait)],
        Model::RdmaTso(_) => vec![Box::new(OfTso { sc: false })],
        Model::RdmaSc => vec![Box::new(OfTso { sc: true })],
        Model::X86Tso => vec![Box::new(OfX86)],
        Model::CoreRma => Vec::new(),
    }
}

/// What insertions cost, by kind.
#[derive(Clone, Debug, Default)]
pub struct Costs(BTreeMap<String, u64>);

impl Costs {
    /// Costs as they are given to the command: `mfence=1` and so on.
    ///
    /// # Errors
    /// If that is not of this form, or a cost is not positive.
    pub fn read(texts: &[String]) -> Result<Self, String> {
        let read = |text: &String| {
            let cost = text.split_once('=').and_then(|(kind, cost)| Some((kind.trim().to_owned(), cost.parse().ok()?)));
            cost.filter(|(_, cost)| (1..=1_000_000).contains(cost))
                .ok_or_else(|| format!("--cost {text}: a cost is written as mfence=1, from 1 to 1000000"))
        };
        Ok(Self(texts.iter().map(read).collect::<Result<_, String>>()?))
    }

    /// The costs of a model, with these in place of its own.
    fn of(&self, remedies: &[Box<dyn Remedies>]) -> Result<BTreeMap<&'static str, u64>, String> {
        self.with(remedies.iter().flat_map(|r| r.costs()).collect())
    }

    /// These costs, with those that were given in their place.
    fn with(&self, mut all: BTreeMap<&'static str, u64>) -> Result<BTreeMap<&'static str, u64>, String> {
        for (kind, cost) in &self.0 {
            let names = all.keys().join(", ");
            let Some(known) = all.iter_mut().find(|(name, _)| *name == kind) else {
                return Err(format!("--cost {kind}={cost}: what can be inserted here is {names}"));
            };
            *known.1 = *cost;
        }
        Ok(all)
    }
}

/// One thing that can be inserted.
#[derive(Clone)]
struct Insertion {
    thread: usize,
    /// The statement that it goes before.
    before: usize,
    offer: Offer,
    cost: u64,
    /// Where it is a statement of the test: which one.
    own: Option<usize>,
}

/// A test, with what can be inserted into it.
struct Program<'a> {
    test: &'a Test,
    /// The statements that are left out unless they are chosen.
    gone: BTreeSet<(usize, usize)>,
    insertions: Vec<Insertion>,
}

/// A test with insertions.
struct Repaired {
    test: Test,
    /// The positions of the statements that are new, by thread, each with its insertion.
    new: BTreeMap<(usize, usize), usize>,
    /// Where the event of each call that is new stands among those of its thread.
    calls: BTreeMap<(usize, usize), usize>,
}

/// The call of a statement, with some data in place of what depends on registers.
fn call(s: &Statement) -> Option<Call> {
    match s {
        Statement::Await { call: inner, .. } => call(inner),
        Statement::Call { library, method, args, .. } => {
            let value = |arg: &Arg| arg.value(&|_| Val::Int(0));
            Some(Call::new(*library, method, &args.iter().map(value).collect_vec()))
        }
        _ => None,
    }
}

/// A call as a statement.
fn as_statement(call: &Call) -> Statement {
    let args = call.args.iter().map(|v| Arg::Val(*v)).collect();
    Statement::Call { register: None, library: call.library, method: call.method.text(), args }
}

/// An identifier for the call at a position of a thread, which the test does not use.
fn fresh(test: &Test, thread: usize, position: usize) -> Val {
    let own = |a: &Arg| if let Arg::Val(Val::Wid(d)) = a { Some(d.0.text()) } else { None };
    let args = |s: &Statement| match s {
        Statement::Call { args, .. } => args.iter().filter_map(own).collect_vec(),
        _ => Vec::new(),
    };
    let ids: BTreeSet<&str> = test.threads.iter().flat_map(|t| &t.statements).flat_map(args).collect();
    let is_used = |name: &String| {
        ids.contains(&name.as_str())
            || test.world.objects.contains_key(&Loc::new(name))
            || test.threads.iter().any(|t| t.registers.iter().any(|r| r.text() == name))
    };
    let mut name = format!("d{}_{}", thread + 1, position + 1);
    while is_used(&name) {
        name.push('_');
    }
    Val::Wid(Wid(Name::new(&name)))
}

impl<'a> Program<'a> {
    /// A test, with what can be inserted into it; `is_everywhere` is that of [`Gap`].
    fn with_all(
        test: &'a Test,
        remedies: &[Box<dyn Remedies>],
        costs: &BTreeMap<&'static str, u64>,
        is_everywhere: bool,
    ) -> Self {
        let mut insertions = Vec::new();
        for thread in 0..test.threads.len() {
            for before in 0..test.threads[thread].statements.len() {
                let offers = offers(test, remedies, thread, before, is_everywhere).into_iter();
                let insertion = |offer: Offer| Insertion { thread, before, cost: costs[offer.kind], offer, own: None };
                insertions.extend(offers.map(insertion));
            }
        }
        Self { test, gone: BTreeSet::new(), insertions }
    }

    /// A test without what only orders, of which each can be chosen, or what is cheaper in its place.
    fn without(test: &'a Test, remedies: &[Box<dyn Remedies>], costs: &BTreeMap<&'static str, u64>) -> Self {
        let (mut gone, mut insertions) = (BTreeSet::new(), Vec::new());
        for (thread, t) in test.threads.iter().enumerate() {
            for (at, s) in t.statements.iter().enumerate() {
                let Some(own) = call(s).filter(|_| matches!(s, Statement::Call { .. })) else { continue };
                let Some(kind) = remedies.iter().find_map(|r| r.kind(&own)) else { continue };
                gone.insert((thread, at));
                let cost = costs[kind];
                let offer = Offer::call(kind, own);
                insertions.push(Insertion { thread, before: at, offer, cost, own: Some(at) });
                let cheaper = offers(test, remedies, thread, at, false).into_iter().filter(|o| costs[o.kind] < cost);
                let insertion =
                    |offer: Offer| Insertion { thread, before: at, cost: costs[offer.kind], offer, own: None };
                insertions.extend(cheaper.map(insertion));
            }
        }
        Self { test, gone, insertions }
    }

    fn costs(&self) -> Vec<u64> {
        self.insertions.iter().map(|i| i.cost).collect()
    }

    /// The test with these insertions.
    fn with(&self, set: &Set) -> Repaired {
        let mut test = self.test.clone();
        let (mut new, mut places) = (BTreeMap::new(), BTreeMap::new());
        for (t, thread) in test.threads.iter_mut().enumerate() {
            let (statements, source) = (std::mem::take(&mut thread.statements), std::mem::take(&mut thread.source));
            let mut named = statements;
            for i in set.iter().map(|&i| &self.insertions[i]).filter(|i| i.thread == t) {
                if let Some((nth, at, id)) = i.offer.named {
                    name(&mut named, nth, at, id);
                }
            }
            let mut calls: Vec<Call> = Vec::new();
            // How many events there are beside the calls: of a thread that may crash one before each statement.
            let (point, mut points) = (usize::from(test.world.may_stop(Tid::from_index(t))), 0);
            for (at, (s, source)) in named.into_iter().zip(source).enumerate() {
                for &i in set.iter().filter(|&&i| self.insertions[i].thread == t && self.insertions[i].before == at) {
                    let insertion = &self.insertions[i];
                    test.world.objects.extend(insertion.offer.objects.iter().cloned());
                    for inserted in (insertion.offer.calls)(&calls) {
                        new.insert((t, thread.statements.len()), i);
                        points += point;
                        places.insert((t, calls.len() + points), i);
                        thread.source.push((source.0, statement(&inserted)));
                        thread.statements.push(as_statement(&inserted));
                        calls.push(inserted);
                    }
                }
                if self.gone.contains(&(t, at)) {
                    continue;
                }
                points += if let Statement::Call { .. } | Statement::Await { .. } = s { point } else { 0 };
                let sent = if let Statement::Call { .. } = s { s.sent().len() } else { 0 };
                // What is written before a call is a call of its own.
                calls.extend(call(&s).into_iter().flat_map(|c| vec![c; sent + 1]));
                thread.statements.push(s);
                thread.source.push(source);
            }
        }
        Repaired { test, new, calls: places }
    }

    /// An insertion for people.
    fn text(&self, i: usize) -> String {
        let Insertion { thread, before, offer, .. } = &self.insertions[i];
        let own = &self.test.threads[*thread];
        let calls = (offer.calls)(&own.statements[..*before].iter().filter_map(call).collect_vec());
        let what = calls.iter().map(statement).join("; ");
        let (line, text) = &own.source[*before];
        format!("{}: {what} before {text} (line {line})", own.name)
    }
}

/// What is offered before a statement of a thread.
fn offers(
    test: &Test,
    remedies: &[Box<dyn Remedies>],
    thread: usize,
    before: usize,
    is_everywhere: bool,
) -> Vec<Offer> {
    let statements = &test.threads[thread].statements;
    let calls = |of: &[Statement]| of.iter().filter_map(call).collect_vec();
    // What comes next is what is done there: nothing goes between a block and its end.
    if call(&statements[before]).is_none() {
        return Vec::new();
    }
    let (earlier, later) = (calls(&statements[..before]), calls(&statements[before..]));
    let fresh = |position: usize| fresh(test, thread, position);
    let gap = Gap {
        world: &test.world,
        thread: Tid::from_index(thread),
        before: &earlier,
        after: &later,
        fresh: &fresh,
        is_everywhere,
    };
    remedies.iter().flat_map(|r| r.offers(&gap)).collect()
}

/// Gives the n-th call an identifier.
fn name(statements: &mut [Statement], nth: usize, at: usize, id: Val) {
    let mut calls = statements.iter_mut().filter(|s| matches!(s, Statement::Call { .. } | Statement::Await { .. }));
    if let Some(Statement::Call { args, .. }) = calls.nth(nth) {
        args[at] = Arg::Val(id);
    }
}

/// The question, of a program over the libraries of its model.
struct Question<'a, S: Stamped> {
    program: &'a Program<'a>,
    libraries: mowgli_core::library::Libraries<S>,
    limits: Limits<'a>,
    /// The sets with which no execution ends.
    endless: BTreeSet<Set>,
    /// The executions of the test as it stands that are stuck, if they were asked for.
    stuck: Option<BTreeSet<Standstill>>,
    /// The sets with which others are stuck.
    hanging: BTreeSet<Set>,
}

/// The statements that threads wait in, and what the test shows then.
type Standstill = (Vec<Option<String>>, Vec<Val>);

/// Whether an outcome of a test is one that must not be.
fn is_wrong(test: &Test, values: &[Val]) -> bool {
    test.assertions.iter().any(|a| match a.quantifier {
        Quantifier::Forbidden => a.condition.holds(values),
        Quantifier::Forall => !a.condition.holds(values),
        Quantifier::Allowed | Quantifier::Vacuous => false,
    })
}

impl<'a, S: Stamped> Question<'a, S> {
    fn new(program: &'a Program<'a>, limits: Limits<'a>) -> Self {
        let libraries = libraries(program.test.model);
        Self { program, libraries, limits, endless: BTreeSet::new(), stuck: None, hanging: BTreeSet::new() }
    }

    /// Looks at outcomes until one is as it is wanted, all of them together.
    fn explore(&self, test: &Test, is_enough: &mut dyn FnMut(Vec<Val>) -> bool) -> Result<bool, Stop> {
        let mut found = false;
        let explored = with_problem(&self.libraries, test, &[], self.limits, |problem| {
            problem.explore(&mut |solver| {
                found = is_enough(test.values(&problem.outcome_of(solver)));
                if found { Flow::Stop } else { Flow::Continue }
            })
        });
        match explored.stop {
            Some(stop) if !found => Err(cause(stop)),
            _ if !found && (self.limits.expired)() => Err(cause(Stop::Time)),
            _ => Ok(found),
        }
    }

    /// Lists the ways in which executions of a test are stuck.
    fn standstills(&self, test: &Test) -> Result<BTreeSet<Standstill>, Stop> {
        let kinds = stuck_kinds(&self.libraries, test, self.limits).all().map_err(cause)?;
        let statement = |kind: &Kind, t: usize| kind.statement(test, t).map(|(_, text)| text.to_owned());
        let waits = |kind: &Kind| (0..test.threads.len()).map(|t| statement(kind, t)).collect();
        Ok(kinds.into_keys().map(|kind| (waits(&kind), kind.shown)).collect())
    }

    /// Whether an execution of the test with these insertions is stuck that is not without them.
    fn hangs(&mut self, test: &Test) -> Result<bool, Stop> {
        let now = self.standstills(test)?;
        if now.is_empty() {
            return Ok(false);
        }
        if self.stuck.is_none() {
            self.stuck = Some(self.standstills(self.program.test)?);
        }
        Ok(!self.stuck.as_ref().is_some_and(|before| now.is_subset(before)))
    }
}

impl<S: Stamped> Asked for Question<'_, S> {
    fn is_wrong(&mut self, set: &Set) -> Result<bool, Stop> {
        let test = self.program.with(set).test;
        self.explore(&test, &mut |values| is_wrong(&test, &values))
    }

    /// Some execution ends, each outcome that is to be allowed is still there, and nothing is stuck that was not.
    fn keeps(&mut self, set: &Set) -> Result<bool, Stop> {
        let test = self.program.with(set).test;
        let allowed = |a: &&Assertion| a.quantifier == Quantifier::Allowed;
        let mut wanted: Vec<&Assertion> = test.assertions.iter().filter(allowed).collect();
        let mut some_end = false;
        let keeps = self.explore(&test, &mut |values| {
            some_end = true;
            wanted.retain(|a| !a.condition.holds(&values));
            wanted.is_empty()
        })?;
        if !some_end {
            self.endless.insert(set.clone());
        }
        if keeps && self.hangs(&test)? {
            self.hanging.insert(set.clone());
            return Ok(false);
        }
        Ok(keeps)
    }
}

/// A repair, for people.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// What it costs.
    pub cost: u64,
    /// What is inserted, or, of a weakening, what is left of it.
    pub insert: Vec<String>,
    /// What of the test is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leave_out: Vec<String>,
    /// What each insertion orders, in a cycle that forbids what was possible.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// The test with it.
    #[serde(skip)]
    pub fixed: String,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The test.
    pub name: String,
    /// Its model.
    pub model: String,
    /// Whether nothing has to be inserted, or, of a weakening, whether nothing can be left out. `None` if that is not known.
    pub is_done: Option<bool>,
    /// The repairs, cheapest first.
    pub repairs: Vec<Told>,
    /// The minimal sets with which something that is to be allowed is not.
    pub spoiling: Vec<Vec<String>>,
    /// Those with which no execution ends.
    pub endless: Vec<Vec<String>>,
    /// The minimal sets with which an execution is stuck that is not stuck without them.
    pub hanging: Vec<Vec<String>>,
    /// Whether not even all insertions together suffice.
    pub hopeless: bool,
    /// Why there may be more, smaller or cheaper ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// How many sets were asked about.
    pub asked: usize,
    /// Whether this is about what can be left out.
    pub weaken: bool,
}

/// What is asked.
pub struct Ask<'a> {
    /// The costs.
    pub costs: &'a Costs,
    /// What can be left out, in place of what is to be inserted?
    pub weaken: bool,
    /// How far repairs are looked for.
    pub limit: Limit,
    /// The limits of each search.
    pub limits: Limits<'a>,
}

/// Finds the repairs of a test, or what can be left out of it. `text` is that of the test.
///
/// # Errors
/// If the test forbids nothing, its model has no insertions, or a cost is of something else.
pub fn repair(test: &Test, text: &str, ask: &Ask<'_>) -> Result<Answer, String> {
    let remedies = remedies(test.model);
    if remedies.is_empty() {
        return Err(format!("{}: nothing can be inserted into tests of {}", test.name, test.model));
    }
    let says = |q: &Quantifier| test.assertions.iter().any(|a| a.quantifier == *q);
    if !says(&Quantifier::Forbidden) && !says(&Quantifier::Forall) {
        let message =
            "say what must not happen, as `forbidden (a=1)`, and what is to stay possible, as `allowed (a=0)`";
        return Err(format!("{}: there is nothing to repair towards: {message}", test.name));
    }
    if says(&Quantifier::Vacuous) {
        return Err(format!("{}: no execution of it is to end, so nothing is to be repaired", test.name));
    }
    let costs = ask.costs.of(&remedies)?;
    let found = |program: &Program<'_>| match test.model {
        Model::X86Tso => answer::<mowgli_x86::Stamp>(program, text, ask),
        _ => answer::<mowgli_rdma::Stamp>(program, text, ask),
    };
    if ask.weaken {
        return found(&Program::without(test, &remedies, &costs));
    }
    let least = found(&Program::with_all(test, &remedies, &costs, false))?;
    // Where something takes too much away, it may be that the same does not in a place where it orders less.
    if least.spoiling.is_empty() { Ok(least) } else { found(&Program::with_all(test, &remedies, &costs, true)) }
}

fn answer<S: Stamped>(program: &Program<'_>, text: &str, ask: &Ask<'_>) -> Result<Answer, String> {
    let test = program.test;
    let mut question = Question::<S>::new(program, ask.limits);
    let costs = program.costs();
    let whole: Set = program.insertions.iter().positions(|i| i.own.is_some()).collect();
    let own_cost = Repairs::cost(&whole, &costs);
    // What the test promises as it stands: of a weakening with all its own, of a repair that what is to be allowed is.
    let mut stop = None;
    match question.keeps(&whole) {
        Ok(true) => {}
        Ok(false) => {
            let message =
                "something that it says is allowed is not possible, or no execution ends; insertions only take away";
            return Err(format!("{}: {message}", test.name));
        }
        Err(stopped) => stop = Some(stopped),
    }
    let mut limit = ask.limit;
    if ask.weaken {
        limit.cost = limit.cost.min(own_cost);
        match question.is_wrong(&whole) {
            Ok(false) => {}
            Ok(true) => {
                let message = "something forbidden is possible as it is; repair it first, without --weaken";
                return Err(format!("{}: {message}", test.name));
            }
            Err(stopped) => stop = Some(stopped),
        }
    }
    let found = match stop {
        None => Repairs::of(&mut question, &costs, limit),
        Some(stop) => Repairs { open: Some(Open::Stopped(stop)), ..Repairs::default() },
    };
    let is_done = match (&found.minimal[..], ask.weaken) {
        ([first, ..], false) => Some(first.is_empty()),
        ([first, ..], true) => Some(*first == whole),
        ([], _) if found.open.is_some() => None,
        ([], _) => Some(false),
    };
    let told = |set: &Set| told(&question, set, &whole, text);
    let worth = found
        .minimal
        .iter()
        .filter(|s| !s.is_empty() && (!ask.weaken || **s != whole) || ask.weaken && !whole.is_empty() && s.is_empty());
    let texts = |is: &dyn Fn(&Set) -> bool| {
        let chosen = found.spoiling.iter().filter(|set| is(set));
        chosen.map(|set| set.iter().map(|&i| program.text(i)).collect()).collect()
    };
    Ok(Answer {
        name: test.name.clone(),
        model: test.model.to_string(),
        is_done,
        repairs: worth.map(told).collect::<Result<_, _>>()?,
        spoiling: texts(&|set| !question.endless.contains(set) && !question.hanging.contains(set)),
        hanging: texts(&|set| question.hanging.contains(set)),
        endless: texts(&|set| question.endless.contains(set)),
        hopeless: found.hopeless,
        undecided: found.open.as_ref().map(ToString::to_string),
        asked: found.asked,
        weaken: ask.weaken,
    })
}

fn told<S: Stamped>(question: &Question<'_, S>, set: &Set, whole: &Set, text: &str) -> Result<Told, String> {
    let program = question.program;
    let is_own = |i: &&usize| program.insertions[**i].own.is_some();
    let repaired = program.with(set);
    let texts = |all: &mut dyn Iterator<Item = &usize>| all.map(|&i| program.text(i)).collect_vec();
    let own = |i: &usize| {
        let Insertion { thread, before, .. } = &program.insertions[*i];
        let (line, text) = &program.test.threads[*thread].source[*before];
        format!("{}: {text} (line {line})", program.test.threads[*thread].name)
    };
    Ok(Told {
        cost: Repairs::cost(set, &program.costs()),
        insert: texts(&mut set.iter().filter(|i| !is_own(i))),
        leave_out: whole.difference(set).map(own).collect(),
        because: reasons(question, &repaired),
        fixed: fixed(program.test, &repaired, text)?,
    })
}

/// The most ways to get an outcome that are looked at for reasons.
const WAYS: usize = 5;

/// What each insertion orders: of each the first edges of a cycle, through it, that forbids what must not be. If there is none, a
/// whole cycle.
fn reasons<S: Stamped>(question: &Question<'_, S>, repaired: &Repaired) -> Vec<String> {
    let test = &repaired.test;
    let wanted = |o: &Outcome| is_wrong(test, &test.values(o));
    let refutations =
        with_problem(&question.libraries, test, &[], question.limits, |problem| problem.refutations(&wanted, WAYS));
    let words = Words { statements: test.texts(), names: Names::of(test) };
    let edges: Vec<&Edge> = refutations.so_far().0.iter().flat_map(|r| &r.edges).collect();
    let mut told = Vec::new();
    for i in repaired.calls.values().unique() {
        let is_of =
            |end: &mowgli_core::search::refute::End| repaired.calls.get(&(end.thread.index(), end.position)) == Some(i);
        let into = edges.iter().find(|e| is_of(&e.to) && !is_of(&e.from));
        let out = edges.iter().find(|e| is_of(&e.from) && !is_of(&e.to));
        told.extend([into, out].into_iter().flatten());
    }
    // What is inserted may order others that are there, as a poll does which lets the next one take the next operation.
    if told.is_empty() {
        told.extend(refutations.so_far().0.iter().take(1).flat_map(|r| &r.edges));
    }
    told.into_iter().map(|e| words.sentence(e)).unique().collect()
}

/// The text of a test with insertions: its columns are written anew, and the words that are needed declared.
fn fixed(test: &Test, repaired: &Repaired, text: &str) -> Result<String, String> {
    let place = columns(text)?;
    let column = |(t, thread): (usize, &crate::litmus::test::Thread)| {
        let node = test.world.threads[t];
        let head =
            if test.model == Model::X86Tso { thread.name.to_string() } else { format!("{}@{node}", thread.name) };
        let old: Vec<&Statement> = test.threads[t].statements.iter().collect();
        let row = |(at, (s, (_, source))): (usize, (&Statement, &(usize, String)))| {
            let is_as_it_was = repaired.new.contains_key(&(t, at)) || old.contains(&s);
            if is_as_it_was { source.clone() } else { written(&repaired.test, s) }
        };
        let rows = thread.statements.iter().zip(&thread.source).enumerate().map(row);
        [head].into_iter().chain(rows).collect()
    };
    let table = table(repaired.test.threads.iter().enumerate().map(column).collect());
    let added = repaired.test.world.objects.iter().filter(|(x, _)| !test.world.objects.contains_key(x));
    let words: String = added.map(|(x, o)| o.node.map_or_else(String::new, |n| format!("  {x}@{n} = 0;\n"))).collect();
    let brace = text[..place.start].rfind('}').unwrap_or(place.start);
    let head = [&text[..brace], &words, &text[brace..place.start]].concat();
    Ok(format!("{head}{}{}", table.trim(), &text[place.end..]))
}

impl Answer {
    /// 0 if nothing is to be done, 1 if something is or nothing can be, 3 if that is not known.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self.is_done {
            Some(true) => 0,
            _ if self.undecided.is_some() => 3,
            Some(false) | None => 1,
        }
    }

    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let head = match (self.is_done, &self.repairs[..]) {
            (Some(true), _) if self.weaken => "nothing can be left out or be weaker".to_owned(),
            (Some(true), _) => "nothing has to be inserted".to_owned(),
            (None, _) => "undecided".to_owned(),
            (_, []) if self.hopeless => {
                "no repair: what is forbidden is possible with everything inserted everywhere".to_owned()
            }
            (_, []) if self.undecided.is_some() => "undecided".to_owned(),
            (_, []) => {
                "no repair: whatever forbids the one also forbids what is to be allowed, or lets no execution end, or some wait for ever"
                    .to_owned()
            }
            (_, all) if self.weaken => format!("more than needed; {} weaker", count(all.len())),
            (_, all) => count(all.len()),
        };
        let mut lines = vec![format!("{} ({}): {head}", self.name, self.model)];
        for repair in &self.repairs {
            lines.push(format!("  cost {}", repair.cost));
            lines.extend(repair.leave_out.iter().map(|what| format!("    without {what}")));
            lines.extend(repair.insert.iter().map(|what| format!("    {what}")));
            lines.extend(repair.because.iter().map(|why| format!("      {why}")));
        }
        let all = [
            ("these would forbid what is to be allowed", &self.spoiling),
            ("with these no execution would end", &self.endless),
            ("with these some execution would wait for ever", &self.hanging),
        ];
        for (what, sets) in all.into_iter().filter(|(_, sets)| !sets.is_empty()) {
            lines.push(format!("  {what}"));
            lines.extend(sets.iter().map(|all| format!("    {}", all.join("; "))));
        }
        lines.extend(self.undecided.as_ref().map(|why| format!("  there may be others, or smaller ones: {why}")));
        lines.join("\n") + "\n"
    }

    /// One JSON object.
    ///
    /// # Panics
    /// Never: it consists of strings, numbers and truth values.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("strings, numbers and truth values")
    }
}

fn count(n: usize) -> String {
    format!("{n} minimal repair{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::litmus::parse::parse;

    /// A random program of a model, of two threads that write to each other, which forbids one of its outcomes.
    fn random(model: Model, random: &mut fastrand::Rng) -> Option<(Test, String)> {
        let (words, statements): (&str, [&[&str]; 2]) = match model {
            Model::X86Tso => ("x = 0; y = 0;", [&["x := 1", "y := 2", "R := x", "R := y"]; 2]),
            Model::RDMA_WAIT => (
                "x@1 = 0; p@1 = 5; y@2 = 0; q@2 = 6;",
                [
                    &["x := 1", "R := x", "p := 3", "put(y, p)", "get(p, y)"],
                    &["y := 2", "R := y", "put(x, q)", "q := 4"],
                ],
            ),
            _ => (
                "x@1 = 0; p@1 = 5; y@2 = 0; q@2 = 6;",
                [
                    &["x := 1", "R := x", "p := 3", "put(y, p)", "get(p, y)"],
                    &["y := 2", "R := y", "put(x, q)", "get(q, x)"],
                ],
            ),
        };
        let heads = if model == Model::X86Tso { ["P1", "P2"] } else { ["P1@1", "P2@2"] };
        let column = |(t, head): (usize, &&str), random: &mut fastrand::Rng| {
            let row = |n: usize| statements[t][random.usize(..statements[t].len())].replace('R', &format!("r{t}{n}"));
            [(*head).to_owned()].into_iter().chain((0..3).map(row)).collect::<Vec<_>>()
        };
        let columns = heads.iter().enumerate().map(|c| column(c, random)).collect();
        let text = format!("{model} t {{ {words} }}\n{}", table(columns));
        let test = parse("t", &format!("{text}{}", "locations [x; y;]\n")).unwrap();
        let outcomes: Vec<Vec<Val>> =
            crate::litmus::run::solve(&test, &[], Limits::default()).outcomes.into_keys().collect();
        if outcomes.len() < 2 {
            return None;
        }
        let condition =
            |values: &[Val]| test.shown.iter().zip(values).map(|((name, _), v)| format!("{name}={v}")).join(" /\\ ");
        let at = random.usize(..outcomes.len());
        let [bad, good] = [at, (at + 1) % outcomes.len()].map(|i| condition(&outcomes[i]));
        let text = format!("{text}locations [x; y;]\nforbidden ({bad})\nallowed ({good})\n");
        Some((parse("t", &text).unwrap(), text))
    }

    fn is_as_by_force<S: Stamped>(program: &Program<'_>, text: &str) -> usize {
        let limits = Limits::default();
        let mut question = Question::<S>::new(program, limits);
        let costs = program.costs();
        let found = Repairs::of(&mut question, &costs, Limit { insertions: costs.len(), ..Limit::default() });
        let all: Vec<Set> =
            (0..1_u32 << costs.len()).map(|bits| (0..costs.len()).filter(|i| bits >> i & 1 == 1).collect()).collect();
        let good: Vec<&Set> = all.iter().filter(|set| question.is_wrong(set) == Ok(false)).collect();
        let minimal = good.iter().filter(|s| !good.iter().any(|o| o.is_subset(s) && o != *s));
        let wanted: BTreeSet<&Set> = minimal.filter(|set| question.keeps(set) == Ok(true)).copied().collect();
        assert_eq!(found.minimal.iter().collect::<BTreeSet<_>>(), wanted, "{text}");
        assert_eq!((found.hopeless, found.open), (good.is_empty(), None), "{text}");
        found.minimal.len()
    }

    /// The outcomes of a test with one call before a statement.
    fn outcomes(test: &Test, thread: usize, before: usize, call: Option<Call>) -> BTreeSet<Vec<Val>> {
        let offer = call.map(|c| Offer::call("fence", c));
        let insertions =
            offer.map(|offer| Insertion { thread, before, offer, cost: 1, own: None }).into_iter().collect();
        let program = Program { test, gone: BTreeSet::new(), insertions };
        let inserted = program.with(&(0..program.insertions.len()).collect()).test;
        crate::litmus::run::solve(&inserted, &[], Limits::default()).outcomes.into_keys().collect()
    }

    /// All first threads of three statements, in which writes can be late, and the network card reads and writes.
    fn programs(model: Model) -> Vec<Vec<&'static str>> {
        let remote: &[&str] = if model == Model::X86Tso { &[] } else { &["put(z, p)", "get(p, z)"] };
        let statements = [&["x := 1", "x := 3", "a := y"], remote].concat();
        // A register is written once.
        let is_one = |all: &Vec<&str>| all.iter().filter(|s| **s == "a := y").count() == 1;
        (0..3).map(|_| statements.clone()).multi_cartesian_product().filter(is_one).collect()
    }

    /// A fence that is not offered in a place does nothing there, or what it does where it is offered. Where only the best places
    /// are offered it does no more than in one of these.
    #[test]
    fn a_fence_that_is_not_offered_is_of_no_more_use_than_one_that_is() {
        let (mut moved, mut useless) = (0, 0);
        let models = [Model::X86Tso, Model::RDMA_TSO, Model::RDMA_WAIT, Model::RdmaSc];
        for (model, of_first) in models.into_iter().flat_map(|m| programs(m).into_iter().map(move |p| (m, p))) {
            let is_x86 = model == Model::X86Tso;
            let words = if is_x86 { "x = 0; y = 0;" } else { "x@1 = 0; y@1 = 0; p@1 = 5; z@2 = 0;" };
            let column = |(head, all): (&str, Vec<&str>)| {
                let head = if is_x86 { head.to_owned() } else { format!("{head}@1") };
                [head].into_iter().chain(all.into_iter().map(ToOwned::to_owned)).collect()
            };
            let columns = [("P1", of_first), ("P2", vec!["y := 2", "mfence", "b := x"])].map(column);
            let text = format!("{model} t {{ {words} }}\n{}locations [x;]\n", table(columns.into()));
            let test = parse("t", &text).unwrap();
            let remedies = remedies(model);
            let library = match model {
                Model::X86Tso => mowgli_x86::tso::X86,
                Model::RDMA_WAIT => mowgli_rdma::wait::WAIT,
                _ => mowgli_rdma::tso::TSO,
            };
            let nodes = if model == Model::X86Tso { Vec::new() } else { test.world.all_nodes().iter().collect() };
            let rfences = nodes.into_iter().map(|n| Call::new(library, "Rfence", &[n.into()]));
            let as_it_is = outcomes(&test, 0, 0, None);
            for (fence, thread) in rfences.chain([Call::new(library, "Mfence", &[])]).cartesian_product(0..2) {
                let places = 0..test.threads[thread].statements.len();
                let with = places.clone().map(|at| outcomes(&test, thread, at, Some(fence.clone()))).collect_vec();
                for is_everywhere in [true, false] {
                    let is_offered = |at: usize| {
                        let all = offers(&test, &remedies, thread, at, is_everywhere);
                        all.iter().any(|o| (o.calls)(&[]) == [fence.clone()])
                    };
                    let (offered, others): (Vec<usize>, Vec<usize>) = places.clone().partition(|at| is_offered(*at));
                    let does_as = |at: usize, o: &usize| {
                        with[at] == with[*o] || !is_everywhere && with[at].is_superset(&with[*o])
                    };
                    for at in others {
                        let is_moved = offered.iter().any(|o| does_as(at, o));
                        let where_ = format!("{} before {at} of {thread}", statement(&fence));
                        assert!(is_moved || with[at] == as_it_is, "{where_}, {is_everywhere}: {text}");
                        moved += usize::from(with[at] != as_it_is);
                        useless += usize::from(with[at] == as_it_is);
                    }
                }
            }
        }
        assert!(moved > 5 && useless > 50, "{moved} moved, {useless} useless");
    }

    /// On small programs what is found is what all subsets of insertions tell.
    #[test]
    fn minimal_repairs_are_those_that_brute_force_finds() {
        let mut rng = fastrand::Rng::with_seed(17);
        let (mut repaired, mut asked) = (0, 0);
        for model in [Model::X86Tso, Model::RDMA_TSO, Model::RDMA_WAIT, Model::RdmaSc].into_iter().cycle().take(120) {
            let Some((test, text)) = random(model, &mut rng) else { continue };
            let remedies = remedies(model);
            let program = Program::with_all(&test, &remedies, &Costs::default().of(&remedies).unwrap(), false);
            if program.insertions.len() > 6 {
                continue;
            }
            asked += 1;
            repaired += match model {
                Model::X86Tso => is_as_by_force::<mowgli_x86::Stamp>(&program, &text),
                _ => is_as_by_force::<mowgli_rdma::Stamp>(&program, &text),
            };
        }
        assert!(asked > 40 && repaired > 5, "{asked} programs, {repaired} repairs");
    }
}
