//! Emitted Rust runs: over the machine of `mowgli-fabric`, random clients of each library and variant have the results of
//! the interpreted bodies.
//!
//! The emitted code is compiled as one program, `common/calls.rs`. A process of it makes the calls of a thread. Threads of
//! `mowgli-fabric` make the operations of these calls.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::mem::{Discriminant, discriminant};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use itertools::Itertools as _;
use mowgli::emit::{RUST_PORT, in_rust, rust_function_name};
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::soundness::client::Client;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::method;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World as Objects};
use mowgli_fabric::{Fabric, Fault, Group};
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_rdma::wait::{Method, WAIT, word};
use tempfile::TempDir;

use crate::mowgli_port::{BOT, List, Port as _, Word, World, packed, unpacked};
use crate::port::{FabricNames, FabricThread, numbers};
use crate::ran::file;
use crate::stack::{can_be_made, stack};

/// The libraries whose objects `mowgli-fabric` runs by emitted code.
const OF_FABRIC: [&str; 12] = [
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
    let entries = catalogue();
    let variant_of = |name: &&str| {
        let (name, variant) = name.split_once(':').unwrap_or((*name, ""));
        let entry = entries.iter().find(|entry| entry.name == name).expect("a library");
        let variant = entry.variants.iter().find(|v| v.name == variant);
        (entry, variant.map_or_else(|| entry.default_variant(), Ok).expect("a variant"))
    };
    let wanted = OF_FABRIC.iter().map(variant_of).collect::<Vec<_>>();
    assert!(
        in_rust(&entries, &wanted).expect("code") == include_str!("../src/emitted/objects.rs"),
        "write it again: cargo mowgli emit rust {} > products/fabric/src/emitted/objects.rs",
        OF_FABRIC.join(" ")
    );
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

/// A library, as a variant that has a form in Rust.
struct Emitted<'a> {
    entry: &'a Entry,
    variant: &'a Variant,
    text: String,
}

impl<'a> Emitted<'a> {
    /// Returns the libraries and variants of the catalogue that have a form in Rust.
    fn all(entries: &'a [Entry]) -> Vec<Self> {
        let all = entries.iter().flat_map(|entry| entry.variants.iter().map(move |variant| (entry, variant)));
        let emitted =
            |(entry, variant)| Some(Self { entry, variant, text: in_rust(entries, &[(entry, variant)]).ok()? });
        all.filter_map(emitted).collect()
    }

    fn name(&self) -> String {
        format!("{}:{}", self.entry.name, self.variant.name)
    }

    fn module(&self) -> String {
        self.name().replace(['-', ':'], "_")
    }

    /// Returns the functions of the library's module, each with the names of the arguments after the first.
    fn functions(&self) -> Vec<(&str, Vec<&str>)> {
        let module = format!("\npub mod {} {{\n", self.entry.name.replace('-', "_"));
        let (_, text) = self.text.split_once(&module).expect("the library");
        let (text, _) = text.split_once("\n}\n").expect("the end of the library");
        let functions = text.lines().filter_map(|line| line.strip_prefix("    pub fn ")?.split_once('('));
        functions
            .map(|(name, rest)| {
                let names = rest.split(", ").filter_map(|argument| Some(argument.split_once(": ")?.0));
                (name.trim_end_matches("<P: Port>"), names.skip(1).collect())
            })
            .collect()
    }

    /// Returns the entry of this variant in `variants!` of `common/calls.rs`.
    fn declaration(&self) -> String {
        let places = |names: &[&str]| (0..names.len()).join(" ");
        let functions = self.functions();
        let functions = functions.iter().map(|(name, names)| format!("{name}({})", places(names))).join(" ");
        format!("{} {} {{ {functions} }}\n", self.module(), self.entry.name.replace('-', "_"))
    }
}

/// A process that makes the calls of one thread.
struct Caller {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Caller {
    fn start(program: &Path) -> Self {
        let mut command = Command::new(program);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { process, input, output: BufReader::new(output) }
    }

    fn say(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).expect("the process reads");
    }

    /// Returns a word, and the numbers after it.
    fn answer(&mut self) -> (String, Vec<i64>) {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the process writes");
        let mut words = line.split_whitespace();
        let word = words.next().expect("the process goes on").to_owned();
        (word, words.map(|v| v.parse().expect("a number")).collect())
    }

