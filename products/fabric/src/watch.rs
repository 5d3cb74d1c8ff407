//! The time that a call, or a loop that waits, may take.

use std::time::{Duration, Instant};

/// The number of operations between two checks of the clock.
const OFTEN: u64 = 8;

/// The time limit of a thread, and the operations that it has made.
pub(crate) struct Watch {
    /// The time that a call, or a loop that waits, may take.
    pub(crate) limit: Duration,
    /// The number of operations that the thread has made.
    pub(crate) made: u64,
    /// The outermost call or loop that the thread is in.
    pub(crate) wait: Option<OutermostWait>,
}

/// A call or loop of the thread's own code, which the time limit is for.
#[derive(Clone, Copy)]
pub(crate) struct OutermostWait {
    /// The number of operations before it, or before the clock was last read.
    made: u64,
    /// The time at which the clock was first read in it.
    since: Option<Instant>,
}

impl Watch {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, made: 0, wait: None }
    }

    /// Begins a call or a loop. Returns true if it is the outermost one, which has to end it, too.
    pub(crate) fn begin(&mut self) -> bool {
        let is_outermost = self.wait.is_none();
        if is_outermost {
            self.wait = Some(OutermostWait { made: self.made, since: None });
        }
        is_outermost
    }

    /// Ends the outermost call or loop.
    pub(crate) fn end(&mut self) {
        self.wait = None;
    }

    /// True if the time is up. It reads the clock now and then. Where an operation waits, its port reads it.
    pub(crate) fn is_late(&mut self) -> bool {
        self.wait.as_ref().is_some_and(|wait| self.made - wait.made >= OFTEN) && self.is_late_now()
    }

    /// True if the time is up. It reads the clock.
    pub(crate) fn is_late_now(&mut self) -> bool {
        let Some(wait) = &mut self.wait else { return false };
        wait.made = self.made;
        wait.since.get_or_insert_with(Instant::now).elapsed() > self.limit
    }
}
