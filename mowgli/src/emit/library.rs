//! One library in C: its structure, the function that makes an object, and a function for each method.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::body::Bodies;
use mowgli_core::expr::{Expr, ExprTerm, Op, Var};
use mowgli_core::ids::{Loc, Name};
use mowgli_core::library::Library;
use mowgli_core::method::{ArgumentKind, Method, Returns};
use mowgli_core::parts::{PartTerm, Parts};
use mowgli_core::value::Val;
use mowgli_core::world::DeclarationPart;
use mowgli_libraries::entry::Variant;

use super::function::{CFunction, Owner};
use super::types::{NotInC, Signature, Signatures, Type, Types, c_name, function_name, lists, type_name};

/// A library with the implementation that is written.
pub(super) struct Emitted<'a> {
    pub(super) owner: Owner,
    library: &'a dyn Library,
    variant: &'a Variant,
    bodies: &'a Bodies,
    parts: Option<&'a Parts>,
    /// The libraries of its parts, by their roles.
    of_parts: BTreeMap<&'static str, Name>,
}

/// Part of what an object is declared with, in the order of the arguments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Given {
    Node,
    Initial,
    Members,
    Size,
}

impl<'a> Emitted<'a> {
    pub(super) fn new(library: &'a dyn Library, variant: &'a Variant) -> Result<Self, NotInC> {
        let name = library.name();
        let implementation = &variant.implementation;
        let bodies = implementation.bodies();
        let bodies =
            bodies.ok_or_else(|| NotInC("its bodies are Rust functions, which have no form in C".to_owned()))?;
        let parts = implementation.parts();
        let of_parts = parts.into_iter().flat_map(Parts::iter).map(|part| Ok((role(part)?, part.object.library)));
        let of_parts = of_parts.collect::<Result<_, NotInC>>()?;
        let owner = Owner { name, c: c_name(name), extents: extents(parts)? };
        Ok(Self { owner, library, variant, bodies, parts, of_parts })
    }

    /// Returns the libraries that it stands on.
    pub(super) fn below(&self) -> Vec<Name> {
        let calls = self.bodies.iter().flat_map(|(_, body)| body.calls()).map(|call| call.library);
        calls.chain(self.of_parts.values().copied()).unique().collect()
    }