    /// Makes a call, whose operations this thread of a group makes.
    fn call(&mut self, call: &str, port: &mut FabricThread<'_, '_>, world: &World) -> Result<Vec<i64>, Fault> {
        self.say(call);
        let mut fault = Fault::Endless("a thread takes no part in the object".to_owned());
        loop {
            let (operation, numbers) = self.answer();
            let at = |v: i64| Word { node: world.words[v as usize].0, at: v as usize };
            let row = |numbers: &[i64]| numbers.iter().map(|v| at(*v)).collect::<Vec<_>>();
            let id = |v: i64| v as u32;
            let result = match (&*operation, &numbers[..]) {
                ("=", result) => return Ok(result.to_vec()),
                ("fails", []) => return Err(fault),
                ("read", &[x]) => port.read(at(x)),
                ("cas", &[x, old, new]) => port.cas(at(x), old, new),
                ("xchg", &[x, v]) => port.xchg(at(x), v),
                ("faa", &[x, v]) => port.faa(at(x), v),
                (operation, numbers) => {
                    let done = match (operation, numbers) {
                        ("write", &[x, v]) => port.write(at(x), v),
                        ("mfence", []) => port.mfence(),
                        ("get", &[d, to, from]) => port.get(at(to), at(from), id(d)),
                        ("put", &[d, to, from]) => port.put(at(to), at(from), id(d)),
                        ("get_words", [d, words @ ..]) => {
                            let (to, from) = words.split_at(words.len() / 2);
                            port.get_words(&row(to), &row(from), id(*d))
                        }
                        ("put_words", [d, words @ ..]) => {
                            let (to, from) = words.split_at(words.len() / 2);
                            port.put_words(&row(to), &row(from), id(*d))
                        }
                        ("rcas", &[to, on, old, new, d]) => port.rcas(at(to), at(on), old, new, id(d)),
                        ("rfaa", &[to, on, v, d]) => port.rfaa(at(to), at(on), v, id(d)),
                        ("wait", &[d]) => port.wait(id(d)),
                        ("rfence", &[n]) => port.rfence(n),
                        ("again", []) => port.again(),
                        other => panic!("{other:?} is no operation"),
                    };
                    done.map(|()| 0)
                }
            };
            match result {
                Ok(v) => self.say(&v.to_string()),
                Err(why) => {
                    fault = why;
                    self.say("fails");
                }
            }
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The largest number of threads of a client.
const THREADS: usize = 3;

/// The program with emitted code.
struct Program {
    path: PathBuf,
    /// The program is gone without it.
    _folder: TempDir,
}

impl Program {
    fn new(emitted: &[Emitted<'_>]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        file(folder.path(), RUST_PORT.0, RUST_PORT.1);
        for library in emitted {
            file(folder.path(), &format!("{}.rs", library.module()), &library.text);
        }
        let declared: String = emitted.iter().map(Emitted::declaration).collect();
        let text = format!("{}\nvariants! {{\n{declared}}}\n", include_str!("common/calls.rs"));
        let main = file(folder.path(), "calls.rs", &text);
        let path = folder.path().join("calls");
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2024", "-D", "warnings", "-o"]).arg(&path).arg(main);
        let compiled = rustc.output().expect("rustc runs");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Self { path, _folder: folder }
    }

    /// Starts a process for each thread of a client.
    fn callers(&self) -> Vec<Mutex<Caller>> {
        (0..THREADS).map(|_| Mutex::new(Caller::start(&self.path))).collect()
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
            let (threads, nodes) = (random.usize(2..=THREADS), random.u8(1..=3));
            let placement: Vec<Node> = (0..threads).map(|_| Node(random.u8(1..=nodes))).collect();
            let nodes = placement.iter().max().unwrap().0;
            let bound = Bound {
                threads,
                nodes,
                calls: 4,
                objects: random.usize(1..=2),
                values: vec![1, 2, 3],
                words: 2,
                ..Bound::default()
            };
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
                        let call = random.choice(of_kind).unwrap();
                        calls.insert(at, call.clone());
                    }
                }
            }
            return Self { world, client };
        }
    }

    fn group(&self) -> Group {
        Group::new(&self.world.threads.iter().map(|n| n.0).collect::<Vec<_>>())
    }

