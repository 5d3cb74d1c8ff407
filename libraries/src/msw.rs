//! MSW, mixed-size words: tuples that are written word by word and read whole or not at all.
//!
//! LOCO-X App. H.6, Theorem H.10: a hash before the words tells the reader whether they belong together. It deliberately
//! does not promise that a read succeeds.

use std::sync::LazyLock;

use itertools::Itertools;
use mowgli_core::expr::{Opaque, size as size_of};
use mowgli_core::term::method;
use mowgli_core::world::{DeclarationForm, DeclarationPart};
use mowgli_rdma::wait::{self, Method as Rdma, WAIT};

use crate::entry::bound;
use crate::lock;
use crate::prelude::*;

methods! {
    /// Calls of mixed-size locations.
    pub enum Method of MSW = "msw" {
        /// `Write(x, (v1..vk))`.
        fn write = Write(x: Local, values: Value);
        /// `TryRead(x)`, which returns the tuple or bottom.
        fn try_read = TryRead(x: Local) -> Value, looks;
        /// `Get(x, y, d)`: copies remote y to local x.
        fn get = Get(x: Local, y: Placed, d: Id);
        /// `Put(x, y, d)`: copies local y to remote x.
        fn put = Put(x: Placed, y: Local, d: Id);
        /// `Wait(d)`.
        fn wait = Wait(d: Id), looks;
    }
}

/// A location of `size` words on a node, all zero.
#[must_use]
pub fn words(node: Node, size: usize) -> Object {
    Object::new(MSW).at(node).size(size).init(Val::tuple(&vec![Val::Int(0); size]))
}

/// MSW as a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Msw;

fn size(world: &World, x: Loc) -> Option<usize> {
    world.objects.get(&x).filter(|o| o.library == MSW).map(|o| o.size)
}

fn is_of_size(v: Val, size: usize) -> bool {
    matches!(v, Val::Tuple(t) if t.parts().len() == size)
}

impl Library for Msw {
    named_by!(Method);

    fn object(&self) -> Option<DeclarationForm> {
        Some(DeclarationForm { kind: "msw", parts: &[DeclarationPart::Node, DeclarationPart::Words] })
    }

    fn fault(&self, world: &World, thread: Tid, call: &Call) -> Option<String> {
        method::fault(world, thread, call, Method::TABLE).or_else(|| ill_sized(world, Method::of(call)))
    }

    /// Like RDMA-WAIT on tuples. A failed TryRead has the stamp of a wait and reads nothing.
    fn shape_terms(&self) -> Option<&Shapes> {
        Some(shapes! { Method:
            Write { x, values } => { aCW: writes x at home, values }
            TryRead { x } => { if (ret().is(Val::Bot)) { aWT } else { aCR: reads x at home, ret() } }
            Get { x, y, .. } => { (wait::got(x, y, None)) }
            Put { x, y, .. } => { (wait::sent(x, y, None)) }
            Wait { .. } => { aWT }
        })
    }

    fn spec(&self) -> Spec {
        // as RDMA-WAIT, without rao
        wait::consistency(false)
    }
}

impl Hints for Msw {
    /// Each call has a result in every state, unless it waits for a node that has crashed.
    fn may_wait(&self, world: &World, _: &Call) -> Option<bool> {
        Some(!world.crashes.nodes.is_empty())
    }

    fn is_remembered(&self, _: &Call) -> bool {
        false
    }

    fn equivariance(&self) -> Equivariance {
        Equivariance::NamesAndData
    }
}

/// Returns the error of a call whose tuple, or whose source, has another size than its target.
fn ill_sized(world: &World, method: Method) -> Option<String> {
    let of = |x| size(world, x);
    match method {
        Method::Write { x, values } if !is_of_size(values, of(x)?) => {
            Some(format!("{values} is no tuple of {} words, which {x} has", of(x)?))
        }
        Method::Put { x, y, .. } | Method::Get { x, y, .. } if of(x)? != of(y)? => {
            Some(format!("{x} has {} words, and {y} has {}", of(x)?, of(y)?))
        }
        _ => None,
    }
}

/// The implementation over RDMA-WAIT: a hash before the words.
#[derive(Clone, Debug)]
pub struct MswOverWait {
    parts: Parts,
    bodies: Bodies,
}

