//! Figures of clients: how many calls a second they make, and how long these take.

use std::path::Path;

use mowgli_fabric::Fault;

use crate::plot::{Chart, Series, Span, distribution, draw};

/// How many calls a second clients make, the more there are, and how long these take.
#[derive(Default)]
pub struct Growth {
    throughput: Vec<Series>,
    latency: Vec<Series>,
}

impl Growth {
    /// Takes note of the calls that so many clients have made in some runs, and tells of them.
    pub fn add(&mut self, name: &str, clients: usize, runs: &[Vec<Span>]) -> String {
        let calls: usize = runs.iter().map(Vec::len).sum();
        let seconds = |run: &Vec<Span>| {
            let (begun, ended) = (run.iter().map(|s| s.0).min(), run.iter().map(|s| s.1).max());
            (ended.unwrap_or(1) - begun.unwrap_or(0)) as f64 / 1e9
        };
        let second = calls as f64 / runs.iter().map(seconds).sum::<f64>();
        if self.throughput.last().is_none_or(|(last, _)| last != name) {
            self.throughput.push((name.to_owned(), Vec::new()));
        }
        self.throughput.last_mut().expect("one was pushed").1.push((clients as f64, second));
        format!("{name}, {clients:>2} clients: {second:>9.0} calls a second")
    }

    /// Takes note of how long some calls took, and tells of it.
    pub fn took(&mut self, name: String, calls: impl IntoIterator<Item = Span>) -> String {
        let (line, told) = distribution(name, calls);
        self.latency.push(line);
        told
    }

    /// Draws it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn draw(self, file: &Path) -> Result<(), Fault> {
        let throughput = Chart { axes: ["clients", "calls a second"], series: self.throughput, is_log: false };
        let latency = Chart { axes: ["microseconds", "part of the calls"], series: self.latency, is_log: true };
        draw(file, [throughput, latency])
    }
}
