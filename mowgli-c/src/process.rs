//! The program as a process that runs its threads again and again: see `runtime/hooks.c`.
//!
//! The two sides write lines to each other. An answer ends with a line that is a dot.

use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
    pub(crate) places: CallStack,
}

/// A call of the program, as the runtime reports it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The name of the thread's state before the call.
    pub(crate) state: u128,
    pub(crate) places: CallStack,
    pub(crate) text: String,
}

/// The way in which a run stops.
#[derive(Clone, Debug)]
pub(crate) enum RunEnd {
    /// It needs the result of a call.
    Asks(Line),
    /// The thread has ended, with these outcomes.
    Ended(Vec<(String, i64)>),
    /// An assertion failed, or the program crashed.
    Failed(CallStack, String),
    /// A wrong use of verbs.
    Misuse(CallStack, String),
    /// Something that is not supported, or a limit.
    Unsupported(CallStack, String),
    /// An assumption is false.
    Discarded,
    /// The runtime needs a cell at this address and of this size.
    Needs(u64, u64),
}

/// The calls of a thread behind its last known result.
#[derive(Clone, Debug)]
pub(crate) struct CallBatch {
    pub(crate) calls: Vec<Line>,
    pub(crate) end: RunEnd,
    pub(crate) warnings: Vec<(CallStack, String)>,
    /// A hash of the calls up to the last known result, if the thread was run from its beginning.
    pub(crate) before: Option<String>,
    /// A hash of the calls up to the end of the batch, if a result is missing there.
    pub(crate) trail: String,
}

/// The threads, regions and queue pairs that `main` has made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    /// The node of each thread, and the address of its function.
    pub(crate) threads: Vec<(u8, u64)>,
    /// Registered memory: node, address, length.
    pub(crate) regions: Vec<(u8, u64, u64)>,
    /// The node of each queue pair, and that of the other side, 0 if it is not connected.
    pub(crate) pairs: Vec<(u8, u8)>,
    /// The number of the queue pair at the other side of each, 0 if it is not connected.
    pub(crate) peers: Vec<u32>,
}

