//! Compilation of the specifications of the libraries in a graph to one network of relations.
//!
//! The relations that depend on no choice are computed once, here. Only the rest becomes part of the network.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::network::{Check, Derivation, RelationId, RelationNetwork};
use crate::algebra::{Choice, Demand, Rel, RelExpr, Set, Spec};
use crate::event::Event;
use crate::ids::Name;
use crate::library::Libraries;
use crate::search::graph::Graph;
use crate::search::relation::Matrix;
use crate::search::relation::matrix::ones;
use crate::value::Val;

/// A choice in the network.
pub enum UnfilledChoice {
    /// For each read the write that it reads from.
    ReadsFrom {
        /// Pairs `(w, r)`.
        chosen: RelationId,
        /// The pairs `(r, w)` such that r reads the initial value and w writes its cell.
        before: RelationId,
        /// The excluded pairs `(r, w)`; `(r, r)` excludes the initial value.
        excluded: RelationId,
        /// The reads.
        reads: Vec<usize>,
        /// For each read (by position in the graph) the writes of its cell.
        candidates: Matrix,
    },
    /// For each pair its direction.
    Order {
        /// The decided pairs.
        raw: RelationId,
        /// The consequences of `raw`: its closure for a total order, the same relation otherwise.
        closed: RelationId,
        /// The pairs to decide, in both directions.
        pairs: Matrix,
    },
}

