//! Calls that no program may make, in executions that the specifications allow.
//!
//! A search comes to such a call with results that the events so far permit. A lock, a barrier or an order that is chosen later may
//! forbid them. For example, a reader behind a barrier does not find the value from before. So a fault counts if some consistent
//! execution has the calls of its thread and the first ones of each other thread.

use std::collections::BTreeMap;

use itertools::Itertools;

use crate::search::fault::CallFault;
use crate::search::problem::Problem;
use crate::search::runs::{Faulty, Run, Stop};

impl Problem<'_> {
    /// Returns the first of these faults that some execution has.
    ///
    /// # Errors
    /// The limit that cut the search short.
    pub(crate) fn first_fault(&self, faults: impl Iterator<Item = Faulty>) -> Result<Option<CallFault>, Stop> {
        // The beginnings that have no execution, and whether specifications cover them.
        let mut known: BTreeMap<Vec<Run>, bool> = BTreeMap::new();
        for Faulty { runs, thread, fault, is_over } in faults {
            let beginnings = runs.iter().enumerate().map(|(t, run)| {
                let least = if t == thread { run.shapes.len() } else { 0 };
                (least..=run.shapes.len()).rev().map(|length| run.beginning(length))
            });
            let mut is_covered = false;
            for begun in beginnings.collect_vec().into_iter().multi_cartesian_product() {
                if (self.limits.expired)() {
                    return Err(Stop::Time);
                }
                if let Some(known) = known.get(&begun) {
                    is_covered |= known;
                    continue;
                }
                let searched = self.execution_of(&begun, true)?;
                if searched.execution.is_some() {
                    return Ok(Some(fault));
                }
                is_covered |= searched.is_covered;
                known.insert(begun, searched.is_covered);
            }
            // If the client breaks an assumption whatever happens, no specification forbids what was read.
            if !is_covered && is_over && self.execution_of(&runs, false)?.execution.is_some() {
                return Ok(Some(fault));
            }
        }
        Ok(None)
    }
}
