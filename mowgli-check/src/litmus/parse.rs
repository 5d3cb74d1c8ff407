//! Reading a litmus file. Errors name line and column, show the line, and say what was expected.

use std::collections::BTreeMap;

use itertools::Itertools;

use mowgli_core::event::{Call, Cell};
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid, Wid};
use mowgli_core::method::Kind;
use mowgli_core::value::Val;
use mowgli_core::world::{Object, Part, World};
use mowgli_rdma::core_rma::execution::MOST;
use mowgli_x86::tso::MACHINE;
use pest::error::{Error, ErrorVariant, InputLocation};
use pest::iterators::Pair;
use pest::{Parser, Span};
use pest_derive::Parser;

mod calls;
mod core_rma;
mod objects;
mod waits;

use super::condition::Condition;
use super::core_rma::program;
use super::known::Known;
use super::test::{Arg, Assertion, Model, Observable, Quantifier, Statement, Test, Thread};
use crate::catalogue::Catalogue;

#[allow(missing_docs, reason = "generated")]
mod grammar {
    use super::Parser;
    #[derive(Parser)]
    #[grammar = "litmus/grammar.pest"]
    pub(super) struct Grammar;
}
use grammar::{Grammar, Rule};

type Tree<'a> = Pair<'a, Rule>;
type Parsed<T> = Result<T, Box<Error<Rule>>>;

/// Reads a test of the libraries that are built in. `path` is shown in errors.
///
/// # Errors
/// What is wrong, with line, column and remedy, ready to print.
pub fn parse(path: &str, text: &str) -> Result<Test, String> {
    parse_in(Catalogue::builtin(), path, text)
}

/// Reads a test of the libraries of a catalogue. `path` is shown in errors.
///
/// # Errors
/// What is wrong, with line, column and remedy, ready to print.
pub fn parse_in(catalogue: &Catalogue, path: &str, text: &str) -> Result<Test, String> {
    read(catalogue, path, text).map_err(|e| {
        let e = foreign(text, &e).unwrap_or(e);
        let help = help(text, &e).map_or(String::new(), |help| format!("\n  = help: {help}"));
        e.with_path(path).renamed_rules(|r| describe(*r)).to_string() + &help
    })
}

/// Words that begin statements of languages with loops and branches.
const FOREIGN: [&str; 8] = ["while", "if", "for", "do", "loop", "repeat", "until", "goto"];

/// What is said of such a word.
fn not_straight(word: &str) -> String {
    format!(
        "there is no {word}: a thread makes its statements once each, from top to bottom; to speak of what happens after p \
         was seen to be 1, read it, as a := p, and say a=1 in the assertion, as forbidden (a=1 /\\ ...)"
    )
}

/// What is wrong where the statement that cannot be read is one of a language with loops or branches.
fn foreign(text: &str, error: &Error<Rule>) -> Option<Box<Error<Rule>>> {
    let (ErrorVariant::ParsingError { .. }, InputLocation::Pos(at)) = (&error.variant, &error.location) else {
        return None;
    };
    let cell = text[text[..*at].rfind(['|', ';', '}'])? + 1..].trim_start();
    let is_first = |word: &&str| {
        let rest = cell.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '\''))
    };
    let word = FOREIGN.into_iter().find(is_first)?;
    let start = text.len() - cell.len();
    let span = Span::new(text, start, start + word.len())?;
    Some(Box::new(Error::new_from_span(ErrorVariant::CustomError { message: not_straight(word) }, span)))
}

