//! Templates: the events and subevents of every call of a method, whatever its thread, node and arguments are.
//!
//! Symbolic execution of a body gives the paths through it (`symbolic`): which calls it makes, how often, with
//! which arguments and under which conditions. The terms of the shapes give the subevents of these calls
//! (`shapes`). If a shape depends on whether two data are equal, the path has a kind of calls for each case.

pub(crate) mod classes;
mod faults;
pub mod kind;
pub mod pattern;
pub(crate) mod role;
#[cfg(test)]
mod runs;
pub(crate) mod shapes;
pub mod source;
pub(crate) mod symbolic;
pub(crate) mod values;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, ExprTerm, Function, Op, Var};
use mowgli_core::ids::{Name, Node, Tid};
use mowgli_core::library::Hints;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::add_parts;
use mowgli_core::term::method::ArgumentKind;
use mowgli_core::term::parts::Parts;
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationPart, World};

use crate::error::{Refusal, refusal};
use crate::template::classes::Classes;
use crate::template::kind::{CallForm, CallWay, Guard, Kind};
use crate::template::pattern::{ArgumentForm, Datum, Each, Times};
use crate::template::role::{CallOfEvent, Computed, KindCase, KindCases};
use crate::template::shapes::{NoTemplate, Shaper, Symbolic, element, shape_of};
use crate::template::source::ProofSource;
use crate::template::symbolic::{LeftOutCall, Path, PathCall, method_of, returns};
use crate::template::values::{ClientInWorld, PathCondition, SymbolicExecutor, is_of_world, result};

/// A kind of calls, with its case.
struct Branch<'a> {
    kind: Kind,
    case: KindCase<'a>,
}

/// The most comparisons of data that distinguish shapes of one path.
const DEEPEST: usize = 3;

/// The nodes of the threads of the worlds in which the forms of calls are looked up. The numbers of threads and nodes
/// differ.
const PLACES: [&[u8]; 4] = [&[1], &[2, 1], &[2, 3, 1, 3], &[3, 4, 2, 1, 4]];

/// The results that distinguish calls of objects with a writer and readers.
const SPECIAL: [Val; 4] = [Val::Bool(true), Val::Bool(false), Val::Bot, Val::Unit];

impl<'a> ProofSource<'a> {
    /// True if objects have a writer and readers.
    pub(crate) fn has_roles(&self) -> bool {
        let form = self.specification.get(self.library).and_then(|library| library.object());
        form.is_some_and(|form| form.parts.contains(&DeclarationPart::Roles))
    }

    /// Returns worlds with objects, in which clients make calls of all forms.
    pub(crate) fn worlds(&self) -> Vec<World> {
        let of_place = |places: &&[u8]| {
            let nodes: Vec<Node> = places.iter().copied().map(Node).collect();
            let empty = World::new(places.iter().copied().max().unwrap_or(1), &nodes);
            let bound = Bound { objects: 2, threads: nodes.len(), nodes: empty.nodes, ..Bound::default() };
            self.subject.worlds(&empty, &bound, &|| false)
        };
        PLACES.iter().flat_map(of_place).collect()
    }

    /// Returns the forms of the calls that clients make: methods, with the forms of their arguments.
    fn forms(&self, worlds: &[World]) -> Result<BTreeSet<(Name, Vec<ArgumentForm>)>, Vec<Refusal>> {
        let mut forms: BTreeSet<(Name, Vec<ArgumentForm>)> = BTreeSet::new();
        let mut refusals = Vec::new();
        for (_, call) in worlds.iter().flat_map(|world| self.calls(world)) {
            match call.args.iter().map(|v| ArgumentForm::of(*v)).collect() {
                Ok(arguments) => _ = forms.insert((call.method, arguments)),
                Err(refusal) => refusals.push(refusal.about(call.method)),
            }
        }
        refusals.dedup_by_key(|refusal| refusal.to_string());
        if !refusals.is_empty() {
            return Err(refusals);
        }
        // A client may give `_` wherever a method takes an identifier.
        let identifiers = |(method, arguments): &(Name, Vec<ArgumentForm>)| {
            let options = arguments.iter().map(|a| match a {
                ArgumentForm::Identifier | ArgumentForm::NoIdentifier => {
                    vec![ArgumentForm::Identifier, ArgumentForm::NoIdentifier]
                }
                other => vec![*other],
            });
            options.multi_cartesian_product().map(|arguments| (*method, arguments)).collect::<Vec<_>>()
        };
        Ok(forms.iter().flat_map(identifiers).collect())
    }

