//! The names for a library over RDMA: `use mowgli_libraries::prelude::*;`. Over x86-TSO use [`crate::x86::prelude`].
//!
//! [`Wait`] is RDMA-WAIT-RMW and [`Sv`] are shared variables, the libraries to build on. [`Rdma`] and [`Shared`] have
//! their calls for bodies, such as `Rdma::put(x, y, d)`. They also have patterns of these calls for edits, such as
//! `Rdma::Put { x, y, d }`.

pub use any::*;
pub use mowgli_core::ids::{Node, NodeSet, Wid};
pub use mowgli_rdma::RdmaStamp::{self, *};
pub use mowgli_rdma::to;
pub use mowgli_rdma::wait::{self, Method as Rdma, Wait};

pub use crate::sv::{self, Method as Shared, Sv};

/// The names for a library over any memory model.
pub mod any {
    pub use mowgli_core::algebra::{Attribute, CELL, Key, Spec, SubView, calls, reads, rel, set, spec, stamps, writes};
    pub use mowgli_core::event::{Call, Cell, Event, Reads, Shape, Sub, Writes};
    pub use mowgli_core::expr::{
        Expr, ExprTerm, all_nodes, all_threads, here, initial, me, members, node, nodes, number, only, range, ret,
        size, thread,
    };
    pub use mowgli_core::ids::{Loc, Name, Tid};
    pub use mowgli_core::library::{Equivariance, Hints, Initial, Libraries, Library, Paired, PlainSet};
    pub use mowgli_core::rewrite::edit::{Edits, calls};
    pub use mowgli_core::simple::{Over, Simple};
    pub use mowgli_core::soundness::client::{Subject, object_names};
    pub use mowgli_core::stamp::{Stamp, StampKind};
    pub use mowgli_core::term::body::{Bodies, Body, bodies, body};
    pub use mowgli_core::term::bound::Bound;
    pub use mowgli_core::term::implementation::Implementation;
    pub use mowgli_core::term::method::{methods, named_by};
    pub use mowgli_core::term::parts::{ObjectTerm, PartTerm, Parts, parts};
    pub use mowgli_core::term::script::Script;
    pub use mowgli_core::term::shape::{Index, ShapeTerm, Shapes, other_than, plus, shape, shapes, step, step_of, sum};
    pub use mowgli_core::value::Val;
    pub use mowgli_core::world::{Object, World};

    pub use crate::entry::{Entry, Expected, Memory, Variant, variant};
}
