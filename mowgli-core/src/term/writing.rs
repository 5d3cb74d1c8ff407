//! The script of a body: each statement is written once, before what follows it.

use std::sync::LazyLock;

use crate::expr::{Expr, Var};
use crate::ids::NodeSet;
use crate::term::body::{Body, Stmt};
use crate::term::call::CallTerm;
use crate::term::script::{CallOf, Instruction, Label, Script, ScriptWriter, StopPoints, VarNumber};
use crate::value::Val;

/// The destination of the value of a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    Nowhere,
    Slot(VarNumber),
    Return,
}

/// A writer of the script of a body.
#[derive(Default)]
struct BodyWriter {
    writer: ScriptWriter,
    /// The loops around the next instruction: the depth outside, the destination of the value, and the end.
    loops: Vec<(usize, Goal, Label)>,
}

impl Script {
    /// Returns the code of a body.
    #[must_use]
    pub fn of(body: &Body) -> Self {
        let mut writer = BodyWriter::default();
        writer.body(body, Goal::Return);
        writer.writer.finish()
    }

    /// Returns the code of a body whose thread may stop at each of its calls.
    pub(crate) fn stopping(body: &Body, points: StopPoints) -> Self {
        let mut writer = BodyWriter::default();
        let (stop, stopped) = (writer.writer.label(), points.stopped);
        writer.writer.points = Some((points, stop));
        writer.body(body, Goal::Return);
        writer.writer.place(stop);
        writer.writer.end(stopped);
        writer.writer.finish()
    }

    /// Returns `loop {}`.
    #[must_use]
    pub fn never() -> Self {
        static NEVER: LazyLock<Script> = LazyLock::new(|| Script::of(&Body::never()));
        NEVER.clone()
    }
}

impl From<Body> for Script {
    fn from(body: Body) -> Self {
        Self::of(&body)
    }
}

impl From<&Body> for Script {
    fn from(body: &Body) -> Self {
        Self::of(body)
    }
}

impl BodyWriter {
    /// Writes a body.
    fn body(&mut self, body: &Body, goal: Goal) {
        body.statements(&mut |part| match part.stmt() {
            Stmt::Let(Some(var), ..) | Stmt::For(var, ..) | Stmt::Collect(var, ..) => {
                self.writer.next = self.writer.next.max(var.number + 1);
                self.writer.names.push((var.number, var.name));
            }
            _ => {}
        });
        self.statement(body, goal);
    }

    fn give(&mut self, value: Expr, goal: Goal) {
        match goal {
            Goal::Nowhere => {}
            Goal::Slot(slot) => self.writer.set(slot, value),
            Goal::Return => self.writer.end(value),
        }
    }

    /// Writes a statement. Its value goes to the goal, and then the thread is at the next instruction, or has returned.
    fn statement(&mut self, body: &Body, goal: Goal) {
        match body.stmt() {
            Stmt::Value(e) => self.give(*e, goal),
            Stmt::Call(call) => self.method(call, goal),
            Stmt::Let(var, first, rest) => {
                self.statement(first, var.map_or(Goal::Nowhere, |var| Goal::Slot(var.number)));
                self.statement(rest, goal);
            }
            Stmt::If(condition, yes, no) => {
                let (other, end) = (self.writer.label(), self.writer.label());
                self.writer.unless(*condition, other);
                self.statement(yes, goal);
                if goal != Goal::Return {
                    self.writer.jump(self.writer.depth, end);
                }
                self.writer.place(other);
                self.statement(no, goal);
                self.writer.place(end);
            }
            Stmt::Loop(round) => {
                let end = self.writer.label();
                self.loops.push((self.writer.depth, goal, end));
                let first = self.writer.begin_loop();
                self.statement(round, Goal::Nowhere);
                self.writer.end_loop(first);
                self.loops.pop();
                self.writer.place(end);
            }
            Stmt::Break(e) => match self.loops.last() {
                None => self.writer.escape(),
                Some(&(depth, to, end)) => {
                    self.give(*e, to);
                    if to != Goal::Return {
                        self.writer.jump(depth, end);
                    }
                }
            },
            Stmt::For(var, all, round) => {
                self.each(*var, *all, round, None);
                self.give(Val::Unit.into(), goal);
            }
            Stmt::Collect(var, all, round) => {
                let (value, tuple) = (self.writer.fresh(), self.writer.fresh());
                self.each(*var, *all, round, Some((value, tuple)));
                self.give(ScriptWriter::value(tuple), goal);
            }
        }
    }

    fn each(&mut self, var: Var, all: Expr, round: &Body, collects: Option<(VarNumber, VarNumber)>) {
        let (slot, first, end) = (var.number, self.writer.label(), self.writer.label());
        let tuple = collects.map(|(_, tuple)| tuple);
        self.writer.instructions.push(Instruction::For { slot, all, end: end.0, tuple });
        self.writer.depth += 1;
        self.writer.place(first);
        self.statement(round, collects.map_or(Goal::Nowhere, |(value, _)| Goal::Slot(value)));
        self.writer.instructions.push(Instruction::Next { slot, first: first.0, collects });
        self.writer.depth -= 1;
        self.writer.place(end);
    }

    /// Writes a call of a body.
    fn method(&mut self, call: &CallTerm, goal: Goal) {
        let to = match goal {
            Goal::Nowhere => None,
            Goal::Slot(slot) => Some(slot),
            Goal::Return => Some(self.writer.fresh()),
        };
        match self.writer.points.clone() {
            None => self.writer.call(CallOf::Method(call.clone()), to),
            Some((points, stop)) => {
                // Where a call does nothing there is no point.
                let (nothing, behind) = (self.writer.label(), self.writer.label());
                call.args.iter().for_each(|arg| self.writer.unless(arg.is_not(NodeSet::default()), nothing));
                self.writer.call_or_stop(CallOf::Method(call.clone()), to, &points, stop);
                self.writer.jump(self.writer.depth, behind);
                self.writer.place(nothing);
                to.into_iter().for_each(|to| self.writer.set(to, Val::Unit));
                self.writer.place(behind);
            }
        }
        if let (Goal::Return, Some(to)) = (goal, to) {
            self.writer.end(ScriptWriter::value(to));
        }
    }
}
