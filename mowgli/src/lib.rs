//! The `mowgli` command, as a library: litmus tests, bounded checks of libraries, explanations.
//!
//! ```
//! use mowgli::litmus::{parse::parse, run::solve};
//! use mowgli_core::problem::Limits;
//!
//! // LOCO Fig. 3: a put reads its source some time later, unless one waits for it.
//! let text = "RDMA_WAIT put { x@1 = 0; z@2 = 0; }\n P1@1 ;\n put(z, x, d) ;\n x := 1 ;\nallowed (z=1)\n";
//! let test = parse("put.litmus", text)?;
//! let answer = solve(&test, &[], Limits::default());
//! assert_eq!(answer.outcomes.len(), 2);
//! assert_eq!(answer.holds, [Some(true)]);
//! # Ok::<(), mowgli::error::InputError>(())
//! ```

pub use mowgli_check::{catalogue, check, entry, error, explain, interrupt, show};

#[cfg(feature = "full")]
pub mod book;
#[cfg(not(target_family = "wasm"))]
pub mod cat;
#[cfg(not(target_family = "wasm"))]
pub mod command;
#[cfg(feature = "full")]
pub mod compare;
pub mod diagnostic;
#[cfg(not(target_family = "wasm"))]
pub mod distinguish;
pub mod drawing;
#[cfg(feature = "full")]
pub mod emit;
#[cfg(feature = "full")]
pub mod generate;
pub mod litmus;
#[cfg(feature = "full")]
pub mod lsp;
mod markup;
#[cfg(not(target_family = "wasm"))]
pub mod mutation;
#[cfg(not(target_family = "wasm"))]
pub mod necessity;
#[cfg(feature = "full")]
pub mod networks;
#[cfg(feature = "full")]
pub mod new;
#[cfg(not(target_family = "wasm"))]
pub mod properties;
#[cfg(feature = "full")]
pub mod prove;
#[cfg(feature = "page")]
pub mod question;
#[cfg(feature = "page")]
pub mod repair;
#[cfg(feature = "page")]
pub mod report;
#[cfg(feature = "full")]
pub mod robust;
#[cfg(not(target_family = "wasm"))]
pub mod shards;
#[cfg(not(target_family = "wasm"))]
mod terminal;
#[cfg(feature = "full")]
pub mod theorems;

#[cfg(not(target_family = "wasm"))]
pub use command::main_with;

/// The Rust blocks of the README are doc tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
