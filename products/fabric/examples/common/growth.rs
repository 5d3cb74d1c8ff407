//! Figures of clients: the number of calls that they make per second, and the time that these take.

use std::path::Path;

use mowgli_fabric::Fault;

use crate::common::place::{End, Place};
use crate::common::plot::{Chart, Series, Span, distribution, draw};

/// Throughput by number of clients, and the latency of calls.
#[derive(Default)]
pub struct Growth {
    /// The number of calls made.
    pub calls: usize,
    throughput: Vec<Series>,
    latency: Vec<Series>,
}

impl Growth {
    /// Runs more and more clients, from one on each node up to `most`, and prints their throughput. Returns the calls
    /// of each run with the most clients.
    ///
    /// # Errors
    /// If a run fails.
    pub fn grow<C>(
        &mut self,
        place: &Place,
        name: &str,
        (nodes, most): (u8, usize),
        span: impl Fn(&C) -> Span,
        runs: impl Fn(usize) -> Result<Vec<Vec<C>>, End>,
    ) -> Result<Vec<Vec<C>>, End> {
        let mut last = Vec::new();
        for clients in 1..=most {
            last = runs(clients)?;
            let spans: Vec<Vec<Span>> = last.iter().map(|run| run.iter().map(&span).collect()).collect();
            place.says(&self.add(name, usize::from(nodes) * clients, &spans));
        }
        Ok(last)
    }

    /// Records the calls that so many clients have made in some runs, and returns a line with their throughput.
    fn add(&mut self, name: &str, clients: usize, runs: &[Vec<Span>]) -> String {
        let calls: usize = runs.iter().map(Vec::len).sum();
        self.calls += calls;
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

    /// Records the durations of some calls, and returns a line about them.
    pub fn took(&mut self, name: String, calls: impl IntoIterator<Item = Span>) -> String {
        let (line, reported) = distribution(name, calls);
        self.latency.push(line);
        reported
    }

    /// Draws the figure.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn draw(self, file: &Path) -> Result<(), Fault> {
        let throughput = Chart { axes: ["clients", "calls a second"], series: self.throughput, is_log: false };
        let latency = Chart { axes: ["microseconds", "part of the calls"], series: self.latency, is_log: true };
        draw(file, [throughput, latency])
    }
}
