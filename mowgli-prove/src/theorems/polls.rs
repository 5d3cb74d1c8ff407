//! SYNC Theorem 6: every outcome of a program whose waits are compiled to polls is an outcome of the program with
//! waits.
//!
//! The proof is that of the paper, App. C.3. The executions below are those of the compiled program, and those above
//! are of the program itself. g maps each subevent above to the one below that stands for it. By definition, the
//! choices and hb above are those below along g. The goal is the consistency predicate of RDMA-WAIT-RMW; the axioms are
//! that of RDMA-TSO-RMW.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mowgli_core::event::Call;
use mowgli_core::execution::Execution;
use mowgli_core::ids::{Loc, Name, Node, Tid, Wid};
use mowgli_core::library::Libraries;
use mowgli_core::soundness::client::{Client, Subject};
use mowgli_core::term::bound::Bound;
use mowgli_core::unknown::Unknown;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_judge::algebra::Choice;
use mowgli_rdma::stamp::Qp;
use mowgli_rdma::switches::Switches;
use mowgli_rdma::tso::{self, Compiling, TSO, WaitByPolls, identifier, open_operations};
use mowgli_rdma::wait::{self, Identified, WAIT};

use crate::error::{Contradiction, Error, Refusal, refusal};
use crate::prove::{Proof, ProofOptions};
use crate::smt::term::{Obligation, Structure, Term, Theory, TheoryStatement, and, app, equal, not, or, symbol, truth};
use crate::theorems::compiled::CompiledExecution;
use crate::theorems::plain::{Plain, PlainKind, PlainRole, SortNames};
use crate::theorems::structure::Numbers;
use crate::theorems::{Derived, Item, Theorem, VisitExecutions, executions, small};

// The sorts: subevents and events of the compiled program, and of the program itself.
const SUB: &str = "Sub";
const EVENT: &str = "Event";
const PROMISE: &str = "Promise";
const CALL: &str = "Call";

const BELOW: SortNames = SortNames { sub: SUB, event: EVENT, prefix: "" };
const ABOVE: SortNames = SortNames { sub: PROMISE, event: CALL, prefix: "w." };

const DERIVED: [Derived; 5] = [
    (PROMISE, "g", SUB),
    (PROMISE, "w.event", CALL),
    (CALL, "at", EVENT),
    (SUB, "event", EVENT),
    (CALL, "w.to", "Node"),
];

/// The functions of the axioms, with their sorts.
const FUNCTIONS: [(&str, &[&str], &str); 14] = [
    ("handle", &[EVENT], "Handle"),
    ("the.set", &[EVENT], "Opened"),
    ("found.empty", &[EVENT], "Bool"),
    ("took", &[SUB], SUB),
    ("source", &[SUB], SUB),
    ("removal", &[EVENT, EVENT], EVENT),
    ("f", &[EVENT], CALL),
    ("at", &[CALL], EVENT),
    ("g", &[PROMISE], SUB),
    ("up", &[SUB], PROMISE),
    ("open", &["Id", "Node"], "Opened"),
    ("added", &[CALL], EVENT),
    ("asked", &[CALL, "Node"], EVENT),
    ("polled", &[EVENT], EVENT),
];

/// The operations that a wait can wait for.
const OPERATIONS: [&str; 4] = ["Get", "Put", "RCAS", "RFAA"];

/// The compilers: that of SYNC Fig. 16, and unsound variants.
pub const COMPILERS: [(&str, WaitByPolls); 5] = [
    ("published", WaitByPolls::Published),
    ("poll-once", WaitByPolls::PollOnce),
    ("gets-not-added", WaitByPolls::GetsNotAdded),
    ("puts-not-added", WaitByPolls::PutsNotAdded),
    ("first-node", WaitByPolls::FirstNode),
];

/// Returns the compiler of a variant of the theorem.
#[must_use]
pub fn compiler(variant: &str) -> Option<WaitByPolls> {
    COMPILERS.iter().find(|(name, _)| *name == variant).map(|(_, by)| *by)
}

fn same(name: &str, a: &Term, b: &Term) -> Term {
    equal(app(name, [a]), app(name, [b]))
}

/// The two sides.
struct WaitsToPolls<'a> {
    below: Plain<'a>,
    above: Plain<'a>,
    /// The predicate that relates a poll to the operation that it takes.
    turn: String,
}

