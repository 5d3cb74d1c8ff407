//! One library with the implementation that is written: its parts, its identifiers, and the types of its methods.

use std::collections::BTreeMap;

use itertools::Itertools;
use mowgli_core::expr::{Expr, ExprTerm, Function, Op, Var};
use mowgli_core::ids::Name;
use mowgli_core::library::Library;
use mowgli_core::term::body::Bodies;
use mowgli_core::term::method::{ArgumentKind, Returns};
use mowgli_core::term::parts::{PartTerm, Parts};
use mowgli_core::value::Val;
use mowgli_core::world::DeclarationPart;
use mowgli_libraries::entry::Variant;

use super::types::{Given, NoForm, Signature, Signatures, Type, Types, lists};

/// The library to which a function belongs.
pub(super) struct Owner {
    pub(super) name: Name,
    /// Its name in C, and the name of its module in Rust.
    pub(super) word: String,
    /// The sets that the indices of its parts go through, by the role of the part.
    pub(super) extents: BTreeMap<&'static str, Vec<Vec<Expr>>>,
}

/// A library with the implementation that is written.
pub(super) struct Emitted<'a> {
    pub(super) owner: Owner,
    pub(super) library: &'a dyn Library,
    pub(super) variant: &'a Variant,
    pub(super) bodies: &'a Bodies,
    parts: Option<&'a Parts>,
    /// The libraries of its parts, by their roles.
    of_parts: BTreeMap<&'static str, Name>,
}

impl<'a> Emitted<'a> {
    pub(super) fn new(library: &'a dyn Library, variant: &'a Variant) -> Result<Self, NoForm> {
        let name = library.name();
        let implementation = &variant.implementation;
        let bodies = implementation.bodies();
        let bodies =
            bodies.ok_or_else(|| NoForm("it has no bodies, which could have a form in C or Rust".to_owned()))?;
        let parts = implementation.empty_parts();
        let of_parts = parts.into_iter().flat_map(Parts::iter).map(|part| Ok((role(part)?, part.object.library)));
        let of_parts = of_parts.collect::<Result<_, NoForm>>()?;
        let owner = Owner { name, word: word(name), extents: extents(parts)? };
        Ok(Self { owner, library, variant, bodies, parts, of_parts })
    }

    /// Returns the libraries that it stands on.
    pub(super) fn below(&self) -> Vec<Name> {
        let calls = self.bodies.iter().flat_map(|(_, body)| body.calls()).map(|call| call.library);
        calls.chain(self.of_parts.values().copied()).unique().collect()
    }

    /// Returns the parts of its objects, and its own.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'a PartTerm> {
        self.parts.into_iter().flat_map(Parts::iter)
    }

    pub(super) fn given(&self) -> Vec<Given> {
        self.library.object().into_iter().flat_map(|form| form.parts).map(given).sorted().collect()
    }

    /// Returns the roles of the parts of objects, or of the library, each with one of its parts.
    pub(super) fn roles(&self, own: bool) -> Result<Vec<(&'static str, &'a PartTerm)>, NoForm> {
        let of = self.parts().filter(|part| part.is_of_library() == own).map(|part| Ok((role(part)?, part)));
        Ok(of.collect::<Result<Vec<_>, NoForm>>()?.into_iter().unique_by(|(role, _)| *role).collect())
    }

    /// Returns the work identifiers of objects, or of the library.
    pub(super) fn identifiers(&self, own: bool) -> Vec<&'static str> {
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
    pub(super) fn has_own(&self) -> bool {
        !self.identifiers(true).is_empty() || self.parts().any(PartTerm::is_of_library)
    }

    /// Returns the signatures of the methods, and adds them to those that are known.
    pub(super) fn add_signatures(&self, known: &mut Signatures) -> Result<(), NoForm> {
        for method in self.library.methods() {
            let Some(body) = self.bodies.get(method.name) else { continue };
            let lists = lists(body, known);
            let kind = |(at, (_, kind)): (usize, &(&'static str, ArgumentKind))| {
                argument(self.owner.name, *kind, lists.contains(&at))
            };
            let takes = method.takes.iter().enumerate().map(kind).collect::<Result<Vec<_>, _>>();
            let takes = takes.map_err(|why| NoForm(format!("{}: {why}", method.name)))?;
            let mut types = self.types(&takes, known);
            let found = types.body(body).map_err(|why| NoForm(format!("{}: {why}", method.name)))?;
            let returns = if method.returns == Returns::Nothing { Type::Unit } else { found };
            known.insert((self.owner.name, method.name), Signature { takes, returns });
        }
        Ok(())
    }

    pub(super) fn types<'t>(&'t self, args: &'t [Type], signatures: &'t Signatures) -> Types<'t> {
        Types { args, vars: BTreeMap::new(), signatures, parts: &self.of_parts, given: self.given(), failed: None }
    }
}

