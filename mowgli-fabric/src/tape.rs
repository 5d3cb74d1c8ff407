//! A thread's code, run again with what its calls have returned.

use std::collections::VecDeque;

use mowgli_core::event::Call;
use mowgli_core::value::Val;

use crate::port::Fault;

/// Where code was left, as it is not known what comes next.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Asks {
    /// It makes a call.
    Call(Call),
    /// It begins to wait: it makes rounds until one is the last.
    Rounds,
    /// The round that it was to make is the last one.
    Last,
    /// It goes on with another round.
    Another,
}

/// What unwinds code that is left. No hook sees it.
struct Left;

/// What the calls of a thread have returned, and where its code is left when that is not known.
pub(crate) struct Tape {
    /// Results that its calls have not yet got. For a wait it is the tuple of what the calls of its last round have returned.
    known: VecDeque<Val>,
    /// The results of the calls of one more round, of the wait that comes behind `known`.
    round: Option<VecDeque<Val>>,
    is_in_round: bool,
    /// The calls it has made, with what they have returned.
    pub made: Vec<(Call, Val)>,
    /// Where it was left.
    pub asks: Option<Asks>,
}

/// What a round began with.
pub(crate) struct Outside {
    known: VecDeque<Val>,
    /// Whether it is not known if the round is the last one.
    is_open: bool,
}

impl Tape {
    pub fn new(known: &[Val], round: Option<&[Val]>) -> Self {
        let round = round.map(|results| results.iter().copied().collect());
        Self { known: known.iter().copied().collect(), round, is_in_round: false, made: Vec::new(), asks: None }
    }

    /// What a call returns.
    pub fn result(&mut self, call: &Call) -> Result<Val, Fault> {
        let Some(result) = self.known.pop_front() else { return Err(self.leave(Asks::Call(call.clone()))) };
        self.made.push((call.clone(), result));
        Ok(result)
    }

    /// Begins the last round of a wait, or the one that is to be looked at.
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
                None => return Err(self.leave(Asks::Rounds)),
            },
        };
        self.is_in_round = true;
        Ok(Outside { known: std::mem::replace(&mut self.known, results), is_open })
    }

    /// Ends it. Gives a fault if it is not the last one.
    pub fn exit(&mut self, outside: Outside, is_last: bool) -> Result<(), Fault> {
        if outside.is_open {
            return Err(self.leave(if is_last { Asks::Last } else { Asks::Another }));
        }
        self.is_in_round = false;
        self.known = outside.known;
        if is_last { Ok(()) } else { Err(differs()) }
    }

    /// Leaves the code, by unwinding it. What its destructors still call gets a fault.
    fn leave(&mut self, asks: Asks) -> Fault {
        self.asks.get_or_insert(asks);
        if !std::thread::panicking() {
            std::panic::resume_unwind(Box::new(Left));
        }
        Fault::Late("the thread was left".to_owned())
    }
}

/// Code that does something else each time.
pub(crate) fn differs() -> Fault {
    Fault::Wrong(
        "a thread does not do the same again when its calls return the same; let its code depend on nothing else"
            .to_owned(),
    )
}
