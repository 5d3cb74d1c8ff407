//! Lemmas: statements of an author about the bodies of an implementation, for proofs for all clients.
//!
//! The prover proves the lemmas in the order in which they are stated, and uses only proved ones. Checks up to a bound
//! need no lemmas.
//!
//! ```
//! use mowgli_core::ids::Name;
//! use mowgli_core::term::lemma::{Lemma, call, index, value};
//! const MEMORY: Name = Name::literal("memory");
//! let c = call("c");
//! let count = c.read(MEMORY, "Read", 1);
//! let lemma = Lemma::new("the n-th call finds n in its counter").about(&[c]).then(value(count).is(index(c))).along_po(c);
//! assert_eq!(lemma.of.len(), 1);
//! ```

use crate::ids::Name;

/// The sort of a variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sort {
    /// Calls of the library.
    Call,
    /// Nodes.
    Node,
    /// Threads.
    Thread,
}

/// A variable of a lemma.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LemmaVar {
    /// The name, unique in the lemma.
    pub name: &'static str,
    /// The sort of the values that it ranges over.
    pub sort: Sort,
}

/// Returns a variable for a call of the library.
#[must_use]
pub const fn call(name: &'static str) -> LemmaVar {
    LemmaVar { name, sort: Sort::Call }
}

/// Returns a variable for a node.
#[must_use]
pub const fn node(name: &'static str) -> LemmaVar {
    LemmaVar { name, sort: Sort::Node }
}

/// Returns a variable for a thread.
#[must_use]
pub const fn thread(name: &'static str) -> LemmaVar {
    LemmaVar { name, sort: Sort::Thread }
}

/// The kind of access of a subevent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Access {
    /// It reads.
    Reads,
    /// It writes.
    Writes,
}

/// A subevent of the body of a call. It is the one that reads, or the one that writes, of a call that the body makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Of {
    /// The call of the implemented library.
    pub call: LemmaVar,
    /// The library of the call in the body.
    pub library: Name,
    /// The method of the call in the body.
    pub method: &'static str,
    /// The position of the call among those of this method in the text of the body, from 1.
    pub nth: usize,
    /// The access of the subevent.
    pub access: Access,
    /// The node or thread that indexes the subevent, if there are several.
    pub at: Option<LemmaVar>,
}

impl Of {
    /// Returns the subevent for this node or thread.
    #[must_use]
    pub fn at(self, at: LemmaVar) -> Self {
        Self { at: Some(at), ..self }
    }
}

impl LemmaVar {
    /// Returns the reading subevent of the `nth` call of a method in the body.
    #[must_use]
    pub fn read(self, library: Name, method: &'static str, nth: usize) -> Of {
        Of { call: self, library, method, nth, access: Access::Reads, at: None }
    }

    /// Returns the writing subevent of the `nth` call of a method in the body.
    #[must_use]
    pub fn write(self, library: Name, method: &'static str, nth: usize) -> Of {
        Of { access: Access::Writes, ..self.read(library, method, nth) }
    }

    /// States that two calls have one method and the same objects.
    #[must_use]
    pub fn same_object(self, other: Self) -> Fact {
        Fact::SameObject(self, other)
    }

    /// States that a call or a thread is on this thread, on the thread of this call, or on this node.
    #[must_use]
    pub fn on(self, place: Self) -> Fact {
        Fact::On(self, place)
    }

    /// States that a call has this method.
    #[must_use]
    pub fn is_a(self, method: &'static str) -> Fact {
        Fact::Method(self, method)
    }

    /// States that two calls, perhaps of different methods, have one object in common, the first argument of both.
    #[must_use]
    pub fn shares_object(self, other: Self) -> Fact {
        Fact::ShareObject(self, other)
    }

    /// States that a call comes before another one in program order.
    #[must_use]
    pub fn before(self, other: Self) -> Fact {
        Fact::Before(self, other)
    }

    /// States that two calls match: clients must make both, for example the release of a lock to its
    /// acquisition (`Library::covered`).
    #[must_use]
    pub fn with(self, other: Self) -> Fact {
        Fact::Partners(self, other)
    }

    /// States that two variables stand for one call.
    #[must_use]
    pub fn same(self, other: Self) -> Fact {
        Fact::Same(self, other)
    }
}

