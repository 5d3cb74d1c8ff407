//! Libraries in C, explored: clients of the code that `mowgli emit c` writes have the outcomes that they have over the
//! term of the body.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial;
use mowgli::emit::{C_PORT, c_function_name, in_c};
use mowgli_check::litmus::run::implement;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, Node, Wid};
use mowgli_core::library::Library;
use mowgli_core::search::problem::{Found, Limits, Problem};
use mowgli_core::search::runs::Stop;
use mowgli_core::soundness::client::{Client, well_formed};
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::Implementation;
use mowgli_core::term::method::Returns;
use mowgli_core::value::Val;
use mowgli_core::world::World;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_rdma::probes::WaitProbes;
use mowgli_rdma::wait::{Method as Rdma, WAIT, Wait, word};
use mowgli_rdma::{Network, Switches};
use mowgli_verbs::{Ask, ProgramCommand, SourcePlace, Toolchain, explore};
use tempfile::TempDir;

use crate::explored::COMPILER;
use crate::needs::{Layer, trial};
use crate::ran::{file, mowgli};
use crate::stack::{can_be_made, stack};

/// Lists the tests.
pub fn trials() -> Vec<Trial> {
    vec![
        trial("emitted_barriers_locks_and_rings_have_the_outcomes_of_their_terms", Layer::Quick, COMPILER, || {
            for library in ["bal", "slock", "rbl", "msw"] {
                let entry = entry_of(library);
                let [whole, cut] = compared(&entry, "published", &some_clients(&entry, 1));
                assert!(whole > 2 && cut == 0, "{library}: {whole} {cut}");
            }
        }),
        trial("operations_of_the_port_have_the_outcomes_of_the_model", Layer::Quick, COMPILER, || {
            let clients = of_operations();
            assert_eq!(compared(&entry_of("sv"), "published", &clients), [clients.len(), 0]);
        }),
        trial("an_emitted_store_has_the_outcomes_of_its_term", Layer::Long, COMPILER, || {
            let entry = entry_of("kvstore");
            let [whole, cut] =
                compared(&entry, "slot-per-key", &probed(&entry, clients_within(&entry, two_calls(), 3)));
            assert!(whole > 2, "{whole} clients were explored, and {cut} in part");
        }),
        trial("emitted_queues_and_maps_have_the_outcomes_of_their_terms", Layer::Long, COMPILER, || {
            for library in ["queue", "map"] {
                let entry = entry_of(library);
                assert_eq!(compared(&entry, "published", &clients_within(&entry, two_calls(), 6)), [6, 0], "{library}");
            }
        }),
        trial("an_emitted_variant_that_is_broken_has_more_outcomes", Layer::Long, COMPILER, || {
            for (library, variant, count) in [
                ("sc-rmw", "read-no-wait", 4),
                ("queue", "no-wait", 4),
                ("map", "no-lock", 40),
                ("table", "no-lock", 40),
            ] {
                let entry = entry_of(library);
                let [published, broken] = ["published", variant].map(|variant| chain(&entry, variant));
                let mut clients = some_clients(&entry, count);
                let outcomes = |chain: &[Arc<dyn Implementation>], of: &(World, Client)| {
                    over_the_term(&entry, chain, of).all().unwrap()
                };
                clients.retain(|of| outcomes(&published, of) != outcomes(&broken, of));
                clients.sort_by_key(|(_, client)| client.len());
                clients.truncate(1);
                assert_eq!(compared(&entry, variant, &clients), [1, 0], "{library}");
            }
        }),
        trial("emitted_libraries_have_the_outcomes_of_their_terms", Layer::Long, COMPILER, || {
            let all = emitted_variants();
            assert!(all.len() > 60, "{all:?}");
            let mut counts = [0, 0];
            for (library, variant) in all {
                let entry = entry_of(&library);
                let count = if is_large(&entry) { 4 } else { 1 };
                let [whole, cut] = compared(&entry, &variant, &some_clients(&entry, count));
                // All clients of the large libraries are explored as a whole, and half of those of `table:no-wait`.
                let most = if (&*library, &*variant) == WITHOUT_END { whole } else { 0 };
                assert!(cut <= most || !is_large(&entry), "{library}:{variant}: {whole} clients, and {cut} in part");
                counts = [counts[0] + whole, counts[1] + cut];
            }
            let [whole, cut] = counts;
            assert!(whole > 9 * cut, "{whole} clients were explored, and {cut} in part");
        }),
    ]
}

fn entry_of(library: &str) -> Entry {
    catalogue().into_iter().find(|entry| entry.name == library).expect("a library")
}

