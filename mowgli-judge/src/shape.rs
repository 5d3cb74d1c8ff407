//! Shapes of calls as terms: the subevents of a call, `stmp(e)` with what each reads and writes (LOCO Def. 3.4 and 3.5), written
//! once for each method.
//!
//! A term can be printed and analysed. It shows the family of each stamp, its node as an expression, and the conditions
//! on arguments and result under which a subevent exists. [`Shapes::of`] evaluates a term for one event. The macro
//! `shapes!` of `mowgli-core` is the notation for authors.

use std::fmt;
use std::sync::LazyLock;

use crate::event::{Cell, CellValues, Event, Reads, Shape, Sub, Writes};
use crate::expr::{Expr, ExprTerm, Op, Surroundings, Var, me};
use crate::few::Few;
use crate::ids::{Node, Tid};
use crate::method::Method;
use crate::stamp::Stamp;
use crate::value::Val;
use crate::world::World;

/// The world of what a call makes of a value, which depends on its arguments only.
static NOWHERE: LazyLock<World> = LazyLock::new(|| World::new(0, &[]));

/// The ways in which a call can happen, as a term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShapeTerm {
    /// One subevent.
    Sub(SubTerm),
    /// The subevents of each of these, one after the other.
    Seq(Vec<ShapeTerm>),
    /// `if e { p } else { q }`.
    If(Expr, Box<ShapeTerm>, Box<ShapeTerm>),
    /// `for x in s { p }`: for the nodes of a set, or the parts of a tuple, in order.
    For(Var, Expr, Box<ShapeTerm>),
    /// One of these ways. If the list is empty, no execution has the call.
    Either(Vec<ShapeTerm>),
}

/// A subevent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubTerm {
    /// Its stamp.
    pub stamp: StampTerm,
    /// The cell that it touches, if it touches one.
    pub cell: Option<CellTerm>,
    /// The constraint on the value that it reads there, if it reads.
    pub reads: Option<ReadsTerm>,
    /// The value that it writes there, if it writes.
    pub writes: Option<WritesTerm>,
    /// The variable for the value that it reads, if a later subevent of the event writes that.
    pub found: Option<Var>,
}

/// A stamp: the member of a family with an index. A stamp that belongs to no family has no index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StampTerm {
    /// The family.
    pub family: Family,
    /// The index. Its first part is a node.
    pub index: Vec<Expr>,
}

/// A family of stamps: a function from an index to a stamp.
#[derive(Clone, Copy)]
pub struct Family {
    /// Its name in the papers, such as `Sent`.
    pub name: &'static str,
    member: fn(&[Val]) -> Stamp,
}

/// A cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CellTerm {
    /// The location.
    pub loc: Expr,
    /// The node of the copy; `None` if the location has one copy for all nodes, represented by the cell of node 1.
    pub node: Option<Expr>,
}

/// A value that a subevent reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadsTerm {
    /// Exactly this value.
    Is(Expr),
    /// Any value but this one.
    IsNot(Expr),
    /// Any value.
    Any,
}

/// A value that a subevent writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WritesTerm {
    /// A value.
    Is(Expr),
    /// The value that an earlier subevent of the event read.
    Copy(Var),
    /// The integer that an earlier subevent read, or that this one reads, plus this value. What reads no integer is in no
    /// execution.
    Sum(Option<Var>, Expr),
    /// The words that the first of these cases makes of the words that the subevent reads.
    Words(CasesTerm),
    /// The result of [`step_by_function`](crate::library::Library::step_by_function) on the value that an earlier subevent read, or
    /// that this one reads.
    Step(Option<Var>),
}

/// A function of a state of several words, by cases. No execution has a call on a state for which there is no case, or
/// whose case has another result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CasesTerm {
    /// The variables for the words that are read.
    pub before: Vec<Var>,
    /// The cases, of which the first whose condition holds counts.
    pub cases: Vec<Case>,
}

/// The effect of a call on a state of several words if a condition holds, and the conditions of the cases before it do
/// not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The condition.
    pub when: Expr,
    /// The words that may change, by their numbers, each with its new value.
    pub words: Vec<(usize, Expr)>,
    /// The result.
    pub result: Expr,
}

