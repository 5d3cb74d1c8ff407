//! Bounded checks of libraries, litmus tests and explanations: what the tests of a library need.
//!
//! The command, `mowgli`, has all of this under its own name, and more questions. This crate compiles without it.
//!
//! ```
//! use mowgli_check::check::{CheckOptions, check};
//! use mowgli_libraries::catalogue::{catalogue, named};
//!
//! let all = catalogue();
//! let barrier = named(&all, "bal")?;
//! let variant = barrier.variant("no-fence")?;
//! let checked = check(barrier, variant, &variant.bounds[0], &CheckOptions::default())?;
//! assert_eq!(checked.verdict(), "unsound");
//! # Ok::<(), mowgli_check::error::InputError>(())
//! ```

// The random tests name the crate, as other programs of tests do.
#[cfg(test)]
extern crate self as mowgli_check;

pub mod catalogue;
pub mod check;
pub mod diagnostic;
pub mod distinguish;
pub mod entry;
pub mod error;
mod exchange;
pub mod explain;
pub mod guard;
pub mod hints;
pub mod interrupt;
pub mod litmus;
pub mod necessity;
pub mod properties;
pub mod repair;
pub mod robust;
pub mod show;
