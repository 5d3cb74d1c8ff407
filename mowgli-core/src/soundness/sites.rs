//! The operations of an implementation, one by one: where each stands.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use itertools::Itertools;

use crate::event::{Call, Cell};
use crate::ids::{Loc, Name, Tid};
use crate::implementation::Implementation;
use crate::library::Libraries;
use crate::program::Prog;
use crate::value::Val;
use crate::world::World;

/// Where a part of a program is in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Child {
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
    pub(crate) path: Vec<Child>,
    /// The library that is called there.
    pub library: Name,
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

/// How deep in a body a call is looked for: a body that goes on for longer is one that never ends.
const DEEPEST: usize = 100;

/// A call that a body can make.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Made {
    /// Where in the body.
    pub path: Vec<Child>,
    /// The call.
    pub call: Call,
    /// The call that comes before it in the run; none at the beginning.
    pub last: Option<(Vec<Child>, Call)>,
}

/// What a body can do.
#[derive(Clone, Default)]
pub(crate) struct OfBody {
    /// The calls that it can make.
    pub made: BTreeSet<Made>,
    /// Those after which it can end.
    pub ends: BTreeSet<(Vec<Child>, Call)>,
}

/// The sites of an implementation, in the order of its bodies, found by following the results that calls could have in
/// these worlds: small numbers, and what the bodies themselves write to the same place, as long as that leads further.
#[must_use]
pub fn sites(implementation: &dyn Implementation, below: &Libraries, calls: &[(World, Tid, Call)]) -> Vec<Site> {
    let of_body = |((_, _, own), body): (&(World, Tid, Call), OfBody)| {
        let method = own.method;
        body.made.into_iter().map(move |Made { path, call, .. }| (method, path, [call.library, call.method]))
    };
    let found: BTreeSet<(Name, Vec<Child>, [Name; 2])> =
        calls.iter().zip(bodies(implementation, below, calls)).flat_map(of_body).collect();
    let site = |(method, path, [library, calls]): (Name, Vec<Child>, [Name; 2])| Site {
        method,
        path,
        library,
        calls,
        nth: 0,
        alone: false,
    };
    let all: Vec<Site> = found.into_iter().map(site).collect();
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

/// What each of these bodies can do.
pub(crate) fn bodies(
    implementation: &dyn Implementation,
    below: &Libraries,
    calls: &[(World, Tid, Call)],
) -> Vec<OfBody> {
    let mut sites: BTreeSet<(Name, Vec<Child>, [Name; 2])> = BTreeSet::new();
    // What is written in one world may make no sense in another, as the number of a thread.
    let worlds: Vec<_> = calls.chunk_by(|(a, ..), (b, ..)| a.threads == b.threads && a.nodes == b.nodes).collect();
    let mut written = vec![BTreeMap::new(); worlds.len()];
    loop {
        let before = sites.len();
        let mut all = Vec::new();
        for (calls, written) in worlds.iter().zip(&mut written) {
            for (world, thread, call) in *calls {
                let mut found = OfBody::default();
                let (thread, last) = (*thread, None);
                let mut walk = Walk { below, world, thread, left: STEPS, last, found: &mut found, written };
                walk.run(&implementation.body(world, thread, call), &mut Vec::new(), &mut |walk, _| {
                    walk.found.ends.extend(walk.last.clone());
                });
                sites.extend(found.made.iter().map(|m| (call.method, m.path.clone(), [m.call.library, m.call.method])));
                all.push(found);
            }
        }
        if sites.len() == before {
            return all;
        }
    }
}

struct Walk<'a> {
    below: &'a Libraries,
    world: &'a World,
    thread: Tid,
    left: usize,
    /// The call that was made last.
    last: Option<(Vec<Child>, Call)>,
    found: &'a mut OfBody,
    /// The values that calls with an object at a location have as arguments.
    written: &'a mut BTreeMap<Loc, BTreeSet<Val>>,
}

type Next<'k, 'a> = &'k mut dyn FnMut(&mut Walk<'a>, Val);

impl<'a> Walk<'a> {
    /// Goes through a program with every result that its calls could have; a loop is passed once, and left.
    fn run(&mut self, program: &Prog, path: &mut Vec<Child>, next: Next<'_, 'a>) {
        if self.left == 0 || path.len() == DEEPEST {
            return;
        }
        self.left -= 1;
        match program {
            Prog::Val(v) | Prog::Break(_, v) => next(self, *v),
            Prog::Call(call) => {
                let made = Made { path: path.clone(), call: Call::clone(call), last: self.last.clone() };
                self.found.made.insert(made);
                let Some(library) = self.below.get(call.library) else { return };
                if library.fault(self.world, self.thread, call).is_some() {
                    return;
                }
                let values = call.args.iter().copied().filter(|v| v.is_data());
                for x in library.loc(call) {
                    self.written.entry(x).or_default().extend(values.clone());
                }
                let cells = |cell: Cell| {
                    let init = self.world.objects.get(&cell.loc).map_or(Val::Int(0), |o| o.init);
                    let written = self.written.get(&cell.loc).into_iter().flatten().copied();
                    [init].into_iter().chain((0..=2).map(Val::Int)).chain(written).unique().collect()
                };
                for result in library.returns(self.world, &[], self.thread, call, &cells) {
                    self.last = Some((path.clone(), Call::clone(call)));
                    next(self, result);
                }
            }
            Prog::Let(both) => {
                path.push(Child::First);
                let mut after = path.clone();
                *after.last_mut().expect("just pushed") = Child::Then;
                self.run(&both.first, path, &mut |walk, v| walk.run(&(both.then)(v), &mut after.clone(), next));
                path.pop();
            }
            Prog::Bound => {}
            Prog::Loop(body) => {
                path.push(Child::Round);
                self.run(body, path, next);
                path.pop();
            }
        }
    }
}
