//! Faults: calls that nobody may make, and bodies that are not well defined.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::event::Call;
use crate::ids::{Loc, Tid};
use crate::library::Hints;
use crate::value::Val;

/// A call that nobody may make, or a body that is not well defined (LOCO Def. 3.9).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct CallFault {
    /// The thread.
    pub thread: Tid,
    /// The call, or the one with the body. `None` for an operation that a card makes later.
    pub call: Option<Call>,
    /// The thread and the call in words.
    pub makes: String,
    /// The fault in words.
    pub what: String,
}

impl fmt::Display for CallFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.makes, self.what)
    }
}

/// Describes the fault of a call that adds to a word with this value, where the two have no sum.
#[must_use]
pub fn no_sum(word: Loc, v: Val) -> String {
    format!("it adds to {word}, which is {}: only numbers have sums, and elements of arrays with numbers", v.literal())
}

/// Describes a call of a thread, with the enclosing call if there is one.
pub(crate) fn makes(thread: Tid, within: Option<&Call>, call: &Call) -> String {
    let within = within.map(|c| format!(", in the body of {c} of {},", c.library));
    format!("{thread}{} calls {call} of {}", within.unwrap_or_default(), call.library)
}

/// Returns the fault of a call of a library that is missing.
pub(crate) fn not_below(thread: Tid, within: Option<&Call>, call: &Call) -> CallFault {
    let makes = makes(thread, within, call) + ", which is not among the libraries below";
    CallFault {
        thread,
        call: Some(call.clone()),
        makes,
        what: "put it among those that the entry is built on".to_owned(),
    }
}

/// Returns the fault of a body that breaks out of a loop of its caller.
pub(crate) fn breaks_out(thread: Tid, call: &Call) -> CallFault {
    let makes = format!("the body of {call} of {} ends with a break", call.library);
    CallFault { thread, call: Some(call.clone()), makes, what: "let it break only within a loop".to_owned() }
}

/// Describes the assumption of a library about its clients.
#[must_use]
pub fn assumption(library: &dyn Hints) -> String {
    let pairs = library.covered().pairs();
    let says = pairs.map(|pairs| format!(" ({})", pairs.says.join(", and "))).unwrap_or_default();
    format!("the assumption of {}{says}", library.name())
}

/// Returns the fault of bodies whose calls break the assumption of a library below.
pub(crate) fn breaks_assumption(library: &dyn Hints, thread: Tid) -> CallFault {
    let makes = format!("an execution of the bodies breaks {}", assumption(library));
    let what = format!("then {} promises nothing, so let the calls in each body keep it", library.name());
    CallFault { thread, call: None, makes, what }
}

/// Returns the fault of a body with a run that makes no call.
pub(crate) fn does_nothing(thread: Tid, call: &Call) -> CallFault {
    let makes = format!("the body of {call} of {} has a run without a call", call.library);
    CallFault { thread, call: Some(call.clone()), makes, what: "let it make one, which can stand for it".to_owned() }
}
