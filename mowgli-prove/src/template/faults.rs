//! Calls with a fault (LOCO Def. 3.9) in symbolic execution.
//!
//! **Computes** whether a call of a path has a fault in some call of a client. Obligations are about executions, and a call with a
//! fault has none. So no solver would notice it.
//!
//! **Invariant**: the library of the call decides, as in the search: [`Library::fault`](mowgli_core::library::Library::fault).
//!
//! **Example**: `if w == 12345 { read(x.copy[n]) }` for the other nodes `n`. A read of the word of another node is a fault, and no
//! client of a bound needs to write 12345.
//!
//! **Correct because** it takes data and results for arbitrary, unless the conditions of the path exclude them. If no value that it
//! tries satisfies these conditions, others may, so that they exclude none. Clients are those of small worlds, which differ in their
//! threads and nodes. A condition on these that holds of none of them may hold in larger worlds, so that it excludes none, either.
//! Templates are uniform in threads and nodes, and look up the forms of calls in the same worlds. Tests:
//! `faults_that_only_rare_values_reach_are_refused`, `faults_that_only_large_worlds_reach_are_refused`.
//!
//! **Cost**: the number of calls of paths, times that of the calls of clients, for a few values.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::expr::{Expr, ExprTerm, Op, Scope, Var};
use mowgli_core::library::Hints;
use mowgli_core::term::body::CallTerm;
use mowgli_core::value::Val;

use crate::error::{Refusal, refusal};
use crate::template::pattern::ArgumentForm;
use crate::template::values::{ClientInWorld, PathCondition};

/// A call on a path, and what is known there.
pub(super) struct CallOnPath<'s> {
    pub call: &'s CallTerm,
    /// The form of the arguments of the client's call.
    pub arguments: &'s [ArgumentForm],
    pub decided: &'s [PathCondition],
    /// The variables of `for`, each with the set that it goes through.
    pub elements: &'s [(Expr, Expr)],
}

/// A datum that may have any value: an argument of the client's call, or the variable of a result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AnyDatum {
    Argument(usize),
    Result(usize),
}

/// The largest number that is tried in a range, because a range lists all numbers up to it.
const LARGEST: u64 = 100_000;

