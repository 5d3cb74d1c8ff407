//! Tests of processes on two or more hosts, which are network namespaces with cables between them. If libfabric, `ip` or the right to use
//! it is missing, the tests are reported as ignored. Each process of a test is this program again, with the name of its role.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use mowgli_fabric::{Company, Fault, Group, Provider, Thread};

use crate::history::wrong;
use crate::load::Load;
use crate::needs::{Layer, Need, trial};
use crate::place::{among, nanoseconds};

const LIMIT: Duration = Duration::from_secs(90);

/// The line that the first process prints when all is well.
const DONE: &str = "all have met";

/// The line that it prints after some iterations.
const BEGUN: &str = "they meet";

/// Lists the tests.
pub fn trials() -> Vec<Trial> {
    ON_HOSTS.map(|(name, test)| trial(name, Layer::Long, CABLE, test)).into()
}

const CABLE: Need = Need {
    tool: "libfabric and the right to make network namespaces",
    in_ci: false,
    missing: || Provider::Tcp.check().err().map(|why| why.to_string()).or_else(|| Cable::new("try").err()),
};

/// Tests on two or more hosts.
const ON_HOSTS: [(&str, fn()); 6] = [
    ("histories_of_four_hosts_are_linearisable", histories_are_linearisable),
    ("words_are_whole_wherever_a_segment_of_the_network_ends", words_are_whole),
    ("a_process_that_is_killed_while_others_only_put_is_named", || one_is_killed("puts", "node 2")),
    ("processes_on_two_hosts_meet_and_keep_the_order_of_puts", on_two_hosts),
    ("one_that_is_killed_on_another_host_is_named", || one_is_killed("endless", "node 2 has gone")),
    ("a_cable_that_is_cut_is_reported_with_the_name_of_who_is_behind_it", a_cable_is_cut),
];

