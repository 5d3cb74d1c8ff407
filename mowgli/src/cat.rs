//! The `cat` command: models and specifications in the language of herd7 and Dat3M.

use std::path::{Path, PathBuf};

use mowgli_core::cat::{self, Cat, CatDialect, Inexpressible};
use mowgli_core::ids::Name;
use mowgli_core::unknown::Unknown;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::Entry;
use mowgli_rdma::Network;

use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::litmus::semantics::Semantics;
use crate::litmus::test::Model;

mod herd;
pub mod lisa;

/// Returns a memory model, or the specification of a library, as a model in cat.
///
/// # Errors
/// If no model or library has this name, or if cat cannot express it.
pub fn cat(catalogue: &Catalogue, name: &str) -> Result<String, InputError> {
    Ok(cat_for(CatDialect::Person, catalogue, name)?.text)
}

/// Like [`cat()`], in the dialect that `reader` accepts.
///
/// # Errors
/// The errors of [`cat()`].
pub fn cat_for(reader: CatDialect, catalogue: &Catalogue, name: &str) -> Result<Cat, InputError> {
    match name.parse::<Model>() {
        Ok(model) => {
            if let Semantics::Own(own) = model.semantics() {
                let message = format!("{model} cannot be said in cat: {}", own.why_no_cat());
                return Err(InputError::new(Code::Unsupported, message));
            }
            // No other tool has puts that complete when they are delivered, signals, or keys.
            let without = |network| Network { delivers: false, has_flags: false, ..network };
            let of_tools = || model.switches().map(|s| model.on(without(s.network)));
            let written = of_tools().filter(|_| !matches!(reader, CatDialect::Person)).transpose()?.unwrap_or(model);
            let libraries = catalogue.libraries(written);
            cat::cat_for(reader, &model.to_string(), &libraries, model.memory()).map_err(unsupported)
        }
        Err(no_model) if name.contains('+') => Err(no_model),
        Err(_) => {
            let known = || Model::ALL.into_iter().map(|model| model.to_string());
            let known = || known().chain(catalogue.names().into_iter().map(str::to_owned));
            let entry = named(catalogue.entries(), name);
            of_entry(reader, entry.map_err(|_| Unknown::new("model or library", name, known()))?)
        }
    }
}

/// Returns the error for a construct that cat cannot express.
fn unsupported(error: Inexpressible) -> InputError {
    InputError::of(Code::Unsupported, error)
}

/// Returns the specification of a library in cat.
fn of_entry(reader: CatDialect, entry: &Entry) -> Result<Cat, InputError> {
    cat::cat_for(reader, entry.name, &entry.specification, Name::literal(entry.name)).map_err(unsupported)
}

/// Returns the files with which herd7 runs a memory model: names and texts.
///
/// # Errors
/// If no model has this name, or if LISA cannot express its tests.
pub fn for_herd(catalogue: &Catalogue, name: &str) -> Result<[(String, String); 3], InputError> {
    let model = name.parse::<Model>().map_err(|no_model| {
        let message = format!("{name} is a library: herd7 runs tests of memory words, so it is given memory models");
        if cat(catalogue, name).is_ok() { InputError::new(Code::Unsupported, message) } else { no_model }
    })?;
    let marks = herd::marks(model)?;
    let title = model.to_string();
    let Cat { text, given } = cat_for(CatDialect::Herd, catalogue, name)?;
    if let Some(missing) = marks.missing(given.keys()) {
        return Err(InputError::new(
            Code::Unsupported,
            format!("{title} has no form for herd7: its tests do not say what {missing} is"),
        ));
    }
    Ok([
        (format!("{title}.bell"), marks.bell(&title)),
        (cat::given_of(&title), marks.given(&title)),
        (format!("{title}.cat"), text),
    ])
}

/// Writes the files of [`for_herd`] to a folder, and returns the command that runs herd7 with them.
///
/// # Errors
/// The errors of [`for_herd`], and if a file cannot be written.
pub fn write_for_herd(catalogue: &Catalogue, name: &str, folder: &Path) -> Result<String, InputError> {
    let files = for_herd(catalogue, name)?;
    std::fs::create_dir_all(folder).map_err(|e| InputError::file(folder, e))?;
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    for (path, (_, text)) in paths.iter().zip(&files) {
        std::fs::write(path, text).map_err(|e| InputError::file(path, e))?;
    }
    let [bell, _, model] = &paths[..] else { unreachable!("three files") };
    Ok(format!("herd7 -I {} -bell {} -model {} TEST\n", folder.display(), bell.display(), model.display()))
}
