//! The objects that an implementation needs, as terms: `loc(I)` (LOCO Def. 3.9).
//!
//! A term says for which objects, threads and nodes there is a part, on which node it lives, and with which value it
//! begins. So provers and readers know it for every world. [`parts!`] is the notation.
//!
//! ```
//! use mowgli_core::expr::{all_threads, initial, node};
//! use mowgli_core::ids::{Loc, Name, Node};
//! use mowgli_core::term::parts::{ObjectTerm, parts};
//! use mowgli_core::world::{Object, World};
//!
//! const LAMP: Name = Name::literal("lamp");
//! const WORD: Name = Name::literal("word");
//! let parts = parts! { x =>
//!     x.part("light", []) => ObjectTerm::new(WORD).at(node(x)).init(initial(x));
//!     for t in (all_threads()) { x.part("seen", [t]) => ObjectTerm::new(WORD).at(node(t)); }
//! };
//! let mut world = World::new(2, &[Node(2)]);
//! world.objects.insert(Loc::new("x"), Object::new(LAMP).at(Node(1)).init(7.into()));
//! parts.declare(LAMP, &mut world);
//! assert_eq!(world.objects[&Loc::new("x.light")], Object::new(WORD).at(Node(1)).init(7.into()));
//! assert_eq!(world.objects[&Loc::new("x.seen_P1")], Object::new(WORD).at(Node(2)));
//! assert_eq!(parts.to_string(), "x.light: word at node(x) = initial(x)\nx.seen[t] for t in all_threads: word at node(t)");
//! ```

use std::collections::BTreeMap;
use std::fmt;

use itertools::Itertools;
use mowgli_judge::expr::{Expr, ExprTerm, Function, Op, Surroundings, Var};

use crate::ids::{Loc, Name, Node, Tid};
use crate::value::Val;
use crate::world::{Object, World};

pub use crate::parts;

/// The parts of the objects of a library. A part whose name does not mention the object belongs to the library, and
/// exists once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts(Vec<PartTerm>);

/// Objects with one name and different indices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartTerm {
    /// The variables of the name, outermost first, each with the set or tuple that it goes through.
    pub each: Vec<(Var, Expr)>,
    /// The name.
    pub name: Expr,
    /// The object.
    pub object: ObjectTerm,
}

/// An object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectTerm {
    /// The library whose object it is.
    pub library: Name,
    /// The node that it lives on, if it lives on one. For the node of an object without one it is node 1.
    pub node: Option<Expr>,
    /// The initial value.
    pub init: Expr,
    /// The threads that take part, as a tuple.
    pub members: Option<Expr>,
    /// The size.
    pub size: Expr,
}

impl ObjectTerm {
    /// Returns an object with initial value 0, no node, no members and size 1.
    #[must_use]
    pub fn new(library: Name) -> Self {
        Self { library, node: None, init: 0.into(), members: None, size: 1.into() }
    }

    /// Returns the same object on this node.
    #[must_use]
    pub fn at(self, node: impl Into<Expr>) -> Self {
        Self { node: Some(node.into()), ..self }
    }

    /// Returns the same object with this initial value.
    #[must_use]
    pub fn init(self, init: impl Into<Expr>) -> Self {
        Self { init: init.into(), ..self }
    }

    /// Returns the same object with these members.
    #[must_use]
    pub fn members(self, members: impl Into<Expr>) -> Self {
        Self { members: Some(members.into()), ..self }
    }

    /// Returns the same object with this size.
    #[must_use]
    pub fn size(self, size: impl Into<Expr>) -> Self {
        Self { size: size.into(), ..self }
    }

    fn eval(&self, around: &PartSurroundings<'_>) -> Object {
        let node = |e: Expr| if let Val::Node(n) = e.eval(around) { n } else { Node(1) };
        let members = self.members.map(|all| all.elements(around)).unwrap_or_default();
        Object {
            library: self.library,
            node: self.node.map(node),
            init: self.init.eval(around),
            members: members.iter().filter_map(|v| if let Val::Thread(t) = v { Some(*t) } else { None }).collect(),
            size: self.size.eval(around).int().and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
        }
    }
}

impl PartTerm {
    /// Returns the part with this name.
    #[must_use]
    pub fn new(name: Expr, object: ObjectTerm) -> Self {
        Self { each: Vec::new(), name, object }
    }

