//! RDMA-TSO-RMW as a machine: store buffers, queue pairs and memory, one transition a step.
//!
//! SYNC App. D.1, Fig. 21, rules 1 to 13. Theorem 7: its outcomes are those of the declarative model
//! ([`crate::tso`]). [`Machine::explore`] visits every state, [`Machine::walk`] takes one random run.
//!
//! Steps that only their own thread or queue pair can notice, that stay possible once they are, and that never make
//! another step impossible, are taken at once: an append to the store buffer, a fence of an empty one, the issue of an
//! operation, the removal of a remote fence, an acknowledgement, a poll. Each commutes with every other step, so no final
//! state is lost.
//!
//! A round of a loop that only looked and did not break leads back to where the loop began: the thread does then what it did
//! before. Other rounds are bounded ([`Machine::within`]).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use mowgli_core::event::{Call, Cell, Event};
use mowgli_core::ids::{Loc, Node, NodeSet, Tid};
use mowgli_core::library::Library;
use mowgli_core::outcome::Outcome;
use mowgli_core::program::Prog;
use mowgli_core::runs::Stop;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use rustc_hash::FxHashSet;

use crate::tso::{TSO, Tso, result, towards};

/// An entry of a store buffer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Buffered {
    Write(Loc, Val),
    Operation(Node, Entry),
}

/// An entry of a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Entry {
    /// A remote fence.
    Rfence,
    /// Not yet read: to, from.
    Put(Loc, Loc),
    /// The write of a put that has read.
    RemoteWrite(Loc, Val),
    /// The acknowledgement of a put.
    Ack,
    /// Not yet read: to, from.
    Get(Loc, Loc),
    /// The write of what came back.
    LocalWrite(Loc, Val),
    /// Not yet read: to, on, the expected and the new value.
    Rcas(Loc, Loc, Val, Val),
    /// Not yet read: to, on, the number to add.
    Rfaa(Loc, Loc, Val),
    /// The remote write of an atomic operation.
    AtomicWrite(Loc, Val),
}

/// An entry of the buffer of local writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Local {
    Write(Loc, Val),
    Confirmation,
}

/// The queue pair of a thread and a remote node; the oldest entry of each buffer is the first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct QueuePair {
    pipe: Vec<Entry>,
    /// Remote writes, and whether each is the write of an atomic operation.
    remote: VecDeque<(Loc, Val, bool)>,
    local: VecDeque<Local>,
}

impl QueuePair {
    fn has_local_write(&self) -> bool {
        self.local.iter().any(|l| matches!(l, Local::Write(..)))
    }

    /// Whether all that is older than an entry are gets, local writes and acknowledgements.
    fn is_past_reads(&self, place: usize) -> bool {
        self.pipe[..place].iter().all(|e| matches!(e, Entry::Get(..) | Entry::LocalWrite(..) | Entry::Ack))
    }
}

/// Whether the entry at this place of a pipe can act, other than at once: the conditions of rules 2, 3, 6, 7 and 9 to 12.
fn can_act(queue: &QueuePair, place: usize, is_locked: bool) -> bool {
    match queue.pipe[place] {
        Entry::Rfence | Entry::Ack => false,
        Entry::Put(..) => {
            let blocks = |e: &Entry| matches!(e, Entry::Put(..) | Entry::Rfence);
            !queue.pipe[..place].iter().any(blocks) && !queue.has_local_write()
        }
        Entry::RemoteWrite(..) | Entry::AtomicWrite(..) => queue.is_past_reads(place),
        Entry::Get(..) => queue.is_past_reads(place) && queue.remote.is_empty(),
        Entry::Rcas(..) | Entry::Rfaa(..) => queue.is_past_reads(place) && queue.remote.is_empty() && !is_locked,
        Entry::LocalWrite(..) => place == 0,
    }
}

