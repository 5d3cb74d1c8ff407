//! Errors of implementations and lemmas: each is named, with what to do.

use std::sync::Arc;

use mowgli_check::check::{CheckOptions, check};
use mowgli_check::error::InputError;
use mowgli_core::algebra::{CELL, Rel, Spec, hb, id, po, same_event, stamped, writes};
use mowgli_core::expr::{Expr, all_nodes, all_threads, here, me, members, nodes, number as number_of, ret};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::{Hints, Libraries, Library, PlainSet};
use mowgli_core::methods;
use mowgli_core::rewrite::edit::{Edits, calls};
use mowgli_core::search::runs::Stop;
use mowgli_core::simple::{Over, Simple};
use mowgli_core::soundness::verdict::Verdict;
use mowgli_core::term::body::{Bodies, Body, bodies, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::lemma::{Fact, Lemma, call, index, node, number, thread};
use mowgli_core::term::method::Method;
use mowgli_core::term::parts::{ObjectTerm, Parts, parts};
use mowgli_core::term::shape::{Shapes, shapes};
use mowgli_core::value::Val;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Memory, Variant};
use mowgli_libraries::lock::Method as Lock;
use mowgli_libraries::msw::Method as Msw;
use mowgli_libraries::sv::{Method as Sv, SV, SvOverWait};
use mowgli_libraries::wlock::{LIBRARY, WLOCK};
use mowgli_prove::prove::{Proof, ProofOptions, prove};
use mowgli_prove::smt::solve::SolverLimit;
use mowgli_rdma::RdmaStamp::{aCR, aCW, aMF};
use mowgli_rdma::to;
use mowgli_rdma::wait::{Method as Rdma, WAIT, Wait};

use crate::common::source;

methods! {
    /// Calls of a word on each node.
    enum Words of WORDS = "words" {
        /// Writes the word of the own node.
        fn set = Set(x: Object, v: Value);
        /// Sends the word to a node.
        fn send = Send(x: Object, n: Node);
        /// Sends the word to some nodes.
        fn some = Some(x: Object, ns: Nodes);
    }
}

methods! {
    /// Calls about all of a set of nodes together.
    enum Whole of WHOLE = "whole" {
        /// Fences for these nodes.
        fn fence = Fence(x: Object, ns: Nodes);
        /// Reads for these nodes.
        fn look = Look(x: Object, ns: Nodes) -> Value;
    }
}

fn words() -> Entry {
    specified_by(|| {
        let mut spec = Spec::default();
        let mo = spec.order("mo", writes(), CELL);
        spec.irreflexive("coherent", &po().then(&mo));
        spec
    })
}

fn specified_by(spec: fn() -> Spec) -> Entry {
    let shapes = shapes! { Words:
        Set { x, v } => { aCW: writes x at here, v }
        Send { .. } => { aMF }
        Some { .. } => { aMF }
    };
    let below = Libraries::over(to).with(Wait);
    Entry::new(Memory::rdma_wait(), Simple::<Words>::new(shapes, spec), below, Vec::new())
}

/// An implementation with these parts and lemmas.
struct Stating(Arc<dyn Implementation>, Parts, Vec<Lemma>);

impl Implementation for Stating {
    fn target(&self) -> Name {
        self.0.target()
    }

    fn parts(&self) -> Option<&Parts> {
        Some(&self.1)
    }

    fn bodies(&self) -> Option<&Bodies> {
        self.0.bodies()
    }

    fn lemmas(&self) -> Vec<Lemma> {
        self.2.clone()
    }
}

fn copy(x: Expr, n: Expr) -> Expr {
    x.part("copy", [n])
}

fn copies() -> Parts {
    parts! { x => for n in (all_nodes()) { copy(x, n) => ObjectTerm::new(WAIT).at(n); } }
}

/// The body of a method with two arguments.
type BodyOfTwo<'b> = &'b dyn Fn(Expr, Expr) -> Body;

