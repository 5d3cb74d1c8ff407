//! Rows of the table: statements, each with its text.

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Node, Tid};
use mowgli_core::term::method::ArgumentKind;
use mowgli_core::value::Val;

use super::{Parsed, Reader, Rule, Tree, advise, at, call, fail, part, parts};
use crate::error::{Code, InputError};
use crate::litmus::test::{Arg, Model, Statement};

impl Reader<'_> {
    pub(super) fn row(&mut self, tree: &Tree<'_>) -> Parsed<()> {
        let cells: Vec<Tree<'_>> = parts(tree, Rule::cell).collect();
        if let Some(extra) = cells.get(self.threads.len()) {
            let message = format!("this row has more columns than there are threads ({})", self.threads.len());
            return fail(extra, Code::Misplaced, message);
        }
        for (thread, cell) in cells.iter().enumerate() {
            for piece in cell.clone().into_inner() {
                self.piece(thread, &piece)?;
            }
        }
        Ok(())
    }

    /// Reads a statement, or the beginning or the end of a block.
    fn piece(&mut self, thread: usize, tree: &Tree<'_>) -> Parsed<()> {
        match tree.as_rule() {
            Rule::statement => {
                let statement = self.statement(thread, tree)?;
                self.without_fault(thread, tree, &statement)?;
                self.add(thread, tree, statement);
            }
            Rule::opening => self.open(thread, tree)?,
            Rule::closing => self.close(thread, tree)?,
            _ => self.otherwise(thread, tree)?,
        }
        Ok(())
    }

    /// Adds a statement, with its text and its place.
    pub(super) fn add(&mut self, thread: usize, tree: &Tree<'_>, statement: Statement) {
        let text = tree.as_str().split_whitespace().join(" ");
        let column = &mut self.threads[thread];
        column.source.push((tree.line_col().0, text));
        if let Some(r) = statement.register().filter(|r| !column.registers.contains(r)) {
            column.registers.push(r);
        }
        column.statements.push(statement);
        self.spans[thread].push((tree.as_span().start(), tree.as_span().end()));
    }

    /// Refuses a call that no program may make. The library of the call describes the fault.
    pub(super) fn without_fault(&self, thread: usize, tree: &Tree<'_>, statement: &Statement) -> Parsed<()> {
        let call = if let Statement::Await { call, .. } = statement { call } else { statement };
        let Statement::Call { library, method, args, .. } = call else { return Ok(()) };
        let Some(library) = self.known.library(*library) else { return Ok(()) };
        let takes = library.method(method).map_or(&[][..], |m| m.takes);
        let is_pointed = |((_, kind), arg): (&(_, ArgumentKind), &Arg)| kind.is_object() && !matches!(arg, Arg::Val(_));
        if takes.iter().zip(args).any(is_pointed) {
            return Ok(());
        }
        // From here on only data can come from registers. So a call is wrong if it has a fault both with a number and
        // with the object's initial value.
        let init =
            args.iter().find_map(|arg| if let Arg::Val(Val::Loc(x)) = arg { self.world.objects.get(x) } else { None });
        let of = |data: Val| {
            let known = args.iter().map(|arg| if let Arg::Val(v) = arg { *v } else { data });
            Call::new(library.name, method, &known.collect::<Vec<_>>())
        };
        let wrong = |call: &Call| library.fault(&self.world, Tid::from_index(thread), call);
        let call = of(Val::Int(0));
        let Some(fault) = wrong(&call).filter(|_| init.is_none_or(|o| wrong(&of(o.init)).is_some())) else {
            return Ok(());
        };
        let here = self.world.threads[thread];
        // True if the node of a location is the only fault.
        let elsewhere = |&(x, n): &(Loc, Node)| {
            let mut world = self.world.clone();
            world.objects.entry(x).and_modify(|o| o.node = Some(here));
            n != here && library.fault(&world, Tid::from_index(thread), &call).is_none()
        };
        let text = tree.as_str().split_whitespace().join(" ");
        let placed = call.args.iter().filter_map(|v| v.loc()).filter_map(|x| Some((x, self.world.home(x)?)));
        match { placed }.find(elsewhere) {
            Some((x, n)) => {
                let name = self.threads[thread].name;
                advise(
                    tree,
                    Code::Node,
                    format!("{text}: {x} is on node {n}, and {name} on node {here}"),
                    format!(
                        "let {x} be declared on node {here}, or the call be made by a thread on node {n}, or reach {x} by a put \
                         or a get"
                    ),
                )
            }
            None if call.library == self.memory() => {
                let help = format!("{} has {}", self.model, self.statements());
                advise(tree, Code::Form, format!("{text}: {fault}"), help)
            }
            None => fail(tree, Code::Form, format!("{text}: {fault}")),
        }
    }

    pub(super) fn statement(&mut self, thread: usize, tree: &Tree<'_>) -> Parsed<Statement> {
        let target = part(tree, Rule::target).and_then(|t| t.into_inner().next());
        let first = tree.clone().into_inner().next().expect("a statement has a form");
        if matches!(first.as_rule(), Rule::assumption | Rule::waiting) {
            self.may_wait(tree)?;
        }
        match first.as_rule() {
            Rule::assumption => {
                let condition = part(&first, Rule::condition).expect("by the grammar");
                return self.guard(thread, &condition).map(Statement::Assume);
            }
            Rule::waiting => return self.waiting(thread, &first),
            _ => {}
        }
        let action = part(tree, Rule::action).expect("a statement acts").into_inner().next().expect("in some way");
        if let Some(own) = self.model.notation() {
            if let Some(way) = part(&action, Rule::way) {
                let message = format!("calls of {} are made in one way", self.model);
                return advise(&way, Code::Unsupported, message, "leave this out");
            }
            return own.statement(self, thread, target.as_ref(), &action);
        }
        let suffix = target.iter().cloned().chain(action.clone().into_inner().flatten());
        if let Some(access) = suffix.filter(|t| t.as_rule() == Rule::access).last() {
            let mut others = Model::ALL.into_iter().filter(|model| model.notation().is_some());
            let message = format!("only {} distinguishes atomic and other accesses", others.join(" and "));
            return fail(&access, Code::Unsupported, message);
        }
        match (action.as_rule(), target) {
            (Rule::expression, None) => match self.bare(action.as_str().trim()) {
                Some(call) => Ok(call),
                None => {
                    let other = || InputError::new(Code::Form, "this is no statement");
                    let other = || other().help("to drop a read, assign it to a register");
                    Err(at(&action, self.of_switch(action.as_str().trim()).unwrap_or_else(other)))
                }
            },
            (Rule::expression, Some(target)) => match self.bare(action.as_str().trim()).filter(|c| self.gives(c)) {
                Some(call) => self.result_to(Some(&target), call),
                None => self.assignment(thread, &target, &action),
            },
            (_, target) => {
                let call = self.call(thread, &action)?;
                self.result_to(target.as_ref(), call)
            }
        }
    }

    /// Returns the word that an expression reads.
    fn memory_in<'a>(&self, source: &Tree<'a>) -> Option<Tree<'a>> {
        let word = || part(source, Rule::name).filter(|n| self.library(n).is_some());
        part(source, Rule::pointee).or_else(|| part(source, Rule::element)).or_else(word)
    }

    /// Reads an expression of memory as a read.
    pub(super) fn read_of(&self, thread: usize, source: &Tree<'_>) -> Parsed<Option<Statement>> {
        self.memory_in(source).map(|x| Ok(call(self.memory(), "Read", vec![self.local(thread, &x)?]))).transpose()
    }

    /// True if a call returns a value that programs can use.
    fn gives(&self, call: &Statement) -> bool {
        matches!(call, Statement::Call { library, method, .. } if self.known.returns(*library, method))
    }

    pub(super) fn result_to(&self, target: Option<&Tree<'_>>, call: Statement) -> Parsed<Statement> {
        let Some(target) = target else { return Ok(call) };
        if target.as_rule() != Rule::name || self.library(target).is_some() {
            let text = target.as_str().trim();
            let message = format!("{text} is no register: a result goes into a register first");
            return advise(target, Code::Form, message, format!("write a := {text}"));
        }
        let register = Some(self.own(target)?);
        match call {
            Statement::Call { library, method, args, .. } if self.known.returns(library, method) => {
                Ok(Statement::Call { register, library, method, args })
            }
            _ => advise(target, Code::Form, "this method returns nothing", "drop the register"),
        }
    }

    pub(super) fn assignment(&mut self, thread: usize, target: &Tree<'_>, source: &Tree<'_>) -> Parsed<Statement> {
        let is_place = matches!(target.as_rule(), Rule::pointee | Rule::element);
        let to = self.library(target).or(is_place.then(|| self.memory()));
        match (to, self.memory_in(source)) {
            (None, Some(_)) => {
                let read = self.read_of(thread, source)?.expect("it is of memory");
                self.result_to(Some(target), read)
            }
            (None, None) => Ok(Statement::Set(self.own(target)?, self.expression(thread, source)?)),
            (Some(_), Some(x)) => {
                let message = "one statement reads or writes memory, not both";
                advise(&x, Code::Form, message, "read into a register first")
            }
            (Some(_), None) => {
                Ok(call(self.memory(), "Write", vec![self.local(thread, target)?, self.expression(thread, source)?]))
            }
        }
    }
}
