//! The words of C and Rust for the terms of expressions, side by side.

use mowgli_core::expr::{Function, Op};

use super::types::{Type, Types};

/// A text in C, and in Rust. Its operands are `$a` and `$b`. `$(a)` has parentheses if it needs them, `$&a` is a reference to what `$a`
/// refers to, and `$a.x` a member of it.
pub(super) type Wording = [&'static str; 2];

/// The calling thread.
pub(super) const ME: Wording = ["me->thread", "me.thread"];
/// Its node.
pub(super) const MY_NODE: Wording = ["me->node", "me.node"];
/// All nodes.
pub(super) const ALL_NODES: Wording = ["mw_all_nodes(all)", "world.all_nodes()"];
/// All threads.
pub(super) const ALL_THREADS: Wording = ["mw_all_threads(all)", "world.all_threads()"];
/// The number of nodes, and one more.
pub(super) const NODES_END: Wording = ["all->nodes + 1", "world.nodes + 1"];
/// The number of threads, and one more.
pub(super) const THREADS_END: Wording = ["all->threads + 1", "world.threads() + 1"];
/// Bottom.
pub(super) const BOTTOM: Wording = ["MW_BOT", "BOT"];
/// Bottom as a list.
pub(super) const BOTTOM_LIST: Wording = ["mw_bot()", "List::bot()"];
/// A list of one number.
pub(super) const ONE_NUMBER: Wording = ["mw_one($a)", "List::of(&[$a])"];
/// A list of no numbers.
pub(super) const NO_NUMBERS: Wording = ["mw_none()", "List::none()"];
/// The value of a statement.
pub(super) const UNIT: Wording = ["(void)0", "()"];
/// The empty set of nodes.
pub(super) const NO_NODES: Wording = ["(mw_nodes)0", "0"];
/// The set of one node.
pub(super) const ONLY: Wording = ["mw_only($a)", "only($a)"];
/// The larger of two numbers.
pub(super) const LARGER: Wording = ["mw_larger($a, $b)", "$(a).max($b)"];
/// The making of an identifier.
pub(super) const NEW_ID: Wording = ["$a = mw_id(all);", "$a = world.id();"];
/// The comparison of two lists.
pub(super) const SAME_LISTS: Wording = ["mw_same($a, $b)", "$(a) == $(b)"];

/// Returns the words for a function of an expression of this type, if it has any. `$widths` are the numbers of bits of a packed word, and
/// `$n` is their number.
pub(super) fn function(function: Function, of: Type, types: &Types<'_>) -> Option<Wording> {
    use Function as F;
    Some(match (function, of) {
        (F::Node, Type::Object(_)) => ["$a.node", "$a.node"],
        (F::Node, Type::Number) => ["all->node_of[$a]", "world.node_of($a)"],
        (F::Nodes, Type::List) => ["mw_nodes_of(all, $a)", "world.nodes_of($&a)"],
        (F::Members, Type::Object(_)) => ["$a.members", "$&a.members"],
        (F::Size, Type::Object(_)) if types.has_words() => ["$a.initial.n", "$a.initial.size()"],
        (F::Size, Type::Object(_)) => ["$a.size", "$a.size"],
        (F::Initial, Type::Object(_)) if types.starts_with_list() => ["$a.initial", "$&a.initial"],
        (F::Initial, Type::Object(_)) => ["$a.initial", "$a.initial"],
        (F::Numbered | F::Number | F::Thread | F::Int, Type::Number) => ["$a", "$a"],
        (F::Hash, Type::List) => ["mw_checksum(all, $a)", "world.checksum($a.as_slice())"],
        (F::Packed(_), Type::List) => ["mw_packed($a, $n, (const int[]){ $widths })", "packed($&a, &[$widths])"],
        (F::Unpacked(_), Type::Number) => ["mw_unpacked($a, $n, (const int[]){ $widths })", "unpacked($a, &[$widths])"],
        (F::Servers, Type::Number) => ["mw_servers(all, $a)", "world.servers($a)"],
        (F::First, Type::List) => ["mw_first($a)", "$a.first()"],
        (F::Rest, Type::List) => ["mw_rest($a)", "$a.rest()"],
        (F::Reversed, Type::List) => ["mw_reversed($a)", "$a.reversed()"],
        (F::Len, Type::List) => ["$(a).n", "$a.size()"],
        (F::Len, Type::Number) => ["1", "1"],
        (F::Min, Type::List) => ["mw_min($a)", "$a.min()"],
        (F::Min, Type::Nodes) => ["mw_next($a, 0)", "least($a)"],
        (F::Max, Type::List) => ["mw_max($a)", "$a.max()"],
        (F::Only, Type::Number) => ONLY,
        _ => return None,
    })
}

/// Returns the words for an operation on expressions of these types, if it has any.
pub(super) fn operation(op: Op, one: Type, other: Type) -> Option<Wording> {
    Some(match (op, one, other) {
        (Op::Div, Type::Number, Type::Number) => ["mw_div($a, $b)", "div($a, $b)"],
        (Op::Rem, Type::Number, Type::Number) => ["mw_rem($a, $b)", "rem($a, $b)"],
        (Op::Eq, Type::Bool, Type::Bool) | (Op::Eq, Type::Nodes, Type::Nodes) => ["$(a) == $(b)", "$(a) == $(b)"],
        (Op::With, Type::Nodes, Type::Nodes) => ["$(a) | $(b)", "$(a) | $(b)"],
        (Op::Without, Type::Nodes, Type::Nodes) => ["$(a) & ~$(b)", "$(a) & !$(b)"],
        (Op::Without, Type::List, Type::Number) => ["mw_without($a, $b)", "$a.without($b)"],
        (Op::Except, Type::List, Type::List) => ["mw_except($a, $b)", "$a.except($b)"],
        (Op::Item, Type::List, Type::Number) => ["mw_item($a, $b)", "$a.item($b)"],
        (Op::Range, Type::Number, Type::Number) => ["mw_range($a, $b)", "range($a, $b)"],
        (Op::In, Type::Number, Type::List) => ["mw_in($a, $b)", "$b.has($a)"],
        (Op::In, Type::Number, Type::Nodes) => ["mw_has($b, $a)", "has($b, $a)"],
        _ => return None,
    })
}
