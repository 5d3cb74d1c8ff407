//! The `prove` command.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_prove::prove::Options;
use mowgli_prove::solve::Program;

use crate::catalogue::{Catalogue, Stamped};
use crate::prove::{proved, solvers};

use super::bounds::at_least_one;
use super::out::worst;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli prove sv\n  mowgli prove sv --variant fence-of-puts\n  mowgli prove sv --emit obligations"
)]
pub(super) struct ProveArgs {
    /// The libraries; if none is named those of your own, or else all.
    names: Vec<String>,
    /// A variant of the implementation, as fence-of-puts.
    #[arg(long)]
    variant: Option<String>,
    /// Who is asked; of both, both must answer.
    #[arg(long, value_enum, default_value_t = Solver::Z3)]
    solver: Solver,
    /// Seconds for one question to a solver.
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = at_least_one)]
    timeout: u64,
    /// Seconds for the search for a counterexample where there is no proof.
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = at_least_one)]
    search: u64,
    /// One JSON object a line and library.
    #[arg(long)]
    json: bool,
    /// Write each obligation to a file of its own in this folder, in SMT-LIB.
    #[arg(long, value_name = "DIR")]
    emit: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Solver {
    /// Z3.
    Z3,
    /// cvc5.
    Cvc5,
    /// Each of them.
    Both,
}

impl Solver {
    fn programs(self) -> &'static [Program] {
        match self {
            Self::Z3 => &[Program::Z3],
            Self::Cvc5 => &[Program::Cvc5],
            Self::Both => &[Program::Z3, Program::Cvc5],
        }
    }
}

/// 0 if every verdict is the expected one, 1 if one is not, 3 if one is undecided.
pub(super) fn prove(args: &ProveArgs, catalogue: &Catalogue) -> Result<u8, String> {
    let known = catalogue.names();
    if let Some(unknown) = args.names.iter().find(|n| !known.contains(&n.as_str())) {
        return Err(catalogue.no_library(unknown));
    }
    let options = Options {
        solvers: solvers(args.solver.programs())?,
        limit: Duration::from_secs(args.timeout),
        executions: Duration::from_secs(EXECUTIONS),
    };
    if let Some(folder) = &args.emit {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let over_rdma = chosen::<mowgli_rdma::Stamp>(args, catalogue)?;
    let over_x86 = chosen::<mowgli_x86::Stamp>(args, catalogue)?;
    if over_rdma.is_empty() && over_x86.is_empty() {
        return Err("no library has this variant; see mowgli check --list".to_owned());
    }
    Ok(worst(prove_all(&over_rdma, args, &options)?, prove_all(&over_x86, args, &options)?))
}

/// Seconds for executions in which what is given holds.
const EXECUTIONS: u64 = 30;

fn chosen<'a, S: Stamped>(
    args: &ProveArgs,
    catalogue: &'a Catalogue,
) -> Result<Vec<(&'a Entry<S>, &'a Variant)>, String> {
    let usual: Vec<&str> = catalogue.usual().collect();
    let is_wanted = |entry: &&Entry<S>| {
        if args.names.is_empty() { usual.contains(&entry.name) } else { args.names.iter().any(|n| n == entry.name) }
    };
    let name = args.variant.as_deref().unwrap_or("published");
    let mut all = Vec::new();
    for entry in catalogue.entries::<S>().iter().filter(is_wanted) {
        match entry.variant(name) {
            Ok(variant) => all.push((entry, variant)),
            Err(_) if args.names.is_empty() => {}
            Err(message) => return Err(message),
        }
    }
    Ok(all)
}

fn prove_all<S: Stamped>(all: &[(&Entry<S>, &Variant)], args: &ProveArgs, options: &Options) -> Result<u8, String> {
    let mut code = 0;
    for (entry, variant) in all {
        let found = proved(entry, variant, options, Duration::from_secs(args.search))?;
        if args.json {
            println!("{}", found.json())
        } else {
            print!("{}", found.text())
        }
        if let Some(folder) = &args.emit {
            found.files().iter().try_for_each(|(name, text)| write(&folder.join(name), text))?;
        }
        let of_this = match found.is_expected() {
            Some(true) => 0,
            Some(false) => 1,
            None => 3,
        };
        code = worst(code, of_this);
    }
    Ok(code)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