/// What is meant, where a test is written in a way that others have.
fn help(text: &str, error: &Error<Rule>) -> Option<&'static str> {
    let (ErrorVariant::ParsingError { .. }, InputLocation::Pos(at)) = (&error.variant, &error.location) else {
        return None;
    };
    let (before, rest) = text.split_at(*at);
    let line = text.lines().nth(before.matches('\n').count()).unwrap_or_default();
    let asserts = |l: &str| {
        ["allowed", "forbidden", "forall", "exists", "~exists", "locations", "vacuous"].iter().any(|q| l.starts_with(q))
    };
    if !before.contains('}') {
        before.contains('{').then_some("a declaration is written as x@1 = 0; with a semicolon")
    } else if before.lines().any(asserts) || asserts(line) {
        None
    } else if rest.trim_start().starts_with('=') {
        Some("an assignment is written with :=, as x := 1")
    } else if !line.trim_end().ends_with(';') {
        Some("each row of the table ends with a semicolon")
    } else {
        None
    }
}

/// Where the columns of a test are in its text: from the head to the end of the last row.
///
/// # Errors
/// If the text is no test.
pub fn columns(text: &str) -> Result<std::ops::Range<usize>, String> {
    let file = Grammar::parse(Rule::file, text).map_err(|e| e.to_string())?.next().expect("a file is one tree");
    let table = file.into_inner().filter(|t| matches!(t.as_rule(), Rule::head | Rule::row));
    let spans: Vec<_> = table.map(|t| t.as_span()).collect();
    Ok(spans[0].start()..spans[spans.len() - 1].end())
}

fn describe(rule: Rule) -> String {
    match rule {
        Rule::EOI => "the end of the file".into(),
        Rule::node => "a number".into(),
        Rule::name => "a name".into(),
        Rule::test_name => "the test's name".into(),
        Rule::cell | Rule::statement | Rule::action => "a statement".into(),
        Rule::placement => "a thread with its node, as P1@1".into(),
        Rule::footer => "an assertion".into(),
        Rule::quantifier => "allowed, forbidden or forall".into(),
        Rule::sign => "+".into(),
        Rule::address => "an address, as &x".into(),
        Rule::pointee => "an access through a register, as *p".into(),
        Rule::arguments => "arguments, as (x, y)".into(),
        Rule::atomicity => "a or n".into(),
        Rule::undefined => "top".into(),
        Rule::kind => "a kind of object".into(),
        Rule::names => "threads, as {P1, P2}".into(),
        Rule::roles => "threads, as P1 -> {P2}".into(),
        Rule::value => "a value".into(),
        Rule::at => "a node, as at 1".into(),
        Rule::words => "a size, as [2]".into(),
        Rule::size => "a size, as size 4".into(),
        Rule::begins => "an initial value, or threads, after =".into(),
        other => format!("{other:?}").replace('_', " "),
    }
}

fn fail<T>(at: &Tree<'_>, message: impl Into<String>) -> Parsed<T> {
    Err(Box::new(Error::new_from_span(ErrorVariant::CustomError { message: message.into() }, at.as_span())))
}

fn read(catalogue: &Catalogue, path: &str, text: &str) -> Parsed<Test> {
    let file = Grammar::parse(Rule::file, text).map_err(Box::new)?.next().expect("a file is one tree");
    let parts: Vec<Tree<'_>> = file.into_inner().collect();
    let mut reader = Reader::new(catalogue, model(&parts)?, &parts)?;
    let mut name = String::new();
    let mut description = None;
    for part in &parts {
        match part.as_rule() {
            Rule::test_name => name = part.as_str().to_owned(),
            Rule::description => description = part.clone().into_inner().next().map(|t| t.as_str().to_owned()),
            Rule::row => reader.row(part)?,
            _ => {}
        }
    }
    let (observed, shown, assertions) = reader.footers(&parts)?;
    let warnings = reader.warnings(path, &parts);
    let test = Test {
        model: reader.model,
        name,
        description,
        world: reader.world,
        literals: reader.literals,
        threads: reader.threads,
        observed,
        shown,
        assertions,
        warnings,
    };
    if test.model == Model::CoreRma && program(&test).0.size() > MOST {
        return fail(&parts[0], format!("a program of {} has at most {MOST} actions", test.model));
    }
    Ok(test)
}