/// A configuration of the machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    /// For each thread how far its program is, as a number of [`Programs`].
    at: Vec<u32>,
    buffers: Vec<VecDeque<Buffered>>,
    /// By thread and node.
    pairs: Vec<QueuePair>,
    memory: Vec<Val>,
    /// The nodes whose remote-atomic lock is taken.
    locked: NodeSet,
}

impl State {
    /// How much memory it takes.
    fn bytes(&self) -> usize {
        let of_pair = |q: &QueuePair| {
            size_of_val(q)
                + q.pipe.capacity() * size_of::<Entry>()
                + q.remote.capacity() * size_of::<(Loc, Val, bool)>()
                + q.local.capacity() * size_of::<Local>()
        };
        let of_buffer = |b: &VecDeque<Buffered>| size_of_val(b) + b.capacity() * size_of::<Buffered>();
        size_of_val(self)
            + size_of_val(&self.at[..])
            + self.buffers.iter().map(of_buffer).sum::<usize>()
            + self.pairs.iter().map(of_pair).sum::<usize>()
            + size_of_val(&self.memory[..])
    }
}

/// What a thread does next.
#[derive(Clone)]
enum Next {
    Call(Call),
    End(Val),
    /// A round of a loop has ended that only looked: it goes on as it did when it had made so many calls.
    Again(usize),
    /// It goes round and round without a call that looks or acts.
    Spin,
    /// Nothing: there were more rounds of a loop than are looked at, or the next call is one that no program may make.
    Cut(Stop),
}

/// A place of a program.
struct Place {
    next: Next,
    /// The calls so far, but for rounds that only looked.
    earlier: Vec<Event>,
    /// The place before the last of them.
    before: Option<u32>,
}

/// The programs as graphs: a place for each sequence of results, as far as it matters.
struct Programs<'a> {
    programs: &'a [Prog],
    world: &'a World,
    /// How many rounds of a loop may do more than look.
    rounds: usize,
    places: Vec<Place>,
    known: BTreeMap<(usize, u32, Val), u32>,
}

impl<'a> Programs<'a> {
    fn new(world: &'a World, programs: &'a [Prog]) -> Self {
        Self { programs, world, rounds: usize::MAX, places: Vec::new(), known: BTreeMap::new() }
    }

    /// The place of a thread after these calls, the last of which it made at `before`.
    fn add(&mut self, thread: usize, earlier: Vec<Event>, before: Option<u32>) -> u32 {
        let tid = Tid::from_index(thread);
        let next = Replay { thread: tid, rounds: self.rounds, events: &earlier, at: 0 }.next(&self.programs[thread]);
        let next = match next {
            Next::Call(call) => match Tso.fault(self.world, tid, &call) {
                Some(fault) => Next::Cut(Stop::IllDefined(format!("{tid} calls {call} of {}: {fault}", call.library))),
                None => Next::Call(call),
            },
            other => other,
        };
        if let (Next::Again(calls), Some(mut place)) = (&next, before) {
            while self.earlier(place).len() > *calls {
                place = self.places[place as usize].before.expect("it has made calls");
            }
            return place;
        }
        let place = u32::try_from(self.places.len()).expect("fewer places than states");
        self.places.push(Place { next, earlier, before });
        place
    }

    fn next(&self, place: u32) -> &Next {
        &self.places[place as usize].next
    }

    fn earlier(&self, place: u32) -> &[Event] {
        &self.places[place as usize].earlier
    }

    /// The place after the next call returned this.
    fn after(&mut self, thread: usize, place: u32, ret: Val) -> u32 {
        if let Some(&known) = self.known.get(&(thread, place, ret)) {
            return known;
        }
        let Next::Call(call) = self.next(place).clone() else { unreachable!("only calls return") };
        let event = Event { thread: Tid::from_index(thread), call, ret };
        let earlier = [self.earlier(place), &[event]].concat();
        let after = self.add(thread, earlier, Some(place));
        self.known.insert((thread, place, ret), after);
        after
    }
}

