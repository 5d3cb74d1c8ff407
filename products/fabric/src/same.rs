//! Tests that a call of an object performs the operations of the default variant's body, one by one. Emitted code performs the
//! calls of most objects, so this also compares the code with the interpreted body.

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid};
use mowgli_core::value::Val;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::table::{Method as Table, table as object};

use crate::compiled::{HASHED, Me};
use crate::emitted::mowgli_port::{self, Id, List, Word};
use crate::emitted::objects::table;
use crate::group::Group;
use crate::local::LocalMemory;
use crate::objects::Map;
use crate::port::{Fault, Port, RemoteFabric};
use crate::stack::Stack;
use crate::thread::Thread;

/// An operation: its name, its words by number, and its values.
type Noted = (&'static str, Vec<usize>, Vec<i64>);

/// A port that records operations.
struct NotingPort<'a> {
    port: Box<dyn Port + 'a>,
    noted: Arc<Mutex<Vec<Noted>>>,
    /// The identifiers, in the order of their first use. Emitted code has other numbers for them than the interpreter.
    ids: Vec<Id>,
}

impl NotingPort<'_> {
    fn note(&mut self, name: &'static str, words: &[Word], values: &[i64]) {
        let words = words.iter().map(|x| x.at).collect();
        self.noted.lock().unwrap().push((name, words, values.to_vec()));
    }

    /// Returns the position of an identifier among those in use; -1 for none.
    fn id(&mut self, d: Id) -> i64 {
        if d == 0 {
            return -1;
        }
        if !self.ids.contains(&d) {
            self.ids.push(d);
        }
        self.ids.iter().position(|other| *other == d).unwrap() as i64
    }
}

/// Records an operation, and makes it.
macro_rules! noting {
    ($($name:ident($($x:ident: Word),*; $($v:ident: i64),*; $($d:ident)?) -> $of:ty;)*) => {
        $(fn $name(&mut self, $($x: Word,)* $($v: i64,)* $($d: Id)?) -> Result<$of, Fault> {
            let id: &[i64] = &[$(self.id($d))?];
            self.note(stringify!($name), &[$($x),*], &[&[$($v),*], id].concat());
            self.port.$name($($x,)* $($v,)* $($d)?)
        })*
    };
}

impl mowgli_port::Port for NotingPort<'_> {
    type Fault = Fault;

    noting! {
        read(x: Word; ; ) -> i64;
        write(x: Word; v: i64; ) -> ();
        cas(x: Word; old: i64, new: i64; ) -> i64;
        xchg(x: Word; v: i64; ) -> i64;
        faa(x: Word; v: i64; ) -> i64;
        mfence(; ; ) -> ();
        get(to: Word, from: Word; ; d) -> ();
        put(to: Word, from: Word; ; d) -> ();
        rcas(to: Word, on: Word; old: i64, new: i64; d) -> ();
        rfaa(to: Word, on: Word; v: i64; d) -> ();
        wait(; ; d) -> ();
        rfence(; n: i64; ) -> ();
    }
}

impl Port for NotingPort<'_> {
    noting! {
        rxchg(to: Word, on: Word; v: i64; d) -> ();
        poll(; n: i64; ) -> ();
    }
}

