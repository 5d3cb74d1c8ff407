//! coreRMA three times: the search, the definitions read literally, and all interleavings of actions that respect the
//! edges between them. The interleavings need programs in which every access is atomic. All three have to give the same
//! outputs.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli_rdma::core_rma::execution::{Rule, Rules, Value, outputs, witnesses};
use mowgli_rdma::core_rma::generate::{TableRow, programs, test};
use mowgli_rdma::core_rma::program::{
    Action, ActionType, Actions, CoreRmaStatement, Data, LocalExpr, Program, SharedAccess, TextValue, Variable,
};
use proptest::prelude::*;

type Outputs = BTreeSet<Vec<Value>>;

/// The value that a reader reads.
type Read<'a> = &'a dyn Fn(usize) -> Value;

/// True if the rules order two actions, without looking at values or sources.
fn fixed(actions: &Actions, rules: &Rules, a: usize, b: usize) -> bool {
    let (one, other) = (&actions.all[a], &actions.all[b]);
    if one.kind == ActionType::Init || other.kind == ActionType::Init {
        return one.kind == ActionType::Init && other.kind != ActionType::Init;
    }
    // Program order, which is also the order inside a statement.
    if one.src != other.src || a >= b {
        return false;
    }
    let statement = |x: usize| actions.remote.iter().position(|r| r.all.contains(&x));
    let remote = |x: usize| statement(x).map(|s| &actions.remote[s]);
    let target = |x: usize| remote(x).map(|r| actions.all[r.at].dst);
    let is_at = |x: usize| remote(x).is_some_and(|r| r.at == x);
    let both =
        |wanted: fn(&CoreRmaStatement) -> bool| [a, b].iter().all(|&x| remote(x).is_some_and(|r| wanted(&r.statement)));
    let routed = is_at(a) && is_at(b) && target(a) == target(b) && target(a) != Some(one.src);
    let inside = statement(a).is_some() && statement(a) == statement(b);
    let rule = |rule: Rule, holds: bool| rules.has(rule) && holds;
    rule(Rule::Lo, one.is_local())
        || rule(Rule::F1, one.kind == ActionType::Flush && other.is_local())
        || rule(Rule::F2, other.kind == ActionType::Flush && target(a) == Some(other.dst))
        || rule(Rule::F3, one.kind == ActionType::Flush && target(b) == Some(one.dst))
        || rule(Rule::Ir, routed)
        || rule(Rule::PutPut, routed && both(|s| matches!(s, CoreRmaStatement::Put { .. })))
        || rule(Rule::GetGet, routed && both(|s| matches!(s, CoreRmaStatement::Get { .. })))
        || rule(
            Rule::Inline,
            !inside && !is_at(a) && matches!(remote(a), Some(r) if matches!(r.statement, CoreRmaStatement::Put { .. })),
        )
        || inside
            && match actions.remote[statement(a).unwrap()].statement {
                CoreRmaStatement::Rga { .. } => rules.has(Rule::Ga),
                // Both rules for compare-and-swaps are on or off together here. The two local reads are not ordered.
                CoreRmaStatement::Cas { .. } => {
                    rules.has(Rule::CasT)
                        && !(one.kind == ActionType::ExternalRead && other.kind == ActionType::ExternalRead)
                }
                _ => rules.has(Rule::Pg),
            }
}

fn source(s: TextValue, read: &dyn Fn(usize) -> Value) -> Value {
    match s {
        TextValue::Int(i) => Some(i),
        TextValue::Read(a, k) => read(a).map(|v| v + k),
    }
}

/// Returns the value that an action writes; `coin` decides comparisons with undefined values.
fn written(actions: &Actions, w: usize, read: &dyn Fn(usize) -> Value, coin: bool) -> Value {
    match actions.all[w].data {
        Data::Nothing => None,
        Data::Local(s) => source(s, read),
        Data::Copy(a) => read(a),
        Data::Sum(a) => read(a).zip(read(w)).map(|(x, y)| x + y),
        Data::Swap { old, new } => {
            let equal = read(old).zip(read(w)).map_or(coin, |(x, y)| x == y);
            if equal { read(new) } else { read(w) }
        }
    }
}

/// Explores all interleavings. A read sees the last write, and `None` is the value of a write that has not happened
/// yet.
fn interleaved(program: &Program, rules: &Rules) -> Outputs {
    type State = (u64, Vec<Value>, BTreeMap<usize, Value>);
    let actions = program.actions().unwrap();
    let all = &actions.all;
    let mut seen: BTreeSet<State> = BTreeSet::new();
    let mut open: Vec<State> = vec![(0, vec![None; program.variables.len()], BTreeMap::new())];
    let mut found = Outputs::new();
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        let (done, memory, reads) = state;
        if done.count_ones() as usize == all.len() {
            let read = |a: usize| reads[&a];
            found.insert(actions.registers.iter().flatten().map(|&s| source(s, &read)).collect());
            continue;
        }
        for a in (0..all.len()).filter(|a| done >> a & 1 == 0) {
            if (0..all.len()).any(|b| done >> b & 1 == 0 && fixed(&actions, rules, b, a)) {
                continue;
            }
            let (mut memory, mut reads) = (memory.clone(), reads.clone());
            if let Some(x) = all[a].reads {
                reads.insert(a, memory[x]);
            }
            if let Some(x) = all[a].writes {
                memory[x] = written(&actions, a, &|r| reads[&r], false);
            }
            open.push((done | 1 << a, memory, reads));
        }
    }
    found
}

