//! Obligations: the conditions 1 to 3 of LOCO Def. 3.13, and lemmas that help to show them.

use mowgli_core::ids::Name;
use mowgli_judge::algebra::Choice;

use crate::error::Refusal;
use crate::smt::encode::Encoding;
use crate::smt::term::{Obligation, Term, and, app, equal, implies, not, or, symbol, truth};
use crate::template::kind::{Kind, Read, Role, Write};
use crate::template::pattern::{Each, Leaf, Members};

use super::family::TypedSubs;
use super::symbols::{ABS, LAST, SUB, ended, happens_in, image, location, own, place_of, place_sort, the, thread};
use super::values::{datum_of, leaf_of};
use super::{LibraryTheory, library};

/// True for roles indexed by a set that may be empty and has no named element: iterations, or threads without the
/// first.
fn may_be_none(role: &Role) -> bool {
    matches!(role.each, Some(Each::Rounds | Each::Members(Members { but_first: true, .. })))
}

/// Returns the last thread of an index set of threads, or else the call's own thread.
pub(super) fn last_of(role: &Role, call: &Term) -> Term {
    match role.each {
        Some(Each::Members(Members { of, .. })) => app(LAST, [location(of, call)]),
        Some(Each::Ended(event)) => ended(event, call),
        _ => thread(call),
    }
}

/// Returns the last writes of a call, before a read, to the same word of its own thread. There is one for each way of its event.
/// A read in an iteration has those of this iteration.
fn puts_before<'k>(kind: &'k Kind, role: &Role) -> Vec<&'k Role> {
    let is_alike = |r: &Role| r.each == role.each && matches!(r.each, None | Some(Each::Rounds));
    let is_of_thread = role.cell.as_ref().is_some_and(|cell| cell.leaves.contains(&Leaf::Thread));
    if role.reads.is_none() || !is_alike(role) || !is_of_thread {
        return Vec::new();
    }
    let puts = |r: &&Role| r.writes.is_some() && is_alike(r) && r.cell == role.cell;
    let before = kind.concrete.iter().filter(|r| r.library == role.library && r.position.0 < role.position.0);
    let all: Vec<&Role> = before.filter(puts).collect();
    let last = all.last().map(|r| r.position.0);
    all.into_iter().filter(|r| Some(r.position.0) == last).collect()
}

