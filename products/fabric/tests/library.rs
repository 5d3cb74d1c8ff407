//! A program with a library of its own, written as `mowgli new` writes one, and used through `Group::library`.

use mowgli_fabric::{Fabric, Fault, Group, Thread, Word};
use mowgli_libraries::prelude::*;

methods! {
    enum Method of GATE = "gate" {
        /// Opens the gate. A thread that then finds it open sees all earlier writes.
        fn open = Open(x: Object);
        /// 1 if it is open.
        fn look = Look(x: Object) -> Value, looks;
    }
}

fn shapes() -> &'static Shapes {
    shapes! { Method:
        Open { x } => { for n in (all_nodes()) { aGF(n): writes x at n, 1 } }
        Look { x } => { aCR: reads x at here, ret() }
    }
}

fn spec() -> Spec {
    spec! {
        let rf = reads_from(reads, writes);
        let seen = same_event; rf;
        say seen = "{b} saw the gate that {a} opened";
        so = seen;
    }
}

fn bodies() -> Bodies {
    let opened = |x: Expr| x.part("opened", []);
    bodies! { Method:
        Open { x } => {
            Shared::gf(all_nodes());
            Shared::write(opened(x), 1);
            Shared::bcast(opened(x), Val::NoWid, all_nodes().without(here()))
        }
        Look { x } => { Shared::read(opened(x)) }
    }
}

/// The library, with or without its fence under the same name.
pub fn entry(has_fence: bool) -> Entry {
    let gate = Over::<Method>::terms(bodies()).part("opened", sv::variable());
    let no_fence = gate.clone().without(calls!(Shared::GF { .. }));
    if !has_fence {
        return Entry::rdma(Simple::<Method>::new(shapes(), spec), Sv).published(no_fence, &[(2, 2, 2)]);
    }
    Entry::rdma(Simple::<Method>::new(shapes(), spec), Sv).published(gate, &[(2, 2, 2)]).broken("no-fence", no_fence)
}

/// Makes a gate.
pub fn gate(group: &mut Group) -> Loc {
    group.object("g", Object::new(GATE))
}

/// Returns the value that the second thread gets from a word of node 3, after it has seen the gate open. The first
/// thread has put the value there before it opened the gate.
fn found(variant: &str, fabric: Fabric) -> Result<i64, Fault> {
    let mut group = Group::new(&[1, 2, 3]).library(entry(true)).variant("gate", variant);
    let gate = gate(&mut group);
    let (word, own, got) = (group.word("w", 3, 0), group.word("own", 1, 7), group.word("got", 2, 0));
    let seen = group.run(fabric, |thread| act(thread, gate, [word, own, got]))?;
    Ok(seen[1])
}

fn act(thread: &mut Thread<'_>, gate: Loc, [word, own, got]: [Word; 3]) -> Result<i64, Fault> {
    match thread.id().index() {
        0 => {
            word.put(thread, own)?.wait(thread)?;
            thread.call(&Method::Open { x: gate }.into())?;
            Ok(0)
        }
        1 => {
            let is_open = |v: Val| (v == Val::Int(1)).then_some(());
            thread.until(|thread| Ok(is_open(thread.call(&Method::Look { x: gate }.into())?)))?;
            word.get(thread, got)?.wait(thread)?;
            got.read(thread)
        }
        _ => Ok(0),
    }
}

#[test]
fn a_library_of_ones_own_runs_and_its_broken_variant_is_seen() {
    for fabric in [Fabric::Local].into_iter().chain((0..40).map(|seed| Fabric::Machine { seed })) {
        assert_eq!(found("published", fabric), Ok(7), "{fabric:?}");
    }
    assert!((0..300).any(|seed| found("no-fence", Fabric::Machine { seed }) == Ok(0)));
}
