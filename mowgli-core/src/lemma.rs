//! Lemmas: what an author states about the bodies of an implementation, for proofs for all clients.
//!
//! A lemma is proved before it is used, in the order in which they are stated; one that is not proved is not used. None is
//! needed for what is checked up to a bound.
//!
//! ```
//! use mowgli_core::ids::Name;
//! use mowgli_core::lemma::{Lemma, call, index, value};
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
pub struct Var {
    /// Its name, different from those of the others in the lemma.
    pub name: &'static str,
    /// What it stands for.
    pub sort: Sort,
}

/// A call of the library.
#[must_use]
pub const fn call(name: &'static str) -> Var {
    Var { name, sort: Sort::Call }
}

/// A node.
#[must_use]
pub const fn node(name: &'static str) -> Var {
    Var { name, sort: Sort::Node }
}

/// A thread.
#[must_use]
pub const fn thread(name: &'static str) -> Var {
    Var { name, sort: Sort::Thread }
}

/// What a subevent does to memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Access {
    /// It reads.
    Reads,
    /// It writes.
    Writes,
}

/// A subevent of the body of a call: the one that reads or writes, of a call that the body makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Of {
    /// The call of the library.
    pub call: Var,
    /// The library of the call that its body makes.
    pub library: Name,
    /// The method of that one.
    pub method: &'static str,
    /// Which of those of this method in the text of the body, from 1.
    pub nth: usize,
    /// What the subevent does.
    pub access: Access,
    /// The node or thread that it is there for, if there are several.
    pub at: Option<Var>,
}

impl Of {
    /// The one for this node or thread.
    #[must_use]
    pub fn at(self, at: Var) -> Self {
        Self { at: Some(at), ..self }
    }
}

impl Var {
    /// The subevent that reads, of the `nth` call of a method in the body.
    #[must_use]
    pub fn read(self, library: Name, method: &'static str, nth: usize) -> Of {
        Of { call: self, library, method, nth, access: Access::Reads, at: None }
    }

    /// The subevent that writes, of the `nth` call of a method in the body.
    #[must_use]
    pub fn write(self, library: Name, method: &'static str, nth: usize) -> Of {
        Of { access: Access::Writes, ..self.read(library, method, nth) }
    }

    /// That two calls are of one method and about the same objects.
    #[must_use]
    pub fn same_object(self, other: Self) -> Fact {
        Fact::SameObject(self, other)
    }

    /// That a call is on this thread, or on that of this call.
    #[must_use]
    pub fn on(self, thread: Self) -> Fact {
        Fact::On(self, thread)
    }

    /// That a call is of this method.
    #[must_use]
    pub fn is_a(self, method: &'static str) -> Fact {
        Fact::Method(self, method)
    }

    /// That two calls, perhaps of different methods, are about one object.
    #[must_use]
    pub fn shares_object(self, other: Self) -> Fact {
        Fact::ShareObject(self, other)
    }

    /// That a call comes before another one in program order.
    #[must_use]
    pub fn before(self, other: Self) -> Fact {
        Fact::Before(self, other)
    }

    /// That clients owe the second of two calls to the first and the first to the second, as the release of a lock to its
    /// acquisition (`Library::owed`).
    #[must_use]
    pub fn with(self, other: Self) -> Fact {
        Fact::Partners(self, other)
    }

    /// That two names stand for one call.
    #[must_use]
    pub fn same(self, other: Self) -> Fact {
        Fact::Same(self, other)
    }
}

/// A number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Num {
    /// The value that a subevent reads or writes. Whatever is said of it, it is a number.
    Value(Of),
    /// How many calls of the same method about the same objects the thread of a call has made before it.
    Index(Var),
    /// This one.
    Is(i64),
}

/// The value that a subevent reads or writes.
#[must_use]
pub const fn value(of: Of) -> Num {
    Num::Value(of)
}

/// How many calls like it the thread of a call has made before it.
#[must_use]
pub const fn index(call: Var) -> Num {
    Num::Index(call)
}

/// This number.
#[must_use]
pub const fn number(is: i64) -> Num {
    Num::Is(is)
}

impl Num {
    /// That it is this number.
    #[must_use]
    pub const fn is(self, other: Self) -> Fact {
        Fact::Equal(self, other)
    }

    /// That it is greater.
    #[must_use]
    pub const fn exceeds(self, other: Self) -> Fact {
        Fact::Less(other, self)
    }
}

/// What is given, or follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact {
    /// A subevent reads or writes a number.
    Number(Of),
    /// Both are numbers, and equal.
    Equal(Num, Num),
    /// Both are numbers, and the first is less.
    Less(Num, Num),
    /// One happens before the other.
    Hb(Of, Of),
    /// Two calls are of one method and about the same objects.
    SameObject(Var, Var),
    /// A call is on a thread, or on that of a call.
    On(Var, Var),
    /// A call is of a method.
    Method(Var, &'static str),
    /// Two calls are about one object, which is the first argument of both.
    ShareObject(Var, Var),
    /// One call comes before another in program order.
    Before(Var, Var),
    /// Clients owe two calls to each other.
    Partners(Var, Var),
    /// Both are one call.
    Same(Var, Var),
    /// It does not hold.
    Not(Box<Self>),
}

impl Fact {
    /// That it does not hold.
    #[must_use]
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }
}

/// That a subevent reads or writes a number.
#[must_use]
pub const fn is_number(of: Of) -> Fact {
    Fact::Number(of)
}

/// That one subevent happens before another.
#[must_use]
pub const fn hb(a: Of, b: Of) -> Fact {
    Fact::Hb(a, b)
}

/// A lemma: for all that it is about, from what is given what is to be shown follows. Subevents that it names are there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lemma {
    /// In words.
    pub words: &'static str,
    /// What it is about.
    pub of: Vec<Var>,
    /// What is given.
    pub given: Vec<Fact>,
    /// What follows.
    pub then: Vec<Fact>,
    /// Along what it is shown by induction.
    pub along: Option<Along>,
}

/// What an induction goes along. Executions are finite, so both are well-founded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Along {
    /// The program order of a call's thread: for all calls before it the lemma may be used.
    Po(Var),
    /// Happens-before: for all subevents like this one that happen before it the lemma may be used.
    Hb(Of),
}

impl Lemma {
    /// A lemma in words, of which nothing is said yet.
    #[must_use]
    pub fn new(words: &'static str) -> Self {
        Self { words, of: Vec::new(), given: Vec::new(), then: Vec::new(), along: None }
    }

    /// For all of these.
    #[must_use]
    pub fn about(self, of: &[Var]) -> Self {
        Self { of: of.to_vec(), ..self }
    }

    /// If this holds.
    #[must_use]
    pub fn given(mut self, fact: Fact) -> Self {
        self.given.push(fact);
        self
    }

    /// Then this does.
    #[must_use]
    pub fn then(mut self, fact: Fact) -> Self {
        self.then.push(fact);
        self
    }

    /// By induction along the program order of this call's thread.
    #[must_use]
    pub fn along_po(self, call: Var) -> Self {
        Self { along: Some(Along::Po(call)), ..self }
    }

    /// By induction along what happens before this subevent.
    #[must_use]
    pub fn along_hb(self, of: Of) -> Self {
        Self { along: Some(Along::Hb(of)), ..self }
    }
}
