//! Symbolic shapes: the subevents of the calls of a path, in terms of the client's call.
//!
//! **Computes** the ways in which a call can happen. The input is the shape term of its method ([`ShapeTerm`]), its
//! arguments, its result, and the known conditions. Each way lists the subevents as expressions.
//!
//! **Invariant**: for every call of the path whose conditions hold, the evaluated shape is one of these ways, with the
//! expressions evaluated.
//!
//! **Example**: the call `Write(x.copy[here], v)` has the shape `aCW: writes x at node(x), v`. An implementation
//! that declares `x.copy[n]` at `n` gives it the subevent `aCW: writes x.copy[here] at here, v`.
//!
//! **Correct because** each case of [`Shaper::extend`] is the one of [`Shapes::of`](mowgli_core::term::shape::Shapes::of) on
//! unknown values. A condition that is not known is an error ([`NoTemplate::Undecided`]), and the caller splits the path.
//!
//! **Cost**: the size of the shape, times the number of ways.

use std::collections::BTreeMap;

use mowgli_core::expr::{Expr, ExprTerm, Function, Op, Var};
use mowgli_core::ids::Node;
use mowgli_core::library::Hints;
use mowgli_core::term::parts::ObjectTerm;
use mowgli_core::term::shape::{Case, CasesTerm, Family, ReadsTerm, ShapeTerm, StampTerm, SubTerm, WritesTerm};
use mowgli_core::value::Val;

use crate::error::{Refusal, refusal};
use crate::template::pattern::{Each, Segment, Times, segment_of};
use crate::template::values::{PathCondition, SymbolicExecutor, UNKNOWN, is_condition, is_contradiction, listed};

/// The variable for the node that indexes a subevent or its event.
pub(crate) const AT: Var = Var { number: UNKNOWN - 1, name: "n" };
/// The variable for the thread that indexes a subevent or its event.
pub(crate) const MEMBER: Var = Var { number: UNKNOWN - 2, name: "t" };

/// Returns the variable for the elements of an index set.
pub(crate) fn element(of: Each) -> Var {
    if matches!(of, Each::Nodes(_)) { AT } else { MEMBER }
}

/// The reason for which a path has no template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NoTemplate {
    /// The subevents of a call depend on this condition, which the path does not decide.
    Undecided(Expr),
    /// The path has something that no template can say.
    Refused(Refusal),
}

impl From<Refusal> for NoTemplate {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A value that a subevent writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SymbolicWrite {
    Is(Expr),
    /// The value that the subevent at this position of the event reads.
    Copy(usize),
    /// The integer that the subevent at this position reads, plus this value.
    Sum(usize, Expr),
    /// A function of the words that the subevent reads.
    Words(CasesTerm),
}

/// A subevent in terms of the client's call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SymbolicSub {
    pub family: Family,
    /// The node of the stamp, if it has one.
    pub node: Option<Expr>,
    /// The location and node of the cell, if it touches one.
    pub cell: Option<(Expr, Expr)>,
    pub reads: Option<ReadsTerm>,
    pub writes: Option<SymbolicWrite>,
    /// The way of its event in which it is there; `None` if the event has one way.
    pub way: Option<usize>,
}

/// One way in which a call can happen.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Symbolic {
    pub segments: Vec<Segment>,
    pub accesses: Vec<SymbolicSub>,
    /// The numbers of the variables for values that subevents read, each with the position of its subevent.
    found: BTreeMap<usize, usize>,
}

impl Symbolic {
    /// Returns the subevents of all ways, each marked with its way. Each round of a loop has those of one of them.
    pub fn of_each_round(ways: Vec<Self>) -> Self {
        let mut all = Self::default();
        for (number, way) in ways.into_iter().enumerate() {
            let before = all.accesses.len();
            let marked = way.accesses.into_iter().map(|access| {
                let writes = access.writes.map(|write| match write {
                    SymbolicWrite::Copy(from) => SymbolicWrite::Copy(before + from),
                    SymbolicWrite::Sum(from, k) => SymbolicWrite::Sum(before + from, k),
                    other => other,
                });
                SymbolicSub { writes, way: Some(number), ..access }
            });
            all.accesses.extend(marked);
            all.segments.extend(way.segments);
        }
        all
    }

    /// True if it reads and does not write. It may fence too, like a compare-and-swap that fails.
    pub fn only_reads(&self) -> bool {
        let writes = self.accesses.iter().any(|access| access.writes.is_some());
        !writes && self.accesses.iter().any(|access| access.reads.is_some())
    }
}

/// The call of a shape.
#[derive(Clone, Copy)]
pub(crate) struct CallOfShape<'a> {
    pub args: &'a [Expr],
    pub result: Expr,
    /// The number of times that the path makes it.
    pub times: Times,
}

/// The evaluation of shapes under the conditions of a path.
pub(crate) struct Shaper<'a> {
    pub reader: &'a SymbolicExecutor<'a>,
    pub decided: &'a [PathCondition],
}

