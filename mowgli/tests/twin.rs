//! Emitted Rust runs: over the machine of `mowgli-fabric` it has the results of the interpreted bodies.

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid, Wid};
use mowgli_core::value::Val;
use mowgli_core::world::Object;
use mowgli_fabric::{Fabric, Fault, Group};
use mowgli_libraries::bal::{BAL_PUTS, BAL_TRANSITIVE};
use mowgli_libraries::rbl::{Rbl, ring};

use crate::mowgli_port::{BOT, Id, List, World, checksum, only, packed, unpacked};
use crate::objects::{
    Me, Own, bal, bal_puts, bal_transitive, counter, map, nlock, queue, rbl, rbl_weak, sc_rmw, slock, sv, trylock,
    wlock,
};
use crate::port::{FabricNames, FabricThread, numbers};
use crate::ran::mowgli;

/// The command that writes `emitted/objects.rs`. Interpreted operations, of which the port here is made, hold no checksum. So the
/// variant `hashed` is compared in `mowgli-fabric/tests/compiled.rs`.
const COMMAND: [&str; 16] = [
    "emit",
    "rust",
    "sv",
    "bal",
    "bal-transitive",
    "bal-puts",
    "wlock",
    "slock",
    "nlock",
    "trylock",
    "sc-rmw",
    "rbl:one-put",
    "rbl-weak",
    "counter",
    "queue",
    "map",
];

#[test]
fn the_objects_are_those_that_the_command_writes() {
    let printed = mowgli(&COMMAND);
    let command = COMMAND.join(" ");
    assert!(
        printed.out == include_str!("emitted/objects.rs"),
        "write it again: cargo run -- {command} > mowgli/tests/emitted/objects.rs"
    );
}

/// The libraries whose objects `mowgli-fabric` runs by emitted code.
const OF_FABRIC: [&str; 14] = [
    "emit",
    "rust",
    "sv",
    "bal",
    "bal-puts",
    "wlock",
    "slock",
    "nlock",
    "trylock",
    "sc-rmw",
    "rbl:hashed",
    "msw",
    "kvstore:slot-per-key",
    "table",
];

#[test]
fn the_objects_of_mowgli_fabric_are_those_that_the_command_writes() {
    let printed = mowgli(&OF_FABRIC);
    let command = OF_FABRIC.join(" ");
    assert!(
        printed.out == include_str!("../../mowgli-fabric/src/emitted/objects.rs"),
        "write it again: cargo run -- {command} > mowgli-fabric/src/emitted/objects.rs"
    );
}

#[test]
fn checksums_differ_where_one_word_does() {
    let mut all: Vec<[i64; 3]> = (-500..500).flat_map(|v| [[v, 7, BOT], [7, v, BOT], [7, BOT, v << 40]]).collect();
    all.sort_unstable();
    all.dedup();
    let sums: std::collections::BTreeSet<i64> = all.iter().map(|words| checksum(words)).collect();
    assert_eq!((sums.len(), sums.contains(&BOT)), (all.len(), false));
    assert_ne!(checksum(&[0]), checksum(&[0, 0]));
}

#[test]
fn numbers_come_back_from_their_word() {
    let widths = &[8, 23, 32];
    let most = [(1 << 8) - 1, (1 << 23) - 1, (1 << 32) - 1];
    for parts in [[0, 0, 0], [1, 0, 3], [0, 7, 1], most] {
        let word = packed(&List::of(&parts), widths);
        assert!(word >= 0 && unpacked(word, widths) == List::of(&parts), "{parts:?}");
    }
    assert!(unpacked(BOT, widths).is_bot());
    let too_large = std::panic::catch_unwind(|| packed(&List::of(&[0, 1 << 23, 0]), widths));
    assert!(too_large.is_err(), "a part would change the one before it");
}

#[test]
fn the_last_thread_of_each_other_node_serves() {
    let world = World::new(3, &[1, 2, 1, 3, 2]);
    assert_eq!([1, 2].map(|thread| world.servers(thread).as_slice().to_vec()), [vec![1, 5, 4], vec![2, 3, 4]]);
}

