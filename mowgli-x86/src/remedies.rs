//! Insertions that give programs of x86-TSO more order: fences.

use mowgli_core::event::Call;
use mowgli_core::ids::Name;
use mowgli_core::rewrite::repair::{Gap, Offer, Remedies, Remedy};
use mowgli_core::term::body::CallTerm;

use crate::tso::X86;

/// The remedies of x86-TSO.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfX86;

impl Remedies for OfX86 {
    fn costs(&self) -> Vec<(&'static str, u64)> {
        vec![("mfence", 1)]
    }

    fn offers(&self, gap: &Gap<'_>) -> Vec<Offer> {
        let has_written = gap.before.iter().any(|c| c.method.text() == "Write");
        // Only reads pass a write. A fence between writes orders less than one after both.
        let is_worth = |c: &Call| match c.method.text() {
            "Read" => true,
            "Write" => gap.is_everywhere,
            _ => c.library != X86,
        };
        let fence = || Offer::call("mfence", Call::new(X86, "Mfence", &[]));
        (has_written && gap.after.first().is_some_and(is_worth)).then(fence).into_iter().collect()
    }

    fn kind(&self, library: Name, method: &str) -> Option<&'static str> {
        (library == X86 && method == "Mfence").then_some("mfence")
    }

    fn beside(&self) -> Vec<Remedy> {
        vec![Remedy {
            kind: "mfence",
            text: "a memory fence",
            calls: |_| vec![CallTerm::new(X86, "Mfence", [])],
            in_place: false,
        }]
    }
}