impl LibraryTheory<'_> {
    /// Returns the obligations of condition 3: the laws of the choices, the demands, and the written values.
    ///
    /// # Errors
    /// If the specification says something that first-order logic cannot express.
    pub fn consistency(&self) -> Result<Vec<Obligation>, Refusal> {
        let laws = self.upper.laws.iter().flatten().cloned().chain(self.upper.demanded());
        let laws = laws.chain(self.upper.of_closures());
        let mut all: Vec<Obligation> = laws.collect();
        let a = symbol("a");
        let family = self.promises();
        for (kind, promise) in &family.roles {
            if let Some(Write::Plus(from, datum)) = promise.writes {
                let (_, source) = self.source(kind, promise, from, &family, &a);
                let with = datum_of(kind, promise, datum, &family.call(&a), &family.place(promise, &a))?;
                let name = format!("{} of {} has a sum to write", promise.family, kind.name);
                let has_sum = app("have.sum", [family.common("read", [source]), with]);
                all.push(Obligation::new(name, &[("a", ABS)], family.is(promise, &a), has_sum));
            }
            if let Some(Read::IsNot(datum)) = promise.reads {
                let value = datum_of(kind, promise, datum, &family.call(&a), &family.place(promise, &a))?;
                let name = format!("{} does not read what it must not", promise.words);
                let differs = not(equal(family.common("read", [&a]), value));
                all.push(Obligation::new(name, &[("a", ABS)], family.is(promise, &a), differs));
            }
        }
        Ok(all.into_iter().map(|obligation| self.hinted(obligation)).collect())
    }

    /// Returns the obligations of condition 2, one for each part of so': it is inside hb.
    #[must_use]
    pub fn carried(&self) -> Vec<Obligation> {
        let [a, b] = ["a", "b"].map(symbol);
        let part = |(name, predicate): &(&'static str, String)| {
            let (edge, carried) = (app(predicate, [&a, &b]), app("hb", [image(&a), image(&b)]));
            self.hinted(Obligation::new(format!("{name}' inside hb"), &[("a", ABS), ("b", ABS)], edge, carried))
        };
        self.upper.so.iter().map(part).collect()
    }

    /// Returns lemmas that may help in proofs; each is shown before it is used.
    ///
    /// They say that the orders below are inside hb, and that some branch is never taken. Others say that a thread
    /// reads its own earlier write to its own word.
    #[must_use]
    pub fn lemmas(&self) -> Vec<Vec<Obligation>> {
        let [a, b, c] = ["a", "b", "c"].map(symbol);
        let family = self.concrete();
        // A part of so is inside hb by an axiom, so it needs no lemma.
        let is_part = |e: &Encoding, name: &str| e.so.iter().any(|(_, part)| part == name);
        let orders = self.lower.iter().flat_map(|e| e.choices.iter().filter(move |(name, _)| !is_part(e, name)));
        let orders = orders.filter(|(_, c)| matches!(c, Choice::Order { .. }));
        let orders = orders.map(|(name, _)| {
            let (ordered, happens) = (app(name, [&a, &b]), app("hb", [&a, &b]));
            Obligation::new(format!("{name} is inside hb"), &[("a", SUB), ("b", SUB)], ordered, happens)
        });
        let pairs = family
            .roles
            .iter()
            .flat_map(|(kind, role)| puts_before(kind, role).into_iter().map(move |put| (*kind, *role, put)));
        let found = pairs.filter_map(|(kind, role, put)| {
            let rf = self.reads_from(role.library)?;
            let (call, place) = (family.call(&a), family.place(role, &a));
            let way = put.way.map(|way| happens_in(put.position.0, way, &call, &place));
            let name = format!("in {} {} reads what {} wrote", kind.name, role.words, put.words);
            let from = and([family.is(role, &a)].into_iter().chain(way));
            Some(Obligation::new(name, &[("a", SUB)], from, app(&rf, [&the(put, &call, &place), &a])))
        });
        let is_a_branch = |k: &&Kind| !k.has_unknowns() && (!k.given().is_empty() || !k.ways.is_empty());
        let branches = self.kinds.iter().filter(is_a_branch).map(|kind| {
            let name = format!("no call is {}", kind.words());
            Obligation::new(name, &[("c", "Call")], self.is_kind(kind, &c), truth(false))
        });
        let hinted = |obligation| self.hinted(obligation);
        vec![orders.map(hinted).collect(), found.map(hinted).collect(), branches.map(hinted).collect()]
    }

    /// Returns the reads-from choice of a library below.
    pub(super) fn reads_from(&self, of: Name) -> Option<String> {
        let encoding = self.lower.iter().find(|e| library(e) == of.text())?;
        let mut choices = encoding.choices.iter().filter(|(_, c)| matches!(c, Choice::ReadsFrom { .. }));
        choices.next().map(|(name, _)| name.clone())
    }

    /// Returns the kind of the calls of which a lemma says that there are none.
    #[must_use]
    pub fn none_of(&self, lemma: &Obligation) -> Option<usize> {
        let is = |k: &Kind| lemma.to == truth(false) && lemma.from == self.is_kind(k, &symbol("c"));
        self.kinds.iter().position(is)
    }

    /// Returns an obligation with hints: the calls of its variables have their subevents.
    fn hinted(&self, obligation: Obligation) -> Obligation {
        let hints = obligation.of.iter().flat_map(|(name, sort)| self.hints(&symbol(name), sort)).collect();
        Obligation { hints, ..obligation }
    }

    /// Returns the formulas "the call of this subevent or promise, or this call, has its subevents", for one index
    /// each. The call of a promise has its promises too.
    fn hints(&self, of: &Term, sort: &str) -> Vec<Term> {
        let family = if sort == ABS { self.promises() } else { self.concrete() };
        let at = |of: &Term| family.common("at", [of]);
        match sort {
            SUB => self.made(&family.call(of), &at(of)),
            ABS => {
                let (call, at) = (family.call(of), at(of));
                [self.made(&call, &at), self.there(ABS, &family, &call, &at)].concat()
            }
            _ => self.made(of, &own(of)),
        }
    }

    /// Returns the formulas "the call has the subevents of its implementation".
    pub(super) fn made(&self, call: &Term, node: &Term) -> Vec<Term> {
        self.there(SUB, &self.concrete(), call, node)
    }

    pub(super) fn there(&self, sort: &str, family: &TypedSubs<'_>, call: &Term, node: &Term) -> Vec<Term> {
        let there = family
            .roles
            .iter()
            .map(|(kind, role)| self.there_is(kind, role, sort, call, &place_of(role, call, node, &thread(call))));
        there.collect()
    }

    /// Returns the formula "if the call should have a subevent of this role with this index, it has it".
    pub(crate) fn there_is(&self, kind: &Kind, role: &Role, sort: &str, call: &Term, place: &Term) -> Term {
        let family = if sort == SUB { self.concrete() } else { self.promises() };
        let mut made = self.made_of(&family, role, &the(role, call, place), call, place);
        // Move the role behind the call and the node, because that is easier for solvers.
        made[..3].rotate_left(1);
        let made = and(made);
        implies(self.valid(kind, role, call, place), made)
    }

    /// Returns the obligations of condition 1 if this role stands for a promise, and the number of cases that hold by
    /// definition. Returns `None` if the role cannot stand for it.
    ///
    /// # Errors
    /// If a stamp needs something that first-order logic cannot express.
    pub fn stands_for(
        &self,
        kind: &Kind,
        promise: &Role,
        role: &Role,
    ) -> Result<Option<(Vec<Obligation>, usize)>, Refusal> {
        // A promise that is not indexed by nodes can be represented by the last of the subevents for threads, but not by those
        // for nodes.
        let is_for_nodes = |r: &Role| matches!(r.each, Some(Each::Nodes(_)));
        if (!is_for_nodes(promise) && is_for_nodes(role)) || may_be_none(role) {
            return Ok(None);
        }
        let [c, index, k] = ["c", "n", "k"].map(symbol);
        let sort = place_sort(promise.each);
        let n = if sort == "Node" { index.clone() } else { own(&c) };
        let given = self.valid(kind, promise, &c, &index);
        let place = |r: &Role, at: &Term| place_of(r, &c, at, &last_of(r, &c));
        let the = |r: &Role, at: &Term| the(r, &c, &place(r, at));
        let stamp = |r: &Role, at: &Term| -> Result<(String, Option<Term>), Refusal> {
            let node = r.stamp_node.map(|leaf| leaf_of(kind, r, leaf, &c, at)).transpose()?;
            Ok((r.family.clone(), node))
        };
        let of = [("c", "Call"), ("n", sort), ("k", "Node")];
        let mut all = Vec::new();
        let mut plain = 0;
        let image = the(role, &n);
        let exists = self.valid(kind, role, &c, &place(role, &n));
        let words = format!("{} of {}", promise.family, kind.name);
        // No node, and no thread that takes part, need be there.
        let may_lack = |r: &Role| matches!(r.each, Some(Each::Nodes(_) | Each::Members(_)));
        if may_lack(role) && role.each != promise.each {
            all.push(Obligation::new(format!("g({words}) exists"), &of, given.clone(), exists));
        }
        let (family, node) = stamp(promise, &n)?;
        for (other, has_node) in &self.stamps.families {
            let a0 = (other.as_str(), has_node.then(|| k.clone()));
            for is_before in [true, false] {
                let ordered = |x: (&str, Option<Term>)| {
                    let a0 = a0.clone();
                    if is_before { self.stamps.before(a0, x) } else { self.stamps.before(x, a0) }
                };
                let wanted = ordered((&family, node.clone()));
                if wanted == truth(false) {
                    continue;
                }
                let mut ways = Vec::new();
                let mut places = vec![n.clone()];
                places.extend(has_node.then(|| k.clone()));
                let roles = kind.concrete.iter().filter(|r| !may_be_none(r));
                for (one, at) in roles.flat_map(|r| places.iter().map(move |at| (r, at))) {
                    let (f, m) = stamp(one, at)?;
                    let keeps = ordered((&f, m));
                    let is_it = one.name == role.name && (at == &n || !is_for_nodes(one));
                    let it = the(one, at);
                    let edge = if is_before { [it, image.clone()] } else { [image.clone(), it] };
                    let reaches = if is_it { truth(true) } else { app("hb", &edge) };
                    let there = self.valid(kind, one, &c, &place(one, at));
                    // The image is known to exist.
                    let there = if is_it || !may_lack(one) { truth(true) } else { there };
                    // The hypothesis `wanted` already says when the order is kept.
                    let keeps = if keeps == wanted { truth(true) } else { keeps };
                    ways.push(and([there, keeps, reaches]));
                }
                let to = or(ways);
                if to == truth(true) {
                    plain += 1;
                    continue;
                }
                let side = if is_before { "before" } else { "after" };
                let name = format!("condition 1 for {words}, a0 = {other} {side} it");
                all.push(Obligation::new(name, &of, and([given.clone(), wanted]), to));
            }
        }
        Ok(Some((all, plain)))
    }
}
