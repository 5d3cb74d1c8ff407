//! `mowgli cc`: compiles a C or C++ program with the hooks of `-fsanitize=thread`, and links it with our runtime.
//!
//! The compiler calls a hook before each load and store. The runtime, which is compiled without hooks, answers them and
//! has the functions of libibverbs. Functions of libc that touch memory, allocate it or block have other names in the
//! objects of the program. So the runtime has them, too.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;

/// The parts of the runtime, as files.
const RUNTIME: [(&str, &str); 5] = [
    ("mowgli.h", include_str!("../runtime/mowgli.h")),
    ("runtime.h", include_str!("../runtime/runtime.h")),
    ("hooks.c", include_str!("../runtime/hooks.c")),
    ("verbs.c", include_str!("../runtime/verbs.c")),
    ("sockets.c", include_str!("../runtime/sockets.c")),
];

/// The functions that the runtime has in the place of those of libc and libstdc++, under names that begin with `__mowgli_`.
const REPLACED: &str = "memcpy memmove memset memcmp malloc calloc realloc free posix_memalign _Znwm _Znam _ZdlPv _ZdaPv \
    _ZdlPvm _ZdaPvm exit abort __assert_fail sched_yield usleep sleep nanosleep clock_gettime gettimeofday time rand random \
    pthread_create pthread_join pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_cond_wait \
    pthread_cond_timedwait pthread_cond_signal pthread_cond_broadcast pthread_barrier_wait pthread_rwlock_rdlock \
    pthread_rwlock_wrlock pthread_spin_lock pthread_spin_unlock sem_wait sem_post \
    socket bind setsockopt listen connect accept accept4 send recv write read shutdown close getaddrinfo freeaddrinfo poll select \
    epoll_create1 sendto recvfrom sendmsg recvmsg";

/// A request to compile.
pub struct Compile<'a> {
    /// The C and C++ files, and objects and libraries to link.
    pub files: &'a [PathBuf],
    /// The program to write.
    pub out: &'a Path,
    /// More arguments for the compiler, for example `-O2` or `-I include`. The default is `-O0`.
    pub flags: &'a [OsString],
    /// The compiler of C; that of C++ for C++ files is beside it.
    pub cc: &'a OsStr,
    /// The compiler of C++.
    pub cxx: &'a OsStr,
}

fn is_cpp(file: &Path) -> bool {
    file.extension().is_some_and(|x| ["cc", "cpp", "cxx", "C"].iter().any(|cpp| x == *cpp))
}

/// Runs a tool, whose own errors the user sees.
fn run(command: &mut Command) -> Result<(), Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|why| Error::Tool { name: name.clone(), why: why.to_string() })?;
    if status.success() { Ok(()) } else { Err(Error::Tool { name, why: format!("it ended with {status}") }) }
}

/// Returns the arguments with which the compiler has hooks of their own for volatile accesses.
fn volatile_flags(cc: &OsStr) -> Result<&'static [&'static str], Error> {
    let name = || cc.to_string_lossy().into_owned();
    let version = Command::new(cc).arg("--version").output();
    let version = version.map_err(|why| Error::Tool { name: name(), why: why.to_string() })?;
    let is_clang = String::from_utf8_lossy(&version.stdout).contains("clang");
    Ok(if is_clang { &["-mllvm", "-tsan-distinguish-volatile"] } else { &["--param=tsan-distinguish-volatile=1"] })
}

/// Compiles and links a program.
///
/// # Errors
/// If a file cannot be written, or if the compiler, objcopy or the linker fails.
pub fn compile(ask: &Compile<'_>) -> Result<(), Error> {
    let folder = tempfile::tempdir().map_err(|e| Error::file(&std::env::temp_dir(), &e))?;
    let at = |name: &str| folder.path().join(name);
    for (name, text) in RUNTIME {
        std::fs::write(at(name), text).map_err(|e| Error::file(&at(name), &e))?;
    }
    let names: String = REPLACED.split_whitespace().map(|name| format!("{name} __mowgli_{name}\n")).collect();
    std::fs::write(at("names"), names).map_err(|e| Error::file(&at("names"), &e))?;
    let mut objects = Vec::new();
    for name in ["hooks.c", "verbs.c", "sockets.c"] {
        let object = at(&format!("{name}.o"));
        run(Command::new(ask.cc).args(["-O1", "-fno-pie", "-c"]).arg(at(name)).arg("-o").arg(&object))?;
        objects.push(object);
    }
    let (mut linker, volatile) = (ask.cc, volatile_flags(ask.cc)?);
    for (position, file) in ask.files.iter().enumerate() {
        let is_source = is_cpp(file) || file.extension().is_some_and(|x| x == "c");
        if !is_source {
            objects.push(file.clone());
            continue;
        }
        let compiler = if is_cpp(file) { ask.cxx } else { ask.cc };
        linker = if is_cpp(file) { ask.cxx } else { linker };
        let object = at(&format!("{position}.o"));
        let usual =
            ["-gdwarf-4", "-O0", "-D__MOWGLI__=1", "-fsanitize=thread", "-fno-pie", "-fno-omit-frame-pointer", "-I"];
        run(Command::new(compiler)
            .args(volatile)
            .args(usual)
            .arg(folder.path())
            .args(ask.flags)
            .arg("-c")
            .arg(file)
            .arg("-o")
            .arg(&object))?;
        run(Command::new("objcopy").arg("--redefine-syms").arg(at("names")).arg(&object))?;
        objects.push(object);
    }
    run(Command::new(linker).args(["-no-pie", "-pthread", "-o"]).arg(ask.out).args(&objects).args(ask.flags))
}
