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
mod run;
mod serve;
mod shards;
mod twin;
mod verdicts;
mod x86;

#[path = "common/ask.rs"]
mod ask;
#[path = "../data/mowgli_port.rs"]
mod mowgli_port;
#[path = "common/page.rs"]
mod page;
#[path = "common/port.rs"]
mod port;
#[path = "common/ran.rs"]
mod ran;
#[path = "common/served.rs"]
mod served;
#[path = "common/stack.rs"]
mod stack;
