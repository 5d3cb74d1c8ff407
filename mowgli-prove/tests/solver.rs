//! Proofs, by Z3. Without it the tests are reported as ignored, not as passed. Most take long: `--include-ignored`.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use itertools::Itertools;
use libtest_mimic::Trial;
use mowgli_core::expr::{Expr, all_nodes, all_threads, here, me, members, nodes};
use mowgli_core::ids::Name;
use mowgli_core::library::Libraries;
use mowgli_core::rewrite::edit::{Edited, Edits, calls};
use mowgli_core::simple::Over;
use mowgli_core::term::body::{Bodies, Body, bodies, body};
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::lemma::{Lemma, call, index, number, value};
use mowgli_core::term::parts::{ObjectTerm, Parts, parts};
use mowgli_core::term::shape::shapes;
use mowgli_core::value::Val;
use mowgli_judge::algebra::{Spec, po};
use mowgli_libraries::bal::{BAL, BalOverSv, Method as Barrier};
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::Entry;
use mowgli_libraries::lock::Method as Lock;
use mowgli_libraries::nlock::NlockOverWait;
use mowgli_libraries::rbl::Method as Ring;
use mowgli_libraries::sc_rmw::{Method as Sc, ScRmwOverNlock};
use mowgli_libraries::sequential::LinearisedOverNlock;
use mowgli_libraries::slock::{self, SlockOverWlock};
use mowgli_libraries::sv::{self, Method as Sv, SvOverWait};
use mowgli_libraries::wlock::{self, WlockOverSv};
use mowgli_libraries::x86;
use mowgli_libraries::x86::spin::Spin;
use mowgli_libraries::x86::ticket::Ticket;
use mowgli_prove::prove::{Closed, EXECUTIONS, ObligationResult, Proof, ProofOptions, prove};
use mowgli_prove::smt::certificate::Certifier;
use mowgli_prove::smt::solve::{Effort, Query, SolverAnswer, SolverLimit, SolverProgram, ask_all};
use mowgli_prove::smt::term::{Theory, and, equal, not, or, symbol};
use mowgli_prove::template::source::ProofSource;
use mowgli_prove::theorems::{polls, robust};
use mowgli_rdma::RdmaStamp::aMF;
use mowgli_rdma::robust::Cpu;
use mowgli_rdma::wait::{Method as Wait, WAIT};
use mowgli_x86::tso::Method as Tso;

use crate::common::{ByTwo, OtherShapes, source};
use crate::needs::{Layer, Need, trial};

/// The version for which the tests were written.
const VERSION: &str = "4.8.12";

/// Lists the tests that need a solver.
pub fn trials() -> Vec<Trial> {
    use Layer::{Long, Quick};
    let tests: [(&str, Layer, fn()); 35] = [
        ("sv_is_proved", Quick, sv_is_proved),
        ("a_fence_of_puts_is_not_proved", Quick, a_fence_of_puts_is_not_proved),
        ("less_below_proves_less", Long, less_below_proves_less),
        ("more_above_is_not_proved", Long, more_above_is_not_proved),
        ("slock_is_proved_and_its_variants_are_not", Quick, slock),
        ("a_lock_that_is_never_released_is_not_proved", Quick, || asks_the_assumption(&Unpaired::NeverReleased)),
        ("what_locks_require_is_asked", Long, || {
            [Unpaired::AcquiredTwice, Unpaired::ReleasedTwice].iter().for_each(asks_the_assumption);
        }),
        ("sc_rmw_is_proved", Long, sc_rmw_is_proved),
        ("no_variant_of_sc_rmw_is_proved", Long, no_variant_of_sc_rmw_is_proved),
        ("no_branch_on_constants_is_proved", Long, no_branch_on_constants_is_proved),
        ("counter_and_map_are_proved", Long, counter_and_map_are_proved),
        ("queue_is_proved", Long, queue_is_proved),
        ("msw_is_proved", Long, msw_is_proved),
        ("no_variant_of_msw_is_proved", Long, no_variant_of_msw_is_proved),
        ("no_variant_of_counter_is_proved", Long, no_variant_of_counter_is_proved),
        ("a_counter_that_adds_two_is_not_proved", Long, a_counter_that_adds_two_is_not_proved),
        ("of_rings_it_is_said_what_is_shown", Long, of_rings_it_is_said_what_is_shown),
        ("no_broken_ring_is_proved", Long, no_broken_ring_is_proved),
        ("wlock_is_proved", Long, wlock_is_proved),
        ("no_broken_wlock_is_proved", Long, no_broken_wlock_is_proved),
        ("nlock_is_proved", Long, nlock_is_proved),
        ("no_broken_nlock_is_proved", Long, no_broken_nlock_is_proved),
        ("a_spin_lock_over_x86_is_proved", Quick, a_spin_lock_over_x86_is_proved),
        ("locks_over_x86_are_proved_and_their_variants_are_not", Long, locks_over_x86),
        ("barriers_are_proved", Long, barriers_are_proved),
        ("the_barrier_for_puts_is_proved", Long, the_barrier_for_puts_is_proved),
        ("no_broken_barrier_is_proved", Long, no_broken_barrier_is_proved),
        ("questions_about_members_have_sorts", Quick, questions_about_members_have_sorts),
        ("robustness_is_proved", Long, robustness_is_proved),
        ("no_variant_of_robustness_is_proved", Long, no_variant_of_robustness_is_proved),
        ("waits_to_polls_is_proved", Long, waits_to_polls_is_proved),
        ("no_broken_compiler_of_waits_is_proved", Long, no_broken_compiler_of_waits_is_proved),
        ("what_is_stated_is_proved_or_not_used", Long, what_is_stated_is_proved_or_not_used),
        ("what_takes_many_steps_is_given_up_at_once", Quick, what_takes_many_steps_is_given_up_at_once),
        ("a_solver_forgets_what_it_was_reported", Quick, a_solver_forgets_what_it_was_reported),
    ];
    let of_tests = tests.into_iter().map(|(name, layer, test)| trial(name, layer, Z3, test));
    let certified = trial("slock_has_certificates_or_cvc5_is_too_old", Quick, CVC5, certificates_of_slock);
    of_tests.chain([trial("cvc5_agrees_on_sv", Long, CVC5, cvc5_agrees_on_sv), certified]).collect()
}

