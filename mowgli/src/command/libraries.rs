//! The arguments of all questions about libraries, and the libraries that they choose.

use clap::Args;
use mowgli_libraries::entry::{Entry, Variant};

use super::bounds::{Placement, Within, at_least_one};
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};

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

/// Entries, each with a variant.
pub(super) type Entries<'a> = Vec<(&'a Entry, &'a Variant)>;

impl LibraryArgs {
    /// Sets the number of threads of this process.
    pub(super) fn set_jobs(&self) {
        if let Some(jobs) = self.jobs {
            // The pool can be set once in a process, and nothing has used it yet.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(jobs as usize).build_global();
        }
    }

    /// Selects the entries of a catalogue that the arguments name, each with its variant. That of a name as `bal:no-fence` comes before
    /// `variant`, and `published` is the last.
    pub(super) fn chosen<'a>(
        &self,
        variant: Option<&str>,
        catalogue: &'a Catalogue,
    ) -> Result<Entries<'a>, InputError> {
        let known = catalogue.names();
        let named: Vec<(&str, Option<&str>)> = self.names.iter().map(|name| split(name, variant)).collect();
        if let Some((unknown, _)) = named.iter().find(|(library, _)| !known.contains(library)) {
            return Err(catalogue.no_library(unknown).into());
        }
        if let Some((name, _)) = self.names.iter().zip(&named).find(|(name, (_, chosen))| is_other(name, *chosen)) {
            let error = InputError::new(Code::Argument, format!("{name} and --variant name two variants"));
            return Err(error.help("leave out one of them"));
        }
        let wanted = if named.is_empty() { catalogue.usual().map(|name| (name, variant)).collect() } else { named };
        let mut chosen = Vec::new();
        for entry in catalogue.entries() {
            for (_, variant) in wanted.iter().filter(|(library, _)| *library == entry.name) {
                match entry.variant(variant.unwrap_or("published")) {
                    Ok(variant) => chosen.push((entry, variant)),
                    Err(_) if self.names.is_empty() => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        if chosen.is_empty() {
            return Err(InputError::new(Code::Argument, "no library has this variant").help("see mowgli check --list"));
        }
        Ok(chosen)
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

/// Splits a name into a library and its variant, which is that of `--variant` if the name has none.
fn split<'n>(name: &'n str, option: Option<&'n str>) -> (&'n str, Option<&'n str>) {
    name.split_once(':').map_or((name, option), |(library, variant)| (library, option.or(Some(variant))))
}

/// True if a name has another variant than the one that was chosen.
fn is_other(name: &str, chosen: Option<&str>) -> bool {
    name.split_once(':').is_some_and(|(_, own)| chosen != Some(own))
}
