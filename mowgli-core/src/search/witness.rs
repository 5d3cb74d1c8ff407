//! Conversion of a state of the search to executions, which are independent of the search.

use super::solver::{Flow, Solver};
use crate::execution::{Chosen, Execution};
use crate::search::enumerate::bare;
use crate::search::runs::Run;

/// Visits every completion of the class that a solver has reached, as an execution.
pub fn completions(solver: &mut Solver<'_>, visit: &mut dyn FnMut(Execution) -> Flow) -> Flow {
    each_completion(solver, &mut |solver| visit(solver.execution().expect("everything is decided")))
}

/// Visits every completion of the class that a solver has reached, as a state of the solver.
pub fn each_completion<'a>(solver: &mut Solver<'a>, visit: &mut dyn FnMut(&mut Solver<'a>) -> Flow) -> Flow {
    let Some(&(raw, a, b)) = solver.open_pairs().first() else { return visit(solver) };
    for (a, b) in [(a, b), (b, a)] {
        let snapshot = solver.snapshot();
        solver.order(raw, a, b);
        let flow = if solver.propagate() { each_completion(solver, visit) } else { Flow::Continue };
        solver.restore(snapshot);
        if flow == Flow::Stop {
            return flow;
        }
    }
    Flow::Continue
}

impl Solver<'_> {
    /// Returns the execution that the search has reached, if every choice is made.
    #[must_use]
    pub fn execution(&self) -> Option<Execution> {
        let threads = self.graph.skeletons.iter().enumerate();
        let runs = threads.map(|(thread, skeleton)| Some(&skeleton.runs[*self.alive(thread).first()?]));
        let runs: Vec<&Run> = runs.collect::<Option<_>>()?;
        let mut execution = bare(self.graph.world, &runs);
        for (s, sub) in execution.subs.iter_mut().enumerate() {
            (sub.read, sub.wrote) = (self.value_read(s), self.value_written(s));
        }
        let choices = self.choices();
        execution.chosen = choices
            .map(|(library, name, m)| Chosen { library, name: name.to_owned(), pairs: m.pairs().collect() })
            .collect();
        Some(execution)
    }
}
