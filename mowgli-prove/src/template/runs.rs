//! Tests of symbolic execution against runs: each run of a body is an instance of a path.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, ExprTerm, Surroundings, Var, all_nodes, all_threads, here, members, nodes, range};
use mowgli_core::ids::{Loc, Node, NodeSet, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::term::body::{Body, CallTerm};
use mowgli_core::term::code::{CodePlace, CodePoint, CodeState};
use mowgli_core::term::parts::{ObjectTerm, parts};
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::sv::{Method as Sv, SV, Sv as Variables};
use mowgli_rdma::to;
use mowgli_rdma::wait::{Method as Wait, WAIT, Wait as Memory};

use crate::template::classes::Classes;
use crate::template::paths::{LeftOutCall, Path, PathCall, PathCondition, PathStep, SymbolicExecutor, result};
use crate::template::pattern::{ArgumentForm, Datum, Each, Members, Nodes, Times, Whole};
use crate::template::shapes::only_reads;

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

struct BoundVariables<'a>(&'a RandomClient, &'a BTreeMap<usize, Val>);

impl Surroundings for BoundVariables<'_> {
    fn world(&self) -> &World {
        &self.0.world
    }

    fn thread(&self) -> Tid {
        self.0.thread
    }

    fn args(&self) -> &[Val] {
        &self.0.args
    }

    fn ret(&self) -> Option<Val> {
        None
    }

    fn var(&self, var: Var) -> Option<Val> {
        self.1.get(&var.number).copied()
    }
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
        is_known.then(|| e.eval(&BoundVariables(self.client, vars)))
    }

    /// True if a call may be this one. An argument of which nothing is known may be anything.
    fn may_be(&self, term: &CallTerm, call: &Call, vars: &BTreeMap<usize, Val>) -> bool {
        let is_value = |(e, v): (&Expr, &Val)| self.value(*e, vars).is_none_or(|value| value == *v);
        (term.library, term.method) == (call.library, call.method.text())
            && term.args.iter().zip(call.args.iter()).all(is_value)
    }

    fn elements(&self, each: Each) -> Vec<Val> {
        let World { objects, .. } = &*self.client.world;
        let of = |i: usize| objects[&self.client.args[i].loc().unwrap()].members.clone();
        let on = |threads: &[Tid]| threads.iter().map(|t| self.client.world.node_of(*t)).collect::<NodeSet>();
        match each {
            Each::Members(Members { of: i, but_first }) => {
                of(i).iter().skip(usize::from(but_first)).map(|t| Val::from(*t)).collect()
            }
            Each::Nodes(Nodes { of: whole, but_own }) => {
                let all = match whole {
                    Whole::All => self.client.world.all_nodes(),
                    Whole::Argument(i) => self.client.args[i].nodes().unwrap(),
                    Whole::Members(i) => on(&of(i)),
                    Whole::First(i) => on(&of(i)[..1]),
                    Whole::Others(i) => on(&of(i)[1..]),
                };
                let own = self.client.world.node_of(self.client.thread);
                all.iter().filter(|n| !but_own || *n != own).map(Val::from).collect()
            }
            Each::Ended(_) | Each::Rounds => unreachable!("a `for` is through neither"),
        }
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
        let is_left_out = |of: &LeftOutCall| self.may_be(&of.call, call, &BTreeMap::new());
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
    let mut reader = SymbolicExecutor {
        library: SV,
        below,
        parts: Some(parts),
        arguments,
        sizes: BTreeMap::from([(0, 2)]),
        has_roles: false,
        has_rounds: false,
        fresh: Cell::new(0),
        missing: RefCell::default(),
    };
    let looks = |of: &LeftOutCall| {
        let shapes = below.get(of.call.library).and_then(|library| library.shape_terms());
        only_reads(shapes.and_then(|shapes| shapes.get(of.call.method)).unwrap())
    };
    let all_look = |paths: &[Path]| paths.iter().flat_map(|path| &path.left_out).all(looks);
    let paths = reader.paths(body).ok()?;
    if all_look(&paths) {
        return Some(paths);
    }
    reader.has_rounds = true;
    reader.paths(body).ok().filter(|paths| all_look(paths))
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
            let is_instance = |path: &Path| InstanceOfPath { client: &client, path, run: &run }.fits();
            let calls = || run.0.iter().map(|(call, v)| format!("{call} -> {v}")).join("\n");
            assert!(
                paths.iter().any(is_instance),
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

#[test]
#[ignore = "takes a minute"]
fn runs_of_many_bodies_are_instances_of_paths() {
    let [bodies, runs] = (0..100).map(|seed| compared(seed, 4000)).fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
    assert!(bodies > 40_000 && runs > 400_000, "{bodies} bodies, {runs} runs");
}
