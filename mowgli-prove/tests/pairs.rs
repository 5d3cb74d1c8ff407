//! Proofs over locks whose calls do not come in pairs: what `check` refutes is not proved.

use std::sync::Arc;

use mowgli_check::check::{CheckOptions, CheckQuestion, check};
use mowgli_core::algebra::Spec;
use mowgli_core::expr::{Expr, all_nodes, node};
use mowgli_core::ids::Name;
use mowgli_core::library::{Hints, Libraries, Library, PlainSet};
use mowgli_core::rewrite::edit::Edits;
use mowgli_core::simple::Over;
use mowgli_core::soundness::verdict::Verdict;
use mowgli_core::term::body::{Body, bodies, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::{methods, named_by};
use mowgli_core::term::parts::{ObjectTerm, parts};
use mowgli_core::term::shape::{ShapeTerm, Shapes, shapes};
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_libraries::lock::{Method as Lock, WELL_FORMED};
use mowgli_libraries::slock::{SLOCK, SlockOverWlock};
use mowgli_libraries::sv::{Method as Sv, Sv as Variables};
use mowgli_libraries::wlock::{self, WLOCK};
use mowgli_prove::prove::{ProofOptions, prove};
use mowgli_prove::smt::solve::{SolverLimit, SolverProgram};
use mowgli_rdma::RdmaStamp::{aCW, aMF};
use mowgli_rdma::to;

use crate::common::{OtherShapes, source};

methods! {
    /// Calls of a weak lock with one call more.
    enum Idling of IDLING = "idling-lock" {
        /// Takes the lock.
        fn acq = Acq(x: Object);
        /// Gives it back.
        fn rel = Rel(x: Object);
        /// Does nothing. No thread that holds the lock may call it.
        fn idle = Idle(x: Object);
    }
}

/// The weak lock, whose third method has no subevent.
struct IdlingLock;

impl Library for IdlingLock {
    named_by!(Idling);

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Idling: Acq { .. } => { aMF } Rel { .. } => { aCW } Idle { .. } => { (ShapeTerm::nothing()) } })
    }

    fn covered(&self) -> PlainSet<'_> {
        PlainSet::Paired(WELL_FORMED)
    }

    fn spec(&self) -> Spec {
        wlock::LIBRARY.spec()
    }
}

impl Hints for IdlingLock {}

fn slock() -> Entry {
    catalogue().into_iter().find(|entry| entry.name == "slock").expect("it is there")
}

/// Returns the strong lock over the idling one. An Acq makes these calls after it has taken the lock.
fn over_idling(then: fn(Expr) -> Body) -> (Entry, Arc<dyn Implementation>) {
    let inner = |x: Expr| x.part("weak", []);
    let bodies = bodies! { Lock:
        Acq { x } => { Idling::acq(inner(x)); (then(inner(x))) }
        Rel { x } => { Sv::gf(all_nodes()); Idling::rel(inner(x)) }
    };
    let parts = parts! { x => inner(x) => ObjectTerm::new(IDLING).at(node(x)); };
    let below = Libraries::over(to).with(IdlingLock).with(Variables);
    (Entry { below, ..slock() }, Arc::new(Over::<()>::terms_of(SLOCK, bodies).with_parts(parts)))
}

/// Returns whether `check` refutes an implementation, and whether the prover proves it, with its errors.
fn asked_of_both(entry: Entry, implementation: Arc<dyn Implementation>) -> (bool, bool, String) {
    let bound = Bound { threads: 2, nodes: 1, calls: 2, ..Bound::default() };
    let variant = Variant { implementation: implementation.clone(), bounds: Vec::new(), ..entry.variants[0].clone() };
    let entry = Entry { variants: vec![variant.clone()], ..entry };
    let options = CheckOptions { ask: CheckQuestion::Local, ends: false, ..CheckOptions::default() };
    let checked = check(&entry, &variant, &bound, &options).expect("it can be checked");
    let solvers = if SolverProgram::Z3.is_there() { vec![SolverProgram::Z3] } else { Vec::new() };
    let (limit, executions) = (SolverLimit::of(SolverLimit::SECOND), 20_000);
    let options = ProofOptions { solvers, limit, executions, confirms: false, keep: false, diagnoses: false };
    let proof = prove(&source(&entry, implementation), &options);
    let errors = proof.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    println!("{:?} {} {errors}", checked.report.verdict, proof.is_proved());
    (!matches!(checked.report.verdict, Verdict::Sound), proof.is_proved(), errors)
}

/// The algebra sees subevents alone. A call without one, between two that belong together, keeps them apart all the same.
#[test]
fn a_call_without_subevents_keeps_a_pair_apart() {
    let (entry, implementation) = over_idling(|_| Body::unit());
    let (is_refuted, ..) = asked_of_both(entry, implementation);
    assert!(!is_refuted);
    for then in [|x: Expr| Idling::idle(x), |x: Expr| body! { loop { Idling::idle(x); break } }] {
        let (entry, implementation) = over_idling(then);
        let (is_refuted, is_proved, errors) = asked_of_both(entry, implementation);
        assert!(is_refuted && !is_proved, "{errors}");
        assert!(errors.contains("a call of Idle may have no subevent"), "{errors}");
    }
}

/// A lock that is never released, and locks whose Acq has no subevent: in the specification, and in that of the lock below.
#[test]
fn broken_pairs_of_locks_are_not_proved() {
    let never = bodies! { Lock: Rel { .. } => { Sv::gf(all_nodes()) } };
    let (is_refuted, is_proved, errors) =
        asked_of_both(slock(), Arc::new(SlockOverWlock.with("never releases", &never)));
    assert!(is_refuted && !is_proved, "{errors}");
    let without = |libraries: &Libraries, name: Name| {
        let terms = libraries.get(name).and_then(|library| library.shape_terms()).expect("its shapes are terms");
        let shapes = Shapes::default().with(Lock::TABLE, "Acq", &["x"], |_| ShapeTerm::nothing()).or(terms);
        libraries.clone().reshaped(name, OtherShapes(shapes))
    };
    let all = catalogue();
    let known = named(&all, "slock").unwrap();
    for entry in [
        Entry { below: without(&known.below, WLOCK), ..slock() },
        Entry { specification: without(&known.specification, SLOCK), ..slock() },
    ] {
        let (_, is_proved, errors) = asked_of_both(entry, Arc::new(SlockOverWlock));
        assert!(!is_proved && errors.contains("a call of Acq may have no subevent"), "{errors}");
    }
}
