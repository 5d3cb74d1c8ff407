//! The arguments of all questions about libraries, and the libraries that they choose.

use clap::Args;

use crate::args::bounds::{Placement, Within};
use crate::args::size::at_least_one;
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::selection::{Entries, chosen};

/// Arguments of all questions about libraries.
#[derive(Args)]
pub(super) struct LibraryArgs {
    /// The libraries; by default your own, or all if you have none.
    pub(super) names: Vec<String>,
    #[command(flatten)]
    pub(super) within: Within,
    /// Worker threads; all cores if not given.
    #[arg(long, value_name = "J", value_parser = at_least_one)]
    jobs: Option<u64>,
    /// Seconds for the whole command.
    #[arg(long, value_name = "S")]
    pub(super) timeout: Option<u64>,
    /// Print one JSON object per answer, one per line.
    #[arg(long)]
    pub(super) json: bool,
}

/// The help of names that may be those of variants.
const NAMES: &str = "The libraries, or variants of them as bal:no-fence; by default your own, or all if you have none";

/// Arguments of questions about implementations.
#[derive(Args)]
#[command(mut_arg("names", |names| names.help(NAMES)))]
pub(super) struct VariantArgs {
    #[command(flatten)]
    pub(super) of: LibraryArgs,
    /// A variant of the implementation, for example no-fence.
    #[arg(long)]
    variant: Option<String>,
    /// The accesses of clients to memory of their own node in the search for a wrong outcome; `any` if not given,
    /// and `remote` for `through`.
    #[arg(long, value_enum)]
    placement: Option<Placement>,
}

impl LibraryArgs {
    /// Sets the number of threads of this process.
    pub(super) fn set_jobs(&self) {
        if let Some(jobs) = self.jobs {
            // The pool can be set once in a process, and nothing has used it yet.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(jobs as usize).build_global();
        }
    }

    /// Selects the entries of a catalogue that the arguments name, each with its variant: see [`chosen`].
    pub(super) fn chosen<'a>(
        &self,
        variant: Option<&str>,
        catalogue: &'a Catalogue,
    ) -> Result<Entries<'a>, InputError> {
        chosen(&self.names, variant, catalogue)
    }
}

impl VariantArgs {
    /// Selects the entries of a catalogue that the arguments name, each with its variant.
    pub(super) fn chosen<'a>(&self, catalogue: &'a Catalogue) -> Result<Entries<'a>, InputError> {
        self.of.chosen(self.variant.as_deref(), catalogue)
    }

    /// True if the arguments name a variant.
    pub(super) fn has_variant(&self) -> bool {
        self.variant.is_some() || self.of.names.iter().any(|name| name.contains(':'))
    }

    /// Whether clients may reach memory of their own node through the network.
    pub(super) fn loopback(&self, usual: Placement) -> bool {
        self.placement.unwrap_or(usual) == Placement::Any
    }
}
