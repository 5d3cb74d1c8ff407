//! The machine of RDMA-TSO-RMW with a seed, for threads that run beside it.
//!
//! Each thread runs to its next call. Then the machine draws a part that moves: a thread with its call, a store buffer,
//! or a part of a network card. Only one thread runs at a time, so the seed determines the run. The machine draws some
//! parts much less often than others, for a while or until they have moved, so that late operations are very late.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard};

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_rdma::operational::{Act, Driven, Step};
use mowgli_rdma::tso::{Method as Tso, TSO};
use mowgli_rdma::wait::{WORDS, row};
use mowgli_rdma::{Qp, Switches, Way};

use crate::emitted::mowgli_port::{self, Id, Word};
use crate::made::MadeObjects;
use crate::memory::MemoryWord;
use crate::port::{Fault, Port, RemoteFabric};

/// The state of a thread.
enum At {
    /// The thread runs its own code.
    Running,
    /// The thread waits for the result of this call.
    Asks(Call),
    /// The machine has given this result, and the thread does not run yet.
    Answered(Val),
    Ended,
}

/// The unit in which a part's rate expires. Runs with odd seeds use the first, runs with even seeds the second.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Span {
    /// Steps in which the part could have been drawn. A late part stays late while much happens.
    Steps,
    /// Draws of the part. A late part stays late until it has moved, however short the run is, and may then be quick.
    Moves,
}

/// A part that can move next: a thread, its store buffer, or a part of its network card. Each queue pair has parts of
/// its own, because operations to one node can be much later than those to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MovingPart {
    Cpu,
    StoreBuffer,
    Pipe(Qp),
    Remote(Qp),
    Local(Qp),
}

struct Core {
    hardware: Driven,
    threads: Vec<At>,
    random: fastrand::Rng,
    /// The current rate at which each part is drawn, and the number of steps or moves until the rate expires.
    pace: BTreeMap<(Tid, MovingPart), (u32, u32)>,
    span: Span,
    /// For each thread and node, the identifiers of the operations that polls have not taken, the oldest first. They
    /// are kept here because they outlive ports.
    open: Vec<Vec<VecDeque<Id>>>,
    /// The memory at the last moment at which nothing was under way and it had changed since the moment before.
    settled: Option<Vec<Val>>,
    /// For each thread, the number of iterations of loops that it has ended since then, while memory did not change.
    rounds: Vec<u32>,
    /// The number of steps left.
    left: u64,
    fault: Option<Fault>,
}

/// The machine.
pub(crate) struct MachineFabric {
    /// The name of each word. The machine's words hold integers: the contents of the words.
    words: Vec<Loc>,
    nodes: u8,
    core: Mutex<Core>,
    /// For each thread, a signal that it has its result, or has to step the machine itself.
    changed: Vec<Condvar>,
}

