//! Automorphisms of a program: permutations of its threads that map it to itself.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::event::Event;
use crate::ids::Tid;
use crate::value::Val;

/// A permutation of the threads of a program, with the integers, nodes and locations that it carries along. The image of
/// each execution is an execution of the same program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Automorphism {
    /// The image of each thread.
    pub threads: Vec<Tid>,
    /// The images of values. Integers without one stay.
    pub names: BTreeMap<Val, Val>,
}

impl Automorphism {
    /// Returns the image of a value; `None` if it contains a name without an image.
    #[must_use]
    pub fn image(&self, v: Val) -> Option<Val> {
        let is_known = Cell::new(true);
        let named = |part: Val| {
            let image = self.names.get(&part).copied();
            is_known.set(is_known.get() && image.is_some());
            image.unwrap_or(part)
        };
        let image = v.image(&|part| match part {
            Val::Unit | Val::Bool(_) | Val::Bot | Val::Top | Val::NoWid | Val::Way(_) => part,
            Val::Int(_) => *self.names.get(&part).unwrap_or(&part),
            Val::Thread(t) => Val::Thread(self.threads[t.index()]),
            Val::Nodes(nodes) => {
                let images = nodes.iter().map(|n| named(n.into()));
                Val::Nodes(images.filter_map(|n| if let Val::Node(n) = n { Some(n) } else { None }).collect())
            }
            Val::Loc(_) | Val::Node(_) | Val::Wid(_) | Val::Tuple(_) => named(part),
        });
        is_known.get().then_some(image)
    }

    /// Returns the thread whose image is this one.
    #[must_use]
    pub fn back(&self, thread: usize) -> usize {
        self.threads.iter().position(|t| t.index() == thread).expect("a permutation")
    }

    /// True if the second run of events has the methods of the first one, and the images of its results.
    #[must_use]
    pub fn maps(&self, events: &[Event], to: &[Event]) -> bool {
        let is_image = |(a, b): (&Event, &Event)| {
            (a.call.library, a.call.method) == (b.call.library, b.call.method) && self.image(a.ret) == Some(b.ret)
        };
        events.len() == to.len() && events.iter().zip(to).all(is_image)
    }
}
