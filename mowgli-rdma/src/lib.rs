//! RDMA instances of the framework.
//!
//! [`stamp`] is the stamp order of RDMA; [`wait`] is RDMA-WAIT-RMW, the model in which LOCO's libraries are written.
//!
//! A put reads its source some time after it was called (LOCO Fig. 3):
//!
//! ```
//! use mowgli_core::event::Cell;
//! use mowgli_core::ids::{Loc, Name, Node, Wid};
//! use mowgli_core::library::Libraries;
//! use mowgli_core::search::problem::Problem;
//! use mowgli_core::term::body::{Body, body};
//! use mowgli_core::term::script::Script;
//! use mowgli_core::value::Val;
//! use mowgli_core::world::World;
//! use mowgli_rdma::to;
//! use mowgli_rdma::wait::{Wait, put, wait, word, write};
//!
//! let (x, z, d) = (Loc::new("x"), Loc::new("z"), Val::Wid(Wid(Name::literal("d"))));
//! let mut world = World::new(2, &[Node(1)]);
//! world.objects.extend([(x, word(Node(1))), (z, word(Node(2)))]);
//! let finals = |body: Body| -> Vec<Val> {
//!     let (libraries, observed) = (Libraries::over(to).with(Wait), [Cell { loc: z, node: Node(2) }]);
//!     let programs = [Script::from(body)];
//!     let problem = Problem { observed: &observed, ..Problem::of(&libraries, &world, &programs) };
//!     problem.outcomes().all().unwrap().into_keys().map(|o| o.finals[0]).collect()
//! };
//! let [zero, one] = [Val::Int(0), Val::Int(1)];
//! assert_eq!(finals(body! { put(z, x, d); write(x, one) }), [zero, one]);
//! assert_eq!(finals(body! { put(z, x, d); wait(d); write(x, one) }), [zero]);
//! ```

mod axioms;
pub mod core_rma;
pub mod crash;
pub mod error;
pub mod message;
pub mod network;
pub mod operational;
pub mod presets;
pub mod probes;
pub mod remedies;
pub mod robust;
pub mod sc;
pub mod stamp;
pub mod switches;
pub mod tso;
pub mod wait;
pub mod way;

pub use error::Error;
pub use network::Network;
pub use stamp::{Qp, RdmaStamp, StampIndex, to};
pub use switches::Switches;
pub use way::{Signal, Way};
