//! The facts that hold in all executions that are left: the network of relations, and the domains of each subevent.
//!
//! **Computes** whether some execution may be left after subevents were added and choices were made, and what all of them have in
//! common. Nothing proves that one is left. Two searches have a store. In the one of [`super::prefix`] events come and go. That of
//! [`super::solver`] is *whole*: it begins with all events, and no further one comes.
//!
//! **Invariant.** Call an execution *left* if it begins with the subevents of the store and agrees with all decisions. Its values and
//! times are within the bounds that the caller has set. After [`ConstraintStore::propagate`] has returned true, each one satisfies:
//!  - It has every pair of each relation of the network. No pair is lost by later events.
//!  - Each subevent `s` reads a value in `domains.reads[s]`, and writes one in `domains.writes[s]`. Further members of
//!    these sets stand for all values without a number.
//!  - The source of a read `s` is `domains.sources[s]`, unless that is `Open`. An open source is no write of row `s` of the
//!    relation `excluded` of its choice. The pair `(s, s)` there excludes the initial write. The time of the source is at most
//!    `domains.until[s]`. If that is `MAX`, the source may be a write that does not exist yet.
//!
//! After `false` no execution is left. A source is decided when only one is left, and so is the direction of a pair. The lists by
//! subevent are equally long. In a whole store all times are 0.
//!
//! **Example.** Store buffering: `W(x, 1); R(y) = 0` of P1 and `W(y, 1); R(x) = 0` of P2, whole. One source is left for each read, the
//! initial write, because no write of 0 exists. So `R(y)` is before `W(y)`, and `R(x)` before `W(x)`. If ppo has each write before the read of
//! its thread, hb has a cycle, and `propagate` returns false. If further events may come, both reads stay open, and it returns true.
//!
//! **Correct because** each step keeps the invariant, for these reasons. The name of a test that fails without the step follows each.
//!  1. *A subevent comes.* It and the earlier ones alone determine the pairs of a fixed relation, for ever ([`super::schema`]).
//!     `a_relation_of_two_subevents_is_a_base`.
//!  2. *A pair is carried.* Every operator of the network is monotone, and an execution that is left has the operands, so it
//!     has the result. A broken check is broken in each ([`super::network`]). `settling_reaches_the_definitions_and_undo_goes_back`.
//!  3. *A difference grows.* If no further event comes, a relation has at most the pairs that [`ConstraintStore::at_most`] returns. The
//!     proof is by induction: a choice has at most what is decided or open, and operators are monotone. So a pair beyond these is in no
//!     subtrahend. `a_difference_grows_once_its_subtrahend_is_known`.
//!  4. *Values are narrowed.* A read and its source have one value, so both keep their common values. An open read whose source exists has
//!     the value of one of its possible sources. Copies and steps are functions ([`super::values`]). `on_swaps` in
//!     `tests/tests/flow.rs`.
//!  5. *A choice is excluded.* By [`super::forbidden`] its pair breaks a demand, given pairs that all executions have.
//!     `what_breaks_a_demand_is_no_source`.
//!  6. *A choice is decided.* A read has exactly one source, and two subevents of an order exactly one direction. If one is left,
//!     it holds. `the_last_source_is_decided`.
//!  7. *Undo.* A snapshot has copies of the domains, and a mark of the network's trail. Lists are cut, and sets lose the subevents that are gone.
//!     `what_is_undone_leaves_no_trace`.
//!
//! Each step only adds pairs or removes members of finite sets, so the loop ends. No step depends on what another one
//! has not derived yet, so the order of steps does not matter. `tests/tests/agreement.rs`
//! compares whole searches with the judge, and `tests/tests/flow.rs` with a plain fixed point.
//!
//! **Cost.** A subevent costs its new pairs and what propagation derives from them, a word of 64 bits at a time. A snapshot
//! copies the lists of [`Domains`].

mod added;
mod differences;

use std::collections::BTreeMap;
use std::rc::Rc;

use smallvec::SmallVec;

use super::forbidden::Forbidden;
use super::network::RelationNetwork;
use super::numbers::NumberSet;
use super::relation::matrix::WordOnes;
use super::relation::rows::Rows;
use super::schema::{Schema, SchemaChoice};
use super::values::{Domains, Source, intersect};
use crate::algebra::SubView;
use crate::event::Writes;
use crate::ids::Name;
use crate::library::Libraries;
use crate::search::graph::GraphSub;
use crate::search::prepared::Prepared;
use crate::value::Val;

