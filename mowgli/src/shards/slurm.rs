//! The jobs of a run for Slurm: an array of shards, and what puts them together.

use std::path::{Path, PathBuf};

/// What the jobs are made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jobs {
    /// What is asked, without `mowgli`.
    pub command: Vec<String>,
    /// How many shards there are.
    pub shards: usize,
    /// For how long each may run.
    pub minutes: u64,
    /// The memory of each, as Slurm says it.
    pub memory: String,
    /// The cores of each.
    pub cores: u64,
    /// Where the command would run.
    pub here: PathBuf,
    /// Where the files go.
    pub dir: PathBuf,
    /// The program.
    pub mowgli: PathBuf,
}

/// How often a shard whose process was killed is started again at once.
const TRIES: usize = 3;

/// How often a shard that gave its place up gets another one.
const PLACES: usize = 20;

/// A word for the shell, whatever is in it.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// A path for a line that Slurm reads.
fn plain(path: &Path) -> Result<&str, String> {
    let is_plain = |text: &&str| !text.contains(['\n', '"', '\'', '\\', '%', ' ']);
    let text = path.to_str().filter(is_plain);
    text.ok_or_else(|| {
        format!("{}: Slurm takes no path with spaces, quotes or %; choose another --dir", path.display())
    })
}

impl Jobs {
    fn head(&self, name: &str, minutes: u64, log: &str) -> Result<String, String> {
        let Self { memory, .. } = self;
        let log = plain(&self.dir)?.to_owned() + "/" + log;
        Ok(format!(
            "#!/usr/bin/env bash\n#SBATCH --job-name={name}\n#SBATCH --ntasks=1\n#SBATCH --time={minutes}\n#SBATCH --mem={memory}\n\
             #SBATCH --requeue\n#SBATCH --output={log}\n"
        ))
    }

    /// The array: one shard each.
    ///
    /// # Errors
    /// If the folder has a name that Slurm does not take.
    pub fn array(&self) -> Result<String, String> {
        let Self { shards, minutes, cores, .. } = self;
        let head = self.head("mowgli", *minutes, "%a.log")?;
        let words: Vec<String> = self.command.iter().map(|w| word(w)).collect();
        // A check gives its place up itself before the limit, and goes on in the next.
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

    /// The job that puts the shards together.
    ///
    /// # Errors
    /// If the folder has a name that Slurm does not take.
    pub fn merge(&self) -> Result<String, String> {
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
