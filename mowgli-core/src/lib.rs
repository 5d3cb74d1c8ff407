//! Mowgli's framework: library verification over very weak memory (LOCO §3).
//!
//! A [`Library`](library::Library) has methods, shapes for their calls, and a consistency predicate written in the
//! relational [`algebra`]. An [`Implementation`](term::implementation::Implementation) is a program over other
//! libraries for each call, as a [`term`], which [`rewrite`] changes. [`search`] finds all outcomes of a program.
//! [`soundness`] checks an implementation against a specification for all clients up to a bound. The [`judge`] checks every
//! execution that either shows.
//!
//! The framework knows no memory model: stamps (see [`stamp`]) and a stamp order are a parameter. Here is one with a single stamp
//! that keeps program order, a word of memory, and store buffering, which has no weak outcome then:
//!
//! ```
//! use mowgli_core::algebra::{Spec, spec};
//! use mowgli_core::term::body::body;
//! use mowgli_core::event::{Cell, Event, Reads, Shape, Sub, Writes};
//! use mowgli_core::ids::{Loc, Node};
//! use mowgli_core::library::{Hints, Libraries, Library};
//! use mowgli_core::term::method::{methods, named_by};
//! use mowgli_core::search::problem::Problem;
//! use mowgli_core::term::script::Script;
//! use mowgli_core::stamp::plain_stamps;
//! use mowgli_core::value::Val;
//! use mowgli_core::world::{Object, World};
//!
//! #[derive(Clone, Copy)]
//! enum Sc { Any }
//! plain_stamps!(Sc: Any);
//!
//! methods! {
//!     /// Calls of a word of memory.
//!     enum Method of MEMORY = "memory" {
//!         /// Reads the word.
//!         fn read = Read(x: Object) -> Value;
//!         /// Writes the word.
//!         fn write = Write(x: Object, v: Value);
//!     }
//! }
//!
//! struct Memory;
//! impl Library for Memory {
//!     named_by!(Method);
//!     fn shapes_by_function(&self, _: &World, event: &Event) -> Vec<Shape> {
//!         let cell = |loc| Cell { loc, node: Node(1) };
//!         let sub = match Method::of(&event.call) {
//!             Method::Read { x } => Sub::read(Sc::Any, cell(x), Reads::Is(event.ret)),
//!             Method::Write { x, v } => Sub::write(Sc::Any, cell(x), Writes::Is(v)),
//!         };
//!         vec![Shape::from([sub])]
//!     }
//!     fn spec(&self) -> Spec {
//!         spec! {
//!             let rf, mo, rb = coherence;
//!             so = rf | mo | rb;
//!         }
//!     }
//! }
//! impl Hints for Memory {}
//!
//! let [x, y] = ["x", "y"].map(Loc::new);
//! let thread = |mine: Loc, other: Loc| Script::from(body! { write(mine, 1); read(other) });
//! let mut world = World::new(1, &[Node(1), Node(1)]);
//! world.objects.extend([x, y].map(|x| (x, Object::new(MEMORY))));
//! let (libraries, programs) = (Libraries::over(|_, _: Sc| true).with(Memory), [thread(x, y), thread(y, x)]);
//! let problem = Problem::of(&libraries, &world, &programs);
//! let outputs: Vec<_> = problem.outcomes().all().unwrap().into_keys().map(|o| o.outputs).collect();
//! let [zero, one] = [Val::Int(0), Val::Int(1)];
//! assert_eq!(outputs, [[zero, one], [one, zero], [one, one]]);
//! ```
pub mod cat;
pub mod rewrite;
pub mod search;
pub mod simple;
pub mod soundness;
pub mod term;
pub mod unknown;

pub use mowgli_judge::{algebra, event, execution, expr, few, ids, judge, library, stamp, value, world};
