//! Edits of litmus tests. An edit takes a statement out of a thread, or none, and puts something into a gap between statements.
//!
//! So an insertion takes nothing out; a move puts the statement into another gap; an atomic in place of a put takes the put out. A
//! weakening begins with a test that lacks its fences and waits, and its edits put them back.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Tid, Wid};
use mowgli_core::rewrite::repair::{Gap, Insertions, Offer, Remedies};
use mowgli_core::search::refute::CycleEnd;
use mowgli_core::value::Val;

use crate::litmus::print::written;
use crate::litmus::test::{Arg, Statement, Test, TestThread};

/// The cost of a move of a statement that only orders, under the name by which `--cost` changes it.
pub const MOVE: (&str, u64) = ("move", 1);

/// The cost of a swap of two accesses: dear, because a test says less than its author means by their order.
pub(crate) const SWAP: (&str, u64) = ("swap", 15);

/// The costs of a model, by kind.
pub type Prices = BTreeMap<&'static str, u64>;

/// Something that an edit puts into a gap.
#[derive(Clone)]
pub(crate) enum GapInsertion {
    /// New calls.
    Calls(Offer),
    /// A statement of the test, by its position.
    Own(usize),
}

/// An edit of a thread.
#[derive(Clone)]
pub(crate) struct ThreadEdit {
    pub(crate) thread: usize,
    /// The statement that follows the gap; at the end, the number of statements.
    pub(crate) before: usize,
    pub(crate) what: GapInsertion,
    /// The statement that is taken out.
    pub(crate) takes: Option<usize>,
    pub(crate) cost: u64,
}

/// A test, with edits to choose from.
pub struct EditableTest<'a> {
    pub(crate) test: &'a Test,
    /// The statements that are left out unless an edit puts them back.
    pub(crate) gone: BTreeSet<(usize, usize)>,
    pub(crate) edits: Vec<ThreadEdit>,
}

/// The origin of a statement of a test with edits.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    /// Its position in the test without edits, if it is there.
    pub(crate) own: Option<usize>,
    /// The edit that put it here.
    pub(crate) edit: Option<usize>,
}

/// A test with edits.
pub struct RepairedTest {
    /// The test.
    pub test: Test,
    /// The origin of each statement, by thread.
    pub(crate) origins: Vec<Vec<Origin>>,
}

impl<'a> EditableTest<'a> {
    /// Returns a test with all insertions; `is_everywhere` is that of [`Gap`].
    pub(crate) fn insertions(
        test: &'a Test,
        remedies: &[Box<dyn Remedies>],
        prices: &Prices,
        is_everywhere: bool,
    ) -> Self {
        let places = GapPlace::all(test, remedies);
        let edits = places.flat_map(|place| {
            let offers = place.offers(is_everywhere);
            offers.into_iter().map(move |offer| place.insertion(offer, prices)).collect_vec()
        });
        Self { test, gone: BTreeSet::new(), edits: edits.collect() }
    }

    /// Returns a test with the edits that do more than order, or that may let later polls take other operations. Each
    /// is tried alone.
    pub(crate) fn others(test: &'a Test, remedies: &[Box<dyn Remedies>], prices: &Prices) -> Self {
        let moves = (0..test.threads.len()).flat_map(|thread| {
            let moved = |cost| {
                move |(from, before)| ThreadEdit {
                    thread,
                    before,
                    what: GapInsertion::Own(from),
                    takes: Some(from),
                    cost,
                }
            };
            let swaps = swaps(test, thread, remedies).into_iter().map(moved(prices[SWAP.0]));
            moves(test, thread, remedies).into_iter().map(moved(prices[MOVE.0])).chain(swaps)
        });
        let atomics = GapPlace::all(test, remedies).flat_map(|place| {
            let instead = |offer| ThreadEdit { takes: Some(place.at), ..place.insertion(offer, prices) };
            let inserted = place.atomics().into_iter().map(|offer| place.insertion(offer, prices));
            let replaced = place.instead().into_iter().chain(place.stronger());
            inserted.chain(replaced.map(instead)).collect_vec()
        });
        Self { test, gone: BTreeSet::new(), edits: moves.chain(atomics).collect() }
    }

