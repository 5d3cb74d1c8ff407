//! Questions about specifications and implementations beside soundness: each finds what it must.

use std::sync::Arc;

use mowgli::check::{CheckOptions, CheckQuestion, Checked, check};
use mowgli::distinguish::{bounds, distinguish};
use mowgli::interrupt::Deadline;
use mowgli::litmus::order;
use mowgli::litmus::parse::parse;
use mowgli::mutation::worths;
use mowgli::necessity::{self, ChangeKind, Needed};
use mowgli::properties;
use mowgli_core::algebra::Spec;
use mowgli_core::expr::all_nodes;
use mowgli_core::ids::{Loc, Name};
use mowgli_core::library::Libraries;
use mowgli_core::soundness::form::Needs;
use mowgli_core::term::body::{Bodies, bodies};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::world::World;
use mowgli_libraries::bal::{BAL, Method as Barrier};
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_libraries::sv;
use mowgli_tests::papers;

fn entry(name: &str) -> Entry {
    catalogue().into_iter().find(|e| e.name == name).expect("a library of the catalogue")
}

#[test]
fn the_memory_model_has_the_three_properties() {
    let all = properties::specifications(catalogue());
    let wait = all.iter().find(|s| s.name == "rdma-wait").expect("the memory model");
    let bounds = wait.bounds().into_iter().map(|b| Bound { nodes: 1, ..b }).collect();
    let found = wait.check(bounds, &Deadline::default(), &|_, _| {});
    assert!(found.is_good());
    let json: serde_json::Value = serde_json::from_str(&found.json()).expect("one object");
    for property in ["monotone", "decomposable", "satisfiable", "complete"] {
        assert_eq!(json[property], true, "{property}");
    }
    // See docs/findings.md.
    assert_eq!(json["decomposable_with_the_same_so"], false);
    let in_every_size = &json["in_every_size"];
    assert!(in_every_size["monotone"] == true && in_every_size["decomposable"] == true, "{in_every_size}");
    assert_eq!(in_every_size["decomposable_with_the_same_so"], false);
    assert!(json["counterexamples"]["decomposable_with_the_same_so"].as_str().expect("text").contains("rfence(1)"));
}