impl Case {
    /// Returns the case in which, if a condition holds, these words change, and the call has this result.
    #[must_use]
    pub fn new(when: impl Into<Expr>, words: &[(usize, Expr)], result: impl Into<Expr>) -> Self {
        Self { when: when.into(), words: words.to_vec(), result: result.into() }
    }

    /// Returns the words after the call, given those before it.
    #[must_use]
    pub fn after(&self, before: &[Expr]) -> Vec<Expr> {
        let change = |k: usize| self.words.iter().find(|(word, _)| *word == k).map(|(_, new)| *new);
        before.iter().enumerate().map(|(k, old)| change(k).unwrap_or(*old)).collect()
    }
}

impl CasesTerm {
    /// Returns the function that these cases make of this many words.
    #[must_use]
    pub fn new(words: usize, cases: impl FnOnce(&[Expr]) -> Vec<Case>) -> Self {
        let name = |k: usize| ["w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"].get(k).copied().unwrap_or("w");
        let before: Vec<Var> = (0..words).map(|k| Var::fresh(name(k))).collect();
        let cases = cases(&before.iter().map(|var| ExprTerm::Var(*var).into()).collect::<Vec<Expr>>());
        Self { before, cases }
    }

    /// Returns the result of the call of these surroundings on a state.
    fn result(&self, state: Val, around: &Surrounding<'_>) -> Option<Val> {
        self.case(state, around, |case, _, around| Some(case.result.eval(around)))
    }

    /// Returns the state after the event of these surroundings.
    fn apply(&self, state: Val, around: &Surrounding<'_>) -> Option<Val> {
        self.case(state, around, |case, before, around| {
            let before: Vec<Expr> = before.iter().map(|v| (*v).into()).collect();
            let after = || Val::tuple(&case.after(&before).iter().map(|e| e.eval(around)).collect::<Vec<_>>());
            (Some(case.result.eval(around)) == around.ret()).then(after)
        })
    }

    /// Calls `use_case` with the case of a state, its words, and the surroundings that have them.
    fn case(
        &self,
        state: Val,
        around: &Surrounding<'_>,
        use_case: impl FnOnce(&Case, &[Val], &ReadWords<'_>) -> Option<Val>,
    ) -> Option<Val> {
        let Val::Tuple(words) = state else { return None };
        let words = Some(words.parts()).filter(|words| words.len() == self.before.len())?;
        let around = ReadWords { names: &self.before, words, around };
        let case = self.cases.iter().find(|case| case.when.eval(&around) == Val::Bool(true))?;
        use_case(case, words, &around)
    }
}

/// The surroundings of an event, with the words of the state that it reads.
struct ReadWords<'a> {
    names: &'a [Var],
    words: &'a [Val],
    around: &'a Surrounding<'a>,
}

impl Surroundings for ReadWords<'_> {
    fn world(&self) -> &World {
        self.around.world()
    }

    fn thread(&self) -> Tid {
        self.around.thread()
    }

    fn args(&self) -> &[Val] {
        self.around.args()
    }

    fn ret(&self) -> Option<Val> {
        self.around.ret()
    }

    fn var(&self, var: Var) -> Option<Val> {
        let own = self.names.iter().position(|word| *word == var).map(|k| self.words[k]);
        own.or_else(|| self.around.var(var))
    }
}

/// The value that a subevent has read, so that a later one of the event can write a copy of it.
#[derive(Clone, Copy, Debug)]
pub struct ReadVar(Var);

/// An index of a family of stamps, which distinguishes the members.
pub trait Index {
    /// Returns the index with these parts, of which the first is a node.
    ///
    /// # Panics
    /// May panic if there is no such index.
    fn of(parts: &[Val]) -> Self;
}

impl Index for Node {
    fn of(parts: &[Val]) -> Self {
        match parts {
            [Val::Node(n)] => *n,
            _ => panic!("the index of a stamp is a node, and not {parts:?}"),
        }
    }
}

impl Family {
    /// Returns the family with this name and these members.
    #[must_use]
    pub const fn new(name: &'static str, member: fn(&[Val]) -> Stamp) -> Self {
        Self { name, member }
    }

