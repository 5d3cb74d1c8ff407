//! The notation for shapes: [`shapes!`] for the methods of a library, [`shape!`] for one term of [`mowgli_judge::shape`].
//!
//! ```
//! use mowgli_core::event::{Event, Reads, Sub, Writes};
//! use mowgli_core::expr::{here, ret};
//! use mowgli_core::ids::{Loc, Node, NodeSet, Tid};
//! use mowgli_core::methods;
//! use mowgli_core::term::shape::{Index, shapes};
//! use mowgli_core::stamp::{StampKind, StampKinds};
//! use mowgli_core::value::Val;
//! use mowgli_core::world::World;
//!
//! /// The stamps of a memory model: one of the CPU, and one for each node.
//! #[derive(Clone, Copy)]
//! enum Stamps { Cpu, Sent(Node) }
//! use Stamps::{Cpu, Sent};
//! # static KINDS: StampKinds = StampKinds::of::<Stamps>();
//! # impl StampKind for Stamps {
//! #     fn kinds() -> &'static StampKinds { &KINDS }
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
//! let v = Cpu: reads x at here
//! for n in ns {
//!   Sent(n): writes x at n, v
//! }");
//! let (world, x) = (World::new(2, &[Node(1)]), Loc::new("x"));
//! let call = Lamp::Tell { x, ns: NodeSet::default().with(Node(2)) }.into();
//! let found = shapes.of(&world, &Event { thread: Tid(1), call, ret: Val::Unit });
//! let subs = [Sub::read(Cpu, x.on(Node(1)), Reads::Any), Sub::write(Sent(Node(2)), x.on(Node(2)), Writes::Copy(0))];
//! assert_eq!(found, [subs.into()]);
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
/// | `let v = Got(n): reads x at here;` | a read; a later `writes y at n, v` writes a copy of what it yields |
/// | `aGF[index]`, `aGF[index]: reads ..` | the stamp with this index, an iterator of expressions, of a family |
/// | `for n in (s) { .. }` | once for each node of a set, or part of a tuple |
/// | `if (c) { .. } else { .. }` | the one or the other; nothing without `else` |
/// | `either { .. } or { .. }` | the one way or the other |
/// | `never` | no execution has the call |
/// | `(p)` | the subevents of another term |
///
/// `at here` means the node of the calling thread, and `at home` the node of the object. Without `at` the location has one
/// copy for all nodes. Locations and nodes are names or stand in parentheses. A value is an [`Expr`](crate::expr::Expr),
/// such as [`ret()`](crate::expr::ret), the result of the call. It may also be [`other_than`], [`plus`], [`sum`], [`step`]
/// or [`step_of`]. No semicolon follows a block.
#[macro_export]
macro_rules! shape {
    () => { $crate::term::shape::ShapeTerm::nothing() };
    (for $x:ident in ($all:expr) { $($part:tt)+ } $($rest:tt)*) => {
        $crate::term::shape::ShapeTerm::each(stringify!($x), $all, |$x| $crate::shape!($($part)+)).then($crate::shape!($($rest)*))
    };
    (if ($($c:tt)+) { $($yes:tt)* } else { $($no:tt)* } $($rest:tt)*) => {
        $crate::term::shape::ShapeTerm::branch($crate::condition!($($c)+), $crate::shape!($($yes)*), $crate::shape!($($no)*))
            .then($crate::shape!($($rest)*))
    };
    (if ($($c:tt)+) { $($yes:tt)* } $($rest:tt)*) => { $crate::shape!(if ($($c)+) { $($yes)* } else {} $($rest)*) };
    (either { $($first:tt)* } $(or { $($other:tt)* })+ $($rest:tt)*) => {
        $crate::term::shape::ShapeTerm::Either(vec![$crate::shape!($($first)*), $($crate::shape!($($other)*)),+])
            .then($crate::shape!($($rest)*))
    };
    (never) => { $crate::term::shape::ShapeTerm::never() };
    (($term:expr) $(; $($rest:tt)*)?) => { $term.then($crate::shape!($($($rest)*)?)) };
    (let $v:ident = $stamp:ident $(($($n:expr),+))? $([$index:expr])? : reads $x:tt $(at $at:tt)? $(, $read:expr)?; $($rest:tt)*) => {
        $crate::term::shape::ShapeTerm::found(
            $crate::subevent!([$stamp $(($($n),+))? $([$index])?] reads [$x $($at)?] $(, $read)?),
            stringify!($v),
            |$v| $crate::shape!($($rest)*),
        )
    };
    (
        $stamp:ident $(($($n:expr),+))? $([$index:expr])? $(: $does:ident $x:tt $(at $at:tt)? $(, $v:expr)? $(=> $w:expr)?)?
        $(; $($rest:tt)*)?
    ) => {
        $crate::term::shape::ShapeTerm::from(
            $crate::subevent!([$stamp $(($($n),+))? $([$index])?] $($does [$x $($at)?] $(, $v)? $(=> $w)?)?)
        ).then($crate::shape!($($($rest)*)?))
    };
}
pub use shape;

