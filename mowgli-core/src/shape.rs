//! The notation for shapes: [`shapes!`] for the methods of a library, [`shape!`] for one term of [`mowgli_judge::shape`].
//!
//! ```
//! use mowgli_core::event::{Event, Reads, Sub, Writes};
//! use mowgli_core::expr::{here, ret};
//! use mowgli_core::ids::{Loc, Node, NodeSet, Tid};
//! use mowgli_core::methods;
//! use mowgli_core::shape::{Index, shapes};
//! use mowgli_core::stamp::{Kind, Kinds};
//! use mowgli_core::value::Val;
//! use mowgli_core::world::World;
//!
//! /// The stamps of a memory model: one of the CPU, and one for each node.
//! #[derive(Clone, Copy)]
//! enum Stamps { Cpu, Sent(Node) }
//! use Stamps::{Cpu, Sent};
//! # static KINDS: Kinds = Kinds::of::<Stamps>();
//! # impl Kind for Stamps {
//! #     fn kinds() -> &'static Kinds { &KINDS }
//! #     fn number(self) -> u32 { if let Sent(n) = self { n.0.into() } else { 0 } }
//! #     fn numbered(k: u32) -> Self { if k == 0 { Cpu } else { Sent(Node(k as u8)) } }
//! #     fn all(nodes: u8) -> Vec<Self> { (0..=nodes.into()).map(Self::numbered).collect() }
//! # }
//! # impl std::fmt::Display for Stamps {
//! #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "{}", self.number()) }
//! # }
//!
//! methods! {
//!     /// Lamps, of which each node has a copy.
//!     enum Lamp of LAMP = "lamp" {
//!         /// Looks at the own copy.
//!         fn look = Look(x: Object) -> Value;
//!         /// Tells these nodes of it.
//!         fn tell = Tell(x: Object, ns: Nodes);
//!     }
//! }
//!
//! let shapes = shapes! { Lamp:
//!     Look { x } => { Cpu: reads x at here, ret() }
//!     Tell { x, ns } => {
//!         let v = Cpu: reads x at here;
//!         for n in (ns) { Sent(n): writes x at n, v }
//!     }
//! };
//! assert_eq!(shapes.get("Tell").unwrap().to_string(), "\
//! let v = Cpu: reads x at node(me)
//! for n in ns {
//!   Sent(n): writes x at n, v
//! }");
//! let (world, x) = (World::new(2, &[Node(1)]), Loc::new("x"));
//! let call = Lamp::Tell { x, ns: NodeSet::default().with(Node(2)) }.into();
//! let told = shapes.of(&world, &Event { thread: Tid(1), call, ret: Val::Unit });
//! let subs = [Sub::read(Cpu, x.on(Node(1)), Reads::Any), Sub::write(Sent(Node(2)), x.on(Node(2)), Writes::Copy(0))];
//! assert_eq!(told, [subs.into()]);
//! ```

pub use mowgli_judge::shape::*;

/// A shape in the notation of the papers, one subevent after the other.
///
/// | | |
/// |---|---|
/// | `aMF` | a subevent with this stamp that touches no memory |
/// | `aGF(n)` | the same, with the stamp for a node of a family |
/// | `aCR: reads x at n, v` | a read of the copy on node `n` of `x`, which yields `v`; without `v`, anything |
/// | `aCW: writes x at n, v` | a write |
/// | `aCAS: updates x at n, v => w` | a read and a write in one; without `v`, of anything |
/// | `let v = aNLR(n): reads x at here;` | a read; a later `writes y at n, v` writes a copy of what it yields |
/// | `aGF[index]`, `aGF[index]: reads ..` | the stamp with this index, an iterator of expressions, of a family |
/// | `for n in (s) { .. }` | once for each node of a set, or part of a tuple |
/// | `if (c) { .. } else { .. }` | the one or the other; nothing without `else` |
/// | `either { .. } or { .. }` | the one way or the other |
/// | `never` | no execution has the call |
/// | `(p)` | the subevents of another term |
///
/// `at here` means the node of the calling thread, and `at home` the node of the object; without `at` the location has one copy for all
/// nodes. Locations and nodes are names or stand in parentheses. A value is an [`Expr`](crate::expr::Expr), of which
/// [`ret()`](crate::expr::ret) is the result of the call, or [`other_than`], [`step`] or [`step_of`]. Behind a block stands no semicolon.
#[macro_export]
macro_rules! shape {
    () => { $crate::shape::ShapeTerm::nothing() };
    (for $x:ident in ($all:expr) { $($part:tt)+ } $($rest:tt)*) => {
        $crate::shape::ShapeTerm::each(stringify!($x), $all, |$x| $crate::shape!($($part)+)).then($crate::shape!($($rest)*))
    };
    (if ($($c:tt)+) { $($yes:tt)* } else { $($no:tt)* } $($rest:tt)*) => {
        $crate::shape::ShapeTerm::branch($crate::condition!($($c)+), $crate::shape!($($yes)*), $crate::shape!($($no)*))
            .then($crate::shape!($($rest)*))
    };
    (if ($($c:tt)+) { $($yes:tt)* } $($rest:tt)*) => { $crate::shape!(if ($($c)+) { $($yes)* } else {} $($rest)*) };
    (either { $($first:tt)* } $(or { $($other:tt)* })+ $($rest:tt)*) => {
        $crate::shape::ShapeTerm::Either(vec![$crate::shape!($($first)*), $($crate::shape!($($other)*)),+])
            .then($crate::shape!($($rest)*))
    };
    (never) => { $crate::shape::ShapeTerm::never() };
    (($term:expr) $(; $($rest:tt)*)?) => { $term.then($crate::shape!($($($rest)*)?)) };
    (let $v:ident = $stamp:ident $(($($n:expr),+))? $([$index:expr])? : reads $x:tt $(at $at:tt)? $(, $read:expr)?; $($rest:tt)*) => {
        $crate::shape::ShapeTerm::found(
            $crate::subevent!([$stamp $(($($n),+))? $([$index])?] reads [$x $($at)?] $(, $read)?),
            stringify!($v),
            |$v| $crate::shape!($($rest)*),
        )
    };
    (
        $stamp:ident $(($($n:expr),+))? $([$index:expr])? $(: $does:ident $x:tt $(at $at:tt)? $(, $v:expr)? $(=> $w:expr)?)?
        $(; $($rest:tt)*)?
    ) => {
        $crate::shape::ShapeTerm::from(
            $crate::subevent!([$stamp $(($($n),+))? $([$index])?] $($does [$x $($at)?] $(, $v)? $(=> $w)?)?)
        ).then($crate::shape!($($($rest)*)?))
    };
}
pub use shape;

