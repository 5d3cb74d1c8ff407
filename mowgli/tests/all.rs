//! The tests of the command that need nothing but Rust, as one program: the command's crates are linked once for them.

mod action;
mod command;
mod documents;
mod emit;
mod formats;
mod lsp;
mod new;
mod package;
mod repair;
mod report;
mod serve;
mod shards;
mod verdicts;
mod x86;

#[path = "common/ask.rs"]
mod ask;
#[path = "common/kinds.rs"]
mod kinds;
#[path = "common/page.rs"]
mod page;
#[path = "common/ran.rs"]
mod ran;
#[path = "common/served.rs"]
mod served;
