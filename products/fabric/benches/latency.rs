//! The latency of a barrier, a put, a get and an addition between processes of one machine. The same run measures libfabric
//! alone (`raw.c`) and Open MPI (`peers.c`). A barrier of LOCO promises that earlier puts are placed, and one of MPI does not.
//! So the bench also measures a put, its wait and a barrier together. Additions are `Atomic::fetch_add`, which takes a lock,
//! and `MPI_Fetch_and_op` with a flush, to a word of the own node and of the other one. Messages have 64 bytes: the first process
//! sends some in sequence, and the second one receives them. A put is measured until its source was read, and until it is placed. A flush of
//! MPI waits for the latter. The last columns are a put of 1 MiB with its wait. Source and target begin at one offset of their pages, and at
//! different ones. A figure is the median of the medians of several processes, with the least and the greatest. They take turns with those
//! of the other rows. The bench reports each comparison that cannot be compiled or run here. `cargo bench -p mowgli-fabric --bench latency -- shm` measures one provider.

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use common::{OVER_LIBFABRIC, OWN_MEMORY, OWN_SOCKETS, Program, output};

use mowgli_fabric::{Company, Fault, Group, Provider};

const LIMIT: Duration = Duration::from_secs(60);

/// Returns the number of repetitions in one turn. The median turn counts.
fn times(provider: Provider) -> u32 {
    if provider == Provider::Tcp { 20 } else { 100 }
}

const TURNS: u32 = 500;

/// The bytes of a large put, and what its source is behind its target in a page.
const LARGE: usize = 1 << 20;
const OFFSET: usize = 1024;

/// The number of messages in sequence, before the processes meet.
const MESSAGES: u32 = 1000;

/// The number of times that each program is started.
const PROCESSES: usize = 5;

fn main() -> Result<(), String> {
    let all = [Provider::Memory, Provider::Shm, Provider::Tcp];
    let provider = |name: &str| all.into_iter().find(|provider| provider.name() == name).expect("a provider");
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, name] = &arguments[..]
        && role == "role"
    {
        let company = Company::joined(LIMIT).expect("started for a company").map_err(|e| e.to_string())?;
        return measured(&company, provider(name)).map(|_| ()).map_err(|e| e.to_string());
    }
    let columns = [
        "barrier",
        "put and barrier",
        "put",
        "put, placed",
        "get",
        "add here",
        "add there",
        "message",
        "1 MiB",
        "1 MiB, offset",
    ];
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("nanoseconds, median and range of {PROCESSES} alternating processes; load {}", load.trim());
    println!("{:<6} {:<34} {}", "", "", columns.map(|column| format!("{column:>24}")).join(""));
    let is_named = |provider: &Provider| arguments.iter().any(|argument| argument == provider.name());
    let named: Vec<Provider> = all.into_iter().filter(is_named).collect();
    for provider in if named.is_empty() { all.to_vec() } else { named } {
        for (rows, figures) in of_all(provider) {
            match figures {
                Ok(all) => rows.iter().enumerate().for_each(|(at, row)| print(provider, row, at, &all)),
                Err(why) => println!("{:<6} {:<34} {why}", provider.name(), rows[0]),
            }
        }
    }
    Ok(())
}

/// Prints a row: the median, the least and the greatest of each figure.
fn print(provider: Provider, row: &str, at: usize, all: &[Figures]) {
    let columns = all.iter().filter_map(|one| one.get(at)).map(Vec::len).min().unwrap_or(0);
    let figure = |column: usize| {
        let mut figures: Vec<u64> = all.iter().filter_map(|one| one.get(at)?[column]).collect();
        figures.sort_unstable();
        let text = match figures[..] {
            [least, .., most] => format!("{} ({least}-{most})", figures[figures.len() / 2]),
            [one] => one.to_string(),
            [] => "-".to_owned(),
        };
        format!("{text:>24}")
    };
    println!("{:<6} {row:<34} {}", provider.name(), (0..columns).map(figure).collect::<String>());
}

/// A row for each measured thing, with the figures that it has.
type Figures = Vec<Vec<Option<u64>>>;

/// The rows of a comparison, and the function that measures them.
type Measured = (&'static [&'static str], fn(Provider) -> Result<String, String>);

const OWN: Measured =
    (&["Mowgli", "Mowgli, put barrier, put without its wait"], |provider| own(provider).map_err(|e| e.to_string()));
const RAW: Measured = (&["libfabric (raw.c)", "libfabric, put with completion"], raw);
const OPEN_MPI: Measured = (&["Open MPI (peers.c)"], |provider| {
    open_mpi(provider, if provider == Provider::Tcp { &OWN_SOCKETS } else { &OWN_MEMORY })
});
const OPEN_MPI_OVER_LIBFABRIC: Measured =
    (&["Open MPI over libfabric (peers.c)"], |provider| open_mpi(provider, &OVER_LIBFABRIC));

/// The names of rows, and the figures of all turns.
type Rows = (&'static [&'static str], Result<Vec<Figures>, String>);

