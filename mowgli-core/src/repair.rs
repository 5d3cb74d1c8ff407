//! Smallest repairs: what is the least to insert so that nothing wrong can happen?
//!
//! A memory model tells what can be inserted where, as [`Offer`]s. [`Repairs::of`] finds every minimal set of them, cheapest first, from
//! counterexamples: a set of insertions with which something wrong still happens is made as large as possible; what is not in it
//! is a *conflict*, of which every repair has something. Only the cheapest set that has something of every conflict is asked about.
//!
//! More insertions leave fewer executions. So what is wrong with some insertions is so with fewer, and what has to stay possible
//! and is not, is not with more either: that is what makes conflicts true, and sets minimal.
//!
//! ```
//! use mowgli_core::repair::{Asked, Limit, Repairs, Set};
//! use mowgli_core::runs::Stop;
//!
//! // Wrong without the first, and without one of the others.
//! struct Either;
//! impl Asked for Either {
//!     fn is_wrong(&mut self, set: &Set) -> Result<bool, Stop> {
//!         Ok(!set.contains(&0) || !set.contains(&1) && !set.contains(&2))
//!     }
//!     fn keeps(&mut self, _: &Set) -> Result<bool, Stop> {
//!         Ok(true)
//!     }
//! }
//! let found = Repairs::of(&mut Either, &[1, 5, 2], Limit::default());
//! assert_eq!(found.minimal, [Set::from([0, 2]), Set::from([0, 1])]);
//! assert!(found.open.is_none());
//! ```

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use itertools::Itertools;

use crate::body::CallTerm;
use crate::event::Call;
use crate::expr::Expr;
use crate::ids::{Loc, Name, Tid};
use crate::runs::Stop;
use crate::value::Val;
use crate::world::{Object, World};

/// The calls that are inserted after those of a thread.
type CallsAfter = dyn Fn(&[Call]) -> Vec<Call> + Send + Sync;

/// Something that a memory model offers to insert into a thread.
#[derive(Clone)]
pub struct Offer {
    /// What it is called where costs are given.
    pub kind: &'static str,
    /// The calls that are inserted after these calls of the thread, with what was inserted before.
    pub calls: Arc<CallsAfter>,
    /// An earlier call of the thread that gets an argument by which it is referred to: its position in [`Gap::before`], that of
    /// the argument, and the value.
    pub named: Option<(usize, usize, Val)>,
    /// The objects that it needs.
    pub objects: Vec<(Loc, Object)>,
}

impl Offer {
    /// One call that does not depend on those before it.
    #[must_use]
    pub fn call(kind: &'static str, call: Call) -> Self {
        Self { kind, calls: Arc::new(move |_| vec![call.clone()]), named: None, objects: Vec::new() }
    }
}

/// A place between two statements of a thread: before a call, before a block, or at the end of a block.
#[derive(Clone, Copy)]
pub struct Gap<'a> {
    /// The surroundings.
    pub world: &'a World,
    /// The thread.
    pub thread: Tid,
    /// The calls of the thread that may come before.
    pub before: &'a [Call],
    /// The call that comes next, or one of those that may come next, and the calls after it.
    pub after: &'a [Call],
    /// A value by which the call at a position can be referred to, which nothing else of the program has.
    pub fresh: &'a dyn Fn(usize) -> Val,
    /// Whether that is offered too which orders less here than at a later place: where there it is too much.
    pub is_everywhere: bool,
}

/// Something to insert beside a call of a body.
#[derive(Clone)]
pub struct Remedy {
    /// What it is called where costs are given.
    pub kind: &'static str,
    /// What it is, in words.
    pub text: &'static str,
    /// The calls that are inserted beside this one; none where they are of no use. A call for no node is not made.
    pub calls: fn(&CallTerm) -> Vec<CallTerm>,
}

/// How what a call has begun is waited for.
#[derive(Clone, Copy)]
pub struct Await {
    /// The position of the identifier among its arguments.
    pub id: usize,
    /// The wait for what has an identifier.
    pub wait: fn(Expr) -> CallTerm,
}

