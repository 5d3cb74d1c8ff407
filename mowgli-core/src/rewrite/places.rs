//! Places in the bodies of an implementation, beside all calls of one kind, and the units that repairs insert or remove
//! there.
//!
//! Calls of one kind agree in the method of the body and in the called library and method. They agree in the roles of
//! the parts among the arguments, for example `word`. They are all in loops, or all outside. An insertion is made at all of
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use itertools::Itertools;

use crate::event::Call;
use crate::expr::{Expr, ExprTerm, Op, Scope, Var, here, only};
use crate::ids::{Name, Tid};
use crate::library::Libraries;
use crate::rewrite::edit::{Calls, Edited, Edits};
use crate::rewrite::repair::{Await, Remedies, Remedy};
use crate::term::body::{Bodies as Terms, Body, CallTerm, Stmt};
use crate::term::implementation::Implementation;
use crate::term::method::{self, ArgumentKind, Looks};
use crate::value::Val;
use crate::world::World;

/// The kind of some calls of a body.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Alike {
    /// The implemented method.
    pub method: &'static str,
    /// The called library.
    pub library: Name,
    /// The called method.
    pub calls: &'static str,
    /// Whether they are in a loop.
    pub in_loop: bool,
    /// The roles of the parts among the arguments.
    pub roles: Vec<&'static str>,
}

impl Alike {
    fn of(method: &'static str, in_loop: bool, call: &CallTerm) -> Self {
        let role = |e: &Expr| if let ExprTerm::Part(_, role, _) = e.term() { Some(*role) } else { None };
        let roles = call.args.iter().filter_map(role).collect();
        Self { method, library: call.library, calls: call.method, in_loop, roles }
    }
}

impl fmt::Display for Alike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.calls)?;
        if !self.roles.is_empty() {
            write!(f, " of {}", self.roles.join(", "))?;
        }
        if self.in_loop { write!(f, " in its loop") } else { Ok(()) }
    }
}

/// A side of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CallSide {
    /// Directly before.
    Before,
    /// Directly after.
    After,
    /// In place of the call, with which it agrees but for a flag.
    Instead,
}

/// The content of a unit of a repair.
#[derive(Clone)]
pub enum UnitContent {
    /// A remedy on one side of a call.
    Remedy(CallSide, Remedy),
    /// A wait, on one side of a call, for operations that others begin. Those get an identifier if they have none.
    Wait(CallSide, Alike, Await),
    /// A call of the body itself. If it names nodes, only towards some of them.
    Own(Option<Towards>),
}

/// Some nodes of a set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Towards {
    /// The own node of the thread.
    Own,
    /// The other nodes.
    Others,
}

/// The smallest part that a repair inserts or keeps.
#[derive(Clone)]
pub struct Unit {
    /// The calls beside which it is, or which it keeps.
    pub at: Alike,
    /// The content.
    pub what: UnitContent,
    /// The name by which the user gives its cost.
    pub kind: &'static str,
}

impl Unit {
    /// Returns its description, and the body.
    #[must_use]
    pub fn subject(&self) -> String {
        let Self { at, what, .. } = self;
        let what = match what {
            UnitContent::Remedy(_, remedy) => remedy.text.to_owned(),
            UnitContent::Wait(_, of, _) => format!("a wait for {of}"),
            UnitContent::Own(None) => at.to_string(),
            UnitContent::Own(Some(Towards::Own)) => format!("{at} towards the own node"),
            UnitContent::Own(Some(Towards::Others)) => format!("{at} towards the other nodes"),
        };
        format!("{}: {what}", at.method)
    }

    /// Returns its place; `None` for a call of the body itself.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match &self.what {
            UnitContent::Remedy(CallSide::Before, _) | UnitContent::Wait(CallSide::Before, ..) => {
                Some(format!("before {}", self.at))
            }
            UnitContent::Remedy(CallSide::After, _) | UnitContent::Wait(CallSide::After, ..) => {
                Some(format!("after {}", self.at))
            }
            UnitContent::Remedy(CallSide::Instead, _) | UnitContent::Wait(CallSide::Instead, ..) => {
                Some(format!("on {}", self.at))
            }
            UnitContent::Own(_) => None,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.subject())?;
        self.place().map_or(Ok(()), |place| write!(f, " {place}"))
    }
}

