//! The `new` command: a small crate with a library of the user, its specification, implementation and checks.

use std::path::{Path, PathBuf};

use crate::error::{Code, InputError};

const MANIFEST: &str = include_str!("Cargo.toml.in");
const COMMAND: &str = include_str!("command.toml.in");
const MAIN: &str = include_str!("main.rs.in");
const README: &str = include_str!("README.md.in");

/// The libraries that a new crate can begin with. The source of each is an example of this crate, up to its main
/// function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Example {
    /// A latch over shared variables: a whole specification with its implementation.
    #[default]
    Latch,
    /// A lock over x86-TSO: an implementation of a specification that there is.
    Ticketlock,
    /// A stack over x86-TSO, with locations that are read from memory.
    Stack,
    /// A counter under a node lock: a sequential object that is made concurrent.
    Counter,
}

/// The place from which a new crate takes Mowgli.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sources {
    /// A checkout in this folder: dependencies are paths.
    Checkout(PathBuf),
    /// The registry: dependencies are versions.
    Registry,
}

impl Sources {
    /// Returns the checkout that this crate was built in; the registry, if it was built from a package.
    #[must_use]
    pub fn of_this_build() -> Self {
        Self::around(Path::new(env!("CARGO_MANIFEST_DIR")))
    }

    /// Returns the checkout whose crate `mowgli` is in this folder; the registry, if the folder is in no checkout.
    #[must_use]
    pub fn around(mowgli: &Path) -> Self {
        Self::checkout(&mowgli.join("..")).unwrap_or(Self::Registry)
    }

    /// Returns the checkout in a folder.
    ///
    /// # Errors
    /// If the folder does not exist, or lacks one of the crates that a new crate depends on.
    pub fn checkout(folder: &Path) -> Result<Self, InputError> {
        let root = folder.canonicalize().map_err(|e| {
            InputError::new(Code::Argument, format!("{}: {e}", folder.display()))
                .help("say where Mowgli's sources are with --mowgli DIR")
        })?;
        let has = |(_, crate_): &(&str, &str)| root.join(crate_).join("Cargo.toml").exists();
        if [CORE, LIBRARIES, X86, PROOFS, COMMAND_CRATE].iter().all(has) {
            Ok(Self::Checkout(root))
        } else {
            Err(InputError::new(Code::Argument, format!("{} has no Mowgli", root.display()))
                .help("say where its sources are with --mowgli DIR"))
        }
    }

    /// Returns a line of a manifest with a crate of Mowgli as a dependency.
    fn dependency(&self, (name, folder): (&str, &str)) -> String {
        match self {
            Self::Checkout(root) => {
                let path = root.join(folder).display().to_string().replace('\\', "/");
                format!("{name} = {{ path = \"{path}\" }}\n")
            }
            Self::Registry => format!("{name} = \"{}\"\n", env!("CARGO_PKG_VERSION")),
        }
    }
}

/// The parts of an example.
struct ExampleParts {
    /// Its name, which is that of its litmus test.
    name: &'static str,
    /// The library's name.
    library: &'static str,
    source: &'static str,
    tests: &'static str,
    litmus: &'static str,
    /// Crates of Mowgli that it uses, each with its folder.
    dependencies: &'static [(&'static str, &'static str)],
    /// A variant that the check rejects.
    broken: &'static str,
    /// An edit of its source that makes its tests fail: the text to replace, and its replacement. `None` if it takes
    /// more than a line.
    to_break: Option<(&'static str, &'static str)>,
}

/// Crates of Mowgli with their folders.
const CORE: (&str, &str) = ("mowgli-core", "mowgli-core");
const LIBRARIES: (&str, &str) = ("mowgli-libraries", "libraries");
const X86: (&str, &str) = ("mowgli-x86", "mowgli-x86");
const PROOFS: (&str, &str) = ("mowgli-proofs", "proofs");
const COMMAND_CRATE: (&str, &str) = ("mowgli", "mowgli");

impl ExampleParts {
    /// Returns the instructions for seeing a failure.
    fn break_it(&self) -> String {
        match self.to_break {
            Some((from, "")) => format!("Break it: in `src/lib.rs` leave out `{from}`, and run the tests again."),
            Some((from, to)) => {
                format!("Break it: in `src/lib.rs` write `{to}` for `{from}`, and run the tests again.")
            }
            None => format!("See it broken: `cargo run -- check {} --variant {}`.", self.library, self.broken),
        }
    }
}

