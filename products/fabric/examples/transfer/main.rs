//! Transactional locking (LOCO-X App. B.1): clients move money between accounts, each under the locks of both.
//!
//! `cargo run -p mowgli-fabric --example transfer -- local` shows how many transfers they make, with one lock and with several;
//! `... -- machine --elsewhere --locks 1 --accounts 2 --clients 1 --transfers 3 --times 300` finds a seed with which accounts that are not
//! on the nodes of their locks lose money.

mod bank;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/growth.rs"]
mod growth;

use std::process::ExitCode;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, value_parser};

use bank::{Setting, Transfer, wrong};
use common::place::{End, Over, Place, ended};
use common::repeat::Repeat;
use growth::Growth;

/// Moves money between accounts under locks, and checks that there is an order of all transfers.
#[derive(Parser)]
struct Args {
    /// The fabric to run over.
    fabric: Over,
    /// Puts accounts on other nodes than their locks.
    #[arg(long)]
    elsewhere: bool,
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u8).range(1..))]
    nodes: u8,
    /// The largest number of clients on each node. The runs begin with one.
    #[arg(long, default_value_t = 4, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    clients: usize,
    #[arg(long, default_value_t = 64, value_parser = RangedU64ValueParser::<usize>::new().range(2..))]
    accounts: usize,
    /// The number of locks for all accounts; several numbers are tried one after the other.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16], value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    locks: Vec<usize>,
    /// The number of times that a client moves money.
    #[arg(long, default_value_t = 50)]
    transfers: usize,
    #[command(flatten)]
    repeat: Repeat,
}

fn main() -> ExitCode {
    ended(Args::parse().run())
}

impl Args {
    fn run(&self) -> Result<(), End> {
        let place = Place::new(self.fabric, self.nodes)?;
        let mut growth = Growth::default();
        for &locks in &self.locks {
            let name = format!("{locks} locks");
            let runs = |clients| self.runs(&place, locks, clients);
            let span = |t: &Transfer| (t.begun, t.ended);
            let last = growth.grow(&place, &name, (self.nodes, self.clients), span, runs)?;
            place.says(&growth.took(name, last.iter().flatten().map(span)));
        }
        if place.speaks() {
            println!("{} transfers: serialisable", growth.calls);
            self.repeat.plot.as_ref().map_or(Ok(()), |file| growth.draw(file))?;
        }
        Ok(())
    }

    /// Returns the transfers of each run with so many locks, and so many clients on each node.
    fn runs(&self, place: &Place, locks: usize, clients: usize) -> Result<Vec<Vec<Transfer>>, End> {
        let &Self { nodes, accounts, transfers, elsewhere: is_elsewhere, .. } = self;
        let (group, bank) = Setting { nodes, clients, accounts, locks, transfers, is_elsewhere }.group();
        let run = |seed| {
            let all = place.run(&group, seed, |thread| bank.run(thread, seed, || place.now()))?;
            match wrong(&all) {
                Some(why) => {
                    Err(End::Wrong(format!("with --seed {seed} --locks {locks}, {clients} clients a node: {why}")))
                }
                None => Ok(all.into_iter().flat_map(|done| done.transfers).collect()),
            }
        };
        self.repeat.seeds().map(run).collect()
    }
}
