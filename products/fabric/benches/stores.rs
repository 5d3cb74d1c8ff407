//! The figure of LOCO about its key-value store (Fig. 17), on the processes of one machine: calls a second by nodes, clients, mixes and
//! distributions of keys. Beside it are the map of bytes and, if `redis-server` is installed, Redis, with as many clients. These two have the
//! same keys and values, which are bytes. LOCO's store has numbers.
//!
//! `cargo bench -p mowgli-fabric --bench stores -- shm --plot docs/stores.svg` measures one provider and draws two charts.

#[path = "../examples/common/plot.rs"]
#[allow(dead_code, reason = "there are no single calls here")]
mod plot;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use itertools::Itertools;
use mowgli_fabric::{ByteMap, Company, Fault, Group, Map, Provider, Thread};
use plot::{Chart, Series};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Bernoulli, Distribution, Zipf};

/// The longest wait.
const LIMIT: Duration = Duration::from_secs(60);

/// The length of one measurement.
const LENGTH: Duration = Duration::from_millis(1000);

/// The number of alternating measurements of a row. The median counts.
const TURNS: usize = 3;

/// The number of calls between two readings of the clock.
const CALLS: usize = 32;

/// The parts of calls that are updates. All others are gets.
const MIXES: [f64; 3] = [0.0, 0.5, 1.0];

/// The exponent of the distribution of keys: 0 if all are equally frequent, and that of YCSB and LOCO.
const THETAS: [f64; 2] = [0.0, 0.99];

/// Measures key-value stores.
#[derive(Parser)]
struct Args {
    /// The providers.
    #[arg(default_values = ["memory", "shm", "tcp"])]
    providers: Vec<Provider>,
    #[arg(long, default_value_t = 10_000)]
    keys: usize,
    /// The largest number of nodes. Each is a process.
    #[arg(long, default_value_t = 4)]
    nodes: usize,
    /// A file for two charts: gets and updates by nodes.
    #[arg(long)]
    plot: Option<PathBuf>,
    /// Cargo adds this.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A point of the figure.
#[derive(Clone, Copy)]
struct Point {
    keys: usize,
    nodes: usize,
    /// The clients of each node.
    threads: usize,
    updates: f64,
    theta: f64,
    /// True for the map of bytes.
    has_bytes: bool,
}

/// A map of Mowgli.
#[derive(Clone, Copy)]
enum Store {
    Words(Map),
    Bytes(ByteMap),
}

impl Store {
    fn call(self, thread: &mut Thread<'_>, key: i64, is_update: bool) -> Result<(), Fault> {
        match self {
            Self::Words(map) if is_update => map.update(thread, key, key).map(drop),
            Self::Words(map) => map.get(thread, key).map(drop),
            Self::Bytes(map) => {
                let text = key.to_string();
                let key = text.as_bytes();
                if is_update { map.update(thread, key, key).map(drop) } else { map.get(thread, key).map(drop) }
            }
        }
    }
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, provider, rest @ ..] = &arguments[..]
        && role == "role"
    {
        let company = Company::joined(LIMIT).expect("started for a company").map_err(|e| e.to_string())?;
        let provider = provider.parse().map_err(|e: Fault| e.to_string())?;
        return Point::parsed(rest).rate(&company, provider).map(drop).map_err(|e| e.to_string());
    }
    let args = Args::parse();
    let redis = Redis::start();
    let mut charts = [Vec::new(), Vec::new()];
    for &provider in &args.providers {
        provider.check().map_err(|e| e.to_string())?;
        args.measured(provider, &redis, &mut charts)?;
    }
    let Some(file) = args.plot else { return Ok(()) };
    let [gets, updates] = charts;
    let gets = Chart { axes: ["nodes", "gets a second"], series: gets, is_log: false };
    let updates = Chart { axes: ["nodes", "updates a second"], series: updates, is_log: false };
    plot::draw(&file, [gets, updates]).map_err(|e| e.to_string())
}

