//! Smallest repairs: the minimal sets of insertions with which nothing wrong can happen.
//!
//! A memory model offers insertions for each place, as [`Offer`]s. [`Repairs::of`] enumerates every minimal set of
//! them, cheapest first, from counterexamples.
//! The search extends each set with which something wrong still happens to one as large as possible. The complement of
//! that is a *conflict*, because every repair has an element of it. So the search asks only about the cheapest set that
//! meets every conflict.
//!
//! More insertions leave fewer executions. So an error that some insertions allow also occurs with fewer of them, and
//! an outcome that they exclude stays excluded with more of them. Therefore conflicts are valid, and the sets found are
//! minimal.
//!
//! ```
//! use mowgli_core::rewrite::repair::{Repairable, Limit, Repairs, Insertions};
//! use mowgli_core::search::runs::Stop;
//!
//! // Wrong without the first, and without one of the others.
//! struct Either;
//! impl Repairable for Either {
//!     fn is_wrong(&mut self, set: &Insertions) -> Result<bool, Stop> {
//!         Ok(!set.contains(&0) || !set.contains(&1) && !set.contains(&2))
//!     }
//!     fn keeps(&mut self, _: &Insertions) -> Result<bool, Stop> {
//!         Ok(true)
//!     }
//! }
//! let found = Repairs::of(&mut Either, &[1, 5, 2], Limit::default());
//! assert_eq!(found.minimal, [Insertions::from([0, 2]), Insertions::from([0, 1])]);
//! assert!(found.open.is_none());
//! ```

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use itertools::Itertools;

use crate::event::Call;
use crate::expr::{Expr, Scope};
use crate::ids::{Loc, Name, Tid};
use crate::search::runs::Stop;
use crate::term::body::CallTerm;
use crate::value::Val;
use crate::world::{Object, World};

/// The function from the earlier calls of a thread to the inserted calls.
type CallsAfter = dyn Fn(&[Call]) -> Vec<Call> + Send + Sync;

/// Something that a memory model offers to insert into a thread.
#[derive(Clone)]
pub struct Offer {
    /// The name by which the user gives its cost.
    pub kind: &'static str,
    /// Computes the inserted calls from the earlier calls of the thread, which include earlier insertions.
    pub calls: Arc<CallsAfter>,
    /// An earlier call of the thread that gets an argument as its name: the call's position in [`Gap::before`], the
    /// argument's position, and the value.
    pub named: Option<(usize, usize, Val)>,
    /// The objects that it needs.
    pub objects: Vec<(Loc, Object)>,
    /// Whether the calls stand in place of the call after the gap, which is one of them with a flag.
    pub in_place: bool,
}

impl Offer {
    /// One call that does not depend on those before it.
    #[must_use]
    pub fn call(kind: &'static str, call: Call) -> Self {
        Self::calls(kind, vec![call])
    }

    /// Makes an offer of several calls that do not depend on those before them.
    #[must_use]
    pub fn calls(kind: &'static str, calls: Vec<Call>) -> Self {
        Self { kind, calls: Arc::new(move |_| calls.clone()), named: None, objects: Vec::new(), in_place: false }
    }
}

/// A place between two statements of a thread: before a call, before a block, or at the end of a block.
#[derive(Clone, Copy)]
pub struct Gap<'a> {
    /// The objects, nodes and threads.
    pub world: &'a World,
    /// The thread.
    pub thread: Tid,
    /// The calls of the thread that may come before.
    pub before: &'a [Call],
    /// The call that comes next, or one of those that may come next, and the calls after it.
    pub after: &'a [Call],
    /// Returns a value that can name the call at a position, because the program uses it nowhere else.
    pub fresh: &'a dyn Fn(usize) -> Val,
    /// Whether the model also offers insertions that order less here than at a later place, for callers to whom the
    /// later place is too strong.
    pub is_everywhere: bool,
}

