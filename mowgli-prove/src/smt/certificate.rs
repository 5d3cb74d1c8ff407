//! Certificates: proofs of cvc5 for the questions that close cases, checked by ethos where it is installed.
//!
//! **Computes** for each question that a solver answered with `unsat` a proof in the format CPC, if cvc5 finds one in
//! time. A solver's answer is believed; a proof that ethos has accepted need not be.
//!
//! **Example**: `(assert a)(assert (not a))` has a proof with two assumptions and one step, `contra`.
//!
//! **Correct because** a proof counts only if its last step is `false`. Its assumptions, sorts with known elements and definitions
//! have to be statements of the question. Test: `a_proof_of_something_else_is_refused`.
//!
//! **Cost**: one run of cvc5 for each question, and one of ethos for each proof.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rayon::prelude::*;

use crate::smt::solve::{Query, SolverProgram};

/// The options with which cvc5 prints proofs that ethos can check.
const OPTIONS: [&str; 5] =
    ["--lang=smt2", "--produce-proofs", "--proof-format-mode=cpc", "--proof-granularity=dsl-rewrite", "--dag-thresh=0"];

/// The variable of the environment that names the file `Cpc.eo` with the rules of the format.
const RULES: &str = "MOWGLI_CPC";

/// The result for one question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certificate {
    /// cvc5 gave no proof in time.
    Missing,
    /// cvc5 gave a proof of the question, and no ethos checked it.
    Proved,
    /// Ethos has accepted the proof.
    Checked,
    /// The proof is of something else, or ethos has rejected it.
    Rejected,
}

/// The number of questions with each result.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Certified {
    /// The questions.
    pub leaves: usize,
    /// Those with a proof of the question that nothing rejected.
    pub proved: usize,
    /// Those whose proof ethos has accepted.
    pub checked: usize,
    /// Those whose proof is of something else, or was rejected by ethos.
    pub rejected: usize,
    /// The obligations all of whose questions have a certificate: a proof, which ethos has accepted if it is there. The name of a
    /// question begins with that of its obligation, up to the last hyphen.
    pub obligations: usize,
}

impl Certified {
    /// Counts the results of named questions. If proofs are checked, only a checked one is a certificate.
    fn of(results: &[(&str, Certificate)], are_checked: bool) -> Self {
        use Certificate::{Checked, Proved, Rejected};
        let good = if are_checked { Checked } else { Proved };
        let mut obligations: BTreeMap<&str, bool> = BTreeMap::new();
        for (name, certificate) in results {
            let obligation = name.rsplit_once('-').map_or(*name, |(of, _)| of);
            *obligations.entry(obligation).or_insert(true) &= *certificate == good;
        }
        let count = |is: &[Certificate]| results.iter().filter(|(_, certificate)| is.contains(certificate)).count();
        Self {
            leaves: results.len(),
            proved: count(&[Proved, Checked]),
            checked: count(&[Checked]),
            rejected: count(&[Rejected]),
            obligations: obligations.into_values().filter(|is_certified| *is_certified).count(),
        }
    }
}

impl fmt::Display for Certified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { leaves, proved, checked, rejected, obligations } = self;
        write!(f, "{leaves} leaves, {proved} with a proof by cvc5, {checked} checked by ethos")?;
        if *rejected > 0 {
            write!(f, ", {rejected} rejected")?;
        }
        write!(f, "; certified obligations: {obligations}")
    }
}

/// The programs that make and check certificates.
#[derive(Clone, Debug)]
pub struct Certifier {
    limit: Duration,
    /// The file with the rules for ethos, if both are there.
    rules: Option<String>,
}

impl Certifier {
    /// Finds cvc5, and ethos if it can be run.
    ///
    /// # Errors
    /// If cvc5 is missing or too old to print such proofs; the message has its version.
    pub fn find(limit: Duration) -> Result<Self, String> {
        let version = Command::new("cvc5").arg("--version").output().map_err(|e| format!("cvc5 cannot be run: {e}"))?;
        let version = String::from_utf8_lossy(&version.stdout);
        let first = version.lines().next().unwrap_or_default();
        let example = std::env::temp_dir().join(format!("mowgli-certificate-{}.smt2", std::process::id()));
        let certifier = Self { limit, rules: None };
        let written = std::fs::write(&example, "(set-logic ALL)\n(assert false)\n(check-sat)\n(get-proof)\n");
        let proof = written.ok().and_then(|()| certifier.proof(&example));
        let _ = std::fs::remove_file(&example);
        if proof.is_none() {
            return Err(format!("cvc5 cannot print proofs in the format CPC, as 1.4.2 can: \"{first}\""));
        }
        let has_ethos =
            Command::new("ethos").arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
        Ok(Self { rules: std::env::var(RULES).ok().filter(|_| has_ethos), ..certifier })
    }

    /// Describes whether proofs are checked.
    #[must_use]
    pub fn checks(&self) -> String {
        match &self.rules {
            Some(rules) => format!("ethos checks the proofs by the rules in {rules}"),
            None => format!("no proof is checked: that needs ethos on the path, and its rules Cpc.eo in {RULES}"),
        }
    }

