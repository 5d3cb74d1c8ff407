//! Guards against panics in the code of a library's author: a panic becomes an error with its place, and finished work
//! is kept.
//!
//! Shapes, bodies and specifications are functions of a library's file. An index that is out of bounds there is an
//! error in that file, and the guard reports it as one.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, Once};

use crate::error::{Code, InputError, Place};

/// A panic that was caught.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}{message}", place.as_ref().map(|place| format!("at {place}: ")).unwrap_or_default())]
pub struct Panic {
    /// The place in the source, if it is known.
    pub place: Option<Place>,
    /// The message.
    pub message: String,
}

impl Panic {
    /// Returns the error for a panic in a function of a library's author. `about` is the library or the file in question.
    #[must_use]
    pub fn of_author(self, about: &str) -> InputError {
        let error = InputError::new(Code::Library, format!("{about}: a function panicked: {}", self.message)).help(
            "what a library's file says must hold for every call within the bound (if this is not a file of yours it is a \
             mistake of Mowgli, please report it)",
        );
        match self.place {
            Some(place) => error.at(place),
            None => error,
        }
    }
}

thread_local! {
    /// Whether the caller reports a panic on this thread.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };

    /// The first panic on this thread that is not reported yet, with its place.
    static OWN: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

/// The same for threads that share the work.
static LAST: Mutex<Option<Panic>> = Mutex::new(None);

/// The message of a panic that has none.
const WITHOUT: &str = "without a message";

/// Runs functions of an author. The error begins with `about`: the library or the file in question.
///
/// ```
/// use mowgli_check::error::InputError;
/// use mowgli_check::guard::guarded;
///
/// let words: Vec<i64> = vec![1, 2];
/// let third = guarded("latch", || Ok::<_, InputError>(words[words.len()]));
/// assert!(third.unwrap_err().message.contains("out of bounds"));
/// ```
///
/// # Errors
/// The error of `run`, or the place and the message of its panic.
pub fn guarded<T, E: From<InputError>>(about: &str, run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    caught(run).unwrap_or_else(|panic| Err(panic.of_author(about).into()))
}

/// Runs a function, and prints nothing if it panics.
///
/// # Errors
/// The place and the message of the panic.
pub fn caught<T>(run: impl FnOnce() -> T) -> Result<T, Panic> {
    reported_by_us();
    let before = IS_GUARDED.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    IS_GUARDED.set(before);
    outcome.map_err(|_| {
        let last = OWN.take().or_else(|| LAST.lock().ok().and_then(|mut last| last.take()));
        last.unwrap_or_else(|| Panic { place: None, message: WITHOUT.to_owned() })
    })
}

/// Keeps the message of a panic on a thread that is guarded, or on one that works for it, and leaves others as they are.
fn reported_by_us() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // Threads that share the work have no names of their own.
            if !IS_GUARDED.get() && std::thread::current().name().is_some() {
                return usual(info);
            }
            let text = info.payload().downcast_ref::<String>().map(String::as_str);
            let message = text.or(info.payload().downcast_ref::<&str>().copied()).unwrap_or(WITHOUT).to_owned();
            let place = info.location().map(|at| Place::in_source(at.file(), at.line() as usize, at.column() as usize));
            let panic = Panic { place, message };
            if IS_GUARDED.get() {
                OWN.with_borrow_mut(|own| _ = own.get_or_insert(panic));
            } else if let Ok(mut last) = LAST.lock() {
                last.get_or_insert(panic);
            }
        }));
    });
}
