//! A library that can be checked: its specification, the libraries below, its variants and default bounds.

use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Name, Tid};
use mowgli_core::library::{Hints, Libraries};
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::{Client, Subject, well_formed};
use mowgli_core::soundness::crashes::Crashing;
use mowgli_core::soundness::verdict::Probes;
use mowgli_core::stamp::StampKind;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::unknown::Unknown;
use mowgli_core::world::World;
use mowgli_rdma::network::Order;
use mowgli_rdma::probes::WaitProbes;
use mowgli_rdma::wait::{self, Wait};
use mowgli_rdma::{Network, Switches};
use mowgli_x86::pool::Pool;
use mowgli_x86::probes::WordProbes;
use mowgli_x86::tso::{X86Tso, on_one_machine};

use crate::error::Error;

/// The verdict that is expected of a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Locally sound within the bound.
    Sound,
    /// Some client has a wrong outcome.
    Unsound,
    /// Not locally sound, and no wrong outcome.
    NotLocallySound,
    /// Locally sound, but some client never ends although the specification allows all its calls to return.
    Blocks,
    /// Locally sound, but some execution is stuck although the specification could continue.
    Stuck,
}

impl Expected {
    /// Returns the verdict in the word that checks print.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Unsound => "unsound",
            Self::NotLocallySound => "not-locally-sound",
            Self::Blocks => "blocks",
            Self::Stuck => "stuck",
        }
    }

    /// True if no client has a wrong outcome, and all its calls return.
    #[must_use]
    pub fn is_correct(self) -> bool {
        matches!(self, Self::Sound | Self::NotLocallySound)
    }
}

/// An implementation of a library: the published one, or a variant with one change.
#[derive(Clone)]
pub struct Variant {
    /// Its name; `published` for the one in the papers.
    pub name: &'static str,
    /// The difference to the published one, and the promise that it breaks.
    pub about: &'static str,
    /// The verdict that the check must find.
    pub expected: Expected,
    /// The implementation.
    pub implementation: Arc<dyn Implementation>,
    /// The default bounds. A check stops at the first at which the variant is not sound, or does not end.
    pub bounds: Vec<Bound>,
    /// Larger bounds, which only `--thorough` adds: no broken variant needs them, and they take longer than five seconds.
    pub thorough: Vec<Bound>,
    /// The specification that it is checked against, if that asks for progress of more clients than the entry's.
    pub asked: Option<Libraries>,
}

/// A memory model: the base of libraries, and the view of clients on them.
#[derive(Clone)]
pub struct Memory {
    /// The model alone.
    pub libraries: Libraries,
    /// Probes: clients that observe a library through the model. The argument is true if a thread may access memory of
    /// its own node through a network.
    pub probes: fn(bool) -> Box<dyn Probes>,
    /// The behaviour of threads that crash, if the model has crashes.
    pub crashing: Option<Crashing>,
    /// The switches of RDMA-WAIT-RMW, if it is that model.
    pub switches: Option<Switches>,
}

impl Memory {
    /// RDMA-WAIT-RMW.
    #[must_use]
    pub fn rdma_wait() -> Self {
        let libraries = Libraries::over(mowgli_rdma::to).with(Wait);
        let crashing = Some(wait::crashing(Switches::OFF));
        let switches = Some(Switches::OFF);
        Self { libraries, probes: |loopback| Box::new(WaitProbes { loopback, gets: false }), crashing, switches }
    }

    /// RDMA-WAIT-RMW with these switches.
    #[must_use]
    pub fn switched(switches: Switches) -> Self {
        let can_crash = Switches { crashes: true, ..switches }.fit().is_ok();
        let crashing = can_crash.then(|| wait::crashing(switches));
        let of_rc = Self::rdma_wait();
        let probes: fn(bool) -> Box<dyn Probes> = match switches.network.returns {
            Order::None => |loopback| Box::new(WaitProbes { loopback, gets: true }),
            Order::Issued | Order::Placed => of_rc.probes,
        };
        Self { libraries: wait::switched(switches), probes, crashing, switches: Some(switches) }
    }

    /// x86-TSO with records from a pool. It has no network.
    #[must_use]
    pub fn x86_tso() -> Self {
        let libraries = Libraries::over(mowgli_x86::to).with(X86Tso).with(Pool);
        Self { libraries, probes: |_| Box::new(WordProbes), crashing: None, switches: None }
    }
}

