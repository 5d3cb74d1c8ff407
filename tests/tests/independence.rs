//! Clients that are images of more general ones, in which all integers differ that are only moved.

use std::collections::BTreeMap;

use mowgli::check::{CheckOptions, check};
use mowgli_core::algebra::Spec;
use mowgli_core::event::{Call, Event};
use mowgli_core::expr::{Expr, ret};
use mowgli_core::library::{Equivariance, Hints, Library};
use mowgli_core::rewrite::edit::{Edited, Edits, calls};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::soundness::client::Client;
use mowgli_core::soundness::independence::Independence;
use mowgli_core::soundness::verdict::Question;
use mowgli_core::term::body::{Body, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation as _;
use mowgli_core::term::method::{methods, named_by};
use mowgli_core::term::shape::{Case, CasesTerm, Shapes, WritesTerm, shapes, step_of};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Expected, Variant, variant};
use mowgli_libraries::x86::treiber::{Method as Stack, Treiber};
use mowgli_x86::stamp::X86Stamp::{R, U, W};
use mowgli_x86::tso::Method as Tso;

use crate::renaming::{entries, implemented, question};

/// Three values, of which a client may have each once.
fn bound() -> Bound {
    Bound { threads: 2, calls: 2, total: Some(3), values: vec![1, 2, 3], ..Bound::default() }
}

fn independence(library: &str, variant: &Variant) -> Independence {
    let all = entries();
    Independence::of(&question(named(&all, library).unwrap(), variant, &bound()))
}

#[test]
fn independence_follows_from_the_terms() {
    let of = |library: &str, name: &str| {
        let all = entries();
        format!("{:?}", independence(library, named(&all, library).unwrap().variant(name).unwrap()))
    };
    assert_eq!(of("sv", "published"), "Independence({(Write, 1)})");
    assert_eq!(of("treiber", "published"), "Independence({(Push, 1)})");
    assert_eq!(of("msqueue", "published"), "Independence({(Enq, 1)})");
    // The words of a ring hold messages and their lengths. The others compute with what they store, or compare it.
    for library in ["rbl", "msw", "sc-rmw", "queue", "map", "kvstore"] {
        assert_eq!(of(library, "published"), "Independence({})", "{library}");
    }
}

/// A body that compares the value, computes with it, stores it where it is compared, or takes it for a location.
#[test]
fn what_bodies_do_with_data_is_noticed() {
    let stores = |change: fn(Expr, Expr, Expr) -> Body| {
        Treiber
            .replace(calls!(Tso::Write { x, v } in Stack::Push { x: s, v: pushed } if v == pushed => change(s, x, v)))
    };
    let of = |edited: Edited| {
        let text = edited.edits().join("; ");
        assert_eq!(edited.mistake(), None, "{text}");
        (format!("{:?}", independence("treiber", &variant("edited", "", Expected::Sound, edited, &[(2, 1, 2)]))), text)
    };
    let twice = stores(|_, x, v| body! { Tso::write(x, v); Tso::write(x, v) });
    assert_eq!(of(twice).0, "Independence({(Push, 1)})");
    let compares = stores(|_, x, v| body! { if (v != 2) { Tso::write(x, v) } });
    let computes = stores(|_, x, v| body! { Tso::write(x, v + 1) });
    let swapped = stores(|s, x, v| body! { Tso::write(x, v); Tso::write(s.part("top", []), v) });
    let fetched = stores(|_, x, v| body! { Tso::write(x, v); Tso::faa(x, 1) });
    let location = stores(|_, x, v| body! { Tso::write(x, v); Tso::write(v.part("next", []), 1) });
    // `s.seen_1` is one location, however its name is written.
    let other_name = stores(|s, x, v| {
        body! {
            Tso::write(s.part("seen_1", []), v);
            let seen = Tso::read(s.part("seen", [1.into()]));
            if (seen != 2) { Tso::write(x, v) }
        }
    });
    for edited in [compares, computes, swapped, fetched, location, other_name] {
        let (found, text) = of(edited);
        assert_eq!(found, "Independence({})", "{text}");
    }
}