pub(crate) struct Process {
    child: Child,
    stream: BufReader<UnixStream>,
    /// The thread that waits for a result, and the results that it has.
    live: Option<(usize, Vec<i64>)>,
    /// The number of runs that were started.
    pub(crate) forks: usize,
    _folder: TempDir,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.say("k");
        let _ = self.say("q");
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

fn line(rest: &str) -> Option<Line> {
    let (state, rest) = split(rest)?;
    let (at, text) = split(rest)?;
    Some(Line { state: u128::from_str_radix(state, 16).ok()?, places: places(at), text: text.to_owned() })
}

fn said(rest: &str) -> (CallStack, String) {
    let (at, text) = split(rest).unwrap_or_default();
    (places(at), text.to_owned())
}

impl Process {
    /// Starts a program, and waits until its `main` waits for its threads.
    pub(crate) fn start(program: &Path, args: &[String], shows: bool) -> Result<(Self, Result<Setup, RunEnd>), Error> {
        let folder = tempfile::tempdir().map_err(|e| Error::file(&std::env::temp_dir(), &e))?;
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).map_err(|e| Error::file(&path, &e))?;
        listener.set_nonblocking(true).map_err(|e| Error::file(&path, &e))?;
        let output = || if shows { Stdio::inherit() } else { Stdio::null() };
        let program = if program.components().count() == 1 { Path::new(".").join(program) } else { program.to_owned() };
        let mut child = Command::new(&program)
            .args(args)
            .env("MOWGLI_SOCKET", &path)
            .env_remove("MOWGLI_AGAIN")
            .stdin(Stdio::null())
            .stdout(output())
            .spawn()
            .map_err(|e| Error::file(&program, &e))?;
        let begin = Instant::now();
        let stream = loop {
            if let Ok((stream, _)) = listener.accept() {
                break stream;
            }
            let has_ended = child.try_wait().is_ok_and(|status| status.is_some());
            if has_ended || begin.elapsed() > Duration::from_secs(10) {
                let _ = child.kill();
                let _ = child.wait();
                let why = "it is no program that `mowgli cc` has made: compile it with `mowgli cc -o PROGRAM FILES`";
                return Err(Error::Program(format!("{}: {why}", program.display())));
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        stream.set_nonblocking(false).map_err(|e| Error::file(&path, &e))?;
        let mut process = Self { child, stream: BufReader::new(stream), live: None, forks: 0, _folder: folder };
        let lines = process.answer()?;
        let mut made = Setup::default();
        for text in &lines {
            let mut words = text.split(' ');
            let kind = words.next().unwrap_or_default();
            let all: Vec<&str> = words.collect();
            let number = |at: usize| all.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
            match kind {
                "thread" => made.threads.push((number(0) as u8, places(all[1]).first().copied().unwrap_or(0))),
                "region" => made.regions.push((number(0) as u8, number(1), number(2))),
                "pair" => {
                    made.pairs.push((number(0) as u8, number(1) as u8));
                    made.peers.push(number(2) as u32);
                }
                "m" | "x" => return Ok((process, Err(Self::end(text)))),
                _ => {}
            }
        }
        Ok((process, Ok(made)))
    }

    fn say(&mut self, text: &str) -> Result<(), Error> {
        let stream = self.stream.get_mut();
        stream.write_all(format!("{text}\n").as_bytes()).map_err(|_| gone())
    }

    fn answer(&mut self) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        loop {
            let mut text = String::new();
            match self.stream.read_line(&mut text) {
                Ok(n) if n > 0 => {}
                _ => return Err(gone()),
            }
            match text.trim_end_matches('\n') {
                "." => return Ok(lines),
                line => lines.push(line.to_owned()),
            }
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

    /// Returns the values that these cells have when `main` is done.
    pub(crate) fn values(&mut self, cells: &[(u64, u64)]) -> Result<Vec<i64>, Error> {
        self.forget()?;
        let all: String = cells.iter().map(|(at, size)| format!(" {at} {size}")).collect();
        self.say(&format!("i {}{all}", cells.len()))?;
        Ok(self.answer()?.iter().map(|v| v.parse().unwrap_or(0)).collect())
    }

    /// Runs a thread with these results of its calls.
    pub(crate) fn run(&mut self, thread: usize, tape: &[i64]) -> Result<(CallBatch, Vec<MemoryAccess>), Error> {
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
            self.say(&format!("g {thread} {}{all}", tape.len()))?;
        }
        self.live = None;
        let lines = self.answer()?;
        let (mut calls, mut accesses, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let (mut before, mut trail) = (None, String::new());
        let mut lines = lines.iter();
        let end = loop {
            let text = lines.next().ok_or_else(gone)?;
            let rest = text.get(2..).unwrap_or_default();
            match text.as_bytes().first() {
                Some(b'a') => accesses.push(access(thread, rest)),
                Some(b'c') => calls.push(line(rest).ok_or_else(gone)?),
                Some(b'w') => warnings.push(said(rest)),
                Some(b't') => before = Some(said(rest).1),
                Some(b'q') => {
                    trail = lines.next().map(|text| said(text.get(2..).unwrap_or_default()).1).unwrap_or_default();
                    break RunEnd::Asks(line(rest).ok_or_else(gone)?);
                }
                Some(b'e') => {
                    let outcome = |text: &String| {
                        let (name, value) = text.get(2..)?.rsplit_once(' ')?;
                        Some((name.to_owned(), value.parse().ok()?))
                    };
                    break RunEnd::Ended(lines.filter_map(outcome).collect());
                }
                _ => break Self::end(text),
            }
        };
        if matches!(end, RunEnd::Asks(_)) {
            self.live = Some((thread, tape.to_vec()));
        }
        Ok((CallBatch { calls, end, warnings, before, trail }, accesses))
    }

    fn end(text: &str) -> RunEnd {
        let (at, what) = said(text.get(2..).unwrap_or_default());
        match text.as_bytes().first() {
            Some(b'f') => RunEnd::Failed(at, what),
            Some(b'm') => RunEnd::Misuse(at, what),
            Some(b'd') => RunEnd::Discarded,
            Some(b'n') => {
                let number = |at: usize| what.split(' ').nth(at).and_then(|word| word.parse().ok()).unwrap_or(0);
                RunEnd::Needs(number(0), number(1))
            }
            _ => RunEnd::Unsupported(at, what),
        }
    }
}

fn access(thread: usize, rest: &str) -> MemoryAccess {
    let all: Vec<&str> = rest.split(' ').collect();
    let number = |at: usize| all.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    let places = all.get(4).map_or_else(Vec::new, |text| places(text));
    MemoryAccess { thread, at: number(0), size: number(1), writes: number(2) == 1, scalar: number(3) == 1, places }
}

fn gone() -> Error {
    Error::Program("the program has ended although it had not been asked to".to_owned())
}
