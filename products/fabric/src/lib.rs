//! Execution of checked programs: the bodies of libraries that `check` and `prove` verify, over a fabric.
//!
//! A [`Group`] has threads on nodes and objects. [`Group::run`] runs Rust code in each thread, over a [`Fabric`]: plain
//! shared memory, or the machine of RDMA-TSO-RMW with a seed. The machine makes store buffers and network cards as late
//! as they can be. Each method call makes the operations of RDMA-WAIT-RMW that the body of the method makes. Code that
//! `mowgli emit rust` has written makes them, or an interpreter of bodies ([`Thread::call`], [`Group::interpreted`]).
//!
//! ```
//! use mowgli_fabric::{Fabric, Group};
//!
//! // Two threads on two nodes; each has a word of its own, of which every node has a copy.
//! let mut group = Group::new(&[1, 2]);
//! let barrier = group.barrier("b", &[0, 1]);
//! let words = [group.shared_var("x"), group.shared_var("y")];
//! let seen = group.run(Fabric::Machine { seed: 7 }, |thread| {
//!     let me = thread.id().index();
//!     words[me].write(thread, 1)?;
//!     words[me].broadcast(thread)?;
//!     barrier.wait(thread)?;
//!     words[1 - me].read(thread)
//! })?;
//! assert_eq!(seen, [1, 1]);
//! # Ok::<(), mowgli_fabric::Fault>(())
//! ```
//!
//! A barrier without its fence lets a thread continue before the network card has read what the thread sent. The other
//! thread then gets a value that was written later, and never sent. Trying seeds finds such a run, and its seed
//! reproduces it:
//!
//! ```
//! # use mowgli_fabric::{Fabric, Group};
//! let mut group = Group::new(&[1, 2]).variant("bal", "no-fence");
//! let (barrier, x) = (group.barrier("b", &[0, 1]), group.shared_var("x"));
//! let run = |seed| {
//!     group.run(Fabric::Machine { seed }, |thread| {
//!         if thread.id().index() == 0 {
//!             x.write(thread, 1)?;
//!             x.broadcast(thread)?;
//!             barrier.wait(thread)?;
//!             x.write(thread, 2)?;
//!             return Ok(1);
//!         }
//!         barrier.wait(thread)?;
//!         x.read(thread)
//!     })
//! };
//! let seed = (0..1000).find(|&seed| run(seed) == Ok(vec![1, 2])).expect("a run that shows it");
//! assert_eq!(run(seed)?, [1, 2]);
//! # Ok::<(), mowgli_fabric::Fault>(())
//! ```

mod agreement;
mod bodies;
mod buffer;
mod byte_map;
pub mod command;
mod company;
mod compiled;
mod emitted;
mod explore;
#[cfg(test)]
mod fenced;
mod group;
mod left;
mod legal;
pub mod litmus;
mod local;
mod locks;
mod machine;
mod mapped;
mod memory;
mod messages;
mod objects;
mod ofi;
mod operations;
mod port;
mod rounds;
#[cfg(test)]
mod same;
mod stack;
mod tape;
mod thread;
mod values;
mod watch;
mod word;

pub use self::buffer::Buffer;
pub use self::byte_map::ByteMap;
pub use self::company::Company;
pub use self::explore::{Ending, Exploration, Fate, Incomplete, NotATrace, ResultTrace, Waiting};
pub use self::group::{Fabric, Group};
pub use self::locks::{LockGuard, NodeLock, StrongLock, TryLock, WeakLock};
pub use self::messages::MessageRing;
pub use self::objects::{Atomic, Barrier, Begun, Copying, Map, PutBarrier, Ring, SharedVar, Word, Words};
pub use self::ofi::Provider;
pub use self::port::Fault;
pub use self::rounds::{Counts, Rounds};
pub use self::stack::Stack;
pub use self::thread::Thread;
pub use self::values::WordValue;