#[test]
fn every_specification_has_the_three_properties_in_small() {
    let mut by_form = Vec::new();
    for specification in properties::specifications(catalogue()) {
        let bounds = specification.bounds().into_iter().map(|b| Bound { threads: b.threads.min(2), calls: 1, ..b });
        let found = specification.check(bounds.take(1).collect(), &Deadline::default(), &|_, _| {});
        let p = &found.properties;
        assert!(p.monotone.is_none() && p.decomposable.is_none() && p.stop.is_none(), "{}", found.text());
        // The properties that follow from the form hold in small. They follow for all specifications except languages,
        // whose polls are counted.
        let (name, exactly) = (specification.name, found.by_form.decomposable == Ok(Needs::TheSame));
        assert!(!exactly || p.with_the_same_so.is_none(), "{}", found.text());
        assert!(found.by_form.monotone.is_ok(), "{name}: {:?}", found.by_form);
        by_form.push(format!("{name}: {:?}", found.by_form.decomposable.map_err(|why| why.to_string())));
    }
    insta::assert_snapshot!(by_form.join("\n"), @r#"
    rdma-wait: Ok(Less)
    rdma-wait-rmw: Ok(Less)
    rdma-tso: Err("ib can have more pairs in a part")
    rdma-tso-rmw: Err("ib can have more pairs in a part")
    x86-tso: Ok(TheSame)
    sv: Ok(TheSame)
    bal: Ok(TheSame)
    bal-transitive: Ok(TheSame)
    bal-puts: Ok(TheSame)
    msw: Ok(Less)
    rbl: Ok(TheSame)
    rbl-weak: Ok(TheSame)
    wlock: Ok(Less)
    slock: Ok(Less)
    nlock: Ok(Less)
    trylock: Err("taken-twice can have more pairs in a part")
    sc-rmw: Ok(TheSame)
    counter: Ok(TheSame)
    queue: Ok(TheSame)
    map: Ok(TheSame)
    kvstore: Ok(TheSame)
    table: Ok(TheSame)
    "#);
}

#[test]
#[ignore = "takes half a minute"]
fn the_smallest_clients_that_tell_specifications_apart() {
    let [bal, transitive, rbl, weak] = ["bal", "bal-transitive", "rbl", "rbl-weak"].map(entry);
    let found = distinguish(&bal, &transitive, &bounds(&bal), &Deadline::default(), &|_, _| {}).unwrap();
    let difference = found.difference.expect("the transitive barrier promises more");
    assert_eq!((difference.allowed_by, difference.forbidden_by), ("bal", "bal-transitive"));
    // LOCO Fig. 13, found again.
    let found = distinguish(&rbl, &weak, &bounds(&rbl), &Deadline::default(), &|_, _| {}).unwrap();
    let difference = found.difference.expect("the weak ring buffer promises less");
    assert_eq!((difference.allowed_by, difference.forbidden_by), ("rbl-weak", "rbl"));
    let same = distinguish(&bal, &bal, &bounds(&bal)[..1], &Deadline::default(), &|_, _| {}).unwrap();
    assert!(same.difference.is_none() && same.stop.is_none() && same.clients > 100);
    assert!(
        distinguish(&bal, &rbl, &bounds(&bal), &Deadline::default(), &|_, _| {})
            .unwrap_err()
            .to_string()
            .contains("different methods")
    );
}

#[test]
fn what_a_weaker_specification_no_longer_catches() {
    let found = |name: &str| {
        let entry = entry(name);
        let bounds = necessity::bounds(&entry);
        worths(entry, bounds, &CheckOptions::default(), None, &mut |_| {}).unwrap()
    };
    let without = |name: &str, place: &str| {
        let found = found(name).all.into_iter().find(|w| w.without == place).expect("a place of the specification");
        assert!(found.undecided.is_empty());
        found.no_longer_caught
    };
    assert_eq!(without("bal", "aGF of BAR"), ["no-fence"]);
    assert_eq!(without("bal", "aCR of BAR"), [""; 0]);
    assert_eq!(without("nlock", "aRF of Rel"), ["no-rfence"]);
    assert_eq!(without("wlock", "lo of so"), ["cpu-rmw"]);
}

/// A variant may have a specification of its own. Changes of its bodies are checked against that: one that forbids nothing needs
/// less.
#[test]
fn changed_variants_keep_their_own_specification() {
    let (entry, bound) = (entry("wlock"), Bound { threads: 2, nodes: 1, calls: 2, ..Bound::default() });
    let lax = entry.specification.clone().respecified(Name::new("wlock"), |spec| *spec = Spec::default());
    let of = |name: &str, asked: Option<&Libraries>| Variant {
        asked: asked.cloned(),
        ..entry.variant(name).unwrap().clone()
    };
    let options = CheckOptions::default();
    let needed = |asked: Option<&Libraries>| {
        let (variant, kind) = (of("published", asked), ChangeKind::Necessity);
        let found = necessity::necessity(kind, &entry, &variant, vec![bound.clone()], &options, &mut |_| {}).unwrap();
        found.rows.iter().filter(|row| matches!(row.needed, Needed::Yes | Needed::Locally)).count()
    };
    // The stamps are still promised.
    assert_eq!([None, Some(&lax)].map(needed), [4, 3]);
}

/// Checks a whole stack, down to the memory model.
fn through(name: &str, variant: &str) -> Checked {
    let entry = entry(name);
    let variant = entry.variants.iter().find(|v| v.name == variant).expect("a variant");
    let bound = Bound { nodes: 2, ..entry.through() };
    check(
        &entry,
        variant,
        &bound,
        &CheckOptions { ask: CheckQuestion::Through, entries: &catalogue(), ..CheckOptions::default() },
    )
    .unwrap()
}

fn has_no_wrong_outcome(name: &str) {
    let checked = through(name, "published");
    assert_eq!((checked.verdict(), checked.over.as_str()), ("no-wrong-outcome", "rdma-wait-rmw"), "{name}");
}

/// The published stacks have no wrong outcome, and those without the fence have some.
#[test]
fn stacks_are_compared_with_their_top() {
    has_no_wrong_outcome("bal");
    for (name, variant) in [("bal", "no-fence"), ("slock", "no-fence"), ("sv", "fence-of-puts")] {
        assert_eq!(through(name, variant).verdict(), "unsound", "{name} {variant}");
    }
}

#[test]
#[ignore = "takes half a minute"]
fn larger_stacks_are_compared_with_their_top() {
    ["sv", "rbl"].into_iter().for_each(has_no_wrong_outcome);
}

/// Checks cells of `to` that the papers' litmus tests determine, and one that they leave open.
#[test]
fn which_tests_notice_a_cell_of_the_stamp_order() {
    let tests: Vec<_> = papers().iter().filter_map(|(name, text)| parse(name, text).ok()).collect();
    let cells = order::worth(&tests, &Deadline::default());
    let of = |earlier: &str, later: &str| {
        let cell = cells.iter().find(|c| c.earlier == earlier && c.later == later).expect("a cell that orders");
        cell.noticed_by.clone()
    };
    assert!(of("aNRW", "aGF").contains(&"loco-fig22-three-node-barrier".to_owned()));
    let noticed = ["loco-fig2a", "loco-fig2c", "loco-fig3a", "loco-fig3b", "robust-fig2c", "sync-fig11b-weak-get-wait"];
    assert_eq!(of("aWT", "aCW"), noticed);
    assert!(of("aGF", "aGF").is_empty());
    assert_eq!(cells.len(), 100);
}

/// A barrier at which threads do not wait.
struct Open;

impl Implementation for Open {
    fn target(&self) -> Name {
        BAL
    }

    fn declare(&self, world: &mut World) {
        world.objects.insert(Loc(BAL.part("seen")), sv::variable());
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(
            bodies! { static Barrier: BAR { .. } => { sv::Method::gf(all_nodes()); sv::read(Loc(BAL.part("seen"))); } },
        )
    }
}

#[test]
fn what_a_specification_does_not_admit_is_reported_so() {
    let bal = entry("bal");
    let variant = Variant { implementation: Arc::new(Open), ..bal.variants[0].clone() };
    let bound = Bound { threads: 2, nodes: 1, calls: 1, objects: 1, total: Some(1), ..Bound::default() };
    let checked = check(&bal, &variant, &bound, &CheckOptions::default()).unwrap();
    assert_eq!(checked.verdict(), "unsound");
    let text = checked.explanation();
    assert!(text.contains("This execution of") && text.contains("it does not admit them"), "{text}");
}
