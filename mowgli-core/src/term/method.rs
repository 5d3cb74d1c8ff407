//! The method table of a library. Its calls in Rust and in litmus tests follow from it, and so do the errors of calls and
//! the calls of generated clients.

use itertools::Itertools;

pub use mowgli_judge::method::{
    Argument, ArgumentKind, Arguments, Looks, Method, Returns, fault, find, named, objects,
};

use crate::event::Call;
use crate::ids::{Loc, Name, Tid, Wid};
use crate::term::bound::Bound;
use crate::value::Val;
use crate::world::World;

/// The methods of a table, as `methods!` writes them.
pub trait Table: Sized {
    /// The library, if it is the only one that has the table.
    const OWNER: Option<Name>;

    /// The methods.
    const METHODS: &'static [Method];
}

/// The methods of the one library that has a table.
pub trait Methods: Table + Send + Sync + 'static {
    /// The library's name.
    const LIBRARY: Name;

    /// The method of a call, with its arguments.
    ///
    /// # Panics
    /// If the call has a fault: see `Library::fault`.
    #[must_use]
    fn of(call: &Call) -> Self;
}

/// Writes the method table of a library.
///
/// ```
/// use mowgli_core::event::Call;
/// use mowgli_core::ids::{Loc, NodeSet};
/// use mowgli_core::methods;
/// use mowgli_core::value::Val;
///
/// methods! {
///     /// Calls of a lamp.
///     pub enum Method of LAMP = "lamp" {
///         /// `Set(x, v)`: from now on the lamp shows `v`.
///         fn set = Set(x: Object, v: Value);
///         /// `Look(x)`: what the lamp shows.
///         fn look = Look(x: Object) -> Value, looks;
///         /// `Tell(x, d, ns)`: tells these nodes of it.
///         fn tell = Tell(x: Object, d: Id, ns: Nodes);
///     }
/// }
///
/// let x = Loc::new("x");
/// let call = Call::from(Method::Set { x, v: Val::Int(1) });
/// assert_eq!(call.to_string(), "Set(x, 1)");
/// assert_eq!(call.library, LAMP);
/// // The calls of a library are distinguished by a `match` on this, so a misspelt method is an error of the compiler.
/// assert!(matches!(Method::of(&call), Method::Set { v: Val::Int(1), .. }));
/// // A program of one call; of a call for no node, the program that does nothing.
/// let _ = set(x, 1).then(tell(x, Val::NoWid, NodeSet::default()));
/// assert_eq!(Method::TABLE.len(), 3);
/// ```
///
/// Each argument has a [`ArgumentKind`]. `Local`, `Address`, `Placed` and `Object` are locations of the library's objects,
/// [`Loc`](crate::ids::Loc) in Rust. `Node`, `Nodes` and `Thread` are [`Node`](crate::ids::Node),
/// [`NodeSet`](crate::ids::NodeSet) and [`Tid`]. `Id`, `Way` and `Value` are [`Val`], and so are `Locals` and `Places`,
/// tuples of such locations. The result is `-> Value`, `-> Bool`, `-> Handle`, or nothing ([`Returns`]).
///
/// `, looks` marks a call that only looks. An execution without it is consistent whenever one with it is, so loops can
/// wait by it. `, fails` marks one that only looks if it returns `false` or bottom. A check reports a marked call that changes a cell. In litmus tests a call belongs to its object, `x.set(1)`. If
/// `as statements` follows the name of the library, it is written `set(x, 1)`.
///
/// If several libraries share one table, for example the locks, `of LAMP = "lamp"` is left out. Then the library is the
/// first argument of each function, and of `call`, which replaces `Call::from`.
#[macro_export]
macro_rules! methods {
    (
        $(#[$about:meta])*
        $vis:vis enum $Enum:ident of $NAME:ident = $name:literal $(as $form:ident)? { $($table:tt)* }
    ) => {
        /// The library's name.
        $vis const $NAME: $crate::ids::Name = $crate::ids::Name::literal($name);
        $crate::methods!(@table [$(#[$about])*] $vis $Enum [$($form)?] $($table)*);
        $crate::methods!(@constructors [$vis] [] [$NAME] $($table)*);
        $crate::methods!(@terms [$vis] $Enum [] [$NAME] $($table)*);
        impl From<$Enum> for $crate::event::Call {
            fn from(method: $Enum) -> Self {
                method.call($NAME)
            }
        }
        impl $crate::term::method::Table for $Enum {
            const OWNER: Option<$crate::ids::Name> = Some($NAME);
            const METHODS: &'static [$crate::term::method::Method] = Self::TABLE;
        }
        impl $crate::term::method::Methods for $Enum {
            const LIBRARY: $crate::ids::Name = $NAME;
            fn of(call: &$crate::event::Call) -> Self {
                Self::of(call)
            }
        }
    };
    (
        $(#[$about:meta])*
        $vis:vis enum $Enum:ident $(as $form:ident)? { $($table:tt)* }
    ) => {
        $crate::methods!(@table [$(#[$about])*] $vis $Enum [$($form)?] $($table)*);
        $crate::methods!(@constructors [$vis] [library: $crate::ids::Name,] [library] $($table)*);
        $crate::methods!(@terms [$vis] $Enum [library: $crate::ids::Name,] [library] $($table)*);
        impl $crate::term::method::Table for $Enum {
            const OWNER: Option<$crate::ids::Name> = None;
            const METHODS: &'static [$crate::term::method::Method] = Self::TABLE;
        }
    };
    (@table [$(#[$about:meta])*] $vis:vis $Enum:ident $form:tt
        $( $(#[doc = $doc:literal])* fn $call:ident = $M:ident($($x:ident: $kind:ident),* $(,)?) $(-> $ret:ident)? $(, $looks:ident)?; )*
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, dead_code, reason = "arguments are explained with their method, and not all are looked at")]
        $vis enum $Enum {
            $( $(#[doc = $doc])* $M { $($x: $crate::argument!(read $kind)),* }, )*
        }

        #[allow(dead_code, unused_mut, unused_variables, reason = "of a table with few methods not all is used")]
        impl $Enum {
            /// The methods, as programs may call them.
            $vis const TABLE: &'static [$crate::term::method::Method] = &[$(
                $crate::term::method::Method {
                    name: stringify!($M),
                    takes: &[$((stringify!($x), $crate::term::method::ArgumentKind::$kind)),*],
                    returns: $crate::returns!($($ret)?),
                    is_statement: $crate::is_statement!($form),
                    looks: $crate::looks!($($looks)?),
                    place: concat!(file!(), ":", line!()),
                    about: concat!($($doc),*),
                },
            )*];

            /// The method of a call, with its arguments.
            ///
            /// # Panics
            /// If the call has a fault: see `Library::fault`.
            #[must_use]
            $vis fn of(call: &$crate::event::Call) -> Self {
                let mut args = $crate::term::method::Arguments::of(call);
                match call.method.text() {
                    $( stringify!($M) => Self::$M { $($x: args.take()),* }, )*
                    _ => panic!("{} has no method {}", call.library, call.method),
                }
            }

            /// The method of a call, if the table has one that takes these arguments.
            fn of_any(call: &$crate::event::Call) -> Option<Self> {
                let mut args = $crate::term::method::Arguments::of(call);
                match call.method.text() {
                    $( stringify!($M) => Some(Self::$M { $($x: args.try_take()?),* }), )*
                    _ => None,
                }
            }

            /// The call of this method of a library.
            #[must_use]
            $vis fn call(self, library: $crate::ids::Name) -> $crate::event::Call {
                match self {
                    $( Self::$M { $($x),* } => $crate::event::Call::new(library, stringify!($M), &[$($x.into()),*]), )*
                }
            }
        }
    };
    (@constructors [$vis:vis] $library:tt $NAME:tt
        $( $(#[doc = $doc:literal])* fn $call:ident = $M:ident($($x:ident: $kind:ident),* $(,)?) $(-> $ret:ident)? $(, $looks:ident)?; )*
    ) => {
        $(
            $crate::methods!(@constructor [$(#[doc = $doc])*] $vis $call $library $NAME $M $($x: $kind,)*);
        )*
    };
    (@terms [$vis:vis] $Enum:ident $library:tt $NAME:tt
        $( $(#[doc = $doc:literal])* fn $call:ident = $M:ident($($x:ident: $kind:ident),* $(,)?) $(-> $ret:ident)? $(, $looks:ident)?; )*
    ) => {
        #[allow(dead_code, reason = "not every body makes every call")]
        impl $Enum {
            $(
                $crate::methods!(@term [$(#[doc = $doc])*] $vis $call $library $NAME $M $($x,)*);
            )*
        }
    };
    (@term [$(#[$doc:meta])*] $vis:vis $call:ident [$($library:ident: $Name:ty,)?] [$NAME:ident] $M:ident $($x:ident,)*) => {
        $(#[$doc])*
        #[must_use]
        #[track_caller]
        $vis fn $call($($library: $Name,)? $($x: impl Into<$crate::expr::Expr>),*) -> $crate::term::body::Body {
            $crate::term::body::Body::call($NAME, stringify!($M), [$($x.into()),*])
        }
    };
    (@constructor [$(#[$doc:meta])*] $vis:vis $call:ident [$($library:ident: $Name:ty,)?] [$NAME:ident]
        $M:ident $($x:ident: $kind:ident,)*
    ) => {
        $(#[$doc])*
        #[must_use]
        #[track_caller]
        #[allow(dead_code, reason = "not every program makes every call")]
        $vis fn $call($($library: $Name,)? $($x: $crate::argument!(given $kind)),*) -> $crate::term::body::Body {
            $crate::term::body::Body::call($NAME, stringify!($M), [$($crate::expr::Expr::from(::std::convert::Into::<$crate::value::Val>::into($x))),*])
        }
    };
}
pub use methods;

/// Gives a [`Library`](crate::library::Library) the name and the methods of its table: `named_by!(Method);`.
#[macro_export]
macro_rules! named_by {
    ($Table:ident) => {
        fn name(&self) -> $crate::ids::Name {
            <$Table as $crate::term::method::Methods>::LIBRARY
        }

        fn methods(&self) -> &'static [$crate::term::method::Method] {
            $Table::TABLE
        }
    };
}
pub use named_by;

/// Expands to the Rust type of an argument of a kind, where a call is `read` or where it is `given`.
#[doc(hidden)]
#[macro_export]
macro_rules! argument {
    (given Address) => { impl Into<$crate::value::Val> };
    (given Value) => { impl Into<$crate::value::Val> };
    (given Way) => { impl Into<$crate::value::Val> };
    (read Way) => { $crate::value::Val };
    (given Id) => { impl Into<$crate::value::Val> };
    ($how:ident Locals) => { $crate::value::Val };
    ($how:ident Places) => { $crate::value::Val };
    ($how:ident Node) => { $crate::ids::Node };
    ($how:ident Nodes) => { $crate::ids::NodeSet };
    ($how:ident Thread) => { $crate::ids::Tid };
    (read Value) => { $crate::value::Val };
    (read Id) => { $crate::value::Val };
    ($how:ident $object:ident) => { $crate::ids::Loc };
}

#[doc(hidden)]
#[macro_export]
macro_rules! returns {
    () => {
        $crate::term::method::Returns::Nothing
    };
    ($what:ident) => {
        $crate::term::method::Returns::$what
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! looks {
    () => {
        $crate::term::method::Looks::Never
    };
    (fails) => {
        $crate::term::method::Looks::IfItFails
    };
    (looks) => {
        $crate::term::method::Looks::Always
    };
    ($other:ident) => {
        compile_error!(concat!("after a method may stand `, looks` or `, fails`, and not `, ", stringify!($other), "`"))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! is_statement {
    ([]) => {
        false
    };
    ([statements]) => {
        true
    };
}

/// Lists the calls that a thread can make of a library with these methods: of its objects, with the values of the bound,
/// one identifier, every node and every set of nodes. They come method by method for each object. Methods without an
/// object come last.
pub fn calls(
    library: Name,
    methods: &[Method],
    world: &World,
    thread: Tid,
    bound: &Bound,
    expired: &dyn Fn() -> bool,
) -> Vec<Call> {
    let values = |_: &str, _: Option<Loc>| bound.values.iter().map(|&v| Val::Int(v)).collect();
    calls_with(library, methods, world, thread, &values, expired)
}

/// Lists the same calls with other values. `values` returns those for an argument of this name, about this object.
pub fn calls_with(
    library: Name,
    methods: &[Method],
    world: &World,
    thread: Tid,
    values: &dyn Fn(&str, Option<Loc>) -> Vec<Val>,
    expired: &dyn Fn() -> bool,
) -> Vec<Call> {
    let of_object =
        of_library(world, library).flat_map(|x| methods.iter().filter(|m| m.is_of_object()).map(move |m| (m, Some(x))));
    let all = of_object.chain(methods.iter().filter(|m| !m.is_of_object()).map(|m| (m, None)));
    let here = world.node_of(thread);
    let is_here = |x: Val| x.loc().and_then(|x| world.home(x)) == Some(here);
    let of_kind = |name: &str, kind: ArgumentKind, object: Option<Val>| -> Vec<Val> {
        match kind {
            ArgumentKind::Local | ArgumentKind::Address => of_library(world, library).filter(|x| is_here(*x)).collect(),
            ArgumentKind::Placed | ArgumentKind::Object => of_library(world, library).collect(),
            ArgumentKind::Node => world.all_nodes().iter().map(Val::Node).collect(),
            ArgumentKind::Nodes => world.all_nodes().subsets().take_while(|_| !expired()).map(Val::Nodes).collect(),
            // Only tests use the arguments of these kinds: calls made in an unusual way, and calls about several
            // objects.
            ArgumentKind::Way | ArgumentKind::Locals | ArgumentKind::Places => Vec::new(),
            ArgumentKind::Thread => world.tids().map(Val::Thread).collect(),
            ArgumentKind::Id => vec![Val::Wid(Wid(Name::literal("d")))],
            ArgumentKind::Value => values(name, object.and_then(Val::loc)),
        }
    };
    let of = |(method, object): (&Method, Option<Val>)| {
        let rest =
            method.takes.iter().skip(usize::from(object.is_some())).map(|(name, kind)| of_kind(name, *kind, object));
        let first = object.map(|x| vec![x]);
        let choices = first.into_iter().chain(rest).multi_cartesian_product();
        choices.map(|args| Call::new(library, method.name, &args)).collect::<Vec<_>>()
    };
    let calls = all.take_while(|_| !expired()).flat_map(of);
    calls.filter(|call| fault(world, thread, call, methods).is_none()).collect()
}

fn of_library(world: &World, library: Name) -> impl Iterator<Item = Val> {
    world.locations(library).into_iter().map(Val::Loc)
}