/// The network of a graph.
pub struct Compiled {
    /// The relations.
    pub net: RelationNetwork,
    /// `(ppo u so)+`, and the extra edges.
    pub hb: RelationId,
    /// The edges of hb that a caller demands.
    pub extra: RelationId,
    /// The additional edges of hb as the specifications see it: the promises of an execution below (LOCO Def. 3.13, 3).
    pub given: RelationId,
    /// The pairs that must not be in so.
    pub outside: RelationId,
    /// The choices, with the library and the name of each.
    pub choices: Vec<(Name, &'static str, UnfilledChoice)>,
    /// Whether each relation depends on a choice.
    pub open: Vec<bool>,
    /// The parts of hb by library and name; `None` for ppo, which all libraries share.
    pub parts: Vec<(Option<Name>, &'static str, RelationId)>,
    /// The demands by library and name.
    pub demands: Vec<(Name, &'static str, RelationId)>,
    /// The differences whose subtrahend depends on a choice: the relation, the minuend, and the subtrahend.
    pub differences: Vec<(RelationId, RelationId, RelationId)>,
    /// The relation of each expression, by library and address.
    pub terms: BTreeMap<(Name, usize), NetworkTerm>,
}

/// A relation that is known, or a relation of the network.
#[derive(Clone)]
pub enum NetworkTerm {
    /// Known.
    Known(Rc<Matrix>),
    /// Derived from choices.
    Open(RelationId),
}

struct Compiler<'a> {
    graph: &'a Graph<'a>,
    libraries: &'a Libraries,
    net: RelationNetwork,
    /// The relation that the specifications see as hb, once all of so is there.
    seen_hb: Option<RelationId>,
    /// The subevents of the library at hand.
    mask: Vec<u64>,
    choices: Vec<(Name, &'static str, UnfilledChoice)>,
    demands: Vec<(Name, &'static str, RelationId)>,
    differences: Vec<(RelationId, RelationId, RelationId)>,
    first_choice: usize,
    name: Name,
    terms: BTreeMap<(Name, usize), NetworkTerm>,
}

/// The network for `graph`, with the specifications of `libraries`.
pub fn compile(graph: &Graph<'_>, libraries: &Libraries) -> Compiled {
    let n = graph.len();
    let mut compiler = Compiler {
        graph,
        libraries,
        net: RelationNetwork::new(n),
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

fn dependent(
    net: &RelationNetwork,
    choices: &[(Name, &'static str, UnfilledChoice)],
    differences: &[(RelationId, RelationId, RelationId)],
) -> Vec<bool> {
    let mut open = vec![false; net.relations()];
    for (_, _, choice) in choices {
        match choice {
            UnfilledChoice::ReadsFrom { chosen, before, .. } => (open[*chosen], open[*before]) = (true, true),
            UnfilledChoice::Order { raw, .. } => open[*raw] = true,
        }
    }
    for (difference, ..) in differences {
        open[*difference] = true;
    }
    spread_open(net, &mut open);
    open
}

/// Marks each relation derived from an open one as open.
pub(super) fn spread_open(net: &RelationNetwork, open: &mut [bool]) {
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
    fn library(&mut self, spec: &Spec) -> Vec<(&'static str, RelationId)> {
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

    fn choice(&mut self, choice: &Choice) -> UnfilledChoice {
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
                UnfilledChoice::ReadsFrom { chosen, before, excluded, reads: ones(&reads).collect(), candidates }
            }
            Choice::Order { members, key } => {
                let members = self.set(members);
                let same = self.same_key(&members, |s| key.of(&self.graph.view(s)));
                let pairs = same.minus(&Matrix::identity(&members, n));
                let raw = self.net.base(&Matrix::empty(n));
                let closed = self.net.derive(Derivation::Plus(raw));
                self.net.check(closed, Check::Irreflexive);
                UnfilledChoice::Order { raw, closed, pairs }
            }
            Choice::Orient { pairs } => {
                let NetworkTerm::Known(pairs) = self.term(pairs) else { panic!("pairs to orient depend on a choice") };
                let pairs = pairs.inverse().or(&pairs);
                let raw = self.net.base(&Matrix::empty(n));
                UnfilledChoice::Order { raw, closed: raw, pairs }
            }
        }
    }

    fn open(&mut self, term: NetworkTerm) -> RelationId {
        match term {
            NetworkTerm::Open(id) => id,
            NetworkTerm::Known(matrix) => self.net.base(&matrix),
        }
    }

    fn union(&mut self, parts: Vec<NetworkTerm>) -> NetworkTerm {
        let mut known: Option<Matrix> = None;
        let mut open = Vec::new();
        for part in parts {
            match part {
                NetworkTerm::Known(m) => known = Some(known.map_or_else(|| (*m).clone(), |k| k.or(&m))),
                NetworkTerm::Open(id) => open.push(id),
            }
        }
        match (known, open.is_empty()) {
            (Some(k), true) => NetworkTerm::Known(Rc::new(k)),
            (known, _) => {
                if let Some(k) = known.filter(|k| !k.is_empty()) {
                    open.push(self.net.base(&k));
                }
                NetworkTerm::Open(if open.len() == 1 { open[0] } else { self.net.derive(Derivation::Union(open)) })
            }
        }
    }

    fn term(&mut self, rel: &Rel) -> NetworkTerm {
        let key = (self.name, rel.address());
        if let Some(term) = self.terms.get(&key) {
            return term.clone();
        }
        let term = self.expression(rel.expr());
        self.terms.insert(key, term.clone());
        term
    }

    fn expression(&mut self, expr: &RelExpr) -> NetworkTerm {
        let n = self.graph.len();
        let known = |m| NetworkTerm::Known(Rc::new(m));
        match expr {
            RelExpr::Po => known(self.graph.po().and(&Matrix::cross(&self.mask, &self.mask, n))),
            RelExpr::Ppo => known(self.graph.ppo(self.libraries).and(&Matrix::cross(&self.mask, &self.mask, n))),
            RelExpr::Hb => {
                let hb = self.seen_hb.expect("only demands that are compiled after so mention hb");
                self.restrict(hb, &Matrix::cross(&self.mask, &self.mask, n))
            }
            RelExpr::SameEvent => {
                let mask = Matrix::cross(&self.mask, &self.mask, n);
                known(self.graph.in_thread(|a, b| self.graph.subs[a].event == self.graph.subs[b].event).and(&mask))
            }
            RelExpr::SameThread => {
                known(self.graph.in_thread(|_, _| true).and(&Matrix::cross(&self.mask, &self.mask, n)))
            }
            RelExpr::InTurn(from, to, key) => {
                let (from, to) = (self.set(from), self.set(to));
                known(self.in_turn(&from, &to, |s| key.of(&self.graph.view(s))))
            }
            RelExpr::Same(key) => known(self.same_key(&self.mask, |s| key.of(&self.graph.view(s)))),
            RelExpr::On(set) => known(Matrix::identity(&self.set(set), n)),
            RelExpr::Cross(a, b) => known(Matrix::cross(&self.set(a), &self.set(b), n)),
            RelExpr::Chosen(choice) => NetworkTerm::Open(match &self.choices[self.first_choice + choice].2 {
                UnfilledChoice::ReadsFrom { chosen, .. } => *chosen,
                UnfilledChoice::Order { closed, .. } => *closed,
            }),
            RelExpr::BeforeAny(choice) => match &self.choices[self.first_choice + choice].2 {
                UnfilledChoice::ReadsFrom { before, .. } => NetworkTerm::Open(*before),
                UnfilledChoice::Order { .. } => unreachable!("made by reads_from only"),
            },
            RelExpr::Union(..) => {
                let mut parts = Vec::new();
                self.flatten(expr, &mut parts);
                self.union(parts)
            }
            RelExpr::Inter(a, b) => match (self.term(a), self.term(b)) {
                (NetworkTerm::Known(a), NetworkTerm::Known(b)) => known((*a).clone().and(&b)),
                (NetworkTerm::Known(m), NetworkTerm::Open(o)) | (NetworkTerm::Open(o), NetworkTerm::Known(m)) => {
                    self.restrict(o, &m)
                }
                (NetworkTerm::Open(a), NetworkTerm::Open(b)) => {
                    NetworkTerm::Open(self.net.derive(Derivation::Inter(a, b)))
                }
            },
            RelExpr::Minus(a, b) => {
                let b = match self.term(b) {
                    NetworkTerm::Known(b) => b,
                    NetworkTerm::Open(b) => {
                        let a = self.term(a);
                        let a = self.open(a);
                        let difference = self.net.base(&Matrix::empty(n));
                        self.differences.push((difference, a, b));
                        return NetworkTerm::Open(difference);
                    }
                };
                match self.term(a) {
                    NetworkTerm::Known(a) => known((*a).clone().minus(&b)),
                    NetworkTerm::Open(a) => {
                        let all = Matrix::cross(&self.mask, &self.mask, n);
                        self.restrict(a, &all.minus(&b))
                    }
                }
            }
            RelExpr::Seq(a, b) => self.sequence(a, b),
            RelExpr::Inverse(a) => match self.term(a) {
                NetworkTerm::Known(a) => known(a.inverse()),
                NetworkTerm::Open(a) => NetworkTerm::Open(self.net.derive(Derivation::Inverse(a))),
            },
            RelExpr::Plus(a) => match self.term(a) {
                NetworkTerm::Known(a) => known((*a).clone().closure()),
                NetworkTerm::Open(a) => NetworkTerm::Open(self.net.derive(Derivation::Plus(a))),
            },
        }
    }

    fn restrict(&mut self, open: RelationId, to: &Matrix) -> NetworkTerm {
        if to.is_empty() {
            return NetworkTerm::Known(Rc::new(to.clone()));
        }
        let to = self.net.base(to);
        NetworkTerm::Open(self.net.derive(Derivation::Inter(open, to)))
    }

    /// A composition; `[S]; r` and `r; [S]` become restrictions, which are cheaper.
    fn sequence(&mut self, a: &Rel, b: &Rel) -> NetworkTerm {
        let n = self.graph.len();
        match (self.term(a), self.term(b)) {
            (NetworkTerm::Known(a), NetworkTerm::Known(b)) => NetworkTerm::Known(Rc::new(a.then(&b))),
            (NetworkTerm::Open(a), NetworkTerm::Known(_)) if matches!(b.expr(), RelExpr::On(_)) => {
                let RelExpr::On(set) = b.expr() else { unreachable!("just matched") };
                self.restrict(a, &Matrix::cross(&self.mask, &self.set(set), n))
            }
            (NetworkTerm::Known(_), NetworkTerm::Open(b)) if matches!(a.expr(), RelExpr::On(_)) => {
                let RelExpr::On(set) = a.expr() else { unreachable!("just matched") };
                self.restrict(b, &Matrix::cross(&self.set(set), &self.mask, n))
            }
            (NetworkTerm::Known(m), _) | (_, NetworkTerm::Known(m)) if m.is_empty() => NetworkTerm::Known(m),
            (a, b) => {
                let (a, b) = (self.open(a), self.open(b));
                NetworkTerm::Open(self.net.derive(Derivation::Seq(a, b)))
            }
        }
    }

    fn flatten(&mut self, expr: &RelExpr, parts: &mut Vec<NetworkTerm>) {
        if let RelExpr::Union(a, b) = expr {
            for side in [a, b] {
                if matches!(side.expr(), RelExpr::Union(..)) {
                    self.flatten(side.expr(), parts);
                } else {
                    let term = self.term(side);
                    parts.push(term);
                }
            }
        }
    }
}