    /// Returns the member for node 1, which represents the family in comparisons. A memory model finds its family by
    /// it.
    #[must_use]
    pub fn first(self) -> Stamp {
        self.of(Node(1))
    }

    /// Returns the member for a node.
    #[must_use]
    pub fn of(self, node: Node) -> Stamp {
        (self.member)(&[Val::Node(node)])
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.first() == other.first()
    }
}

impl Eq for Family {}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<E: Into<Expr>> From<E> for ReadsTerm {
    fn from(v: E) -> Self {
        Self::Is(v.into())
    }
}

impl<E: Into<Expr>> From<E> for WritesTerm {
    fn from(v: E) -> Self {
        Self::Is(v.into())
    }
}

impl From<ReadVar> for WritesTerm {
    fn from(found: ReadVar) -> Self {
        Self::Copy(found.0)
    }
}

/// Returns the constraint that the value differs from this one, because the compare failed.
#[must_use]
pub fn other_than(v: impl Into<Expr>) -> ReadsTerm {
    ReadsTerm::IsNot(v.into())
}

/// Returns the integer that the subevent itself reads plus this value.
#[must_use]
pub fn plus(v: impl Into<Expr>) -> WritesTerm {
    WritesTerm::Sum(None, v.into())
}

/// Returns the integer that an earlier subevent read plus this value.
#[must_use]
pub fn sum(found: ReadVar, v: impl Into<Expr>) -> WritesTerm {
    WritesTerm::Sum(Some(found.0), v.into())
}

/// Returns the result of [`step_by_function`](crate::library::Library::step_by_function) on the value that the subevent itself reads.
#[must_use]
pub fn step() -> WritesTerm {
    WritesTerm::Step(None)
}

/// Returns the result of [`step_by_function`](crate::library::Library::step_by_function) on the value that an earlier subevent read.
#[must_use]
pub fn step_of(found: ReadVar) -> WritesTerm {
    WritesTerm::Step(Some(found.0))
}

impl SubTerm {
    /// Returns a subevent that touches no memory.
    #[must_use]
    pub fn quiet(stamp: StampTerm) -> Self {
        Self { stamp, cell: None, reads: None, writes: None, found: None }
    }

    /// Returns the same subevent with a read of a cell.
    #[must_use]
    pub fn reads(self, cell: CellTerm, reads: impl Into<ReadsTerm>) -> Self {
        Self { cell: Some(cell), reads: Some(reads.into()), ..self }
    }

    /// Returns the same subevent with a write of a cell.
    #[must_use]
    pub fn writes(self, cell: CellTerm, writes: impl Into<WritesTerm>) -> Self {
        Self { cell: Some(cell), writes: Some(writes.into()), ..self }
    }
}

impl From<SubTerm> for ShapeTerm {
    fn from(sub: SubTerm) -> Self {
        Self::Sub(sub)
    }
}

impl ShapeTerm {
    /// Returns the term without subevents.
    #[must_use]
    pub fn nothing() -> Self {
        Self::Seq(Vec::new())
    }

    /// Returns the term of a call that no execution has.
    #[must_use]
    pub fn never() -> Self {
        Self::Either(Vec::new())
    }

    /// Returns the term restricted to calling threads in this set. No execution has the call of any other thread.
    #[must_use]
    pub fn by(self, who: impl Into<Expr>) -> Self {
        Self::branch(me().is_in(who), self, Self::never())
    }

    /// `self; rest`.
    #[must_use]
    pub fn then(self, rest: Self) -> Self {
        let parts = |term: Self| if let Self::Seq(parts) = term { parts } else { vec![term] };
        let mut all = parts(self);
        all.extend(parts(rest));
        if all.len() == 1 { all.remove(0) } else { Self::Seq(all) }
    }

    /// `let name = sub; rest`, where `sub` reads.
    ///
    /// # Panics
    /// If it does not.
    #[must_use]
    pub fn found(sub: SubTerm, name: &'static str, rest: impl FnOnce(ReadVar) -> Self) -> Self {
        assert!(sub.reads.is_some(), "{sub} reads nothing");
        let var = Var::fresh(name);
        Self::Sub(SubTerm { found: Some(var), ..sub }).then(rest(ReadVar(var)))
    }

