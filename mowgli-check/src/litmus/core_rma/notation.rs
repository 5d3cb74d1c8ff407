//! The notation of coreRMA: how statements are read and printed.

use mowgli_core::ids::Name;
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, DeclarationPart};
use mowgli_rdma::core_rma::CORE_RMA;
use mowgli_rdma::core_rma::program::MOST;

use super::{CoreRma, program};
use crate::error::Code;
use crate::litmus::parse::{Parsed, Reader, Rule, Tree, advise, call, fail, part, parts, value};
use crate::litmus::print::argument;
use crate::litmus::semantics::OwnNotation;
use crate::litmus::test::{Arg, Model, Statement, Test};

/// The statements, for messages.
const STATEMENTS: &str = "put(z, x), x := get(z), x := rga(z, y), x := cas(z, y, w), flush(node)";

/// Returns an access and whether it is atomic, which is the default.
fn access<'a>(tree: &Tree<'a>) -> Option<(Tree<'a>, bool)> {
    match tree.as_rule() {
        Rule::name => Some((tree.clone(), true)),
        Rule::access => {
            let is_atomic = part(tree, Rule::atomicity).is_none_or(|t| t.as_str() == "a");
            Some((part(tree, Rule::name)?, is_atomic))
        }
        Rule::argument | Rule::expression => tree.clone().into_inner().find_map(|t| access(&t)),
        _ => None,
    }
}

impl OwnNotation for CoreRma {
    fn statements(&self) -> &'static str {
        STATEMENTS
    }

    fn words(&self) -> DeclarationForm {
        DeclarationForm { kind: "", parts: &[DeclarationPart::Node, DeclarationPart::Init] }
    }

    fn no_value(&self, value: Val) -> Option<String> {
        let why = || format!("{value} is no integer, and {} has no other values", Model::CoreRma);
        value.int().is_none().then(why)
    }

    fn statement(
        &self,
        reader: &Reader<'_>,
        thread: usize,
        target: Option<&Tree<'_>>,
        action: &Tree<'_>,
    ) -> Parsed<Statement> {
        reader.core_rma(thread, target, action)
    }

    fn fault(&self, test: &Test) -> Option<String> {
        let why = || format!("a program of {} has at most {MOST} actions", test.model);
        (program(test).0.size() > MOST).then(why)
    }

    fn call(&self, method: &str, args: &[Arg]) -> String {
        let place = |i: usize| {
            let suffix = if args.get(2 * i + 1) == Some(&Arg::Val(Val::Bool(false))) { ".n" } else { "" };
            args.get(2 * i).map_or_else(String::new, |x| argument(x, true)) + suffix
        };
        match method {
            "Write" => format!("{} := {}", place(0), argument(&args[2], false)),
            "Put" => format!("put({}, {})", place(0), place(1)),
            "Get" => format!("{} := get({})", place(0), place(1)),
            "RGA" => format!("{} := rga({}, {})", place(0), place(1), place(2)),
            "CAS" => format!("{} := cas({}, {}, {})", place(0), place(1), place(2), place(3)),
            "Flush" => format!("flush({})", argument(&args[0], true)),
            _ => place(0),
        }
    }

    fn returns(&self, method: &str) -> bool {
        matches!(method, "Read" | "CAS" | "Xchg" | "FAA")
    }
}