fn side<'a>(
    libraries: &'a Libraries,
    library: Name,
    subject: &dyn Subject,
    names: SortNames,
) -> Result<Plain<'a>, Refusal> {
    let mut spec = libraries.spec(library).ok_or_else(|| refusal!("no library {library}"))?.clone();
    // The theorem is about programs without flags of operations. So this relation is empty, and a proof about it would be vacuous.
    spec.so.retain(|(name, _)| *name != "fence");
    Plain::new(libraries, library, &spec, subject, names)
}

impl<'a> WaitsToPolls<'a> {
    fn new(polls: &'a Libraries, waits: &'a Libraries) -> Result<Self, Refusal> {
        let below = side(polls, TSO, &WithSets, BELOW)?;
        let above = side(waits, WAIT, &PROGRAMS, ABOVE)?;
        let [(turn, _)] = &below.encoding.turns[..] else { return Err(refusal!("polls take operations in one way")) };
        Ok(Self { turn: turn.clone(), below, above })
    }

    /// Returns the formula "this event below is a call of one of these methods".
    fn is(&self, event: &Term, methods: &[&str]) -> Term {
        or(kinds(&self.below, methods).map(|kind| self.below.is_kind(event, kind)))
    }

    fn waits(&self, call: &Term) -> Term {
        or(kinds(&self.above, &["Wait"]).map(|kind| self.above.is_kind(call, kind)))
    }

    /// Returns the kinds of operations that a wait can wait for.
    fn named(&self) -> impl Iterator<Item = &PlainKind> {
        kinds(&self.above, &OPERATIONS).filter(|kind| !kind.name.contains("._"))
    }

    fn polls(&self, sub: &Term) -> Term {
        self.below.has_role(sub, |role| role.name.starts_with("Poll."))
    }

    /// Returns the poll of a wait that takes an operation, and its subevent.
    fn poll(&self, operation: &Term, wait: &Term) -> (Term, Term) {
        let event = app("poll", [operation, wait]);
        let role = self.below.roles.iter().position(|role| role.name.starts_with("Poll.")).unwrap_or(0);
        (event.clone(), self.below.part(role, &event))
    }

    /// Returns the rules of the language beside its consistency predicate (SYNC Def. 16).
    fn language(&self) -> Vec<Obligation> {
        let [s, u, a, e] = ["s", "u", "a", "e"].map(symbol);
        let took = app("took", [&s]);
        let removal = app("removal", [&a, &e]);
        let known = |e: &Term| self.is(e, &OPERATIONS);
        let emptied =
            and([self.is(&a, &["SetAdd"]), app("found.empty", [&e]), same("the.set", &a, &e), app("before", [&a, &e])]);
        let removed = and([
            self.is(&removal, &["SetRemove"]),
            same("handle", &removal, &a),
            app("before", [&a, &removal]),
            app("before", [&removal, &e]),
        ]);
        let twice = and([known(&a), known(&e), same("thread", &a, &e), same("handle", &a, &e)]);
        let mut rules = vec![
            Obligation::new("a poll takes an operation", &[("s", SUB)], self.polls(&s), app(&self.turn, [&took, &s])),
            Obligation::new(
                "a poll returns the identifier of what it takes",
                &[("s", SUB)],
                self.polls(&s),
                same("handle", &app("event", [&took]), &app("event", [&s])),
            ),
            Obligation::new("identifiers of a thread are different", &[("a", EVENT), ("e", EVENT)], twice, equal(a, e)),
            Obligation::new(
                "what was added to an empty set was removed",
                &[("a", EVENT), ("e", EVENT)],
                emptied,
                removed,
            ),
        ];
        for rf in self.reads_from() {
            let read = app(rf, [&u, &s]);
            let source = app(rf, [&app("source", [&s]), &s]);
            rules.push(Obligation::new("source is what is read from", &[("u", SUB), ("s", SUB)], read, source));
        }
        rules
    }

    fn reads_from(&self) -> impl Iterator<Item = &str> {
        let choices = self.below.encoding.choices.iter();
        choices.filter(|(_, choice)| matches!(choice, Choice::ReadsFrom { .. })).map(|(name, _)| name.as_str())
    }

