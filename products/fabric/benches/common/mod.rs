//! Programs of C beside which Mowgli is measured.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the output of a command.
///
/// # Errors
/// If it fails, or prints nothing.
pub fn output(command: &mut Command) -> Result<String, String> {
    let ran = command.output().map_err(|e| format!("{:?}: {e}", command.get_program()))?;
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    if ran.status.success() && !text.trim().is_empty() {
        return Ok(text);
    }
    let why = String::from_utf8_lossy(&ran.stderr).lines().next().unwrap_or_default().to_owned();
    Err(format!("{:?} failed: {why}", command.get_program()))
}

/// A program that was compiled from a source in this folder. The file is removed at the end.
pub struct Program(PathBuf);

impl Program {
    /// Compiles a program.
    ///
    /// # Errors
    /// If there is no such compiler, or it lacks a header.
    pub fn compiled(compiler: &str, name: &str, libraries: &[&str]) -> Result<Self, String> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches").join(name);
        let program = std::env::temp_dir().join(format!("mowgli-{}-{name}.out", std::process::id()));
        let compiling = Command::new(compiler).arg("-O2").arg("-o").arg(&program).arg(source).args(libraries).status();
        match compiling {
            Ok(status) if status.success() => Ok(Self(program)),
            _ => Err(format!("not compiled: no {compiler}, or it lacks a header")),
        }
    }

    /// Returns the path of the program.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Runs it in so many processes by Open MPI, with these parameters of Open MPI, names and values.
    ///
    /// # Errors
    /// If Open MPI fails, or takes more than five minutes.
    pub fn by_open_mpi(&self, processes: usize, parameters: &[&str], arguments: &[String]) -> Result<String, String> {
        output(
            Command::new("timeout")
                .args(["300", "mpirun", "--oversubscribe", "-n", &processes.to_string()])
                .args(parameters.chunks(2).flat_map(|pair| ["--mca", pair[0], pair[1]]))
                .arg(&self.0)
                .args(arguments)
                .envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]),
        )
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

/// The parameters with which Open MPI uses shared memory of its own.
pub const OWN_MEMORY: [&str; 6] = ["pml", "ob1", "btl", "vader,self", "osc", "^sm"];

/// The parameters with which Open MPI uses sockets of its own.
pub const OWN_SOCKETS: [&str; 8] = ["pml", "ob1", "btl", "tcp,self", "btl_tcp_if_include", "lo", "osc", "^sm"];

/// The parameters with which Open MPI uses the provider of libfabric that Mowgli uses.
pub const OVER_LIBFABRIC: [&str; 8] =
    ["pml", "cm", "mtl", "ofi", "mtl_ofi_provider_include", "tcp;ofi_rxm", "osc", "pt2pt"];
