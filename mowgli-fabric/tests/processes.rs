//! Groups with a process for each node, over libfabric, on the loopback device and in shared memory. Where libfabric is missing these are
//! reported as ignored, not as passed. Each process of a test is this program again, with the name of what it is to do.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use libtest_mimic::{Arguments, Trial};
use mowgli_core::ids::{Loc, Name, Node, Wid};
use mowgli_core::value::Val;
use mowgli_fabric::{Company, Fault, Group, Provider, Thread};
use mowgli_rdma::tso::Method as Tso;
use mowgli_rdma::wait::{Method, word};

#[path = "../examples/common/among.rs"]
mod among;
#[path = "../examples/transfer/bank.rs"]
mod bank;
#[path = "../examples/ycsb/clients.rs"]
mod clients;
#[path = "../examples/store/history.rs"]
mod history;
#[path = "../examples/store/load.rs"]
mod load;
#[allow(dead_code, reason = "what the example prints")]
#[path = "../examples/converter/plant.rs"]
mod plant;

/// What a process of a test does.
type Role = fn(&Company, Provider) -> Result<(), Fault>;

/// The tests in which all processes do the same: how many there are.
const TOGETHER: [(&str, usize, Role); 13] = [
    ("a_get_does_not_pass_a_put", 2, a_get_does_not_pass_a_put),
    ("puts_keep_their_order_and_words_are_whole", 2, puts_keep_their_order_and_words_are_whole),
    ("nothing_passes_an_atomic", 2, nothing_passes_an_atomic),
    ("polls_are_of_their_own_operations", 2, polls_are_of_their_own_operations),
    ("atomics_of_all_threads_exclude_each_other", 3, atomics_of_all_threads_exclude_each_other),
    ("a_barrier_keeps_what_was_sent_before_it", 2, a_barrier_keeps_what_was_sent_before_it),
    ("a_lock_keeps_sections_apart", 2, a_lock_keeps_sections_apart),
    ("a_ring_brings_every_message_to_every_reader", 3, a_ring_brings_every_message_to_every_reader),
    ("a_map_says_on_every_node_what_was_put_in", 2, a_map_says_on_every_node_what_was_put_in),
    ("what_clients_of_a_store_see_is_linearisable", 4, what_clients_of_a_store_see_is_linearisable),
    ("what_a_load_of_a_store_sees_is_linearisable", 2, what_a_load_of_a_store_sees_is_linearisable),
    ("transfers_are_serialisable", 2, transfers_are_serialisable),
    ("commands_come_in_order_and_in_time", 3, commands_come_in_order_and_in_time),
];

/// What one process does in tests of faults.
const FAULTS: [(&str, Role); 6] = [
    ("stops", stops),
    ("gathers_over", gathers_over),
    ("gathers", |company, _| company.gather("").map(|_| ())),
    ("killed", |company, provider| meets(company, provider, 1, killed)),
    ("late", |company, provider| meets(company, provider, 1, || std::thread::sleep(Duration::from_secs(20)))),
    ("leaves", |company, provider| meets(company, provider, 1, || std::process::exit(3))),
];

const LIMIT: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, provider, name] = &arguments[..]
        && role == "role"
    {
        return played(name, if provider == "tcp" { Provider::Tcp } else { Provider::Shm });
    }
    let mut trials = vec![
        Trial::test("a_partner_that_does_not_start_is_named", done(a_partner_that_does_not_start_is_named)),
        Trial::test("a_connection_that_is_cut_is_told", done(a_connection_that_is_cut_is_told)),
        Trial::test("strangers_are_sent_away", done(strangers_are_sent_away)),
    ];
    for provider in [Provider::Tcp, Provider::Shm] {
        let missing = provider.check().err();
        if let Some(why) = &missing {
            eprintln!("tests over {} are ignored: {why}", provider.name());
        }
        let trial = |name: &str, test: Box<dyn FnOnce() + Send>| {
            let run = || {
                test();
                Ok(())
            };
            Trial::test(format!("{}::{name}", provider.name()), run)
                .with_kind("needs libfabric")
                .with_ignored_flag(missing.is_some())
        };
        for (name, size, role) in TOGETHER {
            trials.push(trial(name, Box::new(move || together(name, size, role, provider))));
        }
        for (name, expected) in [("killed", "signal: 9"), ("leaves", "exit status: 3")] {
            trials.push(trial(name, Box::new(move || one_leaves(name, expected, provider))));
        }
        let fence = Box::new(move || a_fence_waits_for_what_was_put_and_for_nothing_else(provider));
        trials.push(trial("a_fence_waits_for_what_was_put_and_for_nothing_else", fence));
        let killed = Box::new(move || what_killed_processes_leave_is_removed(provider));
        trials.push(trial("what_killed_processes_leave_is_removed", killed));
        trials.push(trial("late", Box::new(move || one_is_late(provider))));
    }
    let mut arguments = Arguments::from_args();
    // Processes that wait for each other are many already.
    arguments.test_threads.get_or_insert(1);
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn done(test: fn()) -> impl FnOnce() -> Result<(), libtest_mimic::Failed> + Send {
    move || {
        test();
        Ok(())
    }
}