/// Whether a call of the CPU changes nothing, neither memory nor what is under way.
fn only_looks(event: &Event) -> bool {
    match event.call.method.text() {
        "CAS" => event.ret != event.call.args[1],
        method => matches!(method, "Read" | "Mfence" | "SetIsEmpty"),
    }
}

/// A program, run with the results of its calls.
struct Replay<'a> {
    thread: Tid,
    rounds: usize,
    events: &'a [Event],
    /// How many of them are used.
    at: usize,
}

enum Value {
    Done(Val, usize),
    Stopped(Next),
}

impl Replay<'_> {
    /// What comes after all these calls.
    fn next(mut self, program: &Prog) -> Next {
        match self.run(program) {
            Value::Done(v, _) => Next::End(v),
            Value::Stopped(next) => next,
        }
    }

    fn run(&mut self, program: &Prog) -> Value {
        match program {
            Prog::Val(v) => Value::Done(*v, 0),
            Prog::Break(k, v) => Value::Done(*v, *k),
            Prog::Bound => self.cut(),
            Prog::Call(call) => match self.events.get(self.at) {
                Some(event) => {
                    self.at += 1;
                    Value::Done(event.ret, 0)
                }
                None => Value::Stopped(Next::Call(call.clone())),
            },
            Prog::Let(first, f) => match self.run(first) {
                Value::Done(v, 0) => self.run(&f(v)),
                other => other,
            },
            Prog::Loop(body) => self.rounds(body),
        }
    }

    /// The bound on rounds.
    fn cut(&self) -> Value {
        let last = self.events.last();
        let after = last.map_or_else(String::new, |last| format!(" after {last}"));
        Value::Stopped(Next::Cut(Stop::Rounds(format!("{}: a loop of {}{after}", self.thread, self.rounds + 1))))
    }

    fn rounds(&mut self, body: &Prog) -> Value {
        let mut done = 0;
        loop {
            let start = self.at;
            match self.run(body) {
                Value::Done(_, 0) => {}
                Value::Done(v, breaks) => return Value::Done(v, breaks - 1),
                stopped @ Value::Stopped(_) => return stopped,
            }
            let own = &self.events[start..self.at];
            // What does not look at memory returns the same again.
            let reads = |e: &Event| matches!(e.call.method.text(), "Read" | "CAS");
            match own.iter().all(only_looks) {
                true if own.iter().any(reads) => return Value::Stopped(Next::Again(start)),
                true => return Value::Stopped(Next::Spin),
                false if done >= self.rounds => return self.cut(),
                false => done += 1,
            }
        }
    }
}

/// One transition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The thread whose program, store buffer or queue pair acts.
    pub thread: Tid,
    /// What it does.
    pub act: Act,
}

/// What a transition is, with the rule of Fig. 21 where it has one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// The CPU makes a call, with this result.
    Call(Call, Val),
    /// The oldest write of the store buffer goes to memory.
    StoreBuffer(Loc, Val),
    /// The oldest operation of the store buffer goes into the pipe to a node.
    Issue(Node, Entry),
    /// An entry of the pipe to a node acts.
    Pipe(Node, Entry),
    /// The oldest remote write at a node goes to memory; rule 13 if it is that of an atomic operation, else 5.
    Remote(Node, Loc, Val, bool),
    /// The oldest local write that came from a node goes to memory: rule 8.
    Local(Node, Loc, Val),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.thread)?;
        match &self.act {
            Act::Call(call, Val::Unit) => write!(f, "{call}"),
            Act::Call(call, result) => write!(f, "{call} = {result}"),
            Act::StoreBuffer(x, v) => write!(f, "{x} := {v} leaves the store buffer"),
            Act::Issue(n, entry) => write!(f, "{entry} is issued to node {n}"),
            Act::Pipe(n, entry) => match entry {
                Entry::Rfence => write!(f, "the remote fence to node {n} is over (rule 1)"),
                Entry::Put(to, from) => write!(f, "the put of {to} reads {from} (rule 2)"),
                Entry::RemoteWrite(to, v) => write!(f, "{to} := {v} arrives at node {n} (rule 3)"),
                Entry::Ack => write!(f, "the acknowledgement of node {n} is there (rule 4)"),
                Entry::Get(to, from) => write!(f, "the get of {to} reads {from} on node {n} (rule 6)"),
                Entry::LocalWrite(to, v) => write!(f, "{to} := {v} has come back from node {n} (rule 7)"),
                Entry::Rcas(_, on, ..) => write!(f, "the RCAS on node {n} reads {on} (rule 9 or 10)"),
                Entry::Rfaa(_, on, _) => write!(f, "the RFAA on node {n} reads {on} (rule 11)"),
                Entry::AtomicWrite(on, v) => write!(f, "the atomic {on} := {v} arrives at node {n} (rule 12)"),
            },
            Act::Remote(n, x, v, false) => write!(f, "{x} := {v} is in the memory of node {n} (rule 5)"),
            Act::Remote(n, x, v, true) => write!(f, "the atomic {x} := {v} is in the memory of node {n} (rule 13)"),
            Act::Local(n, x, v) => write!(f, "{x} := {v}, from node {n}, is in memory (rule 8)"),
        }
    }
}