/// The solver of the tests, with its version, because the time that a question takes depends on it.
const Z3: Need = Need {
    tool: "z3 4.8.12",
    in_ci: true,
    missing: || {
        let version = Command::new("z3").arg("--version").output();
        let is_there = version.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).contains(VERSION));
        (!is_there).then(|| "there is none on the path".to_owned())
    },
};

/// Both solvers.
const CVC5: Need = Need {
    tool: "z3 4.8.12 and cvc5",
    in_ci: false,
    missing: || (Z3.missing)().or_else(|| (!SolverProgram::Cvc5.is_there()).then(|| "there is no cvc5".to_owned())),
};

/// A change to a specification.
type Change = fn(&mut Spec);

/// Proves a variant of a library, with changes to its specification and to that of the memory model below.
fn found(library: &str, variant: &str, above: Change, below: Option<Change>, seconds: u64) -> Proof {
    let all = catalogue();
    let entry = named(&all, library).unwrap();
    let name = Name::literal(entry.name);
    let specification: Libraries = entry.specification.clone().respecified(name, above);
    let libraries = below.map_or(entry.below.clone(), |change| entry.below.clone().respecified(WAIT, change));
    let source = ProofSource {
        specification: &specification,
        library: name,
        below: &libraries,
        implementation: entry.variant(variant).unwrap().implementation.clone(),
        subject: &*entry.subject,
    };
    let (limit, executions) = (SolverLimit::of(seconds * SolverLimit::SECOND), EXECUTIONS);
    prove(
        &source,
        &ProofOptions {
            solvers: vec![SolverProgram::Z3],
            limit,
            executions,
            confirms: true,
            keep: library == "sv",
            diagnoses: true,
        },
    )
}

/// Proves an implementation of a library, with this many seconds for each question.
fn shown(entry: &Entry, implementation: Arc<dyn Implementation>, seconds: u64) -> Proof {
    proved_by(entry, implementation, seconds, vec![SolverProgram::Z3])
}

fn proved_by(
    entry: &Entry,
    implementation: Arc<dyn Implementation>,
    seconds: u64,
    solvers: Vec<SolverProgram>,
) -> Proof {
    let source = source(entry, implementation);
    let (limit, executions) = (SolverLimit::of(seconds * SolverLimit::SECOND), EXECUTIONS);
    prove(&source, &ProofOptions { solvers, limit, executions, confirms: true, keep: false, diagnoses: true })
}

/// Returns the errors that kept the prover from a proof, in words.
fn errors(proof: &Proof) -> Vec<String> {
    proof.errors.iter().map(ToString::to_string).collect()
}

/// Returns the obligations that are not shown.
fn open(proof: &Proof) -> Vec<&str> {
    proof.rows.iter().filter(|row| !row.is_shown()).map(|row| row.obligation.as_str()).collect()
}

fn same(_: &mut Spec) {}

/// LOCO Theorem 3.15, for every client.
fn sv_is_proved() {
    let proof = found("sv", "published", same, None, 20);
    assert_eq!(open(&proof), Vec::<&str>::new());
    assert!(proof.is_proved(), "{:?}", proof.errors);
    let needs_none = |closed| matches!(closed, Some(Closed::Definition | Closed::Nothing));
    assert!(proof.executions > 100 && proof.rows.iter().all(|row| row.witnessed || needs_none(row.closed)));
    // An obligation about nothing counts as not witnessed, and no solver was asked about it.
    let about_nothing = proof.rows.iter().filter(|row| row.closed == Some(Closed::Nothing)).collect::<Vec<_>>();
    assert!(about_nothing.iter().all(|row| !row.witnessed && row.answers.is_empty() && row.file().is_none()));
    // The paper's g: the image of aGF_n is the Wait of the fence, and all other subevents are their own images.
    let g = &proof.concretisation;
    assert!(g.contains(&"aGF of GF: aWT of Wait".to_owned()), "{g:?}");
    let names: Vec<&str> = proof.rows.iter().map(|row| row.obligation.as_str()).collect();
    for part in ["iso", "rf", "pf", "rb", "mo"] {
        assert!(names.contains(&format!("{part}' inside hb").as_str()), "{part}: {names:?}");
    }
    assert!(names.contains(&"condition 1 for aGF of GF, a0 = aNRW before it: by aWT of Wait"), "{names:?}");
    assert!(names.contains(&"own-write is empty") && names.contains(&"mo is total"), "{names:?}");
    // A file in SMT-LIB stands alone.
    let of_solver = |row: &&ObligationResult| row.closed == Some(Closed::Solver);
    assert!(proof.rows.iter().all(|row| row.file().is_some() == of_solver(&row)));
    let file =
        proof.rows.iter().find(|row| row.obligation == "own-write is empty").and_then(ObligationResult::file).unwrap();
    assert!(file.contains("(check-sat)") && file.contains("; Obligation: own-write is empty"), "{file}");
}

fn a_fence_of_puts_is_not_proved() {
    let proof = found("sv", "fence-of-puts", same, None, 2);
    assert!(!proof.is_proved());
    assert_eq!(errors(&proof), ["nothing in GF stands for aGF of GF"]);
    assert_eq!(open(&proof).iter().filter(|name| !name.starts_with("condition 1 for aGF")).count(), 0);
}

/// SV needs each of these parts of so of the memory model.
fn less_below_proves_less() {
    let without_mo: Change = |spec| spec.so.retain(|(name, _)| *name != "mo");
    let proof = found("sv", "published", same, Some(without_mo), 2);
    assert!(open(&proof).contains(&"mo' inside hb") && !proof.is_proved());
    let without_pfg: Change = |spec| spec.so.retain(|(name, _)| !["pfg", "ib"].contains(name));
    let proof = found("sv", "published", same, Some(without_pfg), 2);
    assert!(!proof.is_proved());
    assert!(errors(&proof).contains(&"nothing in GF stands for aGF of GF".to_owned()), "{:?}", proof.errors);
}

/// SV does not keep program order, and has executions in which a thread's writes come late.
fn more_above_is_not_proved() {
    let ordered: Change = |spec| spec.so.push(("po", po()));
    let proof = found("sv", "published", ordered, None, 2);
    assert!(open(&proof).contains(&"po' inside hb") && !proof.is_proved());
    let nothing: Change = |spec| spec.empty("nothing", &po());
    let proof = found("sv", "published", nothing, None, 2);
    assert!(open(&proof).contains(&"nothing is empty") && !proof.is_proved());
    // The specification gets a closure that no closure below contains.
    let everything: Change = |spec| spec.irreflexive("circle", &(po() | po().inv()).plus());
    let proof = found("sv", "published", everything, None, 2);
    assert!(open(&proof).iter().any(|row| row.contains("+ has ")) && !proof.is_proved(), "{:?}", open(&proof));
}

