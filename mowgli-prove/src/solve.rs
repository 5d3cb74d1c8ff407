//! Solvers: programs that speak SMT-LIB.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use easy_smt::{Context, ContextBuilder, Response};

use crate::model::Obligation;
use crate::term::{Term, Theory, TheoryStatement, not};

/// A solver on the path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SolverProgram {
    /// Z3.
    Z3,
    /// cvc5.
    Cvc5,
}

impl fmt::Display for SolverProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.command())
    }
}

impl SolverProgram {
    /// Returns the command.
    #[must_use]
    pub fn command(self) -> &'static str {
        match self {
            Self::Z3 => "z3",
            Self::Cvc5 => "cvc5",
        }
    }

    /// True if it can be run.
    #[must_use]
    pub fn is_there(self) -> bool {
        let run = Command::new(self.command()).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        run.is_ok_and(|status| status.success())
    }

    /// Returns the options for questions about instances.
    fn head(self) -> &'static str {
        match self {
            Self::Z3 => "(set-option :smt.auto_config false)\n(set-option :smt.mbqi false)\n",
            Self::Cvc5 => "(set-logic ALL)\n",
        }
    }

    /// Returns its arguments. It gives up a question after `limit`, and the process ends soon after `limit` and `life`.
    fn arguments(self, limit: Duration, life: Duration) -> Vec<String> {
        let (millis, seconds) = (limit.as_millis(), (limit + life).as_secs() + 2);
        match self {
            Self::Z3 => vec!["-smt2".into(), "-in".into(), format!("-t:{millis}"), format!("-T:{seconds}")],
            Self::Cvc5 => vec![
                "--quiet".into(),
                "--lang=smt2".into(),
                "--incremental".into(),
                format!("--tlimit-per={millis}"),
                format!("--tlimit={}", seconds * 1000),
            ],
        }
    }
}

/// The answer of a solver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SolverAnswer {
    /// The question follows, because its hypothesis and the negated goal are unsatisfiable: `unsat`.
    Follows,
    /// The question does not follow, because a structure satisfies the hypothesis and the negated goal: `sat`.
    Fails,
    /// The solver found neither, for this reason.
    Unknown(String),
}

impl fmt::Display for SolverAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Follows => f.write_str("unsat"),
            Self::Fails => f.write_str("sat"),
            Self::Unknown(why) => f.write_str(why),
        }
    }
}

/// Asks whether an obligation follows from a theory. `question` is given up after `limit`.
#[must_use]
pub fn ask(
    program: SolverProgram,
    theory: &Theory,
    question: &Obligation,
    limit: Duration,
) -> (SolverAnswer, Duration) {
    let start = Instant::now();
    let answer = asked(program, theory, question, limit);
    let time = start.elapsed();
    let answer = answer.unwrap_or_else(|error| {
        SolverAnswer::Unknown(if time >= limit { "time-out".to_owned() } else { format!("{program} failed: {error}") })
    });
    let answer = if answer == SolverAnswer::Unknown("unknown".to_owned()) && time >= limit {
        SolverAnswer::Unknown("time-out".to_owned())
    } else {
        answer
    };
    (answer, time)
}

/// The effort of a solver before it gives up a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Little more than to read the question. The limit counts Z3's steps and not time, so that it does not depend on
    /// the machine. It is enough for most consequences of instances. cvc5 counts steps differently, so it has no such
    /// limit.
    Little,
    /// All effort that the time allows.
    Full,
}

/// The steps that Z3 may take for each character of a question with little effort. Of four hundred questions that
/// follow, none took more than 1.2.
const STEPS: usize = 2;

/// Asks whether a theory is unsatisfiable. The solver instantiates axioms only where it sees a reason.
#[must_use]
pub fn ask_all(program: SolverProgram, theory: &Theory, limit: Duration, effort: Effort) -> SolverAnswer {
    let start = Instant::now();
    let reported =
        reported(program, theory, limit, effort).unwrap_or_else(|error| format!("{program} failed: {error}"));
    match reported.trim() {
        "unsat" => SolverAnswer::Follows,
        "sat" => SolverAnswer::Fails,
        _ if start.elapsed() >= limit => SolverAnswer::Unknown("time-out".to_owned()),
        other => SolverAnswer::Unknown(other.to_owned()),
    }
}

/// The line that a solver prints after its answer.
const ANSWERED: &str = "answered";

/// The life of a solver process, which answers many questions because starting it takes longer than most of them.
const LIFE: Duration = Duration::from_secs(30);

thread_local! {
    /// The solvers that this thread asks.
    static RUNNING: RefCell<BTreeMap<SolverProgram, Running>> = const { RefCell::new(BTreeMap::new()) };
}

