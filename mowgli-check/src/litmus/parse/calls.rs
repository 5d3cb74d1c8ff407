//! Calls as statements: `put(z, x, d)`, `x.write(1)`, `sv.wait(d)`. The method tables define them.

use itertools::Itertools;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name, NodeSet, Tid};
use mowgli_core::term::method::{ArgumentKind, Method};
use mowgli_core::unknown::did_you_mean;
use mowgli_core::value::Val;
use mowgli_rdma::presets::PRESETS;
use mowgli_rdma::{Switches, Way};

use super::slips::written;
use super::{Parsed, Reader, Rule, Tree, advise, at, call, fail, part, parts};
use crate::catalogue::Catalogue;
use crate::error::{Code, InputError};
use crate::litmus::statements::{example, form};
use crate::litmus::test::{Arg, Model, Statement};

/// The statement for an RDMA FLUSH.
const FLUSH: &str = "flush";

/// The switch for relaxed ordering.
const RELAXED: &str = "relaxed-ordering";

/// Returns the possible numbers of arguments of a call, without the object if that stands before it. Identifiers after
/// other arguments may be left out.
fn count(method: &Method, before: bool) -> std::ops::RangeInclusive<usize> {
    let all = method.written(before).count();
    let ids = method.written(before).filter(|(_, _, kind)| *kind == ArgumentKind::Id).count();
    (if ids == all { all } else { all - ids })..=all
}

