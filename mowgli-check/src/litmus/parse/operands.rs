//! The operands of statements: words, objects, registers, values, identifiers, nodes.

use itertools::Itertools;
use mowgli_core::ids::{Loc, Name, Node, NodeSet, Tid, Wid};
use mowgli_core::unknown::did_you_mean;
use mowgli_core::value::Val;
use mowgli_core::world::Object;

use super::{Parsed, Reader, Rule, Tree, advise, at, fail, indexed, node_name, number, part, parts, pointee};
use crate::error::{Code, InputError};
use crate::litmus::test::{Arg, Model, Sign, Statement, element};

impl Reader<'_> {
    pub(in super::super) fn library(&self, name: &Tree<'_>) -> Option<Name> {
        self.world.objects.get(&Loc::new(name.as_str().trim())).map(|o| o.library)
    }

    pub(super) fn object(&self, tree: &Tree<'_>, library: Name) -> Parsed<Loc> {
        let text = tree.as_str().trim();
        match self.world.objects.get(&Loc::new(text)) {
            Some(o) if o.library == library => Ok(Loc::new(text)),
            Some(o) => {
                let message = format!("{text} is an object of {}, and one of {library} is expected", o.library);
                fail(tree, Code::Form, message)
            }
            None => self.undeclared(tree),
        }
    }

    pub(super) fn undeclared<T>(&self, tree: &Tree<'_>) -> Parsed<T> {
        let text = tree.as_str().trim();
        if self.array_size(text) > 0 {
            return advise(
                tree,
                Code::Form,
                format!("{text} is an array"),
                format!("name one of its words, as {text}[0]"),
            );
        }
        let close = self.world.objects.keys().map(|l| l.to_string());
        let close: Vec<String> =
            close.filter(|l| l.len().abs_diff(text.len()) <= 1 && l.starts_with(&text[..1])).collect();
        let error = InputError::new(Code::Unknown, format!("{text} is not declared"));
        let meant = (!close.is_empty()).then(|| format!("did you mean {}?", close.join(" or ")));
        Err(at(tree, error.help_if(meant)))
    }

    /// Returns the register of the thread that stands where a word of memory is expected.
    pub(super) fn register_in(&self, thread: usize, tree: &Tree<'_>) -> Option<Name> {
        let mut all = std::iter::once(tree.clone()).chain(tree.clone().into_inner().flatten());
        let name = all.find(|t| t.as_rule() == Rule::name).filter(|n| self.library(n).is_none())?;
        self.threads[thread].registers.iter().find(|r| r.text() == name.as_str()).copied()
    }

    pub(super) fn word_of_memory(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Loc> {
        match self.register_in(thread, tree) {
            Some(r) => {
                let message = format!("{r} is a register, and this is to be a word of memory");
                advise(tree, Code::Form, message, "declare one as w@1 = 0;")
            }
            None => self.object(tree, self.memory()),
        }
    }

    /// Reads the location that a register holds.
    pub(super) fn pointed(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        let name = part(tree, Rule::name).expect("by the grammar");
        self.register(thread, &name).map(|r| Arg::Register(r, 0))
    }

    pub(in super::super) fn local(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        if let Some(pointee) = pointee(tree) {
            return self.pointed(thread, &pointee);
        }
        if let Some(of_array) = indexed(tree) {
            let arg = self.element(thread, &of_array)?;
            let first = part(&of_array, Rule::array).expect("by the grammar");
            let x = element(Name::new(first.as_str()), 0);
            return self.is_here(thread, tree, x).map(|()| arg);
        }
        let x = self.word_of_memory(thread, tree)?;
        self.is_here(thread, tree, x)?;
        Ok(Arg::Val(x.into()))
    }

    /// Checks that a word is on the node of a thread.
    fn is_here(&self, thread: usize, tree: &Tree<'_>, x: Loc) -> Parsed<()> {
        let (home, here) = (self.world.home(x), self.world.threads[thread]);
        if home != Some(here) {
            let home = home.map_or_else(|| "no node".to_owned(), |n| format!("node {n}"));
            let name = self.threads[thread].name;
            let message = format!("{x} is on {home} and {name} on node {here}");
            let text = tree.as_span().get_input();
            let before = text[..tree.as_span().start()].trim_end().trim_end_matches('(').trim_end();
            let is_called = |name: &&str| before.ends_with(*name) && !before.ends_with(&format!("r{name}"));
            let atomic = ["cas", "faa", "xchg"].into_iter().find(is_called);
            let help = match atomic {
                Some(name) => format!(
                    "use r{name} for remote memory, as r{name}(o, {x}, ..) with a local word o for the old value"
                ),
                None => "use put or get for remote memory".to_owned(),
            };
            return advise(tree, Code::Node, message, help);
        }
        Ok(())
    }

    pub(in super::super) fn remote(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        if let Some(pointee) = pointee(tree) {
            return self.pointed(thread, &pointee);
        }
        if let Some(of_array) = indexed(tree) {
            return self.element(thread, &of_array);
        }
        Ok(Arg::Val(self.word_of_memory(thread, tree)?.into()))
    }

    /// Reads `count` words of an array, from its first one or from a given one on.
    pub(super) fn words(&self, tree: &Tree<'_>, count: &Tree<'_>) -> Parsed<Val> {
        let text = tree.as_str().trim();
        let (array, first) = text.split_once('[').unwrap_or((text, "0]"));
        let Ok(first) = first.trim_end_matches(']').trim().parse::<i64>() else {
            return fail(tree, Code::Form, format!("the first of several words is a number here, as {array}[1]"));
        };
        let count: i64 = number(count)?;
        let size = self.array_size(array) as i64;
        if size == 0 {
            let help = format!("one is declared as {array}@1[{count}] = 0;");
            return advise(tree, Code::Form, format!("{array} is no array"), help);
        }
        if count < 1 {
            return fail(tree, Code::Value, format!("an operation is of one word or more, and not of {count}"));
        }
        if first.checked_add(count).is_none_or(|end| end > size) {
            return fail(
                tree,
                Code::Value,
                format!(
                    "{array} has {size} words, {array}[0] to {array}[{}], and {count} from {text} on are meant",
                    size - 1
                ),
            );
        }
        let all: Vec<Val> = (first..first + count).map(|at| element(Name::new(array), at).into()).collect();
        Ok(Val::tuple(&all))
    }

    pub(in super::super) fn expression(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        let form = tree.clone().into_inner().next().expect("an expression has a form");
        match form.as_rule() {
            Rule::value => Ok(Arg::Val(self.value(&form)?)),
            Rule::sum => self.sum(thread, &form),
            Rule::list => {
                let all = parts(&form, Rule::expression).map(|e| self.expression(thread, &e));
                all.collect::<Parsed<_>>().map(Arg::Tuple)
            }
            Rule::name => Ok(Arg::Register(self.register(thread, &form)?, 0)),
            Rule::pointer => self.element(thread, &part(&form, Rule::element).expect("by the grammar")),
            _ => advise(tree, Code::Form, "one statement accesses memory once", "read into a register first"),
        }
    }

    /// Reads a sum: a register, and then registers and numbers that are added or subtracted, for example `a + 1` or
    /// `a - b`. The numbers are added up first.
    fn sum(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        let mut summands = tree.clone().into_inner();
        let first = self.register(thread, &summands.next().expect("by the grammar"))?;
        let (mut total, mut others) = (0_i64, Vec::new());
        while let (Some(sign), Some(summand)) = (summands.next(), summands.next()) {
            let sign = if sign.as_str() == "-" { Sign::Minus } else { Sign::Plus };
            if summand.as_rule() == Rule::name {
                others.push((sign, self.summand(thread, &summand)?));
                continue;
            }
            let k: i64 = number(&summand)?;
            let sum = if sign == Sign::Plus { total.checked_add(k) } else { total.checked_sub(k) };
            let Some(sum) = sum else { return fail(tree, Code::Value, "this number is too large") };
            total = sum;
        }
        let begin = Arg::Register(first, total);
        Ok(others.into_iter().fold(begin, |sum, (sign, r)| Arg::Sum(Box::new(sum), sign, r)))
    }

    /// Reads a register that is added to another one.
    fn summand(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Name> {
        if self.model.notation().is_some() {
            let (model, mut others) = (self.model, Model::ALL.into_iter().filter(|other| other.notation().is_none()));
            let others = others.join(", ");
            let message = format!("{model} adds numbers to a register, as a + 1; sums of registers are of {others}");
            return fail(tree, Code::Unsupported, message);
        }
        self.register(thread, tree)
    }

    /// Reads `x[a]`, the element of an array whose number is in a register.
    fn element(&self, thread: usize, tree: &Tree<'_>) -> Parsed<Arg> {
        let array = part(tree, Rule::array).expect("by the grammar");
        if self.array_size(array.as_str()) == 0 {
            return self.no_array(&array, array.as_str());
        }
        let number = match (part(tree, Rule::sum), part(tree, Rule::name)) {
            (Some(sum), _) => self.sum(thread, &sum)?,
            (None, Some(name)) => Arg::Register(self.register(thread, &name)?, 0),
            (None, None) => unreachable!("by the grammar"),
        };
        Ok(Arg::Element(Name::new(array.as_str()), Box::new(number)))
    }

    /// Reads a name that a register can have.
    pub(super) fn own(&self, name: &Tree<'_>) -> Parsed<Name> {
        let text = name.as_str().trim();
        let Some((array, _)) = text.split_once('[') else { return Ok(Name::new(text)) };
        match self.array_size(array) {
            0 => self.no_array(name, array),
            size => {
                let message = format!("{array} has {size} words, {array}[0] to {array}[{}]", size - 1);
                fail(name, Code::Value, message)
            }
        }
    }

    /// Refuses an element of a word that is not an array.
    fn no_array<T>(&self, tree: &Tree<'_>, name: &str) -> Parsed<T> {
        advise(tree, Code::Form, format!("{name} is no array"), format!("one is declared as {name}@1[2] = 0;"))
    }

    /// Returns the number of words of an array; 0 if it is not declared.
    fn array_size(&self, array: &str) -> usize {
        let has = |i: &i64| self.world.objects.contains_key(&element(Name::new(array), *i));
        (0..).take_while(has).count()
    }

    /// Reads a register that was set before.
    pub(super) fn register(&self, thread: usize, name: &Tree<'_>) -> Parsed<Name> {
        if self.library(name).is_some() {
            return advise(name, Code::Form, "one statement accesses memory once", "read into a register first");
        }
        let register = self.own(name)?;
        if !self.threads[thread].registers.contains(&register) {
            if let Some(error) = self.of_switch(register.text()) {
                return Err(at(name, error));
            }
            let message = format!("{register} is neither declared nor a register that was set before");
            let error = InputError::new(Code::Unknown, message);
            let known = self.threads[thread].registers.iter().copied().chain(self.world.objects.keys().map(|x| x.0));
            let known = known.map(Name::text).filter(|known| !known.starts_with('_'));
            return Err(at(name, error.help_if(did_you_mean(register.text(), known))));
        }
        Ok(register)
    }

    pub(super) fn data(&self, thread: usize, argument: &Tree<'_>) -> Parsed<Arg> {
        match part(argument, Rule::expression) {
            Some(e) => self.expression(thread, &e),
            None => fail(argument, Code::Form, "a value is expected here, not a set of nodes"),
        }
    }

    pub(super) fn identifier(argument: Option<&Tree<'_>>) -> Parsed<Arg> {
        let Some(argument) = argument else { return Ok(Arg::Val(Val::NoWid)) };
        let text = argument.as_str().trim();
        let is_name = part(argument, Rule::expression).and_then(|e| part(&e, Rule::name)).is_some();
        match text {
            "_" => Ok(Arg::Val(Val::NoWid)),
            _ if is_name => Ok(Arg::Val(Wid(Name::new(text)).into())),
            _ => fail(argument, Code::Form, "a work identifier is expected here, as d"),
        }
    }

    pub(super) fn targets(&self, argument: &Tree<'_>) -> Parsed<Option<NodeSet>> {
        let Some(nodes) = part(argument, Rule::nodes) else {
            return fail(argument, Code::Form, "a set of nodes is expected here, as {1, 2}");
        };
        let mut set = Vec::new();
        for tree in parts(&nodes, Rule::node) {
            let node = node_name(&tree)?;
            if node.0 > self.world.nodes {
                return self.no_node(&tree, node);
            }
            set.push(node);
        }
        Ok((!set.is_empty()).then(|| set.into_iter().collect()))
    }

    /// Reads the source of a put: a local word, a value, or an expression of registers. The last two get a private
    /// word.
    pub(super) fn source(&mut self, thread: usize, argument: &Tree<'_>) -> Parsed<Arg> {
        if let Some(sent) = self.sent(thread, argument)? {
            let x = self.private_word(thread, Val::Int(0));
            return Ok(Arg::Sent(x, Box::new(sent)));
        }
        let Some(v) = part(argument, Rule::expression).and_then(|e| part(&e, Rule::value)) else {
            return self.local(thread, argument);
        };
        let v = self.value(&v)?;
        let x = self.private_word(thread, v);
        self.literals.insert(x, v);
        Ok(Arg::Val(x.into()))
    }

    /// Declares a private word for a thread.
    pub(super) fn private_word(&mut self, thread: usize, init: Val) -> Loc {
        let mut names = (1..).map(|n| Loc::new(&format!("_{n}")));
        let x = names.find(|x| !self.world.objects.contains_key(x)).expect("there is always a next one");
        let word = Object::new(self.memory()).at(self.world.threads[thread]).init(init);
        self.world.objects.insert(x, word);
        x
    }

    /// Reads a source that is an expression of registers. Refuses it in a loop, where the next iteration would write
    /// its word while the network card still reads it.
    fn sent(&self, thread: usize, argument: &Tree<'_>) -> Parsed<Option<Arg>> {
        let Some(e) = part(argument, Rule::expression) else { return Ok(None) };
        let is_place = part(&e, Rule::pointee).is_some() || part(&e, Rule::element).is_some();
        let r = self.register_in(thread, argument).filter(|_| !is_place);
        if r.is_none() && part(&e, Rule::list).is_none() {
            return Ok(None);
        }
        let is_loop = |at: &usize| matches!(self.threads[thread].statements[*at], Statement::While(_));
        if self.opened(thread).iter().any(is_loop) {
            let (text, node) = (argument.as_str().trim(), self.world.threads[thread]);
            return advise(
                argument,
                Code::Unsupported,
                format!(
                    "a put sends a word of memory, and {text} is made of registers: in a loop its word would be written \
                     again while the network card still reads it"
                ),
                format!("declare a word w@{node} = 0; write w := {text} before the put, and put w"),
            );
        }
        self.expression(thread, &e).map(Some)
    }

    /// Reads a thread that exists.
    pub(super) fn thread(&self, argument: &Tree<'_>) -> Parsed<Tid> {
        match part(argument, Rule::expression).and_then(|e| part(&e, Rule::name)) {
            Some(name) => self.tid(&name),
            None => fail(argument, Code::Form, "a thread is expected here, as P1"),
        }
    }

    /// Refuses a node that no declaration and no thread names.
    fn no_node<T>(&self, tree: &Tree<'_>, node: Node) -> Parsed<T> {
        let help = format!("declare more with nodes {node};");
        advise(tree, Code::Unknown, format!("there are only {} nodes", self.world.nodes), help)
    }

    /// Reads a node that exists.
    pub(in super::super) fn one_node(&self, tree: &Tree<'_>) -> Parsed<Node> {
        let node = node_name(tree)?;
        if node.0 > self.world.nodes {
            return self.no_node(tree, node);
        }
        Ok(node)
    }
}
