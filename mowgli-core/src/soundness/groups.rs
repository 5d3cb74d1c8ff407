//! Groups of clients: a check works on one group at a time, up to its first failure.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

/// The largest number of clients in a group. A group ends at its first client that fails, so that the report does not depend
/// on the number of worker threads.
const GROUP: usize = 512;

/// The same for the comparison of outcomes, which takes longer for each client.
pub(super) const PROBED: usize = 64;

/// Splits the clients into groups of doubling size, so that a failure among the first clients is known early.
pub(super) fn groups<T>(all: &[T]) -> impl Iterator<Item = &[T]> {
    let (mut rest, mut size) = (all, GROUP / 32);
    std::iter::from_fn(move || {
        let (group, after) = rest.split_at_checked(size).unwrap_or((rest, &[]));
        (rest, size) = (after, (2 * size).min(GROUP));
        (!group.is_empty()).then_some(group)
    })
}

/// Computes the answers of `ask` for each of a group in parallel, up to the first one that `fails`. It skips everything
/// after that, so a failure is known as soon as the answers before it are.
pub(super) fn until_first<T: Sync, A: Send>(
    group: &[T],
    ask: impl Fn(&T) -> A + Sync,
    fails: impl Fn(&A) -> bool + Sync,
) -> Vec<A> {
    let first = AtomicUsize::new(usize::MAX);
    let answers = group.par_iter().enumerate().map(|(i, asked)| {
        (i <= first.load(Ordering::Relaxed)).then(|| {
            let answer = ask(asked);
            if fails(&answer) {
                first.fetch_min(i, Ordering::Relaxed);
            }
            answer
        })
    });
    let answers: Vec<Option<A>> = answers.collect();
    answers.into_iter().take(first.into_inner().saturating_add(1)).map(|a| a.expect("none before the first")).collect()
}
