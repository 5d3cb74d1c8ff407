//! The parser of litmus files. Errors have a line and a column, and say what was expected.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;

use mowgli_core::event::Cell;
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid};
use mowgli_core::unknown::did_you_mean;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_rdma::Network;
use mowgli_x86::tso::MACHINE;
use pest::Parser;
use pest::iterators::Pair;

mod blocks;
mod calls;
mod conditions;
#[allow(missing_docs, reason = "generated")]
mod grammar;
mod objects;
mod operands;
mod slips;
mod statements;
mod waits;

use super::callables::Callables;
use super::nesting::is_flat;
use super::test::{Arg, Assertion, Liveness, Model, Observable, Statement, Test, TestThread};
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError, Place};

use grammar::Grammar;
pub(super) use grammar::Rule;

pub(crate) type Tree<'a> = Pair<'a, Rule>;
pub(crate) type Parsed<T> = Result<T, InputError>;

/// Parses a test of the built-in libraries. `path` is shown in errors.
///
/// # Errors
/// The error with its place, and mostly with a remedy.
pub fn parse(path: &str, text: &str) -> Result<Test, InputError> {
    parse_in(Catalogue::builtin(), path, text)
}

/// Parses a test of the libraries of a catalogue. `path` is shown in errors.
///
/// # Errors
/// The error with its place, and mostly with a remedy.
pub fn parse_in(catalogue: &Catalogue, path: &str, text: &str) -> Result<Test, InputError> {
    read(catalogue, path, text).map_err(|error| error.in_file(path))
}

/// Returns the range of a test's columns in its text: from the head to the end of the last row.
///
/// # Errors
/// If the text is not a test.
pub fn columns(text: &str) -> Result<std::ops::Range<usize>, InputError> {
    let file = tree(text)?;
    let table = file.into_inner().filter(|t| matches!(t.as_rule(), Rule::head | Rule::row));
    let spans: Vec<_> = table.map(|t| t.as_span()).collect();
    Ok(spans[0].start()..spans[spans.len() - 1].end())
}

/// Returns the text of a test on this network, in place of that which its first line names. A text that is not a test
/// stays as it is.
///
/// # Errors
/// If its model has no networks, or a switch that is not defined on this one. `path` is shown in errors.
pub fn on_network(path: &str, text: &str, network: Network) -> Result<String, InputError> {
    with_model(path, text, |model| model.on(network))
}

/// Returns the text of a test over this model, in place of the one that it names. A text that is not a test stays as it
/// is.
///
/// ```
/// use mowgli_check::litmus::{parse::over, test::Model};
/// let text = "// RDMA_WAIT in a comment\nRDMA_TSO t { x@1 = 0; } P1@1 ; x := 1 ;";
/// assert_eq!(over(text, Model::RdmaSc), text.replace("RDMA_TSO", "RDMA_SC"));
/// ```
#[must_use]
pub fn over(text: &str, model: Model) -> String {
    with_model("", text, |_| Ok(model)).unwrap_or_else(|_| text.to_owned())
}

/// Returns the text of a test with another model, which `change` computes from its own.
fn with_model(path: &str, text: &str, change: impl FnOnce(Model) -> Parsed<Model>) -> Parsed<String> {
    let Ok(file) = tree(text) else { return Ok(text.to_owned()) };
    let model = file.into_inner().find(|t| t.as_rule() == Rule::model);
    let Some(Ok(named)) = model.as_ref().map(|tree| tree.as_str().parse::<Model>()) else { return Ok(text.to_owned()) };
    let span = model.expect("it was parsed").as_span();
    let named = change(named).map_err(|error| error.at(Place::of(path, text, span.start()..span.end())))?;
    Ok(format!("{}{named}{}", &text[..span.start()], &text[span.end()..]))
}

/// Parses a text as the one tree of a file.
fn tree(text: &str) -> Parsed<Tree<'_>> {
    is_flat(text)?;
    let file = Grammar::parse(Rule::file, text).map_err(|error| slips::error(text, error))?;
    Ok({ file }.next().expect("a file is one tree"))
}

/// Gives an error the place of a tree. The file is named at the end.
fn at(tree: &Tree<'_>, error: InputError) -> InputError {
    let span = tree.as_span();
    error.at(Place::of("", tree.get_input(), span.start()..span.end()))
}

/// Refuses a tree.
pub(super) fn fail<T>(tree: &Tree<'_>, code: Code, message: impl Into<String>) -> Parsed<T> {
    Err(at(tree, InputError::new(code, message)))
}