/// Returns the result of the prover for stamps alone, if `Send` has this body.
fn proof_of_stamps(fences: &dyn Fn(Expr) -> Body) -> Proof {
    prove(&source(&specified_by(Spec::default), sending(fences)), &without_solvers())
}

/// Returns the implementation in which `Send` has this body.
fn sending(fences: &dyn Fn(Expr) -> Body) -> Arc<dyn Implementation> {
    let bodies = bodies! { Words:
        Set { x, v } => { (writes_own(x, v)) }
        Send { x, .. } => { (fences(x)) }
        Some { .. } => { Rdma::mfence() }
    };
    Arc::new(Over::<Words>::terms(bodies).with_parts(copies()))
}

/// Returns the result of the prover, which asks no solver, for an implementation with these bodies of `Set` and `Send`.
fn proof(parts: Parts, set: BodyOfTwo<'_>, send: BodyOfTwo<'_>, lemmas: Vec<Lemma>) -> Proof {
    let bodies = bodies! { Words:
        Set { x, v } => { (set(x, v)) }
        Send { x, n } => { (send(x, n)); Rdma::mfence() }
        Some { x, ns } => { for n in (ns) { Rdma::put(copy(x, n), copy(x, here()), Val::NoWid) } Rdma::mfence() }
    };
    let implementation = Arc::new(Stating(Arc::new(Over::<Words>::terms(bodies)), parts, lemmas));
    prove(&source(&words(), implementation), &without_solvers())
}

fn without_solvers() -> ProofOptions {
    let (limit, executions) = (SolverLimit::of(SolverLimit::SECOND), 2_000);
    ProofOptions { solvers: Vec::new(), limit, executions, confirms: false, keep: false, diagnoses: true }
}

fn writes_own(x: Expr, v: Expr) -> Body {
    body! { Rdma::write(copy(x, here()), v) }
}

fn sends_nothing(_: Expr, _: Expr) -> Body {
    Body::unit()
}

/// Asserts that this is the only error; the empty text stands for none.
#[track_caller]
fn has_error(proof: &Proof, text: &str) {
    let errors: Vec<String> = proof.errors.iter().map(ToString::to_string).collect();
    match (text, &errors[..]) {
        ("", []) => assert!(proof.executions > 0, "no execution was read"),
        ("", errors) => panic!("{errors:?}"),
        (text, [one]) if one.contains(text) => {}
        (text, errors) => panic!("no `{text}` in {errors:?}"),
    }
}

#[test]
fn numbers_of_any_size_are_read() {
    for large in [1 << 32, i64::MIN] {
        let set = move |x: Expr, v: Expr| {
            body! {
                let k = Rdma::read(copy(x, here()));
                Rdma::write(copy(x, here()), v);
                Rdma::write(copy(x, here()), k + large)
            }
        };
        has_error(&proof(copies(), &set, &sends_nothing, Vec::new()), "");
    }
}

#[test]
fn a_comparison_that_no_template_has_is_named() {
    let own = |x: Expr| copy(x, here());
    let small = |x: Expr, v: Expr| body! { if (v < 2) { Rdma::write(own(x), v) } else { Rdma::write(own(x), 1) } };
    let found = proof(copies(), &small, &sends_nothing, Vec::new());
    has_error(&found, "and no equality of data distinguishes them: let its body compare data by `==`");
}

/// An argument may be the index of a part on a node. A node by its number may not, because small worlds do not have it.
#[test]
fn nodes_are_arguments_and_no_numbers() {
    let put = |to: Expr, x: Expr| body! { Rdma::put(to, copy(x, here()), Val::NoWid) };
    has_error(&proof(copies(), &writes_own, &|x, n| put(copy(x, n), x), Vec::new()), "");
    let to_two = |x, _| put(copy(x, Node(2).into()), x);
    let found = proof(copies(), &writes_own, &to_two, Vec::new());
    has_error(
        &found,
        "may not declare x.copy[2], because some worlds do not have the node 2: take no index by its number",
    );
    let one = |x: Expr| x.part("one", []);
    let on_one = copies().and(parts! { x => one(x) => ObjectTerm::new(WAIT).at(Node(1)); });
    let found = proof(on_one, &writes_own, &|x, _| put(one(x), x), Vec::new());
    has_error(&found, "aNLR is of a node by its number, which templates do not know: let its object live on `node(x)`");
}

