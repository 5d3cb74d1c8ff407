//! Implementations as source code: the bodies that were checked, as C or Rust that needs nothing of Mowgli.
//!
//! [`in_c`] and [`in_rust`] write one function for each method, for a library and all that it stands on. The functions
//! call the operations of RDMA-WAIT-RMW: in C those of [`C_PORT`], over libibverbs, and in Rust those of a trait in
//! [`RUST_PORT`].
//!
//! A body is a term, so its statements become statements of the language in the same order, and nothing else is added. A
//! body that keeps a tuple in one word of memory, is refused. A hash becomes a checksum.

mod c;
mod dictionary;
mod function;
mod library;
mod rust;
mod text;
mod types;

use std::collections::BTreeMap;

use itertools::Itertools;
use mowgli_core::ids::Name;
use mowgli_core::term::method::{ArgumentKind, Returns, named as method_named};
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Variant};
use mowgli_rdma::wait::{Method, WAIT};

use crate::error::{Code, InputError};
use library::Emitted;
use types::{NoForm, Signature, Signatures, Type};

pub use c::{PORT as C_PORT, c_function_name};
pub use rust::PORT as RUST_PORT;
pub use types::rust_function_name;

/// The operations of RDMA-WAIT-RMW that the port has.
const OPERATIONS: [&str; 14] = [
    "Write", "Read", "CAS", "Xchg", "FAA", "Mfence", "Get", "Put", "GetWords", "PutWords", "Wait", "Rfence", "RCAS",
    "RFAA",
];

/// Returns these libraries in C, each as one of its variants, after all that they stand on.
///
/// # Errors
/// If there is no such library or variant, or one of them has no form in C.
pub fn in_c(entries: &[Entry], wanted: &[(&Entry, &Variant)]) -> Result<String, InputError> {
    let all = stack(entries, wanted)?;
    let text = written(&all, c::text)?;
    let guard = wanted.iter().map(|(entry, _)| entry.name.to_uppercase().replace('-', "_")).join("_");
    let slots = all.iter().map(|library| format!("{}_OWN", library.owner.word.to_uppercase())).join(", ");
    Ok(format!(
        "/* Written by `mowgli emit c {}`. Do not edit: change the library, check it, and write this again. */\n\
         #ifndef MOWGLI_{guard}_H\n#define MOWGLI_{guard}_H\n#include \"mowgli_port.h\"\n\nenum {{ {slots} }};\n{text}#endif\n",
        names(wanted)
    ))
}

/// Returns these libraries in Rust, each as one of its variants, after all that they stand on.
///
/// # Errors
/// If there is no such library or variant, or one of them has no form in Rust.
pub fn in_rust(entries: &[Entry], wanted: &[(&Entry, &Variant)]) -> Result<String, InputError> {
    let all = stack(entries, wanted)?;
    let text = written(&all, rust::text)?;
    let head = [
        &format!("//! Written by `mowgli emit rust {}`.", names(wanted)),
        "//!",
        "//! Do not edit: change the library, check it, and write this again.",
        "",
        "// A program need not make every call, and statements are those of the checked bodies.",
        "#![allow(dead_code, clippy::all)]",
    ];
    Ok(format!("{}\n\n{}{text}", head.join("\n"), rust::head(&all)))
}

/// Returns the arguments of the command for these libraries.
fn names(wanted: &[(&Entry, &Variant)]) -> String {
    wanted.iter().map(|(entry, variant)| format!("{}:{}", entry.name, variant.name)).join(" ")
}

/// Returns these libraries, each after those that it stands on. A library that is wanted has its variant below others, too.
fn stack<'a>(entries: &'a [Entry], wanted: &[(&'a Entry, &'a Variant)]) -> Result<Vec<Emitted<'a>>, InputError> {
    let mut all = Vec::new();
    for &(entry, variant) in wanted {
        let other = wanted.iter().find(|(of, other)| of.name == entry.name && other.name != variant.name);
        if let Some((_, other)) = other {
            let why = format!("it is named as two variants, {} and {}: write each by itself", variant.name, other.name);
            return Err(InputError::new(Code::Unsupported, why).about(&entry.name));
        }
        add(entries, wanted, (entry, variant), &mut all)?;
    }
    Ok(all)
}

/// Writes one library. The last argument has the libraries below it and itself.
type Writer = fn(&Emitted<'_>, &Signatures, &[&Emitted<'_>]) -> Result<String, NoForm>;

/// Returns these libraries in a language.
fn written(all: &[Emitted<'_>], writer: Writer) -> Result<String, InputError> {
    let mut signatures = operations();
    let mut text = String::new();
    for (at, library) in all.iter().enumerate() {
        let below: Vec<&Emitted<'_>> = all[..=at].iter().collect();
        let written = library.add_signatures(&mut signatures).and_then(|()| writer(library, &signatures, &below));
        text += &written.map_err(|why| refused(library.owner.name, &why))?;
    }
    Ok(text)
}

/// Adds a library after those that it stands on, unless it is there.
fn add<'a>(
    entries: &'a [Entry],
    wanted: &[(&'a Entry, &'a Variant)],
    (entry, variant): (&'a Entry, &'a Variant),
    all: &mut Vec<Emitted<'a>>,
) -> Result<(), InputError> {
    let name = Name::literal(entry.name);
    if all.iter().any(|known| known.owner.name == name) {
        return Ok(());
    }
    let emitted = Emitted::new(entry.library()?, variant).map_err(|why| refused(name, &why))?;
    for below in emitted.below().into_iter().filter(|below| *below != WAIT) {
        let other = named(entries, below.text())
            .map_err(|_| refused(name, &NoForm(format!("{below} is a memory model that has no form in C or Rust"))))?;
        let other = match wanted.iter().find(|(entry, _)| entry.name == other.name) {
            Some(wanted) => *wanted,
            None => (other, other.default_variant()?),
        };
        add(entries, wanted, other, all)?;
    }
    all.push(emitted);
    Ok(())
}

fn refused(library: Name, why: &NoForm) -> InputError {
    InputError::new(Code::Unsupported, why.to_string()).about(&library)
}

/// Returns the signatures of the operations of the port.
fn operations() -> Signatures {
    let of = |name: &&'static str| {
        let method = method_named(Method::TABLE, name).expect("an operation of RDMA-WAIT-RMW");
        let kind = |(_, kind): &(&'static str, ArgumentKind)| match kind {
            ArgumentKind::Id => Type::Id,
            ArgumentKind::Way => Type::Way,
            ArgumentKind::Locals | ArgumentKind::Places => Type::Row,
            kind if kind.is_object() => Type::Object(WAIT),
            _ => Type::Number,
        };
        let returns = if method.returns == Returns::Value { Type::Number } else { Type::Unit };
        ((WAIT, *name), Signature { takes: method.takes.iter().map(kind).collect(), returns })
    };
    OPERATIONS.iter().map(of).collect::<BTreeMap<_, _>>()
}
