//! The processes of a program: one for a program that has all nodes, or one for each node.
//!
//! **Computes**: the processes, each at the point where its threads begin, and the threads, memory and queue pairs of all.
//!
//! **Invariant**: programs of several processes go on one message at a time. So every start leads to the same point. Addresses
//! have the number of their process in the upper bits; the thread of `main` is the first of its process.
//!
//! **Example**: a server listens, accepts, and exchanges keys with a client. Then it clears its memory and polls on it, and
//! the client posts a WRITE. The set-up ends behind the last call that makes or connects something. So a thread
//! clears the memory, and the WRITE may come before that.
//!
//! **Correct because**: the programs start twice. The first start counts the calls that set something up. It goes on
//! until each program posts, polls, reads memory for ever, or waits for a message. The second one holds each program behind its last such call.
//! It goes on from there to its next message only if the set-up of another program waits for it. All that comes later is explored.
//! Up to there a program does the same in each execution.
//!
//! **Cost**: two starts of each program.

use std::collections::VecDeque;
use std::time::Instant;

use crate::error::Error;
use crate::lines::{Lines, process_of};
use crate::process::{CallBatch, EPILOGUE, MemoryAccess, Process, ProgramCommand, RunEnd, Setup, late_set_up, places};

/// The flag `IBV_ACCESS_RELAXED_ORDERING` of registered memory.
const RELAXED_ORDERING: u64 = 1 << 20;

/// The most queue pairs of a program, as in the runtime.
const PAIRS: usize = 64;
/// The most programs.
const PROGRAMS: usize = 8;

/// The processes, with the process of each thread and its number there.
pub(crate) struct Processes {
    all: Vec<Process>,
    owners: Vec<(usize, usize)>,
    /// Whether code of `main` runs behind the last join.
    pub(crate) has_epilogue: bool,
    /// Whether `main` of the one program is a thread like others.
    pub(crate) main_takes_part: bool,
}

impl Processes {
    /// Starts programs, and lets each `main` set up. With `per_node` each program is one of several. If the one program of all nodes
    /// needs `main` to take part, it does.
    pub(crate) fn start(
        commands: &[ProgramCommand],
        (per_node, main_takes_part): (bool, bool),
        (shows, deadline): (bool, Option<Instant>),
        lines: &mut Lines,
    ) -> Result<(Self, Setup), Error> {
        if commands.len() > PROGRAMS {
            return Err(Error::Program(format!("there are {} programs, of at most {PROGRAMS}", commands.len())));
        }
        if !per_node && let [alone] = commands {
            let mut process = Process::spawn(alone, shows, None, main_takes_part)?;
            process.deadline = deadline;
            let made = process.made()?;
            if matches!(made, Err(RunEnd::NeedsMain)) && !main_takes_part {
                return Err(Error::MainTakesPart);
            }
            let made = made.map_err(|end| failed(lines, "main", end))?;
            let (setup, owners) = merged(&[made], None);
            return Ok((Self { all: vec![process], owners, has_epilogue: !main_takes_part, main_takes_part }, setup));
        }
        let counted = SetupOfNodes::run(commands, (shows, deadline), None, lines)?;
        let last: Vec<u64> = counted.programs.iter().map(|p| p.set_ups).collect();
        drop(counted);
        let nodes = SetupOfNodes::run(commands, (shows, deadline), Some(last), lines)?;
        let (mut all, made, ends) = nodes.finish(lines)?;
        let (setup, owners) = merged(&made, Some(&ends));
        for (k, process) in all.iter_mut().enumerate() {
            let others = made.iter().enumerate().filter(|(other, _)| *other != k).flat_map(|(_, lines)| lines);
            let others: String = others.filter(|l| !l.starts_with("thread ")).map(|l| format!("{l};")).collect();
            process.say(&format!("o{others}"))?;
        }
        Ok((Self { all, owners, has_epilogue: false, main_takes_part: false }, setup))
    }

    /// Returns the number of runs that were started.
    pub(crate) fn forks(&self) -> usize {
        self.all.iter().map(|p| p.forks).sum()
    }

    /// Sets the cells: address and size, in the order of the addresses.
    pub(crate) fn set_cells(&mut self, cells: &[(u64, u64)]) -> Result<(), Error> {
        self.all.iter_mut().enumerate().try_for_each(|(k, process)| process.set_cells(&own(cells, k)))
    }

    /// Sets the memory that threads have allocated.
    pub(crate) fn set_blocks(&mut self, blocks: &[(u64, u64)]) -> Result<(), Error> {
        self.all.iter_mut().enumerate().try_for_each(|(k, process)| process.set_blocks(&own(blocks, k)))
    }

