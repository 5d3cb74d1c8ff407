//! The `generate` command: tests that probe a model rule by rule, for models and for machines.

pub mod axioms;

use std::path::Path;

use crate::error::{Code, InputError};
use crate::generated::GenerateRequest;
pub use crate::generated::Generated;
use crate::interrupt::Failure;
use crate::litmus::semantics::Semantics;
use crate::litmus::test::Model;
use crate::out::{json, save};
use crate::semantics;
use crate::shards::log::{ShardContext, is_shard};

impl GenerateRequest<'_> {
    /// Makes tests and writes them, as objects or as litmus tests, to a folder or to standard output. Returns the exit code: 1 if there is
    /// none, 3 if a limit stopped the search for them.
    ///
    /// # Errors
    /// If the model has no such tests, or a file cannot be written.
    pub(crate) fn print(&self, is_json: bool, folder: Option<&Path>, shared: ShardContext<'_>) -> Result<u8, Failure> {
        let (code, all) = tests(self, shared)?;
        if is_shard(shared.1) {
            return Ok(0);
        }
        if all.is_empty() && code == 0 {
            eprintln!(
                "no program within the bound is a test, and nothing was written; give a larger one with --actions"
            );
            return Ok(1);
        }
        write(&all, is_json, folder)?;
        Ok(code)
    }
}

/// Makes tests. The code is 3 if a limit stopped the search for them.
///
/// # Errors
/// If the model is not as it is published, or has no such tests.
fn tests(ask: &GenerateRequest<'_>, shared: ShardContext<'_>) -> Result<(u8, Vec<Generated>), Failure> {
    ask.model.is_published("generate")?;
    match (ask.model, ask.model.semantics()) {
        (_, Semantics::Own(_)) => Ok(semantics::rows(ask, shared)?),
        (Model::X86Tso, _) => {
            let message = format!("tests are generated for networks, and {} has none", ask.model);
            Err(InputError::new(Code::Argument, message).into())
        }
        _ => Ok(axioms::tests(ask, shared)?),
    }
}

/// Prints the rows of the published table, and writes their tests to a folder, if one is given.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn print_table(
    has_objects: bool,
    is_json: bool,
    folder: Option<&Path>,
    shared: ShardContext<'_>,
) -> Result<u8, Failure> {
    let (code, all) = semantics::table(has_objects, shared);
    if is_shard(shared.1) {
        return Ok(0);
    }
    if folder.is_some() {
        write(&all, is_json, folder)?;
    }
    Ok(code)
}

/// Writes tests, as objects or as litmus tests, to files of a folder, or else to standard output.
///
/// # Errors
/// If a file cannot be written.
fn write(all: &[Generated], is_json: bool, folder: Option<&Path>) -> Result<(), InputError> {
    let Some(dir) = folder else {
        all.iter().for_each(|g| println!("{}", if is_json { json(g) } else { g.litmus.clone() }));
        return Ok(());
    };
    if all.is_empty() {
        return Ok(());
    }
    let put = |name: &str, text: &str| save(&dir.join(name), text);
    std::fs::create_dir_all(dir).map_err(|e| InputError::file(dir, e))?;
    if is_json {
        put("tests.jsonl", &all.iter().map(|g| json(g) + "\n").collect::<String>())?;
    } else {
        all.iter().try_for_each(|g| put(&format!("{}.litmus", g.name), &g.litmus))?;
    }
    eprintln!("{} tests written to {}", all.len(), dir.display());
    Ok(())
}