methods! {
    /// Words that are copied.
    enum Copied of COPIES = "copies" {
        /// Writes a word.
        fn put = Put(x: Object, v: Value);
        /// Reads a word.
        fn get = Get(x: Object) -> Value;
        /// Copies a word to another one.
        fn copy = Copy(x: Object, y: Object);
        /// Reads a word, which is this value.
        fn same = Same(x: Object, state: Object, v: Value) -> Value;
    }
}

/// Changes nothing. The call has this result.
fn if_result_is(v: Expr) -> WritesTerm {
    WritesTerm::Words(CasesTerm::new(0, |_| vec![Case::new(true, &[], v)]))
}

/// A library that copies with a Rust function, and compares without an expression.
struct Copies;

impl Library for Copies {
    named_by!(Copied);

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Copied:
            Put { x, v } => { W: writes x, v }
            Get { x } => { R: reads x, ret() }
            Copy { x, y } => { let old = R: reads x; W: writes y, step_of(old) }
            Same { x, state, v } => { R: reads x, ret(); U: updates state => if_result_is(v) }
        })
    }

    fn step_by_function(&self, _: &Event, read: Val) -> Option<Val> {
        Some(read)
    }

    fn spec(&self) -> Spec {
        Spec::default()
    }
}

impl Hints for Copies {
    fn equivariance(&self) -> Equivariance {
        Equivariance::DataIndependent
    }
}

/// A word that is copied by a Rust function is compared at its new place, and another one with a result.
#[test]
fn what_shapes_do_with_data_is_noticed() {
    let all = entries();
    let of = |seen: fn(Expr) -> Body| {
        let edited =
            Treiber.replace(calls!(Tso::Write { x, v } in Stack::Push { x: s, v: pushed } if v == pushed => body! {
                Copied::put(s.part("from", []), v);
                Copied::copy(s.part("from", []), s.part("to", []));
                let seen = seen(s);
                if (seen == 1) { Tso::write(x, v) }
            }));
        assert_eq!(edited.mistake(), None);
        let (entry, bound) = (named(&all, "treiber").unwrap(), bound());
        let mut question = question(entry, &variant("edited", "", Expected::Sound, edited, &[(2, 1, 2)]), &bound);
        question.below = question.below.with(Copies);
        format!("{:?}", Independence::of(&question))
    };
    assert_eq!(of(|s| body! { Copied::get(s.part("else", [])) }), "Independence({(Push, 1)})");
    assert_eq!(of(|s| body! { Copied::get(s.part("to", [])) }), "Independence({})");
    let same = |s: Expr| body! { Copied::same(s.part("from", []), s.part("state", []), 1); 0 };
    assert_eq!(of(same), "Independence({})");
}

/// The outcomes of a client with the number of classes of executions of each.
fn outcomes(question: &Question<'_>, client: &(World, Client)) -> BTreeMap<Outcome, u64> {
    implemented(question, client, |problem| problem.outcomes().so_far().0.clone())
}

fn image(v: Val, of: &dyn Fn(i64) -> i64) -> Val {
    v.image(&|part| part.int().map_or(part, |i| Val::Int(of(i))))
}

