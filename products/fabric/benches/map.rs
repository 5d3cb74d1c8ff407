//! A map with many keys on the processes of one machine. The bench prints the time until its threads begin, the calls in a second, and
//! the memory of the first process.
//!
//! `cargo bench -p mowgli-fabric --bench map -- shm --keys 100000 --calls 5000000` has two processes, each with one thread. With
//! `--bytes 100`, it is a map from bytes to bytes.

use std::time::{Duration, Instant};

use clap::Parser;
use mowgli_fabric::{Barrier, ByteMap, Company, Fault, Group, Map, Provider, Thread};

/// The longest wait.
const LIMIT: Duration = Duration::from_secs(120);

/// Measures a map.
#[derive(Parser)]
struct Args {
    /// The provider.
    provider: Provider,
    #[arg(long, default_value_t = 100_000)]
    keys: usize,
    /// The number of processes.
    #[arg(long, default_value_t = 2)]
    nodes: u8,
    /// The number of gets that each thread makes. It makes a tenth as many updates.
    #[arg(long, default_value_t = 100_000)]
    calls: usize,
    /// The bytes of a value. By default, a value is a word, and a key is a number.
    #[arg(long)]
    bytes: Option<usize>,
    /// Cargo adds this.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The map that is measured.
#[derive(Clone, Copy)]
enum Measured {
    Words(Map),
    /// The map, and the bytes of a value.
    Bytes(ByteMap, usize),
}

impl Measured {
    /// The threads insert in turn, and the others serve. In a map of bytes, nobody serves.
    fn insert(self, thread: &mut Thread<'_>, key: i64, is_mine: bool) -> Result<(), Fault> {
        let is_new = match self {
            Self::Words(map) if !is_mine => return map.serve(thread),
            Self::Words(map) => map.insert(thread, key, -1)?,
            Self::Bytes(map, bytes) => !is_mine || map.insert(thread, &key.to_le_bytes(), &vec![1; bytes])?,
        };
        assert!(is_new, "the key is new");
        Ok(())
    }

    fn get(self, thread: &mut Thread<'_>, key: i64, value: &mut Vec<u8>) -> Result<(), Fault> {
        let is_found = match self {
            Self::Words(map) => map.get(thread, key)?.is_some(),
            Self::Bytes(map, _) => map.get_into(thread, &key.to_le_bytes(), value)?,
        };
        assert!(is_found, "the key has a value");
        Ok(())
    }

    fn update(self, thread: &mut Thread<'_>, key: i64) -> Result<(), Fault> {
        let is_found = match self {
            Self::Words(map) => map.update(thread, key, -1)?,
            Self::Bytes(map, bytes) => map.update(thread, &key.to_le_bytes(), &vec![2; bytes])?,
        };
        assert!(is_found, "the key has a value");
        Ok(())
    }
}

fn main() -> Result<(), String> {
    let args = Args::parse();
    args.provider.check().and_then(|()| args.measured()).map_err(|fault| fault.to_string())
}

impl Args {
    fn measured(&self) -> Result<(), Fault> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let company = Company::joined(LIMIT).unwrap_or_else(|| Company::start(self.nodes.into(), &arguments, LIMIT))?;
        let begin = Instant::now();
        let mut group = Group::new(&(1..=self.nodes).collect::<Vec<_>>()).within(LIMIT);
        let map = match self.bytes {
            Some(bytes) => Measured::Bytes(group.byte_map("m", self.keys, bytes), bytes),
            None => Measured::Words(group.map("m", self.keys)),
        };
        let barrier = group.barrier("b", &(0..self.nodes.into()).collect::<Vec<_>>());
        group.run_among(&company, self.provider, |thread| self.act(thread, map, barrier, begin)).map(drop)
    }

    fn act(&self, thread: &mut Thread<'_>, map: Measured, barrier: Barrier, begin: Instant) -> Result<(), Fault> {
        let me = thread.id().index();
        barrier.wait(thread)?;
        if me == 0 {
            println!("started in {:.1} s, {} MB", begin.elapsed().as_secs_f64(), resident() / 1000);
        }
        let mut random = fastrand::Rng::with_seed(me as u64);
        let (keys, mut value) = (self.keys as i64, Vec::new());
        self.timed(thread, barrier, ("inserts", self.keys), |thread| {
            (0..keys).try_for_each(|key| map.insert(thread, key, key as usize % usize::from(self.nodes) == me))
        })?;
        let all = |calls| calls * usize::from(self.nodes);
        self.timed(thread, barrier, ("gets", all(self.calls)), |thread| {
            (0..self.calls).try_for_each(|_| map.get(thread, random.i64(0..keys), &mut value))
        })?;
        self.timed(thread, barrier, ("updates", all(self.calls / 10)), |thread| {
            (0..self.calls / 10).try_for_each(|_| map.update(thread, random.i64(0..keys)))
        })
    }

    /// Makes calls, and prints how many there are in a second, and how much the memory has grown.
    fn timed(
        &self,
        thread: &mut Thread<'_>,
        barrier: Barrier,
        (what, count): (&str, usize),
        calls: impl FnOnce(&mut Thread<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let (begin, before) = (Instant::now(), resident());
        calls(thread)?;
        barrier.wait(thread)?;
        if thread.id().index() == 0 {
            let rate = count as f64 / begin.elapsed().as_secs_f64();
            println!("{count} {what}: {rate:.0} in a second, {} kB more memory", resident() - before);
        }
        Ok(())
    }
}

/// Returns the resident memory of this process in kilobytes, or 0 if the system does not report it.
fn resident() -> i64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}
