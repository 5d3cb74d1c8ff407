//! Checks that the text which `mowgli cat` writes means the same as the judge. An evaluator of the text, which shares
//! no code with the algebra, judges every way to make the choices of generated executions.

use std::collections::{BTreeMap, BTreeSet};

use mowgli::catalogue::Catalogue;
use mowgli::error::InputError;
use mowgli_core::execution::{Execution, Subevent};
use mowgli_core::ids::Name;
use mowgli_core::judge::{Complaint, judge};
use mowgli_core::library::Libraries;
use mowgli_core::search::enumerate::rechosen;
use mowgli_core::search::problem::Problem;
use mowgli_core::search::solver::Flow;
use mowgli_core::soundness::client::{Subject, strategy};
use mowgli_core::term::bound::Bound;
use mowgli_core::value::Val;
use mowgli_libraries::catalogue::catalogue;
use mowgli_rdma::to;
use mowgli_rdma::tso::{self, TSO, Tso};
use mowgli_rdma::wait::{self, WAIT, Wait};
use mowgli_rdma::{Network, Switches, sc};
use pest::Parser as _;
use pest::iterators::Pair;
use proptest::prelude::*;

mod grammar {
    #![allow(missing_docs, reason = "pest derives an enum without comments")]

    #[derive(pest_derive::Parser)]
    #[grammar = "../tests/tests/cat.pest"]
    pub struct Cat;
}
use grammar::{Cat, Rule};

/// Returns the text of a model, or of the specification of a library that is built in.
fn cat(name: &str) -> Result<String, InputError> {
    mowgli::cat::cat(Catalogue::builtin(), name)
}

type Set = BTreeSet<usize>;
type Pairs = BTreeSet<(usize, usize)>;

#[derive(Clone, Debug)]
enum Value {
    Set(Set),
    Rel(Pairs),
}

impl Value {
    fn set(self) -> Set {
        if let Self::Set(set) = self { set } else { panic!("{self:?} is no set") }
    }

    fn rel(self) -> Pairs {
        if let Self::Rel(pairs) = self { pairs } else { panic!("{self:?} is no relation") }
    }
}

fn then(a: &Pairs, b: &Pairs) -> Pairs {
    a.iter().flat_map(|&(x, y)| b.iter().filter(move |p| p.0 == y).map(move |p| (x, p.1))).collect()
}

fn closure(rel: &Pairs) -> Pairs {
    let mut all = rel.clone();
    loop {
        let more: Pairs = all.union(&then(&all, &all)).copied().collect();
        if more == all {
            return all;
        }
        all = more;
    }
}

/// The sets and relations of one execution that cat takes as given.
struct Given<'a> {
    execution: &'a Execution,
    own: Vec<usize>,
}

