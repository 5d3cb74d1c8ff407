//! Proofs by cases: calls get names, roles are told apart, and so are the sources of reads, until instances of the axioms for what
//! is named contradict what is given.
//!
//! The cases of each split are all that there are: a subevent has one of the roles of the templates, and a read has a source with
//! one of the roles that write, or none.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use itertools::Itertools;
use mowgli_core::stamp::Stamp;
use typed_arena::Arena;

use crate::ground::Ground;
use crate::model::{ABS, Model, Obligation, SUB};
use crate::solve::{Answer, Program, ask_all};
use crate::template::{Kind, Role};
use crate::term::{Statement, Term, Theory, Variable, any, app, not, symbol};

/// How many sources are told apart in one case.
const DEEPEST: usize = 3;

/// What is looked at in one case.
#[derive(Clone, Default)]
struct Scene {
    /// The constants, with their sorts.
    constants: Vec<(String, String)>,
    /// The calls with their kinds.
    calls: Vec<(Term, usize)>,
    given: Vec<Term>,
    /// The reads whose sources have been told apart.
    told: Vec<Term>,
    /// What is known to be there and has been told apart.
    there: Vec<(Variable, Term)>,
}

/// How a question about promises or subevents is decided.
pub struct Cases<'a, S: Stamp> {
    model: &'a Model<'a, S>,
    theory: &'a Theory,
    typed: BTreeMap<String, Term>,
    with_promises: bool,
    program: Program,
    end: Instant,
    limit: Duration,
}

/// What came of a proof by cases.
pub struct Outcome {
    /// Whether it was shown.
    pub answer: Answer,
    /// How many cases a solver was asked about.
    pub asked: usize,
}

impl<'a, S: Stamp> Cases<'a, S> {
    /// Questions about a theory.
    #[must_use]
    pub fn new(model: &'a Model<'a, S>, theory: &'a Theory, program: Program, limit: Duration) -> Self {
        let with_promises = theory.0.iter().any(|s| matches!(s, Statement::Function(name, ..) if name == "abs.role"));
        Self { model, theory, typed: model.typed(), with_promises, program, end: Instant::now() + limit, limit }
    }

    /// Decides an obligation.
    #[must_use]
    pub fn decide(&self, of: &Obligation) -> Outcome {
        let mut outcome = Outcome { answer: Answer::Follows, asked: 0 };
        self.start(of, 0, Scene::default(), BTreeMap::new(), &mut outcome);
        outcome
    }

    /// Names the things that an obligation is about, from the `n`-th on.
    fn start(&self, of: &Obligation, n: usize, scene: Scene, by: BTreeMap<String, Term>, outcome: &mut Outcome) {
        let from = of.from.with(&by);
        if n > 0 && self.is_impossible(&scene, from.clone()) {
            return;
        }
        let Some((name, sort)) = of.of.get(n) else {
            let mut scene = scene;
            scene.given.push(from);
            return self.close(&scene, &of.to.with(&by), outcome);
        };
        if ![SUB, ABS].contains(sort) {
            let mut scene = scene;
            scene.constants.push((name.clone(), (*sort).to_owned()));
            return self.start(of, n + 1, scene, by, outcome);
        }
        for (k, kind) in self.model.parts.kinds.iter().enumerate() {
            for role in if *sort == SUB { &kind.concrete } else { &kind.abstract_ } {
                if outcome.answer != Answer::Follows {
                    return;
                }
                let mut scene = scene.clone();
                let thing = scene.add(self.model, name, (k, kind), role);
                let mut by = by.clone();
                by.insert(name.clone(), thing);
                self.start(of, n + 1, scene, by, outcome);
            }
        }
    }

    /// What is known of the named things alone.
    fn first<'g>(&'g self, scene: &Scene, terms: &'g Arena<Term>) -> Ground<'g> {
        let mut ground = Ground::new(self.theory, &self.typed, terms);
        for (call, k) in &scene.calls {
            for fact in self.model.named(call, *k, self.with_promises) {
                ground.given(fact);
            }
        }
        scene.given.iter().for_each(|given| ground.given(given.clone()));
        ground
    }

    /// Whether something cannot be, by what is known of the named things alone.
    fn is_impossible(&self, scene: &Scene, formula: Term) -> bool {
        self.first(scene, &Arena::new()).is_known(formula) == Some(false)
    }

    fn whole<'g>(&'g self, scene: &Scene, to: &Term, terms: &'g Arena<Term>) -> Ground<'g> {
        let mut ground = self.first(scene, terms);
        let nodes = scene.constants.iter().filter(|(_, sort)| sort == "Node").map(|(name, _)| symbol(name));
        let own = scene.calls.iter().map(|(call, _)| app("node", &[app("thread", std::slice::from_ref(call))]));
        let nodes: Vec<Term> = nodes.chain(own).collect();
        nodes.iter().for_each(|node| ground.name("Node", node.clone()));
        for (call, k) in &scene.calls {
            ground.name("Call", call.clone());
            for (sort, thing) in self.model.things(call, *k, &nodes, self.with_promises) {
                ground.name(sort, thing);
            }
        }
        ground.given(not(to.clone()));
        ground.instantiate();
        ground
    }