    /// Sets the end of the time for answers.
    pub(crate) fn set_deadline(&mut self, deadline: Instant) {
        self.all.iter_mut().for_each(|process| process.deadline = Some(deadline));
    }

    /// Returns the process of a thread.
    pub(crate) fn process_of(&self, thread: usize) -> usize {
        self.owners.get(thread).map_or(0, |(process, _)| *process)
    }

    /// True of `main` of a program, if it is a thread.
    pub(crate) fn is_main(&self, thread: usize) -> bool {
        !self.has_epilogue && self.owners.get(thread).is_some_and(|(_, number)| *number == 0)
    }

    /// Adds a thread that another thread starts.
    pub(crate) fn add(&mut self, starter: usize) {
        let (process, _) = self.owners.get(starter).copied().unwrap_or_default();
        let number = self.owners.iter().filter(|(p, _)| *p == process).count();
        self.owners.push((process, number));
    }

    /// Returns the values that these cells have when the threads begin.
    pub(crate) fn values(&mut self, cells: &[(u64, u64)]) -> Result<Vec<i64>, Error> {
        let all = self.all.iter_mut().enumerate();
        let values: Result<Vec<_>, Error> = all.map(|(k, process)| process.values(&own(cells, k))).collect();
        Ok(values?.concat())
    }

    /// Runs a thread with these results of its calls.
    pub(crate) fn run(
        &mut self,
        thread: usize,
        known_as: (u8, u64),
        tape: &[i64],
    ) -> Result<(CallBatch, Vec<MemoryAccess>), Error> {
        let (process, number) = self.owners.get(thread).copied().unwrap_or((0, EPILOGUE));
        let (batch, mut accesses) = self.all[process].run(number, known_as, tape)?;
        accesses.iter_mut().for_each(|access| access.thread = thread);
        Ok((batch, accesses))
    }
}

/// Lists the cells of a process.
fn own(cells: &[(u64, u64)], process: usize) -> Vec<(u64, u64)> {
    cells.iter().copied().filter(|(at, _)| process_of(*at) == process).collect()
}

fn failed(lines: &mut Lines, name: &str, end: RunEnd) -> Error {
    match end {
        RunEnd::Misuse(_, what, _) => Error::Program(format!("{name}: {what}")),
        RunEnd::Unsupported(at, what) => {
            let what = what.trim_end_matches(" is not supported").to_owned();
            Error::Unsupported { place: format!("{name}{}: ", lines.place(&at)), what }
        }
        other => Error::Program(format!("{name}: {other:?}")),
    }
}

/// Joins what the processes have made, with the process of each thread. Programs of several processes have ranges of numbers of
/// queue pairs, and behind these the ends of their connections.
fn merged(made: &[Vec<String>], ends: Option<&[ConnectionEnd]>) -> (Setup, Vec<(usize, usize)>) {
    let (mut setup, mut owners) = (Setup::default(), Vec::new());
    if let Some(ends) = ends {
        setup.pairs = vec![(0, 0); made.len() * PAIRS];
        setup.peers = vec![0; made.len() * PAIRS];
        setup.receive_queues = vec![0; made.len() * PAIRS];
        let node = |end: usize| ends[end].owner as u8 + 1;
        setup.pairs.extend((0..ends.len()).map(|end| (node(end), node(end ^ 1))));
        setup.peers.extend((0..ends.len()).map(|end| number_of(made.len(), end ^ 1)));
    }
    for (process, lines) in made.iter().enumerate() {
        let before = owners.len();
        for text in lines {
            let all: Vec<&str> = text.split(' ').collect();
            let number = |at: usize| all.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
            let (pair, peer) = ((number(1) as u8, number(2) as u8), number(3) as u32);
            match all[0] {
                "thread" => {
                    setup.detached.extend((number(2) == 1).then_some(owners.len()));
                    owners.push((process, owners.len() - before));
                    setup.threads.push((number(1) as u8, (owners.len() - before) as u64));
                }
                "window" => {
                    let places = all.get(5).map_or_else(Vec::new, |text| places(text));
                    let (at, size, writes) = (number(1), number(2), number(3) == 1);
                    let access = MemoryAccess {
                        thread: EPILOGUE,
                        at,
                        size,
                        writes,
                        scalar: false,
                        in_other_frame: false,
                        open: number(4),
                        places,
                    };
                    setup.window.push(access);
                }
                "region" => {
                    setup.regions.push((number(1) as u8, number(2), number(3)));
                    setup.relaxed.extend((number(5) & RELAXED_ORDERING != 0).then(|| (number(2), number(3))));
                }
                "receive" => {
                    let to = (2..all.len().saturating_sub(1)).step_by(2).map(|at| (number(at), number(at + 1)));
                    setup.receives.entry(number(1)).or_default().push(to.collect());
                }
                "late" => setup.shared.push((number(1), (number(2), number(3)))),
                "pair" if ends.is_none() => {
                    setup.pairs.push(pair);
                    setup.peers.push(peer);
                    setup.receive_queues.push(number(8));
                    setup.posted.insert(number(8), number(9) as i64);
                }
                "pair" => {
                    let at = number(4) as usize - 1;
                    let node_of_peer = (peer > 0).then(|| ((peer as usize - 1) / PAIRS + 1) as u8);
                    setup.pairs[at] = (pair.0, node_of_peer.unwrap_or(0));
                    setup.peers[at] = peer;
                    setup.receive_queues[at] = number(8);
                    setup.posted.insert(number(8), number(9) as i64);
                }
                _ => {}
            }
        }
    }
    (setup, owners)
}