    /// Returns the kind below that stands for a kind of calls above.
    fn counterpart(&self, kind: &PlainKind) -> Result<&PlainKind, Refusal> {
        let name =
            if kind.name.starts_with("Wait.") { "SetIsEmpty.aMF".to_owned() } else { kind.name.replace("._", "") };
        self.below.kinds.iter().find(|k| k.name == name).ok_or_else(|| refusal!("nothing stands for {}", kind.name))
    }

    /// Returns the roles below, as positions, that stand for a role above.
    fn counterparts(&self, role: &PlainRole) -> Vec<usize> {
        let kinds = self.above.kinds.iter().filter_map(|kind| Some((kind, self.counterpart(kind).ok()?)));
        let pairs = kinds.flat_map(|(kind, stands)| kind.roles.iter().zip(&stands.roles));
        pairs.filter(|(above, _)| self.above.roles[**above].name == role.name).map(|(_, below)| *below).collect()
    }

    /// Returns the rules that f is an abstraction (LOCO Def. 3.11), and that g is as the paper has it.
    fn abstraction(&self) -> Result<Vec<Obligation>, Refusal> {
        let [c, x, y, s] = ["c", "x", "y", "s"].map(symbol);
        let [fx, fy] = [&x, &y].map(|e| app("f", [e]));
        let two = [("x", EVENT), ("y", EVENT)];
        let at = app("at", [&c]);
        let mut rules = vec![
            Obligation::new("what stands for a call is of it", &[("c", CALL)], truth(true), equal(app("f", [&at]), &c)),
            Obligation::new(
                "f keeps threads",
                &[("x", EVENT)],
                truth(true),
                equal(app("thread", [&x]), app("w.thread", [&fx])),
            ),
            Obligation::new(
                "f keeps program order",
                &two,
                app("before", [&x, &y]),
                or([equal(&fx, &fy), app("w.before", [&fx, &fy])]),
            ),
            Obligation::new("f keeps program order, back", &two, app("w.before", [&fx, &fy]), app("before", [&x, &y])),
            Obligation::new(
                "what stands for a call goes to its node",
                &[("c", CALL)],
                not(self.waits(&c)),
                equal(app("to", [&at]), app("w.to", [&c])),
            ),
        ];
        for kind in &self.above.kinds {
            let stands = self.counterpart(kind)?;
            let words = format!("{} stands for {}", stands.name, kind.name);
            let is = self.below.is_kind(&at, stands);
            rules.push(Obligation::new(&words, &[("c", CALL)], self.above.is_kind(&c, kind), is));
            for (role, below) in kind.roles.iter().zip(&stands.roles) {
                let name = &self.above.roles[*role].name;
                let is = self.above.has_role(&s, |r| r.name == *name);
                let part = self.below.part(*below, &app("at", [&app("w.event", [&s])]));
                let words = format!("g of {name}");
                rules.push(Obligation::new(&words, &[("s", PROMISE)], is, equal(app("g", [&s]), part)));
            }
        }
        let g = app("g", [&s]);
        for (b, role) in self.below.roles.iter().enumerate() {
            let is = self.below.has_role(&g, |r| r.name == role.name);
            let words = format!("what g takes to {}", role.name);
            let from = self.above.has_role(&s, |r| self.counterparts(r).contains(&b));
            rules.push(Obligation::new(&words, &[("s", PROMISE)], is, from));
        }
        let alike = ["cell", "read", "wrote", "initial"].map(|name| equal(app(name, [&g]), app(&ABOVE.of(name), [&s])));
        let operates = not(self.waits(&app("w.event", [&s])));
        rules.push(Obligation::new("g keeps cells and values", &[("s", PROMISE)], operates, and(alike)));
        let back = equal(app("up", [&g]), &s);
        rules.push(Obligation::new("g takes no two to one", &[("s", PROMISE)], truth(true), back));
        let touches = self.below.has_role(&s, |role| role.has_cell);
        let stands = equal(app("g", [&app("up", [&s])]), &s);
        rules.push(Obligation::new("what touches memory stands for something", &[("s", SUB)], touches, stands));
        Ok(rules)
    }

