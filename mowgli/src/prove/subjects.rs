//! The libraries and theorems that a proof is wanted for.

use itertools::Itertools;
use mowgli_core::unknown::Unknown;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_rdma::Network;

use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::prove::theorems::{NamedTheorem, THEOREMS};

/// The names of libraries and theorems, and what else chooses them.
pub(crate) struct Subjects<'a> {
    /// The names; without names these are the user's libraries, or else all libraries and theorems.
    pub(crate) names: &'a [String],
    /// A variant.
    pub(crate) variant: Option<&'a str>,
    /// Libraries over which an implementation is.
    pub(crate) over: &'a [String],
    /// The network of the libraries.
    pub(crate) network: Option<Network>,
}

/// Libraries and theorems, each with a variant.
type ChosenSubjects<'c, 'a> = (Vec<(&'c Entry, &'c Variant)>, Vec<(&'static NamedTheorem, &'a str)>);

impl<'a> Subjects<'a> {
    /// Returns the libraries and theorems.
    ///
    /// # Errors
    /// If a name is neither, or nothing is left.
    pub(crate) fn chosen<'c>(&self, catalogue: &'c Catalogue) -> Result<ChosenSubjects<'c, 'a>, InputError> {
        let known = catalogue.names();
        let theorems = THEOREMS.iter().map(|t| t.name);
        if let Some(unknown) =
            self.names.iter().find(|n| !theorems.clone().chain(known.iter().copied()).contains(&n.as_str()))
        {
            let known = known.iter().copied().chain(theorems.clone());
            return Err(Unknown::new("library or theorem", unknown, known).into());
        }
        let (libraries, theorems) = (self.libraries(catalogue)?, self.theorems(catalogue)?);
        if libraries.is_empty() && theorems.is_empty() {
            let what = match self.over {
                [] => "has this variant, and no theorem".to_owned(),
                over => format!("is implemented over {}", over.join(" and ")),
            };
            let error = InputError::new(Code::Unknown, format!("no library {what}"));
            return Err(error.help("see mowgli check --list"));
        }
        Ok((libraries, theorems))
    }

    fn libraries<'c>(&self, catalogue: &'c Catalogue) -> Result<Vec<(&'c Entry, &'c Variant)>, InputError> {
        let usual: Vec<&str> = catalogue.usual().collect();
        let is_wanted = |entry: &&Entry| {
            if self.names.is_empty() { usual.contains(&entry.name) } else { self.names.iter().any(|n| n == entry.name) }
        };
        let name = self.variant.unwrap_or("published");
        let mut all = Vec::new();
        for entry in catalogue.entries().iter().filter(is_wanted) {
            let is_missing = |library: &&String| !entry.below.names().any(|below| below.text() == **library);
            match self.over.iter().find(is_missing) {
                None => {}
                Some(_) if self.names.is_empty() => continue,
                Some(library) => {
                    return Err(InputError::new(
                        Code::Argument,
                        format!("{} is not implemented over {library}, but over {}", entry.name, entry.over()),
                    ));
                }
            }
            match entry.variant(name) {
                Ok(variant) => all.push((entry, variant)),
                Err(_) if self.names.is_empty() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(all)
    }

    /// Selects the theorems that the arguments name, with the variant. Without names these are all theorems, or none if the
    /// user has libraries of their own.
    fn theorems(&self, catalogue: &Catalogue) -> Result<Vec<(&'static NamedTheorem, &'a str)>, InputError> {
        let is_published = self.network.is_none_or(|network| network == Network::RC);
        let all = is_published && self.over.is_empty() && catalogue.usual().count() == catalogue.names().len();
        let is_wanted =
            |t: &&NamedTheorem| if self.names.is_empty() { all } else { self.names.iter().any(|n| n == t.name) };
        let variant = self.variant.unwrap_or("published");
        let mut found = Vec::new();
        for theorem in THEOREMS.iter().filter(is_wanted) {
            if let Some(network) = self.network.filter(|_| !is_published) {
                let message = format!("theorem {} is about the network of the papers, rc", theorem.name);
                return Err(InputError::new(Code::Argument, message).help(format!("leave out --network {network}")));
            }
            if !self.over.is_empty() {
                return Err(InputError::new(
                    Code::Argument,
                    format!("theorem {} is about no implementation, so it is over no library", theorem.name),
                ));
            }
            if theorem.variants().contains(&variant) {
                found.push((theorem, variant));
            } else if !self.names.is_empty() {
                let known = theorem.variants().join(", ");
                return Err(InputError::new(
                    Code::Argument,
                    format!("theorem {} has no variant {variant}", theorem.name),
                )
                .help(format!("there are {known}")));
            }
        }
        Ok(found)
    }
}
