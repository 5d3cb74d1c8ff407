//! The use that terms make of the names of threads, nodes and locations, and of the integers of clients.
//!
//! **Computes** the [`Kinds`] of names and integers that the values of an expression may contain. Collects in [`Kept`] what a
//! renaming must keep because of it.
//!
//! **Example**: `for t in members(x) { .. }` in a body uses the order of the members of x. `seen + 1` computes with data,
//! so no integer may be renamed. `thread(1)` names a thread.
//!
//! **Correct because** each function of expressions commutes with each renaming that keeps what the function adds to
//! `Kept`. The content of memory counts as data. [`Terms::stored`] has the kinds of names that calls store there.
//!
//! **Cost**: each term is visited once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::BitOr;

use crate::event::Call;
use crate::expr::{Expr, ExprTerm, Function, Op, Var};
use crate::ids::{Loc, Name};
use crate::term::body::{Body, CallTerm};
use crate::term::dataflow::DataFlow;
use crate::term::method::{ArgumentKind, Method, Returns};
use crate::term::parts::{PartTerm, Parts};
use crate::term::shape::{ReadsTerm, ShapeTerm, SubTerm, WritesTerm};
use crate::value::Val;

/// The kinds of names and integers that a value may contain.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Kinds(u16);

impl Kinds {
    const THREAD: Self = Self(1);
    const NODE: Self = Self(2);
    const LOC: Self = Self(4);
    /// Integers that the definitions themselves compute: sizes, numbers of iterations.
    const NUMBER: Self = Self(8);
    /// Values of clients, and of memory.
    const DATA: Self = Self(16);
    /// All threads or nodes, in order.
    const ALL: Self = Self(32);
    /// The members of an object, or their nodes, in order.
    const MEMBERS: Self = Self(64);
    /// The nodes of an argument, in order.
    const ARGUMENT: Self = Self(128);
    const ORDERS: Self = Self(32 | 64 | 128);

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn only(self, kept: Self) -> Self {
        Self(self.0 & kept.0)
    }

    fn without(self, gone: Self) -> Self {
        Self(self.0 & !gone.0)
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The orders that a definition uses, which a renaming must keep.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct KeptOrder {
    /// The order of all threads, or of all nodes. Only the identity keeps it.
    pub(super) all: bool,
    /// The order of the members of each object, or of their nodes.
    pub(super) members: bool,
    /// The order of the nodes in each argument of a call.
    pub(super) arguments: bool,
}

impl KeptOrder {
    fn add(&mut self, orders: Kinds) {
        self.all |= orders.has(Kinds::ALL);
        self.members |= orders.has(Kinds::MEMBERS);
        self.arguments |= orders.has(Kinds::ARGUMENT);
    }
}

/// The names, integers and orders that a renaming must keep.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Kept {
    /// Whether nothing may be renamed at all.
    pub(super) all: bool,
    pub(super) threads: KeptOrder,
    pub(super) nodes: KeptOrder,
    /// Whether no integer may be renamed.
    pub(super) data: bool,
    /// Integers that may not be renamed.
    pub(super) integers: BTreeSet<i64>,
    /// Locations that may not be renamed.
    pub(super) locations: BTreeSet<Loc>,
}

impl Kept {
    /// Keeps the integers in a value.
    pub(super) fn keep_integers(&mut self, v: Val) {
        match v {
            Val::Int(n) => _ = self.integers.insert(n),
            Val::Tuple(parts) => parts.parts().iter().for_each(|&v| self.keep_integers(v)),
            _ => {}
        }
    }
}

/// The terms of a check, as far as they were visited.
#[derive(Default)]
pub(super) struct Terms {
    pub(super) kept: Kept,
    /// The calls that bodies make: library and method.
    pub(super) called: BTreeSet<(Name, &'static str)>,
    vars: BTreeMap<usize, Kinds>,
    /// The methods that are known, by library and name.
    pub(super) methods: BTreeMap<(Name, &'static str), &'static Method>,
    takes: &'static [(&'static str, ArgumentKind)],
    /// The kinds of the values that calls store in memory, or pass on as data.
    stored: Kinds,
    /// The orders of sets of nodes that bodies pass to calls.
    passed: Kinds,
    /// Whether data is compared by its order or computed with, or may be a set that a `for` goes through.
    computes: bool,
    iterates: bool,
    /// The kinds of indices that a role has in a place.
    indices: BTreeMap<(&'static str, usize), Kinds>,
}

impl Terms {
    /// Returns what a renaming must keep because of all terms.
    pub(super) fn kept(mut self) -> Kept {
        if self.kept.nodes.arguments {
            self.kept.nodes.add(self.passed);
        }
        if self.iterates && self.stored.has(Kinds::NODE) {
            self.kept.nodes.all = true;
        }
        if self.computes {
            self.keep(self.stored);
        }
        // Nodes and integers have one spelling in names: `x.seen_1`.
        let named = [Kinds::THREAD, Kinds::NODE, Kinds::NUMBER | Kinds::DATA];
        let several = |kinds: &Kinds| named.iter().filter(|kind| kinds.has(**kind)).count() > 1;
        self.kept.all |= self.indices.values().any(several);
        self.kept
    }

