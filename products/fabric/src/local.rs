//! A fabric of plain shared memory, of one process or of those of one machine. It performs each operation at once. It needs
//! no hardware and is fast, but it shows no weak behaviour except that of the CPU's store buffers.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use mowgli_core::ids::Tid;

use crate::company::Company;
use crate::emitted::mowgli_port::{self, Id, List, Word};
use crate::left;
use crate::made::MadeObjects;
use crate::mapped::{MappedWords, SharedFile};
use crate::memory::{LINE, LOADS, MemoryWord, STORES, are_in_a_row, fence};
use crate::port::{Fault, Port, RemoteFabric};

/// Memory words. A put is a store, so it may wait in a store buffer as those of the CPU may. A get first waits until earlier
/// stores are in memory, because it does not pass a put.
pub(crate) struct LocalMemory<'a> {
    words: Storage,
    /// The place of each word. Those of a node lie together, because other nodes write them.
    places: Vec<usize>,
    /// The processes that share the words, if there are several.
    company: Option<&'a Company>,
    /// The number of iterations of a loop that waits between two yields of the processor.
    spins: u32,
}

enum Storage {
    Own(Vec<AtomicI64>),
    Mapped(MappedWords),
}

impl Storage {
    fn words(&self) -> &[AtomicI64] {
        match self {
            Self::Own(words) => words,
            Self::Mapped(mapped) => mapped.words(),
        }
    }
}

/// Returns the place of each word, and the number of places. Words of two nodes are in different lines.
fn placed(memory: &[MemoryWord]) -> (Vec<usize>, usize) {
    let nodes = memory.iter().map(|word| word.node).max().unwrap_or(0);
    let (mut places, mut next) = (vec![0; memory.len()], 0_usize);
    for node in 1..=nodes {
        next = next.next_multiple_of(LINE);
        for (place, _) in places.iter_mut().zip(memory).filter(|(_, word)| word.node == node) {
            *place = next;
            next += 1;
        }
    }
    (places, next)
}

impl<'a> LocalMemory<'a> {
    /// Allocates memory words.
    pub(crate) fn new(memory: &[MemoryWord]) -> Self {
        let (places, count) = placed(memory);
        let words = Storage::Own((0..count).map(|_| AtomicI64::new(0)).collect());
        Self { words, places, company: None, spins: 1 }.initialised(memory)
    }

    /// Writes the initial values.
    fn initialised(self, memory: &[MemoryWord]) -> Self {
        let words = self.words.words();
        self.places.iter().zip(memory).for_each(|(place, word)| words[*place].store(word.initial, SeqCst));
        self
    }

    /// Maps the words of a group in all processes of a company. Each has to make the call.
    pub(crate) fn among(company: &'a Company, made: &MadeObjects<'_>) -> Result<Self, Fault> {
        let memory = &made.memory;
        let (places, count) = placed(memory);
        let failed = |why: std::io::Error| Fault::Wrong(left::refused(&why));
        let mut path = String::new();
        let mut file = None;
        if company.rank() == 0 {
            path = left::path();
            file = Some(SharedFile::create(Path::new(&path), count).map_err(failed)?);
        }
        let all = company.gather(&path)?;
        let words = Storage::Mapped(MappedWords::open(Path::new(&all[0]), count).map_err(failed)?);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spins = if company.size() <= processors { 1024 } else { 32 };
        let mut opened = Self { words, places, company: Some(company), spins };
        if company.rank() == 0 {
            opened = opened.initialised(memory);
        }
        company.gather("")?;
        drop(file);
        Ok(opened)
    }
}

impl RemoteFabric for LocalMemory<'_> {
    fn port(&self, _: Tid) -> Box<dyn Port + '_> {
        let (words, places) = (self.words.words(), &*self.places);
        Box::new(LocalPort { words, places, company: self.company, spins: self.spins, relaxed: 0 })
    }
}

struct LocalPort<'a> {
    words: &'a [AtomicI64],
    places: &'a [usize],
    company: Option<&'a Company>,
    spins: u32,
    /// The number of times that it has waited in a loop.
    relaxed: u32,
}