/// This process plays a role in a test of another one.
fn played(name: &str, provider: Provider) -> ExitCode {
    let roles = TOGETHER.into_iter().map(|(name, _, role)| (name, role)).chain(FAULTS);
    let role = roles.into_iter().find(|(of, _)| *of == name).map(|(_, role)| role).expect("a role");
    // Tests of those that do not come do not wait long.
    let limit =
        std::env::var("MOWGLI_TEST_LIMIT").ok().and_then(|s| s.parse().ok()).map_or(LIMIT, Duration::from_secs_f64);
    let ran = Company::joined(limit).expect("started for a company").and_then(|company| role(&company, provider));
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{name}: {why}");
            ExitCode::FAILURE
        }
    }
}

fn started(name: &str, size: usize, provider: Provider, limit: Duration) -> Result<Company, Fault> {
    let arguments = ["role", provider.name(), name].map(str::to_owned);
    Company::start(size, &arguments, limit)
}

fn together(name: &str, size: usize, role: Role, provider: Provider) {
    let company = started(name, size, provider, LIMIT).unwrap();
    role(&company, provider).unwrap();
    assert_eq!(company.fault(), None);
}

/// Two words on each of two nodes, and a thread on each.
struct Words {
    group: Group,
    x: [Loc; 2],
    y: [Loc; 2],
    d: Val,
}

impl Words {
    fn new() -> Self {
        let mut group = Group::new(&[1, 2]).within(LIMIT);
        let mut pair = |name: &str| [1, 2].map(|n| group.object(&format!("{name}{n}"), word(Node(n))));
        let (x, y) = (pair("x"), pair("y"));
        Self { group, x, y, d: Val::Wid(Wid(Name::literal("d"))) }
    }

    /// Runs this in the thread of node 1, while that of node 2 looks at words until it says that it has seen enough.
    fn run(
        &self,
        company: &Company,
        provider: Provider,
        acts: impl Fn(&mut Thread<'_>) -> Result<(), Fault> + Sync,
        looks: impl Fn(&mut Thread<'_>) -> Result<bool, Fault> + Sync,
    ) -> Result<(), Fault> {
        let act = |thread: &mut Thread<'_>| match thread.id().index() {
            0 => acts(thread),
            _ => {
                while !looks(thread)? {}
                Ok(())
            }
        };
        self.group.run_among(company, provider, act).map(|_| ())
    }
}

fn read(thread: &mut Thread<'_>, x: Loc) -> Result<i64, Fault> {
    let v = thread.call(&Method::Read { x }.into())?;
    v.int().ok_or_else(|| Fault::Wrong(format!("{x} is {v}")))
}

fn all(thread: &mut Thread<'_>, methods: impl IntoIterator<Item = Method>) -> Result<(), Fault> {
    methods.into_iter().try_for_each(|method| thread.call(&method.into()).map(|_| ()))
}

const TIMES: i64 = 500;

/// put(x2, x1); get(y1, x2); wait: what was got is what was put.
fn a_get_does_not_pass_a_put(company: &Company, provider: Provider) -> Result<(), Fault> {
    let words = Words::new();
    let ([x1, x2], [y1, _], d) = (words.x, words.y, words.d);
    let acts = |thread: &mut Thread<'_>| {
        for i in 1..=TIMES {
            let put = Method::Put { x: x2, y: x1, d: Val::NoWid };
            let get = Method::Get { x: y1, y: x2, d };
            all(thread, [Method::Write { x: x1, v: i.into() }, put, get, Method::Wait { d }])?;
            assert_eq!(read(thread, y1)?, i);
        }
        Ok(())
    };
    words.run(company, provider, acts, |thread| Ok(read(thread, x2)? == TIMES))
}

