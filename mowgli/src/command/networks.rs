//! `mowgli networks`.

use clap::Args;
use mowgli_core::soundness::client::Bound;
use mowgli_libraries::entry::Entry;
use mowgli_rdma::Network;
use mowgli_rdma::presets::PRESETS;

use super::bounds::Within;
use super::out::worst;
use crate::catalogue::Catalogue;
use crate::check::Options;
use crate::interrupt::Deadline;
use crate::networks::{Ask, decide, table};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli networks\n  mowgli networks --list\n  mowgli networks sv slock --network rc --network cxi\n  mowgli networks bal --calls 2 --json"
)]
pub(super) struct NetworksArgs {
    /// The libraries over RDMA; all, your own among them, if not given.
    names: Vec<String>,
    /// The networks; all presets if not given.
    #[arg(long, value_name = "NAME", value_parser = Network::named)]
    network: Vec<Network>,
    #[command(flatten)]
    within: Within,
    /// Compare outcomes of the whole stack, down to the network, with the specification.
    #[arg(long)]
    through: bool,
    /// Print the networks and their sources, and check nothing.
    #[arg(long)]
    list: bool,
    /// Print one JSON object for each library and network, one per line.
    #[arg(long)]
    json: bool,
    /// Seconds for one library on one network.
    #[arg(long, value_name = "S", default_value_t = 60)]
    timeout: u64,
}

impl NetworksArgs {
    fn networks(&self) -> Vec<Network> {
        if self.network.is_empty() { PRESETS.map(|(network, _)| network).to_vec() } else { self.network.clone() }
    }

    /// Returns the bound of an entry: two threads on two nodes, with as many calls each as it takes to say anything.
    fn bound(&self, entry: &Entry) -> Bound {
        self.within.limited(vec![entry.through()]).swap_remove(0)
    }
}

/// Prints the verdicts. Returns 0 if all are known, 2 for bad arguments, 3 if a limit stopped one.
pub(super) fn networks(args: &NetworksArgs, catalogue: Catalogue) -> Result<u8, String> {
    if args.list {
        PRESETS.iter().for_each(|(network, source)| println!("{network}: {source}"));
        return Ok(0);
    }
    if let Some(unknown) = args.names.iter().find(|name| !catalogue.names().contains(&name.as_str())) {
        return Err(catalogue.no_library(unknown));
    }
    let is_named = |entry: &Entry| args.names.iter().any(|name| name == entry.name);
    let mut entries = catalogue.into_entries();
    if let Some(local) = entries.iter().find(|entry| is_named(entry) && entry.memory.switches.is_none()) {
        return Err(format!("{} is over a memory model without a network", local.name));
    }
    let ask = Ask {
        is_chosen: &|entry| args.names.is_empty() || is_named(entry),
        networks: &args.networks(),
        bound: &|entry| args.bound(entry),
        through: args.through,
        options: &|| Options { deadline: Deadline::after(Some(args.timeout)), ..Options::default() },
    };
    let (mut cells, mut code) = (Vec::new(), 0);
    decide(&mut entries, &ask, &mut |cell| {
        if args.json {
            println!("{}", serde_json::to_string(&cell).expect("strings"));
        }
        code = worst(code, if cell.verdict == "undecided" { 3 } else { 0 });
        cells.push(cell);
    });
    if !args.json {
        print!("{}", table(&cells));
    }
    Ok(code)
}
