//! Emitted code beside the interpreter of bodies: over the machine, random clients of each library have equal results.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::{Discriminant, discriminant};

use mowgli::emit::in_rust;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, Tid, Wid};
use mowgli_core::soundness::client::Client;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::method;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World as Objects};
use mowgli_fabric::mowgli_port::{BOT, Id, List, Port, Word, World, packed, unpacked};
use mowgli_fabric::{Fabric, Fault, Interpreted, Interpreter, Thread};
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_rdma::Way;
use mowgli_rdma::wait::{Method, WAIT, row, word};
use siphasher::sip::SipHasher13;

use crate::objects_code::{self as code, Me, Own};
use crate::stack::can_be_made;

const CODE: &str = include_str!("../src/emitted/objects.rs");

/// Returns the libraries and variants of the emitted code, which its first line has.
fn of_fabric(entries: &[Entry]) -> Vec<(&Entry, &Variant)> {
    let (_, names) = CODE.lines().next().unwrap().split_once("`mowgli emit rust ").expect("a list");
    let of = |name: &str| {
        let (name, variant) = name.split_once(':').expect("a library and a variant");
        let entry = entries.iter().find(|entry| entry.name == name).expect("a library");
        (entry, entry.variant(variant).expect("a variant"))
    };
    names.trim_end_matches("`.").split(' ').map(of).collect()
}

#[test]
fn the_objects_of_mowgli_fabric_are_those_that_the_command_writes() {
    let entries = catalogue();
    assert!(in_rust(&entries, &of_fabric(&entries)).expect("code") == CODE, "write it again: .ci/generate");
    assert!(include_str!("../src/emitted/mowgli_port.rs") == mowgli::emit::RUST_PORT.1, "write it again");
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

/// The checksum is the hash of the crate `siphasher`, but for bottom.
#[test]
fn checksums_are_keyed_hashes() {
    let mut random = fastrand::Rng::with_seed(73);
    for length in 0..100 {
        let mut world = World::new(0, &[]);
        world.key = [random.u64(..), random.u64(..)];
        let words: Vec<i64> = (0..length).map(|_| random.i64(..)).collect();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let expected = SipHasher13::new_with_keys(world.key[0], world.key[1]).hash(&bytes) as i64;
        assert_eq!(world.checksum(&words), expected, "{words:?}");
    }
}

/// A thread of emitted code, whose operations the interpreter makes by their names.
struct ByName<'t, 'a> {
    thread: &'t mut Thread<'a>,
    own: &'t Interpreted<'t>,
    ids: &'t Identifiers,
}

/// The identifiers of operations.
struct Identifiers {
    /// The number of those of objects.
    of_objects: Id,
    /// Those of the client, which come behind them.
    of_client: Vec<Val>,
}

impl Identifiers {
    fn name(&self, d: Id) -> Val {
        match d.checked_sub(self.of_objects + 1) {
            Some(at) => self.of_client[at as usize],
            None if d == 0 => Val::NoWid,
            None => Wid(Name::new(&format!("e{d}"))).into(),
        }
    }

    fn number(&self, d: Val) -> Id {
        self.of_client.iter().position(|other| *other == d).map_or(0, |at| self.of_objects + 1 + at as Id)
    }
}

impl ByName<'_, '_> {
    fn number(&mut self, operation: Method) -> Result<i64, Fault> {
        self.own.call(self.thread, &operation.into()).map(|v| numbers(v)[0])
    }

    fn nothing(&mut self, operation: Method) -> Result<(), Fault> {
        self.own.call(self.thread, &operation.into()).map(drop)
    }
}

/// The name of a word of emitted code.
fn at(x: Word) -> Loc {
    Loc::new(&format!("w{}", x.at))
}

fn rows(to: &[Word], from: &[Word]) -> [Val; 2] {
    [to, from].map(|words| row(&words.iter().map(|x| at(*x)).collect::<Vec<_>>()))
}

fn value(v: i64) -> Val {
    if v == BOT { Val::Bot } else { Val::Int(v) }
}

fn node(n: i64) -> Node {
    Node(n as u8)
}

impl Port for ByName<'_, '_> {
    type Fault = Fault;

    fn read(&mut self, x: Word) -> Result<i64, Fault> {
        self.number(Method::Read { x: at(x) })
    }
    fn write(&mut self, x: Word, v: i64) -> Result<(), Fault> {
        self.nothing(Method::Write { x: at(x), v: value(v) })
    }
    fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, Fault> {
        self.number(Method::CAS { x: at(x), v1: value(old), v2: value(new) })
    }
    fn xchg(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.number(Method::Xchg { x: at(x), v: value(v) })
    }
    fn faa(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.number(Method::FAA { x: at(x), v: value(v) })
    }
    fn mfence(&mut self) -> Result<(), Fault> {
        self.nothing(Method::Mfence {})
    }
    fn get(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.nothing(Method::Get { x: at(to), y: at(from), d: self.ids.name(d) })
    }
    fn put(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.nothing(Method::Put { x: at(to), y: at(from), d: self.ids.name(d) })
    }
    fn get_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        let [xs, ys] = rows(to, from);
        self.nothing(Method::GetWords { w: Way::USUAL.into(), xs, ys, d: self.ids.name(d) })
    }
    fn put_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        let [xs, ys] = rows(to, from);
        self.nothing(Method::PutWords { w: Way::USUAL.into(), xs, ys, d: self.ids.name(d) })
    }
    fn rcas(&mut self, to: Word, on: Word, old: i64, new: i64, d: Id) -> Result<(), Fault> {
        self.nothing(Method::RCAS { x: at(to), y: at(on), v1: value(old), v2: value(new), d: self.ids.name(d) })
    }
    fn rfaa(&mut self, to: Word, on: Word, v: i64, d: Id) -> Result<(), Fault> {
        self.nothing(Method::RFAA { x: at(to), y: at(on), v: value(v), d: self.ids.name(d) })
    }
    fn wait(&mut self, d: Id) -> Result<(), Fault> {
        self.nothing(Method::Wait { d: self.ids.name(d) })
    }
    fn rfence(&mut self, n: i64) -> Result<(), Fault> {
        self.nothing(Method::Rfence { n: node(n) })
    }
    fn again(&mut self) -> Result<(), Fault> {
        self.thread.by_port(&[], |port, _| port.again())
    }
    fn never(&mut self, _: &str) -> Fault {
        Fault::Endless("a thread takes no part in the object".to_owned())
    }
}