impl Gap<'_> {
    /// Returns the calls of terms that stand here.
    fn calls(&self, terms: &[CallTerm]) -> Vec<Call> {
        terms.iter().map(|term| term.eval(&Scope::new(self.world, self.thread, &[]))).collect()
    }

    /// Returns a remedy beside the next call as an offer, if it inserts something there.
    #[must_use]
    pub fn offer(&self, remedy: &Remedy) -> Option<Offer> {
        let calls = self.calls(&(remedy.calls)(&as_term(self.after.first()?)));
        (!calls.is_empty()).then(|| Offer { in_place: remedy.in_place, ..Offer::calls(remedy.kind, calls) })
    }

    /// Returns a wait for each earlier call whose operation can outlast it. Such a call gets an identifier if it has none.
    #[must_use]
    pub fn waits(&self, remedies: &dyn Remedies) -> Vec<Offer> {
        let wait = |(position, call): (usize, &Call)| {
            let Await { id: at, wait } = remedies.awaited(&as_term(call))?;
            let is_named = call.args[at] == Val::NoWid;
            let id = if is_named { (self.fresh)(position) } else { call.args[at] };
            let named = is_named.then_some((position, at, id));
            Some(Offer { named, ..Offer::calls("wait", self.calls(&[wait(id.into())])) })
        };
        self.before.iter().enumerate().filter_map(wait).collect()
    }
}

/// Returns a call with known arguments as a call of a body.
fn as_term(call: &Call) -> CallTerm {
    CallTerm::new(call.library, call.method.text(), call.args.iter().copied().map(Expr::from))
}

/// Something to insert beside a call of a body, or a flag of the call.
#[derive(Clone)]
pub struct Remedy {
    /// The name by which the user gives its cost.
    pub kind: &'static str,
    /// The description in words.
    pub text: &'static str,
    /// Computes the calls that are inserted beside this one; empty where they would not help. Calls for an empty set of
    /// nodes are skipped.
    pub calls: fn(&CallTerm) -> Vec<CallTerm>,
    /// Whether the calls stand in place of this one, which is one of them with a flag.
    pub in_place: bool,
}

/// The way to wait for an operation that a call has begun.
#[derive(Clone, Copy)]
pub struct Await {
    /// The position of the identifier among its arguments.
    pub id: usize,
    /// Returns the wait for the operation with an identifier.
    pub wait: fn(Expr) -> CallTerm,
}

/// The knowledge of a memory model, or of a library, about repairs.
pub trait Remedies {
    /// Returns the kinds of insertions, each with its cost.
    fn costs(&self) -> Vec<(&'static str, u64)>;

    /// Returns the insertions that are worth trying in a gap. Each only orders: with it there are fewer executions.
    fn offers(&self, gap: &Gap<'_>) -> Vec<Offer>;

    /// Returns the atomics that order like a fence in a gap. Each may also shift later polls, so the search tries it alone.
    fn atomics(&self, _: &Gap<'_>) -> Vec<Offer> {
        Vec::new()
    }

    /// Returns the atomics that are worth trying in place of the call after a gap. The words that this call reads keep their
    /// initial values, because the caller asks only then.
    fn instead(&self, _: &Gap<'_>) -> Vec<Offer> {
        Vec::new()
    }

    /// Returns the same call as the one after a gap, in a way of which the model promises more.
    fn stronger(&self, _: &Gap<'_>) -> Vec<Offer> {
        Vec::new()
    }

    /// Returns the kind of the calls of a method, if they only order others, so that the search may remove them.
    fn kind(&self, library: Name, method: &str) -> Option<&'static str>;

    /// Returns the insertions that are worth trying beside calls in the bodies of implementations.
    fn beside(&self) -> Vec<Remedy> {
        Vec::new()
    }

    /// Returns the way to wait for the operation of this call, if the operation can outlast the call.
    fn awaited(&self, _: &CallTerm) -> Option<Await> {
        None
    }
}

/// A set of insertions, by their positions.
pub type Insertions = BTreeSet<usize>;

/// A program in which something wrong happens.
pub trait Repairable {
    /// True if something wrong can happen with these insertions.
    ///
    /// # Errors
    /// The reason why the search stopped.
    fn is_wrong(&mut self, set: &Insertions) -> Result<bool, Stop>;

    /// True if every outcome that must stay possible is possible with them.
    ///
    /// # Errors
    /// The reason why the search stopped.
    fn keeps(&mut self, set: &Insertions) -> Result<bool, Stop>;

    /// True if earlier executions already show that something wrong can happen. It may return false if the answer is
    /// unknown. The search calls it often to enlarge a wrong set. A false negative costs further questions, but changes
    /// no result.
    ///
    /// # Errors
    /// The reason why the search stopped.
    fn is_known_wrong(&mut self, set: &Insertions) -> Result<bool, Stop> {
        self.is_wrong(set)
    }

    /// True if a set is worth asking about, given the repairs found so far.
    fn is_news(&self, _: &Insertions, _found: &[Insertions]) -> bool {
        true
    }
}

/// The limits of the search for repairs.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The most insertions of one repair.
    pub insertions: usize,
    /// The most repairs.
    pub repairs: usize,
    /// The most that a repair may cost.
    pub cost: u64,
    /// The number of questions after which the search, if it has no repair, looks for one that need not be the cheapest.
    pub patience: usize,
}

impl Default for Limit {
    fn default() -> Self {
        Self { insertions: 6, repairs: 100, cost: u64::MAX, patience: usize::MAX }
    }
}

/// The reason why there may be more repairs than the search found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MoreRepairs {
    /// The solver stopped.
    Stopped(Stop),
    /// There may be repairs with more insertions.
    Larger(usize),
    /// There may be further ones: the search stopped after this number.
    More(usize),
    /// There may be others, which the search skipped as not worth asking about.
    NoNews,
}

