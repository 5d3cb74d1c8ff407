//! The stamp order, by families of stamps.

use std::collections::{BTreeMap, BTreeSet};

use mowgli_core::ids::Node;
use mowgli_core::library::Libraries;
use mowgli_core::stamp::Stamp;

use crate::error::{Refusal, refusal};
use crate::smt::term::{Term, equal, not, truth};
use crate::template::kind::NODES;

/// The order of two families of stamps: for equal nodes, and for different nodes.
type Ordered = (bool, bool);

/// The stamp order, by families.
pub struct Stamps {
    pub(crate) order: BTreeMap<(String, String), Ordered>,
    /// The families, with whether they have a member for each node.
    pub families: Vec<(String, bool)>,
}

impl Stamps {
    /// Returns the order of a set of libraries.
    ///
    /// # Errors
    /// If the order depends on more than whether two nodes are equal.
    pub fn of(libraries: &Libraries) -> Result<Self, Refusal> {
        let named = |stamp: Stamp| (stamp.family(), stamp.node());
        let all: Vec<(Stamp, (String, Option<Node>))> =
            libraries.stamps(NODES).into_iter().map(|s| (s, named(s))).collect();
        let mut order: BTreeMap<(String, String), (Option<bool>, Option<bool>)> = BTreeMap::new();
        for (a, (f, m)) in &all {
            for (b, (g, n)) in &all {
                let known = order.entry((f.clone(), g.clone())).or_default();
                let is = libraries.to(*a, *b);
                let with_nodes = m.is_some() && n.is_some();
                let places = if with_nodes && m != n { [false, true] } else { [true, !with_nodes] };
                for (matters, known) in places.into_iter().zip([&mut known.0, &mut known.1]) {
                    if matters && *known.get_or_insert(is) != is {
                        return Err(refusal!("whether {f} is before {g} depends on which nodes they are for"));
                    }
                }
            }
        }
        let order = order.into_iter().map(|(k, (x, y))| (k, (x == Some(true), y == Some(true)))).collect();
        let families: BTreeSet<(String, bool)> = all.into_iter().map(|(_, (f, n))| (f, n.is_some())).collect();
        Ok(Self { order, families: families.into_iter().collect() })
    }

    /// Returns the formula "this stamp is before that one".
    pub(super) fn before(&self, (f, m): (&str, Option<Term>), (g, n): (&str, Option<Term>)) -> Term {
        self.ordered(f, g, &equal(m.unwrap_or(truth(true)), n.unwrap_or(truth(true))))
    }

    /// Returns the formula "a stamp of the first family is before one of the second". `same` says that they have equal
    /// nodes, or no nodes.
    pub(super) fn ordered(&self, f: &str, g: &str, same: &Term) -> Term {
        match self.order.get(&(f.to_owned(), g.to_owned())) {
            None | Some((false, false)) => truth(false),
            Some((true, true)) => truth(true),
            Some((true, false)) => same.clone(),
            Some((false, true)) => not(same),
        }
    }
}
