//! The `spec` command: whether specifications are monotone, decomposable and satisfiable within a bound.

use std::collections::BTreeMap;
use std::time::Instant;

use mowgli_core::ids::Name;
use mowgli_core::library::Libraries;
use mowgli_core::soundness::client::{Subject, are_at_most};
use mowgli_core::soundness::form::{ByForm, Needs, by_form};
use mowgli_core::soundness::properties::{Instance, Properties, Specified, properties};
use mowgli_core::term::bound::Bound;
use mowgli_libraries::entry::{Entry, Memory};
use mowgli_rdma::to;
use mowgli_rdma::tso::{self, TSO, Tso};
use mowgli_rdma::wait::{WAIT, Wait, WordClients};
use mowgli_x86::tso::X86;
use serde::Serialize;

use crate::check::shapes;
use crate::interrupt::{Deadline, cause};
use crate::litmus::print::{self, Dialect};
use crate::litmus::test::Model;

/// A specification that can be checked: of a library, or the memory model itself.
pub struct Specification {
    /// Its name.
    pub name: &'static str,
    /// Whether it is a language and not a library. A language need not be decomposable, so it is checked only if it is
    /// named.
    pub is_language: bool,
    dialect: Dialect,
    library: Name,
    libraries: Libraries,
    subject: Box<dyn Subject>,
}

/// Returns all specifications: the memory models first, then those of these libraries.
#[must_use]
pub fn specifications(entries: Vec<Entry>) -> Vec<Specification> {
    let memory = |name, rmw| {
        let (libraries, subject) = (Libraries::over(to).with(Wait), Box::new(WordClients { rmw }));
        Specification { name, is_language: false, dialect: Model::RDMA_WAIT.into(), library: WAIT, libraries, subject }
    };
    let polls = |name, rmw| {
        let (libraries, subject) = (Libraries::over(to).with(Tso::PUBLISHED), Box::new(tso::PollClients { rmw }));
        Specification { name, is_language: true, dialect: Model::RDMA_TSO.into(), library: TSO, libraries, subject }
    };
    let mut all = vec![memory("rdma-wait", false), memory("rdma-wait-rmw", true)];
    all.extend([polls("rdma-tso", false), polls("rdma-tso-rmw", true)]);
    let (libraries, subject) = (Memory::x86_tso().libraries, Box::new(mowgli_x86::tso::X86Clients));
    let (name, dialect, library) = (X86.text(), Model::X86Tso.into(), X86);
    all.push(Specification { name, is_language: false, dialect, library, libraries, subject });
    all.extend(entries.into_iter().map(Specification::of));
    all
}

/// The most clients of a default bound.
const CLIENTS: u128 = 20_000;

/// The result for one specification.
pub struct SpecProperties {
    /// Its name.
    pub name: &'static str,
    dialect: Dialect,
    /// The bounds: all clients within one of them.
    pub bounds: Vec<Bound>,
    /// The properties, with the counterexamples.
    pub properties: Properties,
    /// The properties that follow from the specification's form, for executions of every size.
    pub by_form: ByForm,
    seconds: f64,
}

impl Specification {
    /// Returns the specification of an entry.
    fn of(entry: Entry) -> Self {
        Self {
            name: entry.name,
            is_language: false,
            dialect: Dialect::of(&entry),
            library: Name::literal(entry.name),
            libraries: entry.specification,
            subject: entry.subject,
        }
    }

    /// Returns the default bounds, all with two objects: one thread with three calls, and two threads with one each.
    /// Two threads with two calls each follow if those are not too many clients.
    #[must_use]
    pub fn bounds(&self) -> Vec<Bound> {
        let bound = |threads, nodes, calls| Bound {
            threads,
            nodes,
            calls,
            objects: 2,
            loops: 1,
            values: vec![1],
            ..Bound::default()
        };
        let all = [bound(1, 2, 3), bound(2, 2, 1), bound(2, 2, 2)];
        all.into_iter().filter(|b| b.threads + b.calls < 4 || are_at_most(&*self.subject, b, CLIENTS)).collect()
    }

    /// Checks the specification within bounds.
    #[must_use]
    pub fn check(
        &self,
        bounds: Vec<Bound>,
        deadline: &Deadline,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> SpecProperties {
        let start = Instant::now();
        let expired = || deadline.expired();
        let specified = Specified {
            specification: &self.libraries,
            library: self.library,
            subject: &*self.subject,
            expired: &expired,
            progress,
        };
        let mut properties = properties(&specified, &bounds);
        properties.stop = properties.stop.map(cause);
        let library = self.libraries.get(self.library).expect("the library that is checked");
        let bounds = bounds.iter().map(|bound| bound.covered(&*self.subject, self.library, &expired)).collect();
        let by_form = by_form(self.libraries.spec(self.library).expect("its specification"), library, &*self.subject);
        let seconds = start.elapsed().as_secs_f64();
        SpecProperties { name: self.name, dialect: self.dialect, bounds, properties, by_form, seconds }
    }
}

impl SpecProperties {
    /// True if the search found no failure of the three properties.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let Properties { monotone, decomposable, unsatisfied, .. } = &self.properties;
        monotone.is_none() && decomposable.is_none() && unsatisfied.is_empty()
    }

    /// Decides a property. It is false if the search found a failure (`fails`). It is true if it `follows` from the
    /// specification's form, or if a complete search of what it needs (`is_seen`) found none. `None` if neither
    /// applies.
    fn known(&self, fails: bool, follows: bool, is_seen: bool) -> Option<bool> {
        if fails { Some(false) } else { (follows || is_seen && self.properties.stop.is_none()).then_some(true) }
    }

