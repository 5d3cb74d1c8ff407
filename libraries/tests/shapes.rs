//! The shapes of calls: each kind of event of each library has the subevents that its paper gives it.

use std::mem::discriminant;

use itertools::Itertools;
use mowgli_core::event::{Call, Event, Reads, Shape, Sub, Writes};
use mowgli_core::ids::{Name, NodeSet, Wid};
use mowgli_core::library::Hints;
use mowgli_core::soundness::client::{Subject, worlds};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::method::{ArgumentKind, Method};
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

/// Returns a line about the world, and the first events of each method that happen in different ways.
fn events(library: &dyn Hints, world: &World) -> Vec<String> {
    let objects = world.objects.iter().map(|(x, object)| {
        let node = object.node.map_or(String::new(), |n| format!(" on node {n}"));
        format!("; {x}{node} with members {{{}}}", object.members.iter().map(ToString::to_string).join(", "))
    });
    let nodes = world.threads.iter().map(|n| n.0).collect_vec();
    let mut lines = vec![format!("threads on nodes {nodes:?}{}", objects.collect::<String>())];
    assert!(library.shape_terms().is_some(), "{} has no terms", library.name());
    for method in library.methods() {
        let events = calls(library, world, method);
        assert!(!events.is_empty(), "no sample of {}", method.name);
        let shapes = events.iter().map(|event| (event, library.shapes(world, event)));
        let different = shapes.unique_by(|(_, shapes)| shapes.iter().map(kind).collect_vec());
        lines.extend(different.map(|(event, shapes)| format!("{}: {event}: {}", event.thread, ways(&shapes))));
    }
    lines
}

fn has_the_events(name: &str, library: &dyn Hints, world: &World) {
    let found = events(library, world);
    let known = EVENTS.iter().find(|(n, _)| *n == name);
    let (_, expected) = known.unwrap_or_else(|| {
        panic!("the table EVENTS in {} has no entry of {name}: review these and add them\n{found:#?}", file!())
    });
    assert_eq!(found, *expected, "{name}");
}

#[test]
fn events_have_the_shapes_of_the_papers() {
    for entry in catalogue().iter().chain(&x86::catalogue()) {
        has_the_events(entry.name, entry.library().expect("a library"), &world(&*entry.subject));
    }
}

#[test]
fn events_of_memory_models_have_the_shapes_of_the_papers() {
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
        has_the_events(library.name().text(), library, world);
    }
}