/// The bodies of an implementation, with their calls.
pub struct CalledBodies {
    of: Arc<dyn Implementation>,
    /// The kinds of calls, in the order of the bodies.
    pub alike: Vec<Alike>,
    /// The kinds of calls whose place after the call is the place before another kind.
    same: BTreeMap<Alike, Alike>,
    /// The kinds in loops that only look.
    waiting: BTreeSet<Alike>,
    targets: Targets,
    /// The calls of each kind.
    calls: BTreeMap<Alike, Vec<CallTerm>>,
    /// The remedies of the libraries below.
    remedies: Vec<Box<dyn Remedies>>,
    /// For each kind of calls the remedies that insert something beside them.
    of_use: BTreeMap<Alike, Vec<Remedy>>,
}

/// A traversal of the calls of a body, in order.
struct CallWalk<'a> {
    method: &'static str,
    looks: &'a dyn Fn(&CallTerm) -> bool,
    found: &'a mut CalledBodies,
    busy: &'a mut BTreeSet<Alike>,
    /// For each kind of calls the kinds that come next in the same loop; `None` for the end, or the boundary of a loop.
    next: &'a mut BTreeMap<Alike, BTreeSet<Option<Alike>>>,
    last: &'a mut BTreeMap<Alike, BTreeSet<Option<Alike>>>,
}

/// The loop that contains a call, identified by the position of each enclosing loop.
type LoopPath = Vec<usize>;

/// The last calls before the end of a statement, each with its loop.
type LastCalls = BTreeSet<Option<(Alike, LoopPath)>>;

impl CallWalk<'_> {
    /// Visits a body after these calls, in a loop that only looks or not. Returns the last calls at its end, and at its
    /// breaks.
    fn visit(&mut self, body: &Body, ends: &LastCalls, (own, is_waiting): (&LoopPath, bool)) -> [LastCalls; 2] {
        match body.stmt() {
            Stmt::Value(_) => [ends.clone(), LastCalls::new()],
            Stmt::Break(_) => [LastCalls::new(), ends.clone()],
            Stmt::Call(call) => {
                let alike = Alike::of(self.method, !own.is_empty(), call);
                self.add(&alike, call, ends, (own, is_waiting));
                [LastCalls::from([Some((alike, own.clone()))]), LastCalls::new()]
            }
            Stmt::Let(_, first, rest) => {
                let [ends, breaks] = self.visit(first, ends, (own, is_waiting));
                let [ends, more] = self.visit(rest, &ends, (own, is_waiting));
                [ends, breaks.into_iter().chain(more).collect()]
            }
            Stmt::If(_, yes, no) => {
                let [one, breaks] = self.visit(yes, ends, (own, is_waiting));
                let [other, more] = self.visit(no, ends, (own, is_waiting));
                [one.into_iter().chain(other).collect(), breaks.into_iter().chain(more).collect()]
            }
            Stmt::Loop(round) => {
                let inner = [own.as_slice(), &[self.found.calls.len()]].concat();
                let is_waiting = round.calls().iter().all(|call| (self.looks)(call));
                let [ends, breaks] = self.visit(round, ends, (&inner, is_waiting));
                [ends.into_iter().chain(breaks).collect(), LastCalls::new()]
            }
            Stmt::For(_, _, round) | Stmt::Collect(_, _, round) => {
                let [once, breaks] = self.visit(round, ends, (own, is_waiting));
                let [more, again] = self.visit(round, &once, (own, is_waiting));
                let all = ends.iter().cloned().chain(once).chain(more).collect();
                [all, breaks.into_iter().chain(again).collect()]
            }
        }
    }

    fn add(&mut self, alike: &Alike, call: &CallTerm, ends: &LastCalls, (own, is_waiting): (&LoopPath, bool)) {
        if !self.found.alike.contains(alike) {
            self.found.alike.push(alike.clone());
        }
        let calls = self.found.calls.entry(alike.clone()).or_default();
        if !calls.contains(call) {
            calls.push(call.clone());
        }
        if alike.in_loop && is_waiting {
            self.found.waiting.insert(alike.clone());
        } else {
            self.busy.insert(alike.clone());
        }
        for before in ends {
            let near = before.as_ref().filter(|(_, of)| of == own).map(|(before, _)| before.clone());
            self.last.entry(alike.clone()).or_default().insert(near.clone());
            if let Some((before, _)) = before {
                self.next.entry(before.clone()).or_default().insert(near.map(|_| alike.clone()));
            }
        }
    }
}

