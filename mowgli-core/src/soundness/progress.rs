//! Progress: an implementation whose calls return wherever the specification lets them.
//!
//! Soundness speaks of executions that end, so an implementation that never ends is sound. Two things can be wrong with it.
//! It *blocks*: a client all of whose calls return in some consistent execution of the specification never ends. It is
//! *stuck*: some execution of it goes round in loops for ever ([`crate::search::stuck`]) though the specification could go on.
//! The specification can go on if the calls that have returned are the beginning of one of its executions. That is a
//! consistent execution of the whole client in which those calls return the same. No call that has not begun comes
//! before one of them in hb. A call that has begun and not returned may: a thread that is still in a barrier lets the
//! others go. Two locks that two threads take in opposite orders are a deadlock of the specification itself. No
//! execution of it begins with one lock taken by each.

use std::collections::BTreeMap;

use crate::library::Libraries;
use crate::search::problem::{Found, Limits, Problem};
use crate::search::relation::Matrix;
use crate::search::runs::Stop;
use crate::search::solver::{Decision, Flow, SearchEnd, Solver};
use crate::search::stuck::Stuck;
use crate::search::witness::each_completion;
use crate::soundness::client::Client;
use crate::term::implementation::Implementations;
use crate::value::Val;
use crate::world::World;

/// The verdict on the progress of an implementation.
#[derive(Clone, Debug)]
pub enum Progress {
    /// No client within the bound blocks, and no execution of one is stuck.
    Ends,
    /// This client never ends, although the specification lets all its calls return. With a stuck execution of it, if
    /// one was found.
    Blocks(World, Client, Option<Box<Stuck>>),
    /// This client has a stuck execution, although the specification could go on.
    Stuck(World, Client, Box<Stuck>),
    /// A limit stopped the check.
    Undecided(Stop),
}

impl Progress {
    /// Combines the verdicts on two sets of clients: the first bug, else the limit that stopped the check, else no bug.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (bug @ (Self::Blocks(..) | Self::Stuck(..)), _) | (_, bug @ (Self::Blocks(..) | Self::Stuck(..))) => bug,
            (stopped @ Self::Undecided(_), _) | (_, stopped @ Self::Undecided(_)) => stopped,
            (Self::Ends, Self::Ends) => Self::Ends,
        }
    }

    /// Returns the verdict in one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ends => "ends",
            Self::Blocks(..) => "blocks",
            Self::Stuck(..) => "stuck",
            Self::Undecided(_) => "undecided",
        }
    }
}

/// A specification with a world and a client about which the check asks.
pub(super) struct SpecifiedClient<'a> {
    pub libraries: &'a Libraries,
    pub world: &'a World,
    pub client: &'a Client,
    /// The clients to ask about, each with the number of returned calls of each thread that may crash.
    pub prefixes: &'a [(Client, Vec<usize>)],
    pub limits: Limits<'a>,
}

impl SpecifiedClient<'_> {
    fn asked<T>(&self, client: &Client, ask: impl FnOnce(&Problem<'_>) -> T) -> T {
        ask(&Problem {
            libraries: self.libraries,
            implementations: &Implementations::new(),
            world: self.world,
            programs: &client.programs(),
            observed: &[],
            limits: self.limits,
        })
    }

    /// True if all calls of the client return in some consistent execution in which they must.
    ///
    /// # Errors
    /// The reason why the search stopped.
    pub fn lets_all_return(&self) -> Result<bool, Stop> {
        let mut found = false;
        let explored = self.asked(self.client, |problem| {
            problem.explore(&mut |solver| {
                found = problem.must_return(solver);
                if found { Flow::Stop } else { Flow::Continue }
            })
        });
        explored.stop.filter(|_| !found).map_or(Ok(found), Err)
    }

    /// True if the calls with these results are the beginning of a consistent execution.
    ///
    /// # Errors
    /// The reason why the search stopped.
    fn could_go_on(&self, returned: &[Vec<Val>]) -> Result<bool, Stop> {
        let is_it = |lengths: &[usize]| {
            let threads = self.world.tids().zip(returned).zip(lengths);
            threads.into_iter().all(|((t, returned), length)| {
                !self.world.may_stop(t) || returned.len() == *length || *length == usize::MAX
            })
        };
        for (prefix, _) in self.prefixes.iter().filter(|(_, lengths)| is_it(lengths)) {
            if self.prefix_could_go_on(prefix, returned)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if executions of this client begin with these results, and in each of them all calls must return. What a call that
    /// waits would have returned is unknown, and it might be a result with which nothing must return.
    fn prefix_could_go_on(&self, prefix: &Client, returned: &[Vec<Val>]) -> Result<bool, Stop> {
        let (mut found, mut is_excused) = (false, false);
        let explored = self.asked(prefix, |problem| {
            let mut settled = |solver: &mut Solver<'_>| {
                let begins = |(output, returned): (&Val, &Vec<Val>)| match output {
                    Val::Tuple(results) => results.parts().starts_with(returned),
                    _ => false,
                };
                if problem.outcome_of(solver).outputs.iter().zip(returned).all(begins) {
                    let must_return = problem.must_return(solver);
                    let snapshot = solver.snapshot();
                    let early = early(solver, returned);
                    solver.exclude(&early);
                    let end = solver.explore(&mut |solver| {
                        each_completion(solver, &mut |solver| {
                            let begins = solver.hb().and(&early).is_empty();
                            if begins { Flow::Stop } else { Flow::Continue }
                        })
                    });
                    found |= end == SearchEnd::Enough;
                    is_excused |= !must_return && end == SearchEnd::Enough;
                    solver.restore(snapshot);
                }
                Decision::Prune
            };
            problem.explore_until(&mut settled, &mut |_| Flow::Continue)
        });
        explored.stop.filter(|_| !is_excused).map_or(Ok(found && !is_excused), Err)
    }

    /// Returns a stuck execution of the implementation for which the specification could go on. `first` finds the first
    /// relevant one, given a predicate on the results of the returned calls.
    pub fn stuck(&self, first: impl FnOnce(&mut dyn FnMut(&[Vec<Val>]) -> bool) -> Found<Option<Stuck>>) -> Progress {
        let mut stop = None;
        let mut known: BTreeMap<Vec<Vec<Val>>, bool> = BTreeMap::new();
        let mut could_go_on = |returned: &[Vec<Val>]| match self.could_go_on(returned) {
            Ok(could) => could,
            Err(stopped) => {
                stop.get_or_insert(stopped);
                false
            }
        };
        let found =
            first(&mut |returned| *known.entry(returned.to_vec()).or_insert_with_key(|returned| could_go_on(returned)));
        match found.all() {
            Ok(Some(stuck)) => Progress::Stuck(self.world.clone(), self.client.clone(), Box::new(stuck)),
            Ok(None) => stop.map_or(Progress::Ends, Progress::Undecided),
            Err(stopped) => Progress::Undecided(stopped),
        }
    }
}

/// Returns the pairs of a subevent of a call that has not begun and one of a call that has returned.
fn early(solver: &Solver<'_>, returned: &[Vec<Val>]) -> Matrix {
    let graph = &solver.graph;
    let position = |s: usize| {
        let event = graph.subs[s].event;
        let thread = graph.events[event].thread;
        let earlier = graph.events[..event].iter().filter(|e| e.thread == thread).count();
        (earlier, returned[thread.index()].len())
    };
    let [has_returned, has_begun] =
        [|(earlier, returned): (usize, usize)| earlier < returned, |(earlier, returned)| earlier <= returned];
    Matrix::from_fn(graph.len(), |a, b| !has_begun(position(a)) && has_returned(position(b)))
}
