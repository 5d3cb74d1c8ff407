//! The bounds of `check --thorough` have the verdicts that `check` had there before they were too slow for it.

use itertools::Itertools as _;
use mowgli_core::term::bound::Bound;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::Variant;
use mowgli_proofs::checked;

/// Variants that are not noticed at some of their thorough bounds, with the positions of these bounds.
const UNNOTICED: [(&str, &str, &[usize]); 4] = [
    // With the value 1 alone, an FAA that adds 1 always is right.
    ("sc-rmw", "faa-adds-one", &[0]),
    // A deletion that a node has not seen needs three threads with two calls.
    ("kvstore", "published", &[0, 1, 2]),
    // A writer that reads its own message makes two calls.
    ("rbl", "published", &[1, 2]),
    ("rbl-weak", "published", &[1, 2]),
];

/// Checks each thorough bound of each variant. Also the wrong variants, so that each is caught where it was.
fn have_the_expected_verdicts(library: &str) {
    let all = catalogue();
    let entry = all.iter().find(|entry| entry.name == library).expect("a library of the catalogue");
    for variant in &entry.variants {
        for (position, bound) in variant.thorough.iter().enumerate() {
            let is_unnoticed =
                UNNOTICED.iter().any(|(l, v, at)| (*l, *v) == (library, variant.name) && at.contains(&position));
            let is_sound = is_unnoticed || variant.expected.is_correct();
            let (name, expected) = (variant.name, if is_sound { "sound" } else { "unsound" });
            assert_eq!(checked(library, name, bound).verdict(), expected, "{library} {name} {bound:?}");
        }
    }
}

/// Makes a test for each library with thorough bounds, and the list of all.
macro_rules! thorough {
    ($($name:ident $library:literal),* $(,)?) => {
        /// The thorough bounds of a library have the verdicts that the default ones had before.
        mod the_thorough_bounds_have_the_expected_verdicts {
            $(
                #[test]
                #[ignore = "takes minutes"]
                fn $name() {
                    super::have_the_expected_verdicts($library);
                }
            )*
        }

        #[test]
        fn each_library_with_thorough_bounds_is_tested() {
            let all = catalogue();
            let thorough = all.iter().filter(|entry| entry.variants.iter().any(|v| !v.thorough.is_empty()));
            let names: Vec<&str> = thorough.map(|entry| entry.name).sorted().collect();
            assert_eq!(names, [$($library),*]);
        }
    };
}

thorough!(kvstore "kvstore", msw "msw", rbl "rbl", rbl_weak "rbl-weak", sc_rmw "sc-rmw", sv "sv", table "table", trylock "trylock");

/// No thorough bound is checked by default, too.
#[test]
fn thorough_bounds_are_not_default() {
    for entry in catalogue() {
        for variant in &entry.variants {
            assert!(!variant.thorough.iter().any(|b| variant.bounds.contains(b)), "{} {}", entry.name, variant.name);
        }
    }
}

/// A published implementation has smaller bounds than its broken variants. So a mistake that a user makes in it is caught as theirs are.
#[test]
#[ignore = "takes ten seconds"]
fn the_bounds_of_the_published_catch_each_broken_variant() {
    caught("sc-rmw", default, |_| true);
    caught("trylock", default, |variant| variant != "no-mark");
}

#[test]
#[ignore = "takes a minute"]
fn the_bounds_of_the_published_catch_the_other_broken_variants() {
    caught("trylock", default, |_| true);
    caught("msw", default, |_| true);
    // These need four calls of one thread, or three of two, as the thorough bounds have them.
    let is_long = |variant: &str| ["forget-removed", "take-first", "no-fence"].contains(&variant);
    caught("table", default, |variant| !is_long(variant));
    caught("table", |published| published.thorough.clone(), is_long);
}

fn default(published: &Variant) -> Vec<Bound> {
    published.bounds.clone()
}

/// Asserts that each of these broken variants is caught at one of these bounds of the published one.
fn caught(library: &str, bounds: fn(&Variant) -> Vec<Bound>, is_asked: impl Fn(&str) -> bool) {
    let all = catalogue();
    let entry = all.iter().find(|entry| entry.name == library).expect("a library of the catalogue");
    let (published, broken) = entry.variants.split_first().expect("variants");
    for variant in broken.iter().filter(|variant| is_asked(variant.name)) {
        let is_caught = |bound: &Bound| checked(library, variant.name, bound).verdict() == "unsound";
        assert!(bounds(published).iter().any(is_caught), "{library} {}", variant.name);
    }
}

#[test]
#[ignore = "takes a minute"]
fn the_default_bounds_catch_a_broadcast_to_the_first_target_only() {
    mowgli_proofs::assert_unsound!("sv", "first-target-only");
}