/// Returns a value as numbers: those of a tuple, or one.
fn numbers(v: Val) -> Vec<i64> {
    match v {
        Val::Tuple(parts) => parts.parts().iter().flat_map(|v| numbers(*v)).collect(),
        Val::Int(i) => vec![i],
        Val::Bool(b) => vec![b.into()],
        Val::Unit => Vec::new(),
        Val::Bot => vec![BOT],
        v => panic!("{v} is no number"),
    }
}

/// Makes an object by emitted code.
fn made(world: &mut World, object: &Object) -> Box<dyn Any + Send + Sync> {
    let home = object.node.map_or(0, |n| n.0.into());
    let members: List = object.members.iter().map(|t| t.index() as i64 + 1).collect();
    let (initial, size) = (numbers(object.init), object.size as i64);
    match object.library.text() {
        "sv" => Box::new(code::sv::new(world, initial[0])),
        "bal" => Box::new(code::bal::new(world, members)),
        "wlock" => Box::new(code::wlock::new(world, home)),
        "slock" => Box::new(code::slock::new(world, home)),
        "nlock" => Box::new(code::nlock::new(world, home)),
        "sc-rmw" => Box::new(code::sc_rmw::new(world, home, initial[0])),
        "rbl" => Box::new(code::rbl::new(world, members, size)),
        "msw" => Box::new(code::msw::new(world, home, List::of(&initial))),
        "kvstore" => Box::new(code::kvstore::new(world, size)),
        other => panic!("no object of {other}"),
    }
}

/// The arguments of a call, and the objects.
struct Arguments<'c>(&'c [Val], &'c BTreeMap<Loc, Box<dyn Any + Send + Sync>>, &'c Identifiers);

impl Arguments<'_> {
    fn object<X: 'static>(&self, k: usize) -> &X {
        self.1[&self.0[k].loc().expect("an object")].downcast_ref().expect("one of this library")
    }
    fn int(&self, k: usize) -> i64 {
        numbers(self.0[k])[0]
    }
    fn list(&self, k: usize) -> List {
        List::of(&numbers(self.0[k]))
    }
    fn nodes(&self, k: usize) -> u64 {
        let Val::Nodes(ns) = self.0[k] else { panic!("{} is no set of nodes", self.0[k]) };
        ns.iter().fold(0, |all, n| all | 1 << n.0)
    }
    fn id(&self, k: usize) -> Id {
        self.2.number(self.0[k])
    }
}

/// A result as numbers.
trait Numbers {
    fn numbers(self) -> Vec<i64>;
}

impl Numbers for () {
    fn numbers(self) -> Vec<i64> {
        Vec::new()
    }
}

impl Numbers for bool {
    fn numbers(self) -> Vec<i64> {
        vec![self.into()]
    }
}

impl Numbers for i64 {
    fn numbers(self) -> Vec<i64> {
        vec![self]
    }
}

impl Numbers for List {
    fn numbers(self) -> Vec<i64> {
        if self.is_bot() { vec![BOT] } else { self.as_slice().to_vec() }
    }
}

