//! The `check --list` command: libraries, variants and default bounds.

use mowgli_core::term::bound::Bound;
use mowgli_libraries::catalogue::named;
use mowgli_libraries::entry::Entry;

use crate::catalogue::Catalogue;
use crate::error::InputError;

/// Prints the named libraries, or else all, the user's first.
pub(super) fn list(names: &[String], is_json: bool, catalogue: &Catalogue) -> Result<u8, InputError> {
    let known = catalogue.names();
    let asked: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in if asked.is_empty() { &known } else { &asked } {
        list_one(named(catalogue.entries(), name).map_err(|_| catalogue.no_library(name))?, is_json);
    }
    Ok(0)
}

fn list_one(entry: &Entry, json: bool) {
    if json {
        for v in &entry.variants {
            let expected = v.expected.word();
            let line = serde_json::json!({
                "library": entry.name, "over": entry.over(), "variant": v.name, "about": v.about,
                "expected": expected, "bounds": v.bounds, "thorough": v.thorough,
            });
            println!("{line}");
        }
        return;
    }
    println!("{} over {}", entry.name, entry.over());
    for v in &entry.variants {
        println!("  {:<20} {}: {}", v.name, v.expected.word(), v.about);
        v.bounds.iter().for_each(|bound| list_bound(bound, ""));
        v.thorough.iter().for_each(|bound| list_bound(bound, ", with --thorough"));
    }
}

fn list_bound(bound: &Bound, note: &str) {
    let Bound { threads, nodes, calls, objects, total, .. } = bound;
    let total = total.map(|total| format!(", at most {total} in all")).unwrap_or_default();
    println!("  {:<20} threads {threads}, nodes {nodes}, calls {calls}{total}, objects {objects}{note}", "");
}
