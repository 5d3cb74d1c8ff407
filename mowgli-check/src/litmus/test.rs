//! A litmus test that has been read: surroundings, statements, observed state, assertions.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use im::OrdMap;
use mowgli_core::event::{Call, Cell};
use mowgli_core::ids::{Loc, Name, Node};
use mowgli_core::library::Libraries;
use mowgli_core::program::Prog;
use mowgli_core::stamp::Stamp;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::core_rma::CORE_RMA;
use mowgli_rdma::tso::TSO;
use mowgli_rdma::wait::WAIT;
use mowgli_x86::tso::X86;
use serde::Serialize;

use super::condition::Condition;

/// The memory model of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// RDMA-WAIT-RMW together with LOCO's libraries.
    RdmaWait,
    /// RDMA-TSO-RMW, with polls.
    RdmaTso,
    /// RDMA-SC, with polls and a sequentially consistent CPU.
    RdmaSc,
    /// coreRMA: one process a node, and rules that give happens-before.
    CoreRma,
    /// x86-TSO: one machine, no network.
    X86Tso,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RdmaWait => f.write_str("RDMA_WAIT"),
            Self::RdmaTso => f.write_str("RDMA_TSO"),
            Self::RdmaSc => f.write_str("RDMA_SC"),
            Self::CoreRma => f.write_str("CORE_RMA"),
            Self::X86Tso => f.write_str("X86_TSO"),
        }
    }
}

impl std::str::FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let upper = text.to_uppercase().replace('-', "_");
        let known = Self::ALL.into_iter().find(|m| m.to_string() == upper);
        let names = || Self::ALL.map(|m| m.to_string()).join(", ");
        known.ok_or_else(|| format!("no model {text}; there are {}", names()))
    }
}

impl Model {
    /// All models.
    pub const ALL: [Self; 5] = [Self::RdmaWait, Self::RdmaTso, Self::RdmaSc, Self::CoreRma, Self::X86Tso];

    /// The model whose memory is among these libraries.
    #[must_use]
    pub fn of<S: Stamp>(libraries: &Libraries<S>) -> Self {
        match () {
            () if libraries.get(X86).is_some() => Self::X86Tso,
            () if libraries.get(TSO).is_some() => Self::RdmaTso,
            () => Self::RdmaWait,
        }
    }

    /// The library of its memory words.
    #[must_use]
    pub fn memory(self) -> Name {
        match self {
            Self::RdmaWait => WAIT,
            Self::RdmaTso | Self::RdmaSc => TSO,
            Self::CoreRma => CORE_RMA,
            Self::X86Tso => X86,
        }
    }
}

/// An argument: known, or computed from a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// A value.
    Val(Val),
    /// The register's value plus a number.
    Register(Name, i64),
}

/// One statement: a call, and the register for its result; or an assignment of an expression to a register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// A call.
    Call {
        /// The register for the result.
        register: Option<Name>,
        /// The library.
        library: Name,
        /// The method.
        method: &'static str,
        /// The arguments.
        args: Vec<Arg>,
    },
    /// A register and its new value.
    Set(Name, Arg),
}

impl Statement {
    /// The register that it sets.
    #[must_use]
    pub fn register(&self) -> Option<Name> {
        match self {
            Self::Call { register, .. } => *register,
            Self::Set(register, _) => Some(*register),
        }
    }
}

/// One column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its name.
    pub name: Name,
    /// Its statements.
    pub statements: Vec<Statement>,
    /// Each statement as it was written, and its line.
    pub source: Vec<(usize, String)>,
    /// The text of each statement that is a call, as it was written.
    pub texts: Vec<String>,
    /// Its registers, in the order of their first use.
    pub registers: Vec<Name>,
}

/// What a test's outcome shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Observable {
    /// A register, by thread and position.
    Register(usize, usize),
    /// The last value of a cell, by position in [`Test::observed`].
    Final(usize),
}

/// How an assertion quantifies over outcomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantifier {
    /// Some outcome satisfies the condition.
    Allowed,
    /// None does.
    Forbidden,
    /// All do.
    Forall,
    /// There is none at all: no execution ends. The condition is that of every outcome.
    Vacuous,
}

impl fmt::Display for Quantifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allowed => "allowed",
            Self::Forbidden => "forbidden",
            Self::Forall => "forall",
            Self::Vacuous => "vacuous",
        })
    }
}

/// An assertion.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// The quantifier.
    pub quantifier: Quantifier,
    /// The condition as it was written.
    pub text: String,
    /// The condition.
    pub condition: Condition,
}

/// Something in a test that is allowed, and hardly what was meant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Warning {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is odd, and what to write instead.
    pub message: String,
    /// The same with the file and the line as it stands there, ready to print.
    #[serde(skip)]
    pub shown: String,
}

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Test {
    /// The model.
    pub model: Model,
    /// The name.
    pub name: String,
    /// What it is about.
    pub description: Option<String>,
    /// Nodes, threads, objects.
    pub world: World,
    /// The private words that hold the literals that are put, each with its literal.
    pub literals: BTreeMap<Loc, Val>,
    /// The columns.
    pub threads: Vec<Thread>,
    /// The cells whose last value is observed.
    pub observed: Vec<Cell>,
    /// What an outcome shows, by the name under which it does.
    pub shown: Vec<(String, Observable)>,
    /// The assertions.
    pub assertions: Vec<Assertion>,
    /// What is hardly meant.
    pub warnings: Vec<Warning>,
}

impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quantifier {
            Quantifier::Vacuous => write!(f, "{}", self.quantifier),
            quantifier => write!(f, "{quantifier} ({})", self.text),
        }
    }
}

impl Test {
    /// Whether the test says that no execution of it ends: then what holds of all executions is taken to hold.
    #[must_use]
    pub fn is_meant_vacuous(&self) -> bool {
        self.assertions.iter().any(|a| a.quantifier == Quantifier::Vacuous)
    }

    /// The program of each thread; its value is the tuple of its registers.
    #[must_use]
    pub fn programs(&self) -> Vec<Prog> {
        self.threads.iter().map(|t| program(&Arc::new(t.clone()), 0, &OrdMap::new())).collect()
    }
}

/// The statements of a thread from one on. What each result makes of the registers shares all but that one.
fn program(thread: &Arc<Thread>, at: usize, registers: &OrdMap<Name, Val>) -> Prog {
    let value = |arg: &Arg| match arg {
        Arg::Val(v) => *v,
        Arg::Register(r, k) => {
            let v = registers.get(r).copied().unwrap_or(Val::Int(0));
            v.plus(*k).unwrap_or(v)
        }
    };
    match thread.statements.get(at) {
        None => {
            let values: Vec<Val> =
                thread.registers.iter().map(|r| registers.get(r).copied().unwrap_or(Val::Int(0))).collect();
            Prog::Val(Val::tuple(&values))
        }
        Some(Statement::Set(register, arg)) => program(thread, at + 1, &registers.update(*register, value(arg))),
        Some(Statement::Call { register, library, method, args }) => {
            let args: Vec<Val> = args.iter().map(value).collect();
            let (thread, registers, register) = (Arc::clone(thread), registers.clone(), *register);
            Prog::call(Call::new(*library, method, &args)).bind(move |v| match register {
                Some(r) => program(&thread, at + 1, &registers.update(r, v)),
                None => program(&thread, at + 1, &registers),
            })
        }
    }
}

/// The cell of a location that has one home.
#[must_use]
pub fn cell(loc: Loc, node: Node) -> Cell {
    Cell { loc, node }
}