/// The sources that a read can have.
pub(crate) type PossibleSources = SmallVec<[Source; 4]>;

/// A state to go back to.
pub struct Snapshot {
    mark: usize,
    domains: Domains,
    subs: usize,
}

/// A subevent that comes.
pub(crate) struct NewSub<'e> {
    pub view: SubView<'e>,
    pub place: GraphSub,
    /// The present time.
    pub birth: u32,
    /// The latest time of its source.
    pub until: u32,
    /// The initial value of its cell.
    pub init: NumberSet,
    /// The values that it reads, and those that it writes.
    pub values: (NumberSet, NumberSet),
}

/// The facts: see the module's documentation.
pub(crate) struct ConstraintStore {
    /// The relations of the libraries whose specifications apply.
    pub schema: Rc<Schema>,
    pub net: RelationNetwork,
    forbidden: Forbidden,
    pub domains: Domains,
    pub subs: Vec<GraphSub>,
    /// The time at which each subevent came.
    pub births: Vec<u32>,
    /// The initial value of each subevent's cell.
    pub init: Vec<NumberSet>,
    /// The subevents of each thread.
    threads: Rows,
    /// For each library of the schema its subevents.
    own: Rows,
    /// The members of each set of the schema.
    members: Rows,
    /// For each key of the schema the positions of its classes, and the classes.
    classes: Vec<(BTreeMap<Val, usize>, Rows)>,
    /// For each key the class of the subevent that was added last.
    newest: Vec<Option<usize>>,
    /// For each fixed relation the row and the column of that subevent, among all subevents.
    pairs: Rows,
    /// For each choice and subevent: the writes of the cell of a read, or the subevents that an order must compare it with.
    partners: Rows,
    /// True if no further event comes.
    is_whole: bool,
    /// True if sources stay open even where they are known to be impossible, so that each shows why.
    pub is_thorough: bool,
}

impl ConstraintStore {
    /// Returns a store without subevents, with room for `capacity` of them, to which the specifications of these libraries
    /// apply.
    pub fn new(libraries: &Libraries, threads: usize, names: &[Name], capacity: usize) -> Self {
        let schema = Prepared::of(libraries).schema(names, capacity);
        let net = schema.net.clone();
        let rows = |sets| Rows::new(sets, net.width());
        Self {
            forbidden: Forbidden::of(&net),
            domains: Domains::default(),
            subs: Vec::with_capacity(capacity),
            births: Vec::with_capacity(capacity),
            init: Vec::with_capacity(capacity),
            threads: rows(threads),
            own: rows(names.len()),
            members: rows(schema.sets.len()),
            classes: vec![(BTreeMap::new(), rows(0)); schema.keys.len()],
            newest: vec![None; schema.keys.len()],
            pairs: rows(2 * schema.fixed.len()),
            partners: rows(schema.choices.len() * capacity),
            is_whole: false,
            is_thorough: false,
            net,
            schema,
        }
    }

    /// Makes the present state the first one, and the last one to which an event was added.
    pub fn complete(&mut self) {
        self.net.begin();
        self.is_whole = true;
    }

    /// Returns the number of subevents.
    pub fn len(&self) -> usize {
        self.subs.len()
    }

