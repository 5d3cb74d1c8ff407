//! The tests of x86-TSO, as one program.

mod agreement;
mod litmus;
mod pool;

mod machine;
