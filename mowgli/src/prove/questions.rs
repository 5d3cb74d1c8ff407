//! Questions about several libraries and theorems, asked in parallel and answered in their order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use mowgli_prove::smt::solve::Query;

use crate::error::Bug;
use crate::interrupt::Failure;
use crate::prove::ProofResult;

/// The answer about a library or a theorem.
pub(crate) struct PrintedAnswer {
    /// The text.
    pub(crate) printed: String,
    /// The files of its obligations: names and contents.
    pub(crate) files: Vec<(String, String)>,
    /// The name of the library or theorem.
    pub(crate) title: String,
    /// The questions that closed cases, each with a name.
    pub(crate) leaves: Vec<(String, Query)>,
    /// The number of obligations.
    pub(crate) obligations: usize,
    /// The exit code.
    pub(crate) code: u8,
    /// The message about our bug, if the claim is both proved and refuted.
    pub(crate) contradiction: Option<Bug>,
}

/// A question about one library or theorem.
pub(crate) type ProofQuestion<'a> = Box<dyn Fn() -> Result<PrintedAnswer, Failure> + Sync + 'a>;

/// The stack size of a thread that answers questions: that of a process's first thread.
const STACK: usize = 8 << 20;

/// Asks these questions, as many at a time as there are cores, since much of each is done in one thread. Calls `visit`
/// with the answers in the order of the questions. After `visit` returns false no further question is begun.
pub(crate) fn in_order(questions: &[ProofQuestion<'_>], mut visit: impl FnMut(Result<PrintedAnswer, Failure>) -> bool) {
    let lanes = thread::available_parallelism().map_or(1, usize::from).min(questions.len());
    let next = AtomicUsize::new(0);
    let (send, receive) = channel();
    thread::scope(|scope| {
        for _ in 0..lanes {
            let (next, send) = (&next, send.clone());
            let ask = move || {
                let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
                for (number, question) in numbers.map_while(|number| Some((number, questions.get(number)?))) {
                    // Sending fails only after `visit` has returned false, and then nobody needs the answer.
                    let _ = send.send((number, question()));
                }
            };
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, ask).expect("the system has threads");
        }
        drop(send);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (number, said) in receive {
            early.insert(number, said);
            while let Some(said) = early.remove(&due) {
                if !visit(said) {
                    next.store(questions.len(), Ordering::Relaxed);
                    return;
                }
                due += 1;
            }
        }
    });
}

/// Makes a question that runs `found` and formats its result.
pub(crate) fn question<'a, F: ProofResult>(
    json: bool,
    found: impl Fn() -> Result<F, Failure> + Sync + 'a,
) -> ProofQuestion<'a> {
    Box::new(move || {
        let found = found()?;
        let printed = if json { format!("{}\n", found.json()) } else { found.text() };
        let (files, leaves, title) = (found.files(), found.leaves(), found.title());
        let obligations = found.obligations();
        Ok(PrintedAnswer {
            printed,
            files,
            title,
            leaves,
            obligations,
            code: found.code(),
            contradiction: found.contradiction(),
        })
    })
}
