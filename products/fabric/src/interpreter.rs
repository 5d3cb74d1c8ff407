//! The interpreter of programs and bodies, by any variant. Tests compare emitted code with it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name};
use mowgli_core::term::code::{CodeIteration, CodePlace, CodePoint, CodeState};
use mowgli_core::term::implementation::{Implementations, add_parts};
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::Entry;
use mowgli_rdma::Way;
use mowgli_rdma::wait::{Method, WAIT, words};
use rustc_hash::FxHashMap;

use crate::emitted::mowgli_port::{BOT, Id, Word};
use crate::group::{Fabric, Group};
use crate::port::Fault;
use crate::thread::Thread;

/// The error for operations that need several queue pairs.
const ONE_QUEUE_PAIR: &str = "what runs on a fabric has one queue pair to each node, and operations of one word with a completion; \
     leave out what is behind @, and put or get words one by one";

/// The numbers of words that stand for other values: those from here on.
const OTHERS: i64 = 1 << 60;

/// A world with all parts of its objects, and the implementations that make their calls.
pub struct Interpreter {
    world: Arc<World>,
    implementations: Implementations,
    group: Group,
    /// The values that words hold beside small integers and bottom. A number stands for each.
    others: Mutex<Vec<Val>>,
}

impl Interpreter {
    /// Builds the implementations of the libraries of a world and of `others`, and of all that they call. A library
    /// that `variants` does not name runs by its [`Entry::default_variant`].
    ///
    /// # Errors
    /// If a library or variant does not exist, or a word is on a node that does not exist.
    pub fn new(
        entries: &[Entry],
        mut world: World,
        others: impl IntoIterator<Item = Name>,
        variants: &BTreeMap<String, String>,
    ) -> Result<Self, Fault> {
        let mut implementations = Implementations::default();
        for entry in chosen(entries, &world, others, variants)?.into_iter().rev() {
            let named = variants.get(entry.name).map(|variant| entry.variant(variant));
            let variant = named.unwrap_or_else(|| entry.default_variant())?;
            add_parts(&*variant.implementation, &mut world);
            implementations.insert(Name::literal(entry.name), Arc::clone(&variant.implementation));
        }
        let nodes: Vec<u8> = world.threads.iter().map(|n| n.0).collect();
        let mut group = Group::new(&nodes);
        group.declared.world.nodes = world.nodes;
        let (world, others) = (Arc::new(world), Mutex::default());
        let mut made = Self { world, implementations, group: Group::new(&[]), others };
        for (&x, object) in made.world.objects.iter().filter(|(_, object)| is_word(object)) {
            let node = object.node.ok_or_else(|| Fault::Wrong(format!("{x} is on no node")))?;
            let initial = made.word(object.init);
            let make = move |world: &mut crate::emitted::mowgli_port::World| world.word(node.0.into(), initial);
            group.add_at(x, object.clone(), make);
        }
        made.group = group;
        Ok(made)
    }

    /// Runs `body` in each thread, with a state of the interpreter, and returns the results.
    ///
    /// # Errors
    /// If a thread fails or does not end.
    pub fn run<R: Send>(
        &self,
        fabric: Fabric,
        body: impl Fn(&mut Thread<'_>, &Interpreted<'_>) -> Result<R, Fault> + Sync,
    ) -> Result<Vec<R>, Fault> {
        self.group.run(fabric, |thread| body(thread, &self.interpreted()))
    }

    /// Returns the state of a thread before its first operation.
    #[must_use]
    pub fn interpreted(&self) -> Interpreted<'_> {
        Interpreted { of: self, ids: RefCell::default() }
    }

    /// Encodes a value.
    fn word(&self, v: Val) -> i64 {
        match v {
            Val::Int(i) if (-OTHERS..OTHERS).contains(&i) => i,
            Val::Bot => BOT,
            _ => {
                let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
                let at = others.iter().position(|other| *other == v).unwrap_or_else(|| {
                    others.push(v);
                    others.len() - 1
                });
                OTHERS + at as i64
            }
        }
    }

    /// Decodes what [`Self::word`] made, or a sum of integers.
    fn value(&self, word: i64) -> Result<Val, Fault> {
        if (-OTHERS..OTHERS).contains(&word) {
            return Ok(Val::Int(word));
        }
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let other = usize::try_from(word.saturating_sub(OTHERS)).ok().and_then(|at| others.get(at).copied());
        let large = || Fault::Wrong(format!("{word} is not between -2^60 and 2^60, the integers that are interpreted"));
        if word == BOT { Ok(Val::Bot) } else { other.ok_or_else(large) }
    }
}

