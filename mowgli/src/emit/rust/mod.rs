//! One library in Rust: a module with its structures, the function that makes an object, and a function for each method.

mod function;
mod names;

use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::expr::{Expr, ExprTerm, Var};
use mowgli_core::ids::Loc;
use mowgli_core::method::Method;
use mowgli_core::parts::PartTerm;
use mowgli_rdma::wait::WAIT;

use crate::emit::library::{Emitted, described, given_to, has_word, role, word};
use crate::emit::text::wrapped;
use crate::emit::types::{Given, NoForm, Signatures, Type};
use function::RustFunction;
use names::{argument_name, function_name, structure, type_name};

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
    make_parts(library, &mut function, true, stack)?;
    function.line("own");
    Ok(format!(
        "    impl Own {{\n        /// Makes them: see [`super::Own`].\n        \
         pub fn new(world: &mut World) -> Self {{\n{}        }}\n    }}\n",
        function.text()
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
        make_parts(library, &mut function, false, stack)?;
        function.line("x");
    }
    let args = given.iter().map(|given| format!(", {}: {}", given.name(), argument(*given))).join("");
    let world = if has_word(function.text(), "world") { "world" } else { "_" };
    Ok(format!(
        "    /// Makes an object: on every node, with the same arguments and in the same order.\n    \
         pub fn new({world}: &mut World{args}) -> Object {{\n{}    }}\n",
        function.text()
    ))
}

/// Returns the places for parts with indices, by their roles.
fn arrays(
    library: &Emitted<'_>,
    function: &mut RustFunction<'_>,
    own: bool,
) -> Result<Vec<(&'static str, String)>, NoForm> {
    let object = match own {
        true => Expr::from(Loc(library.owner.name)),
        false => ExprTerm::Arg(0, "x").into(),
    };
    let mut found = Vec::new();
    for (role, part) in library.roles(own)? {
        let sizes = library.owner.extents[role]
            .iter()
            .map(|extent| function.size(extent, object))
            .collect::<Result<Vec<_>, _>>()?;
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

fn make_parts(
    library: &Emitted<'_>,
    function: &mut RustFunction<'_>,
    own: bool,
    stack: &[&Emitted<'_>],
) -> Result<(), NoForm> {
    for part in library.parts().filter(|part| part.is_of_library() == own) {
        make_each(function, part, &part.each, stack)?;
    }
    for role in library.identifiers(own) {
        function.line(&format!("{}.{role} = world.id();", if own { "own" } else { "x" }));
    }
    Ok(())
}

/// Writes the making of a part, for each element of the sets that its indices go through.
fn make_each(
    function: &mut RustFunction<'_>,
    part: &PartTerm,
    each: &[(Var, Expr)],
    stack: &[&Emitted<'_>],
) -> Result<(), NoForm> {
    if let Some(((var, set), rest)) = each.split_first() {
        return function.each((*var, true), *set, &mut |function| make_each(function, part, rest, stack));
    }
    let object = &part.object;
    let mut args = Vec::new();
    for given in given_to(part, stack) {
        args.push(match given {
            Given::Node => object.node.map_or_else(|| Ok("1".to_owned()), |node| function.number(node))?,
            Given::Initial => function.number(object.init)?,
            Given::Members => match object.members {
                Some(members) => function.list(members)?,
                None => "List::none()".to_owned(),
            },
            Given::Size => function.number(object.size)?,
            Given::InitialTuple | Given::Words => function.list(object.init)?,
        });
    }
    let name = function.expr(part.name)?.text;
    let name = name.trim_start_matches('&');
    if object.library == WAIT {
        function.line(&format!("{name} = world.word({});", args.join(", ")));
    } else {
        args.insert(0, "world".to_owned());
        function.line(&format!("{name} = {}::new({});", word(object.library), args.join(", ")));
    }
    Ok(())
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
    let names = function.args().to_vec();
    let text = function.returning(body, signature.returns)?;
    // Rust warns of an argument that is not used, unless its name says so.
    let named = |name: &str| if has_word(&text, name) { name.to_owned() } else { format!("_{name}") };
    let args = names.iter().zip(&signature.takes);
    let args = args.map(|(name, of)| format!(", {}: {}", named(name), argument_name(*of, library.owner.name))).join("");
    let about = method.about.trim().lines().map(|line| format!("    /// {}\n", line.trim())).join("");
    let (name, me, returns) =
        (function_name(method.name), named("me"), type_name(signature.returns, library.owner.name));
    Ok(Some(format!(
        "{about}    pub fn {name}<P: Port>({me}: &mut Me<'_, P>{args}) -> Result<{returns}, P::Fault> {{\n{text}    }}\n"
    )))
}
