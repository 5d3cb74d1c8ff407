//! The operations of an implementation, one by one: where each stands in the bodies.

use std::fmt;

use crate::body::{Bodies, Body, CallTerm};
use crate::event::Place;
use crate::ids::Name;

/// A call in the body of a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The implemented method.
    pub method: &'static str,
    /// How many calls come before it in the body, as the text has them.
    pub number: usize,
    /// The library that is called there.
    pub library: Name,
    /// The method that is called there.
    pub calls: &'static str,
    /// How many calls of this method come before it in the body.
    pub nth: usize,
    /// Whether it is the only one.
    pub alone: bool,
    /// The place in the source.
    pub place: Place,
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

/// The sites of some bodies, in their order.
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
