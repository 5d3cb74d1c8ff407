//! Each edit of an operation changes what it says, and nothing else.

use std::sync::Arc;

use mowgli_core::edit::{Change, Edited, Edits, Here, calls};
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::library::Libraries;
use mowgli_core::program::{Prog, prog};
use mowgli_core::soundness::edits::{edits, weaker};
use mowgli_core::soundness::sites::sites;
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::x86_tso::{Memory, Method, cas, fence, read, to, word, write};

const OF: Name = Name::literal("of");

/// `write(x, 1); let v = read(y); write(x, v)`.
struct Body;

impl Implementation for Body {
    fn target(&self) -> Name {
        OF
    }

    fn declare(&self, _: &mut World) {}

    fn body(&self, _: &World, _: Tid, _: &Call) -> Prog {
        let [x, y] = ["x", "y"].map(Loc::new);
        prog! { write(x, 1); let v = read(y); write(x, v) }
    }
}

/// The calls of a program in which every read returns 7.
fn made(program: &Prog) -> Vec<String> {
    fn run(program: &Prog, made: &mut Vec<String>) -> Val {
        match program {
            Prog::Val(v) | Prog::Break(_, v) => *v,
            Prog::Bound => Val::Unit,
            Prog::Call(call) => {
                made.push(call.to_string());
                if call.method.text() == "Read" { Val::Int(7) } else { Val::Unit }
            }
            Prog::Let(both) => {
                let v = run(&both.first, made);
                run(&(both.then)(v), made)
            }
            // One round.
            Prog::Loop(body) => run(body, made),
        }
    }
    let mut made = Vec::new();
    run(program, &mut made);
    made
}

#[test]
fn every_edit_does_what_it_says() {
    let mut world = World::new(1, &[Node(1)]);
    world.objects.extend(["x", "y"].map(|x| (Loc::new(x), word())));
    let call = Call::new(OF, "Go", &[]);
    let sites = sites(&Body, &Libraries::over(to).with(Memory), &[(world.clone(), Tid(1), call.clone())]);
    let names: Vec<String> = sites.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["Go: 1. Write", "Go: Read", "Go: 2. Write"]);
    let of = |site: usize, name: &str| {
        let method = Method::TABLE.iter().find(|m| m.name == sites[site].calls.text()).expect("it is called");
        let edit = edits(method).into_iter().find(|e| e.name == name).expect("an edit");
        let changed = Edited::at(Arc::new(Body), sites[site].clone(), edit.change);
        let made = made(&changed.body(&world, Tid(1), &call)).join("; ");
        (made, changed.differs())
    };
    let becomes = |site, name, made: &str| assert_eq!(of(site, name), (made.to_owned(), true), "{site}: {name}");
    becomes(0, "left out", "Read(y); Write(x, 7)");
    becomes(0, "made twice", "Write(x, 1); Write(x, 1); Read(y); Write(x, 7)");
    becomes(0, "after what follows it", "Read(y); Write(x, 1); Write(x, 7)");
    becomes(0, "another x", "Write(y, 1); Read(y); Write(x, 7)");
    becomes(0, "v + 1", "Write(x, 2); Read(y); Write(x, 7)");
    becomes(1, "left out", "Write(x, 1); Write(x, 0)");
    becomes(1, "another x", "Write(x, 1); Read(x); Write(x, 7)");
    becomes(2, "v + 1", "Write(x, 1); Read(y); Write(x, 8)");
    // What is written depends on what is read, and nothing follows the last write.
    for site in [1, 2] {
        assert_eq!(of(site, "after what follows it"), ("Write(x, 1); Read(y); Write(x, 7)".to_owned(), false));
    }
    assert!(Method::TABLE.iter().all(|m| weaker(m).len() == 1), "there are no sets of nodes");
}

mowgli_core::methods! {
    /// What the second implementation is of.
    enum Own of OWN = "own" {
        /// One.
        fn one = One(x: Object);
        /// Another one.
        fn other = Other();
    }
}

/// `write(x, 1); fence(); loop { let v = read(x); write(x, v); break }; write(x, 2)`, and `fence()`.
struct WithLoop;