    /// Runs the client with interpreted bodies.
    fn interpreted(&self, entries: &[Entry], (entry, variant): (&Entry, &Variant), seed: u64) -> Vec<Ended> {
        let all = stack(entries, entry, variant);
        let chosen = |group: Group, (entry, variant): (&Entry, &Variant)| group.variant(entry.name, variant.name);
        let mut group = all.into_iter().fold(self.group().interpreted(), chosen);
        for (x, object) in &self.world.objects {
            group.object(&x.to_string(), object.clone());
        }
        let run = |thread: &mut mowgli_fabric::Thread<'_>| {
            Ok(ended(&self.client.threads[thread.id().index()], |call| thread.call(call).map(numbers)))
        };
        group.run(Fabric::Machine { seed }, run).unwrap()
    }

    /// Runs the client with emitted code.
    fn emitted(&self, callers: &[Mutex<Caller>], emitted: &Emitted<'_>, seed: u64) -> Vec<Ended> {
        let (words, objects): (Vec<_>, Vec<_>) =
            self.world.objects.iter().partition(|(_, object)| object.library == WAIT);
        let calls = self.client.threads.iter().flatten();
        let identifiers: BTreeSet<Val> =
            calls.flat_map(|call| &call.args).filter(|v| matches!(v, Val::Wid(_))).copied().collect();
        let functions = emitted.functions();
        let given = functions.iter().find(|(name, _)| *name == "new").map_or(&[][..], |(_, given)| given);
        let declared = objects.iter().map(|(_, object)| given.iter().map(|given| declared(object, given)).join(" "));
        let declared = declared.map(|object| object + " ;").collect::<String>();
        let node_of: Vec<i64> = self.world.threads.iter().map(|n| n.0.into()).collect();
        let threads = &callers[..node_of.len()];
        let mut made = threads.iter().enumerate().map(|(t, caller)| {
            let mut caller = caller.lock().unwrap();
            let (nodes, of) = (list(&[self.world.nodes.into()]), list(&node_of));
            caller.say(&format!("{} {} {nodes} {of}", emitted.module(), t + 1));
            caller.say(&declared);
            caller.answer()
        });
        let (_, made) = made.all_equal_value().expect("all threads make the same words");
        let mut world = World::new(self.world.nodes.into(), &node_of);
        world.words = made[1..].iter().copied().tuples().collect();
        let own = made[0] as u32;
        world.ids = own + identifiers.len() as u32;
        let mut group = self.group();
        let names = FabricNames::add(&mut group, &world);
        for (x, word) in words {
            group.object(&x.to_string(), word.clone());
        }
        let id =
            |v: Val| own + 1 + identifiers.iter().position(|d| *d == v).expect("an identifier of the client") as u32;
        let place = |x: Loc| objects.iter().position(|(y, _)| **y == x).expect("an object of the client");
        let argument = |v: &Val| match *v {
            Val::Loc(x) => list(&[place(x) as i64]),
            Val::NoWid => list(&[0]),
            Val::Wid(_) => list(&[id(*v).into()]),
            Val::Nodes(ns) => list(&[ns.iter().fold(0, |all, n| all | 1 << n.0)]),
            Val::Node(n) => list(&[n.0.into()]),
            v => list(&numbers(v)),
        };
        let of_words = |call: &Call| {
            let named = |v: &Val| if matches!(v, Val::Wid(_)) { names.id(id(*v)) } else { *v };
            Call::new(call.library, call.method.text(), &call.args.iter().map(named).collect::<Vec<_>>())
        };
        let run = |thread: &mut mowgli_fabric::Thread<'_>| {
            let at = thread.id().index();
            let mut caller = threads[at].lock().unwrap();
            let results = ended(&self.client.threads[at], |call| {
                if call.library == WAIT {
                    return thread.call(&of_words(call)).map(numbers);
                }
                let function = rust_function_name(call.method.text());
                let line = std::iter::once(function).chain(call.args.iter().map(argument)).join(" ");
                caller.call(&line, &mut FabricThread { thread, names: &names }, &world)
            });
            caller.say("");
            Ok(results)
        };
        group.run(Fabric::Machine { seed }, run).unwrap()
    }
}

