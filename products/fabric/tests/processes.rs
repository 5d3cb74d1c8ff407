//! Groups with a process for each node, over mapped memory, and over libfabric on the loopback device and in shared memory. If
//! libfabric is missing, its tests are reported as ignored, not as passed. Each process of a test is this program again, with the
//! name of its role.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use libtest_mimic::Trial;
use mowgli_core::ids::{Loc, Name, Node, Wid};
use mowgli_core::value::Val;
use mowgli_fabric::{Buffer, Company, Fault, Group, Provider, Thread};
use mowgli_rdma::tso::Method as Tso;
use mowgli_rdma::wait::{Method, word};
use sha2::Sha256;

use crate::bytes::Bytes;
use crate::crowd::{Crowd, Window};
use crate::forged::Forged;
use crate::library;
use crate::needs::{self, Layer, Need};

#[path = "../examples/common/among.rs"]
pub mod among;
#[path = "../examples/transfer/bank.rs"]
mod bank;
#[path = "../examples/ycsb/clients.rs"]
mod clients;
#[path = "../examples/store/load.rs"]
pub mod load;
#[allow(dead_code, reason = "what the example prints")]
#[path = "../examples/messages.rs"]
mod messages;
#[path = "common/pair.rs"]
mod pair;
#[allow(dead_code, reason = "what the example prints")]
#[path = "../examples/converter/plant.rs"]
mod plant;

/// The role of a process in a test.
type Role = fn(&Company, Provider) -> Result<(), Fault>;

/// The tests in which all processes do the same, with the number of processes.
const TOGETHER: [(&str, usize, Role); 22] = [
    ("a_get_does_not_pass_a_put", 2, a_get_does_not_pass_a_put),
    ("puts_keep_their_order_and_words_are_whole", 2, puts_keep_their_order_and_words_are_whole),
    ("sources_of_puts_are_read_in_their_order", 2, sources_of_puts_are_read_in_their_order),
    ("gets_are_placed_in_their_order", 2, gets_are_placed_in_their_order),
    ("nothing_passes_an_atomic", 2, nothing_passes_an_atomic),
    ("polls_are_of_their_own_operations", 2, polls_are_of_their_own_operations),
    ("atomics_of_all_threads_exclude_each_other", 3, atomics_of_all_threads_exclude_each_other),
    ("atomics_of_the_cpu_and_of_the_network_exclude_each_other", 2, atomics_of_the_cpu_exclude_each_other),
    ("a_remote_fence_waits_for_gets", 2, a_remote_fence_waits_for_gets),
    ("a_barrier_keeps_what_was_sent_before_it", 2, a_barrier_keeps_what_was_sent_before_it),
    ("a_lock_keeps_sections_apart", 2, a_lock_keeps_sections_apart),
    ("a_ring_brings_every_message_to_every_reader", 3, a_ring_brings_every_message_to_every_reader),
    ("messages_come_in_order", 2, messages_come_in_order),
    ("a_message_inside_another_one_is_not_received", 2, a_message_inside_another_one_is_not_received),
    ("eighty_threads_meet", 2, eighty_threads_meet),
    ("any_number_of_operations_may_be_under_way", 2, any_number_of_operations_may_be_under_way),
    ("a_map_says_on_every_node_what_was_put_in", 2, a_map_says_on_every_node_what_was_put_in),
    ("a_map_of_bytes_has_the_values_of_all_processes", 2, a_map_of_bytes_has_the_values_of_all_processes),
    ("what_clients_of_a_store_see_is_linearisable", 4, what_clients_of_a_store_see_is_linearisable),
    ("what_a_load_of_a_store_sees_is_linearisable", 2, what_a_load_of_a_store_sees_is_linearisable),
    ("transfers_are_serialisable", 2, transfers_are_serialisable),
    ("commands_come_in_order_and_in_time", 3, commands_come_in_order_and_in_time),
];

/// The roles of single processes in tests of faults.
const FAULTS: [(&str, Role); 22] = [
    ("keeps_limits", keeps_limits),
    ("by_default", |company, provider| fills(company, provider, None)),
    ("by_name", |company, provider| fills(company, provider, Some("published"))),
    ("other_words", other_words),
    ("other_threads", other_threads),
    ("other_bodies", other_bodies),
    ("adds_ones", |company, provider| adds(company, provider, 1)),
    ("adds_thousands", |company, provider| adds(company, provider, 1000)),
    ("too_large", too_large),
    ("whole", whole),
    ("twice_at_once", twice_at_once),
    ("misplaced", misplaced),
    ("on_no_node", |company, provider| {
        crate::refused::is_on_no_node(crate::refused::on_no_node().run_among(company, provider, |_| Ok(())));
        Ok(())
    }),
    ("panics", |company, provider| meets(company, provider, 1, || panic!("the cup is empty"))),
    ("panics_alone", |company, _| {
        // All have come.
        company.gather("")?;
        match company.rank() {
            1 => panic!("the cup is empty"),
            _ => company.gather("").map(|_| ()),
        }
    }),
    ("stops", stops),
    ("gathers_over", gathers_over),
    ("gathers", |company, _| company.gather("").map(|_| ())),
    ("killed", |company, provider| meets(company, provider, 1, killed)),
    ("puts_on", puts_on),
    ("late", |company, provider| meets(company, provider, 1, || std::thread::sleep(Duration::from_secs(20)))),
    ("leaves", |company, provider| meets(company, provider, 1, || std::process::exit(3))),
];

/// A test with processes of its own.
type Test = fn(Provider);