/// Lists the libraries and variants that have a form in C.
fn emitted_variants() -> Vec<(String, String)> {
    let entries = catalogue();
    let all = entries.iter().flat_map(|entry| entry.variants.iter().map(move |variant| (entry, variant)));
    let is_emitted = |(entry, variant): &(&Entry, &Variant)| in_c(&entries, &[(entry, variant)]).is_ok();
    all.filter(is_emitted).map(|(entry, variant)| (entry.name.to_owned(), variant.name.to_owned())).collect()
}

/// The variant in which the search over the term of a client may reach its limit of iterations.
const WITHOUT_END: (&str, &str) = ("table", "no-wait");

/// Compares clients of a variant of a library with those of its term. Returns the number of clients whose outcomes are all known by
/// both, and that of the others. If one of the two has stopped, its outcomes have to be among those of the other.
fn compared(entry: &Entry, variant: &str, clients: &[(World, Client)]) -> [usize; 2] {
    let emitted = EmittedClients::new(entry, variant, clients);
    let chain = chain(entry, variant);
    let mut counts = [0, 0];
    for (number, of) in clients.iter().enumerate() {
        let (expected, found) = (over_the_term(entry, &chain, of), emitted.explored(number));
        let (all, outcomes) = (expected.so_far().0, found.so_far().0);
        assert!(expected.so_far().1.is_none() || (entry.name, variant) == WITHOUT_END, "{:?}: {expected:?}", of.1);
        let agree = match (expected.so_far().1, found.so_far().1) {
            (None, None) => outcomes == all,
            (None, Some(_)) => outcomes.is_subset(all),
            (Some(_), None) => all.is_subset(outcomes),
            (Some(_), Some(_)) => true,
        };
        assert!(agree, "{}:{variant} {:?}: {found:?}, not {expected:?}\n{}", entry.name, of.1, emitted.text);
        let is_whole = expected.so_far().1.is_none() && found.so_far().1.is_none();
        counts[usize::from(!is_whole)] += 1;
    }
    counts
}

/// The number of extensions of a client.
const PROBES: usize = 4;

/// True for libraries whose calls are long: they take a lock, get words and put words. With two calls in each thread, the search over the
/// term of a broken variant takes a minute, for example over `queue:no-wait`. Exploring takes six seconds.
fn is_large(entry: &Entry) -> bool {
    ["queue", "map", "kvstore", "table"].contains(&entry.name)
}

/// Two threads on two nodes with one or two calls each.
fn two_calls() -> Bound {
    Bound { threads: 2, nodes: 2, calls: 2, total: Some(4), ..Bound::default() }
}

/// Clients of operations only. Each has other outcomes if a fence does nothing, an atomic operation is not atomic, or an operation takes the
/// queue of another node.
fn of_operations() -> Vec<(World, Client)> {
    let [x, y, p, q, z] = ["x", "y", "p", "q", "z"].map(Loc::new);
    let [d, e] = ["d", "e"].map(|name| Val::Wid(Wid(Name::literal(name))));
    let v = |v: i64| Val::Int(v);
    let of = |nodes: &[u8], words: &[(Loc, u8, i64)], threads: Vec<Vec<Rdma>>| {
        let nodes: Vec<Node> = nodes.iter().map(|&n| Node(n)).collect();
        let count = words.iter().map(|(_, n, _)| *n).chain(nodes.iter().map(|n| n.0)).max().unwrap();
        let mut world = World::new(count, &nodes);
        world.objects.extend(words.iter().map(|&(x, n, v)| (x, word(Node(n)).init(Val::Int(v)))));
        let threads = threads.into_iter().map(|calls| calls.into_iter().map(Call::from).collect()).collect();
        (world, Client { threads })
    };
    let near = [(x, 1, 0), (y, 1, 0)];
    let buffered = |own, other| vec![Rdma::Write { x: own, v: v(1) }, Rdma::Mfence {}, Rdma::Read { x: other }];
    let got = |first: Rdma, fence: Option<Rdma>| {
        let calls = [
            Some(first),
            fence,
            Some(Rdma::Put { x: z, y: q, d: e }),
            Some(Rdma::Wait { d }),
            Some(Rdma::Read { x: p }),
        ];
        of(&[1], &[(p, 1, 7), (q, 1, 1), (z, 2, 0)], vec![calls.into_iter().flatten().collect()])
    };
    vec![
        of(&[1, 1], &near, vec![buffered(x, y), buffered(y, x)]),
        of(&[1, 1], &near, vec![vec![Rdma::FAA { x, v: v(1) }], vec![Rdma::FAA { x, v: v(2) }, Rdma::Read { x }]]),
        of(&[1, 1], &near, vec![vec![Rdma::Xchg { x, v: v(1) }], vec![Rdma::Xchg { x, v: v(2) }, Rdma::Read { x }]]),
        of(
            &[1, 1],
            &near,
            vec![
                vec![Rdma::CAS { x, v1: v(0), v2: v(1) }],
                vec![Rdma::CAS { x, v1: v(0), v2: v(2) }, Rdma::Read { x }],
            ],
        ),
        of(
            &[1, 1],
            &near,
            vec![
                vec![Rdma::Write { x, v: v(1) }, Rdma::Write { x, v: v(2) }],
                vec![Rdma::Read { x }, Rdma::Read { x }],
            ],
        ),
        got(Rdma::Get { x: p, y: z, d }, None),
        got(Rdma::Get { x: p, y: z, d }, Some(Rdma::Rfence { n: Node(2) })),
        got(Rdma::RFAA { x: p, y: z, v: v(3), d }, None),
        got(Rdma::RCAS { x: p, y: z, v1: v(0), v2: v(3), d }, None),
    ]
}