impl MachineFabric {
    /// Creates the machine for the words of a group. It stops with a fault after so many steps.
    pub(crate) fn new(made: &MadeObjects<'_>, seed: u64, steps: u64) -> Result<Self, Fault> {
        let world = &made.declared.world;
        let mut words = World::new(world.nodes, &world.threads);
        let name = |(at, word): (usize, &MemoryWord)| word.name.unwrap_or_else(|| Loc::new(&format!("word.{at}")));
        let names: Vec<Loc> = made.memory.iter().enumerate().map(name).collect();
        let object = |word: &MemoryWord| Object::new(TSO).at(Node(word.node)).init(word.initial.into());
        words.objects.extend(names.iter().copied().zip(made.memory.iter().map(object)));
        let core = Core {
            hardware: Driven::new(&words, Switches::OFF).map_err(|e| Fault::Wrong(e.to_string()))?,
            threads: world.threads.iter().map(|_| At::Running).collect(),
            pace: BTreeMap::new(),
            span: if seed.is_multiple_of(2) { Span::Moves } else { Span::Steps },
            random: fastrand::Rng::with_seed(seed),
            open: vec![vec![VecDeque::new(); usize::from(world.nodes)]; world.threads.len()],
            settled: None,
            rounds: vec![0; world.threads.len()],
            left: steps,
            fault: None,
        };
        let changed = world.threads.iter().map(|_| Condvar::new()).collect();
        Ok(Self { words: names, nodes: world.nodes, core: Mutex::new(core), changed })
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        // A thread can only panic in its own code, so the core is consistent.
        self.core.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Core {
    /// True if all threads wait in calls or have ended.
    fn is_still(&self) -> bool {
        self.threads.iter().all(|at| matches!(at, At::Asks(_) | At::Ended))
    }

    /// Returns a thread that has its result and does not run yet.
    fn answered(&self) -> Option<usize> {
        self.threads.iter().position(|at| matches!(at, At::Answered(_)))
    }

    /// Returns the current rate of a part. Rates that last until the part moves differ so much that they almost fix the
    /// order of the parts.
    fn pace(&mut self, who: (Tid, MovingPart)) -> u32 {
        let (random, span) = (&mut self.random, self.span);
        let (pace, left) = self.pace.entry(who).or_insert((0, 0));
        if *left == 0 {
            (*pace, *left) = match span {
                Span::Steps => (1 << (2 * random.u32(0..5)), 1 << random.u32(4..12)),
                Span::Moves => (1 << (2 * random.u32(0..12)), 1 << random.u32(0..3)),
            };
        }
        if span == Span::Steps {
            *left -= 1;
        }
        *pace
    }

    /// Draws a part, and lets it move.
    fn step(&mut self) {
        if self.left == 0 {
            self.fault = Some(Fault::Late("the threads have made as many steps as they may".to_owned()));
            return;
        }
        self.left -= 1;
        let mut all: Vec<((Tid, MovingPart), Option<usize>)> = Vec::new();
        for (t, at) in self.threads.iter().enumerate() {
            if let At::Asks(_) = at {
                all.push(((Tid::from_index(t), MovingPart::Cpu), None));
            }
        }
        all.extend(self.hardware.steps().into_iter().enumerate().map(|(i, step)| (part(step), Some(i))));
        let mut paced: Vec<_> = all.into_iter().map(|(who, what)| (self.pace(who), who, what)).collect();
        while !paced.is_empty() {
            let all: u64 = paced.iter().map(|(pace, ..)| u64::from(*pace)).sum();
            // Runs of few parts draw numbers of 32 bits, as ever, so that their seeds stay what they are.
            let mut drawn = match u32::try_from(all) {
                Ok(all) => self.random.u32(..all).into(),
                Err(_) => self.random.u64(..all),
            };
            let is_it = |(pace, ..): &(u32, _, _)| {
                let is_it = drawn < u64::from(*pace);
                drawn = drawn.saturating_sub(u64::from(*pace));
                is_it
            };
            let place = paced.iter().position(is_it).expect("less than the sum");
            let (_, who, what) = paced.swap_remove(place);
            if let (Span::Moves, Some((_, left))) = (self.span, self.pace.get_mut(&who)) {
                *left -= 1;
            }
            match what {
                Some(step) => {
                    self.hardware.take(step);
                    self.changed();
                }
                // The call waits for the hardware, so another part is drawn.
                None if !self.call(who.0) => continue,
                None => {}
            }
            return;
        }
        let asks = |(t, at): (usize, &At)| match at {
            At::Asks(call) => Some(format!("{} waits in {call}", Tid::from_index(t))),
            _ => None,
        };
        let waits: Vec<String> = self.threads.iter().enumerate().filter_map(asks).collect();
        self.fault = Some(Fault::Endless(waits.join(", ")));
    }

    /// Makes the call of a thread, if it is possible now.
    fn call(&mut self, thread: Tid) -> bool {
        let At::Asks(call) = &self.threads[thread.index()] else { return false };
        let Some(result) = self.hardware.call(thread, call) else { return false };
        self.threads[thread.index()] = At::Answered(result);
        self.changed();
        true
    }

    /// Restarts the count of iterations if memory has changed.
    fn changed(&mut self) {
        if self.settled.as_deref() != Some(self.hardware.all_memory()) {
            self.settled = None;
        }
    }

    /// Ends an iteration of a thread's loop, and detects a run that never ends.
    ///
    /// It never ends if nothing is under way now or was at an earlier moment, and memory did not change between the
    /// two. Each thread also has to have made a whole iteration there, to have ended, or to wait in a call. This is
    /// correct because iterations that read the same are alike, and everything that they issue has arrived. So later
    /// iterations change nothing either.
    fn round(&mut self, thread: Tid) {
        self.rounds[thread.index()] += 1;
        if !self.hardware.steps().is_empty() {
            return;
        }
        if self.settled.is_none() {
            self.settled = Some(self.hardware.all_memory().to_vec());
            self.rounds.fill(0);
            return;
        }
        let why = |t: usize| match &self.threads[t] {
            At::Ended => Some(None),
            // The second of two iterations has begun after that moment, so it lies between the two as a whole.
            _ if self.rounds[t] >= 2 => Some(Some(format!("{} waits in a loop", Tid::from_index(t)))),
            At::Asks(call) if !self.hardware.is_possible(Tid::from_index(t), call) => {
                Some(Some(format!("{} waits in {call}", Tid::from_index(t))))
            }
            _ => None,
        };
        if let Some(whys) = (0..self.threads.len()).map(why).collect::<Option<Vec<Option<String>>>>() {
            let waits: Vec<String> = whys.into_iter().flatten().collect();
            self.fault = Some(Fault::Endless(waits.join(", ")));
        }
    }
}

fn part(step: &Step) -> (Tid, MovingPart) {
    let part = match step.act {
        Act::Call(..) => MovingPart::Cpu,
        Act::StoreBuffer(..) | Act::Issue(..) => MovingPart::StoreBuffer,
        Act::Pipe(q, _) => MovingPart::Pipe(q),
        Act::Remote(q, ..) => MovingPart::Remote(q),
        Act::Local(q, ..) => MovingPart::Local(q),
    };
    (step.thread, part)
}

impl RemoteFabric for MachineFabric {
    fn port(&self, thread: Tid) -> Box<dyn Port + '_> {
        Box::new(MachinePort { machine: self, thread })
    }
}

struct MachinePort<'a> {
    machine: &'a MachineFabric,
    thread: Tid,
}