/// Measures each thing several times, in alternation, because some processes run faster than others.
fn of_all(provider: Provider) -> Vec<Rows> {
    let all: &[Measured] = match provider {
        Provider::Memory => &[OWN, OPEN_MPI],
        Provider::Tcp => &[OWN, RAW, OPEN_MPI, OPEN_MPI_OVER_LIBFABRIC],
        Provider::Shm => &[OWN, RAW, OPEN_MPI],
        _ => &[OWN],
    };
    let once = || all.iter().map(|(_, measure)| measure(provider).map(|text| read(&text))).collect::<Vec<_>>();
    let turns: Vec<_> = (0..PROCESSES).map(|_| once()).collect();
    let of = |at: usize| turns.iter().map(|turn| turn[at].clone()).collect();
    all.iter().enumerate().map(|(at, (rows, _))| (*rows, of(at))).collect()
}

fn read(text: &str) -> Figures {
    text.lines().map(|line| line.split_whitespace().map(|figure| figure.parse().ok()).collect()).collect()
}

fn own(provider: Provider) -> Result<String, Fault> {
    let company = Company::start(2, &["role", provider.name()].map(str::to_owned), LIMIT)?;
    let all = measured(&company, provider)?;
    let [met, sent, put, placed, got, unwaited, here, there, message, met_for_puts, sent_for_puts, large, shifted] =
        all[..]
    else {
        return Ok(String::new());
    };
    Ok(format!(
        "{met} {sent} {put} {placed} {got} {here} {there} {message} {large} {shifted}\n\
         {met_for_puts} {sent_for_puts} {unwaited} - - - - - - -"
    ))
}

/// Returns the time of one repetition in the median turn.
fn median(times: u32, mut act: impl FnMut() -> Result<(), Fault>) -> Result<Duration, Fault> {
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        let begin = Instant::now();
        for _ in 0..times {
            act()?;
        }
        turns.push(begin.elapsed() / times);
    }
    turns.sort_unstable();
    Ok(turns[turns.len() / 2])
}

/// Returns times in nanoseconds, measured by the first of two processes. The other one only progresses operations
/// there.
///
/// The order is: barrier; put with barrier; put with its wait; put until it is placed; get with its wait; put without its wait. Then follow additions to a
/// word of the first node, and of the second, and messages. Then come the barrier for puts, and a put with it, and last puts of
/// 1 MiB with their waits.
fn measured(company: &Company, provider: Provider) -> Result<Vec<u128>, Fault> {
    let mut group = Group::new(&[1, 2]).within(LIMIT);
    let (barrier, put_barrier) = (group.barrier("b", &[0, 1]), group.put_barrier("p", &[0, 1]));
    let variables = [group.shared_var("x"), group.shared_var("y")];
    let sums = [group.atomic("here", 1), group.atomic("there", 2)];
    let [own, far, over] = [("own", 1), ("far", 2), ("over", 2)].map(|(name, node)| group.word(name, node, 0));
    let ring = group.message_ring("r", 0, &[1], 8192);
    let [large_own, large_far] =
        [("large_own", 1), ("large_far", 2)].map(|(x, node)| group.buffer(x, node, LARGE + OFFSET));
    let times = times(provider);
    let mut measured = group.run_among(company, provider, |thread| {
        barrier.wait(thread)?;
        let met = median(times, || barrier.wait(thread))?;
        let own_variable = variables[thread.id().index()];
        let sent = median(times, || {
            own_variable.broadcast(thread)?;
            barrier.wait(thread)
        })?;
        let met_for_puts = median(times, || put_barrier.wait(thread))?;
        let sent_for_puts = median(times, || {
            own_variable.broadcast(thread)?;
            put_barrier.wait(thread)
        })?;
        let mut received = Vec::new();
        let message = median(1, || {
            for _ in 0..MESSAGES {
                if thread.id().index() == 0 {
                    while !ring.submit(thread, &[7; 64])? {
                        thread.pause();
                    }
                } else {
                    while !ring.receive_into(thread, &mut received)? {
                        thread.pause();
                    }
                }
            }
            barrier.wait(thread)
        })? / MESSAGES;
        if thread.id().index() == 1 {
            while over.read(thread)? != 1 {
                thread.pause();
            }
            return Ok(Vec::new());
        }
        let put = median(times, || far.put(thread, own)?.wait(thread))?;
        let placed = median(times, || {
            far.put(thread, own)?;
            far.get(thread, own)?.wait(thread)
        })?;
        let got = median(times, || far.get(thread, own)?.wait(thread))?;
        let unwaited = median(times, || far.put(thread, own).map(|_| ()))?;
        let [here, there] = sums.map(|sum| median(times, || sum.fetch_add(thread, 1).map(|_| ())));
        let [large, shifted] = [0, OFFSET].map(|offset| {
            let (from, to) = (large_own.part(offset..offset + LARGE), large_far.part(0..LARGE));
            median(1, || to.put(thread, from)?.wait(thread))
        });
        own.write(thread, 1)?;
        over.put(thread, own)?.wait(thread)?;
        let (puts, large) = ([met, sent, put, placed, got, unwaited], [large?, shifted?]);
        let all = [&puts[..], &[here?, there?, message, met_for_puts, sent_for_puts], &large].concat();
        Ok(all.iter().map(Duration::as_nanos).collect())
    })?;
    Ok(measured.pop().unwrap_or_default())
}

fn raw(provider: Provider) -> Result<String, String> {
    let program = Program::compiled("cc", "raw.c", &["-ldl"])?;
    output(Command::new("timeout").arg("60").arg(program.path()).args([provider.name(), &times(provider).to_string()]))
}

fn open_mpi(provider: Provider, parameters: &[&str]) -> Result<String, String> {
    Program::compiled("mpicc", "peers.c", &[])?.by_open_mpi(2, parameters, &[times(provider).to_string()])
}