    /// Makes the templates of all kinds of calls.
    ///
    /// # Errors
    /// Lists the kinds that have no template.
    pub fn kinds(&self) -> Result<Vec<Kind>, Vec<Refusal>> {
        if let Some(why) = self.implementation.parts().and_then(Parts::mistake) {
            return Err(vec![refusal!("{why}").about("its parts")]);
        }
        let worlds = self.worlds();
        let (mut branches, mut refusals) = (Vec::new(), Vec::new());
        for (method, arguments) in self.forms(&worlds)? {
            let ends = arguments.iter().filter(|a| **a == ArgumentForm::NoIdentifier).map(|_| "_");
            let name = format!("{method}{}", ends.collect::<String>());
            match self.branches((method, &arguments), &worlds) {
                Ok(reported) => branches.extend(numbered(&name, reported)),
                Err(refusal) => refusals.push(refusal.about(name)),
            }
        }
        refusals.dedup_by_key(|refusal| refusal.to_string());
        if branches.is_empty() && refusals.is_empty() {
            refusals.push(refusal!("there are no calls").about("no method"));
        }
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let alike = self.alike(&branches);
        Ok(alike.unwrap_or_else(|| branches.into_iter().map(|branch| branch.kind).collect()))
    }

    /// Makes one kind of all branches that do the same for different data. This is enough for updates of a state of
    /// several words, and only tried for these.
    fn alike(&'a self, branches: &[Branch<'a>]) -> Option<Vec<Kind>> {
        if !branches.iter().all(|branch| branch.kind.has_words()) {
            return None;
        }
        let mut groups: Vec<Vec<&Branch<'a>>> = Vec::new();
        for branch in branches {
            let skeleton = branch.kind.skeleton();
            match groups.iter_mut().find(|group| group[0].kind.skeleton() == skeleton) {
                Some(group) => group.push(branch),
                None => groups.push(vec![branch]),
            }
        }
        let whole = |group: Vec<&Branch<'a>>| {
            let cases: Vec<&KindCase<'a>> = group.iter().map(|branch| &branch.case).collect();
            let method = group[0].kind.forms[0].method;
            let kind = self.explained(method, cases, Computed::Always).ok()?;
            let name = group.iter().map(|branch| &branch.kind.name).join("+");
            let forms = group.iter().flat_map(|branch| branch.kind.forms.clone()).collect();
            let mut kind = Kind { name, forms, ways: group[0].kind.ways.clone(), ..kind };
            kind.name_roles();
            Some(kind)
        };
        groups.into_iter().map(whole).collect()
    }

    /// Makes the kinds of the calls of one form: one or more for each path through the body.
    fn branches(
        &'a self,
        (method, arguments): (Name, &[ArgumentForm]),
        worlds: &[World],
    ) -> Result<Vec<Branch<'a>>, Refusal> {
        let bodies = self.implementation.bodies().ok_or_else(|| refusal!("it has no body, which could be read"))?;
        let body = bodies.get(method.text()).ok_or_else(|| refusal!("it has no body, so no call of it returns"))?;
        let has_roles = self.has_roles();
        let sizes = if has_roles { BTreeMap::new() } else { self.sizes(arguments, worlds) };
        let clients = self.clients(method, arguments, worlds).into();
        let arguments = arguments.to_vec();
        let reader = SymbolicExecutor {
            library: self.library,
            below: self.below,
            parts: self.implementation.parts(),
            arguments,
            sizes,
            has_roles,
            fresh: Cell::new(0),
            clients,
            fault: RefCell::default(),
        };
        let paths = reader.paths(body)?;
        if paths.is_empty() {
            return Err(refusal!("no call of this form returns"));
        }
        paths.iter().try_for_each(|path| reader.makes_a_call(path))?;
        let mut branches = Vec::new();
        for (path, given) in paths.iter().zip(given(&reader, &paths)?) {
            match self.of_path(method, &reader, path, &given) {
                Ok(reported) => branches.extend(reported),
                Err(NoTemplate::Refused(refusal)) => return Err(refusal),
                Err(NoTemplate::Undecided(e)) => return Err(refusal!("its shapes depend on `{e}`")),
            }
        }
        Ok(branches)
    }

    /// Returns the calls that clients make in a world.
    fn calls(&self, world: &World) -> Vec<(Tid, Call)> {
        let bound = Bound { objects: 2, ..Bound::default() };
        let of_thread =
            |thread| self.subject.calls(world, thread, &bound, &|| false).into_iter().map(move |c| (thread, c));
        world.tids().flat_map(of_thread).collect()
    }

    /// Returns the calls of a form that clients make in these worlds, with the objects of the implementation.
    fn clients(&self, method: Name, form: &[ArgumentForm], worlds: &[World]) -> Vec<ClientInWorld> {
        let with = |(form, v): (&ArgumentForm, &Val)| if *form == ArgumentForm::NoIdentifier { Val::NoWid } else { *v };
        let is = |(form, v): (&ArgumentForm, &Val)| ArgumentForm::of(*v).as_ref() == Ok(form);
        let mut found = Vec::new();
        for world in worlds {
            let mut whole = world.clone();
            add_parts(&*self.implementation, &mut whole);
            let whole = Arc::new(whole);
            let calls = self.calls(world).into_iter().filter(|(_, call)| call.method == method);
            for (thread, call) in calls.filter(|(_, call)| call.args.len() == form.len()) {
                let args: Vec<Val> = form.iter().zip(&call.args).map(with).collect();
                let library = self.specification.get(call.library);
                let is_made = library.is_some_and(|library| library.fault(world, thread, &call).is_none());
                if is_made && form.iter().zip(&args).all(is) {
                    found.push(ClientInWorld { world: Arc::clone(&whole), thread, args });
                }
            }
        }
        found
    }

    /// Describes the calls that templates are about: the methods with the forms of their arguments, and the size of the
    /// objects if templates know it.
    pub(crate) fn covers(&self, kinds: &[Kind]) -> Vec<String> {
        let forms = kinds.iter().flat_map(|kind| &kind.forms);
        let forms: BTreeSet<String> =
            forms.map(|form| format!("{}({})", form.method, form.arguments.iter().join(", "))).collect();
        let size = if self.has_roles() { None } else { self.size(&self.worlds()) };
        let size = size.filter(|size| *size != 1).map(|size| format!("objects of size {size}"));
        forms.into_iter().chain(size).collect()
    }

    /// Returns the size of the objects, if all have the same one.
    fn size(&self, worlds: &[World]) -> Option<i64> {
        let objects = worlds.iter().flat_map(|world| world.objects_of(self.library));
        objects.map(|(_, object)| object.size as i64).all_equal_value().ok()
    }

    /// Returns the sizes of the objects that are arguments, if all objects have the same size.
    fn sizes(&self, arguments: &[ArgumentForm], worlds: &[World]) -> BTreeMap<usize, i64> {
        let size = self.size(worlds);
        let locations = (0..arguments.len()).filter(|i| arguments[*i] == ArgumentForm::Location);
        locations.filter_map(|i| Some((i, size?))).collect()
    }

    /// Makes the kinds of one path: one for each way in which the calls below happen, and for each case of its shapes.
    fn of_path(
        &'a self,
        method: Name,
        reader: &SymbolicExecutor<'a>,
        path: &Path,
        given: &[Guard],
    ) -> Result<Vec<Branch<'a>>, NoTemplate> {
        let returned = given.iter().filter(|guard| guard.one == Datum::Returned).filter_map(|guard| {
            let Datum::Constant(v) = guard.other else { return None };
            Some(PathCondition { condition: path.returned.is(v), holds: guard.are_equal, is_fact: false })
        });
        let decided: Vec<PathCondition> = path.decided.iter().cloned().chain(returned).collect();
        let mut branches = self.cases(method, reader, path, given, (decided, 0))?;
        branches.sort_by(|a, b| a.kind.ways.cmp(&b.kind.ways));
        Ok(branches)
    }

    /// Makes the kinds of one path under these conditions. If the shapes depend on whether two data are equal, there
    /// are two kinds: one where they are equal, and one where they differ.
    fn cases(
        &'a self,
        method: Name,
        reader: &SymbolicExecutor<'a>,
        path: &Path,
        given: &[Guard],
        (decided, depth): (Vec<PathCondition>, usize),
    ) -> Result<Vec<Branch<'a>>, NoTemplate> {
        match self.shapes(method, reader, path, &decided) {
            Err(NoTemplate::Undecided(_)) if depth == DEEPEST => {
                Err(refusal!("its shapes depend on too many data").into())
            }
            Err(NoTemplate::Undecided(condition)) => {
                let guard = reader.guard(condition, true);
                let guard =
                    guard.ok_or_else(|| refusal!("its shapes depend on `{condition}`, which compares no two data"))?;
                let with = |are_equal: bool| {
                    let given = [given, &[Guard { are_equal, ..guard }]].concat();
                    let new = PathCondition { condition, holds: are_equal, is_fact: false };
                    self.cases(method, reader, path, &given, ([&decided[..], &[new]].concat(), depth + 1))
                };
                Ok(with(true)?.into_iter().chain(with(false)?).collect())
            }
            Err(stop) => Err(stop),
            Ok((ways, own)) => {
                let equal = given.iter().filter(|g| g.are_equal).map(|g| (g.one, g.other));
                let classes = Classes::of(equal.chain(path.equal.iter().copied()));
                let computed = if self.has_roles() { Computed::Anything } else { Computed::No };
                let branch = |(ways, shapes): (Vec<CallWay>, Vec<Symbolic>)| {
                    let (path, decided, own) = (path.clone(), decided.clone(), own.clone());
                    let case =
                        KindCase { reader: reader.clone(), path, decided, classes: classes.clone(), shapes, own };
                    let kind = self.explained(method, vec![&case], computed).map_err(NoTemplate::Refused)?;
                    let results = given.iter().flat_map(|g| [g.one, g.other]).flat_map(|datum| match datum {
                        Datum::Result(event) | Datum::Sum(event, _) => event..event + 1,
                        Datum::Results(first, words) => first..first + words,
                        _ => 0..0,
                    });
                    if !results.chain(ways.iter().map(|(event, _)| *event)).all(|event| kind.is_once(event)) {
                        return Err(refusal!("what tells branches apart is one of several results").into());
                    }
                    let form = CallForm { method, arguments: reader.arguments.clone(), given: given.to_vec() };
                    Ok(Branch { kind: Kind { forms: vec![form], ways, ..kind }, case })
                };
                ways.into_iter().map(branch).collect()
            }
        }
    }

    /// Returns the shapes of the calls of a path for each choice of their ways, and the shape of the client's call.
    #[expect(clippy::type_complexity, reason = "two lists, one of them of pairs")]
    fn shapes(
        &'a self,
        method: Name,
        reader: &SymbolicExecutor<'a>,
        path: &Path,
        decided: &[PathCondition],
    ) -> Result<(Vec<(Vec<CallWay>, Vec<Symbolic>)>, Symbolic), NoTemplate> {
        let shaper = Shaper { reader, decided };
        let mut all: Vec<(Vec<CallWay>, Vec<Symbolic>)> = vec![Default::default()];
        for (position, (times, element, made)) in placed(path).enumerate() {
            let library = reader.below.get(made.call.library);
            let args = made.call.args.iter().map(|e| with_element(*e, element, times)).collect::<Vec<_>>();
            let has_result = returns(library, made.call.method);
            let name = Var { name: made.name, ..result(position) };
            let result = if has_result { ExprTerm::Var(name).into() } else { Expr::from(Val::Unit) };
            let called = shapes::CallOfShape { args: &args, result, times };
            let mut ways = shaper.ways(shape_of(library, made.call.method)?, called)?;
            if ways.len() > 1 && times == Times::Each(Each::Rounds) {
                ways = vec![Symbolic::of_each_round(ways)];
            }
            if ways.is_empty() {
                return Err(refusal!("{} cannot happen", made.call).into());
            }
            if ways.len() > 1 && made.ends_loop {
                return Err(refusal!("a call in a loop can happen in several ways").into());
            }
            let several = ways.len() > 1;
            let with = |(known, shapes): (Vec<CallWay>, Vec<Symbolic>)| {
                let one = move |(way, shape): (usize, Symbolic)| {
                    let way = several.then_some((position, way));
                    (known.iter().copied().chain(way).collect(), [&shapes[..], &[shape]].concat())
                };
                ways.clone().into_iter().enumerate().map(one).collect::<Vec<_>>()
            };
            all = all.into_iter().flat_map(with).collect();
        }
        let specified = self.specification.get(self.library);
        let takes = method_of(specified, method.text()).map(|m| m.takes);
        let args = takes.unwrap_or_default().iter().enumerate().map(|(i, (name, _))| ExprTerm::Arg(i, name).into());
        let args: Vec<Expr> = args.collect();
        let result = if returns(specified, method.text()) { path.returned } else { Val::Unit.into() };
        let called = shapes::CallOfShape { args: &args, result, times: Times::Once };
        let own = match shaper.ways(shape_of(specified, method.text())?, called) {
            Err(NoTemplate::Undecided(e)) if reader.guard(e, true).is_none() && is_of_world(e, &reader.arguments) => {
                return Err(refusal!(
                    "only some threads of an object may call it, and `{e}` is not known of the thread"
                )
                .into());
            }
            other => other?,
        };
        let one = own.into_iter().exactly_one().map_err(|ways| refusal!("it can happen in {} ways", ways.count()))?;
        Ok((all, one))
    }

    /// Returns the node of a part as the implementation declares it, and any other argument as it is.
    fn home(&self, reader: &SymbolicExecutor<'a>, e: Expr) -> Expr {
        let ExprTerm::Of(Function::Node, of) = e.term() else { return e };
        let is_part = matches!(of.term(), ExprTerm::Part(..));
        let declared = reader.parts.filter(|_| is_part).and_then(|parts| parts.get(*of, &|_, _| true)?.node);
        declared.map_or(e, |node| reader.simplified(node))
    }

    /// Makes the kind of calls of these cases, which take paths with the same calls.
    fn explained(&'a self, method: Name, cases: Vec<&KindCase<'a>>, computed: Computed) -> Result<Kind, Refusal> {
        let path = &cases[0].path;
        let made: Vec<_> = placed(path).collect();
        let end = made.len();
        let libraries = [self.below, self.specification];
        let takes_part = takes_part(&cases);
        let cases = KindCases { all: cases, computed, libraries };
        let mut kind = Kind {
            name: String::new(),
            forms: Vec::new(),
            ways: Vec::new(),
            concrete: Vec::new(),
            abstract_: Vec::new(),
            made: Vec::new(),
            events: path.segments(),
            subs: Vec::new(),
            promised: Vec::new(),
            left_out: path.as_many_after,
            looked: cases.all.iter().flat_map(|case| &case.path.left_out).map(LeftOutCall::method).collect(),
            takes_part,
        };
        for (position, (times, _, of)) in made.iter().enumerate() {
            let argument = |i: usize| {
                let es = cases.all.iter().map(|case| {
                    let (times, element, made) = placed(&case.path).nth(position)?;
                    made.call.args.get(i).map(|e| with_element(self.home(&case.reader, *e), element, times))
                });
                es.collect::<Option<Vec<Expr>>>().ok_or_else(|| refusal!("{} has other arguments elsewhere", of.call))
            };
            // Sets of nodes are seen by the subevents that there are for each of them.
            let is_set =
                |i: usize| takes(self.below.get(of.call.library), of.call.method, i) == Some(ArgumentKind::Nodes);
            let pattern =
                |i: usize| if is_set(i) { Ok(None) } else { cases.pattern(position, &argument(i)?).map(Some) };
            let arguments = (0..of.call.args.len()).map(pattern).collect::<Result<Vec<_>, Refusal>>()?;
            let (library, method) = (of.call.library, Name::new(of.call.method));
            kind.made.push((library, method, pattern::tuple(arguments.iter().flatten())));
            let called = CallOfEvent { event: position, library, method, arguments, times: *times };
            let (subs, mut roles) = cases.subevents(&called, |case| &case.shapes[position])?;
            let above = path.above.iter().filter(|(high, _)| *high == position).map(|(_, low)| Datum::Result(*low));
            let above: Vec<Datum> = above.collect();
            for role in &mut roles {
                role.in_loop = of.ends_loop || kind.left_out == Some(position);
                role.above.clone_from(&above);
            }
            kind.subs.push(subs);
            kind.concrete.extend(roles);
        }
        let forms: Vec<&Vec<ArgumentForm>> = cases.all.iter().map(|case| &case.reader.arguments).collect();
        let argument = |i: usize| -> Result<Option<pattern::Pattern>, Refusal> {
            if forms.iter().any(|form| form.len() <= i || form[i] == ArgumentForm::Nodes) {
                return Ok(None);
            }
            cases.pattern(end, &vec![ExprTerm::Arg(i, "argument").into(); forms.len()]).map(Some)
        };
        let arguments = (0..forms[0].len()).map(argument).collect::<Result<Vec<_>, Refusal>>().unwrap_or_default();
        let called = CallOfEvent { event: end, library: self.library, method, arguments, times: Times::Once };
        (kind.promised, kind.abstract_) = cases.subevents(&called, |case| &case.own)?;
        Ok(kind)
    }
}

