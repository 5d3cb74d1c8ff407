//! The notation [`spec!`](crate::algebra::spec): the algebra as the papers and `cat` write it.

/// Writes a [`Spec`](crate::algebra::Spec), or adds to one: `spec! { c => ... }`.
///
/// docs/specification.md, "The order between threads", has a table of the notation. A statement ends at a `;` before the
/// next statement; every other `;` is a composition. The operators of relations bind as in `cat`, from tight to loose
/// `^-1` and `+`, `*`, `&`, `-`, `;`, `|`. A set is named by a [`SetName`](crate::algebra::SetName).
///
/// ```
/// use mowgli_judge::algebra::{CELL, reads, same, spec, writes};
/// let register = spec! {
///     let rf, mo, rb = coherence;
///     let rf_e = rf - po;
///     let stale = ([writes]; po & same(CELL); [reads]) & rf;
///     say rf_e as rf = "{b} read {b reads}, which {a} wrote";
///     empty read-own-writes-only = (rf^-1; rf) & same_thread - id - stale;
///     irreflexive "no cycle" = (rf | mo | rb)+;
///     so = po | rf_e | mo | rb;
/// };
/// assert_eq!(register.demands[0].0, "read-own-writes-only");
/// assert_eq!(register.so.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["po", "rf", "mo", "rb"]);
/// ```
///
/// An undefined relation is an error of the compiler, at its name:
///
/// ```compile_fail,E0425
/// let _ = mowgli_judge::algebra::spec! {
///     let twice = po; pp;
/// };
/// ```
#[macro_export]
macro_rules! spec {
    ($c:ident => $($statements:tt)+) => { $crate::spec_statements!($c => $($statements)+); };
    ($($statements:tt)+) => {{
        let mut spec = $crate::algebra::Spec::default();
        $crate::spec_statements!(spec => $($statements)+);
        spec
    }};
}

/// Writes a relation in the notation of [`spec!`](crate::algebra::spec).
#[macro_export]
macro_rules! rel {
    ($($rel:tt)+) => { $crate::spec_rel!(@of [value] {[] [] [] []} $($rel)+) };
}

/// The statements of `spec!`.
#[doc(hidden)]
#[macro_export]
macro_rules! spec_statements {
    ($c:ident =>) => {};
    ($c:ident => let $rf:ident, $mo:ident, $rb:ident = coherence $(($($said:expr),+))?; $($rest:tt)*) => {
        let [$rf, $mo, $rb] = $crate::spec_statements!(@coherence $c $($($said),+)?);
        $crate::spec_statements!($c => $($rest)*);
    };
    (@coherence $c:ident) => { $c.coherence() };
    (@coherence $c:ident $($said:expr),+) => { $c.coherence_as([$($said),+]) };
    ($c:ident => let $rf:ident, $initial:ident = reads_from($r:tt, $w:tt); $($rest:tt)*) => {
        let ($rf, $initial) = $c.reads_from(stringify!($rf), $crate::set!($r), $crate::set!($w));
        $crate::spec_statements!($c => $($rest)*);
    };
    ($c:ident => let $rf:ident = reads_from($r:tt, $w:tt); $($rest:tt)*) => {
        $crate::spec_statements!($c => let $rf, _initial = reads_from($r, $w); $($rest)*);
    };
    ($c:ident => let $x:ident = order($set:tt, $key:expr); $($rest:tt)*) => {
        let $x = $c.order(stringify!($x), $crate::set!($set), $key);
        $crate::spec_statements!($c => $($rest)*);
    };
    ($c:ident => let $x:ident = orient($($pairs:tt)+); $($rest:tt)*) => {
        let $x = $c.orient(stringify!($x), $crate::rel!($($pairs)+));
        $crate::spec_statements!($c => $($rest)*);
    };
    ($c:ident => let $x:ident = $($rest:tt)+) => { $crate::spec_rel!(@of [let $c $x] {[] [] [] []} $($rest)+); };
    ($c:ident => say $x:ident $(as $first:tt $(- $more:tt)*)? = $sentence:expr; $($rest:tt)*) => {
        let $x = $x.named($crate::spec_statements!(@said $x $($first $(- $more)*)?), $sentence)
            .defined_as(stringify!($x));
        $crate::spec_statements!($c => $($rest)*);
    };
    (@said $x:ident) => { stringify!($x) };
    (@said $x:ident $($name:tt)+) => { $crate::spec_statements!(@name $($name)+) };
    ($c:ident => empty $first:tt $(- $more:tt)* = $($rest:tt)+) => {
        $crate::spec_rel!(@of [empty $c ($crate::spec_statements!(@name $first $(- $more)*))] {[] [] [] []} $($rest)+);
    };
    ($c:ident => irreflexive $first:tt $(- $more:tt)* = $($rest:tt)+) => {
        $crate::spec_rel!(@of [irreflexive $c ($crate::spec_statements!(@name $first $(- $more)*))] {[] [] [] []} $($rest)+);
    };
    ($c:ident => so = $($part:ident)|+; $($rest:tt)*) => {
        $c.so_written([$((stringify!($part), &$crate::rel!($part))),+]);
        $crate::spec_statements!($c => $($rest)*);
    };
    (@name $first:literal) => { $first };
    (@name $first:tt $(- $rest:tt)*) => { concat!(stringify!($first) $(, "-", stringify!($rest))*) };
}