/// A step of a client: a few calls of one object.
#[derive(Clone, Copy, Debug)]
enum Action {
    Meet,
    Share(i64),
    Look,
    Send,
    SendAndWait,
    Flush,
    /// Each adds to the shared variable of its node, in a section of one of the locks.
    Locked(&'static str),
    /// The same in a section of the lock with attempts, if the attempt succeeds.
    Attempt,
    Store(i64),
    Load,
    Add(i64),
    Swap(i64, i64),
    Submit(i64),
    Receive,
    SubmitWeakly(i64),
    ReceiveWeakly,
    Count,
    Counted,
    Enqueue(i64),
    Dequeue,
    Insert(i64),
    Update(i64),
    Delete,
    Lookup,
    MeetTransitively,
    MeetForPuts,
}

const LOCKS: [&str; 3] = ["wlock", "slock", "nlock"];

/// Returns the steps of each thread: all meet after each round.
fn client(random: &mut fastrand::Rng, threads: usize) -> Vec<Vec<Action>> {
    let action = |random: &mut fastrand::Rng, thread: usize| match random.u32(..22) {
        0 => Action::Share(random.i64(1..5)),
        1 => Action::Look,
        2 => Action::Send,
        3 => Action::SendAndWait,
        4 => Action::Flush,
        5 | 6 => Action::Locked(LOCKS[random.usize(..3)]),
        7 => Action::Store(random.i64(1..5)),
        8 => Action::Load,
        9 => Action::Add(random.i64(1..5)),
        10 => Action::Swap(random.i64(0..3), random.i64(1..5)),
        11 => Action::Count,
        12 => Action::Counted,
        13 => Action::Enqueue(random.i64(1..5)),
        14 => Action::Dequeue,
        15 => Action::Insert(random.i64(1..5)),
        16 => Action::Update(random.i64(1..5)),
        17 => Action::Delete,
        18 => Action::Lookup,
        19 => Action::Attempt,
        20 if thread == 0 => Action::SubmitWeakly(random.i64(1..5)),
        20 => Action::ReceiveWeakly,
        _ if thread == 0 => Action::Submit(random.i64(1..5)),
        _ => Action::Receive,
    };
    let round = |random: &mut fastrand::Rng, thread, meeting| {
        let mut all: Vec<Action> = (0..random.usize(1..4)).map(|_| action(random, thread)).collect();
        all.push(meeting);
        all
    };
    let meetings = [Action::Meet, Action::MeetForPuts, Action::MeetTransitively];
    (0..threads).map(|thread| meetings.iter().flat_map(|meeting| round(random, thread, *meeting)).collect()).collect()
}

/// The results of each thread, of one step after the other.
type Results = Result<Vec<Vec<Vec<i64>>>, Fault>;

/// Runs a client with interpreted bodies. `barrier` is the variant of the barrier.
fn interpreted(fabric: Fabric, nodes: &[u8], client: &[Vec<Action>], barrier: &str) -> Results {
    let mut group = Group::new(nodes).variant("bal", barrier);
    let all: Vec<usize> = (0..nodes.len()).collect();
    group.barrier("bal", &all);
    group.shared_var("sv");
    group.weak_lock("wlock", 1);
    group.strong_lock("slock", 2);
    group.node_lock("nlock", 1);
    group.try_lock("trylock", 2);
    group.atomic("sc-rmw", 2);
    group.ring("rbl", 0, &all[1..], 4);
    let threads: Vec<Tid> = all.iter().map(|&t| Tid::from_index(t)).collect();
    for (library, object) in [
        ("bal-transitive", Object::new(BAL_TRANSITIVE).members(&threads)),
        ("bal-puts", Object::new(BAL_PUTS).members(&threads)),
        ("rbl-weak", ring(Rbl::Weak, threads[0], &threads[1..], 4)),
    ] {
        group.object(library, object);
    }
    for library in ["counter", "queue", "map"] {
        group.object(library, Object::new(Name::literal(library)).at(Node(2)));
    }
    group.run(fabric, |thread| {
        client[thread.id().index()].iter().map(|action| by_interpreter(thread, *action)).collect()
    })
}

/// Makes the calls of a step by interpreted bodies. Each object has the name of its library.
fn by_interpreter(thread: &mut mowgli_fabric::Thread<'_>, action: Action) -> Result<Vec<i64>, Fault> {
    let others: NodeSet = thread.others();
    let d: Val = Wid(Name::literal("program")).into();
    let mut call = |library: &'static str, method, args: &[Val]| {
        let args = [&[Loc::new(library).into()], args].concat();
        thread.call(&Call::new(Name::literal(library), method, &args))
    };
    Ok(numbers(match action {
        Action::Meet => call("bal", "BAR", &[])?,
        Action::Share(v) => call("sv", "Write", &[v.into()])?,
        Action::Look => call("sv", "Read", &[])?,
        Action::Send => call("sv", "Bcast", &[Val::NoWid, others.into()])?,
        Action::SendAndWait => {
            call("sv", "Bcast", &[d, others.into()])?;
            thread.call(&Call::new(Name::literal("sv"), "Wait", &[d]))?
        }
        Action::Flush => thread.call(&Call::new(Name::literal("sv"), "GF", &[others.into()]))?,
        Action::Locked(lock) => {
            call(lock, "Acq", &[])?;
            let seen = call("sv", "Read", &[])?;
            call("sv", "Write", &[(numbers(seen)[0] + 1).into()])?;
            call(lock, "Rel", &[])?;
            seen
        }
        Action::Attempt => {
            let taken = call("trylock", "TryAcq", &[])?;
            if taken == Val::Bool(true) {
                let seen = call("sv", "Read", &[])?;
                call("sv", "Write", &[(numbers(seen)[0] + 1).into()])?;
            }
            let released = call("trylock", "Rel", &[])?;
            return Ok([numbers(taken), numbers(released)].concat());
        }
        Action::Store(v) => call("sc-rmw", "Write", &[v.into()])?,
        Action::Load => call("sc-rmw", "Read", &[])?,
        Action::Add(v) => call("sc-rmw", "FAA", &[v.into()])?,
        Action::Swap(old, new) => call("sc-rmw", "CAS", &[old.into(), new.into()])?,
        Action::Submit(v) => call("rbl", "Submit", &[v.into()])?,
        Action::Receive => call("rbl", "Receive", &[])?,
        Action::SubmitWeakly(v) => call("rbl-weak", "Submit", &[v.into()])?,
        Action::ReceiveWeakly => call("rbl-weak", "Receive", &[])?,
        Action::Count => call("counter", "Inc", &[])?,
        Action::Counted => call("counter", "Get", &[])?,
        Action::Enqueue(v) => call("queue", "Enq", &[v.into()])?,
        Action::Dequeue => call("queue", "Deq", &[])?,
        Action::Insert(v) => call("map", "Insert", &[0.into(), v.into()])?,
        Action::Update(v) => call("map", "Update", &[0.into(), v.into()])?,
        Action::Delete => call("map", "Delete", &[0.into()])?,
        Action::Lookup => call("map", "Lookup", &[0.into()])?,
        Action::MeetTransitively => call("bal-transitive", "BAR", &[])?,
        Action::MeetForPuts => call("bal-puts", "BAR", &[])?,
    }))
}

