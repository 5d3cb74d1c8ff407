//! Clocks, as far as leases need them: a thread that finds a lease valid does so before any thread finds it over.
//! Clocks may differ by as much as is added before a lease counts as over.

use mowgli_core::world::DeclarationForm;
use mowgli_libraries::prelude::*;

methods! {
    /// The questions that a thread asks its clock about a lease.
    pub enum Method of CLOCKS = "clocks" {
        /// True if the lease is still valid by the clock of the thread.
        fn valid = Valid(lease: Id) -> Bool, looks;
        /// True if the lease is over by all clocks.
        fn over = Over(lease: Id) -> Bool, looks;
    }
}

/// The assumption on clocks, as a library without an implementation.
#[derive(Clone, Copy, Debug)]
pub struct Time;

fn lease(s: &SubView) -> Option<Val> {
    s.event.call.args.first().copied()
}

fn is_valid(s: &SubView) -> bool {
    matches!(Method::of_any(&s.event.call), Some(Method::Valid { .. }))
}

impl Library for Time {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        None
    }

    /// {aCR} if the answer is true, else {aWT}.
    fn shapes_by_function(&self, _: &World, event: &Event) -> Vec<Shape> {
        vec![[Sub::quiet(if event.ret == Val::Bool(true) { aCR } else { aWT })].into()]
    }

    /// so = {(a, b) | a finds a lease valid, b finds it over}.
    fn spec(&self) -> Spec {
        spec! {
            let valid = ([aCR]; same(lease); [aCR]) & is_valid * aCR;
            let time = valid - valid^-1;
            say time = "{a} finds the lease valid, and so is before {b}";
            so = time;
        }
    }
}

impl Hints for Time {}
