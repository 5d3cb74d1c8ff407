//! Roles: the properties of the subevents of a kind of calls, named in terms of the call.
//!
//! A kind has one case, or several that do the same for different data. The name of a part of a value is right in all
//! cases of the kind.

use itertools::Itertools;
use mowgli_core::expr::{Expr, ExprTerm, Function, Var};
use mowgli_core::ids::Name;
use mowgli_core::library::{Initial, Libraries};
use mowgli_core::term::method;
use mowgli_core::term::shape::{CasesTerm, ReadsTerm};
use mowgli_core::value::Val;

use crate::error::{Refusal, refusal};
use crate::template::classes::Classes;
use crate::template::kind::{Read, Role, Write};
use crate::template::pattern::{ArgumentForm, Datum, Each, Leaf, Named, Pattern, Segment, Times};
use crate::template::shapes::{AT, MEMBER, Shaper, Symbolic, SymbolicSub, SymbolicWrite};
use crate::template::symbolic::{Path, PathCall, method_of, returns};
use crate::template::values::{PathCondition, SymbolicExecutor, result};

/// The condition under which a template may describe a datum only as the argument of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Computed {
    /// Never: the template must say more.
    No,
    /// Whenever possible, so that calls with different data are alike.
    Always,
    /// If nothing else is known of it. Then numbers in names and the result may be computed too.
    Anything,
}

/// One case of a kind of calls: a path, with the shapes of its calls.
#[derive(Clone)]
pub(crate) struct KindCase<'a> {
    pub reader: SymbolicExecutor<'a>,
    pub path: Path,
    /// The conditions of the path, and those that its shapes need.
    pub decided: Vec<PathCondition>,
    /// The classes of equal data.
    pub classes: Classes,
    /// The shape of each call, by position.
    pub shapes: Vec<Symbolic>,
    /// The shape of the client's call.
    pub own: Symbolic,
}

/// A part of a value.
enum Slot {
    Leaf(Leaf),
    Datum(Expr),
}

/// Returns the number of the numbers in a role, each of which is a part of the name.
fn numbers(role: &str) -> usize {
    let is_number = |text: &str| text.parse::<u64>().is_ok_and(|n| n.to_string() == text);
    role.split(|c: char| !c.is_ascii_digit()).filter(|text| is_number(text)).count()
}

/// Returns the text of a number, a node or a thread.
fn constant(e: Expr) -> Option<String> {
    match e.term() {
        ExprTerm::Val(v @ (Val::Int(_) | Val::Node(_) | Val::Thread(_))) => Some(v.to_string()),
        _ => None,
    }
}