impl Example {
    /// Returns the name of the crate's library.
    #[must_use]
    pub fn library(self) -> &'static str {
        self.parts().library
    }

    fn parts(self) -> ExampleParts {
        match self {
            Self::Latch => ExampleParts {
                name: "latch",
                library: "latch",
                source: include_str!("../../examples/latch.rs"),
                tests: include_str!("tests/latch.rs"),
                litmus: include_str!("latch.litmus"),
                dependencies: &[LIBRARIES],
                broken: "no-fence",
                to_break: Some(("Shared::gf(all_nodes());", "")),
            },
            Self::Ticketlock => ExampleParts {
                name: "ticketlock",
                library: "ticket",
                source: include_str!("../../examples/ticketlock.rs"),
                tests: include_str!("tests/ticketlock.rs"),
                litmus: include_str!("ticketlock.litmus"),
                dependencies: &[LIBRARIES],
                broken: "two-steps",
                to_break: Some(("turn == ticket", "turn <= ticket")),
            },
            Self::Stack => ExampleParts {
                name: "stack",
                library: "stack",
                source: include_str!("../../examples/stack.rs"),
                tests: include_str!("tests/stack.rs"),
                litmus: include_str!("stack.litmus"),
                dependencies: &[LIBRARIES, X86],
                broken: "push-writes",
                to_break: Some(("if (found == first) { break }", "break")),
            },
            Self::Counter => ExampleParts {
                name: "counter",
                library: "tally",
                source: include_str!("../../examples/counter.rs"),
                tests: include_str!("tests/counter.rs"),
                litmus: include_str!("counter.litmus"),
                dependencies: &[CORE, LIBRARIES],
                broken: "no-lock",
                to_break: None,
            },
        }
    }
}

/// Writes the crate into a folder that does not exist yet, and returns the files.
///
/// # Errors
/// If a crate cannot have this name, the folder exists, or a file cannot be written.
pub fn new(folder: &Path, sources: &Sources, example: Example) -> Result<Vec<PathBuf>, InputError> {
    let name = folder.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
    if !is_name {
        return Err(InputError::new(
            Code::Argument,
            format!("{name:?} is no name for a crate: use small letters, digits and -, as my-library"),
        ));
    }
    if folder.exists() {
        return Err(InputError::new(Code::Argument, format!("{} exists already", folder.display())));
    }
    let mut written = Vec::new();
    for (file, text) in files(name, sources, &example.parts()) {
        let path = folder.join(file);
        let parent = path.parent().expect("it is in the folder");
        let done = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
        done.map_err(|e| InputError::file(&path, e))?;
        written.push(path);
    }
    Ok(written)
}

/// Returns the files of a crate, each with its text.
fn files(name: &str, sources: &Sources, parts: &ExampleParts) -> Vec<(String, String)> {
    let dependencies: String = parts.dependencies.iter().map(|&crate_| sources.dependency(crate_)).collect();
    let fill = |text: &str| {
        text.replace("@NAME@", name)
            .replace("my_library", &name.replace('-', "_"))
            .replace("@DEPENDENCIES@", &dependencies)
            .replace("@PROOFS@\n", &sources.dependency(PROOFS))
            .replace("@COMMAND@\n", &sources.dependency(COMMAND_CRATE))
            .replace("@LIBRARY@", parts.library)
            .replace("@EXAMPLE@", parts.name)
            .replace("@BROKEN@", parts.broken)
            .replace("@BREAK@", &parts.break_it())
    };
    vec![
        ("Cargo.toml".to_owned(), fill(MANIFEST)),
        ("src/lib.rs".to_owned(), library(parts.source)),
        ("src/tests.rs".to_owned(), parts.tests.to_owned()),
        (format!("{}.litmus", parts.name), parts.litmus.to_owned()),
        ("command/Cargo.toml".to_owned(), fill(COMMAND)),
        ("command/main.rs".to_owned(), fill(MAIN)),
        ("README.md".to_owned(), fill(README)),
        (".gitignore".to_owned(), "/target\n*.pending-snap\n*.snap.new\n".to_owned()),
    ]
}

/// Returns the source of an example as that of a library, with its tests.
fn library(source: &str) -> String {
    let (library, _) = source.split_once("mowgli::main!").expect("the example has a main function");
    format!("{}\n\n#[cfg(test)]\nmod tests;\n", library.trim_end())
}
