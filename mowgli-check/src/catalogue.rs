//! The catalogue of libraries: the built-in ones and the user's own.

use std::sync::{Arc, LazyLock, OnceLock};

use itertools::Itertools;
use mowgli_core::library::Libraries;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::unknown::Unknown;
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::{Entry, Memory, Variant, bound};
use mowgli_libraries::x86;
use mowgli_rdma::crash::CRASH;
use mowgli_rdma::sc;
use mowgli_rdma::tso::{self, Tso};
use mowgli_rdma::wait;
use mowgli_rdma::{Network, Switches};

use crate::entry::fault;
use crate::error::{Code, InputError};
use crate::guard::guarded;
use crate::hints;
use crate::litmus::callables::Callables;
use crate::litmus::test::Model;

/// The user's libraries and the libraries of this project.
pub struct Catalogue {
    /// The entries, the user's first.
    entries: Vec<Entry>,
    /// The number of the user's entries.
    own: usize,
    /// The specifications over RDMA with RDMA-WAIT-RMW below them.
    over_rdma: Libraries,
    /// The specifications over x86-TSO with that model below them.
    over_x86: Libraries,
    /// The libraries and methods that tests of each model can call, by [`Catalogue::shelf_of`], computed on first use.
    known: [OnceLock<Callables>; Model::ALL.len() + 8],
}

/// The number of executions in which the hints of a library are checked before it is used.
const EXECUTIONS: usize = 100;

static BUILTIN: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::of(Vec::new()));

/// Returns the memory model with the specifications of all entries that have its stamps.
fn specified(memory: &Memory, entries: &[Entry]) -> Libraries {
    let entries = entries.iter().filter(|entry| entry.specification.has_stamps_of(&memory.libraries));
    entries.fold(memory.libraries.clone(), |all, entry| all.and(&entry.specification))
}

impl Catalogue {
    /// Returns the catalogue of the built-in libraries alone.
    #[must_use]
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    fn of(mut entries: Vec<Entry>) -> Self {
        let own = entries.len();
        entries.extend(catalogue());
        entries.extend(x86::catalogue());
        let over_rdma = specified(&Memory::rdma_wait(), &entries);
        let over_x86 = specified(&Memory::x86_tso(), &entries);
        Self { entries, own, over_rdma, over_x86, known: Default::default() }
    }

    /// Returns the position of a model in `known`. Models with the same libraries have the same position. RDMA-WAIT-RMW
    /// has the libraries on every network. With another switch it has only words and the libraries that are over it.
    /// Three switches add calls: with crashes threads learn that others are dead, with messages they send, with events
    /// they wait for completions.
    fn shelf_of(model: Model) -> usize {
        let published = Model::ALL.iter().position(|m| *m == model.published()).expect("a model");
        match model {
            Model::RdmaTso(switches) if switches.events => Model::ALL.len() + 6,
            Model::RdmaTso(switches) if switches.messages => Model::ALL.len() + 4,
            Model::RdmaWait(switches) if switches.messages => Model::ALL.len() + 5,
            Model::RdmaTso(switches) if switches.crashes => Model::ALL.len(),
            Model::RdmaTso(switches) if !switches.network.completes_in_order => Model::ALL.len() + 7,
            Model::RdmaWait(Switches::CRASHES) => Model::ALL.len() + 3,
            Model::RdmaWait(switches) if switches.crashes => Model::ALL.len() + 1,
            Model::RdmaWait(_) if !model.is_published_but_for_network() => Model::ALL.len() + 2,
            _ => published,
        }
    }

    /// Returns the libraries and methods that tests of a model can call.
    pub(crate) fn known(&self, model: Model) -> &Callables {
        let of = || Callables::of(model, &self.libraries(model), &self.own_names().collect_vec());
        self.known[Self::shelf_of(model)].get_or_init(of)
    }

    /// Adds the user's libraries to the built-in ones.
    ///
    /// # Errors
    /// If two libraries have the same name, one is over stamps that no model of tests has, or an entry has an error:
    /// see [`fault`].
    pub fn with(own: impl IntoIterator<Item = Entry>) -> Result<Self, InputError> {
        let own: Vec<Entry> = own.into_iter().collect();
        for entry in &own {
            let models = [&Self::builtin().over_rdma, &Self::builtin().over_x86];
            if !models.into_iter().any(|model| entry.specification.has_stamps_of(model)) {
                let message = format!("{} is over a memory model of its own, which no test can name", entry.name);
                return Err(InputError::new(Code::Library, message).help("check it by `mowgli_check::check::check`"));
            }
            guarded(entry.name, || fault(entry, &bound(2, 2, 1), &|| false))?;
            let two_values = Bound { values: vec![1, 2], ..bound(2, 2, 1) };
            guarded(entry.name, || hints::check(entry, &two_values, EXECUTIONS, &|| false))?;
        }
        let known = Self::of(own);
        known.without_clash().map(|()| known)
    }

