//! The encoding of specifications agrees with the judge, on consistent executions and on those that are not.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::event::{Call, Event};
use mowgli_core::execution::{Execution, Pairs, Subevent};
use mowgli_core::ids::Tid;
use mowgli_core::judge::{Reading, closure, consistent};
use mowgli_core::search::problem::{Limits, Problem};
use mowgli_core::search::solver::Flow;
use mowgli_core::soundness::client::{Client, Subject, worlds};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementations;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_judge::algebra::{Rel, RelExpr, Spec};
use mowgli_judge::ids::Name;
use mowgli_judge::library::Libraries;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, bound};
use mowgli_prove::smt::encode::{Encoding, SideNames, encode};
use mowgli_prove::smt::term::Structure;
use mowgli_rdma::switches::Switches;
use mowgli_rdma::tso::{self, TSO};

/// Returns an execution as a structure, with the encoding's symbols read as the judge reads them.
fn structure<'a>(reading: &'a Reading<'a>, encoding: &'a Encoding) -> Structure<'a> {
    let (ex, n) = (reading.execution, reading.execution.subs.len());
    let mut structure = Structure::default();
    structure.size("Sub", n);
    structure.table("po", |p| usize::from(ex.before_in_thread(p[0], p[1])));
    structure.relation("ppo", ex.ppo(reading.libraries));
    structure.relation("hb", reading.hb.clone());
    structure.table("same.event", |p| usize::from(ex.subs[p[0]].event == ex.subs[p[1]].event));
    let thread = |s: usize| ex.events[ex.subs[s].event].thread;
    structure.table("same.thread", move |p| usize::from(thread(p[0]) == thread(p[1])));
    structure.table("same.cell", |p| usize::from(ex.subs[p[0]].sub.cell == ex.subs[p[1]].sub.cell));
    let initial = |s: usize| {
        let of = |cell| reading.libraries.of(&ex.events[ex.subs[s].event].call).init(&ex.world, cell);
        ex.subs[s].sub.cell.map(of)
    };
    let all = (0..n).flat_map(|s| [ex.subs[s].read, ex.subs[s].wrote, initial(s)]);
    let values: Vec<Option<Val>> = all.collect::<BTreeSet<_>>().into_iter().collect();
    let index = move |v: Option<Val>| values.binary_search(&v).expect("a value of the execution");
    let [read, wrote] = [index.clone(), index.clone()];
    structure.table("read", move |p| read(ex.subs[p[0]].read));
    structure.table("wrote", move |p| wrote(ex.subs[p[0]].wrote));
    structure.table("initial", move |p| index(initial(p[0])));
    for (name, set) in &encoding.sets {
        let members = reading.members(set);
        structure.table(name, move |p| usize::from(members.contains(&p[0])));
    }
    for (name, key) in &encoding.keys {
        let of = |s: usize| key.of(&reading.view(s));
        structure.table(name, move |p| usize::from(of(p[0]).is_some() && of(p[0]) == of(p[1])));
    }
    for (name, _) in &encoding.choices {
        let chosen = ex.chosen.iter().filter(|c| c.name == *name);
        structure.relation(name, chosen.flat_map(|c| c.pairs.iter().copied()).collect());
    }
    for (name, rel) in &encoding.turns {
        structure.relation(name, reading.pairs(rel));
    }
    structure.define(&encoding.relations);
    for (name, inner) in &encoding.closures {
        structure.relation(name, closure(&structure.pairs(inner, n).unwrap()));
    }
    structure
}

/// Collects the operators of an expression.
fn operators(rel: &Rel, seen: &mut BTreeSet<&'static str>) {
    let (name, parts): (_, Vec<&Rel>) = match rel.expr() {
        RelExpr::Po => ("po", vec![]),
        RelExpr::Ppo => ("ppo", vec![]),
        RelExpr::Hb => ("hb", vec![]),
        RelExpr::SameEvent => ("same event", vec![]),
        RelExpr::SameThread => ("same thread", vec![]),
        RelExpr::Same(_) => ("same", vec![]),
        RelExpr::InTurn(..) => ("in turn", vec![]),
        RelExpr::On(_) => ("on", vec![]),
        RelExpr::Cross(..) => ("cross", vec![]),
        RelExpr::Chosen(_) => ("chosen", vec![]),
        RelExpr::BeforeAny(_) => ("before any", vec![]),
        RelExpr::Union(a, b) => ("union", vec![a, b]),
        RelExpr::Inter(a, b) => ("intersection", vec![a, b]),
        RelExpr::Minus(a, b) => ("difference", vec![a, b]),
        RelExpr::Seq(a, b) => ("composition", vec![a, b]),
        RelExpr::Inverse(a) => ("inverse", vec![a]),
        RelExpr::Plus(a) => ("closure", vec![a]),
    };
    seen.insert(name);
    parts.into_iter().for_each(|part| operators(part, seen));
}

