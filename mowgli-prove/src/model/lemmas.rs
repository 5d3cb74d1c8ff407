//! Lemmas that an author states, as obligations.

use itertools::Itertools;
use mowgli_core::term::lemma::{Access, Along, Fact, Lemma, LemmaVar, Num, Of, Sort};

use crate::error::{Refusal, refusal};
use crate::model::numbers::{index, int, number};
use crate::model::{LibraryTheory, ended, location, own, the, thread};
use crate::smt::term::{Obligation, Term, add, all, and, any, app, equal, implies, less, not, or, symbol};
use crate::template::kind::{Kind, Role};
use crate::template::pattern::{ArgumentForm, Each};

/// A lemma for calls of some kinds.
pub(crate) struct Stated {
    /// The lemma as an obligation, which becomes an axiom.
    pub statement: Obligation,
    /// The obligation to show: the lemma, with the induction hypothesis.
    pub question: Obligation,
}

/// A lemma, with the kinds of its calls.
struct Sorted<'k> {
    lemma: &'k Lemma,
    kinds: Vec<(LemmaVar, &'k Kind)>,
    /// The suffix of the names of variables.
    end: &'static str,
}

impl LibraryTheory<'_> {
    /// Returns a lemma as obligations, one for each choice of kinds of calls to which it applies.
    ///
    /// # Errors
    /// If it applies to no kinds, the last reason for that.
    pub(crate) fn stated(&self, lemma: &Lemma) -> Result<Vec<Stated>, Refusal> {
        let in_lemma = |refusal: Refusal| refusal.about(format!("the lemma that {}", lemma.words));
        has_names(lemma).and_then(|()| has_sorts(lemma)).map_err(in_lemma)?;
        let calls: Vec<LemmaVar> = lemma.of.iter().copied().filter(|v| v.sort == Sort::Call).collect();
        let choices = calls.iter().map(|_| self.kinds).multi_cartesian_product();
        let mut said = Vec::new();
        let mut last = refusal!("the lemma that {} is about no call", lemma.words);
        for kinds in choices {
            let kinds = calls.iter().copied().zip(kinds).collect();
            match self.stated_of(&Sorted { lemma, kinds, end: "" }) {
                Ok(stated) => said.push(stated),
                Err(refusal) => last = in_lemma(refusal),
            }
        }
        if said.is_empty() { Err(last) } else { Ok(said) }
    }

    fn stated_of(&self, sorted: &Sorted<'_>) -> Result<Stated, Refusal> {
        let lemma = sorted.lemma;
        let (from, to) = (self.hypotheses(sorted)?, self.facts(sorted, &lemma.then)?);
        let statement = Obligation::new(lemma.words, &named(&sorted.variables()), from, to);
        let Some(along) = lemma.along else { return Ok(Stated { question: statement.clone(), statement }) };
        let earlier = Sorted { lemma, kinds: sorted.kinds.clone(), end: ".earlier" };
        let is_before = |of: LemmaVar| app("po.call", [earlier.var(of), sorted.var(of)]);
        // The lemma holds for the earlier calls or subevents, by induction.
        let comes = match along {
            Along::Po(call) => is_before(call),
            Along::Hb(sub) => app("hb", [earlier.sub(sub)?, sorted.sub(sub)?]),
        };
        let given = and([comes, self.hypotheses(&earlier)?]);
        let hypothesis = all(&named(&earlier.variables()), implies(given, self.facts(&earlier, &lemma.then)?));
        let mut from = vec![statement.from.clone(), hypothesis];
        if let Along::Po(call) = along {
            from.push(self.is_next(&sorted.var(call)));
        }
        Ok(Stated { question: Obligation { from: and(from), ..statement.clone() }, statement })
    }

    /// Returns the formula "the call is the first of its thread, or it is the successor of a call like it". It says
    /// nothing of calls that templates cannot compare, for example those with a set of nodes.
    fn is_next(&self, call: &Term) -> Term {
        let b = symbol("last");
        let next = equal(add(index(&b), 1), index(call));
        let is_before = app("po.call", [&b, call]);
        let last = any(&[("last", "Call")], and([self.same_object(&b, call), is_before, next]));
        implies(self.same_object(call, call), or([equal(index(call), symbol("0")), last]))
    }

    /// Returns the hypothesis of a lemma: the kinds of its calls, the existence of the subevents that it speaks of, and
    /// its stated assumptions.
    fn hypotheses(&self, sorted: &Sorted<'_>) -> Result<Term, Refusal> {
        let mut given: Vec<Term> =
            sorted.kinds.iter().map(|(call, kind)| self.is_kind(kind, &sorted.var(*call))).collect();
        for of in sorted.lemma.given.iter().chain(&sorted.lemma.then).flat_map(subevents) {
            let (kind, role) = sorted.role(of)?;
            given.push(self.valid(kind, role, &sorted.var(of.call), &sorted.place(of, role)?));
        }
        given.push(self.facts(sorted, &sorted.lemma.given)?);
        Ok(and(given))
    }

    fn facts(&self, sorted: &Sorted<'_>, facts: &[Fact]) -> Result<Term, Refusal> {
        Ok(and(facts.iter().map(|fact| self.fact(sorted, fact)).collect::<Result<Vec<_>, _>>()?))
    }

    fn fact(&self, sorted: &Sorted<'_>, fact: &Fact) -> Result<Term, Refusal> {
        let compared = |a: &Num, b: &Num, how: fn(Term, Term) -> Term| {
            let ([is_a, a], [is_b, b]) = (sorted.num(a)?, sorted.num(b)?);
            Ok::<Term, Refusal>(and([is_a, is_b, how(a, b)]))
        };
        Ok(match fact {
            Fact::Number(of) => number(&sorted.value(*of)?),
            Fact::Equal(a, b) => compared(a, b, equal)?,
            Fact::Less(a, b) => compared(a, b, less)?,
            Fact::Hb(a, b) => app("hb", [sorted.sub(*a)?, sorted.sub(*b)?]),
            Fact::SameObject(a, b) => self.same_object(&sorted.var(*a), &sorted.var(*b)),
            Fact::On(one, on) => {
                let thread_of = |v: LemmaVar| if v.sort == Sort::Call { thread(&sorted.var(v)) } else { sorted.var(v) };
                match on.sort {
                    Sort::Node => equal(app("node", [thread_of(*one)]), sorted.var(*on)),
                    Sort::Call | Sort::Thread => equal(thread_of(*one), thread_of(*on)),
                }
            }
            Fact::Method(call, method) => {
                let kind = sorted.kind(*call)?;
                if kind.method().is_none_or(|of| of.text() != *method) {
                    return Err(refusal!("{} is no {method}", kind.name));
                }
                and([])
            }
            Fact::ShareObject(a, b) => {
                let object = |of: LemmaVar| {
                    let has =
                        sorted.kind(of)?.forms.iter().all(|f| f.arguments.first() == Some(&ArgumentForm::Location));
                    has.then(|| location(0, &sorted.var(of))).ok_or_else(|| refusal!("{} is about no object", of.name))
                };
                equal(object(*a)?, object(*b)?)
            }
            Fact::Before(a, b) => app("po.call", [sorted.var(*a), sorted.var(*b)]),
            Fact::Partners(a, b) => {
                let calls = [*a, *b].map(|v| sorted.kind(v).map(|kind| (kind, sorted.var(v))));
                let [a, b] = calls;
                self.partners(a?, b?).ok_or_else(|| refusal!("clients owe no calls to each other"))?
            }
            Fact::Same(a, b) => equal(sorted.var(*a), sorted.var(*b)),
            Fact::Not(fact) => not(self.fact(sorted, fact)?),
        })
    }
}