/// SYNC Theorem 2, for every client.
fn slock() {
    let proof = found("slock", "published", same, None, 20);
    assert_eq!(open(&proof), Vec::<&str>::new());
    assert!(proof.is_proved() && proof.executions > 0, "{:?}", proof.errors);
    let names: Vec<&str> = proof.rows.iter().map(|row| row.obligation.as_str()).collect();
    for assumption in ["wlock requires: every Acq is released", "wlock requires: every Rel has an Acq"] {
        assert!(names.contains(&assumption), "{names:?}");
    }
    let proof = found("slock", "no-fence", same, None, 2);
    assert!(!proof.is_proved() && errors(&proof).contains(&"nothing in Rel stands for aGF of Rel".to_owned()));
    let proof = found("slock", "fence-after", same, None, 2);
    assert!(!proof.is_proved() && !open(&proof).is_empty(), "{:?} {:?}", proof.errors, proof.concretisation);
}

/// Returns the obligations about a ring that are shown, except for those that hold by definition.
fn shown_of_ring(proof: &Proof) -> Vec<&str> {
    proof.rows.iter().filter(|row| row.is_shown()).map(|row| row.obligation.as_str()).collect()
}

/// LOCO Theorem 5.3, except for the obligations that need facts about numbers. All obligations are asked, and it is
/// shown that the writer's fence puts its own messages into hb.
fn of_rings_it_is_said_what_is_shown() {
    let laws = ["rf relates a write and a read of one cell", "rf: a read has one source"];
    let numbers = ["rf: what is read was written", "rf: a read without a source reads the initial value"];
    let proof = found("rbl", "fenced", same, None, 10);
    assert_eq!(errors(&proof), Vec::<String>::new());
    assert!(!proof.is_proved() && proof.executions > 100 && proof.plain > 90);
    assert_eq!(shown_of_ring(&proof), [laws[0], laws[1], "rf' inside hb"]);
    assert_eq!(open(&proof), [numbers[0], numbers[1], "once is empty", "in-order is empty", "fb' inside hb"]);
    assert!(proof.rows.iter().all(|row| row.result() != "not asked"));
    let g = &proof.concretisation;
    for stands in
        ["aCR of Receive.1: aCR of Read 4", "aNRW of Submit.2: aNRW of Bcast 2", "aCW of Submit.2: aCW of Write 2"]
    {
        assert!(g.contains(&stands.to_owned()), "{g:?}");
    }
    // Without the fence a writer that reads its own ring breaks the proof. An hb' that g carries into hb does not help:
    // that g carries so' into hb does not follow from it.
    for library in ["rbl", "rbl-weak"] {
        let proof = found(library, "published", same, None, 10);
        assert_eq!(shown_of_ring(&proof), laws, "{library}");
        assert!(open(&proof).contains(&"rf' inside hb") && !proof.is_proved(), "{library}");
    }
}

fn no_broken_ring_is_proved() {
    for variant in ["no-wait", "head-first", "room-off-by-one"] {
        let proof = found("rbl", variant, same, None, 2);
        assert!(!proof.is_proved() && open(&proof).contains(&"once is empty"), "{variant}: {:?}", proof.errors);
    }
    let all = catalogue();
    let entry = named(&all, "rbl").unwrap();
    let fenced = entry.variant("fenced").unwrap().implementation.clone();
    let kept_to_itself = fenced.without(calls!(Sv::Bcast { .. } in Ring::Submit { .. }));
    let proof = shown(entry, Arc::new(kept_to_itself), 2);
    assert_eq!(errors(&proof), ["nothing in Submit.2 stands for aNRW of Submit"]);
    // A promise that a ring does not keep is not shown.
    let nothing: Change = |spec| spec.empty("nothing", &po());
    let proof = found("rbl", "fenced", nothing, None, 2);
    assert!(open(&proof).contains(&"nothing is empty"), "{:?}", open(&proof));
}

/// The strong lock with calls that break the assumption of the weak lock, so that the weak lock guarantees nothing.
#[derive(Clone, Copy)]
enum Unpaired {
    /// One call acquires two locks.
    AcquiredTwice,
    /// One call acquires, and no later call releases.
    NeverReleased,
    /// The call that acquires also releases.
    ReleasedTwice,
}

impl Unpaired {
    fn implementation(self) -> Edited {
        let acquire = |x| SlockOverWlock.inlined(&Lock::acq(slock::SLOCK, x));
        let release = |x| SlockOverWlock.inlined(&Lock::rel(slock::SLOCK, x));
        let with = |call: fn(Name, Expr) -> Body| move |x: Expr| call(wlock::WLOCK, x.part("weak", []));
        let (acq, rel) = (with(|of, x| Lock::acq(of, x)), with(|of, x| Lock::rel(of, x)));
        let bodies = bodies! { Lock:
            Acq { x } => {
                match self {
                    Self::AcquiredTwice => acquire(x).then(acq(x)),
                    Self::ReleasedTwice => acquire(x).then(rel(x)),
                    Self::NeverReleased => acquire(x),
                }
            }
            Rel { x } => { if matches!(self, Self::NeverReleased) { Sv::gf(all_nodes()) } else { release(x) } }
        };
        SlockOverWlock.with("calls that are not paired", &bodies)
    }
}

/// Asserts that the pairs of calls that WLOCK assumes are an open obligation.
fn asks_the_assumption(broken: &Unpaired) {
    let all = catalogue();
    let entry = named(&all, "slock").unwrap();
    let proof = shown(entry, Arc::new(broken.implementation()), 2);
    assert!(!proof.is_proved());
    assert!(open(&proof).iter().any(|name| name.starts_with("wlock requires")), "{:?}", open(&proof));
}

