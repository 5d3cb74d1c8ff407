//! `mowgli show`.

use std::fmt::Write;

use clap::Args;
use itertools::Itertools;
use mowgli_core::library::Library;
use mowgli_core::method::{Kind, Method, Returns};
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::{Entry, Variant};

use crate::cat::cat;
use crate::catalogue::Catalogue;

#[derive(Args)]
#[command(after_help = "Examples:\n  mowgli show bal\n  mowgli show bal:no-fence")]
pub(super) struct ShowArgs {
    /// A library, as bal, or one of its variants, as bal:no-fence.
    name: String,
}

pub(super) fn shown(args: &ShowArgs, catalogue: &Catalogue) -> Result<String, String> {
    let (name, variant) = match args.name.split_once(':') {
        Some((name, variant)) => (name, Some(variant)),
        None => (args.name.as_str(), None),
    };
    let entry = named(catalogue.entries(), name)?;
    let variant = match variant {
        Some(variant) => Some(entry.variant(variant)?),
        None => entry.variants.first(),
    };
    let library = entry.library()?;
    let mut text = interface(library);
    let spec = own_relations(&cat(catalogue, name)?);
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
    let Some(shapes) = library.shape_terms() else { return text };
    text += "\nSubevents of a call, with what each reads and writes:\n";
    for method in library.methods() {
        let arguments = method.takes.iter().map(|(name, _)| name).join(", ");
        let shape = shapes.get(method.name).map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "  {}({arguments}):\n{}", method.name, indented(&indented(&shape)));
    }
    text
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

fn kind_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Local | Kind::Address => "local object",
        Kind::Placed | Kind::Object => "object",
        Kind::Locals | Kind::Places => "objects",
        Kind::Node => "node",
        Kind::Nodes => "nodes",
        Kind::Thread => "thread",
        Kind::Id => "work identifier",
        Kind::Way => "way",
        Kind::Value => "value",
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
        (None, None, true) => "  Its bodies are Rust functions, which cannot be printed.\n",
    };
    if let Some(parts) = variant.implementation.parts().map(ToString::to_string).filter(|text| !text.is_empty()) {
        let _ = write!(text, "\n  Objects that it declares:\n{}\n", indented(&indented(&parts)));
    }
    let Some(bodies) = own.or(before) else { return text };
    for (name, body) in bodies.iter() {
        let takes = library.methods().iter().find(|m| m.name == name).map_or(&[][..], |m| m.takes);
        let arguments = takes.iter().map(|(name, _)| name).join(", ");
        let _ = writeln!(text, "\n  {name}({arguments}):\n{}", indented(&indented(&body.to_string())));
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { String::new() } else { format!("  {line}") }).join("\n")
}