/// Proofs run in worlds with the parts, so wrong parts are an error before that.
#[test]
fn parts_of_others_are_an_error() {
    let with = |name: Expr| {
        proof(copies().and(parts! { _x => name => ObjectTerm::new(WAIT); }), &writes_own, &sends_nothing, Vec::new())
    };
    let of_thread = copies().and(parts! { x => x.part("one", []) => ObjectTerm::new(WAIT).at(here()); });
    let found = proof(of_thread, &writes_own, &sends_nothing, Vec::new());
    has_error(
        &found,
        "x.one: rdma-wait-rmw at here: it depends on the thread that runs, and a part belongs to none: go through",
    );
    let of_memory = Expr::from(Loc::new("memory"));
    has_error(
        &with(of_memory.part("w", [])),
        "makes memory.w, a part of memory, which is of memory: only the implementation",
    );
    has_error(&with(of_memory), "makes memory, which a client could name: make parts by `x.part(..)`");
}

/// Returns `sv` with a change of its specification.
fn respecified(change: impl FnOnce(&mut Spec)) -> Entry {
    let sv = catalogue().into_iter().find(|entry| entry.name == "sv").expect("it is there");
    let specification = sv.specification.respecified(SV, change);
    Entry { specification, ..sv }
}

/// Returns the verdict of `check`, or its error with the help, and the errors of the prover without solvers.
fn asked_of_both(entry: Entry, implementation: impl Implementation + 'static) -> (Result<Verdict, String>, Proof) {
    let variant = Variant { implementation: Arc::new(implementation), ..entry.variants[0].clone() };
    let bound = Bound { threads: 1, nodes: 1, calls: 2, values: vec![1], ..Bound::default() };
    let entry = Entry { variants: vec![variant.clone()], ..entry };
    let checked = check(&entry, &variant, &bound, &CheckOptions::default());
    let with_help = |error: InputError| format!("{}: {}", error.message, error.help.unwrap_or_default());
    let proof = prove(&source(&entry, variant.implementation.clone()), &without_solvers());
    (checked.map(|checked| checked.report.verdict).map_err(with_help), proof)
}

/// Asserts that a change of a specification is an error of `check` and of `prove`, with this text.
#[track_caller]
fn is_wrong_form(change: impl FnOnce(&mut Spec), text: &str) {
    let (checked, proof) = asked_of_both(respecified(change), SvOverWait);
    let Err(why) = checked else { panic!("it is checked, without `{text}`") };
    assert!(why.contains(text), "no `{text}` in {why}");
    has_error(&proof, &why);
}

/// The search decides the pairs to orient as it adds subevents, and hb when so is known.
#[test]
fn pairs_to_orient_and_so_depend_on_neither_paths_nor_hb() {
    let oriented = |pairs: Rel| move |spec: &mut Spec| _ = spec.orient("turned", pairs);
    let closure = || stamped(aCW).on().then(&same_event()).then(&stamped(aCR).on()).plus();
    for pairs in [po().then(&po()), po().plus(), stamped(aCW).on().then(&po()) - closure(), hb()] {
        let text = "the specification of sv: whether turned orients two subevents depends on more than these two: orient pairs";
        is_wrong_form(oriented(pairs), text);
    }
    let of_choice = |spec: &mut Spec| {
        let rf = spec.chosen("rf").expect("it has rf");
        spec.orient("turned", po() - rf);
    };
    is_wrong_form(of_choice, "whether turned orients two subevents depends on more than these two");
    is_wrong_form(
        |spec| spec.so.push(("added", hb() & po())),
        "added is a part of so and mentions hb, of which so is a part: let",
    );
    let of_two = respecified(|spec| _ = spec.orient("turned", stamped(aCW).on().then(&po())));
    assert!(matches!(asked_of_both(of_two, SvOverWait).0, Ok(Verdict::Sound)));
}

