//! Branches and loops: the beginning and the end of a block, and `await`, which is a loop in one statement.

use itertools::Itertools;
use mowgli_core::event::{Call, Event};
use mowgli_core::ids::Tid;
use mowgli_core::term::method::{ArgumentKind, Returns};
use mowgli_core::value::Val;
use mowgli_rdma::message::MESSAGE;

use super::{Parsed, Reader, Rule, Tree, advise, fail, part};
use crate::error::{Code, InputError, Place};
use crate::litmus::condition::Comparison;
use crate::litmus::test::{Arg, Statement};

/// The reason why a model has neither branches nor loops.
const ONCE: &str = "here a thread makes its statements once each, from top to bottom";

impl Reader<'_> {
    /// Refuses a branch, a loop, an assumption or a wait for a model that has none.
    pub(super) fn may_wait(&self, tree: &Tree<'_>) -> Parsed<()> {
        self.model.notation().map_or(Ok(()), |own| {
            advise(tree, Code::Unsupported, ONCE, format!("{} has {}", self.model, own.statements()))
        })
    }

    /// Reads the beginning of an `if` or a `while`.
    pub(super) fn open(&mut self, thread: usize, tree: &Tree<'_>) -> Parsed<()> {
        self.may_wait(tree)?;
        let guard = self.guard(thread, &part(tree, Rule::condition).expect("by the grammar"))?;
        let is_if = part(tree, Rule::is_if).is_some();
        self.add(thread, tree, if is_if { Statement::If(guard) } else { Statement::While(guard) });
        Ok(())
    }

    /// Returns the statements that have opened a block that is not closed, the innermost last.
    pub(super) fn opened(&self, thread: usize) -> Vec<usize> {
        let mut open = Vec::new();
        for (at, statement) in self.threads[thread].statements.iter().enumerate() {
            match statement {
                s if s.opens() => open.push(at),
                Statement::End => _ = open.pop(),
                _ => {}
            }
        }
        open
    }

    /// Closes a block. If an `else if` has opened it, also closes the block of the `else`.
    pub(super) fn close(&mut self, thread: usize, tree: &Tree<'_>) -> Parsed<()> {
        loop {
            let Some(at) = self.opened(thread).pop() else {
                return fail(tree, Code::Misplaced, "this } closes nothing: no if or while is open in this column");
            };
            self.add(thread, tree, Statement::End);
            // One cell has opened both blocks.
            let spans = &self.spans[thread];
            if at == 0 || self.threads[thread].statements[at - 1] != Statement::Else || spans[at - 1].1 != spans[at].1 {
                return Ok(());
            }
        }
    }

    /// Reads `} else {` or `} else if c {`.
    pub(super) fn otherwise(&mut self, thread: usize, tree: &Tree<'_>) -> Parsed<()> {
        let own = &self.threads[thread].statements;
        let last = self.opened(thread).pop();
        let has_else = |at: usize| {
            let mut depth = 0;
            own[at..].iter().any(|s| {
                depth += i32::from(s.opens()) - i32::from(*s == Statement::End);
                depth == 1 && *s == Statement::Else
            })
        };
        match last {
            Some(at) if matches!(own[at], Statement::If(_)) && !has_else(at) => {}
            _ => {
                let help = "write it behind the brace of one, as } else {";
                return advise(tree, Code::Misplaced, "this else belongs to no if", help);
            }
        }
        self.add(thread, tree, Statement::Else);
        part(tree, Rule::opening).map_or(Ok(()), |opening| self.open(thread, &opening))
    }

    /// Checks that all blocks are closed.
    pub(super) fn all_closed(&self, parts_of_file: &[Tree<'_>]) -> Parsed<()> {
        let unclosed = (0..self.threads.len()).find_map(|t| Some(self.spans[t][self.opened(t).pop()?]));
        let Some((start, end)) = unclosed else { return Ok(()) };
        let error = InputError::new(Code::Misplaced, "this block is not closed");
        let place = Place::of("", parts_of_file[0].get_input(), start..end);
        Err(error.help("write } in a later row of this column").at(place))
    }

    /// Reads `await x = 1`.
    pub(super) fn waiting(&mut self, thread: usize, tree: &Tree<'_>) -> Parsed<Statement> {
        let target = part(tree, Rule::target).and_then(|t| t.into_inner().next());
        let action = part(tree, Rule::action).expect("by the grammar").into_inner().next().expect("in some way");
        let call = match action.as_rule() {
            Rule::expression => self.read_of(thread, &action)?,
            _ => Some(self.call(thread, &action)?),
        };
        let Some(call) = call else {
            let message = "await reads memory or an object; a register does not change";
            return advise(&action, Code::Form, message, "write await x = 1 where x is declared");
        };
        let until = Self::comparison(tree);
        let value = self.side(thread, &part(tree, Rule::side).expect("by the grammar"))?;
        match &call {
            Statement::Call { library, method, .. } if self.known.returns(*library, method) => {}
            _ => return fail(&action, Code::Form, "this returns nothing to compare with"),
        }
        self.only_looks(thread, &action, &call, (until, &value))?;
        let call = Box::new(self.result_to(target.as_ref(), call)?);
        Ok(Statement::Await { call, until, value })
    }

    /// Checks that a loop that waits leaves no trace: the call only looks until it returns the awaited value.
    fn only_looks(&self, thread: usize, tree: &Tree<'_>, call: &Statement, until: (Comparison, &Arg)) -> Parsed<()> {
        let Statement::Call { library, method, args, .. } = call else { unreachable!("what is awaited is a call") };
        let library = self.known.library(*library).expect("it has the method");
        let word = self.world.objects.iter().find(|(_, o)| o.library == library.name).map(|(x, _)| Val::Loc(*x));
        let takes = library.method(method).map_or(&[][..], |m| m.takes);
        let known = |(arg, (_, kind)): (&Arg, &(&str, ArgumentKind))| match *arg {
            Arg::Val(v) => v,
            _ if kind.is_object() => word.unwrap_or(Val::Unit),
            _ => Val::Int(0),
        };
        let call = Call::new(library.name, method, &args.iter().zip(takes).map(known).collect::<Vec<_>>());
        let truths = [Val::Bool(false), Val::Bool(true)];
        let others = [Val::Bot, Val::Int(0), Val::Int(1), Val::Int(2)].into_iter().chain(call.args.iter().copied());
        let is_truth = library.method(method).is_some_and(|m| m.returns == Returns::Bool);
        let others = others.filter(|_| !is_truth);
        let goes_on = |v: &Val| match until {
            (comparison, Arg::Val(awaited)) => !comparison.holds(*v, *awaited),
            _ => true,
        };
        let mut results = truths.into_iter().chain(others).filter(goes_on);
        let thread = Tid::from_index(thread);
        if results.all(|ret| library.only_looks(&Event { thread, call: call.clone(), ret })) {
            return Ok(());
        }
        let text = tree.as_str().split_whitespace().join(" ");
        if library.name == MESSAGE {
            return advise(
                tree,
                Code::Unsupported,
                format!("{text} takes a message, so await may not make it again and again"),
                format!(
                    "write a {text} for each message that is sent, for example a := {text} and in the next row b := {text}, and \
                     compare the registers after that"
                ),
            );
        }
        advise(
            tree,
            Code::Unsupported,
            format!("{text} does more than look, so await may not make it again and again"),
            format!(
                "write a loop, as a := {text}, and below while, with the opposite of what is awaited of a, and a := {text} in its \
                 block; a library says in the method table which calls only look, as fn check = Check(x: Object) -> Value, looks;"
            ),
        )
    }
}