    /// Returns these parts for each element of a set or tuple.
    #[must_use]
    pub fn each(name: &'static str, all: impl Into<Expr>, parts: impl FnOnce(Expr) -> Vec<Self>) -> Vec<Self> {
        let (var, all) = (Var::fresh(name), all.into());
        let mut parts = parts(ExprTerm::Var(var).into());
        parts.iter_mut().for_each(|part| part.each.insert(0, (var, all)));
        parts
    }

    /// Returns the terms of which it consists.
    fn terms(&self) -> impl Iterator<Item = Expr> {
        let ObjectTerm { library: _, node, init, members, size } = self.object;
        let each = self.each.iter().map(|(_, all)| *all);
        each.chain([self.name, init, size]).chain(node).chain(members)
    }

    /// True if it belongs to the library, and not to one of its objects.
    #[must_use]
    pub fn is_of_library(&self) -> bool {
        let mut found = false;
        self.name.each(&mut |e| found |= matches!(e.term(), ExprTerm::Arg(..)));
        !found
    }

    /// Visits each part with its name, and the values of the variables of the name in its surroundings.
    fn visit(
        &self,
        each: &[(Var, Expr)],
        around: &PartSurroundings<'_>,
        visit: &mut dyn FnMut(Loc, &PartSurroundings<'_>),
    ) {
        let Some(((var, all), rest)) = each.split_first() else {
            let Val::Loc(name) = self.name.eval(around) else { panic!("{} is no location", self.name) };
            return visit(name, around);
        };
        for value in all.elements(around) {
            self.visit(rest, &PartSurroundings { bound: Some((*var, value, around)), ..*around }, visit);
        }
    }
}

impl Parts {
    /// Returns the parts of an object with this name. [`parts!`] calls this.
    #[must_use]
    pub fn of(name: &'static str, parts: impl FnOnce(Expr) -> Vec<PartTerm>) -> Self {
        Var::number_from(0);
        Self(parts(ExprTerm::Arg(0, name).into()))
    }

    /// Returns these parts and more.
    #[must_use]
    pub fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Adds the parts of the objects of a library to a world.
    ///
    /// # Panics
    /// If the name of a part is no location.
    pub fn declare(&self, library: Name, world: &mut World) {
        let owners = world.locations(library).into_iter().map(Some).chain([None]);
        let found: Vec<(Loc, Object)> = owners.flat_map(|owner| self.of_object(world, owner)).collect();
        world.objects.extend(found);
    }

    /// Returns the parts of an object, or of the library itself, in the order in which they were given.
    ///
    /// # Panics
    /// If the name of a part is no location.
    #[must_use]
    pub fn of_object(&self, world: &World, owner: Option<Loc>) -> Vec<(Loc, Object)> {
        let mut found = Vec::new();
        self.visit(world, owner, &mut |part, name, around| found.push((name, self.0[part].object.eval(around))));
        found
    }

    /// Returns the names of the same parts, each with the locations that it is a part of. The key is the number of the term,
    /// and the values of its variables.
    pub(crate) fn names(&self, world: &World, owner: Option<Loc>) -> BTreeMap<(usize, Vec<Val>), Vec<Val>> {
        let mut found = BTreeMap::new();
        self.visit(world, owner, &mut |part, _, around| {
            let outer = |e: &Expr| if let ExprTerm::Part(of, ..) = e.term() { Some(*of) } else { None };
            let names = std::iter::successors(Some(self.0[part].name), outer).map(|e| e.eval(around)).collect();
            found.insert((part, around.values()), names);
        });
        found
    }

    fn visit(&self, world: &World, owner: Option<Loc>, visit: &mut dyn FnMut(usize, Loc, &PartSurroundings<'_>)) {
        for (number, part) in self.0.iter().enumerate().filter(|(_, part)| part.is_of_library() == owner.is_none()) {
            let object = [owner.map_or(Val::Unit, Val::from)];
            let around = PartSurroundings { world, object: &object, bound: None };
            part.visit(&part.each, &around, &mut |name, around| visit(number, name, around));
        }
    }

    /// Returns the parts in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &PartTerm> {
        self.0.iter()
    }