/// Evaluates the definitions: every order of atomic writes, every source of every read, happens-before as a fixed
/// point.
fn literal(program: &Program, rules: &Rules) -> Outputs {
    let actions = program.actions().unwrap();
    let all = &actions.all;
    let n = all.len();
    let writes = |x: usize| -> Vec<usize> { (0..n).filter(|&a| all[a].writes == Some(x)).collect() };
    let orders: Vec<Vec<Vec<usize>>> = (0..program.variables.len())
        .map(|x| {
            let atomic: Vec<usize> = writes(x).into_iter().filter(|&a| all[a].atomic).collect();
            atomic.iter().copied().permutations(atomic.len()).collect()
        })
        .collect();
    let readers: Vec<usize> = (0..n).filter(|&a| all[a].reads.is_some()).collect();
    let sources = readers.iter().map(|&r| writes(all[r].reads.unwrap()).into_iter().filter(move |&w| w != r));
    let sources: Vec<Vec<usize>> = sources.map(Iterator::collect).collect();
    let mut found = Outputs::new();
    for ws in orders.iter().multi_cartesian_product() {
        for rf in sources.iter().map(|s| s.iter().copied()).multi_cartesian_product() {
            let rf: BTreeMap<usize, usize> = readers.iter().copied().zip(rf).collect();
            let mut hb = vec![vec![false; n]; n];
            for (a, b) in (0..n).cartesian_product(0..n) {
                hb[a][b] = fixed(&actions, rules, a, b);
            }
            for order in &ws {
                order.iter().tuple_combinations().for_each(|(&a, &b)| hb[a][b] = true);
            }
            for (&r, &w) in &rf {
                hb[w][r] |= all[r].atomic && all[w].atomic;
            }
            loop {
                let mut new = Vec::new();
                for (a, b, c) in (0..n).cartesian_product(0..n).cartesian_product(0..n).map(|((a, b), c)| (a, b, c)) {
                    if hb[a][b] && hb[b][c] && !hb[a][c] {
                        new.push((a, c));
                    }
                }
                for (&r, &w1) in &rf {
                    for w2 in writes(all[r].reads.unwrap()) {
                        let atomic = all[r].atomic && all[w1].atomic && all[w2].atomic;
                        if atomic && w2 != r && hb[w1][w2] && !hb[r][w2] {
                            new.push((r, w2));
                        }
                    }
                }
                if new.is_empty() {
                    break;
                }
                new.into_iter().for_each(|(a, b)| hb[a][b] = true);
            }
            let visible = |r: usize, w: usize| {
                let between = writes(all[r].reads.unwrap()).into_iter().any(|v| v != r && hb[w][v] && hb[v][r]);
                !hb[r][w] && !between
            };
            if (0..n).any(|a| hb[a][a]) || rf.iter().any(|(&r, &w)| !visible(r, w)) {
                continue;
            }
            let races = |a: usize, b: usize, x: usize| {
                let on = |c: &Action| c.reads == Some(x) || c.writes == Some(x);
                a != b && on(&all[b]) && !hb[a][b] && !hb[b][a] && !(all[a].atomic && all[b].atomic)
            };
            let conflict = |a: usize, x: usize| writes(x).into_iter().any(|w| races(a, w, x));
            for coin in [false, true] {
                // Values follow happens-before, or are undefined.
                fn read(a: usize, env: &dyn Fn(usize, Read<'_>) -> Value) -> Value {
                    env(a, &|b| read(b, env))
                }
                let env = |r: usize, read: Read<'_>| {
                    let (x, w) = (all[r].reads.unwrap(), rf[&r]);
                    if conflict(r, x) || conflict(w, x) { None } else { written(&actions, w, read, coin) }
                };
                let value = |a: usize| read(a, &env);
                found.insert(actions.registers.iter().flatten().map(|&s| source(s, &value)).collect());
            }
        }
    }
    found
}

fn place(variables: usize, atomic: impl Strategy<Value = bool>) -> impl Strategy<Value = SharedAccess> {
    (0..variables, atomic).prop_map(|(variable, atomic)| SharedAccess { variable, atomic })
}

