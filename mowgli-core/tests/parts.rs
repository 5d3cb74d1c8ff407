//! Parts belong to one implementation and are declared once; terms are the definitions in force.

use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, ExprTerm, all_nodes, all_threads, here, initial, me, node, range};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::term::body::{Bodies, bodies};
use mowgli_core::term::code::{CodePlace, CodePoint, CodeState};
use mowgli_core::term::implementation::{Implementation, misdeclared};
use mowgli_core::term::parts::{ObjectTerm, Parts, parts};
use mowgli_core::value::Val;
use mowgli_core::world::{Object, World};

mowgli_core::methods! {
    /// The upper layer of a tower.
    enum Strong of STRONG = "strong" {
        /// Returns a number.
        fn get = Get(x: Object) -> Value;
    }
}

const WEAK: Name = Name::literal("weak");
const WORD: Name = Name::literal("word");

/// An implementation of the upper layer.
struct Layer(Parts);

impl Implementation for Layer {
    fn target(&self) -> Name {
        STRONG
    }

    fn parts(&self) -> Option<&Parts> {
        Some(&self.0)
    }

    fn declare(&self, world: &mut World) {
        world.objects.insert(Loc::new("x").part("hidden"), Object::new(WORD));
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(bodies! { static Strong: Get { x } => { let _x = x; 1 } })
    }
}

fn word() -> ObjectTerm {
    ObjectTerm::new(WORD)
}

fn world() -> World {
    let mut world = World::new(2, &[Node(1)]);
    world.objects.insert(Loc::new("x"), Object::new(STRONG));
    world
}

fn of_library(name: Name) -> Expr {
    Expr::from(Loc(name))
}

#[test]
fn parts_are_declared_once_and_belong_to_their_implementation() {
    let right = parts! { x =>
        for n in (all_nodes()) { x.part("copy", [n]) => word(); }
        x.part("copy", []) => word();
        x.part("weak", []) => ObjectTerm::new(WEAK);
        of_library(STRONG).part("all", []) => word();
        x.part("word", [0.into()]) => word();
        for k in (range(1, 3)) { x.part("word", [k]) => word(); }
    };
    assert_eq!((right.mistake(), misdeclared(&Layer(right), &world())), (None, None));
    let wrong = [
        (parts! { x => x.part("word", []) => word(); x.part("word", []) => word().init(1); }, "twice"),
        (
            parts! { x => for n in (all_nodes()) { x.part("copy", [n]) => word(); } x.part("copy", [2.into()]) => word(); },
            "twice",
        ),
        (
            parts! { x => for n in (all_nodes()) { x.part("copy", [n]) => word(); } x.part("copy_2", []) => word(); },
            "twice",
        ),
        (
            parts! { x => x.part("weak", []) => ObjectTerm::new(WEAK); x.part("weak", []).part("dispenser", []) => word(); },
            "x.weak.dispenser, a part of x.weak, which is of weak",
        ),
    ];
    for (parts, why) in wrong {
        assert!(parts.mistake().is_some(), "{parts}");
        let found = misdeclared(&Layer(parts), &world()).unwrap_or_default();
        assert!(found.contains(why), "{found}");
    }
    let of_another = parts! { x => { let _x = x; of_library(WEAK) }.part("all", []) => word(); };
    let found = misdeclared(&Layer(of_another), &world()).unwrap_or_default();
    assert!(found.contains("weak.all, a part of weak, which is of weak"), "{found}");
}

/// A proof reads the object of a name off the parts, so it must not take that of another part.
#[test]
fn a_name_is_of_the_part_whose_sets_have_its_indices() {
    let x = Expr::from(ExprTerm::Arg(0, "x"));
    let parts = parts! { x =>
        for k in (range(3, 9)) { x.part("word", [k]) => word().init(initial(x)); }
        x.part("word", [1.into()]) => word();
        for n in (all_nodes()) { x.part("copy", [n]) => word(); }
        for t in (all_threads()) { x.part("seen", [t]) => word().at(node(t)); }
    };
    let of = |role, index: Expr| parts.get(x.part(role, [index]), &|_, _| true);
    assert_eq!(of("word", 1.into()), Some(word()));
    assert_eq!(of("word", 3.into()), Some(word().init(initial(x))));
    assert_eq!(of("word", ExprTerm::Arg(1, "k").into()), None, "it may be either");
    assert_eq!([of("word", 2.into()), of("word", 9.into()), of("word", me())], [None, None, None]);
    assert_eq!((of("copy", here()), of("copy", me())), (Some(word()), None));
    assert_eq!((of("seen", me()), of("seen", here())), (Some(word().at(node(me()))), None));
    assert_eq!(of("seen", Tid(9).into()), None, "a world may have no such thread");
    let sure_of_none = parts.get(x.part("seen", [me()]), &|_, _| false);
    assert_eq!(sure_of_none, None, "the index may be in no set");
}

#[test]
fn terms_are_in_force_where_a_function_says_something_else() {
    let layer = Layer(parts! { x => x.part("word", []) => word(); });
    let of: &dyn Implementation = &layer;
    let call = Call::from(Strong::Get { x: Loc::new("x") });
    let mut code = CodeState::of_call(&of.script(&world(), Tid(1), &call), &call);
    let ended = code.next(CodePlace { world: &world(), thread: Tid(1) });
    assert_eq!(ended, CodePoint::Ended(Val::Int(1)));
    let mut with_parts = world();
    of.add_objects(&mut with_parts);
    assert!(!with_parts.objects.contains_key(&Loc::new("x").part("hidden")));
}