    fn monotone(&self) -> Option<bool> {
        self.known(self.properties.monotone.is_some(), self.by_form.monotone.is_ok(), !self.properties.sampled)
    }

    fn decomposable(&self) -> Option<bool> {
        self.known(self.properties.decomposable.is_some(), self.by_form.decomposable.is_ok(), true)
    }

    fn decomposable_with_the_same_so(&self) -> Option<bool> {
        let Properties { decomposable, with_the_same_so, .. } = &self.properties;
        let follows = self.by_form.decomposable == Ok(Needs::TheSame);
        self.known(decomposable.is_some() || with_the_same_so.is_some(), follows, true)
    }

    fn satisfiable(&self) -> Option<bool> {
        self.known(!self.properties.unsatisfied.is_empty(), false, true)
    }

    /// Returns the properties that fail, each with a smallest example.
    fn counterexamples(&self) -> BTreeMap<&'static str, String> {
        let p = &self.properties;
        let instances = [
            ("monotone", &p.monotone),
            ("decomposable", &p.decomposable),
            ("decomposable_with_the_same_so", &p.with_the_same_so),
        ];
        let mut all: BTreeMap<&str, String> =
            instances.into_iter().filter_map(|(name, i)| Some((name, shown(self.dialect, i.as_ref()?)))).collect();
        if !p.unsatisfied.is_empty() {
            let kinds: Vec<String> = p.unsatisfied.iter().map(|(m, of)| format!("{m} that returns {of}")).collect();
            all.insert("satisfiable", format!("in no consistent execution: {}", kinds.join(", ")));
        }
        all
    }

    /// Returns the result as text: a line for each property, then the counterexamples.
    #[must_use]
    pub fn text(&self) -> String {
        let p = &self.properties;
        let yes = |holds: Option<bool>| match holds {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "no failure was found",
        };
        let mut out = format!(
            "{}: threads, nodes, calls up to {}; {} clients, {} executions, {:.2} s\n",
            self.name,
            shapes(&self.bounds),
            p.clients,
            p.executions,
            self.seconds
        );
        if let Some(stop) = &p.stop {
            out.push_str(&format!("  not all was searched: {stop}\n"));
        }
        if p.sampled {
            out.push_str("  of some executions not every larger hb was looked at\n");
        }
        let always = |follows: bool| if follows { ", in executions of every size" } else { "" };
        out.push_str(&format!("  monotone      {}{}\n", yes(self.monotone()), always(self.by_form.monotone.is_ok())));
        let exactly = match (&p.decomposable, &p.with_the_same_so) {
            (None, Some(_)) => ", not with just the same so (see below)",
            _ => "",
        };
        let follows = match self.by_form.decomposable {
            Ok(Needs::TheSame) => always(true).to_owned(),
            Ok(Needs::Less) => always(true).to_owned() + " with less so",
            Err(_) => String::new(),
        };
        out.push_str(&format!("  decomposable  {}{follows}{exactly}\n", yes(self.decomposable())));
        out.push_str(&format!("  satisfiable   {}\n", yes(self.satisfiable())));
        for (property, text) in self.counterexamples() {
            out.push_str(&format!("\n{} of {}: {text}\n", property.replace('_', " "), self.name));
        }
        out
    }

    /// Returns one JSON object.
    ///
    /// # Panics
    /// Never: the object consists of strings and numbers.
    #[must_use]
    pub fn json(&self) -> String {
        let p = &self.properties;
        let json = PropertiesJson {
            spec: self.name,
            monotone: self.monotone(),
            decomposable: self.decomposable(),
            decomposable_with_the_same_so: self.decomposable_with_the_same_so(),
            satisfiable: self.satisfiable(),
            in_every_size: InEverySize {
                monotone: self.by_form.monotone.is_ok(),
                decomposable: self.by_form.decomposable.is_ok(),
                decomposable_with_the_same_so: self.by_form.decomposable == Ok(Needs::TheSame),
            },
            complete: p.stop.is_none() && !p.sampled,
            stopped: p.stop.as_ref().map(ToString::to_string),
            counterexamples: self.counterexamples(),
            bounds: &self.bounds,
            clients: p.clients,
            executions: p.executions,
            seconds: self.seconds,
        };
        serde_json::to_string(&json).expect("strings and numbers")
    }
}

/// The properties that follow from the form of a specification, for executions of every size.
#[derive(Serialize)]
struct InEverySize {
    monotone: bool,
    decomposable: bool,
    decomposable_with_the_same_so: bool,
}

#[derive(Serialize)]
struct PropertiesJson<'a> {
    spec: &'a str,
    /// `None` if a limit stopped the search before it found a failure. The next three fields are the same.
    monotone: Option<bool>,
    decomposable: Option<bool>,
    decomposable_with_the_same_so: Option<bool>,
    satisfiable: Option<bool>,
    in_every_size: InEverySize,
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<String>,
    counterexamples: BTreeMap<&'static str, String>,
    bounds: &'a [Bound],
    clients: usize,
    executions: u64,
    seconds: f64,
}

/// Returns an example in words: the client, the events, the part.
fn shown(dialect: Dialect, instance: &Instance) -> String {
    let client = print::client(dialect, "client", &instance.world, &instance.client, &instance.execution.outputs);
    let mut text = format!("{}, in an execution of\n\n{client}\n", instance.reason);
    text.push_str(&format!(
        "with the events\n{}",
        crate::show::events(&instance.execution, &crate::show::Names::default())
    ));
    if instance.part.len() < instance.execution.events.len() {
        let part = instance.part.iter().map(|&e| instance.execution.events[e].to_string());
        text.push_str(&format!("of which the part is {}\n", part.collect::<Vec<_>>().join(", ")));
    }
    text
}
