//! The program as a process that runs its threads again and again: see `runtime/hooks.c`.
//!
//! The two sides write lines to each other. An answer ends with a line that is a dot.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mowgli_core::term::script::StateName;
use rustix::process::{Pid, Signal, kill_process_group};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::error::Error;

/// The number of the code of `main` behind the last join, in the place of a thread.
pub(crate) const EPILOGUE: usize = 255;

/// The addresses from which a call was made, innermost first.
pub(crate) type CallStack = Vec<u64>;

/// An access to memory that no run had made before.
#[derive(Clone, Debug)]
pub(crate) struct MemoryAccess {
    pub(crate) thread: usize,
    pub(crate) at: u64,
    pub(crate) size: u64,
    pub(crate) writes: bool,
    /// Whether it is one load or store, and not a copy of many bytes.
    pub(crate) scalar: bool,
    /// Whether it is in a frame of another thread, or one of its `__thread` variables. That thread may have no hooks there.
    pub(crate) in_other_frame: bool,
    /// The threads that `main` has started and not joined, as bits, of an access of `main` that is no thread.
    pub(crate) open: u64,
    pub(crate) places: CallStack,
}

/// A call of the program, as the runtime reports it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The name of the thread's state before the call.
    pub(crate) state: StateName,
    pub(crate) places: CallStack,
    pub(crate) text: String,
}

/// Returns the name of the state that these bytes are: the first half of their SHA-256. Two states with one name are equal, but for a
/// chance that docs/limits.md bounds.
pub(crate) fn name_of<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> StateName {
    let hasher = parts
        .into_iter()
        .fold(Sha256::new(), |hasher, part| hasher.chain_update((part.len() as u64).to_le_bytes()).chain_update(part));
    let first: [u8; 16] = hasher.finalize()[..16].try_into().expect("SHA-256 has 32 bytes");
    StateName::from_le_bytes(first)
}

/// The way in which a run stops.
#[derive(Clone, Debug)]
pub(crate) enum RunEnd {
    /// It needs the result of a call.
    Asks(Line),
    /// The thread has ended, with these outcomes.
    Ended(Vec<(String, i64)>, Messages),
    /// An assertion failed, or the program crashed. It had recorded these outcomes.
    Failed(CallStack, String, Vec<(String, i64)>),
    /// A wrong use of verbs.
    Misuse(CallStack, String, Vec<(String, i64)>),
    /// Something that is not supported, or a limit.
    Unsupported(CallStack, String),
    /// An assumption is false.
    Discarded,
    /// It loops, and reads memory that nobody else has written so far.
    Waits(CallStack),
    /// The runtime needs to know more of memory: an address, a size, and why.
    Needs(u64, u64, Need),
    /// `main` has to take part as a thread.
    NeedsMain,
}

/// A property of memory that the runtime needs to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// These bytes are one cell.
    Word,
    /// The block that another thread has allocated there.
    Block,
    /// Additions to it overflow.
    Wraps,
}

/// The calls of a thread behind its last known result.
#[derive(Clone, Debug)]
pub(crate) struct CallBatch {
    pub(crate) calls: Vec<Line>,
    pub(crate) end: RunEnd,
    pub(crate) warnings: Vec<(CallStack, String)>,
    /// Functions and instructions that touch memory unseen.
    pub(crate) unseen: Vec<(CallStack, String)>,
    /// Memory that it allocates: address and size.
    pub(crate) blocks: Vec<(u64, u64)>,
    /// Memory of receives that it posts: address and size.
    pub(crate) receives: Vec<(u64, u64)>,
    /// Memory of which it looks which bytes are cells, beside its accesses: address and size.
    pub(crate) looks: Vec<(u64, u64)>,
    /// A hash of the calls up to the last known result, if the thread was run from its beginning.
    pub(crate) before: Option<String>,
    /// A hash of the calls up to the end of the batch, if a result is missing there.
    pub(crate) trail: String,
}

