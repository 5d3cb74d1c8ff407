//! The tests of the libraries as one program, because each program links all crates anew.

mod catalogue;
mod shapes;
mod spec;