impl Implementation for WithLoop {
    fn target(&self) -> Name {
        OWN
    }

    fn declare(&self, _: &mut World) {}

    fn body(&self, _: &World, _: Tid, call: &Call) -> Prog {
        match Own::of(call) {
            Own::One { x } => prog! {
                write(x, 1);
                fence();
                loop { let v = read(x); write(x, v); break };
                write(x, 2)
            },
            Own::Other {} => fence(),
        }
    }
}

/// The calls of `One(x)` and of `Other()`, and the edits that changed none.
fn both(edited: impl Implementation) -> (String, Vec<String>) {
    let mut world = World::new(1, &[Node(1)]);
    world.objects.insert(Loc::new("x"), word());
    let of = |own: Own| made(&edited.body(&world, Tid(1), &own.into())).join("; ");
    let [one, other] = [Own::One { x: Loc::new("x") }, Own::Other {}].map(of);
    (format!("{one} | {other}"), edited.idle())
}

#[test]
fn edits_are_of_the_calls_that_a_pattern_selects() {
    let becomes = |edited: Edited, made: &str| assert_eq!(both(edited), (made.to_owned(), Vec::new()));
    let fences = || calls!(Method::Fence {} in Own::One { .. });
    becomes(WithLoop.without(fences()), "Write(x, 1); Read(x); Write(x, 7); Write(x, 2) | Fence()");
    becomes(WithLoop.without(calls!(Method::Fence {})), "Write(x, 1); Read(x); Write(x, 7); Write(x, 2) | ");
    becomes(
        WithLoop
            .replace(calls!(Method::Write { x, v } in Own::One { x: y } if x == y && v == Val::Int(7) => cas(x, v, 8))),
        "Write(x, 1); Fence(); Read(x); CAS(x, 7, 8); Write(x, 2) | Fence()",
    );
    becomes(
        WithLoop.replace(calls!(Method::Read { x } => read(x).map(|v| v.plus(1).unwrap_or(v)))),
        "Write(x, 1); Fence(); Read(x); Write(x, 8); Write(x, 2) | Fence()",
    );
    becomes(
        WithLoop.swap(calls!(Method::Write { .. }).first()),
        "Fence(); Write(x, 1); Read(x); Write(x, 7); Write(x, 2) | Fence()",
    );
    // What is in a loop is not counted for what follows it.
    becomes(WithLoop.without(calls!(Method::Write { .. }).nth(1)), "Write(x, 1); Fence(); Read(x) | Fence()");
    becomes(
        WithLoop.without(calls!(Method::Write { .. }).in_loops()),
        "Write(x, 1); Fence(); Read(x); Write(x, 2) | Fence()",
    );
    becomes(WithLoop.without_loops(calls!(Method::Read { .. })), "Write(x, 1); Fence(); Write(x, 2) | Fence()");
    becomes(
        WithLoop.delay(calls!(Method::Write { .. }).first()),
        "Fence(); Read(x); Write(x, 7); Write(x, 2); Write(x, 1) | Fence()",
    );
    becomes(
        WithLoop.delay_after(calls!(Method::Write { v, .. } if v == Val::Int(1)), fences()),
        "Fence(); Write(x, 1); Read(x); Write(x, 7); Write(x, 2) | Fence()",
    );
    becomes(
        WithLoop.around("another one is two", |here, body| match Own::of(&here.call) {
            Own::Other {} => Some(body(Own::Other {}.into()).then(body(Own::Other {}.into()))),
            Own::One { .. } => None,
        }),
        "Write(x, 1); Fence(); Read(x); Write(x, 7); Write(x, 2) | Fence(); Fence()",
    );
    becomes(
        WithLoop.without(fences()).without(calls!(|here| Method::Write { .. } if here.thread == Tid(1))),
        "Read(x) | Fence()",
    );
}