/// A subevent of [`shape!`].
#[doc(hidden)]
#[macro_export]
macro_rules! subevent {
    ($stamp:tt) => { $crate::shape::SubTerm::quiet($crate::stamp_term!($stamp)) };
    ($stamp:tt reads $cell:tt) => { $crate::subevent!($stamp reads $cell, $crate::shape::ReadsTerm::Any) };
    ($stamp:tt reads $cell:tt, $v:expr) => { $crate::subevent!($stamp).reads($crate::cell_term!($cell), $v) };
    ($stamp:tt writes $cell:tt, $v:expr) => { $crate::subevent!($stamp).writes($crate::cell_term!($cell), $v) };
    ($stamp:tt updates $cell:tt => $w:expr) => { $crate::subevent!($stamp reads $cell).writes($crate::cell_term!($cell), $w) };
    ($stamp:tt updates $cell:tt, $v:expr => $w:expr) => {
        $crate::subevent!($stamp reads $cell, $v).writes($crate::cell_term!($cell), $w)
    };
}

/// A stamp of [`shape!`].
#[doc(hidden)]
#[macro_export]
macro_rules! stamp_term {
    ([$stamp:ident]) => {
        $crate::shape::StampTerm::new($crate::shape::Family::new(stringify!($stamp), |_| $stamp.into()), [])
    };
    ([$stamp:ident ($($n:expr),+)]) => { $crate::stamp_term!([$stamp [[$($crate::expr::Expr::from($n)),+]]]) };
    ([$stamp:ident [$index:expr]]) => {
        $crate::shape::StampTerm::new(
            $crate::shape::Family::new(stringify!($stamp), |index| $stamp($crate::shape::Index::of(index)).into()),
            $index,
        )
    };
}

/// A cell of [`shape!`].
#[doc(hidden)]
#[macro_export]
macro_rules! cell_term {
    ([$x:tt]) => {
        $crate::shape::CellTerm::only($x)
    };
    ([$x:tt here]) => {
        $crate::shape::CellTerm::at($x, $crate::expr::here())
    };
    ([$x:tt home]) => {
        $crate::shape::CellTerm::at($x, $crate::expr::node($x))
    };
    ([$x:tt $at:tt]) => {
        $crate::shape::CellTerm::at($x, $at)
    };
}

/// The shapes of the methods of a table, as [`shape!`] writes each, in a static. The compiler finds a misspelt method or argument,
/// and a method that is missing. With `by members(x)` behind the arguments only the threads of that set may make the call: no
/// execution has the call of any other. The methods that are not listed have the shapes in parentheses behind `else`, which are those of a table with the
/// same arguments. In place of the table and its methods may stand `_ { x }`: a shape for the calls of all
/// methods, of whatever table, where `x` is the first argument.
#[macro_export]
macro_rules! shapes {
    (_ $({ $($x:ident),* })? => { $($shape:tt)* }) => {
        $crate::shapes!(@static $crate::shape::Shapes::of_all(&[$($(stringify!($x)),*)?], |args: &[$crate::expr::Expr]| {
            let mut _args = args.iter().copied();
            $($( let $x = _args.next().expect("an argument for each name"); )*)?
            $crate::shape!($($shape)*)
        }))
    };
    (
        $Table:ident $(else ($others:expr))?:
        $( $M:ident { $($x:ident),* $(, ..)? $(..)? } $(by $who:expr)? => { $($shape:tt)* } )*
    ) => {{
        #[allow(unused_variables, reason = "the compiler checks the names")]
        let check = |method: $Table| match method {
            $( $Table::$M { $($x,)* .. } => {} )*
            $( _ => { let _ = $others; } )?
        };
        let _ = check;
        $crate::shapes!(@static $crate::shape::Shapes::default()
            $( .with($Table::TABLE, stringify!($M), &[$(stringify!($x)),*], |args: &[$crate::expr::Expr]| {
                let mut _args = args.iter().copied();
                $( let $x = _args.next().expect("an argument for each name"); )*
                $crate::shape!($($shape)*) $( .by($who) )?
            }) )*
            $( .or($others) )?)
    }};
    (@static $shapes:expr) => {{
        static SHAPES: ::std::sync::LazyLock<$crate::shape::Shapes> = ::std::sync::LazyLock::new(|| $shapes);
        &*SHAPES
    }};
}
pub use shapes;
