//! The argument `--network`.

use std::path::Path;

use clap::Args;
use mowgli_rdma::Network;

use super::out::text_of;
use crate::catalogue::Catalogue;
use crate::error::InputError;
use crate::litmus::parse;

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
}

/// Returns the text of a test on a network, if one is given.
pub(super) fn on(path: &Path, text: &str, network: Option<Network>) -> Result<String, InputError> {
    let of = |network| parse::on_network(&path.display().to_string(), text, network);
    network.map_or_else(|| Ok(text.to_owned()), of)
}