    fn parts(&self) -> impl Iterator<Item = &'a PartTerm> {
        self.parts.into_iter().flat_map(Parts::iter)
    }

    fn given(&self) -> Result<Vec<Given>, NotInC> {
        let Some(form) = self.library.object() else { return Ok(Vec::new()) };
        Ok(form.parts.iter().map(given).collect::<Result<Vec<_>, _>>()?.into_iter().sorted().collect())
    }

    /// Returns the roles of the parts of objects, or of the library, each with one of its parts.
    fn roles(&self, own: bool) -> Result<Vec<(&'static str, &'a PartTerm)>, NotInC> {
        let of = self.parts().filter(|part| part.is_of_library() == own).map(|part| Ok((role(part)?, part)));
        Ok(of.collect::<Result<Vec<_>, NotInC>>()?.into_iter().unique_by(|(role, _)| *role).collect())
    }

    /// Returns the work identifiers of objects, or of the library.
    fn identifiers(&self, own: bool) -> Vec<&'static str> {
        let mut found = Vec::new();
        for (_, body) in self.bodies.iter() {
            body.expressions(&mut |e| {
                e.each(&mut |e| {
                    if let ExprTerm::Wid(of, role) = e.term()
                        && own == matches!(of.term(), ExprTerm::Val(Val::Loc(_)))
                    {
                        found.push(*role);
                    }
                });
            });
        }
        found.into_iter().unique().collect()
    }

    /// True if something belongs to the library, and not to one of its objects.
    fn has_own(&self) -> bool {
        !self.identifiers(true).is_empty() || self.parts().any(PartTerm::is_of_library)
    }

    /// Returns the signatures of the methods, and adds them to those that are known.
    pub(super) fn add_signatures(&self, known: &mut Signatures) -> Result<(), NotInC> {
        for method in self.library.methods() {
            let Some(body) = self.bodies.get(method.name) else { continue };
            let lists = lists(body, known);
            let kind = |(at, (_, kind)): (usize, &(&'static str, ArgumentKind))| {
                argument(self.owner.name, *kind, lists.contains(&at))
            };
            let takes = method.takes.iter().enumerate().map(kind).collect::<Result<Vec<_>, _>>();
            let takes = takes.map_err(|why| NotInC(format!("{}: {why}", method.name)))?;
            let mut types = Types { args: &takes, vars: BTreeMap::new(), signatures: known, parts: &self.of_parts };
            let found = types.body(body).map_err(|why| NotInC(format!("{}: {why}", method.name)))?;
            let returns = if method.returns == Returns::Nothing { Type::Unit } else { found };
            known.insert((self.owner.name, method.name), Signature { takes, returns });
        }
        Ok(())
    }

    /// Returns the library in C. `stack` are the libraries below it and itself.
    pub(super) fn text(&self, signatures: &Signatures, stack: &[&Self]) -> Result<String, NotInC> {
        let mut text =
            format!("\n/* {}, as its variant `{}`: {} */\n", self.owner.name, self.variant.name, self.variant.about);
        text += &self.structures()?;
        text += &self.begin(signatures, stack)?;
        text += &self.make(signatures, stack)?;
        for method in self.library.methods() {
            let of = |why: NotInC| NotInC(format!("{}: {why}", method.name));
            text += &self.method(method, signatures).map_err(of)?;
        }
        Ok(text)
    }

    /// Returns the structures of the library's objects, and of what belongs to itself.
    fn structures(&self) -> Result<String, NotInC> {
        let mut text = String::new();
        for own in [true, false] {
            if own && !self.has_own() || !own && self.library.object().is_none() {
                continue;
            }
            let _ = writeln!(text, "struct {}{} {{", self.owner.c, if own { "_own" } else { "" });
            for given in if own { Vec::new() } else { self.given()? } {
                let _ = writeln!(text, "\t{}{};", given.in_c(), given.name());
            }
            for (role, part) in self.roles(own)? {
                let star = if self.owner.extents[role].is_empty() { "" } else { "*" };
                let same = self.parts().filter(|other| self::role(other) == Ok(role));
                let about = same.map(described).join(", ");
                let _ = writeln!(text, "\tstruct {} {star}{role}; /* {about} */", c_name(part.object.library));
            }
            for role in self.identifiers(own) {
                let _ = writeln!(text, "\tint {role};");
            }
            text += "};\n";
        }
        Ok(text)
    }

    /// Returns the function that makes what belongs to the library.
    fn begin(&self, signatures: &Signatures, stack: &[&Self]) -> Result<String, NotInC> {
        if !self.has_own() {
            return Ok(String::new());
        }
        let slot = format!("{}_OWN", self.owner.c.to_uppercase());
        let mut function = CFunction::new(&self.owner, self.types(&[], signatures), &[]);
        function.line(&format!("if (all->own[{slot}]) return;"));
        function.line(&format!("struct {0}_own *own = all->own[{slot}] = mw_array(1, sizeof *own);", self.owner.c));
        self.make_parts(&mut function, true, stack)?;
        Ok(format!("MW_FN void {}_begin(struct mw *all)\n{{\n{}}}\n", self.owner.c, function.text()))
    }

    /// Returns the function that makes an object.
    fn make(&self, signatures: &Signatures, stack: &[&Self]) -> Result<String, NotInC> {
        if self.library.object().is_none() {
            return Ok(String::new());
        }
        let given = self.given()?;
        let takes = [Type::Object(self.owner.name)];
        let mut function = CFunction::new(&self.owner, self.types(&takes, signatures), &["x"]);
        for below in stack.iter().filter(|library| library.has_own()) {
            function.line(&format!("{}_begin(all);", below.owner.c));
        }
        for given in &given {
            function.line(&format!("x->{0} = {0};", given.name()));
        }
        self.make_parts(&mut function, false, stack)?;
        let args = given.iter().map(|given| format!(", {}{}", given.in_c(), given.name())).join("");
        Ok(format!(
            "/* Makes an object: on every node, with the same arguments and in the same order. */\n\
             MW_FN void {0}_new(struct mw *all, struct {0} *x{args})\n{{\n{1}{2}}}\n",
            self.owner.c,
            unused(["all", "x"], function.text()),
            function.text()
        ))
    }

    fn make_parts(&self, function: &mut CFunction<'_>, own: bool, stack: &[&Self]) -> Result<(), NotInC> {
        let holder = if own { "own" } else { "x" };
        let object = match own {
            true => Expr::from(Loc(self.owner.name)),
            false => ExprTerm::Arg(0, "x").into(),
        };
        for (role, _) in self.roles(own)? {
            let sizes = self.owner.extents[role]
                .iter()
                .map(|extent| function.size(extent, object))
                .collect::<Result<Vec<_>, _>>()?;
            if !sizes.is_empty() {
                let count = sizes.iter().map(|size| if sizes.len() == 1 { size.clone() } else { format!("({size})") });
                let count = count.collect_vec().join(" * ");
                function.line(&format!("{holder}->{role} = mw_array({count}, sizeof *{holder}->{role});"));
            }
        }
        for part in self.parts().filter(|part| part.is_of_library() == own) {
            make_each(function, part, &part.each, stack)?;
        }
        for role in self.identifiers(own) {
            function.line(&format!("{holder}->{role} = mw_id(all);"));
        }
        Ok(())
    }

    fn types<'t>(&'t self, args: &'t [Type], signatures: &'t Signatures) -> Types<'t> {
        Types { args, vars: BTreeMap::new(), signatures, parts: &self.of_parts }
    }

    /// Returns the function of a method.
    fn method(&self, method: &Method, signatures: &Signatures) -> Result<String, NotInC> {
        let Some(body) = self.bodies.get(method.name) else { return Ok(String::new()) };
        let signature = &signatures[&(self.owner.name, method.name)];
        let mut types = self.types(&signature.takes, signatures);
        types.body(body)?;
        let names: Vec<&str> = method.takes.iter().map(|(name, _)| *name).collect();
        let function = CFunction::new(&self.owner, types, &names);
        let args = function.args().iter().zip(&signature.takes);
        let args =
            args.map(|(name, of)| format!(", {}{name}", type_name(*of).expect("arguments have values"))).join("");
        let returns = type_name(signature.returns).unwrap_or_else(|| "void ".to_owned());
        let head =
            format!("MW_FN {returns}{}(struct mw_thread *me{args})", function_name(self.owner.name, method.name));
        let about = method.about.trim().replace('`', "");
        let names = function.args().to_vec();
        let text = function.returning(body, signature.returns)?;
        let unused = unused(names.iter().map(String::as_str).chain(["me"]), &text);
        let all = if has_word(&text, "all") { "\tstruct mw *all = me->all;\n" } else { "" };
        Ok(format!("/* {about} */\n{head}\n{{\n{unused}{all}{text}}}\n"))
    }
}

