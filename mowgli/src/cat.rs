//! The `cat` command: models and specifications in the language of herd7 and Dat3M.

use mowgli_core::cat;
use mowgli_core::ids::Name;
use mowgli_libraries::catalogue::{catalogue, named};

use crate::litmus::run::libraries;
use crate::litmus::test::Model;

/// A memory model, or the specification of a library, as a model in cat.
///
/// # Errors
/// If there is nothing of this name, or what cat has no words for.
pub fn cat(name: &str) -> Result<String, String> {
    match name.parse::<Model>() {
        Ok(Model::CoreRma) => Err(
            "CORE_RMA cannot be said in cat: which of its executions there are depends on the values that undefined reads \
             return"
                .to_owned(),
        ),
        Ok(Model::X86Tso) => x86(),
        Ok(model) => cat::cat(&model.to_string(), &libraries::<mowgli_rdma::Stamp>(model), model.memory()),
        Err(no_model) => {
            let all = catalogue();
            let entry = named(&all, name).map_err(|no_library| format!("{no_model}; {no_library}"))?;
            cat::cat(entry.name, &entry.specification, Name::literal(entry.name))
        }
    }
}

/// x86-TSO.
fn x86() -> Result<String, String> {
    let model = Model::X86Tso;
    cat::cat(&model.to_string(), &libraries::<mowgli_x86::Stamp>(model), model.memory())
}
