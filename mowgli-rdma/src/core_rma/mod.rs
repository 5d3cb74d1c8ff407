//! coreRMA, the oldest model of remote memory access (CORERMA): one process a node, a CPU that is sequentially
//! consistent, a happens-before relation that twelve rules generate, and values that are undefined after a race.
//!
//! [`program`] turns statements into actions (Table 3), [`execution`] applies the rules (Fig. 4), [`generate`] makes the
//! tests that probe the rules one by one (§6).
//!
//! The model carries out a put and a get to one process in order. An InfiniBand network does not promise that (Fig. 6):
//!
//! ```
//! use mowgli_rdma::core_rma::execution::{Rules, outputs};
//! use mowgli_rdma::core_rma::program::{CoreRmaStatement, Program, SharedAccess, Variable};
//!
//! let [x, y] = [0, 1].map(|variable| SharedAccess { variable, atomic: true });
//! let fig6 = Program {
//!     variables: vec![Variable { owner: 0, init: 1 }, Variable { owner: 1, init: 0 }],
//!     processes: vec![
//!         vec![CoreRmaStatement::Read { register: 0, from: x }],
//!         vec![
//!             CoreRmaStatement::Put { to: x, from: y },
//!             CoreRmaStatement::Get { to: y, from: x },
//!             CoreRmaStatement::Flush { process: 0 },
//!             CoreRmaStatement::Read { register: 0, from: y },
//!         ],
//!     ],
//! };
//! let under = |rules: Rules| -> Vec<Vec<Option<i64>>> { outputs(&fig6, &rules).unwrap().into_iter().collect() };
//! assert_eq!(under(Rules::core()), [[Some(0), Some(0)], [Some(1), Some(0)]]);
//! assert_eq!(under(Rules::infiniband()).len(), 4);
//! ```

pub mod execution;
pub mod generate;
pub mod program;

use mowgli_core::ids::Name;

/// The model's name.
pub const CORE_RMA: Name = Name::literal("core-rma");
