//! The judge: evaluates the definitions literally on an execution with every choice filled in.
//!
//! It is small, slow, and independent of the search. Mowgli prints an execution only after the judge has accepted it.
//!
//! **Computes**: so and hb of an execution with its choices, or the first reason why it is not consistent (LOCO Def.
//! 3.6).
//!
//! **Invariant**: a relation is the set of all its pairs. The execution never changes.
//!
//! **Example**: store buffering in which both threads read 0, with a stamp order that keeps program order. Each read
//! reads the initial value, so rb has it before the write of the other thread. With ppo, hb has a cycle through all
//! four subevents.
//!
//! **Correct because** the set operation that defines an operator of [`Rel`] also evaluates it. So a reader can compare
//! the code with the definition line by line. Tests compare the judge with the search on generated clients
//! (docs/search.md, "Why believe it").
//!
//! **Cost**: at least n^2 for each relation on n subevents. A relation that occurs several times is evaluated each
//! time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::algebra::{Choice, ChoiceRole, Demand, Key, Rel, RelExpr, Set, Spec, SubView};
use crate::event::{Event, Writes, occurrences};
use crate::execution::{Execution, Pairs};
use crate::ids::Name;
use crate::library::Libraries;
use crate::value::Val;

/// A reason why an execution is not consistent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Complaint {
    /// The execution does not have the form that its libraries give it.
    Malformed(String),
    /// A demand of a library fails at a pair of subevents.
    Axiom {
        /// The library.
        library: Name,
        /// The demand.
        axiom: &'static str,
        /// The pair of subevents at which it fails.
        at: (usize, usize),
    },
    /// hb has a cycle through these subevents.
    Cycle(Vec<usize>),
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => f.write_str(what),
            Self::Axiom { library, axiom, at } => write!(f, "{library}: {axiom} fails at subevents {at:?}"),
            Self::Cycle(through) => write!(f, "hb has a cycle through subevents {through:?}"),
        }
    }
}

/// The relations that the judge derived from a consistent execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judged {
    /// The edges of so, by library and name of the part.
    pub so: Vec<(Name, &'static str, Pairs)>,
    /// `(ppo u so)+`.
    pub hb: Pairs,
}

/// Judges an execution against Def. 3.6 with `hb = (ppo u so)+`.
///
/// # Errors
/// The first reason found why it is not consistent.
pub fn judge(libraries: &Libraries, execution: &Execution) -> Result<Judged, Complaint> {
    check_form(libraries, execution)?;
    let mut so = Vec::new();
    let mut readings = Vec::new();
    for name in libraries.names() {
        let Some(reading) = Reading::chosen_well(libraries, execution, name)? else { continue };
        so.extend(reading.spec.so.iter().map(|(part, rel)| (name, *part, reading.pairs(rel))));
        readings.push(reading);
    }
    let ppo = execution.ppo(libraries);
    let edges: Pairs = so.iter().flat_map(|(_, _, pairs)| pairs).chain(&ppo).copied().collect();
    let hb = closure(&edges);
    for reading in &mut readings {
        reading.hb.clone_from(&hb);
        reading.check_demands()?;
    }
    match hb.iter().find(|(a, b)| a == b) {
        Some(&(a, _)) => Err(Complaint::Cycle(cycle_from(&edges, a))),
        None => Ok(Judged { so, hb }),
    }
}

/// Evaluates the consistency predicate C of one library alone (LOCO Def. 3.5), on an execution of only its events.
/// Returns so. Without `hb` it uses `(ppo u so)+`.
///
/// # Errors
/// The first reason found why the predicate does not hold.
pub fn consistent(
    libraries: &Libraries,
    library: Name,
    execution: &Execution,
    hb: Option<&Pairs>,
) -> Result<Pairs, Complaint> {
    check_form(libraries, execution)?;
    let Some(mut reading) = Reading::chosen_well(libraries, execution, library)? else { return Ok(Pairs::new()) };
    let so: Pairs = reading.spec.so.iter().flat_map(|(_, rel)| reading.pairs(rel)).collect();
    let edges = || so.iter().copied().chain(execution.ppo(libraries)).collect();
    reading.hb = hb.map_or_else(|| closure(&edges()), Clone::clone);
    reading.check_demands()?;
    Ok(so)
}

