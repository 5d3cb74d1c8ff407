//! x86-TSO as an instance of the framework: a machine whose processors have store buffers.
//!
//! [`tso`] is the memory, [`stamp`] its stamps, [`pool`] hands out records, and [`probes`] are clients that watch a
//! library through it. There is one machine, so worlds have one node.
//!
//! A write waits in the store buffer of its processor while a later read passes it; a fence empties the buffer:
//!
//! ```
//! use mowgli_core::ids::{Loc, Node};
//! use mowgli_core::library::Libraries;
//! use mowgli_core::search::problem::Problem;
//! use mowgli_core::term::body::{Body, body};
//! use mowgli_core::term::script::Script;
//! use mowgli_core::value::Val;
//! use mowgli_core::world::World;
//! use mowgli_x86::to;
//! use mowgli_x86::tso::{X86Tso, mfence, read, word, write};
//!
//! let [x, y] = ["x", "y"].map(Loc::new);
//! let mut world = World::new(1, &[Node(1), Node(1)]);
//! world.objects.extend([x, y].map(|x| (x, word())));
//! let both_read_0 = |between: Body| -> bool {
//!     let thread = |mine, other| body! { write(mine, Val::Int(1)); between.clone(); read(other) };
//!     let (libraries, programs) = (Libraries::over(to).with(X86Tso), [thread(x, y), thread(y, x)].map(Script::from));
//!     let problem = Problem::of(&libraries, &world, &programs);
//!     problem.outcomes().all().unwrap().into_keys().any(|o| o.outputs == [Val::Int(0), Val::Int(0)])
//! };
//! assert!(both_read_0(Body::unit()));
//! assert!(!both_read_0(mfence()));
//! ```

pub mod pool;
pub mod probes;
pub mod remedies;
pub mod stamp;
pub mod tso;

pub use stamp::{X86Stamp, to};