/// SYNC Theorem 4, for every client: a CAS in four branches. The order of the critical sections determines the sources.
fn sc_rmw_is_proved() {
    let proof = found("sc-rmw", "published", same, None, 60);
    assert_eq!(open(&proof), Vec::<&str>::new());
    assert!(proof.is_proved(), "{:?}", proof.errors);
    let lemmas = proof.rows.iter().filter(|row| row.obligation.starts_with("lemma: ")).count();
    assert!(lemmas > 7 && proof.concretisation.contains(&"aMF of Read: aMF of Acq".to_owned()));
}

fn no_variant_of_sc_rmw_is_proved() {
    let all = catalogue();
    let entry = named(&all, "sc-rmw").unwrap();
    for variant in ["write-no-lock", "cas-writes-two"] {
        let proof = shown(entry, entry.variant(variant).unwrap().implementation.clone(), 2);
        assert!(!proof.is_proved() && !open(&proof).is_empty(), "{variant}");
        assert!(proof.concretisation.contains(&"aMF of Read: aMF of Acq".to_owned()), "{:?}", proof.concretisation);
    }
}

/// A branch for few constants is a kind of calls of its own, and the kind's promise does not hold.
fn no_branch_on_constants_is_proved() {
    let all = catalogue();
    let sc_rmw = named(&all, "sc-rmw").unwrap();
    for (compared, new, read, returned) in [(0, 2, 0, 7), (1, 3, 1, 0)] {
        let cas = bodies! { Sc:
            CAS { x, v1, v2 } => {
                let v = ScRmwOverNlock.inlined(&Sc::cas(x, v1, v2));
                if (v1.is(compared) & v2.is(new) & v.is(read)) { returned } else { v }
            }
        };
        let edited = ScRmwOverNlock.with("another result of one CAS", &cas);
        let proof = shown(sc_rmw, Arc::new(edited), 2);
        assert!(!proof.is_proved(), "CAS({compared}, {new}) that reads {read} returns {returned}");
        let obligation = "rf: what is read was written";
        assert!(open(&proof).contains(&obligation), "{:?} {:?}", open(&proof), proof.errors);
    }
    let proof = shown(named(&all, "wlock").unwrap(), WeakLock::EndsAtTicketThree.implementation(), 20);
    assert!(!proof.is_proved(), "the loop ends when the ticket is 3: {:?}", proof.errors);
    let later = "lemma: who has a later ticket comes after the Rel";
    assert!(open(&proof).contains(&later), "{:?} {:?}", open(&proof), proof.errors);
}

/// SYNC §5, last remark, for every client: a call reads the state that the previous critical section has left.
fn counter_and_map_are_proved() {
    for library in ["counter", "map"] {
        let proof = found(library, "published", same, None, 60);
        assert_eq!(open(&proof), Vec::<&str>::new(), "{library}");
        assert!(proof.is_proved() && proof.executions > 100, "{library}: {:?}", proof.errors);
    }
}

/// A state of two words: each word is shown without names for the subevents of the other.
fn queue_is_proved() {
    let proof = found("queue", "published", same, None, 300);
    assert_eq!(open(&proof), Vec::<&str>::new());
    assert!(proof.is_proved() && proof.executions > 10, "{:?}", proof.errors);
}

/// LOCO-X Theorem H.10, for every client: the hash stands for a tuple, and no word does.
fn msw_is_proved() {
    let proof = found("msw", "published", same, None, 60);
    assert_eq!(open(&proof), Vec::<&str>::new());
    assert!(proof.is_proved() && proof.executions > 100, "{:?}", proof.errors);
    // The words are written in this order: the first one is the hash.
    let stands = |of: &str, what: &str| proof.concretisation.contains(&format!("{of}: {what}"));
    assert!(stands("aCR of TryRead.1", "aCR of Read") && stands("aNRW of Put", "aNRW of Put"));
}

fn no_variant_of_msw_is_proved() {
    for variant in ["first-word-only", "sum", "guard-forward", "guard-backward"] {
        let proof = found("msw", variant, same, None, 2);
        assert!(!proof.is_proved(), "{variant}");
        assert!(!open(&proof).is_empty() || !proof.errors.is_empty(), "{variant}");
    }
}

/// A solver takes many steps to show that seven things do not fit into six places.
fn what_takes_many_steps_is_given_up_at_once() {
    let mut theory = Theory::default();
    let is_in = |thing: usize, place: usize| symbol(&format!("is.{thing}.in.{place}"));
    for thing in 0..7 {
        (0..6).for_each(|place| theory.function(&format!("is.{thing}.in.{place}"), &[], "Bool"));
        theory.axiom("it is somewhere", or((0..6).map(|place| is_in(thing, place))));
    }
    for (one, other) in (0..7).tuple_combinations() {
        theory.axiom("not both", and((0..6).map(|place| not(and([is_in(one, place), is_in(other, place)])))));
    }
    let answer = |effort| ask_all(SolverProgram::Z3, &theory, SolverLimit::of(60 * SolverLimit::SECOND), effort).0;
    assert!(matches!(answer(Effort::Little), SolverAnswer::Unknown(_)));
    // The next question has no limit of steps.
    assert_eq!(answer(Effort::Full), SolverAnswer::Follows);
}

/// A process answers questions about several theories, and keeps no statement of one for another.
fn a_solver_forgets_what_it_was_reported() {
    let neither = |elements: &[&str], says: bool| {
        let mut theory = Theory::default();
        theory.elements("Colour", elements.iter().map(|e| (*e).to_owned()));
        theory.function("it", &[], "Colour");
        for colour in if says { &["red", "green"][..] } else { &[] } {
            theory.axiom("it is another", not(equal(symbol("it"), symbol(colour))));
        }
        ask_all(SolverProgram::Z3, &theory, SolverLimit::of(10 * SolverLimit::SECOND), Effort::Full).0
    };
    assert_eq!(neither(&["red", "green"], true), SolverAnswer::Follows);
    assert_eq!(neither(&["red", "green"], false), SolverAnswer::Fails);
    assert_eq!(neither(&["red", "green", "blue"], true), SolverAnswer::Fails);
    assert_eq!(neither(&["red", "green"], true), SolverAnswer::Follows);
}

fn no_variant_of_counter_is_proved() {
    for variant in ["no-lock", "no-wait", "release-first"] {
        let proof = found("counter", variant, same, None, 2);
        assert!(!proof.is_proved(), "{variant}");
        assert!(!open(&proof).is_empty() || !proof.errors.is_empty(), "{variant}");
    }
}