impl Reader<'_> {
    /// Reads a call of any form.
    pub(super) fn call(&mut self, thread: usize, tree: &Tree<'_>) -> Parsed<Statement> {
        let names: Vec<Tree<'_>> = parts(tree, Rule::name).collect();
        let args: Vec<Tree<'_>> =
            part(tree, Rule::arguments).map(|a| parts(&a, Rule::argument).collect()).unwrap_or_default();
        match &names[..] {
            [receiver, method] if tree.as_rule() == Rule::method => self.call_of(thread, receiver, method, &args, tree),
            _ => self.call_by_name(thread, &names[0], &args, tree),
        }
    }

    /// Returns a call without arguments or parentheses, for example `mfence`.
    pub(super) fn bare(&self, name: &str) -> Option<Statement> {
        let found = self.known.statements(name).find(|(_, method)| method.takes.is_empty());
        found.map(|(library, method)| call(library, method.name, Vec::new()))
    }

    /// Reads `name(args)`: of the library whose object the first argument is, or else of the first library that has the
    /// name.
    fn call_by_name(
        &mut self,
        thread: usize,
        name: &Tree<'_>,
        args: &[Tree<'_>],
        whole: &Tree<'_>,
    ) -> Parsed<Statement> {
        let way = part(whole, Rule::way);
        if name.as_str() == FLUSH && self.has_flush() {
            return self.flush(thread, way, args, whole);
        }
        let named: Vec<(Name, &'static Method)> = self.known.statements(name.as_str()).collect();
        if named.is_empty() {
            return self.no_statement(name);
        }
        if let Some(&several) = named.iter().find(|(_, m)| m.takes_several())
            && let Some(count) = Self::how_many(args)
        {
            return self.call_of_several(several, args, count, whole);
        }
        let named = named.into_iter().filter(|(_, m)| !m.takes_several());
        let known: Vec<_> = named.filter(|(_, m)| m.takes_way() == way.is_some()).collect();
        let Some(&first) = known.first() else {
            let message = format!("{} is made in one way only", name.as_str());
            return advise(whole, Code::Form, message, "leave out what is behind @");
        };
        let of = args.first().and_then(|tree| self.library(tree));
        let (library, method) = known.into_iter().find(|(library, _)| Some(*library) == of).unwrap_or(first);
        let way = way.map(|tree| self.way(&tree)).transpose()?;
        self.call_with(thread, (library, method), way, args, whole)
    }

    /// Reads `flush(z, d)`: an RDMA FLUSH for global visibility (IBA A19.4.1). It completes when the writes before it on its queue
    /// pair are in memory, as a get of z into a word that nobody reads.
    fn flush(
        &mut self,
        thread: usize,
        way: Option<Tree<'_>>,
        args: &[Tree<'_>],
        whole: &Tree<'_>,
    ) -> Parsed<Statement> {
        let is_get = |(_, m): &(Name, &'static Method)| !m.takes_several() && m.takes_way() == way.is_some();
        let (library, get) = self.known.statements("get").find(is_get).expect("each model over RDMA has gets");
        let has_id = get.takes.iter().any(|(_, kind)| *kind == ArgumentKind::Id);
        if !(1..=1 + usize::from(has_id)).contains(&args.len()) {
            let form = if has_id { "flush(remote, d)" } else { "flush(remote)" };
            return fail(whole, Code::Form, format!("expected {form}"));
        }
        if let Some(network) = self.model.switches().map(|s| s.network).filter(|n| !n.reads_flush()) {
            let message = format!("{network} has no flush: a read there may pass the write of a put or of an atomic");
            return advise(
                whole,
                Code::Unsupported,
                message,
                "take a put@delivered or a put@fence, where there is one",
            );
        }
        let way = way.map(|tree| self.way(&tree)).transpose()?;
        let far = self.remote(thread, &args[0])?;
        let id = has_id.then(|| Self::identifier(args.get(1))).transpose()?;
        let dropped = self.private_word(thread, Val::Int(0));
        self.literals.insert(dropped, Val::Unit);
        let all = way.into_iter().chain([Arg::Val(dropped.into()), far]).chain(id);
        Ok(call(library, get.name, all.collect()))
    }

    fn has_flush(&self) -> bool {
        self.model.notation().is_none() && self.model != Model::X86Tso
    }

    /// Returns the number of words of a put or a get: the last argument behind both places, if it is a number.
    fn how_many<'t, 'a>(args: &'t [Tree<'a>]) -> Option<&'t Tree<'a>> {
        let is_number = |tree: &&'t Tree<'a>| tree.as_str().trim().parse::<i64>().is_ok();
        args.get(2..)?.last().filter(is_number)
    }

    /// Reads `put(z, x, d, k)`, which is about k words from these on.
    fn call_of_several(
        &self,
        (library, method): (Name, &'static Method),
        args: &[Tree<'_>],
        count: &Tree<'_>,
        whole: &Tree<'_>,
    ) -> Parsed<Statement> {
        let way = part(whole, Rule::way).map(|tree| self.way(&tree)).transpose()?;
        let mut all = vec![way.unwrap_or(Arg::Val(Way::USUAL.into()))];
        let places =
            method.takes.len() - all.len() - method.takes.iter().filter(|(_, k)| *k == ArgumentKind::Id).count();
        let has_id = method.takes.len() > all.len() + places;
        if !(places + 1..=places + 1 + usize::from(has_id)).contains(&args.len()) {
            return fail(whole, Code::Form, format!("expected {}", form(method, library.text())));
        }
        for tree in &args[..places] {
            all.push(Arg::Val(self.words(tree, count)?));
        }
        all.extend(has_id.then(|| Self::identifier(args[..args.len() - 1].get(places))).transpose()?);
        Ok(call(library, method.name, all))
    }

    /// Reads `receiver.method(args)`: of an object, or of a library if the method has no object.
    fn call_of(
        &mut self,
        thread: usize,
        receiver: &Tree<'_>,
        method: &Tree<'_>,
        args: &[Tree<'_>],
        whole: &Tree<'_>,
    ) -> Parsed<Statement> {
        let object = self.library(receiver);
        let named = Name::new(receiver.as_str());
        let Some(library) = object.or(self.known.library(named).map(|l| l.name)) else {
            return self.undeclared(receiver);
        };
        let methods = self.known.library(library).map(|l| l.methods.clone()).unwrap_or_default();
        let here = |m: &&&'static Method| m.is_of_object() == object.is_some();
        match methods.iter().filter(here).find(|m| m.statement() == method.as_str()) {
            Some(known) if !(known.is_statement && library == self.memory()) => {
                let receiver = object.map(|_| Arg::Val(Loc::new(receiver.as_str()).into()));
                self.call_with(thread, (library, known), receiver, args, whole)
            }
            _ => {
                let written = |m: &&'static Method| match library == self.memory() {
                    true => example(self.model, library, m),
                    false => form(m, receiver.as_str()),
                };
                let forms = methods.iter().filter(here).map(written).join(", ");
                let error = InputError::new(Code::Unknown, format!("{library} has no {}", method.as_str()));
                Err(at(method, error.help_if((!forms.is_empty()).then(|| format!("it has {forms}")))))
            }
        }
    }

    /// Reads the way in which a call is made.
    fn way(&self, tree: &Tree<'_>) -> Parsed<Arg> {
        let way = Val::Way(Name::new(&tree.as_str()[1..]));
        let known = self.model.switches().is_some_and(|switches| switches.unsignalled);
        match Way::of(way) {
            Ok(Way { signalled: false, .. }) if !known => {
                let (wait, tso) = (Model::RDMA_WAIT, Model::RDMA_TSO);
                let message = format!("unsignalled operations are of {wait}+unsignalled and {tso}+unsignalled");
                fail(tree, Code::Unsupported, message)
            }
            Ok(Way { delivered: true, .. }) if !self.model.switches().is_some_and(|s| s.network.delivers) => {
                let networks = PRESETS.iter().filter(|(network, _)| network.delivers);
                let names = networks.map(|(network, _)| network.name).join(", ");
                let message = format!("puts that complete when they are delivered are of the networks {names}");
                fail(tree, Code::Unsupported, message)
            }
            Ok(Way { strict: true, .. }) if !self.model.switches().is_some_and(|s| s.network.has_keys()) => {
                let (wait, tso) = (Model::RDMA_WAIT, Model::RDMA_TSO);
                let message = format!("keys are strict beside relaxed ones, in {wait}+{RELAXED} and {tso}+{RELAXED}");
                fail(tree, Code::Unsupported, message)
            }
            Ok(_) => Ok(Arg::Val(way)),
            Err(why) => Err(at(tree, why.into())),
        }
    }

    /// Builds a call of a method with these arguments, and with the object or the way that stands before them.
    fn call_with(
        &mut self,
        thread: usize,
        (library, method): (Name, &'static Method),
        receiver: Option<Arg>,
        args: &[Tree<'_>],
        whole: &Tree<'_>,
    ) -> Parsed<Statement> {
        let before = receiver.is_some() && !method.takes_way();
        if !count(method, before).contains(&args.len()) {
            let extra = args.get(method.takes.len()..).unwrap_or_default();
            let is_identifier = |tree: &Tree<'_>| Self::identifier(Some(tree)).is_ok();
            let polls = self.known.statements("poll").next().filter(|_| extra.first().is_some_and(is_identifier));
            let name = receiver.and_then(|r| if let Arg::Val(x) = r { Some(x.to_string()) } else { None });
            let name = name.unwrap_or_else(|| library.to_string());
            let takes = method.written(before).count();
            let given = match (args.len(), takes) {
                (n, most) if n > most => format!("; it takes {most} arguments, and {n} are given"),
                _ => String::new(),
            };
            let error = InputError::new(Code::Form, format!("expected {}{given}", form(method, &name)));
            let instead = || format!("operations of {} have no identifier, poll(node) takes the oldest", self.model);
            return Err(at(whole, error.help_if(polls.map(|_| instead()))));
        }
        self.not_swapped(thread, method, args, whole)?;
        let mut all: Vec<Option<Arg>> = vec![None; method.takes.len()];
        if let Some(first) = all.first_mut() {
            *first = receiver.clone();
        }
        let written: Vec<(usize, &'static str, ArgumentKind)> = method.written(before).collect();
        for (at, &(position, _, kind)) in written.iter().enumerate() {
            // The source of a remote operation may be a constant.
            let is_sent =
                kind == ArgumentKind::Local && method.takes[..position].iter().any(|(_, k)| *k == ArgumentKind::Placed);
            let arg = match args.get(at) {
                Some(tree) if is_sent && library == self.memory() => Some(self.source(thread, tree)?),
                Some(tree) => self.argument(thread, library, kind, tree)?,
                None => Some(Self::identifier(None)?),
            };
            // A call for an empty set of nodes is not made.
            let Some(arg) = arg else { return Ok(super::nothing()) };
            all[position] = Some(arg);
        }
        Ok(call(library, method.name, all.into_iter().flatten().collect()))
    }

    /// Refuses an operation whose local word and remote word are in the wrong order.
    fn not_swapped(&self, thread: usize, method: &Method, args: &[Tree<'_>], whole: &Tree<'_>) -> Parsed<()> {
        let home = |kind: ArgumentKind| {
            let at = method.written(false).position(|(_, _, k)| k == kind)?;
            let x = Loc::new(args.get(at)?.as_str().trim());
            Some((at, x, self.world.home(x).filter(|_| self.library(&args[at]) == Some(self.memory()))?))
        };
        let here = self.world.threads[thread];
        let (Some((local, far, there)), Some((remote, near, own))) =
            (home(ArgumentKind::Local), home(ArgumentKind::Placed))
        else {
            return Ok(());
        };
        if there == here || own != here {
            return Ok(());
        }
        let mut right: Vec<&str> = args.iter().map(|tree| tree.as_str().trim()).collect();
        right.swap(local, remote);
        let name = whole.as_str().split('(').next().unwrap_or_default().trim();
        advise(
            whole,
            Code::Node,
            format!(
                "{near} and {far} have changed places: {} is written as {}, and {far} is on node {there} and {near} on node {own}, \
                 where {} is",
                method.statement(),
                form(method, ""),
                self.threads[thread].name,
            ),
            format!("write {name}({})", right.join(", ")),
        )
    }

    /// Reads an argument of a kind; `None` for an empty set of nodes.
    fn argument(&mut self, thread: usize, library: Name, kind: ArgumentKind, tree: &Tree<'_>) -> Parsed<Option<Arg>> {
        let is_word = library == self.memory();
        Ok(Some(match kind {
            ArgumentKind::Local | ArgumentKind::Address if is_word => self.local(thread, tree)?,
            ArgumentKind::Placed if is_word => self.remote(thread, tree)?,
            ArgumentKind::Local | ArgumentKind::Address | ArgumentKind::Placed | ArgumentKind::Object => {
                Arg::Val(self.object(tree, library)?.into())
            }
            ArgumentKind::Node => Arg::Val(self.one_node(tree)?.into()),
            ArgumentKind::Nodes => return Ok(self.targets(tree)?.map(|ns: NodeSet| Arg::Val(Val::Nodes(ns)))),
            ArgumentKind::Thread => Arg::Val(self.thread(tree)?.into()),
            ArgumentKind::Way => unreachable!("it stands behind the name"),
            ArgumentKind::Locals | ArgumentKind::Places => unreachable!("with how many there are"),
            ArgumentKind::Id => Self::identifier(Some(tree))?,
            ArgumentKind::Value => self.data(thread, tree)?,
        }))
    }

    pub(in super::super) fn no_statement<T>(&self, name: &Tree<'_>) -> Parsed<T> {
        let text = name.as_str();
        if let Some(form) = written(text) {
            return fail(name, Code::Form, form);
        }
        let objects = self.world.objects.iter();
        let mut forms = objects.flat_map(|(x, object)| {
            let methods = self.known.library(object.library).map(|l| l.methods.clone()).unwrap_or_default();
            let found = methods.into_iter().find(|m| m.is_of_object() && !m.is_statement && m.statement() == text);
            found.map(|m| form(m, &x.to_string()))
        });
        if let Some(form) = forms.next() {
            return fail(name, Code::Form, format!("a call of an object is written as {form}"));
        }
        if let Some(error) = self.of_switch(text) {
            return Err(at(name, error));
        }
        let names = self.known.methods().map(|(_, m)| m.statement()).collect_vec();
        let near = did_you_mean(text, names.iter().map(String::as_str));
        let help = near.into_iter().chain([format!("there are {}", self.statements())]).join(" ");
        advise(name, Code::Unknown, format!("{text} is no statement of {}", self.model), help)
    }

    /// Names the models that have a statement of this name by a switch that this model lacks.
    pub(super) fn of_switch(&self, text: &str) -> Option<InputError> {
        let has = |model: Model| Catalogue::builtin().known(model).statements(text).next().is_some();
        let is_of = |switches: &Switches| has(Model::RdmaTso(*switches)) && !has(Model::RDMA_TSO);
        let of_switch = [Switches::CRASHES, Switches::MESSAGES, Switches::EVENTS].into_iter().find(is_of);
        let switches = of_switch.filter(|_| self.known.statements(text).next().is_none())?;
        let models = [Model::RdmaWait(switches), Model::RdmaTso(switches)].into_iter();
        let models = models.filter(|model| Catalogue::builtin().known(*model).statements(text).next().is_some());
        let models = models.format(" and ");
        let error = InputError::new(
            Code::Unsupported,
            format!("{text} is a statement of {models}, and this test is of {}", self.model),
        );
        Some(error.help("name the switch in its first line"))
    }

    /// Lists the statements of the model, for messages.
    pub(super) fn statements(&self) -> String {
        if let Some(own) = self.model.notation() {
            return own.statements().to_owned();
        }
        let is_access = |library: Name, m: &Method| library == self.memory() && matches!(m.name, "Read" | "Write");
        let by_name = |library: Name, m: &Method| (m.is_statement || !m.is_of_object()) && !is_access(library, m);
        // The model may refuse a call whatever it is of, for example `pollany` where completions come in any order.
        let is_refused = |library: Name, m: &Method| {
            let call = Call::new(library, m.name, &[]);
            m.takes.is_empty()
                && self.known.library(library).is_some_and(|l| l.fault(&self.world, Tid(1), &call).is_some())
        };
        let all = self.known.methods().filter(|(library, m)| by_name(*library, m) && !is_refused(*library, m));
        let flush = self.has_flush().then(|| FLUSH.to_owned());
        let all = all.map(|(_, m)| m.statement()).chain(flush).unique().join(", ");
        format!("{all}; {}; mowgli litmus --statements has all", self.model.elsewhere())
    }
}

impl Model {
    /// Names the models that have the statements that this one lacks.
    fn elsewhere(self) -> &'static str {
        match self {
            Self::RDMA_WAIT => "polls are of RDMA_TSO",
            Self::RdmaWait(_) => "polls are of RDMA_TSO, and libraries of RDMA_WAIT without switches but networks",
            Self::RdmaTso(_) => "waits and libraries are of RDMA_WAIT",
            Self::RdmaSc => "rcas, rfaa and rxchg are of RDMA_TSO",
            Self::X86Tso => "what goes through a network is of RDMA_WAIT and RDMA_TSO",
            _ => "",
        }
    }
}
