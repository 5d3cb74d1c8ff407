//! One library in Rust: a module with its structures, the function that makes an object, and a function for each method.

mod function;
mod names;

use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::term::method::Method;

use crate::emit::library::{Emitted, described, has_word, role};
use crate::emit::text::wrapped;
use crate::emit::types::{Given, NoForm, Signatures, Type, rust_function_name};
use function::RustFunction;
use names::{argument_name, structure, type_name};

/// The name of the module with the operations, and its text.
pub const PORT: (&str, &str) = ("mowgli_port.rs", include_str!("../../../data/mowgli_port.rs"));

/// Returns the beginning of a file with these libraries.
pub(super) fn head(all: &[Emitted<'_>]) -> String {
    let own = all.iter().filter(|library| library.has_own()).map(|library| &library.owner.word).collect_vec();
    let fields = own.iter().map(|word| format!("    /// Those of `{word}`.\n    pub {word}: {word}::Own,\n")).join("");
    let values = own.iter().map(|word| format!("{word}: {word}::Own::new(world)")).join(", ");
    let open = if own.is_empty() { "" } else { "\n" };
    let (world, made) =
        if own.is_empty() { ("_", "Self {}".to_owned()) } else { ("world", format!("Self {{ {values} }}")) };
    format!(
        "use super::mowgli_port::*;\n\n\
         /// A thread that makes the calls of these libraries.\n\
         pub type Me<'a, P> = Thread<'a, P, Own>;\n\n\
         /// The parts of the libraries that belong to none of their objects.\n\
         #[derive(Clone, Debug, Default)]\n\
         pub struct Own {{{open}{fields}}}\n\n\
         impl Own {{\n    \
             /// Makes them: on every node, before all objects.\n    \
             pub fn new({world}: &mut World) -> Self {{\n        {made}\n    }}\n\
         }}\n"
    )
}

/// Returns the library in Rust. `stack` are the libraries below it and itself.
pub(super) fn text(library: &Emitted<'_>, signatures: &Signatures, stack: &[&Emitted<'_>]) -> Result<String, NoForm> {
    let mut items = vec!["    use super::*;\n".to_owned()];
    if library.has_own() {
        items.push(structures(library, true)?);
        items.push(begin(library, signatures, stack)?);
    }
    if library.library.object().is_some() {
        items.push(structures(library, false)?);
        items.push(make(library, signatures, stack)?);
    }
    for method in library.library.methods() {
        let of = |why: NoForm| NoForm(format!("{}: {why}", method.name));
        items.extend(function(library, method, signatures).map_err(of)?);
    }
    let (variant, about) = (library.variant.name, library.variant.about);
    let head = format!("\n/// `{}`, as its variant `{variant}`: {about}\n", library.owner.name);
    Ok(format!("{head}pub mod {} {{\n{}}}\n", library.owner.word, items.join("\n")))
}

/// Returns the structure of the library's objects, or of what belongs to itself.
fn structures(library: &Emitted<'_>, own: bool) -> Result<String, NoForm> {
    let (about, name) = if own {
        ("The parts that belong to the library, and to none of its objects.", "Own")
    } else {
        ("An object. All threads may share it.", "Object")
    };
    let mut text = format!("    /// {about}\n    #[derive(Clone, Debug, Default)]\n    pub struct {name} {{\n");
    let mut field = |about: &str, name: &str, of: &str| {
        let _ = writeln!(text, "        /// {about}\n        pub {name}: {of},");
    };
    for given in if own { Vec::new() } else { library.given() } {
        field(&format!("`{}(x)`", given.name()), given.name(), argument(given));
    }
    for (role, part) in library.roles(own)? {
        let same = library.parts().filter(|other| self::role(other) == Ok(role));
        let of = structure(part.object.library);
        let of = if library.owner.extents[role].is_empty() { of } else { format!("Vec<{of}>") };
        field(&format!("`{}`", same.map(described).join("`, `")), role, &of);
    }
    for role in library.identifiers(own) {
        field("An identifier of operations.", role, "Id");
    }
    Ok(text + "    }\n")
}

