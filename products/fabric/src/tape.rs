//! The replay of a thread's code with the results of its calls.

use std::collections::VecDeque;

use mowgli_core::event::Call;
use mowgli_core::value::Val;

use crate::port::Fault;

/// The point at which code was left, because the next result is unknown.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Pause {
    /// The code makes a call.
    Call(Call),
    /// The code begins to wait: it repeats an iteration until one is the last.
    Rounds,
    /// The iteration that the code was to make is the last one.
    Last,
    /// The code continues with another iteration.
    Another,
}

/// The payload that unwinds code that is left. Panic hooks do not see it.
struct Left;

/// The results of a thread's calls, and the point at which its code is left when they run out.
pub(crate) struct Tape {
    /// The results that calls have not taken yet. The result of a wait is the tuple of the results in its last
    /// iteration.
    known: VecDeque<Val>,
    /// The results of the calls of one more iteration, of the wait that comes after `known`.
    round: Option<VecDeque<Val>>,
    is_in_round: bool,
    /// The calls that the code has made, with their results.
    pub made: Vec<(Call, Val)>,
    /// The point at which the code was left.
    pub asks: Option<Pause>,
}

/// The state before an iteration, which is restored after it.
pub(crate) struct Outside {
    known: VecDeque<Val>,
    /// True if it is unknown whether the iteration is the last one.
    is_open: bool,
}

impl Tape {
    pub fn new(known: &[Val], round: Option<&[Val]>) -> Self {
        let round = round.map(|results| results.iter().copied().collect());
        Self { known: known.iter().copied().collect(), round, is_in_round: false, made: Vec::new(), asks: None }
    }

    /// Returns the result of a call, or leaves the code if the result is unknown.
    pub fn result(&mut self, call: &Call) -> Result<Val, Fault> {
        let Some(result) = self.known.pop_front() else { return Err(self.leave(Pause::Call(call.clone()))) };
        self.made.push((call.clone(), result));
        Ok(result)
    }

    /// Begins the last iteration of a wait, or the one that is explored.
    pub fn enter(&mut self) -> Result<Outside, Fault> {
        if self.is_in_round {
            return Err(Fault::Wrong(
                "a round of a wait waits itself; what is explored waits in one place at a time".to_owned(),
            ));
        }
        let (results, is_open) = match self.known.pop_front() {
            Some(Val::Tuple(results)) => (results.parts().iter().copied().collect(), false),
            Some(_) => return Err(differs()),
            None => match self.round.take() {
                Some(results) => (results, true),
                None => return Err(self.leave(Pause::Rounds)),
            },
        };
        self.is_in_round = true;
        Ok(Outside { known: std::mem::replace(&mut self.known, results), is_open })
    }

    /// Ends an iteration. Returns a fault if it is not the last one.
    pub fn exit(&mut self, outside: Outside, is_last: bool) -> Result<(), Fault> {
        if outside.is_open {
            return Err(self.leave(if is_last { Pause::Last } else { Pause::Another }));
        }
        self.is_in_round = false;
        self.known = outside.known;
        if is_last { Ok(()) } else { Err(differs()) }
    }

    /// Leaves the code by unwinding it. Calls that its destructors still make get a fault.
    fn leave(&mut self, asks: Pause) -> Fault {
        self.asks.get_or_insert(asks);
        if !std::thread::panicking() {
            std::panic::resume_unwind(Box::new(Left));
        }
        Fault::Late("the thread was left".to_owned())
    }
}

/// Makes the fault for code that does something else each time.
pub(crate) fn differs() -> Fault {
    Fault::Wrong(
        "a thread does not do the same again when its calls return the same; let its code depend on nothing else"
            .to_owned(),
    )
}
