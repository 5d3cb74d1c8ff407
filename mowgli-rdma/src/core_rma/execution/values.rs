//! The values that actions read and write in an execution.

use itertools::Itertools;
use mowgli_core::search::relation::matrix::WordOnes;

use super::search::{CoreRmaExecution, ExecutionSearch};
use crate::core_rma::program::{Data, MOST, TextValue};

/// A value read; `None` is the undefined value, top.
pub type Value = Option<i64>;

/// A value that depends on itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SelfDependent;

/// The values of one execution, computed on demand.
pub(crate) struct ComputedValues<'a> {
    pub(super) search: &'a ExecutionSearch<'a>,
    pub(super) execution: CoreRmaExecution,
    pub(super) coins: u64,
    pub(super) known: [Option<Result<Value, SelfDependent>>; MOST],
}

impl ExecutionSearch<'_> {
    /// Returns the values in an execution: one set of them for each way in which comparisons with undefined values can
    /// go.
    pub(super) fn values(&self, e: &CoreRmaExecution) -> impl Iterator<Item = ComputedValues<'_>> {
        let is_defined = self.atomic.count_ones() as usize == self.actions.all.len();
        let cas = self.actions.all.iter().filter(|a| matches!(a.data, Data::Swap { .. })).count();
        let coins = if is_defined { 1 } else { 1 << cas };
        (0..coins).map(|coins| ComputedValues { coins, ..self.values_of(e) })
    }

    /// Returns the values in an execution without races.
    pub(crate) fn values_of(&self, e: &CoreRmaExecution) -> ComputedValues<'_> {
        ComputedValues { search: self, execution: e.clone(), coins: 0, known: [None; MOST] }
    }
}

impl ComputedValues<'_> {
    /// Computes r_val, by rules no-C and C.
    pub(crate) fn read(&mut self, r: usize) -> Result<Value, SelfDependent> {
        if let Some(known) = self.known[r] {
            return known;
        }
        self.known[r] = Some(Err(SelfDependent));
        let hb = &self.execution.hb;
        let value = match self.execution.rf[r].map(usize::from) {
            Some(w) if !self.search.conflicts(hb, r) && !self.search.write_conflicts(hb, w) => self.written(w),
            _ => Ok(None),
        };
        self.known[r] = Some(value);
        value
    }

    /// Computes w_val.
    pub(super) fn written(&mut self, w: usize) -> Result<Value, SelfDependent> {
        match self.search.actions.all[w].data {
            Data::Nothing => Ok(None),
            Data::Local(source) => self.source(source),
            Data::Copy(a) => self.read(a),
            Data::Sum(a) => Ok(self.read(a)?.zip(self.read(w)?).map(|(y, z)| y.wrapping_add(z))),
            Data::Swap { new, .. } => {
                if self.succeeds(w)? {
                    self.read(new)
                } else {
                    self.read(w)
                }
            }
        }
    }

    fn source(&mut self, source: TextValue) -> Result<Value, SelfDependent> {
        match source {
            TextValue::Int(i) => Ok(Some(i)),
            TextValue::Read(a, plus) => Ok(self.read(a)?.map(|v| v.wrapping_add(plus))),
        }
    }

    /// True if the compare-and-swap with this read-write succeeds.
    pub(crate) fn succeeds(&mut self, erw: usize) -> Result<bool, SelfDependent> {
        let Data::Swap { old, .. } = self.search.actions.all[erw].data else { return Ok(false) };
        let values = self.read(old)?.zip(self.read(erw)?);
        Ok(values.map_or(self.coins >> self.which(erw) & 1 == 1, |(y, z)| y == z))
    }

    fn which(&self, erw: usize) -> usize {
        let all = &self.search.actions.all;
        all[..erw].iter().filter(|a| matches!(a.data, Data::Swap { .. })).count()
    }

    /// Returns the values of the registers of all processes, then of these variables at the end. Returns `None` if a
    /// comparison contradicts the result that the execution assumes for its compare-and-swap.
    pub(crate) fn shown(&mut self, observed: &[usize]) -> Result<Option<Vec<Value>>, SelfDependent> {
        let actions = self.search.actions;
        if let Some(success) = self.execution.success {
            for erw in (0..actions.all.len()).filter(|&a| matches!(actions.all[a].data, Data::Swap { .. })) {
                if self.succeeds(erw)? != (success >> self.which(erw) & 1 == 1) {
                    return Ok(None);
                }
            }
        }
        let mut shown = Vec::new();
        for &source in actions.registers.iter().flatten() {
            shown.push(self.source(source)?);
        }
        for &x in observed {
            shown.push(self.last(x)?);
        }
        // An execution in which a value depends on itself does not count, even if no register shows the value.
        WordOnes(self.search.readers).try_for_each(|r| self.read(r).map(|_| ()))?;
        Ok(Some(shown))
    }

    /// Returns the value that a read after the end would read. It is undefined if no single write is last, or if that
    /// write races.
    fn last(&mut self, x: usize) -> Result<Value, SelfDependent> {
        let (hb, writers) = (&self.execution.hb, self.search.writers[x]);
        match WordOnes(writers).filter(|&w| hb.after[w] & writers == 0).exactly_one() {
            Ok(w) if !self.search.write_conflicts(hb, w) => self.written(w),
            _ => Ok(None),
        }
    }
}