/// The tests in which a wrong result would be silent.
const SILENT: [(&str, Test); 13] = [
    ("limits_of_calls_and_loops_are_kept", limits_are_kept),
    ("an_unsound_variant_is_asked_for_by_name_and_reported_once", an_unsound_variant_is_reported_once),
    ("other_words_are_an_error_on_both_sides", other_words_are_an_error_on_both_sides),
    ("other_threads_are_an_error_on_both_sides", other_threads_are_an_error_on_both_sides),
    ("other_bodies_are_an_error_on_both_sides", other_bodies_are_an_error_on_both_sides),
    ("two_companies_at_once_share_no_word", two_companies_at_once_share_no_word),
    ("two_groups_at_once_share_no_word", two_groups_at_once_share_no_word),
    ("one_company_runs_one_group_at_a_time", one_company_runs_one_group_at_a_time),
    ("a_sum_that_no_word_holds_is_an_error", |provider| all_end_well("too_large", provider)),
    ("emitted_code_has_integers_of_64_bits", |provider| all_end_well("whole", provider)),
    ("words_are_where_the_group_says", |provider| all_end_well("misplaced", provider)),
    ("words_are_on_nodes_of_the_group", |provider| all_end_well("on_no_node", provider)),
    ("a_panic_is_reported_to_all_at_once", a_panic_is_reported_to_all_at_once),
];

const LIMIT: Duration = Duration::from_secs(20);

/// Plays a role in a test of another process, over a provider.
pub fn role(provider: &str, name: &str) -> ExitCode {
    played(name, provider.parse().expect("a provider"))
}

/// Lists the tests with a process for each node.
pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("a_partner_that_does_not_start_is_named", done(a_partner_that_does_not_start_is_named)),
        Trial::test("a_connection_that_is_cut_is_reported", done(a_connection_that_is_cut_is_reported)),
        Trial::test("strangers_are_sent_away", done(strangers_are_sent_away)),
        Trial::test("strangers_do_not_delay_a_start", done(strangers_do_not_delay_a_start)),
        Trial::test(
            "what_listens_at_an_old_address_is_not_taken_for_the_company",
            done(what_listens_at_an_old_address_is_not_taken_for_the_company),
        ),
        Trial::test(
            "who_listens_without_the_token_is_not_taken_for_node_1",
            done(who_listens_without_the_token_is_not_taken_for_node_1),
        ),
        Trial::test("another_version_is_an_error_on_both_sides", done(another_version_is_an_error_on_both_sides)),
        Trial::test("another_token_is_named_on_both_sides", done(another_token_is_named_on_both_sides)),
        Trial::test(
            "another_number_of_processes_is_an_error_on_both_sides",
            done(another_number_of_processes_is_an_error_on_both_sides),
        ),
    ];
    for provider in [Provider::Tcp, Provider::Unordered, Provider::Shm, Provider::Memory] {
        let missing = match provider {
            Provider::Shm => || Provider::Shm.check().err().map(|fault| fault.to_string()),
            Provider::Memory => || Provider::Memory.check().err().map(|fault| fault.to_string()),
            _ => || Provider::Tcp.check().err().map(|fault| fault.to_string()),
        };
        let (tool, quick) = match provider {
            Provider::Memory => ("a folder of shared memory", Layer::Quick),
            _ => ("libfabric", Layer::Long),
        };
        let need = Need { tool, in_ci: true, missing };
        let in_layer = |layer, name: &str, test: Box<dyn FnOnce() + Send>| {
            needs::trial(format!("{}::{name}", provider.name()), layer, need.clone(), test)
        };
        for (name, size, role) in TOGETHER {
            trials.push(in_layer(quick, name, Box::new(move || together(name, size, role, provider))));
        }
        let trial = |name: &str, test| in_layer(Layer::Long, name, test);
        for (name, expected) in [("killed", "signal: 9"), ("leaves", "exit status: 3")] {
            trials.push(trial(name, Box::new(move || one_leaves(name, expected, provider))));
        }
        // Over mapped memory no fence waits for another process.
        if provider != Provider::Memory {
            let fence = Box::new(move || a_fence_waits_for_what_was_put_and_for_nothing_else(provider));
            trials.push(trial("a_fence_waits_for_what_was_put_and_for_nothing_else", fence));
        }
        if provider == Provider::Shm {
            let kept = Box::new(move || a_lock_that_nobody_gives_back_ends_the_process(provider));
            trials.push(trial("a_lock_that_nobody_gives_back_ends_the_process", kept));
        }
        let killed = Box::new(move || what_killed_processes_leave_is_removed(provider));
        trials.push(trial("what_killed_processes_leave_is_removed", killed));
        trials.push(trial("late", Box::new(move || one_is_late(provider))));
        for (name, test) in SILENT {
            trials.push(trial(name, Box::new(move || test(provider))));
        }
    }
    trials
}

fn done(test: fn()) -> impl FnOnce() -> Result<(), libtest_mimic::Failed> + Send {
    move || {
        test();
        Ok(())
    }
}

/// Plays a role in a test of another process.
fn played(name: &str, provider: Provider) -> ExitCode {
    let roles = TOGETHER.into_iter().map(|(name, _, role)| (name, role)).chain(FAULTS);
    let role = roles.into_iter().find(|(of, _)| *of == name).map(|(_, role)| role).expect("a role");
    // Tests in which processes are missing set a shorter limit.
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

    /// Runs `acts` in the thread of node 1, while that of node 2 repeats `looks` until it returns true.
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

/// put(x2, x1); get(y1, x2); wait: the get returns the value that was put.
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

/// Two words are put one after the other, over and over. A thread that sees the second sees the first. The values
/// differ in all bytes, so that a torn word is noticed.
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

/// The bytes of a put that a provider reads late, if it does.
const LARGE: usize = 1 << 18;

/// A thread puts many words, and then one. Meanwhile another thread of its node writes the one, and then the last of the many. So what
/// arrives of the many is not newer than the one, because sources are read in the order of puts.
fn sources_of_puts_are_read_in_their_order(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 1, 2]).within(LIMIT);
    let (many, one) = (
        [1, 2].map(|n| group.buffer(&format!("many{n}"), n, LARGE)),
        [1, 2].map(|n| group.buffer(&format!("one{n}"), n, 8)),
    );
    let (back, done, barrier) = (group.buffer("back", 1, 8), group.word("done", 1, 0), group.barrier("b", &[0, 1, 2]));
    let last = many.map(|many| many.part(LARGE - 8..LARGE));
    group.run_among(company, provider, |thread| {
        let mut next = 0_i64;
        match thread.id().index() {
            0 => {
                let got = |thread: &mut Thread<'_>, from: Buffer| {
                    from.get(thread, back)?.wait(thread)?;
                    Ok::<_, Fault>(i64::from_le_bytes(back.read(thread)?.try_into().expect("a word")))
                };
                for _ in 0..100 {
                    let puts = [many[1].put(thread, many[0])?, one[1].put(thread, one[0])?];
                    puts.into_iter().try_for_each(|put| put.wait(thread))?;
                    let [of_many, of_one] = [got(thread, last[1])?, got(thread, one[1])?];
                    assert!(of_many <= of_one, "the first put read {of_many}, and the second one {of_one}");
                }
                done.write(thread, 1)?;
            }
            1 => {
                while done.read(thread)? == 0 {
                    next += 1;
                    one[0].write(thread, &next.to_le_bytes())?;
                    last[0].write(thread, &next.to_le_bytes())?;
                }
            }
            _ => {}
        }
        barrier.wait(thread)
    })?;
    Ok(())
}