/// The memory model that the header names.
fn model(parts_of_file: &[Tree<'_>]) -> Parsed<Model> {
    let tree = parts_of_file.iter().find(|t| t.as_rule() == Rule::model).expect("the grammar has a model");
    let known = Model::ALL.into_iter().find(|m| m.to_string() == tree.as_str());
    let names = || Model::ALL.iter().join(", ");
    known
        .map_or_else(|| fail(tree, format!("model {} is not available; this build has {}", tree.as_str(), names())), Ok)
}

struct Reader<'c> {
    catalogue: &'c Catalogue,
    model: Model,
    known: Known,
    world: World,
    threads: Vec<Thread>,
    names: BTreeMap<String, Tid>,
    literals: BTreeMap<Loc, Val>,
}

fn part<'a>(tree: &Tree<'a>, rule: Rule) -> Option<Tree<'a>> {
    tree.clone().into_inner().find(|t| t.as_rule() == rule)
}

fn parts<'a>(tree: &Tree<'a>, rule: Rule) -> impl Iterator<Item = Tree<'a>> {
    tree.clone().into_inner().filter(move |t| t.as_rule() == rule)
}

fn number<T: std::str::FromStr>(tree: &Tree<'_>) -> Parsed<T> {
    tree.as_str().parse().or_else(|_| fail(tree, "this number is too large"))
}

fn node_name(tree: &Tree<'_>) -> Parsed<Node> {
    match number::<u8>(tree)? {
        n @ 1..=63 => Ok(Node(n)),
        _ => fail(tree, "nodes are numbered from 1 to 63"),
    }
}

fn value(tree: &Tree<'_>) -> Parsed<Val> {
    let tree = tree.clone().into_inner().next().expect("a value has a form");
    match tree.as_rule() {
        Rule::number => Ok(Val::Int(number(&tree)?)),
        Rule::constant => Ok(match tree.as_str() {
            "true" => Val::Bool(true),
            "false" => Val::Bool(false),
            _ => Val::Bot,
        }),
        Rule::address => Ok(Val::Loc(Loc::new(part(&tree, Rule::name).expect("by the grammar").as_str()))),
        _ => {
            let values: Parsed<Vec<Val>> = tree.into_inner().map(|t| value(&t)).collect();
            Ok(Val::tuple(&values?))
        }
    }
}

/// The access through a register that a tree is or has in it.
fn pointee<'a>(tree: &Tree<'a>) -> Option<Tree<'a>> {
    let mut all = std::iter::once(tree.clone()).chain(tree.clone().into_inner().flatten());
    all.find(|t| t.as_rule() == Rule::pointee)
}

