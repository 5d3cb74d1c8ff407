//! The catalogue: what it says of its worlds, its memory and its sequential objects.

use std::sync::Arc;

use itertools::{Itertools, iproduct};
use mowgli_core::denote::Unfolder;
use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, Scope};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::implementation::{Implementation, Implementations};
use mowgli_core::library::Libraries;
use mowgli_core::program::Prog;
use mowgli_core::soundness::client::{Bound, worlds};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Memory, bound};
use mowgli_libraries::kvstore::{KVSTORE, KvstoreOverLoco, Method};
use mowgli_libraries::sequential::objects;
use mowgli_libraries::sv::{SV, Sv};
use mowgli_libraries::x86;

/// Compares the largest worlds of an entry with the numbers of a bound, as a verdict prints it.
fn has_worlds_as_large(entry: &Entry, bound: &Bound) {
    let printed = entry.covered(bound, &|| false);
    let all = worlds(&*entry.subject, bound, &|| false).expect("there is no deadline");
    let most = |of: &dyn Fn(&World) -> usize| all.iter().map(of).max().unwrap_or(0);
    let largest = (
        most(&|world| world.threads.len()),
        most(&|world| usize::from(world.nodes)),
        most(&|world| world.locations(Name::literal(entry.name)).len()),
    );
    assert_eq!(largest, (printed.threads, usize::from(printed.nodes), printed.objects), "{} {bound:?}", entry.name);
    assert_eq!(bound.objects, printed.objects, "{} {bound:?}", entry.name);
}

#[test]
fn the_largest_worlds_have_what_is_printed() {
    for entry in catalogue() {
        entry.variants.iter().flat_map(|v| &v.bounds).unique_by(|b| format!("{b:?}")).for_each(|bound| {
            has_worlds_as_large(&entry, bound);
            assert_eq!(entry.covered(bound, &|| false), *bound, "{}", entry.name);
        });
        has_worlds_as_large(&entry, &Bound { homes: vec![1], objects: 4, ..bound(2, 2, 1) });
    }
    for entry in x86::catalogue() {
        entry.variants.iter().flat_map(|v| &v.bounds).for_each(|bound| {
            assert_eq!(entry.covered(bound, &|| false), *bound, "{}", entry.name);
        });
        has_worlds_as_large(&entry, &Bound { objects: 7, ..bound(2, 2, 1) });
        assert_eq!(entry.covered(&bound(2, 2, 1), &|| false).nodes, 1, "there is one machine");
    }
}

/// `mowgli worth` changes specifications, with crashes too.
#[test]
fn what_was_changed_in_a_specification_stays_so_where_threads_crash() {
    let memory = Memory::rdma_wait();
    let changed = Libraries::over(mowgli_rdma::to).with(Sv).respecified(SV, |spec| spec.so.clear());
    let crashing = memory.crashing.expect("threads crash in it").of(&changed);
    assert!(crashing.spec(SV).expect("it is there").so.is_empty());
}

/// Checks that the cases of an object agree with its `apply`, for all small states and arguments.
#[test]
fn cases_are_what_apply_does() {
    let values = [Val::Bot, Val::Int(0), Val::Int(1), Val::Int(5), Val::Unit];
    let all = |count: usize| std::iter::repeat_n(values, count).multi_cartesian_product();
    let nowhere = World::new(1, &[Node(1)]);
    for object in objects() {
        for (method, words) in iproduct!(object.methods(), all(object.start().len())) {
            let of_arguments =
                if method.takes.len() == 1 { vec![Vec::new()] } else { all(method.takes.len() - 1).collect() };
            for rest in of_arguments {
                let args = [&[Val::Loc(Loc::new("x"))], &rest[..]].concat();
                let expected = object.apply(&words, &Call::new(Name::literal(object.name()), method.name, &args));
                let terms = |values: &[Val]| values.iter().map(|v| Expr::from(*v)).collect::<Vec<_>>();
                let cases = object.cases(method.name, &terms(&words), &terms(&args)).unwrap();
                let scope = Scope::new(&nowhere, Tid(1), &args);
                let found = cases.iter().find(|case| scope.decide(case.when)).map(|case| {
                    let mut after = words.clone();
                    case.words.iter().for_each(|(k, v)| after[*k] = v.eval(&scope));
                    (after, case.result.eval(&scope))
                });
                assert_eq!(found, expected, "{} {} {words:?} {args:?}", object.name(), method.name);
            }
        }
    }
}

/// A mutant may add 1 to the owner in an entry of the index. The implementation then makes a call with a fault.
#[test]
fn a_slot_of_no_thread_is_a_word_that_is_not_declared() {
    let all = catalogue();
    let kvstore = all.iter().find(|entry| entry.name == "kvstore").expect("it is there");
    let (x, mut world) = (Loc::new("m"), World::new(1, &[Node(1)]));
    world.objects.insert(x, Object::new(KVSTORE).init(Val::tuple(&[Val::Bot])));
    KvstoreOverLoco.declare(&mut world);
    let implementations = Implementations::from([(KVSTORE, Arc::new(KvstoreOverLoco) as Arc<dyn Implementation>)]);
    let (libraries, expired) = (&kvstore.below, &|| false);
    let unfolder =
        Unfolder { libraries, implementations: &implementations, world: &world, rounds: 1, limit: 100, expired };
    for owner in [0, 2] {
        let entry = Val::tuple(&[owner, 0, 1].map(Val::Int));
        let lookup = Prog::call(Method::Lookup { x, key: 0.into() }.into());
        let unfolding = unfolder.unfold(Tid(1), &lookup, &|_| vec![entry]);
        let fault = unfolding.ill_defined.expect("the slot is not declared");
        assert!(fault.contains("TryRead"), "{fault}");
    }
}
