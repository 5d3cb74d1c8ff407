//! Repeated runs of programs over processes. All threads begin each run together, apart from a short delay, and each
//! run has words of its own.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use mowgli_core::event::Cell;
use mowgli_core::ids::Tid;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::term::program::Prog;
use mowgli_core::value::Val;
use serde::{Deserialize, Serialize};

use crate::company::Company;
use crate::group::looked_at;
use crate::ofi::{Ofi, Provider};
use crate::port::Fault;
use crate::stack::Stack;
use crate::thread::Thread;

/// The number of runs that have words of their own. After so many, memory is reset.
const BATCH: u64 = 500;

/// Programs to run over processes.
pub struct Rounds<'a> {
    /// The provider of libfabric that carries operations.
    pub provider: Provider,
    /// The number of runs.
    pub times: u64,
    /// The longest time for which a thread of one run may wait.
    pub limit: Duration,
    /// A program for each thread.
    pub programs: &'a [Prog],
    /// The cells whose values are read when a run is over.
    pub observed: &'a [Cell],
}

/// The outcomes of some runs.
#[derive(Clone, Default, Debug)]
pub struct Counts {
    /// The number of runs with each outcome.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// The number of runs that never end.
    pub endless: u64,
    /// The number of runs in which an assumption of the program does not hold.
    pub discarded: u64,
    /// The number of runs that were given up.
    pub late: u64,
    /// The number of all runs.
    pub runs: u64,
}

/// The end of a thread's program.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Ended {
    With(Val),
    Never,
    Discarded,
    Late,
}

/// The observations of one process in a batch.
#[derive(Serialize, Deserialize)]
struct Observations {
    /// True if there is time for more.
    goes_on: bool,
    /// For each own thread and each run, the end of its program.
    ended: Vec<Vec<Ended>>,
    /// For each run, the values of the cells that this process reads.
    last: Vec<Vec<Option<Val>>>,
}

impl Stack {
    /// Runs programs over processes, as long as `goes_on` is true in the first of them. Every process gets the counts
    /// of all.
    ///
    /// # Errors
    /// If a process has gone, or a program makes an illegal call.
    ///
    /// # Panics
    /// If there is no program for a thread.
    pub fn rounds(&self, company: &Company, rounds: &Rounds<'_>, goes_on: impl Fn() -> bool) -> Result<Counts, Fault> {
        let copies = BATCH.min(rounds.times) as usize;
        let net = Ofi::open(company, rounds.provider, self, copies, rounds.limit)?;
        let own: Vec<Tid> =
            self.world.tids().filter(|&t| usize::from(self.world.node_of(t).0) == company.rank() + 1).collect();
        let mut counts = Counts::default();
        let reported = net.going_on(|| {
            let came = AtomicU64::new(0);
            while counts.runs < rounds.times {
                let batch = Batch { stack: self, net: &net, rounds, own: &own, came: &came, before: counts.runs };
                let runs = (rounds.times - counts.runs).min(BATCH);
                let ended = batch.run(runs)?;
                // Each process has flushed its operations, so all have completed after this exchange.
                company.gather("")?;
                let last = (0..runs as usize).map(|copy| batch.last(copy)).collect::<Result<_, _>>()?;
                // Reading an object may send something too. It must not arrive after memory is reset.
                own.iter().try_for_each(|&t| net.port_of(t, 0).flush())?;
                let seen = Observations { goes_on: goes_on(), ended, last };
                let all = company.gather(&serde_json::to_string(&seen).expect("values"))?;
                net.again();
                counts.runs += runs;
                if !self.count(&all, runs, rounds.observed.len(), &mut counts)? {
                    break;
                }
                company.gather("")?;
            }
            Ok(())
        });
        reported.inspect_err(|fault| company.fail(fault))?;
        Ok(counts)
    }