/// What a memory model, or a library, knows of repairs.
pub trait Remedies {
    /// The kinds of what can be inserted, each with what it costs.
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

    /// The kind of the calls of a method, if they only order others, and so could be left out.
    fn kind(&self, library: Name, method: &str) -> Option<&'static str>;

    /// What is worth inserting beside calls in the bodies of implementations.
    fn beside(&self) -> Vec<Remedy> {
        Vec::new()
    }

    /// How what this call begins is waited for, if it goes on after the call has returned.
    fn awaited(&self, _: &CallTerm) -> Option<Await> {
        None
    }
}

/// A set of insertions, by their positions.
pub type Set = BTreeSet<usize>;

/// A program in which something wrong happens.
pub trait Asked {
    /// Whether something wrong can happen with these insertions.
    ///
    /// # Errors
    /// What stopped the search.
    fn is_wrong(&mut self, set: &Set) -> Result<bool, Stop>;

    /// Whether everything that is to stay possible is possible with them.
    ///
    /// # Errors
    /// What stopped the search.
    fn keeps(&mut self, set: &Set) -> Result<bool, Stop>;

    /// The same, as far as what was seen before tells: it may say no where nobody knows. To learn more from what is wrong this is
    /// asked, and often; that it says no makes for more questions, and for no other answer.
    ///
    /// # Errors
    /// What stopped the search.
    fn is_known_wrong(&mut self, set: &Set) -> Result<bool, Stop> {
        self.is_wrong(set)
    }

    /// Whether a set is worth asking about beside the repairs that were found.
    fn is_news(&self, _: &Set, _found: &[Set]) -> bool {
        true
    }
}

/// How far repairs are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The most insertions of one repair.
    pub insertions: usize,
    /// The most repairs.
    pub repairs: usize,
    /// The most that a repair may cost.
    pub cost: u64,
}

impl Default for Limit {
    fn default() -> Self {
        Self { insertions: 6, repairs: 100, cost: u64::MAX }
    }
}

/// Why there may be more repairs than were found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Open {
    /// A search was stopped.
    Stopped(Stop),
    /// There may be repairs with more insertions.
    Larger(usize),
    /// There may be further ones: so many were found.
    More(usize),
    /// There may be others that were not worth asking about.
    NoNews,
}

impl fmt::Display for Open {
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
    pub minimal: Vec<Set>,
    /// The minimal sets with which nothing wrong happens, but something that is to stay possible does not either.
    pub spoiling: Vec<Set>,
    /// Whether something wrong happens even with all insertions: then there is no repair.
    pub hopeless: bool,
    /// Why there may be more than these.
    pub open: Option<Open>,
    /// How many sets were asked about.
    pub asked: usize,
}

impl Repairs {
    /// All minimal repairs within a limit. Costs are positive, one for each insertion.
    pub fn of(program: &mut dyn Asked, costs: &[u64], limit: Limit) -> Self {
        let mut search = Search {
            program,
            costs,
            limit,
            conflicts: Vec::new(),
            over: Vec::new(),
            is_passed_over: Cell::new(false),
            found: Self::default(),
        };
        if let Err(open) = search.run() {
            search.found.open.get_or_insert(open);
        }
        if search.is_passed_over.get() {
            search.found.open.get_or_insert(Open::NoNews);
        }
        search.found.minimal.sort_by_cached_key(|set| Self::cost(set, costs));
        search.found
    }

    /// What a set costs.
    #[must_use]
    pub fn cost(set: &Set, costs: &[u64]) -> u64 {
        set.iter().map(|&i| costs[i]).sum()
    }
}

/// Of how many sets it may be unknown whether they are wrong.
const STOPPED: usize = 8;

