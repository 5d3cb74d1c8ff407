//! Warnings about waits that wait for nothing. They are allowed, but probably not intended.

use itertools::Itertools;
use mowgli_core::ids::{Name, Wid};
use mowgli_core::term::method::{ArgumentKind, Method};
use mowgli_core::value::Val;
use mowgli_rdma::Way;
use mowgli_rdma::tso::completions::PAIRS;

use super::{Parsed, Reader, Tree, advise};
use crate::error::{Code, Place};
use crate::litmus::test::{Arg, Statement, TestThread, Warning};

/// A statement, by thread and position.
type StatementPosition = (usize, usize);

/// A call that carries an identifier.
struct Marked {
    at: StatementPosition,
    library: Name,
    is_wait: bool,
    identifier: Name,
}

/// True if a method only waits for the operations that have an identifier.
fn is_wait(method: &Method) -> bool {
    matches!(method.takes, [(_, ArgumentKind::Id)])
}

impl Reader<'_> {
    /// Returns a warning for each wait that no operation before it in its thread can end.
    pub(super) fn warnings(&self, path: &str, parts_of_file: &[Tree<'_>]) -> Vec<Warning> {
        let text = parts_of_file[0].get_input();
        let mut places: Vec<((usize, usize), StatementPosition)> = Vec::new();
        for (thread, spans) in self.spans.iter().enumerate() {
            places.extend(spans.iter().copied().zip((0..).map(|position| (thread, position))));
        }
        places.sort_unstable();
        let warning = |((start, end), at): ((usize, usize), StatementPosition)| {
            let message = self.waits_for_nothing(at)?;
            Some(Warning { place: Place::of(path, text, start..end), message })
        };
        places.into_iter().filter_map(warning).collect()
    }

    /// Checks that no thread that asks for events may use more queue pairs than the model distinguishes.
    pub(super) fn completions_fit(&self, parts_of_file: &[Tree<'_>]) -> Parsed<()> {
        let numbers = |s: &Statement| match s {
            Statement::Call { args, .. } => {
                args.first().and_then(|w| if let Arg::Val(w) = w { Way::of(*w).ok() } else { None })
            }
            _ => None,
        };
        let asks = |t: &&TestThread| t.statements.iter().any(|s| matches!(s, Statement::Call { method: "Arm", .. }));
        for thread in self.threads.iter().filter(asks) {
            let others =
                thread.statements.iter().filter_map(numbers).map(|way| way.queue).filter(|q| *q > 1).unique().count();
            let pairs = usize::from(self.world.nodes) * (1 + others);
            if pairs > PAIRS {
                let (name, nodes) = (thread.name, self.world.nodes);
                return advise(
                    &parts_of_file[0],
                    Code::Unsupported,
                    format!(
                        "{name} asks for events, and may use {pairs} queue pairs to {nodes} nodes: the model distinguishes at \
                         most {PAIRS}"
                    ),
                    "use fewer nodes or queue pairs",
                );
            }
        }
        Ok(())
    }

    fn marked(&self, at: StatementPosition) -> Option<Marked> {
        let Statement::Call { library, method, args, .. } = &self.threads[at.0].statements[at.1] else { return None };
        let identifier = args.iter().find_map(|arg| match arg {
            Arg::Val(Val::Wid(Wid(d))) => Some(*d),
            _ => None,
        })?;
        let is_wait = self.wait_of(*library).is_some_and(|wait| wait.name == *method);
        Some(Marked { at, library: *library, is_wait, identifier })
    }

    fn waits_for_no_identifier(&self, (thread, position): StatementPosition) -> bool {
        let statement = &self.threads[thread].statements[position];
        matches!(statement, Statement::Call { args, .. } if args[..] == [Arg::Val(Val::NoWid)])
    }

    /// Returns the method of a library that waits.
    fn wait_of(&self, library: Name) -> Option<&'static Method> {
        self.known.library(library)?.methods.iter().copied().find(|m| is_wait(m))
    }

    /// Prints the wait of a library.
    fn wait(&self, library: Name, d: Name) -> String {
        match self.wait_of(library) {
            Some(wait) if !wait.is_statement => format!("{library}.{}({d})", wait.statement()),
            _ => format!("wait({d})"),
        }
    }

    /// Returns the warning about a statement, if it is a wait for nothing.
    fn waits_for_nothing(&self, at: StatementPosition) -> Option<String> {
        if self.waits_for_no_identifier(at) {
            return Some(
                "_ is no identifier, and this waits for nothing: give the operation one, as put(z, x, d)".into(),
            );
        }
        let wait = self.marked(at).filter(|wait| wait.is_wait)?;
        let places = self.threads.iter().enumerate();
        let places = places.flat_map(|(t, thread)| (0..thread.statements.len()).map(move |p| (t, p)));
        let issued = places.filter_map(|place| self.marked(place));
        let issued: Vec<Marked> = issued.filter(|o| !o.is_wait && o.identifier == wait.identifier).collect();
        let is_before = |o: &&Marked| o.at.0 == at.0 && self.threads[at.0].may_precede(o.at.1, at.1);
        let is_meant = |o: &Marked| o.library == wait.library && is_before(&o);
        (!issued.iter().any(is_meant)).then(|| {
            let nearest = issued.iter().rfind(is_before).or_else(|| issued.iter().find(|o| o.at.0 == at.0));
            format!("this waits for nothing: {}", self.instead(&wait, nearest.or_else(|| issued.first())))
        })
    }

    /// Explains why a wait waits for nothing, and what to write instead, by the operation that is nearest to the likely
    /// intention.
    fn instead(&self, of: &Marked, nearest: Option<&Marked>) -> String {
        let d = of.identifier;
        let Some(nearest) = nearest else {
            return format!("no operation has the identifier {d}; give it to the one that is meant, as put(z, x, {d})");
        };
        let (thread, position) = nearest.at;
        let (line, text) = &self.threads[thread].source[position];
        if thread != of.at.0 {
            let name = self.threads[thread].name;
            return format!("{d} is of {text} (line {line}) in {name}, and a wait is for operations of its own thread");
        }
        if position > of.at.1 {
            return format!("{text} (line {line}), which has the identifier {d}, comes after it");
        }
        let (library, meant) = (nearest.library, self.wait(nearest.library, d));
        format!("{d} is of {text} (line {line}), an operation of {library}; write {meant}")
    }
}
