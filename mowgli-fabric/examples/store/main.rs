//! A key-value store under load: what its clients see is linearisable, or a history of one key shows that it is not.
//!
//! `cargo run -p mowgli-fabric --example store -- tcp --seconds 60` has a process for each of four nodes;
//! `... -- machine --variant published` tries seeds of the machine until one shows what is wrong with the published deletion.

#[path = "../common/among.rs"]
mod among;
mod history;
mod load;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::builder::RangedU64ValueParser;
use clap::{Parser, ValueEnum, value_parser};
use mowgli_fabric::{Company, Fabric, Fault, Provider, Thread};

use among::among;
use history::{Called, Done, wrong};
use load::Load;

/// A key-value store under load, and whether what its clients see is linearisable.
#[derive(Parser)]
struct Args {
    /// What it runs over.
    fabric: Over,
    /// The variant of the store.
    #[arg(long, default_value = "fenced-delete")]
    variant: String,
    /// For how long.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    #[arg(long, default_value_t = 4, value_parser = value_parser!(u8).range(1..))]
    nodes: u8,
    /// Clients on each node.
    #[arg(long, default_value_t = 1)]
    clients: usize,
    #[arg(long, default_value_t = 8, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    keys: usize,
    /// How often a client adds a key or takes it away, until the next store takes the place of this one.
    #[arg(long, default_value_t = 50)]
    changes: usize,
    /// How many other calls come with each of those.
    #[arg(long, default_value_t = 20)]
    others: usize,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Over {
    /// The machine of RDMA-TSO-RMW.
    Machine,
    /// Threads with shared memory.
    Local,
    /// A process a node, over TCP.
    Tcp,
    /// A process a node, over shared memory.
    Shm,
}

/// How long processes wait for each other.
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let args = Args::parse();
    let ran = match args.fabric {
        Over::Machine => args.here(|seed| Fabric::Machine { seed }),
        Over::Local => args.here(|_| Fabric::Local),
        Over::Tcp => args.among(Provider::Tcp),
        Over::Shm => args.among(Provider::Shm),
    };
    match ran {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(wrong)) => {
            println!("{wrong}");
            ExitCode::FAILURE
        }
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::from(2)
        }
    }
}

impl Args {
    fn load(&self) -> Load {
        let &Self { nodes, clients, keys, changes, others, .. } = self;
        Load { nodes, clients, keys, changes, others }
    }

    /// One store after the other in this process, until the time is up or one is wrong.
    fn here(&self, fabric: impl Fn(u64) -> Fabric) -> Result<Option<String>, Fault> {
        let load = self.load();
        let (group, map) = load.group(&self.variant);
        let (start, clock) = (Instant::now(), AtomicU64::new(0));
        let mut seen = Seen::default();
        for seed in self.seed.. {
            if start.elapsed().as_secs() >= self.seconds {
                break;
            }
            let all = group.run(fabric(seed), |thread| load.run(map, thread, seed, || clock.fetch_add(1, SeqCst)))?;
            if let Some(wrong) = seen.add(&all.concat(), seed) {
                return Ok(Some(wrong));
            }
        }
        println!("{}", seen.counted());
        Ok(None)
    }

    /// One store after the other, with a process for each node. The first one says what there is to say.
    fn among(&self, provider: Provider) -> Result<Option<String>, Fault> {
        provider.check().map_err(Fault::Wrong)?;
        let company = match Company::joined(LIMIT) {
            Some(company) => company?,
            None => Company::start(self.nodes.into(), &std::env::args().skip(1).collect::<Vec<_>>(), LIMIT)?,
        };
        let load = self.load();
        let (group, map) = load.group(&self.variant);
        let start = Instant::now();
        let mut seen = Seen::default();
        for seed in self.seed.. {
            let run = |thread: &mut Thread<'_>| load.run(map, thread, seed, nanoseconds);
            let all = among(&company, provider, &group, run)?.concat();
            // All processes have the same calls; only the first one looks at them, and all end when it does.
            let wrong = if company.rank() == 0 { seen.add(&all, seed) } else { None };
            let is_over = wrong.is_some() || start.elapsed().as_secs() >= self.seconds;
            if company.gather(if is_over { "over" } else { "" })?[0] == "over" {
                if company.rank() == 0 && wrong.is_none() {
                    println!("{}\n{}", seen.counted(), seen.times());
                }
                return Ok(wrong);
            }
        }
        Ok(None)
    }
}

/// The time, by a clock that all processes of a machine share.
fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

/// What was seen.
#[derive(Default)]
struct Seen {
    stores: usize,
    calls: usize,
    /// Of each kind of call, how long those that did something took.
    times: [Vec<u64>; 4],
}

impl Seen {
    /// What is wrong with the calls of a store, if something is.
    fn add(&mut self, all: &[Done], seed: u64) -> Option<String> {
        self.stores += 1;
        self.calls += all.len();
        for done in all {
            let kind = match done.called {
                Called::Get(_) => 0,
                Called::Update(_, true) => 1,
                Called::Insert(_, true) => 2,
                Called::Remove(true) => 3,
                Called::Update(..) | Called::Insert(..) | Called::Remove(..) => continue,
            };
            self.times[kind].push(done.ended - done.begun);
        }
        let lines = |of_key: Vec<Done>| {
            let line = |d: &Done| format!("  {:>8} to {:>8}  client {}  {:?}\n", d.begun, d.ended, d.client, d.called);
            of_key.iter().map(line).collect::<String>()
        };
        wrong(all).map(|of_key| {
            let key = of_key[0].key;
            format!("not linearisable, with --seed {seed}: calls of key {key}\n{}", lines(of_key))
        })
    }

    fn counted(&self) -> String {
        format!("{} calls of {} stores: linearisable", self.calls, self.stores)
    }

    /// How long calls took.
    fn times(&self) -> String {
        let line = |(kind, times): (&str, &Vec<u64>)| {
            let mut times = times.clone();
            times.sort_unstable();
            let last = times.len().saturating_sub(1) as f64;
            let at = |part: f64| times.get((last * part) as usize).map_or(0.0, |&t| t as f64 / 1000.0);
            format!(
                "{kind:<7} {:>8} calls, us: half {:.0}, 99 of 100 {:.0}, most {:.0}",
                times.len(),
                at(0.5),
                at(0.99),
                at(1.0)
            )
        };
        let kinds = ["get", "update", "insert", "remove"];
        kinds.into_iter().zip(&self.times).map(line).collect::<Vec<_>>().join("\n")
    }
}