/// What an exploration found.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// The outcomes of the runs that end.
    pub outcomes: BTreeSet<Outcome>,
    /// How many states there are, after the steps that are taken at once.
    pub states: usize,
    /// The bytes of memory that a state takes, on average.
    pub bytes: usize,
    /// How many of them are the last of a run that can neither go on nor end: a poll waits for an operation that nobody
    /// issues.
    pub stuck: usize,
    /// What stopped the exploration.
    pub stop: Option<Stop>,
}

/// The machine with a program.
pub struct Machine<'a> {
    world: &'a World,
    programs: Programs<'a>,
    locs: Vec<Loc>,
}

impl<'a> Machine<'a> {
    /// The machine at the beginning of a program, whose calls are those of RDMA-TSO-RMW.
    ///
    /// # Errors
    /// If an object is no memory word, or lives on no node.
    pub fn new(world: &'a World, programs: &'a [Prog]) -> Result<Self, String> {
        for (x, object) in &world.objects {
            if object.library != TSO || object.node.is_none() {
                return Err(format!("{x} is an object of {}; the machine has memory words only", object.library));
            }
        }
        Ok(Self { world, programs: Programs::new(world, programs), locs: world.objects.keys().copied().collect() })
    }

    /// With at most so many rounds of a loop that do more than look.
    #[must_use]
    pub fn within(mut self, rounds: usize) -> Self {
        self.programs.rounds = rounds;
        self
    }

    fn start(&mut self) -> State {
        let threads = self.world.threads.len();
        State {
            at: (0..threads).map(|t| self.programs.add(t, Vec::new(), None)).collect(),
            buffers: vec![VecDeque::new(); threads],
            pairs: vec![QueuePair::default(); threads * usize::from(self.world.nodes)],
            memory: self.world.objects.values().map(|o| o.init).collect(),
            locked: NodeSet::default(),
        }
    }

    fn word(&self, x: Loc) -> usize {
        self.locs.binary_search(&x).expect("a declared word")
    }

    fn pair(&self, t: usize, n: Node) -> usize {
        t * usize::from(self.world.nodes) + usize::from(n.0) - 1
    }

    /// Every final state, from the first one; stops after `limit` states.
    pub fn explore(&mut self, observed: &[Cell], limit: usize, expired: &dyn Fn() -> bool) -> Runs {
        self.explore_all(true, observed, limit, expired)
    }

    /// As [`Self::explore`], without taking any step at once: more states, to hold the reduction against.
    pub fn explore_slowly(&mut self, observed: &[Cell], limit: usize) -> Runs {
        self.explore_all(false, observed, limit, &|| false)
    }

