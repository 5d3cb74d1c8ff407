//! A bank: accounts on all nodes, each under a lock of its node, and clients that move money between them.
//!
//! A node lock promises that puts to its node under the lock are visible to the next holder. So an account is on the
//! node of its lock. A bank whose accounts are elsewhere loses money.

use mowgli_fabric::{Barrier, Fault, Group, NodeLock, Thread, Word};
use serde::{Deserialize, Serialize};

/// The initial money of each account.
pub const START: i64 = 100;

/// The unit of changes in a word. Below it is the money of an account, and above it the number of changes, so that the
/// words of an account all differ.
const CHANGE: i64 = 1 << 24;

/// A bank and how it is used.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The number of nodes.
    pub nodes: u8,
    /// The number of clients on each node.
    pub clients: usize,
    /// The number of accounts, at least two.
    pub accounts: usize,
    /// The number of locks, which accounts share.
    pub locks: usize,
    /// The number of times that a client moves money.
    pub transfers: usize,
    /// True if an account is on the node after that of its lock, which is wrong.
    pub is_elsewhere: bool,
}

/// The objects of a bank.
pub struct Bank {
    setting: Setting,
    accounts: Vec<Word>,
    locks: Vec<NodeLock>,
    /// For each thread, the words into which it gets, and out of which it puts.
    own: Vec<[Word; 2]>,
    end: Barrier,
}

/// The state in which a transfer has found an account.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Found {
    /// The account.
    pub account: usize,
    /// Its word.
    pub word: i64,
}

/// A transfer that was made.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Transfer {
    /// The number of the thread.
    pub client: usize,
    /// The states of the account from which the money goes, and of the one to which it goes.
    pub found: [Found; 2],
    /// The amount of money.
    pub amount: i64,
    /// The time at which it began.
    pub begun: u64,
    /// The time at which it ended, by the same clock.
    pub ended: u64,
}

/// The record of a thread: its transfers, and the accounts that it saw after all had ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Done {
    /// Its transfers.
    pub transfers: Vec<Transfer>,
    /// All accounts.
    pub last: Vec<i64>,
}

fn money(word: i64) -> i64 {
    word % CHANGE
}

/// Returns the next word of an account that has `word`, if this amount is added.
fn after(word: i64, amount: i64) -> i64 {
    word + CHANGE + amount
}

impl Setting {
    /// Makes the group and the bank.
    pub fn group(self) -> (Group, Bank) {
        let threads: Vec<u8> = (1..=self.nodes).flat_map(|n| vec![n; self.clients]).collect();
        let mut group = Group::new(&threads);
        let node = |lock: usize| (lock % usize::from(self.nodes)) as u8 + 1;
        let of_account = |a: usize| node(a % self.locks + usize::from(self.is_elsewhere));
        let locks = (0..self.locks).map(|l| group.node_lock(&format!("lock{l}"), node(l))).collect();
        let accounts = (0..self.accounts).map(|a| group.word(&format!("account{a}"), of_account(a), START)).collect();
        let pair = |(t, &n): (usize, &u8)| ["from", "to"].map(|side| group.word(&format!("{side}{t}"), n, 0));
        let own = threads.iter().enumerate().map(pair).collect();
        let end = group.barrier("end", &(0..threads.len()).collect::<Vec<_>>());
        (group, Bank { setting: self, accounts, locks, own, end })
    }
}

impl Bank {
    /// Runs one thread; `now` is a clock that all threads read.
    ///
    /// # Errors
    /// If the fabric fails.
    pub fn run(&self, thread: &mut Thread<'_>, seed: u64, now: impl Fn() -> u64) -> Result<Done, Fault> {
        let client = thread.id().index();
        let mut random = fastrand::Rng::with_seed(seed);
        // Clients do different things, even if their seeds differ little.
        (0..=client).for_each(|_| random = random.fork());
        let mut transfers = Vec::new();
        for _ in 0..self.setting.transfers {
            let from = random.usize(..self.accounts.len());
            let to = (from + random.usize(1..self.accounts.len())) % self.accounts.len();
            let (most, begun) = (random.i64(1..=20), now());
            let (found, amount) = self.transfer(thread, [from, to], most)?;
            transfers.push(Transfer { client, found, amount, begun, ended: now() });
        }
        self.end.wait(thread)?;
        let [own, _] = self.own[client];
        let look = |account: &Word| {
            account.get(thread, own)?.wait(thread)?;
            own.read(thread)
        };
        Ok(Done { transfers, last: self.accounts.iter().map(look).collect::<Result<_, _>>()? })
    }