/// The threads, regions and queue pairs that `main` has made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    /// The node of each thread, and its number as the program knows it.
    pub(crate) threads: Vec<(u8, u64)>,
    /// The threads that were detached, or that their starters have left without a join.
    pub(crate) detached: BTreeSet<usize>,
    /// The accesses of `main` after it has started so many threads.
    pub(crate) window: Vec<MemoryAccess>,
    /// Registered memory: node, address, length.
    pub(crate) regions: Vec<(u8, u64, u64)>,
    /// Registered memory with relaxed ordering: address, length.
    pub(crate) relaxed: Vec<(u64, u64)>,
    /// The node of each queue pair, and that of the other side, 0 if it is not connected.
    pub(crate) pairs: Vec<(u8, u8)>,
    /// The number of the queue pair at the other side of each, 0 if it is not connected.
    pub(crate) peers: Vec<u32>,
    /// The address of the receive queue of each, which several may share.
    pub(crate) receive_queues: Vec<u64>,
    /// The memory of the receives that are posted to each receive queue of one queue pair when the threads begin.
    pub(crate) receives: BTreeMap<u64, Vec<Vec<(u64, u64)>>>,
    /// The memory of the receives that are posted to shared queues when the threads begin, each with its queue.
    pub(crate) shared: Vec<(u64, (u64, u64))>,
    /// The number of receives that are posted to each receive queue when the threads begin.
    pub(crate) posted: BTreeMap<u64, i64>,
}

/// The end of a part of a node, with the letter of the runtime. Memory is freed ('f') or deregistered ('d'), or a queue pair is destroyed ('q').
/// Or the memory of the receive for a message is freed ('r'). The numbers are those of what operations need: an address and a size, or a queue
/// pair and a message.
pub(crate) type PartEnd = (char, (u64, u64));

/// Messages and receives of a thread that has ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Messages {
    /// For each queue pair at the other side: the number of messages to it whose completion was polled, and the place of the last poll.
    pub(crate) sent: Vec<(u32, i64, CallStack)>,
    /// The number of receives that it has posted to each receive queue.
    pub(crate) posted: Vec<(u64, i64)>,
    /// For each queue pair the messages that it has sent to it, or received by it.
    pub(crate) made: Vec<(u32, i64)>,
    /// The memory of its receives that were not polled, each with its receive queue.
    pub(crate) unpolled: Vec<(u64, (u64, u64))>,
    /// The operations that may not have come when the thread ended what they need. Each has its number among those that need it, and
    /// the place of the end.
    pub(crate) open: Vec<(PartEnd, usize, CallStack)>,
}

/// A program and its arguments.
#[derive(Clone, Debug)]
pub struct ProgramCommand {
    /// A program that a [`crate::Toolchain`] has made.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

pub(crate) struct Process {
    child: Child,
    stream: BufReader<UnixStream>,
    /// The thread that waits for a result, and the results that it has.
    live: Option<(usize, Vec<i64>)>,
    /// The number of runs that were started.
    pub(crate) forks: usize,
    /// The end of the time for its answers.
    pub(crate) deadline: Option<Instant>,
    _folder: TempDir,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.say("k");
        let _ = self.say("q");
        // A run may compute for ever, so the process and its runs are a group, which ends as a whole.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the number at the beginning of a text, and the rest.
fn split(text: &str) -> Option<(&str, &str)> {
    text.split_once(' ').or((!text.is_empty()).then_some((text, "")))
}

pub(crate) fn places(text: &str) -> CallStack {
    text.split(',').filter_map(|pc| u64::from_str_radix(pc, 16).ok()).filter(|&pc| pc > 0).collect()
}

fn call(rest: &str, state: StateName) -> Option<Line> {
    let (at, text) = split(split(rest)?.1)?;
    // Equal states make equal calls, so the text adds nothing but a second safeguard.
    let state = name_of([&state.to_le_bytes()[..], text.as_bytes()]);
    Some(Line { state, places: places(at), text: text.to_owned() })
}

fn said(rest: &str) -> (CallStack, String) {
    let (at, text) = split(rest).unwrap_or_default();
    (places(at), text.to_owned())
}

impl Process {
    /// Starts a program. One of several has a number, and the number of calls of its set-up if that is known.
    pub(crate) fn spawn(
        ask: &ProgramCommand,
        shows: bool,
        number: Option<(usize, Option<u64>)>,
        main_takes_part: bool,
    ) -> Result<Self, Error> {
        let folder = tempfile::tempdir().map_err(|e| Error::file(&std::env::temp_dir(), &e))?;
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).map_err(|e| Error::file(&path, &e))?;
        listener.set_nonblocking(true).map_err(|e| Error::file(&path, &e))?;
        let output = || if shows { Stdio::inherit() } else { Stdio::null() };
        let program = &ask.program;
        let program = if program.components().count() == 1 { Path::new(".").join(program) } else { program.clone() };
        let mut command = Command::new(&program);
        command.args(&ask.args).env("MOWGLI_SOCKET", &path).env_remove("MOWGLI_AGAIN");
        command.env_remove("MOWGLI_PROGRAM").env_remove("MOWGLI_SET_UPS").env_remove("MOWGLI_MAIN");
        command.envs(main_takes_part.then_some(("MOWGLI_MAIN", "1")));
        if let Some((number, last)) = number {
            command.env("MOWGLI_PROGRAM", number.to_string());
            command.envs(last.map(|last| ("MOWGLI_SET_UPS", last.to_string())));
        }
        let command = command.stdin(Stdio::null()).stdout(output()).process_group(0);
        let is_no_program = || {
            let why =
                "it is no program that `mowgli verbs cc` has made: compile it with `mowgli verbs cc -o PROGRAM FILES`";
            Error::Program(format!("{}: {why}", program.display()))
        };
        let mut child = command.spawn().map_err(|e| match e.kind() {
            ErrorKind::NotFound => Error::file(&program, &e),
            _ => is_no_program(),
        })?;
        let begin = Instant::now();
        let stream = loop {
            // What it has said is there even if it has ended since.
            let has_ended = child.try_wait().is_ok_and(|status| status.is_some());
            if let Ok((stream, _)) = listener.accept() {
                break stream;
            }
            if has_ended || begin.elapsed() > Duration::from_secs(10) {
                let _ = child.kill();
                let _ = child.wait();
                return Err(is_no_program());
            }
            std::thread::sleep(Duration::from_micros(100));
        };
        stream.set_nonblocking(false).map_err(|e| Error::file(&path, &e))?;
        Ok(Self { child, stream: BufReader::new(stream), live: None, forks: 0, deadline: None, _folder: folder })
    }

