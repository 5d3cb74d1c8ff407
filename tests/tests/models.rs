//! Memory models that have the same stamps and differ in their stamp order, and one that has stamps of its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use mowgli::catalogue::Catalogue;
use mowgli::check::{CheckOptions, CheckQuestion, Checked, check};
use mowgli::error::InputError;
use mowgli_core::expr::Expr;
use mowgli_core::ids::{Loc, Node};
use mowgli_core::library::Libraries;
use mowgli_core::rewrite::edit::{Edits, calls};
use mowgli_core::search::problem::Problem;
use mowgli_core::stamp::StampKind;
use mowgli_core::term::body::{Body, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::bal::Method as Barrier;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Expected, Memory, Variant, variant};
use mowgli_libraries::sv::Method as Shared;
use mowgli_libraries::{bal, x86};
use mowgli_rdma::RdmaStamp::{aCR, aCW, aWT};
use mowgli_rdma::wait::{Wait, read, word, write};
use mowgli_rdma::{sc, to};
use mowgli_x86::X86Stamp;

#[allow(dead_code, reason = "not all of it is used")]
#[path = "../../mowgli-core/tests/x86_tso/mod.rs"]
mod own;

/// Orders stamps as in RDMA, without the cell that keeps CPU writes in order.
fn reorders_writes(a: mowgli_rdma::RdmaStamp, b: mowgli_rdma::RdmaStamp) -> bool {
    to(a, b) && (a, b) != (aCW, aCW)
}

/// Orders stamps as in RDMA, without the cells that keep CPU reads and writes after a wait.
fn waits_for_nothing(a: mowgli_rdma::RdmaStamp, b: mowgli_rdma::RdmaStamp) -> bool {
    to(a, b) && !(a == aWT && [aCR, aCW].contains(&b))
}

const LOCS: [&str; 2] = ["x", "y"];

/// Returns the results of two threads that access x and y, under this stamp order.
fn outputs(
    order: fn(mowgli_rdma::RdmaStamp, mowgli_rdma::RdmaStamp) -> bool,
    threads: [fn(Loc, Loc) -> Body; 2],
) -> BTreeSet<Vec<Val>> {
    let [x, y] = LOCS.map(Loc::new);
    let mut world = World::new(1, &[Node(1), Node(1)]);
    world.objects.extend([x, y].map(|x| (x, word(Node(1)))));
    let libraries = Libraries::over(order).with(Wait);
    let programs = threads.map(|thread| Script::from(thread(x, y)));
    let problem = Problem::of(&libraries, &world, &programs);
    problem.outcomes().all().unwrap().into_keys().map(|o| o.outputs).collect()
}

#[test]
fn one_stamp_type_has_several_models() {
    let one = Val::Int(1);
    let store_buffering: [fn(Loc, Loc) -> Body; 2] =
        [|x, y| write(x, Val::Int(1)).then(read(y)), |x, y| write(y, Val::Int(1)).then(read(x))];
    let neither_sees = vec![Val::Int(0); 2];
    assert!(outputs(to, store_buffering).contains(&neither_sees));
    assert!(!outputs(sc::to, store_buffering).contains(&neither_sees));

    let message_passing: [fn(Loc, Loc) -> Body; 2] = [
        |x, y| write(x, Val::Int(1)).then(write(y, Val::Int(1))),
        |x, y| body! { let b = read(y); let a = read(x); Expr::tuple([a, b]) },
    ];
    let overtaken = vec![Val::Unit, Val::tuple(&[Val::Int(0), one])];
    let [rdma, weaker] = [to, reorders_writes].map(|order| outputs(order, message_passing));
    assert!(!rdma.contains(&overtaken) && weaker.contains(&overtaken), "{rdma:?} {weaker:?}");
    assert!(rdma.is_subset(&weaker));
    assert_eq!((rdma.len(), weaker.len()), (3, 4));
}

/// Checks the variant of this name, within a small bound.
fn checked(entry: &Entry, variant: &str) -> Result<Checked, InputError> {
    check(entry, entry.variant(variant)?, &entry.through(), &CheckOptions::default())
}

fn entry_of(all: Vec<Entry>, name: &str) -> Entry {
    all.into_iter().find(|e| e.name == name).expect("a built-in library")
}

/// Flags of threads make a lock on a machine without store buffers. Two threads may wait for each other, but are never in it together.
#[test]
fn an_implementation_is_sound_over_one_model_and_not_over_another() {
    let spinlock = || entry_of(x86::catalogue(), "spinlock");
    assert_eq!(checked(&spinlock(), "flags").unwrap().verdict(), "unsound");
    let without_buffers = spinlock().with_order(|_: X86Stamp, _| true);
    assert_eq!(checked(&without_buffers, "flags").unwrap().verdict(), "stuck");
}

