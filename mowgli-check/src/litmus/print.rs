//! Clients and tests as litmus text.

use std::convert::Infallible;
use std::fmt::{Display, Write as _};

use itertools::Itertools;
use mowgli_core::event::{Call, Cell};
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::library::Hints;
use mowgli_core::search::outcome::Outcome;
use mowgli_core::soundness::client::Client;
use mowgli_core::term::method::{self, Method};
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, DeclarationPart, Object, World};
use mowgli_libraries::entry::Entry;
use mowgli_rdma::Way;

use super::condition::{Comparison, Symbols};
use super::statements::{builtin, is_written_alone};
use super::test::{Arg, Claim, Liveness, Model, RegisterCondition, Statement, Test, TestThread, element};

/// Returns the letter of a register: a, b, c, and so on, in the order of threads.
#[must_use]
pub fn register(index: usize) -> String {
    let letter = char::from(b'a' + (index % 26) as u8);
    if index < 26 { letter.to_string() } else { format!("{letter}{}", index / 26) }
}

/// Prints a call without its register. A location in a call of a user's library is printed as a place: see also [`Dialect::statement`].
#[must_use]
pub fn statement(call: &Call) -> String {
    let args: Vec<Arg> = call.args.iter().map(|v| Arg::Val(*v)).collect();
    made(call.library, call.method.text(), &args, None)
}

/// Prints a call with these arguments. `own` is its method, if it is of a user's library and known.
fn made(library: Name, method: &str, args: &[Arg], own: Option<&Method>) -> String {
    let known = builtin(library).and_then(|l| l.method(method)).or(own);
    let takes = known.map_or(&[][..], |m| m.takes);
    // Of an unknown method, computed arguments are data, because objects are named.
    let is_place =
        |(at, arg): (usize, &Arg)| takes.get(at).map_or(matches!(arg, Arg::Val(_)), |(_, kind)| kind.is_object());
    let texts: Vec<String> = args.iter().enumerate().map(|(at, arg)| argument(arg, is_place((at, arg)))).collect();
    if let Some(text) = made_of_several(library, method, args) {
        return text;
    }
    let is_memory = Model::ALL.iter().any(|model| model.memory() == library);
    if let Some(own) = Model::notation_of(library) {
        return own.call(method, args);
    }
    match (method, &texts[..]) {
        ("Write", [x, v]) if is_memory => return format!("{x} := {v}"),
        ("Read", [x]) if is_memory => return x.clone(),
        _ => {}
    }
    // A method table has the name of a call that is made in another way. Only the built-in libraries have tables here.
    let (name, args, texts) = match (args, builtin(library).and_then(|l| l.method(method))) {
        ([Arg::Val(Val::Way(w)), rest @ ..], Some(m)) => (format!("{}@{w}", m.statement()), rest, texts[1..].to_vec()),
        _ => (method.to_lowercase(), args, texts),
    };
    let is_shown = |arg: &Arg| args.len() == 1 || *arg != Arg::Val(Val::NoWid);
    // A get whose value goes nowhere is a flush.
    let is_dropped = |arg: &&Arg| is_memory && method.starts_with("Get") && **arg == Arg::Val(Val::Unit);
    let name = if args.iter().any(|arg| is_dropped(&arg)) { name.replace("get", "flush") } else { name };
    let (ids, others): (Vec<_>, Vec<_>) = args
        .iter()
        .zip(texts)
        .filter(|(arg, _)| is_shown(arg) && !is_dropped(arg))
        .partition(|(arg, _)| matches!(arg, Arg::Val(Val::Wid(_) | Val::NoWid)));
    // Identifiers come last. The identifier that stands for none is printed only if it is the only argument.
    let mut texts = others.into_iter().chain(ids).map(|(_, text)| text);
    if is_written_alone(library, method) {
        return format!("{name}{}", parentheses(texts));
    }
    match args.first() {
        Some(Arg::Val(Val::Loc(_))) => format!("{}.{name}{}", texts.next().expect("the first"), parentheses(texts)),
        _ => format!("{library}.{name}{}", parentheses(texts)),
    }
}

