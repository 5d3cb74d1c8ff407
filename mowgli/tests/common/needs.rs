//! Tests that need more than Rust, or more time than everybody has.
//!
//! A test whose tool is missing is reported as ignored, not as passed. With `CI` set, it fails instead if CI is meant
//! to have the tool. A long test runs with `--include-ignored` only.

use libtest_mimic::{Completion, Failed, Trial};

/// A tool that a test needs.
#[derive(Clone)]
pub struct Need {
    /// The name of the tool.
    pub tool: &'static str,
    /// True if CI is meant to have the tool.
    pub in_ci: bool,
    /// Returns the reason why the tool cannot be used here, if it cannot. Only a test that runs asks.
    pub missing: fn() -> Option<String>,
}

impl Need {
    /// Ends a test whose tool is missing.
    pub fn unmet(&self, why: &str) -> Result<Completion, Failed> {
        let tool = self.tool;
        if self.in_ci && std::env::var_os("CI").is_some() {
            return Err(format!("{tool} is missing although CI is set: {why}; install it, or unset CI").into());
        }
        Ok(Completion::ignored_with(format!("it needs {tool}: {why}")))
    }
}

/// When a test runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// In every `cargo test`.
    #[allow(dead_code, reason = "not every program of tests has a quick one with a need")]
    Quick,
    /// With `--include-ignored`.
    Long,
}

/// A test that needs a tool.
pub fn trial(name: impl Into<String>, layer: Layer, need: Need, test: impl FnOnce() + Send + 'static) -> Trial {
    let kind = format!("needs {}", need.tool);
    let run = move || {
        if let Some(why) = (need.missing)() {
            return need.unmet(&why);
        }
        test();
        Ok(Completion::Completed)
    };
    Trial::ignorable_test(name, run).with_kind(kind).with_ignored_flag(layer == Layer::Long)
}
