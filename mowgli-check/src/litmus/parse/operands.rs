//! What statements are about: words, objects, registers, values, identifiers, nodes.

use mowgli_core::ids::{Loc, Name, Node, NodeSet, Wid};
use mowgli_core::value::Val;
use mowgli_core::world::Object;

use super::{Parsed, Reader, Rule, Tree, fail, node_name, number, part, parts, pointee};
use crate::litmus::test::Arg;

impl Reader<'_> {
    pub(super) fn library(&self, name: &Tree<'_>) -> Option<Name> {
        self.world.objects.get(&Loc::new(name.as_str().trim())).map(|o| o.library)
    }

    pub(super) fn object(&self, tree: &Tree<'_>, library: Name) -> Parsed<Loc> {
        let text = tree.as_str().trim();
        match self.world.objects.get(&Loc::new(text)) {
            Some(o) if o.library == library => Ok(Loc::new(text)),
            Some(o) => fail(tree, format!("{text} is an object of {}, and one of {library} is expected", o.library)),
            None => self.undeclared(tree),
        }
    }

    pub(super) fn undeclared<T>(&self, tree: &Tree<'_>) -> Parsed<T> {
        let text = tree.as_str().trim();
        let close = self.world.objects.keys().map(|l| l.to_string());
        let close: Vec<String> =
            close.filter(|l| l.len().abs_diff(text.len()) <= 1 && l.starts_with(&text[..1])).collect();
        let hint = if close.is_empty() { String::new() } else { format!("; did you mean {}?", close.join(" or ")) };
        fail(tree, format!("{text} is not declared{hint}"))
    }

    /// The register of the thread that stands where a word of memory is to stand.
    pub(super) fn register_in(&self, thread: usize, tree: &Tree<'_>) -> Option<Name> {
        let mut all = std::iter::once(tree.clone()).chain(tree.clone().into_inner().flatten());
        let name = all.find(|t| t.as_rule() == Rule::name).filter(|n| self.library(n).is_none())?;
        self.threads[thread].registers.iter().find(|r| r.text() == name.as_str()).copied()
    }

    pub(super) fn word_of_memory(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Loc> {
        match self.register_in(thread, tree) {
            Some(r) => {
                fail(tree, format!("{r} is a register, and this is to be a word of memory, declared as w@1 = 0;"))
            }
            None => self.object(tree, self.memory()),
        }
    }

    /// The location that a register holds.
    pub(super) fn pointed(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        self.has_addresses(tree)?;
        let name = part(tree, Rule::name).expect("by the grammar");
        self.register(thread, &name).map(|r| Arg::Register(r, 0))
    }

    pub(super) fn local(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        if let Some(pointee) = pointee(tree) {
            return self.pointed(thread, &pointee);
        }
        let x = self.word_of_memory(thread, tree)?;
        let (home, here) = (self.world.home(x), self.world.threads[thread]);
        if home != Some(here) {
            let home = home.map_or_else(|| "no node".to_owned(), |n| format!("node {n}"));
            let name = self.threads[thread].name;
            return fail(tree, format!("{x} is on {home} and {name} on node {here}; use put or get for remote memory"));
        }
        Ok(Arg::Val(x.into()))
    }

    pub(super) fn remote(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        Ok(Arg::Val(self.word_of_memory(thread, tree)?.into()))
    }

    pub(super) fn expression(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        if let Some(v) = part(tree, Rule::value) {
            return Ok(Arg::Val(self.value(&v)?));
        }
        let (name, add) = match part(tree, Rule::sum) {
            Some(sum) => {
                let k = number(&part(&sum, Rule::number).expect("by the grammar"))?;
                (part(&sum, Rule::name).expect("by the grammar"), k)
            }
            None => match part(tree, Rule::name) {
                Some(name) => (name, 0),
                None => return fail(tree, "one statement accesses memory once: read into a register first"),
            },
        };
        Ok(Arg::Register(self.register(thread, &name)?, add))
    }

    /// A register that was set before.
    pub(super) fn register(&self, thread: usize, name: &Tree<'_>) -> Parsed<Name> {
        let register = Name::new(name.as_str());
        if !self.threads[thread].registers.contains(&register) {
            return fail(name, format!("{register} is neither declared nor a register that was set before"));
        }
        Ok(register)
    }

    pub(super) fn data(&self, thread: usize, argument: &Tree<'_>) -> Parsed<Arg> {
        match part(argument, Rule::expression) {
            Some(e) => self.expression(thread, &e),
            None => fail(argument, "a value is expected here, not a set of nodes"),
        }
    }

    pub(super) fn identifier(argument: Option<&Tree<'_>>) -> Parsed<Arg> {
        let Some(argument) = argument else { return Ok(Arg::Val(Val::NoWid)) };
        let text = argument.as_str().trim();
        let is_name = part(argument, Rule::expression).and_then(|e| part(&e, Rule::name)).is_some();
        match text {
            "_" => Ok(Arg::Val(Val::NoWid)),
            _ if is_name => Ok(Arg::Val(Wid(Name::new(text)).into())),
            _ => fail(argument, "a work identifier is expected here, as d"),
        }
    }

    pub(super) fn targets(&self, argument: &Tree<'_>) -> Parsed<Option<NodeSet>> {
        let Some(nodes) = part(argument, Rule::nodes) else {
            return fail(argument, "a set of nodes is expected here, as {1, 2}");
        };
        let mut set = Vec::new();
        for tree in parts(&nodes, Rule::node) {
            let node = node_name(&tree)?;
            if node.0 > self.world.nodes {
                return fail(
                    &tree,
                    format!("there are only {} nodes; declare more with nodes {node};", self.world.nodes),
                );
            }
            set.push(node);
        }
        Ok((!set.is_empty()).then(|| set.into_iter().collect()))
    }

    /// The source of a put: a local word, or a constant, which gets a private word of its own.
    pub(super) fn source(&mut self, thread: usize, argument: &Tree<'_>) -> Parsed<Arg> {
        if let Some(r) = self.register_in(thread, argument) {
            let (text, node) = (argument.as_str().trim(), self.world.threads[thread]);
            return fail(
                argument,
                format!(
                    "a put sends a word of memory, and {r} is a register, which the network card cannot read: declare a \
                     word w@{node} = 0; write w := {text} before the put, and put w"
                ),
            );
        }
        let Some(v) = part(argument, Rule::expression).and_then(|e| part(&e, Rule::value)) else {
            return self.local(thread, argument);
        };
        let v = self.value(&v)?;
        let mut names = (1..).map(|n| Loc::new(&format!("_{n}")));
        let x = names.find(|x| !self.world.objects.contains_key(x)).expect("there is always a next one");
        let word = Object::new(self.memory()).at(self.world.threads[thread]).init(v);
        self.world.objects.insert(x, word);
        self.literals.insert(x, v);
        Ok(Arg::Val(x.into()))
    }

    /// A node that there is.
    pub(super) fn one_node(&self, tree: &Tree<'_>) -> Parsed<Node> {
        let node = node_name(tree)?;
        if node.0 > self.world.nodes {
            return fail(tree, format!("there are only {} nodes", self.world.nodes));
        }
        Ok(node)
    }
}
