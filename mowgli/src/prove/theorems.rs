//! Theorems of the papers that are not about implementations. A proof shows inclusions between relations, for every
//! program; a program with an outcome refutes a theorem.

use std::time::{Duration, Instant};

use mowgli_prove::error::Error;
use mowgli_prove::prove::{Proof, ProofOptions};
use mowgli_prove::smt::solve::SolverLimit;
use mowgli_prove::theorems::polls::{self, COMPILERS};
use mowgli_prove::theorems::robust::{self, Dropped};
use mowgli_rdma::robust::Cpu;
use serde_json::json;

use crate::error::{Bug, Code, InputError};
use crate::interrupt::Failure;
use crate::prove::{ProofResult, ProofVerdict, found_in, open, rows, table};

mod search;

pub use search::RefutingProgram;

/// A theorem.
pub struct NamedTheorem {
    /// Its name.
    pub name: &'static str,
    /// Its paper and number, and its claim.
    pub about: &'static str,
    claim: TheoremClaim,
}

/// The claim of a theorem.
#[derive(Clone, Copy)]
enum TheoremClaim {
    /// With this CPU, locally data-race free and fenced imply robust.
    Robust(Cpu),
    /// Waits can be compiled to polls.
    WaitsToPolls,
}

/// The result for one theorem.
pub struct TheoremResult {
    name: &'static str,
    about: &'static str,
    variant: String,
    proof: Proof,
    refutation: Option<RefutingProgram>,
    time: Duration,
}

/// All theorems.
pub const THEOREMS: &[NamedTheorem] = &[
    NamedTheorem {
        name: "robust-sc",
        about: "ROBUST Theorem 5: on RDMA-SC, locally data-race free and fenced imply robust",
        claim: TheoremClaim::Robust(Cpu::Sc),
    },
    NamedTheorem {
        name: "robust-tso",
        about: "ROBUST Theorem 17: on RDMA-TSO, locally data-race free and fenced imply robust",
        claim: TheoremClaim::Robust(Cpu::Tso),
    },
    NamedTheorem {
        name: "waits-to-polls",
        about: "SYNC Theorem 6: a program whose waits are compiled to polls has no outcome that it has not with waits",
        claim: TheoremClaim::WaitsToPolls,
    },
];

/// The steps for a question if a program already refutes the theorem.
const BRIEF: u64 = 2 * SolverLimit::SECOND;

impl NamedTheorem {
    /// Returns the variants: the first is the published theorem; each other one is false.
    #[must_use]
    pub fn variants(&self) -> Vec<&'static str> {
        match self.claim {
            TheoremClaim::Robust(_) => robust::VARIANTS.to_vec(),
            TheoremClaim::WaitsToPolls => COMPILERS.iter().map(|(name, _)| *name).collect(),
        }
    }

    /// Searches for a program that refutes a variant.
    fn refuted(&self, variant: &str, limit: usize) -> Option<RefutingProgram> {
        match self.claim {
            TheoremClaim::Robust(cpu) => {
                search::not_robust(cpu, &robust::libraries(cpu, variant), Dropped::of(variant), limit)
            }
            TheoremClaim::WaitsToPolls => search::not_included(polls::compiler(variant)?, limit),
        }
    }

    fn proved(&self, variant: &str, options: &ProofOptions) -> Result<Proof, Failure> {
        let proof = match self.claim {
            TheoremClaim::Robust(cpu) => robust::proved(cpu, variant, options).map_err(Error::from),
            TheoremClaim::WaitsToPolls => polls::proved(variant, options),
        };
        proof.map_err(|error| match error {
            Error::Refused(refusal) => InputError::of(Code::Unsupported, refusal).about(&self.name).into(),
            Error::Contradicted(contradiction) => Bug { message: format!("{}: {contradiction}", self.name) }.into(),
            Error::Unknown(unknown) => unknown.into(),
        })
    }

    /// Searches so many programs of each size for one that refutes the theorem, and asks the solvers.
    ///
    /// # Errors
    /// If first-order logic cannot express a part of the model, or an execution contradicts the theory.
    pub fn reported(&self, variant: &str, options: &ProofOptions, search: usize) -> Result<TheoremResult, Failure> {
        let start = Instant::now();
        let refutation = self.refuted(variant, search);
        let limit = if refutation.is_some() { options.limit.at_most(BRIEF) } else { options.limit };
        let proof = self.proved(variant, &ProofOptions { limit, ..options.clone() })?;
        let variant = variant.to_owned();
        Ok(TheoremResult { name: self.name, about: self.about, variant, proof, refutation, time: start.elapsed() })
    }
}

impl ProofResult for TheoremResult {
    fn word(&self) -> ProofVerdict {
        ProofVerdict::of(self.proof.is_proved(), self.refutation.is_some())
    }

    fn title(&self) -> String {
        format!("{} ({})", self.name, self.variant)
    }

    fn is_expected(&self) -> Option<bool> {
        match self.word() {
            ProofVerdict::Proved => Some(self.variant == "published"),
            ProofVerdict::Contradiction => Some(false),
            ProofVerdict::Refuted => Some(self.variant != "published"),
            ProofVerdict::Undecided => None,
        }
    }

    /// Returns the steps as a table, and the verdict; for a refutation also the program.
    fn text(&self) -> String {
        let mut out = format!("{}{}", table(&self.proof), found_in(&self.proof));
        let Self { name, variant, about, .. } = self;
        let all = if self.word() == ProofVerdict::Proved { ", for every program" } else { "" };
        out.push_str(&format!("{name} ({variant}), {about}: {}{all}\n", self.word().text()));
        if self.word() != ProofVerdict::Proved {
            open(&self.proof).iter().for_each(|line| out.push_str(&format!("  not shown: {line}\n")));
        }
        if let Some(RefutingProgram { litmus, why }) = &self.refutation {
            out.push_str(&format!("\n{litmus}{why}"));
        }
        out
    }

    fn json(&self) -> String {
        let refutation = self.refutation.as_ref();
        json!({
            "theorem": self.name, "about": self.about, "variant": self.variant, "verdict": self.word().text(),
            "expected": self.is_expected(), "obligations": rows(&self.proof), "executions": self.proof.executions,
            "open": if self.word() == ProofVerdict::Proved { Vec::new() } else { open(&self.proof) },
            "client": refutation.map(|r| &r.litmus), "why": refutation.map(|r| &r.why), "seconds": self.time.as_secs_f64(),
        })
        .to_string()
    }

    fn prefix(&self) -> String {
        format!("{}-{}", self.name, self.variant)
    }

    fn proof(&self) -> &Proof {
        &self.proof
    }
}