impl<'a> Given<'a> {
    fn sub(&self, s: usize) -> &'a Subevent {
        &self.execution.subs[s]
    }

    fn pairs(&self, holds: impl Fn(usize, usize) -> bool) -> Value {
        let all = self.own.iter().flat_map(|&a| self.own.iter().map(move |&b| (a, b)));
        Value::Rel(all.filter(|&(a, b)| holds(a, b)).collect())
    }

    fn those(&self, holds: impl Fn(usize) -> bool) -> Value {
        Value::Set(self.own.iter().copied().filter(|&s| holds(s)).collect())
    }

    /// Counts the earlier events of the thread that are the same call up to its data.
    fn nth(&self, s: usize) -> usize {
        let event = self.sub(s).event;
        let call = |e: usize| &self.execution.events[e].call;
        let alike = |e: &usize| {
            self.execution.events[*e].thread == self.execution.events[event].thread
                && (call(*e).method, call(*e).args.first()) == (call(event).method, call(event).args.first())
        };
        (0..event).filter(alike).count()
    }

    /// Returns the key by which `same-NAME` compares two subevents.
    fn key(&self, name: &str, s: usize) -> Option<String> {
        let (sub, ex) = (self.sub(s), self.execution);
        let event = &ex.events[sub.event];
        let (thread, args) = (event.thread, &event.call.args);
        let stamp = sub.sub.stamp.to_string();
        let index = stamp.split_once('_').map(|(_, n)| n.split('[').next().unwrap_or(n).to_owned());
        match name {
            "event" => Some(sub.event.to_string()),
            "thread" => Some(thread.to_string()),
            "index" | "target" => index,
            "queue-pair" => Some(format!("{thread} {}", index?)),
            "wid" => args.iter().find(|v| matches!(v, Val::Wid(_))).map(ToString::to_string),
            "lock" => Some(args[0].to_string()),
            "section" => Some(format!("{thread} {} {}", args[0], self.nth(s))),
            "barrier-and-round" => Some(format!("{} {}", args[0], self.nth(s))),
            "copy-of-ring" => {
                let here = ex.world.node_of(thread);
                Some(format!("{} {}", args[0], sub.sub.cell.map_or(here, |c| c.node)))
            }
            "node-towards" => tso::towards(&ex.world, &event.call).map(|n| n.to_string()),
            other => panic!("nobody knows what the same {other} is"),
        }
    }

    fn same(&self, name: &str) -> Value {
        self.pairs(|a, b| self.key(name, a).is_some() && self.key(name, a) == self.key(name, b))
    }

    fn chosen(&self, name: &str) -> Option<Pairs> {
        let found = self.execution.chosen.iter().find(|c| c.name == name)?;
        Some(found.pairs.iter().copied().collect())
    }

    /// True for the last part of an operation.
    fn is_confirmed(&self, s: usize) -> bool {
        let is_last = self.own.iter().all(|&o| o <= s || self.sub(o).event != self.sub(s).event);
        let method = self.execution.events[self.sub(s).event].call.method.text();
        is_last && matches!(method, "Put" | "Get" | "RCAS" | "RFAA")
    }

    fn in_turn(&self) -> Value {
        let method = |s: usize| self.execution.events[self.sub(s).event].call.method.text();
        let mut pairs = Pairs::new();
        let mut waiting: BTreeMap<(String, Option<String>), Vec<usize>> = BTreeMap::new();
        for &s in &self.own {
            let thread = self.execution.events[self.sub(s).event].thread.to_string();
            let queue = waiting.entry((thread, self.key("node-towards", s))).or_default();
            match method(s) {
                _ if self.is_confirmed(s) => queue.push(s),
                "Poll" => pairs.extend((!queue.is_empty()).then(|| (queue.remove(0), s))),
                _ => {}
            }
        }
        Value::Rel(pairs)
    }

    /// True if an event does not have a completion, by the text of its call.
    fn is_unsignalled(&self, event: usize) -> bool {
        self.execution.events[event].call.to_string().contains("unsignalled")
    }

    fn get(&self, name: &str) -> Value {
        let event = |s: usize| self.sub(s).event;
        let thread = |s: usize| self.execution.events[event(s)].thread;
        let method = |s: usize| self.execution.events[event(s)].call.method.text();
        match name {
            "R" => self.those(|s| self.sub(s).sub.reads.is_some()),
            "W" => self.those(|s| self.sub(s).sub.writes.is_some()),
            "IW" => Value::Set(Set::new()),
            "id" => self.pairs(|a, b| a == b),
            "po" => self.pairs(|a, b| thread(a) == thread(b) && event(a) < event(b)),
            "loc" => self.pairs(|a, b| self.sub(a).sub.cell.is_some() && self.sub(a).sub.cell == self.sub(b).sub.cell),
            "rf" => Value::Rel(self.chosen("rf").unwrap_or_default()),
            "co" => Value::Rel(self.chosen("mo").unwrap_or_default()),
            "in-turn" => self.in_turn(),
            "is-confirmed" | "is-first-confirmed" => self.those(|s| self.is_confirmed(s)),
            "unsignalled-local-write" | "unsignalled-remote-write" => self.those(|s| {
                let (stamp, is_unsignalled) = (self.sub(s).sub.stamp.to_string(), self.is_unsignalled(event(s)));
                is_unsignalled && stamp.starts_with(if name.contains("local") { "aNLW" } else { "aNRW" })
            }),
            "is-strict" | "is-strong" | "is-weak" => {
                self.those(|s| self.execution.events[event(s)].call.to_string().contains(&name[3..]))
            }
            _ if name.starts_with("calls-of-") => self.those(|s| name[9..].split("-or-").any(|of| of == method(s))),
            // Nothing crashes in these executions.
            "missing" => Value::Set(Set::new()),
            "happened" => self.those(|s| !self.sub(s).sub.stamp.to_string().starts_with("aRF")),
            "is-failed-receive" => self.those(|s| method(s) == "Receive" && self.sub(s).sub.reads.is_none()),
            _ if name.starts_with("same-") => self.same(&name[5..]),
            _ if name.starts_with('a') => {
                self.those(|s| self.sub(s).sub.stamp.to_string().split('_').next() == Some(name))
            }
            other => panic!("{other} is neither given nor defined"),
        }
    }
}

/// The evaluation of a text on an execution.
struct Reading<'a> {
    given: Given<'a>,
    defined: BTreeMap<String, Value>,
}