/// Prints a call that is about words in a row: `put(z, x[1], d, 2)`.
fn made_of_several(library: Name, method: &str, args: &[Arg]) -> Option<String> {
    let method = builtin(library).and_then(|l| l.method(method)).filter(|m| m.takes_several())?;
    let mut count = 0;
    let mut first = |arg: &Arg| match arg {
        Arg::Val(Val::Tuple(row)) => {
            count = row.parts().len();
            let text = row.parts().first().map(Val::to_string).unwrap_or_default();
            Some(text.strip_suffix("[0]").map_or(text.clone(), ToOwned::to_owned))
        }
        Arg::Val(Val::NoWid) => None,
        other => Some(argument(other, true)),
    };
    let texts: Vec<String> = args.iter().skip(1).filter_map(&mut first).collect();
    let way = match args.first() {
        Some(Arg::Val(way)) if *way != Way::USUAL.into() => format!("@{way}"),
        _ => String::new(),
    };
    Some(format!("{}{way}({}, {count})", method.statement(), texts.join(", ")))
}

/// Prints an argument where a place or where data stands.
pub(super) fn argument(arg: &Arg, is_place: bool) -> String {
    match arg {
        Arg::Val(v) if is_place => v.to_string(),
        Arg::Val(v) => v.literal(),
        Arg::Register(r, _) if is_place => format!("*{r}"),
        Arg::Register(r, 0) => r.to_string(),
        Arg::Register(r, k) => format!("{r} + {k}"),
        Arg::Sum(to, sign, r) => format!("{} {sign} {r}", argument(to, false)),
        Arg::Sent(_, sent) => argument(sent, false),
        Arg::Tuple(all) => format!("({})", all.iter().map(|arg| argument(arg, false)).join(", ")),
        Arg::Element(array, number) => {
            format!("{}{array}[{}]", if is_place { "" } else { "&" }, argument(number, false))
        }
    }
}

/// Prints arguments in parentheses; empty if there are none.
fn parentheses(texts: impl Iterator<Item = String>) -> String {
    let all = texts.collect::<Vec<_>>().join(", ");
    if all.is_empty() { all } else { format!("({all})") }
}

/// A model, and the form of the declarations of a library that is not built in.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    model: Model,
    own: Option<OwnLibrary>,
}

/// A library that is not built in.
#[derive(Clone, Copy, Debug)]
pub struct OwnLibrary {
    /// Its name.
    pub name: Name,
    /// The form of the declarations of its objects.
    pub form: Option<DeclarationForm>,
    /// Its method table.
    pub methods: &'static [Method],
}

impl OwnLibrary {
    /// Returns what statements need of a library.
    #[must_use]
    pub fn of(library: &dyn Hints) -> Self {
        Self { name: library.name(), form: library.object(), methods: library.methods() }
    }
}

impl Dialect {
    /// Returns the dialect of a model with this library.
    #[must_use]
    pub fn with(model: Model, own: OwnLibrary) -> Self {
        Self { model, own: Some(own) }
    }

    /// Prints a call without its register.
    #[must_use]
    pub fn statement(&self, call: &Call) -> String {
        let args: Vec<Arg> = call.args.iter().map(|v| Arg::Val(*v)).collect();
        let own = self.own.filter(|own| own.name == call.library);
        made(call.library, call.method.text(), &args, own.and_then(|own| method::find(own.methods, call)))
    }

    /// Returns the dialect of the clients of an entry.
    #[must_use]
    pub fn of(entry: &Entry) -> Self {
        let own = entry.library().ok().map(OwnLibrary::of);
        Self { model: Model::of(&entry.memory.libraries), own }
    }
}

impl From<Model> for Dialect {
    fn from(model: Model) -> Self {
        Self { model, own: None }
    }
}

fn declarations(dialect: Dialect, world: &World, name: &dyn Fn(Tid) -> String, out: &mut String) {
    let Dialect { model, own } = dialect;
    if model != Model::X86Tso {
        let _ = writeln!(out, "  nodes {};", world.nodes);
    }
    let threads = world.crashes.threads.iter().map(|t| name(*t));
    let crashes = threads.chain(world.crashes.nodes.iter().map(|n| format!("@{n}"))).join(", ");
    if !crashes.is_empty() {
        let _ = writeln!(out, "  crash({crashes});");
    }
    for (&x, object) in &world.objects {
        let form = own.filter(|own| own.name == object.library).and_then(|own| own.form);
        let form = form.or_else(|| builtin(object.library)?.object);
        let parts: &[DeclarationPart] = if model == Model::X86Tso { &[] } else { &[DeclarationPart::Home] };
        let usual = match Model::notation_of(object.library) {
            Some(own) => own.words(),
            None => DeclarationForm { kind: object.library.text(), parts },
        };
        let text = x.to_string();
        let declared = match text.split_once('[') {
            Some((array, "0]")) => array_of(model, world, Name::new(array), object),
            Some(_) => continue,
            None => form.unwrap_or(usual).declaration_with(x, object, name),
        };
        let _ = writeln!(out, "  {declared};");
    }
}

