//! `mowgli robust`.

use std::path::{Path, PathBuf};

use clap::Args;
use mowgli_rdma::robust::Cpu;

use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::interrupt::{self, Deadline, SECOND};
use crate::litmus::test::Model;
use crate::out::{all_files, parsed, reported_in, save, text_of, worst};

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli robust mp.litmus\n  mowgli robust --model sc --fix mp.litmus")]
pub(super) struct RobustArgs {
    /// Files ending in .litmus, or directories with such files; tests of other models are left out of directories.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The memory model of the CPU; by default that of the file.
    #[arg(long, value_enum)]
    model: Option<CpuArg>,
    /// Print one JSON object per test, one per line.
    #[arg(long)]
    json: bool,
    /// Write the test with its smallest repair beside it, to NAME.fixed.litmus.
    #[arg(long)]
    fix: bool,
    /// Steps of the search for one test.
    #[arg(long, value_name = "N", default_value_t = 60 * SECOND)]
    steps: u64,
    /// Seconds after which a test is cancelled.
    #[arg(long, value_name = "S")]
    timeout: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum CpuArg {
    /// Sequentially consistent.
    Sc,
    /// With store buffers.
    Tso,
}

pub(super) fn robust(args: &RobustArgs, catalogue: &Catalogue) -> u8 {
    let mut code = 0;
    for file in all_files(&args.paths, &mut code) {
        let own = if interrupt::requested() {
            eprintln!("interrupted: {} was not looked at", file.display());
            3
        } else {
            reported_in(args.json, one_robust(&file, args, catalogue))
        };
        code = worst(code, own);
    }
    code
}

/// Decides robustness. Returns 0 if the test is robust, 1 if not, 3 if a limit left that open or no execution ends.
fn one_robust(path: &Path, args: &RobustArgs, catalogue: &Catalogue) -> Result<u8, InputError> {
    let name = path.display().to_string();
    let text = text_of(path)?;
    let test = parsed(catalogue, path, &text)?;
    let is_named = args.paths.iter().any(|p| p == path);
    if !is_named && !matches!(test.model, Model::RDMA_TSO | Model::RdmaSc) {
        return Ok(0);
    }
    let deadline = Deadline::after(args.timeout).within(args.steps);
    let cpu = args.model.map(|m| if m == CpuArg::Sc { Cpu::Sc } else { Cpu::Tso });
    let found = crate::robust::robust(&test, cpu, &|| deadline.expired()).map_err(|e| e.within(&name))?;
    if args.json {
        println!("{}", found.json());
    } else {
        println!("{}", found.text());
    }
    if let (true, Some(fixed)) = (args.fix, found.fixed(&text)?) {
        let to = path.with_extension("fixed.litmus");
        save(&to, &fixed)?;
        if !args.json {
            println!("  written to {}", to.display());
        }
    }
    Ok(match found.is_robust() {
        Some(true) => 0,
        Some(false) => 1,
        None if found.is_vacuous() && test.is_meant_vacuous() => 0,
        None => 3,
    })
}