    /// Keeps names of these kinds as they are.
    fn keep(&mut self, kinds: Kinds) {
        self.kept.threads.all |= kinds.has(Kinds::THREAD);
        self.kept.nodes.all |= kinds.has(Kinds::NODE);
        self.kept.all |= kinds.has(Kinds::LOC);
    }

    /// Notes arithmetic, or a comparison by order.
    fn computed(&mut self, kinds: Kinds) -> Kinds {
        self.keep(kinds);
        if !kinds.has(Kinds::DATA) {
            return Kinds::NUMBER;
        }
        self.kept.data = true;
        self.computes = true;
        Kinds::DATA
    }

    /// Notes a use of the order of a tuple of threads or a set of nodes.
    fn in_order(&mut self, kinds: Kinds) {
        let orders = kinds.only(Kinds::ORDERS);
        if kinds.has(Kinds::THREAD) {
            self.kept.threads.add(orders);
        }
        if kinds.has(Kinds::NODE) {
            self.kept.nodes.add(orders);
        }
    }

    /// Notes the order of a tuple of threads that is a value. A set of nodes has no order.
    fn is_value(&mut self, kinds: Kinds) {
        if kinds.has(Kinds::THREAD) {
            self.kept.threads.add(kinds.only(Kinds::ORDERS));
        }
    }

    /// Notes that an expression becomes data, or is compared with it.
    fn becomes_data(&mut self, e: Expr) {
        match e.term() {
            ExprTerm::Val(v) => self.kept.keep_integers(*v),
            ExprTerm::Tuple(parts) => parts.iter().for_each(|e| self.becomes_data(*e)),
            _ => self.kept.data |= self.kinds(e).has(Kinds::NUMBER),
        }
    }

    fn stores(&mut self, e: Expr) {
        self.becomes_data(e);
        let kinds = self.kinds(e);
        self.is_value(kinds);
        self.stored = self.stored | kinds;
    }

    fn literal(&mut self, v: Val) -> Kinds {
        match v {
            Val::Int(_) => Kinds::NUMBER,
            Val::Loc(x) => {
                self.kept.locations.insert(x);
                Kinds::LOC
            }
            Val::Node(_) | Val::Nodes(_) => {
                self.kept.nodes.all = true;
                Kinds::NODE
            }
            Val::Thread(_) => {
                self.kept.threads.all = true;
                Kinds::THREAD
            }
            Val::Tuple(parts) => parts.parts().iter().fold(Kinds::default(), |all, &v| all | self.literal(v)),
            Val::Unit | Val::Bool(_) | Val::Bot | Val::Top | Val::Wid(_) | Val::NoWid | Val::Way(_) => Kinds::default(),
        }
    }

    fn kinds(&mut self, e: Expr) -> Kinds {
        match e.term() {
            ExprTerm::Val(v) => self.literal(*v),
            ExprTerm::Var(var) => self.vars.get(&var.number).copied().unwrap_or(Kinds::DATA),
            ExprTerm::Arg(position, _) => self.takes.get(*position).map_or(Kinds::DATA, |(_, kind)| argument(*kind)),
            ExprTerm::Ret => Kinds::DATA,
            ExprTerm::Me => Kinds::THREAD,
            ExprTerm::AllNodes => Kinds::NODE | Kinds::ALL,
            ExprTerm::AllThreads => Kinds::THREAD | Kinds::ALL,
            ExprTerm::Of(function, of) => self.of(*function, *of),
            ExprTerm::Op(op, one, other) => self.op(*op, *one, *other),
            ExprTerm::Tuple(parts) => parts.iter().fold(Kinds::default(), |all, e| all | self.kinds(*e)),
            ExprTerm::Part(of, role, indices) => {
                self.kinds(*of);
                for (place, index) in indices.iter().enumerate() {
                    let kinds = self.kinds(*index);
                    // The name that data gives is not the renamed one, where other integers give names too.
                    self.kept.data |= kinds.has(Kinds::DATA);
                    let known = self.indices.entry((role, place)).or_default();
                    *known = *known | kinds;
                }
                Kinds::LOC
            }
            ExprTerm::Wid(of, _) => {
                self.kinds(*of);
                Kinds::default()
            }
            ExprTerm::Opaque(..) => {
                self.kept.all = true;
                Kinds::DATA
            }
        }
    }