/// Prints the declaration of the array that has this first word.
fn array_of(model: Model, world: &World, array: Name, first: &Object) -> String {
    let words: Vec<Val> = (0..).map_while(|i| Some(world.objects.get(&element(array, i))?.init)).collect();
    let node = first.node.filter(|_| model != Model::X86Tso).map_or_else(String::new, |n| format!("@{n}"));
    format!("{array}{node}[{}] = {}", words.len(), Val::tuple(&words).literal())
}

/// Prints a test as text that can be parsed again.
#[must_use]
pub fn test(test: &Test) -> String {
    let about = test.description.as_ref().map_or_else(String::new, |text| format!("\"{text}\"\n"));
    let mut out = format!("{} {}\n{about}{{\n", test.model, test.name);
    let mut world = test.world.clone();
    let sent: Vec<Loc> = test.threads.iter().flat_map(|t| &t.statements).flat_map(Statement::sent).collect();
    world.objects.retain(|x, _| !test.literals.contains_key(x) && !sent.contains(x));
    declarations(test.model.into(), &world, &|t| test.threads[t.index()].name.to_string(), &mut out);
    let servers = test.servers.iter().map(|t| test.threads[t.index()].name).join(", ");
    if !servers.is_empty() {
        let _ = writeln!(out, "  server({servers});");
    }
    out.push_str("}\n");
    let column = |(thread, node): (&TestThread, &Node)| {
        let head =
            if test.model == Model::X86Tso { thread.name.to_string() } else { format!("{}@{node}", thread.name) };
        let mut depth = 0;
        let mut row = |statement: &Statement| {
            depth -= usize::from(matches!(statement, Statement::Else | Statement::End));
            let text = "  ".repeat(depth) + &written(test, statement);
            depth += usize::from(statement.opens() || *statement == Statement::Else);
            text
        };
        [head].into_iter().chain(thread.statements.iter().map(&mut row)).collect()
    };
    // The heads are below these lines, and the statements below the heads.
    let first_line = out.lines().count() + 2;
    out.push_str(&table(test.threads.iter().zip(&test.world.threads).map(column).collect()));
    let observed: Vec<String> = test.observed.iter().map(|cell| observed(&test.world, *cell)).collect();
    if !observed.is_empty() {
        let _ = writeln!(out, "locations [{};]", observed.join("; "));
    }
    test.assertions.iter().for_each(|a| _ = writeln!(out, "{a}"));
    test.liveness.iter().for_each(|l| _ = writeln!(out, "{}", liveness(test, l, first_line)));
    out
}

/// Prints an assertion about stuck executions of a test whose statements begin in this line, each in a line of its own.
fn liveness(test: &Test, assertion: &Liveness, first_line: usize) -> String {
    let Claim::Hangs(waiters) = &assertion.claim else { return assertion.text.clone() };
    let waiter = |&(thread, line): &(usize, Option<usize>)| {
        let thread = &test.threads[thread];
        let Some(line) = line else { return thread.name.to_string() };
        let here = || (0..thread.source.len()).filter(|&at| thread.source[at].0 == line);
        let is_loop = |at: &usize| matches!(thread.statements[*at], Statement::While(_) | Statement::Await { .. });
        let is_call = |at: &usize| matches!(thread.statements[*at], Statement::Call { .. });
        let at = here().find(is_loop).or(here().rfind(is_call)).or(here().next()).expect("a statement has this line");
        format!("{} at line {}", thread.name, first_line + at)
    };
    format!("hangs ({})", waiters.iter().map(waiter).join(" /\\ "))
}

/// Prints a cell whose last value is observed.
fn observed(world: &World, cell: Cell) -> String {
    let has_home = world.objects.get(&cell.loc).is_some_and(|o| o.node.is_some());
    if has_home { cell.loc.to_string() } else { format!("{}@{}", cell.loc, cell.node) }
}

