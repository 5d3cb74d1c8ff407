//! Automorphisms of clients: renamings that map a client to itself and change no definition of a check.
//!
//! **Example.** Two threads that both call `Acq(x); Rel(x)` can change places. Two threads that push 1 and 2 can, too, if the
//! values change places with them.
//!
//! **Correct because** [`super::symmetry`] allows the renaming, so executions of the client are mapped to such (docs/search.md,
//! "Automorphisms").

use std::collections::BTreeMap;

use itertools::Itertools;

use super::client::Client;
use super::question::Question;
use super::renaming::Renaming;
use super::symmetry::Symmetry;
use crate::ids::Node;
use crate::search::automorphism::Automorphism;
use crate::term::implementation::add_parts;
use crate::value::Val;
use crate::world::World;

impl Question<'_> {
    /// Returns the automorphisms of a client that these definitions allow, except the identity. Returns none if the images of
    /// locations are not known for each of them, because the search needs a group.
    #[must_use]
    pub fn automorphisms(&self, symmetry: &Symmetry, of: &(World, Client)) -> Vec<Automorphism> {
        if symmetry.is_trivial() || !symmetry.exchanges_threads() || self.crashing.is_some() {
            return Vec::new();
        }
        let (world, client) = of;
        let args = client.threads.iter().flatten().flat_map(|call| &call.args);
        let integers = args.flat_map(|v| v.integers()).filter(|v| symmetry.renames(*v)).sorted().dedup().collect_vec();
        let all = Renaming::automorphisms(of, &integers, |order| symmetry.allows_order(order, world));
        let allowed = all.iter().filter(|renaming| symmetry.allows(renaming, of));
        allowed.map(|renaming| self.automorphism(renaming, world, client)).collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns a renaming of a client with the images of all locations; `None` if one of these is not known.
    fn automorphism(&self, renaming: &Renaming, world: &World, client: &Client) -> Option<Automorphism> {
        let calls = world.tids().flat_map(|t| {
            let image = &client.threads[renaming.thread(t).index()];
            client.threads[t.index()].iter().zip(image)
        });
        let of_args = calls.flat_map(|(a, b)| a.args.iter().zip(&b.args));
        let of_args = of_args.flat_map(|(&a, &b)| parts(a).into_iter().zip(parts(b)));
        let named: BTreeMap<Val, Val> = of_args.filter(|(a, _)| a.loc().is_some()).collect();
        let locations = world.objects.keys().map(|&x| Val::Loc(x)).map(|x| (x, *named.get(&x).unwrap_or(&x)));
        let nodes = (1..=world.nodes).map(|n| (Val::Node(Node(n)), Val::Node(renaming.node(Node(n)))));
        let integers = renaming.integers().map(|(v, w)| (Val::Int(v), Val::Int(w)));
        let mut found = Automorphism {
            threads: world.tids().map(|t| renaming.thread(t)).collect(),
            names: locations.chain(nodes).chain(integers).collect(),
        };
        let mut world = world.clone();
        for implementation in &self.chain {
            let Some(parts) = implementation.parts() else { continue };
            for owner in world.locations(implementation.target()).into_iter().map(Some).chain([None]) {
                let image = owner.and_then(|x| found.image(x.into())?.loc());
                let images = parts.names(&world, image);
                for ((part, values), names) in parts.names(&world, owner) {
                    // It is not known whether an integer in a name is one of the client.
                    let image = |v: Val| found.image(v).filter(|&w| w == v || v.integers().is_empty());
                    let values = values.into_iter().map(image).collect::<Option<Vec<Val>>>()?;
                    found.names.extend(names.into_iter().zip(images.get(&(part, values))?.iter().copied()));
                }
            }
            add_parts(&**implementation, &mut world);
        }
        Some(found)
    }
}

/// Returns the parts of a tuple, and of tuples in it; for other values the value itself.
fn parts(v: Val) -> Vec<Val> {
    if let Val::Tuple(tuple) = v { tuple.parts().iter().flat_map(|&v| parts(v)).collect() } else { vec![v] }
}
