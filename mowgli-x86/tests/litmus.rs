//! The classical tests of x86-TSO, which the machine with store buffers confirms.

use std::collections::BTreeSet;

use mowgli_core::event::Cell;
use mowgli_core::expr::Expr;
use mowgli_core::ids::{Loc, Node};
use mowgli_core::library::Libraries;
use mowgli_core::search::problem::Problem;
use mowgli_core::search::runs::Stop;
use mowgli_core::term::body::{Body, body};
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_x86::to;
use mowgli_x86::tso::{MACHINE, Method, X86Tso, cas, faa, mfence, read, word, write, xchg};

/// A world of words with these initial values.
fn world(threads: usize, words: &[(&str, Val)]) -> World {
    let mut world = World::new(1, &vec![Node(1); threads]);
    world.objects.extend(words.iter().map(|&(x, v)| (Loc::new(x), word().init(v))));
    world
}

fn asked<T>(world: &World, bodies: &[Body], observed: &[Cell], ask: impl FnOnce(&Problem<'_>) -> T) -> T {
    let programs = scripts(bodies);
    ask(&Problem { observed, ..Problem::of(&Libraries::over(to).with(X86Tso), world, &programs) })
}

fn scripts(bodies: &[Body]) -> Vec<Script> {
    bodies.iter().map(Script::of).collect()
}

/// Returns the outcomes of a program over x, y and z, initially 0: the outputs of threads, then the last values of x
/// and y.
fn outcomes(programs: &[Body]) -> BTreeSet<String> {
    let world = world(programs.len(), &[("x", Val::Int(0)), ("y", Val::Int(0)), ("z", Val::Int(0))]);
    let observed = ["x", "y"].map(|x| Cell { loc: Loc::new(x), node: MACHINE });
    let flowing = asked(&world, programs, &observed, |p| p.outcomes_by_flow().expect("no value comes out of nowhere"));
    let all = asked(&world, programs, &observed, |problem| problem.outcomes());
    let all: BTreeSet<_> = all.all().expect("nothing stops it").into_keys().collect();
    assert_eq!(flowing.all().expect("nothing stops it").into_keys().collect::<BTreeSet<_>>(), all);
    assert_eq!(all, crate::machine::outcomes(&world, &scripts(programs), &observed));
    all.iter().map(|o| format!("{:?} {:?}", o.outputs, o.finals)).collect()
}

fn has(programs: &[Body], outcome: &str) -> bool {
    outcomes(programs).iter().any(|o| o.contains(outcome))
}

/// The words of the tests.
fn words() -> [Loc; 3] {
    ["x", "y", "z"].map(Loc::new)
}

/// Reads two words.
fn both(a: Loc, b: Loc) -> Body {
    body! { let a = read(a); let b = read(b); Expr::tuple([a, b]) }
}

/// Writes two words.
fn writes(a: (Loc, i64), b: (Loc, i64)) -> Body {
    body! { write(a.0, a.1); write(b.0, b.1); Body::unit() }
}

/// Store buffering with something between the write and the read of each thread.
fn store_buffering(between: fn(Loc) -> Body) -> bool {
    let [x, y, z] = words();
    let thread = |mine: Loc, other: Loc| body! { write(mine, 1); between(z); read(other) };
    has(&[thread(x, y), thread(y, x)], "[0, 0]")
}

#[test]
fn store_buffering_needs_a_fence() {
    assert!(store_buffering(|_| Body::unit()));
    assert!(store_buffering(|z| write(z, 1)));
    assert!(store_buffering(read));
    assert!(!store_buffering(|_| mfence()));
}

#[test]
fn locked_instructions_are_fences() {
    assert!(!store_buffering(|z| faa(z, 1)));
    assert!(!store_buffering(|z| xchg(z, 1)));
    assert!(!store_buffering(|z| cas(z, 0, 1)));
    // A compare-and-swap that fails is a fence too.
    assert!(!store_buffering(|z| cas(z, 7, 1)));
    // An exchange in place of the write is one too: SB with exchanges (CACM 2010, amd10).
    let [x, y, _] = words();
    let thread = |mine: Loc, other: Loc| body! { xchg(mine, 1); read(other) };
    assert!(!has(&[thread(x, y), thread(y, x)], "[0, 0]"));
}

#[test]
fn message_passing_needs_none() {
    let [x, y, _] = words();
    let all = outcomes(&[writes((x, 1), (y, 1)), both(y, x)]);
    assert_eq!(all.iter().collect::<Vec<_>>(), ["[(), (0, 0)] [1, 1]", "[(), (0, 1)] [1, 1]", "[(), (1, 1)] [1, 1]"]);
}

#[test]
fn reads_do_not_pass_reads_and_writes_do_not_pass_reads() {
    let [x, y, _] = words();
    // Load buffering.
    let thread = |from: Loc, to: Loc| body! { let a = read(from); write(to, 1); a };
    assert!(!has(&[thread(x, y), thread(y, x)], "[1, 1] ["));
    // Independent reads of independent writes: all threads see one order.
    let writer = |x: Loc| body! { write(x, 1); Body::unit() };
    let iriw = [writer(x), writer(y), both(x, y), both(y, x)];
    assert!(!has(&iriw, "(1, 0), (1, 0)"));
    assert!(has(&iriw, "(1, 1), (1, 0)"));
}

#[test]
fn writes_are_in_memory_in_program_order() {
    let [x, y, _] = words();
    // 2+2W
    let programs = [writes((x, 1), (y, 2)), writes((y, 1), (x, 2))];
    assert!(!has(&programs, "] [1, 1]"));
    assert_eq!(outcomes(&programs).len(), 3);
}

/// n6: a thread reads its own write before others do (Owens, Sarkar and Sewell 2009, §1).
#[test]
fn own_writes_are_seen_early() {
    let [x, y, _] = words();
    let early = body! { write(x, 1); both(x, y) };
    let n6 = |early| [early, writes((y, 2), (x, 2))];
    assert!(has(&n6(early), "[(1, 0), ()] [1, 2]"));
    let fenced = body! { write(x, 1); mfence(); both(x, y) };
    assert!(!has(&n6(fenced), "[(1, 0), ()] [1, 2]"));
    // n5: but two threads do not each read the other's write after their own.
    let thread = |v: i64| body! { write(x, v); read(x) };
    assert!(!has(&[thread(1), thread(2)], "[2, 1]"));
}

#[test]
fn updates_are_atomic() {
    let [x, ..] = words();
    assert_eq!(outcomes(&[faa(x, 1), faa(x, 1)]).iter().collect::<Vec<_>>(), ["[0, 1] [2, 0]", "[1, 0] [2, 0]"]);
    let thread = |v: i64| cas(x, 0, v);
    assert_eq!(outcomes(&[thread(1), thread(2)]).iter().collect::<Vec<_>>(), ["[0, 1] [1, 0]", "[2, 0] [2, 0]"]);
}

/// The sender publishes a location, and the receiver reads the word at that location.
#[test]
fn a_location_that_was_read_is_an_address() {
    let [x, y, z] = words();
    let sender = body! { write(z, 7); write(y, z); Body::unit() };
    let receiver = body! { let p = read(y); if (p == 0) { p } else { Method::read(p) } };
    assert_eq!(outcomes(&[sender, receiver]).len(), 2);
    // A write through a location too.
    let writer = body! { let p = xchg(y, x); if (p == 0) { write(x, 5) } else { Method::write(p, 6) } };
    let all = outcomes(&[writer.clone(), writer]);
    assert!(all.iter().all(|o| o.contains("[5, x]") || o.contains("[6, x]")), "{all:?}");
}

/// There is no word at 0. The program has a fault, and does not just lack executions.
#[test]
fn a_dangling_dereference_is_a_fault() {
    let [_, y, _] = words();
    let world = world(1, &[("y", Val::Int(0))]);
    let dangling = [body! { let p = read(y); Method::read(p) }];
    let stop = asked(&world, &dangling, &[], |problem| problem.outcomes().all()).expect_err("a fault");
    assert!(matches!(stop, Stop::IllDefined(..)), "{stop:?}");
    assert!(stop.to_string().contains("0 is no location"), "{stop}");
}
