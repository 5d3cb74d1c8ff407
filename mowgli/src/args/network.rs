//! The argument `--network`.

use std::path::Path;

use clap::Args;
use mowgli_rdma::Network;

use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::out::{on, text_of};

/// The network that a command is about.
#[derive(Args, Clone, Copy, Default)]
pub struct On {
    /// The network, in place of the one that a model names: rc, rc-relaxed, efa, cxi and others, or libfabric:BITS.
    #[arg(long, value_name = "NAME", value_parser = Network::named)]
    pub network: Option<Network>,
}

impl On {
    /// Reads the text of a test, on the network.
    pub fn text_of(&self, path: &Path) -> Result<String, InputError> {
        on(path, &text_of(path)?, self.network)
    }

    /// Returns the catalogue with its libraries on the network.
    pub fn of(&self, catalogue: Catalogue) -> Result<Catalogue, InputError> {
        match self.network {
            Some(network) => catalogue.on(network),
            None => Ok(catalogue),
        }
    }

    /// Checks that the network is that of the papers.
    pub(crate) fn is_published(&self, why: &str, other: &str) -> Result<(), InputError> {
        let is_rc = |network: &Network| *network == Network::RC;
        self.network.filter(|network| !is_rc(network)).map_or(Ok(()), |network| {
            let help = format!("leave out --network {network}, or {other}");
            Err(InputError::new(Code::Argument, why).help(help))
        })
    }
}
