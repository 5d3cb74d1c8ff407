//! The jobs of a run for Slurm: an array of shards, and a job that merges them.

use std::path::{Path, PathBuf};

use crate::error::{Code, InputError};

/// The description of the jobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jobs {
    /// The command, without `mowgli`.
    pub command: Vec<String>,
    /// The number of shards.
    pub shards: usize,
    /// The minutes that each shard may run.
    pub minutes: u64,
    /// The memory of each shard, in Slurm's notation.
    pub memory: String,
    /// The cores of each shard.
    pub cores: u64,
    /// The folder in which the command runs.
    pub here: PathBuf,
    /// The folder for the files.
    pub dir: PathBuf,
    /// The program.
    pub mowgli: PathBuf,
}

/// The number of times that a job runs a shard whose process is killed.
const TRIES: usize = 3;

/// The number of times that a shard whose time is up gets another job.
const PLACES: usize = 20;

/// Quotes a word for the shell, whatever it contains.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Returns a path for a line that Slurm reads.
fn plain(path: &Path) -> Result<&str, InputError> {
    let is_plain = |text: &&str| !text.contains(['\n', '"', '\'', '\\', '%', ' ']);
    let text = path.to_str().filter(is_plain);
    text.ok_or_else(|| {
        let message = format!("{}: Slurm takes no path with spaces, quotes or %", path.display());
        InputError::new(Code::Argument, message).help("choose another --dir")
    })
}

impl Jobs {
    fn head(&self, name: &str, minutes: u64, log: &str) -> Result<String, InputError> {
        let Self { memory, .. } = self;
        let log = plain(&self.dir)?.to_owned() + "/" + log;
        Ok(format!(
            "#!/usr/bin/env bash\n#SBATCH --job-name={name}\n#SBATCH --ntasks=1\n#SBATCH --time={minutes}\n#SBATCH --mem={memory}\n\
             #SBATCH --requeue\n#SBATCH --output={log}\n"
        ))
    }

    /// Writes the script of the array, with one shard for each job.
    ///
    /// # Errors
    /// If the folder has a name that Slurm does not take.
    pub fn array(&self) -> Result<String, InputError> {
        let Self { shards, minutes, cores, .. } = self;
        let head = self.head("mowgli", *minutes, "%a.log")?;
        let words: Vec<String> = self.command.iter().map(|w| word(w)).collect();
        // A check stops by itself before Slurm's limit, and continues in its next job.
        let limits = match self.command.first().map(String::as_str) {
            Some("check") => format!(" --jobs {cores} --timeout {}", (minutes * 60).saturating_sub(30).max(30)),
            _ => String::new(),
        };
        let [here, dir, mowgli] = [&self.here, &self.dir, &self.mowgli].map(|path| word(&path.display().to_string()));
        Ok(format!(
            "{head}#SBATCH --array=1-{shards}\n#SBATCH --cpus-per-task={cores}\n#SBATCH --open-mode=append\n\
             # A shard goes on where it was: at once if its process was killed, in another place if its time is up or its node is \
             gone.\n\
             cd {here} || exit 2\n\
             for try in $(seq {TRIES}); do\n  \
               {mowgli} {} --shard \"$SLURM_ARRAY_TASK_ID/{shards}\" --out {dir}/\"$SLURM_ARRAY_TASK_ID\".shard{limits}\n  \
               code=$?\n  \
               case $code in\n    \
                 0 | 2) exit $code ;;\n    \
                 3) [ \"${{SLURM_RESTART_COUNT:-0}}\" -lt {PLACES} ] && scontrol requeue \"$SLURM_JOB_ID\" && exit ;;\n  \
               esac\n\
             done\n\
             exit $code\n",
            words.join(" ")
        ))
    }

    /// Writes the script of the job that merges the shards.
    ///
    /// # Errors
    /// If the folder has a name that Slurm does not take.
    pub fn merge(&self) -> Result<String, InputError> {
        let head = self.head("mowgli-merge", self.minutes.max(60), "merge.log")?;
        let [here, dir, mowgli] = [&self.here, &self.dir, &self.mowgli].map(|path| word(&path.display().to_string()));
        Ok(format!("{head}cd {here} || exit 2\n{mowgli} merge {dir} > {dir}/merged.txt\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_them() {
        assert_eq!(["a-b", "", "it's", "a b", "$x"].map(word), ["a-b", "''", r"'it'\''s'", "'a b'", "'$x'"]);
    }
}