/// Returns the name of the sort of a variable.
fn sort(of: LemmaVar) -> &'static str {
    sort_name(of.sort)
}

/// Returns the name of a sort.
fn sort_name(sort: Sort) -> &'static str {
    match sort {
        Sort::Call => "Call",
        Sort::Node => "Node",
        Sort::Thread => "Thread",
    }
}

fn named<'v>(variables: &'v [(String, &'static str)]) -> Vec<(&'v str, &'static str)> {
    variables.iter().map(|(name, sort)| (name.as_str(), *sort)).collect()
}

/// Checks that the variables have names of their own, of letters and digits.
fn has_names(lemma: &Lemma) -> Result<(), Refusal> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = |name: &str| name.chars().all(is_letter) && name.starts_with(|c: char| c.is_ascii_alphabetic());
    if let Some(of) = lemma.of.iter().find(|of| !is_name(of.name)) {
        return Err(refusal!("`{}` is no name of a variable: one has letters, digits and `_`", of.name));
    }
    let twice = lemma.of.iter().map(|of| of.name).duplicates().next();
    twice.map_or(Ok(()), |name| Err(refusal!("two variables have the name {name}")))
}

/// Checks that a lemma is about the variables of which it speaks, and that each of these has a sort that fits.
fn has_sorts(lemma: &Lemma) -> Result<(), Refusal> {
    let of_along = match lemma.along {
        Some(Along::Po(call)) => vec![(call, CALL)],
        Some(Along::Hb(of)) => variables_of(of),
        None => Vec::new(),
    };
    for (of, sorts) in lemma.given.iter().chain(&lemma.then).flat_map(variables).chain(of_along) {
        if !sorts.contains(&of.sort) {
            let needed = sorts.iter().map(|sort| sort_name(*sort).to_lowercase()).join(" or a ");
            return Err(refusal!("`{}` is a {}, where a {needed} is needed", of.name, sort(of).to_lowercase()));
        }
        if !lemma.of.contains(&of) {
            return Err(refusal!("it speaks of `{}`, a {}: add it to `about`", of.name, sort(of).to_lowercase()));
        }
    }
    Ok(())
}

