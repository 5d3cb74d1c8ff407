//! Names of C.

use mowgli_core::ids::Name;
use mowgli_rdma::wait::WAIT;

use crate::emit::library::word;
use crate::emit::types::{Type, rust_function_name};

/// Returns the name of a library in C.
pub(super) fn c_name(library: Name) -> String {
    if library == WAIT { "mw_word".to_owned() } else { word(library) }
}

/// Returns the C function of a method: `bal_bar`, or `mw_put` for an operation of the port.
#[must_use]
pub fn c_function_name(library: Name, method: &str) -> String {
    format!("{}_{}", if library == WAIT { "mw".to_owned() } else { word(library) }, rust_function_name(method))
}

/// Returns the declaration of a variable of this type up to its name; `None` if there is no value.
pub(super) fn type_name(of: Type) -> Option<String> {
    Some(match of {
        Type::Never | Type::Unit | Type::Way => return None,
        Type::Bool => "bool ".to_owned(),
        Type::Bottom | Type::Number => "int64_t ".to_owned(),
        Type::Nodes => "mw_nodes ".to_owned(),
        Type::List => "struct mw_list ".to_owned(),
        Type::Row => "struct mw_row ".to_owned(),
        Type::Id => "int ".to_owned(),
        Type::Object(library) => format!("struct {} *", c_name(library)),
    })
}
