//! Users' libraries, whose methods the format of litmus tests does not contain.

use std::sync::Arc;

use mowgli::check::{CheckOptions, CheckQuestion, Checked, check};
use mowgli::error::InputError;
use mowgli::show::{Names, Scene, relations};
use mowgli_core::algebra::{ChoiceRole, Spec, reads, rel, spec, writes};
use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
use mowgli_core::expr::Expr;
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::judge::judge;
use mowgli_core::library::{Hints, Libraries, Library};
use mowgli_core::rewrite::edit::{Edits, calls};
use mowgli_core::search::problem::Problem;
use mowgli_core::search::solver::Flow;
use mowgli_core::simple::Over;
use mowgli_core::soundness::client::{Client, Subject};
use mowgli_core::term::body::{Bodies, Body, bodies};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::{self, methods, named_by};
use mowgli_core::term::parts::{ObjectTerm, parts};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Expected, Memory, variant};
use mowgli_libraries::sv::{self, Method as Shared, Sv};
use mowgli_rdma::RdmaStamp::{aCR, aCW};
use mowgli_rdma::to;

#[allow(dead_code, reason = "its main is that of the example")]
#[path = "../../mowgli/examples/latch.rs"]
mod latch;

methods! {
    /// Calls of a pile.
    enum OfPile of PILE = "pile" {
        /// Puts something there.
        fn push = Push(x: Object);
        /// Takes it.
        fn pop = Pop(x: Object) -> Value;
    }
}

/// A pile: a thread that has pushed finds something there.
struct Pile;

impl Library for Pile {
    named_by!(OfPile);

    fn shapes_by_function(&self, _: &World, event: &Event) -> Vec<Shape> {
        let top = |loc| Cell { loc, node: Node(1) };
        vec![match OfPile::of(&event.call) {
            OfPile::Pop { x } => Shape::from([Sub::read(aCR, top(x), Reads::Is(event.ret))]),
            OfPile::Push { x } => Shape::from([Sub::write(aCW, top(x), Writes::Is(Val::Int(1)))]),
        }]
    }

    fn spec(&self) -> Spec {
        let mut c = Spec::default();
        spec! { c =>
            let rf, initial = reads_from(reads, writes);
            say initial as missed = "{a} found nothing, before {b} pushed";
            irreflexive own = po; initial;
            // The name of a relation does not determine its role.
            let mo = orient(writes * writes);
            let found = rf;
            say found as ib = "{b} found what {a} pushed";
            so = found;
        }
        c.so_of_paths("rf2", &rel!(mo; rf));
        c
    }
}

impl Hints for Pile {}

/// Returns the place of the last push, in every pile.
fn top() -> Loc {
    Loc(PILE.part("top"))
}

/// Makes a pile whose pops return `pop` of the value that was pushed.
fn popping(pop: fn(Expr) -> Expr) -> Over<OfPile> {
    pushing(Val::Unit, pop)
}

/// Makes a pile whose pushes return a value, and whose pops return `pop` of the value that was pushed.
fn pushing(pushed: Val, pop: fn(Expr) -> Expr) -> Over<OfPile> {
    let bodies = bodies! { OfPile:
        Push { .. } => { Shared::write(top(), 1); pushed }
        Pop { .. } => { let v = Shared::read(top()); pop(v) }
    };
    Over::<OfPile>::terms(bodies).with_parts(parts! { x => Expr::from(top()) => ObjectTerm::new(sv::SV); })
}

/// Makes a pile that pops nothing, whatever was pushed.
fn forgetful() -> Over<OfPile> {
    popping(|_| 0.into())
}

impl Subject for Pile {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let mut world = empty.clone();
        world.objects.insert(Loc::new("s"), Object::new(PILE));
        vec![world]
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        method::calls(PILE, OfPile::TABLE, world, thread, bound, expired)
    }
}

fn pile(name: &'static str) -> Entry {
    let bound = Bound { threads: 1, nodes: 1, calls: 2, objects: 1, loops: 1, values: vec![1], ..Bound::default() };
    Entry {
        name,
        memory: Memory::rdma_wait(),
        specification: Libraries::over(to).with(Pile),
        below: Libraries::over(to).with(Sv),
        subject: Box::new(Pile),
        probes: Vec::new(),
        variants: vec![variant("forgetful", "Pop", Expected::Unsound, forgetful(), &[]).and(bound)],
    }
}

