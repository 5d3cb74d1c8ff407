//! Values as words of 64 bits, which mean the same in every process. An integer is itself, as in emitted code, and bottom is
//! the least integer of 64 bits, as there. Words also hold truth values, nodes, short tuples of integers, and words by number.

use mowgli_core::ids::Node;
use mowgli_core::value::Val;

use crate::emitted::mowgli_port::BOT;
use crate::legal::INTEGERS;

/// The highest two bits of a word. They are equal for an integer, also for the sum of two that words hold.
const KIND: u64 = 0b11 << 62;
const PLAIN: u64 = BOT as u64;
const TUPLE: u64 = 0b01 << 62;

/// The values without parts, by the bits behind their kind. Nodes come after them.
const PLAINS: [Val; 6] = [Val::Bot, Val::Unit, Val::Top, Val::NoWid, Val::Bool(false), Val::Bool(true)];

/// The number of bits for the length of one part of a tuple, and the number of bits for all parts.
const LENGTH: u32 = 5;
/// The length of a last part that is a tuple itself. All parts behind it are its own.
const NESTED: u32 = (1 << LENGTH) - 1;
const ROOM: u32 = 61;

/// Encodes a value. Returns `None` for a value without a word.
pub(crate) fn packed(v: Val) -> Option<i64> {
    let plain = |number: usize| Some((number as u64 | PLAIN) as i64);
    match v {
        Val::Int(i) => INTEGERS.contains(&i).then_some(i),
        Val::Tuple(parts) => Some((parts_packed(parts.parts())? | TUPLE) as i64),
        Val::Node(n) => plain(PLAINS.len() + usize::from(n.0)),
        _ => plain(PLAINS.iter().position(|&p| p == v)?),
    }
}

/// The bits of a word that holds another word, before the number of that.
const POINTER: u64 = PLAIN | 1 << 32;

/// Encodes the word with a number.
pub(crate) fn pointer(at: usize) -> i64 {
    (POINTER | at as u64) as i64
}

/// Returns the number of the word that [`pointer`] encoded.
pub(crate) fn pointed(word: i64) -> Option<usize> {
    u32::try_from(word as u64 ^ POINTER).ok().map(|at| at as usize)
}

/// Decodes a word that [`packed`] made, or the sum of two integers of such words. Returns `None` for other words.
pub(crate) fn unpacked(word: i64) -> Option<Val> {
    let bits = word as u64;
    match bits & KIND {
        PLAIN => {
            let number = usize::try_from(bits & !KIND).ok()?;
            let node = || u8::try_from(number - PLAINS.len()).ok().map(|n| Val::Node(Node(n)));
            PLAINS.get(number).copied().or_else(node)
        }
        TUPLE => Some(Val::tuple(&parts_unpacked(bits & !KIND)?)),
        _ => Some(Val::Int(word)),
    }
}

/// Encodes each part as its length and its bits, the sign in the lowest, the first part lowest. A one ends them.
fn parts_packed(parts: &[Val]) -> Option<u64> {
    let (mut bits, parts) = match parts.split_last() {
        Some((Val::Tuple(last), parts)) => {
            let last = parts_packed(last.parts()).filter(|last| last >> (ROOM - LENGTH) == 0)?;
            (last << LENGTH | u64::from(NESTED), parts)
        }
        _ => (1, parts),
    };
    let mut used = 64 - bits.leading_zeros();
    for part in parts.iter().rev() {
        let i = part.int()?;
        let folded = ((i << 1) ^ (i >> 63)) as u64;
        let length = 64 - folded.leading_zeros();
        used += length + LENGTH;
        if length >= NESTED || used > ROOM {
            return None;
        }
        bits = (bits << length | folded) << LENGTH | u64::from(length);
    }
    Some(bits)
}

fn parts_unpacked(mut bits: u64) -> Option<Vec<Val>> {
    let mut parts = Vec::new();
    while bits != 1 {
        let length = bits & ((1 << LENGTH) - 1);
        if length == u64::from(NESTED) {
            let last = parts_unpacked(bits >> LENGTH)?;
            parts.push(Val::tuple(&last));
            return Some(parts);
        }
        let folded = bits >> LENGTH & ((1_u64 << length) - 1);
        bits = bits.checked_shr(LENGTH + length as u32).filter(|&rest| rest != 0)?;
        parts.push(Val::Int((folded >> 1) as i64 ^ -((folded & 1) as i64)));
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(parts: &[i64]) -> Val {
        Val::tuple(&parts.iter().map(|&i| Val::Int(i)).collect::<Vec<_>>())
    }

    #[test]
    fn every_value_comes_back() {
        let numbers = [0, 1, -1, *INTEGERS.end(), *INTEGERS.start()].map(Val::Int);
        for v in numbers.into_iter().chain([Val::Node(Node(3)), Val::Node(Node(u8::MAX))]).chain(PLAINS) {
            assert_eq!(packed(v).and_then(unpacked), Some(v));
        }
        assert_eq!(packed(Val::Bot), Some(BOT), "as in emitted code");
        assert_eq!((pointed(pointer(7)), unpacked(pointer(7))), (Some(7), None));
    }

    /// The card adds words. The sum of two integers that words hold decodes to the true sum, so that its reader finds
    /// it too large.
    #[test]
    fn a_sum_is_no_other_integer() {
        let [least, most] = [*INTEGERS.start(), *INTEGERS.end()];
        for (a, b) in [(most, 1), (most, most), (least, -1), (least, least), (most, least)] {
            let [first, second] = [a, b].map(|i| packed(Val::Int(i)).unwrap());
            assert_eq!(unpacked(first + second), Some(Val::Int(a + b)));
        }
        assert_eq!([most + 1, least - 1].map(|i| packed(Val::Int(i))), [None, None]);
    }

    /// Checks the words that processes exchange: different tuples have different words, and each word decodes to its
    /// tuple.
    #[test]
    fn tuples_that_fit_mean_the_same_everywhere() {
        let near = [-300, -2, -1, 0, 1, 2, 300];
        let mut all = vec![ints(&[]), ints(&[1 << 20, -(1 << 20), 1])];
        all.extend(near.iter().map(|&a| ints(&[a])));
        all.extend(near.iter().map(|&a| Val::tuple(&[Val::Int(a), ints(&[a, 7])])));
        all.extend([Val::tuple(&[ints(&[])]), Val::tuple(&[Val::tuple(&[ints(&[])])])]);
        all.extend(near.iter().flat_map(|&a| near.map(|b| ints(&[a, b]))));
        all.extend(near.iter().flat_map(|&a| near.map(|b| ints(&[a, b, 0, a]))));
        let words: std::collections::BTreeSet<i64> = all.iter().filter_map(|&v| packed(v)).collect();
        assert_eq!(words.len(), all.len());
        for v in all {
            assert_eq!(packed(v).and_then(unpacked), Some(v));
        }
        assert_eq!(packed(ints(&[1 << 40, 1 << 40])), None, "too long");
        assert_eq!(packed(Val::tuple(&[ints(&[1 << 28, 1 << 28])])), None, "too long inside");
        assert_eq!(packed(Val::tuple(&[Val::Bot])), None, "no integer");
    }

    /// Checks that every word decodes to a value or to `None`.
    #[test]
    fn no_word_is_a_fault() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..100_000 {
            let word = random.i64(..) >> random.u32(..64);
            if let Some(v) = unpacked(word) {
                _ = packed(v);
            }
        }
        assert_eq!(unpacked(TUPLE as i64), None);
    }
}
