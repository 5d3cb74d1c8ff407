//! Certificates: proofs of cvc5 for the questions that close cases, checked by ethos where it is installed.
//!
//! **Computes** for each question that a solver answered with `unsat` a proof in the format CPC, if cvc5 finds one in
//! time. A solver's answer is believed; a proof that ethos has accepted need not be.
//!
//! **Example**: `(assert a)(assert (not a))` has a proof with two assumptions and one step, `contra`.
//!
//! **Cost**: one run of cvc5 for each question, and one of ethos for each proof.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rayon::prelude::*;

use crate::solve::{Query, SolverProgram};

/// The options with which cvc5 prints proofs that ethos can check.
const OPTIONS: [&str; 5] =
    ["--lang=smt2", "--produce-proofs", "--proof-format-mode=cpc", "--proof-granularity=dsl-rewrite", "--dag-thresh=0"];

/// The variable of the environment that names the file `Cpc.eo` with the rules of the format.
const RULES: &str = "MOWGLI_CPC";

/// The result for one question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certificate {
    /// cvc5 gave no proof in time.
    Missing,
    /// cvc5 gave a proof, and no ethos checked it.
    Proved,
    /// Ethos has accepted the proof.
    Checked,
    /// Ethos has rejected the proof.
    Rejected,
}

/// The number of questions with each result.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Certified {
    /// The questions.
    pub leaves: usize,
    /// Those with a proof.
    pub proved: usize,
    /// Those whose proof ethos has accepted.
    pub checked: usize,
    /// Those whose proof ethos has rejected.
    pub rejected: usize,
}

impl fmt::Display for Certified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { leaves, proved, checked, rejected } = self;
        write!(f, "{leaves} leaves, {proved} with a proof by cvc5, {checked} checked by ethos")?;
        if *rejected > 0 { write!(f, ", {rejected} rejected") } else { Ok(()) }
    }
}

/// The programs that make and check certificates.
#[derive(Clone, Debug)]
pub struct Certifier {
    limit: Duration,
    /// The file with the rules for ethos, if both are there.
    rules: Option<String>,
}

impl Certifier {
    /// Finds cvc5, and ethos if it can be run.
    ///
    /// # Errors
    /// If cvc5 is missing or too old to print such proofs; the message has its version.
    pub fn find(limit: Duration) -> Result<Self, String> {
        let version = Command::new("cvc5").arg("--version").output().map_err(|e| format!("cvc5 cannot be run: {e}"))?;
        let version = String::from_utf8_lossy(&version.stdout);
        let first = version.lines().next().unwrap_or_default();
        let example = std::env::temp_dir().join(format!("mowgli-certificate-{}.smt2", std::process::id()));
        let certifier = Self { limit, rules: None };
        let written = std::fs::write(&example, "(set-logic ALL)\n(assert false)\n(check-sat)\n(get-proof)\n");
        let proof = written.ok().and_then(|()| certifier.proof(&example));
        let _ = std::fs::remove_file(&example);
        if proof.is_none() {
            return Err(format!("cvc5 cannot print proofs in the format CPC, as 1.4.2 can: \"{first}\""));
        }
        let has_ethos =
            Command::new("ethos").arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
        Ok(Self { rules: std::env::var(RULES).ok().filter(|_| has_ethos), ..certifier })
    }

    /// Describes whether proofs are checked.
    #[must_use]
    pub fn checks(&self) -> String {
        match &self.rules {
            Some(rules) => format!("ethos checks the proofs by the rules in {rules}"),
            None => format!("no proof is checked: that needs ethos on the path, and its rules Cpc.eo in {RULES}"),
        }
    }

    /// Asks cvc5 for the proof of the question in a file, and returns it without the answer before it.
    fn proof(&self, question: &Path) -> Option<String> {
        let limit = format!("--tlimit={}", self.limit.as_millis());
        let said = Command::new("cvc5").args(OPTIONS).arg(limit).arg(question).output().ok()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let proof = said.strip_prefix("unsat")?.trim().strip_prefix('(')?.strip_suffix(')')?;
        Some(proof.trim().to_owned() + "\n").filter(|proof| !proof.starts_with("error"))
    }

    /// Certifies the questions that a solver closed. Writes each question, and its proof beside it, into a folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn certify(&self, folder: &Path, leaves: &[(String, &Query)]) -> std::io::Result<Certified> {
        use Certificate::{Checked, Missing, Proved, Rejected};
        let of_leaf = |(name, query): &(String, &Query)| {
            let [question, proof] = ["smt2", "cpc"].map(|end| folder.join(format!("{name}.{end}")));
            std::fs::write(&question, query.asked_of(SolverProgram::Cvc5) + "(get-proof)\n")?;
            let Some(text) = self.proof(&question) else { return Ok(Missing) };
            std::fs::write(&proof, text)?;
            let Some(rules) = &self.rules else { return Ok(Proved) };
            let said = Command::new("ethos").arg(format!("--include={rules}")).arg(&proof).output()?;
            let is_correct = said.status.success() && String::from_utf8_lossy(&said.stdout).trim() == "correct";
            Ok(if is_correct { Checked } else { Rejected })
        };
        let all = leaves.par_iter().map(of_leaf).collect::<std::io::Result<Vec<Certificate>>>()?;
        let count = |is: &[Certificate]| all.iter().filter(|certificate| is.contains(certificate)).count();
        Ok(Certified {
            leaves: all.len(),
            proved: count(&[Proved, Checked, Rejected]),
            checked: count(&[Checked]),
            rejected: count(&[Rejected]),
        })
    }
}