fn check_form(libraries: &Libraries, execution: &Execution) -> Result<(), Complaint> {
    let malformed = |what: String| Err(Complaint::Malformed(what));
    for (index, event) in execution.events.iter().enumerate() {
        let Some(library) = libraries.get(event.call.library) else {
            return malformed(format!("no library {}", event.call.library));
        };
        if event.thread.0 == 0 || event.thread.index() >= execution.world.threads.len() {
            return malformed(format!("no thread {}", event.thread));
        }
        let subs: Vec<_> = execution.subs.iter().filter(|s| s.event == index).collect();
        let shapes = library.shapes(&execution.world, event);
        let fits = shapes.iter().any(|shape| {
            shape.len() == subs.len()
                && shape.iter().zip(&subs).all(|(sub, s)| {
                    *sub == s.sub
                        && sub.reads.map_or(s.read.is_none(), |r| s.read.is_some_and(|v| r.allows(v)))
                        && s.wrote
                            == sub.writes.and_then(|w| match w {
                                Writes::Is(v) => Some(v),
                                Writes::Copy(from) => subs.get(from)?.read,
                                Writes::Step(from) => library.step(event, subs.get(from)?.read?),
                            })
                        && s.wrote.is_some() == sub.writes.is_some()
                })
        });
        if !fits {
            return malformed(format!("{event} cannot happen with these subevents and values"));
        }
    }
    let subs = execution.subs.len();
    if execution.subs.iter().any(|s| s.event >= execution.events.len()) {
        return malformed("a subevent of no event".to_owned());
    }
    if execution.chosen.iter().flat_map(|c| &c.pairs).any(|&(a, b)| a >= subs || b >= subs) {
        return malformed("a pair of a choice is of no subevent".to_owned());
    }
    let in_calls = |g: &Option<usize>| g.is_none_or(|g| g < execution.calls.len());
    if execution.groups.len() != execution.events.len() || !execution.groups.iter().all(in_calls) {
        return malformed("the events and the calls that they are part of do not fit".to_owned());
    }
    Ok(())
}

/// True if these events, a list for each thread, can be repeated for ever after all others are over. Each read must
/// have the last value of its cell, or a value that an event of its own list wrote. A value is a last one if no other one
/// follows. The last write of each cell that they write must be one of theirs.
#[must_use]
pub fn repeats(libraries: &Libraries, execution: &Execution, repeated: &[Vec<usize>]) -> bool {
    let subs = &execution.subs;
    let is_source =
        |w: usize, r: usize| execution.chosen_as(libraries, ChoiceRole::ReadsFrom).any(|rf| rf.pairs.contains(&(w, r)));
    let is_repeated = |s: usize| repeated.iter().any(|round| round.contains(&subs[s].event));
    let is_written_last = |s: usize| {
        let last = subs[s].sub.cell.and_then(|cell| execution.last_write(libraries, cell));
        last.is_none_or(is_repeated)
    };
    let mut writes = (0..subs.len()).filter(|&s| is_repeated(s) && subs[s].wrote.is_some());
    writes.all(is_written_last)
        && repeated.iter().all(|round| {
            let of_round = |s: usize| round.contains(&subs[s].event);
            (0..subs.len()).filter(|&r| of_round(r) && subs[r].read.is_some()).all(|r| {
                let inside = (0..subs.len()).any(|w| of_round(w) && is_source(w, r));
                let Some(cell) = subs[r].sub.cell else { return false };
                let initial = || Some(libraries.of(&execution.events[subs[r].event].call).init(&execution.world, cell));
                let last = execution.last_writes(libraries, cell);
                inside
                    || last.iter().any(|&w| subs[w].wrote == subs[r].read)
                    || last.is_empty() && subs[r].read == initial()
            })
        })
}

/// Computes the transitive closure, by iteration.
#[must_use]
pub fn closure(edges: &Pairs) -> Pairs {
    let mut next: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for &(a, b) in edges {
        next.entry(a).or_default().insert(b);
    }
    let mut closed = Pairs::new();
    for &start in next.keys() {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![start]);
        while let Some(a) = todo.pop() {
            let new: Vec<usize> = next.get(&a).into_iter().flat_map(|ends| ends.difference(&seen)).copied().collect();
            seen.extend(&new);
            todo.extend(new);
        }
        closed.extend(seen.into_iter().map(|b| (start, b)));
    }
    closed
}

/// Returns a shortest cycle of `edges` through `start`.
#[must_use]
pub fn cycle_from(edges: &Pairs, start: usize) -> Vec<usize> {
    let mut came: BTreeMap<usize, usize> = BTreeMap::new();
    let mut todo = std::collections::VecDeque::from([start]);
    while let Some(a) = todo.pop_front() {
        for &(_, b) in edges.range((a, 0)..=(a, usize::MAX)) {
            if b == start {
                let mut path = vec![a];
                while path[path.len() - 1] != start {
                    path.push(came[&path[path.len() - 1]]);
                }
                path.reverse();
                return path;
            }
            came.entry(b).or_insert_with(|| {
                todo.push_back(b);
                a
            });
        }
    }
    Vec::new()
}

