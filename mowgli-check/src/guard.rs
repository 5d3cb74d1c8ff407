//! Guards against panics in the code of a library's author: a panic becomes an error with its place, and finished work
//! is kept.
//!
//! Shapes, bodies and specifications are functions of a library's file. An index that is out of bounds there is an
//! error in that file, and the guard reports it as one.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, Once};

thread_local! {
    /// Whether the caller reports a panic on this thread.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };

    /// The first panic on this thread that is not reported yet, with its place.
    static OWN: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The same for threads that share the work.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Runs functions of an author. The error begins with `about`: the library or the file in question.
///
/// ```
/// use mowgli_check::guard::guarded;
///
/// let words: Vec<i64> = vec![1, 2];
/// let third = guarded("latch", || Ok(words[words.len()]));
/// assert!(third.unwrap_err().contains("out of bounds"));
/// ```
///
/// # Errors
/// The error of `run`, or the place and the message of its panic.
pub fn guarded<T>(about: &str, run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    caught(run).unwrap_or_else(|last| {
        Err(format!(
            "{about}: a function panicked {last}; what a library's file says must hold for every call within the bound (if this \
             is not a file of yours it is a mistake of Mowgli, please report it)"
        ))
    })
}

/// Runs a function, and prints nothing if it panics.
///
/// # Errors
/// The place and the message of the panic.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    told_by_us();
    let before = IS_GUARDED.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    IS_GUARDED.set(before);
    outcome.map_err(|_| {
        let last = OWN.take().or_else(|| LAST.lock().ok().and_then(|mut last| last.take()));
        last.unwrap_or_else(|| "without a message".to_owned())
    })
}

/// Keeps the message of a panic on a thread that is guarded, or on one that works for it, and leaves others as they are.
fn told_by_us() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // Threads that share the work have no names of their own.
            if !IS_GUARDED.get() && std::thread::current().name().is_some() {
                return usual(info);
            }
            let text = info.payload().downcast_ref::<String>().map(String::as_str);
            let message = text.or(info.payload().downcast_ref::<&str>().copied()).unwrap_or("without a message");
            let place = info.location().map(|at| format!("at {at}: ")).unwrap_or_default();
            let told = format!("{place}{message}");
            if IS_GUARDED.get() {
                OWN.with_borrow_mut(|own| _ = own.get_or_insert(told));
            } else if let Ok(mut last) = LAST.lock() {
                last.get_or_insert(told);
            }
        }));
    });
}
