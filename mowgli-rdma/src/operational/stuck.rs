//! States in which the machine is stuck: some thread has not ended, and never will, whatever happens.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Display;

use itertools::Itertools;
use mowgli_core::event::{Call, Cell};
use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::search::fault::{CallFault, no_sum};
use mowgli_core::search::runs::Stop;
use mowgli_core::value::Val;
use rustc_hash::FxHashMap;

use super::machine::Machine;
use super::programs::Next;
use super::state::{PipeEntry, State, can_act};
use super::step::{Act, Step};
use crate::crash::CRASH;
use crate::stamp::Qp;

/// A way in which a run is stuck.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Standstill {
    /// For each thread its results, and whether it waits.
    pub threads: Vec<StuckThread>,
    /// The last values of the observed cells.
    pub finals: Vec<Val>,
}

/// A thread of a stuck run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct StuckThread {
    /// The results of its calls in order, with those of one iteration of the loop in which it waits.
    pub results: Vec<Val>,
    /// The number of results before that iteration.
    pub before: usize,
    /// Whether it waits, and then whether in a loop.
    pub waits: Option<bool>,
}

/// The states that were visited, numbered, with the successors of each.
#[derive(Default)]
pub(super) struct Visited {
    pub(super) numbers: FxHashMap<State, u32>,
    /// The range of the successors of each state in `nexts`.
    starts: FxHashMap<u32, (usize, usize)>,
    nexts: Vec<u32>,
    /// The states that are not stuck: the program has ended there, or the exploration does not follow them.
    over: Vec<u32>,
}

impl Visited {
    /// The number of a state, and whether it is new.
    pub(super) fn number(&mut self, state: &State) -> (u32, bool) {
        let next = u32::try_from(self.numbers.len()).expect("fewer states than the limit");
        match self.numbers.get(state) {
            Some(&known) => (known, false),
            None => {
                self.numbers.insert(state.clone(), next);
                (next, true)
            }
        }
    }

    /// Records the successors of a state by steps that must happen eventually.
    pub(super) fn add(&mut self, state: u32, nexts: &[u32]) {
        self.starts.insert(state, (self.nexts.len(), self.nexts.len() + nexts.len()));
        self.nexts.extend(nexts);
    }

    /// Records that a state is not stuck.
    pub(super) fn ends(&mut self, state: u32) {
        self.over.push(state);
    }

    fn after(&self, state: u32) -> &[u32] {
        self.starts.get(&state).map_or(&[], |&(start, end)| &self.nexts[start..end])
    }

    /// Returns the strongly connected components that no step leaves and from which no end is reachable.
    fn closed(&self) -> Vec<Vec<u32>> {
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.numbers.len()];
        for &state in self.starts.keys() {
            self.after(state).iter().for_each(|&next| before[next as usize].push(state));
        }
        let mut may_end = vec![false; self.numbers.len()];
        let mut todo = self.over.clone();
        while let Some(state) = todo.pop() {
            if !std::mem::replace(&mut may_end[state as usize], true) {
                todo.extend(&before[state as usize]);
            }
        }
        let stuck: Vec<u32> = self.starts.keys().copied().filter(|&s| !may_end[s as usize]).collect();
        let components = components(self.numbers.len(), &stuck, &|s| self.after(s));
        let is_closed =
            |of: &Vec<u32>| of.iter().all(|&s| self.after(s).iter().all(|next| of.binary_search(next).is_ok()));
        components.into_iter().filter(is_closed).collect()
    }
}

/// The strongly connected components of the states that can be reached from these, each sorted (Tarjan 1972).
fn components<'g>(size: usize, from: &[u32], after: &dyn Fn(u32) -> &'g [u32]) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let (mut index, mut low, mut is_open) = (vec![NEW; size], vec![0; size], vec![false; size]);
    let (mut open, mut components, mut count) = (Vec::new(), Vec::new(), 0);
    for &root in from {
        // A state, and the number of its successors that were visited.
        let mut path = if index[root as usize] == NEW { vec![(root, 0)] } else { Vec::new() };
        while let Some((state, looked)) = path.pop() {
            let s = state as usize;
            if looked == 0 {
                (index[s], low[s], is_open[s]) = (count, count, true);
                count += 1;
                open.push(state);
            } else {
                let child = after(state)[looked - 1] as usize;
                low[s] = low[s].min(if is_open[child] { low[child] } else { low[s] });
            }
            if let Some(&next) = after(state).get(looked) {
                path.push((state, looked + 1));
                if index[next as usize] == NEW {
                    path.push((next, 0));
                }
            } else if low[s] == index[s] {
                let first = open.iter().rposition(|&o| o == state).expect("it is open");
                let mut component = open.split_off(first);
                component.iter().for_each(|&o| is_open[o as usize] = false);
                component.sort_unstable();
                components.push(component);
            }
        }
    }
    components
}

