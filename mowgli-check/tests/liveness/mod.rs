//! Random looping tests of locks, a counter, a barrier and words on one node. An explorer of their states shares nothing with the search.
//!
//! **Computes** the sets of threads that may wait for ever together. Each write is followed by a fence, so memory is sequentially
//! consistent. **Example**: `b := false; while b = false { b := m.tryacq }` beside a thread that holds `m` for ever waits with it.
//! **Correct because** an execution that is fair ends up in states which lead to each other and nowhere else. There a thread that has
//! not ended does not end. **Cost**: the states of two or three small threads.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;

/// A value: a small number, or a truth value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Value {
    Number(u8),
    Truth(bool),
}

impl Value {
    fn text(self) -> String {
        match self {
            Self::Number(n) => n.to_string(),
            Self::Truth(b) => b.to_string(),
        }
    }
}

/// A call of a thread. Words and locks are numbers; calls with a result set the register with the first number.
#[derive(Clone, Debug)]
enum Act {
    Write(usize, u8),
    Read(usize, usize),
    Await(usize, u8),
    Swap(usize, usize, u8),
    Compare(usize, usize, [u8; 2]),
    Acquire(usize),
    Try(usize),
    Release(usize),
    Count(usize),
    Look(usize),
    Meet,
}

/// A statement of a thread.
#[derive(Clone, Debug)]
enum Statement {
    Act(Act),
    Set(usize, Value),
    While(Option<(usize, bool, Value)>, Vec<Statement>),
    If(usize, Value, Vec<Statement>),
}

/// The locks: the second one can be tried. The first two words are written; the third one never changes.
const LOCKS: [&str; 2] = ["l", "m"];
const WORDS: [&str; 3] = ["x", "y", "z"];

/// The register that keeps the result of an attempt.
const TRIED: usize = 0;

/// A generator of the statements of a thread.
struct Generator<'r> {
    rng: &'r mut Rng,
    /// The locks that the thread may hold.
    held: [bool; 2],
    loops: usize,
    has_barrier: bool,
}

impl Generator<'_> {
    fn block(&mut self, depth: usize, most: usize) -> Vec<Statement> {
        (0..self.rng.usize(1..=most)).flat_map(|_| self.some(depth)).collect()
    }

    fn some(&mut self, depth: usize) -> Vec<Statement> {
        let word = self.rng.usize(..2);
        let lock = self.rng.usize(..2);
        let value = self.rng.u8(..3);
        match self.rng.u8(..16) {
            0..=2 => vec![Statement::Act(Act::Write(word, value))],
            3 | 4 => vec![Statement::Act(Act::Read(1, word))],
            5 => vec![Statement::Act(Act::Await(self.rng.usize(..3), value))],
            6 => vec![Statement::Act(Act::Swap(1, word, value))],
            7 => vec![Statement::Act(Act::Compare(1, word, [value, self.rng.u8(..3)]))],
            8 if self.loops == 0 => vec![Statement::Act(Act::Count(2))],
            9 => vec![Statement::Act(Act::Look(2))],
            10 if self.has_barrier => vec![Statement::Act(Act::Meet)],
            11 | 12 if depth > 0 && !self.held[lock] => self.section(depth, lock),
            13..=15 if depth > 0 => self.repeated(depth),
            _ => vec![Statement::Act(Act::Read(1, word))],
        }
    }

    /// Returns statements that take a lock, by waiting or by trying, and release it.
    fn section(&mut self, depth: usize, lock: usize) -> Vec<Statement> {
        self.held[lock] = true;
        let inner = self.block(depth - 1, 2);
        self.held[lock] = false;
        let release = Statement::Act(Act::Release(lock));
        let whole = |inner: Vec<Statement>| [inner, vec![release.clone()]].concat();
        let attempt = Statement::Act(Act::Try(TRIED));
        match self.rng.u8(..4) {
            0 if lock == 1 => vec![attempt, Statement::If(TRIED, Value::Truth(true), whole(inner))],
            1 | 2 if lock == 1 => {
                let effect = self.rng.bool().then(|| Statement::Act(Act::Write(self.rng.usize(..2), self.rng.u8(..3))));
                let round = [attempt].into_iter().chain(effect).collect();
                let first = Statement::Set(TRIED, Value::Truth(false));
                let tries = Statement::While(Some((TRIED, true, Value::Truth(false))), round);
                [vec![first, tries], whole(inner)].concat()
            }
            _ => [vec![Statement::Act(Act::Acquire(lock))], whole(inner)].concat(),
        }
    }

    fn repeated(&mut self, depth: usize) -> Vec<Statement> {
        self.loops += 1;
        let mut body = self.block(depth - 1, 3);
        self.loops -= 1;
        if self.rng.u8(..4) == 0 {
            return vec![Statement::While(None, body)];
        }
        let (register, word) = (self.rng.usize(1..3), self.rng.usize(..2));
        let until = Value::Number(self.rng.u8(..3));
        body.push(Statement::Act(if register == 1 { Act::Read(1, word) } else { Act::Look(2) }));
        let (is_equal, first) = if self.rng.bool() { (true, until) } else { (false, Value::Number(7)) };
        vec![Statement::Set(register, first), Statement::While(Some((register, is_equal, until)), body)]
    }
}