/// Prints a statement of a test.
pub fn written(test: &Test, statement: &Statement) -> String {
    let target = |r: Option<Name>| r.map_or_else(String::new, |r| format!("{r} := "));
    let guard = |guard: &RegisterCondition| {
        let equation =
            |a: &Arg, by: Comparison, b: &Arg| Ok(format!("{} {by} {}", argument(a, false), argument(b, false)));
        guard.text(&Symbols::LITMUS, &equation).unwrap_or_else(|never: Infallible| match never {})
    };
    match statement {
        Statement::Call { register, library, method, args } => {
            let literal = |arg: &Arg| match arg {
                Arg::Val(Val::Thread(t)) => Arg::Register(test.threads[t.index()].name, 0),
                Arg::Val(Val::Loc(x)) => test.literals.get(x).map_or_else(|| arg.clone(), |v| Arg::Val(*v)),
                _ => arg.clone(),
            };
            let args: Vec<Arg> = args.iter().map(literal).collect();
            format!("{}{}", target(*register), made(*library, method, &args, None))
        }
        Statement::Set(register, arg) => format!("{register} := {}", argument(arg, false)),
        Statement::Await { call, until, value } => {
            let Statement::Call { register, library, method, args } = &**call else { unreachable!("it is a call") };
            let made = made(*library, method, args, None);
            format!("{}await {made} {until} {}", target(*register), argument(value, false))
        }
        Statement::Assume(c) => format!("assume {}", guard(c)),
        Statement::If(c) => format!("if {} {{", guard(c)),
        Statement::While(c) => format!("while {} {{", guard(c)),
        Statement::Else => "} else {".to_owned(),
        Statement::End => "}".to_owned(),
    }
}

/// Returns the results of the calls that return something, by register.
#[must_use]
pub fn registers(client: &Client, outcome: &Outcome) -> Vec<(String, String)> {
    let results = client.threads.iter().zip(&outcome.outputs).flat_map(|(calls, &output)| results(calls, output));
    results.enumerate().map(|(i, v)| (register(i), v.literal())).collect()
}

/// Returns the results of the calls that return something, from the results of all calls.
#[must_use]
pub fn results(calls: &[Call], output: Val) -> Vec<Val> {
    calls.iter().zip(parts(output)).filter(|(call, v)| has_result(call, Some(**v))).map(|(_, &v)| v).collect()
}

/// Returns the result of each call, from what a thread outputs.
fn parts(output: Val) -> &'static [Val] {
    if let Val::Tuple(parts) = output { parts.parts() } else { &[] }
}

/// True if a call returns a value that programs can use. Its method decides that, or, for a user's library, its result
/// if that is known.
#[must_use]
pub fn has_result(call: &Call, returned: Option<Val>) -> bool {
    let method = call.method.text();
    if let Some(own) = Model::notation_of(call.library) {
        return own.returns(method);
    }
    match builtin(call.library).and_then(|l| l.method(method)) {
        Some(method) => method.returns.is_result(),
        None => returned.is_some_and(|v| v != Val::Unit),
    }
}

/// Prints the statements of each thread. `outputs` are the results of the calls of each, where they are known.
#[must_use]
pub fn statements(client: &Client, outputs: &[Val]) -> Vec<Vec<String>> {
    printed(client, outputs, &statement)
}

/// Prints the statements of each thread with this text of a call.
fn printed(client: &Client, outputs: &[Val], statement: &dyn Fn(&Call) -> String) -> Vec<Vec<String>> {
    let mut used = 0;
    let mut column = |(thread, calls): (usize, &Vec<Call>)| {
        let results = outputs.get(thread).map_or(&[][..], |&output| parts(output));
        let of_call = |(position, call): (usize, &Call)| {
            if !has_result(call, results.get(position).copied()) {
                return statement(call);
            }
            used += 1;
            format!("{} := {}", register(used - 1), statement(call))
        };
        calls.iter().enumerate().map(of_call).collect()
    };
    client.threads.iter().enumerate().map(&mut column).collect()
}

/// Prints the columns of a litmus test, each with its head.
#[must_use]
pub fn table(columns: Vec<Vec<String>>) -> String {
    let mut out = String::new();
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(|c| c.iter().map(String::len).max().unwrap_or(0)).collect();
    for row in 0..rows {
        let cells = columns.iter().zip(&widths);
        let cells = cells.map(|(c, &w)| format!("{:w$}", c.get(row).map_or("", String::as_str)));
        let _ = writeln!(out, " {} ;", cells.collect::<Vec<_>>().join(" | "));
    }
    out
}