    fn of(&mut self, function: Function, of: Expr) -> Kinds {
        let kinds = self.kinds(of);
        match function {
            Function::Node | Function::Only => Kinds::NODE,
            Function::Nodes => {
                let is_made = matches!(of.term(), ExprTerm::Tuple(parts) if parts.len() > 1);
                Kinds::NODE | kinds.only(Kinds::ORDERS) | if is_made { Kinds::ALL } else { Kinds::default() }
            }
            Function::Numbered => {
                self.kept.nodes.all = true;
                Kinds::NODE
            }
            Function::Members => Kinds::THREAD | Kinds::MEMBERS,
            Function::Size | Function::Len => Kinds::NUMBER,
            Function::Initial => Kinds::DATA,
            Function::Number => {
                self.kept.threads.all = true;
                Kinds::NUMBER
            }
            Function::Thread => {
                self.kept.threads.all = true;
                Kinds::THREAD
            }
            Function::First | Function::Rest | Function::Reversed => {
                self.in_order(kinds);
                kinds
            }
            Function::Min | Function::Max => {
                self.computed(kinds);
                kinds
            }
            Function::Int => {
                self.kept.integers.insert(0);
                kinds.only(Kinds::DATA | Kinds::NUMBER)
            }
            // The result is the value itself.
            Function::Hash | Function::Packed(_) | Function::Unpacked(_) => kinds,
            Function::Servers => {
                self.kept.all = true;
                Kinds::THREAD
            }
            Function::IsLoc | Function::AsWid | Function::Not => Kinds::default(),
            Function::Another => {
                self.kept.all = true;
                kinds
            }
        }
    }

    fn op(&mut self, op: Op, one: Expr, other: Expr) -> Kinds {
        let (a, b) = (self.kinds(one), self.kinds(other));
        match op {
            Op::Add | Op::Sub | Op::Div | Op::Rem => self.computed(a | b),
            Op::Range if (a | b).has(Kinds::DATA) => self.computed(a | b),
            Op::Range => Kinds::NUMBER,
            Op::Lt => {
                self.computed(a | b);
                Kinds::default()
            }
            Op::Eq | Op::In => {
                self.compared(one, a, other, b);
                if op == Op::Eq {
                    self.is_value(a | b);
                }
                Kinds::default()
            }
            Op::And | Op::Or => Kinds::default(),
            Op::With => Kinds::NODE | Kinds::ALL,
            Op::Without | Op::Except => {
                self.compared(one, a, other, b);
                a
            }
            Op::Item => {
                self.in_order(a);
                self.kept.data |= b.has(Kinds::DATA);
                a
            }
        }
    }

    fn compared(&mut self, one: Expr, a: Kinds, other: Expr, b: Kinds) {
        if a.has(Kinds::DATA) {
            self.becomes_data(other);
        }
        if b.has(Kinds::DATA) {
            self.becomes_data(one);
        }
    }

    /// Visits a call of a client. Its data may be names, which memory then holds.
    pub(super) fn of_client(&mut self, call: &Call) {
        let key = (call.library, call.method.text());
        self.called.insert(key);
        let takes = self.methods.get(&key).map_or(&[][..], |m| m.takes);
        for (position, &v) in call.args.iter().enumerate() {
            if takes.get(position).is_none_or(|(_, kind)| *kind == ArgumentKind::Value) {
                self.stored = self.stored | names_in(v);
            }
        }
    }

    /// Visits the body of a method.
    pub(super) fn body(&mut self, method: &Method, body: &Body) {
        self.takes = method.takes;
        self.vars.clear();
        let result = self.of_body(body);
        self.is_value(result);
        self.kept.data |= result.has(Kinds::NUMBER);
    }

    /// Returns the kinds of a value of a statement. Its own integers may be compared with data later.
    fn value(&mut self, e: Expr) -> Kinds {
        if let ExprTerm::Val(_) | ExprTerm::Tuple(_) = e.term() {
            e.each(&mut |e| {
                if let ExprTerm::Val(v) = e.term() {
                    self.kept.keep_integers(*v)
                }
            });
            if let ExprTerm::Val(v) = e.term() {
                return self.literal(*v).without(Kinds::NUMBER);
            }
        }
        self.kinds(e)
    }