/// The events of each library in a world of three threads. Subevents are separated by `;`, other ways to happen by `or`.
const EVENTS: &[(&str, &[&str])] = &[
    ("bal-puts", &["threads on nodes [2, 2, 1]; z with members {P1, P2, P3}", "P1: BAR(z): aNRW_1; aNRW_2; aCR"]),
    ("bal-transitive", &["threads on nodes [2, 2, 1]; z with members {P1, P2, P3}", "P1: BAR(z): aGF_1; aGF_2; aCR"]),
    ("bal", &["threads on nodes [2, 2, 1]; z with members {P1, P2, P3}", "P1: BAR(z): aGF_1; aGF_2; aCR"]),
    (
        "counter",
        &[
            "threads on nodes [2, 2, 1]; l on node 2 with members {}",
            "P1: Inc(l): aMF reads l@1 writes l@1 := step 0",
            "P1: Get(l): aMF reads l@1 writes l@1 := step 0",
        ],
    ),
    (
        "crash",
        &[
            "threads on nodes [2, 2, 1]; x1 on node 1 with members {}; x2 on node 2 with members {}; y1 on node 1 with members {}; y2 on node 2 with members {}",
            "P1: Goes(): aCR",
            "P1: Stop(): aWT",
            "P1: Dead(P3): aWT",
        ],
    ),
    (
        "kvstore",
        &[
            "threads on nodes [2, 2, 1]; m with members {}",
            "P1: Insert(m, 0, 0): aMF; aCR reads m@1 != bot",
            "P1: Insert(m, 0, 0) = true: aMF; aCAS reads m@1 = bot writes m@1 := 0",
            "P1: Update(m, 0, 0): aMF; aCR reads m@1 = bot",
            "P1: Update(m, 0, 0) = true: aMF; aCAS reads m@1 != bot writes m@1 := 0",
            "P1: Delete(m, 0): aMF; aCR reads m@1 = bot",
            "P1: Delete(m, 0) = true: aMF; aCAS reads m@1 != bot writes m@1 := bot",
            "P1: Lookup(m, 0): aMF; aCR reads m@1 = ()",
            "P2: Serve(m): aWT",
            "P2: TryServe(m): aWT",
        ],
    ),
    (
        "map",
        &[
            "threads on nodes [2, 2, 1]; l on node 2 with members {}",
            "P1: Insert(l, 0, 0): aMF reads l@1 writes l@1 := step 0",
            "P1: Update(l, 0, 0): aMF reads l@1 writes l@1 := step 0",
            "P1: Delete(l, 0): aMF reads l@1 writes l@1 := step 0",
            "P1: Lookup(l, 0): aMF reads l@1 writes l@1 := step 0",
        ],
    ),
    ("mcslock", &["threads on nodes [1, 1, 1]; l on node 1 with members {}", "P1: Acq(l): F", "P1: Rel(l): W"]),
    (
        "message",
        &[
            "threads on nodes [2, 2, 1]; x1 on node 1 with members {}; x2 on node 2 with members {}; y1 on node 1 with members {}; y2 on node 2 with members {}",
            "P1: Send(1, 0): aNMW_1 writes messages of a node@1 := 0",
            "P1: SendBy(q2, 1, 0): aNMW_1q2 writes messages of a node@1 := 0",
            "P1: Recv(): aWT reads messages of a node@2 = ()",
        ],
    ),
    (
        "msqueue",
        &[
            "threads on nodes [1, 1, 1]; s on node 1 with members {}",
            "P1: Enq(s, 0): F reads s@1 writes s@1 := step 0",
            "P1: Enq(s, 0) = bot: R reads s@1 = ()",
            "P1: Deq(s): F reads s@1 writes s@1 := step 0",
            "P1: Deq(s) = bot: R reads s@1 = ()",
        ],
    ),
    (
        "msw",
        &[
            "threads on nodes [2, 2, 1]; l on node 2 with members {}",
            "P1: Write(l, (1, 2)): aCW writes l@2 := (1, 2)",
            "P1: TryRead(l): aCR reads l@2 = ()",
            "P1: TryRead(l) = bot: aWT",
            "P1: Get(l, l, d): aNRR_2 reads l@2; aNLW_2 writes l@2 := copy 0",
            "P1: Put(l, l, d): aNLR_2 reads l@2; aNRW_2 writes l@2 := copy 0",
            "P1: Wait(d): aWT",
        ],
    ),
    (
        "nlock",
        &["threads on nodes [2, 2, 1]; l on node 2 with members {}", "P1: Acq(l): aMF", "P1: Rel(l): aRF_2; aNRW_2"],
    ),
    (
        "queue",
        &[
            "threads on nodes [2, 2, 1]; l on node 2 with members {}",
            "P1: Enq(l, 0): aMF reads l@1 writes l@1 := step 0",
            "P1: Deq(l): aMF reads l@1 writes l@1 := step 0",
        ],
    ),
    (
        "rbl-weak",
        &[
            "threads on nodes [2, 2, 1]; q with members {P3, P1, P2, P3}",
            "P1: Submit(q, 0): never",
            "P3: Submit(q, 0): aWT",
            "P3: Submit(q, 0) = true: aNRW_2 writes q@2 := 0; aCW writes q@1 := 0",
            "P1: Receive(q): aCR reads q@2 = ()",
            "P1: Receive(q) = bot: aWT",
        ],
    ),
    (
        "rbl",
        &[
            "threads on nodes [2, 2, 1]; q with members {P3, P1, P2, P3}",
            "P1: Submit(q, 0): never",
            "P3: Submit(q, 0): aWT",
            "P3: Submit(q, 0) = true: aNRW_2 writes q@2 := 0; aCW writes q@1 := 0",
            "P1: Receive(q): aCR reads q@2 = ()",
            "P1: Receive(q) = bot: aWT",
        ],
    ),
    (
        "rdma-tso-rmw",
        &[
            "threads on nodes [2, 2, 1]; x1 on node 1 with members {}; x2 on node 2 with members {}; y1 on node 1 with members {}; y2 on node 2 with members {}",
            "P1: Write(x2, 0): aCW writes x2@2 := 0",
            "P1: Read(x2): aCR reads x2@2 = ()",
            "P1: CAS(x2, 0, 0): aMF; aCR reads x2@2 = ()",
            "P1: CAS(x2, 0, 0) = 0: aCAS reads x2@2 = 0 writes x2@2 := 0",
            "P1: Xchg(x2, 0): aCAS reads x2@2 = () writes x2@2 := 0",
            "P1: FAA(x2, 0): aCAS reads x2@2 = () writes x2@2 := step 0",
            "P1: Mfence(): aMF",
            "P1: Get(x2, x1): aNRR_1 reads x1@1; aNLW_1 writes x2@2 := copy 0",
            "P1: Put(x1, x2): aNLR_1 reads x2@2; aNRW_1 writes x1@1 := copy 0",
            "P1: Poll(1): aWT",
            "P1: Rfence(1): aRF_1",
            "P1: RCAS(x2, x1, 0, 0): aNAR_1 reads x1@1 = 0; aNRW_1 writes x1@1 := 0; aNLW_1 writes x2@2 := copy 0  or  aNAR_1 reads x1@1 != 0; aNLW_1 writes x2@2 := copy 0",
            "P1: RFAA(x2, x1, 0): aNAR_1 reads x1@1; aNRW_1 writes x1@1 := step 0; aNLW_1 writes x2@2 := copy 0",
            "P1: RXchg(x2, x1, 0): aNAR_1 reads x1@1; aNRW_1 writes x1@1 := 0; aNLW_1 writes x2@2 := copy 0",
            "P1: GetBy(q2, x2, x1): aNRR_1q2 reads x1@1; aNLW_1q2 writes x2@2 := copy 0",
            "P1: PutBy(q2, x1, x2): aNLR_1q2 reads x2@2; aNRW_1q2 writes x1@1 := copy 0",
            "P1: RfenceBy(q2, 1): aRF_1q2",
            "P1: RCASBy(q2, x2, x1, 0, 0): aNAR_1q2 reads x1@1 = 0; aNRW_1q2 writes x1@1 := 0; aNLW_1q2 writes x2@2 := copy 0  or  aNAR_1q2 reads x1@1 != 0; aNLW_1q2 writes x2@2 := copy 0",
            "P1: RFAABy(q2, x2, x1, 0): aNAR_1q2 reads x1@1; aNRW_1q2 writes x1@1 := step 0; aNLW_1q2 writes x2@2 := copy 0",
            "P1: RXchgBy(q2, x2, x1, 0): aNAR_1q2 reads x1@1; aNRW_1q2 writes x1@1 := 0; aNLW_1q2 writes x2@2 := copy 0",
            "P1: GetWords(q2, (x2, y2), (x1, y1)): aNRR_1q2 reads x1@1; aNLW_1q2 writes x2@2 := copy 0; aNRR_1q2[1] reads y1@1; aNLW_1q2[1] writes y2@2 := copy 2",
            "P1: PutWords(q2, (x1, y1), (x2, y2)): aNLR_1q2 reads x2@2; aNRW_1q2 writes x1@1 := copy 0; aNLR_1q2[1] reads y2@2; aNRW_1q2[1] writes y1@1 := copy 2",
            "P1: PollBy(q2, 1): aWT",
            "P1: PollAny(): aWT",
            "P1: TryPoll(1): aWT",
            "P1: TryPollAny(): aWT",
            "P1: Arm(): aWT",
            "P1: Event(): aWT",
            "P1: SetAdd(0, 0): aMF",
            "P1: SetRemove(0, 0): aMF",
            "P1: SetIsEmpty(0): aMF",
        ],
    ),
    (
        "rdma-wait-rmw",
        &[
            "threads on nodes [2, 2, 1]; x1 on node 1 with members {}; x2 on node 2 with members {}; y1 on node 1 with members {}; y2 on node 2 with members {}",
            "P1: Write(x2, 0): aCW writes x2@2 := 0",
            "P1: Read(x2): aCR reads x2@2 = ()",
            "P1: CAS(x2, 0, 0): aMF; aCR reads x2@2 = ()",
            "P1: CAS(x2, 0, 0) = 0: aCAS reads x2@2 = 0 writes x2@2 := 0",
            "P1: Xchg(x2, 0): aCAS reads x2@2 = () writes x2@2 := 0",
            "P1: FAA(x2, 0): aCAS reads x2@2 = () writes x2@2 := step 0",
            "P1: Mfence(): aMF",
            "P1: Get(x2, x1, d): aNRR_1 reads x1@1; aNLW_1 writes x2@2 := copy 0",
            "P1: Put(x1, x2, d): aNLR_1 reads x2@2; aNRW_1 writes x1@1 := copy 0",
            "P1: Wait(d): aWT",
            "P1: Rfence(1): aRF_1",
            "P1: RCAS(x2, x1, 0, 0, d): aNAR_1 reads x1@1 = 0; aNRW_1 writes x1@1 := 0; aNLW_1 writes x2@2 := copy 0  or  aNAR_1 reads x1@1 != 0; aNLW_1 writes x2@2 := copy 0",
            "P1: RFAA(x2, x1, 0, d): aNAR_1 reads x1@1; aNRW_1 writes x1@1 := step 0; aNLW_1 writes x2@2 := copy 0",
            "P1: RXchg(x2, x1, 0, d): aNAR_1 reads x1@1; aNRW_1 writes x1@1 := 0; aNLW_1 writes x2@2 := copy 0",
            "P1: GetBy(q2, x2, x1, d): aNRR_1q2 reads x1@1; aNLW_1q2 writes x2@2 := copy 0",
            "P1: PutBy(q2, x1, x2, d): aNLR_1q2 reads x2@2; aNRW_1q2 writes x1@1 := copy 0",
            "P1: RfenceBy(q2, 1): aRF_1q2",
            "P1: RCASBy(q2, x2, x1, 0, 0, d): aNAR_1q2 reads x1@1 = 0; aNRW_1q2 writes x1@1 := 0; aNLW_1q2 writes x2@2 := copy 0  or  aNAR_1q2 reads x1@1 != 0; aNLW_1q2 writes x2@2 := copy 0",
            "P1: RFAABy(q2, x2, x1, 0, d): aNAR_1q2 reads x1@1; aNRW_1q2 writes x1@1 := step 0; aNLW_1q2 writes x2@2 := copy 0",
            "P1: RXchgBy(q2, x2, x1, 0, d): aNAR_1q2 reads x1@1; aNRW_1q2 writes x1@1 := 0; aNLW_1q2 writes x2@2 := copy 0",
            "P1: GetWords(q2, (x2, y2), (x1, y1), d): aNRR_1q2 reads x1@1; aNLW_1q2 writes x2@2 := copy 0; aNRR_1q2[1] reads y1@1; aNLW_1q2[1] writes y2@2 := copy 2",
            "P1: PutWords(q2, (x1, y1), (x2, y2), d): aNLR_1q2 reads x2@2; aNRW_1q2 writes x1@1 := copy 0; aNLR_1q2[1] reads y2@2; aNRW_1q2[1] writes y1@1 := copy 2",
        ],
    ),
    (
        "sc-rmw",
        &[
            "threads on nodes [2, 2, 1]; l on node 2 with members {}",
            "P1: Write(l, 0): aMF writes l@1 := 0",
            "P1: Read(l): aMF reads l@1 = ()",
            "P1: CAS(l, 0, 0): aMF reads l@1 = ()",
            "P1: CAS(l, 0, 0) = 0: aMF reads l@1 = 0 writes l@1 := 0",
            "P1: FAA(l, 0): aMF reads l@1 = () writes l@1 := step 0",
        ],
    ),
    (
        "slock",
        &["threads on nodes [2, 2, 1]; l on node 2 with members {}", "P1: Acq(l): aMF", "P1: Rel(l): aGF_1; aGF_2"],
    ),
    ("spinlock", &["threads on nodes [1, 1, 1]; l on node 1 with members {}", "P1: Acq(l): F", "P1: Rel(l): W"]),
    (
        "sv",
        &[
            "threads on nodes [2, 2, 1]; x with members {}",
            "P1: Write(x, 0): aCW writes x@2 := 0",
            "P1: Read(x): aCR reads x@2 = ()",
            "P1: Bcast(x, d, {1, 2}): aNLR_1 reads x@2; aNRW_1 writes x@1 := copy 0; aNLR_2 reads x@2; aNRW_2 writes x@2 := copy 2",
            "P1: Wait(d): aWT",
            "P1: GF({1, 2}): aGF_1; aGF_2",
        ],
    ),
    (
        "table",
        &[
            "threads on nodes [2, 2, 1]; l on node 2 with members {}",
            "P1: Insert(l, 0, (3)): aMF; aCR reads l.value_0@1 != bot",
            "P1: Insert(l, 0, (3)) = true: aMF; aCAS reads l.value_0@1 = bot writes l.value_0@1 := (3)",
            "P1: Update(l, 0, (3)): aMF; aCR reads l.value_0@1 = bot",
            "P1: Update(l, 0, (3)) = true: aMF; aCAS reads l.value_0@1 != bot writes l.value_0@1 := (3)",
            "P1: Delete(l, 0): aMF; aCR reads l.value_0@1 = bot",
            "P1: Delete(l, 0) = true: aMF; aCAS reads l.value_0@1 != bot writes l.value_0@1 := bot",
            "P1: Lookup(l, 0): aMF; aCR reads l.value_0@1 = ()",
        ],
    ),
    ("ticketlock", &["threads on nodes [1, 1, 1]; l on node 1 with members {}", "P1: Acq(l): F", "P1: Rel(l): W"]),
    (
        "treiber",
        &[
            "threads on nodes [1, 1, 1]; s on node 1 with members {}",
            "P1: Push(s, 0): F reads s@1 writes s@1 := step 0",
            "P1: Push(s, 0) = bot: R reads s@1 = ()",
            "P1: Pop(s): F reads s@1 writes s@1 := step 0",
            "P1: Pop(s) = bot: R reads s@1 = ()",
        ],
    ),
    (
        "trylock",
        &[
            "threads on nodes [2, 2, 1]; l on node 2 with members {}",
            "P1: Acq(l): aMF",
            "P1: TryAcq(l): aWT",
            "P1: TryAcq(l) = true: aMF",
            "P1: Rel(l): aWT",
            "P1: Rel(l) = true: aRF_2; aNRW_2",
        ],
    ),
    ("wlock", &["threads on nodes [2, 2, 1]; l on node 2 with members {}", "P1: Acq(l): aMF", "P1: Rel(l): aCW"]),
    (
        "x86-pool",
        &["threads on nodes [1, 1, 1]; x on node 1 with members {}; y on node 1 with members {}", "P1: New(0): W"],
    ),
    (
        "x86-tso",
        &[
            "threads on nodes [1, 1, 1]; x on node 1 with members {}; y on node 1 with members {}",
            "P1: Read(x): R reads x@1 = ()",
            "P1: Write(x, 0): W writes x@1 := 0",
            "P1: CAS(x, 0, 0): F; R reads x@1 = ()",
            "P1: CAS(x, 0, 0) = 0: U reads x@1 = 0 writes x@1 := 0",
            "P1: FAA(x, 0): U reads x@1 = () writes x@1 := step 0",
            "P1: Xchg(x, 0): U reads x@1 = () writes x@1 := 0",
            "P1: Mfence(): F",
        ],
    ),
];