/// Two words are put one after the other, over and over: who sees the second sees the first. Their values differ in all bytes.
fn puts_keep_their_order_and_words_are_whole(company: &Company, provider: Provider) -> Result<(), Fault> {
    const STEP: i64 = 0x0001_0203_0405_0607;
    let words = Words::new();
    let ([x1, x2], [y1, y2], d) = (words.x, words.y, words.d);
    let acts = |thread: &mut Thread<'_>| {
        for i in 1..=TIMES {
            let v = Val::Int(i * STEP);
            let writes = [Method::Write { x: x1, v }, Method::Write { x: y1, v }];
            let puts = [Method::Put { x: x2, y: x1, d }, Method::Put { x: y2, y: y1, d }, Method::Wait { d }];
            all(thread, writes.into_iter().chain(puts))?;
        }
        Ok(())
    };
    let looks = |thread: &mut Thread<'_>| {
        let (second, first) = (read(thread, y2)?, read(thread, x2)?);
        assert!(first % STEP == 0 && second % STEP == 0, "{first:x} or {second:x} is torn");
        assert!(first >= second, "{first:x} was put before {second:x}");
        Ok(second == TIMES * STEP)
    };
    words.run(company, provider, acts, looks)
}

/// A put after an addition to the same word is what remains, and is there when a get after it reads.
fn nothing_passes_an_atomic(company: &Company, provider: Provider) -> Result<(), Fault> {
    let words = Words::new();
    let ([x1, x2], [y1, _], d) = (words.x, words.y, words.d);
    let acts = |thread: &mut Thread<'_>| {
        for i in 1..=TIMES {
            let add = Method::RFAA { x: y1, y: x2, v: Val::Int(1000), d: Val::NoWid };
            let put = Method::Put { x: x2, y: x1, d: Val::NoWid };
            let get = Method::Get { x: y1, y: x2, d };
            all(thread, [Method::Write { x: x1, v: i.into() }, add, put, get, Method::Wait { d }])?;
            assert_eq!(read(thread, y1)?, i);
        }
        Ok(())
    };
    words.run(company, provider, acts, |thread| Ok(read(thread, x2)? == TIMES))
}

/// Polls take what the program has begun, one after the other, whatever is begun between on its behalf.
fn polls_are_of_their_own_operations(company: &Company, provider: Provider) -> Result<(), Fault> {
    let words = Words::new();
    let ([x1, x2], [y1, _]) = (words.x, words.y);
    let acts = |thread: &mut Thread<'_>| {
        for i in 1..=TIMES {
            let poll = Tso::Poll { n: Node(2) };
            let (put, add) = (Tso::Put { x: x2, y: x1 }, Tso::RFAA { x: y1, y: x2, v: Val::Int(0) });
            let first = [Tso::Write { x: x1, v: i.into() }, put, add, poll, poll];
            let last = [Tso::Write { x: y1, v: Val::Int(0) }, Tso::Get { x: y1, y: x2 }, poll];
            first.into_iter().chain(last).try_for_each(|method| thread.call(&method.into()).map(|_| ()))?;
            assert_eq!(read(thread, y1)?, i);
        }
        Ok(())
    };
    words.run(company, provider, acts, |thread| Ok(read(thread, x2)? == TIMES))
}

/// All threads, one of them on the node itself, add to a word: each gets another number.
fn atomics_of_all_threads_exclude_each_other(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2, 2, 3]).within(LIMIT);
    let (sum, barrier) = (group.object("s", word(Node(1))), group.barrier("b", &[0, 1, 2, 3]));
    let own: Vec<Loc> =
        [1, 2, 2, 3].iter().enumerate().map(|(i, &n)| group.object(&format!("p{i}"), word(Node(n)))).collect();
    let d = Val::Wid(Wid(Name::literal("d")));
    group.run_among(company, provider, |thread| {
        let p = own[thread.id().index()];
        let mut last = -1;
        for _ in 0..TIMES {
            all(thread, [Method::RFAA { x: p, y: sum, v: Val::Int(1), d }, Method::Wait { d }])?;
            let now = read(thread, p)?;
            assert!(now > last, "{now} after {last}");
            last = now;
        }
        barrier.wait(thread)?;
        all(thread, [Method::Get { x: p, y: sum, d }, Method::Wait { d }])?;
        assert_eq!(read(thread, p)?, 4 * TIMES);
        Ok(())
    })?;
    Ok(())
}