/// Writes the making of a part, for each element of the sets that its indices go through.
fn make_each(
    function: &mut CFunction<'_>,
    part: &PartTerm,
    each: &[(Var, Expr)],
    stack: &[&Emitted<'_>],
) -> Result<(), NotInC> {
    if let Some(((var, set), rest)) = each.split_first() {
        return function.each((*var, true), *set, &mut |function| make_each(function, part, rest, stack));
    }
    let object = &part.object;
    let mut args = vec!["all".to_owned(), function.expr(part.name)?.text];
    let given = match stack.iter().find(|library| library.owner.name == object.library) {
        Some(library) => library.given()?,
        None => vec![Given::Node, Given::Initial],
    };
    for given in given {
        args.push(match given {
            Given::Node => object.node.map_or_else(|| Ok("1".to_owned()), |node| function.number(node))?,
            Given::Initial => function.number(object.init)?,
            Given::Members => match object.members {
                Some(members) => function.expr(members)?.text,
                None => "mw_none()".to_owned(),
            },
            Given::Size => function.number(object.size)?,
        });
    }
    function.line(&format!("{}_new({});", c_name(object.library), args.join(", ")));
    Ok(())
}

impl Given {
    fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Initial => "initial",
            Self::Members => "members",
            Self::Size => "size",
        }
    }

    fn in_c(self) -> &'static str {
        if self == Self::Members { "struct mw_list " } else { "int64_t " }
    }
}