/// Prints a client of memory words as a litmus test of a model, without assertions. `about` may follow the name, as a
/// line in quotes.
#[must_use]
pub fn program(model: Model, name: &str, about: Option<&str>, world: &World, client: &Client) -> String {
    text(model.into(), name, about, world, statements(client, &[]))
}

fn text(dialect: Dialect, name: &str, about: Option<&str>, world: &World, statements: Vec<Vec<String>>) -> String {
    let model = dialect.model;
    let about = about.map_or(String::new(), |text| format!("\"{text}\"\n"));
    let mut out = format!("{model} {name}\n{about}{{\n");
    declarations(dialect, world, &|t| t.to_string(), &mut out);
    out.push_str("}\n");
    let head = |(t, node): (usize, &Node)| match model {
        Model::X86Tso => format!("P{t}"),
        _ => format!("P{t}@{node}"),
    };
    let heads = (1..).zip(&world.threads).map(head);
    out.push_str(&table(heads.zip(statements).map(|(head, rest)| [vec![head], rest].concat()).collect()));
    out
}

/// Prints a client as a litmus test of a model, without assertions. `outputs` are the results of the calls of each
/// thread, where they are known.
#[must_use]
pub fn client(of: impl Into<Dialect>, name: &str, world: &World, client: &Client, outputs: &[Val]) -> String {
    let dialect: Dialect = of.into();
    text(dialect, name, None, world, printed(client, outputs, &|call| dialect.statement(call)))
}

/// Prints a client as a litmus test, with the assertion that this outcome is forbidden.
#[must_use]
pub fn forbidden(of: impl Into<Dialect>, name: &str, world: &World, client: &Client, outcome: &Outcome) -> String {
    let condition = conjunction(&registers(client, outcome));
    format!("{}forbidden ({condition})\n", self::client(of, name, world, client, &outcome.outputs))
}

/// Prints a client as a litmus test, with the assertion that this outcome is allowed.
#[must_use]
pub fn allowed(model: Model, name: &str, world: &World, client: &Client, outcome: &Outcome) -> String {
    let condition = conjunction(&registers(client, outcome));
    format!("{}allowed ({condition})\n", self::client(model, name, world, client, &outcome.outputs))
}

/// Prints the condition that each name has its value; true if there are no names.
#[must_use]
pub fn conjunction<V: Display>(values: &[(String, V)]) -> String {
    let equals = values.iter().map(|(name, v)| format!("{name}={v}"));
    if values.is_empty() { "true".to_owned() } else { equals.collect::<Vec<_>>().join(" /\\ ") }
}

#[cfg(test)]
mod tests {
    use mowgli_core::ids::Wid;
    use mowgli_core::term::method::ArgumentKind;

    use super::*;
    use crate::catalogue::Catalogue;
    use crate::litmus::callables::Callable;
    use crate::litmus::parse::parse;

    /// A counterexample of a library that is not built in has the form of its declarations.
    #[test]
    fn objects_of_other_libraries_are_declared_in_their_form() {
        let log = Name::literal("log");
        let mut world = World::new(2, &[Node(1), Node(2)]);
        world.objects.insert(Loc::new("x"), Object::new(log).members(&[Tid(1), Tid(2)]));
        let client = Client { threads: vec![vec![Call::new(log, "Append", &[Loc::new("x").into()])], Vec::new()] };
        let form = DeclarationForm { kind: "log", parts: &[DeclarationPart::Roles] };
        let own = OwnLibrary { name: log, form: Some(form), methods: &[] };
        let text = self::client(Dialect::with(Model::RDMA_WAIT, own), "t", &world, &client, &[]);
        assert!(text.contains("  log x = P1 -> {P2};\n"), "{text}");
    }

