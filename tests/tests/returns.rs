//! The results of calls are read off shapes, and whatever is sound has no outcome that its specification lacks (LOCO Thm. 3.14).

use mowgli::check::{CheckOptions, check};
use mowgli::entry::fault;
use mowgli_core::ids::Name;
use mowgli_core::rewrite::edit::Edited;
use mowgli_core::rewrite::mutants::edits;
use mowgli_core::rewrite::sites::{Site, sites};
use mowgli_core::search::problem::Problem;
use mowgli_core::term::implementation::{Implementations, add_parts};
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::bound;
use mowgli_libraries::prelude::*;
use mowgli_libraries::x86;
use mowgli_rdma::Way;
use std::sync::Arc;

methods! {
    /// Calls of a word that may not be read.
    enum Method of SHY = "shy" {
        /// Sets it.
        fn set = Set(x: Object, v: Value);
        /// Reads it, or returns bottom.
        fn look = Look(x: Object) -> Value;
    }
}

fn coherent() -> Spec {
    spec! {
        let rf, mo, rb = coherence;
        so = po | rf | mo | rb;
    }
}

fn node_of(x: Expr) -> Expr {
    let _ = x;
    Expr::from(Node(1))
}

/// A word on node 1, which a body sets and returns.
fn over(looks: impl Fn(Expr) -> Body) -> Over<Method> {
    let bodies = bodies! { Method:
        Set { x, v } => { Rdma::write(x.part("word", []), v); Rdma::mfence() }
        Look { x } => { (looks(x)) }
    };
    Over::<Method>::terms(bodies)
        .with_parts(parts! { x => x.part("word", []) => ObjectTerm::new(wait::WAIT).at(node_of(x)); })
}

/// The entry of a library with these shapes, whose bodies return what they read, or bottom in place of 1.
fn entry(shapes: &'static Shapes) -> Entry {
    let hides = over(|x| body! { let v = Rdma::read(x.part("word", [])); if (v.is(1)) { Val::Bot } else { v } });
    Entry::rdma(Simple::<Method>::new(shapes, coherent), Wait).published(hides, &[(1, 1, 2)])
}

/// Without the hint `returns`, bottom is a result where the shape has it, and wrong where it has not.
#[test]
fn bottom_is_a_result_if_the_shape_says_so() {
    let may = shapes! { Method:
        Set { x, v } => { aCW: writes x, v }
        Look { x } => { if (ret().is(Val::Bot)) { aWT } else { aCR: reads x, ret() } }
    };
    let may_not = shapes! { Method: Set { x, v } => { aCW: writes x, v } Look { x } => { aCR: reads x, ret() } };
    let verdict = |shapes| {
        let entry = entry(shapes);
        let bound = Bound { values: vec![1, 2], ..bound(1, 1, 2) };
        check(&entry, &entry.variants[0], &bound, &CheckOptions::default()).unwrap().verdict().to_owned()
    };
    assert_eq!(verdict(may), "sound");
    assert_eq!(verdict(may_not), "unsound");
}

#[test]
fn a_branch_that_no_result_reaches_is_an_error() {
    let odd = shapes! { Method:
        Set { x, v } => { aCW: writes x, v }
        Look { x } => { if (ret().below(-5)) { aWT } else { aCR: reads x, ret() } }
    };
    let why = fault(&entry(odd), &bound(2, 2, 1), &|| false).unwrap_err();
    assert!(why.message.contains("the shape of Look of shy: no result leads to where ret < -5 holds"), "{why}");
    let never = shapes! { Method:
        Set { x, v } => { aCW: writes x, v }
        Look { x } => { if (ret().below(-5)) { (ShapeTerm::never()) } else { aCR: reads x, ret() } }
    };
    assert_eq!(fault(&entry(never), &bound(2, 2, 1), &|| false).err().map(|why| why.message), None);
}

methods! {
    /// Calls of a word of which a program learns whether it is 1.
    enum Flag of FLAG = "flag" {
        /// Sets it.
        fn mark = Mark(x: Object, v: Value);
        /// Returns whether it is 1.
        fn is_set = IsSet(x: Object) -> Bool;
    }
}

