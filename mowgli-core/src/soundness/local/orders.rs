//! The executions that are left once every read has its source: orders, and then pairs of hb, are decided one by one where
//! no g works for all that is left.

use itertools::Itertools;

use super::concretise::FEW;
use super::{Prover, Violation};
use crate::relation::Matrix;
use crate::search::network::Id;
use crate::search::solver::Solver;

impl Prover<'_> {
    /// A pair of an order that is open, between subevents that stand for others, as so' is about those.
    pub(super) fn pair_of_images(&self, solver: &Solver<'_>) -> Option<(Id, usize, usize)> {
        let g = self.images(solver);
        solver.open_pairs().into_iter().find(|(_, a, b)| g.contains(a) && g.contains(b))
    }

    /// All executions that are left once every read has its source: decides orders one by one where that is needed. When
    /// the time is up what is left is not looked at; [`super::check`] asks the clock.
    pub(super) fn class(&mut self, solver: &mut Solver<'_>) -> Result<(), Box<Violation>> {
        let open = self.pair_of_images(solver).or_else(|| solver.open_pairs().first().copied());
        let Some((raw, a, b)) = open else {
            let (least, never) = (solver.hb(), Matrix::empty(solver.graph.len()));
            return self.larger(solver, &least, never);
        };
        if self.prove(solver, None, FEW).is_ok() || (self.expired)() {
            return Ok(());
        }
        for (a, b) in [(a, b), (b, a)] {
            let snapshot = solver.snapshot();
            solver.order(raw, a, b);
            let result = if solver.propagate() { self.class(solver) } else { Ok(()) };
            solver.restore(snapshot);
            result?;
        }
        Ok(())
    }

    /// One execution, everything but hb decided: hb is what holds so far, or for a specification that mentions it any
    /// larger strict partial order without a pair of `never`. `least` is `(ppo u so)+`.
    fn larger(&mut self, solver: &mut Solver<'_>, least: &Matrix, mut never: Matrix) -> Result<(), Box<Violation>> {
        let Err(reason) = self.prove(solver, Some(&never), usize::MAX) else { return Ok(()) };
        if (self.expired)() {
            return Ok(());
        }
        let Some((a, b)) = self.next_in_hb(solver, &never).filter(|_| self.sees_hb) else {
            let execution = solver.execution().expect("everything is decided");
            let beyond = solver.hb().minus(least).pairs().collect();
            return Err(Box::new(Violation { execution, beyond, reason }));
        };
        let snapshot = solver.snapshot();
        solver.demand(a, b);
        let possible = solver.propagate() && solver.hb().and(&never).is_empty();
        let result = if possible { self.larger(solver, least, never.clone()) } else { Ok(()) };
        solver.restore(snapshot);
        result?;
        never.set(a, b);
        self.larger(solver, least, never)
    }

    /// A pair that hb neither contains nor excludes: between subevents that stand for others, if there is one.
    fn next_in_hb(&self, solver: &Solver<'_>, never: &Matrix) -> Option<(usize, usize)> {
        let hb = solver.hb();
        let g = self.images(solver);
        let is_open = |&(a, b): &(usize, usize)| a != b && !hb.has(a, b) && !hb.has(b, a) && !never.has(a, b);
        let of_images = g.iter().copied().cartesian_product(g.iter().copied()).find(is_open);
        of_images.or_else(|| (0..hb.len()).cartesian_product(0..hb.len()).find(is_open))
    }
}
