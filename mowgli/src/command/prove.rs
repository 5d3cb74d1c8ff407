//! The `prove` command.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use clap::Args;
use itertools::Itertools;
use mowgli_core::unknown::Unknown;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_prove::certificate::Certifier;
use mowgli_prove::prove::{EXECUTIONS, ProofOptions};
use mowgli_prove::solve::{Query, SolverLimit, SolverProgram};
use mowgli_rdma::Network;

use crate::catalogue::Catalogue;
use crate::error::{Bug, Code, InputError};
use crate::interrupt::Failure;
use crate::prove::{ProofResult, proved, solvers};
use crate::theorems::{NamedTheorem, THEOREMS};

use super::network::On;
use super::out::{reported_in, save, worst};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  mowgli prove sv\n  mowgli prove sv --variant fence-of-puts\n  mowgli prove --over nlock\n  mowgli prove sv --network rc-relaxed\n  mowgli prove sv --emit obligations"
)]
pub(super) struct ProveArgs {
    /// The libraries, and theorems of the papers: robust-sc, robust-tso, waits-to-polls; if none is named your own libraries, or
    /// else all.
    names: Vec<String>,
    /// A variant of the implementation, as fence-of-puts.
    #[arg(long)]
    variant: Option<String>,
    /// Only implementations over this library, as nlock; of several, over all of them.
    #[arg(long, value_name = "LIBRARY", value_delimiter = ',')]
    over: Vec<String>,
    #[command(flatten)]
    on: On,
    /// The solver; with both, both must show each obligation.
    #[arg(long, value_enum, default_value_t = SolverArg::Z3)]
    solver: SolverArg,
    /// Million steps of the solver for each part of an obligation; Z3 takes some five million a second.
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=4000))]
    steps: u64,
    /// Seconds after which a question to a solver is cancelled, whatever it has spent; the answer says so.
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Hundreds of clients to search for a counterexample where there is no proof.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..))]
    search: u64,
    /// One JSON object a line and library.
    #[arg(long)]
    json: bool,
    /// Write the questions about each obligation to a file in this folder, in SMT-LIB.
    #[arg(long, value_name = "DIR")]
    emit: Option<PathBuf>,
    /// Write cvc5's proof of each question that closed a case to this folder, and have ethos check it.
    #[arg(long, value_name = "DIR")]
    certificates: Option<PathBuf>,
}

impl ProveArgs {
    /// True if the command prints JSON.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SolverArg {
    /// Z3.
    Z3,
    /// cvc5.
    Cvc5,
    /// Each of them.
    Both,
}

impl SolverArg {
    fn programs(self) -> &'static [SolverProgram] {
        match self {
            Self::Z3 => &[SolverProgram::Z3],
            Self::Cvc5 => &[SolverProgram::Cvc5],
            Self::Both => &[SolverProgram::Z3, SolverProgram::Cvc5],
        }
    }
}