    /// Returns a test without the statements that only order. Edits put each back, or a cheaper one in its place.
    pub(crate) fn weakenings(test: &'a Test, remedies: &[Box<dyn Remedies>], prices: &Prices) -> Self {
        let (mut gone, mut edits) = (BTreeSet::new(), Vec::new());
        for place in GapPlace::all(test, remedies) {
            let Some(kind) = place.kind() else { continue };
            let (thread, at, cost) = (place.thread, place.at, prices[kind]);
            gone.insert((thread, at));
            edits.push(ThreadEdit { thread, before: at, what: GapInsertion::Own(at), takes: None, cost });
            let cheaper = place.offers(false).into_iter().filter(|o| prices[o.kind] < cost);
            edits.extend(cheaper.map(|offer| place.insertion(offer, prices)));
        }
        Self { test, gone, edits }
    }

    pub(crate) fn costs(&self) -> Vec<u64> {
        self.edits.iter().map(|e| e.cost).collect()
    }

    /// The edits that put statements back: together they make a weakening the test as it stands.
    pub(crate) fn whole(&self) -> Insertions {
        self.edits.iter().positions(|e| e.takes.is_none() && matches!(e.what, GapInsertion::Own(_))).collect()
    }

    /// Returns the test with these edits.
    #[must_use]
    pub fn with(&self, set: &Insertions) -> RepairedTest {
        let mut test = self.test.clone();
        let mut origins = Vec::new();
        for (t, thread) in test.threads.iter_mut().enumerate() {
            let edits = set.iter().map(|&i| (i, &self.edits[i])).filter(|(_, e)| e.thread == t).collect_vec();
            let mut edited = EditedThread::new(self.test, t, &edits);
            for at in 0..=edited.old.statements.len() {
                // A call with a flag stands where it stood, behind what is inserted before it.
                let here = edits.iter().filter(|(_, e)| e.before == at).sorted_by_key(|(_, e)| e.takes == Some(at));
                here.for_each(|(i, e)| edited.apply(*i, e));
                let is_own = at < edited.old.statements.len() && !self.gone.contains(&(t, at));
                if is_own && edits.iter().all(|(_, e)| e.takes != Some(at)) {
                    edited.keep(at, at, None);
                }
            }
            (thread.statements, thread.source) = (edited.statements, edited.source);
            origins.push(edited.origins);
        }
        let offers = set.iter().filter_map(|&i| self.edits[i].offer());
        test.world.objects.extend(offers.flat_map(|offer| offer.objects.iter().cloned()));
        RepairedTest { test, origins }
    }

    /// Prints an edit: the new statement, its place, and the statement that it replaces.
    pub(crate) fn text(&self, i: usize) -> String {
        let ThreadEdit { thread, before, what, takes, .. } = &self.edits[i];
        let own = &self.test.threads[*thread];
        let placed = |at: usize| format!("{} (line {})", own.source[at].1, own.source[at].0);
        let gap = match own.statements[*before] {
            Statement::Else | Statement::End => {
                let (opener, line) = (&own.source[own.opener(*before)].1, own.source[*before].0);
                format!("at the end of {opener} ... }} (line {line})")
            }
            _ => format!("before {}", placed(*before)),
        };
        let calls = |offer: &Offer| {
            let earlier = (0..*before).filter(|&at| runs_before(own, at, *before));
            let calls = (offer.calls)(&earlier.filter_map(|at| call(&own.statements[at])).collect_vec());
            calls.iter().map(|call| written(self.test, &inserted(own, *takes, call))).join("; ")
        };
        let text = match (what, takes) {
            (GapInsertion::Calls(offer), Some(at)) => format!("{} in place of {}", calls(offer), placed(*at)),
            (GapInsertion::Calls(offer), None) => format!("{} {gap}", calls(offer)),
            (GapInsertion::Own(at), Some(_)) => format!("move {} {gap}", placed(*at)),
            (GapInsertion::Own(at), None) => placed(*at),
        };
        format!("{}: {text}", own.name)
    }
}

