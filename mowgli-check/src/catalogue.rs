//! The libraries that are known: those that are built in, and those of one's own.

use std::sync::{Arc, LazyLock, OnceLock};

use itertools::Itertools;
use mowgli_core::implementation::Implementation;
use mowgli_core::library::Libraries;
use mowgli_core::stamp::Stamp;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Memory, bound};
use mowgli_libraries::x86;
use mowgli_rdma::Switches;
use mowgli_rdma::crash::CRASH;
use mowgli_rdma::sc;
use mowgli_rdma::tso::{self, Tso};
use mowgli_rdma::wait;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::entry::fault;
use crate::guard::guarded;
use crate::litmus::known::Known;
use crate::litmus::test::Model;

/// A library of one's own, over whatever memory.
pub enum Own {
    /// Over RDMA.
    Rdma(Entry),
    /// Over x86-TSO.
    X86(Entry<mowgli_x86::Stamp>),
}

impl From<Entry> for Own {
    fn from(entry: Entry) -> Self {
        Self::Rdma(entry)
    }
}

impl From<Entry<mowgli_x86::Stamp>> for Own {
    fn from(entry: Entry<mowgli_x86::Stamp>) -> Self {
        Self::X86(entry)
    }
}

/// The libraries over memory models that share their stamps.
pub struct Shelf<S: Stamp> {
    /// The entries, one's own first.
    entries: Vec<Entry<S>>,
    /// How many are one's own.
    own: usize,
    /// What they specify, and the memory model below them.
    specified: Libraries<S>,
}

impl<S: Stamp> Shelf<S> {
    fn new(memory: &Memory<S>, mut entries: Vec<Entry<S>>, builtin: Vec<Entry<S>>) -> Self {
        let own = entries.len();
        entries.extend(builtin);
        let specified = entries.iter().fold(memory.libraries.clone(), |all, entry| all.and(&entry.specification));
        Self { entries, own, specified }
    }
}

/// Stamps of memory models that tests can be of: whatever is asked of a test is asked over one such type. Models that have
/// the same stamps may differ in their stamp order, which their libraries have.
pub trait Stamped: Stamp + Serialize + DeserializeOwned {
    /// The libraries over these stamps.
    fn shelf(catalogue: &Catalogue) -> &Shelf<Self>;

    /// The libraries of a model that has these stamps; none of another one.
    fn libraries(catalogue: &Catalogue, model: Model) -> Libraries<Self>;
}

impl Stamped for mowgli_rdma::Stamp {
    fn shelf(catalogue: &Catalogue) -> &Shelf<Self> {
        &catalogue.over_rdma
    }

    fn libraries(catalogue: &Catalogue, model: Model) -> Libraries<Self> {
        match model {
            Model::RDMA_WAIT => catalogue.over_rdma.specified.clone(),
            Model::RdmaWait(switches) => {
                let over =
                    |entry: &&Entry| switches == Switches::CRASHES && entry.memory.libraries.get(CRASH).is_some();
                let entries = catalogue.over_rdma.entries.iter().filter(over);
                entries.fold(wait::switched(switches), |all, entry| all.and(&entry.specification))
            }
            Model::RDMA_TSO => Libraries::over(mowgli_rdma::to).with(Tso),
            Model::RdmaTso(switches) => tso::switched(switches),
            Model::RdmaSc => sc::libraries(),
            Model::CoreRma | Model::X86Tso => Libraries::over(mowgli_rdma::to),
        }
    }
}

impl Stamped for mowgli_x86::Stamp {
    fn shelf(catalogue: &Catalogue) -> &Shelf<Self> {
        &catalogue.over_x86
    }

    fn libraries(catalogue: &Catalogue, model: Model) -> Libraries<Self> {
        match model {
            Model::X86Tso => catalogue.over_x86.specified.clone(),
            _ => Libraries::over(mowgli_x86::to),
        }
    }
}

/// The libraries that are built in, beside those of one's own.
pub struct Catalogue {
    over_rdma: Shelf<mowgli_rdma::Stamp>,
    over_x86: Shelf<mowgli_x86::Stamp>,
    /// What tests of each model can call, once it was asked, by [`Catalogue::shelf_of`].
    known: [OnceLock<Known>; Model::ALL.len() + 7],
}

static BUILTIN: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::of(Vec::new(), Vec::new()));

impl Catalogue {
    /// The libraries that are built in, and no others.
    #[must_use]
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    fn of(over_rdma: Vec<Entry>, over_x86: Vec<Entry<mowgli_x86::Stamp>>) -> Self {
        Self {
            over_rdma: Shelf::new(&Memory::rdma_wait(), over_rdma, catalogue()),
            over_x86: Shelf::new(&Memory::x86_tso(), over_x86, x86::catalogue()),
            known: Default::default(),
        }
    }

    /// Models that have the same libraries have the same number: switches change what libraries promise, RDMA-WAIT-RMW
    /// with a switch on has only words and the libraries that are over it, and where threads crash others are told, and where
    /// there are messages they are sent, and where there are events threads wait for them.
    fn shelf_of(model: Model) -> usize {
        let published = Model::ALL.iter().position(|m| *m == model.published()).expect("a model");
        match model {
            Model::RdmaTso(switches) if switches.events => Model::ALL.len() + 6,
            Model::RdmaTso(switches) if switches.messages => Model::ALL.len() + 4,
            Model::RdmaWait(switches) if switches.messages => Model::ALL.len() + 5,
            Model::RdmaTso(switches) if switches.crashes => Model::ALL.len(),
            Model::RdmaWait(Switches::CRASHES) => Model::ALL.len() + 3,
            Model::RdmaWait(switches) if switches.crashes => Model::ALL.len() + 1,
            Model::RdmaWait(switches) if switches != Switches::OFF => Model::ALL.len() + 2,
            _ => published,
        }
    }

