//! Executions of a memory model as structures of its theory, compared with the judge.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::event::{Cell, Sub};
use mowgli_core::execution::{Execution, Pairs};
use mowgli_core::ids::Node;
use mowgli_core::judge::{Reading, closure, judge};
use mowgli_core::value::Val;

use crate::error::{Contradiction, contradiction};
use crate::smt::term::{Structure, Theory};
use crate::theorems::plain::{Plain, SortNames, identifier, kind_of, to};

/// The elements of the sorts of a structure, in order.
#[derive(Default)]
pub struct Numbers {
    /// The cells that subevents access.
    pub cells: BTreeSet<Cell>,
    /// The values; `None` is the value of subevents that have none.
    pub values: BTreeSet<Option<Val>>,
    /// The identifiers of operations.
    pub identifiers: BTreeSet<Val>,
}

impl Plain<'_> {
    /// Returns the role of each subevent of an execution, and the kind of each event.
    fn placed(&self, execution: &Execution) -> Result<(Vec<usize>, Vec<usize>), Contradiction> {
        let (mut roles, mut kinds) = (vec![0; execution.subs.len()], Vec::new());
        for (e, event) in execution.events.iter().enumerate() {
            let own: Vec<usize> = (0..execution.subs.len()).filter(|&s| execution.subs[s].event == e).collect();
            let subs: Vec<Sub> = own.iter().map(|&s| execution.subs[s].sub).collect();
            let name = kind_of(event, &subs);
            let kind = self.kinds.iter().position(|k| k.name == name);
            let kind = kind.ok_or_else(|| contradiction!("no template exists for a call like {event}"))?;
            own.iter().zip(&self.kinds[kind].roles).for_each(|(&s, &role)| roles[s] = role);
            kinds.push(kind);
        }
        Ok((roles, kinds))
    }

    /// Reads an execution of the model, which the judge must accept, as a structure, and compares the two.
    ///
    /// # Errors
    /// If the structure and the execution differ.
    pub fn structure(&self, theory: &Theory, execution: &Execution) -> Result<Structure<'static>, Contradiction> {
        let mut structure = Structure::default();
        structure.define(theory);
        let mut numbers = Numbers::default();
        self.count(&mut numbers, execution);
        self.add(&mut structure, execution, &numbers)?;
        self.held(&structure, execution)?;
        Ok(structure)
    }

    /// Adds an execution, which the judge must accept, with its choices and hb.
    ///
    /// # Errors
    /// If the execution does not fit the theory.
    pub fn add(
        &self,
        structure: &mut Structure<'static>,
        execution: &Execution,
        numbers: &Numbers,
    ) -> Result<(), Contradiction> {
        let hb = self.add_plain(structure, execution, numbers)?;
        let n = execution.subs.len();
        structure.relation(&self.names.of("hb"), hb);
        let reading = Reading::new(self.libraries, execution, self.library);
        for (name, _) in &self.encoding.choices {
            let short = name.strip_prefix(&self.encoding.side.prefix).unwrap_or(name);
            let chosen = execution.chosen.iter().filter(|c| c.library == self.library && c.name == short);
            structure.relation(name, chosen.flat_map(|c| c.pairs.iter().copied()).collect());
        }
        for (name, rel) in &self.encoding.turns {
            structure.relation(name, reading.pairs(rel));
        }
        for (name, inner) in &self.encoding.closures {
            structure.relation(name, closure(&structure.pairs(inner, n)?));
        }
        Ok(())
    }

    /// Adds the calls of an execution, which the judge must accept. Returns its hb.
    ///
    /// # Errors
    /// If the execution does not fit the theory.
    pub fn add_plain(
        &self,
        structure: &mut Structure<'static>,
        execution: &Execution,
        numbers: &Numbers,
    ) -> Result<Pairs, Contradiction> {
        let judged =
            judge(self.libraries, execution).map_err(|why| contradiction!("the judge does not accept it: {why}"))?;
        let (roles, kinds) = self.placed(execution)?;
        self.plain(structure, execution, (&roles, &kinds), numbers);
        Ok(judged.hb)
    }

    /// Checks that the sets, keys and ppo of a structure are those of the judge.
    ///
    /// # Errors
    /// Names a relation that differs.
    pub fn held(&self, structure: &Structure<'_>, execution: &Execution) -> Result<(), Contradiction> {
        let (reading, n) = (Reading::new(self.libraries, execution, self.library), execution.subs.len());
        for (name, set) in &self.encoding.sets {
            let members = reading.members(set);
            for s in 0..n {
                if (structure.apply(name, &[s])? == 1) != members.contains(&s) {
                    return Err(contradiction!("{name} is not what samples show"));
                }
            }
        }
        for (name, key) in &self.encoding.keys {
            let of = |s: usize| key.of(&reading.view(s));
            let expected: Pairs =
                (0..n).cartesian_product(0..n).filter(|&(a, b)| of(a).is_some() && of(a) == of(b)).collect();
            if structure.pairs(name, n)? != expected {
                return Err(contradiction!("{name} is not what samples show"));
            }
        }
        let ppo = execution.ppo(self.libraries);
        if structure.pairs(&self.names.of("ppo"), n)? == ppo {
            Ok(())
        } else {
            Err(contradiction!("ppo is not what samples show"))
        }
    }

    /// Adds the cells, values and identifiers of an execution to those that have numbers.
    pub fn count(&self, numbers: &mut Numbers, execution: &Execution) {
        let subs = &execution.subs;
        numbers.cells.extend(subs.iter().filter_map(|s| s.sub.cell));
        numbers.values.extend(subs.iter().flat_map(|s| [s.read, s.wrote, self.initial(execution, s.sub.cell)]));
        numbers.identifiers.extend(execution.events.iter().filter_map(identifier));
    }

    fn initial(&self, execution: &Execution, cell: Option<Cell>) -> Option<Val> {
        let library = self.libraries.get(self.library).expect("it was there");
        cell.map(|cell| library.init(&execution.world, cell))
    }

    fn plain(
        &self,
        structure: &mut Structure<'static>,
        ex: &Execution,
        (roles, kinds): (&[usize], &[usize]),
        numbers: &Numbers,
    ) {
        let SortNames { sub, event, .. } = self.names;
        let of = |name: &str| self.names.of(name);
        let threads: Vec<usize> = ex.events.iter().map(|e| e.thread.index()).collect();
        let node = |n: Option<Node>| n.map_or(0, |n| usize::from(n.0) - 1);
        let (cells, values, ids) = (&numbers.cells, &numbers.values, &numbers.identifiers);
        structure.size(sub, ex.subs.len());
        structure.size(event, ex.events.len());
        structure.size("Thread", ex.world.threads.len());
        structure.size("Node", usize::from(ex.world.nodes));
        structure.size("Cell", cells.len().max(1));
        structure.size("Value", values.len());
        structure.size("Id", ids.len().max(1));
        let mut table = |name: &str, all: Vec<usize>| structure.function(&of(name), all);
        let value = |v: Option<Val>| place(values, &v);
        table("event", ex.subs.iter().map(|s| s.event).collect());
        table("role", roles.to_vec());
        table("kind", kinds.to_vec());
        table("cell", ex.subs.iter().map(|s| s.sub.cell.map_or(0, |c| place(cells, &c))).collect());
        table("read", ex.subs.iter().map(|s| value(s.read)).collect());
        table("wrote", ex.subs.iter().map(|s| value(s.wrote)).collect());
        table("initial", ex.subs.iter().map(|s| value(self.initial(ex, s.sub.cell))).collect());
        table("id", ex.events.iter().map(|e| identifier(e).map_or(0, |d| place(ids, &d))).collect());
        let subs_of = |e: usize| ex.subs.iter().filter(move |s| s.event == e).map(|s| s.sub).collect_vec();
        table("to", ex.events.iter().enumerate().map(|(e, event)| node(to(event, &subs_of(e)))).collect());
        table("thread", threads.clone());
        for r in 0..self.roles.len() {
            let part = |e: usize| (0..roles.len()).find(|&s| ex.subs[s].event == e && roles[s] == r).unwrap_or(0);
            table(&format!("part.{}", self.roles[r].name), (0..ex.events.len()).map(part).collect());
        }
        structure.table(&of("before"), move |p| usize::from(p[0] < p[1] && threads[p[0]] == threads[p[1]]));
        if self.names.prefix.is_empty() {
            let nodes: Vec<usize> = ex.world.threads.iter().map(|n| node(Some(*n))).collect();
            let homes: Vec<usize> = cells.iter().map(|c| node(Some(c.node))).chain([0]).collect();
            structure.function("node", nodes);
            structure.function("home", homes);
        }
    }
}

/// Returns the position of an element.
fn place<T: Ord>(all: &BTreeSet<T>, one: &T) -> usize {
    all.iter().position(|x| x == one).unwrap_or(0)
}
