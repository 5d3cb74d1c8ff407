//! The answers of Mowgli's page as WebAssembly, for a playground that needs no server.
//!
//! A page calls three functions. `room` makes room for the bytes of a question in JSON, and returns where. `answer` answers it, within so
//! many seconds, and returns the length of the answer. `text` returns where its bytes are. One import gives the time, because
//! WebAssembly has no clock of its own. The other takes outcomes that a search has found while it still runs. A page cancels
//! by ending the worker that runs this.

#[cfg(target_family = "wasm")]
mod exports;
