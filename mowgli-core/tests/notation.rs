//! The notation of bodies: what `body!` makes of sequences and blocks.

use crate::x86_tso::{Memory, Method, read, to, word, write};
use mowgli_core::expr::{Expr, me, range};
use mowgli_core::ids::{Loc, Node};
use mowgli_core::library::Libraries;
use mowgli_core::search::problem::Problem;
use mowgli_core::term::body::{Body, body};
use mowgli_core::term::script::Script;
use mowgli_core::value::Val;
use mowgli_core::world::World;

/// Returns the output of a program that runs alone, and the final value of the word x.
fn alone(body: Body) -> (Val, Val) {
    let mut world = World::new(1, &[Node(1)]);
    world.objects.extend(["x", "y"].map(|x| (Loc::new(x), word())));
    let (libraries, programs) = (Libraries::over(to).with(Memory), [Script::of(&body)]);
    let observed = [Loc::new("x").on(Node(1))];
    let problem = Problem { observed: &observed, ..Problem::of(&libraries, &world, &programs) };
    let all = problem.outcomes().all().unwrap();
    let (outcome, _) = all.first_key_value().unwrap();
    assert_eq!(all.len(), 1);
    (outcome.outputs[0], outcome.finals[0])
}

#[test]
fn the_last_one_is_the_value_unless_a_semicolon_is_behind_it() {
    let x = Loc::new("x");
    assert_eq!(alone(body! { write(x, 3); read(x) }), (Val::Int(3), Val::Int(3)));
    assert_eq!(alone(body! { write(x, 3); read(x); }), (Val::Unit, Val::Int(3)));
    assert_eq!(alone(body! { write(x, 3); let _v = read(x); }), (Val::Unit, Val::Int(3)));
    assert_eq!(alone(body! { loop { write(x, 3); break Val::Int(5) } }), (Val::Int(5), Val::Int(3)));
    assert_eq!(alone(body! { loop { write(x, 3); break Val::Int(5); }; }), (Val::Unit, Val::Int(3)));
}

#[test]
fn behind_a_block_there_need_be_no_semicolon() {
    let x = Loc::new("x");
    let blocks = |with: bool| {
        let with = Expr::from(with);
        body! {
            for v in (range(1, 3)) { Method::write(x, v) }
            if (with) { write(x, 3); }
            if (with) { write(x, 4) } else { write(x, 5); }
            let w = loop { if (with) { break Val::Int(9); } write(x, 6); break Val::Bot };
            loop { write(x, 7); break }
            w
        }
    };
    assert_eq!(alone(blocks(true)), (Val::Int(9), Val::Int(7)));
    assert_eq!(alone(blocks(false)), (Val::Bot, Val::Int(7)));
}

#[test]
fn terms_mean_what_their_notation_says() {
    let x = Expr::from(Loc::new("x"));
    let run = alone;
    let int = |n: i64| Val::Int(n);
    assert_eq!(run(body! { Method::write(x, 3); Method::read(x) }), (int(3), int(3)));
    assert_eq!(run(body! { Method::write(x, 3); let v = Method::read(x); v + 1 }), (int(4), int(3)));
    assert_eq!(run(body! { Method::write(x, 3); Method::read(x); }), (Val::Unit, int(3)));
    assert_eq!(run(body! { for k in (range(1, 4)) { Method::write(x, k) } }), (Val::Unit, int(3)));
    let collected =
        body! { let all = for k in (range(1, 4)) { Method::write(x, k); Method::read(x) }; all.min() + all.len() };
    assert_eq!(run(collected), (int(4), int(3)));
    let once =
        body! { loop { Method::write(x, 1); let v = Method::read(x); if (v >= 1) { break v } else { break 8 } } };
    assert_eq!(run(once), (int(1), int(1)));
    let chosen = body! { let v = Method::read(x); let w = if (v == 0) { Method::write(x, 7); 5 } else { v }; w + 1 };
    assert_eq!(run(chosen), (int(6), int(7)));
    assert_eq!(run(Body::from(9).by(Expr::tuple([me()]))), (int(9), int(0)));
    // Two variables with one name are two: the inner one ends with its block.
    let shadowed = body! { let v = Method::read(x); for k in (range(5, 6)) { let v = Method::write(x, k); v } v + 1 };
    assert_eq!(run(shadowed), (int(1), int(5)));
}
