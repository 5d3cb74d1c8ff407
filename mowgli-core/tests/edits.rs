//! Each edit of an operation changes what it says, and nothing else.

use std::sync::Arc;

use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, all_nodes, here, me, nodes, only};
use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::rewrite::edit::{Edited, Edits, calls};
use mowgli_core::rewrite::mutants::{edits, weaker};
use mowgli_core::rewrite::sites::sites;
use mowgli_core::simple::Over;
use mowgli_core::term::body::{Bodies, bodies, body};
use mowgli_core::term::code::{CodePlace, CodePoint, CodeState};
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::x86_tso::{Method, word};

mowgli_core::methods! {
    /// Calls of the library that the tests implement.
    enum Own of OWN = "own" {
        /// One.
        fn one = One(x: Object);
        /// Another one.
        fn other = Other();
    }
}

/// Returns an implementation with these bodies of One and Other.
fn both_do(one: impl FnOnce(Expr) -> mowgli_core::term::body::Body, other: mowgli_core::term::body::Body) -> Over<Own> {
    Over::terms(bodies! { Own: One { x } => { one(x) } Other {} => { other } })
}

/// Returns an implementation with this body of One, and an empty one of Other.
fn one_does(one: impl FnOnce(Expr) -> mowgli_core::term::body::Body) -> Over<Own> {
    both_do(one, body! {})
}

/// `write(x, 1); let v = read(y); write(x, v)`.
fn copies() -> Over<Own> {
    one_does(|x| body! { Method::write(x, 1); let v = Method::read(x.part("y", [])); Method::write(x, v) })
}

/// `write(x, 1); fence(); loop { let v = read(x); write(x, v); break }; write(x, 2)`, and `fence()`.
fn with_loop() -> Over<Own> {
    let one = |x: Expr| {
        body! {
            Method::write(x, 1);
            Method::fence();
            loop { let v = Method::read(x); Method::write(x, v); break };
            Method::write(x, 2)
        }
    };
    both_do(one, Method::fence())
}

/// A world with one thread, the object and another one beside it.
fn world() -> World {
    let x = Loc::new("x");
    let mut world = World::new(2, &[Node(1)]);
    world.objects.extend([x, x.part("y")].map(|x| (x, word())));
    world
}

/// The calls of code in which every read returns 7, and each loop has one iteration.
fn made(world: &World, thread: Tid, mut code: CodeState) -> Vec<String> {
    let mut made = Vec::new();
    loop {
        match code.next(CodePlace { world, thread }) {
            CodePoint::Call(call) => {
                made.push(call.to_string());
                code.returned(if call.method.text() == "Read" { Val::Int(7) } else { Val::Unit });
            }
            CodePoint::Loop => code.begin(),
            _ => return made,
        }
    }
}

/// The calls of a call's body.
fn of_call(of: &dyn Implementation, world: &World, thread: Tid, call: &Call) -> Vec<String> {
    made(world, thread, CodeState::of_call(&of.script(world, thread, call), call))
}

/// The calls of One(x).
fn of_one(of: &impl Implementation) -> String {
    of_call(of, &world(), Tid(1), &Call::from(Own::One { x: Loc::new("x") })).join("; ")
}

/// The calls of One(x) and of Other(), and the edits that change nothing.
fn both(edited: &Edited) -> (String, Vec<String>) {
    let other = of_call(edited, &world(), Tid(1), &Own::Other {}.into()).join("; ");
    (format!("{} | {other}", of_one(edited)), edited.idle())
}