/// Returns the operations that the first thread performs, on new words.
fn operations(group: &Group, act: impl FnOnce(&mut Thread<'_>) -> Result<(), Fault>) -> Vec<Noted> {
    beside(group, act, |_| Ok(()))
}

/// Returns the operations that the first thread performs while the second one does something, too. Rounds of a loop that waits count once.
fn beside(
    group: &Group,
    act: impl FnOnce(&mut Thread<'_>) -> Result<(), Fault>,
    other: impl FnOnce(&mut Thread<'_>) -> Result<(), Fault> + Send,
) -> Vec<Noted> {
    noting(group, &Arc::default(), act, other)
}

/// Does the same, and records the operations as they are made.
fn noting(
    group: &Group,
    noted: &Arc<Mutex<Vec<Noted>>>,
    act: impl FnOnce(&mut Thread<'_>) -> Result<(), Fault>,
    other: impl FnOnce(&mut Thread<'_>) -> Result<(), Fault> + Send,
) -> Vec<Noted> {
    let stack = group.stack([0; 2]).unwrap();
    let local = LocalMemory::new(stack.memory());
    let [thread, second] = [0, 1].map(Tid::from_index);
    let port = NotingPort { port: local.port(thread), noted: Arc::clone(noted), ids: Vec::new() };
    let within = Duration::from_secs(5);
    std::thread::scope(|scope| {
        scope.spawn(|| other(&mut Thread::new(&stack, second, local.port(second), within)).unwrap());
        act(&mut Thread::new(&stack, thread, Box::new(port), within)).unwrap();
    });
    let mut made: Vec<Noted> = Vec::new();
    for next in noted.lock().unwrap().drain(..) {
        made.push(next);
        let is_round = |length: &usize| {
            let (before, round) = made[made.len() - 2 * length..].split_at(*length);
            before == round && round.iter().all(|(name, ..)| *name == "read")
        };
        if let Some(length) = (1..=made.len() / 2).take(4).find(is_round) {
            made.truncate(made.len() - length);
        }
    }
    made
}

/// Returns the operations of these calls, made by the bodies of the default variants. The second thread does something, too.
fn by_default(
    group: &Group,
    calls: &[(&'static str, &'static str, Vec<Val>)],
    other: impl FnOnce(&mut Thread<'_>) -> Result<(), Fault> + Send,
) -> Vec<Noted> {
    let stack = Stack::new(&catalogue(), (*group.stack([0; 2]).unwrap().world).clone(), [], &BTreeMap::new()).unwrap();
    let act = |thread: &mut Thread<'_>| {
        calls.iter().try_for_each(|(library, method, args)| {
            let call = Call::new(Name::literal(library), method, args);
            let implementation = &stack.implementations[&call.library];
            thread.run(&implementation.program(&stack.world, thread.id(), &call)).map(|_| ())
        })
    };
    beside(group, act, other)
}

#[test]
fn what_an_object_does_is_the_body_of_the_default_variant() {
    let mut group = Group::new(&[1, 2]);
    let (weak, strong) = (group.weak_lock("weak", 1), group.strong_lock("strong", 2));
    let (node, atomic) = (group.node_lock("node", 2), group.atomic("atomic", 2));
    let (barrier, variable) = (group.barrier("barrier", &[0, 1]), group.shared_var("variable"));
    let (put_barrier, attempts) = (group.put_barrier("put-barrier", &[0, 1]), group.try_lock("attempts", 2));
    let x = |name: &str| Val::from(Loc::new(name));
    let (int, others) = (Val::Int, Val::Nodes([Node(2)].into_iter().collect::<NodeSet>()));
    let same = |act: &dyn Fn(&mut Thread<'_>) -> Result<(), Fault>,
                calls: &[(&'static str, &'static str, Vec<Val>)]| {
        let made = operations(&group, act);
        assert!(!made.is_empty(), "{calls:?}");
        assert_eq!(made, by_default(&group, calls, |_| Ok(())), "{calls:?}");
    };
    let section = |library, name| [(library, "Acq", vec![x(name)]), (library, "Rel", vec![x(name)])];
    same(&|thread| weak.lock(thread)?.release(), &section("wlock", "weak"));
    same(&|thread| strong.lock(thread)?.release(), &section("slock", "strong"));
    same(&|thread| node.lock(thread)?.release(), &section("nlock", "node"));
    same(&|thread| node.lock(thread).map(drop), &section("nlock", "node"));
    same(&|thread| attempts.lock(thread)?.release(), &section("trylock", "attempts"));
    let attempt = [("trylock", "TryAcq", vec![x("attempts")]), ("trylock", "Rel", vec![x("attempts")])];
    same(&|thread| attempts.try_lock(thread)?.expect("it is free").release(), &attempt);
    let in_vain = |thread: &mut Thread<'_>| {
        std::mem::forget(attempts.lock(thread)?);
        assert!(attempts.try_lock(thread)?.is_none());
        Ok(())
    };
    same(&in_vain, &["Acq", "TryAcq"].map(|method| ("trylock", method, vec![x("attempts")])));
    let both = |act: &(dyn Fn(&mut Thread<'_>) -> Result<(), Fault> + Sync), call| {
        let made = beside(&group, act, act);
        assert!(made.iter().any(|(name, ..)| *name == "put"), "{made:?}");
        assert_eq!(made, by_default(&group, &[call], act));
    };
    both(&|thread| barrier.wait(thread), ("bal", "BAR", vec![x("barrier")]));
    both(&|thread| put_barrier.wait(thread), ("bal-puts", "BAR", vec![x("put-barrier")]));
    same(&|thread| variable.write(thread, 3), &[("sv", "Write", vec![x("variable"), int(3)])]);
    same(&|thread| variable.read(thread).map(drop), &[("sv", "Read", vec![x("variable")])]);
    same(&|thread| variable.broadcast(thread), &[("sv", "Bcast", vec![x("variable"), Val::NoWid, others])]);
    same(&|thread| variable.fence(thread), &[("sv", "GF", vec![others])]);
    same(&|thread| atomic.load(thread).map(drop), &[("sc-rmw", "Read", vec![x("atomic")])]);
    same(&|thread| atomic.store(thread, 5), &[("sc-rmw", "Write", vec![x("atomic"), int(5)])]);
    same(&|thread| atomic.fetch_add(thread, 5).map(drop), &[("sc-rmw", "FAA", vec![x("atomic"), int(5)])]);
    let cas = ("sc-rmw", "CAS", vec![x("atomic"), int(0), int(5)]);
    same(&|thread| atomic.compare_and_swap(thread, 0, 5).map(drop), &[cas]);
}

/// Returns the names of operations, and the words of each, counted in the order of their first use.
fn outline(made: &[Noted]) -> Vec<(&'static str, Vec<usize>)> {
    let mut known = Vec::new();
    let mut numbered = |x: &usize| {
        known.iter().position(|other| other == x).unwrap_or_else(|| {
            known.push(*x);
            known.len() - 1
        })
    };
    made.iter().map(|(name, words, _)| (*name, words.iter().map(&mut numbered).collect())).collect()
}

/// Compares calls by emitted code with interpreted ones, for objects whose words hold other values then. Returns how many operations the
/// calls make.
fn alike<X: Copy + Send + Sync>(
    nodes: &[u8],
    add: impl Fn(&mut Group) -> X,
    act: impl Fn(X, &mut Thread<'_>) -> Result<(), Fault>,
) -> usize {
    alike_beside(nodes, add, act, |_, _, _| Ok(()))
}

/// Does the same while the second thread does something, too. That one sees the operations of the first.
fn alike_beside<X: Copy + Send + Sync>(
    nodes: &[u8],
    add: impl Fn(&mut Group) -> X,
    act: impl Fn(X, &mut Thread<'_>) -> Result<(), Fault>,
    other: impl Fn(X, &mut Thread<'_>, &Mutex<Vec<Noted>>) -> Result<(), Fault> + Sync,
) -> usize {
    let made = [false, true].map(|interpreted| {
        let mut group = Group::new(nodes);
        let objects = add(&mut group);
        let group = if interpreted { group.interpreted().variant("rbl", HASHED) } else { group };
        let noted = Arc::default();
        outline(&noting(&group, &noted, |thread| act(objects, thread), |thread| other(objects, thread, &noted)))
    });
    assert_eq!(made[0], made[1]);
    made[0].len()
}

#[test]
fn words_that_are_read_together_and_maps_do_as_their_bodies() {
    let words = |group: &mut Group| [("own", 1), ("far", 2)].map(|(name, node)| group.words(name, node, 2));
    let copied = alike(&[1, 2], words, |[own, far], thread| {
        own.write(thread, &[1, 2])?;
        assert_eq!(own.try_read(thread)?, Some(vec![1, 2]));
        far.put(thread, own)?.wait(thread)?;
        far.get(thread, own)?.wait(thread)
    });
    assert_eq!(copied, 3 + 3 + 2 * 4);
    // With two nodes an insertion waits for the other one.
    let map = |group: &mut Group| group.map("map", 2);
    let found_nothing = alike(&[1, 2], map, |map, thread| {
        assert_eq!((map.get(thread, 1)?, map.update(thread, 0, 3)?, map.remove(thread, 1)?), (None, false, false));
        Ok(())
    });
    let changed = alike(&[1], map, |map, thread| {
        assert_eq!((map.insert(thread, 1, 5)?, map.insert(thread, 1, 6)?, map.get(thread, 1)?), (true, false, Some(5)));
        assert_eq!((map.update(thread, 1, 7)?, map.get(thread, 1)?), (true, Some(7)));
        assert_eq!((map.remove(thread, 1)?, map.get(thread, 1)?, map.insert(thread, 1, 8)?), (true, None, true));
        Ok(())
    });
    assert!(found_nothing > 10 && changed > 50, "{found_nothing} {changed}");
}

/// The part of a thread in a step with a map.
type MapPart = fn(Map, &mut Thread<'_>) -> Result<(), Fault>;

/// Each step in which a thread of another node takes part. A thread that serves finds nothing at first.
#[test]
fn a_map_of_two_nodes_does_as_its_body() {
    let insert: MapPart = |map, thread| map.insert(thread, 1, 5).map(|is_new| assert!(is_new));
    let remove: MapPart = |map, thread| map.remove(thread, 1).map(|was| assert!(was));
    let serve: MapPart = |map, thread| map.serve(thread);
    let try_serve: MapPart = |map, thread| thread.until(|thread| Ok(map.try_serve(thread)?.then_some(())));
    let change: MapPart = |map, thread| {
        assert_eq!((map.get(thread, 1)?, map.update(thread, 1, 6)?, map.get(thread, 1)?), (Some(5), true, Some(6)));
        Ok(())
    };
    // True if the first thread serves.
    let changes = (false, [change, |_, _| Ok(())]);
    let (inserts, removes) = ((false, [insert, serve]), (false, [remove, serve]));
    let serves = |call: MapPart| (true, [serve, call]);
    for steps in [
        [inserts, changes, removes],
        [serves(insert), changes, removes],
        [serves(insert), changes, serves(remove)],
        [(true, [try_serve, insert]), changes, (true, [try_serve, remove])],
    ] {
        let both = Barrier::new(2);
        let act = |map, thread: &mut Thread<'_>| {
            steps.iter().try_for_each(|(_, [own, _])| own(map, thread).map(|()| _ = both.wait()))
        };
        let others = |map, thread: &mut Thread<'_>, noted: &Mutex<Vec<Noted>>| {
            let made = || noted.lock().unwrap().len();
            steps.iter().try_for_each(|(serves, [_, other])| {
                let before = made();
                while *serves && made() < before + 10 {
                    std::thread::yield_now();
                }
                other(map, thread).map(|()| _ = both.wait())
            })
        };
        let made = alike_beside(&[1, 2], |group| group.map("map", 2), act, others);
        assert!(made > 50, "{made}");
    }
}

/// Makes calls of two keys that have the same first bucket, and checks their results.
fn use_table(x: Loc, thread: &mut Thread<'_>) -> Result<(), Fault> {
    let mut insert = |key: i64, v: i64| {
        let call = || Table::Insert { x, key: key.into(), value: Val::tuple(&[v.into()]) }.into();
        thread.make(x, |me, x: &table::Object| table::insert(me, x, key, &List::of(&[v])), call)
    };
    assert_eq!((insert(1, 5)?, insert(4, 6)?, insert(1, 7)?), (true, true, false));
    let update = || Table::Update { x, key: 4.into(), value: Val::tuple(&[8.into()]) }.into();
    assert_eq!(thread.make(x, |me, x: &table::Object| table::update(me, x, 4, &List::of(&[8])), update), Ok(true));
    let absent = || Table::Update { x, key: 7.into(), value: Val::tuple(&[8.into()]) }.into();
    assert_eq!(thread.make(x, |me, x: &table::Object| table::update(me, x, 7, &List::of(&[8])), absent), Ok(false));
    let found = |thread: &mut Thread<'_>, key: i64| {
        let code = |me: &mut Me<'_>, x: &table::Object| {
            let words = table::lookup(me, x, key)?;
            Ok((!words.is_bot()).then_some(words))
        };
        let words: Option<List> = thread.make(x, code, || Table::Lookup { x, key: key.into() }.into())?;
        Ok::<_, Fault>(words.map(|words| words.as_slice().to_vec()))
    };
    assert_eq!((found(thread, 1)?, found(thread, 4)?, found(thread, 7)?), (Some(vec![5]), Some(vec![8]), None));
    // The first removal leaves a mark, and the second one takes it away.
    for (key, result) in [(1, true), (1, false), (4, true)] {
        let call = || Table::Delete { x, key: key.into() }.into();
        assert_eq!(thread.make(x, |me, x: &table::Object| table::delete(me, x, key), call), Ok(result));
    }
    assert_eq!((found(thread, 1)?, found(thread, 4)?), (None, None));
    Ok(())
}

#[test]
fn a_table_does_as_its_body_on_each_node() {
    let table_on = |node: u8| move |group: &mut Group| group.object("t", object(Node(node), 3, 1));
    let [own, far] = [1, 2].map(|node| alike(&[1, 2], table_on(node), use_table));
    assert!(own > 100 && far > own, "{own} {far}");
}

/// The body of a ring writes another hash, at the same place.
#[test]
fn a_ring_of_emitted_code_does_what_its_body_does() {
    let mut group = Group::new(&[1, 2]);
    let ring = group.ring("ring", 0, &[1], 7);
    let emitted = operations(&group, |thread| ring.submit_words(thread, &[7, 8]).map(drop));
    let group = group.variant("rbl", HASHED);
    let message = Val::tuple(&[7, 8].map(Val::Int));
    let interpreted = operations(&group, |thread| {
        thread.call(&Call::new(Name::literal("rbl"), "Submit", &[Loc::new("ring").into(), message])).map(drop)
    });
    let but_hash =
        |made: &[Noted]| made.iter().map(|(name, words, v)| (*name, words.len(), v.len())).collect::<Vec<_>>();
    assert_eq!(but_hash(&emitted), but_hash(&interpreted));
    let differing = emitted.iter().zip(&interpreted).filter(|(one, other)| one.2 != other.2).count();
    assert_eq!(differing, 1, "{emitted:?}\n{interpreted:?}");
}

/// A thread that writes a ring and reads it, too.
#[test]
fn a_writer_that_reads_its_own_ring_does_what_its_body_does() {
    let ring = |group: &mut Group| group.ring("ring", 0, &[0, 1], 7);
    let made = alike(&[1, 2], ring, |ring, thread| {
        assert!(ring.submit_words(thread, &[7, 8])?);
        assert_eq!(ring.receive_words(thread)?, Some(vec![7, 8]));
        Ok(())
    });
    assert!(made > 15, "{made}");
}

/// Returns the operations of a reader of two rings. It receives messages, and finds none, or one that has not arrived as a whole.
fn received(interpreted: bool) -> Vec<Noted> {
    let mut group = Group::new(&[1, 2]);
    let [long, short] = [("long", 64), ("short", 7)].map(|(name, size)| group.ring(name, 1, &[0], size));
    let group = if interpreted { group.variant("rbl", HASHED) } else { group };
    let stack = group.stack([0; 2]).unwrap();
    let (local, noted) = (LocalMemory::new(stack.memory()), Arc::<Mutex<Vec<Noted>>>::default());
    let (ids, within) = ([0, 1].map(Tid::from_index), Duration::from_secs(5));
    let sent = Arc::<Mutex<Vec<Noted>>>::default();
    let port = |t: Tid, noted: &Arc<_>| {
        Box::new(NotingPort { port: local.port(t), noted: Arc::clone(noted), ids: Vec::new() })
    };
    let mut reader = Thread::new(&stack, ids[0], port(ids[0], &noted), within);
    let mut writer = Thread::new(&stack, ids[1], port(ids[1], &sent), within);
    for ring in [short, long, long] {
        assert_eq!(ring.receive_words(&mut reader), Ok(None));
        assert_eq!(ring.submit_words(&mut writer, &[7, 8]), Ok(true));
        assert_eq!(ring.receive_words(&mut reader), Ok(Some(vec![7, 8])));
    }
    // The hash of a third message has not arrived, and the reader has not reported the second one.
    sent.lock().unwrap().clear();
    assert_eq!(long.submit_words(&mut writer, &[7, 8]), Ok(true));
    let hash = sent.lock().unwrap().iter().filter(|(name, ..)| *name == "put").nth(1).unwrap().1[0];
    local.port(ids[0]).write(Word { node: 1, at: hash }, 1).unwrap();
    assert_eq!(long.receive_words(&mut reader), Ok(None));
    noted.lock().unwrap().clone()
}

#[test]
fn a_reader_of_emitted_code_does_what_its_body_does() {
    let [emitted, interpreted] = [false, true].map(received);
    assert_eq!(outline(&emitted), outline(&interpreted));
}

/// Checks that another body leads to other operations, so that the test above can fail.
#[test]
fn a_variant_does_something_else() {
    let mut group = Group::new(&[1, 2]).variant("nlock", "no-rfence");
    let node = group.node_lock("node", 2);
    let section = ["Acq", "Rel"].map(|method| ("nlock", method, vec![Loc::new("node").into()]));
    let made = operations(&group, |thread| node.lock(thread)?.release());
    assert_ne!(made, by_default(&group, &section, |_| Ok(())));
}