/// A test: the statements of each thread.
pub struct Looping {
    threads: Vec<Vec<Statement>>,
    has_barrier: bool,
}

/// Returns a random test, the same for the same seed.
pub fn random(seed: u64) -> Looping {
    let mut rng = Rng::with_seed(seed);
    let has_barrier = rng.u8(..4) == 0;
    let threads = (0..if rng.u8(..8) == 0 { 3 } else { 2 }).map(|_| {
        let has_barrier = has_barrier && rng.u8(..8) > 0;
        Generator { rng: &mut rng, held: [false; 2], loops: 0, has_barrier }.block(2, 3)
    });
    Looping { threads: threads.collect(), has_barrier }
}

fn register(thread: usize, register: usize) -> String {
    format!("{}{register}", char::from(b'a' + thread as u8))
}

impl Act {
    fn text(&self, thread: usize) -> Vec<String> {
        let r = |number: usize| register(thread, number);
        let one = |text: String| vec![text];
        match *self {
            Self::Write(x, v) => vec![format!("{} := {v}", WORDS[x]), "mfence".to_owned()],
            Self::Read(to, x) => one(format!("{} := {}", r(to), WORDS[x])),
            Self::Await(x, v) => one(format!("await {} = {v}", WORDS[x])),
            Self::Swap(to, x, v) => one(format!("{} := xchg({}, {v})", r(to), WORDS[x])),
            Self::Compare(to, x, [old, new]) => one(format!("{} := cas({}, {old}, {new})", r(to), WORDS[x])),
            Self::Acquire(lock) => one(format!("{}.acq", LOCKS[lock])),
            Self::Try(to) => one(format!("{} := m.tryacq", r(to))),
            Self::Release(0) => one("l.rel".to_owned()),
            Self::Release(_) => one(format!("{} := m.rel", r(3))),
            Self::Count(to) => one(format!("{} := c.inc", r(to))),
            Self::Look(to) => one(format!("{} := c.get", r(to))),
            Self::Meet => one("bar(b)".to_owned()),
        }
    }
}

fn rows(statements: &[Statement], thread: usize) -> Vec<String> {
    let row = |s: &Statement| match s {
        Statement::Act(act) => act.text(thread),
        Statement::Set(to, v) => vec![format!("{} := {}", register(thread, *to), v.text())],
        Statement::If(r, v, inner) => {
            let head = format!("if {} = {} {{", register(thread, *r), v.text());
            [vec![head], rows(inner, thread), vec!["}".to_owned()]].concat()
        }
        Statement::While(until, inner) => {
            let until = until.map_or("true".to_owned(), |(r, is_equal, v)| {
                format!("{} {} {}", register(thread, r), if is_equal { "=" } else { "!=" }, v.text())
            });
            [vec![format!("while {until} {{")], rows(inner, thread), vec!["}".to_owned()]].concat()
        }
    };
    statements.iter().flat_map(row).collect()
}

/// The sets of threads that may wait together, as bits. A test has an assertion about each.
pub fn sets(threads: usize) -> impl Iterator<Item = usize> {
    1..1 << threads
}