/// The libraries below an entry are those of the catalogue, over the stamp order of the entry.
#[test]
fn a_whole_stack_is_over_one_stamp_order() {
    let bal = || entry_of(catalogue(), "bal");
    let bound = Bound { threads: 3, ..bal().through() };
    let entries = &catalogue();
    let options = CheckOptions { ask: CheckQuestion::Through, loopback: false, entries, ..CheckOptions::default() };
    let verdict = |entry: &Entry| check(entry, &entry.variants[0], &bound, &options).unwrap().verdict();
    assert_eq!(verdict(&bal().with_order(waits_for_nothing)), "unsound");
    assert_eq!(verdict(&bal()), "no-wrong-outcome");
}

#[test]
fn an_entry_is_of_one_memory_model() {
    let bal = || entry_of(catalogue(), "bal");
    let over = |part: Libraries| part.with_order(reorders_writes);
    let mixed = [
        ("specification", Entry { specification: over(bal().specification), ..bal() }),
        ("implementation", Entry { below: over(bal().below), ..bal() }),
    ];
    for (part, entry) in mixed {
        let said = checked(&entry, "published").err().expect("a mistake");
        let expected =
            format!("the {part} of bal is over another stamp order than its memory model: only one of them has");
        assert_eq!(said.to_string(), format!("{expected} aCW before aCW"));
    }
}

#[test]
#[should_panic(expected = "different memory models: only one has aCW before aCR")]
fn libraries_of_two_memory_models_are_no_set() {
    let _ = Libraries::over(to).with(Wait).and(&sc::libraries());
}

#[test]
#[should_panic(expected = "memory models with different stamps")]
fn libraries_with_different_stamps_are_no_set() {
    let _ = Libraries::over(to).with(Wait).and(&Memory::x86_tso().libraries);
}

#[test]
#[should_panic(expected = "aCR is a stamp of another memory model")]
fn a_stamp_is_of_one_memory_model() {
    let _ = X86Stamp::of(aCR.into());
}

#[test]
fn no_test_is_of_a_memory_model_of_ones_own() {
    let said = Catalogue::with([lock()]).err().expect("a mistake");
    assert!(said.to_string().starts_with("lock is over a memory model of its own"), "{said}");
}

/// Returns a lock over a user's memory model. The libraries that are built in do not have its stamps.
fn lock() -> Entry {
    let memory = || Libraries::over(own::to).with(own::Memory);
    let bound = Bound { threads: 2, nodes: 1, calls: 2, loops: 2, ..Bound::default() };
    let variant = |name, expected, spin| variant(name, "which word is swapped", expected, spin, &[]).and(bound.clone());
    Entry {
        name: "lock",
        memory: Memory { libraries: memory(), probes: |_| Box::new(own::Counting), crashing: None, switches: None },
        specification: Libraries::over(own::to).with(own::Lock),
        below: memory(),
        subject: Box::new(own::Lock),
        probes: Vec::new(),
        variants: vec![
            variant("published", Expected::Sound, own::Spin::Published),
            variant("own-word", Expected::Unsound, own::Spin::OwnWord),
        ],
    }
}

#[test]
fn a_memory_model_with_stamps_of_its_own_is_checked_and_explained() {
    let lock = lock();
    for variant in &lock.variants {
        let checked = check(&lock, variant, &variant.bounds[0], &CheckOptions::default()).unwrap();
        assert_eq!(checked.is_expected(), Some(true), "{}", checked.title());
        if variant.expected == Expected::Unsound {
            let text = checked.explanation();
            assert!(text.contains("Acquire(l)") && text.contains("CAS(l.note_P1, 0, 1) = 0  [U"), "{text}");
        }
    }
}

/// An edited variant has to be another implementation, so an edit without any effect is an error.
#[test]
fn an_edit_that_changes_nothing_is_a_mistake() {
    let entry = entry_of(catalogue(), "bal");
    let bound = Bound { threads: 2, nodes: 2, calls: 1, ..Bound::default() };
    let said = |implementation| {
        let bounds = vec![bound.clone()];
        let variant = Variant { name: "no-wait", implementation, bounds, ..entry.variants[0].clone() };
        check(&entry, &variant, &bound, &CheckOptions::default()).err()
    };
    let published = bal::BalOverSv::default();
    assert_eq!(said(Arc::new(published.without(calls!(Shared::GF { .. })))), None);
    assert_eq!(
        said(Arc::new(published.without(calls!(Shared::Wait { .. } in Barrier::BAR { .. })))).unwrap().to_string(),
        "the variant no-wait of bal is nothing else than what it is made of: `without Shared::Wait { .. } in \
         Barrier::BAR { .. }` changes no body of a call within the bound; say what else is to be changed, or take a \
         larger bound"
    );
    // Parts depend on the world: on one node a word cannot lie on another one.
    let elsewhere = |world: &mut World| world.objects.retain(|x, _| world.nodes == 1 || !x.0.is_part());
    let variant = |bound: &Bound| Variant {
        implementation: Arc::new(published.declaring("no parts where there are two nodes", elsewhere)),
        bounds: vec![bound.clone()],
        ..entry.variants[0].clone()
    };
    let narrow = Bound { nodes: 1, ..bound.clone() };
    assert!(check(&entry, &variant(&bound), &narrow, &CheckOptions::default()).is_ok());
    assert!(check(&entry, &variant(&narrow), &narrow, &CheckOptions::default()).is_err());
}