impl Reader<'_> {
    fn core_rma(&self, thread: usize, target: Option<&Tree<'_>>, action: &Tree<'_>) -> Parsed<Statement> {
        let mut all = target.iter().map(|t| (*t).clone()).chain([action.clone()]);
        let computed = |t: &Tree<'_>| matches!(t.as_rule(), Rule::element | Rule::pointee | Rule::pointer);
        if let Some(place) = all.find_map(|t| std::iter::once(t.clone()).chain(t.into_inner().flatten()).find(computed))
        {
            let message = format!("{} names each variable in the text, as x[0]", self.model);
            return fail(&place, Code::Unsupported, message);
        }
        match (action.as_rule(), target) {
            (Rule::expression, Some(target)) => self.local_statement(thread, target, action),
            (Rule::operation, target) => self.remote_statement(thread, target, action),
            _ => {
                let message = format!("this is no statement of {}", self.model);
                advise(action, Code::Form, message, format!("there are {STATEMENTS}"))
            }
        }
    }

    fn is_declared(&self, access: &Tree<'_>) -> bool {
        self.library(access).is_some()
    }

    fn local_statement(&self, thread: usize, target: &Tree<'_>, source: &Tree<'_>) -> Parsed<Statement> {
        if let Some(v) = part(source, Rule::value) {
            self.word_value(&v, value(&v)?)?;
        }
        let from = access(source).filter(|(name, _)| self.is_declared(name));
        let to = access(target).filter(|(name, _)| self.is_declared(name));
        match (to, from) {
            (Some(_), Some((x, _))) => {
                let message = "one statement reads or writes memory, not both";
                advise(&x, Code::Form, message, "read into a register first")
            }
            (Some(to), None) => {
                let place = self.place(thread, to, true)?;
                Ok(call(CORE_RMA, "Write", [place, vec![self.expression(thread, source)?]].concat()))
            }
            (None, _) if target.as_rule() == Rule::access => {
                fail(target, Code::Form, "only declared variables are atomic or not")
            }
            (None, None) => Ok(Statement::Set(Name::new(target.as_str()), self.expression(thread, source)?)),
            (None, Some(from)) => {
                let args = self.place(thread, from, true)?;
                let register = Some(Name::new(target.as_str()));
                Ok(Statement::Call { register, library: CORE_RMA, method: "Read", args })
            }
        }
    }

    fn remote_statement(&self, thread: usize, target: Option<&Tree<'_>>, action: &Tree<'_>) -> Parsed<Statement> {
        let name = part(action, Rule::name).expect("an operation has a name");
        let args: Vec<Tree<'_>> =
            part(action, Rule::arguments).map(|a| parts(&a, Rule::argument).collect()).unwrap_or_default();
        // The form, the method, and for each argument whether it must be on the own node.
        let (form, method, local): (&str, &str, &[bool]) = match name.as_str() {
            "put" => ("put(z, x)", "Put", &[false, true]),
            "get" => ("x := get(z)", "Get", &[false]),
            "rga" => ("x := rga(z, y)", "RGA", &[false, true]),
            "cas" => ("x := cas(z, y, w)", "CAS", &[false, true, true]),
            "flush" => ("flush(node)", "Flush", &[]),
            _ => return self.no_statement(&name),
        };
        let has_target = !matches!(method, "Put" | "Flush");
        let count = if method == "Flush" { 1 } else { local.len() };
        if args.len() != count || has_target != target.is_some() {
            return fail(action, Code::Form, format!("expected {form}"));
        }
        if method == "Flush" {
            return Ok(call(CORE_RMA, "Flush", vec![Arg::Val(self.one_node(&args[0])?.into())]));
        }
        let to = target.map(|t| self.written(thread, t, form)).transpose()?;
        let mut places = vec![to.unwrap_or_default()];
        for (argument, &local) in args.iter().zip(local) {
            places.push(self.place(thread, self.variable(argument)?, local)?);
        }
        Ok(call(CORE_RMA, method, places.concat()))
    }

    /// Reads the word into which an operation writes its result.
    fn written(&self, thread: usize, target: &Tree<'_>, form: &str) -> Parsed<Vec<Arg>> {
        let (name, is_atomic) = self.variable(target)?;
        if self.is_declared(&name) {
            return self.place(thread, (name, is_atomic), true);
        }
        let (text, node) = (name.as_str(), self.world.threads[thread]);
        advise(
            target,
            Code::Unknown,
            format!("{text} is not declared, and {form} writes into a word of memory, not into a register"),
            format!("declare {text}@{node} = 0; and read it after a flush, as a := {text}"),
        )
    }

    fn variable<'a>(&self, tree: &Tree<'a>) -> Parsed<(Tree<'a>, bool)> {
        let message = "a variable is expected here; its value is read when the operation happens";
        access(tree).map_or_else(|| fail(tree, Code::Form, message), Ok)
    }

    /// Returns the two arguments of which an access consists.
    fn place(&self, thread: usize, (name, is_atomic): (Tree<'_>, bool), local: bool) -> Parsed<Vec<Arg>> {
        let x = if local { self.local(thread, &name)? } else { self.remote(thread, &name)? };
        Ok(vec![x, Arg::Val(Val::Bool(is_atomic))])
    }
}