impl Machine<'_> {
    /// True if a step need not happen. The crash of a thread need not. Operations may never arrive if their thread or their target node
    /// may have crashed. An atomic operation that has read still writes.
    pub(super) fn is_optional(&self, state: &State, step: &Step) -> bool {
        let (q, entry) = match &step.act {
            Act::Pipe(q, entry) => (*q, *entry),
            Act::Call(call, Val::Bool(false)) => return call.method.text() == "Goes" && call.library == CRASH,
            _ => return false,
        };
        let crashes = &self.world.crashes;
        // A node takes all its threads with it.
        let may_be_gone = |node: Node| {
            let has_ended = |t: Tid| self.world.node_of(t) != node || self.has_ended(state, t);
            crashes.nodes.contains(node) && self.world.tids().all(has_ended)
        };
        let is_cut_off = crashes.threads.contains(&step.thread) && self.has_ended(state, step.thread)
            || may_be_gone(self.world.node_of(step.thread))
            || may_be_gone(q.to);
        is_cut_off && !matches!(entry, PipeEntry::AtomicWrite(..))
    }

    fn has_ended(&self, state: &State, thread: Tid) -> bool {
        matches!(self.programs.next(state.at[thread.index()]), Next::End(_))
    }

    /// Lists the ways in which runs are stuck in the visited states.
    pub(super) fn standstills(&mut self, visited: &Visited, observed: &[Cell]) -> BTreeSet<Standstill> {
        let closed = visited.closed();
        if closed.is_empty() {
            return BTreeSet::new();
        }
        let mut states: Vec<(&State, u32)> = visited.numbers.iter().map(|(state, &number)| (state, number)).collect();
        states.sort_unstable_by_key(|(_, number)| *number);
        let mut all = BTreeSet::new();
        for set in closed {
            let own: Vec<&State> = set.iter().map(|&s| states[s as usize].0).collect();
            // Who waits on a node that has crashed has crashed with it.
            let waits = |t: Tid| !self.has_ended(own[0], t) && own[0].crashed.contains(self.world.node_of(t));
            if !self.world.tids().any(waits) {
                all.extend(self.standstills_of(&own, observed));
            }
        }
        all
    }

    /// Lists the ways in which a run is stuck in these states, which lead to each other and nowhere else.
    fn standstills_of(&mut self, states: &[&State], observed: &[Cell]) -> Vec<Standstill> {
        let finals: Vec<Val> = observed.iter().map(|c| states[0].memory[self.word(c.loc)]).collect();
        let threads: Vec<Vec<StuckThread>> = (0..states[0].at.len()).map(|t| self.rests(states, t)).collect();
        let all = threads.into_iter().multi_cartesian_product();
        all.map(|threads| Standstill { threads, finals: finals.clone() }).collect()
    }

    /// Returns the fault of a state in which a card or a CPU may add to a value that has no sum.
    pub(super) fn no_sum(&self, state: &State) -> Option<Stop> {
        let held = |x: Loc| state.memory[self.word(x)];
        let wrong = |t: usize, call: Option<&Call>, makes: &dyn Display, x: Loc| {
            let thread = Tid::from_index(t);
            let makes = format!("{thread} calls {makes}");
            Stop::at(CallFault { thread, call: call.cloned(), makes, what: no_sum(x, held(x)) })
        };
        let by_card = |t: usize, q: Qp| {
            let queue = &state.pairs[self.pair(t, q)];
            queue.pipe.iter().enumerate().find_map(|(place, entry)| {
                let PipeEntry::Rfaa(_, on, ..) = entry else { return None };
                let is_next = can_act(queue, place, state.locked.contains(q.to), self.switches);
                (is_next && entry.updated(held(*on)).is_none()).then(|| wrong(t, None, entry, *on))
            })
        };
        let by_cpu = |t: usize| match self.programs.next(state.at[t]) {
            Next::Call(call) if call.method.text() == "FAA" && state.buffers[t].is_empty() => {
                let sum = |k: i64| held(call.loc(0)).plus(k);
                call.args[1].int().and_then(sum).is_none().then(|| wrong(t, Some(call), call, call.loc(0)))
            }
            _ => None,
        };
        (0..state.at.len()).find_map(|t| by_cpu(t).or_else(|| self.queue_pairs(state).find_map(|q| by_card(t, q))))
    }

    /// Returns one way in which a run is stuck in these states.
    pub(super) fn standstill(&mut self, states: &[&State], observed: &[Cell]) -> Standstill {
        self.standstills_of(states, observed).swap_remove(0)
    }

    /// Finds a run to a state from which a run is stuck in this way, as [`Self::shortest`] does. There each thread has ended or waits,
    /// and nothing is under way.
    pub fn shortest_to_standstill(
        &mut self,
        stuck: &Standstill,
        limit: usize,
        expired: &dyn Fn() -> bool,
    ) -> Option<Vec<Step>> {
        let is = |machine: &Self, state: &State| {
            let waits = stuck.threads.iter().zip(&state.at).all(|(thread, &place)| {
                let results: Vec<Val> = machine.programs.earlier(place).iter().map(|e| e.ret).collect();
                results.len() >= thread.before && thread.results.starts_with(&results)
            });
            waits && state.buffers.iter().all(VecDeque::is_empty) && state.pairs.iter().all(|pair| pair.pipe.is_empty())
        };
        self.shortest_to(&is, limit, expired)
    }

    /// Lists the ways in which a thread waits in these states, which lead to each other and nowhere else.
    fn rests(&mut self, states: &[&State], t: usize) -> Vec<StuckThread> {
        let places: BTreeSet<u32> = states.iter().map(|s| s.at[t]).collect();
        let returned =
            |machine: &Self, place: u32| machine.programs.earlier(place).iter().map(|e| e.ret).collect::<Vec<_>>();
        let first = *places.iter().min_by_key(|&&p| self.programs.earlier(p).len()).expect("it is somewhere");
        let before = returned(self, first);
        let waits = match self.programs.next(first) {
            Next::End(_) => None,
            next => Some(matches!(next, Next::Spin)),
        };
        let mut rounds = Vec::new();
        let mut calls: BTreeSet<(u32, Val)> = BTreeSet::new();
        for state in states {
            self.steps(state, &mut |_, step, _| {
                if let Act::Call(_, result) = step.act
                    && step.thread.index() == t
                {
                    calls.insert((state.at[t], result));
                }
            });
        }
        // Calls that are made at once are not steps here. They have the results that they had in all runs so far.
        let moves = !calls.is_empty();
        let results = |machine: &Self, place: u32| -> Vec<Val> {
            let own: Vec<Val> = calls.iter().filter(|(at, _)| *at == place).map(|(_, result)| *result).collect();
            if own.is_empty() && moves { machine.programs.results(t, place) } else { own }
        };
        self.add_rounds(t, (first, first), &results, &mut Vec::new(), &mut rounds);
        if rounds.is_empty() {
            return vec![StuckThread { before: before.len(), results: before, waits }];
        }
        let with = |round: Vec<Val>| StuckThread {
            results: [before.clone(), round].concat(),
            before: before.len(),
            waits: Some(true),
        };
        rounds.into_iter().map(with).collect()
    }

    /// Collects the results of each iteration that leads from a place back to the first one. The path holds the places that it has
    /// passed, with their results. It passes none twice, because a loop within the loop need not lead back to the first place.
    fn add_rounds(
        &mut self,
        t: usize,
        (first, place): (u32, u32),
        results: &dyn Fn(&Self, u32) -> Vec<Val>,
        path: &mut Vec<(u32, Val)>,
        rounds: &mut Vec<Vec<Val>>,
    ) {
        if path.iter().any(|(passed, _)| *passed == place) {
            return;
        }
        for result in results(self, place) {
            path.push((place, result));
            match self.programs.after(t, place, result) {
                after if after == first => rounds.push(path.iter().map(|(_, result)| *result).collect()),
                after => self.add_rounds(t, (first, after), results, path, rounds),
            }
            path.pop();
        }
    }
}