/// A library that can be checked.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// The memory model at the base of the stack, which clients may use too.
    pub memory: Memory,
    /// The specification alone.
    pub specification: Libraries,
    /// The libraries that the implementation calls.
    pub below: Libraries,
    /// Objects and calls.
    pub subject: Box<dyn Subject>,
    /// Probes of this library, in addition to those of the memory model.
    pub probes: Vec<Box<dyn Probes>>,
    /// The implementations, the published one first.
    pub variants: Vec<Variant>,
}

impl Variant {
    /// Returns this variant with clients that write these values.
    #[must_use]
    pub fn writing(mut self, values: &[i64]) -> Self {
        self.bounds.iter_mut().chain(&mut self.thorough).for_each(|b| b.values = values.to_vec());
        self
    }

    /// Returns this variant with one more bound.
    #[must_use]
    pub fn and(mut self, bound: Bound) -> Self {
        self.bounds.push(bound);
        self
    }

    /// Returns this variant with one more bound for `--thorough`.
    #[must_use]
    pub fn thoroughly(mut self, bound: Bound) -> Self {
        self.thorough.push(bound);
        self
    }

    /// Returns this variant, checked against this specification, which asks for progress of more clients.
    #[must_use]
    pub(crate) fn against(self, asked: Libraries) -> Self {
        Self { asked: Some(asked), ..self }
    }

    /// Returns the default bounds, and then those of `--thorough`.
    #[must_use]
    pub fn all_bounds(&self) -> Vec<Bound> {
        self.bounds.iter().chain(&self.thorough).cloned().collect()
    }
}

impl Entry {
    /// A library over RDMA-WAIT-RMW that is its own subject, to be implemented on another one.
    #[must_use]
    pub fn rdma(library: impl Hints + Subject + Clone + 'static, below: impl Hints + 'static) -> Self {
        Self::new(Memory::rdma_wait(), library, Libraries::over(mowgli_rdma::to).with(below), Vec::new())
    }

    /// A library over x86-TSO that is its own subject, to be implemented on words of memory. Its clients run on one machine.
    #[must_use]
    pub fn x86(library: impl Hints + Subject + Clone + 'static) -> Self {
        let entry =
            Self::new(Memory::x86_tso(), library.clone(), Libraries::over(mowgli_x86::to).with(X86Tso), Vec::new());
        Self { subject: Box::new(OneMachine(library)), ..entry }
    }

    /// The entry with one more variant.
    #[must_use]
    pub fn with(mut self, variant: Variant) -> Self {
        self.variants.push(variant);
        self
    }

    /// Adds the published implementation, which must be sound within these bounds of threads, nodes and calls. Clients
    /// write two values if methods take values.
    #[must_use]
    pub fn published(self, implementation: impl Implementation + 'static, bounds: &[(usize, u8, usize)]) -> Self {
        let published = variant("published", "the implementation", Expected::Sound, implementation, bounds);
        self.with(published.writing(&[1, 2]))
    }

    /// Adds a variant that must be unsound within the bounds of the first one. The description of the variant is that
    /// of its edits.
    #[must_use]
    pub fn broken(self, name: &'static str, implementation: impl Implementation + 'static) -> Self {
        let about = Name::new(&implementation.edits().iter().map(|edit| in_words(edit)).join(", ")).text();
        let bounds = self.variants.first().map(|v| v.bounds.clone()).unwrap_or_default();
        let broken = variant(name, about, Expected::Unsound, implementation, &[]);
        self.with(Variant { bounds, ..broken })
    }

    /// Lets one thread of each client crash, and limits the calls of all threads together.
    #[must_use]
    pub fn crashing(mut self, total: usize) -> Self {
        let bounds = self.variants.iter_mut().flat_map(|v| v.bounds.iter_mut().chain(&mut v.thorough));
        bounds.for_each(|bound| (bound.crashes, bound.total) = (1, Some(total)));
        self
    }

    /// A library that is its own subject, over a memory model, with implementations on the libraries `below`.
    #[must_use]
    pub fn new(
        memory: Memory,
        library: impl Hints + Subject + Clone + 'static,
        below: Libraries,
        variants: Vec<Variant>,
    ) -> Self {
        let name = library.name().text();
        let specification = Libraries::like(&memory.libraries).with(library.clone());
        Self { name, memory, specification, below, subject: Box::new(library), probes: Vec::new(), variants }
    }