/// Reads that fence order more than `sv` demands. So its least hb' breaks a demand for that order, and the largest one does not.
#[test]
fn a_specification_that_is_not_monotone_is_an_error() {
    let unordered = "the specification of sv: unordered can have more pairs where hb has fewer: let more of hb";
    for demand in [id() - hb(), hb() - hb(), po() - hb()] {
        is_wrong_form(|spec| spec.empty("unordered", &demand), unordered);
    }
    let fenced =
        SvOverWait.replace(calls!(|call| Rdma::Read { .. } in Sv::Read { .. } => body! { Rdma::mfence(); call }));
    let later = stamped(aCW).on().then(&po()).then(&stamped(aCR).on());
    let entry = respecified(|spec| spec.empty("in-order", &(later & hb().inv())));
    assert!(matches!(asked_of_both(entry, fenced).0, Ok(Verdict::Sound)));
}

/// A lock promises nothing if who has taken it does not release it, so bodies that do that are right by chance at most.
#[test]
fn an_implementation_keeps_the_assumptions_of_libraries_below() {
    let released = |other: &'static str| {
        let locked = SvOverWait.replace(calls!(|write| Rdma::Write { .. } in Sv::Write { x, .. } => body! {
            Lock::acq(WLOCK, x.part("lock", []));
            write;
            Lock::rel(WLOCK, x.part(other, []))
        }));
        let lock = || ObjectTerm::new(WLOCK).at(Node(1));
        let locks = parts! { x => x.part("lock", []) => lock(); x.part("other", []) => lock(); };
        let parts = locked.parts().expect("terms").clone().and(locks);
        let sv = respecified(|_| ());
        let below = sv.below.clone().with(LIBRARY);
        asked_of_both(Entry { below, ..sv }, Stating(Arc::new(locked), parts, Vec::new()))
    };
    let (kept, broken) = (released("lock"), released("other"));
    assert!(matches!(kept.0, Ok(Verdict::Sound)), "{:?}", kept.0);
    let Ok(Verdict::Undecided(Stop::IllDefined(fault))) = broken.0 else { panic!("{:?}", broken.0) };
    assert!(fault.to_string().contains("an execution of the bodies breaks the assumption of wlock ("), "{fault}");
    assert!(!broken.1.is_proved());
}