/// A solver process that answers one question after another. It forgets each question, but keeps the sorts.
struct Running {
    sorts: String,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The time at which the process ends.
    end: Instant,
}

impl Running {
    fn start(program: SolverProgram, sorts: String, limit: Duration) -> std::io::Result<Self> {
        let life = if program == SolverProgram::Z3 { LIFE } else { Duration::ZERO };
        let mut process = Command::new(program.command())
            .args(program.arguments(limit, life))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let (input, output) = (input.expect("it was asked for"), BufReader::new(output.expect("it was asked for")));
        let mut running = Self { sorts, process, input, output, end: Instant::now() + life + limit };
        running.input.write_all(format!("{}{}", program.head(), running.sorts).as_bytes())?;
        Ok(running)
    }

    /// Asks about a theory with the same sorts. Returns the output, and whether the process can be asked again.
    fn reported(
        &mut self,
        program: SolverProgram,
        theory: &str,
        limit: Duration,
        effort: Effort,
    ) -> std::io::Result<(String, bool)> {
        let steps = if effort == Effort::Little { STEPS * theory.len() } else { 0 };
        let [before, after] = match program {
            SolverProgram::Z3 => [
                format!("(set-option :timeout {})\n(set-option :rlimit {steps})\n", limit.as_millis()),
                "(set-option :rlimit 0)\n".to_owned(),
            ],
            SolverProgram::Cvc5 => [String::new(), String::new()],
        };
        let text = format!("(push 1)\n{theory}{before}(check-sat)\n{after}(pop 1)\n(echo \"{ANSWERED}\")\n");
        // If the process has ended, it has printed the reason.
        let _ = self.input.write_all(text.as_bytes());
        let mut reported = String::new();
        loop {
            let before = reported.len();
            if self.output.read_line(&mut reported)? == 0 {
                return Ok((reported, false));
            }
            if reported[before..].trim().trim_matches('"') == ANSWERED {
                reported.truncate(before);
                return Ok((reported, true));
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn reported(program: SolverProgram, theory: &Theory, limit: Duration, effort: Effort) -> std::io::Result<String> {
    let is_sort = |s: &&TheoryStatement| matches!(s, TheoryStatement::Sort(_) | TheoryStatement::Elements(..));
    let (sorts, others): (Vec<&TheoryStatement>, Vec<&TheoryStatement>) = theory.0.iter().partition(is_sort);
    let [sorts, others] = [sorts, others].map(|all| all.iter().map(|s| format!("{s}\n")).collect::<String>());
    RUNNING.with_borrow_mut(|all| {
        let start = Instant::now();
        let serves = |running: &Running| running.sorts == sorts && running.end >= start + limit;
        let known = all.remove(&program).filter(serves);
        let mut running = known.map_or_else(|| Running::start(program, sorts, limit), Ok)?;
        let (reported, goes_on) = running.reported(program, &others, limit, effort)?;
        if goes_on && start.elapsed() < limit {
            all.insert(program, running);
        }
        Ok(reported)
    })
}

fn asked(
    program: SolverProgram,
    theory: &Theory,
    question: &Obligation,
    limit: Duration,
) -> std::io::Result<SolverAnswer> {
    let mut context = ContextBuilder::new()
        .solver(program.command())
        .solver_args(program.arguments(limit, Duration::ZERO))
        .build()?;
    if program == SolverProgram::Cvc5 {
        let logic = [context.atom("set-logic"), context.atom("ALL")];
        command(&mut context, logic.to_vec())?;
    }
    for statement in theory.0.iter().chain(&statements(question)) {
        give(&mut context, statement)?;
    }
    Ok(match context.check()? {
        Response::Unsat => SolverAnswer::Follows,
        Response::Sat => SolverAnswer::Fails,
        Response::Unknown => SolverAnswer::Unknown("unknown".to_owned()),
    })
}

/// Returns the constants of an obligation, its hypothesis, and the negated goal, as statements.
fn statements(question: &Obligation) -> Vec<TheoryStatement> {
    let constants = question.of.iter();
    let mut all: Vec<TheoryStatement> =
        constants.map(|(name, sort)| TheoryStatement::Function(name.clone(), Vec::new(), (*sort).to_owned())).collect();
    let hints = question.hints.iter();
    all.extend(hints.map(|hint| TheoryStatement::Axiom("an instance of what is known".to_owned(), hint.clone())));
    all.push(TheoryStatement::Axiom("given".to_owned(), question.from.clone()));
    all.push(TheoryStatement::Axiom("it does not follow".to_owned(), not(question.to.clone())));
    all
}

/// A question as the solver got it.
#[derive(Clone, Debug)]
pub struct Query {
    /// The solver.
    pub program: SolverProgram,
    /// The case splits before it, in order: the role of a thing, or the source of a read.
    pub split: Vec<String>,
    /// The options of the solver.
    head: &'static str,
    /// The declarations and assertions, in SMT-LIB.
    pub statements: String,
    /// The answer.
    pub answer: SolverAnswer,
}

impl Query {
    /// Returns the question of an obligation as a whole, with the whole theory.
    #[must_use]
    pub fn whole(program: SolverProgram, theory: &Theory, question: &Obligation, answer: SolverAnswer) -> Self {
        let statements: String = statements(question).iter().map(|s| format!("{s}\n")).collect();
        let statements = format!("{theory}\n; The obligation.\n{statements}");
        Self { program, split: Vec::new(), head: "(set-logic ALL)\n", statements, answer }
    }

    /// Returns the question of a case, with instances of the axioms.
    #[must_use]
    pub fn case(program: SolverProgram, split: Vec<String>, instances: &Theory, answer: SolverAnswer) -> Self {
        let statements = instances.0.iter().map(|s| format!("{s}\n")).collect();
        Self { program, split, head: program.head(), statements, answer }
    }

    /// Returns the question as a complete program in SMT-LIB for a solver, which may be another than the one that
    /// answered it.
    #[must_use]
    pub fn asked_of(&self, program: SolverProgram) -> String {
        format!("{}{}(check-sat)\n", program.head(), self.statements)
    }

    /// Returns the question as a complete program in SMT-LIB.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { program, split, head, statements, answer } = self;
        let split: String = split.iter().map(|line| format!("; split: {line}\n")).collect();
        format!("; {program} answered: {answer}\n{split}{head}{statements}(check-sat)\n")
    }
}

fn command(context: &mut Context, parts: Vec<easy_smt::SExpr>) -> std::io::Result<()> {
    let whole = context.list(parts);
    context.raw_send(whole)?;
    let answer = context.raw_recv()?;
    if answer == context.atoms().success {
        return Ok(());
    }
    let shown = context.display(answer).to_string();
    Err(std::io::Error::other(shown))
}

fn give(context: &mut Context, statement: &TheoryStatement) -> std::io::Result<()> {
    let atom = |context: &Context, text: &str| context.atom(text.to_owned());
    let parts = match statement {
        TheoryStatement::Comment(_) => return Ok(()),
        TheoryStatement::Sort(name) => vec![atom(context, "declare-sort"), atom(context, name), atom(context, "0")],
        TheoryStatement::Elements(sort, names) => {
            let names = names.iter().map(|name| context.list(vec![atom(context, name)])).collect();
            let sorts = context.list(vec![context.list(vec![atom(context, sort), atom(context, "0")])]);
            let elements = context.list(vec![context.list(names)]);
            vec![atom(context, "declare-datatypes"), sorts, elements]
        }
        TheoryStatement::Function(name, from, to) => {
            let from = context.list(from.iter().map(|s| atom(context, s)).collect());
            vec![atom(context, "declare-fun"), atom(context, name), from, atom(context, to)]
        }
        TheoryStatement::Definition(name, of, to, body) => {
            let of = bound(context, of);
            let body = expression(context, body);
            vec![atom(context, "define-fun"), atom(context, name), of, atom(context, to), body]
        }
        TheoryStatement::Axiom(_, body) => vec![atom(context, "assert"), expression(context, body)],
    };
    command(context, parts)
}

fn bound(context: &Context, of: &[(String, String)]) -> easy_smt::SExpr {
    let one =
        |(name, sort): &(String, String)| context.list(vec![context.atom(name.clone()), context.atom(sort.clone())]);
    context.list(of.iter().map(one).collect())
}

fn expression(context: &Context, term: &Term) -> easy_smt::SExpr {
    let quantified = |word: &str, of, body| context.list(vec![context.atom(word.to_owned()), bound(context, of), body]);
    match term {
        Term::App(name, to) if to.is_empty() => context.atom(name.to_string()),
        Term::App(name, to) => {
            let parts =
                std::iter::once(context.atom(name.to_string())).chain(to.iter().map(|t| expression(context, t)));
            context.list(parts.collect())
        }
        Term::All(of, body) => quantified("forall", of, expression(context, body)),
        Term::Any(of, body) => quantified("exists", of, expression(context, body)),
        Term::AllAt(of, body, at) => {
            let at = context.list(vec![expression(context, at)]);
            let body = vec![context.atom("!"), expression(context, body), context.atom(":pattern"), at];
            quantified("forall", of, context.list(body))
        }
    }
}