    /// Returns the rules of the compiler that the proof needs. `read_off` keeps those that hold in samples.
    fn compiled(&self) -> Vec<Obligation> {
        let [c, n, x] = ["c", "n", "x"].map(symbol);
        let (at, added, asked) = (app("at", [&c]), app("added", [&c]), app("asked", [&c, &n]));
        let open = |n: &Term| app("open", [&app("w.id", [&c]), n]);
        let own = |e: &Term| equal(app("f", [e]), &c);
        let is_added = and([
            self.is(&added, &["SetAdd"]),
            own(&added),
            equal(app("the.set", [&added]), open(&app("w.to", [&c]))),
            same("handle", &added, &at),
        ]);
        let each = |kind: &PlainKind| {
            let words = format!("{} is added to the set of its identifier and node", kind.name);
            Obligation::new(&words, &[("c", CALL)], self.above.is_kind(&c, kind), is_added.clone())
        };
        let is_asked = and([
            app("found.empty", [&asked]),
            own(&asked),
            equal(app("the.set", [&asked]), open(&n)),
            or([equal(&asked, &at), app("before", [&asked, &at])]),
        ]);
        let polled = app("polled", [&x]);
        let is_polled = and([self.is(&polled, &["Poll"]), app("before", [&polled, &x]), same("handle", &polled, &x)]);
        let mut rules: Vec<Obligation> = self.named().map(each).collect();
        rules.push(Obligation::new(
            "a wait finds the sets of its identifier empty, for each node",
            &[("c", CALL), ("n", "Node")],
            self.waits(&c),
            is_asked,
        ));
        let removes = self.is(&x, &["SetRemove"]);
        rules.push(Obligation::new("what is removed was polled before", &[("x", EVENT)], removes, is_polled));
        rules
    }

    /// Returns the theory of all executions of compiled programs, with the program above. `rules` are those of the
    /// compiler.
    fn theory(&self, rules: &[Obligation]) -> Result<Theory, Refusal> {
        let mut theory = Theory::default();
        Plain::sorts(&mut theory);
        ["Handle", "Opened", EVENT, SUB, CALL, PROMISE].into_iter().for_each(|sort| theory.sort(sort));
        FUNCTIONS.into_iter().for_each(|(name, from, to)| theory.function(name, from, to));
        let [c, d] = ["c", "d"].map(symbol);
        let removal = app("removal", [&app("added", [&c]), &app("asked", [&d, &app("w.to", [&c])])]);
        let (mut below, mut above) = (Theory::default(), Theory::default());
        self.below.vocabulary(&mut below)?;
        self.below.relations(&mut below)?;
        self.below.consistency(&mut below);
        self.above.vocabulary(&mut above)?;
        self.above.relations(&mut above)?;
        let is_new = |s: &TheoryStatement| !matches!(s, TheoryStatement::Sort(_));
        theory.0.extend(below.0.into_iter().filter(is_new).map(|s| self.with_sources(s)));
        let pulled = self.pulled()?;
        theory.0.extend(above.0.into_iter().filter(is_new).map(|s| along_g(s, &pulled)));
        theory.comment("The poll of a wait, the second, that takes an operation, the first.");
        theory.define("poll", &[("c", CALL), ("d", CALL)], EVENT, app("polled", [&removal]));
        for (heading, rules) in [("The language.", &self.language()), ("f and g.", &self.abstraction()?)] {
            theory.comment(heading);
            rules.iter().for_each(|rule| theory.assume(rule));
        }
        theory.comment("The compiler.");
        rules.iter().for_each(|rule| theory.assume(rule));
        Ok(theory)
    }

    /// Returns the relations below that define those above along g.
    fn pulled(&self) -> Result<BTreeMap<String, String>, Refusal> {
        let (above, below) = (&self.above.encoding, &self.below.encoding);
        let choices = above.choices.iter().zip(&below.choices).map(|((a, _), (b, _))| (a, b));
        let closures = above.closures.iter().zip(&below.closures).map(|((a, _), (b, _))| (a, b));
        let counts = [(above.choices.len(), below.choices.len()), (above.closures.len(), below.closures.len())];
        let mut all: BTreeMap<String, String> = choices.chain(closures).map(|(a, b)| (a.clone(), b.clone())).collect();
        if counts.iter().any(|(a, b)| a != b) || all.iter().any(|(a, b)| *a != ABOVE.of(b)) {
            return Err(refusal!("RDMA-WAIT-RMW and RDMA-TSO-RMW choose differently"));
        }
        all.insert(ABOVE.of("hb"), BELOW.of("hb"));
        Ok(all)
    }

