//! Tests of symbolic execution against runs: each run of a body is an instance of a path.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fastrand::Rng;
use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, ExprTerm, Scope, Var, all_nodes, all_threads, here, me, members, nodes, range};
use mowgli_core::ids::{Loc, Node, NodeSet, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::term::body::{Body, CallTerm, body};
use mowgli_core::term::code::{CodePlace, CodePoint, CodeState};
use mowgli_core::term::parts::{ObjectTerm, parts};
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::sv::{Method as Sv, SV, Sv as Variables};
use mowgli_rdma::to;
use mowgli_rdma::wait::{Method as Wait, WAIT, Wait as Memory};

use crate::template::classes::Classes;
use crate::template::pattern::{ArgumentForm, Datum, Each, Env, IndexElement, Times};
use crate::template::symbolic::{LeftOutCall, Path, PathCall, PathStep};
use crate::template::values::{PathCondition, SymbolicExecutor, result};

#[path = "../../tests/common/random.rs"]
mod random;
use random::{Pieces, operation};

/// The values that calls return in runs.
const VALUES: [i64; 4] = [0, 1, 2, 3];

/// The most calls and iterations of a run.
const LONGEST: usize = 60;

/// A call of a client, in a world.
struct RandomClient {
    world: Arc<World>,
    thread: Tid,
    args: Vec<Val>,
}

/// The calls of a run with their results, and its value.
type RunOfBody = (Vec<(Call, Val)>, Val);

/// Runs a body, with random results. `None` if it has not ended after [`LONGEST`] calls and iterations.
fn run(rng: &mut Rng, client: &RandomClient, body: &Body) -> Option<RunOfBody> {
    let call = Call::new(SV, "Any", &client.args);
    let (mut code, mut calls) = (CodeState::of_call(&Script::of(body), &call), Vec::new());
    for _ in 0..LONGEST {
        match code.next(CodePlace { world: &client.world, thread: client.thread }) {
            CodePoint::Ended(v) => return Some((calls, v)),
            CodePoint::Loop => code.begin(),
            CodePoint::Iteration(_) => code.go_on(true),
            CodePoint::Call(call) => {
                let has_result = ["Read", "CAS"].contains(&call.method.text());
                let v = if has_result { Val::Int(*rng.choice(&VALUES)?) } else { Val::Unit };
                calls.push((call, v));
                code.returned(v);
            }
            other => unreachable!("{other:?}"),
        }
    }
    None
}

/// A call of a path that a run must make.
#[derive(Clone)]
struct Due<'p> {
    made: &'p PathCall,
    position: usize,
    element: Option<(Var, Val)>,
    /// The number of its step and of the element, if it is made for several.
    many: Option<(usize, usize)>,
}

/// The values of variables, and those of the results of each element of a step.
#[derive(Clone, Default)]
struct KnownUnknowns {
    vars: BTreeMap<usize, Val>,
    many: BTreeMap<(usize, usize), BTreeMap<usize, Val>>,
}

/// A path and a run that may be an instance of it.
struct InstanceOfPath<'a> {
    client: &'a RandomClient,
    path: &'a Path,
    run: &'a RunOfBody,
}