impl ThreadEdit {
    fn offer(&self) -> Option<&Offer> {
        if let GapInsertion::Calls(offer) = &self.what { Some(offer) } else { None }
    }
}

impl RepairedTest {
    /// The edit that put the call of this event there. In a thread that branches, it is known only of a call that occurs once.
    pub(crate) fn edit(&self, end: &CycleEnd) -> Option<usize> {
        let t = end.thread.index();
        let with_origin = self.test.threads[t].statements.iter().zip(&self.origins[t]);
        if !self.test.threads[t].statements.iter().any(Statement::opens) {
            let point = usize::from(self.test.world.may_stop(end.thread));
            let events = |s: &Statement| call(s).map_or(0, |_| point + s.sent().len() + 1);
            let mut event = with_origin.flat_map(|(s, origin)| std::iter::repeat_n(origin, events(s)));
            return event.nth(end.position)?.edit;
        }
        let alike =
            with_origin.filter(|(s, _)| call(s).as_ref() == Some(&end.event.call)).map(|(_, origin)| origin.edit);
        alike.unique().exactly_one().ok()?
    }
}

/// A thread that is written anew, with edits.
struct EditedThread<'a> {
    test: &'a Test,
    old: TestThread,
    statements: Vec<Statement>,
    source: Vec<(usize, String)>,
    origins: Vec<Origin>,
    /// The calls so far, each with the statement of the old thread that it is or that follows it.
    calls: Vec<(usize, Call)>,
}

impl<'a> EditedThread<'a> {
    fn new(test: &'a Test, thread: usize, edits: &[(usize, &ThreadEdit)]) -> Self {
        let mut old = test.threads[thread].clone();
        for (position, argument, id) in edits.iter().filter_map(|(_, e)| e.offer()?.named) {
            if let Statement::Call { args, .. } = &mut old.statements[position] {
                args[argument] = Arg::Val(id);
            }
        }
        Self { test, old, statements: Vec::new(), source: Vec::new(), origins: Vec::new(), calls: Vec::new() }
    }

    fn apply(&mut self, edit: usize, ThreadEdit { before, what, takes, .. }: &ThreadEdit) {
        let offer = match what {
            GapInsertion::Own(at) => return self.keep(*at, *before, Some(edit)),
            GapInsertion::Calls(offer) => offer,
        };
        let earlier = self.calls.iter().filter(|(at, _)| runs_before(&self.old, *at, *before));
        for call in (offer.calls)(&earlier.map(|(_, call)| call.clone()).collect_vec()) {
            let line = self.old.source.get(*before).or(self.old.source.last()).map_or(0, |(line, _)| *line);
            let new = inserted(&self.old, *takes, &call);
            self.source.push((line, written(self.test, &new)));
            self.statements.push(new);
            self.origins.push(Origin { own: takes.filter(|_| offer.in_place), edit: Some(edit) });
            self.calls.push((*before, call));
        }
    }

    /// Writes the old statement at `at` into the gap before the one at `before`.
    fn keep(&mut self, at: usize, before: usize, edit: Option<usize>) {
        let kept = &self.old.statements[at];
        self.calls.extend(call(kept).map(|call| (before, call)));
        self.statements.push(kept.clone());
        self.source.push(self.old.source[at].clone());
        self.origins.push(Origin { own: Some(at), edit });
    }
}

/// A gap of a test, with those who know what to put there.
#[derive(Clone, Copy)]
pub(crate) struct GapPlace<'t> {
    pub(crate) test: &'t Test,
    pub(crate) remedies: &'t [Box<dyn Remedies>],
    pub(crate) thread: usize,
    /// The statement that follows the gap.
    pub(crate) at: usize,
}

