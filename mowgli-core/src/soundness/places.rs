//! Places in the bodies of an implementation: beside all calls that look alike. What is inserted there, or left out.
//!
//! Bodies differ by thread, node and value, and so does where a call stands in them. Those of one kind look alike: of one method
//! below, for parts of one role (as `word` of all `word_0`, `word_1`), in loops or not. An insertion is made at all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use itertools::Itertools;

use super::sites::{Child, Made, bodies};
use crate::edit::{Calls, Edited, Edits, Here};
use crate::event::Call;
use crate::ids::{Name, NodeSet, Tid};
use crate::implementation::Implementation;
use crate::library::Libraries;
use crate::program::Prog;
use crate::repair::{Await, Remedies, Remedy};
use crate::value::Val;
use crate::world::World;

/// The calls of a body that look alike.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Alike {
    /// The implemented method.
    pub method: Name,
    /// The library that is called.
    pub library: Name,
    /// The method that is called.
    pub calls: Name,
    /// Whether they are in a loop.
    pub in_loop: bool,
    /// The roles of the parts among the arguments, without numbers.
    pub roles: Vec<String>,
}

impl Alike {
    /// Those that are like this one.
    #[must_use]
    pub fn to(here: &Here, call: &Call) -> Self {
        Self::of(here.call.method, here.in_loop, call)
    }

    fn of(method: Name, in_loop: bool, call: &Call) -> Self {
        let roles = call.args.iter().filter_map(role).collect();
        Self { method, library: call.library, calls: call.method, in_loop, roles }
    }
}

/// The role of a part, without numbers and threads.
fn role(v: &Val) -> Option<String> {
    let x = v.loc()?.0.text();
    let (_, role) = x.rsplit_once('.')?;
    Some(role.split('_').filter(|word| !word.is_empty() && !word.contains(|c: char| c.is_ascii_digit())).join("_"))
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

/// On which side of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    /// Directly before.
    Before,
    /// Directly after.
    After,
}

/// What a unit of a repair is.
#[derive(Clone)]
pub enum What {
    /// A remedy beside a call.
    Remedy(Side, Remedy),
    /// A wait, beside a call, for what others begin; those get an identifier if they have none.
    Wait(Side, Alike, Await),
    /// A call of the body itself, towards some of its nodes if it names nodes.
    Own(Option<Towards>),
}

/// Some nodes of a set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Towards {
    /// The thread's own.
    Own,
    /// The others.
    Others,
}

/// The least that a repair has or has not.
#[derive(Clone)]
pub struct Unit {
    /// Beside which calls, or which calls.
    pub at: Alike,
    /// What.
    pub what: What,
    /// What it is called where costs are given.
    pub kind: &'static str,
}

impl Unit {
    /// What it is, and in which body.
    #[must_use]
    pub fn subject(&self) -> String {
        let Self { at, what, .. } = self;
        let what = match what {
            What::Remedy(_, remedy) => remedy.text.to_owned(),
            What::Wait(_, of, _) => format!("a wait for {of}"),
            What::Own(None) => at.to_string(),
            What::Own(Some(Towards::Own)) => format!("{at} towards the own node"),
            What::Own(Some(Towards::Others)) => format!("{at} towards the other nodes"),
        };
        format!("{}: {what}", at.method)
    }

    /// Where it is; nothing for what the body has itself.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        match &self.what {
            What::Remedy(Side::Before, _) | What::Wait(Side::Before, ..) => Some(format!("before {}", self.at)),
            What::Remedy(Side::After, _) | What::Wait(Side::After, ..) => Some(format!("after {}", self.at)),
            What::Own(_) => None,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.subject())?;
        self.place().map_or(Ok(()), |place| write!(f, " {place}"))
    }
}

