//! Iterations that nothing reads: whether the search may leave out all states in which an iteration has ended.
//!
//! **Computes** whether a call outside an iteration may read what the iteration writes. The search explores no state with an
//! ended iteration. It collects these iterations, and the paths to all other states. In the end it inserts each iteration
//! into the paths on which its thread came to it. Where some thread stands at a call that reads a cell of the iteration, it asks
//! whether the call may read from the iteration.
//!
//! **Example.** A push onto the stack of Treiber that fails has written the next word of its node. Another thread reads this
//! word after it has read the head, which the later, successful iteration has written. This iteration writes the word first.
//! So inserted between the two, the write of the failed iteration is not what the other thread reads.
//!
//! **Correct because** an execution in which some iteration is read has a beginning in which it is read for the first time.
//! Without the iteration and this read, the search follows that beginning (docs/search.md, "Loops"). If some answer is yes,
//! it begins again, and explores states with iterations. The test is `on_swaps` in `tests/tests/flow.rs`.
//!
//! **Cost.** The path to each state, and some steps of a [`Prefix`](crate::search::prefix::Prefix) for each insertion.

use std::cell::Cell as StdCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::ended::{EndedIteration, EndedIterations, PATHS};
use super::{Explorer, Positions};
use crate::event::Cell;
use crate::ids::Tid;
use crate::search::prefix::{Advance, StatePath, Ways, Window};
use crate::search::runs::Stop;
use crate::search::thread::{Frontier, ThreadState};
use crate::value::Val;

/// An iteration that is inserted into paths.
struct InsertedIteration<'i, 'n> {
    iteration: &'i EndedIteration<'n>,
    writes: Vec<(Cell, Val)>,
    /// The steps of its thread after the insertion, by the addresses of those before. So paths share them.
    steps: FxHashMap<*const Advance<'n>, Rc<Advance<'n>>>,
}

impl InsertedIteration<'_, '_> {
    fn writes(&self, cell: Cell) -> bool {
        self.writes.iter().any(|(of, _)| *of == cell)
    }
}

/// Returns the state of a thread at the end of a path.
fn last<'n>(path: &[Rc<Advance<'n>>], thread: usize) -> &'n ThreadState<'n> {
    path.iter().rev().find(|step| step.thread == thread).expect("each thread has a first state").point
}

impl<'n> Explorer<'_, '_, 'n> {
    /// Notes the cells that the last step of the path reads aside.
    pub(super) fn note_reads(&mut self) {
        let Some((step, before)) = self.path.split_last().filter(|_| self.ended.are_left_out) else { return };
        let is_first = before.len() < self.starts.len();
        let done = if is_first { 0 } else { last(before, step.thread).run().shapes.len() };
        for (event, shape) in step.point.run().shapes.iter().enumerate().skip(done) {
            let reads = shape.iter().enumerate().filter(|(_, sub)| sub.reads.is_some());
            let is_single = event == done && reads.clone().count() == 1;
            let is_result = is_single && (step.window.is_some() || step.ways.read.is_some());
            self.ended.read_aside.extend(reads.filter(|_| !is_result).filter_map(|(_, sub)| sub.cell));
        }
    }

    /// True if the search leaves out a state and all states after it, because an iteration has ended in it. A step ends one iteration at
    /// most. The next one reads something in another step, or else it is like the first one, and the thread is at the bound.
    pub(super) fn leaves_out(&mut self, state: &Positions<'n>) -> bool {
        if !self.ended.are_left_out {
            return false;
        }
        let of_thread =
            |(t, point): (usize, &'n ThreadState<'n>)| point.run().trace.rounds.iter().map(move |&r| (t, r, point));
        let mut rounds = state.iter().map(|place| place.point).enumerate().flat_map(of_thread);
        let Some((thread, events, to)) = rounds.next() else {
            self.ended.paths.push(self.path.clone());
            // As long as no iteration has ended, nothing is left out.
            if self.ended.is_empty() && self.ended.paths.len() > PATHS {
                self.ended = EndedIterations::new(false);
            }
            return false;
        };
        if self.ended.add(EndedIteration { thread, events, from: self.start_of(thread, events.0), to }) {
            self.add_images_of_iteration(self.ended.all.len() - 1);
        }
        true
    }