/// A numeric term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Num {
    /// The value that a subevent reads or writes. Each fact about it implies that it is a number.
    Value(Of),
    /// The number of earlier calls of the same method about the same objects, on the thread of a call.
    Index(LemmaVar),
    /// A literal.
    Is(i64),
}

/// Returns the value that a subevent reads or writes.
#[must_use]
pub const fn value(of: Of) -> Num {
    Num::Value(of)
}

/// Returns the number of earlier calls like this one on its thread.
#[must_use]
pub const fn index(call: LemmaVar) -> Num {
    Num::Index(call)
}

/// Returns a literal.
#[must_use]
pub const fn number(is: i64) -> Num {
    Num::Is(is)
}

impl Num {
    /// States that two numbers are equal.
    #[must_use]
    pub const fn is(self, other: Self) -> Fact {
        Fact::Equal(self, other)
    }

    /// States that this number is greater than the other one.
    #[must_use]
    pub const fn exceeds(self, other: Self) -> Fact {
        Fact::Less(other, self)
    }
}

/// A hypothesis or a conclusion of a lemma.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact {
    /// A subevent reads or writes a number.
    Number(Of),
    /// Two numeric terms are numbers, and equal.
    Equal(Num, Num),
    /// Two numeric terms are numbers, and the first is less.
    Less(Num, Num),
    /// One subevent happens before another.
    Hb(Of, Of),
    /// Two calls are of one method and about the same objects.
    SameObject(LemmaVar, LemmaVar),
    /// A call or a thread is on a thread, on the thread of a call, or on a node.
    On(LemmaVar, LemmaVar),
    /// A call is of a method.
    Method(LemmaVar, &'static str),
    /// Two calls are about one object, which is the first argument of both.
    ShareObject(LemmaVar, LemmaVar),
    /// One call comes before another in program order.
    Before(LemmaVar, LemmaVar),
    /// Two calls are partners: clients owe each to the other.
    Partners(LemmaVar, LemmaVar),
    /// Two variables stand for one call.
    Same(LemmaVar, LemmaVar),
    /// The negation of a fact.
    Not(Box<Self>),
}

impl Fact {
    /// Negates a fact.
    #[must_use]
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }
}

/// States that a subevent reads or writes a number.
#[must_use]
pub const fn is_number(of: Of) -> Fact {
    Fact::Number(of)
}

/// States that one subevent happens before another.
#[must_use]
pub const fn hb(a: Of, b: Of) -> Fact {
    Fact::Hb(a, b)
}

/// A lemma: for all values of its variables, the hypotheses imply the conclusions. The subevents that it names exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lemma {
    /// The statement in words.
    pub words: &'static str,
    /// The variables.
    pub of: Vec<LemmaVar>,
    /// The hypotheses.
    pub given: Vec<Fact>,
    /// The conclusions.
    pub then: Vec<Fact>,
    /// The order of the induction, if the proof is by induction.
    pub along: Option<Along>,
}

/// The order of an induction. Executions are finite, so both orders are well-founded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Along {
    /// The program order of a call's thread. The induction hypothesis is the lemma for all earlier calls.
    Po(LemmaVar),
    /// Happens-before. The induction hypothesis is the lemma for all subevents like this one that happen before it.
    Hb(Of),
}

impl Lemma {
    /// Returns a lemma with this text and nothing else.
    #[must_use]
    pub fn new(words: &'static str) -> Self {
        Self { words, of: Vec::new(), given: Vec::new(), then: Vec::new(), along: None }
    }

    /// Sets the variables.
    #[must_use]
    pub fn about(self, of: &[LemmaVar]) -> Self {
        Self { of: of.to_vec(), ..self }
    }

    /// Adds a hypothesis.
    #[must_use]
    pub fn given(mut self, fact: Fact) -> Self {
        self.given.push(fact);
        self
    }

    /// Adds a conclusion.
    #[must_use]
    pub fn then(mut self, fact: Fact) -> Self {
        self.then.push(fact);
        self
    }

    /// Chooses induction along the program order of this call's thread.
    #[must_use]
    pub fn along_po(self, call: LemmaVar) -> Self {
        Self { along: Some(Along::Po(call)), ..self }
    }

    /// Chooses induction along happens-before, up to this subevent.
    #[must_use]
    pub fn along_hb(self, of: Of) -> Self {
        Self { along: Some(Along::Hb(of)), ..self }
    }
}