    /// Returns a statement with `source` in place of quantifiers over sources.
    fn with_sources(&self, statement: TheoryStatement) -> TheoryStatement {
        let known: BTreeSet<&str> = self.reads_from().collect();
        match statement {
            TheoryStatement::Axiom(words, body) => TheoryStatement::Axiom(words, sourced(&body, &known)),
            TheoryStatement::Definition(name, of, to, body) => {
                TheoryStatement::Definition(name, of, to, sourced(&body, &known))
            }
            other => other,
        }
    }

    fn theorem(&self, rules: &[Obligation]) -> Result<Theorem, Refusal> {
        Ok(Theorem {
            about: "SYNC Theorem 6, for every program: outcomes with polls are outcomes with waits.".to_owned(),
            theory: self.theory(rules)?,
            hypotheses: Vec::new(),
            derived: DERIVED.to_vec(),
            items: self.awaited().into_iter().chain(self.promised()).collect(),
        })
    }

    /// Returns the steps that each operation that a wait waits for is polled. They are the main part of the paper's
    /// proof.
    fn awaited(&self) -> Vec<Item> {
        let [c, d, a, b, s] = ["c", "d", "a", "b", "s"].map(symbol);
        let is_named = or(self.named().map(|kind| self.above.is_kind(&c, kind)));
        let (poll, _) = self.poll(&c, &d);
        let given = and([
            app("w.before", [&c, &d]),
            equal(app("w.id", [&c]), app("w.id", [&d])),
            is_named.clone(),
            self.waits(&d),
        ]);
        let is_polled = and([
            self.is(&poll, &["Poll"]),
            same("handle", &poll, &app("at", [&c])),
            app("before", [&poll, &app("at", [&d])]),
            same("thread", &poll, &app("at", [&c])),
        ]);
        let (added, asked) = (app("added", [&c]), app("asked", [&d, &app("w.to", [&c])]));
        let between = app("removal", [&added, &asked]);
        let name = "a wait polls the identifier of each operation that it waits for";
        let first = Item::step(&[], name, &[("c", CALL), ("d", CALL)], given, is_polled)
            .with(&[added, asked, between, poll].map(|e| (e, EVENT)));
        let [event, took] = [app("event", [&s]), app("took", [&s])];
        let given = and([
            is_named,
            self.polls(&s),
            same("handle", &event, &app("at", [&c])),
            same("thread", &event, &app("at", [&c])),
        ]);
        let takes = and([equal(app("event", [&took]), app("at", [&c])), app(&self.turn, [&took, &s])]);
        let name = "who polls the identifier of an operation takes that";
        let second = Item::step(&[], name, &[("c", CALL), ("s", SUB)], given, takes).with(&[(took, SUB)]);
        let (poll, part) = self.poll(&app("w.event", [&a]), &app("w.event", [&b]));
        let speaks = [(poll, EVENT), (app("took", [&part]), SUB), (part, SUB)];
        let [ga, gb] = [&a, &b].map(|s| app("g", [s]));
        let closures = self.below.encoding.closures.iter();
        let issued: Vec<Term> = closures.map(|(closure, _)| app(closure, [&ga, &gb])).collect();
        let over = app("hb", [&ga, &gb]);
        let both = [("a", PROMISE), ("b", PROMISE)];
        let of_kind = |name: &str, what: &str, to: Term| {
            let predicate = self.above.encoding.side.name(name);
            Item::step(&[], what, &both, app(&predicate, [&a, &b]), to).with(&speaks)
        };
        let [rb_above, rb] = [&self.above, &self.below].map(|plain| plain.encoding.side.name("rb"));
        let before = Item::step(&[], "g takes rb into rb", &both, app(&rb_above, [&a, &b]), app(&rb, [&ga, &gb]));
        vec![
            before.with(&Self::sources(&a)),
            first,
            second,
            of_kind("pfg", "g takes pfg into ib", and(issued.clone())),
            of_kind("pfp", "g takes pfp into ib", and(issued)),
            of_kind("pfg", "g takes pfg into hb", over),
        ]
    }

    /// Returns the steps that the execution above is consistent: the laws of its choices, the demands, and the axioms
    /// of hb.
    fn promised(&self) -> Vec<Item> {
        let mut consistency = Theory::default();
        self.above.consistency(&mut consistency);
        consistency.axioms().filter_map(|(words, law)| self.obligation(words, law)).collect()
    }

