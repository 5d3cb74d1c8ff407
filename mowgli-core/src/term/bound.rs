//! The bound on the clients of a check.

use serde::{Deserialize, Serialize};

/// Upper limits on clients. Every smaller shape is included.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bound {
    /// Threads.
    pub threads: usize,
    /// Nodes.
    pub nodes: u8,
    /// Calls of each thread.
    pub calls: usize,
    /// Objects of the library.
    pub objects: usize,
    /// Rounds of a loop with effects.
    pub loops: usize,
    /// The values that are written.
    pub values: Vec<i64>,
    /// The largest number of words of a message; 0 in the bound of a library that has no messages.
    pub words: usize,
    /// The sizes of objects that have one; the subject's own choice if the list is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<usize>,
    /// The nodes of objects that live on one; every node if the list is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub homes: Vec<u8>,
    /// The number of threads that take part in an object, besides its owner if it has one; `None` for any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<usize>,
    /// The number of calls of all threads together; `None` for no limit besides that of each thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// The number of threads of a client that may crash.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub crashes: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Default for Bound {
    /// One of everything.
    fn default() -> Self {
        Self {
            threads: 1,
            nodes: 1,
            calls: 1,
            objects: 1,
            loops: 1,
            values: vec![1],
            words: 1,
            sizes: Vec::new(),
            homes: Vec::new(),
            members: None,
            total: None,
            crashes: 0,
        }
    }
}

impl Bound {
    /// The largest number of threads, nodes, calls or objects. No check of more ends.
    pub const MOST: usize = 60;

    /// Returns why no check within this bound makes sense, if none does.
    #[must_use]
    pub fn mistake(&self) -> Option<String> {
        let numbers = [
            ("threads", self.threads),
            ("nodes", usize::from(self.nodes)),
            ("calls", self.calls),
            ("objects", self.objects),
        ];
        let (what, number) = numbers.into_iter().find(|(_, number)| !(1..=Self::MOST).contains(number))?;
        Some(match number {
            0 => format!("a bound of 0 {what} covers nothing; give at least 1"),
            _ => format!("a bound of {number} {what} is too large; give at most {}", Self::MOST),
        })
    }

    /// Returns this bound, raised to two threads, nodes and calls where it is lower, because a wrong outcome often
    /// needs these.
    #[must_use]
    pub fn at_least_two(&self) -> Self {
        let total = self.total.map(|n| n.max(4));
        Self { threads: self.threads.max(2), nodes: self.nodes.max(2), calls: self.calls.max(2), total, ..self.clone() }
    }
}