impl KindCase<'_> {
    /// Returns the position of the client's call, which comes after all others.
    fn end(&self) -> usize {
        self.path.made().count()
    }

    /// Takes a value apart. `at` is the position of the event with the value.
    fn apart(&self, e: Expr, at: usize, text: &mut String, slots: &mut Vec<Slot>) -> Result<(), Refusal> {
        let mut push = |part: &str, slot: Slot| {
            text.push_str(part);
            slots.push(slot);
            Ok(())
        };
        let all = |parts: Vec<Expr>, text: &mut String, slots: &mut Vec<Slot>| {
            text.push('(');
            for part in parts {
                self.apart(part, at, text, slots)?;
                text.push(',');
            }
            text.push(')');
            Ok(())
        };
        match e.term() {
            ExprTerm::Tuple(parts) => all(parts.clone(), text, slots),
            ExprTerm::Arg(i, _) => match self.reader.arguments[*i] {
                ArgumentForm::Location => push("loc:#", Slot::Leaf(Leaf::Location(*i))),
                ArgumentForm::Identifier => push("wid:#", Slot::Leaf(Leaf::Identifier(*i))),
                ArgumentForm::Node => push("node:#", Slot::Leaf(Leaf::Node(*i))),
                ArgumentForm::Data => push("#", Slot::Datum(e)),
                ArgumentForm::Tuple(words) => all((0..words as i64).map(|k| e.item(k)).collect(), text, slots),
                ArgumentForm::NoIdentifier => {
                    text.push('_');
                    Ok(())
                }
                ArgumentForm::Nodes => {
                    Err(refusal!("{e} is a set of nodes, of which templates know the elements only"))
                }
            },
            ExprTerm::Val(Val::NoWid) => {
                text.push('_');
                Ok(())
            }
            ExprTerm::Val(Val::Way(way)) => {
                text.push_str(way.text());
                Ok(())
            }
            ExprTerm::Val(Val::Node(n)) => {
                text.push_str(&format!("node:{n}"));
                Ok(())
            }
            ExprTerm::Val(Val::Tuple(parts)) => all(parts.parts().iter().map(|v| (*v).into()).collect(), text, slots),
            ExprTerm::Part(..) => {
                text.push_str("loc:");
                self.part(e, at, text, slots)
            }
            ExprTerm::Wid(of, role) => {
                text.push_str("wid:");
                self.part(of.part(role, []), at, text, slots)
            }
            ExprTerm::Of(Function::AsWid, of) => {
                text.push_str("wid:");
                self.part(*of, at, text, slots)
            }
            ExprTerm::Of(Function::Node, _) => {
                let leaf = self.leaf(e).ok_or_else(|| refusal!("{e} is no node of the call"))?;
                push("node:#", Slot::Leaf(leaf))
            }
            ExprTerm::Var(var) if *var == AT => push("node:#", Slot::Leaf(Leaf::At)),
            _ => push("#", Slot::Datum(e)),
        }
    }

    /// Takes the name of a part of an object apart.
    fn part(&self, e: Expr, at: usize, text: &mut String, slots: &mut Vec<Slot>) -> Result<(), Refusal> {
        let ExprTerm::Part(of, role, indices) = e.term() else {
            return match e.term() {
                ExprTerm::Arg(i, _) => {
                    text.push('#');
                    slots.push(Slot::Leaf(Leaf::Location(*i)));
                    Ok(())
                }
                ExprTerm::Val(Val::Loc(x)) => {
                    text.push_str(x.0.text());
                    Ok(())
                }
                _ => Err(refusal!("{e} is no object of the call")),
            };
        };
        self.part(*of, at, text, slots)?;
        text.push('.');
        text.push_str(role);
        for index in indices {
            text.push('_');
            match constant(*index) {
                Some(number) => text.push_str(&number),
                None => {
                    let leaf = self.leaf(*index).or_else(|| self.named(*index, at).map(Leaf::Named));
                    let leaf = leaf.ok_or_else(|| refusal!("{index} in {e} is no thread or node of the call"))?;
                    // Names of threads begin so.
                    let is_thread = matches!(index.term(), ExprTerm::Me) || *index == ExprTerm::Var(MEMBER).into();
                    text.push_str(if is_thread { "P#" } else { "#" });
                    slots.push(Slot::Leaf(leaf));
                }
            }
        }
        Ok(())
    }

    /// Returns the thread or node that an expression is.
    fn leaf(&self, e: Expr) -> Option<Leaf> {
        match e.term() {
            ExprTerm::Me => Some(Leaf::Thread),
            ExprTerm::Var(var) if *var == AT => Some(Leaf::At),
            ExprTerm::Var(var) if *var == MEMBER => Some(Leaf::Member),
            ExprTerm::Arg(i, _) => (self.reader.arguments[*i] == ArgumentForm::Node).then_some(Leaf::Node(*i)),
            ExprTerm::Of(Function::Number, of) => {
                self.leaf(*of).filter(|leaf| matches!(leaf, Leaf::Thread | Leaf::Member))
            }
            ExprTerm::Of(Function::Node, of) => match of.term() {
                ExprTerm::Me => Some(Leaf::Own),
                ExprTerm::Arg(i, _) => (self.reader.arguments[*i] == ArgumentForm::Location).then_some(Leaf::Home(*i)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the first place of a computed number in the name of an argument, up to a position.
    fn named(&self, number: Expr, at: usize) -> Option<Named> {
        let made = self.path.made().enumerate().take(at + 1);
        made.flat_map(|(event, (_, made))| {
            made.call.args.iter().enumerate().flat_map(move |(i, e)| {
                // The owner of the name is its first part.
                indices(*e, 1).1.into_iter().map(move |(slot, index)| ((event, i, slot), index))
            })
        })
        .find(|(_, index)| *index == number)
        .map(|(named, _)| named)
    }

    /// Returns all data that an expression is equal to.
    fn data(&self, e: Expr) -> Vec<Datum> {
        let datum = match e.term() {
            ExprTerm::Of(Function::Hash | Function::Packed(_) | Function::Unpacked(_), tuple) => {
                return self.data(*tuple);
            }
            ExprTerm::Of(Function::Initial, x) => match x.term() {
                ExprTerm::Arg(i, _) => Some(Datum::Initial(*i)),
                _ => None,
            },
            _ => self.reader.datum(e),
        };
        datum.map(|datum| self.classes.members(datum)).unwrap_or_default()
    }

    /// Returns the datum that stands for an expression, if it is one.
    fn datum(&self, e: Expr) -> Option<Datum> {
        Classes::first(&self.data(e))
    }

    fn are_equal(&self, a: Expr, b: Expr) -> bool {
        a == b || self.data(a).first().is_some_and(|datum| self.data(b).contains(datum))
    }

    /// Returns the arguments of events up to a position that are equal to an expression.
    fn passed(&self, e: Expr, at: usize) -> Vec<Datum> {
        let made = self.path.made().enumerate().take(at + 1);
        let of_event = |(event, (_, made)): (usize, (Times, &PathCall))| {
            let method = method_of(self.reader.below.get(made.call.library), made.call.method);
            let takes = method.map(|m| m.takes).unwrap_or_default();
            let args = made.call.args.iter().zip(takes).enumerate();
            let is_it = |(_, (arg, (_, kind))): &(usize, (&Expr, &(&str, method::ArgumentKind)))| {
                *kind == method::ArgumentKind::Value && self.are_equal(**arg, e)
            };
            args.filter(is_it).map(|(i, _)| Datum::Passed(event, i)).collect::<Vec<_>>()
        };
        made.flat_map(of_event).collect()
    }

    /// Returns the results of events up to a position that are equal to an expression.
    fn results(&self, e: Expr, at: usize) -> Vec<Datum> {
        let is_result = |datum: &Datum| matches!(datum, Datum::Result(event) if *event <= at);
        self.data(e).into_iter().filter(is_result).collect()
    }

    /// Returns the computed data that are equal to an expression: arguments of events, and the result of the call.
    fn computed(&self, e: Expr, at: usize) -> Vec<Datum> {
        let is_returned = at == self.end() && self.are_equal(e, self.path.returned);
        self.passed(e, at).into_iter().chain(is_returned.then_some(Datum::Returned)).collect()
    }

    /// Returns the positions of the calls that are made once and have a result.
    fn once(&self) -> Vec<usize> {
        let has_result = |made: &PathCall| returns(self.reader.below.get(made.call.library), made.call.method);
        self.path.made().positions(|(_, made)| has_result(made)).collect()
    }
}

/// Returns the indices in a name with the numbers of their parts, and the number of the next part.
fn indices(e: Expr, first: usize) -> (usize, Vec<(usize, Expr)>) {
    let ExprTerm::Part(of, role, own) = e.term() else { return (first, Vec::new()) };
    let (next, mut all) = indices(*of, first);
    let next = next + numbers(role);
    all.extend((next..).zip(own.iter().copied()));
    (next + own.len(), all)
}

/// A value in terms of the call.
enum SymbolicValue {
    One(Datum),
    Words(Vec<Datum>),
}

/// The call of an event.
#[derive(Clone)]
pub(crate) struct CallOfEvent {
    /// Its position, after all others for the client's call.
    pub event: usize,
    pub library: Name,
    pub method: Name,
    /// The arguments but sets of nodes; these are `None`.
    pub arguments: Vec<Option<Pattern>>,
    pub times: Times,
}

/// The cases of a kind of calls.
pub(crate) struct KindCases<'c, 'a> {
    pub all: Vec<&'c KindCase<'a>>,
    pub computed: Computed,
    /// The libraries with their initial values.
    pub libraries: [&'a Libraries; 2],
}

/// Returns the elements that are in all of these lists, in the order of the first one.
fn common<T: PartialEq + Clone>(lists: &[Vec<T>]) -> Vec<T> {
    let Some((first, rest)) = lists.split_first() else { return Vec::new() };
    first.iter().filter(|one| rest.iter().all(|list| list.contains(one))).cloned().collect()
}

impl KindCases<'_, '_> {
    /// Applies a function to each case and its expression.
    fn each<T>(&self, es: &[Expr], of: impl Fn(&KindCase<'_>, Expr) -> T) -> Vec<T> {
        self.all.iter().zip(es).map(|(case, e)| of(case, *e)).collect()
    }

    /// Returns the datum that these expressions are, one for each case.
    fn datum(&self, at: usize, es: &[Expr]) -> Result<Datum, Refusal> {
        if self.computed == Computed::Always {
            let passed = common(&self.each(es, |case, e| case.passed(e, at)));
            let results = common(&self.each(es, |case, e| case.results(e, at)));
            if let Some(datum) = passed.into_iter().next().or(results.into_iter().min()) {
                return Ok(datum);
            }
        }
        if let Ok(Some(datum)) = self.each(es, |case, e| case.datum(e)).iter().all_equal_value() {
            return Ok(*datum);
        }
        if let Some(datum) = Classes::first(&common(&self.each(es, |case, e| case.data(e)))) {
            return Ok(datum);
        }
        let computed = match self.computed {
            Computed::Anything => common(&self.each(es, |case, e| case.computed(e, at))),
            Computed::No | Computed::Always => Vec::new(),
        };
        computed.into_iter().next().ok_or_else(|| refusal!("{} is nothing of the call", es[0]))
    }

    /// Returns the pattern of a value.
    pub fn pattern(&self, at: usize, es: &[Expr]) -> Result<Pattern, Refusal> {
        let apart = self.each(es, |case, e| {
            let (mut text, mut slots) = (String::new(), Vec::new());
            case.apart(e, at, &mut text, &mut slots).map(|()| (text, slots))
        });
        let apart = apart.into_iter().collect::<Result<Vec<_>, Refusal>>()?;
        let (text, first) = &apart[0];
        if let Some((other, _)) = apart.iter().find(|(other, slots)| other != text || slots.len() != first.len()) {
            return Err(refusal!("a value is now {text} and now {other}"));
        }
        let leaf = |slot: usize| match &first[slot] {
            Slot::Leaf(leaf) => {
                let is_same = |(_, slots): &(String, Vec<Slot>)| matches!(&slots[slot], Slot::Leaf(l) if l == leaf);
                let differ = || refusal!("a part of {text} is now {leaf:?} and now something else");
                if apart.iter().all(is_same) { Ok(*leaf) } else { Err(differ()) }
            }
            Slot::Datum(_) => {
                let datum = |slots: &Vec<Slot>| if let Slot::Datum(e) = &slots[slot] { Some(*e) } else { None };
                let es: Option<Vec<Expr>> = apart.iter().map(|(_, slots)| datum(slots)).collect();
                let es = es.ok_or_else(|| refusal!("a part of {text} is now a datum and now a name"))?;
                self.datum(at, &es).map(Leaf::Datum)
            }
        };
        let leaves = (0..first.len()).map(leaf).collect::<Result<_, Refusal>>()?;
        Ok(Pattern { text: text.clone(), leaves })
    }

    /// Returns a value in terms of the call: a datum, or a tuple of data.
    fn said(&self, at: usize, es: &[Expr]) -> Result<SymbolicValue, Refusal> {
        let words = self.each(es, |case, e| match e.term() {
            ExprTerm::Tuple(parts) => Some(parts.clone()),
            ExprTerm::Val(Val::Tuple(parts)) => Some(parts.parts().iter().map(|v| (*v).into()).collect()),
            ExprTerm::Arg(i, _) => match case.reader.arguments[*i] {
                ArgumentForm::Tuple(words) => Some((0..words as i64).map(|k| e.item(k)).collect::<Vec<Expr>>()),
                _ => None,
            },
            _ => None,
        });
        if words.iter().all(Option::is_none) {
            return self.datum(at, es).map(SymbolicValue::One);
        }
        // A result may be the whole tuple.
        if let Some(datum) = common(&self.each(es, |case, e| case.results(e, at))).into_iter().min() {
            return Ok(SymbolicValue::One(datum));
        }
        let is_returned = |case: &KindCase<'_>, e: Expr| at == case.end() && e == case.path.returned;
        if self.computed == Computed::Anything && self.each(es, is_returned).into_iter().all(|is| is) {
            return Ok(SymbolicValue::One(Datum::Returned));
        }
        let words: Option<Vec<Vec<Expr>>> = words.into_iter().collect();
        let words = words.filter(|all| all.iter().map(Vec::len).all_equal());
        let words = words.ok_or_else(|| refusal!("a value is now a tuple and now something else"))?;
        let word = |k: usize| self.datum(at, &words.iter().map(|all| all[k]).collect::<Vec<_>>());
        (0..words[0].len()).map(word).collect::<Result<Vec<Datum>, Refusal>>().map(SymbolicValue::Words)
    }

    /// Returns the segments of the subevents of an event, and their roles. `shape` returns the shape in a case.
    pub fn subevents<'s>(
        &'s self,
        of: &CallOfEvent,
        shape: impl Fn(&'s KindCase<'s>) -> &'s Symbolic,
    ) -> Result<(Vec<Segment>, Vec<Role>), Refusal> {
        let shapes: Vec<&Symbolic> = self.all.iter().map(|case| shape(case)).collect();
        let segments = &shapes[0].segments;
        if shapes.iter().any(|shape| shape.segments != *segments) {
            return Err(refusal!("it has other subevents for other data"));
        }
        // A subevent that exists if a set has a node is indexed by the set, if another one is.
        if let Times::IfAny(set) = of.times
            && segments.iter().any(|s| s.each() != Some(Each::Nodes(set)))
        {
            return Err(refusal!(
                "{}::{} is not made for an empty set of nodes, and has a subevent that is not one for each of them",
                of.library,
                of.method
            ));
        }
        let each = segments.iter().flat_map(|s| std::iter::repeat_n(s.each(), s.len));
        let role = |(sub, each): (usize, Option<Each>)| {
            let accesses: Vec<&SymbolicSub> = shapes.iter().map(|shape| &shape.accesses[sub]).collect();
            self.role(of, (sub, each), &accesses)
        };
        let roles = each.enumerate().map(role).collect::<Result<_, Refusal>>()?;
        Ok((segments.clone(), roles))
    }

    fn role(
        &self,
        of: &CallOfEvent,
        (sub, each): (usize, Option<Each>),
        accesses: &[&SymbolicSub],
    ) -> Result<Role, Refusal> {
        let (at, first) = (of.event, accesses[0]);
        let sort = |a: &&SymbolicSub| {
            let writes = a.writes.as_ref().map(std::mem::discriminant);
            let reads = a.reads.map(|r| std::mem::discriminant(&r));
            (a.family, a.node.is_some(), a.cell.is_some(), reads, writes, a.way)
        };
        let sort = accesses.iter().map(sort).all_equal();
        if !sort {
            return Err(refusal!("a subevent depends on the call"));
        }
        let family = first.family.name;
        let nodes: Vec<Expr> = accesses.iter().filter_map(|a| a.node).collect();
        let stamp_node = match first.node.map(|_| self.pattern(at, &nodes)).transpose()? {
            None => None,
            Some(Pattern { leaves, .. }) => match &leaves[..] {
                [leaf] => Some(*leaf),
                _ => {
                    return Err(refusal!(
                        "{family} is of a node by its number, which templates do not know: let its object live on `node(x)`"
                    ));
                }
            },
        };
        let cells: Vec<Expr> = accesses.iter().filter_map(|a| a.cell).map(|(x, n)| Expr::tuple([x, n])).collect();
        let cell = first.cell.map(|_| self.pattern(at, &cells)).transpose()?;
        let words = self.words(at, accesses);
        let reads = match first.reads {
            None => None,
            Some(ReadsTerm::Any) => Some(words.as_ref().map_or(Read::Any, |(before, _)| Read::Words(before.clone()))),
            Some(ReadsTerm::Is(_) | ReadsTerm::IsNot(_)) => {
                let value = |a: &&SymbolicSub| match a.reads {
                    Some(ReadsTerm::Is(v) | ReadsTerm::IsNot(v)) => Some(v),
                    _ => None,
                };
                let values: Vec<Expr> = accesses.iter().filter_map(value).collect();
                Some(match (first.reads, self.said(at, &values)?) {
                    (Some(ReadsTerm::IsNot(_)), SymbolicValue::One(datum)) => Read::IsNot(datum),
                    (Some(ReadsTerm::IsNot(_)), SymbolicValue::Words(_)) => {
                        return Err(refusal!("it does not read a tuple"));
                    }
                    (_, SymbolicValue::One(datum)) => Read::Is(datum),
                    (_, SymbolicValue::Words(words)) => Read::Words(words),
                })
            }
        };
        let writes = match &first.writes {
            None => None,
            Some(SymbolicWrite::Is(_)) => {
                let value = |a: &&SymbolicSub| if let Some(SymbolicWrite::Is(v)) = a.writes { Some(v) } else { None };
                Some(match self.said(at, &accesses.iter().filter_map(value).collect::<Vec<_>>())? {
                    SymbolicValue::One(datum) => Write::Is(datum),
                    SymbolicValue::Words(words) => Write::Words(words),
                })
            }
            Some(SymbolicWrite::Copy(from)) => Some(Write::Copy(*from)),
            Some(SymbolicWrite::Sum(from, _)) => {
                let added =
                    |a: &&SymbolicSub| if let Some(SymbolicWrite::Sum(_, k)) = a.writes { Some(k) } else { None };
                let added: Vec<Expr> = accesses.iter().filter_map(added).collect();
                Some(Write::Plus(*from, self.datum(at, &added)?))
            }
            Some(SymbolicWrite::Words(_)) => {
                let (_, after) =
                    words.ok_or_else(|| refusal!("what it writes is computed from what it read, and no sum"))?;
                Some(Write::Words(after))
            }
        };
        let initial = reads.as_ref().and_then(|_| self.initial(of, accesses));
        let each_event = if let Times::Each(each) = of.times { Some(each) } else { None };
        let ended = (of.times == Times::Ended).then_some(Each::Ended(at));
        Ok(Role {
            name: format!("{}.{family}", of.method),
            words: format!("{family} of {}", of.method),
            library: of.library,
            method: of.method,
            arguments: of.arguments.clone(),
            position: (if at == self.all[0].end() { 0 } else { at }, sub),
            each: each.or(each_event).or(ended),
            way: first.way,
            each_event: each_event.is_some(),
            stamps: first.family,
            family: family.to_owned(),
            stamp_node,
            cell,
            reads,
            writes,
            initial,
            in_loop: false,
            above: Vec::new(),
        })
    }

    fn shaper<'c>(&'c self, case: &'c KindCase<'_>) -> Shaper<'c> {
        Shaper { reader: &case.reader, decided: &case.decided }
    }

    /// Returns the words that an event reads and writes, if it updates a state of several words. The read words are
    /// results of the calls below, in some order, for which each case says what is written.
    fn words(&self, at: usize, accesses: &[&SymbolicSub]) -> Option<(Vec<Datum>, Vec<Datum>)> {
        let functions = accesses.iter().map(|a| match &a.writes {
            Some(SymbolicWrite::Words(function)) => Some(function),
            _ => None,
        });
        let functions: Vec<&CasesTerm> = functions.collect::<Option<_>>()?;
        let results = common(&self.all.iter().map(|case| case.once()).collect::<Vec<_>>());
        results.into_iter().permutations(functions[0].before.len()).find_map(|before| {
            let after = self.all.iter().zip(&functions).map(|(case, function)| self.applied(case, function, &before));
            let after: Vec<Vec<Expr>> = after.collect::<Option<_>>()?;
            let word = |k: usize| self.datum(at, &after.iter().map(|all| all[k]).collect::<Vec<_>>()).ok();
            let after = (0..before.len()).map(word).collect::<Option<Vec<Datum>>>()?;
            Some((before.into_iter().map(Datum::Result).collect(), after))
        })
    }

    /// Returns the words that a function makes of the words with these results. The conditions of the case must decide
    /// it, and the result must be that of the call.
    fn applied(&self, case: &KindCase<'_>, function: &CasesTerm, before: &[usize]) -> Option<Vec<Expr>> {
        let names: Vec<&str> = case.path.made().map(|(_, made)| made.name).collect();
        let words =
            before.iter().map(|&position| ExprTerm::Var(Var { name: names[position], ..result(position) }).into());
        let words: Vec<Expr> = words.collect();
        let shaper = self.shaper(case);
        let with = |e: Expr| {
            let word = |var: &Var| function.before.iter().position(|word| word == var).map(|k| words[k]);
            let e = e.replaced(&mut |term| if let ExprTerm::Var(var) = term { word(var) } else { None });
            case.reader.simplified(e)
        };
        let holds = |e: Expr| shaper.holds(with(e));
        let chosen = function.cases.iter().find(|one| holds(one.when) != Some(false))?;
        let is_known = holds(chosen.when) == Some(true);
        let is_result = case.are_equal(with(chosen.result), case.path.returned);
        (is_known && is_result).then(|| chosen.after(&words).into_iter().map(with).collect())
    }

    /// Returns the initial value of the cell of a subevent, if it is a datum.
    fn initial(&self, of: &CallOfEvent, accesses: &[&SymbolicSub]) -> Option<Datum> {
        let [below, above] = self.libraries;
        let library = if of.event == self.all[0].end() { above } else { below }.get(of.library)?;
        match library.initial() {
            Initial::Value(v) => Some(Datum::Constant(v)),
            Initial::Function(_) => None,
            Initial::OfObject => {
                let init = |(case, a): (&&KindCase<'_>, &&SymbolicSub)| match a.cell?.0.term() {
                    ExprTerm::Arg(i, name) => Some(mowgli_core::expr::initial(Expr::from(ExprTerm::Arg(*i, name)))),
                    ExprTerm::Part(..) => {
                        let shaper = self.shaper(case);
                        shaper.declared(a.cell?.0).ok().map(|object| object.init)
                    }
                    _ => None,
                };
                let init: Option<Vec<Expr>> = self.all.iter().zip(accesses).map(init).collect();
                self.datum(of.event, &init?).ok()
            }
        }
    }
}
