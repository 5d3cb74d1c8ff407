//! The operations of an implementation, one by one: where each stands, and the implementation with one of them changed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use itertools::Itertools;

use crate::event::{Call, Cell};
use crate::ids::{Name, Tid};
use crate::implementation::Implementation;
use crate::library::Libraries;
use crate::program::{Continuation, Prog};
use crate::soundness::edits::Change;
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
            Prog::Bound => {}
            Prog::Loop(body) => {
                path.push(Step::Round);
                self.run(body, path, next);
                path.pop();
            }
        }
    }
}

/// An implementation with one operation changed.
#[derive(Clone)]
pub struct Changed {
    /// The implementation.
    pub of: Arc<dyn Implementation>,
    /// The operation.
    pub site: Site,
    /// What becomes of it.
    pub change: Change,
    /// Whether a body was seen that is different now.
    pub differs: Arc<AtomicBool>,
}

impl Changed {
    /// The implementation with this change of the operation at a site.
    #[must_use]
    pub fn new(of: Arc<dyn Implementation>, site: Site, change: Change) -> Self {
        Self { of, site, change, differs: Arc::default() }
    }
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
        if call.method != self.site.method {
            return body;
        }
        let here = Here { of: self.clone(), world: Arc::new(world.clone()), thread };
        here.changed(&body, &self.site.path)
    }
}

/// A change in the body of a call of a thread.
#[derive(Clone)]
struct Here {
    of: Changed,
    world: Arc<World>,
    thread: Tid,
}

impl Here {
    fn is_here(&self, call: &Call) -> bool {
        call.method == self.of.site.calls
    }

    fn changed(&self, program: &Prog, path: &[Step]) -> Prog {
        match (program, path.split_first()) {
            (Prog::Call(call), None) if self.is_here(call) => match &self.of.change {
                Change::Call(change) => self.noted(call, change(&self.world, self.thread, call)),
                Change::Swap(_) => program.clone(),
            },
            (Prog::Let(first, f), Some((Step::First, rest))) => match (&**first, &self.of.change) {
                (Prog::Call(call), Change::Swap(results)) if rest.is_empty() && self.is_here(call) => {
                    self.swapped(call, f, results).unwrap_or_else(|| program.clone())
                }
                _ => Prog::Let(Arc::new(self.changed(first, rest)), Arc::clone(f)),
            },
            (Prog::Let(first, f), Some((Step::Then, rest))) => {
                let (f, rest, here) = (Arc::clone(f), rest.to_vec(), self.clone());
                Prog::Let(Arc::clone(first), Arc::new(move |v| here.changed(&f(v), &rest)))
            }
            (Prog::Loop(body), Some((Step::Round, rest))) => Prog::Loop(Arc::new(self.changed(body, rest))),
            _ => program.clone(),
        }
    }

    /// The program in place of a call; that the two differ is noted.
    fn noted(&self, call: &Call, program: Prog) -> Prog {
        if !matches!(&program, Prog::Call(same) if same == call) {
            self.of.differs.store(true, Ordering::Relaxed);
        }
        program
    }

    /// What follows a call, if that is a call and the same whatever the first one returns, and then the call.
    fn swapped(&self, call: &Call, f: &Continuation, results: &[Val]) -> Option<Prog> {
        let next = |v: Val| match f(v) {
            Prog::Call(next) => Some(next),
            Prog::Let(next, _) => {
                if let Prog::Call(next) = &*next {
                    Some(next.clone())
                } else {
                    None
                }
            }
            _ => None,
        };
        let second = next(*results.first()?)?;
        if results.iter().any(|v| next(*v).as_ref() != Some(&second)) {
            return None;
        }
        self.of.differs.store(true, Ordering::Relaxed);
        let (call, f) = (call.clone(), Arc::clone(f));
        Some(Prog::call(second).bind(move |w| {
            let f = Arc::clone(&f);
            Prog::call(call.clone()).bind(move |v| if let Prog::Let(_, g) = f(v) { g(w) } else { Prog::Val(w) })
        }))
    }
}
