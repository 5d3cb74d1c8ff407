//! Increasing addresses: the card reads, and writes, each word of an operation before the next one.

use super::{Axioms, StampFamily, issued, words_to_words};
use crate::stamp::RdmaStamp::{aNLR, aNLW, aNRR, aNRW};
use crate::way::WORDS;
use mowgli_core::algebra::Rel;

/// With relaxed ordering the words are issued in order, and reach memory in any.
pub(crate) fn patch(a: &mut Axioms, relaxed_ordering: bool) {
    // ippo = ... u address, so = ... u address
    a.ippo = issued(&a.ippo | address());
    a.more_so.extend((!relaxed_ordering).then(address));
}

/// From each word of an operation to the next, between the reads of one side and between its writes.
fn address() -> Rel {
    let next = |families: &[StampFamily]| words_to_words((1..WORDS).map(|word| (word - 1, word)), families, families);
    let all = next(&[aNLR, aNRR]) | next(&[aNRW, aNLW]);
    all.named("address", "{a} is of a word before that of {b}")
}
