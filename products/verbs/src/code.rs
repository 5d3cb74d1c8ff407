//! A compiled program as code of the machine: the next call of a thread after the results of its earlier calls.
//!
//! **Computes**: for a thread and the results of its calls, its next call of RDMA-TSO-RMW, or its end. The process runs
//! the thread with these results, and reports what comes next. One call in C may be several calls of the model. A SEND is
//! a put of its data to an inbox, and a put that announces it. A poll is a choice and, if it succeeds, `Poll`.
//!
//! **Invariant**: the batch of a thread and a list of results is what the thread does with them. So a thread never runs
//! twice with the same results. States with equal names are equal: registers, stack, written memory, queue pairs, and what the
//! thread has learned since it called the runtime last.
//!
//! **Example**: `while (!flag);` asks for the result of a load of flag. With 0 the thread asks again, in the same
//! state. So the machine has a loop of one place, and not a run for each iteration.
//!
//! **Correct because**: the next call of a thread depends only on the results of its calls. All memory that
//! others write is in cells (see `cells`). What depends on time or chance is noticed: a thread that runs again from
//! its beginning then makes other calls. A run stays right when cells are added, if its thread has touched none of them. The
//! generated programs in `mowgli/tests/explored.rs` have the outcomes of their litmus tests.
//!
//! **Cost**: a fork for each branch of a thread's code, about 0.2 ms; the machine's states cost no run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::term::script::{NextByResults, Script, StateName};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_rdma::network::{Order, Remote};
use mowgli_rdma::way::{WORDS, Way};
use mowgli_rdma::{Network, crash, tso};

use crate::cells::{Cells, Copy, Mixed, Uses, overlap};
use crate::error::Error;
use crate::lines::Lines;
use crate::process::{
    CallBatch, CallStack, Line, MemoryAccess, Messages, Need, PartEnd, RunEnd, Setup, name_of, places,
};
use crate::setup::Processes;
use crate::tree::{RunNumber, RunTree};

/// The most queue pairs of a thread to one node, as in litmus tests.
const LAST_QUEUE: u8 = 9;

/// The word by which a thread tells that it has ended, and that by which `main` tells that its program has.
const ENDED: &str = "ended";
const OVER: &str = "over";

/// The values that an execution has recorded, by name.
pub type RecordedValues = Vec<(String, i64)>;

/// A failure: its kind, where the thread is, and what is wrong.
pub(crate) type Failed = (FailureKind, CallStack, String);

/// The end of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ThreadEnding {
    pub(crate) thread: usize,
    pub(crate) values: RecordedValues,
    pub(crate) messages: Messages,
    /// The operations that it has posted and that need what threads end, by their positions in `CompiledProgram::landings`.
    pub(crate) lands: Vec<usize>,
    pub(crate) failure: Option<Failed>,
}

/// The kind of a failure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FailureKind {
    /// An assertion, a crash, or an exit.
    Program,
    /// A wrong use of verbs.
    Misuse,
}

/// A thread at some point.
pub(crate) enum CodeAt {
    /// Before this call of the model.
    Call(ModelCall),
    /// At its end; the number is its position in `CompiledProgram::endings`.
    End(usize),
    Discarded,
    /// A limit, or something that is not supported.
    Cut(String),
}

/// A call of the model that a thread makes.
#[derive(Clone)]
pub(crate) struct ModelCall {
    pub(crate) call: Call,
    /// The name of the thread's state before the call.
    pub(crate) state: StateName,
    /// The site of the call in the program.
    pub(crate) site: CallSite,
}

/// The site of a call in the program.
#[derive(Clone)]
pub(crate) struct CallSite {
    pub(crate) places: CallStack,
    /// Whether it is an access that is neither atomic nor volatile.
    pub(crate) is_plain: bool,
}

impl ModelCall {
    /// The call number `k` of the model that a call in C is.
    fn of(call: Call, k: usize, line: &Line) -> Self {
        let is_plain = line.text.starts_with("load ") || line.text.starts_with("store ");
        Self { call, state: part(line.state, k), site: CallSite { places: line.places.clone(), is_plain } }
    }
}

/// The calls of the model that a batch is, and its end.
struct Steps {
    calls: Vec<ModelCall>,
    /// The operations among them that need what threads end.
    lands: Vec<usize>,
    end: RunEnd,
}

/// The facts that are known of a run.
#[derive(Default)]
struct KnownRun {
    /// The report of the run, with the number of accesses and looks that were known after it. A round keeps it if no changed cell
    /// concerns it.
    ran: Option<(CallBatch, usize)>,
    /// The calls of the model that the report is in this round.
    steps: Option<Arc<Steps>>,
}

/// A walk of a thread. The next one often has the same results and one more, so it goes on there.
#[derive(Default)]
struct Walk {
    results: Vec<Val>,
    /// The runs on the way, each with the numbers of results and of operations in `lands` before it.
    passed: Vec<(RunNumber, usize, usize)>,
    lands: Vec<usize>,
}

impl Walk {
    /// Goes back to the last run on the way to these results, and returns it with the number of results before it.
    fn back(&mut self, results: &[Val]) -> Option<(RunNumber, usize)> {
        let shared = self.results.iter().zip(results).take_while(|(own, other)| own == other).count();
        self.results.truncate(shared);
        self.results.extend(&results[shared..]);
        while self.passed.pop_if(|(_, taken, _)| *taken > shared).is_some() {}
        let (run, taken, landed) = *self.passed.last()?;
        self.lands.truncate(landed);
        Some((run, taken))
    }
}

pub(crate) struct CompiledProgram {
    pub(crate) process: Processes,
    pub(crate) made: Setup,
    pub(crate) lines: Lines,
    pub(crate) uses: Uses,
    pub(crate) cells: Cells,
    /// Words that no memory of the program is: constants, inboxes of messages, and the like.
    hidden: BTreeMap<Loc, Object>,
    runs: RunTree<KnownRun>,
    /// The last walk of each thread.
    walks: BTreeMap<usize, Walk>,
    pub(crate) endings: Vec<ThreadEnding>,
    pub(crate) warnings: BTreeSet<(String, String)>,
    /// The memory of receives that are posted behind the set-up, whose data come at the poll.
    pub(crate) late: BTreeSet<(u64, u64)>,
    /// The memory that operations reach at the other side, each with a line.
    pub(crate) reached: BTreeMap<(u64, u64), String>,
    /// Functions and instructions that touch memory unseen, each with a line that calls it.
    pub(crate) unseen: BTreeMap<String, String>,
    /// Something was noticed that needs other cells or words, so the exploration starts again.
    pub(crate) is_stale: bool,
    /// Whether outcomes have the last values of all words, and not only of those that the code behind the last join is known to read.
    pub(crate) observes_all: bool,
    pub(crate) error: Option<Error>,
    /// The limits, and all that is not supported, in the order of discovery.
    pub(crate) limits: Vec<String>,
    /// The number of a queue pair among those of its thread to the same node, by the number in the program.
    numbers: BTreeMap<u32, (usize, u8)>,
    /// The thread that receives from each receive queue.
    receivers: BTreeMap<u64, usize>,
    /// The starter of each thread that another thread starts. They come behind the others.
    starters: Vec<usize>,
    /// The words by which threads tell of their ends, each with the node of a thread that reads it.
    ends: BTreeSet<(usize, &'static str, u8)>,
    /// The memory that threads have allocated, as the processes know it.
    known_blocks: Vec<(u64, u64)>,
    /// The words to which additions overflow, as the processes know them.
    known_wraps: BTreeSet<u64>,
    /// The network: that of the question, or `rc-relaxed` if the program registers memory with relaxed ordering.
    pub(crate) network: Network,
    /// Whether relaxed ordering is a matter of each memory region.
    has_keys: bool,
    /// Messages of more words than an operation moves, by the queue pair that receives them. They are written at the poll.
    large: BTreeSet<(u32, i64)>,
    /// The parts of nodes that threads end.
    part_ends: BTreeSet<PartEnd>,
    /// The operations that need them.
    pub(crate) landings: Vec<Landing>,
    /// Those of the call that is expanded.
    expanded_landings: Vec<usize>,
    /// The sites of the calls that the machine asked for, by the thread and the name of its state.
    pub(crate) sites: BTreeMap<(usize, StateName), CallSite>,
}

/// An operation that needs a part of the other side which a thread ends, for example memory that it frees.
#[derive(PartialEq, Eq)]
pub(crate) struct Landing {
    thread: usize,
    reaches: Reach,
    pub(crate) places: CallStack,
}

/// A part of the other side that an operation needs.
#[derive(PartialEq, Eq)]
enum Reach {
    /// It writes these ranges, the words of each in any order. Who frees one writes `FREED` there, so another last value is from later.
    Writes(Vec<(u64, u64)>),
    /// It needs this memory. A word arrives before the operation.
    Needs(u64, u64),
    /// It comes by this queue pair. A word arrives before it.
    Pair(u64),
    /// It needs the receive for this message to a queue pair.
    Receive(u64, u64),
}

/// The value of memory that is freed.
const FREED: i64 = 0x6d6f_7767_6c69_dead;

/// A word that an operation writes, and the one that it reads.
type MovedWord = (Loc, Loc);

/// The identifiers of the operations of a thread whose completions it has not polled, if they may come in any order.
struct OpenOperations {
    in_order: bool,
    ids: Vec<Val>,
}

impl OpenOperations {
    fn on(network: Network) -> Self {
        Self { in_order: network.completes_in_order, ids: Vec::new() }
    }