#[test]
fn an_edit_that_changes_nothing_says_so() {
    let idle = |edited: Edited| both(edited).1;
    assert_eq!(
        idle(WithLoop.without(calls!(Method::Fence {})).without(calls!(Method::Fence {}))),
        ["without Method::Fence {}"]
    );
    assert_eq!(
        idle(WithLoop.without(calls!(Method::CAS { .. } in Own::One { .. }).first())),
        ["without Method::CAS { .. } in Own::One { .. }, number 1"]
    );
    // What is delayed past a loop is changed; where nothing but the end follows it is not.
    assert!(
        idle(
            WithLoop
                .without(calls!(Method::Fence {} in Own::One { .. }))
                .without(calls!(Method::Write { v, .. } if v == Val::Int(2)))
                .delay(calls!(Method::Write { .. }).first())
        )
        .is_empty()
    );
    assert_eq!(idle(WithLoop.delay(calls!(Method::Fence {} in Own::Other {}))).len(), 1);
    assert_eq!(idle(WithLoop.without_loops(calls!(Method::Write { .. }))).len(), 1);
    assert_eq!(idle(WithLoop.around("none", |_, _| None)), ["none"]);
    assert_eq!(idle(WithLoop.declaring("no other parts", |_| {})), ["no other parts"]);
}

/// A result that is used is there only once its call was made.
#[test]
fn a_delayed_call_whose_result_is_used_is_named() {
    let world = World::new(1, &[Node(1)]);
    let misuse = |edited: Edited| {
        let results = |call: &Call| match Method::of(call) {
            Method::Read { .. } | Method::CAS { .. } => vec![Val::Int(0), Val::Int(7)],
            _ => vec![Val::Unit],
        };
        edited.misuse(&world, Tid(1), &Call::new(OF, "Anything", &[]), &results)
    };
    let mistake = misuse(Body.delay(calls!(Method::Read { .. }))).expect("the second write writes what was read");
    assert!(mistake.contains("`delay Method::Read { .. }` delays Read(y) in the body of Anything()"), "{mistake}");
    let over = misuse(Body.delay(calls!(Method::Read { .. })).without(calls!(Method::Fence {})));
    assert!(over.is_some(), "another edit on top hides none");
    assert_eq!(misuse(Body.delay(calls!(Method::Write { .. }))), None);
    assert_eq!(misuse(Body.swap(calls!(Method::Read { .. }))), None);
    // Nothing depends on this read.
    let unread = Body.replace(calls!(Method::Write { x, v } if v != Val::Int(1) => write(x, 2)));
    assert_eq!(misuse(unread.delay(calls!(Method::Read { .. }))), None);
    // The last value of the body is that of its last call.
    let last = Body.replace(calls!(Method::Write { x, v } if v != Val::Int(1) => read(x)));
    assert!(misuse(last.delay(calls!(Method::Read { .. }).nth(1))).is_some());
}

mowgli_core::methods! {
    /// A library with sets of nodes, and a method that has the name of another library's.
    enum Far of FAR = "far" {
        /// Sends.
        fn send = Send(from: Object, to: Object, ns: Nodes);
        /// Writes.
        fn far_write = Write(x: Object, v: Value);
    }
}

#[test]
fn operands_change_places_and_sets_get_the_own_node() {
    let [x, y] = ["x", "y"].map(Loc::new);
    let here = Here {
        world: Arc::new(World::new(2, &[Node(1)])),
        thread: Tid(1),
        call: Call::new(OF, "Go", &[]),
        in_loop: false,
    };
    let of = |call: &Call, table: &[mowgli_core::method::Method], name: &str| {
        let method = table.iter().find(|m| m.name == call.method.text()).expect("a method");
        let edit = edits(method).into_iter().find(|e| e.name == name).expect("an edit");
        let Change::Instead(instead) = edit.change else { panic!("it puts something in place of the call") };
        made(&instead(&here, call).expect("something else")).join("; ")
    };
    let send = Call::from(Far::Send { from: x, to: y, ns: NodeSet::default().with(Node(2)) });
    assert_eq!(of(&send, Far::TABLE, "from and to change places"), "Send(y, x, {2})");
    assert_eq!(of(&send, Far::TABLE, "ns with the own node"), "Send(x, y, {1, 2})");
    let swap = Call::from(Method::CAS { x, old: 0.into(), new: 1.into() });
    assert_eq!(of(&swap, Method::TABLE, "old and new change places"), "CAS(x, 1, 0)");
}