/// Shapes may fit results that no call of the specification has. They are numbers in place of truth values, bottom, and numbers
/// that only a comparison by order admits.
#[test]
fn what_the_specification_does_not_return_is_wrong() {
    let bound = Bound { values: vec![1], ..bound(2, 1, 1) };
    let verdict = |entry: &Entry| {
        let checked = check(entry, &entry.variants[0], &bound, &CheckOptions::default()).unwrap();
        checked.verdict().to_owned()
    };
    let shapes = shapes! { Flag:
        Mark { x, v } => { aCW: writes x, v }
        IsSet { x } => { if (ret().is(true)) { aCR: reads x, 1 } else { aWT } }
    };
    let flag = |returned: fn(Expr) -> Body| {
        let bodies = bodies! { Flag:
            Mark { x, v } => { Rdma::write(x.part("word", []), v); Rdma::mfence() }
            IsSet { x } => { let v = Rdma::read(x.part("word", [])); (returned(v)) }
        };
        let parts = parts! { x => x.part("word", []) => ObjectTerm::new(wait::WAIT).at(node_of(x)); };
        let over = Over::<Flag>::terms(bodies).with_parts(parts);
        verdict(&Entry::rdma(Simple::<Flag>::new(shapes, coherent), Wait).published(over, &[(2, 1, 1)]))
    };
    assert_eq!(flag(|v| body! { v.is(1) }), "sound");
    assert_eq!(flag(|v| body! { v }), "unsound");
    assert_eq!(flag(|v| body! { if (v.is(1)) { true } else { Val::Bot } }), "unsound");
    let shapes = shapes! { Method:
        Set { x, v } => { aCW: writes x, v }
        Look { x } => { if (ret().is(0) | ret().below(-100)) { aWT } else { aCR: reads x, ret() } }
    };
    let shy = |other: i64| {
        let over = over(|x| {
            body! { let v = Rdma::read(x.part("word", [])); if (v.is(1)) { v } else { Val::Int(other) } }
        });
        verdict(&Entry::rdma(Simple::<Method>::new(shapes, coherent), Wait).published(over, &[(2, 1, 1)]))
    };
    assert_eq!((shy(0).as_str(), shy(-101).as_str()), ("sound", "unsound"));
}

/// A bound is on the values of clients. A branch that other values reach is right.
#[test]
fn bounds_of_one_value_are_right() {
    for entry in catalogue().iter().chain(&x86::catalogue()) {
        let bound = Bound { values: vec![0], ..bound(1, 1, 1) };
        assert_eq!(fault(entry, &bound, &|| false).err().map(|why| why.message), None, "{}", entry.name);
    }
}

methods! {
    /// Calls of a word that is put by the second queue pair.
    enum Far of FAR = "far" {
        /// Puts a value there.
        fn send = Send(x: Object, v: Value);
    }
}

/// The promise of the second queue pair is not that of the first: condition 1 has the stamps of both.
#[test]
fn a_promise_by_another_queue_pair_is_kept_by_that_one() {
    let shapes = shapes! { Far: Send { x, v } => { for n in (only(Node(2))) { aNRW(n, 2): writes x at n, v } } };
    let by = |way: Way| {
        let bodies = bodies! { Far:
            Send { x, v } => {
                Rdma::write(x.part("own", [me()]), v);
                Rdma::put_by(Val::from(way), x.part("word", []), x.part("own", [me()]), Val::NoWid)
            }
        };
        let parts = parts! { x =>
            for t in (all_threads()) { x.part("own", [t]) => ObjectTerm::new(wait::WAIT).at(node(t)); }
            x.part("word", []) => ObjectTerm::new(wait::WAIT).at(Node(2));
        };
        let implementation = Over::<Far>::terms(bodies).with_parts(parts);
        let library = Simple::<Far>::new(shapes, coherent_of_words);
        Entry::rdma(library, Wait).published(implementation, &[(1, 2, 1)])
    };
    let violated = |way: Way| {
        let entry = by(way);
        let bound = Bound { values: vec![1], nodes: 2, ..bound(1, 2, 1) };
        check(&entry, &entry.variants[0], &bound, &CheckOptions::default()).unwrap().report.violation.is_some()
    };
    assert!(!violated(Way { queue: 2, ..Way::USUAL }));
    assert!(violated(Way::USUAL), "the first queue pair does not stand for the second");
}

