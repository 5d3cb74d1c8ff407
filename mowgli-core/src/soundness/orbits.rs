//! Orbits: classes of symmetric clients, of which a check searches one.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::client::Client;
use super::question::Question;
use super::renaming::{Canonical, Renaming};
use super::symmetry::Symmetry;
use crate::world::World;

/// The classes of clients that are equal up to a renaming which changes no definition of the check.
pub struct Orbits {
    /// The members of each class, in order.
    members: Vec<Vec<usize>>,
    /// For each client that is the first of its class the number of the class.
    class: BTreeMap<usize, usize>,
    /// The renamings that are allowed.
    pub(super) symmetry: Symmetry,
}

/// The number of clients between two readings of a deadline, because a reading costs more than a client.
const PART: usize = 1_000;

impl Orbits {
    /// Returns the orbits of the clients of a question. After the deadline each client is one.
    #[must_use]
    pub fn of(question: &Question<'_>, clients: &[(World, Client)]) -> Self {
        let symmetry = Symmetry::of(question, clients);
        let found = || symmetric(&symmetry, &question.bound.values, clients, question.expired);
        let found = if symmetry.is_trivial() { None } else { found() };
        let members = found.map_or_else(|| (0..clients.len()).map(|i| vec![i]).collect(), |(members, _)| members);
        let class = members.iter().enumerate().map(|(number, all)| (all[0], number)).collect();
        Self { members, class, symmetry }
    }

    /// Iterates over the orbits.
    pub fn iter(&self) -> impl Iterator<Item = &[usize]> {
        self.members.iter().map(Vec::as_slice)
    }

    /// Returns the orbit of which a client is the first.
    pub(super) fn of_first(&self, i: usize) -> &[usize] {
        &self.members[self.class[&i]]
    }

    /// Returns the first client of each orbit, in order.
    pub(super) fn firsts(&self) -> impl Iterator<Item = usize> + '_ {
        self.class.keys().copied()
    }
}

/// Returns the orbits: the classes of equal canonical forms, split by the renamings that are allowed. Also returns the renaming
/// of each client to its form. Integers other than `values` stay. Returns `None` after the deadline.
pub(super) fn symmetric(
    symmetry: &Symmetry,
    values: &[i64],
    clients: &[(World, Client)],
    expired: &(dyn Fn() -> bool + Sync),
) -> Option<(Vec<Vec<usize>>, Vec<Renaming>)> {
    // Permute the threads only of one client in each class that is equal without that, because permutations are
    // expensive.
    let canonical = |(world, client): &(World, Client)| Renaming::canonical(world, client, values, false);
    let of_part = |part: &[(World, Client)]| (!expired()).then(|| part.iter().map(canonical).collect());
    let parts: Option<Vec<Vec<(Canonical, Renaming)>>> = clients.par_chunks(PART).map(of_part).collect();
    let (forms, mut to_form): (Vec<Canonical>, Vec<Renaming>) = parts?.into_iter().flatten().unzip();
    let mut classes = equal(forms.iter());
    if symmetry.exchanges_threads() {
        let wide = |members: &Vec<usize>| {
            let (world, client) = &forms[members[0]];
            Renaming::canonical(world, client, values, true)
        };
        let of_part = |part: &[Vec<usize>]| (!expired()).then(|| part.iter().map(wide).collect());
        let parts: Option<Vec<Vec<(Canonical, Renaming)>>> = classes.par_chunks(PART).map(of_part).collect();
        let wide: Vec<(Canonical, Renaming)> = parts?.into_iter().flatten().collect();
        for (members, (_, renaming)) in classes.iter().zip(&wide) {
            members.iter().for_each(|&i| to_form[i] = to_form[i].then(renaming));
        }
        let of_narrow = equal(wide.iter().map(|(form, _)| form));
        let all = |narrow: &Vec<usize>| narrow.iter().flat_map(|&n| classes[n].iter().copied()).collect();
        classes = of_narrow.iter().map(all).collect();
    }
    classes.par_iter_mut().for_each(|members| members.sort_unstable());
    let orbits = classes.par_iter().flat_map_iter(|members| split(symmetry, members, clients, &to_form)).collect();
    Some((orbits, to_form))
}

/// Splits a class into orbits. Allowed renamings can be composed and inverted, so it suffices to compare with one member of
/// each orbit.
fn split(symmetry: &Symmetry, members: &[usize], clients: &[(World, Client)], to_form: &[Renaming]) -> Vec<Vec<usize>> {
    let mut orbits: Vec<Vec<usize>> = Vec::new();
    for &i in members {
        let is_of = |orbit: &&mut Vec<usize>| {
            let first = orbit[0];
            symmetry.allows(&to_form[first].and_back(&to_form[i]), &clients[first])
        };
        match orbits.iter_mut().find(is_of) {
            Some(orbit) => orbit.push(i),
            None => orbits.push(vec![i]),
        }
    }
    orbits
}

/// Returns the classes of equals, as positions.
fn equal<'f, T: Ord + 'f>(all: impl Iterator<Item = &'f T>) -> Vec<Vec<usize>> {
    let mut classes: BTreeMap<&T, Vec<usize>> = BTreeMap::new();
    all.enumerate().for_each(|(i, x)| classes.entry(x).or_default().push(i));
    classes.into_values().collect()
}