    /// Adds the result of a call if it is an identifier.
    fn add(&mut self, result: Val) {
        self.ids.extend((!self.in_order && matches!(result, Val::Tuple(_))).then_some(result));
    }

    /// Removes an operation, and returns its position among those of its queue pair, from 1.
    fn take(&mut self, taken: Val) -> i64 {
        let queue =
            |id: &Val| if let Val::Tuple(id) = id { id.parts().split_last().map(|(_, queue)| queue) } else { None };
        let Some(at) = self.ids.iter().position(|id| *id == taken) else { return 1 };
        let before = self.ids[..at].iter().filter(|id| queue(id) == queue(&taken)).count();
        self.ids.remove(at);
        before as i64 + 1
    }

    /// Returns a call with the open operations in the name of its state, because later polls return their identifiers.
    fn named(&self, call: ModelCall) -> ModelCall {
        if self.ids.is_empty() {
            return call;
        }
        let ids: Vec<String> = self.ids.iter().map(Val::to_string).collect();
        let state = call.state.to_le_bytes();
        let parts = ids.iter().map(String::as_bytes);
        ModelCall { state: name_of([&state[..]].into_iter().chain(parts)), ..call }
    }
}

/// Returns the name of the state before call `k` of the model among those that a call in C is.
fn part(state: StateName, k: usize) -> StateName {
    if k == 0 { state } else { name_of([&state.to_le_bytes()[..], &k.to_le_bytes()[..]]) }
}

impl CompiledProgram {
    pub(crate) fn new(process: Processes, made: Setup, lines: Lines, asked: Network) -> Self {
        let has_keys = asked == Network::RC && !made.relaxed.is_empty();
        let network = if has_keys { Network::RC_RELAXED } else { asked };
        Self {
            process,
            made,
            lines,
            uses: Uses::default(),
            cells: Cells::default(),
            hidden: BTreeMap::new(),
            runs: RunTree::default(),
            walks: BTreeMap::new(),
            endings: Vec::new(),
            warnings: BTreeSet::new(),
            late: BTreeSet::new(),
            reached: BTreeMap::new(),
            unseen: BTreeMap::new(),
            is_stale: false,
            observes_all: false,
            error: None,
            limits: Vec::new(),
            numbers: BTreeMap::new(),
            receivers: BTreeMap::new(),
            starters: Vec::new(),
            ends: BTreeSet::new(),
            known_blocks: Vec::new(),
            known_wraps: BTreeSet::new(),
            network,
            has_keys,
            large: BTreeSet::new(),
            part_ends: BTreeSet::new(),
            landings: Vec::new(),
            expanded_landings: Vec::new(),
            sites: BTreeMap::new(),
        }
    }

    /// Returns the name of the word at an address.
    pub(crate) fn loc(&self, at: u64) -> Loc {
        Loc::new(&self.lines.name(at, &self.made.regions))
    }

    pub(crate) fn line(&mut self, places: &[u64]) -> String {
        self.lines.place(places).to_string()
    }

    /// Returns the node of a cell: that of the memory region, or else of a thread that touches it.
    fn node(&mut self, at: u64, size: u64) -> Result<Node, Error> {
        let region = self.made.regions.iter().find(|(_, from, n)| (*from..from + n).contains(&at)).map(|r| r.0);
        let threads = self.uses.threads(at, size);
        let mut node = region;
        for (thread, places) in threads {
            let Some(&(own, _)) = self.made.threads.get(thread) else { continue };
            if node.is_some_and(|node| node != own) {
                let (place, name) = (self.line(&places), self.loc(at));
                let of = node.unwrap_or_default();
                return Err(Error::Program(format!(
                    "{place}: a thread of node {own} touches {name}, which is in the memory of node {of}; use an \
                     operation, or start the thread on node {of}"
                )));
            }
            node = Some(own);
        }
        Ok(Node(node.unwrap_or(1)))
    }

    /// Returns an error if threads of two nodes touch a word. The second thread at a lock needs no new cell.
    pub(crate) fn each_word_is_of_one_node(&mut self) -> Result<(), Error> {
        let list: Vec<(u64, u64)> = self.cells.0.iter().map(|(at, size)| (*at, *size)).collect();
        list.into_iter().try_for_each(|(at, size)| self.node(at, size).map(|_| ()))
    }

    /// Begins a round with the cells that are known to be needed, and returns the world.
    pub(crate) fn begin(&mut self) -> Result<World, Error> {
        self.is_stale = false;
        self.runs.each().for_each(|(_, known)| known.steps = None);
        self.walks.clear();
        self.endings.clear();
        self.limits.clear();
        self.warnings.clear();
        self.unseen.clear();
        self.sites.clear();
        self.main_sets_up_only()?;
        let cells = match self.uses.cells() {
            Ok(cells) => cells,
            Err(mixed) => return Err(self.mixed(&mixed)),
        };
        let before: BTreeSet<(u64, u64, bool)> = self.cells_with_wraps().collect();
        self.cells = cells;
        self.known_wraps.clone_from(&self.uses.wraps);
        let now: BTreeSet<(u64, u64, bool)> = self.cells_with_wraps().collect();
        // A cell may have grown, too, or be a part of another one now.
        let changed: Vec<(u64, u64)> = before.symmetric_difference(&now).map(|(at, size, _)| (*at, *size)).collect();
        let threads: BTreeSet<usize> = self.runs.each().map(|(thread, _)| thread).collect();
        let first: BTreeMap<usize, usize> =
            threads.into_iter().map(|thread| (thread, self.uses.first_at(thread, &changed))).collect();
        // What a thread did in its own frame was not noted as long as nobody else was there.
        let in_frames = changed.iter().any(|cell| self.uses.is_in_other_frame(*cell));
        for (thread, known) in self.runs.each() {
            let is_kept = |(batch, known): &(CallBatch, usize)| {
                !in_frames && !matches!(batch.end, RunEnd::Needs(..)) && *known <= first[&thread]
            };
            known.ran = known.ran.take().filter(is_kept);
        }
        let list: Vec<(u64, u64)> = self.cells.0.iter().map(|(at, size)| (*at, *size)).collect();
        let values = self.process.values(&list)?;
        self.process.set_cells(&self.cells_of_processes())?;
        self.known_blocks = self.uses.blocks();
        self.process.set_blocks(&self.known_blocks)?;
        let nodes: Vec<Node> = self.made.threads.iter().map(|(node, _)| Node(*node)).collect();
        let pairs = self.made.pairs.iter().flat_map(|(a, b)| [*a, *b]);
        let regions = self.made.regions.iter().map(|r| r.0);
        let most = nodes.iter().map(|n| n.0).chain(pairs).chain(regions).max().unwrap_or(1);
        let mut world = World::new(most, &nodes);
        for (&(at, size), v) in list.iter().zip(values) {
            let node = self.node(at, size)?;
            world.objects.insert(self.loc(at), tso::word(node).init(Val::Int(v)));
        }
        world.objects.extend(self.hidden.clone());
        Ok(world)
    }

