//! Executions as text.

use std::fmt::Write as _;

use mowgli_core::execution::Execution;
use mowgli_core::stamp::Stamp;

/// The events of each thread, grouped by the call that they implement, with what each subevent read and wrote.
#[must_use]
pub fn events<S: Stamp>(execution: &Execution<S>) -> String {
    let mut out = String::new();
    for thread in execution.world.tids() {
        let _ = writeln!(out, "  {thread} on node {}", execution.world.node_of(thread));
        let mut group = None;
        for e in execution.of_thread(thread) {
            if execution.groups[e] != group {
                group = execution.groups[e];
                if let Some(g) = group {
                    let _ = writeln!(out, "    {}", execution.calls[g].event);
                }
            }
            let indent = if group.is_some() { "      " } else { "    " };
            let subs = execution.subs.iter().filter(|s| s.event == e).map(|s| {
                let read = s.read.map_or(String::new(), |v| format!(" read {v}"));
                let wrote = s.wrote.map_or(String::new(), |v| format!(" wrote {v}"));
                format!("{}{read}{wrote}", s.sub.stamp)
            });
            let _ = writeln!(out, "{indent}{}  [{}]", execution.events[e], subs.collect::<Vec<_>>().join("; "));
        }
    }
    out
}