impl fmt::Display for MoreRepairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(stop) => stop.fmt(f),
            Self::Larger(most) => write!(f, "repairs of more than {most} insertions are not looked for"),
            Self::More(most) => write!(f, "no more than {most} repairs are looked for"),
            Self::NoNews => f.write_str("the same insertions in other places were not asked about"),
        }
    }
}

/// The minimal repairs of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Repairs {
    /// The minimal ones, cheapest first.
    pub minimal: Vec<Insertions>,
    /// The minimal sets that exclude everything wrong, but also an outcome that must stay possible.
    pub spoiling: Vec<Insertions>,
    /// Whether something wrong happens even with all insertions, so that no repair exists.
    pub hopeless: bool,
    /// The reason why there may be more than these.
    pub open: Option<MoreRepairs>,
    /// The number of sets about which the search asked.
    pub asked: usize,
}

impl Repairs {
    /// Computes all minimal repairs within a limit. Costs are positive, one for each insertion.
    pub fn of(program: &mut dyn Repairable, costs: &[u64], limit: Limit) -> Self {
        let mut search = RepairSearch {
            program,
            costs,
            limit,
            conflicts: Vec::new(),
            over: Vec::new(),
            is_passed_over: Cell::new(false),
            some: None,
            found: Self::default(),
        };
        if let Err(open) = search.run() {
            search.found.open.get_or_insert(open);
        }
        if search.found.open.is_some() && search.found.minimal.is_empty() {
            search.found.minimal.extend(search.some.flatten());
        }
        if search.is_passed_over.get() {
            search.found.open.get_or_insert(MoreRepairs::NoNews);
        }
        search.found.minimal.sort_by_cached_key(|set| Self::cost(set, costs));
        search.found
    }

    /// Returns the cost of a set.
    #[must_use]
    pub fn cost(set: &Insertions, costs: &[u64]) -> u64 {
        set.iter().map(|&i| costs[i]).sum()
    }
}

/// The number of sets about which the answer may stay unknown before the search gives up, because each of them costs the
/// time of a whole limit.
const STOPPED: usize = 8;

struct RepairSearch<'a> {
    program: &'a mut dyn Repairable,
    costs: &'a [u64],
    limit: Limit,
    conflicts: Vec<Insertions>,
    /// The sets with which nothing wrong happens, or for which the answer is unknown. The search asks about no superset
    /// of these.
    over: Vec<Insertions>,
    /// Whether `is_news` made the search skip some set.
    is_passed_over: Cell<bool>,
    /// A repair that need not be the cheapest, if the search has looked for one and there is one.
    some: Option<Option<Insertions>>,
    found: Repairs,
}

