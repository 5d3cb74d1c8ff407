//! The functions of other objects and libraries that a program calls, and what `explore` sees of them.
//!
//! Functions of the runtime replace those of libc that touch memory, block or end. Of the others, some touch no memory that two threads
//! can share. The rest is *unseen*: a thread that calls one reports its name first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use object::{Object, ObjectSymbol, SymbolKind};

use crate::error::Error;

/// The functions that the runtime has under names that begin with `__mowgli_`.
pub(crate) const REPLACED: &str = include_str!("../runtime/replaced.txt");

/// Functions that compute with their arguments, or touch memory of libc that each thread has for itself.
const HARMLESS: &str = include_str!("../runtime/harmless.txt");

/// The names that an object defines, and those that it needs.
#[derive(Default)]
pub(crate) struct LinkedNames {
    defined: BTreeSet<String>,
    needed: BTreeSet<String>,
}

impl LinkedNames {
    /// Adds the names of an object file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn add(&mut self, object: &Path) -> Result<(), Error> {
        let bytes = std::fs::read(object).map_err(|e| Error::file(object, &e))?;
        let file = object::File::parse(&*bytes).map_err(|e| Error::Program(format!("{}: {e}", object.display())))?;
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            if symbol.is_undefined() {
                self.needed.insert(name.to_owned());
            } else if symbol.is_global() {
                self.defined.insert(name.to_owned());
            }
        }
        Ok(())
    }

    /// Lists the functions of other objects that a linked program calls and of which nothing is seen. `runtime` are the names that
    /// the runtime defines.
    ///
    /// # Errors
    /// If the program cannot be read.
    pub(crate) fn unseen(&self, program: &Path, runtime: &Self) -> Result<Vec<String>, Error> {
        let bytes = std::fs::read(program).map_err(|e| Error::file(program, &e))?;
        let file = object::File::parse(&*bytes).map_err(|e| Error::Program(format!("{}: {e}", program.display())))?;
        let mut kinds: BTreeMap<&str, SymbolKind> = BTreeMap::new();
        for symbol in file.dynamic_symbols().chain(file.symbols()) {
            // An imported function has its version behind its name.
            let name = symbol.name().unwrap_or_default();
            kinds.entry(name.split('@').next().unwrap_or(name)).or_insert(symbol.kind());
        }
        let is_function =
            |name: &&String| !matches!(kinds.get(name.as_str()), Some(SymbolKind::Data | SymbolKind::Tls) | None);
        let others = self.needed.difference(&self.defined).filter(|name| !runtime.defined.contains(*name));
        Ok(others.filter(|name| !is_harmless(name)).filter(is_function).cloned().collect())
    }
}

fn is_harmless(name: &str) -> bool {
    let begins = |word: &str| word.strip_suffix('*').is_some_and(|stem| name.starts_with(stem));
    name.contains("__throw_")
        || name.contains("assert_fail")
        || HARMLESS.split_whitespace().any(|word| word == name || begins(word))
        || REPLACED.split_whitespace().any(|word| word == name)
}

/// Returns assembly with a function for each unseen one, which reports its name if a thread calls it, and goes on there.
pub(crate) fn stubs(unseen: &[String]) -> String {
    let stub = |(k, name): (usize, &String)| {
        format!(
            "\t.globl __mowgli_unseen_{name}\n__mowgli_unseen_{name}:\n\tpushq %rdi\n\tleaq .L{k}(%rip), %rdi\n\tcall __mowgli_unseen\n\
             \tpopq %rdi\n\tjmp {name}\n.L{k}:\t.string \"{name}\"\n"
        )
    };
    let text: String = unseen.iter().enumerate().map(stub).collect();
    format!("\t.text\n{text}\t.section .note.GNU-stack,\"\",@progbits\n")
}
