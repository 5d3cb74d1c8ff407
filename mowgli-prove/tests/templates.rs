//! Templates: their contents, the methods that have none, and the checks that notice a template that does not fit.

use std::sync::Arc;

use itertools::Itertools;
use mowgli_core::algebra::{CELL, Spec, SubView, events, id, same, writes};
use mowgli_core::event::{Call, Event, Shape};
use mowgli_core::expr::{Expr, ExprTerm, all_nodes, all_threads, here, me, members, nodes, range};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::{Hints, Libraries, Library, PlainSet, Reshaping};
use mowgli_core::rewrite::edit::{Edited, Edits};
use mowgli_core::term::body::{Bodies, Body, bodies, body};
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::Method;
use mowgli_core::term::parts::{ObjectTerm, PartTerm, Parts as PartTerms, parts};
use mowgli_core::term::shape::{ShapeTerm, Shapes, shapes};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::bal::{self, Method as Barrier};
use mowgli_libraries::catalogue::{catalogue, named};
use mowgli_libraries::entry::Entry;
use mowgli_libraries::lock::Method as Lock;
use mowgli_libraries::nlock::{NLOCK, NlockOverWait};
use mowgli_libraries::rbl::{Method as Ring, RBL, Rbl, RblOverSv};
use mowgli_libraries::sc_rmw::{Method as Sc, ScRmwOverNlock};
use mowgli_libraries::sequential::LinearisedOverNlock;
use mowgli_libraries::sv::{Method as Sv, SV, Sv as SharedVariables, SvOverWait};
use mowgli_libraries::wlock::WLOCK;
use mowgli_prove::model::witness::structure;
use mowgli_prove::model::{Concretisation, EARLIER_ROUND, IS_ROUND, LibraryTheory, ROUND};
use mowgli_prove::prove::{EXECUTIONS, ProofOptions, executions, prove};
use mowgli_prove::smt::solve::SolverLimit;
use mowgli_prove::smt::term::{Term, TheoryStatement, all, and, app, equal, implies, not, symbol};
use mowgli_prove::template::kind::{Kind, Read, Role, Write};
use mowgli_prove::template::pattern::{Datum, Each, Leaf, Members, Nodes, Pattern, Whole};
use mowgli_prove::template::source::ProofSource;
use mowgli_prove::theorems::robust;
use mowgli_rdma::RdmaStamp::{aNLR, aNRW};
use mowgli_rdma::robust::Cpu;
use mowgli_rdma::wait::{Method as Wait, WAIT};

use crate::common::{ByTwo, OtherShapes, source};

