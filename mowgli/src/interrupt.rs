//! Ctrl-C: long work stops where it is, and what is done is kept.

use std::sync::atomic::{AtomicBool, Ordering};

use mowgli_core::runs::Stop;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Asks all work of this process to stop; `false` if that had been asked before.
pub fn request() -> bool {
    !REQUESTED.swap(true, Ordering::Relaxed)
}

/// Whether work is to stop.
#[must_use]
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Why a search stopped that looks at the clock and at [`requested`].
#[must_use]
pub fn cause(stop: Stop) -> Stop {
    if stop == Stop::Time && requested() { Stop::Interrupted } else { stop }
}