/// A thread gets many words, and then one. Another thread of its node that sees the one sees the many.
fn gets_are_placed_in_their_order(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 1, 2]).within(LIMIT);
    let many = [1, 2].map(|n| group.buffer(&format!("many{n}"), n, LARGE));
    let (own, far, barrier) = (group.word("own", 1, 0), group.word("far", 2, 0), group.barrier("b", &[0, 1, 2]));
    group.run_among(company, provider, |thread| {
        for round in 1..=40_i64 {
            let filled = round.to_le_bytes().repeat(LARGE / 8);
            if thread.id().index() == 2 {
                many[1].write(thread, &filled)?;
                far.write(thread, round)?;
            }
            barrier.wait(thread)?;
            if thread.id().index() == 0 {
                let gets = [many[1].get(thread, many[0])?, far.get(thread, own)?];
                gets.into_iter().try_for_each(|get| get.wait(thread))?;
            }
            if thread.id().index() == 1 {
                thread.until(|thread| Ok((own.read(thread)? == round).then_some(())))?;
                assert!(many[0].read(thread)? == filled, "the second get was placed before the first one");
            }
            barrier.wait(thread)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// The value of a put after an addition to the same word remains, and a get after the put reads it.
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

/// Polls take the operations of the program, one after the other. Operations that the fabric posts in between do not
/// count.
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

/// All threads, one of them on the node itself, add to a word, and each gets another number. The CPU adds for the one on the node,
/// while the provider adds for the others. It adds more often, because it is much quicker.
fn atomics_of_all_threads_exclude_each_other(company: &Company, provider: Provider) -> Result<(), Fault> {
    const MORE: i64 = 100;
    let mut group = Group::new(&[1, 2, 2, 3]).within(LIMIT);
    let (sum, barrier) = (group.object("s", word(Node(1))), group.barrier("b", &[0, 1, 2, 3]));
    let own: Vec<Loc> =
        [1, 2, 2, 3].iter().enumerate().map(|(i, &n)| group.object(&format!("p{i}"), word(Node(n)))).collect();
    let d = Val::Wid(Wid(Name::literal("d")));
    group.run_among(company, provider, |thread| {
        let p = own[thread.id().index()];
        let mut last = -1;
        for _ in 0..if thread.node() == Node(1) { MORE * TIMES } else { TIMES } {
            all(thread, [Method::RFAA { x: p, y: sum, v: Val::Int(1), d }, Method::Wait { d }])?;
            let now = read(thread, p)?;
            assert!(now > last, "{now} after {last}");
            last = now;
        }
        barrier.wait(thread)?;
        all(thread, [Method::Get { x: p, y: sum, d }, Method::Wait { d }])?;
        assert_eq!(read(thread, p)?, (MORE + 3) * TIMES);
        Ok(())
    })?;
    Ok(())
}

/// Two threads of node 1 change its words by each atomic operation, of the CPU and of the network. The thread of node 2 does so over the
/// network. No change is lost.
fn atomics_of_the_cpu_exclude_each_other(company: &Company, provider: Provider) -> Result<(), Fault> {
    const CHANGES: i64 = 20_000;
    let mut group = Group::new(&[1, 1, 2]).within(LIMIT);
    let place = |name: &str, node| (name.to_owned(), word(Node(node)));
    let [added, swapped, exchanged] =
        ["added", "swapped", "exchanged"].map(|name| place(name, 1)).map(|(name, word)| group.object(&name, word));
    let own = [1, 1, 2].iter().enumerate().map(|(t, &node)| place(&format!("own{t}"), node));
    let own: Vec<Loc> = own.map(|(name, word)| group.object(&name, word)).collect();
    let (barrier, d) = (group.barrier("b", &[0, 1, 2]), Val::Wid(Wid(Name::literal("d"))));
    let pair = pair::Pair::default();
    let results = group.run_among(company, provider, |thread| {
        let (me, x) = (thread.id().index() as i64, own[thread.id().index()]);
        let times = if me == 2 { CHANGES / 100 } else { CHANGES };
        let mut returned = 0;
        for time in 1..=times {
            let is_remote = me == 2 || time % 100 == 0;
            if me < 2 && time % 50 == 1 {
                pair.meets(time as u64, me as usize);
                for _ in 0..200 {
                    thread.operation(Method::FAA { x: added, v: Val::Int(1) })?;
                }
            }
            if is_remote {
                all(thread, [Method::RFAA { x, y: added, v: Val::Int(1), d }, Method::Wait { d }])?;
            }
            let mut old = Val::Int(0);
            loop {
                let new = Val::Int(old.int().expect("a number") + 1);
                let was = if is_remote {
                    all(thread, [Method::RCAS { x, y: swapped, v1: old, v2: new, d }, Method::Wait { d }])?;
                    Val::Int(read(thread, x)?)
                } else {
                    thread.call(&Method::CAS { x: swapped, v1: old, v2: new }.into())?
                };
                if was == old {
                    break;
                }
                old = was;
            }
            if me < 2 {
                let was = thread.call(&Method::Xchg { x: exchanged, v: Val::Int(2 * time + me) }.into())?;
                returned += was.int().expect("a number");
            }
        }
        barrier.wait(thread)?;
        if me == 2 {
            return Ok(0);
        }
        assert_eq!(read(thread, added)?, 2 * CHANGES / 50 * 200 + 3 * CHANGES / 100);
        assert_eq!(read(thread, swapped)?, 2 * CHANGES + CHANGES / 100);
        Ok(returned + if me == 0 { read(thread, exchanged)? } else { 0 })
    })?;
    // Each number that was put into the word was returned once, or is there at the end.
    let all = (1..=CHANGES).map(|time| 4 * time + 1).sum::<i64>();
    assert!(company.rank() != 0 || results.iter().sum::<i64>() == all, "{results:?}, {all}");
    Ok(())
}

/// The model lets the CPU continue behind a remote fence, and the fabric does not.
fn a_remote_fence_waits_for_gets(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    let (own, far, barrier) = (group.word("own", 1, 0), group.word("far", 2, 7), group.barrier("b", &[0, 1]));
    group.run_among(company, provider, |thread| {
        for _ in 0..if thread.id().index() == 0 { TIMES } else { 0 } {
            own.write(thread, 0)?;
            far.get(thread, own)?;
            thread.operation(Method::Rfence { n: Node(2) })?;
            assert_eq!(own.read(thread)?, 7);
        }
        barrier.wait(thread)
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

fn eighty_threads_meet(company: &Company, provider: Provider) -> Result<(), Fault> {
    let crowd = Crowd::new(80);
    let sums = crowd.group.run_among(company, provider, |thread| crowd.meet(thread))?;
    assert_eq!(sums, vec![0; 40]);
    Ok(())
}

fn any_number_of_operations_may_be_under_way(company: &Company, provider: Provider) -> Result<(), Fault> {
    let window = Window::new(1000);
    window.group.run_among(company, provider, |thread| window.pass(thread)).map(|_| ())
}

fn messages_come_in_order(company: &Company, provider: Provider) -> Result<(), Fault> {
    let received = messages::received(company, provider, 1000)?;
    assert_eq!(received, if company.rank() == 0 { 1000 } else { 0 });
    Ok(())
}

fn a_map_says_on_every_node_what_was_put_in(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
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

fn a_map_of_bytes_has_the_values_of_all_processes(company: &Company, provider: Provider) -> Result<(), Fault> {
    let bytes = Bytes::new(&[1, 2, 2]);
    let inserted = bytes.group.run_among(company, provider, |thread| bytes.change(thread))?;
    let all = company.gather(&inserted.iter().sum::<usize>().to_string())?;
    assert_eq!(all.iter().map(|inserted| inserted.parse::<usize>().expect("a number")).sum::<usize>(), 100);
    Ok(())
}

/// Lets all processes meet at a barrier. Then the one of this rank calls `other`, while the others wait for it at the
/// next barrier.
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

/// Kills this process from outside.
fn killed() {
    let own = std::process::id().to_string();
    _ = Command::new("kill").args(["-9", &own]).status();
    std::thread::sleep(LIMIT);
}

/// Node 1 puts a word to node 2 until it fails.
fn puts_on(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(Duration::from_secs(3));
    let (own, far) = (group.word("own", 1, 0), group.word("far", 2, 0));
    let ran = group.run_among(company, provider, |thread| {
        loop {
            match thread.id().index() {
                0 => far.put(thread, own)?.wait(thread)?,
                _ => _ = far.read(thread)?,
            }
        }
    });
    ran.map(|all: Vec<()>| drop(all))
}

/// A process is killed or stopped as if it had the lock of its memory, in libfabric 1.17. So a thread of node 1 spins inside the provider.
/// Its process ends with a fault that names node 2.
fn a_lock_that_nobody_gives_back_ends_the_process(provider: Provider) {
    for (signal, expected) in [("-9", "node 2 has gone"), ("-STOP", " s, which waits for node 2; a process that")] {
        let folder = tempfile::tempdir().unwrap();
        let [mut first, mut second] = ["0", "1"].map(|rank| {
            let mut command = played_by_two([provider.name(), "puts_on"], rank, &folder.path().join("meet"), "20");
            command.stderr(std::process::Stdio::piped()).spawn().unwrap()
        });
        let begin = Instant::now();
        let own = second.id().to_string();
        while left(|pid| pid == own) == 0 && begin.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_secs(1));
        for file in std::fs::read_dir("/dev/shm").unwrap().flatten() {
            if file.file_name().to_string_lossy().split('-').nth(2) == Some(&own) {
                let file = std::fs::OpenOptions::new().write(true).open(file.path()).unwrap();
                std::os::unix::fs::FileExt::write_all_at(&file, &[0; 4], 24).unwrap();
            }
        }
        std::thread::sleep(Duration::from_millis(100));
        _ = Command::new("kill").args([signal, &second.id().to_string()]).status();
        while first.try_wait().unwrap().is_none() && begin.elapsed() < LIMIT {
            std::thread::sleep(Duration::from_millis(10));
        }
        _ = (first.kill(), second.kill());
        _ = second.wait();
        let first = first.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&first.stderr);
        assert!(first.status.code() == Some(2) && text.contains(expected), "{signal}: {}: {text}", first.status);
    }
}

/// A process that ends without a message is named soon, with the way in which it ended.
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

/// Returns the number of files in shared memory that belong to processes with such numbers.
fn left(of: impl Fn(&str) -> bool) -> usize {
    let names = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = names.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("mowgli-") && name.split('-').nth(2).is_some_and(&of)).count()
}

/// The files of killed processes do not disturb later processes, and the next one removes them.
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

fn limits_are_kept(provider: Provider) {
    let company = started("keeps_limits", 2, provider, Duration::from_secs(20)).unwrap();
    // The other process does not come to the end.
    assert!(keeps_limits(&company, provider).is_err());
}

/// A thread gives up after its own limit, and not after that of the group: a loop over words, a barrier, a lock, and, if the provider has
/// messages, what it posts at a process that has stopped.
fn keeps_limits(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(Duration::from_secs(12));
    let (both, never) = (group.barrier("both", &[0, 1]), group.barrier("never", &[0, 1]));
    let (word, lock) = (group.word("w", 1, 0), group.node_lock("l", 2));
    let (own, far) = (group.word("own", 1, 0), group.word("far", 2, 0));
    group.run_among(company, provider, |thread| {
        if thread.id().index() == 1 {
            std::mem::forget(lock.lock(thread)?);
            both.wait(thread)?;
            std::thread::sleep(Duration::from_secs(4));
            _ = Command::new("kill").args(["-STOP", &std::process::id().to_string()]).status();
            return Ok(());
        }
        both.wait(thread)?;
        let mut gives_up = |what: &str, call: &dyn Fn(&mut Thread<'_>) -> Result<(), Fault>| {
            let begin = Instant::now();
            let given_up = thread.within(Duration::from_millis(500), call);
            let is_named = |why: &str| what != "a get" || why.ends_with("; operations are under way at node 2");
            assert!(matches!(&given_up, Err(Fault::Late(why)) if is_named(why)), "{what}: {given_up:?}");
            assert!(begin.elapsed() < Duration::from_secs(3), "{what}: {:?}", begin.elapsed());
        };
        gives_up("a loop", &|thread| thread.until(|thread| Ok((word.read(thread)? == 1).then_some(()))));
        gives_up("a lock", &|thread| lock.lock(thread).map(std::mem::forget));
        gives_up("a barrier", &|thread| never.wait(thread));
        if provider != Provider::Memory {
            std::thread::sleep(Duration::from_secs(4));
            gives_up("a get", &|thread| far.get(thread, own)?.wait(thread));
        }
        Err(Fault::Discarded)
    })?;
    Ok(())
}

fn a_fence_waits_for_what_was_put_and_for_nothing_else(provider: Provider) {
    let company = started("stops", 2, provider, Duration::from_secs(3)).unwrap();
    // The other process does not come to the end.
    assert!(matches!(stops(&company, provider), Err(Fault::Gone(_))));
}

/// P2 is stopped when nothing is under way to it. A fence then ends at once, but a fence behind a put never ends.
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

/// Opens endpoints, and does nothing else.
fn gathers_over(company: &Company, provider: Provider) -> Result<(), Fault> {
    meets(company, provider, usize::MAX, || {})
}

/// One process does not come to a barrier. The others give up when their time is over, and all of them end.
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
    // This program does not know such a role, and ends.
    let Err(fault) = started("no such role", 2, Provider::Shm, LIMIT) else { panic!("it came") };
    let text = fault.to_string();
    assert!(text.contains("node 2 (process ") && text.contains("ended before it had come"), "{text}");
    // Here a launcher should have started more processes, and has not.
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

/// Starts so many processes that play a role, like a launcher. Returns for each whether it succeeded, and its error
/// output, by rank.
fn launched(name: &str, size: usize, provider: Provider) -> Vec<(bool, String)> {
    let folder = tempfile::tempdir().unwrap();
    let start = |rank: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["role", provider.name(), name])
            .env("MOWGLI_MEET", folder.path().join("meet"))
            .envs([("PMI_RANK", rank.to_string()), ("PMI_SIZE", size.to_string())])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let all: Vec<_> = (0..size).map(start).collect();
    let ended = all.into_iter().map(|process| process.wait_with_output().unwrap());
    ended.map(|out| (out.status.success(), String::from_utf8_lossy(&out.stderr).into_owned())).collect()
}

/// Fills a map and a ring twice, by this variant of their libraries or by the default ones.
fn fills(company: &Company, provider: Provider, variant: Option<&str>) -> Result<(), Fault> {
    for _ in 0..2 {
        let mut group = Group::new(&[1, 2]).within(LIMIT);
        if let Some(variant) = variant {
            group = group.variant("kvstore", variant).variant("rbl", variant);
        }
        let (map, ring) = (group.map("m", 1), group.ring("r", 0, &[1], 4));
        group.run_among(company, provider, |thread| match thread.id().index() {
            0 => {
                assert!(map.insert(thread, 0, 7)? && ring.submit(thread, 7)?);
                Ok(())
            }
            _ => {
                map.serve(thread)?;
                assert_eq!(thread.until(|thread| ring.receive(thread))?, 7);
                Ok(())
            }
        })?;
    }
    Ok(())
}

fn an_unsound_variant_is_reported_once(provider: Provider) {
    for (is_good, text) in launched("by_default", 2, provider) {
        assert!(is_good && text.is_empty(), "the default variants are sound: {text}");
    }
    let both = launched("by_name", 2, provider);
    assert!(both.iter().all(|(is_good, _)| *is_good), "{both:?}");
    for library in ["kvstore", "rbl"] {
        let warning = format!("warning: {library} runs as its variant published, which is expected to be unsound");
        assert_eq!(both[0].1.matches(&warning).count(), 1, "{}", both[0].1);
    }
    assert_eq!(both[1].1, "", "the first process alone reports");
}

/// Declares one more word in the first process. A put of 42 would go to another word.
fn other_words(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    if company.rank() == 0 {
        group.word("a", 2, 5);
    }
    let (x, own, barrier) = (group.word("x", 2, 0), group.word("own", 1, 42), group.barrier("b", &[0, 1]));
    group.run_among(company, provider, |thread| {
        if thread.id().index() == 0 {
            x.put(thread, own)?.wait(thread)?;
        }
        barrier.wait(thread)
    })?;
    Ok(())
}

fn other_words_are_an_error_on_both_sides(provider: Provider) {
    for (is_good, text) in launched("other_words", 2, provider) {
        assert!(!is_good && text.contains("node 1 and node 2 have declared different groups"), "{text}");
        assert!(text.contains("node 1 alone has a: rdma-wait-rmw, node 2, at first 5"), "{text}");
    }
}

/// Declares one thread on the second node in the first process, and two in the other. All words are the same.
fn other_threads(company: &Company, provider: Provider) -> Result<(), Fault> {
    let nodes: &[u8] = if company.rank() == 0 { &[1, 2] } else { &[1, 2, 2] };
    let mut group = Group::new(nodes).within(LIMIT);
    group.word("x", 2, 0);
    group.run_among(company, provider, |_| Ok(()))?;
    Ok(())
}

fn other_threads_are_an_error_on_both_sides(provider: Provider) {
    for (is_good, text) in launched("other_threads", 2, provider) {
        assert!(!is_good && text.contains("node 1 and node 2 have declared different groups"), "{text}");
        assert!(text.contains("node 1 alone has 2 nodes, threads on nodes 1, 2;"), "{text}");
        assert!(text.contains("node 2 alone has 2 nodes, threads on nodes 1, 2, 2;"), "{text}");
    }
}

/// Declares a library of its own whose body lacks a fence in the second process. Names, words and objects are the same.
fn other_bodies(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).library(library::entry(company.rank() == 0)).within(LIMIT);
    library::gate(&mut group);
    group.run_among(company, provider, |_| Ok(()))?;
    Ok(())
}

fn other_bodies_are_an_error_on_both_sides(provider: Provider) {
    for (is_good, text) in launched("other_bodies", 2, provider) {
        assert!(!is_good && text.contains("node 1 alone has gate as published, code "), "{text}");
        assert!(text.contains("; node 2 alone has gate as published, code "), "{text}");
    }
}

/// Adds to a word from both nodes. The sum is right unless another group adds to the word too.
fn adds(company: &Company, provider: Provider, more: i64) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(Duration::from_secs(5));
    let (sum, barrier) = (group.word("s", 1, 0), group.barrier("b", &[0, 1]));
    let own = [1, 2].map(|n| group.word(&format!("own{n}"), n, 0));
    group.run_among(company, provider, |thread| {
        let own = own[thread.id().index()];
        for _ in 0..100 {
            sum.fetch_add(thread, more, own)?.wait(thread)?;
        }
        barrier.wait(thread)?;
        sum.get(thread, own)?.wait(thread)?;
        assert_eq!(own.read(thread)?, 200 * more);
        barrier.wait(thread)
    })?;
    Ok(())
}

/// This process is the first one of two companies, which run at the same time.
fn two_companies_at_once_share_no_word(provider: Provider) {
    for _ in 0..2 {
        let both = [("adds_ones", 1), ("adds_thousands", 1000)];
        let both = both.map(|(name, more)| (started(name, 2, provider, LIMIT).unwrap(), more));
        std::thread::scope(|scope| {
            let all = both.each_ref().map(|(company, more)| scope.spawn(|| adds(company, provider, *more)));
            all.into_iter().for_each(|one| one.join().unwrap().unwrap());
        });
    }
}

/// Two threads of each process run a group in the same company at the same time. One of them may be refused, or the first may have
/// ended already. The groups are equal, since either one of a process may meet either one of the other.
fn twice_at_once(company: &Company, provider: Provider) -> Result<(), Fault> {
    std::thread::scope(|scope| {
        let all = [1, 1].map(|more| scope.spawn(move || adds(company, provider, more)));
        all.map(|one| one.join().expect("no sum is wrong")).into_iter().find(Result::is_err).unwrap_or(Ok(()))
    })
}

fn two_groups_at_once_share_no_word(provider: Provider) {
    for _ in 0..2 {
        for (is_good, text) in launched("twice_at_once", 2, provider) {
            assert!(is_good || !text.contains("no sum is wrong"), "{text}");
        }
    }
}

/// Two threads run a group in one company at the same time. The second one is refused, because the messages of two
/// groups cannot be distinguished.
fn one_company_runs_one_group_at_a_time(provider: Provider) {
    let company = started("late", 2, provider, LIMIT).unwrap();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| meets(&company, provider, usize::MAX, || {}));
        std::thread::sleep(Duration::from_millis(500));
        let second = meets(&company, provider, usize::MAX, || {});
        assert!(matches!(&second, Err(Fault::Wrong(why)) if why.contains("already runs a group")), "{second:?}");
        assert!(first.join().unwrap().is_err());
    });
}