    /// Checks that no two libraries have the same name, because commands look up entries by name.
    fn without_clash(&self) -> Result<(), InputError> {
        let memory = Model::ALL.map(|model| model.memory().text());
        let builtin: Vec<&str> = memory.into_iter().chain(Self::builtin_names()).collect();
        let own: Vec<&str> = self.own_names().collect();
        if let Some(name) = own.iter().find(|name| builtin.contains(name)) {
            let message = format!("{name} is built in, and a library of your own has this name too");
            let help = "give yours another one, in its entry and in Library::name";
            return Err(InputError::new(Code::Duplicate, message).help(help));
        }
        match own.iter().duplicates().next() {
            Some(name) => {
                let message = format!("two libraries of your own have the name {name}");
                Err(InputError::new(Code::Duplicate, message).help("give one of them another"))
            }
            None => Ok(()),
        }
    }

    fn builtin_names() -> impl Iterator<Item = &'static str> {
        Self::builtin().entries.iter().map(|e| e.name)
    }

    /// Returns the catalogue with every library on this network, without those over a memory model that has none.
    ///
    /// # Errors
    /// If a library needs a switch that is not defined on this network.
    pub fn on(mut self, network: Network) -> Result<Self, InputError> {
        self.own = self.own().iter().filter(|entry| entry.memory.switches.is_some()).count();
        self.entries.retain(|entry| entry.memory.switches.is_some());
        self.entries.iter_mut().try_for_each(|entry| entry.move_to(network))?;
        Ok(self)
    }

    /// Returns the entries of all libraries, the user's first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entry that a text such as `bal` names, and the variant that one such as `bal:no-fence` names beside it.
    ///
    /// # Errors
    /// If there is no such library or variant.
    pub fn entry(&self, text: &str) -> Result<(&Entry, Option<&Variant>), InputError> {
        let (name, variant) = text.split_once(':').map_or((text, None), |(name, variant)| (name, Some(variant)));
        let entry = named(&self.entries, name)?;
        Ok((entry, variant.map(|variant| entry.variant(variant)).transpose()?))
    }

    /// Returns the entries of the user's libraries.
    #[must_use]
    pub fn own(&self) -> &[Entry] {
        &self.entries[..self.own]
    }

    /// Returns the entries of all libraries, the user's first.
    #[must_use]
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    /// Returns the names of the user's libraries.
    pub fn own_names(&self) -> impl Iterator<Item = &'static str> {
        self.own().iter().map(|e| e.name)
    }

    /// Returns the names of all libraries, over any memory model, the user's first.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.own_names().chain(Self::builtin_names()).collect()
    }

    /// Returns the names of the default libraries: the user's, or all if the user has none.
    pub fn usual(&self) -> impl Iterator<Item = &'static str> {
        let own: Vec<&str> = self.own_names().collect();
        if own.is_empty() { self.names() } else { own }.into_iter()
    }

    /// Returns the error for a name that no library has.
    #[must_use]
    pub fn no_library(&self, name: &str) -> Unknown {
        Unknown::new("library", name, self.names())
    }

    /// The error of an argument that is to be a file or a library.
    #[must_use]
    pub fn neither(&self, name: &str) -> InputError {
        let library = name.split(':').next().unwrap_or(name);
        let error = InputError::new(Code::Unknown, format!("{name} is neither a file nor a library"));
        error.help(self.no_library(library).help())
    }

    /// Returns the implementation that `name` stands for: that of a library, or `library:variant`.
    ///
    /// # Errors
    /// If there is no such implementation; the message lists the others.
    pub fn implementation(&self, name: &str) -> Result<Arc<dyn Implementation>, InputError> {
        let (library, variant) = name.split_once(':').unwrap_or((name, "published"));
        let entry = self.entries.iter().find(|e| e.name == library).ok_or_else(|| self.no_library(library))?;
        let found = entry.variant(variant)?;
        Ok(Arc::clone(&found.implementation))
    }

    /// Returns the implementations that names stand for, from left to right.
    ///
    /// # Errors
    /// If there is no such implementation; the message lists the others.
    pub fn implementations(&self, names: &[String]) -> Result<Vec<Arc<dyn Implementation>>, InputError> {
        names.iter().map(|name| self.implementation(name)).collect()
    }

    /// Returns the libraries of a model.
    #[must_use]
    pub fn libraries(&self, model: Model) -> Libraries {
        match model {
            Model::RDMA_WAIT => self.over_rdma.clone(),
            Model::RdmaWait(switches) => {
                let words = wait::switched(switches);
                let is_over = |entry: &&Entry| match model.is_published_but_for_network() {
                    true => entry.specification.has_stamps_of(&words),
                    false => switches == Switches::CRASHES && entry.memory.libraries.get(CRASH).is_some(),
                };
                let entries = self.entries.iter().filter(is_over);
                entries.fold(words.clone(), |all, entry| all.and(&entry.specification.clone().with_order_of(&words)))
            }
            Model::RDMA_TSO => Libraries::over(mowgli_rdma::to).with(Tso::PUBLISHED),
            Model::RdmaTso(switches) => tso::switched(switches),
            Model::RdmaSc => sc::libraries(),
            Model::X86Tso => self.over_x86.clone(),
            _ => Libraries::over(mowgli_rdma::to),
        }
    }
}
