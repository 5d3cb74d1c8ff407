//! The `robust` command: is a program with polls robust, why, and what has to be inserted if it is not?

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::execution::Execution;
use mowgli_core::ids::Tid;
use mowgli_core::library::Library;
use mowgli_core::rewrite::repair::{Insertions, Offer};
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::search::runs::Stop;
use mowgli_core::search::solver::Flow;
use mowgli_core::search::witness::completions;
use mowgli_core::soundness::client::Client;
use mowgli_core::term::method::{self, ArgumentKind};
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::remedies::of_figure_5;
use mowgli_rdma::robust::{Cpu, NotATree, PreExecution, Reordered, ScEdge, sc_cycle};
use mowgli_rdma::tso::Tso;
use serde::Serialize;

use crate::error::{Code, InputError};
use crate::interrupt::cause;
use crate::litmus::print::statement;
use crate::litmus::run::{WHY_NONE, ends, ill_defined, libraries, solve, stuck_kinds};
use crate::litmus::semantics::Semantics;
use crate::litmus::test::{Arg, Model, Statement, Test, TestThread};
use crate::repair::edits::{GapInsertion, ThreadEdit};
use crate::repair::{EditableTest, fixed};

/// The verdict on the robustness of a program.
#[derive(Clone, Debug)]
pub enum RobustVerdict {
    /// It is locally data-race free and fenced (ROBUST Theorems 5 and 17).
    ByTheorem,
    /// No consistent execution has a cycle of sc.
    BySearch,
    /// This execution has one.
    NotRobust(Box<Execution>, Vec<ScEdge>),
    /// No execution that ends has a cycle of sc; stuck executions, of this number of kinds, were not searched.
    UnlessStuck(usize),
    /// No execution ends, so none has a cycle of sc.
    Vacuous,
    /// A limit stopped the search.
    Undecided(Stop),
}

/// The parts of a program that violate the conditions of the theorems.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Local data races.
    pub races: Vec<Reordered>,
    /// Pairs that are not fenced.
    pub unfenced: Vec<Reordered>,
    /// Reasons not to be tree-fenced.
    pub not_a_tree: Vec<NotATree>,
}

/// The result for one test.
pub struct Robust<'a> {
    test: &'a Test,
    cpu: Cpu,
    /// The test with the insertions to choose from.
    program: EditableTest<'a>,
    /// The conditions of the theorems. `None` for programs that the theorems do not cover: those with remote
    /// read-modify-writes, or with calls that depend on values read.
    pub conditions: Option<Conditions>,
    /// The verdict.
    pub verdict: RobustVerdict,
    /// The smallest repair after which the program is robust by theorem.
    pub by_theorem: Option<Insertions>,
    /// A smaller one after which it is robust by search.
    pub by_search: Option<Insertions>,
    /// Whether some repairs were not tried, because they are too many or the time was up.
    pub untried: bool,
}

/// The advice for programs that the theorems do not cover.
const HAND_OVER: &str =
    "; `mowgli repair FILE` finds what to insert so that what its `forbidden` lines say does not happen";

/// The most things to insert into one thread.
const MOST: usize = 4;
/// The most candidates for a repair by search.
const TRIED: usize = 3_000;

/// Returns the model with this CPU.
fn model(cpu: Cpu) -> Model {
    match cpu {
        Cpu::Sc => Model::RdmaSc,
        Cpu::Tso => Model::RDMA_TSO,
    }
}

