//! The argument `--shard`.

use std::path::{Path, PathBuf};

use clap::Args;
use mowgli_core::soundness::client_log::Shard;

use crate::shards::share;

/// The share of a run to explore.
#[derive(Args, Default)]
pub(crate) struct Share {
    /// Look at a share of the work only, as 3/16 for the third of sixteen, and write what is found to --out: `mowgli merge` puts all
    /// shares together. Started again, it goes on where it was.
    #[arg(long, value_name = "I/N", value_parser = share, requires = "out")]
    shard: Option<Shard>,
}

impl Share {
    /// Returns the share, and the file for its lines.
    pub(crate) fn with(&self, out: Option<&Path>) -> Option<(Shard, PathBuf)> {
        Some((self.shard?, out?.to_owned()))
    }
}

/// The same, for a command that writes no other file.
#[derive(Args, Default)]
pub(crate) struct ShareToFile {
    #[command(flatten)]
    share: Share,
    /// With --shard, where its lines go.
    #[arg(long, value_name = "FILE", requires = "shard")]
    out: Option<PathBuf>,
}

impl ShareToFile {
    /// Returns the share, and the file for its lines.
    pub(crate) fn share(&self) -> Option<(Shard, PathBuf)> {
        self.share.with(self.out.as_deref())
    }
}
