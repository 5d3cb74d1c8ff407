//! Compilation of the specifications of the libraries in a graph to one network of relations.
//!
//! The relations that depend on no choice are computed once, here. Only the rest becomes part of the network.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::network::{Check, Derivation, Id, Network};
use crate::algebra::{Choice, Demand, Expr, Rel, Set, Spec};
use crate::event::Event;
use crate::graph::Graph;
use crate::ids::Name;
use crate::library::Libraries;
use crate::relation::Matrix;
use crate::relation::matrix::ones;
use crate::value::Val;

/// A choice in the network.
pub enum Open {
    /// For each read the write that it reads from.
    ReadsFrom {
        /// Pairs `(w, r)`.
        chosen: Id,
        /// The pairs `(r, w)` such that r reads the initial value and w writes its cell.
        before: Id,
        /// The excluded pairs `(r, w)`; `(r, r)` excludes the initial value.
        excluded: Id,
        /// The reads.
        reads: Vec<usize>,
        /// For each read (by position in the graph) the writes of its cell.
        candidates: Matrix,
    },
    /// For each pair its direction.
    Order {
        /// The decided pairs.
        raw: Id,
        /// The consequences of `raw`: its closure for a total order, the same relation otherwise.
        closed: Id,
        /// The pairs to decide, in both directions.
        pairs: Matrix,
    },
}

