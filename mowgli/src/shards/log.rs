//! The log of a shard: a file of lines. The first line identifies the run. Each further line holds the result of one
//! client, test or program; the last line says that the shard is complete. A line that was cut off in the middle counts
//! as not written, so that a killed shard can continue.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use itertools::Itertools;
use mowgli_core::search::solver::Stats;
use mowgli_core::soundness::client_log::{ClientLine, ClientLog, Shard, Work};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::identity::Identity;

use crate::error::{Code, InputError, Place};
use crate::interrupt::Deadline;

/// The first line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogHead {
    /// The number of the shard, from 1.
    shard: usize,
    /// The number of shards.
    of: usize,
    /// The run.
    run: Identity,
}

/// The result of one unit of work.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitResult {
    /// The result of a client of a check.
    Client(Box<ClientLine>),
    /// The result of a unit of work that is known by its number.
    Unit {
        /// The number.
        number: usize,
        /// The result, in the form of the command.
        value: serde_json::Value,
    },
}

impl UnitResult {
    /// Returns the key of the unit of work.
    fn key(&self) -> UnitKey {
        match self {
            Self::Client(line) => UnitKey::Work(line.work),
            Self::Unit { number, .. } => UnitKey::Unit(*number),
        }
    }

    /// False if a count is larger than that of any search, because the file is then damaged.
    fn is_sane(&self) -> bool {
        let Self::Client(line) = self else { return true };
        let Stats { skeletons, states, nodes, leaves, classes } = line.stats;
        [skeletons, states, nodes, leaves, classes, line.outcomes].iter().all(|&n| n < 1 << 40)
    }
}

/// The key of a unit of work in its part of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum UnitKey {
    Work(Work),
    Unit(usize),
}

/// A line after the first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum LogLine {
    Found {
        /// The part of the run, for example the check of a variant within a bound.
        part: String,
        /// The seconds since the line before.
        seconds: f64,
        found: UnitResult,
    },
    /// The shard is complete.
    End,
}

/// The content of a file.
struct LogContent {
    head: LogHead,
    records: Vec<LogLine>,
    /// The number of its bytes that are whole lines.
    whole: usize,
}

/// Reads a log; `None` if its first line is not whole.
fn read(path: &Path) -> Result<Option<LogContent>, InputError> {
    let bytes = std::fs::read(path).map_err(|e| InputError::file(path, e))?;
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
    let damaged = |number: usize, why: &dyn std::fmt::Display| {
        InputError::new(Code::Syntax, format!("this is no line of a shard ({why})"))
            .help("delete the file, and run the shard again")
            .at(Place::in_source(&path.display().to_string(), number, 1))
    };
    let text = str::from_utf8(&bytes[..whole]).map_err(|e| damaged(1, &e))?;
    let mut lines = (1..).zip(text.lines());
    let Some((_, first)) = lines.next() else { return Ok(None) };
    let head: LogHead = serde_json::from_str(first).map_err(|e| damaged(1, &e))?;
    if Shard::new(head.shard, head.of).is_none() {
        return Err(damaged(1, &format!("there is no shard {} of {}", head.shard, head.of)));
    }
    let record = |(number, line): (usize, &str)| match serde_json::from_str(line) {
        Ok(LogLine::Found { seconds, found, .. }) if !(found.is_sane() && (0.0..1e9).contains(&seconds)) => {
            Err(damaged(number, &"its numbers are out of range"))
        }
        Ok(record) => Ok(record),
        Err(e) => Err(damaged(number, &e)),
    };
    let records: Vec<LogLine> = lines.map(record).collect::<Result<_, _>>()?;
    Ok(Some(LogContent { head, records, whole }))
}

/// The known results of the parts of a run.
#[derive(Default)]
struct KnownResults {
    found: BTreeMap<String, BTreeMap<UnitKey, UnitResult>>,
    seconds: BTreeMap<String, f64>,
    is_over: bool,
}

impl KnownResults {
    fn add(&mut self, record: LogLine) {
        match record {
            LogLine::End => self.is_over = true,
            LogLine::Found { part, seconds, found } => {
                *self.seconds.entry(part.clone()).or_default() += seconds;
                self.found.entry(part).or_default().insert(found.key(), found);
            }
        }
    }
}

/// The writer of a shard's lines.
struct Pen {
    path: PathBuf,
    file: File,
    /// The time of the last line.
    last: Instant,
    /// The first error of writing a line, if any.
    failure: Option<InputError>,
}

impl Pen {
    fn write(&mut self, line: &impl Serialize) {
        let text = serde_json::to_string(line).expect("strings and numbers") + "\n";
        // The line is one write, so that killing the process cuts off one line at most.
        if let Err(e) = self.file.write_all(text.as_bytes()) {
            self.failure.get_or_insert_with(|| InputError::file(&self.path, e));
        }
    }
}

