//! The notation of programs: what `prog!` makes of sequences and blocks.

use crate::x86_tso::{Memory, read, to, word, write};
use mowgli_core::ids::{Loc, Node};
use mowgli_core::implementation::Implementations;
use mowgli_core::library::Libraries;
use mowgli_core::problem::{Limits, Problem};
use mowgli_core::program::{Prog, prog};
use mowgli_core::value::Val;
use mowgli_core::world::World;

/// What a program, which is alone, puts out, and what the word x holds at the end.
fn alone(program: Prog) -> (Val, Val) {
    let mut world = World::new(1, &[Node(1)]);
    world.objects.extend(["x", "y"].map(|x| (Loc::new(x), word())));
    let problem: Problem<'_> = Problem {
        libraries: &Libraries::over(to).with(Memory),
        implementations: &Implementations::new(),
        world: &world,
        programs: &[program],
        observed: &[Loc::new("x").on(Node(1))],
        limits: Limits::default(),
    };
    let all = problem.outcomes().all().unwrap();
    let (outcome, _) = all.first_key_value().unwrap();
    assert_eq!(all.len(), 1);
    (outcome.outputs[0], outcome.finals[0])
}

#[test]
fn the_last_one_is_the_value_unless_a_semicolon_is_behind_it() {
    let x = Loc::new("x");
    assert_eq!(alone(prog! { write(x, 3); read(x) }), (Val::Int(3), Val::Int(3)));
    assert_eq!(alone(prog! { write(x, 3); read(x); }), (Val::Unit, Val::Int(3)));
    assert_eq!(alone(prog! { write(x, 3); let _v = read(x); }), (Val::Unit, Val::Int(3)));
    assert_eq!(alone(prog! { loop { write(x, 3); break Val::Int(5) } }), (Val::Int(5), Val::Int(3)));
    assert_eq!(alone(prog! { loop { write(x, 3); break Val::Int(5); }; }), (Val::Unit, Val::Int(3)));
}

#[test]
fn behind_a_block_there_need_be_no_semicolon() {
    let x = Loc::new("x");
    let blocks = |with: bool| {
        prog! {
            for v in ([1, 2]) { write(x, v) }
            if (with) { write(x, 3); }
            if (with) { write(x, 4) } else { write(x, 5); }
            let w = loop { if (with) { break Val::Int(9); } write(x, 6); break Val::Bot };
            loop { write(x, 7); break }
            Prog::Val(w)
        }
    };
    assert_eq!(alone(blocks(true)), (Val::Int(9), Val::Int(7)));
    assert_eq!(alone(blocks(false)), (Val::Bot, Val::Int(7)));
}