/// Returns the number of the end of a connection, as of a queue pair.
fn number_of(programs: usize, end: usize) -> u32 {
    (programs * PAIRS + 1 + end) as u32
}

/// An end of a TCP connection. The ends of a connection are neighbours.
struct ConnectionEnd {
    owner: usize,
    /// The bytes that have come and that the program has not received.
    inbox: VecDeque<u8>,
    /// Whether the other side has closed it.
    is_over: bool,
}

/// The reason why a program waits during the set-up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SetupWait {
    /// It has made its last call that sets something up.
    Paused,
    /// It goes on as a thread only.
    Ready,
    /// It has sent a message behind its last call that sets something up.
    Sent,
    /// It receives at most so many bytes at this end.
    Receives(usize, usize),
    Accepts(u16),
    Connects(u16),
}

struct SetupOfProgram {
    name: String,
    process: Process,
    /// The number of calls that set something up so far.
    set_ups: u64,
    /// The reason why it waits; `None` while it runs.
    waits: Option<SetupWait>,
}

/// The set-up of programs that are started once per node.
struct SetupOfNodes {
    programs: Vec<SetupOfProgram>,
    ends: Vec<ConnectionEnd>,
    ports: Vec<u16>,
    /// The number of calls of each program that set something up, if it is known.
    last: Option<Vec<u64>>,
}

impl SetupOfNodes {
    /// Starts the programs, and lets them go on until all of them wait.
    fn run(
        commands: &[ProgramCommand],
        (shows, deadline): (bool, Option<Instant>),
        last: Option<Vec<u64>>,
        lines: &mut Lines,
    ) -> Result<Self, Error> {
        let start = |(k, command): (usize, &ProgramCommand)| {
            let own = last.as_ref().map(|last| last[k]);
            let name = command.program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let mut process = Process::spawn(command, shows, Some((k, own)), false)?;
            process.deadline = deadline;
            Ok(SetupOfProgram { name: format!("{name} of node {}", k + 1), process, set_ups: 0, waits: None })
        };
        let programs = commands.iter().enumerate().map(start).collect::<Result<Vec<_>, Error>>()?;
        let mut nodes = Self { programs, ends: Vec::new(), ports: Vec::new(), last };
        while nodes.step(lines)? {}
        for program in &nodes.programs {
            if let Some(SetupWait::Connects(port)) = program.waits.filter(|w| !nodes.is_listened_to(*w)) {
                let why = format!("{}: connect: no program listens on port {port}", program.name);
                return Err(Error::Program(why));
            }
        }
        Ok(nodes)
    }

    fn is_listened_to(&self, wait: SetupWait) -> bool {
        self.ports.iter().any(|port| wait == SetupWait::Connects(*port))
    }