    /// `if condition { yes } else { no }`. The condition is a term, for example `ret() == v`, and not a Rust `bool`.
    #[must_use]
    pub fn branch(condition: Expr, yes: Self, no: Self) -> Self {
        Self::If(condition, Box::new(yes), Box::new(no))
    }

    /// `for name in set { part }`.
    #[must_use]
    pub fn each(name: &'static str, set: impl Into<Expr>, part: impl FnOnce(Expr) -> Self) -> Self {
        let var = Var::fresh(name);
        Self::For(var, set.into(), Box::new(part(ExprTerm::Var(var).into())))
    }

    /// Returns the first result of `f` for the subevents of all ways, in the order of the term.
    pub fn find_sub<'s, T>(&'s self, f: &mut dyn FnMut(&'s SubTerm) -> Option<T>) -> Option<T> {
        match self {
            Self::Sub(sub) => f(sub),
            Self::Seq(parts) | Self::Either(parts) => parts.iter().find_map(|part| part.find_sub(f)),
            Self::If(_, yes, no) => yes.find_sub(f).or_else(|| no.find_sub(f)),
            Self::For(_, _, part) => part.find_sub(f),
        }
    }

    /// True if a call of this shape may have no result with some values of the words. Then a subevent reads a constant, or writes what
    /// a function makes of some values only. For example, `reads x, 1` waits for a 1.
    #[must_use]
    pub fn may_block(&self) -> bool {
        let blocks = |sub: &SubTerm| {
            let reads = match &sub.reads {
                Some(ReadsTerm::Is(v)) => v.term() != &ExprTerm::Ret,
                Some(ReadsTerm::IsNot(_)) => true,
                Some(ReadsTerm::Any) | None => false,
            };
            let writes = match &sub.writes {
                Some(WritesTerm::Words(of)) => of.cases.iter().all(|case| case.when != true.into()),
                Some(WritesTerm::Step(_)) => true,
                _ => false,
            };
            (reads || writes).then_some(())
        };
        self.find_sub(&mut |sub| blocks(sub)).is_some()
    }

    /// Returns the written value that depends on a read one. An event has at most one.
    fn computed(&self, around: &Surrounding<'_>) -> Option<&WritesTerm> {
        let is_computed = |w: &&WritesTerm| matches!(w, WritesTerm::Sum(..) | WritesTerm::Words(_));
        match self {
            Self::Sub(sub) => sub.writes.as_ref().filter(is_computed),
            Self::Seq(parts) | Self::Either(parts) => parts.iter().find_map(|part| part.computed(around)),
            Self::For(_, _, part) => part.computed(around),
            Self::If(condition, yes, no) => match (yes.computed(around), no.computed(around)) {
                (Some(one), Some(other)) if one != other => {
                    Some(if condition.eval(around) == Val::Bool(true) { one } else { other })
                }
                (one, other) => one.or(other),
            },
        }
    }