impl CalledBodies {
    /// Collects the bodies of an implementation, for these calls of clients.
    #[must_use]
    pub fn of(
        implementation: Arc<dyn Implementation>,
        below: &Libraries,
        calls: &[(World, Tid, Call)],
        remedies: Vec<Box<dyn Remedies>>,
    ) -> Self {
        let looks = |call: &CallTerm| {
            let library = below.get(call.library);
            library.and_then(|l| method::named(l.methods(), call.method)).is_some_and(|m| m.looks == Looks::Always)
        };
        let terms = implementation.bodies().cloned().unwrap_or_default();
        let mut found = Self {
            of: implementation,
            alike: Vec::new(),
            same: BTreeMap::new(),
            waiting: BTreeSet::new(),
            targets: targets(below),
            calls: BTreeMap::new(),
            remedies,
            of_use: BTreeMap::new(),
        };
        let mut busy = BTreeSet::new();
        let (mut next, mut last) = (BTreeMap::new(), BTreeMap::new());
        for (method, body) in terms.iter() {
            let (found, busy, next, last) = (&mut found, &mut busy, &mut next, &mut last);
            let mut walk = CallWalk { method, looks: &looks, found, busy, next, last };
            let [ends, breaks] = walk.visit(body, &LastCalls::from([None]), (&LoopPath::new(), false));
            for (alike, _) in ends.into_iter().chain(breaks).flatten() {
                walk.next.entry(alike).or_default().insert(None);
            }
        }
        found.waiting.retain(|a| !busy.contains(a));
        found.of_use = found.alike.iter().map(|a| (a.clone(), found.of_use(a, &terms, calls))).collect();
        for (a, after) in next {
            if let [Some(b)] = &after.into_iter().collect_vec()[..]
                && last[b] == BTreeSet::from([Some(a.clone())])
            {
                found.same.insert(a, b.clone());
            }
        }
        found
    }

    /// Returns the remedies that insert something beside calls of a kind, without those that insert the same as an
    /// earlier one.
    fn of_use(&self, at: &Alike, terms: &Terms, own: &[(World, Tid, Call)]) -> Vec<Remedy> {
        let own = own.iter().filter(|(_, _, call)| call.method.text() == at.method);
        let scopes: Vec<Scope> = own.map(|(world, thread, call)| Scope::new(world, *thread, &call.args)).collect();
        let bound = terms.get(at.method).map(variables).unwrap_or_default();
        let inserted = |remedy: &Remedy| {
            let calls = self.calls[at].iter().map(|call| (remedy.calls)(call));
            calls.map(|calls| self.values(&calls, &scopes, &bound)).collect_vec()
        };
        let mut all: Vec<(Remedy, Vec<Inserted>)> = Vec::new();
        for remedy in self.remedies.iter().flat_map(|r| r.beside()) {
            let calls = inserted(&remedy);
            if calls.iter().any(|c| !c.is_nothing()) && all.iter().all(|(_, known)| *known != calls) {
                all.push((remedy, calls));
            }
        }
        all.into_iter().map(|(remedy, _)| remedy).collect()
    }

    fn values(&self, calls: &[CallTerm], scopes: &[Scope], bound: &BTreeSet<Var>) -> Inserted {
        let is_bound = |e: &Expr| {
            let mut is_bound = false;
            e.each(&mut |e| is_bound |= matches!(e.term(), ExprTerm::Var(var) if bound.contains(var)));
            is_bound
        };
        if calls.iter().flat_map(|call| &call.args).any(is_bound) {
            return Inserted::Terms(calls.to_vec());
        }
        let is_made = |term: &CallTerm, call: &Call| match target(&self.targets, term) {
            Some(position) => call.args[position].nodes().is_some_and(|ns| !ns.is_empty()),
            None => true,
        };
        let made = |scope: &Scope| {
            let calls = calls.iter().map(|term| (term, term.eval(scope)));
            calls.filter(|(term, call)| is_made(term, call)).map(|(_, call)| call).collect()
        };
        Inserted::Values(scopes.iter().map(made).collect())
    }