    /// Returns the error of a part that depends on a thread. An example is `.at(here())`.
    #[must_use]
    pub(crate) fn of_a_thread(&self) -> Option<String> {
        let is_me = |e: Expr| {
            let mut found = false;
            e.each(&mut |e| found |= *e.term() == ExprTerm::Me);
            found
        };
        let part = self.0.iter().find(|part| part.terms().any(is_me))?;
        Some(format!(
            "{part}: it depends on the thread that runs, and a part belongs to none: go through `all_threads()` or let it live on `node(x)`"
        ))
    }

    /// Returns the reason why the terms may say something else than the objects that they declare, if there is one. Two parts may
    /// have one name, or one may be a part of another one, which belongs to the library of that object.
    #[must_use]
    pub fn mistake(&self) -> Option<String> {
        let overlap = self.0.iter().tuple_combinations().find(|(one, other)| one.may_be(one.name, other));
        let overlap = overlap.map(|(one, other)| format!("{} and {} may be one object", one.name, other.name));
        let is_inside = |(one, other): &(&PartTerm, &PartTerm)| {
            let whole = |e: &Expr| if let ExprTerm::Part(of, ..) = e.term() { Some(*of) } else { None };
            std::iter::successors(whole(&one.name), whole).any(|name| one.may_be(name, other))
        };
        overlap.or_else(|| {
            let (one, other) = self.0.iter().cartesian_product(&self.0).find(is_inside)?;
            Some(format!("{} is a part of {}, which belongs to {}", one.name, other.name, other.object.library))
        })
    }

    /// Returns the object with a name, if it is one of these parts: for `x.seen[me]` the object of `x.seen[t]` with
    /// `me` in place of `t`. `is_in` says whether an index is surely an element of a set, as `me` of the set that `t` goes through.
    /// `None` also if the name may be that of parts with different objects.
    #[must_use]
    pub fn get(&self, name: Expr, is_in: &dyn Fn(Expr, Expr) -> bool) -> Option<ObjectTerm> {
        let of_part = |part: &PartTerm| {
            let mut known = Vec::new();
            let is_one = part.matches(part.name, name, is_in, &mut known)?;
            Some((part.object.replaced(&known), is_one))
        };
        let (object, is_one) = self
            .0
            .iter()
            .filter_map(of_part)
            .coalesce(|one, other| match one.0 == other.0 {
                true => Ok((one.0, one.1 || other.1)),
                false => Err((one, other)),
            })
            .exactly_one()
            .ok()?;
        is_one.then_some(object)
    }
}

/// A word of a name, between its underscores.
#[derive(Clone, PartialEq, Eq)]
enum NameWord {
    Is(String),
    /// A number that is at least this one.
    AtLeast(i64),
    /// Any number.
    Number,
}

impl NameWord {
    fn may_be(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Is(one), Self::Is(other)) => one == other,
            (Self::Is(word), Self::AtLeast(least)) | (Self::AtLeast(least), Self::Is(word)) => {
                word.parse::<i64>().is_ok_and(|n| n >= *least)
            }
            (Self::Is(word), _) | (_, Self::Is(word)) => word.ends_with(|c: char| c.is_ascii_digit()),
            _ => true,
        }
    }
}

impl PartTerm {
    /// Returns a name of this part, or of what it is a part of, level by level.
    fn levels(&self, name: Expr) -> Vec<Vec<NameWord>> {
        let ExprTerm::Part(of, role, indices) = name.term() else { return Vec::new() };
        let set = |var: &Var| self.each.iter().find(|(own, _)| own == var).map(|(_, set)| set.term());
        let index = |e: &Expr| match e.term() {
            ExprTerm::Val(v) => NameWord::Is(v.to_string()),
            ExprTerm::Var(var) => match set(var) {
                Some(ExprTerm::Op(Op::Range, from, _)) => match from.term() {
                    ExprTerm::Val(Val::Int(least)) => NameWord::AtLeast(*least),
                    _ => NameWord::Number,
                },
                _ => NameWord::Number,
            },
            _ => NameWord::Number,
        };
        let mut all = self.levels(*of);
        all.push(role.split('_').map(|word| NameWord::Is(word.to_owned())).chain(indices.iter().map(index)).collect());
        all
    }