/// Generates programs of two processes with one variable each, of at most `actions` actions beside the initial writes.
fn any_program(always_atomic: bool, actions: usize) -> impl Strategy<Value = Program> {
    let atomic = move || prop_oneof![1 => Just(true), 1 => Just(always_atomic)];
    let own = move |p: usize| place(1, atomic()).prop_map(move |x| SharedAccess { variable: p, ..x });
    let statement = move |p: usize| {
        let any = move || place(2, atomic());
        prop_oneof![
            3 => own(p).prop_map(|from| CoreRmaStatement::Read { register: 0, from }),
            2 => (own(p), 5..8_i64).prop_map(|(to, i)| CoreRmaStatement::Write { to, value: LocalExpr::Int(i) }),
            1 => own(p).prop_map(|to| CoreRmaStatement::Write { to, value: LocalExpr::Register(0, 1) }),
            2 => (own(p), any()).prop_map(|(to, from)| CoreRmaStatement::Get { to, from }),
            2 => (any(), own(p)).prop_map(|(to, from)| CoreRmaStatement::Put { to, from }),
            1 => (own(p), any(), own(p)).prop_map(|(to, at, add)| CoreRmaStatement::Rga { to, at, add }),
            1 => (own(p), any(), own(p), own(p)).prop_map(|(to, at, old, new)| CoreRmaStatement::Cas { to, at, old, new }),
            2 => (0..2_usize).prop_map(|process| CoreRmaStatement::Flush { process }),
        ]
    };
    let process = move |p: usize| prop::collection::vec(statement(p), 0..4);
    (process(0), process(1)).prop_map(move |(one, other)| {
        let variables = vec![Variable { owner: 0, init: 1 }, Variable { owner: 1, init: 2 }];
        let mut program = Program { variables, processes: vec![one, other] };
        for process in &mut program.processes {
            let mut registers = 0..;
            for s in process.iter_mut() {
                if let CoreRmaStatement::Read { register, .. } = s {
                    *register = registers.next().unwrap();
                }
            }
        }
        while program.size() > actions + 2 {
            let longer = usize::from(program.processes[1].len() > program.processes[0].len());
            program.processes[longer].pop();
        }
        program
    })
}

fn any_rules() -> impl Strategy<Value = Rules> {
    // Without LO a write could come before the read whose register it writes.
    let some = [Rule::F1, Rule::F2, Rule::F3, Rule::Ir];
    prop_oneof![
        4 => Just(Rules::core()),
        1 => Just(Rules::infiniband()),
        1 => Just(Rules::dmapp()),
        2 => prop::sample::subsequence(some.to_vec(), 1..3)
            .prop_map(|gone| gone.into_iter().fold(Rules::core(), Rules::without)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn atomic_programs_are_all_interleavings(program in any_program(true, 9), rules in any_rules()) {
        prop_assert_eq!(outputs(&program, &rules).unwrap(), interleaved(&program, &rules), "{:?}", program);
    }

    #[test]
    fn the_search_finds_what_the_definitions_say(program in any_program(false, 6), rules in any_rules()) {
        prop_assert_eq!(outputs(&program, &rules).unwrap(), literal(&program, &rules), "{:?}", program);
    }

    /// There is a witness for each output, and its edges do not have a cycle. A read without a race reads the value
    /// that its source wrote.
    #[test]
    fn witnesses_show_what_happened(program in any_program(false, 7), rules in any_rules()) {
        let found = witnesses(&program, &rules, &[], &|| false).unwrap().all().unwrap();
        prop_assert_eq!(found.keys().cloned().collect::<Outputs>(), outputs(&program, &rules).unwrap());
        for witness in found.values() {
            let mut left: BTreeSet<usize> = (0..witness.actions.len()).collect();
            let mut edges: BTreeSet<(usize, usize)> = witness.edges.iter().map(|e| (e.from, e.to)).collect();
            while let Some(first) = left.iter().copied().find(|a| edges.iter().all(|e| e.1 != *a)) {
                left.remove(&first);
                edges.retain(|e| e.0 != first);
            }
            prop_assert!(left.is_empty(), "a cycle: {:?} of {:?}", witness.edges, program);
            let races = |a: &usize| witness.races.iter().any(|(x, y)| [x, y].contains(&a));
            for (w, r) in witness.rf.iter().filter(|(w, r)| !races(w) && !races(r)) {
                prop_assert_eq!(witness.read[*r], witness.wrote[*w]);
            }
        }
    }

    #[test]
    fn fewer_rules_give_more_outputs(program in any_program(true, 8), rule in prop::sample::select(vec![Rule::F1, Rule::F2, Rule::F3, Rule::Ir, Rule::Lo])) {
        let (all, fewer) = (outputs(&program, &Rules::core()).unwrap(), outputs(&program, &Rules::core().without(rule)).unwrap());
        prop_assert!(all.is_subset(&fewer));
    }
}

#[test]
fn generated_tests_have_the_outputs_of_all_interleavings() {
    for (rule, processes, size) in [(Rule::Ws, 1, 7), (Rule::Pg, 2, 8), (Rule::Ga, 2, 9), (Rule::CasT, 1, 9)] {
        let tests: Vec<_> = programs(TableRow { rule, processes, size }, &|| false)
            .all()
            .expect("no limit")
            .iter()
            .filter_map(|p| test(p, rule, &|| false).expect("no limit"))
            .collect();
        assert!(!tests.is_empty(), "{rule}");
        for t in tests.iter().step_by(tests.len() / 40 + 1) {
            assert_eq!(t.outputs, interleaved(&t.program, &Rules::core()), "{:?}", t.program);
        }
    }
}