    /// Visits the results that this term names, and each condition on the way with the branch that the result of the event
    /// takes. A condition about the result leads into both branches if the result is [`Val::Top`], which no call returns.
    fn visit(&self, around: &Surrounding<'_>, visit: &mut dyn FnMut(ShapePart<'_>)) {
        let is_open = around.event.ret == Val::Top;
        match self {
            Self::Sub(sub) => {
                let Some(cell) = sub.cell.filter(|cell| !mentions_result(cell.loc)) else { return };
                if let Some(ReadsTerm::Is(e)) = sub.reads
                    && *e.term() == ExprTerm::Ret
                {
                    visit(ShapePart::Reads(cell.eval(around)));
                }
                if let Some(WritesTerm::Words(function)) = &sub.writes {
                    visit(ShapePart::Makes(cell.eval(around), &|state| function.result(state, around)));
                }
            }
            Self::Seq(parts) | Self::Either(parts) => parts.iter().for_each(|part| part.visit(around, visit)),
            Self::If(condition, yes, no) => {
                condition.each(&mut |e| {
                    let with = match *e.term() {
                        ExprTerm::Op(Op::Eq, one, other) if *one.term() == ExprTerm::Ret => Some((other, false)),
                        ExprTerm::Op(Op::Eq, one, other) if *other.term() == ExprTerm::Ret => Some((one, false)),
                        ExprTerm::Op(Op::In, one, all) if *one.term() == ExprTerm::Ret => Some((all, true)),
                        _ => None,
                    };
                    match with.filter(|(e, _)| !mentions_result(*e)) {
                        Some((e, true)) => e.elements(around).iter().for_each(|v| visit(ShapePart::Compares(*v))),
                        Some((e, false)) => visit(ShapePart::Compares(e.eval(around))),
                        None => {}
                    }
                });
                let holds = condition.eval(around) == Val::Bool(true);
                let is_both = is_open && mentions_result(*condition);
                for (branch, is_yes) in [(yes, true), (no, false)].into_iter().filter(|b| is_both || b.1 == holds) {
                    visit(ShapePart::Branch(self, is_yes));
                    branch.visit(around, visit);
                }
            }
            Self::For(var, set, part) => {
                for value in set.elements(around) {
                    part.visit(&Surrounding { bound: Some((*var, value, around)), ..*around }, visit);
                }
            }
        }
    }

    /// Returns the ways in which the event of these surroundings can happen.
    fn of(&self, world: &World, event: &Event) -> Vec<Shape> {
        let mut ways = vec![PartialShape::default()];
        self.extend(&mut ways, &Surrounding { world, event, bound: None });
        ways.into_iter().map(|way| way.subs.iter().copied().collect()).collect()
    }

    /// Appends the subevents of this term to each way. A term with several ways makes several of each.
    fn extend(&self, ways: &mut Vec<PartialShape>, around: &Surrounding<'_>) {
        match self {
            Self::Sub(sub) => ways.iter_mut().for_each(|way| way.push(sub, around)),
            Self::Seq(parts) => parts.iter().for_each(|part| part.extend(ways, around)),
            Self::If(condition, yes, no) => {
                let chosen = if condition.eval(around) == Val::Bool(true) { yes } else { no };
                chosen.extend(ways, around);
            }
            Self::For(var, set, part) => {
                for value in set.elements(around) {
                    part.extend(ways, &Surrounding { bound: Some((*var, value, around)), ..*around });
                }
            }
            Self::Either(terms) => {
                let before = std::mem::take(ways);
                for term in terms {
                    let mut own = before.clone();
                    term.extend(&mut own, around);
                    ways.append(&mut own);
                }
            }
        }
    }
}

/// A part of a shape that says what a call can return.
enum ShapePart<'a> {
    /// The result is a value of this cell.
    Reads(Cell),
    /// The result is that of a function of the state in this cell.
    Makes(Cell, &'a dyn Fn(Val) -> Option<Val>),
    /// A condition compares the result with this value.
    Compares(Val),
    /// A branch of a condition: the first one or the second.
    Branch(&'a ShapeTerm, bool),
}

/// True if an expression depends on the result of the call.
fn mentions_result(e: Expr) -> bool {
    let mut found = false;
    e.each(&mut |part| found |= *part.term() == ExprTerm::Ret);
    found
}

/// The beginning of one way in which an event can happen.
#[derive(Clone, Default)]
struct PartialShape {
    subs: Few<Sub>,
    /// The numbers of the variables for values that subevents read, each with the position of its subevent.
    found: Few<(usize, usize)>,
}

impl PartialShape {
    fn push(&mut self, sub: &SubTerm, around: &Surrounding<'_>) {
        let here = self.subs.len();
        if let Some(var) = sub.found {
            self.found.push((var.number, here));
        }
        let reads = |reads: ReadsTerm| match reads {
            ReadsTerm::Is(e) => Reads::Is(e.eval(around)),
            ReadsTerm::IsNot(e) => Reads::IsNot(e.eval(around)),
            ReadsTerm::Any => Reads::Any,
        };
        let writes = |writes: &WritesTerm| match writes {
            WritesTerm::Is(e) => Writes::Is(e.eval(around)),
            WritesTerm::Copy(var) => Writes::Copy(self.position(*var)),
            WritesTerm::Step(var) | WritesTerm::Sum(var, _) => Writes::Step(var.map_or(here, |var| self.position(var))),
            WritesTerm::Words(_) => Writes::Step(here),
        };
        let sub = Sub {
            stamp: sub.stamp.eval(around),
            cell: sub.cell.map(|cell| cell.eval(around)),
            reads: sub.reads.map(reads),
            writes: sub.writes.as_ref().map(writes),
        };
        self.subs.push(sub);
    }

    /// Returns the position of the last subevent whose value this variable stands for, because each iteration of a
    /// `for` uses its own.
    fn position(&self, var: Var) -> usize {
        let found = self.found.iter().rev().find(|(known, _)| *known == var.number);
        found.unwrap_or_else(|| unreachable!("{} is used outside the scope that binds it", var.name)).1
    }
}

/// The surroundings of a part of a term: an event, and the variable of the innermost `for` with the outer surroundings.
#[derive(Clone, Copy)]
struct Surrounding<'a> {
    world: &'a World,
    event: &'a Event,
    bound: Option<(Var, Val, &'a Surrounding<'a>)>,
}