/// Proves implementations and theorems. Returns 0 if every verdict is expected, 1 if one is not, 3 if one is undecided.
pub(super) fn prove(args: &ProveArgs, catalogue: Catalogue) -> Result<u8, Failure> {
    let catalogue = &args.on.of(catalogue)?;
    let known = catalogue.names();
    let theorems = THEOREMS.iter().map(|t| t.name);
    if let Some(unknown) =
        args.names.iter().find(|n| !theorems.clone().chain(known.iter().copied()).contains(&n.as_str()))
    {
        let known = known.iter().copied().chain(theorems.clone());
        return Err(Unknown::new("library or theorem", unknown, known).into());
    }
    let chosen = chosen(args, catalogue)?;
    let theorems = chosen_theorems(args, catalogue)?;
    if chosen.is_empty() && theorems.is_empty() {
        let what = match &args.over[..] {
            [] => "has this variant, and no theorem".to_owned(),
            over => format!("is implemented over {}", over.join(" and ")),
        };
        let error = InputError::new(Code::Unknown, format!("no library {what}"));
        return Err(error.help("see mowgli check --list").into());
    }
    let options = ProofOptions {
        solvers: solvers(args.solver.programs())?,
        limit: SolverLimit {
            steps: args.steps.saturating_mul(1_000_000).min(u32::MAX.into()),
            cancel: Duration::from_secs(args.timeout),
        },
        executions: EXECUTIONS,
        confirms: true,
        keep: args.emit.is_some() || args.certificates.is_some(),
    };
    for folder in args.emit.iter().chain(&args.certificates) {
        std::fs::create_dir_all(folder).map_err(|e| InputError::file(folder, e))?;
    }
    let certifier = match &args.certificates {
        None => None,
        Some(_) => Some(Certifier::find(options.limit.cancel).map_err(|why| {
            InputError::new(Code::Tool, why).help("install a newer cvc5, or leave out --certificates")
        })?),
    };
    let mut certified = Vec::new();
    let search = usize::try_from(args.search).unwrap_or(usize::MAX).saturating_mul(100);
    let of_library = |(entry, variant): &(&Entry, &Variant)| Ok(proved(entry, variant, &options, search)?);
    let questions = chosen
        .iter()
        .map(|library| question(args.json, || of_library(library)))
        .chain(theorems.iter().map(|(t, variant)| question(args.json, || t.reported(variant, &options, search))));
    let mut code = 0;
    let mut contradiction = None;
    in_order(&questions.collect::<Vec<ProofQuestion<'_>>>(), |said| {
        let done = said.and_then(|said| {
            print!("{}", said.printed);
            contradiction.clone_from(&said.contradiction);
            kept(args, &said.files)?;
            if let (Some(folder), Some(certifier)) = (&args.certificates, &certifier) {
                let leaves: Vec<(String, &Query)> = said.leaves.iter().map(|(name, q)| (name.clone(), q)).collect();
                let found = certifier.certify(folder, &leaves).map_err(|e| InputError::file(folder, e))?;
                certified.push((said.title, found, said.obligations));
            }
            Ok(said.code)
        });
        code = worst(code, done.unwrap_or_else(|error| reported_in(args.json, Err(error))));
        contradiction.is_none()
    });
    if let Some(certifier) = certifier.filter(|_| !args.json) {
        println!("Certificates: {}", certifier.checks());
        certified.iter().for_each(|(title, found, of)| println!("  {title}: {found} of {of}"));
    }
    contradiction.map_or(Ok(code), |bug| Err(bug.into()))
}

/// The answer about a library or a theorem.
struct PrintedAnswer {
    printed: String,
    /// The files of its obligations: names and contents.
    files: Vec<(String, String)>,
    /// The name of the library or theorem.
    title: String,
    /// The questions that closed cases, each with a name.
    leaves: Vec<(String, Query)>,
    /// The number of obligations.
    obligations: usize,
    /// The exit code.
    code: u8,
    /// The message about our bug, if the claim is both proved and refuted.
    contradiction: Option<Bug>,
}

/// A question about one library or theorem.
type ProofQuestion<'a> = Box<dyn Fn() -> Result<PrintedAnswer, Failure> + Sync + 'a>;

/// The stack size of a thread that answers questions: that of a process's first thread.
const STACK: usize = 8 << 20;

/// Asks these questions, as many at a time as there are cores, since much of each is done in one thread. Calls `visit`
/// with the answers in the order of the questions. After `visit` returns false no further question is begun.
fn in_order(questions: &[ProofQuestion<'_>], mut visit: impl FnMut(Result<PrintedAnswer, Failure>) -> bool) {
    let lanes = thread::available_parallelism().map_or(1, usize::from).min(questions.len());
    let next = AtomicUsize::new(0);
    let (send, receive) = channel();
    thread::scope(|scope| {
        for _ in 0..lanes {
            let (next, send) = (&next, send.clone());
            let ask = move || {
                let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
                for (number, question) in numbers.map_while(|number| Some((number, questions.get(number)?))) {
                    // Sending fails only after `visit` has returned false, and then nobody needs the answer.
                    let _ = send.send((number, question()));
                }
            };
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, ask).expect("the system has threads");
        }
        drop(send);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (number, said) in receive {
            early.insert(number, said);
            while let Some(said) = early.remove(&due) {
                if !visit(said) {
                    next.store(questions.len(), Ordering::Relaxed);
                    return;
                }
                due += 1;
            }
        }
    });
}