impl CallOnPath<'_> {
    /// Refuses a call that has a fault in one of these calls of clients.
    pub fn has_no_fault(&self, library: &dyn Hints, clients: &[ClientInWorld]) -> Result<(), Refusal> {
        let (scopes, ignored) = self.scopes(clients);
        for (client, scope) in scopes {
            let args: Vec<Val> = self.call.args.iter().map(|e| e.eval(&scope)).collect();
            let call = Call::new(self.call.library, self.call.method, &args);
            if let Some(fault) = library.fault(&client.world, client.thread, &call) {
                let (term, thread) = (self.call, client.thread);
                let large =
                    ignored.iter().map(|d| format!(". No small world has `{d}`, but a larger one may")).join("");
                let why = refusal!("{term} may have a fault (LOCO Def. 3.9), as {call} of {thread}: {fault}{large}");
                return Err(why.at(term.place));
            }
        }
        Ok(())
    }

    /// Returns the data on which an expression depends.
    fn data_of(&self, e: Expr) -> BTreeSet<AnyDatum> {
        let is_element = |e: Expr| self.elements.iter().any(|(element, _)| *element == e);
        let is_datum = |i: &usize| matches!(self.arguments[*i], ArgumentForm::Data | ArgumentForm::Tuple(_));
        let mut all = BTreeSet::new();
        e.each(&mut |e| match e.term() {
            ExprTerm::Arg(i, _) if is_datum(i) => _ = all.insert(AnyDatum::Argument(*i)),
            ExprTerm::Var(var) if !is_element(e) => _ = all.insert(AnyDatum::Result(var.number)),
            _ => {}
        });
        all
    }

    /// Returns some values, and those with which conditions compare.
    fn values(&self) -> Vec<Val> {
        let mut all = vec![Val::Int(0), Val::Int(7), Val::Bot, Val::Bool(true)];
        let mut add = |e: Expr| all.extend(if let ExprTerm::Val(v) = e.term() { Some(*v) } else { None });
        self.decided.iter().for_each(|d| d.condition.each(&mut add));
        let conditions = self.decided.iter().map(|d| &d.condition);
        let sets = self.elements.iter().map(|(_, set)| set);
        let mut has_range = false;
        let mut find = |e: Expr| has_range |= matches!(e.term(), ExprTerm::Op(Op::Range, ..));
        conditions.chain(sets).chain(&self.call.args).for_each(|e| e.each(&mut find));
        let is_tried = |v: &Val| !has_range || v.int().is_none_or(|n| n.unsigned_abs() <= LARGEST);
        all.into_iter().filter(is_tried).unique().collect()
    }

    /// Returns the values of arguments and variables in the calls of clients, one scope for each choice of elements and each value
    /// of the data. The conditions exclude values for a choice of elements, unless they exclude all of them. A condition that is
    /// not about data excludes clients and elements, unless it excludes all that are left. Then it is returned, too.
    fn scopes<'c>(&self, clients: &'c [ClientInWorld]) -> (Vec<(&'c ClientInWorld, Scope)>, Vec<&PathCondition>) {
        let sets = self.elements.iter().map(|(_, set)| set);
        let used: BTreeSet<AnyDatum> = self.call.args.iter().chain(sets).flat_map(|e| self.data_of(*e)).collect();
        let values = if used.is_empty() { vec![Val::Int(0)] } else { self.values() };
        let decided: Vec<(&PathCondition, BTreeSet<AnyDatum>)> =
            self.decided.iter().map(|d| (d, self.data_of(d.condition))).collect();
        let data: BTreeSet<AnyDatum> = used.iter().chain(decided.iter().flat_map(|(_, data)| data)).copied().collect();
        let with = |((n, client), v): ((usize, &ClientInWorld), &Val)| {
            self.scopes_of(client, &data, *v).into_iter().map(move |scope| (n, scope))
        };
        let mut all: Vec<(usize, Scope)> =
            clients.iter().enumerate().cartesian_product(&values).flat_map(with).collect();
        let holds = |d: &PathCondition, scope: &Scope| scope.decide(d.condition) == d.holds;
        let mut ignored = Vec::new();
        for (d, _) in decided.iter().filter(|(_, data)| data.is_empty()) {
            if all.iter().any(|(_, scope)| holds(d, scope)) {
                all.retain(|(_, scope)| holds(d, scope));
            } else {
                ignored.push(*d);
            }
        }
        // A condition on other data does not exclude a value, because it may hold of other values.
        let are_possible = |scope: &Scope| {
            decided.iter().filter(|(_, data)| used.len() == 1 && *data == used).all(|(d, _)| holds(d, scope))
        };
        let chosen =
            |(n, scope): &(usize, Scope)| (*n, self.elements.iter().map(|(e, _)| e.eval(scope)).collect::<Vec<Val>>());
        let possible: BTreeSet<(usize, Vec<Val>)> = all.iter().filter(|(_, s)| are_possible(s)).map(chosen).collect();
        all.retain(|one| are_possible(&one.1) || !possible.contains(&chosen(one)));
        (all.into_iter().map(|(n, scope)| (&clients[n], scope)).collect(), ignored)
    }

    /// Returns the scopes in which each of these data has this value, one for each choice of elements.
    fn scopes_of(&self, client: &ClientInWorld, data: &BTreeSet<AnyDatum>, value: Val) -> Vec<Scope> {
        let datum = |(form, v): (&ArgumentForm, &Val)| match form {
            ArgumentForm::Data if value.int().is_some() => value,
            ArgumentForm::Tuple(words) if value.int().is_some() => Val::tuple(&vec![value; *words]),
            _ => *v,
        };
        let args: Vec<Val> = self.arguments.iter().zip(&client.args).map(datum).collect();
        let with = |scope: Scope, of: &AnyDatum| match *of {
            AnyDatum::Result(number) => scope.with(Var { number, name: "result" }, value),
            AnyDatum::Argument(_) => scope,
        };
        let first = data.iter().fold(Scope::shared(&client.world, client.thread, &args), with);
        let of_each = |scopes: Vec<Scope>, (element, set): &(Expr, Expr)| {
            let ExprTerm::Var(var) = element.term() else { return scopes };
            let with = |scope: &Scope| set.elements(scope).iter().map(|v| scope.with(*var, *v)).collect::<Vec<Scope>>();
            scopes.iter().flat_map(with).collect()
        };
        self.elements.iter().fold(vec![first], of_each)
    }
}