impl MachinePort<'_> {
    /// Applies `with` to the identifiers of the operations towards a node that polls have not taken.
    fn open<R>(&self, n: i64, with: impl FnOnce(&mut VecDeque<Id>) -> R) -> R {
        with(&mut self.machine.core().open[self.thread.index()][n as usize - 1])
    }

    fn at(&self, x: Word) -> Loc {
        self.machine.words[x.at]
    }

    fn row(&self, words: &[Word]) -> Val {
        row(&words.iter().map(|x| self.at(*x)).collect::<Vec<_>>())
    }

    /// Makes a call that returns nothing.
    fn done(&self, call: Tso) -> Result<(), Fault> {
        self.ask(call).map(|_| ())
    }

    fn ask(&self, call: Tso) -> Result<Val, Fault> {
        let machine = self.machine;
        let mut core = machine.core();
        let own = self.thread.index();
        core.threads[own] = At::Asks(call.into());
        loop {
            if let Some(fault) = &core.fault {
                return Err(fault.clone());
            }
            if let At::Answered(result) = core.threads[own] {
                core.threads[own] = At::Running;
                return Ok(result);
            }
            if !core.is_still() {
                core = machine.changed[own].wait(core).unwrap_or_else(std::sync::PoisonError::into_inner);
                continue;
            }
            core.step();
            // The calling thread steps the machine itself until another thread has its result.
            if core.fault.is_some() {
                machine.changed.iter().for_each(Condvar::notify_one);
            } else if let Some(other) = core.answered().filter(|&other| other != own) {
                machine.changed[other].notify_one();
            }
        }
    }

    fn begin(&mut self, call: Tso, far: Word, d: Id) -> Result<(), Fault> {
        self.ask(call)?;
        self.open(far.node, |open| open.push_back(d));
        Ok(())
    }
}

