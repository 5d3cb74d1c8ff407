//! What a thread no longer finds in a cell once it has written it.
//!
//! It is asked of the specification: by the beginning of an execution that has nothing but the thread's own writes of the
//! cell and the call that looks at it. Whatever is forbidden there is forbidden where there is more.

use std::collections::BTreeMap;

use crate::event::{Call, Cell, Event, Shape, Writes, alike};
use crate::few::Few;
use crate::ids::{Name, Tid};
use crate::search::prefix::{LoneEvent, Prefix, reads_of};
use crate::thread::{Frontier, ThreadState, Threads};
use crate::value::Val;

/// A thread's own writes of a cell, each with how many calls before it are alike; the call that looks at it; the value.
type Overwritten<'n> = (Vec<(&'n Event, usize)>, (&'n Call, usize), (Cell, Val));

/// A library, and the numbers of the points of all threads up to which its calls were examined.
pub type WellFormedAt = (Name, Few<usize>);

/// What is known of it.
#[derive(Default)]
pub struct Coherence<'p, 'n> {
    prefixes: BTreeMap<Name, Prefix<'p, 'n>>,
    known: BTreeMap<Overwritten<'n>, bool>,
    /// The same by the number of the point, because a thread comes to one point in many states.
    at_points: BTreeMap<(usize, Cell, Val), bool>,
    /// Whether the calls of a library are well-formed, by the points of all threads. The point of the asking thread comes last.
    heard: BTreeMap<WellFormedAt, bool>,
}

impl<'p, 'n> Coherence<'p, 'n> {
    /// Whether the call at which a thread stands does not return what a cell held, this value, before the thread's own last
    /// write of it. `others`: where the other threads are.
    pub fn is_gone(
        &mut self,
        threads: &Threads<'p, 'n>,
        (thread, point): (Tid, &'n ThreadState<'n>),
        others: &mut dyn Iterator<Item = &'n ThreadState<'n>>,
        (cell, v): (Cell, Val),
    ) -> bool {
        let Frontier::Looks(call) = &point.stand else { return false };
        let at_point = (point.id, cell, v);
        if self.at_points.get(&at_point) == Some(&false) || !self.is_heard(threads, point, others, call.library) {
            return false;
        }
        if let Some(&known) = self.at_points.get(&at_point) {
            return known;
        }
        let is_gone = self.is_gone_at(threads, (thread, point), call, (cell, v));
        self.at_points.insert(at_point, is_gone);
        is_gone
    }

    /// The questions about well-formed calls so far, for a comparison with another client.
    pub fn heard(&self) -> impl Iterator<Item = &WellFormedAt> {
        self.heard.keys()
    }

    /// The same where the specification says something.
    fn is_gone_at(
        &mut self,
        threads: &Threads<'p, 'n>,
        (thread, point): (Tid, &'n ThreadState<'n>),
        call: &'n Call,
        (cell, v): (Cell, Val),
    ) -> bool {
        let run = point.run();
        let is_write =
            |shape: &Shape| shape.iter().any(|s| s.cell == Some(cell) && matches!(s.writes, Some(Writes::Is(_))));
        let all = run.trace.events.iter().zip(&run.shapes).enumerate();
        let own: Vec<LoneEvent<'n>> = all
            .filter(|(_, (_, shape))| is_write(shape))
            .map(|(i, (event, shape))| LoneEvent { event, nth: point.alike[i], shape })
            .collect();
        let nth = alike(&run.trace.events, thread, call);
        let asked: Overwritten<'n> = (own.iter().map(|o| (o.event, o.nth)).collect(), (call, nth), (cell, v));
        if let Some(&known) = self.known.get(&asked) {
            return known;
        }
        let is_gone = self.is_forbidden(threads, (thread, point), own, (call, nth), (cell, v));
        self.known.insert(asked, is_gone);
        is_gone
    }

    /// Whether the specification of a library says something of its calls so far.
    fn is_heard(
        &mut self,
        threads: &Threads<'p, 'n>,
        point: &'n ThreadState<'n>,
        others: &mut dyn Iterator<Item = &'n ThreadState<'n>>,
        library: Name,
    ) -> bool {
        let points: Few<&'n ThreadState<'n>> = others.chain([point]).collect();
        let ids = points.iter().map(|p| p.id).collect();
        *self.heard.entry((library, ids)).or_insert_with(|| {
            let events = points.iter().flat_map(|p| &p.run().trace.events);
            let own: Vec<&Event> = events.filter(|e| e.call.library == library).collect();
            threads.libraries.get(library).is_some_and(|l| l.is_well_formed(threads.world, &own))
        })
    }

    fn is_forbidden(
        &mut self,
        threads: &Threads<'p, 'n>,
        (thread, point): (Tid, &'n ThreadState<'n>),
        mut own: Vec<LoneEvent<'n>>,
        (call, nth): (&'n Call, usize),
        (cell, v): (Cell, Val),
    ) -> bool {
        let library = call.library;
        if own.iter().any(|o| o.event.call.library != library) {
            return false;
        }
        let new = || Prefix::new(threads.libraries, threads.world, vec![library]);
        let prefix = self.prefixes.entry(library).or_insert_with(new);
        let looks_elsewhere = std::cell::Cell::new(false);
        let cells = |c: Cell| {
            looks_elsewhere.set(looks_elsewhere.get() || c != cell);
            vec![v]
        };
        let results = threads.returns(thread, point, &cells);
        if looks_elsewhere.get() {
            return false;
        }
        let ways = results.into_iter().flat_map(|ret| ways(threads, thread, call, ret).map(move |n| (ret, n)));
        ways.collect::<Vec<_>>().into_iter().all(|(ret, n)| {
            let run = threads.after(point, thread, ret, n).run();
            let position = point.run().shapes.len();
            let (event, shape) = (&run.trace.events[position], &run.shapes[position]);
            own.push(LoneEvent { event, nth, shape });
            let is_forbidden = reads_of(shape, &[cell]) == 1 && prefix.forbids_stale(&own, cell);
            own.pop();
            is_forbidden
        })
    }
}

/// The numbers of the ways in which a call can return `ret`.
fn ways(threads: &Threads<'_, '_>, thread: Tid, call: &Call, ret: Val) -> std::ops::Range<usize> {
    0..threads.shapes(thread, call, ret).len()
}