fn is_word(object: &Object) -> bool {
    object.library == WAIT
}

/// Returns the entries of the libraries of a world and of `others`, and of all that they call, each after those that it calls.
///
/// # Errors
/// If a library or variant does not exist.
pub(crate) fn chosen<'e>(
    entries: &'e [Entry],
    world: &World,
    others: impl IntoIterator<Item = Name>,
    variants: &BTreeMap<String, String>,
) -> Result<Vec<&'e Entry>, Fault> {
    for (name, variant) in variants {
        named(entries, name)?.variant(variant)?;
    }
    let used: BTreeSet<Name> = world.objects.values().map(|o| o.library).chain(others).collect();
    let mut order = Vec::new();
    for name in used {
        below(entries, name, &mut order)?;
    }
    order.into_iter().map(|name| Ok(named(entries, name.text())?)).collect()
}

/// Adds a library after all that it calls.
fn below(entries: &[Entry], name: Name, order: &mut Vec<Name>) -> Result<(), Fault> {
    if name == WAIT || order.contains(&name) {
        return Ok(());
    }
    for called in named(entries, name.text())?.below.names() {
        below(entries, called, order)?;
    }
    order.push(name);
    Ok(())
}

/// A thread whose calls are interpreted.
pub struct Interpreted<'i> {
    of: &'i Interpreter,
    /// The numbers of the identifiers that programs have used.
    ids: RefCell<FxHashMap<Val, Id>>,
}

/// The point at which a part of a program stops.
enum Stepped {
    /// At its end, with this value.
    Ended(Val),
    /// Outside of the innermost loop.
    Left,
    /// At the end of an iteration of this loop.
    Iteration(CodeIteration),
}

