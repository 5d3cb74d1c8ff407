//! The figures of LOCO about its primitives, on the processes of one machine: barriers (Fig. 15, left), broadcasts of 64 bytes with
//! so many outstanding (Fig. 15, right), and changes of a word under one lock (Fig. 19, left). Open MPI is measured beside each
//! (`primitives.c`): over its own transport, and over the provider that Mowgli uses where Open MPI accepts it.
//!
//! `cargo bench -p mowgli-fabric --bench primitives -- tcp --plot pictures/primitives.svg` measures one provider and draws two charts.

#[allow(dead_code, reason = "another bench runs programs by themselves")]
mod common;
#[path = "../examples/common/plot.rs"]
#[allow(dead_code, reason = "there are no single calls here")]
mod plot;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use common::{OVER_LIBFABRIC, OWN_MEMORY, OWN_SOCKETS, Program};
use itertools::Itertools;
use mowgli_fabric::{Company, Fault, Group, Provider, Thread};
use plot::{Chart, Series};

/// The longest wait.
const LIMIT: Duration = Duration::from_secs(60);

/// The length of one measurement.
const LENGTH: Duration = Duration::from_millis(400);

/// The number of alternating measurements of a row. The median counts.
const TURNS: usize = 3;

/// The numbers of broadcasts that are outstanding.
const LOADS: [usize; 4] = [1, 3, 16, 128];

/// Measures barriers, broadcasts and a lock.
#[derive(Parser)]
struct Args {
    /// The providers.
    #[arg(default_values = ["memory", "shm", "tcp"])]
    providers: Vec<Provider>,
    /// The largest number of nodes. Each is a process.
    #[arg(long, default_value_t = 4)]
    nodes: usize,
    /// A file for two charts: barriers by nodes, and broadcasts by load.
    #[arg(long)]
    plot: Option<PathBuf>,
    /// Cargo adds this.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A point of a figure.
#[derive(Clone, Copy)]
struct Point {
    what: &'static str,
    nodes: usize,
    threads: usize,
    /// The number of broadcasts that are outstanding.
    load: usize,
}

const WHATS: [&str; 4] = ["barrier", "put-barrier", "broadcast", "lock"];

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, provider, what, rest @ ..] = &arguments[..]
        && role == "role"
    {
        let company = Company::joined(LIMIT).expect("started for a company").map_err(|e| e.to_string())?;
        let [nodes, threads, load] = rest.iter().filter_map(|n| n.parse().ok()).collect_array().expect("three numbers");
        let what = WHATS.into_iter().find(|known| known == what).expect("something to measure");
        let provider = provider.parse().map_err(|e: Fault| e.to_string())?;
        return Point { what, nodes, threads, load }.rate(&company, provider).map(drop).map_err(|e| e.to_string());
    }
    let args = Args::parse();
    let program = Program::compiled("mpicc", "primitives.c", &[]);
    let mut charts = [Vec::new(), Vec::new()];
    for &provider in &args.providers {
        provider.check().map_err(|e| e.to_string())?;
        args.measured(provider, &program, &mut charts);
    }
    let Some(file) = args.plot else { return Ok(()) };
    let [barriers, broadcasts] = charts;
    let barriers = Chart { axes: ["nodes", "barriers a second"], series: barriers, is_log: false };
    let broadcasts =
        Chart { axes: ["outstanding broadcasts", "broadcasts a second"], series: broadcasts, is_log: true };
    plot::draw(&file, [barriers, broadcasts]).map_err(|e| e.to_string())
}

impl Args {
    /// Prints the figures of a provider. Adds the lines of barriers by nodes, and of broadcasts by load.
    fn measured(&self, provider: Provider, program: &Result<Program, String>, charts: &mut [Vec<Series>; 2]) {
        let over = (provider, program);
        let nodes = 2..=self.nodes;
        let point = |what, nodes, threads, load| Point { what, nodes, threads, load };
        println!("{}: barriers a second", provider.name());
        let rows = nodes.clone().cartesian_product([1, 2]).map(|(n, t)| point("barrier", n, t, 1)).collect_vec();
        let also = |at: &Point| vec![Point { what: "put-barrier", ..*at }];
        charts[0].extend(table(over, &rows, also, |p| (p.threads == 1).then_some(p.nodes)));
        println!("{}: broadcasts of 64 bytes a second", provider.name());
        let rows = nodes.clone().cartesian_product(LOADS).map(|(n, l)| point("broadcast", n, 1, l)).collect_vec();
        charts[1].extend(table(over, &rows, |_| Vec::new(), |p| (p.nodes == 2).then_some(p.load)));
        println!("{}: changes under one lock a second", provider.name());
        table(over, &nodes.map(|n| point("lock", n, 1, 1)).collect_vec(), |_| Vec::new(), |_| None);
    }
}