    /// Returns a law as a step.
    fn obligation(&self, words: &str, law: &Term) -> Option<Item> {
        let Term::All(of_law, body) = law else { return None };
        let (from, to) = match &**body {
            Term::App(name, parts) if &**name == "=>" => (parts[0].clone(), parts[1].clone()),
            other => (truth(true), other.clone()),
        };
        let names: Vec<(&str, &'static str)> = of_law.iter().map(|(name, _)| (name.as_str(), PROMISE)).collect();
        let source = |(name, _): &(&str, &str)| app("source", [&app("g", [&symbol(name)])]);
        let sources = names.iter().map(source).flat_map(|s| [(app("up", [&s]), PROMISE), (s, SUB)]);
        let sources: Vec<(Term, &'static str)> =
            if self.asks_for_sources(body) { sources.collect() } else { Vec::new() };
        Some(Item::step(&[], &self.said(words), &names, from, to).with(&sources))
    }

    /// True if a law speaks of a read without a source.
    fn asks_for_sources(&self, law: &Term) -> bool {
        let reads_from = self.reads_from().map(|name| ABOVE.of(name)).collect::<Vec<_>>();
        sourced(law, &reads_from.iter().map(String::as_str).collect()) != *law
    }

    /// Returns the terms for the source of a read, which may not exist.
    fn sources(read: &Term) -> [(Term, &'static str); 2] {
        let source = app("source", [&app("g", [read])]);
        [(app("up", [&source]), PROMISE), (source, SUB)]
    }

    /// Returns a law in words of the paper.
    fn said(&self, words: &str) -> String {
        let encoding = &self.above.encoding;
        let parts = encoding.closures.iter().map(|(_, inner)| (inner, "its parts".to_owned()));
        let named = encoding.demands.iter().map(|(name, _, predicate)| (predicate, *name));
        let named = named.chain(encoding.so.iter().map(|(name, predicate)| (predicate, *name)));
        let known: BTreeMap<&String, String> =
            named.map(|(predicate, name)| (predicate, format!("{name}'"))).chain(parts).collect();
        let word = |word: &str| {
            let shared = || word.strip_prefix(ABOVE.prefix).map(|name| format!("{name}'"));
            known.get(&word.to_owned()).cloned().or_else(shared).unwrap_or_else(|| word.to_owned())
        };
        words.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }

    /// Reads an execution of a compiled program, and the one of the program itself, as one structure.
    fn read(&self, theory: &Theory, execution: &Execution) -> Result<Structure<'static>, Contradiction> {
        let read = CompiledExecution::of(execution)?;
        let mut structure = Structure::default();
        structure.define(theory);
        let mut numbers = Numbers::default();
        self.below.count(&mut numbers, read.below);
        self.above.count(&mut numbers, &read.above);
        self.functions(&mut structure, &read, &numbers);
        self.below.add(&mut structure, read.below, &numbers)?;
        self.above.add_plain(&mut structure, &read.above, &numbers)?;
        let mut took = vec![0; read.below.subs.len()];
        let turns = structure.pairs(&self.turn, took.len())?;
        turns.into_iter().for_each(|(operation, poll)| took[poll] = operation);
        structure.function("took", took);
        self.below.held(&structure, read.below)?;
        self.above.held(&structure, &read.above)?;
        Ok(structure)
    }

    fn functions(&self, structure: &mut Structure<'static>, read: &CompiledExecution<'_>, numbers: &Numbers) {
        let (events, calls) = (0..read.below.events.len(), 0..read.above.events.len());
        let nodes: Vec<Node> = read.below.world.all_nodes().iter().collect();
        let opened: Vec<Option<Val>> =
            numbers.identifiers.iter().flat_map(|d| nodes.iter().map(|n| CompiledExecution::open(*d, *n))).collect();
        let sets: BTreeSet<Option<Val>> = events.clone().map(|e| read.set(e)).chain(opened.iter().copied()).collect();
        let handles: BTreeSet<Val> = events.clone().map(|e| read.handle(e)).collect();
        structure.size("Handle", handles.len());
        structure.size("Opened", sets.len().max(1));
        let set = |of: &Option<Val>| sets.iter().position(|s| s == of).unwrap_or(0);
        let choice = self.reads_from().next().unwrap_or_default();
        let choice = choice.strip_prefix(&self.below.encoding.side.prefix).unwrap_or(choice);
        let asked: Vec<Vec<usize>> = calls.clone().map(|c| nodes.iter().map(|n| read.asked(c, *n)).collect()).collect();
        let removal: Vec<Vec<usize>> =
            events.clone().map(|a| events.clone().map(|e| read.removal(a, e)).collect()).collect();
        structure.function(
            "handle",
            events.clone().map(|e| handles.iter().position(|v| *v == read.handle(e)).unwrap_or(0)).collect(),
        );
        structure.function("the.set", events.clone().map(|e| set(&read.set(e))).collect());
        structure.function("found.empty", events.clone().map(|e| usize::from(read.found_empty(e))).collect());
        structure.function("source", read.sources(choice));
        structure.function("f", read.f.clone());
        structure.function("at", read.at.clone());
        structure.function("g", read.g.clone());
        structure.function("up", read.up());
        structure.function("added", calls.map(|c| read.added(c)).collect());
        structure.function("polled", events.map(|e| read.polled(e)).collect());
        let opened: Vec<usize> = opened.iter().map(set).collect();
        let count = nodes.len();
        structure.table("open", move |p| opened.get(p[0] * count + p[1]).copied().unwrap_or(0));
        structure.table("asked", move |p| asked[p[0]][p[1]]);
        structure.table("removal", move |p| removal[p[0]][p[1]]);
    }

    /// Returns the rules of the compiler that hold in these executions, and complaints about those that do not hold or
    /// that no execution exercises.
    fn read_off(&self, visit: VisitExecutions<'_>) -> Result<(Vec<Obligation>, Vec<Refusal>), Error> {
        let theory = self.theory(&[])?;
        let rules = self.compiled();
        // For each rule: whether it holds in all executions, and whether its hypothesis holds in one.
        let mut known = vec![(true, false); rules.len()];
        let mut wrong = None;
        visit(&mut |execution| {
            let mut look = || -> Result<(), Contradiction> {
                let structure = self.read(&theory, execution)?;
                for (rule, (holds, reported)) in rules.iter().zip(&mut known) {
                    *reported = *reported || structure.holds(&rule.some(&rule.from))?;
                    *holds = *holds && structure.holds(&rule.closed())?;
                }
                Ok(())
            };
            wrong = look().err();
            wrong.is_none()
        });
        if let Some(why) = wrong {
            return Err(why.into());
        }
        let (mut kept, mut others) = (Vec::new(), Vec::new());
        for (rule, (holds, reported)) in rules.into_iter().zip(known) {
            if holds && reported {
                kept.push(rule);
            } else {
                let so = if reported { "is not so in compiled programs" } else { "is seen in no compiled program" };
                others.push(refusal!("this {so}: {}", rule.name));
            }
        }
        Ok((kept, others))
    }
}

/// Returns the kinds of calls of these methods.
fn kinds<'p>(plain: &'p Plain<'_>, methods: &'p [&str]) -> impl Iterator<Item = &'p PlainKind> {
    plain.kinds.iter().filter(|kind| methods.contains(&kind.name.split('.').next().unwrap_or_default()))
}

