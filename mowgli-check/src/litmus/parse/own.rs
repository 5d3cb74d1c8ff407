//! Statements of libraries of one's own, and what is said of those that there are not.

use itertools::Itertools;
use mowgli_core::ids::{Loc, Name};

use super::{Parsed, Reader, Tree, call, fail};
use crate::litmus::own::{Kind, Method};
use crate::litmus::test::{Arg, Statement};

impl Reader<'_> {
    /// A call of a library of one's own, `receiver.method(args)`: of an object of it, or of the library itself.
    pub(super) fn of_own(
        &self,
        thread: usize,
        library: Name,
        receiver: &Tree<'_>,
        method: &Tree<'_>,
        args: &[Tree<'_>],
    ) -> Parsed<Statement> {
        let known = self.own_method(library, receiver, method)?;
        let kinds = known.arguments();
        let may_end = kinds.iter().skip(args.len()).all(|kind| *kind == Kind::Identifier);
        if args.len() > kinds.len() || !may_end {
            return fail(method, format!("expected {}", known.form(receiver.as_str())));
        }
        let object = known.is_of_object().then(|| Ok(Arg::Val(Loc::new(receiver.as_str()).into())));
        let given = args.iter().map(Some).chain(std::iter::repeat(None));
        let rest = kinds.iter().zip(given).map(|(kind, tree)| self.own_argument(thread, *kind, tree));
        Ok(call(library, known.name, object.into_iter().chain(rest).collect::<Parsed<_>>()?))
    }

    /// How a method of this name is called on a declared object of a library of one's own.
    pub(super) fn own_form(&self, method: &str) -> Option<String> {
        let objects = self.world.objects.iter();
        let mut own = objects.filter(|(_, o)| self.catalogue.own_library(self.model, o.library.text()).is_some());
        own.find_map(|(x, o)| {
            let methods = self.catalogue.own_methods(o.library, &self.world);
            let known = methods.iter().find(|m| m.is_of_object() && m.name.eq_ignore_ascii_case(method));
            known.map(|m| m.form(&x.to_string()))
        })
    }

    fn own_method(&self, library: Name, receiver: &Tree<'_>, method: &Tree<'_>) -> Parsed<Method> {
        let is_of_object = self.library(receiver).is_some();
        let mut all = self.catalogue.own_methods(library, &self.world);
        all.retain(|m| m.is_of_object() == is_of_object);
        match all.iter().position(|m| m.name.to_lowercase() == method.as_str()) {
            Some(position) => Ok(all.swap_remove(position)),
            None if all.is_empty() => fail(method, format!("{library} has no {} here", method.as_str())),
            None => {
                let forms = all.iter().map(|m| m.form(receiver.as_str())).join(", ");
                fail(method, format!("{library} has no {}; it has {forms}", method.as_str()))
            }
        }
    }

    /// An argument; where none is given it is an identifier.
    fn own_argument(&self, thread: usize, kind: Kind, tree: Option<&Tree<'_>>) -> Parsed<Arg> {
        let Some(tree) = tree else { return Self::identifier(None) };
        match kind {
            Kind::Identifier => Self::identifier(Some(tree)),
            Kind::Node => Ok(Arg::Val(self.one_node(tree)?.into())),
            Kind::Nodes => Ok(Arg::Val(self.targets(tree)?.unwrap_or_default().into())),
            Kind::Data => self.data(thread, tree),
            Kind::Object => {
                let library = self.library(tree).unwrap_or_else(|| self.memory());
                Ok(Arg::Val(self.object(tree, library)?.into()))
            }
        }
    }
}