fn a_barrier_keeps_what_was_sent_before_it(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    let (barrier, x) = (group.barrier("b", &[0, 1]), group.shared_var("x"));
    group.run_among(company, provider, |thread| {
        for i in 1..=TIMES {
            if thread.id().index() == 0 {
                x.write(thread, i)?;
                x.broadcast(thread)?;
            }
            barrier.wait(thread)?;
            assert_eq!(x.read(thread)?, i);
            barrier.wait(thread)?;
        }
        Ok(())
    })?;
    Ok(())
}

fn a_lock_keeps_sections_apart(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    let (lock, sum) = (group.node_lock("l", 1), group.atomic("s", 2));
    let barrier = group.barrier("b", &[0, 1]);
    group.run_among(company, provider, |thread| {
        for _ in 0..20 {
            let mut held = lock.lock(thread)?;
            let next = sum.load(&mut held)? + 1;
            sum.store(&mut held, next)?;
            held.release()?;
        }
        barrier.wait(thread)?;
        assert_eq!(sum.load(thread)?, 40);
        Ok(())
    })?;
    Ok(())
}

fn a_ring_brings_every_message_to_every_reader(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2, 3]).within(LIMIT);
    let ring = group.ring("r", 0, &[1, 2], 8);
    group.run_among(company, provider, |thread| {
        for message in 0..TIMES {
            if thread.id().index() == 0 {
                while !ring.submit(thread, message)? {
                    thread.pause();
                }
                continue;
            }
            let got = loop {
                match ring.receive(thread)? {
                    Some(got) => break got,
                    None => thread.pause(),
                }
            };
            assert_eq!(got, message);
        }
        Ok(())
    })?;
    Ok(())
}

fn a_map_says_on_every_node_what_was_put_in(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).variant("kvstore", "fenced-delete").within(LIMIT);
    let (map, barrier) = (group.map("m", 2), group.barrier("b", &[0, 1]));
    group.run_among(company, provider, |thread| {
        for i in 0..20 {
            if thread.id().index() == 0 {
                assert!(map.insert(thread, 0, i)?);
                assert!(!map.insert(thread, 0, i)?);
                assert!(map.update(thread, 0, i + 1)?);
            } else {
                map.serve(thread)?;
            }
            barrier.wait(thread)?;
            assert_eq!((map.get(thread, 0)?, map.get(thread, 1)?), (Some(i + 1), None));
            barrier.wait(thread)?;
            match thread.id().index() {
                0 => assert!(map.remove(thread, 0)?),
                _ => map.serve(thread)?,
            }
            barrier.wait(thread)?;
            assert_eq!(map.get(thread, 0)?, None);
            barrier.wait(thread)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// All meet at a barrier; then the process of this rank does something else, while the others wait for it at the next one.
fn meets(company: &Company, provider: Provider, rank: usize, other: fn()) -> Result<(), Fault> {
    let nodes: Vec<u8> = (1..=company.size() as u8).collect();
    let mut group = Group::new(&nodes).within(Duration::from_secs(3));
    let barrier = group.barrier("b", &(0..nodes.len()).collect::<Vec<_>>());
    let ran = group.run_among(company, provider, |thread| {
        barrier.wait(thread)?;
        if thread.id().index() == rank {
            other();
        }
        barrier.wait(thread)
    });
    ran.map(|_| ())
}

/// This process is killed, from outside.
fn killed() {
    let own = std::process::id().to_string();
    _ = Command::new("kill").args(["-9", &own]).status();
    std::thread::sleep(LIMIT);
}

/// A process that ends without a word is named, with how it ended, and soon.
fn one_leaves(name: &str, expected: &str, provider: Provider) {
    let begin = Instant::now();
    let company = started(name, 3, provider, LIMIT).unwrap();
    let fault = meets(&company, provider, usize::MAX, || {}).unwrap_err();
    let Fault::Gone(text) = &fault else { panic!("{fault:?}") };
    assert!(text.contains("node 2 (process ") && text.contains(expected), "{text}");
    drop(company);
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    assert_eq!(left(|pid| text.contains(&format!("(process {pid})"))), 0);
}

/// How many files there are in shared memory of processes with such numbers.
fn left(of: impl Fn(&str) -> bool) -> usize {
    let names = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = names.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("mowgli-") && name.split('-').nth(2).is_some_and(&of)).count()
}

/// Processes of which nobody is left to tidy up are in nobody's way, and the next one removes what they left.
fn what_killed_processes_leave_is_removed(provider: Provider) {
    let folder = tempfile::tempdir().unwrap();
    let mut both = ["0", "1"].map(|rank| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["role", provider.name(), "late"]).stderr(std::process::Stdio::null());
        command.envs([
            ("MOWGLI_MEET", folder.path().join("meet")),
            ("PMI_RANK", rank.into()),
            ("PMI_SIZE", "2".into()),
        ]);
        command.spawn().unwrap()
    });
    let pids = both.each_ref().map(|process| process.id().to_string());
    let of_both = |pid: &str| pids.iter().any(|one| one == pid);
    let begin = Instant::now();
    while provider == Provider::Shm && left(of_both) < 4 {
        assert!(begin.elapsed() < LIMIT, "{} files of two processes", left(of_both));
        std::thread::sleep(Duration::from_millis(5));
    }
    both.iter_mut().for_each(|process| process.kill().unwrap());
    both.iter_mut().for_each(|process| _ = process.wait().unwrap());
    together("gathers_over", 2, gathers_over, provider);
    assert_eq!(left(of_both), 0);
}