    /// Returns the error of a word of two sizes. The words of the model are written as a whole.
    fn mixed(&mut self, mixed: &Mixed) -> Error {
        let [one, other] = [mixed.one, mixed.other].map(|word| {
            let place = self.uses.place(word).map(|a| a.places.clone()).unwrap_or_default();
            let (line, bytes) = (self.line(&place), if word.1 == 1 { "byte" } else { "bytes" });
            let by = if line.is_empty() { "by an operation".to_owned() } else { format!("at {line}") };
            (line, format!("{} {bytes} {by}", word.1))
        });
        let place = if one.0.is_empty() { other.0 } else { one.0 };
        let name = self.loc(mixed.one.0);
        let advice = "write it with one size everywhere, or give the part a variable of its own";
        let what = format!("a word of two sizes ({name}: {}, and {}; {advice})", one.1, other.1);
        Error::Unsupported { place: if place.is_empty() { place } else { format!("{place}: ") }, what }
    }

    /// Lists the cells, each with whether additions to it are known to overflow.
    fn cells_with_wraps(&self) -> impl Iterator<Item = (u64, u64, bool)> + '_ {
        self.cells.0.iter().map(|(at, size)| (*at, *size, self.known_wraps.contains(at)))
    }

    /// Lists the cells as processes know them: the size of a word that wraps is 256 more.
    fn cells_of_processes(&self) -> Vec<(u64, u64)> {
        self.cells_with_wraps().map(|(at, size, wraps)| (at, size + if wraps { 256 } else { 0 })).collect()
    }

    /// Returns an error if `main` shares memory with a thread that it has started and not joined, or with one that such a thread starts.
    /// Behind its joins that holds for threads that their starters have left, too. Before it starts a thread, it does nothing beside that.
    pub(crate) fn main_sets_up_only(&self) -> Result<(), Error> {
        let first = self.made.threads.len() - self.starters.len();
        let started_by_main = |mut thread: usize| {
            while thread >= first {
                thread = self.starters[thread - first];
            }
            thread
        };
        let is_open = |thread: usize, open: u64| {
            thread < self.made.threads.len()
                && open.checked_shr(started_by_main(thread) as u32).is_some_and(|o| o & 1 == 1)
        };
        let may_run = |thread: usize| thread < self.made.threads.len() && self.is_left(thread);
        let begins = |a: &MemoryAccess| self.uses.conflicts_with(a, |thread| is_open(thread, a.open));
        let ends = |a: &MemoryAccess| begins(a) || self.uses.conflicts_with(a, may_run);
        if self.made.window.iter().any(begins) || self.uses.at_the_end().any(ends) {
            Err(Error::MainTakesPart)
        } else {
            Ok(())
        }
    }

    /// Looks whether new uses of memory need other cells.
    fn notice(&mut self, is_new: bool) {
        self.is_stale |= is_new && self.uses.cells().map_or(true, |cells| cells != self.cells);
    }

    /// Returns a word that is not in the memory of the program, and adds it if it is new.
    fn word(&mut self, name: &str, node: u8, init: i64) -> Loc {
        let loc = Loc::new(name);
        self.is_stale |= self.hidden.insert(loc, tso::word(Node(node)).init(Val::Int(init))).is_none();
        loc
    }

    fn constant(&mut self, node: u8, v: i64) -> Loc {
        self.word(&format!("const_{node}_{}", v as u64), node, v)
    }

    /// Makes a run, unless it is known.
    fn ran(&mut self, run: RunNumber) -> Result<CallBatch, Error> {
        if let Some((known, _)) = &self.runs.known(run).ran {
            return Ok(known.clone());
        }
        let thread = self.runs.thread(run);
        let known_as = self.made.threads.get(thread).copied().unwrap_or((1, 0));
        let (batch, accesses) = self.process.run(thread, known_as, &self.runs.results(run))?;
        self.uses.allocate(&batch.blocks);
        self.late.extend(&batch.receives);
        if let RunEnd::NeedsMain = batch.end {
            return Err(Error::MainTakesPart);
        }
        let before = self.runs.before(run).and_then(|before| self.runs.known(before).ran.as_ref());
        if batch.before.as_ref().is_some_and(|own| before.is_some_and(|(before, _)| before.trail != *own)) {
            let why = "a thread makes other calls although the results of its calls are the same: it depends on time or chance";
            return Err(Error::Program(why.to_owned()));
        }
        let is_new = self.uses.touch(accesses);
        self.uses.look(thread, &batch.looks);
        self.notice(is_new);
        self.runs.known_mut(run).ran = Some((batch.clone(), self.uses.reported()));
        Ok(batch)
    }

    /// Returns the calls of the model that a run makes behind its last result, and what ends them.
    fn batch(&mut self, run: RunNumber) -> Option<Arc<Steps>> {
        if let Some(known) = &self.runs.known(run).steps {
            return Some(Arc::clone(known));
        }
        let thread = self.runs.thread(run);
        let CallBatch { calls, end, warnings, unseen, .. } = match self.ran(run) {
            Ok(ran) => ran,
            Err(error) => {
                self.error.get_or_insert(error);
                return None;
            }
        };
        for (places, what) in warnings {
            let line = self.line(&places);
            self.warnings.insert((line, what));
        }
        for (places, what) in unseen {
            let line = self.line(&places);
            self.unseen.entry(what).or_insert(line);
        }
        if let RunEnd::Needs(at, size, need) = end {
            let is_new = match need {
                Need::Word => self.uses.word(at, size),
                Need::Block => false,
                Need::Wraps => {
                    self.is_stale |= self.uses.wraps.insert(at);
                    false
                }
            };
            self.notice(is_new);
            self.is_stale |= need == Need::Block && self.uses.blocks() != self.known_blocks;
        }
        let (mut all, mut lands) = (Vec::new(), Vec::new());
        for line in &calls {
            for (k, call) in self.expanded(thread, line)?.into_iter().enumerate() {
                all.push(ModelCall::of(call, k, line));
            }
            lands.append(&mut self.expanded_landings);
        }
        let steps = Arc::new(Steps { calls: all, lands, end });
        self.runs.known_mut(run).steps = Some(Arc::clone(&steps));
        Some(steps)
    }

    /// Returns the calls of the model that a call without a result is.
    fn expanded(&mut self, thread: usize, line: &Line) -> Option<Vec<Call>> {
        let words: Vec<&str> = line.text.split(' ').collect();
        let calls = match words[..] {
            ["write" | "store", at, _, v] => at
                .parse()
                .ok()
                .zip(v.parse().ok())
                .map(|(at, v)| vec![tso::Method::Write { x: self.loc(at), v: Val::Int(v) }.into()]),
            ["fence"] => Some(vec![tso::Method::Mfence {}.into()]),
            ["freed", at, size] => at.parse().ok().zip(size.parse().ok()).map(|memory| {
                let words =
                    (0..self.landings.len()).flat_map(|id| self.written_by(id, memory)).collect::<BTreeSet<_>>();
                words.into_iter().map(|x| tso::Method::Write { x, v: Val::Int(FREED) }.into()).collect()
            }),
            ["spawn", k, function, argument, node] => k
                .parse()
                .ok()
                .zip(node.parse().ok())
                .zip(function.parse().ok().zip(argument.parse().ok()))
                .map(|(new, start)| self.spawned(thread, new, start)),
            ["detached", id] => id.parse().ok().map(|id| {
                self.is_stale |= self.thread_known_as(thread, id).is_some_and(|left| self.made.detached.insert(left));
                Vec::new()
            }),
            ["ended", result] => {
                result.parse().ok().map(|result| self.ends(thread, ENDED, &[("result", result), (ENDED, 1)]))
            }
            ["over"] => Some(self.ends(thread, OVER, &[(OVER, 1)])),
            ["op", ..] => {
                PostedOperation::read(&words).and_then(|op| match self.operation(thread, &op, &line.places) {
                    Ok(calls) => Some(calls),
                    Err(what) => {
                        let place = self.line(&line.places);
                        let place = if place.is_empty() { place } else { format!("{place}: ") };
                        self.error.get_or_insert(Error::Unsupported { place, what });
                        None
                    }
                })
            }
            _ => None,
        };
        if calls.is_none() {
            self.error.get_or_insert(Error::Program(format!("the program sends `{}`", line.text)));
        }
        calls
    }

