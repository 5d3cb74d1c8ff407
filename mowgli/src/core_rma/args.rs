//! The arguments of `litmus` about the rules of coreRMA, and about networks.

use clap::Args;
use itertools::Itertools as _;
use mowgli_core::search::problem::Limits;
use mowgli_rdma::Network;
use mowgli_rdma::core_rma::execution::{Rule, Rules};

use crate::error::{Code, InputError};
use crate::litmus::core_rma::solve;
use crate::litmus::run::Answer;
use crate::litmus::test::{Model, Test};

/// The network of tests, and the rules of those of coreRMA.
#[derive(Args)]
pub(crate) struct RuleArgs {
    /// The network, in place of the one that a model names: rc, rc-relaxed, efa, cxi and others, or libfabric:BITS. For
    /// tests of CORE_RMA the network under whose rules they are solved: core, which is the default, or infiniband.
    #[arg(long, value_name = "NAME", value_parser = ModelChoice::named)]
    network: Option<ModelChoice>,
    /// Rules of CORE_RMA that are switched off, for example IR.
    #[arg(long, value_delimiter = ',', value_name = "RULE")]
    without: Vec<Rule>,
}

impl RuleArgs {
    /// Returns the network of the other models, if one is given.
    pub(crate) fn network(&self) -> Option<Network> {
        if let Some(ModelChoice::Network(network)) = self.network { Some(network) } else { None }
    }

    /// Checks that no rules are chosen for a test of another model.
    pub(crate) fn are_of(&self, model: Model) -> Result<(), InputError> {
        let is_chosen = !self.without.is_empty() || matches!(self.network, Some(ModelChoice::Rules(_)));
        if model == Model::CoreRma || !is_chosen {
            return Ok(());
        }
        let networks = Rules::PRESETS.iter().map(|(name, _)| name).join(", ");
        let of = Model::CoreRma;
        let error = InputError::new(Code::Unsupported, format!("{model} has no rules to choose or to switch off"));
        Err(error
            .help(format!("--without, and {networks} as --network, are for {of}; --model {of} leaves other tests out")))
    }

    /// Solves a test of coreRMA under the rules; `None` if it is of another model.
    pub(crate) fn solved(&self, test: &Test, limits: Limits<'_>) -> Option<Answer> {
        let rules = if let Some(ModelChoice::Rules(rules)) = &self.network { rules.clone() } else { Rules::core() };
        let rules = self.without.iter().fold(rules, |rules, &rule| rules.without(rule));
        (test.model == Model::CoreRma).then(|| solve(test, &rules, limits))
    }
}

/// A network of RDMA_WAIT and RDMA_TSO, or the rules of one of CORE_RMA.
#[derive(Clone)]
enum ModelChoice {
    Network(Network),
    Rules(Rules),
}

impl ModelChoice {
    fn named(name: &str) -> Result<Self, InputError> {
        Rules::preset(name).map(Self::Rules).or_else(|rules| {
            let error = |e| InputError::new(Code::Argument, format!("{e}")).help(format!("for CORE_RMA: {rules}"));
            Network::named(name).map(Self::Network).map_err(error)
        })
    }
}