/// One library's specification, read on one execution.
pub struct Reading<'a> {
    /// The execution.
    pub execution: &'a Execution,
    /// For each event the number of earlier ones of its thread that are alike.
    pub nth: Vec<usize>,
    /// The library.
    pub library: Name,
    /// Its specification.
    pub spec: &'a Spec,
    /// The libraries, which have the stamp order.
    pub libraries: &'a Libraries,
    /// hb on all subevents; empty until demands are checked.
    pub hb: Pairs,
}

impl<'a> Reading<'a> {
    /// Reads the specification of a library of the set on an execution, with an empty hb.
    ///
    /// # Panics
    /// If there is no library of this name.
    #[must_use]
    pub fn new(libraries: &'a Libraries, execution: &'a Execution, library: Name) -> Self {
        let spec = libraries.spec(library).expect("a name of the set");
        Self { execution, nth: occurrences(execution.events.iter()), library, spec, libraries, hb: Pairs::new() }
    }

    /// Does the same as [`Self::new`], and checks the plain execution and the choices. Returns `None` if the
    /// specification says nothing of the execution.
    fn chosen_well(libraries: &'a Libraries, execution: &'a Execution, name: Name) -> Result<Option<Self>, Complaint> {
        let events: Vec<&Event> = execution.events.iter().filter(|e| e.call.library == name).collect();
        let library = libraries.get(name).expect("a name of the set");
        if events.is_empty() {
            return Ok(None);
        }
        if !library.admits(&execution.world, &events) {
            return Err(Complaint::Malformed(format!("{name} does not admit these calls")));
        }
        if !library.is_well_formed(&execution.world, &events) {
            return Ok(None);
        }
        let reading = Self::new(libraries, execution, name);
        reading.check_choices(|s| {
            let cell = execution.subs[s].sub.cell.expect("a read touches a cell");
            library.init(&execution.world, cell)
        })?;
        Ok(Some(reading))
    }

