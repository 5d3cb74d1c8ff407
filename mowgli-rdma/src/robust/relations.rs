//! The conditions for robustness in the algebra, over the specification of RDMA-TSO, for proofs about all programs. A
//! test compares them with `conditions`, which computes them for one program.

use mowgli_core::algebra::{CELL, Rel, Set, Spec, po, reads, rel, stamps, writes};

use super::conditions::Cpu;
use crate::stamp::RdmaStamp::{self, aNLR, aNLW, aNRR, aNRW, aRF};
use crate::{sc, stamp, tso, wait};

/// The specification of RDMA-TSO with the relations that define robustness.
pub struct Relations {
    /// The specification.
    pub spec: Spec,
    /// Reads-from.
    pub rf: Rel,
    /// Modification order.
    pub mo: Rel,
    /// Reads-before.
    pub rb: Rel,
    /// Program order, with the read of an operation before its write (ROBUST Def. 2).
    pub po: Rel,
    /// `po u rf u rb u mo` (Def. 5).
    pub sc: Rel,
    /// Two accesses of a cell, one of which writes (Def. 7, without the thread).
    pub conflict: Rel,
    iso: Rel,
    pf: Rel,
}

impl Default for Relations {
    fn default() -> Self {
        let pf = tso::pf().named("pf", "{b} polls {a}");
        let spec = tso::polling(&pf);
        let part = |name: &str| spec.part(name).expect("a part of so").clone();
        let (rf, mo, rb, iso) = (spec.chosen("rf").expect("a choice"), part("mo"), part("rb"), part("iso"));
        let po = (po() | &iso).named("program.order", "{a} stands before {b} in its thread");
        let sc = (&po | &rf | &mo | &rb).named("sc", "{a} before {b}");
        let conflict = rel!(same(CELL) & (writes * (reads | writes) | (reads | writes) * writes));
        let conflict = conflict.named("conflict", "{a} and {b} meet");
        Self { rf, mo, rb, po, sc, conflict, iso, pf, spec }
    }
}

/// Returns the set of the stamps in one row of the table.
fn family(of: RdmaStamp) -> Set {
    stamps(move |a: RdmaStamp| a.row() == of.row())
}

/// Returns the stamp order of the papers for this CPU.
#[must_use]
pub fn order(cpu: Cpu) -> fn(RdmaStamp, RdmaStamp) -> bool {
    match cpu {
        Cpu::Sc => sc::to,
        Cpu::Tso => stamp::to,
    }
}

impl Relations {
    /// Returns the program order that a stamp order preserves, for the table of the papers, whatever the switches of
    /// the model.
    fn preserved(to: fn(RdmaStamp, RdmaStamp) -> bool) -> Rel {
        use mowgli_core::stamp::StampKind as _;
        let (one, two) = (RdmaStamp::all(1), |a: RdmaStamp| a.renamed(&|_| mowgli_core::ids::Node(2)));
        let sqp = rel!(po & same(wait::QUEUE_PAIR));
        let rows = one.iter().flat_map(|&row| {
            let columns = |is: &dyn Fn(RdmaStamp) -> bool| {
                let of = one.iter().filter(|c| is(**c)).map(|c| family(*c));
                of.reduce(|all, one| all | one)
            };
            let always = columns(&|c| to(row, c) && to(row, two(c)));
            let nearby = columns(&|c| to(row, c) && !to(row, two(c)));
            let always = always.map(|columns| po().between(&family(row), &columns));
            let nearby = nearby.map(|columns| sqp.between(&family(row), &columns));
            always.into_iter().chain(nearby)
        });
        rows.reduce(|all, row| all | row).expect("a row")
    }

