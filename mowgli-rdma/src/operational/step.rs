//! The transitions of the machine: rules 1 to 13 of SYNC Fig. 21.
//!
//! **Computes**: the steps that are possible in a state. `Machine::at_once` takes one that need not be interleaved with
//! others. `Machine::steps` lists all other steps, each with the state after it.
//!
//! **Invariant**: an entry moves in one direction only: store buffer, pipe, buffer of remote or local writes, memory.
//! Memory changes only in `Machine::steps`.
//!
//! **Example**: `put(z, x); put(f, x)` to one node, as in message passing. Both puts enter the store buffer and then
//! the pipe at once. The put of z reads x first, because an older put blocks a younger one (rule 2). It becomes a
//! remote write, which arrives (rule 3) and leaves an acknowledgement, which is taken at once (rule 4). The two writes
//! reach memory in the order of arrival (rule 5), so f is set after z unless ordering is relaxed.
//!
//! **Correct because**: each condition is that of a rule in Fig. 21 (`state::can_act`). By SYNC Theorem 7 the outcomes
//! are those of the axioms, and `tests/tests/machine.rs` compares them on random programs. The module `explore` says
//! why some steps can be taken at once: the calls that only use the store buffer or take a confirmation, the issue of
//! an operation, and rules 1 and 4.
//!
//! **Cost**: `at_once` reads one call and one entry of each buffer and pipe. `steps` copies the state once for each
//! step.

use std::fmt;

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Tid};
use mowgli_core::value::Val;

use super::completions;
use super::machine::Machine;
use super::programs::Next;
use super::state::{Arrived, Buffered, EntryPart, LocalWrite, PipeEntry, Signalled, State, can_act};
use crate::crash::{self, CRASH};
use crate::message::{self, MESSAGE, QUEUE};
use crate::network::Remote;
use crate::stamp::Qp;
use crate::tso::{Method, is_remote, polls, queue_pair, result};
use crate::wait::words;
use crate::way::{Signal, Way};

/// One transition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The thread whose program, store buffer or queue pair acts.
    pub thread: Tid,
    /// The action.
    pub act: Act,
}

/// The action of a transition, with the rule of Fig. 21 if it has one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// The CPU makes a call, with this result.
    Call(Call, Val),
    /// The oldest write of the store buffer goes to memory.
    StoreBuffer(Loc, Val),
    /// The oldest operation of the store buffer goes into the pipe to a node.
    Issue(Qp, PipeEntry),
    /// An entry of the pipe to a node acts.
    Pipe(Qp, PipeEntry),
    /// The oldest remote write at a node goes to memory; by rule 13 if it belongs to an atomic operation, else by rule
    /// 5.
    Remote(Qp, Loc, Val, bool),
    /// The oldest local write that came from a node goes to memory: rule 8.
    Local(Qp, Loc, Val),
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(call, Val::Unit) => write!(f, "{call}"),
            Self::Call(call, result) => write!(f, "{call} = {result}"),
            Self::StoreBuffer(x, v) => write!(f, "{x} := {v} leaves the store buffer"),
            Self::Issue(q, entry) => write!(f, "{entry} is issued to {}", q.in_words()),
            Self::Pipe(q, entry) => match entry {
                PipeEntry::Rfence => write!(f, "the remote fence to {} is over (rule 1)", q.in_words()),
                PipeEntry::Put(to, from, _) => write!(f, "the put of {to} reads {from} (rule 2)"),
                PipeEntry::RemoteWrite(to, v, _) => write!(f, "{to} := {v} arrives at {} (rule 3)", q.in_words()),
                PipeEntry::Ack(_) => write!(f, "the acknowledgement of {} is there (rule 4)", q.in_words()),
                PipeEntry::Get(to, from, _) => write!(f, "the get of {to} reads {from} on {} (rule 6)", q.in_words()),
                PipeEntry::LocalWrite(to, v, _) => {
                    write!(f, "{to} := {v} has come back from {} (rule 7)", q.in_words())
                }
                PipeEntry::Rcas(_, on, ..) => write!(f, "the RCAS on {} reads {on} (rule 9 or 10)", q.in_words()),
                PipeEntry::Rfaa(_, on, ..) => write!(f, "the RFAA on {} reads {on} (rule 11)", q.in_words()),
                PipeEntry::Rxchg(_, on, ..) => write!(f, "the exchange on {} reads {on} (rule 11)", q.in_words()),
                PipeEntry::AtomicWrite(on, v, ..) => {
                    write!(f, "the atomic {on} := {v} arrives at {} (rule 12)", q.in_words())
                }
            },
            Self::Remote(q, QUEUE, v, _) => write!(f, "the message {v} is at {}", q.in_words()),
            Self::Remote(q, x, v, false) => write!(f, "{x} := {v} is in the memory of {} (rule 5)", q.in_words()),
            Self::Remote(q, x, v, true) => {
                write!(f, "the atomic {x} := {v} is in the memory of {} (rule 13)", q.in_words())
            }
            Self::Local(q, x, v) => write!(f, "{x} := {v}, from {}, is in memory (rule 8)", q.in_words()),
        }
    }
}

