//! LOCO's libraries: one file each, its specification beside its implementation and its broken variants.
//!
//! ```
//! use std::sync::Arc;
//! use mowgli_core::ids::Name;
//! use mowgli_core::library::Libraries;
//! use mowgli_core::term::bound::Bound;
//! use mowgli_core::soundness::verdict::{Question, Verdict, run};
//! use mowgli_libraries::bal::{BAL, Bal, BalOverSv};
//! use mowgli_libraries::sv::Sv;
//! use mowgli_rdma::probes::WaitProbes;
//! use mowgli_rdma::to;
//! use mowgli_rdma::wait::Wait;
//!
//! let report = run(&Question {
//!     library: BAL,
//!     specification: Libraries::over(to).with(Bal::Plain),
//!     below: Libraries::over(to).with(Sv),
//!     beside: Libraries::over(to).with(Wait),
//!     chain: vec![Arc::new(BalOverSv::default())],
//!     subject: &Bal::Plain,
//!     probes: &[&WaitProbes { loopback: true, gets: false }],
//!     bound: Bound { threads: 3, nodes: 3, calls: 1, objects: 1, loops: 3, values: vec![1], ..Bound::default() },
//!     asks_progress: true,
//!     crashing: None,
//!     log: None,
//!     expired: &|| false,
//!     progress: &|_, _| {},
//! });
//! assert!(matches!(report.verdict, Verdict::Sound));
//! let key = (Name::literal("BAR"), "aCR".to_owned());
//! assert_eq!(report.concretisation[&key].iter().collect::<Vec<_>>(), ["aCR of the last Read"]);
//! ```

pub mod bal;
pub mod catalogue;
pub mod entry;
pub mod error;
pub mod kvstore;
pub mod lock;
pub mod msw;
pub mod nlock;
pub mod prelude;
pub mod rbl;
pub mod remedies;
pub mod sc_rmw;
pub mod sequential;
pub mod slock;
pub mod sv;
pub mod table;
pub mod trylock;
pub mod wlock;
pub mod x86;
