//! The `submit` command: a run as jobs of a cluster's scheduler. The jobs run `mowgli` itself; nothing else of ours
//! stays on the cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::out::save;
use super::shards::MOST;
use crate::error::{Code, InputError};
use crate::shards::slurm::Jobs;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli submit slurm -- check bal --threads 4\n  mowgli submit slurm --shards 64 --dir run --run -- check sv --threads 3\n  mowgli merge --watch run"
)]
pub(super) struct SubmitArgs {
    /// The scheduler.
    #[arg(value_enum)]
    scheduler: Scheduler,
    /// The number of shards; by an estimate, so that each takes half a minute or more, if not given.
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) shards: Option<usize>,
    /// The folder for the jobs and their results.
    #[arg(long, value_name = "DIR", default_value = "shards")]
    dir: PathBuf,
    /// Cores of each shard.
    #[arg(long, value_name = "J", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=60))]
    cores: u64,
    /// Minutes after which a shard gives its place up, to go on later; by the estimate if not given.
    #[arg(long, value_name = "MIN", value_parser = clap::value_parser!(u64).range(1..))]
    minutes: Option<u64>,
    /// Memory of each shard.
    #[arg(long, value_name = "SIZE", default_value = "2G")]
    memory: String,
    /// Start them.
    #[arg(long)]
    run: bool,
    /// The command, as check bal --threads 4.
    #[arg(last = true, required = true)]
    pub(super) command: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Scheduler {
    /// An array of jobs, and one that merges them.
    Slurm,
}

fn count(text: &str) -> Result<usize, InputError> {
    let number = text.parse().ok().filter(|n| (1..=MOST).contains(n));
    number.ok_or_else(|| InputError::new(Code::Argument, format!("`{text}` is no number of shards: 1 to {MOST}")))
}

/// The least seconds of a shard, if we choose the number of shards.
const LEAST: f64 = 30.0;

/// The most shards that we choose: Slurm's default limit on the size of an array.
const USUAL: f64 = 1000.0;

/// Writes the jobs of a run, and starts them if `--run` is given. `seconds` estimates the command on one core; `None`
/// if it cannot be estimated.
pub(super) fn submitted(args: &SubmitArgs, seconds: Option<f64>) -> Result<u8, InputError> {
    let shards = match (args.shards, seconds) {
        (Some(shards), _) => shards,
        (None, Some(seconds)) => (seconds / args.cores as f64 / LEAST).floor().clamp(1.0, USUAL) as usize,
        (None, None) => {
            let error = InputError::new(Code::Argument, "only checks can be estimated");
            return Err(error.help("say how many shards, as --shards 16"));
        }
    };
    let each = seconds.map(|seconds| seconds / args.cores as f64 / shards as f64);
    // An estimate is within a factor of two for sampled clients. The other factor of two is for the clients that were
    // not sampled.
    let minutes = args.minutes.unwrap_or_else(|| each.map_or(60, |each| (each * 4.0 / 60.0).ceil() as u64 + 5));
    let (command, memory, cores) = (args.command.clone(), args.memory.clone(), args.cores);
    let here = std::env::current_dir().map_err(|e| InputError::new(Code::File, format!("the current folder: {e}")))?;
    let mowgli =
        std::env::current_exe().map_err(|e| InputError::new(Code::File, format!("the path of mowgli: {e}")))?;
    let jobs = Jobs { command, shards, minutes, memory, cores, dir: here.join(&args.dir), here, mowgli };
    let [array, merge] = write(&jobs, &args.dir)?;
    if let Some(each) = each {
        println!("{shards} shards of about {}, each for at most {minutes} min", crate::shards::estimate::time(each));
    }
    if !args.run {
        println!("sbatch {}", array.display());
        println!("sbatch --dependency=afterany:JOB {}", merge.display());
        return Ok(0);
    }
    let id = sbatch(&["--parsable", &array.display().to_string()])?;
    let after = format!("--dependency=afterany:{id}");
    let merge = sbatch(&["--parsable", &after, &merge.display().to_string()])?;
    println!("jobs {id} and {merge}; mowgli merge --watch {} shows how far they are", args.dir.display());
    println!("what one process would have said goes to {}", args.dir.join("merged.txt").display());
    Ok(0)
}

fn write(jobs: &Jobs, dir: &Path) -> Result<[PathBuf; 2], InputError> {
    std::fs::create_dir_all(dir).map_err(|e| InputError::file(dir, e))?;
    let put = |name: &str, text: String| {
        let path = dir.join(name);
        save(&path, &text)?;
        Ok::<_, InputError>(path)
    };
    Ok([put("array.sbatch", jobs.array()?)?, put("merge.sbatch", jobs.merge()?)?])
}

/// Hands a job to Slurm, and returns its number.
fn sbatch(args: &[&str]) -> Result<String, InputError> {
    let ran = Command::new("sbatch").args(args).output();
    let ran = ran.map_err(|e| {
        let error = InputError::new(Code::Tool, format!("sbatch: {e}"));
        error.help("--run needs Slurm on this machine, without it the files are written only")
    })?;
    if !ran.status.success() {
        return Err(InputError::new(
            Code::Tool,
            format!("sbatch {}: {}", args.join(" "), String::from_utf8_lossy(&ran.stderr).trim()),
        ));
    }
    let said = String::from_utf8_lossy(&ran.stdout);
    // The name of a cluster may follow the number.
    Ok(said.trim().split(';').next().unwrap_or_default().to_owned())
}
