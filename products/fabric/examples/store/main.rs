//! A key-value store under load. Its clients' calls are linearisable, or a history of one key shows that they are not.
//!
//! `cargo run --example store -- tcp --seconds 60` has a process for each of four nodes.

mod history;
mod load;
#[path = "../common/place.rs"]
mod place;

use std::process::ExitCode;
use std::time::Instant;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, value_parser};

use history::{reported, wrong};
use load::Load;
use place::{End, Place, ended};

/// Puts load on a key-value store, and checks that its clients' calls are linearisable.
#[derive(Parser)]
struct Args {
    /// The fabric to run over: machine, local, memory, shm, tcp or verbs.
    fabric: String,
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
    /// Runs one store after the other, until the time is up or one is wrong. All processes receive the calls of all,
    /// but only the first one checks them and prints.
    fn run(&self) -> Result<(), End> {
        let place = Place::new(&self.fabric, self.nodes)?;
        let &Self { nodes, clients, keys, changes, others, .. } = self;
        let load = Load { nodes, clients, keys, changes, others };
        let (group, map) = load.group();
        let start = Instant::now();
        let (mut stores, mut calls) = (0, 0);
        for seed in self.seed.. {
            let all = place.run(&group, seed, |thread| load.run(map, thread, seed, || place.now()))?.concat();
            (stores, calls) = (stores + 1, calls + all.len());
            let wrong = if place.speaks() { wrong(&all) } else { None };
            if place.agrees(wrong.is_some() || start.elapsed().as_secs() >= self.seconds)? {
                wrong.map_or(Ok(()), |of_key| Err(End::Wrong(reported(&of_key, seed))))?;
                break;
            }
        }
        if place.speaks() {
            println!("{calls} calls of {stores} stores: linearisable");
        }
        Ok(())
    }
}