impl<'c> Reader<'c> {
    fn new(catalogue: &'c Catalogue, model: Model, parts_of_file: &[Tree<'_>]) -> Parsed<Self> {
        let head = parts_of_file.iter().find(|t| t.as_rule() == Rule::head).expect("the grammar has a head");
        let (world, threads, names) = (World::new(1, &[]), Vec::new(), BTreeMap::new());
        let (known, literals) = (Known::of(catalogue, model), BTreeMap::new());
        let mut reader = Self { catalogue, model, known, world, threads, names, literals };
        for placement in parts(head, Rule::placement) {
            reader.placement(&placement)?;
        }
        for declaration in parts_of_file.iter().filter(|t| t.as_rule() == Rule::declaration) {
            reader.declaration(declaration)?;
        }
        Ok(reader)
    }

    fn placement(&mut self, tree: &Tree<'_>) -> Parsed<()> {
        let name = part(tree, Rule::name).expect("a placement has a name");
        if self.threads.len() >= 62 {
            return fail(tree, "at most 62 threads");
        }
        let tid = Tid::from_index(self.threads.len());
        if self.names.insert(name.as_str().to_owned(), tid).is_some() {
            return fail(&name, format!("there are two threads named {}", name.as_str()));
        }
        let node = self.node_or_machine(tree, "P1@1")?;
        if self.model == Model::CoreRma && self.world.threads.contains(&node) {
            return fail(
                tree,
                format!("{} has one process a node, and there is one on node {node} already", self.model),
            );
        }
        self.world.threads.push(node);
        let name = Name::new(name.as_str());
        self.threads.push(Thread {
            name,
            statements: Vec::new(),
            source: Vec::new(),
            texts: Vec::new(),
            registers: Vec::new(),
        });
        Ok(())
    }

    /// A node that is named; without a `nodes` declaration the largest one named is the last there is.
    fn node(&mut self, tree: &Tree<'_>) -> Parsed<Node> {
        let node = node_name(tree)?;
        self.world.nodes = self.world.nodes.max(node.0);
        Ok(node)
    }

    /// The node on which a word or a thread is. The one machine of x86-TSO need not be named.
    fn node_or_machine(&mut self, tree: &Tree<'_>, form: &str) -> Parsed<Node> {
        match part(tree, Rule::node) {
            Some(node) if self.model == Model::X86Tso && node_name(&node)? != MACHINE => {
                fail(&node, format!("{} is one machine, node 1; leave the node out", self.model))
            }
            Some(node) => self.node(&node),
            None if self.model == Model::X86Tso => Ok(MACHINE),
            None => fail(tree, format!("{} has several nodes; say on which one this is, as {form}", self.model)),
        }
    }

    /// A value; of those that are locations only where the model has them.
    fn value(&self, tree: &Tree<'_>) -> Parsed<Val> {
        let mut addresses = tree.clone().into_inner().flatten().filter(|t| t.as_rule() == Rule::address);
        addresses.try_for_each(|address| {
            self.has_addresses(&address)?;
            self.object(&part(&address, Rule::name).expect("by the grammar"), self.memory()).map(|_| ())
        })?;
        value(tree)
    }

    fn has_addresses(&self, tree: &Tree<'_>) -> Parsed<()> {
        if self.model == Model::X86Tso {
            return Ok(());
        }
        fail(tree, format!("words of {} hold no locations; those of {} do", self.model, Model::X86Tso))
    }

    /// The library of memory words.
    fn memory(&self) -> Name {
        self.model.memory()
    }

    fn row(&mut self, tree: &Tree<'_>) -> Parsed<()> {
        let cells: Vec<Tree<'_>> = parts(tree, Rule::cell).collect();
        if let Some(extra) = cells.get(self.threads.len()) {
            return fail(extra, format!("this row has more columns than there are threads ({})", self.threads.len()));
        }
        for (thread, cell) in cells.iter().enumerate() {
            if let Some(tree) = part(cell, Rule::statement) {
                let statement = self.statement(thread, &tree)?;
                self.without_fault(thread, &tree, &statement)?;
                let text = tree.as_str().split_whitespace().join(" ");
                self.threads[thread].source.push((tree.line_col().0, text.clone()));
                if matches!(statement, Statement::Call { .. }) {
                    self.threads[thread].texts.push(text);
                }
                if let Some(r) = statement.register().filter(|r| !self.threads[thread].registers.contains(r)) {
                    self.threads[thread].registers.push(r);
                }
                self.threads[thread].statements.push(statement);
            }
        }
        Ok(())
    }

    /// A call that no program may make is bad input: its library says what is wrong with it.
    fn without_fault(&self, thread: usize, tree: &Tree<'_>, statement: &Statement) -> Parsed<()> {
        let Statement::Call { library, method, args, .. } = statement else { return Ok(()) };
        let Some(library) = self.known.library(*library) else { return Ok(()) };
        let takes = library.method(method).map_or(&[][..], |m| m.takes);
        let is_pointed = |((_, kind), arg): (&(_, Kind), &Arg)| kind.is_object() && matches!(arg, Arg::Register(..));
        if takes.iter().zip(args).any(is_pointed) {
            return Ok(());
        }
        // Otherwise only data can come from a register: what is wrong whatever they are, a number or what is in the object.
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
        // Whether there is nothing wrong but where a location is.
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
                fail(
                    tree,
                    format!(
                        "{text}: {x} is on node {n}, and {name} on node {here}; let {x} be declared on node {here}, or the \
                         call be made by a thread on node {n}, or reach {x} by a put or a get"
                    ),
                )
            }
            None if call.library == self.memory() => {
                fail(tree, format!("{text}: {fault}; {} has {}", self.model, self.statements()))
            }
            None => fail(tree, format!("{text}: {fault}")),
        }
    }

    fn statement(&mut self, thread: usize, tree: &Tree<'_>) -> Parsed<Statement> {
        let target = part(tree, Rule::target).and_then(|t| t.into_inner().next());
        let action = part(tree, Rule::action).expect("a statement acts").into_inner().next().expect("in some way");
        if self.model == Model::CoreRma {
            return self.core_rma(thread, target.as_ref(), &action);
        }
        let suffix = target.iter().cloned().chain(action.clone().into_inner().flatten());
        if let Some(access) = suffix.filter(|t| t.as_rule() == Rule::access).last() {
            return fail(&access, format!("atomic and other accesses are told apart in {} only", Model::CoreRma));
        }
        match (action.as_rule(), target) {
            (Rule::expression, None) => match self.bare(action.as_str().trim()) {
                Some(call) => Ok(call),
                None => fail(&action, "this is no statement; to drop a read, assign it to a register"),
            },
            (Rule::expression, Some(target)) => self.assignment(thread, &target, &action),
            (_, target) => {
                let call = self.call(thread, &action)?;
                self.result_to(target.as_ref(), call)
            }
        }
    }

    fn result_to(&self, target: Option<&Tree<'_>>, call: Statement) -> Parsed<Statement> {
        let Some(target) = target else { return Ok(call) };
        if self.world.objects.contains_key(&Loc::new(target.as_str())) {
            return fail(target, format!("{} is declared; a result goes into a register", target.as_str()));
        }
        match call {
            Statement::Call { library, method, args, .. } if self.known.returns(library, method) => {
                Ok(Statement::Call { register: Some(Name::new(target.as_str())), library, method, args })
            }
            _ => fail(target, "this method returns nothing; drop the register"),
        }
    }

    fn assignment(&mut self, thread: usize, target: &Tree<'_>, source: &Tree<'_>) -> Parsed<Statement> {
        let to = self.library(target).or(pointee(target).map(|_| self.memory()));
        let from = pointee(source).or_else(|| part(source, Rule::name).filter(|n| self.library(n).is_some()));
        match (to, from) {
            (None, Some(x)) => {
                let read = call(self.memory(), "Read", vec![self.local(thread, &x)?]);
                self.result_to(Some(target), read)
            }
            (None, None) => Ok(Statement::Set(Name::new(target.as_str()), self.expression(thread, source)?)),
            (Some(_), Some(x)) => {
                fail(&x, "one statement reads or writes memory, not both: read into a register first")
            }
            (Some(_), None) => {
                Ok(call(self.memory(), "Write", vec![self.local(thread, target)?, self.expression(thread, source)?]))
            }
        }
    }

    fn library(&self, name: &Tree<'_>) -> Option<Name> {
        self.world.objects.get(&Loc::new(name.as_str().trim())).map(|o| o.library)
    }

    fn object(&self, tree: &Tree<'_>, library: Name) -> Parsed<Loc> {
        let text = tree.as_str().trim();
        match self.world.objects.get(&Loc::new(text)) {
            Some(o) if o.library == library => Ok(Loc::new(text)),
            Some(o) => fail(tree, format!("{text} is an object of {}, and one of {library} is expected", o.library)),
            None => self.undeclared(tree),
        }
    }

    fn undeclared<T>(&self, tree: &Tree<'_>) -> Parsed<T> {
        let text = tree.as_str().trim();
        let close = self.world.objects.keys().map(|l| l.to_string());
        let close: Vec<String> =
            close.filter(|l| l.len().abs_diff(text.len()) <= 1 && l.starts_with(&text[..1])).collect();
        let hint = if close.is_empty() { String::new() } else { format!("; did you mean {}?", close.join(" or ")) };
        fail(tree, format!("{text} is not declared{hint}"))
    }

    /// The register of the thread that stands where a word of memory is to stand.
    fn register_in(&self, thread: usize, tree: &Tree<'_>) -> Option<Name> {
        let mut all = std::iter::once(tree.clone()).chain(tree.clone().into_inner().flatten());
        let name = all.find(|t| t.as_rule() == Rule::name).filter(|n| self.library(n).is_none())?;
        self.threads[thread].registers.iter().find(|r| r.text() == name.as_str()).copied()
    }

    fn word_of_memory(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Loc> {
        match self.register_in(thread, tree) {
            Some(r) => {
                fail(tree, format!("{r} is a register, and this is to be a word of memory, declared as w@1 = 0;"))
            }
            None => self.object(tree, self.memory()),
        }
    }

    /// The location that a register holds.
    fn pointed(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        self.has_addresses(tree)?;
        let name = part(tree, Rule::name).expect("by the grammar");
        self.register(thread, &name).map(|r| Arg::Register(r, 0))
    }

    fn local(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        if let Some(pointee) = pointee(tree) {
            return self.pointed(thread, &pointee);
        }
        let x = self.word_of_memory(thread, tree)?;
        let (home, here) = (self.world.home(x), self.world.threads[thread]);
        if home != Some(here) {
            let home = home.map_or_else(|| "no node".to_owned(), |n| format!("node {n}"));
            let name = self.threads[thread].name;
            return fail(tree, format!("{x} is on {home} and {name} on node {here}; use put or get for remote memory"));
        }
        Ok(Arg::Val(x.into()))
    }

    fn remote(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        Ok(Arg::Val(self.word_of_memory(thread, tree)?.into()))
    }

    fn expression(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        if let Some(v) = part(tree, Rule::value) {
            return Ok(Arg::Val(self.value(&v)?));
        }
        let (name, add) = match part(tree, Rule::sum) {
            Some(sum) => {
                let k = number(&part(&sum, Rule::number).expect("by the grammar"))?;
                (part(&sum, Rule::name).expect("by the grammar"), k)
            }
            None => match part(tree, Rule::name) {
                Some(name) => (name, 0),
                None => return fail(tree, "one statement accesses memory once: read into a register first"),
            },
        };
        Ok(Arg::Register(self.register(thread, &name)?, add))
    }

    /// A register that was set before.
    fn register(&self, thread: usize, name: &Tree<'_>) -> Parsed<Name> {
        let register = Name::new(name.as_str());
        if !self.threads[thread].registers.contains(&register) {
            return fail(name, format!("{register} is neither declared nor a register that was set before"));
        }
        Ok(register)
    }

    fn data(&self, thread: usize, argument: &Tree<'_>) -> Parsed<Arg> {
        match part(argument, Rule::expression) {
            Some(e) => self.expression(thread, &e),
            None => fail(argument, "a value is expected here, not a set of nodes"),
        }
    }

    fn identifier(argument: Option<&Tree<'_>>) -> Parsed<Arg> {
        let Some(argument) = argument else { return Ok(Arg::Val(Val::NoWid)) };
        let text = argument.as_str().trim();
        let is_name = part(argument, Rule::expression).and_then(|e| part(&e, Rule::name)).is_some();
        match text {
            "_" => Ok(Arg::Val(Val::NoWid)),
            _ if is_name => Ok(Arg::Val(Wid(Name::new(text)).into())),
            _ => fail(argument, "a work identifier is expected here, as d"),
        }
    }

    fn targets(&self, argument: &Tree<'_>) -> Parsed<Option<NodeSet>> {
        let Some(nodes) = part(argument, Rule::nodes) else {
            return fail(argument, "a set of nodes is expected here, as {1, 2}");
        };
        let mut set = Vec::new();
        for tree in parts(&nodes, Rule::node) {
            let node = node_name(&tree)?;
            if node.0 > self.world.nodes {
                return fail(
                    &tree,
                    format!("there are only {} nodes; declare more with nodes {node};", self.world.nodes),
                );
            }
            set.push(node);
        }
        Ok((!set.is_empty()).then(|| set.into_iter().collect()))
    }

    /// The source of a put: a local word, or a constant, which gets a private word of its own.
    fn source(&mut self, thread: usize, argument: &Tree<'_>) -> Parsed<Arg> {
        if let Some(r) = self.register_in(thread, argument) {
            let (text, node) = (argument.as_str().trim(), self.world.threads[thread]);
            return fail(
                argument,
                format!(
                    "a put sends a word of memory, and {r} is a register, which the network card cannot read: declare a \
                     word w@{node} = 0; write w := {text} before the put, and put w"
                ),
            );
        }
        let Some(v) = part(argument, Rule::expression).and_then(|e| part(&e, Rule::value)) else {
            return self.local(thread, argument);
        };
        let v = self.value(&v)?;
        let mut names = (1..).map(|n| Loc::new(&format!("_{n}")));
        let x = names.find(|x| !self.world.objects.contains_key(x)).expect("there is always a next one");
        let word = Object::new(self.memory()).at(self.world.threads[thread]).init(v);
        self.world.objects.insert(x, word);
        self.literals.insert(x, v);
        Ok(Arg::Val(x.into()))
    }

    /// A node that there is.
    fn one_node(&self, tree: &Tree<'_>) -> Parsed<Node> {
        let node = node_name(tree)?;
        if node.0 > self.world.nodes {
            return fail(tree, format!("there are only {} nodes", self.world.nodes));
        }
        Ok(node)
    }

    /// What is said of a statement that the model has not.
    #[allow(clippy::type_complexity, reason = "the three parts of what follows the threads")]
    fn footers(&self, parts_of_file: &[Tree<'_>]) -> Parsed<(Vec<Cell>, Vec<(String, Observable)>, Vec<Assertion>)> {
        let mut shown = self.registers();
        let mut observed = Vec::new();
        let mut assertions = Vec::new();
        let footers = parts_of_file.iter().filter(|t| t.as_rule() == Rule::footer);
        for footer in footers.map(|t| t.clone().into_inner().next().expect("a footer has a form")) {
            if footer.as_rule() == Rule::locations {
                for place in parts(&footer, Rule::place) {
                    self.observe(&place, &mut observed, &mut shown)?;
                }
            } else if footer.as_rule() == Rule::vacuous {
                let condition = Condition::And(Vec::new());
                assertions.push(Assertion { quantifier: Quantifier::Vacuous, text: "true".to_owned(), condition });
            } else {
                let tree = part(&footer, Rule::condition).expect("by the grammar");
                let condition = self.condition(&tree, &mut observed, &mut shown)?;
                let quantifier = match part(&footer, Rule::quantifier).expect("by the grammar").as_str() {
                    "allowed" | "exists" => Quantifier::Allowed,
                    "forbidden" | "~exists" => Quantifier::Forbidden,
                    _ => Quantifier::Forall,
                };
                assertions.push(Assertion { quantifier, text: tree.as_str().trim().to_owned(), condition });
            }
        }
        Ok((observed, shown, assertions))
    }

    fn registers(&self) -> Vec<(String, Observable)> {
        let mut shown = Vec::new();
        for (t, thread) in self.threads.iter().enumerate() {
            for (position, register) in thread.registers.iter().enumerate() {
                let shared = self.threads.iter().filter(|o| o.registers.contains(register)).count() > 1;
                let name = if shared { format!("{}:{register}", thread.name) } else { register.to_string() };
                shown.push((name, Observable::Register(t, position)));
            }
        }
        shown
    }

    /// Makes the last value of a location part of the outcome; its position in what is shown.
    fn observe(
        &self,
        place: &Tree<'_>,
        observed: &mut Vec<Cell>,
        shown: &mut Vec<(String, Observable)>,
    ) -> Parsed<usize> {
        let name = part(place, Rule::name).expect("by the grammar");
        let loc = Loc::new(name.as_str());
        let Some(object) = self.world.objects.get(&loc) else {
            return fail(place, format!("{loc} is neither a register nor declared"));
        };
        let node = part(place, Rule::node).map(|n| node_name(&n)).transpose()?;
        let (title, node) = match (object.node, node) {
            (Some(home), None) => (loc.to_string(), home),
            (Some(home), Some(n)) if home == n => (loc.to_string(), home),
            (Some(home), Some(_)) => return fail(place, format!("{loc} is on node {home}")),
            (None, Some(n)) if self.has_copies(object.library) && n.0 <= self.world.nodes => (format!("{loc}@{n}"), n),
            (None, Some(n)) => return fail(place, format!("{loc} has no copy on node {n}")),
            (None, None) => return fail(place, format!("say which node's copy, as {loc}@1")),
        };
        if let Some(position) = shown.iter().position(|(t, _)| *t == title) {
            return Ok(position);
        }
        observed.push(Cell { loc, node });
        shown.push((title, Observable::Final(observed.len() - 1)));
        Ok(shown.len() - 1)
    }

    /// Whether objects of a library begin with a value, and are on no node: then there is one on each.
    fn has_copies(&self, library: Name) -> bool {
        let form = self.known.library(library).and_then(|l| l.object);
        form.is_some_and(|form| form.parts == [Part::Init])
    }

    fn condition(
        &self,
        tree: &Tree<'_>,
        observed: &mut Vec<Cell>,
        shown: &mut Vec<(String, Observable)>,
    ) -> Parsed<Condition> {
        let mut all = Vec::new();
        for t in tree.clone().into_inner() {
            all.push(match t.as_rule() {
                Rule::equation => self.equation(&t, observed, shown)?,
                Rule::anything => Condition::And(Vec::new()),
                Rule::negation => Condition::Not(Box::new(self.condition(&t, observed, shown)?)),
                _ => self.condition(&t, observed, shown)?,
            });
        }
        Ok(match (tree.as_rule(), all.len()) {
            (_, 1) => all.remove(0),
            (Rule::condition, _) => Condition::Or(all),
            _ => Condition::And(all),
        })
    }

    fn equation(
        &self,
        tree: &Tree<'_>,
        observed: &mut Vec<Cell>,
        shown: &mut Vec<(String, Observable)>,
    ) -> Parsed<Condition> {
        let v = match part(tree, Rule::value) {
            Some(v) => self.value(&v)?,
            None => Val::Top,
        };
        let observable = part(tree, Rule::observable).expect("by the grammar").into_inner().next().expect("a form");
        if observable.as_rule() == Rule::place {
            let text = observable.as_str().trim();
            if let Some(position) = shown.iter().position(|(title, _)| title == text) {
                return Ok(Condition::Is(position, v));
            }
            return Ok(Condition::Is(self.observe(&observable, observed, shown)?, v));
        }
        let names: Vec<Tree<'_>> = parts(&observable, Rule::name).collect();
        let Some(thread) = self.names.get(names[0].as_str()) else {
            return fail(&names[0], format!("there is no thread {}", names[0].as_str()));
        };
        let register = Name::new(names[1].as_str());
        let registers = &self.threads[thread.index()].registers;
        let Some(position) = registers.iter().position(|r| *r == register) else {
            return fail(&names[1], format!("{} has no register {register}", names[0].as_str()));
        };
        let here = Observable::Register(thread.index(), position);
        let position = shown.iter().position(|(_, o)| *o == here).expect("every register is shown");
        Ok(Condition::Is(position, v))
    }
}

fn call(library: Name, method: &'static str, args: Vec<Arg>) -> Statement {
    Statement::Call { register: None, library, method, args }
}

/// A call with an empty set of nodes is not made at all.
fn nothing() -> Statement {
    Statement::Set(Name::literal("_"), Arg::Val(Val::Unit))
}