/// The bodies of an implementation, with what they call.
pub struct Bodies {
    of: Arc<dyn Implementation>,
    /// The calls that look alike, in the order of the bodies.
    pub alike: Vec<Alike>,
    /// Before which calls is the place that is after these.
    same: BTreeMap<Alike, Alike>,
    /// Those in loops that only look.
    waiting: BTreeSet<Alike>,
    /// The identifiers that calls of a body have, by thread, call and kind.
    ids: BTreeMap<(Tid, Call), BTreeMap<Alike, BTreeSet<Val>>>,
    /// A call of each kind.
    examples: BTreeMap<Alike, Call>,
    /// Whether those that name nodes name the own one, and others.
    towards: BTreeMap<Alike, BTreeSet<Towards>>,
    /// What the libraries below know.
    remedies: Vec<Box<dyn Remedies>>,
    /// The remedies that insert something beside some of these calls.
    of_use: BTreeMap<Alike, Vec<Remedy>>,
}

/// The loop that a place is in.
fn in_loop(path: &[Child]) -> &[Child] {
    let end = path.iter().rposition(|c| *c == Child::Round).map_or(0, |at| at + 1);
    &path[..end]
}

impl Bodies {
    /// Those of an implementation, as far as clients make these calls.
    #[must_use]
    pub fn of(
        implementation: Arc<dyn Implementation>,
        below: &Libraries,
        calls: &[(World, Tid, Call)],
        remedies: Vec<Box<dyn Remedies>>,
    ) -> Self {
        let all = bodies(&*implementation, below, calls);
        let looks = |call: &Call| {
            let library = below.get(call.library);
            library.is_some_and(|l| l.methods().iter().any(|m| m.name == call.method.text() && m.looks))
        };
        let mut found = Self {
            of: implementation,
            alike: Vec::new(),
            same: BTreeMap::new(),
            waiting: BTreeSet::new(),
            ids: BTreeMap::new(),
            examples: BTreeMap::new(),
            towards: BTreeMap::new(),
            remedies,
            of_use: BTreeMap::new(),
        };
        let beside: Vec<Remedy> = found.remedies.iter().flat_map(|r| r.beside()).collect();
        // Beside which calls a remedy inserts something, and as which ones before it everywhere.
        let mut does: BTreeMap<Alike, Vec<(bool, Vec<bool>)>> = BTreeMap::new();
        let mut busy = BTreeSet::new();
        let (mut next, mut last) = (BTreeMap::<Alike, BTreeSet<_>>::new(), BTreeMap::<Alike, BTreeSet<_>>::new());
        for ((world, thread, own), body) in calls.iter().zip(&all) {
            let made = &body.made;
            let here = Here { world: Arc::new(world.clone()), thread: *thread, call: own.clone(), in_loop: false };
            let alike = |path: &[Child], call: &Call| Alike::of(own.method, path.contains(&Child::Round), call);
            let is_busy = |m: &&Made| m.path.contains(&Child::Round) && !looks(&m.call);
            let loops: BTreeSet<&[Child]> = made.iter().filter(is_busy).map(|m| in_loop(&m.path)).collect();
            for m in made {
                let of = alike(&m.path, &m.call);
                if !found.examples.contains_key(&of) {
                    found.alike.push(of.clone());
                    found.examples.insert(of.clone(), m.call.clone());
                }
                if of.in_loop && !loops.contains(in_loop(&m.path)) {
                    found.waiting.insert(of.clone());
                } else {
                    busy.insert(of.clone());
                }
                let before = m.last.as_ref().map(|(path, call)| {
                    let is_near = in_loop(path) == in_loop(&m.path);
                    (alike(path, call), is_near)
                });
                if let Some((before, is_near)) = &before {
                    next.entry(before.clone()).or_default().insert(Some(of.clone()).filter(|_| *is_near));
                }
                last.entry(of.clone()).or_default().insert(before.filter(|(_, near)| *near).map(|(a, _)| a));
                let inserted = beside.iter().map(|r| (r.calls)(&here, &m.call)).collect_vec();
                let does =
                    does.entry(of.clone()).or_insert_with(|| vec![(false, vec![true; beside.len()]); beside.len()]);
                for (i, (is_some, alike)) in does.iter_mut().enumerate() {
                    *is_some |= !inserted[i].is_empty();
                    alike.iter_mut().zip(&inserted[..i]).for_each(|(a, before)| *a &= *before == inserted[i]);
                }
                let nodes = m.call.args.iter().filter_map(|v| v.nodes()).flat_map(|ns| ns.iter().collect_vec());
                let node = world.node_of(*thread);
                let towards = nodes.map(|n| if n == node { Towards::Own } else { Towards::Others });
                found.towards.entry(of.clone()).or_default().extend(towards);
                let ids = m.call.args.iter().copied().filter(|v| matches!(v, Val::Wid(_)));
                let of_body = found.ids.entry((*thread, own.clone())).or_default();
                of_body.entry(of).or_default().extend(ids);
            }
            for (path, call) in &body.ends {
                next.entry(alike(path, call)).or_default().insert(None);
            }
        }
        found.waiting.retain(|a| !busy.contains(a));
        for (of, does) in does {
            let is_new = |(i, (is_some, alike)): (usize, &(bool, Vec<bool>))| *is_some && !alike[..i].contains(&true);
            let new = does.iter().enumerate().map(is_new).zip(&beside).filter(|(is, _)| *is);
            found.of_use.insert(of, new.map(|(_, remedy)| remedy.clone()).collect());
        }
        for (a, after) in next {
            if let [Some(b)] = &after.into_iter().collect_vec()[..]
                && last[b] == BTreeSet::from([Some(a.clone())])
            {
                found.same.insert(a, b.clone());
            }
        }
        found
    }

