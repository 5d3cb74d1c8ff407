//! Solvers: programs that speak SMT-LIB.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::smt::term::{Obligation, Theory, TheoryStatement, not};

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

    /// Starts it, with pipes. It gives up a question at `limit`, and ends soon after its time and `life`.
    fn start(self, limit: SolverLimit, life: Duration) -> std::io::Result<Child> {
        let mut command = Command::new(self.command());
        command.args(self.arguments(limit, life)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn()
    }

    /// Returns its arguments. It gives up a question at `limit`, and the process ends soon after its time and `life`.
    fn arguments(self, limit: SolverLimit, life: Duration) -> Vec<String> {
        let (millis, seconds) = (limit.cancel.as_millis(), (limit.cancel + life).as_secs() + 2);
        match self {
            Self::Z3 => vec!["-smt2".into(), "-in".into(), format!("-t:{millis}"), format!("-T:{seconds}")],
            Self::Cvc5 => vec![
                "--quiet".into(),
                "--lang=smt2".into(),
                "--incremental".into(),
                format!("--rlimit-per={}", limit.steps),
                format!("--tlimit-per={millis}"),
                format!("--tlimit={}", seconds * 1000),
            ],
        }
    }
}

/// The limits of a question, or of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SolverLimit {
    /// Steps of the solver (`rlimit`). They do not depend on the load of the machine.
    pub steps: u64,
    /// The time after which a question is cancelled. The answer says so.
    pub cancel: Duration,
}

impl SolverLimit {
    /// The steps that Z3 takes in about a second.
    pub const SECOND: u64 = 5_000_000;

    /// Returns limits of steps, with a time that only a question that hangs takes.
    #[must_use]
    pub const fn of(steps: u64) -> Self {
        Self { steps, cancel: Duration::from_secs(600) }
    }