/// A question to a memory model about a gap.
type Asks<'q> = &'q dyn Fn(&dyn Remedies, &Gap<'_>) -> Vec<Offer>;

impl<'t> GapPlace<'t> {
    /// All gaps of a test.
    fn all(test: &'t Test, remedies: &'t [Box<dyn Remedies>]) -> impl Iterator<Item = Self> {
        let gaps = test.threads.iter().enumerate().flat_map(|(t, thread)| gaps(thread).map(move |at| (t, at)));
        gaps.map(move |(thread, at)| Self { test, remedies, thread, at })
    }

    fn own(&self) -> &'t TestThread {
        &self.test.threads[self.thread]
    }

    /// The kind of the next statement, if it is a call that only orders others.
    fn kind(&self) -> Option<&'static str> {
        kind(&self.own().statements[self.at], self.remedies)
    }

    fn insertion(&self, offer: Offer, prices: &Prices) -> ThreadEdit {
        let (cost, takes) = (prices[offer.kind], offer.in_place.then_some(self.at));
        ThreadEdit { thread: self.thread, before: self.at, what: GapInsertion::Calls(offer), takes, cost }
    }

    pub(crate) fn offers(&self, is_everywhere: bool) -> Vec<Offer> {
        self.asked(is_everywhere, &|r, gap| r.offers(gap))
    }

    fn atomics(&self) -> Vec<Offer> {
        self.asked(false, &|r, gap| r.atomics(gap))
    }

    /// The atomics in place of the next statement, if it is a put of a word that no thread changes.
    fn instead(&self) -> Vec<Offer> {
        let is_constant = source(&self.own().statements[self.at]).is_some_and(|x| is_constant(self.test, x));
        if is_constant { self.asked(false, &|r, gap| r.instead(gap)) } else { Vec::new() }
    }

    /// The next statement in a way that promises more, if it is a call. The call behind a brace has a place of its own.
    fn stronger(&self) -> Vec<Offer> {
        let is_call = call(&self.own().statements[self.at]).is_some();
        if is_call { self.asked(false, &|r, gap| r.stronger(gap)) } else { Vec::new() }
    }

    /// The answers of a memory model for each call that may come next.
    fn asked(&self, is_everywhere: bool, asks: Asks<'_>) -> Vec<Offer> {
        let statements = &self.own().statements;
        let positions = (0..self.at).filter(|&at| may_run_before(self.own(), at, self.at));
        let (positions, before): (Vec<usize>, Vec<Call>) =
            positions.filter_map(|at| Some((at, call(&statements[at])?))).unzip();
        let fresh = |nth: usize| fresh(self.test, self.thread, positions.get(nth).copied().unwrap_or(self.at));
        let mut all = Vec::new();
        for next in self.nexts() {
            let after = statements[next..].iter().filter_map(call).collect_vec();
            let (world, thread) = (&self.test.world, Tid::from_index(self.thread));
            let gap = Gap { world, thread, before: &before, after: &after, fresh: &fresh, is_everywhere };
            let offers = self.remedies.iter().flat_map(|r| asks(&**r, &gap));
            // A flag is set where the call stands, and not at the beginning of the block around it.
            all.extend(offers.filter(|offer| next == self.at || !offer.in_place));
        }
        for offer in &mut all {
            offer.named = offer.named.map(|(nth, argument, id)| (positions[nth], argument, id));
        }
        all.into_iter().unique_by(|offer| (offer.calls)(&before)).collect()
    }

    /// The calls that may come next. Before a block, and at the end of one, they are the next ones that do more than order.
    fn nexts(&self) -> BTreeSet<usize> {
        let statements = &self.own().statements;
        let (mut todo, mut seen, mut found) = (vec![self.at], BTreeSet::new(), BTreeSet::new());
        while let Some(at) = todo.pop() {
            if at == statements.len() || !seen.insert(at) {
                continue;
            }
            let is_passed = at != self.at && kind(&statements[at], self.remedies).is_some();
            match call(&statements[at]) {
                Some(_) if !is_passed => _ = found.insert(at),
                _ => todo.extend(self.own().next(at)),
            }
        }
        found
    }
}

/// The gaps of a thread, each by the statement that follows: before calls, before blocks, and at the ends of blocks.
fn gaps(thread: &TestThread) -> impl Iterator<Item = usize> {
    thread.statements.iter().positions(|s| !matches!(s, Statement::Set(..) | Statement::Assume(_)))
}

