//! The book of a shard: a file of lines. The first says of which run it is; each other one what was found of one client,
//! test or program; the last that nothing is left. A line that was cut off in the middle is as if it had not been written.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use itertools::Itertools;
use mowgli_core::search::solver::Stats;
use mowgli_core::soundness::ledger::{Ledger, Line, Piece, Work};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::identity::Identity;

/// The first line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    /// The number of the shard, from 1.
    shard: usize,
    /// How many there are.
    of: usize,
    /// The run.
    run: Identity,
}

/// What was found of one thing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// Of a client of a check.
    Client(Box<Line>),
    /// Of something that is known by its number.
    Unit {
        /// The number.
        number: usize,
        /// What was found, as the command has it.
        value: serde_json::Value,
    },
}

impl Found {
    /// Of what it is.
    fn key(&self) -> Key {
        match self {
            Self::Client(line) => Key::Work(line.work),
            Self::Unit { number, .. } => Key::Unit(*number),
        }
    }

    /// Counts of a search that no search has are those of a damaged file.
    fn is_sane(&self) -> bool {
        let Self::Client(line) = self else { return true };
        let Stats { skeletons, states, nodes, leaves, classes } = line.stats;
        [skeletons, states, nodes, leaves, classes, line.outcomes].iter().all(|&n| n < 1 << 40)
    }
}

/// Of what something was found, in its part of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    Work(Work),
    Unit(usize),
}

/// A line after the first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Record {
    Found {
        /// The part of the run, as the check of a variant within a bound.
        part: String,
        /// How long it took since the line before.
        seconds: f64,
        found: Found,
    },
    /// Nothing is left.
    End,
}

/// A file as it is.
struct Read {
    head: Head,
    records: Vec<Record>,
    /// How many of its bytes are whole lines.
    whole: usize,
}

/// Reads a book; `None` if its first line is not whole.
fn read(path: &Path) -> Result<Option<Read>, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
    let damaged = |number: usize, why: &dyn std::fmt::Display| {
        format!(
            "{}:{number}: this is no line of a shard ({why}); delete the file, and run the shard again",
            path.display()
        )
    };
    let text = str::from_utf8(&bytes[..whole]).map_err(|e| damaged(1, &e))?;
    let mut lines = (1..).zip(text.lines());
    let Some((_, first)) = lines.next() else { return Ok(None) };
    let head: Head = serde_json::from_str(first).map_err(|e| damaged(1, &e))?;
    if Piece::new(head.shard, head.of).is_none() {
        return Err(damaged(1, &format!("there is no shard {} of {}", head.shard, head.of)));
    }
    let record = |(number, line): (usize, &str)| match serde_json::from_str(line) {
        Ok(Record::Found { seconds, found, .. }) if !(found.is_sane() && (0.0..1e9).contains(&seconds)) => {
            Err(damaged(number, &"its numbers are out of range"))
        }
        Ok(record) => Ok(record),
        Err(e) => Err(damaged(number, &e)),
    };
    let records: Vec<Record> = lines.map(record).collect::<Result<_, _>>()?;
    Ok(Some(Read { head, records, whole }))
}

/// What is known of the parts of a run.
#[derive(Default)]
struct Known {
    found: BTreeMap<String, BTreeMap<Key, Found>>,
    seconds: BTreeMap<String, f64>,
    is_over: bool,
}

impl Known {
    fn add(&mut self, record: Record) {
        match record {
            Record::End => self.is_over = true,
            Record::Found { part, seconds, found } => {
                *self.seconds.entry(part.clone()).or_default() += seconds;
                self.found.entry(part).or_default().insert(found.key(), found);
            }
        }
    }
}

/// Where the lines of a shard go.
struct Pen {
    path: PathBuf,
    file: File,
    /// When the last line was written.
    last: Instant,
    /// What kept a line from being written.
    failure: Option<String>,
}

