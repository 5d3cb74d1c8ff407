//! The key-value store under a load as in YCSB. It measures throughput and latency, and checks that the clients' calls
//! are linearisable.
//!
//! `cargo run -p mowgli-fabric --example ycsb -- local` runs the mixes A, B and C with more and more clients; `... --
//! machine --variant no-fence --keys 1 --calls 4 --clients 1 --mixes a --times 300` finds a seed with which an update
//! is late.

mod clients;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/growth.rs"]
mod growth;
#[path = "../store/history.rs"]
mod history;

use std::process::ExitCode;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, ValueEnum, value_parser};
use mowgli_fabric::Thread;

use clients::Load;
use common::place::{End, Over, Place, ended};
use common::plot::Span;
use common::repeat::Repeat;
use growth::Growth;
use history::{Called, Done, wrong};

/// Puts load on a key-value store, some of whose keys are used much more often than others.
#[derive(Parser)]
struct Args {
    /// The fabric to run over.
    fabric: Over,
    /// The variant of the store, by default the sound one.
    #[arg(long)]
    variant: Option<String>,
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(1..))]
    nodes: u8,
    /// The largest number of clients on each node. The runs begin with one.
    #[arg(long, default_value_t = 4, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    clients: usize,
    #[arg(long, default_value_t = 32, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    keys: usize,
    /// The number of times that a client calls the store.
    #[arg(long, default_value_t = 200, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    calls: usize,
    /// The mixes of calls, by their names in YCSB.
    #[arg(long, value_delimiter = ',', default_values = ["a", "b", "c"])]
    mixes: Vec<Mix>,
    #[command(flatten)]
    repeat: Repeat,
}

/// A mix of calls, by its name in YCSB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Mix {
    /// Half of the calls are updates.
    A,
    /// One of twenty calls is an update.
    B,
    /// All calls look a key up.
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
    fn run(&self) -> Result<(), End> {
        let place = Place::new(self.fabric, self.nodes)?;
        let mut growth = Growth::default();
        for &mix in &self.mixes {
            let name = format!("{mix:?}");
            let runs = |clients| self.runs(&place, mix, clients);
            let last = growth.grow(&place, &name, (self.nodes, self.clients), span, runs)?;
            let is_update = |done: &Done| matches!(done.called, Called::Update(..));
            for (kind, updates) in [("get", false), ("update", true)] {
                let all = last.iter().flatten().filter(|done| is_update(done) == updates);
                if all.clone().next().is_some() {
                    place.says(&growth.took(format!("{name} {kind}"), all.map(span)));
                }
            }
        }
        if place.speaks() {
            println!("{} calls: linearisable", growth.calls);
            self.repeat.plot.as_ref().map_or(Ok(()), |file| growth.draw(file))?;
        }
        Ok(())
    }

    /// Returns the calls of each run with so many clients on each node.
    fn runs(&self, place: &Place, mix: Mix, clients: usize) -> Result<Vec<Vec<Done>>, End> {
        let &Self { nodes, keys, calls, .. } = self;
        let load = Load { nodes, clients, keys, calls, updates: mix.updates() };
        let (group, map, barrier) = load.group(self.variant.as_deref());
        let run = |seed| {
            let act = |thread: &mut Thread<'_>| load.run((map, barrier), thread, seed, || place.now());
            let mut all = place.run(&group, seed, act)?.concat();
            if let Some(of_key) = wrong(&all) {
                return Err(End::Wrong(history::reported(&of_key, seed)));
            }
            all.retain(|done| !matches!(done.called, Called::Insert(..)));
            Ok(all)
        };
        self.repeat.seeds().map(run).collect()
    }
}

fn span(done: &Done) -> Span {
    (done.begun, done.ended)
}
