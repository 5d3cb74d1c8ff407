//! The method table of a library: the arguments and results of its methods, and the faults of calls that no program may
//! make.

use crate::event::Call;
use crate::ids::{Loc, Node, NodeSet, Tid};
use crate::value::Val;
use crate::world::World;

/// The kind of value that an argument of a method must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgumentKind {
    /// An object of the library on the node of the thread.
    Local,
    /// Like [`Self::Local`], but the location may be the value of an earlier call.
    Address,
    /// An object of the library on some node.
    Placed,
    /// An object of the library.
    Object,
    /// Objects of the library on the node of the thread, one after the other: a tuple of them.
    Locals,
    /// Objects of the library that are all on one node, one after the other: a tuple of them.
    Places,
    /// A node.
    Node,
    /// A set of nodes. A call for the empty set is skipped.
    Nodes,
    /// A thread.
    Thread,
    /// A work identifier, or the one for calls that nothing waits for.
    Id,
    /// The way in which the call is made, as the first argument. Programs write it behind the name, for example
    /// `put@q2(z, x)`.
    Way,
    /// Any value.
    Value,
}

impl ArgumentKind {
    /// True if it is an object of the library.
    #[must_use]
    pub fn is_object(self) -> bool {
        matches!(self, Self::Local | Self::Address | Self::Placed | Self::Object)
    }

    /// True if it is a tuple of objects of the library.
    #[must_use]
    pub fn is_objects(self) -> bool {
        matches!(self, Self::Locals | Self::Places)
    }
}

/// The kind of value that a method returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Returns {
    /// Nothing.
    Nothing,
    /// A value, for example that of a cell.
    Value,
    /// Whether something was done.
    Bool,
    /// An identifier that programs do not use.
    Handle,
}

impl Returns {
    /// True if it returns something that programs use.
    #[must_use]
    pub fn is_result(self) -> bool {
        matches!(self, Self::Value | Self::Bool)
    }
}

/// The calls of a method that only look: see [`Hints::only_looks`](crate::library::Hints::only_looks).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Looks {
    /// None.
    Never,
    /// Those that fail, which return `false` or bottom.
    IfItFails,
    /// All.
    Always,
}

impl Looks {
    /// Returns the word that a method table writes for it. The usual case has no word.
    #[must_use]
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Never => None,
            Self::IfItFails => Some("fails"),
            Self::Always => Some("looks"),
        }
    }

    /// True if a call with this result only looks.
    #[must_use]
    pub fn with(self, ret: Val) -> bool {
        match self {
            Self::Never => false,
            Self::IfItFails => matches!(ret, Val::Bool(false) | Val::Bot),
            Self::Always => true,
        }
    }
}

/// A method, as the table of its library has it: `methods!` of `mowgli-core` writes one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Method {
    /// The paper's name.
    pub name: &'static str,
    /// The arguments in the paper's order, each with its name.
    pub takes: &'static [(&'static str, ArgumentKind)],
    /// The kind of its result.
    pub returns: Returns,
    /// Whether programs write a call as a statement, `put(x, y)`, and not as one of its object, `x.put(y)`.
    pub is_statement: bool,
    /// The calls that only look.
    pub looks: Looks,
    /// The place of the table: a file and a line.
    pub place: &'static str,
    /// The description in the table.
    pub about: &'static str,
}

impl Method {
    /// True if an argument selects the way in which a call is made. Such a method does the same as a method with the
    /// usual way, and has its name with `By` behind it.
    #[must_use]
    pub fn takes_way(&self) -> bool {
        matches!(self.takes.first(), Some((_, ArgumentKind::Way)))
    }

    /// True if a call is about several objects in a row. Such a method does the same as a method for one object, and
    /// has its name with `Words` behind it. Programs write the number of objects as its last argument.
    #[must_use]
    pub fn takes_several(&self) -> bool {
        self.takes.iter().any(|(_, kind)| kind.is_objects())
    }

