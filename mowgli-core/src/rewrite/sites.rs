//! The operations of an implementation, one by one, each with its place in the bodies.

use std::fmt;

use crate::event::SourceLine;
use crate::ids::Name;
use crate::term::body::{Bodies, Body, CallTerm};

/// A call in the body of a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The implemented method.
    pub method: &'static str,
    /// The number of calls before it in the text of the body.
    pub number: usize,
    /// The called library.
    pub library: Name,
    /// The called method.
    pub calls: &'static str,
    /// The number of calls of this method before it in the body.
    pub nth: usize,
    /// Whether it is the only call of this method.
    pub alone: bool,
    /// The place in the source.
    pub place: SourceLine,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.method)?;
        if !self.alone {
            write!(f, "{}. ", self.nth + 1)?;
        }
        write!(f, "{}", self.calls)
    }
}

/// Returns the sites of some bodies, in their order.
#[must_use]
pub fn sites(bodies: &Bodies) -> Vec<Site> {
    let of_body = |(method, body): (&'static str, &Body)| {
        let calls = body.calls();
        let site = |number: usize| {
            let call = &calls[number];
            let alike = |among: &[CallTerm]| among.iter().filter(|c| c.method == call.method).count();
            Site {
                method,
                number,
                library: call.library,
                calls: call.method,
                nth: alike(&calls[..number]),
                alone: alike(&calls) == 1,
                place: call.place,
            }
        };
        (0..calls.len()).map(site).collect::<Vec<_>>()
    };
    bodies.iter().flat_map(of_body).collect()
}