fn checked(entry: &Entry) -> Result<Checked, InputError> {
    let variant = &entry.variants[0];
    check(entry, variant, &variant.bounds[0], &CheckOptions::default())
}

/// A pile whose specification wrongly says that a push only looks, like a pop.
struct Glance;

impl Library for Glance {
    named_by!(OfPile);

    fn shapes_by_function(&self, world: &World, event: &Event) -> Vec<Shape> {
        Pile.shapes_by_function(world, event)
    }

    fn spec(&self) -> Spec {
        Pile.spec()
    }
}

impl Hints for Glance {
    fn only_looks(&self, _: &Event) -> bool {
        true
    }
}

#[test]
fn a_library_whose_writes_only_look_is_reported_where() {
    let said =
        checked(&Entry { specification: Libraries::over(to).with(Glance), ..pile("pile") }).err().expect("a mistake");
    let expected = "only_looks of pile says that";
    assert!(
        said.to_string().starts_with("tests/tests/own.rs:")
            && said.to_string().contains(expected)
            && said.to_string().contains("says that Push(s) only looks, and in its shape it writes s on node 1"),
        "{said}"
    );
    assert!(said.to_string().contains("let it be false of this call"), "{said}");
}

#[test]
fn an_implementation_has_a_body_of_each_call() {
    let bodies = bodies! { OfPile: Pop { .. } => { Shared::read(top()) } };
    let partial =
        Over::<OfPile>::terms(bodies).with_parts(parts! { x => Expr::from(top()) => ObjectTerm::new(sv::SV); });
    let bound = pile("pile").variants[0].bounds[0].clone();
    let variants = vec![variant("partial", "", Expected::Sound, partial, &[]).and(bound)];
    let said = checked(&Entry { variants, ..pile("pile") }).err().expect("a mistake").to_string();
    assert!(said.contains("the variant partial of pile has no body of Push"), "{said}");
}

/// A library with the name of one below it would implement that one by itself.
#[test]
fn an_implementation_calls_other_libraries_only() {
    let bodies = bodies! { OfPile: Push { x } => { OfPile::push(x) } Pop { .. } => { Shared::read(top()) } };
    let bound = pile("pile").variants[0].bounds[0].clone();
    let variants = vec![variant("circle", "", Expected::Sound, Over::<OfPile>::terms(bodies), &[]).and(bound)];
    let said = checked(&Entry { variants, ..pile("pile") }).err().expect("a mistake").to_string();
    assert!(said.contains("the body of Push calls pile, which it implements"), "{said}");
}

