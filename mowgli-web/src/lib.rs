//! Pages: drawings of executions, reports, the playground, the book, and an editor's language server.
//!
//! As WebAssembly this crate is the solver of a playground without a server. A page calls three functions. `room` makes room for the
//! bytes of a question in JSON, and returns where. `answer` answers it, within so many seconds, and returns the length of the answer. `text`
//! returns where its bytes are. One import gives the time, because WebAssembly has no clock of its own. The other takes outcomes
//! that a search has found while it still runs. A page cancels by ending the worker that runs this.

#[cfg(not(target_family = "wasm"))]
pub mod book;
pub mod drawing;
#[cfg(target_family = "wasm")]
mod exports;
#[cfg(not(target_family = "wasm"))]
pub mod lsp;
pub mod markup;
pub mod question;
pub mod report;
