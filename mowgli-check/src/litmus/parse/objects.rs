//! Declarations: `x@1 = 0`, `svar x = 0`, `weak lock l at 1`. The libraries define their forms.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::ids::{Loc, Name, Node, Tid};
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, DeclarationPart, Object};

use super::{Parsed, Reader, Rule, Tree, advise, at, fail, node_name, number, part, parts, value};
use crate::error::{Code, InputError};
use crate::litmus::test::Model;
use crate::litmus::test::element;

/// The largest number of words of an array.
const MOST_WORDS: usize = 64;

/// True if a part gives the initial value.
fn has_value(part: &DeclarationPart) -> bool {
    use DeclarationPart::{Init, Tuple, Values, Words};
    matches!(part, Init | Tuple { .. } | Values | Words)
}

/// True if the form has each part that a declaration has.
fn fits(form: &DeclarationForm, tree: &Tree<'_>) -> bool {
    let has = |is: fn(&DeclarationPart) -> bool| form.parts.iter().any(is);
    let begins = part(tree, Rule::begins).and_then(|t| t.into_inner().next()).map(|t| t.as_rule());
    // A word may name the one machine that there is.
    let is_word = form.kind.is_empty();
    let node = is_word
        || part(tree, Rule::at).is_none()
        || has(|p| matches!(p, DeclarationPart::Node | DeclarationPart::Home));
    let words = part(tree, Rule::words).is_some() == has(|p| matches!(p, DeclarationPart::Words));
    let size = part(tree, Rule::size).is_none() || has(|p| matches!(p, DeclarationPart::Size { .. }));
    let begins = match begins {
        Some(Rule::roles) => has(|p| matches!(p, DeclarationPart::Roles)),
        Some(Rule::names) => has(|p| matches!(p, DeclarationPart::Members)),
        Some(_) => has(has_value),
        None => !has(|p| has_value(p) || matches!(p, DeclarationPart::Roles | DeclarationPart::Members)),
    };
    node && words && size && begins
}