fn given(part: &DeclarationPart) -> Given {
    match part {
        DeclarationPart::Node | DeclarationPart::Home => Given::Node,
        DeclarationPart::Init => Given::Initial,
        DeclarationPart::Tuple { .. } => Given::InitialTuple,
        DeclarationPart::Members | DeclarationPart::Roles => Given::Members,
        // All values are bottom at first.
        DeclarationPart::Size { .. } | DeclarationPart::Values => Given::Size,
        DeclarationPart::Words => Given::Words,
    }
}

/// Returns the arguments of the function that makes an object, or a word of memory.
pub(super) fn given_to(part: &PartTerm, stack: &[&Emitted<'_>]) -> Vec<Given> {
    match stack.iter().find(|library| library.owner.name == part.object.library) {
        Some(library) => library.given(),
        None => vec![Given::Node, Given::Initial],
    }
}

/// Returns the name of a library as a word of C and Rust.
pub(super) fn word(library: Name) -> String {
    library.text().replace('-', "_")
}

/// Returns the role of a part.
pub(super) fn role(part: &PartTerm) -> Result<&'static str, NoForm> {
    match part.name.term() {
        ExprTerm::Part(_, role, _) => Ok(role),
        _ => Err(NoForm(format!("the part {} has no role", part.name))),
    }
}

/// Returns for each role, and each index of the parts with it, the sets that the index goes through. A literal index is a set of
/// one.
fn extents(parts: Option<&Parts>) -> Result<BTreeMap<&'static str, Vec<Vec<Expr>>>, NoForm> {
    let mut extents: BTreeMap<&'static str, Vec<Vec<Expr>>> = BTreeMap::new();
    for part in parts.into_iter().flat_map(Parts::iter) {
        let ExprTerm::Part(_, role, indices) = part.name.term() else { continue };
        let of_role = extents.entry(role).or_default();
        of_role.resize(indices.len(), Vec::new());
        for (index, extent) in indices.iter().zip(of_role) {
            let of_var = |var: &Var| part.each.iter().find(|(other, _)| other == var).map(|(_, set)| *set);
            // The number of a thread or a node is the same in C and Rust.
            let index =
                if let ExprTerm::Of(Function::Number | Function::Numbered, e) = index.term() { e } else { index };
            let set = match index.term() {
                ExprTerm::Var(var) => of_var(var),
                ExprTerm::Val(Val::Int(at)) => Some(range(*at, *at + 1)),
                _ => None,
            };
            let none = || NoForm(format!("the part {} has an index that goes through no set", part.name));
            extent.push(set.ok_or_else(none)?);
        }
    }
    Ok(extents)
}

/// The integers from the first to before the second.
fn range(from: i64, to: i64) -> Expr {
    ExprTerm::Op(Op::Range, from.into(), to.into()).into()
}

/// True if source code uses a name.
pub(super) fn has_word(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

/// `x.count[t] for t in members(x)`.
pub(super) fn described(part: &PartTerm) -> String {
    let each = part.each.iter().map(|(var, set)| format!(" for {} in {set}", var.name)).join("");
    format!("{}{each}", part.name)
}

fn argument(library: Name, kind: ArgumentKind, is_list: bool) -> Result<Type, NoForm> {
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
            return Err(NoForm(
                "operations of several words, or by another queue pair, have no form in C or Rust".to_owned(),
            ));
        }
    })
}
