//! Files import in one direction: a file of a crate does not need itself through others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use itertools::Itertools;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, ItemMod, ItemUse, Macro, Token, UseName, UseRename, UseTree, VisRestricted, parse_quote};

use crate::tidy::{crates, root, sources};

/// A module by its path in the crate; the crate itself is empty.
type Module = Vec<String>;

/// Returns the module that a file in a folder of sources contains.
fn module(folder: &Path, file: &Path) -> Module {
    let path = file.strip_prefix(folder).expect("a file of the folder").with_extension("");
    let names = path.iter().map(|part| part.to_string_lossy().into_owned());
    names.filter(|name| !["mod", "lib", "main"].contains(&name.as_str())).collect()
}

/// The paths that a source names outside its tests: in `use`, in types and expressions, and in macros whose arguments
/// are expressions.
#[derive(Default)]
struct Paths(Vec<Module>);

impl Paths {
    fn add_tree(&mut self, before: &[String], tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.add_tree(&[before, &[path.ident.to_string()]].concat(), &path.tree),
            UseTree::Group(group) => group.items.iter().for_each(|inner| self.add_tree(before, inner)),
            UseTree::Name(UseName { ident }) | UseTree::Rename(UseRename { ident, .. }) => {
                self.0.push([before, &[ident.to_string()]].concat());
            }
            UseTree::Glob(_) => self.0.push(before.to_vec()),
        }
    }
}

impl<'a> Visit<'a> for Paths {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !item.attrs.contains(&parse_quote!(#[cfg(test)])) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        self.add_tree(&[], &item.tree);
    }

    fn visit_vis_restricted(&mut self, _: &'a VisRestricted) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.0.push(path.segments.iter().map(|part| part.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        if let Ok(arguments) = call.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
            arguments.iter().for_each(|argument| self.visit_expr(argument));
        }
        visit::visit_macro(self, call);
    }
}

/// Returns the innermost module with a file to which a path of a module leads, if that is another one. Names at the
/// root of a crate, which all of it shares, do not count.
fn target(files: &BTreeMap<Module, String>, from: &Module, path: &[String]) -> Option<Module> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let mut full = match path[0].as_str() {
        "crate" => path[1..].to_vec(),
        "self" => [from, &path[1..]].concat(),
        "super" => [&from[..from.len().checked_sub(supers)?], &path[supers..]].concat(),
        part if path.len() > 1 && files.contains_key(&[from.as_slice(), &[part.to_owned()]].concat()) => {
            [from, path].concat()
        }
        _ => return None,
    };
    while !full.is_empty() && !files.contains_key(&full) {
        full.pop();
    }
    Some(full).filter(|full| !full.is_empty() && full != from)
}

/// Returns the other files of its crate that a file needs.
fn imports(files: &BTreeMap<Module, String>, from: &Module) -> BTreeSet<Module> {
    let mut paths = Paths::default();
    paths.visit_file(&syn::parse_file(&files[from]).unwrap_or_else(|e| panic!("{}: {e}", from.join("::"))));
    paths.0.iter().filter_map(|path| target(files, from, path)).collect()
}

/// Returns all files that a file needs, through others too.
fn needs<'a>(imports: &'a BTreeMap<&Module, BTreeSet<Module>>, from: &'a Module) -> BTreeSet<&'a Module> {
    let (mut all, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        open.extend(imports.get(file).into_iter().flatten().filter(|to| all.insert(*to)));
    }
    all
}

/// Returns the files that need themselves, and the folders: a folder needs what a file in it needs, but for its own files. The root of a
/// crate, which lists its modules, is left out.
fn in_circles(files: &BTreeMap<Module, String>) -> Vec<String> {
    let imports: Vec<_> =
        files.keys().filter(|from| !from.is_empty()).map(|from| (from, imports(files, from))).collect();
    let folder = |file: &Module| file[..1].to_vec();
    let between = imports.iter().flat_map(|(from, to)| to.iter().map(|to| (folder(from), folder(to))));
    let folders = between.filter(|(from, to)| from != to).into_group_map();
    let folders: Vec<_> = folders.iter().map(|(from, to)| (from, to.iter().cloned().collect())).collect();
    [imports, folders]
        .into_iter()
        .flat_map(|imports| themselves(&imports.into_iter().collect()))
        .unique()
        .sorted()
        .collect()
}

/// Returns the names of those that need themselves.
fn themselves(imports: &BTreeMap<&Module, BTreeSet<Module>>) -> Vec<String> {
    imports.keys().filter(|from| needs(imports, from).contains(*from)).map(|from| from.join("::")).collect()
}

/// The circles that are known, by crate. A catalogue lists the models that tests name, and a test is read with the libraries of a
/// catalogue. A network over libfabric opens the ports of its threads, and a port accesses its network.
const KNOWN: [(&str, &[&str]); 2] =
    [("mowgli-check", &["catalogue", "litmus"]), ("products/fabric", &["ofi", "ofi::port"])];

#[test]
fn files_import_in_one_direction() {
    for crate_ in crates() {
        let folder = root().join(&crate_).join("src");
        let source = |file: &Path| std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let files = sources(&folder).iter().map(|file| (module(&folder, file), source(file))).collect();
        let known = KNOWN.iter().find(|(of, _)| *of == crate_).map_or(&[][..], |(_, files)| *files);
        assert_eq!(in_circles(&files), known, "files of {crate_} import each other");
    }
}

/// The finder finds imports by `crate` and `super`, in braces, in an expression, in a macro, and from a module to its
/// part. It ignores comments, tests, visibilities, and names that are only alike.
#[test]
fn circles_are_found() {
    const NONE: [&str; 0] = [];
    let found = |sources: &[(&str, &str)]| {
        let module = |path: &str| path.split("::").map(ToOwned::to_owned).collect::<Module>();
        in_circles(&sources.iter().map(|(path, source)| (module(path), (*source).to_owned())).collect())
    };
    let two = |a: &str, b: &str| found(&[("a", a), ("b", b), ("c", "use crate::a::A;")]);
    assert_eq!(two("use crate::b::B;", "use super::{a::A, c};"), ["a", "b", "c"]);
    assert_eq!(two("use crate::b::B as C;", "use super::a::*;"), ["a", "b"]);
    assert_ne!(two("use crate::{c::{C, D}, x};", ""), NONE);
    assert_ne!(two("fn f() { crate::c::f() }", ""), NONE);
    assert_ne!(two("fn f() { assert!(true, \"{}\", crate::c::f()) }", ""), NONE);
    assert_ne!(two("fn f(c: Vec<crate::c::C>) {}", ""), NONE);
    assert_ne!(found(&[("a", "mod b;\nuse b::B;"), ("a::b", "use super::A;")]), NONE);
    assert_ne!(found(&[("a", "use self::b::B;"), ("a::b", "use crate::a::A;")]), NONE);
    assert_eq!(
        found(&[("a::b", "use crate::c::d;"), ("a::e", ""), ("c::d", ""), ("c::f", "use crate::a::e;")]),
        ["a", "c"]
    );
    let no_import = "// use crate::a::A;\nuse other::a::A;\n#[cfg(test)]\nmod tests { use crate::a::A; }";
    assert_eq!(two("use crate::b::B;", no_import), NONE);
    assert_eq!(found(&[("a", "mod b;\nuse b::B;"), ("a::b", "pub(in crate::a) fn f() {}")]), NONE);
    assert_eq!(found(&[("a", "mod b;"), ("a::b", "use super::A;")]), NONE);
}
