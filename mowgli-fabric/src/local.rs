//! A fabric of plain shared memory, of one process or of those of one machine. It performs each operation at once. It needs
//! no hardware and is fast, but it shows no weak behaviour.

use std::path::Path;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use mowgli_core::ids::Tid;

use crate::agreement;
use crate::company::Company;
use crate::emitted::mowgli_port::{self, Id, Word};
use crate::left;
use crate::mapped::{MappedWords, SharedFile};
use crate::memory::MemoryWord;
use crate::port::{Fault, Port, RemoteFabric};
use crate::stack::Stack;

/// Memory words. All accesses are sequentially consistent. Weaker orders would not suffice on every CPU, because a
/// thread may read a put without having seen anything else of its sender.
pub(crate) struct LocalMemory<'a> {
    words: Storage,
    /// The processes that share the words, if there are several.
    company: Option<&'a Company>,
    /// A guard. While it is held, the company does not open another network.
    _only: Option<MutexGuard<'a, ()>>,
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

impl<'a> LocalMemory<'a> {
    /// Allocates memory words.
    pub(crate) fn new(memory: &[MemoryWord]) -> Self {
        let words = memory.iter().map(|word| AtomicI64::new(word.initial)).collect();
        Self { words: Storage::Own(words), company: None, _only: None, spins: 1 }
    }

    /// Maps the words of a stack in all processes of a company. Each has to make the call.
    pub(crate) fn among(company: &'a Company, stack: &Stack) -> Result<Self, Fault> {
        let only = company.only()?;
        let memory = stack.memory();
        let failed = |why: std::io::Error| Fault::Wrong(left::refused(&why));
        let mut path = String::new();
        let mut made = None;
        if company.rank() == 0 {
            stack.report();
            path = left::path();
            made = Some(SharedFile::create(Path::new(&path), memory.len()).map_err(failed)?);
        }
        let group: Vec<String> = ["mapped memory".to_owned()].into_iter().chain(stack.description()).collect();
        let all = agreement::exchanged(company, &group, &path)?;
        let mapped = MappedWords::open(Path::new(&all[0]), memory.len()).map_err(failed)?;
        if company.rank() == 0 {
            mapped.words().iter().zip(memory).for_each(|(at, word)| at.store(word.initial, SeqCst));
        }
        company.gather("")?;
        drop(made);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let spins = if company.size() <= processors { 1024 } else { 32 };
        Ok(Self { words: Storage::Mapped(mapped), company: Some(company), _only: Some(only), spins })
    }
}

impl RemoteFabric for LocalMemory<'_> {
    fn port(&self, _: Tid) -> Box<dyn Port + '_> {
        Box::new(LocalPort { words: self.words.words(), company: self.company, spins: self.spins, relaxed: 0 })
    }

    fn last(&self, x: Word) -> i64 {
        self.words.words()[x.at].load(SeqCst)
    }
}

struct LocalPort<'a> {
    words: &'a [AtomicI64],
    company: Option<&'a Company>,
    spins: u32,
    /// The number of times that it has waited in a loop.
    relaxed: u32,
}

impl LocalPort<'_> {
    /// Returns a word, unless another process has failed.
    #[inline]
    fn at(&self, x: Word) -> Result<&AtomicI64, Fault> {
        match self.company.and_then(Company::fault) {
            None => Ok(&self.words[x.at]),
            Some(fault) => Err(fault),
        }
    }
}

/// Each operation takes effect at once, so there is nothing to wait for.
impl mowgli_port::Port for LocalPort<'_> {
    type Fault = Fault;

    fn read(&mut self, x: Word) -> Result<i64, Fault> {
        Ok(self.at(x)?.load(SeqCst))
    }

    fn write(&mut self, x: Word, v: i64) -> Result<(), Fault> {
        self.at(x)?.store(v, SeqCst);
        Ok(())
    }

    fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, Fault> {
        Ok(self.at(x)?.compare_exchange(old, new, SeqCst, SeqCst).unwrap_or_else(|was| was))
    }

    fn xchg(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        Ok(self.at(x)?.swap(v, SeqCst))
    }

    fn faa(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        Ok(self.at(x)?.fetch_add(v, SeqCst))
    }

    fn mfence(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn get(&mut self, to: Word, from: Word, _: Id) -> Result<(), Fault> {
        let v = self.read(from)?;
        self.write(to, v)
    }

    fn put(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.get(to, from, d)
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
    fn rxchg(&mut self, to: Word, on: Word, v: i64, _: Id) -> Result<(), Fault> {
        let was = mowgli_port::Port::xchg(self, on, v)?;
        mowgli_port::Port::write(self, to, was)
    }

    fn poll(&mut self, _: i64) -> Result<(), Fault> {
        Ok(())
    }

    fn relax(&mut self) {
        self.relaxed = self.relaxed.wrapping_add(1);
        if self.relaxed.is_multiple_of(self.spins) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}