    /// Returns the possible insertions.
    #[must_use]
    pub fn insertions(&self) -> Vec<Unit> {
        let mut all = Vec::new();
        // Insert nothing into a loop that only looks, because it would no longer only look.
        for at in self.alike.iter().filter(|a| !self.waiting.contains(a)) {
            for side in [CallSide::Before, CallSide::After] {
                if side == CallSide::After && self.same.contains_key(at) {
                    continue;
                }
                let unit = |kind, what| Unit { at: at.clone(), what, kind };
                let beside = self.of_use[at].iter().filter(|r| !r.in_place);
                all.extend(beside.map(|r| unit(r.kind, UnitContent::Remedy(side, r.clone()))));
                for r in &self.remedies {
                    for of in self.alike.iter().filter(|o| o.method == at.method) {
                        let awaited = r.awaited(&self.calls[of][0]);
                        all.extend(awaited.map(|a| unit("wait", UnitContent::Wait(side, of.clone(), a))));
                    }
                }
            }
            let flags = self.of_use[at].iter().filter(|r| r.in_place);
            let flag = |r: &Remedy| Unit {
                at: at.clone(),
                what: UnitContent::Remedy(CallSide::Instead, r.clone()),
                kind: r.kind,
            };
            all.extend(flags.map(flag));
        }
        all
    }

    /// Returns the units of the bodies that only order, and that a repair could therefore remove.
    #[must_use]
    pub fn own(&self) -> Vec<Unit> {
        let of = |at: &Alike| -> Option<Vec<Unit>> {
            let call = &self.calls[at][0];
            let kind = self.remedies.iter().find_map(|r| r.kind(call.library, call.method))?;
            let parts = match target(&self.targets, call) {
                Some(nodes) if !is_without_own(call.args[nodes]) => vec![Some(Towards::Own), Some(Towards::Others)],
                _ => vec![None],
            };
            Some(parts.into_iter().map(|part| Unit { at: at.clone(), what: UnitContent::Own(part), kind }).collect())
        };
        self.alike.iter().filter_map(of).flatten().collect()
    }

    /// Returns the implementation with these units. Of the calls in `gone`, it keeps only those in the units.
    #[must_use]
    pub fn with(&self, units: Vec<Unit>, gone: BTreeSet<Alike>) -> Edited {
        let text = units.iter().join(", ");
        let named: BTreeMap<Alike, Await> = units
            .iter()
            .filter_map(|u| if let UnitContent::Wait(_, of, a) = &u.what { Some((of.clone(), *a)) } else { None })
            .collect();
        let mut at: BTreeMap<Alike, Vec<Unit>> = BTreeMap::new();
        units.into_iter().for_each(|u| at.entry(u.at.clone()).or_default().push(u));
        let (calls, targets) = (self.calls.clone(), self.targets.clone());
        let instead = move |own: &'static str, in_loop: bool, call: &CallTerm| {
            let alike = Alike::of(own, in_loop, call);
            let (units, name) = (at.get(&alike), named.get(&alike));
            if units.is_none() && name.is_none() && !gone.contains(&alike) {
                return None;
            }
            let units = units.map_or(&[][..], Vec::as_slice);
            let on = |side| joined(&targets, units.iter().flat_map(|u| u.calls(call, side, &calls)));
            let left = if gone.contains(&alike) { left(&targets, call, units) } else { Some(call.clone()) };
            let left = left.map(|c| name.map_or(c.clone(), |a| identified(&alike, &c, *a)));
            let flagged = |c: &CallTerm| units.iter().find_map(|u| u.calls(c, CallSide::Instead, &calls).pop());
            let left = left.map(|c| flagged(&c).unwrap_or(c));
            Some(one_after_the_other(on(CallSide::Before), left, on(CallSide::After)))
        };
        Arc::clone(&self.of).replace(Calls::new(text, instead))
    }

    /// Returns the implementation in which these calls change places with the statement that follows them.
    #[must_use]
    pub fn swapped(&self, moved: Alike) -> Edited {
        let text = format!("{}: {moved}", moved.method);
        let is_it = move |own, in_loop, call: &CallTerm| (Alike::of(own, in_loop, call) == moved).then(Body::unit);
        Arc::clone(&self.of).swap(Calls::new(text, is_it))
    }
}

/// The calls that a remedy inserts: in each scope, or as terms if they depend on results.
#[derive(PartialEq)]
enum Inserted {
    Values(Vec<Vec<Call>>),
    Terms(Vec<CallTerm>),
}

impl Inserted {
    fn is_nothing(&self) -> bool {
        match self {
            Self::Values(all) => all.iter().all(Vec::is_empty),
            Self::Terms(calls) => calls.is_empty(),
        }
    }
}

