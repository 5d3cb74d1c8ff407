//! How the clients of a check are dealt to the processes that share it.
//!
//! Clients that may be one another, renamed, are best together, so that one search does for all of them. But a few heavy ones
//! can be a large part of all work, and what may be a renaming often is none: an implementation that goes through nodes in the
//! order of their numbers is not the same after they change places. So of the heaviest it is looked at how they begin, and those
//! that differ there are dealt one by one. Wherever a client goes, the report is the same; it is only looked at twice in vain
//! if it is another one, renamed, after all.

use itertools::Itertools;
use rayon::prelude::*;

use super::client::Client;
use super::ledger::Piece;
use super::orbits::Orbits;
use super::question::Question;
use super::renaming::{Side, relates};
use crate::flow;
use crate::ids::Name;
use crate::value::Val;
use crate::world::World;

/// For each piece the beginnings of so many of the heaviest classes are looked at.
const HEAVY: usize = 8;

/// How many states a beginning has.
const STATES: u64 = 4;

/// Which of the clients a piece has. Those that may be one another, renamed, are together, but for heavy ones; all are dealt in
/// turn, light ones first, and one after the other those that make the same calls, so that neither the heavy ones meet nor those
/// that take about as long.
pub(super) fn dealt(
    question: &Question<'_>,
    piece: Piece,
    clients: &[(World, Client)],
    orbits: &Orbits,
    sides: &[Side<'_>; 2],
) -> Vec<bool> {
    let key = |i: usize| (weight(&clients[i].1), shape(&clients[i].1), i);
    let mut classes = orbits.all_members();
    classes.sort_by_cached_key(|class| key(class[0]));
    let many = classes.iter().positions(|class| class.len() > 1).collect_vec();
    let heavy = many.iter().rev().take(HEAVY * piece.of()).copied().collect_vec();
    let split: Vec<Vec<Vec<usize>>> =
        heavy.par_iter().map(|&n| units(question, clients, &classes[n], orbits, sides)).collect();
    for (n, mut units) in heavy.into_iter().zip(split) {
        classes[n] = units.remove(0);
        classes.extend(units);
    }
    classes.sort_by_cached_key(|unit| key(unit[0]));
    let mut is_here = vec![false; clients.len()];
    for (_, unit) in classes.iter().enumerate().filter(|(place, _)| piece.has(*place)) {
        unit.iter().for_each(|&i| is_here[i] = true);
    }
    is_here
}

/// The members of a class, apart where they begin in different ways. The first unit has the first of them.
fn units(
    question: &Question<'_>,
    clients: &[(World, Client)],
    class: &[usize],
    orbits: &Orbits,
    sides: &[Side<'_>; 2],
) -> Vec<Vec<usize>> {
    let mut left = class.to_vec();
    let mut units = Vec::new();
    while let Some((&first, others)) = left.split_first() {
        let mut unit = vec![first];
        let (world, client) = &clients[first];
        question.implemented(world, client, |problem| {
            flow::glance(problem, STATES, &mut |transcript| {
                unit.extend(others.iter().copied().filter(|&i| {
                    let ((world, client), renaming) = (&clients[i], orbits.between(first, i));
                    question.implemented(world, client, |other| relates(&renaming, transcript, other, sides.each_ref()))
                }));
            });
        });
        left.retain(|i| !unit.contains(i));
        units.push(unit);
    }
    units
}

/// How heavy a client is, roughly: the number of its calls and of what they are given beyond one thing, as the nodes that a
/// broadcast goes to.
pub(super) fn weight(client: &Client) -> usize {
    fn size(value: &Val) -> usize {
        match value {
            Val::Nodes(nodes) => nodes.iter().count(),
            Val::Tuple(parts) => parts.parts().iter().map(size).sum(),
            _ => 0,
        }
    }
    client.threads.iter().flatten().map(|call| 1 + call.args.iter().map(size).sum::<usize>()).sum()
}

/// What clients have in common that take about as long: the methods that their threads call.
pub(super) fn shape(client: &Client) -> Vec<Vec<Name>> {
    let threads = client.threads.iter().map(|calls| calls.iter().map(|call| call.method).sorted().collect_vec());
    threads.sorted_by_key(|methods| (methods.len(), methods.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Call;
    use crate::ids::{Node, NodeSet};

    #[test]
    fn what_goes_to_more_nodes_is_heavier() {
        let call = |nodes: &[u8]| {
            let nodes = nodes.iter().map(|&n| Node(n)).collect::<NodeSet>();
            Call::new(Name::literal("sv"), "GF", &[Val::Nodes(nodes)])
        };
        let client = |calls: &[Call]| Client { threads: vec![calls.to_vec()] };
        assert_eq!(
            [client(&[]), client(&[call(&[1])]), client(&[call(&[1, 2]), call(&[2])])].map(|c| weight(&c)),
            [0, 2, 5]
        );
    }
}
