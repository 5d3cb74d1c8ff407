//! Values as words of 64 bits: small integers as they are, everything else by its number in a table.

use std::sync::{LazyLock, RwLock};

use mowgli_core::value::Val;
use rustc_hash::FxHashMap;

#[derive(Default)]
struct Table {
    values: Vec<Val>,
    numbers: FxHashMap<Val, u64>,
}

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(RwLock::default);

/// Why the lock of the table is not poisoned.
const WHOLE: &str = "the table is never left half written";

/// A value as a word.
pub(crate) fn word(v: Val) -> u64 {
    if let Val::Int(i) = v
        && i << 1 >> 1 == i
    {
        return (i << 1) as u64;
    }
    let known = TABLE.read().expect(WHOLE).numbers.get(&v).copied();
    let number = known.unwrap_or_else(|| {
        let table = &mut *TABLE.write().expect(WHOLE);
        *table.numbers.entry(v).or_insert_with(|| {
            table.values.push(v);
            table.values.len() as u64 - 1
        })
    });
    number << 1 | 1
}

/// The value of a word that [`word`] made.
pub(crate) fn value(word: u64) -> Val {
    match word & 1 {
        0 => Val::Int(word as i64 >> 1),
        _ => TABLE.read().expect(WHOLE).values[(word >> 1) as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_comes_back() {
        let ints = [0, 1, -1, i64::MAX >> 1, i64::MIN >> 1, i64::MAX, i64::MIN].map(Val::Int);
        let others = [Val::Bot, Val::Bool(true), Val::tuple(&[Val::Int(1), Val::Bot])];
        for v in ints.into_iter().chain(others) {
            assert_eq!(value(word(v)), v);
            assert_eq!(word(value(word(v))), word(v));
        }
    }
}