/// Returns the variables of a body.
fn variables(body: &Body) -> BTreeSet<Var> {
    let mut all = BTreeSet::new();
    body.expressions(&mut |e| {
        e.each(&mut |e| all.extend(if let ExprTerm::Var(var) = e.term() { Some(*var) } else { None }))
    });
    all
}

/// The position of the argument that is a set of nodes, for methods below that have one.
type Targets = BTreeMap<(Name, &'static str), usize>;

fn targets(below: &Libraries) -> Targets {
    let of_library = |library: Name| {
        let methods = below.get(library).map_or(&[][..], |l| l.methods());
        methods.iter().filter_map(move |m| {
            let position = m.takes.iter().position(|(_, kind)| *kind == ArgumentKind::Nodes)?;
            Some(((library, m.name), position))
        })
    };
    below.names().flat_map(of_library).collect()
}

fn target(targets: &Targets, call: &CallTerm) -> Option<usize> {
    targets.get(&(call.library, call.method)).copied()
}

/// True if a set of nodes is written as one without the own node, or as the own node alone.
fn is_without_own(nodes: Expr) -> bool {
    nodes == only(here()) || matches!(nodes.term(), ExprTerm::Op(Op::Without, _, gone) if *gone == here())
}

impl Unit {
    /// Returns the calls that it inserts on a side of a call.
    fn calls(&self, call: &CallTerm, side: CallSide, all: &BTreeMap<Alike, Vec<CallTerm>>) -> Vec<CallTerm> {
        match &self.what {
            UnitContent::Remedy(s, remedy) if *s == side => (remedy.calls)(call),
            UnitContent::Wait(s, of, a) if *s == side => {
                let id =
                    |call: &CallTerm| if call.args[a.id] == Val::NoWid.into() { fresh(of) } else { call.args[a.id] };
                let mut ids = all[of].iter().map(id).collect_vec();
                ids.dedup();
                ids.into_iter().map(|id| (a.wait)(id)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Joins consecutive calls that differ in their nodes only.
fn joined(targets: &Targets, calls: impl IntoIterator<Item = CallTerm>) -> Vec<CallTerm> {
    calls.into_iter().fold(Vec::new(), |mut all: Vec<CallTerm>, call| {
        let alike = all.iter_mut().find(|c| (c.library, c.method) == (call.library, call.method));
        match (alike, &call.args[..]) {
            (Some(known), [more]) if target(targets, &call).is_some() => known.args[0] = known.args[0].with(*more),
            (Some(known), _) if *known == call => {}
            _ => all.push(call),
        }
        all
    })
}

/// Returns the part of a call that these units keep.
fn left(targets: &Targets, call: &CallTerm, units: &[Unit]) -> Option<CallTerm> {
    let mut parts = BTreeSet::new();
    for unit in units {
        let UnitContent::Own(part) = &unit.what else { continue };
        match part {
            None => return Some(call.clone()),
            Some(part) => parts.insert(*part),
        };
    }
    let position = target(targets, call)?;
    let nodes = call.args[position];
    let others = nodes.without(here());
    match parts.into_iter().collect_vec()[..] {
        [] => None,
        // A set minus its other nodes is the own node, if that is in the set.
        [Towards::Own] => Some(call.with(position, nodes.without(others))),
        [Towards::Others] => Some(call.with(position, others)),
        _ => Some(call.clone()),
    }
}

/// Returns an identifier that the body does not use.
fn fresh(of: &Alike) -> Expr {
    let role = Name::new(&format!("repair_{}_{}_{}", of.method, of.calls, of.roles.join("_")));
    Expr::from(ExprTerm::Arg(0, "x")).wid(role.text())
}

/// Adds an identifier to a call that has none.
fn identified(of: &Alike, call: &CallTerm, a: Await) -> CallTerm {
    if call.args[a.id] == Val::NoWid.into() { call.with(a.id, fresh(of)) } else { call.clone() }
}

/// Joins calls into a sequence with the value of `own`.
fn one_after_the_other(before: Vec<CallTerm>, own: Option<CallTerm>, after: Vec<CallTerm>) -> Body {
    let all = |calls: Vec<CallTerm>, rest: Body| calls.into_iter().rev().fold(rest, |rest, c| Body::from(c).then(rest));
    let own = own.map_or(Body::unit(), Body::from);
    let last = if after.is_empty() { own } else { own.bind("v", |v| all(after, v.into())) };
    all(before, last)
}
