//! Transactional locking (LOCO-X App. B.1): clients move money between accounts, each under the locks of both.
//!
//! `cargo run -p mowgli-fabric --example transfer -- local` shows how many transfers they make, with one lock and with several;
//! `... -- machine --elsewhere --locks 1 --accounts 2 --clients 1 --transfers 3 --times 300` finds a seed with which accounts that are not
//! on the nodes of their locks lose money.

#[path = "../common/among.rs"]
mod among;
mod bank;
#[path = "../common/growth.rs"]
mod growth;
#[path = "../common/place.rs"]
mod place;
#[path = "../common/plot.rs"]
mod plot;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, value_parser};
use mowgli_fabric::Fault;

use bank::{Done, Setting, wrong};
use growth::Growth;
use place::{Over, Place, ended};
use plot::Span;

/// Clients that move money between accounts under locks, and whether there is an order of all that they did.
#[derive(Parser)]
struct Args {
    /// What it runs over.
    fabric: Over,
    /// Puts accounts on other nodes than their locks.
    #[arg(long)]
    elsewhere: bool,
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(1..))]
    nodes: u8,
    /// The most clients on each node; first there is one.
    #[arg(long, default_value_t = 4, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    clients: usize,
    #[arg(long, default_value_t = 64, value_parser = RangedU64ValueParser::<usize>::new().range(2..))]
    accounts: usize,
    /// How many locks there are for all accounts; several numbers are tried one after the other.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16], value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    locks: Vec<usize>,
    /// How often a client moves money.
    #[arg(long, default_value_t = 50)]
    transfers: usize,
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

fn main() -> ExitCode {
    ended(Args::parse().run())
}

impl Args {
    fn run(&self) -> Result<Option<String>, Fault> {
        let place = Place::new(self.fabric, self.nodes)?;
        let (mut growth, mut transfers) = (Growth::default(), 0);
        for &locks in &self.locks {
            let name = format!("{locks} locks");
            let mut last = Vec::new();
            for clients in 1..=self.clients {
                last = match self.with(&place, locks, clients)? {
                    Ok(runs) => runs,
                    Err(wrong) => return Ok(Some(wrong)),
                };
                transfers += last.iter().map(Vec::len).sum::<usize>();
                place.says(&growth.add(&name, usize::from(self.nodes) * clients, &last));
            }
            place.says(&growth.took(name, last.concat()));
        }
        if place.speaks() {
            println!("{transfers} transfers: serialisable");
            self.plot.as_ref().map_or(Ok(()), |file| growth.draw(file))?;
        }
        Ok(None)
    }

    /// When each transfer began and ended in each run with so many locks and clients on each node, or what is wrong.
    fn with(&self, place: &Place, locks: usize, clients: usize) -> Result<Result<Vec<Vec<Span>>, String>, Fault> {
        let &Self { nodes, accounts, transfers, elsewhere: is_elsewhere, .. } = self;
        let (group, bank) = Setting { nodes, clients, accounts, locks, transfers, is_elsewhere }.group();
        let mut runs = Vec::new();
        for seed in self.seed..self.seed + self.times {
            let all: Vec<Done> = place.run(&group, seed, |thread| bank.run(thread, seed, || place.now()))?;
            if let Some(wrong) = wrong(&all) {
                return Ok(Err(format!("with --seed {seed} --locks {locks}, {clients} clients a node: {wrong}")));
            }
            runs.push(all.iter().flat_map(|done| &done.transfers).map(|t| (t.begun, t.ended)).collect());
        }
        Ok(Ok(runs))
    }
}
