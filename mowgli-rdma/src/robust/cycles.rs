//! Cycles of sc in an execution.

use itertools::Itertools;
use mowgli_core::algebra::ChoiceRole;
use mowgli_core::execution::Execution;
use mowgli_core::library::Libraries;

/// An edge of sc between two subevents.
pub type ScEdge = (usize, &'static str, usize);

/// Returns a shortest cycle of `sc = po u rf u rb u mo` in an execution (Def. 5), if there is one. Within an operation
/// the read is before the write in program order.
#[must_use]
pub fn sc_cycle(libraries: &Libraries, execution: &Execution) -> Option<Vec<ScEdge>> {
    let n = execution.subs.len();
    let chosen = |role| execution.chosen_as(libraries, role).flat_map(|c| c.pairs.iter().copied()).collect_vec();
    let cell = |s: usize| execution.subs[s].sub.cell;
    let writes = |s: usize| execution.subs[s].sub.writes.is_some();
    let rf = chosen(ChoiceRole::ReadsFrom);
    // The specification has several orders; mo is the one on the writes of each cell.
    let mo = chosen(ChoiceRole::Order)
        .into_iter()
        .filter(|&(a, b)| writes(a) && writes(b) && cell(a) == cell(b))
        .collect_vec();
    let before = |source: Option<usize>, w: usize| match source {
        Some(source) => mo.contains(&(source, w)),
        None => true,
    };
    let mut edges: Vec<ScEdge> = Vec::new();
    for (a, b) in (0..n).cartesian_product(0..n).filter(|(a, b)| a != b) {
        let (x, y) = (&execution.subs[a], &execution.subs[b]);
        // The first one is the read, because shapes list the read of an operation before its write.
        if execution.before_in_thread(a, b) || x.event == y.event && a < b {
            edges.push((a, "po", b));
        }
        if x.sub.reads.is_some() && y.sub.writes.is_some() && cell(a) == cell(b) {
            let source = rf.iter().find(|p| p.1 == a).map(|p| p.0);
            if source != Some(b) && before(source, b) {
                edges.push((a, "rb", b));
            }
        }
    }
    edges.extend(rf.iter().map(|&(a, b)| (a, "rf", b)));
    edges.extend(mo.iter().map(|&(a, b)| (a, "mo", b)));
    shortest_cycle(n, &edges)
}

fn shortest_cycle(n: usize, edges: &[ScEdge]) -> Option<Vec<ScEdge>> {
    let from = |start: usize| {
        let mut reached: Vec<Option<ScEdge>> = vec![None; n];
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for &edge in edges.iter().filter(|e| e.0 == at) {
                if reached[edge.2].is_none() {
                    reached[edge.2] = Some(edge);
                    queue.push_back(edge.2);
                }
            }
        }
        let mut cycle = vec![reached[start]?];
        while cycle.last().expect("it has an edge").0 != start {
            cycle.push(reached[cycle.last().expect("it has an edge").0].expect("it was reached"));
        }
        cycle.reverse();
        Some(cycle)
    };
    (0..n).filter_map(from).min_by_key(Vec::len)
}