/// Plays a role in a test of another process.
pub fn played(name: &str) -> ExitCode {
    let rounds = match name {
        "endless" | "puts" => i64::MAX,
        "whole" => 100,
        _ => 400,
    };
    let role = match name {
        "whole" => copies,
        "puts" => puts,
        "histories" => histories,
        _ => meets,
    };
    let company = Company::joined(LIMIT).unwrap_or_else(|| Err(Fault::Wrong("nothing says where to meet".to_owned())));
    match company.and_then(|company| role(&company, rounds).map(|()| company.rank())) {
        Ok(rank) => {
            if rank == 0 {
                println!("{DONE}");
            }
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Repeats a litmus test: a message is put, and then a flag, and a thread that sees the flag sees the message. All
/// threads meet after each iteration.
fn meets(company: &Company, rounds: i64) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    let [message, flag] = ["message", "flag"].map(|name| group.word(name, 2, 0));
    let own = group.word("own", 1, 0);
    let barrier = group.barrier("b", &[0, 1]);
    group.run_among(company, Provider::Tcp, |thread| {
        for round in 1..=rounds {
            if thread.id().index() == 0 {
                own.write(thread, round)?;
                message.put(thread, own)?;
                flag.put(thread, own)?.wait(thread)?;
                if round == 20 {
                    println!("{BEGUN}");
                }
            } else {
                thread.until(|thread| Ok((flag.read(thread)? == round).then_some(())))?;
                assert_eq!(message.read(thread)?, round, "the flag came before the message");
            }
            barrier.wait(thread)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// The bytes of a buffer that is copied: more than a segment has.
const COPIED: usize = 12_000;

/// The number of looks after gets have begun.
const LOOKS: usize = 30;

/// The number of buffers that are copied into one.
const SOURCES: usize = 16;

/// Puts and gets many buffers into one of the other node and of the own, while threads there read it. The sources of gets are written again
/// meanwhile. The halves of each word are equal, and those of two buffers differ, so a word that is not whole is noticed.
fn copies(company: &Company, rounds: i64) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 1, 2]).within(LIMIT);
    let [near, far] = [1, 2].map(|node| group.buffer(&format!("copied{node}"), node, COPIED));
    let sources = [1, 2].map(|node| group.buffer(&format!("source{node}"), node, SOURCES * COPIED));
    let [own, other] = sources.map(|all| (0..SOURCES).map(move |k| all.part(k * COPIED..(k + 1) * COPIED)));
    let (done, barrier) =
        ([1, 2].map(|node| group.word(&format!("done{node}"), node, 0)), group.barrier("b", &[0, 1, 2]));
    group.run_among(company, Provider::Tcp, |thread| {
        let me = thread.id().index();
        let filled = |k: usize| (k as u32 * 0x0103_0507).to_le_bytes().repeat(COPIED / 4);
        let looks = |thread: &mut Thread<'_>| {
            let bytes = [near, far][me / 2].read(thread)?;
            let torn = bytes.chunks(8).find(|word| word[..4] != word[4..]);
            assert!(torn.is_none(), "half of a word: {torn:02x?}");
            Ok::<_, Fault>(())
        };
        if me != 1 {
            sources[me / 2].write(thread, &(1..=SOURCES).flat_map(filled).collect::<Vec<u8>>())?;
        }
        barrier.wait(thread)?;
        if me == 0 {
            for round in 0..rounds {
                // All of them are under way at once, so that segments are full.
                let all: Vec<_> = match round % 2 {
                    0 => own.clone().map(|own| far.put(thread, own)).collect::<Result<_, _>>()?,
                    _ => other.clone().map(|other| other.get(thread, near)).collect::<Result<_, _>>()?,
                };
                // Each look after a poll sees the bytes that have come until then.
                for _ in 0..if round % 2 == 0 { 0 } else { LOOKS } {
                    looks(thread)?;
                    thread.pause();
                }
                all.into_iter().try_for_each(|begun| begun.wait(thread))?;
                if round == 20 {
                    println!("{BEGUN}");
                }
            }
            done[0].write(thread, 1)?;
            done[1].put(thread, done[0])?.wait(thread)?;
        } else {
            let (done, mut k) = (done[me - 1], 0);
            while done.read(thread)? == 0 {
                looks(thread)?;
                if me == 2 {
                    k = k % SOURCES + 1;
                    sources[1].part((k - 1) * COPIED..k * COPIED).write(thread, &filled(k))?;
                }
                thread.pause();
            }
        }
        barrier.wait(thread)
    })?;
    Ok(())
}

/// Puts stores under load. A checker that is not ours decides whether the calls of all processes have an order.
fn histories(company: &Company, _: i64) -> Result<(), Fault> {
    let load = Load { nodes: 4, clients: 1, keys: 4, changes: 50, others: 20 };
    let (mut calls, stores) = (0, stores());
    for seed in 0..stores {
        let (group, map) = load.group();
        let run = |thread: &mut Thread<'_>| load.run(map, thread, seed, nanoseconds);
        let all = among(company, Provider::Tcp, &group.within(LIMIT), run)?.concat();
        if company.rank() == 0 {
            let wrong = wrong(&all);
            assert!(wrong.is_none(), "store {seed}: {wrong:?}");
            calls += all.len();
        }
    }
    if company.rank() == 0 {
        println!("{calls} calls of {stores} stores");
    }
    Ok(())
}

/// Returns how many stores the histories are of: as many as the environment says, or a few.
fn stores() -> u64 {
    std::env::var("MOWGLI_HISTORIES").ok().and_then(|number| number.parse().ok()).unwrap_or(4)
}

/// Node 1 only puts single words, whose completions it never waits for.
fn puts(company: &Company, rounds: i64) -> Result<(), Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    let (own, far) = (group.word("own", 1, 0), group.word("far", 2, 0));
    group.run_among(company, Provider::Tcp, |thread| {
        if thread.id().index() == 1 {
            return thread.until(|thread| Ok((far.read(thread)? < 0).then_some(())));
        }
        for round in 0..rounds {
            own.write(thread, round)?;
            far.put(thread, own)?;
            if round == 20 {
                println!("{BEGUN}");
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn this() -> std::path::PathBuf {
    std::env::current_exe().unwrap()
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

fn is_done(output: &Output) {
    let text = text(output);
    assert!(output.status.success() && text.matches(DONE).count() == 1, "{text}");
}

/// Two hosts with a cable between them, or several with cables to a switch, which is the last one.
struct Cable {
    hosts: Vec<String>,
}

/// Returns the address of a host, counted from 0.
fn address(host: usize) -> String {
    format!("10.213.77.{}", host + 1)
}

impl Cable {
    /// Makes namespaces with these names.
    fn with_hosts(name: &str, ends: &[&str]) -> Result<Self, String> {
        let hosts = ends.iter().map(|end| format!("mowgli-{name}-{}-{end}", std::process::id())).collect();
        let cable = Self { hosts };
        cable.hosts.iter().try_for_each(|host| ip(&["netns", "add", host]))?;
        Ok(cable)
    }

    /// Gives the first of the hosts their addresses.
    fn addressed(self, hosts: usize) -> Result<Self, String> {
        for (number, host) in self.hosts[..hosts].iter().enumerate() {
            ip(&["-n", host, "addr", "add", &format!("{}/24", address(number)), "dev", "cable"])?;
            ["lo", "cable"].iter().try_for_each(|link| ip(&["-n", host, "link", "set", link, "up"]))?;
        }
        Ok(self)
    }

    /// Makes two hosts and the cable.
    fn new(name: &str) -> Result<Self, String> {
        let cable = Self::with_hosts(name, &["a", "b"])?;
        let [a, b] = &cable.hosts[..] else { unreachable!("two hosts") };
        ip(&["-n", a, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", b])?;
        cable.addressed(2)
    }

    /// Makes four hosts and a switch, with packets of so many bytes.
    fn switched(name: &str, bytes: usize) -> Result<Self, String> {
        let cable = Self::with_hosts(name, &["a", "b", "c", "d", "switch"])?;
        let (switch, mtu) = (&cable.hosts[4], bytes.to_string());
        ip(&["-n", switch, "link", "add", "switch", "mtu", &mtu, "type", "bridge"])?;
        for host in &cable.hosts[..4] {
            let port = &format!("port{}", &host[host.len() - 1..]);
            ip(&[
                "-n", host, "link", "add", "cable", "mtu", &mtu, "type", "veth", "peer", "name", port, "mtu", &mtu,
                "netns", switch,
            ])?;
            ip(&["-n", switch, "link", "set", port, "master", "switch", "up"])?;
        }
        ip(&["-n", switch, "link", "set", "switch", "up"])?;
        cable.addressed(4)
    }

    /// Sets the largest number of bytes of a packet. The system sends each packet by itself.
    fn with_packets_of(self, bytes: usize) -> Self {
        let set =
            |host: &String| ip(&["-n", host, "link", "set", "cable", "mtu", &bytes.to_string(), "gso_max_segs", "1"]);
        self.hosts.iter().try_for_each(set).unwrap();
        self
    }

    /// Starts a process on each of the first hosts.
    fn started<const HOSTS: usize>(&self, role: &str) -> [Child; HOSTS] {
        std::array::from_fn(|rank| {
            Command::new("ip")
                .args(["netns", "exec", &self.hosts[rank]])
                .arg(this())
                .args(["role", role])
                .envs([("MOWGLI_MEET", "10.213.77.1:7000"), ("MOWGLI_HOST", &address(rank)), ("MOWGLI_TOKEN", "cable")])
                .envs([("MOWGLI_RANK", rank.to_string()), ("MOWGLI_SIZE", HOSTS.to_string())])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for host in &self.hosts {
            _ = ip(&["netns", "del", host]);
        }
    }
}

fn ip(args: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(args).output().map_err(|e| format!("ip: {e}"))?;
    output.status.success().then_some(()).ok_or_else(|| format!("ip {}: {}", args.join(" "), text(&output).trim()))
}

fn on_two_hosts() {
    let cable = Cable::new("meet").unwrap();
    let [first, second] = cable.started("meets");
    let [first, second] = [first, second].map(|child| child.wait_with_output().unwrap());
    is_done(&first);
    assert!(second.status.success(), "{}", text(&second));
}

/// Packets of these sizes end inside words: jumbo frames, those of VXLAN, and small ones. Those of Ethernet hide it. The second
/// process stops for a moment, so that what it has not read piles up.
fn words_are_whole() {
    for bytes in [200, 1450, 1500, 9000] {
        let cable = Cable::new("whole").unwrap().with_packets_of(bytes);
        let [first, second] = in_the_middle(&cable, "whole");
        let signal = |name: &str| Command::new("kill").args([name, &second.id().to_string()]).status().unwrap();
        signal("-STOP");
        std::thread::sleep(Duration::from_millis(300));
        signal("-CONT");
        for child in [first, second] {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "packets of {bytes} bytes: {}", text(&output));
        }
    }
}

/// Packets of 9,000 bytes end inside words.
fn histories_are_linearisable() {
    let hosts = Cable::switched("four", 9000).unwrap();
    let all: [Child; 4] = hosts.started("histories");
    let [first, others @ ..] = all.map(|child| child.wait_with_output().unwrap());
    others.iter().for_each(|output| assert!(output.status.success(), "{}", text(output)));
    is_done(&first);
    print!("{}", text(&first));
}

/// Starts two processes in a role, and waits until they have begun.
fn in_the_middle(cable: &Cable, role: &str) -> [Child; 2] {
    let mut children = cable.started(role);
    let mut line = String::new();
    BufReader::new(children[0].stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    if line.trim() != BEGUN {
        panic!("they do not meet: {}", children.map(|child| text(&child.wait_with_output().unwrap())).concat());
    }
    children
}

/// Returns the output of a process, which has to end soon.
fn soon(child: Child, begin: Instant) -> String {
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success() && begin.elapsed() < Duration::from_secs(25), "{:?}", begin.elapsed());
    text(&output)
}

/// Kills the second process in the middle of a role, and checks that the first one names it.
fn one_is_killed(role: &str, named: &str) {
    let cable = Cable::new("kill").unwrap();
    let [first, mut second] = in_the_middle(&cable, role);
    let begin = Instant::now();
    // `ip netns exec` has become the process.
    second.kill().unwrap();
    second.wait().unwrap();
    let reported = soon(first, begin);
    assert!(reported.contains(named), "{reported}");
}

fn a_cable_is_cut() {
    let cable = Cable::new("cut").unwrap();
    let [first, second] = in_the_middle(&cable, "endless");
    let begin = Instant::now();
    ip(&["-n", &cable.hosts[0], "link", "set", "cable", "down"]).unwrap();
    for (child, name) in [(first, "node 2"), (second, "node 1")] {
        let reported = soon(child, begin);
        assert!(reported.contains(name), "{reported}");
    }
}
