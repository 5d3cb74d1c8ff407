//! `mowgli verbs cc`: compiles a C or C++ program with the hooks of `-fsanitize=thread`, and links it with our runtime.
//!
//! The compiler calls a hook before each load and store. The runtime, which is compiled without hooks, answers them and
//! has the functions of libibverbs. Accesses without a hook get a probe (see `probes`). Functions of libc that touch memory, allocate it
//! or block have other names in the objects of the program. So the runtime has them, too. Functions of which nothing is seen report
//! their names (see `externals`).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use tempfile::TempDir;

use crate::error::Error;
use crate::externals::{LinkedNames, REPLACED, stubs};
use crate::probes::probed;

/// The parts of the runtime, as files, and the headers that programs may include.
const RUNTIME: [(&str, &str); 12] = [
    ("mowgli.h", include_str!("../runtime/mowgli.h")),
    ("node.h", include_str!("../runtime/node.h")),
    ("exchange.h", include_str!("../runtime/exchange.h")),
    ("runtime.h", include_str!("../runtime/runtime.h")),
    ("hooks.c", include_str!("../runtime/hooks.c")),
    ("verbs.c", include_str!("../runtime/verbs.c")),
    ("sockets.c", include_str!("../runtime/sockets.c")),
    ("strings.c", include_str!("../runtime/strings.c")),
    ("heap.c", include_str!("../runtime/heap.c")),
    ("threads.c", include_str!("../runtime/threads.c")),
    ("settings.c", include_str!("../runtime/settings.c")),
    ("end.c", include_str!("../runtime/end.c")),
];

/// The arguments for the compiler, before the folder of `mowgli.h`. Copies stay calls, because hooks would not see their code. Strings
/// of libstdc++ become part of the program, which has hooks, where libstdc++ checks its arguments. Probes use the stack. A program's own headers come first.
const USUAL: [&str; 10] = [
    "-gdwarf-4",
    "-O0",
    "-D__MOWGLI__=1",
    "-fsanitize=thread",
    "-fno-builtin",
    "-D_GLIBCXX_ASSERTIONS",
    "-mno-red-zone",
    "-fno-pie",
    "-fno-omit-frame-pointer",
    "-idirafter",
];

/// Keeps variables of the program and of the runtime in different blocks of 64 bytes. The state of a thread has whole blocks.
const APART: [&str; 4] = ["--set-section-alignment", ".data=64", "--set-section-alignment", ".bss=64"];

/// The compilers, with our runtime as objects that are made once.
pub struct Toolchain {
    folder: TempDir,
    runtime: Vec<PathBuf>,
    cc: OsString,
    cxx: OsString,
    own_flags: &'static [&'static str],
}

fn is_cpp(file: &Path) -> bool {
    file.extension().is_some_and(|x| ["cc", "cpp", "cxx", "C"].iter().any(|cpp| x == *cpp))
}

/// Runs a tool, whose own errors the user sees.
fn run(command: &mut Command) -> Result<(), Error> {
    let status = command.status();
    ended(command, status)
}

/// Turns the end of a tool into an error unless it is a success.
fn ended(command: &Command, status: std::io::Result<ExitStatus>) -> Result<(), Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = status.map_err(|why| Error::Tool { name: name.clone(), why: why.to_string() })?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::Tool { name, why: format!("it ended with {status}; its own messages say why") })
    }
}

/// Returns the arguments of this compiler: hooks of their own for volatile accesses, and a call at an index outside of its array. Fences
/// have a hook, so they need no warning.
fn own_flags(cc: &OsStr) -> Result<&'static [&'static str], Error> {
    let name = || cc.to_string_lossy().into_owned();
    let version = Command::new(cc).arg("--version").output();
    let version = version.map_err(|why| Error::Tool { name: name(), why: why.to_string() })?;
    let is_clang = String::from_utf8_lossy(&version.stdout).contains("clang");
    Ok(if is_clang {
        &["-mllvm", "-tsan-distinguish-volatile", "-fsanitize=array-bounds"]
    } else {
        &["--param=tsan-distinguish-volatile=1", "-Wno-tsan", "-fsanitize=bounds"]
    })
}