/// A call with a fault has no execution, so that no obligation is about it. The library decides, whatever value leads to the call.
#[test]
fn faults_that_only_rare_values_reach_are_refused() {
    let own = |x: Expr| copy(x, here());
    let others = || all_nodes().without(here());
    let if_rare = |wrong: &dyn Fn(Expr, Expr) -> Body| {
        let set = |x: Expr, v: Expr| {
            body! { let w = Rdma::read(own(x)); if (w == 12345) { (wrong(x, w)) } Rdma::write(own(x), v) }
        };
        let unread =
            parts! { x => for n in (all_nodes()) { x.part("unread", [n]) => ObjectTerm::new(WAIT).at(n).size(0); } };
        proof(copies().and(unread), &set, &sends_nothing, Vec::new())
    };
    let fault = "may have a fault (LOCO Def. 3.9)";
    has_error(&if_rare(&|x, _| body! { for n in (others()) { Rdma::read(copy(x, n)) } }), fault);
    has_error(&if_rare(&|x, _| body! { for n in (others()) { loop { Rdma::read(copy(x, n)) } } }), fault);
    has_error(&if_rare(&|x, _| Rdma::put(own(x), own(x), x)), "x is no identifier");
    has_error(&if_rare(&|x, _| Rdma::read(x.part("unread", [here()]))), "at which nobody is to look");
    let conditions: [fn(Expr) -> Expr; 6] = [
        |v| v.is(12345),
        |v| v.is(100_001),
        |v| v.is(-100_001),
        |v| v.above(7),
        |v| v.below(0),
        |v| v.above(7) & v.is_not(9),
    ];
    for is_rare in conditions {
        let wrong = |x: Expr, v: Expr| body! { for n in (others()) { Rdma::write(copy(x, n), v) } };
        let of_argument = |x: Expr, v: Expr| body! { if (is_rare(v)) { (wrong(x, v)) } Rdma::write(own(x), v) };
        has_error(&proof(copies(), &of_argument, &sends_nothing, Vec::new()), fault);
        let of_result = |x: Expr, v: Expr| {
            body! { let w = Rdma::read(own(x)); if (is_rare(w)) { (wrong(x, w)) } Rdma::write(own(x), v) }
        };
        has_error(&proof(copies(), &of_result, &sends_nothing, Vec::new()), fault);
    }
    has_error(&if_rare(&|x, _| body! { for n in (others()) { Rdma::put(copy(x, n), own(x), Val::NoWid) } }), "");
}

/// A condition on threads, nodes or objects may hold in large worlds only.
#[test]
fn faults_that_only_large_worlds_reach_are_refused() {
    let own = |x: Expr| copy(x, here());
    let others = |x: Expr| body! { for n in (all_nodes().without(here())) { Rdma::write(copy(x, n), 1) } };
    let if_large = |condition: Expr, writes: &dyn Fn(Expr) -> Body| {
        let set = |x: Expr, v: Expr| body! { Rdma::write(own(x), v); if (condition) { loop { (writes(x)) } } };
        proof(copies(), &set, &sends_nothing, Vec::new())
    };
    let conditions = [
        number_of(me()).above(5),
        !number_of(me()).below(6),
        me().is(Tid(7)),
        here().is(Node(5)),
        Expr::from(Tid(7)).is_in(all_threads()),
    ];
    for condition in conditions {
        let if_too = |x: Expr| body! { if (condition) { (others(x)) } else { loop {} } };
        let later = || me().is_not(Tid(1));
        let if_later = |x: Expr| body! { if (later()) { (others(x)) } else { loop {} } };
        for found in [if_large(condition, &others), if_large(later(), &if_too), if_large(condition, &if_later)] {
            has_error(&found, "may have a fault (LOCO Def. 3.9)");
        }
    }
    let large = "No small world has `5 < number(me)`, but a larger one may";
    has_error(&if_large(number_of(me()).above(5), &others), large);
    has_error(&if_large(number_of(me()).above(5), &|x| Rdma::write(own(x), 1)), "");
    // No small world has such a thread, and the condition on its node excludes other nodes there, too.
    let of_its_own = |x: Expr| {
        body! { for n in (all_nodes()) { if (n.is(here())) { Rdma::write(copy(x, n), 1) } else { loop {} } } }
    };
    has_error(&if_large(number_of(me()).above(5), &of_its_own), "");
}

/// The words of a tuple are data, too.
#[test]
fn faults_that_only_rare_words_reach_are_refused() {
    let msw = catalogue().into_iter().find(|entry| entry.name == "msw").expect("it is there");
    let published = msw.variants[0].implementation.clone();
    let with_copies = published.parts().expect("they are terms").clone().and(copies());
    let conditions: [fn(Expr) -> Expr; 2] =
        [|values| values.item(0).is(9), |values| values.item(0).is(9) & values.item(1).is(3)];
    for is_rare in conditions {
        let bodies = bodies! { Msw:
            Write { x, values } => {
                published.inlined(&Msw::write(x, values));
                if (is_rare(values)) {
                    for n in (all_nodes().without(here())) { Rdma::write(copy(x, n), values.item(1)) }
                }
            }
        };
        let edited = published.clone().with("a write on other nodes", &bodies);
        let implementation = Stating(Arc::new(edited), with_copies.clone(), Vec::new());
        let found = prove(&source(&msw, Arc::new(implementation)), &without_solvers());
        has_error(&found, "may have a fault (LOCO Def. 3.9)");
    }
}

