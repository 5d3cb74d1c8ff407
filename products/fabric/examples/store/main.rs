//! A key-value store under load. Its clients' calls are linearisable, or a history of one key shows that they are not.
//!
//! `cargo run -p mowgli-fabric --example store -- tcp --seconds 60` has a process for each of four nodes;
//! `... -- machine --variant published` tries seeds of the machine until one shows the error of the published deletion.

#[path = "../common/among.rs"]
mod among;
mod history;
mod load;
#[path = "../common/place.rs"]
mod place;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, value_parser};

use history::{Called, Done, reported, wrong};
use load::Load;
use place::{End, Over, Place, ended};

/// Puts load on a key-value store, and checks that its clients' calls are linearisable.
#[derive(Parser)]
struct Args {
    /// The fabric to run over.
    fabric: Over,
    /// The variant of the store, by default the sound one.
    #[arg(long)]
    variant: Option<String>,
    /// The running time in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    #[arg(long, default_value_t = 4, value_parser = value_parser!(u8).range(1..))]
    nodes: u8,
    /// Clients on each node.
    #[arg(long, default_value_t = 1)]
    clients: usize,
    #[arg(long, default_value_t = 8, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    keys: usize,
    /// The number of times that a client inserts or removes a key, until the next store takes the place of this one.
    #[arg(long, default_value_t = 50)]
    changes: usize,
    /// The number of other calls before each of those.
    #[arg(long, default_value_t = 20)]
    others: usize,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

fn main() -> ExitCode {
    ended(Args::parse().run())
}

impl Args {
    fn load(&self) -> Load {
        let &Self { nodes, clients, keys, changes, others, .. } = self;
        Load { nodes, clients, keys, changes, others }
    }

    /// Runs one store after the other, until the time is up or one is wrong. All processes receive the calls of all,
    /// but only the first one checks them and prints.
    fn run(&self) -> Result<(), End> {
        let place = Place::new(self.fabric, self.nodes)?;
        let load = self.load();
        let (group, map) = load.group(self.variant.as_deref());
        let start = Instant::now();
        let mut seen = Seen::default();
        for seed in self.seed.. {
            let all = place.run(&group, seed, |thread| load.run(map, thread, seed, || place.now()))?.concat();
            let wrong = if place.speaks() { seen.add(&all, seed) } else { None };
            if place.agrees(wrong.is_some() || start.elapsed().as_secs() >= self.seconds)? {
                wrong.map_or(Ok(()), |wrong| Err(End::Wrong(wrong)))?;
                break;
            }
        }
        if place.speaks() {
            println!("{}", seen.counted());
        }
        place.says(&seen.times());
        Ok(())
    }
}

/// The calls of all stores.
#[derive(Default)]
struct Seen {
    stores: usize,
    calls: usize,
    /// For each kind of call, the durations of those that did something, and how many calls had each. The first six bits of a duration
    /// count, so that memory does not grow with the calls.
    times: [BTreeMap<u64, usize>; 4],
}

impl Seen {
    /// Counts the calls of a store, and describes what is wrong with them, if something is.
    fn add(&mut self, all: &[Done], seed: u64) -> Option<String> {
        self.stores += 1;
        self.calls += all.len();
        for done in all {
            let kind = match done.called {
                Called::Get(_) => 0,
                Called::Update(_, true) => 1,
                Called::Insert(_, true) => 2,
                Called::Remove(true) => 3,
                Called::Update(..) | Called::Insert(..) | Called::Remove(..) => continue,
            };
            let time = done.ended - done.begun;
            let rest = (64 - time.leading_zeros()).saturating_sub(6);
            *self.times[kind].entry(time >> rest << rest).or_default() += 1;
        }
        wrong(all).map(|of_key| reported(&of_key, seed))
    }

    fn counted(&self) -> String {
        format!("{} calls of {} stores: linearisable", self.calls, self.stores)
    }

    /// Describes the durations of calls.
    fn times(&self) -> String {
        let line = |(kind, times): (&str, &BTreeMap<u64, usize>)| {
            let calls: usize = times.values().sum();
            let at = |part: f64| {
                let mut before = (calls.saturating_sub(1) as f64 * part) as usize;
                let is_there = |(_, count): &(&u64, &usize)| {
                    let is_there = before < **count;
                    before = before.saturating_sub(**count);
                    is_there
                };
                times.iter().find(is_there).map_or(0.0, |(&time, _)| time as f64 / 1000.0)
            };
            format!(
                "{kind:<7} {calls:>8} calls, us: half {:.1}, 99 of 100 {:.0}, most {:.0}",
                at(0.5),
                at(0.99),
                at(1.0)
            )
        };
        let kinds = ["get", "update", "insert", "remove"];
        kinds.into_iter().zip(&self.times).map(line).collect::<Vec<_>>().join("\n")
    }
}
