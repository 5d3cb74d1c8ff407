//! Terms: the shapes of calls, the bodies that implement them, the parts of which objects are made, and lemmas about them.

pub mod body;
pub mod bound;
pub mod call;
pub mod code;
pub mod dataflow;
pub mod implementation;
pub mod lemma;
pub mod method;
pub mod parts;
pub mod script;
pub mod shape;
mod writing;
