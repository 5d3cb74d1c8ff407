//! The clients whose outcomes were compared, so that outcomes of a symmetric one are not compared again.
//!
//! **Computes** whether a client, extended by probes or not, is a renamed one of those before it. **Example**: a probe that reads
//! x on the other node extends two symmetric clients to two symmetric ones. **Correct because** symmetric clients have the same
//! outcomes, renamed, both of the implementation and of the specification. The first wrong one is always compared.
//! **Cost**: a canonical form for each client, and the terms once for each world and set of methods.

use std::collections::{BTreeMap, BTreeSet};

use super::client::Client;
use super::question::Question;
use super::renaming::{Canonical, Renaming};
use super::symmetry::Symmetry;
use crate::event::Call;
use crate::ids::Name;
use crate::value::Val;
use crate::world::World;

/// The methods that a client calls, with the kinds of their arguments.
type Called = BTreeSet<(Name, Name, Vec<ValueKind>)>;

/// The kind of an argument. Names in data may come back as names, so symmetry depends on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ValueKind {
    Integer,
    Location,
    Node,
    Thread,
    Other,
}

impl ValueKind {
    /// `None` for a tuple, which has several.
    fn of(v: &Val) -> Option<Self> {
        Some(match v {
            Val::Int(_) => Self::Integer,
            Val::Loc(_) => Self::Location,
            Val::Node(_) | Val::Nodes(_) => Self::Node,
            Val::Thread(_) => Self::Thread,
            Val::Tuple(_) => return None,
            _ => Self::Other,
        })
    }
}

/// A client with the renaming to its canonical form.
struct Renamed {
    client: (World, Client),
    to_form: Renaming,
}

/// The clients whose outcomes were compared, by their canonical forms.
#[derive(Default)]
pub(super) struct ComparedClients {
    forms: BTreeMap<Canonical, Vec<Renamed>>,
    /// The symmetry of clients in a world with these calls. With one node, nothing shows whether nodes differ.
    symmetries: BTreeMap<(World, Called), Symmetry>,
}

impl ComparedClients {
    /// Adds a client. Returns false if one that is symmetric to it was compared.
    pub(super) fn is_new(&mut self, question: &Question<'_>, client: &(World, Client)) -> bool {
        let calls = client.1.threads.iter().flatten();
        let of_call = |call: &Call| {
            let kinds: Option<Vec<ValueKind>> = call.args.iter().map(ValueKind::of).collect();
            kinds.map(|kinds| (call.library, call.method, kinds))
        };
        let called: Option<Called> = calls.map(of_call).collect();
        let Some(called) = called.filter(|_| question.crashing.is_none()) else { return true };
        let of_calls = || Symmetry::of(question, std::slice::from_ref(client));
        let symmetry = self.symmetries.entry((client.0.clone(), called)).or_insert_with(of_calls);
        if symmetry.is_trivial() {
            return true;
        }
        let (form, to_form) =
            Renaming::canonical(&client.0, &client.1, &question.bound.values, symmetry.exchanges_threads());
        let known = self.forms.entry(form).or_default();
        if known.iter().any(|first| symmetry.allows(&first.to_form.and_back(&to_form), &first.client)) {
            return false;
        }
        known.push(Renamed { client: client.clone(), to_form });
        true
    }
}
