//! A library as the papers print it: its objects, methods, specification, and the bodies of an implementation.

mod latex;

use std::fmt::Write;

use itertools::Itertools;
use mowgli_core::library::Library;
use mowgli_core::term::body::{Bodies, Body};
use mowgli_core::term::method::{self, ArgumentKind, Method, Returns};
use mowgli_libraries::entry::{Entry, Variant};

use crate::cat::cat;
use crate::catalogue::Catalogue;
use crate::error::InputError;
use latex::Section;

/// Returns a library, or a variant of one as bal:no-fence, as text or in LaTeX.
///
/// # Errors
/// If no library has this name, or cat cannot express its specification.
pub(crate) fn shown(catalogue: &Catalogue, name: &str, in_latex: bool) -> Result<String, InputError> {
    let (entry, variant) = catalogue.entry(name)?;
    let (name, variant) = (entry.name, variant.or(entry.variants.first()));
    let library = entry.library()?;
    let spec = own_relations(&cat(catalogue, name)?);
    if in_latex {
        return Ok(as_latex(entry, library, &spec, variant));
    }
    let mut text = interface(library);
    let _ = write!(
        text,
        "\nSpecification in cat, beside ppo and hb (all of it: mowgli cat {name}):\n{}\n",
        indented(&spec)
    );
    if let Some(variant) = variant {
        text += &implementation(entry, library, variant);
    }
    Ok(text)
}

/// Returns the same in LaTeX.
fn as_latex(entry: &Entry, library: &dyn Library, spec: &str, variant: Option<&Variant>) -> String {
    let code = |heading: &str, text: String| Section::Code(heading.to_owned(), text);
    let methods = library.methods().iter().map(signature).join("\n");
    let objects = library.object().map(|form| code("Objects", form.example()));
    let mut sections: Vec<Section> = objects.into_iter().chain([code("Methods", methods)]).collect();
    sections.extend(subevents(library).map(|text| code("Subevents", text)));
    sections.push(Section::Relations("Specification".to_owned(), spec.to_owned()));
    if let Some(variant) = variant {
        let implementation = &variant.implementation;
        let heading = format!("Implementation `{}` over {}", variant.name, entry.over());
        let parts = implementation.parts().map(ToString::to_string).filter(|text| !text.is_empty());
        sections.extend(parts.map(|text| code("Declared objects", text)));
        sections.extend(implementation.bodies().map(|all| code(&heading, bodies(library, all))));
    }
    latex::page(&format!("Library {}", library.name()), &sections)
}

/// Returns a specification's own relations and demands, without those that all have: the vocabulary, ppo and hb.
fn own_relations(cat: &str) -> String {
    let text = cat.split_once("*)\n").map_or(cat, |(_, relations)| relations);
    let is_shared = |line: &str| {
        let starts = ["let W =", "let co =", "let ppo =", "let hb =", "irreflexive hb as", "  "];
        line.is_empty() || line == "let rf = [W]; rf" || starts.iter().any(|start| line.starts_with(start))
    };
    text.lines().filter(|line| !is_shared(line)).join("\n")
}

/// Lists how objects are declared, and the methods with what the table says about each.
fn interface(library: &dyn Library) -> String {
    let mut text = format!("{}\n", library.name());
    if let Some(form) = library.object() {
        let _ = writeln!(text, "\nObjects:\n  {}", form.example());
    }
    text += "\nMethods:\n";
    for method in library.methods() {
        let _ = writeln!(text, "  {}\n     {}", signature(method), method.about.trim());
    }
    if let Some(subevents) = subevents(library) {
        let _ = write!(text, "\nSubevents of a call, with what each reads and writes:\n{}\n", indented(&subevents));
    }
    text
}

/// Lists the shapes of the calls of each method, if they are terms.
fn subevents(library: &dyn Library) -> Option<String> {
    let shapes = library.shape_terms()?;
    let of = |method: &Method| {
        let shape = shapes.get(method.name).map(ToString::to_string).unwrap_or_default();
        format!("{}:\n{}", head(method), indented(&shape))
    };
    Some(library.methods().iter().map(of).join("\n"))
}

/// `Write(x, v)`.
fn head(method: &Method) -> String {
    format!("{}({})", method.name, method.takes.iter().map(|(name, _)| name).join(", "))
}

/// Lists bodies as pseudo-code.
fn bodies(library: &dyn Library, bodies: &Bodies) -> String {
    let of = |(name, body): (&str, &Body)| {
        let method = method::named(library.methods(), name);
        format!("{}:\n{}", method.map_or_else(|| name.to_owned(), head), indented(&body.to_string()))
    };
    bodies.iter().map(|(name, body)| of((name, body))).join("\n\n")
}

/// `Write(x: object, v: value)`.
fn signature(method: &Method) -> String {
    let arguments = method.takes.iter().map(|(name, kind)| format!("{name}: {}", kind_of(*kind))).join(", ");
    let returns = match method.returns {
        Returns::Nothing | Returns::Handle => "",
        Returns::Value => " -> value",
        Returns::Bool => " -> bool",
    };
    format!("{}({arguments}){returns}", method.name)
}

fn kind_of(kind: ArgumentKind) -> &'static str {
    match kind {
        ArgumentKind::Local | ArgumentKind::Address => "local object",
        ArgumentKind::Placed | ArgumentKind::Object => "object",
        ArgumentKind::Locals | ArgumentKind::Places => "objects",
        ArgumentKind::Node => "node",
        ArgumentKind::Nodes => "nodes",
        ArgumentKind::Thread => "thread",
        ArgumentKind::Id => "work identifier",
        ArgumentKind::Way => "way",
        ArgumentKind::Value => "value",
    }
}

/// Prints the bodies of a variant as pseudo-code, or says why there are none to print.
fn implementation(entry: &Entry, library: &dyn Library, variant: &Variant) -> String {
    let mut text = format!("\nImplementation `{}` over {}: {}\n", variant.name, entry.over(), variant.about);
    let edits = variant.implementation.edits();
    let own = variant.implementation.bodies();
    let unedited = entry.variants.iter().filter(|v| v.implementation.edits().is_empty());
    let before = if edits.is_empty() { None } else { unedited.into_iter().find_map(|v| v.implementation.bodies()) };
    if !edits.is_empty() {
        let _ = writeln!(text, "  edited: {}", edits.join(", "));
    }
    text += match (own, before, edits.is_empty()) {
        (Some(_), ..) => "",
        (None, Some(_), _) => "  The bodies before the edits:\n",
        (None, None, false) => "  Bodies that edits have changed cannot be printed.\n",
        (None, None, true) => "  It has no bodies.\n",
    };
    if let Some(parts) = variant.implementation.parts().map(ToString::to_string).filter(|text| !text.is_empty()) {
        let _ = write!(text, "\n  Objects that it declares:\n{}\n", indented(&indented(&parts)));
    }
    if let Some(all) = own.or(before) {
        let _ = write!(text, "\n{}\n", indented(&bodies(library, all)));
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { String::new() } else { format!("  {line}") }).join("\n")
}