/// Every value other than unit counts as a result, whatever the method is called. Without it the assertion would be
/// false.
#[test]
fn a_counterexample_shows_the_results_of_all_methods() {
    let checked = checked(&pile("pile")).unwrap();
    assert_eq!(checked.verdict(), "unsound", "{}", checked.title());
    let litmus = checked.litmus().expect("a counterexample");
    assert!(litmus.contains(" s.push     ;\n a := s.pop ;\nforbidden (a=0)\n"), "{litmus}");
    let text = checked.explanation();
    assert!(text.contains(" s.push     ;\n a := s.pop ;\n\nwith the events"), "{text}");
    assert!(text.contains("The outcome a=0 is that of this execution of pile:forgetful"), "{text}");
    assert!(text.contains("a := s.pop found nothing, before s.push pushed  (missed)"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&checked.json()).expect("JSON");
    assert_eq!(json["counterexample"]["outcome"]["a"], "0", "{json}");
    let pop = json["counterexample"]["events"].as_array().and_then(|all| all.iter().find(|e| e["of"] == "Pop(s) = 0"));
    let pop = pop.unwrap_or_else(|| panic!("an event of the pop: {json}"));
    assert!(pop["line"].as_str().is_some_and(|line| line.starts_with("own.rs:")), "{pop}");
    let finding = checked.finding().expect("a counterexample");
    assert_eq!(finding.execution.expect("an execution").outputs, [Val::tuple(&[Val::Int(0)])]);
}

/// A delayed call whose result is used leaves a method without its result.
#[test]
#[ignore = "takes half a minute"]
fn an_edit_that_takes_a_result_away_is_an_error_and_no_verdict() {
    let with = |implementation: Arc<dyn Implementation>| {
        let mut entry = pile("pile");
        entry.variants[0].implementation = implementation;
        checked(&entry)
    };
    assert!(with(Arc::new(popping(|v| v))).is_ok());
    let pops = calls!(Shared::Read { .. } in OfPile::Pop { .. });
    let late = with(Arc::new(popping(|v| v).delay(pops))).err().expect("its result is used");
    assert!(late.to_string().starts_with("the variant forgetful of pile: `delay Shared::Read { .. }"), "{late}");
    assert!(late.to_string().contains("in the body of Pop, which uses its result before the call is made"), "{late}");
}

/// A wrong outcome with a method that should return a value and does not is an error of the variant, and not a verdict.
#[test]
fn a_method_without_its_result_is_an_error_and_no_verdict() {
    let mut entry = pile("pile");
    entry.variants[0].implementation = Arc::new(popping(|_| Val::Unit.into()));
    let said = checked(&entry).err().expect("a mistake");
    assert!(said.to_string().contains("Pop(s)"), "{said}");
    entry.variants[0].implementation = Arc::new(pushing(Val::Int(5), |v| v));
    let said = checked(&entry).err().expect("a mistake").to_string();
    assert!(said.contains("the body of Push(s) returns 5, and its method returns nothing"), "{said}");
}

#[test]
fn an_entry_that_names_another_library_is_reported_which_there_is() {
    let said = checked(&pile("stack")).err().expect("a mistake");
    assert!(said.to_string().contains("the entry stack specifies no library of that name, but pile"), "{said}");
    let entry = Entry { specification: Libraries::over(to).with(Sv), subject: Box::new(Sv), ..pile("sv") };
    let said = checked(&entry).err().expect("a mistake");
    assert!(said.to_string().contains("forgetful of the entry sv is an implementation of pile"), "{said}");
}

/// A client generator whose calls belong to a library that nothing specifies.
struct Misspelt;

impl Subject for Misspelt {
    fn worlds(&self, empty: &World, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        Pile.worlds(empty, bound, &|| false)
    }

    fn calls(&self, _: &World, _: Tid, _: &Bound, _: &dyn Fn() -> bool) -> Vec<Call> {
        vec![Call::new(Name::literal("pyle"), "Push", &[Loc::new("s").into()])]
    }
}

#[test]
fn a_call_of_a_library_that_nothing_specifies_is_named() {
    let said = checked(&Entry { subject: Box::new(Misspelt), ..pile("pile") }).err().expect("a mistake");
    assert!(said.to_string().contains("the subject of pile makes the call Push(s) of pyle, which neither"), "{said}");
}

methods! {
    /// Calls of a signal, which are those of a latch.
    enum OfSignal of SIGNAL = "signal" {
        /// Raises it.
        fn raise = Raise(x: Object);
        /// Reads it.
        fn look = Check(x: Object) -> Value;
    }
}

/// The latch under another name.
struct Signal;

/// Returns the same call of a latch.
fn of_latch(call: &Call) -> Call {
    Call { library: Name::literal("latch"), ..call.clone() }
}

/// Applies `of` to the specification of the latch.
fn ask<T>(of: impl FnOnce(&dyn Hints) -> T) -> T {
    of(latch::entry().library().expect("the example specifies it"))
}

impl Library for Signal {
    named_by!(OfSignal);

    fn shapes_by_function(&self, world: &World, event: &Event) -> Vec<Shape> {
        ask(|library| library.shapes(world, &Event { call: of_latch(&event.call), ..event.clone() }))
    }

    fn spec(&self) -> Spec {
        ask(|library| library.spec())
    }
}

impl Hints for Signal {}

/// Returns a call of the latch of s.
fn of_the_latch(method: &'static str) -> Body {
    Body::call(Name::literal("latch"), method, [Loc::new("s").part("latch").into()])
}

/// A signal is a latch.
struct SignalOverLatch;

impl Implementation for SignalOverLatch {
    fn target(&self) -> Name {
        SIGNAL
    }

    fn declare(&self, world: &mut World) {
        world.objects.insert(Loc::new("s").part("latch"), Object::new(Name::literal("latch")));
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(
            bodies! { static OfSignal: Raise { .. } => { of_the_latch("Raise") } Check { .. } => { of_the_latch("Check") } },
        )
    }
}

impl Subject for Signal {
    fn worlds(&self, empty: &World, _: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let mut world = empty.clone();
        world.objects.insert(Loc::new("s"), Object::new(SIGNAL));
        vec![world]
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        method::calls(SIGNAL, OfSignal::TABLE, world, thread, bound, expired)
    }
}

/// Checks a signal through its whole stack, with these entries of the user.
fn through(own: Vec<Entry>) -> Result<&'static str, InputError> {
    let bound = Bound { threads: 2, nodes: 2, calls: 1, objects: 1, loops: 2, values: vec![1], ..Bound::default() };
    let entry = Entry {
        name: "signal",
        memory: Memory::rdma_wait(),
        specification: Libraries::over(to).with(Signal),
        below: latch::entry().specification,
        subject: Box::new(Signal),
        probes: Vec::new(),
        variants: vec![variant("published", "a latch", Expected::Sound, SignalOverLatch, &[]).and(bound)],
    };
    let entries: Vec<Entry> = own.into_iter().chain(catalogue()).collect();
    let options =
        CheckOptions { ask: CheckQuestion::Through, loopback: false, entries: &entries, ..CheckOptions::default() };
    let checked = check(&entry, &entry.variants[0], &entry.variants[0].bounds[0], &options)?;
    assert_eq!(checked.over, "rdma-wait-rmw");
    Ok(checked.verdict())
}