    /// What can be inserted.
    #[must_use]
    pub fn insertions(&self) -> Vec<Unit> {
        let mut all = Vec::new();
        // What only waits is not made to do something.
        for at in self.alike.iter().filter(|a| !self.waiting.contains(a)) {
            for side in [Side::Before, Side::After] {
                if side == Side::After && self.same.contains_key(at) {
                    continue;
                }
                let unit = |kind, what| Unit { at: at.clone(), what, kind };
                all.extend(self.of_use[at].iter().map(|r| unit(r.kind, What::Remedy(side, r.clone()))));
                for r in &self.remedies {
                    for of in self.alike.iter().filter(|o| o.method == at.method) {
                        let awaited = r.awaited(&self.examples[of]);
                        all.extend(awaited.map(|a| unit("wait", What::Wait(side, of.clone(), a))));
                    }
                }
            }
        }
        all
    }

    /// What of the bodies only orders, and so could be left out.
    #[must_use]
    pub fn own(&self) -> Vec<Unit> {
        let of = |at: &Alike| -> Option<Vec<Unit>> {
            let call = &self.examples[at];
            let kind = self.remedies.iter().find_map(|r| r.kind(call))?;
            let parts = match self.towards[at].len() {
                2 => vec![Some(Towards::Own), Some(Towards::Others)],
                _ => vec![None],
            };
            Some(parts.into_iter().map(|part| Unit { at: at.clone(), what: What::Own(part), kind }).collect())
        };
        self.alike.iter().filter_map(of).flatten().collect()
    }

    /// The implementation with these units; of what `gone` says nothing else than they say is left.
    #[must_use]
    pub fn with(&self, units: Vec<Unit>, gone: BTreeSet<Alike>) -> Edited {
        let text = units.iter().join(", ");
        let named: BTreeMap<Alike, Await> = units
            .iter()
            .filter_map(|u| if let What::Wait(_, of, a) = &u.what { Some((of.clone(), *a)) } else { None })
            .collect();
        let mut at: BTreeMap<Alike, Vec<Unit>> = BTreeMap::new();
        units.into_iter().for_each(|u| at.entry(u.at.clone()).or_default().push(u));
        let methods: BTreeSet<(Name, Name)> =
            at.keys().chain(named.keys()).chain(&gone).map(|a| (a.method, a.calls)).collect();
        let ids = self.ids.clone();
        let edit = move |here: &Here, call: &Call| {
            if !methods.contains(&(here.call.method, call.method)) {
                return None;
            }
            let alike = Alike::to(here, call);
            let (units, name) = (at.get(&alike), named.get(&alike));
            if units.is_none() && name.is_none() && !gone.contains(&alike) {
                return None;
            }
            let units = units.map_or(&[][..], Vec::as_slice);
            let on = |side| joined(units.iter().flat_map(|u| u.calls(here, call, side, &ids)));
            let own = if gone.contains(&alike) { left(here, call, units) } else { Some(call.clone()) };
            let own = own.map(|c| name.map_or(c.clone(), |a| identified(here, &alike, &c, *a)));
            Some(program(on(Side::Before), own, on(Side::After)))
        };
        Arc::clone(&self.of).replace(Calls::new(text, edit))
    }