struct Search<'a> {
    program: &'a mut dyn Asked,
    costs: &'a [u64],
    limit: Limit,
    conflicts: Vec<Set>,
    /// The sets with which nothing wrong happens: no larger one is minimal.
    over: Vec<Set>,
    /// Whether some set was not asked about because it was no news.
    is_passed_over: Cell<bool>,
    found: Repairs,
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), Open> {
        let all: Set = (0..self.costs.len()).collect();
        let (mut stopped, mut are_asked) = (0, false);
        while let Some(set) = self.cheapest(usize::MAX) {
            if self.found.minimal.len() >= self.limit.repairs {
                return Err(Open::More(self.limit.repairs));
            }
            let Some(set) = self.within(set) else { return Err(Open::Larger(self.limit.insertions)) };
            let is_wrong = match self.is_wrong(&set) {
                // Of this one it is not known. Others are not the worse for it.
                Err(Open::Stopped(stop)) if !matches!(stop, Stop::Time | Stop::Interrupted) && stopped < STOPPED => {
                    stopped += 1;
                    self.found.open.get_or_insert(Open::Stopped(stop));
                    self.over.push(set);
                    continue;
                }
                answer => answer?,
            };
            if is_wrong {
                let mut rest: Vec<usize> = all.difference(&set).copied().collect();
                // Where not everything can be tried, something else is tried each time.
                let first = rest.iter().position(|i| set.last() < Some(i)).unwrap_or(0);
                rest.rotate_left(first);
                let largest = self.grown(set, &rest)?;
                let conflict: Set = all.difference(&largest).copied().collect();
                if conflict.is_empty() {
                    self.found.hopeless = true;
                    return Ok(());
                }
                let is_vague = conflict.len() * 2 > all.len();
                self.conflicts.push(conflict);
                if is_vague && !are_asked {
                    are_asked = true;
                    self.ask_each()?;
                }
                continue;
            }
            self.right(set)?;
        }
        Ok(())
    }

    /// Where little is learnt from what is wrong, there are very many cheap sets of several insertions. A dear one may do by
    /// itself: each is asked about before those.
    fn ask_each(&mut self) -> Result<(), Open> {
        for i in (0..self.costs.len()).sorted_by_key(|&i| self.costs[i]) {
            let set = Set::from([i]);
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
                // Whatever is left open here is asked about again where it is its turn.
                Err(Open::Stopped(stop)) if !matches!(stop, Stop::Time | Stop::Interrupted) => {}
                Err(open) => return Err(open),
            }
        }
        Ok(())
    }

    /// Nothing wrong happens with this set, and something does with each part of it.
    fn right(&mut self, set: Set) -> Result<(), Open> {
        let keeps = self.program.keeps(&set).map_err(Open::Stopped)?;
        self.over.push(set.clone());
        if keeps {
            self.found.minimal.push(set)
        } else {
            self.found.spoiling.push(set)
        }
        Ok(())
    }

    /// The set, or where that is too large the cheapest one that is not.
    fn within(&self, set: Set) -> Option<Set> {
        if set.len() <= self.limit.insertions { Some(set) } else { self.cheapest(self.limit.insertions) }
    }

    fn is_wrong(&mut self, set: &Set) -> Result<bool, Open> {
        self.found.asked += 1;
        self.program.is_wrong(set).map_err(Open::Stopped)
    }

    /// A largest set with some of `rest` with which something wrong still happens: halves are tried before their parts.
    fn grown(&mut self, set: Set, rest: &[usize]) -> Result<Set, Open> {
        if rest.is_empty() {
            return Ok(set);
        }
        let larger: Set = set.iter().chain(rest).copied().collect();
        self.found.asked += 1;
        let is_known = match self.program.is_known_wrong(&larger) {
            Err(stop) if !matches!(stop, Stop::Time | Stop::Interrupted) => false,
            answer => answer.map_err(Open::Stopped)?,
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

    /// A cheapest set, of at most so many, that has something of every conflict, and not all of a set that is known.
    fn cheapest(&self, most: usize) -> Option<Set> {
        let mut best = None;
        self.extend(Set::new(), 0, most, &mut best);
        best.map(|(_, _, set)| set)
    }

    fn extend(&self, set: Set, cost: u64, most: usize, best: &mut Option<(u64, usize, Set)>) {
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

    /// Wrong without something of each of these, and spoilt by all of some. Nothing is known of sets of more than `most` from before.
    struct Known {
        needed: Vec<Set>,
        spoilt: Vec<Set>,
        most: usize,
    }

    impl Asked for Known {
        fn is_wrong(&mut self, set: &Set) -> Result<bool, Stop> {
            Ok(self.needed.iter().any(|n| n.is_disjoint(set)))
        }

        fn keeps(&mut self, set: &Set) -> Result<bool, Stop> {
            Ok(!self.spoilt.iter().any(|s| s.is_subset(set)))
        }

        fn is_known_wrong(&mut self, set: &Set) -> Result<bool, Stop> {
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
            let mut known = Known { needed, spoilt, most };
            let found = Repairs::of(&mut known, &costs, Limit { insertions: 7, ..Limit::default() });
            let subsets: Vec<Set> = (0..1 << 7).map(|bits: u32| (0..7).filter(|i| bits >> i & 1 == 1).collect()).collect();
            let good: Vec<&Set> = subsets.iter().filter(|s| known.is_wrong(s) == Ok(false)).collect();
            let minimal = good.iter().filter(|s| !good.iter().any(|o| o.is_subset(s) && o != *s));
            let wanted: BTreeSet<&Set> = minimal.filter(|s| known.keeps(s) == Ok(true)).copied().collect();
            prop_assert_eq!(found.minimal.iter().collect::<BTreeSet<_>>(), wanted);
            prop_assert_eq!(found.hopeless, good.is_empty());
            prop_assert!(found.open.is_none());
            prop_assert!(found.minimal.iter().map(|s| Repairs::cost(s, &costs)).is_sorted());
        }
    }

    #[test]
    fn what_is_larger_than_the_limit_is_not_called_none() {
        let needed = (0..3).map(|i| Set::from([i])).collect();
        let found = Repairs::of(
            &mut Known { needed, spoilt: Vec::new(), most: 7 },
            &[1; 3],
            Limit { insertions: 2, ..Limit::default() },
        );
        assert_eq!((found.minimal, found.open), (vec![], Some(Open::Larger(2))));
    }

    #[test]
    fn a_set_of_which_nothing_is_known_does_not_hide_others() {
        struct One;
        impl Asked for One {
            fn is_wrong(&mut self, set: &Set) -> Result<bool, Stop> {
                if *set == Set::from([1]) { Err(Stop::Growth) } else { Ok(set.is_disjoint(&Set::from([0, 2]))) }
            }
            fn keeps(&mut self, _: &Set) -> Result<bool, Stop> {
                Ok(true)
            }
        }
        let found = Repairs::of(&mut One, &[1; 3], Limit::default());
        let open = Some(Open::Stopped(Stop::Growth));
        assert_eq!((found.minimal, found.open), (vec![Set::from([0]), Set::from([2])], open));
    }

    #[test]
    fn one_dear_insertion_is_found_before_all_sets_of_cheap_ones_are_asked_about() {
        let (needed, costs) = (vec![Set::from([12])], [vec![1; 12], vec![12]].concat());
        let limit = Limit { repairs: 1, ..Limit::default() };
        let found = Repairs::of(&mut Known { needed, spoilt: Vec::new(), most: 1 }, &costs, limit);
        assert_eq!((found.minimal, found.open), (vec![Set::from([12])], Some(Open::More(1))));
        assert!(found.asked < 100, "{}", found.asked);
    }

    #[test]
    fn a_search_that_is_stopped_is_open() {
        struct Late;
        impl Asked for Late {
            fn is_wrong(&mut self, set: &Set) -> Result<bool, Stop> {
                if set.is_empty() { Err(Stop::Time) } else { Ok(false) }
            }
            fn keeps(&mut self, _: &Set) -> Result<bool, Stop> {
                Ok(true)
            }
        }
        assert_eq!(Repairs::of(&mut Late, &[1], Limit::default()).open, Some(Open::Stopped(Stop::Time)));
    }
}
