//! The catalogue: what it says of its worlds, its memory and its sequential objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use itertools::{Itertools, iproduct};
use mowgli_core::algebra::Spec;
use mowgli_core::event::{Call, Event, Shape};
use mowgli_core::expr::ret;
use mowgli_core::ids::{Loc, Name, Node, Tid, Wid};
use mowgli_core::library::{Hints, Libraries, Library};
use mowgli_core::search::denote::Unfolder;
use mowgli_core::soundness::client::{clients, worlds};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::{Implementation, Implementations};
use mowgli_core::term::method::{self, ArgumentKind, named_by};
use mowgli_core::term::script::Script;
use mowgli_core::term::shape::{Shapes, plus, shapes};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Memory, bound};
use mowgli_libraries::kvstore::{KVSTORE, KvstoreOverLoco, Method};
use mowgli_libraries::sc_rmw::{Method as Word, ScRmw};
use mowgli_libraries::sequential::{Linearised, objects};
use mowgli_libraries::sv::{SV, Sv};
use mowgli_libraries::x86;
use mowgli_rdma::RdmaStamp::aMF;

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
            let covered = entry.covered(bound, &|| false);
            assert_eq!(covered, Bound { words: covered.words, ..bound.clone() }, "{}", entry.name);
        });
        has_worlds_as_large(&entry, &Bound { homes: vec![1], objects: 4, ..bound(2, 2, 1) });
    }
    for entry in x86::catalogue() {
        entry.variants.iter().flat_map(|v| &v.bounds).for_each(|bound| {
            assert_eq!(entry.covered(bound, &|| false), Bound { words: 0, ..bound.clone() }, "{}", entry.name);
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

/// Returns the words of an object after a call with these arguments, and the result of the call, as a program would.
fn applied(method: &str, words: &[Val], args: &[Val]) -> Option<(Vec<Val>, Val)> {
    let mut after = words.to_vec();
    let result = match method {
        "Inc" => std::mem::replace(&mut after[0], words[0].plus(1)?),
        "Get" => words[0],
        "Enq" => {
            let free = after.iter_mut().find(|w| **w == Val::Bot);
            Val::Bool(free.map(|word| *word = args[0]).is_some())
        }
        "Deq" => {
            after.push(Val::Bot);
            after.remove(0)
        }
        _ => {
            let word = after.get_mut(usize::try_from(args[0].int()?).ok()?)?;
            let may = (*word == Val::Bot) == (method == "Insert");
            match method {
                "Lookup" => *word,
                "Delete" => Val::Bool(std::mem::replace(word, Val::Bot) != Val::Bot),
                _ if may => {
                    *word = args[1];
                    Val::Bool(true)
                }
                _ => Val::Bool(false),
            }
        }
    };
    Some((after, result))
}

/// Compares the cases of each object with a program, for all small states, arguments and results.
#[test]
fn cases_are_what_a_program_does() {
    let values = [Val::Bot, Val::Int(0), Val::Int(1), Val::Int(5), Val::Unit];
    let results = [Val::Bool(false), Val::Bool(true)].into_iter().chain(values).collect_vec();
    let all = |count: usize| match count {
        0 => vec![Vec::new()],
        _ => std::iter::repeat_n(values, count).multi_cartesian_product().collect(),
    };
    for object in objects() {
        let library: &dyn Hints = &Linearised::new(Arc::clone(&object));
        let methods = iproduct!(object.methods(), all(object.start().len()), &results);
        for (method, words, &ret) in methods {
            for rest in all(method.takes.len() - 1) {
                let args = [&[Val::Loc(Loc::new("x"))], &rest[..]].concat();
                let event = Event { thread: Tid(1), call: Call::new(library.name(), method.name, &args), ret };
                let expected = applied(method.name, &words, &rest).filter(|(_, result)| *result == ret);
                let found = library.step(&event, Val::tuple(&words));
                assert_eq!(found, expected.map(|(after, _)| Val::tuple(&after)), "{event} {words:?}");
            }
        }
    }
}

/// Shared words with a second text for each shape and each sum.
struct SaidTwice;

impl Library for SaidTwice {
    named_by!(Word);

    fn shape_terms(&self) -> Option<&Shapes> {
        ScRmw.shape_terms()
    }

    fn shapes_by_function(&self, _: &World, _: &Event) -> Vec<Shape> {
        Vec::new()
    }

    fn step_by_function(&self, _: &Event, _: Val) -> Option<Val> {
        Some(Val::Int(12345))
    }

    fn spec(&self) -> Spec {
        ScRmw.spec()
    }
}

impl Hints for SaidTwice {}

/// The search and the prover read one text, so a function beside it changes neither.
#[test]
fn a_term_alone_counts_where_a_function_says_otherwise() {
    let [both, plain]: [&dyn Hints; 2] = [&SaidTwice, &ScRmw];
    let (x, world) = (Loc::new("x"), World::new(1, &[Node(1)]));
    let event = Event { thread: Tid(1), call: Word::FAA { x, v: 2.into() }.into(), ret: 1.into() };
    assert_eq!(both.shapes(&world, &event), plain.shapes(&world, &event));
    assert_eq!(both.step(&event, 1.into()), Some(3.into()));
    assert_eq!(both.step(&event, Val::Bot), Some(Val::Top), "a sum of what is no number is undefined");
}

#[test]
fn each_branch_of_a_shape_has_its_own_sum() {
    let shapes = shapes! { Word else (ScRmw.shape_terms().expect("its shapes are terms")):
        FAA { x, v } => { if (v.is(7)) { aMF: updates x, ret() => plus(2) } else { aMF: updates x, ret() => plus(1) } }
    };
    let of = |v: i64| {
        let event = Event { thread: Tid(1), call: Word::FAA { x: Loc::new("x"), v: v.into() }.into(), ret: 0.into() };
        shapes.step(&event).expect("it is a sum")(0.into())
    };
    assert_eq!([of(7), of(8)], [Some(2.into()), Some(1.into())]);
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
        let lookup = Script::from(Method::lookup(x, 0));
        let unfolding = unfolder.unfold(Tid(1), &lookup, &|_| vec![entry]);
        let fault = unfolding.ill_defined.expect("the slot is not declared");
        assert!(fault.to_string().contains("TryRead"), "{fault}");
    }
}

/// The values of an argument of this name that a bound stands for, written anew for each kind of library.
fn values(entry: &Entry, world: &World, object: Option<Loc>, name: &str, bound: &Bound) -> Vec<Val> {
    let library = entry.library().expect("it is there");
    let size = object.map_or(0, |x| world.objects[&x].size);
    let all = || bound.values.iter().map(|&v| Val::Int(v)).collect_vec();
    let tuples =
        |words| std::iter::repeat_n(all(), words).multi_cartesian_product().map(|t| Val::tuple(&t)).collect_vec();
    match (entry.name, name) {
        (_, "v1") => [vec![library.init(world, object.expect("a word").on(Node(1)))], all()].concat(),
        ("kvstore", "key") => (0..size as i64).map(Val::Int).collect(),
        ("table", "key") => (0..size).map(|k| Val::Int((k * size) as i64)).collect(),
        (_, "key") => vec![Val::Int(0)],
        ("msw", "values") => tuples(size),
        ("table", "value") => tuples(1),
        (_, "message") => (2..=bound.words).flat_map(tuples).chain(all()).collect(),
        _ => all(),
    }
}

/// The calls of a method table that a thread can make in a world: no fault, and a result with a shape.
fn table_calls(entry: &Entry, world: &World, thread: Tid, bound: &Bound) -> BTreeSet<Call> {
    let library = entry.library().expect("it is there");
    let objects = || world.locations(library.name()).into_iter().map(Val::from).collect_vec();
    let arguments = |(name, kind): &(&str, ArgumentKind), args: &[Val]| match kind {
        ArgumentKind::Local | ArgumentKind::Address | ArgumentKind::Placed | ArgumentKind::Object => objects(),
        ArgumentKind::Node => world.all_nodes().iter().map(Val::from).collect(),
        ArgumentKind::Nodes => world.all_nodes().subsets().map(Val::from).collect(),
        ArgumentKind::Thread => world.tids().map(Val::from).collect(),
        ArgumentKind::Id => vec![Val::Wid(Wid(Name::literal("d")))],
        ArgumentKind::Value => values(entry, world, args.first().and_then(|x| x.loc()), name, bound),
        ArgumentKind::Way | ArgumentKind::Locals | ArgumentKind::Places => Vec::new(),
    };
    let of_method = |method: &method::Method| {
        let all = method.takes.iter().fold(vec![Vec::new()], |all: Vec<Vec<Val>>, argument| {
            all.iter()
                .flat_map(|args| arguments(argument, args).into_iter().map(|v| [&args[..], &[v]].concat()))
                .collect()
        });
        all.into_iter().map(|args| Call::new(library.name(), method.name, &args)).collect_vec()
    };
    let cells = |cell| values(entry, world, None, "", bound).into_iter().chain([library.init(world, cell)]).collect();
    let happens = |call: &Call| {
        let mut results = library.returns(world, &[], thread, call, &cells).into_iter();
        results.any(|ret| !library.shapes(world, &Event { thread, call: call.clone(), ret }).is_empty())
    };
    // Nobody waits for a message of a node without threads.
    let is_alone = world.threads.iter().all_equal();
    let all = library.methods().iter().filter(|m| !(is_alone && m.name.ends_with("Serve"))).flat_map(of_method);
    all.filter(|call| library.fault(world, thread, call).is_none() && happens(call)).collect()
}

/// The number of clients with these calls of each thread. A thread that takes part in an object may have none.
fn naive_count(world: &World, calls: &[BTreeSet<Call>], most: usize) -> usize {
    let is_member = |t: Tid| world.objects.values().any(|o| o.members.contains(&t));
    let of_thread = |(t, calls): (Tid, &BTreeSet<Call>)| -> usize {
        (usize::from(!is_member(t))..=most).map(|n| calls.len().pow(n as u32)).sum()
    };
    let all: usize = world.tids().zip(calls).map(of_thread).product();
    // One client would have no calls at all.
    all - usize::from(world.tids().all(is_member))
}

#[test]
fn clients_of_a_bound_make_every_call_of_the_method_table() {
    let two_values = Bound { values: vec![1, 2], ..bound(2, 2, 2) };
    let longer = Bound { words: 3, calls: 1, ..two_values.clone() };
    let (all, x86) = (catalogue(), x86::catalogue());
    let asked = all.iter().chain(&x86).map(|entry| (entry, &two_values));
    let of_messages = all.iter().filter(|entry| entry.name.starts_with("rbl")).map(|entry| (entry, &longer));
    for (entry, bound) in asked.chain(of_messages) {
        let mut counts = BTreeMap::new();
        for (world, _) in clients(&*entry.subject, bound, &|| false).expect("they are few") {
            counts.entry(format!("{world:?}")).or_insert((world, 0)).1 += 1;
        }
        assert!(!counts.is_empty(), "{}", entry.name);
        for (world, count) in counts.values() {
            let naive = world.tids().map(|t| table_calls(entry, world, t, bound)).collect_vec();
            for (t, naive) in world.tids().zip(&naive) {
                let made = entry.subject.calls(world, t, bound, &|| false);
                assert_eq!(&made.iter().cloned().collect::<BTreeSet<_>>(), naive, "{} {world:?}", entry.name);
            }
            assert_eq!(*count, naive_count(world, &naive, bound.calls), "{} {world:?}", entry.name);
        }
    }
}

/// The objects of clients have every size of the bound, in all combinations, where they have one. The printed bound
/// has no part on which no client depends.
#[test]
fn clients_of_a_bound_have_objects_of_every_size() {
    let bound = Bound {
        objects: 2,
        values: vec![1],
        words: 2,
        sizes: vec![1, 3],
        homes: vec![1],
        members: Some(1),
        ..bound(2, 2, 1)
    };
    for entry in &catalogue() {
        let name = entry.library().expect("it is there").name();
        let covered = bound.covered(&*entry.subject, name, &|| false);
        let empty = World::new(covered.nodes, &(0..covered.threads).map(|t| Node(1 + t as u8)).collect_vec());
        let worlds = entry.subject.worlds(&empty, &bound, &|| false);
        let sizes = |world: &World| world.objects_of(name).into_iter().map(|(_, object)| object.size).collect_vec();
        let found: BTreeSet<Vec<usize>> = worlds.iter().map(sizes).collect();
        let all = (1..=2).flat_map(|n| std::iter::repeat_n([1, 3], n).multi_cartesian_product());
        assert_eq!(found == all.collect(), !covered.sizes.is_empty(), "{}: {found:?}", entry.name);
        assert_eq!(
            covered.sizes.is_empty(),
            !["rbl", "rbl-weak", "msw", "table", "kvstore"].contains(&entry.name),
            "{}",
            entry.name
        );
        assert_eq!(covered.words > 0, entry.name.starts_with("rbl"), "{}", entry.name);
    }
}
