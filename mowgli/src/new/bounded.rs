//! The implementation keeps the specification's promises in every client up to a bound, and what breaks it is caught.

use mowgli_proofs::{assert_sound, assert_unsound, bound};
use my_library::entry;

#[test]
fn the_implementation_is_sound() {
    let checked = assert_sound!(entry(), "published", bound(2, 2, 2));
    // The concretisation that was found: which subevent of the implementation stands for each stamp.
    insta::assert_snapshot!(checked.concretisation().join("\n"), @r"
    g(Check, aCR) = aCR of the Read
    g(Raise, aGF) = aGF of the GF
    ");
}

#[test]
fn without_the_fence_it_is_not() {
    let checked = assert_unsound!(entry(), "no-fence", bound(2, 2, 2));
    // The whole counterexample, for reading.
    println!("{}", checked.explanation());
}