impl Pen {
    fn write(&mut self, line: &impl Serialize) {
        let text = serde_json::to_string(line).expect("strings and numbers") + "\n";
        // One write: whoever kills the process cuts off one line at most.
        if let Err(e) = self.file.write_all(text.as_bytes()) {
            self.failure.get_or_insert_with(|| format!("{}: {e}", self.path.display()));
        }
    }
}

/// What is known of a run: the book of one shard, which grows, or those of all.
pub struct Book {
    piece: Option<Piece>,
    known: Mutex<Known>,
    pen: Option<Mutex<Pen>>,
}

/// Nobody panics who holds a lock of a book, and if somebody did, what is in it would still be right.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Book {
    /// The book of a shard of a run: a new file, or one that goes on.
    ///
    /// # Errors
    /// If the file cannot be written, is damaged, or of another shard.
    pub fn open(path: &Path, run: &Identity, piece: Piece) -> Result<Self, String> {
        let at = |e: std::io::Error| format!("{}: {e}", path.display());
        let head = Head { shard: piece.number(), of: piece.of(), run: run.clone() };
        let before = if path.exists() { read(path)? } else { None };
        if let Some(Read { head: of_file, .. }) = before.as_ref().filter(|before| before.head != head) {
            let why =
                run.difference(&of_file.run).unwrap_or_else(|| format!("is shard {}/{}", of_file.shard, of_file.of));
            return Err(format!("{}: the file {why}; give another one with --out, or delete it", path.display()));
        }
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(at)?;
        file.set_len(before.as_ref().map_or(0, |before| before.whole as u64)).map_err(at)?;
        let mut pen = Pen { path: path.to_owned(), file, last: Instant::now(), failure: None };
        if before.is_none() {
            pen.write(&head);
        }
        let mut known = Known::default();
        before.into_iter().flat_map(|before| before.records).for_each(|record| known.add(record));
        Ok(Self { piece: Some(piece), known: Mutex::new(known), pen: Some(Mutex::new(pen)) })
    }

    /// Which share it is; none if it is all of them.
    #[must_use]
    pub fn piece(&self) -> Option<Piece> {
        self.piece
    }

    /// A part of the run; time is counted from now.
    #[must_use]
    pub fn part(&self, name: String) -> Part<'_> {
        if let Some(pen) = &self.pen {
            held(pen).last = Instant::now();
        }
        Part { book: self, name }
    }

    /// How many lines there are.
    #[must_use]
    pub fn lines(&self) -> usize {
        held(&self.known).found.values().map(BTreeMap::len).sum()
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_over(&self) -> bool {
        held(&self.known).is_over
    }

    /// What kept lines from being written, if anything did.
    ///
    /// # Errors
    /// That.
    pub fn failure(&self) -> Result<(), String> {
        self.pen.as_ref().and_then(|pen| held(pen).failure.clone()).map_or(Ok(()), Err)
    }

    /// Says that nothing is left.
    ///
    /// # Errors
    /// What kept lines from being written.
    pub fn end(&self) -> Result<(), String> {
        let Some(pen) = &self.pen else { return Ok(()) };
        let mut pen = held(pen);
        let mut known = held(&self.known);
        if pen.failure.is_none() && !known.is_over {
            known.is_over = true;
            pen.write(&Record::End);
        }
        drop((known, pen));
        self.failure()
    }
}

/// A part of a run, as the check of one variant within one bound.
pub struct Part<'a> {
    book: &'a Book,
    name: String,
}