/// The executions of a client whose integers are equal are the images of the executions of the client whose integers differ.
fn images_agree(library: &str, nodes: u8) -> usize {
    let all = entries();
    let entry = named(&all, library).unwrap();
    let (bound, mut compared) = (Bound { nodes, ..bound() }, 0);
    for variant in &entry.variants {
        let question = question(entry, variant, &bound);
        let independence = Independence::of(&question);
        assert_ne!(independence, Independence::default(), "{library}");
        for (world, client) in entry.clients(&bound, &|| false).unwrap() {
            let calls = || client.threads.iter().flatten();
            let data: Vec<Val> = calls()
                .filter(|call| (1..call.args.len()).any(|at| independence.has(call, at)))
                .map(|call| call.args[1])
                .collect();
            // The first client of those with other integers that all differ.
            if data.len() < 2 || !data.iter().enumerate().all(|(at, v)| *v == Val::Int(at as i64 + 1)) {
                continue;
            }
            let general = outcomes(&question, &(world.clone(), client.clone()));
            for of in [
                |i: i64| if i > 1 { i - 1 } else { i },
                |i: i64| if i == 3 { 1 } else { i },
                |i: i64| i64::from(i != 0),
            ] {
                let mut images: BTreeMap<Outcome, u64> = BTreeMap::new();
                for (outcome, classes) in &general {
                    let outputs = outcome.outputs.iter().map(|&v| image(v, &of)).collect();
                    *images.entry(Outcome { outputs, ..outcome.clone() }).or_default() += classes;
                }
                let call =
                    |call: &Call| Call { args: call.args.iter().map(|&v| image(v, &of)).collect(), ..call.clone() };
                let threads = client.threads.iter().map(|calls| calls.iter().map(call).collect()).collect();
                let merged = (world.clone(), Client { threads });
                assert_eq!(outcomes(&question, &merged), images, "{library} {}: {merged:?}", variant.name);
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn executions_of_equal_integers_are_images() {
    let compared = [("sv", 2), ("treiber", 1), ("msqueue", 1)].map(|(library, nodes)| images_agree(library, nodes));
    assert!(compared.iter().all(|&n| n > 50), "{compared:?}");
}

/// A mistake that only equal values show, and one that only different values show.
#[test]
fn mistakes_with_data_are_found() {
    let all = entries();
    let entry = named(&all, "treiber").unwrap();
    let bound = Bound { threads: 1, calls: 3, values: vec![1, 2], ..Bound::default() };
    let verdict = |edited: Edited| {
        let variant = variant("wrong", "", Expected::Unsound, edited, &[(1, 1, 3)]);
        check(entry, &variant, &bound, &CheckOptions::default()).unwrap().verdict()
    };
    let twice = Treiber.replace(calls!(|read| Tso::Read { .. } in Stack::Pop { .. } => body! { read.clone(); read }));
    assert_eq!(verdict(twice), "sound");
    // A node is lost if the value is that of the node before it.
    let equal = Treiber.replace(calls!(|push| Tso::CAS { v1, .. } in Stack::Push { v, .. } => body! {
        let seen = if (v1 == 0) { 0 } else { Tso::read(v1.part("value", [])) };
        if (seen == v) { v1 } else { push }
    }));
    assert_eq!(verdict(equal), "unsound");
    let one = Treiber.replace(
        calls!(Tso::Write { x, v } in Stack::Push { v: pushed, .. } if v == pushed => body! { Tso::write(x, 1) }),
    );
    assert_eq!(verdict(one), "unsound");
    // An integer that is the second one of a general client.
    let as_general =
        Treiber.replace(calls!(Tso::Write { x, v } in Stack::Push { x: s, v: pushed } if v == pushed => body! {
            let first = Tso::read(s.part("top", []));
            if (first == 0) { Tso::write(x, v) } else { Tso::write(x, (1 << 20) + 2) }
        }));
    assert_eq!(verdict(as_general), "unsound");
}

/// A stack can have 1956 states with six different values, but only 69 if each thread pushes three of them in order.
#[test]
fn six_different_values_are_not_too_many() {
    let all = entries();
    let entry = named(&all, "treiber").unwrap();
    let question = question(entry, &entry.variants[0], &bound());
    let (world, _) = entry.clients(&Bound { calls: 1, ..bound() }, &|| false).unwrap().pop().unwrap();
    let x = *world.objects.keys().next().unwrap();
    let push = |v: i64| Stack::Push { x, v: v.into() }.into();
    let threads = vec![[1, 2, 3].map(push).to_vec(), [4, 5, 6].map(push).to_vec()];
    assert_eq!(question.is_locally_sound(&world, &Client { threads }), Ok(true));
}

/// General clients have integers, too, where no larger ones are left.
#[test]
fn values_may_be_the_largest() {
    let all = entries();
    let entry = named(&all, "treiber").unwrap();
    let bound = Bound { threads: 1, calls: 2, values: vec![1, i64::MAX], ..Bound::default() };
    let checked = check(entry, &entry.variants[0], &bound, &CheckOptions::default()).unwrap();
    assert_eq!(checked.verdict(), "sound");
}
