//! Executions in which two threads, two nodes or two integers have changed places, or two integers are one.
//!
//! **Computes** the image of an execution under an exchange. The shapes of its events are those that the libraries give to
//! the exchanged events: the ones with the same subevents up to their cells. Of subevents with one stamp, each takes the one at
//! its own cell. **Example**: T1 calls `write(x, 1)`, and T2 `read(x) = 1`. If the threads change places, T1 reads and T2
//! writes. **Cost**: the shapes of each event once.

use itertools::Itertools;
use mowgli_core::event::{Call, Cell, Event, Reads, Sub, Writes};
use mowgli_core::execution::{Chosen, Execution, Subevent};
use mowgli_core::ids::{Node, Tid};
use mowgli_core::library::Libraries;
use mowgli_core::value::Val;
use mowgli_core::world::{Crashes, Object, World};

/// Two names or integers that change places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exchange {
    /// Two threads.
    Threads(Tid, Tid),
    /// Two nodes.
    Nodes(Node, Node),
    /// Two integers.
    Integers(i64, i64),
    /// The first integer takes the place of the second one, too. This is no exchange, and other definitions allow it.
    Merged(i64, i64),
}

/// Returns the other one of two, or a third one itself.
fn other<T: PartialEq>(x: T, a: T, b: T) -> T {
    if x == a {
        b
    } else if x == b {
        a
    } else {
        x
    }
}

impl Exchange {
    fn thread(self, t: Tid) -> Tid {
        if let Self::Threads(a, b) = self { other(t, a, b) } else { t }
    }

    fn node(self, n: Node) -> Node {
        if let Self::Nodes(a, b) = self { other(n, a, b) } else { n }
    }

    fn value(self, v: Val) -> Val {
        v.image(&|part| match (self, part) {
            (Self::Integers(a, b), Val::Int(i)) => Val::Int(other(i, a, b)),
            (Self::Merged(a, b), Val::Int(i)) => Val::Int(if i == b { a } else { i }),
            (_, Val::Node(n)) => Val::Node(self.node(n)),
            (_, Val::Nodes(ns)) => Val::Nodes(ns.iter().map(|n| self.node(n)).collect()),
            (_, Val::Thread(t)) => Val::Thread(self.thread(t)),
            (_, v) => v,
        })
    }

    pub(crate) fn call(self, call: &Call) -> Call {
        Call { args: call.args.iter().map(|&v| self.value(v)).collect(), ..call.clone() }
    }

    pub(crate) fn event(self, event: &Event) -> Event {
        Event { thread: self.thread(event.thread), call: self.call(&event.call), ret: self.value(event.ret) }
    }

    /// The members of an object keep their places, since these may have a meaning.
    fn object(self, object: &Object) -> Object {
        Object {
            node: object.node.map(|n| self.node(n)),
            init: self.value(object.init),
            members: object.members.iter().map(|&t| self.thread(t)).collect(),
            ..object.clone()
        }
    }

    pub(crate) fn world(self, world: &World) -> World {
        World {
            nodes: world.nodes,
            threads: world.tids().map(|t| self.node(world.node_of(self.thread(t)))).collect(),
            objects: world.objects.iter().map(|(&x, object)| (x, self.object(object))).collect(),
            crashes: Crashes {
                threads: world.crashes.threads.iter().map(|&t| self.thread(t)).collect(),
                nodes: world.crashes.nodes.iter().map(|n| self.node(n)).collect(),
            },
        }
    }

    /// Returns the exchanged execution, or the event whose image does not have the same subevents.
    pub(crate) fn execution(self, libraries: &Libraries, execution: &Execution) -> Result<Execution, Box<Event>> {
        let world = self.world(&execution.world);
        // Exchanged threads change places, and each keeps its order.
        let order =
            (0..execution.events.len()).sorted_by_key(|&e| self.thread(execution.events[e].thread)).collect_vec();
        let (mut events, mut subs, mut place) = (Vec::new(), Vec::new(), vec![0; execution.subs.len()]);
        for &old in &order {
            let event = self.event(&execution.events[old]);
            let own = (0..execution.subs.len()).filter(|&s| execution.subs[s].event == old).collect_vec();
            let shape = own.iter().map(|&s| execution.subs[s].sub).collect_vec();
            let ways = libraries.of(&event.call).shapes(&world, &event);
            let image = ways.iter().find_map(|way| Some((way, self.places(&shape, way)?)));
            let Some((way, places)) = image else { return Err(Box::new(event)) };
            own.iter().zip(&places).for_each(|(&s, at)| place[s] = subs.len() + at);
            let back = |at: usize| own[places.iter().position(|p| *p == at).expect("one place for each")];
            subs.extend(way.iter().enumerate().map(|(at, &sub)| {
                let was = &execution.subs[back(at)];
                let [read, wrote] = [was.read, was.wrote].map(|v| v.map(|v| self.value(v)));
                Subevent { event: events.len(), sub, read, wrote }
            }));
            events.push(event);
        }
        let pairs = |chosen: &Chosen| chosen.pairs.iter().map(|&(a, b)| (place[a], place[b])).sorted().collect();
        let chosen = execution.chosen.iter().map(|c| Chosen { pairs: pairs(c), ..c.clone() }).collect();
        let groups = vec![None; events.len()];
        Ok(Execution { world, events, subs, chosen, outputs: Vec::new(), calls: Vec::new(), groups })
    }

    /// Returns the place of each subevent of a shape in the exchanged shape; `None` if these are not the same subevents.
    fn places(self, shape: &[Sub], image: &[Sub]) -> Option<Vec<usize>> {
        let mut places = Vec::with_capacity(shape.len());
        for sub in shape {
            let stamp = sub.stamp.renamed(&|n| self.node(n));
            let is_free = |at: &usize| image[*at].stamp == stamp && !places.contains(at);
            let cell = sub.cell.map(|cell| Cell { node: self.node(cell.node), ..cell });
            let of_cell = (0..image.len()).find(|at| is_free(at) && image[*at].cell == cell);
            places.push(of_cell.or_else(|| (0..image.len()).find(is_free))?);
        }
        let same = |(sub, &at): (&Sub, &usize)| {
            let reads = sub.reads.map(|reads| match reads {
                Reads::Is(v) => Reads::Is(self.value(v)),
                Reads::IsNot(v) => Reads::IsNot(self.value(v)),
                Reads::Any => Reads::Any,
            });
            let writes = sub.writes.map(|writes| match writes {
                Writes::Is(v) => Writes::Is(self.value(v)),
                Writes::Copy(from) => Writes::Copy(places[from]),
                Writes::Step(from) => Writes::Step(places[from]),
            });
            let to = &image[at];
            sub.cell.is_some() == to.cell.is_some() && reads == to.reads && writes == to.writes
        };
        (shape.len() == image.len() && shape.iter().zip(&places).all(same)).then_some(places)
    }
}
