//! Execution of checked programs: the bodies of libraries that `check` and `prove` verify, over a fabric.
//!
//! A [`Group`] has threads on nodes and objects. [`Group::run`] runs Rust code in each thread, over a [`Fabric`]: plain
//! shared memory, or the machine of RDMA-TSO-RMW with a seed. The machine makes store buffers and network cards as late
//! as they can be. Code that `mowgli emit rust` has written makes each method call: the operations of RDMA-WAIT-RMW that the checked
//! body makes.
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
//! A put that nobody waits for may read its source after that was written again. Trying seeds finds such a run, and its seed
//! reproduces it:
//!
//! ```
//! # use mowgli_fabric::{Fabric, Group};
//! let mut group = Group::new(&[1, 2]);
//! let (own, far) = (group.word("own", 1, 1), group.word("far", 2, 0));
//! let run = |seed| {
//!     group.run(Fabric::Machine { seed }, |thread| {
//!         if thread.node().0 == 2 {
//!             return thread.until(|thread| Ok(Some(far.read(thread)?).filter(|v| *v > 0)));
//!         }
//!         far.put(thread, own)?;
//!         own.write(thread, 2)?;
//!         Ok(0)
//!     })
//! };
//! let seed = (0..1000).find(|&seed| run(seed) == Ok(vec![0, 2])).expect("a run that shows it");
//! assert_eq!(run(seed)?, [0, 2]);
//! # Ok::<(), mowgli_fabric::Fault>(())
//! ```

#![cfg_attr(not(libfabric), allow(dead_code, reason = "what calls libfabric is not there"))]

mod agreement;
mod buffer;
mod company;
mod emitted;
mod explore;
#[cfg(test)]
mod fenced;
mod group;
mod interpreter;
mod left;
mod local;
mod locks;
mod machine;
mod made;
mod mapped;
mod memory;
mod objects;
#[cfg(libfabric)]
mod ofi;
mod port;
mod provider;
mod specifications;
mod tape;
mod thread;
mod values;
mod watch;

pub use self::buffer::Buffer;
pub use self::company::Company;
pub use self::emitted::mowgli_port;
pub use self::explore::{Ending, Exploration, Fate, Incomplete, NotATrace, ResultTrace, Waiting};
pub use self::group::{Fabric, Group};
pub use self::interpreter::{Interpreted, Interpreter};
pub use self::locks::{LockGuard, NodeLock, StrongLock, WeakLock};
pub use self::made::{CallPort, EmittedObject};
pub use self::objects::{Atomic, Barrier, Begun, Copying, Map, Ring, SharedVar, Word, Words};
pub use self::port::Fault;
pub use self::provider::Provider;
pub use self::thread::{CallResult, Thread};
pub use self::values::WordValue;
