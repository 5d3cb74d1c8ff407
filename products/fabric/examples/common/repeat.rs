//! Arguments that several examples share: the number of runs, the first seed, and the figure.

use std::ops::Range;
use std::path::PathBuf;

/// Arguments of several examples.
#[derive(clap::Args)]
pub struct Repeat {
    /// The number of runs, each with the next seed.
    #[arg(long, default_value_t = 1)]
    times: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// The file into which a figure is drawn.
    #[arg(long)]
    pub plot: Option<PathBuf>,
}

impl Repeat {
    /// Returns all seeds.
    pub fn seeds(&self) -> Range<u64> {
        self.seed..self.seed + self.times
    }
}
