//! Events, their subevents, and the shapes that a library gives to a call (LOCO §3.2).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;

use serde::{Deserialize, Serialize};

use crate::few::{Few, Shared};
use crate::ids::{Loc, Name, Node, Tid};
use crate::stamp::Stamp;
use crate::value::Val;

/// A method call without its result: `<m, args>`, and the library whose method it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Call {
    /// The library.
    pub library: Name,
    /// The method, under the paper's name.
    pub method: Name,
    /// The arguments, in the paper's order.
    pub args: Few<Val>,
    /// The place of the call in the source, if a body makes it.
    #[serde(skip)]
    pub place: SourceLine,
}

/// A place in the source: a file and a line. Any two are equal, because they do not affect the meaning of a call.
#[derive(Clone, Copy, Default, Debug)]
pub struct SourceLine(Option<&'static Location<'static>>);

impl SourceLine {
    /// The name of the file and the line, for example `bal.rs:131`; `None` if the place is not known.
    #[must_use]
    pub fn text(self) -> Option<String> {
        let file = self.0?.file();
        let name = file.rsplit_once(['/', '\\']).map_or(file, |(_, name)| name);
        Some(format!("{name}:{}", self.0?.line()))
    }
}

impl From<&'static Location<'static>> for SourceLine {
    fn from(location: &'static Location<'static>) -> Self {
        Self(Some(location))
    }
}

impl PartialEq for SourceLine {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SourceLine {}

impl PartialOrd for SourceLine {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SourceLine {
    fn cmp(&self, _: &Self) -> Ordering {
        Ordering::Equal
    }
}

impl Hash for SourceLine {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Call {
    /// Returns the call `method(args)` of `library`.
    #[must_use]
    pub fn new(library: Name, method: &'static str, args: &[Val]) -> Self {
        Self { library, method: Name::literal(method), args: Few::of(args), place: SourceLine::default() }
    }

    /// Returns the same call at this place in the source.
    #[must_use]
    pub fn at(self, place: &'static Location<'static>) -> Self {
        Self { place: place.into(), ..self }
    }

    /// Returns the argument at this position, as a location.
    ///
    /// # Panics
    /// If the call has fewer arguments, or this one has another type. Then the call has a fault.
    #[must_use]
    pub fn loc(&self, position: usize) -> Loc {
        self.arg(position, "a location", Val::loc)
    }

    /// Returns the argument at this position, converted by `read`. `what` describes the expected type.
    ///
    /// # Panics
    /// If the call has fewer arguments, or `read` rejects this one. Then the call has a fault.
    pub(crate) fn arg<T>(&self, position: usize, what: &str, read: impl FnOnce(Val) -> Option<T>) -> T {
        let place = || format!("{self} of {}: argument {} is to be {what}", self.library, position + 1);
        match self.args.get(position) {
            None => panic!("{}, and there are {} arguments", place(), self.args.len()),
            Some(&other) => read(other).unwrap_or_else(|| panic!("{}, and {other} is none", place())),
        }
    }
}

impl Call {
    /// True if both are the same call, data arguments aside.
    #[must_use]
    pub fn is_alike(&self, other: &Self) -> bool {
        let name = |v: &Val| (!v.is_data()).then_some(*v);
        let names = || self.args.iter().map(name).eq(other.args.iter().map(name));
        self.method == other.method && self.library == other.library && names()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name in quotes is the text of a statement, and no method.
        if self.method.text().starts_with('`') {
            return self.method.fmt(f);
        }
        let args: Vec<String> = self.args.iter().map(Val::to_string).collect();
        write!(f, "{}({})", self.method, args.join(", "))
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An event `<t, id, <m, args, ret>>`; the id is its position in the execution.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Event {
    /// The thread that made the call.
    pub thread: Tid,
    /// Method and arguments.
    pub call: Call,
    /// The returned value.
    pub ret: Val,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ret {
            Val::Unit => write!(f, "{}", self.call),
            ret => write!(f, "{} = {ret}", self.call),
        }
    }
}

/// Counts the `earlier` events that make the same call on this thread, data aside.
pub fn alike<'a>(earlier: impl IntoIterator<Item = &'a Event>, thread: Tid, call: &Call) -> usize {
    earlier.into_iter().filter(|e| e.thread == thread && e.call.is_alike(call)).count()
}

/// Returns for each event the number of earlier ones of its thread with the same call, data aside.
pub fn occurrences<'a>(events: impl Iterator<Item = &'a Event>) -> Vec<usize> {
    let mut seen: Vec<&Event> = Vec::new();
    events
        .map(|e| {
            let earlier = alike(seen.iter().copied(), e.thread, &e.call);
            seen.push(e);
            earlier
        })
        .collect()
}

/// A memory cell, which a subevent may touch: one node's copy of a location. Reads-from and coherence are per cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The location.
    pub loc: Loc,
    /// The node whose memory holds this copy.
    pub node: Node,
}

/// A function that returns the values that a cell may have.
pub type CellValues<'a> = &'a dyn Fn(Cell) -> Vec<Val>;

impl Loc {
    /// Returns the copy of this location on a node.
    #[must_use]
    pub fn on(self, node: Node) -> Cell {
        Cell { loc: self, node }
    }
}

/// The constraint on the value that a subevent reads. A value stands for [`Self::Is`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Reads {
    /// Exactly this value, known from the call's result.
    Is(Val),
    /// Any value but this one, because the compare failed.
    IsNot(Val),
    /// Any value.
    Any,
}