impl Surroundings for Surrounding<'_> {
    fn world(&self) -> &World {
        self.world
    }

    fn thread(&self) -> Tid {
        self.event.thread
    }

    fn args(&self) -> &[Val] {
        &self.event.call.args
    }

    fn ret(&self) -> Option<Val> {
        Some(self.event.ret)
    }

    fn var(&self, var: Var) -> Option<Val> {
        let (bound, value, outer) = self.bound?;
        if bound == var { Some(value) } else { outer.var(var) }
    }
}

impl StampTerm {
    /// Returns the stamp with this index of a family.
    #[must_use]
    pub fn new(family: Family, index: impl IntoIterator<Item = Expr>) -> Self {
        Self { family, index: index.into_iter().collect() }
    }

    /// Returns the node of the stamp, if it has one.
    #[must_use]
    pub fn node(&self) -> Option<Expr> {
        self.index.first().copied()
    }

    fn eval(&self, around: &Surrounding<'_>) -> Stamp {
        (self.family.member)(&self.index.iter().map(|e| e.eval(around)).collect::<Few<Val>>())
    }
}

impl CellTerm {
    /// Returns the copy of a location on a node.
    #[must_use]
    pub fn at(loc: impl Into<Expr>, node: impl Into<Expr>) -> Self {
        Self { loc: loc.into(), node: Some(node.into()) }
    }

    /// Returns the only copy of a location.
    #[must_use]
    pub fn only(loc: impl Into<Expr>) -> Self {
        Self { loc: loc.into(), node: None }
    }

    fn eval(&self, around: &Surrounding<'_>) -> Cell {
        let call = || &around.event.call;
        let Val::Loc(loc) = self.loc.eval(around) else { panic!("{}: {} is no location", call(), self.loc) };
        let node = self.node.map_or(Val::Node(Node(1)), |node| node.eval(around));
        let Val::Node(node) = node else { panic!("{}: {self} is on no node", call()) };
        loc.on(node)
    }
}

/// The shapes of the methods of a library.
#[derive(Clone, Default, Debug)]
pub struct Shapes {
    all: Vec<(&'static str, ShapeTerm)>,
    rest: Option<ShapeTerm>,
}

impl Shapes {
    /// Adds the shape of one more method of a table, given the arguments with these names. `shapes!` calls this.
    ///
    /// # Panics
    /// If the table has no such method, or the method no such argument.
    #[must_use]
    pub fn with(
        mut self,
        table: &'static [Method],
        name: &'static str,
        arguments: &[&'static str],
        shape: impl FnOnce(&[Expr]) -> ShapeTerm,
    ) -> Self {
        Var::number_from(0);
        let method = table.iter().find(|m| m.name == name).expect("a method of the table");
        let argument = |of: &&'static str| {
            let position = method.takes.iter().position(|(name, _)| name == of).expect("an argument of the method");
            Expr::from(ExprTerm::Arg(position, of))
        };
        self.all.push((name, shape(&arguments.iter().map(argument).collect::<Vec<_>>())));
        self
    }