/// Refuses a tree, with a remedy.
pub(super) fn advise<T>(tree: &Tree<'_>, code: Code, message: impl Into<String>, help: impl Into<String>) -> Parsed<T> {
    Err(at(tree, InputError::new(code, message).help(help)))
}

fn read(catalogue: &Catalogue, path: &str, text: &str) -> Parsed<Test> {
    let parts: Vec<Tree<'_>> = tree(text)?.into_inner().collect();
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
    reader.all_closed(&parts)?;
    reader.completions_fit(&parts)?;
    let Footers { observed, shown, assertions, liveness } = reader.footers(&parts)?;
    let warnings = reader.warnings(path, &parts);
    let test = Test {
        model: reader.model,
        name,
        description,
        world: reader.world,
        literals: reader.literals,
        servers: reader.servers,
        threads: reader.threads,
        observed,
        shown,
        assertions,
        liveness,
        warnings,
        file: path.into(),
        text: text.into(),
    };
    match test.model.notation().and_then(|own| own.fault(&test)) {
        Some(fault) => fail(&parts[0], Code::Unsupported, fault),
        None => Ok(test),
    }
}

/// Reads the memory model that the header names.
fn model(parts_of_file: &[Tree<'_>]) -> Parsed<Model> {
    let tree = parts_of_file.iter().find(|t| t.as_rule() == Rule::model).expect("the grammar has a model");
    let text = tree.as_str();
    let known = Model::ALL.into_iter().any(|m| Some(m.to_string().as_str()) == text.split('+').next());
    let names = || Model::ALL.iter().join(", ");
    if known {
        text.parse().map_err(|error| at(tree, error))
    } else {
        let near = did_you_mean(text, Model::ALL.map(|m| m.to_string()).iter().map(String::as_str));
        let help = near.into_iter().chain([format!("this build has {}", names())]).join(" ");
        advise(tree, Code::Unknown, format!("model {text} is not available"), help)
    }
}

/// The observed cells and the assertions below the table.
struct Footers {
    /// The cells that are observed.
    observed: Vec<Cell>,
    /// The names and values that an outcome shows.
    shown: Vec<(String, Observable)>,
    assertions: Vec<Assertion>,
    liveness: Vec<Liveness>,
}

pub(crate) struct Reader<'c> {
    catalogue: &'c Catalogue,
    pub(super) model: Model,
    known: &'c Callables,
    pub(super) world: World,
    threads: Vec<TestThread>,
    names: BTreeMap<String, Tid>,
    literals: BTreeMap<Loc, Val>,
    servers: BTreeSet<Tid>,
    /// The ranges of the statements of each thread in the text.
    spans: Vec<Vec<(usize, usize)>>,
}

pub(super) fn part<'a>(tree: &Tree<'a>, rule: Rule) -> Option<Tree<'a>> {
    tree.clone().into_inner().find(|t| t.as_rule() == rule)
}

pub(super) fn parts<'a>(tree: &Tree<'a>, rule: Rule) -> impl Iterator<Item = Tree<'a>> {
    tree.clone().into_inner().filter(move |t| t.as_rule() == rule)
}

fn number<T: std::str::FromStr>(tree: &Tree<'_>) -> Parsed<T> {
    tree.as_str().parse().or_else(|_| fail(tree, Code::Value, "this number is too large"))
}

fn node_name(tree: &Tree<'_>) -> Parsed<Node> {
    match tree.as_str().parse() {
        Ok(n @ 1..=NodeSet::MOST) => Ok(Node(n)),
        _ => fail(tree, Code::Value, "nodes are numbered from 1 to 63"),
    }
}

pub(super) fn value(tree: &Tree<'_>) -> Parsed<Val> {
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

/// Returns the access through a register that a tree is or contains.
fn pointee<'a>(tree: &Tree<'a>) -> Option<Tree<'a>> {
    let mut all = std::iter::once(tree.clone()).chain(tree.clone().into_inner().flatten());
    all.find(|t| t.as_rule() == Rule::pointee)
}

/// Returns the element of an array, by a register, that a tree is or contains.
fn indexed<'a>(tree: &Tree<'a>) -> Option<Tree<'a>> {
    let mut all = std::iter::once(tree.clone()).chain(tree.clone().into_inner().flatten());
    all.find(|t| matches!(t.as_rule(), Rule::element | Rule::pointer)).filter(|t| t.as_rule() == Rule::element)
}