/// Returns the calls of each thread, with 0 for data from registers, because data does not matter here. `None` if
/// values read decide which calls there are, or which words they access.
fn calls(test: &Test) -> Option<Vec<Vec<Call>>> {
    let is_data = |name: &str, at: usize| {
        let method = method::named(Tso::PUBLISHED.methods(), name);
        method.is_some_and(|m| matches!(m.takes[at], (_, ArgumentKind::Value)))
    };
    let of_statement = |s: &Statement| match s {
        Statement::Call { library, method, args, .. } => {
            let value = |(at, arg): (usize, &Arg)| match arg {
                Arg::Val(v) => Some(*v),
                _ => is_data(method, at).then_some(Val::Int(0)),
            };
            let args = args.iter().enumerate().map(value).collect::<Option<Vec<Val>>>();
            Some(args.map(|args| Call::new(*library, method, &args)))
        }
        Statement::Set(..) => None,
        _ => Some(None),
    };
    test.threads.iter().map(|t| t.statements.iter().filter_map(of_statement).collect()).collect()
}

/// An execution and a cycle of sc in it.
pub type Cyclic = (Execution, Vec<ScEdge>);

/// Searches the consistent executions of these programs of RDMA-TSO or RDMA-SC for one with a cycle of sc.
///
/// # Errors
/// The limit that stopped the search.
pub fn search(
    cpu: Cpu,
    world: &World,
    programs: &[Script],
    expired: &dyn Fn() -> bool,
) -> Result<Option<Cyclic>, Stop> {
    let libraries = libraries(model(cpu));
    let limits = Limits { expired, ..Limits::default() };
    let problem = Problem { limits, ..Problem::of(&libraries, world, programs) };
    let mut found = None;
    let explored = problem.explore(&mut |solver| {
        completions(solver, &mut |execution| {
            found = sc_cycle(&libraries, &execution).map(|cycle| (execution, cycle));
            if found.is_some() || expired() { Flow::Stop } else { Flow::Continue }
        })
    });
    match (found, explored.stop) {
        (None, Some(stop)) => Err(cause(stop)),
        (None, None) if expired() => Err(cause(Stop::Time)),
        (found, _) => Ok(found),
    }
}

/// Returns a test with the insertions of ROBUST Fig. 5, and memory fences. One before the first call is left out, since it orders
/// nothing.
#[must_use]
pub fn insertions(test: &Test) -> EditableTest<'_> {
    let of_thread = |(thread, own): (usize, &TestThread)| {
        let calls = own.statements.iter().positions(|s| matches!(s, Statement::Call { .. }));
        let gaps = calls.chain([own.statements.len()]).skip(1).collect_vec();
        let edit = |(offer, before): (Offer, usize)| ThreadEdit {
            thread,
            before,
            what: GapInsertion::Calls(offer),
            takes: None,
            cost: 1,
        };
        of_figure_5(&test.world, Tid::from_index(thread)).into_iter().cartesian_product(gaps).map(edit).collect_vec()
    };
    let edits = test.threads.iter().enumerate().flat_map(of_thread).collect();
    EditableTest { test, gone: BTreeSet::new(), edits }
}

/// Returns the sets of these sizes of some insertions, the smallest first.
fn sets(all: impl IntoIterator<Item = usize>, sizes: RangeInclusive<usize>) -> impl Iterator<Item = Insertions> {
    let all = all.into_iter().collect_vec();
    sizes.flat_map(move |k| all.clone().into_iter().combinations(k)).map(|set| set.into_iter().collect())
}

