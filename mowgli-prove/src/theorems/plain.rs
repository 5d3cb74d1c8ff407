//! The theory of the executions of a memory model alone: its subevents by roles, without an implementation.
//!
//! Shapes and specifications are terms, but the stamp order and the sets of stamps in them are Rust functions. So this module
//! evaluates all of them on samples: calls of the model in small worlds.
//!
//! A call is of a *kind*: its method, the forms of its arguments, the stamps of its shape. Each of its subevents has a
//! *role* in the kind. A set must have all subevents of a role or none. A key must be equal on two subevents exactly if
//! some data of their events are: the thread, the target node, the identifier, the cell. Otherwise there is no theory.
//! The module `structure` reads executions that the judge accepts as structures, and compares the structures with the
//! judge.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::event::{Call, Event, Shape, Sub};
use mowgli_core::ids::{Name, Node};
use mowgli_core::library::Libraries;
use mowgli_core::soundness::client::Subject;
use mowgli_core::term::bound::Bound;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_judge::algebra::{Key, Set, Spec, SubView};

use crate::error::{Refusal, refusal};
use crate::model::{Stamps, happens_before};
use crate::smt::encode::{Encoding, SideNames, encode};
use crate::smt::term::{Term, Theory, all, and, app, equal, implies, or, symbol, truth};

/// The names of the sorts of subevents and events, and the prefix of all other names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortNames {
    /// The sort of subevents.
    pub sub: &'static str,
    /// The sort of events.
    pub event: &'static str,
    /// The prefix of all other names.
    pub prefix: &'static str,
}

impl SortNames {
    /// Returns a name of this side.
    #[must_use]
    pub fn of(self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Applies a function of this side.
    #[must_use]
    pub fn app<T: Into<Term>>(self, name: &str, to: impl IntoIterator<Item = T>) -> Term {
        app(&self.of(name), to)
    }
}

/// Prefix of the names of a specification, after the prefix of its side.
const SPECIFIED: &str = "c.";

/// A kind of call.
pub struct PlainKind {
    /// The name in the theory, without the prefix.
    pub name: String,
    /// The roles of its subevents, as positions among all roles.
    pub roles: Vec<usize>,
}

/// A subevent of a kind of call.
pub struct PlainRole {
    /// The name in the theory, without the prefix.
    pub name: String,
    /// The family of its stamp.
    pub family: String,
    /// True if it touches a cell.
    pub has_cell: bool,
    /// True if the cell is on the node that the call goes to, false if it is on the thread's own node.
    pub is_far: bool,
    samples: Vec<SampledSub>,
}

/// A subevent of a sampled call.
#[derive(Clone)]
struct SampledSub {
    world: Arc<World>,
    event: Event,
    sub: Sub,
}

impl SampledSub {
    fn view(&self, nth: usize) -> SubView<'_> {
        SubView { world: &self.world, event: &self.event, sub: &self.sub, nth }
    }
}

/// A sampled call, with one of its shapes.
type SampledCall = (Arc<World>, Event, Shape);

/// A datum from which a key can be made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum KeyDatum {
    Thread,
    To,
    Identifier,
    Cell,
}

/// The candidates for the data of a key: the first one that is right in all samples is used.
const KEYS: [&[KeyDatum]; 7] = [
    &[],
    &[KeyDatum::To],
    &[KeyDatum::Thread, KeyDatum::To],
    &[KeyDatum::Cell],
    &[KeyDatum::Identifier],
    &[KeyDatum::Thread],
    &[KeyDatum::Thread, KeyDatum::Identifier],
];

impl KeyDatum {
    fn of(self, seen: &SampledSub) -> Option<Val> {
        match self {
            Self::Thread => Some(Val::Int(seen.event.thread.0.into())),
            Self::To => to(&seen.event, &[seen.sub]).map(Val::Node),
            Self::Identifier => identifier(&seen.event),
            Self::Cell => seen.sub.cell.map(|c| Val::tuple(&[Val::Loc(c.loc), Val::Node(c.node)])),
        }
    }
}

pub(crate) fn identifier(event: &Event) -> Option<Val> {
    event.call.args.iter().find(|v| matches!(v, Val::Wid(_))).copied()
}