impl Looping {
    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Prints the test, with the assertion `ends` and one for each set of threads.
    pub fn text(&self) -> String {
        let columns: Vec<Vec<String>> = self.threads.iter().enumerate().map(|(t, s)| rows(s, t)).collect();
        let count = columns.len();
        let barrier = if self.has_barrier {
            format!("barrier b = {{{}}};", (1..=count).map(|t| format!("P{t}")).collect::<Vec<_>>().join(", "))
        } else {
            String::new()
        };
        let head = (1..=count).map(|t| format!("P{t}@1")).collect::<Vec<_>>().join(" | ");
        let mut text = format!(
            "RDMA_WAIT t {{ x@1 = 0; y@1 = 0; z@1 = 0; strong lock l@1; try lock m@1; counter c@1; {barrier} }}\n {head} ;\n"
        );
        for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let cells: Vec<&str> = columns.iter().map(|c| c.get(row).map_or("", String::as_str)).collect();
            text += &format!(" {} ;\n", cells.join(" | "));
        }
        text += "ends\n";
        for set in sets(count) {
            let waiters: Vec<String> =
                (0..count).filter(|t| set >> t & 1 == 1).map(|t| format!("P{}", t + 1)).collect();
            text += &format!("hangs ({})\n", waiters.join(" /\\ "));
        }
        text
    }

    /// Returns the sets of threads that wait for ever together, as bits; `None` if there are too many states.
    pub fn waiting(&self) -> Option<BTreeSet<usize>> {
        let codes = self.threads.iter().map(|statements| Code::of(statements)).collect::<Vec<_>>();
        let start = State {
            at: codes.iter().map(|code| (0, [Value::Number(0); 4], code).settled()).collect(),
            memory: [0; 3],
            owners: [None; 2],
            count: 0,
        };
        let (mut numbers, mut states, mut next) = (BTreeMap::from([(start.clone(), 0)]), vec![start], Vec::new());
        while next.len() < states.len() {
            let successors = states[next.len()].successors(&codes);
            let numbered = successors.into_iter().map(|state| {
                *numbers.entry(state.clone()).or_insert_with(|| {
                    states.push(state);
                    states.len() - 1
                })
            });
            next.push(numbered.collect::<Vec<usize>>());
            if states.len() > STATES {
                return None;
            }
        }
        let waits =
            |state: &State| (0..codes.len()).filter(|&t| !codes[t].has_ended(state.at[t].0)).map(|t| 1 << t).sum();
        Some(last_states(&next).into_iter().map(|s| waits(&states[s])).filter(|set: &usize| *set != 0).collect())
    }
}

/// The most states that are explored.
const STATES: usize = 4_000;

/// An instruction: a call, or a step that only the thread sees.
#[derive(Clone, Debug)]
enum Instruction {
    Act(Act),
    Set(usize, Value),
    /// Goes to this place unless the register equals the value, or does not.
    Unless(usize, bool, Value, usize),
    Go(usize),
}

struct Code(Vec<Instruction>);

type Registers = [Value; 4];

impl Code {
    fn of(statements: &[Statement]) -> Self {
        let mut code = Self(Vec::new());
        code.add(statements);
        code
    }

    fn add(&mut self, statements: &[Statement]) {
        for statement in statements {
            let begin = self.0.len();
            match statement {
                Statement::Act(act) => self.0.push(Instruction::Act(act.clone())),
                Statement::Set(to, v) => self.0.push(Instruction::Set(*to, *v)),
                Statement::If(r, v, inner) => {
                    self.0.push(Instruction::Unless(*r, true, *v, 0));
                    self.add(inner);
                    self.0[begin] = Instruction::Unless(*r, true, *v, self.0.len());
                }
                Statement::While(until, inner) => {
                    self.0.extend(until.map(|(r, is_equal, v)| Instruction::Unless(r, is_equal, v, 0)));
                    self.add(inner);
                    self.0.push(Instruction::Go(begin));
                    if let Some((r, is_equal, v)) = *until {
                        self.0[begin] = Instruction::Unless(r, is_equal, v, self.0.len());
                    }
                }
            }
        }
    }

    fn has_ended(&self, at: usize) -> bool {
        at == self.0.len()
    }
}

/// A place in a code, with registers, that goes on to the next call.
trait Settled {
    fn settled(self) -> (usize, Registers);
}

