//! Programs of coreRMA, and the actions that their statements stand for (CORERMA §3, §4, Table 3).

use std::fmt;

use crate::error::Error;

/// The largest number of actions that a program may have.
pub const MOST: usize = 64;

/// An access to a shared variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SharedAccess {
    /// The variable, by position in [`Program::variables`].
    pub variable: usize,
    /// Whether the access is atomic. A race leaves undefined values if one of its accesses is not atomic.
    pub atomic: bool,
}

/// A shared variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Variable {
    /// The position of the process in whose memory it lies.
    pub owner: usize,
    /// The initial value.
    pub init: i64,
}

/// The expression of a local statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LocalExpr {
    /// A number.
    Int(i64),
    /// A register of the process plus a number. A register that nothing set holds 0.
    Register(usize, i64),
}

/// A statement (CORERMA Table 1). Registers are numbered from 0 in each process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CoreRmaStatement {
    /// `u := x`.
    Read {
        /// u.
        register: usize,
        /// x, of this process.
        from: SharedAccess,
    },
    /// `x := expr`.
    Write {
        /// x, of this process.
        to: SharedAccess,
        /// expr.
        value: LocalExpr,
    },
    /// `u := expr`, which touches no memory.
    Set {
        /// u.
        register: usize,
        /// expr.
        value: LocalExpr,
    },
    /// `x := get(z)`.
    Get {
        /// x, of this process.
        to: SharedAccess,
        /// z, of any process.
        from: SharedAccess,
    },
    /// `put(z, x)`.
    Put {
        /// z, of any process.
        to: SharedAccess,
        /// x, of this process.
        from: SharedAccess,
    },
    /// `x := rga(z, y)`: adds y to z, and stores the old value of z in x.
    Rga {
        /// x, of this process.
        to: SharedAccess,
        /// z, of any process.
        at: SharedAccess,
        /// y, of this process.
        add: SharedAccess,
    },
    /// `x := cas(z, y, w)`: sets z to w if z equals y, and stores the old value of z in x.
    Cas {
        /// x, of this process.
        to: SharedAccess,
        /// z, of any process.
        at: SharedAccess,
        /// y, of this process.
        old: SharedAccess,
        /// w, of this process.
        new: SharedAccess,
    },
    /// `flush(dst)`: waits until all remote operations of this process to `process` are complete.
    Flush {
        /// dst.
        process: usize,
    },
}

/// A program: the variables, and the statements of each process.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Program {
    /// The shared variables.
    pub variables: Vec<Variable>,
    /// The statements of each process.
    pub processes: Vec<Vec<CoreRmaStatement>>,
}

/// The type of an action (CORERMA §4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionType {
    /// The initial value of a variable: a write before all actions.
    Init,
    /// A local read, r.
    Read,
    /// A local write, w.
    Write,
    /// An external read, er.
    ExternalRead,
    /// An external write, ew.
    ExternalWrite,
    /// An external read-write, erw.
    ExternalReadWrite,
    /// A flush.
    Flush,
}

impl fmt::Display for ActionType {
    /// The paper's short names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Init => "init",
            Self::Read => "r",
            Self::Write => "w",
            Self::ExternalRead => "er",
            Self::ExternalWrite => "ew",
            Self::ExternalReadWrite => "erw",
            Self::Flush => "flush",
        })
    }
}

/// A value that the text of the program determines: a number, or the value that an action reads plus a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextValue {
    /// A number.
    Int(i64),
    /// r_val of an action, plus a number.
    Read(usize, i64),
}

/// The source of the value that an action writes. Actions that read are given by position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Data {
    /// None: the action does not write.
    Nothing,
    /// The value of a local statement.
    Local(TextValue),
    /// The value that another action read.
    Copy(usize),
    /// The value that this action reads plus the value that another action read.
    Sum(usize),
    /// A compare-and-swap. If this action reads the value that `old` read, it writes the value that `new` read.
    /// Otherwise it writes back the value that it reads.
    Swap {
        /// The read of y.
        old: usize,
        /// The read of w.
        new: usize,
    },
}

/// An action with its attributes (CORERMA Table 3).
#[derive(Clone, Copy, Debug)]
pub struct Action {
    /// Its type.
    pub kind: ActionType,
    /// src: the process that issues it.
    pub src: usize,
    /// dst: the process in whose memory it acts; for a flush, the process that it waits for.
    pub dst: usize,
    /// Its statement, by position in its process.
    pub statement: usize,
    /// r_loc.
    pub reads: Option<usize>,
    /// w_loc.
    pub writes: Option<usize>,
    /// Whether it is atomic.
    pub atomic: bool,
    /// The source of the value that it writes.
    pub data: Data,
}

impl Action {
    /// True if it is a local action.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(self.kind, ActionType::Read | ActionType::Write)
    }
}

/// The actions of a program: first the initial writes, then each process in program order.
#[derive(Clone, Debug)]
pub struct Actions {
    /// The actions.
    pub all: Vec<Action>,
    /// The actions of each remote statement in order; the one that acts in the target process is [`RemoteActions::at`].
    pub remote: Vec<RemoteActions>,
    /// For each process the last value of each register.
    pub registers: Vec<Vec<TextValue>>,
}

