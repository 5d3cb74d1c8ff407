//! Two threads of one process that meet often, so that their accesses overlap.

use std::sync::atomic::{AtomicU64, Ordering};

/// The times at which two threads of one process meet.
#[derive(Default)]
pub struct Pair([AtomicU64; 2]);

impl Pair {
    /// Waits until the other one is at this time, too. Each answers the other twice, so that both have a processor at the end.
    pub fn meets(&self, time: u64, me: usize) {
        for step in 3 * time..3 * time + 3 {
            self.0[me].store(step, Ordering::SeqCst);
            for spins in 1_u64.. {
                if self.0[1 - me].load(Ordering::SeqCst) >= step {
                    break;
                }
                if spins % 1000 == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
            }
        }
    }
}