impl Settled for (usize, Registers, &Code) {
    fn settled(self) -> (usize, Registers) {
        let (mut at, mut registers, code) = self;
        loop {
            match code.0.get(at) {
                None | Some(Instruction::Act(_)) => return (at, registers),
                Some(Instruction::Set(to, v)) => registers[*to] = *v,
                Some(Instruction::Unless(r, is_equal, v, to)) if (registers[*r] == *v) != *is_equal => {
                    at = *to;
                    continue;
                }
                Some(Instruction::Unless(..)) => {}
                Some(Instruction::Go(to)) => {
                    at = *to;
                    continue;
                }
            }
            at += 1;
        }
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    at: Vec<(usize, Registers)>,
    memory: [u8; 3],
    owners: [Option<usize>; 2],
    count: u8,
}

impl State {
    fn act<'c>(&self, codes: &'c [Code], thread: usize) -> Option<&'c Act> {
        match codes[thread].0.get(self.at[thread].0) {
            Some(Instruction::Act(act)) => Some(act),
            _ => None,
        }
    }

    /// Returns the state after a thread has made its call, which has this result for a register.
    fn moved(&self, codes: &[Code], thread: usize, result: Option<(usize, Value)>) -> Self {
        let (at, mut registers) = self.at[thread];
        if let Some((to, v)) = result {
            registers[to] = v;
        }
        let mut next = self.clone();
        next.at[thread] = (at + 1, registers, &codes[thread]).settled();
        next
    }

    fn successors(&self, codes: &[Code]) -> Vec<Self> {
        let acts: Vec<Option<&Act>> = (0..codes.len()).map(|t| self.act(codes, t)).collect();
        if acts.iter().all(|act| matches!(act, Some(Act::Meet))) {
            return vec![(0..codes.len()).fold(self.clone(), |state, t| state.moved(codes, t, None))];
        }
        (0..codes.len()).filter_map(|t| Some(self.after(codes, t, acts[t]?))).flatten().collect()
    }

    /// Returns the states after a call of a thread; none if it waits.
    fn after(&self, codes: &[Code], thread: usize, act: &Act) -> Vec<Self> {
        let number = |n: u8| Value::Number(n);
        let returns = |to: usize, v: Value| self.moved(codes, thread, Some((to, v)));
        let writes = |x: usize, v: u8, mut state: Self| {
            state.memory[x] = v;
            state
        };
        let owned = |lock: usize, by: Option<usize>, mut state: Self| {
            state.owners[lock] = by;
            state
        };
        let goes = || self.moved(codes, thread, None);
        match *act {
            Act::Write(x, v) => vec![writes(x, v, goes())],
            Act::Read(to, x) => vec![returns(to, number(self.memory[x]))],
            Act::Await(x, v) => (self.memory[x] == v).then(goes).into_iter().collect(),
            Act::Swap(to, x, v) => vec![writes(x, v, returns(to, number(self.memory[x])))],
            Act::Compare(to, x, [old, new]) => {
                let is_same = self.memory[x] == old;
                vec![writes(x, if is_same { new } else { self.memory[x] }, returns(to, number(self.memory[x])))]
            }
            Act::Acquire(lock) => {
                self.owners[lock].is_none().then(|| owned(lock, Some(thread), goes())).into_iter().collect()
            }
            Act::Try(to) => {
                let fails = returns(to, Value::Truth(false));
                let takes = self.owners[1].is_none().then(|| owned(1, Some(thread), returns(to, Value::Truth(true))));
                [fails].into_iter().chain(takes).collect()
            }
            Act::Release(lock) => {
                vec![owned(lock, None, if lock == 1 { returns(3, Value::Truth(true)) } else { goes() })]
            }
            Act::Count(to) => {
                let mut next = returns(to, number(self.count));
                next.count += 1;
                vec![next]
            }
            Act::Look(to) => vec![returns(to, number(self.count))],
            Act::Meet => Vec::new(),
        }
    }
}

/// Returns a state of each set of states that lead to each other and nowhere else. Two walks find the sets. The second one goes against
/// the steps, in the reverse order in which the first one left the states.
fn last_states(next: &[Vec<usize>]) -> Vec<usize> {
    let mut before = vec![Vec::new(); next.len()];
    next.iter().enumerate().for_each(|(from, all)| all.iter().for_each(|&to| before[to].push(from)));
    let (mut seen, mut left) = (vec![false; next.len()], Vec::new());
    (0..next.len()).for_each(|state| walk(next, state, &mut seen, &mut left));
    let mut set_of = vec![0; next.len()];
    let mut sets: Vec<Vec<usize>> = Vec::new();
    seen.fill(false);
    for &state in left.iter().rev() {
        let mut set = Vec::new();
        walk(&before, state, &mut seen, &mut set);
        set.iter().for_each(|&member| set_of[member] = sets.len());
        sets.push(set);
    }
    let stays = |set: &&Vec<usize>| set.iter().all(|&from| next[from].iter().all(|&to| set_of[to] == set_of[from]));
    sets.iter().filter(|set| !set.is_empty()).filter(stays).map(|set| set[0]).collect()
}

/// Walks from a state to all that were not seen, and notes each as the walk leaves it.
fn walk(next: &[Vec<usize>], from: usize, seen: &mut [bool], left: &mut Vec<usize>) {
    let mut path = vec![(from, 0)];
    if std::mem::replace(&mut seen[from], true) {
        return;
    }
    while let Some((state, at)) = path.last_mut() {
        match next[*state].get(*at) {
            Some(&to) => {
                *at += 1;
                if !std::mem::replace(&mut seen[to], true) {
                    path.push((to, 0));
                }
            }
            None => left.extend(path.pop().map(|(state, _)| state)),
        }
    }
}