fn a_counter_that_adds_two_is_not_proved() {
    let all = catalogue();
    let proof = shown(named(&all, "counter").unwrap(), Arc::new(LinearisedOverNlock::new(Arc::new(ByTwo))), 2);
    assert!(!proof.is_proved());
    assert!(!open(&proof).is_empty() || !proof.errors.is_empty(), "{:?}", proof.errors);
}

/// SYNC Theorem 1, for every client: an Acq goes through all threads and ends at one.
fn wlock_is_proved() {
    let proof = found("wlock", "published", same, None, 20);
    assert_eq!(open(&proof), Vec::<&str>::new());
    assert!(proof.is_proved() && proof.executions > 30, "{:?}", proof.errors);
    let names: Vec<&str> = proof.rows.iter().map(|row| row.obligation.as_str()).collect();
    for name in ["lemma: who has a later ticket comes after the Rel", "lo is total", "lo' inside hb"] {
        assert!(names.contains(&name), "{names:?}");
    }
    // It ends with the read that sees its ticket.
    assert_eq!(proof.concretisation, ["aMF of Acq: aCR of Read 2", "aCW of Rel: aCW of Write"]);
}

/// A variant of the weak lock.
#[derive(Clone, Copy, Debug)]
enum WeakLock {
    /// The published one, with other words.
    Published,
    /// An Acq takes the same ticket as another.
    SharesTickets,
    /// A Rel passes on its own ticket.
    PassesOnItsOwn,
    /// A loop ends by a read that is not the last of its round, so nothing is known of that read.
    EndsByAnEarlierRead,
    /// A nonzero word of any thread lets an Acq in.
    EndsWhereItMustNot,
    /// A loop ends one ticket early too.
    EndsOneEarly,
    /// A loop also ends if the ticket is 3, which no small client takes.
    EndsAtTicketThree,
    /// The published one, without its author's lemmas.
    SaysNothing,
}

impl WeakLock {
    /// Returns the further condition under which a loop ends although the word that is seen is not the ticket.
    fn lets_in(self, seen: Expr, ticket: Expr) -> Expr {
        match self {
            Self::EndsWhereItMustNot => seen.is_not(0),
            Self::EndsOneEarly => (seen + 1).is(ticket),
            Self::EndsAtTicketThree => ticket.is(3),
            _ => false.into(),
        }
    }

    fn implementation(self) -> Arc<dyn Implementation> {
        let (ticket, passed) = (|x: Expr| x.part("ticket", [me()]), |x: Expr, t: Expr| x.part("passed", [t]));
        let adds = i64::from(!matches!(self, Self::SharesTickets));
        let passes = i64::from(!matches!(self, Self::PassesOnItsOwn));
        let looks = |x: Expr| {
            body! {
                let v = Wait::read(ticket(x));
                loop {
                    for t in (all_threads()) {
                        let seen = Sv::read(passed(x, t));
                        if (seen.is(v) | self.lets_in(seen, v)) { break }
                    }
                }
            }
        };
        let looks_twice = |x: Expr| {
            body! {
                let v = Wait::read(ticket(x));
                loop {
                    let seen = Sv::read(passed(x, me()));
                    Sv::read(passed(x, me()));
                    if (seen == v) { break }
                }
            }
        };
        let bodies = bodies! { Lock:
            Acq { x } => {
                Wait::rfaa(ticket(x), x.part("dispenser", []), adds, x.wid("d"));
                Wait::wait(x.wid("d"));
                if matches!(self, Self::EndsByAnEarlierRead) { looks_twice(x) } else { looks(x) }
            }
            Rel { x } => {
                let v = Wait::read(ticket(x));
                Sv::write(passed(x, me()), v + passes);
                Sv::bcast(passed(x, me()), Val::NoWid, all_nodes().without(here()));
            }
        };
        let edited = WlockOverSv.with("another weak lock", &bodies);
        if matches!(self, Self::SaysNothing) { Arc::new(Says(edited, Vec::new)) } else { Arc::new(edited) }
    }
}

/// An implementation with other lemmas.
struct Says<I>(I, fn() -> Vec<Lemma>);

impl<I: Implementation> Implementation for Says<I> {
    fn target(&self) -> Name {
        self.0.target()
    }

    fn parts(&self) -> Option<&Parts> {
        self.0.parts()
    }

    fn bodies(&self) -> Option<&Bodies> {
        self.0.bodies()
    }

    fn lemmas(&self) -> Vec<Lemma> {
        (self.1)()
    }
}

fn no_broken_wlock_is_proved() {
    let all = catalogue();
    let entry = named(&all, "wlock").unwrap();
    let is_proved = |lock: WeakLock, seconds| shown(entry, lock.implementation(), seconds).is_proved();
    assert!(is_proved(WeakLock::Published, 20));
    let tickets = "lemma: no two Acq have one ticket";
    let later = "lemma: who has a later ticket comes after the Rel";
    for (lock, why) in [
        (WeakLock::SharesTickets, tickets),
        // No Acq with a ticket but 0 returns. So the lemma holds, and the orders of the sections are vacuous.
        (WeakLock::PassesOnItsOwn, "lo' inside hb"),
        (WeakLock::EndsByAnEarlierRead, later),
        (WeakLock::EndsWhereItMustNot, later),
        (WeakLock::EndsOneEarly, later),
        (WeakLock::SaysNothing, "lo' inside hb"),
    ] {
        let proof = shown(entry, lock.implementation(), 2);
        assert!(!proof.is_proved(), "{lock:?}");
        assert!(open(&proof).contains(&why), "{lock:?}: {:?} {:?}", open(&proof), proof.errors);
    }
    let no_wait = shown(entry, entry.variant("no-wait").unwrap().implementation.clone(), 2);
    assert!(open(&no_wait).contains(&tickets) && !no_wait.is_proved(), "{:?}", open(&no_wait));
}

