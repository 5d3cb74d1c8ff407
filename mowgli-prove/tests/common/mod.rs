//! Helpers that tests of templates and of proofs share.

use std::sync::Arc;

use mowgli_core::expr::Expr;
use mowgli_core::ids::Name;
use mowgli_core::library::Reshaping;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::Method;
use mowgli_core::term::shape::Shapes;
use mowgli_core::value::Val;
use mowgli_libraries::entry::Entry;
use mowgli_libraries::sequential::{Case, Counter, Sequential};
use mowgli_prove::template::source::ProofSource;

/// Returns an implementation of a library with the specifications of its entry.
pub fn source<'a>(entry: &'a Entry, implementation: Arc<dyn Implementation>) -> ProofSource<'a> {
    ProofSource {
        specification: &entry.specification,
        library: Name::literal(entry.name),
        below: &entry.below,
        implementation,
        subject: &*entry.subject,
    }
}

/// Gives methods other shapes.
pub struct OtherShapes(pub Shapes);

impl Reshaping for OtherShapes {
    fn shape_terms(&self) -> Option<&Shapes> {
        Some(&self.0)
    }
}

/// A counter that adds two: the body computes the written value, and the specification says which it is.
pub struct ByTwo;

impl Sequential for ByTwo {
    fn name(&self) -> &'static str {
        Counter.name()
    }

    fn methods(&self) -> &'static [Method] {
        Counter.methods()
    }

    fn start(&self) -> Vec<Val> {
        Counter.start()
    }

    fn cases(&self, method: &str, words: &[Expr], args: &[Expr]) -> Vec<Case> {
        let mut cases = Counter.cases(method, words, args);
        cases.iter_mut().flat_map(|case| &mut case.words).for_each(|(_, v)| *v = *v + 1);
        cases
    }
}
