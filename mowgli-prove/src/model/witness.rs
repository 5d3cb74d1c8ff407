//! Executions as structures of the theory. They show that the hypotheses hold in some execution, and that the templates
//! fit.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli_core::event::{Call, Event, Reads, Sub, Writes, alike};
use mowgli_core::execution::{Execution, Pairs};
use mowgli_core::ids::{Loc, Node, Wid};
use mowgli_core::judge::{closure, judge};
use mowgli_core::value::Val;

use crate::error::{Contradiction, Error, contradiction, refusal};
use crate::model::{
    Concretisation, EARLIER, EARLIER_OTHER, EARLIER_ROUND, FIRST_AT, HAS_MEMBER, HAS_OTHER, IS_ROUND, LAST,
    LibraryTheory, MEMBER_AT, NO_ROUND, OTHER, RETURNED, ROUND, TAKES_PART, constant, ended_at, ends_of, number_in,
    of_library, passed_to, plus, result_of, way_of,
};
use crate::smt::term::{Structure, TUPLE, Theory};
use crate::template::kind::{Guard, Kind, Read, Role, RoleAt, Write};
use crate::template::pattern::{Datum, Each, Env, IndexElement, Leaf, Named, follows, numbers_in, word_of};

/// A subevent: its call, its role in the kind of the call, and its index. The index is the own node if there is no
/// index set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Element {
    call: usize,
    role: usize,
    at: IndexElement,
}

/// Returns the number of a node, thread or iteration.
fn number(of: IndexElement) -> usize {
    match of {
        IndexElement::Node(n) => usize::from(n.0) - 1,
        IndexElement::Thread(t) => t.index(),
        // 0 is the iteration of subevents outside loops.
        IndexElement::Round(n) => n + 1,
    }
}

/// One call of the client.
struct ClientCall {
    kind: usize,
    env: Env,
    /// The results, by position of the event in the template and its index.
    results: BTreeMap<(usize, IndexElement), Val>,
    /// The computed arguments, by position of the event and number of the argument, and the index of the event.
    passed: BTreeMap<(usize, usize, IndexElement), Val>,
    /// The computed numbers in names, by the index of their event.
    named: BTreeMap<(Named, IndexElement), Val>,
}

impl ClientCall {
    /// Returns the index of events without an index set.
    fn own(&self) -> IndexElement {
        IndexElement::Node(self.env.own)
    }
}

/// Returns the value of a datum where something with this index speaks of it. Results are given by the position and the
/// index of their event.
fn datum(env: &Env, results: &BTreeMap<(usize, IndexElement), Val>, at: IndexElement, datum: Datum) -> Option<Val> {
    let places = [at, IndexElement::Node(env.own)];
    let result = |event| places.into_iter().find_map(|at| results.get(&(event, at)).copied());
    match datum {
        Datum::Result(event) => result(event),
        Datum::Sum(event, k) => result(event).map(|v| v.plus(k).unwrap_or(v)),
        Datum::Results(first, words) => {
            (first..first + words).map(result).collect::<Option<Vec<Val>>>().map(|words| Val::tuple(&words))
        }
        other => env.datum(other),
    }
}

/// The most words of a tuple, so that the table of tuples stays finite.
const MOST_WORDS: usize = 8;

fn flag(value: bool) -> usize {
    usize::from(value)
}

fn index<T: PartialEq>(all: &[T], one: &T) -> usize {
    all.iter().position(|x| x == one).unwrap_or(0)
}

/// Returns the structure of an execution of the implementation.
///
/// # Errors
/// If the templates do not fit the execution, or the encoding disagrees with the judge.
pub fn structure(
    model: &LibraryTheory<'_>,
    g: &Concretisation,
    theory: &Theory,
    execution: &Execution,
) -> Result<Structure<'static>, Error> {
    let judged =
        judge(model.source.below, execution).map_err(|why| contradiction!("the judge does not accept it: {why}"))?;
    let mut calls = Vec::new();
    let mut subs: Vec<Element> = Vec::new();
    let mut place = vec![None; execution.subs.len()];
    let mut left_out = 0;
    for (call, replaced) in execution.calls.iter().enumerate() {
        let event = &replaced.event;
        let mut env = Env::new(&execution.world, event.thread, &event.call);
        env.returned = Some(event.ret);
        let actual: Vec<usize> =
            (0..execution.subs.len()).filter(|&s| execution.groups[execution.subs[s].event] == Some(call)).collect();
        let taken = |kind| as_kind(model, execution, kind, &event.call, &actual, &env);
        let fitting: Vec<(usize, Taken)> =
            (0..model.kinds.len()).filter_map(|kind| Some((kind, taken(kind)?))).collect();
        let [(kind, Taken { elements, results, subs: kept })] = &fitting[..] else {
            return Err(unfit(model, &event.call, fitting.len()));
        };
        let (mut passed, mut named) = (BTreeMap::new(), BTreeMap::new());
        left_out += actual.len() - kept.len();
        for ((role, at), &s) in elements.iter().zip(kept) {
            let event = model.kinds[*kind].concrete[*role].position.0;
            let args = || execution.events[execution.subs[s].event].call.args.iter().enumerate();
            passed.extend(args().map(|(argument, v)| ((event, argument, *at), *v)));
            let numbers = |(argument, v): (usize, &Val)| {
                let numbers = numbers_in(*v).into_iter();
                numbers
                    .map(move |(slot, n)| (((event, argument, slot), *at), Val::Int(n.try_into().unwrap_or(i64::MAX))))
            };
            named.extend(args().flat_map(numbers));
            place[s] = Some(subs.len());
            subs.push(Element { call, role: *role, at: *at });
        }
        calls.push(ClientCall { kind: *kind, env, results: results.clone(), passed, named });
    }
    if subs.len() + left_out != execution.subs.len() {
        return Err(contradiction!("there are events of no call").into());
    }
    let mut promises: Vec<Element> = Vec::new();
    for (call, called) in calls.iter().enumerate() {
        let placed = model.kinds[called.kind].abstractly(&called.env);
        promises.extend(placed.into_iter().map(|(role, at)| Element { call, role, at: at.unwrap_or(called.own()) }));
    }
    let filled = Filled { model, g, execution, calls, subs, promises, place };
    filled.keeps_promises()?;
    Ok(filled.structure(theory, &judged.hb)?)
}