    /// Returns the name as programs write it, without the way.
    #[must_use]
    pub fn statement(&self) -> String {
        let suffix = if self.takes_several() { "Words" } else { "By" };
        let usual = self.name.strip_suffix(suffix).filter(|_| self.takes_way());
        usual.unwrap_or(self.name).to_lowercase()
    }

    /// Iterates over the arguments between the parentheses of a call, identifiers last, each with its position in the
    /// paper's order. With `before`, the object stands before the name instead.
    pub fn written(&self, before: bool) -> impl Iterator<Item = (usize, &'static str, ArgumentKind)> + '_ {
        let all = self.takes.iter().enumerate().skip(usize::from(before || self.takes_way()));
        let (ids, others): (Vec<_>, Vec<_>) = all.partition(|(_, (_, kind))| *kind == ArgumentKind::Id);
        others.into_iter().chain(ids).map(|(position, (name, kind))| (position, *name, *kind))
    }

    /// True if it is called on an object, the first argument.
    #[must_use]
    pub fn is_of_object(&self) -> bool {
        self.takes.first().is_some_and(|(_, kind)| kind.is_object())
    }
}

/// Returns the method of a call in a table.
#[must_use]
pub fn find<'m>(methods: &'m [Method], call: &Call) -> Option<&'m Method> {
    named(methods, call.method.text())
}

/// Returns the method of this name in a table.
#[must_use]
pub fn named<'m>(methods: &'m [Method], name: &str) -> Option<&'m Method> {
    methods.iter().find(|m| m.name == name)
}

/// Returns the locations that a call touches: its objects.
#[must_use]
pub fn objects(methods: &[Method], call: &Call) -> Vec<Loc> {
    let kinds = find(methods, call).map_or(&[][..], |m| m.takes);
    let of = |((_, kind), v): (&(&str, ArgumentKind), &Val)| -> Vec<Loc> {
        match kind.is_object() || kind.is_objects() {
            true => several(*v),
            false => Vec::new(),
        }
    };
    kinds.iter().zip(&call.args).flat_map(of).collect()
}

/// Returns the locations of an argument: one, or those of a tuple.
fn several(v: Val) -> Vec<Loc> {
    match v {
        Val::Tuple(all) => all.parts().iter().filter_map(|v| v.loc()).collect(),
        one => one.loc().into_iter().collect(),
    }
}

/// Returns the fault of a call of a library with these methods, if it has one.
#[must_use]
pub fn fault(world: &World, thread: Tid, call: &Call, methods: &[Method]) -> Option<String> {
    let Some(method) = find(methods, call) else {
        return Some(match call.method.text().starts_with('`') {
            // The text of a statement, with its fault and its position.
            true => call.args.first().map(Val::to_string).unwrap_or_default(),
            false => format!("there is no method {}", call.method),
        });
    };
    let (takes, has) = (method.takes.len(), call.args.len());
    if has != takes {
        let much = if has < takes { "few" } else { "many" };
        return Some(format!("too {much} arguments: {} takes {takes}, and has {has}", call.method));
    }
    method.takes.iter().zip(&call.args).find_map(|(&(_, kind), &arg)| wrong(world, thread, call, kind, arg))
}

fn wrong(world: &World, thread: Tid, call: &Call, kind: ArgumentKind, arg: Val) -> Option<String> {
    match (kind, arg) {
        (ArgumentKind::Value, _)
        | (ArgumentKind::Node, Val::Node(_))
        | (ArgumentKind::Nodes, Val::Nodes(_))
        | (ArgumentKind::Thread, Val::Thread(_))
        | (ArgumentKind::Way, Val::Way(_))
        | (ArgumentKind::Id, Val::Wid(_) | Val::NoWid) => return None,
        (ArgumentKind::Node, _) => return Some(format!("{arg} is no node")),
        (ArgumentKind::Nodes, _) => return Some(format!("{arg} is no set of nodes")),
        (ArgumentKind::Thread, _) => return Some(format!("{arg} is no thread")),
        (ArgumentKind::Way, _) => return Some(format!("{arg} is no way to make a call")),
        (ArgumentKind::Id, _) => return Some(format!("{arg} is no identifier")),
        (ArgumentKind::Locals | ArgumentKind::Places, _) => return wrong_in(world, thread, call, kind, arg),
        (ArgumentKind::Local | ArgumentKind::Address | ArgumentKind::Placed | ArgumentKind::Object, _) => {}
    }
    let Some(x) = arg.loc() else { return Some(format!("{arg} is no location")) };
    let Some(object) = world.objects.get(&x) else { return Some(format!("{x} is not declared{}", beside(world, x))) };
    if object.library != call.library {
        return Some(format!("{x} is of {}", object.library));
    }
    match (kind, object.node, world.node_of(thread)) {
        (ArgumentKind::Object, ..) => None,
        (_, None, _) => Some(format!("{x} is on no node")),
        (ArgumentKind::Local | ArgumentKind::Address, Some(n), here) if n != here => {
            Some(format!("{x} is on node {n}, and {thread} on node {here}"))
        }
        _ => None,
    }
}

