//! The operations of an implementation, one by one: where each stands, and the implementation with one of them changed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use itertools::Itertools;

use crate::event::{Call, Cell};
use crate::ids::{Name, Tid};
use crate::implementation::Implementation;
use crate::library::Libraries;
use crate::program::Prog;
use crate::stamp::Stamp;
use crate::value::Val;
use crate::world::World;

/// A step down in a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    /// To what comes first in a sequence.
    First,
    /// To what comes then.
    Then,
    /// Into a loop.
    Round,
}

/// An operation in the body of a method. Bodies that differ by thread, node or value have the same sites where they have
/// the same form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Site {
    /// The implemented method.
    pub method: Name,
    /// Where in its body.
    path: Vec<Step>,
    /// The method that is called there.
    pub calls: Name,
    /// How many calls of this method come before it, in other sites of the body.
    pub nth: usize,
    /// Whether it is the only one.
    pub alone: bool,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.method)?;
        if !self.alone {
            write!(f, "{}. ", self.nth + 1)?;
        }
        write!(f, "{}", self.calls)
    }
}

/// The most steps for which one body is looked through.
const STEPS: usize = 20_000;

/// The sites of an implementation, in the order of its bodies, found by following the results that calls could have in
/// these worlds.
#[must_use]
pub fn sites<S: Stamp>(
    implementation: &dyn Implementation,
    below: &Libraries<S>,
    calls: &[(World, Tid, Call)],
) -> Vec<Site> {
    let mut found: BTreeSet<(Name, Vec<Step>, Name)> = BTreeSet::new();
    for (world, thread, call) in calls {
        let mut walk = Walk { below, world, thread: *thread, method: call.method, left: STEPS, found: &mut found };
        walk.run(&implementation.body(world, *thread, call), &mut Vec::new(), &mut |_, _| {});
    }
    let all: Vec<Site> =
        found.into_iter().map(|(method, path, calls)| Site { method, path, calls, nth: 0, alone: false }).collect();
    let alike =
        |s: &Site| all.iter().filter(move |o| (o.method, o.calls) == (s.method, s.calls)).cloned().collect_vec();
    all.iter()
        .map(|s| {
            let alike = alike(s);
            let nth = alike.iter().position(|o| o == s).expect("it is alike to itself");
            Site { nth, alone: alike.len() == 1, ..s.clone() }
        })
        .collect()
}

struct Walk<'a, S: Stamp> {
    below: &'a Libraries<S>,
    world: &'a World,
    thread: Tid,
    method: Name,
    left: usize,
    found: &'a mut BTreeSet<(Name, Vec<Step>, Name)>,
}

type Next<'k, 'a, S> = &'k mut dyn FnMut(&mut Walk<'a, S>, Val);

impl<'a, S: Stamp> Walk<'a, S> {
    /// Goes through a program with every result that its calls could have; a loop is passed once, and left.
    fn run(&mut self, program: &Prog, path: &mut Vec<Step>, next: Next<'_, 'a, S>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        match program {
            Prog::Val(v) | Prog::Break(_, v) => next(self, *v),
            Prog::Call(call) => {
                self.found.insert((self.method, path.clone(), call.method));
                let Some(library) = self.below.get(call.library) else { return };
                let cells = |cell: Cell| {
                    let init = self.world.objects.get(&cell.loc).map_or(Val::Int(0), |o| o.init);
                    [init].into_iter().chain((0..=2).map(Val::Int)).unique().collect()
                };
                for result in library.returns(self.world, &[], self.thread, call, &cells) {
                    next(self, result);
                }
            }
            Prog::Let(first, f) => {
                path.push(Step::First);
                let mut after = path.clone();
                *after.last_mut().expect("just pushed") = Step::Then;
                self.run(first, path, &mut |walk, v| walk.run(&f(v), &mut after.clone(), next));
                path.pop();
            }
            Prog::Loop(body) => {
                path.push(Step::Round);
                self.run(body, path, next);
                path.pop();
            }
        }
    }
}

/// What a call becomes.
pub type Change = Arc<dyn Fn(&Call) -> Prog + Send + Sync>;

/// An implementation with one operation changed.
#[derive(Clone)]
pub struct Changed {
    /// The implementation.
    pub of: Arc<dyn Implementation>,
    /// The operation.
    pub site: Site,
    /// What becomes of it.
    pub change: Change,
}

impl Implementation for Changed {
    fn target(&self) -> Name {
        self.of.target()
    }

    fn declare(&self, world: &mut World) {
        self.of.declare(world);
    }

    fn body(&self, world: &World, thread: Tid, call: &Call) -> Prog {
        let body = self.of.body(world, thread, call);
        if call.method == self.site.method {
            changed(&body, &self.site.path, self.site.calls, &self.change)
        } else {
            body
        }
    }
}

fn changed(program: &Prog, path: &[Step], calls: Name, change: &Change) -> Prog {
    match (program, path.split_first()) {
        (Prog::Call(call), None) if call.method == calls => change(call),
        (Prog::Let(first, f), Some((Step::First, rest))) => {
            Prog::Let(Arc::new(changed(first, rest, calls, change)), Arc::clone(f))
        }
        (Prog::Let(first, f), Some((Step::Then, rest))) => {
            let (f, rest, change) = (Arc::clone(f), rest.to_vec(), Arc::clone(change));
            Prog::Let(Arc::clone(first), Arc::new(move |v| changed(&f(v), &rest, calls, &change)))
        }
        (Prog::Loop(body), Some((Step::Round, rest))) => Prog::Loop(Arc::new(changed(body, rest, calls, change))),
        _ => program.clone(),
    }
}
