//! What examples are told alike: how often they do what they do, and what they draw.

use std::ops::Range;
use std::path::PathBuf;

/// Arguments of several examples.
#[derive(clap::Args)]
pub struct Repeat {
    /// How often all of this is done, each time with the next seed.
    #[arg(long, default_value_t = 1)]
    times: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Draws a figure.
    #[arg(long)]
    pub plot: Option<PathBuf>,
}

impl Repeat {
    /// All seeds.
    pub fn seeds(&self) -> Range<u64> {
        self.seed..self.seed + self.times
    }
}