fn chosen<'a>(args: &ProveArgs, catalogue: &'a Catalogue) -> Result<Vec<(&'a Entry, &'a Variant)>, InputError> {
    let usual: Vec<&str> = catalogue.usual().collect();
    let is_wanted = |entry: &&Entry| {
        if args.names.is_empty() { usual.contains(&entry.name) } else { args.names.iter().any(|n| n == entry.name) }
    };
    let name = args.variant.as_deref().unwrap_or("published");
    let mut all = Vec::new();
    for entry in catalogue.entries().iter().filter(is_wanted) {
        let is_missing = |library: &&String| !entry.below.names().any(|below| below.text() == **library);
        match args.over.iter().find(is_missing) {
            None => {}
            Some(_) if args.names.is_empty() => continue,
            Some(library) => {
                return Err(InputError::new(
                    Code::Argument,
                    format!("{} is not implemented over {library}, but over {}", entry.name, entry.over()),
                ));
            }
        }
        match entry.variant(name) {
            Ok(variant) => all.push((entry, variant)),
            Err(_) if args.names.is_empty() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(all)
}

/// Selects the theorems that the arguments name, with the variant. Without names these are all theorems, or none if the
/// user has libraries of their own.
fn chosen_theorems<'a>(
    args: &'a ProveArgs,
    catalogue: &Catalogue,
) -> Result<Vec<(&'static NamedTheorem, &'a str)>, InputError> {
    let is_published = args.on.network.is_none_or(|network| network == Network::RC);
    let all = is_published && args.over.is_empty() && catalogue.usual().count() == catalogue.names().len();
    let is_wanted =
        |t: &&NamedTheorem| if args.names.is_empty() { all } else { args.names.iter().any(|n| n == t.name) };
    let variant = args.variant.as_deref().unwrap_or("published");
    let mut found = Vec::new();
    for theorem in THEOREMS.iter().filter(is_wanted) {
        if let Some(network) = args.on.network.filter(|_| !is_published) {
            let message = format!("theorem {} is about the network of the papers, rc", theorem.name);
            return Err(InputError::new(Code::Argument, message).help(format!("leave out --network {network}")));
        }
        if !args.over.is_empty() {
            return Err(InputError::new(
                Code::Argument,
                format!("theorem {} is about no implementation, so it is over no library", theorem.name),
            ));
        }
        if theorem.variants().contains(&variant) {
            found.push((theorem, variant));
        } else if !args.names.is_empty() {
            let known = theorem.variants().join(", ");
            return Err(InputError::new(Code::Argument, format!("theorem {} has no variant {variant}", theorem.name))
                .help(format!("there are {known}")));
        }
    }
    Ok(found)
}

/// Makes a question that runs `found` and formats its result.
fn question<'a, F: ProofResult>(json: bool, found: impl Fn() -> Result<F, Failure> + Sync + 'a) -> ProofQuestion<'a> {
    Box::new(move || {
        let found = found()?;
        let printed = if json { format!("{}\n", found.json()) } else { found.text() };
        let (files, leaves, title) = (found.files(), found.leaves(), found.title());
        let obligations = found.obligations();
        Ok(PrintedAnswer {
            printed,
            files,
            title,
            leaves,
            obligations,
            code: found.code(),
            contradiction: found.contradiction(),
        })
    })
}

/// Writes the files of the obligations if `--emit` is given.
fn kept(args: &ProveArgs, files: &[(String, String)]) -> Result<(), InputError> {
    let Some(folder) = &args.emit else { return Ok(()) };
    files.iter().try_for_each(|(name, text)| save(&folder.join(name), text))
}
