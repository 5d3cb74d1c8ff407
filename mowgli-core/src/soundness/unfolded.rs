//! What an implementation and a specification are, as text: what every body does, whatever its calls return, and what every
//! call promises. Two runs with the same text ask the same.

use crate::event::{Call, Cell, Event};
use crate::ids::{Name, Tid};
use crate::implementation::{Implementation, add_parts};
use crate::library::{Libraries, Library};
use crate::program::Prog;
use crate::value::Val;
use crate::world::World;

/// The most steps for which one body is unfolded.
pub const OF_BODY: usize = 1 << 11;

/// The most steps for which all bodies are unfolded.
pub const OF_ALL: usize = 1 << 18;

/// How deep a body is unfolded: one that goes on for longer is one that never ends.
const DEEPEST: usize = 60;

/// Tells all runs of the bodies of these calls, as far as [`OF_BODY`] and [`OF_ALL`] steps lead. A loop is gone through once.
pub fn bodies(
    implementation: &dyn Implementation,
    below: &Libraries,
    calls: &[(World, Tid, Call)],
    tell: &mut dyn FnMut(&str),
) {
    let mut left = OF_ALL;
    for (world, thread, call) in calls {
        let mut world = world.clone();
        add_parts(implementation, &mut world);
        tell(&format!("{world:?} {thread} {call:?}"));
        let most = left.min(OF_BODY);
        let mut walk = Walk { below, world: &world, thread: *thread, left: most, depth: 0, tell };
        walk.run(&implementation.body(&world, *thread, call), &mut |walk, value| {
            (walk.tell)(&format!("ends {value:?}"))
        });
        left -= most - walk.left;
    }
}

/// Tells the ways in which these calls can happen by the library that they are of, whatever they return.
pub fn shapes(libraries: &Libraries, calls: &[(World, Tid, Call)], tell: &mut dyn FnMut(&str)) {
    for (world, thread, call) in calls {
        let Some(library) = libraries.get(call.library) else { continue };
        for ret in results(library, world, *thread, call) {
            let event = Event { thread: *thread, call: call.clone(), ret };
            tell(&format!("{event:?} {:?}", library.shapes(world, &event)));
        }
    }
}

/// What a call could return, where cells hold small numbers or what is there at first.
fn results(library: &dyn Library, world: &World, thread: Tid, call: &Call) -> Vec<Val> {
    if library.fault(world, thread, call).is_some() {
        return Vec::new();
    }
    let cells = |cell: Cell| {
        let mut values: Vec<Val> = (0..=2).map(Val::Int).collect();
        let init = library.init(world, cell);
        if !values.contains(&init) {
            values.push(init);
        }
        values
    };
    library.returns(world, &[], thread, call, &cells)
}

struct Walk<'a, 't> {
    below: &'a Libraries,
    world: &'a World,
    thread: Tid,
    left: usize,
    depth: usize,
    tell: &'t mut dyn FnMut(&str),
}

type Next<'k, 'a, 't> = &'k mut dyn FnMut(&mut Walk<'a, 't>, Val);

impl<'a, 't> Walk<'a, 't> {
    fn run(&mut self, program: &Prog, next: Next<'_, 'a, 't>) {
        if self.left == 0 || self.depth == DEEPEST {
            return;
        }
        self.left -= 1;
        self.depth += 1;
        match program {
            Prog::Val(v) => next(self, *v),
            Prog::Break(levels, v) => {
                (self.tell)(&format!("break {levels}"));
                next(self, *v);
            }
            Prog::Call(call) => {
                (self.tell)(&format!("{} {call:?}", self.depth));
                let name: Name = call.library;
                let of = self.below.get(name).map(|library| results(library, self.world, self.thread, call));
                for result in of.unwrap_or_default() {
                    (self.tell)(&format!("returns {result:?}"));
                    next(self, result);
                }
            }
            Prog::Let(both) => self.run(&both.first, &mut |walk, v| walk.run(&(both.then)(v), next)),
            Prog::Bound => (self.tell)("bound"),
            Prog::Loop(body) => {
                (self.tell)("loop");
                self.run(body, next);
            }
        }
        self.depth -= 1;
    }
}