    fn own(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.execution.subs.len()).filter(|&s| self.event(s).call.library == self.library)
    }

    fn event(&self, s: usize) -> &Event {
        &self.execution.events[self.execution.subs[s].event]
    }

    /// Returns a subevent in the form that predicates and keys take.
    #[must_use]
    pub fn view(&self, s: usize) -> SubView<'_> {
        let (ex, sub) = (self.execution, &self.execution.subs[s]);
        SubView { world: &ex.world, event: self.event(s), sub: &sub.sub, nth: self.nth[sub.event] }
    }

    /// Returns the members of a set among the subevents of the library.
    #[must_use]
    pub fn members(&self, set: &Set) -> Vec<usize> {
        self.own().filter(|&s| set.has(&self.view(s))).collect()
    }

    fn chosen(&self, choice: usize) -> Pairs {
        let name = self.spec.choices[choice].0;
        let chosen = self.execution.chosen.iter().filter(|c| c.library == self.library && c.name == name);
        chosen.flat_map(|c| c.pairs.iter().copied()).collect()
    }

    fn all(&self, holds: impl Fn(usize, usize) -> bool) -> Pairs {
        self.own().flat_map(|a| self.own().map(move |b| (a, b))).filter(|&(a, b)| holds(a, b)).collect()
    }

    /// Computes the pairs of a relation, by definition.
    #[must_use]
    pub fn pairs(&self, rel: &Rel) -> Pairs {
        let ex = self.execution;
        match rel.expr() {
            RelExpr::Po => self.all(|a, b| ex.before_in_thread(a, b)),
            RelExpr::Ppo => self
                .all(|a, b| ex.before_in_thread(a, b) && self.libraries.to(ex.subs[a].sub.stamp, ex.subs[b].sub.stamp)),
            RelExpr::Hb => self.all(|a, b| self.hb.contains(&(a, b))),
            RelExpr::SameEvent => self.all(|a, b| ex.subs[a].event == ex.subs[b].event),
            RelExpr::SameThread => self.all(|a, b| self.event(a).thread == self.event(b).thread),
            RelExpr::Same(key) => {
                self.all(|a, b| key.of(&self.view(a)).is_some_and(|k| key.of(&self.view(b)) == Some(k)))
            }
            RelExpr::InTurn(from, to, key) => self.in_turn(from, to, key),
            RelExpr::On(set) => self.members(set).into_iter().map(|s| (s, s)).collect(),
            RelExpr::Cross(a, b) => {
                let right = self.members(b);
                self.members(a).into_iter().flat_map(|a| right.iter().map(move |&b| (a, b))).collect()
            }
            RelExpr::Chosen(choice) => self.chosen(*choice),
            RelExpr::BeforeAny(choice) => self.before_any(*choice),
            RelExpr::Union(a, b) => self.pairs(a).union(&self.pairs(b)).copied().collect(),
            RelExpr::Inter(a, b) => self.pairs(a).intersection(&self.pairs(b)).copied().collect(),
            RelExpr::Minus(a, b) => self.pairs(a).difference(&self.pairs(b)).copied().collect(),
            RelExpr::Seq(a, b) => {
                let right = self.pairs(b);
                let left = self.pairs(a);
                left.iter().flat_map(|&(x, y)| right.range((y, 0)..=(y, usize::MAX)).map(move |p| (x, p.1))).collect()
            }
            RelExpr::Inverse(a) => self.pairs(a).into_iter().map(|(a, b)| (b, a)).collect(),
            RelExpr::Plus(a) => closure(&self.pairs(a)),
        }
    }

    fn in_turn(&self, from: &Set, to: &Set, key: &Key) -> Pairs {
        let alike = |a: usize, b: usize| {
            let key = |s| key.of(&self.view(s));
            self.event(a).thread == self.event(b).thread && key(a).is_some() && key(a) == key(b)
        };
        let place = |all: &[usize], s: usize| {
            all.iter().filter(|&&o| alike(o, s) && self.execution.before_in_thread(o, s)).count()
        };
        let (from, to) = (self.members(from), self.members(to));
        self.all(|a, b| from.contains(&a) && to.contains(&b) && alike(a, b) && place(&from, a) == place(&to, b))
    }

    fn before_any(&self, choice: usize) -> Pairs {
        let Choice::ReadsFrom { reads, writes } = &self.spec.choices[choice].1 else {
            unreachable!("made by reads_from only")
        };
        let rf = self.chosen(choice);
        let (reads, writes) = (self.members(reads), self.members(writes));
        let initial = reads.into_iter().filter(|r| !rf.iter().any(|p| p.1 == *r));
        let cell = |s: usize| self.execution.subs[s].sub.cell;
        initial
            .flat_map(|r| writes.iter().map(move |&w| (r, w)))
            .filter(|&(r, w)| r != w && cell(r) == cell(w))
            .collect()
    }

    fn check_choices(&self, init: impl Fn(usize) -> Val) -> Result<(), Complaint> {
        for (index, (name, choice)) in self.spec.choices.iter().enumerate() {
            let pairs = self.chosen(index);
            let good = match choice {
                Choice::ReadsFrom { reads, writes } => self.is_reads_from(&pairs, reads, writes, &init),
                Choice::Order { members, key } => self.is_order(&pairs, &self.members(members), key),
                Choice::Orient { pairs: wanted } => is_orientation(&pairs, &self.pairs(wanted)),
            };
            if !good {
                return Err(Complaint::Malformed(format!("{}: {name} is not well formed", self.library)));
            }
        }
        Ok(())
    }

    fn is_reads_from(&self, rf: &Pairs, reads: &Set, writes: &Set, init: impl Fn(usize) -> Val) -> bool {
        let (reads, writes) = (self.members(reads), self.members(writes));
        let subs = &self.execution.subs;
        let pairs = rf.iter().all(|(w, r)| {
            writes.contains(w)
                && reads.contains(r)
                && subs[*w].sub.cell == subs[*r].sub.cell
                && subs[*w].wrote == subs[*r].read
                && rf.iter().filter(|p| p.1 == *r).count() == 1
        });
        let unread = reads.iter().filter(|r| !rf.iter().any(|p| p.1 == **r));
        pairs && unread.into_iter().all(|&r| subs[r].read == Some(init(r)))
    }

    fn is_order(&self, order: &Pairs, members: &[usize], key: &Key) -> bool {
        let class = |s: usize| key.of(&self.view(s));
        let inside = order.iter().all(|&(a, b)| {
            a != b && members.contains(&a) && members.contains(&b) && class(a).is_some() && class(a) == class(b)
        });
        let mut pairs = members.iter().flat_map(|&a| members.iter().map(move |&b| (a, b)));
        let total = pairs.all(|(a, b)| {
            a >= b || class(a).is_none() || class(a) != class(b) || order.contains(&(a, b)) != order.contains(&(b, a))
        });
        inside && total && closure(order) == *order
    }

    fn check_demands(&self) -> Result<(), Complaint> {
        for (axiom, demand, rel) in &self.spec.demands {
            let pairs = self.pairs(rel);
            let bad = match demand {
                Demand::Empty => pairs.first().copied(),
                Demand::Irreflexive => pairs.iter().find(|(a, b)| a == b).copied(),
            };
            if let Some(at) = bad {
                return Err(Complaint::Axiom { library: self.library, axiom, at });
            }
        }
        Ok(())
    }
}

fn is_orientation(chosen: &Pairs, wanted: &Pairs) -> bool {
    chosen.iter().all(|&(a, b)| a != b && (wanted.contains(&(a, b)) || wanted.contains(&(b, a))))
        && wanted.iter().all(|&(a, b)| a == b || chosen.contains(&(a, b)) != chosen.contains(&(b, a)))
}