    fn explore_all(&mut self, reduced: bool, observed: &[Cell], limit: usize, expired: &dyn Fn() -> bool) -> Runs {
        let mut runs = Runs::default();
        let mut first = self.start();
        if reduced {
            first = self.settled(first);
        }
        let mut seen = FxHashSet::default();
        seen.insert(first.clone());
        let mut todo = vec![first];
        while let Some(state) = todo.pop() {
            runs.states += 1;
            if runs.states >= limit {
                runs.stop = Some(Stop::States(limit));
                break;
            }
            if runs.states % 1024 == 1 && expired() {
                runs.stop = Some(Stop::Time);
                break;
            }
            if let Some(stop) = self.cut(&state) {
                runs.stop = Some(stop);
                continue;
            }
            let mut next = if reduced { Vec::new() } else { self.slow_steps(&state) };
            self.steps(&state, &mut |machine, _, after| {
                next.push(if reduced { machine.settled(after) } else { after });
            });
            let moves = next.len();
            todo.extend(next.into_iter().filter(|after| seen.insert(after.clone())));
            if moves == 0 {
                match self.outcome(&state, observed) {
                    Some(outcome) => {
                        runs.outcomes.insert(outcome);
                    }
                    None => runs.stuck += 1,
                }
            }
        }
        runs.bytes = seen.iter().map(State::bytes).sum::<usize>() / seen.len();
        runs
    }

    /// The state after all steps that are taken at once.
    fn settled(&mut self, mut state: State) -> State {
        while self.at_once(&mut state).is_some() {}
        state
    }

    /// Whether there is a way out of these states.
    fn leaves(&mut self, from: &State, been: &FxHashSet<State>) -> bool {
        let mut seen = FxHashSet::default();
        let mut todo = vec![from.clone()];
        while let Some(state) = todo.pop() {
            if !been.contains(&state) {
                return true;
            }
            self.steps(&state, &mut |machine, _, after| {
                let after = machine.settled(after);
                if seen.insert(after.clone()) {
                    todo.push(after);
                }
            });
        }
        false
    }

    /// One run: at each point `choose` picks one of so many steps, of those that lead to where it was not yet if there are any:
    /// rounds that wait are passed. `show` gets each step and what the machine looks like
    /// after it. Returns the outcome, or `None` if the run cannot end.
    ///
    /// # Errors
    /// If the time is up before the run has ended, or a thread makes a call that no program may make.
    pub fn walk(
        &mut self,
        observed: &[Cell],
        choose: &mut dyn FnMut(usize) -> usize,
        show: &mut dyn FnMut(&Step, &str),
        expired: &dyn Fn() -> bool,
    ) -> Result<Option<Outcome>, Stop> {
        let mut state = self.start();
        let mut been = FxHashSet::default();
        loop {
            if expired() {
                return Err(Stop::Time);
            }
            while let Some(step) = self.at_once(&mut state) {
                show(&step, &self.picture(&state));
            }
            let mut all = Vec::new();
            self.steps(&state, &mut |_, step, after| all.push((step, after)));
            if let Some(stop) = self.cut(&state) {
                return Err(stop);
            }
            if all.is_empty() {
                return Ok(self.outcome(&state, observed));
            }
            been.insert(state.clone());
            let is_new = |machine: &mut Self, after: &State| !been.contains(&machine.settled(after.clone()));
            let new: Vec<bool> = all.iter().map(|(_, after)| is_new(self, after)).collect();
            if new.contains(&true) {
                let mut new = new.iter();
                all.retain(|_| *new.next().expect("one for each"));
            } else if !self.leaves(&state, &been) {
                return Ok(None);
            }
            let (step, after) = all.swap_remove(choose(all.len()));
            state = after;
            show(&step, &self.picture(&state));
        }
    }

    /// Why a thread does not go on, if it is not for what it reads.
    fn cut(&self, state: &State) -> Option<Stop> {
        let of = |place: &u32| if let Next::Cut(stop) = self.programs.next(*place) { Some(stop.clone()) } else { None };
        state.at.iter().find_map(of)
    }