    /// The entry over a memory model with another stamp order.
    #[must_use]
    pub fn with_order<K: StampKind>(mut self, to: impl Fn(K, K) -> bool + Send + Sync + 'static) -> Self {
        self.memory.libraries = self.memory.libraries.with_order(to);
        self.specification = self.specification.with_order_of(&self.memory.libraries);
        self.below = self.below.with_order_of(&self.memory.libraries);
        self
    }

    /// Moves the entry to another network: its implementations and clients stand over the model that has it. The
    /// specification stays, and what it leaves to the stamp order is that of the network.
    ///
    /// # Errors
    /// If its memory model has no network, or a switch that is not defined on this one. The entry stays where it is.
    pub fn move_to(&mut self, network: Network) -> Result<(), Error> {
        let switches = self.memory.switches.ok_or(Error::NoNetwork(self.name))?;
        let switches = Switches { network, ..switches }.fit();
        let switches = switches.map_err(|why| Error::Network { entry: self.name, why })?;
        self.memory = Memory::switched(switches);
        let model = &self.memory.libraries;
        self.specification = self.specification.clone().with_order_of(model);
        let is_of_model = |all: &Libraries, name: Name| all.get(name).is_some();
        let others = self.below.names().filter(|name| is_of_model(model, *name)).collect_vec();
        let others = others.into_iter().fold(self.below.clone().with_order_of(model), Libraries::without);
        let unused = model.names().filter(|name| !is_of_model(&self.below, *name)).collect_vec();
        self.below = others.and(&unused.into_iter().fold(model.clone(), Libraries::without));
        Ok(())
    }

    /// Returns the names of the libraries below, for the column `over` of tables.
    #[must_use]
    pub fn over(&self) -> String {
        self.below.names().join(", ")
    }

    /// The bound at which the whole stack below is compared with the specification: two threads on two nodes, with as
    /// many calls each as a client needs to satisfy the assumption of the specification.
    #[must_use]
    pub fn through(&self) -> Bound {
        let bounds = (1..).map(|calls| bound(2, 2, calls));
        bounds
            .take(4)
            .find(|b| self.clients(b, &|| false).is_ok_and(|all| !all.is_empty()))
            .unwrap_or_else(|| bound(2, 2, 1))
    }

    /// The bounds at which the implementation is compared with the specification on each network. The first is that of
    /// [`Self::through`]. Where a call that waits needs another one, a thread makes both twice in the second. For example, it takes a
    /// lock again. Where other calls need none, as an attempt to take a lock, there are more clients, so one thread does so alone.
    #[must_use]
    pub fn on_networks(&self) -> Vec<Bound> {
        let once = self.through();
        let alone = |calls| Bound { threads: 1, calls, ..once.clone() };
        let waits = (once.calls..).take(2).find(|&calls| self.has_wait(&alone(calls))).unwrap_or(once.calls);
        let twice = match waits {
            1 => None,
            _ if waits == once.calls => Some(Bound { calls: 2 * waits, total: Some(3 * waits), ..once.clone() }),
            _ => Some(alone(2 * waits)),
        };
        [once].into_iter().chain(twice).collect()
    }

    /// True if some client within a bound makes a call that may wait.
    fn has_wait(&self, bound: &Bound) -> bool {
        let waits = |(world, client): (World, Client)| {
            client.threads.iter().flatten().any(|call| self.specification.may_wait(&world, call))
        };
        self.clients(bound, &|| false).is_ok_and(|all| all.into_iter().any(waits))
    }

    /// Returns the variant of this name.
    ///
    /// # Errors
    /// If no variant has this name; the message lists the names.
    pub fn variant(&self, name: &str) -> Result<&Variant, Error> {
        let unknown = || Unknown::new("variant", name, self.variants.iter().map(|v| v.name));
        let found = self.variants.iter().find(|v| v.name == name);
        found.ok_or_else(|| Error::Variant { entry: self.name, unknown: unknown() })
    }

    /// Returns the variant that runs by default: the published one, or the first that is expected to be correct.
    ///
    /// # Errors
    /// If no variant is expected to be correct.
    pub fn default_variant(&self) -> Result<&Variant, Error> {
        let found = self.variants.iter().find(|v| v.expected.is_correct());
        let variants = || self.variants.iter().map(|v| v.name).collect();
        found.ok_or_else(|| Error::NoSoundVariant { entry: self.name, variants: variants() })
    }