    /// Counts a batch, given the observations of each process. Returns true if there is time for more.
    fn count(&self, all: &[String], runs: u64, observed: usize, counts: &mut Counts) -> Result<bool, Fault> {
        let strange = |e| Fault::Gone(format!("a process said what makes no sense: {e}"));
        let all = all
            .iter()
            .map(|text| serde_json::from_str(text).map_err(strange))
            .collect::<Result<Vec<Observations>, _>>()?;
        let mut places = vec![0; all.len()];
        // The threads of a process come in the order of their numbers.
        let of_threads: Vec<&Vec<Ended>> = self
            .world
            .threads
            .iter()
            .filter_map(|n| {
                let rank = usize::from(n.0) - 1;
                places[rank] += 1;
                all.get(rank)?.ended.get(places[rank] - 1)
            })
            .collect();
        for run in 0..runs as usize {
            let ended: Vec<Ended> = of_threads.iter().filter_map(|all| all.get(run).copied()).collect();
            let outputs: Vec<Val> =
                ended.iter().filter_map(|e| if let Ended::With(v) = e { Some(*v) } else { None }).collect();
            if ended.iter().any(|e| matches!(e, Ended::Discarded)) {
                counts.discarded += 1;
            } else if ended.iter().any(|e| matches!(e, Ended::Never)) {
                counts.endless += 1;
            } else if outputs.len() < self.world.threads.len() {
                counts.late += 1;
            } else {
                let looked = all.iter().filter_map(|seen| seen.last.get(run));
                let finals = looked.fold(Vec::new(), |mut known: Vec<Option<Val>>, next| {
                    known.resize(next.len(), None);
                    known.iter_mut().zip(next).for_each(|(known, next)| *known = known.or(*next));
                    known
                });
                let finals: Vec<Val> = finals.into_iter().flatten().collect();
                if finals.len() < observed {
                    counts.late += 1;
                } else {
                    *counts.outcomes.entry(Outcome { outputs, finals }).or_insert(0) += 1;
                }
            }
        }
        Ok(all[0].goes_on)
    }
}

/// Some runs, each with a copy of all words.
struct Batch<'a> {
    stack: &'a Stack,
    net: &'a Ofi<'a>,
    rounds: &'a Rounds<'a>,
    own: &'a [Tid],
    came: &'a AtomicU64,
    before: u64,
}

impl Batch<'_> {
    /// Runs the programs of this process, and returns how each ended.
    fn run(&self, runs: u64) -> Result<Vec<Vec<Ended>>, Fault> {
        // A process without threads keeps pace as if it had one.
        let threads = self.own.len().max(1) as u64;
        std::thread::scope(|scope| {
            let keep = || (1..=runs).try_for_each(|run| self.net.pace(self.came, threads, self.before + run));
            if self.own.is_empty() {
                keep()?;
            }
            let run = move |t| self.net.company().reporting(t, || self.thread(t, runs, threads));
            let thread = |&t| scope.spawn(move || run(t));
            let all: Vec<_> = self.own.iter().map(thread).collect();
            all.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    fn thread(&self, t: Tid, runs: u64, threads: u64) -> Result<Vec<Ended>, Fault> {
        let mut ended = Vec::new();
        for run in 1..=runs {
            let mut port = self.net.port_of(t, run as usize - 1).delayed();
            self.net.pace(self.came, threads, self.before + run)?;
            port.delay();
            let mut thread = Thread::new(self.stack, t, Box::new(port), self.rounds.limit);
            ended.push(match thread.run(&self.rounds.programs[t.index()]) {
                Ok(v) => Ended::With(v),
                Err(Fault::Endless(_)) => Ended::Never,
                Err(Fault::Discarded) => Ended::Discarded,
                Err(Fault::Late(_)) => Ended::Late,
                Err(fault) => return Err(fault),
            });
        }
        self.net.port_of(t, 0).flush()?;
        Ok(ended)
    }

    /// Returns the values, at the end of a run, of the cells that this process can read.
    fn last(&self, copy: usize) -> Result<Vec<Option<Val>>, Fault> {
        let here = self.net.rank();
        let cell = |cell: &Cell| match self.stack.reader(*cell)? {
            None => {
                let x = self.stack.word(cell.loc)?;
                self.net.has(x).then(|| looked_at(self.stack, cell.loc, self.net.last_of(x, copy))).transpose()
            }
            Some((t, read)) if usize::from(self.stack.world.node_of(t).0) == here + 1 => {
                let port = self.net.port_of(t, copy);
                match Thread::new(self.stack, t, Box::new(port), self.rounds.limit).call(&read) {
                    // This happens for example if a thread that was late itself holds a lock.
                    Err(Fault::Late(_)) => Ok(None),
                    read => read.map(Some),
                }
            }
            _ => Ok(None),
        };
        self.rounds.observed.iter().map(cell).collect()
    }
}