/// Returns the reason why a call is not of exactly one kind.
fn unfit(model: &LibraryTheory<'_>, call: &Call, fitting: usize) -> Error {
    let method = call.method;
    if fitting > 1 {
        return refusal!(
            "{fitting} templates of {method} fit {call}, and no equality of data distinguishes them: let its body compare data by `==`"
        )
        .into();
    }
    let kinds = || model.kinds.iter().filter(|kind| kind.forms_of(call).next().is_some());
    let waits = |kind: &Kind| {
        let is_in_loop = |r: &Role| r.in_loop && kind.left_out != Some(r.position.0);
        kind.concrete.iter().any(|r| is_in_loop(r) || r.each == Some(Each::Rounds))
    };
    let why = if kinds().any(waits) {
        "a template has one call of the last round of a loop that waits, and an execution may have more"
    } else if kinds().any(|kind| kind.left_out.is_some()) {
        "a template leaves out reads of which there are as many as a result says, and an execution has other calls there"
    } else {
        "an execution has other subevents, an error of Mowgli"
    };
    contradiction!("no template of {method} fits {call}: {why}").into()
}

/// A call, read as a call of one kind.
struct Taken {
    /// The roles of its subevents, with their indices.
    elements: Vec<(usize, IndexElement)>,
    /// The results of its events.
    results: BTreeMap<(usize, IndexElement), Val>,
    /// The subevents, without those of reads that the template leaves out.
    subs: Vec<usize>,
}

/// Reads a call as one of a kind. Returns `None` if it is not of the kind.
fn as_kind(
    model: &LibraryTheory<'_>,
    execution: &Execution,
    kind: usize,
    call: &Call,
    actual: &[usize],
    env: &Env,
) -> Option<Taken> {
    let own = IndexElement::Node(env.own);
    let kind = &model.kinds[kind];
    kind.forms_of(call).next()?;
    let is_like = |((r, _), s): (&RoleAt, &usize)| execution.subs[*s].sub.stamp.family() == kind.concrete[*r].family;
    let are_like = |expected: &[RoleAt], actual: &[usize]| {
        expected.len() == actual.len() && expected.iter().zip(actual).all(is_like)
    };
    let mut fitting = (0..actual.len()).flat_map(|rounds| with_rounds(kind, env, rounds));
    let env = if kind.has_rounds() { &fitting.find(|env| are_like(&kind.concretely(env), actual))? } else { env };
    let expected: Vec<RoleAt> = kind.concretely(env);
    let (actual, before) = without_rounds(execution, kind, &expected, actual)?;
    if !are_like(&expected, &actual) {
        return None;
    }
    // Without a loop through all threads the thread is arbitrary, because nothing depends on it.
    let ended = IndexElement::Thread(execution.world.tids().nth(before).unwrap_or(env.thread));
    let of_role = |(role, at): RoleAt| match kind.concrete[role].each {
        Some(Each::Ended(_)) => (role, ended),
        _ => (role, at.unwrap_or(own)),
    };
    let elements: Vec<(usize, IndexElement)> = expected.into_iter().map(of_role).collect();
    let result = |((role, at), s): (&(usize, IndexElement), &usize)| {
        // A loop ends once, so the result that ended it belongs to the call.
        let at = if matches!(kind.concrete[*role].each, Some(Each::Ended(_))) { own } else { *at };
        ((kind.concrete[*role].position.0, at), execution.events[execution.subs[*s].event].ret)
    };
    let results: BTreeMap<(usize, IndexElement), Val> = elements.iter().zip(&actual).map(result).collect();
    let value = |of: Datum| datum(env, &results, own, of);
    let holds = |guard: &Guard| (value(guard.one) == value(guard.other)) == guard.are_equal;
    let is_of = kind.forms_of(call).any(|form| form.given.iter().all(holds));
    is_of.then_some(Taken { elements, results, subs: actual })
}

