//! SV, shared variables: every node has a copy; a write changes the own copy, a broadcast sends it to others.
//!
//! LOCO §3.4, Def. 3.8, Theorem 3.15. A global fence promises that everything towards its nodes has reached them.
//! It deliberately does not promise that a broadcast sends one value to all targets: each is read separately.

use std::sync::{Arc, LazyLock};

use mowgli_core::algebra::{Spec, spec};
use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, all_nodes, here, initial, ret};
use mowgli_core::ids::{Loc, Name, Tid};
use mowgli_core::library::{Equivariance, Hints, Libraries, Library};
use mowgli_core::rewrite::edit::{Edits, calls};
use mowgli_core::soundness::client::{Subject, object_names};
use mowgli_core::term::body::{Bodies, bodies, body};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::{self, methods, named_by};
use mowgli_core::term::parts::{ObjectTerm, Parts, parts};
use mowgli_core::term::shape::{Shapes, shapes};
use mowgli_core::world::{DeclarationForm, DeclarationPart, Object, World};
use mowgli_rdma::stamp::RdmaStamp::{aCR, aCW, aGF, aNLR, aNRW, aWT};
use mowgli_rdma::to;
use mowgli_rdma::wait::{Method as RdmaWait, TARGET, WAIT, WID, Wait};

use crate::entry::{Entry, Expected, Memory, Variant, bound, few_calls, variant};

methods! {
    /// Calls of shared variables.
    pub enum Method of SV = "sv" {
        /// `Write(x, v)`: writes the copy of the thread's node.
        fn write = Write(x: Object, v: Value);
        /// `Read(x)`: reads the copy of the thread's node.
        fn read = Read(x: Object) -> Value, looks;
        /// `Bcast(x, d, ns)`: sends the copy of the thread's node to these nodes.
        fn bcast = Bcast(x: Object, d: Id, ns: Nodes);
        /// `Wait(d)`: waits until the copy of the thread's node may be written again.
        fn wait = Wait(d: Id), looks;
        /// `GF(ns)`: waits until everything towards these nodes has reached them.
        fn gf = GF(ns: Nodes), looks;
    }
}

/// A shared variable.
#[must_use]
pub fn variable() -> Object {
    Object::new(SV)
}

/// SV as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sv;

impl Library for Sv {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm { kind: "svar", parts: &[DeclarationPart::Init] })
    }

    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method:
            Write { x, v } => { aCW: writes x at here, v }
            Read { x } => { aCR: reads x at here, ret() }
            Bcast { x, ns, .. } => {
                for n in (ns) {
                    let v = aNLR(n): reads x at here;
                    aNRW(n): writes x at n, v
                }
            }
            Wait { .. } => { aWT }
            GF { ns } => { for n in (ns) { aGF(n) } }
        })
    }

    fn spec(&self) -> Spec {
        spec! {
            // Def. 3.7. rf^n <= W^n x R^n and mo^n total on W^n_x: a cell is one node's copy
            let rf, mo, rb = coherence;
            let rf_e = rf - ([aCW]; po; [aCR]);
            // the aNLR of a Bcast with d, and the aWT of a later Wait(d)
            let pf = [aNLR]; po & same(WID); [aWT];
            // the aNLR_n and the aNRW_n of each Bcast
            let iso = [aNLR]; same_event & same(TARGET); [aNRW];
            // Def. 3.8: no read misses its own thread's earlier write
            let missed = [aCR]; po^-1 & rb; [aCW];
            say rf_e as rf = "{b} read {b reads}, which {a} wrote";
            say pf = "{b} waits for {a}";
            say iso = "{a} reads before it writes";
            say missed as rb = "{a} read {a reads}, though its thread did {b} before";
            empty own-write = missed;
            so = iso | rf_e | pf | rb | mo;
        }
    }
}

impl Hints for Sv {
    /// Each call has a result in every state, unless it waits for a node that has crashed.
    fn may_wait(&self, world: &World, _: &Call) -> Option<bool> {
        Some(!world.crashes.nodes.is_empty())
    }

    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::DataIndependent
    }
}

/// The implementation over RDMA-WAIT.
#[derive(Clone, Copy, Debug, Default)]
pub struct SvOverWait;

/// x_n.
fn copy(x: impl Into<Expr>, n: impl Into<Expr>) -> Expr {
    x.into().part("copy", [n.into()])
}

/// bot_n: a word that a fence gets, and that nobody reads.
fn dummy(n: impl Into<Expr>) -> Expr {
    Expr::from(Loc(SV)).part("bot", [n.into()])
}

impl Implementation for SvOverWait {
    fn target(&self) -> Name {
        SV
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            for n in (all_nodes()) {
                copy(x, n) => ObjectTerm::new(WAIT).at(n).init(initial(x));
                // At this word nobody looks: see `wait::unread`.
                dummy(n) => ObjectTerm::new(WAIT).at(n).size(0);
            }
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        static BODIES: LazyLock<Bodies> = LazyLock::new(|| {
            // d0, reserved
            let d0 = Expr::from(Loc(SV)).wid("d0");
            bodies! { Method:
                Write { x, v } => { RdmaWait::write(copy(x, here()), v) }
                Read { x } => { RdmaWait::read(copy(x, here())) }
                Bcast { x, d, ns } => { for n in (ns) { RdmaWait::put(copy(x, n), copy(x, here()), d) } }
                Wait { d } => { RdmaWait::wait(d) }
                GF { ns } => {
                    for n in (ns) { RdmaWait::get(dummy(here()), dummy(n), d0) }
                    RdmaWait::wait(d0);
                }
            }
        });
        Some(&BODIES)
    }
}

/// The implementation, to put into [`mowgli_core::term::implementation::Implementations`].
#[must_use]
pub fn over_wait() -> Arc<dyn Implementation> {
    Arc::new(SvOverWait)
}

impl Subject for Sv {
    fn worlds(&self, empty: &World, bound: &Bound, _: &dyn Fn() -> bool) -> Vec<World> {
        let worlds = (1..=bound.objects).map(|count| {
            let mut world = empty.clone();
            world.objects.extend(object_names(&["x", "y", "z"]).take(count).map(|x| (x, variable())));
            world
        });
        worlds.collect()
    }

    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        method::calls(SV, Method::TABLE, world, thread, bound, expired)
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(1, 2, 3)];
    // A put's wait does not imply that its remote write has happened.
    let fence_of_puts =
        SvOverWait.replace(calls!(RdmaWait::Get { x, y, d } in Method::GF { .. } => RdmaWait::put(y, x, d)));
    // The fence then does not cover the other targets.
    let first_target_only = SvOverWait.replace(calls!(
        |call| RdmaWait::Put { x: to, .. } in Method::Bcast { x, ns, .. } => body! { if (to == (copy(x, ns.min()))) { call } }
    ));
    let variants = vec![
        variant("published", "LOCO §3.4", Sound, SvOverWait, bounds),
        variant(
            "fence-of-puts",
            "GF made of puts: aGF no longer follows remote writes",
            Unsound,
            fence_of_puts,
            bounds,
        ),
        // With three calls of one thread, the search for a wrong outcome takes minutes.
        variant("first-target-only", "a broadcast reaches its first target only", Unsound, first_target_only, &[]),
    ];
    // Four calls have forty times the executions of three, and no variant needs them.
    let all_bounds = |variant: Variant| variant.and(few_calls()).thoroughly(bound(2, 2, 2)).writing(&[1, 2]);
    let variants = variants.into_iter().map(all_bounds).collect();
    Entry::new(Memory::rdma_wait(), Sv, Libraries::over(to).with(Wait), variants)
}
