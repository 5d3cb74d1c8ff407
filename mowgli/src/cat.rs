//! The `cat` command: models and specifications in the language of herd7 and Dat3M.

use mowgli_core::cat;
use mowgli_core::ids::Name;
use mowgli_core::stamp::Stamp;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::Entry;

use crate::catalogue::Catalogue;
use crate::litmus::test::Model;

/// A memory model, or the specification of a library, as a model in cat.
///
/// # Errors
/// If there is nothing of this name, or what cat has no words for.
pub fn cat(catalogue: &Catalogue, name: &str) -> Result<String, String> {
    match name.parse::<Model>() {
        Ok(Model::CoreRma) => Err(
            "CORE_RMA cannot be said in cat: which of its executions there are depends on the values that undefined reads \
             return"
                .to_owned(),
        ),
        Ok(model @ Model::X86Tso) => {
            cat::cat(&model.to_string(), &catalogue.libraries::<mowgli_x86::Stamp>(model), model.memory())
        }
        Ok(model) => cat::cat(&model.to_string(), &catalogue.libraries::<mowgli_rdma::Stamp>(model), model.memory()),
        Err(no_model) => {
            if let Ok(entry) = named(catalogue.entries::<mowgli_x86::Stamp>(), name) {
                return of_entry(entry);
            }
            of_entry(named(catalogue.entries::<mowgli_rdma::Stamp>(), name).map_err(|_| format!("{no_model}; {}", catalogue.no_library(name)))?)
        }
    }
}

/// The specification of a library.
fn of_entry<S: Stamp>(entry: &Entry<S>) -> Result<String, String> {
    cat::cat(entry.name, &entry.specification, Name::literal(entry.name))
}
