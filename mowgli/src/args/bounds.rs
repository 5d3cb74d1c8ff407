//! Arguments for the bounds of checks.

use clap::Args;
use itertools::Itertools as _;
use mowgli_core::term::bound::Bound;

use super::size::{SizeBounds, at_least_one};
use crate::error::{Code, InputError};

/// The ways in which clients may reach memory of their own node.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Placement {
    /// Also through the network.
    #[default]
    Any,
    /// Not through the network.
    Remote,
}

/// Limits of a check.
#[derive(Args, Default, PartialEq, Eq)]
pub(crate) struct Within {
    #[command(flatten)]
    shape: SizeBounds,
    /// At most this many calls of all threads together.
    #[arg(long, value_name = "C", value_parser = at_least_one)]
    total: Option<u64>,
    /// At most this many objects of the library.
    #[arg(long, value_name = "O", value_parser = at_least_one)]
    objects: Option<u64>,
    /// Rounds of a loop with effects after which the search gives up on it.
    #[arg(long, value_name = "K")]
    loops: Option<usize>,
    /// The values that clients write.
    #[arg(long, value_delimiter = ',', value_name = "V")]
    values: Option<Vec<i64>>,
    /// At most this many words in a message of a ring buffer, of the values that clients write.
    #[arg(long, value_name = "W", value_parser = at_least_one)]
    words: Option<u64>,
    /// The sizes of objects that have one: words of a ring buffer, or of a mixed-size location.
    #[arg(long, value_delimiter = ',', value_name = "S", value_parser = at_least_one)]
    sizes: Option<Vec<u64>>,
    /// The nodes of objects that live on one node: locks, words, wrapped objects.
    #[arg(long, value_delimiter = ',', value_name = "N", value_parser = at_least_one)]
    homes: Option<Vec<u64>>,
    /// At most this many members of an object: readers of a ring buffer, participants of a barrier, threads of a node
    /// that call a store.
    #[arg(long, value_name = "M", value_parser = at_least_one)]
    members: Option<u64>,
    /// The number of threads of a client that may crash, each at any point. Then outcomes are compared: see docs/models.md, Crashes.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    crashes: Option<u64>,
}

/// Refuses options for libraries, if some are given, where only tests are named.
pub(crate) fn for_libraries(are_given: bool, options: &str) -> Result<(), InputError> {
    let error = || InputError::new(Code::Argument, format!("{options} are for libraries, and only tests are named"));
    if are_given { Err(error().help("leave these options out")) } else { Ok(()) }
}

impl Within {
    /// True if any of these arguments was given.
    pub(crate) fn is_given(&self) -> bool {
        *self != Self::default()
    }

    /// Returns these bounds with the given arguments in place of their values. If a shape or a number of objects was
    /// given, only the first bound is kept.
    pub(crate) fn limited(&self, mut bounds: Vec<Bound>) -> Vec<Bound> {
        if self.shape.is_given() || self.objects.is_some() {
            bounds.truncate(1);
            bounds.iter_mut().for_each(|b| b.total = None);
        }
        for bound in &mut bounds {
            *bound = self.shape.of(bound.clone());
            bound.objects = self.objects.map_or(bound.objects, |n| n as usize);
            bound.loops = self.loops.unwrap_or(bound.loops);
            bound.values =
                self.values.as_ref().map_or_else(|| bound.values.clone(), |all| all.iter().copied().unique().collect());
            bound.words = self.words.map_or(bound.words, |n| n as usize);
            if let Some(sizes) = &self.sizes {
                bound.sizes = sizes.iter().unique().map(|&n| n as usize).collect();
            }
            if let Some(homes) = &self.homes {
                bound.homes = homes.iter().unique().map(|&n| n as u8).collect();
            }
            bound.members = self.members.map(|n| n as usize).or(bound.members);
            bound.crashes = self.crashes.map_or(bound.crashes, |n| (n as usize).min(bound.threads));
            bound.total = self.total.map(|n| n as usize).or(bound.total);
        }
        bounds
    }
}