    /// Waits until `main` waits for its threads, and returns what it has made, as lines.
    pub(crate) fn made(&mut self) -> Result<Result<Vec<String>, RunEnd>, Error> {
        let lines = match self.answer() {
            Ok(lines) => lines,
            Err(Error::Late(_)) => return Err(late_set_up()),
            Err(why) => return Err(self.killed().unwrap_or(why)),
        };
        let is_end = |text: &&String| ["m ", "x ", "z "].iter().any(|kind| text.starts_with(kind));
        let end = lines.iter().find(is_end).map(|text| Self::end(text));
        Ok(end.map_or(Ok(lines), Err))
    }

    /// Returns the error that names the signal which has ended the process in its set-up.
    fn killed(&mut self) -> Option<Error> {
        // The socket closes a moment before the process has ended.
        std::thread::sleep(Duration::from_millis(100));
        let status = self.child.try_wait().ok()??;
        let why = format!("the program ended while `main` set up: {status}");
        status.signal().map(|_| Error::Program(why))
    }

    pub(crate) fn say(&mut self, text: &str) -> Result<(), Error> {
        let stream = self.stream.get_mut();
        stream.write_all(format!("{text}\n").as_bytes()).map_err(|_| gone())
    }

    /// Reads a line.
    pub(crate) fn line(&mut self) -> Result<String, Error> {
        let mut text = String::new();
        let left = self.deadline.map(|end| end.saturating_duration_since(Instant::now()));
        let left = left.map(|left| left.max(Duration::from_millis(1)));
        self.stream.get_mut().set_read_timeout(left).map_err(|_| gone())?;
        match self.stream.read_line(&mut text) {
            Ok(n) if n > 0 => Ok(text.trim_end_matches('\n').to_owned()),
            Err(why) if why.kind() == ErrorKind::WouldBlock => {
                Err(Error::Late("the time limit was reached".to_owned()))
            }
            _ => Err(gone()),
        }
    }

    fn answer(&mut self) -> Result<Vec<String>, Error> {
        let lines = self.answer_with_states()?;
        Ok(lines.into_iter().map(|(line, _)| line).collect())
    }

    /// Reads an answer. Behind the line of a call come the bytes of the thread's state before it.
    fn answer_with_states(&mut self) -> Result<Vec<(String, StateName)>, Error> {
        let mut lines = Vec::new();
        loop {
            let line = self.line()?;
            if line == "." {
                return Ok(lines);
            }
            let size = line.strip_prefix(['c', 'q']).and_then(|rest| split(rest.trim_start())?.0.parse().ok());
            let mut state = vec![0; size.unwrap_or(0)];
            self.stream.read_exact(&mut state).map_err(|_| gone())?;
            let name = if size.is_some() { name_of([&state[..]]) } else { 0 };
            lines.push((line, name));
        }
    }