    /// Returns the first state of a thread on the path with so many events.
    fn start_of(&self, thread: usize, events: usize) -> &'n ThreadState<'n> {
        let mut steps = self.path.iter().filter(|step| step.thread == thread);
        steps.find(|step| step.point.run().shapes.len() >= events).expect("the thread has more events").point
    }

    /// Adds the images of an iteration. Another beginning may come before the one in which an image ends.
    fn add_images_of_iteration(&mut self, iteration: usize) {
        let EndedIteration { thread, events, from, to } = self.ended.all[iteration];
        for a in self.automorphisms {
            match (self.image(a, thread, from), self.image(a, thread, to)) {
                (Some(from), Some(to)) => {
                    _ = self.ended.add(EndedIteration { thread: a.threads[thread].index(), events, from, to })
                }
                _ => self.lacks_images = true,
            }
        }
    }

    /// True if the search must begin again and explore states with iterations, as far as is known before it ends.
    pub(super) fn must_explore_iterations(&self) -> bool {
        let EndedIterations { are_left_out, all, paths, .. } = &self.ended;
        *are_left_out && !all.is_empty() && (self.reads_rounds || paths.len() > PATHS)
    }

    /// True if the search must begin again, and now explore states with iterations.
    pub(super) fn begins_to_explore_iterations(&mut self) -> bool {
        let begins = self.must_explore_iterations() || self.is_iteration_read();
        if begins && (self.problem.limits.expired)() {
            self.stop = Some(Stop::Time);
            return false;
        }
        self.ended.are_left_out &= !begins;
        begins
    }