    /// Returns whether `name` is `pattern` with other expressions for the variables and the object of the pattern, which it finds.
    /// `None` if it surely is not, and `Some(false)` if it only may be.
    fn matches(
        &self,
        pattern: Expr,
        name: Expr,
        is_in: &dyn Fn(Expr, Expr) -> bool,
        known: &mut Vec<(Expr, Expr)>,
    ) -> Option<bool> {
        match (pattern.term(), name.term()) {
            (ExprTerm::Var(_) | ExprTerm::Arg(..), _) => {
                if let Some((_, e)) = known.iter().find(|(e, _)| *e == pattern) {
                    return (*e == name).then_some(true);
                }
                known.push((pattern, name));
                let set = self.each.iter().find(|(var, _)| pattern.term() == &ExprTerm::Var(*var));
                let Some(set) = set.map(|(_, set)| replaced(*set, known)) else { return Some(true) };
                may_be_in(name, set).then(|| is_in(name, set))
            }
            (ExprTerm::Part(of, role, indices), ExprTerm::Part(other, as_role, others)) => {
                let is_alike = role == as_role && indices.len() == others.len();
                let mut is_one = is_alike.then(|| self.matches(*of, *other, is_in, known)).flatten()?;
                for (index, other) in indices.iter().zip(others) {
                    is_one &= self.matches(*index, *other, is_in, known)?;
                }
                Some(is_one)
            }
            _ if pattern == name => Some(true),
            (ExprTerm::Val(_), ExprTerm::Val(_)) | (ExprTerm::Part(..), _) | (_, ExprTerm::Part(..)) => None,
            _ => are_of_one_kind(pattern, name).then_some(false),
        }
    }

    /// True if a name of this part and the name of another one are equal for some objects and some values of their variables.
    fn may_be(&self, name: Expr, other: &Self) -> bool {
        let (one, other) = (self.levels(name), other.levels(other.name));
        let are_words = |(one, other): (&NameWord, &NameWord)| one.may_be(other);
        let are_levels =
            |(one, other): (&Vec<_>, &Vec<_>)| one.len() == other.len() && one.iter().zip(other).all(are_words);
        !one.is_empty() && one.len() == other.len() && one.iter().zip(&other).all(are_levels)
    }
}

/// The kinds of values that name parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IndexKind {
    Thread,
    Node,
    Number,
}

/// Returns the kind of the value of an expression, or of the elements of a set or tuple, if its form shows it.
fn index_kind(e: Expr) -> Option<IndexKind> {
    match e.term() {
        ExprTerm::Me | ExprTerm::AllThreads | ExprTerm::Val(Val::Thread(_)) => Some(IndexKind::Thread),
        ExprTerm::Of(Function::Thread | Function::Members | Function::Servers, _) => Some(IndexKind::Thread),
        ExprTerm::AllNodes | ExprTerm::Val(Val::Node(_) | Val::Nodes(_)) => Some(IndexKind::Node),
        ExprTerm::Of(Function::Node | Function::Numbered | Function::Nodes | Function::Only, _) => {
            Some(IndexKind::Node)
        }
        ExprTerm::Val(Val::Int(_)) | ExprTerm::Of(Function::Number | Function::Int | Function::Len, _) => {
            Some(IndexKind::Number)
        }
        ExprTerm::Op(Op::Add | Op::Sub | Op::Div | Op::Rem | Op::Range, ..) => Some(IndexKind::Number),
        ExprTerm::Op(Op::With | Op::Without | Op::Except, of, _) => index_kind(*of),
        _ => None,
    }
}

/// True unless the values of two expressions, or the elements, are surely of different kinds.
fn are_of_one_kind(one: Expr, other: Expr) -> bool {
    index_kind(one).zip(index_kind(other)).is_none_or(|(one, other)| one == other)
}

/// False if the value of an expression is surely no element of a set or tuple. A thread or a node by its number is in none,
/// because some worlds do not have it.
fn may_be_in(e: Expr, set: Expr) -> bool {
    let is_outside = match (e.term(), set.term()) {
        (ExprTerm::Val(Val::Thread(_) | Val::Node(_)), _) => true,
        (ExprTerm::Val(Val::Int(k)), ExprTerm::Op(Op::Range, from, to)) => {
            matches!(from.term(), ExprTerm::Val(Val::Int(least)) if k < least)
                || matches!(to.term(), ExprTerm::Val(Val::Int(end)) if k >= end)
        }
        _ => false,
    };
    are_of_one_kind(e, set) && !is_outside
}