/// Returns the guards of each path. The result of a call is one of them if the object has a writer and readers.
fn given(reader: &SymbolicExecutor<'_>, paths: &[Path]) -> Result<Vec<Vec<Guard>>, Refusal> {
    if !reader.has_roles {
        return Ok(paths.iter().map(|path| path.guards.clone()).collect());
    }
    let special = |path: &Path| match path.returned.term() {
        ExprTerm::Val(v) if SPECIAL.contains(v) => Some(*v),
        _ => None,
    };
    let classes: BTreeSet<Val> = paths.iter().filter_map(special).collect();
    let is = |value: Val, are_equal| Guard { one: Datum::Returned, other: Datum::Constant(value), are_equal };
    let of_path = |path: &Path| {
        let returned = match special(path) {
            Some(value) => vec![is(value, true)],
            None => classes.iter().map(|value| is(*value, false)).collect(),
        };
        match classes.iter().find(|value| special(path).is_none() && reader.may_be(path, **value)) {
            Some(value) => Err(refusal!("whether it returns {value} is not known")),
            None => Ok([returned, path.guards.clone()].concat()),
        }
    };
    paths.iter().map(of_path).collect()
}

/// Lists the calls of a path, with how often each is made and the variable for what it is made for.
fn placed(path: &Path) -> impl Iterator<Item = (Times, Option<Var>, &PathCall)> {
    path.steps.iter().flat_map(|step| step.calls.iter().map(|made| (step.times, step.element, made)))
}

