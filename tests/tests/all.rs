//! All tests that cross crates, as one program, so that the generic parts of the search are compiled once for them.

mod agreement;
mod automorphisms;
mod cat;
mod circles;
mod composition;
mod conflicts;
mod core_rma;
mod corpus;
mod faults;
mod flow;
mod independence;
mod language;
mod machine;
mod models;
mod networks;
mod own;
mod parts;
mod questions;
mod renaming;
mod robust;
mod switches;
mod tidy;
mod values;
mod words;
mod x86;
mod x86_libraries;