/// Clients of two calls in each thread, or of one if the library is large. They come with extensions.
fn some_clients(entry: &Entry, count: usize) -> Vec<(World, Client)> {
    // A table of one bucket has the fewest states.
    let sizes = if entry.name == "table" { vec![1] } else { Vec::new() };
    let bound = if is_large(entry) { Bound { calls: 1, total: None, sizes, ..two_calls() } } else { two_calls() };
    probed(entry, clients_within(entry, bound, count))
}

/// Clients of two threads with a call each at least, spread over those within a bound.
fn clients_within(entry: &Entry, bound: Bound, count: usize) -> Vec<(World, Client)> {
    let (mut all, _) = well_formed(entry.library().unwrap(), &*entry.subject, &[bound], &|| false).all().unwrap();
    all.retain(|(world, _)| can_be_made(world));
    all.retain(|(world, client)| world.threads.len() == 2 && client.threads.iter().all(|calls| !calls.is_empty()));
    let step = (all.len() / count).max(1);
    all.into_iter().rev().step_by(step).take(count).collect()
}

/// Adds some extensions of each client, which see through memory what its calls promise.
fn probed(entry: &Entry, clients: Vec<(World, Client)>) -> Vec<(World, Client)> {
    let probes = entry.probes.iter().map(|p| &**p).next();
    let of_memory = WaitProbes { loopback: false, gets: false };
    let with_probes = |(world, client): (World, Client)| {
        let extended = probes.unwrap_or(&of_memory).extend(&world, &client, 0);
        let step = (extended.len() / PROBES).max(1);
        extended.into_iter().skip(step / 2).step_by(step).take(PROBES).chain([(world, client)])
    };
    clients.into_iter().flat_map(with_probes).collect()
}

/// Returns the implementations of a library and of all that it stands on.
fn chain(entry: &Entry, variant: &str) -> Vec<Arc<dyn Implementation>> {
    let entries = catalogue();
    let all = stack(&entries, entry, entry.variant(variant).unwrap());
    all.into_iter().map(|(_, variant)| Arc::clone(&variant.implementation)).collect()
}

/// The results of calls, by thread and position, as the C program records them.
type Results = BTreeMap<String, i64>;

fn result_name(thread: usize, call: usize) -> String {
    format!("P{}_{call}", thread + 1)
}

fn over_the_term(
    entry: &Entry,
    chain: &[Arc<dyn Implementation>],
    (world, client): &(World, Client),
) -> Found<BTreeSet<Results>> {
    let mut world = world.clone();
    let implementations = implement(&mut world, chain);
    let programs = client.programs();
    let limits = Limits::default();
    let libraries = &entry.memory.libraries;
    let problem = Problem { implementations: &implementations, limits, ..Problem::of(libraries, &world, &programs) };
    let of_outcome = |outputs: &[Val]| {
        let of_thread = |(thread, output): (usize, &Val)| {
            let Val::Tuple(parts) = output else { panic!("a thread has a result for each call") };
            let recorded = parts.parts().iter().enumerate().filter_map(|(call, v)| Some((call, recorded(*v)?)));
            recorded.map(|(call, v)| (result_name(thread, call), v)).collect::<Vec<_>>()
        };
        outputs.iter().enumerate().flat_map(of_thread).collect()
    };
    let (outcomes, stop) = problem.results().into_parts();
    Found::new(outcomes.iter().map(|outcome| of_outcome(&outcome.outputs)).collect(), stop)
}

