//! A key-value store under load: what its clients see is linearisable, or a history of one key shows that it is not.
//!
//! `cargo run -p mowgli-fabric --example store -- tcp --seconds 60` has a process for each of four nodes;
//! `... -- machine --variant published` tries seeds of the machine until one shows what is wrong with the published deletion.

#[path = "../common/among.rs"]
mod among;
mod history;
mod load;
#[path = "../common/place.rs"]
mod place;

use std::process::ExitCode;
use std::time::Instant;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, value_parser};

use history::{Called, Done, told, wrong};
use load::Load;
use place::{End, Over, Place, ended};

/// A key-value store under load, and whether what its clients see is linearisable.
#[derive(Parser)]
struct Args {
    /// What it runs over.
    fabric: Over,
    /// The variant of the store, by default the sound one.
    #[arg(long)]
    variant: Option<String>,
    /// For how long.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    #[arg(long, default_value_t = 4, value_parser = value_parser!(u8).range(1..))]
    nodes: u8,
    /// Clients on each node.
    #[arg(long, default_value_t = 1)]
    clients: usize,
    #[arg(long, default_value_t = 8, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    keys: usize,
    /// How often a client adds a key or takes it away, until the next store takes the place of this one.
    #[arg(long, default_value_t = 50)]
    changes: usize,
    /// How many other calls come with each of those.
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

    /// One store after the other, until the time is up or one is wrong. Of several processes all have the same calls; only the first one
    /// looks at them, and says what there is to say.
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

/// What was seen.
#[derive(Default)]
struct Seen {
    stores: usize,
    calls: usize,
    /// Of each kind of call, how long those that did something took.
    times: [Vec<u64>; 4],
}

impl Seen {
    /// What is wrong with the calls of a store, if something is.
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
            self.times[kind].push(done.ended - done.begun);
        }
        wrong(all).map(|of_key| told(&of_key, seed))
    }

    fn counted(&self) -> String {
        format!("{} calls of {} stores: linearisable", self.calls, self.stores)
    }

    /// How long calls took.
    fn times(&self) -> String {
        let line = |(kind, times): (&str, &Vec<u64>)| {
            let mut times = times.clone();
            times.sort_unstable();
            let last = times.len().saturating_sub(1) as f64;
            let at = |part: f64| times.get((last * part) as usize).map_or(0.0, |&t| t as f64 / 1000.0);
            format!(
                "{kind:<7} {:>8} calls, us: half {:.0}, 99 of 100 {:.0}, most {:.0}",
                times.len(),
                at(0.5),
                at(0.99),
                at(1.0)
            )
        };
        let kinds = ["get", "update", "insert", "remove"];
        kinds.into_iter().zip(&self.times).map(line).collect::<Vec<_>>().join("\n")
    }
}