impl Reading<'_> {
    fn value(&self, tree: Pair<'_, Rule>) -> Value {
        let rule = tree.as_rule();
        let text = tree.as_str();
        let mut parts = tree.into_inner();
        match rule {
            Rule::any => self.given.those(|_| true),
            Rule::none => Value::Rel(Pairs::new()),
            Rule::name => self.defined.get(text).cloned().unwrap_or_else(|| self.given.get(text)),
            Rule::identity => {
                let set = self.value(parts.next().unwrap()).set();
                Value::Rel(set.into_iter().map(|s| (s, s)).collect())
            }
            Rule::function => {
                let first = parts.next().unwrap().as_str() == "domain";
                let rel = self.value(parts.next().unwrap()).rel();
                Value::Set(rel.into_iter().map(|(a, b)| if first { a } else { b }).collect())
            }
            Rule::postfix => {
                let operand = self.value(parts.next().unwrap());
                parts.fold(operand, |value, sign| match sign.as_rule() {
                    Rule::plus => Value::Rel(closure(&value.rel())),
                    _ => Value::Rel(value.rel().into_iter().map(|(a, b)| (b, a)).collect()),
                })
            }
            _ => {
                let first = self.value(parts.next().unwrap());
                parts.fold(first, |a, b| combined(rule, a, self.value(b)))
            }
        }
    }

    /// True if the execution is consistent, by the demands of the text.
    fn accepts(&mut self, text: &str) -> bool {
        let mut good = true;
        for statement in Cat::parse(Rule::file, text).unwrap_or_else(|e| panic!("{e}")) {
            let rule = statement.as_rule();
            let mut parts = statement.into_inner();
            match rule {
                Rule::define => {
                    let name = parts.next().unwrap().as_str().to_owned();
                    let value = self.value(parts.next().unwrap());
                    self.defined.insert(name, value);
                }
                Rule::line => {
                    let name = parts.next().unwrap().as_str();
                    // Each line is a total order that contains the choice, so the choice itself stands for all of them.
                    let chosen = self.given.chosen(name.trim_end_matches("-line")).expect("a choice of the execution");
                    let set = self.value(parts.next().unwrap()).set();
                    assert!(chosen.iter().all(|(a, b)| set.contains(a) && set.contains(b)), "{name} has no room");
                    self.defined.insert(name.to_owned(), Value::Rel(chosen));
                }
                Rule::demand => {
                    let kind = parts.next().unwrap().as_str();
                    let rel = self.value(parts.next().unwrap()).rel();
                    good &= if kind == "empty" { rel.is_empty() } else { rel.iter().all(|(a, b)| a != b) };
                }
                _ => {}
            }
        }
        good
    }
}

fn combined(rule: Rule, a: Value, b: Value) -> Value {
    match (rule, a, b) {
        (Rule::union, Value::Set(a), Value::Set(b)) => Value::Set(&a | &b),
        (Rule::union, a, b) => Value::Rel(&a.rel() | &b.rel()),
        (Rule::minus, Value::Set(a), Value::Set(b)) => Value::Set(&a - &b),
        (Rule::minus, a, b) => Value::Rel(&a.rel() - &b.rel()),
        (Rule::inter, Value::Set(a), Value::Set(b)) => Value::Set(&a & &b),
        (Rule::inter, a, b) => Value::Rel(&a.rel() & &b.rel()),
        (Rule::sequence, a, b) => Value::Rel(then(&a.rel(), &b.rel())),
        (Rule::cross, a, b) => {
            let b = b.set();
            Value::Rel(a.set().into_iter().flat_map(|x| b.iter().map(move |&y| (x, y))).collect())
        }
        (other, ..) => panic!("{other:?} has no operator"),
    }
}

/// A text, and the libraries whose judge it is compared with.
struct Compared {
    text: String,
    libraries: Libraries,
    library: Name,
    subject: Box<dyn Subject + Sync>,
}

impl Compared {
    /// Compares every way to make the choices of a client's executions. Returns the number of ways that both accept,
    /// and that both reject.
    fn client(&self, programs: &[mowgli_core::term::script::Script], world: &mowgli_core::world::World) -> [usize; 2] {
        let problem = Problem::of(&self.libraries, world, programs);
        let mut executions = Vec::new();
        let _ = problem.explore(&mut |solver| {
            let snapshot = solver.snapshot();
            assert!(solver.complete());
            executions.push(solver.execution().expect("everything is decided"));
            solver.restore(snapshot);
            if executions.len() < 10 { Flow::Continue } else { Flow::Stop }
        });
        let mut counts = [0, 0];
        for execution in
            executions.iter().filter_map(|e| rechosen(&self.libraries, self.library, e, 200, &|| false).ok()).flatten()
        {
            let judged = judge(&self.libraries, &execution);
            let library = self.libraries.get(self.library).expect("the library that is compared");
            let is_well_formed = library.is_well_formed(world, &execution.events.iter().collect::<Vec<_>>());
            // Cat does not define which values are read, and which programs break their obligations.
            if matches!(judged, Err(Complaint::Malformed(_))) || !is_well_formed {
                continue;
            }
            let given = Given { execution: &execution, own: (0..execution.subs.len()).collect() };
            let mut reading = Reading { given, defined: BTreeMap::new() };
            let accepts = reading.accepts(&self.text);
            assert_eq!(accepts, judged.is_ok(), "{:?}\n{execution:?}\n{}", judged.err(), self.text);
            if let Ok(judged) = judged {
                assert_eq!(reading.defined["hb"].clone().rel(), judged.hb, "hb of {execution:?}");
            }
            counts[usize::from(!accepts)] += 1;
        }
        counts
    }
}

