//! What stands below the table: what is observed, and assertions with their conditions.

use mowgli_core::event::Cell;
use mowgli_core::ids::{Loc, Name};
use mowgli_core::value::Val;
use mowgli_core::world::Part;

use super::{Parsed, Reader, Rule, Tree, fail, node_name, part, parts};
use crate::litmus::condition::Condition;
use crate::litmus::test::{Assertion, Observable, Quantifier};

impl Reader<'_> {
    /// What follows the table: the cells that are observed, what an outcome shows, and the assertions.
    #[allow(clippy::type_complexity, reason = "the three parts of what follows the threads")]
    pub(super) fn footers(
        &self,
        parts_of_file: &[Tree<'_>],
    ) -> Parsed<(Vec<Cell>, Vec<(String, Observable)>, Vec<Assertion>)> {
        let mut shown = self.registers();
        let mut observed = Vec::new();
        let mut assertions = Vec::new();
        let footers = parts_of_file.iter().filter(|t| t.as_rule() == Rule::footer);
        for footer in footers.map(|t| t.clone().into_inner().next().expect("a footer has a form")) {
            if footer.as_rule() == Rule::locations {
                for place in parts(&footer, Rule::place) {
                    self.observe(&place, &mut observed, &mut shown)?;
                }
            } else if footer.as_rule() == Rule::vacuous {
                let condition = Condition::And(Vec::new());
                assertions.push(Assertion { quantifier: Quantifier::Vacuous, text: "true".to_owned(), condition });
            } else {
                let tree = part(&footer, Rule::condition).expect("by the grammar");
                let condition = self.condition(&tree, &mut observed, &mut shown)?;
                let quantifier = match part(&footer, Rule::quantifier).expect("by the grammar").as_str() {
                    "allowed" | "exists" => Quantifier::Allowed,
                    "forbidden" | "~exists" => Quantifier::Forbidden,
                    _ => Quantifier::Forall,
                };
                assertions.push(Assertion { quantifier, text: tree.as_str().trim().to_owned(), condition });
            }
        }
        Ok((observed, shown, assertions))
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

    /// Makes the last value of a location part of the outcome; its position in what is shown.
    pub(super) fn observe(
        &self,
        place: &Tree<'_>,
        observed: &mut Vec<Cell>,
        shown: &mut Vec<(String, Observable)>,
    ) -> Parsed<usize> {
        let name = part(place, Rule::name).expect("by the grammar");
        let loc = Loc::new(name.as_str());
        let Some(object) = self.world.objects.get(&loc) else {
            return fail(place, format!("{loc} is neither a register nor declared"));
        };
        let node = part(place, Rule::node).map(|n| node_name(&n)).transpose()?;
        let (title, node) = match (object.node, node) {
            (Some(home), None) => (loc.to_string(), home),
            (Some(home), Some(n)) if home == n => (loc.to_string(), home),
            (Some(home), Some(_)) => return fail(place, format!("{loc} is on node {home}")),
            (None, Some(n)) if self.has_copies(object.library) && n.0 <= self.world.nodes => (format!("{loc}@{n}"), n),
            (None, Some(n)) => return fail(place, format!("{loc} has no copy on node {n}")),
            (None, None) => return fail(place, format!("say which node's copy, as {loc}@1")),
        };
        if let Some(position) = shown.iter().position(|(t, _)| *t == title) {
            return Ok(position);
        }
        observed.push(Cell { loc, node });
        shown.push((title, Observable::Final(observed.len() - 1)));
        Ok(shown.len() - 1)
    }

    /// Whether objects of a library begin with a value, and are on no node: then there is one on each.
    pub(super) fn has_copies(&self, library: Name) -> bool {
        let form = self.known.library(library).and_then(|l| l.object);
        form.is_some_and(|form| form.parts == [Part::Init])
    }

    pub(super) fn condition(
        &self,
        tree: &Tree<'_>,
        observed: &mut Vec<Cell>,
        shown: &mut Vec<(String, Observable)>,
    ) -> Parsed<Condition> {
        let mut all = Vec::new();
        for t in tree.clone().into_inner() {
            all.push(match t.as_rule() {
                Rule::equation => self.equation(&t, observed, shown)?,
                Rule::anything => Condition::And(Vec::new()),
                Rule::negation => Condition::Not(Box::new(self.condition(&t, observed, shown)?)),
                _ => self.condition(&t, observed, shown)?,
            });
        }
        Ok(match (tree.as_rule(), all.len()) {
            (_, 1) => all.remove(0),
            (Rule::condition, _) => Condition::Or(all),
            _ => Condition::And(all),
        })
    }

    pub(super) fn equation(
        &self,
        tree: &Tree<'_>,
        observed: &mut Vec<Cell>,
        shown: &mut Vec<(String, Observable)>,
    ) -> Parsed<Condition> {
        let v = match part(tree, Rule::value) {
            Some(v) => self.value(&v)?,
            None => Val::Top,
        };
        let observable = part(tree, Rule::observable).expect("by the grammar").into_inner().next().expect("a form");
        if observable.as_rule() == Rule::place {
            let text = observable.as_str().trim();
            if let Some(position) = shown.iter().position(|(title, _)| title == text) {
                return Ok(Condition::Is(position, v));
            }
            return Ok(Condition::Is(self.observe(&observable, observed, shown)?, v));
        }
        let names: Vec<Tree<'_>> = parts(&observable, Rule::name).collect();
        let Some(thread) = self.names.get(names[0].as_str()) else {
            return fail(&names[0], format!("there is no thread {}", names[0].as_str()));
        };
        let register = Name::new(names[1].as_str());
        let registers = &self.threads[thread.index()].registers;
        let Some(position) = registers.iter().position(|r| *r == register) else {
            return fail(&names[1], format!("{} has no register {register}", names[0].as_str()));
        };
        let here = Observable::Register(thread.index(), position);
        let position = shown.iter().position(|(_, o)| *o == here).expect("every register is shown");
        Ok(Condition::Is(position, v))
    }
}