const CALL: &[Sort] = &[Sort::Call];

/// Returns the variables of a subevent, each with the sorts that it may have.
fn variables_of(of: Of) -> Vec<(LemmaVar, &'static [Sort])> {
    let at = of.at.map(|at| (at, &[Sort::Node, Sort::Thread][..]));
    [(of.call, CALL)].into_iter().chain(at).collect()
}

/// Returns the variables of a fact, each with the sorts that it may have.
fn variables(fact: &Fact) -> Vec<(LemmaVar, &'static [Sort])> {
    let of_num = |num: &Num| match num {
        Num::Value(of) => variables_of(*of),
        Num::Index(call) => vec![(*call, CALL)],
        Num::Is(_) => Vec::new(),
    };
    match fact {
        Fact::Number(of) => variables_of(*of),
        Fact::Equal(a, b) | Fact::Less(a, b) => [a, b].into_iter().flat_map(of_num).collect(),
        Fact::Hb(a, b) => [*a, *b].into_iter().flat_map(variables_of).collect(),
        Fact::On(one, on) => vec![(*one, &[Sort::Call, Sort::Thread]), (*on, &[Sort::Call, Sort::Thread, Sort::Node])],
        Fact::Method(call, _) => vec![(*call, CALL)],
        Fact::SameObject(a, b)
        | Fact::ShareObject(a, b)
        | Fact::Before(a, b)
        | Fact::Partners(a, b)
        | Fact::Same(a, b) => vec![(*a, CALL), (*b, CALL)],
        Fact::Not(fact) => variables(fact),
    }
}

/// Returns the subevents that a fact speaks of.
fn subevents(fact: &Fact) -> Vec<Of> {
    let of = |num: &Num| if let Num::Value(of) = num { Some(*of) } else { None };
    match fact {
        Fact::Number(of) => vec![*of],
        Fact::Equal(a, b) | Fact::Less(a, b) => [a, b].into_iter().filter_map(of).collect(),
        Fact::Hb(a, b) => vec![*a, *b],
        Fact::SameObject(..)
        | Fact::On(..)
        | Fact::Method(..)
        | Fact::ShareObject(..)
        | Fact::Before(..)
        | Fact::Partners(..)
        | Fact::Same(..) => Vec::new(),
        Fact::Not(fact) => subevents(fact),
    }
}