    /// The outcome of a state in which everything has ended.
    fn outcome(&self, state: &State, observed: &[Cell]) -> Option<Outcome> {
        let output = |&place: &u32| match self.programs.next(place) {
            Next::End(v) => Some(*v),
            _ => None,
        };
        let outputs = state.at.iter().map(output).collect::<Option<Vec<Val>>>()?;
        let is_empty = |q: &QueuePair| q.pipe.is_empty() && q.remote.is_empty() && !q.has_local_write();
        let ended = state.buffers.iter().all(VecDeque::is_empty) && state.pairs.iter().all(is_empty);
        let finals = observed.iter().map(|c| state.memory[self.word(c.loc)]).collect();
        ended.then_some(Outcome { outputs, finals })
    }

    /// One step that is taken at once, if there is one.
    fn at_once(&mut self, state: &mut State) -> Option<Step> {
        let nodes = self.world.all_nodes();
        (0..state.at.len()).find_map(|t| {
            let own = self.call_at_once(state, t).or_else(|| self.issue(state, t));
            own.or_else(|| nodes.iter().find_map(|n| self.oldest_at_once(state, t, n)))
        })
    }

    fn call_at_once(&mut self, state: &mut State, t: usize) -> Option<Step> {
        let Next::Call(call) = self.programs.next(state.at[t]).clone() else { return None };
        let ret = self.silent_call(state, t, &call)?;
        state.at[t] = self.programs.after(t, state.at[t], ret);
        Some(Step { thread: Tid::from_index(t), act: Act::Call(call, ret) })
    }

    /// The oldest entry of the store buffer goes into its pipe.
    fn issue(&self, state: &mut State, t: usize) -> Option<Step> {
        let Some(&Buffered::Operation(n, entry)) = state.buffers[t].front() else { return None };
        state.buffers[t].pop_front();
        state.pairs[self.pair(t, n)].pipe.push(entry);
        Some(Step { thread: Tid::from_index(t), act: Act::Issue(n, entry) })
    }

    /// Rules 1 and 4.
    fn oldest_at_once(&self, state: &mut State, t: usize, n: Node) -> Option<Step> {
        let queue = &mut state.pairs[self.pair(t, n)];
        let Some(&entry @ (Entry::Rfence | Entry::Ack)) = queue.pipe.first() else { return None };
        queue.pipe.remove(0);
        if entry == Entry::Ack {
            queue.local.push_back(Local::Confirmation);
        }
        Some(Step { thread: Tid::from_index(t), act: Act::Pipe(n, entry) })
    }

    /// Every step that [`Self::at_once`] would take first, and those after it, each by itself.
    fn slow_steps(&mut self, state: &State) -> Vec<State> {
        let mut all = Vec::new();
        for t in 0..state.at.len() {
            let mut after = state.clone();
            all.extend(self.call_at_once(&mut after, t).map(|_| after));
            let mut after = state.clone();
            all.extend(self.issue(&mut after, t).map(|_| after));
            for n in self.world.all_nodes().iter() {
                let mut after = state.clone();
                all.extend(self.oldest_at_once(&mut after, t, n).map(|_| after));
            }
        }
        all
    }

    /// The effect and the result of a call of the CPU that is taken at once.
    fn silent_call(&self, state: &mut State, t: usize, call: &Call) -> Option<Val> {
        let (method, args) = (call.method.text(), &call.args);
        let result = result(self.world, self.programs.earlier(state.at[t]), call);
        let buffered = match method {
            "Write" => Buffered::Write(call.loc(0), args[1]),
            "Mfence" => return state.buffers[t].is_empty().then_some(Val::Unit),
            "SetAdd" | "SetRemove" | "SetIsEmpty" => return state.buffers[t].is_empty().then_some(result?),
            "Poll" => {
                let pair = self.pair(t, towards(self.world, call)?);
                let confirmed = state.pairs[pair].local.front() == Some(&Local::Confirmation);
                return confirmed.then(|| state.pairs[pair].local.pop_front()).and(result);
            }
            "Rfence" => match args[0] {
                Val::Node(n) => Buffered::Operation(n, Entry::Rfence),
                _ => return None,
            },
            "Put" => Buffered::Operation(towards(self.world, call)?, Entry::Put(call.loc(0), call.loc(1))),
            "Get" => Buffered::Operation(towards(self.world, call)?, Entry::Get(call.loc(0), call.loc(1))),
            "RCAS" => {
                let entry = Entry::Rcas(call.loc(0), call.loc(1), args[2], args[3]);
                Buffered::Operation(towards(self.world, call)?, entry)
            }
            "RFAA" => {
                let entry = Entry::Rfaa(call.loc(0), call.loc(1), args[2]);
                Buffered::Operation(towards(self.world, call)?, entry)
            }
            _ => return None,
        };
        state.buffers[t].push_back(buffered);
        result
    }

