//! The obligations about an implementation of which some method has no template, and why they are open.
//!
//! A theory of the other calls alone would be false of most executions, because they may read what the missing calls
//! write.

use std::collections::{BTreeMap, BTreeSet};

use itertools::Itertools;
use mowgli_core::event::{Call, Event};
use mowgli_core::ids::Name;
use mowgli_core::library::Hints;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::method::{self, Returns};
use mowgli_core::value::Val;
use mowgli_core::world::World;

use crate::error::{Refusal, refusal};
use crate::model::{ABS, SUB, of_library};
use crate::smt::encode::{SideNames, encode};
use crate::template::source::ProofSource;

/// An open obligation about which no solver gets a question, and the reason.
pub(crate) struct OpenObligation {
    pub obligation: String,
    pub why: String,
}

/// Returns the obligations of LOCO Def. 3.13 when these kinds of calls have no template.
///
/// They are condition 1 for each stamp that a method may promise, the laws and demands of the specification, and the
/// parts of so'. The last ones are the assumptions of the libraries below.
///
/// # Errors
/// If a specification says something that first-order logic cannot express.
pub(crate) fn obligations(source: &ProofSource<'_>, refusals: &[Refusal]) -> Result<Vec<OpenObligation>, Refusal> {
    let specified = source.specification.get(source.library).ok_or_else(|| refusal!("there is no specification"))?;
    let (have, kinds) = (if refusals.len() == 1 { "has" } else { "have" }, refusals.iter().map(kind_of).join(", "));
    let others = format!("{kinds} {have} no template");
    let open = |obligation: String| OpenObligation { obligation, why: others.clone() };
    let promised = promised(source, specified).into_iter().flat_map(|(method, families)| {
        let own = refusals.iter().find(|u| kind_of(u).trim_end_matches('_') == method.text());
        let why = own.map_or_else(|| others.clone(), |u| format!("{} has no template: {}", kind_of(u), u.reason()));
        let name = move |family| format!("condition 1 for {family} of {method}");
        families.into_iter().map(move |family| OpenObligation { obligation: name(family), why: why.clone() })
    });
    let rounds = specified.has_rounds().then(|| "every thread that takes part makes a call of each round".to_owned());
    let above = consistency(source)?.into_iter().chain(rounds).map(open);
    let assumption = assumption(source)?.into_iter().map(open);
    Ok(promised.chain(above).chain(assumption).collect())
}

/// Returns the kind of calls that has no template.
fn kind_of(refusal: &Refusal) -> &str {
    refusal.about.as_deref().unwrap_or_default()
}

/// Returns the families of stamps that calls of each method may promise.
fn promised(source: &ProofSource<'_>, library: &dyn Hints) -> BTreeMap<Name, BTreeSet<String>> {
    let mut promised: BTreeMap<Name, BTreeSet<String>> = BTreeMap::new();
    let bound = Bound::default();
    for world in source.worlds() {
        for thread in world.tids() {
            for call in source.subject.calls(&world, thread, &bound, &|| false) {
                let families = promised.entry(call.method).or_default();
                families.extend(stamps(library, &world, &call, thread));
            }
        }
    }
    promised
}

/// Returns the families of stamps of a call, whatever it returns.
fn stamps(library: &dyn Hints, world: &World, call: &Call, thread: mowgli_core::ids::Tid) -> Vec<String> {
    let results = match method::find(library.methods(), call).map(|m| m.returns) {
        Some(Returns::Nothing) => vec![Val::Unit],
        Some(Returns::Bool) => [false, true].map(Val::Bool).to_vec(),
        _ => vec![Val::Int(1), Val::Bot],
    };
    let shapes = results.into_iter().flat_map(|ret| {
        let event = Event { thread, call: call.clone(), ret };
        library.shapes(world, &event)
    });
    shapes.flatten().map(|sub| sub.stamp.family()).collect()
}

/// Returns the obligations of condition 3.
fn consistency(source: &ProofSource<'_>) -> Result<Vec<String>, Refusal> {
    let library = source.library;
    let spec = source.specification.spec(library).ok_or_else(|| refusal!("there is no specification"))?;
    let side = SideNames { sort: ABS, prefix: of_library(library), shared: "abs.", own: None };
    let encoding = encode(spec, side).map_err(|refusal| refusal.about(library))?;
    let laws = encoding.laws.iter().flatten().cloned().chain(encoding.demanded()).chain(encoding.of_closures());
    let so = encoding.so.iter().map(|(name, _)| format!("{name}' inside hb"));
    Ok(laws.map(|law| law.name).chain(so).collect())
}

/// Returns the assumptions of the libraries below.
fn assumption(source: &ProofSource<'_>) -> Result<Vec<String>, Refusal> {
    let mut all = Vec::new();
    for name in source.below.names() {
        let Some(pairs) = source.below.get(name).and_then(|library| library.covered().pairs()) else { continue };
        let side = SideNames { sort: SUB, prefix: of_library(name), shared: "", own: None };
        let encoding =
            encode(&pairs.algebra(), side).map_err(|refusal| refusal.about(format!("the assumptions of {name}")))?;
        let words = encoding.demands.iter().zip(encoding.demanded()).zip(&encoding.partners);
        all.extend(words.map(|(((short, ..), law), partner)| {
            let words = if partner.is_some() { (*short).to_owned() } else { law.name };
            format!("{name} requires: {words}")
        }));
    }
    Ok(all)
}