/// Defines a declared relation above as the one below along g.
fn along_g(statement: TheoryStatement, pulled: &BTreeMap<String, String>) -> TheoryStatement {
    let TheoryStatement::Function(name, from, to) = &statement else { return statement };
    let Some(below) = pulled.get(name) else { return statement };
    let variables = ["a", "b"].into_iter().zip(from).map(|(name, sort)| (name.to_owned(), sort.clone())).collect();
    let [a, b] = ["a", "b"].map(|s| app("g", [&symbol(s)]));
    TheoryStatement::Definition(name.clone(), variables, to.clone(), app(below, [&a, &b]))
}

/// Replaces "some subevent is the source of this read" by "`source` of the read is its source", which is equivalent.
fn sourced(term: &Term, reads_from: &BTreeSet<&str>) -> Term {
    let inside = |body: &Term| Arc::new(sourced(body, reads_from));
    match term {
        Term::App(name, to) => Term::App(Arc::clone(name), to.iter().map(|t| sourced(t, reads_from)).collect()),
        Term::All(of, body) => Term::All(of.clone(), inside(body)),
        Term::AllAt(of, body, at) => Term::AllAt(of.clone(), inside(body), at.clone()),
        Term::Any(variables, body) => match (&variables[..], &**body) {
            ([(u, _)], Term::App(name, to)) if reads_from.contains(&**name) && to[0] == symbol(u) && to[1] != to[0] => {
                app(name, [&app("source", [&to[1]]), &to[1]])
            }
            _ => Term::Any(variables.clone(), inside(body)),
        },
    }
}