/// The statements that only order, each with the gaps into which it can be moved.
fn moves(test: &Test, thread: usize, remedies: &[Box<dyn Remedies>]) -> Vec<(usize, usize)> {
    let own = &test.threads[thread];
    let ordering = own.statements.iter().positions(|s| kind(s, remedies).is_some());
    let moves = ordering.cartesian_product(gaps(own).collect_vec()).filter(|(from, to)| to != from && *to != from + 1);
    // Past equal statements a move changes nothing, and two moves may come to the same.
    let order = |&(from, to): &(usize, usize)| {
        let text = |at: usize| own.source[at].1.as_str();
        let (mut order, taken) = ((0..own.source.len()).filter(|at| *at != from).map(text).collect_vec(), text(from));
        order.insert(to - usize::from(to > from), taken);
        order
    };
    let as_it_is = own.source.iter().map(|(_, text)| text.as_str()).collect_vec();
    moves.filter(|m| order(m) != as_it_is).unique_by(order).collect()
}

/// The accesses of memory that can change places with the one before: they have no word and no register in common.
fn swaps(test: &Test, thread: usize, remedies: &[Box<dyn Remedies>]) -> Vec<(usize, usize)> {
    let accesses = |s: &Statement| match s {
        Statement::Call { library, .. } if *library == test.model.memory() && kind(s, remedies).is_none() => {
            words(s).filter(|all| !all.is_empty())
        }
        _ => None,
    };
    let is_free = |(one, other): (&Statement, &Statement)| {
        let (Some(words), Some(others)) = (accesses(one), accesses(other)) else { return false };
        let depends = |a: &Statement, b: &Statement| {
            a.register().is_some_and(|r| b.uses().contains(&r) || b.register() == Some(r))
        };
        words.is_disjoint(&others) && !depends(one, other) && !depends(other, one)
    };
    let pairs = test.threads[thread].statements.iter().tuple_windows();
    pairs.positions(is_free).map(|at| (at + 1, at)).collect()
}

/// The words that a call names; `None` if that depends on a register.
fn words(s: &Statement) -> Option<BTreeSet<Loc>> {
    let Statement::Call { args, .. } = s else { return Some(BTreeSet::new()) };
    Some(args.iter().map(words_of).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
}

fn words_of(arg: &Arg) -> Option<Vec<Loc>> {
    match arg {
        Arg::Val(Val::Tuple(row)) => Some(row.parts().iter().filter_map(|v| v.loc()).collect()),
        Arg::Val(v) => Some(v.loc().into_iter().collect()),
        Arg::Tuple(all) => Some(all.iter().map(words_of).collect::<Option<Vec<_>>>()?.concat()),
        Arg::Sent(x, _) => Some(vec![*x]),
        Arg::Element(..) => None,
        Arg::Register(..) | Arg::Sum(..) => Some(Vec::new()),
    }
}

/// The word that a put sends.
fn source(s: &Statement) -> Option<Loc> {
    let Statement::Call { method, args, .. } = s else { return None };
    let arg = args.get(match *method {
        "Put" => 1,
        "PutBy" => 2,
        _ => return None,
    })?;
    if let Arg::Val(v) = arg { v.loc() } else { None }
}

/// Whether statements do nothing with a word but read and send it.
fn is_constant(test: &Test, x: Loc) -> bool {
    let statements = test.threads.iter().flat_map(|t| &t.statements);
    let mut calls = statements.map(|s| if let Statement::Await { call, .. } = s { call } else { s });
    let is_read = |s: &Statement| matches!(s, Statement::Call { method: "Read", .. }) || source(s) == Some(x);
    calls.all(|s| is_read(s) || words(s).is_some_and(|all| !all.contains(&x)))
}

/// The kind of a statement, if it is a call that only orders others.
fn kind(s: &Statement, remedies: &[Box<dyn Remedies>]) -> Option<&'static str> {
    let Statement::Call { library, method, .. } = s else { return None };
    remedies.iter().find_map(|r| r.kind(*library, method))
}