/// Finds a smallest set of insertions after which a program is locally data-race free and fenced. Returns `None` if
/// some thread needs more than `most`. The conditions for a thread do not depend on insertions into another one, since
/// insertions touch no public location. So the search repairs each thread by itself.
///
/// # Errors
/// If the time is up.
pub fn repairs(
    program: &EditableTest<'_>,
    cpu: Cpu,
    most: usize,
    expired: &dyn Fn() -> bool,
) -> Result<Option<Insertions>, Stop> {
    let still = |set: &Insertions, t: usize| {
        let repaired = program.with(set).test;
        let threads = calls(&repaired)?;
        let program = PreExecution::new(&repaired.world, &threads)?;
        let own = |r: &Reordered| r.thread.index() == t;
        Some(program.races().iter().any(own) || program.unfenced(cpu).iter().any(own))
    };
    let mut all = Insertions::new();
    for t in 0..program.test.threads.len() {
        let own = program.edits.iter().positions(|edit| edit.thread == t);
        let mut open = sets(own, 0..=most).take_while(|_| !expired());
        match open.find(|set| still(set, t) == Some(false)) {
            Some(found) => all.extend(found),
            None if expired() => return Err(Stop::Time),
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// Decides whether a test is robust, under the model that it names or under `cpu`.
///
/// # Errors
/// If the test is of another model, or has a poll that nothing precedes.
pub fn robust<'a>(test: &'a Test, cpu: Option<Cpu>, expired: &dyn Fn() -> bool) -> Result<Robust<'a>, InputError> {
    test.is_made_as_usual("robustness")?;
    let own = match test.model {
        Model::RDMA_TSO => Cpu::Tso,
        Model::RdmaSc => Cpu::Sc,
        Model::RdmaTso(_) => {
            // The theorems are about the models as they are published.
            return Err(InputError::new(
                Code::Unsupported,
                format!("{}: robustness is asked of models as they are published, not of {}", test.name, test.model),
            ));
        }
        model => {
            let next = if matches!(model.semantics(), Semantics::Own(_)) { "" } else { HAND_OVER };
            return Err(InputError::new(
                Code::Unsupported,
                format!("{}: robustness is asked of programs with polls{next}", test.name),
            ));
        }
    };
    let limits = Limits { expired, ..Limits::default() };
    let (cpu, threads, programs) = (cpu.unwrap_or(own), calls(test), test.programs(&libraries(test.model)));
    let is_rmw = |s: &Statement| matches!(s, Statement::Call { method: "RCAS" | "RFAA" | "RXchg", .. });
    let has_rmw = test.threads.iter().flat_map(|t| &t.statements).any(is_rmw);
    if has_rmw && cpu == Cpu::Sc {
        return Err(InputError::new(
            Code::Unsupported,
            format!("{}: RDMA_SC has no remote read-modify-writes", test.name),
        ));
    }
    let mut found = Robust {
        test,
        cpu,
        program: insertions(test),
        conditions: None,
        verdict: RobustVerdict::Vacuous,
        by_theorem: None,
        by_search: None,
        untried: false,
    };
    if ends(&libraries(model(cpu)), test, &[], limits) == Ok(false) {
        return Ok(found);
    }
    let threads = threads.filter(|_| !has_rmw);
    let conditions = match &threads {
        None => None,
        Some(threads) => {
            let program = PreExecution::new(&test.world, threads).ok_or_else(|| {
                InputError::new(
                    Code::Unsupported,
                    format!("{}: a poll has no operation to take, so the program never ends", test.name),
                )
            })?;
            let (races, unfenced) = (program.races(), program.unfenced(cpu));
            Some(Conditions { races, unfenced, not_a_tree: program.not_tree_fenced(cpu) })
        }
    };
    let by_theorem = conditions.as_ref().is_some_and(|c: &Conditions| c.races.is_empty() && c.unfenced.is_empty());
    let verdict = match search(cpu, &test.world, &programs, expired) {
        Ok(None) if by_theorem => RobustVerdict::ByTheorem,
        Ok(None) => RobustVerdict::BySearch,
        Ok(Some((execution, cycle))) => RobustVerdict::NotRobust(Box::new(execution), cycle),
        Err(Stop::IllDefined(fault)) => {
            let error = solve(test, &[], limits).error(test);
            return Err(error.unwrap_or_else(|| ill_defined(test, &fault)));
        }
        Err(_) if by_theorem => RobustVerdict::ByTheorem,
        Err(stop) => RobustVerdict::Undecided(stop),
    };
    // Threads without branches and loops wait in polls only, and each poll has its operation.
    let verdict = match verdict {
        RobustVerdict::BySearch if conditions.is_none() => {
            let (stuck, stop) = stuck_kinds(&libraries(model(cpu)), test, limits).into_parts();
            match (stuck.len(), stop) {
                (0, None) => RobustVerdict::BySearch,
                (0, Some(stop)) => RobustVerdict::Undecided(cause(stop)),
                (number, _) => RobustVerdict::UnlessStuck(number),
            }
        }
        verdict => verdict,
    };
    (found.conditions, found.verdict) = (conditions, verdict);
    if threads.is_none() {
        return Ok(found);
    }
    if !by_theorem {
        match repairs(&found.program, cpu, MOST, expired) {
            Ok(repairs) => found.by_theorem = repairs,
            Err(_) => found.untried = true,
        }
    }
    if matches!(found.verdict, RobustVerdict::NotRobust(..)) {
        let (by_search, untried) = found.repaired_by_search(expired);
        found.by_search = by_search;
        found.untried |= untried;
    }
    Ok(found)
}

impl Robust<'_> {
    /// Searches for a repair that is smaller than the one by theorem and leaves no cycle of sc in any execution. Also
    /// returns whether some were not tried.
    fn repaired_by_search(&self, expired: &dyn Fn() -> bool) -> (Option<Insertions>, bool) {
        let most = self.by_theorem.as_ref().map_or(MOST, |known| known.len().saturating_sub(1));
        let mut sets = sets(0..self.program.edits.len(), 1..=most);
        let mut stopped = false;
        let is_good = |set: &Insertions| {
            let repaired = self.program.with(set).test;
            let threads = calls(&repaired).filter(|threads| PreExecution::new(&repaired.world, threads).is_some());
            let Some(threads) = threads else { return false };
            let cyclic = search(self.cpu, &repaired.world, &Client { threads }.programs(), expired);
            stopped |= cyclic.is_err();
            matches!(cyclic, Ok(None))
        };
        let found = sets.by_ref().take(TRIED).take_while(|_| !expired()).find(is_good);
        let untried = stopped || found.is_none() && (expired() || sets.next().is_some());
        (found, untried)
    }

    /// Whether the program is robust; `None` if the verdict leaves that open.
    #[must_use]
    pub fn is_robust(&self) -> Option<bool> {
        match self.verdict {
            RobustVerdict::ByTheorem | RobustVerdict::BySearch => Some(true),
            RobustVerdict::NotRobust(..) => Some(false),
            RobustVerdict::UnlessStuck(_) | RobustVerdict::Vacuous | RobustVerdict::Undecided(_) => None,
        }
    }

    /// True if no execution of the program ends.
    #[must_use]
    pub fn is_vacuous(&self) -> bool {
        matches!(self.verdict, RobustVerdict::Vacuous)
    }

    /// Returns the position of the statement that is the n-th call of a thread.
    fn statement(&self, t: Tid, call: usize) -> usize {
        let statements = &self.test.threads[t.index()].statements;
        let calls = statements.iter().positions(|s| matches!(s, Statement::Call { .. }));
        calls.collect_vec().get(call).copied().unwrap_or(statements.len())
    }

    /// Returns a call as it was written, with its line.
    fn at(&self, t: Tid, call: usize) -> String {
        let source = &self.test.threads[t.index()].source;
        source.get(self.statement(t, call)).map_or("the end".to_owned(), |(line, text)| format!("{text} (line {line})"))
    }

    fn name(&self, t: Tid) -> String {
        self.test.threads[t.index()].name.to_string()
    }

    fn pair(&self, r: &Reordered) -> String {
        let (earlier, later) = (self.at(r.thread, r.earlier), self.at(r.thread, r.later));
        format!("{}: {earlier} {}, and {later} {}", self.name(r.thread), r.first, r.second)
    }

    fn not_a_tree(&self, reason: &NotATree) -> String {
        match reason {
            NotATree::Public(t, call, x) => {
                format!(
                    "{}: {} uses {x} locally, which another thread accesses (Def. 9, 1)",
                    self.name(*t),
                    self.at(*t, *call)
                )
            }
            NotATree::Overtaken(r) => format!("{}: no remote fence or poll between (Def. 9, 2)", self.pair(r)),
            NotATree::Cycle(nodes) => format!("nodes {} are a cycle (Def. 9, 3a)", nodes.iter().join(", ")),
            NotATree::BothWays(m, n) => format!("nodes {m} and {n} have queue pairs towards each other (Def. 9, 3b)"),
            NotATree::TwoPairs(t, u, n) => {
                format!(
                    "{} and {} of one node both have a queue pair to node {n} (Def. 9, 3c)",
                    self.name(*t),
                    self.name(*u)
                )
            }
            NotATree::StoreBuffering(r) => format!("{}: no memory fence between (Def. 14, 2)", self.pair(r)),
        }
    }

    /// Describes the programs that the theorems cover, by a property that this program lacks.
    fn theorems_are_about(&self) -> &'static str {
        match calls(self.test) {
            Some(_) => "without remote read-modify-writes",
            None => {
                "whose threads make the same calls whatever they read: without if, while, await, assume, and places that are computed"
            }
        }
    }

    fn insertion(&self, i: usize) -> String {
        let ThreadEdit { thread, before, ref what, .. } = self.program.edits[i];
        let GapInsertion::Calls(offer) = what else { return self.program.text(i) };
        let what = match &(offer.calls)(&[])[..] {
            [_, poll, ..] => format!("a get from node {} and its poll", poll.args[0]),
            calls => calls.iter().map(statement).collect(),
        };
        let own = &self.test.threads[thread];
        let at = own.source.get(before).map_or("the end".to_owned(), |(line, text)| format!("{text} (line {line})"));
        format!("{}: {what} before {at}", own.name)
    }

    /// Returns the result as text.
    #[must_use]
    pub fn text(&self) -> String {
        let verdict = match &self.verdict {
            RobustVerdict::ByTheorem => "robust, by theorem".to_owned(),
            RobustVerdict::BySearch => "robust, by search".to_owned(),
            RobustVerdict::NotRobust(..) => "not robust".to_owned(),
            RobustVerdict::UnlessStuck(number) => format!(
                "undecided: each execution that ends is sequentially consistent, and executions of {number} {} are stuck; \
                 `mowgli litmus FILE` prints those",
                if *number == 1 { "kind" } else { "kinds" }
            ),
            RobustVerdict::Vacuous => format!("vacuous: no execution ends: {WHY_NONE}"),
            RobustVerdict::Undecided(stop) => format!("undecided: {stop}"),
        };
        let mut lines = vec![format!("{} ({}): {verdict}", self.test.name, model(self.cpu))];
        match &self.conditions {
            None if self.is_vacuous() => {}
            None => {
                lines.push(format!("  the theorems, and so repairs, are for programs {}", self.theorems_are_about()));
                if self.is_robust() != Some(true) {
                    lines.push(format!("  {}", HAND_OVER.trim_start_matches("; ")));
                }
            }
            Some(Conditions { races, unfenced, not_a_tree }) => {
                let mut say = |name: &str, def: &str, reasons: Vec<String>| {
                    lines.push(format!("  {name}: {}", if reasons.is_empty() { "yes" } else { "no" }));
                    lines.extend(reasons.iter().map(|reason| format!("    {reason}{def}")));
                };
                let pairs = |all: &[Reordered]| all.iter().map(|r| self.pair(r)).collect();
                let fenced = if self.cpu == Cpu::Sc { " (Def. 8)" } else { " (Def. 13)" };
                say("locally data-race free", " (Def. 7)", pairs(races));
                say("fenced", fenced, pairs(unfenced));
                say("tree-fenced", "", not_a_tree.iter().map(|r| self.not_a_tree(r)).collect());
            }
        }
        if let RobustVerdict::NotRobust(execution, cycle) = &self.verdict {
            lines.push("  an execution that is not sequentially consistent has the cycle".to_owned());
            let name = |s: usize| {
                let sub = &execution.subs[s];
                let event = &execution.events[sub.event];
                let text = statement(&event.call);
                format!("{}: {text} ({})", self.name(event.thread), sub.sub.stamp)
            };
            lines.extend(cycle.iter().map(|&(a, kind, b)| format!("    {}  {kind}  {}", name(a), name(b))));
        }
        let mut repair = |how: &str, insertions: &Option<Insertions>| {
            if let Some(all) = insertions {
                lines.push(format!("  robust {how} with"));
                lines.extend(all.iter().map(|&i| format!("    {}", self.insertion(i))));
            }
        };
        repair("by theorem", &self.by_theorem);
        repair("by search", &self.by_search);
        if self.untried {
            let known = self.by_theorem.is_some() || self.by_search.is_some();
            let which = if known { "smaller repairs" } else { "repairs" };
            lines.push(format!("  {which} were not all tried"));
        }
        lines.join("\n") + "\n"
    }

    /// Returns one JSON object.
    ///
    /// # Panics
    /// Never: the object consists of strings and truth values.
    #[must_use]
    pub fn json(&self) -> String {
        let insertions = |how: &'static str, all: &Option<Insertions>| {
            all.as_ref().map(|all| RobustRepairs { by: how, insert: all.iter().map(|&i| self.insertion(i)).collect() })
        };
        let is_empty = |of: fn(&Conditions) -> bool| self.conditions.as_ref().map(of);
        let line = RobustLine {
            name: &self.test.name,
            model: model(self.cpu).to_string(),
            ldrf: is_empty(|c| c.races.is_empty()),
            fenced: is_empty(|c| c.unfenced.is_empty()),
            tree_fenced: is_empty(|c| c.not_a_tree.is_empty()),
            robust: self.is_robust(),
            by: match self.verdict {
                RobustVerdict::ByTheorem => Some("theorem"),
                RobustVerdict::BySearch | RobustVerdict::NotRobust(..) => Some("search"),
                RobustVerdict::UnlessStuck(_) | RobustVerdict::Vacuous | RobustVerdict::Undecided(_) => None,
            },
            vacuous: self.is_vacuous(),
            stopped: match &self.verdict {
                RobustVerdict::Undecided(stop) => Some(stop.to_string()),
                _ => None,
            },
            stuck: match self.verdict {
                RobustVerdict::UnlessStuck(number) => Some(number),
                _ => None,
            },
            repairs: insertions("theorem", &self.by_theorem)
                .into_iter()
                .chain(insertions("search", &self.by_search))
                .collect(),
            untried: self.untried,
        };
        serde_json::to_string(&line).expect("strings and truth values")
    }

    /// Returns the test with its smallest repair; `None` if none is needed or known. Assertions stay as they are.
    ///
    /// # Errors
    /// If the text is not that of the test.
    pub fn fixed(&self, text: &str) -> Result<Option<String>, InputError> {
        let set = self.by_search.as_ref().or(self.by_theorem.as_ref());
        set.map(|set| fixed(self.test, &self.program.with(set), text)).transpose()
    }
}

#[derive(Serialize)]
struct RobustRepairs {
    by: &'static str,
    insert: Vec<String>,
}

#[derive(Serialize)]
struct RobustLine<'a> {
    name: &'a str,
    model: String,
    ldrf: Option<bool>,
    fenced: Option<bool>,
    tree_fenced: Option<bool>,
    robust: Option<bool>,
    by: Option<&'static str>,
    vacuous: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    /// The number of kinds of stuck executions, which were not searched for cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    stuck: Option<usize>,
    repairs: Vec<RobustRepairs>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    untried: bool,
}