/// Describes the methods without a template.
fn without_template(entry: &Entry, implementation: Arc<dyn Implementation>) -> Vec<String> {
    let kinds = source(entry, implementation).kinds();
    kinds.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn of_variant(library: &str, variant: &str) -> Vec<String> {
    let all = catalogue();
    let entry = named(&all, library).unwrap();
    without_template(entry, entry.variant(variant).unwrap().implementation.clone())
}

#[test]
fn what_has_no_template_is_named() {
    let all = catalogue();
    let nlock = named(&all, "nlock").unwrap();
    assert_eq!(without_template(nlock, Arc::new(twice())), ["Acq: it has a loop with effects beside another loop"]);
    assert_eq!(without_template(nlock, Arc::new(NlockOverWait)), Vec::<String>::new());
    let counted = without_template(nlock, Arc::new(first_is_different()));
    let why = "Acq: what it does in a round of a loop depends on `(w % 2) = 1` (templates.rs:";
    assert!(matches!(&counted[..], [one] if one.starts_with(why)), "{counted:?}");
    let first_only = of_variant("sv", "first-target-only");
    assert_eq!(first_only.len(), 2, "a broadcast with an identifier and one without: {first_only:?}");
    let why = "what it does for one of ns depends on `x.copy[n] = x.copy[min(ns)]`";
    assert!(first_only.iter().all(|of| of.starts_with("Bcast") && of.contains(why)), "{first_only:?}");
    let in_rust = without_template(nlock, Arc::new(InRust));
    assert_eq!(in_rust, ["Acq", "Rel"].map(|of| format!("{of}: it has no body, which could be read")));
    // A method that writes another number than promised has a template; its obligations are open.
    let by_two = without_template(named(&all, "counter").unwrap(), Arc::new(LinearisedOverNlock::new(Arc::new(ByTwo))));
    assert_eq!(by_two, Vec::<String>::new());
    // The body computes this number in another way than by adding a literal.
    let every_second = of_variant("wlock", "every-second");
    let why =
        "Rel: sv::Write(x.passed[me], v + ((v + 1) % 2)) is given v + ((v + 1) % 2), which is no datum of the call";
    assert!(matches!(&every_second[..], [one] if one.starts_with(why)), "{every_second:?}");
    // This CAS makes two calls, a read and a write.
    let in_two_steps = of_variant("sc-rmw", "cas-as-read-write");
    assert!(in_two_steps.iter().all(|why| why.starts_with("CAS: ")), "{in_two_steps:?}");
}

/// Gives calls the shapes that they have, by a Rust function.
struct Unchanged;

impl Reshaping for Unchanged {
    fn shapes(&self, _: &World, _: &Event, known: Vec<Shape>) -> Vec<Shape> {
        known
    }
}

/// Executions choose a way for each node, and a template has one for all of them.
#[test]
fn ways_of_each_element_have_no_template() {
    let all = catalogue();
    let bal = named(&all, "bal").unwrap();
    let of = |changed: &Shapes| {
        let below = bal.below.clone().reshaped(SV, OtherShapes(changed.clone()));
        let published = source(bal, bal.variants[0].implementation.clone());
        ProofSource { below: &below, ..published }.kinds().err().unwrap_or_default()
    };
    let of_each = of(shapes! { Sv else (SharedVariables.shape_terms().expect("its shapes are terms")):
        Bcast { x, ns, .. } => {
            for n in (ns) {
                either { let v = aNLR(n): reads x at here; aNRW(n): writes x at n, v } or { aNLR(n); aNRW(n) }
            }
        }
    });
    assert!(
        of_each.iter().any(|refusal| refusal.why == "it can happen in several ways for one of several"),
        "{of_each:?}"
    );
}

/// An `if` of a shape takes its second branch for 5 and for `!5`, because neither is a truth value.
#[test]
fn a_value_that_is_no_condition_decides_nothing() {
    let all = catalogue();
    let entry = named(&all, "sc-rmw").unwrap();
    let terms = entry.library().unwrap().shape_terms().expect("its shapes are terms").clone();
    let conditions: [fn(Expr) -> Expr; 3] = [|v| !v, |v| v | true, |v| Expr::from(true) & v];
    for condition in conditions {
        let known = terms.get("Write").expect("it has a shape").clone();
        let changed = Shapes::default().with(Sc::TABLE, "Write", &["v"], |v| {
            let of_five = ShapeTerm::branch(condition(v[0]), ShapeTerm::nothing(), known.clone());
            ShapeTerm::branch(v[0].is(5), of_five, known)
        });
        let changed = OtherShapes(changed.or(&terms));
        let specification = entry.specification.clone().reshaped(Name::literal("sc-rmw"), changed);
        let published = source(entry, entry.variants[0].implementation.clone());
        let found = ProofSource { specification: &specification, ..published }.kinds();
        assert!(found.is_err(), "{condition:?}");
    }
}

fn thread_of(s: &SubView<'_>) -> Option<Val> {
    Some(s.event.thread.into())
}

/// A proof reads shapes, declared objects, and the sets and keys of specifications from their terms. A Rust function in
/// their place is named.
#[test]
fn what_is_a_rust_function_is_named() {
    let all = catalogue();
    let nlock = named(&all, "nlock").unwrap();
    let declared = "Acq: its objects are declared by a Rust function, and not by `parts`";
    assert_eq!(of_variant("nlock", "release-by-write").first().map(String::as_str), Some(declared));
    let below = nlock.below.clone().reshaped(WAIT, Unchanged);
    let published = source(nlock, Arc::new(NlockOverWait));
    let whys = ProofSource { below: &below, ..published }.kinds().err().unwrap_or_default();
    let shapes = "the shapes of rdma-wait-rmw are a Rust function, and not terms";
    assert!(whys.len() == 2 && whys.iter().all(|refusal| refusal.why == shapes), "{whys:?}");
    let kinds = source(nlock, Arc::new(NlockOverWait)).kinds().unwrap();
    let model = |change: fn(&mut Spec)| {
        let below = nlock.below.clone().respecified(WAIT, change);
        let source = ProofSource { below: &below, ..source(nlock, Arc::new(NlockOverWait)) };
        LibraryTheory::new(&source, &kinds).err()
    };
    assert_eq!(model(|_| {}), None);
    let keyed = model(|spec| spec.empty("never", &(same(thread_of) - same(thread_of))));
    assert_eq!(keyed.map(|refusal| refusal.to_string()).as_deref(), Some("the key thread_of is a Rust function"));
    let in_set = model(|spec| spec.empty("never", &(events(|_: &SubView<'_>| true).on() - id())));
    assert!(in_set.is_some_and(|refusal| refusal.why.ends_with("is a Rust function")));
}

/// The algebra sees subevents alone, so a call in a pair without one has no assumption that could be asked.
#[test]
fn calls_in_pairs_have_subevents() {
    let all = catalogue();
    let slock = named(&all, "slock").unwrap();
    let terms = slock.below.get(WLOCK).unwrap().shape_terms().expect("its shapes are terms");
    let theory = |shapes: &Shapes| {
        let below = slock.below.clone().reshaped(WLOCK, OtherShapes(shapes.clone()));
        let source = ProofSource { below: &below, ..source(slock, slock.variants[0].implementation.clone()) };
        let kinds = source.kinds().unwrap();
        LibraryTheory::new(&source, &kinds).err().map(|refusal| refusal.to_string())
    };
    assert_eq!(theory(terms), None);
    let without = Shapes::default().with(Lock::TABLE, "Acq", &["x"], |_| ShapeTerm::nothing()).or(terms);
    let why = "the assumptions of wlock: its calls come in pairs, and a call of Acq may have no subevent";
    assert!(theory(&without).is_some_and(|text| text.starts_with(why)));
}

/// Parts that may be one object, or that belong to a layer below, have no template: the world has one of them, and terms another.
#[test]
fn parts_that_overlap_have_no_template() {
    let all = catalogue();
    let entry = named(&all, "nlock").unwrap();
    let with = |parts: PartTerms| without_template(entry, Arc::new(Declared(NLOCK, parts, None)));
    assert_eq!(with(NlockOverWait.parts().unwrap().clone()), Vec::<String>::new());
    let more = |more: PartTerms| with(NlockOverWait.parts().unwrap().clone().and(more));
    let word = |init: i64| ObjectTerm::new(WAIT).at(Node(1)).init(init);
    let twice = more(parts! { x => x.part("released", []) => word(7); });
    assert!(matches!(&twice[..], [one] if one.ends_with("x.released and x.released may be one object")), "{twice:?}");
    let inside = more(parts! { x => x.part("released", []).part("word", []) => word(7); });
    assert!(matches!(&inside[..], [one] if one.contains("is a part of x.released, which belongs to ")), "{inside:?}");
}

/// A read is counted with its call only if no loop leaves out other reads, because each of them counts, too.
#[test]
fn what_a_loop_leaves_out_is_not_counted() {
    let all = catalogue();
    let entry = named(&all, "bal").unwrap();
    let published = entry.variants[0].implementation.clone();
    let counts = |looks: bool| {
        let count = |x: Expr| x.part("count", [me()]);
        let look = |x: Expr| if looks { Sv::read(count(x)) } else { Body::unit() };
        let bodies = bodies! { Barrier:
            BAR { x } by members(x) => { Sv::read(count(x)); loop { look(x); Sv::gf(all_nodes()); break } }
        };
        let source = source(entry, Arc::new(published.clone().with("looks", &bodies)));
        let kinds = source.kinds().unwrap();
        let theory = LibraryTheory::new(&source, &kinds).unwrap().below;
        theory.axioms().any(|(words, _)| words == "the n-th aCR of Read is of the n-th BAR")
    };
    assert!(counts(false) && !counts(true));
}

/// An object that nobody declares, of another library, or of the client: a call of it is not well defined, whatever the path.
#[test]
fn calls_of_other_objects_have_no_template() {
    let all = catalogue();
    let entry = named(&all, "bal").unwrap();
    let published = entry.variants[0].implementation.clone();
    let with = |object: fn(Expr) -> Expr| {
        let bodies = bodies! { Barrier:
            BAR { x } by members(x) => {
                let v = Sv::read(x.part("count", [me()]));
                if (v.is(12345)) { Sv::write(object(x), 0) }
            }
        };
        without_template(entry, Arc::new(published.clone().with("wrong", &bodies))).join("\n")
    };
    let undeclared = with(|x| x.part("nowhere", []));
    assert!(undeclared.contains("the implementation does not declare x.nowhere"), "{undeclared}");
    assert!(with(|x| x).contains("x is of bal, and Write is a call of sv"));
    for object in [|_| me(), |_| Loc::new("y").into()] {
        assert!(with(object).contains("is neither declared nor an object of the client's call"));
    }
    let right = with(|x| x.part("count", [me()]));
    assert!(!right.contains("declare") && !right.contains("is of"), "{right}");
}

/// The set of the indices of parts, whether only members call the barrier, and the part of its body that uses them.
type UseOfPart<'b> = (Expr, bool, &'b dyn Fn(Expr) -> Body);

/// A part by an index that the set of its `for` may not have is no object for some threads, nodes or worlds.
#[test]
fn parts_outside_of_their_sets_have_no_template() {
    let all = catalogue();
    // A barrier over such parts. The body reads an object when it has seen a rare value, and may go on for ever then.
    let with = |set: Expr, is_member: bool, body: &dyn Fn(Expr) -> Body| {
        let entry = named(&all, "bal").unwrap();
        let x: Expr = ExprTerm::Arg(0, "x").into();
        let parts = PartTerm::each("t", set, |t| vec![PartTerm::new(x.part("k", [t]), ObjectTerm::new(SV))]);
        let parts = parts! { x => x.part("w", []) => ObjectTerm::new(SV); (parts); };
        let rare = |x: Expr| body! { let w = Sv::read(x.part("w", [])); if (w.is(12345)) { (body(x)) } };
        let bodies = match is_member {
            true => bodies! { Barrier: BAR { x } by members(x) => { (rare(x)) } },
            false => bodies! { Barrier: BAR { x } => { (rare(x)); (Body::unit().by(members(x))) } },
        };
        without_template(entry, Arc::new(Declared(bal::BAL, parts, Some(bodies)))).join("\n")
    };
    let x: Expr = ExprTerm::Arg(0, "x").into();
    let at = |k: Expr| move |x: Expr| body! { Sv::read(x.part("k", [k])); };
    let for_each =
        |set: fn(Expr) -> Expr| move |x: Expr| body! { for t in (set(x)) { Sv::write(x.part("k", [t]), 1) } };
    let ends_at = |x: Expr| body! { loop { for t in (all_threads()) { let w = Sv::read(x.part("k", [t])); if (w == 1) { break } } } };
    let for_ever = |x: Expr| body! { Sv::read(x.part("k", [5.into()])); loop {} };
    let (two, threads, me) = (range(0, 2), all_threads(), me());
    let outside: [UseOfPart<'_>; 14] = [
        (two, true, &at(5.into())),
        (two, true, &at(2.into())),
        (two, true, &at(Expr::from(-1))),
        (two, true, &at(me)),
        (two, true, &for_ever),
        (two, true, &for_each(|_| range(0, 3))),
        (threads, true, &at(here())),
        (threads, true, &at(Tid(9).into())),
        (threads, true, &for_each(|_| all_nodes())),
        (members(x), true, &ends_at),
        (members(x), false, &at(me)),
        (members(x).rest(), true, &at(me)),
        (nodes(members(x)), false, &at(here())),
        (nodes(members(x)), true, &for_each(|_| all_nodes())),
    ];
    for (number, (set, is_member, body)) in outside.into_iter().enumerate() {
        let why = with(set, is_member, body);
        assert!(why.contains("declare x.k["), "case {number}, parts for {set}: {why}");
    }
    let inside: [UseOfPart<'_>; 9] = [
        (two, false, &at(1.into())),
        (two, true, &for_each(|_| range(0, 2))),
        (threads, false, &at(me)),
        (threads, false, &ends_at),
        (threads, true, &for_each(members)),
        (members(x), true, &at(me)),
        (all_nodes(), false, &at(here())),
        (nodes(members(x)), true, &at(here())),
        (nodes(members(x)), true, &for_each(|x| nodes(members(x)).without(here()))),
    ];
    for (number, (set, is_member, body)) in inside.into_iter().enumerate() {
        let why = with(set, is_member, body);
        assert!(!why.contains("declare"), "case {number}, parts for {set}: {why}");
    }
}

/// An implementation with other parts and bodies; the bodies are by default those of the node lock.
struct Declared(Name, PartTerms, Option<Bodies>);

impl Implementation for Declared {
    fn target(&self) -> Name {
        self.0
    }

    fn parts(&self) -> Option<&PartTerms> {
        Some(&self.1)
    }

    fn bodies(&self) -> Option<&Bodies> {
        self.2.as_ref().or(NlockOverWait.bodies())
    }
}

/// A library under a name, whose functions say something else than its terms. Its specification has one more choice.
struct Otherwise(Arc<dyn Hints>, Name);

impl Library for Otherwise {
    fn name(&self) -> Name {
        self.1
    }

    fn methods(&self) -> &'static [Method] {
        self.0.methods()
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        self.0.shape_terms()
    }

    fn shapes_by_function(&self, _: &World, _: &Event) -> Vec<Shape> {
        Vec::new()
    }

    fn admitted(&self) -> PlainSet<'_> {
        self.0.admitted()
    }

    fn spec(&self) -> Spec {
        let mut spec = self.0.spec();
        spec.order("call", writes(), CELL);
        spec
    }
}

impl Hints for Otherwise {}

/// A library and its choices may have the names that the theory uses.
#[test]
fn names_of_libraries_do_not_collide_with_those_of_the_theory() {
    let all = catalogue();
    let nlock = named(&all, "nlock").unwrap();
    let kinds = source(nlock, Arc::new(NlockOverWait)).kinds().unwrap();
    for name in ["po", "value", "abs", "the"] {
        let words = nlock.below.shared(WAIT);
        let below = nlock.below.clone().with(Otherwise(words, Name::literal(name)));
        let source = ProofSource { below: &below, ..source(nlock, Arc::new(NlockOverWait)) };
        let model = LibraryTheory::new(&source, &kinds).unwrap();
        let declared = model.below.0.iter().filter_map(|statement| match statement {
            TheoryStatement::Function(name, ..) | TheoryStatement::Definition(name, ..) => Some(name),
            _ => None,
        });
        assert_eq!(declared.duplicates().collect::<Vec<_>>(), Vec::<&String>::new(), "a library {name}");
    }
}

/// A proof reads what a library says in terms, and so does everything else: functions beside them are not asked.
#[test]
fn functions_beside_terms_are_not_asked() {
    let all = catalogue();
    let bal = named(&all, "bal").unwrap();
    let of = bal.specification.shared(bal::BAL);
    let libraries = Libraries::like(&bal.specification).with(Otherwise(of.clone(), bal::BAL));
    let mut world = World::new(1, &[Node(1), Node(1)]);
    world.objects.insert(Loc::new("z"), Object::new(bal::BAL).members(&[Tid(1), Tid(2)]));
    let bar = Call::new(bal::BAL, "BAR", &[Loc::new("z").into()]);
    let call = |t| Event { thread: Tid(t), call: bar.clone(), ret: Val::Unit };
    let (first, second) = (call(1), call(2));
    let said = [&*of, libraries.get(bal::BAL).unwrap()].map(|library| {
        let admits = [&[&first][..], &[&first, &second]].map(|events| library.admits(&world, events));
        (library.shapes(&world, &first), admits)
    });
    assert_eq!(said[0], said[1]);
    assert!(!said[0].0.is_empty() && said[0].1 == [false, true]);
}

/// An implementation without terms.
struct InRust;

impl Implementation for InRust {
    fn target(&self) -> Name {
        NLOCK
    }

    fn parts(&self) -> Option<&PartTerms> {
        NlockOverWait.parts()
    }
}

/// A loop that waits has its last round in the template, with the condition that ended it.
#[test]
fn a_loop_that_waits_is_its_last_round() {
    let all = catalogue();
    let entry = named(&all, "bal").unwrap();
    let kinds = source(entry, entry.variant("published").unwrap().implementation.clone()).kinds().unwrap();
    let [bar] = &kinds[..] else { panic!("one kind of call") };
    let role = |event, sub| bar.concrete.iter().find(|r| r.position == (event, sub)).unwrap();
    let (count, counted, sent, seen) = (role(1, 0), role(2, 0), role(3, 1), role(4, 0));
    assert_eq!(counted.writes, Some(Write::Is(Datum::Sum(1, 1))));
    assert_eq!(sent.each, Some(Each::Nodes(Nodes { of: Whole::Members(0), but_own: true })));
    assert_eq!(seen.each, Some(Each::Members(Members { of: 0, but_first: false })));
    assert_eq!((&count.above[..], &seen.above[..]), (&[][..], &[Datum::Result(1)][..]));
    // A loop that waits for at least the earlier count yields no strict inequality.
    let kinds = source(entry, Arc::new(waits(true))).kinds().unwrap();
    assert!(kinds[0].concrete.iter().all(|r| r.above.is_empty()));
    let kinds = source(entry, Arc::new(waits(false))).kinds().unwrap();
    assert!(kinds[0].concrete.iter().any(|r| !r.above.is_empty()));
}

/// A loop through all threads has one read in the template, at the thread at which it ended.
#[test]
fn a_loop_through_all_threads_ends_at_one() {
    let all = catalogue();
    let entry = named(&all, "wlock").unwrap();
    let source = source(entry, entry.variant("published").unwrap().implementation.clone());
    let kinds = source.kinds().unwrap();
    let last = kinds[0].concrete.last().unwrap();
    assert_eq!((last.position, last.each), ((3, 0), Some(Each::Ended(3))));
    // The read sees the ticket.
    assert_eq!(last.reads, Some(Read::Is(Datum::Result(2))));
    assert!(fits(&kinds, &source).is_ok_and(|n| n > 30));
    let changes: [(&str, Change); 2] = [
        ("it sees something else", |kinds| {
            kinds[0].concrete.last_mut().unwrap().reads = Some(Read::Is(Datum::Constant(Val::Int(7))));
        }),
        ("it ends at its own thread", |kinds| {
            let own = kinds[1].concrete[1].cell.clone();
            kinds[0].concrete.last_mut().unwrap().cell = own;
        }),
    ];
    are_noticed(&kinds, &source, &changes);
}

/// The rounds of a loop with effects are alike, and the last one is separate.
#[test]
fn a_loop_with_effects_has_rounds() {
    let all = catalogue();
    let entry = named(&all, "nlock").unwrap();
    let source = source(entry, entry.variant("published").unwrap().implementation.clone());
    let kinds = source.kinds().unwrap();
    let each = |event: usize| kinds[0].concrete.iter().find(|r| r.position.0 == event).unwrap().each;
    assert_eq!((0..10).filter(|event| each(*event) == Some(Each::Rounds)).collect::<Vec<_>>(), [3, 4, 5]);
    assert!(fits(&kinds, &source).is_ok_and(|n| n > 30));
}

/// The prover compares promises with the shapes for the value that a body returned.
#[test]
fn a_promise_that_is_not_the_specified_one_is_noticed() {
    let catalogue = catalogue();
    let entry = named(&catalogue, "sc-rmw").unwrap();
    let source = source(entry, entry.variant("published").unwrap().implementation.clone());
    let kinds = source.kinds().unwrap();
    assert!(fits(&kinds, &source).is_ok_and(|n| n > 30));
    const SEVEN: Datum = Datum::Constant(Val::Int(7));
    let changes: [(&str, RoleChange); 5] = [
        ("another value is read", |role| role.reads = role.reads.as_ref().map(|_| Read::Is(SEVEN))),
        ("another value is written", |role| role.writes = role.writes.as_ref().map(|_| Write::Is(SEVEN))),
        ("nothing is written", |role| role.writes = None),
        ("another stamp", |role| role.family = "aCW".to_owned()),
        ("another cell", |role| {
            role.cell = role.cell.clone().map(|cell| Pattern { text: format!("{}.other", cell.text), ..cell });
        }),
    ];
    for (what, change) in changes {
        let mut changed = kinds.clone();
        changed.iter_mut().flat_map(|kind| &mut kind.abstract_).for_each(change);
        let found = fits(&changed, &source);
        assert!(found.as_ref().is_err_and(|why| why.contains("specification")), "{what} was not noticed: {found:?}");
    }
}

/// A change to a role.
type RoleChange = fn(&mut Role);

/// Errors in rounds before the last one are noticed, because some executions have such rounds.
#[test]
fn what_is_wrong_of_earlier_rounds_is_noticed() {
    let catalogue = catalogue();
    let entry = named(&catalogue, "nlock").unwrap();
    let source = source(entry, entry.variant("published").unwrap().implementation.clone());
    let kinds = source.kinds().unwrap();
    let changes: [(&str, RoleChange); 4] = [
        ("a read of another cell", |role| {
            let cell = role.cell.clone().filter(|_| role.writes.is_none());
            role.cell = cell.map(|cell| Pattern { text: format!("{}.other", cell.text), ..cell }).or(role.cell.take());
        }),
        ("it sees what ends it", |role| role.reads = role.reads.as_ref().map(|_| Read::Is(Datum::Result(2)))),
        ("another value is written", |role| {
            role.writes = role.writes.as_ref().map(|_| Write::Is(Datum::Constant(Val::Int(9))));
        }),
        ("another stamp", |role| role.family = "aMF".to_owned()),
    ];
    for (what, change) in changes {
        let mut changed = kinds.clone();
        changed[0].concrete.iter_mut().filter(|r| r.each == Some(Each::Rounds)).for_each(change);
        let found = fits(&changed, &source);
        assert!(found.is_err(), "{what} was not noticed: {found:?}");
    }
    let [c, r, s] = ["c", "r", "s"].map(symbol);
    let is_round = |round: &Term| app(IS_ROUND, &[c.clone(), round.clone()]);
    let two = and([is_round(&r), is_round(&s)]);
    let earlier = app(EARLIER_ROUND, &[r.clone(), s.clone()]);
    let wrong = [
        ("no loop turns", not(is_round(&r))),
        ("a loop turns once", implies(two.clone(), equal(r, s))),
        ("rounds are in no order", implies(two, not(earlier))),
    ];
    for (what, body) in wrong {
        let axiom = all(&[("c", "Call"), ("r", ROUND), ("s", ROUND)], body);
        let found = fits_with(&kinds, &source, ENOUGH, |model| model.below.axiom(what, axiom));
        assert_eq!(found, Err(what.to_owned()));
    }
}

/// A compare-and-swap in a loop swaps in some rounds and not in others. A template says both, and what is wrong of one is noticed.
#[test]
fn each_round_has_a_way_of_its_own() {
    let catalogue = catalogue();
    let source = source(named(&catalogue, "nlock").unwrap(), Arc::new(swaps()));
    let kinds = source.kinds().unwrap();
    let words: Vec<String> = kinds.iter().map(Kind::words).collect();
    assert_eq!(words, ["Acq.1 (RCAS in way 1)", "Acq.2 (RCAS in way 2)", "Rel"]);
    assert_eq!(kinds[1].ways_in_rounds(), [(0, 2)].into());
    assert!(fits(&kinds, &source).is_ok_and(|n| n > 30));
    let changes: [(&str, RoleChange); 2] = [
        ("the swap writes another value", |role| {
            role.writes = role.writes.clone().filter(|w| w.source().is_some()).or(Some(Write::Is(Datum::Result(2))));
        }),
        ("what swaps reads another value", |role| {
            let wrong = matches!(role.reads, Some(Read::Is(_))).then_some(Read::Is(Datum::Constant(Val::Int(7))));
            role.reads = wrong.or(role.reads.take());
        }),
    ];
    for (what, change) in changes {
        let mut changed = kinds.clone();
        changed[1].concrete.iter_mut().filter(|r| r.way.is_some()).for_each(change);
        let found = fits(&changed, &source);
        assert!(found.is_err(), "{what} was not noticed: {found:?}");
    }
}

/// Returns a lock whose Acq swaps until it finds the word taken.
fn swaps() -> Edited {
    let ticket = |x: Expr| x.part("ticket", [me()]);
    let bodies = bodies! { Lock:
        Acq { x } => {
            loop {
                Wait::rcas(ticket(x), x.part("released", []), 0, 1, x.wid("d"));
                Wait::wait(x.wid("d"));
                let w = Wait::read(ticket(x));
                if (w == 1) { break }
            }
        }
    };
    NlockOverWait.with("swaps", &bodies)
}

/// Returns the node lock that makes its Acq twice in one call.
fn twice() -> Edited {
    let bodies = bodies! { Lock:
        Acq { x } => {
            NlockOverWait.inlined(&Lock::acq(NLOCK, x));
            NlockOverWait.inlined(&Lock::acq(NLOCK, x))
        }
    };
    NlockOverWait.with("two in one", &bodies)
}

/// Returns the node lock with rounds that differ: a round repeats its get if the value is odd.
fn first_is_different() -> Edited {
    let bodies = bodies! { Lock:
        Acq { x } => {
            let v = Wait::read(x.part("ticket", [me()]));
            loop {
                Wait::get(x.part("ticket", [me()]), x.part("released", []), x.wid("d"));
                Wait::wait(x.wid("d"));
                let w = Wait::read(x.part("ticket", [me()]));
                if (w == v) { break }
                if ((w % 2) == 1) { Wait::get(x.part("ticket", [me()]), x.part("released", []), x.wid("d")) }
            }
            Wait::write(x.part("ticket", [me()]), v)
        }
    };
    NlockOverWait.with("rounds that differ", &bodies)
}

/// Returns a barrier that waits for its own counter only. With `at_least` it may go on if the counter has not grown.
fn waits(at_least: bool) -> Edited {
    let bodies = bodies! { Barrier:
        BAR { x } by members(x) => {
            let v = Sv::read(x.part("count", [me()]));
            loop {
                let seen = Sv::read(x.part("count", [me()]));
                if ((seen.above(v)) | (Expr::from(at_least) & seen.is(v))) { break }
            }
        }
    };
    bal::BalOverSv::default().with("waits for itself", &bodies)
}

/// Templates of a ring say which calls are about the same word, but not which word it is.
#[test]
fn of_the_words_of_a_ring_it_is_known_which_are_one() {
    let all = catalogue();
    let entry = named(&all, "rbl").unwrap();
    let source = source(entry, entry.variant("fenced").unwrap().implementation.clone());
    let kinds = source.kinds().unwrap();
    let words: Vec<String> = kinds.iter().map(Kind::words).collect();
    let returns = |name: &str, what: &str| format!("{name} (what it returns is {what})");
    let reported = [
        returns("Receive.1", "not bot, result 3 is 1"),
        returns("Receive.2", "not bot, result 3 is not 1"),
        returns("Receive.3", "bot"),
        returns("Submit.1", "false"),
        returns("Submit.2", "true"),
    ];
    assert_eq!(words, reported);
    // The role reads the tails of all readers, and not that of the writer.
    let tails = kinds[4].concrete.iter().find(|r| r.position == (1, 0)).unwrap();
    assert_eq!(tails.each, Some(Each::Members(Members { of: 0, but_first: true })));
    let named = |event: usize| {
        let role = kinds[4].concrete.iter().find(|r| r.position == (event, 0)).unwrap();
        let leaves = &role.cell.as_ref().unwrap().leaves;
        leaves.iter().filter(|leaf| matches!(leaf, Leaf::Named(_))).copied().collect::<Vec<_>>()
    };
    // The written word is the broadcast one, and the two words of a message differ.
    assert_eq!([2, 3, 4, 5].map(named), [(2, 0, 1), (2, 0, 1), (4, 0, 1), (4, 0, 1)].map(|n| vec![Leaf::Named(n)]));
    // So many executions include messages from other nodes.
    let most = 500;
    assert!(fits_with(&kinds, &source, most, |_| {}).is_ok_and(|n| n > 250));
    let changes: [(&str, Change); 4] = [
        ("two words are one", |kinds| {
            let first = kinds[4].concrete.iter().find(|r| r.position == (2, 0)).unwrap().cell.clone();
            kinds[4].concrete.iter_mut().find(|r| r.position == (4, 0)).unwrap().cell = first;
        }),
        ("a copy is of another word", |kinds| {
            let other = kinds[4].concrete.iter().find(|r| r.position == (5, 1)).unwrap().cell.clone();
            kinds[4].concrete.iter_mut().find(|r| r.position == (3, 1)).unwrap().cell = other;
        }),
        ("what returns a message is taken for what returns bottom", |kinds| {
            let [message, bottom] = [0, 2].map(|k: usize| kinds[k].forms.clone());
            (kinds[0].forms, kinds[2].forms) = (bottom, message);
        }),
        ("a tail is that of the writer", |kinds| {
            let tail = kinds[4].concrete.iter_mut().find(|r| r.position == (1, 0)).unwrap();
            let leaves = &mut tail.cell.as_mut().unwrap().leaves;
            leaves.iter_mut().filter(|leaf| **leaf == Leaf::Member).for_each(|leaf| *leaf = Leaf::Thread);
        }),
    ];
    for (what, change) in changes {
        let mut changed = kinds.clone();
        change(&mut changed);
        let found = fits_with(&changed, &source, most, |_| {});
        assert!(found.is_err(), "{what} was not noticed: {found:?}");
    }
}

/// Returns a ring that sends each message twice, in one of two words.
fn sends_twice() -> Edited {
    let published = RblOverSv(Rbl::Strong);
    let bodies = bodies! { Ring:
        Submit { x, message } => { published.inlined(&Ring::submit(RBL, x, Expr::tuple([message, message]))) }
    };
    published.with("each message twice", &bodies)
}

/// If a result determines how many words are read, the template keeps only the first of these reads.
#[test]
fn reads_of_unknown_number_are_left_out() {
    let catalogue = catalogue();
    let entry = named(&catalogue, "rbl").unwrap();
    let source = source(entry, Arc::new(sends_twice()));
    let kinds = source.kinds().unwrap();
    let longer = &kinds[1];
    assert_eq!(longer.words(), "Receive.2 (what it returns is not bot, result 3 is not 1)");
    let reads = longer.concrete.iter().filter(|r| r.reads.is_some() && r.each.is_none());
    assert_eq!(reads.map(|r| r.position.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(fits(&kinds, &source).is_ok_and(|n| n > 60));
    // Some executions have such a call.
    let c = symbol("c");
    let found = fits_with(&kinds, &source, ENOUGH, |model| {
        let none = not(model.is_kind(longer, &c));
        model.below.axiom("no longer message", all(&[("c", "Call")], none));
    });
    assert_eq!(found, Err("no longer message".to_owned()));
    // The reads are left out only of calls with more than one word.
    let mut changed = kinds.clone();
    let [one, more] = [0, 1].map(|k: usize| changed[k].forms.clone());
    (changed[0].forms, changed[1].forms) = (more, one);
    assert!(fits(&changed, &source).is_err());
}

/// If a method has no template, its obligations are listed as open with the reason.
#[test]
fn what_is_open_for_want_of_a_template_is_named() {
    let all = catalogue();
    let of = |library: &str, variant: &str| {
        let entry = named(&all, library).unwrap();
        let source = source(entry, entry.variant(variant).unwrap().implementation.clone());
        let (limit, executions) = (SolverLimit::of(SolverLimit::SECOND), EXECUTIONS / 30);
        prove(
            &source,
            &ProofOptions { solvers: Vec::new(), limit, executions, confirms: true, keep: false, diagnoses: true },
        )
    };
    let proof = of("kvstore", "published");
    assert!(!proof.is_proved() && proof.rows.iter().all(|row| !row.is_shown() && row.result() == "open"));
    let why = |obligation: &str| {
        let row = proof.rows.iter().find(|row| row.obligation == obligation);
        row.unwrap_or_else(|| panic!("nothing about {obligation}")).why.clone().unwrap()
    };
    let promises = ["aCAS of Delete", "aCAS of Insert", "aCR of Lookup", "aWT of Serve", "aMF of Update"];
    for promise in promises {
        let why = why(&format!("condition 1 for {promise}"));
        let (_, method) = promise.split_once(" of ").unwrap();
        assert!(why.starts_with(&format!("{method} has no template: ")), "{promise}: {why}");
    }
    // It fences its own node, in a set that templates do not know.
    let update = why("condition 1 for aMF of Update");
    assert!(
        update.contains("the set nodes((me))") && update.contains("no set of nodes of the call (store.rs:"),
        "{update}"
    );
    let others = "Delete, Insert, Lookup, Serve, TryServe, Update have no template";
    let laws = ["rf: a read has one source", "mo is total", "lin is irreflexive", "call' inside hb", "lin' inside hb"];
    for obligation in laws.into_iter().chain(["wlock requires: every Acq is released"]) {
        assert_eq!(why(obligation), others, "{obligation}");
    }
    assert_eq!(proof.rows.iter().filter(|row| row.obligation.starts_with("condition 1")).count(), 13);
    // The promises of a method with a template are open too, because another method has no template.
    let first_only = of("sv", "first-target-only");
    let row = first_only.rows.iter().find(|row| row.obligation == "condition 1 for aGF of GF").unwrap();
    assert_eq!(row.why.as_deref(), Some("Bcast, Bcast_ have no template"));
}

/// Without a solver no theorem is proved, though none of its steps gets an answer that leaves it open.
#[test]
fn nothing_is_proved_without_a_solver() {
    let (limit, executions) = (SolverLimit::of(SolverLimit::SECOND), EXECUTIONS / 30);
    let options = ProofOptions { solvers: Vec::new(), limit, executions, confirms: true, keep: false, diagnoses: true };
    let proof = robust::proved(Cpu::Sc, "published", &options).unwrap();
    assert!(proof.errors.is_empty() && proof.rows.iter().all(|row| !row.is_shown()));
}

/// The template says where a computed value goes, and calls that do the same are one kind.
#[test]
fn a_state_is_known_word_by_word() {
    states_are_known_word_by_word(25);
}

#[test]
#[ignore = "takes half a minute"]
fn a_state_is_known_word_by_word_in_many_executions() {
    states_are_known_word_by_word(ENOUGH);
}

/// Asserts the words of the templates of three libraries, and that they fit so many executions.
fn states_are_known_word_by_word(executions: usize) {
    let all = catalogue();
    let reported = |library: &str| {
        let entry = named(&all, library).unwrap();
        let source = source(entry, entry.variants[0].implementation.clone());
        let kinds = source.kinds().unwrap();
        assert!(fits_with(&kinds, &source, executions, |_| {}).is_ok_and(|n| n > 20));
        let mut crossed = kinds.clone();
        let [forms, others] = [0, 1].map(|k| crossed[k].forms.clone());
        (crossed[0].forms, crossed[1].forms) = (others, forms);
        let found = fits_with(&crossed, &source, executions, |_| {});
        assert!(found.is_err(), "one kind taken for another was not noticed: {found:?}");
        kinds.iter().map(|k| (k.words(), k.abstract_[0].writes.clone().unwrap())).collect::<Vec<_>>()
    };
    let words = |of: &[Datum]| Write::Words(of.to_vec());
    let (found, computed) = (Datum::Result(3), Datum::Passed(4, 1));
    assert_eq!(reported("counter"), [("Get".to_owned(), words(&[found])), ("Inc".to_owned(), words(&[computed]))]);
    let [looks, writes] = ["Delete.1+Insert.1+Insert.3+Lookup+Update.1+Update.2", "Delete.2+Insert.2+Update.3"];
    assert_eq!(reported("map"), [(looks.to_owned(), words(&[found])), (writes.to_owned(), words(&[computed]))]);
    let queue = reported("queue");
    let [first, second, computed] = [Datum::Result(4), Datum::Result(5), Datum::Passed(6, 1)];
    assert_eq!(queue.len(), 4);
    assert_eq!(queue[0], ("Deq.1+Enq.1+Enq.3+Enq.5".to_owned(), words(&[first, second])));
    assert_eq!(queue[1], ("Deq.2+Enq.4".to_owned(), words(&[first, computed])));
    assert_eq!(queue[2], ("Deq.3+Enq.2".to_owned(), words(&[computed, second])));
    assert_eq!(queue[3].1, words(&[computed, Datum::Passed(8, 1)]));
}

/// Templates describe tuples word by word, and a cell that is always on the own node is on the node of its object.
#[test]
fn a_tuple_is_known_word_by_word() {
    let all = catalogue();
    let entry = named(&all, "msw").unwrap();
    let source = source(entry, entry.variant("published").unwrap().implementation.clone());
    let kinds = source.kinds().unwrap();
    let words: Vec<String> = kinds.iter().map(Kind::words).collect();
    assert_eq!(words[..4], ["Get", "Get_", "Put", "Put_"]);
    let is = |are: &str| format!("result 1 is {are}results 2 to 3");
    assert_eq!(words[4..6], [format!("TryRead.1 ({})", is("")), format!("TryRead.2 ({})", is("not "))]);
    assert_eq!(words[6..], ["Wait", "Wait_", "Write"]);
    let [found, write] = [&kinds[4], &kinds[8]];
    let written = |roles: &[Role]| roles.iter().filter_map(|r| r.writes.clone()).collect::<Vec<_>>();
    let [one, other] = [0, 1].map(|word| Datum::Word(1, word));
    let tuple = Write::Words(vec![one, other]);
    assert_eq!(written(&write.abstract_), std::slice::from_ref(&tuple));
    assert_eq!(written(&write.concrete), [tuple, Write::Is(one), Write::Is(other)]);
    assert_eq!(found.abstract_[0].reads, Some(Read::Is(Datum::Result(0))));
    assert!(fits(&kinds, &source).is_ok_and(|n| n > 30));
    let changes: [(&str, Change); 2] = [
        ("words are exchanged", |kinds| {
            kinds[8].concrete[0].writes = Some(Write::Words(vec![Datum::Word(1, 1), Datum::Word(1, 0)]));
        }),
        ("another word is written", |kinds| kinds[8].concrete[1].writes = Some(Write::Is(Datum::Word(1, 1)))),
    ];
    are_noticed(&kinds, &source, &changes);
}

#[test]
fn a_call_that_happens_in_several_ways_has_a_template_for_each() {
    let all = catalogue();
    let entry = named(&all, "sc-rmw").unwrap();
    let source = source(entry, entry.variants[0].implementation.clone());
    let kinds = source.kinds().unwrap();
    let words: Vec<String> = kinds.iter().map(Kind::words).collect();
    let cas = |way, is: &str, n| format!("CAS.{n} (RCAS in way {way}, argument 2 {is} result 5)");
    let branches = [cas(1, "is", 1), cas(1, "is not", 2), cas(2, "is", 3), cas(2, "is not", 4)];
    assert_eq!(words[..4], branches);
    assert_eq!(words[4..], ["FAA", "Read", "Write"]);
    // The same addition is recognized below and above.
    let sums = |roles: &[Role]| roles.iter().filter_map(|r| r.writes.clone()).collect::<Vec<_>>();
    let faa = &kinds[4];
    let sum = Write::Plus(0, Datum::Argument(1));
    assert!(sums(&faa.concrete).contains(&sum) && sums(&faa.abstract_) == [sum]);
    assert_eq!(fits(&kinds, &source), Ok(ENOUGH));
    let changes: [(&str, Change); 4] = [
        ("another number is added", |kinds| {
            for role in &mut kinds[4].concrete {
                if let Some(Write::Plus(_, datum)) = &mut role.writes {
                    *datum = Datum::Constant(Val::Int(77));
                }
            }
        }),
        ("a branch is left out", |kinds| {
            kinds.remove(0);
        }),
        ("a branch is taken for the other", |kinds| {
            kinds[0].forms = kinds[1].forms.clone();
        }),
        ("a failed exchange writes", |kinds| {
            let swapped = kinds[0].clone();
            kinds[3].concrete = swapped.concrete;
        }),
    ];
    are_noticed(&kinds, &source, &changes);
}

/// Returns the published SV with a change: if a condition holds, a write writes another value.
fn writes_another_if(is: fn(Expr, Expr) -> Expr) -> Edited {
    let bodies = bodies! { Sv:
        Write { x, v } => {
            let other = if (is(x, v)) { 77 } else { v };
            Wait::write(x.part("copy", [here()]), other)
        }
    };
    SvOverWait.with("another value", &bodies)
}

/// A condition on data distinguishes kinds of calls. A condition on threads, nodes or objects prevents a template, and
/// the error names it.
#[test]
fn implementations_that_are_not_uniform_have_no_template() {
    let all = catalogue();
    let entry = named(&all, "sv").unwrap();
    let of_world: [fn(Expr, Expr) -> Expr; 4] = [
        |_, _| here().is(Node(3)),
        |_, _| me().is(Tid(2)),
        |_, _| all_nodes().max().is(Node(4)),
        |x, _| x.is(Loc::new("y")),
    ];
    for is in of_world {
        let without_template = without_template(entry, Arc::new(writes_another_if(is)));
        let why = "Write: which calls it makes depends on ";
        assert!(matches!(&without_template[..], [one] if one.starts_with(why)), "{without_template:?}");
    }
    let kinds_if = |is| source(entry, Arc::new(writes_another_if(is))).kinds().unwrap();
    let writes_if = |is| {
        let kinds = kinds_if(is).into_iter().filter(|kind| kind.method() == Some(Name::new("Write")));
        kinds.map(|kind| (kind.words(), kind.concrete[0].writes.clone().unwrap())).collect::<Vec<_>>()
    };
    let (same, other) = (Write::Is(Datum::Argument(1)), Write::Is(Datum::Constant(Val::Int(77))));
    // The condition is true of one datum only.
    let (one, rest) = ("Write.1 (argument 2 is 12345)".to_owned(), "Write.2 (argument 2 is not 12345)".to_owned());
    let both = [(one, other.clone()), (rest, same.clone())];
    assert_eq!(writes_if(|_, v| v.is(12345)), both);
    // A sum is moved to the other side, whatever it is a sum of.
    assert_eq!(writes_if(|_, v| (v + 1).is(12346)), both);
    assert_eq!(writes_if(|_, v| Expr::from(12344).is((v + 1) - 2)), both);
    assert_eq!(writes_if(|_, v| v.is(Val::Bot)).len(), 2);
    // A condition that is always true, or never, makes no case.
    assert_eq!(writes_if(|_, _| true.into()), [("Write".to_owned(), other)]);
    assert_eq!(writes_if(|_, v| v.is(1) & v.is(2)), [("Write".to_owned(), same)]);
}

/// The published RDMA-SC-RMW with a change: a CAS that satisfies this condition returns 7.
struct OneCas(Bodies);

impl OneCas {
    fn when(is_it: fn(Expr, Expr, Expr) -> Expr) -> Self {
        let published = ScRmwOverNlock.bodies().unwrap();
        let of = |method: &str| published.get(method).unwrap().clone();
        Self(bodies! { Sc:
            Write { x, v } => { of("Write") }
            Read { x } => { of("Read") }
            FAA { x, v } => { of("FAA") }
            CAS { x, v1, v2 } => { let found = of("CAS"); if (is_it(v1, v2, found)) { 7 } else { found } }
        })
    }
}

impl Implementation for OneCas {
    fn target(&self) -> Name {
        ScRmwOverNlock.target()
    }

    fn parts(&self) -> Option<&PartTerms> {
        ScRmwOverNlock.parts()
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(&self.0)
    }
}

/// Each condition of a term is a guard of a kind, whatever the constants are.
#[test]
fn conditions_on_data_are_guards() {
    let all = catalogue();
    let entry = named(&all, "sc-rmw").unwrap();
    let kinds =
        source(entry, Arc::new(OneCas::when(|v1, v2, found| v1.is(17) & v2.is(23) & found.is(29)))).kinds().unwrap();
    let rare = |kind: &&Kind| kind.words().contains("argument 2 is 17, argument 3 is 23, result 5 is 29");
    let rare: Vec<&Kind> = kinds.iter().filter(rare).collect();
    assert!(!rare.is_empty(), "{:?}", kinds.iter().map(Kind::words).collect::<Vec<_>>());
    // The promise is that 7 is read, or written.
    let seven = Datum::Constant(Val::Int(7));
    assert!(rare.iter().all(|kind| kind.abstract_.iter().any(|role| role.reads == Some(Read::Is(seven)))));
    assert_eq!(without_template(entry, Arc::new(ScRmwOverNlock)), Vec::<String>::new());
}

/// A guard may compare a sum. The sum is declared before the axiom about the guard.
#[test]
fn a_sum_in_a_guard_is_declared_first() {
    let all = catalogue();
    let source = source(named(&all, "sc-rmw").unwrap(), Arc::new(OneCas::when(|_, v2, found| v2.is(found + 1))));
    let kinds = source.kinds().unwrap();
    let theory = LibraryTheory::new(&source, &kinds).unwrap().below;
    let printed: String = theory.0.iter().map(|statement| format!("{statement}\n")).collect();
    let [declared, used] = ["declare-fun plus.1 ", "(plus.1 "].map(|text| printed.find(text).expect("it is printed"));
    assert!(declared < used, "{printed}");
}

/// Counts the executions in which all axioms hold, up to the first in which one fails.
fn fits(kinds: &[Kind], source: &ProofSource<'_>) -> Result<usize, String> {
    fits_with(kinds, source, ENOUGH, |_| {})
}

/// The number of executions in which axioms are checked.
const ENOUGH: usize = 100;

/// Counts the same for a theory with a change.
fn fits_with(
    kinds: &[Kind],
    source: &ProofSource<'_>,
    most: usize,
    change: impl FnOnce(&mut LibraryTheory<'_>),
) -> Result<usize, String> {
    let mut model = LibraryTheory::new(source, kinds).map_err(|refusal| refusal.to_string())?;
    change(&mut model);
    let g = Concretisation::new();
    let mut seen = Ok(0);
    executions(source, model.has_rounds(), 20 * EXECUTIONS, &mut |execution| {
        let read = structure(&model, &g, &model.below, execution).map_err(|wrong| wrong.to_string());
        let found = read.and_then(|structure| {
            let broken = model.below.axioms().find(|(_, axiom)| structure.holds(axiom) != Ok(true));
            broken.map_or(Ok(()), |(words, _)| Err(words.to_owned()))
        });
        seen = match (&seen, found) {
            (Ok(n), Ok(())) => Ok(n + 1),
            (_, Err(why)) => Err(why),
            (Err(why), _) => Err(why.clone()),
        };
        seen.as_ref().is_ok_and(|n| *n < most)
    })
    .map_err(|fault| fault.to_string())?;
    seen
}

/// A change to a template.
type Change = fn(&mut Vec<Kind>);

/// Asserts that with each of these changes the templates fit no more.
fn are_noticed(kinds: &[Kind], source: &ProofSource<'_>, changes: &[(&str, Change)]) {
    for (what, change) in changes {
        let mut changed = kinds.to_vec();
        change(&mut changed);
        let found = fits(&changed, source);
        assert!(found.is_err(), "{what} was not noticed: {found:?}");
    }
}

#[test]
fn templates_that_do_not_fit_are_noticed() {
    let all = catalogue();
    let entry = named(&all, "sv").unwrap();
    let source = source(entry, entry.variants[0].implementation.clone());
    let kinds = source.kinds().unwrap();
    assert_eq!(fits(&kinds, &source), Ok(ENOUGH));
    let changes: [(&str, Change); 4] = [
        ("another value is written", |kinds| {
            let write = kinds.iter_mut().find(|k| k.name == "Write").unwrap();
            write.concrete[0].writes = Some(Write::Is(Datum::Constant(Val::Int(9))));
        }),
        ("a cell on another node", |kinds| {
            let bcast = kinds.iter_mut().find(|k| k.name == "Bcast").unwrap();
            bcast.concrete[1].cell = bcast.concrete[0].cell.clone();
        }),
        ("a target that is left out", |kinds| {
            let bcast = kinds.iter_mut().find(|k| k.name == "Bcast").unwrap();
            for role in &mut bcast.concrete {
                let Some(Each::Nodes(nodes)) = &mut role.each else { panic!("it is for nodes") };
                nodes.but_own = true;
            }
        }),
        ("another stamp", |kinds| {
            let read = kinds.iter_mut().find(|k| k.name == "Read").unwrap();
            read.concrete[0].family = "aMF".to_owned();
        }),
    ];
    are_noticed(&kinds, &source, &changes);
}
