//! Groups with a process for each node, over mapped memory, and over libfabric on the loopback device and in shared memory. If
//! libfabric is missing, its tests are reported as ignored, not as passed. Each process of a test is this program again, with the
//! name of its role.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use libtest_mimic::Trial;
use mowgli_core::ids::Node;
use mowgli_core::world::Object;
use mowgli_fabric::{Buffer, Company, Fault, Group, Provider, Thread, Word};
use sha2::Sha256;

use crate::crowd::Crowd;
use crate::needs::{self, Layer, Need};
use crate::place::{among, nanoseconds};
use crate::scenarios::{Runner, SCENARIOS, Scenario, ThreadCode, on_no_node};
use crate::{load, pair, plant, random_programs};

/// The role of a process in a test.
type Role = fn(&Company, Provider) -> Result<(), Fault>;

/// The tests in which all processes do the same, with the number of processes.
const TOGETHER: [(&str, usize, Role); 13] = [
    ("a_get_does_not_pass_a_put", 2, |company, provider| gets_what_it_put(company, provider, false)),
    ("puts_keep_their_order_and_words_are_whole", 2, puts_keep_their_order_and_words_are_whole),
    ("sources_of_puts_are_read_in_their_order", 2, sources_of_puts_are_read_in_their_order),
    ("a_wait_for_a_put_lasts_until_its_source_was_read", 2, a_wait_for_a_put_lasts_until_its_source_was_read),
    ("gets_are_placed_in_their_order", 2, gets_are_placed_in_their_order),
    ("nothing_passes_an_atomic", 2, |company, provider| gets_what_it_put(company, provider, true)),
    ("atomics_of_all_threads_exclude_each_other", 3, atomics_of_all_threads_exclude_each_other),
    ("atomics_of_the_cpu_and_of_the_network_exclude_each_other", 2, atomics_of_the_cpu_exclude_each_other),
    ("a_remote_fence_waits_for_gets", 2, a_remote_fence_waits_for_gets),
    ("random_programs_show_what_the_model_allows", 2, random_programs_show_what_the_model_allows),
    ("eighty_threads_meet", 2, eighty_threads_meet),
    ("what_clients_of_a_store_see_is_linearisable", 4, what_clients_of_a_store_see_is_linearisable),
    ("commands_come_in_order_and_in_time", 3, commands_come_in_order_and_in_time),
];

