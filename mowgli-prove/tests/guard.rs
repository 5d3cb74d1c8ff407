//! Random changes to proved libraries: no case is both proved and refuted.
//!
//! A case changes a body (calls, guards and loops at a random place, or a call less), the specification, a shape, or a lemma. A
//! specification gets an edge more, an edge reversed, one more demand, or less of these. A shape gets other subevents, values or
//! cells. A proof counts as refuted if `check` finds an execution without g. It also does if an execution contradicts the theory,
//! of which shown lemmas are a part.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fastrand::Rng;
use libtest_mimic::Trial;
use mowgli_check::check::{CheckOptions, CheckQuestion, check};
use mowgli_core::expr::{Expr, all_nodes, all_threads, here, me, members, node};
use mowgli_core::ids::Name;
use mowgli_core::rewrite::edit::Edits;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_core::term::body::{Bodies, Body, Stmt, bodies, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::lemma::{Lemma, call, index, number, value};
use mowgli_core::term::method::ArgumentKind;
use mowgli_core::term::parts::{ObjectTerm, Parts, parts};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_judge::algebra::{Demand, Rel, Spec, id, po, reads, same_thread, writes};
use mowgli_judge::shape::{CellTerm, ReadsTerm, ShapeTerm, Shapes, SubTerm, WritesTerm};
use mowgli_libraries::bal::{Bal, BalOverSv, Method as Barrier};
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_libraries::lock::Method as Lock;
use mowgli_libraries::nlock::NLOCK;
use mowgli_libraries::sc_rmw::{Method as Sc, ScRmwOverNlock};
use mowgli_libraries::sv::{Method as Sv, SV, SvOverWait};
use mowgli_libraries::wlock::WlockOverSv;
use mowgli_prove::error::Error;
use mowgli_prove::prove::{Proof, ProofOptions, prove};
use mowgli_prove::smt::solve::{SolverLimit, SolverProgram};
use mowgli_rdma::wait::{Method as Wait, WAIT};

use crate::common::{OtherShapes, source};
use crate::needs::{Layer, Need, trial};

#[path = "common/random.rs"]
mod random;
use random::{Operation, Pieces, operation};

/// The variable of the environment with the seed of other cases, and more of them.
const SEED: &str = "MOWGLI_GUARD";

/// Lists the tests.
pub fn trials() -> Vec<Trial> {
    let missing = || (!SolverProgram::Z3.is_there()).then(|| "z3 is not on the path".to_owned());
    let need = Need { tool: "z3", in_ci: true, missing };
    let few = || compared(&["sv"], 40, 8, 8);
    let [cases, least] = if std::env::var_os(SEED).is_some() { [2000, 200] } else { [160, 16] };
    let many = move || compared(&["sv", "bal", "wlock", "sc-rmw"], cases, least, least);
    vec![
        trial("what_was_proved_wrongly_is_not_proved", Layer::Quick, need.clone(), given_cases_of_sv),
        trial("what_was_proved_wrongly_of_locks_and_barriers_is_not", Layer::Long, need.clone(), given_cases_of_waits),
        trial("siblings_of_what_was_proved_wrongly_are_refuted", Layer::Long, need.clone(), siblings),
        trial("no_random_case_is_proved_and_refuted", Layer::Quick, need.clone(), few),
        trial("none_of_many_random_cases_is_proved_and_refuted", Layer::Long, need, many),
    ]
}

/// A changed library.
struct Case {
    entry: Entry,
    implementation: Arc<dyn Implementation>,
    words: String,
}

/// Returns a library of the catalogue with its published implementation.
fn published(library: &str) -> Case {
    let entry = catalogue().into_iter().find(|entry| entry.name == library).expect("a library of the catalogue");
    let implementation = entry.variants[0].implementation.clone();
    Case { entry, implementation, words: library.to_owned() }
}

impl Case {
    fn with(self, implementation: impl Implementation + 'static, words: &str) -> Self {
        Self { implementation: Arc::new(implementation), words: format!("{}, {words}", self.words), ..self }
    }

    fn respecified(mut self, words: &str, change: impl FnOnce(&mut Spec)) -> Self {
        let name = Name::literal(self.entry.name);
        self.entry.specification = self.entry.specification.respecified(name, change);
        Self { words: format!("{}, {words}", self.words), ..self }
    }

    fn proof(&self) -> Proof {
        let limit = SolverLimit::of(SolverLimit::SECOND / 2);
        // No solver confirms the simplifier, so that its errors show.
        let options = ProofOptions {
            solvers: vec![SolverProgram::Z3],
            limit,
            executions: 20_000,
            confirms: false,
            keep: false,
            diagnoses: false,
        };
        prove(&source(&self.entry, self.implementation.clone()), &options)
    }

    /// True if some small client has an execution without g. What is proved is searched for larger ones.
    fn is_refuted(&self, is_proved: bool) -> bool {
        let more = usize::from(is_proved);
        let (bounds, calls_in_all) = match self.entry.name {
            "sv" => (vec![(2, 2, 2), (1, 2, 3)], 2 + more),
            "bal" => (vec![(2, 2, 2), (1, 2, 3), (3, 2, 1)], 4),
            // Three sections are six calls.
            "wlock" => (vec![(2, 2, 2), (2, 2, 4)], 6),
            _ => (vec![(2, 2, 1), (1, 2, 2), (2, 1, 2)], 2 + more),
        };
        bounds.into_iter().any(|(threads, nodes, calls)| {
            let total = Some(calls_in_all);
            let bound = Bound { threads, nodes, calls, total, values: vec![1, 2], ..Bound::default() };
            let variant = Variant {
                implementation: self.implementation.clone(),
                bounds: vec![bound.clone()],
                ..self.entry.variants[0].clone()
            };
            let times = AtomicUsize::new(0);
            let stops = || times.fetch_add(1, Ordering::Relaxed) > 20_000;
            let options =
                CheckOptions { ask: CheckQuestion::Local, ends: false, stops: &stops, ..CheckOptions::default() };
            let found = check(&self.entry, &variant, &bound, &options);
            found.is_ok_and(|checked| {
                checked.report.violation.is_some() || matches!(checked.report.verdict, Verdict::Unsound(_))
            })
        })
    }
}

/// Counts the cases of each library that are proved, refuted and open. None is both proved and refuted.
fn compared(libraries: &[&str], cases: usize, least_proved: usize, least_refuted: usize) {
    let seed = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let mut found = vec![[0, 0, 0]; libraries.len()];
    let sum = |found: &[[usize; 3]], of: usize| found.iter().map(|counts| counts[of]).sum::<usize>();
    for number in 0..cases {
        let mut rng = Rng::with_seed(seed.unwrap_or(70) * 1_000_003 + number as u64);
        // Most cases are of the first libraries, whose proofs take least.
        let library = [0, 1, 3, 2, 0, 1, 0, 0, 1, 0, 2, 0, 1, 0, 0, 2, 0, 1, 0, 0][number % 20] % libraries.len();
        let is_published = number < libraries.len();
        let case = published(libraries[library]);
        let case = if is_published { case } else { randomly_changed(&mut rng, case) };
        let start = std::time::Instant::now();
        let proof = case.proof();
        // Shown lemmas are axioms.
        let is_false = |error: &&Error| error.to_string().contains("not every execution has this");
        let contradicted = proof.errors.iter().find(is_false);
        assert!(contradicted.is_none(), "case {number}: {}: {contradicted:?}", case.words);
        let proved = start.elapsed();
        let is_proved = proof.is_proved();
        let is_refuted = case.is_refuted(is_proved);
        if seed.is_some() {
            let seconds = [proved, start.elapsed() - proved].map(|time| time.as_secs_f64());
            println!("case {number}, {}: {is_proved}, {is_refuted}, {seconds:.1?}", case.entry.name);
        }
        assert!(!is_proved || !is_refuted, "case {number} is proved and refuted: {}", case.words);
        assert!(is_proved || !is_published, "what is published is proved: {proof:?}");
        let verdict = if is_proved { 0 } else { 2 - usize::from(is_refuted) };
        found[library][verdict] += 1;
        if number % 50 == 49 || number + 1 == cases {
            let all = libraries.iter().zip(&found).map(|(name, [proved, refuted, open])| {
                format!("{name}: {proved} proved, {refuted} refuted, {open} open")
            });
            println!("{} cases; {}", number + 1, all.collect::<Vec<_>>().join("; "));
        }
    }
    assert!(sum(&found, 0) >= least_proved && sum(&found, 1) >= least_refuted, "{found:?}");
    // A part of them is of each library.
    let least = |least: usize| least / libraries.len() / 8;
    let is_spread =
        |[proved, refuted, _]: &[usize; 3]| *proved >= least(least_proved) && *refuted >= least(least_refuted);
    assert!(found.iter().all(is_spread), "{found:?}");
}

fn randomly_changed(rng: &mut Rng, mut case: Case) -> Case {
    let of_lemmas = if case.implementation.lemmas().is_empty() { 0 } else { 2 };
    for _ in 0..rng.usize(1..3) {
        case = match rng.u8(..10 + of_lemmas) {
            0..=3 => with_random_body(rng, case),
            4..=7 => with_random_specification(rng, case),
            8 | 9 => with_random_shape(rng, case),
            _ => with_random_lemma(rng, case),
        };
    }
    case
}

/// Returns a random relation without hb.
fn relation(rng: &mut Rng, spec: &Spec, depth: usize) -> Rel {
    let sub = |rng: &mut Rng| relation(rng, spec, depth - 1);
    match if depth == 0 { rng.u8(..6) } else { rng.u8(..14) } {
        0 => po(),
        1 => {
            if rng.bool() {
                same_thread()
            } else {
                id()
            }
        }
        2 => {
            if rng.bool() {
                reads().on()
            } else {
                writes().on()
            }
        }
        3 | 4 => {
            let choices: Vec<Rel> = spec.choices.iter().filter_map(|(name, _)| spec.chosen(name)).collect();
            rng.choice(&choices).cloned().unwrap_or_else(po)
        }
        5 => rng.choice(&spec.so).map_or_else(po, |(_, rel)| rel.clone()),
        6..=9 => sub(rng).then(&sub(rng)),
        10 => sub(rng) | sub(rng),
        11 => sub(rng) & sub(rng),
        12 => sub(rng) - sub(rng),
        _ => sub(rng).inv(),
    }
}

fn with_random_specification(rng: &mut Rng, case: Case) -> Case {
    let kind = rng.u8(..8);
    let depth = rng.usize(1..4);
    let words = [
        "a demand",
        "a demand",
        "an edge more",
        "an edge reversed",
        "an edge less",
        "a weaker demand",
        "a weaker edge",
        "no path back",
    ];
    case.respecified(words[usize::from(kind)], |spec| {
        let rel = relation(rng, spec, depth);
        let part = rng.usize(..spec.so.len().max(1));
        match kind {
            0 => spec.empty("added", &rel),
            1 => spec.irreflexive("added", &rel),
            2 => spec.so.push(("added", rel)),
            3 => spec.so.iter_mut().skip(part).take(1).for_each(|(_, so)| *so = so.inv()),
            4 => _ = (part < spec.so.len()).then(|| spec.so.remove(part)),
            5 => spec.demands.iter_mut().for_each(|(_, _, demand)| *demand = demand.clone() & rel.clone()),
            6 => spec.so.iter_mut().skip(part).take(1).for_each(|(_, so)| *so = so.clone() & rel.clone()),
            _ => {
                let so = spec.so.get(part).map_or_else(po, |(_, so)| so.clone());
                spec.demands.push(("added", Demand::Irreflexive, so.then(&rel)));
            }
        }
    })
}

/// Changes one subevent of a random method, in all calls or for some data.
fn with_random_shape(rng: &mut Rng, mut case: Case) -> Case {
    let library = case.entry.library().expect("a library");
    let methods = library.methods();
    let terms = library.shape_terms().expect("its shapes are terms").clone();
    let method = rng.choice(methods).expect("there are methods");
    let datum = method.takes.iter().position(|(_, kind)| *kind == ArgumentKind::Value);
    let data: Vec<&str> = datum.iter().map(|position| method.takes[*position].0).collect();
    let (kind, at, n) = (rng.u8(..8), rng.usize(..2), rng.i64(..3));
    let shapes = Shapes::default().with(methods, method.name, &data, |data| {
        let known = terms.get(method.name).expect("it has a shape").clone();
        let changed = reshaped(&known, &mut at.clone(), kind, n);
        match data.first() {
            Some(datum) if rng.bool() => ShapeTerm::branch(datum.is(n), changed, known),
            _ => changed,
        }
    });
    let words = format!("shape of {}:\n{:?}\n", method.name, shapes.get(method.name));
    let name = Name::literal(case.entry.name);
    case.entry.specification = case.entry.specification.reshaped(name, OtherShapes(shapes.or(&terms)));
    Case { words: format!("{}, {words}", case.words), ..case }
}

/// Changes the subevent of a shape that has this number of subevents before it.
fn reshaped(shape: &ShapeTerm, before: &mut usize, kind: u8, n: i64) -> ShapeTerm {
    let is_found = |part: &ShapeTerm| part.find_sub(&mut |sub| sub.found).is_some();
    match shape {
        // A value is found before it is written.
        ShapeTerm::Seq(all) if kind == 0 && !all.iter().any(is_found) => {
            ShapeTerm::Seq(all.iter().rev().cloned().collect())
        }
        ShapeTerm::Seq(all) => ShapeTerm::Seq(all.iter().map(|part| reshaped(part, before, kind, n)).collect()),
        ShapeTerm::Either(all) => ShapeTerm::Either(all.iter().map(|part| reshaped(part, before, kind, n)).collect()),
        ShapeTerm::If(condition, yes, no) => {
            let (yes, no) = (reshaped(yes, before, kind, n), reshaped(no, before, kind, n));
            if kind == 1 { ShapeTerm::branch(*condition, no, yes) } else { ShapeTerm::branch(*condition, yes, no) }
        }
        ShapeTerm::For(x, set, part) => ShapeTerm::For(*x, *set, Box::new(reshaped(part, before, kind, n))),
        ShapeTerm::Sub(sub) => {
            *before = before.wrapping_sub(1);
            let sub = sub.clone();
            if *before != usize::MAX {
                return ShapeTerm::Sub(sub);
            }
            let cell = sub.cell.map(|cell| CellTerm { node: cell.node.map(|_| here()), ..cell });
            let reads = |reads: ReadsTerm| sub.reads.map(|_| reads);
            ShapeTerm::Sub(match kind {
                2 if sub.found.is_none() => return ShapeTerm::nothing(),
                3 => SubTerm { reads: reads(ReadsTerm::Any), ..sub },
                4 => SubTerm { reads: reads(ReadsTerm::Is(n.into())), ..sub },
                5 => SubTerm { reads: reads(ReadsTerm::IsNot(n.into())), ..sub },
                6 => SubTerm { writes: sub.writes.as_ref().map(|_| WritesTerm::Is(n.into())), ..sub },
                7 => SubTerm { cell, ..sub },
                _ => {
                    return ShapeTerm::Seq(vec![
                        ShapeTerm::Sub(SubTerm { found: None, ..sub.clone() }),
                        ShapeTerm::Sub(sub),
                    ]);
                }
            })
        }
    }
}

/// The calls that a random body of a library makes. `x` is the object of the call.
fn pieces(library: &str, x: Expr) -> Pieces {
    let own = move |role: &'static str| x.part(role, [me()]);
    let copy = move |n: Option<Expr>| x.part("copy", [n.unwrap_or(here())]);
    let others = || all_nodes().without(here());
    let (reads, effects, mut sets): (Vec<Operation>, Vec<Operation>, Vec<Expr>) = match library {
        "sv" => (
            vec![operation(move |_, _| Wait::read(copy(None)))],
            vec![
                operation(move |v, _| Wait::write(copy(None), v)),
                operation(move |_, n| Wait::put(copy(n), copy(None), Val::NoWid)),
                operation(|_, _| Wait::mfence()),
            ],
            Vec::new(),
        ),
        "bal" => (
            vec![operation(move |_, _| Sv::read(own("count")))],
            vec![
                operation(move |v, _| Sv::write(own("count"), v)),
                operation(move |_, _| Sv::bcast(own("count"), Val::NoWid, others())),
                operation(|_, _| Sv::gf(all_nodes())),
            ],
            vec![members(x)],
        ),
        "wlock" => (
            vec![operation(move |_, _| Sv::read(own("passed"))), operation(move |_, _| Wait::read(own("ticket")))],
            vec![
                operation(move |v, _| Sv::write(own("passed"), v)),
                operation(move |_, _| Sv::bcast(own("passed"), Val::NoWid, others())),
                operation(move |v, _| Wait::write(own("ticket"), v)),
                operation(|_, _| Sv::gf(all_nodes())),
            ],
            Vec::new(),
        ),
        _ => (
            vec![operation(move |_, _| Wait::read(own("got"))), operation(move |_, _| Wait::read(own("put")))],
            vec![
                operation(move |v, _| Wait::write(own("put"), v)),
                operation(move |v, _| Wait::write(own("got"), v)),
                operation(|_, _| Wait::mfence()),
            ],
            Vec::new(),
        ),
    };
    sets.extend([all_nodes(), others()]);
    let searched = vec![match library {
        "sv" => operation(move |_, _| Wait::read(copy(None))),
        "bal" => operation(move |_, _| Sv::read(own("count"))),
        "wlock" => operation(move |_, t| Sv::read(x.part("passed", [t.unwrap_or(me())]))),
        _ => operation(move |_, _| Wait::read(own("got"))),
    }];
    Pieces { reads, effects, searched, sets, literals: vec![0, 1, 2, 3] }
}

/// Changes a random method: random statements before or after a call or at the end, or in its place in some case. Or a call is
/// missing, or is made twice.
fn with_random_body(rng: &mut Rng, case: Case) -> Case {
    let methods = case.entry.library().expect("a library").methods();
    let with_object = methods.iter().filter(|m| m.takes.iter().any(|(_, kind)| *kind == ArgumentKind::Object));
    let method = *rng.choice(&with_object.collect::<Vec<_>>()).expect("a method has an object");
    let names: Vec<&str> = method.takes.iter().map(|(name, _)| *name).collect();
    let data: Vec<usize> = (0..names.len()).filter(|i| method.takes[*i].1 == ArgumentKind::Value).collect();
    let object = method.takes.iter().position(|(_, kind)| *kind == ArgumentKind::Object).expect("it was chosen so");
    let library = case.entry.name;
    let implementation = case.implementation.clone();
    let bodies = Bodies::default().with(methods, method.name, &names, |args| {
        let body = implementation.inlined(&Body::call(Name::new(library), method.name, args.iter().copied()));
        let pieces = pieces(library, args[object]);
        let data: Vec<Expr> = data.iter().map(|i| args[*i]).collect();
        let calls = body.calls().len();
        let (mut at, kind) = (rng.usize(..=calls), rng.u8(..8));
        let added = if rng.u8(..3) == 0 { pieces.call(rng, &data) } else { pieces.body(rng, &data) };
        let condition = pieces.condition_on(rng, &data);
        match kind {
            _ if at == calls => body.bind("result", |result| added.then(result.into())),
            0 | 1 => changed(&body, &mut at, &mut |call| added.clone().then(call)),
            2 => changed(&body, &mut at, &mut |call| call.bind("result", |result| added.clone().then(result.into()))),
            3 => changed(&body, &mut at, &mut |call| Body::branch(condition, added.clone(), call)),
            4 | 5 => changed(&body, &mut at, &mut |_| Expr::from(1).into()),
            6 => changed(&body, &mut at, &mut |call| call.clone().then(call)),
            _ => changed(&body, &mut at, &mut |call| Body::branch(condition, call, added.clone())),
        }
    });
    let words = format!("{}:\n{}\n", method.name, bodies.get(method.name).expect("it was made"));
    let changed = case.implementation.clone().with("random", &bodies);
    case.with(changed, &words)
}

/// Changes the call of a body that has this number of calls before it.
fn changed(body: &Body, before: &mut usize, change: &mut dyn FnMut(Body) -> Body) -> Body {
    match body.stmt() {
        Stmt::Call(_) => {
            *before = before.wrapping_sub(1);
            if *before == usize::MAX { change(body.clone()) } else { body.clone() }
        }
        Stmt::Let(var, first, rest) => {
            let first = changed(first, before, change);
            Stmt::Let(*var, first, changed(rest, before, change)).into()
        }
        Stmt::If(condition, yes, no) => {
            let yes = changed(yes, before, change);
            Stmt::If(*condition, yes, changed(no, before, change)).into()
        }
        Stmt::Loop(round) => changed(round, before, change).repeat(),
        Stmt::For(x, set, round) => Stmt::For(*x, *set, changed(round, before, change)).into(),
        Stmt::Collect(x, set, round) => Stmt::Collect(*x, *set, changed(round, before, change)).into(),
        Stmt::Value(_) | Stmt::Break(_) => body.clone(),
    }
}

/// An implementation with other lemmas.
struct Stating {
    of: Arc<dyn Implementation>,
    lemmas: Vec<Lemma>,
}

impl Implementation for Stating {
    fn target(&self) -> Name {
        self.of.target()
    }

    fn parts(&self) -> Option<&Parts> {
        self.of.parts()
    }

    fn declare(&self, world: &mut World) {
        self.of.declare(world);
    }

    fn bodies(&self) -> Option<&Bodies> {
        self.of.bodies()
    }

    fn lemmas(&self) -> Vec<Lemma> {
        self.lemmas.clone()
    }
}

/// An implementation with other parts.
struct Declaring {
    of: Arc<dyn Implementation>,
    parts: Parts,
}

impl Implementation for Declaring {
    fn target(&self) -> Name {
        self.of.target()
    }

    fn parts(&self) -> Option<&Parts> {
        Some(&self.parts)
    }

    fn bodies(&self) -> Option<&Bodies> {
        self.of.bodies()
    }

    fn lemmas(&self) -> Vec<Lemma> {
        self.of.lemmas()
    }
}

/// Returns a register whose threads count their writes, and whose fourth write of a thread writes 7. A lemma about this variable
/// says that a thread counts to two at most.
fn counted_to_two(name: &'static str) -> Case {
    let count = |x: Expr, t: Expr| x.part("cnt", [t]);
    let copy = |x: Expr| x.part("copy", [here()]);
    let bodies = bodies! { Sv:
        Write { x, v } => {
            let k = Wait::read(count(x, me()));
            Wait::write(count(x, me()), k + 1);
            Wait::write(copy(x), v);
            if (k == 3) { Wait::write(copy(x), 7) }
        }
    };
    let counts = parts! { x => for t in (all_threads()) { count(x, t) => ObjectTerm::new(WAIT).at(node(t)); } };
    let parts = SvOverWait.parts().expect("they are terms").clone().and(counts);
    let of = Arc::new(Declaring { of: Arc::new(SvOverWait.with("counted", &bodies)), parts });
    let c = call(name);
    let few = Lemma::new("a thread counts to two at most").about(&[c]).given(c.is_a("Write"));
    let few = few.then(value(c.read(WAIT, "Read", 1)).exceeds(number(2)).negated()).along_po(c);
    published("sv").with(Stating { of, lemmas: vec![few] }, &format!("a false lemma about the count of `{name}`"))
}

/// Drops or negates a random part of a lemma, or states less than all lemmas.
fn with_random_lemma(rng: &mut Rng, case: Case) -> Case {
    let mut lemmas = case.implementation.lemmas();
    let of = rng.usize(..lemmas.len());
    let kind = rng.u8(..4);
    let lemma = &mut lemmas[of];
    let words = format!("lemma {:?} changed in way {kind}", lemma.words);
    let given = rng.usize(..lemma.given.len().max(1));
    match kind {
        0 if !lemma.given.is_empty() => _ = lemma.given.remove(given),
        1 if !lemma.given.is_empty() => lemma.given[given] = lemma.given[given].clone().negated(),
        2 => lemma.then.iter_mut().for_each(|then| *then = then.clone().negated()),
        _ => _ = lemmas.remove(of),
    }
    let of = case.implementation.clone();
    case.with(Stating { of, lemmas }, &words)
}

/// Asserts that a case is not proved.
fn is_not_proved(case: &Case) {
    let proof = case.proof();
    assert!(!proof.is_proved(), "{} is proved", case.words);
}

/// False proofs about shared variables.
fn given_cases_of_sv() {
    for name in ["c", "last"] {
        is_not_proved(&counted_to_two(name));
    }
    let three = |case: Case| {
        case.respecified("no three reads in a row", |spec| {
            let o = spec.chosen("rf").unwrap() - same_thread();
            spec.empty("three", &o.then(&po()).then(&o).then(&po()).then(&o));
        })
    };
    is_not_proved(&three(published("sv")));
    // No small execution has four calls of a thread. The induction needs the variable beside its own ones.
    for name in ["c", "last", "true", "my call"] {
        let c = call(name);
        let few = Lemma::new("a thread does not write four times").about(&[c]).given(c.is_a("Write"));
        let few = few.then(index(c).exceeds(number(2)).negated()).along_po(c);
        let case = published("sv");
        let of = case.implementation.clone();
        is_not_proved(&case.with(Stating { of, lemmas: vec![few] }, &format!("a false lemma about `{name}`")));
    }
    let copy = |x: Expr| x.part("copy", [here()]);
    let never_elsewhere = bodies! { Sv:
        Read { x } => {
            let w = Wait::read(copy(x));
            if (w == 12345) { for n in (all_nodes().without(here())) { loop { Wait::read(x.part("copy", [n])) } } 0 } else { w }
        }
    };
    let loop_elsewhere = bodies! { Sv:
        Read { x } => {
            let w = Wait::read(copy(x));
            if (w == 12345) { for _n in (all_nodes().without(here())) { loop {} } 0 } else { w }
        }
    };
    // The set is empty on one node, where two facts about a read of the round cannot contradict each other.
    let facts_of_none = bodies! { Sv:
        Read { x } => {
            let w = Wait::read(copy(x));
            for _n in (all_nodes().without(here())) {
                let s = Wait::read(copy(x));
                if (s.is_not(w)) { loop {} }
                if (s.is_not(7)) { loop {} }
            }
            7
        }
    };
    let inner_effect = bodies! { Sv:
        Write { x, v } => {
            Wait::write(copy(x), v);
            if (v == 12345) {
                loop { loop { Wait::write(copy(x), 0); let s = Wait::read(copy(x)); if (s == 0) { break } } break }
            }
        }
    };
    let second_loop = bodies! { Sv:
        Write { x, v } => {
            Wait::write(copy(x), v);
            if (v == 12345) {
                loop { Wait::write(copy(x), 0); let s = Wait::read(copy(x)); if (s == 0) { break } }
                loop { if (v == 12345) { break } }
            }
        }
    };
    for (words, bodies) in [
        ("reads that never end elsewhere", never_elsewhere),
        ("a loop elsewhere", loop_elsewhere),
        ("facts of an empty set", facts_of_none),
        ("an effect of an inner loop", inner_effect),
        ("an effect before a loop without calls", second_loop),
    ] {
        is_not_proved(&published("sv").with(SvOverWait.with(words, &bodies), words));
    }
}

/// False proofs about loops that wait.
fn given_cases_of_waits() {
    let (ticket, passed) = (|x: Expr, t: Expr| x.part("ticket", [t]), |x: Expr, t: Expr| x.part("passed", [t]));
    let third_enters = bodies! { Lock:
        Acq { x } => {
            Wait::rfaa(ticket(x, me()), x.part("dispenser", []), 1, x.wid("d"));
            Wait::wait(x.wid("d"));
            let v = Wait::read(ticket(x, me()));
            if (v == 3) { for _n in (all_nodes().without(here())) { loop {} } } else {
                loop {
                    for t in (all_threads()) {
                        let passed_on = Sv::read(passed(x, t));
                        if (passed_on == v) { break }
                    }
                }
            }
        }
    };
    is_not_proved(&published("wlock").with(WlockOverSv.with("ticket 3", &third_enters), "ticket 3 enters at once"));
    let flag = |x: Expr, t: Expr| x.part("count", [t]);
    let third_passes = bodies! { Barrier:
        BAR { x } by members(x) => {
            Sv::gf(mowgli_core::expr::nodes(members(x)));
            let v = Sv::read(flag(x, me()));
            Sv::write(flag(x, me()), v + 1);
            Sv::bcast(flag(x, me()), Val::NoWid, mowgli_core::expr::nodes(members(x)).without(here()));
            if (v == 2) { for _n in (all_nodes().without(here())) { loop {} } } else {
                for t in (members(x)) {
                    loop { let seen = Sv::read(flag(x, t)); if (seen > v) { break } }
                }
            }
        }
    };
    is_not_proved(
        &published("bal").with(BalOverSv(Bal::Plain).with("round 3", &third_passes), "round 3 does not wait"),
    );
    // The count is written again by a loop in a loop, so that the lemma about it is false.
    let written_again = bodies! { Barrier:
        BAR { x } by members(x) => {
            Sv::gf(mowgli_core::expr::nodes(members(x)));
            let v = Sv::read(flag(x, me()));
            Sv::write(flag(x, me()), v + 1);
            Sv::bcast(flag(x, me()), Val::NoWid, mowgli_core::expr::nodes(members(x)).without(here()));
            for t in (members(x)) {
                loop { let seen = Sv::read(flag(x, t)); if (seen > v) { break } }
            }
            if (v == 1) {
                loop { loop { Sv::write(flag(x, me()), 7); let s = Sv::read(flag(x, me())); if (s == 7) { break } } break }
            }
        }
    };
    let false_lemma =
        published("bal").with(BalOverSv(Bal::Plain).with("written again", &written_again), "a false lemma");
    let counts = call("c");
    let false_lemma = Case {
        implementation: Arc::new(Stating {
            lemmas: [
                false_lemma.implementation.lemmas(),
                vec![
                    Lemma::new("a count is a number")
                        .about(&[counts])
                        .then(value(counts.read(SV, "Read", 1)).is(index(counts))),
                ],
            ]
            .concat(),
            of: false_lemma.implementation.clone(),
        }),
        ..false_lemma
    };
    is_not_proved(&false_lemma);
}

/// Wrong bodies like those that were proved: none is, and `check` refutes each.
fn siblings() {
    let copy = |x: Expr| x.part("copy", [here()]);
    let others = || all_nodes().without(here());
    let never_in_two = bodies! { Sv:
        Read { x } => {
            let w = Wait::read(copy(x));
            if (w == 2) { for _n in (others()) { for _m in (all_nodes()) { loop {} } } 0 } else { w }
        }
    };
    let never_behind_a_guard = bodies! { Sv:
        Read { x } => {
            let w = Wait::read(copy(x));
            if (w == 2) { for _n in (others()) { if (w == 2) { loop {} } } 0 } else { w }
        }
    };
    let never_behind_a_read = bodies! { Sv:
        Read { x } => {
            let w = Wait::read(copy(x));
            if (w == 2) { for n in (others()) { Wait::read(x.part("copy", [n])); loop { Wait::read(copy(x)) } } 0 } else { w }
        }
    };
    let never_for_others = bodies! { Sv:
        Write { x, v } => {
            if (v == 1) { Wait::write(copy(x), v) } else {
                for _n in (others()) { loop { Wait::read(copy(x)) } }
                Wait::write(copy(x), 1)
            }
        }
    };
    let effect_for_others = bodies! { Sv:
        Write { x, v } => {
            Wait::write(copy(x), v);
            for _n in (others()) { loop { Wait::write(copy(x), 0); let s = Wait::read(copy(x)); if (s == 0) { break } } }
        }
    };
    let effect_in_three = bodies! { Sv:
        Write { x, v } => {
            Wait::write(copy(x), v);
            if (v == 2) {
                loop { loop { loop { Wait::write(copy(x), 0); let s = Wait::read(copy(x)); if (s == 0) { break } } break } break }
            }
        }
    };
    let effect_before_a_break = bodies! { Sv:
        Write { x, v } => {
            Wait::write(copy(x), v);
            loop { if (v == 2) { Wait::write(copy(x), 0); Wait::read(copy(x)); break } break }
        }
    };
    let effect_behind_a_break = bodies! { Sv:
        Write { x, v } => {
            Wait::write(copy(x), v);
            loop { let s = Wait::read(copy(x)); if (s == 0) { break } Wait::write(copy(x), 0) }
        }
    };
    let effect_of_an_end = bodies! { Sv:
        Read { x } => {
            let w = loop { let w = Wait::read(copy(x)); if (w == 2) { Wait::write(copy(x), 1) } break w };
            w
        }
    };
    let effect_of_the_first_of_two = bodies! { Sv:
        Write { x, v } => {
            Wait::write(copy(x), v);
            loop { Wait::write(copy(x), 0); let s = Wait::read(copy(x)); if (s == 0) { break } }
            loop { let s = Wait::read(copy(x)); if (s == 0) { break } }
        }
    };
    let two_reads_through_a_third = bodies! { Sv:
        Read { x } => {
            let w = Wait::read(copy(x));
            let s = Wait::read(copy(x));
            for _n in (others()) {
                let r = Wait::read(copy(x));
                if (r.is_not(w)) { loop {} }
                if (r.is_not(s)) { loop {} }
            }
            if (w == s) { w } else { 0 }
        }
    };
    let two_reads_through_two = bodies! { Sv:
        Read { x } => {
            let w = Wait::read(copy(x));
            let s = Wait::read(copy(x));
            for _n in (others()) {
                let r = Wait::read(copy(x));
                let q = Wait::read(copy(x));
                if (r.is_not(w)) { loop {} }
                if (q.is_not(r)) { loop {} }
                if (q.is_not(s)) { loop {} }
            }
            if (w == s) { w } else { 0 }
        }
    };
    let a_constant_through_a_round = bodies! { Sv:
        Read { x } => {
            let w = Wait::read(copy(x));
            for _n in (others()) {
                let r = Wait::read(copy(x));
                if ((r + 1) .is_not(w)) { loop {} }
                if (r.is_not(1)) { loop {} }
            }
            if (w == 2) { 2 } else { 0 }
        }
    };
    let a_larger_one_elsewhere = bodies! { Sv:
        Read { x } => {
            let w = Wait::read(copy(x));
            let s = Wait::read(copy(x));
            for _n in (others()) { loop { let r = Wait::read(copy(x)); if (r.above(w) & r.is(s)) { break } } }
            if (w == s) { 0 } else { w }
        }
    };
    let overwritten_after_sending = bodies! { Sv:
        Bcast { x, d, ns } => {
            for n in (ns) { Wait::put(x.part("copy", [n]), copy(x), d) }
            Wait::write(copy(x), 0)
        }
    };
    let d = Expr::from(mowgli_core::ids::Loc(SV)).wid("d0");
    let bot = |n: Expr| Expr::from(mowgli_core::ids::Loc(SV)).part("bot", [n]);
    let no_wait_where_nothing_is_fenced = bodies! { Sv:
        GF { ns } => {
            for n in (ns) { Wait::get(bot(here()), bot(n), d) }
            for _n in (others()) { Wait::wait(d) }
        }
    };
    let of_sv: Vec<(&str, Bodies)> = vec![
        ("a round of rounds that never end", never_in_two),
        ("a guarded round that never ends", never_behind_a_guard),
        ("a round that reads for ever", never_behind_a_read),
        ("a value that is written on one node only", never_for_others),
        ("an effect of a loop for the others", effect_for_others),
        ("an effect of a loop in a loop in a loop", effect_in_three),
        ("an effect of the last round", effect_before_a_break),
        ("an effect of each other round", effect_behind_a_break),
        ("an effect before the end of the only round", effect_of_an_end),
        ("an effect of the first of two loops", effect_of_the_first_of_two),
        ("two reads that agree elsewhere", two_reads_through_a_third),
        ("two reads that agree elsewhere, by two", two_reads_through_two),
        ("a read of two elsewhere", a_constant_through_a_round),
        ("a growing read elsewhere", a_larger_one_elsewhere),
        ("a copy is overwritten after it was sent", overwritten_after_sending),
        ("a fence waits if there are others", no_wait_where_nothing_is_fenced),
    ];
    let mut cases: Vec<Case> =
        of_sv.into_iter().map(|(words, bodies)| published("sv").with(SvOverWait.with(words, &bodies), words)).collect();
    let flag = |x: Expr, t: Expr| x.part("count", [t]);
    let count = move |x: Expr, until: Body| {
        body! {
            Sv::gf(mowgli_core::expr::nodes(members(x)));
            let v = Sv::read(flag(x, me()));
            Sv::write(flag(x, me()), v + 1);
            Sv::bcast(flag(x, me()), Val::NoWid, mowgli_core::expr::nodes(members(x)).without(here()));
            until;
        }
    };
    let seen = move |x: Expr, enough: fn(Expr, Expr) -> Expr| {
        body! {
            let v = Sv::read(flag(x, me()));
            for t in (members(x)) { loop { let seen = Sv::read(flag(x, t)); if (enough(seen, v)) { break } } }
        }
    };
    for (words, body) in [
        ("the first round does not wait", 0),
        ("a thread waits for those that are not late", 1),
        ("the count is written again", 2),
        ("nobody waits where there are no others", 3),
    ] {
        let bodies = bodies! { Barrier:
            BAR { x } by members(x) => {
                count(x, match body {
                    0 => body! {
                        let v = Sv::read(flag(x, me()));
                        if (v == 1) { for _n in (others()) { for _m in (others()) { loop {} } } } else { seen(x, |seen, v| (seen + 1) .above(v)) }
                    },
                    1 => seen(x, |seen, v| (seen + 1).above(v) | seen.is(0)),
                    2 => body! {
                        loop { loop { Sv::write(flag(x, me()), 7); let s = Sv::read(flag(x, me())); if (s == 7) { break } } break }
                    },
                    _ => body! { for _n in (others()) { loop { let s = Sv::read(flag(x, me())); if (s == 7) { break } } } },
                })
            }
        };
        cases.push(published("bal").with(BalOverSv(Bal::Plain).with(words, &bodies), words));
    }
    let (ticket, passed) = (|x: Expr, t: Expr| x.part("ticket", [t]), |x: Expr, t: Expr| x.part("passed", [t]));
    let passes = move |x: Expr, v: Expr| {
        body! { loop { for t in (all_threads()) { let p = Sv::read(passed(x, t)); if (p == v) { break } } } }
    };
    let acquired = move |x: Expr, kind: u8| {
        let written_over = body! {
            loop { loop { Wait::write(ticket(x, me()), 0); let s = Wait::read(ticket(x, me())); if (s == 0) { break } } break }
        };
        body! {
            Wait::rfaa(ticket(x, me()), x.part("dispenser", []), 1, x.wid("d"));
            Wait::wait(x.wid("d"));
            if kind == 2 { written_over } else { Body::unit() };
            let v = Wait::read(ticket(x, me()));
            match kind {
                0 => body! { if (v == 1) { for _n in (others()) { for _m in (all_nodes()) { loop {} } } } else { passes(x, v) } },
                1 => body! {
                    loop { for t in (all_threads()) { let p = Sv::read(passed(x, t)); if (p == v) { break } if (v == 1) { break } } }
                },
                _ => passes(x, v),
            }
        }
    };
    for (words, kind) in [("ticket 1 enters at once", 0), ("ticket 1 waits once", 1), ("a ticket is written over", 2)] {
        let bodies = bodies! { Lock: Acq { x } => { acquired(x, kind) } };
        cases.push(published("wlock").with(WlockOverSv.with(words, &bodies), words));
    }
    let lock = |x: Expr| x.part("lock", []);
    let (word, put) = (|x: Expr| x.part("word", []), |x: Expr| x.part("put", [me()]));
    let overwritten = bodies! { Sc:
        Write { x, v } => {
            Lock::acq(NLOCK, lock(x));
            Wait::write(put(x), v);
            loop { loop { Wait::write(put(x), 0); let s = Wait::read(put(x)); if (s == 0) { break } } break }
            Wait::put(word(x), put(x), Val::NoWid);
            Lock::rel(NLOCK, lock(x))
        }
    };
    let words = "a value is written over";
    cases.push(published("sc-rmw").with(ScRmwOverNlock.with(words, &overwritten), words));
    for case in &cases {
        is_not_proved(case);
        assert!(case.is_refuted(true), "{} is not refuted", case.words);
    }
}