    /// Returns one shape for the calls of all methods, of any table, given their first arguments by these names.
    #[must_use]
    pub fn of_all(arguments: &[&'static str], shape: impl FnOnce(&[Expr]) -> ShapeTerm) -> Self {
        Var::number_from(0);
        let arguments: Vec<Expr> = (0..).zip(arguments).map(|(at, name)| ExprTerm::Arg(at, name).into()).collect();
        Self { all: Vec::new(), rest: Some(shape(&arguments)) }
    }

    /// Adds the shapes of other methods. Arguments of both must be in the same positions.
    #[must_use]
    pub fn or(mut self, others: &Self) -> Self {
        let more = others.all.iter().filter(|(name, _)| self.all.iter().all(|(known, _)| known != name));
        self.all.extend(more.cloned().collect::<Vec<_>>());
        self
    }

    /// Returns the shape of the calls of a method.
    #[must_use]
    pub fn get(&self, method: &str) -> Option<&ShapeTerm> {
        self.all.iter().find(|(name, _)| *name == method).map(|(_, term)| term).or(self.rest.as_ref())
    }

    /// Returns the function from the value that the update of an event reads to the value that it writes, if the terms give
    /// it. The function has no value where no event with this result reads that. A sum of what is no number is undefined
    /// ([`Val::Top`]).
    #[must_use]
    pub fn step<'s>(&'s self, event: &'s Event) -> Option<impl Fn(Val) -> Option<Val> + 's> {
        let around = Surrounding { world: &NOWHERE, event, bound: None };
        let writes = self.get(event.call.method.text())?.computed(&around)?;
        Some(move |read: Val| match writes {
            WritesTerm::Words(function) => function.apply(read, &around),
            WritesTerm::Sum(_, k) => {
                let sum = k.eval(&around).int().and_then(|k| read.plus(k));
                Some(sum.unwrap_or(Val::Top))
            }
            WritesTerm::Is(_) | WritesTerm::Copy(_) | WritesTerm::Step(_) => None,
        })
    }

    /// Returns the results that the shape of a call names, given its event with the result [`Val::Top`]. Each is a value of
    /// a cell that a subevent reads as `ret()`, or one with which a condition compares `ret()`. `cells` returns the
    /// possible values of a cell.
    #[must_use]
    pub fn results(&self, world: &World, event: &Event, cells: CellValues<'_>) -> Vec<Val> {
        let (mut results, mut compared) = (Vec::new(), Vec::new());
        if let Some(term) = self.get(event.call.method.text()) {
            term.visit(&Surrounding { world, event, bound: None }, &mut |part| match part {
                ShapePart::Reads(cell) => results.extend(cells(cell)),
                ShapePart::Makes(cell, result) => results.extend(cells(cell).into_iter().filter_map(result)),
                ShapePart::Compares(v) => compared.push(v),
                ShapePart::Branch(..) => {}
            });
        }
        results.append(&mut compared);
        results
    }

    /// Returns the threads that may make a call, if its shape names them, and not by an argument that is [`Val::Top`]. No
    /// execution has the call of another thread.
    #[must_use]
    pub fn callers(&self, world: &World, event: &Event) -> Option<Vec<Val>> {
        let ShapeTerm::If(condition, _, other) = self.get(event.call.method.text())? else { return None };
        let ExprTerm::Op(Op::In, one, who) = *condition.term() else { return None };
        let mut is_named = *one.term() == ExprTerm::Me && **other == ShapeTerm::never();
        let is_open = |at: usize| event.call.args.get(at).is_none_or(|v| *v == Val::Top);
        who.each(&mut |part| is_named &= !matches!(*part.term(), ExprTerm::Arg(at, _) if is_open(at)));
        is_named.then(|| who.elements(&Surrounding { world, event, bound: None }).to_vec())
    }

    /// Visits each branch of a condition about the result that an event takes: the term of the condition, and whether it
    /// is its first branch.
    pub fn branches<'s>(&'s self, world: &World, event: &Event, visit: &mut dyn FnMut(&ShapeTerm, bool)) {
        if let Some(term) = self.get(event.call.method.text()) {
            term.visit(&Surrounding { world, event, bound: None }, &mut |part| {
                if let ShapePart::Branch(term @ ShapeTerm::If(condition, ..), is_yes) = part
                    && mentions_result(*condition)
                {
                    visit(term, is_yes);
                }
            });
        }
    }

