//! A call that programs may not make is an error of the implementation, and not a run that is silently left out.

use std::sync::Arc;

use mowgli::check::{CheckOptions, Checked, check};
use mowgli::litmus::parse::parse;
use mowgli::litmus::run::solve;
use mowgli::report::CheckRow;
use mowgli_core::event::Call;
use mowgli_core::expr::Expr;
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::Library;
use mowgli_core::search::problem::Limits;
use mowgli_core::term::body::{Bodies, Body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::Method;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::Variant;
use mowgli_libraries::kvstore::{self, KVSTORE, Kvstore};
use mowgli_libraries::msw::{self, MSW, Msw};
use mowgli_libraries::sv::SV;
use mowgli_rdma::wait::{WAIT, word};

/// An implementation that makes this call for every call.
struct Makes {
    target: Name,
    bodies: Bodies,
}

const THERE: Node = Node(2);

impl Implementation for Makes {
    fn target(&self) -> Name {
        self.target
    }

    fn declare(&self, world: &mut World) {
        world.objects.insert(there(self.target.text()), word(THERE));
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(&self.bodies)
    }
}

/// Returns the implementation of these methods.
fn makes(target: Name, table: &'static [Method], call: &Call) -> Makes {
    let made = |_: &[Expr]| {
        let args = call.args.iter().map(|&arg| Expr::from(arg)).collect::<Vec<_>>();
        Body::call(call.library, call.method.text(), args).then(Body::unit())
    };
    let bodies = table.iter().fold(Bodies::default(), |all, method| all.with(table, method.name, &[], made));
    Makes { target, bodies }
}

/// A word on node 2, which is part of a library and of none of its objects.
fn there(library: &str) -> Loc {
    Loc::new(library).part("word")
}

/// Checks a library whose implementation makes this call.
fn checked(entry: &str, call: Call) -> Checked {
    let entry = catalogue().into_iter().find(|e| e.name == entry).unwrap();
    let target = entry.variants[0].implementation.target();
    let makes = makes(target, entry.library().expect("it is there").methods(), &call);
    let variant = Variant { implementation: Arc::new(makes), ..entry.variants[0].clone() };
    let bound = Bound { threads: 2, nodes: 2, calls: 1, objects: 1, values: vec![1], ..Bound::default() };
    check(&entry, &variant, &bound, &CheckOptions::default()).unwrap()
}

fn is_ill_defined(entry: &str, call: Call, why: &str) {
    let checked = checked(entry, call.clone());
    assert_eq!(checked.verdict(), "undecided", "{call}");
    let text = format!("{} {}", checked.title(), checked.explanation());
    assert!(text.contains("not well defined") && text.contains(&call.to_string()), "{text}");
    assert!(text.contains(why) && text.contains(", in the body of "), "{text}");
    let page = serde_json::to_string(&CheckRow::new(&checked)).expect("strings and numbers");
    assert!(page.contains(&call.to_string()) && page.contains(why), "{page}");
}

#[test]
fn a_word_that_is_not_there_cannot_be_read() {
    let x = Val::Loc(Loc::new("top").part("word"));
    is_ill_defined("sv", Call::new(WAIT, "Read", &[x]), "top.word is not declared");
    is_ill_defined("bal", Call::new(SV, "Read", &[x]), "top.word is not declared");
    is_ill_defined("bal", Call::new(SV, "Read", &[there("bal").into()]), "bal.word is of rdma-wait-rmw");
}

#[test]
fn a_remote_word_is_no_local_one() {
    is_ill_defined("sv", Call::new(WAIT, "Read", &[there("sv").into()]), "sv.word is on node 2, and P1 on node 1");
    is_ill_defined("sv", Call::new(WAIT, "Read", &[Val::Int(3)]), "3 is no location");
}

#[test]
fn a_call_has_its_arguments() {
    is_ill_defined("sv", Call::new(WAIT, "Read", &[]), "Read takes 1, and has 0");
    is_ill_defined("sv", Call::new(WAIT, "RCAS", &[there("sv").into()]), "RCAS takes 5, and has 1");
    is_ill_defined("sv", Call::new(WAIT, "Rfence", &[Val::Int(1)]), "1 is no node");
    is_ill_defined("bal", Call::new(SV, "Bcast", &[]), "Bcast takes 3, and has 0");
}

#[test]
fn a_method_is_one_of_the_library() {
    is_ill_defined("sv", Call::new(WAIT, "Raed", &[there("sv").into()]), "there is no method Raed");
    is_ill_defined("bal", Call::new(SV, "Raed", &[there("bal").into()]), "there is no method Raed");
}

#[test]
fn a_library_is_one_of_those_below() {
    let why = "which is not among the libraries below: put it among those that the entry is built on";
    is_ill_defined("bal", Call::new(WAIT, "Read", &[there("bal").into()]), why);
    is_ill_defined("sv", Call::new(Name::literal("words"), "Read", &[there("sv").into()]), why);
}

#[test]
fn sizes_keys_and_servers_are_those_that_there_are() {
    let m = Val::Loc(Loc::new("m"));
    let tuple = |n: usize| Val::tuple(&vec![Val::Int(1); n]);
    let mut world = World::new(2, &[Node(1), Node(1), Node(2)]);
    world.objects.insert(Loc::new("m"), msw::words(Node(1), 2));
    world.objects.insert(Loc::new("n"), msw::words(Node(1), 3));
    let fault = |thread, method, args: &[Val]| Msw.fault(&world, Tid(thread), &Call::new(MSW, method, args));
    assert_eq!(fault(1, "Write", &[m, tuple(2)]), None);
    assert_eq!(fault(1, "Write", &[m, tuple(3)]).unwrap(), "(1, 1, 1) is no tuple of 2 words, which m has");
    assert_eq!(fault(1, "Write", &[m, Val::Bot]).unwrap(), "bot is no tuple of 2 words, which m has");
    assert_eq!(fault(1, "Get", &[m, Loc::new("n").into(), Val::NoWid]).unwrap(), "m has 2 words, and n has 3");
    world.objects.insert(Loc::new("m"), kvstore::store(&[Val::Bot, Val::Bot]));
    let fault =
        |thread, method, args: &[Val]| Kvstore::default().fault(&world, Tid(thread), &Call::new(KVSTORE, method, args));
    for key in [-1, 2, 255, i64::MAX, i64::MIN] {
        let said = fault(1, "Lookup", &[m, key.into()]).unwrap();
        assert_eq!(said, format!("{key} is no key of m: there are 2, from 0"));
    }
    assert_eq!((fault(1, "Lookup", &[m, Val::Int(1)]), fault(2, "Serve", &[m])), (None, None));
    assert_eq!(fault(1, "Serve", &[m]).unwrap(), "P1 does not serve m, but P2, the last thread of node 1");
}

/// The outcomes of a litmus test whose implementation is faulty are unknown, whatever else its threads can do.
#[test]
fn a_litmus_test_over_a_faulty_implementation_has_no_answer() {
    let text =
        "RDMA_WAIT t\n{ nodes 2; svar v = 0; x@1 = 0; }\n P1@1 | P2@1 ;\n a := x | v.write(1) ;\nallowed (a=0)\n";
    let test = parse("t", text).unwrap();
    for (call, why) in [
        (Call::new(WAIT, "Raed", &[there("sv").into()]), "there is no method Raed"),
        (Call::new(WAIT, "Read", &[]), "Read takes 1, and has 0"),
        (Call::new(Name::literal("words"), "Read", &[]), "which is not among the libraries below"),
    ] {
        let faulty: Arc<dyn Implementation> = Arc::new(makes(SV, mowgli_libraries::sv::Method::TABLE, &call));
        let answer = solve(&test, &[faulty], Limits::default());
        assert_eq!(answer.holds, [None], "{call}");
        let stop = answer.explored.stop.expect("not well defined").to_string();
        assert!(stop.contains("not well defined") && stop.contains(&call.to_string()) && stop.contains(why), "{stop}");
    }
}

/// Every library reports an error for a call of a method that it does not have, and for one without arguments.
#[test]
fn every_library_knows_its_methods() {
    let world = World::new(2, &[Node(1), Node(2)]);
    for entry in catalogue() {
        for name in entry.specification.names() {
            let library = entry.specification.get(name).unwrap();
            for method in ["Raed", "Read", "Acq", "Submit", "BAR", "Lookup", "Insert", "Inc"] {
                let fault = library.fault(&world, Tid(1), &Call::new(name, method, &[]));
                assert!(fault.is_some(), "{name} {method}");
            }
        }
    }
}