/// Returns the number with which the C program records a value.
fn recorded(value: Val) -> Option<i64> {
    match value {
        Val::Unit => None,
        Val::Bool(is) => Some(is.into()),
        Val::Int(v) => Some(v),
        Val::Bot => Some(i64::MIN),
        Val::Tuple(parts) => Some(parts.parts().iter().fold(0, |all, v| all * 100 + v.int().expect("a number"))),
        other => panic!("{other} is no value of a program in C"),
    }
}

/// A program with several clients, of which its argument chooses one.
struct EmittedClients {
    text: String,
    program: PathBuf,
    /// True for clients of operations only. Broken variants have races between their words and the card.
    races: bool,
    /// The program is gone without it.
    _folder: TempDir,
}

impl EmittedClients {
    fn new(entry: &Entry, variant: &str, clients: &[(World, Client)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let library = format!("{}:{variant}", entry.name);
        let ran = mowgli(&["emit", "c", &library, "--out", &folder.path().display().to_string()]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        file(folder.path(), "client.h", include_str!("device/client.h"));
        let header = std::fs::read_to_string(folder.path().join(format!("{}.h", entry.name))).unwrap();
        let text = InC { library: entry.library().unwrap(), header: C_PORT.1.to_owned() + &header }.program(clients);
        let source = file(folder.path(), "clients.c", &text);
        let program = folder.path().join("clients");
        let toolchain = Toolchain::new(OsStr::new("cc"), OsStr::new("c++")).unwrap();
        let flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"].map(OsString::from);
        toolchain.compile(&[source.into()], &program, &flags).unwrap_or_else(|e| panic!("{e}\n{text}"));
        Self { text, program, races: entry.name == "sv", _folder: folder }
    }

    /// Returns the outcomes of a client under every execution of RDMA_TSO.
    fn explored(&self, client: usize) -> Found<BTreeSet<Results>> {
        let found = explore(&Ask {
            programs: &[ProgramCommand { program: self.program.clone(), args: vec![client.to_string()] }],
            per_node: false,
            switches: Switches { network: Network::RC, ..Switches::OFF },
            states: 100_000,
            time: Duration::from_secs(20),
            executions: false,
            races: self.races,
        });
        let found = found.unwrap();
        // Each access of the CPU to a word is atomic.
        assert!(found.races.is_empty(), "client {client}: {:?}\n{}", found.races, self.text);
        // A call that never returns aborts. So its execution has no outcome, which is the same for the term.
        let never = C_PORT.1.lines().position(|line| line.contains("void mw_never(")).unwrap() + 1;
        let is_never = |place: &SourcePlace| place.within.as_ref().is_some_and(|(_, line)| *line as usize == never);
        assert!(found.failures.iter().all(|f| is_never(&f.place)), "client {client}: {found:?}\n{}", self.text);
        let outcomes = found.outcomes.into_keys().map(|recorded| recorded.into_iter().collect()).collect();
        Found::new(outcomes, found.stop.map(|_| Stop::Time))
    }
}

/// The notation of clients in C, with the prototypes of the emitted header.
struct InC<'a> {
    library: &'a dyn Library,
    header: String,
}

impl InC<'_> {
    fn program(&self, clients: &[(World, Client)]) -> String {
        let mut text = format!("#include \"{}.h\"\n#include \"client.h\"\n", self.library.name());
        let mut choices = String::new();
        for (number, (world, client)) in clients.iter().enumerate() {
            self.objects(&mut text, number, world);
            let args = client.threads.iter().flatten().flat_map(|call| call.args.iter().copied());
            let identifiers: BTreeSet<Val> = args.filter(|v| matches!(v, Val::Wid(_))).collect();
            let identifiers: Vec<Val> = identifiers.into_iter().collect();
            for (thread, calls) in client.threads.iter().enumerate() {
                let _ = writeln!(text, "static void *thread_{number}_{thread}(void *none)\n{{");
                let _ = writeln!(text, "\tstruct mw_thread *me = &threads[{}];\n\t(void)none;", thread + 1);
                for (position, call) in calls.iter().enumerate() {
                    let _ = writeln!(
                        text,
                        "\t{};",
                        self.call(call, (number, &identifiers), &result_name(thread, position))
                    );
                }
                text += "\treturn NULL;\n}\n";
            }
            let of: Vec<String> = world.threads.iter().map(|n| n.to_string()).collect();
            let many = world.threads.len();
            let _ = writeln!(
                choices,
                "\tcase {number}:\n\t\tset_up({}, {many}, (int[]){{ 0, {} }});",
                world.nodes,
                of.join(", ")
            );
            let _ = writeln!(choices, "\t\tfor (int n = 1; n <= {}; n++) make_{number}(n);", world.nodes);
            for (thread, node) in world.threads.iter().enumerate() {
                let _ = writeln!(choices, "\t\tmowgli_node({node}, thread_{number}_{thread}, NULL);");
            }
            choices += "\t\tbreak;\n";
        }
        text + "int main(int count, char **args)\n{\n\tif (count != 2) return 2;\n\tswitch (atoi(args[1])) {\n"
            + &choices
            + "\t}\n\tmowgli_join();\n\treturn 0;\n}\n"
    }