impl RepairSearch<'_> {
    fn run(&mut self) -> Result<(), MoreRepairs> {
        let (mut stopped, mut are_asked) = (0, false);
        while let Some(set) = self.cheapest(usize::MAX) {
            if self.found.minimal.len() >= self.limit.repairs {
                return Err(MoreRepairs::More(self.limit.repairs));
            }
            let Some(set) = self.within(set) else { return Err(MoreRepairs::Larger(self.limit.insertions)) };
            let is_wrong = match self.is_wrong(&set) {
                // The answer for this set is unknown. The search leaves it out and goes on, because other sets may
                // still be decided.
                Err(MoreRepairs::Stopped(stop))
                    if !matches!(stop, Stop::Time | Stop::Interrupted) && stopped < STOPPED =>
                {
                    stopped += 1;
                    self.found.open.get_or_insert(MoreRepairs::Stopped(stop));
                    self.over.push(set);
                    continue;
                }
                answer => answer?,
            };
            if is_wrong {
                let conflict = self.conflict(set)?;
                if conflict.is_empty() {
                    self.found.hopeless = true;
                    return Ok(());
                }
                let is_vague = conflict.len() * 2 > self.costs.len();
                self.conflicts.push(conflict);
                if is_vague && !are_asked {
                    are_asked = true;
                    self.ask_each()?;
                }
                if self.found.asked > self.limit.patience && self.found.minimal.is_empty() && self.some.is_none() {
                    self.some = Some(self.any()?);
                }
                continue;
            }
            self.right(set)?;
        }
        Ok(())
    }

    /// Returns insertions of which every repair has one, given a set with which something wrong happens.
    fn conflict(&mut self, set: Insertions) -> Result<Insertions, MoreRepairs> {
        let all: Insertions = (0..self.costs.len()).collect();
        let mut rest: Vec<usize> = all.difference(&set).copied().collect();
        // Start behind the set, so that different elements are tried first each time when the solver cannot try them all.
        let first = rest.iter().position(|i| set.last() < Some(i)).unwrap_or(0);
        rest.rotate_left(first);
        let largest = self.grown(set, &rest)?;
        Ok(all.difference(&largest).copied().collect())
    }

    /// Returns a repair from which nothing can be left out. The search adds the dearest harmless insertion of a conflict until
    /// nothing wrong happens, because it orders most. Then it leaves out what is not needed, the dearest first.
    fn any(&mut self) -> Result<Option<Insertions>, MoreRepairs> {
        let mut set = Insertions::new();
        while self.is_wrong(&set)? {
            let conflict = self.conflict(set.clone())?;
            let dearest = conflict.iter().copied().sorted_by_key(|&i| std::cmp::Reverse(self.costs[i])).collect_vec();
            self.conflicts.push(conflict);
            let mut larger = dearest.into_iter().map(|i| set.iter().copied().chain([i]).collect::<Insertions>());
            let harmless = larger.find_map(|larger| match self.program.keeps(&larger) {
                Ok(keeps) => keeps.then_some(Ok(larger)),
                Err(stop) => Some(Err(MoreRepairs::Stopped(stop))),
            });
            let Some(harmless) = harmless else { return Ok(None) };
            set = harmless?;
        }
        for i in set.iter().copied().sorted_by_key(|&i| std::cmp::Reverse(self.costs[i])) {
            let smaller: Insertions = set.iter().copied().filter(|&other| other != i).collect();
            if !self.is_wrong(&smaller)? {
                set = smaller;
            }
        }
        let keeps = self.program.keeps(&set).map_err(MoreRepairs::Stopped)?;
        Ok((keeps && Repairs::cost(&set, self.costs) <= self.limit.cost).then_some(set))
    }

    /// Asks about each single insertion. A large conflict excludes little, so very many cheap sets of several
    /// insertions would be next, although one expensive insertion may suffice.
    fn ask_each(&mut self) -> Result<(), MoreRepairs> {
        for i in (0..self.costs.len()).sorted_by_key(|&i| self.costs[i]) {
            let set = Insertions::from([i]);
            let is_open = self.costs[i] <= self.limit.cost
                && self.found.minimal.len() < self.limit.repairs
                && !self.over.contains(&set)
                && self.conflicts.iter().all(|c| c.contains(&i));
            if !is_open {
                continue;
            }
            if !self.program.is_news(&set, &self.found.minimal) {
                self.is_passed_over.set(true);
                continue;
            }
            match self.is_wrong(&set) {
                Ok(true) => {}
                Ok(false) => self.right(set)?,
                // The search asks again about a set that is open here when it is its turn.
                Err(MoreRepairs::Stopped(stop)) if !matches!(stop, Stop::Time | Stop::Interrupted) => {}
                Err(open) => return Err(open),
            }
        }
        Ok(())
    }

    /// Records a set with which nothing wrong happens, although something does with each proper subset.
    fn right(&mut self, set: Insertions) -> Result<(), MoreRepairs> {
        let keeps = self.program.keeps(&set).map_err(MoreRepairs::Stopped)?;
        self.over.push(set.clone());
        if keeps {
            self.found.minimal.push(set)
        } else {
            self.found.spoiling.push(set)
        }
        Ok(())
    }

    /// Returns the set, or the cheapest one within the limit if the set is too large.
    fn within(&self, set: Insertions) -> Option<Insertions> {
        if set.len() <= self.limit.insertions { Some(set) } else { self.cheapest(self.limit.insertions) }
    }

    fn is_wrong(&mut self, set: &Insertions) -> Result<bool, MoreRepairs> {
        self.found.asked += 1;
        self.program.is_wrong(set).map_err(MoreRepairs::Stopped)
    }

    /// Extends `set` by a maximal part of `rest` with which something wrong still happens. It tries halves before their
    /// parts.
    fn grown(&mut self, set: Insertions, rest: &[usize]) -> Result<Insertions, MoreRepairs> {
        if rest.is_empty() {
            return Ok(set);
        }
        let larger: Insertions = set.iter().chain(rest).copied().collect();
        self.found.asked += 1;
        let is_known = match self.program.is_known_wrong(&larger) {
            Err(stop) if !matches!(stop, Stop::Time | Stop::Interrupted) => false,
            answer => answer.map_err(MoreRepairs::Stopped)?,
        };
        if is_known {
            return Ok(larger);
        }
        if rest.len() == 1 {
            return Ok(set);
        }
        let (one, other) = rest.split_at(rest.len() / 2);
        let set = self.grown(set, one)?;
        self.grown(set, other)
    }

    /// Returns a cheapest set of at most `most` elements that meets every conflict and contains no set of `over`.
    fn cheapest(&self, most: usize) -> Option<Insertions> {
        let mut best = None;
        self.extend(Insertions::new(), 0, most, &mut best);
        best.map(|(_, _, set)| set)
    }

    fn extend(&self, set: Insertions, cost: u64, most: usize, best: &mut Option<(u64, usize, Insertions)>) {
        let key = (cost, set.len(), set);
        if key.0 > self.limit.cost || key.1 > most || best.as_ref().is_some_and(|best| *best <= key) {
            return;
        }
        let set = &key.2;
        if self.over.iter().any(|known| known.is_subset(set)) {
            return;
        }
        let Some(missed) = self.conflicts.iter().filter(|c| c.is_disjoint(set)).min_by_key(|c| c.len()) else {
            if self.program.is_news(set, &self.found.minimal) {
                *best = Some(key);
            } else {
                self.is_passed_over.set(true);
            }
            return;
        };
        for &i in missed {
            let mut larger = set.clone();
            larger.insert(i);
            self.extend(larger, cost + self.costs[i], most, best);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    /// A program that is wrong unless each of `needed` is met, and spoilt by any complete set of `spoilt`.
    /// `is_known_wrong` knows only sets of at most `most` elements.
    struct Answers {
        needed: Vec<Insertions>,
        spoilt: Vec<Insertions>,
        most: usize,
    }

    impl Repairable for Answers {
        fn is_wrong(&mut self, set: &Insertions) -> Result<bool, Stop> {
            Ok(self.needed.iter().any(|n| n.is_disjoint(set)))
        }

        fn keeps(&mut self, set: &Insertions) -> Result<bool, Stop> {
            Ok(!self.spoilt.iter().any(|s| s.is_subset(set)))
        }

        fn is_known_wrong(&mut self, set: &Insertions) -> Result<bool, Stop> {
            Ok(set.len() <= self.most && self.is_wrong(set)?)
        }
    }

    proptest! {
        #[test]
        fn all_minimal_repairs_are_found_cheapest_first(
            needed in vec(btree_set(0..7usize, 0..4), 0..5),
            spoilt in vec(btree_set(0..7usize, 1..4), 0..3),
            costs in vec(1..5u64, 7),
            most in 0..8usize,
        ) {
            let mut known = Answers { needed, spoilt, most };
            let found = Repairs::of(&mut known, &costs, Limit { insertions: 7, ..Limit::default() });
            let subsets: Vec<Insertions> = (0..1 << 7).map(|bits: u32| (0..7).filter(|i| bits >> i & 1 == 1).collect()).collect();
            let good: Vec<&Insertions> = subsets.iter().filter(|s| known.is_wrong(s) == Ok(false)).collect();
            let minimal = good.iter().filter(|s| !good.iter().any(|o| o.is_subset(s) && o != *s));
            let wanted: BTreeSet<&Insertions> = minimal.filter(|s| known.keeps(s) == Ok(true)).copied().collect();
            prop_assert_eq!(found.minimal.iter().collect::<BTreeSet<_>>(), wanted);
            prop_assert_eq!(found.hopeless, good.is_empty());
            prop_assert!(found.open.is_none());
            prop_assert!(found.minimal.iter().map(|s| Repairs::cost(s, &costs)).is_sorted());
        }
    }

    #[test]
    fn what_is_larger_than_the_limit_is_not_called_none() {
        let needed = (0..3).map(|i| Insertions::from([i])).collect();
        let found = Repairs::of(
            &mut Answers { needed, spoilt: Vec::new(), most: 7 },
            &[1; 3],
            Limit { insertions: 2, ..Limit::default() },
        );
        assert_eq!((found.minimal, found.open), (vec![], Some(MoreRepairs::Larger(2))));
    }

    #[test]
    fn a_set_of_which_nothing_is_known_does_not_hide_others() {
        struct One;
        impl Repairable for One {
            fn is_wrong(&mut self, set: &Insertions) -> Result<bool, Stop> {
                if *set == Insertions::from([1]) {
                    Err(Stop::Growth)
                } else {
                    Ok(set.is_disjoint(&Insertions::from([0, 2])))
                }
            }
            fn keeps(&mut self, _: &Insertions) -> Result<bool, Stop> {
                Ok(true)
            }
        }
        let found = Repairs::of(&mut One, &[1; 3], Limit::default());
        let open = Some(MoreRepairs::Stopped(Stop::Growth));
        assert_eq!((found.minimal, found.open), (vec![Insertions::from([0]), Insertions::from([2])], open));
    }

    #[test]
    fn one_dear_insertion_is_found_before_all_sets_of_cheap_ones_are_asked_about() {
        let (needed, costs) = (vec![Insertions::from([12])], [vec![1; 12], vec![12]].concat());
        let limit = Limit { repairs: 1, ..Limit::default() };
        let found = Repairs::of(&mut Answers { needed, spoilt: Vec::new(), most: 1 }, &costs, limit);
        assert_eq!((found.minimal, found.open), (vec![Insertions::from([12])], Some(MoreRepairs::More(1))));
        assert!(found.asked < 100, "{}", found.asked);
    }

    /// Three insertions among many are needed, and the search is stopped long before it asks about them.
    #[test]
    fn a_search_that_is_stopped_has_some_repair() {
        struct Impatient(Answers, usize);
        impl Repairable for Impatient {
            fn is_wrong(&mut self, set: &Insertions) -> Result<bool, Stop> {
                self.1 += 1;
                if self.1 > 400 { Err(Stop::Time) } else { self.0.is_wrong(set) }
            }
            fn keeps(&mut self, set: &Insertions) -> Result<bool, Stop> {
                self.0.keeps(set)
            }
        }
        // Each of three needs is met by one dear insertion, or by six cheap ones of which two together do harm.
        let needed: Vec<Insertions> = (0..3).map(|n| (n * 7..n * 7 + 7).collect()).collect();
        let spoilt = (0..21).tuple_combinations().filter(|(i, j)| i % 7 > 0 && j % 7 > 0 && i / 7 != j / 7);
        let spoilt = spoilt.map(|(i, j)| Insertions::from([i, j])).collect();
        let costs: Vec<u64> = (0..21).map(|i| if i % 7 == 0 { 10 } else { 1 }).collect();
        let mut asked = Impatient(Answers { needed, spoilt, most: 21 }, 0);
        let found = Repairs::of(&mut asked, &costs, Limit { patience: 30, ..Limit::default() });
        assert_eq!(found.open, Some(MoreRepairs::Stopped(Stop::Time)));
        assert_eq!(found.minimal, [Insertions::from([0, 7, 14])]);
    }

    #[test]
    fn a_search_that_is_stopped_is_open() {
        struct Late;
        impl Repairable for Late {
            fn is_wrong(&mut self, set: &Insertions) -> Result<bool, Stop> {
                if set.is_empty() { Err(Stop::Time) } else { Ok(false) }
            }
            fn keeps(&mut self, _: &Insertions) -> Result<bool, Stop> {
                Ok(true)
            }
        }
        assert_eq!(Repairs::of(&mut Late, &[1], Limit::default()).open, Some(MoreRepairs::Stopped(Stop::Time)));
    }
}