impl InstanceOfPath<'_> {
    fn value(&self, e: Expr, vars: &BTreeMap<usize, Val>) -> Option<Val> {
        let mut is_known = true;
        e.each(&mut |e| is_known &= !matches!(e.term(), ExprTerm::Var(var) if !vars.contains_key(&var.number)));
        let RandomClient { world, thread, args } = self.client;
        let bind = |scope: Scope, (number, v): (&usize, &Val)| scope.with(Var { number: *number, name: "v" }, *v);
        is_known.then(|| e.eval(&vars.iter().fold(Scope::shared(world, *thread, args), bind)))
    }

    /// True if a call may be this one. An argument of which nothing is known may be anything.
    fn may_be(&self, term: &CallTerm, call: &Call, vars: &BTreeMap<usize, Val>) -> bool {
        let is_value = |(e, v): (&Expr, &Val)| self.value(*e, vars).is_none_or(|value| value == *v);
        (term.library, term.method) == (call.library, call.method.text())
            && term.args.iter().zip(call.args.iter()).all(is_value)
    }

    fn elements(&self, each: Each) -> Vec<Val> {
        let RandomClient { world, thread, args } = self.client;
        let value = |at: IndexElement| match at {
            IndexElement::Node(n) => Val::from(n),
            IndexElement::Thread(t) => Val::from(t),
            IndexElement::Round(_) => Val::Unit,
        };
        Env::new(world, *thread, &Call::new(SV, "Any", args)).places(each).into_iter().map(value).collect()
    }

    /// Returns the calls that are due from a step on, in each way.
    fn due(&self, step: usize, position: usize) -> Vec<Vec<Due<'_>>> {
        let Some(PathStep { times, element, calls }) = self.path.steps.get(step) else { return vec![Vec::new()] };
        let once = |element: Option<(Var, Val)>, many: Option<(usize, usize)>| {
            let due = move |(n, made)| Due { made, position: position + n, element, many };
            calls.iter().enumerate().map(due).collect::<Vec<Due<'_>>>()
        };
        let of_each = |values: Vec<Val>| {
            let one = |(n, v)| once(element.map(|var| (var, v)), Some((step, n)));
            values.into_iter().enumerate().flat_map(one).collect::<Vec<Due<'_>>>()
        };
        let firsts = match times {
            Times::Once => vec![once(None, None)],
            Times::IfAny(set) if self.elements(Each::Nodes(*set)).is_empty() => vec![Vec::new()],
            Times::IfAny(_) => vec![once(None, None)],
            Times::Ended => {
                let threads = self.client.world.tids().map(Val::from);
                threads.map(|t| once(element.map(|var| (var, t)), None)).collect()
            }
            Times::Each(Each::Rounds) => (0..=self.run.0.len()).map(|n| of_each(vec![Val::Unit; n])).collect(),
            Times::Each(each) => vec![of_each(self.elements(*each))],
        };
        let rests = self.due(step + 1, position + calls.len());
        firsts.iter().cartesian_product(&rests).map(|(first, rest)| [&first[..], rest].concat()).collect()
    }

    fn fits(&self) -> bool {
        self.due(0, 0)
            .iter()
            .any(|due| due.len() <= self.run.0.len() && self.goes_on(due, 0, &KnownUnknowns::default()))
    }

    /// True if the calls that are due are those of the run from a position on, but for calls that are left out.
    fn goes_on(&self, due: &[Due<'_>], at: usize, known: &KnownUnknowns) -> bool {
        let Some((call, v)) = self.run.0.get(at) else { return due.is_empty() && self.conditions_hold(known) };
        // A call that is left out only looks: it reads, or it is a compare-and-swap that fails.
        let looks = call.method.text() == "Read" || call.method.text() == "CAS" && *v != call.args[1];
        let is_left_out = |of: &LeftOutCall| looks && self.may_be(&of.call, call, &BTreeMap::new());
        if self.path.left_out.iter().any(is_left_out) && self.goes_on(due, at + 1, known) {
            return true;
        }
        let Some((first, rest)) = due.split_first() else { return false };
        let mut known = known.clone();
        known.vars.extend(first.element.map(|(var, v)| (var.number, v)));
        if !self.may_be(&first.made.call, call, &known.vars) {
            return false;
        }
        let number = result(first.position).number;
        known.vars.insert(number, *v);
        if let Some(key) = first.many {
            known.many.entry(key).or_default().insert(number, *v);
        }
        self.goes_on(rest, at + 1, &known)
    }

    fn conditions_hold(&self, known: &KnownUnknowns) -> bool {
        let mut once = known.vars.clone();
        known.many.values().flat_map(BTreeMap::keys).for_each(|number| _ = once.remove(number));
        let of_elements = known.many.values().map(|of| once.clone().into_iter().chain(of.clone()).collect());
        let all: Vec<BTreeMap<usize, Val>> = std::iter::once(once.clone()).chain(of_elements).collect();
        let condition = |d: &PathCondition| {
            let holds = |vars| self.value(d.condition, vars).is_none_or(|v| (v == Val::Bool(true)) == d.holds);
            all.iter().all(holds)
        };
        let value = |datum: Datum, vars: &BTreeMap<usize, Val>| match datum {
            Datum::Argument(i) => Some(self.client.args[i]),
            Datum::Result(p) => vars.get(&result(p).number).copied(),
            Datum::Sum(p, k) => vars.get(&result(p).number).map(|v| v.plus(k).unwrap_or(*v)),
            Datum::Constant(v) => Some(v),
            _ => None,
        };
        let equal = self.path.guards.iter().filter(|guard| guard.are_equal).map(|guard| (guard.one, guard.other));
        let equal: Vec<(Datum, Datum)> = equal.chain(self.path.equal.iter().copied()).collect();
        let classes = Classes::of(equal.iter().copied());
        let are_equal = |vars: &BTreeMap<usize, Val>| {
            let in_class = |datum: &Datum| {
                let values: Vec<Val> = classes.members(*datum).into_iter().filter_map(|d| value(d, vars)).collect();
                values.windows(2).all(|pair| pair[0] == pair[1])
            };
            equal.iter().flat_map(|(one, other)| [one, other]).all(in_class)
        };
        let is_above = |vars: &BTreeMap<usize, Val>| {
            self.path.above.iter().all(|(high, low)| {
                let [high, low] = [*high, *low].map(|p| value(Datum::Result(p), vars));
                high.zip(low).is_none_or(|(high, low)| high > low)
            })
        };
        self.path.decided.iter().all(condition)
            && all.iter().all(|vars| are_equal(vars) && is_above(vars))
            && self.value(self.path.returned, &once).is_none_or(|v| v == self.run.1)
    }
}