/// Whether a call or gap at `at` is in the first block of the `if` at `opener`, or in the second one.
fn is_first(thread: &TestThread, opener: usize, at: usize) -> Option<bool> {
    let is_inside = matches!(thread.statements[opener], Statement::If(_)) && opener < at && at <= thread.end(opener);
    is_inside.then(|| at <= thread.other(opener))
}

/// Whether the call at `earlier` may run before the gap at `at`, which comes later in the text.
fn may_run_before(thread: &TestThread, earlier: usize, at: usize) -> bool {
    let is_other = |o| is_first(thread, o, earlier) == Some(true) && is_first(thread, o, at) == Some(false);
    !(0..earlier).any(is_other)
}

/// The same on one way through the thread: of two blocks that have ended, it goes through the longer one.
fn runs_before(thread: &TestThread, earlier: usize, at: usize) -> bool {
    let is_passed_by = |o: usize| {
        let Some(is_first) = is_first(thread, o, earlier).filter(|_| thread.end(o) < at) else { return false };
        let (first, second) = (thread.other(o) - o, thread.end(o) - thread.other(o));
        is_first == (first < second)
    };
    may_run_before(thread, earlier, at) && !(0..earlier).any(is_passed_by)
}

/// The call of a statement, with some data in place of what depends on registers.
fn call(s: &Statement) -> Option<Call> {
    match s {
        Statement::Await { call: inner, .. } => call(inner),
        Statement::Call { library, method, args, .. } => {
            let value = |arg: &Arg| arg.value(&|_| Val::Int(0));
            Some(Call::new(*library, method, &args.iter().map(value).collect_vec()))
        }
        _ => None,
    }
}

/// A call as a statement.
fn as_statement(call: &Call) -> Statement {
    let args = call.args.iter().map(|v| Arg::Val(*v)).collect();
    Statement::Call { register: None, library: call.library, method: call.method.text(), args }
}

/// Returns a call that an edit of a thread puts there as a statement, in place of the one that the edit takes out.
fn inserted(thread: &TestThread, takes: Option<usize>, call: &Call) -> Statement {
    takes.map_or_else(|| as_statement(call), |at| in_place_of(&thread.statements[at], call))
}

/// Returns a call in place of a statement as a statement. It computes what the replaced one computes, where the two
/// agree.
fn in_place_of(replaced: &Statement, call: &Call) -> Statement {
    let mut new = as_statement(call);
    if let (Statement::Call { register: to, args: old, .. }, Statement::Call { register, args, .. }) =
        (replaced, &mut new)
    {
        let way = |args: &[Arg]| usize::from(matches!(args.first(), Some(Arg::Val(Val::Way(_)))));
        let (old, at) = (&old[way(old)..], way(args));
        let args = &mut args[at..];
        if old.len() == args.len() {
            *register = *to;
            let agree = old.iter().zip(args).filter(|(old, new)| Arg::Val(old.value(&|_| Val::Int(0))) == **new);
            agree.for_each(|(old, new)| *new = old.clone());
        }
    }
    new
}

/// An identifier for the call at `at` of a thread, or for a new one there, which the test does not use.
fn fresh(test: &Test, thread: usize, at: usize) -> Val {
    let own = |a: &Arg| if let Arg::Val(Val::Wid(d)) = a { Some(d.0.text()) } else { None };
    let args = |s: &Statement| match s {
        Statement::Call { args, .. } => args.iter().filter_map(own).collect_vec(),
        _ => Vec::new(),
    };
    let ids: BTreeSet<&str> = test.threads.iter().flat_map(|t| &t.statements).flat_map(args).collect();
    let is_used = |name: &String| {
        ids.contains(&name.as_str())
            || test.world.objects.contains_key(&Loc::new(name))
            || test.threads.iter().any(|t| t.registers.iter().any(|r| r.text() == name))
    };
    let mut name = format!("d{}_{}", thread + 1, at + 1);
    while is_used(&name) {
        name.push('_');
    }
    Val::Wid(Wid(Name::new(&name)))
}
