//! Each edit of an operation changes what it says, and nothing else.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::implementation::Implementation;
use mowgli_core::library::Libraries;
use mowgli_core::program::{Prog, prog};
use mowgli_core::soundness::edits::{edits, weaker};
use mowgli_core::soundness::sites::{Changed, sites};
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::x86_tso::{Memory, Method, read, to, word, write};

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
fn calls(program: &Prog) -> Vec<String> {
    fn run(program: &Prog, made: &mut Vec<String>) -> Val {
        match program {
            Prog::Val(v) | Prog::Break(_, v) => *v,
            Prog::Call(call) => {
                made.push(call.to_string());
                if let Method::Read { .. } = Method::of(call) { Val::Int(7) } else { Val::Unit }
            }
            Prog::Let(first, f) => {
                let v = run(first, made);
                run(&f(v), made)
            }
            Prog::Loop(_) => unreachable!("there is no loop"),
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
        let changed = Changed::new(Arc::new(Body), sites[site].clone(), edit.change);
        let made = calls(&changed.body(&world, Tid(1), &call)).join("; ");
        (made, changed.differs.load(Ordering::Relaxed))
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