/// A subevent of [`shape!`].
#[doc(hidden)]
#[macro_export]
macro_rules! subevent {
    ($stamp:tt) => { $crate::term::shape::SubTerm::quiet($crate::stamp_term!($stamp)) };
    ($stamp:tt reads $cell:tt) => { $crate::subevent!($stamp reads $cell, $crate::term::shape::ReadsTerm::Any) };
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
        $crate::term::shape::StampTerm::new($crate::term::shape::Family::new(stringify!($stamp), |_| $stamp.into()), [])
    };
    ([$stamp:ident ($($n:expr),+)]) => { $crate::stamp_term!([$stamp [[$($crate::expr::Expr::from($n)),+]]]) };
    ([$stamp:ident [$index:expr]]) => {
        $crate::term::shape::StampTerm::new(
            $crate::term::shape::Family::new(stringify!($stamp), |index| $stamp($crate::term::shape::Index::of(index)).into()),
            $index,
        )
    };
}

/// A cell of [`shape!`].
#[doc(hidden)]
#[macro_export]
macro_rules! cell_term {
    ([$x:tt]) => {
        $crate::term::shape::CellTerm::only($x)
    };
    ([$x:tt here]) => {
        $crate::term::shape::CellTerm::at($x, $crate::expr::here())
    };
    ([$x:tt home]) => {
        $crate::term::shape::CellTerm::at($x, $crate::expr::node($x))
    };
    ([$x:tt $at:tt]) => {
        $crate::term::shape::CellTerm::at($x, $at)
    };
}