/// Returns a part of the declaration of an object, as an argument of `new`.
fn declared(object: &Object, given: &str) -> String {
    match given {
        "node" => list(&[object.node.unwrap().0.into()]),
        "initial" => list(&numbers(object.init)),
        "size" => list(&[object.size as i64]),
        "members" => list(&object.members.iter().map(|t| t.index() as i64 + 1).collect::<Vec<_>>()),
        other => panic!("no object has {other}"),
    }
}

/// Returns numbers as an argument: an empty list is a comma.
fn list(numbers: &[i64]) -> String {
    if numbers.is_empty() { ",".to_owned() } else { numbers.iter().map(|v| format!("{v},")).collect() }
}

/// The number of clients with other results, for another seed or in another variant, after which the test seeks no more.
const ENOUGH: usize = 5;

/// Some clients of a variant.
#[derive(Debug)]
struct Counts {
    /// True if the variant is expected to be correct. Then it may have the results of the default one.
    is_correct: bool,
    /// The clients whose calls all return.
    whole: u64,
    /// The clients with other results for the next seed, up to [`ENOUGH`].
    by_seed: usize,
    /// The clients with other results in the default variant, up to [`ENOUGH`].
    by_variant: usize,
}

/// Compares these clients of each variant, each with one seed.
fn compared(entries: &[Entry], emitted: &[Emitted<'_>], clients: u64) -> Vec<Counts> {
    let program = Program::new(emitted);
    let of_variant = |callers: &[Mutex<Caller>], emitted: &Emitted<'_>| {
        let interpreted = |sample: &Sample, variant, seed| sample.interpreted(entries, (emitted.entry, variant), seed);
        let is_correct = emitted.variant.expected.is_correct();
        let mut counts = Counts { is_correct, whole: 0, by_seed: 0, by_variant: 0 };
        for seed in 0..clients {
            let sample = Sample::random(emitted.entry, seed);
            let known = interpreted(&sample, emitted.variant, seed);
            let found = sample.emitted(callers, emitted, seed);
            assert_eq!(found, known, "{}, seed {seed}: {:?} {:?}", emitted.name(), sample.world, sample.client);
            counts.whole += u64::from(known.iter().all(|(_, fault)| fault.is_none()));
            let is_other = |variant, seed| interpreted(&sample, variant, seed) != known;
            counts.by_seed += usize::from(counts.by_seed < ENOUGH && is_other(emitted.variant, seed + 1));
            let default = emitted.entry.default_variant().unwrap();
            counts.by_variant += usize::from(counts.by_variant < ENOUGH && is_other(default, seed));
        }
        counts
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let work = |worker: usize| -> Vec<Counts> {
        let callers = program.callers();
        emitted.iter().skip(worker).step_by(workers).map(|emitted| of_variant(&callers, emitted)).collect()
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        all.into_iter().flat_map(|worker| worker.join().expect("equal results")).collect()
    })
}

#[test]
fn emitted_code_has_the_results_of_the_interpreter() {
    let entries = catalogue();
    let mut emitted = Emitted::all(&entries);
    let is_default = |of: &Emitted<'_>| of.variant.name == of.entry.default_variant().unwrap().name;
    let is_last = |of: &Emitted<'_>| of.variant.name == of.entry.variants.last().unwrap().name;
    emitted.retain(|of| is_default(of) || is_last(of));
    assert!(emitted.len() > 25, "{}", emitted.len());
    let counts = compared(&entries, &emitted, 3);
    let [by_seed, by_variant]: [usize; 2] =
        [|of: &Counts| of.by_seed, |of: &Counts| of.by_variant].map(|n| counts.iter().map(n).sum());
    let whole: u64 = counts.iter().map(|of| of.whole).sum();
    // The results depend on the schedule and on each operation, and most calls return.
    assert!(by_seed > 30 && by_variant > 5 && whole > 60, "{counts:?}");
}

#[test]
#[ignore = "takes half an hour"]
fn emitted_code_has_the_results_of_the_interpreter_for_1000_clients_of_each_variant() {
    let entries = catalogue();
    let emitted = Emitted::all(&entries);
    assert!(emitted.len() > 90, "{}", emitted.len());
    for counts in compared(&entries, &emitted, 1000) {
        assert!(counts.by_seed > 0 && (counts.by_variant > 0 || counts.is_correct) && counts.whole > 300, "{counts:?}");
    }
}