/// Returns the target node of a call: that of its stamps, or else that of its arguments.
pub(crate) fn to(event: &Event, subs: &[Sub]) -> Option<Node> {
    let of_stamps = subs.iter().find_map(|sub| sub.stamp.node());
    of_stamps.or_else(|| event.call.args.iter().find_map(|v| if let Val::Node(n) = v { Some(*n) } else { None }))
}

/// Returns the kind of a call: its method, whether it has an identifier where it can have one, and the stamps of its
/// shape.
pub(crate) fn kind_of(event: &Event, subs: &[Sub]) -> String {
    let anonymous = if event.call.args.contains(&Val::NoWid) { "._" } else { "" };
    let stamps: String = subs.iter().map(|sub| format!(".{}", sub.stamp.family())).collect();
    format!("{}{anonymous}{stamps}", event.call.method.text())
}

/// A memory model, read off samples of its calls.
pub struct Plain<'a> {
    /// The libraries of the model.
    pub libraries: &'a Libraries,
    /// The library itself.
    pub library: Name,
    /// The names of its sorts and functions.
    pub names: SortNames,
    /// The kinds of calls.
    pub kinds: Vec<PlainKind>,
    /// The roles of the subevents of all kinds.
    pub roles: Vec<PlainRole>,
    /// The specification in first-order logic.
    pub encoding: Encoding,
    stamps: Stamps,
}

impl<'a> Plain<'a> {
    /// Samples the calls that a client generator makes. Each call is also sampled after each call that returns alone,
    /// because some calls return only then. `spec` is the specification, to whose relations others may be added later.
    ///
    /// # Errors
    /// If a set, key or stamp depends on more than the data of an event.
    pub fn new(
        libraries: &'a Libraries,
        library: Name,
        spec: &Spec,
        subject: &dyn Subject,
        names: SortNames,
    ) -> Result<Self, Refusal> {
        let prefix = format!("{}{SPECIFIED}", names.prefix);
        let side = SideNames { sort: names.sub, prefix, shared: names.prefix, own: None };
        let encoding = encode(spec, side)?;
        let mut plain = Self {
            libraries,
            library,
            names,
            kinds: Vec::new(),
            roles: Vec::new(),
            encoding,
            stamps: Stamps::of(libraries)?,
        };
        plain.sampled(subject)?;
        Ok(plain)
    }

    fn sampled(&mut self, subject: &dyn Subject) -> Result<(), Refusal> {
        let mut kinds: BTreeMap<String, Vec<SampledCall>> = BTreeMap::new();
        let library = self.libraries.get(self.library).ok_or_else(|| refusal!("no library {}", self.library))?;
        let bound = Bound { objects: 2, ..Bound::default() };
        let empty = World::new(2, &[Node(1), Node(1), Node(2)]);
        for world in subject.worlds(&empty, &bound, &|| false) {
            let world = Arc::new(world);
            for thread in world.tids() {
                let calls = subject.calls(&world, thread, &bound, &|| false);
                let held = |cell| vec![library.init(&world, cell), Val::Int(1)];
                let events = |earlier: &[Event], call: &Call| -> Vec<Event> {
                    let returns = library.returns(&world, earlier, thread, call, &held);
                    returns.into_iter().map(|ret| Event { thread, call: call.clone(), ret }).collect()
                };
                let first: Vec<Event> = calls.iter().flat_map(|call| events(&[], call)).collect();
                let later = first.iter().flat_map(|e| calls.iter().flat_map(|c| events(std::slice::from_ref(e), c)));
                let later: Vec<Event> = later.collect();
                for event in first.into_iter().chain(later).unique() {
                    for shape in library.shapes(&world, &event) {
                        let all = kinds.entry(kind_of(&event, &shape)).or_default();
                        all.push((Arc::clone(&world), event.clone(), shape));
                    }
                }
            }
        }
        for (name, samples) in kinds {
            let count = samples[0].2.len();
            let first = self.roles.len();
            for position in 0..count {
                let seen: Vec<SampledSub> = samples
                    .iter()
                    .map(|(world, event, shape)| SampledSub {
                        world: Arc::clone(world),
                        event: event.clone(),
                        sub: shape[position],
                    })
                    .collect();
                self.roles.push(role(&name, position, seen)?);
            }
            self.kinds.push(PlainKind { name, roles: (first..first + count).collect() });
        }
        Ok(())
    }