impl Args {
    /// Prints the figures of a provider. Adds the lines of gets and of updates by nodes.
    fn measured(
        &self,
        provider: Provider,
        redis: &Result<Redis, String>,
        charts: &mut [Vec<Series>; 2],
    ) -> Result<(), String> {
        let redis_name = if provider == Provider::Tcp { "Redis over tcp" } else { "Redis over its socket" };
        let names = ["", ", bytes"].map(|kind| format!("Mowgli over {}{kind}", provider.name()));
        let names = [&names[0], &names[1], redis_name];
        let mut lines = [(); 2].map(|()| names.map(|name| (name.to_owned(), Vec::new())));
        println!("{}: calls a second", provider.name());
        let axes = THETAS.into_iter().cartesian_product(MIXES).cartesian_product([1, 2]);
        for (((theta, updates), threads), nodes) in axes.cartesian_product(1..=self.nodes) {
            let point = Point { keys: self.keys, nodes, threads, updates, theta, has_bytes: false };
            let mut turns = [(); 3].map(|()| Vec::new());
            for _ in 0..TURNS {
                turns[0].push(point.by_mowgli(provider));
                turns[1].push(Point { has_bytes: true, ..point }.by_mowgli(provider));
                turns[2].push(redis.as_ref().map_err(String::clone).and_then(|redis| point.by_redis(redis, provider)));
            }
            let percent = updates * 100.0;
            print!("theta {theta:.2}, {percent:>3} % updates, {nodes} nodes, {threads} clients each");
            for (i, mut all) in turns.into_iter().enumerate() {
                all.sort_by_key(|rate| rate.clone().unwrap_or(0));
                let name = &lines[0][i].0;
                match all.swap_remove(TURNS / 2) {
                    Ok(rate) => {
                        print!("  {name} {rate}");
                        let chart = MIXES.iter().step_by(2).position(|&mix| mix == updates);
                        // One node needs no network.
                        if let Some(chart) = chart.filter(|_| theta > 0.0 && threads == 1 && nodes > 1) {
                            lines[chart][i].1.push((nodes as f64, rate as f64));
                        }
                    }
                    Err(why) => print!("  {name}: {why}"),
                }
            }
            println!();
        }
        charts.iter_mut().zip(lines).for_each(|(chart, lines)| chart.extend(lines));
        Ok(())
    }
}

impl Point {
    /// Returns the point as arguments.
    fn arguments(self) -> [String; 6] {
        let Self { keys, nodes, threads, updates, theta, has_bytes } = self;
        let counts = [keys, nodes, threads, has_bytes.into()].map(|n| n.to_string());
        let [keys, nodes, threads, has_bytes] = counts;
        [keys, nodes, threads, updates.to_string(), theta.to_string(), has_bytes]
    }

    fn parsed(arguments: &[String]) -> Self {
        let numbers = arguments.iter().filter_map(|n| n.parse::<f64>().ok()).collect_array();
        let [keys, nodes, threads, updates, theta, has_bytes] = numbers.expect("six numbers");
        let [keys, nodes, threads] = [keys, nodes, threads].map(|n| n as usize);
        Self { keys, nodes, threads, updates, theta, has_bytes: has_bytes > 0.0 }
    }

    fn by_mowgli(self, provider: Provider) -> Result<u64, String> {
        let role = ["role", provider.name()].map(str::to_owned);
        let arguments = role.into_iter().chain(self.arguments()).collect_vec();
        let company = Company::start(self.nodes, &arguments, LIMIT).map_err(|e| e.to_string())?;
        self.rate(&company, provider).map_err(|e| e.to_string())
    }

    /// Returns how many calls a second all clients made.
    fn rate(self, company: &Company, provider: Provider) -> Result<u64, Fault> {
        let of: Vec<u8> = (1..=self.nodes).flat_map(|n| vec![n as u8; self.threads]).collect();
        let mut group = Group::new(&of).within(LIMIT);
        let store = if self.has_bytes {
            Store::Bytes(group.byte_map("m", self.keys, 8))
        } else {
            Store::Words(group.map("m", self.keys))
        };
        let made = group.atomic("made", 1);
        let barrier = group.barrier("b", &(0..of.len()).collect_vec());
        let rates = group.run_among(company, provider, |thread| {
            self.fill(store, thread)?;
            barrier.wait(thread)?;
            let client = thread.id().index();
            let count = self.counted(client, |key, is_update| store.call(thread, key, is_update))?;
            made.fetch_add(thread, count)?;
            barrier.wait(thread)?;
            made.load(thread)
        })?;
        Ok((rates[0] as f64 / LENGTH.as_secs_f64()) as u64)
    }

    /// Gives all keys values. The first threads of all nodes insert in turn, and the last ones of the other nodes serve.
    fn fill(self, store: Store, thread: &mut Thread<'_>) -> Result<(), Fault> {
        let (node, place) = (thread.id().index() / self.threads, thread.id().index() % self.threads);
        for key in 0..self.keys {
            match (store, key % self.nodes == node, place) {
                (Store::Words(map), true, 0) => _ = map.insert(thread, key as i64, 0)?,
                (Store::Words(map), false, place) if place == self.threads - 1 => map.serve(thread)?,
                (Store::Bytes(map), true, 0) => _ = map.insert(thread, key.to_string().as_bytes(), b"0")?,
                _ => {}
            }
        }
        Ok(())
    }