    /// Every other step.
    fn steps(&mut self, state: &State, visit: &mut dyn FnMut(&mut Self, Step, State)) {
        for t in 0..state.at.len() {
            let mut visit =
                |machine: &mut Self, act, after| visit(machine, Step { thread: Tid::from_index(t), act }, after);
            if let Next::Call(call) = self.programs.next(state.at[t]).clone()
                && let Some((result, mut after)) = self.access(state, t, &call)
            {
                after.at[t] = self.programs.after(t, after.at[t], result);
                visit(self, Act::Call(call, result), after);
            }
            if let Some(&Buffered::Write(x, v)) = state.buffers[t].front() {
                let mut after = state.clone();
                after.buffers[t].pop_front();
                after.memory[self.word(x)] = v;
                visit(self, Act::StoreBuffer(x, v), after);
            }
            for n in self.world.all_nodes().iter() {
                let pair = self.pair(t, n);
                let queue = &state.pairs[pair];
                for place in (0..queue.pipe.len()).filter(|&p| can_act(queue, p, state.locked.contains(n))) {
                    if let Some(after) = self.act(state, pair, n, place) {
                        visit(self, Act::Pipe(n, queue.pipe[place]), after);
                    }
                }
                if let Some(&(x, v, is_atomic)) = queue.remote.front() {
                    let mut after = state.clone();
                    after.pairs[pair].remote.pop_front();
                    after.memory[self.word(x)] = v;
                    if is_atomic {
                        after.locked = after.locked.without(n);
                    }
                    visit(self, Act::Remote(n, x, v, is_atomic), after);
                }
                let oldest = queue.local.iter().position(|l| matches!(l, Local::Write(..)));
                if let Some((place, Local::Write(x, v))) = oldest.map(|p| (p, queue.local[p])) {
                    let mut after = state.clone();
                    after.pairs[pair].local.remove(place);
                    after.memory[self.word(x)] = v;
                    visit(self, Act::Local(n, x, v), after);
                }
            }
        }
    }

    /// What the entry at this place of a pipe does; `None` if it is an addition to what has no sum.
    fn act(&self, state: &State, pair: usize, n: Node, place: usize) -> Option<State> {
        let mut after = state.clone();
        let own = &mut after.pairs[pair];
        let memory = |x: Loc| state.memory[self.word(x)];
        match own.pipe[place] {
            Entry::Put(to, from) => own.pipe[place] = Entry::RemoteWrite(to, memory(from)),
            Entry::RemoteWrite(to, v) => {
                own.pipe[place] = Entry::Ack;
                own.remote.push_back((to, v, false));
            }
            Entry::Get(to, from) => own.pipe[place] = Entry::LocalWrite(to, memory(from)),
            Entry::LocalWrite(to, v) => {
                own.pipe.remove(0);
                own.local.extend([Local::Write(to, v), Local::Confirmation]);
            }
            Entry::Rcas(to, on, old, new) => {
                own.pipe[place] = Entry::LocalWrite(to, memory(on));
                if memory(on) == old {
                    own.pipe.insert(place, Entry::AtomicWrite(on, new));
                    after.locked = after.locked.with(n);
                }
            }
            Entry::Rfaa(to, on, add) => {
                let old = memory(on);
                let new = old.plus(add.int()?)?;
                own.pipe[place] = Entry::LocalWrite(to, old);
                own.pipe.insert(place, Entry::AtomicWrite(on, new));
                after.locked = after.locked.with(n);
            }
            Entry::AtomicWrite(on, v) => {
                own.pipe.remove(place);
                own.remote.push_back((on, v, true));
            }
            Entry::Rfence | Entry::Ack => unreachable!("taken at once"),
        }
        Some(after)
    }