fn a_fence_waits_for_what_was_put_and_for_nothing_else(provider: Provider) {
    let company = started("stops", 2, provider, Duration::from_secs(3)).unwrap();
    // The other process does not come to the end.
    assert!(matches!(stops(&company, provider), Err(Fault::Gone(_))));
}

/// P2 is stopped when nothing is under way to it: a fence is over at once. One behind a put is never over.
fn stops(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(Duration::from_secs(1));
    let (barrier, x) = (group.barrier("b", &[0, 1]), group.shared_var("x"));
    let ran = group.run_among(company, provider, |thread| {
        barrier.wait(thread)?;
        if thread.id().index() == 1 {
            std::thread::sleep(Duration::from_millis(300));
            _ = Command::new("kill").args(["-STOP", &std::process::id().to_string()]).status();
            return Ok(());
        }
        x.fence(thread)?;
        std::thread::sleep(Duration::from_millis(900));
        assert_eq!(x.fence(thread), Ok(()));
        x.broadcast(thread)?;
        let fenced = x.fence(thread);
        assert!(matches!(fenced, Err(Fault::Late(_))), "{fenced:?}");
        Ok(())
    });
    ran.map(|_| ())
}

/// Opens endpoints, and that is all.
fn gathers_over(company: &Company, provider: Provider) -> Result<(), Fault> {
    meets(company, provider, usize::MAX, || {})
}

/// A process that does not come to a barrier: the others give up when their time is over, and all of them end.
fn one_is_late(provider: Provider) {
    let begin = Instant::now();
    let company = started("late", 3, provider, LIMIT).unwrap();
    let fault = meets(&company, provider, usize::MAX, || {}).unwrap_err();
    assert!(matches!(&fault, Fault::Late(text) if text.contains("P1 ") || text.contains("P3 ")), "{fault:?}");
    drop(company);
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
}

fn a_partner_that_does_not_start_is_named() {
    let begin = Instant::now();
    // This program says that there is no such role, and ends.
    let Err(fault) = started("no such role", 2, Provider::Shm, LIMIT) else { panic!("it came") };
    let text = fault.to_string();
    assert!(text.contains("node 2 (process ") && text.contains("ended before it had come"), "{text}");
    // One that a launcher should have started and did not.
    let folder = tempfile::tempdir().unwrap();
    let alone = |rank: &str| {
        let file = folder.path().join(rank);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["role", "shm", "gathers"]).env("MOWGLI_MEET", file).env("PMI_RANK", rank).env("PMI_SIZE", "3");
        command.env("MOWGLI_TEST_LIMIT", "0.5").output().unwrap()
    };
    let [first, second] = ["0", "1"].map(|rank| String::from_utf8_lossy(&alone(rank).stderr).into_owned());
    assert!(first.contains("node 2, node 3 did not come within 0.5 s"), "{first}");
    assert!(second.contains("node 1 was not reached within 0.5 s"), "{second}");
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
}