/// The roles of single processes in tests of faults.
const FAULTS: [(&str, Role); 17] = [
    ("keeps_limits", keeps_limits),
    ("other_words", other_words),
    ("other_threads", other_threads),
    ("other_bodies", other_bodies),
    ("adds_ones", |company, provider| adds(company, provider, 1)),
    ("adds_thousands", |company, provider| adds(company, provider, 1000)),
    ("twice_at_once", twice_at_once),
    ("on_no_node", |company, provider| scenario_of(on_no_node, company, provider)),
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
const SILENT: [(&str, Test); 9] = [
    ("limits_of_calls_and_loops_are_kept", limits_are_kept),
    ("other_words_are_an_error_on_both_sides", |provider| {
        differ("other_words", provider, &["node 1 alone has a: rdma-wait-rmw, node 2, at first 5"]);
    }),
    ("other_threads_are_an_error_on_both_sides", |provider| {
        let both =
            ["node 1 alone has 2 nodes, threads on nodes 1, 2;", "node 2 alone has 2 nodes, threads on nodes 1, 2, 2;"];
        differ("other_threads", provider, &both);
    }),
    ("other_bodies_are_an_error_on_both_sides", |provider| {
        differ("other_bodies", provider, &["node 1 alone has gate: code ", "; node 2 alone has gate: code "]);
    }),
    ("two_companies_at_once_share_no_word", two_companies_at_once_share_no_word),
    ("two_groups_at_once_share_no_word", two_groups_at_once_share_no_word),
    ("one_company_runs_one_group_at_a_time", one_company_runs_one_group_at_a_time),
    ("words_are_on_nodes_of_the_group", |provider| {
        launched("on_no_node", 2, provider).iter().for_each(|(is_good, said)| assert!(is_good, "{said}"));
    }),
    ("a_panic_is_reported_to_all_at_once", a_panic_is_reported_to_all_at_once),
];

const LIMIT: Duration = Duration::from_secs(20);

/// Plays a role in a test of another process, over a provider.
pub fn role(provider: &str, name: &str) -> ExitCode {
    plays(name, provider.parse().expect("a provider"))
}

/// Lists the tests with a process for each node.
pub fn trials() -> Vec<Trial> {
    let alone: [(&str, fn()); 9] = [
        ("a_partner_that_does_not_start_is_named", a_partner_that_does_not_start_is_named),
        ("a_connection_that_is_cut_is_reported", a_connection_that_is_cut_is_reported),
        ("strangers_are_sent_away", strangers_are_sent_away),
        ("strangers_do_not_delay_a_start", strangers_do_not_delay_a_start),
        (
            "who_listens_without_the_token_is_not_taken_for_node_1",
            who_listens_without_the_token_is_not_taken_for_node_1,
        ),
        ("another_version_is_an_error_on_both_sides", another_version_is_an_error_on_both_sides),
        ("another_token_is_named_on_both_sides", another_token_is_named_on_both_sides),
        ("a_greeting_that_is_said_again_is_refused", a_greeting_that_is_said_again_is_refused),
        (
            "another_number_of_processes_is_an_error_on_both_sides",
            another_number_of_processes_is_an_error_on_both_sides,
        ),
    ];
    let quick = |test: fn()| {
        move || {
            test();
            Ok(())
        }
    };
    let mut trials: Vec<Trial> = alone.into_iter().map(|(name, test)| Trial::test(name, quick(test))).collect();
    for provider in [Provider::Tcp, Provider::Shm, Provider::Memory] {
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
            trials.push(in_layer(quick, name, Box::new(move || together(name, size, provider, role))));
        }
        for (name, size, scenario) in SCENARIOS {
            let role = move |company: &Company, provider| scenario_of(scenario, company, provider);
            trials.push(in_layer(quick, name, Box::new(move || together(name, size, provider, role))));
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

/// Plays a role in a test of another process.
fn plays(name: &str, provider: Provider) -> ExitCode {
    let roles = TOGETHER.into_iter().map(|(name, _, role)| (name, role)).chain(FAULTS);
    let role = roles.into_iter().find(|(of, _)| *of == name).map(|(_, role)| role);
    let scenario = SCENARIOS.into_iter().find(|(of, ..)| *of == name).map(|(.., scenario)| scenario);
    assert!(role.is_some() || scenario.is_some(), "{name} is no role");
    // Tests in which processes are missing set a shorter limit.
    let limit =
        std::env::var("MOWGLI_TEST_LIMIT").ok().and_then(|s| s.parse().ok()).map_or(LIMIT, Duration::from_secs_f64);
    let ran = Company::joined(limit).expect("started for a company").and_then(|company| match (role, scenario) {
        (Some(role), _) => role(&company, provider),
        (_, scenario) => scenario_of(scenario.expect("a role"), &company, provider),
    });
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{name}: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a scenario in this process.
fn scenario_of(scenario: Scenario, company: &Company, provider: Provider) -> Result<(), Fault> {
    let run = |group: &Group, code: ThreadCode<'_>| group.run_among(company, provider, code).map(drop);
    scenario(&Runner { run: &run, times: TIMES })
}

fn started(name: &str, size: usize, provider: Provider, limit: Duration) -> Result<Company, Fault> {
    let arguments = ["role", provider.name(), name].map(str::to_owned);
    Company::start(size, &arguments, limit)
}

fn together(name: &str, size: usize, provider: Provider, role: impl Fn(&Company, Provider) -> Result<(), Fault>) {
    let company = started(name, size, provider, LIMIT).unwrap();
    role(&company, provider).unwrap();
    assert_eq!(company.fault(), None);
}

/// Two words on each of two nodes, and a thread on each.
struct Words {
    group: Group,
    x: [Word; 2],
    y: [Word; 2],
}

impl Words {
    fn new() -> Self {
        let mut group = Group::new(&[1, 2]).within(LIMIT);
        let mut pair = |name: &str| [1, 2].map(|n| group.word(&format!("{name}{n}"), n, 0));
        let (x, y) = (pair("x"), pair("y"));
        Self { group, x, y }
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

const TIMES: i64 = 500;

/// Returns how often a test repeats what it does. Mapped memory is so quick that few of so few times would overlap.
fn times(provider: Provider) -> i64 {
    if provider == Provider::Memory { 50 * TIMES } else { TIMES }
}

/// [add(x2, 1000)]; put(x2, x1); get(y1, x2); wait: the get returns the value that was put, and the value remains.
fn gets_what_it_put(company: &Company, provider: Provider, adds: bool) -> Result<(), Fault> {
    let (words, times) = (Words::new(), times(provider));
    let ([x1, x2], [y1, _]) = (words.x, words.y);
    let acts = |thread: &mut Thread<'_>| {
        for i in 1..=times {
            x1.write(thread, i)?;
            if adds {
                x2.fetch_add(thread, 1000, y1)?;
            }
            x2.put(thread, x1)?;
            x2.get(thread, y1)?.wait(thread)?;
            assert_eq!(y1.read(thread)?, i);
        }
        Ok(())
    };
    words.run(company, provider, acts, |thread| Ok(x2.read(thread)? == times))
}

/// Two words are put one after the other, over and over. A thread that sees the second sees the first. The values
/// differ in all bytes, so that a torn word is noticed.
fn puts_keep_their_order_and_words_are_whole(company: &Company, provider: Provider) -> Result<(), Fault> {
    const STEP: i64 = 0x0001_0203_0405_0607;
    let (words, times) = (Words::new(), times(provider));
    let ([x1, x2], [y1, y2]) = (words.x, words.y);
    let acts = |thread: &mut Thread<'_>| {
        for i in 1..=times {
            [x1, y1].into_iter().try_for_each(|x| x.write(thread, i * STEP))?;
            let puts = [x2.put(thread, x1)?, y2.put(thread, y1)?];
            puts.into_iter().try_for_each(|put| put.wait(thread))?;
        }
        Ok(())
    };
    let looks = |thread: &mut Thread<'_>| {
        let (second, first) = (y2.read(thread)?, x2.read(thread)?);
        assert!(first % STEP == 0 && second % STEP == 0, "{first:x} or {second:x} is torn");
        assert!(first >= second, "{first:x} was put before {second:x}");
        Ok(second == times * STEP)
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

/// A thread puts many words, waits, and writes the source again. What was put before has arrived.
fn a_wait_for_a_put_lasts_until_its_source_was_read(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    let many = [1, 2].map(|n| group.buffer(&format!("many{n}"), n, LARGE));
    let (back, barrier) = (group.buffer("back", 1, LARGE), group.barrier("b", &[0, 1]));
    group.run_among(company, provider, |thread| {
        for round in 1..=if thread.id().index() == 0 { 40 } else { 0 } {
            let filled = |v: i64| v.to_le_bytes().repeat(LARGE / 8);
            many[0].write(thread, &filled(round))?;
            many[1].put(thread, many[0])?.wait(thread)?;
            many[0].write(thread, &filled(-1))?;
            many[1].get(thread, back)?.wait(thread)?;
            assert!(back.read(thread)? == filled(round), "the put has read what was written after its wait");
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

/// All threads, one of them on the node itself, add to a word, and each gets another number. The CPU adds for the one on the node,
/// while the provider adds for the others. It adds more often, because it is much quicker.
fn atomics_of_all_threads_exclude_each_other(company: &Company, provider: Provider) -> Result<(), Fault> {
    let times = times(provider);
    // Over the network an addition takes a hundred times as long.
    let more = if provider == Provider::Memory { 1 } else { 100 };
    let nodes = [1, 2, 2, 3];
    let mut group = Group::new(&nodes).within(LIMIT);
    let (sum, barrier) = (group.word("s", 1, 0), group.barrier("b", &[0, 1, 2, 3]));
    let own: Vec<Word> = nodes.iter().zip(0..).map(|(&n, i)| group.word(&format!("p{i}"), n, 0)).collect();
    group.run_among(company, provider, |thread| {
        let p = own[thread.id().index()];
        let mut last = -1;
        for _ in 0..if thread.node() == Node(1) { more * times } else { times } {
            sum.fetch_add(thread, 1, p)?.wait(thread)?;
            let now = p.read(thread)?;
            assert!(now > last, "{now} after {last}");
            last = now;
        }
        barrier.wait(thread)?;
        sum.get(thread, p)?.wait(thread)?;
        assert_eq!(p.read(thread)?, (more + 3) * times);
        Ok(())
    })?;
    Ok(())
}

/// Two threads of node 1 change its words by each atomic operation, of the CPU and of the network. The thread of node 2 does so over the
/// network. No change is lost.
fn atomics_of_the_cpu_exclude_each_other(company: &Company, provider: Provider) -> Result<(), Fault> {
    const CHANGES: i64 = 20_000;
    const BURST: i64 = 600;
    let mut group = Group::new(&[1, 1, 2]).within(LIMIT);
    let [added, swapped, exchanged] = ["added", "swapped", "exchanged"].map(|name| group.word(name, 1, 0));
    let own: Vec<Word> = [1, 1, 2].iter().zip(0..).map(|(&n, t)| group.word(&format!("own{t}"), n, 0)).collect();
    let barrier = group.barrier("b", &[0, 1, 2]);
    let pair = pair::Pair::default();
    let results = group.run_among(company, provider, |thread| {
        let (me, x) = (thread.id().index() as i64, own[thread.id().index()]);
        let times = if me == 2 { CHANGES / 100 } else { CHANGES };
        let mut returned = 0;
        for time in 1..=times {
            let is_remote = me == 2 || time % 100 == 0;
            if me < 2 && time % 50 == 1 {
                pair.meets(time as u64, me as usize);
                thread.by_port(&[added, exchanged], |port, words| {
                    (0..BURST).try_for_each(|_| port.faa(words[0], 1).map(drop))?;
                    let first = BURST * (time / 50) + 1;
                    (first..first + BURST).try_for_each(|v| port.xchg(words[1], 2 * v + me).map(|was| returned += was))
                })?;
            }
            if is_remote {
                added.fetch_add(thread, 1, x)?.wait(thread)?;
            }
            let mut old = 0;
            loop {
                let was = if is_remote {
                    swapped.compare_and_swap(thread, old, old + 1, x)?.wait(thread)?;
                    x.read(thread)?
                } else {
                    thread.by_port(&[swapped], |port, words| port.cas(words[0], old, old + 1))?
                };
                if was == old {
                    break;
                }
                old = was;
            }
        }
        barrier.wait(thread)?;
        if me == 2 {
            return Ok(0);
        }
        assert_eq!(added.read(thread)?, 2 * CHANGES / 50 * BURST + 3 * CHANGES / 100);
        assert_eq!(swapped.read(thread)?, 2 * CHANGES + CHANGES / 100);
        Ok(returned + if me == 0 { exchanged.read(thread)? } else { 0 })
    })?;
    // Each number that was put into the word was returned once, or is there at the end.
    let all = (1..=CHANGES / 50 * BURST).map(|v| 4 * v + 1).sum::<i64>();
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
            thread.by_port(&[], |port, _| port.rfence(2))?;
            assert_eq!(own.read(thread)?, 7);
        }
        barrier.wait(thread)
    })?;
    Ok(())
}

fn random_programs_show_what_the_model_allows(company: &Company, provider: Provider) -> Result<(), Fault> {
    let explores = company.rank() == 0;
    let [seen, _] =
        random_programs::show_what_the_model_allows(40, explores, |group, code| among(company, provider, group, code))?;
    assert!(!explores || seen > random_programs::PROGRAMS as usize, "every program has one outcome alone");
    Ok(())
}

fn eighty_threads_meet(company: &Company, provider: Provider) -> Result<(), Fault> {
    let crowd = Crowd::new(80);
    let sums = crowd.group.run_among(company, provider, |thread| crowd.meet(thread))?;
    assert_eq!(sums, vec![0; 40]);
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
        let at = address();
        let [mut first, mut second] =
            [0, 1].map(|rank| spawned(&mut played([provider.name(), "puts_on"], [rank, 2], &at, "20")));
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
    let at = address();
    let mut both = [0, 1].map(|rank| spawned(&mut played([provider.name(), "late"], [rank, 2], &at, "20")));
    let pids = both.each_ref().map(|process| process.id().to_string());
    let of_both = |pid: &str| pids.iter().any(|one| one == pid);
    let begin = Instant::now();
    while provider == Provider::Shm && left(of_both) < 2 {
        assert!(begin.elapsed() < LIMIT, "{} files of two processes", left(of_both));
        std::thread::sleep(Duration::from_millis(5));
    }
    both.iter_mut().for_each(|process| process.kill().unwrap());
    both.iter_mut().for_each(|process| _ = process.wait().unwrap());
    together("gathers_over", 2, provider, gathers_over);
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
    let why = fault.to_string();
    assert!(why.contains("node 2 (process ") && why.contains("ended before it had come"), "{why}");
    // Here more processes should have been started.
    let alone = |rank| played(["shm", "gathers"], [rank, 3], &address(), "0.5").output().unwrap();
    let [first, second] = [0, 1].map(|rank| text(&alone(rank).stderr));
    assert!(first.contains("node 2, node 3 did not come within 0.5 s"), "{first}");
    assert!(second.contains("node 1 was not reached within 0.5 s"), "{second}");
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
}

/// Starts so many processes that play a role. Returns for each whether it succeeded, and its error output, by rank.
fn launched(name: &str, size: usize, provider: Provider) -> Vec<(bool, String)> {
    let at = address();
    let start = |rank| spawned(&mut played([provider.name(), name], [rank, size], &at, "20"));
    let all: Vec<_> = (0..size).map(start).collect();
    let ended = all.into_iter().map(|process| process.wait_with_output().unwrap());
    ended.map(|out| (out.status.success(), text(&out.stderr))).collect()
}

/// Checks that both processes of a role report that their groups differ, with these texts.
fn differ(name: &str, provider: Provider, texts: &[&str]) {
    for (is_good, said) in launched(name, 2, provider) {
        assert!(!is_good && said.contains("node 1 and node 2 have declared different groups"), "{said}");
        assert!(texts.iter().all(|text| said.contains(text)), "{said}");
    }
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

/// Declares one thread on the second node in the first process, and two in the other. All words are the same.
fn other_threads(company: &Company, provider: Provider) -> Result<(), Fault> {
    let nodes: &[u8] = if company.rank() == 0 { &[1, 2] } else { &[1, 2, 2] };
    let mut group = Group::new(nodes).within(LIMIT);
    group.word("x", 2, 0);
    group.run_among(company, provider, |_| Ok(()))?;
    Ok(())
}

/// Declares an object with other code in the second process. Names, words and objects are the same.
fn other_bodies(company: &Company, provider: Provider) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    let code = if company.rank() == 0 { "a fence, and a write" } else { "a write" };
    group.emitted("gate", Object::new(mowgli_libraries::sv::SV), code, |world| world.word(1, 0));
    group.run_among(company, provider, |_| Ok(()))?;
    Ok(())
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

/// Returns an address of this machine that no other test has.
fn address() -> String {
    let [a, b, c, _] = fastrand::u32(..).to_le_bytes();
    format!("127.{a}.{b}.{}:7000", c.clamp(1, 254))
}

/// The token of processes in tests.
const TOKEN: &str = "topsecret";

/// Returns the command of a process of this rank and size that plays a role over a provider.
fn played(role: [&str; 2], [rank, size]: [usize; 2], meet: &str, limit: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("role").args(role).envs([("MOWGLI_MEET", meet), ("MOWGLI_TOKEN", TOKEN), ("MOWGLI_TEST_LIMIT", limit)]);
    command.envs([("MOWGLI_RANK", rank.to_string()), ("MOWGLI_SIZE", size.to_string())]);
    command
}

fn spawned(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Starts node 1 of two, and returns it with a connection to it.
fn first_of_two(at: &str, limit: &str) -> (Child, TcpStream) {
    let first = spawned(&mut played(["shm", "gathers"], [0, 2], at, limit));
    let begin = Instant::now();
    loop {
        match TcpStream::connect(at) {
            Ok(stream) => return (first, stream),
            Err(_) => assert!(begin.elapsed() < LIMIT),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Plays node 2 in a company of two by hand: sends this text to the first process, with the token in place of `TOKEN`. Returns
/// its error output, and its answer.
fn spoken(said: &str, limit: &str) -> (String, String) {
    let (first, mut stream) = first_of_two(&address(), limit);
    let once = challenge(&stream);
    stream.write_all(proven(said, &once).as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let printed = text(&first.wait_with_output().unwrap().stderr);
    let mut answer = String::new();
    // The answer may be cut off, if the first process has refused the connection.
    _ = stream.read_to_string(&mut answer);
    (printed, answer)
}

/// Reads the number that a greeting has to prove.
fn challenge(stream: &TcpStream) -> String {
    let mut challenge = String::new();
    BufReader::new(stream.try_clone().unwrap()).read_line(&mut challenge).unwrap();
    challenge.trim_end().strip_prefix("mowgli challenges ").expect("a challenge").to_owned()
}

/// Replaces `TOKEN` in a greeting by the proof that its process knows the token.
fn proven(said: &str, once: &str) -> String {
    let Some((greeting, rest)) = said.split_once('\n') else { return said.to_owned() };
    let Some((_, parts)) = greeting.split_once("TOKEN ") else { return said.to_owned() };
    format!("{}\n{rest}", greeting.replace("TOKEN", &proof(TOKEN, &format!("greeting {once} {parts}"))))
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
    let (at, begin) = (address(), Instant::now());
    let (mut first, _stranger) = first_of_two(&at, "20");
    let second =
        |token: &str| played(["shm", "gathers"], [1, 2], &at, "20").env("MOWGLI_TOKEN", token).output().unwrap();
    let wrong = second("guessed");
    let said = text(&wrong.stderr);
    assert!(!wrong.status.success() && said.contains("another token than node 1; set MOWGLI_TOKEN"), "{said}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert!(second(TOKEN).status.success() && first.wait().unwrap().success());
}

/// A stranger who has read the greeting of a member over one connection cannot join with it over another one.
fn a_greeting_that_is_said_again_is_refused() {
    let at = address();
    let (mut first, heard) = first_of_two(&at, "2");
    let mut stranger = TcpStream::connect(&at).unwrap();
    let [once, other] = [&heard, &stranger].map(challenge);
    assert_ne!(once, other);
    stranger.write_all(proven(&greeting(), &once).as_bytes()).unwrap();
    let mut answer = String::new();
    _ = stranger.read_to_string(&mut answer);
    assert!(answer.contains("has another token than node 1"), "{answer}");
    assert!(!first.wait().unwrap().success());
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
    let member = played(["shm", "gathers"], [1, 2], &at, "1").output().unwrap();
    let said = text(&member.stderr);
    assert!(said.contains("what listens there is not node 1, or has another token"), "{said}");
    let greetings: Vec<String> = greetings.try_iter().collect();
    assert!(greetings.len() > 2 && !greetings.concat().contains(TOKEN), "{greetings:?}");
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
    let at = address();
    let (first, _stranger) = first_of_two(&at, "20");
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
    let second = played(["shm", "gathers"], [1, 2], &at, "20").output().unwrap();
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

fn what_clients_of_a_store_see_is_linearisable(company: &Company, provider: Provider) -> Result<(), Fault> {
    let load = load::Load { nodes: 4, clients: 1, keys: 2, changes: 3, others: 10 };
    let (group, map) = load.group();
    let run = |thread: &mut Thread<'_>| load.run(map, thread, 1, nanoseconds);
    let all = among(company, provider, &group, run)?.concat();
    assert!(all.len() > 4 * 3 * 10);
    assert!(crate::history::wrong(&all).is_none(), "{:?}", crate::history::wrong(&all));
    Ok(())
}

fn commands_come_in_order_and_in_time(company: &Company, provider: Provider) -> Result<(), Fault> {
    let setting = plant::Setting { converters: 2, period: 40_000, commands: 50, slower: Some(50) };
    let (group, plant) = setting.group();
    let all = among(company, provider, &group, |thread| plant.run(thread, nanoseconds))?;
    assert_eq!(plant::wrong(&all), None);
    assert_eq!(plant::volts(&all).len(), 50);
    Ok(())
}
