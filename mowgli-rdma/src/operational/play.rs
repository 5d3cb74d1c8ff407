//! Runs that are played by hand: the caller chooses each step among all that are possible.

use mowgli_core::event::Cell;
use mowgli_core::ids::Loc;
use mowgli_core::search::runs::Stop;
use mowgli_core::value::Val;

use super::buffers::FilledBuffer;
use super::explore::WalkEnd;
use super::machine::Machine;
use super::state::State;
use super::step::Step;

/// A point of a run at which the caller chooses the next step.
#[derive(Clone, Debug)]
pub struct ChoicePoint {
    /// The steps since the point before: the chosen one, and those that the machine takes at once.
    pub taken: Vec<Step>,
    /// The words with their values in memory.
    pub memory: Vec<(Loc, Val)>,
    /// The buffers that are not empty.
    pub buffers: Vec<FilledBuffer>,
    /// The steps that are possible.
    pub possible: Vec<Step>,
    /// The end of the run, if it ends here.
    pub end: Option<WalkEnd>,
}

impl Machine<'_> {
    /// Follows these choices, each the position of a step among the possible ones, and returns every point of the run,
    /// the initial one first. A choice that does not exist ends the run there.
    ///
    /// # Errors
    /// If the time is up, a loop has too many iterations, or a thread makes a call that no program may make.
    pub fn play(
        &mut self,
        observed: &[Cell],
        choices: &[usize],
        expired: &dyn Fn() -> bool,
    ) -> Result<Vec<ChoicePoint>, Stop> {
        let (mut state, mut taken, mut points) = (self.start(), Vec::new(), Vec::new());
        let mut choices = choices.iter();
        loop {
            state = self.settled_in_time(state, &mut |step, _| taken.push(step.clone()), expired)?;
            if let Some(stop) = self.cut(&state).or_else(|| self.no_sum(&state)) {
                return Err(stop);
            }
            let mut all = Vec::new();
            if !self.is_discarded(&state) {
                self.steps(&state, &mut |_, step, after| all.push((step, after)));
            }
            let end = all.is_empty().then(|| self.end(&state, observed));
            points.push(ChoicePoint {
                taken: std::mem::take(&mut taken),
                memory: self.locs.iter().copied().zip(state.memory.iter().copied()).collect(),
                buffers: self.buffers(&state),
                possible: all.iter().map(|(step, _)| step.clone()).collect(),
                end,
            });
            let Some(choice) = choices.next().copied().filter(|choice| *choice < all.len()) else { return Ok(points) };
            let (step, after) = all.swap_remove(choice);
            taken.push(step);
            state = after;
        }
    }

    /// Returns the end of a run in a state without a next step.
    fn end(&mut self, state: &State, observed: &[Cell]) -> WalkEnd {
        if self.is_discarded(state) {
            return WalkEnd::Discarded;
        }
        let outcome = self.outcome(state, observed);
        outcome.map_or_else(|| WalkEnd::Stuck(self.standstill(&[state], observed)), WalkEnd::Outcome)
    }
}
