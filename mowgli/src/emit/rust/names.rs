//! Names of Rust.

use mowgli_core::ids::Name;
use mowgli_rdma::wait::WAIT;

use crate::emit::library::word;
use crate::emit::types::Type;

/// Returns the structure of the objects of a library.
pub(super) fn structure(library: Name) -> String {
    if library == WAIT { "Word".to_owned() } else { format!("{}::Object", word(library)) }
}

/// Returns the type of an argument, in the module of this library.
pub(super) fn argument_name(of: Type, here: Name) -> String {
    let name = type_name(of, here);
    if of == Type::List { format!("&{name}") } else { name }
}

/// Returns the type of a result, in the module of this library.
pub(super) fn type_name(of: Type, here: Name) -> String {
    match of {
        Type::Never | Type::Unit | Type::Way => "()".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Bottom | Type::Number => "i64".to_owned(),
        Type::Nodes => "Nodes".to_owned(),
        Type::List => "List".to_owned(),
        Type::Row => "&[Word]".to_owned(),
        Type::Id => "Id".to_owned(),
        Type::Object(library) if library == here => "&Object".to_owned(),
        Type::Object(library) if library == WAIT => structure(library),
        Type::Object(library) => format!("&{}", structure(library)),
    }
}
