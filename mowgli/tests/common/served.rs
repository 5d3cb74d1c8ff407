//! The playground, started for a test.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A process that serves, until it is dropped.
pub struct Served {
    child: Child,
    pub port: u16,
}

impl Served {
    /// Its number among the processes.
    #[allow(dead_code, reason = "not every test that starts it asks")]
    pub fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `serve` with more arguments, on a port that is free.
pub fn served(more: &[&str]) -> Served {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mowgli"))
        .args([&["serve", "--port", "0"], more].concat())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("the address");
    let port = line.trim().rsplit(':').next().and_then(|p| p.parse().ok()).expect("a port");
    Served { child, port }
}