/// A company of two, in which this process is node 2, by hand.
fn by_hand(said: &str, limit: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("meet");
    let first = Command::new(std::env::current_exe().unwrap())
        .args(["role", "shm", "gathers"])
        .env("MOWGLI_MEET", &file)
        .envs([("PMI_RANK", "0"), ("PMI_SIZE", "2"), ("MOWGLI_TEST_LIMIT", limit)])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let at = loop {
        match std::fs::read_to_string(&file) {
            Ok(at) => break at,
            Err(_) => assert!(begin.elapsed() < LIMIT),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut stream = TcpStream::connect(at.trim()).unwrap();
    stream.write_all(said.as_bytes()).unwrap();
    drop(stream);
    String::from_utf8_lossy(&first.wait_with_output().unwrap().stderr).into_owned()
}

fn a_connection_that_is_cut_is_told() {
    let cut = by_hand("mowgli 1 2 \n=[\"half of", "10");
    assert!(cut.contains("node 2 has gone in the middle of a message"), "{cut}");
    let strange = by_hand("mowgli 1 2 \nwhat\n", "10");
    assert!(strange.contains("node 2 said what makes no sense"), "{strange}");
}

/// Who does not say that it belongs to the company is not taken for a part of it.
fn strangers_are_sent_away() {
    for stranger in ["GET / HTTP/1.1\n", "mowgli 1 3 \n", "mowgli 7 2 \n", "mowgli 1 2 guessed\n", "mowgli"] {
        let told = by_hand(stranger, "1");
        assert!(told.contains("node 2 did not come within 1 s"), "{stranger}: {told}");
    }
}

fn what_clients_of_a_store_see_is_linearisable(company: &Company, provider: Provider) -> Result<(), Fault> {
    let load = load::Load { nodes: 4, clients: 1, keys: 2, changes: 3, others: 10 };
    let (group, map) = load.group("fenced-delete");
    let run = |thread: &mut Thread<'_>| load.run(map, thread, 1, nanoseconds);
    let all = among::among(company, provider, &group, run)?.concat();
    assert!(all.len() > 4 * 3 * 10);
    assert!(history::wrong(&all).is_none(), "{:?}", history::wrong(&all));
    Ok(())
}

fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

fn what_a_load_of_a_store_sees_is_linearisable(company: &Company, provider: Provider) -> Result<(), Fault> {
    let load = clients::Load { nodes: 2, clients: 2, keys: 3, calls: 20, updates: 0.5 };
    let (group, map, barrier) = load.group("fenced-delete");
    let run = |thread: &mut Thread<'_>| load.run((map, barrier), thread, 1, nanoseconds);
    let all = among::among(company, provider, &group, run)?.concat();
    assert_eq!(all.len(), 3 + 4 * 20);
    assert!(history::wrong(&all).is_none(), "{:?}", history::wrong(&all));
    Ok(())
}

fn transfers_are_serialisable(company: &Company, provider: Provider) -> Result<(), Fault> {
    let setting = bank::Setting { nodes: 2, clients: 2, accounts: 5, locks: 3, transfers: 10, is_elsewhere: false };
    let (group, bank) = setting.group();
    let all = among::among(company, provider, &group, |thread| bank.run(thread, 1, nanoseconds))?;
    assert_eq!(all.iter().map(|done| done.transfers.len()).sum::<usize>(), 4 * 10);
    assert_eq!(bank::wrong(&all), None);
    Ok(())
}

fn commands_come_in_order_and_in_time(company: &Company, provider: Provider) -> Result<(), Fault> {
    let setting = plant::Setting { converters: 2, period: 40_000, commands: 50, slower: Some(50) };
    let (group, plant) = setting.group("published");
    let all = among::among(company, provider, &group, |thread| plant.run(thread, nanoseconds))?;
    assert_eq!(plant::wrong(&all), None);
    assert_eq!(plant::followed(&all).len(), 2 * 50);
    Ok(())
}
