//! Areas of memory: classes of cells that are related because some call below copies from one to the other.
//!
//! A goal about one area is tried first without names for the subevents of the others. This makes fewer instances, and
//! it is sound because fewer instances prove fewer goals.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{passed_to, result_of};
use crate::smt::term::Term;
use crate::template::kind::{Kind, Role};

/// The number of an area.
pub type Area = usize;

/// The areas of the cells of implementations.
pub struct Areas {
    /// The areas, by the text of a cell's pattern.
    of_cells: BTreeMap<String, Area>,
    /// The areas of the symbols that stand for subevents, results and computed arguments.
    of_symbols: BTreeMap<String, Area>,
}

impl Areas {
    /// Returns the areas of the implementations of these calls.
    #[must_use]
    pub fn of(kinds: &[Kind]) -> Self {
        let mut of_cells: BTreeMap<String, Area> = BTreeMap::new();
        let events = kinds.iter().flat_map(|kind| (0..kind.made.len()).map(move |event| (kind, event)));
        for (kind, event) in events.clone() {
            let cells: Vec<&String> = cells_of(kind, event).map(|(_, cell)| cell).collect();
            let known: BTreeSet<Area> = cells.iter().filter_map(|cell| of_cells.get(*cell).copied()).collect();
            let area = known.first().copied().unwrap_or(of_cells.len());
            of_cells.values_mut().filter(|a| known.contains(a)).for_each(|a| *a = area);
            of_cells.extend(cells.into_iter().map(|cell| (cell.clone(), area)));
        }
        let mut of_symbols = BTreeMap::new();
        for (kind, event) in events {
            for (role, cell) in cells_of(kind, event) {
                let passed = kind.passed().into_iter().filter(|(of, _)| *of == event);
                let names = passed.map(|(_, argument)| passed_to(&kind.name, event, argument));
                let names = names.chain([format!("the.{}", role.name), result_of(&kind.name, event)]);
                of_symbols.extend(names.map(|name| (name, of_cells[cell])));
            }
        }
        Self { of_cells, of_symbols }
    }

    /// Returns the area of the cell that a subevent reads or writes.
    #[must_use]
    pub fn of_role(&self, role: &Role) -> Option<Area> {
        self.of_cells.get(&role.cell.as_ref()?.text).copied()
    }

    /// Returns the areas of the symbols in a term, unless these are all areas.
    #[must_use]
    pub fn spoken_of(&self, term: &Term) -> Option<BTreeSet<Area>> {
        let mut found = BTreeSet::new();
        self.add(term, &mut found);
        self.of_cells.values().any(|area| !found.contains(area)).then_some(found)
    }

    fn add(&self, term: &Term, found: &mut BTreeSet<Area>) {
        match term {
            Term::App(name, to) => {
                found.extend(self.of_symbols.get(&**name));
                to.iter().for_each(|part| self.add(part, found));
            }
            Term::All(_, body) | Term::Any(_, body) | Term::AllAt(_, body, _) => self.add(body, found),
        }
    }
}

/// Returns the subevents of an event that have a cell, with the text of the cell's pattern.
fn cells_of(kind: &Kind, event: usize) -> impl Iterator<Item = (&Role, &String)> {
    let of_event = kind.concrete.iter().filter(move |role| role.position.0 == event);
    of_event.filter_map(|role| Some((role, &role.cell.as_ref()?.text)))
}

#[cfg(test)]
mod tests {
    use mowgli_libraries::catalogue::{catalogue, named};

    use super::*;
    use crate::smt::term::{app, symbol};
    use crate::template::source::ProofSource;

    /// Calls copy each word of a state to and from words of a thread, and never to another word of the state.
    #[test]
    fn what_is_copied_is_of_one_area() {
        let all = catalogue();
        let entry = named(&all, "queue").unwrap();
        let source = ProofSource::published(entry);
        let kinds = source.kinds().unwrap();
        let areas = Areas::of(&kinds);
        let of_word = |word: &str| -> Vec<Area> {
            areas.of_cells.iter().filter(|(cell, _)| cell.contains(word)).map(|(_, area)| *area).collect()
        };
        let [first, second] = ["_0", "_1"].map(of_word);
        assert!(first.len() == 3 && second.len() == 3, "{:?}", areas.of_cells);
        assert!(first.iter().all(|area| *area == first[0]) && second.iter().all(|area| *area == second[0]));
        assert_ne!(first[0], second[0]);
        let reads = kinds.iter().flat_map(|kind| &kind.concrete).filter(|role| areas.of_role(role) == Some(second[0]));
        let speaks = |role: &Role| areas.spoken_of(&app("hb", [symbol(&format!("the.{}", role.name))]));
        assert!(reads.map(speaks).all(|spoken| spoken == Some([second[0]].into())));
        assert_eq!(areas.spoken_of(&symbol("other")), Some(BTreeSet::new()));
    }
}