fn given(part: &DeclarationPart) -> Result<Given, NotInC> {
    match part {
        DeclarationPart::Node | DeclarationPart::Home => Ok(Given::Node),
        DeclarationPart::Init => Ok(Given::Initial),
        DeclarationPart::Members | DeclarationPart::Roles => Ok(Given::Members),
        DeclarationPart::Size { .. } => Ok(Given::Size),
        DeclarationPart::Words | DeclarationPart::Values => {
            Err(NotInC("an object of several words has no form in C: a word of memory holds a number".to_owned()))
        }
    }
}

/// Returns the role of a part.
fn role(part: &PartTerm) -> Result<&'static str, NotInC> {
    match part.name.term() {
        ExprTerm::Part(_, role, _) => Ok(role),
        _ => Err(NotInC(format!("the part {} has no role", part.name))),
    }
}

/// Returns for each role, and each index of the parts with it, the sets that the index goes through. A literal index is a set of
/// one.
fn extents(parts: Option<&Parts>) -> Result<BTreeMap<&'static str, Vec<Vec<Expr>>>, NotInC> {
    let mut extents: BTreeMap<&'static str, Vec<Vec<Expr>>> = BTreeMap::new();
    for part in parts.into_iter().flat_map(Parts::iter) {
        let ExprTerm::Part(_, role, indices) = part.name.term() else { continue };
        let of_role = extents.entry(role).or_default();
        of_role.resize(indices.len(), Vec::new());
        for (index, extent) in indices.iter().zip(of_role) {
            let of_var = |var: &Var| part.each.iter().find(|(other, _)| other == var).map(|(_, set)| *set);
            let set = match index.term() {
                ExprTerm::Var(var) => of_var(var),
                ExprTerm::Val(Val::Int(at)) => Some(range(*at, *at + 1)),
                _ => None,
            };
            let none = || NotInC(format!("the part {} has an index that goes through no set", part.name));
            extent.push(set.ok_or_else(none)?);
        }
    }
    Ok(extents)
}

/// The integers from the first to before the second.
fn range(from: i64, to: i64) -> Expr {
    ExprTerm::Op(Op::Range, from.into(), to.into()).into()
}

/// True if C code uses a name.
fn has_word(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

/// Returns a statement for each argument that a function does not use, so that no compiler warns of it.
fn unused<'n>(names: impl IntoIterator<Item = &'n str>, text: &str) -> String {
    names.into_iter().filter(|name| !has_word(text, name)).map(|name| format!("\t(void){name};\n")).collect()
}

/// `x.count[t] for t in members(x)`.
fn described(part: &PartTerm) -> String {
    let each = part.each.iter().map(|(var, set)| format!(" for {} in {set}", var.name)).join("");
    format!("{}{each}", part.name)
}

fn argument(library: Name, kind: ArgumentKind, is_list: bool) -> Result<Type, NotInC> {
    Ok(match kind {
        ArgumentKind::Local | ArgumentKind::Address | ArgumentKind::Placed | ArgumentKind::Object => {
            Type::Object(library)
        }
        ArgumentKind::Node | ArgumentKind::Thread => Type::Number,
        ArgumentKind::Nodes => Type::Nodes,
        ArgumentKind::Id => Type::Id,
        ArgumentKind::Value => {
            if is_list {
                Type::List
            } else {
                Type::Number
            }
        }
        ArgumentKind::Locals | ArgumentKind::Places | ArgumentKind::Way => {
            return Err(NotInC("operations of several words, or by another queue pair, have no form in C".to_owned()));
        }
    })
}