/// Prints a table of so many points. Returns a line for each column, of the points that `along` places on the horizontal axis.
fn table(
    (provider, program): (Provider, &Result<Program, String>),
    points: &[Point],
    also: impl Fn(&Point) -> Vec<Point>,
    along: impl Fn(&Point) -> Option<usize>,
) -> Vec<Series> {
    let mut lines: Vec<Series> = Vec::new();
    for point in points {
        let own = [*point].into_iter().chain(also(point)).map(|p| (format!("{} {}", provider.name(), p.what), Ok(p)));
        let peers = peers(provider).into_iter().map(|(name, how)| (name.to_owned(), Err(how)));
        let columns = own.chain(peers).collect_vec();
        let mut turns = vec![Vec::new(); columns.len()];
        for _ in 0..TURNS {
            for ((_, how), of_column) in columns.iter().zip(&mut turns) {
                of_column.push(match *how {
                    Ok(own) => own.by_mowgli(provider),
                    Err(parameters) => point.by_open_mpi(program, parameters),
                });
            }
        }
        print!("{} nodes, {} threads, {:>3} outstanding", point.nodes, point.threads, point.load);
        for (i, ((name, _), mut all)) in columns.into_iter().zip(turns).enumerate() {
            all.sort_by_key(|rate| rate.clone().unwrap_or(0));
            match all.swap_remove(TURNS / 2) {
                Ok(rate) => {
                    print!("  {name} {rate}");
                    if lines.len() <= i {
                        lines.push((name, Vec::new()));
                    }
                    lines[i].1.extend(along(point).map(|x| (x as f64, rate as f64)));
                }
                Err(why) => print!("  {name}: {why}"),
            }
        }
        println!();
    }
    lines
}

/// Returns the ways to run Open MPI beside a provider.
fn peers(provider: Provider) -> Vec<(&'static str, &'static [&'static str])> {
    match provider {
        Provider::Tcp => vec![("Open MPI", &OWN_SOCKETS), ("Open MPI over libfabric", &OVER_LIBFABRIC)],
        _ => vec![("Open MPI", &OWN_MEMORY)],
    }
}

impl Point {
    fn by_open_mpi(self, program: &Result<Program, String>, parameters: &[&str]) -> Result<u64, String> {
        let program = program.as_ref().map_err(String::clone)?;
        let arguments = [self.what.to_owned(), self.load.to_string(), LENGTH.as_millis().to_string()];
        let text = program.by_open_mpi(self.nodes * self.threads, parameters, &arguments)?;
        text.trim().parse().map_err(|_| format!("it printed {text:?}"))
    }

    fn by_mowgli(self, provider: Provider) -> Result<u64, String> {
        let Self { what, nodes, threads, load } = self;
        let role = ["role", provider.name(), what].map(str::to_owned);
        let arguments = role.into_iter().chain([nodes, threads, load].map(|n| n.to_string())).collect_vec();
        let company = Company::start(nodes, &arguments, LIMIT).map_err(|e| e.to_string())?;
        self.rate(&company, provider).map_err(|e| e.to_string())
    }

    /// Returns how many a second there were, in the first process.
    fn rate(self, company: &Company, provider: Provider) -> Result<u64, Fault> {
        let Self { what, nodes, threads, load } = self;
        let of: Vec<u8> = (1..=nodes).flat_map(|n| vec![n as u8; threads]).collect();
        let all: Vec<usize> = (0..of.len()).collect();
        let mut group = Group::new(&of).within(LIMIT);
        let (barrier, put_barrier) = (group.barrier("b", &all), group.put_barrier("p", &all));
        // A message of 64 bytes takes eleven words.
        let ring = group.message_ring("r", 0, &all[1..], 88 * load - 24);
        let (lock, sum) = (group.node_lock("l", 1), group.word("s", 1, 0));
        let own = of.iter().zip(&all).map(|(&n, t)| group.word(&format!("o{t}"), n, 0)).collect_vec();
        let ends = group.shared_var("ends");
        let batch = |thread: &mut Thread<'_>| -> Result<u64, Fault> {
            match what {
                "barrier" => repeated(64, || barrier.wait(thread)),
                "put-barrier" => repeated(64, || put_barrier.wait(thread)),
                "lock" => {
                    let own = own[thread.id().index()];
                    repeated(64, || {
                        let mut held = lock.lock(thread)?;
                        sum.get(&mut held, own)?.wait(&mut held)?;
                        let v = own.read(&mut held)?;
                        own.write(&mut held, v + 1)?;
                        sum.put(&mut held, own)?.wait(&mut held)?;
                        held.release()
                    })
                }
                _ if thread.id().index() == 0 => repeated(1024, || {
                    while !ring.submit(thread, &[7; 64])? {
                        thread.pause();
                    }
                    Ok(())
                }),
                _ => {
                    let mut message = Vec::new();
                    repeated(1024, || {
                        while !ring.receive_into(thread, &mut message)? {
                            thread.pause();
                        }
                        Ok(())
                    })
                }
            }
        };
        let counted = group.run_among(company, provider, |thread| {
            barrier.wait(thread)?;
            let (begin, mut done) = (Instant::now(), 0);
            // The first thread decides after which turn all end. A thread may read that before it has begun the turn.
            for turn in 1.. {
                done += batch(thread)?;
                if thread.id().index() == 0 && begin.elapsed() > LENGTH {
                    ends.write(thread, turn)?;
                    ends.broadcast(thread)?;
                }
                barrier.wait(thread)?;
                if ends.read(thread)? == turn {
                    break;
                }
            }
            Ok((done as f64 / begin.elapsed().as_secs_f64()) as u64)
        })?;
        let all = if what == "lock" { nodes * threads } else { 1 };
        Ok(counted.first().copied().unwrap_or(0) * all as u64)
    }
}

fn repeated(times: u64, mut act: impl FnMut() -> Result<(), Fault>) -> Result<u64, Fault> {
    (0..times).try_for_each(|_| act())?;
    Ok(times)
}