    /// Asks cvc5 for the proof of the question in a file, and returns it without the answer before it.
    fn proof(&self, question: &Path) -> Option<String> {
        let limit = format!("--tlimit={}", self.limit.as_millis());
        let said = Command::new("cvc5").args(OPTIONS).arg(limit).arg(question).output().ok()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let proof = said.strip_prefix("unsat")?.trim().strip_prefix('(')?.strip_suffix(')')?;
        Some(proof.trim().to_owned() + "\n").filter(|proof| !proof.starts_with("error"))
    }

    /// Certifies the questions that a solver closed. Writes each question, and its proof beside it, into a folder.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn certify(&self, folder: &Path, leaves: &[(String, &Query)]) -> std::io::Result<Certified> {
        use Certificate::{Checked, Missing, Proved, Rejected};
        let of_leaf = |(name, query): &(String, &Query)| {
            let [question, proof] = ["smt2", "cpc"].map(|end| folder.join(format!("{name}.{end}")));
            let asked = query.asked_of(SolverProgram::Cvc5);
            std::fs::write(&question, format!("{asked}(get-proof)\n"))?;
            let Some(text) = self.proof(&question) else { return Ok(Missing) };
            std::fs::write(&proof, &text)?;
            if !is_proof_of(&text, &asked) {
                return Ok(Rejected);
            }
            let Some(rules) = &self.rules else { return Ok(Proved) };
            let rules = format!("--include={rules}");
            let said = Command::new("ethos").arg("--require-proof-of-false").arg(rules).arg(&proof).output()?;
            let is_correct = said.status.success() && String::from_utf8_lossy(&said.stdout).trim() == "correct";
            Ok(if is_correct { Checked } else { Rejected })
        };
        let all = leaves.par_iter().map(of_leaf).collect::<std::io::Result<Vec<Certificate>>>()?;
        let named: Vec<_> = leaves.iter().map(|(name, _)| name.as_str()).zip(all).collect();
        Ok(Certified::of(&named, self.rules.is_some()))
    }
}

/// An S-expression.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Sexp {
    Word(String),
    List(Vec<Sexp>),
}

impl Sexp {
    /// Reads all expressions of a text. `None` if parentheses do not match.
    fn all(text: &str) -> Option<Vec<Self>> {
        let without_comments = text.lines().map(|line| line.split(';').next().unwrap_or_default());
        let spaced = without_comments.collect::<Vec<_>>().join("\n").replace('(', " ( ").replace(')', " ) ");
        let mut open: Vec<Vec<Self>> = vec![Vec::new()];
        for word in spaced.split_whitespace() {
            let done = match word {
                "(" => {
                    open.push(Vec::new());
                    continue;
                }
                ")" => Self::List(open.pop()?),
                _ => Self::Word(word.to_owned()),
            };
            open.last_mut()?.push(done);
        }
        open.pop().filter(|_| open.is_empty())
    }

    fn parts(&self) -> &[Self] {
        if let Self::List(parts) = self { parts } else { &[] }
    }

    fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }

    /// Puts other expressions in place of words.
    fn with(&self, by: &BTreeMap<String, Self>) -> Self {
        match self {
            Self::Word(word) => by.get(word).unwrap_or(self).clone(),
            Self::List(parts) => Self::List(parts.iter().map(|part| part.with(by)).collect()),
        }
    }

    /// Writes bound variables of a question as cvc5 does in a proof: `(@var "a" Sub)` in place of `a`.
    fn with_variables(&self, bound: &BTreeMap<String, Self>) -> Self {
        let Self::List(parts) = self else { return self.with(bound) };
        match &parts[..] {
            [quantifier, of, body] if quantifier.is("forall") || quantifier.is("exists") => {
                let variable = |pair: &Self| match pair.parts() {
                    [Self::Word(name), sort] => {
                        let quoted = Self::Word(format!("\"{name}\""));
                        Some((name.clone(), Self::List(vec![Self::Word("@var".to_owned()), quoted, sort.clone()])))
                    }
                    _ => None,
                };
                let own: Vec<(String, Self)> = of.parts().iter().filter_map(variable).collect();
                let inside = bound.clone().into_iter().chain(own.iter().cloned()).collect();
                let list = std::iter::once(Self::Word("@list".to_owned())).chain(own.into_iter().map(|(_, var)| var));
                Self::List(vec![quantifier.clone(), Self::List(list.collect()), body.with_variables(&inside)])
            }
            _ => Self::List(parts.iter().map(|part| part.with_variables(bound)).collect()),
        }
    }
}

