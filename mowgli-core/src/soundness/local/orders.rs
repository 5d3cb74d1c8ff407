//! The executions that are left once every read has its source. The search decides orders, and then pairs of hb, one by
//! one until some g works for all that is left.

use itertools::Itertools;

use super::concretise::FEW;
use super::{Prover, Violation};
use crate::search::network::RelationId;
use crate::search::relation::Matrix;
use crate::search::solver::Solver;

impl Prover<'_> {
    /// Returns an open pair of an order between subevents in the image of g, because so' relates those.
    pub(super) fn pair_of_images(&self, solver: &Solver<'_>) -> Option<(RelationId, usize, usize)> {
        let g = self.images(solver);
        solver.open_pairs().into_iter().find(|(_, a, b)| g.contains(a) && g.contains(b))
    }

    /// Checks all executions that are left once every read has its source. It decides orders one by one where
    /// necessary. After the deadline it skips the rest, because [`super::check`] checks the deadline again.
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

    /// Checks one execution in which everything but hb is decided. Without hb in the specification, hb is fixed.
    /// Otherwise it is any larger strict partial order without a pair of `never`. `least` is `(ppo u so)+`.
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

    /// Returns a pair that hb neither contains nor excludes, between subevents in the image of g if there is one.
    fn next_in_hb(&self, solver: &Solver<'_>, never: &Matrix) -> Option<(usize, usize)> {
        let hb = solver.hb();
        let g = self.images(solver);
        let is_open = |&(a, b): &(usize, usize)| a != b && !hb.has(a, b) && !hb.has(b, a) && !never.has(a, b);
        let of_images = g.iter().copied().cartesian_product(g.iter().copied()).find(is_open);
        of_images.or_else(|| (0..hb.len()).cartesian_product(0..hb.len()).find(is_open))
    }
}