    /// What tests of a model can call.
    pub(crate) fn known(&self, model: Model) -> &Known {
        let of = || Known::of(model, &self.libraries(model), &self.libraries(model), &self.own_names().collect_vec());
        self.known[Self::shelf_of(model)].get_or_init(of)
    }

    /// These libraries beside those that are built in.
    ///
    /// # Errors
    /// If two have one name, or there is a mistake in an entry: see [`fault`].
    pub fn with(own: impl IntoIterator<Item = Own>) -> Result<Self, String> {
        let (mut over_rdma, mut over_x86) = (Vec::new(), Vec::new());
        for entry in own {
            match entry {
                Own::Rdma(entry) => {
                    guarded(entry.name, || fault(&entry, &bound(2, 2, 1), &|| false))?;
                    over_rdma.push(entry);
                }
                Own::X86(entry) => {
                    guarded(entry.name, || fault(&entry, &bound(2, 2, 1), &|| false))?;
                    over_x86.push(entry);
                }
            }
        }
        let known = Self::of(over_rdma, over_x86);
        known.without_clash().map(|()| known)
    }

    /// Entries that are looked up by their names are to have different ones.
    fn without_clash(&self) -> Result<(), String> {
        let memory = Model::ALL.map(|model| model.memory().text());
        let builtin: Vec<&str> = memory.into_iter().chain(Self::builtin_names()).collect();
        let own: Vec<&str> = self.own_names().collect();
        if let Some(name) = own.iter().find(|name| builtin.contains(name)) {
            return Err(format!(
                "{name} is built in, and a library of your own has this name too: give yours another one, in its entry and \
                 in Library::name"
            ));
        }
        match own.iter().duplicates().next() {
            Some(name) => Err(format!("two libraries of your own have the name {name}: give one of them another")),
            None => Ok(()),
        }
    }

    fn builtin_names() -> impl Iterator<Item = &'static str> {
        let over_rdma = Self::builtin().over_rdma.entries.iter().map(|e| e.name);
        over_rdma.chain(Self::builtin().over_x86.entries.iter().map(|e| e.name))
    }

    /// All entries over these stamps, one's own first.
    #[must_use]
    pub fn entries<S: Stamped>(&self) -> &[Entry<S>] {
        &S::shelf(self).entries
    }

    /// The entries of one's own over these stamps.
    #[must_use]
    pub fn own<S: Stamped>(&self) -> &[Entry<S>] {
        let shelf = S::shelf(self);
        &shelf.entries[..shelf.own]
    }

    /// All entries, those over RDMA and those over x86-TSO.
    #[must_use]
    pub fn into_entries(self) -> (Vec<Entry>, Vec<Entry<mowgli_x86::Stamp>>) {
        (self.over_rdma.entries, self.over_x86.entries)
    }

    /// The names of the libraries of one's own, over whatever memory.
    pub fn own_names(&self) -> impl Iterator<Item = &'static str> {
        let over_rdma = self.own::<mowgli_rdma::Stamp>().iter().map(|e| e.name);
        over_rdma.chain(self.own::<mowgli_x86::Stamp>().iter().map(|e| e.name))
    }

    /// The names of all libraries, over whatever memory, one's own first.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.own_names().chain(Self::builtin_names()).collect()
    }

    /// The names of the libraries that are meant where none is named: those of one's own, or else all.
    pub fn usual(&self) -> impl Iterator<Item = &'static str> {
        let own: Vec<&str> = self.own_names().collect();
        if own.is_empty() { self.names() } else { own }.into_iter()
    }

    /// What is said of a name that no library has.
    #[must_use]
    pub fn no_library(&self, name: &str) -> String {
        format!("no library {name}; there are {}", self.names().join(", "))
    }

    /// The implementation that `name` stands for: that of a library, or `library:variant`.
    ///
    /// # Errors
    /// What there is instead, if there is no such implementation.
    pub fn implementation(&self, name: &str) -> Result<Arc<dyn Implementation>, String> {
        let (library, variant) = name.split_once(':').unwrap_or((name, "published"));
        let found = match self.entries::<mowgli_x86::Stamp>().iter().find(|e| e.name == library) {
            Some(entry) => entry.variant(variant)?,
            None => {
                let entry = self.entries::<mowgli_rdma::Stamp>().iter().find(|e| e.name == library);
                entry.ok_or_else(|| self.no_library(library))?.variant(variant)?
            }
        };
        Ok(Arc::clone(&found.implementation))
    }

    /// The implementations that names stand for, from left to right.
    ///
    /// # Errors
    /// What there is instead, if there is no such implementation.
    pub fn implementations(&self, names: &[String]) -> Result<Vec<Arc<dyn Implementation>>, String> {
        names.iter().map(|name| self.implementation(name)).collect()
    }

    /// The libraries of a model.
    #[must_use]
    pub fn libraries<S: Stamped>(&self, model: Model) -> Libraries<S> {
        S::libraries(self, model)
    }
}
