//! `mowgli cc`: compiles a C or C++ program with the hooks of `-fsanitize=thread`, and links it with our runtime.
//!
//! The compiler calls a hook before each load and store. The runtime, which is compiled without hooks, answers them and
//! has the functions of libibverbs. Functions of libc that touch memory, allocate it or block have other names in the
//! objects of the program. So the runtime has them, too.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use tempfile::TempDir;

use crate::error::Error;

/// The parts of the runtime, as files, and the headers that programs may include.
const RUNTIME: [(&str, &str); 8] = [
    ("mowgli.h", include_str!("../runtime/mowgli.h")),
    ("node.h", include_str!("../runtime/node.h")),
    ("exchange.h", include_str!("../runtime/exchange.h")),
    ("runtime.h", include_str!("../runtime/runtime.h")),
    ("hooks.c", include_str!("../runtime/hooks.c")),
    ("verbs.c", include_str!("../runtime/verbs.c")),
    ("sockets.c", include_str!("../runtime/sockets.c")),
    ("strings.c", include_str!("../runtime/strings.c")),
];

/// The functions that the runtime has in the place of those of libc and libstdc++, under names that begin with `__mowgli_`.
const REPLACED: &str = "memcpy memmove memset memcmp malloc calloc realloc free posix_memalign _Znwm _Znam _ZdlPv _ZdaPv \
    _ZdlPvm _ZdaPvm exit abort __assert_fail sched_yield usleep sleep nanosleep clock_gettime gettimeofday time rand random \
    pthread_create pthread_join pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_cond_wait \
    pthread_cond_timedwait pthread_cond_signal pthread_cond_broadcast pthread_barrier_wait pthread_rwlock_rdlock \
    pthread_rwlock_wrlock pthread_spin_lock pthread_spin_unlock sem_wait sem_post \
    socket bind setsockopt listen connect accept accept4 send recv write read shutdown close getaddrinfo freeaddrinfo poll select \
    epoll_create1 sendto recvfrom sendmsg recvmsg \
    strlen strnlen strcpy strncpy strcat strcmp strncmp strchr strrchr strstr strdup strtol atoi puts fputs \
    stpcpy strncat strcasecmp strncasecmp strspn strcspn strtoul strtoll strtoull sscanf __isoc99_sscanf fgets fread fwrite getline \
    qsort strtok strtok_r strsep memchr memccpy mempcpy bcopy bzero bcmp strtod strpbrk getrandom \
    printf fprintf sprintf snprintf vprintf vfprintf vsnprintf";

/// The arguments for the compiler, before the folder of `mowgli.h`. Copies stay calls, because hooks would not see their code. A
/// program's own headers come first.
const USUAL: [&str; 9] = [
    "-gdwarf-4",
    "-O0",
    "-D__MOWGLI__=1",
    "-fsanitize=thread",
    "-fno-builtin",
    "-U_FORTIFY_SOURCE",
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

/// Returns the arguments of this compiler: hooks of their own for volatile accesses, and no warning of fences, which have one.
fn own_flags(cc: &OsStr) -> Result<&'static [&'static str], Error> {
    let name = || cc.to_string_lossy().into_owned();
    let version = Command::new(cc).arg("--version").output();
    let version = version.map_err(|why| Error::Tool { name: name(), why: why.to_string() })?;
    let is_clang = String::from_utf8_lossy(&version.stdout).contains("clang");
    Ok(if is_clang {
        &["-mllvm", "-tsan-distinguish-volatile"]
    } else {
        &["--param=tsan-distinguish-volatile=1", "-Wno-tsan"]
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
        let names: String = REPLACED.split_whitespace().map(|name| format!("{name} __mowgli_{name}\n")).collect();
        std::fs::write(at("names"), names).map_err(|e| Error::file(&at("names"), &e))?;
        let runtime: Vec<PathBuf> = ["hooks", "verbs", "sockets", "strings"].map(&at).into();
        let start = |name: &PathBuf| {
            let mut command = Command::new(cc);
            command.args(["-O1", "-fno-pie", "-c"]).arg(name.with_extension("c")).arg("-o").arg(name);
            (command.spawn(), command)
        };
        for (child, command) in runtime.iter().map(start).collect::<Vec<_>>() {
            ended(&command, child.and_then(|mut child| child.wait()))?;
        }
        let (cc, cxx, own_flags) = (cc.to_owned(), cxx.to_owned(), own_flags(cc)?);
        Ok(Self { folder, runtime, cc, cxx, own_flags })
    }

    /// Compiles and links a program of C and C++ files, and of objects and libraries. `flags` are more arguments for the
    /// compiler, for example `-O2` or `-I include`; the default is `-O0`.
    ///
    /// # Errors
    /// If the compiler, objcopy or the linker fails.
    pub fn compile(&self, files: &[PathBuf], out: &Path, flags: &[OsString]) -> Result<(), Error> {
        let at = |name: &str| self.folder.path().join(name);
        let (mut linker, mut objects) = (&self.cc, self.runtime.clone());
        for (position, file) in files.iter().enumerate() {
            let is_source = is_cpp(file) || file.extension().is_some_and(|x| x == "c");
            if !is_source {
                objects.push(file.clone());
                continue;
            }
            let compiler = if is_cpp(file) { &self.cxx } else { &self.cc };
            linker = if is_cpp(file) { &self.cxx } else { linker };
            let object = at(&format!("{position}.o"));
            run(Command::new(compiler)
                .args(self.own_flags)
                .args(USUAL)
                .arg(self.folder.path())
                .args(flags)
                .arg("-c")
                .arg(file)
                .arg("-o")
                .arg(&object))?;
            run(Command::new("objcopy").args(APART).arg("--redefine-syms").arg(at("names")).arg(&object))?;
            objects.push(object);
        }
        run(Command::new(linker).args(["-no-pie", "-pthread", "-o"]).arg(out).args(&objects).args(flags))
    }
}