/// Puts each second expression in place of the first one.
fn replaced(e: Expr, known: &[(Expr, Expr)]) -> Expr {
    e.replaced(&mut |term| known.iter().find(|(from, _)| from.term() == term).map(|(_, to)| *to))
}

impl ObjectTerm {
    fn replaced(&self, known: &[(Expr, Expr)]) -> Self {
        let with = |e: Expr| replaced(e, known);
        Self {
            library: self.library,
            node: self.node.map(with),
            init: with(self.init),
            members: self.members.map(with),
            size: with(self.size),
        }
    }
}

/// The surroundings of a part: its object, and the variable of the innermost `for` with the outer surroundings.
#[derive(Clone, Copy)]
struct PartSurroundings<'a> {
    world: &'a World,
    object: &'a [Val],
    bound: Option<(Var, Val, &'a PartSurroundings<'a>)>,
}

impl PartSurroundings<'_> {
    /// Returns the values of the variables, the innermost first.
    fn values(&self) -> Vec<Val> {
        self.bound.map_or_else(Vec::new, |(_, value, outer)| [vec![value], outer.values()].concat())
    }
}

impl Surroundings for PartSurroundings<'_> {
    fn world(&self) -> &World {
        self.world
    }

    fn thread(&self) -> Tid {
        panic!("a part belongs to no thread: go through `all_threads()`")
    }

    fn args(&self) -> &[Val] {
        self.object
    }

    fn ret(&self) -> Option<Val> {
        None
    }

    fn var(&self, var: Var) -> Option<Val> {
        let (bound, value, outer) = self.bound?;
        if bound == var { Some(value) } else { outer.var(var) }
    }
}

/// A line for each part.
impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(PartTerm::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for PartTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)?;
        self.each.iter().try_for_each(|(var, all)| write!(f, " for {} in {all}", var.name))?;
        write!(f, ": {}", self.object)
    }
}

/// As in programs, without what is usual.
impl fmt::Display for ObjectTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.library.fmt(f)?;
        self.node.map_or(Ok(()), |node| write!(f, " at {node}"))?;
        if self.size != 1.into() {
            write!(f, " size {}", self.size)?;
        }
        if self.init != 0.into() {
            write!(f, " = {}", self.init)?;
        }
        self.members.map_or(Ok(()), |members| write!(f, " of {members}"))
    }
}

/// The parts of an object of a library that an implementation needs: [`Parts`].
///
/// | | |
/// |---|---|
/// | `x =>` | the name of the object, before all parts; behind `static`, the parts are made once, and this is a reference |
/// | `name => object;` | an object with this name, an [`Expr`]; the object is an [`ObjectTerm`] |
/// | `for t in (s) { .. }` | once for each element of a set or tuple |
/// | `(parts);` | the parts of a list of [`PartTerm`] |
#[macro_export]
macro_rules! parts {
    (@all) => { Vec::<$crate::term::parts::PartTerm>::new() };
    (@all for $t:ident in ($all:expr) { $($inner:tt)* } $($rest:tt)*) => {{
        let mut parts = $crate::term::parts::PartTerm::each(stringify!($t), $all, |$t| $crate::parts!(@all $($inner)*));
        parts.extend($crate::parts!(@all $($rest)*));
        parts
    }};
    (@all ($parts:expr); $($rest:tt)*) => {{
        let mut parts: Vec<$crate::term::parts::PartTerm> = $parts.into_iter().collect();
        parts.extend($crate::parts!(@all $($rest)*));
        parts
    }};
    (@all $name:expr => $object:expr; $($rest:tt)*) => {{
        let mut parts = vec![$crate::term::parts::PartTerm::new($name, $object)];
        parts.extend($crate::parts!(@all $($rest)*));
        parts
    }};
    (static $x:ident => $($all:tt)*) => {{
        static PARTS: ::std::sync::LazyLock<$crate::term::parts::Parts> =
            ::std::sync::LazyLock::new(|| $crate::parts!($x => $($all)*));
        &*PARTS
    }};
    ($x:ident => $($all:tt)*) => {
        $crate::term::parts::Parts::of(stringify!($x), |$x| {
            let _ = $x;
            $crate::parts!(@all $($all)*)
        })
    };
}
