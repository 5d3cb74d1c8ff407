//! The lines below the table: observed cells, and assertions with their conditions.

use mowgli_core::event::Cell;
use mowgli_core::ids::{Loc, Name};
use mowgli_core::unknown::did_you_mean;
use mowgli_core::value::Val;
use mowgli_core::world::DeclarationPart;

use super::{Footers, Parsed, Reader, Rule, Tree, advise, at, fail, node_name, number, part, parts};
use crate::error::{Code, InputError};
use crate::litmus::condition::{Comparison, Condition, Side};
use crate::litmus::test::{Arg, Assertion, Claim, Liveness, Observable, Quantifier, RegisterCondition};

impl Reader<'_> {
    /// Reads the observed cells and the assertions below the table.
    pub(super) fn footers(&self, parts_of_file: &[Tree<'_>]) -> Parsed<Footers> {
        let mut shown = self.registers();
        let mut observed = Vec::new();
        let (mut assertions, mut liveness) = (Vec::new(), Vec::new());
        let footers = parts_of_file.iter().filter(|t| t.as_rule() == Rule::footer);
        for footer in footers.map(|t| t.clone().into_inner().next().expect("a footer has a form")) {
            let (line, _) = footer.line_col();
            if footer.as_rule() == Rule::locations {
                for place in parts(&footer, Rule::place) {
                    self.observe(&place, &mut observed, &mut shown)?;
                }
            } else if footer.as_rule() == Rule::vacuous {
                let condition = Condition::And(Vec::new());
                let (quantifier, text) = (Quantifier::Vacuous, "true".to_owned());
                assertions.push(Assertion { line, quantifier, text, condition });
            } else if footer.as_rule() != Rule::assertion {
                let claim = match footer.as_rule() {
                    Rule::ends => Claim::Ends,
                    Rule::may_hang => Claim::MayHang,
                    Rule::hangs => Claim::Hangs(
                        parts(&footer, Rule::waiter).map(|waiter| self.waiter(&waiter)).collect::<Parsed<_>>()?,
                    ),
                    _ => {
                        let tree = part(&footer, Rule::condition).expect("by the grammar");
                        Claim::Stuck(self.observed_condition(&tree, &mut observed, &mut shown)?)
                    }
                };
                liveness.push(Liveness { line, text: footer.as_str().trim().to_owned(), claim });
            } else {
                let tree = part(&footer, Rule::condition).expect("by the grammar");
                let condition = self.observed_condition(&tree, &mut observed, &mut shown)?;
                let quantifier = match part(&footer, Rule::quantifier).expect("by the grammar").as_str() {
                    "allowed" | "exists" => Quantifier::Allowed,
                    "forbidden" | "~exists" => Quantifier::Forbidden,
                    _ => Quantifier::Forall,
                };
                assertions.push(Assertion { line, quantifier, text: tree.as_str().trim().to_owned(), condition });
            }
        }
        Ok(Footers { observed, shown, assertions, liveness })
    }

    /// Reads a condition of an assertion.
    fn observed_condition(
        &self,
        tree: &Tree<'_>,
        observed: &mut Vec<Cell>,
        shown: &mut Vec<(String, Observable)>,
    ) -> Parsed<Condition> {
        Self::condition(tree, &mut |t| Self::equation(t, &mut |side| self.observed_side(side, observed, shown)))
    }

    /// Reads a thread that is to wait, and the line.
    fn waiter(&self, tree: &Tree<'_>) -> Parsed<(usize, Option<usize>)> {
        let name = part(tree, Rule::name).expect("by the grammar");
        let Some(thread) = self.names.get(name.as_str()) else {
            return self.no_thread(&name);
        };
        let Some(line) = part(tree, Rule::node) else { return Ok((thread.index(), None)) };
        let number: usize = number(&line)?;
        if !self.threads[thread.index()].source.iter().any(|(own, _)| *own == number) {
            let message = format!("{} has no statement at line {number} of the file", name.as_str());
            return fail(&line, Code::Unknown, message);
        }
        Ok((thread.index(), Some(number)))
    }

    pub(super) fn registers(&self) -> Vec<(String, Observable)> {
        let mut shown = Vec::new();
        for (t, thread) in self.threads.iter().enumerate() {
            for (position, register) in thread.registers.iter().enumerate() {
                let shared = self.threads.iter().filter(|o| o.registers.contains(register)).count() > 1;
                let name = if shared { format!("{}:{register}", thread.name) } else { register.to_string() };
                shown.push((name, Observable::Register(t, position)));
            }
        }
        shown
    }

    /// Makes the last value of a location part of the outcome. Returns its position among the values that are shown.
    pub(super) fn observe(
        &self,
        place: &Tree<'_>,
        observed: &mut Vec<Cell>,
        shown: &mut Vec<(String, Observable)>,
    ) -> Parsed<usize> {
        let name = part(place, Rule::name).expect("by the grammar");
        let loc = Loc::new(name.as_str());
        let Some(object) = self.world.objects.get(&loc) else {
            let error = InputError::new(Code::Unknown, format!("{loc} is neither a register nor declared"));
            let known = shown.iter().map(|(title, _)| title.as_str());
            return Err(at(place, error.help_if(did_you_mean(name.as_str(), known))));
        };
        let node = part(place, Rule::node).map(|n| node_name(&n)).transpose()?;
        let (title, node) = match (object.node, node) {
            (Some(home), None) => (loc.to_string(), home),
            (Some(home), Some(n)) if home == n => (loc.to_string(), home),
            (Some(home), Some(_)) => return fail(place, Code::Node, format!("{loc} is on node {home}")),
            (None, Some(n)) if self.has_copies(object.library) && n.0 <= self.world.nodes => (format!("{loc}@{n}"), n),
            (None, Some(n)) => return fail(place, Code::Node, format!("{loc} has no copy on node {n}")),
            (None, None) => {
                let message = format!("each node has a copy of {loc}");
                return advise(place, Code::Form, message, format!("say which node's copy, as {loc}@1"));
            }
        };
        if let Some(position) = shown.iter().position(|(t, _)| *t == title) {
            return Ok(position);
        }
        observed.push(Cell { loc, node });
        shown.push((title, Observable::Final(observed.len() - 1)));
        Ok(shown.len() - 1)
    }

    /// True if objects of a library begin with a value and have no node: then each node has a copy.
    pub(super) fn has_copies(&self, library: Name) -> bool {
        let form = self.known.library(library).and_then(|l| l.object);
        form.is_some_and(|form| form.parts == [DeclarationPart::Init])
    }

    /// Reads a condition; `equation` reads each equation.
    fn condition<A>(
        tree: &Tree<'_>,
        equation: &mut dyn FnMut(&Tree<'_>) -> Parsed<Condition<A>>,
    ) -> Parsed<Condition<A>> {
        let mut all = Vec::new();
        for t in tree.clone().into_inner() {
            all.push(match t.as_rule() {
                Rule::equation => equation(&t)?,
                Rule::anything => Condition::And(Vec::new()),
                Rule::negation => Condition::Not(Box::new(Self::condition(&t, equation)?)),
                _ => Self::condition(&t, equation)?,
            });
        }
        Ok(match (tree.as_rule(), all.len()) {
            (_, 1) => all.remove(0),
            (Rule::condition, _) => Condition::Or(all),
            _ => Condition::And(all),
        })
    }

    /// Reads an equation; `side` reads each side.
    fn equation<A>(tree: &Tree<'_>, side: &mut dyn FnMut(&Tree<'_>) -> Parsed<A>) -> Parsed<Condition<A>> {
        let sides = parts(tree, Rule::side).map(|t| side(&t)).collect::<Parsed<Vec<A>>>()?;
        let [a, b] = <[A; 2]>::try_from(sides).unwrap_or_else(|_| unreachable!("an equation has two sides"));
        Ok(Condition::Compare(a, Self::comparison(tree), b))
    }

    /// Reads the comparison in an equation or an `await`.
    pub(super) fn comparison(tree: &Tree<'_>) -> Comparison {
        let operator = part(tree, Rule::comparison).expect("by the grammar");
        let mut all = Comparison::ALL.into_iter();
        all.find(|known| known.to_string() == operator.as_str()).expect("the grammar has these")
    }

    /// Reads a condition on the registers of a thread.
    pub(super) fn guard(&self, thread: usize, tree: &Tree<'_>) -> Parsed<RegisterCondition> {
        Self::condition(tree, &mut |t| Self::equation(t, &mut |side| self.side(thread, side)))
    }

    /// Reads a value, a register of a thread, or a sum.
    pub(super) fn side(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        let inner = tree.clone().into_inner().next().expect("a side has a form");
        match inner.as_rule() {
            Rule::place => match part(&inner, Rule::name).filter(|_| part(&inner, Rule::node).is_none()) {
                Some(name) if self.library(&name).is_none() => Ok(Arg::Register(self.register(thread, &name)?, 0)),
                _ => {
                    let x = inner.as_str().trim();
                    advise(
                        &inner,
                        Code::Form,
                        format!("{x} is declared, and a statement compares registers"),
                        format!("read it first, as a := {x}, and compare a; or wait with await {x} = 1"),
                    )
                }
            },
            Rule::sides => {
                let all = parts(&inner, Rule::side).map(|side| self.side(thread, &side));
                all.collect::<Parsed<_>>().map(Arg::Tuple)
            }
            Rule::undefined => fail(&inner, Code::Form, "top is for assertions"),
            Rule::thread_register => {
                let message = "a thread sees its own registers only";
                advise(&inner, Code::Form, message, "write a in place of P1:a")
            }
            _ => self.expression(thread, tree),
        }
    }

    /// Reads one side of an equation of an assertion.
    fn observed_side(
        &self,
        tree: &Tree<'_>,
        observed: &mut Vec<Cell>,
        shown: &mut Vec<(String, Observable)>,
    ) -> Parsed<Side> {
        let inner = tree.clone().into_inner().next().expect("a side has a form");
        match inner.as_rule() {
            Rule::undefined => Ok(Side::Val(Val::Top)),
            Rule::value => Ok(Side::Val(self.value(&inner)?)),
            Rule::sides => {
                let all = parts(&inner, Rule::side).map(|side| self.observed_side(&side, observed, shown));
                all.collect::<Parsed<_>>().map(Side::Tuple)
            }
            Rule::sum => {
                advise(&inner, Code::Form, "an assertion has no sums", "let a register have it, as b := a + 1")
            }
            Rule::thread_register => self.register_of(&inner, shown),
            _ => {
                let text = inner.as_str().trim();
                let known = shown.iter().position(|(title, _)| title == text);
                Ok(Side::Shown(known.map_or_else(|| self.observe(&inner, observed, shown), Ok)?))
            }
        }
    }

    /// Reads `P1:a`.
    fn register_of(&self, tree: &Tree<'_>, shown: &[(String, Observable)]) -> Parsed<Side> {
        let names: Vec<Tree<'_>> = parts(tree, Rule::name).collect();
        let Some(thread) = self.names.get(names[0].as_str()) else {
            return self.no_thread(&names[0]);
        };
        let register = Name::new(names[1].as_str());
        let registers = &self.threads[thread.index()].registers;
        let Some(position) = registers.iter().position(|r| *r == register) else {
            let message = format!("{} has no register {register}", names[0].as_str());
            return fail(&names[1], Code::Unknown, message);
        };
        let here = Observable::Register(thread.index(), position);
        Ok(Side::Shown(shown.iter().position(|(_, o)| *o == here).expect("every register is shown")))
    }
}