/// Returns the fault of a tuple of objects, if it has one.
fn wrong_in(world: &World, thread: Tid, call: &Call, kind: ArgumentKind, arg: Val) -> Option<String> {
    let all = match arg {
        Val::Tuple(all) => all.parts(),
        _ => return Some(format!("{arg} is no tuple of locations")),
    };
    let of_one = if kind == ArgumentKind::Locals { ArgumentKind::Local } else { ArgumentKind::Placed };
    let fault = all.iter().find_map(|&x| wrong(world, thread, call, of_one, x));
    let node = |x: &Val| x.loc().and_then(|x| world.home(x));
    fault.or_else(|| {
        let elsewhere = all.iter().find(|x| node(x) != node(&all[0]))?;
        Some(format!("{} and {elsewhere} are on two nodes", all[0]))
    })
}

/// Lists the existing parts of the same object, if the argument names a part that does not exist.
fn beside(world: &World, x: Loc) -> String {
    let owner = |x: Loc| x.0.text().rsplit_once('.').map(|(owner, _)| owner.to_owned());
    let Some(of) = owner(x) else { return String::new() };
    let parts: Vec<String> =
        world.objects.keys().filter(|y| owner(**y).as_ref() == Some(&of)).map(Loc::to_string).collect();
    if parts.is_empty() {
        format!("; {of} has no parts: an implementation declares those that it uses")
    } else {
        format!("; {of} has the parts {}", parts.join(", "))
    }
}

/// An iterator over the arguments of a call, with conversion.
#[derive(Debug)]
pub struct Arguments<'a> {
    call: &'a Call,
    next: usize,
}

impl<'a> Arguments<'a> {
    /// Returns all arguments of a call.
    #[must_use]
    pub fn of(call: &'a Call) -> Self {
        Self { call, next: 0 }
    }

    /// Returns the next argument.
    ///
    /// # Panics
    /// If the call has fewer arguments, or this one has another type, which is a [`fault`] of the call.
    pub fn take<A: Argument>(&mut self) -> A {
        self.next += 1;
        self.call.arg(self.next - 1, A::WHAT, A::read)
    }

    /// Returns the next argument, if it has this type.
    pub fn try_take<A: Argument>(&mut self) -> Option<A> {
        self.next += 1;
        A::read(*self.call.args.get(self.next - 1)?)
    }
}

/// The Rust type of an argument of a call.
pub trait Argument: Sized {
    /// The description of the type, for messages.
    const WHAT: &'static str;

    /// Converts a value to this type; `None` if it has another type.
    fn read(v: Val) -> Option<Self>;
}

impl Argument for Val {
    const WHAT: &'static str = "a value";
    fn read(v: Val) -> Option<Self> {
        Some(v)
    }
}
impl Argument for Loc {
    const WHAT: &'static str = "a location";
    fn read(v: Val) -> Option<Self> {
        v.loc()
    }
}
impl Argument for Node {
    const WHAT: &'static str = "a node";
    fn read(v: Val) -> Option<Self> {
        if let Val::Node(n) = v { Some(n) } else { None }
    }
}
impl Argument for Tid {
    const WHAT: &'static str = "a thread";
    fn read(v: Val) -> Option<Self> {
        if let Val::Thread(t) = v { Some(t) } else { None }
    }
}
impl Argument for NodeSet {
    const WHAT: &'static str = "a set of nodes";
    fn read(v: Val) -> Option<Self> {
        v.nodes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Name, Wid};
    use crate::world::Object;