    /// Returns the formula "the subevent has one of these roles".
    fn is_one(&self, of: &Term, roles: impl IntoIterator<Item = usize>) -> Term {
        or(roles.into_iter().map(|r| equal(self.names.app("role", [of]), symbol(&self.names.of(&self.roles[r].name)))))
    }

    /// Returns the formula "the role of the subevent satisfies this".
    pub fn has_role(&self, of: &Term, is: impl Fn(&PlainRole) -> bool) -> Term {
        self.is_one(of, (0..self.roles.len()).filter(|r| is(&self.roles[*r])))
    }

    /// Returns the formula "the event is of this kind".
    #[must_use]
    pub fn is_kind(&self, event: &Term, kind: &PlainKind) -> Term {
        equal(self.names.app("kind", [event]), symbol(&self.names.of(&kind.name)))
    }

    /// Returns the term for the subevent of an event with this role.
    #[must_use]
    pub fn part(&self, role: usize, event: &Term) -> Term {
        self.names.app(&format!("part.{}", self.roles[role].name), [event])
    }

    fn members(&self, set: &Set) -> Result<Vec<usize>, Refusal> {
        let mut found = Vec::new();
        for (r, role) in self.roles.iter().enumerate() {
            let reported = role.samples.iter().flat_map(|seen| [0, 1].map(|nth| set.has(&seen.view(nth))));
            match reported.unique().exactly_one() {
                Ok(true) => found.push(r),
                Ok(false) => {}
                Err(_) => return Err(refusal!("a set of {} has some {} and not others", self.library, role.name)),
            }
        }
        Ok(found)
    }