    /// Returns the parts of `gb_base` (Defs. 6 and 12), each with its name.
    #[must_use]
    pub fn gb_base(&self, cpu: Cpu) -> Vec<(&'static str, Rel)> {
        let (iso, pf) = (&self.iso, &self.pf);
        let sqp = rel!(po & same(wait::QUEUE_PAIR));
        let parts = [
            ("oppo", Self::preserved(order(cpu)) | iso),
            ("a put that is polled, from its source", rel!([aNLR]; iso; [aNRW]; pf)),
            ("a put before a get that is polled", rel!([aNRW]; sqp; [aNLW]; pf)),
            ("a get that is polled, from its source", rel!([aNRR]; iso; [aNLW]; pf)),
            ("a get before a remote fence, from its source", rel!([aNRR]; sqp; [aRF]; sqp)),
            ("a get that is polled", rel!([aNLW]; pf)),
            ("a get before a remote fence and a put", rel!([aNLW]; sqp; [aRF]; ([aRF]; sqp; [aNLR | aNRW]))),
        ];
        parts.map(|(name, rel)| (name, rel.named("gb", "{a} is over before {b}"))).to_vec()
    }

    /// Computes guaranteed-before from its parts.
    ///
    /// # Panics
    /// If `base` is empty.
    #[must_use]
    pub fn gb(base: &[(&'static str, Rel)]) -> Rel {
        base.iter().map(|(_, part)| part.clone()).reduce(|all, part| all | part).expect("seven parts").plus()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mowgli_core::execution::{Execution, Pairs};
    use mowgli_core::judge::Reading;
    use mowgli_core::search::problem::Problem;
    use mowgli_core::search::solver::Flow;
    use mowgli_core::search::witness::completions;
    use mowgli_core::soundness::client::clients;
    use mowgli_core::term::bound::Bound;

    use super::*;
    use crate::robust::conditions::{PartPosition, PreExecution};
    use crate::switches::Switches;
    use crate::tso::{PollClients, TSO};

    /// Returns the place of a subevent: thread, call, part.
    fn place(execution: &Execution, s: usize) -> PartPosition {
        let event = execution.subs[s].event;
        let first = execution.subs.iter().position(|o| o.event == event).expect("itself");
        let thread = execution.events[event].thread;
        let call = execution.of_thread(thread).position(|e| e == event).expect("itself");
        (thread.index(), call, s - first)
    }

    #[test]
    fn gb_in_the_algebra_is_that_of_programs() {
        gb_is_that_of_each(19, 6);
    }

    #[test]
    #[ignore = "takes ten seconds"]
    fn gb_in_the_algebra_is_that_of_more_programs() {
        gb_is_that_of_each(7, 7);
    }

    /// Compares both on each of `step` programs, in which at least so many parts of gb are not empty.
    fn gb_is_that_of_each(step: usize, parts: usize) {
        let libraries = tso::switched(Switches::OFF);
        let relations = Relations::default();
        let bound = Bound { threads: 1, nodes: 2, calls: 4, total: Some(4), ..Bound::default() };
        let all = clients(&PollClients { rmw: false }, &bound, &|| false).expect("no limit");
        let mut seen = BTreeSet::new();
        for (world, client) in all.iter().step_by(step) {
            let Some(program) = PreExecution::new(world, &client.threads) else { continue };
            let programs = client.programs();
            let problem = Problem::of(&libraries, world, &programs);
            let _ = problem.explore(&mut |solver| {
                completions(solver, &mut |execution| {
                    // The text of a program does not determine whether a CAS fails.
                    if execution.events.iter().any(|e| e.call.method.text() == "CAS") {
                        return Flow::Stop;
                    }
                    let reading = Reading::new(&libraries, &execution, TSO);
                    for cpu in [Cpu::Sc, Cpu::Tso] {
                        let base = relations.gb_base(cpu);
                        let pairs: Pairs = reading.pairs(&Relations::gb(&base));
                        let found: BTreeSet<(PartPosition, PartPosition)> =
                            pairs.iter().map(|&(a, b)| (place(&execution, a), place(&execution, b))).collect();
                        let expected: BTreeSet<(PartPosition, PartPosition)> =
                            program.gb_by_place(cpu).into_iter().collect();
                        assert_eq!(found, expected, "{:?}", client.threads);
                        seen.extend(
                            base.iter().filter(|(_, part)| !reading.pairs(part).is_empty()).map(|(name, _)| *name),
                        );
                    }
                    Flow::Stop
                })
            });
        }
        assert!(seen.len() >= parts, "parts that were there: {seen:?}");
    }
}