    const TABLE: &[Method] = &[
        Method {
            name: "Copy",
            takes: &[
                ("x", ArgumentKind::Placed),
                ("d", ArgumentKind::Id),
                ("y", ArgumentKind::Local),
                ("ns", ArgumentKind::Nodes),
                ("v", ArgumentKind::Value),
            ],
            returns: Returns::Nothing,
            is_statement: false,
            looks: Looks::Never,
            place: "",
            about: "",
        },
        Method {
            name: "At",
            takes: &[("n", ArgumentKind::Node)],
            returns: Returns::Value,
            is_statement: true,
            looks: Looks::Always,
            place: "",
            about: "",
        },
    ];

    #[test]
    fn faults_name_what_is_wrong() {
        let (here, far) = (Loc::new("here"), Loc::new("far"));
        let (library, other) = (Name::literal("l"), Name::literal("other"));
        let mut world = World::new(2, &[Node(1)]);
        world.objects.extend([(here, Object::new(library).at(Node(1))), (far, Object::new(library).at(Node(2)))]);
        world.objects.insert(Loc::new("l").part("turn"), Object::new(other));
        let floating = [(Loc::new("none"), Object::new(library)), (Loc::new("foreign"), Object::new(other))];
        world.objects.extend(floating);
        let fault = |method, args: &[Val]| fault(&world, Tid(1), &Call::new(library, method, args), TABLE);
        let (d, ns, one) = (Val::Wid(Wid(Name::literal("d"))), Val::Nodes(NodeSet::all(2)), Val::Int(1));
        let copy = |x: Val, d, y: Val, ns| fault("Copy", &[x, d, y, ns, one]);
        let [at, on_none, foreign] = ["here", "none", "foreign"].map(|x| Val::Loc(Loc::new(x)));
        assert_eq!(copy(far.into(), d, at, ns), None);
        assert_eq!(copy(at, Val::NoWid, at, ns), None);
        assert_eq!(fault("At", &[Val::Node(Node(2))]), None);
        let wrong = [
            (fault("Move", &[]), "there is no method Move"),
            (fault("At", &[]), "too few arguments: At takes 1, and has 0"),
            (fault("At", &[one, one]), "too many arguments: At takes 1, and has 2"),
            (fault("At", &[one]), "1 is no node"),
            (copy(at, one, at, ns), "1 is no identifier"),
            (copy(at, d, at, one), "1 is no set of nodes"),
            (copy(one, d, at, ns), "1 is no location"),
            (copy(Loc::new("z").into(), d, at, ns), "z is not declared"),
            (
                copy(Loc::new("here").part("flag").into(), d, at, ns),
                "here.flag is not declared; here has no parts: an implementation declares those that it uses",
            ),
            (copy(Loc::new("l").part("flag").into(), d, at, ns), "l.flag is not declared; l has the parts l.turn"),
            (copy(foreign, d, at, ns), "foreign is of other"),
            (copy(on_none, d, at, ns), "none is on no node"),
            (copy(at, d, far.into(), ns), "far is on node 2, and P1 on node 1"),
        ];
        for (found, expected) in wrong {
            assert_eq!(found.as_deref(), Some(expected));
        }
    }

    #[test]
    fn programs_write_identifiers_last_and_the_object_first() {
        let written =
            |m: &Method, before| m.written(before).map(|(position, name, _)| (position, name)).collect::<Vec<_>>();
        assert_eq!(written(&TABLE[0], true), [(2, "y"), (3, "ns"), (4, "v"), (1, "d")]);
        assert_eq!(written(&TABLE[0], false), [(0, "x"), (2, "y"), (3, "ns"), (4, "v"), (1, "d")]);
        assert_eq!(written(&TABLE[1], false), [(0, "n")]);
    }
}
