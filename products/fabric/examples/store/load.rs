//! Clients of a store: some on each node, and one more thread that serves the changes of other nodes.

use mowgli_fabric::{Fault, Group, Map, Thread};

use crate::history::{Called, Done};

/// A store and how it is used.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The number of nodes.
    pub nodes: u8,
    /// The number of clients on each node.
    pub clients: usize,
    /// The number of keys of the store.
    pub keys: usize,
    /// The number of times that each client inserts or removes a key.
    pub changes: usize,
    /// The number of other calls before each of those. Among twenty, nineteen look a key up, and one updates it.
    pub others: usize,
}

impl Load {
    /// Makes the group and the store.
    pub fn group(self) -> (Group, Map) {
        let nodes: Vec<u8> = (1..=self.nodes).flat_map(|n| vec![n; self.clients + 1]).collect();
        let mut group = Group::new(&nodes);
        let map = group.map("m", self.keys);
        (group, map)
    }

    /// Runs one thread; `now` is a clock that all threads read. The last thread of a node is not a client.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn run(self, map: Map, thread: &mut Thread<'_>, seed: u64, now: impl Fn() -> u64) -> Result<Vec<Done>, Fault> {
        let number = thread.id().index();
        if number % (self.clients + 1) == self.clients {
            let far = (usize::from(self.nodes) - 1) * self.clients;
            (0..far * self.changes).try_for_each(|_| map.serve(thread))?;
            return Ok(Vec::new());
        }
        let mut client = Client { map, number, random: fastrand::Rng::with_seed(seed), now, all: Vec::new() };
        // Clients do different things, even if their seeds differ little.
        (0..=number).for_each(|_| client.random = client.random.fork());
        for _ in 0..self.changes {
            for _ in 0..self.others {
                let key = client.random.i64(0..self.keys as i64);
                if client.random.u8(..20) == 0 { client.update(thread, key)? } else { client.get(thread, key)? }
            }
            let key = client.random.i64(0..self.keys as i64);
            client.change(thread, key)?;
        }
        Ok(client.all)
    }
}

struct Client<F> {
    map: Map,
    number: usize,
    random: fastrand::Rng,
    now: F,
    all: Vec<Done>,
}

impl<F: Fn() -> u64> Client<F> {
    fn done<T>(
        &mut self,
        thread: &mut Thread<'_>,
        key: i64,
        call: impl FnOnce(&mut Thread<'_>) -> Result<T, Fault>,
        called: impl FnOnce(&T) -> Called,
    ) -> Result<T, Fault> {
        let begun = (self.now)();
        let result = call(thread)?;
        let ended = (self.now)();
        self.all.push(Done { client: self.number, key, called: called(&result), begun, ended });
        Ok(result)
    }

    /// Returns a value that only this client gives to a key.
    fn value(&self) -> i64 {
        (self.all.len() * 64 + self.number) as i64
    }

    fn get(&mut self, thread: &mut Thread<'_>, key: i64) -> Result<(), Fault> {
        let map = self.map;
        self.done(thread, key, |thread| map.get(thread, key), |&found| Called::Get(found)).map(|_| ())
    }

    fn update(&mut self, thread: &mut Thread<'_>, key: i64) -> Result<(), Fault> {
        let (map, v) = (self.map, self.value());
        self.done(thread, key, |thread| map.update(thread, key, v), |&known| Called::Update(v, known)).map(|_| ())
    }

    /// Inserts or removes a key, whichever is possible, so that the other nodes have to serve just one change.
    fn change(&mut self, thread: &mut Thread<'_>, key: i64) -> Result<(), Fault> {
        let map = self.map;
        loop {
            let v = self.value();
            if self.done(thread, key, |thread| map.insert(thread, key, v), |&new| Called::Insert(v, new))?
                || self.done(thread, key, |thread| map.remove(thread, key), |&known| Called::Remove(known))?
            {
                return Ok(());
            }
        }
    }
}
