//! The `cat` command: models and specifications in the language of herd7 and Dat3M.

use std::path::{Path, PathBuf};

use mowgli_core::cat::{self, Cat, Reader};
use mowgli_core::ids::Name;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::Entry;

use crate::catalogue::Catalogue;
use crate::litmus::test::Model;

mod herd;
pub mod lisa;

/// A memory model, or the specification of a library, as a model in cat.
///
/// # Errors
/// If there is nothing of this name, or what cat has no words for.
pub fn cat(catalogue: &Catalogue, name: &str) -> Result<String, String> {
    Ok(cat_for(Reader::Person, catalogue, name)?.text)
}

/// The same as [`cat()`] as one of the tools reads it.
///
/// # Errors
/// Those of [`cat()`].
pub fn cat_for(reader: Reader, catalogue: &Catalogue, name: &str) -> Result<Cat, String> {
    match name.parse::<Model>() {
        Ok(Model::CoreRma) => Err(
            "CORE_RMA cannot be said in cat: which of its executions there are depends on the values that undefined reads \
             return"
                .to_owned(),
        ),
        Ok(model) => {
            let libraries = catalogue.libraries(model);
            cat::cat_for(reader, &model.to_string(), &libraries, model.memory())
        }
        Err(no_model) => {
            let entry = named(catalogue.entries(), name)
                .map_err(|_| format!("{no_model}; {}", catalogue.no_library(name)))?;
            of_entry(reader, entry)
        }
    }
}

/// The specification of a library.
fn of_entry(reader: Reader, entry: &Entry) -> Result<Cat, String> {
    cat::cat_for(reader, entry.name, &entry.specification, Name::literal(entry.name))
}

/// The files with which herd7 runs a memory model: names and texts.
///
/// # Errors
/// If there is no such model, or LISA has no form for its tests.
pub fn for_herd(catalogue: &Catalogue, name: &str) -> Result<[(String, String); 3], String> {
    let model = name.parse::<Model>().map_err(|no_model| {
        let remedy = "herd7 runs tests of memory words, so it is given memory models";
        if cat(catalogue, name).is_ok() { format!("{name} is a library: {remedy}, not libraries") } else { no_model }
    })?;
    let marks = herd::marks(model)?;
    let title = model.to_string();
    let Cat { text, given } = cat_for(Reader::Herd, catalogue, name)?;
    if let Some(missing) = marks.missing(given.keys()) {
        return Err(format!("{title} has no form for herd7: its tests do not say what {missing} is"));
    }
    Ok([
        (format!("{title}.bell"), marks.bell(&title)),
        (cat::given_of(&title), marks.given(&title)),
        (format!("{title}.cat"), text),
    ])
}

/// Writes what herd7 needs to a folder, and says how to run it.
///
/// # Errors
/// Those of [`for_herd`], and if it cannot be written.
pub fn write_for_herd(catalogue: &Catalogue, name: &str, folder: &Path) -> Result<String, String> {
    let files = for_herd(catalogue, name)?;
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    for (path, (_, text)) in paths.iter().zip(&files) {
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let [bell, _, model] = &paths[..] else { unreachable!("three files") };
    Ok(format!("herd7 -I {} -bell {} -model {} TEST\n", folder.display(), bell.display(), model.display()))
}