/// Returns the contexts of a call with this many iterations, one for each choice of ways.
fn with_rounds(kind: &Kind, env: &Env, rounds: usize) -> impl Iterator<Item = Env> {
    let events = kind.ways_in_rounds().into_iter().cartesian_product(0..rounds);
    let ways = events.map(|((event, ways), round)| {
        (0..ways).map(move |way| ((event, Some(IndexElement::Round(round))), way)).collect::<Vec<_>>()
    });
    let choices: Vec<Vec<_>> = ways.multi_cartesian_product().collect();
    let env = env.clone();
    choices.into_iter().map(move |ways| Env { rounds: Some(rounds), ways, ..env.clone() })
}

/// Returns the subevents of a call without the reads that the template leaves out.
///
/// For a loop through all threads these are the reads of the last round before the one that ended it. The second result
/// is their number.
fn without_rounds(
    execution: &Execution,
    kind: &Kind,
    expected: &[RoleAt],
    actual: &[usize],
) -> Option<(Vec<usize>, usize)> {
    let is_of = |event: usize| {
        let (library, method, _) = kind.made[event];
        move |s: &usize| {
            let call = &execution.events[execution.subs[*s].event].call;
            (call.library, call.method) == (library, method)
        }
    };
    let is_end = |(r, _): &RoleAt| matches!(kind.concrete[*r].each, Some(Each::Ended(_)));
    let ends: Vec<usize> = expected.iter().positions(is_end).collect();
    let before = actual.len().checked_sub(expected.len())?;
    if let Some(event) = kind.left_out {
        let last = expected.iter().rposition(|(r, _)| kind.concrete[*r].position.0 == event)?;
        let (first, rest) = actual.split_at(last + 1);
        let (left_out, rest) = rest.split_at(before);
        return left_out.iter().all(is_of(event)).then(|| ([first, rest].concat(), 0));
    }
    let &[end] = &ends[..] else { return (before == 0).then(|| (actual.to_vec(), 0)) };
    let is_alike = is_of(kind.concrete[expected[end].0].position.0);
    let (first, rest) = actual.split_at(end);
    let (left_out, last) = rest.split_at(before);
    left_out.iter().all(is_alike).then(|| ([first, last].concat(), before))
}

struct Filled<'m, 'a> {
    model: &'m LibraryTheory<'a>,
    g: &'m Concretisation,
    execution: &'m Execution,
    calls: Vec<ClientCall>,
    /// The subevents, call by call.
    subs: Vec<Element>,
    promises: Vec<Element>,
    /// The positions in `subs` of the subevents of the execution; `None` if the template leaves the subevent out.
    place: Vec<Option<usize>>,
}

impl Filled<'_, '_> {
    fn role(&self, s: Element, concrete: bool) -> &Role {
        let kind = &self.model.kinds[self.calls[s.call].kind];
        if concrete { &kind.concrete[s.role] } else { &kind.abstract_[s.role] }
    }

    fn datum(&self, s: Element, of: Datum) -> Val {
        let called = &self.calls[s.call];
        let value = match of {
            Datum::Passed(event, argument) => {
                let places = [s.at, called.own()];
                places.into_iter().find_map(|at| called.passed.get(&(event, argument, at)).copied())
            }
            other => datum(&called.env, &called.results, s.at, other),
        };
        value.unwrap_or(Val::Unit)
    }

    fn image(&self, a: Element) -> Option<usize> {
        let role = *self.g.get(&(self.calls[a.call].kind, a.role))?;
        let called = &self.calls[a.call];
        let each = self.model.kinds[called.kind].concrete[role].each;
        let at = match each {
            Some(Each::Nodes(_)) => a.at,
            Some(Each::Members(members)) => *called.env.places(Each::Members(members)).last()?,
            Some(Each::Rounds) => return None,
            Some(Each::Ended(_)) => return self.subs.iter().position(|s| s.call == a.call && s.role == role),
            None => called.own(),
        };
        self.subs.iter().position(|s| *s == Element { call: a.call, role, at })
    }

    fn tuple(&self, s: Element, words: &[Datum]) -> Val {
        Val::tuple(&words.iter().map(|datum| self.datum(s, *datum)).collect::<Vec<Val>>())
    }

    /// Returns the promise of the same call whose read determines the written value.
    fn source(&self, a: Element, from: usize) -> Option<usize> {
        let is_it =
            |b: &Element| b.call == a.call && b.role == from && (b.at == a.at || self.role(*b, false).each.is_none());
        self.promises.iter().position(is_it)
    }