/// The known results of a run: the log of one shard, which grows, or the logs of all.
pub struct ShardLog {
    shard: Option<Shard>,
    known: Mutex<KnownResults>,
    pen: Option<Mutex<Pen>>,
}

/// Locks a part of a log. A poisoned lock is used too, because its content would still be right.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl ShardLog {
    /// Opens the log of a shard of a run: a new file, or one to continue.
    ///
    /// # Errors
    /// If the file cannot be written, is damaged, or of another shard.
    pub fn open(path: &Path, run: &Identity, shard: Shard) -> Result<Self, InputError> {
        let at = |e: std::io::Error| InputError::file(path, e);
        let head = LogHead { shard: shard.number(), of: shard.of(), run: run.clone() };
        let before = if path.exists() { read(path)? } else { None };
        if let Some(LogContent { head: of_file, .. }) = before.as_ref().filter(|before| before.head != head) {
            let why =
                run.difference(&of_file.run).unwrap_or_else(|| format!("is shard {}/{}", of_file.shard, of_file.of));
            let error = InputError::new(Code::File, format!("{}: the file {why}", path.display()));
            return Err(error.help("give another one with --out, or delete it"));
        }
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(at)?;
        file.set_len(before.as_ref().map_or(0, |before| before.whole as u64)).map_err(at)?;
        let mut pen = Pen { path: path.to_owned(), file, last: Instant::now(), failure: None };
        if before.is_none() {
            pen.write(&head);
        }
        let mut known = KnownResults::default();
        before.into_iter().flat_map(|before| before.records).for_each(|record| known.add(record));
        Ok(Self { shard: Some(shard), known: Mutex::new(known), pen: Some(Mutex::new(pen)) })
    }

    /// Returns the share of this log; `None` if it is all of them.
    #[must_use]
    pub fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// Returns a part of the run; its time is counted from now.
    #[must_use]
    pub fn part(&self, name: String) -> RunPart<'_> {
        if let Some(pen) = &self.pen {
            held(pen).last = Instant::now();
        }
        RunPart { log: self, name }
    }

    /// Counts the lines with results.
    #[must_use]
    pub fn lines(&self) -> usize {
        held(&self.known).found.values().map(BTreeMap::len).sum()
    }

    /// True if the shard is complete.
    #[must_use]
    pub fn is_over(&self) -> bool {
        held(&self.known).is_over
    }

    /// Returns the error that kept lines from being written, if any.
    ///
    /// # Errors
    /// The error of writing.
    pub fn failure(&self) -> Result<(), InputError> {
        self.pen.as_ref().and_then(|pen| held(pen).failure.clone()).map_or(Ok(()), Err)
    }

    /// Writes that the shard is complete.
    ///
    /// # Errors
    /// The error that kept lines from being written.
    pub fn end(&self) -> Result<(), InputError> {
        let Some(pen) = &self.pen else { return Ok(()) };
        let mut pen = held(pen);
        let mut known = held(&self.known);
        if pen.failure.is_none() && !known.is_over {
            known.is_over = true;
            pen.write(&LogLine::End);
        }
        drop((known, pen));
        self.failure()
    }
}

/// A deadline, and the results of other processes.
pub(crate) type ShardContext<'a> = (&'a Deadline, Option<&'a ShardLog>);

/// True if this process does one share of several.
pub(crate) fn is_shard(log: Option<&ShardLog>) -> bool {
    log.is_some_and(|log| log.shard().is_some())
}

/// A part of a run, for example the check of one variant within one bound.
pub struct RunPart<'a> {
    log: &'a ShardLog,
    name: String,
}

impl RunPart<'_> {
    /// Returns the seconds that all processes took for this part.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        held(&self.log.known).seconds.get(&self.name).copied().unwrap_or_default()
    }

    /// Returns the share of the work that this process does; `None` if it does all.
    #[must_use]
    pub fn shard(&self) -> Option<Shard> {
        self.log.shard
    }

    /// Returns the stored result of the unit with this number, or computes it with `find`. `None` if another shard has
    /// the unit. A result that was computed when the time was up is not stored, because it may be incomplete.
    pub fn unit<T: Serialize + DeserializeOwned>(
        &self,
        number: usize,
        expired: &dyn Fn() -> bool,
        find: impl FnOnce() -> T,
    ) -> Option<T> {
        if self.log.shard.is_some_and(|shard| !shard.has(number)) {
            return None;
        }
        if let Some(UnitResult::Unit { value, .. }) = self.known(UnitKey::Unit(number))
            && let Ok(known) = serde_json::from_value(value)
        {
            return Some(known);
        }
        let found = find();
        if !expired() {
            let value = serde_json::to_value(&found).expect("strings and numbers");
            self.add(UnitResult::Unit { number, value });
        }
        Some(found)
    }

    fn known(&self, key: UnitKey) -> Option<UnitResult> {
        held(&self.log.known).found.get(&self.name)?.get(&key).cloned()
    }

    fn add(&self, found: UnitResult) {
        let Some(pen) = &self.log.pen else { return };
        // A shard that continues checks failing clients again, and their lines are in the log already.
        if self.known(found.key()).is_some() {
            return;
        }
        let mut pen = held(pen);
        let seconds = pen.last.elapsed().as_secs_f64();
        pen.last = Instant::now();
        let record = LogLine::Found { part: self.name.clone(), seconds, found };
        pen.write(&record);
        held(&self.log.known).add(record);
    }
}

