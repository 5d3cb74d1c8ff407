//! The `worth` command.

use std::path::PathBuf;

use clap::Args;
use mowgli_core::soundness::client_log::Shard;

use super::libraries::LibraryArgs;
use super::sharded::Sharded;
use crate::args::share::ShareToFile;
use crate::catalogue::Catalogue;
use crate::check::CheckOptions;
use crate::error::InputError;
use crate::interrupt::Deadline;
use crate::mutation::{Worth, worths};
use crate::necessity;
use crate::out::{json, reported_in, unknown};
use crate::shards::identity::Hash;
use crate::shards::log::{ShardLog, is_shard};
use crate::terminal::bar;

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli worth nlock\n  mowgli worth bal --shard 1/2 --out 1.shard")]
pub(super) struct WorthArgs {
    #[command(flatten)]
    of: LibraryArgs,
    #[command(flatten)]
    shared: ShareToFile,
}

impl WorthArgs {
    /// Checks variants against weakened specifications.
    fn weaken(&self, catalogue: Catalogue, deadline: &Deadline, log: Option<&ShardLog>) -> Result<u8, InputError> {
        let args = &self.of;
        args.set_jobs();
        let names: Vec<&str> = args.chosen(None, &catalogue)?.iter().map(|(entry, _)| entry.name).collect();
        let (mut code, is_shown) = (0, !is_shard(log));
        for entry in catalogue.into_entries().into_iter().filter(|entry| names.contains(&entry.name)) {
            let bar = bar(entry.name.to_owned(), "clients");
            let options = CheckOptions { deadline: deadline.clone(), ..CheckOptions::default() };
            let bounds = args.within.limited(necessity::bounds(&entry));
            let name = entry.name;
            let mut each = |worth: &Worth| {
                let line = || if args.json { json(worth) } else { worth.text() };
                bar.suspend(|| {
                    if is_shown {
                        println!("{}", line())
                    }
                });
            };
            if is_shown && !args.json {
                println!("{name}");
            }
            let part = log.map(|log| log.part(format!("{name} weakened")));
            let found = worths(entry, bounds, &options, part.as_ref(), &mut each)?;
            bar.finish_and_clear();
            if is_shown && !args.json {
                println!("  {}", found.text());
            }
            if let Some(stop) = &found.stop {
                unknown(args.json, format!("{name}: what there is to weaken"), stop);
            }
            if found.is_undecided() {
                code = 3;
            }
        }
        Ok(code)
    }
}

impl Sharded for WorthArgs {
    fn share(&self) -> Option<(Shard, PathBuf)> {
        self.shared.share()
    }

    fn timeout(&self) -> Option<u64> {
        self.of.timeout
    }

    /// Hashes the chosen libraries with all their variants.
    fn hash(&self, catalogue: &Catalogue) -> Result<Hash, InputError> {
        let mut hash = Hash::default();
        for (entry, _) in self.of.chosen(None, catalogue)? {
            let bounds = self.of.within.limited(necessity::bounds(entry));
            entry.variants.iter().try_for_each(|variant| hash.add_library(entry, variant, &bounds))?;
        }
        Ok(hash)
    }

    fn run(&self, catalogue: Catalogue, deadline: &Deadline, log: Option<&ShardLog>) -> u8 {
        reported_in(self.of.json, self.weaken(catalogue, deadline, log))
    }
}