impl Part<'_> {
    /// How long all processes took for it.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        held(&self.book.known).seconds.get(&self.name).copied().unwrap_or_default()
    }

    /// The share of the work that is done here; all if there is none.
    #[must_use]
    pub fn piece(&self) -> Option<Piece> {
        self.book.piece
    }

    /// What was found of the work with this number, or what is found now, if it is of the share that is looked at; what is found
    /// when the time is up is not kept. `None` if another process has it.
    pub fn unit<T: Serialize + DeserializeOwned>(
        &self,
        number: usize,
        expired: &dyn Fn() -> bool,
        find: impl FnOnce() -> T,
    ) -> Option<T> {
        if self.book.piece.is_some_and(|piece| !piece.has(number)) {
            return None;
        }
        if let Some(Found::Unit { value, .. }) = self.known(Key::Unit(number))
            && let Ok(known) = serde_json::from_value(value)
        {
            return Some(known);
        }
        let found = find();
        if !expired() {
            let value = serde_json::to_value(&found).expect("strings and numbers");
            self.add(Found::Unit { number, value });
        }
        Some(found)
    }

    fn known(&self, key: Key) -> Option<Found> {
        held(&self.book.known).found.get(&self.name)?.get(&key).cloned()
    }

    fn add(&self, found: Found) {
        let Some(pen) = &self.book.pen else { return };
        // A client that fails is looked at again by a shard that goes on.
        if self.known(found.key()).is_some() {
            return;
        }
        let mut pen = held(pen);
        let seconds = pen.last.elapsed().as_secs_f64();
        pen.last = Instant::now();
        let record = Record::Found { part: self.name.clone(), seconds, found };
        pen.write(&record);
        held(&self.book.known).add(record);
    }
}

impl Ledger for Part<'_> {
    fn piece(&self) -> Option<Piece> {
        self.book.piece
    }

    fn line(&self, work: Work) -> Option<Line> {
        match self.known(Key::Work(work))? {
            Found::Client(line) => Some(*line),
            Found::Unit { .. } => None,
        }
    }

    fn keep(&self, line: Line) {
        self.add(Found::Client(Box::new(line)));
    }
}

/// The books of a run, as far as they are there.
pub struct Merged {
    /// The run.
    pub run: Identity,
    /// What all of them know.
    pub book: Book,
    /// How many shards there are.
    pub of: usize,
    /// Those that are not there, and those that are not at their end, each with its lines.
    pub missing: Vec<(usize, Option<usize>)>,
}

/// Reads the books of one run; `None` if nothing is in any of them.
///
/// # Errors
/// If a file cannot be read, is damaged, or of another run than the first.
pub fn merged(paths: &[PathBuf]) -> Result<Option<Merged>, String> {
    let mut all: Vec<(&Path, Read)> = Vec::new();
    for path in paths.iter().filter(|path| path.exists()) {
        all.extend(read(path)?.map(|read| (path.as_path(), read)));
    }
    let Some((first, Read { head: Head { of, run, .. }, .. })) = all.first() else { return Ok(None) };
    let (first, of, run) = (*first, *of, run.clone());
    let mut seen: BTreeMap<usize, &Path> = BTreeMap::new();
    for (path, Read { head, .. }) in &all {
        let other = run
            .difference(&head.run)
            .or_else(|| (head.of != of).then(|| format!("is one of {} shards, not {of}", head.of)));
        if let Some(why) = other {
            let first = first.display();
            return Err(format!("{}: the file {why}, unlike {first}; merge shards of one run only", path.display()));
        }
        if let Some(twin) = seen.insert(head.shard, path) {
            return Err(format!(
                "{} and {}: both are shard {}; leave one out",
                twin.display(),
                path.display(),
                head.shard
            ));
        }
    }
    let mut known = Known::default();
    let mut lines: BTreeMap<usize, (bool, usize)> = BTreeMap::new();
    for (_, Read { head, records, .. }) in all {
        lines.insert(head.shard, (records.contains(&Record::End), records.len()));
        records.into_iter().for_each(|record| known.add(record));
    }
    let missing = (1..=of).filter_map(|shard| match lines.get(&shard) {
        Some((true, _)) => None,
        Some((false, lines)) => Some((shard, Some(*lines))),
        None => Some((shard, None)),
    });
    let missing = missing.collect();
    Ok(Some(Merged { run, book: Book { piece: None, known: Mutex::new(known), pen: None }, of, missing }))
}

impl Merged {
    /// What is missing, in words; `None` if nothing is.
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