/// An object may have no member, so that no subevent of a `for` through them stands for a promise.
#[test]
fn what_members_do_stands_for_no_promise_without_them() {
    let of_members = |x| body! { Rdma::write(copy(x, here()), 1); for _t in (members(x)) { Rdma::mfence() } };
    has_error(&proof_of_stamps(&of_members), "nothing in Send stands for aMF of Send");
}

/// A call about no node is not made. The nodes of members may be none, unless the caller is a member.
#[test]
fn calls_about_sets_that_may_be_empty_do_not_surely_happen() {
    let all = |x: Expr| x.part("all", []);
    let theirs = |x: Expr| nodes(members(x));
    let asked = |send: &dyn Fn(Expr) -> Body| {
        let fencing = shapes! { Whole: Fence { .. } => { aMF } Look { x, .. } => { aMF: reads x at here, ret() } };
        let mut entry = specified_by(Spec::default);
        entry.below = entry.below.with(Simple::<Whole>::new(fencing, Spec::default));
        let parts = copies().and(parts! { x => all(x) => ObjectTerm::new(WHOLE); });
        let implementation = Stating(sending(send), parts, Vec::new());
        prove(&source(&entry, Arc::new(implementation)), &without_solvers())
    };
    let fences = |x: Expr| body! { Whole::fence(all(x), theirs(x)) };
    let looks = |x: Expr| body! { Whole::look(all(x), theirs(x)); };
    let if_rare = |x: Expr, rare: Body| {
        body! { let w = Rdma::read(copy(x, here())); if (w == 12345) { (rare) } else { Rdma::mfence() } }
    };
    has_error(&asked(&|x| if_rare(x, fences(x))), "whole::Fence is not made for an empty set of nodes");
    has_error(&asked(&|x| if_rare(x, looks(x))), "Look(x.all, nodes(members(x))) has no result where it is not made");
    let both = |x: Expr| body! { if (me().is_in(members(x))) { (fences(x)); (looks(x)) } else { Rdma::mfence() } };
    has_error(&asked(&both), "which calls it makes depends on `me in members(x)`");
    let of_member = |x: Expr| body! { if (me().is_in(members(x))) { (fences(x)); (looks(x)) } else { loop {} } };
    let found = asked(&|x| if_rare(x, of_member(x)));
    assert!(found.errors.is_empty(), "{:?}", found.errors);
}

/// A run without a call is not well defined, so that it has no execution, whatever value leads to it.
#[test]
fn runs_without_a_call_that_only_rare_values_reach_are_refused() {
    let own = |x: Expr| copy(x, here());
    let others = || all_nodes().without(here());
    let without = |set: BodyOfTwo<'_>, conditions: &str| {
        let text = format!("Set: it may make no call{conditions} (LOCO Def. 3.9)");
        has_error(&proof(copies(), set, &sends_nothing, Vec::new()), &text);
    };
    let conditions: [fn(Expr) -> Expr; 2] = [|v| v.is(12345), |v| v.below(-3)];
    for (is_rare, text) in conditions.into_iter().zip(["v = 12345", "v < -3"]) {
        without(&|x, v| body! { if (is_rare(v)) { 0 } else { Rdma::write(own(x), v) } }, &format!(" if {text}"));
    }
    without(&|x, v| body! { loop { if (v == 12345) { break } Rdma::write(own(x), v); break } }, " if v = 12345");
    let of_others = |x: Expr, v: Expr| body! { for n in (others()) { Rdma::put(copy(x, n), own(x), Val::NoWid) } v };
    without(&of_others, "");
    without(&|x, v| body! { if (v.is_not(7)) { Rdma::write(own(x), v) } else { (of_others(x, v)) } }, " if v = 7");
    let of_members = |x: Expr, _| body! { for n in (nodes(members(x))) { Rdma::put(copy(x, n), own(x), Val::NoWid) } };
    without(&of_members, "");
    let of_all = |x: Expr, v: Expr| body! { for n in (all_nodes()) { Rdma::put(copy(x, n), own(x), Val::NoWid) } v };
    let found = proof(copies(), &of_all, &sends_nothing, Vec::new());
    has_error(&found, "nothing in Set stands for aCW of Set");
}