    /// Returns the thread that this thread knows by a number.
    fn thread_known_as(&self, thread: usize, id: u64) -> Option<usize> {
        let of_process = |t: usize| self.process.process_of(t);
        let known = |(t, (_, known)): (usize, &(u8, u64))| *known == id && of_process(t) == of_process(thread);
        self.made.threads.iter().enumerate().position(known)
    }

    /// Lists the other threads of the process of a thread.
    fn others(&self, thread: usize) -> impl Iterator<Item = usize> + '_ {
        let of_process = |t: usize| self.process.process_of(t);
        (0..self.made.threads.len()).filter(move |&t| t != thread && of_process(t) == of_process(thread))
    }

    /// Returns the calls by which a thread starts its thread number `k` on a node. The new one waits for the word that they write last.
    fn spawned(&mut self, thread: usize, (k, node): (u64, u8), (function, argument): (i64, i64)) -> Vec<Call> {
        let starter = self.made.threads[thread].1;
        let id = starter << 8 | k;
        let new = self.thread_known_as(thread, id).unwrap_or_else(|| {
            self.is_stale = true;
            self.made.threads.push((node, id));
            self.process.add(thread);
            self.starters.push(thread);
            self.made.threads.len() - 1
        });
        let mut calls = self.tells(thread, new, node, &[("argument", argument), ("started", function)]);
        calls.push(tso::Method::Mfence {}.into());
        calls
    }

    /// Returns the calls by which a thread writes words about a thread that are on a node, in this order. To another node they go by the
    /// last queue pair, behind all that the thread has written.
    fn tells(&mut self, thread: usize, about: usize, node: u8, words: &[(&str, i64)]) -> Vec<Call> {
        let own = self.made.threads[thread].0;
        let w = Way { queue: LAST_QUEUE, signalled: false, strict: true, ..Way::USUAL };
        let mut calls: Vec<Call> = if own == node { Vec::new() } else { vec![tso::Method::Mfence {}.into()] };
        for &(name, v) in words {
            let x = self.word_about(name, about, node);
            calls.push(match own == node {
                true => tso::Method::Write { x, v: Val::Int(v) }.into(),
                false => tso::Method::PutBy { w: w.into(), x, y: self.constant(own, v) }.into(),
            });
        }
        calls
    }

    /// Returns the calls by which a thread tells those who read this word of its end.
    fn ends(&mut self, thread: usize, word: &str, words: &[(&str, i64)]) -> Vec<Call> {
        let is_own = |(t, name, _): &&(usize, &str, u8)| *t == thread && *name == word;
        let nodes: Vec<u8> = self.ends.iter().filter(is_own).map(|(.., node)| *node).collect();
        nodes.into_iter().flat_map(|node| self.tells(thread, thread, node, words)).collect()
    }

    /// Returns the word of a node that tells something about a thread.
    fn word_about(&mut self, name: &str, thread: usize, node: u8) -> Loc {
        let own = self.made.threads[thread].0;
        let of = if node == own { String::new() } else { format!("_on_{node}") };
        self.word(&format!("{name}_{}{of}", thread + 1), node, 0)
    }

    /// True if the program does not wait for a thread: somebody has detached it or left it, or it is started by such a thread.
    pub(crate) fn is_left(&self, mut thread: usize) -> bool {
        let first = self.made.threads.len() - self.starters.len();
        while thread >= first && !self.made.detached.contains(&thread) {
            thread = self.starters[thread - first];
        }
        self.made.detached.contains(&thread)
    }

    /// Returns the way by which a thread uses a queue pair, and the nodes of the two sides.
    fn way(&mut self, thread: usize, pair: u32) -> Result<(Way, u8, u8), String> {
        let &(node, to) = self.made.pairs.get(pair as usize - 1).ok_or("an unknown queue pair")?;
        let next = 1 + self
            .numbers
            .iter()
            .filter(|(p, (t, _))| *t == thread && self.made.pairs[**p as usize - 1].1 == to)
            .count();
        let (owner, number) = *self.numbers.entry(pair).or_insert((thread, next as u8));
        if owner != thread {
            return Err("a queue pair that two threads use".to_owned());
        }
        if number > LAST_QUEUE {
            return Err("more than nine queue pairs of a thread to one node".to_owned());
        }
        Ok((Way { queue: number, ..Way::USUAL }, node, to))
    }

    /// True if an operation writes only memory without relaxed ordering, in a program that has memory with it. A SEND does not know
    /// where it writes.
    fn is_strict(&self, op: &PostedOperation<'_>) -> bool {
        let is_relaxed = |at: u64| self.made.relaxed.iter().any(|(from, n)| (*from..from + n).contains(&at));
        let local = || op.local.iter().any(|(at, _)| is_relaxed(*at));
        let writes_relaxed = match op.kind {
            "write" | "writeimm" => is_relaxed(op.remote),
            "read" => local(),
            "cas" | "faa" => is_relaxed(op.remote) || local(),
            _ => true,
        };
        self.has_keys && !writes_relaxed
    }

    /// Returns the operation number `k` that needs what a thread ends.
    fn landing_in(&self, (kind, part): PartEnd, k: usize) -> Option<usize> {
        let is_there = |l: &Landing| match (&l.reaches, kind) {
            (Reach::Writes(all), 'f') => all.iter().any(|range| overlap(*range, part)),
            (Reach::Needs(at, n), 'f' | 'd') => overlap((*at, *n), part),
            (Reach::Pair(pair), 'q') => *pair == part.0,
            (Reach::Receive(pair, message), 'r') => (*pair, *message) == part,
            _ => false,
        };
        (0..self.landings.len()).filter(|id| is_there(&self.landings[*id])).nth(k)
    }

    /// Returns the receive queue of a queue pair.
    pub(crate) fn receive_queue(&self, pair: u64) -> Option<u64> {
        self.made.receive_queues.get((pair as usize).wrapping_sub(1)).copied()
    }

    /// True if a thread ends such a part in some run.
    fn may_end(&self, kind: char, part: (u64, u64)) -> bool {
        let is_part = |other: (u64, u64)| other == part || "fd".contains(kind) && overlap(other, part);
        self.part_ends.iter().any(|(own, other)| *own == kind && is_part(*other))
    }

    /// Adds an operation that needs a part which a thread ends, and returns its number.
    fn landing(&mut self, thread: usize, reaches: Reach, places: &CallStack) -> usize {
        let own = Landing { thread, reaches, places: places.clone() };
        let known = self.landings.iter().position(|l| *l == own);
        let id = known.unwrap_or_else(|| {
            self.is_stale = true;
            self.landings.push(own);
            self.landings.len() - 1
        });
        self.expanded_landings.push(id);
        id
    }

    /// Returns the word that stands for what no thread uses of the memory that an operation writes.
    fn rest(&mut self, id: usize, to: u8) -> Loc {
        self.word(&format!("rest_{}", id + 1), to, 0)
    }

    /// Lists the words in memory that a thread frees which an operation writes.
    pub(crate) fn written_by(&self, id: usize, memory: (u64, u64)) -> Vec<Loc> {
        let Reach::Writes(all) = &self.landings[id].reaches else { return Vec::new() };
        let cells = all.iter().flat_map(|(at, size)| self.cells.in_range(*at, *size));
        let freed = cells.filter(|cell| overlap(*cell, memory)).map(|(at, _)| self.loc(at));
        let rest = Loc::new(&format!("rest_{}", id + 1));
        freed.chain(self.hidden.contains_key(&rest).then_some(rest)).collect()
    }

    /// Lists these words of all operations and all memory that threads free.
    pub(crate) fn written_where_freed(&self) -> BTreeSet<Loc> {
        let freed = || self.part_ends.iter().filter(|(kind, _)| *kind == 'f');
        let each = |id| freed().flat_map(move |(_, memory)| self.written_by(id, *memory));
        (0..self.landings.len()).flat_map(each).collect()
    }

    /// Returns the operation number `k` that needs what a thread has ended, if it is among `lands` and came later.
    pub(crate) fn lands_later(
        &self,
        (end, k): (PartEnd, usize),
        lands: &dyn Fn(usize) -> bool,
        last: &dyn Fn(Loc) -> Option<Val>,
    ) -> Option<usize> {
        let queue = self.receive_queue(end.1.0);
        let id = match end {
            // Messages to queue pairs that share a queue take its receives in turn.
            ('r', (_, number)) if self.made.receive_queues.iter().filter(|own| queue == Some(**own)).count() > 1 => {
                let of_queue = |id: &usize| match self.landings[*id].reaches {
                    Reach::Receive(pair, _) => lands(*id) && self.receive_queue(pair) == queue,
                    _ => false,
                };
                (0..self.landings.len()).filter(of_queue).nth(number as usize)?
            }
            _ => self.landing_in(end, k).filter(|id| lands(*id))?,
        };
        let is_written = |x: &Loc| last(*x) != Some(Val::Int(FREED));
        let is_later = match self.landings[id].reaches {
            Reach::Writes(_) => self.written_by(id, end.1).iter().any(is_written),
            _ => true,
        };
        is_later.then_some(id)
    }

    fn operation(&mut self, thread: usize, op: &PostedOperation<'_>, places: &CallStack) -> Result<Vec<Call>, String> {
        let (usual, node, to) = self.way(thread, op.pair)?;
        let way = Way { strict: self.is_strict(op), ..usual };
        let network = self.network;
        let silent = Val::from(Way { signalled: false, ..way });
        if op.message >= 0 && network.remote(Remote::Write, Remote::Write) < Order::Issued {
            return Err(format!("a SEND or a WRITE with immediate on {network}, where writes arrive in any order,"));
        }
        if !op.signaled && !network.completes_in_order {
            return Err(format!("an unsignaled operation on {network}, where operations complete in any order,"));
        }
        let of = |signalled: bool| Val::from(Way { signalled, ..way });
        let mut calls: Vec<Call> = Vec::new();
        if op.fenced {
            calls.push(tso::Method::RfenceBy { w: Val::from(usual), n: Node(to) }.into());
        }
        let is_message = op.message >= 0;
        // The notice of a message comes behind its data and all earlier writes, as a message of a litmus test does.
        let strict = network.remote(Remote::Write, Remote::Write) < Order::Placed;
        let notice = Val::from(Way { signalled: op.signaled, strict, ..way });
        let last = of(op.signaled && !is_message);
        let (memory, pair) = ((op.remote, op.size), (u64::from(self.peer(op.pair)), 0));
        let reads = ["read", "cas", "faa"].contains(&op.kind);
        if op.size > 0 && !["send", "sendimm"].contains(&op.kind) && !self.reached.contains_key(&memory) {
            let line = self.line(places);
            self.reached.insert(memory, line);
        }
        // A write has passed its queue pair and its key before its data is in memory, and its completion says so. When it passes them is
        // not known here, so a queue pair that ends early is seen by what returns data alone.
        let needs = reads && (self.may_end('f', memory) || self.may_end('d', memory));
        let uses_pair = reads && self.may_end('q', pair);
        let needed = [(needs, Reach::Needs(memory.0, memory.1)), (uses_pair, Reach::Pair(pair.0))];
        for (_, reaches) in needed.into_iter().filter(|(is_needed, _)| *is_needed) {
            // A queue pair keeps the order of its operations, so no such word is there later than what the operation does.
            let id = self.landing(thread, reaches, places);
            let (landed, one) = (self.word(&format!("landed_{}", id + 1), to, 0), self.constant(node, 1));
            calls.push(self.put(silent, vec![(landed, one)], node, to)?);
        }
        match op.kind {
            "write" | "writeimm" if op.size > 0 || !is_message => {
                let rows = self.rows(op, &[(op.remote, op.size)], node)?;
                let rest = self.lands(thread, vec![(op.remote, op.size)], places, (node, to));
                calls.extend(self.puts((silent, last), (rows, rest), node, to)?);
            }
            "read" => {
                let rows = self.gotten(op)?;
                let (xs, ys): (Vec<Loc>, Vec<Loc>) = match rows.is_empty() {
                    true => (vec![self.unread(node)], vec![self.unread(to)]),
                    false => rows.into_iter().unzip(),
                };
                calls.push(match (&xs[..], &ys[..]) {
                    ([x], [y]) => tso::Method::GetBy { w: last, x: *x, y: *y }.into(),
                    _ => tso::Method::GetWords { w: last, xs: several(&xs)?, ys: several(&ys)? }.into(),
                });
            }
            "cas" | "faa" => {
                let Some(&(local, _)) = op.local.first() else {
                    return Err("an atomic operation without a result".to_owned());
                };
                let is_new = self.uses.word(local, 8) | self.uses.word(op.remote, 8);
                self.notice(is_new);
                let (x, y, v1) = (self.loc(local), self.loc(op.remote), Val::Int(op.a));
                calls.push(match op.kind {
                    "cas" => tso::Method::RCASBy { w: last, x, y, v1, v2: Val::Int(op.b) }.into(),
                    _ => tso::Method::RFAABy { w: last, x, y, v: v1 }.into(),
                });
            }
            _ => {}
        }
        if is_message {
            calls.extend(self.message(thread, (op, places), (silent, notice), (node, to))?);
        }
        // Until the world has its words, nothing is done with them.
        Ok(if self.is_stale { Vec::new() } else { calls })
    }

    /// Notes an operation that writes memory which a thread frees, and returns the row for the rest of its data.
    fn lands(
        &mut self,
        thread: usize,
        ranges: Vec<(u64, u64)>,
        places: &CallStack,
        (node, to): (u8, u8),
    ) -> Option<MovedWord> {
        if !ranges.iter().any(|range| self.may_end('f', *range)) {
            return None;
        }
        let (mut size, mut used) = (0, 0);
        for &(at, n) in &ranges {
            (size, used) = (size + n, used + self.cells.in_range(at, n).map(|(_, n)| n).sum::<u64>());
        }
        let id = self.landing(thread, Reach::Writes(ranges), places);
        (used < size).then(|| (self.rest(id, to), self.constant(node, 1)))
    }

    /// Returns the puts of an operation. The row for its rest is a second one if the others fill the first: it says when all has arrived.
    fn puts(
        &mut self,
        (silent, last): (Val, Val),
        (mut rows, rest): (Vec<MovedWord>, Option<MovedWord>),
        node: u8,
        to: u8,
    ) -> Result<Vec<Call>, String> {
        if rows.len() == WORDS
            && let Some(rest) = rest
        {
            return Ok(vec![self.put(silent, rows, node, to)?, self.put(last, vec![rest], node, to)?]);
        }
        rows.extend(rest);
        Ok(vec![self.put(last, rows, node, to)?])
    }

    /// Returns a word that stands for memory of a node that no thread reads.
    fn unread(&mut self, node: u8) -> Loc {
        self.word(&format!("unread_{node}"), node, 0)
    }

    fn put(&mut self, w: Val, rows: Vec<MovedWord>, node: u8, to: u8) -> Result<Call, String> {
        let (xs, ys): (Vec<Loc>, Vec<Loc>) = match rows.is_empty() {
            true => (vec![self.unread(to)], vec![self.unread(node)]),
            false => rows.into_iter().unzip(),
        };
        Ok(match (&xs[..], &ys[..]) {
            ([x], [y]) => tso::Method::PutBy { w, x: *x, y: *y }.into(),
            _ => tso::Method::PutWords { w, xs: several(&xs)?, ys: several(&ys)? }.into(),
        })
    }

    /// Lists the cells in these ranges that an operation writes, each with the word that it reads.
    fn rows(&mut self, op: &PostedOperation<'_>, targets: &[(u64, u64)], node: u8) -> Result<Vec<MovedWord>, String> {
        let (mut rows, mut done) = (Vec::new(), 0);
        let whole = [(0, op.size)];
        // What is inline has offsets in the place of addresses.
        let mut local = if op.data.is_some() { whole.iter() } else { op.local.iter() }.copied();
        let (mut from, mut left) = local.next().unwrap_or_default();
        for &(mut to, mut room) in targets {
            while room > 0 && done < op.size {
                while left == 0 {
                    (from, left) = local.next().ok_or("an operation of fewer bytes than its elements have")?;
                }
                let size = room.min(left).min(op.size - done);
                let source = op.data.is_none().then_some(from);
                let is_new = self.uses.copy(Copy { from: source, to, size });
                self.notice(is_new);
                for (at, n) in self.cells.in_range(to, size).collect::<Vec<_>>() {
                    let offset = at.saturating_sub(to);
                    let word = match &op.data {
                        Some(data) => {
                            let first = (from + offset) as usize;
                            let bytes = data.get(first..first + n as usize).ok_or("a WRITE of part of a word")?;
                            self.constant(node, number(bytes))
                        }
                        None => self.loc(from + offset),
                    };
                    rows.push((self.loc(at), word));
                }
                (from, to, left, room, done) = (from + size, to + size, left - size, room - size, done + size);
            }
        }
        Ok(rows)
    }

    /// Lists the cells that a READ writes, each with the word that it reads.
    fn gotten(&mut self, op: &PostedOperation<'_>) -> Result<Vec<MovedWord>, String> {
        let (mut rows, mut from) = (Vec::new(), op.remote);
        for &(to, size) in &op.local {
            let is_new = self.uses.copy(Copy { from: Some(from), to, size });
            self.notice(is_new);
            for (at, _) in self.cells.in_range(to, size) {
                rows.push((self.loc(at), self.loc(from + at.saturating_sub(to))));
            }
            from += size;
        }
        Ok(rows)
    }

    /// Returns the puts of a message: its data to an inbox of the other side, and behind them a word that tells of it.
    fn message(
        &mut self,
        thread: usize,
        (op, places): (&PostedOperation<'_>, &CallStack),
        (silent, w): (Val, Val),
        (node, to): (u8, u8),
    ) -> Result<Vec<Call>, String> {
        let (is_write, has_imm) = (op.kind == "writeimm", op.kind.ends_with("imm"));
        let peer = self.peer(op.pair);
        let mut calls = Vec::new();
        let place = self.receive(peer, op.message).cloned();
        let place = place.filter(|place| !is_write && place.iter().map(|(_, n)| n).sum::<u64>() >= op.size);
        let is_placed = place.is_some();
        let receive = (u64::from(peer), op.message as u64);
        let of_queue = |(pair, _)| self.receive_queue(pair) == self.receive_queue(receive.0);
        if !is_write && op.size > 0 && self.part_ends.iter().any(|(kind, part)| *kind == 'r' && of_queue(*part)) {
            self.landing(thread, Reach::Receive(receive.0, receive.1), places);
        }
        if let Some(place) = place {
            let rows = self.rows(op, &place, node)?;
            let (mut left, mut ranges) = (op.size, Vec::new());
            for &(at, n) in &place {
                ranges.push((at, n.min(left)));
                left -= n.min(left);
            }
            let rest = self.lands(thread, ranges, places, (node, to));
            if rows.len() > WORDS {
                self.is_stale |= self.large.insert((peer, op.message));
                let is_there = |c: &Copy| place.iter().any(|(at, n)| *at <= c.to && c.to + c.size <= at + n);
                self.uses.copies.retain(|copy| !is_there(copy));
                return Ok(Vec::new());
            }
            if !rows.is_empty() || rest.is_some() {
                calls.extend(self.puts((silent, silent), (rows, rest), node, to)?);
            }
        } else if !is_write && op.size > 0 {
            let mut rows = Vec::new();
            for word in 0..op.size.div_ceil(8) {
                let inbox = self.word(&format!("inbox_{peer}_{}_{word}", op.message), to, 0);
                let bytes = |data: &Vec<u8>| number(&data[8 * word as usize..data.len().min(8 * word as usize + 8)]);
                let source = match (&op.data, &op.local[..]) {
                    (Some(data), _) => self.constant(node, bytes(data)),
                    (None, [(from, size)]) => {
                        let is_new = self.uses.fill(*from, *size);
                        self.notice(is_new);
                        self.loc(from + 8 * word)
                    }
                    _ => return Err("a SEND of several scatter elements that is not inline".to_owned()),
                };
                rows.push((inbox, source));
            }
            calls.push(self.put(silent, rows, node, to)?);
        }
        let kind = 1 | i64::from(is_write) << 1 | i64::from(has_imm) << 2 | i64::from(is_placed) << 3;
        let notice = kind | (op.size as i64) << 4 | (op.a & 0xffff_ffff) << 28;
        let arrived = self.word(&format!("arrived_{peer}_{}", op.message), to, 0);
        let source = self.constant(node, notice);
        calls.push(tso::Method::PutBy { w, x: arrived, y: source }.into());
        Ok(calls)
    }

    /// Returns the memory of the receive for a message, if it is posted before the threads begin. The card writes there as a WRITE does.
    fn receive(&self, peer: u32, message: i64) -> Option<&Vec<(u64, u64)>> {
        let queue = self.receive_queue(u64::from(peer))?;
        let is_at_poll = self.large.contains(&(peer, message));
        self.made.receives.get(&queue)?.get(message as usize).filter(|_| !is_at_poll)
    }

    /// Returns the number of the queue pair at the other side.
    fn peer(&self, pair: u32) -> u32 {
        self.made.peers.get(pair as usize - 1).copied().unwrap_or(0)
    }

    /// Returns the point of a thread after these results of its calls of the model.
    pub(crate) fn walk(&mut self, thread: usize, results: &[Val]) -> CodeAt {
        // Where completions come in any order, their identifiers are part of the way.
        let known = self.walks.remove(&thread).filter(|_| self.network.completes_in_order);
        let mut walk = known.unwrap_or_default();
        let at = self.walk_on(thread, results, &mut walk);
        self.walks.insert(thread, walk);
        at
    }

    fn walk_on(&mut self, thread: usize, results: &[Val], walk: &mut Walk) -> CodeAt {
        let (mut run, taken) = walk.back(results).unwrap_or_else(|| {
            walk.lands.clear();
            (self.runs.first(thread), 0)
        });
        let (mut results, mut open) = (results[taken..].iter(), OpenOperations::on(self.network));
        loop {
            let Some(steps) = self.batch(run) else { return CodeAt::Cut("an error".to_owned()) };
            for call in &steps.calls {
                match results.next() {
                    Some(result) => open.add(*result),
                    None => return CodeAt::Call(open.named(call.clone())),
                }
            }
            walk.lands.extend(&steps.lands);
            if self.is_stale {
                return CodeAt::Cut("the program shares more memory than was known".to_owned());
            }
            let line = match &steps.end {
                RunEnd::Asks(line) => line,
                RunEnd::Ended(values, messages) => {
                    return self.ended(thread, (values.clone(), messages.clone(), walk.lands.clone()), None);
                }
                RunEnd::Failed(at, what, values) => {
                    let failed = (FailureKind::Program, at.clone(), what.clone());
                    return self.ended(thread, (values.clone(), Messages::default(), walk.lands.clone()), Some(failed));
                }
                RunEnd::Misuse(at, what, values) => {
                    let failed = (FailureKind::Misuse, at.clone(), what.clone());
                    return self.ended(thread, (values.clone(), Messages::default(), walk.lands.clone()), Some(failed));
                }
                RunEnd::Discarded => return CodeAt::Discarded,
                RunEnd::Unsupported(at, what) => return self.limit(at, what),
                RunEnd::Waits(at) => {
                    // It reads a word that nobody writes, for ever.
                    let x = self.word(
                        &format!("waits_{}", thread + 1),
                        self.made.threads.get(thread).map_or(1, |t| t.0),
                        0,
                    );
                    if self.is_stale {
                        return CodeAt::Cut("a loop that was not known".to_owned());
                    }
                    let tape: Vec<[u8; 8]> = self.runs.results(run).into_iter().map(i64::to_le_bytes).collect();
                    let state = name_of(tape.iter().map(|v| &v[..]));
                    let site = CallSite { places: at.clone(), is_plain: false };
                    return CodeAt::Call(open.named(ModelCall { call: tso::Method::Read { x }.into(), state, site }));
                }
                RunEnd::Needs(at, size, Need::Block) => {
                    let what = format!("uses {size} bytes at {at:x}, where no thread has allocated memory");
                    let failed = Some((FailureKind::Program, Vec::new(), what));
                    return self.ended(thread, Default::default(), failed);
                }
                RunEnd::Needs(..) => return self.limit(&[], "a lock"),
                RunEnd::NeedsMain => return CodeAt::Cut("`main` takes part".to_owned()),
            };
            match self.answer(thread, line, &mut results, (run, &mut open)) {
                Ok(result) => {
                    run = self.runs.after(run, result);
                    let taken = walk.results.len() - results.len();
                    walk.passed.push((run, taken, walk.lands.len()));
                }
                Err(at) => return if let CodeAt::Call(call) = *at { CodeAt::Call(open.named(call)) } else { *at },
            }
        }
    }

    /// Writes the programs, the cells, and for each thread the results of its calls in C that these results of calls of the model are.
    pub(crate) fn trace(&mut self, results: &[Vec<Val>]) -> String {
        let all = |ranges: &[(u64, u64)]| ranges.iter().map(|(at, size)| format!(" {at} {size}")).collect::<String>();
        let cells = self.cells_of_processes();
        let main = u8::from(self.process.main_takes_part);
        let fingerprint = self.lines.fingerprint();
        let mut text =
            format!("programs{fingerprint} main {main}\ncells{}\nblocks{}\n", all(&cells), all(&self.known_blocks));
        let first = self.made.threads.len() - self.starters.len();
        for (starter, (node, id)) in self.starters.iter().zip(&self.made.threads[first..]) {
            text += &format!("starts {starter} {node} {id}\n");
        }
        for (thread, results) in results.iter().enumerate() {
            let tape = self.tape(thread, results);
            text += &tape.iter().fold(thread.to_string(), |text, v| format!("{text} {v}"));
            text += "\n";
        }
        text
    }

    /// Runs a thread again from its beginning with these results of its calls of the model, and returns its end.
    pub(crate) fn replayed(&mut self, thread: usize, results: &[Val]) -> Option<RunEnd> {
        let tape = self.tape(thread, results);
        let known_as = self.made.threads.get(thread).copied()?;
        self.process.run(thread, known_as, &tape).ok().map(|(batch, _)| batch.end)
    }

    /// True if a thread that runs again from its beginning makes the call that it asked for in this state. The results are those of its
    /// calls of the model.
    pub(crate) fn makes_again(&mut self, thread: usize, state: StateName, results: &[Val]) -> bool {
        let is_there = |at: CodeAt| matches!(at, CodeAt::Call(call) if call.state == state);
        let before = (0..=results.len()).find(|n| is_there(self.walk(thread, &results[..*n])));
        let (Some(n), Some(site)) = (before, self.sites.get(&(thread, state)).cloned()) else { return false };
        let tape = self.tape(thread, &results[..n]);
        let Ok((batch, _)) = self.process.run(thread, self.made.threads[thread], &tape) else { return false };
        let last = match &batch.end {
            RunEnd::Asks(line) => Some(&line.places),
            RunEnd::Waits(places) => Some(places),
            _ => None,
        };
        batch.calls.iter().map(|line| &line.places).chain(last).any(|places| *places == site.places)
    }

    /// Returns the results of a thread's calls in C that these results of calls of the model are.
    fn tape(&mut self, thread: usize, results: &[Val]) -> Vec<i64> {
        let (mut run, mut results, mut open) =
            (self.runs.first(thread), results.iter(), OpenOperations::on(self.network));
        while let Some(steps) = self.batch(run) {
            let RunEnd::Asks(line) = &steps.end else { break };
            let own = results.by_ref().take(steps.calls.len()).map(|result| open.add(*result)).count();
            if own < steps.calls.len() {
                break;
            }
            match self.answer(thread, line, &mut results, (run, &mut open)) {
                Ok(result) => run = self.runs.after(run, result),
                Err(_) => break,
            }
        }
        self.runs.results(run)
    }

    /// Puts source lines in the place of addresses in braces.
    fn with_lines(&mut self, what: &str) -> String {
        let Some((before, rest)) = what.split_once('{') else { return what.to_owned() };
        let Some((address, behind)) = rest.split_once('}') else { return what.to_owned() };
        let line = self.line(&places(address));
        format!("{before}{}{behind}", if line.is_empty() { "a line without debug information" } else { &line })
    }

    fn limit(&mut self, places: &[u64], what: &str) -> CodeAt {
        let line = self.line(places);
        let text = if line.is_empty() { what.to_owned() } else { format!("{line}: {what}") };
        if !self.limits.contains(&text) {
            self.limits.push(text.clone());
        }
        CodeAt::Cut(text)
    }

    fn ended(
        &mut self,
        thread: usize,
        (values, messages, lands): (RecordedValues, Messages, Vec<usize>),
        failure: Option<Failed>,
    ) -> CodeAt {
        let failure = failure.map(|(kind, places, what)| (kind, places, self.with_lines(&what)));
        let ending = ThreadEnding { thread, values, messages, lands, failure };
        let known = self.endings.iter().position(|e| *e == ending);
        CodeAt::End(known.unwrap_or_else(|| {
            self.endings.push(ending);
            self.endings.len() - 1
        }))
    }

    /// Returns the result of a call in C, from the results of the calls of the model that it is. Returns the first of
    /// these calls that has no result yet, if one has none.
    fn answer<'r>(
        &mut self,
        thread: usize,
        line: &Line,
        results: &mut impl Iterator<Item = &'r Val>,
        (run, open): (RunNumber, &mut OpenOperations),
    ) -> Result<i64, Box<CodeAt>> {
        let value = |result: &Val| match result {
            Val::Bool(choice) => i64::from(*choice),
            result => result.int().unwrap_or(0),
        };
        // A call that is known to have a result is not made again.
        let is_one = |kind: &&str| ["read", "load", "cas", "xchg", "faa", "choose"].contains(kind);
        if line.text.split(' ').next().is_some_and(|kind| is_one(&kind))
            && let Some(result) = results.next()
        {
            return Ok(value(result));
        }
        let words: Vec<&str> = line.text.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|w| w.parse::<i64>().ok()).unwrap_or(0);
        let at = |call: Call, k: usize| Box::new(CodeAt::Call(ModelCall::of(call, k, line)));
        let (x, v) = (number(1) as u64, |k: usize| Val::Int(number(k)));
        let call: Call = match words[0] {
            "read" | "load" => tso::Method::Read { x: self.loc(x) }.into(),
            "cas" => tso::Method::CAS { x: self.loc(x), v1: v(3), v2: v(4) }.into(),
            "xchg" => tso::Method::Xchg { x: self.loc(x), v: v(3) }.into(),
            "faa" => tso::Method::FAA { x: self.loc(x), v: v(3) }.into(),
            "choose" => crash::Method::Goes {}.into(),
            "started" | "argument" => {
                tso::Method::Read { x: self.word_about(words[0], thread, self.made.threads[thread].0) }.into()
            }
            "joined" | "result" => {
                let Some(other) = self.thread_known_as(thread, x) else {
                    return Err(Box::new(self.limit(&line.places, "a join of what is no thread is not supported")));
                };
                self.reads_end(thread, other, if words[0] == "joined" { ENDED } else { "result" })?
            }
            "over" if !self.is_left(thread) => return Ok(0),
            "other" | "over" => {
                let ends_program = |t: &usize| words[0] == "other" || !self.is_left(*t);
                let Some(other) = self.others(thread).filter(ends_program).nth(x as usize) else { return Ok(-1) };
                let is_of_main = words[0] == "over" && self.process.is_main(other);
                self.reads_end(thread, other, if is_of_main { OVER } else { ENDED })?
            }
            "landed" => {
                let end = (words[4].chars().next().unwrap_or('f'), (x, number(2) as u64));
                self.is_stale |= self.part_ends.insert(end);
                let Some(id) = self.landing_in(end, number(3) as usize) else { return Ok(-1) };
                if let Reach::Writes(_) = self.landings[id].reaches {
                    return Ok(0);
                }
                let x = self.word(&format!("landed_{}", id + 1), self.made.threads[thread].0, 0);
                tso::Method::Read { x }.into()
            }
            "received" => {
                if self.receive(x as u32, number(2)).is_some() {
                    return Ok(1);
                }
                self.is_stale |= self.part_ends.insert(('r', (x, number(2) as u64)));
                let x = self.word(&format!("arrived_{x}_{}", number(2)), self.made.threads[thread].0, 0);
                tso::Method::Read { x }.into()
            }
            "arrived" | "inbox" => {
                let pair = number(1) as usize - 1;
                let (node, _) = self.made.pairs[pair];
                if let Some(&queue) = self.made.receive_queues.get(pair)
                    && *self.receivers.entry(queue).or_insert(thread) != thread
                {
                    let what = "a receive queue that two threads use is not supported";
                    return Err(Box::new(self.limit(&line.places, what)));
                }
                let name = words.join("_");
                let x = self.word(&name, node, 0);
                if self.is_stale {
                    return Err(Box::new(CodeAt::Cut("a message that was not known".to_owned())));
                }
                tso::Method::Read { x }.into()
            }
            "poll" => {
                let (way, _, to) = match self.way(thread, number(1) as u32) {
                    Ok(way) => way,
                    Err(what) => return Err(Box::new(self.limit(&line.places, &format!("{what} is not supported")))),
                };
                let poll: Call = tso::Method::PollBy { w: way.into(), n: Node(to) }.into();
                if !self.waits(line, run) {
                    match results.next() {
                        None => return Err(at(crash::Method::Goes {}.into(), 0)),
                        Some(Val::Bool(false)) => return Ok(0),
                        Some(_) => {}
                    }
                }
                let Some(taken) = results.next() else { return Err(at(poll, 1)) };
                return Ok(if self.network.completes_in_order { 1 } else { open.take(*taken) });
            }
            _ => return Err(Box::new(self.limit(&line.places, &format!("`{}` is not known", line.text)))),
        };
        results.next().map(value).ok_or_else(|| at(call, 0))
    }

    /// Returns the call by which a thread reads a word that another one writes at its end.
    fn reads_end(&mut self, thread: usize, other: usize, word: &str) -> Result<Call, Box<CodeAt>> {
        let node = self.made.threads[thread].0;
        self.is_stale |= self.ends.insert((other, if word == OVER { OVER } else { ENDED }, node));
        let x = self.word_about(word, other, node);
        if self.is_stale {
            return Err(Box::new(CodeAt::Cut("a join that was not known".to_owned())));
        }
        Ok(tso::Method::Read { x }.into())
    }

    /// True if the thread may as well wait for the completion. Then a poll that finds nothing leads back to itself. It may
    /// also lead to a second poll that does so, if both lead to the same state when they find something.
    fn waits(&mut self, line: &Line, run: RunNumber) -> bool {
        let in_order = self.network.completes_in_order;
        let mut after = |more: &[i64]| -> Option<(Arc<Steps>, StateName)> {
            let run = more.iter().fold(run, |run, result| self.runs.after(run, *result));
            let steps = self.batch(run)?;
            let state = match (steps.calls.first(), &steps.end) {
                (Some(call), _) => call.state,
                (None, RunEnd::Asks(line)) => line.state,
                (None, _) => 0,
            };
            Some((steps, state))
        };
        let asks = |steps: &Steps, line: &Line| match &steps.end {
            RunEnd::Asks(next) if steps.calls.is_empty() && next.text == line.text => Some(next.clone()),
            _ => None,
        };
        let Some((steps, state)) = after(&[0]) else { return false };
        if state == line.state || !in_order {
            return state == line.state;
        }
        let Some(again) = asks(&steps, line) else { return false };
        let Some((_, third)) = after(&[0, 0]) else { return false };
        let found = (after(&[1]), after(&[0, 1]));
        third == again.state && matches!(found, (Some((_, a)), Some((_, b))) if a == b && a != 0)
    }
}

