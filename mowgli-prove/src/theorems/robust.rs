//! ROBUST Theorems 5 and 17: a program that is locally data-race free and fenced is robust.
//!
//! The proof is that of the paper, App. A, with two changes. First, it takes a shortest cycle of sc, which has no
//! chord: if sc leads from one member to another, that is the next one. Second, an invariant relates the order of
//! RDMA-TSO to that of RDMA-SC, because local data-race freedom speaks only of the latter.

use crate::error::{Contradiction, Refusal};
use crate::prove::{Proof, ProofOptions};
use crate::smt::term::{Structure, Term, Theory, all, and, any, app, equal, implies, not, or, symbol};
use crate::theorems::plain::{Plain, SortNames};
use crate::theorems::{Derived, Hypothesis, Item, Theorem, executions, small};
use mowgli_core::execution::{Execution, Pairs};
use mowgli_core::ids::{Loc, Node};
use mowgli_core::judge::closure;
use mowgli_core::library::Libraries;
use mowgli_core::soundness::client::{Client, Subject};
use mowgli_core::stamp::StampKind;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementations;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::RdmaStamp;
use mowgli_rdma::robust::{Cpu, Relations, order};
use mowgli_rdma::tso::{self, TSO, Tso};

// The names of the hypotheses.
const LDRF: &str = "locally data-race free";
const FENCED: &str = "fenced";
const CYCLE: &str = "a cycle of sc without a chord";

const SUB: &str = "Sub";
const NAMES: SortNames = SortNames { sub: SUB, event: "Event", prefix: "" };

const DERIVED: [Derived; 2] = [("Sub", "event", "Event"), ("Event", "thread", "Thread")];

/// The parts of gb with the names of their predicates.
type GbParts = Vec<(&'static str, String)>;

/// The predicates of the relations in the definition of robustness.
struct Predicates {
    rf: String,
    mo: String,
    rb: String,
    po: String,
    sc: String,
    conflict: String,
    /// The parts of gb in the definition of local data-race freedom, and gb.
    base: GbParts,
    gb: String,
    /// The parts of gb in the definition of fenced, and gb.
    fenced_base: GbParts,
    fenced_gb: String,
}

/// The theorem about a model, read off its calls.
pub struct Robustness<'a> {
    cpu: Cpu,
    plain: Plain<'a>,
    of: Predicates,
}

fn hb(a: &Term, b: &Term) -> Term {
    app("hb", [a, b])
}

fn thread(s: &Term) -> Term {
    app("thread", [app("event", [s])])
}

fn home(s: &Term) -> Term {
    app("home", [app("cell", [s])])
}

fn next(s: &Term) -> Term {
    app("next", [s])
}

fn on(s: &Term) -> Term {
    app("on", [s])
}

fn public(s: &Term) -> Term {
    app("public", [s])
}

fn talk(t: &Term, m: &Term, n: &Term) -> Term {
    app("talk", [t, m, n])
}