/// SYNC Theorem 3, for every client: in every round an Acq gets the word that releases.
fn nlock_is_proved() {
    let proof = found("nlock", "published", same, None, 20);
    assert_eq!(open(&proof), Vec::<&str>::new());
    assert!(proof.is_proved() && proof.executions > 30, "{:?}", proof.errors);
    let names: Vec<&str> = proof.rows.iter().map(|row| row.obligation.as_str()).collect();
    for name in ["lemma: a Rel sends what its Acq has left", "lo is total", "fence' inside hb", "lo' inside hb"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(proof.concretisation.contains(&"aMF of Acq: aCR of Read 3".to_owned()), "{:?}", proof.concretisation);
}

/// A variant of the node lock: other rounds.
#[derive(Clone, Copy, Debug)]
enum NodeLock {
    /// The published rounds.
    Published,
    /// A round before the last one does not wait, so its get may arrive after the ticket to pass on was written.
    DoesNotWait,
    /// A round writes the ticket into the word that releases before it reads that word.
    ReleasesItself,
}

impl NodeLock {
    fn implementation(self) -> Edited {
        let (ticket, released) = (|x: Expr| x.part("ticket", [me()]), |x: Expr| x.part("released", []));
        let get = move |x: Expr, d: Expr| Wait::get(ticket(x), released(x), d);
        let bodies = bodies! { Lock:
            Acq { x } => {
                Wait::rfaa(ticket(x), x.part("dispenser", []), 1, x.wid("d"));
                Wait::wait(x.wid("d"));
                let v = Wait::read(ticket(x));
                loop {
                    match self {
                        Self::Published => get(x, x.wid("d")),
                        Self::DoesNotWait => get(x, x.wid("late")),
                        Self::ReleasesItself => Wait::put(released(x), ticket(x), x.wid("d")).then(get(x, x.wid("d"))),
                    };
                    Wait::wait(x.wid("d"));
                    let w = Wait::read(ticket(x));
                    if (w == v) { break }
                }
                Wait::write(ticket(x), v + 1)
            }
        };
        NlockOverWait.with("other rounds", &bodies)
    }
}

fn no_broken_nlock_is_proved() {
    let all = catalogue();
    let entry = named(&all, "nlock").unwrap();
    let published = shown(entry, Arc::new(NodeLock::Published.implementation()), 20);
    assert!(published.is_proved(), "{:?} {:?}", open(&published), published.errors);
    for lock in [NodeLock::DoesNotWait, NodeLock::ReleasesItself] {
        let proof = shown(entry, Arc::new(lock.implementation()), 2);
        assert!(!proof.is_proved(), "{lock:?}");
        let later = "lemma: who has a later ticket comes after the Rel";
        assert!(open(&proof).contains(&later), "{lock:?}: {:?} {:?}", open(&proof), proof.errors);
    }
    for (variant, why) in [("no-rfence", "nothing in Rel stands for aRF of Rel"), ("release-by-write", "")] {
        let proof = shown(entry, entry.variant(variant).unwrap().implementation.clone(), 2);
        assert!(!proof.is_proved(), "{variant}");
        assert!(why.is_empty() || errors(&proof).contains(&why.to_owned()), "{variant}: {:?}", proof.errors);
    }
}

/// A lock over x86-TSO with an edit that shows only when a word is 2.
#[derive(Clone, Copy, Debug)]
enum X86Lock {
    /// The spin lock takes a word that is 2, too. No release writes 2.
    TakesTwo,
    /// The spin lock returns without the lock if its word is 1.
    TakesOne,
    /// An Acq with ticket 2 does not wait.
    EndsAtTicketTwo,
    /// A Rel at turn 2 goes back to turn 1.
    GoesBackAtTwo,
}

impl X86Lock {
    fn implementation(self) -> Edited {
        let [taken, next, serving] = ["taken", "next", "serving"].map(|part| move |x: Expr| x.part(part, []));
        let spin = |also: i64| {
            bodies! { Lock:
                Acq { x } => { loop { let v = Tso::cas(taken(x), 0, 1); if (v.is(0) | v.is(also)) { break } } }
            }
        };
        let acquire = bodies! { Lock:
            Acq { x } => {
                let v = Tso::faa(next(x), 1);
                loop { let w = Tso::read(serving(x)); if (w.is(v) | v.is(2)) { break } }
            }
        };
        let release = bodies! { Lock:
            Rel { x } => {
                let v = Tso::read(serving(x));
                if (v.is(2)) { Tso::write(serving(x), 1) } else { Tso::write(serving(x), v + 1) }
            }
        };
        match self {
            Self::TakesTwo => Spin.with("takes 2", &spin(2)),
            Self::TakesOne => Spin.with("takes 1", &spin(1)),
            Self::EndsAtTicketTwo => Ticket.with("ends at ticket 2", &acquire),
            Self::GoesBackAtTwo => Ticket.with("goes back at turn 2", &release),
        }
    }
}

/// For every client: a round whose compare-and-swap fails only reads.
fn a_spin_lock_over_x86_is_proved() {
    let all = x86::catalogue();
    let entry = named(&all, "spinlock").unwrap();
    assert!(shown(entry, entry.variant("published").unwrap().implementation.clone(), 20).is_proved());
}

/// For every client: a failed compare-and-swap of a loop only reads, and tickets by fetch-and-add differ and grow.
fn locks_over_x86() {
    let all = x86::catalogue();
    for library in ["spinlock", "ticketlock"] {
        let entry = named(&all, library).unwrap();
        let proof = shown(entry, entry.variant("published").unwrap().implementation.clone(), 20);
        assert_eq!(open(&proof), Vec::<&str>::new());
        assert!(proof.is_proved() && proof.executions > 10, "{:?}", proof.errors);
        for variant in entry.variants.iter().filter(|variant| variant.name != "published") {
            let proof = shown(entry, variant.implementation.clone(), 1);
            assert!(!proof.is_proved(), "{library} {}", variant.name);
        }
    }
    for (library, lock) in [
        ("spinlock", X86Lock::TakesTwo),
        ("spinlock", X86Lock::TakesOne),
        ("ticketlock", X86Lock::EndsAtTicketTwo),
        ("ticketlock", X86Lock::GoesBackAtTwo),
    ] {
        let proof = shown(named(&all, library).unwrap(), Arc::new(lock.implementation()), 1);
        assert!(!proof.is_proved(), "{lock:?}");
        println!("{lock:?} {:?} {:?}", open(&proof), errors(&proof));
        let later = "lemma: who";
        assert!(open(&proof).iter().any(|name| name.starts_with(later)), "{lock:?}: {:?}", open(&proof));
    }
}

/// LOCO Theorem 4.2 and its transitive variant, for any number of participants and rounds.
fn barriers_are_proved() {
    for library in ["bal", "bal-transitive"] {
        let proof = found(library, "published", same, None, 20);
        assert_eq!(open(&proof), Vec::<&str>::new(), "{library}");
        assert!(proof.is_proved() && proof.executions > 50, "{library}: {:?}", proof.errors);
        let names: Vec<&str> = proof.rows.iter().map(|row| row.obligation.as_str()).collect();
        for name in [
            "lemma: the n-th call finds n in its counter",
            "round' inside hb",
            "each round of BAR has a call of every thread that takes part",
        ] {
            assert!(names.contains(&name), "{names:?}");
        }
        let last = "aCR of BAR: aCR of Read 2".to_owned();
        assert!(proof.concretisation.contains(&last), "{:?}", proof.concretisation);
    }
}

/// The barrier for puts: the first broadcast and the fence of the own node stand for its promises, though later subevents have
/// the same stamp.
fn the_barrier_for_puts_is_proved() {
    let proof = found("bal-puts", "published", same, None, 20);
    assert_eq!(open(&proof), Vec::<&str>::new());
    assert!(proof.is_proved() && proof.executions > 50, "{:?}", proof.errors);
    let g = ["aNRW of BAR: aNRW of Bcast", "aNRW of BAR: aGF of GF", "aCR of BAR: aCR of Read 3"];
    assert_eq!(proof.concretisation, g);
    for variant in ["one-pass", "early", "no-fence", "no-wait"] {
        let proof = found("bal-puts", variant, same, None, 1);
        assert!(!proof.is_proved(), "{variant}");
    }
}

fn no_broken_barrier_is_proved() {
    let proof = found("bal", "no-fence", same, None, 2);
    assert!(!proof.is_proved());
    assert_eq!(errors(&proof), ["nothing in BAR stands for aGF of BAR"]);
    // Without mo in so a thread may miss its own last count.
    let without_mo: Change = |spec| spec.so.retain(|(name, _)| *name != "mo");
    let all = catalogue();
    let entry = named(&all, "bal").unwrap();
    let below = entry.below.clone().respecified(sv::SV, without_mo);
    let published = entry.variant("published").unwrap().implementation.clone();
    let source = ProofSource { below: &below, ..source(entry, published) };
    let options = ProofOptions {
        solvers: vec![SolverProgram::Z3],
        limit: SolverLimit::of(2 * SolverLimit::SECOND),
        executions: EXECUTIONS / 6,
        confirms: true,
        keep: false,
        diagnoses: true,
    };
    let proof = prove(&source, &options);
    assert!(open(&proof).contains(&"lemma: the n-th call finds n in its counter"), "{:?}", open(&proof));
    assert!(!proof.is_proved());
    let proof = shown(entry, Arc::new(sees_what_it_counted()), 2);
    assert!(!proof.is_proved());
    assert!(open(&proof).contains(&"round' inside hb"), "{:?} {:?}", open(&proof), proof.errors);
}

/// A promise of each member is indexed by threads. Rounds are counted, also if the body counts nothing and goes through no member.
fn questions_about_members_have_sorts() {
    let all = catalogue();
    let bal = named(&all, "bal").unwrap();
    let count = |x: Expr| x.part("count", [me()]);
    let asked = |specification: &Libraries, bodies: Bodies| {
        let parts = parts! { x => for t in (members(x)) { x.part("count", [t]) => ObjectTerm::new(sv::SV); } };
        let implementation = Arc::new(Over::<Barrier>::terms_of(BAL, bodies).with_parts(parts));
        let options = ProofOptions { limit: SolverLimit::of(SolverLimit::SECOND), executions: 1_000, ..of_theorems() };
        let proof = prove(&ProofSource { specification, ..source(bal, implementation) }, &options);
        let results: Vec<String> = proof.rows.iter().map(ObligationResult::result).collect();
        assert!(results.iter().any(|result| result.starts_with("unknown")), "{results:?} {:?}", errors(&proof));
        assert!(results.iter().all(|result| !result.contains("failed")), "{results:?}");
    };
    let of_each = shapes! { Barrier: BAR { x } by members(x) => { for _t in (members(x)) { aMF } } };
    let by_members = bal.specification.clone().reshaped(BAL, OtherShapes(of_each.clone()));
    asked(&by_members, bodies! { Barrier: BAR { x } by members(x) => { Sv::read(count(x)); } });
    asked(
        &bal.specification,
        bodies! { Barrier: BAR { x } by members(x) => { Sv::gf(all_nodes()); Sv::read(count(x)); } },
    );
}

/// Returns the barrier that goes on when the others have come as often as its thread had before.
fn sees_what_it_counted() -> Edited {
    let count = |x: Expr, t: Expr| x.part("count", [t]);
    let bodies = bodies! { Barrier:
        BAR { x } by members(x) => {
            Sv::gf(nodes(members(x)));
            let v = Sv::read(count(x, me()));
            Sv::write(count(x, me()), v + 1);
            Sv::bcast(count(x, me()), Val::NoWid, nodes(members(x)).without(here()));
            for t in (members(x)) {
                loop { let seen = Sv::read(count(x, t)); if (seen >= v) { break } }
            }
        }
    };
    BalOverSv::default().with("goes on too early", &bodies)
}

/// Returns a false lemma about barriers.
fn says_what_is_not() -> Vec<Lemma> {
    let (c, d) = (call("c"), call("d"));
    let count = c.read(sv::SV, "Read", 1);
    vec![Lemma::new("all counters are alike").about(&[c, d]).then(value(count).is(index(d))).along_po(c)]
}

/// Returns a false lemma, which no small execution refutes, about calls that are about a set of nodes.
fn fences_five_times_at_most() -> Vec<Lemma> {
    let c = call("c");
    let lemma = Lemma::new("no thread fences six times").about(&[c]).given(c.is_a("GF"));
    vec![lemma.then(index(c).is(number(5)).negated()).along_po(c)]
}

/// Returns a true lemma that helps no proof.
fn says_nothing() -> Vec<Lemma> {
    let c = call("c");
    vec![Lemma::new("it is").about(&[c]).then(c.same_object(c))]
}

/// The options of proofs of theorems: a minute for each question, and all that is open is named.
fn of_theorems() -> ProofOptions {
    let limit = SolverLimit::of(60 * SolverLimit::SECOND);
    let solvers = vec![SolverProgram::Z3];
    ProofOptions { solvers, limit, executions: EXECUTIONS, confirms: true, keep: true, diagnoses: true }
}

fn robust(cpu: Cpu, variant: &str) -> Proof {
    robust::proved(cpu, variant, &of_theorems()).expect("it can be said in first-order logic")
}

/// ROBUST Theorems 5 and 17.
fn robustness_is_proved() {
    for (cpu, steps) in [(Cpu::Sc, 23), (Cpu::Tso, 37)] {
        let proof = robust(cpu, "published");
        assert!(proof.is_proved(), "{cpu:?}: {:?} {:?}", proof.errors, open(&proof));
        assert_eq!(proof.rows.len(), steps);
        assert!(proof.executions > 100);
        assert!(!proof.rows[0].file().unwrap().contains("forall"), "instances have no quantifiers");
    }
}

fn no_variant_of_robustness_is_proved() {
    for cpu in [Cpu::Sc, Cpu::Tso] {
        let open_of = |variant| {
            let proof = robust(cpu, variant);
            assert!(!proof.is_proved() && proof.errors.is_empty(), "{variant}: {:?}", proof.errors);
            open(&proof).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let racy = open_of("racy");
        assert!(racy.iter().any(|step| step.starts_with("rf does not go back")), "{racy:?}");
        assert!(racy.iter().all(|step| !step.starts_with("gb")), "{racy:?}");
        let unfenced = open_of("unfenced");
        assert!(matches!(&unfenced[..], [one] if one.contains("(Theorems 10, 16)")), "{unfenced:?}");
        let passed = open_of("poll-before-write");
        assert_eq!(passed[0], "gb inside hb (Theorems 7, 13): oppo");
    }
}

fn compiled(variant: &str) -> Proof {
    polls::proved(variant, &of_theorems()).expect("it can be said in first-order logic")
}

/// SYNC Theorem 6.
fn waits_to_polls_is_proved() {
    let proof = compiled("published");
    assert!(proof.is_proved(), "{:?} {:?}", proof.errors, open(&proof));
    assert_eq!(proof.rows.len(), 34);
    assert!(proof.executions > 100);
    assert!(!proof.rows[0].file().unwrap().contains("forall"), "instances have no quantifiers");
}

/// Each broken compiler is refused for the rule that it breaks, and only steps that need this rule are open.
fn no_broken_compiler_of_waits_is_proved() {
    let asked = "a wait finds the sets of its identifier empty, for each node";
    let added = |kind: &str| format!("{kind} is added to the set of its identifier and node");
    for (variant, lacks) in [
        ("poll-once", asked.to_owned()),
        ("gets-not-added", added("Get.aNRR.aNLW")),
        ("puts-not-added", added("Put.aNLR.aNRW")),
        ("first-node", asked.to_owned()),
    ] {
        let proof = compiled(variant);
        assert!(!proof.is_proved(), "{variant}");
        assert_eq!(errors(&proof), [format!("this is not so in compiled programs: {lacks}")], "{variant}");
        let open = open(&proof);
        assert_eq!(open[0], "a wait polls the identifier of each operation that it waits for", "{variant}");
        assert!(open.contains(&"g takes pfg into hb") && open.contains(&"hb' has pfg'"), "{variant}: {open:?}");
        assert!(open.iter().all(|step| step.contains("pf") || step.starts_with(['a', 'i'])), "{variant}: {open:?}");
    }
}

fn what_is_stated_is_proved_or_not_used() {
    let all = catalogue();
    let entry = named(&all, "bal").unwrap();
    let wrong = shown(entry, Arc::new(Says(BalOverSv::default(), says_what_is_not)), 2);
    let names = open(&wrong);
    assert!(names.contains(&"lemma: all counters are alike") && names.contains(&"round' inside hb"), "{names:?}");
    let idle = shown(entry, Arc::new(Says(BalOverSv::default(), says_nothing)), 2);
    let names = open(&idle);
    assert!(!names.contains(&"lemma: it is") && names.contains(&"round' inside hb"), "{names:?}");
    let sv = named(&all, "sv").unwrap();
    let fences = shown(sv, Arc::new(Says(SvOverWait, fences_five_times_at_most)), 2);
    let lemma = fences.rows.iter().find(|row| row.obligation == "lemma: no thread fences six times").unwrap();
    assert!(!lemma.is_shown() && !lemma.result().contains("failed"), "{}", lemma.result());
}

/// A second solver agrees on the same questions.
fn cvc5_agrees_on_sv() {
    let all = catalogue();
    let entry = named(&all, "sv").unwrap();
    let implementation = entry.variant("published").unwrap().implementation.clone();
    let proof = proved_by(entry, implementation, 20, vec![SolverProgram::Z3, SolverProgram::Cvc5]);
    assert!(proof.is_proved(), "{:?} {:?}", open(&proof), proof.errors);
    // What holds by definition is asked of no solver.
    let answers: Vec<usize> = proof.rows.iter().map(|row| row.answers.len()).filter(|n| *n > 0).collect();
    assert!(answers.len() > 3 && answers.iter().all(|n| *n == 2), "{answers:?}");
}

/// A cvc5 that prints proofs certifies questions about slock; the answer about an older one names the format.
fn certificates_of_slock() {
    let certifier = match Certifier::find(Duration::from_secs(10)) {
        Err(why) => return assert!(why.contains("cannot print proofs in the format CPC"), "{why}"),
        Ok(certifier) => certifier,
    };
    let all = catalogue();
    let entry = named(&all, "slock").unwrap();
    let source = source(entry, entry.variant("published").unwrap().implementation.clone());
    let (limit, executions) = (SolverLimit::of(20 * SolverLimit::SECOND), EXECUTIONS);
    let proof = prove(
        &source,
        &ProofOptions {
            solvers: vec![SolverProgram::Z3],
            limit,
            executions,
            confirms: true,
            keep: true,
            diagnoses: true,
        },
    );
    let queries = proof.rows.iter().flat_map(|row| &row.questions).enumerate();
    let leaves: Vec<(String, &Query)> = queries.map(|(i, query)| (format!("slock-{i}"), query)).collect();
    let folder = std::env::temp_dir().join(format!("mowgli-certificates-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let found = certifier.certify(&folder, &leaves).unwrap();
    let has_proof = std::fs::read_dir(&folder).unwrap().any(|file| file.unwrap().path().extension().unwrap() == "cpc");
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(found.proved > 2 && has_proof && found.rejected == 0, "{found}");
}