impl<'c> Reader<'c> {
    fn new(catalogue: &'c Catalogue, model: Model, parts_of_file: &[Tree<'_>]) -> Parsed<Self> {
        let head = parts_of_file.iter().find(|t| t.as_rule() == Rule::head).expect("the grammar has a head");
        let (world, threads, names) = (World::new(1, &[]), Vec::new(), BTreeMap::new());
        let (known, literals, servers) = (catalogue.known(model), BTreeMap::new(), BTreeSet::new());
        let mut reader = Self { catalogue, model, known, world, threads, names, literals, servers, spans: Vec::new() };
        for placement in parts(head, Rule::placement) {
            reader.placement(&placement)?;
        }
        for declaration in parts_of_file.iter().filter(|t| t.as_rule() == Rule::declaration) {
            reader.declaration(declaration)?;
        }
        // A word may begin with the location of a word that is declared later.
        for declaration in parts_of_file.iter().filter(|t| t.as_rule() == Rule::declaration) {
            reader.has_addresses(declaration)?;
        }
        Ok(reader)
    }

    fn placement(&mut self, tree: &Tree<'_>) -> Parsed<()> {
        let name = part(tree, Rule::name).expect("a placement has a name");
        if self.threads.len() >= Tid::MOST {
            return fail(tree, Code::Unsupported, format!("at most {} threads", Tid::MOST));
        }
        let tid = Tid::from_index(self.threads.len());
        if self.names.insert(name.as_str().to_owned(), tid).is_some() {
            return fail(&name, Code::Duplicate, format!("there are two threads named {}", name.as_str()));
        }
        let node = self.node_or_machine(tree, "P1@1")?;
        if self.model.notation().is_some() && self.world.threads.contains(&node) {
            return fail(
                tree,
                Code::Duplicate,
                format!("{} has one process a node, and there is one on node {node} already", self.model),
            );
        }
        if name.as_str().contains('[') {
            return fail(&name, Code::Syntax, "a thread has a name without brackets");
        }
        self.spans.push(Vec::new());
        self.world.threads.push(node);
        let name = Name::new(name.as_str());
        self.threads.push(TestThread { name, statements: Vec::new(), source: Vec::new(), registers: Vec::new() });
        Ok(())
    }

    /// Reads a node. Without a `nodes` declaration the largest node that a test names is the last one.
    fn node(&mut self, tree: &Tree<'_>) -> Parsed<Node> {
        let node = node_name(tree)?;
        self.world.nodes = self.world.nodes.max(node.0);
        Ok(node)
    }

    /// Reads the node of a word or a thread. A test of x86-TSO need not name its one machine.
    fn node_or_machine(&mut self, tree: &Tree<'_>, form: &str) -> Parsed<Node> {
        match part(tree, Rule::node) {
            Some(node) if self.model == Model::X86Tso && node_name(&node)? != MACHINE => {
                let message = format!("{} is one machine, node 1", self.model);
                advise(&node, Code::Unsupported, message, "leave the node out")
            }
            Some(node) => self.node(&node),
            None if self.model == Model::X86Tso => Ok(MACHINE),
            None => {
                let message = format!("{} has several nodes", self.model);
                advise(tree, Code::Form, message, format!("say on which one this is, as {form}"))
            }
        }
    }

    /// Reads a value; a location must be that of a word.
    fn value(&self, tree: &Tree<'_>) -> Parsed<Val> {
        self.has_addresses(tree)?;
        value(tree)
    }

    /// Checks that the addresses in a tree are those of words.
    fn has_addresses(&self, tree: &Tree<'_>) -> Parsed<()> {
        let mut addresses = tree.clone().into_inner().flatten().filter(|t| t.as_rule() == Rule::address);
        addresses.try_for_each(|address| {
            self.object(&part(&address, Rule::name).expect("by the grammar"), self.memory()).map(|_| ())
        })
    }

    /// Returns the library of memory words.
    fn memory(&self) -> Name {
        self.model.memory()
    }
}

pub(super) fn call(library: Name, method: &'static str, args: Vec<Arg>) -> Statement {
    Statement::Call { register: None, library, method, args }
}

