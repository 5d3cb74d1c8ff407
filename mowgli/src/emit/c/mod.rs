//! One library in C: its structure, the function that makes an object, and a function for each method.

mod function;
mod names;

use std::fmt::Write as _;

use itertools::Itertools;
use mowgli_core::term::method::Method;

use crate::emit::library::{Emitted, described, has_word, role};
use crate::emit::types::{Given, NoForm, Signatures, Type};
use function::CFunction;
use names::{c_name, type_name};

pub use names::c_function_name;

/// The name of the header with the operations, and its text.
pub const PORT: (&str, &str) = ("mowgli_port.h", include_str!("mowgli_port.h"));

/// Returns the library in C. `stack` are the libraries below it and itself.
pub(super) fn text(library: &Emitted<'_>, signatures: &Signatures, stack: &[&Emitted<'_>]) -> Result<String, NoForm> {
    let mut text = format!(
        "\n/* {}, as its variant `{}`: {} */\n",
        library.owner.name, library.variant.name, library.variant.about
    );
    text += &structures(library)?;
    text += &begin(library, signatures, stack)?;
    text += &make(library, signatures, stack)?;
    for method in library.library.methods() {
        let of = |why: NoForm| NoForm(format!("{}: {why}", method.name));
        text += &function(library, method, signatures).map_err(of)?;
    }
    Ok(text)
}

/// Returns the structures of the library's objects, and of what belongs to itself.
fn structures(library: &Emitted<'_>) -> Result<String, NoForm> {
    let mut text = String::new();
    for own in [true, false] {
        if own && !library.has_own() || !own && library.library.object().is_none() {
            continue;
        }
        let _ = writeln!(text, "struct {}{} {{", library.owner.word, if own { "_own" } else { "" });
        for given in if own { Vec::new() } else { library.given() } {
            let _ = writeln!(text, "\t{}{};", argument(given), given.name());
        }
        for (role, part) in library.roles(own)? {
            let star = if library.owner.extents[role].is_empty() { "" } else { "*" };
            let same = library.parts().filter(|other| self::role(other) == Ok(role));
            let about = same.map(described).join(", ");
            let _ = writeln!(text, "\tstruct {} {star}{role}; /* {about} */", c_name(part.object.library));
        }
        for role in library.identifiers(own) {
            let _ = writeln!(text, "\tint {role};");
        }
        text += "};\n";
    }
    Ok(text)
}

/// Returns the function that makes what belongs to the library.
fn begin(library: &Emitted<'_>, signatures: &Signatures, stack: &[&Emitted<'_>]) -> Result<String, NoForm> {
    if !library.has_own() {
        return Ok(String::new());
    }
    let slot = format!("{}_OWN", library.owner.word.to_uppercase());
    let mut function = CFunction::new(&library.owner, library.types(&[], signatures), &[], 1);
    function.line(&format!("if (all->own[{slot}]) return;"));
    function.line(&format!("struct {0}_own *own = all->own[{slot}] = mw_array(1, sizeof *own);", library.owner.word));
    make_parts(library, &mut function, true, stack)?;
    Ok(format!("MW_FN void {}_begin(struct mw *all)\n{{\n{}}}\n", library.owner.word, function.out))
}

/// Returns the function that makes an object.
fn make(library: &Emitted<'_>, signatures: &Signatures, stack: &[&Emitted<'_>]) -> Result<String, NoForm> {
    if library.library.object().is_none() {
        return Ok(String::new());
    }
    let given = library.given();
    let takes = [Type::Object(library.owner.name)];
    let mut function = CFunction::new(&library.owner, library.types(&takes, signatures), &["x"], 1);
    for below in stack.iter().filter(|below| below.has_own()) {
        function.line(&format!("{}_begin(all);", below.owner.word));
    }
    for given in &given {
        function.line(&format!("x->{0} = {0};", given.name()));
    }
    make_parts(library, &mut function, false, stack)?;
    let args = given.iter().map(|given| format!(", {}{}", argument(*given), given.name())).join("");
    Ok(format!(
        "/* Makes an object: on every node, with the same arguments and in the same order. */\n\
         MW_FN void {0}_new(struct mw *all, struct {0} *x{args})\n{{\n{1}{2}}}\n",
        library.owner.word,
        unused(["all", "x"], &function.out),
        function.out
    ))
}

fn make_parts(
    library: &Emitted<'_>,
    function: &mut CFunction<'_>,
    own: bool,
    stack: &[&Emitted<'_>],
) -> Result<(), NoForm> {
    let holder = if own { "own" } else { "x" };
    for (role, _) in library.roles(own)? {
        let sizes = function.sizes(role, own)?;
        if !sizes.is_empty() {
            let count = sizes.iter().map(|size| if sizes.len() == 1 { size.clone() } else { format!("({size})") });
            let count = count.collect_vec().join(" * ");
            function.line(&format!("{holder}->{role} = mw_array({count}, sizeof *{holder}->{role});"));
        }
    }
    function.make_parts(library, own, stack)
}

/// Returns the function of a method.
fn function(library: &Emitted<'_>, method: &Method, signatures: &Signatures) -> Result<String, NoForm> {
    let Some(body) = library.bodies.get(method.name) else { return Ok(String::new()) };
    let signature = &signatures[&(library.owner.name, method.name)];
    let mut types = library.types(&signature.takes, signatures);
    types.body(body)?;
    let names: Vec<&str> = method.takes.iter().map(|(name, _)| *name).collect();
    let function = CFunction::new(&library.owner, types, &names, 1);
    let args = function.args.iter().zip(&signature.takes);
    let args = args.map(|(name, of)| format!(", {}{name}", type_name(*of).expect("arguments have values"))).join("");
    let returns = type_name(signature.returns).unwrap_or_else(|| "void ".to_owned());
    let head =
        format!("MW_FN {returns}{}(struct mw_thread *me{args})", c_function_name(library.owner.name, method.name));
    let about = method.about.trim().replace('`', "");
    let names = function.args.clone();
    let text = function.returning(body, signature.returns)?;
    let unused = unused(names.iter().map(String::as_str).chain(["me"]), &text);
    let all = if has_word(&text, "all") { "\tstruct mw *all = me->all;\n" } else { "" };
    Ok(format!("/* {about} */\n{head}\n{{\n{unused}{all}{text}}}\n"))
}

fn argument(given: Given) -> &'static str {
    if given.is_list() { "struct mw_list " } else { "int64_t " }
}

/// Returns a statement for each argument that a function does not use, so that no compiler warns of it.
fn unused<'n>(names: impl IntoIterator<Item = &'n str>, text: &str) -> String {
    names.into_iter().filter(|name| !has_word(text, name)).map(|name| format!("\t(void){name};\n")).collect()
}
