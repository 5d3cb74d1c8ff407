//! The semantics of a test: how its statements are written, and what they mean. `semantics_of_models.rs` lists them.
//!
//! Executions of most models consist of subevents with stamps, which axioms order: the three of RDMA, and x86-TSO. The method
//! tables of their libraries give the statements. Another semantics is an [`OwnSemantics`].

use std::collections::{BTreeMap, BTreeSet};

use mowgli_core::search::outcome::Outcome;
use mowgli_core::search::problem::{Found, Limits};
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::{Client, Subject};
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, World};

use super::answer::Answer;
use super::parse::{Parsed, Reader, Tree};
use super::test::{Arg, Assertion, Statement, Test};
use crate::interrupt::Undecided;

/// The semantics of a model.
#[derive(Clone, Copy)]
pub enum Semantics {
    /// Libraries with stamps, and axioms.
    Axioms,
    /// Another one.
    Own(&'static dyn OwnSemantics),
}

/// An action of an execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnAction {
    /// Its number in the execution.
    pub id: usize,
    /// Its kind.
    pub kind: String,
    /// The action in words.
    pub text: String,
}

/// An execution as data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnExecution {
    /// For each thread the actions of each statement.
    pub threads: Vec<Vec<Vec<OwnAction>>>,
    /// The relations between actions of threads, by name.
    pub relations: Vec<(String, Vec<(usize, usize)>)>,
    /// The execution as text.
    pub text: String,
}

/// For each outcome of a test an execution that has it.
pub type OwnExecutions = Found<BTreeMap<Vec<Val>, OwnExecution>>;

/// A semantics of other executions than those of subevents. Statements of a thread are made once each, and none of them waits.
pub trait OwnSemantics: Sync {
    /// Solves a test.
    fn solve(&self, test: &Test, limits: Limits<'_>) -> Answer;

    /// Returns for each outcome of a test an execution that has it.
    fn executions(&self, test: &Test, limits: Limits<'_>) -> OwnExecutions;

    /// Explains why the condition of an assertion can hold, or names the rules that forbid it.
    ///
    /// # Errors
    /// The question that a limit kept from being decided.
    fn explain(
        &self,
        test: &Test,
        assertion: &Assertion,
        executions: &OwnExecutions,
        limits: Limits<'_>,
    ) -> Result<String, Undecided>;

    /// Returns the reason why the language cat cannot express it.
    fn why_no_cat(&self) -> &'static str;

    /// Returns the reason why tests have no form in LISA.
    fn why_no_lisa(&self) -> &'static str;

    /// Returns the clients of memory words that it can express, with polls for flushes.
    fn clients(&self) -> Box<dyn Subject + Sync>;

    /// Returns such a client for models with polls: each flush becomes as many polls as operations are open.
    fn with_polls(&self, world: &World, client: &Client) -> Client;

    /// Returns all outcomes of such a client, with the last values of all words.
    ///
    /// # Errors
    /// If the time is up.
    fn outcomes(&self, world: &World, client: &Client, expired: &dyn Fn() -> bool) -> Result<BTreeSet<Outcome>, Stop>;

    /// Prints such a client as a litmus test.
    fn litmus(&self, name: &str, world: &World, client: &Client) -> String;
}

/// The notation of such a semantics, for the parser and the printer of tests.
pub(crate) trait OwnNotation: Sync {
    /// Returns the statements, for messages.
    fn statements(&self) -> &'static str;

    /// Returns the form in which words are declared.
    fn words(&self) -> DeclarationForm;

    /// Returns the reason why a word cannot have a value, if it cannot.
    fn no_value(&self, value: Val) -> Option<String>;

    /// Reads a statement.
    fn statement(
        &self,
        reader: &Reader<'_>,
        thread: usize,
        target: Option<&Tree<'_>>,
        action: &Tree<'_>,
    ) -> Parsed<Statement>;

    /// Returns the reason why a test cannot be solved, if it cannot.
    fn fault(&self, test: &Test) -> Option<String>;

    /// Prints a call.
    fn call(&self, method: &str, args: &[Arg]) -> String;

    /// True if a call of a method returns a value that programs can use.
    fn returns(&self, method: &str) -> bool;
}