/// Returns the statement that stands for a call with an empty set of nodes, which is not made.
fn nothing() -> Statement {
    Statement::Set(Name::literal("_"), Arg::Val(Val::Unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::litmus::condition::Condition;

    /// A test whose second thread branches. Its lines are numbered from 1, and cells of one row may be empty.
    const BRANCHES: &str = "RDMA_TSO t
{ x@1 = 0; z@2 = 3; }
 P1@1      | P2@2       ;
 put(z, x) | a := z     ;
           | if a = 3 { ;
           | b := z     ;
           | } else {   ;
           | z := 1     ;
           | }          ;
allowed (a=3 /\\ z=1)
ends
";

    fn read(text: &str) -> Result<Test, InputError> {
        parse_in(Catalogue::builtin(), "t.litmus", text)
    }

    #[test]
    fn columns_are_threads_and_cells_are_statements_with_their_lines() {
        let test = read(BRANCHES).unwrap();
        let [one, two] = &test.threads[..] else { panic!("two columns") };
        assert_eq!(one.source, [(4, "put(z, x)".to_owned())]);
        let lines: Vec<usize> = two.source.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [4, 5, 6, 7, 8, 9]);
        assert_eq!(two.registers, ["a", "b"].map(Name::new));
        assert_eq!((two.other(1), two.end(1)), (3, 5));
        assert_eq!((test.assertions[0].line, test.liveness[0].line), (10, 11));
    }

    /// `/\\` binds more tightly than `\\/`, as in herd.
    #[test]
    fn conditions_are_disjunctions_of_conjunctions() {
        let test = read(&BRANCHES.replace("a=3 /\\ z=1", "a=3 \\/ b=0 /\\ ~(z=1)")).unwrap();
        let Condition::Or(parts) = &test.assertions[0].condition else { panic!("a disjunction") };
        let [Condition::Compare(..), Condition::And(both)] = &parts[..] else { panic!("{parts:?}") };
        assert!(matches!(both[..], [Condition::Compare(..), Condition::Not(_)]), "{both:?}");
    }

    /// Texts in the notation of other languages, and names with a small mistake, have a remedy.
    #[test]
    fn errors_have_remedies() {
        for (from, to, code, help) in [
            ("a := z     ", "a = z", Code::Syntax, "an assignment is written with :="),
            ("z := 1", "while (a) {", Code::Syntax, ""),
            ("RDMA_TSO t", "RDMA_TS t", Code::Unknown, "did you mean RDMA_TSO? this build has"),
            ("put(z, x)", "putt(z, x)", Code::Unknown, "did you mean put? there are cas, xchg"),
            ("(a=3 /\\ z=1)", "(aa=3)", Code::Unknown, "did you mean a?"),
            ("allowed", "forbiden", Code::Unknown, "did you mean forbidden?"),
            ("ends", "vacuos", Code::Unknown, "did you mean vacuous?"),
            ("RDMA_TSO t", "RDMA_TSO+unsignaled t", Code::Unknown, "did you mean unsignalled?"),
        ] {
            let error = read(&BRANCHES.replacen(from, to, 1)).expect_err("it is no test");
            assert_eq!(error.code, code, "{error}");
            assert!(error.help.clone().unwrap_or_default().starts_with(help), "{error}");
        }
    }

    /// Each error has its place, and says what is wrong with the text there.
    #[test]
    fn errors_have_places() {
        for (from, to, place, said) in [
            ("put(z, x)", "put(zz, x)", "t.litmus:4:6", "zz is not declared"),
            ("x@1 = 0;", "x@1 = 0; w@1[2] = 0; p@1 = &w;", "t.litmus:2:31", "w is an array"),
            ("P2@2", "P1@2", "t.litmus:3:14", "there are two threads named P1"),
            ("RDMA_TSO t", "RDMA_ODD t", "t.litmus:1:1", "model RDMA_ODD is not available"),
            ("z@2 = 3", "z@64 = 3", "t.litmus:2:14", "nodes are numbered from 1 to 63"),
            ("z@2 = 3", "z@300 = 3", "t.litmus:2:14", "nodes are numbered from 1 to 63"),
            ("           | }          ;\n", "", "t.litmus:5:14", "this block is not closed"),
            ("z@2 = 3;", "z@2 = 3", "t.litmus:2:19", "expected ;"),
            ("x@1 = 0;", "x@1 = 0", "t.litmus:2:10", "expected ;"),
            ("allowed", "alowed", "t.litmus:10:1", "alowed is no assertion"),
            ("allowed", "forbiden", "t.litmus:10:1", "forbiden is no assertion"),
        ] {
            let text = BRANCHES.replacen(from, to, 1);
            let error = read(&text).expect_err("it is no test");
            assert!(error.to_string().starts_with(&format!("{place}: ")), "{text}{error}");
            assert!(error.message.contains(said), "{text}{error}");
        }
    }
}