/// The stack of a user's library continues through other libraries of the user, down to the memory model. The check
/// uses their implementations.
#[test]
fn a_stack_of_ones_own_is_checked_through() {
    assert_eq!(through(vec![latch::entry()]), Ok("no-wrong-outcome"));
    let mut broken = latch::entry();
    broken.variants.remove(0);
    assert_eq!(through(vec![broken]), Ok("unsound"));
}

#[test]
fn a_stack_with_a_gap_or_with_two_of_one_name_is_reported() {
    let said = through(Vec::new()).expect_err("a gap");
    assert!(said.to_string().contains("latch, below signal, is no memory model and has no entry"), "{said}");
    let said = through(vec![latch::entry(), latch::entry()]).expect_err("two latches");
    assert!(said.to_string().contains("latch, below signal, has 2 entries"), "{said}");
    // The catalogue also has shared variables, on which the latch is built.
    let said = through(vec![latch::entry(), Entry { name: "sv", ..pile("pile") }]).expect_err("two of them");
    assert!(said.to_string().contains("sv, below latch, has 2 entries"), "{said}");
}

/// The specification states the role of a relation; its name does not matter.
#[test]
fn relations_are_known_by_their_roles() {
    let libraries = Libraries::over(to).with(Pile);
    let spec = libraries.spec(PILE).expect("a library of the set");
    assert_eq!((spec.role("rf"), spec.role("mo")), (Some(ChoiceRole::ReadsFrom), Some(ChoiceRole::Orientation)));
    assert_eq!((spec.role("ib"), spec.is_of_paths("ib"), spec.is_of_paths("rf2")), (None, false, true));
    let world = Pile.worlds(&World::new(1, &[Node(1), Node(1)]), &Bound::default(), &|| false).remove(0);
    let call = |method| Call::new(PILE, method, &[Loc::new("s").into()]);
    let client = Client { threads: vec![vec![call("Push"), call("Pop")], vec![call("Push")]] };
    let programs = client.programs();
    let problem = Problem::of(&libraries, &world, &programs);
    let mut found = None;
    let _ = problem.explore(&mut |solver| {
        assert!(solver.complete(), "a class has a completion");
        found = solver.execution();
        Flow::Stop
    });
    let execution = found.expect("an execution");
    let orders: Vec<_> = execution.chosen_as(&libraries, ChoiceRole::Order).collect();
    assert!(orders.is_empty(), "{orders:?}");
    let judged = judge(&libraries, &execution).expect("search and judge agree");
    let scene = Scene { libraries: &libraries, execution: &execution, judged: &judged, names: &Names::default() };
    let shown = relations(&scene);
    assert!(shown.contains("  mo of pile\n") && shown.contains("  ib of pile\n"), "{shown}");
    assert!(!shown.contains("rf2 of pile"), "{shown}");
}