impl Reads {
    /// True if the read may yield `v`.
    #[must_use]
    pub fn allows(self, v: Val) -> bool {
        match self {
            Self::Is(w) => v == w,
            Self::IsNot(w) => v != w,
            Self::Any => true,
        }
    }
}

/// The value that a subevent writes. Positions refer to the subevents of the same call. A value stands for [`Self::Is`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Writes {
    /// An argument of the call.
    Is(Val),
    /// The value that the subevent at this position read.
    Copy(usize),
    /// The result of [`step_by_function`](crate::library::Library::step_by_function) on the value that the subevent at this position
    /// read.
    Step(usize),
}

impl From<Val> for Reads {
    fn from(v: Val) -> Self {
        Self::Is(v)
    }
}

impl From<Val> for Writes {
    fn from(v: Val) -> Self {
        Self::Is(v)
    }
}

impl From<i64> for Writes {
    fn from(v: i64) -> Self {
        Self::Is(v.into())
    }
}

/// A subevent `<e, a>` as a library describes it: its stamp and its accesses to memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Sub {
    /// The stamp `a`.
    pub stamp: Stamp,
    /// The cell that it touches, if it touches one.
    pub cell: Option<Cell>,
    /// The constraint on the value that it reads there, if it reads.
    pub reads: Option<Reads>,
    /// The value that it writes there, if it writes.
    pub writes: Option<Writes>,
}

impl Sub {
    /// Returns a subevent that touches no memory.
    pub fn quiet(stamp: impl Into<Stamp>) -> Self {
        Self { stamp: stamp.into(), cell: None, reads: None, writes: None }
    }

    /// Returns a read of `cell`.
    pub fn read(stamp: impl Into<Stamp>, cell: Cell, reads: impl Into<Reads>) -> Self {
        Self { stamp: stamp.into(), cell: Some(cell), reads: Some(reads.into()), writes: None }
    }

    /// Returns a write of `cell`.
    pub fn write(stamp: impl Into<Stamp>, cell: Cell, writes: impl Into<Writes>) -> Self {
        Self { stamp: stamp.into(), cell: Some(cell), reads: None, writes: Some(writes.into()) }
    }

    /// Returns a read and a write of `cell` in one.
    pub fn update(stamp: impl Into<Stamp>, cell: Cell, reads: impl Into<Reads>, writes: impl Into<Writes>) -> Self {
        Self { stamp: stamp.into(), cell: Some(cell), reads: Some(reads.into()), writes: Some(writes.into()) }
    }
}

/// One way in which a call can happen: `stmp(e)`, with the accesses of each subevent. Never empty.
pub type Shape = Shared<Sub>;

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: fn() -> Call = || Call::new(Name::literal("flag"), "Raise", &[Val::Int(7)]);

    #[test]
    #[should_panic(expected = "Raise(7) of flag: argument 1 is to be a location, and 7 is none")]
    fn an_argument_that_is_no_location_is_named() {
        _ = CALL().loc(0);
    }

    #[test]
    #[should_panic(expected = "Raise(7) of flag: argument 2 is to be a location, and there are 1 arguments")]
    fn a_list_of_arguments_that_is_too_short_is_named() {
        _ = CALL().loc(1);
    }
}