/// Returns the paths through a body, as templates use them.
fn paths(below: &Libraries, body: &Body) -> Option<Vec<Path>> {
    let arguments = vec![ArgumentForm::Location, ArgumentForm::Data, ArgumentForm::Nodes];
    let parts = parts! { static x =>
        for n in (all_nodes()) { x.part("copy", [n]) => ObjectTerm::new(WAIT); }
        for t in (all_threads()) { x.part("copy", [t]) => ObjectTerm::new(WAIT); }
        for k in (range(1, 3)) { x.part("copy", [k]) => ObjectTerm::new(WAIT); }
    };
    let reader = SymbolicExecutor {
        library: SV,
        below,
        parts: Some(parts),
        arguments,
        sizes: BTreeMap::from([(0, 2)]),
        has_roles: false,
        fresh: Cell::new(0),
        fault: RefCell::default(),
        clients: Arc::default(),
    };
    reader.paths(body).ok()
}

/// True if a run is an instance of some path.
fn is_on_a_path(paths: &[Path], client: &RandomClient, run: &RunOfBody) -> bool {
    paths.iter().any(|path| InstanceOfPath { client, path, run }.fits())
}

/// Returns a client's call in a small world.
fn client(rng: &mut Rng) -> RandomClient {
    let nodes = rng.u8(1..4);
    let threads: Vec<Node> = (0..rng.usize(1..4)).map(|_| Node(rng.u8(1..=nodes))).collect();
    let mut world = World::new(nodes, &threads);
    let thread = Tid(rng.u8(1..=threads.len() as u8));
    let members: Vec<Tid> = world.tids().filter(|t| *t == thread || rng.bool()).collect();
    let x = Loc::new("x");
    world.objects.insert(x, Object::new(SV).members(&members).size(2));
    let among: NodeSet = world.all_nodes().iter().filter(|_| rng.bool()).collect();
    let args = vec![x.into(), (*rng.choice(&VALUES).unwrap()).into(), among.into()];
    RandomClient { world: Arc::new(world), thread, args }
}

