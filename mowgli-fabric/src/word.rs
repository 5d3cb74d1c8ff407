//! Values as words of 64 bits. Small integers, truth values, short tuples of integers and the like are encoded
//! directly. All other values are numbers in a table of this process.

use std::sync::{LazyLock, RwLock};

use mowgli_core::ids::Node;
use mowgli_core::value::Val;
use rustc_hash::FxHashMap;

use crate::legal::INTEGERS;

#[derive(Default)]
struct ValueTable {
    values: Vec<Val>,
    numbers: FxHashMap<Val, u64>,
}

static TABLE: LazyLock<RwLock<ValueTable>> = LazyLock::new(RwLock::default);

/// The reason why the lock of the table is not poisoned.
const WHOLE: &str = "the table is never left half written";

/// The low three bits of a word. If the lowest is set, they say what the word is; otherwise it is an integer.
const KIND: u64 = 0b111;
const PLAIN: u64 = 0b001;
const TUPLE: u64 = 0b011;
const NUMBER: u64 = 0b101;

/// The values without parts, by the bits behind their kind. Nodes come after them.
const PLAINS: [Val; 6] = [Val::Unit, Val::Bot, Val::Top, Val::NoWid, Val::Bool(false), Val::Bool(true)];

/// The number of bits for the length of one part of a tuple, and the number of bits for all parts.
const LENGTH: u32 = 5;
const ROOM: u32 = 61;

/// Encodes a value as a word that means the same in every process. Returns `None` for a value without such a word.
pub(crate) fn packed(v: Val) -> Option<u64> {
    let plain = |number: usize| Some((number as u64) << 3 | PLAIN);
    match v {
        Val::Int(i) if INTEGERS.contains(&i) => Some((i << 1) as u64),
        Val::Tuple(parts) => Some(parts_packed(parts.parts())? << 3 | TUPLE),
        Val::Node(n) => plain(PLAINS.len() + usize::from(n.0)),
        _ => plain(PLAINS.iter().position(|&p| p == v)?),
    }
}

/// Decodes a word that [`packed`] made, or the sum of two integers of such words. Returns `None` for other words.
pub(crate) fn unpacked(word: u64) -> Option<Val> {
    match word & KIND {
        kind if kind & 1 == 0 => Some(Val::Int(word as i64 >> 1)),
        TUPLE => Some(Val::tuple(&parts_unpacked(word >> 3)?)),
        PLAIN => {
            let number = usize::try_from(word >> 3).ok()?;
            let node = || u8::try_from(number - PLAINS.len()).ok().map(|n| Val::Node(Node(n)));
            PLAINS.get(number).copied().or_else(node)
        }
        _ => None,
    }
}

/// Encodes each part as its length and its bits, the sign in the lowest, the first part lowest. A one ends them.
fn parts_packed(parts: &[Val]) -> Option<u64> {
    let mut bits = 1;
    let mut used = 1;
    for part in parts.iter().rev() {
        let i = part.int()?;
        let folded = ((i << 1) ^ (i >> 63)) as u64;
        let length = 64 - folded.leading_zeros();
        used += length + LENGTH;
        if length >> LENGTH != 0 || used > ROOM {
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
        let folded = bits >> LENGTH & ((1_u64 << length) - 1);
        bits = bits.checked_shr(LENGTH + length as u32).filter(|&rest| rest != 0)?;
        parts.push(Val::Int((folded >> 1) as i64 ^ -((folded & 1) as i64)));
    }
    Some(parts)
}

/// Encodes a value as a word of this process.
pub(crate) fn word(v: Val) -> u64 {
    packed(v).unwrap_or_else(|| {
        let known = TABLE.read().expect(WHOLE).numbers.get(&v).copied();
        let number = known.unwrap_or_else(|| {
            let table = &mut *TABLE.write().expect(WHOLE);
            *table.numbers.entry(v).or_insert_with(|| {
                table.values.push(v);
                table.values.len() as u64 - 1
            })
        });
        number << 3 | NUMBER
    })
}

/// Decodes a word that [`word`] made.
pub(crate) fn value(word: u64) -> Val {
    match word & KIND {
        NUMBER => TABLE.read().expect(WHOLE).values[(word >> 3) as usize],
        _ => unpacked(word).expect("a word that was made of a value"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(parts: &[i64]) -> Val {
        Val::tuple(&parts.iter().map(|&i| Val::Int(i)).collect::<Vec<_>>())
    }

    #[test]
    fn every_value_comes_back() {
        let numbers = [0, 1, -1, i64::MAX >> 1, i64::MIN >> 1, i64::MAX, i64::MIN].map(Val::Int);
        let others = [Val::Node(Node(3)), Val::tuple(&[Val::Int(1), Val::Bot]), ints(&[i64::MAX, 1])];
        for v in numbers.into_iter().chain(others).chain(PLAINS) {
            assert_eq!(value(word(v)), v);
            assert_eq!(word(value(word(v))), word(v));
        }
    }

    /// The card adds words. The sum of two integers that words hold decodes to the true sum, so that its reader finds
    /// it too large.
    #[test]
    fn a_sum_is_no_other_integer() {
        let [least, most] = [*INTEGERS.start(), *INTEGERS.end()];
        for (a, b) in [(most, 1), (most, most), (least, -1), (least, least), (most, least)] {
            let [first, second] = [a, b].map(|i| packed(Val::Int(i)).unwrap());
            assert_eq!(unpacked(first.wrapping_add(second)), Some(Val::Int(a + b)));
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
        all.extend(near.iter().flat_map(|&a| near.map(|b| ints(&[a, b]))));
        all.extend(near.iter().flat_map(|&a| near.map(|b| ints(&[a, b, 0, a]))));
        let words: std::collections::BTreeSet<u64> = all.iter().filter_map(|&v| packed(v)).collect();
        assert_eq!(words.len(), all.len());
        for v in all {
            assert_eq!(packed(v).and_then(unpacked), Some(v));
        }
        assert_eq!(packed(ints(&[1 << 40, 1 << 40])), None, "too long");
        assert_eq!(packed(Val::tuple(&[Val::Bot])), None, "no integer");
    }

    /// Checks that every word decodes to a value or to `None`.
    #[test]
    fn no_word_is_a_fault() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..100_000 {
            let word = random.u64(..) >> random.u32(..64);
            if let Some(v) = unpacked(word) {
                _ = packed(v);
            }
        }
        assert_eq!(unpacked(NUMBER), None);
    }
}
