//! Questions of the page about a test, and their answers: the interface between the page and the solver.

use mowgli_core::problem::Limits;
use mowgli_rdma::Network;
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::diagnostic::{Colours, drawn};
use crate::error::InputError;
use crate::litmus::parse::{on_network, over, parse_in};
use crate::litmus::x86;
use crate::report::{Drawn, Page, TestRow};

/// The name of the test in errors.
const NAME: &str = "the test";

/// A question about a test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageQuestion {
    /// The text of the test.
    pub test: String,
    /// The model in place of the one that the test names; empty for its own.
    pub over: String,
    /// The network in place of the one that the model names; empty for its own.
    pub network: String,
    /// The libraries that run by their implementations: `bal:no-fence`, `sv`.
    pub implemented: Vec<String>,
    /// Whether to find the least to insert, too.
    pub repair: bool,
    /// The number of an outcome, to draw an execution that has it.
    pub draw: Option<usize>,
}

impl PageQuestion {
    /// Answers the question: a page with the test, or with the error in it.
    #[must_use]
    pub fn answer(&self, catalogue: &Catalogue, network: Option<Network>, limits: Limits<'_>) -> Page {
        self.solved(catalogue, network, limits).unwrap_or_else(|error| {
            let is_herd = self.test.trim_start().starts_with("X86");
            let offer = is_herd.then(|| x86::from_herd(NAME, &self.test).ok()).flatten();
            let place = error.place.as_deref().filter(|place| place.file == NAME);
            let place = place.map(|place| (place.line, place.column));
            Page { errors: vec![drawn(&error, Colours::None)], place, offer, ..Page::default() }
        })
    }

    fn solved(&self, catalogue: &Catalogue, network: Option<Network>, limits: Limits<'_>) -> Result<Page, InputError> {
        let text = if self.over.is_empty() { self.test.clone() } else { over(&self.test, self.over.parse()?) };
        let chosen = if self.network.is_empty() { None } else { Some(Network::named(&self.network)?) };
        let text = chosen.or(network).map_or_else(|| Ok(text.clone()), |network| on_network(NAME, &text, network))?;
        let test = parse_in(catalogue, NAME, &text)?;
        let row = TestRow::new(catalogue, &test, &text, &self.implemented, Drawn::Only(self.draw), limits)?;
        let row = if self.repair { row.with_repair(&test, &self.implemented, limits) } else { row };
        Ok(Page { tests: vec![row], ..Page::default() })
    }
}