    /// True if something may read an iteration that was left out, or if there is no time to find out.
    fn is_iteration_read(&self) -> bool {
        let EndedIterations { all, paths, read_aside, .. } = &self.ended;
        let mut places: FxHashMap<usize, Vec<(&StatePath<'n>, usize)>> =
            all.iter().map(|i| (i.from.id, Vec::new())).collect();
        for path in paths.iter().filter(|_| !all.is_empty()) {
            for (place, step) in path.iter().enumerate() {
                places.entry(step.point.id).and_modify(|of| of.push((path, place)));
            }
        }
        all.iter().any(|iteration| {
            let Some(writes) = iteration.writes() else { return true };
            let mut insertion = InsertedIteration { iteration, writes, steps: FxHashMap::default() };
            (self.problem.limits.expired)()
                || read_aside.iter().any(|&cell| insertion.writes(cell))
                || places[&iteration.from.id]
                    .iter()
                    .any(|(path, place)| self.is_read_after(path, *place, &mut insertion))
        })
    }

    /// True if some thread that stands at a call after this path may read the iteration, which is inserted at this place. It
    /// skips a call at which the thread stood on a shorter path, if the thread of the iteration had come to it there.
    fn is_read_after(&self, path: &StatePath<'n>, place: usize, insertion: &mut InsertedIteration<'_, 'n>) -> bool {
        let is_new = place + 1 == path.len() || path.len() == self.starts.len();
        let newest = path[path.len() - 1].thread;
        let at_call = self.ended.at_call.borrow();
        (0..self.starts.len()).filter(|&reader| is_new || reader == newest).any(|reader| {
            let Some(cells) = at_call.get(&last(path, reader).id) else { return false };
            let is_met = cells.iter().any(|&cell| insertion.writes(cell));
            is_met && (cells.len() > 1 || self.may_read(path, place, reader, insertion))
        })
    }

    /// True if the call at which a thread stands may read the iteration, which is inserted at this place of a path.
    fn may_read(
        &self,
        path: &StatePath<'n>,
        place: usize,
        reader: usize,
        insertion: &mut InsertedIteration<'_, 'n>,
    ) -> bool {
        let mut path = self.with_iteration(path, place, insertion);
        let (thread, point, now) = (Tid::from_index(reader), last(&path, reader), path[path.len() - 1].now);
        let Frontier::Reads(call) = &point.frontier else { return true };
        let looks_aside = StdCell::new(false);
        let written = |cell: Cell| {
            looks_aside.set(looks_aside.get() || !insertion.writes(cell));
            insertion.writes.iter().filter(|(of, _)| *of == cell).map(|(_, v)| *v).collect()
        };
        let results = self.threads.returns(thread, point, &written);
        if looks_aside.get() {
            return true;
        }
        let cells = insertion.writes.iter().map(|(cell, _)| *cell).collect();
        let window = Window { cells, until: now, after: None };
        let shapes = |ret: Val| (0..self.threads.shapes(thread, call, ret).len()).map(move |shape| (ret, shape));
        results.into_iter().flat_map(shapes).any(|(ret, shape)| {
            let point = self.threads.after(point, thread, ret, shape);
            let (ways, window) = (Ways::one((ret, shape)), Some(window.clone()));
            path.push(Rc::new(Advance { thread: reader, point, ways, now: now + 1, window }));
            // A thread that waits for ever may read it in an iteration that only looks.
            let is_event = self.may_come_to(point) || self.wanted.has_waits();
            let is_read = is_event && self.is_read_on(&path, insertion.iteration);
            path.pop();
            is_read
        })
    }

    /// True if something may read an iteration on a path.
    fn is_read_on(&self, path: &StatePath<'n>, iteration: &EndedIteration<'n>) -> bool {
        let names = self.well_formed((0..self.starts.len()).map(|t| last(path, t)));
        let mut prefixes = self.prefixes.borrow_mut();
        let prefix = self.prefix(&mut prefixes, &names);
        match prefix.go_to(path) {
            Ok(is_possible) => is_possible && prefix.is_read(iteration.thread, iteration.events),
            Err(_) => true,
        }
    }

    /// Returns a path with the iteration at this place. Nothing later depends on the iteration, so its thread goes on in the same way.
    fn with_iteration(
        &self,
        path: &StatePath<'n>,
        place: usize,
        insertion: &mut InsertedIteration<'_, 'n>,
    ) -> StatePath<'n> {
        let EndedIteration { thread, to, .. } = *insertion.iteration;
        let (mut with, mut before) = (path[..place].to_vec(), None);
        for (at, step) in path.iter().enumerate().skip(place) {
            let known = insertion.steps.get(&Rc::as_ptr(step)).cloned();
            let new = known.unwrap_or_else(|| {
                // Paths that share a step agree up to it, so the thread is where it was after the step before.
                let point = match before.filter(|_| step.thread == thread) {
                    None if step.thread == thread => to,
                    None => step.point,
                    Some(before) => match step.ways.all.first() {
                        Some(&(ret, shape)) => self.threads.after(before, Tid::from_index(thread), ret, shape),
                        None if step.point.id == last(&path[..at], thread).id => before,
                        None => self.threads.beyond(before, Tid::from_index(thread)),
                    },
                };
                // A thread that has repeated an iteration once more comes to the bound sooner.
                let is_same = || point.frontier == step.point.frontier;
                let repeats = || matches!(step.point.frontier, Frontier::Repeats { .. });
                debug_assert!(is_same() || repeats(), "{thread} goes on in another way: {:?}", point.frontier);
                Rc::new(step.with(point))
            });
            if step.thread == thread {
                before = Some(new.point);
            }
            insertion.steps.insert(Rc::as_ptr(step), Rc::clone(&new));
            with.push(new);
        }
        with
    }
}