    /// Visits the shape of a method.
    pub(super) fn shape(&mut self, method: &Method, shape: &ShapeTerm) {
        self.takes = method.takes;
        self.vars.clear();
        self.of_shape(shape);
    }

    fn visit(&mut self, sub: &SubTerm) {
        let cell = sub.cell.iter().flat_map(|cell| cell.node.into_iter().chain([cell.loc]));
        sub.stamp.index.iter().copied().chain(cell).for_each(|e| _ = self.kinds(e));
        if let Some(ReadsTerm::Is(e) | ReadsTerm::IsNot(e)) = sub.reads {
            self.stores(e);
        }
        match &sub.writes {
            Some(WritesTerm::Is(e)) => self.stores(*e),
            Some(WritesTerm::Sum(_, e)) => {
                let kinds = self.kinds(*e);
                self.computed(kinds | Kinds::DATA);
            }
            Some(WritesTerm::Words(words)) => {
                for case in &words.cases {
                    self.kinds(case.when);
                    case.words.iter().for_each(|(_, e)| self.stores(*e));
                    self.stores(case.result);
                }
            }
            Some(WritesTerm::Copy(_) | WritesTerm::Step(_)) | None => {}
        }
    }

    /// Visits the objects that an implementation declares.
    pub(super) fn parts(&mut self, parts: &Parts) {
        parts.iter().for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &PartTerm) {
        self.takes = &[("", ArgumentKind::Object)];
        self.vars.clear();
        // The parts of an object have no order.
        for (var, set) in &part.each {
            let element = self.elements(*set, false);
            self.bind(*var, element);
        }
        self.kinds(part.name);
        part.object.node.iter().for_each(|e| _ = self.kinds(*e));
        self.stores(part.object.init);
        self.kinds(part.object.size);
        // The library of the part may use the order of its members.
        let members = part.object.members.map(|e| self.kinds(e)).unwrap_or_default();
        self.in_order(members);
    }
}

impl DataFlow for Terms {
    type Value = Kinds;

    fn join(&self, one: Kinds, other: Kinds) -> Kinds {
        one | other
    }

    fn expr(&mut self, e: Expr) -> Kinds {
        self.value(e)
    }

    fn condition(&mut self, condition: Expr) {
        self.kinds(condition);
    }

    fn call(&mut self, call: &CallTerm) -> Kinds {
        self.called.insert((call.library, call.method));
        let method = self.methods.get(&(call.library, call.method)).copied();
        for (position, e) in call.args.iter().enumerate() {
            match method.and_then(|m| m.takes.get(position)) {
                Some((_, ArgumentKind::Value)) | None => self.stores(*e),
                Some(_) => self.passed = self.passed | self.kinds(*e).only(Kinds::ORDERS),
            }
        }
        match method.map(|m| m.returns) {
            Some(Returns::Nothing | Returns::Bool) => Kinds::default(),
            Some(Returns::Handle) => Kinds::DATA | Kinds::LOC,
            Some(Returns::Value) | None => Kinds::DATA,
        }
    }

    fn elements(&mut self, set: Expr, in_order: bool) -> Kinds {
        let kinds = self.kinds(set);
        if in_order {
            self.in_order(kinds);
            self.iterates |= kinds.has(Kinds::DATA);
        }
        kinds.without(Kinds::ORDERS)
    }

    fn bind(&mut self, var: Var, value: Kinds) {
        self.vars.insert(var.number, value);
    }