/// The shapes of the methods of a table, as [`shape!`] writes each, in a static. The compiler finds a misspelt method or
/// argument, and a method that is missing. With `by members(x)` behind the arguments only the threads of that set may make
/// the call: no execution has the call of any other. Methods that are not listed have the shapes in parentheses behind
/// `else`, which are those of a table with the same arguments. `_ { x }` in place of the table and its methods gives one
/// shape for the calls of all methods, of whatever table. There `x` is the first argument.
#[macro_export]
macro_rules! shapes {
    (_ $({ $($x:ident),* })? => { $($shape:tt)* }) => {
        $crate::shapes!(@static $crate::term::shape::Shapes::of_all(&[$($(stringify!($x)),*)?], |args: &[$crate::expr::Expr]| {
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
        $crate::shapes!(@static $crate::term::shape::Shapes::default()
            $( .with($Table::TABLE, stringify!($M), &[$(stringify!($x)),*], |args: &[$crate::expr::Expr]| {
                let mut _args = args.iter().copied();
                $( let $x = _args.next().expect("an argument for each name"); )*
                $crate::shape!($($shape)*) $( .by($who) )?
            }) )*
            $( .or($others) )?)
    }};
    (@static $shapes:expr) => {{
        static SHAPES: ::std::sync::LazyLock<$crate::term::shape::Shapes> = ::std::sync::LazyLock::new(|| $shapes);
        &*SHAPES
    }};
}
pub use shapes;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Call, Event, Reads, Shape, Sub, Writes};
    use crate::expr::{Expr, ExprTerm, Function, members, node, ret};
    use crate::ids::{Loc, Node, NodeSet, Tid};
    use crate::methods;
    use crate::stamp::{StampKind, StampKinds};
    use crate::value::Val;
    use crate::world::{Object, World};

    /// One stamp of the CPU, and one for each node.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Stamps {
        Cpu,
        Sent(Node),
    }
    use Stamps::{Cpu, Sent};

    static KINDS: StampKinds = StampKinds::of::<Stamps>();

    impl StampKind for Stamps {
        fn kinds() -> &'static StampKinds {
            &KINDS
        }

        fn number(self) -> u32 {
            if let Sent(n) = self { n.0.into() } else { 0 }
        }

        fn numbered(number: u32) -> Self {
            if number == 0 { Cpu } else { Sent(Node(number as u8)) }
        }

        fn all(nodes: u8) -> Vec<Self> {
            (0..=nodes.into()).map(Self::numbered).collect()
        }
    }

    impl std::fmt::Display for Stamps {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{self:?}")
        }
    }

    methods! {
        enum Word of WORD = "word" {
            /// Sends the word to nodes.
            fn send = Send(x: Object, ns: Nodes);
            /// Swaps by a message, which may fail.
            fn swap = Swap(x: Object, v: Value) -> Bool;
            /// Adds.
            fn add = Add(x: Object, v: Value) -> Value;
        }
    }

    fn shapes_of_word() -> &'static Shapes {
        shapes! { Word:
            Send { x, ns } by members(x) => {
                for n in (ns) {
                    let v = Sent(n): reads x at here;
                    Sent(n): writes x at n, v
                }
            }
            Swap { x, v } => {
                Cpu;
                either { let old = Sent(node(x)): reads x at home, v; Sent(node(x)): writes x at home, step_of(old) }
                or { Sent(node(x)): reads x at home, other_than(v) }
            }
            Add { x, .. } => { if (ret().is(0)) { never } else { Cpu: updates x, ret() => step() } }
        }
    }

    fn x() -> Loc {
        Loc::new("x")
    }

    /// Returns the ways in which a thread on node 1 makes a call of x. It is on node 2, and thread 1 takes part.
    fn ways(thread: u8, call: Word, ret: Val) -> Vec<Shape> {
        let mut world = World::new(3, &[Node(1), Node(1)]);
        world.objects.insert(x(), Object::new(WORD).at(Node(2)).members(&[Tid(1)]));
        shapes_of_word().of(&world, &Event { thread: Tid(thread), call: call.into(), ret })
    }

    #[test]
    fn each_iteration_copies_what_it_has_read_itself() {
        let ns: NodeSet = [Node(1), Node(3)].into_iter().collect();
        let sent = |n: Node, at| {
            let read = Sub::read(Sent(n), x().on(Node(1)), Reads::Any);
            [read, Sub::write(Sent(n), x().on(n), Writes::Copy(at))]
        };
        let all: Shape = [sent(Node(1), 0), sent(Node(3), 2)].concat().into_iter().collect();
        assert_eq!(ways(1, Word::Send { x: x(), ns }, Val::Unit), [all]);
        assert_eq!(ways(2, Word::Send { x: x(), ns }, Val::Unit), []);
    }

    #[test]
    fn each_way_begins_with_what_comes_before_all() {
        let there = |reads| Sub::read(Sent(Node(2)), x().on(Node(2)), reads);
        let v = Val::Int(7);
        let stepped = Sub::write(Sent(Node(2)), x().on(Node(2)), Writes::Step(1));
        let expected: [Shape; 2] =
            [[Sub::quiet(Cpu), there(Reads::Is(v)), stepped].into(), [Sub::quiet(Cpu), there(Reads::IsNot(v))].into()];
        assert_eq!(ways(1, Word::Swap { x: x(), v }, Val::Bool(true)), expected);
    }

    #[test]
    fn a_result_decides_what_happens() {
        let add = Word::Add { x: x(), v: Val::Int(1) };
        assert_eq!(ways(1, add, Val::Int(0)), []);
        // A location without `at` has one copy. It counts as the copy of node 1, so that cells have one form.
        let updated = Sub::update(Cpu, x().on(Node(1)), Reads::Is(Val::Int(4)), Writes::Step(0));
        assert_eq!(ways(1, add, Val::Int(4)), [[updated].into()]);
    }

    #[test]
    fn terms_are_printed_as_they_are_written() {
        let text = |method| shapes_of_word().get(method).unwrap().to_string();
        assert_eq!(
            text("Swap"),
            "\
Cpu
either {
  let old = Sent(node(x)): reads x at node(x), v
  Sent(node(x)): writes x at node(x), step(old)
} or {
  Sent(node(x)): reads x at node(x), other than v
}"
        );
        assert_eq!(text("Add"), "if ret = 0 {\n  never\n} else {\n  Cpu: updates x, ret => step\n}");
        assert!(text("Send").starts_with("if me in members(x) {\n  for n in ns {\n    let v = Sent(n): reads"));
    }

    #[test]
    fn families_and_nodes_are_reported_without_text() {
        let Some(ShapeTerm::Seq(parts)) = shapes_of_word().get("Swap") else { panic!("a sequence") };
        let ShapeTerm::Either(ways) = &parts[1] else { panic!("two ways") };
        let ShapeTerm::Sub(failed) = &ways[1] else { panic!("one subevent") };
        assert!(matches!(Stamps::of(failed.stamp.family.first()), Sent(_)));
        let Some(ExprTerm::Of(Function::Node, of)) = failed.stamp.node().map(Expr::term) else { panic!("a node") };
        assert_eq!(*of.term(), ExprTerm::Arg(0, "x"));
    }

    #[test]
    fn one_term_serves_all_methods_and_others_fill_gaps() {
        let quiet = shapes! { _ { x } => { Cpu: reads x } };
        assert_eq!(quiet.get("Whatever").unwrap().to_string(), "Cpu: reads x");
        let more = shapes! { Word else (shapes_of_word()): Add { .. } => { Cpu } };
        assert_eq!(more.get("Add").unwrap().to_string(), "Cpu");
        assert_eq!(more.get("Swap"), shapes_of_word().get("Swap"));
        assert_eq!(more.get("Whatever"), None);
    }

    #[test]
    #[should_panic(expected = "Swap(y, 1): x at node(x) is on no node")]
    fn a_cell_on_no_node_is_named() {
        let call = Call::new(WORD, "Swap", &[Loc::new("y").into(), Val::Int(1)]);
        let shapes = shapes! { _ { x } => { Cpu: reads x at home } };
        let _ = shapes.of(&World::new(1, &[Node(1)]), &Event { thread: Tid(1), call, ret: Val::Unit });
    }

    #[test]
    #[should_panic(expected = "the index of a stamp is a node, and not [x]")]
    fn a_stamp_of_no_node_is_named() {
        let call = Call::new(WORD, "Swap", &[x().into()]);
        let shapes = shapes! { _ { x } => { Sent(x) } };
        let _ = shapes.of(&World::new(1, &[Node(1)]), &Event { thread: Tid(1), call, ret: Val::Unit });
    }
}