/// Returns the content of a word.
fn number(v: Val) -> i64 {
    v.int().expect("words of the machine hold integers")
}

impl mowgli_port::Port for MachinePort<'_> {
    type Fault = Fault;

    fn read(&mut self, x: Word) -> Result<i64, Fault> {
        self.ask(Tso::Read { x: self.at(x) }).map(number)
    }

    fn write(&mut self, x: Word, v: i64) -> Result<(), Fault> {
        self.done(Tso::Write { x: self.at(x), v: v.into() })
    }

    fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, Fault> {
        self.ask(Tso::CAS { x: self.at(x), v1: old.into(), v2: new.into() }).map(number)
    }

    fn xchg(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.ask(Tso::Xchg { x: self.at(x), v: v.into() }).map(number)
    }

    fn faa(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.ask(Tso::FAA { x: self.at(x), v: v.into() }).map(number)
    }

    fn mfence(&mut self) -> Result<(), Fault> {
        self.done(Tso::Mfence {})
    }

    fn get(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.begin(Tso::Get { x: self.at(to), y: self.at(from) }, from, d)
    }

    fn put(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.begin(Tso::Put { x: self.at(to), y: self.at(from) }, to, d)
    }

    fn get_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        for (to, from) in to.chunks(WORDS).zip(from.chunks(WORDS)) {
            self.begin(Tso::GetWords { w: Way::USUAL.into(), xs: self.row(to), ys: self.row(from) }, from[0], d)?;
        }
        Ok(())
    }

    fn put_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        for (to, from) in to.chunks(WORDS).zip(from.chunks(WORDS)) {
            self.begin(Tso::PutWords { w: Way::USUAL.into(), xs: self.row(to), ys: self.row(from) }, to[0], d)?;
        }
        Ok(())
    }

    fn rcas(&mut self, to: Word, on: Word, old: i64, new: i64, d: Id) -> Result<(), Fault> {
        let (x, y) = (self.at(to), self.at(on));
        self.begin(Tso::RCAS { x, y, v1: old.into(), v2: new.into() }, on, d)
    }

    fn rfaa(&mut self, to: Word, on: Word, v: i64, d: Id) -> Result<(), Fault> {
        self.begin(Tso::RFAA { x: self.at(to), y: self.at(on), v: v.into() }, on, d)
    }

    /// Polls take the oldest operation first, as in SYNC Fig. 16.
    fn wait(&mut self, d: Id) -> Result<(), Fault> {
        for n in 1..=self.machine.nodes.into() {
            while self.open(n, |open| open.contains(&d)) {
                self.done(Tso::Poll { n: Node(n as u8) })?;
                self.open(n, VecDeque::pop_front);
            }
        }
        Ok(())
    }

    fn rfence(&mut self, n: i64) -> Result<(), Fault> {
        self.done(Tso::Rfence { n: Node(n as u8) })
    }

    fn again(&mut self) -> Result<(), Fault> {
        let mut core = self.machine.core();
        core.round(self.thread);
        if core.fault.is_some() {
            self.machine.changed.iter().for_each(Condvar::notify_one);
        }
        Ok(())
    }
}

impl Port for MachinePort<'_> {}

impl Drop for MachinePort<'_> {
    fn drop(&mut self) {
        let mut core = self.machine.core();
        core.threads[self.thread.index()] = At::Ended;
        self.machine.changed.iter().for_each(Condvar::notify_one);
    }
}
