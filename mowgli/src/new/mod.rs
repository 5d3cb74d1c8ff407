//! The `new` command: a small crate with a library of one's own, its specification, implementation and checks.

use std::path::{Path, PathBuf};

const MANIFEST: &str = include_str!("Cargo.toml.in");
const COMMAND: &str = include_str!("command.toml.in");
const MAIN: &str = include_str!("main.rs.in");
const README: &str = include_str!("README.md.in");

/// What a new crate can begin with. Its source is an example of this crate, up to its main function.
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

/// The parts of an example.
struct Parts {
    /// Its name, which is that of its litmus test.
    name: &'static str,
    /// The library's name.
    library: &'static str,
    source: &'static str,
    tests: &'static str,
    litmus: &'static str,
    /// Crates of Mowgli that it uses, each with its folder.
    dependencies: &'static [(&'static str, &'static str)],
    /// A variant that is caught.
    broken: &'static str,
    /// What to write for what in its source to see its tests fail, where that is said in a line.
    to_break: Option<(&'static str, &'static str)>,
}

/// Crates of Mowgli with their folders.
const CORE: (&str, &str) = ("mowgli-core", "mowgli-core");
const LIBRARIES: (&str, &str) = ("mowgli-libraries", "libraries");
const X86: (&str, &str) = ("mowgli-x86", "mowgli-x86");

impl Parts {
    /// How to see a failure.
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

/// How to run what was checked.
const RUN: &str = "    \
    cargo run -- run @EXAMPLE@.litmus     # over a machine that is as weak as the model allows, with a seed for each run
    cargo run -- run @EXAMPLE@.litmus --variant @LIBRARY@:@BROKEN@
    cargo run -- run @EXAMPLE@.litmus --fabric tcp  # a process for each node, where libfabric is installed
";

impl Example {
    /// The name of the library that the crate has.
    #[must_use]
    pub fn library(self) -> &'static str {
        self.parts().library
    }

    fn parts(self) -> Parts {
        match self {
            Self::Latch => Parts {
                name: "latch",
                library: "latch",
                source: include_str!("../../examples/latch.rs"),
                tests: include_str!("tests/latch.rs"),
                litmus: include_str!("latch.litmus"),
                dependencies: &[LIBRARIES],
                broken: "no-fence",
                to_break: Some(("sv::gf(world.all_nodes());", "")),
            },
            Self::Ticketlock => Parts {
                name: "ticketlock",
                library: "ticket",
                source: include_str!("../../examples/ticketlock.rs"),
                tests: include_str!("tests/ticketlock.rs"),
                litmus: include_str!("ticketlock.litmus"),
                dependencies: &[LIBRARIES],
                broken: "two-steps",
                to_break: Some(("turn == ticket", "turn <= ticket")),
            },
            Self::Stack => Parts {
                name: "stack",
                library: "stack",
                source: include_str!("../../examples/stack.rs"),
                tests: include_str!("tests/stack.rs"),
                litmus: include_str!("stack.litmus"),
                dependencies: &[LIBRARIES, X86],
                broken: "push-writes",
                to_break: Some(("if (found == first) { break }", "break")),
            },
            Self::Counter => Parts {
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

/// Writes the crate into a folder that does not exist yet; the files that were written.
///
/// # Errors
/// If the name is none for a crate, the folder exists, or it cannot be written.
pub fn new(folder: &Path, mowgli: &Path, example: Example) -> Result<Vec<PathBuf>, String> {
    let name = folder.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
    if !is_name {
        return Err(format!("{name:?} is no name for a crate: use small letters, digits and -, as my-library"));
    }
    if folder.exists() {
        return Err(format!("{} exists already", folder.display()));
    }
    if !mowgli.join("mowgli-core/Cargo.toml").exists() {
        return Err(format!("{} has no Mowgli; say where its sources are with --mowgli DIR", mowgli.display()));
    }
    let mut written = Vec::new();
    for (file, text) in files(name, mowgli, &example.parts()) {
        let path = folder.join(file);
        let parent = path.parent().expect("it is in the folder");
        let done = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text));
        done.map_err(|e| format!("{}: {e}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

/// The files of a crate, each with its text.
fn files(name: &str, mowgli: &Path, parts: &Parts) -> Vec<(String, String)> {
    let path = mowgli.display().to_string().replace('\\', "/");
    let dependency = |(name, folder): &(&str, &str)| format!("{name} = {{ path = \"{path}/{folder}\" }}\n");
    let dependencies: String = parts.dependencies.iter().map(dependency).collect();
    let fill = |text: &str| {
        // What runs is RDMA.
        let run = if parts.litmus.starts_with("RDMA") { RUN } else { "" };
        text.replace("@RUN@", run)
            .replace("@NAME@", name)
            .replace("my_library", &name.replace('-', "_"))
            .replace("@DEPENDENCIES@", &dependencies)
            .replace("@MOWGLI@", &path)
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
        (".gitignore".to_owned(), "/target\n".to_owned()),
    ]
}

/// The source of an example as that of a library, with its tests.
fn library(source: &str) -> String {
    let (library, _) = source.split_once("mowgli::main!").expect("the example has a main function");
    format!("{}\n\n#[cfg(test)]\nmod tests;\n", library.trim_end())
}