impl MswOverWait {
    /// The implementation with this hash, a function of one tuple, whose result is one word.
    #[must_use]
    pub fn hashed(hash: fn(Expr) -> Expr) -> Self {
        let bodies = bodies! { Method:
            Write { x, values } => {
                Rdma::write(part(x, 0), hash(values));
                for k in (range(0, size_of(x))) { Rdma::write(part(x, k + 1), values.item(k)) }
            }
            TryRead { x } => {
                let found = Rdma::read(part(x, 0));
                let words = for k in (range(0, size_of(x))) { Rdma::read(part(x, k + 1)) };
                if (found == (hash(words))) { words } else { Val::Bot }
            }
            Get { x, y, d } => { copy_words(x, 1, |k| Rdma::get(part(x, k), part(y, k), d)) }
            Put { x, y, d } => { copy_words(x, 1, |k| Rdma::put(part(x, k), part(y, k), d)) }
            Wait { d } => { Rdma::wait(d) }
        };
        let parts = parts! { x =>
            part(x, 0) => ObjectTerm::new(WAIT).at(node(x)).init(hash(initial(x)));
            (words_of_value(x));
        };
        Self { parts, bodies }
    }
}

/// Applies `copy` to each word of a location, which has `beside` words in addition to those of its value.
fn copy_words(x: Expr, beside: i64, copy: impl FnOnce(Expr) -> Body) -> Body {
    Body::each("k", range(0, size_of(x) + beside), copy)
}

/// x_0, x_1, and so on.
fn part(x: impl Into<Expr>, k: impl Into<Expr>) -> Expr {
    x.into().part("word", [k.into()])
}

/// A hash in one word, which the checks take to be injective. The first word of a location begins with the hash of its initial
/// value, so the hash of all zeros need not be 0.
fn hash(tuple: Expr) -> Expr {
    tuple.hash()
}

fn sum(tuple: Expr) -> Expr {
    static SUM: LazyLock<Opaque> = LazyLock::new(|| {
        Opaque::new(|tuple| {
            let words = words_of(tuple[0]).unwrap_or_default();
            Val::Int(words.iter().filter_map(|v| v.int()).fold(0, i64::wrapping_add))
        })
    });
    Expr::opaque("sum", *SUM, [tuple])
}

fn first_word(tuple: Expr) -> Expr {
    Expr::tuple([tuple.first()]).hash()
}

/// Returns the words of a tuple, or `None` for any other value, which makes a call an error.
fn words_of(v: Val) -> Option<Vec<Val>> {
    if let Val::Tuple(values) = v { Some(values.parts().to_vec()) } else { None }
}

/// The words of the value of a location, behind the first word.
fn words_of_value(x: Expr) -> Vec<PartTerm> {
    PartTerm::each("k", range(1, size_of(x) + 1), |k| {
        vec![PartTerm::new(part(x, k), ObjectTerm::new(WAIT).at(node(x)).init(initial(x).item(k - 1)))]
    })
}

impl Implementation for MswOverWait {
    fn target(&self) -> Name {
        MSW
    }

    fn parts(&self) -> Option<&Parts> {
        Some(&self.parts)
    }

    fn bodies(&self) -> Option<&Bodies> {
        Some(&self.bodies)
    }
}

/// The earlier implementation of the authors: a guard before the words and one after, fresh with each write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guards {
    /// Read first to last: the bug that was in LOCO (LOCO-X App. D).
    Forward,
    /// Read last to first: the repair that the authors give. A Put still copies them first to last.
    Backward,
}

/// The word that counts the writes of a thread, so that each write has a fresh guard.
fn counter(t: impl Into<Expr>) -> Expr {
    Expr::from(Loc(MSW)).part("guards", [t.into()])
}

/// The index of the word that is read as number k of `words` words.
fn nth(k: Expr, words: Expr, backward: bool) -> Expr {
    if backward { words - k - 1 } else { k }
}