/// Puts the variable for an index in place of the variable for what a `for` goes through.
fn with_element(e: Expr, var: Option<Var>, times: Times) -> Expr {
    let Some(var) = var else { return e };
    let of = match times {
        Times::Each(each) => element(each),
        _ => shapes::MEMBER,
    };
    e.replaced(&mut |term| if *term == ExprTerm::Var(var) { Some(ExprTerm::Var(of).into()) } else { None })
}

fn takes(library: Option<&dyn Hints>, method: &str, argument: usize) -> Option<ArgumentKind> {
    Some(method_of(library, method)?.takes.get(argument)?.1)
}

/// Returns the arguments that are objects in which the thread takes part in all cases.
fn takes_part(cases: &[&KindCase<'_>]) -> Vec<usize> {
    let of = |e: Expr| match e.term() {
        ExprTerm::Of(Function::Members, x) => match x.term() {
            ExprTerm::Arg(i, _) => Some(*i),
            _ => None,
        },
        _ => None,
    };
    // In all members, in those but the first one, or in the list of the first one.
    let among = |e: Expr| match e.term() {
        ExprTerm::Of(Function::Rest, all) => of(*all),
        ExprTerm::Tuple(parts) => match &parts[..] {
            [one] => match one.term() {
                ExprTerm::Of(Function::First, all) => of(*all),
                _ => None,
            },
            _ => None,
        },
        _ => of(e),
    };
    let in_case = |case: &&KindCase<'_>| {
        let is_me = |d: &&PathCondition| d.holds;
        let known = case.decided.iter().filter(is_me).filter_map(|d| match d.condition.term() {
            ExprTerm::Op(Op::In, me, all) if *me.term() == ExprTerm::Me => among(*all),
            _ => None,
        });
        known.collect::<BTreeSet<usize>>()
    };
    let all: Vec<BTreeSet<usize>> = cases.iter().map(in_case).collect();
    all[0].iter().copied().filter(|i| all.iter().all(|known| known.contains(i))).collect()
}

/// Returns the branches of the calls of one form with their names: that of the form, with numbers if there are several.
fn numbered<'a>(name: &str, mut branches: Vec<Branch<'a>>) -> Vec<Branch<'a>> {
    let several = branches.len() > 1;
    for (i, Branch { kind, .. }) in branches.iter_mut().enumerate() {
        kind.name = if several { format!("{name}.{}", i + 1) } else { name.to_owned() };
        kind.name_roles();
    }
    branches
}