    /// Makes the process forget the run that waits for a result.
    fn forget(&mut self) -> Result<(), Error> {
        if self.live.take().is_some() { self.say("k") } else { Ok(()) }
    }

    /// Sets the cells: address and size, in the order of the addresses.
    pub(crate) fn set_cells(&mut self, cells: &[(u64, u64)]) -> Result<(), Error> {
        self.forget()?;
        let all: String = cells.iter().map(|(at, size)| format!(" {at} {size}")).collect();
        self.say(&format!("t {}{all}", cells.len()))
    }

    /// Sets the memory that threads have allocated: address and size, in the order of the addresses.
    pub(crate) fn set_blocks(&mut self, blocks: &[(u64, u64)]) -> Result<(), Error> {
        self.forget()?;
        let all: String = blocks.iter().map(|(at, size)| format!(" {at} {size}")).collect();
        self.say(&format!("b {}{all}", blocks.len()))
    }

    /// Returns the values that these cells have when `main` is done.
    pub(crate) fn values(&mut self, cells: &[(u64, u64)]) -> Result<Vec<i64>, Error> {
        self.forget()?;
        let all: String = cells.iter().map(|(at, size)| format!(" {at} {size}")).collect();
        self.say(&format!("i {}{all}", cells.len()))?;
        Ok(self.answer()?.iter().map(|v| v.parse().unwrap_or(0)).collect())
    }

    /// Runs a thread of a node, which has a number as the program knows it, with these results of its calls.
    pub(crate) fn run(
        &mut self,
        thread: usize,
        (node, number): (u8, u64),
        tape: &[i64],
    ) -> Result<(CallBatch, Vec<MemoryAccess>), Error> {
        let goes_on = self
            .live
            .as_ref()
            .is_some_and(|(t, known)| *t == thread && tape.len() == known.len() + 1 && tape.starts_with(known));
        if goes_on {
            self.say(&format!("r {}", tape[tape.len() - 1]))?;
        } else {
            self.forget()?;
            self.forks += 1;
            let all: String = tape.iter().map(|v| format!(" {v}")).collect();
            self.say(&format!("g {thread} {number} {node} {}{all}", tape.len()))?;
        }
        self.live = None;
        let lines = self.answer_with_states()?;
        let (mut calls, mut accesses, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let (mut unseen, mut blocks, mut looks, mut receives) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut before, mut trail) = (None, String::new());
        let (mut values, mut messages) = (Vec::new(), Messages::default());
        let mut lines = lines.iter();
        let end = loop {
            let (text, state) = lines.next().ok_or_else(gone)?;
            let rest = text.get(2..).unwrap_or_default();
            match text.as_bytes().first() {
                Some(b'a') => accesses.push(access(thread, rest)),
                Some(b'c') => calls.push(call(rest, *state).ok_or_else(gone)?),
                Some(b'w') => warnings.push(said(rest)),
                Some(b'u') => unseen.push(said(rest)),
                Some(b'b') => blocks.extend(range(rest)),
                Some(b'k') => looks.extend(range(rest)),
                Some(b't') => before = Some(said(rest).1),
                Some(b'q') => {
                    trail = lines.next().map(|(text, _)| said(text.get(2..).unwrap_or_default()).1).unwrap_or_default();
                    break RunEnd::Asks(call(rest, *state).ok_or_else(gone)?);
                }
                Some(b'v') => values.extend(outcome(rest)),
                Some(b'p') => {
                    let (peer, rest) = split(rest).unwrap_or_default();
                    let (count, at) = split(rest).unwrap_or_default();
                    messages.sent.extend(peer.parse().ok().zip(count.parse().ok()).map(|(p, n)| (p, n, places(at))));
                }
                Some(b'M') => {
                    let numbers: Vec<i64> = rest.split(' ').filter_map(|word| word.parse().ok()).collect();
                    if let [peer, sent, own, received] = numbers[..] {
                        messages.made.extend([(peer as u32, sent), (own as u32, -received)]);
                    }
                }
                Some(b'Y') => {
                    let (queue, memory) = split(rest).unwrap_or_default();
                    messages.unpolled.extend(queue.parse().ok().zip(range(memory)));
                }
                Some(b'Z') => receives.extend(range(rest)),
                Some(b'r') => {
                    let (queue, count) = split(rest).unwrap_or_default();
                    messages.posted.extend(queue.parse().ok().zip(count.parse().ok()));
                }
                Some(b'o') => {
                    let words: Vec<&str> = rest.split(' ').collect();
                    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
                    let at = words.get(4).map_or_else(Vec::new, |text| places(text));
                    let kind = rest.chars().next().unwrap_or('f');
                    messages.open.push(((kind, (number(1), number(2))), number(3) as usize, at));
                }
                Some(b'e') => break RunEnd::Ended(values, messages),
                _ => match Self::end(text) {
                    RunEnd::Failed(at, what, _) => break RunEnd::Failed(at, what, values),
                    RunEnd::Misuse(at, what, _) => break RunEnd::Misuse(at, what, values),
                    end => break end,
                },
            }
        };
        if matches!(end, RunEnd::Asks(_)) {
            self.live = Some((thread, tape.to_vec()));
        }
        Ok((CallBatch { calls, end, warnings, unseen, blocks, receives, looks, before, trail }, accesses))
    }

