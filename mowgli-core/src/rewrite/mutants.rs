//! The single edits of an operation: left out, made twice, after what follows it, with one argument changed or two that have
//! changed places. What arguments there are, the method table says.

use std::sync::Arc;

use itertools::Itertools;

use crate::expr::{Expr, here};
use crate::rewrite::edit::{Calls, Edited, Edits as _};
use crate::rewrite::sites::Site;
use crate::term::body::{Body, CallTerm};
use crate::term::implementation::Implementation;
use crate::term::method::{ArgumentKind, Method, Returns};
use crate::value::Val;

/// An edit of one call, with its name.
#[derive(Clone)]
pub struct Edit {
    /// The description of the edit.
    pub name: String,
    instead: Arc<dyn Fn(&CallTerm) -> Body + Send + Sync>,
    edit: fn(Arc<dyn Implementation>, Calls) -> Edited,
}

impl Edit {
    /// Returns an implementation in which the call at a site is edited.
    #[must_use]
    pub fn at(&self, of: Arc<dyn Implementation>, site: &Site) -> Edited {
        let instead = Arc::clone(&self.instead);
        (self.edit)(of, Calls::at(site, move |call| instead(call)))
    }
}

fn edit(name: impl Into<String>, instead: impl Fn(&CallTerm) -> Body + Send + Sync + 'static) -> Edit {
    Edit { name: name.into(), instead: Arc::new(instead), edit: Arc::replace }
}

/// Returns an edit of one argument.
fn of_argument(name: String, position: usize, other: impl Fn(Expr) -> Expr + Send + Sync + 'static) -> Edit {
    edit(name, move |call| call.with(position, other(call.args[position])).into())
}

/// The edits that leave something of an operation out: all of it, or a node of a set.
#[must_use]
pub fn weaker(method: &Method) -> Vec<Edit> {
    let nothing = match method.returns {
        Returns::Value => Val::Int(0),
        Returns::Bool => Val::Bool(false),
        Returns::Nothing | Returns::Handle => Val::Unit,
    };
    let mut all = vec![edit("left out", move |_| nothing.into())];
    for (position, _) in method.takes.iter().enumerate().filter(|(_, (_, kind))| *kind == ArgumentKind::Nodes) {
        all.push(of_argument("without its first target".to_owned(), position, |ns| ns.without(ns.min())));
        all.push(of_argument("without its last target".to_owned(), position, |ns| ns.without(ns.max())));
    }
    all
}

/// All edits of an operation.
#[must_use]
pub fn edits(method: &Method) -> Vec<Edit> {
    let mut all = weaker(method);
    all.push(edit("made twice", |call| Body::from(call.clone()).then(call.clone().into())));
    all.push(Edit { edit: Arc::swap, ..edit("after what follows it", |call| call.clone().into()) });
    for (position, (name, kind)) in method.takes.iter().enumerate() {
        all.push(match kind {
            ArgumentKind::Value => of_argument(format!("{name} + 1"), position, Expr::another),
            ArgumentKind::Id => of_argument(format!("{name} is _"), position, |_| Val::NoWid.into()),
            // Only the library knows its ways, and only the program knows its threads and the rows of objects.
            ArgumentKind::Way | ArgumentKind::Thread | ArgumentKind::Locals | ArgumentKind::Places => continue,
            ArgumentKind::Nodes => of_argument(format!("{name} with the own node"), position, |ns| ns.with(here())),
            ArgumentKind::Node
            | ArgumentKind::Local
            | ArgumentKind::Address
            | ArgumentKind::Placed
            | ArgumentKind::Object => of_argument(format!("another {name}"), position, Expr::another),
        });
    }
    let alike = method.takes.iter().enumerate().tuple_combinations().filter(|((_, (_, a)), (_, (_, b)))| a == b);
    all.extend(alike.map(|((i, (a, _)), (j, (b, _)))| {
        edit(format!("{a} and {b} change places"), move |call| {
            let mut call = call.clone();
            call.args.swap(i, j);
            call.into()
        })
    }));
    all
}