/// Adds to the largest number that a word holds, by an atomic operation of the object, and by one of the network.
fn too_large(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT).interpreted();
    let atomic = group.atomic("a", 2);
    let (word, own) = (group.word("w", 2, crate::refused::LARGEST), group.word("own", 1, 0));
    group.run_among(company, provider, |thread| {
        if thread.id().index() == 0 {
            crate::refused::too_large(thread, atomic, word, own)?;
        }
        Ok(())
    })?;
    Ok(())
}

fn whole(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    let (atomic, word, own) = (group.atomic("a", 2), group.word("w", 2, 0), group.word("own", 1, 0));
    group.run_among(company, provider, |thread| {
        if thread.id().index() == 0 {
            crate::refused::whole(thread, atomic, word, own)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Makes operations on words that a thread cannot reach in this way.
fn misplaced(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    let (near, far, barrier) = (group.word("near", 1, 0), group.word("far", 2, 0), group.barrier("b", &[0, 1]));
    group.run_among(company, provider, |thread| {
        if thread.id().index() == 0 {
            crate::refused::misplaced(thread, near, far);
        }
        barrier.wait(thread)
    })?;
    Ok(())
}

fn all_end_well(name: &str, provider: Provider) {
    for (is_good, text) in launched(name, 2, provider) {
        assert!(is_good, "{text}");
    }
}

/// A process panics, in a thread of a group or outside, while the others wait for it. They learn its name long before
/// their time is over.
fn a_panic_is_reported_to_all_at_once(provider: Provider) {
    for (name, how) in [("panics", "): P2 panicked: the cup is empty"), ("panics_alone", "): it panicked")] {
        let begin = Instant::now();
        for (rank, (is_good, text)) in launched(name, 3, provider).iter().enumerate() {
            assert!(!is_good, "{rank}: {text}");
            assert!(rank == 1 || text.contains("node 2 (process ") && text.contains(how), "{rank}: {text}");
        }
        assert!(begin.elapsed() < LIMIT / 2, "{:?}", begin.elapsed());
    }
}

/// Starts node 1 of two, and returns it with the address and the token that it has published.
fn first_of_two(folder: &std::path::Path, limit: &str) -> (std::process::Child, String, String) {
    let file = folder.join("meet");
    let first = role_of_two("0", &file, limit).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    let published = loop {
        match std::fs::read_to_string(&file) {
            Ok(published) => break published,
            Err(_) => assert!(begin.elapsed() < LIMIT),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (at, token) = published.trim().split_once('/').expect("an address and a token");
    (first, at.to_owned(), token.to_owned())
}

fn role_of_two(rank: &str, meet: &std::path::Path, limit: &str) -> Command {
    played_by_two(["shm", "gathers"], rank, meet, limit)
}

/// Returns the command of a process of two that plays a role over a provider.
fn played_by_two(role: [&str; 2], rank: &str, meet: &std::path::Path, limit: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("role").args(role).env("MOWGLI_MEET", meet);
    command.envs([("PMI_RANK", rank), ("PMI_SIZE", "2"), ("MOWGLI_TEST_LIMIT", limit)]);
    command
}

/// Plays node 2 in a company of two by hand: sends this text to the first process, with the token in place of `TOKEN`. Returns
/// its error output, and its answer.
fn spoken(said: &str, limit: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let (first, at, token) = first_of_two(folder.path(), limit);
    let mut stream = TcpStream::connect(at).unwrap();
    let mut challenge = String::new();
    BufReader::new(stream.try_clone().unwrap()).read_line(&mut challenge).unwrap();
    let once = challenge.trim_end().strip_prefix("mowgli challenges ").expect("a challenge");
    stream.write_all(proven(said, &token, once).as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let printed = String::from_utf8_lossy(&first.wait_with_output().unwrap().stderr).into_owned();
    let mut answer = String::new();
    // The answer may be cut off, if the first process has refused the connection.
    _ = stream.read_to_string(&mut answer);
    (printed, answer)
}

/// Replaces `TOKEN` in a greeting by the proof that its process knows the token.
fn proven(said: &str, token: &str, once: &str) -> String {
    let Some((greeting, rest)) = said.split_once('\n') else { return said.to_owned() };
    let Some((_, parts)) = greeting.split_once("TOKEN ") else { return said.to_owned() };
    format!("{}\n{rest}", greeting.replace("TOKEN", &proof(token, &format!("greeting {once} {parts}"))))
}

/// Computes HMAC-SHA-256.
fn proof(token: &str, text: &str) -> String {
    let mut of_token = Hmac::<Sha256>::new_from_slice(token.as_bytes()).unwrap();
    of_token.update(text.as_bytes());
    of_token.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the greeting of node 2 of two. The first process names its version, with the fingerprint of its code, if another one has
/// another.
fn greeting() -> String {
    let (printed, _) = spoken("mowgli TOKEN 1 2 once 9.8.7\n", "10");
    let (_, version) = printed.split_once("and node 1 with version ").expect("it is another version");
    format!("mowgli TOKEN 1 2 once {}\n", version.split(';').next().unwrap())
}

/// The code is another one if any part of the version is, also behind the number.
fn another_version_is_an_error_on_both_sides() {
    let own = greeting();
    let own = own.trim().rsplit(' ').next().unwrap();
    let other_code = format!("{}+0123456789abcdef", env!("CARGO_PKG_VERSION"));
    assert!(own.starts_with(concat!(env!("CARGO_PKG_VERSION"), "+")) && own.len() == other_code.len(), "{own}");
    for (version, named) in [
        (" 9.8.7", "version 9.8.7"),
        (concat!(" ", env!("CARGO_PKG_VERSION")), concat!("version ", env!("CARGO_PKG_VERSION"), " of")),
        (&format!(" {other_code}"), &format!("version {other_code}")),
    ] {
        let (printed, answer) = spoken(&format!("mowgli TOKEN 1 2 once{version}\n=[]\n"), "10");
        for text in [&printed, &answer] {
            assert!(text.contains(&format!("node 2 is built with {named}")), "{text}");
            assert!(text.contains(&format!("and node 1 with version {own}")), "{text}");
        }
    }
}

/// A process that has another token ends at once. The first one goes on, because a stranger must not end it, and reports that in the end.
fn another_token_is_named_on_both_sides() {
    let (printed, answer) = spoken(&greeting().replace("TOKEN", "guessed"), "1");
    assert!(printed.contains("node 2 did not come within 1 s; "), "{printed}");
    for text in [printed, answer] {
        assert!(text.contains("what says that it is node 2 has another token than node 1"), "{text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut first, at, token) = first_of_two(folder.path(), "20");
    let begin = Instant::now();
    let second = |token: &str| {
        let mut second = role_of_two("1", std::path::Path::new(&at), "20");
        second.env("MOWGLI_TOKEN", token).output().unwrap()
    };
    let wrong = second("guessed");
    let text = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(!wrong.status.success() && text.contains("another token than node 1; set MOWGLI_TOKEN"), "{text}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert!(second(&token).status.success() && first.wait().unwrap().success());
}

/// A program at the address of node 1 gets neither the token nor a member, because it cannot prove that it knows the token.
fn who_listens_without_the_token_is_not_taken_for_node_1() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let (sender, greetings) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for (mut stream, n) in listener.incoming().flatten().zip(0..) {
            stream.write_all(b"mowgli challenges 00\n").unwrap();
            let mut greeting = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut greeting).unwrap();
            let parts: Vec<&str> = greeting.split(' ').collect();
            // A proof with another token, and the member's own one, which it would accept if both were of one kind.
            let proof =
                if n % 2 == 0 { proof("guessed", &format!("welcome {} [0,0]", parts[4])) } else { parts[1].to_owned() };
            stream.write_all(format!("mowgli welcomes {proof} [0,0]\n").as_bytes()).unwrap();
            sender.send(greeting).unwrap();
        }
    });
    let member = role_of_two("1", std::path::Path::new(&at), "1").env("MOWGLI_TOKEN", "topsecret").output().unwrap();
    let text = String::from_utf8_lossy(&member.stderr);
    assert!(text.contains("what listens there is not node 1, or has another token"), "{text}");
    let greetings: Vec<String> = greetings.try_iter().collect();
    assert!(greetings.len() > 2 && !greetings.concat().contains("topsecret"), "{greetings:?}");
}

fn another_number_of_processes_is_an_error_on_both_sides() {
    for (said, named) in [("1 3", "node 2 of 3 processes"), ("7 2", "node 8 of 2 processes")] {
        let (printed, answer) = spoken(&greeting().replace("1 2", said), "10");
        for text in [printed, answer] {
            assert!(text.contains(&format!("{named} has come, and node 1 is one of 2")), "{text}");
        }
    }
}

fn a_connection_that_is_cut_is_reported() {
    let (cut, answer) = spoken(&format!("{}=[\"half of", greeting()), "10");
    assert!(cut.contains("node 2 has gone in the middle of a message"), "{cut}");
    assert!(answer.starts_with("mowgli welcomes "), "{answer}");
    let (strange, _) = spoken(&format!("{}what\n", greeting()), "10");
    assert!(strange.contains("node 2 said what makes no sense"), "{strange}");
}

/// A connection without a greeting of the company does not count as one of its processes.
fn strangers_are_sent_away() {
    for stranger in [
        "GET / HTTP/1.1\n",
        "mowgli TOKEN 1 x once v\n",
        "mowgli 1 2\n",
        "mowgli",
        "mowgli x 18446744073709551615 2 once v\n",
    ] {
        let (reported, answer) = spoken(stranger, "1");
        assert!(reported.contains("node 2 did not come within 1 s"), "{stranger}: {reported}");
        assert_eq!(answer, "", "{stranger}");
    }
}

/// A start is not delayed by connections that say nothing, say it slowly, or are very many, and it needs no memory for them.
fn strangers_do_not_delay_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let (first, at, _) = first_of_two(folder.path(), "20");
    let connect = || TcpStream::connect(&at).unwrap();
    let silent: Vec<TcpStream> = (0..20).map(|_| connect()).collect();
    let (mut slow, mut long) = (connect(), connect());
    std::thread::spawn(move || {
        while slow.write_all(b"m").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    std::thread::spawn(move || {
        let part = vec![b'x'; 1 << 20];
        (0..200).all(|_| long.write_all(&part).is_ok())
    });
    let many: Vec<TcpStream> = (0..500).map(|_| connect()).collect();
    let begin = Instant::now();
    let second = role_of_two("1", &folder.path().join("meet"), "20").output().unwrap();
    let taken = begin.elapsed();
    let status = std::fs::read_to_string(format!("/proc/{}/status", first.id())).unwrap_or_default();
    let first = first.wait_with_output().unwrap();
    assert!(first.status.success() && second.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    assert!(taken < Duration::from_secs(5), "{taken:?}");
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    assert!(peak.is_none_or(|kilobytes| kilobytes < 50_000), "{peak:?}");
    drop((silent, many));
}

/// A file of an earlier run names an address that another program may have by now.
fn what_listens_at_an_old_address_is_not_taken_for_the_company() {
    let folder = tempfile::tempdir().unwrap();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    std::thread::spawn({
        let other = other.try_clone().unwrap();
        move || other.incoming().flatten().for_each(|mut stream| _ = stream.write_all(b"220 mail\r\n"))
    });
    let meet = folder.path().join("meet");
    std::fs::write(&meet, format!("{}/old\n", other.local_addr().unwrap())).unwrap();
    let second = role_of_two("1", &meet, "20").stderr(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let first = role_of_two("0", &meet, "20").output().unwrap();
    let second = second.wait_with_output().unwrap();
    assert!(first.status.success() && second.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
}

fn a_message_inside_another_one_is_not_received(company: &Company, provider: Provider) -> Result<(), Fault> {
    let forged = Forged::new();
    forged.group.run_among(company, provider, |thread| forged.exchange(thread))?;
    Ok(())
}

fn what_clients_of_a_store_see_is_linearisable(company: &Company, provider: Provider) -> Result<(), Fault> {
    let load = load::Load { nodes: 4, clients: 1, keys: 2, changes: 3, others: 10 };
    let (group, map) = load.group(None);
    let run = |thread: &mut Thread<'_>| load.run(map, thread, 1, nanoseconds);
    let all = among::among(company, provider, &group, run)?.concat();
    assert!(all.len() > 4 * 3 * 10);
    assert!(crate::history::wrong(&all).is_none(), "{:?}", crate::history::wrong(&all));
    Ok(())
}

pub fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

fn what_a_load_of_a_store_sees_is_linearisable(company: &Company, provider: Provider) -> Result<(), Fault> {
    let load = clients::Load { nodes: 2, clients: 2, keys: 3, calls: 20, updates: 0.5 };
    let (group, map, barrier) = load.group(None);
    let run = |thread: &mut Thread<'_>| load.run((map, barrier), thread, 1, nanoseconds);
    let all = among::among(company, provider, &group, run)?.concat();
    assert_eq!(all.len(), 3 + 4 * 20);
    assert!(crate::history::wrong(&all).is_none(), "{:?}", crate::history::wrong(&all));
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