    /// Compares the promises of the templates with the specification's shapes of each call, for the value that its body
    /// returned.
    fn keeps_promises(&self) -> Result<(), Contradiction> {
        let (ex, model) = (self.execution, self.model);
        let mut promises = self.promises.iter().copied().enumerate().peekable();
        for (call, replaced) in ex.calls.iter().enumerate() {
            let event = &replaced.event;
            let own: Vec<(usize, Element)> = std::iter::from_fn(|| promises.next_if(|(_, a)| a.call == call)).collect();
            let shapes = model.source.specification.of(&event.call).shapes(&ex.world, event);
            let wrong = |what: &str| {
                contradiction!(
                    "the template of {} is wrong: {what} of {event} is not what the specification says",
                    event.call.method
                )
            };
            let [shape] = &shapes[..] else { return Err(wrong("the number of ways in which it can happen")) };
            if shape.len() != own.len() {
                return Err(wrong("the number of subevents"));
            }
            let first = own.first().map_or(0, |(i, _)| *i);
            for ((_, a), sub) in own.iter().zip(shape) {
                if let Some(what) = self.differs(*a, sub, (event, first)) {
                    return Err(wrong(what));
                }
            }
        }
        Ok(())
    }

    /// Returns the first difference between a promise and this subevent of the specification, if there is one. `first`
    /// is the position of the first promise of its event.
    fn differs(&self, a: Element, sub: &Sub, (event, first): (&Event, usize)) -> Option<&'static str> {
        let role = self.role(a, false);
        let is_node = match (&role.stamp_node, sub.stamp.node()) {
            (Some(leaf), Some(node)) => self.is(a, leaf, Val::Int(i64::from(node.0))),
            (leaf, node) => leaf.is_none() && node.is_none(),
        };
        if sub.stamp.family() != role.family || !is_node {
            return Some("a stamp");
        }
        let cell = sub.cell.map(|cell| Val::tuple(&[Val::Loc(cell.loc), Val::Node(cell.node)]));
        let is_cell = match (&role.cell, cell) {
            (Some(pattern), Some(cell)) => follows(cell, pattern, |leaf, part| self.is(a, leaf, part)),
            (known, cell) => known.is_none() && cell.is_none(),
        };
        if !is_cell {
            return Some("a cell");
        }
        let read = |a: Element| self.read_by(a);
        let is_read = match (&role.reads, sub.reads) {
            (Some(Read::IsNot(datum)), Some(Reads::IsNot(v))) => self.datum(a, *datum) == v,
            (Some(Read::IsNot(_)), _) | (_, Some(Reads::IsNot(_))) => false,
            (Some(_), Some(Reads::Is(v))) => read(a) == Some(v),
            (known, Some(Reads::Any)) => known.is_some(),
            (known, None) => known.is_none(),
            (None, Some(Reads::Is(_))) => false,
        };
        if !is_read {
            return Some("what is read");
        }
        let of = |from: usize| self.promises.get(first + from).and_then(|b| read(*b));
        let written = match sub.writes {
            None => None,
            Some(Writes::Is(v)) => Some(Some(v)),
            Some(Writes::Copy(from)) => Some(of(from)),
            Some(Writes::Step(from)) => {
                Some(of(from).and_then(|v| self.model.source.specification.of(&event.call).step(event, v)))
            }
        };
        (role.writes.as_ref().map(|_| self.written_by(a)) != written).then_some("what is written")
    }

    /// True if a leaf of a promise's pattern stands for this part of a value.
    fn is(&self, a: Element, leaf: &Leaf, part: Val) -> bool {
        let called = &self.calls[a.call];
        match leaf {
            Leaf::Datum(datum) => self.datum(a, *datum) == part,
            Leaf::Named(of) => {
                let places = [a.at, called.own()];
                places.iter().any(|at| called.named.get(&(*of, *at)) == Some(&part))
            }
            other => called.env.at(Some(a.at)).is(other, part),
        }
    }

    /// Returns the value that a promise reads, if it is known.
    fn read_by(&self, a: Element) -> Option<Val> {
        let read =
            |s: usize| self.place.iter().position(|new| *new == Some(s)).and_then(|old| self.execution.subs[old].read);
        match &self.role(a, false).reads {
            Some(Read::Is(datum)) => Some(self.datum(a, *datum)),
            Some(Read::Words(all)) => Some(self.tuple(a, all)),
            Some(_) => self.image(a).and_then(read),
            None => None,
        }
    }

    /// Returns the value that a promise writes, if it is known.
    fn written_by(&self, a: Element) -> Option<Val> {
        let read = |from: usize| self.source(a, from).and_then(|b| self.read_by(self.promises[b]));
        match self.role(a, false).writes.as_ref()? {
            Write::Is(datum) => Some(self.datum(a, *datum)),
            Write::Words(all) => Some(self.tuple(a, all)),
            Write::Copy(from) => read(*from),
            Write::Plus(from, datum) => self.datum(a, *datum).int().and_then(|k| read(*from)?.plus(k)),
        }
    }

    fn structure(&self, theory: &Theory, hb: &Pairs) -> Result<Structure<'static>, Contradiction> {
        let (ex, model) = (self.execution, self.model);
        let n = self.subs.len();
        let mut back = vec![0; n];
        self.place
            .iter()
            .enumerate()
            .filter_map(|(old, new)| Some((old, (*new)?)))
            .for_each(|(old, new)| back[new] = old);
        let reads: Vec<Option<Val>> = (0..n).map(|s| ex.subs[back[s]].read).collect();
        let wrote: Vec<Option<Val>> = (0..n).map(|s| ex.subs[back[s]].wrote).collect();
        let initial: Vec<Option<Val>> = (0..n)
            .map(|s| {
                let library = model.source.below.of(&ex.events[ex.subs[back[s]].event].call);
                ex.subs[back[s]].sub.cell.map(|cell| library.init(&ex.world, cell))
            })
            .collect();
        let abs_reads: Vec<Option<Val>> = self.promises.iter().map(|a| self.read_by(*a)).collect();
        let abs_wrote: Vec<Option<Val>> = self.promises.iter().map(|a| self.written_by(*a)).collect();
        let abs_initial: Vec<Option<Val>> =
            self.promises.iter().map(|&a| self.role(a, false).initial.map(|d| self.datum(a, d))).collect();
        let mut values: BTreeSet<Option<Val>> = [None].into();
        for all in [&reads, &wrote, &initial, &abs_reads, &abs_wrote, &abs_initial] {
            values.extend(all);
        }
        values.extend(
            self.calls
                .iter()
                .flat_map(|c| c.env.args.iter().chain(c.results.values()).chain(c.passed.values()).copied().map(Some)),
        );
        values.extend(self.calls.iter().flat_map(|c| c.named.values().copied().chain(c.env.returned).map(Some)));
        let words =
            |v: &Option<Val>| (0..MOST_WORDS).map_while(|word| word_of((*v)?, word)).map(Some).collect::<Vec<_>>();
        values.extend(values.iter().flat_map(words).collect::<Vec<_>>());
        // Add sums too, because a theory speaks of them even if no call has them.
        for k in self.model.added() {
            values.extend(values.clone().into_iter().map(|v| v.map(|v| v.plus(k).unwrap_or(v))));
        }
        values.extend(ex.world.objects.values().map(|o| Some(o.init)));
        values.extend(self.model.constants.iter().map(|v| Some(*v)));
        let values: Vec<Option<Val>> = values.into_iter().collect();
        let value = |v: Option<Val>| index(&values, &v);
        let numbers = |all: Vec<Option<Val>>| all.into_iter().map(value).collect::<Vec<usize>>();
        let mut structure = Structure::default();
        structure.define(theory);
        let sums = values.clone();
        let sum = move |p: &[usize]| sums[p[1]].and_then(Val::int).and_then(|k| sums[p[0]]?.plus(k));
        let all = values.clone();
        structure.table("have.sum", {
            let sum = sum.clone();
            move |p| flag(sum(p).is_some())
        });
        structure.table("plus", move |p| sum(p).map_or(0, |v| index(&all, &Some(v))));
        // An integer is its own element.
        let all: Vec<Option<i64>> = values.iter().map(|v| v.and_then(Val::int)).collect();
        structure.table("number", {
            let all = all.clone();
            move |p| flag(all[p[0]].is_some())
        });
        structure.table("int", move |p| all[p[0]].unwrap_or(0) as usize);
        for k in self.model.added() {
            let all = values.clone();
            let of = move |v: Option<Val>| v.map(|v| v.plus(k).unwrap_or(v));
            structure.table(&plus(k), move |p| index(&all, &of(all[p[0]])));
        }
        for n in 1..=MOST_WORDS {
            let all = values.clone();
            let tuple = move |p: &[usize]| {
                let words: Option<Vec<Val>> = p.iter().map(|word| all[*word]).collect();
                words.and_then(|words| all.iter().position(|v| *v == Some(Val::tuple(&words)))).unwrap_or(0)
            };
            structure.table(&format!("{TUPLE}{n}"), tuple);
        }
        self.clients(&mut structure, &values);
        let [reads, wrote, initial] = [reads, wrote, initial].map(numbers);
        let [abs_reads, abs_wrote, abs_initial] = [abs_reads, abs_wrote, abs_initial].map(numbers);
        self.elements(&mut structure, "", &self.subs, true, [reads, wrote, initial]);
        self.elements(&mut structure, "abs.", &self.promises, false, [abs_reads, abs_wrote, abs_initial]);
        let nth = Vec::from_iter((0..n).map(|s| self.nth(back[s])));
        structure.function("nth", nth);
        let of_calls: Vec<usize> = (0..self.calls.len()).map(|c| self.nth_call(c)).collect();
        let of_promises: Vec<usize> = self.promises.iter().map(|a| of_calls[a.call]).collect();
        structure.function("nth.call", of_calls);
        structure.function("abs.nth", of_promises);
        let kept = |&(a, b): &(usize, usize)| Some((self.place[a]?, self.place[b]?));
        let hb: Pairs = hb.iter().filter_map(kept).collect();
        let images: Vec<usize> = self.promises.iter().map(|a| self.image(*a).unwrap_or(0)).collect();
        structure.function("g", images.clone());
        let above = hb.clone();
        structure.table("abs.hb", move |p| flag(above.contains(&(images[p[0]], images[p[1]]))));
        structure.relation("hb", hb);
        let inverse = self.model.promise_of(self.g);
        let promise_of = |s: &Element| {
            let role = *inverse.get(&(self.calls[s.call].kind, s.role))?;
            self.promises.iter().position(|a| *a == Element { role, ..*s })
        };
        let promise: Vec<usize> = self.subs.iter().map(|s| promise_of(s).unwrap_or(0)).collect();
        structure.function("promise", promise);
        for encoding in self.model.lower.iter().chain(&self.model.assumption) {
            for (name, _) in &encoding.choices {
                let chosen = ex.chosen.iter().filter(|c| *name == format!("{}{}", of_library(c.library), c.name));
                structure.relation(name, chosen.flat_map(|c| c.pairs.iter().filter_map(kept)).collect());
            }
            // A theory may lack the specifications.
            for (name, inner) in encoding.closures.iter().filter(|(_, inner)| structure.has(inner)).collect::<Vec<_>>()
            {
                structure.relation(name, closure(&structure.pairs(inner, n)?));
            }
        }
        let matching = self.model.matching().into_iter().filter(|(_, p)| structure.has(&p.relation));
        for (mate, partner) in matching.collect::<Vec<_>>() {
            let n = self.promises.len();
            let mut matching = vec![0; n];
            for (one, other) in structure.pairs(&partner.relation, n)? {
                let (a, b) = if partner.is_second { (one, other) } else { (other, one) };
                matching[a] = b;
            }
            structure.function(&mate, matching);
        }
        for name in self.model.in_order(self.g).into_iter().filter(|name| structure.has(name)).collect::<Vec<_>>() {
            let last = self.last_before(&structure, &name)?;
            structure.function(&format!("{name}.last"), last);
        }
        Ok(structure)
    }

    /// Returns for each promise the last one before it that may be the source of its read.
    fn last_before(&self, structure: &Structure<'_>, name: &str) -> Result<Vec<usize>, Contradiction> {
        let n = self.promises.len();
        let has = |predicate: &str, a, b| {
            Ok::<_, Contradiction>(structure.apply(&format!("{name}.{predicate}"), &[a, b])? == 1)
        };
        let last = |b: usize| {
            let mut last = None;
            for a in 0..n {
                if has("may", a, b)? && last.map_or(Ok(true), |known| has("order", known, a))? {
                    last = Some(a);
                }
            }
            Ok(last.unwrap_or(0))
        };
        (0..n).map(last).collect()
    }

    /// Returns the number of earlier events of the thread that are like the event of a subevent.
    fn nth(&self, s: usize) -> usize {
        let event = self.execution.subs[s].event;
        let of = &self.execution.events[event];
        alike(&self.execution.events[..event], of.thread, &of.call)
    }

    /// Returns the number of earlier calls of the thread that are like this one.
    fn nth_call(&self, call: usize) -> usize {
        let of = &self.execution.calls[call].event;
        alike(self.execution.calls[..call].iter().map(|c| &c.event), of.thread, &of.call)
    }

    fn clients(&self, structure: &mut Structure<'static>, values: &[Option<Val>]) {
        let (ex, model) = (self.execution, self.model);
        let locations = ex.world.locations(model.source.library);
        self.members(structure, &locations);
        let identifiers: BTreeSet<Wid> = self
            .calls
            .iter()
            .flat_map(|c| c.env.args.iter().filter_map(|v| if let Val::Wid(d) = v { Some(*d) } else { None }))
            .collect();
        let identifiers: Vec<Wid> = identifiers.into_iter().collect();
        for (sort, size) in [
            ("Call", self.calls.len()),
            ("Thread", ex.world.threads.len()),
            ("Node", usize::from(ex.world.nodes)),
            ("Location", locations.len()),
            ("Identifier", identifiers.len()),
            ("Value", values.len()),
            ("Count", ex.events.len() + 1),
            ("Sub", self.subs.len()),
            ("Abs", self.promises.len()),
        ] {
            structure.size(sort, size);
        }
        let of_call = |of: &dyn Fn(&ClientCall) -> usize| self.calls.iter().map(of).collect::<Vec<usize>>();
        let mut give = |name: String, all: Vec<usize>| structure.function(&name, all);
        give("kind".into(), of_call(&|c| c.kind));
        give("thread".into(), of_call(&|c| c.env.thread.index()));
        let number = |n: Node| number(IndexElement::Node(n));
        give("node".into(), ex.world.threads.iter().map(|n| number(*n)).collect());
        give("home".into(), locations.iter().map(|x| ex.world.home(*x).map_or(0, number)).collect());
        let initial = |x: &Loc| index(values, &Some(ex.world.objects[x].init));
        give("init".into(), locations.iter().map(initial).collect());
        let round = |s: &Element| {
            if matches!(s.at, IndexElement::Round(_)) { Some((s.call, self::number(s.at))) } else { None }
        };
        let rounds: BTreeSet<(usize, usize)> = self.subs.iter().filter_map(round).collect();
        structure.size(ROUND, 1 + rounds.iter().map(|(_, n)| *n).max().unwrap_or(0));
        structure.relation(IS_ROUND, rounds);
        structure.table(EARLIER_ROUND, |p| flag(p[0] < p[1]));
        structure.table(NO_ROUND, |_| 0);
        for (event, ways) in model.kinds.iter().flat_map(Kind::ways_in_rounds) {
            for way in 0..ways {
                let is_it = |s: &&Element| {
                    let role = self.role(**s, true);
                    (role.position.0, role.way) == (event, Some(way))
                };
                let there: BTreeSet<(usize, usize)> =
                    self.subs.iter().filter(is_it).map(|s| (s.call, self::number(s.at))).collect();
                structure.relation(&way_of(event, way), there);
            }
        }
        for event in model.kinds.iter().flat_map(ends_of) {
            let is_end = |s: &&Element| {
                let role = self.role(**s, true);
                role.each == Some(Each::Ended(event))
            };
            let ended: BTreeMap<usize, usize> =
                self.subs.iter().filter(is_end).map(|s| (s.call, self::number(s.at))).collect();
            structure.table(&ended_at(event), move |p| ended.get(&p[0]).copied().unwrap_or(0));
        }
        let most = self.calls.iter().map(|c| c.env.args.len()).max().unwrap_or(0);
        let mut give = |name: String, all: Vec<usize>| structure.function(&name, all);
        for i in 0..most {
            let arg = |c: &ClientCall| c.env.args.get(i).copied().unwrap_or(Val::Unit);
            give(format!("location.{i}"), of_call(&|c| arg(c).loc().map_or(0, |x| index(&locations, &x))));
            let identifier = |v| if let Val::Wid(d) = v { index(&identifiers, &d) } else { 0 };
            give(format!("identifier.{i}"), of_call(&|c| identifier(arg(c))));
            let node = |v| if let Val::Node(n) = v { number(n) } else { 0 };
            give(format!("node.{i}"), of_call(&|c| node(arg(c))));
            give(format!("datum.{i}"), of_call(&|c| index(values, &Some(arg(c)))));
            for word in 0..MOST_WORDS {
                give(format!("datum.{i}.{word}"), of_call(&|c| index(values, &word_of(arg(c), word))));
            }
        }
        for i in 0..most {
            let sets: Vec<_> =
                self.calls.iter().map(|c| c.env.args.get(i).and_then(|v| v.nodes()).unwrap_or_default()).collect();
            structure.table(&format!("in.{i}"), move |p| {
                flag(sets[p[0]].contains(Node(u8::try_from(p[1] + 1).unwrap_or(0))))
            });
        }
        let returned = of_call(&|c| index(values, &c.env.returned));
        structure.function(RETURNED, returned);
        let threads = of_call(&|c| c.env.thread.index());
        // Numbers give program order, because calls of one thread are numbered in it.
        structure.table("po.call", move |p| flag(p[0] < p[1] && threads[p[0]] == threads[p[1]]));
        structure.table("below", |p| flag(p[0] < p[1]));
        for value in &self.model.constants {
            let element = index(values, &Some(*value));
            structure.table(&constant(*value), move |_| element);
        }
        for (k, kind) in model.kinds.iter().enumerate() {
            // Adds the table of a function of a call and an index, for calls of this kind.
            let mut give = |function: String, own: &dyn Fn(&ClientCall) -> Vec<(IndexElement, Val)>| {
                let calls = self.calls.iter().enumerate().filter(|(_, c)| c.kind == k);
                let of_call = |(call, c)| {
                    own(c).into_iter().map(move |(at, v)| ((call, self::number(at)), index(values, &Some(v))))
                };
                let table: BTreeMap<(usize, usize), usize> = calls.flat_map(of_call).collect();
                structure.table(&function, move |p| table.get(&(p[0], p[1])).copied().unwrap_or(0));
            };
            for (event, argument) in kind.passed() {
                let own = |c: &ClientCall| {
                    let own = c.passed.iter().filter(|((e, i, _), _)| (*e, *i) == (event, argument));
                    own.map(|((_, _, at), v)| (*at, *v)).collect()
                };
                give(passed_to(&kind.name, event, argument), &own);
            }
            for of in kind.named() {
                let own = |c: &ClientCall| {
                    c.named.iter().filter(|((known, _), _)| *known == of).map(|((_, at), v)| (*at, *v)).collect()
                };
                give(number_in(&kind.name, of), &own);
            }
            for role in &kind.concrete {
                let event = role.position.0;
                let own = |c: &ClientCall| {
                    c.results.iter().filter(|((e, _), _)| *e == event).map(|((_, at), v)| (*at, *v)).collect()
                };
                give(result_of(&kind.name, event), &own);
            }
        }
    }

    /// Adds the tables of the threads that take part in objects.
    fn members(&self, structure: &mut Structure<'static>, locations: &[Loc]) {
        let world = &self.execution.world;
        let all: Vec<Vec<usize>> =
            locations.iter().map(|x| world.objects[x].members.iter().map(|t| t.index()).collect()).collect();
        let nodes: Vec<Vec<usize>> = locations
            .iter()
            .map(|x| world.member_nodes(*x).iter().map(|n| number(IndexElement::Node(n))).collect())
            .collect();
        let position = |all: &[Vec<usize>], p: &[usize], t: usize| all[p[0]].iter().position(|m| *m == p[t]);
        let others: Vec<Vec<usize>> = all.iter().map(|members| members[members.len().min(1)..].to_vec()).collect();
        let node_of: Vec<usize> = world.threads.iter().map(|n| number(IndexElement::Node(*n))).collect();
        let first: Vec<usize> = all.iter().map(|members| members.first().map_or(0, |t| node_of[*t])).collect();
        structure.function(FIRST_AT, first);
        structure.table(HAS_OTHER, {
            let (others, node_of) = (others.clone(), node_of.clone());
            move |p| flag(others[p[0]].iter().any(|t| node_of[*t] == p[1]))
        });
        structure.table(OTHER, {
            let others = others.clone();
            move |p| flag(position(&others, p, 1).is_some())
        });
        structure.table(EARLIER_OTHER, move |p| {
            flag(position(&others, p, 1).zip(position(&others, p, 2)).is_some_and(|(one, other)| one < other))
        });
        structure.table(MEMBER_AT, {
            let all = all.clone();
            move |p| all[p[0]].iter().copied().find(|t| node_of[*t] == p[1]).unwrap_or(0)
        });
        structure.table(HAS_MEMBER, move |p| flag(nodes[p[0]].contains(&p[1])));
        structure.table(TAKES_PART, {
            let all = all.clone();
            move |p| flag(position(&all, p, 1).is_some())
        });
        structure.table(LAST, {
            let all = all.clone();
            move |p| all[p[0]].last().copied().unwrap_or(0)
        });
        structure.table(EARLIER, move |p| {
            flag(position(&all, p, 1).zip(position(&all, p, 2)).is_some_and(|(one, other)| one < other))
        });
    }

    /// Returns the subevents of one side.
    fn elements(
        &self,
        structure: &mut Structure<'static>,
        shared: &str,
        all: &[Element],
        concrete: bool,
        [reads, wrote, initial]: [Vec<usize>; 3],
    ) {
        let kinds = self.model.kinds;
        let roles = |k: usize| if concrete { &kinds[k].concrete } else { &kinds[k].abstract_ };
        let first = |k: usize| (0..k).map(|k| roles(k).len()).sum::<usize>();
        let number: Vec<usize> = all.iter().map(|s| first(self.calls[s.call].kind) + s.role).collect();
        let calls: Vec<usize> = all.iter().map(|s| s.call).collect();
        let own = |s: &Element| self::number(self.calls[s.call].own());
        let rounds =
            all.iter().map(|s| if matches!(s.at, IndexElement::Round(_)) { self::number(s.at) } else { 0 }).collect();
        let node = |s: &Element| if matches!(s.at, IndexElement::Node(_)) { self::number(s.at) } else { own(s) };
        let thread = |s: &Element| {
            if matches!(s.at, IndexElement::Thread(_)) {
                self::number(s.at)
            } else {
                self.calls[s.call].env.thread.index()
            }
        };
        let (nodes, threads) = (all.iter().map(node).collect(), all.iter().map(thread).collect());
        for (name, table) in [
            ("call", calls),
            ("role", number),
            ("at", nodes),
            ("member", threads),
            ("round", rounds),
            ("read", reads),
            ("wrote", wrote),
            ("initial", initial),
        ] {
            structure.function(&format!("{shared}{name}"), table);
        }
        for (k, kind) in kinds.iter().enumerate() {
            let roles = if concrete { &kind.concrete } else { &kind.abstract_ };
            for (r, role) in roles.iter().enumerate() {
                let of = |(i, s): (usize, &Element)| {
                    (self.calls[s.call].kind == k && s.role == r).then(|| ((s.call, self::number(s.at)), i))
                };
                let there: BTreeMap<(usize, usize), usize> = all.iter().enumerate().filter_map(of).collect();
                structure.table(&format!("the.{}", role.name), move |p| there.get(&(p[0], p[1])).copied().unwrap_or(0));
            }
        }
    }
}