    /// Declares the objects of a client, and writes the function that makes them on a node.
    fn objects(&self, text: &mut String, number: usize, world: &World) {
        let mut made = String::new();
        for (x, object) in &world.objects {
            let prefix = prefix(object.library);
            let word = if object.library == WAIT { "_word" } else { "" };
            let _ = writeln!(text, "static struct {prefix}{word} {x}_{number}[MOST];");
            let members: Vec<String> = object.members.iter().map(|t| (t.index() + 1).to_string()).collect();
            let new = format!("{prefix}{word}_new");
            let given = self.parameters(&new).into_iter().skip(2).map(|parameter| {
                match parameter.rsplit(' ').next().unwrap() {
                    "node" => object.node.expect("a node").to_string(),
                    "initial" => literal(object.init),
                    "size" => object.size.to_string(),
                    "members" => format!("mw_threads({}, {})", members.len(), members.join(", ")),
                    other => panic!("{new} takes {other}"),
                }
            });
            let given: Vec<String> = given.collect();
            let all = [&[format!("&nodes[n], &{x}_{number}[n]")], &given[..]].concat();
            let _ = writeln!(made, "\t{new}({});", all.join(", "));
        }
        let _ = writeln!(text, "static void make_{number}(int n)\n{{\n{made}}}");
    }

    /// Returns a call as a statement. Its result has this name.
    fn call(&self, call: &Call, (number, identifiers): (usize, &[Val]), result: &str) -> String {
        let method = c_function_name(call.library, call.method.text());
        let parameters = self.parameters(&method);
        let object = |x: Loc| format!("&{x}_{number}[me->node]");
        let argument = |(v, parameter): (&Val, &String)| match *v {
            Val::Loc(x) => object(x),
            Val::NoWid => "0".to_owned(),
            // The identifiers of objects come first.
            Val::Wid(_) => format!("MW_IDS - {}", 1 + identifiers.iter().position(|d| d == v).expect("one of them")),
            Val::Nodes(ns) if ns.is_empty() => "0".to_owned(),
            Val::Nodes(ns) => ns.iter().map(|n| format!("mw_only({n})")).collect::<Vec<_>>().join(" | "),
            Val::Int(v) if parameter.starts_with("struct mw_list") => format!("mw_one({v})"),
            other => literal(other),
        };
        let args = call.args.iter().zip(parameters.iter().skip(1)).map(argument);
        let called =
            format!("{method}({})", std::iter::once("me".to_owned()).chain(args).collect::<Vec<_>>().join(", "));
        let methods = if call.library == WAIT { Wait.methods() } else { self.library.methods() };
        let returns = methods.iter().find(|m| m.name == call.method.text()).map(|m| m.returns);
        if returns == Some(Returns::Nothing) { called } else { format!("RECORD(\"{result}\", {called})") }
    }

    /// Returns the parameters of a function of the header, as in its prototype.
    fn parameters(&self, function: &str) -> Vec<String> {
        let start = format!(" {function}(");
        let found =
            self.header.lines().filter(|line| line.starts_with("MW_FN")).find_map(|line| line.split_once(&start));
        let (_, rest) = found.unwrap_or_else(|| panic!("{function} is not in the header"));
        rest.trim_end_matches(')').split(", ").map(str::to_owned).collect()
    }
}

/// Returns a number or a tuple in C.
fn literal(v: Val) -> String {
    let Val::Tuple(parts) = v else { return v.to_string() };
    let all: Vec<String> = parts.parts().iter().map(Val::to_string).collect();
    format!("mw_threads({}, {})", all.len(), all.join(", "))
}

/// Returns the first part of the names of a library in C.
fn prefix(library: Name) -> String {
    if library == WAIT { "mw".to_owned() } else { library.text().replace('-', "_") }
}