impl Interpreted<'_> {
    /// Runs a program.
    ///
    /// # Errors
    /// If it does not end, makes an illegal call, or breaks out of more loops than it is in. The last case means that
    /// an assumption of the program does not hold.
    pub fn run(&self, thread: &mut Thread<'_>, program: &Script) -> Result<Val, Fault> {
        self.run_code(thread, CodeState::start(program))
    }

    fn run_code(&self, thread: &mut Thread<'_>, code: CodeState) -> Result<Val, Fault> {
        let code = RefCell::new(code);
        let run = |thread: &mut Thread<'_>| match self.step(thread, &code, 0)? {
            Stepped::Ended(v) => Ok(v),
            Stepped::Left | Stepped::Iteration(_) => unreachable!("there is no loop around a program"),
        };
        if thread.is_explored() { run(thread) } else { thread.timed(run) }
    }

    /// Makes a call, by the body of its method.
    ///
    /// # Errors
    /// If it does not end, or cannot be run.
    pub fn call(&self, thread: &mut Thread<'_>, call: &Call) -> Result<Val, Fault> {
        if thread.is_explored() {
            return thread.call(call);
        }
        if call.library == WAIT {
            return self.operation(thread, Method::of(call));
        }
        let unknown = || Fault::Wrong(format!("{} is not implemented, so {call} cannot be run", call.library));
        let implementation = self.of.implementations.get(&call.library).ok_or_else(unknown)?;
        let body = implementation.script(&self.of.world, thread.id(), call);
        self.run_code(thread, CodeState::of_call(&body, call))
    }

    /// Runs code as far as it is inside so many loops.
    fn step(&self, thread: &mut Thread<'_>, code: &RefCell<CodeState>, loops: usize) -> Result<Stepped, Fault> {
        loop {
            let point = code.borrow_mut().next(CodePlace { world: &self.of.world, thread: thread.id() });
            if code.borrow().loops() < loops {
                return Ok(Stepped::Left);
            }
            match point {
                CodePoint::Ended(v) => return Ok(Stepped::Ended(v)),
                CodePoint::Escaped => return Err(Fault::Discarded),
                CodePoint::Iteration(iteration) => return Ok(Stepped::Iteration(iteration)),
                CodePoint::Returned(..) | CodePoint::Late(_) => unreachable!("calls are made by threads"),
                CodePoint::Call(call) => {
                    let v = self.call(thread, &call)?;
                    code.borrow_mut().returned(v);
                }
                CodePoint::Loop => {
                    code.borrow_mut().begin();
                    self.iterations(thread, code, loops + 1)?;
                }
            }
        }
    }

    /// Runs the iterations of a loop. Those that begin with other values are a wait of their own.
    fn iterations(&self, thread: &mut Thread<'_>, code: &RefCell<CodeState>, loops: usize) -> Result<(), Fault> {
        loop {
            let round = |thread: &mut Thread<'_>| match self.step(thread, code, loops)? {
                Stepped::Iteration(CodeIteration { is_other: false, .. }) => {
                    code.borrow_mut().go_on(true);
                    Ok(None)
                }
                other => Ok(Some(other)),
            };
            match thread.until(round)? {
                Stepped::Iteration(iteration) if iteration.is_endless(code.borrow().made()) => {
                    return Err(Fault::Endless(format!("{} goes on without a call", thread.id())));
                }
                Stepped::Iteration(_) => code.borrow_mut().go_on(true),
                Stepped::Ended(_) | Stepped::Left => return Ok(()),
            }
        }
    }

    /// Makes an operation of RDMA-WAIT-RMW.
    fn operation(&self, thread: &mut Thread<'_>, operation: Method) -> Result<Val, Fault> {
        let t = thread.id();
        thread.on_time(|| format!("{t} is still at {}", Call::from(operation)))?;
        let (made, port) = thread.port()?;
        let at = |x: Loc| made.object::<Word>(x).copied();
        let (word, value) = (|v: Val| self.of.word(v), |word: i64| self.of.value(word));
        let number = |v: Val| v.int().ok_or_else(|| Fault::Wrong(format!("{v} is no number, and cannot be added")));
        let row = |xs: Val| words(xs).into_iter().map(at).collect::<Result<Vec<_>, _>>();
        let ids = &mut self.ids.borrow_mut();
        let mut id = |d: Val| match d {
            Val::NoWid => 0,
            _ => {
                let next = 1 + ids.len() as Id;
                *ids.entry(d).or_insert(next)
            }
        };
        // A fabric finds by the ends of a row whether it lies in order. A program may name words in any order.
        let is_sorted = |words: &[Word]| words.is_sorted_by(|x, y| x.node == y.node && x.at < y.at);
        match operation {
            Method::Read { x } => return value(port.read(at(x)?)?),
            Method::CAS { x, v1, v2 } => return value(port.cas(at(x)?, word(v1), word(v2))?),
            Method::Xchg { x, v } => return value(port.xchg(at(x)?, word(v))?),
            Method::FAA { x, v } => return number(value(port.faa(at(x)?, number(v)?)?)?).map(Val::Int),
            Method::Write { x, v } => port.write(at(x)?, word(v))?,
            Method::Mfence {} => port.mfence()?,
            Method::Get { x, y, d } => port.get(at(x)?, at(y)?, id(d))?,
            Method::Put { x, y, d } => port.put(at(x)?, at(y)?, id(d))?,
            Method::RCAS { x, y, v1, v2, d } => port.rcas(at(x)?, at(y)?, word(v1), word(v2), id(d))?,
            Method::RFAA { x, y, v, d } => port.rfaa(at(x)?, at(y)?, number(v)?, id(d))?,
            Method::GetWords { w, xs, ys, d } if Way::of(w) == Ok(Way::USUAL) => {
                let (to, from, d) = (row(xs)?, row(ys)?, id(d));
                match is_sorted(&to) && is_sorted(&from) {
                    true => port.get_words(&to, &from, d)?,
                    false => to.iter().zip(&from).try_for_each(|(&to, &from)| port.get(to, from, d))?,
                }
            }
            Method::PutWords { w, xs, ys, d } if Way::of(w) == Ok(Way::USUAL) => {
                let (to, from, d) = (row(xs)?, row(ys)?, id(d));
                match is_sorted(&to) && is_sorted(&from) {
                    true => port.put_words(&to, &from, d)?,
                    false => to.iter().zip(&from).try_for_each(|(&to, &from)| port.put(to, from, d))?,
                }
            }
            Method::Wait { d } => port.wait(id(d))?,
            Method::Rfence { n } => port.rfence(n.0.into())?,
            _ => return Err(Fault::Wrong(ONE_QUEUE_PAIR.to_owned())),
        }
        Ok(Val::Unit)
    }
}