/// True if a proof in the format CPC is one of the unsatisfiability of a question in SMT-LIB.
fn is_proof_of(proof: &str, question: &str) -> bool {
    let (Some(proof), Some(question)) = (Sexp::all(proof), Sexp::all(question)) else { return false };
    let (mut asserted, mut defined, mut declared) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
    for statement in &question {
        match statement.parts() {
            [command, formula] if command.is("assert") => _ = asserted.insert(formula.with_variables(&BTreeMap::new())),
            [command, Sexp::Word(name), of, _, body] if command.is("define-fun") && of.parts().is_empty() => {
                defined.insert(name.clone(), body.with_variables(&BTreeMap::new()));
            }
            [command, ..] if command.is("declare-datatypes") => _ = declared.insert(statement.clone()),
            _ => {}
        }
    }
    let mut short: BTreeMap<String, Sexp> = BTreeMap::new();
    let mut pushed = 0_usize;
    let is_allowed = |statement: &Sexp| {
        let parts = statement.parts();
        let [command, rest @ ..] = parts else { return false };
        let Sexp::Word(command) = command else { return false };
        match (&command[..], rest) {
            ("declare-sort" | "declare-const" | "declare-fun" | "step-pop", _) => {
                pushed = pushed.saturating_sub(usize::from(command == "step-pop"));
                true
            }
            // cvc5 writes such a step where it has no rule.
            ("step", parts) => !parts.iter().any(|part| matches!(part, Sexp::Word(rule) if rule.starts_with("trust"))),
            ("declare-datatypes", _) => declared.contains(statement),
            ("assume-push", _) => {
                pushed += 1;
                true
            }
            ("assume", [_, formula]) => asserted.contains(&formula.with(&short)),
            ("define", [Sexp::Word(name), _, body]) => {
                let body = body.with(&short);
                if !name.starts_with('@') {
                    return defined.get(name) == Some(&body);
                }
                short.insert(name.clone(), body);
                true
            }
            _ => false,
        }
    };
    // Without a conclusion, the rule gives that of its first argument.
    let ends = |step: &Sexp| match step.parts() {
        [step, _, conclusion, ..] if step.is("step") && conclusion.is("false") => true,
        [step, _, rule, .., args] => {
            step.is("step") && rule.is(":rule") && args.parts().first().is_some_and(|first| first.is("false"))
        }
        _ => false,
    };
    proof.iter().all(is_allowed) && pushed == 0 && proof.last().is_some_and(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUESTION: &str = "(set-logic ALL)\n(declare-sort S 0)\n(declare-datatypes ((C 0)) (((red) (green))))\n\
         (declare-fun p (S S) Bool)\n(declare-fun c () S)\n(define-fun t.1 () Bool (p c c))\n; given\n\
         (assert (forall ((a S)) (=> (p a a) (not (= a c)))))\n(assert t.1)\n(check-sat)\n";

    /// The begin of a proof by cvc5 1.4.2.
    const PROOF: &str = "(declare-sort S 0)\n(declare-datatypes ((C 0)) (((red) (green))))\n(declare-const c S)\n\
         (declare-const p (-> S S Bool))\n(define t.1 () (p c c))\n(define @t1 () (@var \"a\" S))\n\
         (define @t2 () (not (= @t1 c)))\n(define @t5 () (@list @t1))\n\
         (define @t6 () (forall @t5 (=> (p @t1 @t1) @t2)))\n(assume @p1 @t6)\n(assume @p2 t.1)\n";
    const END: &str = "(step @p33 false :rule contra :premises (@p2 @p1))\n";

    #[test]
    fn a_rejected_proof_is_no_proof() {
        use Certificate::{Checked, Missing, Rejected};
        let results = [("a-1", Checked), ("a-2", Rejected), ("b-1", Missing), ("c-1", Checked)];
        let found = Certified { leaves: 4, proved: 2, checked: 2, rejected: 1, obligations: 1 };
        assert_eq!(Certified::of(&results, true), found);
    }

    #[test]
    fn a_proof_of_something_else_is_refused() {
        let proof = format!("{PROOF}{END}");
        assert!(is_proof_of(&proof, QUESTION));
        let by_argument =
            format!("{PROOF}(step @p3 :rule chain_m_resolution :premises (@p2 @p1) :args (false (@list true)))\n");
        assert!(is_proof_of(&by_argument, QUESTION));
        assert!(!is_proof_of("", QUESTION), "an empty file");
        assert!(!is_proof_of(PROOF, QUESTION), "no step to false");
        assert!(!is_proof_of("(assume @p1 false)\n(step @p2 false :rule refl)", QUESTION), "a foreign assumption");
        let changes = [
            ("a local assumption", END, "(assume-push @p3 false)\n(step @p4 false :rule refl)\n"),
            ("other elements", "(green)", "(green) (blue)"),
            ("another definition", "(define t.1 () (p c c))", "(define t.1 () false)"),
            ("a step without a reason", END, "(step @p33 false :rule trust)\n"),
            ("a rule of its own", END, "(declare-rule any () :conclusion false)\n(step @p3 false :rule any)\n"),
            ("another quantifier", "(forall @t5", "(exists @t5"),
            ("another sort", "(@var \"a\" S)", "(@var \"a\" C)"),
            ("a step after false", END, "(step @p3 false :rule contra)\n(step @p4 true :rule refl)\n"),
        ];
        for (what, from, to) in changes {
            let changed = proof.replace(from, to);
            assert!(changed != proof && !is_proof_of(&changed, QUESTION), "{what}");
        }
    }
}
