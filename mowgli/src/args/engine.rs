//! The argument `--engine`.

use crate::litmus::run::Engine;

/// The engines that find outcomes.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
pub(crate) enum EngineArg {
    /// From the axioms.
    #[default]
    Declarative,
    /// By exploring the machine of RDMA-TSO-RMW.
    Operational,
    /// In both ways; a difference is an error.
    Both,
}

impl From<EngineArg> for Engine {
    fn from(arg: EngineArg) -> Self {
        match arg {
            EngineArg::Declarative => Self::Declarative,
            EngineArg::Operational => Self::Operational,
            EngineArg::Both => Self::Both,
        }
    }
}
