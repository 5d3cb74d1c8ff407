//! Texts of source code: names, and parentheses.

use std::collections::BTreeSet;

use mowgli_core::expr::ExprTerm;
use mowgli_core::term::body::{Body, CallTerm, Stmt};
use mowgli_core::value::Val;

/// True if a text needs no parentheses as an operand.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "_->.:".contains(c))
}

/// Puts parentheses around a text that needs them as an operand.
pub(super) fn wrapped(text: String) -> String {
    let is_call = || {
        let Some((head, rest)) = text.split_once('(') else { return false };
        let mut open = 1;
        let end = rest.chars().position(|c| {
            open += i32::from(c == '(') - i32::from(c == ')');
            open == 0
        });
        !head.is_empty() && is_name(head) && end.is_some_and(|end| end + 1 == rest.chars().count())
    };
    if is_name(&text) || is_call() { text } else { format!("({text})") }
}

/// Returns this name, or one like it that is not in use yet.
pub(super) fn free(used: &mut BTreeSet<String>, name: &str) -> String {
    let name = if name.is_empty() { "v" } else { name };
    let mut all = std::iter::once(name.to_owned()).chain((2..).map(|n| format!("{name}_{n}")));
    all.find(|name| used.insert(name.clone())).expect("one of them is free")
}

/// True if a body does nothing.
pub(super) fn is_nothing(body: &Body) -> bool {
    matches!(body.stmt(), Stmt::Value(e) if *e.term() == ExprTerm::Val(Val::Unit))
}

/// `sv::Write`.
pub(super) fn called(call: &CallTerm) -> String {
    format!("{}::{}", call.library, call.method)
}