/// Nothing is left to ask if all stamps are the same and the specification demands nothing.
#[test]
fn stamps_alone_are_proved() {
    let fences = |_| Rdma::mfence();
    assert!(proof_of_stamps(&fences).is_proved());
    assert!(!proof_of_stamps(&|_| Body::unit()).is_proved());
}

/// A library whose sets of executions are Rust functions, though they have all executions.
struct ByFunctions(Arc<dyn Hints>);

impl Library for ByFunctions {
    fn name(&self) -> Name {
        self.0.name()
    }

    fn methods(&self) -> &'static [Method] {
        self.0.methods()
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        self.0.shape_terms()
    }

    fn admitted(&self) -> PlainSet<'_> {
        PlainSet::Where(Box::new(|_, _| true))
    }

    fn covered(&self) -> PlainSet<'_> {
        PlainSet::Where(Box::new(|_, _| true))
    }

    fn spec(&self) -> Spec {
        self.0.spec()
    }
}

impl Hints for ByFunctions {}

/// A proof cannot read Rust functions: neither which calls the library below covers, nor which executions the library admits.
#[test]
fn sets_that_are_rust_functions_are_not_proved() {
    let fences = sending(&|_| Rdma::mfence());
    let mut of_calls = specified_by(Spec::default);
    of_calls.below = Libraries::over(to).with(ByFunctions(of_calls.below.shared(WAIT)));
    let mut of_executions = specified_by(Spec::default);
    let words = of_executions.specification.shared(WORDS);
    of_executions.specification = of_executions.specification.with(ByFunctions(words));
    for (entry, text) in
        [(of_calls, "which calls rdma-wait-rmw covers"), (of_executions, "which executions words admits")]
    {
        let found = prove(&source(&entry, fences.clone()), &without_solvers());
        has_error(&found, text);
        assert!(!found.is_proved());
    }
}

/// A lemma is about its variables alone, and each has a sort that fits.
#[test]
fn wrong_variables_of_lemmas_are_named() {
    let c = || call("c");
    let cases = [
        (Lemma::new("").about(&[c()]).then(call("d").same(c())), "it speaks of `d`, a call: add it to `about`"),
        (Lemma::new("").about(&[c()]).then(c().on(node("n"))), "it speaks of `n`, a node: add it to `about`"),
        (Lemma::new("").about(&[c(), node("c2")]).then(c().on(thread("c2"))), "it speaks of `c2`, a thread: add it"),
        (Lemma::new("").about(&[c()]).then(c().is_a("Set")).along_po(call("d")), "it speaks of `d`, a call: add it"),
        (about_node(c().same(node("n"))), "`n` is a node, where a call is needed"),
        (about_node(index(node("n")).is(number(0))), "`n` is a node, where a call is needed"),
        (about_node(node("n").on(c())), "`n` is a node, where a call or a thread is needed"),
        (about_node(c().is_a("Set")).along_po(node("n")), "`n` is a node, where a call is needed"),
    ];
    for (lemma, text) in cases {
        has_error(&proof(copies(), &writes_own, &sends_nothing, vec![lemma]), text);
    }
}

fn about_node(then: Fact) -> Lemma {
    Lemma::new("").about(&[call("c"), node("n")]).then(then)
}
