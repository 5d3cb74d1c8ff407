//! Races: accesses of one word that the memory model does not order, one of which is plain.
//!
//! **Computes**: from the conflicting accesses that the machine has seen, those with a plain access of the CPU. Accesses of
//! a card, atomic accesses and volatile ones are not plain.
//!
//! **Correct because**: the machine reports all accesses that hb does not order (see `mowgli-rdma`'s `conflicts`). Accesses
//! that are not plain synchronise, so their order is no matter of a race. `a_race_is_found_and_its_twin_has_none` in
//! `mowgli/tests/explored.rs` has a program of each kind.

use std::collections::{BTreeMap, BTreeSet};

use mowgli_rdma::operational::{ConflictingAccesses, NextAccess};

use crate::code::{CallSite, CompiledProgram};
use crate::execution::ProgramExecution;
use crate::lines::SourcePlace;

/// Two accesses of one word in either order, one of which is plain.
#[derive(Clone, Debug)]
pub struct ProgramRace {
    /// The word.
    pub word: String,
    /// The two accesses.
    pub accesses: [RacingAccess; 2],
    /// A shortest execution to the point at which both accesses are possible, or, of random runs, the first one.
    pub execution: ProgramExecution,
}

/// An access that is part of a race.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RacingAccess {
    /// The source line of the access or of the operation.
    pub place: SourcePlace,
    /// Whether the CPU makes it, and not a card.
    pub by_cpu: bool,
    /// Whether it writes.
    pub writes: bool,
    /// The thread, from 1.
    pub thread: usize,
    /// The node of the thread.
    pub node: u8,
}

/// A race is known by its source lines, and by whether the CPU or a card makes each access.
pub(crate) type RaceLines = [(SourcePlace, bool); 2];

fn site(code: &CompiledProgram, access: &NextAccess) -> CallSite {
    let known = code.sites.get(&(access.thread.index(), access.call)).cloned();
    known.unwrap_or_else(|| CallSite { places: Vec::new(), is_plain: false })
}

/// Returns the conflicting accesses that are races, by their source lines.
pub(crate) fn races(
    code: &mut CompiledProgram,
    conflicts: &[ConflictingAccesses],
) -> BTreeMap<RaceLines, BTreeSet<ConflictingAccesses>> {
    let mut races: BTreeMap<RaceLines, BTreeSet<ConflictingAccesses>> = BTreeMap::new();
    for both in conflicts {
        let sites = [both.0, both.1].map(|access| (site(code, &access), access.by_cpu));
        if sites.iter().any(|(site, by_cpu)| *by_cpu && site.is_plain) {
            let mut lines = sites.map(|(site, by_cpu)| (code.lines.place(&site.places), by_cpu));
            lines.sort();
            races.entry(lines).or_default().insert(*both);
        }
    }
    races
}

impl ProgramRace {
    /// True if it has these source lines.
    pub(crate) fn is_at(&self, lines: &RaceLines) -> bool {
        let mut own = self.accesses.clone().map(|access| (access.place, access.by_cpu));
        own.sort();
        own == *lines
    }

    /// Describes two accesses, and the execution that leads to them.
    pub(crate) fn of(code: &mut CompiledProgram, both: ConflictingAccesses, execution: ProgramExecution) -> Self {
        let mut accesses = [both.0, both.1].map(|access| {
            let (places, thread) = (site(code, &access).places, access.thread.index());
            let NextAccess { by_cpu, writes, .. } = access;
            let (place, node) = (code.lines.place(&places), code.made.threads[thread].0);
            RacingAccess { place, by_cpu, writes, thread: thread + 1, node }
        });
        accesses.sort();
        Self { word: both.0.x.to_string(), accesses, execution }
    }
}
