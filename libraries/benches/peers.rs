//! Measures the examples of other tools of the field: a stack and a queue. Each call has a thread of its own, so that
//! every order of the calls occurs.
//!
//! Compare counts between versions. The seconds of RELINCHE were measured on a machine with two cores.

use std::time::Instant;

use comfy_table::Table;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::soundness::client::Subject;
use mowgli_core::soundness::verdict::{Question, Verdict, local};
use mowgli_core::term::bound::Bound;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::entry::Entry;
use mowgli_libraries::x86::{msqueue, treiber};

/// Threads that put one value each, and threads that take one.
struct Parallel<'a> {
    entry: &'a Entry,
    put: &'static str,
    take: &'static str,
    puts: usize,
    takes: usize,
}

impl Subject for Parallel<'_> {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        if empty.threads.len() == self.puts + self.takes {
            self.entry.subject.worlds(empty, bound, expired)
        } else {
            Vec::new()
        }
    }

    fn calls(&self, _: &World, thread: Tid, _: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        let (library, x) = (Name::literal(self.entry.name), Val::from(Loc::new("s")));
        let value = Val::Int(thread.index() as i64 + 1);
        let puts = thread.index() < self.puts;
        vec![if puts { Call::new(library, self.put, &[x, value]) } else { Call::new(library, self.take, &[x]) }]
    }
}

fn row(of: &Parallel<'_>, published: &str) -> Vec<String> {
    let start = Instant::now();
    let variant = &of.entry.variants[0];
    let bound = Bound { threads: of.puts + of.takes, nodes: 1, calls: 1, total: None, ..variant.bounds[0].clone() };
    let report = local(&Question {
        library: Name::literal(of.entry.name),
        specification: of.entry.specification.clone(),
        below: of.entry.below.clone(),
        beside: Libraries::over(mowgli_x86::to),
        chain: vec![variant.implementation.clone()],
        subject: of,
        probes: &[],
        bound,
        asks_progress: false,
        crashing: None,
        log: None,
        expired: &|| start.elapsed().as_secs() >= 60,
        progress: &|_, _| {},
    });
    let verdict = match &report.verdict {
        Verdict::Sound => "sound".to_owned(),
        Verdict::Undecided(stop) => stop.to_string(),
        _ => "not sound".to_owned(),
    };
    let stats = report.stats;
    let counts = [report.clients as u64, stats.states, stats.nodes, stats.leaves, stats.classes];
    let name = format!("{}, {} and {}", of.entry.name, of.puts, of.takes);
    let seconds = [format!("{:.2}", start.elapsed().as_secs_f64()), published.to_owned()];
    [name, verdict].into_iter().chain(counts.map(|n| n.to_string())).chain(seconds).collect()
}

fn main() {
    let mut table = Table::new();
    table.set_header([
        "puts and takes",
        "verdict",
        "clients",
        "states",
        "nodes",
        "leaves",
        "executions",
        "seconds",
        "RELINCHE",
    ]);
    let (stack, queue) = (treiber::entry(), msqueue::entry());
    for (n, published) in [(1, ""), (2, ""), (3, "0.17"), (4, "8.3")] {
        let parallel = Parallel { entry: &stack, put: "Push", take: "Pop", puts: n, takes: n };
        table.add_row(row(&parallel, published));
    }
    for (puts, takes, published) in [(1, 1, ""), (2, 2, ""), (3, 3, "0.39"), (4, 3, "2.0")] {
        let parallel = Parallel { entry: &queue, put: "Enq", take: "Deq", puts, takes };
        table.add_row(row(&parallel, published));
    }
    println!("{table}");
}