impl Guards {
    fn bodies_with(backward: bool) -> Bodies {
        let in_order = |words: Expr| if backward { words.reversed() } else { words };
        bodies! { Method:
            Write { x, values } => {
                let n = Rdma::read(counter(me()));
                Rdma::write(counter(me()), n + 1);
                let guard = Expr::tuple([number(me()), n]);
                Rdma::write(part(x, 0), guard);
                for k in (range(0, size_of(x))) { Rdma::write(part(x, k + 1), values.item(k)) }
                Rdma::write(part(x, size_of(x) + 1), guard);
            }
            TryRead { x } => {
                let first = Rdma::read(part(x, nth(0.into(), size_of(x) + 2, backward)));
                let words = for k in (range(1, size_of(x) + 1)) {
                    Rdma::read(part(x, nth(k, size_of(x) + 2, backward)))
                };
                let last = Rdma::read(part(x, nth(size_of(x) + 1, size_of(x) + 2, backward)));
                if (first == last) { in_order(words) } else { Val::Bot }
            }
            Get { x, y, d } => { copy_words(x, 2, |k| Rdma::get(part(x, k), part(y, k), d)) }
            Put { x, y, d } => { copy_words(x, 2, |k| Rdma::put(part(x, k), part(y, k), d)) }
            Wait { d } => { Rdma::wait(d) }
        }
    }
}

impl Implementation for Guards {
    fn target(&self) -> Name {
        MSW
    }

    fn parts(&self) -> Option<&Parts> {
        Some(parts! { static x =>
            part(x, 0) => ObjectTerm::new(WAIT).at(node(x));
            (words_of_value(x));
            part(x, size_of(x) + 1) => ObjectTerm::new(WAIT).at(node(x));
            for t in (all_threads()) { counter(t) => ObjectTerm::new(WAIT).at(node(t)); }
        })
    }

    fn bodies(&self) -> Option<&Bodies> {
        static FORWARD: LazyLock<Bodies> = LazyLock::new(|| Guards::bodies_with(false));
        static BACKWARD: LazyLock<Bodies> = LazyLock::new(|| Guards::bodies_with(true));
        Some(match self {
            Self::Forward => &FORWARD,
            Self::Backward => &BACKWARD,
        })
    }
}

impl Subject for Msw {
    /// On any nodes, with two words each unless the bound says otherwise.
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World> {
        let sizes = if bound.sizes.is_empty() { vec![2] } else { bound.sizes.clone() };
        let mut worlds: Vec<World> =
            lock::of_sizes(lock::worlds(MSW, empty, bound, expired), MSW, &sizes).take_while(|_| !expired()).collect();
        for object in worlds.iter_mut().flat_map(|w| w.objects.values_mut()) {
            *object = words(object.node.unwrap_or(Node(1)), object.size);
        }
        worlds
    }

    /// Every tuple of the values is written.
    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call> {
        let values = |_: &str, x: Option<Loc>| {
            let size = x.and_then(|x| size(world, x)).unwrap_or_default();
            let words = std::iter::repeat_n(bound.values.iter().map(|&v| Val::Int(v)), size);
            let tuples = words.multi_cartesian_product().take_while(|_| !expired());
            tuples.map(|tuple| Val::tuple(&tuple)).collect()
        };
        let calls = method::calls_with(MSW, Method::TABLE, world, thread, &values, expired);
        calls.into_iter().filter(|call| Library::fault(self, world, thread, call).is_none()).collect()
    }
}

/// The entry of the catalogue: variants with their expected verdicts and bounds.
#[must_use]
pub fn entry() -> Entry {
    use Expected::{Sound, Unsound};
    let bounds = &[(2, 2, 1), (1, 2, 3)];
    let variants = vec![
        variant("published", "LOCO-X App. H.6", Sound, MswOverWait::hashed(hash), bounds),
        variant(
            "first-word-only",
            "the hash is of the first word only",
            Unsound,
            MswOverWait::hashed(first_word),
            bounds,
        ),
        variant("sum", "the hash is the sum of the words", Unsound, MswOverWait::hashed(sum), bounds),
        variant("guard-forward", "guards, read first to last (LOCO-X App. D)", Unsound, Guards::Forward, bounds),
        variant("guard-backward", "guards, read last to first (LOCO-X App. D)", Unsound, Guards::Backward, bounds),
    ];
    let all_bounds = |mut variant: Variant| {
        variant.bounds.iter_mut().for_each(|b| b.objects = 2);
        // A reader beside two writes of one location.
        variant.and(Bound { total: Some(3), ..bound(2, 1, 2) }).writing(&[1, 2])
    };
    let mut variants: Vec<Variant> = variants.into_iter().map(all_bounds).collect();
    // Two million executions and more; no broken variant needs them.
    variants[0].thorough.extend([Bound { objects: 2, ..bound(2, 2, 2) }, bound(2, 2, 3)]);
    Entry::new(Memory::rdma_wait(), Msw, Libraries::over(to).with(Wait), variants)
}