/// The network of a graph.
pub struct Compiled {
    /// The relations.
    pub net: Network,
    /// `(ppo u so)+`, and the extra edges.
    pub hb: Id,
    /// The edges of hb that a caller demands.
    pub extra: Id,
    /// The additional edges of hb as the specifications see it: the promises of an execution below (LOCO Def. 3.13, 3).
    pub given: Id,
    /// The pairs that must not be in so.
    pub outside: Id,
    /// The choices, with the library and the name of each.
    pub choices: Vec<(Name, &'static str, Open)>,
    /// Whether each relation depends on a choice.
    pub open: Vec<bool>,
    /// The parts of hb by library and name; `None` for ppo, which all libraries share.
    pub parts: Vec<(Option<Name>, &'static str, Id)>,
    /// The demands by library and name.
    pub demands: Vec<(Name, &'static str, Id)>,
    /// The differences whose subtrahend depends on a choice: the relation, the minuend, and the subtrahend.
    pub differences: Vec<(Id, Id, Id)>,
    /// The relation of each expression, by library and address.
    pub terms: BTreeMap<(Name, usize), Term>,
}

/// A relation that is known, or a relation of the network.
#[derive(Clone)]
pub enum Term {
    /// Known.
    Known(Rc<Matrix>),
    /// Derived from choices.
    Open(Id),
}

struct Compiler<'a> {
    graph: &'a Graph<'a>,
    libraries: &'a Libraries,
    net: Network,
    /// The relation that the specifications see as hb, once all of so is there.
    seen_hb: Option<Id>,
    /// The subevents of the library at hand.
    mask: Vec<u64>,
    choices: Vec<(Name, &'static str, Open)>,
    demands: Vec<(Name, &'static str, Id)>,
    differences: Vec<(Id, Id, Id)>,
    first_choice: usize,
    name: Name,
    terms: BTreeMap<(Name, usize), Term>,
}

/// The network for `graph`, with the specifications of `libraries`.
pub fn compile(graph: &Graph<'_>, libraries: &Libraries) -> Compiled {
    let n = graph.len();
    let mut compiler = Compiler {
        graph,
        libraries,
        net: Network::new(n),
        seen_hb: None,
        mask: Vec::new(),
        choices: Vec::new(),
        demands: Vec::new(),
        differences: Vec::new(),
        first_choice: 0,
        name: Name::literal(""),
        terms: BTreeMap::new(),
    };
    let extra = compiler.net.base(&Matrix::empty(n));
    let mut parts = Vec::new();
    let mut beyond_so = Vec::new();
    for name in libraries.names() {
        (compiler.name, compiler.first_choice) = (name, compiler.choices.len());
        compiler.mask = graph.mask(|s| graph.library(s) == name);
        if compiler.mask.iter().all(|&w| w == 0) {
            continue;
        }
        let own: Vec<&Event> = graph.events.iter().filter(|e| e.call.library == name).copied().collect();
        let (library, spec) = libraries.get(name).zip(libraries.spec(name)).expect("a name of the set");
        if !library.is_well_formed(graph.world, &own) {
            continue;
        }
        if spec.mentions_hb() {
            beyond_so.push((name, spec, compiler.first_choice, compiler.mask.clone()));
        }
        parts.extend(compiler.library(spec).into_iter().map(|(part, id)| (Some(name), part, id)));
    }
    let so = compiler.net.derive(Derivation::Union(parts.iter().map(|p| p.2).collect()));
    let outside = compiler.net.base(&Matrix::empty(n));
    let strays = compiler.net.derive(Derivation::Inter(so, outside));
    compiler.net.check(strays, Check::Empty);
    parts.push((None, "ppo", compiler.net.base(&graph.ppo(libraries))));
    let ppo = parts[parts.len() - 1].2;
    let edges = compiler.net.derive(Derivation::Union(vec![so, ppo, extra]));
    let hb = compiler.net.derive(Derivation::Plus(edges));
    compiler.net.check(hb, Check::Irreflexive);
    let given = compiler.net.base(&Matrix::empty(n));
    if !beyond_so.is_empty() {
        compiler.seen_hb = Some(compiler.net.derive(Derivation::Union(vec![hb, given])));
    }
    for (name, spec, first_choice, mask) in beyond_so {
        (compiler.name, compiler.first_choice, compiler.mask) = (name, first_choice, mask);
        compiler.demands(spec.demands.iter().filter(|(_, _, rel)| rel.mentions_hb()));
    }
    let open = dependent(&compiler.net, &compiler.choices, &compiler.differences);
    let Compiler { net, choices, demands, differences, terms, .. } = compiler;
    Compiled { net, hb, extra, given, outside, choices, open, parts, demands, differences, terms }
}

fn dependent(net: &Network, choices: &[(Name, &'static str, Open)], differences: &[(Id, Id, Id)]) -> Vec<bool> {
    let mut open = vec![false; net.relations()];
    for (_, _, choice) in choices {
        match choice {
            Open::ReadsFrom { chosen, before, .. } => (open[*chosen], open[*before]) = (true, true),
            Open::Order { raw, .. } => open[*raw] = true,
        }
    }
    for (difference, ..) in differences {
        open[*difference] = true;
    }
    spread_open(net, &mut open);
    open
}

/// Marks each relation derived from an open one as open.
pub(super) fn spread_open(net: &Network, open: &mut [bool]) {
    for r in 0..net.relations() {
        open[r] |= match net.derivation(r) {
            Derivation::Base => false,
            Derivation::Union(of) => of.iter().any(|&o| open[o]),
            Derivation::Inter(a, b) | Derivation::Seq(a, b) => open[*a] || open[*b],
            Derivation::Inverse(a) | Derivation::Plus(a) => open[*a],
        };
    }
}

impl Compiler<'_> {
    /// Compiles the choices, demands and so of the current library. Relations that mention hb follow later, because hb
    /// depends on so.
    fn library(&mut self, spec: &Spec) -> Vec<(&'static str, Id)> {
        for (title, choice) in &spec.choices {
            let open = self.choice(choice);
            self.choices.push((self.name, title, open));
        }
        let demands = spec.demands.iter().filter(|(_, _, rel)| !rel.mentions_hb());
        self.demands(demands);
        let mut parts = Vec::new();
        for (part, rel) in &spec.so {
            let term = self.term(rel);
            parts.push((*part, self.open(term)));
        }
        parts
    }

    fn demands<'d>(&mut self, demands: impl Iterator<Item = &'d (&'static str, Demand, Rel)>) {
        for (title, demand, rel) in demands {
            let term = self.term(rel);
            let id = self.open(term);
            let check = match demand {
                Demand::Irreflexive => Check::Irreflexive,
                Demand::Empty => Check::Empty,
            };
            self.net.check(id, check);
            self.demands.push((self.name, title, id));
        }
    }

    fn set(&self, set: &Set) -> Vec<u64> {
        let mut mask = self.mask.clone();
        for s in ones(&self.mask) {
            if !set.has(&self.graph.view(s)) {
                mask[s / 64] &= !(1 << (s % 64));
            }
        }
        mask
    }

    fn same_key(&self, members: &[u64], key: impl Fn(usize) -> Option<Val>) -> Matrix {
        let mut classes: BTreeMap<Val, Vec<u64>> = BTreeMap::new();
        for s in ones(members) {
            if let Some(k) = key(s) {
                classes.entry(k).or_insert_with(|| vec![0; members.len()])[s / 64] |= 1 << (s % 64);
            }
        }
        let n = self.graph.len();
        classes.values().fold(Matrix::empty(n), |m, class| m.or(&Matrix::cross(class, class, n)))
    }

    fn in_turn(&self, from: &[u64], to: &[u64], key: impl Fn(usize) -> Option<Val>) -> Matrix {
        let mut pairs = Matrix::empty(self.graph.len());
        for ends in self.graph.starts.windows(2) {
            let mut waiting: BTreeMap<Val, [Vec<usize>; 2]> = BTreeMap::new();
            for s in ends[0]..ends[1] {
                let holds = |set: &[u64]| set[s / 64] >> (s % 64) & 1 == 1;
                let Some(key) = key(s) else { continue };
                let queues = waiting.entry(key).or_default();
                (holds(from)).then(|| queues[0].push(s));
                (holds(to)).then(|| queues[1].push(s));
            }
            let all = waiting.values().flat_map(|[from, to]| from.iter().zip(to));
            all.for_each(|(&a, &b)| pairs.set(a, b));
        }
        pairs
    }

    fn choice(&mut self, choice: &Choice) -> Open {
        let n = self.graph.len();
        match choice {
            Choice::ReadsFrom { reads, writes } => {
                let (reads, writes) = (self.set(reads), self.set(writes));
                let mut candidates = Matrix::empty(n);
                for r in ones(&reads) {
                    for w in ones(&writes) {
                        if r != w && self.graph.subs[r].sub.cell == self.graph.subs[w].sub.cell {
                            candidates.set(r, w);
                        }
                    }
                }
                let none = Matrix::empty(n);
                let [chosen, before, excluded] = [0; 3].map(|_| self.net.base(&none));
                Open::ReadsFrom { chosen, before, excluded, reads: ones(&reads).collect(), candidates }
            }
            Choice::Order { members, key } => {
                let members = self.set(members);
                let same = self.same_key(&members, |s| key.of(&self.graph.view(s)));
                let pairs = same.minus(&Matrix::identity(&members, n));
                let raw = self.net.base(&Matrix::empty(n));
                let closed = self.net.derive(Derivation::Plus(raw));
                self.net.check(closed, Check::Irreflexive);
                Open::Order { raw, closed, pairs }
            }
            Choice::Orient { pairs } => {
                let Term::Known(pairs) = self.term(pairs) else { panic!("pairs to orient depend on a choice") };
                let pairs = pairs.inverse().or(&pairs);
                let raw = self.net.base(&Matrix::empty(n));
                Open::Order { raw, closed: raw, pairs }
            }
        }
    }

    fn open(&mut self, term: Term) -> Id {
        match term {
            Term::Open(id) => id,
            Term::Known(matrix) => self.net.base(&matrix),
        }
    }

    fn union(&mut self, parts: Vec<Term>) -> Term {
        let mut known: Option<Matrix> = None;
        let mut open = Vec::new();
        for part in parts {
            match part {
                Term::Known(m) => known = Some(known.map_or_else(|| (*m).clone(), |k| k.or(&m))),
                Term::Open(id) => open.push(id),
            }
        }
        match (known, open.is_empty()) {
            (Some(k), true) => Term::Known(Rc::new(k)),
            (known, _) => {
                if let Some(k) = known.filter(|k| !k.is_empty()) {
                    open.push(self.net.base(&k));
                }
                Term::Open(if open.len() == 1 { open[0] } else { self.net.derive(Derivation::Union(open)) })
            }
        }
    }

    fn term(&mut self, rel: &Rel) -> Term {
        let key = (self.name, rel.address());
        if let Some(term) = self.terms.get(&key) {
            return term.clone();
        }
        let term = self.expression(rel.expr());
        self.terms.insert(key, term.clone());
        term
    }

    fn expression(&mut self, expr: &Expr) -> Term {
        let n = self.graph.len();
        let known = |m| Term::Known(Rc::new(m));
        match expr {
            Expr::Po => known(self.graph.po().and(&Matrix::cross(&self.mask, &self.mask, n))),
            Expr::Ppo => known(self.graph.ppo(self.libraries).and(&Matrix::cross(&self.mask, &self.mask, n))),
            Expr::Hb => {
                let hb = self.seen_hb.expect("only demands that are compiled after so mention hb");
                self.restrict(hb, &Matrix::cross(&self.mask, &self.mask, n))
            }
            Expr::SameEvent => {
                let mask = Matrix::cross(&self.mask, &self.mask, n);
                known(self.graph.in_thread(|a, b| self.graph.subs[a].event == self.graph.subs[b].event).and(&mask))
            }
            Expr::SameThread => known(self.graph.in_thread(|_, _| true).and(&Matrix::cross(&self.mask, &self.mask, n))),
            Expr::InTurn(from, to, key) => {
                let (from, to) = (self.set(from), self.set(to));
                known(self.in_turn(&from, &to, |s| key.of(&self.graph.view(s))))
            }
            Expr::Same(key) => known(self.same_key(&self.mask, |s| key.of(&self.graph.view(s)))),
            Expr::On(set) => known(Matrix::identity(&self.set(set), n)),
            Expr::Cross(a, b) => known(Matrix::cross(&self.set(a), &self.set(b), n)),
            Expr::Chosen(choice) => Term::Open(match &self.choices[self.first_choice + choice].2 {
                Open::ReadsFrom { chosen, .. } => *chosen,
                Open::Order { closed, .. } => *closed,
            }),
            Expr::BeforeAny(choice) => match &self.choices[self.first_choice + choice].2 {
                Open::ReadsFrom { before, .. } => Term::Open(*before),
                Open::Order { .. } => unreachable!("made by reads_from only"),
            },
            Expr::Union(..) => {
                let mut parts = Vec::new();
                self.flatten(expr, &mut parts);
                self.union(parts)
            }
            Expr::Inter(a, b) => match (self.term(a), self.term(b)) {
                (Term::Known(a), Term::Known(b)) => known((*a).clone().and(&b)),
                (Term::Known(m), Term::Open(o)) | (Term::Open(o), Term::Known(m)) => self.restrict(o, &m),
                (Term::Open(a), Term::Open(b)) => Term::Open(self.net.derive(Derivation::Inter(a, b))),
            },
            Expr::Minus(a, b) => {
                let b = match self.term(b) {
                    Term::Known(b) => b,
                    Term::Open(b) => {
                        let a = self.term(a);
                        let a = self.open(a);
                        let difference = self.net.base(&Matrix::empty(n));
                        self.differences.push((difference, a, b));
                        return Term::Open(difference);
                    }
                };
                match self.term(a) {
                    Term::Known(a) => known((*a).clone().minus(&b)),
                    Term::Open(a) => {
                        let all = Matrix::cross(&self.mask, &self.mask, n);
                        self.restrict(a, &all.minus(&b))
                    }
                }
            }
            Expr::Seq(a, b) => self.sequence(a, b),
            Expr::Inverse(a) => match self.term(a) {
                Term::Known(a) => known(a.inverse()),
                Term::Open(a) => Term::Open(self.net.derive(Derivation::Inverse(a))),
            },
            Expr::Plus(a) => match self.term(a) {
                Term::Known(a) => known((*a).clone().closure()),
                Term::Open(a) => Term::Open(self.net.derive(Derivation::Plus(a))),
            },
        }
    }

    fn restrict(&mut self, open: Id, to: &Matrix) -> Term {
        if to.is_empty() {
            return Term::Known(Rc::new(to.clone()));
        }
        let to = self.net.base(to);
        Term::Open(self.net.derive(Derivation::Inter(open, to)))
    }

    /// A composition; `[S]; r` and `r; [S]` become restrictions, which are cheaper.
    fn sequence(&mut self, a: &Rel, b: &Rel) -> Term {
        let n = self.graph.len();
        match (self.term(a), self.term(b)) {
            (Term::Known(a), Term::Known(b)) => Term::Known(Rc::new(a.then(&b))),
            (Term::Open(a), Term::Known(_)) if matches!(b.expr(), Expr::On(_)) => {
                let Expr::On(set) = b.expr() else { unreachable!("just matched") };
                self.restrict(a, &Matrix::cross(&self.mask, &self.set(set), n))
            }
            (Term::Known(_), Term::Open(b)) if matches!(a.expr(), Expr::On(_)) => {
                let Expr::On(set) = a.expr() else { unreachable!("just matched") };
                self.restrict(b, &Matrix::cross(&self.set(set), &self.mask, n))
            }
            (Term::Known(m), _) | (_, Term::Known(m)) if m.is_empty() => Term::Known(m),
            (a, b) => {
                let (a, b) = (self.open(a), self.open(b));
                Term::Open(self.net.derive(Derivation::Seq(a, b)))
            }
        }
    }

    fn flatten(&mut self, expr: &Expr, parts: &mut Vec<Term>) {
        if let Expr::Union(a, b) = expr {
            for side in [a, b] {
                if matches!(side.expr(), Expr::Union(..)) {
                    self.flatten(side.expr(), parts);
                } else {
                    let term = self.term(side);
                    parts.push(term);
                }
            }
        }
    }
}