    /// Returns these limits with at most so many steps.
    #[must_use]
    pub fn at_most(self, steps: u64) -> Self {
        Self { steps: self.steps.min(steps), ..self }
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

impl SolverAnswer {
    /// Returns the answer to a question that has spent its steps.
    #[must_use]
    pub fn out_of_steps() -> Self {
        Self::Unknown("out of steps".to_owned())
    }
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

/// Asks whether an obligation follows from a theory, within limits.
#[must_use]
pub fn ask(program: SolverProgram, theory: &Theory, question: &Obligation, limit: SolverLimit) -> SolverAnswer {
    let start = Instant::now();
    let steps =
        if program == SolverProgram::Z3 { format!("(set-option :rlimit {})\n", limit.steps) } else { String::new() };
    let text = format!("{WHOLE}{steps}{}(check-sat)\n", whole(theory, question));
    answered(program, start, limit, alone(program, &text, limit))
}

/// Asks a new process one question. Returns its output.
fn alone(program: SolverProgram, text: &str, limit: SolverLimit) -> std::io::Result<String> {
    let mut process = program.start(limit, Duration::ZERO)?;
    // If the process has ended, it has printed the reason.
    let _ = process.stdin.take().expect("it was asked for").write_all(text.as_bytes());
    Ok(String::from_utf8_lossy(&process.wait_with_output()?.stdout).into_owned())
}

/// Returns the answer that a solver reported to a question that was asked at `start`.
fn answered(
    program: SolverProgram,
    start: Instant,
    limit: SolverLimit,
    reported: std::io::Result<String>,
) -> SolverAnswer {
    let reported = reported.unwrap_or_else(|error| format!("{program} failed: {error}"));
    match reported.trim() {
        "unsat" => SolverAnswer::Follows,
        "sat" => SolverAnswer::Fails,
        _ if start.elapsed() >= limit.cancel => {
            SolverAnswer::Unknown(format!("cancelled after {} seconds", limit.cancel.as_secs()))
        }
        "" => SolverAnswer::Unknown(format!("{program} failed: it gave no answer")),
        error if error.starts_with("(error") => SolverAnswer::Unknown(format!("{program} failed: {error}")),
        // Each other limit is off.
        "unknown" => SolverAnswer::Unknown("unknown, or out of steps".to_owned()),
        other => SolverAnswer::Unknown(other.to_owned()),
    }
}

/// The effort of a solver before it gives up a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Little more than to read the question. The limit counts Z3's steps and not time, so that it does not depend on
    /// the machine. It is enough for most consequences of instances. cvc5 counts steps differently, so it has no such
    /// limit.
    Little,
    /// All steps that the limit allows.
    Full,
}

/// The steps that Z3 may take for each character of a question with little effort. Of four hundred questions that
/// follow, none took more than 1.2.
const STEPS: u64 = 2;

/// Asks whether a theory is unsatisfiable. The solver instantiates axioms only where it sees a reason. Returns the steps, too.
#[must_use]
pub fn ask_all(program: SolverProgram, theory: &Theory, limit: SolverLimit, effort: Effort) -> (SolverAnswer, u64) {
    let start = Instant::now();
    let (said, steps) = match reported(program, theory, limit, effort) {
        Ok((said, steps)) => (Ok(said), steps),
        Err(error) => (Err(error), 0),
    };
    (answered(program, start, limit, said), steps)
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
    /// The steps that it has taken, if it reports them.
    steps: u64,
}

impl Running {
    fn start(program: SolverProgram, sorts: String, limit: SolverLimit) -> std::io::Result<Self> {
        let life = if program == SolverProgram::Z3 { LIFE } else { Duration::ZERO };
        let mut process = program.start(limit, life)?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let (input, output) = (input.expect("it was asked for"), BufReader::new(output.expect("it was asked for")));
        let mut running = Self { sorts, process, input, output, end: Instant::now() + life + limit.cancel, steps: 0 };
        running.input.write_all(format!("{}{}", program.head(), running.sorts).as_bytes())?;
        Ok(running)
    }

    /// Asks about a theory with the same sorts. Returns the output, the steps, and whether the process can be asked again.
    fn reported(
        &mut self,
        program: SolverProgram,
        theory: &str,
        limit: SolverLimit,
        effort: Effort,
    ) -> std::io::Result<(String, u64, bool)> {
        let little = STEPS * theory.len() as u64;
        let steps = if effort == Effort::Little { little.min(limit.steps) } else { limit.steps };
        let [before, after] = match program {
            SolverProgram::Z3 => [
                format!("(set-option :timeout {})\n(set-option :rlimit {steps})\n", limit.cancel.as_millis()),
                "(set-option :rlimit 0)\n(get-info :rlimit)\n".to_owned(),
            ],
            SolverProgram::Cvc5 => [String::new(), String::new()],
        };
        let text = format!("(push 1)\n{theory}{before}(check-sat)\n{after}(pop 1)\n(echo \"{ANSWERED}\")\n");
        // If the process has ended, it has printed the reason.
        let _ = self.input.write_all(text.as_bytes());
        // cvc5 does not say how many steps it took, so it is charged for reading the question.
        let (mut reported, mut spent) = (String::new(), little);
        loop {
            let before = reported.len();
            if self.output.read_line(&mut reported)? == 0 {
                return Ok((reported, little, false));
            }
            let line = reported[before..].trim();
            let taken = line.strip_prefix("(:rlimit ").and_then(|rest| rest.strip_suffix(')')?.parse::<u64>().ok());
            if let Some(taken) = taken {
                // The number of steps may begin anew.
                spent = taken.checked_sub(self.steps).unwrap_or(taken);
                self.steps = taken;
                reported.truncate(before);
            } else if line.trim_matches('"') == ANSWERED {
                reported.truncate(before);
                return Ok((reported, spent, true));
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

fn reported(
    program: SolverProgram,
    theory: &Theory,
    limit: SolverLimit,
    effort: Effort,
) -> std::io::Result<(String, u64)> {
    let is_sort = |s: &&TheoryStatement| matches!(s, TheoryStatement::Sort(_) | TheoryStatement::Elements(..));
    let (sorts, others): (Vec<&TheoryStatement>, Vec<&TheoryStatement>) = theory.0.iter().partition(is_sort);
    let [sorts, others] = [sorts, others].map(|all| all.iter().map(|s| format!("{s}\n")).collect::<String>());
    RUNNING.with_borrow_mut(|all| {
        let start = Instant::now();
        let serves = |running: &Running| running.sorts == sorts && running.end >= start + limit.cancel;
        let known = all.remove(&program).filter(serves);
        let mut running = known.map_or_else(|| Running::start(program, sorts, limit), Ok)?;
        let (reported, steps, goes_on) = running.reported(program, &others, limit, effort)?;
        if goes_on && start.elapsed() < limit.cancel {
            all.insert(program, running);
        }
        Ok((reported, steps))
    })
}

/// The head of a question about a whole theory.
const WHOLE: &str = "(set-logic ALL)\n";

/// Returns a theory and an obligation as text: they are unsatisfiable together if the obligation follows.
fn whole(theory: &Theory, question: &Obligation) -> String {
    let statements: String = statements(question).iter().map(|s| format!("{s}\n")).collect();
    format!("{theory}\n; The obligation.\n{statements}")
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
        Self { program, split: Vec::new(), head: WHOLE, statements: whole(theory, question), answer }
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