#[test]
fn every_edit_does_what_it_says() {
    let of = copies();
    let sites = sites(of.bodies().expect("terms"));
    let names: Vec<String> = sites.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["One: 1. Write", "One: Read", "One: 2. Write"]);
    assert!(sites[0].place.text().is_some_and(|place| place.starts_with("edits.rs:")));
    let of = |site: usize, name: &str| {
        let method = Method::TABLE.iter().find(|m| m.name == sites[site].calls).expect("it is called");
        let edit = edits(method).into_iter().find(|e| e.name == name).expect("an edit");
        let changed = edit.at(Arc::new(copies()), &sites[site]);
        (of_one(&changed), changed.differs())
    };
    let becomes = |site, name, made: &str| assert_eq!(of(site, name), (made.to_owned(), true), "{site}: {name}");
    becomes(0, "left out", "Read(x.y); Write(x, 7)");
    becomes(0, "made twice", "Write(x, 1); Write(x, 1); Read(x.y); Write(x, 7)");
    becomes(0, "after what follows it", "Read(x.y); Write(x, 1); Write(x, 7)");
    becomes(0, "another x", "Write(x.y, 1); Read(x.y); Write(x, 7)");
    becomes(0, "v + 1", "Write(x, 2); Read(x.y); Write(x, 7)");
    becomes(1, "left out", "Write(x, 1); Write(x, 0)");
    becomes(1, "another x", "Write(x, 1); Read(x); Write(x, 7)");
    becomes(2, "v + 1", "Write(x, 1); Read(x.y); Write(x, 8)");
    // The value of the write depends on the read, and nothing follows the last write.
    for site in [1, 2] {
        assert_eq!(of(site, "after what follows it"), ("Write(x, 1); Read(x.y); Write(x, 7)".to_owned(), false));
    }
    assert!(Method::TABLE.iter().all(|m| weaker(m).len() == 1), "there are no sets of nodes");
}

#[test]
fn edits_are_of_the_calls_that_a_pattern_selects() {
    let becomes = |edited: Edited, made: &str| assert_eq!(both(&edited), (made.to_owned(), Vec::new()));
    let fences = || calls!(Method::Fence {} in Own::One { .. });
    let all = with_loop;
    becomes(all().without(fences()), "Write(x, 1); Read(x); Write(x, 7); Write(x, 2) | Fence()");
    becomes(all().without(calls!(Method::Fence {})), "Write(x, 1); Read(x); Write(x, 7); Write(x, 2) | ");
    becomes(
        all().replace(
            calls!(Method::Write { x, v } in Own::One { x: y } if x == y && v == 2.into() => Method::cas(x, v, 8)),
        ),
        "Write(x, 1); Fence(); Read(x); Write(x, 7); CAS(x, 2, 8) | Fence()",
    );
    becomes(
        all().replace(calls!(|read| Method::Read { .. } => body! { let v = read; v + 1 })),
        "Write(x, 1); Fence(); Read(x); Write(x, 8); Write(x, 2) | Fence()",
    );
    becomes(
        all().swap(calls!(Method::Write { .. }).first()),
        "Fence(); Write(x, 1); Read(x); Write(x, 7); Write(x, 2) | Fence()",
    );
    // Matches in a loop do not count for the statements after it.
    becomes(all().without(calls!(Method::Write { .. }).nth(1)), "Write(x, 1); Fence(); Read(x) | Fence()");
    becomes(
        all().without(calls!(Method::Write { .. }).in_loops()),
        "Write(x, 1); Fence(); Read(x); Write(x, 2) | Fence()",
    );
    becomes(all().without_loops(calls!(Method::Read { .. })), "Write(x, 1); Fence(); Write(x, 2) | Fence()");
    becomes(
        all().delay(calls!(Method::Write { .. }).first()),
        "Fence(); Read(x); Write(x, 7); Write(x, 2); Write(x, 1) | Fence()",
    );
    becomes(
        all().delay_after(calls!(Method::Write { v, .. } if v == 1.into()), fences()),
        "Fence(); Write(x, 1); Read(x); Write(x, 7); Write(x, 2) | Fence()",
    );
    becomes(
        all().with("another one is two", &{
            let all = all();
            bodies! { Own: Other {} => { all.inlined(&Own::other()); all.inlined(&Own::other()) } }
        }),
        "Write(x, 1); Fence(); Read(x); Write(x, 7); Write(x, 2) | Fence(); Fence()",
    );
    becomes(
        all().replace(calls!(|write| Method::Write { x, .. } => body! { if ((x) == (all_nodes())) { write } })),
        "Fence(); Read(x) | Fence()",
    );
}

