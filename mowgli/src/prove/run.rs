//! Proofs for several libraries and theorems, with the files that are kept of them.

use std::path::PathBuf;

use mowgli_libraries::entry::{Entry, Variant};
use mowgli_prove::prove::ProofOptions;
use mowgli_prove::smt::certificate::Certifier;
use mowgli_prove::smt::solve::Query;

use super::questions::{PrintedAnswer, ProofQuestion, in_order, question};
use crate::error::{Bug, Code, InputError};
use crate::interrupt::Failure;
use crate::out::{reported_in, save, worst};
use crate::prove::proved;
use crate::prove::theorems::NamedTheorem;

/// A run of proofs.
pub(crate) struct ProofRun<'a> {
    /// The solvers and their limits.
    pub(crate) options: ProofOptions,
    /// The clients to search for a counterexample where there is no proof.
    pub(crate) search: usize,
    /// True if answers are objects.
    pub(crate) is_json: bool,
    /// The folder for the questions about obligations.
    pub(crate) emit: Option<&'a PathBuf>,
    /// The folder for certificates.
    pub(crate) certificates: Option<&'a PathBuf>,
}

/// Returns the error for a missing checker of certificates.
fn no_certifier(why: String) -> InputError {
    InputError::new(Code::Tool, why).help("install a newer cvc5, or leave out --certificates")
}

impl ProofRun<'_> {
    /// Proves these, and prints each answer. Returns 0 if every verdict is expected, 1 if one is not, 3 if one is undecided.
    pub(crate) fn print(
        &self,
        libraries: &[(&Entry, &Variant)],
        theorems: &[(&NamedTheorem, &str)],
    ) -> Result<u8, Failure> {
        for folder in self.emit.iter().chain(&self.certificates) {
            std::fs::create_dir_all(folder).map_err(|e| InputError::file(folder, e))?;
        }
        let certifier = match self.certificates {
            None => None,
            Some(folder) => Some((folder, Certifier::find(self.options.limit.cancel).map_err(no_certifier)?)),
        };
        let mut certified = Vec::new();
        let of_library =
            |(entry, variant): &(&Entry, &Variant)| Ok(proved(entry, variant, &self.options, self.search)?);
        let of_libraries = libraries.iter().map(|library| question(self.is_json, || of_library(library)));
        let of_theorem = |t: &NamedTheorem, variant: &str| t.reported(variant, &self.options, self.search);
        let of_theorems = theorems.iter().map(|(t, variant)| question(self.is_json, || of_theorem(t, variant)));
        let (mut code, mut contradiction) = (0, None);
        in_order(&of_libraries.chain(of_theorems).collect::<Vec<ProofQuestion<'_>>>(), |said| {
            let done = said.and_then(|said| {
                print!("{}", said.printed);
                contradiction.clone_from(&said.contradiction);
                self.keep(&said)?;
                if let Some((folder, certifier)) = &certifier {
                    let leaves: Vec<(String, &Query)> = said.leaves.iter().map(|(name, q)| (name.clone(), q)).collect();
                    let found = certifier.certify(folder, &leaves).map_err(|e| InputError::file(folder, e))?;
                    certified.push((said.title, found, said.obligations));
                }
                Ok(said.code)
            });
            code = worst(code, done.unwrap_or_else(|error| reported_in(self.is_json, Err(error))));
            contradiction.is_none()
        });
        if let Some((_, certifier)) = certifier.filter(|_| !self.is_json) {
            println!("Certificates: {}", certifier.checks());
            certified.iter().for_each(|(title, found, of)| println!("  {title}: {found} of {of}"));
        }
        contradiction.map_or(Ok(code), |bug: Bug| Err(bug.into()))
    }

    /// Writes the files of the obligations to their folder, if there is one.
    fn keep(&self, said: &PrintedAnswer) -> Result<(), InputError> {
        let Some(folder) = self.emit else { return Ok(()) };
        said.files.iter().try_for_each(|(name, text)| save(&folder.join(name), text))
    }
}