/// The generator of programs with waits.
const PROGRAMS: Identified = Identified { words: wait::WordClients { rmw: true }, unnamed: true };

/// The generator of the calls in compiled programs.
struct WithSets;

impl Subject for WithSets {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        tso::PollClients { rmw: true }.worlds(empty, bound, expired)
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        let q = Qp { to: world.node_of(thread), number: 1 };
        let (s, v) = (open_operations(Name::literal("d"), q), identifier(q, 0));
        let of_sets = [tso::Method::SetAdd { s, v }, tso::Method::SetRemove { s, v }, tso::Method::SetIsEmpty { s }];
        let others = tso::PollClients { rmw: true }.calls(world, thread, bound, expired);
        others.into_iter().chain(of_sets.map(Into::into)).collect()
    }
}

/// Asks the solvers about the theorem for the compiler of a variant, and checks it in executions of small programs.
///
/// # Errors
/// If the models say something that first-order logic cannot express.
pub fn proved(variant: &str, options: &ProofOptions) -> Result<Proof, Error> {
    let by = compiler(variant)
        .ok_or_else(|| Unknown::new("variant of waits-to-polls", variant, COMPILERS.iter().map(|(name, _)| *name)))?;
    let (below, above) = (tso::switched(Switches::OFF), wait::switched(Switches::OFF));
    let polls = WaitsToPolls::new(&below, &above)?;
    let compiling = Compiling::in_force(by, &["d", "e"].map(Name::literal), 1);
    let on_words = |(mut world, client): (World, Client)| {
        world.objects.values_mut().for_each(|object| object.library = TSO);
        (world, client)
    };
    let telling: Vec<(World, Client)> = telling().into_iter().map(on_words).collect();
    let (rules, others) =
        polls.read_off(&mut |visit| executions(&below, &compiling, &telling, options.executions, visit))?;
    let programs = [telling, small(&PROGRAMS, STEP).into_iter().map(on_words).collect()].concat();
    let read = |theory: &Theory, execution: &Execution| polls.read(theory, execution);
    let mut proof = polls
        .theorem(&rules)?
        .prove(options, &read, &mut |visit| executions(&below, &compiling, &programs, options.executions, visit));
    proof.errors.extend(others.into_iter().map(Error::from));
    Ok(proof)
}

/// The distance between explored small programs; the others are skipped, since the programs only witness hypotheses.
const STEP: usize = 11;

/// Returns programs that exercise every rule of the compiler and satisfy the hypotheses of the steps.
fn telling() -> Vec<(World, Client)> {
    use wait::Method::{Get, Put, RCAS, RFAA, Wait, Write};
    let (here, there) = (Node(1), Node(2));
    let world = PROGRAMS.worlds(&World::new(2, &[here, there]), &Bound::default(), &|| false).swap_remove(0);
    let [x1, y1, x2] = ["x1", "y1", "x2"].map(Loc::new);
    let [d, e] = ["d", "e"].map(|name| Val::Wid(Wid(Name::literal(name))));
    let [one, two] = [1, 2].map(Val::Int);
    let swap = |v1| RCAS { x: y1, y: x2, v1: Val::Int(v1), v2: two, d };
    let add = |d| RFAA { x: y1, y: x2, v: one, d };
    let write = |v| Write { x: x1, v };
    let threads = [
        vec![Put { x: x2, y: y1, d }, Get { x: y1, y: x2, d: e }, Wait { d }, Wait { d: e }],
        vec![Get { x: y1, y: x2, d: e }, Put { x: x2, y: x1, d }, Wait { d }],
        vec![Put { x: x1, y: y1, d }, Wait { d }],
        vec![swap(0), Wait { d }],
        vec![swap(7), Wait { d }],
        vec![add(d), Wait { d }],
        vec![add(Val::NoWid), add(Val::NoWid), add(Val::NoWid)],
        vec![write(one), write(two), write(one)],
    ];
    let client =
        |calls: Vec<wait::Method>| Client { threads: vec![calls.into_iter().map(Into::into).collect(), Vec::new()] };
    threads.into_iter().map(|calls| (world.clone(), client(calls))).collect()
}