    /// Returns the roles that have a key, and the data that it consists of.
    fn made_of(&self, key: &Key) -> Result<(Vec<usize>, &'static [KeyDatum]), Refusal> {
        let mut defined = Vec::new();
        let mut values: Vec<(Option<Val>, &SampledSub)> = Vec::new();
        for (r, role) in self.roles.iter().enumerate() {
            let of: Vec<Option<Val>> = role.samples.iter().map(|seen| key.of(&seen.view(0))).collect();
            match of.iter().map(Option::is_some).unique().exactly_one() {
                Ok(true) => defined.push(r),
                Ok(false) => continue,
                Err(_) => return Err(refusal!("some {} have a {}, and others have none", role.name, key.name)),
            }
            values.extend(of.into_iter().zip(&role.samples));
        }
        let fits = |data: &&&'static [KeyDatum]| {
            values.iter().tuple_combinations().all(|((k, a), (l, b))| {
                let equal = data.iter().all(|d| d.of(a).is_some() && d.of(a) == d.of(b));
                (k == l) == equal
            })
        };
        let made = KEYS.iter().find(fits);
        made.map(|data| (defined, *data))
            .ok_or_else(|| refusal!("{} has a part that events do not determine", key.name))
    }

    fn same(&self, datum: KeyDatum, a: &Term, b: &Term) -> Term {
        let [e, f] = [a, b].map(|s| self.names.app("event", [s]));
        let of_event = |name: &str| equal(self.names.app(name, [&e]), self.names.app(name, [&f]));
        match datum {
            KeyDatum::Thread => of_event("thread"),
            KeyDatum::To => of_event("to"),
            KeyDatum::Identifier => of_event("id"),
            KeyDatum::Cell => equal(self.names.app("cell", [a]), self.names.app("cell", [b])),
        }
    }

    /// Returns the formula "the stamp order keeps the first subevent before the second".
    fn keeps(&self, a: &Term, b: &Term) -> Term {
        let families: BTreeSet<&String> = self.roles.iter().map(|r| &r.family).collect();
        let of = |s: &Term, wanted: &BTreeSet<&String>| self.has_role(s, |r| wanted.contains(&r.family));
        let mut rows: BTreeMap<(BTreeSet<&String>, BTreeSet<&String>), BTreeSet<&String>> = BTreeMap::new();
        for row in &families {
            let known = |column: &&&String| self.stamps.order[&((*row).clone(), (**column).clone())];
            let always = |c: &&&String| known(c) == (true, true);
            let nearby = |c: &&&String| known(c) == (true, false);
            let columns =
                (families.iter().filter(always).copied().collect(), families.iter().filter(nearby).copied().collect());
            rows.entry(columns).or_default().insert(row);
        }
        or(rows.into_iter().map(|((always, nearby), of_row)| {
            let nearby =
                if nearby.is_empty() { truth(false) } else { and([of(b, &nearby), self.same(KeyDatum::To, a, b)]) };
            and([of(a, &of_row), or([of(b, &always), nearby])])
        }))
    }

    /// Declares the sorts that both sides of a theorem share.
    pub fn sorts(theory: &mut Theory) {
        ["Thread", "Node", "Id", "Cell", "Value"].into_iter().for_each(|sort| theory.sort(sort));
    }

    /// Adds the axioms of plain executions: events, subevents, program order, and the relations that all specifications
    /// share.
    ///
    /// # Errors
    /// If a set or key depends on more than the data of an event.
    pub fn vocabulary(&self, theory: &mut Theory) -> Result<(), Refusal> {
        let SortNames { sub, event, .. } = self.names;
        let of = |name: &str| self.names.of(name);
        theory.comment(&format!("Plain executions of {}.", self.library));
        theory.sort(event);
        theory.sort(sub);
        theory.elements(&of("Kind"), self.kinds.iter().map(|k| of(&k.name)));
        theory.elements(&of("Role"), self.roles.iter().map(|r| of(&r.name)));
        theory.function(&of("event"), &[sub], event);
        theory.function(&of("role"), &[sub], &of("Role"));
        theory.function(&of("cell"), &[sub], "Cell");
        for (name, to) in [("kind", of("Kind").as_str()), ("thread", "Thread"), ("to", "Node"), ("id", "Id")] {
            theory.function(&of(name), &[event], to);
        }
        theory.function(&of("before"), &[event, event], "Bool");
        ["read", "wrote", "initial"].into_iter().for_each(|name| theory.function(&of(name), &[sub], "Value"));
        if self.names.prefix.is_empty() {
            theory.function("node", &["Thread"], "Node");
            theory.function("home", &["Cell"], "Node");
        }
        self.parts(theory);
        self.program_order(theory);
        self.defined(theory)
    }

    /// Declares the subevents: each event has those of its kind.
    fn parts(&self, theory: &mut Theory) {
        let SortNames { sub, event, .. } = self.names;
        let [s, e] = ["s", "e"].map(symbol);
        for role in &self.roles {
            theory.function(&self.names.of(&format!("part.{}", role.name)), &[event], sub);
        }
        for kind in &self.kinds {
            let there = kind.roles.iter().map(|&r| {
                let part = self.part(r, &e);
                and([self.is_one(&part, [r]), equal(self.names.app("event", [&part]), &e)])
            });
            let there = all(&[("e", event)], implies(self.is_kind(&e, kind), and(there)));
            theory.axiom(&format!("{} has its subevents", kind.name), there);
            for &r in &kind.roles {
                let own = self.names.app("event", [&s]);
                let role = &self.roles[r];
                let is = and([self.is_kind(&own, kind), equal(&s, self.part(r, &own))]);
                theory.axiom(
                    &format!("{} is of one {}, once", role.name, kind.name),
                    all(&[("s", sub)], implies(self.is_one(&s, [r]), is)),
                );
                if role.has_cell {
                    let home = app("home", [self.names.app("cell", [&s])]);
                    let at = if role.is_far {
                        self.names.app("to", [&own])
                    } else {
                        app("node", [self.names.app("thread", [&own])])
                    };
                    let on = all(&[("s", sub)], implies(self.is_one(&s, [r]), equal(home, at)));
                    theory.axiom(&format!("where the cell of {} is", role.name), on);
                }
            }
        }
    }

    fn program_order(&self, theory: &mut Theory) {
        let event = self.names.event;
        let [d, e] = ["d", "e"].map(symbol);
        let before = |d: &Term, e: &Term| self.names.app("before", [d, e]);
        let one_thread = equal(self.names.app("thread", [&d]), self.names.app("thread", [&e]));
        let pair = [("d", event), ("e", event)];
        theory.irreflexive("po", &self.names.of("before"), event);
        theory.transitive("po", &self.names.of("before"), event);
        theory.axiom("po is inside threads", all(&pair, implies(before(&d, &e), one_thread.clone())));
        let either = or([equal(&d, &e), before(&d, &e), before(&e, &d)]);
        theory.axiom("po is total on each thread", all(&pair, implies(one_thread, either)));
    }

    /// Defines the relations that all specifications share.
    fn defined(&self, theory: &mut Theory) -> Result<(), Refusal> {
        let sub = self.names.sub;
        let pair = [("a", sub), ("b", sub)];
        let [a, b] = ["a", "b"].map(symbol);
        let [e, f] = [&a, &b].map(|s| self.names.app("event", [s]));
        let of = |name: &str| self.names.of(name);
        theory.define(&of("po"), &pair, "Bool", self.names.app("before", [&e, &f]));
        theory.define(&of("ppo"), &pair, "Bool", and([self.names.app("po", [&a, &b]), self.keeps(&a, &b)]));
        theory.define(&of("same.event"), &pair, "Bool", equal(e, f));
        theory.define(&of("same.thread"), &pair, "Bool", self.same(KeyDatum::Thread, &a, &b));
        let touch = [&a, &b].map(|s| self.has_role(s, |r| r.has_cell));
        theory.define(
            &of("same.cell"),
            &pair,
            "Bool",
            and(touch.into_iter().chain([self.same(KeyDatum::Cell, &a, &b)])),
        );
        theory.function(&of("hb"), &[sub, sub], "Bool");
        Ok(())
    }

    /// Adds the sets, keys, choices and relations of the specification that have been seen so far.
    ///
    /// # Errors
    /// If a set or key depends on more than the data of an event.
    pub fn relations(&self, theory: &mut Theory) -> Result<(), Refusal> {
        let sub = self.names.sub;
        let pair = [("a", sub), ("b", sub)];
        let [a, b] = ["a", "b"].map(symbol);
        for (name, set) in &self.encoding.sets {
            theory.define(name, &[("s", sub)], "Bool", self.is_one(&symbol("s"), self.members(set)?));
        }
        for (name, key) in &self.encoding.keys {
            let (defined, data) = self.made_of(key)?;
            let reported = [&a, &b].map(|s| self.is_one(s, defined.iter().copied()));
            let same = data.iter().map(|d| self.same(*d, &a, &b));
            theory.define(name, &pair, "Bool", and(reported.into_iter().chain(same)));
        }
        for (name, _) in &self.encoding.choices {
            theory.function(name, &[sub, sub], "Bool");
        }
        theory.0.extend(self.encoding.relations.0.iter().cloned());
        Ok(())
    }

    /// Adds the axioms of consistent executions: the laws of the choices, the demands, and hb.
    pub fn consistency(&self, theory: &mut Theory) {
        let sub = self.names.sub;
        let encoding = &self.encoding;
        theory.comment(&format!("The consistency predicate of {}.", self.library));
        let laws = encoding.of_closures().into_iter().chain(encoding.of_turns.iter().cloned());
        let laws = laws.chain(encoding.laws.iter().flatten().cloned()).chain(encoding.demanded());
        laws.for_each(|law| theory.assume(&law));
        theory.comment("Happens-before: any transitive, irreflexive relation above ppo and so.");
        let [hb, ppo] = ["hb", "ppo"].map(|name| self.names.of(name));
        let parts = encoding.so.iter().map(|(_, predicate)| predicate);
        happens_before(theory, (&hb, &hb, sub), std::iter::once(&ppo).chain(parts).map(String::as_str));
        theory.irreflexive(&hb, &hb, sub);
    }
}

fn role(kind: &str, position: usize, samples: Vec<SampledSub>) -> Result<PlainRole, Refusal> {
    let name = format!("{kind}/{position}");
    let one = |reported: Vec<bool>| {
        reported.into_iter().unique().exactly_one().map_err(|_| refusal!("not all {name} are alike"))
    };
    let family = samples[0].sub.stamp.family();
    let has_cell = one(samples.iter().map(|s| s.sub.cell.is_some()).collect())?;
    let at = |s: &SampledSub| s.sub.cell.map(|c| c.node);
    let is_near = samples.iter().all(|s| at(s).is_none_or(|n| n == s.world.node_of(s.event.thread)));
    let is_far = samples.iter().all(|s| at(s).is_none_or(|n| Some(n) == to(&s.event, &[s.sub])));
    if has_cell && is_near == is_far {
        return Err(refusal!("samples do not determine the node of {name}"));
    }
    Ok(PlainRole { name, family, has_cell, is_far: has_cell && is_far, samples })
}