/// Counts bodies with paths, and their runs. Each run is an instance of some path.
fn compared(seed: u64, bodies: usize) -> [usize; 2] {
    let below = Libraries::over(to).with(Memory).with(Variables);
    let [x, v, ns]: [Expr; 3] = [(0, "x"), (1, "v"), (2, "ns")].map(|(i, name)| ExprTerm::Arg(i, name).into());
    let part = move |n: Option<Expr>| x.part("copy", [n.unwrap_or(here())]);
    let pieces = Pieces {
        reads: vec![
            operation(move |_, n| Wait::read(part(n))),
            operation(move |_, _| Sv::read(x)),
            operation(move |v, n| Wait::cas(part(n), 0, v)),
        ],
        effects: vec![
            operation(move |v, n| Wait::write(part(n), v)),
            operation(move |_, n| Wait::put(part(n), part(None), Val::NoWid)),
            operation(move |_, _| Sv::bcast(x, Val::NoWid, all_nodes().without(here()))),
            operation(move |_, _| Wait::wait(x.wid("d"))),
        ],
        searched: vec![operation(move |_, t| Wait::read(part(t)))],
        sets: vec![
            all_nodes(),
            all_nodes().without(here()),
            ns,
            ns.without(here()),
            members(x),
            nodes(members(x)).without(here()),
            Expr::tuple([1.into(), 2.into()]),
        ],
        literals: VALUES.to_vec(),
    };
    let mut rng = Rng::with_seed(seed);
    let mut found = [0, 0];
    for number in 0..bodies {
        Var::number_from(0);
        let body = pieces.body(&mut rng, &[v]);
        let Some(paths) = paths(&below, &body) else { continue };
        found[0] += 1;
        for _ in 0..20 {
            let client = client(&mut rng);
            let Some(run) = run(&mut rng, &client, &body) else { continue };
            found[1] += 1;
            let calls = || run.0.iter().map(|(call, v)| format!("{call} -> {v}")).join("\n");
            assert!(
                is_on_a_path(&paths, &client, &run),
                "body {number} of seed {seed} has a run that is on no path:\n{body}\nthread {} of {:?} with {:?}:\n{}\nvalue {}\n{paths:#?}",
                client.thread,
                client.world,
                client.args,
                calls(),
                run.1
            );
        }
    }
    found
}

#[test]
fn runs_are_instances_of_paths() {
    let [bodies, runs] = compared(70, 4000);
    assert!(bodies > 400 && runs > 4000, "{bodies} bodies, {runs} runs");
}

/// Returns the number in a variable of the environment, or a default.
fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|number| number.parse().ok()).unwrap_or(default)
}

/// `MOWGLI_BODIES=20000` compares as many bodies that have paths, and `MOWGLI_BODIES_SEED` draws others.
#[test]
#[ignore = "takes a minute"]
fn runs_of_many_bodies_are_instances_of_paths() {
    let (wanted, seed) = (number("MOWGLI_BODIES", 40_000), number("MOWGLI_BODIES_SEED", 0));
    let (mut bodies, mut runs) = (0, 0);
    for seed in seed.. {
        let [more, of_these] = compared(seed, 4000);
        (bodies, runs) = (bodies + more as u64, runs + of_these as u64);
        if bodies >= wanted {
            break;
        }
    }
    println!("{bodies} bodies, {runs} runs");
    assert!(runs > 10 * bodies, "{bodies} bodies, {runs} runs");
}