    /// Returns a world with words and two objects of a library.
    fn world_of(model: Model, library: &Callable) -> World {
        let mut world = World::new(if model == Model::X86Tso { 1 } else { 2 }, &[Node(1), Node(1)]);
        let parts = library.object.map_or(&[][..], |form| form.parts);
        let init = parts.iter().find_map(|part| match part {
            DeclarationPart::Words | DeclarationPart::Values => Some(2),
            DeclarationPart::Tuple { least } => Some(*least),
            _ => None,
        });
        let init = init.map_or(Val::Int(0), |n| Val::tuple(&vec![Val::Int(0); n]));
        let object = Object::new(library.name).at(Node(1)).init(init).members(&[Tid(1), Tid(2)]).size(2);
        for (x, object) in [("x", Object::new(model.memory()).at(Node(1))), ("o", object.clone()), ("p", object)] {
            world.objects.insert(Loc::new(x), object);
        }
        world
    }

    /// Returns a random value of a kind; a location may be data, too.
    fn random_value(rng: &mut fastrand::Rng, kind: ArgumentKind, objects: &[Loc]) -> Val {
        let location = |rng: &mut fastrand::Rng| Val::Loc(objects[rng.usize(..objects.len())]);
        match kind {
            ArgumentKind::Value => match rng.u8(..6) {
                0 => Val::Bot,
                1 => Val::Bool(rng.bool()),
                2 => Val::tuple(&[Val::Int(1), location(rng)]),
                3 => Val::Int(-1),
                _ => location(rng),
            },
            ArgumentKind::Node => Node(1).into(),
            ArgumentKind::Nodes => Val::Nodes([Node(1)].into_iter().collect()),
            ArgumentKind::Thread => Tid(2).into(),
            ArgumentKind::Id => {
                if rng.bool() {
                    Val::NoWid
                } else {
                    Wid(Name::new("d")).into()
                }
            }
            ArgumentKind::Way => Way::USUAL.into(),
            _ => location(rng),
        }
    }

    /// The parser reads each printed call as it was.
    #[test]
    fn printed_calls_are_read_as_they_were() {
        let mut rng = fastrand::Rng::with_seed(41);
        let (mut calls, mut with_locations) = (0, 0);
        for model in [Model::RDMA_WAIT, Model::RDMA_TSO, Model::RdmaSc, Model::X86Tso] {
            for library in Catalogue::builtin().known(model).all() {
                let (world, own) = (world_of(model, library), [Loc::new("o"), Loc::new("p")]);
                let word = [Loc::new("x")];
                let methods =
                    library.methods.iter().filter(|m| (m.is_of_object() || m.is_statement) && !m.takes_several());
                for method in methods.flat_map(|m| std::iter::repeat_n(*m, 20)) {
                    let objects = |kind| if kind == ArgumentKind::Value { &word[..] } else { &own };
                    let args = method.takes.iter().map(|(_, kind)| random_value(&mut rng, *kind, objects(*kind)));
                    let call = Call::new(library.name, method.name, &args.collect::<Vec<_>>());
                    if library.fault(&world, Tid(1), &call).is_some() {
                        continue;
                    }
                    let client = Client { threads: vec![vec![call.clone()], Vec::new()] };
                    let text = self::client(model, "t", &world, &client, &[]);
                    let Ok(read) = parse("t", &text) else { panic!("{text}{:?}", parse("t", &text)) };
                    let [Statement::Call { library, method, args, .. }] = &read.threads[0].statements[..] else {
                        panic!("{text}")
                    };
                    let args = args.iter().map(|arg| if let Arg::Val(v) = arg { *v } else { panic!("{text}") });
                    assert_eq!(Call::new(*library, method, &args.collect::<Vec<_>>()), call, "{text}");
                    calls += 1;
                    with_locations += usize::from(text.contains('&'));
                }
            }
        }
        assert!(calls > 1000 && with_locations > 200, "{calls} {with_locations}");
    }

    /// A condition has a location as data, as the parser reads it.
    #[test]
    fn locations_in_conditions_are_data() {
        let mut world = World::new(1, &[Node(1)]);
        world.objects.insert(Loc::new("x"), Object::new(Model::RDMA_WAIT.memory()).at(Node(1)));
        let read = Call::new(Model::RDMA_WAIT.memory(), "Read", &[Loc::new("x").into()]);
        let outcome = Outcome { outputs: vec![Val::tuple(&[Loc::new("x").into()])], finals: Vec::new() };
        let text = forbidden(Model::RDMA_WAIT, "t", &world, &Client { threads: vec![vec![read]] }, &outcome);
        assert!(text.ends_with("forbidden (a=&x)\n") && parse("t", &text).is_ok(), "{text}");
    }
}
