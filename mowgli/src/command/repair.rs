//! The `repair` command.

use std::path::{Path, PathBuf};

use crate::catalogue::Catalogue;
use crate::interrupt;
use crate::out::{all_files, reported_in, worst};
use crate::repair::{Costs, RepairArgs};

pub(super) fn repaired(args: &RepairArgs, catalogue: Catalogue) -> u8 {
    match (args.on.of(catalogue), Costs::read(&args.cost)) {
        (Ok(catalogue), Ok(costs)) => printed(args, &catalogue, &costs),
        (Err(error), _) | (_, Err(error)) => reported_in(args.json, Err(error)),
    }
}

/// Prints the repairs of all libraries, and then those of all tests.
fn printed(args: &RepairArgs, catalogue: &Catalogue, costs: &Costs) -> u8 {
    // A word that names no file can only be meant for a library.
    let is_library = |path: &Path| !path.exists() && path.extension().is_none() && path.components().count() == 1;
    let (names, paths): (Vec<PathBuf>, Vec<PathBuf>) =
        args.paths.iter().cloned().partition(|p| args.variant.is_some() || is_library(p));
    if names.is_empty()
        && let Err(error) = args.is_for_tests()
    {
        return reported_in(args.json, Err(error));
    }
    let of = |name: &PathBuf| reported_in(args.json, args.print_library(&name.to_string_lossy(), costs, catalogue));
    let mut code = names.iter().map(of).fold(0, worst);
    for file in all_files(&paths, &mut code) {
        let own = if interrupt::requested() {
            eprintln!("interrupted: {} was not looked at", file.display());
            3
        } else {
            reported_in(args.json, args.print_test(&file, costs, catalogue))
        };
        code = worst(code, own);
    }
    code
}
