//! The answers of Mowgli's page as WebAssembly, for a playground that needs no server.
//!
//! A page calls three functions. `room` makes room for the bytes of a question in JSON, and returns where. `answer` answers it, within so
//! many seconds, and returns the length of the answer. `text` returns where its bytes are. One import gives the time:
//! WebAssembly has no clock of its own. A page cancels by ending the worker that runs this.

use std::cell::RefCell;

use mowgli::catalogue::Catalogue;
use mowgli::question::PageQuestion;
use mowgli::report::Page;
use mowgli_core::problem::Limits;

thread_local! {
    /// The question, and then its answer.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Answers a question in JSON, as `POST /answer` of `mowgli serve` does. `expired` says that the time is up.
///
/// ```
/// let question = r#"{ "test": "RDMA_TSO t { x@1 = 0; }\n P1@1 ;\n x := 1 ;\nallowed (x=1)" }"#;
/// assert!(mowgli_web::answered(question, &|| false).contains(r#""holds":true"#));
/// assert!(mowgli_web::answered("{}", &|| false).contains(r#""errors":["error"#));
/// ```
///
/// # Panics
/// Never: a page consists of strings and numbers.
#[must_use]
pub fn answered(question: &str, expired: &dyn Fn() -> bool) -> String {
    let limits = Limits { expired, ..Limits::default() };
    let page = match serde_json::from_str::<PageQuestion>(question) {
        Ok(question) => question.answer(Catalogue::builtin(), None, limits),
        Err(error) => Page { errors: vec![format!("the request is not a question: {error}")], ..Page::default() },
    };
    serde_json::to_string(&page).expect("strings and numbers")
}

#[cfg(target_family = "wasm")]
#[link(wasm_import_module = "page")]
#[allow(unsafe_code, reason = "a function of the page, which takes and returns numbers only")]
unsafe extern "C" {
    /// Milliseconds since some time.
    safe fn now() -> f64;
}

/// Makes room for a question of this many bytes, and returns where.
#[cfg(target_family = "wasm")]
#[allow(unsafe_code, reason = "the page calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        *text = vec![0; length];
        text.as_mut_ptr()
    })
}

/// Answers the question within this many seconds, and returns the length of the answer.
#[cfg(target_family = "wasm")]
#[allow(unsafe_code, reason = "the page calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn answer(seconds: f64) -> usize {
    let end = now() + 1000.0 * seconds;
    let question = TEXT.take();
    let answer = answered(&String::from_utf8_lossy(&question), &|| now() >= end);
    TEXT.replace(answer.into_bytes());
    TEXT.with_borrow(Vec::len)
}

/// Returns where the bytes of the answer are.
#[cfg(target_family = "wasm")]
#[allow(unsafe_code, reason = "the page calls it by this name")]
#[unsafe(no_mangle)]
pub extern "C" fn text() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}