    /// Decides one case, telling apart what there is and whence reads have their values where that is needed.
    fn close(&self, scene: &Scene, to: &Term, outcome: &mut Outcome) {
        let terms = Arena::new();
        let start = Instant::now();
        let mut ground = self.whole(scene, to, &terms);
        if ground.is_refuted() {
            return;
        }
        outcome.asked += 1;
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            outcome.answer = Answer::Unknown("time-out".to_owned());
            return;
        }
        let theory = ground.theory(&scene.constants);
        let made = start.elapsed();
        if std::env::var("GROUND").is_ok() {
            let _ = std::fs::write("/tmp/last.smt2", format!("(set-option :smt.auto_config false)\n(set-option :smt.mbqi false)\n{theory}\n(check-sat)\n"));
            if ground.theory(&scene.constants).0.len() > 0 { let _ = std::fs::write("/tmp/last.txt", scene.given.iter().join("\n")); }
        }
        let (answer, asked) = ask_all(self.program, &theory, left.min(self.limit));
        if std::env::var("GROUND").is_ok() {
            eprintln!("  calls {} made {:?} {} asked {:?}: {answer}", scene.calls.len(), made, theory.0.len(), asked);
        }
        if answer == Answer::Follows {
            return;
        }
        let is_new = |(of, said, _): &(Variable, Term, bool)| {
            [SUB, ABS].contains(&&*of.1) && !scene.there.iter().any(|known| (&known.0, &known.1) == (of, said))
        };
        if let Some((of, said, is_there)) = ground.there().into_iter().find(is_new) {
            let mut scene = scene.clone();
            scene.there.push((of.clone(), said.clone()));
            if !is_there {
                let mut without = scene.clone();
                without.given.push(not(Term::Any(vec![of.clone()], said.clone().into())));
                self.close(&without, to, outcome);
            }
            return self.by_role(&scene, (&of.0, &of.1), &said, to, outcome);
        }
        let read = if scene.told.len() < DEEPEST { self.next_read(scene, &mut ground, to) } else { None };
        let Some((rf, read)) = read else {
            if std::env::var("GROUND").is_ok() {
                eprintln!("open: given {}", scene.given.iter().join("\n  "));
                eprintln!("goal {}", ground.simplified(to.clone()));
                let _ = std::fs::write("/tmp/open.smt2", format!("{theory}\n(check-sat)\n"));
            }
            outcome.answer = Answer::Unknown(if answer == Answer::Fails { "open".to_owned() } else { answer.to_string() });
            return;
        };
        let said = app(&rf, &[symbol("u"), read.clone()]);
        let mut scene = scene.clone();
        scene.told.push(read);
        let mut initial = scene.clone();
        initial.given.push(not(any(&[("u", SUB)], said.clone())));
        self.close(&initial, to, outcome);
        self.by_role(&scene, ("u", SUB), &said, to, outcome);
    }

    /// Decides a case in which there is something of which this is said, role by role.
    fn by_role(&self, scene: &Scene, (name, sort): (&str, &str), said: &Term, to: &Term, outcome: &mut Outcome) {
        for (k, kind) in self.model.parts.kinds.iter().enumerate() {
            for role in if sort == SUB { &kind.concrete } else { &kind.abstract_ } {
                if outcome.answer != Answer::Follows {
                    return;
                }
                let mut scene = scene.clone();
                let thing = scene.add(self.model, &format!("{name}.{}", scene.calls.len()), (k, kind), role);
                let said = said.with(&[(name.to_owned(), thing)].into());
                if !self.is_impossible(&scene, said.clone()) {
                    scene.given.push(said);
                    self.close(&scene, to, outcome);
                }
            }
        }
    }

    /// The read whose source is told apart next: one that the goal speaks of, or else the first whose source is not known.
    fn next_read(&self, scene: &Scene, ground: &mut Ground<'_>, to: &Term) -> Option<(String, Term)> {
        let goal = ground.simplified(to.clone()).to_string();
        let mut open = Vec::new();
        for (call, k) in &scene.calls {
            for (rf, read) in self.model.reads(call, *k) {
                if scene.told.contains(&read) {
                    continue;
                }
                let known = scene.calls.iter().any(|(call, k)| {
                    let writes = self.model.writes(call, *k);
                    writes.into_iter().any(|w| ground.is_known(app(&rf, &[w, read.clone()])) == Some(true))
                });
                if !known {
                    let value = ground.simplified(app("read", std::slice::from_ref(&read))).to_string();
                    open.push((!goal.contains(&value), rf, read));
                }
            }
        }
        let (_, rf, read) = open.into_iter().min_by_key(|(is_other, ..)| *is_other)?;
        Some((rf, read))
    }
}

impl Scene {
    /// Adds a subevent or promise of a role, with its call; the term for it.
    fn add<S: Stamp>(&mut self, model: &Model<'_, S>, name: &str, (k, kind): (usize, &Kind<S>), role: &Role<S>) -> Term {
        let call = symbol(&format!("{name}.call"));
        self.constants.push((format!("{name}.call"), "Call".to_owned()));
        self.calls.push((call.clone(), k));
        let own = app("node", &[app("thread", std::slice::from_ref(&call))]);
        let at = if role.each.is_some() {
            self.constants.push((format!("{name}.at"), "Node".to_owned()));
            symbol(&format!("{name}.at"))
        } else {
            own
        };
        self.given.push(model.valid(kind, role, &call, &at));
        app(&format!("the.{}", role.name), &[call, at])
    }
}