impl Toolchain {
    /// Compiles the runtime. `cc` is the compiler of C, and `cxx` that of C++ for C++ files.
    ///
    /// # Errors
    /// If a file cannot be written, or if the compiler fails.
    pub fn new(cc: &OsStr, cxx: &OsStr) -> Result<Self, Error> {
        let folder = tempfile::tempdir().map_err(|e| Error::file(&std::env::temp_dir(), &e))?;
        let at = |name: &str| folder.path().join(name);
        for (name, text) in RUNTIME {
            std::fs::write(at(name), text).map_err(|e| Error::file(&at(name), &e))?;
        }
        let runtime: Vec<PathBuf> =
            ["hooks", "verbs", "sockets", "strings", "heap", "threads", "settings", "end"].map(&at).into();
        let start = |name: &PathBuf| {
            let mut command = Command::new(cc);
            command.args(["-O1", "-fno-pie", "-fexceptions", "-c"]).arg(name.with_extension("c")).arg("-o").arg(name);
            (command.spawn(), command)
        };
        for (child, command) in runtime.iter().map(start).collect::<Vec<_>>() {
            ended(&command, child.and_then(|mut child| child.wait()))?;
        }
        let (cc, cxx, own_flags) = (cc.to_owned(), cxx.to_owned(), own_flags(cc)?);
        Ok(Self { folder, runtime, cc, cxx, own_flags })
    }

    /// Compiles and links a program of C and C++ files, and of objects and libraries. `flags` are more arguments for the
    /// compiler, for example `-O2` or `-I include`; the default is `-O0`. Returns the functions of other objects that the program
    /// calls and of which `explore` sees nothing.
    ///
    /// # Errors
    /// If the compiler, objcopy or the linker fails.
    pub fn compile(&self, files: &[PathBuf], out: &Path, flags: &[OsString]) -> Result<Vec<String>, Error> {
        let (mut linker, mut own, mut others) = (&self.cc, Vec::new(), self.runtime.clone());
        for (position, file) in files.iter().enumerate() {
            let is_source = is_cpp(file) || file.extension().is_some_and(|x| x == "c");
            if !is_source {
                others.push(file.clone());
                continue;
            }
            linker = if is_cpp(file) { &self.cxx } else { linker };
            own.push(self.object(position, file, flags)?);
        }
        let (mut names, mut runtime) = (LinkedNames::default(), LinkedNames::default());
        own.iter().try_for_each(|object| names.add(object))?;
        self.runtime.iter().try_for_each(|object| runtime.add(object))?;
        let replaced: String = REPLACED.split_whitespace().map(|name| format!("{name} __mowgli_{name}\n")).collect();
        self.rename(&own, &replaced)?;
        let link = |more: &[PathBuf]| {
            let mut command = Command::new(linker);
            command
                .args(["-no-pie", "-pthread", "-ldl", "-o"])
                .arg(out)
                .args(&own)
                .args(more)
                .args(&others)
                .args(flags);
            run(&mut command)
        };
        link(&[])?;
        let unseen = names.unseen(out, &runtime)?;
        if !unseen.is_empty() {
            let renamed: String = unseen.iter().map(|name| format!("{name} __mowgli_unseen_{name}\n")).collect();
            self.rename(&own, &renamed)?;
            let assembly = self.write("stubs.s", &stubs(&unseen))?;
            link(&[assembly])?;
        }
        Ok(unseen)
    }

    /// Compiles a file to an object with hooks and probes.
    fn object(&self, position: usize, file: &Path, flags: &[OsString]) -> Result<PathBuf, Error> {
        let at = |kind: &str| self.folder.path().join(format!("{position}.{kind}"));
        if flags.iter().any(|flag| flag == "-masm=intel") {
            return Err(Error::Program(
                "-masm=intel: accesses in the syntax of Intel are not seen; leave it out".to_owned(),
            ));
        }
        if let Some(flag) =
            flags.iter().find(|flag| ["-static", "-static-pie", "-static-libstdc++"].iter().any(|f| flag == f))
        {
            let why = "the functions of its libraries would take the place of those of the runtime; leave it out";
            return Err(Error::Program(format!("{}: {why}", flag.to_string_lossy())));
        }
        let compiler = if is_cpp(file) { &self.cxx } else { &self.cc };
        let mut command = Command::new(compiler);
        command.args(self.own_flags).args(USUAL).arg(self.folder.path()).args(flags);
        // Checked variants of copies would have other names, and link-time optimisation has no assembly.
        run(command.args(["-U_FORTIFY_SOURCE", "-fno-lto", "-S"]).arg(file).arg("-o").arg(at("s")))?;
        let assembly = std::fs::read(at("s")).map_err(|e| Error::file(&at("s"), &e))?;
        let assembly = self.write(&format!("{position}.s"), &probed(&String::from_utf8_lossy(&assembly)))?;
        run(Command::new(compiler).arg("-c").arg(assembly).arg("-o").arg(at("o")))?;
        run(Command::new("objcopy").args(APART).arg(at("o")))?;
        Ok(at("o"))
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).map_err(|e| Error::file(&path, &e))?;
        Ok(path)
    }

    /// Gives symbols of objects other names; each line has the old name and the new one.
    fn rename(&self, objects: &[PathBuf], names: &str) -> Result<(), Error> {
        let names = self.write("names", names)?;
        let rename = |object| run(Command::new("objcopy").arg("--redefine-syms").arg(&names).arg(object));
        objects.iter().try_for_each(rename)
    }
}