/// The actions of a remote statement.
#[derive(Clone, Debug)]
pub struct RemoteActions {
    /// The statement.
    pub statement: CoreRmaStatement,
    /// All its actions: eactions(e).
    pub all: std::ops::Range<usize>,
    /// The action in Remote: the one that acts on the variable of the target process.
    pub at: usize,
}

impl Program {
    /// Returns its size: the number of actions, including initial writes (CORERMA §6.1).
    #[must_use]
    pub fn size(&self) -> usize {
        self.variables.len() + self.processes.iter().flatten().map(CoreRmaStatement::actions).sum::<usize>()
    }

    /// Translates the program into actions.
    ///
    /// # Errors
    /// If there are more than a search can hold.
    pub fn actions(&self) -> Result<Actions, Error> {
        if self.size() > MOST {
            return Err(Error::TooLarge { model: "coreRMA", actions: self.size(), most: MOST });
        }
        let init = |(x, v): (usize, &Variable)| Action {
            kind: ActionType::Init,
            src: v.owner,
            dst: v.owner,
            statement: 0,
            reads: None,
            writes: Some(x),
            atomic: true,
            data: Data::Local(TextValue::Int(v.init)),
        };
        let all = self.variables.iter().enumerate().map(init).collect();
        let mut actions = Actions { all, remote: Vec::new(), registers: Vec::new() };
        for (process, statements) in self.processes.iter().enumerate() {
            let mut registers = Vec::new();
            for (position, statement) in statements.iter().enumerate() {
                self.translate(&mut actions, &mut registers, (process, position), statement);
            }
            actions.registers.push(registers);
        }
        Ok(actions)
    }

    /// Adds the actions of one statement (CORERMA Table 3).
    fn translate(
        &self,
        actions: &mut Actions,
        registers: &mut Vec<TextValue>,
        (src, statement): (usize, usize),
        s: &CoreRmaStatement,
    ) {
        use ActionType::{ExternalRead, ExternalReadWrite, ExternalWrite};
        let value = |registers: &[TextValue], e: LocalExpr| match e {
            LocalExpr::Int(i) => TextValue::Int(i),
            LocalExpr::Register(r, k) => match registers.get(r) {
                None => TextValue::Int(k),
                Some(TextValue::Int(i)) => TextValue::Int(i + k),
                Some(TextValue::Read(a, plus)) => TextValue::Read(*a, plus + k),
            },
        };
        let set = |registers: &mut Vec<TextValue>, register: usize, source: TextValue| {
            registers.resize(registers.len().max(register + 1), TextValue::Int(0));
            registers[register] = source;
        };
        let first = actions.all.len();
        let mut add = |kind: ActionType, place: SharedAccess, data: Data| {
            let reads = matches!(kind, ActionType::Read | ExternalRead | ExternalReadWrite).then_some(place.variable);
            let writes = (data != Data::Nothing).then_some(place.variable);
            let dst = self.variables[place.variable].owner;
            actions.all.push(Action { kind, src, dst, statement, reads, writes, atomic: place.atomic, data });
        };
        let at = match *s {
            CoreRmaStatement::Read { register, from } => {
                add(ActionType::Read, from, Data::Nothing);
                return set(registers, register, TextValue::Read(first, 0));
            }
            CoreRmaStatement::Write { to, value: e } => {
                return add(ActionType::Write, to, Data::Local(value(registers, e)));
            }
            CoreRmaStatement::Set { register, value: e } => {
                let source = value(registers, e);
                return set(registers, register, source);
            }
            CoreRmaStatement::Flush { process: dst } => {
                let (kind, data) = (ActionType::Flush, Data::Nothing);
                let flush = Action { kind, src, dst, statement, reads: None, writes: None, atomic: true, data };
                return actions.all.push(flush);
            }
            CoreRmaStatement::Get { to, from } => {
                add(ExternalRead, from, Data::Nothing);
                add(ExternalWrite, to, Data::Copy(first));
                first
            }
            CoreRmaStatement::Put { to, from } => {
                add(ExternalRead, from, Data::Nothing);
                add(ExternalWrite, to, Data::Copy(first));
                first + 1
            }
            CoreRmaStatement::Rga { to, at, add: y } => {
                add(ExternalRead, y, Data::Nothing);
                add(ExternalReadWrite, at, Data::Sum(first));
                add(ExternalWrite, to, Data::Copy(first + 1));
                first + 1
            }
            CoreRmaStatement::Cas { to, at, old, new } => {
                add(ExternalRead, old, Data::Nothing);
                add(ExternalRead, new, Data::Nothing);
                add(ExternalReadWrite, at, Data::Swap { old: first, new: first + 1 });
                add(ExternalWrite, to, Data::Copy(first + 2));
                first + 2
            }
        };
        let all = first..actions.all.len();
        actions.remote.push(RemoteActions { statement: *s, all, at });
    }
}

impl CoreRmaStatement {
    /// Returns the number of actions that it has.
    #[must_use]
    pub fn actions(&self) -> usize {
        match self {
            Self::Set { .. } => 0,
            Self::Read { .. } | Self::Write { .. } | Self::Flush { .. } => 1,
            Self::Get { .. } | Self::Put { .. } => 2,
            Self::Rga { .. } => 3,
            Self::Cas { .. } => 4,
        }
    }
}
