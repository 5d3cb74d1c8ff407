//! A thread that ends the process if another one does not return from the provider.
//!
//! Over `shm` a process that is killed or stopped may hold a lock of the provider. Then a call of the provider spins for ever. A
//! thread that makes one neither reads the clock nor learns the fault of another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::raw;
use crate::company::Company;
use crate::port::Fault;

/// The time between two looks.
const TICK: Duration = Duration::from_millis(100);

/// The number of looks for which a thread may be inside the provider after a fault or its limit.
const GRACE: u64 = 30;

/// The visits of one thread to the provider.
#[derive(Default)]
pub(super) struct Visits {
    /// Twice the number of visits, and one more while the thread is inside.
    steps: AtomicU64,
    /// The node of the operation that the thread begins, or 0.
    node: AtomicU64,
    /// The limit of the thread, in looks.
    limit: AtomicU64,
}

impl Visits {
    /// Does what the provider may never return from, for an operation at the node of this rank if it is known.
    #[inline]
    pub(super) fn visit<R>(&self, rank: Option<usize>, work: impl FnOnce() -> R) -> R {
        let steps = self.begin(rank);
        let result = work();
        self.steps.store(steps + 2, Ordering::Relaxed);
        result
    }

    /// Begins a visit, and returns the steps before it.
    #[inline]
    pub(super) fn begin(&self, rank: Option<usize>) -> u64 {
        let steps = self.steps.load(Ordering::Relaxed);
        self.node.store(rank.map_or(0, |rank| rank as u64 + 1), Ordering::Relaxed);
        self.steps.store(steps + 1, Ordering::Relaxed);
        steps
    }

    /// Sets the time that a call may take.
    pub(super) fn within(&self, limit: Duration) {
        self.limit.store((limit.as_millis() / TICK.as_millis()).try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// The other thread. It ends when this is dropped.
pub(super) struct Watchdog {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts it, for these threads.
    pub(super) fn start(all: Vec<Arc<Visits>>, company: &Company, provider: &'static str) -> Self {
        let (trouble, others) = (company.trouble(), company.others());
        let ended = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ended);
        let mut seen = vec![(0, 0); all.len()];
        let thread = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                std::thread::park_timeout(TICK);
                let Some(inside) =
                    all.iter().zip(&mut seen).find_map(|(visits, seen)| looked(visits, seen, trouble.is_there()))
                else {
                    continue;
                };
                let (looks, node) = inside;
                let late = || {
                    let at = if node == 0 { others.clone() } else { format!("node {node}") };
                    let seconds = (TICK * u32::try_from(looks).unwrap_or(u32::MAX)).as_secs();
                    Fault::Late(format!(
                        "a thread has been inside the provider {provider} for {seconds} s, which waits for {at}; a process that has \
                         stopped, or was killed, may hold a lock of the provider"
                    ))
                };
                let fault = trouble.fault().unwrap_or_else(late);
                // The others learn it, too.
                trouble.set(fault.clone());
                raw::leave(&format!("{fault}\n"));
            }
        });
        Self { ended, thread: Some(thread) }
    }
}

/// Returns for how many looks a thread has been in one visit, and the node of its operation, if that is too long.
fn looked(visits: &Visits, (steps, looks): &mut (u64, u64), is_trouble: bool) -> Option<(u64, u64)> {
    let now = visits.steps.load(Ordering::Relaxed);
    *looks = if now % 2 == 1 && now == *steps { *looks + 1 } else { 0 };
    *steps = now;
    let limit = if is_trouble { 0 } else { visits.limit.load(Ordering::Relaxed) };
    (*looks > limit.saturating_add(GRACE)).then(|| (*looks, visits.node.load(Ordering::Relaxed)))
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_visit_that_lasts_is_too_long() {
        let (visits, mut seen) = (Visits::default(), (0, 0));
        visits.within(TICK * 10);
        let mut look = |is_trouble, times| (0..times).filter_map(|_| looked(&visits, &mut seen, is_trouble)).last();
        assert_eq!(look(true, 100), None, "outside");
        for _ in 0..100 {
            assert_eq!(visits.visit(Some(1), || look(true, GRACE)), None, "many short visits");
        }
        assert_eq!(visits.visit(Some(1), || look(false, GRACE + 11)), None, "within its limit");
        assert_eq!(visits.visit(Some(1), || look(false, GRACE + 12)), Some((GRACE + 11, 2)));
        assert_eq!(visits.visit(None, || look(true, GRACE + 2)), Some((GRACE + 1, 0)));
    }
}
