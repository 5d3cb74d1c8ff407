//! Records of a pool.

use mowgli_core::ids::{Loc, Tid};
use mowgli_core::value::Val;
use mowgli_x86::pool::{record, records};

#[test]
fn records_have_the_names_of_their_terms() {
    let (x, t) = (Loc::new("x"), Tid(2));
    let named: Vec<Val> = (1..3).map(|k| record(x, t, k).value()).collect();
    assert_eq!(records(x, t).take(2).collect::<Vec<_>>(), named);
}