impl<'k> Sorted<'k> {
    /// Returns the name of a variable in formulas. The prefix keeps it apart from names of the prover, such as `last` in
    /// [`LibraryTheory::is_next`].
    fn name(&self, of: LemmaVar) -> String {
        format!("lemma.{}{}", of.name, self.end)
    }

    /// Returns the names of the variables with their sorts.
    fn variables(&self) -> Vec<(String, &'static str)> {
        self.lemma.of.iter().map(|v| (self.name(*v), sort(*v))).collect()
    }

    fn var(&self, of: LemmaVar) -> Term {
        symbol(&self.name(of))
    }

    /// Returns the kind of a call.
    fn kind(&self, of: LemmaVar) -> Result<&'k Kind, Refusal> {
        let kind = self.kinds.iter().find(|(call, _)| *call == of).map(|(_, kind)| *kind);
        kind.ok_or_else(|| refusal!("it is not about {}", of.name))
    }

    /// Returns the role of a subevent.
    fn role(&self, of: Of) -> Result<(&'k Kind, &'k Role), Refusal> {
        let kind = self.kind(of.call)?;
        // Only the last iteration of a loop has a name.
        let is_earlier =
            |event: usize| kind.concrete.iter().any(|r| r.position.0 == event && r.each == Some(Each::Rounds));
        let made = |(event, (library, method, _)): &(usize, &(_, mowgli_core::ids::Name, _))| {
            *library == of.library && method.text() == of.method && !is_earlier(*event)
        };
        let position = kind.made.iter().enumerate().filter(made).nth(of.nth.saturating_sub(1));
        let does = |r: &Role| match of.access {
            Access::Reads => r.reads.is_some(),
            Access::Writes => r.writes.is_some(),
        };
        let role = position.and_then(|(event, _)| kind.concrete.iter().find(|r| r.position.0 == event && does(r)));
        role.map(|role| (kind, role)).ok_or_else(|| {
            let does = if of.access == Access::Reads { "reads" } else { "writes" };
            refusal!("no {} {} of {} in {} {does}", of.method, of.nth, of.library, kind.name)
        })
    }

    fn place(&self, of: Of, role: &Role) -> Result<Term, Refusal> {
        match (role.each, of.at) {
            (None, None) => Ok(own(&self.var(of.call))),
            (Some(Each::Nodes(_)), Some(at)) if at.sort == Sort::Node => Ok(self.var(at)),
            (Some(Each::Members(_)), Some(at)) if at.sort == Sort::Thread => Ok(self.var(at)),
            (Some(Each::Ended(event)), None) => Ok(ended(event, &self.var(of.call))),
            (Some(Each::Rounds), _) => Err(refusal!("{} is of a round that is not the last", role.words)),
            (None, Some(at)) => Err(refusal!("{} is there once, not for each {}", role.words, at.name)),
            (Some(_), _) => Err(refusal!("{} is there several times, and it is not said for which", role.words)),
        }
    }

    fn sub(&self, of: Of) -> Result<Term, Refusal> {
        let (_, role) = self.role(of)?;
        Ok(the(role, &self.var(of.call), &self.place(of, role)?))
    }

    fn value(&self, of: Of) -> Result<Term, Refusal> {
        Ok(app(if of.access == Access::Reads { "read" } else { "wrote" }, [self.sub(of)?]))
    }

    /// Returns the formula "this is a number", and the number.
    fn num(&self, num: &Num) -> Result<[Term; 2], Refusal> {
        Ok(match num {
            Num::Value(of) => {
                let value = self.value(*of)?;
                [number(&value), int(&value)]
            }
            Num::Index(call) => [and([]), index(&self.var(*call))],
            Num::Is(k) => [and([]), add(symbol("0"), *k)],
        })
    }
}