/// Compares on clients of a specification, until so many executions were accepted.
fn compare(name: &str, compared: &Compared, wanted: usize) {
    let bound = Bound { threads: 2, nodes: 2, calls: 3, objects: 2, loops: 1, values: vec![1], ..Bound::default() };
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut sum = [0, 0];
    while sum[0] < wanted {
        let tree = strategy(&*compared.subject, &bound).new_tree(&mut runner).expect("a client");
        let (world, client) = proptest::strategy::ValueTree::current(&tree);
        let [good, bad] = compared.client(&client.programs(), &world);
        sum = [sum[0] + good, sum[1] + bad];
    }
    println!("{name}: {} accepted, {} rejected", sum[0], sum[1]);
}

fn of_catalogue(name: &str) -> Compared {
    let entry = catalogue().into_iter().find(|e| e.name == name).expect("a library");
    let text = cat(name).expect("cat can say it");
    Compared { text, libraries: entry.specification, library: Name::literal(entry.name), subject: entry.subject }
}

#[test]
fn models_mean_the_same_in_cat() {
    models_in_cat(40);
}

#[test]
#[ignore = "takes half a minute"]
fn models_mean_the_same_in_cat_in_full() {
    models_in_cat(600);
}

/// Compares each model with its text on clients until so many executions are consistent.
fn models_in_cat(wanted: usize) {
    let with = |model: &str, libraries, library, subject| {
        let text = cat(model).expect("cat can say it");
        compare(model, &Compared { text, libraries, library, subject }, wanted);
    };
    with("RDMA_WAIT", Libraries::over(to).with(Wait), WAIT, Box::new(wait::WordClients { rmw: true }));
    with("RDMA_TSO", Libraries::over(to).with(Tso::PUBLISHED), TSO, Box::new(tso::PollClients { rmw: true }));
    with("RDMA_SC", sc::libraries(), TSO, Box::new(tso::PollClients { rmw: false }));
    let both = Switches {
        network: Network::RC_RELAXED,
        global_atomics: true,
        unsignalled: true,
        increasing_addresses: true,
        messages: false,
        crashes: true,
        events: false,
    };
    let (waits, polls) = (format!("RDMA_WAIT{both}"), format!("RDMA_TSO{both}"));
    with(&waits, wait::switched(both), WAIT, Box::new(wait::WordClients { rmw: true }));
    with(&polls, tso::switched(both), TSO, Box::new(tso::PollClients { rmw: true }));
}

#[test]
fn specifications_mean_the_same_in_cat() {
    specifications_in_cat(40);
}

#[test]
#[ignore = "takes half a minute"]
fn specifications_mean_the_same_in_cat_in_full() {
    specifications_in_cat(600);
}

/// Compares each specification with its text on clients until so many executions are consistent.
fn specifications_in_cat(wanted: usize) {
    for entry in catalogue() {
        compare(entry.name, &of_catalogue(entry.name), wanted);
    }
}

/// The comparison notices a text that says less than the judge.
#[test]
#[should_panic(expected = "left")]
fn a_text_without_a_part_of_so_is_noticed() {
    let mut sv = of_catalogue("sv");
    sv.text = sv.text.replace("let so = iso | rf-e | pf | rb | mo", "let so = iso | rf-e | pf | mo");
    compare("sv", &sv, 300);
}

#[test]
fn relations_in_cat_have_the_names_of_their_authors() {
    let text = of_catalogue("sv").text;
    for line in
        ["let rf-e = rf \\ ([aCW]; po; [aCR])", "let missed = [aCR]; po^-1 & rb; [aCW]", "empty missed as own-write"]
    {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn what_cat_cannot_say_is_reported() {
    assert!(cat("CORE_RMA").unwrap_err().to_string().contains("cannot be said in cat"));
    assert!(cat("no-such").unwrap_err().to_string().contains("there are RDMA_WAIT"));
}
