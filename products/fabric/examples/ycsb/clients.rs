//! Clients that look up and update keys of a store, some keys much more often than others, as in YCSB.

use mowgli_fabric::{Barrier, Fault, Group, Map, Thread};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Bernoulli, Distribution, Zipf};

use crate::history::{Called, Done};

/// A store and how it is used.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The number of nodes.
    pub nodes: u8,
    /// The number of clients on each node.
    pub clients: usize,
    /// The number of keys of the store. All of them have values.
    pub keys: usize,
    /// The number of times that a client calls the store.
    pub calls: usize,
    /// The part of its calls that are updates. All others look a key up.
    pub updates: f64,
}

/// The exponent of the Zipf distribution of keys. YCSB and LOCO §6.2 use this one.
const THETA: f64 = 0.99;

impl Load {
    /// Makes the group, with this variant of the store or the default one, the store, and a barrier. All threads meet
    /// there after the keys have got their values.
    pub fn group(self, variant: Option<&str>) -> (Group, Map, Barrier) {
        let threads: Vec<u8> = (1..=self.nodes).flat_map(|n| vec![n; self.clients]).collect();
        let group = Group::new(&threads);
        let mut group = if let Some(variant) = variant { group.variant("kvstore", variant) } else { group };
        let map = group.map("m", self.keys);
        let barrier = group.barrier("b", &(0..threads.len()).collect::<Vec<_>>());
        (group, map, barrier)
    }

    /// Runs one thread; `now` is a clock that all threads read. The first calls give the keys their values.
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
        // Clients do different things, even if their seeds differ little.
        let mut random = SmallRng::seed_from_u64(seed ^ (client as u64) << 32);
        let wrong = |why: &dyn std::fmt::Display| Fault::Wrong(why.to_string());
        let key = Zipf::new(self.keys as f64, THETA).map_err(|e| wrong(&e))?;
        let is_update = Bernoulli::new(self.updates).map_err(|e| wrong(&e))?;
        for nth in 0..self.calls {
            let key = key.sample(&mut random) as i64 - 1;
            let begun = now();
            let called = match is_update.sample(&mut random) {
                true => {
                    // This value is given only once.
                    let v = ((nth + 1) * 256 + client) as i64;
                    Called::Update(v, map.update(thread, key, v)?)
                }
                false => Called::Get(map.get(thread, key)?),
            };
            all.push(Done { client, key, called, begun, ended: now() });
        }
        Ok(all)
    }

    /// Gives the keys their values, one after the other, by the first threads of all nodes in turn. The last thread of
    /// each other node serves the change.
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
