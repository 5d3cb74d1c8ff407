//! The libraries that names choose, each with a variant.

use mowgli_libraries::entry::{Entry, Variant};
use mowgli_libraries::error::Error;

use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};

/// Entries, each with a variant.
pub(crate) type Entries<'a> = Vec<(&'a Entry, &'a Variant)>;

/// Selects the entries of a catalogue that names name, each with its variant. That of a name as `bal:no-fence` comes before
/// `variant`, and `published` is the last.
///
/// # Errors
/// If there is no such library or variant, or the library has no network and the catalogue is on one.
pub(crate) fn chosen<'a>(
    names: &[String],
    variant: Option<&str>,
    catalogue: &'a Catalogue,
) -> Result<Entries<'a>, InputError> {
    let known = catalogue.names();
    let named: Vec<(&str, Option<&str>)> = names.iter().map(|name| split(name, variant)).collect();
    if let Some((unknown, _)) = named.iter().find(|(library, _)| !known.contains(library)) {
        return Err(catalogue.no_library(unknown).into());
    }
    let is_left_out = |name: &&str| catalogue.entries().iter().all(|entry| entry.name != *name);
    if let Some(local) = known.iter().copied().filter(is_left_out).find(|name| named.iter().any(|(of, _)| of == name)) {
        return Err(InputError::of(Code::Argument, Error::NoNetwork(local)));
    }
    if let Some((name, _)) = names.iter().zip(&named).find(|(name, (_, chosen))| is_other(name, *chosen)) {
        let error = InputError::new(Code::Argument, format!("{name} and --variant name two variants"));
        return Err(error.help("leave out one of them"));
    }
    let wanted = if named.is_empty() { catalogue.usual().map(|name| (name, variant)).collect() } else { named };
    let mut chosen = Vec::new();
    for entry in catalogue.entries() {
        for (_, variant) in wanted.iter().filter(|(library, _)| *library == entry.name) {
            match entry.variant(variant.unwrap_or("published")) {
                Ok(variant) => chosen.push((entry, variant)),
                Err(_) if names.is_empty() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    if chosen.is_empty() {
        return Err(InputError::new(Code::Argument, "no library has this variant").help("see mowgli check --list"));
    }
    Ok(chosen)
}

/// Splits a name into a library and its variant, which is that of `--variant` if the name has none.
fn split<'n>(name: &'n str, option: Option<&'n str>) -> (&'n str, Option<&'n str>) {
    name.split_once(':').map_or((name, option), |(library, variant)| (library, option.or(Some(variant))))
}

/// True if a name has another variant than the one that was chosen.
fn is_other(name: &str, chosen: Option<&str>) -> bool {
    name.split_once(':').is_some_and(|(_, own)| chosen != Some(own))
}

/// Built-in libraries whose checks take more than some seconds, by measured time. They are checked after all others, so that
/// verdicts come early.
const SLOW: [&str; 10] =
    ["bal", "bal-transitive", "bal-puts", "wlock", "nlock", "rbl", "rbl-weak", "msw", "kvstore", "sv"];

/// Sorts entries, the quick ones first.
pub(crate) fn quick_first(mut chosen: Entries<'_>) -> Entries<'_> {
    chosen.sort_by_key(|(entry, _)| SLOW.iter().position(|slow| *slow == entry.name));
    chosen
}
