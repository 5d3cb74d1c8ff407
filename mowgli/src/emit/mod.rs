//! Implementations as C: the bodies that were checked, as source that needs nothing of Mowgli.
//!
//! [`in_c`] writes a header with one function for each method, for a library and all that it stands on. The functions
//! call the operations of [`PORT`], which are RDMA-WAIT-RMW over libibverbs.
//!
//! A body is a term, so its statements become statements of C in the same order, and nothing else is added. A body that is a Rust
//! function, or that keeps a tuple in one word of memory, is refused.

mod function;
mod library;
mod types;

use std::collections::BTreeMap;

use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::method::{ArgumentKind, Returns, named as method_named};
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_rdma::wait::{Method, WAIT};

use crate::error::{Code, InputError};
use library::Emitted;
use types::{NotInC, Signature, Signatures, Type};

/// The name of the header with the operations, and its text.
pub const PORT: (&str, &str) = ("mowgli_port.h", include_str!("mowgli_port.h"));

/// The operations of RDMA-WAIT-RMW that the port has.
const OPERATIONS: [&str; 12] =
    ["Write", "Read", "CAS", "Xchg", "FAA", "Mfence", "Get", "Put", "Wait", "Rfence", "RCAS", "RFAA"];

/// Returns these libraries in C, each as one of its variants, after all that they stand on.
///
/// # Errors
/// If there is no such library or variant, or one of them has no form in C.
pub fn in_c(entries: &[Entry], wanted: &[(&Entry, &Variant)]) -> Result<String, InputError> {
    let mut all: Vec<Emitted<'_>> = Vec::new();
    for (entry, variant) in wanted {
        add(entries, entry, variant, &mut all)?;
    }
    let mut signatures = operations();
    let mut text = String::from("#include \"mowgli_port.h\"\n\n");
    let slots = all.iter().map(|library| format!("{}_OWN", library.owner.c.to_uppercase())).join(", ");
    text += &format!("enum {{ {slots} }};\n");
    for (at, library) in all.iter().enumerate() {
        let below: Vec<&Emitted<'_>> = all[..=at].iter().collect();
        let written = library.add_signatures(&mut signatures).and_then(|()| library.text(&signatures, &below));
        text += &written.map_err(|why| refused(library.owner.name, &why))?;
    }
    let names = wanted.iter().map(|(entry, variant)| format!("{}:{}", entry.name, variant.name)).join(" ");
    let guard = wanted.iter().map(|(entry, _)| entry.name.to_uppercase().replace('-', "_")).join("_");
    Ok(format!(
        "/* Written by `mowgli emit c {names}`. Do not edit: change the library, check it, and write this again. */\n\
         #ifndef MOWGLI_{guard}_H\n#define MOWGLI_{guard}_H\n{text}#endif\n"
    ))
}

/// Adds a library after those that it stands on, unless it is there.
fn add<'a>(
    entries: &'a [Entry],
    entry: &'a Entry,
    variant: &'a Variant,
    all: &mut Vec<Emitted<'a>>,
) -> Result<(), InputError> {
    let name = Name::literal(entry.name);
    if all.iter().any(|known| known.owner.name == name) {
        return Ok(());
    }
    let emitted = Emitted::new(entry.library()?, variant).map_err(|why| refused(name, &why))?;
    for below in emitted.below().into_iter().filter(|below| *below != WAIT) {
        let other = named(entries, below.text()).map_err(|_| {
            refused(name, &NotInC(format!("{below} is a memory model that has no form in C over verbs")))
        })?;
        add(entries, other, other.default_variant()?, all)?;
    }
    all.push(emitted);
    Ok(())
}

fn refused(library: Name, why: &NotInC) -> InputError {
    InputError::new(Code::Unsupported, why.to_string()).about(&library)
}

/// Returns the signatures of the operations of the port.
fn operations() -> Signatures {
    let of = |name: &&'static str| {
        let method = method_named(Method::TABLE, name).expect("an operation of RDMA-WAIT-RMW");
        let kind = |(_, kind): &(&'static str, ArgumentKind)| match kind {
            ArgumentKind::Id => Type::Id,
            kind if kind.is_object() => Type::Object(WAIT),
            _ => Type::Number,
        };
        let returns = if method.returns == Returns::Value { Type::Number } else { Type::Unit };
        ((WAIT, *name), Signature { takes: method.takes.iter().map(kind).collect(), returns })
    };
    OPERATIONS.iter().map(of).collect::<BTreeMap<_, _>>()
}
