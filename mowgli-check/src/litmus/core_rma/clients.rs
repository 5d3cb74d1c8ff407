//! Clients of memory words as programs of coreRMA, with a flush for each poll.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::{Client, Subject};
use mowgli_core::term::bound::Bound;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::core_rma::execution::{self, Rules, Value};
use mowgli_rdma::core_rma::program::{CoreRmaStatement, LocalExpr, Program, SharedAccess, Variable};
use mowgli_rdma::tso;

use super::text::{process, text, value};

/// The client generator for programs that coreRMA can express, with flushes written as polls.
pub(super) struct WithFlushes;

impl Subject for WithFlushes {
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        let alone = empty.threads.iter().all_unique();
        if alone { tso::PollClients { rmw: false }.worlds(empty, bound, expired) } else { Vec::new() }
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        let mut calls = tso::PollClients { rmw: false }.calls(world, thread, bound, expired);
        calls.retain(|c| matches!(c.method.text(), "Read" | "Write" | "Put" | "Get" | "Poll"));
        calls
    }
}

/// Replaces each flush by as many polls as operations to its node are open.
pub(super) fn with_polls(world: &World, client: &Client) -> Client {
    let of_thread = |calls: &Vec<Call>| {
        let mut open = BTreeMap::<Node, usize>::new();
        let mut all = Vec::new();
        for call in calls {
            let to = tso::towards(world, call);
            match (call.method.text(), to) {
                ("Poll", Some(n)) => all.extend(vec![call.clone(); open.remove(&n).unwrap_or(0)]),
                (_, to) => {
                    to.into_iter().for_each(|n| *open.entry(n).or_insert(0) += 1);
                    all.push(call.clone());
                }
            }
        }
        all
    };
    Client { threads: client.threads.iter().map(of_thread).collect() }
}

/// Translates a client of memory words into a program, each poll into a flush. The variables are in the order of the
/// world's objects.
fn of_client(world: &World, client: &Client) -> Program {
    let owned = world.objects.iter().filter_map(|(&x, o)| Some((x, o.node?, o.init.int()?)));
    let (names, variables): (Vec<Loc>, Vec<Variable>) =
        owned.map(|(x, node, init)| (x, Variable { owner: process(node), init })).unzip();
    let mut processes = vec![Vec::new(); world.nodes.into()];
    for (calls, node) in client.threads.iter().zip(&world.threads) {
        let mut registers = 0;
        let statement = |call: &Call| {
            let place = |i: usize| {
                let variable = names.iter().position(|x| *x == call.loc(i)).expect("a word of the world");
                SharedAccess { variable, atomic: true }
            };
            match (call.method.text(), call.args.last()) {
                ("Read", _) => {
                    registers += 1;
                    CoreRmaStatement::Read { register: registers - 1, from: place(0) }
                }
                ("Write", Some(Val::Int(i))) => CoreRmaStatement::Write { to: place(0), value: LocalExpr::Int(*i) },
                ("Put", _) => CoreRmaStatement::Put { to: place(0), from: place(1) },
                ("Get", _) => CoreRmaStatement::Get { to: place(0), from: place(1) },
                ("Poll", Some(Val::Node(n))) => CoreRmaStatement::Flush { process: process(*n) },
                (other, _) => unreachable!("{other} is not in the fragment"),
            }
        };
        processes[process(*node)] = calls.iter().map(statement).collect();
    }
    Program { variables, processes }
}

/// Returns all outcomes of a client of memory words, with the last values of all words. Each poll becomes a flush.
///
/// # Errors
/// If the time is up.
pub(super) fn outcomes(world: &World, client: &Client, expired: &dyn Fn() -> bool) -> Result<BTreeSet<Outcome>, Stop> {
    let program = of_client(world, client);
    let observed: Vec<usize> = (0..program.variables.len()).collect();
    let found = execution::outcomes(&program, &Rules::core(), &observed, expired).expect("clients are small");
    let reads = |node: &Node| {
        program.processes[process(*node)].iter().filter(|s| matches!(s, CoreRmaStatement::Read { .. })).count()
    };
    let outcome = |output: &Vec<Value>| {
        let mut values = output.iter().map(|v| value(*v));
        // Processes are in the order of nodes, threads in their own.
        let of_node: BTreeMap<Node, Val> = world
            .threads
            .iter()
            .sorted()
            .map(|node| (*node, Val::tuple(&values.by_ref().take(reads(node)).collect::<Vec<_>>())))
            .collect();
        let outputs = world.threads.iter().map(|node| of_node[node]).collect();
        Outcome { outputs, finals: values.collect() }
    };
    Ok(found.all()?.keys().map(outcome).collect())
}

/// Prints a client of memory words as a litmus test of coreRMA.
pub(super) fn litmus(name: &str, world: &World, client: &Client) -> String {
    let program = of_client(world, client);
    let names: Vec<String> = world.objects.keys().map(ToString::to_string).collect();
    text(name, None, &program, &names, &[])
}