/// A call delayed out of a branch is delayed in that branch alone. A call delayed out of a `for` comes for all of its
/// set.
#[test]
fn calls_are_delayed_out_of_blocks() {
    let of = one_does(|x| {
        body! {
            let v = Method::read(x);
            if (v == 7) { Method::write(x, 1); Method::fence() }
            for n in (all_nodes()) { Method::write(x, 2) }
            Method::fence();
            v
        }
    });
    let late = of.clone().delay(calls!(Method::Write { .. }));
    assert_eq!(of_one(&late), "Read(x); Fence(); Fence(); Write(x, 1); Write(x, 2); Write(x, 2)");
    let text = late.bodies().and_then(|all| all.get("One")).expect("a body").to_string();
    assert_eq!(
        text,
        "\
let v = memory::Read(x);
if v = 7 {
  memory::Fence()
};
memory::Fence();
if v = 7 {
  memory::Write(x, 1)
};
for n in all_nodes {
  memory::Write(x, 2)
};
v"
    );
    // A call that is made after another one in a block stays in the block.
    let nested = one_does(|x| {
        body! {
            for n in (all_nodes()) { let v = Method::read(x); if (v == 7) { Method::write(x, v); Method::fence(); Method::read(x) } }
        }
    });
    let late = nested.delay_after(calls!(Method::Write { .. }), calls!(Method::Fence {}));
    assert_eq!(
        (of_one(&late), late.mistake()),
        ("Read(x); Fence(); Write(x, 7); Read(x); ".repeat(2).trim_end_matches("; ").to_owned(), None)
    );
    // A loop is left with what comes before its break.
    let leaves = one_does(|x| {
        body! { loop { Method::write(x, 1); let v = Method::read(x); if (v == 7) { break } Method::fence() } }
    });
    assert_eq!(of_one(&leaves.delay(calls!(Method::Write { .. }))), "Read(x); Write(x, 1)");
}

#[test]
fn an_edit_that_changes_nothing_says_so() {
    let idle = |edited: Edited| both(&edited).1;
    assert_eq!(
        idle(with_loop().without(calls!(Method::Fence {})).without(calls!(Method::Fence {}))),
        ["without Method::Fence {}"]
    );
    assert_eq!(
        idle(with_loop().without(calls!(Method::CAS { .. } in Own::One { .. }).first())),
        ["without Method::CAS { .. } in Own::One { .. }, number 1"]
    );
    // Delaying a call past a loop changes the body; delaying the last call does not.
    assert!(
        idle(
            with_loop()
                .without(calls!(Method::Fence {} in Own::One { .. }))
                .without(calls!(Method::Write { v, .. } if v == 2.into()))
                .delay(calls!(Method::Write { .. }).first())
        )
        .is_empty()
    );
    assert_eq!(idle(with_loop().delay(calls!(Method::Fence {} in Own::Other {}))).len(), 1);
    assert_eq!(idle(with_loop().without_loops(calls!(Method::Write { .. }))).len(), 1);
    assert_eq!(idle(with_loop().with("none", &Bodies::default())), ["none"]);
    assert_eq!(idle(with_loop().declaring("no other parts", |_| {})), ["no other parts"]);
}

/// A result that is used is there only once its call was made.
/// The write writes the first value, and not the result of the last read, which has the same name.
#[test]
fn two_variables_of_a_scope_are_printed_by_different_names() {
    let of = one_does(|x| body! { let v = Method::read(x.part("y", [])); Method::write(x, v); Method::read(x) });
    let late = of.delay(calls!(Method::Write { .. }));
    let text = late.bodies().and_then(|all| all.get("One")).expect("a body").to_string();
    assert_eq!(text, "let v = memory::Read(x.y);\nlet v2 = memory::Read(x);\nmemory::Write(x, v);\nv2");
}