impl Shaper<'_> {
    /// Returns the ways in which a call can happen.
    pub fn ways(&self, shape: &ShapeTerm, call: CallOfShape<'_>) -> Result<Vec<Symbolic>, NoTemplate> {
        let mut ways = vec![Symbolic::default()];
        self.extend(shape, &BTreeMap::new(), None, call, &mut ways)?;
        ways.iter_mut().for_each(|way| way.segments.retain(|segment| segment.len > 0));
        Ok(ways)
    }

    fn extend(
        &self,
        shape: &ShapeTerm,
        vars: &BTreeMap<usize, Expr>,
        inside: Option<Each>,
        call: CallOfShape<'_>,
        ways: &mut Vec<Symbolic>,
    ) -> Result<(), NoTemplate> {
        match shape {
            ShapeTerm::Sub(sub) => {
                for way in ways {
                    self.push(sub, vars, inside, call, way)?;
                }
                Ok(())
            }
            ShapeTerm::Seq(parts) => parts.iter().try_for_each(|part| self.extend(part, vars, inside, call, ways)),
            ShapeTerm::If(condition, yes, no) => {
                let condition = self.reduced(*condition, vars, call);
                let Some(holds) = self.holds(condition) else {
                    return Err(match inside {
                        Some(_) => NoTemplate::Refused(refusal!(
                            "which subevents there are for one of several depends on `{condition}`"
                        )),
                        None => NoTemplate::Undecided(condition),
                    });
                };
                self.extend(if holds { yes } else { no }, vars, inside, call, ways)
            }
            ShapeTerm::For(var, set, part) => {
                let set = self.reduced(*set, vars, call);
                let with = |e: Expr| vars.clone().into_iter().chain([(var.number, e)]).collect();
                if let Some(elements) = elements(set) {
                    return elements.into_iter().try_for_each(|e| self.extend(part, &with(e), inside, call, ways));
                }
                let each = self.reader.set(set);
                let each =
                    each.ok_or_else(|| refusal!("it has subevents for each of {set}, which is no set of the call"))?;
                if inside.is_some() || matches!(call.times, Times::Each(_) | Times::Ended) {
                    return Err(refusal!("it is there for each node, and each has subevents for each node").into());
                }
                ways.iter_mut().for_each(|way| way.segments.push(Segment { times: Times::Each(each), len: 0 }));
                self.extend(part, &with(ExprTerm::Var(element(each)).into()), Some(each), call, ways)
            }
            // Each element may have a way of its own, and a template has one for all.
            ShapeTerm::Either(_) if inside.is_some() => {
                Err(refusal!("it can happen in several ways for one of several").into())
            }
            ShapeTerm::Either(terms) => {
                let before = std::mem::take(ways);
                for term in terms {
                    let mut own = before.clone();
                    self.extend(term, vars, inside, call, &mut own)?;
                    ways.append(&mut own);
                }
                Ok(())
            }
        }
    }

    fn push(
        &self,
        sub: &SubTerm,
        vars: &BTreeMap<usize, Expr>,
        inside: Option<Each>,
        call: CallOfShape<'_>,
        way: &mut Symbolic,
    ) -> Result<(), NoTemplate> {
        let (here, e) = (way.accesses.len(), |e: Expr| self.reduced(e, vars, call));
        let cell = match &sub.cell {
            None => None,
            Some(cell) => {
                let node = cell.node.map_or_else(|| Node(1).into(), e);
                Some((e(cell.loc), self.node(node)?))
            }
        };
        let reads = sub.reads.map(|reads| match reads {
            ReadsTerm::Is(v) => ReadsTerm::Is(e(v)),
            ReadsTerm::IsNot(v) => ReadsTerm::IsNot(e(v)),
            ReadsTerm::Any => ReadsTerm::Any,
        });
        let source = |var: &Var| -> Result<usize, NoTemplate> {
            let from = *way.found.get(&var.number).ok_or_else(|| refusal!("{} is not read before", var.name))?;
            let segment = |position: usize| segment_of(&way.segments, position);
            let is_once = segment(from).is_none_or(|at| way.segments[at].times == Times::Once);
            let is_near = inside.is_some() && segment(from) == way.segments.len().checked_sub(1);
            if is_once || is_near {
                Ok(from)
            } else {
                Err(refusal!("what a subevent copies is read for another node").into())
            }
        };
        let writes = sub.writes.as_ref().map(|writes| {
            Ok::<_, NoTemplate>(match writes {
                WritesTerm::Is(v) => SymbolicWrite::Is(e(*v)),
                WritesTerm::Copy(var) => SymbolicWrite::Copy(source(var)?),
                WritesTerm::Sum(var, k) => SymbolicWrite::Sum(var.as_ref().map_or(Ok(here), source)?, e(*k)),
                WritesTerm::Words(function) => {
                    let case = |case: &Case| Case {
                        when: e(case.when),
                        words: case.words.iter().map(|(k, v)| (*k, e(*v))).collect(),
                        result: e(case.result),
                    };
                    let cases = function.cases.iter().map(case).collect();
                    SymbolicWrite::Words(CasesTerm { before: function.before.clone(), cases })
                }
                WritesTerm::Step(_) => {
                    return Err(refusal!("what it writes is a Rust function of what it reads").into());
                }
            })
        });
        let access = SymbolicSub {
            family: sub.stamp.family,
            node: self.stamp_node(&sub.stamp, &e)?,
            cell,
            reads,
            writes: writes.transpose()?,
            way: None,
        };
        if let Some(var) = sub.found {
            way.found.insert(var.number, here);
        }
        match way.segments.last_mut().filter(|_| inside.is_some()) {
            Some(segment) => segment.len += 1,
            None => way.segments.push(Segment { times: Times::Once, len: 1 }),
        }
        way.accesses.push(access);
        Ok(())
    }

    /// Returns the node of a stamp. Templates know no other index than the first queue pair and the first word.
    fn stamp_node(&self, stamp: &StampTerm, e: &dyn Fn(Expr) -> Expr) -> Result<Option<Expr>, NoTemplate> {
        match &stamp.index[..] {
            [] => Ok(None),
            [node] => self.node(e(*node)).map(Some),
            [node, queue] if e(*queue) == 1.into() => self.node(e(*node)).map(Some),
            _ => Err(refusal!("the stamp {stamp} has an index beside its node").into()),
        }
    }

    /// Returns the node that an expression is. The implementation says where its objects live.
    fn node(&self, e: Expr) -> Result<Expr, NoTemplate> {
        match e.term() {
            ExprTerm::Of(Function::Node, of) if matches!(of.term(), ExprTerm::Part(..)) => {
                let on = self.declared(*of)?.node.ok_or_else(|| refusal!("{of} lives on no node"))?;
                self.node(self.reader.simplified(on))
            }
            _ => Ok(e),
        }
    }

    /// Returns the object with a name, as the implementation declares it.
    pub fn declared(&self, name: Expr) -> Result<ObjectTerm, NoTemplate> {
        Ok(self.reader.declared(name, &|_, _| true)?)
    }

    fn reduced(&self, e: Expr, vars: &BTreeMap<usize, Expr>, call: CallOfShape<'_>) -> Expr {
        let known = e.replaced(&mut |term| match term {
            ExprTerm::Arg(i, _) => call.args.get(*i).copied(),
            ExprTerm::Ret => Some(call.result),
            ExprTerm::Var(var) => vars.get(&var.number).copied(),
            _ => None,
        });
        self.reader.simplified(known)
    }

    /// Decides a condition, if what is known decides it.
    pub fn holds(&self, condition: Expr) -> Option<bool> {
        match condition.term() {
            ExprTerm::Val(v) => Some(*v == Val::Bool(true)),
            // An `if` takes its second branch for 5 and for `!5`, because neither is a truth value.
            ExprTerm::Of(Function::Not, of) if is_condition(*of) => self.holds(*of).map(|holds| !holds),
            ExprTerm::Op(op @ (Op::And | Op::Or), a, b) if is_condition(condition) => {
                let ends = *op == Op::Or;
                match (self.holds(*a), self.holds(*b)) {
                    (Some(one), _) | (_, Some(one)) if one == ends => Some(ends),
                    (Some(_), Some(_)) => Some(!ends),
                    _ => None,
                }
            }
            _ => [true, false].into_iter().find(|holds| {
                let other = PathCondition { condition, holds: !holds, is_fact: false };
                is_contradiction(&[self.decided, &[other]].concat())
                    || self.decided.iter().any(|d| d.condition == condition && d.holds == *holds)
            }),
        }
    }
}

/// Returns the elements of a list, or of the set of one node.
fn elements(set: Expr) -> Option<Vec<Expr>> {
    match set.term() {
        ExprTerm::Of(Function::Only, node) => Some(vec![*node]),
        _ => listed(set),
    }
}

/// True if a shape only reads, whatever the call is about.
pub(crate) fn only_reads(shape: &ShapeTerm) -> bool {
    let does_more = |sub: &SubTerm| sub.reads.is_none() || sub.writes.is_some();
    shape.find_sub(&mut |sub| does_more(sub).then_some(())).is_none()
}

/// Returns the shape of the calls of a method.
pub(super) fn shape_of<'l>(library: Option<&'l dyn Hints>, method: &str) -> Result<&'l ShapeTerm, Refusal> {
    let library = library.ok_or_else(|| refusal!("a call is of no library below"))?;
    let shapes = library.shape_terms();
    let shapes =
        shapes.ok_or_else(|| refusal!("the shapes of {} are a Rust function, and not terms", library.name()))?;
    shapes.get(method).ok_or_else(|| refusal!("{} has no shape of {method}", library.name()))
}