    pub(crate) fn end(text: &str) -> RunEnd {
        let (at, what) = said(text.get(2..).unwrap_or_default());
        match text.as_bytes().first() {
            Some(b'f') => RunEnd::Failed(at, what, Vec::new()),
            Some(b'm') => RunEnd::Misuse(at, what, Vec::new()),
            Some(b'd') => RunEnd::Discarded,
            Some(b'z') => RunEnd::NeedsMain,
            Some(b'l') => RunEnd::Waits(at),
            Some(b'n') => {
                let number = |at: usize| what.split(' ').nth(at).and_then(|word| word.parse().ok()).unwrap_or(0);
                let need = match number(2) {
                    2 => Need::Block,
                    3 => Need::Wraps,
                    _ => Need::Word,
                };
                RunEnd::Needs(number(0), number(1), need)
            }
            _ => RunEnd::Unsupported(at, what),
        }
    }
}

fn outcome(rest: &str) -> Option<(String, i64)> {
    let (name, value) = rest.rsplit_once(' ')?;
    Some((name.to_owned(), value.parse().ok()?))
}

/// Returns an address and a size.
fn range(rest: &str) -> Option<(u64, u64)> {
    let (at, size) = split(rest)?;
    at.parse().ok().zip(size.parse().ok())
}

fn access(thread: usize, rest: &str) -> MemoryAccess {
    let all: Vec<&str> = rest.split(' ').collect();
    let number = |at: usize| all.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    let places = all.get(4).map_or_else(Vec::new, |text| places(text));
    let (writes, in_other_frame, scalar) = (number(2) & 1 == 1, number(2) & 2 == 2, number(3) == 1);
    MemoryAccess { thread, at: number(0), size: number(1), writes, scalar, in_other_frame, open: number(5), places }
}

/// The error of a `main` that neither starts threads nor ends.
pub(crate) fn late_set_up() -> Error {
    Error::Late("the time was over while `main` set up; it may wait for another program: see --node".to_owned())
}

fn gone() -> Error {
    Error::Program("the program has ended although it had not been asked to".to_owned())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::compile::Toolchain;

    /// A thread that waits for a result may wait for long, because the machine explores other states.
    #[test]
    #[ignore = "takes eleven seconds, and needs cc and libibverbs"]
    fn a_run_waits_for_its_result_without_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("p.c"), folder.path().join("p"));
        let text = "#include <mowgli.h>\nstatic int n;\nstatic void *one(void *p) { n = n + 1; return p; }\n\
             int main(void) { mowgli_node(1, one, 0); mowgli_node(1, one, 0); mowgli_join(); }\n";
        std::fs::write(&source, text).unwrap();
        let toolchain = Toolchain::new(OsStr::new("cc"), OsStr::new("c++")).unwrap();
        toolchain.compile(&[source], &program, &[]).unwrap();
        let mut process = Process::spawn(&ProgramCommand { program, args: Vec::new() }, false, None, false).unwrap();
        process.made().unwrap().unwrap();
        let (_, accesses) = process.run(0, (1, 1), &[]).unwrap();
        process.set_cells(&[(accesses[0].at, 4)]).unwrap();
        assert!(matches!(process.run(0, (1, 1), &[]).unwrap().0.end, RunEnd::Asks(_)));
        std::thread::sleep(Duration::from_millis(10_500));
        assert!(matches!(process.run(0, (1, 1), &[7]).unwrap().0.end, RunEnd::Ended(..)));
        assert!(matches!(process.run(1, (1, 2), &[]).unwrap().0.end, RunEnd::Asks(_)));
    }
}
