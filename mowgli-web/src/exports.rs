//! The functions that a page calls, and those that it has for the solver.

use std::cell::RefCell;

use crate::question::answered;
use mowgli_check::catalogue::Catalogue;

thread_local! {
    /// The question, and then its answer.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[link(wasm_import_module = "page")]
#[allow(unsafe_code, reason = "functions of the page, which take and return numbers only")]
unsafe extern "C" {
    /// Milliseconds since some time.
    safe fn now() -> f64;
    /// Takes a page in JSON with outcomes that a search has found.
    safe fn found(text: *const u8, length: usize);
}

/// Makes room for a question of this many bytes, and returns where.
#[allow(unsafe_code, reason = "the page calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        *text = vec![0; length];
        text.as_mut_ptr()
    })
}

/// Answers the question within this many seconds, and returns the length of the answer.
#[allow(unsafe_code, reason = "the page calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn answer(seconds: f64) -> usize {
    let question = TEXT.take();
    let question = String::from_utf8_lossy(&question);
    let send = |page: &str| found(page.as_ptr(), page.len());
    let answer = answered(&question, Catalogue::builtin(), None, seconds, &|| now(), &send);
    TEXT.replace(answer.into_bytes());
    TEXT.with_borrow(Vec::len)
}

/// Returns where the bytes of the answer are.
#[allow(unsafe_code, reason = "the page calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}
