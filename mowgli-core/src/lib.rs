//! Mowgli's framework: library verification over very weak memory (LOCO §3).
pub mod algebra;
pub mod denote;
pub mod event;
pub mod execution;
pub mod graph;
pub mod ids;
pub mod implementation;
pub mod judge;
pub mod library;
pub mod outcome;
pub mod program;
pub mod relation;
pub mod runs;
pub mod search;
pub mod stamp;
pub mod value;
pub mod world;
