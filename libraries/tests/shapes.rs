//! The shapes of calls: the text of each term beside what it evaluates to. Each snapshot shows both, so that a reader can check that
//! an event has the subevents that the text says. They were taken when terms and the functions before them agreed.

use std::fmt::Write;
use std::mem::discriminant;

use itertools::Itertools;
use mowgli_core::event::{Call, Event, Reads, Shape, Sub, Writes};
use mowgli_core::ids::{Name, NodeSet, Wid};
use mowgli_core::library::Hints;
use mowgli_core::method::{ArgumentKind, Method};
use mowgli_core::soundness::client::{Bound, Subject, worlds};
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::bound;
use mowgli_libraries::x86;
use mowgli_rdma::{crash::Crash, message::Message, tso, wait};
use mowgli_x86::pool::Pool;
use mowgli_x86::tso as x86_tso;

/// A world with three threads, on different nodes if there are several.
fn world(subject: &dyn Subject) -> World {
    let small = Bound { sizes: vec![2], ..bound(3, 2, 1) };
    let all = worlds(subject, &small, &|| false).expect("there is no deadline");
    let size = |w: &&World| {
        let members = w.objects.values().map(|o| o.members.iter().unique().count()).max();
        (w.threads.len(), w.threads.iter().unique().count(), members)
    };
    all.iter().max_by_key(size).expect("a world").clone()
}

/// Some arguments of a kind.
fn arguments(library: &dyn Hints, world: &World, kind: ArgumentKind) -> Vec<Val> {
    let objects = || world.locations(library.name()).into_iter().map(Val::from);
    match kind {
        ArgumentKind::Local | ArgumentKind::Address | ArgumentKind::Placed | ArgumentKind::Object => {
            objects().collect()
        }
        ArgumentKind::Locals | ArgumentKind::Places => objects().permutations(2).map(|two| Val::tuple(&two)).collect(),
        ArgumentKind::Node => world.all_nodes().iter().map(Val::from).collect(),
        ArgumentKind::Nodes => vec![NodeSet::all(world.nodes).into()],
        ArgumentKind::Thread => world.tids().map(Val::from).collect(),
        ArgumentKind::Id => vec![Wid(Name::literal("d")).into(), Val::NoWid],
        ArgumentKind::Way => vec![Val::Way(Name::literal("q2"))],
        ArgumentKind::Value => {
            vec![Val::Int(0), Val::tuple(&[Val::Int(1), Val::Int(2)]), Val::tuple(&[Val::Int(3)])]
        }
    }
}

/// The calls of a method that have no fault.
fn calls(library: &dyn Hints, world: &World, method: &Method) -> Vec<Event> {
    let with_results = |call: Call, thread| {
        let results = [Val::Unit, Val::Int(0), Val::Int(7), Val::Bool(true), Val::Bool(false), Val::Bot];
        results.map(|ret| Event { thread, call: call.clone(), ret })
    };
    let of_thread = |thread| {
        let kinds = method.takes.iter().map(|(_, kind)| arguments(library, world, *kind));
        let all = kinds.fold(vec![Vec::new()], |all: Vec<Vec<Val>>, next| {
            all.iter().flat_map(|args| next.iter().map(move |v| [&args[..], &[*v]].concat())).collect()
        });
        let calls = all.into_iter().map(|args| Call::new(library.name(), method.name, &args));
        calls
            .filter(move |call| library.fault(world, thread, call).is_none())
            .flat_map(move |c| with_results(c, thread))
    };
    world.tids().flat_map(of_thread).collect()
}

fn sub(sub: &Sub) -> String {
    let mut text = sub.stamp.to_string();
    let cell = sub.cell.map_or(String::new(), |cell| format!(" {}@{}", cell.loc, cell.node));
    let reads = sub.reads.map(|reads| match reads {
        Reads::Is(v) => format!(" reads{cell} = {v}"),
        Reads::IsNot(v) => format!(" reads{cell} != {v}"),
        Reads::Any => format!(" reads{cell}"),
    });
    let writes = sub.writes.map(|writes| match writes {
        Writes::Is(v) => format!(" writes{cell} := {v}"),
        Writes::Copy(from) => format!(" writes{cell} := copy {from}"),
        Writes::Step(from) => format!(" writes{cell} := step {from}"),
    });
    text.extend([reads, writes].into_iter().flatten());
    text
}

fn ways(shapes: &[Shape]) -> String {
    if shapes.is_empty() {
        return "never".to_owned();
    }
    shapes.iter().map(|shape| shape.iter().map(sub).join("; ")).join("  or  ")
}

/// A shape without names of nodes, objects and values.
fn kind(shape: &Shape) -> Vec<String> {
    let of = |sub: &Sub| {
        let family = sub.stamp.to_string().split('_').next().unwrap_or_default().to_owned();
        let reads = sub.reads.map(|reads| discriminant(&reads));
        format!("{family} {reads:?} {:?}", sub.writes.map(|writes| discriminant(&writes)))
    };
    shape.iter().map(of).collect()
}

/// The text of the shapes of a library, each with the first events that happen in different ways.
fn reported(library: &dyn Hints, world: &World) -> String {
    let shapes = library.shape_terms().unwrap_or_else(|| panic!("{} has no terms", library.name()));
    let mut text = format!("threads on nodes {:?}\n", world.threads.iter().map(|n| n.0).collect::<Vec<_>>());
    for (x, object) in &world.objects {
        let members = object.members.iter().map(ToString::to_string).join(", ");
        let node = object.node.map_or(String::new(), |n| format!(" on node {n}"));
        let _ = writeln!(text, "{x}{node} with members {{{members}}}");
    }
    for method in library.methods() {
        let term = shapes.get(method.name).unwrap_or_else(|| panic!("{} has no shape", method.name));
        let _ = writeln!(text, "\n{}({}):", method.name, method.takes.iter().map(|(name, _)| name).join(", "));
        term.to_string().lines().for_each(|line| _ = writeln!(text, "    {line}"));
        let events = calls(library, world, method);
        assert!(!events.is_empty(), "no sample of {}", method.name);
        let shapes = events.iter().map(|event| (event, library.shapes(world, event)));
        for (event, shapes) in shapes.unique_by(|(_, shapes)| shapes.iter().map(kind).collect::<Vec<_>>()) {
            let ways = ways(&shapes);
            let _ = writeln!(text, "  {}: {event}: {ways}", event.thread);
        }
    }
    text
}

#[test]
fn events_have_the_shapes_that_the_text_says() {
    for entry in catalogue().iter().chain(&x86::catalogue()) {
        let library = entry.library().expect("a library");
        insta::assert_snapshot!(entry.name, reported(library, &world(&*entry.subject)));
    }
}

#[test]
fn events_of_memory_models_have_the_shapes_that_the_text_says() {
    let words = world(&wait::WordClients { rmw: true });
    let mut crashing = words.clone();
    crashing.crashes.threads.extend(crashing.tids().last());
    let words_of_tso = world(&tso::PollClients { rmw: true });
    let words_of_x86 = world(&x86_tso::X86Clients);
    let all: [(&dyn Hints, &World); 6] = [
        (&wait::Wait, &words),
        (&tso::Tso::PUBLISHED, &words_of_tso),
        (&Message, &words),
        (&Crash, &crashing),
        (&x86_tso::X86Tso, &words_of_x86),
        (&Pool, &words_of_x86),
    ];
    for (library, world) in all {
        insta::assert_snapshot!(library.name().text(), reported(library, world));
    }
}
