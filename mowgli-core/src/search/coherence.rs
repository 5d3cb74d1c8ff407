//! Coherence pruning: the values of a cell that a thread's own last write of the cell hides from it.
//!
//! **Computes** whether the call at the frontier of a thread can return a value that the cell had before the thread's
//! last write of it.
//!
//! **Invariant.** Let [`Coherence::is_hidden`] hold for a thread state, a cell and a value. In an execution that begins with
//! the state, the call reads this value only from a write after the thread's last one. An answer depends only on
//! the thread's own writes of the cell, the call, the cell and the value. So it is cached for all states.
//!
//! **Example.** P1 is `write(x, 1); read(x)`, and `x` was 0. Let the read return 0, from the initial write. Then it is before
//! `write(x, 1)` in reads-before, and after it in program order. If the
//! specification forbids this cycle, 0 is hidden. A specification that allows a read to pass a write does not forbid it.
//!
//! **Correct because** the specification decides it, for a beginning of an execution with the thread's writes of the cell
//! and the call only. Each pair of a relation stays when events are added, so what is forbidden there is forbidden in
//! every larger execution (docs/search.md, "Coherence pruning"). A library promises nothing while its calls are not
//! well-formed, so the answer is no then. Test: `a_thread_reads_no_value_that_it_has_overwritten`.
//!
//! **Cost.** One propagation in a [`Prefix`] of a few subevents for each different question, and a look-up afterwards.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::event::{Call, Cell, Event, Shape, Writes, alike};
use crate::few::Few;
use crate::ids::{Name, Tid};
use crate::search::prefix::{LoneEvent, Prefix, reads_of};
use crate::search::thread::{Frontier, ThreadState, Threads};
use crate::value::Val;

/// A question: a thread's own writes of a cell, the call that reads the cell, the cell and the value. Each call has the
/// number of earlier calls of the thread that are alike.
type Overwritten<'n> = (Vec<(&'n Event, usize)>, (&'n Call, usize), (Cell, Val));

/// A library, and the numbers of the states of all threads up to which its calls were examined.
type WellFormedAt = (Name, Few<usize>);

/// The cache of the answers.
#[derive(Default)]
pub struct Coherence<'p, 'n> {
    prefixes: BTreeMap<Name, Prefix<'p, 'n>>,
    known: BTreeMap<Overwritten<'n>, bool>,
    /// The answers by the number of the thread state, because a thread is in one such state in many states of the search.
    at_points: FxHashMap<(usize, Cell, Val), bool>,
    /// Whether the calls of a library are well-formed, by the states of all threads. The state of the reading thread comes
    /// last.
    well_formed: FxHashMap<WellFormedAt, bool>,
}

impl<'p, 'n> Coherence<'p, 'n> {
    /// True if a thread has hidden this value of a cell from itself. The call at its frontier then cannot read it from a
    /// write before the thread's own last one. `others` are the states of the other threads.
    pub fn is_hidden(
        &mut self,
        threads: &Threads<'p, 'n>,
        (thread, point): (Tid, &'n ThreadState<'n>),
        others: &mut dyn Iterator<Item = &'n ThreadState<'n>>,
        (cell, v): (Cell, Val),
    ) -> bool {
        let Frontier::Reads(call) = &point.frontier else { return false };
        let at_point = (point.id, cell, v);
        if self.at_points.get(&at_point) == Some(&false)
            || !self.is_well_formed_now(threads, point, others, call.library)
        {
            return false;
        }
        if let Some(&known) = self.at_points.get(&at_point) {
            return known;
        }
        let is_hidden = self.is_hidden_at(threads, (thread, point), call, (cell, v));
        self.at_points.insert(at_point, is_hidden);
        is_hidden
    }

    /// The same for a library whose calls so far are well-formed, so that its specification applies.
    fn is_hidden_at(
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
        let is_hidden = self.is_forbidden(threads, (thread, point), own, (call, nth), (cell, v));
        self.known.insert(asked, is_hidden);
        is_hidden
    }

    /// True if the calls of a library so far are well-formed, so that its specification applies to them.
    fn is_well_formed_now(
        &mut self,
        threads: &Threads<'p, 'n>,
        point: &'n ThreadState<'n>,
        others: &mut dyn Iterator<Item = &'n ThreadState<'n>>,
        library: Name,
    ) -> bool {
        let points: Few<&'n ThreadState<'n>> = others.chain([point]).collect();
        let ids = points.iter().map(|p| p.id).collect();
        *self.well_formed.entry((library, ids)).or_insert_with(|| {
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
        let new = || Prefix::new(threads.libraries, threads.world, &[library]);
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
            let is_forbidden = reads_of(shape, &[cell]) == 1 && prefix.forbids_overwritten(&own, cell);
            own.pop();
            is_forbidden
        })
    }
}

/// Returns the numbers of the ways in which a call can return `ret`.
fn ways(threads: &Threads<'_, '_>, thread: Tid, call: &Call, ret: Val) -> std::ops::Range<usize> {
    0..threads.shapes(thread, call, ret).len()
}