    /// The implementation in which calls change places with what follows them.
    #[must_use]
    pub fn swapped(&self, moved: Alike) -> Edited {
        let text = format!("{}: {moved}", moved.method);
        let edit = move |here: &Here, call: &Call| (Alike::to(here, call) == moved).then(Prog::unit);
        Arc::clone(&self.of).swap(Calls::new(text, edit))
    }
}

/// By the thread and the call of a body the identifiers that its calls have.
type Ids = BTreeMap<(Tid, Call), BTreeMap<Alike, BTreeSet<Val>>>;

impl Unit {
    /// The calls that it makes on a side of a call.
    fn calls(&self, here: &Here, call: &Call, side: Side, ids: &Ids) -> Vec<Call> {
        match &self.what {
            What::Remedy(s, remedy) if *s == side => (remedy.calls)(here, call),
            What::Wait(s, of, a) if *s == side => {
                let known = ids.get(&(here.thread, here.call.clone())).and_then(|of_body| of_body.get(of));
                let known = known.into_iter().flatten().copied().collect_vec();
                let known = if known.is_empty() { vec![fresh(here, of)] } else { known };
                known.into_iter().map(|id| (a.wait)(id)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Calls, of which those that follow one another and differ in their nodes only are one.
fn joined(calls: impl Iterator<Item = Call>) -> Vec<Call> {
    calls.fold(Vec::new(), |mut all: Vec<Call>, call| {
        let alike = all.iter_mut().find(|c| (c.library, c.method) == (call.library, call.method));
        match (alike, &call.args[..]) {
            (Some(known), [Val::Nodes(more)]) => {
                let both = known.args[0].nodes().into_iter().flat_map(|ns| ns.iter()).fold(*more, NodeSet::with);
                known.args[0] = both.into();
            }
            (Some(known), _) if *known == call => {}
            _ => all.push(call),
        }
        all
    })
}

/// What is left of a call.
fn left(here: &Here, call: &Call, units: &[Unit]) -> Option<Call> {
    let position = call.args.iter().position(|v| v.nodes().is_some());
    let own = here.world.node_of(here.thread);
    let mut nodes = NodeSet::default();
    for unit in units {
        let What::Own(part) = &unit.what else { continue };
        let Some((position, part)) = position.zip(*part) else { return Some(call.clone()) };
        let all = call.args[position].nodes().into_iter().flat_map(|ns| ns.iter());
        nodes = all.filter(|n| (*n == own) == (part == Towards::Own)).fold(nodes, NodeSet::with);
    }
    let position = position.filter(|_| !nodes.is_empty())?;
    let mut call = call.clone();
    call.args[position] = nodes.into();
    Some(call)
}

/// An identifier that the body does not use.
fn fresh(here: &Here, of: &Alike) -> Val {
    let owner = here.call.args.iter().find_map(|v| v.loc());
    owner.map_or(Val::NoWid, |x| {
        Val::Wid(x.wid(format_args!("repair_{}_{}_{}", of.method, of.calls, of.roles.join("_"))))
    })
}

/// A call with an identifier, if it has none.
fn identified(here: &Here, of: &Alike, call: &Call, a: Await) -> Call {
    let mut call = call.clone();
    if call.args[a.id] == Val::NoWid {
        call.args[a.id] = fresh(here, of);
    }
    call
}

/// The calls one after the other; the value is that of `own`.
fn program(before: Vec<Call>, own: Option<Call>, after: Vec<Call>) -> Prog {
    let all = |calls: Vec<Call>, rest: Prog| calls.into_iter().rev().fold(rest, |rest, c| Prog::call(c).then(rest));
    let own = own.map_or(Prog::unit(), Prog::call);
    let last = if after.is_empty() { own } else { own.bind(move |v| all(after.clone(), Prog::Val(v))) };
    all(before, last)
}