    fn subevent(&mut self, sub: &SubTerm) {
        self.visit(sub);
    }
}

fn names_in(v: Val) -> Kinds {
    match v {
        Val::Thread(_) => Kinds::THREAD,
        Val::Node(_) | Val::Nodes(_) => Kinds::NODE,
        Val::Loc(_) => Kinds::LOC,
        Val::Tuple(parts) => parts.parts().iter().fold(Kinds::default(), |all, &v| all | names_in(v)),
        _ => Kinds::default(),
    }
}

fn argument(kind: ArgumentKind) -> Kinds {
    match kind {
        ArgumentKind::Value => Kinds::DATA,
        ArgumentKind::Thread => Kinds::THREAD,
        ArgumentKind::Node => Kinds::NODE,
        ArgumentKind::Nodes => Kinds::NODE | Kinds::ARGUMENT,
        ArgumentKind::Local
        | ArgumentKind::Address
        | ArgumentKind::Placed
        | ArgumentKind::Object
        | ArgumentKind::Locals
        | ArgumentKind::Places => Kinds::LOC,
        ArgumentKind::Id | ArgumentKind::Way => Kinds::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{all_threads, here, me, members, nodes};
    use crate::ids::{Node, Tid};
    use crate::methods;
    use crate::term::body::body;

    methods! {
        enum Word of WORD = "word" {
            /// Reads.
            fn read = Read(x: Object) -> Value;
            /// Writes.
            fn write = Write(x: Object, v: Value);
            /// Waits for nodes.
            fn fence = Fence(ns: Nodes);
        }
    }

    /// The names, integers and orders that the body of a write keeps, as one line.
    fn kept_by(body: impl FnOnce(Expr, Expr) -> Body) -> String {
        let mut terms =
            Terms { methods: Word::TABLE.iter().map(|m| ((WORD, m.name), m)).collect(), ..Terms::default() };
        let write = &Word::TABLE[1];
        let [x, v] = ["x", "v"].map(|name| crate::term::body::argument(Word::TABLE, "Write", name));
        terms.body(write, &body(x, v));
        let Kept { all, threads, nodes, data, integers, locations } = terms.kept();
        let order = |of: &str, o: KeptOrder| match (o.all, o.members) {
            (true, _) => format!("{of} "),
            (false, true) => format!("members-{of} "),
            _ => String::new(),
        };
        let all = if all { "all " } else { "" };
        let data = if data { "data " } else { "" };
        let integers: String = integers.iter().map(|i| format!("{i} ")).collect();
        assert!(locations.is_empty());
        format!("{all}{}{}{data}{integers}", order("threads", threads), order("nodes", nodes)).trim_end().to_owned()
    }

    #[test]
    fn names_and_integers_that_a_body_mentions_are_kept() {
        assert_eq!(kept_by(|x, v| body! { Word::write(x, v) }), "");
        assert_eq!(kept_by(|x, v| body! { if ((me()) == (Tid(1))) { Word::write(x, v) } }), "threads");
        assert_eq!(kept_by(|x, v| body! { if ((here()) == (Node(2))) { Word::write(x, v) } }), "nodes");
        assert_eq!(kept_by(|x, v| body! { if (v == 7) { Word::write(x, v) } }), "7");
        assert_eq!(kept_by(|x, v| body! { Word::write(x, v); 5 }), "5");
        assert_eq!(kept_by(|x, v| body! { let w = 3; if (v == w) { Word::write(x, w) } }), "3");
        assert_eq!(kept_by(|x, v| body! { Word::write(x, v + 1) }), "data");
    }

    #[test]
    fn orders_that_a_body_uses_are_kept() {
        let each =
            |set: fn(Expr) -> Expr| kept_by(|x, v| body! { for t in (set(x)) { Word::write(x.part("copy", [t]), v) } });
        assert_eq!(each(members), "members-threads");
        assert_eq!(each(|_| all_threads()), "threads");
        assert_eq!(each(|x| nodes(members(x)).without(here())), "members-nodes");
        assert_eq!(each(|x| nodes(Expr::tuple([me(), members(x).first()]))), "members-threads nodes");
        assert_eq!(kept_by(|x, _| body! { Word::fence(nodes(members(x))) }), "");
        assert_eq!(kept_by(|x, v| body! { if (me().is_in(all_threads())) { Word::write(x, v) } }), "");
        assert_eq!(kept_by(|_, _| body! { all_threads() }), "threads");
        assert_eq!(kept_by(|x, _| body! { Word::write(x, all_threads()) }), "threads");
    }

    /// Names that memory holds may come back as data.
    #[test]
    fn names_in_memory_are_kept_where_data_is_compared_by_order() {
        assert_eq!(kept_by(|x, v| body! { let seen = Word::read(x); if (seen < v) { Word::write(x, v) } }), "data");
        let stored = kept_by(
            |x, v| body! { Word::write(x, me()); let seen = Word::read(x); if (seen < v) { Word::write(x, v) } },
        );
        assert_eq!(stored, "threads data");
        assert_eq!(
            kept_by(
                |x, v| body! { Word::write(x, x); let seen = Word::read(x); if (seen < v) { Word::fence(here()) } }
            ),
            "all data"
        );
    }

    /// `x.copy_1` is one name, whether 1 is a node or an integer.
    #[test]
    fn roles_with_two_kinds_of_indices_allow_nothing() {
        let both =
            |x: Expr, v| body! { Word::write(x.part("copy", [here()]), v); Word::write(x.part("copy", [1.into()]), v) };
        assert_eq!(kept_by(both), "all");
    }
}