    /// Returns a state to go back to.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { mark: self.net.mark(), domains: self.domains.clone(), subs: self.subs.len() }
    }

    /// Goes back to a state.
    pub fn restore(&mut self, snapshot: Snapshot) {
        self.net.undo(snapshot.mark);
        self.domains = snapshot.domains;
        if snapshot.subs < self.subs.len() {
            self.remove_from(snapshot.subs);
        }
    }

    /// Propagates until nothing changes. Returns false if no execution is left. `narrow` removes values that no run has, and
    /// returns false if none is left.
    pub fn propagate(&mut self, narrow: impl Fn(&mut Domains, &mut bool) -> bool) -> bool {
        let mut has_grown = true;
        loop {
            has_grown |= !self.net.is_settled();
            if !self.net.settle() {
                return false;
            }
            let mut changed = false;
            if !narrow(&mut self.domains, &mut changed) || !self.narrow_sources(&mut changed) {
                return false;
            }
            if self.is_whole {
                self.grow_differences(&mut changed);
            }
            if changed {
                continue;
            }
            // The forbidden pairs depend on the network alone.
            if has_grown {
                self.forbidden.find(&self.net, &self.schema.is_open);
                self.force(&mut changed);
                has_grown = false;
            }
            if !changed {
                return true;
            }
        }
    }

    fn narrow_sources(&mut self, changed: &mut bool) -> bool {
        for choice in 0..self.schema.choices.len() {
            let SchemaChoice::ReadsFrom { reads, .. } = self.choice(choice) else { continue };
            for word in 0..self.net.width() {
                for bit in WordOnes(self.members.word(reads, word)) {
                    if !self.narrow_read(choice, word * 64 + bit, changed) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn narrow_read(&mut self, choice: usize, read: usize, changed: &mut bool) -> bool {
        match self.domains.sources[read] {
            Source::Open if self.domains.until[read] == u32::MAX => {}
            Source::Open => {
                let sources = self.sources(choice, read);
                let possible = sources.iter().map(|source| self.source_values(read, *source)).collect();
                intersect(&mut self.domains.reads[read], possible, changed);
                if let [only] = sources[..] {
                    *changed = true;
                    self.decide(choice, read, only);
                }
            }
            _ => self.narrow_decided(read, changed),
        }
        !self.domains.reads[read].is_empty()
    }

    /// Gives a read whose source is decided the values of the source, and the other way round.
    pub fn narrow_decided(&mut self, read: usize, changed: &mut bool) {
        match self.domains.sources[read] {
            Source::Write(w) => {
                let both = self.domains.reads[read] & self.domains.writes[w];
                intersect(&mut self.domains.reads[read], both, changed);
                intersect(&mut self.domains.writes[w], both, changed);
                self.close_copied(read, w, changed);
            }
            Source::Initial => intersect(&mut self.domains.reads[read], self.init[read], changed),
            Source::Open => {}
        }
    }

    /// Bounds the time of the read of a copy: the copy read no later than the read that has it as its source.
    fn close_copied(&mut self, read: usize, write: usize, changed: &mut bool) {
        if let Some(from) = self.copied(write) {
            let until = self.domains.until[read];
            if self.domains.until[from] > until {
                self.domains.until[from] = until;
                *changed = true;
            }
        }
    }

    /// Returns the read on which the value of a write depends.
    pub fn copied(&self, write: usize) -> Option<usize> {
        let placed = &self.subs[write];
        match placed.sub.writes? {
            Writes::Is(_) => None,
            Writes::Copy(from) | Writes::Step(from) => Some(placed.base + from),
        }
    }

    fn source_values(&self, read: usize, source: Source) -> NumberSet {
        if let Source::Write(w) = source { self.domains.writes[w] } else { self.init[read] }
    }

    /// Returns the sources among the subevents that an undecided read can still have.
    pub fn sources(&self, choice: usize, read: usize) -> PossibleSources {
        let SchemaChoice::ReadsFrom { excluded, .. } = self.choice(choice) else {
            unreachable!("only reads-from has reads")
        };
        let until = self.domains.until[read];
        let initial = (!self.net.has(excluded, read, read)).then_some(Source::Initial);
        let words = self.partners(choice, read).iter().zip(self.net.row(excluded, read)).enumerate();
        let writes = words.flat_map(|(word, (all, out))| WordOnes(all & !out).map(move |bit| word * 64 + bit));
        let in_time = writes.filter(|&w| self.births[w] <= until).map(Source::Write);
        let all = initial.into_iter().chain(in_time);
        all.filter(|&source| !(self.source_values(read, source) & self.domains.reads[read]).is_empty()).collect()
    }

    /// Decides the source of a read.
    pub fn decide(&mut self, choice: usize, read: usize, source: Source) {
        let SchemaChoice::ReadsFrom { chosen, before, .. } = self.choice(choice) else {
            unreachable!("only reads-from has reads")
        };
        self.domains.sources[read] = source;
        if let Source::Write(w) = source {
            self.net.add(chosen, w, read);
            return;
        }
        for word in 0..self.net.width() {
            self.net.add_word(before, read, word, self.partners.word(self.partner(choice, read), word));
        }
    }

    /// Excludes choices that would add a forbidden pair, and decides orders of which one direction is forbidden.
    fn force(&mut self, changed: &mut bool) {
        for choice in 0..self.schema.choices.len() {
            match self.choice(choice) {
                SchemaChoice::ReadsFrom { .. } if self.is_thorough => {}
                SchemaChoice::ReadsFrom { reads, .. } => {
                    for word in 0..self.net.width() {
                        for bit in WordOnes(self.members.word(reads, word)) {
                            self.exclude_sources(choice, word * 64 + bit, changed);
                        }
                    }
                }
                SchemaChoice::Order { .. } => self.force_pairs(choice, changed),
            }
        }
    }

    fn exclude_sources(&mut self, choice: usize, read: usize, changed: &mut bool) {
        let SchemaChoice::ReadsFrom { chosen, before, excluded, .. } = self.choice(choice) else {
            unreachable!("only reads-from has reads")
        };
        if self.domains.sources[read] != Source::Open {
            return;
        }
        let mut is_initial_out = false;
        for word in 0..self.net.width() {
            let partners = self.partners.word(self.partner(choice, read), word);
            let is_forbidden = |bit: &usize| self.forbidden.has(chosen, word * 64 + bit, read);
            let out = WordOnes(partners).filter(is_forbidden).fold(0, |all, bit| all | 1 << bit);
            is_initial_out |= self.forbidden.row(before, read)[word] & partners != 0;
            *changed |= out & !self.net.row(excluded, read)[word] != 0;
            self.net.add_word(excluded, read, word, out);
        }
        if is_initial_out && !self.net.has(excluded, read, read) {
            *changed = true;
            self.net.add(excluded, read, read);
        }
    }

    fn force_pairs(&mut self, choice: usize, changed: &mut bool) {
        let SchemaChoice::Order { raw, closed, .. } = self.choice(choice) else { unreachable!("an order") };
        for a in 0..self.subs.len() {
            for word in 0..self.net.width() {
                let open = self.partners(choice, a)[word] & !self.net.row(closed, a)[word];
                for b in WordOnes(self.forbidden.row(raw, a)[word] & open).map(|bit| word * 64 + bit) {
                    if !self.net.has(closed, b, a) {
                        *changed = true;
                        self.net.add(raw, b, a);
                    }
                }
            }
        }
    }

    /// Excludes the sources of a read that existed at `time`, if their values do not depend on a read.
    pub fn rule_out_until(&mut self, read: usize, time: u32) {
        for choice in 0..self.schema.choices.len() {
            let SchemaChoice::ReadsFrom { reads, excluded, .. } = self.choice(choice) else { continue };
            if !self.members.has(reads, read) {
                continue;
            }
            self.net.add(excluded, read, read);
            for word in 0..self.net.width() {
                for w in WordOnes(self.partners(choice, read)[word]).map(|bit| word * 64 + bit) {
                    if self.births[w] <= time && self.copied(w).is_none() {
                        self.net.add(excluded, read, w);
                    }
                }
            }
        }
    }

    /// Returns a choice of the schema.
    pub fn choice(&self, choice: usize) -> SchemaChoice {
        self.schema.choices[choice].of
    }

    /// Returns the writes of the cell of a read, or the subevents that an order must compare a subevent with.
    pub fn partners(&self, choice: usize, s: usize) -> &[u64] {
        self.partners.row(self.partner(choice, s))
    }

    fn partner(&self, choice: usize, s: usize) -> usize {
        choice * self.net.capacity() + s
    }

    /// Iterates over the reads of a choice; an order has none.
    pub fn reads(&self, choice: usize) -> impl Iterator<Item = usize> + '_ {
        let reads = if let SchemaChoice::ReadsFrom { reads, .. } = self.choice(choice) { Some(reads) } else { None };
        reads.into_iter().flat_map(|set| self.members.members(set))
    }

    /// Iterates over all reads of choices, each after its choice.
    pub fn all_reads(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.schema.choices.len()).flat_map(|choice| self.reads(choice).map(move |read| (choice, read)))
    }

    /// Returns the choice of the source of a subevent.
    pub fn choice_of(&self, read: usize) -> Option<usize> {
        let has = |choice: &usize| matches!(self.choice(*choice), SchemaChoice::ReadsFrom { reads, .. } if self.members.has(reads, read));
        (0..self.schema.choices.len()).find(has)
    }
}

#[cfg(test)]
mod tests;