fn step(under: &[&'static str], name: &str, of: &[&str], from: Term, to: Term) -> Item {
    let of: Vec<(&str, &'static str)> = of.iter().map(|s| (*s, SUB)).collect();
    Item::step(under, name, &of, from, to)
}

impl<'a> Robustness<'a> {
    /// Reads the model off its calls.
    ///
    /// # Errors
    /// If the model is not first-order, or samples of its calls disagree.
    pub fn new(cpu: Cpu, libraries: &'a Libraries) -> Result<Self, Refusal> {
        let relations = Relations::default();
        let mut plain = Plain::new(libraries, TSO, &relations.spec, &tso::PollClients { rmw: false }, NAMES)?;
        let mut predicates = |cpu: Cpu| -> Result<(GbParts, String), Refusal> {
            let base = relations.gb_base(cpu);
            let named: Result<Vec<_>, Refusal> =
                base.iter().map(|(name, rel)| Ok((*name, plain.encoding.predicate(rel)?))).collect();
            Ok((named?, plain.encoding.predicate(&Relations::gb(&base))?))
        };
        let (base, gb) = predicates(Cpu::Sc)?;
        let (fenced_base, fenced_gb) = if cpu == Cpu::Sc { (base.clone(), gb.clone()) } else { predicates(Cpu::Tso)? };
        let mut name = |rel| plain.encoding.predicate(rel);
        let of = Predicates {
            rf: name(&relations.rf)?,
            mo: name(&relations.mo)?,
            rb: name(&relations.rb)?,
            po: name(&relations.po)?,
            sc: name(&relations.sc)?,
            conflict: name(&relations.conflict)?,
            base,
            gb,
            fenced_base,
            fenced_gb,
        };
        Ok(Self { cpu, plain, of })
    }

    /// Returns the theorem without the dropped hypotheses.
    ///
    /// # Errors
    /// If the model says something that first-order logic cannot express.
    pub fn theorem(&self, dropped: Dropped) -> Result<Theorem, Refusal> {
        let mut theory = Theory::default();
        Plain::sorts(&mut theory);
        self.plain.vocabulary(&mut theory)?;
        self.plain.relations(&mut theory)?;
        self.plain.consistency(&mut theory);
        self.talk(&mut theory);
        theory.comment("A cycle.");
        theory.function("on", &[SUB], "Bool");
        theory.function("next", &[SUB], SUB);
        theory.function("last", &[SUB], SUB);
        let number = if self.cpu == Cpu::Sc { 5 } else { 17 };
        let mut hypotheses = self.hypotheses();
        let is_dropped = |h: &&mut Hypothesis| (dropped.ldrf && h.name == LDRF) || (dropped.fenced && h.name == FENCED);
        hypotheses.iter_mut().filter(is_dropped).for_each(|hypothesis| hypothesis.says.clear());
        let about =
            format!("ROBUST Theorem {number}, for every program: locally data-race free and fenced, so robust.");
        Ok(Theorem { about, theory, hypotheses, derived: DERIVED.to_vec(), items: self.items() })
    }

    /// Defines the nodes that are joined by public operations of threads other than one (Def. 8).
    fn talk(&self, theory: &mut Theory) {
        theory.comment("Which nodes are joined by public operations of other threads.");
        let [s, u] = ["s", "u"].map(symbol);
        let shared = any(&[("u", SUB)], and([app("same.cell", [&s, &u]), not(equal(thread(&s), thread(&u)))]));
        theory.define("public", &[("s", SUB)], "Bool", shared);
        theory.function("talk", &["Thread", "Node", "Node"], "Bool");
        let [t, l, m, n] = ["t", "l", "m", "n"].map(symbol);
        let of = [("t", "Thread"), ("l", "Node"), ("m", "Node"), ("n", "Node")];
        theory.axiom("each node talks to itself", all(&[of[0], of[2]], talk(&t, &m, &m)));
        let back = all(&[of[0], of[2], of[3]], implies(talk(&t, &m, &n), talk(&t, &n, &m)));
        theory.axiom("who talks is talked to", back);
        let path = implies(and([talk(&t, &l, &m), talk(&t, &m, &n)]), talk(&t, &l, &n));
        theory.axiom("talk is transitive", all(&of, path));
        let far = self.plain.has_role(&s, |r| r.is_far);
        let joins = talk(&t, &app("node", [thread(&s)]), &app("to", [app("event", [&s])]));
        let given = and([far, public(&s), not(equal(thread(&s), &t))]);
        theory.axiom("a remote operation joins two nodes", all(&[("s", SUB), of[0]], implies(given, joins)));
    }

    fn hypotheses(&self) -> Vec<Hypothesis> {
        let [a, b, s] = ["a", "b", "s"].map(symbol);
        let pair = [("a", SUB), ("b", SUB)];
        let Predicates { po, sc, conflict, gb, fenced_gb, .. } = &self.of;
        let met = and([app(po, [&a, &b]), app(conflict, [&a, &b])]);
        let racy = all(&pair, implies(met, app(gb, [&a, &b])));
        let seen = and([app(po, [&a, &b]), public(&a), public(&b), talk(&thread(&a), &home(&a), &home(&b))]);
        let fenced = all(&pair, implies(seen, app(fenced_gb, [&a, &b])));
        let step = implies(on(&s), and([on(&next(&s)), app(sc, [&s, &next(&s)])]));
        let last = app("last", [&s]);
        let back = and([on(&last), equal(next(&last), &s), equal(app("last", [next(&s)]), &s)]);
        let chord = implies(and([on(&a), on(&b), app(sc, [&a, &b])]), equal(&b, next(&a)));
        let cycle = vec![
            ("sc leads from each member to the next", all(&[("s", SUB)], step)),
            ("each member is the next of the last one", all(&[("s", SUB)], implies(on(&s), back))),
            ("the cycle has no chord", all(&pair, chord)),
        ];
        vec![
            Hypothesis { name: LDRF, says: vec![("accesses of a thread that meet are in gb (Def. 7)", racy)] },
            Hypothesis { name: FENCED, says: vec![("public ones are, where they can matter (Defs. 8, 13)", fenced)] },
            Hypothesis { name: CYCLE, says: cycle },
        ]
    }

    fn items(&self) -> Vec<Item> {
        let mut items = self.guaranteed();
        if self.cpu == Cpu::Tso {
            items.extend(self.guaranteed_on_sc());
        }
        items.extend(self.of_one_thread());
        items.extend(self.of_cycles());
        let [a, b] = ["a", "b"].map(symbol);
        let given = and([app(&self.of.po, [&a, &b]), public(&a), public(&b), talk(&thread(&a), &home(&a), &home(&b))]);
        let name = "public accesses that can matter to each other are in hb (Theorems 10, 16)";
        items.push(step(&[FENCED], name, &["a", "b"], given, hb(&a, &b)));
        items
    }

    /// Returns the terms for the read of a put, for the case that a subevent is the write of the put.
    fn source(&self, of: &Term) -> Vec<(Term, &'static str)> {
        let reads = self.plain.roles.iter().enumerate().filter(|(_, r)| r.family == "aNLR");
        reads.map(|(r, _)| (self.plain.part(r, &app("event", [of])), SUB)).collect()
    }

    /// Returns the steps of Theorems 7 and 13: gb is inside hb.
    fn guaranteed(&self) -> Vec<Item> {
        let [a, b] = ["a", "b"].map(symbol);
        let source = self.source(&b);
        let part = |(name, predicate): &(&'static str, String)| {
            let name = format!("gb inside hb (Theorems 7, 13): {name}");
            step(&[], &name, &["a", "b"], app(predicate, [&a, &b]), hb(&a, &b)).with(&source)
        };
        let mut items: Vec<Item> = self.of.fenced_base.iter().map(part).collect();
        let says = implies(app(&self.of.fenced_gb, [&a, &b]), hb(&a, &b));
        let says = all(&[("a", SUB), ("b", SUB)], says);
        items.push(Item::Hence { under: vec![], words: "gb is inside hb, as hb is transitive", says });
        items
    }

    /// Returns the invariant on RDMA-TSO for a pair in gb of RDMA-SC. The pair is in po. Either it is a buffered write
    /// before a read or a poll, or it is in hb. In the second case a CPU subevent behind a remote one comes at or after
    /// a poll that the remote one happens before.
    fn kept(&self, a: &Term, b: &Term) -> Term {
        let is = |s: &Term, families: &[&str]| self.plain.has_role(s, |r| families.contains(&r.family.as_str()));
        let cpu = |s: &Term| is(s, &["aCR", "aCW", "aCAS", "aMF", "aWT"]);
        let p = symbol("p");
        let at = or([equal(&p, b), app("po", [&p, b])]);
        let polled = any(&[("p", SUB)], and([is(&p, &["aWT"]), hb(a, &p), at]));
        let over = and([hb(a, b), or([cpu(a), not(cpu(b)), polled])]);
        let buffered = and([is(a, &["aCW"]), is(b, &["aCR", "aWT"])]);
        and([app(&self.of.po, [a, b]), or([over, buffered])])
    }

    fn guaranteed_on_sc(&self) -> Vec<Item> {
        let [a, b, c] = ["a", "b", "c"].map(symbol);
        let mut items = Vec::new();
        for (name, predicate) in &self.of.base {
            let from = app(predicate, [&a, &b]);
            let first = format!("gb of RDMA-SC, first: {name}");
            items.push(step(&[], &first, &["a", "b"], from, self.kept(&a, &b)).with(&self.source(&b)));
            let from = and([self.kept(&a, &b), app(predicate, [&b, &c])]);
            let then = format!("gb of RDMA-SC, then: {name}");
            items.push(step(&[], &then, &["a", "b", "c"], from, self.kept(&a, &c)).with(&self.source(&c)));
        }
        let says = all(&[("a", SUB), ("b", SUB)], implies(app(&self.of.gb, [&a, &b]), self.kept(&a, &b)));
        items.push(Item::Hence { under: vec![], words: "what gb of RDMA-SC says, by induction on paths", says });
        items
    }

    /// Returns the steps of Theorems 9 and 15: sc has no cycle on one thread.
    fn of_one_thread(&self) -> Vec<Item> {
        let [a, b] = ["a", "b"].map(symbol);
        let Predicates { rf, mo, rb, po, sc, .. } = &self.of;
        let never = |(name, predicate): (&str, &String)| {
            let name = format!("{name} does not go back in a thread (Theorems 9, 15)");
            step(&[LDRF], &name, &["a", "b"], app(po, [&a, &b]), not(app(predicate, [&b, &a])))
        };
        let met = and([app("same.cell", [&a, &b]), app(&self.of.conflict, [&a, &b])]);
        let meet = |(name, predicate): (&str, &String)| {
            let name = format!("{name} relates accesses of a cell, one of which writes");
            step(&[], &name, &["a", "b"], app(predicate, [&a, &b]), met.clone())
        };
        let all = [("rf", rf), ("mo", mo), ("rb", rb)];
        let mut items: Vec<Item> = all.map(meet).into_iter().chain(all.map(never)).collect();
        let given = and([app(sc, [&a, &b]), app("same.thread", [&a, &b])]);
        items.push(step(&[LDRF], "sc inside a thread is po (Theorems 9, 15)", &["a", "b"], given, app(po, [&a, &b])));
        items
    }

    /// Returns the steps of Theorems 8 and 14, and Lemma 2, about a cycle of sc without a chord.
    fn of_cycles(&self) -> Vec<Item> {
        let [a, b, c] = ["a", "b", "c"].map(symbol);
        let both = [LDRF, CYCLE];
        let same = |a: &Term, b: &Term| equal(thread(a), thread(b));
        let (one, two, last) = (next(&a), next(&next(&a)), app("last", [&a]));
        let subs = |all: &[&Term]| -> Vec<(Term, &'static str)> { all.iter().map(|s| ((*s).clone(), SUB)).collect() };
        let around_a = subs(&[&one, &two, &last]);
        let given = and([on(&a), not(hb(&a, &one))]);
        let in_thread = and([same(&a, &one), app(&self.of.po, [&a, &one])]);
        let name = "what is in sc and not in hb is po (Theorems 8, 14)";
        let mut items = vec![step(&[CYCLE], name, &["a"], given, in_thread).with(&around_a)];
        let given = and([on(&a), on(&b), on(&c), same(&a, &b), same(&b, &c)]);
        let alike = or([equal(&a, &b), equal(&b, &c), equal(&a, &c)]);
        let two_at_most = step(&both, "of a thread at most two are on the cycle", &["a", "b", "c"], given, alike);
        items.push(two_at_most.with(&subs(&[&next(&a), &next(&b), &next(&c)])));
        let given = and([on(&a), same(&a, &one)]);
        let around = and([not(same(&two, &a)), not(same(&last, &a))]);
        let name = "what is around two of a thread is of others";
        items.push(step(&both, name, &["a"], given.clone(), around).with(&around_a));
        items.push(step(&both, "all on the cycle is public", &["a"], on(&a), public(&a)).with(&around_a));
        let touches = self.plain.has_role(&a, |r| r.has_cell);
        items.push(step(&[], "what is public is of a cell", &["a"], public(&a), touches));
        let joined = |s: &Term| and([not(same(s, &a)), talk(&thread(&a), &home(&one), &home(s))]);
        let nodes = |subs: &[&Term]| -> Vec<(Term, &'static str)> {
            let of = |s: &Term| [home(s), app("to", [app("event", [s])]), app("node", [thread(s)])];
            subs.iter().copied().flat_map(of).map(|n| (n, "Node")).collect()
        };
        let speaks = |of: &[&Term]| [subs(of), nodes(of)].concat();
        items.push(step(&both, "Lemma 2, first", &["a"], given.clone(), joined(&two)).with(&speaks(&[&one, &two])));
        let given_on = and([given.clone(), on(&b), joined(&b), not(equal(next(&b), &a))]);
        let then = step(&both, "Lemma 2, then", &["a", "b"], given_on, joined(&next(&b)));
        items.push(then.with(&[subs(&[&one]), vec![(home(&one), "Node")], speaks(&[&b, &next(&b)])].concat()));
        let at_last = talk(&thread(&a), &home(&a), &home(&one));
        let given_last = and([given.clone(), joined(&last)]);
        let end = step(&both, "Lemma 2, at last", &["a"], given_last, at_last);
        items.push(end.with(&[subs(&[&one, &last]), [&a, &one, &last].map(|s| (home(s), "Node")).to_vec()].concat()));
        let says = all(&[("a", SUB)], implies(given, talk(&thread(&a), &home(&a), &home(&one))));
        items.push(Item::Hence { under: both.to_vec(), words: "Lemma 2, along the cycle, which is finite", says });
        items
    }

    /// Reads an execution as a structure.
    pub fn read(&self, theory: &Theory, execution: &Execution) -> Result<Structure<'static>, Contradiction> {
        let mut structure = self.plain.structure(theory, execution)?;
        let n = execution.subs.len();
        let is_far =
            |s: &usize| matches!(RdmaStamp::of(execution.subs[*s].sub.stamp), RdmaStamp::aNRR(_) | RdmaStamp::aNRW(_));
        let mut edges: Vec<Pairs> = vec![Pairs::new(); execution.world.threads.len()];
        for s in (0..n).filter(is_far) {
            let own = execution.events[execution.subs[s].event].thread;
            let here = usize::from(execution.world.node_of(own).0) - 1;
            let there = RdmaStamp::of(execution.subs[s].sub.stamp).node().map_or(0, |n| usize::from(n.0) - 1);
            if structure.apply("public", &[s])? == 1 {
                for (_, edges) in edges.iter_mut().enumerate().filter(|(t, _)| *t != own.index()) {
                    edges.extend([(here, there), (there, here)]);
                }
            }
        }
        let paths: Vec<Pairs> = edges.iter().map(closure).collect();
        structure.table("talk", move |p| usize::from(p[1] == p[2] || paths[p[0]].contains(&(p[1], p[2]))));
        let around = shortest_cycle(&structure.pairs(&self.of.sc, n)?, n);
        let place = |s: usize| around.iter().position(|x| *x == s);
        let at = |s: usize, by: usize| place(s).map_or(s, |p| around[(p + by) % around.len()]);
        let on: Vec<usize> = (0..n).map(|s| usize::from(place(s).is_some())).collect();
        let (next, last): (Vec<usize>, Vec<usize>) =
            (0..n).map(|s| (at(s, 1), at(s, around.len().saturating_sub(1)))).unzip();
        structure.function("on", on);
        structure.function("next", next);
        structure.function("last", last);
        Ok(structure)
    }
}

/// Returns a shortest cycle of these edges, or nothing if there is none.
fn shortest_cycle(edges: &Pairs, n: usize) -> Vec<usize> {
    let from = |s| mowgli_core::judge::cycle_from(edges, s);
    (0..n).map(from).filter(|cycle| !cycle.is_empty()).min_by_key(Vec::len).unwrap_or_default()
}

/// The variants, of which the first is as published; each other one is false.
pub const VARIANTS: [&str; 4] = ["published", "racy", "unfenced", "poll-before-write"];

/// The hypotheses that a variant lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// True if programs need not be locally data-race free.
    pub ldrf: bool,
    /// True if programs need not be fenced.
    pub fenced: bool,
}

impl Dropped {
    /// Returns the hypotheses that a variant lacks.
    #[must_use]
    pub fn of(variant: &str) -> Self {
        Self { ldrf: variant == "racy", fenced: variant == "unfenced" }
    }
}

/// Returns the model of a variant. In one of them writes of the CPU may pass polls.
pub fn libraries(cpu: Cpu, variant: &str) -> Libraries {
    let (to, lacks) = (order(cpu), variant == "poll-before-write");
    Libraries::over(move |a, b| !(lacks && (a, b) == (RdmaStamp::aWT, RdmaStamp::aCW)) && to(a, b)).with(Tso::PUBLISHED)
}

/// Asks the solvers about the theorem, and checks it in executions of small programs.
pub fn proved(cpu: Cpu, variant: &str, options: &ProofOptions) -> Result<Proof, Refusal> {
    let libraries = libraries(cpu, variant);
    let robustness = Robustness::new(cpu, &libraries)?;
    let theorem = robustness.theorem(Dropped::of(variant))?;
    let (world, telling) = telling();
    let telling = telling.into_iter().map(|client| (world.clone(), client));
    let programs: Vec<(World, Client)> = telling.chain(small(&tso::PollClients { rmw: false }, STEP)).collect();
    let read = |theory: &Theory, execution: &Execution| robustness.read(theory, execution);
    let none = Implementations::new();
    Ok(theorem.prove(options, &read, &mut |visit| executions(&libraries, &none, &programs, options.executions, visit)))
}

/// The distance between explored small programs; the others are skipped, since the programs only witness hypotheses.
const STEP: usize = 7;

/// Returns programs that satisfy the hypotheses of the steps.
fn telling() -> (World, Vec<Client>) {
    use tso::Method::{Get, Mfence, Poll, Put, Read, Rfence, Write};
    let (here, there) = (Node(1), Node(2));
    let empty = World::new(2, &[here, there, here]);
    let world = tso::PollClients { rmw: false }.worlds(&empty, &Bound::default(), &|| false).swap_remove(0);
    let [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map(Loc::new);
    let poll = || Poll { n: there };
    let one = Val::Int(1);
    let threads: [[Vec<tso::Method>; 3]; 5] = [
        [
            vec![
                Read { x: y1 },
                Put { x: x2, y: y1 },
                Get { x: x1, y: y2 },
                poll(),
                poll(),
                Write { x: y1, v: one },
                Read { x: x1 },
            ],
            vec![],
            vec![],
        ],
        [vec![Read { x: y1 }, Get { x: x1, y: y2 }, Rfence { n: there }, Put { x: x2, y: y1 }], vec![], vec![]],
        [vec![Put { x: x2, y: y1 }, Read { x: x1 }], vec![Put { x: x1, y: y2 }, Read { x: x2 }], vec![]],
        [
            vec![Write { x: x1, v: one }, Mfence {}, Read { x: y1 }],
            vec![],
            vec![Write { x: y1, v: one }, Mfence {}, Read { x: x1 }],
        ],
        [vec![Write { x: x1, v: one }, Read { x: x1 }, Read { x: y1 }], vec![], vec![]],
    ];
    let client = |threads: [Vec<tso::Method>; 3]| Client {
        threads: threads.into_iter().map(|calls| calls.into_iter().map(Into::into).collect()).collect(),
    };
    (world, threads.map(client).into())
}