impl Machine<'_> {
    /// Takes one step at once, if one is possible, and returns it.
    pub(super) fn at_once(&mut self, state: &mut State) -> Option<Step> {
        (0..state.at.len()).find_map(|t| {
            let own = self.call_at_once(state, t).or_else(|| self.issue(state, t));
            own.or_else(|| self.queue_pairs(state).find_map(|q| self.oldest_at_once(state, t, q)))
        })
    }

    fn call_at_once(&mut self, state: &mut State, t: usize) -> Option<Step> {
        let Next::Call(call) = self.programs.next(state.at[t]).clone() else { return None };
        // A poll that takes any completion has several results.
        if call.library == CRASH || (polls(&call) && !self.switches.network.completes_in_order) {
            return None;
        }
        let ret = match call.library {
            MESSAGE => self.send(state, t, &call)?,
            _ => {
                let result = result(&self.world, self.programs.earlier(state.at[t]), &call);
                self.silent_call(state, t, &call, result)?
            }
        };
        state.at[t] = self.programs.after(t, state.at[t], ret);
        Some(Step { thread: Tid::from_index(t), act: Act::Call(call, ret) })
    }

    /// Takes one step of the hardware at once, if one is possible, and returns it.
    pub(super) fn hardware_at_once(&self, state: &mut State) -> Option<Step> {
        (0..state.buffers.len()).find_map(|t| {
            self.issue(state, t).or_else(|| self.queue_pairs(state).find_map(|q| self.oldest_at_once(state, t, q)))
        })
    }

    /// Moves the oldest operation of the store buffer into its pipe, with all its words.
    fn issue(&self, state: &mut State, t: usize) -> Option<Step> {
        let Some(&Buffered::Operation(q, entry)) = state.buffers[t].front() else { return None };
        state.buffers[t].pop_front();
        self.with_pair(state, q);
        let pair = self.pair(t, q);
        state.pairs[pair].pipe.push(entry);
        while let Some(&Buffered::Operation(_, word)) = state.buffers[t].front()
            && word.is_joined()
        {
            state.buffers[t].pop_front();
            state.pairs[pair].pipe.push(word);
        }
        Some(Step { thread: Tid::from_index(t), act: Act::Issue(q, entry) })
    }

    /// Takes the oldest remote fence that is over (rule 1), or acknowledgement that can become a confirmation (rule 4).
    fn oldest_at_once(&self, state: &mut State, t: usize, q: Qp) -> Option<Step> {
        let queue = &mut state.pairs[self.pair(t, q)];
        let place = queue.done(self.switches.network).next()?;
        let entry = queue.pipe.remove(place);
        if let PipeEntry::Ack(part) = entry {
            queue.local.push_back(LocalWrite::Confirmation(part));
        }
        Some(Step { thread: Tid::from_index(t), act: Act::Pipe(q, entry) })
    }

    /// Lists the states after each single step that [`Self::at_once`] could take, for the exploration without
    /// reduction.
    pub(super) fn slow_steps(&mut self, state: &State) -> Vec<State> {
        let mut all = Vec::new();
        for t in 0..state.at.len() {
            let mut after = state.clone();
            all.extend(self.call_at_once(&mut after, t).map(|_| after));
            let mut after = state.clone();
            all.extend(self.issue(&mut after, t).map(|_| after));
            for q in self.queue_pairs(state) {
                let mut after = state.clone();
                all.extend(self.oldest_at_once(&mut after, t, q).map(|_| after));
            }
        }
        all
    }

    /// Makes a call of the CPU that is taken at once, and returns its result, which the caller passes as `result`.
    /// Returns `None` if the call is not possible now, or not one of these.
    pub(super) fn silent_call(&self, state: &mut State, t: usize, call: &Call, result: Option<Val>) -> Option<Val> {
        let (usual, way) = Method::of(call).usual();
        let by = queue_pair(&self.world, call);
        let by_pair = by.filter(|_| is_remote(usual));
        let is_near = by_pair.is_some_and(|q| self.is_under_way(state, t, q));
        let nth = by_pair.map_or(0, |q| self.next_number(state, t, q));
        let signal = match way.signal {
            Signal::Strong => Signalled::All,
            Signal::Weak if is_near => Signalled::One(nth - 1),
            Signal::Weak | Signal::No => Signalled::No,
        };
        let Way { signalled, delivered, strict, .. } = way;
        let call_place = self.place_of_call(state, t);
        let first = EntryPart { signalled, joined: false, delivered, nth, strict, signal, call: call_place };
        let rows = |to: Val, from: Val, entry: fn(Loc, Loc, EntryPart) -> PipeEntry| -> Vec<PipeEntry> {
            let joined = |at| EntryPart { joined: at > 0, ..first };
            (0..)
                .zip(words(to).into_iter().zip(words(from)))
                .map(|(at, (to, from))| entry(to, from, joined(at)))
                .collect()
        };
        let mut entries = match usual {
            Method::Write { x, v } => {
                state.buffers[t].push_back(Buffered::Write(x, v, call_place));
                return result;
            }
            Method::Mfence {} => return state.buffers[t].is_empty().then_some(Val::Unit),
            Method::SetAdd { .. } | Method::SetRemove { .. } | Method::SetIsEmpty { .. } => {
                return state.buffers[t].is_empty().then_some(result?);
            }
            Method::Poll { n } => {
                let pair = self.pair(t, way.to(n));
                let oldest = state.pairs.get(pair)?.oldest_confirmed(self.switches.network)?;
                completions::take(state, t, pair, oldest);
                return result;
            }
            Method::Rfence { .. } => vec![PipeEntry::Rfence],
            Method::Put { x, y } => vec![PipeEntry::Put(x, y, first)],
            Method::Get { x, y } => vec![PipeEntry::Get(x, y, first)],
            Method::PutWords { xs, ys, .. } => rows(xs, ys, PipeEntry::Put),
            Method::GetWords { xs, ys, .. } => rows(xs, ys, PipeEntry::Get),
            Method::RCAS { x, y, v1, v2 } => vec![PipeEntry::Rcas(x, y, v1, v2, first)],
            Method::RFAA { x, y, v } => vec![PipeEntry::Rfaa(x, y, v, first)],
            Method::RXchg { x, y, v } => vec![PipeEntry::Rxchg(x, y, v, first)],
            _ => return None,
        };
        if way.fence {
            entries.insert(0, PipeEntry::Rfence);
        }
        let q = by?;
        self.with_pair(state, q);
        state.pairs[self.pair(t, q)].posted += u32::from(is_remote(usual));
        state.buffers[t].extend(entries.into_iter().map(|entry| Buffered::Operation(q, entry)));
        result
    }

    /// Puts a message into the store buffer, in the form of a remote write that has read its source and passes no earlier write.
    fn send(&self, state: &mut State, t: usize, call: &Call) -> Option<Val> {
        let (message::Method::Send { v, .. } | message::Method::SendBy { v, .. }) = message::Method::of(call) else {
            return None;
        };
        let q = message::queue_pair(call)?;
        let nth = self.next_number(state, t, q);
        let (no, signal) = (false, Signalled::No);
        let call = self.place_of_call(state, t);
        let part = EntryPart { signalled: no, joined: no, delivered: no, nth, strict: no, signal, call };
        state.pairs[self.pair(t, q)].posted += 1;
        state.buffers[t].push_back(Buffered::Operation(q, PipeEntry::RemoteWrite(QUEUE, v, part)));
        Some(Val::Unit)
    }

    /// Lists the ways in which a thread takes a message to its node: the oldest message of some queue pair.
    fn recv(&self, state: &State, t: usize, call: &Call) -> Vec<(Val, State)> {
        let message::Method::Recv {} = message::Method::of(call) else { return Vec::new() };
        let here = self.world.threads[t];
        let senders = (0..state.at.len()).flat_map(|s| self.queue_pairs(state).map(move |q| (s, q)));
        let taken = |(s, q): (usize, Qp)| {
            let mut after = state.clone();
            let message = after.pairs[self.pair(s, q)].received.pop_front()?;
            Some((message, after))
        };
        senders.filter(|(_, q)| q.to == here).filter_map(taken).collect()
    }

    /// Visits every step that is not taken at once, with the state after it.
    pub(super) fn steps(&mut self, state: &State, visit: &mut dyn FnMut(&mut Self, Step, State)) {
        for t in 0..state.at.len() {
            if let Next::Call(call) = self.programs.next(state.at[t]).clone() {
                let results: Vec<(Val, State)> = match call.library {
                    MESSAGE => self.recv(state, t, &call),
                    CRASH => self.crash(state, Tid::from_index(t), &call),
                    _ => self.access(state, t, &call).into_iter().chain(self.completions(state, t, &call)).collect(),
                };
                for (result, mut after) in results {
                    after.at[t] = self.programs.after(t, after.at[t], result);
                    visit(self, Step { thread: Tid::from_index(t), act: Act::Call(call.clone(), result) }, after);
                }
            }
            let mut hardware = Vec::new();
            self.hardware_steps(state, t, &mut |step, after| hardware.push((step, after)));
            hardware.into_iter().for_each(|(step, after)| visit(self, step, after));
        }
    }

    /// Visits the steps of the store buffer and the queue pairs of a thread that are not taken at once.
    pub(super) fn hardware_steps(&self, state: &State, t: usize, visit: &mut dyn FnMut(Step, State)) {
        let mut visit = |act, after| visit(Step { thread: Tid::from_index(t), act }, after);
        if let Some(&Buffered::Write(x, v, _)) = state.buffers[t].front() {
            let mut after = state.clone();
            after.buffers[t].pop_front();
            after.memory[self.word(x)] = v;
            visit(Act::StoreBuffer(x, v), after);
        }
        for q in self.queue_pairs(state) {
            let (n, pair) = (q.to, self.pair(t, q));
            let queue = &state.pairs[pair];
            let (is_locked, network) = (state.locked.contains(n), self.switches.network);
            for place in (0..queue.pipe.len()).filter(|&p| can_act(queue, p, is_locked, self.switches)) {
                if let Some(after) = self.act(state, pair, q, place) {
                    visit(Act::Pipe(q, queue.pipe[place]), after);
                }
            }
            for place in queue.remote_writes(network) {
                let Arrived { x, v, of, .. } = queue.remote[place];
                let is_atomic = of == Remote::Atomic;
                let mut after = state.clone();
                after.pairs[pair].remote.remove(place);
                match x {
                    QUEUE => after.pairs[pair].received.push_back(v),
                    _ => after.memory[self.word(x)] = v,
                }
                if is_atomic {
                    after.locked = after.locked.without(n);
                }
                visit(Act::Remote(q, x, v, is_atomic), after);
            }
            for (place, x, v) in queue.local_writes(network) {
                let mut after = state.clone();
                after.pairs[pair].local.remove(place);
                after.memory[self.word(x)] = v;
                visit(Act::Local(q, x, v), after);
            }
        }
    }

    /// Returns the state after the entry at this place of a pipe has acted; `None` if it adds to a value that has no
    /// sum.
    fn act(&self, state: &State, pair: usize, q: Qp, place: usize) -> Option<State> {
        let (mut after, network) = (state.clone(), self.switches.network);
        let own = &mut after.pairs[pair];
        let memory = |x: Loc| state.memory[self.word(x)];
        match own.pipe[place] {
            PipeEntry::Put(to, from, part) => {
                own.pipe[place] = PipeEntry::RemoteWrite(to, memory(from), part);
                own.complete_if_sent(place, network);
            }
            PipeEntry::RemoteWrite(x, v, part) => {
                if own.end_word(place) && part.signalled {
                    own.pipe.insert(place, PipeEntry::Ack(part));
                }
                own.remote.push_back(Arrived {
                    x,
                    v,
                    of: Remote::Write,
                    nth: part.nth,
                    strict: part.strict,
                    call: part.call,
                });
            }
            PipeEntry::Get(to, from, part) => own.pipe[place] = PipeEntry::LocalWrite(to, memory(from), part),
            PipeEntry::LocalWrite(to, v, part) => {
                let is_over = own.end_word(place) && part.signalled;
                own.local.push_back(LocalWrite::Write(to, v, EntryPart { joined: false, ..part }));
                match place {
                    0 => own.local.extend(is_over.then_some(LocalWrite::Confirmation(part))),
                    _ if is_over => own.pipe.insert(place, PipeEntry::Ack(part)),
                    _ => {}
                }
            }
            PipeEntry::Rcas(to, on, old, _, part) if memory(on) != old => {
                let part = EntryPart { signal: Signalled::No, ..part };
                own.pipe[place] = PipeEntry::LocalWrite(to, memory(on), part);
            }
            PipeEntry::Rcas(to, on, .., part)
            | PipeEntry::Rfaa(to, on, _, part)
            | PipeEntry::Rxchg(to, on, _, part) => {
                let new = own.pipe[place].updated(memory(on))?;
                let part = EntryPart { signal: Signalled::No, ..part };
                own.pipe[place] = PipeEntry::LocalWrite(to, memory(on), part);
                own.pipe.insert(place, PipeEntry::AtomicWrite(on, new, part.call, part.nth));
                after.locked = after.locked.with(q.to);
            }
            PipeEntry::AtomicWrite(x, v, call, nth) => {
                own.pipe.remove(place);
                own.remote.push_back(Arrived { x, v, of: Remote::Atomic, nth, strict: false, call });
            }
            PipeEntry::Rfence | PipeEntry::Ack(_) => unreachable!("taken at once"),
        }
        Some(after)
    }

    /// Lists the results of a call of the library of crashes. `Dead` returns once the program of its thread has ended.
    fn crash(&self, state: &State, thread: Tid, call: &Call) -> Vec<(Val, State)> {
        let returns = |v: Val| (v, state.clone());
        match crash::Method::of(call) {
            crash::Method::Goes {} => {
                let mut stopped = state.clone();
                let (crashes, node) = (&self.world.crashes, self.world.node_of(thread));
                if crashes.nodes.contains(node) && !crashes.threads.contains(&thread) {
                    stopped.crashed = stopped.crashed.with(node);
                }
                vec![(Val::Bool(false), stopped), returns(Val::Bool(true))]
            }
            crash::Method::Stop {} => vec![returns(Val::Unit)],
            crash::Method::Dead { t } if matches!(self.programs.next(state.at[t.index()]), Next::End(_)) => {
                vec![returns(Val::Unit)]
            }
            crash::Method::Dead { .. } => Vec::new(),
        }
    }

    /// Makes a call of the CPU that reads memory. Returns `None` for other calls, and if it is not possible now.
    pub(super) fn access(&self, state: &State, t: usize, call: &Call) -> Option<(Val, State)> {
        let method = call.method.text();
        if !matches!(method, "Read" | "CAS" | "Xchg" | "FAA") {
            return None;
        }
        let x = call.loc(0);
        let old = state.memory[self.word(x)];
        if method == "Read" {
            let own = state.buffers[t].iter().rev().find_map(|b| match b {
                Buffered::Write(y, v, _) if *y == x => Some(*v),
                _ => None,
            });
            return Some((own.unwrap_or(old), state.clone()));
        }
        let new = match method {
            "CAS" => Some(call.args[2]).filter(|_| old == call.args[1]),
            "FAA" => Some(old.plus(call.args[1].int()?)?),
            _ => Some(call.args[1]),
        };
        let is_excluded = new.is_some() && self.switches.global_atomics && state.is_being_updated(x);
        if is_excluded || !state.buffers[t].is_empty() {
            return None;
        }
        let mut after = state.clone();
        after.memory[self.word(x)] = new.unwrap_or(old);
        Some((old, after))
    }
}