fn several(all: &[Loc]) -> Result<Val, String> {
    if all.len() > WORDS {
        return Err(format!("an operation that moves {} words that others use, of at most {WORDS}", all.len()));
    }
    Ok(Val::tuple(&all.iter().map(|x| Val::Loc(*x)).collect::<Vec<_>>()))
}

/// Returns the number that these bytes are, as the runtime does: with its sign.
fn number(bytes: &[u8]) -> i64 {
    let raw = bytes.iter().rev().fold(0u64, |v, byte| v << 8 | u64::from(*byte));
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    ((raw << unused) as i64) >> unused
}

/// A work request, as the runtime reports it.
struct PostedOperation<'w> {
    pair: u32,
    kind: &'w str,
    signaled: bool,
    fenced: bool,
    remote: u64,
    size: u64,
    /// The number of messages before it, or -1 if it is none.
    message: i64,
    a: i64,
    b: i64,
    /// The data of an inline request.
    data: Option<Vec<u8>>,
    local: Vec<(u64, u64)>,
}

impl<'w> PostedOperation<'w> {
    fn read(words: &[&'w str]) -> Option<Self> {
        let number = |at: usize| words.get(at)?.parse::<i64>().ok();
        let unsigned = |at: usize| words.get(at)?.parse::<u64>().ok();
        let data = words.get(10)?.strip_prefix('=');
        let byte = |at: usize| u8::from_str_radix(data?.get(at..at + 2)?, 16).ok();
        let local: Vec<u64> = words.get(11..)?.iter().filter_map(|w| w.parse().ok()).collect();
        Some(Self {
            pair: u32::try_from(number(1)?).ok()?,
            kind: words.get(2)?,
            signaled: number(3)? == 1,
            fenced: number(4)? == 1,
            remote: unsigned(5)?,
            size: unsigned(6)?,
            message: number(7)?,
            a: number(8)?,
            b: number(9)?,
            data: data.map(|text| (0..text.len() / 2).filter_map(|k| byte(2 * k)).collect()),
            local: local.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
        })
    }
}

impl CompiledProgram {
    /// Returns the next step of a thread after these results.
    fn next(&mut self, thread: Tid, results: &[Val]) -> NextByResults {
        let stop = |text: String| NextByResults::Late(text);
        if self.is_stale || self.error.is_some() {
            return stop("the exploration starts again".to_owned());
        }
        match self.walk(thread.index(), results) {
            _ if self.is_stale => stop("the exploration starts again".to_owned()),
            CodeAt::Call(ModelCall { call, state, site }) => {
                self.sites.insert((thread.index(), state), site);
                NextByResults::Call(call, Some(state))
            }
            CodeAt::End(number) => NextByResults::Ended(Val::Int(number as i64), Some(number as StateName)),
            CodeAt::Discarded => NextByResults::Discarded,
            CodeAt::Cut(why) => stop(why),
        }
    }
}

/// A program that its threads, which are scripts, share with those who read its endings.
#[derive(Clone)]
pub(crate) struct SharedProgram(Arc<Mutex<CompiledProgram>>);

impl SharedProgram {
    pub(crate) fn new(program: CompiledProgram) -> Self {
        Self(Arc::new(Mutex::new(program)))
    }

    /// Returns the program. No thread goes on as long as the result lives.
    pub(crate) fn get(&self) -> MutexGuard<'_, CompiledProgram> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the threads of a world.
    pub(crate) fn threads(&self, world: &World) -> Vec<Script> {
        let thread = || {
            let program = self.clone();
            Script::by_results(move |thread, results, _| program.get().next(thread, results))
        };
        world.threads.iter().map(|_| thread()).collect()
    }
}