    /// The library that is checked.
    ///
    /// # Errors
    /// If the specification has no library of the entry's name.
    pub fn library(&self) -> Result<&dyn Hints, Error> {
        let specified = || self.specification.names().collect();
        let found = self.specification.get(Name::literal(self.name));
        found.ok_or_else(|| Error::NoLibrary { entry: self.name, specified: specified() })
    }

    /// A bound, lowered to what the largest of its worlds have: see [`Bound::covered`].
    #[must_use]
    pub fn covered(&self, bound: &Bound, expired: &dyn Fn() -> bool) -> Bound {
        bound.covered(&*self.subject, Name::literal(self.name), expired)
    }

    /// Returns the clients within a bound that satisfy the specification's assumption; none for another library's one.
    ///
    /// # Errors
    /// If the time is up before there are all, or they are too many.
    pub fn clients(&self, bound: &Bound, expired: &dyn Fn() -> bool) -> Result<Vec<(World, Client)>, Stop> {
        let within = |library| well_formed(library, &*self.subject, std::slice::from_ref(bound), expired);
        self.library().map_or_else(|_| Ok(Vec::new()), |library| Ok(within(library).all()?.0))
    }
}

/// Returns the description of an edit in words, for example `Write in Post made later`. One with conditions or code stays as it is.
///
/// ```
/// use mowgli_libraries::entry::in_words;
/// for (edit, words) in [
///     ("without Shared::GF { .. }", "without GF"),
///     ("delay Shared::Write { .. } in Method::Post { .. }, number 1", "Write in Post, number 1 made later"),
///     ("swap Shared::Write { .. } | Shared::Bcast { .. }", "Write | Bcast exchanged with the next statement"),
///     ("replace Shared::Read { .. } => 0", "0 in place of Read"),
///     ("Accept does not wait", "Accept does not wait"),
///     ("without Rdma::Put { x, .. } if is_first(x)", "without Rdma::Put { x, .. } if is_first(x)"),
/// ] {
///     assert_eq!(in_words(edit), words);
/// }
/// ```
#[must_use]
pub fn in_words(edit: &str) -> String {
    let plain = edit.replace(" { .. }", "");
    if plain.contains(['{', '(', '\n']) || plain.contains(" if ") {
        return edit.to_owned();
    }
    let plain = plain.split(' ').map(|word| word.rsplit("::").next().unwrap_or(word)).join(" ");
    if let Some(calls) = plain.strip_prefix("delay ") {
        format!("{calls} made later")
    } else if let Some(calls) = plain.strip_prefix("swap ") {
        format!("{calls} exchanged with the next statement")
    } else if let Some((calls, other)) = plain.strip_prefix("replace ").and_then(|rest| rest.split_once(" => ")) {
        format!("{other} in place of {calls}")
    } else {
        plain
    }
}

/// A variant that is checked within these bounds of threads, nodes and calls, one after the other.
pub fn variant(
    name: &'static str,
    about: &'static str,
    expected: Expected,
    implementation: impl Implementation + 'static,
    bounds: &[(usize, u8, usize)],
) -> Variant {
    let bounds = bounds.iter().map(|&(threads, nodes, calls)| bound(threads, nodes, calls)).collect();
    Variant {
        name,
        about,
        expected,
        implementation: Arc::new(implementation),
        bounds,
        thorough: Vec::new(),
        asked: None,
    }
}

/// The bound of so many threads, nodes and calls of each thread, with one object, one iteration and the value 1.
#[must_use]
pub fn bound(threads: usize, nodes: u8, calls: usize) -> Bound {
    Bound { threads, nodes, calls, objects: 1, loops: 1, values: vec![1], ..Bound::default() }
}

/// Returns the bound of three calls in all that write two values: mistakes that distinguish data need few calls.
pub(crate) fn few_calls() -> Bound {
    Bound { values: vec![1, 2], total: Some(3), ..bound(2, 2, 2) }
}

/// Clients of a subject on one machine.
pub(crate) struct OneMachine<T>(pub T);

impl<T: Subject> Subject for OneMachine<T> {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        on_one_machine(empty, |_| {}).iter().flat_map(|world| self.0.worlds(world, bound, expired)).collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        self.0.calls(world, thread, bound, expired)
    }
}
