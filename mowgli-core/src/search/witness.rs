//! From a state of the search to executions, which know nothing of it.

use super::solver::{Flow, Solver};
use crate::execution::{Abstracted, Chosen, Execution, Subevent};
use crate::stamp::Stamp;

/// Every way to complete the orders of the class that a solver has reached, as an execution.
pub fn completions<S: Stamp>(solver: &mut Solver<'_, S>, visit: &mut dyn FnMut(Execution<S>) -> Flow) -> Flow {
    each_completion(solver, &mut |solver| visit(solver.execution().expect("everything is decided")))
}

/// Every way to complete the orders of the class that a solver has reached, as its state.
pub fn each_completion<'a, S: Stamp>(
    solver: &mut Solver<'a, S>,
    visit: &mut dyn FnMut(&mut Solver<'a, S>) -> Flow,
) -> Flow {
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

impl<S: Stamp> Solver<'_, S> {
    /// The execution that was reached, if every choice is made.
    #[must_use]
    pub fn execution(&self) -> Option<Execution<S>> {
        let mut execution = Execution {
            world: self.graph.world.clone(),
            events: Vec::new(),
            subs: Vec::new(),
            chosen: Vec::new(),
            outputs: Vec::new(),
            calls: Vec::new(),
            groups: Vec::new(),
        };
        for (thread, skeleton) in self.graph.skeletons.iter().enumerate() {
            let run = &skeleton.runs[*self.alive(thread).first()?];
            let first_call = execution.calls.len();
            let calls = run.trace.calls.iter();
            execution
                .calls
                .extend(calls.map(|g| Abstracted { event: g.event.clone(), parent: g.parent.map(|p| p + first_call) }));
            execution.groups.extend(run.trace.groups.iter().map(|g| g.map(|g| g + first_call)));
            execution.outputs.push(run.trace.output);
            for (event, shape) in run.trace.events.iter().zip(&run.shapes) {
                let index = execution.events.len();
                execution.events.push(event.clone());
                for &sub in shape {
                    let s = execution.subs.len();
                    let (read, wrote) = (self.value_read(s), self.value_written(s));
                    execution.subs.push(Subevent { event: index, sub, read, wrote });
                }
            }
        }
        let choices = self.choices();
        execution.chosen = choices
            .map(|(library, name, m)| Chosen { library, name: name.to_owned(), pairs: m.pairs().collect() })
            .collect();
        Some(execution)
    }
}