/// Makes a call by emitted code. Each function takes an object, and some of its arguments by their kinds.
macro_rules! calls {
    ($me:ident, $a:ident, $call:ident: $($library:ident $name:literal { $($method:literal $function:ident($($kind:ident $k:literal)*))* })*) => {
        match ($call.library.text(), $call.method.text()) {
            $($(($name, $method) => code::$library::$function($me $(, calls!(@$kind $a $k))*).map(Numbers::numbers),)*)*
            other => panic!("no function for {other:?}"),
        }
    };
    (@object $a:ident $k:literal) => { $a.object($k) };
    (@int $a:ident $k:literal) => { $a.int($k) };
    (@list $a:ident $k:literal) => { &$a.list($k) };
    (@nodes $a:ident $k:literal) => { $a.nodes($k) };
    (@id $a:ident $k:literal) => { $a.id($k) };
}

fn called<P: Port>(me: &mut Me<'_, P>, call: &Call, a: &Arguments<'_>) -> Result<Vec<i64>, P::Fault> {
    calls! { me, a, call:
        sv "sv" { "Write" write(object 0 int 1) "Read" read(object 0) "Bcast" bcast(object 0 id 1 nodes 2) "Wait" wait(id 0) "GF" gf(nodes 0) }
        bal "bal" { "BAR" bar(object 0) }
        wlock "wlock" { "Acq" acq(object 0) "Rel" rel(object 0) }
        slock "slock" { "Acq" acq(object 0) "Rel" rel(object 0) }
        nlock "nlock" { "Acq" acq(object 0) "Rel" rel(object 0) }
        sc_rmw "sc-rmw" { "Write" write(object 0 int 1) "Read" read(object 0) "CAS" cas(object 0 int 1 int 2) "FAA" faa(object 0 int 1) }
        rbl "rbl" { "Submit" submit(object 0 list 1) "Receive" receive(object 0) }
        msw "msw" { "Write" write(object 0 list 1) "TryRead" try_read(object 0) "Get" get(object 0 object 1 id 2)
            "Put" put(object 0 object 1 id 2) "Wait" wait(id 0) }
        kvstore "kvstore" { "Insert" insert(object 0 int 1 int 2) "Update" update(object 0 int 1 int 2) "Delete" delete(object 0 int 1)
            "Lookup" lookup(object 0 int 1) "Serve" serve(object 0) "TryServe" try_serve(object 0) }
    }
}

/// A client, with the objects of its library and some words.
struct Sample {
    world: Objects,
    client: Client,
}

/// The results of a thread's calls, and the kind of fault with which it ended, if any.
type Ended = (Vec<Vec<i64>>, Option<Discriminant<Fault>>);

/// Makes calls until one of them fails.
fn ended(calls: &[Call], mut make: impl FnMut(&Call) -> Result<Vec<i64>, Fault>) -> Ended {
    let mut results = Vec::new();
    for call in calls {
        match make(call) {
            Ok(result) => results.push(result),
            Err(fault) => return (results, Some(discriminant(&fault))),
        }
    }
    (results, None)
}

impl Sample {
    /// Returns a random client that keeps the assumption of the library. It has operations on words of its own between the calls.
    fn random(entry: &Entry, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let library = entry.library().unwrap();
        loop {
            let (threads, nodes) = (random.usize(2..=3), random.u8(1..=3));
            let placement: Vec<Node> = (0..threads).map(|_| Node(random.u8(1..=nodes))).collect();
            let nodes = placement.iter().max().unwrap().0;
            let objects = random.usize(1..=2);
            let bound =
                Bound { threads, nodes, calls: 4, objects, values: vec![1, 2, 3], words: 2, ..Bound::default() };
            let expired = || false;
            let mut worlds = entry.subject.worlds(&Objects::new(nodes, &placement), &bound, &expired);
            worlds.retain(can_be_made);
            let mut world = random.choice(worlds).unwrap();
            let of_thread = |random: &mut fastrand::Rng, t: Tid| {
                let all = entry.subject.calls(&world, t, &bound, &expired);
                let many = if all.is_empty() { 0 } else { random.usize(1..=bound.calls) };
                (0..many).map(|_| random.choice(&all).unwrap().clone()).collect()
            };
            let mut client = Client { threads: world.tids().map(|t| of_thread(&mut random, t)).collect() };
            if !client.is_well_formed(library, &world) {
                continue;
            }
            world.objects.extend((1..=nodes).map(|n| (Loc::new(&format!("word{n}")), word(Node(n)))));
            for (t, calls) in world.tids().zip(&mut client.threads) {
                let words = method::calls(WAIT, Method::TABLE, &world, t, &bound, &expired);
                let kinds: BTreeSet<Name> = words.iter().map(|call| call.method).collect();
                for at in (0..=calls.len()).rev() {
                    for _ in 0..random.usize(0..=3) {
                        let kind = random.choice(&kinds).unwrap();
                        let of_kind: Vec<&Call> = words.iter().filter(|call| call.method == *kind).collect();
                        calls.insert(at, random.choice(of_kind).unwrap().clone());
                    }
                }
            }
            return Self { world, client };
        }
    }