/// The objects of a client.
struct Made {
    own: Own,
    meeting: bal::Object,
    variable: sv::Object,
    weak: wlock::Object,
    strong: slock::Object,
    node: nlock::Object,
    attempts: trylock::Object,
    atomic: sc_rmw::Object,
    ring: rbl::Object,
    transitive: bal_transitive::Object,
    for_puts: bal_puts::Object,
    weak_ring: rbl_weak::Object,
    counter: counter::Object,
    queue: queue::Object,
    map: map::Object,
    /// The identifier of the client's own operations.
    program: Id,
}

/// Runs a client with emitted code.
fn emitted(fabric: Fabric, nodes: &[u8], client: &[Vec<Action>]) -> Results {
    let node_of: Vec<i64> = nodes.iter().map(|&n| n.into()).collect();
    let mut world = World::new(node_of.iter().copied().max().unwrap_or(1), &node_of);
    let all = world.all_threads();
    let made = Made {
        own: Own::new(&mut world),
        meeting: bal::new(&mut world, all.clone()),
        variable: sv::new(&mut world, 0),
        weak: wlock::new(&mut world, 1),
        strong: slock::new(&mut world, 2),
        node: nlock::new(&mut world, 1),
        attempts: trylock::new(&mut world, 2),
        atomic: sc_rmw::new(&mut world, 2, 0),
        ring: rbl::new(&mut world, all.clone(), 4),
        transitive: bal_transitive::new(&mut world, all.clone()),
        for_puts: bal_puts::new(&mut world, all.clone()),
        weak_ring: rbl_weak::new(&mut world, all, 4),
        counter: counter::new(&mut world, 2),
        queue: queue::new(&mut world, 2),
        map: map::new(&mut world, 2),
        program: world.id(),
    };
    let mut group = Group::new(nodes);
    let names = FabricNames::add(&mut group, &world);
    group.run(fabric, |thread| {
        let number = thread.id().index();
        let mut me = Me::new(FabricThread { thread, names: &names }, &world, &made.own, number as i64 + 1);
        client[number].iter().map(|action| by_code(&mut me, &made, *action)).collect()
    })
}