fn coherent_of_words() -> Spec {
    spec! {
        let rf, mo, rb = coherence;
        say rf = "{b} reads {a}";
        irreflexive sc = (rf | mo | rb)+;
    }
}

#[test]
fn what_is_sound_has_no_outcome_that_its_specification_lacks() {
    let [sound, wrong] = compared(&|name| ["sv", "msw", "sc-rmw", "trylock"].contains(&name), 1);
    assert!(sound > 4 && wrong > 0, "{sound} sound, {wrong} wrong");
}

#[test]
#[ignore = "takes minutes"]
fn what_is_sound_in_any_library_has_no_outcome_that_its_specification_lacks() {
    let [sound, wrong] = compared(&|_| true, 12);
    assert!(sound > 120 && wrong > 14, "{sound} sound, {wrong} wrong");
}

/// Compares the outcomes of variants and of so many mutants of each library, within a small bound, with those of its specification. No
/// sound one has an outcome that the specification lacks. Returns the number of sound ones, and of those with such an outcome.
fn compared(is_chosen: &dyn Fn(&str) -> bool, mutants: usize) -> [usize; 2] {
    let (mut sound, mut wrong) = (0, 0);
    for entry in catalogue().iter().chain(&x86::catalogue()).filter(|entry| is_chosen(entry.name)) {
        let bound = Bound { values: vec![1], total: Some(2), ..bound(2, 2, 1) };
        let specified = entry.specification.and(&entry.memory.libraries);
        let below = entry.below.and(&entry.memory.libraries);
        let clients = entry.clients(&bound, &|| false).expect("there is no deadline");
        let clients = clients.into_iter().step_by(3).take(6).collect::<Vec<_>>();
        for variant in entry.variants.iter().take(4).cloned().chain(mutants_of(entry, mutants)) {
            let lacks = clients.iter().any(|(world, client)| {
                let programs = client.programs();
                let allowed = Problem::of(&specified, world, &programs).results().all().expect("it is small");
                let mut with_parts = world.clone();
                add_parts(&*variant.implementation, &mut with_parts);
                let name = Name::literal(entry.name);
                let implementations = Implementations::from([(name, Arc::clone(&variant.implementation))]);
                let problem =
                    Problem { implementations: &implementations, ..Problem::of(&below, &with_parts, &programs) };
                problem.results().so_far().0.iter().any(|outcome| !allowed.contains(outcome))
            });
            let checked = check(entry, &variant, &bound, &CheckOptions::default());
            let Ok(checked) = checked else { continue };
            let edits = variant.implementation.edits();
            // Whose only fault is that calls do not return has no wrong outcome either.
            let is_sound = ["sound", "blocks", "stuck"].contains(&checked.verdict());
            assert!(!lacks || !is_sound, "{} {} {edits:?}", entry.name, variant.name);
            sound += usize::from(is_sound);
            wrong += usize::from(lacks);
        }
    }
    [sound, wrong]
}

/// Returns so many of the edits of one operation of the published bodies, spread over all of them.
fn mutants_of(entry: &Entry, count: usize) -> Vec<Variant> {
    let published = &entry.variants[0];
    let Some(bodies) = published.implementation.bodies() else { return Vec::new() };
    let edits = |site: Site| {
        let library = entry.below.get(site.library).expect("it is called");
        let method = library.methods().iter().find(|m| m.name == site.calls).expect("it is called");
        edits(method).into_iter().map(move |edit| edit.at(Arc::clone(&published.implementation), &site))
    };
    let all = sites(bodies).into_iter().flat_map(edits).filter(Edited::differs).collect::<Vec<_>>();
    let variant = |edited| Variant { name: "mutant", implementation: Arc::new(edited), ..published.clone() };
    let step = all.len().div_ceil(count.max(1)).max(1);
    all.into_iter().step_by(step).map(variant).collect()
}

/// A part of so without a sentence is named as its author wrote it.
#[test]
#[should_panic(expected = "lin is a part of so and has no sentence: write `say lin = ")]
fn a_part_of_so_without_a_sentence_is_named() {
    let _ = spec! {
        let rf, mo, rb = coherence;
        let lin = (rf | mo | rb)+;
        so = rf | lin;
    };
}