    /// Runs the client with interpreted bodies.
    fn interpreted(&self, entries: &[Entry], all: &BTreeMap<String, String>, seed: u64) -> Vec<Ended> {
        let interpreter = Interpreter::new(entries, self.world.clone(), [], all).unwrap();
        let run = |thread: &mut Thread<'_>, own: &Interpreted<'_>| {
            let calls = &self.client.threads[thread.id().index()];
            Ok(ended(calls, |call| own.call(thread, call).map(numbers)))
        };
        interpreter.run(Fabric::Machine { seed }, run).unwrap()
    }

    /// Runs the client with emitted code.
    fn emitted(&self, seed: u64) -> Vec<Ended> {
        let node_of: Vec<i64> = self.world.threads.iter().map(|n| n.0.into()).collect();
        let mut world = World::new(self.world.nodes.into(), &node_of);
        let own = Own::new(&mut world);
        let objects = self.world.objects.iter().filter(|(_, object)| object.library != WAIT);
        let objects = objects.map(|(x, object)| (*x, made(&mut world, object))).collect();
        let calls = self.client.threads.iter().flatten();
        let of_client: BTreeSet<Val> =
            calls.flat_map(|call| &call.args).filter(|v| matches!(v, Val::Wid(_))).copied().collect();
        let ids = Identifiers { of_objects: world.ids, of_client: of_client.into_iter().collect() };
        let mut words = self.world.clone();
        words.objects.retain(|_, object| object.library == WAIT);
        words.objects.extend(world.words.iter().enumerate().map(|(number, &(home, initial))| {
            (at(Word { node: home, at: number }), word(node(home)).init(value(initial)))
        }));
        let interpreter = Interpreter::new(&[], words, [], &BTreeMap::new()).unwrap();
        let run = |thread: &mut Thread<'_>, names: &Interpreted<'_>| {
            let t = thread.id().index();
            Ok(ended(&self.client.threads[t], |call| {
                if call.library == WAIT {
                    return names.call(thread, call).map(numbers);
                }
                let port = ByName { thread: &mut *thread, own: names, ids: &ids };
                let mut me = Me::new(port, &world, &own, t as i64 + 1);
                called(&mut me, call, &Arguments(&call.args, &objects, &ids))
            }))
        };
        interpreter.run(Fabric::Machine { seed }, run).unwrap()
    }
}

/// Compares clients of each library, each with one seed. Returns how many calls return, how many clients have other results with the
/// next seed, and how many in the last variant of the library.
fn compared(clients: u64) -> [u64; 3] {
    let entries = catalogue();
    let all = of_fabric(&entries);
    let chosen = |(entry, variant): &(&Entry, &Variant)| (entry.name.to_owned(), variant.name.to_owned());
    let variants: BTreeMap<String, String> = all.iter().map(chosen).collect();
    let mut counts = [0; 3];
    for (entry, _) in all {
        let other = entry.variants.iter().rfind(|v| !v.expected.is_correct()).unwrap();
        for seed in 0..clients {
            let sample = Sample::random(entry, seed);
            let known = sample.interpreted(&entries, &variants, seed);
            let found = sample.emitted(seed);
            assert_eq!(found, known, "{}, seed {seed}: {:?} {:?}", entry.name, sample.world, sample.client);
            counts[0] += known.iter().map(|(results, _)| results.len() as u64).sum::<u64>();
            counts[1] += u64::from(sample.interpreted(&entries, &variants, seed + 1) != known);
            let mut broken = variants.clone();
            broken.insert(entry.name.to_owned(), other.name.to_owned());
            counts[2] += u64::from(sample.interpreted(&entries, &broken, seed) != known);
        }
    }
    counts
}

#[test]
fn emitted_code_has_the_results_of_the_interpreter() {
    let counts = compared(6);
    // Calls return, and the results depend on the schedule and on each operation.
    assert!(counts[0] > 200 && counts[1] > 15 && counts[2] > 5, "{counts:?}");
}

#[test]
#[ignore = "takes minutes"]
fn emitted_code_has_the_results_of_the_interpreter_for_1000_clients_of_each_library() {
    let counts = compared(1000);
    assert!(counts[0] > 50_000 && counts[1] > 3000 && counts[2] > 1000, "{counts:?}");
}