/// A `for` through no element, or up to four. Each element decides for itself, and ends its own loop in its own way. Elements that
/// make different calls are refused, and so is a break.
#[test]
fn a_for_is_abstracted_for_each_number_of_elements() {
    let below = Libraries::over(to).with(Memory).with(Variables);
    let [x, v]: [Expr; 2] = [(0, "x"), (1, "v")].map(|(i, name)| ExprTerm::Arg(i, name).into());
    let (others, copy) = (|| all_nodes().without(here()), |n: Expr| x.part("copy", [n]));
    let alike = [
        body! { for n in (others()) { let w = Wait::read(copy(n)); if (w == 1) { loop {} } } v },
        body! { for n in (others()) { let w = Wait::read(copy(n)); if (w == v) { 1 } else { w } } Wait::write(copy(here()), v) },
        body! {
            for n in (others()) {
                let w = Wait::read(copy(n));
                loop { let s = Wait::read(copy(n)); if (s == w) { break } if (w == 2) { break } if (s == v) { break } }
                if (w == 3) { loop {} }
                Wait::put(copy(n), copy(here()), Val::NoWid)
            }
            let w = Wait::read(copy(here()));
            if (w == v) { loop {} }
            w
        },
        body! { for n in (others()) { let w = Wait::read(copy(n)); if (w == v) { loop { Wait::write(copy(n), 1) } } } 0 },
    ];
    let mut rng = Rng::with_seed(75);
    for body in &alike {
        let paths = paths(&below, body).expect("its elements make the same calls");
        for others in 0..=4 {
            let mut world = World::new(others + 1, &[Node(1)]);
            world.objects.insert(Loc::new("x"), Object::new(SV).members(&[Tid(1)]).size(2));
            let world = Arc::new(world);
            let runs = (0..400).filter_map(|_| {
                let args = vec![Loc::new("x").into(), (*rng.choice(&VALUES)?).into(), world.all_nodes().into()];
                let client = RandomClient { world: world.clone(), thread: Tid(1), args };
                run(&mut rng, &client, body).map(|run| (client, run))
            });
            let runs: Vec<_> = runs.collect();
            assert!(!runs.is_empty(), "{body} returns for {others} elements");
            for (client, run) in &runs {
                assert!(
                    is_on_a_path(&paths, client, run),
                    "{others} elements: {run:?} is on no path of\n{body}\n{paths:#?}"
                );
            }
        }
    }
    let differ = [
        body! { for n in (others()) { let w = Wait::read(copy(n)); if (w == 1) { Wait::write(copy(n), v) } } v },
        body! { loop { for n in (others()) { let w = Wait::read(copy(n)); if (w == 1) { break } } } v },
        body! { for n in (others()) { if (v == 1) { Wait::write(copy(n), v) } } v },
    ];
    assert!(differ.iter().all(|body| paths(&below, body).is_none()));
}

/// Two searches of one text. Each ends at any thread, so one may end at the own thread, and the other one elsewhere.
#[test]
fn searches_of_one_text_end_at_any_threads() {
    let below = Libraries::over(to).with(Memory).with(Variables);
    let [x, v]: [Expr; 2] = [(0, "x"), (1, "v")].map(|(i, name)| ExprTerm::Arg(i, name).into());
    let copy = |n: Expr| x.part("copy", [n]);
    let ends = |end: &dyn Fn(Expr) -> Body| {
        let round = |t: Expr| body! { let p = Wait::read(copy(t)); if (p == v) { end(t) } };
        Body::each("t", all_threads(), round).repeat()
    };
    let by_number = ends(&|t| body! { if (t.is(me())) { break 0 } else { break 1 } });
    let by_thread = ends(&|t| body! { break t });
    let mut rng = Rng::with_seed(70);
    for search in [by_number, by_thread] {
        let twice = Body::collect("k", Expr::tuple([1.into(), 2.into()]), |_| search);
        let body = twice.bind("both", |both| {
            body! { if ((both.item(0)) == (both.item(1))) { Wait::write(copy(here()), 0) } else { Wait::write(copy(here()), 1) } }
        });
        let paths = paths(&below, &body).expect("each search is one read");
        let mut written = BTreeSet::new();
        for _ in 0..400 {
            let client = client(&mut rng);
            let Some(run) = run(&mut rng, &client, &body) else { continue };
            written.extend(run.0.last().map(|(call, _)| call.args[1]));
            assert!(is_on_a_path(&paths, &client, &run), "{run:?} is on no path of\n{body}\n{paths:#?}");
        }
        assert_eq!(written.len(), 2, "both ends occur");
    }
}
