//! Data flow through terms: what the value of each statement and variable may hold.
//!
//! **Computes** an element of a lattice for a body, or for the subevents of a shape. An analysis says what expressions and calls hold,
//! and learns what each variable holds.
//!
//! **Example.** Symmetry asks which names a value may contain, independence which arguments, and emitted code which type a value has.
//!
//! **Correct because** the value of a branch is one of two, and that of a loop is one of its breaks. A variable has one place that sets
//! it, and is read behind it only.
//!
//! **Cost**: one pass.

use crate::expr::{Expr, Var};
use crate::term::body::{Body, Stmt};
use crate::term::call::CallTerm;
use crate::term::shape::{ShapeTerm, SubTerm};

/// An analysis of terms. The default value is the least one: that of a statement which no thread leaves.
pub trait DataFlow {
    /// The knowledge about a value.
    type Value: Default;

    /// Returns what one of two values holds.
    fn join(&self, one: Self::Value, other: Self::Value) -> Self::Value;
    /// Returns what the value of an expression holds.
    fn expr(&mut self, e: Expr) -> Self::Value;
    /// Returns what the result of a call holds.
    fn call(&mut self, call: &CallTerm) -> Self::Value;
    /// Returns what the elements of a set hold, through which a `for` goes. A `for` of a shape has no order.
    fn elements(&mut self, set: Expr, in_order: bool) -> Self::Value;
    /// Learns what a variable holds.
    fn bind(&mut self, var: Var, value: Self::Value);

    /// Returns what the value of a `for` holds, of whose iterations each has such a value. It is a tuple of them if it `collects`.
    fn each(&mut self, round: Self::Value, collects: bool) -> Self::Value {
        if collects { round } else { Self::Value::default() }
    }

    /// Learns that a condition is decided.
    fn condition(&mut self, condition: Expr) {
        _ = self.expr(condition);
    }

    /// Visits a subevent of a shape.
    fn subevent(&mut self, sub: &SubTerm) {
        let _ = sub;
    }

    /// Returns what the value of a body holds.
    fn of_body(&mut self, body: &Body) -> Self::Value {
        self.statement(body, &mut Self::Value::default())
    }

    /// Returns what the value of a statement holds. Adds what the breaks of the innermost loop around it hold.
    fn statement(&mut self, body: &Body, broken: &mut Self::Value) -> Self::Value {
        match body.stmt() {
            Stmt::Value(e) => self.expr(*e),
            Stmt::Call(call) => self.call(call),
            Stmt::Break(e) => {
                let value = self.expr(*e);
                *broken = self.join(std::mem::take(broken), value);
                Self::Value::default()
            }
            Stmt::Let(var, first, rest) => {
                let value = self.statement(first, broken);
                if let Some(var) = var {
                    self.bind(*var, value);
                }
                self.statement(rest, broken)
            }
            Stmt::If(condition, yes, no) => {
                self.condition(*condition);
                let (yes, no) = (self.statement(yes, broken), self.statement(no, broken));
                self.join(yes, no)
            }
            Stmt::Loop(round) => {
                let mut own = Self::Value::default();
                self.statement(round, &mut own);
                own
            }
            Stmt::For(var, set, round) | Stmt::Collect(var, set, round) => {
                let element = self.elements(*set, true);
                self.bind(*var, element);
                let round = self.statement(round, broken);
                self.each(round, matches!(body.stmt(), Stmt::Collect(..)))
            }
        }
    }

    /// Visits the subevents of a shape.
    fn of_shape(&mut self, shape: &ShapeTerm) {
        match shape {
            ShapeTerm::Sub(sub) => self.subevent(sub),
            ShapeTerm::Seq(parts) | ShapeTerm::Either(parts) => parts.iter().for_each(|part| self.of_shape(part)),
            ShapeTerm::If(condition, yes, no) => {
                self.condition(*condition);
                self.of_shape(yes);
                self.of_shape(no);
            }
            ShapeTerm::For(var, set, part) => {
                let element = self.elements(*set, false);
                self.bind(*var, element);
                self.of_shape(part);
            }
        }
    }
}