#[test]
fn a_delayed_call_whose_result_is_used_is_named() {
    let mistake = copies().delay(calls!(Method::Read { .. })).mistake().expect("the second write writes what was read");
    assert!(mistake.contains("`delay Method::Read { .. }` delays memory::Read(x.y) in the body of One"), "{mistake}");
    let over = copies().delay(calls!(Method::Read { .. })).without(calls!(Method::Fence {}));
    assert!(over.mistake().is_some(), "another edit on top hides none");
    assert_eq!(copies().delay(calls!(Method::Write { .. }).first()).mistake(), None);
    assert_eq!(copies().swap(calls!(Method::Read { .. })).mistake(), None);
    // Nothing depends on this read.
    let unread = copies().replace(calls!(Method::Write { x, v } if v != 1.into() => Method::write(x, 2)));
    assert_eq!(unread.delay(calls!(Method::Read { .. })).mistake(), None);
    // A loop is left by a break, before which what was delayed is made.
    let inside = one_does(|x| body! { loop { let v = Method::read(x); if (v == 7) { Method::write(x, v); break } } });
    assert_eq!(inside.delay(calls!(Method::Write { .. })).mistake(), None);
}

#[test]
fn an_implementation_without_bodies_cannot_be_edited() {
    struct Empty;
    impl Implementation for Empty {
        fn target(&self) -> mowgli_core::ids::Name {
            OWN
        }
        fn declare(&self, _: &mut World) {}
    }
    let mistake = Empty.without(calls!(Method::Fence {})).mistake();
    assert!(mistake.is_some_and(|why| why.contains("write them with `bodies!`")));
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
    let [x, y] = ["x", "y"].map(|x| Expr::from(Loc::new(x)));
    let world = World::new(2, &[Node(1)]);
    let of = |call: mowgli_core::term::body::Body, table: &[mowgli_core::term::method::Method], name: &str| {
        let of = one_does(|_| call);
        let site = sites(of.bodies().expect("terms")).remove(0);
        let method = table.iter().find(|m| m.name == site.calls).expect("a method");
        let edit = edits(method).into_iter().find(|e| e.name == name).expect("an edit");
        let edited = edit.at(Arc::new(of), &site);
        let body = edited.bodies().and_then(|all| all.get(site.method)).expect("a body");
        made(&world, Tid(1), CodeState::start(&Script::of(body))).join("; ")
    };
    let send = || Far::send(x, y, all_nodes().without(here()));
    assert_eq!(of(send(), Far::TABLE, "from and to change places"), "Send(y, x, {2})");
    assert_eq!(of(send(), Far::TABLE, "ns with the own node"), "Send(x, y, {1, 2})");
    assert_eq!(of(send(), Far::TABLE, "without its last target"), "");
    let both = || Far::send(x, y, only(here()).with(nodes(Expr::tuple([me()]))).with(all_nodes()));
    assert_eq!(of(both(), Far::TABLE, "without its last target"), "Send(x, y, {1})");
    assert_eq!(of(Method::cas(x, 0, 1), Method::TABLE, "old and new change places"), "CAS(x, 1, 0)");
}

/// Two libraries may have methods of one name.
#[test]
fn a_site_is_of_the_library_that_it_calls() {
    let of = one_does(|x| body! { if ((me()) == (Tid(1))) { Method::write(x, 1) } else { Far::far_write(x, 1) } });
    let sites = sites(of.bodies().expect("terms"));
    assert_eq!(sites.len(), 2);
    let left = |edited: &Edited| {
        [1, 2].map(|t| {
            let call = Own::One { x: Loc::new("x") }.into();
            of_call(edited, &World::new(1, &[Node(1); 2]), Tid(t), &call).is_empty()
        })
    };
    assert_eq!(left(&of.clone().without(calls!(Far::Write { .. }))), [false, true]);
    assert_eq!(left(&of.without(calls!(Method::Write { .. }))), [true, false]);
}