/// The number of compared executions, and the operators and demands that they cover.
#[derive(Default)]
struct Compared {
    operators: BTreeSet<&'static str>,
    relations: BTreeSet<(Name, &'static str)>,
    consistent: usize,
    inconsistent: usize,
    broken: BTreeSet<String>,
}

impl Compared {
    fn compare(&mut self, libraries: &Libraries, name: Name, execution: &Execution) {
        let spec = libraries.spec(name).expect("its own specification");
        let side = SideNames { sort: "Sub", prefix: String::new(), shared: "", own: None };
        let Ok(encoding) = encode(spec, side) else { return };
        let mut reading = Reading::new(libraries, execution, name);
        let n = execution.subs.len();
        // hb is the closure of so and ppo, as in `consistent`.
        let so: Pairs = spec.so.iter().flat_map(|(_, rel)| reading.pairs(rel)).collect();
        reading.hb = closure(&so.iter().copied().chain(execution.ppo(libraries)).collect());
        let structure = structure(&reading, &encoding);
        for ((part, rel), (_, predicate)) in spec.so.iter().zip(&encoding.so) {
            let expected = reading.pairs(rel);
            assert_eq!(structure.pairs(predicate, n).as_ref(), Ok(&expected), "{part} of {name}");
            if !expected.is_empty() {
                self.relations.insert((name, part));
                operators(rel, &mut self.operators);
            }
        }
        for ((axiom, _, rel), (_, _, predicate)) in spec.demands.iter().zip(&encoding.demands) {
            assert_eq!(structure.pairs(predicate, n), Ok(reading.pairs(rel)), "{axiom} of {name}");
            operators(rel, &mut self.operators);
        }
        for law in encoding.of_closures().iter().chain(&encoding.of_turns) {
            assert_eq!(structure.holds(&law.closed()), Ok(true), "{}", law.name);
        }
        let laws = encoding.laws.iter().flatten().cloned().chain(encoding.demanded());
        let broken: Vec<String> =
            laws.filter(|law| structure.holds(&law.closed()) != Ok(true)).map(|law| law.name).collect();
        let judged = consistent(libraries, name, execution, None);
        assert_eq!(judged.is_ok(), broken.is_empty(), "{name}: the judge says {judged:?}, the laws {broken:?}");
        if broken.is_empty() {
            self.consistent += 1
        } else {
            self.inconsistent += 1
        }
        if let [one] = &broken[..] {
            self.broken.insert(one.clone());
        }
    }
}

/// Compares the judge and the encoding on executions of random clients of an entry. In other executions some pairs of
/// the choices are reversed, dropped or added.
fn compare_entry(entry: &Entry, rng: &mut fastrand::Rng, compared: &mut Compared) {
    compare_clients(&entry.specification, Name::literal(entry.name), &*entry.subject, rng, compared);
}

fn compare_clients(
    libraries: &Libraries,
    name: Name,
    subject: &dyn Subject,
    rng: &mut fastrand::Rng,
    compared: &mut Compared,
) {
    let within = Bound { values: vec![1, 2], ..bound(2, 2, 2) };
    let worlds = worlds(subject, &within, &|| false).unwrap();
    let library = libraries.get(name).expect("a name of the set");
    for _ in 0..40 {
        let world = rng.choice(&worlds).expect("a world");
        let calls = |t, rng: &mut fastrand::Rng| {
            let all = subject.calls(world, t, &within, &|| false);
            (0..2).filter_map(|_| rng.choice(&all).cloned()).collect()
        };
        let client = Client { threads: world.tids().map(|t| calls(t, rng)).collect() };
        if !client.is_well_formed(library, world) {
            continue;
        }
        let programs = client.programs();
        let implementations = Implementations::new();
        let problem = Problem {
            libraries,
            implementations: &implementations,
            world,
            programs: &programs,
            observed: &[],
            limits: Limits::default(),
        };
        let mut left = 6;
        let _ = problem.explore(&mut |solver| {
            let before = solver.snapshot();
            assert!(solver.complete(), "a class has an execution");
            let execution = solver.execution().expect("everything is decided");
            solver.restore(before);
            compared.compare(libraries, name, &execution);
            for _ in 0..6 {
                compared.compare(libraries, name, &disturbed(&execution, rng));
            }
            left -= 1;
            if left == 0 { Flow::Stop } else { Flow::Continue }
        });
    }
}

/// Returns the execution with one or two pairs of its choices reversed, dropped or added.
fn disturbed(execution: &Execution, rng: &mut fastrand::Rng) -> Execution {
    let mut execution = execution.clone();
    let n = execution.subs.len();
    for _ in 0..rng.usize(1..=2) {
        let Some(choice) = rng.choice(execution.chosen.iter_mut()) else { break };
        let any = (rng.usize(0..n), rng.usize(0..n));
        match rng.choice(0..choice.pairs.len()) {
            Some(at) if rng.bool() => {
                choice.pairs.remove(at);
            }
            Some(at) => {
                let (a, b) = choice.pairs[at];
                choice.pairs[at] = if rng.bool() { (b, a) } else { any };
            }
            None => choice.pairs.push(any),
        }
        choice.pairs.sort_unstable();
        choice.pairs.dedup();
    }
    execution
}

#[test]
fn the_encoding_agrees_with_the_judge() {
    let mut rng = fastrand::Rng::with_seed(16);
    let mut compared = Compared::default();
    for entry in catalogue() {
        compare_entry(&entry, &mut rng, &mut compared);
    }
    // No built-in library uses relations in turn.
    let polls = tso::switched(Switches::OFF);
    compare_clients(&polls, TSO, &tso::PollClients { rmw: true }, &mut rng, &mut compared);
    let all = [
        "po",
        "ppo",
        "hb",
        "same event",
        "same thread",
        "same",
        "in turn",
        "on",
        "cross",
        "chosen",
        "before any",
        "union",
        "intersection",
        "difference",
        "composition",
        "inverse",
        "closure",
    ];
    let missing: Vec<&str> = all.into_iter().filter(|name| !compared.operators.contains(name)).collect();
    println!("{} {} {:?}", compared.consistent, compared.inconsistent, compared.relations);
    println!("{:#?}", compared.broken);
    assert_eq!(missing, Vec::<&str>::new(), "operators that were not compared");
    assert!(compared.consistent > 300 && compared.inconsistent > 1000);
}

/// True if these calls of a library satisfy demands on program order, thread by thread, as the judge evaluates them.
fn are_given(libraries: &Libraries, library: Name, demands: &Spec, world: &World, events: &[&Event]) -> bool {
    let shapes = events.iter().map(|e| libraries.of(&e.call).shapes(world, e).into_iter().next());
    let subs = shapes.enumerate().flat_map(|(event, shape)| shape.into_iter().flatten().map(move |sub| (event, sub)));
    let execution = Execution {
        world: world.clone(),
        events: events.iter().map(|e| (*e).clone()).collect(),
        subs: subs.map(|(event, sub)| Subevent { event, sub, read: None, wrote: None }).collect(),
        chosen: Vec::new(),
        outputs: Vec::new(),
        calls: Vec::new(),
        groups: vec![None; events.len()],
    };
    let reading = Reading { spec: demands, ..Reading::new(libraries, &execution, library) };
    demands.demands.iter().all(|(.., rel)| reading.pairs(rel).is_empty())
}

/// Compares the pairs in which calls come with their algebra, for all short sequences of calls.
fn compare_assumptions(entry: &Entry) -> [usize; 2] {
    let library = entry.library().unwrap();
    let Some(pairs) = library.covered().pairs() else { return [0, 0] };
    let assumption = pairs.algebra();
    let mut reported = [0, 0];
    for bound in [
        Bound { threads: 1, calls: 5, objects: 2, ..Bound::default() },
        Bound { threads: 2, calls: 2, ..Bound::default() },
    ] {
        for world in worlds(&*entry.subject, &bound, &|| false).unwrap() {
            let calls = |t| entry.subject.calls(&world, t, &bound, &|| false);
            let threads: Vec<_> = world.tids().map(|t| (t, calls(t))).collect();
            let of_thread = |(t, calls): &(Tid, Vec<Call>)| {
                let events: Vec<Event> =
                    calls.iter().map(|c| Event { thread: *t, call: c.clone(), ret: Val::Unit }).collect();
                let sequences =
                    (0..=bound.calls).flat_map(|n| std::iter::repeat_n(events.clone(), n).multi_cartesian_product());
                sequences.collect::<Vec<_>>()
            };
            for events in threads.iter().map(of_thread).multi_cartesian_product() {
                let events: Vec<Event> = events.concat();
                let events: Vec<&Event> = events.iter().collect();
                let expected = library.is_well_formed(&world, &events);
                let found = are_given(&entry.specification, library.name(), &assumption, &world, &events);
                assert_eq!(found, expected, "{}: {events:?}", entry.name);
                reported[usize::from(expected)] += 1;
            }
        }
    }
    reported
}

#[test]
fn assumptions_are_what_libraries_look_at() {
    let mut asked = Vec::new();
    for entry in catalogue() {
        let reported = compare_assumptions(&entry);
        if reported != [0, 0] {
            assert!(reported.into_iter().all(|n| n > 10), "{}: {reported:?}", entry.name);
            asked.push(entry.name);
        }
    }
    assert_eq!(asked, ["wlock", "slock", "nlock", "trylock"]);
}