    /// Moves money from one account to the other, at most so much.
    fn transfer(&self, thread: &mut Thread<'_>, accounts: [usize; 2], most: i64) -> Result<([Found; 2], i64), Fault> {
        let [a, b] = accounts.map(|account| account % self.locks.len());
        // All clients take locks in one order, so they do not deadlock.
        let mut first = self.locks[a.min(b)].lock(thread)?;
        if a == b {
            let made = self.locked(&mut first, accounts, most)?;
            first.release()?;
            return Ok(made);
        }
        let mut second = self.locks[a.max(b)].lock(&mut first)?;
        let made = self.locked(&mut second, accounts, most)?;
        second.release()?;
        first.release()?;
        Ok(made)
    }

    /// Does the same in a thread that holds the locks of both accounts.
    fn locked(&self, thread: &mut Thread<'_>, accounts: [usize; 2], most: i64) -> Result<([Found; 2], i64), Fault> {
        let own = self.own[thread.id().index()];
        let both = [(accounts[0], own[0]), (accounts[1], own[1])];
        let mut gets = Vec::new();
        for (account, own) in both {
            gets.push(self.accounts[account].get(thread, own)?);
        }
        gets.into_iter().try_for_each(|get| get.wait(thread))?;
        let found = [own[0].read(thread)?, own[1].read(thread)?];
        let amount = most.min(money(found[0]));
        own[0].write(thread, after(found[0], -amount))?;
        own[1].write(thread, after(found[1], amount))?;
        let mut puts = Vec::new();
        for (account, own) in both {
            puts.push(self.accounts[account].put(thread, own)?);
        }
        // The wait only allows the own words to be used again. The locks make the accounts visible.
        puts.into_iter().try_for_each(|put| put.wait(thread))?;
        let [from, to] = accounts;
        Ok(([Found { account: from, word: found[0] }, Found { account: to, word: found[1] }], amount))
    }
}

/// Describes why these transfers cannot have been made one after the other. `None` means that they can, and that money
/// was neither made nor lost.
pub fn wrong(all: &[Done]) -> Option<String> {
    let last = &all.first()?.last;
    let mut now = vec![START; last.len()];
    let mut left: Vec<&Transfer> = all.iter().flat_map(|done| &done.transfers).collect();
    left.sort_by_key(|transfer| transfer.begun);
    loop {
        let before = left.len();
        // Each word of an account occurs once, so the choice among transfers that can go first does not matter.
        left.retain(|transfer| {
            let is_next = transfer.found.iter().all(|found| now[found.account] == found.word);
            if is_next {
                let [from, to] = transfer.found;
                now[from.account] = after(from.word, -transfer.amount);
                now[to.account] = after(to.word, transfer.amount);
            }
            !is_next
        });
        if left.len() == before {
            break;
        }
    }
    if let Some(stuck) = left.first() {
        return Some(format!("no order of all transfers has {}", reported(stuck, all)));
    }
    let sum: i64 = last.iter().map(|&word| money(word)).sum();
    let should = START * last.len() as i64;
    (now != *last || sum != should).then(|| format!("the accounts have {sum} in the end, and should have {should}"))
}

/// Prints a transfer that cannot have been made, and those that found the same as it did.
fn reported(stuck: &Transfer, all: &[Done]) -> String {
    let line = |t: &Transfer| {
        let [from, to] =
            t.found.map(|f| format!("{} after {} changes in {}", money(f.word), f.word / CHANGE, f.account));
        format!("\n  {:>8} to {:>8}  client {}  moves {}, found {from}, {to}", t.begun, t.ended, t.client, t.amount)
    };
    let shares = |t: &&Transfer| {
        let is_same = |a: &Found| stuck.found.iter().any(|b| (a.account, a.word) == (b.account, b.word));
        t.found.iter().any(is_same)
    };
    let mut same: Vec<&Transfer> = all.iter().flat_map(|done| &done.transfers).filter(shares).collect();
    same.sort_by_key(|t| t.begun);
    same.into_iter().map(line).collect()
}