/// A relation, by shifting and reducing. The four groups are what waits for a right operand of `|`, `;`, `-` and `&`.
#[doc(hidden)]
#[macro_export]
macro_rules! spec_rel {
    (@of $to:tt $waits:tt $a:tt * $b:tt $($rest:tt)*) => {
        $crate::spec_rel!(@then $to $waits ($crate::set!($a).cross(&$crate::set!($b))) $($rest)*)
    };
    (@of $to:tt $waits:tt [$($set:tt)+] $($rest:tt)*) => {
        $crate::spec_rel!(@then $to $waits ($crate::set!($($set)+).on()) $($rest)*)
    };
    (@of $to:tt $waits:tt ($($rel:tt)+) $($rest:tt)*) => {
        $crate::spec_rel!(@then $to $waits ($crate::rel!($($rel)+)) $($rest)*)
    };
    (@of $to:tt $waits:tt same($key:expr) $($rest:tt)*) => {
        $crate::spec_rel!(@then $to $waits ($crate::algebra::same($key)) $($rest)*)
    };
    (@of $to:tt $waits:tt $x:ident($($of:tt)*) $($rest:tt)*) => {
        $crate::spec_rel!(@then $to $waits ($x($($of)*)) $($rest)*)
    };
    (@of $to:tt $waits:tt $x:ident.$part:ident $($rest:tt)*) => {
        $crate::spec_rel!(@then $to $waits ($x.$part.clone()) $($rest)*)
    };
    (@of $to:tt $waits:tt $x:ident $($rest:tt)*) => {
        $crate::spec_rel!(@then $to $waits ($crate::spec_rel!(@name $x)) $($rest)*)
    };
    (@name po) => { $crate::algebra::po() };
    (@name ppo) => { $crate::algebra::ppo() };
    (@name hb) => { $crate::algebra::hb() };
    (@name id) => { $crate::algebra::id() };
    (@name same_event) => { $crate::algebra::same_event() };
    (@name same_thread) => { $crate::algebra::same_thread() };
    (@name $x:ident) => { $x.clone() };
    (@then $to:tt $waits:tt $r:tt ^ -1 $($rest:tt)*) => { $crate::spec_rel!(@then $to $waits ($r.inv()) $($rest)*) };
    (@then $to:tt $waits:tt $r:tt + $($rest:tt)*) => { $crate::spec_rel!(@then $to $waits ($r.plus()) $($rest)*) };
    (@then $to:tt {$u:tt $s:tt $m:tt [$($i:tt)*]} $r:tt & $($rest:tt)+) => {
        $crate::spec_rel!(@of $to {$u $s $m [$($i)* $r &]} $($rest)+)
    };
    (@then $to:tt {$u:tt $s:tt [$($m:tt)*] [$($i:tt)*]} $r:tt - $($rest:tt)+) => {
        $crate::spec_rel!(@of $to {$u $s [$($m)* ($($i)* $r) -] []} $($rest)+)
    };
    (@then $to:tt {[$($u:tt)*] [$($s:tt)*] [$($m:tt)*] [$($i:tt)*]} $r:tt | $($rest:tt)+) => {
        $crate::spec_rel!(@of $to {[$($u)* ($($s)* ($($m)* ($($i)* $r))) |] [] [] []} $($rest)+)
    };
    (@then $to:tt $waits:tt $r:tt) => { $crate::spec_rel!(@end $to $waits $r) };
    (@then $to:tt $waits:tt $r:tt;) => { $crate::spec_rel!(@end $to $waits $r) };
    (@then $to:tt $waits:tt $r:tt; let $($rest:tt)+) => { $crate::spec_rel!(@end $to $waits $r let $($rest)+) };
    (@then $to:tt $waits:tt $r:tt; say $($rest:tt)+) => { $crate::spec_rel!(@end $to $waits $r say $($rest)+) };
    (@then $to:tt $waits:tt $r:tt; empty $($rest:tt)+) => { $crate::spec_rel!(@end $to $waits $r empty $($rest)+) };
    (@then $to:tt $waits:tt $r:tt; irreflexive $($rest:tt)+) => {
        $crate::spec_rel!(@end $to $waits $r irreflexive $($rest)+)
    };
    (@then $to:tt $waits:tt $r:tt; so = $($rest:tt)+) => { $crate::spec_rel!(@end $to $waits $r so = $($rest)+) };
    (@then $to:tt {$u:tt [$($s:tt)*] [$($m:tt)*] [$($i:tt)*]} $r:tt; $($rest:tt)+) => {
        $crate::spec_rel!(@of $to {$u [$($s)* ($($m)* ($($i)* $r)) >>] [] []} $($rest)+)
    };
    (@end [value] {[$($u:tt)*] [$($s:tt)*] [$($m:tt)*] [$($i:tt)*]} $r:tt) => {
        $($u)* ($($s)* ($($m)* ($($i)* $r)))
    };
    (@end [let $c:ident $x:ident] $waits:tt $r:tt $($rest:tt)*) => {
        let $x = $crate::spec_rel!(@end [value] $waits $r);
        $crate::spec_statements!($c => $($rest)*);
    };
    (@end [$demand:ident $c:ident $name:expr] $waits:tt $r:tt $($rest:tt)*) => {
        $c.$demand($name, &$crate::spec_rel!(@end [value] $waits $r));
        $crate::spec_statements!($c => $($rest)*);
    };
}

/// Writes a set in the notation of [`spec!`](crate::algebra::spec).
#[macro_export]
macro_rules! set {
    ([$($set:tt)+]) => { $crate::set!($($set)+) };
    (($($set:tt)+)) => { $crate::set!($($set)+) };
    ($($($name:ident $(($($of:tt)*))?)&+)|+) => { $($($crate::algebra::SetName::set(&$name $(($($of)*))?))&+)|+ };
}
