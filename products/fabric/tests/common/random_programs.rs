//! Random programs of reads, writes and operations of the network. The model has to allow what their threads read.

use std::collections::BTreeSet;

use fastrand::Rng;
use mowgli_core::ids::Node;
use mowgli_fabric::{Begun, Fault, Group, Thread, Word};
use mowgli_rdma::wait::Method;

/// The nodes of the threads.
const NODES: [u8; 3] = [1, 2, 2];

/// The number of words on each of the two nodes.
const WORDS: usize = 2;

/// The number of programs.
pub const PROGRAMS: u64 = 40;

/// A statement. Words are numbers; those of node 1 come first.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Statement {
    Write(usize, i64),
    Read(usize),
    /// To where, and from where.
    Put(usize, usize),
    Get(usize, usize),
    /// An addition to a word, and where its old value goes.
    Add(usize, usize),
    /// Waits for the last operation.
    Wait,
    Fence,
    RemoteFence,
}

/// Draws the statements of a thread. After most gets and additions it waits, and reads what has come.
fn drawn(random: &mut Rng, thread: usize) -> Vec<Statement> {
    let near = usize::from(NODES[thread] - 1) * WORDS;
    let mut all = Vec::new();
    while all.len() < 3 {
        let mut own = || near + random.usize(..WORDS);
        let (x, y) = (own(), own());
        let far = WORDS - near + random.usize(..WORDS);
        match random.u8(..12) {
            0 | 1 => all.push(Statement::Write(x, (10 * thread + all.len() + 1) as i64)),
            2..4 => all.push(Statement::Read(x)),
            4 | 5 => all.push(Statement::Put(far, x)),
            6 => all.extend([Statement::Put(far, x), Statement::Wait]),
            7 => all.extend([Statement::Get(x, far), Statement::Wait, Statement::Read(x)]),
            8 => all.push(Statement::Get(x, far)),
            9 => all.extend([Statement::Add(far, x), Statement::Wait, Statement::Read(x)]),
            10 => all.extend([Statement::Write(x, (10 * thread + 9) as i64), Statement::Fence, Statement::Read(y)]),
            _ => all.extend([Statement::Get(x, far), Statement::RemoteFence, Statement::Read(x)]),
        }
    }
    all
}

/// Draws a program, whose threads are on these nodes.
fn drawn_program(seed: u64) -> Vec<Vec<Statement>> {
    let mut random = Rng::with_seed(seed);
    (0..NODES.len()).map(|thread| drawn(&mut random, thread)).collect()
}

/// Makes the statements over some words, and returns what was read.
fn made(all: &[Statement], words: &[Word], thread: &mut Thread<'_>) -> Result<Vec<i64>, Fault> {
    let (mut read, mut last): (_, Option<Begun>) = (Vec::new(), None);
    let other = 3 - thread.node().0;
    for statement in all {
        match *statement {
            Statement::Write(x, v) => words[x].write(thread, v)?,
            Statement::Read(x) => read.push(words[x].read(thread)?),
            Statement::Put(to, from) => last = Some(words[to].put(thread, words[from])?),
            Statement::Get(to, from) => last = Some(words[from].get(thread, words[to])?),
            Statement::Add(on, to) => last = Some(words[on].fetch_add(thread, 100, words[to])?),
            Statement::Wait => last.map_or(Ok(()), |begun| begun.wait(thread))?,
            // What is explored has no port.
            Statement::Fence => thread
                .by_port(&[], |port, _| port.mfence())
                .or_else(|_| thread.call(&Method::Mfence {}.into()).map(drop))?,
            Statement::RemoteFence => thread
                .by_port(&[], |port, _| port.rfence(other.into()))
                .or_else(|_| thread.call(&Method::Rfence { n: Node(other) }.into()).map(drop))?,
        }
    }
    Ok(read)
}

/// Makes the words of a run.
fn words(group: &mut Group, run: usize) -> Vec<Word> {
    (0..2 * WORDS).map(|x| group.word(&format!("r{run}x{x}"), (x / WORDS) as u8 + 1, 0)).collect()
}

/// The values that each thread has read, in each run.
type Seen = Vec<Vec<Vec<i64>>>;

/// The code of a thread.
pub type ThreadCode<'c> = &'c (dyn Fn(&mut Thread<'_>) -> Result<Vec<Vec<i64>>, Fault> + Sync);

/// Makes random programs many times over a fabric, by `run`. Every run has words of its own, and all threads meet before it. Then `explores`
/// lets this process compare what was read with all executions of each program. Returns how many outcomes were seen and are allowed.
pub fn show_what_the_model_allows(
    runs: usize,
    explores: bool,
    run: impl Fn(&Group, ThreadCode<'_>) -> Result<Seen, Fault>,
) -> Result<[usize; 2], Fault> {
    let programs: Vec<Vec<Vec<Statement>>> = (0..PROGRAMS).map(drawn_program).collect();
    let ran = |program: &Vec<Vec<Statement>>| {
        let mut group = Group::new(&NODES);
        let all: Vec<Vec<Word>> = (0..runs).map(|run| words(&mut group, run)).collect();
        let barrier = group.barrier("b", &[0, 1, 2]);
        run(&group, &|thread| {
            let own = &program[thread.id().index()];
            let once = |words: &Vec<Word>| {
                barrier.wait(thread)?;
                made(own, words, thread)
            };
            all.iter().map(once).collect()
        })
    };
    let results = programs.iter().map(ran).collect::<Result<Vec<Seen>, Fault>>()?;
    let mut counts = [0; 2];
    for (program, results) in programs.into_iter().zip(results).filter(|_| explores) {
        let mut group = Group::new(&NODES);
        let (words, code) = (words(&mut group, 0), program.clone());
        let explored = group.explore(move |thread| made(&code[thread.id().index()], &words, thread))?;
        let allowed: BTreeSet<Vec<&Vec<i64>>> = explored.all().expect("all executions").into_iter().collect();
        let seen: BTreeSet<Vec<&Vec<i64>>> = (0..runs).map(|run| results.iter().map(|of| &of[run]).collect()).collect();
        let forbidden: Vec<_> = seen.difference(&allowed).collect();
        assert!(forbidden.is_empty(), "{program:?} shows {forbidden:?}, and {allowed:?} are allowed");
        counts = [counts[0] + seen.len(), counts[1] + allowed.len()];
    }
    Ok(counts)
}
