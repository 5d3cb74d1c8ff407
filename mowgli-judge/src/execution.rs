//! Executions `<E, po, stmp, so, hb>` with their choices (LOCO §3.2). An execution never changes once it is built.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::algebra::ChoiceRole;
use crate::event::{Cell, Event, Sub};
use crate::ids::{Name, Tid};
use crate::library::Libraries;
use crate::value::Val;
use crate::world::World;

/// A relation as a set of pairs.
pub type Pairs = BTreeSet<(usize, usize)>;

/// A subevent with the values that it read and wrote.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Subevent {
    /// Its event.
    pub event: usize,
    /// Stamp and effect.
    pub sub: Sub,
    /// `v_R`.
    pub read: Option<Val>,
    /// `v_W`.
    pub wrote: Option<Val>,
}

/// A call that an implementation has replaced. [`Execution::groups`] maps its events to it: f of LOCO Def. 3.11.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Abstracted {
    /// The call and its result.
    pub event: Event,
    /// The replaced call that made it, if an implementation did.
    pub parent: Option<usize>,
}

/// One choice of a library, filled in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Chosen {
    /// The library.
    pub library: Name,
    /// The name of the choice in its specification.
    pub name: String,
    /// The pairs of subevents.
    pub pairs: Vec<(usize, usize)>,
}

/// An execution with every choice filled in. so and hb follow from the choices; the judge derives them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Execution {
    /// The surroundings.
    pub world: World,
    /// The events, thread by thread, each thread's in program order.
    pub events: Vec<Event>,
    /// The subevents, event by event.
    pub subs: Vec<Subevent>,
    /// The choices.
    pub chosen: Vec<Chosen>,
    /// The output of each thread.
    pub outputs: Vec<Val>,
    /// The calls that were replaced, thread by thread.
    pub calls: Vec<Abstracted>,
    /// For each event the innermost replaced call that it is part of.
    pub groups: Vec<Option<usize>>,
}

impl Execution {
    /// Returns the events of one thread, by position.
    pub fn of_thread(&self, thread: Tid) -> impl Iterator<Item = usize> + '_ {
        (0..self.events.len()).filter(move |&e| self.events[e].thread == thread)
    }

    /// Returns the choices that have this role in the specifications of their libraries.
    pub fn chosen_as(&self, libraries: &Libraries, role: ChoiceRole) -> impl Iterator<Item = &Chosen> {
        let is = move |c: &&Chosen| libraries.spec(c.library).and_then(|spec| spec.role(&c.name)) == Some(role);
        self.chosen.iter().filter(is)
    }

    /// Returns the value that the last write of a cell wrote; `None` if no subevent writes it.
    #[must_use]
    pub fn last(&self, libraries: &Libraries, cell: Cell) -> Option<Val> {
        self.last_write(libraries, cell).and_then(|w| self.subs[w].wrote)
    }

    /// Returns the subevent that writes a cell last; `None` if no subevent writes it.
    #[must_use]
    pub fn last_write(&self, libraries: &Libraries, cell: Cell) -> Option<usize> {
        self.last_writes(libraries, cell).first().copied()
    }

    /// Returns the last writes of a cell: those that no order of its library puts before another write. Without an order all
    /// writes are last.
    #[must_use]
    pub fn last_writes(&self, libraries: &Libraries, cell: Cell) -> Vec<usize> {
        let is_write = |w: usize| self.subs[w].sub.cell == Some(cell) && self.subs[w].wrote.is_some();
        let pairs = self.chosen_as(libraries, ChoiceRole::Order).flat_map(|order| &order.pairs);
        let overwritten: BTreeSet<usize> = pairs.filter(|(_, later)| is_write(*later)).map(|(w, _)| *w).collect();
        (0..self.subs.len()).filter(|&w| is_write(w) && !overwritten.contains(&w)).collect()
    }

    /// Returns the restriction to some events, and for each of its subevents the position that it had. The restriction
    /// has no replaced calls.
    #[must_use]
    pub fn restricted(&self, keep: impl Fn(usize) -> bool) -> (Self, Vec<usize>) {
        let events: Vec<usize> = (0..self.events.len()).filter(|&e| keep(e)).collect();
        let kept: Vec<usize> = (0..self.subs.len()).filter(|&s| keep(self.subs[s].event)).collect();
        let event = |old: usize| events.binary_search(&old).expect("an event that is kept");
        let sub = |&(a, b): &(usize, usize)| Some((kept.binary_search(&a).ok()?, kept.binary_search(&b).ok()?));
        let chosen = self.chosen.iter();
        let execution = Self {
            world: self.world.clone(),
            events: events.iter().map(|&e| self.events[e].clone()).collect(),
            subs: kept.iter().map(|&s| Subevent { event: event(self.subs[s].event), ..self.subs[s].clone() }).collect(),
            chosen: chosen.map(|c| Chosen { pairs: c.pairs.iter().filter_map(sub).collect(), ..c.clone() }).collect(),
            outputs: Vec::new(),
            calls: Vec::new(),
            groups: vec![None; events.len()],
        };
        (execution, kept)
    }

    /// Computes `ppo` (LOCO §3.2).
    #[must_use]
    pub fn ppo(&self, libraries: &Libraries) -> Pairs {
        let n = self.subs.len();
        let is_ordered = |&(a, b): &(usize, usize)| {
            self.before_in_thread(a, b) && libraries.to(self.subs[a].sub.stamp, self.subs[b].sub.stamp)
        };
        (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(is_ordered).collect()
    }

    /// True if program order, lifted to subevents, has (a, b).
    #[must_use]
    pub fn before_in_thread(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.subs[a].event, self.subs[b].event);
        a < b && self.events[a].thread == self.events[b].thread
    }
}