impl ClientLog for RunPart<'_> {
    fn shard(&self) -> Option<Shard> {
        self.log.shard
    }

    fn line(&self, work: Work) -> Option<ClientLine> {
        match self.known(UnitKey::Work(work))? {
            UnitResult::Client(line) => Some(*line),
            UnitResult::Unit { .. } => None,
        }
    }

    fn keep(&self, line: ClientLine) {
        self.add(UnitResult::Client(Box::new(line)));
    }
}

/// The merged logs of a run.
pub struct Merged {
    /// The run.
    pub run: Identity,
    /// The results of all of them.
    pub log: ShardLog,
    /// The number of shards.
    pub of: usize,
    /// The shards without a log, and those that are not complete, with the number of their lines.
    pub missing: Vec<(usize, Option<usize>)>,
}

/// Returns the files that paths stand for: themselves, or the shards in a folder.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, InputError> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).map_err(|e| InputError::file(path, e))?;
        let mut files: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
        files.retain(|file| file.extension().is_some_and(|x| x == "shard"));
        files.sort();
        all.extend(files);
    }
    Ok(all)
}

/// Reads the logs of one run: files, or folders of them; `None` if none of them has a line.
///
/// # Errors
/// If there is no such file, or one cannot be read, is damaged, or of another run than the first.
pub fn merged(paths: &[PathBuf]) -> Result<Option<Merged>, InputError> {
    if !paths.iter().any(|path| path.exists()) {
        let names = paths.iter().map(|path| path.display()).join(", ");
        return Err(InputError::new(Code::Argument, format!("{names}: there is no such file"))
            .help("name what `--out` named, or the folder that it is in"));
    }
    merged_files(&files(paths)?)
}

fn merged_files(paths: &[PathBuf]) -> Result<Option<Merged>, InputError> {
    let mut all: Vec<(&Path, LogContent)> = Vec::new();
    for path in paths.iter().filter(|path| path.exists()) {
        all.extend(read(path)?.map(|read| (path.as_path(), read)));
    }
    let Some((first, LogContent { head: LogHead { of, run, .. }, .. })) = all.first() else { return Ok(None) };
    let (first, of, run) = (*first, *of, run.clone());
    let mut seen: BTreeMap<usize, &Path> = BTreeMap::new();
    for (path, LogContent { head, .. }) in &all {
        let other = run
            .difference(&head.run)
            .or_else(|| (head.of != of).then(|| format!("is one of {} shards, not {of}", head.of)));
        if let Some(why) = other {
            let first = first.display();
            return Err(InputError::new(Code::File, format!("{}: the file {why}, unlike {first}", path.display()))
                .help("merge shards of one run only"));
        }
        if let Some(twin) = seen.insert(head.shard, path) {
            return Err(InputError::new(
                Code::File,
                format!("{} and {}: both are shard {}", twin.display(), path.display(), head.shard),
            )
            .help("leave one out"));
        }
    }
    let mut known = KnownResults::default();
    let mut lines: BTreeMap<usize, (bool, usize)> = BTreeMap::new();
    for (_, LogContent { head, records, .. }) in all {
        lines.insert(head.shard, (records.contains(&LogLine::End), records.len()));
        records.into_iter().for_each(|record| known.add(record));
    }
    let missing = (1..=of).filter_map(|shard| match lines.get(&shard) {
        Some((true, _)) => None,
        Some((false, lines)) => Some((shard, Some(*lines))),
        None => Some((shard, None)),
    });
    let missing = missing.collect();
    Ok(Some(Merged { run, log: ShardLog { shard: None, known: Mutex::new(known), pen: None }, of, missing }))
}

impl Merged {
    /// Describes the missing shards; `None` if all are complete.
    #[must_use]
    pub fn lack(&self) -> Option<String> {
        let one = |(shard, lines): &(usize, Option<usize>)| match lines {
            None => format!("{shard}/{} (not there)", self.of),
            Some(lines) => format!("{shard}/{} (not at its end, {lines} lines)", self.of),
        };
        let all = self.missing.iter().map(one).join(", ");
        (!self.missing.is_empty())
            .then(|| format!("undecided: {} of {} shards are missing: {all}", self.missing.len(), self.of))
    }
}
