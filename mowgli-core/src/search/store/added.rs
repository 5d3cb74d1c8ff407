//! Subevents come to a store, and go.

use std::rc::Rc;

use super::{ConstraintStore, NewSub};
use crate::algebra::SubView;
use crate::library::Libraries;
use crate::search::relation::matrix::WordOnes;
use crate::search::relation::rows::{below, only};
use crate::search::schema::{Fixed, FixedId, Schema, SchemaChoice};
use crate::search::values::Source;

impl ConstraintStore {
    /// Adds a subevent to the relations that come with subevents, and to the choices.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn add(&mut self, libraries: &Libraries, new: &NewSub<'_>) {
        let s = self.subs.len();
        assert!(s < self.net.capacity(), "the store has room");
        self.subs.push(new.place);
        self.births.push(new.birth);
        self.init.push(new.init);
        self.domains.reads.push(new.values.0);
        self.domains.writes.push(new.values.1);
        self.domains.sources.push(Source::Open);
        self.domains.until.push(new.until);
        self.net.set_live(s + 1);
        let schema = Rc::clone(&self.schema);
        let library = schema.names.iter().position(|name| *name == new.view.event.call.library);
        self.add_to_sets(&schema, library, &new.view);
        for (position, (of, fixed)) in schema.fixed.iter().enumerate() {
            for word in 0..self.net.width() {
                let is_apart = of.is_some() && *of != library;
                let (row, column) = if is_apart { (0, 0) } else { self.pairs_of(libraries, fixed, word) };
                self.pairs.set_word(2 * position, word, row);
                self.pairs.set_word(2 * position + 1, word, column);
            }
        }
        for &(id, fixed) in &schema.bases {
            for word in 0..self.net.width() {
                let (row, column) = self.pairs_within(fixed, word);
                self.net.add_word(id, s, word, row);
                WordOnes(column & !only(s, word)).for_each(|bit| self.net.add(id, word * 64 + bit, s));
            }
        }
        for (position, choice) in schema.choices.iter().enumerate() {
            for word in 0..self.net.width() {
                self.partners.set_word(self.partner(position, s), word, 0);
            }
            if Some(choice.library) == library {
                self.add_to_choice(position, choice.of);
            }
        }
    }

    /// Removes all subevents from `end` on.
    pub(super) fn remove_from(&mut self, end: usize) {
        self.subs.truncate(end);
        self.births.truncate(end);
        self.init.truncate(end);
        self.net.set_live(end);
        for rows in [&mut self.threads, &mut self.own, &mut self.members] {
            rows.keep_below(end, rows.all());
        }
        self.classes.iter_mut().for_each(|(_, classes)| classes.keep_below(end, classes.all()));
        for choice in 0..self.schema.choices.len() {
            let first = self.partner(choice, 0);
            self.partners.keep_below(end, first..first + end);
        }
    }

    /// Adds the last subevent to its thread, its library, the sets and the classes.
    fn add_to_sets(&mut self, schema: &Schema, library: Option<usize>, view: &SubView<'_>) {
        let s = self.subs.len() - 1;
        self.threads.insert(self.subs[s].thread, s);
        let Some(library) = library else {
            self.newest.fill(None);
            return;
        };
        self.own.insert(library, s);
        for (position, (_, set)) in schema.sets.iter().enumerate().filter(|(_, (of, _))| *of == library) {
            if set.has(view) {
                self.members.insert(position, s);
            }
        }
        for ((newest, (positions, classes)), (of, key)) in
            self.newest.iter_mut().zip(&mut self.classes).zip(&schema.keys)
        {
            let class = if *of == library { key.of(view) } else { None };
            *newest = class.map(|class| *positions.entry(class).or_insert_with(|| classes.push()));
            newest.iter().for_each(|&class| classes.insert(class, s));
        }
    }

    /// Adds the last subevent to a choice of its library.
    fn add_to_choice(&mut self, position: usize, choice: SchemaChoice) {
        let s = self.subs.len() - 1;
        match choice {
            SchemaChoice::ReadsFrom { reads, writes, before, .. } => {
                let (is_read, is_write) = (self.members.has(reads, s), self.members.has(writes, s));
                let cell = self.subs[s].sub.cell;
                let end = if is_read || is_write { s } else { 0 };
                for other in (0..end).filter(|&other| self.subs[other].sub.cell == cell) {
                    if is_read && self.members.has(writes, other) {
                        self.partners.insert(self.partner(position, s), other);
                    }
                    if is_write && self.members.has(reads, other) {
                        self.partners.insert(self.partner(position, other), s);
                        if self.domains.sources[other] == Source::Initial {
                            self.net.add(before, other, s);
                        }
                    }
                }
            }
            SchemaChoice::Order { pairs, .. } => {
                for word in 0..self.net.width() {
                    let (row, column) = self.pairs_within(pairs, word);
                    self.partners.set_word(self.partner(position, s), word, row & !only(s, word));
                    for bit in WordOnes(column & !only(s, word)) {
                        self.partners.insert(self.partner(position, word * 64 + bit), s);
                    }
                }
            }
        }
    }

    /// Returns one word of the row and of the column of the last subevent in a fixed relation.
    pub fn pairs_within(&self, fixed: FixedId, word: usize) -> (u64, u64) {
        let of = self.schema.fixed[fixed].0;
        let within = of.map_or_else(|| below(self.subs.len(), word), |library| self.own.word(library, word));
        (self.pairs.word(2 * fixed, word) & within, self.pairs.word(2 * fixed + 1, word) & within)
    }

    /// Computes the same from that of the operands, perhaps with subevents of other libraries.
    fn pairs_of(&self, libraries: &Libraries, fixed: &Fixed, word: usize) -> (u64, u64) {
        let s = self.subs.len() - 1;
        let placed = &self.subs[s];
        let both = |bits: u64| (bits, bits);
        let has = |set: usize| self.members.has(set, s);
        let all = |holds: bool| if holds { u64::MAX } else { 0 };
        let members = |set: usize| self.members.word(set, word);
        let of = |fixed: &FixedId| (self.pairs.word(2 * fixed, word), self.pairs.word(2 * fixed + 1, word));
        let combined = |a: &FixedId, b: &FixedId, combine: fn(u64, u64) -> u64| {
            let ((row, column), (other_row, other_column)) = (of(a), of(b));
            (combine(row, other_row), combine(column, other_column))
        };
        let of_event = below(s + 1, word) & !below(placed.base, word);
        let of_thread = self.threads.word(placed.thread, word);
        match fixed {
            Fixed::All => both(u64::MAX),
            Fixed::Po => (0, of_thread & !of_event),
            Fixed::Ppo => {
                let is_preserved = |bit: &usize| libraries.to(self.subs[word * 64 + bit].sub.stamp, placed.sub.stamp);
                (0, WordOnes(of_thread & !of_event).filter(is_preserved).fold(0, |all, bit| all | 1 << bit))
            }
            Fixed::SameEvent => both(of_event),
            Fixed::SameThread => both(of_thread),
            Fixed::Same(key) => both(self.newest[*key].map_or(0, |class| self.classes[*key].1.word(class, word))),
            Fixed::InTurn(turn) => {
                let partner = |partner: Option<usize>| partner.map_or(0, |partner| only(partner, word));
                let [from, to, key] = self.schema.turns[*turn];
                (partner(self.in_turn(from, to, key)), partner(self.in_turn(to, from, key)))
            }
            Fixed::On(set) => both(if has(*set) { only(s, word) } else { 0 }),
            Fixed::Cross(a, b) => (all(has(*a)) & members(*b), all(has(*b)) & members(*a)),
            Fixed::From(set) => (all(has(*set)), members(*set)),
            Fixed::Into(set) => (members(*set), all(has(*set))),
            Fixed::Union(a, b) => combined(a, b, |a, b| a | b),
            Fixed::Inter(a, b) => combined(a, b, |a, b| a & b),
            Fixed::Minus(a, b) => combined(a, b, |a, b| a & !b),
            Fixed::Inverse(inverted) => {
                let (row, column) = of(inverted);
                (column, row)
            }
        }
    }

    /// Returns the member of `others` that has the turn of the last subevent among `own`: both are of one thread and one class.
    fn in_turn(&self, own: usize, others: usize, key: usize) -> Option<usize> {
        let s = self.subs.len() - 1;
        let class = self.classes[key].1.row(self.newest[key].filter(|_| self.members.has(own, s))?);
        let thread = self.threads.row(self.subs[s].thread);
        let of = |set: usize| {
            let words =
                class.iter().zip(thread).zip(self.members.row(set)).map(|((class, thread), set)| class & thread & set);
            words.enumerate().flat_map(|(word, bits)| WordOnes(bits).map(move |bit| word * 64 + bit))
        };
        of(others).nth(of(own).take_while(|&earlier| earlier < s).count())
    }
}