/// Returns the function that makes what belongs to the library.
fn begin(library: &Emitted<'_>, signatures: &Signatures, stack: &[&Emitted<'_>]) -> Result<String, NoForm> {
    let mut function = RustFunction::new(&library.owner, library.types(&[], signatures), &[], 3);
    let arrays = arrays(library, &mut function, true)?;
    let fields = arrays.iter().map(|(role, array)| format!("{role}: {array}")).collect_vec();
    let is_whole = fields.len() == library.roles(true)?.len() + library.identifiers(true).len();
    let rest = (!is_whole).then(|| "..Self::default()".to_owned());
    function.line(&format!("let mut own = Self {{ {} }};", fields.into_iter().chain(rest).join(", ")));
    function.make_parts(library, true, stack)?;
    function.line("own");
    Ok(format!(
        "    impl Own {{\n        /// Makes them: see [`super::Own`].\n        \
         pub fn new(world: &mut World) -> Self {{\n{}        }}\n    }}\n",
        function.out
    ))
}

/// Returns the function that makes an object.
fn make(library: &Emitted<'_>, signatures: &Signatures, stack: &[&Emitted<'_>]) -> Result<String, NoForm> {
    let given = library.given();
    let takes = [Type::Object(library.owner.name)];
    let mut function = RustFunction::new(&library.owner, library.types(&takes, signatures), &["x"], 2);
    let fields = given.iter().map(|given| given.name()).join(", ");
    if library.roles(false)?.is_empty() && library.identifiers(false).is_empty() {
        function.line(&format!("Object {{ {fields} }}"));
    } else {
        let fields = if given.is_empty() { String::new() } else { format!("{fields}, ") };
        function.line(&format!("let mut x = Object {{ {fields}..Object::default() }};"));
        for (role, array) in arrays(library, &mut function, false)? {
            function.line(&format!("x.{role} = {array};"));
        }
        function.make_parts(library, false, stack)?;
        function.line("x");
    }
    let args = given.iter().map(|given| format!(", {}: {}", given.name(), argument(*given))).join("");
    let world = if has_word(&function.out, "world") { "world" } else { "_" };
    Ok(format!(
        "    /// Makes an object: on every node, with the same arguments and in the same order.\n    \
         pub fn new({world}: &mut World{args}) -> Object {{\n{}    }}\n",
        function.out
    ))
}

/// Returns the places for parts with indices, by their roles.
fn arrays(
    library: &Emitted<'_>,
    function: &mut RustFunction<'_>,
    own: bool,
) -> Result<Vec<(&'static str, String)>, NoForm> {
    let mut found = Vec::new();
    for (role, part) in library.roles(own)? {
        let sizes = function.sizes(role, own)?;
        if !sizes.is_empty() {
            let factors = sizes.iter().filter(|size| *size != "1").collect_vec();
            let count = match &*factors {
                [] => "1".to_owned(),
                [one] => (*one).clone(),
                _ => factors.into_iter().cloned().map(wrapped).join(" * "),
            };
            let count = function::index(count);
            found.push((role, format!("vec![{}::default(); {count}]", structure(part.object.library))));
        }
    }
    Ok(found)
}

fn argument(given: Given) -> &'static str {
    if given.is_list() { "List" } else { "i64" }
}

/// Returns the function of a method, if it has a body.
fn function(library: &Emitted<'_>, method: &Method, signatures: &Signatures) -> Result<Option<String>, NoForm> {
    let Some(body) = library.bodies.get(method.name) else { return Ok(None) };
    let signature = &signatures[&(library.owner.name, method.name)];
    let mut types = library.types(&signature.takes, signatures);
    types.body(body)?;
    let names: Vec<&str> = method.takes.iter().map(|(name, _)| *name).collect();
    let function = RustFunction::new(&library.owner, types, &names, 2);
    let names = function.args.clone();
    let text = function.returning(body, signature.returns)?;
    // Rust warns of an argument that is not used, unless its name says so.
    let named = |name: &str| if has_word(&text, name) { name.to_owned() } else { format!("_{name}") };
    let args = names.iter().zip(&signature.takes);
    let args = args.map(|(name, of)| format!(", {}: {}", named(name), argument_name(*of, library.owner.name))).join("");
    let about = method.about.trim().lines().map(|line| format!("    /// {}\n", line.trim())).join("");
    let (name, me, returns) =
        (rust_function_name(method.name), named("me"), type_name(signature.returns, library.owner.name));
    Ok(Some(format!(
        "{about}    pub fn {name}<P: Port>({me}: &mut Me<'_, P>{args}) -> Result<{returns}, P::Fault> {{\n{text}    }}\n"
    )))
}
