//! Clients that look up and update keys of a store, some keys much more often than others, as YCSB has it.

use mowgli_fabric::{Barrier, Fault, Group, Map, Thread};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Bernoulli, Distribution, Zipf};

use crate::history::{Called, Done};

/// A store and how it is used.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many nodes there are.
    pub nodes: u8,
    /// How many clients each of them has.
    pub clients: usize,
    /// How many keys the store has, all of which have values.
    pub keys: usize,
    /// How often a client calls the store.
    pub calls: usize,
    /// How many of its calls are updates; all others look a key up.
    pub updates: f64,
}

/// How much more often the first keys are used than the others: the number of YCSB, and of LOCO §6.2.
const THETA: f64 = 0.99;

impl Load {
    /// The group, with this variant of the store or the default one, the store, and where all meet before and after its keys get their values.
    pub fn group(self, variant: Option<&str>) -> (Group, Map, Barrier) {
        let threads: Vec<u8> = (1..=self.nodes).flat_map(|n| vec![n; self.clients]).collect();
        let group = Group::new(&threads);
        let mut group = if let Some(variant) = variant { group.variant("kvstore", variant) } else { group };
        let map = group.map("m", self.keys);
        let barrier = group.barrier("b", &(0..threads.len()).collect::<Vec<_>>());
        (group, map, barrier)
    }

    /// What one thread does; `now` is a clock that all threads read. The first calls give the keys their values.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn run(
        self,
        (map, barrier): (Map, Barrier),
        thread: &mut Thread<'_>,
        seed: u64,
        now: impl Fn() -> u64,
    ) -> Result<Vec<Done>, Fault> {
        let client = thread.id().index();
        let mut all = self.filled(map, thread, &now)?;
        barrier.wait(thread)?;
        // Clients do different things, however small the differences of their seeds are.
        let mut random = SmallRng::seed_from_u64(seed ^ (client as u64) << 32);
        let wrong = |why: &dyn std::fmt::Display| Fault::Wrong(why.to_string());
        let key = Zipf::new(self.keys as f64, THETA).map_err(|e| wrong(&e))?;
        let is_update = Bernoulli::new(self.updates).map_err(|e| wrong(&e))?;
        for nth in 0..self.calls {
            let key = key.sample(&mut random) as i64 - 1;
            let begun = now();
            let called = match is_update.sample(&mut random) {
                true => {
                    // A value that nobody else gives to a key.
                    let v = ((nth + 1) * 256 + client) as i64;
                    Called::Update(v, map.update(thread, key, v)?)
                }
                false => Called::Get(map.get(thread, key)?),
            };
            all.push(Done { client, key, called, begun, ended: now() });
        }
        Ok(all)
    }

    /// Gives the keys their values, one after the other, by the first threads of all nodes in turn. The last thread of each other node
    /// takes note of it.
    fn filled(self, map: Map, thread: &mut Thread<'_>, now: &impl Fn() -> u64) -> Result<Vec<Done>, Fault> {
        let client = thread.id().index();
        let (own, place) = (client / self.clients, client % self.clients);
        let mut all = Vec::new();
        for key in 0..self.keys {
            let node = key % usize::from(self.nodes);
            if (node, 0) == (own, place) {
                let (begun, key) = (now(), key as i64);
                let called = Called::Insert(-key, map.insert(thread, key, -key)?);
                all.push(Done { client, key, called, begun, ended: now() });
            } else if node != own && place == self.clients - 1 {
                map.serve(thread)?;
            }
        }
        Ok(all)
    }
}