    /// Lets one program go on; false if all of them wait.
    fn step(&mut self, lines: &mut Lines) -> Result<bool, Error> {
        if let Some(running) = self.programs.iter().position(|p| p.waits.is_none()) {
            return self.message(running, lines).map(|()| true);
        }
        for k in 0..self.programs.len() {
            match self.programs[k].waits {
                Some(SetupWait::Receives(end, most)) if !self.ends[end].inbox.is_empty() || self.ends[end].is_over => {
                    let inbox = &mut self.ends[end].inbox;
                    let bytes: Vec<u8> = inbox.drain(..most.min(inbox.len())).collect();
                    return self.answer(k, &format!("d {}", hex(&bytes))).map(|()| true);
                }
                Some(SetupWait::Accepts(port)) => {
                    let connects = |p: &SetupOfProgram| p.waits == Some(SetupWait::Connects(port));
                    let Some(other) = self.programs.iter().position(connects) else { continue };
                    for owner in [k, other] {
                        self.ends.push(ConnectionEnd { owner, inbox: VecDeque::new(), is_over: false });
                        let number = number_of(self.programs.len(), self.ends.len() - 1);
                        self.answer(owner, &format!("c {number}"))?;
                    }
                    return Ok(true);
                }
                _ => {}
            }
        }
        self.goes_on_for_another()
    }

    /// Lets a program go on behind its last call that sets something up, if the set-up of another waits for its message.
    fn goes_on_for_another(&mut self) -> Result<bool, Error> {
        let Some(last) = &self.last else { return Ok(false) };
        for (program, last) in self.programs.iter().zip(last) {
            let Some(SetupWait::Receives(end, _)) = program.waits.filter(|_| program.set_ups < *last) else { continue };
            let sender = self.ends[end ^ 1].owner;
            if matches!(self.programs[sender].waits, Some(SetupWait::Paused | SetupWait::Sent)) {
                return self.answer(sender, "g").map(|()| true);
            }
        }
        Ok(false)
    }

    fn answer(&mut self, program: usize, text: &str) -> Result<(), Error> {
        self.programs[program].waits = None;
        self.programs[program].process.say(text)
    }

    /// Reads a message of a program.
    fn message(&mut self, k: usize, lines: &mut Lines) -> Result<(), Error> {
        let program = &mut self.programs[k];
        let ended = |why| match why {
            Error::Late(_) => late_set_up(),
            _ => Error::Program(format!("{}: `main` ends before the set-up is over", program.name)),
        };
        let text = program.process.line().map_err(ended)?;
        let words: Vec<&str> = text.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok()).unwrap_or(0);
        if words[0] != "n" {
            return Err(failed(lines, &program.name, Process::end(&text)));
        }
        program.set_ups = number(1) as u64;
        let is_done = self.last.as_ref().is_some_and(|last| last[k] == program.set_ups);
        let end = number(3).wrapping_sub(number_of(self.programs.len(), 0) as usize);
        let port = number(3) as u16;
        let waits = match words.get(2).copied().unwrap_or_default() {
            "listen" => {
                self.ports.push(port);
                None
            }
            "send" => {
                let other = &mut self.ends[end ^ 1];
                let bytes = bytes(words.get(4).copied().unwrap_or_default());
                other.is_over |= bytes.is_empty();
                other.inbox.extend(bytes);
                is_done.then_some(SetupWait::Sent)
            }
            "receive" => Some(SetupWait::Receives(end, number(4))),
            "accept" => Some(SetupWait::Accepts(port)),
            "connect" => Some(SetupWait::Connects(port)),
            "pause" => Some(SetupWait::Paused),
            _ => Some(SetupWait::Ready),
        };
        match waits {
            Some(_) => self.programs[k].waits = waits,
            None => self.answer(k, "k")?,
        }
        Ok(())
    }

    /// Ends the set-up, and returns what each program has made.
    #[allow(clippy::type_complexity, reason = "three lists")]
    fn finish(self, lines: &mut Lines) -> Result<(Vec<Process>, Vec<Vec<String>>, Vec<ConnectionEnd>), Error> {
        let count = self.programs.len();
        let (mut all, mut made) = (Vec::new(), Vec::new());
        for (k, mut program) in self.programs.into_iter().enumerate() {
            let mut text = "s".to_owned();
            for (number, end) in self.ends.iter().enumerate().filter(|(_, end)| end.owner == k) {
                let inbox: Vec<u8> = end.inbox.iter().copied().collect();
                let open = [(!inbox.is_empty()).then(|| hex(&inbox)), end.is_over.then(|| hex(&[]))];
                text.extend(open.into_iter().flatten().map(|bytes| format!(" {} {bytes}", number_of(count, number))));
            }
            program.process.say(&text)?;
            made.push(program.process.made()?.map_err(|end| failed(lines, &program.name, end))?);
            all.push(program.process);
        }
        Ok((all, made, self.ends))
    }
}

/// Prints bytes, and `-` for none.
fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() { "-".to_owned() } else { bytes.iter().map(|byte| format!("{byte:02x}")).collect() }
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    (0..hex.len() / 2).filter_map(|k| byte(2 * k)).collect()
}