    /// Returns the ways in which an event can happen: `stmp(e)` with the accesses of each subevent. If there are none,
    /// no execution has the event.
    ///
    /// # Panics
    /// If the call has a fault: see [`Library::fault`](crate::library::Library::fault).
    #[must_use]
    pub fn of(&self, world: &World, event: &Event) -> Vec<Shape> {
        let term = self.get(event.call.method.text());
        term.unwrap_or_else(|| panic!("{} has no method {}", event.call.library, event.call.method)).of(world, event)
    }
}

fn list(exprs: &[Expr]) -> String {
    exprs.iter().map(Expr::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for StampTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.family.name)?;
        if self.index.is_empty() { Ok(()) } else { write!(f, "({})", list(&self.index)) }
    }
}

impl fmt::Display for CellTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.loc.fmt(f)?;
        self.node.map_or(Ok(()), |node| write!(f, " at {node}"))
    }
}

impl fmt::Display for ReadsTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(e) => e.fmt(f),
            Self::IsNot(e) => write!(f, "other than {e}"),
            Self::Any => f.write_str("anything"),
        }
    }
}

impl fmt::Display for WritesTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(e) => e.fmt(f),
            Self::Copy(var) => f.write_str(var.name),
            Self::Sum(var, k) => write!(f, "{} + {k}", var.map_or("read", |var| var.name)),
            Self::Words(function) => function.fmt(f),
            Self::Step(Some(var)) => write!(f, "step({})", var.name),
            Self::Step(None) => f.write_str("step"),
        }
    }
}

/// `[(v), true if w0 = bot; the same, false if true]`: the words after the call and its result, for each case.
impl fmt::Display for CasesTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before: Vec<Expr> = self.before.iter().map(|var| ExprTerm::Var(*var).into()).collect();
        let case = |case: &Case| {
            let after =
                if case.words.is_empty() { "the same".to_owned() } else { format!("({})", list(&case.after(&before))) };
            format!("{after}, {} if {}", case.result, case.when)
        };
        write!(f, "[{}]", self.cases.iter().map(case).collect::<Vec<_>>().join("; "))
    }
}

/// `Sent(n): writes x at n, v`.
impl fmt::Display for SubTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(var) = self.found {
            write!(f, "let {} = ", var.name)?;
        }
        self.stamp.fmt(f)?;
        let Some(cell) = self.cell else { return Ok(()) };
        match (self.reads, &self.writes) {
            (None | Some(ReadsTerm::Any), None) => write!(f, ": reads {cell}"),
            (Some(reads), None) => write!(f, ": reads {cell}, {reads}"),
            (None, Some(writes)) => write!(f, ": writes {cell}, {writes}"),
            (Some(ReadsTerm::Any), Some(writes)) => write!(f, ": updates {cell} => {writes}"),
            (Some(reads), Some(writes)) => write!(f, ": updates {cell}, {reads} => {writes}"),
        }
    }
}

/// The shape as pseudo-code: a line for each subevent.
impl fmt::Display for ShapeTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl ShapeTerm {
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        let block = |f: &mut fmt::Formatter<'_>, inside: &Self| {
            writeln!(f, "{{")?;
            inside.write(f, depth + 1)?;
            write!(f, "\n{indent}}}")
        };
        match self {
            Self::Sub(sub) => write!(f, "{indent}{sub}"),
            Self::Seq(parts) => parts.iter().enumerate().try_for_each(|(i, part)| {
                if i > 0 {
                    writeln!(f)?;
                }
                part.write(f, depth)
            }),
            Self::If(condition, yes, no) => {
                write!(f, "{indent}if {condition} ")?;
                block(f, yes)?;
                if **no == Self::nothing() {
                    return Ok(());
                }
                f.write_str(" else ")?;
                block(f, no)
            }
            Self::For(var, set, part) => {
                write!(f, "{indent}for {} in {set} ", var.name)?;
                block(f, part)
            }
            Self::Either(terms) if terms.is_empty() => write!(f, "{indent}never"),
            Self::Either(terms) => {
                write!(f, "{indent}either ")?;
                terms.iter().enumerate().try_for_each(|(i, term)| {
                    if i > 0 {
                        f.write_str(" or ")?;
                    }
                    block(f, term)
                })
            }
        }
    }
}