/// Writes to a word of one library on one thread, of another on the other.
struct OfTwo;

impl Implementation for OfTwo {
    fn target(&self) -> Name {
        OF
    }

    fn declare(&self, _: &mut World) {}

    fn body(&self, _: &World, t: Tid, _: &Call) -> Prog {
        let x = Loc::new("x");
        if t == Tid(1) { write(x, 1) } else { far_write(x, 1) }
    }
}

#[test]
fn a_site_is_of_the_library_that_it_calls() {
    let mut world = World::new(1, &[Node(1), Node(1)]);
    world.objects.insert(Loc::new("x"), word());
    let call = Call::new(OF, "Go", &[]);
    let bodies = [Tid(1), Tid(2)].map(|t| (world.clone(), t, call.clone()));
    let sites = sites(&OfTwo, &Libraries::over(to).with(Memory), &bodies);
    assert_eq!(sites.len(), 2);
    for site in sites {
        let gone = Change::Instead(Arc::new(|_, _| Some(Prog::unit())));
        let edited = Edited::at(Arc::new(OfTwo), site.clone(), gone);
        let left: Vec<bool> = [1, 2].map(|t| made(&edited.body(&world, Tid(t), &call)).is_empty()).to_vec();
        assert_eq!(left, [site.library != FAR, site.library == FAR]);
    }
}

/// Go writes a pair, and Come looks for one: only then it writes another word.
struct OfPairs;

impl Implementation for OfPairs {
    fn target(&self) -> Name {
        OF
    }

    fn declare(&self, _: &mut World) {}

    fn body(&self, _: &World, _: Tid, call: &Call) -> Prog {
        let [x, y] = ["x", "y"].map(Loc::new);
        match call.method.text() {
            "Go" => write(x, Val::tuple(&[Val::Int(7), Val::Int(8)])),
            _ => read(x).bind(move |v| if let Val::Tuple(_) = v { write(y, v) } else { Prog::unit() }),
        }
    }
}

/// What a body does with a message that another one sends is found.
#[test]
fn sites_are_found_behind_what_other_bodies_write() {
    let mut world = World::new(1, &[Node(1)]);
    world.objects.extend(["x", "y"].map(|x| (Loc::new(x), word())));
    let calls = ["Come", "Go"].map(|method| (world.clone(), Tid(1), Call::new(OF, method, &[])));
    let sites = sites(&OfPairs, &Libraries::over(to).with(Memory), &calls);
    let found: Vec<String> = sites.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["Come: Read", "Come: Write", "Go: Write"]);
}

/// Each thread writes its number, and goes where the thread is whose number it reads.
struct OfNumbers;

impl Implementation for OfNumbers {
    fn target(&self) -> Name {
        OF
    }

    fn declare(&self, _: &mut World) {}

    fn body(&self, world: &World, t: Tid, _: &Call) -> Prog {
        let (x, world) = (Loc::new("x"), world.clone());
        let number = |t: Tid| Val::tuple(&[Val::Int(i64::from(t.0)), Val::Int(0)]);
        let go = move |v: Val| {
            let Val::Tuple(parts) = v else { return Prog::unit() };
            let t = Tid(u8::try_from(parts.parts()[0].int().unwrap_or(1)).unwrap_or(1));
            let _ = world.node_of(t);
            write(x, 1)
        };
        write(x, number(t)).then(read(x)).bind(go)
    }
}

/// A world with one thread has no second one, though the other world has.
#[test]
fn what_is_written_in_another_world_is_not_read() {
    let of = |threads: &[Node]| {
        let mut world = World::new(1, threads);
        world.objects.insert(Loc::new("x"), word());
        world.tids().map(move |t| (world.clone(), t, Call::new(OF, "Go", &[]))).collect::<Vec<_>>()
    };
    let calls = [of(&[Node(1), Node(1)]), of(&[Node(1)])].concat();
    assert_eq!(sites(&OfNumbers, &Libraries::over(to).with(Memory), &calls).len(), 3);
}