impl Reader<'_> {
    pub(super) fn declaration(&mut self, tree: &Tree<'_>) -> Parsed<()> {
        let tree = tree.clone().into_inner().next().expect("a declaration has a form");
        if tree.as_rule() == Rule::node_count {
            return self.node_count(&tree);
        }
        if tree.as_rule() == Rule::crashes {
            return parts(&tree, Rule::crash).try_for_each(|crash| self.crash(&crash));
        }
        if tree.as_rule() == Rule::servers {
            return parts(&tree, Rule::name).try_for_each(|name| self.server(&name));
        }
        let mut kinds: Vec<Tree<'_>> = parts(&tree, Rule::kind).collect();
        let name = kinds.pop().expect("by the grammar");
        if let Some(odd) = name.as_str().find('-') {
            let message = format!("{} is no name: it has {}", name.as_str(), &name.as_str()[odd..=odd]);
            return fail(&name, Code::Syntax, message);
        }
        let is_array = kinds.is_empty() && part(&tree, Rule::words).is_some();
        let objects = match is_array {
            true => self.array(&tree, Name::new(name.as_str()))?,
            false => vec![(Loc::new(name.as_str()), self.declared(&tree, &kinds)?)],
        };
        let first = |x: &str| element(Name::new(x), 0);
        let is_known = |x: &Loc| self.world.objects.contains_key(x);
        if is_known(&Loc::new(name.as_str())) || is_known(&first(name.as_str())) {
            return fail(&name, Code::Duplicate, format!("{} is declared twice", name.as_str()));
        }
        self.world.objects.extend(objects);
        Ok(())
    }

    /// Reads `x@1[2] = (0, 1)`, or `x@1[2] = 0` if all begin with the same value: words `x[0]` and `x[1]`.
    fn array(&mut self, tree: &Tree<'_>, name: Name) -> Parsed<Vec<(Loc, Object)>> {
        let words = part(tree, Rule::words).and_then(|t| part(&t, Rule::node)).expect("by the grammar");
        let size: usize = number(&words)?;
        if !(1..=MOST_WORDS).contains(&size) {
            return fail(&words, Code::Value, format!("an array has from 1 to {MOST_WORDS} words"));
        }
        let at = part(tree, Rule::at);
        let node = self.node_or_machine(at.as_ref().unwrap_or(tree), "x@1[2] = 0")?;
        let begins = part(tree, Rule::begins).and_then(|t| t.into_inner().next());
        let Some(v) = begins.filter(|t| t.as_rule() == Rule::value) else {
            return fail(
                tree,
                Code::Form,
                "an array is declared as x@1[2] = 0; or with a value for each word, as x@1[2] = (0, 1);",
            );
        };
        let inits = match value(&v)? {
            Val::Tuple(values) if values.parts().len() == size => values.parts().to_vec(),
            Val::Tuple(_) => {
                let message = format!("the initial value is to be one value, or a tuple of {size}");
                return fail(&v, Code::Value, message);
            }
            one => vec![one; size],
        };
        inits.iter().try_for_each(|init| self.word_value(&v, *init).map(|_| ()))?;
        let word = |(i, init): (i64, &Val)| (element(name, i), Object::new(self.memory()).at(node).init(*init));
        Ok((0..).zip(&inits).map(word).collect())
    }

    fn node_count(&mut self, tree: &Tree<'_>) -> Parsed<()> {
        if self.model == Model::X86Tso {
            return advise(tree, Code::Unsupported, format!("{} is one machine", self.model), "leave this out");
        }
        let node = part(tree, Rule::node).expect("by the grammar");
        let count = node_name(&node)?.0;
        if count < self.world.nodes {
            let message = format!("node {} is used, so there are at least as many", self.world.nodes);
            return fail(&node, Code::Value, message);
        }
        self.world.nodes = count;
        Ok(())
    }

    /// Reads a thread that serves the others.
    fn server(&mut self, name: &Tree<'_>) -> Parsed<()> {
        if self.model.notation().is_some() {
            return fail(
                name,
                Code::Unsupported,
                format!("threads of {} do not wait, so none is a server", self.model),
            );
        }
        let thread = self.tid(name)?;
        self.servers.insert(thread);
        if self.servers.len() == self.names.len() {
            let message = "an execution is over when all threads but the servers have ended, and all are servers";
            return advise(name, Code::Value, message, "leave one thread out of server(...)");
        }
        Ok(())
    }

    /// Reads a thread or a node that may crash.
    fn crash(&mut self, tree: &Tree<'_>) -> Parsed<()> {
        if !self.model.switches().is_some_and(|switches| switches.crashes) {
            let (wait, tso) = (Model::RDMA_WAIT, Model::RDMA_TSO);
            return fail(tree, Code::Unsupported, format!("crashes are of {wait}+crashes and {tso}+crashes"));
        }
        match part(tree, Rule::node) {
            Some(node) => {
                let node = self.node(&node)?;
                self.world.crashes.nodes = self.world.crashes.nodes.with(node);
            }
            None => {
                let thread = self.tid(&part(tree, Rule::name).expect("by the grammar"))?;
                self.world.crashes.threads.insert(thread);
            }
        }
        Ok(())
    }

    /// Reads the object of a declaration.
    fn declared(&mut self, tree: &Tree<'_>, kinds: &[Tree<'_>]) -> Parsed<Object> {
        let kind = kinds.iter().map(|t| t.as_str()).join(" ");
        if let (Some(own), []) = (self.model.notation(), kinds) {
            let at = part(tree, Rule::at);
            let node = self.node_or_machine(at.as_ref().unwrap_or(tree), "x@1 = 0")?;
            return self.begun(Object::new(self.memory()).at(node), &own.words(), tree);
        }
        let Some((library, form)) = self.known.declared(&kind).map(|(library, form)| (library.name, form)) else {
            return Err(at(kinds.first().unwrap_or(tree), self.no_kind(&kind)));
        };
        let mut object = self.bare_object(library);
        let at: Vec<Tree<'_>> = parts(tree, Rule::at).collect();
        if at.len() > 1 || !fits(&form, tree) {
            return fail(tree, Code::Form, format!("such an object is declared as {};", form.example()));
        }
        if kinds.is_empty() || !at.is_empty() {
            object = object.at(self.node_or_machine(at.first().unwrap_or(tree), &form.example())?);
        }
        self.begun(object, &form, tree)
    }

    /// Returns an object of a library before its declaration changes it. An object of a user's library is as clients
    /// have it.
    fn bare_object(&self, library: Name) -> Object {
        let own = self.catalogue.own_library(self.model, library.text());
        let known = own.map(|library| self.catalogue.own_object(library, &self.world));
        let object = known.unwrap_or_else(|| Object::new(library));
        let has_home = |form: DeclarationForm| {
            form.parts.iter().any(|p| matches!(p, DeclarationPart::Node | DeclarationPart::Home))
        };
        let form = self.known.library(library).and_then(|l| l.object);
        let on_one = self.model == Model::X86Tso || own.is_none() && form.is_some_and(has_home);
        if on_one { object.at(Node(1)) } else { object }
    }

    /// Adds what a declaration says beside its node to an object.
    fn begun(&self, mut object: Object, form: &DeclarationForm, tree: &Tree<'_>) -> Parsed<Object> {
        let begins = part(tree, Rule::begins).and_then(|t| t.into_inner().next());
        let places =
            part(tree, Rule::words).and_then(|t| part(&t, Rule::node)).map(|t| number::<usize>(&t)).transpose()?;
        for kind in form.parts {
            object = match (kind, &begins) {
                (DeclarationPart::Init, Some(v)) => object.init(self.word_value(v, value(v)?)?),
                (&DeclarationPart::Tuple { least }, Some(v)) => match value(v)? {
                    init @ Val::Tuple(parts) if parts.parts().len() >= least => object.init(init),
                    _ => return fail(v, Code::Value, format!("the initial value is to be a tuple of {least} or more")),
                },
                (DeclarationPart::Values | DeclarationPart::Words, Some(v)) => self.values(object, v, places, form)?,
                (DeclarationPart::Members, Some(names)) => match &*self.tids(names)? {
                    [] => return fail(names, Code::Value, "an object has at least one thread"),
                    members => object.members(members),
                },
                (DeclarationPart::Roles, Some(roles)) => object.members(&self.roles(roles)?),
                (&DeclarationPart::Size { usual, least, most }, _) => {
                    let node = part(tree, Rule::size).and_then(|t| part(&t, Rule::node));
                    let size = node.as_ref().map(number::<usize>).transpose()?.unwrap_or(usual);
                    if !(least..=most).contains(&size) {
                        let message = format!("the size is from {least} to {most}");
                        return fail(node.as_ref().unwrap_or(tree), Code::Value, message);
                    }
                    object.size(size)
                }
                _ => object,
            };
        }
        Ok(object)
    }

    /// Returns a value that a word can have.
    pub(in super::super) fn word_value(&self, tree: &Tree<'_>, value: Val) -> Parsed<Val> {
        let why = self.model.notation().and_then(|own| own.no_value(value));
        why.map_or(Ok(value), |why| fail(tree, Code::Value, why))
    }

    /// Adds a value for each place to an object.
    fn values(&self, object: Object, v: &Tree<'_>, places: Option<usize>, form: &DeclarationForm) -> Parsed<Object> {
        match (value(v)?, places) {
            (Val::Tuple(values), Some(size)) if values.parts().len() != size => {
                fail(v, Code::Value, format!("the initial value is to be a tuple of {size}"))
            }
            (init @ Val::Tuple(values), _) => Ok(object.init(init).size(values.parts().len())),
            _ => {
                let message = "a tuple is expected here, a value for each place";
                advise(v, Code::Value, message, format!("write {};", form.example()))
            }
        }
    }

    fn tids(&self, tree: &Tree<'_>) -> Parsed<Vec<Tid>> {
        let mut tids = BTreeSet::new();
        for name in parts(tree, Rule::name) {
            if !tids.insert(self.tid(&name)?) {
                return fail(&name, Code::Duplicate, format!("{} is named twice", name.as_str()));
            }
        }
        Ok(tids.into_iter().collect())
    }

    pub(super) fn tid(&self, name: &Tree<'_>) -> Parsed<Tid> {
        let known = self.names.get(name.as_str()).copied();
        known.map_or_else(|| self.no_thread(name), Ok)
    }

    /// Refuses a name that no thread has.
    pub(super) fn no_thread<T>(&self, name: &Tree<'_>) -> Parsed<T> {
        let help = format!("there are {}", self.threads.iter().map(|thread| thread.name).join(", "));
        advise(name, Code::Unknown, format!("there is no thread {}", name.as_str()), help)
    }

    /// Reads a thread, and those beside it.
    fn roles(&self, tree: &Tree<'_>) -> Parsed<Vec<Tid>> {
        let first = self.tid(&part(tree, Rule::name).expect("by the grammar"))?;
        let others = self.tids(&part(tree, Rule::names).expect("by the grammar"))?;
        Ok([&[first], &others[..]].concat())
    }

    /// Returns the error for an unknown kind of object.
    fn no_kind(&self, kind: &str) -> InputError {
        let (words, others): (Vec<DeclarationForm>, Vec<DeclarationForm>) =
            self.known.forms().map(|(_, form)| form).partition(|form| form.kind.is_empty());
        let words = words.iter().map(DeclarationForm::example).join(", ");
        if others.is_empty() {
            let error = InputError::new(Code::Unsupported, format!("{} has memory words only", self.model));
            return error.help(format!("declare one as {}", if words.is_empty() { "x@1 = 0" } else { &words }));
        }
        let others = others.iter().map(DeclarationForm::example).join(", ");
        InputError::new(Code::Unknown, format!("there is no kind of object {kind}")).help(format!(
            "{} has memory words, as {words}, and {others}; a library of your own is known to the command of its crate",
            self.model
        ))
    }
}