    fn by_redis(self, redis: &Redis, provider: Provider) -> Result<u64, String> {
        let client = || redis.client(provider == Provider::Tcp);
        let mut filling = client()?;
        (0..self.keys as i64).try_for_each(|key| filling.call(key, true)).map_err(|e| e.to_string())?;
        let clients = (0..self.nodes * self.threads).map(|_| client()).collect::<Result<Vec<_>, _>>()?;
        let counts = std::thread::scope(|scope| {
            let run = |(i, mut client): (usize, RedisClient)| {
                scope.spawn(move || self.counted(i, |key, is_update| client.call(key, is_update)))
            };
            let running = clients.into_iter().enumerate().map(run).collect_vec();
            running.into_iter().map(|client| client.join().expect("no panic")).collect::<Result<Vec<_>, _>>()
        });
        let made: i64 = counts.map_err(|e| e.to_string())?.into_iter().sum();
        Ok((made as f64 / LENGTH.as_secs_f64()) as u64)
    }

    /// Makes calls as long as a measurement lasts. Returns how many there were.
    fn counted<E>(self, client: usize, mut call: impl FnMut(i64, bool) -> Result<(), E>) -> Result<i64, E> {
        let mut random = SmallRng::seed_from_u64(client as u64);
        let keys = Zipf::new(self.keys as f64, self.theta).expect("there are keys");
        let is_update = Bernoulli::new(self.updates).expect("a part");
        let begin = Instant::now();
        let mut made = 0;
        while begin.elapsed() < LENGTH {
            for _ in 0..CALLS {
                call(keys.sample(&mut random) as i64 - 1, is_update.sample(&mut random))?;
            }
            made += CALLS as i64;
        }
        Ok(made)
    }
}

/// A Redis server without persistence. It ends with this.
struct Redis {
    server: Child,
    folder: tempfile::TempDir,
    port: u16,
}

impl Redis {
    fn start() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).map_err(|e| e.to_string())?.port();
        let server = Command::new("redis-server")
            .args([
                "--save",
                "",
                "--appendonly",
                "no",
                "--bind",
                "127.0.0.1",
                "--port",
                &port.to_string(),
                "--unixsocket",
            ])
            .arg(folder.path().join("socket"))
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|e| format!("redis-server: {e}"))?;
        let started = Self { server, folder, port };
        let begin = Instant::now();
        while started.client(false).is_err() {
            if begin.elapsed() > Duration::from_secs(5) {
                return Err("redis-server does not answer".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(started)
    }

    /// Returns a connection: over a socket of the system, or over tcp.
    fn client(&self, over_tcp: bool) -> Result<RedisClient, String> {
        let connected = if over_tcp {
            TcpStream::connect(("127.0.0.1", self.port)).and_then(|stream| {
                stream.set_nodelay(true)?;
                RedisClient::of((stream.try_clone()?, stream))
            })
        } else {
            UnixStream::connect(self.folder.path().join("socket"))
                .and_then(|stream| RedisClient::of((stream.try_clone()?, stream)))
        };
        connected.map_err(|e| e.to_string())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        _ = self.server.kill();
        _ = self.server.wait();
    }
}

/// A connection to Redis.
struct RedisClient {
    requests: Box<dyn Write + Send>,
    answers: BufReader<Box<dyn Read + Send>>,
    line: String,
}

impl RedisClient {
    fn of((answers, requests): (impl Read + Send + 'static, impl Write + Send + 'static)) -> std::io::Result<Self> {
        let answers: Box<dyn Read + Send> = Box::new(answers);
        Ok(Self { requests: Box::new(requests), answers: BufReader::new(answers), line: String::new() })
    }

    /// Gets the value of a key, or sets it, and waits for the answer.
    fn call(&mut self, key: i64, is_update: bool) -> std::io::Result<()> {
        let request = if is_update { format!("SET {key} {key}\r\n") } else { format!("GET {key}\r\n") };
        self.requests.write_all(request.as_bytes())?;
        self.next_line()?;
        // The length of a value comes before it.
        if is_update { Ok(()) } else { self.next_line() }
    }

    fn next_line(&mut self) -> std::io::Result<()> {
        self.line.clear();
        self.answers.read_line(&mut self.line)?;
        if self.line.is_empty() || self.line.starts_with('-') || self.line.starts_with("$-1") {
            return Err(std::io::Error::other(format!("redis answers {:?}", self.line)));
        }
        Ok(())
    }
}
