//! The key-value store under a load as YCSB has it: how many calls it takes, how long they take, and whether what clients saw is linearisable.
//!
//! `cargo run -p mowgli-fabric --example ycsb -- local` looks at the mixes A, B and C with more and more clients;
//! `... -- machine --variant no-fence --keys 1 --calls 4 --clients 1 --mixes a --times 300` finds a seed with which an update is late.

#[path = "../common/among.rs"]
mod among;
mod clients;
#[path = "../common/growth.rs"]
mod growth;
#[path = "../store/history.rs"]
mod history;
#[path = "../common/place.rs"]
mod place;
#[path = "../common/plot.rs"]
mod plot;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, ValueEnum, value_parser};
use mowgli_fabric::{Fault, Thread};

use clients::Load;
use growth::Growth;
use history::{Called, Done, wrong};
use place::{Over, Place, ended};
use plot::Span;

/// Clients of a key-value store, some of whose keys are used much more often than others.
#[derive(Parser)]
struct Args {
    /// What it runs over.
    fabric: Over,
    /// The variant of the store.
    #[arg(long, default_value = "fenced-delete")]
    variant: String,
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(1..))]
    nodes: u8,
    /// The most clients on each node; first there is one.
    #[arg(long, default_value_t = 4, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    clients: usize,
    #[arg(long, default_value_t = 32, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    keys: usize,
    /// How often a client calls the store.
    #[arg(long, default_value_t = 200, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    calls: usize,
    /// How many of the calls are updates.
    #[arg(long, value_delimiter = ',', default_values = ["a", "b", "c"])]
    mixes: Vec<Mix>,
    /// How often all of this is done, each time with the next seed.
    #[arg(long, default_value_t = 1)]
    times: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Draws a figure.
    #[arg(long)]
    plot: Option<PathBuf>,
}

/// What clients do, by the names of YCSB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Mix {
    /// Half of the calls are updates.
    A,
    /// One of twenty.
    B,
    /// None.
    C,
}

impl Mix {
    fn updates(self) -> f64 {
        match self {
            Self::A => 0.5,
            Self::B => 0.05,
            Self::C => 0.0,
        }
    }
}

fn main() -> ExitCode {
    ended(Args::parse().run())
}

impl Args {
    fn run(&self) -> Result<Option<String>, Fault> {
        let place = Place::new(self.fabric, self.nodes)?;
        let (mut growth, mut calls) = (Growth::default(), 0);
        for &mix in &self.mixes {
            let name = format!("{mix:?}");
            let mut last = Vec::new();
            for clients in 1..=self.clients {
                last = match self.with(&place, mix, clients)? {
                    Ok(runs) => runs,
                    Err(wrong) => return Ok(Some(wrong)),
                };
                calls += last.iter().map(Vec::len).sum::<usize>();
                let runs: Vec<Vec<Span>> = last.iter().map(|run| run.iter().map(span).collect()).collect();
                place.says(&growth.add(&name, usize::from(self.nodes) * clients, &runs));
            }
            let is_update = |done: &Done| matches!(done.called, Called::Update(..));
            for (kind, updates) in [("get", false), ("update", true)] {
                let all = last.iter().flatten().filter(|done| is_update(done) == updates);
                if all.clone().next().is_some() {
                    place.says(&growth.took(format!("{name} {kind}"), all.map(span)));
                }
            }
        }
        if place.speaks() {
            println!("{calls} calls: linearisable");
            self.plot.as_ref().map_or(Ok(()), |file| growth.draw(file))?;
        }
        Ok(None)
    }

    /// What clients have called in each run with so many of them on each node, or what is wrong.
    fn with(&self, place: &Place, mix: Mix, clients: usize) -> Result<Result<Vec<Vec<Done>>, String>, Fault> {
        let &Self { nodes, keys, calls, .. } = self;
        let load = Load { nodes, clients, keys, calls, updates: mix.updates() };
        let (group, map, barrier) = load.group(&self.variant);
        let mut runs = Vec::new();
        for seed in self.seed..self.seed + self.times {
            let run = |thread: &mut Thread<'_>| load.run((map, barrier), thread, seed, || place.now());
            let mut all = place.run(&group, seed, run)?.concat();
            if let Some(of_key) = wrong(&all) {
                let line =
                    |d: &Done| format!("\n  {:>8} to {:>8}  client {}  {:?}", d.begun, d.ended, d.client, d.called);
                let lines: String = of_key.iter().map(line).collect();
                return Ok(Err(format!("not linearisable, with --seed {seed}: calls of key {}{lines}", of_key[0].key)));
            }
            all.retain(|done| !matches!(done.called, Called::Insert(..)));
            runs.push(all);
        }
        Ok(Ok(runs))
    }
}

fn span(done: &Done) -> Span {
    (done.begun, done.ended)
}
