//! Orbits: classes of clients that may be symmetric.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::client::Client;
use super::renaming::{Canonical, Renaming};
use crate::world::World;

/// The classes of clients that may be symmetric.
pub(super) struct Orbits {
    /// For each client the number of its class of equal canonical forms.
    class: Vec<usize>,
    /// The renaming of each client to its canonical form.
    to_form: Vec<Renaming>,
    /// The members of each class, in order.
    members: Vec<Vec<usize>>,
}

impl Orbits {
    pub(super) fn of(clients: &[(World, Client)], values: &[i64]) -> Self {
        // Permute the threads only of one client in each class that is equal without that, because permutations are
        // expensive.
        let canonical = |(world, client): &(World, Client)| Renaming::canonical(world, client, values, false);
        let (forms, mut to_form): (Vec<Canonical>, Vec<Renaming>) = clients.par_iter().map(canonical).unzip();
        let (narrow, of_narrow) = classes(forms.iter());
        let wide: Vec<(Canonical, Renaming)> = of_narrow
            .par_iter()
            .map(|members| {
                let (world, client) = &forms[members[0]];
                Renaming::canonical(world, client, values, true)
            })
            .collect();
        let (wide_of_narrow, _) = classes(wide.iter().map(|(form, _)| form));
        for (renaming, &class) in to_form.iter_mut().zip(&narrow) {
            *renaming = renaming.then(&wide[class].1);
        }
        let class: Vec<usize> = narrow.iter().map(|&class| wide_of_narrow[class]).collect();
        let mut members = vec![Vec::new(); of_narrow.len()];
        class.iter().enumerate().for_each(|(i, &class)| members[class].push(i));
        Self { class, to_form, members }
    }

    /// Returns the first client of each class among `left`, each with the later ones of its class that are not known
    /// yet.
    pub(super) fn firsts(&self, left: &[usize], is_known: &[bool]) -> Vec<(usize, Vec<usize>)> {
        let mut seen = BTreeSet::new();
        let later = |i: usize| {
            self.members[self.class[i]].iter().copied().filter(|&j| j > i && !is_known[j]).collect::<Vec<_>>()
        };
        left.iter().filter(|i| seen.insert(self.class[**i])).map(|&i| (i, later(i))).collect()
    }

    /// Returns the members of each class, in order.
    pub(super) fn all_members(&self) -> Vec<Vec<usize>> {
        self.members.iter().filter(|members| !members.is_empty()).cloned().collect()
    }

    /// Returns the clients of the class of this one, in order.
    pub(super) fn alike(&self, i: usize) -> Vec<usize> {
        self.members[self.class[i]].clone()
    }

    /// Returns the first client of each class.
    pub(super) fn all_firsts(&self) -> Vec<usize> {
        self.members.iter().filter_map(|members| members.first().copied()).collect()
    }

    /// Returns the renaming of one client to another one.
    pub(super) fn between(&self, i: usize, j: usize) -> Renaming {
        self.to_form[i].and_back(&self.to_form[j])
    }
}

/// Returns for each of `all` the number of its class of equals, and the members of each class.
fn classes<'f, T: Ord + 'f>(all: impl Iterator<Item = &'f T>) -> (Vec<usize>, Vec<Vec<usize>>) {
    let (mut numbers, mut members): (BTreeMap<&T, usize>, Vec<Vec<usize>>) = Default::default();
    let mut number = |(i, x): (usize, &'f T)| {
        let class = *numbers.entry(x).or_insert(members.len());
        if class == members.len() {
            members.push(Vec::new());
        }
        members[class].push(i);
        class
    };
    let of = all.enumerate().map(&mut number).collect();
    (of, members)
}