    /// A call of the CPU that looks at memory.
    fn access(&self, state: &State, t: usize, call: &Call) -> Option<(Val, State)> {
        let method = call.method.text();
        if !matches!(method, "Read" | "CAS" | "Xchg") {
            return None;
        }
        let x = call.loc(0);
        let word = self.word(x);
        match method {
            "Read" => {
                let own = state.buffers[t].iter().rev().find_map(|b| match b {
                    Buffered::Write(y, v) if *y == x => Some(*v),
                    _ => None,
                });
                Some((own.unwrap_or(state.memory[word]), state.clone()))
            }
            "CAS" if state.buffers[t].is_empty() => {
                let mut after = state.clone();
                let old = state.memory[word];
                if old == call.args[1] {
                    after.memory[word] = call.args[2];
                }
                Some((old, after))
            }
            "Xchg" if state.buffers[t].is_empty() => {
                let mut after = state.clone();
                let old = std::mem::replace(&mut after.memory[word], call.args[1]);
                Some((old, after))
            }
            _ => None,
        }
    }

    /// Memory, and what is under way.
    fn picture(&self, state: &State) -> String {
        let memory = self.locs.iter().zip(&state.memory).map(|(x, v)| format!("{x}={v}"));
        let mut lines = vec![format!("memory {}", memory.collect::<Vec<_>>().join(" "))];
        for t in 0..state.at.len() {
            let list = |name: &str, all: Vec<String>| (!all.is_empty()).then(|| format!("{name} {}", all.join(", ")));
            let thread = Tid::from_index(t);
            let buffered = |b: &Buffered| match b {
                Buffered::Write(x, v) => format!("{x} := {v}"),
                Buffered::Operation(n, e) => format!("{e} to {n}"),
            };
            lines.extend(list(&format!("{thread} store buffer:"), state.buffers[t].iter().map(buffered).collect()));
            for n in self.world.all_nodes().iter() {
                let q = &state.pairs[self.pair(t, n)];
                let name = |part: &str| format!("{thread} to node {n}, {part}:");
                let remote = |(x, v, _): &(Loc, Val, bool)| format!("{x} := {v}");
                let local = |l: &Local| match l {
                    Local::Write(x, v) => format!("{x} := {v}"),
                    Local::Confirmation => "done".to_owned(),
                };
                lines.extend(list(&name("pipe"), q.pipe.iter().map(ToString::to_string).collect()));
                lines.extend(list(&name("remote writes"), q.remote.iter().map(remote).collect()));
                lines.extend(list(&name("local writes"), q.local.iter().map(local).collect()));
            }
        }
        lines.join("\n")
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rfence => f.write_str("rfence"),
            Self::Put(to, from) => write!(f, "put({to}, {from})"),
            Self::RemoteWrite(to, v) => write!(f, "remote write {to} := {v}"),
            Self::Ack => f.write_str("ack"),
            Self::Get(to, from) => write!(f, "get({to}, {from})"),
            Self::LocalWrite(to, v) => write!(f, "local write {to} := {v}"),
            Self::Rcas(to, on, old, new) => write!(f, "rcas({to}, {on}, {old}, {new})"),
            Self::Rfaa(to, on, add) => write!(f, "rfaa({to}, {on}, {add})"),
            Self::AtomicWrite(to, v) => write!(f, "atomic write {to} := {v}"),
        }
    }
}
