//! The `mowgli` command, as a library: litmus tests, bounded checks of libraries, explanations.
//!
//! ```
//! use mowgli::litmus::{parse::parse, run::solve};
//! use mowgli_core::search::problem::Limits;
//!
//! // LOCO Fig. 3: a put reads its source some time later, unless one waits for it.
//! let text = "RDMA_WAIT put { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x, d) ;\n x := 1 ;\nallowed (z=1)\n";
//! let test = parse("put.litmus", text)?;
//! let answer = solve(&test, &[], Limits::default());
//! assert_eq!(answer.outcomes.len(), 2);
//! assert_eq!(answer.holds, [Some(true)]);
//! # Ok::<(), mowgli::error::InputError>(())
//! ```

pub use mowgli_check::{
    catalogue, check, diagnostic, distinguish, entry, error, explain, interrupt, litmus, necessity, properties, robust,
    show,
};
pub use mowgli_web::{book, drawing, lsp, question, report};

pub mod args;
pub mod cat;
pub mod command;
pub mod compare;
pub mod core_rma;
pub mod emit;
mod explaining;
pub mod generate;
mod generated;
mod listing;
pub mod mutation;
pub mod networks;
pub mod new;
pub mod out;
mod pdf;
pub mod prove;
pub mod repair;
mod reporting;
mod selection;
mod semantics;
mod serve;
pub mod shards;
mod site;
mod solving;
mod stages;
mod terminal;
mod verdicts;

pub use command::start::main_with;
pub use prove::theorems;

/// The Rust blocks of the README are doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