/// Makes the calls of a step by emitted code.
fn by_code(me: &mut Me<'_, FabricThread<'_, '_>>, made: &Made, action: Action) -> Result<Vec<i64>, Fault> {
    let others = me.world.all_nodes() & !only(me.node);
    let nothing = |(): ()| Vec::new();
    let one = |v: i64| vec![v];
    Ok(match action {
        Action::Meet => nothing(bal::bar(me, &made.meeting)?),
        Action::Share(v) => nothing(sv::write(me, &made.variable, v)?),
        Action::Look => one(sv::read(me, &made.variable)?),
        Action::Send => nothing(sv::bcast(me, &made.variable, 0, others)?),
        Action::SendAndWait => {
            sv::bcast(me, &made.variable, made.program, others)?;
            nothing(sv::wait(me, made.program)?)
        }
        Action::Flush => nothing(sv::gf(me, others)?),
        Action::Locked(lock) => {
            match lock {
                "wlock" => wlock::acq(me, &made.weak)?,
                "slock" => slock::acq(me, &made.strong)?,
                _ => nlock::acq(me, &made.node)?,
            }
            let seen = sv::read(me, &made.variable)?;
            sv::write(me, &made.variable, seen + 1)?;
            match lock {
                "wlock" => wlock::rel(me, &made.weak)?,
                "slock" => slock::rel(me, &made.strong)?,
                _ => nlock::rel(me, &made.node)?,
            }
            one(seen)
        }
        Action::Attempt => {
            let taken = trylock::try_acq(me, &made.attempts)?;
            if taken {
                let seen = sv::read(me, &made.variable)?;
                sv::write(me, &made.variable, seen + 1)?;
            }
            vec![taken.into(), trylock::rel(me, &made.attempts)?.into()]
        }
        Action::Store(v) => nothing(sc_rmw::write(me, &made.atomic, v)?),
        Action::Load => one(sc_rmw::read(me, &made.atomic)?),
        Action::Add(v) => one(sc_rmw::faa(me, &made.atomic, v)?),
        Action::Swap(old, new) => one(sc_rmw::cas(me, &made.atomic, old, new)?),
        Action::Submit(v) => one(rbl::submit(me, &made.ring, &List::of(&[v]))?.into()),
        Action::Receive => message(rbl::receive(me, &made.ring)?),
        Action::SubmitWeakly(v) => one(rbl_weak::submit(me, &made.weak_ring, &List::of(&[v]))?.into()),
        Action::ReceiveWeakly => message(rbl_weak::receive(me, &made.weak_ring)?),
        Action::Count => one(counter::inc(me, &made.counter)?),
        Action::Counted => one(counter::get(me, &made.counter)?),
        Action::Enqueue(v) => one(queue::enq(me, &made.queue, v)?.into()),
        Action::Dequeue => one(queue::deq(me, &made.queue)?),
        Action::Insert(v) => one(map::insert(me, &made.map, 0, v)?.into()),
        Action::Update(v) => one(map::update(me, &made.map, 0, v)?.into()),
        Action::Delete => one(map::delete(me, &made.map, 0)?.into()),
        Action::Lookup => one(map::lookup(me, &made.map, 0)?),
        Action::MeetTransitively => nothing(bal_transitive::bar(me, &made.transitive)?),
        Action::MeetForPuts => nothing(bal_puts::bar(me, &made.for_puts)?),
    })
}

/// Returns a message as numbers.
fn message(received: List) -> Vec<i64> {
    if received.is_bot() { vec![BOT] } else { received.as_slice().to_vec() }
}

/// Compares these clients, each with one seed. Returns how many have other results with the next seed, and how many with
/// a barrier that lacks a fence.
fn compared(clients: u64) -> (usize, usize) {
    let (mut by_seed, mut by_variant) = (0, 0);
    for seed in 0..clients {
        let mut random = fastrand::Rng::with_seed(seed);
        let nodes = [&[1, 2][..], &[1, 2, 1], &[1, 2, 3]][random.usize(..3)];
        let client = client(&mut random, nodes.len());
        let run = |seed| emitted(Fabric::Machine { seed }, nodes, &client);
        let known = interpreted(Fabric::Machine { seed }, nodes, &client, "published");
        assert!(known.is_ok(), "{client:?}: {known:?}");
        assert_eq!(run(seed), known, "seed {seed}: {client:?}");
        by_seed += usize::from(run(seed + 1) != known);
        by_variant += usize::from(interpreted(Fabric::Machine { seed }, nodes, &client, "no-fence") != known);
    }
    (by_seed, by_variant)
}

#[test]
fn emitted_code_has_the_results_of_the_interpreter() {
    let (by_seed, by_variant) = compared(40);
    // The results depend on the schedule and on each operation.
    assert!(by_seed > 10 && by_variant > 5, "{by_seed} {by_variant}");
}

#[test]
#[ignore = "takes a minute"]
fn emitted_code_has_the_results_of_the_interpreter_for_1000_clients() {
    let (by_seed, by_variant) = compared(1000);
    assert!(by_seed > 250 && by_variant > 125, "{by_seed} {by_variant}");
}
