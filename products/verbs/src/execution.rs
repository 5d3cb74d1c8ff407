//! Executions: the steps of the machine with the source lines of the program.

use mowgli_core::event::Call;
use mowgli_core::value::Val;
use mowgli_rdma::crash::CRASH;
use mowgli_rdma::operational::{Act, Step};

use crate::code::{CodeAt, CompiledProgram, ModelCall};
use crate::lines::SourcePlace;

/// An execution; empty if none was asked for, or found within the limits.
#[derive(Clone, Debug, Default)]
pub struct ProgramExecution {
    /// The steps.
    pub steps: Vec<ExecutionStep>,
    /// The calls of the model that each thread makes, with their results.
    pub calls: Vec<Vec<(Call, Val)>>,
    /// For [`crate::replay`]: the cells and the results of each thread's calls.
    pub trace: String,
}

/// A step of an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecutionStep {
    /// The source line of the call, if the step is one.
    pub place: Option<SourcePlace>,
    /// The step in words.
    pub step: String,
}

/// Returns the execution that these steps are, with the source lines of the calls, and the results of each thread's calls.
pub(crate) fn described(code: &mut CompiledProgram, steps: &[Step]) -> (ProgramExecution, Vec<Vec<Val>>) {
    let mut results: Vec<Vec<Val>> = vec![Vec::new(); code.made.threads.len()];
    let mut execution = ProgramExecution { calls: vec![Vec::new(); results.len()], ..ProgramExecution::default() };
    for step in steps {
        let thread = step.thread.index();
        let mut place = None;
        if let Act::Call(call, result) = &step.act {
            if let CodeAt::Call(ModelCall { site, .. }) = code.walk(thread, &results[thread]) {
                place = Some(code.lines.place(&site.places));
            }
            results[thread].push(*result);
            if call.library == CRASH {
                continue;
            }
            execution.calls[thread].push((call.clone(), *result));
        }
        // Operations go from the store buffer to the card as soon as they can, which shows nothing.
        if !matches!(step.act, Act::Issue(..)) {
            execution.steps.push(ExecutionStep { place, step: format!("{}: {}", step.thread, step.act) });
        }
    }
    execution.trace = code.trace(&results);
    (execution, results)
}