impl LocalPort<'_> {
    /// Performs an operation, unless another process has failed.
    #[inline]
    fn performed<T>(&self, act: impl FnOnce(&Self) -> T) -> Result<T, Fault> {
        match self.company {
            Some(company) if company.has_fault() => failed(company),
            _ => Ok(act(self)),
        }
    }

    /// Returns a word.
    #[inline]
    fn at(&self, x: Word) -> &AtomicI64 {
        &self.words[self.places[x.at]]
    }

    /// Returns words, if they lie side by side in their order.
    #[inline]
    fn row(&self, all: &[Word]) -> Option<&[AtomicI64]> {
        let first = self.places[all.first()?.at];
        are_in_a_row(all, |x| self.places[x.at]).then(|| &self.words[first..first + all.len()])
    }
}

/// Returns the fault of another process.
#[cold]
fn failed<T>(company: &Company) -> Result<T, Fault> {
    Err(company.fault().expect("a process has failed"))
}

/// Each operation takes effect at once, so there is nothing to wait for.
impl mowgli_port::Port for LocalPort<'_> {
    type Fault = Fault;

    fn read(&mut self, x: Word) -> Result<i64, Fault> {
        self.performed(|port| port.at(x).load(LOADS))
    }

    fn write(&mut self, x: Word, v: i64) -> Result<(), Fault> {
        self.performed(|port| port.at(x).store(v, STORES))
    }

    fn read_words(&mut self, from: &[Word], to: &mut List) -> Result<(), Fault> {
        self.performed(|port| match port.row(from) {
            Some(row) => to.fill(row.len(), |k| row[k].load(LOADS)),
            None => to.fill(from.len(), |k| port.at(from[k]).load(LOADS)),
        })
    }

    fn write_words(&mut self, to: &[Word], values: &[i64]) -> Result<(), Fault> {
        self.performed(|port| match port.row(to) {
            Some(row) => row.iter().zip(values).for_each(|(word, &v)| word.store(v, STORES)),
            None => to.iter().zip(values).for_each(|(&x, &v)| port.at(x).store(v, STORES)),
        })
    }

    fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, Fault> {
        self.performed(|port| port.at(x).compare_exchange(old, new, SeqCst, SeqCst).unwrap_or_else(|was| was))
    }

    fn xchg(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.performed(|port| port.at(x).swap(v, SeqCst))
    }

    fn faa(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.performed(|port| port.at(x).fetch_add(v, SeqCst))
    }

    fn mfence(&mut self) -> Result<(), Fault> {
        fence();
        Ok(())
    }

    fn get(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        fence();
        self.put(to, from, d)
    }

    fn put(&mut self, to: Word, from: Word, _: Id) -> Result<(), Fault> {
        self.performed(|port| port.at(to).store(port.at(from).load(LOADS), STORES))
    }

    fn get_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        fence();
        self.put_words(to, from, d)
    }

    fn put_words(&mut self, to: &[Word], from: &[Word], _: Id) -> Result<(), Fault> {
        self.performed(|port| match (port.row(to), port.row(from)) {
            // The first word comes last, because a reader of a message reads it first.
            (Some(to), Some(from)) => {
                to.iter().zip(from).rev().for_each(|(to, from)| to.store(from.load(LOADS), STORES));
            }
            _ => to.iter().zip(from).for_each(|(&to, &from)| port.at(to).store(port.at(from).load(LOADS), STORES)),
        })
    }

    fn rcas(&mut self, to: Word, on: Word, old: i64, new: i64, _: Id) -> Result<(), Fault> {
        let was = self.cas(on, old, new)?;
        self.write(to, was)
    }

    fn rfaa(&mut self, to: Word, on: Word, v: i64, _: Id) -> Result<(), Fault> {
        let was = self.faa(on, v)?;
        self.write(to, was)
    }

    fn wait(&mut self, _: Id) -> Result<(), Fault> {
        Ok(())
    }

    fn rfence(&mut self, _: i64) -> Result<(), Fault> {
        Ok(())
    }

    fn again(&mut self) -> Result<(), Fault> {
        self.relax();
        Ok(())
    }
}

impl Port for LocalPort<'_> {
    fn relax(&mut self) {
        self.relaxed = self.relaxed.wrapping_add(1);
        if self.relaxed.is_multiple_of(self.spins) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}
